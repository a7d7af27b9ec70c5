# SPDX-License-Identifier: GPL-2.0-only
"""Impaired paths: use is relative to CUBIC on the same path, and fair queues excuse a share."""

from __future__ import annotations

from pathlib import Path

import pytest
from dalbe_testbed import figures_scavenger, impairments
from dalbe_testbed.finding import Finding
from fakeruns import Site

THREE_PATHS = """
title = "three queues"
experiment = "scavenger.toml"
figure = "impairments"
seeds = 2
[[grid]]
impairment = ["none", "codel", "fq_codel"]
who = ["w0.01", "cubic"]
"""


def made(tmp_path: Path, changed: dict[str, tuple[float, float]]) -> Finding:
    """What was found where ours got these Mbit/s alone and this share; CUBIC gets 4 under CoDel."""
    site = Site(tmp_path, THREE_PATHS)
    for run in site.runs:
        path = str(run.point.values["impairment"])
        ours, share = (4.0 if path == "codel" else 8.0), 1.0
        if run.point.values["who"] == "w0.01":
            ours, share = changed.get(path, (ours, share))
        site.write(run, {"ours1": ours}, {"ours2": share / 10, "cubic1": 10 - share / 10})
    return impairments.find(site.results(), site.sweep)


@pytest.mark.parametrize(
    ("changed", "met"),
    [
        ({}, [True, True]),
        ({"codel": (3.3, 9.9)}, [True, True]),
        ({"codel": (3.1, 1.0)}, [False, True]),
        ({"none": (6.3, 1.0)}, [False, True]),
        ({"codel": (4.0, 10.1)}, [True, False]),
        ({"fq_codel": (8.0, 50.0)}, [True, True]),
    ],
)
def test_no_collapse_and_no_aggression(tmp_path: Path, changed, met: list[bool]):
    found = made(tmp_path, changed)
    assert [verdict.met for verdict in found.verdicts] == met


def test_the_paths_are_all_judged_and_drawn(tmp_path: Path):
    found = made(tmp_path, {})
    assert [found.verdicts[n].detail.count(":") for n in (0, 1)] == [3, 2]
    figures_scavenger.impairments(found, tmp_path / "it.png")
    assert (tmp_path / "it.png").stat().st_size > 5000
