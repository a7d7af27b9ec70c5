# SPDX-License-Identifier: GPL-2.0-only
"""The pictures of the paper's report: Figures 2 and 3, Table I, ablations.

Where the paper states a value it is drawn over ours, as a hollow diamond.
"""

from pathlib import Path

import polars as pl
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from dalbe_testbed.papers import cdg as paper
from dalbe_testbed.papers.cdg import MODULES
from dalbe_testbed.report.charts import BLUE, SERIES, VERMILLION, Style, legend_below, means, sheet
from dalbe_testbed.study.engine import Finding

MODULE_COLOURS = dict(zip(MODULES, (BLUE, VERMILLION), strict=True))
PAPER: Style = {
    "marker": "D",
    "markerfacecolor": "none",
    "markeredgecolor": "black",
    "markersize": 8,
    "linestyle": "none",
    "zorder": 5,
    "label": "the paper's values",
}


def box(shares: pl.DataFrame) -> str:
    """Return Figure 2's box: mean, std, min and max of each flow over the second half, percent."""
    half = shares.filter(pl.col("t_s") >= float(shares["t_s"].max() or 0) / 2)  # type: ignore[arg-type]
    lines = [f"{'':7}{'mean':>6}{'std':>6}{'min':>6}{'max':>6}"]
    for (flow,), some in half.group_by("flow", maintain_order=True):
        percent = pl.col("percent")
        numbers = some.select(
            percent.mean(), std=percent.std(), min=percent.min(), max=percent.max()
        )
        lines.append(f"{flow:7}" + "".join(f"{number:6.1f}" for number in numbers.row(0)))
    return "\n".join(lines)


def figure_2(found: Finding, path: Path) -> None:
    """Draw Figure 2: each flow's share over time, of the first seed; a row per G."""
    curves = found.curves
    modules = [module for module in MODULES if module in curves["cc"]]
    gs = curves["g_ms"].unique().sort()
    size = (9 * len(modules), 2.6 * len(gs))
    shared: Style = {"sharex": True, "sharey": True, "layout": "constrained"}
    with sheet(path, len(gs), len(modules), size=size, **shared) as (figure, panels):
        for row, g in zip(panels, gs, strict=True):
            for axes, module in zip(row, modules, strict=True):
                here = curves.filter(cc=module, g_ms=g)
                flows = here.group_by("flow", maintain_order=True)
                for ((flow,), one), (colour, _marker) in zip(flows, SERIES, strict=False):
                    axes.plot(one["t_s"], one["percent"], color=colour, linewidth=0.9, label=flow)
                place: Style = {"transform": axes.transAxes, "ha": "right", "va": "top"}
                frame = {"facecolor": "white", "edgecolor": "#888888", "alpha": 0.85}
                font = {"family": "monospace", "fontsize": 7.5}
                axes.text(0.99, 0.96, box(here), bbox=frame, **place, **font)
                axes.set_title(f"G = {g:g} ms, {MODULES[module]}")
                axes.set(ylabel="share, %", ylim=(0, 100))
        for axes in panels[-1]:
            axes.set_xlabel("seconds")
        legend_below(figure, panels[0, 0], ncols=4)


def figure_3(found: Finding, path: Path) -> None:
    """Draw Figure 3: both CDG flows' share over G, a line per base RTT, a panel per module."""
    rows = found.summary.sort("g_ms")
    modules = rows["cc"].unique(maintain_order=True).sort().to_list()
    places = {g: place for place, g in enumerate(rows["g_ms"].unique().sort())}
    rtts = rows["rtt_ms"].unique().sort().to_list()
    stated = paper.aggregates()
    size = (6.6 * len(modules), 5.2)
    shared: Style = {"sharey": True, "layout": "constrained"}
    with sheet(path, 1, len(modules), size=size, **shared) as (figure, [panels]):
        for axes, module in zip(panels, modules, strict=True):
            own = rows.filter(cc=module).group_by("rtt_ms", "curve", maintain_order=True)
            for (rtt, name), one in sorted(own, key=lambda it: it[0]):
                colour, marker = SERIES[rtts.index(rtt) % len(SERIES)]
                label = str(name).partition(", ")[2]
                line: Style = {"color": colour, "marker": marker, "linestyle": "-", "label": label}
                means(axes, [places[g] for g in one["g_ms"]], one, "both_percent", **line)
                for (g, at_rtt), share in stated.items():
                    if at_rtt == rtt and g in places:
                        axes.plot(
                            places[g], share, **PAPER | {"markeredgecolor": colour, "label": None}
                        )
            axes.set_title(MODULES.get(module, module))
            axes.set(xlabel="G, ms (neither linear nor logarithmic, as in the paper)", ylim=(0, 60))
            axes.set_xticks(range(len(places)), [f"{g:g}" for g in places], rotation=60)
            axes.plot([], [], **PAPER)
        panels[0].set_ylabel("share of both CDG flows, % of the link")
        legend_below(figure, panels[0], ncols=8)


