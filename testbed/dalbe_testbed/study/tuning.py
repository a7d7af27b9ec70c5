# SPDX-License-Identifier: GPL-2.0-only
"""The tuning range: the share that flows of weight w take from as many CUBIC flows, over RTTs."""

from dataclasses import replace

import altair as alt
import polars as pl

from dalbe_testbed.charts import Picture, means
from dalbe_testbed.study import tradeoff
from dalbe_testbed.study.engine import Finding, Found, Verdict
from dalbe_testbed.study.results import weight

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


def draw(found: Finding) -> Picture:
    """Draw the share over w, a line per base RTT; at the right the share of CUBIC flows."""
    rows = found.summary.sort("w", nulls_last=True)
    ends = rows.filter((pl.col("w") == pl.col("w").min()) | (pl.col("w") == pl.col("w").max()))
    said = [
        f"{min(shares):.1f} to {max(shares):.1f} % at w = {w:g}"
        for (w,), end in ends.group_by("w", maintain_order=True)
        for shares in [end["share_percent"].to_list()]
    ]
    x = alt.X("who").sort(None).title("weight w of two flows; CUBIC flows in their place")
    measure = ("share_percent", "share taken from two CUBIC flows, %", 50)
    chart = means(rows, *measure, x=x, by="rtt", legend="base RTT, ms", line=True)
    return chart.properties(width=500, title="Two flows take " + ", ".join(said))


STUDY = replace(tradeoff.STUDY, require=_require, draw=draw)
