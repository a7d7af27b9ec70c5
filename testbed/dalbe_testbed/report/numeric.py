# SPDX-License-Identifier: GPL-2.0-only
"""The picture of the numerical experiments: rates over time, a row per curve of the paper."""

from collections.abc import Mapping
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import polars as pl

from dalbe_testbed.papers import framework, numeric
from dalbe_testbed.papers.framework import CROSS, OURS, TRANSFER
from dalbe_testbed.report.charts import BLUE, GREY, STYLE, VERMILLION, legend_below


def draw(runs: Mapping[tuple[str, float], pl.DataFrame], path: Path) -> None:
    """Draw runs, by name of the scheme and eta, to path: a row per scheme, a column per eta."""
    etas = framework.ETAS
    with mpl.rc_context(STYLE):
        figure, panels = plt.subplots(
            len(numeric.SCHEMES),
            len(etas),
            figsize=(6 * len(etas), 2.5 * len(numeric.SCHEMES)),
            sharex=True,
            sharey=True,
            squeeze=False,
            layout="constrained",
        )
        for row, scheme in zip(panels, numeric.SCHEMES, strict=True):
            for axes, eta in zip(row, etas, strict=True):
                run = runs[scheme.name, eta]
                for n, source in enumerate(CROSS):
                    axes.plot(
                        run["t_s"],
                        run[source.name],
                        color=GREY,
                        linewidth=0.9,
                        label="a TCP source" if n == 0 else None,
                    )
                axes.plot(run["t_s"], run["w"] * numeric.MOST, color=VERMILLION, linewidth=0.9,
                          alpha=0.7, label="w, of 100")  # fmt: skip
                axes.plot(run["t_s"], run["target"], color="black", linewidth=0.9,
                          linestyle=":", label="the rate that meets the deadline")  # fmt: skip
                axes.plot(run["t_s"], run[OURS], color=BLUE, linewidth=1.6, label="the transfer")
                axes.annotate(
                    "deadline",
                    (TRANSFER.stop_s, 0),
                    (TRANSFER.stop_s, 60),
                    ha="center",
                    fontsize=8,
                    arrowprops={"arrowstyle": "->", "color": "black"},
                )
                axes.set_title(f"{scheme.title}; {eta:.0%} of the capacity", fontsize=9.5)
                axes.set_ylim(0, numeric.MOST)
                axes.set_xlim(0, framework.DURATION_S)
        legend_below(figure, panels[0, 0], ncols=4)
        for axes in panels[-1]:
            axes.set_xlabel("s")
        for axes in panels[:, 0]:
            axes.set_ylabel("rate, % of capacity")
        figure.savefig(path, dpi=110)
        plt.close(figure)
