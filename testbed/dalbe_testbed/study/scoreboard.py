# SPDX-License-Identifier: GPL-2.0-only
"""The scoreboard: deadlines, harm to others and use of what is idle, whatever makes the transfer.

The transfer is flow `ours`; the axis `controller` says what makes it. Harm is that of Ware,
Mukerjee, Seshan and Sherry, *Beyond Jain's Fairness Index: Setting the Bar For The Deployment of
Congestion Control Algorithms* (HotNets 2019): how much worse a measure is with us than without,

    more is better: (solo - with) / solo          less is better: (with - solo) / with

in percent, 100 being all there was. Solo is the run of the same seed with nobody in our place. Both
count from the transfer's start to its deadline, whenever it is done: who is early harms nobody
afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from dalbe_testbed.errors import TestbedError
from dalbe_testbed.plan.experiment import Flow
from dalbe_testbed.plan.sample import Value
from dalbe_testbed.plan.sweep import Point, Run, Sweep, axes, axis
from dalbe_testbed.study import finding, stats, verdict
from dalbe_testbed.study.completion import NOBODY, NOBODY_BYTES
from dalbe_testbed.study.finding import Finding, Row
from dalbe_testbed.study.results import Results
from dalbe_testbed.study.tradeoff import Window
from dalbe_testbed.study.verdict import Case, Verdict, judge

OURS, CAP = "ours", "cap-"
"""The transfer's flow; and how CUBIC's name begins that is paced to its size in so many seconds."""

JUDGED = "mbc"
"""What makes the transfer of which something is required: the module's default."""

HARM_PART = 0.5
"""How much of a cap's harm to short flows is allowed."""

USE_PERCENT = 90.0
"""The least that is to be used of an idle link while behind schedule."""

BEHIND_S = 30.0
"""A use while behind schedule is one of so long at least: slow start takes its part of it."""

SOLO: Mapping[str, bool] = {
    "goodput_mbps": True,
    "short_mean_s": False,
    "short_median_s": False,
    "short_p95_s": False,
    "delay_mean_ms": False,
    "delay_p95_ms": False,
}
"""What harm is done to: measures of others, and whether more of it is better."""

QUEUES = ("queue_mean_ms", "queue_p95_ms")

HARMS = {name: f"{name.rpartition('_')[0]}_harm_percent" for name in SOLO}
ADDED = {name: f"added_{name}" for name in QUEUES}

MEASURES = (
    "late_percent",
    *HARMS.values(),
    *ADDED.values(),
    "idle_percent",
    "behind_percent",
)
"""The columns of which the summary has the mean over those runs that have it."""


def _ours(point: Point) -> Flow:
    return next(flow for flow in point.experiment.flows if flow.name == OURS)


def transfer(point: Point) -> str:
    """Return what makes the transfer: a value of the axis `controller`, or "cap-571s"."""
    paced_s = _ours(point).paced_s
    return str(point.values["controller"]) if paced_s is None else f"{CAP}{paced_s:g}s"


def task(point: Point) -> dict[str, Value]:
    """Return what is to be done and where, whatever does it: eta, others, size."""
    own = ("controller", "flows.ours.paced_s")
    return {name: value for name, value in point.values.items() if name not in own}


def _place(point: Point) -> dict[str, Value]:
    """Return where the transfer is: what nobody in its place shares with it."""
    values = task(point).items()
    return {k: v for k, v in values if k != "eta" and not k.startswith(f"flows.{OURS}.")}


def say_task(values: Mapping[str, Value]) -> str:
    """Return a task in words, "eta = 0.1"; that of varying.toml is "busy and idle minutes"."""
    said = []
    for name, value in values.items():
        if name == f"flows.{OURS}.link_s":
            said.append(f"as much as {value:g} s of the link")
        elif name in axes():
            said.append(axis(name).say(value))
        else:
            said.append(f"{name.rpartition('.')[2]} = {value}")
    return ", ".join(said) or "busy and idle minutes"


def window(sweep: Sweep) -> Window:
    """Return from when to when every transfer has time, s.

    Raises TestbedError if the sweep's goals differ in that, or if there is none.
    """
    found = {
        (flow.start_s, flow.start_s + flow.goal.deadline_s)
        for flow in map(_ours, sweep.points)
        if flow.goal
    }
    if len(found) != 1:
        raise TestbedError(f"{sweep.name}.toml: a scoreboard needs goals, all of one time")
    return Window(*found.pop())


