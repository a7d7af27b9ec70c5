# SPDX-License-Identifier: GPL-2.0-only
"""The picture of the models behind MBC: predicted over measured rates, a panel per model."""

from pathlib import Path

import polars as pl
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator

from dalbe_testbed.report.charts import SERIES, sheet
from dalbe_testbed.study.engine import Finding
from dalbe_testbed.study.model import LEAST_RATIO, MEDIAN_PERCENT, MODELS, MOST_RATIO

MARKERS = "osv^D"


def _panel(axes: Axes, points: pl.DataFrame, second: str, rtts: list[float], n: list[int]) -> None:
    """Draw one model's points: filled as the module predicts, hollow by `second`."""
    lows, highs = [], []
    for row in points.iter_rows(named=True):
        colour, marker = SERIES[rtts.index(row["rtt"])][0], MARKERS[n.index(row["others"])]
        for name, filled in ((second, False), ("own", True)):
            if (mbps := row[f"{name}_mbps"]) is None:
                continue
            axes.plot(
                row["measured_mbps"],
                mbps,
                marker=marker,
                color=colour,
                markerfacecolor=colour if filled else "none",
                markersize=6 if filled else 4,
                alpha=0.9 if filled else 0.5,
                linestyle="none",
            )
            lows.append(min(mbps, row["measured_mbps"]))
            highs.append(max(mbps, row["measured_mbps"]))
    ends = [0.7 * min(lows, default=0.1), 1.4 * max(highs, default=1.0)]
    off = MEDIAN_PERCENT / 100
    for factor, line in (
        (1.0, "-"),
        (1 - off, "--"),
        (1 + off, "--"),
        (LEAST_RATIO, ":"),
        (MOST_RATIO, ":"),
    ):
        axes.plot(
            ends, [factor * end for end in ends], color="black", linewidth=0.8, linestyle=line
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.minorticks_off()
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter("{x:g}")
    axes.set_xlim(*ends)
    axes.set_ylim(*ends)
    axes.set_aspect("equal")
    axes.set_xlabel("measured, Mbit/s")


def draw(found: Finding, path: Path) -> None:
    """Draw each point's mean rates: colours for the RTT, markers for how many others there are."""
    rows = found.summary
    names = [name for name in MODELS if name in set(rows["model"])]
    rtts, n = (rows[column].unique().sort().to_list() for column in ("rtt", "others"))
    with sheet(path, 1, len(names), size=(5.4 * len(names), 6), layout="constrained") as (
        figure,
        panels,
    ):
        for axes, name in zip(panels[0], names, strict=True):
            second = MODELS[name][0]
            _panel(axes, rows.filter(model=name), second, rtts, n)
            axes.set_title(f"{name}; hollow: '{second}'", fontsize=9.5)
        panels[0, 0].set_ylabel("predicted by the flow's own state, Mbit/s")
        keys = [
            Line2D([], [], marker="o", color=SERIES[k][0], linestyle="none", label=f"{rtt:g} ms")
            for k, rtt in enumerate(rtts)
        ] + [
            Line2D([], [], marker=MARKERS[k], color="grey", linestyle="none", label=f"{m} CUBIC")
            for k, m in enumerate(n)
        ]
        figure.legend(
            handles=keys,
            loc="outside lower center",
            ncols=len(keys),
            fontsize=8.5,
            title=f"dashed: {MEDIAN_PERCENT:g} % off; dotted: what 1 + eps can correct",
        )
