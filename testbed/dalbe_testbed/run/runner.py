# SPDX-License-Identifier: GPL-2.0-only
"""Runs: from an experiment and a seed to a directory of tables, one or several at once.

The directory holds

    manifest.json        what was run: kernel, module, tools, seed, parameters
    rates.parquet        bytes, rates, drops and marks of every flow per bin
    queue.parquet        queueing delay, occupancy and drops at the bottleneck per bin
    connections.parquet  cwnd, srtt of every TCP flow, twice a second
    rounds.parquet       dalbe_cdg: RTTs, gradients, G and backoffs of every RTT round
    control.parquet      dalbe_cdg under a goal: every update of w
    losses.parquet       dalbe_cdg: every loss or mark that it met, and the answer
    back.parquet         connections, seen from the receiver, of flows with data both ways
    voice.parquet        when each packet of [voice] reached the bottleneck, and its delay there
    requests.parquet     when each of [short_flows] started and was over
    web.parquet          likewise of [web], the objects of either direction
    transfers.parquet    likewise of flows that transfer again and again
    flows.parquet        when each flow started and ended, and what it carried
    run.flent.gz         the same over time, for flent
    link.json            the proof of the link
    kernel.log           of the guest
    guest/               what else the guest wrote; input/ what it was given

No table depends on the wall clock: the same manifest gives the same tables byte for byte.
"""

import hashlib
import json
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path

import polars as pl
from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Display

from dalbe_testbed.errors import TestbedError
from dalbe_testbed.paths import TESTBED
from dalbe_testbed.plan.experiment import Experiment
from dalbe_testbed.reduce import tables
from dalbe_testbed.reduce.tables import Run
from dalbe_testbed.run import scenario
from dalbe_testbed.run.backends import sha256
from dalbe_testbed.run.scenario import Tools

KERNEL_FAULT = re.compile(  # its line
    r"(?im)^.*(?:BUG:|WARNING:|Oops|KASAN|UBSAN|lockdep|general protection|Out of memory).*$"
)
SOURCES = ("*.sh", "*/*.sh", "guest/*.c", "guest/*.py", "dalbe_testbed/**/*.py")
BULKY = ("guest/*.pcap", "guest/tcp.*", "guest/trace", "input/*.bin")  # tables do without
LIMIT_AFTER_S = 120  # of a run's own end: for the proof of the link, and for the captures
TOOLS = ("ITGSend", "iperf", "rsync", "tcpdump", "ip", "ethtool", "bash")
PACKAGES = {"ITGSend": "d-itg", "ip": "iproute2"}  # of the others: the tool's name
VERSION = {"ITGSend": "-h", "ip": "-V"}  # of the others: --version

Progress = Callable[[str, float], None]  # called with the stage of a run and T in virtual seconds


@cache
def _testbed_sha256() -> str:
    """Hash what plays and reduces a run: scripts, helper programs, this package."""
    paths = sorted(path for kind in SOURCES for path in TESTBED.glob(kind))
    texts = (f"{path.relative_to(TESTBED)}\0".encode() + path.read_bytes() for path in paths)
    return hashlib.sha256(b"".join(texts)).hexdigest()


@cache
def _version(tool: str) -> str:
    words = [tool, VERSION.get(tool, "--version")]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=10)
    except FileNotFoundError:
        package = PACKAGES.get(tool, tool)
        raise TestbedError(f"{tool} is missing: type 'apt-get install {package}'") from None
    except subprocess.TimeoutExpired:
        raise TestbedError(f"'{' '.join(words)}' has not ended after 10 s") from None
    lines = (done.stdout + done.stderr).strip().splitlines()
    return lines[0].strip() if lines else "unknown"


def _commit(module: Path) -> str | None:
    """Return the commit that scripts/guest-module.sh has written beside a module, if it has."""
    path = module.with_name("commit")
    return (path.read_text().strip() or None) if path.is_file() else None


def manifest(experiment: Experiment, seed: int, tools: Tools) -> dict[str, object]:
    """Return what decides the outcome of a run, as it goes into manifest.json."""
    return {
        "experiment": experiment.model_dump(mode="json", exclude_none=True),
        "seed": seed,
        **tools.backend.describe(),
        "testbed_sha256": _testbed_sha256(),
        "module_sha256": sha256(tools.module) if tools.module else None,
        "module_commit": _commit(tools.module) if tools.module else None,
        "dalbectl_sha256": sha256(tools.dalbectl) if tools.dalbectl else None,
        "tools": {tool: _version(tool) for tool in TOOLS},
    }


