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
    measured = pl.col(list(numeric.MEASURES))
    return table.group_by("scheme", "eta", maintain_order=True).agg(
        pl.len().alias("runs"),
        measured.mean().name.suffix("_mean"),
        measured.min().name.suffix("_least"),
        measured.max().name.suffix("_greatest"),
    )


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
    for row in summary(table).iter_rows(named=True):
        means = [row[f"{name}_mean"] for name in numeric.MEASURES]
        cells = ["-" if mean is None else f"{100 * mean:.1f}" for mean in means]
        shown.add_row(row["scheme"], f"{row['eta']:.0%}", *cells)
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
