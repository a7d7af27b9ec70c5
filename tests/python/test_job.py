# SPDX-License-Identifier: GPL-2.0-only
"""job.c in closed loop: several connections, one goal, one w."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from plant import PRICE_Q40, Q16, Transfer

WINDOW_S, SRTT_US, STEP_US = 600, 50_000, 10_000
START_US = 5_000_000


class Job:
    """A job whose connections carry w of their fair rate, by a clock of 10 ms."""

    def __init__(self, pure: Any, *, size: int, connections: int, fair_Bps: float = 1e6,  # noqa: N803
                 model_error: float = 1.0) -> None:  # fmt: skip
        """Set the goal on each connection."""
        self.pure, self.fair_Bps, self.model_error = pure, fair_Bps, model_error
        self.job = pure.new("job")
        pure.job_init(self.job)
        self.now_us, self.sent, self.asleep_us = START_US, 0.0, 0
        self.updates: list[tuple[float, float]] = []  # when, w
        config = pure.new("control_config", controller=pure.CONTROLLER_MBC, wmin_q16=655)
        self.copies = [pure.new("control") for _ in range(connections)]
        for copy in self.copies:
            pure.control_start(copy, config, size, 0, self._ns(), self._ns() + WINDOW_S * 10**9)
            pure.job_begin(self.job, copy, self.now_us, SRTT_US)
        self.since_us = [self.now_us] * connections
        self.unsaid, self.busy_us = [0.0] * connections, [0] * connections
        self._model_q40 = pure.ffi.callback("u64(void *, u64)", self._model)
        self.model = pure.new("control_model", model_q40=self._model_q40)

    def _model(self, _arg: Any, rate_Bps: int) -> int:  # noqa: N803
        return min(round(PRICE_Q40 * self.fair_Bps / self.model_error / max(rate_Bps, 1)), 2**63)

    def _ns(self) -> int:
        return (self.now_us + self.asleep_us) * 1000

    def known(self) -> Any:
        """Ask for what job_read() tells."""
        known = self.pure.new("job_known")
        self.pure.job_read(self.job, known)
        return known

    def hand_in(self, n: int) -> None:
        """One connection tells what it has done."""
        elapsed_us = self.now_us - self.since_us[n]
        sample = {
            "now_ns": self._ns(), "elapsed_ns": elapsed_us * 1000,
            "bytes_done": int(self.unsaid[n]), "price_q40": PRICE_Q40,
            "price_standard_q40": PRICE_Q40, "srtt_us": SRTT_US,
            "rounds": elapsed_us // SRTT_US, "losses": 0, "others_seen": True,
            "app_limited": self.busy_us[n] < elapsed_us // 2,
        }  # fmt: skip
        part = self.pure.new("job_part", now_us=self.now_us, busy_us=self.busy_us[n])
        for name, value in sample.items():
            setattr(part.sample, name, value)
        if self.pure.job_hand_in(self.job, self.copies[n], part, self.model):
            self.updates.append((self.now_us / 1e6, self.copies[n].w_q16 / Q16))
        self.unsaid[n] -= int(self.unsaid[n])
        self.since_us[n], self.busy_us[n] = self.now_us, 0

    def run(self, until: float, active: Any = lambda _n, _s: True) -> None:
        """Let them send until this share of the window; active: which has something to send."""
        while self.now_us < START_US + until * WINDOW_S * 1e6:
            self.now_us += STEP_US
            for n, copy in enumerate(self.copies):
                idle = not active(n, self.now_us / 1e6)
                if not idle:
                    sent = self.fair_Bps * copy.w_q16 / Q16 * STEP_US / 1e6
                    self.sent += sent
                    self.unsaid[n] += sent
                    self.busy_us[n] += STEP_US
                tw_us = self.pure.control_tw_ns(copy, SRTT_US) // 1000
                due = self.now_us - self.since_us[n] >= tw_us // self.pure.PARTS_PER_TW
                if due and not idle:
                    self.hand_in(n)


@pytest.mark.parametrize("model_error", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("connections", [1, 3, 8])
def test_a_job_carries_what_its_goal_needs(pure: Any, connections: int, model_error: float) -> None:
    """Within 5 %, and by the deadline, whatever the number of its connections."""
    size = int(0.25e6 * WINDOW_S * connections)
    job = Job(pure, size=size, connections=connections, model_error=model_error)
    job.run(0.4)
    sent, at_us, target_Bps = job.sent, job.now_us, job.known().control.target_Bps  # noqa: N806
    job.run(0.9)
    rate_Bps = (job.sent - sent) / (job.now_us - at_us) * 1e6  # noqa: N806
    assert rate_Bps == pytest.approx(target_Bps, rel=0.05)
    settled = [w for at_s, w in job.updates if at_s > START_US / 1e6 + 0.4 * WINDOW_S]
    assert max(abs(b / a - 1) for a, b in pairwise(settled)) < 0.1
    job.run(1)
    assert job.known().control.status == pure.STATUS_DONE


def test_a_job_of_one_connection_is_a_goal(pure: Any) -> None:
    """w is that of a connection with a goal of its own."""
    size = int(0.25e6 * WINDOW_S)
    job, own = Job(pure, size=size, connections=1), Transfer(pure, size=size, window_s=WINDOW_S)
    job.run(0.9)
    own.until(0.9)
    assert job.copies[0].w_q16 / Q16 == pytest.approx(own.d.w_q16 / Q16, abs=0.01)


@pytest.mark.parametrize("seconds", [False, True])
def test_a_jobs_phi_is_the_ratio_of_its_parts_prices(pure: Any, seconds: bool) -> None:
    """As of a goal of its own: CDG pays in the unit of losses, Vegas hands that in beside q."""
    job = Job(pure, size=10**12, connections=2)
    paid = {"phi_price_q40": 3 * PRICE_Q40} if seconds else {"price_q40": 3 * PRICE_Q40}
    while len(job.updates) < pure.TPHI_UPDATES:
        job.now_us += 10**6
        part = part_of(pure, job.now_us, price_standard_q40=2 * PRICE_Q40, **paid)
        if pure.job_hand_in(job.job, job.copies[0], part, job.model):
            job.updates.append((job.now_us / 1e6, 0))
    known = job.known()
    assert known.control.phi_q16 / Q16 == pytest.approx(1.15, abs=1e-3)  # F(25), by l_phi


def test_a_job_needs_no_more_where_some_of_its_connections_rest(pure: Any) -> None:
    """Of eight connections three send; the others' copies of w do not matter."""
    job = Job(pure, size=int(0.5e6 * WINDOW_S), connections=8)
    job.run(1, lambda n, _s: n < 3)
    assert job.known().control.status == pure.STATUS_DONE
    late = [w for at_s, w in job.updates if at_s > START_US / 1e6 + 0.3 * WINDOW_S]
    assert max(late[:-10]) < 0.25  # 1/6 is needed of each of three


