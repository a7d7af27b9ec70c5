# SPDX-License-Identifier: GPL-2.0-only
"""Paths that stand still now and then, and ACKs in clumps: use of an idle link, and share, there.

What comes late looks like a newcomer's queue at first. Required is what is required on a smooth
path; use is in percent of what CUBIC gets where the path stands still for as long.
"""

from __future__ import annotations

from dalbe_testbed.plan.sweep import Point, Sweep
from dalbe_testbed.study import finding, tradeoff, verdict
from dalbe_testbed.study.finding import Finding
from dalbe_testbed.study.results import Results, weight
from dalbe_testbed.study.tradeoff import SHARE_PERCENT, USE_PERCENT


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


def find(results: Results, sweep: Sweep) -> Finding:
    """Measure use and share on every path, and judge our flows' means."""
    found = tradeoff.measure(results, sweep)
    ours = [point for point in sweep.points if weight(point) is not None]

    def where(point: Point) -> str:
        return f"{path(point)}, {late(point)}"

    verdicts = [
        tradeoff.judge_use(ours, found, sweep, USE_PERCENT, where),
        tradeoff.judge_share(ours, found, sweep, SHARE_PERCENT, where),
    ]
    places = [{"path": path(item.point), "late": late(item.point)} for item in found]
    return Finding(
        verdict.say(verdicts),
        verdicts,
        tradeoff.frame(found),
        tradeoff.summary(found).hstack(finding.frame(places)),
    )
