# SPDX-License-Identifier: GPL-2.0-only
"""Breadth: a scavenger in cells drawn at random. A cell holds if its use and its share do."""

from dataclasses import replace
from pathlib import Path

import polars as pl

from dalbe_testbed.charts import REQUIRED, SERIES, sheet
from dalbe_testbed.plan.sample import bdp_packets
from dalbe_testbed.study import engine, tradeoff
from dalbe_testbed.study.engine import Finding, Found, Study, Verdict, place, who
from dalbe_testbed.study.results import Group, Row
from dalbe_testbed.study.tradeoff import YARDSTICK

USE_PERCENT, SHARE_PERCENT = 93.0, 6.0
"""Limits of a cell's means: use of the idle link at least, share taken at most."""

CELLS_PERCENT = 90
"""How many of the cells must hold, at least."""

ALONE = ("competitors", "flows.xsender.start_s", "duration_s")
USE = replace(tradeoff.USE, whatever=ALONE)
"""As `tradeoff` has it: CUBIC's run in a cell, without competitors, is the shorter for that."""


def failed(found: Found, group: Group) -> str:
    """Return which half of a cell fails: "use", "share", "use and share"; "" if both hold.

    "runs missing" if some of ours or of the yardstick's are.
    """
    use, share = group.mean(USE.name), group.mean("share_percent")
    if use is None or share is None or found.lacking(group, USE.name):
        return "runs missing"
    halves = {"use": use.mean >= USE_PERCENT, "share": share.mean <= SHARE_PERCENT}
    return " and ".join(half for half, holds in halves.items() if not holds)


def cells(found: Found) -> list[tuple[Group, str]]:
    """Return the cells that the sweep draws, also those without a run, and what fails in each."""
    ours = [found.at(point) for point in found.sweep.points if who(point) != YARDSTICK]
    return [(group, failed(found, group)) for group in ours]


def _say_cell(group: Group, why: str) -> str:
    """Return what was found and all that was drawn."""
    use, share = (group.mean(name) or "-" for name in (USE.name, "share_percent"))
    values = ", ".join(f"{key} {value}" for key, value in group.point.values.items())
    return f"{group.point.cell}: {why}: use {use} %, share {share} %: {values}"


def _require(found: Found) -> list[Verdict]:
    """Judge whether enough cells hold; name those that do not with all that was drawn."""
    made = cells(found)
    bad = [_say_cell(group, why) for group, why in made if why]
    held = len(made) - len(bad)
    return [
        Verdict(
            f"alone at least {USE_PERCENT:g} % of CUBIC alone and share at most "
            f"{SHARE_PERCENT:g} % in {CELLS_PERCENT} % of the cells",
            bool(made) and 100 * held >= CELLS_PERCENT * len(made),
            "; ".join([f"{held} of {len(made)} cells", *bad]),
        )
    ]


def _summary(found: Found) -> list[Row]:
    return [
        place(group.point, "who")
        | {
            "bdp_packets": bdp_packets(group.point.values),
            "buffer_packets": group.point.experiment.link.queue_packets,
            "runs": len(group.rows),
        }
        | engine.means(group, [USE.name, "share_percent", *tradeoff.ERRORS])
        | {"met": not why, "failed": why}
        for group, why in cells(found)
        if group.rows
    ]


def draw(found: Finding, path: Path) -> None:
    """Draw a point per cell: use over share, and both over the BDP; what fails has its name."""
    rows = found.summary.drop_nulls(["use_percent", "share_percent"])
    bdp = ("bdp_packets", "bandwidth-delay product, packets", None)
    use = ("use_percent", f"use of the idle link, % of {YARDSTICK.upper()}'s", USE_PERCENT)
    share = ("share_percent", "share taken, %", SHARE_PERCENT)
    kinds = rows["flows.xsender.cc"].unique().sort()
    with sheet(path, 1, 3, size=(15, 5)) as (_figure, [panels]):
        for axes, (x, y) in zip(panels, ((share, use), (bdp, share), (bdp, use)), strict=True):
            for kind, (colour, marker) in zip(kinds, SERIES, strict=False):
                here = rows.filter(pl.col("flows.xsender.cc") == kind)
                axes.scatter(here[x[0]], here[y[0]], color=colour, marker=marker, s=22, label=kind)
            failed = rows.filter(~pl.col("met")).select("cell", x[0], y[0])
            for name, *place in failed.iter_rows():
                axes.annotate(name, place, xytext=(4, 3), textcoords="offset points", fontsize=7.5)
            axes.axhline(y[2], **REQUIRED)
            if x is bdp:
                axes.set_xscale("log")
            else:
                axes.axvline(x[2], **REQUIRED)
            axes.set(xlabel=x[1], ylabel=y[1])
        held = found.summary["met"].sum()
        panels[0].set_title(f"{held} of {found.summary.height} cells are on the good side of both")
        panels[0].legend(title="competitors")


STUDY = Study(tradeoff.measure, _require, against=[USE], summary=_summary, draw=draw)
