# SPDX-License-Identifier: GPL-2.0-only
"""Short transfers: when they come and how long they are.

The schedule is drawn from the seed alone, so that every congestion control of the other flows meets
the same one. testbed/guest/shortflows.c plays it.
"""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dalbe_testbed.errors import TestbedError
from dalbe_testbed.plan.experiment import ShortFlows


@dataclass(frozen=True)
class Transfer:
    """One transfer: `bytes` of payload from start_s, in seconds since T=0."""

    start_s: float
    bytes: int


def mean_bytes(short: ShortFlows) -> float:
    """Return the mean of the log-uniform distribution of sizes."""
    low, high = short.min_bytes, short.max_bytes
    return low if low == high else (high - low) / math.log(high / low)


def draw(short: ShortFlows, link_bps: int, stop_s: float, seed: int) -> list[Transfer]:
    """Draw Poisson arrivals from short.start_s up to stop_s, in order, and their sizes.

    Their mean rate of payload is short.load of link_bps. Raises TestbedError if none arrives.
    """
    source = random.Random(f"{seed} short_flows")
    per_s = short.load * link_bps / 8 / mean_bytes(short)
    transfers = []
    at_s = short.start_s + source.expovariate(per_s)
    while at_s < stop_s:
        size = math.exp(source.uniform(math.log(short.min_bytes), math.log(short.max_bytes)))
        transfers.append(Transfer(round(at_s, 6), round(size)))
        at_s += source.expovariate(per_s)
    if not transfers:
        raise TestbedError(
            f"short_flows: seed {seed} draws no transfer from {short.start_s:g} to {stop_s:g} s at "
            f"{per_s:.3g} per second: raise load or the time"
        )
    return transfers


def schedule(transfers: Sequence[Transfer]) -> Iterator[str]:
    """Yield the lines of shortflows.c's SCHEDULE."""
    return (f"{round(transfer.start_s * 1e6)} {transfer.bytes}" for transfer in transfers)
