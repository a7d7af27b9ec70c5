# SPDX-License-Identifier: GPL-2.0-only
"""The tuning range: the share that flows of weight w take from as many CUBIC flows, over RTTs."""

from dalbe_testbed.plan.sweep import Point
from dalbe_testbed.study import tradeoff
from dalbe_testbed.study.engine import Found, Study, Verdict, who
from dalbe_testbed.study.results import rtt_ms, weight
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
        return found.judge_mean(f"share {text}", "share_percent", points, _where, **bounds)

    least = f"at w = {LEAST_W:g} at most {LEAST_PERCENT:g} % at every RTT"
    most = f"at w = {MOST_W:g} at least {MOST_PERCENT:g} % at every RTT"
    return [
        judged(least, LEAST_W, most=LEAST_PERCENT),
        judged(most, MOST_W, least=MOST_PERCENT),
        judged(f"never above {NEVER_PERCENT:g} %", most=NEVER_PERCENT),
    ]


def _where(point: Point) -> str:
    return f"w = {weight(point):g}, {rtt_ms(point):g} ms"


def _say(found: Found) -> str:
    """Return which shares the least and the greatest weight take, and CUBIC in their place."""
    parts = []
    for name, chosen in {
        f"at w = {LEAST_W:g}": [g for g in found.groups if weight(g.point) == LEAST_W],
        f"at w = {MOST_W:g}": [g for g in found.groups if weight(g.point) == MOST_W],
        "as CUBIC": [g for g in found.groups if who(g.point) == YARDSTICK],
    }.items():
        means = [share.mean for group in chosen if (share := group.mean("share_percent"))]
        if means:
            parts.append(f"{min(means):.1f} to {max(means):.1f} % {name}")
    rtts = [rtt_ms(group.point) for group in found.groups]
    if not rtts:
        return "No run."
    between = f"At base RTTs of {min(rtts):g} to {max(rtts):g} ms"
    return f"{between} two flows take from two CUBIC flows {', '.join(parts)}."


STUDY = Study(
    tradeoff.measure, _require, tradeoff.MEANS, against=[tradeoff.USE], say=_say, rounded=True
)
