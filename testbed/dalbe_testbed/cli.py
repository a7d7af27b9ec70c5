# SPDX-License-Identifier: GPL-2.0-only
"""The command line of dalbe-testbed: runs, sweeps, the simulator, and docs/results."""

import tempfile
from pathlib import Path
from typing import Annotated

import polars as pl
import polars.selectors as cs
import typer
from rich.console import Console

from dalbe_testbed.errors import TestbedError
from dalbe_testbed.plan import experiment, sweep
from dalbe_testbed.run import backends, runner, workflow
from dalbe_testbed.run.scenario import Tools, with_own

app = typer.Typer(
    help="Runs dalbe's experiments in a time-travel guest and analyses them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
sweep_app = typer.Typer(help="Makes the runs of sweeps, and reports on them.", no_args_is_help=True)
app.add_typer(sweep_app, name="sweep")
console = Console()

Out = Annotated[Path, typer.Option("--out", help="Directory for the results.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="Change a key: link.rtt_ms=20, flows.file.bytes=1000000."),
]
Jobs = Annotated[
    int | None, typer.Option("--jobs", min=1, help="Guests at once; by default one per core.")
]
Seeds = Annotated[int, typer.Option("--seeds", min=1, help="How many seeds.")]
Seed = Annotated[int, typer.Option("--seed", min=0, max=99_999_999, help="First seed.")]
BackendName = Annotated[
    str, typer.Option("--backend", help=f"Where: {', '.join(backends.SCRIPTS)}.")
]
Kernel = Annotated[
    str | None,
    typer.Option("--kernel", help="uml: the guest kernel's build directory; qemu: a release."),
]
Module = Annotated[
    Path | None,
    typer.Option(exists=True, dir_okay=False, help="dalbe.ko; by default this clone's is built."),
]
Dalbectl = Annotated[
    Path | None, typer.Option(exists=True, dir_okay=False, help="dalbectl; by default likewise.")
]
Keep = Annotated[bool, typer.Option("--keep-captures", help="Keep the packet captures.")]
Check = Annotated[bool, typer.Option("--check", help="Exit with 1 if a requirement is not met.")]
Sweeps = Annotated[
    list[str],
    typer.Argument(
        help="Sweeps: names of testbed/sweeps, or TOML files; figure3-full:3 is its first 3 seeds."
    ),
]


def _show(title: str, table: pl.DataFrame) -> None:
    """Print a table, all of it."""
    plain = pl.Config(tbl_hide_column_data_types=True, tbl_hide_dataframe_shape=True)
    with plain, pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_width_chars=200, float_precision=3):
        console.print(f"{title}\n{table}", markup=False, highlight=False, soft_wrap=True)


@app.command("run")
def run_command(
    file: Annotated[Path, typer.Argument(help="The experiment, a TOML file.")],
    out: Out,
    seed: Seed = 1,
    seeds: Seeds = 1,
    settings: Settings = None,
    contender: Annotated[str | None, typer.Option(help="Run as this contender.")] = None,
    jobs: Jobs = None,
    backend: BackendName = "uml",
    kernel: Kernel = None,
    module: Module = None,
    dalbectl: Dalbectl = None,
    keep_captures: Keep = False,
) -> None:
    """Run one experiment and leave its tables in OUT."""
    what = experiment.load(file, settings)
    if contender:
        what = what.contender(contender)
    places = {n: out / f"seed{n}" if seeds > 1 else out for n in range(seed, seed + seeds)}
    for place in places.values():
        runner.check_directory(place)
    tools = with_own(Tools(backends.choose(backend, kernel), module, dalbectl), what)
    name = contender or what.name
    runs = runner.run_all(
        what, name, places, tools, workers=jobs, console=console, keep_captures=keep_captures
    )
    for (number, place), run in zip(places.items(), runs, strict=True):
        megabytes = (pl.col("payload_bytes") / 1e6).round(1).alias("MB")
        columns = ("flow", "cc", "start_s", "end_s", megabytes, "drops")
        _show(f"{name}, seed {number}: {place}", run.tables["flows"].select(columns))


@app.command("numeric")
def numeric_command(
    out: Annotated[Path, typer.Option("--out", help="Directory for table and figure.")],
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="How many seeds.")] = 10,
) -> None:
    """Repeat the framework paper's numerical experiments with the module's own controller.

    Leaves numeric.csv, a row per run; numeric-summary.csv; and numeric.png, of seed 1. Parts of 1:
    finish, of the window; gap_use, of the link while nobody else sends; gives_way, of its target
    that the transfer leaves to newcomers in their first minute; greatest_part, its rate beside
    others, in one TCP source's.
    """
    # a run, which shares this command line, need not wait for altair and cffi
    from dalbe_testbed import purecode  # noqa: PLC0415
    from dalbe_testbed.papers import numeric  # noqa: PLC0415

    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as build:
        pure = purecode.load(Path(build))
        numeric.draw(pure).save(out / "numeric.png", ppi=130)
        table = numeric.table(pure, range(1, seeds + 1))
    table.write_csv(out / "numeric.csv", float_precision=5)
    summary = numeric.summary(table)
    summary.write_csv(out / "numeric-summary.csv", float_precision=5)
    means = summary.select("scheme", "eta", cs.ends_with("_mean"))
    _show("The framework paper's numerical experiments, means over the seeds", means)
    console.print(f"Tables and figure: {out}", highlight=False)


