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

from dalbe_testbed.errors import TestbedError
from dalbe_testbed.plan.sweep import Point, Run, Sweep
from dalbe_testbed.plan.web import object_wire_bytes
from dalbe_testbed.reduce import capture
from dalbe_testbed.study import finding, stats, verdict
from dalbe_testbed.study.finding import Finding, Row
from dalbe_testbed.study.results import Results, cc, rtt_ms, wire_bytes
from dalbe_testbed.study.verdict import Case, Verdict, judge

OURS = "ours"
"""The transfers' flow."""

COMPLETIONS = 60
"""A point has so many at least."""

LOAD_OFF = 0.05
"""By what part the load that was carried of the sessions may differ from the offered one."""

MISS_PERCENT = {0.6: 2.0, 1.0: 5.0}
"""How many deadlines may be missed up to a load."""

LATE_PERCENT = 2.0
"""Of the window: a miss is to be less late than this."""


@dataclass(frozen=True)
class Carried:
    """Of a run's sessions, in parts of the link's rate.

    forward: their bytes behind the bottleneck, with what was sent again. back: the frames of the
    objects that were fetched the other way, where acknowledgements share the link with them.
    """

    forward: float
    back: float


@dataclass(frozen=True)
class Completions:
    """A point's transfers: when each was done, in parts of its window; inf: never.

    One that the end of its run cut off before it was due is not among them. carried: by run.
    """

    point: Point
    parts: list[float]
    carried: list[Carried]
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


def window_s(sweep: Sweep) -> float:
    """Return how long each transfer has from its beginning, in seconds.

    That of the points with a goal: in the others' place it says what would have been late. Raises
    TestbedError if there is none, or more than one.
    """
    goals = [flow.goal for point in sweep.points for flow in point.experiment.flows if flow.goal]
    windows = {goal.deadline_s for goal in goals}
    if not windows:
        raise TestbedError("sessions: no transfer with a goal: nothing to judge or to draw")
    if len(windows) > 1:
        raise TestbedError(f"sessions: give all transfers one deadline, not {len(windows)}")
    return float(windows.pop())


def measure(results: Results, run: Run, window_s: float) -> tuple[list[float], Carried]:
    """Return a run's completions in parts of the window, and the loads that were carried.

    Raises TestbedError if a table is missing.
    """
    what = run.point.experiment
    assert what.web
    rates = results.table(run, "rates")
    over_s = capture.rates_end_s(rates, what.bin_s)
    took = (pl.col("end_s") - pl.col("start_s")) / window_s
    known = pl.col("end_s").is_not_null() | (pl.col("start_s") + window_s <= over_s)
    parts = (
        results.table(run, "transfers")
        .filter(known, flow=OURS)
        .select(took.fill_null(math.inf))
        .to_series()
        .to_list()
    )
    begin_s, end_s = what.web.start_s, what.duration_s
    sent = wire_bytes(rates, ["web"], begin_s, end_s)
    fetched = results.table(run, "web").filter(
        pl.col("end_s").is_between(begin_s, end_s), direction="back"
    )["bytes"]
    back = sum(object_wire_bytes(size) for size in fetched)
    could = what.link.rate_bps / 8 * (end_s - begin_s)
    return parts, Carried(sent / could, back / could)


def _carried_cases(one: Completions) -> list[Case]:
    """Return a case for each direction that has sessions."""
    web = one.point.experiment.web
    assert web
    directions = {
        "": (web.load, [run.forward for run in one.carried]),
        ", back": (web.load * web.reverse_part, [run.back for run in one.carried]),
    }
    return [
        Case(f"{one.where}{which}", f"{mean:.3f}", abs(mean / offered - 1) <= LOAD_OFF, one.missing)
        for which, (offered, carried) in directions.items()
        if offered
        for mean in [sum(carried) / len(carried)]
    ]


def _most_percent(load: float) -> float:
    return next(most for upto, most in MISS_PERCENT.items() if load <= upto)


def _verdicts(points: Sequence[Completions]) -> list[Verdict]:
    def case(one: Completions, found: str, *, met: bool) -> Case:
        return Case(one.where, found, met, one.missing)

    judged = [one for one in points if one.ours]
    # A point alone is too few for a bound of a few percent: all of one limit tell more.
    together = {
        most: Completions(some[0].point, [part for p in some for part in p.parts], [], 0)
        for most in MISS_PERCENT.values()
        if (some := [p for p in judged if _most_percent(p.load) == most])
    }

    def missed(p: Completions) -> str:
        low, high = p.interval_percent
        of = f"{len(p.late)} of {len(p.parts)}"
        return f"{p.miss_percent:.2g} % [{low:.2g}, {high:.2g}], {of}"

    return [
        judge(
            f"at least {COMPLETIONS} transfers at every point",
            [case(p, f"{len(p.parts)}", met=len(p.parts) >= COMPLETIONS) for p in judged],
        ),
        judge(
            f"the sessions carry what they offer, within {100 * LOAD_OFF:g} %, in each direction",
            [case for p in points for case in _carried_cases(p)],
        ),
        judge(
            "at most 2 % of the deadlines missed up to a load of 0.6, and 5 % above",
            [
                *(case(p, missed(p), met=p.miss_percent <= _most_percent(p.load)) for p in judged),
                *(
                    Case(f"all to {most:g} % together", missed(p), p.miss_percent <= most, 0)
                    for most, p in together.items()
                ),
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
        **finding.estimated("carried", [run.forward for run in one.carried]),
        **finding.estimated("carried_back", [run.back for run in one.carried]),
    }


def find(results: Results, sweep: Sweep) -> Finding:
    """Measure every run; `curves` has a row per transfer, by RTT, load and congestion control.

    Raises TestbedError if a table is missing, and if no transfer has a goal that could be judged.
    """
    points, rows, curves = [], [], []
    due_s = window_s(sweep)
    for point, runs in results.measured(sweep):
        measured = {run.seed: measure(results, run, due_s) for run in runs}
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
                    "carried": carried.forward,
                    "carried_back": carried.back,
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
