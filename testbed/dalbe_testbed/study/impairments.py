# SPDX-License-Identifier: GPL-2.0-only
"""Impaired paths: the trade-off under loss, jitter, busy reverse paths and managed queues.

No collapse: alone, a fair part of what CUBIC gets there. No aggression: a small share where the
queue itself does not share out, as fair queueing does (that is not judged). Where losses keep
CUBIC from using the link, even strict priority has a share, of what CUBIC leaves. So the harm
counts as well: how much less CUBIC gets beside ours than beside flows of strict priority. It is
measured behind FIFOs.
"""

from dalbe_testbed.plan.sweep import Point
from dalbe_testbed.study import tradeoff
from dalbe_testbed.study.engine import Against, Found, Study, Verdict, place, who
from dalbe_testbed.study.tradeoff import CORNER

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


HARM = Against(
    "_harm_percent",
    "others_mbps",
    CORNER,
    lambda mbps, whole: 100 * (1 - mbps / whole),
    itself=False,
)
"""By how much the others' goodput is below their mean beside strict priority; negative: above.

Null for strict priority itself and on paths without a run of it."""


def _require(found: Found) -> list[Verdict]:
    unfair = [p for p in found.ours if p.experiment.link.qdisc not in FAIR_QUEUEING]
    with_corner = [place(point) for point in found.sweep.points if who(point) == CORNER]
    share = f"share at most {SHARE_PERCENT:g} %"
    return [
        tradeoff.judge_use(found, USE_PERCENT, where),
        found.judge_mean(share, "share_percent", unfair, where, most=SHARE_PERCENT),
        found.judge_mean(
            f"CUBIC's goodput at most {HARM_PERCENT:g} % below that beside strict priority",
            HARM.name,
            [point for point in found.ours if place(point) in with_corner],
            where,
            most=HARM_PERCENT,
        ),
    ]


MEANS = (*tradeoff.MEANS, HARM.name)
STUDY = Study(tradeoff.measure, _require, MEANS, against=[tradeoff.USE, HARM], rounded=True)