@app.command("hunt")
def hunt_command(
    out: Out,
    seed: Seed = 1,
    runs: Annotated[int | None, typer.Option(min=1, help="How many scenarios.")] = None,
    seconds: Annotated[
        float | None, typer.Option(min=0.1, help="How long, at most; 300 without --runs.")
    ] = None,
    base: Annotated[
        str | None, typer.Option(help="In the scavenger's place: cdg, cubic, vegas, reno.")
    ] = None,
    fix: Annotated[
        list[str] | None, typer.Option("--fix", help="Fix a choice: disc=tail, ours=1.")
    ] = None,
) -> None:
    """Search the simulator for the scenarios in which the scavenger does worst.

    Leaves finds.txt, a line for each that sim/tools/grid takes, and hunt-N.toml, an experiment, for
    those that the testbed can make. The same seed and number of runs find the same.
    """
    # a run, which shares this command line, need not wait for cffi
    from dalbe_testbed import purecode  # noqa: PLC0415
    from dalbe_testbed.hunt import finds, search  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as build:
        fast = purecode.load(Path(build), "-O2", "-fno-sanitize=all")
        hunt = search.Hunt(fast, seed, base, fix)
        hunt.search(runs, seconds if seconds or runs else 300)
        console.print(f"{hunt.runs} scenarios; now what was found is shrunk", highlight=False)
        lines = finds.write(hunt, out)
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    console.print(f"{len(lines)} finds: {out}", highlight=False, soft_wrap=True)


@app.command("bars")
def bars_command(
    out: Annotated[Path, typer.Option("--out", help="The table, a CSV file.")],
    seeds: Seeds = 10,
    seed: Seed = 1,
    name: Annotated[
        str | None, typer.Option("--sweep", help="The cells of this sweep instead: breadth2.")
    ] = None,
) -> None:
    """Simulate the paths of testbed/bars.toml, and say which bars are reached."""
    from dalbe_testbed import purecode  # noqa: PLC0415
    from dalbe_testbed.hunt import bars  # noqa: PLC0415
    from dalbe_testbed.report import provenance  # noqa: PLC0415

    if not out.parent.is_dir():
        raise TestbedError(f"--out {out}: there is no directory {out.parent}")
    module, count = provenance.here(), 0
    table: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as build:
        fast = purecode.load(Path(build), "-O2", "-fno-sanitize=all")
        rows = bars.cells(sweep.load(sweep.find(name))) if name else bars.rows()
        for row, reached in bars.measure(fast, range(seed, seed + seeds), rows):
            met = row.met(reached.mean)
            count += met
            console.print(
                f"{'met   ' if met else 'missed'} {row.name}: {row.measure} {reached:.3g} "
                f"(bar {row.bar:g}) {row.path}",
                markup=False, highlight=False, soft_wrap=True,
            )  # fmt: skip
            table.append({
                "name": row.name, "path": row.path, "measure": row.measure, "bar": row.bar,
                "mean": reached.mean, "low": reached.low, "high": reached.high, "seeds": seeds,
                "met": met, "module": module,
            })  # fmt: skip
    pl.DataFrame(table).with_columns(cs.float().round_sig_figs(4)).write_csv(out)
    console.print(f"{count} of {len(table)} bars: {out}", highlight=False, soft_wrap=True)


@sweep_app.command("run")
def sweep_run_command(
    sweeps: Sweeps,
    out: Out,
    jobs: Jobs = None,
    profile: Annotated[
        Path | None, typer.Option(help="A Snakemake profile, e.g. testbed/workflow/slurm.")
    ] = None,
    dry: Annotated[
        bool, typer.Option("--dry-run", help="Only list the runs, and how long they take.")
    ] = False,
) -> None:
    """Make the runs that OUT lacks. After an interruption the same command goes on."""
    files = [sweep.find(name) for name in sweeps]
    loaded = [sweep.load(file) for file in files]
    runs = sweep.all_runs(loaded)
    if dry:
        for line in workflow.foretell(out, loaded):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
        return
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


