# SPDX-License-Identifier: GPL-2.0-only
"""The tuning range of w: both ends are judged at every RTT, and nothing passes unmeasured."""

from __future__ import annotations

from pathlib import Path

import pytest
from dalbe_testbed.study import tradeoff, tuning
from dalbe_testbed.study.engine import Finding
from dalbe_testbed.study.tradeoff import Window
from fakeruns import Site
from pictures import limits, points, values

TWO_RTTS = """
title = "two base RTTs"
experiment = "tuning.toml"
figure = "tuning"
last_s = 150
seeds = 2
[[grid]]
who = ["w0.01", "w0.1", "w1", "cubic"]
rtt = [20, 300]
"""
SHARES = {"w0.01": 1.0, "w0.1": 5.0, "w1": 47.0, "cubic": 50.0}


def made(tmp_path: Path, changed: dict[tuple[str, int], float | None]) -> Finding:
    """The finding where these shares, by who and RTT, are different, or not there."""
    site = Site(tmp_path, TWO_RTTS)
    for run in site.runs:
        who, rtt = str(run.point.values["who"]), int(run.point.values["rtt"])
        share = changed.get((who, rtt), SHARES[who])
        if share is not None:
            site.write(run, {}, {"ours1": share / 10, "cubic2": 10 - share / 10})
    return tuning.STUDY.find(site.results(), site.sweep)


def test_the_second_half_counts(tmp_path: Path):
    point = Site(tmp_path, TWO_RTTS).sweep.points[0]
    assert tradeoff.windows(point.experiment, 150) == (None, Window(150, 300))


@pytest.mark.parametrize(
    ("changed", "met"),
    [
        ({}, [True, True, True]),
        ({("w0.01", 300): 2.1}, [False, True, True]),
        ({("w1", 20): 44.9}, [True, False, True]),
        ({("w1", 300): 52.1}, [True, True, False]),
        ({("w0.1", 300): 52.1}, [True, True, False]),
        ({("cubic", 20): 60.0}, [True, True, True]),
        ({("w0.01", 20): None}, [False, True, False]),
    ],
)
def test_both_ends_are_judged_at_every_rtt(tmp_path: Path, changed, met: list[bool]):
    assert [verdict.met for verdict in made(tmp_path, changed).verdicts] == met


def test_what_is_not_met_comes_first_and_all_is_drawn(tmp_path: Path):
    found = made(tmp_path, {("w0.01", 300): 2.5})
    assert found.verdicts[0].detail.startswith("rtt300: 2.5")
    assert "at least 45 % at every RTT: met (rtt20-w1: 47.0 [" in found.sentence
    assert found.summary.filter(who="cubic")["share_percent"].unique().to_list() == [50.0]
    chart = tuning.draw(found)
    for mark in ("point", "line"):
        shares = values(found.summary, "who", "share_percent")
        assert points(chart, mark, "who", "share_percent") == shares
    assert limits(chart) == [{"y": 50}]
    said = "Two flows take 1.0 to 2.5 % at w = 0.01, 47.0 to 47.0 % at w = 1"
    assert chart.to_dict()["title"] == said
