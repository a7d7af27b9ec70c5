# SPDX-License-Identifier: GPL-2.0-only
"""Cells drawn at random: within bounds, the same every time, and as they are called."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from dalbe_testbed.errors import TestbedError
from dalbe_testbed.plan import sweep
from dalbe_testbed.plan.sample import Distribution, Draw, bdp_packets

HEAD = 'title = "t"\nexperiment = "scavenger.toml"\nseeds = 2\n'
DRAW = """
[draw]
seed = 7
cells = 12
[draw.values]
"link.rtt_ms" = { log = [10, 300] }
"link.rate_mbps" = { log = [2, 200] }
"link.buffer_bdp" = { log = [0.5, 3], least_packets = 4 }
"flows.xsender.cc" = { choice = ["cubic", "reno"] }
"""
GRID = """
[[grid]]
who = ["w0.01", "cubic"]
in_rtts.duration_s = { rtts = 200, plus_s = 70, at_least_s = 90 }
"""


def written(tmp_path: Path, text: str) -> sweep.Sweep:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return sweep.load(path)


def draw(cells: int, seed: int = 7, **values: dict) -> Draw:
    chosen = {key: Distribution(**kinds) for key, kinds in values.items()}
    return Draw(seed=seed, cells=cells, values=chosen)


def test_log_uniform_values_halve_at_the_geometric_mean_and_keep_to_their_bounds():
    it = draw(999, rate={"log": [2, 200]})
    values = [float(it.cell(number)["rate"]) for number in range(1, 1000)]
    assert min(values) >= 2
    assert max(values) <= 200
    below = sum(value < math.sqrt(2 * 200) for value in values)
    assert 450 < below < 550  # three standard deviations


def test_every_choice_is_made():
    it = draw(100, n={"choice": [1, 2, 3, 4]})
    assert {it.cell(number)["n"] for number in range(1, 101)} == {1, 2, 3, 4}


def test_a_value_depends_on_seed_key_and_cell_alone():
    few, more = draw(3, a={"log": [1, 9]}), draw(9, b={"log": [1, 9]}, a={"log": [1, 9]})
    assert all(few.cell(n)["a"] == more.cell(n)["a"] for n in (1, 2, 3))
    assert more.cell(1)["a"] != more.cell(1)["b"]
    assert few.cell(1) != draw(3, seed=8, a={"log": [1, 9]}).cell(1)


def test_a_buffer_holds_its_least_packets_and_no_more_than_need_be():
    for point in sweep.load(sweep.find("breadth")).points:
        assert point.experiment.link.queue_packets >= 4
        assert float(point.values["link.buffer_bdp"]) >= 0.125
    it = draw(
        50,
        **{
            "link.rtt_ms": {"log": [10, 12]},
            "link.rate_mbps": {"log": [2, 3]},
            "link.buffer_bdp": {"log": [0.5, 0.6], "least_packets": 4},
        },
    )
    for number in range(1, 51):
        cell = it.cell(number)
        assert int(bdp_packets(cell) * float(cell["link.buffer_bdp"])) == 4


def test_points_are_cells_with_their_settings(tmp_path: Path):
    points = written(tmp_path, HEAD + DRAW + GRID).points
    assert [point.name for point in points[:3]] == ["cell01", "cell01-cubic", "cell02"]
    assert len(points) == 24
    for point in points:
        link = point.experiment.link
        assert link.rtt_ms == point.values["link.rtt_ms"]
        assert link.rate_mbps == point.values["link.rate_mbps"]
        assert {f.cc for f in point.experiment.flows[2:]} == {point.values["flows.xsender.cc"]}
        due = max(90, link.rtt_ms * 0.2 + 70)
        assert point.experiment.duration_s == pytest.approx(due, abs=0.001)


def test_a_grid_replaces_what_was_drawn(tmp_path: Path):
    points = written(tmp_path, HEAD + DRAW + GRID + '"link.rtt_ms" = [33]').points
    assert {point.values["link.rtt_ms"] for point in points} == {33}
    assert points[0].name == "cell01"


def test_a_file_may_depend_on_an_axis():
    points = {point.name: point for point in sweep.load(sweep.find("breadth")).points}
    assert len(points) == 300
    for name, point in points.items():
        theirs = [flow for flow in point.experiment.flows if flow.host == "xsender"]
        assert len(theirs) == point.values["competitors"] * (not name.endswith("-cubic"))
        assert all(flow.cc == point.values["flows.xsender.cc"] for flow in theirs)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            DRAW.replace("cells = 12", "cells = 0") + GRID,
            "draw.cells: 0 is not allowed; input should be greater than or equal to 1",
        ),
        (DRAW.replace("log = [10, 300]", "log = [300, 10]") + GRID, "give the lower bound first"),
        (DRAW.replace("log = [10, 300]", "log = [0, 10]") + GRID, "0 is not allowed"),
        (
            DRAW.replace("log = [10, 300]", "lag = [1, 3]") + GRID,
            "unknown key; did you mean 'log'?",
        ),
        (
            DRAW.replace('choice = ["cubic", "reno"]', "") + GRID,
            "give one of log = [low, high] and",
        ),
        (
            DRAW.replace('"flows.x', 'colour = { log = [1, 2] }\n"flows.x') + GRID,
            "'colour' is no axis",
        ),
        (
            DRAW.replace('"link.rtt_ms"', '"link.delay"') + GRID,
            "where link.rate_mbps and link.rtt_ms",
        ),
        (GRID, "grid.in_rtts: needs numbers of rtt or link.rtt_ms"),
        (DRAW + GRID.replace("plus_s", "plus"), "unknown key; did you mean 'plus_s'?"),
        ("[[grid]]\ncompetitors = [9]", "competitors = 9: say one of 0, 1, 2, 3, 4"),
    ],
)
def test_a_broken_draw_is_one_clear_line(tmp_path: Path, text: str, message: str):
    with pytest.raises(TestbedError) as error:
        written(tmp_path, HEAD + text)
    assert str(error.value).startswith("mine.toml: ")
    assert message in str(error.value)
    assert "\n" not in str(error.value)
