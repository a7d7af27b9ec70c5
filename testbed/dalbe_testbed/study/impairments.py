# SPDX-License-Identifier: GPL-2.0-only
"""Impaired paths: the trade-off under loss, jitter, busy reverse paths and managed queues.

No collapse: alone, a fair part of what CUBIC gets there. No aggression: a small share where the
queue itself does not share out, as fair queueing does (that is not judged). Where losses keep
CUBIC from using the link, even strict priority has a share, of what CUBIC leaves. So the harm
counts as well: how much less CUBIC gets beside ours than beside flows of strict priority. It is
measured behind FIFOs.
"""

from pathlib import Path

from dalbe_testbed.charts import BLUE, Style, measured
from dalbe_testbed.study import tradeoff
from dalbe_testbed.study.engine import Against, Finding, Found, Study, Verdict, place, who
from dalbe_testbed.study.tradeoff import CORNER

USE_PERCENT, SHARE_PERCENT, HARM_PERCENT = 80.0, 10.0, 10.0
"""Required: use at least, in percent of CUBIC's there; share taken and harm at most."""

FAIR_QUEUEING = ("fq_codel",)
"""Queue disciplines that give every flow its share, wanted or not."""


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
    with_corner = [place(point, "who") for point in found.sweep.points if who(point) == CORNER]
    harmed = [point for point in found.ours if place(point, "who") in with_corner]
    share = f"share at most {SHARE_PERCENT:g} %"
    harm = f"CUBIC's goodput at most {HARM_PERCENT:g} % below that beside strict priority"
    return [
        tradeoff.judge_use(found, USE_PERCENT),
        found.judge_mean(share, "share_percent", unfair, most=SHARE_PERCENT),
        found.judge_mean(harm, HARM.name, harmed, most=HARM_PERCENT),
    ]


def draw(found: Finding, path: Path) -> None:
    """Draw goodput alone, share taken and the others' goodput on every path, ours beside peers.

    Black is strict priority; dashed below it, what ours must leave to the others; at the bottom, by
    how much these have more or less beside ours.
    """
    rows = found.summary
    measures = {
        "alone_mbps": ("goodput while alone, Mbit/s",),
        "share_percent": ("share taken from two CUBIC flows, %", SHARE_PERCENT),
        "others_mbps": ("goodput of these two CUBIC flows, Mbit/s",),
    }
    look: Style = {"step": 0.15, "black": CORNER, "size": (15, 5)}
    with measured(path, rows, measures, "who", "impairment", **look) as panels:
        _alone, shares, others = panels
        for axes in panels:
            axes.set_ylim(bottom=0)
        paths = rows["impairment"].unique(maintain_order=True).to_list()
        for row in rows.filter(who=CORNER).iter_rows(named=True):
            place, least = paths.index(row["impairment"]), 1 - HARM_PERCENT / 100
            line = [row["others_mbps"] * least] * 2
            others.plot([place - 0.4, place + 0.4], line, color="black", linestyle="--")
        for row in rows.drop_nulls(["w", "harm_percent"]).iter_rows(named=True):
            text = (paths.index(row["impairment"]), 0.1, f"{-row['harm_percent']:+.1f} %")
            others.text(*text, color=BLUE, fontsize=8, ha="center")
        shares.set_xlabel("dashed: required")
        others.set_xlabel("dashed: required; numbers: against strict priority")


MEANS = (*tradeoff.MEANS, HARM.name)
STUDY = Study(tradeoff.measure, _require, MEANS, against=[tradeoff.USE, HARM], draw=draw)
