# SPDX-License-Identifier: GPL-2.0-only
"""The engine that every study runs on: measure each run, compare, tabulate, judge.

A study declares how one run is measured, which columns have means, and what is required. The
engine makes three tables of it: a row per run, a row per point, and what a figure draws besides.
Columns have units in their names. A mean `x` has its confidence interval beside it, in `x_low` and
`x_high`, null with a single run.
"""

import math
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any

import polars as pl

from dalbe_testbed.charts import Picture
from dalbe_testbed.plan.sample import Value
from dalbe_testbed.plan.sweep import PEERS, Point, Run, Sweep
from dalbe_testbed.study import stats
from dalbe_testbed.study.results import Group, Results, Row, frame, weight
from dalbe_testbed.study.stats import Estimate

# --- requirements: one that was not measured is not met ---


@dataclass(frozen=True)
class Verdict:
    """One requirement, whether it was met, and the figures behind that.

    measured: False if nothing that was measured fails, but something was not measured.
    """

    requirement: str
    met: bool
    detail: str
    measured: bool = True


@dataclass(frozen=True)
class Case:
    """A requirement at one point: where, what was found there, and whether that will do.

    missing: runs that the point lacks. With any, the case is not met. measured: whether there is
    anything to judge.
    """

    where: str
    found: str
    met: bool
    missing: int = 0
    measured: bool = True

    def __str__(self) -> str:
        """Return "50 ms: 1.3 [1.2, 1.4], 2 runs missing"."""
        lacks = [f"{self.missing} run{'s' * (self.missing > 1)} missing"] if self.missing else []
        return f"{self.where}: {', '.join([self.found, *lacks])}".removeprefix(": ")


def judge(requirement: str, cases: Sequence[Case]) -> Verdict:
    """Return the verdict on a requirement that must hold in each of `cases`; without any, it fails.

    The detail gives the cases that fail first, then those that lack something.
    """
    failed = [case for case in cases if case.measured and not case.met]
    lacking = [case for case in cases if case not in failed and (not case.met or case.missing)]
    held = [case for case in cases if case not in failed + lacking]
    detail = "; ".join(map(str, failed + lacking + held)) or "no run"
    met = bool(held) and not failed + lacking
    return Verdict(requirement, met, detail, met or bool(failed))


def say_verdicts(verdicts: Sequence[Verdict]) -> str:
    """Return a sentence per verdict, with the first that was found; that there are none."""
    said = [
        f"{v.requirement}: {'met' if v.met else 'not met'} ({textwrap.shorten(v.detail, 120)})"
        for v in verdicts
    ]
    return (". ".join(said) or "Nothing is required") + "."


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
class Against:
    """A column that sets what a run has against what another's flows have in the place of its own.

    name: the new column; column: the one compared; who: whose flows are in the other runs, whose
    mean is the second argument of `of`. itself: whether the other's own runs are compared too.
    whatever: axes in which the other may differ.
    """

    name: str
    column: str
    who: str
    of: Callable[[float, float], float]
    itself: bool = True
    whatever: Sequence[str] = ()

    def base(self, group: Group, groups: Iterable[Group]) -> Group | None:
        """Return the point that a group is set against; None if that has no value."""
        base = beside(group, groups, "who", self.who, *self.whatever)
        if base is None or not base.values(self.column):
            return None
        return base if self.itself or base is not group else None

    def add(self, groups: Sequence[Group]) -> None:
        """Add the column to every row; null without the value or the other's."""
        for group in groups:
            base = self.base(group, groups)
            mean = fmean(base.values(self.column)) if base else None
            for row in group.rows:
                own = row.get(self.column)
                row[self.name] = None if own is None or mean is None else self.of(own, mean)


