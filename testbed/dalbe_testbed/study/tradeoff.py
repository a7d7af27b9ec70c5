# SPDX-License-Identifier: GPL-2.0-only
"""Use of an idle link against the share taken from others: what a scavenger is judged by.

In these experiments the flows of host `sender` have the link to themselves at first; then those of
host `xsender` come and stay. Either phase may be missing. Rates are TCP payload. The axis `who`
says whose the flows of `sender` are; use is in percent of what CUBIC's got at equal other settings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import polars as pl

from dalbe_testbed.errors import TestbedError
from dalbe_testbed.plan.experiment import Experiment
from dalbe_testbed.plan.sample import Value
from dalbe_testbed.plan.sweep import Point, Run, Sweep
from dalbe_testbed.study import finding, regimes, stats
from dalbe_testbed.study.finding import Finding, Row
from dalbe_testbed.study.results import Results, weight
from dalbe_testbed.study.stats import Estimate
from dalbe_testbed.study.verdict import Case, Verdict, judge

SETTLED_S = 10.0
"""What is left out after a flow's start, in seconds: arrival is measured elsewhere."""

YARDSTICK = "cubic"
"""The congestion control whose use of the idle link counts as all of it."""

USE_PERCENT, QUEUE_MS, SHARE_PERCENT = 97.0, 10.0, 3.0
"""What is required at the least weight: use at least, mean queue below, share at most."""

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


@dataclass(frozen=True)
class Tradeoff:
    """What a point's runs measured, by seed; empty where the experiment has no such phase.

    alone_mbps: while alone. queue_ms, queue_p95_ms: mean and 95th percentile of the bins' queues
    meanwhile. share_percent: of all TCP payload while the others are there. others_mbps: what these
    get then.

    Of our flows only, the effect test's errors. yields_per_minute: how often each yielded while
    alone. held_percent: for how much of that time they held back. carried_on_percent: for how much
    of the time with others they did not.
    """

    point: Point
    seeds: tuple[int, ...]
    alone_mbps: tuple[float, ...] = ()
    queue_ms: tuple[float, ...] = ()
    queue_p95_ms: tuple[float, ...] = ()
    share_percent: tuple[float, ...] = ()
    others_mbps: tuple[float, ...] = ()
    yields_per_minute: tuple[float, ...] = ()
    held_percent: tuple[float, ...] = ()
    carried_on_percent: tuple[float, ...] = ()

    @property
    def name(self) -> str:
        """Return who the flows are."""
        return who(self.point)

    @property
    def w(self) -> float | None:
        """Return the weight of flows of ours; None of a peer's."""
        return weight(self.point)

    def use_percent(self, yardstick: Tradeoff) -> Estimate:
        """Return the use of the idle link, in percent of the yardstick's mean."""
        whole = sum(yardstick.alone_mbps) / len(yardstick.alone_mbps)
        return stats.estimate([100 * rate / whole for rate in self.alone_mbps])


ERRORS = ("yields_per_minute", "held_percent", "carried_on_percent")
"""The measures of Tradeoff that only flows of ours have."""

MEASURES = ("alone_mbps", "queue_ms", "queue_p95_ms", "share_percent", "others_mbps", *ERRORS)
"""All measures of Tradeoff, in the order of the tables."""


def who(point: Point) -> str:
    """Return whose the flows of host `sender` are: a value of the axis `who`."""
    return str(point.values["who"])


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


def _measure(
    results: Results, run: Run, alone: Window | None, contended: Window | None
) -> dict[str, float]:
    """Return what a run shows, by the name that it has in Tradeoff."""
    flows = run.point.experiment.flows
    ours = [flow.name for flow in flows if flow.host == "sender"]
    weighted = [flow.name for flow in flows if flow.host == "sender" and flow.w is not None]
    rates = results.table(run, "rates")
    found = {}
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
    return found


def measure(results: Results, sweep: Sweep) -> list[Tradeoff]:
    """Return what was measured at the sweep's points that have runs.

    Raises TestbedError if a run's table is missing or damaged.
    """
    found = []
    for point, runs in results.measured(sweep):
        alone, contended = windows(point.experiment, sweep.last_s)
        if alone is None and contended is None:
            raise TestbedError(f"{sweep.name}.toml: last_s: no phase of {point.name} is that long")
        rows = [_measure(results, run, alone, contended) for run in runs]
        columns = {name: tuple(row[name] for row in rows) for name in rows[0]}
        found.append(Tradeoff(point, tuple(run.seed for run in runs), **columns))
    return found


def yardstick(item: Tradeoff, found: Sequence[Tradeoff]) -> Tradeoff | None:
    """Return the point that an item's use is measured by; None if it has no run while alone."""
    return beside(item, [other for other in found if other.alone_mbps], YARDSTICK)


def place(point: Point) -> dict[str, Value]:
    """Return where the flows are, whoever they are: in which cell, or at which other values."""
    if point.cell is not None:
        return {"cell": point.cell}
    return {name: value for name, value in point.values.items() if name != "who"}


class Measured(Protocol):
    """What was measured at a point."""

    @property
    def point(self) -> Point:
        """Return the point."""


M = TypeVar("M", bound=Measured)


def beside(item: M, found: Iterable[M], name: str) -> M | None:
    """Return what `found` has for `name` in the place of an item's flows; None without a run."""
    there = place(item.point)
    return next((o for o in found if who(o.point) == name and place(o.point) == there), None)


def use_percent(item: Tradeoff, found: Sequence[Tradeoff]) -> Estimate | None:
    """Return the use of the idle link in percent of the yardstick's among `found`; None without."""
    whole = yardstick(item, found)
    return item.use_percent(whole) if whole and item.alone_mbps else None


