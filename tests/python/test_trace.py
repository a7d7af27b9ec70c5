# SPDX-License-Identifier: GPL-2.0-only
"""The module's tracepoints: what they say of CDG's decision, and as tables."""

import math
import time
from pathlib import Path

import polars as pl
import pytest
from dalbe_testbed.errors import TestbedError
from dalbe_testbed.reduce import trace
from hypothesis import given
from hypothesis import strategies as st
from inputs import Q32, gs_ns

HEADER = """\
# tracer: nop
#
# entries-in-buffer/entries-written: {left}/{written}   #P:1
#
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
#              | |         |   |||||     |         |
"""
MARK = "     scenario.sh-1       [000] .....    10.500000: tracing_mark_write: T=0\n"
UPDATE = (
    "           rsync-2       [000] ..s1.    {t:.6f}: dalbe_update: sport=4 dport={dport} "
    "w_ppm={w} time_left_ms=-5 status={status} new={new}\n"
)
ROUND = (
    "          <idle>-0       [000] ..s1.    {t:.6f}: dalbe_round: sport=4 dport={dport} "
    "rtt_min_us=50100 rtt_max_us=61000 gradient_min_ns=-125 gradient_max_ns=4875 "
    "gradient_ns=4875 g_ns=3000000 g_used_ns=20000000 cwnd={cwnd} ssthresh={ssthresh} "
    "base_rtt_us=50000 regime_state=1 ours_ppm=125000 carried_pps=833 "
    "best_effort=40 backoff={backoff}\n"
)
LOSS = (
    "          <idle>-0       [000] ..s1.    {t:.6f}: dalbe_loss: sport=4 dport={dport} "
    "episode=recovery regime_state=0 cwnd={cwnd} ssthresh={ssthresh} episodes={episodes} "
    "answers={answers}\n"
)
FLOWS = {5001: "cdg1", 5002: "cdg2"}


def written(directory: Path, *lines: str, lost: int = 0) -> Path:
    path = directory / "trace"
    path.write_text(HEADER.format(left=len(lines), written=len(lines) + lost) + "".join(lines))
    return path


def test_both_events_from_one_file(tmp_path: Path):
    path = written(
        tmp_path,
        ROUND.format(t=10.25, dport=5001, cwnd=9, ssthresh=2147483647, backoff=0),
        MARK,
        UPDATE.format(t=12.000001, dport=5002, w=10000, status=2, new="x"),
        ROUND.format(t=12.5, dport=5001, cwnd=10, ssthresh=7, backoff=1),
        UPDATE.format(t=13.000001, dport=5002, w=20000, status=3, new="y"),
        "  bash-3  [000] .....  13.500000: something_else: w_ppm=3\n",
    )
    control = trace.control(path, FLOWS)
    assert control["t_s"].to_list() == [1.500001, 2.500001]
    assert control["flow"].to_list() == ["cdg2", "cdg2"]
    assert control["w_ppm"].to_list() == [10000, 20000]
    assert control["time_left_ms"].to_list() == [-5, -5]
    assert control["status"].to_list() == ["on_track", "infeasible"]
    assert control["new"].to_list() == ["x", "y"]

    rounds = trace.rounds(path, FLOWS)
    assert rounds["t_s"].to_list() == [-0.25, 2.0]
    assert rounds["flow"].to_list() == ["cdg1", "cdg1"]
    assert rounds["gradient_min_ns"].to_list() == [-125, -125]
    assert rounds["ssthresh"].to_list() == [None, 7]
    assert rounds["backoff"].to_list() == [False, True]
    assert rounds["g_used_ns"].dtype == pl.Int64
    effect = rounds.select("base_rtt_us", "regime_state", "ours_ppm", "carried_pps")
    assert effect.unique().rows() == [(50000, 1, 125000, 833)]


def loss(cwnd: int = 40, ssthresh: int = 28, episodes: int = 3, answers: int = 3) -> str:
    return LOSS.format(
        t=12, dport=5001, cwnd=cwnd, ssthresh=ssthresh, episodes=episodes, answers=answers
    )


@pytest.mark.parametrize(
    "answered",
    [
        loss(),
        loss(cwnd=90, ssthresh=63),
        loss(ssthresh=20),
        loss(cwnd=2, ssthresh=2),
        loss(cwnd=0, ssthresh=40),
    ],
    ids=["by 0.7", "by 717/1024", "by half", "at the least window", "with an episode before"],
)
def test_answered_losses_are_a_table(tmp_path: Path, answered: str):
    table = trace.losses(written(tmp_path, MARK, answered), FLOWS)
    assert table["episode"].to_list() == ["recovery"]
    assert table["t_s"].to_list() == [1.5]