@sweep_app.command("report")
def sweep_report_command(
    sweeps: Sweeps,
    out: Out,
    check: Check = False,
    publish: Annotated[
        bool, typer.Option("--publish", help="Copy what docs/results keeps of these sweeps there.")
    ] = False,
) -> None:
    """Write OUT/report/index.html and its tables from the runs in OUT."""
    # a run, which shares this command line, need not wait for scipy and altair
    from dalbe_testbed.report import html  # noqa: PLC0415
    from dalbe_testbed.report import publish as publishing  # noqa: PLC0415
    from dalbe_testbed.study import declarations, results  # noqa: PLC0415

    loaded = [sweep.load(sweep.find(name)) for name in sweeps]
    runs = sweep.all_runs(loaded)
    found = results.collect(out, loaded, runs)
    findings = declarations.findings(found)
    index = html.write(found, findings, list(runs.values()), out / "report")
    verdicts = html.verdicts(found, findings)
    for name, finding in findings.items():
        console.print(f"{name}: {finding.sentence}", markup=False, highlight=False)
    unmet = [verdict for verdict in verdicts if not verdict.met]
    for verdict in unmet:
        console.print(
            f"not met: {verdict.requirement}: {verdict.detail}", style="red", markup=False
        )
    said = f"{len(verdicts) - len(unmet)} of {len(verdicts)} requirements are met: {index}"
    console.print(said, highlight=False, soft_wrap=True)
    if publish:
        for line in publishing.publish(found, index.parent):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
        said = "'dalbe-testbed figures --write' fills the documents in"
        console.print(said, highlight=False, soft_wrap=True)
    if check and unmet:
        raise TestbedError(f"{len(unmet)} of {len(verdicts)} requirements are not met: see above")


@app.command("figures")
def figures_command(
    write: Annotated[bool, typer.Option("--write", help="Write the tables' figures.")] = False,
) -> None:
    """Compare the figures in README and docs with their tables in docs/results, and check these.

    docs/results/requirements.csv has to be what the others have, and drawn cells those of the first
    commit of their seed.
    """
    from dalbe_testbed.report import figures, provenance, requirements  # noqa: PLC0415

    wrong = requirements.check(write=write) + figures.check(write=write)
    wrong += [*provenance.edited_draws(), *provenance.unnamed_draws()]
    for line in wrong:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    if wrong:
        raise TestbedError(f"{len(wrong)} faults: 'dalbe-testbed figures --write' fills figures in")


@app.command("requirements")
def requirements_command(
    result: Annotated[str, typer.Option(help="met, not met, or not measured.")] = "not met",
) -> None:
    """List the requirements of all studies, by what the tables in docs/results have."""
    from dalbe_testbed.report import requirements  # noqa: PLC0415

    table = requirements.table()
    for row in table.filter(result=result).iter_rows(named=True):
        said = "{study}: {requirement}: {found} [{table} {module}]".format_map(row)
        console.print(said, markup=False, highlight=False, soft_wrap=True)
    counts = table["result"].value_counts(sort=True).rows()
    said = ", ".join(f"{count} {name}" for name, count in counts)
    console.print(f"Of {table.height} requirements: {said}", highlight=False)


@app.command("quoted")
def quoted_command(
    by_hand: Annotated[bool, typer.Option("--by-hand", help="Tables that no sweep makes.")] = False,
) -> None:
    """List the sweeps whose tables README and docs quote."""
    from dalbe_testbed.report import provenance  # noqa: PLC0415

    others = (f"{table}: {made or 'no command is kept'}" for table, made in provenance.by_hand())
    for line in others if by_hand else provenance.sweeps():
        console.print(line, markup=False, highlight=False, soft_wrap=True)


@app.command("results-check")
def results_check_command() -> None:
    """Say which module made each table in docs/results; exit with 1 if one is another's."""
    from dalbe_testbed.report import provenance  # noqa: PLC0415

    tables = list(provenance.origins())
    older = [table for table in tables if not table.is_of_here]
    for table in older:
        console.print(str(table), markup=False, highlight=False, soft_wrap=True)
    said = f"{len(tables) - len(older)} of {len(tables)} tables are of the module here"
    console.print(said, highlight=False)
    if older:
        raise TestbedError(f"{len(older)} tables are older: 'make results' makes sweeps again")


def main() -> None:
    """Run the command line; a TestbedError is one line on stderr and exit status 1."""
    try:
        app()
    except TestbedError as error:
        Console(stderr=True, soft_wrap=True).print(
            f"dalbe-testbed: {error}", style="red", highlight=False, markup=False
        )
        raise SystemExit(1) from None
