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
from collections.abc import Sequence

import altair as alt
import polars as pl

from dalbe_testbed.charts import BLUE, Picture, facets, series
from dalbe_testbed.errors import TestbedError
from dalbe_testbed.plan.experiment import Flow
from dalbe_testbed.plan.sweep import Point, Run, Sweep, axes, axis
from dalbe_testbed.study import engine
from dalbe_testbed.study.engine import Case, Finding, Found, Study, Verdict, beside, judge
from dalbe_testbed.study.results import (
    OURS,
    Group,
    Results,
    Row,
    Window,
    ended_s,
    presence,
    rivals,
    window,
)
from dalbe_testbed.study.short_flows import NOBODY_BYTES
from dalbe_testbed.study.tradeoff import NOBODY

PACED, SIZE = "flows.ours.paced_s", "flows.ours.link_s"
"""Axes: the seconds that a transfer is paced to take; its size, in seconds of the link."""

CAP = "cap-"
"""How CUBIC's name begins that is paced to its size in so many seconds."""

JUDGED = "mbc"
"""The controller that requirements are for: the module's default."""

HARM_PART = 0.5
"""How much of a cap's harm to short flows is allowed."""

USE_PERCENT = 90.0
"""The least that is to be used of an idle link while behind schedule."""

BEHIND_S = 30.0
"""A use while behind schedule is one of so long at least: slow start takes its part of it."""

GOODPUT = "goodput_mbps"
SOLO = (GOODPUT, "short_mean_s", "short_median_s", "short_p95_s", "delay_mean_ms", "delay_p95_ms")
"""Measures of others that harm is computed from; more is better of goodput alone."""

USES = ("idle_percent", "behind_percent")
QUEUES = ("queue_mean_ms", "queue_p95_ms")

HARMS = {name: f"{name.rpartition('_')[0]}_harm_percent" for name in SOLO}
ADDED = {name: f"added_{name}" for name in QUEUES}


def _ours(point: Point) -> Flow:
    return next(flow for flow in point.experiment.flows if flow.name == OURS)


def transfer(point: Point) -> str:
    """Return what makes the transfer: a value of the axis `controller`, or "cap-571s"."""
    paced_s = _ours(point).paced_s
    return str(point.values["controller"]) if paced_s is None else f"{CAP}{paced_s:g}s"


def task(point: Point) -> str:
    """Return what is to be done and where, whatever does it, in words: "eta = 0.1".

    That of varying.toml is "busy and idle minutes".
    """
    said = []
    for name, value in engine.place(point, "controller", PACED).items():
        if name == SIZE:
            said.append(f"as much as {value:g} s of the link")
        elif name in axes():
            said.append(axis(name).say(value))
        else:
            said.append(f"{name.rpartition('.')[2]} = {value}")
    return ", ".join(said) or "busy and idle minutes"


def _others(results: Results, run: Run, when: Window) -> Row:
    """Return the measures of SOLO and QUEUES that a run has."""
    what = run.point.experiment
    found: Row = {}
    if greedy := rivals(run.point):
        found[GOODPUT] = when.mean_mbps(results.table(run, "rates"), greedy)
    if what.short_flows:
        took = _requests(results, run, when)["seconds"]
        found["short_mean_s"], found["short_median_s"] = took.mean(), took.median()
        found["short_p95_s"] = took.quantile(0.95, "higher")
    delays = {}
    if what.voice:
        to_link_ms = what.link.base_rtt_ms(what.voice.host) / 2
        queue_ms = when.of(results.table(run, "voice"))["queue_ms"]
        delays["delay"] = to_link_ms + queue_ms.drop_nulls()
    if what.link.qdisc != "strict_priority":  # its tables are of two queues, one of them ours alone
        delays["queue"] = when.of(results.table(run, "queue"))["queue_ms"]
    for name, delay_ms in delays.items():
        found[f"{name}_mean_ms"] = delay_ms.mean()
        found[f"{name}_p95_ms"] = delay_ms.quantile(0.95, "linear")
    return found


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
    mine, end_s = pl.col("flow") == OURS, pl.col("t_s") + what.bin_s
    even = (_ours(run.point).bytes or 0) * (pl.col("t_s") - when.start_s) / when.length_s
    quiet = pl.lit(value=True)
    for name, its in presence(flows, math.inf).items():
        if name in rivals(run.point):
            quiet &= (end_s <= its.start_s) | (pl.col("t_s") >= its.end_s)
    return (
        rates.group_by("t_s")
        .agg(
            own=pl.col("wire_bytes").filter(mine).sum(),
            free=what.link.rate_bps / 8 * what.bin_s - pl.col("wire_bytes").filter(~mine).sum(),
            payload=pl.col("payload_bytes").filter(mine).sum(),
        )
        .sort("t_s")
        .with_columns(behind=pl.col("payload").cum_sum() - pl.col("payload") < even)
        .filter(quiet, pl.col("t_s") >= when.start_s, end_s <= min(over_s, when.end_s))
    )


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
    what, end_s = run.point.experiment, ended_s(own)
    over_s = what.end_s if end_s is None else end_s
    idle = _idle(results, run, when, over_s)
    behind = idle.filter("behind")
    long_enough = behind.height * what.bin_s >= BEHIND_S
    late_percent = 100 * max(0.0, (over_s - when.end_s) / when.length_s)
    return {
        "finish": None if end_s is None else (end_s - when.start_s) / when.length_s,
        "missed": end_s is None or late_percent > 0,
        "late_percent": late_percent,
        "_others": _others(results, run, when),
        "_schedule": _requests(results, run, when)["bytes"].to_list() if what.short_flows else [],
        "_idle_percent": _used_percent(idle),
        "_behind_percent": _used_percent(behind) if long_enough else None,
    }


