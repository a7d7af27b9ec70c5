# SPDX-License-Identifier: GPL-2.0-only
"""The search for bad scenarios: it repeats itself, finds what is bad, and shrinks it."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from dalbe_testbed.errors import TestbedError
from dalbe_testbed.hunt import finds, scenario
from dalbe_testbed.hunt.search import Find, Hunt
from dalbe_testbed.plan import experiment

# Scenarios of a few thousand packets.
SMALL = ["rate=2", "rtt=40", "buf=2", "alone=10", "beside=20", "after=12", "ours=2", "theirs=2"]
PLAIN = {name: axis.plain for name, axis in scenario.AXES.items()}


def hunt(pure: Any, seed: int, runs: int, base: str | None = None, *more: str) -> Hunt:
    made = Hunt(pure, seed, base, [*SMALL, "udp=0", "short=0", *more])
    made.search(runs)
    return made


def test_the_same_seed_finds_the_same(pure: Any, tmp_path: Path):
    lines = [finds.write(hunt(pure, 1, 6, "cubic"), tmp_path) for _ in range(2)]
    assert lines[0] == lines[1] != []
    assert (tmp_path / "finds.txt").read_text().splitlines() == lines[0]
    assert finds.write(hunt(pure, 2, 6, "cubic"), tmp_path) != lines[0]


@pytest.mark.parametrize(("base", "harms"), [("cubic", True), ("cdg", True), (None, False)])
def test_a_base_that_harms_is_found_within_six_runs(pure: Any, base: str | None, harms: bool):
    """CUBIC and CDG cannot have as little as four weights of 0.01 beside two flows: 2 %."""
    path = ["rate=5", "rtt=100", "buf=1", "ours=4"]
    worst = max(find.fitness for find in hunt(pure, 3, 6, base, *path).places["harm"])
    assert worst > 0.03 if harms else worst <= 0


def test_mutants_are_no_better_than_their_parents(pure: Any):
    made = hunt(pure, 4, 8)
    before = {kind: [find.fitness for find in found] for kind, found in made.places.items()}
    made.search(24)
    for kind, found in made.places.items():
        assert all(f.fitness >= b for f, b in zip(found, before[kind], strict=False))


def test_shrinking_keeps_half_of_the_fitness_and_what_is_fixed(pure: Any):
    made = Hunt(pure, 5, "cubic", SMALL)
    drawn = PLAIN | {name: axis.plain for name, axis in made.axes.items()}
    drawn |= {"disc": "pie", "loss": 110.0, "jitter": 3300.0, "short": 0.07}
    fitness = made.least(drawn, ("harm",), 0)["harm"]
    less = made.shrink(Find("harm", drawn, fitness))
    assert less.fitness > fitness / 2 > 0
    assert made.least(less.scenario, ("harm",), 0)["harm"] == less.fitness
    assert less.scenario["short"] == less.scenario["jitter"] == 0
    assert less.scenario["rate"] == 2


def test_no_scenario_takes_long():
    dice = random.Random(6)
    for _ in range(1000):
        told = scenario.words({name: axis.choose(dice) for name, axis in scenario.AXES.items()})
        peak = max(float(told["rate"]), float(told.get("step", "0:0").partition(":")[2]))
        assert scenario.pps(peak) * float(told["end"]) <= 1.001 * scenario.PACKETS_MAX
        assert peak <= 1000.1
        assert 0 < float(told["from"]) < float(told["to"]) < float(told["end"])
        assert scenario.buffer_packets(told) >= 4


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"disc": "pie", "loss": 100.0, "jitter": 5000.0, "stall": 50.0, "rev": 1.0, "short": 0.1},
        {"disc": "fq", "ours": 8.0, "theirs": 4.0, "their": "reno"},
        {"disc": "codel", "theirs": 0.0, "rate": 1000.0, "buf": 0.125},
    ],
)
def test_the_testbed_accepts_the_experiment(tmp_path: Path, more: dict[str, Any]):
    file, told = tmp_path / "hunt-1.toml", scenario.words(PLAIN | more)
    text = scenario.experiment(told, "hunt_1", "harm 0.1")
    assert text is not None
    file.write_text(text)
    what = experiment.load(file)
    assert what.link.queue_packets == scenario.buffer_packets(told)
    assert [flow.cc for flow in what.flows].count("dalbe_cdg") == int(told["ours"])
    assert all(flow.cc != "dalbe_cdg" for flow in what.contender("cubic").flows)
    assert (what.link.jitter_ms or 0) * 2000 == more.get("jitter", 0)
    if told["theirs"] != "0":
        alone = experiment.load(file, ["flows.ours.count=0", "contenders=none"])
        assert len(alone.flows) == int(told["theirs"])


@pytest.mark.parametrize("more", [{"udp": 0.1}, {"step": 0.5}, {"delack": 0.0}, {"rev": 0.5}])
def test_what_the_testbed_cannot_do_is_no_experiment(more: dict[str, Any]):
    assert scenario.experiment(scenario.words(PLAIN | more), "hunt_1", "harm 0.1") is None


@pytest.mark.parametrize("setting", ["colour=1", "rate=fast", "disc=red", "rate"])
def test_a_choice_that_is_none_is_refused(setting: str):
    with pytest.raises(TestbedError, match="--fix"):
        Hunt(None, fix=[setting])  # type: ignore[arg-type]