@pytest.mark.parametrize(("on", "limited"), [(0.3, True), (0.2, False)])
def test_connections_that_take_turns_keep_the_path_busy(
    pure: Any, on: float, limited: bool
) -> None:
    """Two that send for so much of the time each, one after the other: 60 % and 40 of it."""
    job = Job(pure, size=int(0.3e6 * WINDOW_S), connections=2)
    job.run(0.3, lambda n, s: n / 2 <= s / 10 % 1 < n / 2 + on)
    assert job.known().control.last.app_limited != limited


def test_a_job_needs_more_after_a_sleep_and_no_rate_was_zero(pure: Any) -> None:
    """The deadline's clock runs on in suspend, that of Tw does not."""
    job = Job(pure, size=int(0.5e6 * WINDOW_S), connections=2)
    job.run(0.5)
    known = job.known()  # the struct has to outlive what is read of it
    needed, rate = known.control.target_Bps, known.control.rate_Bps
    job.asleep_us = WINDOW_S * 1_000_000 // 4
    job.run(0.51)
    known = job.known()
    assert known.control.target_Bps == pytest.approx(2.2 * needed, rel=0.1)
    assert known.control.rate_Bps > 0.9 * rate
    job.run(0.75)
    assert job.known().control.status == pure.STATUS_DONE


