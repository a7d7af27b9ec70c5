# SPDX-License-Identifier: GPL-2.0-only
"""cdg.c against the reference: exp(-x), gradients, backoff, the price of delay, heuristics."""

from __future__ import annotations

import math
from typing import Any

import pytest
import reference as ref
from hypothesis import given
from hypothesis import strategies as st
from inputs import (
    G_MAX_NS,
    G_MIN_NS,
    MUL_DIV_ERROR,
    Q16,
    Q32,
    Q40,
    U32_MAX,
    U64_MAX,
    gradient_sums_us,
    gs_ns,
    magnitudes,
    prices_q40,
    rates_Bps,
    rtts_us,
)

G_DEFAULT_NS = 3_000_000


def new_flow(pure: Any, g_ns: int = G_DEFAULT_NS, cwnd: int = 10) -> Any:
    """A new connection's struct cdg."""
    flow = pure.new("cdg")
    pure.cdg_init(flow, g_ns, cwnd)
    return flow


def one_round(pure: Any, flow: Any, rtt_us: int, heuristics: Any = None) -> int:
    """A round with one sample; the gradient sum after it."""
    pure.pure_cdg_rtt_sample(flow, rtt_us, 2, False)
    return pure.cdg_round(flow, heuristics or pure.new("cdg_heuristics"))


