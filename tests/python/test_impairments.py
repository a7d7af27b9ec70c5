# SPDX-License-Identifier: GPL-2.0-only
"""Impaired paths: use is relative to CUBIC on the same path, and fair queues excuse a share."""

from __future__ import annotations

from pathlib import Path

import pytest
from dalbe_testbed.plan import sweep
from dalbe_testbed.plan.sweep import Point
from dalbe_testbed.study import impairments
from dalbe_testbed.study.engine import Finding, who
from dalbe_testbed.study.tradeoff import CORNER
from fakeruns import Site
from pictures import drawn, limits, points, values

PATHS = """
title = "four paths"
experiment = "scavenger.toml"
figure = "impairments"
seeds = 2
[[grid]]
impairment = ["none", "loss0.01", "codel", "fq_codel"]
who = ["w0.01", "cubic"]
[[grid]]
impairment = ["none", "loss0.01"]
who = ["strict_priority"]
"""
Rates = tuple[float, float, float]
"""Mbit/s of ours alone, of ours beside CUBIC, and of CUBIC."""

NOBODY_HURT: Rates = (8.0, 0.1, 9.9)
LOSSY: Rates = (4.0, 4.0, 4.0)


def usual(path: str) -> Rates:
    """The rate that anyone has; under loss, half of it."""
    return {"loss0.01": LOSSY, "codel": (4.0, 0.1, 9.9)}.get(path, NOBODY_HURT)


def made(
    tmp_path: Path, changed: dict[str, Rates], absent: tuple[tuple[str, int], ...] = ()
) -> Finding:
    """The finding where ours had these rates by path, without some runs by point and seed."""
    site = Site(tmp_path, PATHS)
    for run in site.runs:
        path = str(run.point.values["impairment"])
        rates = usual(path)
        if run.point.values["who"] == "w0.01":
            rates = changed.get(path, rates)
        if (run.point.name, run.seed) not in absent:
            site.write(run, {"ours1": rates[0]}, {"ours2": rates[1], "cubic1": rates[2]})
    return impairments.STUDY.find(site.results(), site.sweep)


GENTLE: dict[str, Rates] = {"loss0.01": (4.0, 0.1, 4.0)}
"""Ours does not take what strict priority would."""


@pytest.mark.parametrize(
    ("changed", "met"),
    [
        ({}, [True, True, True]),
        ({"codel": (3.3, 0.99, 9.01)}, [True, True, True]),
        ({"codel": (3.1, 0.1, 9.9)}, [False, True, True]),
        ({"none": (6.3, 0.1, 9.9)}, [False, True, True]),
        ({"codel": (4.0, 1.01, 8.99)}, [True, False, True]),
        ({"fq_codel": (8.0, 5.0, 5.0)}, [True, True, True]),
        ({"loss0.01": LOSSY}, [True, False, True]),  # what CUBIC leaves, as at strict priority
        ({"loss0.01": (4.0, 0.1, 3.65)}, [True, True, True]),
        ({"loss0.01": (4.0, 0.1, 3.55)}, [True, True, False]),
        ({"none": (8.0, 0.9, 8.85)}, [True, True, False]),
        ({"codel": (4.0, 0.1, 1.0)}, [True, True, True]),  # harm is unknown there
    ],
)
def test_no_collapse_and_no_aggression(tmp_path: Path, changed, met: list[bool]):
    found = made(tmp_path, GENTLE | changed)
    assert [verdict.met for verdict in found.verdicts] == met


def test_harm_is_what_cubic_has_less_than_beside_strict_priority(tmp_path: Path):
    found = made(tmp_path, {"loss0.01": (4.0, 4.0, 3.0), "none": (8.0, 0.0, 10.89)})
    table = found.summary.select("who", "impairment", "others_mbps", "harm_percent")
    rows = {row[:2]: row[2:] for row in table.iter_rows()}
    assert rows["w0.01", "loss0.01"] == pytest.approx((3.0, 25.0))
    assert rows["w0.01", "none"] == pytest.approx((10.89, -10.0))
    assert rows["cubic", "none"] == pytest.approx((9.9, 0.0))
    assert rows["strict_priority", "none"] == (pytest.approx(9.9), None)
    assert rows["w0.01", "codel"] == (pytest.approx(9.9), None)
    assert found.runs["others_mbps"].null_count() == 0


@pytest.mark.parametrize(
    ("absent", "said"),
    [
        ((("strict_priority", 1), ("strict_priority", 2)), "base: no run"),
        ((("strict_priority", 2),), "base: 0.0 [0.0, 0.0] %, 1 run missing"),
        ((("loss0.01", 1), ("loss0.01-strict_priority", 1)), "loss0.01: 0.0 %, 2 runs missing"),
    ],
)
def test_no_harm_is_shown_without_all_runs_of_both(tmp_path: Path, absent, said: str):
    verdict = made(tmp_path, GENTLE, absent).verdicts[2]
    assert not verdict.met
    assert verdict.detail.startswith(said)


def test_a_sweep_without_strict_priority_shows_no_lack_of_harm(tmp_path: Path):
    site = Site(tmp_path, PATHS.partition('[[grid]]\nimpairment = ["none", "loss0.01"]\n')[0])
    for run in site.runs:
        site.write(run, {"ours1": 8.0}, {"ours2": 0.1, "cubic1": 9.9})
    verdict = impairments.STUDY.find(site.results(), site.sweep).verdicts[2]
    assert (verdict.met, verdict.detail) == (False, "no run")


def test_the_paths_are_all_judged_and_drawn(tmp_path: Path):
    found = made(tmp_path, GENTLE)
    assert [verdict.detail.count(":") for verdict in found.verdicts] == [4, 3, 2]
    chart = impairments.draw(found)
    for name in ("alone_mbps", "share_percent", "others_mbps"):
        expected = values(found.summary, "impairment", name)
        assert points(chart, "point", "impairment", name) == expected
    least = 1 - impairments.HARM_PERCENT / 100
    corner = values(found.summary.filter(who=CORNER), "impairment", "others_mbps")
    limited = {path: least * mbps for path, mbps in corner}
    assert dict(points(chart, "tick", "impairment", "least")) == pytest.approx(limited)
    gains = [it for it in drawn(chart) if it.mark == "text"]
    ours = found.summary.drop_nulls(["w", "harm_percent"])
    assert gains[0].points() == ours.select("impairment", "others_mbps").rows()
    assert [row[gains[0].at["text"]] for row in gains[0].rows] == ["-0.0 %", "-0.0 %"]
    assert limits(chart) == [{"y": impairments.SHARE_PERCENT}]


def where(point: Point) -> str:
    return str({key: value for key, value in point.values.items() if key != "who"})


def test_strict_priority_is_run_on_every_path_with_a_fifo_and_nowhere_else():
    points = sweep.load(sweep.find("impairments")).points
    assert {p.experiment.link.qdisc for p in points if who(p) != CORNER} > {"pfifo", "pie"}
    fifos = {where(p) for p in points if who(p) != CORNER and p.experiment.link.fifo}
    corners = [p for p in points if who(p) == CORNER]
    assert {where(p) for p in corners} == fifos
    clean = next(p for p in corners if p.values["impairment"] == "none").experiment.link
    for point in corners:  # nothing else of the path has gone
        link = point.experiment.link
        assert link.qdisc == "strict_priority"
        assert (link == clean) == (point.values["impairment"] == "none")
