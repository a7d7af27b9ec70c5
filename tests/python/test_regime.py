# SPDX-License-Identifier: GPL-2.0-only
"""regime.c and its parts: every step of the state machine, and flows that use it on a link."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inputs import Q16, U32_MAX, magnitudes, u32, u64

BASE_US = 50_000
QUEUE_US = 40_000
OURS = 0.2  # the part of the expected drain from which on a queue is ours
SHORT_US = BASE_US // 16
OFTEN_US, STAYED_US, PATIENCE_US = 16_000_000, 32_000_000, 8_000_000
DOUBT_US = 16_000_000

windows = magnitudes(3, U32_MAX)


def now_us(pure: Any, looks: int) -> int:
    """A clock that so many looks have passed on."""
    return looks * int(pure.regime_look_us(BASE_US))


def cut(pure: Any, regime: Any, drained: float, depth: float = 0.3) -> int:
    """A cut from 100 packets that drains this part of what it should; the verdict on it."""
    before_us = BASE_US + QUEUE_US
    regime.looks.mean_us = QUEUE_US
    pure.evidence_test_cut(regime, 100, round(100 * (1 - depth)), before_us, BASE_US)
    assert regime.cut.before_us
    return int(
        pure.regime_round(regime, before_us - round(drained * regime.cut.expected_us), BASE_US, 0)
    )


def yielding(pure: Any, alone_us: int = OFTEN_US) -> Any:
    """A flow whose cuts had no effect, after it was alone for so long."""
    regime = pure.new("regime", times__since_us=-alone_us % 2**64)
    assert cut(pure, regime, 0) == pure.VERDICT_CUT_DEEPER
    assert cut(pure, regime, 0) == pure.VERDICT_YIELD
    return regime


@pytest.mark.parametrize("clock_us", [0, 5_000_000, 2**63])
def test_how_long_the_machine_has_been_up_is_of_no_concern(pure: Any, clock_us: int) -> None:
    regime = pure.new("regime")
    pure.regime_start(regime, clock_us)
    assert pure.regime_in_doubt(regime, clock_us) is False  # not urgent at all
    regime.urgency_q16 = Q16
    assert pure.regime_in_doubt(regime, clock_us + DOUBT_US - 1)
    assert not pure.regime_in_doubt(regime, clock_us + DOUBT_US)
    regime.lossy_rounds = 9  # so it is not kin's
    for doubt in range(2):
        pure.evidence_test_cut(regime, 100, 90, BASE_US + QUEUE_US, BASE_US)
        pure.regime_round(regime, BASE_US + QUEUE_US, BASE_US, clock_us + doubt)
    assert regime.state == pure.REGIME_YIELDING
    assert (regime.short_flows_come, regime.times.came_us) == (False, clock_us + 1)


def rounds(pure: Any, regime: Any, queues_us: list[int], clock_us: int = 0) -> list[int]:
    """End a round at each of these queues; the verdicts."""
    return [pure.regime_round(regime, BASE_US + q, BASE_US, clock_us) for q in queues_us]


def contended(pure: Any, alone_us: int = OFTEN_US) -> Any:
    """A flow that stood back, and the queue stayed."""
    regime = yielding(pure, alone_us)
    assert set(rounds(pure, regime, [QUEUE_US] * 4)) == {pure.VERDICT_NONE}
    assert regime.state == pure.REGIME_CONTENDED
    return regime


# ALONE


@pytest.mark.parametrize(("drained", "ours"), [(1.5, True), (1, True), (0.21, True), (0.19, False),
                                               (0, False), (-1, False)])  # fmt: skip
def test_a_queue_is_ours_where_a_fifth_of_the_expected_drain_is_seen(
    pure: Any, drained: float, ours: bool
) -> None:
    regime = pure.new("regime")
    assert cut(pure, regime, drained) == (pure.VERDICT_NONE if ours else pure.VERDICT_CUT_DEEPER)
    assert regime.state == pure.REGIME_ALONE
    assert regime.cut.decides is not ours
    assert regime.cut.drained_q16 / Q16 == pytest.approx(min(max(drained, 0), 1), abs=1e-3)
    assert regime.cut.before_us == 0  # judged once
    assert rounds(pure, regime, [0, QUEUE_US, 9 * QUEUE_US]) == [pure.VERDICT_NONE] * 3


def test_a_second_cut_decides(pure: Any) -> None:
    regime = pure.new("regime")
    assert cut(pure, regime, 0) == pure.VERDICT_CUT_DEEPER
    assert cut(pure, regime, 1) == pure.VERDICT_NONE  # noise, it was
    assert cut(pure, regime, 0) == pure.VERDICT_CUT_DEEPER  # and counts no more
    assert cut(pure, regime, 0) == pure.VERDICT_YIELD
    assert (regime.state, regime.cut.decides, regime.yields) == (pure.REGIME_YIELDING, False, 1)


@pytest.mark.parametrize(("cwnd", "ssthresh", "rtt_us", "base_us"), [
    (100, 70, BASE_US + SHORT_US - 1, BASE_US),  # too short
    (100, 70, BASE_US - 1, BASE_US),  # below the base RTT
    (100, 70, 100 + 999, 100),  # a 16th of 100 us would be noise
    (100, 70, BASE_US, 0),  # no base RTT
    (100, 70, 0, 0),
])  # fmt: skip
def test_what_shows_nothing_is_no_test_and_ends_a_doubt(
    pure: Any, cwnd: int, ssthresh: int, rtt_us: int, base_us: int
) -> None:
    for before_us in (0, 70_000):  # nor is one from before
        regime = pure.new(
            "regime", cut__decides=True, cut__before_us=before_us, cut__expected_us=1000
        )
        pure.evidence_test_cut(regime, cwnd, ssthresh, rtt_us, base_us)
        assert (regime.cut.before_us, regime.cut.decides) == (0, False)
        assert pure.regime_round(regime, rtt_us, base_us, 0) == pure.VERDICT_NONE


@given(windows, windows, u32, u32)
def test_the_drain_expected_is_the_windows_part_of_the_rtt_but_no_more_than_the_queue(
    pure: Any, cwnd: int, ssthresh: int, rtt_us: int, base_us: int
) -> None:
    regime = pure.new("regime")
    pure.evidence_test_cut(regime, cwnd, ssthresh, rtt_us, base_us)
    queue_us = max(rtt_us - base_us, 0)
    testable = base_us > 0 and queue_us >= max(base_us // 16, 1000)
    assert regime.cut.before_us == (rtt_us if testable else 0)
    if testable and ssthresh < cwnd:
        assert regime.cut.expected_us == min(queue_us, rtt_us * (cwnd - ssthresh) // cwnd)


@pytest.mark.parametrize("cwnd", [0, 2])
@pytest.mark.parametrize(("drained", "kept"), [(0.21, True), (0.19, False), (-1, False)])
def test_where_the_window_cannot_be_cut_it_is_for_the_others_to_drain_the_queue(
    pure: Any, cwnd: int, drained: float, kept: bool
) -> None:
    regime, before_us = pure.new("regime", looks__mean_us=QUEUE_US), BASE_US + QUEUE_US
    pure.evidence_test_cut(regime, cwnd, 2, before_us, BASE_US)
    verdict = pure.regime_round(regime, before_us - round(drained * QUEUE_US), BASE_US, 0)
    assert verdict == (pure.VERDICT_NONE if kept else pure.VERDICT_YIELD)


@pytest.mark.parametrize(
    ("cwnd", "ssthresh", "base_us", "drained", "kept"),
    [
        (10, 8, BASE_US, [0.8] * 9 + [0.7, *[0.8] * 3], 8 + 1 / 3),  # a sixth is in the queue
        (10, 8, BASE_US, [0.7, *[0.8] * 4], 8),
        (10, 7, BASE_US, [0.7], 8),  # just below
        (24, 20, BASE_US, [], 20),
        (10, 8, 0, [], 8),
    ],
    ids=["shared", "alone", "deeper", "large", "no base RTT"],
)
def test_a_cut_keeps_the_part_of_a_packet_where_somebody_shares_the_queue(
    pure: Any, cwnd: int, ssthresh: int, base_us: int, drained: list[float], kept: float
) -> None:
    regime = pure.new("regime")
    for part in drained:
        cut(pure, regime, part)
    rtt_us = BASE_US * 6 // 5
    window_q16 = pure.evidence_kept_q16(regime, cwnd * Q16, ssthresh, rtt_us, base_us)
    assert window_q16 == pytest.approx(kept * Q16, abs=2)


# Flows like us


KIN_US = min(BASE_US // 4, 16_000)  # the longest queue that they leave


def test_a_queue_as_flows_like_us_leave_it_is_theirs_unless_it_loses_packets(pure: Any) -> None:
    for queue_us, lossy, verdict in (
        (KIN_US, False, pure.VERDICT_NONE),
        (KIN_US + 8, False, pure.VERDICT_CUT_DEEPER),
        (KIN_US, True, pure.VERDICT_CUT_DEEPER),
    ):
        regime = pure.new("regime", looks__mean_us=queue_us)
        if lossy:
            pure.evidence_loss(regime)
        pure.evidence_test_cut(regime, 100, 70, BASE_US + queue_us, BASE_US)
        assert pure.regime_round(regime, BASE_US + queue_us, BASE_US, 0) == verdict


def test_a_loss_that_was_none_shows_nothing(pure: Any) -> None:
    regime = pure.new("regime", lossy_rounds=9)
    pure.evidence_test_cut(regime, 100, 70, BASE_US + KIN_US, BASE_US)
    pure.evidence_loss(regime)
    assert regime.lossy_rounds == 64
    pure.evidence_undo_loss(regime, 9)
    assert (regime.lossy_rounds, regime.cut.before_us, regime.slow_start.rounds_since) == (9, 0, 0)


def test_a_loss_is_remembered_for_64_rounds(pure: Any) -> None:
    for passed, verdict in ((63, pure.VERDICT_CUT_DEEPER), (64, pure.VERDICT_NONE)):
        regime = pure.new("regime")
        pure.evidence_loss(regime)
        rounds(pure, regime, [KIN_US] * (passed - 1))
        pure.evidence_test_cut(regime, 100, 70, BASE_US + KIN_US, BASE_US)
        assert rounds(pure, regime, [KIN_US]) == [verdict]


@pytest.mark.parametrize(("lossy", "first_s"), [(False, 2), (True, 8)])
def test_a_contended_flow_tries_ever_more_rarely(pure: Any, lossy: bool, first_s: int) -> None:
    """At a queue as flows like us leave it; a longer one is never tried."""
    regime = pure.new("regime")
    wait_s, clock_us = first_s, 0
    for _ in range(6):
        if lossy:
            pure.evidence_loss(regime)
        regime.looks.mean_us = QUEUE_US
        for verdict in (pure.VERDICT_CUT_DEEPER, pure.VERDICT_YIELD):
            pure.evidence_test_cut(regime, 100, 70, BASE_US + QUEUE_US, BASE_US)
            assert pure.regime_round(regime, BASE_US + QUEUE_US, BASE_US, clock_us) == verdict
        yielded_us = clock_us
        assert set(rounds(pure, regime, [KIN_US] * 4, clock_us)) == {pure.VERDICT_NONE}
        # a queue that moves: else it would be a path
        while not (last := rounds(pure, regime, [KIN_US - clock_us // 50_000], clock_us)[0]):
            clock_us += 100_000
        assert last == pure.VERDICT_TRY
        assert regime.state == pure.REGIME_ALONE
        look_us = int(pure.regime_look_us(BASE_US))
        assert 0 <= clock_us - yielded_us - wait_s * 1_000_000 <= look_us + 100_000
        wait_s = min(2 * wait_s, 64 if lossy else 8)

    regime = contended(pure)
    assert set(rounds(pure, regime, [KIN_US * 2] * 99, 10**9)) == {pure.VERDICT_NONE}


@pytest.mark.parametrize(("base_us", "surge_us"), [(BASE_US, 6250), (24_000, 4000), (0, 4000)])
def test_a_surge_is_a_growth_by_an_eighth_of_the_base_rtt(
    pure: Any, base_us: int, surge_us: int
) -> None:
    before_us = base_us + 1_000
    for state in range(3):
        regime = pure.new("regime", state=state)
        alone = state == pure.REGIME_ALONE
        assert pure.room_urgent(regime, before_us + surge_us, before_us, base_us) == alone
        assert not pure.room_urgent(regime, before_us + surge_us - 1, before_us, base_us)
        assert not pure.room_urgent(regime, before_us - 1, before_us, base_us)
        assert not pure.room_urgent(regime, base_us + 1_000, 0, base_us)  # no round before


@pytest.mark.parametrize(("base_us", "longest_us"), [
    (BASE_US, KIN_US), (200_000, 16_000), (20_000, 5_000), (12_000, 3_000), (1_000, 3_000),
])  # fmt: skip
def test_a_queue_longer_than_flows_like_us_leave_it_is_not_left_to_the_gradient(
    pure: Any, base_us: int, longest_us: int
) -> None:
    for state in range(3):
        regime = pure.new("regime", state=state)
        for queue_us, urgent in ((longest_us, False), (longest_us + 1, True)):
            rtt_us = base_us + queue_us
            alone = state == pure.REGIME_ALONE
            assert pure.room_urgent(regime, rtt_us, rtt_us, base_us) == (alone and urgent)
            assert not pure.room_urgent(regime, rtt_us, rtt_us, 0)


@pytest.mark.parametrize("base_us", [500, 9_000, 20_000, 50_000, 200_000])
def test_flows_like_us_forgive_the_queue_that_they_leave(pure: Any, base_us: int) -> None:
    """Else they would take each other for competitors."""
    regime = pure.new("regime")
    left_us = max(
        us for us in range(0, 20_000, 50)
        if not pure.room_urgent(regime, base_us + us, base_us + us, base_us)
    )  # fmt: skip
    for more_us, verdict in ((0, pure.VERDICT_NONE), (58, pure.VERDICT_CUT_DEEPER)):
        regime = pure.new("regime", looks__mean_us=left_us + more_us)
        pure.evidence_test_cut(regime, 100, 70, base_us + left_us + more_us, base_us)
        assert pure.regime_round(regime, base_us + left_us + more_us, base_us, 0) == verdict


@pytest.mark.parametrize(("packet_us", "left_us"), [
    (0, KIN_US), (3_125, KIN_US), (12_000, 48_000), (40_000, 50_000), (2**16 - 1, 50_000),
])  # fmt: skip
def test_four_packets_at_the_links_rate_are_forgiven(
    pure: Any, packet_us: int, left_us: int
) -> None:
    """Flows like us that hold the least window on a slow link leave them."""
    for more_us, forgiven in ((0, True), (58, False)):
        mean_us = left_us + more_us
        for lossy in range(2):
            alone = pure.new(
                "regime", looks__mean_us=mean_us, packet_us=packet_us, lossy_rounds=2 * lossy
            )
            pure.evidence_test_cut(alone, 100, 70, BASE_US + mean_us, BASE_US)
            verdict = pure.regime_round(alone, BASE_US + mean_us, BASE_US, 0)
            assert (verdict == pure.VERDICT_NONE) == (forgiven and not lossy)
        contended = pure.new(
            "regime", state=pure.REGIME_CONTENDED, looks__rounds=9, looks__mean_us=mean_us,
            looks__peak_us=mean_us, looks__try_us=2_000_000, packet_us=packet_us,
        )  # fmt: skip
        verdict = pure.regime_round(contended, BASE_US + mean_us, BASE_US, 2_000_000)
        assert (verdict == pure.VERDICT_TRY) == forgiven


# The part of a window that fits the path


def fit(cwnd: int, base_us: int, rtt_us: int) -> int:
    """Of a few packets the nearest, of many one less, packets."""
    if cwnd < 10:
        return (2 * cwnd * base_us // rtt_us + 1) // 2
    return int(cwnd * base_us // rtt_us - (cwnd >= 24))


# Room for a newcomer


STEADY = 4  # rounds
SURGE_US = BASE_US // 8
ROOM_US = BASE_US // 4


def surged(pure: Any, grown_us: int = 15_000, cwnd: int = 100, **fields: Any) -> tuple[Any, int]:
    """A flow whose queue of 20 ms has grown by so much in a round, and what it cuts to."""
    regime = pure.new(
        "regime",
        **{"slow_start__rounds_since": STEADY, "times__since_us": -OFTEN_US % 2**64, **fields},
    )
    rtt_us = BASE_US + 20_000
    assert pure.room_urgent(regime, rtt_us, rtt_us - grown_us, BASE_US)
    ssthresh = pure.room_cut(regime, cwnd, rtt_us, BASE_US, 7)
    pure.evidence_test_cut(regime, cwnd, ssthresh, rtt_us, BASE_US)
    return regime, ssthresh


@pytest.mark.parametrize(("fields", "room"), [
    ({}, True),
    ({"grown_us": ROOM_US}, True),
    ({"grown_us": ROOM_US - 1}, False),  # a burst, perhaps
    ({"grown_us": SURGE_US, "part__lost_surge_us": 1}, True),
    ({"slow_start__rounds_since": STEADY - 1}, False),  # our own slow start
    ({"cwnd": 10}, True),
    ({"cwnd": 9}, False),  # smaller than a newcomer's first window
    ({"cwnd": 9, "part__lost_surge_us": 1}, True),
])  # fmt: skip
def test_room_is_made_for_twice_a_surge(pure: Any, fields: dict[str, int], room: bool) -> None:
    regime, ssthresh = surged(pure, **fields)
    cwnd, grown_us = fields.get("cwnd", 100), fields.get("grown_us", 15_000)
    kept = fit(cwnd, BASE_US, BASE_US + 20_000 + room * 2 * grown_us)
    assert ssthresh == max(kept, cwnd // 2)
    assert regime.room.provisional is room
    # without the queue from before the surge
    assert regime.room.restore_cwnd == room * (cwnd * BASE_US // (BASE_US + 20_000 - grown_us))


@pytest.mark.parametrize(("patient", "least_us"), [(False, BASE_US // 4), (True, BASE_US // 8)])
def test_where_short_flows_keep_coming_a_burst_is_reason_enough(
    pure: Any, patient: bool, least_us: int
) -> None:
    for grown_us, room in ((least_us, True), (least_us - 1, False)):
        regime = pure.new("regime", slow_start__rounds_since=STEADY, short_flows_come=patient)
        rtt_us = BASE_US + 20_000
        pure.room_urgent(regime, rtt_us, rtt_us - grown_us, BASE_US)
        assert regime.room.surge_us == grown_us * (grown_us >= BASE_US // 8)
        early = [
            pure.room_sample(regime, rtt_us, 50, rtt_us - grown_us, BASE_US, 100) for _ in range(4)
        ]
        assert early == [False, False, False, room]


@pytest.mark.parametrize("lost_part", [False, True])
def test_room_that_nobody_takes_is_taken_back(pure: Any, lost_part: bool) -> None:
    """A path that stood still has delivered what was late."""
    regime, _ = surged(pure, part__lost_surge_us=int(lost_part))
    assert rounds(pure, regime, [SHORT_US - 1]) == [pure.VERDICT_ROOM_FREE]
    assert (regime.state, regime.yields) == (pure.REGIME_ALONE, 0)
    assert rounds(pure, regime, [SHORT_US - 1]) == [pure.VERDICT_NONE]  # once


@pytest.mark.parametrize(
    ("queue_us", "lossy"), [(5_001, 9), (KIN_US, 9), (KIN_US + 1, 0), (QUEUE_US, 0)]
)
def test_room_that_is_taken_is_a_newcomers(pure: Any, queue_us: int, lossy: int) -> None:
    regime, _ = surged(pure)
    regime.lossy_rounds = lossy
    assert rounds(pure, regime, [queue_us]) == [pure.VERDICT_YIELD]
    assert (regime.state, regime.yields) == (pure.REGIME_CONTENDED, 1)


def test_scavengers_do_not_take_each_others_queue_for_a_newcomers(pure: Any) -> None:
    """As short a queue as they leave among themselves, where no packet is lost."""
    regime, _ = surged(pure)
    assert rounds(pure, regime, [KIN_US]) == [pure.VERDICT_ROOM_FREE]
    assert (regime.state, regime.yields) == (pure.REGIME_ALONE, 0)


@pytest.mark.parametrize(("quiet", "before_us", "back"), [
    (0, 0, False),
    (6, 0, False),
    (7, 0, True),  # long ago
    (0, 1, True),  # the queue is no longer than it was: ours, of when we came back
])  # fmt: skip
def test_a_longer_queue_that_surges_within_eight_rounds_keeps_its_room(
    pure: Any, quiet: int, before_us: int, back: bool
) -> None:
    """Slow start doubles what it sends. Two of ours that come back at a time do not."""
    first, _ = surged(pure)
    rtt_us = first.cut.before_us
    assert rounds(pure, first, [0]) == [pure.VERDICT_ROOM_FREE]
    assert first.room.restored_us == rtt_us
    assert set(rounds(pure, first, [0] * quiet)) <= {pure.VERDICT_NONE}
    rounds(pure, first, [20_000])
    again, _ = surged(
        pure,
        room__restored_rounds=first.room.restored_rounds,
        room__restored_us=rtt_us - 1 + before_us,
    )
    assert again.room.provisional
    assert (again.room.restore_cwnd > 0) is back
    assert rounds(pure, again, [0]) == [pure.VERDICT_ROOM_FREE if back else pure.VERDICT_NONE]
    assert again.state == pure.REGIME_ALONE


def test_a_surge_says_nothing_of_a_cut_that_was_for_our_own_queue(pure: Any) -> None:
    """Room is made for it first; where a cut was in doubt already, that is decided."""
    for doubt, verdict in ((False, pure.VERDICT_NONE), (True, pure.VERDICT_YIELD)):
        regime = pure.new("regime", looks__mean_us=QUEUE_US, cut__decides=doubt)
        regime.part.lost_surge_us = SURGE_US
        pure.evidence_test_cut(regime, 100, 70, BASE_US + QUEUE_US, BASE_US)
        assert rounds(pure, regime, [QUEUE_US + SURGE_US]) == [verdict]
        assert regime.cut.before_us == 0


@pytest.mark.parametrize("told", ["loss", "test_loss_cut"])
def test_a_loss_in_the_room_that_was_made_is_a_newcomers(pure: Any, told: str) -> None:
    """However idle it is afterwards; where no room was made, a loss's cut is a test."""
    cut_to = (50, 35, BASE_US + 20_000, BASE_US) if told == "test_loss_cut" else ()
    regime, _ = surged(pure)
    getattr(pure, f"evidence_{told}")(regime, *cut_to)
    assert rounds(pure, regime, [0]) == [pure.VERDICT_YIELD]
    assert regime.state == pure.REGIME_CONTENDED

    regime = pure.new(
        "regime", looks__mean_us=QUEUE_US, room__restore_cwnd=70, room__provisional=True
    )  # of a test long over
    pure.evidence_test_loss_cut(regime, 100, 70, BASE_US + QUEUE_US, BASE_US)
    room = regime.room
    assert (regime.lossy_rounds, room.restore_cwnd, room.provisional) == (64, 0, False)
    assert rounds(pure, regime, [QUEUE_US]) == [pure.VERDICT_CUT_DEEPER]


