# SPDX-License-Identifier: GPL-2.0-only
"""How soon flows of host `sender` yield when one from `xsender` arrives, and return when it leaves.

Bytes are counted as they leave the bottleneck, Ethernet headers included. The competitor is there
from its first packet to its last. Limits are for a mean over a window that ends at the time in
question: of one base RTT, but at least 50 ms on arrival and 0.5 s on departure.

A flow that yields late does no harm to a newcomer that does not ask for the link: one that left
slow start early does not for seconds. So we also measure the link meanwhile: its use, and its queue
beside the one that ours keeps alone.
"""

import math
import statistics

import altair as alt
import polars as pl

from dalbe_testbed.charts import Picture, curves, facets, required, words
from dalbe_testbed.plan.sweep import Point, Run, Sweep
from dalbe_testbed.study import engine
from dalbe_testbed.study.engine import Finding, Found, Study, Verdict
from dalbe_testbed.study.results import Group, Results, Row, first, names, rtt_ms

YIELDED_PERCENT, STAYS_RTTS, WITHIN_RTTS = 10.0, 10, 10.0
"""Out of the way: below this share of all bytes, for so many RTTs; due within so many."""

BACK_PERCENT, BACK_S, BACK_RTTS = 80.0, 2.0, 20.0
"""Back: at least this part of the link's rate; due within so many seconds and RTTs."""

SHORTEST_S = 0.5
"""The least window in which a departure is judged."""

SHORTEST_SHARE_S = 0.05
"""The least window in which an arrival is: two packets that leave together, as they do at the least
rate, would be 12 % of one RTT's bytes at 10 Mbit/s and 20 ms."""

QUEUE_RTTS = 5
"""How many RTTs after an arrival the queue begins to count."""

BEFORE_S, AFTER_S = 1.0, 10.0
"""Seconds around a departure that the curves show; around an arrival, RTTs times three."""


def series(rates: pl.DataFrame, queue: pl.DataFrame, point: Point) -> pl.DataFrame:
    """Return per bin, for the windows that end with it, what `sender`'s flows had.

    Columns: t_s (the bin's end), share_percent (of all bytes; null if there were none),
    link_percent (of the link's rate); and of the bin alone theirs (bytes of `xsender`'s flows),
    used_percent (all bytes, of the link's rate) and queue_ms.
    """
    what, rtt_s = point.experiment, rtt_ms(point) / 1e3
    rtt, longer = (
        window_bins(max(rtt_s, least), what.bin_s) for least in (SHORTEST_SHARE_S, SHORTEST_S)
    )
    sent = pl.col("wire_bytes")
    ours, theirs = (
        sent.filter(pl.col("flow").is_in(names(point, host))).sum()
        for host in ("sender", "xsender")
    )
    share = 100 * pl.col("ours").rolling_sum(rtt) / pl.col("all").rolling_sum(rtt)
    whole = longer * what.bin_s * what.link.rate_bps / 8
    return (
        rates.group_by("t_s")
        .agg(ours=ours, theirs=theirs, all=sent.sum())
        .join(queue.select("t_s", "queue_ms"), on="t_s", how="left")
        .sort("t_s")
        .select(
            pl.col("t_s") + what.bin_s,
            "theirs",
            "queue_ms",
            share_percent=pl.when(share.is_finite()).then(share),
            link_percent=100 * pl.col("ours").rolling_sum(longer) / whole,
            used_percent=100 * pl.col("all") * longer / whole,
        )
    )


def window_bins(seconds: float, bin_s: float) -> int:
    """Return how many bins a time covers, at least one."""
    return max(1, math.ceil(round(seconds / bin_s, 6)))


def measure(results: Results, run: Run, _sweep: Sweep) -> Row | None:
    """Return what a run's tables show; None if no packet of a competitor got through.

    Until ours had yielded, or until the departure if it never did: link_meanwhile_percent, how much
    of the link all together used from WITHIN_RTTS after the arrival; queue_meanwhile_ms, the mean
    of the bins' queues from QUEUE_RTTS after it. Null if ours had yielded before.
    """
    bins = series(results.table(run, "rates"), results.table(run, "queue"), run.point)
    present = (bins["theirs"] > 0).arg_true()
    if present.is_empty():
        return None
    arrival, departure = int(present[0]), int(present[-1]) + 1
    bin_s, rtt_s = run.point.experiment.bin_s, rtt_ms(run.point) / 1e3
    stays = window_bins(STAYS_RTTS * rtt_s, bin_s)
    low = (bins["share_percent"] < YIELDED_PERCENT).fill_null(value=False)
    for_good = low.cast(pl.Int8).reverse().rolling_min(stays).reverse() == 1
    yielded = first(for_good[arrival : max(arrival, departure - stays)])
    back = first(bins["link_percent"][departure:] >= BACK_PERCENT)
    yielded_s, back_s = (n if n is None else round(n * bin_s, 6) for n in (yielded, back))
    until = departure if yielded is None else arrival + yielded

    def meanwhile(name: str, after_rtts: float) -> object:
        begin = arrival + window_bins(after_rtts * rtt_s, bin_s)
        return bins[name][begin:until].mean() if begin < until else None

    return {
        "yielded_s": yielded_s,
        "yielded_rtts": _rtts(yielded_s, run.point),
        "link_meanwhile_percent": meanwhile("used_percent", WITHIN_RTTS),
        "queue_meanwhile_ms": meanwhile("queue_ms", QUEUE_RTTS),
        "back_s": back_s,
        "back_rtts": _rtts(back_s, run.point),
        "_arrival": arrival,
        "_departure": departure,
        "_series": bins,
    }


