# SPDX-License-Identifier: GPL-2.0-only
"""The models behind MBC: what they predict from a run's tables, their errors, what is required."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from dalbe_testbed.errors import TestbedError
from dalbe_testbed.plan import sweep
from dalbe_testbed.study import model
from dalbe_testbed.study.engine import Finding
from dalbe_testbed.study.model import Cuts
from dalbe_testbed.study.tradeoff import Window
from fakeruns import Site
from hypothesis import given
from hypothesis import strategies as st
from pictures import drawn

SWEEP = """
title = "models"
experiment = "model.toml"
figure = "model"
last_s = 80
seeds = 2
[[grid]]
"flows.ours.w" = [0.2, 1]
rtt = [50]
cubic_flows = [1, 4]
[[grid]]
exact_g = [3, 120]
rtt = [50]
cubic_flows = [4]
"""
REQUIRED = ("ladder within", "ladder median", "CDG within", "CDG median")
SEGMENT_BITS = 1448 * 8
SRTT_MS = 80.0
ALL = Window(0, 1000)


def write_control(site: Site, run: sweep.Run, own_mbps: float) -> None:
    """Write updates of w whose price makes the ladder's model expect this rate."""
    w = model.weight(run.point) or 0
    best_effort = own_mbps / w * 1e6 * SRTT_MS / 1e3 / SEGMENT_BITS
    times = [float(t_s) for t_s in range(20, 120)]
    pl.DataFrame(
        {
            "t_s": times,
            "flow": ["ours"] * len(times),
            "w_ppm": [round(w * 1e6)] * len(times),
            # the first 20 s do not count
            "price_ppm": [1e6 / best_effort if t_s >= 40 else 1e6 for t_s in times],
            "srtt_us": [SRTT_MS * 1e3] * len(times),
        }
    ).write_parquet(site.out / run.directory / "control.parquet")


def sawtooth(packets: int, *, loss: bool) -> pl.DataFrame:
    """Return rounds of a flow that grows by one, and cuts whenever it is at `packets`.

    A round takes 0.1 s. The round of a cut is not traced, nor does the flow grow in it; a loss
    comes after its round was judged.
    """
    rows, cwnd, ssthresh, t_s = [], packets // 2 + 1, None, 0.0
    while t_s < 120:
        cut = cwnd == packets
        to = packets // 2 if loss else packets * 724 // 1024
        ssthresh = to if cut and not loss else ssthresh
        rows.append(
            {
                "t_s": t_s,
                "flow": "ours",
                "cwnd": cwnd,
                "ssthresh": ssthresh,
                "regime_state": 0,
                "backoff": cut and not loss,
            }
        )
        ssthresh = to if cut else ssthresh
        cwnd = to + 1 if cut else cwnd + 1
        t_s += 0.2 if cut else 0.1
    return pl.DataFrame(rows, infer_schema_length=None)


def write_rounds(site: Site, run: sweep.Run, rounds: pl.DataFrame) -> None:
    directory = site.out / run.directory
    rounds.write_parquet(directory / "rounds.parquet")
    pl.DataFrame(
        {"t_s": [50.0, 100.0], "flow": ["ours"] * 2, "srtt_ms": [SRTT_MS] * 2, "cwnd_packets": 9}
    ).write_parquet(directory / "connections.parquet")


def made(
    tmp_path: Path,
    ratios: dict[tuple[float, int], float],
    *,
    cdg: float = 1.0,
    seeds: int = 2,
    without: str = "",
) -> Finding:
    """The finding where the ladder's own prediction is so much of what there is.

    ratios: by w and seed, 1 if not said. cdg: by what the rate of a sawtooth of 40 packets is less
    than that. without: a point that has no run.
    """
    site = Site(tmp_path, SWEEP)
    for run in site.runs:
        if run.seed > seeds or run.point.name == without:
            continue
        w = model.weight(run.point)
        if w is not None:
            site.write(run, {}, {"ours": 1.0, "other1": 9.0})
            write_control(site, run, ratios.get((w, run.seed), 1.0))
        else:
            peak_to_mean = 40 * (1 + 28 / 40) / 2
            mbps = peak_to_mean * SEGMENT_BITS / SRTT_MS * 1e-3
            site.write(run, {}, {"ours": mbps / cdg})
            write_rounds(site, run, sawtooth(40, loss=False))
    return model.STUDY.find(site.results(), site.sweep)


def failed(found: Finding) -> list[str]:
    return [name for name, v in zip(REQUIRED, found.verdicts, strict=True) if not v.met]


def test_right_models(tmp_path: Path) -> None:
    found = made(tmp_path, {})
    assert failed(found) == []
    ladder = found.runs.filter(model="ladder")
    assert ladder["own_error_percent"].to_list() == pytest.approx([0] * 8, abs=0.1)
    assert ladder["alone_percent"].to_list() == [100] * 8
    fair = dict(found.summary.filter(w=0.2).select("others", "fair_mbps").rows())
    assert fair[1] == pytest.approx(10 * 0.2 / 1.2)
    assert fair[4] == pytest.approx(0.2 / 4.2 * 10)
    own = found.runs.filter(model="CDG")["own_error_percent"]
    assert max(map(abs, own)) < 10  # F(22): a sawtooth's mean


@pytest.mark.parametrize(
    ("ratios", "fails"),
    [
        ({(0.2, 1): 1.4, (1.0, 2): 0.6}, []),
        ({(0.2, 1): 7.9}, ["ladder median"]),
        ({(0.2, 1): 8.1}, ["ladder within", "ladder median"]),
        ({(1.0, 2): 0.12}, ["ladder within"]),
        ({(w, n): 1.3 for w in (0.2, 1.0) for n in (1, 2)}, ["ladder median"]),
        ({(w, n): 0.7 for w in (0.2, 1.0) for n in (1, 2)}, ["ladder median"]),
    ],
)
def test_what_is_required(
    tmp_path: Path, ratios: dict[tuple[float, int], float], fails: list[str]
) -> None:
    assert failed(made(tmp_path, ratios)) == fails