def table_1(found: Finding, path: Path) -> None:
    """Draw Table I: the paper's values with their tolerance, and both modules with intervals."""
    titles = {
        "Table I, min": "one CDG flow at G = 0.1 ms",
        "Table I, max": "both CDG flows at G = 120 ms",
    }
    ring: Style = {"marker": "o", "fillstyle": "none", "linewidth": 0}
    within = "#EDEDED"
    with sheet(path, 1, 2, size=(11, 4.2), layout="constrained") as (figure, [panels]):
        for axes, (which, title) in zip(panels, titles.items(), strict=True):
            rows = found.summary.filter(stated=which).sort("rtt_ms")
            rtts = rows["rtt_ms"].unique().sort().to_list()
            for shift, (module, colour) in zip((-0.15, 0.15), MODULE_COLOURS.items(), strict=True):
                here = rows.filter(cc=module)
                at = [rtts.index(rtt) + shift for rtt in here["rtt_ms"]]
                means(axes, at, here, "ours_percent", color=colour, marker="o", markersize=4.5)
                axes.plot(at, here["of_tcp_percent"], color=colour, **ring)
            for value in rows.unique("rtt_ms").iter_rows(named=True):
                place, percent = rtts.index(value["rtt_ms"]), value["paper_percent"]
                allowed = value["tolerance_points"]
                axes.bar(place, 2 * allowed, bottom=percent - allowed, width=0.7, color=within)
                axes.plot(place, percent, **PAPER)
            axes.set_xticks(range(len(rtts)), [f"{rtt:g}" for rtt in rtts])
            axes.set_title(f"{title}: {rows['met'].sum()} of {rows.height} within")
            axes.set(xlabel="base RTT, ms", ylabel="share, %", ylim=(0, None))
        handles = [
            *(
                Patch(color=MODULE_COLOURS[m], label=f"{name}, of the link")
                for m, name in MODULES.items()
            ),
            Line2D([], [], color="#5c5c5c", label="of TCP's", **ring),
            Line2D([], [], **PAPER),
            Patch(color=within, label="within 25 % or 2 points"),
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=5)


def ablation(found: Finding, path: Path) -> None:
    """Draw an ablation: both CDG flows' share with its interval, per G and variant."""
    rows = found.summary
    gs = rows["g_ms"].unique().sort().to_list()
    variants = rows["value"].unique(maintain_order=True).to_list()
    width = 0.6 / max(1, len(variants) - 1)
    with sheet(path, size=(8, 4)) as (_figure, [[axes]]):
        for number, variant in enumerate(variants):
            here = rows.filter(value=variant)
            shift = (number - (len(variants) - 1) / 2) * width
            look: Style = {
                "color": SERIES[number % len(SERIES)][0],
                "marker": "o",
                "label": variant,
            }
            means(axes, [gs.index(g) + shift for g in here["g_ms"]], here, "both_percent", **look)
        axes.set_xticks(range(len(gs)), [f"{g:g}" for g in gs])
        axes.set(xlim=(-0.6, len(gs) - 0.4), ylim=(0, None), xlabel="G, ms")
        axes.set_ylabel("share of both CDG flows, %")
        axes.set_title(found.sentence.rstrip("."))
        axes.legend(loc="upper left")
