# SPDX-License-Identifier: GPL-2.0-only
"""The picture of the numerical experiments: rates over time, a row per curve of the paper."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from dalbe_testbed.charts import BLUE, GREY, TARGET, VERMILLION, Style, legend_below, sheet
from dalbe_testbed.papers import framework, numeric
from dalbe_testbed.papers.framework import CROSS, OUR_SOURCE, TRANSFER


def draw(runs: Mapping[tuple[str, float], pl.DataFrame], path: Path) -> None:
    """Draw runs, by name of the scheme and eta, to path: a row per scheme, a column per eta."""
    schemes, etas = numeric.SCHEMES, framework.ETAS
    size = (6 * len(etas), 2.5 * len(schemes))
    shared: Style = {"sharex": True, "sharey": True, "layout": "constrained"}
    with sheet(path, len(schemes), len(etas), size=size, **shared) as (figure, panels):
        for row, scheme in zip(panels, schemes, strict=True):
            for axes, eta in zip(row, etas, strict=True):
                run = runs[scheme.name, eta]
                for n, source in enumerate(CROSS):
                    label = "a TCP source" if n == 0 else None
                    axes.plot(run["t_s"], run[source.name], color=GREY, linewidth=0.9, label=label)
                weight = {"color": VERMILLION, "linewidth": 0.9, "label": "w, of 100"}
                axes.plot(run["t_s"], run["w"] * numeric.MOST, alpha=0.7, **weight)
                axes.plot(run["t_s"], run["target"], linewidth=0.9, **TARGET)
                axes.plot(
                    run["t_s"], run[OUR_SOURCE], color=BLUE, linewidth=1.6, label="the transfer"
                )
                axes.annotate(
                    "deadline",
                    (TRANSFER.stop_s, 0),
                    (TRANSFER.stop_s, 60),
                    ha="center",
                    fontsize=8,
                    arrowprops={"arrowstyle": "->", "color": "black"},
                )
                axes.set_title(f"{scheme.title}; {eta:.0%} of the capacity", fontsize=9.5)
                axes.set(ylim=(0, numeric.MOST), xlim=(0, framework.DURATION_S))
            row[0].set_ylabel("rate, % of capacity")
        legend_below(figure, panels[0, 0], ncols=4)
        for axes in panels[-1]:
            axes.set_xlabel("s")
