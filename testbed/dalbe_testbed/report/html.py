# SPDX-License-Identifier: GPL-2.0-only
"""The report of some sweeps: a directory with index.html, its pictures and the tables as CSV.

It needs no network.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import get_args

import polars as pl
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from dalbe_testbed.papers.cdg import SETUP
from dalbe_testbed.plan.sweep import OfDeadlines, OfPaper, Run, Sweep
from dalbe_testbed.study import declarations
from dalbe_testbed.study.declarations import Findings
from dalbe_testbed.study.engine import Finding, Verdict, rounded
from dalbe_testbed.study.results import Results, Row


@dataclass(frozen=True)
class Section:
    """A part of the report: what was found, the picture that shows it, the figures behind it.

    bad: rows to be marked.
    """

    title: str
    finding: str
    picture: str | None
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    bad: frozenset[int]


def _cell(row: Row, name: str) -> str:
    """Write a value as the report has it, a mean with its interval."""
    value = row[name]
    low, high = row.get(f"{name}_low"), row.get(f"{name}_high")
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case float() if low is not None:
            return f"{value:.3g} [{low:.3g}, {high:.3g}]"
        case float():
            return f"{value:.4g}"
    return str(value)


def _section(sweep: Sweep, found: Finding, out: Path) -> Section:
    """Return a sweep's section, having drawn its picture and written its tables into `out`.

    Bounds of an interval are beside its mean. Marked are points that are not `met`.
    """
    for suffix, table in found.tables():
        rounded(table).write_csv(out / f"{sweep.name}{suffix}.csv")
    draw = declarations.study(sweep.figure).draw
    picture = f"{sweep.name}.png" if draw and not found.summary.is_empty() else None
    if draw and picture:
        draw(found, out / picture)
    rows, names = found.summary.to_dicts(), found.summary.columns
    bounds = {f"{name}_{end}" for name in names for end in ("low", "high")}
    header = [name for name in names if name not in bounds]
    cells = [[_cell(row, name) for name in header] for row in rows]
    bad = frozenset(n for n, row in enumerate(rows) if row.get("met") is False)
    return Section(sweep.title, found.sentence, picture, header, cells, bad)


def _title(results: Results) -> str:
    """Return what the report is called: by its only sweep, or by what all are about."""
    if len(results.sweeps) == 1:
        return results.sweeps[0].title
    figures = {sweep.figure for sweep in results.sweeps}
    if figures & set(get_args(OfPaper)):
        return "The CDG paper, reproduced"
    deadlines = figures <= set(get_args(OfDeadlines))
    return "Do deadlines hold?" if deadlines else "What a scavenger must show"


def verdicts(results: Results, findings: Findings) -> list[Verdict]:
    """Return the verdict on everything that the sweeps were to show."""
    missing = len(results.missing)
    there = Verdict(f"all {results.planned} runs are there", not missing, f"{missing} are missing")
    return [there, *(verdict for found in findings.values() for verdict in found.verdicts)]


def write(results: Results, findings: Findings, runs: Sequence[Run], out: Path) -> Path:
    """Write the report into the directory `out`; return its index.html.

    Beside it go the pictures, runs.csv with all shares of all runs, verdicts.csv and the findings'
    tables. runs: all that were planned.
    """
    out.mkdir(parents=True, exist_ok=True)
    results.runs.write_csv(out / "runs.csv")
    judged = verdicts(results, findings)
    pl.DataFrame([asdict(verdict) for verdict in judged]).write_csv(out / "verdicts.csv")
    sections = [_section(sweep, findings[sweep.name], out) for sweep in results.sweeps]
    environment = Environment(
        loader=PackageLoader("dalbe_testbed.report"),
        autoescape=select_autoescape(enabled_extensions=("html", "j2")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    of_paper = any(sweep.figure in get_args(OfPaper) for sweep in results.sweeps)
    first = {run.point.directory: run for run in reversed(runs)}
    text = environment.get_template("report.html.j2").render(
        title=_title(results),
        sections=sections,
        verdicts=judged,
        missing=results.missing,
        planned=results.planned,
        provenance=results.provenance(),
        paper_setup=SETUP if of_paper else {},
        replay=[(run.point.name, run.replay()) for run in reversed(first.values())],
        tables=sorted(path.name for path in out.glob("*.csv")),
    )
    index = out / "index.html"
    index.write_text(text)
    return index
