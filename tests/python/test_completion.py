# SPDX-License-Identifier: GPL-2.0-only
"""Completion times: quantiles of the same requests, what never ends, and whom they are compared to.

The experiment stands in for one with short flows: the tables are what is read.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from dalbe_testbed.errors import TestbedError
from dalbe_testbed.study import short_flows as completion
from dalbe_testbed.study.engine import Finding
from fakeruns import Site
from pictures import limits, points, values

SWEEP = """
title = "short flows"
experiment = "scavenger.toml"
figure = "short-flows"
seeds = 3
[[grid]]
who = ["w0.01", "reno", "cubic"]
"link.rate_mbps" = [10, 20]
"""
REQUESTS = 20


@pytest.fixture(autouse=True)
def _peers_stand_in(monkeypatch: pytest.MonkeyPatch):
    """Reno is who stands for nobody, CUBIC for strict priority."""
    monkeypatch.setattr(completion, "NOBODY", "reno")
    monkeypatch.setattr(completion, "SLOWER_PERCENT", {"reno": 10.0, "cubic": 5.0})


def made(
    tmp_path: Path, factor: dict[str, float], *, unfinished: int = 0, other: bool = False
) -> Finding:
    """The finding where requests take so many times longer, or do not end, beside ours."""
    site = Site(tmp_path, SWEEP)
    for run in site.runs:
        who = str(run.point.values["who"])
        start = [10.0 * n for n in range(REQUESTS)]
        took = [(1 + n) * factor.get(who, 1.0) for n in range(REQUESTS)]
        end: list[float | None] = [a + b for a, b in zip(start, took, strict=True)]
        if who == "w0.01" and unfinished:
            end[-unfinished:] = [None] * unfinished
        sizes = [1000.0 * (1 + n) + run.seed + (other and who == "w0.01") for n in range(REQUESTS)]
        site.write_table(run, "requests", {"start_s": start, "bytes": sizes, "end_s": end})
    return completion.STUDY.find(site.results(), site.sweep)


@pytest.mark.parametrize(
    ("factor", "met"),
    [
        ({}, [True, True]),
        ({"w0.01": 0.5}, [True, True]),
        ({"w0.01": 1.04}, [True, True]),
        ({"w0.01": 1.06}, [True, False]),
        ({"w0.01": 1.06, "cubic": 1.05}, [True, True]),
        ({"w0.01": 1.11, "cubic": 1.1}, [False, True]),
    ],
)
def test_what_is_slower_than_both_limits_fails(tmp_path: Path, factor, met: list[bool]):
    found = made(tmp_path, factor)
    assert [verdict.met for verdict in found.verdicts] == met
    rows = found.summary.filter(who="w0.01")
    slower = 100 * (factor.get("w0.01", 1) - 1)
    assert rows["p95_above_reno_percent"].to_list() == pytest.approx([slower] * 2)


def test_quantiles_are_of_the_requests(tmp_path: Path):
    row = made(tmp_path, {}).runs.row(0, named=True)
    assert (row["requests"], row["unfinished"]) == (20, 0)
    assert row["median_s"] in (10, 11)
    assert row["p95_s"] in (19, 20)


@pytest.mark.parametrize(("unfinished", "met"), [(0, True), (2, False)])
def test_what_is_never_over_is_slowest(tmp_path: Path, unfinished: int, met: bool):
    found = made(tmp_path, {}, unfinished=unfinished)
    assert [verdict.met for verdict in found.verdicts] == [met] * 2
    assert found.summary["unfinished"].to_list() == [3 * unfinished] * 2 + [0] * 4


def test_different_schedules_are_an_error(tmp_path: Path):
    with pytest.raises(TestbedError, match="have different requests"):
        made(tmp_path, {}, other=True)


def test_somebody_in_nobodys_place_is_an_error(tmp_path: Path):
    made(tmp_path, {})
    site = Site(tmp_path, SWEEP)
    run = next(run for run in site.runs if run.point.values["who"] == "reno")
    site.write(run, {"ours1": 8.0}, {})
    with pytest.raises(TestbedError, match=r"who = 'reno' sent \d+ bytes"):
        completion.STUDY.find(site.results(), site.sweep)


def test_a_run_that_lacks_its_table_is_named(tmp_path: Path):
    made(tmp_path, {})
    site = Site(tmp_path, SWEEP)
    (site.out / site.runs[0].directory / "requests.parquet").unlink()
    with pytest.raises(TestbedError, match=r"requests.parquet: .*: remove the run and make it"):
        completion.STUDY.find(site.results(), site.sweep)


def test_a_lost_base_fails_and_lost_runs_are_counted(tmp_path: Path):
    made(tmp_path, {})
    site = Site(tmp_path, SWEEP)
    for run in site.runs:
        if run.point.values["who"] == "reno" and run.point.values["link.rate_mbps"] == 10:
            (site.out / run.directory / "manifest.json").unlink()
    found = completion.STUDY.find(site.results(), site.sweep)
    assert [verdict.met for verdict in found.verdicts] == [False, True]
    assert found.verdicts[0].detail.startswith("link.rate_mbps 10, median: no run to compare")


def test_distributions_are_drawn(tmp_path: Path):
    found = made(tmp_path, {"cubic": 2.0}, unfinished=1)
    load = found.curves.rename({"link.rate_mbps": "short_flows.load"})
    assert load.filter(who="cubic")["seconds"].max() == 40
    drawn = Finding("", [], found.runs, found.summary, load)
    chart, done = completion.draw(drawn), load.filter(load["seconds"].is_finite())
    assert done.height < load.height
    assert points(chart, "line", "seconds", "percent") == values(done, "seconds", "percent")
    assert limits(chart) == [{"y": 95}]