def _rtts(seconds: float | None, point: Point) -> float | None:
    return None if seconds is None else seconds * 1e3 / rtt_ms(point)


def _spread(group: Group, name: str) -> tuple[float | None, float | None]:
    """Return median and worst of the times; None, which is never, is worst of all."""
    known = [math.inf] * (len(group.rows) - len(group.values(name))) + group.values(name)
    median, worst = statistics.median_high(known or [math.inf]), max(known, default=math.inf)
    return median if math.isfinite(median) else None, worst if math.isfinite(worst) else None


def _counts(group: Group) -> Row:
    columns: Row = {}
    for name in ("yielded", "back"):
        for kind, time in zip(("median", "worst"), _spread(group, f"{name}_s"), strict=True):
            columns[f"{name}_{kind}_s"] = time
            columns[f"{name}_{kind}_rtts"] = _rtts(time, group.point)
    late = [row for row in group.rows if row["link_meanwhile_percent"] is not None]
    means = engine.means(Group(group.point, late), ["link_meanwhile_percent", "queue_meanwhile_ms"])
    return columns | {"late": len(late)} | means


def _around(group: Group, event: str, column: str, unit_s: float) -> pl.DataFrame:
    """Return, around an event, the runs' median and the band that holds 80 % of them."""
    bin_s = group.point.experiment.bin_s
    before, after = (window_bins(time * unit_s, bin_s) for time in (BEFORE_S, AFTER_S))
    step = max(1, (before + after) // 200)  # as many places as can be told apart
    at = pl.col("bin").cast(pl.Int64)
    parts: list[pl.DataFrame] = [
        row["_series"].with_row_index("bin").select(at - row[f"_{event}"], percent=column)
        for row in group.rows
    ]
    percent = pl.col("percent")
    return (
        pl.concat(parts)
        .filter(at.is_between(-before, after) & (at % step == 0))
        .group_by("bin")
        .agg(
            median_percent=percent.median(),
            p10_percent=percent.quantile(0.1, "linear"),
            p90_percent=percent.quantile(0.9, "linear"),
        )
        .sort("bin")
        .select(
            pl.lit(str(group.point.values["who"])).alias("who"),
            pl.lit(rtt_ms(group.point)).alias("rtt_ms"),
            pl.lit(event).alias("event"),
            ((at + 1) * bin_s).round(6).alias("t_s"),
            pl.col("^.*_percent$"),
        )
    )


def _curve(_results: Results, group: Group) -> pl.DataFrame:
    arrival = _around(group, "arrival", "share_percent", 3 * rtt_ms(group.point) / 1e3)
    return pl.concat([arrival, _around(group, "departure", "link_percent", 1.0)])


def _require(found: Found) -> list[Verdict]:
    """Judge every run of ours."""

    def yields(point: Point) -> tuple[float, float]:
        return 0, WITHIN_RTTS * rtt_ms(point) / 1e3

    def returns(point: Point) -> tuple[float, float]:
        return 0, BACK_S + BACK_RTTS * rtt_ms(point) / 1e3

    yielded = f"below {YIELDED_PERCENT:g} % within {WITHIN_RTTS:g} RTTs after a flow arrives"
    back = (
        f"{BACK_PERCENT:g} % of the link within {BACK_S:g} s + {BACK_RTTS:g} RTTs after it leaves"
    )
    return [
        found.judge_every(f"{yielded}, in every run", "yielded_s", found.ours, yields),
        found.judge_every(f"{back}, in every run", "back_s", found.ours, returns),
    ]


def draw(found: Finding) -> Picture:
    """Draw what ours had since an arrival and since a departure, a row per base RTT.

    The median of the runs in a band that holds 80 % of them.
    """
    arrival, rtt_s = pl.col("event") == "arrival", pl.col("rtt_ms") / 1e3
    due_s = pl.when(arrival).then(WITHIN_RTTS * rtt_s).otherwise(BACK_S + BACK_RTTS * rtt_s)
    what = {"arrival": "share of all bytes, %", "departure": "part of the link, %"}
    rows = found.curves.sort("rtt_ms", maintain_order=True).with_columns(
        due_s=due_s,
        limit=pl.when(arrival).then(YIELDED_PERCENT).otherwise(BACK_PERCENT),
        what=pl.col("event").replace_strict(what),
    )
    rows = rows.with_columns(title=words("{}, base RTT {} ms: {}", "event", "rtt_ms", "what"))
    x = alt.X("t_s").title("seconds since then; dashed: what is required")
    medians = curves(rows, x, alt.Y("median_percent").title(None), "who")
    ends = alt.Y("p10_percent").title(None), alt.Y2("p90_percent")
    bands = medians.mark_area(opacity=0.2).encode(*ends)
    limits = required(rows, y="limit") + required(rows, x="due_s")
    return facets(rows, bands + medians + limits, "title", 2).resolve_scale(x="independent")


STUDY = Study(measure, _require, (), counts=_counts, curves=engine.by_point(_curve), draw=draw)
