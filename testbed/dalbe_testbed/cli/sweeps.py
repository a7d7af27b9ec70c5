# SPDX-License-Identifier: GPL-2.0-only
"""The command line's part for sweeps: dalbe-testbed sweep run, report."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from dalbe_testbed.errors import TestbedError
from dalbe_testbed.plan import sweep
from dalbe_testbed.run import workflow

app = typer.Typer(help="Makes the runs of sweeps, and reports on them.", no_args_is_help=True)
console = Console()

Sweeps = Annotated[
    list[str],
    typer.Argument(
        help="Sweeps: names of testbed/sweeps, or TOML files; figure3-full:3 is its first 3 seeds."
    ),
]
Out = Annotated[Path, typer.Option("--out", help="Directory of the runs and the report.")]


@app.command("run")
def run_command(
    sweeps: Sweeps,
    out: Out,
    jobs: Annotated[int | None, typer.Option(min=1, help="Guests at once: all cores.")] = None,
    profile: Annotated[
        Path | None, typer.Option(help="A Snakemake profile, e.g. testbed/workflow/slurm.")
    ] = None,
) -> None:
    """Make the runs that OUT lacks. After an interruption the same command goes on."""
    files = [sweep.find(name) for name in sweeps]
    runs = sweep.all_runs(map(sweep.load, files))
    try:
        workflow.make(files, runs, out.resolve(), console=console, jobs=jobs, profile=profile)
    except KeyboardInterrupt:
        raise TestbedError(
            f"stopped: {sum(workflow.finished(out, name) for name in runs)} of {len(runs)} runs "
            "are there; the same command goes on"
        ) from None
    missing = [name for name in runs if not workflow.finished(out, name)]
    if missing:
        raise TestbedError(
            f"{len(missing)} of {len(runs)} runs have no result, the first of them {missing[0]}: "
            f"{workflow.reason(out, missing[0])}; the same command tries them again"
        )


@app.command("report")
def report_command(
    sweeps: Sweeps,
    out: Out,
    check: Annotated[
        bool, typer.Option("--check", help="Exit with 1 if a requirement is not met.")
    ] = False,
) -> None:
    """Write OUT/report/index.html and its tables from the runs in OUT."""
    # a run, which shares this command line, need not wait for scipy and matplotlib
    from dalbe_testbed.report import html  # noqa: PLC0415
    from dalbe_testbed.study import declarations, results  # noqa: PLC0415

    loaded = [sweep.load(sweep.find(name)) for name in sweeps]
    runs = sweep.all_runs(loaded)
    found = results.collect(out, loaded, runs)
    findings = declarations.findings(found)
    index = html.write(found, findings, list(runs.values()), out / "report")
    verdicts = html.verdicts(found, findings)
    unmet = [verdict for verdict in verdicts if not verdict.met]
    for verdict in unmet:
        console.print(
            f"not met: {verdict.requirement}: {verdict.detail}", style="red", markup=False
        )
    said = f"{len(verdicts) - len(unmet)} of {len(verdicts)} requirements are met: {index}"
    console.print(said, highlight=False, soft_wrap=True)
    if check and unmet:
        raise TestbedError(f"{len(unmet)} of {len(verdicts)} requirements are not met: see above")
