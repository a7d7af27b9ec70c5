# SPDX-License-Identifier: GPL-2.0-only
"""Breadth: 95 cells of 100 must hold, and those that do not are named with all that was drawn."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from dalbe_testbed.plan import sweep
from dalbe_testbed.plan.sweep import Point
from dalbe_testbed.study import breadth
from dalbe_testbed.study.engine import Finding
from fakeruns import Site
from pictures import drawn, limits, points, values

CELLS = (sweep.SWEEPS / "breadth.toml").read_text().replace("cells = 100", "cells = 20")


def made(tmp_path: Path, changed: dict[str, tuple[float, float] | None]) -> Finding:
    """The finding where these points have another use and harm in percent, or no runs."""
    site = Site(tmp_path, CELLS)
    for run in site.runs:
        usual = (98.0, 2.0) if "-" not in run.point.name else (100.0, 0.0)
        chosen = changed.get(run.point.name, usual)
        if chosen is not None:
            use, harm = chosen
            site.write(run, {"ours": use / 10}, {"ours": 0.1, "other1": 9 - 0.09 * harm})
    return breadth.STUDY.find(site.results(), site.sweep)


@pytest.mark.parametrize(
    ("changed", "met"),
    [
        ({}, True),
        ({"cell03": (94.9, 2.0)}, True),
        ({"cell03": (94.9, 2.0), "cell07": (98.0, 3.1)}, False),
        ({"cell03": None, "cell07": (98.0, 3.1)}, False),
        ({"cell03-cubic": None, "cell07": (98.0, 3.1)}, False),
        ({"cell03-nobody-start_s2": None, "cell07": (98.0, 3.1)}, False),
        ({"cell03": (95.1, 2.9), "cell07": (95.1, -5.0)}, True),
    ],
)
def test_all_but_one_of_twenty_must_hold(tmp_path: Path, changed, met: bool):
    assert made(tmp_path, changed).verdicts[0].met is met


def test_a_failure_is_named_with_its_half_and_its_parameters(tmp_path: Path):
    found = made(tmp_path, {"cell03": (80.0, 2.0), "cell07": (80.0, 9.0), "cell09": None})
    detail = found.verdicts[0].detail
    assert detail.startswith("17 of 20 cells; cell03: use: use 80.0")
    assert "cell07: use and harm" in detail
    assert "cell09: runs missing" in detail
    assert all(key in detail for key in ("link.rtt_ms", "link.buffer_bdp", "competitors", "cc "))
    assert found.summary.filter(cell="cell07").item(0, "failed") == "use and harm"
    assert found.summary.filter(cell="cell03").item(0, "failed") == "use"
    assert "in 95 % of the cells: not met (17 of 20 cells; cell03: use" in found.sentence


def test_each_cell_is_a_point_and_what_fails_has_a_name(tmp_path: Path):
    found = made(tmp_path, {"cell03": (80.0, 2.0), "cell07": (80.0, 9.0)})
    chart, bad = breadth.draw(found), found.summary.filter(~pl.col("met"))
    for axes in (
        ("harm_percent", "use_percent"),
        ("bdp_packets", "harm_percent"),
        ("bdp_packets", "use_percent"),
    ):
        assert points(chart, "point", *axes) == values(found.summary, *axes)
        assert points(chart, "text", *axes) == values(bad, *axes)
    (names,) = {it.at["text"] for it in drawn(chart) if it.mark == "text"}
    assert bad[names].to_list() == ["cell03", "cell07"]
    use, harm = breadth.USE_PERCENT, breadth.HARM_PERCENT
    assert limits(chart) == [{"x": harm}, {"y": harm}, {"y": use}, {"y": use}]


def test_cells_have_the_effect_tests_errors(tmp_path: Path):
    found = made(tmp_path, {"cell03": None})
    assert found.summary.select("yields_per_minute", "held_percent").unique().rows() == [(0, 0)]
    beside = found.runs.filter(pl.col("share_percent").is_not_null(), who="w0.01")
    assert set(beside["carried_on_percent"]) == {100}
    yardstick = found.runs.filter(who="cubic")
    assert yardstick["held_percent"].null_count() == yardstick.height > 0


def windows(point: Point) -> tuple[float, float]:
    flows = point.experiment.flows
    return flows[1].start_s if len(flows) > 1 else point.experiment.duration_s, flows[0].start_s


def test_both_phases_leave_a_hundred_rtts_before_what_counts():
    for point in sweep.load(sweep.find("breadth")).points:
        settle_s = max(15, 0.1 * point.experiment.link.rtt_ms) + 40 - 0.01
        arrival_s, start_s = windows(point)
        assert arrival_s - start_s >= settle_s or point.values["who"] == "nobody"
        if len(point.experiment.flows) > 1:
            latest_s = max(flow.latest_start_s for flow in point.experiment.flows)
            assert point.experiment.duration_s - latest_s >= settle_s
