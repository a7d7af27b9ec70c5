# SPDX-License-Identifier: GPL-2.0-only
"""How often the regime errs, from rounds that are known."""

from __future__ import annotations

import polars as pl
import pytest
from dalbe_testbed.errors import TestbedError
from dalbe_testbed.study import regimes
from dalbe_testbed.study.results import Window
from hypothesis import given
from hypothesis import strategies as st

THEN = Window(10, 20)


def rounds(*rows: tuple[float, str, int]) -> pl.DataFrame:
    """A row per round: t_s, flow, regime; in any order, with a column that does not count."""
    table = pl.DataFrame(list(rows), schema=["t_s", "flow", "regime_state"], orient="row")
    return table.with_columns(pl.lit(9, pl.Int64).alias("cwnd"))


def test_a_round_lasts_until_the_flows_next_and_the_last_to_the_end():
    table = rounds((11.0, "a", 0), (12.0, "a", 1), (13.5, "a", 1), (14.0, "a", 0), (30.0, "a", 1))
    assert regimes.alone_percent(table, ["a"], THEN) == pytest.approx(80)
    assert regimes.yields_per_minute(table, ["a"], THEN) == pytest.approx(6)
    assert regimes.alone_percent(table, ["a"], Window(30, 40)) == 0


def test_time_counts_not_rounds():
    many = [(10 + n / 10, "a", 1) for n in range(10)]  # ten short rounds in one second
    assert regimes.alone_percent(rounds((9, "a", 0), *many, (11, "a", 0)), ["a"], THEN) == 90


@pytest.mark.parametrize(("before", "percent"), [(0, 100), (1, 0)])
def test_a_regime_lasts_into_a_window_without_rounds(before: int, percent: float):
    table = rounds((1.0, "a", before), (25.0, "a", 1 - before))
    assert regimes.alone_percent(table, ["a"], THEN) == percent
    assert regimes.yields_per_minute(table, ["a"], THEN) == 0


def test_a_flow_begins_alone():
    assert regimes.alone_percent(rounds((15.0, "a", 1)), ["a"], THEN) == 50
    assert regimes.yields_per_minute(rounds((15.0, "a", 1)), ["a"], THEN) == 6


def test_only_leaving_alone_within_the_window_is_a_yield():
    states = [(9.9, 1), (10.0, 0), (11.0, 1), (12.0, 1), (13.0, 1), (14.0, 0), (20.0, 1)]
    table = rounds(*((t_s, "a", state) for t_s, state in states))
    assert regimes.yields_per_minute(table, ["a"], THEN) == pytest.approx(6)
    # a round belongs to the window that it begins
    assert regimes.yields_per_minute(table, ["a"], Window(11, 21)) == pytest.approx(12)


def test_flows_are_told_apart_averaged_and_only_those_named_count():
    table = rounds((1, "a", 0), (1, "b", 1), (1, "c", 1), (15, "a", 1), (16, "b", 1), (17, "c", 0))
    assert regimes.alone_percent(table, ["a", "b"], THEN) == pytest.approx(25)
    assert regimes.yields_per_minute(table, ["a", "b"], THEN) == pytest.approx(3)


@given(
    st.lists(st.tuples(st.floats(0, 100), st.sampled_from("ab"), st.integers(0, 1)), max_size=30),
    st.floats(1, 99),
)
@pytest.mark.slow
def test_two_halves_make_the_whole_in_any_order_of_rows(rows, middle: float):
    table = rounds((0.0, "a", 0), (0.0, "b", 0), *rows).unique(["t_s", "flow"], keep="first")
    for measure in (regimes.alone_percent, regimes.yields_per_minute):
        first, second, whole = (
            measure(table, ["a", "b"], window) * window.length_s
            for window in (Window(0, middle), Window(middle, 100), Window(0, 100))
        )
        assert first + second == pytest.approx(whole)
        mixed = table.sample(fraction=1, shuffle=True, seed=1)
        assert measure(mixed, ["a", "b"], Window(0, 100)) * 100 == pytest.approx(whole)


def test_what_was_not_traced_is_no_error_rate_of_zero():
    with pytest.raises(TestbedError, match=r"rounds.parquet: b has no round before 20 s"):
        regimes.alone_percent(rounds((1, "a", 0), (21, "b", 0)), ["a", "b"], THEN)
    without = rounds((1, "a", 0)).drop("regime_state")
    with pytest.raises(TestbedError, match=r"lacks regime_state"):
        regimes.yields_per_minute(without, ["a"], THEN)
