# SPDX-License-Identifier: GPL-2.0-only
"""path_memory.c: a busy path that carries less for us than it has carried, carries others.

First on rounds made by hand, then on the simulator. How long we wait is read from struct
path_memory, as the constants may be tuned.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from inputs import Q16, U32_MAX

BASE_US, LONG_US = 50_000, 20_000  # of RTT, and of a queue that counts
PPS = 1000  # that the path carries
STAND_US = 8_000  # a queue that is to stand
STEP_S = 0.06  # a round
LONG_AGO_S = 60  # a time alone in which the host has forgotten its mistakes


class Host:
    """A host's memory of a path, and rounds of its flows, made by hand."""

    def __init__(self, pure: Any, flows: int = 1, *, known: bool = True) -> None:
        """All flows are in the regime of the memory; known: for a minute it has carried PPS."""
        self.pure, self.memory, self.now_s = pure, pure.new("path_memory"), 1000.0
        pure.path_memory_init(self.memory)
        self.parts: list[Any] = []
        self.contended: list[bool] = []
        for _ in range(flows):
            self.join()
        if known:
            assert self.rounds(LONG_AGO_S, [PPS / flows] * flows) == {pure.PATH_AS_IT_IS}

    def join(self) -> None:
        """Let one flow more begin, alone for all that it knows."""
        self.parts.append(self.pure.new("path_part"))
        self.contended.append(False)
        self.pure.path_memory_join(self.memory, self.parts[-1], self._now_us)

    @property
    def _now_us(self) -> int:
        return round(self.now_s * 1e6)

    def seen(self, flow: int, pps: float, queue_us: int, **more: Any) -> Any:
        """What a round, or a loss, of this flow shows."""
        fields = {
            "now_us": self._now_us, "rtt_us": BASE_US + queue_us, "base_rtt_us": BASE_US,
            "rtt_max_us": BASE_US + queue_us, "rate_q16": round(pps * Q16), "judged": True,
            "steady": True, "contended": self.contended[flow],
        }  # fmt: skip
        return self.pure.new("path_round", **(fields | more))

    def round(self, pps: float, queue_us: int = LONG_US, flow: int = 0, **more: Any) -> int:
        """End a round of this flow, which obeys; the clock runs with the first flow's rounds."""
        if flow == 0:
            self.now_s += STEP_S
        seen = self.seen(flow, pps, queue_us, **more)
        verdict = int(self.pure.path_memory_round(self.memory, self.parts[flow], seen))
        if verdict in (self.pure.PATH_STAND_BACK, self.pure.PATH_TAKE):
            self.contended[flow] = verdict == self.pure.PATH_STAND_BACK
        return verdict

    def rounds(self, seconds: float, pps: list[float], queue_us: int = 0, **more: Any) -> set[int]:
        """End rounds of all flows for so long; return the verdicts."""
        return {
            self.round(rate, queue_us, flow, **more)
            for _ in range(round(seconds / STEP_S))
            for flow, rate in enumerate(pps)
        }

    def until(self, verdict: int, pps: float, queue_us: int, **more: Any) -> float:
        """End rounds of the first flow until it is told this; return the seconds."""
        begin_s = self.now_s
        while self.round(pps, queue_us, **more) != verdict:
            assert self.now_s < begin_s + 1000
        return self.now_s - begin_s

    def lose(self, queue_us: int, flow: int = 0) -> bool:
        """Lose a packet behind such a queue; is the flow to stand back?"""
        self.now_s += STEP_S
        lost = self.pure.path_memory_lost(self.memory, self.seen(flow, 0, queue_us))
        self.contended[flow] |= lost
        return bool(lost)

    def stand_back(self, *, sees_them: bool = True) -> None:
        """A competitor comes and takes half; sees_them: and its queue shows."""
        self.until(self.pure.PATH_STAND_BACK, PPS / 2, LONG_US)
        self.round(0, LONG_US)  # our own packets, from before
        if sees_them:
            self.rounds(1, [0], LONG_US)

    def hold(self, seconds: float) -> None:
        """Nobody is there: take the path, and hold it for so long."""
        self.until(self.pure.PATH_TAKE, 0, 0)
        if seconds:
            assert self.rounds(seconds, [PPS]) == {self.pure.PATH_AS_IT_IS}


