# SPDX-License-Identifier: GPL-2.0-only
"""The workflow: only what is missing is made, whatever happened before. Guests are stood in for."""

from __future__ import annotations

import io
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import fakeruns
import pytest
from dalbe_testbed import cli
from dalbe_testbed.errors import TestbedError
from dalbe_testbed.plan import sweep
from dalbe_testbed.run import workflow
from rich.console import Console
from typer.testing import CliRunner

SWEEP = """
title = "four runs"
experiment = "cell.toml"
seeds = 2
[[grid]]
cc = ["cdg"]
rtt = [20, 50]
"""
FIRST = "runs/cell/cdg-rtt20/seed1"


class Site:
    """A sweep of four runs, an output directory, and a stand-in for dalbe-testbed run."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.file, self.out = tmp_path / "mine.toml", tmp_path / "out"
        self.file.write_text(SWEEP)
        program = tmp_path / "bin/dalbe-testbed"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{fakeruns.__file__}" "$@"\n')
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
        record = self.out / "environment/6.12-hz100"
        record.parent.mkdir(parents=True)
        record.write_text(f"kernel={tmp_path}\nmodule={program}\n")

    def words(self, command: str = "run") -> list[str]:
        return [command, str(self.file), "--out", str(self.out)]

    def make(self) -> tuple[str, BaseException | None]:
        result = CliRunner().invoke(cli.sweep_app, self.words())
        return result.output, result.exception

    def start(self) -> subprocess.Popen[str]:
        code = "from dalbe_testbed.cli import sweep_app; sweep_app()"
        return subprocess.Popen(
            [sys.executable, "-c", code, *self.words(), "--jobs", "1"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def times(self) -> dict[str, int]:
        found = self.out.glob("runs/*/*/*/rates.parquet")
        return {str(path): path.stat().st_mtime_ns for path in found}

    def logs(self) -> list[Path]:
        return list(self.out.glob("runs/*/*/*/log"))

    def snakemake(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "snakemake", "--snakefile", str(workflow.SNAKEFILE)]
        command += ["--directory", str(self.out), "--config", f"sweeps={self.file}", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    return Site(tmp_path, monkeypatch)


def wait_for(condition: Callable[[], object], what: str) -> None:
    for _ in range(600):
        if condition():
            return
        time.sleep(0.1)
    pytest.fail(f"{what} did not happen")


def test_the_time_left_counts_the_time_before_the_first_run_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two runs of six end together after eight of nine minutes: eighteen more, not none."""
    now_s, ended = [0.0], set[str]()
    monkeypatch.setattr(workflow, "finished", lambda _out, name: name in ended)
    monkeypatch.setattr(workflow.time, "monotonic", lambda: now_s[0])
    said = io.StringIO()
    console = Console(file=said, get_time=lambda: now_s[0])
    watch = workflow._Watch(tmp_path, dict.fromkeys("abcdef"), console)  # type: ignore[arg-type]
    for now_s[0], name in [(1, ""), (480, "a"), (480.5, "b"), (481, "")]:
        ended.add(name)
        watch.look()
    now_s[0] = 541
    watch.look()
    assert said.getvalue().splitlines()[-1] == "2 of 6 runs, 0 failed, 18 min left"


@pytest.mark.slow
def test_a_second_time_nothing_is_made_again(site: Site):
    output, error = site.make()
    assert error is None
    assert "4 of 4 runs to make" in output
    times = site.times()
    assert len(times) == 4
    shutil.rmtree(site.out / FIRST)
    os.utime(site.out / "environment/6.12-hz100")  # newer than the runs: no reason
    output, error = site.make()
    assert error is None
    assert "1 of 4 runs to make" in output
    changed = {path for path, at in site.times().items() if times[path] != at}
    assert changed == {str(site.out / FIRST / "rates.parquet")}


@pytest.mark.slow
def test_a_failed_run_is_one_line_and_the_others_go_on(site: Site, monkeypatch):
    monkeypatch.setenv("FAKE_FAILURE", "link.rtt_ms=20")
    output, error = site.make()
    line = f"failed: {FIRST}: dalbe-testbed: run 'cell' seed 1: the guest hangs"
    assert line in output
    assert isinstance(error, TestbedError)
    assert "2 of 4 runs have no result" in str(error)
    assert len(site.times()) == 2
    monkeypatch.delenv("FAKE_FAILURE")
    _output, error = site.make()
    assert error is None
    assert len(site.times()) == 4
    assert not list(site.out.glob("runs/*/*/*/error"))