def share_percent(item: Tradeoff) -> Estimate | None:
    """Return the share taken; None if nobody was there to take it from."""
    return stats.estimate(item.share_percent) if item.share_percent else None


def missing(item: Tradeoff, sweep: Sweep) -> int:
    """Return how many of its runs a point lacks."""
    return len(sweep.seeds) - len(item.seeds)


def cases(
    points: Iterable[Point],
    found: Sequence[Tradeoff],
    sweep: Sweep,
    *,
    value: Callable[[Tradeoff], Estimate | None],
    met: Callable[[float], bool],
    where: Callable[[Point], str],
    base: Callable[[Tradeoff], Tradeoff | None] = lambda _item: None,
) -> list[Case]:
    """Return a case for each of some points of a sweep: whether its mean in percent will do.

    base: what the value is relative to; runs that it lacks are missing, too.
    """
    measured = {item.point.name: item for item in found}
    made = []
    for point in points:
        item = measured.get(point.name)
        estimate = value(item) if item else None
        if item is None or estimate is None:
            made.append(Case(where(point), "no run", met=False))
        else:
            lacks = sum(missing(it, sweep) for it in (item, base(item)) if it is not None)
            made.append(Case(where(point), f"{estimate} %", met(estimate.mean), lacks))
    return made


def judge_use(
    points: Iterable[Point],
    found: Sequence[Tradeoff],
    sweep: Sweep,
    least_percent: float,
    where: Callable[[Point], str],
) -> Verdict:
    """Judge the use of the idle link at some points of a sweep by what CUBIC gets there."""
    return judge(
        f"alone at least {least_percent:g} % of what {YARDSTICK.upper()} gets there",
        cases(
            points,
            found,
            sweep,
            value=lambda item: use_percent(item, found),
            met=lambda use: use >= least_percent,
            where=where,
            base=lambda item: yardstick(item, found),
        ),
    )


def judge_share(
    points: Iterable[Point],
    found: Sequence[Tradeoff],
    sweep: Sweep,
    most_percent: float,
    where: Callable[[Point], str],
) -> Verdict:
    """Judge the share taken from others at some points of a sweep."""
    return judge(
        f"share at most {most_percent:g} %",
        cases(
            points,
            found,
            sweep,
            value=share_percent,
            met=lambda share: share <= most_percent,
            where=where,
        ),
    )


def frame(found: Sequence[Tradeoff]) -> pl.DataFrame:
    """Return a row per run: the point's settings, the seed, and what was measured."""
    rows = []
    for item in found:
        columns = {name: getattr(item, name) for name in MEASURES}
        for number, seed in enumerate(item.seeds):
            measured = {name: values[number] for name, values in columns.items() if values}
            rows.append(finding.settings(item.point) | {"seed": seed} | measured)
    return finding.rounded(finding.frame(rows))


def means(item: Tradeoff, names: Sequence[str]) -> Row:
    """Return the columns of means of some measures, with their intervals; null without values."""
    row: Row = {}
    for name in names:
        row |= finding.estimated(name, getattr(item, name))
    return row


def summary(found: Sequence[Tradeoff]) -> pl.DataFrame:
    """Return a row per point: its settings, runs, and the means with their intervals."""
    first, *rest = MEASURES
    return finding.frame(
        [
            finding.settings(item.point)
            | {"runs": len(item.seeds)}
            | means(item, [first])
            | finding.interval("use_percent", use_percent(item, found))
            | means(item, rest)
            for item in found
        ]
    )


def _least(found: Sequence[Tradeoff]) -> tuple[Tradeoff, Estimate] | None:
    """Return the item of the least weight and its use; None if there is nothing to compare."""
    item = min((i for i in found if i.w is not None), key=lambda i: i.w or 0, default=None)
    use = use_percent(item, found) if item else None
    return (item, use) if item and use else None


def _say_errors(item: Tradeoff) -> str:
    yields, held, carried_on = (stats.estimate(getattr(item, name)) for name in ERRORS)
    return (
        f"The effect test errs: alone, each yields {yields} times per minute and is held back for "
        f"{held} % of the time; contended, it carries on for {carried_on} %."
    )


def say(found: Sequence[Tradeoff]) -> str:
    """Return the finding in a sentence: the least weight, whose flows take least."""
    least = _least(found)
    if least is None:
        return "No run of CUBIC, or none of ours: nothing to compare."
    item, use = least
    return (
        f"At w = {item.w:g} two flows use {use} % of what CUBIC uses of an idle link, with a mean "
        f"queue of {stats.estimate(item.queue_ms)} ms, and take {share_percent(item)} % from two "
        f"CUBIC flows. {_say_errors(item)}"
    )


def find(results: Results, sweep: Sweep) -> Finding:
    """Measure the standard cell, and judge the least weight there."""
    found = measure(results, sweep)
    least = _least(found)
    cases: list[list[Case]] = [[], [], []]
    if least is not None:
        item, use = least
        queue, share = stats.estimate(item.queue_ms), stats.estimate(item.share_percent)
        lacks = missing(item, sweep)
        cases = [
            [Case("", f"{use} %", use.mean >= USE_PERCENT, lacks)],
            [Case("", f"{queue} ms", queue.mean < QUEUE_MS, lacks)],
            [Case("", f"{share} %", share.mean <= SHARE_PERCENT, lacks)],
        ]
    where = "standard cell, least weight:"
    return Finding(
        say(found),
        [
            judge(f"{where} use at least {USE_PERCENT:g} % of CUBIC's alone", cases[0]),
            judge(f"{where} mean queue alone below {QUEUE_MS:g} ms", cases[1]),
            judge(f"{where} share of two CUBIC flows' link at most {SHARE_PERCENT:g} %", cases[2]),
        ],
        frame(found),
        summary(found),
    )
