# SPDX-License-Identifier: GPL-2.0-only
"""Shares, phases and verdicts from bins whose contents are known."""

import polars as pl
import pytest
from dalbe_testbed.study import demo, shares
from dalbe_testbed.study.results import Window

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
    bins_s = pl.DataFrame({"t_s": times})
    got = shares.phase_table(bins_s, 0.5, Window(0, 25.2), [Window(10, 20)])["phase"].to_list()
    alone = [t for t, phase in zip(times, got, strict=True) if phase == "alone"]
    contended = [t for t, phase in zip(times, got, strict=True) if phase == "contended"]
    assert (alone[0], contended[0], contended[-1]) == (2.0, 12.0, 19.5)
    assert 9.5 in alone
    assert 22.0 in alone
    assert 21.5 not in alone
    assert alone[-1] == 24.5  # 25.0 to 25.5 is not all transfer


def test_shares_and_goodput():
    busy = Window(10, 20)
    rates = bins(30, lambda t: 1e6 if 10 <= t < 20 else 9e6, lambda t: 8e6 if 10 <= t < 20 else 0.0)
    table = shares.phase_table(rates, 0.5, Window(0, 30), [busy])
    assert shares.share(rates, table, "contended", "file", RATE) == pytest.approx(0.1)
    assert shares.share(rates, table, "alone", "file", RATE) == pytest.approx(0.9)
    got = shares.goodput_bps(rates, table, "contended", ["cross"], 0.5)
    assert got == pytest.approx(0.9 * 8e6)


def test_nothing_measured_is_none_and_not_zero():
    rates = bins(10, lambda _t: 1e6, lambda _t: 0.0)
    table = shares.phase_table(rates, 0.5, Window(0, 10), [])
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