def check_directory(out: Path) -> None:
    """Raise TestbedError if a directory has files, and none that a run of ours leaves."""
    ours = ("manifest.json", "input/schedule", "kernel.log", "lock")  # the last: a workflow's
    if out.is_dir() and any(out.iterdir()) and not any((out / name).exists() for name in ours):
        raise TestbedError(f"{out}: not empty, and no run's: name a new or an empty directory")


def _clear(out: Path) -> None:
    """Remove what an earlier run left, its manifest first."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "manifest.json").unlink(missing_ok=True)
    for table in out.glob("*.parquet"):
        table.unlink()
    for part in ("guest", "input"):
        shutil.rmtree(out / part, ignore_errors=True)


def run(
    experiment: Experiment,
    seed: int,
    out: Path,
    tools: Tools,
    *,
    name: str | None = None,
    keep_captures: bool = False,
    progress: Progress | None = None,
) -> Run:
    """Run an experiment once, in a guest of its own, into the directory `out`.

    An earlier run in `out` is replaced; manifest.json comes last, so a directory that has it has
    all. Raises TestbedError if the guest fails, the link was not as configured, a flow sent
    nothing, a file arrived damaged or the disk is full: no half results.
    """
    name = name or experiment.name
    report = progress or (lambda _stage, _t: None)
    report("preparing", 0.0)
    try:
        tools = replace(tools, backend=tools.backend.on_clock(experiment.clock))
        _clear(out)
        description = json.dumps(manifest(experiment, seed, tools), indent=2)
        flows = scenario.write(experiment, seed, tools, out / "input")
        report("running", 0.0)
        tools.backend.run(
            out / "input",
            out / "guest",
            name=f"{name} seed {seed}",
            seed=seed,
            limit_s=round(experiment.end_s) + LIMIT_AFTER_S,
            bits=round(experiment.end_s * experiment.link.rate_bps),
            progress=lambda t_s: report("running", t_s),
        )
        log = Path(shutil.copy(out / "guest/kernel.log", out / "kernel.log"))
        if fault := KERNEL_FAULT.search(log.read_text(errors="replace")):
            raise TestbedError(f"the guest kernel complained: {fault[0].strip()}; see {log}")
        report("reducing", experiment.duration_s)
        result = tables.reduce(experiment, flows, name, seed, out)
        (out / "manifest.new").write_text(description + "\n")
        (out / "manifest.new").rename(out / "manifest.json")
    except OSError as error:
        reason = error.strerror or str(error)
        raise TestbedError(f"run '{name}' seed {seed}: {error.filename or out}: {reason}") from None
    except (TestbedError, pl.exceptions.PolarsError) as error:
        raise TestbedError(f"run '{name}' seed {seed}: {error}") from None
    finally:
        for kind in () if keep_captures else BULKY:
            for path in out.glob(kind):
                path.unlink()
    report("done", experiment.duration_s)
    return result


def run_all(
    experiment: Experiment,
    name: str,
    places: Mapping[int, Path],
    tools: Tools,
    *,
    workers: int | None,
    console: Console,
    keep_captures: bool,
) -> list[Run]:
    """Run an experiment with some seeds, each into a directory, their progress on the console.

    Returns the runs in the order of `places`. workers: how many at once; None: as many as do not
    disturb each other. Raises the first TestbedError; runs that have not begun by then are not
    begun.
    """
    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f} of {task.total:.0f} virtual s"),
        TextColumn("{task.fields[stage]:<9}"),
        TimeElapsedColumn(),
    )
    workers = workers or tools.backend.on_clock(experiment.clock).parallel()
    with Display(*columns, console=console) as display, ThreadPoolExecutor(workers) as pool:

        def one(seed: int, out: Path) -> Run:
            label = f"{name}, seed {seed}"
            task = display.add_task(label, total=experiment.duration_s, stage="waiting")

            def show(stage: str, t_s: float) -> None:
                display.update(task, stage=stage, completed=t_s)
                if not console.is_terminal and stage != "running":
                    console.print(f"{label}: {stage}")

            return run(
                experiment, seed, out, tools, name=name, keep_captures=keep_captures, progress=show
            )

        return list(pool.map(one, places, places.values()))
