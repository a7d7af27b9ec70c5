# SPDX-License-Identifier: GPL-2.0-only
"""Impaired paths: the trade-off under loss, jitter, busy reverse paths and managed queues.

No collapse: alone, a fair part of what CUBIC gets there. No aggression: a small share where the
queue itself does not share out, as fair queueing does (that is not judged). Where losses keep
CUBIC from using the link, even strict priority has a share, of what CUBIC leaves. So the harm
counts as well: how much less CUBIC gets beside ours than beside flows of strict priority. It is
measured behind FIFOs.
"""

from __future__ import annotations

from collections.abc import Sequence

from dalbe_testbed.plan.sweep import Point, Sweep
from dalbe_testbed.study import finding, stats, tradeoff, verdict
from dalbe_testbed.study.finding import Finding
from dalbe_testbed.study.results import Results, weight
from dalbe_testbed.study.stats import Estimate
from dalbe_testbed.study.tradeoff import CORNER, Tradeoff, beside, place, who
from dalbe_testbed.study.verdict import judge

AXIS = "impairment"
USE_PERCENT, SHARE_PERCENT, HARM_PERCENT = 80.0, 10.0, 10.0
"""Required: use at least, in percent of CUBIC's there; share taken and harm at most."""

FAIR_QUEUEING = ("fq_codel",)
"""Queue disciplines that give every flow its share, wanted or not."""


def where(point: Point) -> str:
    """Return what is the matter with the path, a value of the axis, and all else that varies."""
    return ", ".join(
        f"{value}" if key == AXIS else f"{key.removeprefix('link.')} {value}"
        for key, value in point.values.items()
        if key != "who"
    )


def harm_percent(item: Tradeoff, found: Sequence[Tradeoff]) -> Estimate | None:
    """Return by how much the others' goodput is below their mean beside strict priority.

    Negative if they get more. None for strict priority itself and on paths without a run of it.
    """
    best = beside(item, found, CORNER)
    if best is None or best is item:
        return None
    whole = sum(best.others_mbps) / len(best.others_mbps)
    return stats.estimate([100 * (1 - mbps / whole) for mbps in item.others_mbps])


def find(results: Results, sweep: Sweep) -> Finding:
    """Measure the trade-off on every path, and judge our flows' means."""
    found = tradeoff.measure(results, sweep)
    ours = [point for point in sweep.points if weight(point) is not None]
    unfair = [p for p in ours if p.experiment.link.qdisc not in FAIR_QUEUEING]
    with_corner = [place(point) for point in sweep.points if who(point) == CORNER]
    verdicts = [
        tradeoff.judge_use(ours, found, sweep, USE_PERCENT, where),
        tradeoff.judge_share(unfair, found, sweep, SHARE_PERCENT, where),
        judge(
            f"CUBIC's goodput at most {HARM_PERCENT:g} % below that beside strict priority",
            tradeoff.cases(
                [point for point in ours if place(point) in with_corner],
                found,
                sweep,
                value=lambda item: harm_percent(item, found),
                met=lambda harm: harm <= HARM_PERCENT,
                where=where,
                base=lambda item: beside(item, found, CORNER),
            ),
        ),
    ]
    return Finding(
        verdict.say(verdicts),
        verdicts,
        tradeoff.frame(found),
        tradeoff.summary(found).hstack(
            finding.frame(
                [finding.interval("harm_percent", harm_percent(item, found)) for item in found]
            )
        ),
    )
