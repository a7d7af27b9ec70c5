# SPDX-License-Identifier: GPL-2.0-only
"""The scoreboard: harm against nobody, misses, use of idle minutes, what is required."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pictures
import polars as pl
import pytest
from dalbe_testbed.errors import TestbedError
from dalbe_testbed.plan import sweep
from dalbe_testbed.plan.sweep import Run
from dalbe_testbed.study import scoreboard, stats
from dalbe_testbed.study.engine import Finding, Found
from dalbe_testbed.study.results import Results
from fakeruns import Site
from hypothesis import given
from hypothesis import strategies as st

SWEEP = """
title = "scoreboard"
experiment = "varying.toml"
figure = "scoreboard"
seeds = 2
[[grid]]
bin_s = [5]
controller = ["mbc", "cubic", "nobody"]
[[grid]]
bin_s = [5]
controller = ["cubic"]
"flows.ours.paced_s" = [571]
[[grid]]
bin_s = [5]
others = ["idle"]
controller = ["mbc"]
"flows.ours.link_s" = [570]
[[grid]]
bin_s = [5]
others = ["idle"]
controller = ["nobody"]
"""
START_S, DUE_S = 20, 620
FREE_MBPS = 8.0
"""The rate that the short flows and the interactive one leave in an idle minute."""


@dataclass(frozen=True)
class Did:
    """A transfer's outcome: when it was done, its rate, and what others felt.

    short_s: how long each short flow took. late_short_s: the slowest of twenty.
    """

    end_s: float | None = 600.0
    mbps: float = 4.0
    cubic_mbps: float = 6.0
    short_s: float = 1.0
    late_short_s: float = 2.0
    delay_ms: float = 25.0
    queue_ms: float = 10.0


@dataclass
class Case:
    """Runs by what makes the transfer; "idle": ours on the idle link."""

    did: dict[str, Did] = field(default_factory=dict)
    seeds: dict[str, int] = field(default_factory=dict)

    def made(self, tmp_path: Path) -> Finding:
        site = Site(tmp_path, SWEEP)
        for run in site.runs:
            name = scoreboard.transfer(run.point).replace("-571s", "")
            if run.point.values.get("others") == "idle":
                name = "idle" if name == "mbc" else "idle nobody"
            if run.seed <= self.seeds.get(name, 2):
                write(site, run, self.did.get(name, Did()))
        return scoreboard.STUDY.find(site.results(), site.sweep)


def greedy(run: Run, t_s: float) -> str | None:
    """The flow of a busy minute's first CUBIC."""
    starts = {f.start_s: f.name for f in run.point.experiment.flows[:0:-1] if f.duration_s}
    return next((name for at, name in starts.items() if at <= t_s < at + 60), None)


def write(site: Site, run: Run, did: Did) -> None:
    nobody = scoreboard.transfer(run.point) == "nobody"
    end_s = 20.5 if nobody else did.end_s

    def mbps(flow: str, t_s: float) -> float:
        if flow == "ours":
            return did.mbps * (not nobody and START_S <= t_s < (end_s or 1e9))
        return did.cubic_mbps * (flow == greedy(run, t_s))

    site.write_rates(run, mbps, queue_ms=did.queue_ms)
    directory = site.out / run.directory
    rates = pl.read_parquet(directory / "rates.parquet")
    what = run.point.experiment
    more = rates.filter(flow="ours").with_columns(
        flow=pl.lit("voice"), wire_bytes=pl.lit((10 - FREE_MBPS) * 1e6 / 8 * what.bin_s)
    )
    pl.concat([rates, more], how="diagonal_relaxed").write_parquet(directory / "rates.parquet")
    names = [flow.name for flow in what.flows]
    pl.DataFrame(
        {
            "flow": names,
            "start_s": [flow.start_s for flow in what.flows],
            "end_s": [
                end_s if flow.name == "ours" else flow.start_s + (flow.duration_s or 0.1)
                for flow in what.flows
            ],
            "finished": [end_s is not None and flow.name == "ours" for flow in what.flows],
            "payload_bytes": [1000] * len(names),
        }
    ).write_parquet(directory / "flows.parquet")
    seconds = [did.late_short_s, *[did.short_s] * 19]
    begins = [30.0 + 20 * n for n in range(20)]
    requests = {
        "start_s": [5.0, *begins, 640.0],  # the first and the last are of other times
        "bytes": [1, *range(20), 2],
        "end_s": [99.0, *(a + b for a, b in zip(begins, seconds, strict=True)), None],
    }
    pl.DataFrame(requests, strict=False).write_parquet(directory / "requests.parquet")
    times = [float(n) for n in range(680)]
    delays = [did.delay_ms - 25 if START_S <= t < DUE_S else 999.0 for t in times]
    pl.DataFrame({"t_s": times, "queue_ms": delays}).write_parquet(directory / "voice.parquet")


