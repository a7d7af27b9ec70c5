# SPDX-License-Identifier: GPL-2.0-only
"""Deadlines under realistic traffic: one transfer after another, beside web-like sessions.

The framework paper's Figure 10. A transfer is late if it is not done by its deadline, by however
little; one that was not done when the run ended is late by all there is. Plain CUBIC in our place,
where a sweep has it, says whether the deadlines can be held: of that nothing is required.
"""

import math
import statistics
from collections.abc import Sequence

import altair as alt
import polars as pl

from dalbe_testbed.charts import Picture, facets, means, required, words
from dalbe_testbed.errors import TestbedError
from dalbe_testbed.plan.experiment import Web
from dalbe_testbed.plan.schedule import object_wire_bytes
from dalbe_testbed.plan.sweep import Point, Run, Sweep
from dalbe_testbed.reduce import capture
from dalbe_testbed.study import engine
from dalbe_testbed.study.engine import Case, Finding, Found, Study, Verdict, judge
from dalbe_testbed.study.results import OURS, Group, Results, Row, Window, frame, rtt_ms, window

COMPLETIONS = 60
"""A point has so many at least."""

LOAD_OFF = 0.05
"""By what part the load that was carried of the sessions may differ from the offered one."""

MISS_PERCENT = {0.6: 2.0, 1.0: 5.0}
"""How many deadlines may be missed up to a load."""

LATE_PERCENT = 2.0
"""Part of the window by which a transfer may be late at most."""


def measure(results: Results, run: Run, sweep: Sweep) -> Row:
    """Return a run's transfers, and the loads that were carried in parts of the link's rate.

    Raises TestbedError if a table is missing. _parts: when each transfer was done, in parts of its
    window; inf: never. latest: the last of these. A transfer that was not due when the run ended is
    left out. _called: the part of its window after which it was called infeasible, before its end
    and deadline, or None. carried: the sessions' bytes behind the bottleneck, with what was sent
    again. carried_back: the frames of the objects that were fetched the other way, where
    acknowledgements share the link.
    """
    what, due_s = run.point.experiment, window(sweep).length_s
    rates, begin_s, end_s = results.table(run, "rates"), _web(run.point).start_s, what.duration_s
    over_s = capture.rates_end_s(rates, what.bin_s)
    took = (pl.col("end_s") - pl.col("start_s")) / due_s
    known = pl.col("end_s").is_not_null() | (pl.col("start_s") + due_s <= over_s)
    transfers = results.table(run, "transfers").filter(known, flow=OURS)
    times = transfers.select("start_s", took.fill_null(math.inf)).rows()
    called_s = results.control(run).filter(flow=OURS, status="infeasible").sort("t_s")["t_s"]
    called = [
        next((at for at in (called_s - start_s) / due_s if 0 <= at < min(part, 1)), None)
        for start_s, part in times
    ]
    fetched = results.table(run, "web").filter(
        pl.col("end_s").is_between(begin_s, end_s), direction="back"
    )["bytes"]
    could = what.link.rate_bps / 8 * (end_s - begin_s)
    return {
        "transfers": len(times),
        "late": sum(part > 1 for _start_s, part in times),
        "latest": max((part for _start_s, part in times), default=None),
        "carried": Window(begin_s, end_s).total(rates, ["web"]) / could,
        "carried_back": sum(map(object_wire_bytes, fetched)) / could,
        "_parts": [part for _start_s, part in times],
        "_called": called,
    }


def _web(point: Point) -> Web:
    assert point.experiment.web
    return point.experiment.web


def _has_goal(point: Point) -> bool:
    return any(flow.goal for flow in point.experiment.flows)


def _parts(group: Group) -> list[float]:
    return [part for row in group.rows for part in row["_parts"]]


def _called(group: Group) -> Row:
    """Return of how many transfers it was said, before their deadline, that they would be late.

    called_at: the median over the late ones, in parts of their window. Null without a goal.
    """
    if not _has_goal(group.point):
        return dict.fromkeys(["late_called", "called_at", "in_time_called"])
    called = [at for row in group.rows for at in row["_called"]]
    both = list(zip(_parts(group), called, strict=True))
    late = [at for part, at in both if part > 1 and at is not None]
    return {
        "late_called": len(late),
        "called_at": statistics.median(late) if late else None,
        "in_time_called": sum(part <= 1 and at is not None for part, at in both),
    }


def _sends(point: Point) -> str:
    """Return what makes the transfers: a congestion control, or a base and how w changes it."""
    sends = point.values.get("in_place", "dalbe")
    return "dalbe_cdg" if sends == "dalbe" else str(sends)


def _total(column: str, groups: Sequence[Group]) -> int:
    """Return the sum of a column over all runs of some points."""
    return int(sum(sum(group.values(column)) for group in groups))


def _missed(*groups: Group) -> Row:
    """Return how many transfers were late, in percent, and the exact 95 % interval of that."""
    late = _total("late", groups)
    percent = engine.percentage("miss_percent", late, _total("transfers", groups))
    return {"late": late} | percent


def _carried_cases(group: Group) -> list[Case]:
    """Return a case for each direction that has sessions."""
    web, name = _web(group.point), group.point.name
    if not group.rows:
        return [Case(name, "no run", met=False, measured=False)]
    back = web.load * web.reverse_part
    ways = [(name, "carried", web.load), (f"{name}, back", "carried_back", back)]
    return [
        Case(where, f"{mean:.3f}", abs(mean / offered - 1) <= LOAD_OFF, group.missing)
        for where, column, offered in ways
        for mean in [statistics.fmean(group.values(column))]
        if offered
    ]


