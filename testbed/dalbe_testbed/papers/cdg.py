# SPDX-License-Identifier: GPL-2.0-only
"""The CDG paper's values, and how close to them counts as a reproduction.

T. C. Tangenes, D. A. Hayes, A. Petlund, D. Ros, "Evaluating CAIA Delay Gradient as a Candidate for
Deadline-Aware Less-than-Best-Effort Transport", 2017. Two CDG flows against two CUBIC flows;
shares are of the bottleneck's rate, in percent, over the second half of the run.
"""

from dataclasses import dataclass
from functools import cache

import polars as pl

from dalbe_testbed.paths import REFERENCE

MODULES = {"cdg": "in-tree cdg", "dalbe_cdg": "dalbe_cdg"}

TOLERANCE = 0.2
"""By what part of the paper's value ours may differ. The paper gives its values to two or three
digits and no spread; seeds of ours differ by a tenth. Half of it would fail the kernel's own CDG,
twice would pass a flow with little more than half of the share. No points beside it: 2 points are
all that a silent flow lacks at three of seven minima."""

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


@dataclass(frozen=True)
class Value:
    """A share that the paper states, in percent, at G (ms) and base RTT (ms).

    where: "Table I, min", one CDG flow's share at the lowest G; "Table I, max", that of both at the
    highest; "Figure 2, cdg1", a flow's mean. column: which of our measures it is compared with.
    """

    where: str
    column: str
    g_ms: float
    rtt_ms: float
    percent: float

    @property
    def which(self) -> str:
        """Which of the values there it is: a bound of Table I, "min" or "max", or a flow."""
        return self.where.rpartition(" ")[2]

    @property
    def allowed(self) -> float:
        """By how much ours may differ, in percentage points."""
        return TOLERANCE * self.percent


@cache
def stated(where: str) -> dict[tuple[float, float], list[Value]]:
    """Return the values of "Table I" or of "Figure 2", by G and base RTT in ms."""
    values: dict[tuple[float, float], list[Value]] = {}
    for row in pl.read_csv(REFERENCE / "cdg.csv").to_dicts():
        if row["where"].startswith(where):
            values.setdefault((row["g_ms"], row["rtt_ms"]), []).append(Value(**row))
    return values


def aggregates() -> dict[tuple[float, float], float]:
    """Return every known share of both CDG flows in percent, by G and base RTT in ms (Figure 3)."""
    flows = {"one": 2, "both": 1}
    boxes = stated("Figure 2").items()
    known = {at: sum(v.percent for v in box if v.which in ("cdg1", "cdg2")) for at, box in boxes}
    return known | {
        at: value.percent * flows[value.column] for at, (value,) in stated("Table I").items()
    }
