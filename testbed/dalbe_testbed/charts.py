# SPDX-License-Identifier: GPL-2.0-only
"""Tools of all pictures: colours, theme, means with their intervals, curves, requirements.

A picture is a chart of Altair's. Colours are from Okabe and Ito's palette, which colour-blind
readers can tell apart. Values of a column that tells series or panels apart keep the table's order.
"""

from typing import Any

import altair as alt
import polars as pl

BLUE, VERMILLION, ORANGE, GREEN = "#0072B2", "#D55E00", "#E69F00", "#009E73"
SKY, PURPLE, GREY = "#56B4E9", "#CC79A7", "#B8B8B8"
BUSY = "#F3EDE2"
COLOURS = [BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, "black"]
Picture = Any
"""One chart of Altair's, or several: its methods' types say no more."""
Style = dict[str, Any]

TARGET = "the rate that meets the deadline"


@alt.theme.register("dalbe", enable=True)
def _theme() -> alt.theme.ThemeConfig:
    return {
        "config": {
            "view": {"continuousWidth": 320, "continuousHeight": 200, "discreteWidth": 320},
            "range": {"category": COLOURS, "ordinal": COLOURS},
            "title": {"anchor": "start"},
            "header": {"labelFontWeight": "bold", "labelAnchor": "start"},
            "axis": {"gridColor": "#E6E6E6", "titleFontWeight": "normal"},
            "axisX": {"labelAngle": 0},
            "legend": {"labelLimit": 0, "symbolOpacity": 1},
            "line": {"strokeWidth": 1.3},
            "point": {"filled": True, "size": 45, "opacity": 1},
        }
    }


alt.data_transformers.disable_max_rows()


def words(form: str, *columns: str) -> pl.Expr:
    """Return the values of columns in words; form: as pl.format() has it. 20.0 is said as 20."""
    return pl.format(form, *(pl.col(it).cast(pl.String).str.strip_suffix(".0") for it in columns))


def series(rows: pl.DataFrame, by: str, title: str = "") -> Style:
    """Return how a channel of encode() tells the values of a column apart; title: the legend's."""
    order = rows[by].unique(maintain_order=True).to_list()
    scale = alt.Scale(domain=order)
    return {"field": by, "type": "nominal", "sort": order, "scale": scale, "title": title or None}


def required(rows: pl.DataFrame, **at: Any) -> Picture:
    """Return a dashed line at a value, or at those of a column, of `x` or `y`.

    rows: those that are drawn with it.
    """
    where = {axis: it if isinstance(it, str) else alt.datum(it) for axis, it in at.items()}
    return alt.Chart(rows).mark_rule(strokeDash=[5, 4]).encode(**where)


def means(
    rows: pl.DataFrame,
    name: str,
    title: str,
    *limits: float,
    x: alt.X,
    by: str,
    legend: str = "",
    apart: bool = False,
    line: bool = False,
    scale: Style | None = None,
) -> Picture:
    """Return the means of a column over x, with their intervals if the table has them, and limits.

    title: of the axis. by: the column each of whose values has a colour and a shape, which the
    legend tells. apart: whether they stand beside each other at the same x. line: whether lines
    connect them. scale: of the axis; by default it begins at 0.
    """
    look = series(rows, by, legend)
    chart = alt.Chart(rows).encode(x, alt.Color(**look))
    if apart:
        chart = chart.encode(alt.XOffset(**look))
    mean = chart.encode(alt.Y(name).title(title).scale(**scale or {}))
    layers = [mean.mark_point().encode(alt.Shape(**look)), *[mean.mark_line()] * line]
    if f"{name}_low" in rows.columns:
        ends = alt.Y(f"{name}_low").title(title), alt.Y2(f"{name}_high")
        layers.append(chart.mark_rule().encode(*ends))
    return alt.layer(*layers, *(required(rows, y=limit) for limit in limits))


def curves(rows: pl.DataFrame, x: alt.X, y: alt.Y, by: str, **options: Any) -> Picture:
    """Return a line for each value of the column `by`. options: of encode()."""
    return alt.Chart(rows).mark_line().encode(x, y, alt.Color(**series(rows, by)), **options)


def facets(rows: pl.DataFrame, chart: Picture, by: str, wrap: int = 3) -> Picture:
    """Return a panel of a chart of rows for each value of a column, `wrap` in a line.

    Without any row an empty picture: a legend without a value is an error of Vega-Lite's.
    """
    if rows.is_empty():
        return alt.Chart(rows).mark_point()
    order = rows[by].unique(maintain_order=True).to_list()
    return chart.facet(alt.Facet(by, type="nominal", sort=order, title=None), columns=wrap)
