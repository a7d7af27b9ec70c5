# SPDX-License-Identifier: GPL-2.0-only
"""How soon flows of host `sender` yield when one from `xsender` arrives, and return when it leaves.

Bytes are counted as they leave the bottleneck, Ethernet headers included. The competitor is there
from its first packet to its last. What is compared to a limit is a mean over a window that ends
then: of one base RTT, but at least 50 ms on arrival and 0.5 s on departure.

Who yields late need not be in the way: a newcomer that left slow start early does not ask for the
whole link for seconds. So what the link did meanwhile is measured, too: where it is in use and its
queue no longer than ours alone keeps it, ours has what nobody asked for.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from dalbe_testbed.plan.sweep import Point, Run, Sweep
from dalbe_testbed.study import finding, verdict
from dalbe_testbed.study.finding import Finding, Row
from dalbe_testbed.study.results import Results, rtt_ms, weight
from dalbe_testbed.study.verdict import Case, Verdict, judge

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
"""What the curves show of a departure; of an arrival, as much in RTTs, times three."""


@dataclass(frozen=True)
class Event:
    """When something was done after an event at a bin of a run; None: never."""

    bin: int
    after_s: float | None


def _event(at: int, done: int | None, bin_s: float) -> Event:
    return Event(at, None if done is None else round((done + 1 - at) * bin_s, 6))


@dataclass(frozen=True)
class Dynamics:
    """What a run showed, with the bins of series().

    Until ours had yielded, or until the departure if it never did: link_percent, how much of the
    link all together used from WITHIN_RTTS after the arrival; queue_ms, the mean of the bins'
    queues from QUEUE_RTTS after it. None if ours had yielded before.
    """

    run: Run
    arrival: Event
    departure: Event
    link_percent: float | None
    queue_ms: float | None
    series: pl.DataFrame


def series(rates: pl.DataFrame, queue: pl.DataFrame, point: Point) -> pl.DataFrame:
    """Return per bin, for the windows that end with it, what `sender`'s flows had.

    Columns: t_s (the bin's end), share_percent (of all bytes; null if there were none),
    link_percent (of the link's rate); and of the bin alone theirs (bytes of `xsender`'s flows),
    used_percent (all bytes, of the link's rate) and queue_ms.
    """
    what = point.experiment
    ours, theirs = (
        pl.col("flow").is_in([flow.name for flow in what.flows if flow.host == host])
        for host in ("sender", "xsender")
    )
    rtt = window_bins(max(rtt_ms(point) / 1e3, SHORTEST_SHARE_S), what.bin_s)
    longer = window_bins(max(rtt_ms(point) / 1e3, SHORTEST_S), what.bin_s)
    bins = (
        rates.group_by("t_s")
        .agg(
            pl.col("wire_bytes").filter(ours).sum().alias("ours"),
            pl.col("wire_bytes").filter(theirs).sum().alias("theirs"),
            pl.col("wire_bytes").sum().alias("all"),
        )
        .join(queue.select("t_s", "queue_ms"), on="t_s", how="left")
        .sort("t_s")
    )
    share = 100 * pl.col("ours").rolling_sum(rtt) / pl.col("all").rolling_sum(rtt)
    whole = longer * what.bin_s * what.link.rate_bps / 8
    return bins.select(
        pl.col("t_s") + what.bin_s,
        pl.when(share.is_finite()).then(share).alias("share_percent"),
        (100 * pl.col("ours").rolling_sum(longer) / whole).alias("link_percent"),
        "theirs",
        (100 * pl.col("all") * longer / whole).alias("used_percent"),
        "queue_ms",
    )


def window_bins(seconds: float, bin_s: float) -> int:
    """Return how many bins a time covers, at least one."""
    return max(1, math.ceil(round(seconds / bin_s, 6)))


def _first(condition: pl.Series, begin: int, end: int) -> int | None:
    """Return the first bin of [begin, end) at which a condition holds; null does not."""
    return next((n for n in range(begin, end) if condition[n]), None)


def measure(run: Run, rates: pl.DataFrame, queue: pl.DataFrame) -> Dynamics | None:
    """Return what a run's tables show; None if no packet of a competitor got through."""
    bins = series(rates, queue, run.point)
    present = (bins["theirs"] > 0).arg_true()
    if present.is_empty():
        return None
    arrival, departure = int(present[0]), int(present[-1]) + 1
    bin_s, rtt_s = run.point.experiment.bin_s, rtt_ms(run.point) / 1e3
    stays = window_bins(STAYS_RTTS * rtt_s, bin_s)
    low = (bins["share_percent"] < YIELDED_PERCENT).fill_null(value=False)
    for_good = low.cast(pl.Int8).reverse().rolling_min(stays).reverse() == 1
    yielded = _first(for_good, arrival, departure - stays)
    back = _first(bins["link_percent"] >= BACK_PERCENT, departure, bins.height)
    until = departure if yielded is None else yielded + 1

    def meanwhile(name: str, after_rtts: float) -> float | None:
        begin = arrival + window_bins(after_rtts * rtt_s, bin_s)
        return bins[name][begin:until].mean() if begin < until else None  # type: ignore[return-value]

    return Dynamics(
        run,
        _event(arrival, yielded, bin_s),
        _event(departure, back, bin_s),
        meanwhile("used_percent", WITHIN_RTTS),
        meanwhile("queue_ms", QUEUE_RTTS),
        bins,
    )


def _rtts(seconds: float | None, point: Point) -> float | None:
    return None if seconds is None else seconds * 1e3 / rtt_ms(point)


def _due_s(point: Point) -> tuple[float, float]:
    """Return within which time one must yield, and be back."""
    rtt_s = rtt_ms(point) / 1e3
    return WITHIN_RTTS * rtt_s, BACK_S + BACK_RTTS * rtt_s


def _row(item: Dynamics) -> Row:
    yielded_s, back_s = item.arrival.after_s, item.departure.after_s
    return finding.settings(item.run.point) | {
        "seed": item.run.seed,
        "yielded_s": yielded_s,
        "yielded_rtts": _rtts(yielded_s, item.run.point),
        "link_meanwhile_percent": item.link_percent,
        "queue_meanwhile_ms": item.queue_ms,
        "back_s": back_s,
        "back_rtts": _rtts(back_s, item.run.point),
    }


def _spread(times: Sequence[float | None]) -> tuple[float | None, float | None]:
    """Return median and worst; None, which is never, is worst of all."""
    known = [math.inf if time is None else time for time in times]
    median, worst = statistics.median_high(known), max(known)
    return median if math.isfinite(median) else None, worst if math.isfinite(worst) else None


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _summary(point: Point, items: Sequence[Dynamics]) -> Row:
    columns: Row = {}
    for name, times in (
        ("yielded", [item.arrival.after_s for item in items]),
        ("back", [item.departure.after_s for item in items]),
    ):
        for kind, time in zip(("median", "worst"), _spread(times), strict=True):
            columns[f"{name}_{kind}_s"] = time
            columns[f"{name}_{kind}_rtts"] = _rtts(time, point)
    late = [item for item in items if item.link_percent is not None]
    return (
        finding.settings(point)
        | {"runs": len(items)}
        | columns
        | {"late": len(late)}
        | finding.estimated("link_meanwhile_percent", _known(item.link_percent for item in late))
        | finding.estimated("queue_meanwhile_ms", _known(item.queue_ms for item in late))
    )


def _curves(point: Point, items: Sequence[Dynamics]) -> Iterator[pl.DataFrame]:
    """Yield, around both events, the runs' median and the band that holds 80 % of them."""
    bin_s, rtt_s = point.experiment.bin_s, rtt_ms(point) / 1e3
    for event, column, unit_s in (
        ("arrival", "share_percent", 3 * rtt_s),
        ("departure", "link_percent", 1.0),
    ):
        before, after = (window_bins(time * unit_s, bin_s) for time in (BEFORE_S, AFTER_S))
        step = max(1, (before + after) // 200)  # as many places as can be told apart
        parts = [
            item.series.with_row_index("bin")
            .with_columns((pl.col("bin").cast(pl.Int64) - getattr(item, event).bin).alias("at"))
            .filter(pl.col("at").is_between(-before, after) & (pl.col("at") % step == 0))
            .select("at", pl.col(column).alias("percent"))
            for item in items
        ]
        yield (
            pl.concat(parts)
            .group_by("at")
            .agg(
                pl.col("percent").median().alias("median_percent"),
                pl.col("percent").quantile(0.1, "linear").alias("p10_percent"),
                pl.col("percent").quantile(0.9, "linear").alias("p90_percent"),
            )
            .sort("at")
            .select(
                pl.lit(str(point.values["who"])).alias("who"),
                pl.lit(rtt_ms(point)).alias("rtt_ms"),
                pl.lit(event).alias("event"),
                ((pl.col("at") + 1) * bin_s).round(6).alias("t_s"),
                "median_percent",
                "p10_percent",
                "p90_percent",
            )
        )


def _verdict(
    requirement: str, found: dict[str, list[Dynamics]], sweep: Sweep, event: str, which: int
) -> Verdict:
    """Judge every run of ours: `which` of the two due times."""
    cases = []
    for point in sweep.points:
        if weight(point) is None:
            continue
        items, due_s = found.get(point.name, []), _due_s(point)[which]
        times = [getattr(item, event).after_s for item in items]
        met = [time is not None and time <= due_s for time in times]
        median, worst = ("never" if t is None else f"{t:.2f} s" for t in _spread(times or [None]))
        said = f"{sum(met)} of {len(met)} runs within {due_s:g} s, median {median}, worst {worst}"
        missing = len(sweep.seeds) - len(items)
        cases.append(Case(f"{rtt_ms(point):g} ms", said, all(met), missing))
    return judge(requirement, cases)


def find(results: Results, sweep: Sweep) -> Finding:
    """Measure arrivals and departures, and judge every run of ours."""
    found = {
        point.name: [
            item
            for run in runs
            if (item := measure(run, *(results.table(run, it) for it in ("rates", "queue"))))
            is not None
        ]
        for point, runs in results.measured(sweep)
    }
    points = {point.name: point for point in sweep.points}
    found = {name: items for name, items in found.items() if items}
    verdicts = [
        _verdict(
            f"below {YIELDED_PERCENT:g} % within {WITHIN_RTTS:g} RTTs after a flow arrives, in "
            "every run",
            found,
            sweep,
            "arrival",
            0,
        ),
        _verdict(
            f"{BACK_PERCENT:g} % of the link within {BACK_S:g} s + {BACK_RTTS:g} RTTs after it "
            "leaves, in every run",
            found,
            sweep,
            "departure",
            1,
        ),
    ]
    curves = [part for name, items in found.items() for part in _curves(points[name], items)]
    return Finding(
        verdict.say(verdicts),
        verdicts,
        finding.frame([_row(item) for items in found.values() for item in items]),
        finding.frame([_summary(points[name], items) for name, items in found.items()]),
        pl.concat(curves) if curves else pl.DataFrame(),
    )
