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

import math
from collections.abc import Mapping, Sequence

import polars as pl

from dalbe_testbed.errors import TestbedError
from dalbe_testbed.plan.experiment import Flow
from dalbe_testbed.plan.sample import Value
from dalbe_testbed.plan.sweep import Point, Run, Sweep, axes, axis
from dalbe_testbed.study import engine, stats
from dalbe_testbed.study.completion import NOBODY, NOBODY_BYTES
from dalbe_testbed.study.engine import Found, Group, Row, Study
from dalbe_testbed.study.results import Results
from dalbe_testbed.study.tradeoff import Window
from dalbe_testbed.study.verdict import Case, Verdict, judge

OURS, CAP = "ours", "cap-"
"""The transfer's flow; and how CUBIC's name begins that is paced to its size in so many seconds."""

JUDGED = "mbc"
"""The controller that requirements are for: the module's default."""

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
"""Measures of others that harm is computed from, and whether more is better."""

QUEUES = ("queue_mean_ms", "queue_p95_ms")

HARMS = {name: f"{name.rpartition('_')[0]}_harm_percent" for name in SOLO}
ADDED = {name: f"added_{name}" for name in QUEUES}


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


def measure(results: Results, run: Run, sweep: Sweep) -> Row:
    """Return what a run's tables show. Raises TestbedError if one is missing or makes no sense.

    finish: end of the transfer in parts of its window; null if it did not end. late_percent: of the
    window, 0 if in time; of one that did not end, until the run did. idle_percent: the part used of
    what the others left of the link while no long flow of theirs was there and the transfer not
    done, nor due. behind_percent: the same while less was done than had it been spread evenly. Null
    for no time of the kind. _others: the measures of SOLO and QUEUES that the run has. _schedule:
    bytes of the short flows.
    """
    own, when = results.table(run, "flows").filter(flow=OURS), window(sweep)
    if transfer(run.point) == NOBODY and own["payload_bytes"].item() > NOBODY_BYTES:
        raise TestbedError(f"{run.directory}: nobody sent {own['payload_bytes'].item()} bytes")
    what = run.point.experiment
    length_s = when.end_s - when.start_s
    over_s = float(own["end_s"].item()) if own["finished"].item() else what.end_s
    idle = _idle(results, run, when, over_s)
    behind = idle.filter("behind")
    late_percent = 100 * max(0.0, (over_s - when.end_s) / length_s)
    return {
        "finish": (over_s - when.start_s) / length_s if own["finished"].item() else None,
        "missed": late_percent > 0,
        "late_percent": late_percent,
        "_others": _others(results, run, when),
        "_schedule": _requests(results, run, when)["bytes"].to_list() if what.short_flows else [],
        "_idle_percent": _used_percent(idle),
        "_behind_percent": _used_percent(behind)
        if behind.height * what.bin_s >= BEHIND_S
        else None,
    }


def harm_percent(solo: float, together: float, *, more_is_better: bool) -> float:
    """Return Ware's harm in percent; negative for a measure that is better than without us."""
    if more_is_better:
        return 100 * (solo - together) / solo
    return 100 * (together - solo) / together


def _against(row: Row, solo: Row | None, where: str) -> Row:
    """Return a run's measures; harm and added queue are null without a run of nobody."""
    if solo and solo["_schedule"] != row["_schedule"]:
        raise TestbedError(f"{where}/seed{row['seed']}: other short flows than with nobody there")
    others, alone = row["_others"], solo["_others"] if solo else {}
    columns: Row = {name: value for name, value in row.items() if not name.startswith("_")}
    for name, more_is_better in SOLO.items():
        if solo and name in others:
            columns[HARMS[name]] = harm_percent(
                alone[name], others[name], more_is_better=more_is_better
            )
    for name in QUEUES:
        if solo and name in others:
            columns[ADDED[name]] = others[name] - alone[name]
    percents: Row = {name: row[f"_{name}"] for name in ("idle_percent", "behind_percent")}
    return {**columns, **percents, **others}


def _compare(found: Found) -> Sequence[Group]:
    """Return every point but nobody's; missing also counts runs that nobody's lack."""
    groups = []
    for group in found.groups:
        point = group.point
        if transfer(point) == NOBODY:
            continue
        alone = {
            row["seed"]: row
            for other in found.groups
            if transfer(other.point) == NOBODY and _place(other.point) == _place(point)
            for row in other.rows
        }
        rows = [_against(row, alone.get(row["seed"]), point.directory) for row in group.rows]
        compared = sum(row["seed"] in alone for row in rows)
        groups.append(Group(point, rows, len(found.sweep.seeds) - compared))
    return groups


def _about(point: Point) -> Row:
    return {"transfer": transfer(point), "task": say_task(task(point))}


def _misses(group: Group) -> int:
    """Return how many runs were late."""
    return sum(bool(row["missed"]) for row in group.rows)


def _summary(found: Found) -> list[Row]:
    rows = []
    for group in found.groups:
        misses, runs = _misses(group), len(group.rows)
        low, high = stats.proportion(misses, runs)
        rows.append(
            _about(group.point)
            | {
                "point": group.point.name,
                "runs": runs,
                "misses": misses,
                "miss_percent": 100 * misses / runs,
                "miss_percent_low": 100 * low,
                "miss_percent_high": 100 * high,
            }
            | engine.means(group, ["late_percent", *HARMS.values(), *ADDED.values()])
            | engine.means(group, ["idle_percent", "behind_percent"])
        )
    return rows


def _of(found: Sequence[Group], name: str, point: Point) -> Group | None:
    """Return the standing of a transfer at a point's task."""
    same = (s for s in found if transfer(s.point) == name and task(s.point) == task(point))
    return next(same, None)


def _of_ours(sweep: Sweep) -> list[Point]:
    return [point for point in sweep.points if transfer(point) == JUDGED]


def _against_caps(found: Sequence[Group], sweep: Sweep, name: str) -> list[Case]:
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
            said = f"{_misses(ours)} of {len(ours.rows)}, cap {_misses(cap)} of {len(cap.rows)}"
            met = _misses(ours) * len(cap.rows) <= _misses(cap) * len(ours.rows)
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


def _idle_cases(found: Sequence[Group], points: Sequence[Point]) -> list[Case]:
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


def _require(every: Found) -> list[Verdict]:
    found, sweep = every.groups, every.sweep
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


STUDY = Study(measure, _require, about=_about, compare=_compare, summary=_summary)
