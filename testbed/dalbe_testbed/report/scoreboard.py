# SPDX-License-Identifier: GPL-2.0-only
"""The scoreboard's picture: a panel per measure, a line per transfer, a marker per task."""

import math
from collections.abc import Sequence
from pathlib import Path

import polars as pl
from matplotlib.axes import Axes

from dalbe_testbed.report.charts import BLUE, MARKERS, Style, bars, legend_below, sheet
from dalbe_testbed.study.engine import Finding
from dalbe_testbed.study.scoreboard import CAP

PANELS = {
    "miss_percent": "deadlines missed, %",
    "late_percent": "late by, % of the window",
    "idle_percent": "used of idle minutes, %",
    "behind_percent": "used of them while behind, %",
    "goodput_harm_percent": "harm to CUBIC's goodput, %",
    "short_mean_harm_percent": "harm to short flows, mean, %",
    "short_median_harm_percent": "harm to short flows, median, %",
    "short_p95_harm_percent": "harm to short flows, p95, %",
    "delay_mean_harm_percent": "harm to interactive delay, mean, %",
    "delay_p95_harm_percent": "harm to interactive delay, p95, %",
    "added_queue_mean_ms": "added queue, mean, ms",
    "added_queue_p95_ms": "added queue, p95, ms",
}
"""The measures of the summary that are drawn, with their titles; those without a value are not."""

MISSES = ("miss_percent", "late_percent")
"""Measures left out of a task that nobody does in time: everybody misses it."""

PARTS = ("idle_percent", "behind_percent")
"""Parts of what there is: intervals of few runs reach beyond none and all."""

LABELS = {
    "mbc": "dalbe_cdg, MBC",
    "pid": "dalbe_cdg, PID",
    "floor": "dalbe_cdg, rate floor",
    "phantom": "dalbe_cubic, phantom signals",
    "beta": "dalbe_cubic, beta",
    "dalbe-vegas": "dalbe_vegas",
    "vegas": "Vegas",
    "lp": "TCP-LP",
    "cubic": "CUBIC",
    "strict_priority": "strict priority",
}
OUR_TRANSFERS = ("mbc", "pid", "floor", "phantom", "beta", "dalbe-vegas")
PEERS = ("cdg-g0.1", "cdg-g3", "cdg-g120", "vegas", "lp", "cubic", "strict_priority")
"""From above to below: ours, the rate caps, these, of which the last is the limit."""

COLUMNS, APART = 4, 0.3
"""Panels side by side, and how far markers of the same line are, in lines."""


def label(transfer: str) -> str:
    """Return how a transfer is called in pictures."""
    if transfer.startswith(CAP):
        return f"rate cap, size/{transfer.removeprefix(CAP).removesuffix('s')} s"
    return LABELS.get(transfer, transfer.replace("cdg-g", "in-tree cdg, G = "))


def _order(transfers: pl.Series) -> list[str]:
    caps = sorted({name for name in transfers if name.startswith(CAP)}, reverse=True)
    return [name for name in (*OUR_TRANSFERS, *caps, *PEERS) if name in transfers]


def _hopeless(rows: pl.DataFrame, task: str) -> bool:
    """Return whether all were late in every run."""
    missed = rows.filter(task=task)["miss_percent"].drop_nulls()
    return missed.len() > 0 and bool((missed == 100).all())  # noqa: PLR2004 (percent)


def draw_panel(axes: Axes, rows: pl.DataFrame, name: str, tasks: Sequence[str]) -> None:
    """Draw one measure, a column of the summary: a line per transfer, a marker per task."""
    order = _order(rows["transfer"])
    for number, task in enumerate(tasks):
        here = rows.filter(pl.col("task") == task, pl.col(name).is_not_null())
        said = task
        if _hopeless(rows, task):
            said += " (cannot be met: not among the misses)"
            if name in MISSES:
                here = here.clear()
        shift = APART * (number - (len(tasks) - 1) / 2)
        for ours in (False, True):
            some = here.filter(pl.col("transfer").is_in(OUR_TRANSFERS) == ours)
            places = [order.index(transfer) + shift for transfer in some["transfer"]]
            colour = BLUE if ours else "#404040"
            style: Style = {
                "color": colour,
                "marker": MARKERS[number % len(MARKERS)],
                "markerfacecolor": "white" if number else colour,
                "markersize": 5,
                "capsize": 2,
                "linestyle": "none",
                "linewidth": 1,
                "label": None if ours else said,
            }
            axes.errorbar(some[name], places, xerr=bars(some, name), **style)
    mine = [number for number, transfer in enumerate(order) if transfer in OUR_TRANSFERS]
    if mine:
        axes.axhspan(-0.5, max(mine) + 0.5, color="#E8F1F8", zorder=-5, linewidth=0)
    axes.set_ylim(len(order) - 0.5, -0.5)
    axes.set_yticks(range(len(order)), [label(transfer) for transfer in order])
    axes.grid(visible=False, axis="y")
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_title(PANELS[name], fontsize=9, fontweight="normal")
    axes.margins(x=0.08)
    if name in PARTS:
        axes.set_xlim(-4, 110)


def draw(found: Finding, path: Path) -> None:
    """Draw every measure: means over seeds with their intervals, ours highlighted."""
    rows = found.summary
    tasks = rows["task"].unique(maintain_order=True).to_list()
    names = [name for name in PANELS if rows[name].null_count() < rows.height]
    lines = math.ceil(len(names) / COLUMNS)
    size = (3.1 * COLUMNS, (0.8 + 0.27 * rows["transfer"].n_unique()) * lines)
    options: Style = {"sharey": True, "layout": "constrained"}
    with sheet(path, lines, COLUMNS, size=size, **options) as (figure, panels):
        for axes in panels.flat[len(names) :]:
            axes.set_visible(False)
        for axes, name in zip(panels.flat, names, strict=False):
            draw_panel(axes, rows, name, tasks)
        legend_below(figure, panels[0, 0], ncols=len(tasks))
