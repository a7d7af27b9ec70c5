# SPDX-License-Identifier: GPL-2.0-only
"""core/sender.c: cuts of the window, how they proceed, and which of them are counted."""

from __future__ import annotations

from typing import Any

import pytest
from inputs import Q16

OPEN, DISORDER, CWR, RECOVERY, LOSS = range(5)  # enum path_state
MSS = 1000


def begin(pure: Any, base: str, **fields: Any) -> tuple[Any, Any]:
    """A flow with a window of 100 packets, all of them under way, in congestion avoidance."""
    given = {"una": 1, "nxt": 1 + 100 * MSS, "cwnd": 100, "ssthresh": 100, "mss": MSS}
    path = pure.new("tcp_path", **given, srtt_us=50_000, cwnd_max=1000, now_us=10**9)
    sender = pure.new("sender")
    pure.sender_init(sender, path, 0)
    pure.sender_set_base(sender, path, pure.base(base))
    for name, value in fields.items():
        setattr(path, name, value)
    return sender, path


def cutting(pure: Any, to: int, in_flight: int = 100) -> tuple[Any, Any]:
    """A flow that has begun to cut its window of 100 for delay."""
    sender, path = begin(pure, "cdg", delivered=1000, ssthresh=to)
    sender.cdg.state = pure.CDG_BACKOFF
    sender.delay_cut.cwnd, sender.delay_cut.in_flight = 100, in_flight
    pure.sender_begin_round(sender, path)
    return sender, path


@pytest.mark.parametrize(
    ("to", "in_flight", "delivered", "cwnd"),
    [
        (60, 100, 0, 100),
        (60, 100, 50, 80),  # in proportion to what is delivered
        (60, 100, 100, 60),
        (60, 100, 250, 60),  # more than the window, as a late ACK may tell
        (60, 70, 10, 66),  # it begins at what is in flight
        (60, 62, 50, 60),  # and does not go below its end
        (60, 10, 50, 60),
        (100, 100, 50, 100),
        (120, 90, 50, 100),  # nothing to cut: it does not grow either
    ],
)
def test_a_cut_for_delay_proceeds_with_what_is_delivered(
    pure: Any, to: int, in_flight: int, delivered: int, cwnd: int
) -> None:
    sender, path = cutting(pure, to, in_flight)
    path.delivered += delivered
    assert pure.sender_continue_cut(sender, path)
    assert path.cwnd == cwnd


def test_a_cut_for_delay_takes_a_round_trip(pure: Any) -> None:
    sender, path = cutting(pure, 60)
    path.una = path.nxt
    path.nxt += 50 * MSS
    assert pure.sender_continue_cut(sender, path)  # the last packet of before
    path.una += 1
    path.delivered += 3
    assert not pure.sender_continue_cut(sender, path)
    assert path.cwnd == 60
    assert sender.cdg.state != pure.CDG_BACKOFF
    assert (sender.round.end, sender.round.delivered) == (path.nxt, path.delivered)


def test_a_window_that_a_cut_has_made_smaller_does_not_grow_in_it(pure: Any) -> None:
    """TCP may have made it smaller meanwhile."""
    sender, path = cutting(pure, 60)
    path.cwnd = 50
    assert pure.sender_continue_cut(sender, path)
    assert path.cwnd == 50


