# SPDX-License-Identifier: GPL-2.0-only
"""Table I of the framework paper, the traffic of all its scenarios.

D.A. Hayes, D. Ros, A. Petlund, I. Ahmed, "A framework for less than best effort congestion control
with soft deadlines", IFIP Networking 2017.
"""

from dataclasses import dataclass

OUR_SOURCE = "dalbe"
DURATION_S = 2000.0
ETAS = (0.1, 0.3)  # size of the transfer, of what the capacity carries from start to deadline
GAP_S = (1000.0, 1010.0)  # when nobody but the transfer has something to send


@dataclass(frozen=True)
class Source:
    """A source of Table I; times in s. The transfer's stop is its soft deadline."""

    name: str
    start_s: float
    stop_s: float


CROSS = (
    Source("tcp1", 0, 600),
    Source("tcp2", 200, 1000),
    Source("tcp3", 800, 1000),
    Source("tcp4", 1010, 1600),
    Source("tcp5", 1200, 2000),
    Source("tcp6", 1400, 1800),
)
TRANSFER = Source(OUR_SOURCE, 400, 1700)
WINDOW_S = TRANSFER.stop_s - TRANSFER.start_s