@pytest.mark.parametrize(("base_us", "grown_us", "left_us"), [
    (BASE_US, 15_000, 20_000 // 4),
    (BASE_US, 12_500, SHORT_US),
    (1_000, 11_000, 11_000 // 4),  # short paths
    (1_000, 8_000, 2_000),
])  # fmt: skip
def test_room_is_taken_where_more_than_a_quarter_of_the_queue_is_left(
    pure: Any, base_us: int, grown_us: int, left_us: int
) -> None:
    """Or of the shortest queue there is to judge by; where packets were lost lately."""
    queue_us = 20_000 if grown_us == 15_000 else grown_us
    for more_us, verdict in ((0, pure.VERDICT_ROOM_FREE), (1, pure.VERDICT_YIELD)):
        regime = pure.new(
            "regime",
            slow_start__rounds_since=STEADY,
            times__since_us=-OFTEN_US % 2**64,
            lossy_rounds=9,
        )
        rtt_us = base_us + queue_us
        assert pure.room_urgent(regime, rtt_us, rtt_us - grown_us, base_us)
        ssthresh = pure.room_cut(regime, 100, rtt_us, base_us, 7)
        pure.evidence_test_cut(regime, 100, ssthresh, rtt_us, base_us)
        assert regime.room.provisional
        assert pure.regime_round(regime, base_us + left_us + more_us, base_us, 0) == verdict


@pytest.mark.parametrize(("queue_us", "steady", "taken"), [
    (5_000, STEADY, False),
    (5_001, STEADY, True),
    (5_001, STEADY - 1, False),  # it is what our own slow start sent
])  # fmt: skip
def test_a_loss_of_old_times_says_nothing_of_what_is_lent_now(
    pure: Any, queue_us: int, steady: int, taken: bool
) -> None:
    """The module lends without making room as well, where the link was taken lately."""
    regime, _ = surged(pure)
    pure.evidence_loss(regime)
    assert rounds(pure, regime, [0]) == [pure.VERDICT_YIELD]
    regime.state = pure.REGIME_ALONE
    rtt_us = BASE_US + 20_000
    ssthresh = pure.room_cut(regime, 100, rtt_us, BASE_US, 7)
    pure.evidence_test_cut(regime, 100, ssthresh, rtt_us, BASE_US)
    regime.room.restore_cwnd, regime.room.provisional = 100, True
    regime.slow_start.rounds_since = steady
    assert rounds(pure, regime, [queue_us]) == [
        pure.VERDICT_YIELD if taken else pure.VERDICT_ROOM_FREE
    ]


def test_a_loss_under_repair_in_the_room_that_was_made_is_not_waited_for(pure: Any) -> None:
    """No round ends before the repair does."""
    regime, _ = surged(pure)
    assert pure.regime_repair(regime, 0)
    assert (regime.state, regime.yields) == (pure.REGIME_YIELDING, 1)

    for state in range(3):
        for fields in (
            {"room__provisional": False, "cut__before_us": BASE_US},
            {"room__provisional": True, "cut__before_us": 0},
        ):
            regime = pure.new("regime", state=state, **fields)
            assert not pure.regime_repair(regime, 0)  # it was made elsewhere, or not at all
            assert (regime.state, regime.lossy_rounds, regime.yields) == (state, 64, 0)
    for state in (pure.REGIME_YIELDING, pure.REGIME_CONTENDED):
        regime = pure.new("regime", state=state, room__provisional=True, cut__before_us=BASE_US)
        assert not pure.regime_repair(regime, 0)


@pytest.mark.parametrize(
    ("urgency_q16", "doubt_s"), [(0, 0), (Q16 // 100, 0.16), (Q16 // 2, 8), (Q16, 16)]
)
def test_after_a_loss_in_the_room_we_look_only_if_the_others_had_gone_for_sure(
    pure: Any, urgency_q16: int, doubt_s: float
) -> None:
    for after_s, looks in ((doubt_s - 0.01, False), (doubt_s + 0.01, True)):
        if after_s < 0:
            continue
        regime, _ = surged(pure)
        regime.urgency_q16, regime.times.taken_us = urgency_q16, 10**9
        assert pure.regime_repair(regime, 10**9 + round(after_s * 1e6))
        assert regime.state == (pure.REGIME_YIELDING if looks else pure.REGIME_CONTENDED)
        assert regime.yields == 1
        # contended, the first look is one interval away
        assert regime.looks.last_look_us == (0 if looks else regime.times.since_us)


def test_after_a_timeout_what_was_withdrawn_stays_given_up(pure: Any) -> None:
    """A later yield would take it for ours."""
    regime, _ = surged(pure)
    assert regime.room.restore_cwnd
    pure.evidence_timeout(regime)
    assert (regime.room.restore_cwnd, regime.cut.before_us, regime.lossy_rounds) == (0, 0, 64)


# A path that stands still

SILENCE_US = BASE_US * 28 // 40  # two windows of a newcomer, of a window of 40


def stood(pure: Any, stall: Any, silence_us: int, now_us: int, **other: int) -> Callable[..., bool]:
    """After this silence: was the path standing still while the packet of an RTT was under way?"""
    args = {"cwnd": 40, "before_us": BASE_US, "steady": 1} | other

    def of(rtt_us: int, after_us: int = 0) -> bool:
        silent_us = 0 if after_us else silence_us
        clock_us = (now_us + after_us) % 2**32
        before_us = args["before_us"]
        if pure.pure_stall_silence_is_long(silent_us, args["cwnd"], before_us, args["steady"]):
            pure.stall_judge_silence(stall, rtt_us, silent_us, before_us, BASE_US, clock_us)
        return bool(pure.pure_stall_during_rtt(stall, rtt_us, clock_us))

    return of


@pytest.mark.parametrize("now_us", [10**6, 2**32 - 1])
def test_where_a_path_stood_still_what_was_under_way_says_nothing(pure: Any, now_us: int) -> None:
    """Packets that are sent later do: a newcomer's queue is there in the next round as well."""
    late_us = BASE_US + SILENCE_US
    says_nothing = stood(pure, pure.new("stall", seen=1), SILENCE_US, now_us)
    assert says_nothing(late_us)
    assert says_nothing(late_us, after_us=late_us - 1)
    assert not says_nothing(late_us, after_us=late_us)


@pytest.mark.parametrize("fields", [
    {"silence_us": SILENCE_US - 1},  # of a newcomer's first packets, perhaps
    {"cwnd": 39},
    {"cwnd": 0},  # too little to send
    {"before_us": BASE_US * 40 // 39 + 1},  # a queue stood already: fewer packets in that time
    {"grown_us": SURGE_US - 1},  # no surge
    {"steady": 0, "silence_us": 2 * BASE_US - 1},  # of our own window, in slow start
    {"steady": 0, "cwnd": 10},  # 28 packets of a window of ten are 2.8 round trips
    {"grown_us": 2 * SILENCE_US + 2},  # it does not explain what is late
])  # fmt: skip
def test_a_short_silence_is_none(pure: Any, fields: dict[str, int]) -> None:
    other = {"grown_us": SILENCE_US, "silence_us": SILENCE_US, "before_us": BASE_US} | fields
    silence_us, rtt_us = other.pop("silence_us"), other["before_us"] + other.pop("grown_us")
    assert not stood(pure, pure.new("stall", seen=1), silence_us, 10**6, **other)(rtt_us)


def test_a_surge_that_a_silence_explains_is_none(pure: Any) -> None:
    for grown_us in (SURGE_US, 2 * SILENCE_US + 1):
        assert stood(pure, pure.new("stall", seen=1), SILENCE_US, 10**6)(BASE_US + grown_us)


def test_only_a_flow_alone_has_an_even_window(pure: Any) -> None:
    """Contended, two packets at a time leave; in slow start a window at a time does."""
    for state in range(3):
        for steady in (STEADY - 1, STEADY):
            regime = pure.new("regime", state=state, slow_start__rounds_since=steady)
            even = state == pure.REGIME_ALONE and steady == STEADY
            assert pure.pure_regime_steady(regime) == even


@pytest.mark.parametrize(("silence_us", "says_nothing"), [(2 * BASE_US - 1, False),
                                                          (2 * BASE_US, True)])  # fmt: skip
def test_in_slow_start_two_round_trips_without_an_ack_are_a_stall(
    pure: Any, silence_us: int, says_nothing: bool
) -> None:
    late = stood(pure, pure.new("stall", seen=1), silence_us, 10**6, steady=0)
    assert late(BASE_US + silence_us) is says_nothing


@pytest.mark.parametrize(("rounds_later", "says_nothing"), [(7, False), (8, True)])
def test_clumps_every_few_rounds_hide_no_queue(
    pure: Any, rounds_later: int, says_nothing: bool
) -> None:
    stall, now_us, late_us = pure.new("stall", seen=1), 10**6, BASE_US + SILENCE_US
    assert stood(pure, stall, SILENCE_US, now_us)(late_us)
    now_us += rounds_later * BASE_US
    stall.seen = 1
    assert stood(pure, stall, SILENCE_US, now_us)(late_us) == says_nothing


def others_have_it(pure: Any, silence_us: int, between_us: int, times: int = 100) -> int:
    """The path of 1 ms stands still so long, so often: after how many times is it others'?"""
    stall, now_us = pure.new("stall", seen=1), 2**32 - 10**6
    for n in range(times):
        now_us = (now_us + between_us + silence_us) % 2**32
        stall.seen = 1
        pure.stall_judge_silence(stall, 1000 + silence_us, silence_us, 1000, 1000, now_us)
        if pure.stall_by_others(stall):
            return n + 1
    return 0


@pytest.mark.parametrize(("silence_us", "between_us", "others"), [
    (20_000, 10_000, True),  # each of two competitors has the processor for 10 ms
    (20_000, 20_000, False),  # half of the time is not more than half
    (50_000, 950_000, False),  # a host is not scheduled once in a second
    (10_000, 8_000, True),
    (10_000, 7_999, False),  # clumps of ACKs
    (4_000_000, 8_000, True),
    (4_000_000, 999_999, True),
    (4_000_000, 1_000_000, False),  # they are too far apart to be one cause's
])  # fmt: skip
def test_a_path_that_stands_still_for_more_than_half_of_the_time_is_others(
    pure: Any, silence_us: int, between_us: int, others: bool
) -> None:
    assert bool(others_have_it(pure, silence_us, between_us)) is others


def test_of_two_stalls_without_an_rtt_between_them_the_second_may_be_a_queue(pure: Any) -> None:
    stall, now_us, late_us = pure.new("stall", seen=1), 10**6, BASE_US + SILENCE_US
    assert stood(pure, stall, SILENCE_US, now_us)(late_us)
    assert not stood(pure, stall, SILENCE_US, now_us + 100 * BASE_US)(late_us)


def test_two_long_stalls_are_not_others_yet(pure: Any) -> None:
    assert others_have_it(pure, 4_000_000, 8_000) > 6
    assert others_have_it(pure, 20_000, 10_000) > 8


def test_four_rtts_as_before_end_the_round_that_judges_the_room(pure: Any) -> None:
    regime, _ = surged(pure)
    rtt_us = BASE_US + 20_000
    told = [
        bool(pure.room_sample(regime, us, 2, rtt_us, BASE_US, 20))
        for us in (rtt_us, rtt_us, rtt_us, rtt_us - 1, *[rtt_us] * 4)
    ]
    assert told == [False] * 7 + [True]
    assert regime.room.sampled_us == rtt_us
    assert rounds(pure, regime, [20_000]) == [pure.VERDICT_YIELD]


def test_a_short_queue_of_a_long_path_is_no_reason_to_make_room(pure: Any) -> None:
    """It would not be looked at again."""
    base_us, rtt_us = 600_000, 630_000
    regime = pure.new("regime", slow_start__rounds_since=STEADY)
    assert pure.room_urgent(regime, rtt_us, base_us, base_us)
    assert pure.room_cut(regime, 1000, rtt_us, base_us, 7) == 1000 * base_us // rtt_us - 1
    assert regime.room.restore_cwnd == 0


def test_the_next_cut_makes_no_room_again(pure: Any) -> None:
    regime, _ = surged(pure)
    assert rounds(pure, regime, [0]) == [pure.VERDICT_ROOM_FREE]
    rtt_us = BASE_US + 5_000
    assert not pure.room_urgent(regime, rtt_us, rtt_us, BASE_US)
    assert pure.room_cut(regime, 100, rtt_us, BASE_US, 7) == 100 * BASE_US // rtt_us - 1
    assert regime.room.restore_cwnd == 0


@pytest.mark.parametrize("base_us", [1_000, BASE_US, 400_000])
@pytest.mark.parametrize(("cwnd", "packets", "samples"), [
    (10, 2, 4), (71, 2, 4), (72, 2, 5), (1600, 2, 100), (1600, 100, 4), (1600, U32_MAX, 4),
])  # fmt: skip
def test_four_rtts_or_an_eighth_of_the_window_in_a_row_tell_of_a_surge(
    pure: Any, base_us: int, cwnd: int, packets: int, samples: int
) -> None:
    surge_us = min(max(base_us // 4, 8_000), 25_000)
    before_us = base_us + 1_000

    def tells(regime: Any, rtt_us: int, before_us: int = before_us, cwnd: int = cwnd) -> bool:
        return bool(pure.room_sample(regime, rtt_us, packets, before_us, base_us, cwnd))

    high_us = before_us + surge_us
    regime = pure.new("regime")
    assert not any(tells(regime, high_us + 7 + n % 2) for n in range(samples - 1))
    assert tells(regime, high_us + 8)
    assert regime.room.sampled_us == high_us + 7
    assert not tells(regime, high_us - 1)
    assert not any(tells(regime, high_us) for _ in range(samples - 1))
    pure.room_begin_round(regime)
    assert not any(tells(regime, high_us) for _ in range(samples - 1))
    for fields in (
        {"state": pure.REGIME_YIELDING},
        {"state": pure.REGIME_CONTENDED},
        {"cut__before_us": high_us},  # the round is to judge a cut
    ):
        regime = pure.new("regime", **fields)
        assert not any(tells(regime, high_us) for _ in range(2 * samples))
    regime = pure.new("regime")
    assert not any(tells(regime, high_us, cwnd=9) for _ in range(2 * samples))
    assert not any(tells(regime, high_us, before_us=0) for _ in range(2 * samples))


# Our part of the link


LINK_PPS = 800


def loses_part(pure: Any, regime: Any, packets: int, rtt_us: int) -> bool:
    """Hand in a round of one RTT in which so many packets were delivered."""
    pure.evidence_measure_part(regime, packets, rtt_us, rtt_us, BASE_US)
    return bool(regime.part.lost_surge_us)


def busy_round(
    pure: Any, regime: Any, part: float, queue_us: int = QUEUE_US, surge_us: int = QUEUE_US
) -> bool:
    """End a round in which this part of the link's packets were ours; whether one was lost."""
    rtt_us = BASE_US + queue_us
    packets = round(part * LINK_PPS * rtt_us / 1e6)
    regime.part.last_rtt_us = rtt_us - surge_us
    return loses_part(pure, regime, packets, rtt_us)


def with_the_link_to_itself(pure: Any, part: float = 1) -> Any:
    """A flow that knows its part of the link."""
    regime = pure.new("regime", times__since_us=-OFTEN_US % 2**64)
    assert not any(busy_round(pure, regime, part, KIN_US) for _ in range(50))
    assert regime.part.ours_pps_q16 / Q16 == pytest.approx(part * LINK_PPS, rel=0.1)
    return regime


@pytest.mark.parametrize(("left", "newcomer"), [(1.5, False), (0.9, False), (0.8, False),
                                                (0.7, True), (0.1, True), (0, True)])  # fmt: skip
def test_a_quarter_of_our_part_gone_in_a_surge_is_a_newcomers(
    pure: Any, left: float, newcomer: bool
) -> None:
    for part in (1, 0.5):  # what others had before, they may keep
        regime = with_the_link_to_itself(pure, part)
        assert busy_round(pure, regime, part * left) is newcomer
        assert (regime.state, regime.yields) == (pure.REGIME_ALONE, 0)  # the next round tells


def test_a_part_lost_since_before_a_cut_gets_room(pure: Any) -> None:
    """Of the round in which a cut is made nothing is judged: the queue has surged by then."""
    regime = with_the_link_to_itself(pure)
    regime.slow_start.rounds_since = STEADY
    rtt_us = BASE_US + QUEUE_US
    assert busy_round(pure, regime, 0.5, surge_us=SURGE_US)
    assert pure.room_urgent(regime, rtt_us, rtt_us - SURGE_US // 4, BASE_US)
    without_room = 100 * BASE_US // rtt_us - 1
    assert pure.room_cut(regime, 100, rtt_us, BASE_US, 7) < without_room
    assert regime.room.provisional
    assert not busy_round(pure, regime, 1)  # the next round lost nothing
    assert pure.room_urgent(regime, rtt_us, rtt_us, BASE_US)
    assert pure.room_cut(regime, 100, rtt_us, BASE_US, 7) == without_room


def test_an_idle_link_and_flows_like_us_are_no_newcomer(pure: Any) -> None:
    for queue_us, lossy, newcomer in (
        (SHORT_US - 1, True, False),
        (KIN_US, False, False),
        (KIN_US, True, True),
        (KIN_US + 1, False, True),
    ):
        regime = with_the_link_to_itself(pure)
        if lossy:
            pure.evidence_loss(regime)
        assert not busy_round(pure, regime, 0, queue_us, surge_us=SURGE_US - 1)
        regime = with_the_link_to_itself(pure)
        if lossy:
            pure.evidence_loss(regime)
        assert busy_round(pure, regime, 0, queue_us) is newcomer


def test_a_round_that_says_nothing_is_none_to_compare_with(pure: Any) -> None:
    regime = with_the_link_to_itself(pure)
    regime.part.last_rtt_us = 0
    rtt_us = BASE_US + QUEUE_US
    assert not loses_part(pure, regime, 0, rtt_us)
    assert regime.part.last_rtt_us == rtt_us


def test_few_packets_less_are_noise(pure: Any) -> None:
    """However much of a small window they are."""
    for packets, newcomer in ((2, False), (3, True)):
        part_q16 = packets * 10 * Q16  # so many in 100 ms
        regime = pure.new("regime", part__ours_pps_q16=part_q16, part__last_rtt_us=BASE_US)
        assert loses_part(pure, regime, 0, 100_000) is newcomer


def test_a_part_that_shrinks_slowly_is_followed(pure: Any) -> None:
    regime = with_the_link_to_itself(pure)
    parts = [0.98**n for n in range(200)]
    assert not any(busy_round(pure, regime, part) for part in parts)
    assert regime.part.ours_pps_q16 / Q16 < 0.2 * LINK_PPS


def test_a_part_is_forgotten_with_the_regime_and_where_there_was_nothing_to_send(pure: Any) -> None:
    regime = with_the_link_to_itself(pure)
    pure.evidence_forget(regime)
    assert (regime.part.ours_pps_q16, regime.part.last_rtt_us) == (0, 0)
    assert not busy_round(pure, regime, 0)
    regime = with_the_link_to_itself(pure)
    assert busy_round(pure, regime, 0)
    regime.cut.before_us, regime.room.provisional = BASE_US + SURGE_US, True
    regime.slow_start.rounds_since = STEADY
    assert rounds(pure, regime, [QUEUE_US]) == [pure.VERDICT_YIELD]
    clock_us = int(pure.regime_look_us(BASE_US))
    verdicts = rounds(pure, regime, [0], 0)
    for look in range(1, 9):
        verdicts += rounds(pure, regime, [0], look * clock_us)
    assert pure.VERDICT_TAKE in verdicts
    assert (regime.part.ours_pps_q16, regime.part.last_rtt_us) == (0, 0)


def test_a_surge_is_seen_across_a_cut(pure: Any) -> None:
    """Rounds are handed in also where CDG, after its backoff, has none to compare with."""
    regime = with_the_link_to_itself(pure)
    for queue_us, packets, tells in ((KIN_US, 50, False), (KIN_US + SURGE_US, 30, True)):
        rtt_us = BASE_US + queue_us
        assert loses_part(pure, regime, packets, rtt_us) is tells


# Whose queue is it, asked while contended


ASK_US, ASK_MAX_US = max(2_000_000, 32 * BASE_US), 16_000_000


def asked(pure: Any, queue_us: int = QUEUE_US) -> Any:
    """A flow that holds its window to what fits the path."""
    regime = contended(pure)
    pure.regime_probe_if_due(regime, 100, BASE_US + queue_us, BASE_US, ASK_US)
    return regime


@pytest.mark.parametrize("queue_us", [4 * SHORT_US, QUEUE_US])
def test_a_window_that_fits_the_path_shows_whose_queue_it_was(pure: Any, queue_us: int) -> None:
    """By three quarters of it. The first round's packets are from before."""
    for left_us, verdict in (
        (queue_us // 4, pure.VERDICT_TAKE),
        (queue_us // 4 + 1, pure.VERDICT_NONE),
    ):
        regime = asked(pure, queue_us)
        assert (regime.probe.rounds, regime.probe.cwnd) == (
            2,
            fit(100, BASE_US, BASE_US + queue_us),
        )
        regime.looks.last_look_us = ASK_US  # no look at it as well
        assert rounds(pure, regime, [queue_us, left_us], ASK_US) == [pure.VERDICT_NONE, verdict]
        assert regime.probe.rounds == 0
        alone = verdict == pure.VERDICT_TAKE
        assert (regime.state == pure.REGIME_ALONE) is alone
        assert regime.probe.alone is alone


def test_what_is_gone_before_it_can_have_gone_with_us_is_no_answer(pure: Any) -> None:
    """Others had a loss: so there are others."""
    regime = asked(pure)
    regime.looks.last_look_us = ASK_US
    left_us = BASE_US + QUEUE_US // 4
    for rtt_us, asking in ((left_us + 1, 2), (left_us, 0)):
        pure.probe_reject_early(regime, rtt_us, BASE_US)
        assert regime.probe.rounds == asking
    assert rounds(pure, regime, [QUEUE_US // 4, 0], ASK_US) == [pure.VERDICT_NONE] * 2
    assert regime.state == pure.REGIME_CONTENDED
    for pause_us, asking in ((ASK_US, 0), (4_000_000, 2)):
        pure.regime_probe_if_due(regime, 100, BASE_US + QUEUE_US, BASE_US, ASK_US + pause_us)
        assert regime.probe.rounds == asking


def test_in_the_second_round_what_is_gone_is_the_answer(pure: Any) -> None:
    regime = asked(pure)
    regime.looks.last_look_us = ASK_US
    assert rounds(pure, regime, [0], ASK_US) == [pure.VERDICT_NONE]  # by its last RTT
    pure.probe_reject_early(regime, BASE_US, BASE_US)
    assert rounds(pure, regime, [0], ASK_US) == [pure.VERDICT_TAKE]


def test_an_answer_that_was_wrong_is_none_any_more(pure: Any) -> None:
    """A competitor that comes soon after it may have been there all the time."""
    regime = asked(pure)
    regime.looks.last_look_us = ASK_US
    assert rounds(pure, regime, [QUEUE_US, 0], ASK_US)[-1] == pure.VERDICT_TAKE
    regime.urgency_q16 = Q16
    assert regime.probe.alone
    for after_us, in_doubt in ((DOUBT_US - 1, True), (DOUBT_US, False)):
        assert bool(pure.regime_in_doubt(regime, ASK_US + after_us)) is in_doubt
    yields_at(pure, regime, ASK_US + 1)
    assert pure.regime_in_doubt(regime, ASK_US + 1)
    assert regime.probe.alone  # what it held meanwhile was not its own, perhaps
    assert rounds(pure, regime, [QUEUE_US, 0], ASK_US + 2)[-1] == pure.VERDICT_RESUME
    assert not regime.probe.alone


def test_who_has_asked_in_vain_asks_ever_more_rarely(pure: Any) -> None:
    regime, clock_us = contended(pure), 0
    for pause_us in (ASK_US, max(ASK_US, 4_000_000), 8_000_000, ASK_MAX_US, ASK_MAX_US):
        pure.regime_probe_if_due(regime, 100, BASE_US + QUEUE_US, BASE_US, clock_us + pause_us - 1)
        assert regime.probe.rounds == 0
        clock_us += pause_us
        pure.regime_probe_if_due(regime, 100, BASE_US + QUEUE_US, BASE_US, clock_us)
        assert regime.probe.rounds == 2
        assert pure.VERDICT_TAKE not in rounds(pure, regime, [QUEUE_US] * 2, clock_us)


@pytest.mark.parametrize(("alone_us", "lossy", "pause_us"), [
    (OFTEN_US - 1, 2, 16_000_000),  # it had been somebody's, in a short buffer
    (OFTEN_US - 1, 0, 2_000_000),
    (OFTEN_US, 2, 2_000_000),
])  # fmt: skip
def test_who_was_wrong_asks_more_rarely_too(
    pure: Any, alone_us: int, lossy: int, pause_us: int
) -> None:
    taken = {"room__provisional": True, "room__packet_lost": True, "cut__before_us": BASE_US}
    regime = pure.new("regime", lossy_rounds=lossy, probe__pause_us=8_000_000, **taken)
    assert rounds(pure, regime, [0], alone_us) == [pure.VERDICT_YIELD]
    assert regime.probe.pause_us == pause_us


@pytest.mark.parametrize(("cwnd", "queue_us", "base_us", "link_pps"), [
    (100, 4 * SHORT_US - 1, BASE_US, 0),  # what is left of it is short in any case
    (19, BASE_US, BASE_US, 0),  # ours is the smaller part of it, whatever it is
    (100, BASE_US, BASE_US, 110 * 1e6 / BASE_US),  # or by what is known of the link
    (100, QUEUE_US, 0, 0),
])  # fmt: skip
def test_what_a_cut_would_not_show_is_not_asked(
    pure: Any, cwnd: int, queue_us: int, base_us: int, link_pps: float
) -> None:
    regime = contended(pure)
    regime.part.link_pps_q16 = round(link_pps) * Q16
    pure.regime_probe_if_due(regime, cwnd, BASE_US + queue_us, base_us, ASK_US)
    assert regime.probe.rounds == 0


def test_the_patient_do_not_ask_before_their_time(pure: Any) -> None:
    regime = contended(pure, OFTEN_US - 1)
    assert regime.short_flows_come
    for clock_us, asking in ((PATIENCE_US - 1, 0), (PATIENCE_US, 2)):
        now_us = regime.times.came_us + clock_us
        pure.regime_probe_if_due(regime, 100, BASE_US + QUEUE_US, BASE_US, now_us)
        assert regime.probe.rounds == asking


def test_alone_and_standing_back_nobody_asks(pure: Any) -> None:
    for state in (pure.REGIME_ALONE, pure.REGIME_YIELDING):
        regime = pure.new("regime", state=state)
        pure.regime_probe_if_due(regime, 100, BASE_US + QUEUE_US, BASE_US, ASK_US)
        assert regime.probe.rounds == 0


@pytest.mark.parametrize("event", ["loss", "forget"])
def test_a_loss_and_a_pause_leave_it_open(pure: Any, event: str) -> None:
    regime = asked(pure)
    getattr(pure, f"evidence_{event}")(regime)
    regime.looks.last_look_us = ASK_US
    assert rounds(pure, regime, [0, 0], ASK_US) == [pure.VERDICT_NONE] * 2


def test_patience_is_over_when_nobody_has_come_for_long(pure: Any) -> None:
    for alone_us, patient in ((OFTEN_US + STAYED_US - 1, True), (OFTEN_US + STAYED_US, False)):
        regime = pure.new("regime", short_flows_come=True)
        rounds(pure, regime, [0], alone_us)
        assert regime.short_flows_come is patient


# Taking the link: how far slow start goes


def test_slow_start_goes_to_where_the_link_was_full(pure: Any) -> None:
    regime = with_the_link_to_itself(pure)
    full_us = BASE_US + 2 * SHORT_US
    limit = pure.evidence_slow_start_limit(regime, BASE_US)
    assert limit == pytest.approx(LINK_PPS * full_us / 1e6, abs=1)
    assert regime.slow_start.may_grow_on


@pytest.mark.parametrize(("link_pps", "base_us"), [(0, BASE_US), (LINK_PPS, 0)])
def test_of_a_link_that_is_not_known_slow_start_finds_the_end(
    pure: Any, link_pps: int, base_us: int
) -> None:
    regime = pure.new("regime", part__link_pps_q16=link_pps * Q16, slow_start__may_grow_on=True)
    assert pure.evidence_slow_start_limit(regime, base_us) == U32_MAX
    assert regime.slow_start.may_grow_on


@pytest.mark.parametrize(("steady", "queue_us", "more"), [
    (STEADY, SHORT_US - 1, True),
    (STEADY, SHORT_US, False),  # full
    (STEADY - 1, 0, False),  # too early to tell
])  # fmt: skip
def test_where_no_queue_shows_after_slow_start_the_link_carries_more(
    pure: Any, steady: int, queue_us: int, more: bool
) -> None:
    regime = pure.new(
        "regime", slow_start__rounds_since=steady, slow_start__may_grow_on=True,
        part__last_rtt_us=BASE_US,
    )  # fmt: skip
    assert rounds(pure, regime, [queue_us]) == [pure.VERDICT_GROW_ON if more else pure.VERDICT_NONE]
    assert regime.slow_start.may_grow_on is (more or steady < STEADY)
    if more:  # not again before the next slow start has shown
        assert rounds(pure, regime, [queue_us]) == [pure.VERDICT_NONE]


@pytest.mark.parametrize("event", ["loss", "forget", "skip_round"])
def test_after_a_loss_or_a_pause_no_queue_says_nothing_of_the_link(pure: Any, event: str) -> None:
    regime = pure.new(
        "regime", slow_start__rounds_since=STEADY, slow_start__may_grow_on=True,
        part__last_rtt_us=BASE_US,
    )  # fmt: skip
    getattr(pure, f"evidence_{event}")(regime)
    assert rounds(pure, regime, [0]) == [pure.VERDICT_NONE]


def test_the_first_slow_start_may_have_ended_too_early(pure: Any) -> None:
    """A stall or a clump of ACKs looks like a full link: after the cut there is no queue."""
    regime = pure.new("regime")
    pure.regime_start(regime, 0)
    rtt_us = BASE_US + 20_000
    assert pure.room_urgent(regime, rtt_us, BASE_US, BASE_US)
    pure.room_cut(regime, 20, rtt_us, BASE_US, 14)
    for steady in range(1, STEADY + 1):
        regime.slow_start.rounds_since, regime.part.last_rtt_us = steady, BASE_US
        more = pure.VERDICT_GROW_ON if steady == STEADY else pure.VERDICT_NONE
        assert rounds(pure, regime, [0]) == [more]


def test_the_link_is_the_most_that_was_ours_lately(pure: Any) -> None:
    """A sample that is too small halves it at worst, and one link follows another."""
    regime = with_the_link_to_itself(pure)
    link_pps_q16 = regime.part.link_pps_q16
    assert link_pps_q16 / Q16 == pytest.approx(LINK_PPS, rel=0.01)
    busy_round(pure, regime, 0.9)
    assert regime.part.link_pps_q16 == link_pps_q16
    pure.evidence_forget(regime)
    assert regime.part.link_pps_q16 == link_pps_q16
    busy_round(pure, regime, 0.1)
    assert regime.part.link_pps_q16 == link_pps_q16 // 2
    pure.evidence_forget(regime)
    busy_round(pure, regime, 3.0)
    assert regime.part.link_pps_q16 / Q16 == pytest.approx(3 * LINK_PPS, rel=0.01)


@given(u32, u64, u32, u32, u64)
def test_any_round_is_survived(
    pure: Any, packets: int, elapsed_us: int, rtt_us: int, base_us: int, clock_us: int
) -> None:
    regime = pure.new("regime")
    for sent in (packets, 0, U32_MAX, packets):
        pure.evidence_measure_part(regime, sent, elapsed_us, rtt_us, base_us)
        assert regime.part.ours_pps_q16 < 1 << 63
        assert regime.state == pure.REGIME_ALONE


# The depth of a cut


@given(windows, magnitudes(1, U32_MAX // 2), magnitudes(1, U32_MAX // 4), u32)
def test_a_cut_keeps_half_to_all_but_one_of_the_window(
    pure: Any, cwnd: int, base_us: int, above_us: int, more_us: int
) -> None:
    """And the longer the queue, the less."""
    low_us = min(above_us, U32_MAX // 4)
    high_us = min(low_us + more_us, U32_MAX - base_us)
    less, more = (
        pure.room_cut(pure.new("regime"), cwnd, base_us + q, base_us, U32_MAX)
        for q in (low_us, high_us)
    )
    assert max(2, cwnd // 2) <= more <= less <= max(2, cwnd - 1)
    kept = fit(cwnd, base_us, base_us + low_us)
    assert less == max(min(kept, cwnd - 1), cwnd // 2, 2)


@pytest.mark.parametrize(("cwnd", "rtt_us", "left"), [
    (6, 66_000, 5),  # 4.55 fit
    (6, 67_000, 4),  # 4.48
    (9, 62_000, 7),  # 7.26
    (10, 62_000, 8),  # 8.06
    (23, 62_000, 18),  # 18.5: rounded no more
    (24, 62_000, 18),  # 19.4, and one less to see the base RTT
])  # fmt: skip
def test_a_cut_of_a_small_window_leaves_the_link_busy(
    pure: Any, cwnd: int, rtt_us: int, left: int
) -> None:
    assert pure.room_cut(pure.new("regime"), cwnd, rtt_us, BASE_US, 7) == left


@pytest.mark.parametrize(("fields", "rtt_us", "base_us"), [
    ({"cut__decides": True}, BASE_US + QUEUE_US, BASE_US),
    ({"state": 1}, BASE_US + QUEUE_US, BASE_US),
    ({"state": 2}, BASE_US + QUEUE_US, BASE_US),
    ({"lossy_rounds": 1}, BASE_US + SHORT_US - 1, BASE_US),
    ({"lossy_rounds": 1}, 0, BASE_US),
    ({}, BASE_US, 0),
])  # fmt: skip
@pytest.mark.parametrize("cwnd", [0, 1, 2, 100, U32_MAX])
def test_a_cut_is_cdgs_where_the_queue_is_not_known_to_be_ours(
    pure: Any, fields: dict[str, Any], rtt_us: int, base_us: int, cwnd: int
) -> None:
    regime = pure.new("regime", **fields)
    for ssthresh in (2, 70, U32_MAX):
        assert pure.room_cut(regime, cwnd, rtt_us, base_us, ssthresh) == ssthresh


@pytest.mark.parametrize("cwnd", [0, 1, 2, 3])
def test_a_cut_leaves_two_packets(pure: Any, cwnd: int) -> None:
    assert pure.room_cut(pure.new("regime"), cwnd, U32_MAX, 1, 7) == 2


# YIELDING


@pytest.mark.parametrize("at", [1, 2, 3])
def test_it_resumes_where_the_queue_goes_with_us(pure: Any, at: int) -> None:
    """In any of three rounds after the first, whose packets were under way before."""
    regime = yielding(pure)
    queues_us = [QUEUE_US] * at + [QUEUE_US // 8]
    assert rounds(pure, regime, queues_us) == [pure.VERDICT_NONE] * at + [pure.VERDICT_RESUME]
    assert (regime.state, regime.yields, regime.resumes) == (pure.REGIME_ALONE, 1, 1)
    assert rounds(pure, regime, [QUEUE_US] * 9) == [pure.VERDICT_NONE] * 9  # no test is left over


def test_the_first_round_of_yielding_says_nothing(pure: Any) -> None:
    regime = yielding(pure)
    assert rounds(pure, regime, [0, QUEUE_US, QUEUE_US, QUEUE_US]) == [pure.VERDICT_NONE] * 4
    assert regime.state == pure.REGIME_CONTENDED


@pytest.mark.parametrize(("peak_us", "gone_us"), [
    (QUEUE_US, QUEUE_US // 8),
    (QUEUE_US // 8, SHORT_US),  # too short to be anybody's
])  # fmt: skip
def test_a_queue_has_gone_at_an_eighth_of_its_peak_or_where_it_is_short(
    pure: Any, peak_us: int, gone_us: int
) -> None:
    for queue_us, verdict in (
        (gone_us, pure.VERDICT_RESUME),
        (gone_us + 1, pure.VERDICT_NONE),
    ):
        regime = yielding(pure)
        assert rounds(pure, regime, [peak_us, queue_us])[-1] == verdict


# CONTENDED


def test_it_takes_the_link_after_three_looks_of_six_at_no_queue(pure: Any) -> None:
    for gone in range(64):
        regime, verdicts, seen = contended(pure), [], 0
        for look in range(6):
            queue_us = 0 if gone >> look & 1 else QUEUE_US
            verdicts += rounds(pure, regime, [queue_us], now_us(pure, look + 1))
            seen += not queue_us
            if seen == 3:
                assert verdicts == [pure.VERDICT_NONE] * look + [pure.VERDICT_TAKE]
                assert regime.state == pure.REGIME_ALONE
                break
        else:
            assert verdicts == [pure.VERDICT_NONE] * 6
            assert regime.state == pure.REGIME_CONTENDED


def test_of_older_looks_nothing_is_known(pure: Any) -> None:
    """Two of any six in a row, for ever."""
    regime = contended(pure)
    for look in range(600):
        queue_us = 0 if look % 6 < 2 else QUEUE_US
        assert rounds(pure, regime, [queue_us], now_us(pure, look + 1)) == [pure.VERDICT_NONE]


def test_rounds_between_two_looks_show_nothing(pure: Any) -> None:
    regime = contended(pure)
    clock_us = now_us(pure, 1)
    assert rounds(pure, regime, [0] * 100, clock_us - 1) == [pure.VERDICT_NONE] * 100
    assert rounds(pure, regime, [0] * 100, clock_us) == [pure.VERDICT_NONE] * 100
    assert regime.looks.gone == 1


def taken_after_us(pure: Any, regime: Any, busy_us: int) -> int:
    """How long after a queue that is there until busy_us the link is taken."""
    look_us = int(pure.regime_look_us(BASE_US))
    clock_us = look_us
    while clock_us <= busy_us:
        queue_us = QUEUE_US + clock_us // 1000  # one that moves: else it would be a path
        assert rounds(pure, regime, [queue_us], clock_us) == [pure.VERDICT_NONE]
        clock_us += look_us
    last_us = clock_us - look_us
    while rounds(pure, regime, [0], clock_us) == [pure.VERDICT_NONE]:
        clock_us += look_us
    return clock_us - last_us


@pytest.mark.parametrize(("alone_us", "busy_us", "urgency", "wait_us"), [
    (OFTEN_US, 0, 0, 0),  # the first newcomer in a while
    (OFTEN_US - 1, 0, 0, PATIENCE_US),  # they keep coming
    (0, STAYED_US - 500_000, 0, PATIENCE_US),
    (0, STAYED_US + 500_000, 0, 0),  # no short flow
    (0, 0, Q16 // 2, PATIENCE_US // 2),
    (0, 0, Q16, 0),  # no time to lose
    (0, 0, U32_MAX, 0),
])  # fmt: skip
def test_where_newcomers_keep_coming_the_link_is_left_alone_for_longer(
    pure: Any, alone_us: int, busy_us: int, urgency: int, wait_us: int
) -> None:
    regime = contended(pure, alone_us)
    regime.urgency_q16 = urgency
    look_us = int(pure.regime_look_us(BASE_US))
    least_us = max(wait_us, 3 * look_us)
    assert least_us <= taken_after_us(pure, regime, busy_us) < least_us + look_us


def yields_at(pure: Any, regime: Any, clock_us: int) -> None:
    """Two cuts without an effect, at this clock."""
    for verdict in (pure.VERDICT_CUT_DEEPER, pure.VERDICT_YIELD):
        regime.looks.mean_us = QUEUE_US
        pure.evidence_test_cut(regime, 100, 70, BASE_US + QUEUE_US, BASE_US)
        assert rounds(pure, regime, [QUEUE_US], clock_us) == [verdict]


@pytest.mark.parametrize("urgency", [0, Q16 // 4, Q16, 2 * Q16])
@pytest.mark.parametrize("resumed", [False, True])
def test_a_link_that_is_lost_soon_was_taken_by_mistake(
    pure: Any, urgency: int, resumed: bool
) -> None:
    """And for the urgent soon is later; to stand back for a moment changes nothing."""
    soon_us = DOUBT_US * min(urgency, Q16) // Q16
    for after_us in (soon_us // 2, soon_us - 1, soon_us, 2 * DOUBT_US):
        regime = contended(pure)
        regime.urgency_q16 = urgency
        taken_us = taken_after_us(pure, regime, 0)
        assert (regime.state, regime.times.taken_us) == (pure.REGIME_ALONE, taken_us)
        if resumed:
            yields_at(pure, regime, taken_us)
            assert rounds(pure, regime, [QUEUE_US, 0], taken_us)[-1] == pure.VERDICT_RESUME
        yields_at(pure, regime, taken_us + max(after_us, 0))
        mistaken = pure.regime_in_doubt(regime, taken_us + max(after_us, 0))
        assert mistaken is (0 <= after_us < soon_us)


@pytest.mark.parametrize("back", ["RESUME", "TRY"])
def test_our_own_doubts_are_no_newcomers(pure: Any, back: str) -> None:
    """One flow that comes and stays, and is tried meanwhile, came once."""
    regime = contended(pure)
    if back == "TRY":
        clock_us, verdicts = 0, {0}
        while verdicts == {pure.VERDICT_NONE}:
            clock_us += int(pure.regime_look_us(BASE_US))
            verdicts = set(rounds(pure, regime, [KIN_US // 2], clock_us))
        assert verdicts == {pure.VERDICT_TRY}
    else:
        regime = yielding(pure)
        assert rounds(pure, regime, [QUEUE_US, 0]) == [pure.VERDICT_NONE, pure.VERDICT_RESUME]
    came_us = regime.times.came_us
    assert cut(pure, regime, 0) == pure.VERDICT_CUT_DEEPER
    assert cut(pure, regime, 0) == pure.VERDICT_YIELD
    assert (regime.short_flows_come, regime.times.came_us) == (False, came_us)


def test_a_link_without_a_queue_is_taken_not_tried(pure: Any) -> None:
    """However long it takes: from two packets it would be found by the next newcomer."""
    regime = contended(pure, 0)
    clocks_us = range(0, PATIENCE_US, int(pure.regime_look_us(BASE_US)))
    verdicts = {verdict for t_us in clocks_us for verdict in rounds(pure, regime, [0], t_us)}
    assert verdicts <= {pure.VERDICT_NONE, pure.VERDICT_TAKE}


def test_a_look_is_two_rtts_and_three_tenths_of_a_second_later(pure: Any) -> None:
    assert [pure.regime_look_us(x) for x in (0, 1, BASE_US)] == [300_000, 300_002, 400_000]
    assert pure.regime_look_us(U32_MAX) == 2 * U32_MAX + 300_000


def test_a_peak_seen_later_counts(pure: Any) -> None:
    """Also one between two looks."""
    regime = contended(pure)
    rounds(pure, regime, [10 * QUEUE_US])
    rounds(pure, regime, [QUEUE_US], now_us(pure, 1))
    assert regime.looks.gone == 1


# Longer paths

STILL_S = 4  # periods of which the lowest RTTs are compared


def longer_after_s(
    pure: Any, queue_us: Callable[[float], int], most_s: float, lost_s: float = 0
) -> float | None:
    """When a contended flow takes a queue that changes so over time for a part of the path.

    lost_s: up to when packets are lost.
    """
    regime = contended(pure)
    for n in range(1, round(most_s * 10) + 1):
        if n / 10 <= lost_s:
            pure.evidence_loss(regime)
        rtt_us = BASE_US + queue_us(n / 10)
        verdict = pure.regime_round(regime, rtt_us, BASE_US, n * 100_000)
        if verdict == pure.VERDICT_PATH_LONGER:
            assert regime.state == pure.REGIME_ALONE
            assert regime.plateau.rtt_us <= rtt_us
            return n / 10
    return None


def test_a_queue_that_does_not_move_is_none(pure: Any) -> None:
    """Unless it loses packets; the first period's lowest RTT is what the others are like."""
    for queue_us in (QUEUE_US, 10 * QUEUE_US):
        for lost_s in (0, 10, 20):
            after_s = longer_after_s(pure, lambda _s: queue_us, 60, lost_s)  # noqa: B023
            periods = 8 + (lost_s + STILL_S - 1) // STILL_S
            assert after_s == pytest.approx(periods * STILL_S, abs=STILL_S)


def test_packets_in_front_of_ours_do_not_hide_it(pure: Any) -> None:
    """As long as some round in each period sees none."""
    rng = random.Random(1)
    seen = longer_after_s(pure, lambda _s: QUEUE_US + rng.choice([0, 0, 1200, 9000]), 60)
    assert seen == pytest.approx(8 * STILL_S, abs=0.2)


@pytest.mark.parametrize(("of", "none"), [(3, True), (4, True), (5, False)])
def test_one_that_is_as_low_now_and_then_is_one(pure: Any, of: int, none: bool) -> None:
    """Of CUBIC flows that lose packets together, again and again at the same length."""
    seen = longer_after_s(pure, lambda s: QUEUE_US + 9000 * (round(s * 10) % of > 0), 60)
    assert (seen is not None) is none


def test_very_many_rounds_as_low_are_as_good_as_many(pure: Any) -> None:
    """Of a short path: sixteen bits count no more than 10,923."""
    regime = contended(pure)
    for n in range(1, 9 * 12_000):
        at_us = n * STILL_S * 10**6 // 12_000
        verdict = pure.regime_round(regime, BASE_US + QUEUE_US, BASE_US, at_us)
        if verdict == pure.VERDICT_PATH_LONGER:
            break
    assert 8 * 12_000 <= n + 12_000 <= 9 * 12_000 + 1


@pytest.mark.parametrize("step_us", [QUEUE_US // 32, -QUEUE_US // 32])
def test_one_that_moves_now_and_then_is_one(pure: Any, step_us: int) -> None:
    assert longer_after_s(pure, lambda s: QUEUE_US + step_us * (s // 20 % 2 > 0), 300) is None


@pytest.mark.parametrize("buffer_bdp", [0.5, 1, 4])
@pytest.mark.parametrize("packets", [40, 400, 4000, 40_000])
def test_cubic_s_queue_moves_on_its_plateau_too(pure: Any, packets: int, buffer_bdp: float) -> None:
    """From 10 Mbit/s to 10 Gbit/s at 50 ms; RFC 9438: 0.4 (t - K)^3, and a cut by 0.3."""
    top = packets * (1 + buffer_bdp)
    epoch_s = (top * 0.3 / 0.4) ** (1 / 3)

    def queue_us(s: float) -> int:
        window = top + 0.4 * (s % epoch_s - epoch_s) ** 3
        return round(max(0, window / packets - 1) * BASE_US)

    assert longer_after_s(pure, queue_us, 300) is None


# Any state, any input

states = st.fixed_dictionaries(
    {
        "state": st.integers(0, 2),
        "looks__rounds": st.integers(0, 255),
        "looks__gone": st.integers(0, 63),
        "cut__decides": st.booleans(),
        "cut__before_us": u32,
        "cut__expected_us": u32,
        "cut__drained_q16": st.integers(0, Q16),
        "looks__peak_us": u32,
        "looks__last_look_us": u64,
        "looks__mean_us": u32,
        "times__since_us": u64,
        "looks__try_us": u32,
        "times__busy_us": u64,
        "times__came_us": u64,
        "alone_by_guess": st.booleans(),
        "times__taken_us": u64,
        "short_flows_come": st.booleans(),
        "urgency_q16": u32,
        "part__last_rtt_us": u32,
        "part__ours_pps_q16": st.integers(0, 2**63 - 1),
        "part__link_pps_q16": st.integers(0, 2**63 - 1),
        "slow_start__may_grow_on": st.booleans(),
        "probe__alone": st.booleans(),
        "probe__rounds": st.integers(0, 2),
        "probe__cwnd": u32,
        "probe__left_us": u32,
        "probe__pause_us": u32,
        "probe__since_us": u64,
        "lossy_rounds": st.integers(0, 255),
        "slow_start__rounds_since": st.integers(0, 255),
        "room__restored_rounds": st.integers(0, 255),
        "part__lost_surge_us": u32,
        "room__provisional": st.booleans(),
        "room__packet_lost": st.booleans(),
        "room__samples": st.integers(0, 255),
        "room__sampled_us": u32,
        "room__packets": u32,
        "room__surge_us": u32,
        "room__restored_us": u32,
        "room__restore_cwnd": st.one_of(st.just(0), u32),
        "plateau__periods": st.integers(0, 255),
        "plateau__rtt_us": u32,
        "plateau__least_us": u32,
        "plateau__since_us": u32,
        "plateau__near_score": st.integers(-(2**15), 2**15 - 1),
        "yields": u32,
        "resumes": u32,
    }
)
events = st.one_of(
    st.tuples(st.just("evidence_test_cut"), u32, u32, u32, u32),
    st.tuples(st.just("regime_round"), u32, u32, u64),
    st.tuples(st.just("room_cut"), u32, u32, u32, u32),
    st.tuples(st.just("room_urgent"), u32, u32, u32),
    st.tuples(st.just("room_sample"), u32, u32, u32, u32, u32),
    st.tuples(st.just("evidence_test_loss_cut"), u32, u32, u32, u32),
    st.tuples(st.just("evidence_loss")),
    st.tuples(st.just("evidence_forget")),
    st.tuples(st.just("evidence_slow_start_limit"), u32),
    st.tuples(st.just("regime_probe_if_due"), u32, u32, u32, u64),
    st.tuples(st.just("probe_reject_early"), u32, u32),
)


@given(states, st.lists(events, min_size=1, max_size=30))
def test_from_any_state_to_a_valid_one(
    pure: Any, state: dict[str, Any], todo: list[tuple[Any, ...]]
) -> None:
    """And by the arrows of the diagram."""
    regime = pure.new("regime", **state)
    alone, stand_back = pure.REGIME_ALONE, pure.REGIME_YIELDING
    for name, *args in todo:
        before = regime.state
        verdict = getattr(pure, name)(regime, *args)
        assert regime.state <= pure.REGIME_CONTENDED
        assert regime.looks.gone < 64
        assert regime.probe.rounds <= 2
        assert regime.cut.drained_q16 <= Q16
        arrow = (before, regime.state)
        if name != "regime_round":
            assert before == regime.state
            assert name != "evidence_test_cut" or not regime.cut.before_us or before == alone
        elif verdict == pure.VERDICT_NONE:
            assert before == regime.state or arrow == (stand_back, pure.REGIME_CONTENDED)
        elif verdict == pure.VERDICT_CUT_DEEPER:
            assert arrow == (alone, alone)
            assert regime.cut.decides
        elif verdict == pure.VERDICT_YIELD:
            taken = pure.REGIME_CONTENDED if regime.room.provisional else stand_back
            assert arrow == (alone, taken)
        elif verdict == pure.VERDICT_RESUME:
            assert arrow == (stand_back, alone)
        elif verdict == pure.VERDICT_ROOM_FREE:
            assert arrow == (alone, alone)
            assert not regime.cut.decides
        elif verdict == pure.VERDICT_GROW_ON:
            assert arrow == (alone, alone)
            assert regime.slow_start.may_grow_on
        else:
            assert verdict in (pure.VERDICT_TAKE, pure.VERDICT_TRY, pure.VERDICT_PATH_LONGER)
            assert arrow[1] == alone
            assert before != alone


@given(u32, u32)
def test_a_queue_is_what_exceeds_the_base_rtt(pure: Any, rtt_us: int, base_us: int) -> None:
    assert pure.pure_queue_above_us(rtt_us, base_us) == max(rtt_us - base_us, 0)
