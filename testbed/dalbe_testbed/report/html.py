# SPDX-License-Identifier: GPL-2.0-only
"""The report of a reproduction: a directory with index.html, its pictures and the tables as CSV.

It needs no network. Sections on the paper come from `reproduction` and `cdg`, those on a scavenger
from the studies' findings.
"""

import itertools
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import polars as pl
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from dalbe_testbed.papers.cdg import MODULES, SETUP
from dalbe_testbed.plan.sweep import Run, Sweep
from dalbe_testbed.report import cdg
from dalbe_testbed.report.pictures import DRAW
from dalbe_testbed.study import reproduction
from dalbe_testbed.study.declarations import Findings
from dalbe_testbed.study.engine import Finding, Verdict, rounded
from dalbe_testbed.study.reproduction import POINTS, Effect
from dalbe_testbed.study.results import Results, Row

NO_RUN, WHOLES = "no run", ("of the link", "of TCP's")
DEADLINE_KINDS = {"deadline", "five", "goals", "model", "robust", "scoreboard", "sessions"}
"""Kinds of sweeps that are about deadlines."""


@dataclass(frozen=True)
class Table:
    """Rows of text under a header; `bad` are the rows to be marked."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    bad: frozenset[int]


@dataclass(frozen=True)
class Section:
    """A part of the report: what was found, the picture that shows it, the figures behind it."""

    title: str
    finding: str
    pictures: Sequence[str] = ()
    table: Table | None = None


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


def _table(rows: Sequence[Row]) -> Table:
    """Return rows as the report has them: a column for each name in the first, but of `_within`.

    Bounds of an interval are beside its mean. Marked is what is not `met`, or not `_within`.
    """
    first = rows[0] if rows else {}
    bounds = {f"{name}_{end}" for name in first for end in ("low", "high")}
    names = [name for name in first if name not in bounds and name != "_within"]
    return Table(
        names,
        [[_cell(row, name) for name in names] for row in rows],
        frozenset(n for n, row in enumerate(rows) if False in (row.get("met"), row.get("_within"))),
    )


def _table_1(results: Results, out: Path) -> Section:
    cdg.table_1(results, out / "table1.png")
    found = reproduction.deviations(results, "Table I")
    rows: dict[tuple[float, str], Row] = {}
    for it in found:
        usual: Row = {
            "base RTT, ms": it.rtt_ms,
            "bound": it.which,
            "paper, %": f"{it.percent:g}",
            "tolerance, points": f"{it.allowed:.1f}",
            **{f"{name}, % {of}": "not planned" for name in MODULES.values() for of in WHOLES},
        }
        row = rows.setdefault((it.rtt_ms, it.which), usual)
        for of, estimate in zip(WHOLES, (it.ours, it.of_tcp), strict=True):
            row[f"{MODULES[it.module]}, % {of}"] = estimate or NO_RUN
        row["_within"] = row.get("_within", True) and it.within
    said = reproduction.say_table_1(results)
    return Section("Table I: the tuning range", said, ["table1.png"], _table([*rows.values()]))


def _figure_3(results: Results, sweep: Sweep, out: Path) -> Section:
    found = reproduction.curves(results, sweep)
    cdg.figure_3(found, out / f"{sweep.name}.png")
    gs = sorted({g for curve in found for g in curve.shares})
    rows: list[Row] = [
        {"curve": curve.name} | {f"G = {g:g}": means.get(g, "") for g in gs}
        for curve in found
        for means in [curve.means]
    ]
    return Section(
        f"Figure 3: {sweep.title[0].lower()}{sweep.title[1:]}",
        reproduction.say_curves(found),
        [f"{sweep.name}.png"] if any(curve.shares for curve in found) else [],
        _table(rows),
    )


def _figure_2(results: Results, out: Path) -> list[Section]:
    sections = []
    for module, name in MODULES.items():
        if reproduction.figure_2_points(results, module):
            picture = f"figure2-{module}.png"
            cdg.figure_2(results, module, out / picture)
            said = reproduction.say_figure_2(results, module)
            sections.append(Section(f"Figure 2: share over time, {name}", said, [picture]))
    return sections


def _ablation(results: Results, sweep: Sweep, found: Sequence[Effect], out: Path) -> Section:
    cdg.ablation(results, sweep, out / f"{sweep.name}.png")
    rows: list[Row] = [
        {
            "changed to": str(effect.value),
            "from": str(effect.base),
            "G, ms": f"{effect.g_ms:g}",
            "changes the share by, points": effect.change,
            "beyond the interval": effect.beyond_doubt,
            "agrees within the spread": effect.agrees,
        }
        for effect in found
    ]
    return Section(
        f"{'Backend' if sweep.vary == 'backend' else 'Ablation'}: {sweep.title.lower()}",
        reproduction.say_effects(sweep, found),
        [f"{sweep.name}.png"],
        _table(rows),
    )


def _measured(sweep: Sweep, found: Finding, out: Path) -> Section:
    for suffix, table in found.tables():
        rounded(table).write_csv(out / f"{sweep.name}{suffix}.csv")
    if found.summary.is_empty():
        return Section(sweep.title, found.sentence)
    DRAW[sweep.figure](found, out / f"{sweep.name}.png")
    rows = _table(found.summary.to_dicts())
    return Section(sweep.title, found.sentence, [f"{sweep.name}.png"], rows)


def _other(results: Results, sweep: Sweep) -> Section:
    """Return a sweep that is no figure of the paper's: its points."""
    rows: list[Row] = [
        {
            "point": group.point.name,
            "runs": len(group.rows),
            "one flow, %": group.mean("one_percent") or NO_RUN,
            "all flows of sender, %": group.mean("both_percent") or NO_RUN,
        }
        for group in map(results.at, sweep.points)
    ]
    there = sum(row["runs"] > 0 for row in rows)
    said = f"{there} of {len(rows)} points have runs."
    return Section(sweep.title, said, table=_table(rows))


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
    found = [_table_1(results, out)] if reproduction.deviations(results, "Table I") else []
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
    stated = [reproduction.deviations(results, where) for where in ("Table I", "Figure 2")]
    rows: list[Row] = [
        {
            "value": item.where,
            "module": MODULES[item.module],
            "G, ms": f"{item.g_ms:g}",
            "RTT, ms": f"{item.rtt_ms:g}",
            "paper, %": f"{item.percent:g}",
            "ours, %": item.ours or NO_RUN,
            f"difference, {POINTS}": None if item.ours is None else f"{item.difference:+.1f}",
            "likely cause": reproduction.likely_cause(item, effects),
            "_within": item.within,
        }
        for item in itertools.chain(*stated)
    ]
    return _table(rows)


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
    judged = verdicts(results, findings)
    pl.DataFrame([asdict(verdict) for verdict in judged]).write_csv(out / "verdicts.csv")
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
        verdicts=judged,
        largest=reproduction.say_largest(results),
        missing=results.missing,
        planned=results.planned,
        provenance=results.provenance(),
        paper_setup=SETUP,
        replay=[(run.point.name, run.replay()) for run in reversed(first.values())],
        tables=sorted(path.name for path in out.glob("*.csv")),
    )
    index = out / "index.html"
    index.write_text(text)
    return index
