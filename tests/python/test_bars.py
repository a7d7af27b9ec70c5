# SPDX-License-Identifier: GPL-2.0-only
"""The bars: a row for each combination, and none that is met by nothing."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from dalbe_testbed.errors import TestbedError
from dalbe_testbed.hunt import bars, scenario
from dalbe_testbed.plan import sweep

ROWS = """
[defaults]
rate = 5
rtt = 40
buf = 1
disc = "tail"
ours = 2
theirs = 2
w = 0.01
from = 15
to = 45
end = 60
[[rows]]
name = "cell"
words = {words}
bars = {bars}
"""
ALL = (
    "{ alone = 95, used = 90, after = 80, share = 5, harm = 5, fair = 0.5, queue = 20, yields = 4,"
    " weight = 50 }"
)


def rows(directory: Path, words: str, told: str) -> list[bars.Row]:
    file = directory / "bars.toml"
    file.write_text(ROWS.format(words=words, bars=told))
    return list(bars.rows(file))


def test_each_combination_of_values_is_a_row_of_each_measure(tmp_path: Path):
    made = rows(tmp_path, "{ buf = [1, 2], ours = [1, 2, 3] }", "{ share = 3, alone = 95 }")
    assert len(made) == 12
    assert {(row.told["buf"], row.told["ours"]) for row in made} == {
        (buf, ours) for buf in ("1", "2") for ours in ("1", "2", "3")
    }
    assert "disc=tail" in made[0].path


def test_the_committed_bars_are_read_and_measured(pure: Any):
    simulator = bars.Simulator(pure)
    made = list(bars.rows())
    assert len({(row.name, row.path, row.measure) for row in made}) == len(made) > 100
    short = next(row for row in made if row.name == "three-packet paths")
    assert 50 < simulator.measure(short, 1) <= 100


def test_the_scavenger_reaches_what_cubic_in_its_place_misses(pure: Any, tmp_path: Path):
    made = {row.measure: row for row in rows(tmp_path, "{}", ALL)}
    simulator = bars.Simulator(pure)
    reached = {name: simulator.measure(row, 1) for name, row in made.items()}
    assert all(made[name].met(value) for name, value in reached.items()), reached
    equal = {row.measure: row for row in rows(tmp_path, "{ w = 1 }", ALL)}
    missed = {name for name, row in equal.items() if not row.met(simulator.measure(row, 1))}
    assert {"share", "harm"} <= missed


def test_a_flow_that_carries_nothing_reaches_no_bar(pure: Any, tmp_path: Path):
    silent = "{ ours = 0, theirs = 0 }"
    told = "{ alone = 95, share = 5, harm = 5, fair = 0.5, after = 80, weight = 50 }"
    simulator = bars.Simulator(pure)
    for row in rows(tmp_path, silent, told):
        assert not row.met(simulator.measure(row, 1)), row.measure


def test_the_cells_of_a_sweep_are_simulated_as_the_testbed_would_run_them(
    pure: Any, tmp_path: Path
):
    text = (sweep.SWEEPS / "breadth.toml").read_text().replace("cells = 100", "cells = 9")
    file = tmp_path / "mine.toml"
    file.write_text(text.replace('"cubic", "reno", "bbr"', '"cubic", "reno"'))
    of = sweep.load(file)
    made = list(bars.cells(of))
    ours = [point for point in of.points if point.values["who"] == "w0.01"]
    assert [(row.name, row.measure, row.bar) for row in made[:3]] == [
        ("cell1", "alone", 95), ("cell1", "harm", 3), ("cell2", "alone", 95)
    ]  # fmt: skip
    for row, point in zip(made[::2], ours, strict=True):
        link, told = point.experiment.link, row.told
        assert scenario.buffer_packets(told) == pytest.approx(link.queue_packets, abs=1, rel=0.02)
        assert scenario.DISCIPLINES[told["disc"]] == link.qdisc
        assert told.get("their", "cubic") == point.values["flows.xsender.cc"]
        assert int(told["theirs"]) == point.values["competitors"]
        assert float(told["from"]) == pytest.approx(point.values["flows.xsender.start_s"] - 1)
        assert float(told["to"]) == float(told["end"])
    simulator = bars.Simulator(pure)
    slowest = min(made, key=lambda row: float(row.told["rate"]))
    assert 0 < simulator.measure(slowest, 1) < 110
    file.write_text(text.replace('"cubic", "reno", "bbr"', '"bbr"'))
    with pytest.raises(TestbedError, match="cell1: the simulator has no pfifo, or no bbr"):
        list(bars.cells(sweep.load(file)))


@pytest.mark.parametrize("measure", ["alone", "share"])
def test_what_is_not_a_number_is_no_bar_reached(measure: str):
    assert not bars.Row("cell", {}, measure, 0).met(math.nan)
