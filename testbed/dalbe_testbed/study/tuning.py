# SPDX-License-Identifier: GPL-2.0-only
"""The tuning range: the share that flows of weight w take from as many CUBIC flows, over RTTs."""

from dataclasses import replace
from pathlib import Path

import polars as pl

from dalbe_testbed.charts import SERIES, Style, means, sheet
from dalbe_testbed.study import tradeoff
from dalbe_testbed.study.engine import Finding, Found, Verdict
from dalbe_testbed.study.results import weight
from dalbe_testbed.study.tradeoff import YARDSTICK

LEAST_W, LEAST_PERCENT = 0.01, 2.0
"""The least weight, and the share that it may take at most, at every RTT."""

MOST_W, MOST_PERCENT = 1.0, 45.0
"""The greatest weight, and the share that it must reach, at every RTT."""

NEVER_PERCENT = 52.0
"""The share that no weight may exceed: more than the others' would be no scavenger's."""


def _require(found: Found) -> list[Verdict]:
    def judged(text: str, w: float | None = None, **bounds: float) -> Verdict:
        """Judge the shares at weight w; None: at every weight."""
        points = [point for point in found.ours if w in (None, weight(point))]
        return found.judge_mean(f"share {text}", "share_percent", points, **bounds)

    least = f"at w = {LEAST_W:g} at most {LEAST_PERCENT:g} % at every RTT"
    most = f"at w = {MOST_W:g} at least {MOST_PERCENT:g} % at every RTT"
    return [
        judged(least, LEAST_W, most=LEAST_PERCENT),
        judged(most, MOST_W, least=MOST_PERCENT),
        judged(f"never above {NEVER_PERCENT:g} %", most=NEVER_PERCENT),
    ]


def draw(found: Finding, path: Path) -> None:
    """Draw the share over w, a line per base RTT; at the right the share of CUBIC flows."""
    rows = found.summary.sort("w", nulls_last=True)
    weights = rows["w"].drop_nulls().unique()
    beside = float(weights.max() or 1) * 1.8  # type: ignore[arg-type]
    rtts = rows["rtt"].unique().sort()
    with sheet(path, size=(8, 4.5)) as (_figure, [[axes]]):
        for number, (rtt, (colour, marker)) in enumerate(zip(rtts, SERIES, strict=False)):
            here = rows.filter(rtt=rtt)
            ours, theirs = here.drop_nulls("w"), here.filter(who=YARDSTICK)
            style: Style = {"color": colour, "marker": marker, "capsize": 2}
            line = style | {"linewidth": 1.2, "linestyle": "-", "label": f"{rtt:g} ms"}
            means(axes, ours["w"], ours, "share_percent", **line)
            side_by_side = [beside * 1.06 ** (number - (len(rtts) - 1) / 2)] * theirs.height
            means(axes, side_by_side, theirs, "share_percent", markerfacecolor="none", **style)
        axes.axhline(50, color="black", linewidth=0.8, linestyle=":")
        ends = rows.filter(pl.col("w").is_in([weights.min(), weights.max()]))
        said = [
            f"{min(shares):.1f} to {max(shares):.1f} % at w = {w:g}"
            for (w,), end in ends.group_by("w", maintain_order=True)
            for shares in [end["share_percent"].to_list()]
        ]
        axes.set(
            xscale="log",
            ylim=(0, 60),
            xlabel="weight w of two flows; CUBIC flows in their place",
            ylabel="share taken from two CUBIC flows, %",
            title="Two flows take " + ", ".join(said),
        )
        axes.set_xticks([*weights, beside], [*(f"{w:g}" for w in weights), "CUBIC"])
        axes.minorticks_off()
        axes.legend(loc="upper left", title="base RTT")


STUDY = replace(tradeoff.STUDY, require=_require, draw=draw)
