# SPDX-License-Identifier: GPL-2.0-only
"""Voice: what is added to its delay, at which rates that is judged, and what was lost.

The experiment stands in for one with voice: the tables are what is read.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from dalbe_testbed.study import voice
from dalbe_testbed.study.engine import Finding
from fakeruns import Site
from pictures import points, values

SWEEP = """
title = "voice"
experiment = "scavenger.toml"
figure = "voice"
seeds = 2
[[grid]]
who = ["w0.01", "reno", "vegas"]
"link.rate_mbps" = [1, 2, 5, 50]
"""
BASE_MS = 2.0


@pytest.fixture(autouse=True)
def _reno_stands_in_for_nobody(monkeypatch: pytest.MonkeyPatch):
    beside_reno = [replace(column, who="reno") for column in voice.ADDED]
    monkeypatch.setattr(voice, "STUDY", replace(voice.STUDY, against=beside_reno))


def made(tmp_path: Path, added: dict[float, float], *, lost: int = 0) -> Finding:
    """The finding where one packet of ten has that much more delay, by rate, beside ours."""
    site = Site(tmp_path, SWEEP)
    for run in site.runs:
        ours = run.point.values["who"] == "w0.01"
        late = added.get(run.point.experiment.link.rate_mbps, 0.0) if ours else 0.0
        times = [-50 + n / 2 for n in range(300)]
        queue: list[float | None] = [
            BASE_MS + (late if n % 10 == 0 else 0) if t >= 1.3 else 999.0
            for n, t in enumerate(times)
        ]
        if ours:
            queue[103 : 103 + lost] = [None] * lost
        site.write_table(run, "voice", {"t_s": times, "queue_ms": queue})
    return voice.STUDY.find(site.results(), site.sweep)


@pytest.mark.parametrize(
    ("added", "met"),
    [
        ({}, [True, True]),
        ({1: 29.9, 5: 14.9, 50: 14.9}, [True, True]),
        ({2: 500.0}, [True, True]),  # of which nothing is required
        ({1: 30.1}, [True, False]),
        ({5: 15.1}, [False, True]),
        ({50: 15.1}, [False, True]),
    ],
)
def test_the_limits_are_those_of_the_rate(tmp_path: Path, added, met: list[bool]):
    assert [verdict.met for verdict in made(tmp_path, added).verdicts] == met


def test_what_was_there_before_the_flow_or_without_it_is_not_added(tmp_path: Path):
    found = made(tmp_path, {5: 10.0})
    row = found.summary.filter(who="w0.01", rate_mbps=5).row(0, named=True)
    assert row["added_p95_ms"] == pytest.approx(10)
    assert row["added_median_ms"] == pytest.approx(0)
    assert row["added_mean_ms"] == pytest.approx(1, abs=0.05)
    assert found.summary.filter(who="reno")["added_p95_ms"].to_list() == [0] * 4
    chart, shown = voice.draw(found), found.summary  # Reno, who stands for nobody, is drawn, too
    for name in ("added_p95_ms", "added_median_ms"):
        assert points(chart, "point", "rate_mbps", name) == values(shown, "rate_mbps", name)
    bars = [(1, voice.SLOW_MS), (5, voice.FAST_MS), (50, voice.FAST_MS)]
    assert points(chart, "tick", "rate_mbps", "below") == sorted(3 * bars)


def test_losses_are_counted_and_a_call_without_packets_is_not_passed(tmp_path: Path):
    found = made(tmp_path / "some", {}, lost=10)
    assert found.summary.filter(who="w0.01")["lost_percent"].min() > 4
    assert "% lost" in found.verdicts[0].detail
    silent = made(tmp_path / "all", {}, lost=197)
    assert [verdict.met for verdict in silent.verdicts] == [False, False]


def test_a_lost_run_and_a_lost_base_fail(tmp_path: Path):
    made(tmp_path, {})
    site = Site(tmp_path, SWEEP)
    for run in site.runs:
        who, rate = run.point.values["who"], run.point.values["link.rate_mbps"]
        if (who, rate) == ("reno", 1) or (who, rate, run.seed) == ("w0.01", 50, 2):
            (site.out / run.directory / "manifest.json").unlink()
    found = voice.STUDY.find(site.results(), site.sweep)
    assert [verdict.met for verdict in found.verdicts] == [False, False]
    assert "1 run missing" in found.verdicts[0].detail
    assert "no run to compare" in found.verdicts[1].detail