def test_the_end_is_the_last_bytes(pure: Any) -> None:
    """The job counts bytes that connections tell only when they end; the last sets its time."""
    job = Job(pure, size=1000, connections=2)
    pure.job_add(job.job, 400, job._ns() + 5)
    assert job.known().done_ns == 0
    pure.job_add(job.job, 600, job._ns() + 7)
    known = job.known()
    assert (known.bytes_done, known.done_ns) == (1000, job._ns() + 7)
    part = part_of(pure, job.now_us + 10**6, bytes_done=0)
    assert pure.job_hand_in(job.job, job.copies[0], part, job.model)  # w is set at once, and once
    part = part_of(pure, job.now_us + 10**6 + 10, bytes_done=0, elapsed_ns=10_000)
    assert not pure.job_hand_in(job.job, job.copies[0], part, job.model)
    pure.job_change_goal(job.job, 2000, job._ns() + 9, known.control.goal.deadline_ns)
    assert job.known().done_ns == 0
    job.hand_in(0)
    assert job.copies[0].status == pure.STATUS_ON_TRACK


def test_the_first_goal_is_the_jobs(pure: Any) -> None:
    """A connection that comes with another goal has a part in that one."""
    job = Job(pure, size=1000, connections=1)
    other, config = pure.new("control"), pure.new("control_config", wmin_q16=655)
    pure.control_start(other, config, 5000, 0, job._ns(), job._ns() + 10**9)
    pure.job_begin(job.job, other, job.now_us, SRTT_US)
    assert (other.goal.bytes, job.known().control.goal.bytes) == (1000, 1000)


def test_bytes_from_before_the_goal_count(pure: Any) -> None:
    """A connection that has come over from another job, and ends before its first part."""
    job, copy = pure.new("job"), pure.new("control")
    config = pure.new("control_config", wmin_q16=655)
    pure.job_init(job)
    pure.job_add(job, 400, 5)
    pure.control_start(copy, config, 1000, 0, 6, 10**9)
    pure.job_begin(job, copy, START_US, SRTT_US)
    pure.job_add(job, 600, 7)
    assert (job.bytes_done, job.done_ns) == (1000, 7)


def part_of(pure: Any, now_us: int, **more: Any) -> Any:
    """Return a part of a second: twenty rounds, two of its packets lost, beside others."""
    sample = {
        "now_ns": now_us * 1000, "elapsed_ns": 10**9, "bytes_done": 1000, "srtt_us": SRTT_US,
        "price_q40": PRICE_Q40, "rounds": 20, "losses": 2, "others_seen": True,
    } | more  # fmt: skip
    part = pure.new("job_part", now_us=now_us, busy_us=sample.pop("busy_us", 10**6))
    for name, value in sample.items():
        setattr(part.sample, name, value)
    return part


