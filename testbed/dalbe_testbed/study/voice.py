# SPDX-License-Identifier: GPL-2.0-only
"""What a flow adds to the delay of a voice-like one: queueing delay, less that with nobody there.

Packets count from the flow's latest start on. Delays are of those that arrived; what was dropped is
lost_percent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from dalbe_testbed.plan.sweep import Point, Sweep
from dalbe_testbed.study import finding, stats, verdict
from dalbe_testbed.study.completion import NOBODY, check_nobody
from dalbe_testbed.study.finding import Finding, Row
from dalbe_testbed.study.results import Results, weight
from dalbe_testbed.study.tradeoff import place, who
from dalbe_testbed.study.verdict import Case, judge

FAST_MBPS, FAST_MS = 5.0, 15.0
"""From this rate on, the 95th percentile of the added delay must be below so much."""

SLOW_MBPS, SLOW_MS = 1.0, 30.0
"""At this rate, where a full packet alone takes 12 ms, below so much."""

DELAYS = ("mean_ms", "median_ms", "p95_ms")


@dataclass(frozen=True)
class Delays:
    """Queueing delays of one run's voice packets; None if none arrived."""

    seed: int
    packets: int
    lost_percent: float
    mean_ms: float | None
    median_ms: float | None
    p95_ms: float | None


def measure(seed: int, voice: pl.DataFrame, start_s: float) -> Delays:
    """Return what a run's table of voice packets shows from start_s on."""
    queue_ms = voice.filter(pl.col("t_s") >= start_s)["queue_ms"]
    arrived = queue_ms.drop_nulls()
    return Delays(
        seed=seed,
        packets=queue_ms.len(),
        lost_percent=100 * queue_ms.null_count() / max(1, queue_ms.len()),
        mean_ms=arrived.mean(),  # type: ignore[arg-type]
        median_ms=arrived.median(),  # type: ignore[arg-type]
        p95_ms=arrived.quantile(0.95, "linear"),
    )


@dataclass(frozen=True)
class Voice:
    """A point and its runs. base_ms: the means of the same delays with nobody there, by name."""

    point: Point
    runs: tuple[Delays, ...]
    base_ms: dict[str, float | None]

    def added_ms(self, name: str) -> list[float]:
        """Return by how much a delay exceeds the base, for the runs where that is known."""
        base = self.base_ms.get(name)
        values = [getattr(run, name) for run in self.runs]
        return [] if base is None else [value - base for value in values if value is not None]


def _mean(runs: Sequence[Delays], name: str) -> float | None:
    values = [value for run in runs if (value := getattr(run, name)) is not None]
    return sum(values) / len(values) if values else None


def points(results: Results, sweep: Sweep) -> list[Voice]:
    """Return the points that have runs. Raises TestbedError if a table is missing or damaged."""
    measured: list[tuple[Point, tuple[Delays, ...]]] = []
    for point, runs in results.measured(sweep):
        for run in runs:
            check_nobody(results, run)
        start_s = max(f.latest_start_s for f in point.experiment.flows if f.host == "sender")
        delays = tuple(measure(run.seed, results.table(run, "voice"), start_s) for run in runs)
        measured.append((point, delays))
    bases = [(place(point), delays) for point, delays in measured if who(point) == NOBODY]
    found = []
    for point, delays in measured:
        there = next((base for at, base in bases if at == place(point)), ())
        found.append(Voice(point, delays, {name: _mean(there, name) for name in DELAYS}))
    return found


def _rows(item: Voice) -> list[Row]:
    rows = []
    for run in item.runs:
        row = finding.settings(item.point) | {"seed": run.seed, "packets": run.packets}
        for name in DELAYS:
            value, base = getattr(run, name), item.base_ms[name]
            row[f"added_{name}"] = None if value is None or base is None else value - base
        rows.append(row | {"lost_percent": run.lost_percent})
    return rows


def _summary(item: Voice) -> Row:
    row = finding.settings(item.point) | {
        "rate_mbps": item.point.experiment.link.rate_mbps,
        "runs": len(item.runs),
    }
    for name in DELAYS:
        row |= finding.estimated(f"added_{name}", item.added_ms(name))
    return row | finding.estimated("lost_percent", [run.lost_percent for run in item.runs])


def _cases(
    found: Sequence[Voice], sweep: Sweep, rates: Sequence[float], limit: float
) -> list[Case]:
    measured = {item.point.name: item for item in found}
    cases = []
    for point in sweep.points:
        rate = point.experiment.link.rate_mbps
        if weight(point) is None or rate not in rates:
            continue
        item = measured.get(point.name)
        added = item.added_ms("p95_ms") if item else []
        where = f"{rate:g} Mbit/s"
        if item is None or not added:
            cases.append(Case(where, "no run to compare", met=False))
            continue
        p95, lost = stats.estimate(added), stats.estimate([run.lost_percent for run in item.runs])
        said = f"{p95} ms, {lost} % lost"
        cases.append(Case(where, said, p95.mean < limit, len(sweep.seeds) - len(added)))
    return cases


def find(results: Results, sweep: Sweep) -> Finding:
    """Measure the added delay at every rate, and judge that of our flow."""
    found = points(results, sweep)
    rates = sorted({point.experiment.link.rate_mbps for point in sweep.points})
    fast = [rate for rate in rates if rate >= FAST_MBPS]
    verdicts = [
        judge(
            f"p95 delay added to voice below {FAST_MS:g} ms at {FAST_MBPS:g} Mbit/s and above",
            _cases(found, sweep, fast, FAST_MS),
        ),
        judge(
            f"p95 delay added to voice below {SLOW_MS:g} ms at {SLOW_MBPS:g} Mbit/s",
            _cases(found, sweep, [SLOW_MBPS], SLOW_MS),
        ),
    ]
    return Finding(
        verdict.say(verdicts),
        verdicts,
        finding.frame([row for item in found for row in _rows(item)]),
        finding.frame([_summary(item) for item in found]),
    )