@pytest.mark.parametrize(
    ("part", "queue_us", "how", "ours"),
    [
        (0.75, LONG_US, {}, True),
        (0.74, LONG_US, {}, True),  # a round of 70 ms is known within a packet
        (0.73, LONG_US, {}, False),
        (0.74, 0, {}, True),  # the program, or the path, has less: nobody waits
        (0.01, 2_900, {}, True),  # three packets that left together are no queue
        (0.01, 3_100, {}, False),
        (0.01, LONG_US, {"judged": False}, True),
        (0.01, LONG_US, {"steady": False}, True),
    ],
)
def test_a_busy_path_that_carries_less_than_three_quarters_carries_others(
    pure: Any, part: float, queue_us: int, how: dict[str, bool], ours: bool
) -> None:
    host = Host(pure)
    verdicts = [host.round(part * PPS, queue_us, **how) for _ in range(20)]
    stood_back = [n for n, verdict in enumerate(verdicts) if verdict == pure.PATH_STAND_BACK]
    assert stood_back == ([] if ours else [1])  # the second of two in a row
    assert host.memory.yields == len(stood_back)


def test_one_poor_round_is_none(pure: Any) -> None:
    host = Host(pure)
    for _ in range(20):
        assert host.rounds(STEP_S, [PPS / 2], LONG_US) == {pure.PATH_AS_IT_IS}
        assert host.rounds(STEP_S, [PPS], LONG_US) == {pure.PATH_AS_IT_IS}


@pytest.mark.parametrize(("part_of_full", "others"), [(0.6, True), (0.4, False)])
def test_a_loss_counts_where_the_queue_was_half_of_the_one_that_overflowed(
    pure: Any, part_of_full: float, others: bool
) -> None:
    host = Host(pure)
    assert not host.lose(2 * LONG_US)
    host.rounds(1, [PPS / 2])
    queue_us = round(part_of_full * 2 * LONG_US)
    assert [host.lose(queue_us) for _ in range(2)] == [False, others]
    assert host.memory.full_us == 2 * LONG_US


def test_a_loss_of_all_that_is_ours_tells_of_nobody(pure: Any) -> None:
    host = Host(pure)
    assert not any(host.lose(LONG_US) for _ in range(50))


def test_a_path_without_a_queue_is_taken_after_patience(pure: Any) -> None:
    host = Host(pure)
    host.stand_back()
    host.rounds(5, [0], LONG_US)
    patience_s = host.memory.patience_us / 1e6
    host.rounds(patience_s - 2 * STEP_S, [0])
    host.round(0, LONG_US)  # one look at a queue, and all of it begins anew
    waited_s = host.until(pure.PATH_TAKE, 0, 0)
    assert patience_s <= waited_s + 1e-6 <= patience_s + 2 * STEP_S


def test_patience_doubles_when_it_was_too_early_and_a_long_hold_resets_it(pure: Any) -> None:
    host = Host(pure)
    host.stand_back()
    patience = [host.memory.patience_us]
    for _ in range(8):
        host.hold(0)
        host.stand_back()
        patience.append(host.memory.patience_us)
    most = patience[-1]
    assert patience == [min(patience[0] << n, most) for n in range(9)]
    assert most >= 8 * patience[0]
    host.hold(LONG_AGO_S)
    host.stand_back()
    assert host.memory.patience_us == patience[0]


def test_a_flow_that_pauses_hides_no_competitor(pure: Any) -> None:
    """It has stood back with the other, and was not there when that took the path again."""
    host = Host(pure, 2)
    host.rounds(1, [PPS / 4, PPS / 4], LONG_US)
    assert host.contended == [True, True]
    host.pure.path_memory_pause(host.memory, host.parts[1])
    host.hold(LONG_AGO_S)
    assert host.contended == [False, True]
    verdicts = [host.round(PPS / 2, LONG_US) for _ in range(20)]
    assert verdicts.index(pure.PATH_STAND_BACK) == 1


