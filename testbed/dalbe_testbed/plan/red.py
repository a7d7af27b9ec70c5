# SPDX-License-Identifier: GPL-2.0-only
"""RED's parameters as tc-red(8) and the kernel's fixed-point arithmetic will have them.

RED marks by an average of the queue with weight W = 2^-wlog. tc derives wlog from how long a
burst must not be marked; the kernel keeps the average in 32 bits. Both refuse what does not fit
with a message that names no parameter, so what fits is worked out here.
"""

import bisect
import math
from typing import NamedTuple

AVPKT_BYTES = 1000  # tc-red(8): "a good value"
MAX_BYTES = 2**24 - 1  # leaves the average 7 bits below the byte
NEVER = 32  # wlog of a burst that no average lets pass


class Red(NamedTuple):
    """Average queue in bytes at which marking begins and at which it has `probability`."""

    min_bytes: int
    max_bytes: int
    probability: float

    def fault(self, limit_bytes: int) -> str | None:
        """Return what is wrong with the thresholds in a queue of limit_bytes; None: nothing."""
        if not AVPKT_BYTES < self.min_bytes < self.max_bytes <= limit_bytes:
            return "needs 1 <= min_packets < max_packets <= the buffer in packets"
        if self.max_bytes > MAX_BYTES:
            return f"averages over at most {MAX_BYTES} bytes: give a max_packets below 11082"
        if self.probability * 2**31 <= self.max_bytes - self.min_bytes:
            return "has too small a probability for thresholds that far apart: raise it"
        return None

    def burst_packets(self) -> int:
        """Return tc-red(8)'s (2 min + max) / (3 avpkt), less where the average would not fit."""
        guideline = math.ceil((2 * self.min_bytes + self.max_bytes) / (3 * AVPKT_BYTES))
        bursts = range(self.min_bytes // AVPKT_BYTES + 1, guideline + 1)
        fits = 31 - self.max_bytes.bit_length()  # red_check_params()
        return bursts[bisect.bisect_right(bursts, fits, key=self._wlog) - 1]

    def _wlog(self, burst: int) -> int:
        """Return what tc_red_eval_ewma() makes of `burst`; it grows with the burst."""
        excess = burst + 1 - self.min_bytes / AVPKT_BYTES
        for wlog in range(1, NEVER):
            weight = 2.0**-wlog
            if excess <= (1 - (1 - weight) ** burst) / weight:
                return wlog
        return NEVER
