# SPDX-License-Identifier: GPL-2.0-only
"""The command line's part for the numerical experiments: dalbe-testbed numeric."""

import tempfile
from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from rich import box
from rich.console import Console
from rich.table import Table

from dalbe_testbed.papers import framework, numeric

console = Console()


def summary(table: pl.DataFrame) -> pl.DataFrame:
    """Return a row per scheme and eta: runs, and of each measure mean, least and greatest."""
    measured = [pl.col(name) for name in numeric.MEASURES]
    return table.group_by("scheme", "eta", maintain_order=True).agg(
        pl.len().alias("runs"),
        *(value.mean().name.suffix("_mean") for value in measured),
        *(value.min().name.suffix("_least") for value in measured),
        *(value.max().name.suffix("_greatest") for value in measured),
    )


def _cell(parts: pl.Series) -> str:
    known = [100 * value for value in parts.drop_nulls()]
    if not known:
        return "-"
    return f"{sum(known) / len(known):.1f}"


def _shown(table: pl.DataFrame) -> Table:
    shown = Table(
        title="The framework paper's numerical experiments, means over the seeds",
        caption="done: % of the window; gap: % of the link while nobody else sends; gives "
        "way: % of its target left to newcomers in their first minute; at most: rate "
        "beside others, in % of one TCP source's",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    for column in ("", "size", "done", "gap", "gives way", "at most"):
        shown.add_column(column, justify="left" if not column else "right", no_wrap=True)
    for scheme in numeric.SCHEMES:
        for eta in framework.ETAS:
            rows = table.filter(pl.col("scheme") == scheme.name, pl.col("eta") == eta)
            cells = [_cell(rows[name]) for name in numeric.MEASURES]
            shown.add_row(scheme.name, f"{eta:.0%}", *cells)
    return shown


def numeric_command(
    out: Annotated[Path, typer.Option("--out", help="Directory for table and figure.")],
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="How many seeds.")] = 10,
) -> None:
    """Repeat the framework paper's numerical experiments with the module's own controller.

    Leaves numeric.csv, a row per run; numeric-summary.csv; and numeric.png, of seed 1.
    """
    # a run, which shares this command line, need not wait for matplotlib and cffi
    from dalbe_testbed import purecode  # noqa: PLC0415
    from dalbe_testbed.report import numeric as figures_numeric  # noqa: PLC0415

    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as build:
        pure = purecode.load(Path(build))
        runs = {
            (scheme.name, eta): numeric.simulate(pure, scheme, eta, 1)
            for scheme in numeric.SCHEMES
            for eta in framework.ETAS
        }
        table = numeric.table(pure, range(1, seeds + 1))
    figures_numeric.draw(runs, out / "numeric.png")
    table.write_csv(out / "numeric.csv", float_precision=5)
    summary(table).write_csv(out / "numeric-summary.csv", float_precision=5)
    console.print(_shown(table))
    console.print(f"Tables and figure: {out}", highlight=False)
