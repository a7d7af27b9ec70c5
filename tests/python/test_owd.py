# SPDX-License-Identifier: GPL-2.0-only
"""owd.c: a queue of the ACKs is none of ours, whatever the clocks of the two ends."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inputs import U32_MAX, u32, u64

BASE_US = 50_000
TICK_US = 1000


class Path:
    """A flow of a packet every 10 ms, and the timestamps of its ACKs."""

    def __init__(self, pure: Any, *, hz: float = 1000, seed: int = 1) -> None:
        """hz: of the peer's clock."""
        self.pure, self.owd, self.hz = pure, pure.new("owd"), hz
        self.random = random.Random(seed)
        self.offset = self.random.getrandbits(32)
        self.now_us = self.random.getrandbits(40)

    def sample(self, there_us: int, back_us: int = 0) -> tuple[int, int]:
        """Return the RTT as it is, with these queues, and as it is told."""
        self.now_us += 10_000 + self.random.randrange(999)
        sent_us = self.now_us
        at_peer_us = sent_us + BASE_US // 2 + there_us
        rtt_us = BASE_US + there_us + back_us
        val = (int(at_peer_us * self.hz / 1e6) + self.offset) & U32_MAX
        told = self.pure.pure_owd_rtt_us(self.owd, val, sent_us + rtt_us, rtt_us, BASE_US)
        return rtt_us, int(told)

    def prove(self) -> None:
        """Let the peer's clock be observed, on an idle path."""
        for _ in range(200):
            rtt_us, told_us = self.sample(0)
            assert told_us == rtt_us


@pytest.mark.parametrize("seed", range(20))
def test_a_queue_of_the_acks_is_left_out_and_one_of_the_data_is_not(pure: Any, seed: int) -> None:
    path = Path(pure, seed=seed)
    path.prove()
    for _ in range(500):
        there_us, back_us = path.random.randrange(60_000), path.random.randrange(60_000)
        rtt_us, told_us = path.sample(there_us, back_us)
        assert BASE_US + there_us <= told_us <= min(rtt_us, BASE_US + there_us + 4 * TICK_US)


DAY_US = 86_400_000_000


@pytest.mark.parametrize("days", [1, 49, 50, 75, 120, 400])
@pytest.mark.parametrize(("hz", "usable"), [(1000.1, True), (250, False), (100, False)])
def test_a_clock_is_known_for_as_long_as_the_connection_lives(
    pure: Any, days: int, hz: float, usable: bool
) -> None:
    """Timestamps of milliseconds wrap after 49.7 days."""
    path = Path(pure, hz=hz)
    path.prove()
    path.now_us += days * DAY_US
    val = (int(path.now_us * hz / 1e6) + path.offset) & U32_MAX
    assert pure.owd_clock_usable(path.owd, val, path.now_us) is usable


def test_without_a_queue_of_the_acks_every_sample_is_as_it_is(pure: Any) -> None:
    path = Path(pure)
    for there_us in [0] * 200 + list(range(0, 200_000, 77)):
        rtt_us, told_us = path.sample(there_us)
        assert told_us == rtt_us


@pytest.mark.parametrize("hz", [100, 250, 1e6])
def test_a_clock_that_is_not_in_milliseconds_is_not_used(pure: Any, hz: float) -> None:
    path = Path(pure, hz=hz)
    path.prove()
    rtt_us, told_us = path.sample(0, 60_000)
    assert told_us == rtt_us


def test_a_clock_is_observed_for_a_tenth_of_a_second(pure: Any) -> None:
    path = Path(pure)
    begin_us = path.now_us
    path.sample(0)
    told = []
    while path.now_us < begin_us + 500_000:
        rtt_us, told_us = path.sample(0, 60_000)
        told.append((path.now_us - begin_us, told_us < rtt_us))
    assert not any(less for at_us, less in told if at_us < 100_000)
    assert all(less for at_us, less in told if at_us > 230_000)


@pytest.mark.parametrize("acks_us", [2_500, 8_000, 60_000])
def test_a_clump_of_acks_is_no_queue(pure: Any, acks_us: int) -> None:
    """Of 1 ms, from which on a queue is judged. Our own packets' is, to two ticks."""
    path = Path(pure)
    path.prove()
    for there_us in (0, 20_000):
        told = [path.sample(there_us, acks_us + n)[1] for n in range(0, 2_000, 77)]
        assert min(told) < BASE_US + there_us + 1_000
        assert max(told) < BASE_US + there_us + 3_000


@pytest.mark.parametrize("drift", [-50e-6, 50e-6])
def test_an_idle_moment_makes_good_for_drift(pure: Any, drift: float) -> None:
    path = Path(pure, hz=1000 * (1 + drift))
    path.prove()
    path.now_us += 600_000_000  # 30 ms of drift
    path.sample(0)
    rtt_us, told_us = path.sample(20_000, 30_000)
    assert told_us < rtt_us
    assert told_us >= BASE_US + 20_000


def test_a_fast_clock_leaves_the_rtt_and_a_slow_one_hides_its_drift(pure: Any) -> None:
    """Under a queue that never ends: 50 us/s for ten minutes, 30 ms."""
    for drift, least_us in ((50e-6, 40_000), (-50e-6, 10_000)):
        path = Path(pure, hz=1000 * (1 + drift))
        path.prove()
        path.now_us += 600_000_000
        rtt_us, told_us = path.sample(40_000)
        assert BASE_US + least_us <= told_us <= rtt_us


def test_no_base_rtt_no_correction(pure: Any) -> None:
    path = Path(pure)
    path.prove()
    late_us = path.now_us + 10**6
    assert pure.pure_owd_rtt_us(path.owd, path.owd.base_ticks, late_us, 70_000, 0) == 70_000


@given(st.lists(st.tuples(u32, u64, u32, u32), max_size=9), u32, u32)
def test_any_sample_is_no_more_than_it_was_and_no_less_than_the_base(
    pure: Any, samples: list[tuple[int, int, int, int]], first: int, base: int
) -> None:
    owd = pure.new("owd", known=True, first_val=first, base_ticks=base)
    for val, now_us, rtt_us, base_us in samples:
        told_us = pure.pure_owd_rtt_us(owd, val, now_us, rtt_us, base_us)
        assert min(rtt_us, base_us) <= told_us <= rtt_us
