# SPDX-License-Identifier: GPL-2.0-only
"""Deadlines under realistic traffic: one transfer after another, beside web-like sessions.

The framework paper's Figure 10. A transfer is late if it is not done by its deadline, by however
little; one that was not done when the run ended is late by all there is. Plain CUBIC in our place,
where a sweep has it, says whether the deadlines can be held: of that nothing is required.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from dalbe_testbed import finding, stats, verdict
from dalbe_testbed.errors import TestbedError
from dalbe_testbed.finding import Finding, Row
from dalbe_testbed.results import Results, cc, rtt_ms, wire_bytes
from dalbe_testbed.sweep import Point, Run, Sweep
from dalbe_testbed.verdict import Case, Verdict, judge

OURS, WINDOW_S = "ours", 60.0
"""The transfers' flow, and how long each has from its beginning."""

COMPLETIONS = 60
"""A point has so many at least."""

LOAD_OFF = 0.05
"""By what part the load that the link carried of the sessions may differ from the offered one."""

MISS_PERCENT = {0.6: 2.0, 1.0: 5.0}
"""How many deadlines may be missed up to a load."""

LATE_PERCENT = 2.0
"""Of the window: a miss is to be less late than this."""


@dataclass(frozen=True)
class Completions:
    """A point's transfers: when each was done, in parts of its window; inf: never.

    carried: the sessions' bytes behind the bottleneck, in parts of what it can carry, by run.
    """

    point: Point
    parts: list[float]
    carried: list[float]
    missing: int

    @property
    def load(self) -> float:
        """The offered load."""
        assert self.point.experiment.web
        return self.point.experiment.web.load

    @property
    def ours(self) -> bool:
        """Whether the transfers have a goal."""
        return any(flow.goal for flow in self.point.experiment.flows)

    @property
    def where(self) -> str:
        """The point in words."""
        whose = "" if self.ours else f"{cc(self.point)}, "
        return f"{whose}{rtt_ms(self.point):g} ms, load {self.load:g}"

    @property
    def late(self) -> list[float]:
        """By how much of the window those were late that were."""
        return [part - 1 for part in self.parts if part > 1]

    @property
    def miss_percent(self) -> float:
        """How many were late."""
        return 100 * len(self.late) / len(self.parts) if self.parts else math.nan

    @property
    def interval_percent(self) -> tuple[float, float]:
        """The 95 % interval of that (Clopper and Pearson, exact)."""
        if not self.parts:
            return math.nan, math.nan
        low, high = stats.proportion(len(self.late), len(self.parts))
        return 100 * low, 100 * high


def measure(results: Results, run: Run) -> tuple[list[float], float]:
    """Return a run's completions in parts of the window, and the load that was carried.

    Raises TestbedError if a table is missing.
    """
    what = run.point.experiment
    assert what.web
    took = (pl.col("end_s") - pl.col("start_s")) / WINDOW_S
    parts = (
        results.table(run, "transfers")
        .filter(flow=OURS)
        .select(took.fill_null(math.inf))
        .to_series()
        .to_list()
    )
    begin_s, end_s = what.web.start_s, what.duration_s
    sent = wire_bytes(results.table(run, "rates"), ["web"], begin_s, end_s)
    return parts, sent * 8 / (end_s - begin_s) / what.link.rate_bps


def _most_percent(load: float) -> float:
    return next(most for upto, most in MISS_PERCENT.items() if load <= upto)


def _verdicts(points: Sequence[Completions]) -> list[Verdict]:
    def case(one: Completions, found: str, *, met: bool) -> Case:
        return Case(one.where, found, met, one.missing)

    judged = [one for one in points if one.ours]
    return [
        judge(
            f"at least {COMPLETIONS} transfers at every point",
            [case(p, f"{len(p.parts)}", met=len(p.parts) >= COMPLETIONS) for p in judged],
        ),
        judge(
            f"the sessions carry what they offer, within {100 * LOAD_OFF:g} %",
            [
                case(p, f"{carried:.3f}", met=abs(carried / p.load - 1) <= LOAD_OFF)
                for p in points
                for carried in [sum(p.carried) / len(p.carried)]
            ],
        ),
        judge(
            "at most 2 % of the deadlines missed up to a load of 0.6, and 5 % above",
            [
                case(
                    p,
                    f"{p.miss_percent:.2g} % [{p.interval_percent[0]:.2g}, "
                    f"{p.interval_percent[1]:.2g}], {len(p.late)} of {len(p.parts)}",
                    met=p.miss_percent <= _most_percent(p.load),
                )
                for p in judged
            ],
        ),
        judge(
            f"a miss is less than {LATE_PERCENT:g} % of the window late",
            [
                case(
                    p,
                    f"{100 * max(p.late, default=0):.2g} %",
                    met=100 * max(p.late, default=0) < LATE_PERCENT,
                )
                for p in judged
            ],
        ),
    ]


def _summary(one: Completions) -> Row:
    parts = pl.Series(one.parts, dtype=pl.Float64)
    low, high = one.interval_percent
    return {
        **finding.settings(one.point),
        "cc": cc(one.point),
        "transfers": len(one.parts),
        "late": len(one.late),
        "miss_percent": one.miss_percent,
        "miss_percent_low": low,
        "miss_percent_high": high,
        "least": parts.min(),
        "median": parts.median(),
        "p95": parts.quantile(0.95, "higher"),
        "greatest": parts.max(),
        **finding.estimated("carried", one.carried),
    }


def find(results: Results, sweep: Sweep) -> Finding:
    """Measure every run; `curves` has a row per transfer, by RTT, load and congestion control.

    Raises TestbedError if a table is missing, and if no transfer has a goal that could be judged.
    """
    points, rows, curves = [], [], []
    for point, runs in results.measured(sweep):
        measured = {run.seed: measure(results, run) for run in runs}
        points.append(
            Completions(
                point,
                [part for parts, _carried in measured.values() for part in parts],
                [carried for _parts, carried in measured.values()],
                len(sweep.seeds) - len(runs),
            )
        )
        for seed, (parts, carried) in measured.items():
            late = sum(part > 1 for part in parts)
            rows.append(
                {
                    **finding.settings(point),
                    "seed": seed,
                    "transfers": len(parts),
                    "late": late,
                    "carried": carried,
                }
            )
            where = {"rtt": rtt_ms(point), "load": points[-1].load, "cc": cc(point)}
            curves += [{**where, "part": part} for part in parts]
    if not any(point.ours and point.parts for point in points):
        raise TestbedError("sessions: no transfer with a goal yet: nothing to judge or to draw")
    verdicts = _verdicts(points)
    return Finding(
        verdict.say(verdicts),
        verdicts,
        finding.frame(rows),
        finding.frame([_summary(one) for one in points]),
        finding.frame(curves),
    )