@pytest.mark.parametrize(
    "unanswered", [loss(answers=2), loss(ssthresh=29)], ids=["not asked", "by less than 0.7"]
)
def test_a_loss_without_an_answer_is_a_fault(tmp_path: Path, unanswered: str):
    with pytest.raises(TestbedError, match="not answered"):
        trace.losses(written(tmp_path, MARK, loss(), unanswered), FLOWS)


def test_a_flow_that_cuts_for_some_losses_still_hears_of_each(tmp_path: Path):
    uncut, unheard = loss(cwnd=15, ssthresh=15), loss(answers=2)
    assert trace.losses(written(tmp_path, MARK, uncut), FLOWS, FLOWS.values()).height == 1
    with pytest.raises(TestbedError, match="not answered"):
        trace.losses(written(tmp_path, MARK, unheard), FLOWS, FLOWS.values())


def test_largest_numbers_stay_numbers(tmp_path: Path):
    path = written(tmp_path, MARK, UPDATE.format(t=11, dport=5001, w=2**64 - 1, status=9, new=-1))
    control = trace.control(path, FLOWS)
    assert control["w_ppm"].to_list() == [2**64 - 1]
    assert control["new"].to_list() == [-1]
    assert control["status"].to_list() == ["9"]


def test_other_ports_are_left_out(tmp_path: Path):
    lines = [UPDATE.format(t=12, dport=port, w=1, status=2, new=1) for port in (5001, 873)]
    assert trace.control(written(tmp_path, MARK, *lines), FLOWS)["dport"].to_list() == [5001]


def test_no_module_is_no_row(tmp_path: Path):
    assert trace.control(tmp_path / "none", FLOWS).columns == ["t_s", "flow"]
    assert trace.rounds(written(tmp_path, MARK), FLOWS).columns == ["t_s", "flow"]


def test_lost_events_are_no_result(tmp_path: Path):
    with pytest.raises(TestbedError, match="8 events did not fit, 1 are left"):
        trace.rounds(written(tmp_path, MARK, lost=7), FLOWS)


def test_no_origin_is_no_result(tmp_path: Path):
    path = written(tmp_path, UPDATE.format(t=12, dport=5001, w=1, status=2, new=1))
    with pytest.raises(TestbedError, match="0 marks 'T=0' instead of one"):
        trace.control(path, FLOWS)


def test_events_of_two_kinds_are_no_result(tmp_path: Path):
    line = UPDATE.format(t=12, dport=5001, w=1, status=2, new=1)
    with pytest.raises(TestbedError, match="differs from the first"):
        trace.control(written(tmp_path, MARK, line, line.replace("w_ppm", "weight")), FLOWS)


def test_a_long_run_is_read_quickly(tmp_path: Path):
    lines = [
        ROUND.format(t=11 + i / 40, dport=5001, cwnd=i, ssthresh=7, backoff=i % 2)
        for i in range(12_000)
    ]
    path = written(tmp_path, MARK, *lines)
    start_s = time.process_time()
    rounds = trace.rounds(path, FLOWS)
    assert time.process_time() - start_s < 2
    assert rounds["cwnd"].to_list() == list(range(12_000))
    assert rounds["backoff"].sum() == 6000


@given(g_ns=gs_ns, idle_g_ns=st.just(0) | gs_ns, growth_us=st.integers(1, 30_000))
def test_gradient_and_g_are_those_of_the_decision(pure, g_ns: int, idle_g_ns: int, growth_us: int):
    """C(4) of the two that the event shows is the probability of the backoff that it shows."""
    cdg, heuristics = pure.new("cdg"), pure.new("cdg_heuristics")
    pure.cdg_init(cdg, g_ns, 10)
    pure.cdg_set_idle_g(cdg, idle_g_ns)
    for rtt_us in (50_000, 50_000 + growth_us):
        pure.pure_cdg_rtt_sample(cdg, rtt_us, 2, False)
        gradient_sum_us = pure.cdg_round(cdg, heuristics)
    gradient_ns = pure.cdg_gradient_ns(gradient_sum_us)
    assert gradient_ns == growth_us * 1000  # extrapolated from one gradient to eight
    expected = -math.expm1(-gradient_ns / pure.cdg_g_used_ns(cdg)) * Q32
    error = 1e-5 * Q32
    if expected - error > 0:
        assert pure.cdg_backoff(cdg, heuristics, gradient_sum_us, int(expected - error), 10)
    if expected + error < Q32:
        assert not pure.cdg_backoff(cdg, heuristics, gradient_sum_us, int(expected + error), 10)