def test_cdg_is_judged_for_itself(tmp_path: Path) -> None:
    assert failed(made(tmp_path, {}, cdg=2.0)) == ["CDG median"]
    assert failed(made(tmp_path / "2", {}, cdg=10.0)) == ["CDG within", "CDG median"]


def test_what_is_missing_fails(tmp_path: Path) -> None:
    assert failed(made(tmp_path, {}, seeds=1)) == list(REQUIRED)
    assert failed(made(tmp_path / "2", {}, without="exactg3-rtt50-cubic4")) == list(REQUIRED[2:])


def test_a_flow_that_paid_nothing_is_told_apart_from_a_good_model(tmp_path: Path) -> None:
    site = Site(tmp_path, SWEEP)
    still = sawtooth(10_000, loss=True).with_columns(ssthresh=None)
    for run in site.runs:
        if model.weight(run.point) is None:
            site.write(run, {}, {"ours": 1.0})
            write_rounds(site, run, still)
    found = model.STUDY.find(site.results(), site.sweep)
    assert failed(found) == list(REQUIRED)
    assert found.summary["own_mbps"].to_list() == [None, None]
    assert "inf to inf" in found.verdicts[2].detail


def test_a_flow_that_got_nothing_is_infinitely_off(tmp_path: Path) -> None:
    site = Site(tmp_path, SWEEP)
    for run in site.runs:
        if model.weight(run.point) is not None:
            site.write(run, {}, {"other1": 9.0})
            write_control(site, run, 1.0)
    assert failed(model.STUDY.find(site.results(), site.sweep)) == list(REQUIRED)


@given(st.integers(8, 200), st.booleans())
def test_cuts_are_counted(packets: int, loss: bool) -> None:
    rounds = sawtooth(packets, loss=loss)
    cuts = model.count_cuts(rounds, ALL)
    seen = int((rounds["cwnd"].diff() < 0).sum())
    assert (cuts.losses if loss else cuts.backoffs) - seen in (0, 1)  # the last, perhaps
    assert (cuts.backoffs if loss else cuts.losses) == 0
    assert cuts.growing == rounds.height


@given(st.integers(8, 200), st.booleans())
def test_f22_per_growing_round_is_the_mean_of_a_sawtooth(packets: int, loss: bool) -> None:
    packets &= ~1  # a half is what it says
    rounds = sawtooth(packets, loss=loss)
    cuts = model.count_cuts(rounds, ALL)
    least = packets // 2 if loss else packets * 724 // 1024
    ends = 2 / max(cuts.losses + cuts.backoffs, 1)  # no whole tooth
    found = cuts.packets()
    assert found["own"] == pytest.approx((packets + least) / 2, rel=0.01 + ends)
    assert found["all"] / found["own"] == pytest.approx(cuts.rounds / cuts.growing)


def test_a_slow_start_that_ends_early_is_no_loss() -> None:
    rounds = pl.DataFrame(
        {
            "t_s": [1.0, 2.0, 3.0, 4.0],
            "cwnd": [10, 20, 33, 34],
            "ssthresh": [None, None, 33, 33],
            "backoff": [False] * 4,
        }
    )
    assert model.count_cuts(rounds, ALL) == Cuts(growing=4, backoffs=0, losses=0, cut=0.0)


def test_cuts_at_random_find_the_mean_window() -> None:
    cuts = Cuts(growing=900, backoffs=100, losses=0, cut=model.DELAY_CUT)
    assert cuts.packets()["random"] == pytest.approx(900 / (100 * model.DELAY_CUT))
    assert Cuts(990, 0, 10, 0.0).packets()["own"] == pytest.approx(990 / 10 / (2 / 3))


def test_a_time_without_a_round_is_an_error() -> None:
    with pytest.raises(TestbedError, match="no round from 500 s on"):
        model.count_cuts(sawtooth(20, loss=True), Window(500, 600))


def test_a_run_without_an_update_is_an_error(tmp_path: Path) -> None:
    site = Site(tmp_path, SWEEP)
    run = site.runs[0]
    site.write(run, {}, {"ours": 1.0})
    pl.DataFrame(schema={"t_s": pl.Float64, "flow": pl.String}).write_parquet(
        site.out / run.directory / "control.parquet"
    )
    with pytest.raises(TestbedError, match="has no update of ours"):
        model.STUDY.find(site.results(), site.sweep)


def test_the_figure(tmp_path: Path) -> None:
    found = made(tmp_path, {(0.2, 1): 8.1})
    own, other, *lines = drawn(model.draw(found))
    assert {mark.at["x"] for mark in (own, other, *lines)} == {"measured_mbps"}
    assert (own.at["y"], own.at["color"], own.at["shape"]) == ("own_mbps", "rtt", "others")
    assert set(own.points()) == set(found.summary.select("measured_mbps", "own_mbps").rows())
    others = {row["model"]: row["second"] == row["fair_mbps"] for row in other.rows}
    assert others["ladder"]
    assert len(lines) == 5


def test_the_sweep_has_so_many_others_and_the_time_that_counts() -> None:
    site = sweep.load(sweep.find("model"))
    assert len(site.points) == (5 + 6) * 4 * 3
    for point in site.points:
        assert len(model.rivals(point)) == point.values["cubic_flows"]
        assert model.windows(point.experiment, site.last_s) == (None, Window(40, 120))
