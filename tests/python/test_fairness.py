# SPDX-License-Identifier: GPL-2.0-only
"""Fairness among our own flows: Jain's index, the latecomer, and what cannot be judged."""

from __future__ import annotations

from pathlib import Path

import pytest
from dalbe_testbed.plan import sweep
from dalbe_testbed.study import own_flows as fairness
from dalbe_testbed.study.engine import Finding
from fakeruns import Site
from hypothesis import given
from hypothesis import strategies as st
from pictures import limits, points, values

SWEEP = (sweep.SWEEPS / "own-flows.toml").read_text().replace("seeds = 10", "seeds = 2")


@given(st.lists(st.floats(0, 1e3), min_size=1, max_size=20), st.floats(0.01, 100))
def test_jains_index_is_between_one_nth_and_one_whatever_the_unit(rates, scale):
    index = fairness.jain(rates)
    if index is None or min(rate for rate in rates if rate) < 1e-6:
        return
    assert 1 / len(rates) - 1e-9 <= index <= 1 + 1e-9
    assert fairness.jain([scale * rate for rate in rates]) == pytest.approx(index)


def test_jains_index_at_its_ends():
    assert fairness.jain([3.0] * 7) == pytest.approx(1)
    assert fairness.jain([5.0, 0, 0, 0]) == pytest.approx(0.25)
    assert fairness.jain([0.0, 0.0]) is None


def made(
    tmp_path: Path,
    *,
    late: float | tuple[float, float] = 1.0,
    starving: int = 0,
    total: float = 8.5,
) -> Finding:
    """The finding where the latecomer has so many shares, and some of 20 flows have none.

    late: in both runs of a point, or in each.
    """
    site = Site(tmp_path, SWEEP)
    for run in site.runs:
        names = [flow.name for flow in run.point.experiment.flows]
        parts = dict.fromkeys(names, 1.0)
        if len(names) == 20:
            parts |= dict.fromkeys(names[:starving], 0.0)
        if len(names) > 1:
            parts["latecomer"] = late[run.seed - 1] if isinstance(late, tuple) else late
        whole = 9.0 if run.point.values["who"] == "cubic" else total
        there = sum(parts.values())

        def mbps(flow: str, t_s: float, parts=parts, there=there, whole=whole) -> float:
            if flow == "latecomer" and t_s < 60:
                return 0.0
            present = there if t_s >= 60 else there - parts.get("latecomer", 0)
            return whole * parts[flow] / present

        site.write_rates(run, mbps)
    return fairness.STUDY.find(site.results(), site.sweep)


def met(found: Finding) -> list[bool]:
    return [verdict.met for verdict in found.verdicts]


def test_equal_flows_that_fill_the_link_meet_everything(tmp_path: Path):
    found = made(tmp_path, total=9.0)
    assert met(found) == [True] * 4
    assert found.summary["jain"].to_list() == pytest.approx([None, 1, 1, 1, None])
    assert found.runs.height == 10
    chart = fairness.draw(found)
    for name in ("use_percent", "jain", "late_percent"):
        tables = (it.drop_nulls("w") for it in (found.summary, found.runs))  # means; each run
        expected = sorted(at for table in tables for at in values(table, "flows", name))
        assert points(chart, "point", "flows", name) == expected
    use, late, jain = fairness.USE_PERCENT, fairness.LATE_PERCENT, fairness.JAIN
    assert limits(chart) == sorted(({"y": y} for y in (use, jain, -late, late)), key=str)


def test_each_requirement_fails_on_its_own(tmp_path: Path):
    assert met(made(tmp_path / "a", total=8.5)) == [False, True, True, True]
    greedy = made(tmp_path / "b", late=1.21, total=9)
    assert met(greedy) == [True, True, True, False]
    assert greedy.summary.filter(flows=20).item(0, "late_percent") == pytest.approx(21)
    assert met(made(tmp_path / "c", late=0.79, total=9))[3] is False
    assert met(made(tmp_path / "e", late=(0.79, 1.21), total=9))[3] is False
    assert met(made(tmp_path / "d", starving=3, total=9))[1:3] == [False, False]


def test_a_lost_yardstick_and_a_lost_run_fail(tmp_path: Path):
    made(tmp_path, total=9.0)
    site = Site(tmp_path, SWEEP)
    for run in site.runs:
        who, flows = run.point.values["who"], run.point.values["own_flows"]
        if who == "cubic" or (flows, run.seed) == (5, 2):
            (site.out / run.directory / "manifest.json").unlink()
    found = fairness.STUDY.find(site.results(), site.sweep)
    assert met(found) == [False] * 4
    assert "5 flows: 1.000 [" not in found.verdicts[2].detail
    assert "1 run missing" in found.verdicts[2].detail
