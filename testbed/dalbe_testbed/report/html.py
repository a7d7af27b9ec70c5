# SPDX-License-Identifier: GPL-2.0-only
"""The report of a reproduction: a directory with index.html, its pictures and the tables as CSV.

It needs no network. Sections on the paper come from `reproduction` and `cdg`, those on a scavenger
from the studies' findings.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from dalbe_testbed.papers import cdg as paper
from dalbe_testbed.papers.cdg import MODULES
from dalbe_testbed.plan.sweep import Run, Sweep
from dalbe_testbed.report import cdg
from dalbe_testbed.report.pictures import DRAW
from dalbe_testbed.study import reproduction
from dalbe_testbed.study.declarations import Findings
from dalbe_testbed.study.engine import Finding, rounded
from dalbe_testbed.study.reproduction import POINTS, Deviation, Effect
from dalbe_testbed.study.results import Results
from dalbe_testbed.study.verdict import Verdict

DEADLINE_KINDS = {"deadline", "five", "goals", "model", "robust", "scoreboard", "sessions"}
"""Kinds of sweeps that are about deadlines."""


@dataclass(frozen=True)
class Table:
    """Rows of text under a header; `bad` are the rows to be marked."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    bad: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Section:
    """A part of the report: what was found, the picture that shows it, the figures behind it."""

    title: str
    finding: str
    pictures: Sequence[str] = ()
    table: Table | None = None


def _signed(difference: float | None) -> str:
    return "-" if difference is None else f"{difference:+.1f}"


def _table_1(results: Results, out: Path) -> Section:
    cdg.table_1(results, out / "table1.png")
    rows: list[list[str]] = []
    bad: set[int] = set()
    for bound, row in reproduction.table_1(results):
        cells = [f"{bound.rtt_ms}", bound.which, f"{bound.percent:g}"]
        cells.append(f"{paper.tolerance_points(bound.percent):.1f}")
        for module in MODULES:
            deviation = row.get(module)
            cells.append(str(deviation.ours or "no run") if deviation else "not planned")
            if deviation and not deviation.within:
                bad.add(len(rows))
            cells.append(str(deviation.of_tcp or "no run") if deviation else "not planned")
        rows.append(cells)
    ours = [f"{name}, % {of}" for name in MODULES.values() for of in ("of the link", "of TCP's")]
    header = ("base RTT, ms", "bound", "paper, %", "tolerance, points", *ours)
    return Section(
        "Table I: the tuning range",
        reproduction.say_table_1(results),
        ["table1.png"],
        Table(header, rows, frozenset(bad)),
    )


def _figure_3(results: Results, sweep: Sweep, out: Path) -> Section:
    found = reproduction.curves(results, sweep)
    cdg.figure_3(found, out / f"{sweep.name}.png")
    gs = sorted({g for curve in found for g in curve.g_ms})
    rows = []
    for curve in found:
        at = dict(zip(curve.g_ms, curve.estimates, strict=True))
        cells = [str(at[g]) if g in at else "" for g in gs]
        rows.append([curve.name, *cells])
    return Section(
        f"Figure 3: {sweep.title[0].lower()}{sweep.title[1:]}",
        reproduction.say_curves(found),
        [f"{sweep.name}.png"] if any(curve.points for curve in found) else [],
        Table(("curve", *(f"G = {g:g}" for g in gs)), rows),
    )


def _figure_2(results: Results, out: Path) -> list[Section]:
    sections = []
    for module, name in MODULES.items():
        if reproduction.figure_2_points(results, module):
            cdg.figure_2(results, module, out / f"figure2-{module}.png")
            sections.append(
                Section(
                    f"Figure 2: share over time, {name}",
                    reproduction.say_figure_2(results, module),
                    [f"figure2-{module}.png"],
                )
            )
    return sections


def _ablation(results: Results, sweep: Sweep, found: Sequence[Effect], out: Path) -> Section:
    cdg.ablation(results, sweep, out / f"{sweep.name}.png")
    rows = [
        [
            str(effect.value),
            str(effect.base),
            f"{effect.g_ms:g}",
            str(effect.change),
            "yes" if effect.beyond_doubt else "no",
            "yes" if effect.agrees else "no",
        ]
        for effect in found
    ]
    header = ("changed to", "from", "G, ms", "changes the share by, points", "beyond the interval")
    return Section(
        f"{'Backend' if sweep.vary == 'backend' else 'Ablation'}: {sweep.title.lower()}",
        reproduction.say_effects(sweep, found),
        [f"{sweep.name}.png"],
        Table((*header, "agrees within the spread"), rows),
    )


def _cell(row: dict[str, object], name: str) -> str:
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


def _table(summary: pl.DataFrame) -> Table:
    """Return a finding's summary; marked is what is not `met`, if it has such a column."""
    bounds = {f"{name}_{end}" for name in summary.columns for end in ("low", "high")}
    names = [name for name in summary.columns if name not in bounds]
    rows = list(summary.iter_rows(named=True))
    return Table(
        names,
        [[_cell(row, name) for name in names] for row in rows],
        frozenset(number for number, row in enumerate(rows) if row.get("met") is False),
    )


