# SPDX-License-Identifier: GPL-2.0-only
"""The picture of LEDBAT's evaluation: rates over time, as the paper's Figures 2, 4 and 5."""

from pathlib import Path

from dalbe_testbed.report.charts import GREY, SERIES, Style, legend_below, sheet
from dalbe_testbed.study.engine import Finding
from dalbe_testbed.study.ledbat import FLOWS, SEED


def draw(found: Finding, path: Path) -> None:
    """Draw the rate of every flow: a row of panels per congestion control, a column per scene."""
    curves = found.curves
    scenes = curves["scene"].unique(maintain_order=True).to_list() or ["calls only"]
    names = curves["who"].unique(maintain_order=True).to_list() or [""]
    size = (5 * len(scenes), 2 * len(names) + 1)
    options: Style = {"sharex": True, "sharey": True, "layout": "constrained"}
    with sheet(path, len(names), len(scenes), size=size, **options) as (figure, panels):
        for line, who in zip(panels, names, strict=True):
            for axes, scene in zip(line, scenes, strict=True):
                here = curves.filter(who=who, scene=scene)
                others = {"upload": "black", "requests": GREY}
                styles = dict(zip(FLOWS, (colour for colour, _ in SERIES), strict=False)) | others
                for flow, colour in styles.items():
                    one = here.filter(flow=flow)
                    axes.plot(one["t_s"], one["mbps"], color=colour, linewidth=1.2, label=flow)
                axes.set_ylim(bottom=0)
                axes.set_title(f"{who}, {scene}")
        for axes in panels[-1]:
            axes.set_xlabel(f"s; seed {SEED}")
        panels[0][0].set_ylabel("Mbit/s")
        legend_below(figure, panels[0][0], len(FLOWS) + 2)