def feed_gradient(pure: Any, flow: Any, sum_us: int) -> None:
    """Let a flow see a round with this sum, a multiple of the window: a connection's first."""
    base_us = 70_000_000
    pure.cdg_restart(flow, 10)
    one_round(pure, flow, base_us)
    assert one_round(pure, flow, base_us + sum_us // ref.WINDOW) == sum_us


# exp(-x) and C(4)


@given(magnitudes(1, 24 << 26))
def test_exp_neg_is_within_2e_minus_6(pure: Any, x_q26: int) -> None:
    assert pure.cdg_exp_neg_q32(x_q26) / Q32 == pytest.approx(math.exp(-x_q26 / 2**26), abs=2e-6)


@given(gradient_sums_us, gs_ns)
def test_probability_matches_reference(pure: Any, sum_us: int, g_ns: int) -> None:
    got = pure.cdg_backoff_probability(new_flow(pure, g_ns), sum_us, False) / Q32
    assert got == pytest.approx(ref.backoff_probability(sum_us, g_ns / 1e6), abs=2.5e-6)
    assert pure.cdg_backoff_probability(new_flow(pure, g_ns), -sum_us, False) == 0


@given(gradient_sums_us, gs_ns, gs_ns)
def test_a_short_queue_is_judged_at_the_larger_g(
    pure: Any, sum_us: int, g_ns: int, idle_g_ns: int
) -> None:
    flow = new_flow(pure, g_ns)
    pure.cdg_set_idle_g(flow, idle_g_ns)
    expected = new_flow(pure, max(g_ns, idle_g_ns))
    for short, same_as in ((True, expected), (False, new_flow(pure, g_ns))):
        assert pure.cdg_backoff_probability(flow, sum_us, short) == (
            pure.cdg_backoff_probability(same_as, sum_us, False)
        )


# C(1) to C(3)

SAMPLES = st.tuples(st.integers(-1, 60_000_000), st.integers(1, 3), st.booleans())
ROUNDS = st.tuples(st.lists(SAMPLES, max_size=6), st.sampled_from(("round", "round", "cut")))


@given(st.lists(ROUNDS, max_size=40))
def test_gradient_sum_matches_reference(
    pure: Any, rounds: list[tuple[list[tuple[int, int, bool]], str]]
) -> None:
    flow, model, off = new_flow(pure), ref.GradientFilter(), pure.new("cdg_heuristics")
    for samples, end in rounds:
        for rtt_us, pkts_acked, sacked in samples:
            pure.pure_cdg_rtt_sample(flow, rtt_us, pkts_acked, sacked)
            model.sample(rtt_us, pkts_acked, sacked)
        if end == "cut":
            pure.cdg_backoff_done(flow)
            model.backoff_done()
        else:  # whole numbers, the extrapolated ones rounded
            assert pure.cdg_round(flow, off) == pytest.approx(model.end_round(), abs=1)


def test_a_delayed_ack_lowers_a_minimum_but_raises_no_maximum(pure: Any) -> None:
    flow = new_flow(pure)
    pure.pure_cdg_rtt_sample(flow, 1000, 2, False)  # earns the credit
    pure.pure_cdg_rtt_sample(flow, 41000, 1, False)  # a delayed ACK spends it
    assert (flow.rtt.min_us, flow.rtt.max_us) == (1000, 1000)
    pure.pure_cdg_rtt_sample(flow, 2000, 1, False)  # no credit: no delayed ACK
    assert (flow.rtt.min_us, flow.rtt.max_us) == (1000, 2000)


def test_an_ack_that_was_held_back_makes_no_round_trip_longer(pure: Any) -> None:
    flow = new_flow(pure)
    pure.cdg_rtt_delayed_ack(flow, 91000)
    assert (flow.rtt.min_us, flow.rtt.max_us) == (0, 0)  # nothing is known yet
    pure.pure_cdg_rtt_sample(flow, 51000, 2, False)
    for rtt_us, least_us in ((91000, 51000), (0, 51000), (-1, 51000), (50000, 50000)):
        pure.cdg_rtt_delayed_ack(flow, rtt_us)
        assert (flow.rtt.min_us, flow.rtt.max_us) == (least_us, 51000)
    assert flow.base_rtt_q16 >> 16 == 50000  # of the path it is an upper bound


def test_a_forged_rtt_of_such_an_ack_is_bounded_as_any(pure: Any) -> None:
    flow = new_flow(pure)
    pure.cdg_rtt_delayed_ack(flow, 2**31 - 1)
    assert flow.base_rtt_q16 >> 16 == 2**28 - 1


def test_the_credit_for_delayed_acks_is_at_most_five(pure: Any) -> None:
    flow = new_flow(pure)
    for _ in range(9):
        pure.pure_cdg_rtt_sample(flow, 1000, 2, False)
    highest = []
    for _ in range(7):
        pure.pure_cdg_rtt_sample(flow, 41000, 1, False)
        highest.append(flow.rtt.max_us)
    assert highest == [1000] * 5 + [41000] * 2


def test_a_pause_ends_the_credit_for_delayed_acks(pure: Any) -> None:
    flow = new_flow(pure)
    pure.pure_cdg_rtt_sample(flow, 1000, 2, False)
    pure.cdg_restart(flow, 10)
    pure.pure_cdg_rtt_sample(flow, 41000, 1, False)
    assert (flow.rtt.min_us, flow.rtt.max_us) == (41000, 41000)


# Prices


@given(st.lists(magnitudes(1, 2**28 // ref.WINDOW), min_size=1, max_size=30), gs_ns)
def test_delay_price_is_within_a_histogram_bin_of_the_reference(
    pure: Any, eighths_us: list[int], g_ns: int
) -> None:
    """A bin of half an octave is taken for its middle: 1.25/1.5 to 1.25 times what it holds."""
    flow, sums_us = new_flow(pure), [ref.WINDOW * x for x in eighths_us]
    for sum_us in sums_us:
        feed_gradient(pure, flow, sum_us)
    # The rounds in between, without a predecessor, are not judged.
    expected = ref.delay_price(sums_us, g_ns / 1e6)
    got = pure.cdg_delay_price_q40(flow, g_ns) / Q40
    assert 0.83 * expected - 1e-7 <= got <= 1.26 * expected + 1e-7


@given(st.lists(magnitudes(1, 2**28 // ref.WINDOW), min_size=1, max_size=30), prices_q40)
def test_g_for_delay_price_brackets_the_price(
    pure: Any, eighths_us: list[int], price_q40: int
) -> None:
    """For any price: 2 % less G costs more, 2 % more G costs less, but for the ends of G."""
    flow = new_flow(pure)
    for eighth_us in eighths_us:
        feed_gradient(pure, flow, ref.WINDOW * eighth_us)
    g_ns = pure.cdg_g_for_delay_price(flow, price_q40, 0)
    assert G_MIN_NS <= g_ns <= G_MAX_NS
    if g_ns > G_MIN_NS * 1.02:
        assert pure.cdg_delay_price_q40(flow, int(g_ns / 1.02)) >= price_q40
    if g_ns < G_MAX_NS / 1.02:
        assert pure.cdg_delay_price_q40(flow, int(g_ns * 1.02)) <= price_q40


def test_aging_forgets_everything_in_the_end(pure: Any) -> None:
    flow = new_flow(pure)
    for bit in range(3, 28):
        feed_gradient(pure, flow, 1 << bit)
    for _ in range(100):
        pure.cdg_age_histogram(flow)
    assert sum(flow.price.hist_q8) <= flow.price.rounds_q8


def test_a_tw_forgets_a_quarter(pure: Any) -> None:
    flow = new_flow(pure)
    for bit in (3, 3, 3, 9, 20):
        feed_gradient(pure, flow, 1 << bit)
    kept = [n * 3 // 4 for n in (*flow.price.hist_q8, flow.price.rounds_q8)]
    pure.cdg_age_histogram(flow)
    assert [*flow.price.hist_q8, flow.price.rounds_q8] == kept
    assert sum(n > 0 for n in kept) == 4


@given(rates_Bps, magnitudes(88, 65483), rtts_us)
def test_rate_price_matches_reference(pure: Any, rate_Bps: int, mss: int, rtt_us: int) -> None:  # noqa: N803
    got = pure.cdg_rate_price_q40(rate_Bps, mss, rtt_us)
    per_rtt_q16 = rate_Bps * rtt_us * Q16 // 10**6
    if per_rtt_q16 == 0:  # nothing that Q16 can hold
        assert got == U64_MAX
        return
    expected = ref.rate_price(rate_Bps, mss, rtt_us / 1e6) * Q40
    error = 2 * MUL_DIV_ERROR + 1 / per_rtt_q16
    assert got == U64_MAX or abs(got - expected) <= expected * error + 1
    assert got < U64_MAX or expected * (1 + error) >= U64_MAX * (1 - error)


# C(5), and the heuristics of the original CDG


def test_backs_off_where_the_random_number_is_below_the_probability(pure: Any) -> None:
    flow, off = new_flow(pure), pure.new("cdg_heuristics")
    p_q32 = pure.cdg_backoff_probability(flow, 5000, False)
    assert 0 < p_q32 < U32_MAX
    assert pure.cdg_backoff(flow, off, 5000, p_q32 - 1, 10)
    assert not pure.cdg_backoff(flow, off, 5000, p_q32, 10)
    assert not pure.cdg_backoff(flow, off, 0, 0, 10)


def queued(pure: Any, flow: Any, rtt_us: int) -> bool:
    """Let a round at this RTT pass; does it count as one with a standing queue?"""
    before, off = flow.price.counts.queued_rounds, pure.new("cdg_heuristics")
    pure.cdg_backoff(flow, off, one_round(pure, flow, rtt_us), U32_MAX, 10)
    return bool(flow.price.counts.queued_rounds - before)


@pytest.mark.parametrize(("base_us", "short_us"), [(40_000, 42_499), (100, 1_099)])
def test_a_queue_is_short_below_a_sixteenth_of_the_base_rtt_or_a_millisecond(
    pure: Any, base_us: int, short_us: int
) -> None:
    flow = new_flow(pure)
    assert not queued(pure, flow, base_us)
    assert not queued(pure, flow, short_us)
    assert queued(pure, flow, short_us + 1)


def test_the_base_rtt_is_forgotten_slowly(pure: Any) -> None:
    """A competitor's buffer for a quarter of an hour is no new base RTT; a new route becomes it."""
    flow = new_flow(pure)
    one_round(pure, flow, 50_000)
    assert all(queued(pure, flow, 100_000) for _ in range(9_000))
    for _ in range(32_768 * 3):
        one_round(pure, flow, 100_000)
    assert not queued(pure, flow, 100_000)
    assert flow.base_rtt_q16 / Q16 == pytest.approx(100_000 - 50_000 * math.exp(-3.27), rel=0.01)


def test_the_base_rtt_is_forgotten_by_time(pure: Any) -> None:
    """Where a round takes 5 ms there are twenty in the time of one that takes 100 ms."""
    flow = new_flow(pure)
    one_round(pure, flow, 1_000)
    for _ in range(32_768 * 2):
        one_round(pure, flow, 5_000)
    assert flow.base_rtt_q16 / Q16 == pytest.approx(5_000 - 4_000 * math.exp(-2 / 20), rel=0.01)


def test_queued_rounds_are_counted_among_the_rounds(pure: Any) -> None:
    """Also one that has no gradient, as the first after a restart."""
    flow = new_flow(pure)
    assert not queued(pure, flow, 10_000)
    pure.cdg_restart(flow, 10)
    assert queued(pure, flow, 20_000)
    assert (flow.price.counts.rounds, flow.price.counts.queued_rounds) == (2, 1)


def test_ineffectual_backoffs_end_until_the_queue_drains(pure: Any) -> None:
    flow, patient = new_flow(pure), pure.new("cdg_heuristics", use_ineff=3)
    granted = [pure.cdg_backoff(flow, patient, 10**6, 0, 10) for _ in range(5)]
    assert granted == [True, True, True, False, False]
    for rtt_us in (5000, 4000):
        one_round(pure, flow, rtt_us, patient)
    assert pure.cdg_backoff(flow, patient, 10**6, 0, 10)


@pytest.mark.parametrize(("fall_us", "granted"), [(31, False), (32, True)])
def test_a_queue_that_drains_by_32_us_ends_the_count_of_ineffectual_backoffs(
    pure: Any, fall_us: int, *, granted: bool
) -> None:
    flow, patient = new_flow(pure), pure.new("cdg_heuristics", use_ineff=1)
    assert pure.cdg_backoff(flow, patient, 10**6, 0, 10)
    assert not pure.cdg_backoff(flow, patient, 10**6, 0, 10)
    for rtt_us in (5000, 5000 - fall_us):
        one_round(pure, flow, rtt_us, patient)
    assert pure.cdg_backoff(flow, patient, 10**6, 0, 10) == granted


def test_a_pause_ends_the_count_of_ineffectual_backoffs(pure: Any) -> None:
    flow, patient = new_flow(pure), pure.new("cdg_heuristics", use_ineff=1)
    assert pure.cdg_backoff(flow, patient, 10**6, 0, 10)
    pure.cdg_restart(flow, 10)
    assert pure.cdg_backoff(flow, patient, 10**6, 0, 10)


def test_the_shadow_window_gives_back_delay_backoffs_at_a_loss(pure: Any) -> None:
    for use_shadow, ssthresh in ((False, 35), (True, 50)):
        heuristics = pure.new("cdg_heuristics", use_shadow=use_shadow)
        flow = new_flow(pure, cwnd=100)
        assert pure.cdg_backoff(flow, heuristics, 10**6, 0, 100)
        assert pure.cdg_ssthresh(flow, heuristics, 100) == 70
        pure.cdg_backoff_done(flow)
        assert pure.cdg_ssthresh(flow, heuristics, 70) == ssthresh  # half of 70, or of 100


def test_the_shadow_window_grows_and_is_cut_to_what_is_used(pure: Any) -> None:
    flow = new_flow(pure, cwnd=100)
    pure.cdg_grown(flow, 5)
    assert flow.shadow_cwnd == 105
    pure.cdg_grown(flow, U32_MAX)
    assert flow.shadow_cwnd == 105  # no wrap
    pure.cdg_not_cwnd_limited(flow, 40)
    assert flow.shadow_cwnd == 40


def test_a_loss_with_a_draining_queue_is_tolerated_only_if_asked_for(pure: Any) -> None:
    for use_tolerance, ssthresh in ((False, 50), (True, 100)):
        heuristics = pure.new("cdg_heuristics", use_tolerance=use_tolerance)
        flow = new_flow(pure)
        for rtt_us in (9000, 8000):
            one_round(pure, flow, rtt_us, heuristics)
        assert pure.cdg_ssthresh(flow, heuristics, 100) == ssthresh


@pytest.mark.parametrize(("rise_us", "ssthresh"), [(31, 100), (40, 50)])
def test_a_rise_that_rounds_to_nothing_does_not_end_the_tolerance(
    pure: Any, rise_us: int, ssthresh: int
) -> None:
    """The highest RTT stands still while the lowest rises: the queue is at its limit."""
    heuristics = pure.new("cdg_heuristics", use_tolerance=True)
    flow = new_flow(pure)
    flow.state = pure.CDG_NONFULL
    for low_us in (5000, 5000 + rise_us):
        for rtt_us in (low_us, 9000):
            pure.pure_cdg_rtt_sample(flow, rtt_us, 2, False)
        pure.cdg_round(flow, heuristics)
    assert pure.cdg_ssthresh(flow, heuristics, 100) == ssthresh


def test_a_new_goal_starts_with_no_prices(pure: Any) -> None:
    flow = new_flow(pure)
    feed_gradient(pure, flow, 8000)
    flow.state = pure.CDG_BACKOFF
    pure.cdg_ssthresh(flow, pure.new("cdg_heuristics"), 5)
    pure.cdg_forget_prices(flow)
    assert pure.cdg_delay_price_q40(flow, G_MIN_NS) == 0
    assert pure.cdg_weight_q16(flow) == pure.cdg_weight_q16(new_flow(pure))
    assert flow.price.counts.rounds == 0


def test_restart_forgets_the_path_but_not_what_the_controller_knows(pure: Any) -> None:
    flow = new_flow(pure)
    for rtt_us in range(1000, 10000, 1000):
        one_round(pure, flow, rtt_us)
    price = flow.price
    before = (flow.g.ns, price.counts.rounds, price.rounds_q8, list(price.hist_q8))
    pure.cdg_restart(flow, 10)
    assert (flow.g.ns, price.counts.rounds, price.rounds_q8, list(price.hist_q8)) == before
    assert one_round(pure, flow, 50000) == 0  # no predecessor


def test_restart_ends_a_cut_for_delay_so_that_a_loss_is_answered_as_one(pure: Any) -> None:
    flow, off = new_flow(pure), pure.new("cdg_heuristics")
    assert pure.cdg_backoff(flow, off, 10**6, 0, 10)
    pure.cdg_restart(flow, 100)
    assert pure.cdg_ssthresh(flow, off, 100) == 50
    assert flow.price.counts.losses == 1


# Hybrid slow start


def hystart(
    pure: Any,
    detect: int,
    acks: list[tuple[int, int]],
    limited: bool = True,
    paced: bool = False,
) -> list[int]:
    """Feed (clock, RTT) of ACKs in us; return what each ACK detects."""
    flow, seen = new_flow(pure), []
    for now_us, rtt_us in acks:
        pure.pure_cdg_rtt_sample(flow, rtt_us, 2, False)
        seen.append(pure.cdg_hystart_exit(flow, detect, now_us, limited, paced))
    return seen


def test_hystart_ends_at_an_ack_train_of_half_the_rtt(pure: Any) -> None:
    acks = [(1000 + 500 * i, 10000) for i in range(20)]
    seen = hystart(pure, pure.CDG_HYSTART_TRAIN, acks)
    assert seen.index(pure.CDG_HYSTART_TRAIN) == 11  # 5.5 ms after the first
    assert not any(hystart(pure, pure.CDG_HYSTART_TRAIN, acks, limited=False))
    gaps = [(1000 + 3000 * i, 10000) for i in range(20)]
    assert not any(hystart(pure, pure.CDG_HYSTART_TRAIN, gaps))
    assert not any(hystart(pure, pure.CDG_HYSTART_DELAY, acks))


def test_the_ack_train_of_a_paced_window_tells_only_where_there_is_a_queue(pure: Any) -> None:
    def ends(rtt_us: int, queue_us: int, lasts_us: int = 0) -> bool:
        lasts_us = lasts_us or rtt_us // 2 + 1
        train = [(1000 + i, rtt_us) for i in range(0, lasts_us, 1000)]
        last = [(1000 + lasts_us, rtt_us + queue_us)]
        seen = hystart(pure, pure.CDG_HYSTART_TRAIN, train + last, paced=True)
        assert not any(seen[:-1])
        return bool(seen[-1])

    assert ends(48000, 3000)  # a sixteenth of the RTT
    assert not ends(48000, 2999)
    assert ends(288000, 8000)  # and no more than 8 ms
    assert not ends(288000, 7999)
    assert ends(48000, 0, lasts_us=48001)  # the pace does not stretch it that far
    assert not ends(48000, 0, lasts_us=48000)


def test_hystart_ends_when_the_rtt_rises_by_an_eighth(pure: Any) -> None:
    def detects(rtt_us: int) -> bool:
        flow = new_flow(pure)
        one_round(pure, flow, 8000)
        pure.cdg_hystart_exit(flow, pure.CDG_HYSTART_DELAY, 0, True, False)
        pure.pure_cdg_rtt_sample(flow, 8000, 2, False)
        pure.cdg_hystart_exit(flow, pure.CDG_HYSTART_DELAY, 0, True, False)
        pure.cdg_round(flow, pure.new("cdg_heuristics"))
        pure.pure_cdg_rtt_sample(flow, rtt_us, 2, False)
        seen = [
            pure.cdg_hystart_exit(flow, pure.CDG_HYSTART_DELAY, 0, True, False) for _ in range(9)
        ]
        assert not any(seen[:8])  # eight samples first
        return seen[8] == pure.CDG_HYSTART_DELAY

    assert detects(9001)
    assert not detects(9000)


def test_acks_that_are_no_rtt_sample_say_nothing_about_slow_start(pure: Any) -> None:
    flow = new_flow(pure)
    one_round(pure, flow, 8000)
    pure.pure_cdg_rtt_sample(flow, 8000, 2, False)
    pure.cdg_hystart_exit(flow, pure.CDG_HYSTART_DELAY, 0, True, False)
    pure.cdg_round(flow, pure.new("cdg_heuristics"))
    for _ in range(9):  # questions, each with an ACK that was held back
        pure.cdg_rtt_delayed_ack(flow, 48000)
        assert not pure.cdg_hystart_exit(flow, pure.CDG_HYSTART_DELAY, 0, True, False)
    pure.pure_cdg_rtt_sample(flow, 9001, 2, False)
    assert not pure.cdg_hystart_exit(flow, pure.CDG_HYSTART_DELAY, 0, True, False)
