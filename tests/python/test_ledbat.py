# SPDX-License-Identifier: GPL-2.0-only
"""LEDBAT's evaluation: which part of a run counts, and what is required of whom."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from dalbe_testbed.plan import sweep
from dalbe_testbed.study import ledbat
from dalbe_testbed.study.engine import Finding
from fakeruns import Site
from pictures import drawn

TEXT = """
title = "LEDBAT's evaluation"
experiment = "ledbat.toml"
figure = "ledbat"
seeds = 2
[[grid]]
scene = ["equal", "rtts", "voice"]
who = ["w0.01", "ledbat", "ledbat-slow-start"]
"""
OURS, THEIRS = [0.2, 0.2, 0.2, 0.2], [0.1, 0.1, 0.2, 0.5]


@pytest.fixture(autouse=True)
def _somebody_names_the_peers(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(sweep.PEERS, "/some/where")


def made(
    tmp_path: Path, ours: list[float], theirs: list[float], added: tuple[float, float] = (5, 35)
) -> Finding:
    """The finding where the four have these rates when they have joined.

    At other times the fourth has all, which nothing is required of. added: ms, ours and LEDBAT's.
    """
    site = Site(tmp_path, TEXT)
    for run in site.runs:
        mine = run.point.values["who"] == "w0.01"
        rates = dict(zip(ledbat.FLOWS, ours if mine else theirs, strict=True))

        def mbps(flow: str, t_s: float, rates=rates) -> float:
            if flow in rates and 107 <= t_s < 120:
                return rates[flow]
            return {"fourth": 0.9, "upload": 0.3 if 120 <= t_s < 240 else 0}.get(flow, 0)

        site.write_rates(run, mbps, queue_ms=7)
        directory = site.out / run.directory
        times = [n / 2 for n in range(300)]
        late = added[0] if mine else added[1]
        queue = [2.0 + late * (t >= 31) for t in times]
        pl.DataFrame({"t_s": times, "queue_ms": queue}).write_parquet(directory / "voice.parquet")
        requests = {"start_s": [300.0, 400.0, 500.0], "end_s": [301.0, None, 502.0]}
        pl.DataFrame(requests).write_parquet(directory / "requests.parquet")
    return ledbat.STUDY.find(site.results(), site.sweep)


def met(found: Finding) -> list[bool]:
    return [verdict.met for verdict in found.verdicts]


def test_each_requirement_fails_on_its_own(tmp_path: Path):
    found = made(tmp_path / "a", OURS, THEIRS)
    assert met(found) == [True] * 4
    assert met(made(tmp_path / "b", OURS, [0.1, 0.5, 0.1, 0.2])) == [False, True, True, True]
    assert met(made(tmp_path / "c", [0.2, 0.2, 0.2, 0.14], THEIRS)) == [True, False, True, True]
    assert met(made(tmp_path / "d", OURS, THEIRS, (5, 53)))[2:] == [False, True]
    assert met(made(tmp_path / "e", OURS, THEIRS, (12, 23)))[2:] == [False, False]
    assert met(made(tmp_path / "f", [0.0] * 4, THEIRS))[1] is False
    (rates,) = drawn(ledbat.draw(found))
    assert (rates.mark, rates.at["color"]) == ("line", "flow")
    assert (rates.at["x"], rates.at["y"]) == ("t_s", "mbps")
    flows = [*ledbat.FLOWS, "upload", "requests"]
    curves = found.curves.filter(pl.col("flow").is_in(flows))
    assert set(rates.points()) == set(curves.select("t_s", "mbps").rows())


def test_a_flow_that_is_off_is_measured_from_the_mean(tmp_path: Path):
    found = made(tmp_path, [0.2, 0.2, 0.2, 0.14], THEIRS)
    row = found.summary.filter(point="base", phase="joined").row(0, named=True)
    assert row["off_percent"] == pytest.approx(100 * (1 - 0.14 / 0.185))
    assert row["late_percent"] == pytest.approx(-30)
    assert row["share_percent"] == pytest.approx(100)
    beside = found.summary.filter(point="base", phase="upload").row(0, named=True)
    assert beside["share_percent"] == pytest.approx(75)
    web = found.summary.filter(point="base", phase="web").row(0, named=True)
    assert (web["median_s"], web["p95_s"]) == (2, None)  # of which one was not over


def test_a_lost_run_fails(tmp_path: Path):
    made(tmp_path, OURS, THEIRS)
    site = Site(tmp_path, TEXT)
    for run in site.runs:
        if run.seed == 2:
            (site.out / run.directory / "manifest.json").unlink()
    found = ledbat.STUDY.find(site.results(), site.sweep)
    assert met(found) == [False] * 4
    assert "1 run missing" in found.verdicts[1].detail


def test_before_the_first_run_of_ledbat_there_is_a_report(tmp_path: Path):
    made(tmp_path, OURS, THEIRS)
    site = Site(tmp_path, TEXT)
    for run in site.runs:
        if run.point.values["who"] != "w0.01":
            (site.out / run.directory / "manifest.json").unlink()
    found = ledbat.STUDY.find(site.results(), site.sweep)
    assert met(found) == [False, True, False, False]
    assert "no run" in found.verdicts[0].detail


def test_without_the_peers_ours_alone_is_judged_and_the_report_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv(sweep.PEERS)
    found = made(tmp_path, OURS, THEIRS)
    assert met(found) == [True]
    assert "Left out, as DALBE_PEERS is not set: ledbat, ledbat-slow-start." in found.sentence


def test_calls_alone_have_a_picture(tmp_path: Path):
    site = Site(tmp_path, TEXT.replace('"equal", "rtts", ', ""))
    for run in site.runs:
        site.write_rates(run, lambda _flow, _t_s: 0.5)
        times = [1.0, *(50.0 + n for n in range(21))]
        queue = [3.0, *([9.0] * 19), 29.0, 29.0]  # before the flow, and beside it
        voice = pl.DataFrame({"t_s": times, "queue_ms": queue})
        voice.write_parquet(site.out / run.directory / "voice.parquet")
    found = ledbat.STUDY.find(site.results(), site.sweep)
    assert found.summary["added_ms"].to_list() == pytest.approx([6 + 40 / 21] * 3)
    assert found.summary["added_p95_ms"].to_list() == [26, 26, 26]
    ledbat.draw(found).save(tmp_path / "it.png")
