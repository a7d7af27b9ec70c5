# SPDX-License-Identifier: GPL-2.0-only
"""Tools of all pictures: colours, style, sheets of panels, means with their intervals.

Colours are from Okabe and Ito's palette, which colour-blind readers can tell apart.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import polars as pl
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

BLUE, VERMILLION, ORANGE, GREEN = "#0072B2", "#D55E00", "#E69F00", "#009E73"
SKY, PURPLE, GREY = "#56B4E9", "#CC79A7", "#B8B8B8"
BUSY = "#F3EDE2"
Style = dict[str, Any]
STYLE: dict[Any, Any] = {
    "figure.dpi": 130,
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "savefig.bbox": "tight",
}
SERIES = list(
    zip(
        (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, "black"),
        ("o", "s", "^", "v", "P", "X", "d"),
        strict=True,
    )
)

TARGET: Style = {"color": "black", "linestyle": ":", "label": "the rate that meets the deadline"}
"""How the rate is drawn that a transfer aims at."""

MARKERS = "osv^D"
"""Of series that are told apart by them alone."""

REQUIRED: Style = {"color": "black", "linewidth": 0.9, "linestyle": "--"}
"""How a line is drawn that something must stay above or below."""


@contextmanager
def page(path: Path, size: tuple[float, float]) -> Iterator[Figure]:
    """Yield a figure of so many inches; then write it to `path`."""
    with mpl.rc_context(STYLE):
        figure = plt.figure(figsize=size, layout="constrained")
        yield figure
        save(figure, path)


@contextmanager
def sheet(
    path: Path,
    rows: int = 1,
    columns: int = 1,
    *,
    size: tuple[float, float],
    **options: Any,
) -> Iterator[tuple[Figure, Any]]:
    """Yield a page() and its panels, rows by columns. options: of Figure.subplots()."""
    with page(path, size) as figure:
        yield figure, figure.subplots(rows, columns, squeeze=False, **options)


def save(figure: Figure, path: Path) -> None:
    """Write a figure to `path` and forget it."""
    figure.savefig(path, dpi=130)
    plt.close(figure)


def bars(rows: pl.DataFrame, name: str) -> Any:
    """Return the distances of means to the ends of their intervals, as errorbar() wants them."""
    mean = _drawable(rows, name)
    low, high = (rows[f"{name}_{end}"].cast(pl.Float64).fill_null(mean) for end in ("low", "high"))
    return [(mean - low).to_list(), (high - mean).to_list()]


def _drawable(rows: pl.DataFrame, name: str) -> pl.Series:
    """Return a column with NaN where nothing is known, as there is nothing to compare with."""
    return rows[name].cast(pl.Float64).fill_null(math.nan)


def means(axes: Axes, x: Any, rows: pl.DataFrame, name: str, **style: Any) -> None:
    """Draw the means of a column over `x`, with their intervals if the table has them."""
    usual: Style = {"capsize": 3, "linestyle": "none"}
    ends = bars(rows, name) if f"{name}_low" in rows.columns else None
    axes.errorbar(x, _drawable(rows, name), yerr=ends, **usual | style)


@contextmanager
def measured(
    path: Path,
    rows: pl.DataFrame,
    measures: Mapping[str, tuple[Any, ...]],
    by: str,
    x: str,
    *,
    step: float | None = None,
    series: str = "{}",
    black: str = "",
    style: Style | None = None,
    **options: Any,
) -> Iterator[list[Axes]]:
    """Yield panels, one per measure, with its means over x, a series for each value of `by`.

    measures: by column its label, and what is required where a line shall say so. step: if given,
    values of x have a place each, and there each series is so far right of the one before. series:
    what it is called. black: the value whose series is; style: of all others, too. options: of
    sheet().
    """
    kinds, places = (rows[column].unique(maintain_order=True).to_list() for column in (by, x))
    with sheet(path, 1, len(measures), **options) as (_figure, [panels]):
        for axes, (name, (label, *limits)) in zip(panels, measures.items(), strict=True):
            for number, (kind, (colour, marker)) in enumerate(zip(kinds, SERIES, strict=False)):
                here = rows.filter(pl.col(by) == kind).drop_nulls(name)
                shift = (step or 0) * (number - (len(kinds) - 1) / 2)
                at = here[x] if step is None else [places.index(it) + shift for it in here[x]]
                look: Style = {"color": "black" if kind == black else colour, "marker": marker}
                means(axes, at, here, name, label=series.format(kind), **look, **style or {})
            if step is not None:
                numbers = rows[x].dtype.is_numeric()
                words = [f"{it:g}" if numbers else it for it in places]
                turned: Style = {} if numbers else {"rotation": 45, "ha": "right"}
                axes.set_xticks(range(len(places)), words, **turned)
            for limit in limits:
                axes.axhline(limit, **REQUIRED)
            axes.set_ylabel(label)
        yield panels
        panels[0].legend()


def one_two_five(*scales: Axis) -> None:
    """Mark 1, 2 and 5 times the powers of ten on logarithmic scales, in plain numbers."""
    for scale in scales:
        scale.set_major_locator(LogLocator(subs=(1, 2, 5)))
        scale.set_major_formatter("{x:g}")
        scale.set_minor_locator(NullLocator())


@contextmanager
def facets(
    path: Path,
    table: pl.DataFrame,
    by: Sequence[str],
    *,
    size: tuple[float, float],
    title: str,
    wrap: int = 3,
    **options: Any,
) -> Iterator[list[tuple[Axes, pl.DataFrame]]]:
    """Yield a panel, and its part of a table, for each combination of the values of some columns.

    size: of a panel, in inches. title: of each, with the columns' values. wrap: how many stand
    beside each other. options: of sheet(). The legend of the first goes below all.
    """
    keys = table.select(by).unique(maintain_order=True).rows(named=True)
    columns, rows = min(wrap, len(keys)) or 1, math.ceil(len(keys) / wrap) or 1
    whole = (size[0] * columns, size[1] * rows + 0.5)
    usual: Style = {"sharex": True, "sharey": True}
    with sheet(path, rows, columns, size=whole, **usual | options) as (figure, panels):
        parts = []
        for axes, key in zip(panels.flat, keys, strict=False):
            axes.set_title(title.format(**key))
            parts.append((axes, table.filter(**key)))
        for axes in panels.flat[len(keys) :]:
            axes.set_visible(False)
        yield parts
        legend_below(figure, panels[0, 0])


def lines(axes: Axes, table: pl.DataFrame, x: str, y: str, by: str, **style: Any) -> None:
    """Draw a line for each value of the column `by`."""
    series = zip(table.group_by(by, maintain_order=True), SERIES, strict=False)
    for ((kind,), one), (colour, _marker) in series:
        axes.plot(one[x], one[y], color=colour, label=kind, **{"linewidth": 1} | style)


def legend_below(figure: Figure, axes: Axes) -> None:
    """Put the legend of `axes`, which is that of all panels, below the figure."""
    handles, labels = axes.get_legend_handles_labels()
    once = dict(zip(labels, handles, strict=True))
    place: Style = {"loc": "outside lower center", "ncols": 8, "fontsize": 9}
    figure.legend(once.values(), once.keys(), **place)
