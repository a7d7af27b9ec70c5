# SPDX-License-Identifier: GPL-2.0-only
"""Stalls and clumps: use is relative to CUBIC under the same, and a smooth path's bars hold."""

from __future__ import annotations

from pathlib import Path

import pytest
from dalbe_testbed.plan import sweep
from dalbe_testbed.study import stalls
from fakeruns import Site
from pictures import limits, points, values

PATHS = """
title = "two paths"
experiment = "stalls.toml"
figure = "stalls"
seeds = 1
[[grid]]
"link.stall.for_ms" = [5, 50]
who = ["w0.01", "cubic"]
[[grid]]
"link.stall" = ["none"]
"link.ack_slot_ms" = [4]
who = ["w0.01", "cubic"]
"""


@pytest.mark.parametrize(("alone", "beside", "met", "detail"), [
    (4.9, 0.2, (True, True), "98.0 %"),
    (4.8, 0.2, (False, True), "for_ms50: 96.0 %"),
    (4.9, 0.4, (True, False), "98.0 %"),
])  # fmt: skip
def test_where_cubic_gets_half_of_the_link_we_are_to_get_nearly_that(
    tmp_path: Path, alone: float, beside: float, met: tuple[bool, bool], detail: str
) -> None:
    site = Site(tmp_path, PATHS)
    for run in site.runs:
        stall, ours = run.point.experiment.link.stall, run.point.values["who"] == "w0.01"
        mbps, share = (alone, beside) if ours else (5.0, 4.0)
        if stall is None or stall.for_ms < 50:
            mbps, share = (9.0, 0.1) if ours else (9.0, 4.5)
        site.write(run, {"ours": mbps}, {"ours": share, "cubic": 9.0 if ours else 4.5})
    found = stalls.STUDY.find(site.results(), site.sweep)
    assert tuple(verdict.met for verdict in found.verdicts) == met
    assert detail in found.verdicts[0].detail
    assert found.summary["late"].unique(maintain_order=True).to_list() == [
        "5 ms in 1 s", "50 ms in 1 s", "ACKs each 4 ms",
    ]  # fmt: skip
    chart, ours = stalls.draw(found), found.summary.drop_nulls("w")
    for name in ("use_percent", "share_percent"):
        assert points(chart, "point", "late", name) == values(ours, "late", name)
    assert limits(chart) == [{"y": stalls.SHARE_PERCENT}, {"y": stalls.USE_PERCENT}]


def test_the_sweep_has_cubic_beside_ours_on_every_path() -> None:
    points = sweep.load(sweep.find("stalls")).points
    places = {
        who: {stalls.path(p) + stalls.late(p) for p in points if p.values["who"] == who}
        for who in ("w0.01", "cubic")
    }
    assert places["w0.01"] == places["cubic"]
    assert len(places["cubic"]) == len(points) / 2
