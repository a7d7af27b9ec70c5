# SPDX-License-Identifier: GPL-2.0-only
"""control.c: its equations against the reference, and its behaviour in closed loop."""

from __future__ import annotations

import math
import random
from itertools import pairwise
from typing import Any

import pytest
import reference as ref
from hypothesis import given
from hypothesis import strategies as st
from inputs import (
    CONSTANT_ERROR,
    MUL_DIV_ERROR,
    Q16,
    U32_MAX,
    U64_MAX,
    YEAR_NS,
    magnitudes,
    phis_q16,
    prices_q40,
    rates_Bps,
    rtts_us,
    trims_q16,
    u32,
    u64,
    weights_q16,
)
from plant import PRICE_Q40, Transfer


def test_mu_is_never_zero_as_prices_are_divided_by_it(pure: Any) -> None:
    assert pure.control_mu_q16(pure.new("control")) == 1


# The equations. Tolerances as derived in tests/kunit/gen_vectors.py.


@given(magnitudes(1, 2**63), magnitudes(10**6, YEAR_NS))
def test_target_rate_matches_reference(pure: Any, size: int, left_ns: int) -> None:
    expected = min(ref.target_rate(size, left_ns / 1e9), U64_MAX)
    got = pure.control_target_Bps(size, left_ns)
    assert abs(got - expected) <= expected * MUL_DIV_ERROR + 1


@given(u32, u32, st.sampled_from(((3277, ref.L_W), (6554, ref.L_PHI))))
def test_limiter_matches_reference(
    pure: Any, old_q16: int, new_q16: int, limit: tuple[int, float]
) -> None:
    limit_q16, exact = limit
    expected = ref.limit_increase(old_q16, new_q16, exact)
    got = pure.control_limit_increase(old_q16, new_q16, limit_q16)
    assert abs(got - expected) <= exact * new_q16 * CONSTANT_ERROR + 1


@given(
    st.lists(st.tuples(weights_q16, rates_Bps, rates_Bps), min_size=1, max_size=30),
    magnitudes(10**8, 600 * 10**9),
)
def test_pid_matches_reference_over_many_updates(
    pure: Any, updates: list[tuple[int, int, int]], tw_ns: int
) -> None:
    pid, model, tw_s = pure.new("control_pid"), ref.Pid(), tw_ns / 1e9
    drift = 0.0  # of the integral, in units of Q16
    for w_q16, target_Bps, rate_Bps in updates:  # noqa: N806
        before = model.error
        expected = model.update(w_q16 / Q16, target_Bps, rate_Bps, tw_s)
        got = pure.control_pid_update(pid, w_q16, target_Bps, rate_Bps, tw_ns)
        ki_tw, kd_tw = ref.KI * tw_s, ref.KD / tw_s
        drift += 2 * ki_tw + 2 + abs(model.error) * (1 + ki_tw * Q16 * CONSTANT_ERROR)
        units = drift + 2 + 4 * kd_tw
        units += abs(model.error - before) * (1 + kd_tw * Q16 * CONSTANT_ERROR)
        assert abs(got - expected * Q16) <= units + 2
        assert abs(pid.integral_q16 - model.integral * Q16) <= drift + 1


@given(prices_q40, phis_q16, prices_q40, trims_q16)
def test_mbc_weight_matches_reference(
    pure: Any, price_q40: int, phi_q16: int, model_q40: int, trim_q16: int
) -> None:
    expected = ref.mbc_weight(price_q40, phi_q16 / Q16, model_q40, trim_q16 / Q16) * Q16
    got = pure.control_mbc_answer_q16(price_q40, phi_q16, model_q40, trim_q16)
    expected = min(expected, U32_MAX)
    assert abs(got - expected) <= expected * 2 * MUL_DIV_ERROR + 2


@given(trims_q16, rates_Bps, st.just(0) | rates_Bps)
def test_mbc_trim_matches_reference(
    pure: Any,
    trim_q16: int,
    target_Bps: int,  # noqa: N803
    rate_Bps: int,  # noqa: N803
) -> None:
    expected = ref.mbc_trim(trim_q16 / Q16, target_Bps, rate_Bps) * Q16
    assert abs(pure.control_mbc_trim(trim_q16, target_Bps, rate_Bps) - expected) <= 14


@given(phis_q16, u64, u64)
def test_phi_matches_reference(pure: Any, old_q16: int, price_q40: int, std_q40: int) -> None:
    expected = ref.phi(old_q16 / Q16, price_q40, std_q40) * Q16
    got = pure.control_next_phi_q16(old_q16, price_q40, std_q40, pure.PHI_LIMIT_Q16)
    wanted_q16 = ref.price_ratio(price_q40, std_q40) * Q16
    error = wanted_q16 * (MUL_DIV_ERROR + ref.L_PHI * CONSTANT_ERROR)
    assert abs(got - expected) <= error + 2


