# SPDX-License-Identifier: GPL-2.0-only
"""The tuning range: the share that flows of weight w take from as many CUBIC flows, over RTTs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dalbe_testbed.plan.sweep import Sweep
from dalbe_testbed.study import tradeoff
from dalbe_testbed.study.finding import Finding
from dalbe_testbed.study.results import Results, rtt_ms, weight
from dalbe_testbed.study.tradeoff import YARDSTICK, Tradeoff, share_percent
from dalbe_testbed.study.verdict import Verdict, judge

LEAST_W, LEAST_PERCENT = 0.01, 2.0
"""The least weight, and the share that it may take at most, at every RTT."""

MOST_W, MOST_PERCENT = 1.0, 45.0
"""The greatest weight, and the share that it must reach, at every RTT."""

NEVER_PERCENT = 52.0
"""The share that no weight may exceed: more than the others' would be no scavenger's."""


def _verdict(
    requirement: str,
    found: Sequence[Tradeoff],
    sweep: Sweep,
    chosen: Callable[[float], bool],
    met: Callable[[float], bool],
) -> Verdict:
    """Judge the shares of our flows of the weights that `chosen` picks."""
    points = [p for p in sweep.points for w in [weight(p)] if w is not None and chosen(w)]
    return judge(
        requirement,
        tradeoff.cases(
            points,
            found,
            sweep,
            value=share_percent,
            met=met,
            where=lambda point: f"w = {weight(point):g}, {rtt_ms(point):g} ms",
        ),
    )


def say(found: Sequence[Tradeoff]) -> str:
    """Return which shares the least and the greatest weight take, and CUBIC in their place."""
    parts = []
    for name, chosen in {
        f"at w = {LEAST_W:g}": [item for item in found if item.w == LEAST_W],
        f"at w = {MOST_W:g}": [item for item in found if item.w == MOST_W],
        "as CUBIC": [item for item in found if item.name == YARDSTICK],
    }.items():
        means = [share.mean for item in chosen if (share := share_percent(item))]
        if means:
            parts.append(f"{min(means):.1f} to {max(means):.1f} % {name}")
    rtts = [rtt_ms(item.point) for item in found]
    if not rtts:
        return "No run."
    between = f"At base RTTs of {min(rtts):g} to {max(rtts):g} ms"
    return f"{between} two flows take from two CUBIC flows {', '.join(parts)}."


def find(results: Results, sweep: Sweep) -> Finding:
    """Measure the shares over w and RTT, and judge both ends of the range."""
    found = tradeoff.measure(results, sweep)
    return Finding(
        say(found),
        [
            _verdict(
                f"share at w = {LEAST_W:g} at most {LEAST_PERCENT:g} % at every RTT",
                found,
                sweep,
                lambda w: w == LEAST_W,
                lambda share: share <= LEAST_PERCENT,
            ),
            _verdict(
                f"share at w = {MOST_W:g} at least {MOST_PERCENT:g} % at every RTT",
                found,
                sweep,
                lambda w: w == MOST_W,
                lambda share: share >= MOST_PERCENT,
            ),
            _verdict(
                f"share never above {NEVER_PERCENT:g} %",
                found,
                sweep,
                lambda _w: True,
                lambda share: share <= NEVER_PERCENT,
            ),
        ],
        tradeoff.frame(found),
        tradeoff.summary(found),
    )
