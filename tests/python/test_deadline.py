# SPDX-License-Identifier: GPL-2.0-only
"""Deadlines: what is measured of a transfer, from runs that are known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from dalbe_testbed.papers import framework
from dalbe_testbed.plan.sweep import Run
from dalbe_testbed.study import deadline
from dalbe_testbed.study.engine import Finding
from fakeruns import Site
from pictures import drawn

SWEEP = """
title = "one transfer"
experiment = "framework.toml"
figure = "deadline"
seeds = 2
[[grid]]
eta = [{etas}]
controller = ["mbc", "cubic"]
"""
LINK_MBPS = 10.0


def present(t_s: float) -> list[str]:
    return [s.name for s in framework.CROSS if s.start_s <= t_s < s.stop_s]


def write(
    site: Site,
    run: Run,
    *,
    end_s: float | None = 1650,
    part: float = 1.0,
    gap_part: float = 0.8,
    rounds: int = 4,
    declared_tw: int | None = None,
) -> None:
    """Write a run in which ours has `part` of a CUBIC flow's rate, and of the gap `gap_part`.

    It needs `rounds` rounds of 50 ms to see that tcp4 has come, and ends at end_s.
    """

    def mbps(flow: str, t_s: float) -> float:
        who = present(t_s)
        sends = 400 <= t_s < (end_s or 2000)
        if flow == "ours":
            rate = LINK_MBPS * part / (len(who) + part) if who else LINK_MBPS * gap_part
            return rate * sends
        return LINK_MBPS / (len(who) + part * sends) if flow in who else 0.0

    site.write_rates(run, mbps)
    directory = site.out / run.directory
    begun = {s.name: s.start_s for s in framework.CROSS} | {"ours": 400.0}
    ended = {s.name: s.stop_s for s in framework.CROSS} | {"ours": end_s}
    flows = {
        "flow": list(begun),
        "start_s": [float(start) for start in begun.values()],
        "end_s": [None if (end := ended[name]) is None else float(end) for name in begun],
        "finished": [name == "ours" and end_s is not None for name in begun],
    }
    pl.DataFrame(flows).write_parquet(directory / "flows.parquet")
    times = [400 + n * 0.05 for n in range(26000)]
    alone = [1001 <= t < 1010 + (rounds - 1) * 0.05 - 1e-6 for t in times]
    states = [1 - a for a in alone]
    rounds_of = {"t_s": times, "flow": ["ours"] * len(times), "regime_state": states}
    pl.DataFrame(rounds_of).write_parquet(directory / "rounds.parquet")
    updates = range(1, 131)
    control = {
        "t_s": [400.0 + 10 * n for n in updates],
        "target_Bps": [125000] * len(updates),
        "w_ppm": [500000] * len(updates),
        "status": [
            "infeasible" if declared_tw and n >= declared_tw else "on_track" for n in updates
        ],
    }
    pl.DataFrame(control).write_parquet(directory / "control.parquet")


def made(tmp_path: Path, etas: str, **what: float | None) -> Finding:
    site = Site(tmp_path, SWEEP.format(etas=etas))
    for run in site.runs:
        is_cubic = run.point.values["controller"] == "cubic"
        write(site, run, **({"end_s": None} if is_cubic else what))  # type: ignore[arg-type]
    return deadline.STUDY.find(site.results(), site.sweep)


def test_what_is_measured(tmp_path: Path):
    found = made(tmp_path, "0.1", part=0.5, gap_part=0.6, rounds=7)
    row = found.runs.to_dicts()[0]
    assert row["finish"] == pytest.approx(1250 / 1300)
    assert row["gap_percent"] == pytest.approx(60, abs=0.1)
    assert row["yield_rounds"] == 7
    assert (row["least_part"], row["greatest_part"]) == pytest.approx((0.5, 0.5), rel=0.01)
    assert (row["least_of_cubic"], row["greatest_of_cubic"]) == pytest.approx((0.5, 0.5), rel=0.01)
    assert row["declared_tw"] is None


def test_a_span_is_a_time_in_which_nobody_comes_or_goes(tmp_path: Path):
    site = Site(tmp_path, SWEEP.format(etas="0.1"))
    write(site, site.runs[0], end_s=1650)
    flows = pl.read_parquet(site.out / site.runs[0].directory / "flows.parquet")
    found = list(deadline.spans(site.runs[0], flows))
    assert [(span.start_s, span.end_s) for _, span, _ in found] == [
        (420, 600), (620, 800), (820, 1000), (1030, 1200), (1220, 1400), (1420, 1600), (1620, 1650)
    ]  # fmt: skip
    assert [len(who) for *_, who in found] == [2, 1, 2, 1, 2, 3, 2]


@pytest.mark.parametrize(
    ("changed", "met"),
    [
        ({}, [True, True, True]),
        ({"end_s": 1600}, [False, True, True]),
        ({"end_s": 1714}, [False, True, True]),
        ({"end_s": None}, [False, True, True]),
        ({"gap_part": 0.4}, [True, False, True]),
        ({"rounds": 11}, [True, True, False]),
        ({"rounds": -200}, [True, True, False]),  # never alone when somebody came: nothing seen
        ({"end_s": 900}, [False, False, False]),  # before there was a gap, or a newcomer to it
    ],
)
def test_a_deadline_that_can_be_met_is_judged(tmp_path: Path, changed: dict, met: list[bool]):
    assert [v.met for v in made(tmp_path, "0.1", **changed).verdicts] == met


@pytest.mark.parametrize(
    ("changed", "met"),
    [
        ({}, [True, True, True, True]),
        ({"part": 1.2}, [False, True, False, True]),
        ({"part": 0.5}, [True, False, False, True]),
        ({"declared_tw": 4}, [True, True, True, False]),
        ({"declared_tw": None}, [True, True, True, False]),
    ],
)
def test_a_deadline_that_cannot_be_met_is_judged(tmp_path: Path, changed: dict, met: list[bool]):
    found = made(tmp_path, "0.8", **({"end_s": None, "declared_tw": 3} | changed))
    assert [v.met for v in found.verdicts] == met


def test_a_lost_run_meets_nothing(tmp_path: Path):
    site = Site(tmp_path, SWEEP.format(etas="0.1, 0.8"))
    for run in site.runs:
        if run.seed == 1:
            write(site, run, declared_tw=2)
    found = deadline.STUDY.find(site.results(), site.sweep)
    assert not any(v.met for v in found.verdicts)
    assert all("1 run missing" in v.detail for v in found.verdicts)


def test_cubic_in_its_place_is_of_the_same_network(tmp_path: Path):
    axis = 'network = ["tenth", "whole"]\ncontroller'
    site = Site(tmp_path, SWEEP.format(etas="0.8").replace("controller", axis))
    for run in site.runs:
        of_the_file = run.point.values["network"] == "whole"
        write(site, run, end_s=None, part=1.0 if of_the_file else 0.1)
    of_cubic = deadline.STUDY.find(site.results(), site.sweep).runs["carried_of_cubic"]
    assert list(of_cubic) == pytest.approx([1.0] * 8)


def test_other_controllers_are_reported_but_not_judged(tmp_path: Path):
    site = Site(tmp_path, SWEEP.format(etas="0.1").replace('"cubic"', '"pid"'))
    for run in site.runs:
        late = run.point.values["controller"] == "pid"
        write(site, run, end_s=1900 if late else 1650)
    found = deadline.STUDY.find(site.results(), site.sweep)
    assert all(v.met for v in found.verdicts)
    assert found.summary.select("controller", "in_time").rows() == [("mbc", 2), ("pid", 0)]


@pytest.mark.slow
def test_the_figure_has_a_panel_per_point(tmp_path: Path):
    found = made(tmp_path, "0.1, 0.3, 0.8")
    chart = deadline.draw(found)
    marks = drawn(chart)
    for column in ("mbps", "target_mbps", "w"):
        lines = [mark for mark in marks if mark.at.get("y") == column]
        assert len(lines) == len(chart.to_dict()["concat"]) == found.summary.height
        assert {mark.at["x"] for mark in lines} == {"t_s"}
        shown = {at for mark in lines for at in mark.points()}
        assert shown <= set(found.curves.select("t_s", column).rows())
    ours = {row["who"] for mark in marks for row in mark.rows if row["flow"] == "ours"}
    assert ours == {"the transfer"}


def test_a_rate_that_grows_without_bound_does_not_flatten_the_figure(tmp_path: Path):
    """A goal that cannot be met wants thousands of Mbit/s in the end: rates are below ten."""
    found = made(tmp_path, "0.1, 0.8")
    ours = pl.col("flow") == "ours"
    wanted = pl.when(ours & (pl.col("controller") == "mbc")).then(8 + (pl.col("t_s") - 400) * 4)
    found = replace(found, curves=found.curves.with_columns(target_mbps=wanted))
    assert found.curves["target_mbps"].max() > 4000
    panels = deadline.draw(found).to_dict()["concat"]
    rates = [part["encoding"] for panel in panels for part in panel["layer"][0]["layer"]]
    axes = [rate["y"] for rate in rates if "y" in rate and rate["y"]["title"] == "Mbit/s"]
    tops = [axis["scale"]["domain"][1] for axis in axes if "scale" in axis]
    assert all(axis["scale"]["clamp"] for axis in axes if "scale" in axis)
    assert len(tops) == len(panels)
    assert tops
    assert all(LINK_MBPS / 2 < top < 2 * LINK_MBPS for top in tops)