NOBODY = Did(cubic_mbps=8.0, short_s=0.5, late_short_s=1.0, delay_ms=25.0, queue_ms=4.0)
OURS = Did(end_s=600.0, short_s=0.6, late_short_s=1.25, delay_ms=50.0, queue_ms=5.0)
CAP = Did(end_s=610.0, short_s=1.0, late_short_s=2.0)
IDLE = Did(end_s=None, mbps=7.5)
USUAL = {"nobody": NOBODY, "idle nobody": NOBODY, "mbc": OURS, "cap": CAP, "idle": IDLE}
REQUIRED = ("misses", "harm", "idle")


def failed(found: Finding) -> list[str]:
    return [name for name, v in zip(REQUIRED, found.verdicts, strict=True) if not v.met]


def test_a_transfer_whose_end_nobody_saw_did_not_end(tmp_path: Path) -> None:
    """The program was done, but its last byte left behind the end of the captures."""
    site = Site(tmp_path, SWEEP)
    run = next(r for r in site.runs if scoreboard.transfer(r.point) == "mbc")
    write(site, run, OURS)
    flows = site.out / run.directory / "flows.parquet"
    unseen = pl.when(pl.col("flow") != "ours").then("end_s")
    pl.read_parquet(flows).with_columns(end_s=unseen).write_parquet(flows)
    row = scoreboard.measure(site.results(), run, site.sweep)
    assert (row["finish"], row["missed"]) == (None, True)


def test_what_is_measured(tmp_path: Path) -> None:
    found = Case(USUAL).made(tmp_path)
    assert failed(found) == []
    busy = ~pl.col("task").str.contains("idle minutes only")
    row = found.summary.filter(busy, transfer="mbc").row(0, named=True)
    assert (row["runs"], row["misses"], row["late_percent"]) == (2, 0, 0)
    assert row["goodput_harm_percent"] == pytest.approx(25)
    assert row["short_median_harm_percent"] == pytest.approx(100 * (0.6 - 0.5) / 0.6)
    assert row["short_mean_harm_percent"] == pytest.approx(100 * (1 - 0.525 / 0.6325))
    assert row["delay_mean_harm_percent"] == pytest.approx(50)
    assert row["delay_p95_harm_percent"] == pytest.approx(50)
    assert row["added_queue_mean_ms"] == pytest.approx(1)
    assert row["idle_percent"] == pytest.approx(50)
    assert row["behind_percent"] is None  # 4 Mbit/s are more than the 3 that it needs
    idle = found.summary.filter(~busy).row(0, named=True)
    assert idle["behind_percent"] == pytest.approx(100 * 7.5 / 8)
    assert idle["goodput_harm_percent"] is None
    assert "nobody" not in found.summary["transfer"]
    assert set(found.summary["transfer"]) == {"mbc", "cubic", "cap-571s"}


@pytest.mark.parametrize(
    ("name", "did", "fails"),
    [
        ("mbc", Did(630.0, short_s=0.5, late_short_s=1.0), ["misses"]),
        ("mbc", Did(None, short_s=0.5, late_short_s=1.0), ["misses"]),
        ("cap", Did(630.0), []),
        ("mbc", Did(600.0, short_s=0.5, late_short_s=1.4), ["harm"]),  # the tail alone
        ("mbc", Did(600.0, short_s=0.9, late_short_s=1.0), ["harm"]),  # the mean alone
        ("cap", Did(610.0, short_s=0.5, late_short_s=1.0), ["harm"]),  # that does none
        ("idle", Did(None, mbps=7.1), ["idle"]),
        ("idle", Did(25.0, mbps=7.5), ["idle"]),  # over at once: never behind
    ],
)
def test_what_is_required(tmp_path: Path, name: str, did: Did, fails: list[str]) -> None:
    assert failed(Case(USUAL | {name: did}).made(tmp_path)) == fails


def test_lateness_is_of_the_window_and_has_no_more_than_the_run_lasts(tmp_path: Path) -> None:
    found = Case(USUAL | {"mbc": Did(650.0), "cubic": Did(None)}).made(tmp_path).summary
    rows = found.filter(~pl.col("task").str.contains("idle minutes only")).to_dicts()
    late = {row["transfer"]: row["late_percent"] for row in rows}
    assert late == {"mbc": pytest.approx(5), "cubic": pytest.approx(100), "cap-571s": 0}


@pytest.mark.parametrize(
    ("lost", "fails"),
    [
        ("mbc", ["misses", "harm"]),
        ("cap", ["misses", "harm"]),
        ("nobody", ["misses", "harm"]),
        ("idle", ["idle"]),
        ("idle nobody", ["idle"]),
    ],
)
@pytest.mark.parametrize("seeds", [0, 1])
def test_a_lost_run_meets_nothing(tmp_path: Path, lost: str, fails: list[str], seeds: int) -> None:
    assert failed(Case(USUAL, {lost: seeds}).made(tmp_path)) == fails


def test_a_run_that_ends_with_the_window_unfinished_is_a_miss(tmp_path: Path, monkeypatch) -> None:
    settings = "duration_s = [620]\nlimit_s = [620]\ncontroller"
    monkeypatch.setattr("test_scoreboard.SWEEP", SWEEP.replace("controller", settings))
    rows = Case(USUAL | {"mbc": Did(None)}).made(tmp_path).runs.filter(transfer="mbc")
    assert rows["late_percent"].max() == 0
    assert rows["missed"].all()


