# SPDX-License-Identifier: GPL-2.0-only
"""The picture of a deadline's finding: rates over time, one panel per point."""

import math
from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt
import polars as pl
from matplotlib.axes import Axes

from dalbe_testbed.papers.framework import DURATION_S, TRANSFER
from dalbe_testbed.report.charts import (
    BLUE,
    GREY,
    MARKERS,
    REQUIRED,
    TARGET,
    VERMILLION,
    Style,
    legend_below,
    means,
    page,
    sheet,
)
from dalbe_testbed.study.engine import Finding
from dalbe_testbed.study.goals import CUBIC_PART
from dalbe_testbed.study.results import OURS

COLUMNS = 3

LAST = 1.2
"""Where transfers are drawn, in parts of the window, that were not done then or not at all."""

SESSIONS_LAST = 1.5
"""The same beside web sessions, where best effort itself is late at high loads."""

TIMED = ("longer", "shorter", "pause")  # what happens at a time, and not all along


DEADLINE = REQUIRED | {"color": VERMILLION}
OURS_LINE: Style = {"color": BLUE, "linewidth": 1.4, "label": "the transfer"}


def _panel(axes: Axes, curves: pl.DataFrame) -> None:
    others = curves.filter(~pl.col("flow").is_in([OURS, "background"]))
    for n, (_flow, one) in enumerate(others.group_by("flow", maintain_order=True)):
        label = "a CUBIC flow" if n == 0 else None
        axes.plot(one["t_s"], one["mbps"], color=GREY, linewidth=0.9, label=label)
    own = curves.filter(flow=OURS)
    meant = own.drop_nulls("target_mbps").filter(pl.col("t_s") < TRANSFER.stop_s)
    axes.plot(own["t_s"], own["mbps"], **OURS_LINE)
    axes.plot(meant["t_s"], meant["target_mbps"], linewidth=1.1, **TARGET)
    axes.axvline(TRANSFER.stop_s, color="black", linewidth=0.8, linestyle="--")
    if meant.is_empty():  # plain CUBIC has no w
        return
    axes.plot([], [], color=VERMILLION, linewidth=0.9, label="w, on the right")
    weight = axes.twinx()
    weight.plot(meant["t_s"], meant["w"], color=VERMILLION, linewidth=0.9, alpha=0.6)
    weight.set_ylim(0, 1)
    weight.grid(visible=False)
    weight.tick_params(axis="y", colors=VERMILLION)
    weight.set_ylabel("w", color=VERMILLION)


def _highest_mbps(curves: pl.DataFrame) -> float:
    """Return the greatest of the rates and of the first targets, Mbit/s.

    What is missed wants a rate without bound towards its deadline.
    """
    first = curves.drop_nulls("target_mbps").group_by("eta", "controller").first()
    rates = [curves["mbps"].max(), first["target_mbps"].max()]
    return max(float(rate) for rate in rates if rate is not None)  # type: ignore[arg-type]


def draw(found: Finding, path: Path) -> None:
    """Draw the first run of every point: everybody's rate, and the transfer's target and weight."""
    points = found.summary.select("eta", "controller").rows()
    rows, columns = math.ceil(len(points) / COLUMNS), min(COLUMNS, len(points))
    size = (5 * columns, 2.9 * rows)
    highest = _highest_mbps(found.curves)
    with sheet(path, rows, columns, size=size, layout="constrained", sharex=True) as page:
        figure, panels = page
        for axes in panels.flat[len(points) :]:
            axes.set_visible(False)
        for axes, (eta, controller) in zip(panels.flat, points, strict=False):
            _panel(axes, found.curves.filter(eta=eta, controller=controller))
            axes.set_title(f"{controller}, eta = {eta:g}", fontsize=9.5)
            axes.set(
                ylim=(0, 1.05 * highest), xlim=(0, DURATION_S), xlabel="s; dashed: the deadline"
            )
            axes.tick_params(labelbottom=True)  # below it there may be no panel
        for row in panels:
            row[0].set_ylabel("Mbit/s")
        legend_below(figure, panels[0, 0], ncols=4)