@given(magnitudes(1, YEAR_NS), rtts_us)
def test_tw_is_a_part_of_the_window_but_some_rtts(pure: Any, window_ns: int, srtt_us: int) -> None:
    d, config = pure.new("control"), pure.new("control_config", wmin_q16=655)
    pure.control_start(d, config, 1, 0, 7, 7 + window_ns)
    rounds_ns = min(max(window_ns // 32, 2000 * srtt_us), 8000 * srtt_us)
    expected = max(min(window_ns // 128, 10 * 10**9), rounds_ns, 10**8)
    assert pure.control_tw_ns(d, srtt_us) == expected


# Closed loop


def controllers(pure: Any) -> tuple[int, int]:
    return pure.CONTROLLER_PID, pure.CONTROLLER_MBC


@pytest.mark.parametrize("model_error", [0.3, 0.5, 1.0, 2.0, 3.0])
@pytest.mark.parametrize("share", [0.1, 0.25, 0.5])
def test_mbc_reaches_the_target_with_a_wrong_model(
    pure: Any, model_error: float, share: float
) -> None:
    """Within 5 %, without alternating, and by the deadline."""
    t = Transfer(pure, size=int(share * 1e6 * 3600), model_error=model_error)
    t.until(0.4)
    settled = t.until(0.9)
    errors = [i.rate_Bps / i.meant_Bps - 1 for i in settled]
    assert max(map(abs, errors)) < 0.05
    swings = [abs(b.rate_Bps / a.rate_Bps - 1) for a, b in pairwise(settled)]
    assert max(swings) < 0.03
    t.until(1)
    assert t.d.status == pure.STATUS_DONE
    assert t.finished <= 1


@pytest.mark.parametrize("model_error", [0.3, 1.0, 3.0])
def test_mbc_errs_towards_early_by_the_variance_of_a_noisy_rate(
    pure: Any, model_error: float
) -> None:
    """F(13) is relative to the rate, hence convex in it: too slow counts more than too fast."""
    noise, sigma = random.Random(1), 0.3
    t = Transfer(pure, size=int(0.25 * 1e6 * 3600), model_error=model_error)
    settled = []
    while t.now_s < 0.9 * 3600:
        interval = t.step(rate_Bps=1e6 * t.mu * noise.lognormvariate(0, sigma))
        if t.now_s > 0.4 * 3600:
            settled.append(interval)
    excess = sum(i.rate_Bps for i in settled) / sum(i.meant_Bps for i in settled)
    assert excess == pytest.approx(1 + sigma**2, abs=0.05)


@pytest.mark.parametrize("share", [0.1, 0.25, 0.5])
def test_pid_reaches_the_target(pure: Any, share: float) -> None:
    size = int(share * 1e6 * 3600)
    t = Transfer(pure, size=size, controller=pure.CONTROLLER_PID)
    t.until(0.4)
    settled = t.until(0.9)
    assert max(abs(i.rate_Bps / i.target_Bps - 1) for i in settled) < 0.05
    t.until(1)
    assert t.d.status == pure.STATUS_DONE


@pytest.mark.parametrize("share", [0.1, 0.25, 0.5])
@pytest.mark.parametrize("fair_Bps", [1e6, 3e6])
def test_the_floor_is_the_target_as_soon_as_patience_lets_it(
    pure: Any,
    share: float,
    fair_Bps: float,  # noqa: N803
) -> None:
    """F(19): 1/20 of w in each. No memory, and no need of it where the model is exact."""
    size = int(share * 1e6 * 3600)
    t = Transfer(pure, size=size, controller=pure.CONTROLLER_FLOOR, fair_Bps=fair_Bps)
    patient = t.steps(20)
    assert all(later.w - w.w <= 0.051 for w, later in pairwise(patient))
    for interval in t.until(0.9):
        assert interval.rate_Bps == pytest.approx(interval.target_Bps, rel=0.001)
    t.until(1)
    assert t.finished <= 1


@pytest.mark.parametrize("model_error", [0.5, 2.0])
def test_the_floor_is_off_by_what_its_model_is(pure: Any, model_error: float) -> None:
    t = Transfer(pure, size=9 * 10**8, controller=pure.CONTROLLER_FLOOR, model_error=model_error)
    interval = t.steps(20)[-1]
    assert interval.rate_Bps == pytest.approx(interval.target_Bps * model_error, rel=0.001)
    assert t.d.mbc.trim_q16 == Q16


@pytest.mark.parametrize("share", [0.05, 0.1, 0.25, 0.4])
def test_mbc_raises_w_by_at_most_a_twentieth_of_it_over_the_room_above_it(
    pure: Any, share: float
) -> None:
    """F(19), from w = wmin; the more slowly, the longer it could be made up for."""
    t = Transfer(pure, size=int(share * 1e6 * 3600), wmin=0.01)
    before, took = 0.01, 0
    while before < share:
        needed = t.d.target_Bps / 1e6 * 1.01
        w = t.step().w
        assert w - before <= 0.05 * needed / min(2 * (1 - needed), 1) + 2 / Q16
        before, took = w, took + 1
    assert took == pytest.approx(20 * (share - 0.01) / share, abs=2)


def test_above_a_half_w_rises_the_faster_the_less_room_there_is(pure: Any) -> None:
    def steps(share: float) -> int:
        t = Transfer(pure, size=int(share * 1e6 * 3600), wmin=0.01)
        took = 1
        while t.step().w < share:
            took += 1
        return took

    assert 20 > steps(0.4) > steps(0.5) > steps(0.55) > steps(0.6)


def test_a_goal_that_needs_best_effort_does_not_wait(pure: Any) -> None:
    t = Transfer(pure, size=int(0.99 * 1e6 * 3600), wmin=0.01)
    assert t.step().w == 1


def test_from_two_thirds_on_all_is_taken(pure: Any) -> None:
    """One more flow beside us and another would leave no more: in the window's first half."""
    t = Transfer(pure, size=int(0.69 * 1e6 * 3600), wmin=0.01)
    while t.step().w < 1:
        assert t.now_s < 3600 / 4  # F(19) applies
    assert {interval.w for interval in t.steps(8)} == {1}
    t.until(1)
    assert 0.93 <= t.finished <= 1


def test_the_reserve_is_of_what_was_needed_on_average(pure: Any) -> None:
    """A price that alternates makes w alternate, but not between what is needed and all."""
    t = Transfer(pure, size=int(0.4 * 1e6 * 3600), unlimited=True)
    t.until(0.1)
    weights = []
    for n in range(40):
        factor = (0.6, 1.4)[n % 2]
        weights.append(t.step(price_q40=round(PRICE_Q40 * factor)).w)
    assert 2 / 3 < max(weights) < 0.8  # of these alone the reserve would make 1
    assert t.d.mbc.headroom_q16 / Q16 > 2


@pytest.mark.parametrize(("standard", "unknown"), [(1, 0), (2, 8)])
def test_the_reserve_is_learned_at_once_or_when_phi_is_known(
    pure: Any, standard: int, unknown: int
) -> None:
    """That is after two Tphi; a scavenger's prices are the same, and its phi is 1."""
    t = Transfer(pure, size=int(0.4 * 1e6 * 3600))
    learned = []
    for _ in range(20):
        before = t.d.mbc.headroom_q16
        t.step(price_standard_q40=standard * PRICE_Q40)
        learned.append(t.d.mbc.headroom_q16 != before)
    assert learned == [False] * unknown + [True] * (20 - unknown)


def test_what_was_needed_on_average_limits_the_rise_of_w_no_less_than_the_answer(
    pure: Any,
) -> None:
    """F(19) by the larger of both: at a need above 1/2 the limit is divided by 2 (1 - need)."""
    t = Transfer(pure, size=int(0.8 * 1e6 * 3600))
    t.until(0.2)
    t.d.w_q16 = Q16 // 10
    half_q40 = PRICE_Q40 // 2  # for once, and the answer is 0.4
    w = t.step(price_q40=half_q40, price_standard_q40=half_q40).w
    mean = Q16 / t.d.mbc.headroom_q16
    assert 0.7 < mean < 0.8
    assert w - 0.1 == pytest.approx(0.05 / (2 * (1 - mean)), rel=0.2)


@pytest.mark.parametrize("start_s", [0, 7200])
def test_near_the_deadline_the_reserve_fades(pure: Any, start_s: float) -> None:
    """There is less time for others to come in: no more is taken than is needed."""
    t = Transfer(pure, size=int(0.6 * 1e6 * 3600), start_s=start_s)
    early = t.until(0.4)[-1]
    late = t.until(0.9)[-1]
    for interval, left in ((early, 0.6), (late, 0.1)):
        needed = interval.target_Bps / 1e6
        extra = (ref.reserve(needed) - needed) * min(2 * left, 1)
        assert interval.w == pytest.approx(needed + max(extra, 0), abs=0.03)


@given(weights_q16 | u32)
def test_reserve_matches_reference(pure: Any, w_q16: int) -> None:
    expected = min(ref.reserve(w_q16 / Q16) * Q16, U32_MAX)
    assert pure.control_with_reserve_q16(w_q16) == pytest.approx(expected, rel=1e-3, abs=2)


def test_without_the_limiter_w_and_phi_rise_at_once(pure: Any) -> None:
    t = Transfer(pure, size=4 * 10**9, unlimited=True)
    assert t.step().w == 1
    t.steps(pure.TPHI_UPDATES - 1, price_standard_q40=PRICE_Q40 // 50)
    assert t.d.phi_q16 / Q16 == pytest.approx(4 / (1 + 3 / 50), rel=0.01)  # F(25), of four Tw


@pytest.mark.parametrize("model_error", [0.3, 3.0])
def test_eps_is_not_updated_while_f19_holds_w_back(pure: Any, model_error: float) -> None:
    t = Transfer(pure, size=3 * 10**8, model_error=model_error)
    held = 0
    for _ in range(100):
        w_limited, trim_q16 = t.d.last.w_limited, t.d.mbc.trim_q16
        t.step()
        if w_limited:
            assert t.d.mbc.trim_q16 == trim_q16
            held += 1
    assert held


@pytest.mark.parametrize("pid", [True, False])
def test_an_app_limited_interval_moves_neither_w_nor_what_was_learned(pure: Any, pid: bool) -> None:
    t = Transfer(pure, size=10**9, controller=controllers(pure)[not pid], model_error=2)
    t.until(0.3)
    before = (
        t.d.w_q16,
        t.d.mbc.trim_q16,
        t.d.pid.integral_q16,
        t.d.pid.error_q16,
        t.d.shortfall_q16,
    )
    for rate in (0, 1000, 5 * 10**5):
        t.steps(20, rate_Bps=rate, app_limited=True)
        after = (
            t.d.w_q16, t.d.mbc.trim_q16, t.d.pid.integral_q16, t.d.pid.error_q16, t.d.shortfall_q16,
        )  # fmt: skip
        assert after == before


def test_unused_capacity_does_not_wind_down_the_trim(pure: Any) -> None:
    """A model that says too much needs a trim of 2; an idle night must not lose it."""
    t = Transfer(pure, size=4 * 10**9, window_s=36000, model_error=0.5)
    t.until(0.2)
    trim_q16 = t.d.mbc.trim_q16
    assert trim_q16 / Q16 == pytest.approx(2, rel=0.05)
    t.steps(200, rate_Bps=5e5, others_seen=False, losses=0)
    assert t.d.mbc.trim_q16 == trim_q16
    assert t.d.status == pure.STATUS_ON_TRACK


def test_pid_does_not_wind_up_or_down(pure: Any) -> None:
    """Hours at either bound of w are unlearned as fast as minutes: within 25 updates."""

    def updates_to_settle(t: Transfer) -> int:
        t.fair_Bps = 1e6
        settled = [abs(i.rate_Bps / i.target_Bps - 1) < 0.05 for i in t.steps(100)]
        return settled.index(True)

    for updates in (50, 1500):
        idle = Transfer(pure, size=9 * 10**9, window_s=36000, controller=pure.CONTROLLER_PID)
        idle.steps(updates, rate_Bps=3e5, others_seen=False)
        assert idle.d.w_q16 == idle.config.wmin_q16
        assert updates_to_settle(idle) <= 25

        busy = Transfer(pure, size=10**10, window_s=36000, controller=pure.CONTROLLER_PID)
        busy.steps(updates, rate_Bps=1e5)
        assert busy.d.w_q16 == Q16
        assert updates_to_settle(busy) <= 25


@pytest.mark.parametrize("pid", [True, False])
def test_no_progress_at_all_raises_w_and_no_more(pure: Any, pid: bool) -> None:
    """xbar = 0 without being app-limited: a stalled path."""
    t = Transfer(pure, size=10**9, controller=controllers(pure)[not pid])
    for interval in t.steps(100, rate_Bps=0):
        assert 0.01 <= interval.w <= 1
    assert t.d.w_q16 <= Q16


def test_time_in_suspend_lowers_no_rate(pure: Any) -> None:
    t = Transfer(pure, size=10**9)
    t.until(0.3)
    rate_Bps = t.d.rate_Bps  # noqa: N806
    t.now_s += 600  # the deadline's clock runs on, the interval's does not
    assert t.step().rate_Bps == pytest.approx(rate_Bps, rel=0.1)


@pytest.mark.parametrize("pid", [True, False])
def test_a_machine_that_slept_needs_more_and_is_on_time(pure: Any, pid: bool) -> None:
    """Asleep for a quarter of the time at half of it, the rest needs twice the rate."""
    t = Transfer(pure, size=int(0.3e6 * 3600), controller=controllers(pure)[not pid])
    t.until(0.5)
    before_Bps = t.d.target_Bps  # noqa: N806
    t.now_s += 900
    t.step()
    assert t.d.target_Bps == pytest.approx(2 * before_Bps, rel=0.1)
    t.until(1.1)
    assert t.finished < 1


def test_a_machine_that_slept_past_the_deadline_wakes_up_late(pure: Any) -> None:
    t = Transfer(pure, size=int(0.3e6 * 3600), after_deadline=pure.AFTER_BEST_EFFORT)
    t.until(0.5)
    t.now_s += 1801
    late = t.step()
    assert (late.status, late.w) == (pure.STATUS_LATE, 1)


@pytest.mark.parametrize("pid", [True, False])
def test_after_the_deadline_the_policy_holds(pure: Any, pid: bool) -> None:
    for policy, expected in (
        (pure.AFTER_BEST_EFFORT, lambda _: 1.0),
        (pure.AFTER_SCAVENGER, lambda _: 0.01),
        (pure.AFTER_KEEP, lambda w: w),
    ):
        t = Transfer(pure, size=10**9, controller=controllers(pure)[not pid], after_deadline=policy)
        before = t.until(0.9)[-1].w
        t.until(1, rate_Bps=0, app_limited=True)
        for late in t.steps(5, rate_Bps=1000):
            assert late.status == pure.STATUS_LATE
            assert late.w == pytest.approx(expected(before), abs=2 / Q16)
        assert t.step(rate_Bps=1e9).status == pure.STATUS_DONE


def test_done_keeps_w_for_the_overrun_then_gives_way(pure: Any) -> None:
    size = 10**9
    t = Transfer(pure, size=size)
    t.until(0.5)
    t.bytes_done = size
    w = t.d.w_q16
    for bytes_done, kept in (
        (size, True),
        (size + size // 16 + 65536, True),
        (size + size // 16 + 65537, False),
    ):
        t.bytes_done = bytes_done
        t.step(rate_Bps=0)
        assert t.d.status == pure.STATUS_DONE
        assert t.d.w_q16 == (w if kept else t.config.wmin_q16)


def test_a_small_goal_has_an_overrun_of_64_kib(pure: Any) -> None:
    t = Transfer(pure, size=1, wmin=0.5)
    t.d.w_q16 = Q16
    for bytes_done, w_q16 in ((1 + 65536, Q16), (1 + 65537, Q16 // 2)):
        t.bytes_done = bytes_done
        t.step(rate_Bps=0)
        assert t.d.w_q16 == w_q16


@pytest.mark.parametrize("pid", [True, False])
def test_an_infeasible_goal_is_reported_and_withdrawn_when_capacity_comes_back(
    pure: Any, pid: bool
) -> None:
    t = Transfer(pure, size=10**10, controller=controllers(pure)[not pid])  # 2.8 MB/s of 1
    first = t.steps(60)
    assert first[-1].status == pure.STATUS_INFEASIBLE
    assert first[-1].w == 1
    assert pure.STATUS_INFEASIBLE not in [i.status for i in first if i.w < 1]
    t.fair_Bps *= 20
    assert pure.STATUS_ON_TRACK in [i.status for i in t.steps(20)]
    t.until(1)
    assert t.d.status == pure.STATUS_DONE
    assert t.finished <= 1


def test_infeasible_is_withdrawn_when_the_whole_shortfall_is_made_up_for(pure: Any) -> None:
    t = Transfer(pure, size=10**10)
    t.steps(60)
    t.fair_Bps *= 20
    between = 0
    while t.d.shortfall_q16:
        assert t.d.status == pure.STATUS_INFEASIBLE
        between += t.d.shortfall_q16 < Q16
        t.step()
    assert between
    assert t.d.status == pure.STATUS_ON_TRACK


def test_a_goal_whose_w_is_given_is_not_called_infeasible_any_more(pure: Any) -> None:
    """It means that w = 1 is too slow."""
    t = Transfer(pure, size=10**10)
    t.steps(60)
    assert t.d.status == pure.STATUS_INFEASIBLE
    t.config.controller = pure.CONTROLLER_WEIGHT
    pure.control_configure(t.d, t.config)
    assert (t.d.status, t.d.w_q16) == (pure.STATUS_ON_TRACK, t.config.wmin_q16)
    assert t.step().status == pure.STATUS_ON_TRACK
    t.config.controller = pure.CONTROLLER_MBC
    pure.control_configure(t.d, t.config)
    t.fair_Bps *= 20
    assert {i.status for i in t.steps(20)} == {pure.STATUS_ON_TRACK}


def test_an_infeasible_goal_stays_so_however_often_it_is_changed(pure: Any) -> None:
    """Or `dalbectl run`, which changes several goals each second, would never hear of it."""
    t = Transfer(pure, size=10**10)
    t.steps(60)
    for n in range(20):
        pure.control_change_goal(t.d, 10**10 + n, round(t.now_s * 1e9), t.d.goal.deadline_ns)
        assert t.d.status == pure.STATUS_INFEASIBLE
        t.step()
    t.fair_Bps *= 20
    assert t.steps(20)[-1].status == pure.STATUS_ON_TRACK


@pytest.mark.parametrize("pid", [True, False])
def test_a_feasible_goal_is_never_called_infeasible(pure: Any, pid: bool) -> None:
    t = Transfer(pure, size=int(0.8 * 1e6 * 3600), controller=controllers(pure)[not pid])
    assert pure.STATUS_INFEASIBLE not in [i.status for i in t.until(1)]
    assert t.d.status == pure.STATUS_DONE


@pytest.mark.parametrize(("needed", "updates"), [(3.0, 3), (1.5, 3), (1.25, 5), (1.1, 11)])
def test_infeasible_is_said_the_sooner_the_clearer_it_is(
    pure: Any, needed: float, updates: int
) -> None:
    """The first interval is sent at wmin, and says nothing."""
    t = Transfer(pure, size=int(needed * 1e6 * 3600))
    statuses = [i.status for i in t.steps(30)]
    assert statuses.index(pure.STATUS_INFEASIBLE) + 1 == pytest.approx(updates, abs=1)
    assert pure.STATUS_ON_TRACK not in statuses[updates + 1 :]


@pytest.mark.parametrize("needed", [0.1, 0.45, 0.8])
def test_infeasible_is_said_within_three_updates_of_when_it_became_so(
    pure: Any, needed: float
) -> None:
    """Half-way the path comes to carry a thirtieth: less than any of these sizes needs."""
    t = Transfer(pure, size=int(needed * 1e6 * 3600))
    assert pure.STATUS_INFEASIBLE not in [i.status for i in t.until(0.5)]
    t.fair_Bps /= 30
    assert pure.STATUS_INFEASIBLE in [i.status for i in t.steps(3)]


def test_a_noisy_rate_is_not_called_infeasible(pure: Any) -> None:
    """Or but for a tenth of them, at 0.8 of best effort and 30 % off in any interval."""
    noise = random.Random(1)
    called = 0
    for _ in range(50):
        t = Transfer(pure, size=int(0.8 * 1e6 * 3600))
        while t.d.status == pure.STATUS_ON_TRACK and t.now_s < 0.9 * 3600:
            t.step(rate_Bps=1e6 * t.mu * noise.lognormvariate(0, 0.3))
        called += t.d.status == pure.STATUS_INFEASIBLE
    assert called <= 5


def test_the_first_interval_at_wmin_is_no_error_of_the_model(pure: Any) -> None:
    """At wmin the model had no say yet: nothing to be learned from its rate."""
    t = Transfer(pure, size=int(0.5 * 1e6 * 3600))
    t.step()
    assert t.d.mbc.trim_q16 == Q16


@pytest.mark.parametrize("pid", [True, False])
def test_the_margin_before_the_deadline_is_kept(pure: Any, pid: bool) -> None:
    """zeta aims 1/32 of the window early: at least half of that must be left in the end."""
    t = Transfer(pure, size=10**9, controller=controllers(pure)[not pid])
    t.until(1)
    assert t.d.status == pure.STATUS_DONE
    assert t.finished <= 1 - 1 / 64


@pytest.mark.parametrize(("left_s", "counts_s"), [(3200, 3100), (200, 100), (100, 12.5), (8, 1)])
def test_zeta_has_the_time_without_the_margin_but_an_eighth_of_it_at_least(
    pure: Any, left_s: int, counts_s: float
) -> None:
    t = Transfer(pure, size=10**9, window_s=3200)
    deadline_ns = t.d.goal.deadline_ns
    pure.control_change_goal(t.d, 10**9, deadline_ns - left_s * 10**9, deadline_ns)
    assert t.d.target_Bps == pytest.approx(10**9 / counts_s, rel=1e-5)


@pytest.mark.parametrize("pid", [True, False])
def test_a_change_of_goal_keeps_what_was_learned(pure: Any, pid: bool) -> None:
    t = Transfer(pure, size=10**9, controller=controllers(pure)[not pid], model_error=2)
    t.until(0.3)
    d = t.d
    learned = (d.w_q16, d.phi_q16, d.mbc.trim_q16, d.pid.integral_q16, d.goal.done, d.updates)
    now_ns = round(t.now_s * 1e9)
    pure.control_change_goal(d, 2 * 10**9, now_ns, now_ns + 3600 * 10**9)
    assert (
        d.w_q16, d.phi_q16, d.mbc.trim_q16, d.pid.integral_q16, d.goal.done, d.updates,
    ) == learned  # fmt: skip
    left_s = 3600 - (d.goal.deadline_ns - d.goal.start_ns) / 32e9  # aims a 32nd of the window early
    assert d.target_Bps == pytest.approx((2 * 10**9 - d.goal.done) / left_s, abs=1)
    t.until(1)
    assert d.status == pure.STATUS_DONE
    assert t.finished <= 1


@pytest.mark.parametrize(
    ("policy", "w_q16"),
    [("AFTER_BEST_EFFORT", 65536), ("AFTER_SCAVENGER", 655), ("AFTER_KEEP", 655)],
)
def test_a_goal_may_begin_after_its_deadline(pure: Any, policy: str, w_q16: int) -> None:
    """A listener's goal, in a connection that it accepts then."""
    config = pure.new("control_config", controller=pure.CONTROLLER_MBC, wmin_q16=655)
    config.after_deadline = getattr(pure, policy)
    d = pure.new("control")
    pure.control_start(d, config, 10**6, 0, 2 * 10**9, 10**9)
    assert (d.status, d.w_q16, d.target_Bps) == (pure.STATUS_LATE, w_q16, 0)
    assert pure.control_tw_ns(d, 1000) == 10**8


def test_another_deadline_begins_another_window(pure: Any) -> None:
    t = Transfer(pure, size=10**9)
    t.until(0.3)
    now_ns = round(t.now_s * 1e9)
    before = (t.d.goal.start_ns, pure.control_tw_ns(t.d, 1000))
    pure.control_change_goal(t.d, 2 * 10**9, now_ns, t.d.goal.deadline_ns)
    assert (t.d.goal.start_ns, pure.control_tw_ns(t.d, 1000)) == before
    pure.control_change_goal(t.d, 2 * 10**9, now_ns, now_ns + 128 * 10**9)
    assert (t.d.goal.start_ns, pure.control_tw_ns(t.d, 1000)) == (now_ns, 10**9)


@pytest.mark.parametrize(("need", "model_error"), [(0.3, 0.4), (0.3, 2.5), (0.7, 1)])
def test_a_goal_that_is_changed_in_each_tw_is_met_all_the_same(
    pure: Any, need: float, model_error: float
) -> None:
    """By a byte, as `dalbectl run` does where it divides a goal: all is as if it had not been."""
    size = int(need * 1e6 * 3600)
    once, often = (Transfer(pure, size=size, model_error=model_error) for _ in range(2))
    for n in range(100):
        late_in_tw_ns = round((often.now_s + 0.9 * 3600 / 128) * 1e9)
        pure.control_change_goal(often.d, size + n % 2, late_in_tw_ns, often.d.goal.deadline_ns)
        assert often.step().w == pytest.approx(once.step().w, abs=0.01)
    assert often.d.mbc.trim_q16 == pytest.approx(once.d.mbc.trim_q16, rel=0.01)
    assert often.d.mbc.headroom_q16 == pytest.approx(once.d.mbc.headroom_q16, rel=0.01)
    often.until(1)
    assert often.finished <= 1


def test_a_goal_that_grows_takes_no_more_than_it_needs(pure: Any) -> None:
    """As `dalbectl run` does each second where a size is too small by 18, and then learns it."""
    t, second = Transfer(pure, size=2 * 10**6, window_s=600, fair_Bps=200_000), 600_000
    for _ in range(5):
        for n in range(4):
            t.resize(int((t.bytes_done + n * second) * 9 / 8))
        t.step(rate_Bps=second, others_seen=False)
    t.resize(36 * 10**6)
    need = t.d.target_Bps / t.fair_Bps
    assert 0.15 < need < 0.3
    for _ in range(24):
        assert t.step().w < 2 * need
    t.until(1)
    assert t.finished <= 1


def test_what_is_sent_after_a_goal_is_looked_at_each_eight_rtts(pure: Any) -> None:
    """A configured Tw would let ten minutes go at w = 1."""
    t = Transfer(pure, size=10**9)
    t.config.tw_ms = 600_000
    pure.control_configure(t.d, t.config)
    assert pure.control_tw_ns(t.d, 50_000) == 600 * 10**9
    t.bytes_done = 10**9
    t.step(rate_Bps=0)
    assert t.d.status == pure.STATUS_DONE
    assert (pure.control_tw_ns(t.d, 50_000), pure.control_tw_ns(t.d, 1_000)) == (4 * 10**8, 10**8)
    t.config.tw_ms = 200
    pure.control_configure(t.d, t.config)
    assert pure.control_tw_ns(t.d, 50_000) == 2 * 10**8


def test_at_wmin_the_trim_is_not_wound_down(pure: Any) -> None:
    """Where even wmin takes more than is needed, the model is not to blame."""
    t = Transfer(pure, size=10**7, wmin=0.1, fair_Bps=1e5)  # 3 kB/s needed, 10 kB/s at wmin
    t.steps(60)
    assert t.d.mbc.trim_q16 / Q16 == pytest.approx(1, abs=0.13)


def test_other_parameters_take_effect_and_keep_what_was_learned(pure: Any) -> None:
    t = Transfer(pure, size=10**9, model_error=2)
    t.until(0.3)
    trim_q16 = t.d.mbc.trim_q16
    t.config.wmin_q16 = Q16 // 2
    pure.control_configure(t.d, t.config)
    assert t.d.w_q16 == Q16 // 2
    t.step()
    assert t.d.w_q16 >= Q16 // 2
    assert t.d.mbc.trim_q16 == pytest.approx(trim_q16, rel=0.15)


def test_a_rate_that_was_meant_for_another_w_teaches_nothing(pure: Any) -> None:
    """Other parameters within an interval: the trim stays, the headroom is measured anew."""
    t = Transfer(pure, size=int(0.4 * 1e6 * 3600))
    t.until(0.3)
    trim_q16 = t.d.mbc.trim_q16
    assert t.d.mbc.headroom_q16 / Q16 == pytest.approx(2.4, rel=0.05)
    pure.control_configure(t.d, t.config)
    t.step(rate_Bps=8e5)
    assert t.d.mbc.trim_q16 == trim_q16
    assert t.d.mbc.headroom_q16 / Q16 == pytest.approx(2, rel=0.05)
    t.step(rate_Bps=8e5)
    assert t.d.mbc.trim_q16 < trim_q16


def test_a_finished_goal_can_be_extended(pure: Any) -> None:
    t = Transfer(pure, size=10**6)
    t.steps(50)
    assert t.d.status == pure.STATUS_DONE
    pure.control_change_goal(t.d, 10**9, round(t.now_s * 1e9), 7200 * 10**9)
    assert t.d.status == pure.STATUS_ON_TRACK
    t.finished_s = math.inf
    t.until(1)
    assert t.d.status == pure.STATUS_DONE
    assert 1 / 2 < t.finished <= 1


SAMPLE = st.fixed_dictionaries(
    {
        "elapsed_ns": u64,
        "price_q40": u64,
        "price_standard_q40": u64,
        "weight_standard_q40": u64,
        "srtt_us": u32,
        "rounds": u32,
        "losses": u32,
        "app_limited": st.booleans(),
        "others_seen": st.booleans(),
    }
)


@given(
    st.booleans(),
    st.integers(0, 2),
    magnitudes(1, Q16),
    magnitudes(1, 2**63),
    magnitudes(1, YEAR_NS),
    st.lists(st.tuples(u64, magnitudes(1, YEAR_NS), SAMPLE, u64), min_size=1, max_size=20),
)
def test_no_sample_leads_out_of_bounds(
    pure: Any,
    pid: bool,
    after_deadline: int,
    wmin_q16: int,
    size: int,
    window_ns: int,
    samples: list[tuple[int, int, dict[str, Any], int]],
) -> None:
    """Whatever a base may measure, and whatever its model says; UBSAN watches."""
    d, now_ns, bytes_done = pure.new("control"), 0, 0
    config = pure.new(
        "control_config",
        controller=controllers(pure)[not pid],
        after_deadline=after_deadline,
        wmin_q16=wmin_q16,
    )
    pure.control_start(d, config, size, 0, 0, window_ns)
    for more_bytes, later_ns, sample, model_q40 in samples:
        now_ns += later_ns
        bytes_done = min(bytes_done + more_bytes, 2**63)
        price = pure.ffi.callback("u64(void *, u64)", lambda _arg, _rate, q=model_q40: q)
        pure.control_update(
            d,
            pure.new("control_sample", now_ns=now_ns, bytes_done=bytes_done, **sample),
            pure.new("control_model", model_q40=price),
        )
        assert wmin_q16 <= d.w_q16 <= Q16
        assert Q16 <= d.phi_q16 <= 1024 * Q16
        assert Q16 // 8 <= d.mbc.trim_q16 <= 8 * Q16
        assert 0 <= d.pid.integral_q16 <= Q16
        assert d.status == (
            pure.STATUS_DONE
            if bytes_done >= size
            else pure.STATUS_LATE
            if now_ns >= window_ns
            else d.status
        )


# phi, F(25), from interval to interval


def test_phi_follows_the_ratio_of_prices_and_is_limited_on_its_way_up(pure: Any) -> None:
    t = Transfer(pure, size=10**10, window_s=36000)
    q40 = 2**30
    phis = [1.0]
    for _ in range(200):
        t.step(rate_Bps=1e5, price_q40=3 * q40, price_standard_q40=q40, losses=4)
        phis.append(t.d.phi_q16 / Q16)
    assert phis[-1] == pytest.approx(3, rel=1e-3)
    assert max(b - a for a, b in pairwise(phis)) <= 0.1 * 3 * 1.001
    t.steps(8, rate_Bps=1e5, price_q40=q40, price_standard_q40=q40, losses=4)
    assert t.d.phi_q16 == Q16  # down at once


@pytest.mark.parametrize(("before", "after"), [(0.1, 0.3), (0.25, 0.75), (0.5, 1)])
def test_as_phi_falls_w_rises_to_one_at_most(pure: Any, before: float, after: float) -> None:
    t = Transfer(pure, size=int(0.4 * 1e6 * 3600))
    t.steps(3)
    t.d.w_q16, t.d.phi_q16 = round(before * Q16), 3 * Q16
    assert t.step(app_limited=True).w == pytest.approx(after, rel=1e-4)


def test_as_phi_falls_w_rises_so_that_mu_stays(pure: Any) -> None:
    """F(19) would else hold mu down for many Tw."""
    t = Transfer(pure, size=int(0.4 * 1e6 * 3600))
    t.steps(3)
    t.d.w_q16, t.d.phi_q16 = Q16 // 10, 3 * Q16
    w = t.step().w  # Tphi ends, and phi is 1
    assert t.d.phi_q16 == Q16
    assert 0.3 < w < 0.35


@pytest.mark.parametrize("size", [0, 10**10])
def test_a_w_that_is_given_stays_while_phi_rises_and_falls(pure: Any, size: int) -> None:
    t = Transfer(pure, size=size, window_s=36000, controller=pure.CONTROLLER_WEIGHT)
    q40, phis = 2**30, []
    for times in (3, 1) * 20:
        t.steps(4, rate_Bps=1e5, price_q40=times * q40, price_standard_q40=q40, losses=4)
        phis.append(t.d.phi_q16)
        assert t.d.w_q16 == t.config.wmin_q16
    assert min(phis) == Q16 < max(phis)


def test_phi_waits_for_enough_loss_and_for_contention(pure: Any) -> None:
    q40 = 2**30
    t = Transfer(pure, size=10**10, window_s=36000)
    t.steps(
        100, rate_Bps=1e5, price_q40=3 * q40, price_standard_q40=q40, losses=4, others_seen=False
    )
    assert t.d.phi_q16 == Q16
    t.steps(3, rate_Bps=1e5, price_q40=3 * q40, price_standard_q40=q40, losses=4)
    assert t.d.phi_q16 == Q16  # Tphi = 4 Tw
    t.step(rate_Bps=1e5, price_q40=3 * q40, price_standard_q40=q40, losses=4)
    assert t.d.phi_q16 > Q16


def test_the_loss_that_has_not_come_yet_bounds_phi_from_below(pure: Any) -> None:
    """Without a loss phi is what one more loss would make it, and never falls."""
    q40 = 2**30
    t = Transfer(pure, size=10**10, window_s=36000)
    lossless = {"price_q40": q40, "price_standard_q40": 0, "losses": 0, "rounds": 100}
    lossless |= {"weight_standard_q40": 200 * q40, "rate_Bps": 100_000}
    t.steps(4, **lossless)  # 400 rounds' price against one loss: 2
    assert 1 < t.d.phi_q16 / Q16 <= 2
    last = 0
    for _ in range(100):
        t.step(**lossless)
        assert t.d.phi_q16 >= last
        last = t.d.phi_q16
    assert last / Q16 > 10
    assert last <= 1024 * Q16


@pytest.mark.parametrize("size", [10**6, 10**8, 10**11])
@pytest.mark.parametrize("window_s", [60, 600, 3600, 21_600, 86_400])
@pytest.mark.parametrize("controller", ["MBC", "PID", "FLOOR"])
def test_from_a_minute_to_a_day_and_from_a_megabyte_to_a_hundred_gigabytes(
    pure: Any, controller: str, window_s: int, size: int
) -> None:
    """On a link that zero to three others share, who come and go; Tw follows from the window."""
    for part in (0.1, 0.2):  # of what the link carries in the window
        rng = random.Random(f"{controller} {window_s} {size} {part}")
        link_Bps = size / (part * window_s)  # noqa: N806
        goal = Transfer(
            pure,
            size=size,
            window_s=window_s,
            controller=getattr(pure, f"CONTROLLER_{controller}"),
        )
        others, until_s = 2, 0.0
        while goal.bytes_done < size and goal.now_s < window_s:
            if goal.now_s >= until_s:
                others = rng.choice([0, 1, 1, 2, 2, 3])
                until_s = goal.now_s + rng.expovariate(24 / window_s)
            goal.fair_Bps = link_Bps / (others + 1) * rng.uniform(0.8, 1.2)
            if others:
                goal.step()
            else:
                goal.step(rate_Bps=link_Bps, others_seen=False, losses=0)
        assert goal.bytes_done >= size


def test_the_most_that_w_was_of_late_fades_over_half_a_window(pure: Any) -> None:
    goal = Transfer(pure, size=10**9, window_s=1000)
    assert pure.control_w_recent_max_q16(goal.d) == goal.d.w_q16
    recent = []
    while goal.d.w_q16 < Q16:
        goal.step(rate_Bps=1e5)
        recent.append(int(pure.control_w_recent_max_q16(goal.d)))
        assert recent[-1] == goal.d.w_q16
    assert recent == sorted(recent)
    goal.bytes_done = 9.9e8  # hardly anything is left to do
    for n in range(1, 49):
        goal.step(rate_Bps=0)
        assert goal.d.w_q16 < Q16 / 4
        expected = Q16 * (1 - 1 / 64) ** n
        assert pure.control_w_recent_max_q16(goal.d) == pytest.approx(expected, rel=1e-3)
