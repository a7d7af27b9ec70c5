# SPDX-License-Identifier: GPL-2.0-only
"""The demo: shares and phases from bins whose contents are known, and its verdicts."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from dalbe_testbed.charts import TARGET
from dalbe_testbed.plan import sweep
from dalbe_testbed.plan.sweep import Run
from dalbe_testbed.study import demo
from dalbe_testbed.study.engine import Finding
from dalbe_testbed.study.results import Window
from fakeruns import Site
from pictures import drawn

SWEEP = (sweep.SWEEPS / "demo.toml").read_text().replace("seeds = 20", "seeds = 2")
SHARES = {"dalbe_cdg": (9.0, 1.0), "cubic": (9.0, 3.0), "bwlimit": (3.0, 3.0)}
SHARES["infeasible"] = (9.0, 2.8)  # Mbit/s alone, and beside two flows that have the rest of 9


def test_phases_skip_two_seconds_after_every_change():
    times = [t / 2 for t in range(60)]
    bins_s = pl.DataFrame({"t_s": times})
    got = demo.phase_table(bins_s, 0.5, Window(0, 25.2), [Window(10, 20)])["phase"].to_list()
    alone = [t for t, phase in zip(times, got, strict=True) if phase == "alone"]
    contended = [t for t, phase in zip(times, got, strict=True) if phase == "contended"]
    assert (alone[0], contended[0], contended[-1]) == (2.0, 12.0, 19.5)
    assert 9.5 in alone
    assert 22.0 in alone
    assert 21.5 not in alone
    assert alone[-1] == 24.5  # 25.0 to 25.5 is not all transfer


def test_nothing_measured_is_none_and_not_zero():
    rates = pl.DataFrame({"t_s": [t / 2 for t in range(20)], "flow": "file", "rate_bps": 1e6})
    phases = demo.phase_table(rates, 0.5, Window(0, 10), [])
    assert demo.mean_bps(rates, phases, "contended", ["file"], "rate_bps") is None
    assert demo.mean_bps(rates, phases, "alone", ["file"], "rate_bps") == 1e6


def write(
    site: Site,
    run: Run,
    *,
    alone_mbps: float | None = None,
    contended_mbps: float | None = None,
    finish_s: float | None = None,
    reported_s: float | None = 7.0,
) -> None:
    """Write a run with these rates, as SHARES has them unless they are given."""
    usual = SHARES[run.point.name]
    alone = usual[0] if alone_mbps is None else alone_mbps
    contended = usual[1] if contended_mbps is None else contended_mbps
    what = run.point.experiment
    cross = {f.name: (f.start_s, f.start_s + f.duration_s) for f in what.flows[1:]}
    end_s = what.duration_s if finish_s is None else finish_s

    def mbps(flow: str, t_s: float) -> float:
        there = [name for name, (begin_s, over_s) in cross.items() if begin_s <= t_s < over_s]
        if flow == "file":
            return (contended if there else alone) * (t_s < end_s)
        return (9 - contended) / len(there) if flow in there else 0.0

    site.write_rates(run, mbps, queue_ms=20)
    directory = site.out / run.directory
    rates = pl.read_parquet(directory / "rates.parquet")
    bps = pl.col("wire_bytes") * 8 / what.bin_s
    rates.with_columns(rate_bps=bps).write_parquet(directory / "rates.parquet")
    rows = [("file", 0.0, finish_s, finish_s is not None, 10**8)]
    rows += [(name, *times, True, 10**7) for name, times in cross.items()]
    columns = ["flow", "start_s", "end_s", "finished", "payload_bytes"]
    pl.DataFrame(rows, schema=columns, orient="row").write_parquet(directory / "flows.parquet")
    control = pl.DataFrame({"t_s": [], "flow": []}, schema={"t_s": float, "flow": str})
    if run.point.experiment.flows[0].goal:
        said = run.point.name == "infeasible" and reported_s is not None
        control = pl.DataFrame(
            {
                "t_s": [1.0, reported_s or 7.0],
                "flow": "file",
                "status": ["on_track", "infeasible" if said else "on_track"],
                "w_ppm": [10_000, 500_000],
                "target_Bps": 350_000,
                "rate_Bps": 350_000,
                "regime": [1, 3],
            }
        )
    control.write_parquet(directory / "control.parquet")


FINISH = {"dalbe_cdg": 290.0, "cubic": 160.0, "bwlimit": 310.0, "infeasible": None}


def found(tmp_path: Path, **changes: float | None) -> tuple[Site, Finding]:
    """Return what is found where one contender's measure is another."""
    site = Site(tmp_path, SWEEP)
    for run in site.runs:
        values = {"finish_s": FINISH[run.point.name]}
        for key, value in changes.items():
            name, _, measure = key.partition("__")
            if name == run.point.name:
                values[measure] = value
        write(site, run, **values)
    return site, demo.STUDY.find(site.results(), site.sweep)


