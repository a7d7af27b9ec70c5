# SPDX-License-Identifier: GPL-2.0-only
"""Impaired paths: the trade-off under loss, jitter, busy reverse paths and managed queues.

No collapse: alone, a fair part of what CUBIC gets there. No aggression: a small share where the
queue itself does not share out, as fair queueing does (that is not judged). Where losses keep
CUBIC from using the link, even strict priority has a share, of what CUBIC leaves. So the harm
counts as well: how much less CUBIC gets beside ours than beside flows of strict priority. It is
measured behind FIFOs.
"""

import altair as alt
import polars as pl

from dalbe_testbed.charts import BLUE, Picture, Style, means
from dalbe_testbed.study import tradeoff
from dalbe_testbed.study.engine import Finding, Found, Study, Verdict, place, who
from dalbe_testbed.study.tradeoff import CORNER

USE_PERCENT, SHARE_PERCENT, HARM_PERCENT = 80.0, 10.0, 10.0
"""Required: use at least, in percent of CUBIC's there; share taken and harm at most."""

FAIR_QUEUEING = ("fq_codel",)
"""Queue disciplines that give every flow its share, wanted or not."""


HARM = tradeoff.harm(CORNER)


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


def draw(found: Finding) -> Picture:
    """Draw goodput alone, share taken and the others' goodput on every path, ours beside peers.

    Dashes are what is required: of the others' goodput, in parts of that beside strict priority;
    numbers are by how much these have more or less beside ours.
    """
    others = pl.col("others_mbps")
    rows = found.summary.with_columns(
        least=pl.when(who=CORNER).then((1 - HARM_PERCENT / 100) * others),
        gain=pl.format("{} %", -pl.col("harm_percent").round(1)),
    )
    x = alt.X("impairment").sort(None).title(None).axis(labelAngle=-40)
    look: Style = {"x": x, "by": "who", "apart": True}
    share = "share taken from two CUBIC flows, %"
    left = means(rows, "others_mbps", "goodput of these two CUBIC flows, Mbit/s", **look)
    limits = alt.Chart(rows).mark_tick(color="black", thickness=2).encode(x, alt.Y("least"))
    ours = alt.Chart(rows.drop_nulls(["w", "harm_percent"]))
    gains = ours.mark_text(color=BLUE, dy=-10).encode(x, alt.Y("others_mbps"), text="gain")
    return alt.hconcat(
        means(rows, "alone_mbps", "goodput while alone, Mbit/s", **look),
        means(rows, "share_percent", share, SHARE_PERCENT, **look),
        left + limits + gains,
    )


MEANS = (*tradeoff.MEANS, HARM.name)
STUDY = Study(tradeoff.measure, _require, MEANS, against=[tradeoff.USE, HARM], draw=draw)