def _shown(finishes: pl.Series) -> pl.Series:
    """Return ends in parts of the window as they are drawn; null: not done."""
    return finishes.fill_null(LAST).clip(0, LAST)


def _ends(axes: Axes, rows: pl.DataFrame, markers: Mapping[str, str]) -> None:
    ours, cubic = (_shown(rows[name]) for name in ("finish", "cubic_finish"))
    for load, marker in markers.items():
        here = rows["load"] == load
        axes.scatter(cubic.filter(here), ours.filter(here), marker=marker, s=26, label=load)
    missed = rows.with_row_index().filter(pl.col("counts") & ~pl.col("met"))
    for order, (n, cell) in enumerate(missed.sort("cubic_finish").select("index", "cell").rows()):
        side, align = (6, "left") if order % 2 else (-6, "right")  # not on its neighbour's
        look: Style = {"textcoords": "offset points", "fontsize": 8, "ha": align, "va": "center"}
        axes.annotate(cell, (cubic[n], ours[n]), xytext=(side, 0), **look)
    axes.axhline(1, **REQUIRED)
    axes.axvline(CUBIC_PART, **REQUIRED)
    axes.set(
        xlim=(0, LAST + 0.05),
        ylim=(0, LAST + 0.05),
        xlabel=f"CUBIC in our place is done, parts of the window ({LAST:g}: or later)",
    )


def goals(found: Finding, path: Path) -> None:
    """Draw each goal: when it was met over when CUBIC would have met it; misses have a name."""
    runs = found.runs
    controllers = runs["controller"].unique(maintain_order=True).to_list()
    markers = dict(zip(runs["load"].unique().sort(), MARKERS, strict=False))
    n = len(controllers)
    size = (7 if n == 1 else 5 * n, 5)
    with sheet(path, 1, n, size=size, layout="constrained", sharey=True) as (_figure, [panels]):
        for axes, controller in zip(panels, controllers, strict=True):
            _ends(axes, runs.filter(controller=controller), markers)
            axes.set_title(controller, fontsize=9.5)
        panels[0].set_ylabel(f"our transfer is done, parts of the window ({LAST:g}: or later)")
        panels[0].legend(title="load")


def _boxes(axes: Axes, transfers: pl.DataFrame) -> None:
    """Draw completions of one RTT by load, as the paper's Figure 10 does: ours, and CUBIC's."""
    loads = transfers["load"].unique().sort().to_list()
    for cc, colour, shift in (("dalbe_cdg", BLUE, -0.18), ("cubic", GREY, 0.18)):
        line = {"color": colour}
        some = [load for load in loads if transfers.filter(cc=cc, load=load).height]
        if not some:
            continue
        axes.boxplot(
            [transfers.filter(cc=cc, load=load)["part"].to_list() for load in some],
            positions=[loads.index(load) + shift for load in some],
            manage_ticks=False,
            widths=0.3,
            boxprops=line,
            whiskerprops=line,
            capprops=line,
            flierprops={"marker": ".", "markersize": 4, "markeredgecolor": colour},
            medianprops=line | {"linewidth": 2},
        )
    axes.set_xticks(range(len(loads)), [f"{100 * load:g}" for load in loads])
    axes.set(xlim=(-0.6, len(loads) - 0.4), xlabel="offered load, %; dashed: the deadline")
    axes.axhline(1, **DEADLINE)
    axes.set_title(f"base RTT of {transfers['rtt'][0]:g} ms", fontsize=9.5)


def _lateness(axes: Axes, transfers: pl.DataFrame) -> None:
    """Draw how many transfers are later than so much, a curve per RTT and load."""
    for (rtt, load), one in transfers.group_by("rtt", "load", maintain_order=True):
        style: Style = {
            "linestyle": {20: ":", 50: "-", 100: "--"}.get(round(rtt), "-."),
            "color": plt.get_cmap("viridis")((float(load) - 0.25) / 0.55),
            "label": f"{rtt:g} ms, {100 * float(load):g} %",
        }
        axes.ecdf(100 * (one["part"] - 1), complementary=True, linewidth=1, **style)
    axes.axvline(0, **DEADLINE)
    axes.set(
        xlim=(-20, 100 * (SESSIONS_LAST - 1)),
        xlabel="late by more than, % of the window",
        ylabel="part of the transfers",
    )
    axes.legend(fontsize=6.5, loc="upper left", bbox_to_anchor=(1, 1), frameon=False)


