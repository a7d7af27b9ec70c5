# SPDX-License-Identifier: GPL-2.0-only
"""Tools of all pictures: colours, style, sheets of panels, means with their intervals.

Colours are from Okabe and Ito's palette, which colour-blind readers can tell apart.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

BLUE, VERMILLION, ORANGE, GREEN = "#0072B2", "#D55E00", "#E69F00", "#009E73"
SKY, PURPLE, GREY = "#56B4E9", "#CC79A7", "#B8B8B8"
BUSY, STRIP = "#F3EDE2", "#404040"
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

REQUIRED: dict[str, Any] = {"color": "black", "linewidth": 0.9, "linestyle": "--"}
"""How a line is drawn that something must stay above or below."""


@contextmanager
def sheet(
    path: Path, rows: int = 1, columns: int = 1, *, size: tuple[float, float], **options: Any
) -> Iterator[tuple[Figure, Any]]:
    """Yield a figure and its panels, rows by columns; then write it to `path`.

    size: in inches. options: of plt.subplots().
    """
    with mpl.rc_context(STYLE):
        figure, panels = plt.subplots(rows, columns, figsize=size, squeeze=False, **options)
        yield figure, panels
        if "layout" not in options:
            figure.tight_layout()
        save(figure, path)


def save(figure: Figure, path: Path) -> None:
    """Write a figure to `path` and forget it."""
    figure.savefig(path, dpi=130)
    plt.close(figure)


def bars(rows: pl.DataFrame, name: str) -> Any:
    """Return the distances of means to the ends of their intervals, as errorbar() wants them."""
    low, high = (
        rows[f"{name}_{end}"].cast(pl.Float64).fill_null(rows[name]) for end in ("low", "high")
    )
    return [(rows[name] - low).to_list(), (high - rows[name]).to_list()]


def means(axes: Axes, x: Any, rows: pl.DataFrame, name: str, **style: Any) -> None:
    """Draw the means of a column over `x`, with their intervals."""
    usual: dict[str, Any] = {"capsize": 3, "linestyle": "none"}
    axes.errorbar(x, rows[name], yerr=bars(rows, name), **usual | style)


def legend_below(figure: Figure, axes: Axes, ncols: int) -> None:
    """Put the legend of `axes`, which is that of all panels, below the figure, in ncols columns."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=ncols, fontsize=9)