@dataclass(frozen=True)
class Found:
    """The points of a sweep that have runs, in its order; against: the columns that compare."""

    results: Results
    sweep: Sweep
    groups: Sequence[Group]
    against: Sequence[Against] = ()

    @property
    def ours(self) -> list[Point]:
        """The points whose flows are ours, at a weight, whether they have runs or not."""
        return [point for point in self.sweep.points if weight(point) is not None]

    def at(self, point: Point) -> Group:
        """Return what was found at a point; a group without rows if nothing was."""
        there = (group for group in self.groups if group.point.name == point.name)
        return next(there, Group(point, [], len(self.sweep.seeds)))

    def rows(self, about: Callable[[Point], Row]) -> list[Row]:
        """Return the row per run: what tells the point from others, the seed, what was measured."""
        return [about(group.point) | row for group in self.groups for row in group.rows]

    def paired(
        self, axis: str, value: str, *whatever: str
    ) -> Iterator[tuple[Group, list[tuple[Row, Row]]]]:
        """Yield each point, and its rows with those of the same seed at the point beside() it.

        A row that has none there has an empty one.
        """
        for group in self.groups:
            base = beside(group, self.groups, axis, value, *whatever)
            yield group, [(row, base.of_seed(row["seed"]) if base else {}) for row in group.rows]

    def judge(
        self, requirement: str, points: Iterable[Point], case: Callable[[Group], Case]
    ) -> Verdict:
        """Return the verdict on a requirement that must hold at each of some points."""
        return judge(requirement, [case(self.at(point)) for point in points])

    def lacking(self, group: Group, column: str) -> int:
        """Return how many runs without a column a point has, and the point it is set against."""
        bases = [a.base(group, self.groups) for a in self.against if a.name == column]
        own = group.missing + len(group.rows) - len(group.values(column))
        return own + sum(base.missing for base in bases if base)

    def mean_case(
        self,
        point: Point,
        column: str,
        where: str,
        *,
        least: float = -math.inf,
        most: float = math.inf,
        below: float = math.inf,
        form: str = "{} %",
        also: Sequence[str] = (),
        absent: str = "no run",
    ) -> Case:
        """Return whether the mean of a column at a point is within its bounds.

        form: how it is said, with the means of the columns `also`. One that is not there will not
        do, nor one that some runs lack.
        """
        group = self.at(point)
        if (mean := group.mean(column)) is None:
            return Case(where, absent, met=False, measured=False)
        said = form.format(mean, *map(group.mean, also))
        met = least <= mean.mean <= most and mean.mean < below
        return Case(where, said, met, self.lacking(group, column))

    def judge_mean(
        self, requirement: str, column: str, points: Iterable[Point], **bounds: Any
    ) -> Verdict:
        """Return the verdict on a column's mean at some points; bounds: as in mean_case()."""
        cases = [self.mean_case(point, column, point.name, **bounds) for point in points]
        return judge(requirement, cases)

    def judge_every(
        self,
        requirement: str,
        column: str,
        points: Iterable[Point],
        bounds: Callable[[Point], Sequence[float]] | Sequence[float],
        *,
        form: str = ".2f",
        needless: bool = False,
    ) -> Verdict:
        """Return the verdict on a column that must be within bounds in every run at some points.

        A run without a value is not; if needless, it does not count where another has one.
        """

        def case(group: Group) -> Case:
            known = group.values(column)
            never = 0 if needless and known else len(group.rows) - len(known)
            least, most = bounds(group.point) if callable(bounds) else bounds
            met = sum(least <= value <= most for value in known)
            spread = f"; {min(known):{form}} to {max(known):{form}}" if known else ""
            said = f"{met} of {len(known) + never}{spread}" + f"; {never} never" * (never > 0)
            held = met == len(known) + never
            return Case(group.point.name, said, held, group.missing, measured=bool(known))

        return self.judge(requirement, points, case)


def settings(point: Point) -> Row:
    """Return what tells a point from others: its name, its axes' values, the weight of its flows.

    w is null if the flows are not ours.
    """
    return {"point": point.name, **point.values, "w": weight(point)}


