# SPDX-License-Identifier: GPL-2.0-only
"""Difficult paths, and several goals on one link: what counts, and what is said of misses."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from dalbe_testbed.plan import sweep
from dalbe_testbed.plan.sweep import Run
from dalbe_testbed.study import five, robust
from dalbe_testbed.study.engine import Finding
from dalbe_testbed.study.goals import in_place
from fakeruns import Site
from pictures import drawn

ROBUST = """
title = "two paths"
experiment = "robust.toml"
figure = "robust"
seeds = 2
[[grid]]
impairment = ["none", "longer50ms"]
in_place = ["dalbe", "cubic"]
"""
FIVE = """
title = "five goals"
experiment = "five.toml"
figure = "five"
seeds = 2
[[grid]]
rtt = [50]
"""
START_S, WINDOW_S = 15.0, 180.0


def write_ends(site: Site, run: Run, ends: dict[str, float | None]) -> None:
    """Write when (s) flows that began at START_S were done; None: not at all."""
    table = {
        "flow": list(ends),
        "start_s": [START_S] * len(ends),
        "end_s": list(ends.values()),
        "finished": [end is not None for end in ends.values()],
    }
    schema = {"flow": pl.String, "start_s": pl.Float64, "end_s": pl.Float64, "finished": pl.Boolean}
    pl.DataFrame(table, schema=schema).write_parquet(
        site.out / run.directory / "flows.parquet",
    )


def paths(tmp_path: Path, ours: dict[str, float | None], cubic: dict[str, float | None]) -> Finding:
    """Return what runs show that are done at these parts of the window, by impairment."""
    site = Site(tmp_path, ROBUST)
    for run in site.runs:
        finishes = cubic if in_place(run.point) == "cubic" else ours
        place = robust.where(run.point)
        if place in finishes:
            site.write_rates(run, lambda flow, _t: 2.0 if flow == "ours" else 3.0)
            part = finishes[place]
            write_ends(site, run, {"ours": None if part is None else START_S + part * WINDOW_S})
    return robust.STUDY.find(site.results(), site.sweep)


@pytest.mark.parametrize(
    ("ours", "cubic", "said"),
    [
        ({}, {}, "none: 2 of 2; longer50ms: 2 of 2"),
        ({"longer50ms": 1.01}, {}, "longer50ms: 0 of 2, 1.010, 1.010; none: 2 of 2"),
        ({"longer50ms": None}, {}, "longer50ms: 0 of 2, not done, not done; none: 2 of 2"),
        # where CUBIC had no easy time of it nothing is judged, and nothing is passed
        ({"longer50ms": 0.9}, {"longer50ms": 0.81}, "longer50ms: 0 of 0; none: 2 of 2"),
        ({"longer50ms": 0.9}, {"longer50ms": None}, "longer50ms: 0 of 0; none: 2 of 2"),
    ],
)
def test_goals_that_cubic_meets_with_ease_count(tmp_path: Path, ours, cubic, said: str):
    in_time = {"none": 0.98, "longer50ms": 0.98}
    easy = {"none": 0.5, "longer50ms": 0.5}
    (found,) = paths(tmp_path, in_time | ours, easy | cubic).verdicts
    assert found.detail == said
    assert found.met == (not ours)


def test_lost_runs_meet_nothing(tmp_path: Path):
    (found,) = paths(tmp_path, {"none": 0.9}, {"none": 0.5}).verdicts
    assert found.detail == "longer50ms: 0 of 0, 2 runs missing; none: 2 of 2"


def test_rates_over_time_and_the_figure(tmp_path: Path):
    found = paths(tmp_path, {"none": 0.98, "longer50ms": None}, {"none": 0.5, "longer50ms": 0.6})
    mbps = {flow: here["mbps"] for (flow,), here in found.curves.group_by("flow")}
    assert mbps["ours"].to_list() == pytest.approx([2.0] * len(mbps["ours"]))
    assert mbps["others"].to_list() == pytest.approx([6.0] * len(mbps["others"]))
    row = found.summary.filter(where="longer50ms").to_dicts()[0]
    assert row["finish"] is None
    assert row["others_mbps"] == pytest.approx(6.0)
    ends, *_, rates = drawn(robust.draw(found))
    assert (ends.at["x"], ends.at["y"], ends.at["color"]) == ("where", "value", "who")
    done = {(row["where"], row["who"]): row["value"] for row in ends.rows}
    assert done["none", "the transfer"] == pytest.approx(0.98)
    assert done["none", "CUBIC in its place"] == pytest.approx(0.5)
    assert (rates.at["x"], rates.at["y"], rates.at["color"]) == ("t_s", "mbps", "who")
    shown = {(row["who"], round(row["mbps"])) for row in rates.rows}
    assert ("the transfer", 2) in shown


def test_every_point_of_ours_has_cubic_s_beside_it():
    points = sweep.load(sweep.find("robust")).points
    ours = {robust.where(point) for point in points if in_place(point) == "dalbe"}
    assert len(ours) == len(points) / 2
    assert ours == {robust.where(point) for point in points if in_place(point) == "cubic"}


def goals(tmp_path: Path, finish: dict[str, float | None], mbps: dict[str, float]) -> Finding:
    """Return what runs show whose flows are done at these parts of their windows."""
    site = Site(tmp_path, FIVE)
    for run in site.runs:
        site.write_rates(run, lambda flow, _t: mbps.get(flow, 1.0))
        ends = {
            flow.name: None
            if (part := finish.get(flow.name, 0.9)) is None
            else START_S + part * goal.deadline_s
            for flow, goal in five.transfers(run.point)
        }
        write_ends(site, run, ends)
    return five.STUDY.find(site.results(), site.sweep)


FALLING = {"due60": 3.0, "due120": 2.5, "due180": 2.0, "due240": 1.5, "due300": 1.0}


@pytest.mark.parametrize(
    ("finish", "mbps", "met", "said"),
    [
        ({}, {}, [True, True], "10 of 10; 0.900 to 0.900"),
        ({"due120": 1.01}, {}, [False, True], "8 of 10; 0.900 to 1.010"),
        ({"due300": None}, {}, [False, True], "8 of 10; 0.900 to 0.900; 2 never"),
        ({}, {"due240": 2.0}, [True, False], "10 of 10; 0.900 to 0.900"),
    ],
)
def test_who_has_less_time_gets_more_and_all_are_met(tmp_path: Path, finish, mbps, met, said):
    found = goals(tmp_path, finish, FALLING | mbps)
    assert [verdict.met for verdict in found.verdicts] == met
    assert found.verdicts[0].detail == f"rtt50: {said}"
    assert found.runs.height == 10
    marks = drawn(five.draw(found))
    for column in ("finish", "early_mbps"):
        points = next(mark for mark in marks if mark.at["y"] == column)
        assert points.at["x"] == "deadline_s"
        rows = found.runs.select("deadline_s", column).drop_nulls().rows()
        assert {at for at in points.points() if at[1] < 2 * max(FALLING.values())} >= set(rows)


def test_a_lost_run_of_several_goals(tmp_path: Path):
    site = Site(tmp_path, FIVE.replace("seeds = 2", "seeds = 3"))
    for run in site.runs[:2]:
        site.write_rates(run, lambda flow, _t: FALLING.get(flow, 1.0))
        write_ends(site, run, {flow.name: 20.0 for flow, _goal in five.transfers(run.point)})
    found = five.STUDY.find(site.results(), site.sweep)
    assert [verdict.met for verdict in found.verdicts] == [False, False]
    assert all("1 run missing" in verdict.detail for verdict in found.verdicts)