@pytest.mark.slow
def test_a_killed_run_says_so_and_is_made_the_next_time(site: Site, monkeypatch):
    monkeypatch.setenv("FAKE_SECONDS", "60")
    process = site.start()
    wait_for(lambda: list(site.out.glob("runs/*/*/*/pid")), "a run's start")
    victim = next(site.out.glob("runs/*/*/*/pid"))
    os.kill(int(victim.read_text()), signal.SIGKILL)
    wait_for(lambda: list(site.out.glob("runs/*/*/*/error")), "the record of the failure")
    process.send_signal(signal.SIGTERM)
    process.wait(120)
    errors = [path.read_text() for path in site.out.glob("runs/*/*/*/error")]
    assert "killed by signal 9\n" in errors
    monkeypatch.setenv("FAKE_SECONDS", "0")
    assert site.make()[1] is None
    assert len(site.times()) == 4


@pytest.mark.slow
def test_a_killed_workflow_keeps_what_is_done_and_the_lock(site: Site, monkeypatch):
    monkeypatch.setenv("FAKE_SECONDS", "2")
    process = site.start()
    wait_for(lambda: len(site.logs()) > 1, "a second run's start")
    kept = site.times()
    assert kept
    process.kill()
    process.wait()
    with pytest.raises(TestbedError, match=r"another workflow \(process \d+\) works there"):
        workflow._lock(site.out)
    owner = int((site.out / "lock").read_text())
    os.killpg(owner, signal.SIGKILL)
    lock = ["flock", "-n", str(site.out / "lock"), "true"]
    wait_for(lambda: subprocess.run(lock, check=False).returncode == 0, "the lock's release")
    monkeypatch.setenv("FAKE_SECONDS", "0")
    _output, error = site.make()
    assert error is None
    after = site.times()
    assert len(after) == 4
    assert all(after[path] == at for path, at in kept.items())


@pytest.mark.slow
def test_an_interruption_says_how_to_go_on(site: Site, monkeypatch):
    monkeypatch.setenv("FAKE_SECONDS", "20")
    process = site.start()
    wait_for(site.logs, "a run's start")
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=120)
    assert "stopped: 0 of 4 runs are there; the same command goes on" in output


def test_a_full_disk_is_one_line(site: Site, monkeypatch):
    usage = shutil.disk_usage(site.out)._replace(free=1_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage)
    _output, error = site.make()
    assert isinstance(error, TestbedError)
    assert "1 MB of disk left: free 500 MB and type the same again" in str(error)


def test_a_module_that_left_the_cache_is_looked_for_again(site: Site):
    record = site.out / "environment/6.12-hz100"
    workflow._forget_lost_environments(site.out)
    assert record.exists()
    record.write_text("kernel=/nonexistent\nmodule=/nonexistent\n")
    workflow._forget_lost_environments(site.out)
    assert not record.exists()


@pytest.mark.slow
def test_a_lost_kernel_does_not_undo_finished_runs(site: Site):
    assert site.make()[1] is None
    (site.out / "environment/6.12-hz100").unlink()
    (site.out / FIRST / "rates.parquet").unlink()
    done = site.snakemake("--cores", "1", "--dry-run", "--rerun-triggers", "mtime")
    assert re.search(r"^run +1$", done.stdout, re.M), done.stdout + done.stderr
    assert re.search(r"^environment +1$", done.stdout, re.M)


def test_slurm_would_run_the_same(site: Site):
    profile = sweep.TESTBED / "workflow/slurm"
    done = site.snakemake("--workflow-profile", str(profile), "--dry-run")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^run +4$", done.stdout, re.M), done.stdout
    assert "executor: slurm" in (profile / "config.yaml").read_text()


def test_a_broken_sweep_is_one_line_to_snakemake_too(site: Site):
    site.file.write_text(SWEEP.replace("rtt", "rtx"))
    done = site.snakemake("--cores", "1", "--dry-run")
    assert done.returncode != 0
    assert "'rtx' is no axis" in done.stdout + done.stderr
