# SPDX-License-Identifier: GPL-2.0-only
"""Use of an idle link against the share taken from others: what a scavenger is judged by.

In these experiments the flows of host `sender` have the link to themselves at first; then those of
host `xsender` come and stay. Either phase may be missing. Rates are TCP payload. The axis `who`
says whose the flows of `sender` are; use is in percent of what CUBIC's got at equal other settings.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from dalbe_testbed.errors import TestbedError
from dalbe_testbed.plan.experiment import Experiment
from dalbe_testbed.plan.sweep import Point, Run, Sweep
from dalbe_testbed.study import engine, regimes, stats
from dalbe_testbed.study.engine import Found, Group, Row, Study, beside
from dalbe_testbed.study.results import Results, weight
from dalbe_testbed.study.stats import Estimate
from dalbe_testbed.study.verdict import Case, Verdict, judge

SETTLED_S = 10.0
"""Seconds after a flow's start that do not count: `dynamics` measures arrivals."""

YARDSTICK = "cubic"
"""The congestion control whose use of the idle link counts as all of it."""

USE_PERCENT, QUEUE_MS, SHARE_PERCENT = 97.0, 10.0, 3.0
"""Limits at the least weight: use at least, mean queue below, share at most."""

CORNER = "strict_priority"
"""The limit of every scavenger: CUBIC flows that a scheduler lets send when nobody else does."""


@dataclass(frozen=True)
class Window:
    """A part of a run, from start_s up to end_s."""

    start_s: float
    end_s: float

    def of(self, table: pl.DataFrame) -> pl.DataFrame:
        """Return the bins of a table that begin in it."""
        return table.filter(pl.col("t_s").is_between(self.start_s, self.end_s, closed="left"))

    def mean_mbps(self, rates: pl.DataFrame, flows: Sequence[str]) -> float:
        """Return the flows' summed payload rate in Mbit/s."""
        rows = self.of(rates).filter(pl.col("flow").is_in(flows))
        return float(rows["payload_bytes"].sum()) * 8e-6 / (self.end_s - self.start_s)


def _window(start_s: float, end_s: float, last_s: float | None) -> Window | None:
    """Return what counts of a phase; None if that is not there."""
    begin_s = start_s + SETTLED_S if last_s is None else end_s - last_s
    return Window(begin_s, end_s) if start_s <= begin_s < end_s else None


def windows(
    experiment: Experiment, last_s: float | None = None
) -> tuple[Window | None, Window | None]:
    """Return when `sender` is alone and when it is not, as far as that counts.

    last_s: the seconds at the end of each phase that count; by default all but the first
    SETTLED_S. None for a phase that is not there, or not that long.
    """
    ours = [flow.latest_start_s for flow in experiment.flows if flow.host == "sender"]
    theirs = [flow for flow in experiment.flows if flow.host == "xsender"]
    if not theirs:
        return _window(max(ours), experiment.duration_s, last_s), None
    together_s = max([*ours, *(flow.latest_start_s for flow in theirs)])
    return (
        _window(max(ours), min(flow.start_s for flow in theirs), last_s),
        _window(together_s, experiment.duration_s, last_s),
    )


ERRORS = ("yields_per_minute", "held_percent", "carried_on_percent")
"""The effect test's errors, of our flows only: how often each yielded while alone, for how much of
that time it held back, and for how much of the time with others it did not."""

MEASURES = ("alone_mbps", "queue_ms", "queue_p95_ms", "share_percent", "others_mbps", *ERRORS)
"""Measures of a run, where it has such a phase. alone_mbps: while alone. queue_ms, queue_p95_ms:
mean and 95th percentile of the bins' queues meanwhile. share_percent: of all TCP payload while the
others are there. others_mbps: what these get then."""


def _errors(
    rounds: pl.DataFrame, flows: Sequence[str], alone: Window | None, contended: Window | None
) -> dict[str, float]:
    """Return the effect test's errors, as far as there are such phases."""
    found = {}
    if alone is not None:
        phase = (rounds, flows, alone.start_s, alone.end_s)
        found["yields_per_minute"] = regimes.yields_per_minute(*phase)
        found["held_percent"] = regimes.held_percent(*phase)
    if contended is not None:
        found["carried_on_percent"] = regimes.carried_on_percent(
            rounds, flows, contended.start_s, contended.end_s
        )
    return found


def measure(results: Results, run: Run, sweep: Sweep) -> Row:
    """Return what a run shows of MEASURES.

    Raises TestbedError if one of its tables is missing or damaged, or no phase is long enough.
    """
    alone, contended = windows(run.point.experiment, sweep.last_s)
    if alone is None and contended is None:
        raise TestbedError(f"{sweep.name}.toml: last_s: no phase of {run.point.name} is that long")
    flows = run.point.experiment.flows
    ours = [flow.name for flow in flows if flow.host == "sender"]
    weighted = [flow.name for flow in flows if flow.host == "sender" and flow.w is not None]
    rates = results.table(run, "rates")
    found: dict[str, float] = {}
    if alone is not None:
        queue = alone.of(results.table(run, "queue"))["queue_ms"]
        found["alone_mbps"] = alone.mean_mbps(rates, ours)
        found["queue_ms"] = float(queue.mean())  # type: ignore[arg-type]
        found["queue_p95_ms"] = float(queue.quantile(0.95, "linear"))  # type: ignore[arg-type]
    if contended is not None:
        mbps = contended.mean_mbps(rates, ours)
        others = contended.mean_mbps(rates, [flow.name for flow in flows if flow.host == "xsender"])
        found["share_percent"] = 100 * mbps / (mbps + others)
        found["others_mbps"] = others
    if weighted:
        try:
            found |= _errors(results.table(run, "rounds"), weighted, alone, contended)
        except TestbedError as error:
            raise TestbedError(f"{run.directory}: {error}") from None
    return {name: found[name] for name in MEASURES if name in found}


