# SPDX-License-Identifier: GPL-2.0-only
"""Does a transfer hold its deadline, and what do others see of it, beside flows that come and go.

For the framework paper's network (`framework`): Figures 4, 5, 8 and 9. The transfer is flow `ours`,
the others are those of host `xsender`. A *span* is a time in which nobody comes or goes; its first
seconds do not count. Bytes are counted as they leave the bottleneck, headers included.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import fmean
from typing import Any

import altair as alt
import polars as pl

from dalbe_testbed.charts import BLUE, GREY, VERMILLION, Picture, curves, required, words
from dalbe_testbed.papers import framework
from dalbe_testbed.papers.framework import TRANSFER, WINDOW_S
from dalbe_testbed.plan.sweep import Point, Run, Sweep
from dalbe_testbed.study import engine, regimes
from dalbe_testbed.study.engine import Finding, Found, Study, Verdict
from dalbe_testbed.study.results import OURS, Group, Results, Row, Window, first, names, presence

JUDGED, YARDSTICK = "mbc", "cubic"
"""The controller of which something is required, the module's default; and CUBIC in its place."""

FINISH = (0.93, 1.01)
"""When a deadline that can be met is to be met, in parts of the window."""

GAP_PERCENT = 50.0
"""The least of the capacity that nobody else uses while the others are away."""

YIELD_ROUNDS = 10
"""Within so many of its own RTT rounds ours has seen that it is not alone."""

CUBIC_PARTS = (0.7, 1.1)
"""Rate of a transfer that cannot be in time, in parts of CUBIC's in its place, in every span.

Rates are in those of the CUBIC flows beside it. CUBIC in its place does not have 1 of that in every
span: who comes last, or was there before, makes a difference of a tenth for minutes.
"""

DECLARED_TW = 3
"""After so many update intervals it is to be called infeasible."""

SETTLE_S, SHORTEST_S = 20.0, 30.0
"""Beginning of a span that does not count, and the least length of the rest, s."""

CURVE_S = 5.0
"""The means that the curves are made of."""


def infeasible(point: Point) -> bool:
    """Return whether the point's deadline cannot be met: a size that is none of the paper's."""
    return float(point.values["eta"]) not in framework.ETAS


def spans(run: Run, flows: pl.DataFrame) -> Iterator[tuple[int, Window, list[str]]]:
    """Yield number and what counts of each span, and who of the others is there.

    The number counts the comings and goings before it. From the transfer's start to its end or
    deadline, whichever is first. flows: flows.parquet.
    """
    times = presence(flows, run.point.experiment.duration_s)
    over = min(times[OURS].end_s, TRANSFER.stop_s)
    there = {name: times[name] for name in names(run.point, "xsender")}
    ends = {t for some in there.values() for t in (some.start_s, some.end_s)}
    for number, (begin, end) in enumerate(pairwise(sorted(ends | {TRANSFER.start_s, over}))):
        present = [n for n, its in there.items() if its.start_s <= begin < end <= its.end_s]
        counts = Window(begin + SETTLE_S, end)
        if begin >= TRANSFER.start_s and end <= over and counts.length_s >= SHORTEST_S and present:
            yield number, counts, present


def _gap_percent(run: Run, rates: pl.DataFrame, over_s: float) -> float | None:
    gap = Window(*framework.GAP_S)
    if over_s < gap.end_s:
        return None
    others = [name for name in rates["flow"].unique() if name != OURS]
    free = run.point.experiment.link.rate_bps / 8 * gap.length_s
    return 100 * gap.total(rates, [OURS]) / (free - gap.total(rates, others))


def _rounds_to_yield(rounds: pl.DataFrame, arrival_s: float) -> int | None:
    """Return how many rounds ended until ours was not alone; None if it had not been."""
    own = rounds.filter(flow=OURS).sort("t_s")
    before = own.filter(pl.col("t_s") < arrival_s)["regime_state"]
    if before.is_empty() or before[-1] != regimes.ALONE:
        return None
    after = own.filter(pl.col("t_s") >= arrival_s)["regime_state"]
    return first(after != regimes.ALONE) or len(after)


