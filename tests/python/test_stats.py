# SPDX-License-Identifier: GPL-2.0-only
"""Statistics of repetitions: intervals, differences, inversions beyond doubt, agreement."""

from __future__ import annotations

import numpy as np
import pytest
from dalbe_testbed.study import stats
from dalbe_testbed.study.stats import Estimate
from hypothesis import given, settings
from hypothesis import strategies as st

shares = st.floats(0, 100).map(lambda value: round(value, 3))


@settings(max_examples=50)
@given(st.lists(shares, min_size=1, max_size=12))
def test_the_interval_holds_the_mean(values: list[float]):
    estimate = stats.estimate(values)
    assert estimate.mean == pytest.approx(np.mean(values))
    assert estimate.n == len(values)
    if len(values) == 1:
        assert estimate.low is None
    else:
        assert estimate.low is not None
        assert estimate.low - 1e-9 <= estimate.mean <= estimate.high + 1e-9  # type: ignore[operator]


def test_three_values_get_students_interval():
    # t(0.975, 2) = 4.3027, standard error 1 / sqrt(3)
    estimate = stats.estimate([1, 2, 3])
    assert estimate.high == pytest.approx(2 + 4.3027 / 3**0.5, abs=1e-3)


@pytest.mark.parametrize("n", [3, 10, 20])
@pytest.mark.parametrize(("draw", "least"), [("normal", 0.94), ("lognormal", 0.90)])
def test_intervals_cover_the_mean_as_often_as_they_say(n: int, draw: str, least: float):
    """Of normal values; and hardly less often of values with a tail, as times have."""
    generator = np.random.default_rng(1)
    rows = generator.normal(0, 0.5, (4000, n))
    mean = 0.0
    if draw == "lognormal":
        rows, mean = np.exp(rows), np.exp(0.125)
    covered = np.mean([stats.estimate(list(row)).contains(mean) for row in rows])
    assert least <= covered < 0.96


@pytest.mark.parametrize("values", [[], [1.0, float("nan")], [float("inf")]])
def test_a_missing_value_is_an_error(values: list[float]):
    with pytest.raises(ValueError, match="values"):
        stats.estimate(values)


def test_a_difference_and_its_interval():
    change = stats.difference([12, 12.2, 11.9], [10, 10.1, 9.8])
    assert change.mean == pytest.approx(2.067, abs=1e-3)
    assert not change.contains(0)
    assert stats.difference([10, 12, 8], [9, 11, 10]).contains(0)
    assert stats.difference([1], [2, 3]).low is None
    assert stats.difference([3, 3], [1, 1]) == Estimate(2, 2, 2, 2)


def rising(*means: float, half_width: float = 1) -> list[Estimate]:
    return [Estimate(mean, mean - half_width, mean + half_width, 5) for mean in means]


def test_a_fall_within_the_intervals_is_no_inversion():
    assert stats.inversions(rising(10, 12, 11, 14)) == []


def test_a_fall_beyond_the_intervals_is_found_even_in_small_steps():
    assert stats.inversions(rising(10, 15, 12, 16)) == [(1, 2)]
    assert stats.inversions(rising(15, 14, 13, 12.5)) == [(0, 3)]


def test_without_intervals_nothing_can_be_said_of_inversions():
    with pytest.raises(ValueError, match="two seeds"):
        stats.inversions([Estimate(1, None, None, 1)])


def test_agreement_is_within_the_wider_range():
    assert stats.agree([10, 12], [12.5, 13])
    assert not stats.agree([10, 10.5], [12.5, 13])
    with pytest.raises(ValueError, match="several"):
        stats.agree([1], [1])
