# SPDX-License-Identifier: GPL-2.0-only
"""Deadlines where the path, the application or the others are not as usual.

Routes that change, random loss, ACKs that come late or not at all, a program that pauses, managed
queues, other competitors. A goal counts if plain CUBIC in our place, with the same seed, meets it
with ease, as in `goals`: where it does not the path, not we, would be what is judged.
"""

import altair as alt
import polars as pl

from dalbe_testbed.charts import Picture, Style, curves, facets, means
from dalbe_testbed.plan.sweep import Point
from dalbe_testbed.study import goals
from dalbe_testbed.study.engine import Case, Finding, Found, Study, Verdict
from dalbe_testbed.study.goals import CUBIC_PART, in_place, shown
from dalbe_testbed.study.results import OURS, Group, Row, window

BIN_S = 5.0
"""Width of a bin of the curves."""


def where(point: Point) -> str:
    """Return a point's conditions in a few words: "loss0.01", "idle, longer50ms"."""
    load = [str(point.values["load"])] if "load" in point.values else []
    return ", ".join([*load, str(point.values["impairment"])])


def _curves(found: Found) -> pl.DataFrame:
    """Return the mean rates of our runs over time in Mbit/s on the wire, by where and flow.

    The flow is ours, or all others together.
    """
    curves = [
        found.results.table(run, "rates")
        .filter(pl.col("flow").is_in([flow.name for flow in point.experiment.flows]))
        .select("t_s", "flow", "wire_bytes", where=pl.lit(where(point)), seed=run.seed)
        for point, runs in found.results.measured(found.sweep)
        if in_place(point) != "cubic"
        for run in runs
    ]
    if not curves:
        return pl.DataFrame()
    flow = pl.when(flow=OURS).then("flow").otherwise(pl.lit("others")).alias("flow")
    return (
        pl.concat(curves)
        .group_by("where", flow, pl.col("t_s") // BIN_S * BIN_S, "seed")
        .agg(mbps=pl.col("wire_bytes").sum() * 8e-6 / BIN_S)
        .group_by("where", "flow", "t_s")
        .agg(pl.col("mbps").mean())
        .sort("where", "flow", "t_s")
    )


def _counted(group: Group) -> list[Row]:
    """Return the runs whose goal CUBIC meets with ease."""
    return [row for row in group.rows if row["counts"]]


def _case(group: Group) -> Case:
    counted = _counted(group)
    missed = [
        "not done" if row["finish"] is None else f"{row['finish']:.3f}"
        for row in counted
        if not row["met"]
    ]
    said = ", ".join([f"{len(counted) - len(missed)} of {len(counted)}", *missed])
    met, known = bool(counted) and not missed, bool(counted)
    return Case(where(group.point), said, met, group.missing, measured=known)


def _require(found: Found) -> list[Verdict]:
    return [
        found.judge(
            f"every goal that CUBIC in our place meets within {CUBIC_PART:g} of the window is met",
            [point for point in found.sweep.points if in_place(point) != "cubic"],
            _case,
        )
    ]


def _counts(group: Group) -> Row:
    counted = _counted(group)
    return {"count": len(counted), "in_time": sum(bool(row["met"]) for row in counted)}


TIMED = ["longer", "shorter", "pause"]
"""Events at a time, not all along."""


def draw(found: Finding) -> Picture:
    """Draw when transfers were done, by what was the matter; below, rates where that has a time."""
    ends = {"finish": "the transfer", "cubic_finish": "CUBIC in its place"}
    runs = found.runs.with_columns(shown(found.runs[name]) for name in ends).rename(ends)
    runs = runs.unpivot([*ends.values()], index="where", variable_name="who")
    x = alt.X("where").sort(None).title(None).axis(labelAngle=-20)
    look: Style = {"x": x, "by": "who", "apart": True}
    done = means(runs, "value", "done, parts of the window", 1, **look).properties(width=900)
    who = pl.when(flow=OURS).then(pl.lit("the transfer")).otherwise("flow")
    rows = found.curves.filter(pl.col("where").str.contains_any(TIMED)).with_columns(who=who)
    rows = rows.sort("who", descending=True, maintain_order=True)
    seconds, mbps = alt.X("t_s").title("s"), alt.Y("mbps").title("Mbit/s, mean")
    below = facets(rows, curves(rows, seconds, mbps, "who"), "where")
    return (done & below).resolve_scale(color="independent")


STUDY = Study(
    lambda results, run, sweep: goals.outcome(results, run, window(sweep).length_s),
    _require,
    means=("finish", "cubic_finish", "others_mbps", "others_beside_cubic_mbps"),
    about=lambda point: {"where": where(point)},
    compare=goals.against_cubic,
    counts=_counts,
    curves=_curves,
    draw=draw,
)
