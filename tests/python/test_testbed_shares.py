# SPDX-License-Identifier: GPL-2.0-only
"""Shares, phases and verdicts from bins whose contents are known."""

from pathlib import Path

import polars as pl
import pytest
from dalbe_testbed import demo, link, shares, trace
from dalbe_testbed.errors import TestbedError
from dalbe_testbed.experiment import Link
from dalbe_testbed.shares import Interval

RATE = 10e6


def bins(end_s: int, file, cross) -> pl.DataFrame:
    rows = []
    for half in range(end_s * 2):
        t = half / 2
        for flow, rate in (("file", file(t)), ("cross", cross(t))):
            rows.append((t, flow, int(rate / 16 * 0.9), rate))
    return pl.DataFrame(rows, schema=["t_s", "flow", "payload_bytes", "rate_bps"], orient="row")


def test_phases_skip_two_seconds_after_every_change():
    times = [t / 2 for t in range(60)]
    got = shares.phases(times, 0.5, Interval(0, 25.2), [Interval(10, 20)])
    alone = [t for t, phase in zip(times, got, strict=True) if phase == "alone"]
    contended = [t for t, phase in zip(times, got, strict=True) if phase == "contended"]
    assert (alone[0], contended[0], contended[-1]) == (2.0, 12.0, 19.5)
    assert 9.5 in alone
    assert 22.0 in alone
    assert 21.5 not in alone
    assert alone[-1] == 24.5  # 25.0 to 25.5 is not all transfer


def test_shares_and_goodput():
    busy = Interval(10, 20)
    rates = bins(30, lambda t: 1e6 if 10 <= t < 20 else 9e6, lambda t: 8e6 if 10 <= t < 20 else 0.0)
    table = shares.phase_table(rates, 0.5, Interval(0, 30), [busy])
    assert shares.share(rates, table, "contended", "file", RATE) == pytest.approx(0.1)
    assert shares.share(rates, table, "alone", "file", RATE) == pytest.approx(0.9)
    got = shares.goodput_bps(rates, table, "contended", ["cross"], 0.5)
    assert got == pytest.approx(0.9 * 8e6)


def test_nothing_measured_is_none_and_not_zero():
    rates = bins(10, lambda _t: 1e6, lambda _t: 0.0)
    table = shares.phase_table(rates, 0.5, Interval(0, 10), [])
    assert shares.share(rates, table, "contended", "file", RATE) is None
    assert shares.goodput_bps(rates, table, "contended", ["cross"], 0.5) is None


def result(**changes) -> dict:
    good = {
        "dalbe_cdg": {
            "finish_s": 200.0,
            "deadline_s": 240.0,
            "share_alone": 0.85,
            "share_contended": 0.1,
        },
        "cubic": {"share_alone": 0.9, "share_contended": 0.3},
        "infeasible": {
            "deadline_s": 240.0,
            "reported_infeasible_at_s": 30.0,
            "share_contended": 0.28,
            "share_cross_flow": 0.3,
        },
    }
    for key, value in changes.items():
        contender, measure = key.split("__")
        good[contender][measure] = value
    return good


def test_verdicts_of_a_good_result():
    assert all(demo.verdicts(result()).values())


@pytest.mark.parametrize(
    "change",
    [
        {"dalbe_cdg__finish_s": 241.0},
        {"dalbe_cdg__finish_s": None},
        {"dalbe_cdg__share_alone": 0.7},
        {"dalbe_cdg__share_alone": None},
        {"dalbe_cdg__share_contended": 0.16},
        {"dalbe_cdg__share_contended": None},
        {"cubic__share_alone": None},
        {"infeasible__reported_infeasible_at_s": None},
        {"infeasible__reported_infeasible_at_s": 241.0},
        {"infeasible__share_contended": 0.4},
        {"infeasible__share_contended": None},
    ],
    ids=str,
)
def test_each_requirement_can_fail(change: dict):
    assert list(demo.verdicts(result(**change)).values()).count(False) == 1


def proof(**changes) -> link.LinkProof:
    good = {
        "rate_bps": 10.01e6,
        "base_rtt_ms": 50.1,
        "queue_packets": 41,
        "offloads_on": [],
        "drops": 5,
    }
    return link.LinkProof(**{**good, **changes})


LINK = Link(rate_mbps=10, rtt_ms=50, buffer_bdp=1)


def test_a_good_link_passes():
    link.check(proof(), LINK, contended=True)
    link.check(proof(drops=0), LINK, contended=False)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"rate_bps": 9.5e6}, "rate 9.500 instead of 10"),
        ({"rate_bps": 0.0}, "rate 0.000"),
        ({"base_rtt_ms": 52.0}, "base RTT 52"),
        ({"queue_packets": 1000}, "queue of 1000 instead of 41"),
        ({"offloads_on": ["sender eth0 tcp-segmentation on"]}, "offload on: sender eth0"),
        ({"drops": 0}, "no drop"),
    ],
)
def test_a_bad_link_is_no_result(change: dict, word: str):
    with pytest.raises(TestbedError, match=word):
        link.check(proof(**change), LINK, contended=True)


TRACE = """\
# tracer: nop
 scenario.sh-1 [000] ..... 10.500000: tracing_mark_write: T=0
 rsync-2 [000] ..... 12.000001: dalbe_update: sport=4 w_ppm=10000 time_left_ms=-5 status=2 new=x
 rsync-2 [000] ..... 13.000001: dalbe_update: sport=4 w_ppm=20000 time_left_ms=-6 status=3 new=y
 rsync-2 [000] ..... 14.000000: something_else: w_ppm=3
"""


def test_trace_is_read_generically(tmp_path: Path):
    (tmp_path / "trace").write_text(TRACE)
    table = trace.read(tmp_path / "trace")
    assert table["t_s"].to_list() == [1.500001, 2.500001]
    assert table["w_ppm"].to_list() == [10000, 20000]
    assert table["time_left_ms"].to_list() == [-5, -6]
    assert table["status"].to_list() == ["on_track", "infeasible"]
    assert table["new"].to_list() == ["x", "y"]


def test_no_trace_is_an_empty_table(tmp_path: Path):
    assert trace.read(tmp_path / "none").is_empty()
