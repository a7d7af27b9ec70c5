# SPDX-License-Identifier: GPL-2.0-only
"""Completion times of short flows beside a long one, against the same short flows without it.

A seed has one schedule, whoever the long flow is: request by request the same bytes at the same
time. We compare quantiles over one run's requests; a request that was not over takes for ever.
"""

import itertools
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from dalbe_testbed.charts import facets, lines, one_two_five
from dalbe_testbed.errors import TestbedError
from dalbe_testbed.plan.sweep import Point, Run, Sweep
from dalbe_testbed.study import engine
from dalbe_testbed.study.engine import (
    Case,
    Finding,
    Found,
    Study,
    Verdict,
    beside,
    judge,
    place,
    who,
)
from dalbe_testbed.study.results import Group, Results, Row, frame, names
from dalbe_testbed.study.tradeoff import CORNER

NOBODY, NOBODY_BYTES = "nobody", 100_000
"""The value of `who` for an empty place, and the most that its flows may have sent."""

QUANTILES = {"median": 0.5, "p95": 0.95}
SLOWER_PERCENT = {NOBODY: 10.0, CORNER: 5.0}
"""By how much median and 95th percentile may exceed those with another in our place, at most."""


def check_nobody(results: Results, run: Run) -> None:
    """Raise TestbedError if nobody was somebody: a base that is no base would flatter everyone."""
    ours = pl.col("flow").is_in(names(run.point, "sender"))
    rates = results.table(run, "rates").filter(ours)
    sent_bytes = int(rates["payload_bytes"].sum())
    if who(run.point) == NOBODY and sent_bytes > NOBODY_BYTES:
        raise TestbedError(f"{run.directory}: who = '{NOBODY}' sent {sent_bytes} bytes")


def _quantile_s(seconds: pl.Series, quantile: float) -> float:
    """Return the least time that so many requests do not exceed."""
    return float(seconds.quantile(quantile, "higher"))  # type: ignore[arg-type]


def measure(results: Results, run: Run, _sweep: Sweep) -> Row:
    """Return a run's completion times; inf: not over. Raises TestbedError as check_nobody()."""
    check_nobody(results, run)
    table = results.table(run, "requests")
    seconds = (table["end_s"] - table["start_s"]).fill_null(float("inf"))
    return {
        "requests": seconds.len(),
        "unfinished": int(seconds.is_infinite().sum()),
        "_seconds": seconds,
        "_bytes": table["bytes"],
    }


def _slower_percent(row: Row, base: Group | None, where: str, quantile: float) -> object:
    """Return by how much a quantile exceeds that of the same seed in another group.

    None if the group lacks the seed, or where either is not finite. Raises TestbedError if the
    schedules differ.
    """
    same = base.of_seed(row["seed"]) if base else None
    if not base or not same:
        return None
    if not row["_bytes"].equals(same["_bytes"]):
        raise TestbedError(
            f"seed {row['seed']}: {where} and {base.point.name} have different requests"
        )
    ours, theirs = (_quantile_s(one["_seconds"], quantile) for one in (row, same))
    return 100 * (ours / theirs - 1) if max(ours, theirs) < float("inf") else None


def _compare(found: Found) -> Sequence[Group]:
    """Add quantiles, and by how much each exceeds that with another in our place."""
    for group in found.groups:
        bases = {name: beside(group, found.groups, name) for name in SLOWER_PERCENT}
        for row in group.rows:
            for kind, quantile in QUANTILES.items():
                row[f"{kind}_s"] = _quantile_s(row["_seconds"], quantile)
                for name, base in bases.items():
                    slower = _slower_percent(row, base, group.point.name, quantile)
                    row[f"{kind}_above_{name}_percent"] = slower
    return found.groups


def _all_seconds(group: Group) -> pl.Series:
    seconds: list[pl.Series] = [row["_seconds"] for row in group.rows]
    return pl.concat(seconds)


def _counts(group: Group) -> Row:
    """Return quantiles over all seeds, each with the means of what it exceeds."""
    seconds = _all_seconds(group)
    row: Row = {"requests": seconds.len(), "unfinished": int(seconds.is_infinite().sum())}
    for kind, quantile in QUANTILES.items():
        row[f"{kind}_s"] = seconds.quantile(quantile, "higher")
        row |= engine.means(group, [f"{kind}_above_{name}_percent" for name in SLOWER_PERCENT])
    return row


def _curves(found: Found) -> pl.DataFrame:
    """Return the distribution of all seeds' completion times, at every percent."""
    return frame(
        {**group.point.values, "percent": step, "seconds": seconds.quantile(step / 100, "higher")}
        for group in found.groups
        for seconds in [_all_seconds(group)]
        for step in range(101)
    )


def _require(found: Found) -> list[Verdict]:
    """Judge our flows' means against others in their place, at every load."""

    def case(point: Point, kind: str, name: str, limit: float) -> Case:
        return found.mean_case(
            point,
            f"{kind}_above_{name}_percent",
            ", ".join([*(f"{k} {v}" for k, v in place(point).items()), kind]),
            most=limit,
            form="{} % longer",
            absent="no run to compare",
        )

    return [
        judge(
            f"short flows' median and p95 completion within {limit:g} % of those with {name}",
            [case(*at, name, limit) for at in itertools.product(found.ours, QUANTILES)],
        )
        for name, limit in SLOWER_PERCENT.items()
    ]


def draw(found: Finding, path: Path) -> None:
    """Draw how many short flows are done within a time, a panel per load."""
    curves = found.curves.filter(pl.col("seconds").is_finite())
    curves = curves.with_columns(load=100 * pl.col("short_flows.load")).sort("load")
    title = "short flows of {load:g} % of the link"
    with facets(path, curves, ["load"], size=(6.5, 4.5), title=title) as panels:
        for axes, here in panels:
            lines(axes, here, "seconds", "percent", "who", linewidth=1.3)
            axes.axhline(95, color="black", linewidth=0.8, linestyle=":")
            axes.set(xscale="log", xlabel="completion time, s", ylabel="short flows done, %")
            one_two_five(axes.xaxis)


STUDY = Study(measure, _require, compare=_compare, counts=_counts, curves=_curves, draw=draw)