def harm_percent(solo: float, together: float, *, more_is_better: bool) -> float:
    """Return Ware's harm in percent; negative for a measure that is better than without us."""
    if more_is_better:
        return 100 * (solo - together) / solo
    return 100 * (together - solo) / together


def _against(row: Row, solo: Row, where: str) -> Row:
    """Return a run's measures; harm and added queue are null without a run of nobody."""
    if solo and solo["_schedule"] != row["_schedule"]:
        raise TestbedError(f"{where}/seed{row['seed']}: other short flows than with nobody there")
    others: Row = row["_others"]
    alone: Row = solo.get("_others", {})
    both = others.keys() & alone.keys()
    harms = {
        HARMS[name]: harm_percent(alone[name], others[name], more_is_better=name == GOODPUT)
        for name in SOLO
        if name in both
    }
    added = {ADDED[name]: others[name] - alone[name] for name in QUEUES if name in both}
    own = {name: value for name, value in row.items() if not name.startswith("_")}
    return own | harms | added | {name: row[f"_{name}"] for name in USES} | others


def _compare(found: Found) -> Sequence[Group]:
    """Return every point but nobody's; missing also counts runs that nobody's lack."""
    compared = []
    for group, pairs in found.paired("controller", NOBODY, PACED, SIZE, "eta"):
        rows = [_against(row, solo, group.point.directory) for row, solo in pairs]
        missing = group.missing + sum(not solo for _row, solo in pairs)
        if transfer(group.point) != NOBODY:
            compared.append(Group(group.point, rows, missing))
    return compared


def _about(point: Point) -> Row:
    return {"transfer": transfer(point), "task": task(point), "point": point.name}


def _counts(group: Group) -> Row:
    misses = sum(bool(row["missed"]) for row in group.rows)
    return {"misses": misses} | engine.percentage("miss_percent", misses, len(group.rows))


def _beside_caps(found: Found, column: str, part: float = 1.0) -> list[Case]:
    """Return for every rate cap whether our mean of a column is at most a part of the cap's."""
    cases = []
    for group in map(found.at, found.sweep.points):
        if not transfer(group.point).startswith(CAP):
            continue
        where, cap = f"{group.point.name}, {column}", group.mean(column)
        ours = beside(group, found.groups, "controller", JUDGED, PACED)
        if ours and cap and (mine := ours.mean(column)):
            said, met = f"{mine}, cap {cap}", mine.mean <= part * cap.mean
            cases.append(Case(where, said, met, ours.missing + group.missing))
        else:
            cases.append(Case(where, "no run to compare", met=False, measured=False))
    return cases


def _require(found: Found) -> list[Verdict]:
    ours = [point for point in found.sweep.points if transfer(point) == JUDGED]
    misses = f"{JUDGED} misses no more deadlines than a rate cap"
    harms = (
        f"{JUDGED} does at most {HARM_PART:g} of a rate cap's harm to the completion of short flows"
    )
    used = (
        f"{JUDGED} behind schedule uses at least {USE_PERCENT:g} % of what is left of an idle link"
    )
    verdicts = []
    caps = any(transfer(point).startswith(CAP) for point in found.sweep.points)
    if caps:
        verdicts.append(judge(misses, _beside_caps(found, "missed")))
    if caps and any(point.experiment.short_flows for point in ours):
        kinds = [HARMS[f"short_{kind}_s"] for kind in ("mean", "p95")]
        cases = [case for kind in kinds for case in _beside_caps(found, kind, HARM_PART)]
        verdicts.append(judge(f"{harms}, mean and 95th percentile", cases))
    if idle := [point for point in ours if point.values.get("others") == "idle"]:
        bounds = {"least": USE_PERCENT, "absent": "no run behind schedule"}
        verdicts.append(found.judge_mean(used, "behind_percent", idle, **bounds))
    return verdicts