def yardstick(group: Group, groups: Iterable[Group]) -> Group | None:
    """Return the point that a group's use is measured by; None if it has no run while alone."""
    return beside(group, [other for other in groups if other.values("alone_mbps")], YARDSTICK)


def use_percent(group: Group, groups: Iterable[Group]) -> Estimate | None:
    """Return the use of the idle link in percent of the yardstick's mean; None without either."""
    whole, own = yardstick(group, groups), group.values("alone_mbps")
    if not whole or not own:
        return None
    rates = whole.values("alone_mbps")
    return stats.estimate([100 * rate / (sum(rates) / len(rates)) for rate in own])


def judge_use(
    found: Found, points: Iterable[Point], least_percent: float, where: Callable[[Point], str]
) -> Verdict:
    """Judge the use of the idle link at some points by what CUBIC gets there."""

    def case(group: Group) -> Case:
        whole = yardstick(group, found.groups)
        return engine.mean_case(
            where(group.point),
            use_percent(group, found.groups),
            lambda use: use >= least_percent,
            group.missing + (whole.missing if whole else 0),
        )

    said = f"alone at least {least_percent:g} % of what {YARDSTICK.upper()} gets there"
    return found.judge(said, points, case)


def judge_share(
    found: Found,
    points: Iterable[Point],
    requirement: str,
    met: Callable[[float], bool],
    where: Callable[[Point], str],
) -> Verdict:
    """Judge the share taken from others at some points."""

    def case(group: Group) -> Case:
        share = group.mean("share_percent")
        return engine.mean_case(where(group.point), share, met, group.missing)

    return found.judge(requirement, points, case)


def summary(found: Found, more: Callable[[Group], Row] | None = None) -> list[Row]:
    """Return a row per point: its settings, runs, the means with their intervals; last `more`."""
    first, *rest = MEASURES
    rows = [
        engine.settings(group.point)
        | {"runs": len(group.rows)}
        | engine.means(group, [first])
        | engine.interval("use_percent", use_percent(group, found.groups))
        | engine.means(group, rest)
        for group in found.groups
    ]
    names = dict.fromkeys(name for row in rows for name in row)
    return [
        dict.fromkeys(names) | row | (more(group) if more else {})
        for row, group in zip(rows, found.groups, strict=True)
    ]


def _least(groups: Sequence[Group]) -> tuple[Group, Estimate] | None:
    """Return the group of the least weight and its use; None if there is nothing to compare."""
    ours = (group for group in groups if weight(group.point) is not None)
    group = min(ours, key=lambda group: weight(group.point) or 0, default=None)
    use = use_percent(group, groups) if group else None
    return (group, use) if group and use else None


def say(groups: Sequence[Group]) -> str:
    """Return the finding in a sentence: the least weight, whose flows take least."""
    least = _least(groups)
    if least is None:
        return "No run of CUBIC, or none of ours: nothing to compare."
    group, use = least
    yields, held, carried_on = map(group.mean, ERRORS)
    return (
        f"At w = {weight(group.point):g} two flows use {use} % of what CUBIC uses of an idle link, "
        f"with a mean queue of {group.mean('queue_ms')} ms, and take "
        f"{group.mean('share_percent')} % from two CUBIC flows. The effect test errs: alone, each "
        f"yields {yields} times per minute and is held back for {held} % of the time; contended, "
        f"it carries on for {carried_on} %."
    )


def _require(found: Found) -> list[Verdict]:
    """Judge the least weight in the standard cell."""
    least = _least(found.groups)

    def of_least(what: str, measure: str, unit: str, met: Callable[[float], bool]) -> Verdict:
        cases = []
        if least is not None:
            group, use = least
            mean = use if measure == "use_percent" else group.mean(measure)
            cases = [engine.mean_case("", mean, met, group.missing, f"{{}} {unit}")]
        return judge(f"standard cell, least weight: {what}", cases)

    return [
        of_least(
            f"use at least {USE_PERCENT:g} % of CUBIC's alone",
            "use_percent",
            "%",
            lambda use: use >= USE_PERCENT,
        ),
        of_least(
            f"mean queue alone below {QUEUE_MS:g} ms",
            "queue_ms",
            "ms",
            lambda queue: queue < QUEUE_MS,
        ),
        of_least(
            f"share of two CUBIC flows' link at most {SHARE_PERCENT:g} %",
            "share_percent",
            "%",
            lambda share: share <= SHARE_PERCENT,
        ),
    ]


STUDY = Study(measure, _require, summary=summary, say=lambda found: say(found.groups), rounded=True)
