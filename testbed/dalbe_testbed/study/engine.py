# SPDX-License-Identifier: GPL-2.0-only
"""The engine that every study runs on: measure each run, compare, tabulate, judge.

A study declares how one run is measured, which columns have means, and what is required. The
engine makes three tables of it: a row per run, a row per point, and what a figure draws besides.
Columns have units in their names. A mean `x` has its confidence interval beside it, in `x_low` and
`x_high`, null with a single run.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from dalbe_testbed.plan.sample import Value
from dalbe_testbed.plan.sweep import PEERS, Point, Run, Sweep
from dalbe_testbed.study import stats, verdict
from dalbe_testbed.study.results import Results, weight
from dalbe_testbed.study.stats import Estimate
from dalbe_testbed.study.verdict import Case, Verdict

Row = dict[str, Any]


@dataclass(frozen=True)
class Finding:
    """Tables and verdicts of a sweep.

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


@dataclass(frozen=True)
class Group:
    """A point and what its runs showed.

    rows: of each run its seed and columns; a column that begins with "_" is in no table. missing:
    how many runs the point lacks.
    """

    point: Point
    rows: Sequence[Row]
    missing: int = 0

    def values(self, name: str) -> list[float]:
        """Return a column's values by seed, of those runs that have one."""
        return [float(row[name]) for row in self.rows if row.get(name) is not None]

    def mean(self, name: str) -> Estimate | None:
        """Return the mean of a column over those runs that have a value; None without any."""
        return stats.estimate(values) if (values := self.values(name)) else None


@dataclass(frozen=True)
class Found:
    """The points of a sweep that have runs, in its order."""

    results: Results
    sweep: Sweep
    groups: Sequence[Group]

    @property
    def ours(self) -> list[Point]:
        """The points whose flows are ours, at a weight, whether they have runs or not."""
        return [point for point in self.sweep.points if weight(point) is not None]

    def at(self, point: Point) -> Group:
        """Return what was found at a point; a group without rows if nothing was."""
        there = (group for group in self.groups if group.point.name == point.name)
        return next(there, Group(point, [], len(self.sweep.seeds)))

    def judge(
        self, requirement: str, points: Iterable[Point], case: Callable[[Group], Case]
    ) -> Verdict:
        """Return the verdict on a requirement that must hold at each of some points."""
        return verdict.judge(requirement, [case(self.at(point)) for point in points])


def settings(point: Point) -> Row:
    """Return what tells a point from others: its name, its axes' values, the weight of its flows.

    w is null if the flows are not ours.
    """
    return {"point": point.name, **point.values, "w": weight(point)}


@dataclass(frozen=True)
class Study:
    """How a kind of sweep is measured, tabulated and judged.

    measure: a run's columns; one row, or several; none if it shows nothing, and counts as missing.
    compare: returns the groups that the tables are of, with columns that depend on other points.
    about: columns that tell points apart. counts: columns of the summary between `runs` and the
    means. means: the columns that it has the mean of. summary: its rows, where that is not it.
    curves: what a figure draws besides. say: the finding in a sentence, by default the verdicts.
    rounded: to five digits, in the row per run.
    """

    measure: Callable[[Results, Run, Sweep], Row | list[Row] | None]
    require: Callable[[Found], Sequence[Verdict]]
    means: Sequence[str] = ()
    about: Callable[[Point], Row] = settings
    compare: Callable[[Found], Sequence[Group]] | None = None
    counts: Callable[[Group], Row] | None = None
    summary: Callable[[Found], list[Row]] | None = None
    curves: Callable[[Found], pl.DataFrame] | None = None
    say: Callable[[Found], str] | None = None
    rounded: bool = False

    def look(self, results: Results, sweep: Sweep) -> Found:
        """Measure and compare the runs. Raises TestbedError if a table is missing or damaged."""
        groups = []
        for point, runs in results.measured(sweep):
            rows: list[Row] = []
            seen = 0
            for run in runs:
                made = self.measure(results, run, sweep) or []
                columns = made if isinstance(made, list) else [made]
                rows += [{"seed": run.seed} | row for row in columns]
                seen += bool(columns)
            if rows:
                groups.append(Group(point, rows, len(sweep.seeds) - seen))
        found = Found(results, sweep, groups)
        return Found(results, sweep, self.compare(found)) if self.compare else found

    def _summary(self, found: Found) -> list[Row]:
        if self.summary:
            return self.summary(found)
        return [
            self.about(group.point)
            | {"runs": len(group.rows)}
            | (self.counts(group) if self.counts else {})
            | means(group, self.means)
            for group in found.groups
        ]

    def find(self, results: Results, sweep: Sweep) -> Finding:
        """Return what a sweep showed. Raises TestbedError as look() does."""
        found = self.look(results, sweep)
        verdicts = self.require(found)
        runs = table(found.groups, self.about)
        sentence = self.say(found) if self.say else verdict.say(verdicts)
        if sweep.left_out:
            sentence += f" Left out, as {PEERS} is not set: {', '.join(sweep.left_out)}."
        return Finding(
            sentence,
            verdicts,
            rounded(runs) if self.rounded else runs,
            frame(self._summary(found)),
            self.curves(found) if self.curves else pl.DataFrame(),
        )


