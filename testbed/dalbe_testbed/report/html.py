# SPDX-License-Identifier: GPL-2.0-only
"""The report of some sweeps: a directory with index.html, its pictures and the tables as CSV.

It needs no network.
"""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import get_args

import polars as pl
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from dalbe_testbed.papers.cdg import SETUP
from dalbe_testbed.plan.sweep import OfDeadlines, OfPaper, Run, Sweep
from dalbe_testbed.study import declarations
from dalbe_testbed.study.declarations import Findings
from dalbe_testbed.study.engine import Finding, Verdict
from dalbe_testbed.study.results import Results, Row


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


def _header(summary: pl.DataFrame) -> list[str]:
    """Return the columns to show: bounds of an interval are beside its mean."""
    bounds = {f"{name}_{end}" for name in summary.columns for end in ("low", "high")}
    return [name for name in summary.columns if name not in bounds]


def _write(sweep: Sweep, found: Finding, out: Path) -> str | None:
    """Write a sweep's tables and picture into `out`; return the picture's name if there is one."""
    for suffix, table in found.tables():
        table.with_columns(pl.col(pl.Float64).round(5)).write_csv(out / f"{sweep.name}{suffix}.csv")
    study = declarations.study(sweep.figure)
    if study.draw is None or found.summary.is_empty():
        return None
    picture = f"{sweep.name}.png"
    study.draw(found).save(out / picture, ppi=130)
    if study.front:
        study.front(found).save(out / f"{sweep.name}-front.png", ppi=130)
    return picture


def _title(results: Results) -> str:
    """Return what the report is called: by its only sweep, or by what all are about."""
    if len(results.sweeps) == 1:
        return results.sweeps[0].title
    figures = {sweep.figure for sweep in results.sweeps}
    if figures & set(get_args(OfPaper)):
        return "The CDG paper, reproduced"
    deadlines = figures <= set(get_args(OfDeadlines))
    return "Do deadlines hold?" if deadlines else "Requirements of a scavenger"


def verdicts(results: Results, findings: Findings) -> list[Verdict]:
    """Return the verdict on everything that the sweeps were to show."""
    missing = len(results.missing)
    there = Verdict(f"all {results.planned} runs are there", not missing, f"{missing} are missing")
    most = max(map(len, results.modules().values()), default=0)
    one = Verdict("no kernel had two versions of the module", most <= 1, f"{most} at most")
    return [there, one, *(verdict for found in findings.values() for verdict in found.verdicts)]


def write(results: Results, findings: Findings, runs: Sequence[Run], out: Path) -> Path:
    """Write the report into the directory `out`; return its index.html.

    Beside it go the pictures, runs.csv with all shares of all runs, verdicts.csv and the findings'
    tables. runs: all that were planned.
    """
    out.mkdir(parents=True, exist_ok=True)
    results.runs.write_csv(out / "runs.csv")
    judged = verdicts(results, findings)
    pl.DataFrame([asdict(verdict) for verdict in judged]).write_csv(out / "verdicts.csv")
    pictures = {sweep.name: _write(sweep, findings[sweep.name], out) for sweep in results.sweeps}
    environment = Environment(
        loader=PackageLoader("dalbe_testbed.report"),
        autoescape=select_autoescape(enabled_extensions=("html", "j2")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"cell": _cell, "header": _header}
    of_paper = any(sweep.figure in get_args(OfPaper) for sweep in results.sweeps)
    written = [f"{s.name}{end}.csv" for s in results.sweeps for end, _ in findings[s.name].tables()]
    first = {run.point.directory: run for run in reversed(runs)}
    text = environment.get_template("report.html.j2").render(
        title=_title(results),
        sweeps=results.sweeps,
        findings=findings,
        pictures=pictures,
        verdicts=judged,
        missing=results.missing,
        planned=results.planned,
        provenance=results.provenance(),
        paper_setup=SETUP if of_paper else {},
        replay=[(run.point.name, run.replay()) for run in reversed(first.values())],
        tables=sorted(["runs.csv", "verdicts.csv", *written]),
    )
    index = out / "index.html"
    index.write_text(text)
    return index
