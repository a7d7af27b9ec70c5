# SPDX-License-Identifier: GPL-2.0-only
"""Dynamics: the times at which a share crosses its limits, from rates that are known."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from dalbe_testbed.plan.sweep import Run
from dalbe_testbed.study import dynamics
from dalbe_testbed.study.engine import Finding
from fakeruns import Site
from pictures import drawn, points, values

TWO_RTTS = """
title = "two base RTTs"
experiment = "dynamics.toml"
figure = "dynamics"
seeds = 2
[[grid]]
who = ["w0.01"]
rtt = [50, 100]
"duration_s" = [120]
"""
ARRIVAL_S, DEPARTURE_S = 41.0, 100.0


def write(site: Site, run: Run, yields_s: float, returns_s: float, again_s: float = 999) -> None:
    """Write a run in which ours has all or nothing of the link, so long after both events."""

    def mbps(flow: str, t_s: float) -> float:
        busy = ARRIVAL_S <= t_s < DEPARTURE_S
        yielding = ARRIVAL_S + yields_s <= t_s < DEPARTURE_S + returns_s
        ours = 0.0 if yielding and not 0 <= t_s - again_s < 0.2 else 9.0
        return ours if flow == "ours" else busy * (9.5 - ours)

    site.write_rates(run, mbps)


def made(tmp_path: Path, yields_s: float, returns_s: float, again_s: float = 999) -> Finding:
    site = Site(tmp_path, TWO_RTTS)
    for run in site.runs:
        write(site, run, yields_s, returns_s, again_s)
    return dynamics.STUDY.find(site.results(), site.sweep)


def test_times_are_to_the_end_of_the_window_that_crosses_the_limit(tmp_path: Path):
    rows = made(tmp_path, 0.2, 1.5).runs.filter(seed=1).to_dicts()
    # of a window of one RTT, 9 Mbit/s of 9.5, less than a tenth is left after nine tenths of it
    assert [row["yielded_s"] for row in rows] == pytest.approx([0.25, 0.3], abs=0.011)
    assert [row["yielded_rtts"] for row in rows] == pytest.approx([5, 3], abs=0.21)
    # eight Mbit/s on average over half a second take eight ninths of it at nine
    assert [row["back_s"] for row in rows] == pytest.approx([1.95, 1.95], abs=0.011)


@pytest.mark.parametrize(
    ("yields_s", "returns_s", "met"),
    [
        (0.3, 2.0, [True, True]),
        (0.7, 2.0, [False, True]),  # 10 RTTs of 50 ms are 0.5 s
        (0.3, 2.8, [True, False]),  # 2 s + 20 RTTs of 50 ms are 3 s
        (0.3, 999.0, [True, False]),
        (999.0, 0.1, [False, True]),
    ],
)
def test_every_run_is_judged(tmp_path: Path, yields_s: float, returns_s: float, met: list[bool]):
    assert [verdict.met for verdict in made(tmp_path, yields_s, returns_s).verdicts] == met


def test_who_comes_back_within_ten_rtts_has_not_yielded(tmp_path: Path):
    found = made(tmp_path, 0.1, 1.0, again_s=ARRIVAL_S + 0.4)
    assert min(found.runs["yielded_s"]) > 0.6
    later = made(tmp_path, 0.1, 1.0, again_s=ARRIVAL_S + 1.5)
    assert max(later.runs["yielded_s"]) < 0.3


def test_a_pair_of_packets_now_and_then_is_no_tenth_of_a_short_rtt(tmp_path: Path):
    site = Site(tmp_path, TWO_RTTS.replace("[50, 100]", "[20]"))
    pair_mbps = 2 * 1514 * 8e-6 / 0.01  # in a bin of 10 ms

    def mbps(flow: str, t_s: float) -> float:
        busy, pair = ARRIVAL_S <= t_s < DEPARTURE_S, round(t_s * 100) % 30 == 0
        ours = pair * pair_mbps if busy else 9.0
        return ours if flow == "ours" else busy * (10.0 - ours)

    for run in site.runs:
        site.write_rates(run, mbps)
    assert 2 * 1514 * 8 > 0.1 * 10e6 * 0.02  # in a window of one RTT it would be
    assert max(dynamics.STUDY.find(site.results(), site.sweep).runs["yielded_s"]) == pytest.approx(
        0.05
    )


@pytest.mark.parametrize(
    ("yields_s", "link_percent", "queue_ms"),
    [
        (0.2, [None, None], [None, None]),  # within 5 RTTs of 50 and of 100 ms
        (0.41, [None, None], [7, None]),
        (0.9, [95, None], [7, 7]),
        (2.0, [95, 95], [7, 7]),
        (999.0, [95, 95], [7, 7]),
    ],
)
def test_what_the_link_did_until_ours_yielded(tmp_path: Path, yields_s, link_percent, queue_ms):
    site = Site(tmp_path, TWO_RTTS)
    for run in site.runs:
        write(site, run, yields_s, 1.0)
        bins = [n / 100 for n in range(12000)]
        # what does not count: before 5 RTTs of 50 ms, and when ours is out of the way for sure
        counts = [0.25 <= round(t - ARRIVAL_S, 6) < min(yields_s + 0.1, 59) for t in bins]
        rows = {"t_s": bins, "queue_ms": [7.0 if it else 1000.0 for it in counts]}
        pl.DataFrame(rows).write_parquet(site.out / run.directory / "queue.parquet")
    found = dynamics.STUDY.find(site.results(), site.sweep)
    rows = found.runs.filter(seed=1)
    assert rows["link_meanwhile_percent"].to_list() == pytest.approx(link_percent)
    assert rows["queue_meanwhile_ms"].to_list() == pytest.approx(queue_ms)
    late = found.summary["late"].to_list()
    assert late == [2 * (percent is not None) for percent in link_percent]
    of_late = [
        queue if percent else None for queue, percent in zip(queue_ms, link_percent, strict=True)
    ]
    assert found.summary["queue_meanwhile_ms"].to_list() == pytest.approx(of_late)


def test_use_meanwhile_is_everybodys(tmp_path: Path):
    site = Site(tmp_path, TWO_RTTS)
    for run in site.runs:  # neither takes what the other leaves
        site.write_rates(run, lambda flow, t_s: 2.0 if flow == "ours" else 4.0 * (t_s > ARRIVAL_S))
    found = dynamics.STUDY.find(site.results(), site.sweep)
    assert list(found.runs["link_meanwhile_percent"]) == pytest.approx([60] * 4)
    assert found.runs["yielded_s"].null_count() == 4


def test_a_run_without_a_competitor_is_no_run(tmp_path: Path):
    site = Site(tmp_path, TWO_RTTS)
    for run in site.runs:
        if run.seed == 1:
            site.write_rates(run, lambda flow, _t: 9.0 * (flow == "ours"))
        else:
            write(site, run, 0.1, 0.5)
    found = dynamics.STUDY.find(site.results(), site.sweep)
    assert not any(verdict.met for verdict in found.verdicts)
    assert "1 run missing" in found.verdicts[0].detail
    assert found.summary["runs"].to_list() == [1, 1]


def test_the_curves_begin_before_the_event_and_are_drawn(tmp_path: Path):
    found = made(tmp_path, 0.2, 1.5)
    arrival = found.curves.filter(rtt_ms=50, event="arrival")
    assert arrival["t_s"].min() == pytest.approx(-0.15, abs=0.02)
    assert arrival["t_s"].max() == pytest.approx(1.5, abs=0.02)
    before = arrival.filter(arrival["t_s"] < -0.02)["median_percent"]
    assert set(before) == {100.0}
    assert arrival["median_percent"][-1] == 0
    chart = dynamics.draw(found)
    for mark, name in ("line", "median_percent"), ("area", "p10_percent"):
        assert points(chart, mark, "t_s", name) == values(found.curves, "t_s", name)
    assert {it.at["y2"] for it in drawn(chart) if it.mark == "area"} == {"p90_percent"}
    lines = [it for it in drawn(chart) if it.mark == "rule"]
    assert [it.at for it in lines] == [{"y": "limit"}, {"x": "due_s"}]
    due = {(it["event"], it["rtt_ms"], it["limit"], it["due_s"]) for it in lines[0].rows}
    assert due == {
        ("arrival", 50, 10, 0.5),
        ("arrival", 100, 10, 1),
        ("departure", 50, 80, 3),
        ("departure", 100, 80, 4),
    }
