# SPDX-License-Identifier: GPL-2.0-only
"""The picture of the models behind MBC: predicted over measured rates, a panel per model."""

from pathlib import Path

import polars as pl
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator

from dalbe_testbed.report.charts import MARKERS, SERIES, Style, sheet
from dalbe_testbed.study.engine import Finding
from dalbe_testbed.study.model import LEAST_RATIO, MEDIAN_PERCENT, MODELS, MOST_RATIO


def _panel(axes: Axes, points: pl.DataFrame, second: str, rtts: list[float], n: list[int]) -> None:
    """Draw one model's points: filled as the module predicts, hollow by `second`."""
    drawn: list[float] = []
    for row in points.iter_rows(named=True):
        colour, marker = SERIES[rtts.index(row["rtt"])][0], MARKERS[n.index(row["others"])]
        looks: dict[str, Style] = {
            second: {"markerfacecolor": "none", "markersize": 4, "alpha": 0.5},
            "own": {"markersize": 6, "alpha": 0.9},
        }
        for name, look in looks.items():
            if (mbps := row[f"{name}_mbps"]) is not None:
                at = (row["measured_mbps"], mbps)
                axes.plot(*at, marker=marker, color=colour, linestyle="none", **look)
                drawn += at
    ends = [0.7 * min(drawn, default=0.1), 1.4 * max(drawn, default=1.0)]
    off = MEDIAN_PERCENT / 100
    lines = {1.0: "-", 1 - off: "--", 1 + off: "--", LEAST_RATIO: ":", MOST_RATIO: ":"}
    for factor, line in lines.items():
        there = [factor * end for end in ends]
        axes.plot(ends, there, color="black", linewidth=0.8, linestyle=line)
    axes.set(xscale="log", yscale="log", xlim=ends, ylim=ends, aspect="equal")
    axes.minorticks_off()
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter("{x:g}")
    axes.set_xlabel("measured, Mbit/s")


def draw(found: Finding, path: Path) -> None:
    """Draw each point's mean rates: colours for the RTT, markers for how many others there are."""
    rows = found.summary
    names = [name for name in MODELS if name in set(rows["model"])]
    rtts, n = (rows[column].unique().sort().to_list() for column in ("rtt", "others"))
    size = (5.4 * len(names), 6)
    with sheet(path, 1, len(names), size=size, layout="constrained") as (figure, [panels]):
        for axes, name in zip(panels, names, strict=True):
            second = MODELS[name][0]
            _panel(axes, rows.filter(model=name), second, rtts, n)
            axes.set_title(f"{name}; hollow: '{second}'", fontsize=9.5)
        panels[0].set_ylabel("predicted by the flow's own state, Mbit/s")
        keys = [
            Line2D([], [], marker="o", color=SERIES[k][0], linestyle="none", label=f"{rtt:g} ms")
            for k, rtt in enumerate(rtts)
        ] + [
            Line2D([], [], marker=MARKERS[k], color="grey", linestyle="none", label=f"{m} CUBIC")
            for k, m in enumerate(n)
        ]
        said = f"dashed: {MEDIAN_PERCENT:g} % off; dotted: what 1 + eps can correct"
        place: Style = {"loc": "outside lower center", "ncols": len(keys), "fontsize": 8.5}
        figure.legend(handles=keys, title=said, **place)
