# SPDX-License-Identifier: GPL-2.0-only
"""Double-precision reference of the arithmetic in cdg.c, cubic.c and control.c.

Written from the papers' equations, in floating point and without looking at how the C code gets
there: C(n) is equation n of the CDG paper, F(n) of the framework paper, R(n) figure n of RFC 9438.
Units are those of the names; weights, prices, probabilities and errors are plain ratios.

Standard library only: the KUnit vectors are generated from it where nothing else is installed.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

WINDOW = 8  # C(3), a: gradients averaged
BETA = math.sqrt(0.5)  # C(5): what a delay backoff leaves
DELACK_CREDIT_MAX = 5  # CAIA TR 100219A

KP, KI, KD = 0.5, 0.03, 0.1  # F(9)
L_W = 0.05  # F(19)
L_PHI = 0.1  # F(19) applied to F(25)

# The guards of a real network, which the equations do not have.
ERROR_MAX = 16.0  # |eps| where the rate is next to nothing
TRIM_GAIN = 0.25  # part of MBC's error that is remembered per interval
TRIM_ERROR = (-0.5, 1.0)  # one interval's error is held to a factor of two
TRIM_RANGE = (1 / 8, 8.0)
PHI_RANGE = (1.0, 1024.0)


def clamp(x: float, low: float, high: float) -> float:
    """Return x held to [low, high]."""
    return max(low, min(x, high))


def backoff_probability(gradient_sum_us: float, g_ms: float) -> float:
    """C(4), the gradient given as the sum of a window's gradients."""
    gradient_ms = gradient_sum_us / WINDOW / 1000
    return -math.expm1(-gradient_ms / g_ms) if gradient_ms > 0 else 0.0


def cut_weight(cut: float) -> float:
    """W of F(22): what a cut takes, as a part of the mean window.

    Between cuts the window grows evenly from (1 - cut) to 1 times its peak.
    """
    return cut / (1 - cut / 2)


def delay_price(gradient_sums_us: Sequence[float], g_ms: float) -> float:
    """F(22) for z = delay, per round that is judged: the cut's weight times backoffs per round.

    In the round after a backoff the window does not grow, and nothing is judged.
    """
    p = sum(backoff_probability(s, g_ms) for s in gradient_sums_us) / len(gradient_sums_us)
    return cut_weight(1 - BETA) * p


def rate_price(rate_Bps: float, mss: float, rtt_s: float) -> float:  # noqa: N803
    """F(12) for CDG: one packet of growth per round equals W * P, with W = rate * RTT / MSS."""
    return mss / (rtt_s * rate_Bps)


@dataclass
class GradientFilter:
    """C(1) to C(3) behind the delayed-ACK filter; RTTs in us."""

    delack_credit: int = 0
    lowest: float = math.inf
    highest: float = -math.inf
    previous: tuple[float, float] | None = None
    gradients: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=WINDOW))

    def sample(self, rtt_us: float, pkts_acked: int, sacked: bool) -> None:
        """Take one RTT measurement of an ACK for pkts_acked packets."""
        if rtt_us <= 0:
            return
        if not sacked and pkts_acked == 1 and self.delack_credit:
            # Probably the receiver's timer: it may lower a minimum that exists.
            self.delack_credit -= 1
            if self.lowest < math.inf:
                self.lowest = min(self.lowest, rtt_us)
            return
        if not sacked and pkts_acked > 1:
            self.delack_credit = min(self.delack_credit + 1, DELACK_CREDIT_MAX)
        self.lowest = min(self.lowest, rtt_us)
        self.highest = max(self.highest, rtt_us)

    def _take_round(self) -> tuple[float, float] | None:
        taken = (self.lowest, self.highest) if self.highest > 0 else None
        self.lowest, self.highest = math.inf, -math.inf
        return taken

    def end_round(self) -> float:
        """Return WINDOW times the mean of the last gradients, as far as there are any; us.

        The minimum's gradient counts if it grows, otherwise the maximum's.
        """
        now = self._take_round()
        if now is None:
            return 0.0
        before, self.previous = self.previous, now
        if before is None:
            return 0.0
        self.gradients.append((now[0] - before[0], now[1] - before[1]))
        mean_min, mean_max = (sum(g) / len(g) for g in zip(*self.gradients, strict=True))
        return WINDOW * (mean_min if mean_min > 0 else mean_max)

    def backoff_done(self) -> None:
        """A cut is complete: what was measured meanwhile is the next round's predecessor."""
        self.previous = self._take_round()


