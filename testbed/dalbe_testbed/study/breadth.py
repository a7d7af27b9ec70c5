# SPDX-License-Identifier: GPL-2.0-only
"""Breadth: a scavenger in cells drawn at random. A cell holds if its use and its harm do."""

from dataclasses import replace

import altair as alt
import polars as pl
from polars import selectors as cs

from dalbe_testbed.charts import Picture, Style, means, required
from dalbe_testbed.plan.sample import bdp_packets
from dalbe_testbed.study import engine, tradeoff
from dalbe_testbed.study.engine import Finding, Found, Study, Verdict, place, who
from dalbe_testbed.study.results import Group, Row
from dalbe_testbed.study.tradeoff import NOBODY, YARDSTICK

USE_PERCENT, HARM_PERCENT = 95.0, 3.0
"""Limits of a cell's means: use of the idle link at least, harm at most."""

CELLS_PERCENT = 95
"""How many of the cells must hold, at least."""

ALONE = ("competitors", "flows.xsender.start_s", "duration_s")
USE = replace(tradeoff.USE, whatever=ALONE)
"""As `tradeoff` has it: CUBIC's run in a cell, without competitors, is the shorter for that."""

HARM = tradeoff.harm(NOBODY, *ALONE[1:])


def failed(found: Found, group: Group) -> str:
    """Return which half of a cell fails: "use", "harm", "use and harm"; "" if both hold.

    "runs missing" if some of ours or of those that they are set against are.
    """
    use, harm = group.mean(USE.name), group.mean(HARM.name)
    if use is None or harm is None or any(found.lacking(group, a.name) for a in (USE, HARM)):
        return "runs missing"
    halves = {"use": use.mean >= USE_PERCENT, "harm": harm.mean <= HARM_PERCENT}
    return " and ".join(half for half, holds in halves.items() if not holds)


def cells(found: Found) -> list[tuple[Group, str]]:
    """Return the cells that the sweep draws, also those without a run, and what fails in each."""
    ours = [found.at(p) for p in found.sweep.points if who(p) not in (YARDSTICK, NOBODY)]
    return [(group, failed(found, group)) for group in ours]


def _say_cell(group: Group, why: str) -> str:
    """Return what was found and all that was drawn."""
    use, harm = (group.mean(name) or "-" for name in (USE.name, HARM.name))
    values = ", ".join(f"{key} {value}" for key, value in group.point.values.items())
    return f"{group.point.cell}: {why}: use {use} %, harm {harm} %: {values}"


def verdict(count: int, bad: list[str], unknown: int = 0) -> Verdict:
    """Judge whether enough of so many cells hold; bad: those that do not, some of them unknown."""
    most = (100 - CELLS_PERCENT) * count
    met = bool(count) and 100 * len(bad) <= most
    return Verdict(
        f"alone at least {USE_PERCENT:g} % of CUBIC alone and harm at most {HARM_PERCENT:g} % in "
        f"{CELLS_PERCENT} % of the cells",
        met,
        "; ".join([f"{count - len(bad)} of {count} cells", *bad]),
        met or 100 * (len(bad) - unknown) > most,
    )


def _require(found: Found) -> list[Verdict]:
    """Judge whether enough cells hold; name those that do not with all that was drawn."""
    made = cells(found)
    bad = [_say_cell(group, why) for group, why in made if why]
    return [verdict(len(made), bad, sum(why == "runs missing" for _, why in made))]


def _summary(found: Found) -> list[Row]:
    return [
        place(group.point, "who")
        | {
            "bdp_packets": bdp_packets(group.point.values),
            "buffer_packets": group.point.experiment.link.queue_packets,
            "runs": len(group.rows),
        }
        | engine.means(group, [USE.name, "share_percent", HARM.name, *tradeoff.ERRORS])
        | {"met": not why, "failed": why}
        for group, why in cells(found)
        if group.rows
    ]


def draw(found: Finding) -> Picture:
    """Draw a point per cell: use over harm, and both over the BDP; what fails has its name."""
    rows = found.summary.drop_nulls(["use_percent", "harm_percent"])
    rows = rows.rename({"flows.xsender.cc": "cc"}).drop(cs.ends_with("_low")).sort("cc")
    bdp = alt.X("bdp_packets").title("bandwidth-delay product, packets").scale(type="log")
    harm, use = "goodput that others lose, %", f"use of the idle link, % of {YARDSTICK.upper()}'s"
    names = alt.Chart(rows.filter(~pl.col("met"))).mark_text(dx=4, align="left").encode(text="cell")

    def panel(x: alt.X, name: str, title: str, limit: float) -> Picture:
        look: Style = {"x": x, "by": "cc", "legend": "competitors", "scale": {"zero": False}}
        return means(rows, name, title, limit, **look) + names.encode(x, y=name)

    both = panel(alt.X("harm_percent").title(harm), "use_percent", use, USE_PERCENT)
    cells = found.summary
    return alt.hconcat(
        both + required(rows, x=HARM_PERCENT),
        panel(bdp, "harm_percent", harm, HARM_PERCENT),
        panel(bdp, "use_percent", use, USE_PERCENT),
        title=f"{cells['met'].sum()} of {cells.height} cells are on the good side of both",
    )


STUDY = Study(tradeoff.measure, _require, against=[USE, HARM], summary=_summary, draw=draw)