def sessions(found: Finding, path: Path) -> None:
    """Draw box plots of the completions; how late transfers are; the deadlines missed."""
    everybody = found.curves.with_columns(pl.col("part").clip(0, SESSIONS_LAST))
    transfers = everybody.filter(cc="dalbe_cdg")
    rtts = transfers["rtt"].unique().sort().to_list()
    with page(path, (max(3.2 * len(rtts), 8), 6.4), layout="constrained") as figure:
        top, bottom = figure.subfigures(2, 1, squeeze=False)[:, 0]
        panels = top.subplots(1, len(rtts), sharey=True, squeeze=False)[0]
        for axes, rtt in zip(panels, rtts, strict=True):
            _boxes(axes, everybody.filter(rtt=rtt))
        panels[0].set_ylabel(
            f"done, parts of the window\n({SESSIONS_LAST:g}: or later); grey: CUBIC"
        )
        late, missed = bottom.subplots(1, 2)
        _lateness(late, transfers)
        missed_by = found.summary.sort("cc", "rtt", "web.load", descending=[True, False, False])
        for (cc, rtt), here in missed_by.group_by("cc", "rtt", maintain_order=True):
            label = f"{rtt:g} ms" if cc == "dalbe_cdg" else f"{rtt:g} ms, {cc} in its place"
            line = {"marker": "o", "linewidth": 1, "linestyle": "-", "label": label}
            means(missed, 100 * here["web.load"], here, "miss_percent", **line)
        missed.set(
            xlabel="offered load, %", ylabel="deadlines missed, %; 95 % interval", ylim=(0, None)
        )
        missed.legend(title="base RTT")


def robust(found: Finding, path: Path) -> None:
    """Draw when transfers were done, by what was the matter; below, rates where that has a time."""
    places = found.summary["where"].to_list()
    over_time = [place for place in places if any(word in place for word in TIMED)]
    rows = math.ceil(len(over_time) / COLUMNS)
    highest = float(found.curves["mbps"].max())  # type: ignore[arg-type]
    with page(path, (12, 4 + 2.6 * rows), layout="constrained") as figure:
        grid = figure.add_gridspec(1 + rows, COLUMNS, height_ratios=[1.5, *[1] * rows])
        axes = figure.add_subplot(grid[0, :])
        for column, colour, label, shift in (
            ("finish", BLUE, "the transfer", -0.12),
            ("cubic_finish", GREY, "CUBIC in its place", 0.12),
        ):
            at = [places.index(place) + shift for place in found.runs["where"]]
            axes.scatter(at, _shown(found.runs[column]), color=colour, s=18, label=label)
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


def five(found: Finding, path: Path) -> None:
    """Draw each transfer's end in parts of its window, and its rate until the first deadline."""
    rtts = found.runs["rtt"].unique().sort().to_list()
    deadlines = found.runs["deadline_s"].unique().sort().to_list()
    with sheet(path, 1, 2, size=(10, 3.8), layout="constrained") as (_figure, [[ends, rates]]):
        for n, rtt in enumerate(rtts):
            here = found.runs.filter(rtt=rtt)
            shift = 0.2 * (n - (len(rtts) - 1) / 2)
            at = [deadlines.index(due) + shift for due in here["deadline_s"]]
            look = {"s": 14, "marker": MARKERS[n % len(MARKERS)], "label": f"{rtt:g} ms"}
            ends.scatter(at, _shown(here["finish"]), **look)
            rates.scatter(at, here["early_mbps"], **look)
        ends.axhline(1, **REQUIRED)
        ends.set(ylim=(0, LAST + 0.05), ylabel="done, parts of its window")
        rates.set(ylim=(0, None), ylabel="Mbit/s until the first deadline")
        for axes in (ends, rates):
            axes.set_xticks(range(len(deadlines)), [f"{due:g}" for due in deadlines])
            axes.set_xlabel("deadline, s")
            axes.legend(fontsize=8)