@pytest.mark.parametrize("again", [False, True], ids=["repairs", "nothing gets through"])
def test_we_neither_judge_nor_learn_while_a_loss_of_ours_is_repaired(
    pure: Any, again: bool
) -> None:
    """Its rate from before, and what the other carries in its place, passed for the path's."""
    host = Host(pure, 2)
    pure.path_memory_repair(host.memory, host.parts[1])
    if again:
        pure.path_memory_pause(host.memory, host.parts[1])
    low = [host.round(PPS / 4, LONG_US) for _ in range(20)]
    assert (pure.PATH_STAND_BACK in low) == again
    if not again:
        host.rounds(5, [PPS])
        assert host.memory.carried_q16 / Q16 == pytest.approx(PPS)
        assert host.round(PPS / 8, LONG_US, flow=1) == pure.PATH_AS_IT_IS  # judged from here on
        assert pure.PATH_STAND_BACK in [host.round(PPS / 4, LONG_US) for _ in range(20)]


def test_a_flow_that_leaves_amid_a_repair_is_not_waited_for(pure: Any) -> None:
    host = Host(pure, 2)
    pure.path_memory_repair(host.memory, host.parts[1])
    pure.path_memory_leave(host.memory, host.parts[1])
    assert pure.PATH_STAND_BACK in [host.round(PPS / 4, LONG_US) for _ in range(20)]


def test_flows_that_have_nothing_under_way_hide_no_queue(pure: Any) -> None:
    """A packet of each of our flows is no queue: forty that were idle hid one of 40 ms."""
    host = Host(pure)
    for _ in range(40):
        host.join()
    for part in host.parts[1:]:
        pure.path_memory_pause(host.memory, part)
    assert host.memory.flows == 1
    host.rounds(5, [PPS])
    assert pure.PATH_STAND_BACK in [host.round(PPS / 2, LONG_US) for _ in range(20)]
    host.round(0, 0, flow=1)
    assert host.memory.flows == 2
    pure.path_memory_pause(host.memory, host.parts[0])  # between two looks
    assert host.memory.flows == 2


def test_a_newcomer_of_ours_is_not_judged(pure: Any) -> None:
    """The others make room for it before its own rate is known; two rounds of each, no more."""
    host = Host(pure, 3)
    host.join()
    first = [host.round(PPS / 8, LONG_US, flow) for _ in range(2) for flow in range(4)]
    assert set(first[:-1]) == {pure.PATH_AS_IT_IS}
    assert pure.PATH_STAND_BACK in [host.round(PPS / 8, LONG_US) for _ in range(4)]


@pytest.mark.parametrize(
    ("part", "sees_them", "lost_behind_us", "slower"),
    [
        (0.45, False, None, True),
        (0.45 * 1.1, False, None, True),
        (0.45 * 0.86, False, None, False),  # less than it carried when we stood back
        (0.45 * 1.2, False, None, False),  # more: what others leave
        (0.45, True, None, False),
        (0.45, False, STAND_US, False),  # a router that serves flows in turn has dropped it
        (0.45, False, 3_100, False),  # more than three packets
        (0.45, True, STAND_US, False),
    ],
)
def test_a_path_that_carries_the_same_again_is_slower(
    pure: Any, part: float, sees_them: bool, lost_behind_us: float | None, slower: bool
) -> None:
    """Nobody used what we left of it, and it loses nothing of a queue that stands."""
    host = Host(pure)
    host.until(pure.PATH_STAND_BACK, 0.45 * PPS, LONG_US)
    host.round(0, LONG_US)
    if sees_them:
        host.rounds(1, [0], LONG_US)
    host.hold(0)
    host.rounds(0.2, [PPS * part], STAND_US)
    if lost_behind_us:
        host.lose(round(lost_behind_us))
    host.rounds(LONG_AGO_S / 4, [PPS * part], STAND_US)
    assert host.memory.yields == (1 if slower else 2)
    assert host.memory.carried_q16 == pytest.approx(PPS * (part if slower else 1) * Q16, rel=0.01)


def test_a_queue_stands_for_a_look_before_the_path_is_slower(pure: Any) -> None:
    """CoDel drops nothing before; and of a queue that is shorter than its target, never."""
    host = Host(pure)
    host.until(pure.PATH_STAND_BACK, PPS / 2, LONG_US)
    host.hold(0)
    look_s = 2 * BASE_US / 1e6 + 0.3

    def slower() -> bool:
        return bool(host.memory.carried_q16 < 0.9 * PPS * Q16)

    stands_us = 9_000  # three quarters of what six packets take
    host.rounds(2, [PPS / 2], stands_us - 100)  # busy, but too short
    host.rounds(look_s - 2 * STEP_S, [PPS / 2], stands_us)
    assert not slower()
    host.rounds(3 * STEP_S, [PPS / 2], stands_us)
    assert slower()


