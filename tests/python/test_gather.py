# SPDX-License-Identifier: GPL-2.0-only
"""ACKs that change counts alone are gathered: the windows are those of a base asked at each ACK.

The same ACKs go to two builds of core/, of which one (PORT_EACH_ACK) gathers none. Between the
ends of two rounds B grows by so much per packet: it is the same to the bit. Its Reno part is
divided once for all packets that were gathered, by a window of up to a packet more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from dalbe_testbed.purecode import Pure
from hypothesis import given
from hypothesis import strategies as st
from inputs import Q16

MSS = 1000
RTT_US = 50_000
OPEN, CWR, RECOVERY = 0, 2, 3  # enum path_state


@dataclass
class Flow:
    """A scavenger in congestion avoidance, in one of the two builds."""

    pure: Pure
    sender: Any
    path: Any
    memory: Any  # in use by the sender
    gathered: int = 0  # ACKs that were

    @property
    def best_effort(self) -> Any:
        """Return B."""
        return self.sender.scavenger.best_effort

    @property
    def earned_q16(self) -> int:
        """Return B with what the base has not heard of yet."""
        heard, step_q16 = self.best_effort.window_q16, self.best_effort.step_q16
        return int(heard + self.sender.gathered.acked * step_q16)

    def ack(self, packets: int, rtt_us: int, in_use: bool) -> None:
        """TCP sends as many packets as an ACK has acknowledged, and shows us that ACK."""
        path = self.path
        path.una, path.nxt = path.una + packets * MSS, path.nxt + packets * MSS
        path.delivered += packets
        path.now_us += RTT_US * packets * MSS // (path.nxt - path.una)
        path.cwnd_limited, path.out_max = in_use, path.cwnd if in_use else 0
        before = self.sender.gathered.acked
        sample = self.pure.new(
            "rtt_sample", now_us=path.now_us, rtt_us=rtt_us, packets=packets, una=path.una,
            cwnd=path.cwnd,
        )  # fmt: skip
        self.pure.pure_ack(self.sender, path, sample)
        self.gathered += self.sender.gathered.acked > before

    def lose(self, state: int) -> int:
        """TCP asks for the answer to a loss or a mark; return it, which becomes the window."""
        answer = int(self.pure.sender_ssthresh(self.sender, self.path))
        self.path.ssthresh = answer
        self.pure.sender_count_loss(self.sender, self.path, state)
        self.pure.sender_begin_repair(self.sender, self.path, state)
        self.path.cwnd = min(self.path.cwnd, self.path.ssthresh)
        self.pure.sender_complete_cwr(self.sender, self.path)
        self.pure.sender_end_repair(self.sender, self.path, OPEN)
        return answer


def begin(pure: Pure, cwnd: int, w_q16: int, origin: int) -> Flow:
    """A flow that holds this window: alone, or at w beside others; W_max is origin."""
    path = pure.new("tcp_path", una=1, nxt=1 + cwnd * MSS, cwnd=cwnd, ssthresh=2, mss=MSS)
    path.srtt_us, path.cwnd_max, path.now_us = RTT_US, 1_000_000, 10**9
    sender, memory = pure.new("sender"), pure.new("path_memory")
    pure.path_memory_init(memory)
    pure.sender_init(sender, path, 0)
    pure.sender_join(sender, memory, path.now_us)
    pure.sender_set_base(sender, path, pure.base("scavenger"))
    sender.control.w_q16 = w_q16
    flow = Flow(pure, sender, path, memory)
    if w_q16 < Q16:
        sender.regime = pure.REGIME_CONTENDED
        memory.contended, memory.queue_us = True, path.now_us  # others were seen just now,
        memory.patience_us = 600_000_000  # and may pause for so long
    pure.cubic_start(
        pure.ffi.addressof(flow.best_effort), cwnd * Q16 * Q16 // w_q16, origin * Q16
    )  # fmt: skip
    pure.cubic_round(pure.ffi.addressof(flow.best_effort), 0, RTT_US)
    return flow


acks = st.tuples(
    st.integers(1, 4),  # packets
    st.sampled_from([0, 0, 0, 500, 2000]),  # a queue
    st.sampled_from([True] * 9 + [False]),  # the window is in use
)
ROUND = st.lists(acks, min_size=1, max_size=60)


def both(pure: Pure, each_ack: Pure, cwnd: int, w_q16: int, origin: int) -> tuple[Flow, Flow]:
    """The same flow in both builds, which draw the same random numbers."""
    for build in (pure, each_ack):
        build.pure_seed(1)
    return begin(pure, cwnd, w_q16, origin), begin(each_ack, cwnd, w_q16, origin)


@given(
    cwnd=st.integers(2, 400), w_q16=st.sampled_from([Q16, Q16 // 2, Q16 // 100]),
    growth=st.integers(0, 400), stream=ROUND, state=st.sampled_from([CWR, RECOVERY]),
)  # fmt: skip
def test_within_a_round_every_window_and_the_answer_to_a_loss_are_the_same(
    pure: Pure, each_ack: Pure, cwnd: int, w_q16: int, growth: int, stream: Any, state: int
) -> None:
    """The loss is answered at once, whatever was gathered, and B at the loss is the same."""
    ours, other = both(pure, each_ack, cwnd, w_q16, cwnd + growth)
    for packets, queue_us, in_use in stream:
        for flow in (ours, other):
            flow.sender.round.end = flow.path.nxt  # no round ends
            flow.ack(packets, RTT_US + queue_us, in_use)
        assert (ours.path.cwnd, ours.path.ssthresh) == (other.path.cwnd, other.path.ssthresh)
    before = ours.path.cwnd
    answer = ours.lose(state)
    assert answer == other.lose(state)
    assert answer <= max(2, 717 * before // 1024)
    assert ours.path.cwnd == other.path.cwnd <= answer
    assert ours.sender.losses.answers == ours.sender.losses.episodes == 1
    for name in ("window_q16", "origin_q16", "reno_q16", "step_q16"):
        assert getattr(ours.best_effort, name) == getattr(other.best_effort, name)
    undo = ours.sender.scavenger.undo_window_q16
    assert undo == other.sender.scavenger.undo_window_q16
    assert (other.gathered, ours.sender.gathered.acked) == (0, 0)


@pytest.mark.parametrize("cwnd", [10, 30, 200])
@pytest.mark.parametrize("w_q16", [Q16, Q16 // 2, Q16 // 10])
def test_until_a_loss_b_differs_by_a_packet_at_most(
    pure: Pure, each_ack: Pure, cwnd: int, w_q16: int
) -> None:
    """Over many rounds, by Reno's part and by CUBIC's curve; most ACKs are gathered."""
    ours, other = both(pure, each_ack, cwnd, w_q16, 2 * cwnd)
    start_q16 = ours.best_effort.window_q16
    for _ in range(5000):
        for flow in (ours, other):
            flow.ack(1, RTT_US, True)
        assert abs(ours.path.cwnd - other.path.cwnd) <= 1
        assert abs(ours.earned_q16 - other.earned_q16) <= Q16
    assert ours.sender.regime == other.sender.regime == (w_q16 < Q16)
    assert ours.best_effort.window_q16 >= start_q16 + Q16
    assert ours.gathered > 0.5 * 5000
    assert other.gathered == 0
