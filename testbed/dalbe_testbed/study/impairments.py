# SPDX-License-Identifier: GPL-2.0-only
"""Impaired paths: the trade-off under loss, jitter, busy reverse paths and managed queues.

No collapse: alone, a fair part of what CUBIC gets there. No aggression: a small share where the
queue itself does not share out, as fair queueing does (that is not judged). Where losses keep
CUBIC from using the link, even strict priority has a share, of what CUBIC leaves. So the harm
counts as well: how much less CUBIC gets beside ours than beside flows of strict priority. It is
measured behind FIFOs.
"""

from collections.abc import Iterable

from dalbe_testbed.plan.sweep import Point
from dalbe_testbed.study import engine, stats, tradeoff
from dalbe_testbed.study.engine import Found, Group, Row, Study, beside, place, who
from dalbe_testbed.study.stats import Estimate
from dalbe_testbed.study.tradeoff import CORNER
from dalbe_testbed.study.verdict import Case, Verdict

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


def harm_percent(group: Group, groups: Iterable[Group]) -> Estimate | None:
    """Return by how much the others' goodput is below their mean beside strict priority.

    Negative if they get more. None for strict priority itself and on paths without a run of it.
    """
    best = beside(group, groups, CORNER)
    if best is None or best is group:
        return None
    rates = best.values("others_mbps")
    whole = sum(rates) / len(rates)
    own = group.values("others_mbps")
    return stats.estimate([100 * (1 - mbps / whole) for mbps in own]) if own else None


def _require(found: Found) -> list[Verdict]:
    def harm(group: Group) -> Case:
        best = beside(group, found.groups, CORNER)
        return engine.mean_case(
            where(group.point),
            harm_percent(group, found.groups),
            lambda percent: percent <= HARM_PERCENT,
            group.missing + (best.missing if best else 0),
        )

    unfair = [p for p in found.ours if p.experiment.link.qdisc not in FAIR_QUEUEING]
    with_corner = [place(point) for point in found.sweep.points if who(point) == CORNER]
    return [
        tradeoff.judge_use(found, found.ours, USE_PERCENT, where),
        tradeoff.judge_share(
            found,
            unfair,
            f"share at most {SHARE_PERCENT:g} %",
            lambda share: share <= SHARE_PERCENT,
            where,
        ),
        found.judge(
            f"CUBIC's goodput at most {HARM_PERCENT:g} % below that beside strict priority",
            [point for point in found.ours if place(point) in with_corner],
            harm,
        ),
    ]


def _summary(found: Found) -> list[Row]:
    return tradeoff.summary(
        found, lambda g: engine.interval("harm_percent", harm_percent(g, found.groups))
    )


STUDY = Study(tradeoff.measure, _require, summary=_summary, rounded=True)
