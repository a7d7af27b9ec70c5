# SPDX-License-Identifier: GPL-2.0-only
"""Makes the runs of sweeps that are missing: Snakemake at work, its progress on the terminal.

OUT is Snakemake's working directory. Only what is missing is made; a run that fails leaves a line
in its file `error`, and the others go on. One workflow at a time works in OUT: a lock is held as
long as this process or its Snakemake lives, which makes Snakemake's own lock files, which outlive
their owner, unnecessary.
"""

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TextIO

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from dalbe_testbed.errors import TestbedError
from dalbe_testbed.paths import TESTBED
from dalbe_testbed.plan.sweep import RESULTS, Run, Sweep

SNAKEFILE = TESTBED / "workflow/Snakefile"
FREE_BYTES = 500_000_000  # a few runs' captures; what is left must hold the tables of all
POLL_S = 1.0
LINE_S = 60.0  # between two lines of progress where there is no terminal
CORE_S_PER_RUN, CORE_S_PER_MBIT = 5.0, 0.004
"""Time of a core that a run takes: to boot and to reduce, and per Mbit that the link could carry.

By the times that whole sweeps took on two cores: framework-bases 1.5 h (1.5 foretold), model 0.4
(0.4), goals3 1 (1.3), framework100 0.3 (0.4), two-ways 11 s a run (7); web sessions take twice what
is foretold. Half or twice of them only foretells half or twice the time.
"""
STOP_S, STOPS = 5.0, 6  # how often Snakemake and its runs are asked to end before they are killed


def finished(out: Path, directory: str) -> bool:
    """Return whether a run's results are there; `directory` as Run.directory."""
    return all((out / directory / name).is_file() for name in RESULTS)


def reason(out: Path, directory: str) -> str:
    """Return in a line why a run has no result."""
    error = out / directory / "error"
    text = error.read_text().strip() if error.is_file() else "not run, or killed"
    return text or f"failed without a word: see {out / directory / 'log'}"


def foretell(out: Path, sweeps: Sequence[Sweep]) -> Iterator[str]:
    """Yield a line per sweep, and one for all: how many runs OUT lacks, and how long they take.

    The time is of two cores. A run that several sweeps share counts for the first.
    """
    seen: set[str] = set()
    lacking, all_s = 0, 0.0
    for it in sweeps:
        own = {run.directory: run for run in it.runs if run.directory not in seen}
        seen |= own.keys()
        left = [run for name, run in own.items() if not finished(out, name)]
        left_s = sum(map(core_s, left))
        lacking, all_s = lacking + len(left), all_s + left_s
        yield f"{it.name}: {len(left)} of {len(own)} runs to make, {left_s / 2 / 3600:.1f} h"
    yield f"all: {lacking} of {len(seen)} runs to make, {all_s / 2 / 3600:.1f} h on two cores"


def core_s(run: Run) -> float:
    """Return about how long a run keeps a core busy, s."""
    what = run.point.experiment
    return CORE_S_PER_RUN + CORE_S_PER_MBIT * what.link.rate_mbps * what.duration_s


def _lock(out: Path) -> TextIO:
    """Take the lock of OUT; it is held until all processes that inherit it have ended."""
    lock = (out / "lock").open("a")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        owner = (out / "lock").read_text() or "unknown"
        raise TestbedError(
            f"{out}: another workflow (process {owner}) works there: wait for it, or end it"
        ) from None
    lock.truncate(0)
    return lock


def _forget_lost_environments(out: Path) -> None:
    """Remove the record of kernels and modules that are no longer in the cache."""
    for record in (out / "environment").glob("*-hz*[0-9]"):
        paths = [line.partition("=")[2] for line in record.read_text().splitlines()]
        if not paths or not all(Path(path).exists() for path in paths):
            record.unlink()


def _check_space(out: Path) -> None:
    free = shutil.disk_usage(out).free
    if free < FREE_BYTES:
        raise TestbedError(
            f"{out}: {free / 1e6:.0f} MB of disk left: free {FREE_BYTES / 1e6:.0f} MB and type the "
            "same again; finished runs are kept"
        )