def _missed_case(where: str, groups: Sequence[Group], most_percent: float, missing: int) -> Case:
    if not (count := _total("transfers", groups)):
        return Case(where, "no transfer", met=False, measured=False)
    late, percent, low, high = _missed(*groups).values()
    said = f"{percent:.2g} % [{low:.2g}, {high:.2g}], {late} of {count}"
    return Case(where, said, percent <= most_percent, missing)


def _most_percent(group: Group) -> float:
    load = _web(group.point).load
    return next(most for upto, most in MISS_PERCENT.items() if load <= upto)


def _enough(group: Group) -> Case:
    count, known = _total("transfers", [group]), bool(group.rows)
    return Case(group.point.name, f"{count}", count >= COMPLETIONS, group.missing, measured=known)


def _lateness(group: Group) -> Case:
    if not (ends := group.values("latest")):
        return Case(group.point.name, "no transfer", met=False, measured=False)
    worst = 100 * max(0, max(ends) - 1)
    return Case(group.point.name, f"{worst:.2g} %", worst < LATE_PERCENT, group.missing)


def _require(found: Found) -> list[Verdict]:
    """Judge transfers that have a goal."""
    groups = [found.at(point) for point in found.sweep.points]
    judged = [group for group in groups if _has_goal(group.point)]
    missed = [
        _missed_case(group.point.name, [group], _most_percent(group), group.missing)
        for group in judged
    ]
    # A point alone is too few for a bound of a few percent: all of one limit tell more.
    for most in MISS_PERCENT.values():
        if some := [group for group in judged if _most_percent(group) == most]:
            missed.append(_missed_case(f"all to {most:g} % together", some, most, 0))
    return [
        judge(f"at least {COMPLETIONS} transfers at every point", [*map(_enough, judged)]),
        judge(
            f"the sessions carry what they offer, within {100 * LOAD_OFF:g} %, in each direction",
            [case for group in groups for case in _carried_cases(group)],
        ),
        judge("at most 2 % of the deadlines missed up to a load of 0.6, and 5 % above", missed),
        judge(
            f"a miss is less than {LATE_PERCENT:g} % of the window late", [*map(_lateness, judged)]
        ),
    ]


def _counts(group: Group) -> Row:
    parts = pl.Series(_parts(group), dtype=pl.Float64)
    return {
        "transfers": len(parts),
        **_missed(group),
        **_called(group),
        "least": parts.min(),
        "median": parts.median(),
        "p95": parts.quantile(0.95, "higher"),
        "greatest": parts.max(),
    }


def _curve(_results: Results, group: Group) -> pl.DataFrame:
    """Return a row per transfer, by RTT, load and congestion control."""
    point = group.point
    about = {"rtt": rtt_ms(point), "load": _web(point).load, "cc": _sends(point)}
    return frame(about | {"part": part} for part in _parts(group))


LAST = 1.5
"""As in `goals`; here best effort itself is late at high loads."""


def draw(found: Finding) -> Picture:
    """Draw box plots of the completions; how late transfers are; the deadlines missed.

    Raises TestbedError without a transfer that has a goal.
    """
    if found.curves.filter(cc="dalbe_cdg").is_empty():
        raise TestbedError("sessions: no transfer with a goal yet: nothing to draw")
    rows = found.curves.with_columns(
        pl.col("part").clip(0, LAST), load=(100 * pl.col("load")).round(1)
    )
    rows = rows.sort("rtt", "load", "part").with_columns(title=words("base RTT of {} ms", "rtt"))
    load = alt.X("load:O").title("offered load, %; dashed: the deadline")
    done = alt.Y("part").title(f"done, parts of the window ({LAST:g}: or later)")
    boxes = alt.Chart(rows).mark_boxplot(size=12).encode(load, done, color="cc", xOffset="cc")
    ours = rows.filter(cc="dalbe_cdg").with_columns(
        late=100 * (pl.col("part") - 1),
        later=1 - pl.int_range(1, pl.len() + 1).over("rtt", "load") / pl.len().over("rtt", "load"),
    )
    after = alt.X("late").title("late by more than, % of the window")
    after = after.scale(domain=(-20, 100 * (LAST - 1)), clamp=True)
    color, dash = alt.Color("load:O").title("load, %"), alt.StrokeDash("rtt:O").title("RTT, ms")
    late = alt.Chart(ours).mark_line(interpolate="step-after")
    late = late.encode(after, alt.Y("later").title("part of the transfers"), color, dash)
    points = found.summary.sort("cc", "rtt", "web.load")  # in the boxes' colours
    points = points.with_columns(load=100 * pl.col("web.load"))
    x, said = alt.X("load").title("offered load, %"), "deadlines missed, %; 95 % interval"
    missed = means(points, "miss_percent", said, x=x, by="cc", line=True).encode(dash)
    above = facets(rows, boxes + required(rows, y=1), "title")
    below = alt.hconcat(late + required(ours, x=0), missed).resolve_scale(color="independent")
    return alt.vconcat(above, below).resolve_scale(color="independent")


STUDY = Study(
    measure,
    _require,
    ["carried", "carried_back"],
    about=lambda point: engine.settings(point) | {"cc": _sends(point)},
    counts=_counts,
    curves=engine.by_point(_curve),
    draw=draw,
)
