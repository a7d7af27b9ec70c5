# SPDX-License-Identifier: GPL-2.0-only
"""Vegas as a base: ACK by ACK the windows of Linux' Vegas, and under a goal F(28) and its model."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import pytest
from inputs import Q16
from test_sender import part, run

OPEN, DISORDER, RECOVERY, LOSS = 0, 1, 3, 4
FIRST_SEED = 200_001
MSS = 1448
CWND_MAX = 1000


@dataclass
class Linux:
    """tcp_vegas.c with its defaults. A sequence number is a packet."""

    cwnd: int = 10
    ssthresh: int = 0x7FFFFFFF
    cnt: int = 0
    base: int = 0x7FFFFFFF
    low: int = 0x7FFFFFFF
    rtts: int = 0
    end: int = 1
    doing: bool = True

    def begin(self, nxt: int) -> None:
        """Start a round at this sequence number."""
        self.end, self.rtts, self.low = nxt, 0, 0x7FFFFFFF

    def slow_start(self, acked: int) -> int:
        """Grow up to ssthresh; return the packets that are left."""
        cwnd = min(self.cwnd + acked, self.ssthresh)
        acked -= cwnd - self.cwnd
        self.cwnd = min(cwnd, CWND_MAX)
        return acked

    def reno(self, acked: int) -> None:
        """Grow as tcp_reno_cong_avoid() does."""
        if self.cwnd < self.ssthresh:
            acked = self.slow_start(acked)
            if not acked:
                return
        cwnd = self.cwnd
        if self.cnt >= cwnd:
            self.cnt, self.cwnd = 0, self.cwnd + 1
        self.cnt += acked
        if self.cnt >= cwnd:
            self.cwnd += self.cnt // cwnd
            self.cnt %= cwnd
        self.cwnd = min(self.cwnd, CWND_MAX)

    def enable(self, nxt: int) -> None:
        """Judge rounds from here on."""
        self.doing = True
        self.begin(nxt)

    def restart(self, nxt: int) -> None:
        """Send where nothing was under way."""
        self.base = 0x7FFFFFFF
        self.enable(nxt)

    def acked(
        self, acked: int, rtt_us: int, una: int, nxt: int, state: int, *, used: bool = True
    ) -> None:
        """Take an ACK in this state."""
        self.base, self.low = min(self.base, rtt_us + 1), min(self.low, rtt_us + 1)
        self.rtts += 1
        if state == RECOVERY:
            return
        if not self.doing:
            if used:
                self.reno(acked)
        elif una > self.end:
            self.round(acked, used=used)
            self.begin(nxt)
        elif self.cwnd < self.ssthresh:
            self.slow_start(acked)

    def round(self, acked: int, *, used: bool) -> None:
        """End a round."""
        if self.rtts <= 2:
            if used:
                self.reno(acked)
            return
        target = self.cwnd * self.base // self.low
        diff = self.cwnd * (self.low - self.base) // self.base
        if self.cwnd < self.ssthresh:
            if diff > 1:
                self.cwnd = min(self.cwnd, target + 1)
                self.ssthresh = min(self.ssthresh, self.cwnd)
            else:
                self.slow_start(acked)
        elif diff > 4:
            self.cwnd -= 1
            self.ssthresh = min(self.ssthresh, self.cwnd)
        elif diff < 2:
            self.cwnd += 1
        self.cwnd = min(max(self.cwnd, 2), CWND_MAX)
        self.ssthresh = max(self.ssthresh, (self.cwnd >> 1) + (self.cwnd >> 2))


class Ours:
    """A sender with Vegas as its base, and the connection it sees."""

    def __init__(self, pure: Any, cwnd: int = 10) -> None:
        """Establish it."""
        self.pure = pure
        self.sender = pure.new("sender")
        self.path = pure.new(
            "tcp_path", una=1, nxt=1, srtt_us=1, mss=MSS, cwnd=cwnd, cwnd_max=CWND_MAX,
            ssthresh=pure.SSTHRESH_MAX, cwnd_limited=True, now_us=1,
        )  # fmt: skip
        self.sender.heuristics.hystart = 3  # of no effect
        pure.sender_init(self.sender, self.path, 0)
        self.base = pure.base("vegas")
        pure.sender_set_base(self.sender, self.path, self.base)

    def ack(self, packets: int, rtt_us: int, *, used: bool = True) -> None:
        """Take an ACK of packets that has measured this RTT."""
        p = self.path
        out = p.cwnd if used else min(p.cwnd, 10)
        p.una, p.nxt, p.now_us = p.una + packets, p.una + packets + out, p.now_us + 1000
        p.cwnd_limited, p.out_max = used, p.cwnd if used else 1
        sample = self.pure.new(
            "rtt_sample", rtt_us=rtt_us, packets=packets, now_us=p.now_us, una=p.una, cwnd=p.cwnd,
            recovering=p.state == RECOVERY,
        )  # fmt: skip
        self.pure.pure_ack(self.sender, self.path, sample)

    def round(self, rtt_us: int, *, used: bool = True) -> int:
        """Take ACKs with this RTT until a round ends; return by how much the window grew."""
        before, end = self.path.cwnd, self.sender.round.end
        while self.sender.round.end == end:
            self.ack(1, rtt_us, used=used)
        return self.path.cwnd - before

    def lose(self) -> int:
        """Let TCP meet a loss, repair it and go on. Return the window that was left."""
        p = self.path
        p.ssthresh = self.pure.sender_ssthresh(self.sender, p)
        assert self.pure.sender_count_loss(self.sender, p, RECOVERY)
        self.pure.sender_begin_repair(self.sender, p, RECOVERY)
        p.cwnd = p.ssthresh
        p.state = RECOVERY
        return p.cwnd

    def reduced(self) -> None:
        """Let TCP end the repair."""
        self.pure.sender_complete_cwr(self.sender, self.path)
        self.become(OPEN)

    def become(self, state: int) -> None:
        """Let TCP repair nothing, or wait whether it has to."""
        self.pure.sender_end_repair(self.sender, self.path, state)
        self.path.state = state

    def steer(self, w_q16: int, phi_q16: int = Q16) -> None:
        """Put it under a controller that wants this w."""
        self.sender.control.w_q16, self.sender.control.phi_q16 = w_q16, phi_q16
        self.pure.sender_steer(self.sender, 0)
        self.base.forget(self.sender)

    def begin_goal(self, w_q16: int) -> None:
        """Put it under a goal whose controller begins with this w."""
        self.sender.control.w_q16, self.sender.control.phi_q16 = w_q16, Q16
        self.pure.sender_begin_goal(self.sender, self.path)


def follow_linux(pure: Any, seed: int) -> set[int]:
    """Compare the windows after each of 3000 ACKs; return the directions in which they went."""
    drawn = random.Random(seed)
    ours, linux = Ours(pure), Linux()
    base_us, rate = int(10 ** drawn.uniform(2.5, 5.5)), drawn.uniform(2, 400)  # packets per RTT
    grown = set()
    for n in range(3000):
        p = ours.path
        # a queue of what does not fit, of others', and noise
        queue = max(0, p.cwnd - rate) / rate * base_us + max(0, drawn.gauss(0, base_us / 50))
        queue += base_us / 10 * (n // 700 % 2)
        packets = min(drawn.choice((1, 1, 2, 2, 3)), p.cwnd)
        rtt_us = base_us + int(queue)
        before = p.cwnd
        used = drawn.random() < 0.97
        ours.ack(packets, rtt_us, used=used)
        linux.acked(packets, rtt_us, p.una, p.nxt, p.state, used=used)
        assert (p.cwnd, p.ssthresh, p.cwnd_cnt) == (linux.cwnd, max(2, linux.ssthresh), linux.cnt)
        grown.add(max(-1, min(1, p.cwnd - before)))
        chance = drawn.random()
        if p.state == RECOVERY and chance < 0.1:
            ours.reduced()
            linux.enable(p.nxt)
        elif p.state == DISORDER and chance < 0.2:
            ours.become(OPEN)
            linux.enable(p.nxt)
        elif p.state == OPEN and chance < 0.002:
            ours.become(DISORDER)
            linux.doing = False
        elif p.state == OPEN and chance < 0.003:
            linux.cwnd = linux.ssthresh = max(2, linux.cwnd >> 1)
            assert ours.lose() == linux.cwnd
            linux.doing = False
        elif p.state != RECOVERY and chance > 0.999:
            if chance > 0.9995:
                pure.sender_cwnd_restart(ours.sender, p)
            else:
                pure.sender_tell_base(ours.sender, p, pure.BASE_TX_START)
            linux.restart(p.nxt)
    return grown


@pytest.mark.slow
def test_without_a_goal_it_is_linux_vegas_ack_by_ack(pure: Any) -> None:
    went = [follow_linux(pure, FIRST_SEED + n) for n in range(300)]
    assert went.count({-1, 0, 1}) > 250


def test_in_the_state_loss_without_a_loss_it_grows_as_reno(pure: Any) -> None:
    """Packets that are too large for the path, sent again: Linux' Vegas judges no round then."""
    ours = Ours(pure, cwnd=40)
    ours.path.ssthresh = 10
    ours.round(50_000)
    assert ours.round(50_000) == 1
    assert not pure.sender_count_loss(ours.sender, ours.path, LOSS)
    ours.path.state = LOSS
    assert ours.round(100_000) >= 0
    ours.become(OPEN)
    ours.round(100_000)
    assert ours.round(100_000) == -1