@pytest.mark.parametrize(
    ("faster", "full_us", "stands_us"),
    [
        (20, 0, STAND_US),
        (20, 4_000, 6_000),  # three quarters of it, at half of the rate
        (20, 40_000, STAND_US),
        (1, 40_000, 12_000),  # six packets take longer
    ],
)
def test_no_longer_a_queue_stands_than_the_buffer_holds(
    pure: Any, faster: int, full_us: int, stands_us: int
) -> None:
    host = Host(pure)
    if full_us:
        assert not host.lose(full_us)
    host.until(pure.PATH_STAND_BACK, PPS / 2, LONG_US)
    host.until(pure.PATH_TAKE, 0, 0)
    host.memory.carried_q16 *= faster
    host.memory.same_q16 *= faster
    seen = host.seen(0, faster * PPS / 2, 0)
    pure.path_memory_round(host.memory, host.parts[0], seen)
    assert seen.stand_us == pytest.approx(stands_us, abs=2)
    assert seen.same_q16 == pytest.approx(faster * PPS / 2 * Q16, rel=0.01)


def test_a_trial_that_loses_keeps_what_the_path_carried(pure: Any) -> None:
    """The loss may come before the first round: then its rate is not known."""
    host = Host(pure)
    host.until(pure.PATH_STAND_BACK, PPS / 2, LONG_US)
    host.until(pure.PATH_TAKE, 0, 0)
    assert host.lose(STAND_US)
    assert host.memory.same_q16 == pytest.approx(PPS / 2 * Q16, rel=0.01)


def test_a_burst_is_not_what_the_path_carries(pure: Any) -> None:
    """Packets that were queued elsewhere arrive at once: the rate of one round, not of the path."""
    host = Host(pure)
    host.stand_back()
    host.hold(0)
    host.round(2 * PPS, 0)
    assert host.memory.carried_q16 == PPS * Q16
    host.rounds(5, [2 * PPS])
    assert host.memory.carried_q16 > 1.9 * PPS * Q16  # it has become faster


def test_what_was_carried_is_forgotten_after_minutes(pure: Any) -> None:
    host = Host(pure)
    host.rounds(LONG_AGO_S, [PPS / 2])
    assert host.memory.carried_q16 == pytest.approx(PPS * Q16, rel=0.01)
    host.rounds(20 * 60, [PPS / 2])
    assert host.memory.carried_q16 == pytest.approx(PPS / 2 * Q16, rel=0.01)
    assert host.rounds(1, [PPS / 2], LONG_US) == {pure.PATH_AS_IT_IS}


def test_a_queue_that_does_not_move_is_none(pure: Any) -> None:
    """The path has become longer, for the host's other flows as well."""
    host = Host(pure, 2)
    host.until(pure.PATH_STAND_BACK, PPS / 5, LONG_US)
    host.round(0, LONG_US, 1)
    assert 5 < host.until(pure.PATH_LONGER, 0, LONG_US) < 40
    assert host.memory.base_rtt_us == BASE_US + LONG_US
    host.contended[0] = False
    assert host.round(0, LONG_US, 1) == pure.PATH_LONGER
    assert host.memory.yields == 1
    host.contended[1] = False  # and when others have left it the next time, it has not
    host.until(pure.PATH_STAND_BACK, PPS / 5, LONG_US)
    assert host.round(0, LONG_US, 1) == pure.PATH_STAND_BACK
    host.until(pure.PATH_TAKE, 0, 0)
    assert host.round(0, 0, 1) == pure.PATH_TAKE


