# SPDX-License-Identifier: GPL-2.0-only
"""Deadlines under realistic traffic: one transfer after another, beside web-like sessions.

The framework paper's Figure 10. A transfer is late if it is not done by its deadline, by however
little; one that was not done when the run ended is late by all there is. Plain CUBIC in our place,
where a sweep has it, says whether the deadlines can be held: of that nothing is required.
"""

import math

import polars as pl

from dalbe_testbed.errors import TestbedError
from dalbe_testbed.plan.experiment import Web
from dalbe_testbed.plan.sweep import Point, Run, Sweep
from dalbe_testbed.plan.web import object_wire_bytes
from dalbe_testbed.reduce import capture
from dalbe_testbed.study import engine, stats
from dalbe_testbed.study.engine import Found, Group, Row, Study
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
"""Part of the window by which a transfer may be late at most."""


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


def measure(results: Results, run: Run, sweep: Sweep) -> Row:
    """Return a run's transfers, and the loads that were carried in parts of the link's rate.

    Raises TestbedError if a table is missing. _parts: when each transfer was done, in parts of its
    window; inf: never. A transfer that was not due when the run ended is left out.
    carried: the sessions' bytes behind the bottleneck, with what was sent again. carried_back: the
    frames of the objects that were fetched the other way, where acknowledgements share the link.
    """
    what, due_s = run.point.experiment, window_s(sweep)
    rates, begin_s, end_s = results.table(run, "rates"), _web(run.point).start_s, what.duration_s
    over_s = capture.rates_end_s(rates, what.bin_s)
    took = (pl.col("end_s") - pl.col("start_s")) / due_s
    known = pl.col("end_s").is_not_null() | (pl.col("start_s") + due_s <= over_s)
    parts = (
        results.table(run, "transfers")
        .filter(known, flow=OURS)
        .select(took.fill_null(math.inf))
        .to_series()
        .to_list()
    )
    sent = wire_bytes(rates, ["web"], begin_s, end_s)
    fetched = results.table(run, "web").filter(
        pl.col("end_s").is_between(begin_s, end_s), direction="back"
    )["bytes"]
    back = sum(object_wire_bytes(size) for size in fetched)
    could = what.link.rate_bps / 8 * (end_s - begin_s)
    return {
        "transfers": len(parts),
        "late": sum(part > 1 for part in parts),
        "carried": sent / could,
        "carried_back": back / could,
        "_parts": parts,
    }


def _web(point: Point) -> Web:
    assert point.experiment.web
    return point.experiment.web


def _parts(group: Group) -> list[float]:
    return [part for row in group.rows for part in row["_parts"]]


def _has_goals(group: Group) -> bool:
    return any(flow.goal for flow in group.point.experiment.flows)


def _where(group: Group) -> str:
    whose = "" if _has_goals(group) else f"{cc(group.point)}, "
    return f"{whose}{rtt_ms(group.point):g} ms, load {_web(group.point).load:g}"


def _missed(parts: list[float]) -> tuple[int, float, float, float]:
    """Return how many transfers were late, in percent, and the exact 95 % interval of that."""
    late = sum(part > 1 for part in parts)
    if not parts:
        return late, math.nan, math.nan, math.nan
    low, high = stats.proportion(late, len(parts))
    return late, 100 * late / len(parts), 100 * low, 100 * high


def _carried_cases(group: Group) -> list[Case]:
    """Return a case for each direction that has sessions."""
    web = _web(group.point)
    directions = {
        "": (web.load, group.values("carried")),
        ", back": (web.load * web.reverse_part, group.values("carried_back")),
    }
    return [
        Case(
            f"{_where(group)}{which}",
            f"{mean:.3f}",
            abs(mean / offered - 1) <= LOAD_OFF,
            group.missing,
        )
        for which, (offered, carried) in directions.items()
        if offered
        for mean in [sum(carried) / len(carried)]
    ]


def _missed_case(where: str, parts: list[float], most_percent: float, missing: int) -> Case:
    late, percent, low, high = _missed(parts)
    said = f"{percent:.2g} % [{low:.2g}, {high:.2g}], {late} of {len(parts)}"
    return Case(where, said, percent <= most_percent, missing)


def _most_percent(group: Group) -> float:
    load = _web(group.point).load
    return next(most for upto, most in MISS_PERCENT.items() if load <= upto)


def _lateness(group: Group) -> Case:
    worst = 100 * max((part - 1 for part in _parts(group) if part > 1), default=0)
    return Case(_where(group), f"{worst:.2g} %", worst < LATE_PERCENT, group.missing)


def _require(found: Found) -> list[Verdict]:
    """Judge transfers that have a goal. Raises TestbedError without any."""
    judged = [group for group in found.groups if _has_goals(group)]
    if not any(map(_parts, judged)):
        raise TestbedError("sessions: no transfer with a goal yet: nothing to judge or to draw")
    # A point alone is too few for a bound of a few percent: all of one limit tell more.
    together = {
        most: [part for group in some for part in _parts(group)]
        for most in MISS_PERCENT.values()
        if (some := [group for group in judged if _most_percent(group) == most])
    }
    return [
        judge(
            f"at least {COMPLETIONS} transfers at every point",
            [
                Case(_where(group), f"{count}", count >= COMPLETIONS, group.missing)
                for group in judged
                for count in [len(_parts(group))]
            ],
        ),
        judge(
            f"the sessions carry what they offer, within {100 * LOAD_OFF:g} %, in each direction",
            [case for group in found.groups for case in _carried_cases(group)],
        ),
        judge(
            "at most 2 % of the deadlines missed up to a load of 0.6, and 5 % above",
            [
                *(
                    _missed_case(_where(group), _parts(group), _most_percent(group), group.missing)
                    for group in judged
                ),
                *(
                    _missed_case(f"all to {most:g} % together", parts, most, 0)
                    for most, parts in together.items()
                ),
            ],
        ),
        judge(
            f"a miss is less than {LATE_PERCENT:g} % of the window late", [*map(_lateness, judged)]
        ),
    ]


def _summary(found: Found) -> list[Row]:
    rows = []
    for group in found.groups:
        parts = pl.Series(_parts(group), dtype=pl.Float64)
        late, percent, low, high = _missed(_parts(group))
        rows.append(
            {
                **engine.settings(group.point),
                "cc": cc(group.point),
                "transfers": len(parts),
                "late": late,
                "miss_percent": percent,
                "miss_percent_low": low,
                "miss_percent_high": high,
                "least": parts.min(),
                "median": parts.median(),
                "p95": parts.quantile(0.95, "higher"),
                "greatest": parts.max(),
                **engine.means(group, ["carried", "carried_back"]),
            }
        )
    return rows


def _curves(found: Found) -> pl.DataFrame:
    """Return a row per transfer, by RTT, load and congestion control."""
    return engine.frame(
        [
            {"rtt": rtt_ms(p), "load": _web(p).load, "cc": cc(p), "part": part}
            for group in found.groups
            for p in [group.point]
            for part in _parts(group)
        ]
    )


STUDY = Study(measure, _require, summary=_summary, curves=_curves)
