# SPDX-License-Identifier: GPL-2.0-only
"""cubic.c against RFC 9438 in double precision; what slow motion keeps, and what it does not."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
import reference as ref
from hypothesis import given
from hypothesis import strategies as st
from inputs import Q16, U32_MAX, U64_MAX, magnitudes, u32, u64

WINDOW_MAX = 2**28
K_MAX_MS = 2**20

windows_q16 = magnitudes(2 * Q16, 100_000 * Q16)
cubic_rtts_us = magnitudes(1000, 1_000_000)


def start(pure: Any, window_q16: int, origin_q16: int = 0) -> Any:
    """A curve that has just begun."""
    cubic = pure.new("cubic")
    pure.cubic_start(cubic, window_q16, origin_q16)
    return cubic


def growth(pure: Any, cubic: Any, elapsed_us: int, rtt_us: int) -> float:
    """Let a round pass; what the next is to add, in packets."""
    pure.cubic_round(cubic, elapsed_us, rtt_us)
    return float(cubic.step_q16 * (cubic.window_q16 / Q16**2))


# R(1) and R(2)


@given(windows_q16, st.floats(1, 2))
def test_k_matches_reference_within_a_millisecond(pure: Any, window_q16: int, above: float) -> None:
    cubic = start(pure, window_q16, origin_q16 := int(window_q16 * above))
    expected_ms = 1000 * ref.Cubic(window_q16 / Q16, origin_q16 / Q16).k_s
    # C itself is a Q16 number: 0.4 (1 - 1.5e-5); a third of that is left in K
    assert expected_ms * (1 - 1e-5) - 1 <= cubic.k_ms <= expected_ms * (1 + 1e-5)


@given(windows_q16, st.floats(1, 2), st.floats(0, 2), cubic_rtts_us)
def test_a_round_grows_to_where_the_curve_will_be_in_one_rtt(
    pure: Any, window_q16: int, above: float, part: float, rtt_us: int
) -> None:
    """Or as Reno, if that is more. Whole ms in K and t: the curve moves by its slope for 2 ms."""
    cubic = start(pure, window_q16, origin_q16 := int(window_q16 * above))
    model = ref.Cubic(window_q16 / Q16, origin_q16 / Q16)
    time_us = int(part * max(model.k_s, 5) * 1e6)
    model.time_s = time_us / 1e6
    d_s = abs(model.time_s + rtt_us / 1e6 - model.k_s) + 0.002
    off_s = 0.002 + d_s * 1e-5  # whole ms, and C in Q16: a packet comes so much earlier or later
    # at two packets and at the end of K, Reno's one alpha is below the bound of half a window
    low, high = (
        max(model.target(rtt_us / 1e6 + at_s) - model.window, ref.CUBIC_ALPHA)
        for at_s in (-off_s, off_s)
    )
    tolerance = 2 * model.window / Q16 + 1e-4  # the step in Q16
    assert low - tolerance <= growth(pure, cubic, time_us, rtt_us) <= high + tolerance


@pytest.mark.parametrize("rtt_ms", [1, 10, 50, 100, 300, 1000])
@pytest.mark.parametrize("window", [2, 10, 100, 1000, 10_000, 100_000])
def test_round_by_round_it_follows_the_rfc_applied_at_every_ack(
    pure: Any, window: int, rtt_ms: int
) -> None:
    """Between two losses, up to twice K, from W_max and from where a cut leaves it.

    As long as the target is within a fifth: beyond, a bound of 1.5 per round trip and one at each
    ACK, e^0.5 per round trip, part.
    """
    rounds = 0
    for origin in (window, int(window / ref.CUBIC_BETA)):
        cubic, model = start(pure, window * Q16, origin * Q16), ref.Cubic(window, origin)
        pure.cubic_round(cubic, 0, rtt_ms * 1000)
        for _ in range(min(int(2000 * max(model.k_s, 3)) // rtt_ms, 300)):
            if model.target(rtt_ms / 1000) > 1.2 * model.window:
                break
            acked = cubic.window_q16 >> 16
            pure.pure_cubic_acked(cubic, acked)
            pure.cubic_round(cubic, rtt_ms * 1000, rtt_ms * 1000)
            for _ in range(16):
                model.acked(acked / 16, rtt_ms / 1000)
                model.time_s += rtt_ms / 1000 / 16
            assert cubic.window_q16 / Q16 == pytest.approx(model.window, rel=0.03, abs=0.5)
            rounds += 1
    assert rounds


# Section 4.3


@pytest.mark.parametrize("window", [2, 10, 100])
def test_where_the_rtt_is_short_it_grows_as_reno_with_cuts_of_three_tenths(
    pure: Any, window: int
) -> None:
    cubic = start(pure, window * Q16)
    rounds, part = 300, 0.0
    for _ in range(rounds):
        pure.cubic_round(cubic, 1000, 1000)
        part += cubic.window_q16 / Q16
        pure.pure_cubic_acked(cubic, int(part))
        part %= 1
    assert cubic.window_q16 / Q16 - window == pytest.approx(ref.CUBIC_ALPHA * rounds, rel=0.02)


# Sections 4.6 and 4.7


@given(windows_q16, st.floats(0.5, 2))
def test_a_loss_cuts_to_seven_tenths_and_converges_fast(
    pure: Any, window_q16: int, above: float
) -> None:
    cubic = start(pure, window_q16, int(window_q16 * above))
    model = ref.Cubic(window_q16 / Q16, int(window_q16 * above) / Q16).after_loss()
    pure.cubic_loss(cubic)
    # what was earned of a packet stays; at the least window, W_max is no less than that
    assert cubic.window_q16 / Q16 == model.window
    assert cubic.origin_q16 / Q16 == model.origin
    assert (cubic.time_us, cubic.step_q16) == (0, 0)
    assert cubic.reno_q16 / Q16 == model.reno


def test_the_window_before_fast_convergence_is_what_the_curve_reached(pure: Any) -> None:
    cubic = start(pure, 100 * Q16)
    pure.cubic_loss(cubic)
    assert (cubic.window_q16 >> 16, cubic.origin_q16 >> 16) == (70, 100)
    pure.cubic_loss(cubic)  # again, before it came back: room for others
    assert (cubic.window_q16 >> 16, cubic.origin_q16 >> 16) == (49, 59)


@pytest.mark.parametrize("given_up", [0.1, 0.4, 0.6])
def test_a_window_given_up_for_a_moment_comes_back_by_half_per_round_trip(
    pure: Any, given_up: float
) -> None:
    """And from there on grows as before."""
    cubic = start(pure, round(100 * (1 - given_up)) * Q16)
    pure.cubic_regain(cubic, 100 * Q16)
    for _ in range(4):
        before = cubic.window_q16 / Q16
        pure.cubic_round(cubic, 50_000, 50_000)
        pure.pure_cubic_acked(cubic, cubic.window_q16 >> 16)
        after = cubic.window_q16 / Q16
        if before < 100 / 1.5:
            assert after == pytest.approx(1.5 * before, rel=0.02)
        else:
            assert max(before, 99) <= after <= max(before, 100) + 2  # and Reno's growth
    pure.cubic_regain(cubic, 50 * Q16)  # less than it has
    assert cubic.reno_q16 > 99 * Q16


# Bounds

states = st.fixed_dictionaries(
    {
        "window_q16": magnitudes(2 * Q16, WINDOW_MAX * Q16),
        "origin_q16": magnitudes(2 * Q16, WINDOW_MAX * Q16),
        "reno_q16": magnitudes(2 * Q16, WINDOW_MAX * Q16),
        "step_q16": st.integers(0, Q16 // 2),
        "time_us": u64,
        "k_ms": st.integers(0, K_MAX_MS),
    }
)
events = st.one_of(
    st.tuples(st.just("cubic_round"), u64, u32),
    st.tuples(st.just("pure_cubic_acked"), u32),
    st.tuples(st.just("cubic_loss")),
    st.tuples(st.just("cubic_start"), u64, u64),
    st.tuples(st.just("cubic_regain"), u64),
)


def check(cubic: Any) -> None:
    """Invariants that hold at any time."""
    assert 2 * Q16 <= cubic.window_q16 <= WINDOW_MAX * Q16
    assert 2 * Q16 <= cubic.origin_q16 <= WINDOW_MAX * Q16
    assert 2 * Q16 <= cubic.reno_q16 <= WINDOW_MAX * Q16
    assert cubic.step_q16 <= Q16 // 2
    assert cubic.k_ms < K_MAX_MS


@given(states, st.lists(events, min_size=1, max_size=20))
def test_from_any_state_to_a_valid_one(
    pure: Any, state: dict[str, int], todo: list[tuple[Any, ...]]
) -> None:
    """And a window shrinks for a loss only."""
    state["k_ms"] = min(state["k_ms"], K_MAX_MS - 1)
    cubic = pure.new("cubic", **state)
    for name, *args in todo:
        before_q16 = cubic.window_q16
        getattr(pure, name)(cubic, *args)
        check(cubic)
        assert cubic.window_q16 >= before_q16 or name in {"cubic_loss", "cubic_start"}
        assert cubic.window_q16 <= max(before_q16, 2 * Q16) or name in {
            "pure_cubic_acked",
            "cubic_start",
        }


@given(states, u64, u32)
def test_a_round_of_acks_never_grows_by_more_than_half(
    pure: Any, state: dict[str, int], elapsed_us: int, rtt_us: int
) -> None:
    cubic = pure.new("cubic", **state)
    before_q16 = cubic.window_q16
    pure.cubic_round(cubic, elapsed_us, rtt_us)
    pure.pure_cubic_acked(cubic, before_q16 >> 16)
    assert before_q16 <= cubic.window_q16 <= before_q16 * 3 // 2


@given(windows_q16, st.floats(1, 2), u64, u64, cubic_rtts_us)
def test_the_target_never_falls_with_time(
    pure: Any, window_q16: int, above: float, one_us: int, other_us: int, rtt_us: int
) -> None:
    steps = []
    for time_us in sorted((one_us, other_us)):
        cubic = start(pure, window_q16, int(window_q16 * above))
        pure.cubic_round(cubic, time_us, rtt_us)
        steps.append(cubic.step_q16)
    assert steps == sorted(steps)


@pytest.mark.parametrize("window_q16", [0, 1, 2 * Q16, WINDOW_MAX * Q16, U64_MAX])
@pytest.mark.parametrize("origin_q16", [0, U64_MAX])
def test_the_ends_of_every_input(pure: Any, window_q16: int, origin_q16: int) -> None:
    for elapsed_us in (0, 1, 60_000_000, U64_MAX):
        for rtt_us in (0, 1, 60_000_000, U32_MAX):
            cubic = start(pure, window_q16, origin_q16)
            check(cubic)
            for packets in (0, 1, U32_MAX, U32_MAX):
                pure.cubic_round(cubic, elapsed_us, rtt_us)
                pure.pure_cubic_acked(cubic, packets)
                check(cubic)
            if elapsed_us == U64_MAX:  # the clock does not wrap
                assert cubic.time_us == U64_MAX
            pure.cubic_loss(cubic)
            check(cubic)


def test_a_long_way_back_takes_its_time(pure: Any) -> None:
    """W_max a million packets away: after a cut of 0.7 there are 90 s to K, none lost."""
    cubic = start(pure, 1_000_000 * Q16)
    pure.cubic_loss(cubic)
    assert cubic.k_ms == pytest.approx(1000 * math.cbrt(300_000 / 0.4), rel=3e-4)
    # at t = 0 the curve passes through the window: only Reno's growth and 1 ms of the curve
    assert growth(pure, cubic, 0, 1000) < 3 * 0.4 * 91**2 * 0.003 + 16


# Slow motion


def mean_window(
    pure: Any, w: float, rtt_us: int, loss: float, losses: int, seed: int, *, recovery: bool = False
) -> float:
    """B's mean over time where every packet of a flow at w * B is lost with this probability.

    Round by round as the module does it: w * B packets per RTT; below two per RTT a window of two,
    and the round takes as long as they need. With recovery, a round follows each cut that neither
    grows nor is cut again, and is not counted in slow time: TCP's recovery.
    """
    draw = random.Random(seed)
    cubic = start(pure, int(1.2 / math.sqrt(loss)) * Q16)
    cut, area, total_us, part = 0, 0.0, 0.0, 0.0
    left = 0  # packets to the next loss, itself included
    while cut < losses:
        if not left:
            left = int(math.log(1 - draw.random()) / math.log1p(-loss)) + 1
        level = w * cubic.window_q16 / Q16
        elapsed_us = rtt_us * max(1.0, 2 / level)
        packets = max(level, 2.0) + part
        sent, part = int(packets), packets % 1
        if sent >= left:  # the rest belongs to the next round
            elapsed_us *= left / sent
            sent, part = left, 0.0
        area += cubic.window_q16 / Q16 * elapsed_us
        total_us += elapsed_us
        pure.pure_cubic_acked(cubic, sent)
        pure.cubic_round(cubic, int(elapsed_us * w), rtt_us)
        left -= sent
        if left:
            continue
        cut += 1
        pure.cubic_loss(cubic)
        pure.cubic_round(cubic, 0, rtt_us)
        if recovery:
            level = w * cubic.window_q16 / Q16
            elapsed_us = rtt_us * max(1.0, 2 / level)
            area += cubic.window_q16 / Q16 * elapsed_us
            total_us += elapsed_us
    return area / total_us


# RTT, loss probability: Reno-friendly, on the border, CUBIC proper, and where windows are small.
SLOW_MOTION = [(20_000, 1e-3), (100_000, 1e-3), (300_000, 1e-3), (50_000, 1e-2)]


@pytest.mark.parametrize("recovery", [False, True])
@pytest.mark.parametrize(("rtt_us", "loss"), SLOW_MOTION)
def test_b_does_not_depend_on_w_where_losses_meet_packets_at_random(
    pure: Any, rtt_us: int, loss: float, recovery: bool
) -> None:
    """Within 8 %: 2 to 3 % are chance (some 800 losses), the rest is whole packets and rounds."""
    means = [
        mean_window(pure, w, rtt_us, loss, 800, seed, recovery=recovery)
        for seed, w in enumerate((1.0, 0.5, 0.1, 0.02))
    ]
    assert means == pytest.approx([means[0]] * 4, rel=0.08)


def mean_window_in_bursts(pure: Any, w: float, hit: float, seed: int) -> float:
    """The same where every 40 RTTs, on average, a burst of losses lasts one RTT.

    A packet sent in it is lost with probability hit; a burst cuts a flow once. RTT 50 ms.
    """
    draw, rtt_us = random.Random(seed), 50_000
    cubic = start(pure, 30 * Q16)
    area, total, part = 0.0, 0.0, 0.0
    while total < 4000 / w:  # RTTs
        level = w * cubic.window_q16 / Q16
        elapsed = max(1.0, 2 / level)
        area += cubic.window_q16 / Q16 * elapsed
        total += elapsed
        part += level * elapsed
        pure.pure_cubic_acked(cubic, int(part))
        part %= 1
        if draw.random() < elapsed / 40 * (1 - (1 - hit) ** level):
            pure.cubic_loss(cubic)
            elapsed = 0
        pure.cubic_round(cubic, int(elapsed * w * rtt_us), rtt_us)
    return area / total


def test_in_bursts_of_losses_b_is_smaller_the_smaller_w(pure: Any) -> None:
    """A best-effort flow cuts once for a burst; a slow one that meets few of them, for each.

    So a flow in slow motion errs towards giving way: by a factor of three where a burst takes ten
    packets of a best-effort window; hardly where it seldom takes one.
    """
    for hit, low, high in ((0.2, 0.2, 0.4), (0.001, 0.85, 1.1)):
        slow, whole = (
            sum(mean_window_in_bursts(pure, w, hit, seed) for seed in range(3)) for w in (0.02, 1)
        )
        assert low < slow / whole < high
