# SPDX-License-Identifier: GPL-2.0-only
"""Fairness among flows of ours that have the link to themselves, with and without a latecomer.

Rates are TCP payload. The latecomer is the flow called so; it starts when the others have settled.
"""

from collections.abc import Callable, Sequence

from dalbe_testbed.plan.sweep import Point, Run, Sweep
from dalbe_testbed.study import engine
from dalbe_testbed.study.engine import Found, Group, Row, Study, who
from dalbe_testbed.study.results import Results
from dalbe_testbed.study.stats import Estimate
from dalbe_testbed.study.tradeoff import SETTLED_S, YARDSTICK, Window
from dalbe_testbed.study.verdict import Case, Verdict

LATECOMER = "latecomer"
WHOLE_S, LATE_S = 60.0, 10.0
"""Use and Jain's index are over the last 60 s, the latecomer's rate over the last 10 s."""

USE_PERCENT, JAIN, LATE_PERCENT = 95.0, 0.9, 20.0
"""Required: use and Jain's index at least; the latecomer's rate off the others' mean at most."""


def jain(rates: Sequence[float]) -> float | None:
    """Return Jain's index, (sum x)^2 / (n sum x^2), 1/n to 1; None without a rate above 0."""
    squares = sum(rate * rate for rate in rates)
    return sum(rates) ** 2 / (len(rates) * squares) if squares else None


def measure(results: Results, run: Run, _sweep: Sweep) -> Row:
    """Return what a run's table of rates shows.

    jain_before: of the flows before the latecomer came. jain: of all at the end. late_percent: by
    how much the latecomer's rate exceeds the mean of the others; both null for a flow alone.
    """
    rates, what = results.table(run, "rates"), run.point.experiment
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
    return {
        "mbps": sum(every),
        "use_percent": None,
        "jain_before": before,
        "jain": jain(every) if len(names) > 1 else None,
        "late_percent": late,
    }


def _compare(found: Found) -> Sequence[Group]:
    """Add the use in percent of the yardstick's mean rate."""
    yardsticks = (group for group in found.groups if who(group.point) == YARDSTICK)
    whole = [mbps for group in yardsticks for mbps in group.values("mbps")]
    for group in found.groups if whole else []:
        for row, mbps in zip(group.rows, group.values("mbps"), strict=True):
            row["use_percent"] = 100 * mbps * len(whole) / sum(whole)
    return found.groups


def _about(point: Point) -> Row:
    return engine.settings(point) | {"flows": len(point.experiment.flows)}


def _mean(group: Group, name: str) -> Estimate | None:
    """Return the mean of a measure; None if it is not there in every run."""
    return group.mean(name) if len(group.values(name)) == len(group.rows) else None


def _summary(found: Found) -> list[Row]:
    rows = []
    for group in found.groups:
        row = _about(group.point) | {"runs": len(group.rows)}
        for name in ("use_percent", "jain_before", "jain", "late_percent"):
            row |= engine.interval(name, _mean(group, name))
        rows.append(row)
    return rows


def _say(estimate: Estimate) -> str:
    """Return a mean with its interval, with three digits behind the point."""
    interval = "" if estimate.low is None else f" [{estimate.low:.3f}, {estimate.high:.3f}]"
    return f"{estimate.mean:.3f}{interval}"


def _require(found: Found) -> list[Verdict]:
    def judged(text: str, name: str, met: Callable[[float], bool], least_flows: int = 1) -> Verdict:
        """Judge a measure's mean at every number of our flows for which it is defined."""

        def case(group: Group) -> Case:
            flows, mean = len(group.point.experiment.flows), _mean(group, name)
            said = _say(mean) if mean else ""
            where = f"{flows} flow{'s' * (flows > 1)}"
            return engine.mean_case(where, mean, met, group.missing, said)

        points = [p for p in found.ours if len(p.experiment.flows) >= least_flows]
        return found.judge(text, points, case)

    several = 2
    return [
        judged(
            f"use by our flows alone at least {USE_PERCENT:g} % of a CUBIC flow's",
            "use_percent",
            lambda use: use >= USE_PERCENT,
        ),
        judged(
            f"Jain's index before a latecomer at least {JAIN:g}",
            "jain_before",
            lambda index: index >= JAIN,
            several + 1,
        ),
        judged(
            f"Jain's index over {WHOLE_S:g} s with the latecomer at least {JAIN:g}",
            "jain",
            lambda index: index >= JAIN,
            several,
        ),
        judged(
            f"latecomer within {LATE_PERCENT:g} % of the others' mean after {WHOLE_S:g} s, in %",
            "late_percent",
            lambda late: abs(late) <= LATE_PERCENT,
            several,
        ),
    ]


STUDY = Study(measure, _require, about=_about, compare=_compare, summary=_summary)