def test_parts_add_up(pure: Any) -> None:
    """Of two connections in the same second, one that had nothing under way, and one of a pause."""
    job = Job(pure, size=10**9, connections=2)
    second, tw = START_US + 10**6, job.job.tw
    short = {"busy_us": 10, "rounds": 0, "others_seen": False}
    for more in ({"elapsed_ns": 0}, {}, {"busy_us": 0}, short):
        part = part_of(pure, second, **more)
        assert not pure.job_hand_in(job.job, job.copies[0], part, job.model)
    assert (tw.busy_us, tw.rounds, tw.rounds_beside, tw.losses) == (2_000_010, 41, 40, 6)
    assert tw.price_sum_q40 == pytest.approx(41 * PRICE_Q40, rel=1e-6)
    assert (tw.limited_us, tw.limited_until_us) == (10**6, second)
    part = part_of(pure, second + 10**6 // 2, app_limited=True)
    assert not pure.job_hand_in(job.job, job.copies[0], part, job.model)
    part = part_of(pure, second + 2 * 10**6)  # it says nothing of the first of these two seconds
    assert not pure.job_hand_in(job.job, job.copies[0], part, job.model)
    assert (tw.limited_us, tw.limited_until_us) == (2 * 10**6, second + 2 * 10**6)
    assert job.known().bytes_done == 6000


@pytest.mark.parametrize(
    ("beside", "less_us", "seen", "waits"),
    [(11, 0, True, False), (10, 0, False, False), (20, 1, True, True)],
)
def test_what_the_end_of_tw_tells(
    pure: Any, beside: int, less_us: int, seen: bool, waits: bool
) -> None:
    """Beside others for most of the rounds, limited by the path for half of the time."""
    job = Job(pure, size=10**9, connections=2)
    tw, rates = job.job.tw, list[int]()

    def price(_arg: Any, rate_Bps: int) -> int:  # noqa: N803
        rates.append(rate_Bps)
        return PRICE_Q40

    tw.rounds, tw.rounds_beside, tw.losses = 19, beside - 1, 5
    tw.price_sum_q40, tw.busy_us = 19 * 2 * PRICE_Q40, 3 * (tw.end_us - START_US)
    tw.limited_us, tw.limited_until_us = (tw.end_us - START_US) // 2 - less_us, tw.end_us
    target_Bps = job.known().control.target_Bps  # noqa: N806
    model = pure.ffi.callback("u64(void *, u64)", price)
    part = part_of(pure, tw.end_us, rounds=1, losses=0, busy_us=1, price_q40=0)
    copy = job.copies[1]
    assert pure.job_hand_in(job.job, copy, part, pure.new("control_model", model_q40=model))
    assert (copy.last.app_limited, copy.tphi.updates) == (waits, seen)
    assert copy.tphi.losses == (5 if seen else 0)
    assert copy.tphi.price_sum_q40 == pytest.approx(38 * PRICE_Q40 if seen else 0, rel=1e-6)
    if not waits:
        assert rates[0] == pytest.approx(target_Bps / 3, rel=0.02)


@pytest.mark.parametrize("base", ["cdg", "vegas"])
def test_a_base_forgets_by_the_jobs_tw(pure: Any, base: str) -> None:
    """Of eight connections each forgets as much as a connection with a goal of its own."""
    job, connections = Job(pure, size=10**12, connections=8), 8
    own = pure.new("sender")
    senders = [own, *(pure.new("sender") for _ in range(connections))]
    for n, sender in enumerate(senders):
        sender.base = pure.base(base)
        pure.ffi.memmove(pure.ffi.addressof(sender, "control"), job.copies[max(n - 1, 0)],
                         pure.ffi.sizeof("struct control"))  # fmt: skip
        sender.cdg.price.rounds_q8 = sender.cdg.price.hist_q8[9] = 1 << 20
        sender.vegas.price.rounds_q8 = sender.vegas.price.delay_us_q8 = 1 << 20
    part_us = pure.control_tw_ns(job.copies[0], SRTT_US) // 1000 // pure.PARTS_PER_TW
    told = [0] * len(senders)
    for k in range(1, 6 * pure.PARTS_PER_TW + 2):
        for n, sender in enumerate(senders):
            if n == 0 and k % pure.PARTS_PER_TW:
                continue
            parts = 1 if n else pure.PARTS_PER_TW
            # each at a time of its own
            part = part_of(pure, START_US + k * part_us + 1000 * n,
                           elapsed_ns=parts * part_us * 1000)  # fmt: skip
            told[n] += pure.sender_end_interval(
                sender, job.job if n else pure.ffi.NULL, part, job.model
            )
    assert told == [6] * len(senders)
    prices = [(s.cdg.price.rounds_q8, s.cdg.price.hist_q8[9], s.vegas.price.rounds_q8,
               s.vegas.price.delay_us_q8) for s in senders]  # fmt: skip
    assert prices == [prices[0]] * len(senders)
    assert prices[0] != (1 << 20,) * 4