@dataclass(frozen=True)
class Seen:
    """What a run showed.

    finish: end of the transfer in parts of its window; None if it did not end. late_percent: of the
    window, 0 if in time; of one that did not end, until the run did. others: the measures of SOLO
    and QUEUES that the run has. schedule: bytes of the short flows. idle_percent: the part used of
    what the others left of the link while no long flow of theirs was there and the transfer not
    done, nor due. behind_percent: the same while less was done than had it been spread evenly. None
    for no time of the kind.
    """

    run: Run
    finish: float | None
    late_percent: float
    others: dict[str, float]
    schedule: list[int]
    idle_percent: float | None
    behind_percent: float | None


def _number(value: object) -> float:
    return float(str(value))


def _others(results: Results, run: Run, when: Window) -> dict[str, float]:
    what = run.point.experiment
    found: dict[str, float] = {}
    if greedy := _greedy(run):
        found["goodput_mbps"] = when.mean_mbps(results.table(run, "rates"), greedy)
    if what.short_flows:
        took = _requests(results, run, when)["seconds"]
        found["short_mean_s"] = _number(took.mean())
        found["short_median_s"] = _number(took.median())
        found["short_p95_s"] = _number(took.quantile(0.95, "higher"))
    if what.voice:
        to_link_ms = what.link.base_rtt_ms(what.voice.host) / 2
        delay_ms = to_link_ms + when.of(results.table(run, "voice"))["queue_ms"].drop_nulls()
        found["delay_mean_ms"] = _number(delay_ms.mean())
        found["delay_p95_ms"] = _number(delay_ms.quantile(0.95, "linear"))
    if what.link.qdisc != "strict_priority":  # its tables are of two queues, one of them ours alone
        queue_ms = when.of(results.table(run, "queue"))["queue_ms"]
        found["queue_mean_ms"] = _number(queue_ms.mean())
        found["queue_p95_ms"] = _number(queue_ms.quantile(0.95, "linear"))
    return found


def _greedy(run: Run) -> list[str]:
    """Return the others' long flows."""
    flows = run.point.experiment.flows
    return [flow.name for flow in flows if flow.host == "xsender" and flow.duration_s is not None]


def _requests(results: Results, run: Run, when: Window) -> pl.DataFrame:
    """Return the short flows that began in time, and their seconds; until the end if not over."""
    over = pl.col("end_s").fill_null(run.point.experiment.duration_s)
    table = results.table(run, "requests").with_columns(seconds=over - pl.col("start_s"))
    found = table.filter(pl.col("start_s").is_between(when.start_s, when.end_s, closed="left"))
    if found.is_empty():
        raise TestbedError(f"{run.directory}: no short flow began while the transfer had time")
    return found


def _idle(results: Results, run: Run, when: Window, over_s: float) -> pl.DataFrame:
    """Return the bins, before the transfer's end and deadline, without a long flow of others.

    Columns: t_s, own and free: bytes on the wire of the transfer, and what others left it;
    behind: whether less was done before than had it been spread evenly over its time.
    """
    flows, rates = (results.table(run, name) for name in ("flows", "rates"))
    what = run.point.experiment
    mine = pl.col("flow") == OURS
    bins = (
        rates.group_by("t_s")
        .agg(
            own=pl.col("wire_bytes").filter(mine).sum(),
            free=what.link.rate_bps / 8 * what.bin_s - pl.col("wire_bytes").filter(~mine).sum(),
            payload=pl.col("payload_bytes").filter(mine).sum(),
        )
        .sort("t_s")
        .with_columns(done=pl.col("payload").cum_sum() - pl.col("payload"))
    )
    size = _ours(run.point).bytes or 0
    even = size * (pl.col("t_s") - when.start_s) / (when.end_s - when.start_s)
    there = flows.filter(pl.col("flow").is_in(_greedy(run))).with_columns(
        pl.col("end_s").fill_null(math.inf)
    )
    quiet = pl.lit(value=True)
    for start_s, end_s in there.select("start_s", "end_s").rows():
        quiet &= (pl.col("t_s") + what.bin_s <= start_s) | (pl.col("t_s") >= end_s)
    until_s = min(over_s, when.end_s)
    return bins.filter(
        quiet, pl.col("t_s") >= when.start_s, pl.col("t_s") + what.bin_s <= until_s
    ).select("t_s", "own", "free", behind=pl.col("done") < even)