def test_without_a_cap_nothing_is_set_against_one() -> None:
    bases = sweep.load(sweep.find("scoreboard-bases"))
    nothing = Results(Path(), (bases,), pl.DataFrame(), {}, {}, 0, ())
    assert scoreboard.STUDY.require(Found(nothing, bases, [])) == []


def test_nobody_must_be_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoreboard, "NOBODY_BYTES", 999)
    with pytest.raises(TestbedError, match="nobody sent 1000 bytes"):
        Case(USUAL).made(tmp_path)


def test_the_figure(tmp_path: Path) -> None:
    found = Case(USUAL).made(tmp_path)
    ends, means = pictures.drawn(scoreboard.draw(found))
    assert (ends.mark, ends.at["x"], ends.at["x2"]) == ("rule", "low", "high")
    assert (means.mark, means.at["x"], means.at["y"]) == ("point", "mean", "transfer")
    assert (means.at["color"], means.at["shape"]) == ("ours", "task")
    for name, title in scoreboard.PANELS.items():
        shown = {row["mean"] for row in means.rows if row["measure"] == title}
        assert shown <= set(found.summary[name]), title


def test_a_goal_that_nobody_can_meet_is_not_drawn_among_the_misses() -> None:
    ends = [f"{name}{end}" for name in scoreboard.PANELS for end in ("", "_low", "_high")]
    rows = pl.DataFrame(
        dict.fromkeys(ends, 5.0)
        | {
            "task": ["hard", "hard", "hopeless", "hopeless"],
            "transfer": ["mbc", "cubic"] * 2,
            "miss_percent": [100.0, 90.0, 100.0, 100.0],
            "miss_percent_low": 80.0,
            "miss_percent_high": 100.0,
        }
    )
    drawn = scoreboard.drawn(rows)
    misses = drawn.filter(measure=scoreboard.PANELS["miss_percent"])
    assert misses.select("transfer", "task", "mean").rows() == [
        ("mbc", "hard", 100.0),
        ("cubic", "hard", 90.0),
    ]
    (_hard, hopeless) = drawn["task"].unique(maintain_order=True)
    assert hopeless.startswith("hopeless (cannot be met")


@given(st.floats(0.1, 1e4), st.floats(0.1, 1e4), st.booleans())
def test_harm_is_at_most_all_and_none_for_no_change(
    solo: float, together: float, more_is_better: bool
) -> None:
    harm = scoreboard.harm_percent(solo, together, more_is_better=more_is_better)
    assert harm <= 100
    worse = together < solo if more_is_better else together > solo
    assert (harm > 0) == worse
    # what is twice as long has half of its speed: the two forms agree
    other = scoreboard.harm_percent(1 / solo, 1 / together, more_is_better=not more_is_better)
    assert other == pytest.approx(harm, abs=1e-6)


def test_the_interval_of_a_miss_rate_is_exact() -> None:
    assert stats.proportion(0, 10) == (0, pytest.approx(0.3085, abs=1e-4))
    assert stats.proportion(10, 10) == (pytest.approx(0.6915, abs=1e-4), 1)


@pytest.mark.parametrize("name", ["scoreboard", "scoreboard-framework", "scoreboard-bases"])
def test_each_transfer_of_the_sweeps_has_a_line_in_the_picture(name: str) -> None:
    points = sweep.load(sweep.find(name)).points
    transfers = {scoreboard.transfer(point) for point in points} - {"nobody"}
    assert scoreboard.called(pl.Series(list(transfers))).keys() == transfers


@pytest.mark.parametrize(
    ("name", "over_need"),
    [("scoreboard", [1, 1.0508, 1.3953]), ("scoreboard-framework", [1.0501])],
)
def test_the_caps_of_the_sweeps(name: str, over_need: list[float]) -> None:
    """Exactly what is needed, 5 % more, 40 % more."""
    found = sweep.load(sweep.find(name))
    when = scoreboard.window(found)
    flows = [point.experiment.flows[0] for point in found.points]
    caps = [flow for flow in flows if flow.bytes and flow.paced_bps]
    over = {
        flow.paced_bps * (when.end_s - when.start_s) / (8 * flow.bytes)
        for flow in caps
        if flow.bytes and flow.paced_bps
    }
    assert sorted(over) == pytest.approx(over_need, abs=1e-4)
    assert {(flow.cc, flow.goal) for flow in caps} == {("cubic", None)}


def test_the_framework_runs_are_shared() -> None:
    board, paper = (sweep.load(sweep.find(name)) for name in ("scoreboard-framework", "framework"))
    shared = sweep.all_runs([board]).keys() & sweep.all_runs([paper]).keys()
    assert len(shared) == 2 * len(board.seeds)
    sweep.all_runs([board, paper])


def test_a_base_that_has_no_words_yet_is_drawn_by_its_name():
    called = scoreboard.called(pl.Series(["dalbe-reno", "cubic", "mbc"]))
    assert list(called.items()) == [
        ("mbc", "dalbe_cdg, MBC"),
        ("cubic", "CUBIC"),
        ("dalbe-reno", "dalbe-reno"),
    ]
