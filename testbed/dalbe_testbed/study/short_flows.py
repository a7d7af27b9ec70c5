# SPDX-License-Identifier: GPL-2.0-only
"""Completion times of short flows beside a long one, against the same short flows without it.

A seed has one schedule, whoever the long flow is: request by request the same bytes at the same
time. We compare quantiles over one run's requests; a request that was not over takes for ever.
"""

import itertools
import math
from collections.abc import Sequence

import altair as alt
import polars as pl

from dalbe_testbed.charts import Picture, curves, facets, required, words
from dalbe_testbed.errors import TestbedError
from dalbe_testbed.plan.sweep import Point, Run, Sweep
from dalbe_testbed.study import engine
from dalbe_testbed.study.engine import Case, Finding, Found, Study, Verdict, judge, place, who
from dalbe_testbed.study.results import Group, Results, Row, frame, names
from dalbe_testbed.study.tradeoff import CORNER, NOBODY

NOBODY_BYTES = 100_000
"""The most that the flows of NOBODY may have sent."""

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


def measure(results: Results, run: Run, _sweep: Sweep) -> Row:
    """Return a run's completion times; inf: not over. Raises TestbedError as check_nobody()."""
    check_nobody(results, run)
    table = results.table(run, "requests")
    seconds = (table["end_s"] - table["start_s"]).fill_null(math.inf)
    row: Row = {"requests": seconds.len(), "unfinished": int(seconds.is_infinite().sum())}
    for kind, quantile in QUANTILES.items():
        row[f"{kind}_s"] = seconds.quantile(quantile, "higher")
        row |= dict.fromkeys(_above(kind))  # until _compare()
    return row | {"_seconds": seconds, "_bytes": table["bytes"]}


def _above(kind: str) -> list[str]:
    return [f"{kind}_above_{name}_percent" for name in SLOWER_PERCENT]


def _compare(found: Found) -> Sequence[Group]:
    """Add by how much quantiles exceed those of the same seed with another in our place.

    Null without that run, or where either is not finite. Raises TestbedError if schedules differ.
    """
    for name in SLOWER_PERCENT:
        for group, pairs in found.paired("who", name):
            for row, base in pairs:
                if base and not row["_bytes"].equals(base["_bytes"]):
                    where = f"seed {row['seed']}: {group.point.name}"
                    raise TestbedError(f"{where} and that with {name} have different requests")
                for kind in QUANTILES:
                    ours, theirs = (one.get(f"{kind}_s", math.inf) for one in (row, base))
                    if max(ours, theirs) < math.inf:
                        row[f"{kind}_above_{name}_percent"] = 100 * (ours / theirs - 1)
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
        row |= engine.means(group, _above(kind))
    return row


def _curve(_results: Results, group: Group) -> pl.DataFrame:
    """Return the distribution of all seeds' completion times, at every percent."""
    seconds, at = _all_seconds(group), group.point.values
    return frame(
        {**at, "percent": step, "seconds": seconds.quantile(step / 100, "higher")}
        for step in range(101)
    )


def _require(found: Found) -> list[Verdict]:
    """Judge our flows' means against others in their place, at every load."""

    def case(point: Point, kind: str, name: str, limit: float) -> Case:
        return found.mean_case(
            point,
            f"{kind}_above_{name}_percent",
            ", ".join([*(f"{k} {v}" for k, v in place(point, "who").items()), kind]),
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


def draw(found: Finding) -> Picture:
    """Draw how many short flows are done within a time, a panel per load."""
    rows = found.curves.filter(pl.col("seconds").is_finite()).sort("short_flows.load")
    rows = rows.select(
        "who", "seconds", "percent", load=(100 * pl.col("short_flows.load")).round(1)
    )
    rows = rows.with_columns(title=words("short flows of {} % of the link", "load"))
    x = alt.X("seconds").title("completion time, s").scale(type="log")
    y = alt.Y("percent").title("short flows done, %")
    return facets(rows, curves(rows, x, y, "who") + required(rows, y=95), "title")


STUDY = Study(
    measure,
    _require,
    (),
    compare=_compare,
    counts=_counts,
    curves=engine.by_point(_curve),
    draw=draw,
)
