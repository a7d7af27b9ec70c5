# SPDX-License-Identifier: GPL-2.0-only
"""The picture of a deadline's finding: rates over time, one panel per point."""

import math
from collections.abc import Mapping
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import polars as pl
from matplotlib.axes import Axes

from dalbe_testbed.papers.framework import DURATION_S, TRANSFER
from dalbe_testbed.report.charts import (
    BLUE,
    GREY,
    REQUIRED,
    STYLE,
    VERMILLION,
    legend_below,
    save,
    sheet,
)
from dalbe_testbed.study.deadline import OURS
from dalbe_testbed.study.engine import Finding
from dalbe_testbed.study.goals import CUBIC_PART

COLUMNS = 3

LAST = 1.2
"""Where transfers are drawn, in parts of the window, that were not done then or not at all."""

SESSIONS_LAST = 1.5
"""The same beside web sessions, where best effort itself is late at high loads."""

TIMED = ("longer", "shorter", "pause")  # what happens at a time, and not all along


def _panel(axes: Axes, curves: pl.DataFrame) -> None:
    others = curves.filter(~pl.col("flow").is_in([OURS, "background"]))
    for n, name in enumerate(others["flow"].unique(maintain_order=True)):
        one = others.filter(flow=name)
        label = "a CUBIC flow" if n == 0 else None
        axes.plot(one["t_s"], one["mbps"], color=GREY, linewidth=0.9, label=label)
    own = curves.filter(flow=OURS)
    meant = own.drop_nulls("target_mbps").filter(pl.col("t_s") < TRANSFER.stop_s)
    axes.plot(own["t_s"], own["mbps"], color=BLUE, linewidth=1.4, label="the transfer")
    axes.plot(
        meant["t_s"],
        meant["target_mbps"],
        color="black",
        linewidth=1.1,
        linestyle=":",
        label="the rate that meets the deadline",
    )
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
    rows = math.ceil(len(points) / COLUMNS)
    columns = min(COLUMNS, len(points))
    highest = _highest_mbps(found.curves)
    with sheet(
        path, rows, columns, size=(5 * columns, 2.9 * rows), sharex=True, layout="constrained"
    ) as (figure, panels):
        for axes in panels.flat[len(points) :]:
            axes.set_visible(False)
        for axes, (eta, controller) in zip(panels.flat, points, strict=False):
            _panel(axes, found.curves.filter(eta=eta, controller=controller))
            axes.set_title(f"{controller}, eta = {eta:g}", fontsize=9.5)
            axes.set_ylim(0, 1.05 * highest)
            axes.set_xlim(0, DURATION_S)
            axes.set_xlabel("s; dashed: the deadline")
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
        axes.annotate(
            cell,
            (cubic[n], ours[n]),
            xytext=(side, 0),
            textcoords="offset points",
            fontsize=8,
            ha=align,
            va="center",
        )
    axes.axhline(1, **REQUIRED)
    axes.axvline(CUBIC_PART, **REQUIRED)
    axes.set_xlim(0, LAST + 0.05)
    axes.set_ylim(0, LAST + 0.05)
    axes.set_xlabel(f"CUBIC in our place is done, parts of the window ({LAST:g}: or later)")


def goals(found: Finding, path: Path) -> None:
    """Draw each goal: when it was met over when CUBIC would have met it; misses have a name."""
    controllers = found.runs["controller"].unique(maintain_order=True).to_list()
    markers = dict(zip(found.runs["load"].unique().sort(), "osv^D", strict=False))
    with sheet(
        path,
        1,
        len(controllers),
        size=(7 if len(controllers) == 1 else 5 * len(controllers), 5),
        sharey=True,
        layout="constrained",
    ) as (_figure, panels):
        for axes, controller in zip(panels[0], controllers, strict=True):
            _ends(axes, found.runs.filter(controller=controller), markers)
            axes.set_title(controller, fontsize=9.5)
        panels[0][0].set_ylabel(f"our transfer is done, parts of the window ({LAST:g}: or later)")
        panels[0][0].legend(title="load")


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
    axes.set_xlim(-0.6, len(loads) - 0.4)
    axes.axhline(1, color=VERMILLION, linewidth=0.9, linestyle="--")
    axes.set_title(f"base RTT of {transfers['rtt'][0]:g} ms", fontsize=9.5)
    axes.set_xlabel("offered load, %; dashed: the deadline")


