# SPDX-License-Identifier: GPL-2.0-only
"""CUBIC as a base: ACK by ACK the windows of Linux', and under a goal the paper's Figure 3."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import pytest
from inputs import Q16
from test_sender import part, run

OPEN, DISORDER, RECOVERY, LOSS = 0, 1, 3, 4
FIRST_SEED = 300_001
MSS = 1448
CWND_MAX = 4000
NO_SSTHRESH = 0x7FFFFFFF
TW_US = 2_000_000
U32 = 2**32
TABLE = bytes.fromhex(
    "00363636767676767b81868a8f93979c9da1a4a8aaadb0b3b5b9bbbec0c2c5c7c8caccced1d3d5d7d9dbdddee0e1e3"
    "e5e7e8eaecedeff0f2f4f5f6f8fafbfcfe"
)


def root(a: int) -> int:
    """Return Linux' cube root."""
    bits = a.bit_length()
    if bits < 7:
        return TABLE[a] + 35 >> 6
    bits = (bits * 84 >> 8) - 1
    x = (TABLE[a >> bits * 3] + 10 << bits) >> 6
    return (2 * x + a // (x * (x - 1))) * 341 >> 10


@dataclass
class Linux:
    """tcp_cubic.c with its defaults at HZ = 1000, and the TCP around it."""

    cwnd: int = 10
    ssthresh: int = NO_SSTHRESH
    cwnd_cnt: int = 0
    cnt: int = 0
    last_max: int = 0
    last_cwnd: int = 0
    last_time: int = 0
    origin: int = 0
    k: int = 0
    delay_min: int = 0
    epoch: int = 0
    ack_cnt: int = 0
    tcp_cwnd: int = 0
    samples: int = 0
    found: bool = False
    round_start: int = 0
    end: int = 0
    last_ack: int = 0
    curr_rtt: int = U32 - 1

    def train(self, now_us: int, nxt: int) -> None:
        """bictcp_hystart_reset()."""
        self.round_start = self.last_ack = now_us
        self.end, self.curr_rtt, self.samples = nxt, U32 - 1, 0

    def timeout(self, now_us: int, nxt: int) -> None:
        """Enter the state Loss."""
        self.cnt = self.last_max = self.last_cwnd = self.last_time = self.origin = self.k = 0
        self.delay_min = self.epoch = self.ack_cnt = self.tcp_cwnd = 0
        self.found = False
        self.train(now_us, nxt)

    def resume(self, ticks: int, idle: int) -> None:
        """Send after a pause."""
        if self.epoch and idle > 0:
            self.epoch = min(self.epoch + idle, ticks)

    def cut(self) -> None:
        """Answer a loss."""
        self.epoch = 0
        self.last_max = self.cwnd * (1024 + 717) // 2048 if self.cwnd < self.last_max else self.cwnd
        self.ssthresh = max(self.cwnd * 717 // 1024, 2)

    def rtt(self, rtt_us: int, now_us: int, una: int, nxt: int, paced_us: int | None) -> None:
        """bictcp_acked()."""
        if rtt_us < 0 or (self.epoch and now_us // 1000 - self.epoch < 1000):
            return
        delay = max(rtt_us, 1)
        if not self.delay_min or self.delay_min > delay:
            self.delay_min = delay
        if self.found or self.cwnd >= self.ssthresh:
            return
        if una > self.end:
            self.train(now_us, nxt)
        if self.cwnd < 16:
            return
        if now_us - self.last_ack <= 2000:
            self.last_ack = now_us
            full = self.delay_min + (paced_us or 0)
            if now_us - self.round_start > (full if paced_us is not None else full // 2):
                self.found, self.ssthresh = True, self.cwnd
        self.curr_rtt = min(self.curr_rtt, delay)
        if self.samples < 8:
            self.samples += 1
        elif self.curr_rtt > self.delay_min + min(max(self.delay_min >> 3, 4000), 16000):
            self.found, self.ssthresh = True, self.cwnd

    def acked(self, acked: int, ticks: int) -> None:
        """Grow a window that is in use."""
        if self.cwnd < self.ssthresh:
            cwnd = min(self.cwnd + acked, self.ssthresh)
            acked -= cwnd - self.cwnd
            self.cwnd = min(cwnd, CWND_MAX)
            if not acked:
                return
        self.update(acked, ticks)
        if self.cwnd_cnt >= self.cnt:
            self.cwnd_cnt, self.cwnd = 0, self.cwnd + 1
        self.cwnd_cnt += acked
        if self.cwnd_cnt >= self.cnt:
            self.cwnd += self.cwnd_cnt // self.cnt
            self.cwnd_cnt %= self.cnt
        self.cwnd = min(self.cwnd, CWND_MAX)

    def update(self, acked: int, ticks: int) -> None:
        """bictcp_update()."""
        cwnd = self.cwnd
        self.ack_cnt += acked
        if self.last_cwnd == cwnd and ticks - self.last_time <= 1000 // 32:
            return
        if not (self.epoch and ticks == self.last_time):
            self.last_cwnd, self.last_time = cwnd, ticks
            self.curve(acked, ticks)
        delta = cwnd * 15 >> 3
        while self.ack_cnt > delta:
            self.ack_cnt -= delta
            self.tcp_cwnd += 1
        if self.tcp_cwnd > cwnd:
            self.cnt = min(self.cnt, cwnd // (self.tcp_cwnd - cwnd))
        self.cnt = max(self.cnt, 2)

    def curve(self, acked: int, ticks: int) -> None:
        """Follow the cubic function."""
        cwnd = self.cwnd
        if not self.epoch:
            self.epoch, self.ack_cnt, self.tcp_cwnd = ticks, acked, cwnd
            if self.last_max <= cwnd:
                self.k, self.origin = 0, cwnd
            else:
                self.k = root((1 << 40) // 410 * (self.last_max - cwnd))
                self.origin = self.last_max
        t = (ticks - self.epoch + -(-self.delay_min // 1000) << 10) // 1000
        delta = 410 * abs(t - self.k) ** 3 >> 40
        target = (self.origin - delta if t < self.k else self.origin + delta) % U32
        self.cnt = cwnd // (target - cwnd) if target > cwnd else 100 * cwnd
        if not self.last_max and self.cnt > 20:
            self.cnt = 20


class Ours:
    """A sender with CUBIC as its base, and the connection it sees."""

    def __init__(self, pure: Any, cwnd: int = 10) -> None:
        """Establish it."""
        assert pure.TICKS_PER_S == 1000
        self.pure = pure
        self.sender = pure.new("sender")
        self.path = pure.new(
            "tcp_path", una=1, nxt=1 + cwnd * MSS, srtt_us=50_000, mss=MSS, cwnd=cwnd,
            cwnd_max=CWND_MAX, cwnd_limited=True, ssthresh=pure.SSTHRESH_MAX, now_us=5_000_000,
            ticks=5000,
        )  # fmt: skip
        self.sender.heuristics.hystart = 3
        pure.sender_init(self.sender, self.path, 0)
        pure.sender_set_base(self.sender, self.path, pure.base("cubic"))

    def wait(self, time_us: int) -> None:
        """Let time pass."""
        self.path.now_us += time_us
        self.path.ticks = self.path.now_us // 1000

    def ack(
        self,
        packets: int = 1,
        rtt_us: int = 50_000,
        *,
        used: bool = True,
        burst_us: int | None = None,
    ) -> None:
        """Take an ACK of packets that has measured this RTT; paced where it has a burst_us."""
        p = self.path
        p.una, p.delivered = p.una + packets * MSS, p.delivered + packets
        p.nxt = max(p.nxt, p.una + p.cwnd * MSS)
        p.cwnd_limited, p.out_max = used, p.cwnd if used else 1
        sample = self.pure.new(
            "rtt_sample", rtt_us=rtt_us, packets=packets, now_us=p.now_us, una=p.una, cwnd=p.cwnd,
            recovering=p.state == RECOVERY, paced=burst_us is not None, burst_us=burst_us or 0,
        )  # fmt: skip
        self.pure.pure_ack(self.sender, self.path, sample)

    def lose(self, state: int = RECOVERY) -> None:
        """Let TCP meet a loss, and begin to repair it."""
        p = self.path
        p.ssthresh = self.pure.sender_ssthresh(self.sender, p)
        assert self.pure.sender_count_loss(self.sender, p, state)
        self.pure.sender_begin_repair(self.sender, p, state)
        p.state, p.cwnd_cnt = state, 0
        p.cwnd = p.ssthresh if state == RECOVERY else 1

    def open(self) -> None:
        """Let TCP end the repair."""
        if self.path.state == RECOVERY:
            self.pure.sender_complete_cwr(self.sender, self.path)
        self.path.state = OPEN

    def steer(self, w: float) -> None:
        """Put it under a controller that wants this w."""
        self.sender.control.w_q16, self.sender.control.phi_q16 = int(w * Q16), Q16
        self.pure.sender_steer(self.sender, 0)


class Both:
    """A flow of ours and Linux', through the same events."""

    def __init__(self, pure: Any, seed: int) -> None:
        """Draw a path, and whether there is a controller that wants w = 1."""
        self.drawn = random.Random(seed)
        self.ours, self.linux = Ours(pure), Linux()
        if seed % 2:
            self.ours.steer(1)
            self.ours.sender.heuristics.inflate_beta = seed % 4 == 1
        self.linux.train(self.ours.path.now_us, self.ours.path.nxt)
        self.base_us = int(10 ** self.drawn.uniform(2.5, 5.5))
        self.rate = 10 ** self.drawn.uniform(0.5, 3.2)  # packets per base RTT
        self.buffer = self.rate * self.drawn.uniform(0.3, 2)
        self.burst_us = self.drawn.choice((None, self.drawn.randrange(1000)))
        self.before = (0, 0)
        self.events: set[str] = set()

    def same(self) -> None:
        """Compare the windows."""
        p, linux = self.ours.path, self.linux
        assert (p.cwnd, p.ssthresh, p.cwnd_cnt) == (linux.cwnd, linux.ssthresh, linux.cwnd_cnt)

    def acked(self) -> None:
        """Take an ACK, after a time that the link's rate leaves to it, or in a burst."""
        drawn, p, linux = self.drawn, self.ours.path, self.linux
        packets = min(drawn.choice((1, 1, 2, 2, 3, 8)), p.cwnd)
        gap = self.base_us * packets / min(self.rate, p.cwnd)
        self.ours.wait(int(drawn.choice((gap, gap, gap * drawn.random(), gap * 2, 0))))
        queue = max(0.0, p.cwnd - self.rate) / self.rate * self.base_us
        rtt_us = self.base_us + int(queue + abs(drawn.gauss(0, self.base_us / 50)))
        rtt_us = drawn.choices((rtt_us, -1, 0), (500, 20, 1))[0]
        used = drawn.random() < 0.97
        in_slow_start = p.cwnd < p.ssthresh
        self.ours.ack(packets, rtt_us, used=used, burst_us=self.burst_us)
        linux.rtt(rtt_us, p.now_us, p.una, p.nxt, self.burst_us)
        if p.state != RECOVERY and (used or (linux.cwnd < linux.ssthresh and linux.cwnd < 2)):
            linux.acked(packets, p.ticks)
        if in_slow_start and linux.found:
            self.events.add("found")

    def lost(self, state: int) -> None:
        """Meet a loss."""
        linux, p = self.linux, self.ours.path
        self.before = (linux.cwnd, max(linux.ssthresh, linux.cwnd * 3 // 4))
        linux.cut()
        linux.cwnd, linux.cwnd_cnt = linux.ssthresh, 0
        if state == LOSS:
            linux.cwnd = 1
            linux.timeout(p.now_us, p.nxt)
        self.ours.lose(state)
        self.events.add("timeout" if state == LOSS else "loss")

    def repaired(self) -> None:
        """End the repair, and now and then find that it was for nothing."""
        p = self.ours.path
        if self.drawn.random() < 0.2:
            self.ours.pure.sender_tell_base(self.ours.sender, p, self.ours.pure.BASE_UNDO)
            p.cwnd, p.ssthresh = max(p.cwnd, self.before[0]), max(p.ssthresh, self.before[1])
            self.linux.cwnd, self.linux.ssthresh = p.cwnd, p.ssthresh
            self.events.add("undo")
        self.ours.open()

    def paused(self) -> None:
        """Have nothing to send, so long that TCP starts slowly again, or not."""
        p, linux = self.ours.path, self.linux
        before = p.ticks
        self.ours.wait(int(10 ** self.drawn.uniform(2, 6.7)))
        if self.drawn.random() < 0.5:
            self.ours.pure.sender_cwnd_restart(self.ours.sender, p)
            p.ssthresh = linux.ssthresh = max(p.ssthresh, p.cwnd * 3 // 4)
            p.cwnd = linux.cwnd = min(p.cwnd, 10)
        p.idle_ticks = p.ticks - before
        self.ours.pure.sender_tell_base(self.ours.sender, p, self.ours.pure.BASE_TX_START)
        linux.resume(p.ticks, p.idle_ticks)
        self.events.add("pause")

    def event(self) -> None:
        """Let something else happen."""
        p, chance = self.ours.path, self.drawn.random()
        if p.state >= RECOVERY:
            if chance < 0.1:
                self.repaired()
        elif chance < 0.001 or p.cwnd > self.rate + self.buffer:
            self.lost(LOSS if self.drawn.random() < 0.1 else RECOVERY)
        elif chance < 0.003:
            self.paused()
        elif chance < 0.006:
            p.state = DISORDER - p.state


def follow_linux(pure: Any, seed: int) -> set[str]:
    """Compare the windows after each of 3000 ACKs; return what has happened."""
    both = Both(pure, seed)
    for _ in range(3000):
        both.acked()
        both.same()
        both.event()
        both.same()
    return both.events


@pytest.mark.slow
def test_without_a_goal_and_at_w_one_it_is_linux_cubic_ack_by_ack(pure: Any) -> None:
    seen = [follow_linux(pure, FIRST_SEED + n) for n in range(300)]
    for event in ("found", "loss", "timeout", "undo", "pause"):
        assert sum(event in events for events in seen) > 100, event


def flow(pure: Any, w: float, distances: tuple[int, ...] = (), *, beta: bool = False) -> Ours:
    """Return a flow under w that has lost a packet after each of these: at 1000 a second."""
    ours = Ours(pure, cwnd=100)
    ours.path.ssthresh = 50
    ours.sender.heuristics.inflate_beta = beta
    for distance in distances:
        ours.wait(distance * 1000)
        ours.path.delivered += distance
        ours.lose()
        ours.open()
    ours.path.cwnd = 100
    ours.steer(w)
    return ours


def cuts(ours: Ours, acks: int) -> int:
    """Return the phantom signals of so many ACKs, at a window that stays as it is."""
    before = ours.sender.delay_cut.backoffs
    for _ in range(acks):
        ours.ack()
        ours.sender.cdg.state, ours.path.cwnd = 0, 100  # a cut is complete at once
    return int(ours.sender.delay_cut.backoffs - before)


def test_phantom_signals_are_as_many_as_w_says(pure: Any) -> None:
    pure.pure_seed(11)
    for w, many in ((1, 0), (0.5, 200), (0.2, 800), (0.1, 1800)):
        assert cuts(flow(pure, w, (100,) * 9), 20_000) == pytest.approx(many, rel=0.15)


def interval(ours: Any) -> Any:
    """Return what the flow has paid since the last Tw."""
    return ours.pure.sender_sample_interval(ours.sender, TW_US, TW_US)


def test_phantom_signals_are_one_in_four_packets_while_the_price_is_not_known(pure: Any) -> None:
    pure.pure_seed(12)
    assert cuts(flow(pure, 0.001, (5,)), 4000) == pytest.approx(1000, rel=0.1)
    assert cuts(flow(pure, 0.5, (100,)), 20_000) == pytest.approx(200, rel=0.2)
    assert cuts(flow(pure, 0.001), 4000) == 0


def test_phantom_signals_cease_three_mean_distances_after_the_last_real_one(pure: Any) -> None:
    ours = flow(pure, 0.02, (1000, 200, 200, 200))
    ours.wait(590_000)
    assert cuts(ours, 1000) > 100
    assert interval(ours).others_seen
    ours.wait(11_000)
    assert cuts(ours, 1000) == 0
    assert not interval(ours).others_seen
    # what follows is measured from here, not from the last signal
    price = interval(ours).price_q40
    ours.wait(200_000)
    ours.path.delivered += 200 - 1000
    ours.lose()
    ours.open()
    ours.path.cwnd = 100
    assert interval(ours).price_q40 == pytest.approx(price, rel=0.01)
    assert cuts(ours, 1000) > 100


def test_a_phantom_signal_cuts_as_a_loss_does(pure: Any) -> None:
    pure.pure_seed(13)
    ours = flow(pure, 0.001, (5,))
    while not ours.sender.delay_cut.backoffs:
        ours.ack()
    cwnd = ours.sender.delay_cut.cwnd
    assert ours.path.ssthresh == cwnd * 717 // 1024
    assert ours.path.no_undo
    for _ in range(cwnd + 1):
        ours.ack()
    assert ours.path.cwnd <= cwnd * 717 // 1024 + 1


def test_by_beta_a_loss_leaves_less_and_there_are_no_phantom_signals(pure: Any) -> None:
    for w, left in ((1, 70), (0.5, 35), (0.1, 7), (0.01, 2)):
        ours = flow(pure, w, (100,) * 4, beta=True)
        assert cuts(ours, 2000) == 0
        ours.lose()
        assert abs(ours.path.cwnd - left) <= 1
        assert ours.path.cwnd >= 2


def test_a_weight_acts_from_its_setting_on(pure: Any) -> None:
    """Not from the end of the interval under way, which may be minutes away."""
    ours = flow(pure, 1, (100,) * 9)
    config = pure.new(
        "control_config", controller=pure.CONTROLLER_WEIGHT, wmin_q16=round(0.1 * Q16)
    )
    assert cuts(ours, 2000) == 0
    pure.sender_configure(ours.sender, config)
    pure.pure_seed(15)
    assert cuts(ours, 20_000) == pytest.approx(1800, rel=0.15)


def test_without_a_controller_nothing_is_inflated(pure: Any) -> None:
    for beta in (False, True):
        ours = flow(pure, 0.01, (100,) * 4, beta=beta)
        ours.sender.mu_q16 = 0
        assert cuts(ours, 2000) == 0
        ours.lose()
        assert ours.path.cwnd == 70


def test_the_price_is_the_part_of_packets_that_is_lost(pure: Any) -> None:
    price = [
        interval(flow(pure, 0.5, distances))
        for distances in ((), (9,), (9, 100), (9, 100, 100, 100, 100))
    ]
    assert [p.price_q40 for p in price] == [0, 2**40 // 9, 2**40 // 100, 2**40 // 100]
    assert [p.price_standard_q40 for p in price] == [p.price_q40 for p in price]  # phi is 1
    # that of one counts while phantom signals come for it
    ours = flow(pure, 0.5, (9,))
    ours.wait(28_000)
    assert cuts(ours, 1) == 0
    assert interval(ours).price_q40 == 0


@pytest.mark.parametrize("rtt_us", [1000, 50_000, 300_000])
@pytest.mark.parametrize("rate", [10_000, 10**6, 10**9])
def test_the_model_is_that_of_rfc_9438(pure: Any, rtt_us: int, rate: int) -> None:
    path = pure.new("tcp_path", srtt_us=rtt_us, mss=MSS)
    window, c, b = rate * rtt_us / 1e6 / MSS, 410 / 1024, 717 / 1024
    curve = (c * (3 + b) / (4 * (1 - b))) ** (1 / 3) * rtt_us / 1e6 / window ** (4 / 3)
    price = pure.base("cubic").model_q40(path, rate) / 2**40
    assert price == pytest.approx(max(curve, 1.5 / window**2), rel=0.01)


@pytest.mark.parametrize(("beta", "least", "idle"), [(0, 0.1, 0.3), (1, 0.35, 0.8)])
def test_on_drawn_bottlenecks_w_is_its_share_of_a_busy_one(
    pure: Any, beta: int, least: float, idle: float
) -> None:
    """Bounds were chosen with other seeds; at w = 0.01, least of a busy link, idle of another."""
    shares, alone = [], []
    for w_q16 in (Q16 // 100, Q16 // 3, Q16):
        how = {"w_q16": w_q16, "base": pure.base("cubic"), "beta": beta}
        runs = [run(pure, FIRST_SEED + n, **how) for n in range(60)]
        assert {r.bad for r in runs} == {(0, 0, 0, 0)}
        shares.append(part([r.beside for r in runs], 0.5))
        alone.append(part([r.alone for r in runs], 0.5))
    assert (shares, alone) == (sorted(shares), sorted(alone))
    assert shares[0] <= least
    assert alone[0] >= idle
    assert 0.4 <= shares[-1] <= 0.65
    assert alone[-1] >= 0.95
