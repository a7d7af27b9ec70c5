# SPDX-License-Identifier: GPL-2.0-only
"""The demo's picture: who had the link, by each means, and what the module did about it."""

from pathlib import Path

import polars as pl
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from dalbe_testbed.report.charts import BLUE, BUSY, GREY, SKY, TARGET, VERMILLION, Style, sheet
from dalbe_testbed.study.demo import CURVE_S, OURS, outcome
from dalbe_testbed.study.engine import Finding

LABEL = {
    "dalbe_cdg": "dalbe_cdg under a goal",
    "cubic": "plain CUBIC",
    "bwlimit": "rsync --bwlimit",
    "infeasible": "dalbe_cdg, impossible goal",
}
STACK = {"file_mbps": BLUE, "cubic_mbps": VERMILLION, "background_mbps": GREY}
REGIME = {1: "alone", 2: "yielding", 3: "contended"}  # DALBE_REGIME_*
COMPETES_MBPS = 0.01
"""CUBIC competes in bins in which it has more."""


def _over_time(axes: Axes, curve: pl.DataFrame, deadline_s: float) -> None:
    """Shade the times in which CUBIC competes, and mark the deadline."""
    for t_s in curve.filter(pl.col("cubic_mbps") > COMPETES_MBPS)["t_s"]:
        axes.axvspan(t_s, t_s + CURVE_S, color=BUSY, zorder=-10, linewidth=0)
    axes.axvline(deadline_s, color="black", linestyle="--", linewidth=1.2)
    axes.set_xlim(0, deadline_s + 20)


def _weight(axes: Axes, module: pl.DataFrame) -> None:
    """Draw w, and below it the regime."""
    axes.step(module["t_s"], module["w"], where="post", color=BLUE, linewidth=1.6)
    axes.set(ylabel="weight w", ylim=(-0.02, 1.05))
    lowest, *_, highest = module["w"].sort()
    axes.set_title(f"w went from {lowest:.2g} up to {highest:.2g}")
    regime = axes.twinx()
    regime.step(module["t_s"], module["regime"], where="post", color=GREY, linewidth=1)
    regime.set_yticks(list(REGIME), REGIME.values())
    regime.grid(visible=False)


def _target(axes: Axes, module: pl.DataFrame) -> None:
    """Draw the rate that the deadline needs, and the rate that there was."""
    line: Style = {"where": "post", "linewidth": 1.2}
    measured: Style = {"color": SKY, "label": "measured by the module"}
    axes.step(module["t_s"], module["measured_mbps"], **line | measured)
    axes.step(module["t_s"], module["target_mbps"], **line | TARGET)
    axes.set(ylabel="Mbit/s of payload", ylim=(0, None))
    axes.legend(fontsize=8)


def draw(found: Finding, path: Path) -> None:
    """Draw a seed: the link and the queue by each means, a row each; below, w and the target."""
    names = found.summary["contender"].to_list()
    module = found.curves.filter(contender=OURS).drop_nulls("w")
    rows = len(names) + (not module.is_empty())
    size = (13, 2.35 * rows)
    with sheet(path, rows, 2, size=size, layout="constrained", sharex=True) as (figure, panels):
        for name, (rates, queue) in zip(names, panels, strict=False):
            curve = found.curves.filter(contender=name)
            row = found.runs.filter(contender=name).row(0, named=True)
            stack = [curve[column] for column in STACK]
            rates.stackplot(curve["t_s"], stack, colors=STACK.values(), linewidth=0)
            rates.set(title=f"{LABEL[name]}: {outcome(row)}", ylabel="Mbit/s")
            queue.plot(curve["t_s"], curve["queue_ms"], color=BLUE, linewidth=0.9)
            queue.set(ylabel="queue, ms", ylim=(0, None))
            for axes in (rates, queue):
                _over_time(axes, curve, row["due_s"])
        if not module.is_empty():
            _target(panels[-1, 0], module)
            _weight(panels[-1, 1], module)
            for axes in panels[-1]:
                _over_time(axes, found.curves.filter(contender=OURS), row["due_s"])
        for axes in panels[-1]:
            axes.set_xlabel("seconds; dashed: the deadline; shaded: CUBIC competes")
        keys = zip(STACK.values(), ("the file", "CUBIC flows", "D-ITG background"), strict=True)
        handles = [Patch(color=colour, label=label) for colour, label in keys]
        figure.legend(handles=handles, loc="outside lower center", ncols=3)
