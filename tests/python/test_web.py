# SPDX-License-Identifier: GPL-2.0-only
"""Web-like sessions: the load they offer, their sizes, and what a seed decides."""

from __future__ import annotations

import math
from typing import get_args

import polars as pl
import pytest
from dalbe_testbed.errors import TestbedError
from dalbe_testbed.plan import schedule
from dalbe_testbed.plan.experiment import Web
from hypothesis import given, settings
from hypothesis import strategies as st

RATE_BPS = 10_000_000
DIRECTIONS: tuple[schedule.Direction, ...] = get_args(schedule.Direction)


def offered(transfers: list[schedule.Transfer], length_s: float) -> float:
    return sum(schedule.object_wire_bytes(one.bytes) for one in transfers) * 8 / length_s / RATE_BPS


def mean_object_bytes(most_bytes: int) -> float:
    """Return the mean of the bounded Pareto distribution."""
    ratio = schedule.LEAST_BYTES / most_bytes
    head = schedule.LEAST_BYTES * schedule.SHAPE / (schedule.SHAPE - 1)
    return head * (1 - math.pow(ratio, schedule.SHAPE - 1)) / (1 - math.pow(ratio, schedule.SHAPE))


@given(
    st.floats(0.05, 1),
    st.floats(0.1, 1),
    st.floats(0, 100),
    st.integers(10**4, 10**7),
    st.integers(0, 10**8),
)
@settings(max_examples=30, deadline=None)
@pytest.mark.slow
def test_the_load_is_what_was_asked_for(
    load: float, part: float, start_s: float, max_bytes: int, seed: int
) -> None:
    some = Web(load=load, reverse_part=part, start_s=start_s, max_bytes=max_bytes)
    for direction, wanted in zip(DIRECTIONS, (load, load * part), strict=True):
        transfers = schedule.draw_sessions(some, RATE_BPS, start_s + 300, seed, direction)
        assert offered(transfers, 300) == pytest.approx(wanted, rel=schedule.TOLERANCE)
        starts = [one.start_s for one in transfers]
        assert starts == sorted(starts)
        assert start_s <= starts[0] + 1e-6
        assert starts[-1] <= start_s + 300 + 1e-6
        sizes = [one.bytes for one in transfers]
        assert min(sizes) >= schedule.LEAST_BYTES
        assert max(sizes) <= some.max_bytes


@pytest.mark.slow
def test_sizes_have_a_heavy_tail_and_the_mean_that_is_said() -> None:
    some = Web(load=1)
    transfers = schedule.draw_sessions(some, RATE_BPS, 20_000, 1, "forward")
    sizes = pl.Series([one.bytes for one in transfers])
    mean_bytes = mean_object_bytes(some.max_bytes)
    assert sizes.mean() == pytest.approx(mean_bytes, rel=0.05)
    assert mean_bytes == pytest.approx(18_200, rel=0.01)
    # Pareto: of k times the least there is k^-1.2 of the objects
    for times in (2, 10, 100):
        more = (sizes > times * schedule.LEAST_BYTES).mean()
        assert more == pytest.approx(math.pow(times, -schedule.SHAPE), rel=0.1)
    # a hundredth of the objects has 30 % of the bytes: those beyond 100^(1/1.2) times the least
    beyond, most = math.pow(100, -1 / 6), math.pow(some.max_bytes / schedule.LEAST_BYTES, -0.2)
    largest = sizes.sort(descending=True).head(len(sizes) // 100).sum()
    expected = (beyond - most) / (1 - most)
    assert expected == pytest.approx(0.295, abs=0.001)
    assert largest / sizes.sum() == pytest.approx(expected, rel=0.05)
    # the paper's 30 % of 100 Mbit/s in 99.5 sessions per second
    assert schedule.MEAN_OBJECTS * mean_bytes == pytest.approx(0.3 * 100e6 / 8 / 99.5, rel=0.05)


def test_seeds_and_directions_differ() -> None:
    some = Web(load=0.5, reverse_part=1)
    drawn = [
        schedule.draw_sessions(some, RATE_BPS, 60, seed, way)
        for seed in (1, 2)
        for way in DIRECTIONS
    ]
    assert drawn[0] == schedule.draw_sessions(some, RATE_BPS, 60, 1, "forward")
    assert all(one != other for n, one in enumerate(drawn) for other in drawn[:n])


def test_what_is_too_little_to_be_made_of_sessions_is_an_error() -> None:
    with pytest.raises(TestbedError, match="too few to be made of sessions: at least 1e"):
        schedule.draw_sessions(Web(load=0.01), RATE_BPS, 10, 1, "forward")