def target_rate(bytes_left: float, left_s: float) -> float:
    """F(6), bytes/s."""
    return bytes_left / left_s


def relative_error(target: float, rate: float) -> float:
    """F(13), and F(7) without w, held to what a rate of nearly nothing may say."""
    if rate == 0:
        return ERROR_MAX if target > 0 else -1.0
    return min((target - rate) / rate, ERROR_MAX)


def limit_increase(old: float, new: float, limit: float) -> float:
    """F(19)."""
    return min(new, old + limit * new) if new > old else new


@dataclass
class Pid:
    """F(7) to F(9), with Ki * I held to [0, 1], the range of w."""

    integral: float = 0.0  # Ki * I
    error: float = 0.0  # eps of the last update

    def update(self, w: float, target: float, rate: float, tw_s: float) -> float:
        """Return u, before F(10)."""
        error = w * relative_error(target, rate)
        self.integral = clamp(self.integral + KI * tw_s * error, 0, 1)
        u = KP * error + self.integral + KD * (error - self.error) / tw_s
        self.error = error
        return u


def mbc_weight(price: float, phi: float, model_price: float, trim: float) -> float:
    """F(14) with F(26), before the clamp: w * phi = q / qhat * (1 + eps)."""
    return price / model_price * trim / phi


def mbc_trim(trim: float, target: float, rate: float) -> float:
    """F(13) with a memory: a quarter of each interval's error multiplies up."""
    error = clamp(relative_error(target, rate), *TRIM_ERROR)
    return clamp(trim * (1 + TRIM_GAIN * error), *TRIM_RANGE)


def reserve(w: float) -> float:
    """The w of those who count on one more flow: 1 from 2/3 on; none up to 1/2."""
    return 3 * w - 1 if w > 0.5 else 0


def price_ratio(price: float, price_std: float) -> float:
    """F(25), held to its range."""
    if price_std:
        return clamp(price / price_std, *PHI_RANGE)
    return PHI_RANGE[1] if price else PHI_RANGE[0]


def phi(old: float, price: float, price_std: float) -> float:
    """F(25), its increase limited as in F(19)."""
    return limit_increase(old, price_ratio(price, price_std), L_PHI)


CUBIC_C = 0.4  # RFC 9438, section 5: packets/s^3
CUBIC_BETA = 0.7  # section 4.6
CUBIC_ALPHA = 3 * (1 - CUBIC_BETA) / (1 + CUBIC_BETA)  # section 4.3


@dataclass
class Cubic:
    """RFC 9438 from one cut to the next; windows in packets, times in s.

    As Linux and cubic.c take it: of section 4.3 without the last step (alpha = 1 once W_est has
    reached the window before the cut), whole packets between the curve and W_max, and cuts of
    whole packets, which leave what was earned of the next one, but not to W_est.
    """

    window: float
    origin: float  # W_max
    time_s: float = 0.0
    reno: float = 0.0  # W_est
    k_s: float = 0.0

    def __post_init__(self) -> None:
        """Begin the curve: R(2)."""
        self.origin = max(self.origin, self.window)
        self.reno = self.window
        self.k_s = math.cbrt((self.origin - self.window) / CUBIC_C)

    def curve(self, time_s: float) -> float:
        """R(1), in whole packets from W_max."""
        return math.trunc(CUBIC_C * (time_s - self.k_s) ** 3) + self.origin

    def target(self, rtt_s: float) -> float:
        """Section 4.2: where the window is to be in one RTT."""
        return clamp(self.curve(self.time_s + rtt_s), self.window, 1.5 * self.window)

    def acked(self, packets: float, rtt_s: float) -> None:
        """ACKs of so many packets: sections 4.3 to 4.5."""
        self.reno += CUBIC_ALPHA * packets / self.window  # R(4)
        if self.curve(self.time_s) < self.reno:
            self.window = max(self.window, self.reno)
        else:
            self.window += packets * (self.target(rtt_s) - self.window) / self.window

    def after_loss(self) -> Cubic:
        """Sections 4.6 and 4.7: the next curve."""
        packets = math.floor(self.window)
        beta_1024 = math.ceil(1024 * CUBIC_BETA)
        converging_2048 = 1024 + beta_1024 if self.window < self.origin else 2048
        left = max(2, packets * beta_1024 // 1024)
        after = Cubic(left + self.window % 1, packets * converging_2048 // 2048)
        after.reno = left
        return after