def _curve(results: Results, run: Run) -> pl.DataFrame:
    """Return means of payload over CURVE_S, a row per time and flow; ours with target and w."""
    means = results.mbps(run, CURVE_S, "payload_bytes").filter(pl.col("mbps") > 0)
    targets = (
        results.control(run)
        .group_by(pl.col("t_s") // CURVE_S * CURVE_S)
        .agg(target_mbps=pl.col("target_Bps").last() * 8e-6, w=pl.col("w_ppm").last() * 1e-6)
    )
    own = means.filter(flow=OURS).join(targets, on="t_s", how="left")
    others = means.filter(pl.col("flow") != OURS)
    settings = [pl.lit(value).alias(key) for key, value in run.point.values.items()]
    columns = ("t_s", "flow", "mbps", "target_mbps", "w")
    return pl.concat([own, others], how="diagonal").select(*settings, *columns)


def measure(results: Results, run: Run, _sweep: Sweep) -> Row:
    """Return what a run's tables show. Raises TestbedError if one is missing.

    finish: end of the transfer in parts of its window; null if it did not end. gap_percent: of what
    others left of the link in the gap; null if it was over by then. yield_rounds: how many of its
    rounds it took at most to see an arrival that met it alone. least_part, greatest_part: its rate
    in that of the mean flow beside it, over the spans. declared_tw: intervals until it was called
    infeasible; null: never. carried: bytes until the deadline.
    """
    rates, flows = (results.table(run, name) for name in ("rates", "flows"))
    done = flows.filter(flow=OURS)["finished"].item()
    times = presence(flows, run.point.experiment.duration_s)
    over_s = times[OURS].end_s
    starts = [times[name].start_s for name in names(run.point, "xsender")]
    until: list[int | None] = []
    # CUBIC and Vegas as its base look for nobody
    if any(f.name == OURS and f.cc == "dalbe_cdg" for f in run.point.experiment.flows):
        rounds = results.table(run, "rounds")
        arrivals = [start for start in starts if TRANSFER.start_s < start < over_s]
        until = [_rounds_to_yield(rounds, start) for start in arrivals]
    parts = {
        number: span.total(rates, [OURS]) * len(present) / span.total(rates, present)
        for number, span, present in spans(run, flows)
    }
    status = results.control(run).sort("t_s")["status"]
    return {
        "finish": (over_s - TRANSFER.start_s) / WINDOW_S if done else None,
        "gap_percent": _gap_percent(run, rates, over_s),
        "yield_rounds": max((count for count in until if count is not None), default=None),
        "least_part": min(parts.values(), default=None),
        "greatest_part": max(parts.values(), default=None),
        "_parts": parts,
        "_carried": Window(TRANSFER.start_s, TRANSFER.stop_s).total(rates, [OURS]),
        "_declared_tw": first(status == "infeasible"),
    }


def _compare(found: Found) -> Sequence[Group]:
    """Add what a transfer has in parts of what CUBIC in its place has, the mean of its runs."""
    for group in found.groups:
        yardstick = engine.beside(group, found.groups, "controller", YARDSTICK, "eta")
        usual = yardstick.rows if yardstick else []
        numbers = {number for row in usual for number in row["_parts"]}
        parts = {n: fmean(row["_parts"][n] for row in usual if n in row["_parts"]) for n in numbers}
        carried = fmean(row["_carried"] for row in usual) if usual else None
        for row in group.rows:
            of_cubic = [part / parts[n] for n, part in row["_parts"].items() if n in parts]
            row["least_of_cubic"] = min(of_cubic, default=None)
            row["greatest_of_cubic"] = max(of_cubic, default=None)
            row["carried_of_cubic"] = row["_carried"] / carried if carried else None
            row["declared_tw"] = row["_declared_tw"]
    return found.groups


def _counts(group: Group) -> Row:
    finishes = group.values("finish")
    return {"done": len(finishes), "in_time": sum(finish <= 1 for finish in finishes)}


def _require(found: Found) -> list[Verdict]:
    """Judge every run of the default controller."""
    gap_s = framework.GAP_S[1] - framework.GAP_S[0]
    least, most = CUBIC_PARTS
    judged = [p for p in found.sweep.points if p.values.get("controller", JUDGED) == JUDGED]
    in_time = [point for point in judged if not infeasible(point)]
    hopeless = [point for point in judged if infeasible(point)]

    def of(points: Sequence[Point], text: str, column: str, *bounds: float, **how: Any) -> Verdict:
        return found.judge_every(text, column, points, bounds, **how)

    done = f"done within {FINISH[0]:g} to {FINISH[1]:g} of the window, in every run"
    gap = f"at least {GAP_PERCENT:g} % of what others leave of the link in the gap of {gap_s:g} s"
    yields = f"not alone any more {YIELD_ROUNDS} rounds after a flow that met it alone arrived"
    beside = f"a deadline that cannot be met: at most {most:g} of what CUBIC in its place has"
    whole = f"{least:g} to {most:g} of it over the whole window, in every run"
    called = f"called infeasible within {DECLARED_TW} Tw, in every run"
    verdicts = []
    if in_time:
        verdicts += [
            of(in_time, done, "finish", *FINISH, form=".3f"),
            of(in_time, f"{gap}, in every run", "gap_percent", GAP_PERCENT, math.inf, form=".0f"),
            of(in_time, yields, "yield_rounds", 0, YIELD_ROUNDS, form=".0f", needless=True),
        ]
    if hopeless:
        verdicts += [
            of(hopeless, f"{beside}, in every span of every run", "greatest_of_cubic", 0, most),
            of(hopeless, f"and at least {least:g} of it", "least_of_cubic", least, math.inf),
            of(hopeless, whole, "carried_of_cubic", least, most, form=".3f"),
            of(hopeless, called, "declared_tw", 1, DECLARED_TW, form=".0f"),
        ]
    return verdicts


def draw(found: Finding) -> Picture:
    """Draw the first run of every point. Targets of a missed deadline, without bound, are cut."""
    targets = found.curves.drop_nulls("target_mbps").group_by("eta", "controller").first()
    top = 1.05 * max([*found.curves["mbps"], *targets["target_mbps"]])
    who = pl.when(flow=OURS).then(pl.lit("the transfer")).otherwise(pl.lit("a CUBIC flow"))
    rows = found.curves.filter(pl.col("flow") != "background").with_columns(
        who=who, title=words("{}, eta = {}", "controller", "eta")
    )
    x = alt.X("t_s").title("s; dashed: the deadline; dotted: the rate that meets it")
    y = alt.Y("mbps").title("Mbit/s").scale(domain=(0, top), clamp=True)
    colours = alt.Scale(domain=["the transfer", "a CUBIC flow"], range=[BLUE, GREY])
    panels = []
    for panel in rows.partition_by("title", maintain_order=True):
        rates = curves(panel.sort("who"), x, y, "who", detail="flow")
        meant = panel.drop_nulls("target_mbps").filter(pl.col("t_s") < TRANSFER.stop_s)
        line = alt.Chart(meant).mark_line
        target = line(strokeDash=[1, 3], color="black").encode(
            x, alt.Y("target_mbps").title("Mbit/s")
        )
        w = alt.Y("w").scale(domain=(0, 1)).axis(titleColor=VERMILLION, labelColor=VERMILLION)
        weight = line(opacity=0.6, color=VERMILLION).encode(x, w)
        colour = alt.Color("who").scale(colours).title(None)
        left = rates.encode(colour) + target + required(panel, x=TRANSFER.stop_s)
        both = alt.layer(left, weight).resolve_scale(y="independent")
        panels.append(both.properties(title=panel["title"][0]))
    return alt.concat(*panels, columns=3)


STUDY = Study(
    measure,
    _require,
    compare=_compare,
    counts=_counts,
    curves=engine.of_first_runs(_curve),
    draw=draw,
)
