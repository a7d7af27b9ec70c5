# SPDX-License-Identifier: GPL-2.0-only
"""The bars: a row for each combination, and none that is met by nothing."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from dalbe_testbed.hunt import bars

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


@pytest.mark.parametrize("measure", ["alone", "share"])
def test_what_is_not_a_number_is_no_bar_reached(measure: str):
    assert not bars.Row("cell", {}, measure, 0).met(math.nan)