def test_what_is_measured_and_drawn(tmp_path: Path):
    _site, finding = found(tmp_path)
    assert all(verdict.met for verdict in finding.verdicts)
    assert len(finding.verdicts) == 5
    rows = {row["contender"]: row for row in finding.summary.to_dicts()}
    ours = rows["dalbe_cdg"]
    assert ours["finish_s"] == 290
    assert ours["contended_percent"] == pytest.approx(10)
    assert ours["alone_percent"] == pytest.approx(90)
    assert ours["contended_of_cubic"] == pytest.approx(1 / 3)
    assert ours["cross_mbps"] == pytest.approx(8)
    assert ours["one_flow_percent"] == pytest.approx(40)
    assert (rows["infeasible"]["reported_s"], rows["cubic"]["reported_s"]) == (7, None)
    assert "bwlimit: done after 310" in finding.sentence


def over_time(finding: Finding, contender: str, column: str) -> set[tuple[float, float]]:
    """Return what a curve of a contender has to show, where it has a value."""
    curve = finding.curves.filter(contender=contender).drop_nulls(column)
    return set(curve.select("t_s", column).rows())


def test_each_panel_shows_its_own_column_of_its_own_run(tmp_path: Path):
    _site, finding = found(tmp_path)
    marks = drawn(demo.draw(finding))
    queues = [mark for mark in marks if mark.at.get("y") == "queue_ms"]
    assert [set(queue.points()) for queue in queues] == [
        over_time(finding, name, "queue_ms") for name in finding.summary["contender"]
    ]
    (steps, regimes) = (mark for mark in marks if mark.at.get("y") == "w")
    assert set(steps.points()) == over_time(finding, "dalbe_cdg", "w")
    assert regimes.at["color"] == "regime"
    (rate,) = (mark for mark in marks if mark.mark == "line" and mark.at.get("color") == "who")
    for name, column in (("measured by the module", "measured_mbps"), (TARGET, "target_mbps")):
        values = {(row["t_s"], row["value"]) for row in rate.rows if row["who"] == name}
        assert {at for at in values if at[1] is not None} == over_time(finding, "dalbe_cdg", column)
    assert {mark.at["x"] for mark in marks if mark.mark == "rule"} == {300}


def test_the_front_has_our_link_and_cubics(tmp_path: Path):
    _site, finding = found(tmp_path)
    front = demo.draw(finding, front=True)
    ours, cubic = front.to_dict()["concat"]
    assert ours["title"].startswith("dalbe_cdg under a goal: done after 290 s")
    assert cubic["title"].startswith("plain CUBIC: done after")
    stacks = [mark for mark in drawn(front) if mark.mark == "area"]
    senders = {"the file": "file_mbps", "CUBIC flows": "cubic_mbps"}
    for contender, stack in zip(("dalbe_cdg", "cubic"), stacks, strict=True):
        assert (stack.at["x"], stack.at["y"], stack.at["color"]) == ("t_s", "value", "who")
        for name, column in senders.items():
            values = {(row["t_s"], row["value"]) for row in stack.rows if row["who"] == name}
            assert values == over_time(finding, contender, column)


@pytest.mark.parametrize(
    "change",
    [
        {"dalbe_cdg__finish_s": 301.0},
        {"dalbe_cdg__finish_s": None},
        {"dalbe_cdg__alone_mbps": 7.5},
        {"dalbe_cdg__contended_mbps": 1.6},
        {"infeasible__reported_s": None},
        {"infeasible__reported_s": 301.0},
        {"infeasible__contended_mbps": 3.7},
    ],
    ids=str,
)
def test_each_requirement_can_fail(tmp_path: Path, change: dict):
    _site, finding = found(tmp_path, **change)
    assert [verdict.met for verdict in finding.verdicts].count(False) == 1


@pytest.mark.parametrize(
    ("lost", "unmet"), [("dalbe_cdg", [True] * 3), ("cubic", [False, True, True])]
)
def test_without_a_run_nothing_that_needs_it_is_met(tmp_path: Path, lost: str, unmet: list[bool]):
    site, _finding = found(tmp_path)
    run = next(run for run in site.runs if run.point.name == lost)
    (site.out / run.directory / "manifest.json").unlink()
    finding = demo.STUDY.find(site.results(), site.sweep)
    assert [not verdict.met for verdict in finding.verdicts[:3]] == unmet
