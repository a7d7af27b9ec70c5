# SPDX-License-Identifier: GPL-2.0-only
"""Deadlines where the path, the application or the others are not as usual.

Routes that change, random loss, ACKs that come late or not at all, a program that pauses, managed
queues, other competitors. A goal counts if plain CUBIC in our place, with the same seed, meets it
with ease, as in `goals`: where it does not the path, not we, would be what is judged.
"""

import math
from pathlib import Path

import polars as pl

from dalbe_testbed.charts import BLUE, GREY, REQUIRED, page
from dalbe_testbed.plan.sweep import Point
from dalbe_testbed.study import goals
from dalbe_testbed.study.engine import Case, Finding, Found, Study, Verdict
from dalbe_testbed.study.goals import CUBIC_PART, LAST, in_place, shown
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
    counted = _counted(group)
    return {"count": len(counted), "in_time": sum(bool(row["met"]) for row in counted)}


COLUMNS = 3
TIMED = ("longer", "shorter", "pause")
"""Events at a time, not all along."""


def draw(found: Finding, path: Path) -> None:
    """Draw when transfers were done, by what was the matter; below, rates where that has a time."""
    places = found.summary["where"].to_list()
    over_time = [place for place in places if any(word in place for word in TIMED)]
    rows = math.ceil(len(over_time) / COLUMNS)
    highest = float(found.curves["mbps"].max())  # type: ignore[arg-type]
    with page(path, (12, 4 + 2.6 * rows)) as figure:
        grid = figure.add_gridspec(1 + rows, COLUMNS, height_ratios=[1.5, *[1] * rows])
        axes = figure.add_subplot(grid[0, :])
        for column, colour, label, shift in (
            ("finish", BLUE, "the transfer", -0.12),
            ("cubic_finish", GREY, "CUBIC in its place", 0.12),
        ):
            at = [places.index(place) + shift for place in found.runs["where"]]
            axes.scatter(at, shown(found.runs[column]), color=colour, s=18, label=label)
        axes.axhline(1, **REQUIRED)
        axes.set_xticks(range(len(places)), places, rotation=20, ha="right", fontsize=8)
        axes.set(ylim=(0, LAST + 0.05), ylabel="done, parts of the window")
        axes.legend(fontsize=8)
        for n, place in enumerate(over_time):
            panel = figure.add_subplot(grid[1 + n // COLUMNS, n % COLUMNS])
            for flow, colour, label in (("others", GREY, "others"), (OURS, BLUE, "the transfer")):
                here = found.curves.filter(where=place, flow=flow)
                panel.plot(here["t_s"], here["mbps"], color=colour, linewidth=1.2, label=label)
            if n == 0:
                panel.legend(fontsize=8)
            panel.set_title(place, fontsize=9)
            panel.set(ylim=(0, 1.05 * highest), xlabel="s", ylabel="Mbit/s, mean")


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