@dataclass(frozen=True)
class Study:
    """How a kind of sweep is measured, tabulated and judged.

    measure: a run's columns; one row, or several; none if it shows nothing, and counts as missing.
    against: columns that compare with other points. compare: returns the groups that the tables are
    of, where more depends on other points. about: columns that tell points apart. by: columns whose
    values have a row of the summary each. counts: columns of the summary before the means. means:
    the columns that it has the mean of, by default all that were measured. summary: its rows,
    where that is not it. curves: what a figure draws besides. say: the finding
    in a sentence, by default the verdicts. draw: makes a picture of the finding's tables alone;
    front: a smaller one, for a page that shows no more.
    """

    measure: Callable[[Results, Run, Sweep], Row | list[Row] | None]
    require: Callable[[Found], Sequence[Verdict]]
    means: Sequence[str] | None = None
    about: Callable[[Point], Row] = settings
    against: Sequence[Against] = ()
    compare: Callable[[Found], Sequence[Group]] | None = None
    by: Sequence[str] = ()
    counts: Callable[[Group], Row] = lambda _group: {}
    summary: Callable[[Found], list[Row]] | None = None
    curves: Callable[[Found], pl.DataFrame] | None = None
    say: Callable[[Found], str] | None = None
    draw: Callable[[Finding], Picture] | None = None
    front: Callable[[Finding], Picture] | None = None

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
        for column in self.against:
            column.add(groups)
        found = Found(results, sweep, groups, self.against)
        return replace(found, groups=self.compare(found)) if self.compare else found

    def _summary(self, found: Found) -> list[Row]:
        if self.summary:
            return self.summary(found)
        groups = [part for group in found.groups for part in split(group, self.by)]
        return [
            self.about(group.point)
            | {column: group.rows[0][column] for column in self.by}
            | {"runs": len(group.rows)}
            | self.counts(group)
            | means(group, self.means)
            for group in groups
        ]

    def find(self, results: Results, sweep: Sweep) -> Finding:
        """Return what a sweep showed. Raises TestbedError as look() does."""
        found = self.look(results, sweep)
        verdicts = self.require(found)
        sentence = self.say(found) if self.say else say_verdicts(verdicts)
        if sweep.left_out:
            sentence += f" Left out, as {PEERS} is not set: {', '.join(sweep.left_out)}."
        return Finding(
            sentence,
            verdicts,
            frame(found.rows(self.about)),
            frame(self._summary(found)),
            self.curves(found) if self.curves else pl.DataFrame(),
        )


def split(group: Group, by: Sequence[str]) -> list[Group]:
    """Return a group for each combination of the values that some columns of its rows have."""
    parts: dict[tuple[Any, ...], list[Row]] = {}
    for row in group.rows:
        parts.setdefault(tuple(row[column] for column in by), []).append(row)
    return [Group(group.point, rows, group.missing) for rows in parts.values()]


def by_point(
    curve: Callable[[Results, Group], pl.DataFrame],
) -> Callable[[Found], pl.DataFrame]:
    """Return what puts a curve of each point that has runs below one another."""
    empty = pl.DataFrame()
    return lambda found: pl.concat(
        [empty, *(curve(found.results, group) for group in found.groups)], how="diagonal_relaxed"
    )


def of_first_runs(curve: Callable[[Results, Run], pl.DataFrame]) -> Callable[[Found], pl.DataFrame]:
    """Return what puts a curve of each point's first run below one another."""
    return by_point(lambda results, group: curve(results, Run(group.point, group.rows[0]["seed"])))


def interval(name: str, estimate: Estimate | None) -> Row:
    """Return the three columns of a mean: itself and its interval, in the values' unit."""
    if estimate is None:
        return {name: None, f"{name}_low": None, f"{name}_high": None}
    return {name: estimate.mean, f"{name}_low": estimate.low, f"{name}_high": estimate.high}


def percentage(name: str, count: int, n: int) -> Row:
    """Return the three columns of `count` of n in percent: itself and its exact interval."""
    low, high = stats.proportion(count, n) if n else (math.nan, math.nan)
    percent = 100 * count / n if n else math.nan
    return {name: percent, f"{name}_low": 100 * low, f"{name}_high": 100 * high}


def means(group: Group, names: Iterable[str] | None) -> Row:
    """Return the columns of the means of some columns; a "_" that one begins with is left out.

    By default of all that a table shows.
    """
    if names is None:
        names = [name for name in group.rows[0] if name != "seed" and not name.startswith("_")]
    row: Row = {}
    for name in names:
        row |= interval(name.removeprefix("_"), group.mean(name))
    return row


# --- sweeps of the axis `who`: another's flows in the place of ours ---


def who(point: Point) -> str:
    """Return whose the flows of host `sender` are: a value of the axis `who`."""
    return str(point.values["who"])


def place(point: Point, *axes: str) -> Row:
    """Return where a point is but for some axes: in which drawn cell, at which values."""
    cell = {} if point.cell is None else {"cell": point.cell}
    return cell | {name: value for name, value in point.values.items() if name not in axes}


def beside(
    group: Group, groups: Iterable[Group], axis: str, value: Value | None, *whatever: str
) -> Group | None:
    """Return the point with a value of an axis in the place of a group's; None without a run.

    whatever: other axes in which the two may differ.
    """
    at, axes = place(group.point, axis, *whatever), (axis, *whatever)
    same = (o for o in groups if o.point.values.get(axis) == value and place(o.point, *axes) == at)
    return next(same, None)