def _measured(sweep: Sweep, found: Finding, out: Path) -> Section:
    for suffix, table in found.tables():
        rounded(table).write_csv(out / f"{sweep.name}{suffix}.csv")
    there = not found.summary.is_empty()
    if there:
        DRAW[sweep.figure](found, out / f"{sweep.name}.png")
    return Section(
        sweep.title,
        found.sentence,
        [f"{sweep.name}.png"] if there else [],
        _table(found.summary) if there else None,
    )


def _other(results: Results, sweep: Sweep) -> Section:
    """Return a sweep that is no figure of the paper's: its points."""
    rows = []
    for point in sweep.points:
        shares = results.shares.get(point.directory)
        one, both = (
            (str(shares.estimate("one")), str(shares.estimate("both")))
            if shares
            else ("no run", "no run")
        )
        rows.append([point.name, f"{len(shares.both) if shares else 0}", one, both])
    there = sum(point.directory in results.shares for point in sweep.points)
    return Section(
        sweep.title,
        f"{there} of {len(sweep.points)} points have runs.",
        table=Table(("point", "runs", "one flow, %", "all flows of sender, %"), rows),
    )


def _title(results: Results) -> str | None:
    """Return the title of a report that has nothing of the CDG paper; None for the others."""
    figures = {sweep.figure for sweep in results.sweeps} - {None}  # a table is of no paper
    if not figures or not figures <= DRAW.keys():
        return None
    if len(results.sweeps) == 1:
        return results.sweeps[0].title
    deadlines = figures <= DEADLINE_KINDS
    return "Do deadlines hold?" if deadlines else "What a scavenger must show"


def sections(results: Results, findings: Findings, out: Path) -> list[Section]:
    """Return the report's sections, having drawn their pictures into `out`."""
    found = [_table_1(results, out)] if reproduction.table_1(results) else []
    for sweep in results.sweeps:
        match sweep.figure:
            case "figure3":
                found.append(_figure_3(results, sweep, out))
            case None:
                found.append(_other(results, sweep))
            case kind if kind in DRAW:
                found.append(_measured(sweep, findings[sweep.name], out))
    found += _figure_2(results, out)
    found += [_ablation(results, *ablation, out) for ablation in reproduction.ablations(results)]
    return found


def deviations(results: Results) -> Table:
    """Return every value that the paper states beside ours, with what may explain a difference."""
    effects = [effect for _sweep, found in reproduction.ablations(results) for effect in found]
    found: list[Deviation] = [
        deviation for _bound, row in reproduction.table_1(results) for deviation in row.values()
    ] + reproduction.figure_2_deviations(results)
    rows = [
        [
            item.where,
            MODULES[item.module],
            f"{item.g_ms:g}",
            f"{item.rtt_ms:g}",
            f"{item.paper:g}",
            str(item.ours or "no run"),
            _signed(item.difference),
            reproduction.likely_cause(item, effects),
        ]
        for item in found
    ]
    header = ("value", "module", "G, ms", "RTT, ms", "paper, %", "ours, %", "difference, " + POINTS)
    bad = frozenset(index for index, item in enumerate(found) if not item.within)
    return Table((*header, "likely cause"), rows, bad)


def verdicts(results: Results, findings: Findings) -> list[Verdict]:
    """Return the verdict on everything that the sweeps were to show."""
    own = [verdict for found in findings.values() for verdict in found.verdicts]
    return reproduction.verdicts(results) + own


def write(results: Results, findings: Findings, runs: Sequence[Run], out: Path) -> Path:
    """Write the report into the directory `out`; return its index.html.

    Beside it go the pictures, runs.csv with all shares of all runs, table1.csv, a CSV per Figure 3
    and a finding's tables. findings: of the scavenger's sweeps. runs: all that were planned.
    """
    out.mkdir(parents=True, exist_ok=True)
    results.runs.write_csv(out / "runs.csv")
    table_1 = reproduction.table_1_frame(results)
    if not table_1.is_empty():
        table_1.write_csv(out / "table1.csv")
    for sweep in results.sweeps:
        if sweep.figure == "figure3":
            reproduction.points_frame(results, sweep).write_csv(out / f"{sweep.name}.csv")
    environment = Environment(
        loader=PackageLoader("dalbe_testbed.report"),
        autoescape=select_autoescape(enabled_extensions=("html", "j2")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    first = {run.point.directory: run for run in reversed(runs)}
    text = environment.get_template("report.html.j2").render(
        title=_title(results),
        sections=sections(results, findings, out),
        deviations=deviations(results),
        verdicts=verdicts(results, findings),
        largest=reproduction.say_largest(results),
        missing=results.missing,
        planned=results.planned,
        provenance=results.provenance(),
        paper_setup=paper.SETUP,
        replay=[(run.point.name, run.replay()) for run in reversed(first.values())],
        tables=sorted(path.name for path in out.glob("*.csv")),
    )
    index = out / "index.html"
    index.write_text(text)
    return index
