# SPDX-License-Identifier: GPL-2.0-only
"""The whole scavenger on drawn bottlenecks: what the module does with the pure code, in user space.

The bounds were chosen with seeds 1 to 1000; the tests use others.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import pytest
from inputs import Q16, Q40

RECOVERY = 3  # of enum tcp_ca_state
FIRST_SEED = 100_001
W_LEAST = Q16 // 100
MEMORIES: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()  # of senders, while these are used
FROM_S, TO_S, END_S = 20, 60, 80  # a CUBIC flow comes, and leaves
RATE_PPS = 833
LONG_AGO_US = 3_600_000_000
TOGETHER_TO_S, TOGETHER_END_S, HALF_S = 130, 131, 60


@dataclass
class Run:
    """One drawn bottleneck: shares of its link, and what the driver counted."""

    alone: float
    beside: float
    after: float
    out: Any

    @property
    def bad(self) -> tuple[int, int, int, int]:
        """Events that must not be."""
        o = self.out
        return o.bad_window, o.bad_level, o.bad_growth, o.bad_answer


def run(pure: Any, seed: int, w_q16: int = W_LEAST, **more: Any) -> Run:
    """Draw 200 to 10,000 packets per second, 5 to 160 ms, 0.7 to 2 BDP, and simulate 80 s."""
    drawn = random.Random(seed)
    rate_pps, base_us = int(10 ** drawn.uniform(2.3, 4)), int(10 ** drawn.uniform(3.7, 5.2))
    buffer = max(20, rate_pps * base_us / 1e6 * drawn.uniform(0.7, 2))
    given = pure.new(
        "drive_in", seed=seed, rate_pps=rate_pps, base_us=base_us, buffer=int(min(buffer, 4000)),
        ours=1, theirs=1, w_q16=w_q16, from_ms=FROM_S * 1000, to_ms=TO_S * 1000,
        end_ms=END_S * 1000, **more,
    )  # fmt: skip
    out = pure.new("drive_out")
    pure.drive(given, out)
    return Run(
        alone=out.alone / rate_pps / FROM_S,
        beside=out.ours / max(1, out.ours + out.theirs),
        after=out.after / rate_pps / (END_S - TO_S),
        out=out,
    )


def part(values: list[float], quantile: float) -> float:
    """The value below which this part of them lies."""
    return sorted(values)[round(quantile * (len(values) - 1))]


def test_a_scavenger_takes_an_idle_link_and_leaves_a_busy_one(pure: Any) -> None:
    runs = [run(pure, FIRST_SEED + n) for n in range(1000)]
    assert {r.bad for r in runs} == {(0, 0, 0, 0)}
    assert sum(r.out.bad_trace for r in runs) == 0
    alone, beside, after = (
        [getattr(r, name) for r in runs] for name in ("alone", "beside", "after")
    )
    assert part(alone, 0.5) >= 0.97
    assert part(alone, 0.05) >= 0.95
    assert min(alone) >= 0.9
    assert part(beside, 0.5) <= 0.008
    assert part(beside, 0.95) <= 0.03
    assert max(beside) <= 0.06
    assert part(after, 0.5) >= 0.88
    assert part(after, 0.05) >= 0.7
    assert min(after) >= 0.3


def drive(pure: Any, seed: int, end_s: int = TOGETHER_END_S, **other: int) -> Any:
    """10 Mbit/s, 50 ms, one BDP; flows of ours, and CUBIC flows from 10 s to 130 s; or another."""
    cell = {
        "rate_pps": RATE_PPS, "base_us": 50_000, "buffer": 42, "w_q16": W_LEAST,
        "from_ms": 10_000, "to_ms": TOGETHER_TO_S * 1000,
    }  # fmt: skip
    given = pure.new("drive_in", seed=seed, end_ms=end_s * 1000, **(cell | other))
    out = pure.new("drive_out")
    pure.drive(given, out)
    return out


@pytest.mark.parametrize("ours", [2, 4])
def test_flows_like_us_have_equal_shares(pure: Any, ours: int) -> None:
    """Their windows are of ten and twenty packets: one whole packet less is no proportion."""
    runs = [drive(pure, FIRST_SEED + n, ours=ours, theirs=0) for n in range(10)]
    assert part([out.least / out.most for out in runs], 0.5) >= 0.85
    assert min(out.least / out.most for out in runs) >= 0.75


def test_four_flows_like_us_share_a_faster_link(pure: Any) -> None:
    """Each has to drain the queue that the others do not forgive: 100 Mbit/s, 20 ms."""
    path = {"rate_pps": 8333, "base_us": 20_000, "buffer": 166}
    runs = [drive(pure, FIRST_SEED + n, ours=4, theirs=0, **path) for n in range(5)]
    assert part([out.least / out.most for out in runs], 0.5) >= 0.7


@pytest.mark.parametrize(("rate_pps", "base_us"), [(83, 50_000), (166, 20_000), (250, 20_000)])
def test_four_flows_like_us_share_a_slow_link(pure: Any, rate_pps: int, base_us: int) -> None:
    """1 to 3 Mbit/s hold fewer packets than two of each, the least window."""
    path = {"rate_pps": rate_pps, "base_us": base_us, "buffer": 64}
    runs = [drive(pure, FIRST_SEED + n, ours=4, theirs=0, **path) for n in range(5)]
    assert part([out.least / out.most for out in runs], 0.5) >= 0.7
    assert min(out.ours for out in runs) >= 0.99 * HALF_S * rate_pps


@pytest.mark.parametrize("rate_pps", [83, 166, 250])
def test_cubic_keeps_a_slow_link(pure: Any, rate_pps: int) -> None:
    """Behind a modem of 32 packets, where the least window is a part of the link."""
    path = {"rate_pps": rate_pps, "buffer": 32}
    for n in range(3):
        out = drive(pure, FIRST_SEED + n, ours=1, theirs=1, **path)
        assert 0 < out.ours <= 2 / 32 * (out.ours + out.theirs)


@pytest.mark.parametrize("ours", [2, 8])
def test_flows_like_us_look_in_turn(pure: Any, ours: int) -> None:
    """Two packets of each in each look would be 9 % of 5 Mbit/s."""
    for n in range(3):
        out = drive(pure, FIRST_SEED + n, ours=ours, theirs=2, rate_pps=416, buffer=20)
        assert 0 < out.ours <= 0.04 * (out.ours + out.theirs)


def test_cubic_keeps_a_faster_link_with_a_short_buffer(pure: Any) -> None:
    """Its queue is of 5 ms at most, and grows slowly: 1 Gbit/s, 10 ms, half a BDP."""
    path = {"rate_pps": 83_333, "base_us": 10_000, "buffer": 416, "to_ms": 50_000}
    for n in range(3):
        out = drive(pure, FIRST_SEED + n, 51, ours=1, theirs=1, **path)
        assert 0 < out.ours <= 0.03 * (out.ours + out.theirs)


def test_a_path_that_holds_no_packet_is_used(pure: Any) -> None:
    """2 Mbit/s, 5 ms: two packets are a queue, and no window is less."""
    out = drive(pure, FIRST_SEED, rate_pps=166, base_us=5_000, buffer=20, ours=1, theirs=0)
    assert out.ours >= 0.97 * HALF_S * 166


@pytest.mark.parametrize("ours", [1, 2, 5])
def test_flows_like_us_use_a_link_together_and_do_not_yield_to_each_other(
    pure: Any, ours: int
) -> None:
    for n in range(10):
        out = drive(pure, FIRST_SEED + n, ours=ours, theirs=0)
        assert out.ours >= 0.99 * HALF_S * RATE_PPS
        assert out.contended_ms <= 0.1 * HALF_S * 1000 * ours
        assert out.yields == 0 or ours > 1


@pytest.mark.parametrize(("ours", "theirs"), [(1, 1), (1, 4), (2, 2), (4, 1)])
def test_a_link_is_left_to_cubic_and_taken_back(pure: Any, ours: int, theirs: int) -> None:
    """Each of ours keeps two packets per look, 0.6 % here, and more while it probes.

    Of 80 runs of four beside one, 2 (4fdbe8c) and 3 (now) use less than 0.8 of what is left.
    """
    used = []
    for n in range(20):
        at_3s, out = (
            drive(pure, FIRST_SEED + n, TOGETHER_TO_S + end_s, ours=ours, theirs=theirs)
            for end_s in (3, 5)
        )
        assert out.ours < 0.0125 * ours * (out.ours + out.theirs)
        assert out.contended_ms > 0.85 * HALF_S * 1000 * ours
        assert out.seen_ms > 0
        # 3 s after the last one has left, the longest that patience was
        used.append((out.after - at_3s.after) / (2 * RATE_PPS))
    assert part(used, 0.5) >= 0.97
    assert part(used, 0.1) >= 0.79
    assert min(used) >= 0.75


def test_at_w_one_it_is_a_flow_like_others(pure: Any) -> None:
    runs = [run(pure, FIRST_SEED + n, w_q16=Q16) for n in range(100)]
    assert {r.bad for r in runs} == {(0, 0, 0, 0)}
    shares = [r.beside for r in runs]
    assert 0.43 <= part(shares, 0.5) <= 0.54
    assert part(shares, 0.05) >= 0.22
    assert part(shares, 0.95) <= 0.72
    assert part([r.after for r in runs], 0.05) >= 0.9


def test_more_weight_is_more_of_the_link(pure: Any) -> None:
    medians = [
        part([run(pure, FIRST_SEED + n, w_q16=w).beside for n in range(40)], 0.5)
        for w in (Q16 // 100, Q16 // 10, Q16 // 2, Q16)
    ]
    assert medians == sorted(medians)
    assert medians[1] >= 4 * medians[0]
    assert medians[3] >= 4 * medians[1]


@pytest.mark.parametrize(("stall_ms", "every_ms"), [(90, 100), (48, 50), (320, 400), (40, 50)])
def test_stalls_hide_no_competitor(pure: Any, stall_ms: int, every_ms: int) -> None:
    """Each lasts for longer than what is between two of them."""
    out = drive(
        pure, 1, end_s=43, rate_pps=10_000, base_us=5000, buffer=300, ours=1, theirs=1,
        stall_ms=stall_ms, stall_every_ms=every_ms, from_ms=2000, to_ms=42_000,
    )  # fmt: skip
    assert out.ours <= 0.02 * (out.ours + out.theirs)


@pytest.mark.parametrize(
    ("rate_pps", "base_us", "stall_ms", "every_ms"),
    [
        (20_000, 500, 10, 25),
        (8_333, 5_000, 5, 100),
        (1_667, 50_000, 5, 25),
        (1_667, 50_000, 50, 1000),
    ],
)
def test_a_path_that_stands_still_now_and_then_is_used(
    pure: Any, rate_pps: int, base_us: int, stall_ms: int, every_ms: int
) -> None:
    """As one that ends in a busy guest, or a radio's: nobody else is there."""
    path = {
        "rate_pps": rate_pps, "base_us": base_us, "buffer": max(83, rate_pps * base_us // 10**6),
        "stall_ms": stall_ms, "stall_every_ms": every_ms, "to_ms": 30_000,
    }  # fmt: skip
    out = drive(pure, 1, end_s=31, ours=1, **path)
    cubic = drive(pure, 1, end_s=31, theirs=1, **path)
    assert out.ours >= 0.8 * cubic.theirs


def test_losses_and_stalls_break_no_rule(pure: Any) -> None:
    """How much it uses is another question: docs/design.md."""
    for n in range(300):
        ppm, stall_ms = ((1000, 0), (10_000, 20), (0, 50), (50_000, 5))[n % 4]
        done = run(pure, FIRST_SEED + n, loss_ppm=ppm, stall_ms=stall_ms)
        assert done.bad == (0, 0, 0, 0)
        assert done.out.losses > 0 or not ppm


def scavenger(pure: Any) -> tuple[Any, Any]:
    """A flow with a window of a hundred, all of it under way, and its connection."""
    path = pure.new("tcp_path", una=1, nxt=101, cwnd=100, ssthresh=100, mss=1448, srtt_us=50_000)
    path.cwnd_max, path.now_us = 1000, 10**9
    sender, memory = pure.new("sender"), pure.new("path_memory")
    pure.path_memory_init(memory)
    MEMORIES[sender] = memory
    pure.sender_init(sender, path, 0)
    pure.sender_join(sender, memory, path.now_us)
    pure.sender_set_base(sender, path, pure.base("scavenger"))
    return sender, path


@pytest.mark.parametrize("single", [True, False])
def test_only_an_ack_of_one_packet_may_have_been_held_back(pure: Any, single: bool) -> None:
    """A receiver that holds back ACKs of more hides no queue by it."""
    sender, path = scavenger(pure)
    pure.cdg_set_base_rtt(pure.ffi.addressof(sender, "cdg"), 50_000)
    sample = pure.new(
        "rtt_sample", now_us=path.now_us, rtt_us=95_000, silence_us=40_000, packets=2
    )
    pure.pure_acked_doubts(sender, path, sample, pure.new("rtt_doubts", single=single))
    assert sender.cdg.rtt.max_us == (55_000 if single else 95_000)


def standing_back(pure: Any, w_q16: int, held_us: int, cwnd: int = 100) -> tuple[Any, Any]:
    """A flow with a window of cwnd, whose loss tells of others, and TCP begins to repair it.

    It took the path held_us ago, with a B of eighty.
    """
    sender, path = scavenger(pure)
    sender.control.w_q16, sender.scavenger.held_us = w_q16, held_us
    sender.scavenger.stands_back, sender.scavenger.kept_cwnd = True, 80
    path.cwnd = cwnd
    pure.sender_begin_repair(sender, path, RECOVERY)
    return sender, path


@pytest.mark.parametrize(
    ("w_q16", "held_us", "best_effort"),
    [(W_LEAST, LONG_AGO_US, 50), (Q16, LONG_AGO_US, 50), (Q16, 1_000_000, 80),
     (W_LEAST, 1_000_000, 50)],
)  # fmt: skip
def test_a_newcomer_gets_half_of_what_was_ours_but_who_may_have_been_there_no_more_than_it_had(
    pure: Any, w_q16: int, held_us: int, best_effort: int
) -> None:
    """Only an urgent flow doubts that it was alone."""
    sender, path = standing_back(pure, w_q16, held_us)
    assert sender.regime == pure.REGIME_CONTENDED
    assert sender.scavenger.best_effort.window_q16 == best_effort * Q16
    assert path.cwnd == max(2, best_effort * w_q16 // Q16)
    assert path.no_undo


def test_where_tcp_has_reduced_the_window_to_one_ssthresh_is_two_all_the_same(pure: Any) -> None:
    _, path = standing_back(pure, W_LEAST, LONG_AGO_US, cwnd=1)
    assert path.ssthresh == 2


@pytest.mark.parametrize(("beside_rounds", "packets"), [(3, 30), (2, 50)])
def test_the_price_is_of_the_mean_window_where_others_were_there_for_most_of_tw(
    pure: Any, beside_rounds: int, packets: int
) -> None:
    """B swings by a third between two losses."""
    sender = pure.new("sender", interval__rounds=4, interval__not_alone_rounds=beside_rounds)
    sender.base = pure.base("scavenger")
    sender.interval.best_effort_sum_q16 = beside_rounds * 30 * Q16
    sender.scavenger.best_effort.window_q16 = 50 * Q16
    sample = pure.sender_sample_interval(sender, 1_000_000, 1_000_000)
    assert sample.others_seen == (beside_rounds == 3)
    assert sample.price_q40 == sample.price_standard_q40 == Q40 // packets


@pytest.mark.parametrize("in_use", [True, False])
def test_beside_others_only_a_window_in_use_grows(pure: Any, in_use: bool) -> None:
    sender, path = standing_back(pure, Q16 // 2, LONG_AGO_US)
    b = sender.scavenger.best_effort
    path.cwnd, window_q16, b.step_q16 = 10, b.window_q16, Q16 // 100
    for _ in range(10):
        pure.base("scavenger").grow(sender, path, 2, in_use)
    assert (path.cwnd > 10) == in_use
    assert (b.window_q16 > window_q16) == in_use


def test_a_loss_that_tcp_takes_back_leaves_b_as_it_was(pure: Any) -> None:
    sender, path = standing_back(pure, W_LEAST, LONG_AGO_US)
    path.nxt = path.una = 201
    pure.sender_ssthresh(sender, path)
    assert sender.scavenger.best_effort.window_q16 < 50 * Q16
    pure.sender_tell_base(sender, path, pure.BASE_UNDO)
    assert sender.scavenger.best_effort.window_q16 == 50 * Q16


@pytest.mark.parametrize("silence_us", [50_000, 2**32 + 50_000, 5 * 2**32 + 50_000])
def test_a_round_of_hours_is_slow(pure: Any, silence_us: int) -> None:
    """Its rate is by all of its time, however often 32 bits of microseconds have begun anew."""
    sender, path = standing_back(pure, W_LEAST, LONG_AGO_US)
    path.state, path.now_us = pure.PATH_OPEN, 2**33
    pure.sender_begin_round(sender, path)
    path.una, path.delivered, path.now_us = path.nxt, 100, path.now_us + silence_us
    sender.cdg.rtt.max_us = 50_000
    pure.sender_end_round(sender, path)
    rate = 100e6 / min(silence_us, 2**32 - 1)
    assert sender.part.rate_q16 / Q16 == pytest.approx(rate, rel=0.01, abs=1 / Q16)


@pytest.mark.parametrize(("delay_cut", "loss_cut"), [(30, 30), (90, 50)])
def test_a_loss_amid_a_cut_for_delay_takes_the_lower_of_both_answers(
    pure: Any, delay_cut: int, loss_cut: int
) -> None:
    path = pure.new("tcp_path", una=1, nxt=101, cwnd=100, ssthresh=delay_cut, mss=1448)
    path.cwnd_max = 1000
    sender = pure.new("sender")
    pure.sender_init(sender, path, 0)
    pure.sender_set_base(sender, path, pure.base("cdg"))
    sender.cdg.state = pure.CDG_BACKOFF
    assert pure.sender_ssthresh(sender, path) == loss_cut
    path.ssthresh = 20  # that cut is over: the next loss is answered by the window alone
    assert pure.sender_ssthresh(sender, path) == 50


def test_a_flow_that_shares_a_path_leaves_nothing_of_itself_there(pure: Any) -> None:
    """Whatever base it runs when it leaves."""
    sender, path = standing_back(pure, W_LEAST, LONG_AGO_US)
    memory = sender.memory
    sender.part.rate_q16 = memory.rate_q16 = 1000 * Q16
    pure.sender_set_base(sender, path, pure.base("vegas"))
    pure.sender_leave(sender)
    assert (memory.flows, memory.rate_q16) == (0, 0)
    assert sender.memory == pure.ffi.NULL


def test_slow_start_after_a_timeout_ends_at_two_packets_at_least(pure: Any) -> None:
    """The window is one then, and a longer RTT may end slow start at once."""
    path = pure.new("tcp_path", cwnd=1, cwnd_max=1000, ssthresh=7, mss=1448, srtt_us=50_000)
    sender = pure.new("sender", heuristics__hystart=pure.CDG_HYSTART_DELAY)
    pure.sender_init(sender, path, 0)
    sender.cdg.rtt.min_us = sender.cdg.rtt.max_us = 90_000
    sender.cdg.hystart_min_us, sender.cdg.hystart_samples = 50_000, 8
    assert pure.sender_hystart(sender, path, False) == pure.CDG_HYSTART_DELAY
    assert path.ssthresh == 2


def test_the_same_seed_is_the_same_run(pure: Any) -> None:
    first, again = (pure.ffi.buffer(run(pure, 7, loss_ppm=1000).out)[:] for _ in range(2))
    assert first == again


# Not 42 packets at 400 packets/s and 40 ms, where it may be a minute late: see docs/design.md.
@pytest.mark.parametrize(
    ("rate_pps", "base_us", "buffer"),
    [(833, 50_000, 42), (833, 50_000, 84), (833, 20_000, 42), (833, 20_000, 84),
     (400, 40_000, 84), (1666, 50_000, 83), (4166, 50_000, 208)],
)  # fmt: skip
def test_a_latecomer_takes_no_competitor_for_one_of_ours(
    pure: Any, rate_pps: int, base_us: int, buffer: int
) -> None:
    """It begins in the others' queue, where its packets come out between theirs."""
    cell = {"rate_pps": rate_pps, "base_us": base_us, "buffer": buffer}
    for n in range(4):
        out = drive(
            pure, FIRST_SEED + n, ours=1, theirs=1, ours_from_ms=10_000, from_ms=100, **cell
        )
        assert 0 < out.ours <= 0.018 * (out.ours + out.theirs)


@pytest.mark.parametrize(
    ("busy_us", "acks", "in_use", "before", "limited"),
    [
        (500_000, 100, 25, False, False),
        (499_999, 100, 100, False, True),  # for half of the time there was nothing to send
        (1_000_000, 100, 24, False, True),  # three in four ACKs found the window unused
        (1_000_000, 0, 0, False, False),  # a timeout: as it was
        (1_000_000, 0, 0, True, True),
    ],
)
def test_an_interval_is_ruled_by_the_program_or_by_the_path(
    pure: Any, busy_us: int, acks: int, in_use: int, before: bool, limited: bool
) -> None:
    sender = pure.new("sender", interval__acks=acks, interval__acks_cwnd_limited=in_use)
    sender.base = pure.base("cubic")
    sender.control.last.app_limited = before
    assert pure.sender_sample_interval(sender, busy_us, 1_000_000).app_limited is limited
