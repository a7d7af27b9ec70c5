# SPDX-License-Identifier: GPL-2.0-only
"""A report's tables and pictures take the place of those that docs/results keeps of its sweeps."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from dalbe_testbed.plan.sweep import PEERS, Sweep
from dalbe_testbed.report import figures, provenance
from dalbe_testbed.study.results import Results


def own(results: Results, sweeps: Sequence[Sweep]) -> pl.DataFrame:
    """Return the row per run of some sweeps, with the columns that these have."""
    wanted = {run.directory for sweep in sweeps for run in sweep.runs}
    rows = results.runs.filter(pl.Series([name in wanted for name in results.shares]))
    return rows.select(it.name for it in rows if it.null_count() < rows.height)


def _modules(results: Results, sweep: Sweep) -> list[str]:
    """Return the modules of a sweep's runs; a run without one of our flows has none."""
    return sorted(set(own(results, [sweep])["module"]) - {""})


def _lacks(results: Results, sweep: Sweep) -> str:
    """Return why a sweep's tables are not to be kept; empty if nothing is against it."""
    if missing := sum(run.directory in results.missing for run in sweep.runs):
        return f"{missing} of {len(sweep.runs)} runs are missing"
    if sweep.left_out:
        return f"without {PEERS} it leaves out {', '.join(sweep.left_out)}"
    modules = _modules(results, sweep)
    return f"of several modules: {', '.join(modules)}" if len(modules) > 1 else ""


def _copy(fresh: Path, kept: Path, module: str) -> str:
    """Copy a table, each row with its module; return why not if columns would be lost."""
    old = figures.table(kept).columns
    new = pl.read_csv(fresh, infer_schema_length=None)
    if "seed" in new.columns:
        new = new.with_columns(module=pl.lit(module))
    if lost := [name for name in old if name not in new.columns]:
        return f"the sweep makes no column {', '.join(lost)}"
    new.write_csv(kept)
    return ""


def publish(results: Results, report: Path, root: Path = figures.REPOSITORY) -> Iterator[str]:
    """Copy what docs/results keeps of these sweeps, and runs.csv beside it; yield what was done.

    report: the directory of the report. A sweep that lacks runs or peers, or is of two modules, is
    left as it is; so is a table with columns that the sweep does not make. Raises TestbedError.
    """
    good: dict[str, Sweep] = {}
    for sweep in results.sweeps:
        if why := _lacks(results, sweep):
            yield f"not copied: {sweep.name}: {why}"
        else:
            good[sweep.name] = sweep
    made = {table: name for table, name, _ in provenance.made(root) if name in good}
    copied: dict[Path, list[Sweep]] = {}
    for table, name in made.items():
        kept = root / figures.RESULTS / table
        module = "".join(_modules(results, good[name]))
        if why := _copy(report / table.name, kept, module):
            yield f"not copied: {table}: {why}"
            continue
        yield f"copied: {table}"
        copied.setdefault(kept.parent, []).append(good[name])
        picture = kept.with_name(f"{name}.png")
        if picture.exists():
            shutil.copy(report / picture.name, picture)
    for directory, sweeps in copied.items():
        if (directory / "runs.csv").exists():
            own(results, sweeps).write_csv(directory / "runs.csv")
