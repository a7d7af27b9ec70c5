# SPDX-License-Identifier: GPL-2.0-only
"""Goals in scenarios drawn at random: those that plain CUBIC meets with ease are to be met.

Each cell is run with our transfer, flow `ours`, and with CUBIC in its place. A cell counts if CUBIC
is done, in the median of its seeds, within CUBIC_PART of the window. Where there are several
controllers, each is judged.
"""

import math
import statistics

import altair as alt
import polars as pl

from dalbe_testbed.charts import Picture, facets, means, required
from dalbe_testbed.plan.experiment import CONTROLLER_DEFAULT
from dalbe_testbed.plan.sweep import Point, Run
from dalbe_testbed.study import engine, stats
from dalbe_testbed.study.engine import Finding, Found, Study, Verdict
from dalbe_testbed.study.results import OURS, Group, Results, Row, Window, rivals

CUBIC_PART = 0.8
"""A goal counts that CUBIC meets within this part of the window."""

GOALS_PERCENT = 95
"""How many of those ours has to meet, at least."""


def in_place(point: Point) -> str:
    """Return who sends: "dalbe" or "cubic"."""
    return str(point.values["in_place"])


def controller(point: Point) -> str:
    """Return what sets w; one that the sweep does not name is the default."""
    return str(point.values.get("controller", CONTROLLER_DEFAULT))


def window_s(point: Point) -> float:
    """Return how long the transfer has, s."""
    return float(point.values["window"])


def outcome(results: Results, run: Run, length_s: float) -> Row:
    """Return what a run with a window of length_s shows. Raises TestbedError without its tables.

    finish: end of the transfer in parts of the window; null if it was not done when the run ended.
    others_mbps: of all of `xsender`'s flows, from the transfer's start to its deadline; null
    without any.
    """
    start_s, finish = results.transfer(run, OURS, length_s)
    others, due = rivals(run.point), Window(start_s, start_s + length_s)
    mbps = due.mean_mbps(results.table(run, "rates"), others) if others else None
    return {"finish": finish, "others_mbps": mbps}


def _compared(ours: Row, cubic: Row, *, counts: bool) -> Row:
    """Return the columns of a goal: when it was done, by us and by CUBIC in our place."""
    finish = ours["finish"]
    return {
        "seed": ours["seed"],
        "cubic_finish": cubic["finish"],
        "finish": finish,
        "counts": counts,
        "met": finish is not None and finish <= 1,
        "others_mbps": ours["others_mbps"],
        "others_beside_cubic_mbps": cubic["others_mbps"],
    }


def against_cubic(found: Found) -> list[Group]:
    """Return the points of ours, a row per seed that CUBIC in the same scenario has, too."""
    compared = []
    for group, pairs in found.paired("in_place", "cubic", "controller"):
        both = [(row, cubic) for row, cubic in pairs if cubic]
        ends = [math.inf if it["finish"] is None else it["finish"] for _, it in both]
        easy = bool(ends) and statistics.median(ends) <= CUBIC_PART
        rows = [_compared(row, cubic, counts=easy) for row, cubic in both]
        if rows and in_place(group.point) != "cubic":
            compared.append(Group(group.point, rows, len(found.sweep.seeds) - len(rows)))
    return compared


def _about(point: Point) -> Row:
    named = {"cell": point.name} | engine.place(point, "in_place")
    return named | {"load": named.get("load", "any"), "controller": controller(point)}


def _miss(row: Row) -> str:
    said = ", ".join(
        f"{key} {row[key]}"
        for key in row
        if key not in ("cell", "seed", "controller", "counts", "met", "finish", "cubic_finish")
        and not key.startswith("others")
    )
    done = "not done" if row["finish"] is None else f"done at {row['finish']:.3f}"
    return f"{row['cell']}: {done}, CUBIC at {row['cubic_finish']:.3f}: {said}"


def _require(found: Found) -> list[Verdict]:
    """Judge each controller by the cells that count."""
    verdicts = []
    ours = [controller(p) for p in found.sweep.points if in_place(p) != "cubic"]
    for who in dict.fromkeys(ours):
        rows = [row for row in found.rows(_about) if row["controller"] == who]
        counted = [row for row in rows if row["counts"]]
        missed = [row for row in counted if not row["met"]]
        held = len(counted) - len(missed)
        missing = ours.count(who) * len(found.sweep.seeds) - len(rows)
        lacks = [f"{missing} run{'s' * (missing > 1)} missing"] if missing else []
        verdicts.append(
            Verdict(
                f"{who}: {GOALS_PERCENT} % of the goals that CUBIC in our place meets within "
                f"{CUBIC_PART:g} of the window",
                bool(counted) and not missing and 100 * held >= GOALS_PERCENT * len(counted),
                "; ".join([f"{held} of {len(counted)} goals", *lacks, *map(_miss, missed)]),
                bool(counted) and not missing,
            )
        )
    return verdicts


LAST = 1.2
"""Where transfers are drawn, in parts of the window, that were not done then or not at all."""


def shown(finishes: pl.Series) -> pl.Series:
    """Return ends in parts of the window as they are drawn; null: not done."""
    return finishes.fill_null(LAST).clip(0, LAST)


def _summary(found: Found) -> list[Row]:
    """Return a row per controller and load: goals, those that count, are met, what others lost.

    others_percent: the mean of the others' rate beside ours, in that beside CUBIC; null without.
    """
    rows, made = found.rows(_about), []
    for who, load in sorted({(row["controller"], str(row["load"])) for row in rows}):
        here = [row for row in rows if (row["controller"], row["load"]) == (who, load)]
        counted = [row for row in here if row["counts"]]
        pairs = [(row["others_mbps"], row["others_beside_cubic_mbps"]) for row in counted]
        ratios = [100 * ours / cubic for ours, cubic in pairs if ours is not None and cubic]
        made.append(
            {
                "controller": who,
                "load": load,
                "goals": len(here),
                "count": len(counted),
                "in_time": sum(row["met"] for row in counted),
                **engine.interval("others_percent", stats.estimate(ratios) if ratios else None),
            }
        )
    return made


def draw(found: Finding) -> Picture:
    """Draw each goal: when it was met over when CUBIC would have met it; misses have a name."""
    ends = {name: shown(found.runs[name]) for name in ("finish", "cubic_finish")}
    missed = pl.when(pl.col("counts") & ~pl.col("met")).then("cell").otherwise(pl.lit(""))
    rows = found.runs.with_columns(**ends, missed=missed).sort("load", maintain_order=True)
    later = f"parts of the window ({LAST:g}: or later)"
    x = alt.X("cubic_finish").title(f"CUBIC in our place is done, {later}")
    y = f"our transfer is done, {later}"
    names = alt.Chart(rows).mark_text(dx=6, align="left").encode(x, alt.Y("finish"), text="missed")
    points = means(rows, "finish", y, 1, x=x, by="load") + names + required(rows, x=CUBIC_PART)
    return facets(rows, points, "controller")


STUDY = Study(
    lambda results, run, _sweep: outcome(results, run, window_s(run.point)),
    _require,
    about=_about,
    compare=against_cubic,
    summary=_summary,
    draw=draw,
)
