# SPDX-License-Identifier: GPL-2.0-only
"""Paths that stand still now and then, and ACKs in clumps: use of an idle link, and share, there.

A late packet looks like a newcomer's queue at first. The limits are those of a smooth path; use is
in percent of CUBIC's on a path that stands still for as long.
"""

from dataclasses import replace

import altair as alt

from dalbe_testbed.charts import Picture, Style, means
from dalbe_testbed.plan.sweep import Point
from dalbe_testbed.study import tradeoff
from dalbe_testbed.study.engine import Finding, Found, Verdict
from dalbe_testbed.study.tradeoff import SHARE_PERCENT, USE_PERCENT, YARDSTICK


def path(point: Point) -> str:
    """Return the path's rate and base RTT."""
    link = point.experiment.link
    return f"{link.rate_mbps:g} Mbit/s, {link.rtt_ms:g} ms"


def late(point: Point) -> str:
    """Return what comes late there."""
    link = point.experiment.link
    if link.stall is not None:
        return f"{link.stall.for_ms:g} ms in {link.stall.every_s:g} s"
    return f"ACKs each {link.ack_slot_ms:g} ms"


def _require(found: Found) -> list[Verdict]:
    share = f"share at most {SHARE_PERCENT:g} %"
    return [
        tradeoff.judge_use(found, USE_PERCENT),
        found.judge_mean(share, "share_percent", found.ours, most=SHARE_PERCENT),
    ]


def draw(found: Finding) -> Picture:
    """Draw use of an idle link, relative to CUBIC's, and share taken, where something is late."""
    rows = found.summary.drop_nulls("w")
    look: Style = {"x": alt.X("late").title("dashed: required"), "by": "path", "apart": True}
    use = f"use of the idle link, % of {YARDSTICK.upper()}'s"
    return alt.hconcat(
        means(rows, "use_percent", use, USE_PERCENT, **look),
        means(rows, "share_percent", "share taken from a CUBIC flow, %", SHARE_PERCENT, **look),
    )


STUDY = replace(
    tradeoff.STUDY,
    require=_require,
    counts=lambda group: {"path": path(group.point), "late": late(group.point)},
    draw=draw,
)
