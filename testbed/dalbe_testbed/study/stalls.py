# SPDX-License-Identifier: GPL-2.0-only
"""Paths that stand still now and then, and ACKs in clumps: use of an idle link, and share, there.

A late packet looks like a newcomer's queue at first. The limits are those of a smooth path; use is
in percent of CUBIC's on a path that stands still for as long.
"""

from dalbe_testbed.plan.sweep import Point
from dalbe_testbed.study import tradeoff
from dalbe_testbed.study.engine import Found, Row, Study
from dalbe_testbed.study.tradeoff import SHARE_PERCENT, USE_PERCENT
from dalbe_testbed.study.verdict import Verdict


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


def _where(point: Point) -> str:
    return f"{path(point)}, {late(point)}"


def _require(found: Found) -> list[Verdict]:
    return [
        tradeoff.judge_use(found, found.ours, USE_PERCENT, _where),
        tradeoff.judge_share(
            found,
            found.ours,
            f"share at most {SHARE_PERCENT:g} %",
            lambda share: share <= SHARE_PERCENT,
            _where,
        ),
    ]


def _summary(found: Found) -> list[Row]:
    return tradeoff.summary(found, lambda g: {"path": path(g.point), "late": late(g.point)})


STUDY = Study(tradeoff.measure, _require, summary=_summary, rounded=True)
