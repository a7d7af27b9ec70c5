# SPDX-License-Identifier: GPL-2.0-only
"""Completion times of short flows beside a long one, against the same short flows without it.

A seed has one schedule, whoever the long flow is: request by request the same bytes at the same
time. What is compared are quantiles over one run's requests; one that was not over takes for ever.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from dalbe_testbed.errors import TestbedError
from dalbe_testbed.plan.sweep import Point, Run, Sweep
from dalbe_testbed.study import finding, stats, verdict
from dalbe_testbed.study.finding import Finding, Row
from dalbe_testbed.study.results import Results, weight
from dalbe_testbed.study.stats import Estimate
from dalbe_testbed.study.tradeoff import CORNER, beside, place, who
from dalbe_testbed.study.verdict import Case, Verdict, judge

NOBODY, NOBODY_BYTES = "nobody", 100_000
"""The value of `who` for an empty place, and the most that its flows may have sent."""

QUANTILES = {"median": 0.5, "p95": 0.95}
SLOWER_PERCENT = {NOBODY: 10.0, CORNER: 5.0}
"""By how much median and 95th percentile may exceed those with another in our place, at most."""


@dataclass(frozen=True)
class Completion:
    """A point's completion times in seconds by seed, in order of the schedule; inf: not over."""

    point: Point
    seconds: Mapping[int, pl.Series]
    bytes: Mapping[int, pl.Series]

    def quantile_s(self, seed: int, quantile: float) -> float:
        """Return a quantile of a run: the least time that so many requests do not exceed."""
        return float(self.seconds[seed].quantile(quantile, "higher"))  # type: ignore[arg-type]

    def slower_percent(self, base: Completion, quantile: float) -> dict[int, float]:
        """Return by how much a quantile exceeds the base's, by seed.

        Without the seeds that the base lacks, or where either is not finite. Raises TestbedError
        if the schedules differ.
        """
        found = {}
        for seed in sorted(self.seconds.keys() & base.seconds.keys()):
            if not self.bytes[seed].equals(base.bytes[seed]):
                raise TestbedError(
                    f"seed {seed}: {self.point.name} and {base.point.name} have different requests"
                )
            ours, theirs = self.quantile_s(seed, quantile), base.quantile_s(seed, quantile)
            if max(ours, theirs) < float("inf"):
                found[seed] = 100 * (ours / theirs - 1)
        return found


def check_nobody(results: Results, run: Run) -> None:
    """Raise TestbedError if nobody was somebody: a base that is no base would flatter everyone."""
    ours = [flow.name for flow in run.point.experiment.flows if flow.host == "sender"]
    rates = results.table(run, "rates").filter(pl.col("flow").is_in(ours))
    sent_bytes = int(rates["payload_bytes"].sum())
    if who(run.point) == NOBODY and sent_bytes > NOBODY_BYTES:
        raise TestbedError(f"{run.directory}: who = '{NOBODY}' sent {sent_bytes} bytes")


def measure(results: Results, sweep: Sweep) -> list[Completion]:
    """Return the points that have runs. Raises TestbedError if a table is missing or damaged."""
    found = []
    for point, runs in results.measured(sweep):
        for run in runs:
            check_nobody(results, run)
        tables = {run.seed: results.table(run, "requests") for run in runs}
        found.append(
            Completion(
                point,
                {
                    seed: (table["end_s"] - table["start_s"]).fill_null(float("inf"))
                    for seed, table in tables.items()
                },
                {seed: table["bytes"] for seed, table in tables.items()},
            )
        )
    return found


def slower_percent(
    item: Completion, found: Sequence[Completion], name: str, quantile: float
) -> list[float]:
    """Return by how much a quantile exceeds that with `name` there, by seed; [] without runs."""
    base = beside(item, found, name)
    return list(item.slower_percent(base, quantile).values()) if base else []


def _rows(item: Completion, found: Sequence[Completion]) -> Iterator[Row]:
    bases = {name: beside(item, found, name) for name in SLOWER_PERCENT}
    for seed, seconds in item.seconds.items():
        row = finding.settings(item.point) | {
            "seed": seed,
            "requests": seconds.len(),
            "unfinished": int(seconds.is_infinite().sum()),
        }
        for kind, quantile in QUANTILES.items():
            row[f"{kind}_s"] = item.quantile_s(seed, quantile)
            for name, base in bases.items():
                slower = item.slower_percent(base, quantile) if base else {}
                row[f"{kind}_above_{name}_percent"] = slower.get(seed)
        yield row


def _summary(item: Completion, found: Sequence[Completion]) -> Row:
    seconds = pl.concat(list(item.seconds.values()))
    row = finding.settings(item.point) | {
        "runs": len(item.seconds),
        "requests": seconds.len(),
        "unfinished": int(seconds.is_infinite().sum()),
    }
    for kind, quantile in QUANTILES.items():
        row[f"{kind}_s"] = seconds.quantile(quantile, "higher")
        for name in SLOWER_PERCENT:
            slower = slower_percent(item, found, name, quantile)
            row |= finding.estimated(f"{kind}_above_{name}_percent", slower)
    return row


def _curves(item: Completion) -> pl.DataFrame:
    """Return the distribution of all seeds' completion times, at every percent."""
    seconds = pl.concat(list(item.seconds.values()))
    steps = range(101)
    return pl.DataFrame(
        {
            **{name: [value] * len(steps) for name, value in item.point.values.items()},
            "percent": list(steps),
            "seconds": [seconds.quantile(step / 100, "higher") for step in steps],
        }
    )


def _verdict(found: Sequence[Completion], sweep: Sweep, name: str) -> Verdict:
    """Judge our flows' means against `name` in their place, at every load."""
    limit = SLOWER_PERCENT[name]
    measured = {item.point.name: item for item in found}
    cases = []
    for point in sweep.points:
        if weight(point) is None:
            continue
        item = measured.get(point.name)
        for kind, quantile in QUANTILES.items():
            slower = slower_percent(item, found, name, quantile) if item else []
            where = ", ".join([*(f"{k} {v}" for k, v in place(point).items()), kind])
            estimate: Estimate | None = stats.estimate(slower) if slower else None
            met = estimate is not None and estimate.mean <= limit
            said = f"{estimate} % longer" if estimate else "no run to compare"
            cases.append(Case(where, said, met, len(sweep.seeds) - len(slower)))
    return judge(
        f"short flows' median and p95 completion within {limit:g} % of those with {name}", cases
    )


def find(results: Results, sweep: Sweep) -> Finding:
    """Measure completion times at every load, and judge those beside our flows."""
    found = measure(results, sweep)
    verdicts = [_verdict(found, sweep, name) for name in SLOWER_PERCENT]
    return Finding(
        verdict.say(verdicts),
        verdicts,
        finding.frame([row for item in found for row in _rows(item, found)]),
        finding.frame([_summary(item, found) for item in found]),
        pl.concat([_curves(item) for item in found], how="vertical_relaxed")
        if found
        else pl.DataFrame(),
    )
