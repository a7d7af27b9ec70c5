# SPDX-License-Identifier: GPL-2.0-only
"""All requirements of all studies in one table, judged from the tables in docs/results.

Each study judges its committed table as it judges runs. What a table cannot tell was not measured:
it lacks a column, a point or a seed, and nothing that it has fails.
"""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from dalbe_testbed.hunt.bars import AT_LEAST
from dalbe_testbed.paths import SWEEPS
from dalbe_testbed.plan import sweep
from dalbe_testbed.plan.sweep import Sweep
from dalbe_testbed.report import figures, provenance
from dalbe_testbed.study import breadth, declarations, engine
from dalbe_testbed.study.engine import Case, Found, Study, Verdict
from dalbe_testbed.study.results import Group, Results, Row
from dalbe_testbed.study.stats import Estimate

FILE = Path("requirements.csv")
"""The table, below docs/results."""

BARS, CELLS = Path("path/bars.csv"), Path("path/breadth2-simulated.csv")
"""What the simulator reaches: on chosen paths, and on those of `breadth2`."""

LENGTH = 160
"""Letters of what was found: room for three points and intervals, those that fail first."""

NOTHING = Results(Path(), (), pl.DataFrame(), {}, {}, 0, ())


class _Means(Group):
    """A point of which a table has means and intervals, not the runs."""

    def mean(self, name: str) -> Estimate | None:
        (row,), name = self.rows, name.removeprefix("_")
        ends = row.get(f"{name}_low"), row.get(f"{name}_high")
        return None if row.get(name) is None else Estimate(row[name], *ends, row["runs"])


def _word(value: object) -> str:
    """Return a value as two tables agree on it: 20.0 is 20, what is not there is empty."""
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return "" if value is None else f"{value:g}" if plain else str(value)


def _groups(study: Study, of: Sweep, table: pl.DataFrame) -> Iterator[Group]:
    """Yield the points that a table has rows of; a row is the first point's that it fits."""
    left = table.to_dicts()
    for point in of.points:
        about = {k: _word(v) for k, v in study.about(point).items() if k in table.columns}
        rows = [row for row in left if all(_word(row[k]) == v for k, v in about.items())]
        left = [row for row in left if row not in rows]
        if rows and "seed" in table.columns:
            yield Group(point, rows, len(set(of.seeds) - {row["seed"] for row in rows}))
        elif rows:
            yield _Means(point, rows[:1], max(0, len(of.seeds) - rows[0]["runs"]))


def judge(of: Sweep, table: pl.DataFrame) -> Sequence[Verdict]:
    """Return the verdicts of a sweep's study on a table; one without rows: nothing is measured."""
    study = declarations.study(of.figure)
    nothing = Found(NOTHING, of, [], study.against)
    groups = list(_groups(study, of, table))
    for column in study.against:
        if "seed" in table.columns and column.name not in table.columns:
            column.add(groups)
    try:
        return study.require(replace(nothing, groups=groups))
    except LookupError as error:
        lacks = f"the table has no column {error}"
        return [replace(verdict, detail=lacks) for verdict in study.require(nothing)]


def _simulated(table: pl.DataFrame) -> Iterator[Verdict]:
    """Yield the verdicts on bars, one for each kind of path and measure."""
    for (name, measure, bar), rows in table.group_by("name", "measure", "bar", maintain_order=True):
        made = [(row, row["path"].split()) for row in rows.to_dicts()]
        same = set[str].intersection(*(set(path) for _, path in made))
        cases = [
            Case(
                " ".join(word for word in path if word not in same),
                f"{Estimate(row['mean'], row['low'], row['high'], row['seeds']):.3g}",
                row["met"],
            )
            for row, path in made
        ]
        bound = "at least" if measure in AT_LEAST else "at most"
        yield engine.judge(f"{name}: {measure} {bound} {bar:g}", cases)


def simulated_cells(table: pl.DataFrame) -> Verdict:
    """Return the verdict on cells that were simulated, as `breadth` has it on runs."""
    lost = table.filter(~pl.col("met")).group_by("name", maintain_order=True)
    bad = [
        f"{cell}: " + ", ".join(f"{row['measure']} {row['mean']:.3g}" for row in rows.to_dicts())
        for (cell,), rows in lost
    ]
    return breadth.verdict(table["name"].n_unique(), bad)


def _of_one(table: Path, root: Path) -> tuple[str, pl.DataFrame]:
    """Return the module that made most rows of a table, and these rows."""
    rows = figures.table(root / figures.RESULTS / table)
    if column := provenance.column(rows):
        module = rows[column].drop_nulls().value_counts(sort=True).item(0, column)
        rows = rows.filter(pl.col(column).is_in([module, ""]) | pl.col(column).is_null())
        return figures.declared(root).modules.get(module, module), rows
    return ", ".join(provenance.origin(table, root).behind), rows


def _judged(root: Path) -> Iterator[tuple[str, str, str, Sequence[Verdict]]]:
    """Yield the name of each study, its table, that table's module, and the verdicts on it."""
    made = [(table, name) for table, name, _command in provenance.made(root) if name]
    for file in sorted(SWEEPS.glob("*.toml")):
        if file.stem == "axes":
            continue
        of = sweep.load(file)
        tables = [table for table, name in made if table.stem == name == of.name]
        tables = tables or [table for table, _ in made if table.stem == f"{of.name}-summary"]
        for table in tables:
            module, rows = _of_one(table, root)
            yield of.name, str(table), module, judge(of, rows)
        if not tables:
            yield of.name, "", "", judge(of, pl.DataFrame())
    if (root / figures.RESULTS / BARS).exists():
        module, rows = _of_one(BARS, root)
        yield "bars", str(BARS), module, list(_simulated(rows))
    if (root / figures.RESULTS / CELLS).exists():
        module, rows = _of_one(CELLS, root)
        yield "breadth2, simulated", str(CELLS), module, [simulated_cells(rows)]


def table(root: Path = figures.REPOSITORY) -> pl.DataFrame:
    """Return the table: a row for each requirement and table. Raises TestbedError."""
    words = {True: "met", False: "not met"}
    rows: list[Row] = [
        {
            "study": study,
            "requirement": it.requirement,
            "result": words[it.met] if it.measured else "not measured",
            "found": textwrap.shorten(it.detail, LENGTH, placeholder=" ..."),
            "table": name,
            "draw": figures.draw(name, root),
            "module": module,
        }
        for study, name, module, verdicts in _judged(root)
        for it in verdicts
    ]
    return pl.DataFrame(rows)


def check(root: Path = figures.REPOSITORY, *, write: bool = False) -> list[str]:
    """Return what is wrong with the table in docs/results; write: write it anew.

    Raises TestbedError.
    """
    own, path = table(root).write_csv(), root / figures.RESULTS / FILE
    if write:
        path.write_text(own)
        figures.table.cache_clear()
    same = path.exists() and path.read_text() == own
    return [] if same else [f"{figures.RESULTS / FILE}: it is not what the tables beside it have"]