def _used_percent(bins: pl.DataFrame) -> float | None:
    return None if bins.is_empty() else 100 * float(bins["own"].sum()) / float(bins["free"].sum())


def measure(results: Results, run: Run, when: Window) -> Seen:
    """Return what a run's tables show. Raises TestbedError if one is missing or makes no sense."""
    own = results.table(run, "flows").filter(flow=OURS)
    if transfer(run.point) == NOBODY and own["payload_bytes"].item() > NOBODY_BYTES:
        raise TestbedError(f"{run.directory}: nobody sent {own['payload_bytes'].item()} bytes")
    what = run.point.experiment
    length_s = when.end_s - when.start_s
    over_s = float(own["end_s"].item()) if own["finished"].item() else what.end_s
    idle = _idle(results, run, when, over_s)
    behind = idle.filter("behind")
    return Seen(
        run,
        (over_s - when.start_s) / length_s if own["finished"].item() else None,
        100 * max(0.0, (over_s - when.end_s) / length_s),
        _others(results, run, when),
        _requests(results, run, when)["bytes"].to_list() if what.short_flows else [],
        _used_percent(idle),
        _used_percent(behind) if behind.height * what.bin_s >= BEHIND_S else None,
    )


def harm_percent(solo: float, together: float, *, more_is_better: bool) -> float:
    """Return Ware's harm in percent; negative for a measure that is better than without us."""
    if more_is_better:
        return 100 * (solo - together) / solo
    return 100 * (together - solo) / together


def _row(seen: Seen, solo: Seen | None) -> Row:
    """Return a run's measures; harm and added queue are null without a run of nobody."""
    if solo and solo.schedule != seen.schedule:
        raise TestbedError(f"{seen.run.directory}: other short flows than with nobody there")
    row: Row = {
        "transfer": transfer(seen.run.point),
        "task": say_task(task(seen.run.point)),
        "seed": seen.run.seed,
        "finish": seen.finish,
        "missed": seen.late_percent > 0,
        "late_percent": seen.late_percent,
    }
    for name, more_is_better in SOLO.items():
        if solo and name in seen.others:
            harm = harm_percent(solo.others[name], seen.others[name], more_is_better=more_is_better)
            row[HARMS[name]] = harm
    for name in QUEUES:
        if solo and name in seen.others:
            row[ADDED[name]] = seen.others[name] - solo.others[name]
    return row | {
        "idle_percent": seen.idle_percent,
        "behind_percent": seen.behind_percent,
        **seen.others,
    }


@dataclass(frozen=True)
class Standing:
    """A point's rows. missing: runs that it lacks, or that have nobody's run to compare with."""

    point: Point
    rows: Sequence[Row]
    missing: int

    @property
    def misses(self) -> int:
        """How many runs were late."""
        return sum(bool(row["missed"]) for row in self.rows)

    def values(self, name: str) -> list[float]:
        """Return a measure's values by seed, of those runs that have one."""
        return finding.numbers(self.rows, name)

    def summary(self) -> Row:
        """Return the columns of the summary."""
        low, high = stats.proportion(self.misses, len(self.rows))
        row: Row = {
            "transfer": transfer(self.point),
            "task": say_task(task(self.point)),
            "point": self.point.name,
            "runs": len(self.rows),
            "misses": self.misses,
            "miss_percent": 100 * self.misses / len(self.rows),
            "miss_percent_low": 100 * low,
            "miss_percent_high": 100 * high,
        }
        for name in MEASURES:
            row |= finding.estimated(name, self.values(name))
        return row