def sessions(found: Finding, path: Path) -> None:
    """Draw box plots of the completions; how late transfers are; the deadlines missed."""
    everybody = found.curves.with_columns(pl.col("part").clip(0, SESSIONS_LAST))
    transfers = everybody.filter(cc="dalbe_cdg")
    rtts = transfers["rtt"].unique().sort().to_list()
    with mpl.rc_context(STYLE):
        figure = plt.figure(figsize=(max(3.2 * len(rtts), 8), 6.4), layout="constrained")
        halves = figure.subfigures(2, 1, squeeze=False)
        top, bottom = halves[0, 0], halves[1, 0]
        panels = top.subplots(1, len(rtts), sharey=True, squeeze=False)[0]
        for axes, rtt in zip(panels, rtts, strict=True):
            _boxes(axes, everybody.filter(rtt=rtt))
        panels[0].set_ylabel(
            f"done, parts of the window\n({SESSIONS_LAST:g}: or later); grey: CUBIC"
        )
        late, missed = bottom.subplots(1, 2)
        for (rtt, load), one in transfers.group_by("rtt", "load", maintain_order=True):
            style = {20: ":", 50: "-", 100: "--"}.get(round(rtt), "-.")
            shade = plt.get_cmap("viridis")((float(load) - 0.25) / 0.55)
            late.ecdf(
                100 * (one["part"] - 1),
                complementary=True,
                color=shade,
                linestyle=style,
                linewidth=1,
                label=f"{rtt:g} ms, {100 * float(load):g} %",
            )
        late.axvline(0, color=VERMILLION, linewidth=0.9, linestyle="--")
        late.set_xlim(-20, 100 * (SESSIONS_LAST - 1))
        late.set_xlabel("late by more than, % of the window")
        late.set_ylabel("part of the transfers")
        late.legend(fontsize=6.5, loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
        missed_by = found.summary.sort("cc", "rtt", "web.load", descending=[True, False, False])
        for (cc, rtt), here in missed_by.group_by("cc", "rtt", maintain_order=True):
            rate = here["miss_percent"]
            missed.errorbar(
                100 * here["web.load"],
                rate,
                yerr=[rate - here["miss_percent_low"], here["miss_percent_high"] - rate],
                marker="o",
                capsize=3,
                linewidth=1,
                label=f"{rtt:g} ms" if cc == "dalbe_cdg" else f"{rtt:g} ms, {cc} in its place",
            )
        missed.set_xlabel("offered load, %")
        missed.set_ylabel("deadlines missed, %; 95 % interval")
        missed.set_ylim(bottom=0)
        missed.legend(title="base RTT")
        save(figure, path)


def robust(found: Finding, path: Path) -> None:
    """Draw when transfers were done, by what was the matter; below, rates where that has a time."""
    places = found.summary["where"].to_list()
    over_time = [place for place in places if any(word in place for word in TIMED)]
    rows = math.ceil(len(over_time) / COLUMNS)
    with mpl.rc_context(STYLE):
        figure = plt.figure(figsize=(12, 4 + 2.6 * rows), layout="constrained")
        grid = figure.add_gridspec(1 + rows, COLUMNS, height_ratios=[1.5, *[1] * rows])
        axes = figure.add_subplot(grid[0, :])
        for column, colour, label, shift in (
            ("finish", BLUE, "the transfer", -0.12),
            ("cubic_finish", GREY, "CUBIC in its place", 0.12),
        ):
            axes.scatter(
                [places.index(place) + shift for place in found.runs["where"]],
                _shown(found.runs[column]),
                color=colour,
                s=18,
                label=label,
            )
        axes.axhline(1, **REQUIRED)
        axes.set_xticks(range(len(places)), places, rotation=20, ha="right", fontsize=8)
        axes.set_ylim(0, LAST + 0.05)
        axes.set_ylabel("done, parts of the window")
        axes.legend(fontsize=8)
        for n, place in enumerate(over_time):
            panel = figure.add_subplot(grid[1 + n // COLUMNS, n % COLUMNS])
            for flow, colour, label in (("others", GREY, "others"), (OURS, BLUE, "the transfer")):
                here = found.curves.filter(where=place, flow=flow)
                panel.plot(here["t_s"], here["mbps"], color=colour, linewidth=1.2, label=label)
            if n == 0:
                panel.legend(fontsize=8)
            panel.set_title(place, fontsize=9)
            panel.set_ylim(0, 1.05 * float(found.curves["mbps"].max()))  # type: ignore[arg-type]
            panel.set_xlabel("s")
            panel.set_ylabel("Mbit/s, mean")
        save(figure, path)


def five(found: Finding, path: Path) -> None:
    """Draw each transfer's end in parts of its window, and its rate until the first deadline."""
    rtts = found.runs["rtt"].unique().sort().to_list()
    deadlines = found.runs["deadline_s"].unique().sort().to_list()
    with sheet(path, 1, 2, size=(10, 3.8), layout="constrained") as (_figure, [[ends, rates]]):
        for n, rtt in enumerate(rtts):
            here = found.runs.filter(rtt=rtt)
            shift = 0.2 * (n - (len(rtts) - 1) / 2)
            at = [deadlines.index(due) + shift for due in here["deadline_s"]]
            look = {"s": 14, "marker": "os^D"[n % 4], "label": f"{rtt:g} ms"}
            ends.scatter(at, _shown(here["finish"]), **look)
            rates.scatter(at, here["early_mbps"], **look)
        ends.axhline(1, **REQUIRED)
        ends.set_ylim(0, LAST + 0.05)
        ends.set_ylabel("done, parts of its window")
        rates.set_ylim(bottom=0)
        rates.set_ylabel("Mbit/s until the first deadline")
        for axes in (ends, rates):
            axes.set_xticks(range(len(deadlines)), [f"{due:g}" for due in deadlines])
            axes.set_xlabel("deadline, s")
            axes.legend(fontsize=8)