PANELS = {
    "miss_percent": "deadlines missed, %",
    "late_percent": "late by, % of the window",
    "idle_percent": "used of idle minutes, %",
    "behind_percent": "used of them while behind, %",
    "goodput_harm_percent": "harm to CUBIC's goodput, %",
    "short_mean_harm_percent": "harm to short flows, mean, %",
    "short_median_harm_percent": "harm to short flows, median, %",
    "short_p95_harm_percent": "harm to short flows, p95, %",
    "delay_mean_harm_percent": "harm to interactive delay, mean, %",
    "delay_p95_harm_percent": "harm to interactive delay, p95, %",
    "added_queue_mean_ms": "added queue, mean, ms",
    "added_queue_p95_ms": "added queue, p95, ms",
}
"""The measures of the summary that are drawn, with their titles; those without a value are not."""

MISSES = ("miss_percent", "late_percent")
"""Measures left out of a task that nobody does in time: everybody misses it."""

PARTS = {"idle_percent": (0, 100), "behind_percent": (0, 100)}
"""Parts of what there is: intervals of few runs reach beyond none and all."""

OUR_TRANSFERS = {
    "mbc": "dalbe_cdg, MBC",
    "pid": "dalbe_cdg, PID",
    "floor": "dalbe_cdg, rate floor",
    "phantom": "dalbe_cubic, phantom signals",
    "beta": "dalbe_cubic, beta",
    "dalbe-vegas": "dalbe_vegas",
}
PEERS = {
    "cdg-g0.1": "in-tree cdg, G = 0.1",
    "cdg-g3": "in-tree cdg, G = 3",
    "cdg-g120": "in-tree cdg, G = 120",
    "vegas": "Vegas",
    "lp": "TCP-LP",
    "cubic": "CUBIC",
    "strict_priority": "strict priority",
}
"""From above to below: ours, the rate caps, these, of which the last is the limit."""


def called(transfers: pl.Series) -> dict[str, str]:
    """Return how transfers are called in pictures, from above to below; new ones come last."""
    caps = sorted({name for name in transfers if name.startswith(CAP)}, reverse=True)
    seconds = {name: name.removeprefix(CAP).removesuffix("s") for name in caps}
    names = OUR_TRANSFERS | {cap: f"rate cap, size/{s} s" for cap, s in seconds.items()} | PEERS
    known = {name: said for name, said in names.items() if name in transfers}
    return known | {name: name for name in transfers if name not in known}


def drawn(summary: pl.DataFrame) -> pl.DataFrame:
    """Return a row per measure, transfer and task: what is drawn, a mean and its interval.

    A task for which all were late in every run is not among the misses. Intervals of parts end at
    none and all.
    """
    missed = pl.col("miss_percent")
    hopeless = (missed.count() > 0) & (missed == 100).all()  # noqa: PLR2004 (percent)
    said = pl.format("{} (cannot be met: not among the misses)", "task")
    rows = summary.with_columns(hopeless=hopeless.over("task")).with_columns(
        task=pl.when("hopeless").then(said).otherwise("task"),
        ours=pl.col("transfer").is_in([*OUR_TRANSFERS]),
    )
    return pl.concat(
        rows.select(
            *("transfer", "task", "ours"),
            measure=pl.lit(title),
            mean=pl.when(~(pl.col("hopeless") & (name in MISSES))).then(name),
            **{
                end: pl.col(f"{name}_{end}").clip(*PARTS.get(name, (None, None)))
                for end in ("low", "high")
            },
        )
        for name, title in PANELS.items()
    ).drop_nulls("mean")


def draw(found: Finding) -> Picture:
    """Draw every measure: means over seeds with their intervals, ours highlighted."""
    rows = drawn(found.summary)
    names = called(rows["transfer"])
    rows = rows.with_columns(pl.col("transfer").replace(names))
    colours = alt.Scale(domain=[True, False], range=[BLUE, "#404040"])
    task = series(rows, "task")
    chart = alt.Chart(rows).encode(
        alt.Y("transfer").sort([*names.values()]).title(None),
        alt.Color("ours:N").scale(colours).legend(None),
        alt.YOffset(**task),
    )
    mean = alt.X("mean").title(None).scale(zero=True)
    shape = alt.Shape(**task).legend(orient="bottom")
    ends = chart.mark_rule().encode(alt.X("low").title(None), alt.X2("high"))
    layers = ends + chart.mark_point().encode(mean, shape)
    size = layers.properties(width=200, height=18 * len(names))
    return facets(rows, size, "measure", 4).resolve_scale(x="independent")


STUDY = Study(
    measure,
    _require,
    ["late_percent", *HARMS.values(), *ADDED.values(), *USES],
    about=_about,
    compare=_compare,
    counts=_counts,
    draw=draw,
)
