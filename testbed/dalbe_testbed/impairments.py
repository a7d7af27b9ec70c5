# SPDX-License-Identifier: GPL-2.0-only
"""Impaired paths: the trade-off under loss, jitter, busy reverse paths and managed queues.

No collapse: alone, a fair part of what CUBIC gets there. No aggression: a small share where the
queue itself does not share out, as fair queueing does.
"""

from __future__ import annotations

from dalbe_testbed import tradeoff, verdict
from dalbe_testbed.finding import Finding
from dalbe_testbed.results import Results
from dalbe_testbed.sweep import Point, Sweep
from dalbe_testbed.tradeoff import share_percent, use_percent
from dalbe_testbed.verdict import judge

AXIS = "impairment"
USE_PERCENT, SHARE_PERCENT = 80.0, 10.0
"""Required: use at least, in percent of CUBIC's there; share taken at most."""

FAIR_QUEUEING = ("fq_codel",)
"""Queue disciplines that give every flow its share, wanted or not."""


def where(point: Point) -> str:
    """Return what is the matter with the path: a value of the axis."""
    return str(point.values[AXIS])


def find(results: Results, sweep: Sweep) -> Finding:
    """Measure the trade-off on every path, and judge our flows' means."""
    found = tradeoff.measure(results, sweep)
    ours = [point for point in sweep.points if point.experiment.flows[0].w is not None]
    unfair = [p for p in ours if p.experiment.link.qdisc not in FAIR_QUEUEING]
    verdicts = [
        judge(
            f"alone at least {USE_PERCENT:g} % of what CUBIC gets there",
            tradeoff.cases(
                ours,
                found,
                sweep,
                value=lambda item: use_percent(item, found),
                met=lambda use: use >= USE_PERCENT,
                where=where,
            ),
        ),
        judge(
            f"share at most {SHARE_PERCENT:g} % without fair queueing",
            tradeoff.cases(
                unfair,
                found,
                sweep,
                value=share_percent,
                met=lambda share: share <= SHARE_PERCENT,
                where=where,
            ),
        ),
    ]
    return Finding(
        verdict.say(verdicts),
        verdicts,
        tradeoff.frame(found),
        tradeoff.summary(found),
    )
