# SPDX-License-Identifier: GPL-2.0-only
"""Deadlines where the path, the application or the others are not as usual.

Routes that change, random loss, ACKs that come late or not at all, a program that pauses, managed
queues, other competitors. A goal counts if plain CUBIC in our place, with the same seed, meets it
with ease, as in `goals`: where it does not the path, not we, would be what is judged.
"""

from collections.abc import Sequence

import polars as pl

from dalbe_testbed.plan.sweep import Point, Run, Sweep
from dalbe_testbed.study import goals
from dalbe_testbed.study.engine import Found, Group, Row, Study
from dalbe_testbed.study.goals import CUBIC_PART, OURS, in_place
from dalbe_testbed.study.results import Results
from dalbe_testbed.study.verdict import Case, Verdict

BIN_S = 5.0
"""Width of a bin of the curves."""


def where(point: Point) -> str:
    """Return a point's conditions in a few words: "loss0.01", "idle, longer50ms"."""
    load = [str(point.values["load"])] if "load" in point.values else []
    return ", ".join([*load, str(point.values["impairment"])])


def _window_s(sweep: Sweep) -> float:
    """Return how long the transfers have: the same at every point, with a goal or without, s."""
    (length_s,) = {
        flow.goal.deadline_s
        for point in sweep.points
        for flow in point.experiment.flows
        if flow.goal
    }
    return length_s


def _curve(results: Results, run: Run) -> pl.DataFrame:
    """Return the rates of a run in Mbit/s on the wire, ours and all others' together, by bin."""
    names = [flow.name for flow in run.point.experiment.flows]
    return (
        results.table(run, "rates")
        .filter(pl.col("flow").is_in(names))
        .with_columns(
            flow=pl.when(pl.col("flow") == OURS).then("flow").otherwise(pl.lit("others")),
            t_s=pl.col("t_s") // BIN_S * BIN_S,
        )
        .group_by("t_s", "flow")
        .agg(mbps=pl.col("wire_bytes").sum() * 8e-6 / BIN_S)
    )


def measure(results: Results, run: Run, sweep: Sweep) -> Row:
    """Return the outcome of a run, as `goals` has it."""
    return goals.outcome(results, run, _window_s(sweep))


def _compare(found: Found) -> Sequence[Group]:
    return goals.against_cubic(found, where)


def _curves(found: Found) -> pl.DataFrame:
    """Return the mean rates of our runs over time, by where and flow."""
    curves = [
        _curve(found.results, run).with_columns(where=pl.lit(where(point)))
        for point, runs in found.results.measured(found.sweep)
        if in_place(point) != "cubic"
        for run in runs
    ]
    if not curves:
        return pl.DataFrame()
    return (
        pl.concat(curves)
        .group_by("where", "flow", "t_s", maintain_order=True)
        .agg(pl.col("mbps").mean())
        .sort("where", "flow", "t_s")
    )


def _counted(group: Group) -> Group:
    """Return the runs whose goal CUBIC meets with ease."""
    return Group(group.point, [row for row in group.rows if row["counts"]])


def _case(group: Group) -> Case:
    counted = _counted(group).rows
    missed = [
        "not done" if row["finish"] is None else f"{row['finish']:.3f}"
        for row in counted
        if not row["met"]
    ]
    said = ", ".join([f"{len(counted) - len(missed)} of {len(counted)}", *missed])
    return Case(where(group.point), said, bool(counted) and not missed, group.missing)


def _require(found: Found) -> list[Verdict]:
    return [
        found.judge(
            f"every goal that CUBIC in our place meets within {CUBIC_PART:g} of the window is met",
            [point for point in found.sweep.points if in_place(point) != "cubic"],
            _case,
        )
    ]


def _counts(group: Group) -> Row:
    counted = _counted(group).rows
    return {"count": len(counted), "in_time": sum(bool(row["met"]) for row in counted)}


STUDY = Study(
    measure,
    _require,
    means=("finish", "cubic_finish", "others_mbps", "others_beside_cubic_mbps"),
    about=lambda point: {"where": where(point)},
    compare=_compare,
    counts=_counts,
    curves=_curves,
)
