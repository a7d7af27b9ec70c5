# SPDX-License-Identifier: GPL-2.0-only
"""Flows, as a run's records tell of them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import polars as pl
import pytest
from dalbe_testbed import cli
from dalbe_testbed.errors import TestbedError
from dalbe_testbed.paths import TESTBED
from dalbe_testbed.plan import experiment, schedule
from dalbe_testbed.reduce import tables
from dalbe_testbed.run import runner
from dalbe_testbed.run.backends import Backend
from dalbe_testbed.run.scenario import Tools
from dalbe_testbed.study import results

SIZE = 162_500_000  # of the transfer in framework.toml
FRAMEWORK = TESTBED / "experiments/framework.toml"


@pytest.mark.parametrize(
    ("sizes", "left", "status", "finished", "end_s"),
    [
        ([SIZE // 2, SIZE // 2], [True, True], 0, True, 2.0),
        ([SIZE // 2, SIZE // 2, 1500], [True, True, False], 0, True, 2.0),
        ([SIZE // 2, SIZE // 2], [True, True], 1, False, 2.0),
        # iperf says 0 also when it gives up, at once or half-way
        ([0, 0], [True, True], 0, False, 30.0),
        ([SIZE // 2, SIZE // 2], [True, False], 0, False, 1.0),
    ],
)
def test_a_flow_is_finished_if_its_bytes_are_through(
    tmp_path: Path, sizes: list[int], left: list[bool], status: int, finished: bool, end_s: float
):
    flows = schedule.plan(experiment.load(FRAMEWORK, []), 1)
    (ours,) = (planned for planned in flows if planned.flow.name == "ours")
    assert ours.flow.bytes == SIZE
    (tmp_path / "ends").write_text(f"ours\t30000000\t{status}\n")
    packets = pl.DataFrame(
        {
            "port": [ours.port] * len(sizes),
            "payload_bytes": sizes,
            "wire_bytes": [size + 66 for size in sizes],
            "out_us": [
                (at + 1) * 1_000_000 if through else None for at, through in enumerate(left)
            ],
        },
        schema_overrides={"out_us": pl.Int64},
    )
    row = tables.flow_table([ours], packets, tmp_path, 60.0, {ours.port}).to_dicts()[0]
    assert (row["finished"], row["end_s"]) == (finished, end_s)
    assert row["payload_bytes"] == sum(s for s, out in zip(sizes, left, strict=True) if out)
    # without captures the last half second is not known, and the program's word counts
    row = tables.flow_table(
        [ours], packets, tmp_path, 60.0, {ours.port}, captured=False
    ).to_dicts()[0]
    assert (row["finished"], row["end_s"]) == (status == 0, 30.0)
    # a flow whose end lies behind that of the run was not done in it
    for captured in (True, False):
        row = tables.flow_table(
            [ours], packets, tmp_path, 0.5, {ours.port}, captured=captured
        ).to_dicts()[0]
        assert (row["finished"], row["end_s"]) == (False, None)


def test_tables_last_as_long_as_a_transfer_is_waited_for(tmp_path: Path):
    settings = ["duration_s=1800", "limit_s=2000", "bin_s=0.7"]
    what = experiment.load(FRAMEWORK, settings)
    flows = schedule.plan(what, 1)
    for ends, end_s in (("tcp1\t600000000\t0\n", 2000.6), ("ours\t1900000000\t0\n", 1900.5)):
        (tmp_path / "ends").write_text(ends)
        assert tables.tables_end_s(what, flows, tmp_path) == pytest.approx(end_s)
    (tmp_path / "ends").write_text("ours\t900000000\t0\n")
    assert tables.tables_end_s(what, flows, tmp_path) == pytest.approx(1800.4)


def test_a_flow_that_gave_up_has_no_end():
    ends = pl.DataFrame({"end_s": [5.0, 5.0, None], "finished": [True, False, False]})
    assert [results.ended_s(ends[row]) for row in range(3)] == [5.0, None, None]


def test_a_tool_that_does_not_say_its_version_is_named(monkeypatch: pytest.MonkeyPatch):
    def stand_still(words: list[str], timeout: float, **_others: object) -> None:
        raise subprocess.TimeoutExpired(words, timeout)

    monkeypatch.setattr(subprocess, "run", stand_still)
    with pytest.raises(TestbedError, match="'ip -V' has not ended after 10 s"):
        runner._version.__wrapped__("ip")


def test_a_run_names_the_commit_of_its_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "TOOLS", ())
    (module := tmp_path / "dalbe.ko").write_bytes(b"module")
    tools = Tools(Backend("uml", "6.12", "0", tmp_path), module, None)
    what = experiment.load(FRAMEWORK)
    assert runner.manifest(what, 1, tools)["module_commit"] is None
    (tmp_path / "commit").write_text("1ec0de5-dirty\n")  # as scripts/guest-module.sh does
    assert runner.manifest(what, 1, tools)["module_commit"] == "1ec0de5-dirty"


def test_a_directory_with_other_files_is_not_cleared(tmp_path: Path):
    new, kept = tmp_path / "new", tmp_path / "input/data"
    runner.check_directory(new)
    new.mkdir()
    runner.check_directory(new)
    kept.parent.mkdir()
    kept.touch()
    with pytest.raises(TestbedError, match="not empty, and no run's: name a new"):
        cli.run_command(FRAMEWORK, tmp_path, dalbectl=kept, module=kept)
    assert kept.exists()
    for mark in ("input/schedule", "lock"):  # of a run that failed; of a workflow, before any run
        (tmp_path / mark).touch()
        runner.check_directory(tmp_path)
        (tmp_path / mark).unlink()


def traffic(ends: str, sent: int, cc: str, tmp_path: Path) -> None:
    """Check a run of the CDG paper's cell with these ends of programs, packets and algorithm."""
    changes = ["flows.cdg2.duration_s=none", "flows.cdg2.bytes=100_000_000"]
    what = experiment.load(TESTBED / "experiments/cell.toml", changes)
    flows = schedule.plan(what, 1)
    (tmp_path / "ends").write_text(ends)
    ports = [port for _name, _host, port in schedule.backgrounds(what) for _ in range(sent)]
    packets = pl.DataFrame({"port": ports}, schema={"port": pl.Int32})
    seen = [(planned.flow.name, planned.flow.cc) for planned in flows]
    seen = [(name, cc if name == "cdg1" else own) for name, own in seen]
    connections = pl.DataFrame(seen, schema=["flow", "cc"], orient="row")
    tables.check_traffic(what, flows, packets, connections, tmp_path)


@pytest.mark.parametrize(
    ("ends", "sent", "cc", "fault"),
    [
        ("cdg1\t299500000\t0\nbackground1\t300100000\t1\n", 8000, "cdg", None),
        # a kernel that goes on after the run kills what does, too
        ("cubic2\t301800000\t137\n", 8000, "cdg", None),
        ("cdg2\t120000000\t0\n", 8000, "cdg", None),
        ("cdg2\t120000000\t1\n", 8000, "cdg", "cdg2 ended at 120 s"),
        ("cdg1\t120000000\t0\n", 8000, "cdg", "cdg1 ended at 120 s"),
        ("background2\t120000000\t1\n", 8000, "cdg", "background2 ended at 120 s"),
        ("", 3000, "cdg", "background1 sent 3000 packets instead of 12931"),
        ("", 8000, "cubic", "flow cdg1 used cubic instead of cdg"),
    ],
)
def test_traffic_that_was_not_there_is_no_run(
    tmp_path: Path, ends: str, sent: int, cc: str, fault: str | None
):
    if fault is None:
        traffic(ends, sent, cc, tmp_path)
        return
    with pytest.raises(TestbedError, match=fault):
        traffic(ends, sent, cc, tmp_path)
