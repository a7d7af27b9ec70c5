# SPDX-License-Identifier: GPL-2.0-only
"""Use of an idle link against the share taken from others: what a scavenger is judged by.

In these experiments the flows of host `sender` have the link to themselves at first; then those of
host `xsender` come and stay. Rates are TCP payload.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from dalbe_testbed import stats
from dalbe_testbed.experiment import Experiment
from dalbe_testbed.results import Results
from dalbe_testbed.stats import Estimate
from dalbe_testbed.sweep import Point, Sweep

SETTLED_S = 10.0
"""What is left out after a flow's start, in seconds: arrival is measured elsewhere."""

YARDSTICK = "cubic"
"""The congestion control whose use of the idle link counts as all of it."""

USE_PERCENT, QUEUE_MS, SHARE_PERCENT = 97.0, 10.0, 3.0
"""What is required at the least weight: use at least, mean queue and share at most."""


@dataclass(frozen=True)
class Window:
    """A part of a run, from start_s up to end_s."""

    start_s: float
    end_s: float

    def mean_mbps(self, rates: pl.DataFrame, flows: Sequence[str]) -> float:
        """Return the flows' summed payload rate in Mbit/s."""
        rows = rates.filter(
            pl.col("flow").is_in(flows) & pl.col("t_s").is_between(*self.bounds, closed="left")
        )
        return float(rows["payload_bytes"].sum()) * 8e-6 / (self.end_s - self.start_s)

    @property
    def bounds(self) -> tuple[float, float]:
        """Return start and end."""
        return self.start_s, self.end_s


def windows(experiment: Experiment) -> tuple[Window, Window]:
    """Return when `sender` is alone and when it is not, both without the flows' first seconds."""
    ours = [flow for flow in experiment.flows if flow.host == "sender"]
    theirs = [flow for flow in experiment.flows if flow.host != "sender"]
    return (
        Window(
            max(flow.latest_start_s for flow in ours) + SETTLED_S,
            min(flow.start_s for flow in theirs),
        ),
        Window(max(flow.latest_start_s for flow in theirs) + SETTLED_S, experiment.duration_s),
    )


@dataclass(frozen=True)
class Tradeoff:
    """What a point's runs measured, by seed.

    alone_mbps: while alone. queue_ms: its mean queue meanwhile. share_percent: of all TCP payload
    while the others are there.
    """

    point: Point
    alone_mbps: tuple[float, ...]
    queue_ms: tuple[float, ...]
    share_percent: tuple[float, ...]

    @property
    def name(self) -> str:
        """Return who the flows are."""
        return str(self.point.values["who"])

    @property
    def w(self) -> float | None:
        """Return the weight of flows of ours; None of a peer's."""
        return self.point.experiment.flows[0].w

    def use_percent(self, yardstick: Tradeoff) -> Estimate:
        """Return the use of the idle link, in percent of the yardstick's mean."""
        whole = sum(yardstick.alone_mbps) / len(yardstick.alone_mbps)
        return stats.estimate([100 * rate / whole for rate in self.alone_mbps])


def measure(results: Results, sweep: Sweep) -> list[Tradeoff]:
    """Return what was measured at the sweep's points that have runs."""
    found = []
    for point in sweep.points:
        alone, contended = windows(point.experiment)
        ours = [flow.name for flow in point.experiment.flows if flow.host == "sender"]
        every = [flow.name for flow in point.experiment.flows]
        rows = []
        for run in (run for run in sweep.runs if run.point.directory == point.directory):
            if run.directory in results.missing:
                continue
            directory = results.out / run.directory
            rates = pl.read_parquet(directory / "rates.parquet")
            queue = pl.read_parquet(directory / "queue.parquet")
            rows.append(
                (
                    alone.mean_mbps(rates, ours),
                    _mean_queue_ms(queue, alone),
                    100 * contended.mean_mbps(rates, ours) / contended.mean_mbps(rates, every),
                )
            )
        if rows:
            found.append(Tradeoff(point, *zip(*rows, strict=True)))
    return found


def _mean_queue_ms(queue: pl.DataFrame, window: Window) -> float:
    rows = queue.filter(pl.col("t_s").is_between(*window.bounds, closed="left"))
    return float(rows["queue_ms"].mean())  # type: ignore[arg-type]


def yardstick(found: Sequence[Tradeoff]) -> Tradeoff | None:
    """Return the point that use is measured by; None if it has no run."""
    return next((item for item in found if item.name == YARDSTICK), None)


def say(found: Sequence[Tradeoff]) -> str:
    """Return the finding in a sentence: the least weight against what is required of it."""
    whole, least = yardstick(found), [item for item in found if item.w is not None]
    if whole is None or not least:
        return "No run of CUBIC, or none of ours: nothing to compare."
    item = min(least, key=lambda item: item.w or 0)
    use, queue = item.use_percent(whole), stats.estimate(item.queue_ms)
    share = stats.estimate(item.share_percent)
    met = use.mean >= USE_PERCENT and queue.mean < QUEUE_MS and share.mean <= SHARE_PERCENT
    return (
        f"At w = {item.w:g} two flows use {use} % of what CUBIC uses of an idle link, with a mean "
        f"queue of {queue} ms, and take {share} % from two CUBIC flows: "
        f"{'as' if met else 'not as'} required (at least {USE_PERCENT:g} %, below {QUEUE_MS:g} ms, "
        f"at most {SHARE_PERCENT:g} %)."
    )


def frame(found: Sequence[Tradeoff]) -> pl.DataFrame:
    """Return a row per run: who, w, seed's number, and what was measured."""
    return pl.DataFrame(
        [
            {
                "who": item.name,
                "w": item.w,
                "seed": number,
                "alone_mbps": round(alone, 4),
                "queue_ms": round(queue, 3),
                "share_percent": round(share, 3),
            }
            for item in found
            for number, (alone, queue, share) in enumerate(
                zip(item.alone_mbps, item.queue_ms, item.share_percent, strict=True), 1
            )
        ],
        infer_schema_length=None,
    )
