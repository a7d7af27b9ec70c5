# SPDX-License-Identifier: GPL-2.0-only
"""Fairness among flows of ours that have the link to themselves, with and without a latecomer.

Rates are TCP payload. The latecomer is the flow called so; it starts when the others have settled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from dalbe_testbed.plan.experiment import Experiment
from dalbe_testbed.plan.sweep import Point, Sweep
from dalbe_testbed.study import finding, stats, verdict
from dalbe_testbed.study.finding import Finding, Row
from dalbe_testbed.study.results import Results, weight
from dalbe_testbed.study.stats import Estimate
from dalbe_testbed.study.tradeoff import SETTLED_S, YARDSTICK, Window, who
from dalbe_testbed.study.verdict import Case, Verdict, judge

LATECOMER = "latecomer"
WHOLE_S, LATE_S = 60.0, 10.0
"""Use and Jain's index are over the last 60 s, the latecomer's rate over the last 10 s."""

USE_PERCENT, JAIN, LATE_PERCENT = 95.0, 0.9, 20.0
"""Required: use and Jain's index at least; the latecomer's rate off the others' mean at most."""


def jain(rates: Sequence[float]) -> float | None:
    """Return Jain's index, (sum x)^2 / (n sum x^2), 1/n to 1; None without a rate above 0."""
    squares = sum(rate * rate for rate in rates)
    return sum(rates) ** 2 / (len(rates) * squares) if squares else None


@dataclass(frozen=True)
class Fairness:
    """What one run measured.

    jain_before: of the flows before the latecomer came. jain: of all at the end. late_percent: by
    how much the latecomer's rate exceeds the mean of the others; both None for a flow alone.
    """

    seed: int
    mbps: float
    jain_before: float | None
    jain: float | None
    late_percent: float | None


def measure(seed: int, rates: pl.DataFrame, what: Experiment) -> Fairness:
    """Return what a run's table of rates shows."""
    names = [flow.name for flow in what.flows]
    others = [flow for flow in what.flows if flow.name != LATECOMER]

    def mbps(window: Window, flows: Sequence[str]) -> list[float]:
        return [window.mean_mbps(rates, [name]) for name in flows]

    end = Window(what.duration_s - WHOLE_S, what.duration_s)
    every, before, late = mbps(end, names), None, None
    if len(others) < len(names):
        came_s = next(flow.start_s for flow in what.flows if flow.name == LATECOMER)
        alone = Window(max(flow.latest_start_s for flow in others) + SETTLED_S, came_s)
        before = jain(mbps(alone, [flow.name for flow in others])) if len(others) > 1 else None
        last = Window(what.duration_s - LATE_S, what.duration_s)
        theirs = mbps(last, [flow.name for flow in others])
        own = last.mean_mbps(rates, [LATECOMER])
        late = 100 * (own * len(theirs) / sum(theirs) - 1) if sum(theirs) else None
    return Fairness(seed, sum(every), before, jain(every) if len(names) > 1 else None, late)


@dataclass(frozen=True)
class Group:
    """A number of flows, and its runs; use is in percent of the yardstick's mean rate."""

    point: Point
    runs: tuple[Fairness, ...]
    use_percent: tuple[float, ...]

    def values(self, name: str) -> list[float]:
        """Return a measure of the runs that have it."""
        return [value for run in self.runs if (value := getattr(run, name)) is not None]

    def estimate(self, name: str) -> Estimate | None:
        """Return the mean of a measure; None if it is not there in every run."""
        values = list(self.use_percent) if name == "use_percent" else self.values(name)
        return stats.estimate(values) if values and len(values) == len(self.runs) else None


def groups(results: Results, sweep: Sweep) -> list[Group]:
    """Return the points that have runs."""
    measured = [
        (
            point,
            tuple(measure(run.seed, results.table(run, "rates"), point.experiment) for run in runs),
        )
        for point, runs in results.measured(sweep)
    ]
    whole = [run.mbps for point, runs in measured if who(point) == YARDSTICK for run in runs]
    return [
        Group(
            point,
            runs,
            tuple(100 * run.mbps * len(whole) / sum(whole) for run in runs) if whole else (),
        )
        for point, runs in measured
    ]


def _verdict(
    requirement: str,
    found: Sequence[Group],
    sweep: Sweep,
    name: str,
    met: Callable[[float], bool],
    least_flows: int = 1,
) -> Verdict:
    """Judge a measure's mean at every number of our flows for which it is defined."""
    measured = {group.point.name: group for group in found}
    cases = []
    for point in sweep.points:
        flows = point.experiment.flows
        if weight(point) is None or len(flows) < least_flows:
            continue
        group = measured.get(point.name)
        estimate = group.estimate(name) if group else None
        where = f"{len(flows)} flow{'s' * (len(flows) > 1)}"
        if group is None or estimate is None:
            cases.append(Case(where, "no run", met=False))
        else:
            missing = len(sweep.seeds) - len(group.runs)
            cases.append(Case(where, say(estimate), met(estimate.mean), missing))
    return judge(requirement, cases)


def say(estimate: Estimate) -> str:
    """Return a mean with its interval, with three digits behind the point."""
    interval = "" if estimate.low is None else f" [{estimate.low:.3f}, {estimate.high:.3f}]"
    return f"{estimate.mean:.3f}{interval}"


def _rows(group: Group) -> list[Row]:
    place = finding.settings(group.point) | {"flows": len(group.point.experiment.flows)}
    uses = group.use_percent or (None,) * len(group.runs)
    return [
        place
        | {"seed": run.seed, "mbps": run.mbps, "use_percent": use}
        | {"jain_before": run.jain_before, "jain": run.jain, "late_percent": run.late_percent}
        for run, use in zip(group.runs, uses, strict=True)
    ]


def _summary(group: Group) -> Row:
    row = finding.settings(group.point) | {
        "flows": len(group.point.experiment.flows),
        "runs": len(group.runs),
    }
    for name in ("use_percent", "jain_before", "jain", "late_percent"):
        row |= finding.interval(name, group.estimate(name))
    return row


def find(results: Results, sweep: Sweep) -> Finding:
    """Measure use and fairness over the number of flows, and judge the means."""
    found = groups(results, sweep)
    several = 2
    verdicts = [
        _verdict(
            f"use by our flows alone at least {USE_PERCENT:g} % of a CUBIC flow's",
            found,
            sweep,
            "use_percent",
            lambda use: use >= USE_PERCENT,
        ),
        _verdict(
            f"Jain's index before a latecomer at least {JAIN:g}",
            found,
            sweep,
            "jain_before",
            lambda index: index >= JAIN,
            several + 1,
        ),
        _verdict(
            f"Jain's index over {WHOLE_S:g} s with the latecomer at least {JAIN:g}",
            found,
            sweep,
            "jain",
            lambda index: index >= JAIN,
            several,
        ),
        _verdict(
            f"latecomer within {LATE_PERCENT:g} % of the others' mean after {WHOLE_S:g} s, in %",
            found,
            sweep,
            "late_percent",
            lambda late: abs(late) <= LATE_PERCENT,
            several,
        ),
    ]
    return Finding(
        verdict.say(verdicts),
        verdicts,
        finding.frame([row for group in found for row in _rows(group)]),
        finding.frame([_summary(group) for group in found]),
    )
