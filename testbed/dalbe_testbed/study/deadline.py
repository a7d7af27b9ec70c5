# SPDX-License-Identifier: GPL-2.0-only
"""Does a transfer hold its deadline, and what do others see of it, beside flows that come and go.

For the framework paper's network (`framework`): Figures 4, 5, 8 and 9. The transfer is flow `ours`,
the others are those of host `xsender`. A *span* is a time in which nobody comes or goes; its first
seconds do not count. Bytes are counted as they leave the bottleneck, headers included.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
from matplotlib.axes import Axes

from dalbe_testbed.charts import BLUE, GREY, TARGET, VERMILLION, Style, facets
from dalbe_testbed.papers import framework
from dalbe_testbed.papers.framework import TRANSFER, WINDOW_S
from dalbe_testbed.plan.sweep import Point, Run, Sweep
from dalbe_testbed.study import engine, regimes
from dalbe_testbed.study.engine import Finding, Found, Study, Verdict
from dalbe_testbed.study.results import OURS, Group, Results, Row, names, wire_bytes

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


def _is_yardstick(point: Point) -> bool:
    return point.values["controller"] == YARDSTICK


def _knows_regimes(point: Point) -> bool:
    """Return whether the transfer looks for others: CUBIC and Vegas as its base do not."""
    return any(flow.name == OURS and flow.cc == "dalbe_cdg" for flow in point.experiment.flows)


def _times(run: Run, flows: pl.DataFrame) -> dict[str, tuple[float, float]]:
    """Return start and end, s, of every flow; one that outlived the run ends with it."""
    ends = pl.col("end_s").fill_null(run.point.experiment.duration_s)
    return {name: (start, end) for name, start, end in flows.select("flow", "start_s", ends).rows()}


def spans(run: Run, flows: pl.DataFrame) -> Iterator[tuple[int, float, float, list[str]]]:
    """Yield number, begin and end, s, of what counts of each span, and who of the others is there.

    The number counts the comings and goings before it. From the transfer's start to its end or
    deadline, whichever is first. flows: flows.parquet.
    """
    times = _times(run, flows)
    over = min(times[OURS][1], TRANSFER.stop_s)
    there = {name: times[name] for name in names(run.point, "xsender")}
    changes = sorted({t for some in there.values() for t in some} | {TRANSFER.start_s, over})
    for number, (begin, end) in enumerate(pairwise(changes)):
        present = [name for name, (start, stop) in there.items() if start <= begin < end <= stop]
        counts = begin + SETTLE_S
        if begin >= TRANSFER.start_s and end <= over and end - counts >= SHORTEST_S and present:
            yield number, counts, end, present


def _gap_percent(run: Run, rates: pl.DataFrame, over_s: float) -> float | None:
    gap = framework.GAP_S
    if over_s < gap[1]:
        return None
    others = [name for name in rates["flow"].unique() if name != OURS]
    free = run.point.experiment.link.rate_bps / 8 * (gap[1] - gap[0])
    return 100 * wire_bytes(rates, [OURS], *gap) / (free - wire_bytes(rates, others, *gap))


def _rounds_to_yield(rounds: pl.DataFrame, arrival_s: float) -> int | None:
    """Return how many rounds ended until ours was not alone; None if it had not been."""
    own = rounds.filter(flow=OURS).sort("t_s")
    before = own.filter(pl.col("t_s") < arrival_s)["regime_state"]
    if before.is_empty() or before[-1] != regimes.ALONE:
        return None
    after = own.filter(pl.col("t_s") >= arrival_s)["regime_state"]
    return _first(after != regimes.ALONE) or len(after)


def _first(conditions: pl.Series) -> int | None:
    """Return at which place a condition holds for the first time, from 1; None: never."""
    found = conditions.arg_true()
    return None if found.is_empty() else int(found[0]) + 1


def _curve(results: Results, run: Run) -> pl.DataFrame:
    """Return means over CURVE_S: a row per time and flow; of ours with its target and w."""
    means = results.mbps(run, CURVE_S).filter(pl.col("mbps") > 0)
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
    times = _times(run, flows)
    over_s = times[OURS][1]
    starts = [times[name][0] for name in names(run.point, "xsender")]
    until: list[int | None] = []
    if _knows_regimes(run.point):
        rounds = results.table(run, "rounds")
        arrivals = [start for start in starts if TRANSFER.start_s < start < over_s]
        until = [_rounds_to_yield(rounds, start) for start in arrivals]
    parts = {
        number: wire_bytes(rates, [OURS], *span) * len(present) / wire_bytes(rates, present, *span)
        for number, *span, present in spans(run, flows)
    }
    status = results.control(run).sort("t_s")["status"]
    return {
        "finish": (over_s - TRANSFER.start_s) / WINDOW_S if done else None,
        "gap_percent": _gap_percent(run, rates, over_s),
        "yield_rounds": max((count for count in until if count is not None), default=None),
        "least_part": min(parts.values(), default=None),
        "greatest_part": max(parts.values(), default=None),
        "_parts": parts,
        "_carried": wire_bytes(rates, [OURS], TRANSFER.start_s, TRANSFER.stop_s),
        "_declared_tw": _first(status == "infeasible"),
    }


def _compare(found: Found) -> Sequence[Group]:
    """Add what a transfer has in parts of what CUBIC in its place has, the mean of its runs."""
    usual = [row for group in found.groups if _is_yardstick(group.point) for row in group.rows]
    by_span: dict[int, list[float]] = {}
    for row in usual:
        for number, part in row["_parts"].items():
            by_span.setdefault(number, []).append(part)
    parts = {number: sum(values) / len(values) for number, values in by_span.items()}
    carried = sum(row["_carried"] for row in usual) / len(usual) if usual else None
    rows = [row for group in found.groups for row in group.rows]
    for row in rows:
        of_cubic = [part / parts[n] for n, part in row["_parts"].items() if n in parts]
        row["least_of_cubic"] = min(of_cubic, default=None)
        row["greatest_of_cubic"] = max(of_cubic, default=None)
        row["carried_of_cubic"] = row["_carried"] / carried if carried else None
        row["declared_tw"] = row["_declared_tw"]
    return found.groups


def _counts(group: Group) -> Row:
    finishes = group.values("finish")
    return {"done": len(finishes), "in_time": sum(finish <= 1 for finish in finishes)}


def _curves(found: Found) -> pl.DataFrame:
    """Return the curves of the first run of every point."""
    measured = found.results.measured(found.sweep)
    return engine.concat([_curve(found.results, first) for _point, (first, *_others) in measured])


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


def _panel(axes: Axes, curves: pl.DataFrame) -> None:
    """Draw everybody's rate, and the transfer's target and w."""
    others = curves.filter(~pl.col("flow").is_in([OURS, "background"]))
    for n, (_flow, one) in enumerate(others.group_by("flow", maintain_order=True)):
        label = "a CUBIC flow" if n == 0 else None
        axes.plot(one["t_s"], one["mbps"], color=GREY, linewidth=0.9, label=label)
    own = curves.filter(flow=OURS)
    meant = own.drop_nulls("target_mbps").filter(pl.col("t_s") < TRANSFER.stop_s)
    axes.plot(own["t_s"], own["mbps"], color=BLUE, linewidth=1.4, label="the transfer")
    axes.plot(meant["t_s"], meant["target_mbps"], linewidth=1.1, **TARGET)
    axes.axvline(TRANSFER.stop_s, color="black", linewidth=0.8, linestyle="--")
    axes.plot([], [], color=VERMILLION, linewidth=0.9, label="w, on the right")
    weight = axes.twinx()
    weight.plot(meant["t_s"], meant["w"], color=VERMILLION, linewidth=0.9, alpha=0.6)
    weight.set(ylim=(0, 1), ylabel="w")
    weight.grid(visible=False)


def draw(found: Finding, path: Path) -> None:
    """Draw the first run of every point. Targets of a missed deadline, without bound, are cut."""
    first = found.curves.drop_nulls("target_mbps").group_by("eta", "controller").first()
    highest = max([*found.curves["mbps"], *first["target_mbps"]])
    look: Style = {"size": (5, 2.9), "title": "{controller}, eta = {eta:g}"}
    with facets(path, found.curves, ["eta", "controller"], **look) as panels:
        for axes, curves in panels:
            _panel(axes, curves)
            axes.set(xlabel="s; dashed: the deadline", ylabel="Mbit/s", ylim=(0, 1.05 * highest))


MEANS = (
    *("finish", "gap_percent", "yield_rounds", "least_part", "greatest_part"),
    *("least_of_cubic", "greatest_of_cubic", "carried_of_cubic", "declared_tw"),
)
STUDY = Study(measure, _require, MEANS, compare=_compare, counts=_counts, curves=_curves, draw=draw)