def _command(
    out: Path, sweeps: Sequence[Path], jobs: int | None, profile: Path | None
) -> list[str]:
    words = [sys.executable, "-m", "snakemake", "--snakefile", str(SNAKEFILE)]
    words += ["--directory", str(out), "--config", "sweeps=" + ",".join(map(str, sweeps))]
    words += ["--nolock", "--keep-going", "--rerun-incomplete", "--rerun-triggers", "mtime"]
    words += ["--scheduler", "greedy", "--nocolor"]
    if profile:
        return [*words, "--workflow-profile", str(profile.resolve())]
    return [*words, "--cores", str(jobs or "all")]


class _Watch:
    """Counts finished and failed runs, and says so."""

    def __init__(self, out: Path, runs: Mapping[str, Run], console: Console) -> None:
        self.out, self.console = out, console
        self.left = [name for name in runs if not finished(out, name)]
        self.total = len(runs)
        self.failed: set[str] = set()
        self.said_s = time.monotonic()
        for name in self.left:  # of an earlier attempt
            (out / name / "error").unlink(missing_ok=True)
        self.progress = Progress(
            *Progress.get_default_columns(),
            TextColumn("left,"),
            TimeElapsedColumn(),
            MofNCompleteColumn(),
            TextColumn("runs, {task.fields[failed]} failed"),
            console=console,
            speed_estimate_period=900,
            disable=not console.is_terminal,
        )
        done = self.total - len(self.left)
        self.task = self.progress.add_task("runs", total=self.total, completed=done, failed=0)

    def look(self) -> None:
        self.left = [name for name in self.left if not finished(self.out, name)]
        for name in self.left:
            if name not in self.failed and (self.out / name / "error").is_file():
                self.failed.add(name)
                text = f"failed: {name}: {reason(self.out, name)}"
                self.console.print(text, style="red", markup=False, highlight=False, soft_wrap=True)
        done = self.total - len(self.left)
        # rich counts a speed from the first step on: without one now, two runs that end together
        # after eight minutes would leave no minute for the others.
        self.progress.advance(self.task, 0)
        self.progress.update(self.task, completed=done, failed=len(self.failed))
        now_s = time.monotonic()
        if not self.console.is_terminal and now_s - self.said_s >= LINE_S:
            self.said_s = now_s
            rest_s = self.progress.tasks[0].time_remaining
            rest = "?" if rest_s is None else f"{rest_s / 60:.0f} min"
            text = f"{done} of {self.total} runs, {len(self.failed)} failed, {rest} left"
            self.console.print(text, highlight=False)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End Snakemake and the guests it started; it may start one more after the first signal."""
    for number in [signal.SIGINT] * STOPS + [signal.SIGKILL]:
        if process.poll() is not None:
            return
        os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_S)


def make(
    sweeps: Sequence[Path],
    runs: Mapping[str, Run],
    out: Path,
    *,
    console: Console,
    jobs: int | None = None,
    profile: Path | None = None,
) -> None:
    """Make those of `runs`, the sweeps' (by directory), that OUT does not hold.

    jobs: guests at once, all cores by default. profile: a Snakemake profile, for a cluster.
    SIGTERM, like SIGINT, ends the guests and raises KeyboardInterrupt.
    Raises TestbedError if the workflow itself fails; runs that failed are told on the console, and
    by the report.
    """
    out.mkdir(parents=True, exist_ok=True)
    with _lock(out) as lock:
        _check_space(out)
        _forget_lost_environments(out)
        watch = _Watch(out, runs, console)
        console.print(f"{len(watch.left)} of {len(runs)} runs to make", highlight=False)
        log = out / "workflow.log"
        with log.open("wb") as file, watch.progress:
            process = subprocess.Popen(
                _command(out, sweeps, jobs, profile),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                pass_fds=[lock.fileno()],
                start_new_session=True,
            )
            print(process.pid, end="", file=lock, flush=True)
            signal.signal(signal.SIGTERM, signal.default_int_handler)
            try:
                while process.poll() is None:
                    time.sleep(POLL_S)
                    watch.look()
                    _check_space(out)
            finally:
                _stop(process)
            watch.look()
        if watch.left and not watch.failed:
            raise TestbedError(f"{len(watch.left)} runs were not made: see the end of {log}")
