# SPDX-License-Identifier: GPL-2.0-only
"""The trade-off of a scavenger: its windows, its yardstick, and what is said of it."""

from __future__ import annotations

import polars as pl
import pytest
from dalbe_testbed import sweep, tradeoff
from dalbe_testbed.experiment import load
from dalbe_testbed.sweep import EXPERIMENTS, Point
from dalbe_testbed.tradeoff import Tradeoff, Window


def points() -> dict[str, Point]:
    """The committed sweep's points, by who the flows are."""
    return {str(point.values["who"]): point for point in sweep.load(sweep.find("tradeoff")).points}


def measured(who: str, alone: float, queue: float = 5.0, share: float = 2.0) -> Tradeoff:
    """A point whose three seeds measured about this."""
    step = (-0.1, 0.0, 0.1)
    return Tradeoff(
        points()[who],
        *(tuple(value + d for d in step) for value in (alone, queue, share)),
    )


def test_windows_leave_out_starts_and_do_not_overlap():
    experiment = load(EXPERIMENTS / "scavenger.toml")
    alone, contended = tradeoff.windows(experiment)
    cross = [flow for flow in experiment.flows if flow.host == "xsender"]
    assert alone.end_s == min(flow.start_s for flow in cross)
    assert contended.start_s == max(flow.latest_start_s for flow in cross) + tradeoff.SETTLED_S
    assert alone.start_s < alone.end_s < contended.start_s < contended.end_s
    assert contended.end_s == experiment.duration_s


def test_a_rate_is_over_the_whole_window_and_the_flows_named():
    rates = pl.DataFrame(
        [
            {"t_s": t / 2, "flow": flow, "payload_bytes": 500_000}
            for t in range(20)
            for flow in ("ours1", "ours2", "cubic1")
        ]
    )
    assert Window(2, 6).mean_mbps(rates, ["ours1", "ours2"]) == pytest.approx(16)
    assert Window(2, 6).mean_mbps(rates, []) == 0


def test_use_is_in_percent_of_the_yardsticks_mean():
    whole = measured("cubic", 8.0)
    assert tradeoff.yardstick([measured("reno", 9.0), whole]) is whole
    assert tradeoff.yardstick([measured("reno", 9.0)]) is None
    assert measured("w0.01", 6.0).use_percent(whole).mean == pytest.approx(75)


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [
        (measured("w0.01", 8.0), ": as required"),
        (measured("w0.01", 7.5), "not as required"),
        (measured("w0.01", 8.0, queue=10.5), "not as required"),
        (measured("w0.01", 8.0, share=3.5), "not as required"),
    ],
)
def test_the_least_weight_is_judged(ours: Tradeoff, verdict: str):
    found = [measured("w1", 8.0, share=50), ours, measured("cubic", 8.0, share=50)]
    assert verdict in tradeoff.say(found)


def test_nothing_is_claimed_without_a_yardstick_or_runs_of_ours():
    for found in ([], [measured("w0.01", 8.0)], [measured("cubic", 8.0)]):
        assert "nothing to compare" in tradeoff.say(found)


def test_the_table_has_a_row_per_run():
    table = tradeoff.frame([measured("w0.05", 8.0), measured("vegas", 8.0)])
    assert table["who"].to_list() == ["w0.05"] * 3 + ["vegas"] * 3
    assert table["w"].to_list() == [0.05] * 3 + [None] * 3
    assert table["seed"].to_list() == [1, 2, 3] * 2
