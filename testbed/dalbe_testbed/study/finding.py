# SPDX-License-Identifier: GPL-2.0-only
"""What a sweep showed, whatever it measured: a sentence, verdicts, and tables.

Tables have the units in their columns' names. A mean `x` has its confidence interval beside it, in
`x_low` and `x_high`, null with a single run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from dalbe_testbed.plan.sweep import Point
from dalbe_testbed.study import stats
from dalbe_testbed.study.results import weight
from dalbe_testbed.study.stats import Estimate
from dalbe_testbed.study.verdict import Verdict

Row = dict[str, object]


@dataclass(frozen=True)
class Finding:
    """What a sweep showed.

    runs: a row per run. summary: a row per point that has runs. curves: what a figure draws that
    is in neither; empty if there is nothing of the kind.
    """

    sentence: str
    verdicts: Sequence[Verdict]
    runs: pl.DataFrame
    summary: pl.DataFrame
    curves: pl.DataFrame = field(default_factory=pl.DataFrame)

    def tables(self) -> Iterator[tuple[str, pl.DataFrame]]:
        """Yield the tables that are not empty, each with what its file's name ends in."""
        tables = {"": self.runs, "-summary": self.summary, "-curves": self.curves}
        for suffix, table in tables.items():
            if not table.is_empty():
                yield suffix, table


def frame(rows: Sequence[Mapping[str, object]]) -> pl.DataFrame:
    """Return rows as a table; a key that a row lacks is null."""
    return pl.DataFrame(rows, infer_schema_length=None)


def settings(point: Point) -> Row:
    """Return what tells a point from others: its name, its axes' values, the weight of its flows.

    w is null if the flows are not ours.
    """
    return {"point": point.name, **point.values, "w": weight(point)}


def interval(name: str, estimate: Estimate | None) -> Row:
    """Return the three columns of a mean: itself and its interval, in the values' unit."""
    if estimate is None:
        return {name: None, f"{name}_low": None, f"{name}_high": None}
    return {name: estimate.mean, f"{name}_low": estimate.low, f"{name}_high": estimate.high}


def numbers(rows: Sequence[Row], name: str) -> list[float]:
    """Return a column's values as numbers, of those rows that have one."""
    return [float(str(row[name])) for row in rows if row.get(name) is not None]


def estimated(name: str, values: Sequence[float]) -> Row:
    """Return the columns of a mean of values by seed; null where there are none."""
    return interval(name, stats.estimate(values) if values else None)


def rounded(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table with at most five digits behind the point, for CSV."""
    return table.with_columns(pl.col(pl.Float64).round(5))