def test_a_queue_that_moves_stands_for_others_for_as_long_as_it_does(pure: Any) -> None:
    host = Host(pure)
    host.stand_back()
    for _ in range(1000):
        assert {host.round(0, us) for us in (LONG_US, LONG_US * 3 // 4)} == {pure.PATH_AS_IT_IS}


def test_what_rtts_differ_by_while_alone_is_no_queue(pure: Any) -> None:
    """As in a path that jitters."""
    host = Host(pure)
    host.rounds(LONG_AGO_S, [PPS], rtt_max_us=BASE_US + LONG_US)
    host.stand_back()
    assert host.until(pure.PATH_TAKE, 0, LONG_US // 2) < 5


def test_flows_of_one_host_are_judged_by_what_all_of_them_have(pure: Any) -> None:
    host = Host(pure)
    host.join()
    for share in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9):  # the second takes over
        rates = [PPS * (1 - share), PPS * share]
        assert host.rounds(10, rates, LONG_US) == {pure.PATH_AS_IT_IS}
    assert host.memory.carried_q16 == pytest.approx(PPS * Q16, rel=0.15)
    seen = host.seen(0, PPS / 2, 0)
    pure.path_memory_round(host.memory, host.parts[0], seen)
    assert seen.fits_q16 == host.memory.carried_q16 // 2
    assert pure.PATH_STAND_BACK in host.rounds(1, [PPS / 4, PPS / 4], LONG_US)


def test_a_flow_that_suddenly_takes_half_of_anothers_rate_is_nobody_else(pure: Any) -> None:
    host = Host(pure)
    host.join()
    assert host.rounds(10, [PPS / 2, PPS / 2], LONG_US) == {pure.PATH_AS_IT_IS}
    assert host.memory.carried_q16 == pytest.approx(PPS * Q16, rel=0.15)


def test_one_flow_follows_the_others_decision(pure: Any) -> None:
    host = Host(pure, 2)
    host.rounds(1, [PPS / 4, PPS / 2])
    assert host.until(pure.PATH_STAND_BACK, PPS / 4 - 20, LONG_US)
    assert host.round(PPS, 0, 1) == pure.PATH_STAND_BACK  # whatever it has seen
    assert host.round(0, 0, 1) == pure.PATH_AS_IT_IS
    assert host.until(pure.PATH_TAKE, 0, 0)
    assert host.round(0, LONG_US, 1) == pure.PATH_TAKE
    assert host.memory.yields == 1
    assert [pure.path_memory_cut(host.memory) for _ in range(2)] == [1, 2]


@pytest.mark.parametrize("how", ["pause", "leave"])
def test_a_flow_that_has_nothing_under_way_takes_its_part_out(pure: Any, how: str) -> None:
    host = Host(pure, 2)
    getattr(pure, f"path_memory_{how}")(host.memory, host.parts[1])
    assert host.memory.rate_q16 == PPS // 2 * Q16
    assert host.memory.flows == 1
    rounds = 2 + (2 if how == "leave" else 0)  # PATH_UNSETTLED
    assert host.until(pure.PATH_STAND_BACK, PPS / 2, LONG_US) <= rounds * STEP_S


@pytest.mark.parametrize("seed", range(20))
def test_sums_are_those_of_the_parts_whatever_flows_do(pure: Any, seed: int) -> None:
    """Nothing leaks, and nothing wraps."""
    drawn, host, there = random.Random(seed), Host(pure, 0, known=False), list[int]()

    def total() -> int:
        return sum(host.parts[n].rate_q16 for n in there)

    for _ in range(2000):
        what = drawn.choice(("join", "pause", "leave", "lose", *["round"] * 6))
        if what == "join" and len(there) < 16:
            there.append(len(host.parts))
            host.join()
        elif there:
            n = drawn.choice(there)
            rate = drawn.choice((0, 1, drawn.uniform(0, PPS), U32_MAX))
            host.now_s += drawn.expovariate(10)
            if what == "round":
                host.round(rate, drawn.choice((0, LONG_US)), n, judged=drawn.random() < 0.9)
            elif what == "lose":
                host.lose(drawn.randrange(LONG_US), n)
            elif what in ("pause", "leave"):
                getattr(pure, f"path_memory_{what}")(host.memory, host.parts[n])
                if what == "leave":
                    there.remove(n)
        m = host.memory
        assert m.rate_q16 == total()
        assert m.flows == sum(host.parts[n].counted for n in there)
        assert m.carried_q16 < 2**52
    assert host.memory.yields > 0
    for n in there:
        pure.path_memory_leave(host.memory, host.parts[n])
    assert (host.memory.rate_q16, host.memory.flows) == (0, 0)


W_LEAST = Q16 // 100
FROM_S, TO_S, END_S = 60, 180, 240
FAST_PPS = 1667  # 20 Mbit/s
DISCIPLINES = {
    "1/8 BDP": {"buffer": 10}, "1/4 BDP": {"buffer": 20}, "1 BDP": {"buffer": 83},
    "CoDel": {"base_us": 70_000, "buffer": 1000, "discipline": 1},
    "FQ-CoDel": {"buffer": 1000, "discipline": 3},
}  # fmt: skip


def drive(pure: Any, **how: Any) -> Any:
    """20 Mbit/s, 50 ms, one BDP; two flows of ours, two CUBIC flows from 60 s to 180 s."""
    cell = {
        "seed": 1, "rate_pps": FAST_PPS, "base_us": BASE_US, "buffer": 83, "ours": 2, "theirs": 2,
        "w_q16": W_LEAST, "from_ms": FROM_S * 1000, "to_ms": TO_S * 1000, "end_ms": END_S * 1000,
        "delayed_acks": True,
    }  # fmt: skip
    steps = how.pop("steps", [])
    given, out = pure.new("drive_in", **(cell | how)), pure.new("drive_out")
    for n, (at_s, rate_pps) in enumerate(steps):
        given.steps[n].at_ms, given.steps[n].rate_pps = at_s * 1000, rate_pps
    pure.drive(given, out)
    assert (out.bad_window, out.bad_level, out.bad_growth, out.bad_answer) == (0, 0, 0, 0)
    return out


def share(out: Any) -> float:
    """What ours had of what all had."""
    return float(out.ours / (out.ours + out.theirs))


@pytest.mark.parametrize("place", DISCIPLINES)
def test_two_cubic_flows_keep_the_path_and_ours_use_it_alone(pure: Any, place: str) -> None:
    runs = [drive(pure, seed=seed, **DISCIPLINES[place]) for seed in range(1, 5)]
    without = [drive(pure, seed=seed, ours=0, **DISCIPLINES[place]) for seed in range(1, 5)]
    cubic = [
        drive(pure, seed=n, base=pure.base("cubic"), w_q16=Q16, theirs=0, **DISCIPLINES[place])
        for n in range(1, 5)
    ]
    assert sum(out.theirs for out in runs) >= 0.96 * sum(out.theirs for out in without)
    assert max(share(out) for out in runs) <= 0.03
    assert sum(out.alone for out in runs) >= 0.95 * sum(out.alone for out in cubic)
    assert min(out.after for out in runs) >= 0.3 * (END_S - TO_S) * FAST_PPS  # patience doubles


@pytest.mark.parametrize("ours", [2, 4, 8])
def test_flows_of_one_host_share_the_path_and_never_stand_back_for_each_other(
    pure: Any, ours: int
) -> None:
    for seed in range(1, 5):
        out = drive(pure, seed=seed, ours=ours, theirs=0)
        assert out.yields == 0
        assert out.least >= 0.6 * out.most


def test_flows_of_one_host_that_come_and_go_never_stand_back_for_each_other(pure: Any) -> None:
    """They did in five of 16 runs while the path was judged as one of them left."""
    for seed in range(1, 9):
        out = drive(pure, seed=seed, ours=12, theirs=0, ours_step_ms=3000, ours_stay_ms=10_000)
        assert out.yields == 0


def test_a_short_path_is_used_while_flows_come_and_go(pure: Any) -> None:
    """Eight packets: what a newcomer took passed for others', and a fourth was left idle."""
    path = {"rate_pps": 417, "base_us": 20_000, "buffer": 8, "from_ms": 120_000, "to_ms": 120_000}
    for seed in range(1, 5):
        out = drive(
            pure, seed=seed, ours=14, theirs=0, ours_step_ms=8000, ours_stay_ms=24_000, **path
        )
        assert out.yields == 0
        assert out.alone >= 0.9 * 120 * 417


@pytest.mark.parametrize(
    "path",
    [
        {"rate_pps": 167, "base_us": 20_000, "buffer": 10, "ours": 4},  # its repairs take seconds
        {"rate_pps": 83_333, "base_us": 1000, "buffer": 250, "ours": 8, "from_ms": 10_000},
    ],
    ids=["2 Mbit/s", "1 Gbit/s"],
)
def test_a_path_seems_to_carry_no_more_than_it_does(pure: Any, path: dict[str, int]) -> None:
    """A rate from before a repair, or one without the time of a stall, made it seem faster."""
    path = {"from_ms": 240_000} | path
    for seed in (1, 2, 101):
        until_ms = path["from_ms"]
        out = drive(pure, seed=seed, theirs=0, to_ms=until_ms, end_ms=until_ms + 1, **path)
        assert out.yields == 0
        assert out.alone >= 0.97 * until_ms / 1000 * path["rate_pps"]


@pytest.mark.parametrize("rtt_ms", [50, 100])
def test_acks_that_the_receiver_holds_back_are_no_queue(pure: Any, rtt_ms: int) -> None:
    """Of eight windows of two or three packets: they left 5 Mbit/s idle by two thirds."""
    path = {"rate_pps": 417, "base_us": rtt_ms * 1000, "buffer": 417 * rtt_ms // 1000}
    for seed in range(1, 4):
        out = drive(pure, seed=seed, ours=8, **path)
        assert out.alone >= 0.88 * FROM_S * 417
        assert out.after >= 0.85 * (END_S - TO_S) * 417
        assert out.theirs >= 0.9 * drive(pure, seed=seed, ours=0, **path).theirs


def test_jitter_leaves_no_path_idle(pure: Any) -> None:
    """Of a fifth of the RTT: once 20 % of the path was used, as it passed for a queue."""
    for seed in range(1, 4):
        out = drive(pure, seed=seed, theirs=0, jitter_us=10_000)
        assert out.ours >= 0.95 * (TO_S - FROM_S) / 2 * FAST_PPS
        assert share(drive(pure, seed=seed, jitter_us=10_000)) < 0.03


def test_what_others_leave_that_were_there_from_our_beginning_is_found(pure: Any) -> None:
    """The path has never carried more than a part for us; as CUBIC grows, 0.59 of it is used."""
    fast = {"rate_pps": 10 * FAST_PPS, "buffer": 583, "ours": 1, "theirs": 1}
    when = {"from_ms": 0, "to_ms": 20_000, "end_ms": 50_000}
    after = sum(drive(pure, seed=seed, **fast, **when).after for seed in range(1, 5))
    assert after >= 0.76 * 4 * 30 * 10 * FAST_PPS


def test_a_path_that_becomes_slower_and_faster_is_used(pure: Any) -> None:
    rows = pure.ffi.new("u32[]", 8)
    rates = [FAST_PPS, FAST_PPS, *[FAST_PPS // 2] * 3, *[FAST_PPS] * 3]
    drive(
        pure, ours=1, theirs=0, end_ms=480_001, series_ms=60_000, series=rows,
        steps=[(120, FAST_PPS // 2), (300, FAST_PPS)],
    )  # fmt: skip
    assert [n for n in range(8) if rows[n] < 0.9 * 60 * rates[n]] == []


def test_a_competitor_of_a_large_window_gets_the_path_back(pure: Any) -> None:
    """After a loss it needs seconds to fill a short buffer again: we wait for half of them."""
    large = {"rate_pps": 32_000, "buffer": 320, "ours": 1, "theirs": 1}
    when = {"from_ms": 30_000, "to_ms": 120_000, "end_ms": 120_001}
    for seed in range(1, 3):
        without = drive(pure, seed=seed, **(large | {"ours": 0}), **when)
        assert drive(pure, seed=seed, **large, **when).theirs >= 0.96 * without.theirs


def test_a_receiver_that_lies_buys_nothing(pure: Any) -> None:
    """By its timestamps each queue is one of the ACKs."""
    for seed in range(1, 5):
        assert share(drive(pure, seed=seed, lies=True)) < 0.03


def test_a_queue_of_the_acks_tells_of_nobody(pure: Any) -> None:
    for seed in range(1, 5):
        how = {"reverse_pps": FAST_PPS // 2, "reverse_buffer": 83, "reverse_from_ms": 10_000}
        out = drive(pure, seed=seed, theirs=0, **how)
        assert out.ours >= 0.85 * (TO_S - FROM_S) / 2 * FAST_PPS
        assert share(drive(pure, seed=seed, **how)) < 0.03


def test_two_hosts_both_get_something(pure: Any) -> None:
    """They share no memory: each is the other's competitor."""
    for seed in range(1, 9):
        out = drive(pure, seed=seed, hosts=2, theirs=0)
        assert out.ours >= 0.5 * (TO_S - FROM_S) / 2 * FAST_PPS
        assert out.least > 0