@pytest.mark.parametrize(
    ("beta", "mu_q16", "ssthresh"),
    [(1, 0, 50), (1, Q16, 50), (1, Q16 // 2, 25), (1, 3 * Q16, 50), (1, Q16 // 100, 2),
     (0, Q16 // 2, 50)],
)  # fmt: skip
def test_w_deepens_the_answer_to_a_loss_where_it_inflates_by_beta(
    pure: Any, beta: int, mu_q16: int, ssthresh: int
) -> None:
    """Never less deep than without a goal, mu above 1 or not."""
    sender, path = begin(pure, "least")
    sender.heuristics.inflate_beta, sender.mu_q16 = beta, mu_q16
    assert pure.sender_ssthresh(sender, path) == ssthresh
    assert sender.signals.count == 1


def test_mu_above_one_does_not_raise_the_answer_to_a_loss_by_one_packet(pure: Any) -> None:
    sender, path = begin(pure, "least", cwnd=200_000)
    sender.heuristics.inflate_beta, sender.mu_q16 = 1, 3 * Q16
    assert pure.sender_ssthresh(sender, path) == 100_000


def phantom(pure: Any) -> tuple[Any, Any]:
    """A flow whose next packets bring a phantom signal for certain."""
    sender, path = begin(pure, "least", cwnd_cnt=7)
    signals = pure.ffi.addressof(sender, "signals")
    for _ in range(2):
        pure.signals_count(signals, path)
    signals.time_us, signals.packets_q8, sender.mu_q16 = 1_000_000, 256, Q16 // 100
    pure.signals_inflate(signals, sender.mu_q16)
    return sender, path


def test_a_phantom_signal_cuts_like_a_mark_and_counts_as_none(pure: Any) -> None:
    sender, path = phantom(pure)
    sender.delay_cut.backoffs = 3
    path.una, path.nxt = 1 + 50 * MSS, 1 + 120 * MSS
    pure.sender_grow_or_phantom_cut(sender, path, 100)
    assert sender.cdg.state == pure.CDG_BACKOFF
    assert path.ssthresh == 50  # w is not in it: phantom signals are more instead
    assert (path.cwnd, path.cwnd_cnt, path.no_undo) == (100, 0, True)
    assert (sender.delay_cut.cwnd, sender.delay_cut.in_flight) == (100, 70)
    assert (sender.delay_cut.backoffs, sender.losses.backoffs) == (4, 0)
    assert sender.signals.count == 2
    assert sender.round.end == path.nxt


@pytest.mark.parametrize("why", ["no controller", "beta", "recovering", "long ago"])
def test_else_it_grows(pure: Any, why: str) -> None:
    sender, path = phantom(pure)
    if why == "no controller":
        sender.mu_q16 = 0
    elif why == "beta":
        sender.heuristics.inflate_beta = 1
    elif why == "recovering":
        path.state = CWR
    else:
        path.now_us += 3_000_001
    pure.sender_grow_or_phantom_cut(sender, path, 100)
    assert sender.cdg.state != pure.CDG_BACKOFF
    assert path.cwnd == 101


@pytest.mark.parametrize(("in_use", "cwnd", "shadow"), [(True, 101, 201), (False, 100, 100)])
def test_reno_grows_a_window_in_use(pure: Any, in_use: bool, cwnd: int, shadow: int) -> None:
    """And CDG's shadow with it, the window without cuts for delay."""
    sender, path = begin(pure, "least")
    sender.cdg.shadow_cwnd = 200
    pure.sender_grow_reno(sender, path, 100, in_use)
    assert (path.cwnd, sender.cdg.shadow_cwnd) == (cwnd, shadow)


def test_another_base_begins_alone_and_the_same_one_goes_on(pure: Any) -> None:
    sender, path = begin(pure, "cdg")
    assert not sender.sets_pacing
    sender.regime = pure.REGIME_CONTENDED
    pure.sender_set_base(sender, path, pure.base("cdg"))
    assert sender.regime == pure.REGIME_CONTENDED
    pure.sender_set_base(sender, path, pure.base("vegas"))
    assert sender.regime == pure.REGIME_ALONE
    memory = pure.new("path_memory")
    pure.path_memory_init(memory)
    pure.sender_join(sender, memory, path.now_us)
    for base in ("scavenger", "cdg"):  # what a paced one has told TCP, somebody has to take back
        pure.sender_set_base(sender, path, pure.base(base))
        assert sender.sets_pacing
    path.delivered = 700
    pure.sender_set_base(sender, path, pure.base("least"))
    assert sender.signals.last_delivered == 700


def test_a_flow_that_joins_another_path_leaves_the_last(pure: Any) -> None:
    sender, path = begin(pure, "cdg")
    memories = [pure.new("path_memory") for _ in range(2)]
    for memory in memories:
        pure.path_memory_init(memory)
        pure.sender_join(sender, memory, path.now_us)
        assert sender.memory == memory
    assert [memory.flows for memory in memories] == [0, 1]
    pure.sender_leave(sender)
    pure.sender_leave(sender)
    assert [memory.flows for memory in memories] == [0, 0]


def test_the_answer_to_a_loss_holds_to_the_end_of_its_window(pure: Any) -> None:
    """RFC 5681: one answer per window."""
    sender, path = begin(pure, "least")
    assert pure.sender_ssthresh(sender, path) == 50
    answer_end = path.nxt
    assert (sender.losses.answer_end, sender.losses.answer_cwnd) == (answer_end, 100)
    counted = []
    for una in (1, answer_end, answer_end + 1):
        path.una = una
        assert pure.sender_count_loss(sender, path, RECOVERY)
        pure.sender_begin_repair(sender, path, RECOVERY)
        counted.append((sender.losses.episodes, sender.losses.answers))
    # the third, in another window, has no answer: the counts show it
    assert counted == [(1, 1), (2, 2), (3, 2)]


def test_an_old_answer_never_comes_to_hold_again(pure: Any) -> None:
    """After 2 GB sequence numbers would compare the other way."""
    sender, path = begin(pure, "least")
    sender.losses.answer_end = 1 + MSS
    pure.sender_begin_round(sender, path)
    assert sender.losses.answer_end == 1 + MSS  # it still holds
    for _ in range(5):
        path.una = (path.una + 2**30) % 2**32
        path.nxt = (path.una + MSS) % 2**32
        pure.sender_begin_round(sender, path)
        pure.sender_count_loss(sender, path, RECOVERY)
        assert sender.losses.answers == 0


@pytest.mark.parametrize(
    ("state", "asked", "before", "counted"),
    [
        (LOSS, False, OPEN, False),  # packets too large, or a SYN's data: TCP has not asked
        (LOSS, False, DISORDER, False),
        (LOSS, True, OPEN, True),
        (LOSS, False, CWR, True),  # amid a repair that cannot be told from a timeout
        (LOSS, False, RECOVERY, True),
        (RECOVERY, False, OPEN, True),
        (CWR, False, OPEN, True),
    ],
)
def test_what_is_no_loss_is_not_counted(
    pure: Any, state: int, asked: bool, before: int, counted: bool
) -> None:
    sender, path = begin(pure, "least", state=before)
    sender.losses.asked = asked
    assert pure.sender_count_loss(sender, path, state) is counted
    assert sender.losses.episodes == counted


@pytest.mark.parametrize(
    ("state", "una", "counted"), [(OPEN, 102, 1), (OPEN, 101, 0), (CWR, 102, 1), (LOSS, 102, 0)]
)
def test_a_mark_is_counted_when_it_is_seen_and_once(
    pure: Any, state: int, una: int, counted: int
) -> None:
    """Not where the window has its answer, nor after a timeout, in which TCP asks for none."""
    sender, path = begin(pure, "least", state=state, una=una)
    sender.losses.answer_end = 101
    for _ in range(2):
        pure.sender_count_mark(sender, path)
        assert sender.losses.episodes == sender.losses.marked == counted
    path.state = OPEN
    pure.sender_ssthresh(sender, path)
    assert pure.sender_count_loss(sender, path, CWR)
    assert (sender.losses.episodes, sender.losses.answers) == (1, 1)
    assert not sender.losses.marked
    pure.sender_begin_repair(sender, path, CWR)
    assert not sender.losses.asked


def test_a_loss_amid_a_cut_for_delay_ends_it(pure: Any) -> None:
    sender, path = cutting(pure, 30)
    assert pure.sender_ssthresh(sender, path) == 30
    assert sender.cdg.state != pure.CDG_BACKOFF
    assert sender.losses.backoffs == 1


def test_after_a_pause_slow_start_begins_with_a_round(pure: Any) -> None:
    sender, path = begin(pure, "cdg", una=1 + 100 * MSS, nxt=1 + 200 * MSS, delivered=100)
    pure.sender_cwnd_restart(sender, path)
    assert sender.restarting
    assert (sender.round.end, sender.round.delivered) == (path.nxt, 100)


def test_where_tcps_own_reduction_ends_a_round_begins(pure: Any) -> None:
    sender, path = cutting(pure, 60)
    path.una, path.nxt = path.nxt, path.nxt + 50 * MSS
    pure.sender_complete_cwr(sender, path)
    assert sender.cdg.state != pure.CDG_BACKOFF
    assert sender.round.end == path.nxt


def listening(pure: Any, effect: int) -> tuple[Any, Any, list[Any], list[int]]:
    """A flow with a base that tells what it hears, with what holds its callbacks."""
    heard: list[int] = []
    base = pure.new("lbe_base")
    base[0] = pure.base("least")[0]
    callbacks = [
        pure.ffi.callback(
            "void(struct sender *, struct tcp_path *, enum base_event)",
            lambda _s, _p, event: heard.append(event),
        ),
        pure.ffi.callback(
            "enum round_effect(struct sender *, struct tcp_path *, u32, s32)",
            lambda _s, _p, _before_us, _gradient_us: effect,
        ),
        pure.ffi.callback("void(struct sender *, u64)", lambda _s, price: heard.append(price)),
    ]
    base.event, base.round, base.steer = callbacks
    sender, path = begin(pure, "least")
    sender.base = base
    return sender, path, [base, *callbacks], heard


@pytest.mark.parametrize("effect", ["NONE", "SET", "CUT"])
def test_a_rounds_end_cuts_where_the_base_says_so(pure: Any, effect: str) -> None:
    sender, path, _kept, _heard = listening(pure, getattr(pure, f"ROUND_{effect}"))
    path.una, path.nxt = path.nxt, path.nxt + 80 * MSS
    result = pure.sender_end_round(sender, path)
    assert (result.backoff, result.set) == (effect == "CUT", effect != "NONE")
    assert (sender.cdg.state == pure.CDG_BACKOFF) == (effect == "CUT")
    assert sender.delay_cut.in_flight == (80 if effect == "CUT" else 0)
    assert sender.round.end == path.nxt


def test_the_base_hears_what_tcp_does(pure: Any) -> None:
    sender, path, _kept, heard = listening(pure, pure.ROUND_NONE)
    for state in (OPEN, DISORDER):
        pure.sender_end_repair(sender, path, state)
    for state in (CWR, RECOVERY, LOSS):
        pure.sender_begin_repair(sender, path, state)
    pure.sender_complete_cwr(sender, path)
    pure.sender_cwnd_restart(sender, path)
    pure.sender_count_loss(sender, path, LOSS)  # nothing was lost
    assert heard == [
        pure.BASE_OPEN, pure.BASE_DISORDER, pure.BASE_RECOVERY, pure.BASE_TIMEOUT,
        pure.BASE_COMPLETE_CWR, pure.BASE_ROUND, pure.BASE_CWND_RESTART, pure.BASE_ROUND,
        pure.BASE_DISORDER,
    ]  # fmt: skip


def test_a_goal_begins_at_the_weight_in_force_and_pays_for_its_own_time(pure: Any) -> None:
    """A base that mu does not steer has none."""
    for steered in (True, False):
        sender, path, kept, heard = listening(pure, pure.ROUND_NONE)
        if not steered:
            kept[0].steer = pure.ffi.NULL
        sender.cdg.price.counts.losses = 3
        sender.control.w_q16, sender.control.phi_q16 = Q16 // 4, 2 * Q16
        pure.sender_begin_goal(sender, path)
        assert heard == ([pure.BASE_GOAL, 0] if steered else [pure.BASE_GOAL])
        assert sender.mu_q16 == Q16 // 2
        assert sender.signals.inflation_q16 == Q16
        pure.sender_steer(sender, 77)
        assert heard[-1] == (77 if steered else pure.BASE_GOAL)


def test_another_weight_is_in_force_at_once(pure: Any) -> None:
    sender, _path = begin(pure, "least")
    config = pure.new("control_config", controller=pure.CONTROLLER_WEIGHT)
    config.wmin_q16 = Q16 // 10
    sender.control.phi_q16 = Q16
    pure.sender_configure(sender, config)
    assert sender.mu_q16 == Q16 // 10
    assert sender.signals.inflation_q16 == pytest.approx(9 * Q16, rel=0.001)


def test_an_interval_counts_its_own(pure: Any) -> None:
    sender, _path = begin(pure, "least")
    counts = sender.cdg.price.counts
    counts.losses = counts.rounds = 3
    sender.interval.acks = sender.interval.rounds = 7
    pure.sender_begin_interval(sender)
    assert not any(bytes(pure.ffi.buffer(pure.ffi.addressof(sender, "interval"))))
    assert not any(bytes(pure.ffi.buffer(pure.ffi.addressof(sender.cdg.price, "counts"))))


def test_the_price_of_losses_is_two_thirds_of_their_part_of_the_rounds(pure: Any) -> None:
    """docs/design.md, W(z) of a loss and F(22); others pay it, whatever base runs."""
    for base in ("cdg", "least"):
        sender, path = begin(pure, base)
        sender.cdg.price.counts.losses, sender.cdg.price.counts.rounds = 3, 10
        for delivered in (250, 500):
            path.delivered = delivered
            pure.signals_count(pure.ffi.addressof(sender, "signals"), path)
        sample = pure.sender_sample_interval(sender, 1_000_000, 1_000_000)
        assert (sample.rounds, sample.losses) == (10, 3)
        assert sample.weight_standard_q40 == pytest.approx(2**40 * 2 / 3, rel=1e-5)
        if base == "least":  # one packet in 250
            assert sample.price_q40 == sample.price_standard_q40 == 2**40 // 250
        else:
            assert sample.price_standard_q40 == pytest.approx(2**40 * 2 / 3 * 0.3, rel=1e-5)
