# SPDX-License-Identifier: GPL-2.0-only
"""Deadlines beside web sessions: what is late, by how much, and what is required."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from dalbe_testbed.errors import TestbedError
from dalbe_testbed.plan import schedule, sweep
from dalbe_testbed.study import sessions
from dalbe_testbed.study.engine import Finding
from fakeruns import Site
from pictures import drawn

SWEEP = """
title = "sessions"
experiment = "sessions.toml"
figure = "sessions"
seeds = 2
[[grid]]
rtt = [20, 50]
"web.load" = [0.6, 0.75]
"""
IN_TIME, WINDOW_S = [0.9] * 40, 60.0
WIRE_PER_PAYLOAD = 1 + schedule.HEADER_BYTES / schedule.SEGMENT_BYTES
REQUIRED = ("transfers", "carry", "missed", "late")


def made(
    tmp_path: Path,
    parts: dict[float, list[float | None]],
    carried: float = 1.0,
    seeds: int = 2,
    back: float = 1.0,
    called_s: tuple[float, ...] = (),
    lost: str = "",
) -> Finding:
    """The finding where transfers took such parts of the window, by load; None: not done.

    Of what they offer, the sessions carry so much forward and back. called_s: when the goal under
    way was called infeasible. lost: a point without runs.
    """
    site = Site(tmp_path, SWEEP)
    for run in site.runs:
        if run.seed > seeds or run.point.name == lost:
            continue
        offers, link = run.point.experiment.web, run.point.experiment.link
        bin_s = run.point.experiment.bin_s
        assert offers
        site.write(run, {}, {})
        took = parts.get(offers.load, list(IN_TIME))
        start = [30.0 + 50 * n for n in range(len(took))]
        end = [None if t is None else s + WINDOW_S * t for s, t in zip(start, took, strict=True)]
        names = ["ours"] * len(took)
        directory = site.out / run.directory
        table = pl.DataFrame({"flow": names, "start_s": start, "end_s": end}, strict=False)
        table.write_parquet(directory / "transfers.parquet")
        control = {"t_s": called_s, "flow": "ours", "status": "infeasible"}
        pl.DataFrame(control, schema_overrides={"t_s": float}).write_parquet(
            directory / "control.parquet"
        )
        rates = pl.read_parquet(directory / "rates.parquet")
        more = rates.with_columns(
            flow=pl.lit("web"),
            wire_bytes=pl.lit(carried * offers.load * link.rate_bps / 8 * bin_s),
        )
        pl.concat([rates, more], how="diagonal_relaxed").write_parquet(directory / "rates.parquet")
        length_s = run.point.experiment.duration_s
        offered = offers.load * offers.reverse_part * link.rate_bps / 8 * length_s
        objects = 200
        fetched = pl.DataFrame(
            {
                "start_s": 1.0,
                "bytes": round(back * offered / objects / WIRE_PER_PAYLOAD),
                "end_s": [2.0] * objects + [None, length_s + 1],
                "direction": "back",
            },
            strict=False,
        )
        fetched.write_parquet(directory / "web.parquet")
    return sessions.STUDY.find(site.results(), site.sweep)


def failed(found: Finding) -> list[str]:
    return [name for name, v in zip(REQUIRED, found.verdicts, strict=True) if not v.met]


def test_all_in_time(tmp_path: Path) -> None:
    found = made(tmp_path, {})
    assert failed(found) == []
    assert found.curves.height == 4 * 2 * 40
    (row,) = found.summary.filter((pl.col("rtt") == 50) & (pl.col("web.load") == 0.6)).to_dicts()
    assert (row["transfers"], row["late"], row["median"]) == (80, 0, pytest.approx(0.9))
    assert row["miss_percent_high"] == pytest.approx(4.5, abs=0.1)  # 3.7/80, a one-sided 97.5 %
    assert row["carried"] == pytest.approx(0.6)
    assert row["carried_back"] == pytest.approx(0.3, rel=0.01)


def test_what_the_end_of_a_run_cuts_off_is_not_known(tmp_path: Path) -> None:
    found = made(tmp_path, {0.75: [*IN_TIME, 0.9, None]})  # starts 50 s before the end
    assert failed(found) == []
    assert set(found.summary.filter(pl.col("web.load") == 0.75)["transfers"]) == {82}


def test_how_transfers_are_spread(tmp_path: Path) -> None:
    """Of two seeds alike: 0.41 to 0.80."""
    found = made(tmp_path, {0.6: [0.41 + 0.01 * n for n in range(40)]})
    (row,) = found.summary.filter((pl.col("rtt") == 20) & (pl.col("web.load") == 0.6)).to_dicts()
    spread = [row[name] for name in ("least", "median", "p95", "greatest")]
    assert spread == pytest.approx([0.41, 0.605, 0.79, 0.8])


def test_of_which_transfers_it_was_said_that_they_would_be_late(tmp_path: Path) -> None:
    """The first, from 30 to 84 s, is in time; the second, from 80 s on, is late by 140 s."""
    late = {0.75: [0.9, 1.01, *IN_TIME]}
    called_s = (29.0, 50.0, 60.0, 100.0)  # nobody's, the first's twice, the second's
    found = made(tmp_path, late, called_s=called_s)
    columns = ["late_called", "called_at", "in_time_called"]
    (row,) = found.summary.filter((pl.col("rtt") == 20) & (pl.col("web.load") == 0.75)).to_dicts()
    assert [row[name] for name in columns] == [2, pytest.approx(1 / 3), 2]
    (row,) = found.summary.filter((pl.col("rtt") == 20) & (pl.col("web.load") == 0.6)).to_dicts()
    assert [row[name] for name in columns] == [0, None, 4]


@pytest.mark.parametrize(
    ("parts", "fails"),
    [
        ({0.6: [*IN_TIME[1:], 1.01]}, ["missed"]),  # 2.5 %
        ({0.75: [*IN_TIME[1:], 1.01]}, []),
        ({0.75: [*IN_TIME[3:], 1.01, 1.01, 1.01]}, ["missed"]),
        ({0.75: [*IN_TIME[1:], 1.021]}, ["late"]),
        ({0.75: [*IN_TIME[1:], None]}, ["late"]),
        ({0.6: IN_TIME[:29]}, ["transfers"]),
    ],
)
def test_what_is_required(
    tmp_path: Path, parts: dict[float, list[float | None]], fails: list[str]
) -> None:
    assert failed(made(tmp_path, parts)) == fails


def test_points_of_one_limit_are_told_together(tmp_path: Path) -> None:
    found = made(tmp_path, {0.75: [*IN_TIME[1:], 1.01]})
    assert "all to 2 % together: 0 % [0, 2.3], 0 of 160" in found.verdicts[2].detail
    assert "all to 5 % together: 2.5 % [0.69, 6.3], 4 of 160" in found.verdicts[2].detail


def test_transfers_of_several_windows_are_refused(tmp_path: Path, monkeypatch) -> None:
    another = '[[grid]]\nrtt = [50]\n"web.load" = [0.5]\n"flows.ours.goal.deadline_s" = [90]\n'
    monkeypatch.setattr("test_sessions.SWEEP", SWEEP + another)
    with pytest.raises(TestbedError, match="one deadline, not 2"):
        made(tmp_path, {})


def test_a_load_that_was_not_carried(tmp_path: Path) -> None:
    assert failed(made(tmp_path, {}, carried=0.94)) == ["carry"]
    assert failed(made(tmp_path / "2", {}, carried=1.06)) == ["carry"]
    assert failed(made(tmp_path / "3", {}, back=0.93)) == ["carry"]
    assert failed(made(tmp_path / "4", {}, back=1.07)) == ["carry"]


def test_a_lost_run_fails_everything(tmp_path: Path) -> None:
    assert failed(made(tmp_path, {0.6: [*IN_TIME, *IN_TIME]}, seeds=1)) == list(REQUIRED)


def test_a_lost_point_fails_everything(tmp_path: Path) -> None:
    assert failed(made(tmp_path, {}, lost="rtt50-load0.75")) == list(REQUIRED)


def test_the_figure(tmp_path: Path) -> None:
    chart = sessions.draw(made(tmp_path, {0.75: [*IN_TIME[1:], None]}))
    boxes, due, late, on_time, missed, *_ = drawn(chart)
    assert (boxes.mark, set(boxes.points())) == (
        "boxplot", {(60, 0.9), (75, 0.9), (75, sessions.LAST)},
    )  # fmt: skip
    assert (due.at, on_time.at) == ({"y": 1}, {"x": 0})
    assert late.mark == "line"
    assert max(late.points()) == (50, pytest.approx(1 / 80))  # and the other one: 0
    assert (50, 0) in late.points()
    assert (missed.mark, set(missed.points())) == ("point", {(60, 0), (75, 2.5)})


def test_of_cubic_in_our_place_nothing_is_required(tmp_path: Path, monkeypatch) -> None:
    yardstick = '[[grid]]\nin_place = ["cubic"]\nrtt = [50]\n"web.load" = [0.5]\n'
    monkeypatch.setattr("test_sessions.SWEEP", SWEEP + yardstick)
    found = made(tmp_path, {0.5: [1.5, None]})
    assert failed(found) == []
    late = dict(found.summary.group_by("cc").agg(pl.col("late").sum()).rows())
    assert late == {"dalbe_cdg": 0, "cubic": 4}
    ours = found.curves.filter(cc="dalbe_cdg")
    assert ours["part"].max() < 1
    assert ours.height == 4 * 2 * 40
    assert "rtt50-cubic-load0.5: 0.500" in found.verdicts[1].detail
    sessions.draw(found).save(tmp_path / "sessions.png")


@pytest.mark.parametrize("name", ["sessions", "sessions100"])
def test_the_sweeps_ask_for_a_tenth_of_the_window(name: str) -> None:
    site = sweep.load(sweep.find(name))
    assert {point.experiment.link.rtt_ms for point in site.points} == {20, 50, 100}
    for point in site.points:
        (flow,) = point.experiment.flows
        rate_Bps = point.experiment.link.rate_bps / 8  # noqa: N806 (unit)
        assert flow.bytes == pytest.approx(0.1 * rate_Bps * sessions.window(site).length_s)


def test_cubic_alone_is_nothing_to_judge(tmp_path: Path, monkeypatch) -> None:
    yardstick = '[[grid]]\nin_place = ["cubic"]\nrtt = [50]\n"web.load" = [0.5]\n'
    head = SWEEP.partition("[[grid]]")[0]
    monkeypatch.setattr("test_sessions.SWEEP", head + yardstick)
    with pytest.raises(TestbedError, match="no transfer with a goal"):
        made(tmp_path, {})