def frame(rows: Sequence[Mapping[str, object]]) -> pl.DataFrame:
    """Return rows as a table; a key that a row lacks is null."""
    return pl.DataFrame(rows, infer_schema_length=None)


def table(groups: Iterable[Group], about: Callable[[Point], Row] = settings) -> pl.DataFrame:
    """Return the row per run: what tells the point from others, the seed, what was measured."""
    return frame(
        [
            about(group.point) | {k: v for k, v in row.items() if not k.startswith("_")}
            for group in groups
            for row in group.rows
        ]
    )


def concat(curves: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return curves below one another; an empty table if there are none."""
    return pl.concat(curves, how="vertical_relaxed") if curves else pl.DataFrame()


def interval(name: str, estimate: Estimate | None) -> Row:
    """Return the three columns of a mean: itself and its interval, in the values' unit."""
    if estimate is None:
        return {name: None, f"{name}_low": None, f"{name}_high": None}
    return {name: estimate.mean, f"{name}_low": estimate.low, f"{name}_high": estimate.high}


def estimated(name: str, values: Sequence[float]) -> Row:
    """Return the columns of a mean of values by seed; null where there are none."""
    return interval(name, stats.estimate(values) if values else None)


def means(group: Group, names: Iterable[str]) -> Row:
    """Return the columns of the means of some columns."""
    row: Row = {}
    for name in names:
        row |= interval(name, group.mean(name))
    return row


def mean_case(
    where: str,
    estimate: Estimate | None,
    met: Callable[[float], bool],
    missing: int,
    form: str = "{} %",
    absent: str = "no run",
) -> Case:
    """Return whether a mean will do; form: how it is said. One that is not there will not."""
    if estimate is None:
        return Case(where, absent, met=False)
    return Case(where, form.format(estimate), met(estimate.mean), missing)


def rounded(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table with at most five digits behind the point, for CSV."""
    return table.with_columns(pl.col(pl.Float64).round(5))


# --- sweeps of the axis `who`: another's flows in the place of ours ---


def who(point: Point) -> str:
    """Return whose the flows of host `sender` are: a value of the axis `who`."""
    return str(point.values["who"])


def place(point: Point) -> dict[str, Value]:
    """Return where the flows are, whoever they are: in which cell, or at which other values."""
    if point.cell is not None:
        return {"cell": point.cell}
    return {name: value for name, value in point.values.items() if name != "who"}


def beside(group: Group, groups: Iterable[Group], name: str) -> Group | None:
    """Return what was found for `name` in the place of a group's flows; None without a run."""
    there = place(group.point)
    return next((o for o in groups if who(o.point) == name and place(o.point) == there), None)