def test_a_weight_acts_from_its_setting_on(pure: Any) -> None:
    """Not from the end of the interval under way, which may be minutes away."""
    ours = Ours(pure, cwnd=40)
    ours.path.ssthresh = 10
    ours.steer(Q16)
    ours.round(50_000)
    assert ours.round(60_000) == 1  # seven packets in the queue, of 15
    config = pure.new("control_config", controller=pure.CONTROLLER_WEIGHT, wmin_q16=Q16 // 10)
    pure.sender_configure(ours.sender, config)
    assert ours.round(60_000) == -1


@pytest.mark.parametrize(("w", "growth"), [(0, 1), (0.5, 0), (1, 1)])
def test_a_window_that_is_not_used_does_not_grow_below_w_one(
    pure: Any, w: float, growth: int
) -> None:
    ours = Ours(pure, cwnd=40)
    ours.path.ssthresh = 10
    if w:
        ours.steer(int(w * Q16))
    ours.round(50_000)
    assert ours.round(50_000) == 1
    assert ours.round(50_000, used=False) == growth
    assert ours.round(100_000, used=False) == -1


def test_a_window_that_is_not_used_ends_where_tcp_would_warn(pure: Any) -> None:
    """Linux' Vegas adds a packet to 2^31 - 1 of them."""
    ours = Ours(pure, cwnd=2**31 - 3)
    ours.path.ssthresh, ours.path.cwnd_max = 10, 2**32 - 1
    assert [ours.round(50_000, used=False) for _ in range(4)] == [0, 1, 1, 0]
    assert ours.path.cwnd == 2**31 - 1


@pytest.mark.parametrize(("w", "forgets"), [(0, True), (0.5, False), (1, True)])
def test_the_base_rtt_outlives_short_pauses_below_w_one(
    pure: Any, w: float, *, forgets: bool
) -> None:
    ours = Ours(pure, cwnd=40)
    ours.path.ssthresh = 10
    if w:
        ours.steer(int(w * Q16))
    ours.round(50_000)
    pure.sender_tell_base(ours.sender, ours.path, pure.BASE_TX_START)
    assert ours.round(100_000) == (1 if forgets else -1)


def equilibrium(ours: Ours, rate: float, base_us: int) -> float:
    """Return diff where the flow is alone on a link of so many packets per base RTT."""
    ours.path.ssthresh = 2
    for _ in range(400):
        ours.round(base_us + int(max(0, ours.path.cwnd - rate) / rate * base_us))
    return ours.path.cwnd * (ours.path.cwnd - rate) / rate


@pytest.mark.parametrize(
    ("w", "phi", "least", "most"),
    [(0.01, 1, 1, 4), (0.2, 1, 3, 6), (1, 1, 15, 18), (1, 2, 30, 33), (1, 100, 50, 53)],
)
def test_alpha_is_mu_times_fifteen_within_one_and_half_a_bdp(
    pure: Any, w: float, phi: float, least: int, most: int
) -> None:
    ours = Ours(pure)
    ours.steer(int(w * Q16), int(phi * Q16))
    assert least - 1 <= equilibrium(ours, 100, 50_000) <= most + 1


def test_without_a_controller_alpha_is_linux_again(pure: Any) -> None:
    ours = Ours(pure)
    ours.steer(Q16)
    assert equilibrium(ours, 100, 50_000) > 10
    ours.sender.mu_q16 = 0
    assert 2 <= equilibrium(ours, 100, 50_000) <= 5


def test_losses_are_skipped_at_w_one_alone(pure: Any) -> None:
    pure.pure_seed(7)
    halved = {}
    for w_q16, phi in ((Q16, 1), (Q16, 4), (Q16 // 2, 4)):
        cut = 0
        for _ in range(1000):
            ours = Ours(pure, cwnd=100)
            ours.steer(w_q16, phi * Q16)
            cut += ours.lose() == 50
        halved[w_q16, phi] = cut
    assert halved[Q16, 1] == halved[Q16 // 2, 4] == 1000
    assert 200 <= halved[Q16, 4] <= 300  # one of mu
    assert Ours(pure, cwnd=100).lose() == 50


def interval(ours: Ours) -> Any:
    """Return what the flow has paid since the last Tw."""
    return ours.pure.sender_sample_interval(ours.sender, 10**6, 10**6)


@pytest.mark.slow
def test_the_price_is_the_delay_and_its_model_says_w(pure: Any) -> None:
    """At its own equilibrium q / qhat is mu: what w keeps the rate as it is."""
    for w in (0.1, 0.3, 1.0):
        ours = Ours(pure)
        ours.steer(int(w * Q16))
        for _ in range(8):
            equilibrium(ours, 200, 20_000)
            ours.steer(int(w * Q16))
        sample = interval(ours)
        qhat = ours.base.model_q40(ours.path, int(200 * MSS / 0.02))
        assert 0.95 <= sample.price_q40 / qhat / w <= 1 + 3 / (15 * w)
        assert not sample.others_seen


def test_others_are_there_where_the_window_has_to_shrink_often_or_packets_are_lost(
    pure: Any,
) -> None:
    ours = Ours(pure, cwnd=50)
    ours.path.ssthresh = 2
    ours.steer(Q16 // 10)
    ours.round(20_000)
    for n in range(40):
        ours.round(20_000 + 10_000 * (n % 2))
    sample = interval(ours)
    assert sample.others_seen
    assert sample.price_standard_q40 == 0
    assert 0 < sample.phi_price_q40 < 2**40 / 40
    pure.sender_begin_interval(ours.sender)
    calm = Ours(pure, cwnd=50)
    calm.steer(Q16 // 10)
    calm.lose()
    sample = interval(calm)
    assert sample.others_seen
    assert sample.phi_price_q40 == sample.price_standard_q40 > 0
    assert interval(Ours(pure)).phi_price_q40 > 0, "0 would stand for none given"


@pytest.mark.parametrize(("every", "others"), [(3, True), (5, False)])
def test_often_is_more_than_a_quarter_of_the_rounds(pure: Any, every: int, others: bool) -> None:
    ours = Ours(pure, cwnd=50)
    ours.path.ssthresh = 2
    ours.steer(Q16 // 10)
    for n in range(60):
        ours.round(30_000 if n % every == every - 1 else 20_000)
    assert interval(ours).others_seen is others


def test_phi_is_of_what_was_paid_where_the_model_has_another_price(pure: Any) -> None:
    config = pure.new(
        "control_config", controller=pure.CONTROLLER_MBC, unlimited_increase=True, wmin_q16=1
    )
    for paid, phi in ((0, 10), (3, 3)):
        control = pure.new("control")
        pure.control_start(control, config, 10**9, 0, 0, 10**11)
        model = pure.new("control_model", model_q40=pure.base("vegas").model_q40)
        model.arg = path = pure.new("tcp_path", mss=MSS)
        for n in range(pure.TPHI_UPDATES):
            sample = pure.new(
                "control_sample", now_ns=10**9 * (n + 1), elapsed_ns=10**9, bytes_done=10**6 * n,
                price_q40=10 * 2**30, price_standard_q40=2**30, phi_price_q40=paid * 2**30,
                rounds=50, losses=1, others_seen=True, srtt_us=20_000,
            )  # fmt: skip
            pure.control_update(control, sample, model)
        assert control.phi_q16 == phi * Q16
        assert path.mss == MSS


def test_an_interval_without_a_round_keeps_the_price(pure: Any) -> None:
    ours = Ours(pure)
    ours.steer(Q16 // 10)
    equilibrium(ours, 100, 50_000)
    before = interval(ours).price_q40
    for _ in range(20):
        ours.steer(Q16 // 10)
    assert interval(ours).price_q40 == pytest.approx(before, rel=0.5)


def test_a_goal_pays_for_its_own_time_alone(pure: Any) -> None:
    prices = []
    for before in ("nothing", "no goal", "another goal"):
        ours = Ours(pure, cwnd=50)
        ours.path.ssthresh = 2
        ours.round(20_000)
        if before == "another goal":
            ours.steer(Q16 // 10)
        for _ in range(0 if before == "nothing" else 400):
            ours.round(60_000)
        ours.begin_goal(Q16 // 10)
        for _ in range(40):
            ours.round(30_000)
        prices.append(interval(ours).price_q40)
    assert prices == pytest.approx([prices[0]] * 3, rel=0.1)


def test_the_price_of_very_many_rounds_is_right(pure: Any) -> None:
    ours = Ours(pure, cwnd=50)
    ours.path.ssthresh = 2
    ours.steer(Q16 // 10)
    ours.round(20_000)
    ours.round(30_000)
    price = ours.sender.vegas.price
    before, rounds = interval(ours).price_q40, (2**32 - 1) // price.rounds_q8
    price.rounds_q8, price.delay_us_q8 = price.rounds_q8 * rounds, price.delay_us_q8 * rounds
    for _ in range(3):
        ours.round(30_000)
    assert interval(ours).price_q40 == pytest.approx(before, rel=0.1)


def test_on_drawn_bottlenecks_it_uses_an_idle_link_and_w_is_its_share_of_a_busy_one(
    pure: Any,
) -> None:
    """Bounds were chosen with other seeds."""
    medians = []
    for w_q16 in (Q16 // 100, Q16 // 4, Q16 // 2, Q16):
        how = {"w_q16": w_q16, "base": pure.base("vegas")}
        runs = [run(pure, FIRST_SEED + n, **how) for n in range(60)]
        assert {r.bad for r in runs} == {(0, 0, 0, 0)}
        assert min(r.alone for r in runs) >= 0.9
        assert part([r.after for r in runs], 0.5) >= 0.95
        medians.append(part([r.beside for r in runs], 0.5))
    assert medians == sorted(medians)
    assert medians[0] <= 0.15
    assert medians[3] >= 1.8 * medians[0]
