# SPDX-License-Identifier: GPL-2.0-only
"""The CDG paper's values, and how close to them counts as a reproduction.

T. C. Tangenes, D. A. Hayes, A. Petlund, D. Ros, "Evaluating CAIA Delay Gradient as a Candidate for
Deadline-Aware Less-than-Best-Effort Transport", 2017. Two CDG flows against two CUBIC flows;
shares are of the bottleneck's rate, in percent, over the second half of the run.
"""

from dataclasses import dataclass
from functools import cache
from typing import Literal

import polars as pl

from dalbe_testbed.paths import REFERENCE

IN_TREE, OURS = "cdg", "dalbe_cdg"
MODULES = {IN_TREE: "in-tree cdg", OURS: "dalbe_cdg"}

TOLERANCE, TOLERANCE_POINTS = 0.25, 2.0  # of the paper's value; percentage points

SETUP = {
    "kernel": "4.2",
    "HZ": "not stated; Debian's kernels have 250",
    "hosts": "seven real machines, 300 Mbit/s Ethernet, netem on two bridges",
    "iperf": "2.0.5",
    "tcpdump": "4.6.2",
    "background": "D-ITG, 1450-byte packets, 23.2 ms mean gap, from each sender",
}
"""The paper's testbed (Section III.A), which the report sets beside ours."""

UNTESTED = ("kernel 4.2", "iperf 2.0.5", "the timing of real hosts")
"""Possible causes of a difference that no ablation here can vary."""


def tolerance_points(percent: float) -> float:
    """Return by how much a share may differ from the paper's: 25 % or 2 points, the larger."""
    return max(TOLERANCE * percent, TOLERANCE_POINTS)


@dataclass(frozen=True)
class Bound:
    """A value of Table I: a share in percent at G (ms) and base RTT (ms).

    The lower bound is one CDG flow's share at the lowest G, the upper bound that of both together
    at the highest.
    """

    rtt_ms: int
    which: Literal["min", "max"]
    g_ms: float
    percent: float

    @property
    def column(self) -> Literal["one", "both"]:
        """Which of our measures it is compared with."""
        return "one" if self.which == "min" else "both"


@cache
def table_1() -> tuple[Bound, ...]:
    """Return the 14 values of Table I."""
    return tuple(Bound(**row) for row in pl.read_csv(REFERENCE / "table1.csv").to_dicts())


@cache
def figure_2() -> dict[float, dict[str, float]]:
    """Return the mean share of each flow in percent, by G in ms, as the boxes of Figure 2 say."""
    table = pl.read_csv(REFERENCE / "figure2.csv")
    return {row.pop("g_ms"): row for row in table.to_dicts()}


def aggregates() -> dict[tuple[int, float], float]:
    """Return every known share of both CDG flows in percent, by base RTT and G in ms (Figure 3)."""
    flows = {"one": 2, "both": 1}
    known = {(b.rtt_ms, b.g_ms): b.percent * flows[b.column] for b in table_1()}
    for g_ms, shares in figure_2().items():
        known.setdefault((50, g_ms), shares["cdg1"] + shares["cdg2"])
    return known