def standings(results: Results, sweep: Sweep) -> list[Standing]:
    """Return every point that has runs but nobody's. Raises TestbedError as measure() does."""
    when = window(sweep)
    seen = {
        point.name: [measure(results, run, when) for run in runs]
        for point, runs in results.measured(sweep)
    }
    found = []
    for point in sweep.points:
        if transfer(point) == NOBODY or point.name not in seen:
            continue
        alone = {
            one.run.seed: one
            for other in sweep.points
            if transfer(other) == NOBODY and _place(other) == _place(point)
            for one in seen.get(other.name, [])
        }
        rows = [_row(one, alone.get(one.run.seed)) for one in seen[point.name]]
        compared = sum(one.run.seed in alone for one in seen[point.name])
        found.append(Standing(point, rows, len(sweep.seeds) - compared))
    return found


def _of(found: Sequence[Standing], name: str, point: Point) -> Standing | None:
    """Return the standing of a transfer at a point's task."""
    same = (s for s in found if transfer(s.point) == name and task(s.point) == task(point))
    return next(same, None)


def _of_ours(sweep: Sweep) -> list[Point]:
    return [point for point in sweep.points if transfer(point) == JUDGED]


def _against_caps(found: Sequence[Standing], sweep: Sweep, name: str) -> list[Case]:
    """Judge one of our measures, the misses or harm to short flows, by that of every rate cap."""
    cases = []
    for point in sweep.points:
        who = transfer(point)
        if not who.startswith(CAP):
            continue
        where = f"{say_task(task(point))}, {who}"
        ours, cap = (_of(found, name, point) for name in (JUDGED, who))
        if ours is None or cap is None:
            cases.append(Case(where, "no run to compare", met=False))
            continue
        lacks = ours.missing + cap.missing
        if name == "misses":
            said = f"{ours.misses} of {len(ours.rows)}, cap {cap.misses} of {len(cap.rows)}"
            met = ours.misses * len(cap.rows) <= cap.misses * len(ours.rows)
            cases.append(Case(where, said, met, lacks))
            continue
        kind = name.removeprefix("short_").removesuffix("_harm_percent")
        if not ours.values(name) or not cap.values(name):
            cases.append(Case(f"{where}, {kind}", "no run to compare", met=False))
            continue
        own, theirs = (stats.estimate(it.values(name)) for it in (ours, cap))
        met = own.mean <= HARM_PART * theirs.mean
        cases.append(Case(f"{where}, {kind}", f"{own} %, cap {theirs} %", met, lacks))
    return cases


def _idle_cases(found: Sequence[Standing], points: Sequence[Point]) -> list[Case]:
    cases = []
    for point in points:
        ours = _of(found, JUDGED, point)
        used = ours.values("behind_percent") if ours else []
        if ours is None or not used:
            cases.append(Case(say_task(task(point)), "no run behind schedule", met=False))
            continue
        use = stats.estimate(used)
        lacks = max(ours.missing, ours.missing + len(ours.rows) - len(used))
        cases.append(Case(say_task(task(point)), f"{use} %", use.mean >= USE_PERCENT, lacks))
    return cases


def _verdicts(found: Sequence[Standing], sweep: Sweep) -> list[Verdict]:
    verdicts = [
        judge(
            f"{JUDGED} misses no more deadlines than a rate cap",
            _against_caps(found, sweep, "misses"),
        )
    ]
    if any(point.experiment.short_flows for point in _of_ours(sweep)):
        harms = [HARMS["short_mean_s"], HARMS["short_p95_s"]]
        verdicts.append(
            judge(
                f"{JUDGED} does at most {HARM_PART:g} of a rate cap's harm to the completion of "
                "short flows, mean and 95th percentile",
                [case for name in harms for case in _against_caps(found, sweep, name)],
            )
        )
    idle = [point for point in _of_ours(sweep) if point.values.get("others") == "idle"]
    if idle:
        verdicts.append(
            judge(
                f"{JUDGED} behind schedule uses at least {USE_PERCENT:g} % of what is left of an "
                "idle link",
                _idle_cases(found, idle),
            )
        )
    return verdicts


def find(results: Results, sweep: Sweep) -> Finding:
    """Measure every run against nobody's, and judge ours against the caps and on the idle link."""
    found = standings(results, sweep)
    verdicts = _verdicts(found, sweep)
    return Finding(
        verdict.say(verdicts),
        verdicts,
        finding.frame([row for standing in found for row in standing.rows]),
        finding.frame([standing.summary() for standing in found]),
    )
