# SPDX-License-Identifier: GPL-2.0-only
"""The trade-off of a scavenger: its windows, its yardstick, and what is said of it."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from dalbe_testbed.errors import TestbedError
from dalbe_testbed.paths import EXPERIMENTS
from dalbe_testbed.plan import experiment, sweep
from dalbe_testbed.plan.sweep import Point, Sweep
from dalbe_testbed.study import engine, tradeoff
from dalbe_testbed.study.engine import Group
from dalbe_testbed.study.results import frame
from dalbe_testbed.study.tradeoff import Window
from fakeruns import Site
from pictures import drawn

TWO_RTTS = """
title = "two base RTTs"
experiment = "scavenger.toml"
figure = "tradeoff"
seeds = 3
[[grid]]
who = ["w0.01", "w1", "vegas", "cubic"]
rtt = [20, 50]
"""


BEHIND_PIE = """
title = "two weights behind PIE"
experiment = "scavenger.toml"
figure = "tradeoff"
seeds = 3
[[grid]]
who = ["w0.01", "w0.2", "cubic"]
impairment = ["pie"]
"""


@pytest.fixture
def two_rtts(tmp_path: Path) -> Site:
    return Site(tmp_path, TWO_RTTS)


def points(chosen: Sweep, rtt: float = 50) -> dict[str, Point]:
    return {str(p.values["who"]): p for p in chosen.points if p.values["rtt"] == rtt}


def measured(point: Point, alone: float, queue: float = 5.0, share: float = 2.0) -> Group:
    """A point whose three seeds measured about this."""
    names = ("alone_mbps", "queue_ms", "queue_p95_ms", "share_percent")
    values = dict(zip(names, (alone, queue, 2 * queue, share), strict=True))
    rows = [
        {"seed": seed} | {name: value + d for name, value in values.items()}
        for seed, d in ((1, -0.1), (2, 0.0), (3, 0.1))
    ]
    return Group(point, rows)


def test_windows_leave_out_starts_and_do_not_overlap():
    what = experiment.load(EXPERIMENTS / "scavenger.toml")
    alone, contended = tradeoff.windows(what)
    assert alone is not None
    assert contended is not None
    cross = [flow for flow in what.flows if flow.host == "xsender"]
    assert alone.end_s == min(flow.start_s for flow in cross)
    assert contended.start_s == max(flow.latest_start_s for flow in cross) + tradeoff.SETTLED_S
    assert alone.start_s < alone.end_s < contended.start_s < contended.end_s
    assert contended.end_s == what.duration_s


def test_the_end_of_a_phase_may_be_all_that_counts():
    what = experiment.load(EXPERIMENTS / "scavenger.toml")
    assert tradeoff.windows(what, 25) == (Window(35, 60), Window(155, 180))
    assert tradeoff.windows(what, 59) == (None, Window(121, 180))  # alone for 58.7 s
    assert tradeoff.windows(what, 116) == (None, None)


def test_flows_that_all_start_together_are_never_alone():
    changes = ["flows.cubic1.start_s=0", "flows.cubic2.start_s=0"]
    what = experiment.load(EXPERIMENTS / "scavenger.toml", changes)
    assert tradeoff.windows(what) == (None, Window(15, 180))


def test_a_rate_is_over_the_whole_window_and_the_flows_named():
    rates = pl.DataFrame(
        [
            {"t_s": t / 2, "flow": flow, "payload_bytes": 500_000}
            for t in range(20)
            for flow in ("ours1", "ours2", "cubic1")
        ]
    )
    assert Window(2, 6).mean_mbps(rates, ["ours1", "ours2"]) == pytest.approx(16)
    assert Window(2, 6).mean_mbps(rates, []) == 0
    assert Window(2.2, 6).mean_mbps(rates, ["ours1", "ours2"]) == pytest.approx(16)  # seven bins


def test_use_is_in_percent_of_the_yardstick_at_equal_other_settings(two_rtts: Site):
    near, far = (points(two_rtts.sweep, rtt) for rtt in (20, 50))
    whole, other = measured(near["cubic"], 8.0), measured(far["cubic"], 4.0)
    ours = measured(far["w0.01"], 3.0)
    assert tradeoff.USE.base(ours, [whole, ours, other]) is other
    tradeoff.USE.add([whole, ours, other])
    use = ours.mean(tradeoff.USE.name)
    assert use is not None
    assert use.mean == pytest.approx(75)
    tradeoff.USE.add([whole, ours])
    assert ours.mean(tradeoff.USE.name) is None


def test_harm_is_what_the_others_lose_of_what_they_have_beside_nobody(tmp_path: Path):
    site = Site(tmp_path, TWO_RTTS.replace("vegas", "nobody"))
    found = points(site.sweep)
    ours, nobody = (
        Group(found[who], [{"seed": 1, "others_mbps": mbps}])
        for who, mbps in (("w0.01", 7.2), ("nobody", 8.0))
    )
    tradeoff.HARM.add([ours, nobody])
    harm = ours.mean(tradeoff.HARM.name)
    assert harm is not None
    assert harm.mean == pytest.approx(10)
    assert nobody.mean(tradeoff.HARM.name) is None
    assert tradeoff.HARM.name in (tradeoff.STUDY.means or ())


@pytest.mark.parametrize(
    ("alone", "queue", "share", "met"),
    [
        (8.0, 5.0, 2.0, [True, True, True]),
        (7.7, 5.0, 2.0, [False, True, True]),
        (8.0, 10.5, 2.0, [True, False, True]),
        (8.0, 5.0, 3.5, [True, True, False]),
    ],
)
def test_the_least_weight_is_judged(tmp_path: Path, alone, queue, share, met: list[bool]):
    site = Site(tmp_path, TWO_RTTS.replace("[20, 50]", "[50]"))
    for run in site.runs:
        ours = run.point.values["who"] == "w0.01"
        site.write(
            run,
            {"ours1": (alone if ours else 8.0) / 2, "ours2": (alone if ours else 8.0) / 2},
            {"ours1": share / 10, "cubic1": 10 - share / 10},
            queue_ms=queue if ours else 30,
        )
    found = tradeoff.STUDY.find(site.results(), site.sweep)
    assert [verdict.met for verdict in found.verdicts] == met
    assert f"at most 3 %: {'met' if share <= 3 else 'not met'} (rtt50: {share} [" in found.sentence
    assert found.runs.height == 12
    assert found.summary["who"].to_list() == ["w0.01", "w1", "vegas", "cubic"]
    assert found.summary["queue_p95_ms"].to_list() == [queue, 30, 30, 30]


def found_there(tmp_path: Path, text: str, share: float = 40.0) -> engine.Finding:
    """The finding where ours had so much of the link beside others, in percent."""
    site = Site(tmp_path, text)
    for run in site.runs:
        site.write(run, {"ours1": 8.0}, {"ours1": share / 10, "cubic1": 10 - share / 10})
    return tradeoff.STUDY.find(site.results(), site.sweep)


def test_the_standard_cells_bars_are_for_the_standard_cell_alone(tmp_path: Path):
    found = found_there(tmp_path / "pie", BEHIND_PIE)
    assert not found.verdicts
    assert found.summary.filter(who="w0.01")["share_percent"].to_list() == [40.0]
    assert found.sentence == "Nothing is required."
    text = BEHIND_PIE.replace('["pie"]', '["pie", "none"]')
    verdicts = found_there(tmp_path / "both", text).verdicts
    assert [verdict.met for verdict in verdicts] == [True, True, False]
    assert all("w = 0.01 in the standard cell: " in verdict.requirement for verdict in verdicts)
    another = text.replace("w0.01", "w0.05")  # no bar was set for it
    assert not found_there(tmp_path / "w", another).verdicts


def test_one_point_of_the_sweep_is_judged():
    points = sweep.load(sweep.find("tradeoff")).points
    assert [point.values["who"] for point in points if tradeoff.judged(point)] == ["w0.01"]


@pytest.mark.parametrize("share", [0.0, 0.3, 2.0])
def test_no_share_is_off_the_axis(tmp_path: Path, share: float):
    text = TWO_RTTS.replace("[20, 50]", "[50]")
    drawn = tradeoff.draw(found_there(tmp_path, text, share)).to_dict()
    parts = [part for layer in drawn["layer"] for part in layer.get("layer", [layer])]
    scales = [part["encoding"]["x"].get("scale") for part in parts]
    ((left, right),) = {tuple(scale["domain"]) for scale in scales if scale}
    rows = [row for rows in drawn["datasets"].values() for row in rows]
    ends = ("share_percent", "share_percent_low", "share_percent_high")
    points = [row[name] for row in rows for name in ends if row.get(name) is not None]
    assert len(points) > 4
    assert all(left <= x <= right for x in points)


def test_the_picture_is_of_use_over_share(tmp_path: Path):
    """Each mean, both its intervals, and our weights."""
    site = Site(tmp_path, TWO_RTTS.replace("[20, 50]", "[50]"))
    mbps = {"w0.01": 6.0, "w1": 7.0, "vegas": 4.0, "cubic": 8.0}
    share = {"w0.01": 2.0, "w1": 40.0, "vegas": 20.0, "cubic": 50.0}
    for run in site.runs:
        who, wobble = str(run.point.values["who"]), 0.1 * (run.seed - 2)
        ours = share[who] / 10 + wobble
        site.write(run, {"ours1": mbps[who] + wobble}, {"ours1": ours, "cubic1": 10 - ours})
    found = tradeoff.STUDY.find(site.results(), site.sweep)
    marks = drawn(tradeoff.draw(found))
    for mark in ("point", "line", "text"):
        (layer,) = [layer for layer in marks if layer.mark == mark]
        means = dict(layer.points())
        expected = {share[who]: 100 * mbps[who] / 8 for who in share}
        if mark == "text":  # ours alone
            expected = {2: 75, 40: 87.5}
            assert [row[layer.at["text"]] for row in layer.rows] == ["0.01", "1"]
        assert {round(x, 6): round(y, 6) for x, y in means.items()} == expected
    across, upright = [layer for layer in marks if layer.mark == "rule"][::-1]
    assert (across.at["x"], across.at["x2"]) == ("share_percent_low", "share_percent_high")
    assert (upright.at["y"], upright.at["y2"]) == ("use_percent_low", "use_percent_high")
    for row in across.rows:
        assert row["share_percent_low"] < share[row["who"]] < row["share_percent_high"]
        use = 100 * mbps[row["who"]] / 8
        assert row["use_percent_low"] < use < row["use_percent_high"]


@pytest.mark.parametrize(
    ("paths", "ending"), [('["pie"]', ": pie"), ('["none"]', " of a busy one")]
)
def test_the_title_says_on_which_path(tmp_path: Path, paths: str, ending: str):
    found = found_there(tmp_path, BEHIND_PIE.replace('["pie"]', paths))
    assert tradeoff.draw(found).to_dict()["title"]["text"].endswith(ending)


def test_a_sweep_without_cubic_has_a_figure(tmp_path: Path):
    """Use is in percent of CUBIC's, and so not known there."""
    site = Site(tmp_path, TWO_RTTS.replace("[20, 50]", "[50]").replace(', "cubic"', ""))
    assert "cubic" not in [run.point.values["who"] for run in site.runs]
    for run in site.runs:
        site.write(run, {"ours1": 8.0}, {"ours1": 0.1, "cubic1": 9.9})
    found = tradeoff.STUDY.find(site.results(), site.sweep)
    assert found.summary["use_percent"].null_count() == found.summary.height
    (points, *_) = drawn(tradeoff.draw(found))
    assert points.points() == []
    assert [row["share_percent"] for row in points.rows] == pytest.approx([1, 1, 1])


def test_the_regimes_errors_are_our_flows_alone(tmp_path: Path):
    site = Site(tmp_path, TWO_RTTS.replace("[20, 50]", "[50]").replace("seeds = 3", "seeds = 1"))
    for run in site.runs:
        site.write(run, {"ours1": 8.0}, {"ours1": 0.1, "cubic1": 9.9})
        if run.point.values["who"] == "w0.01":  # what counts is 11.3 to 60 and 75 to 180 s
            site.write_rounds(run, [(1, 1), (2, 0), (20.3, 1), (25.17, 0), (60, 1), (159, 0)])
    found = tradeoff.STUDY.find(site.results(), site.sweep)
    rows = found.summary.select("who", *tradeoff.ERRORS)
    assert rows.row(0)[1:] == pytest.approx((60 / 48.7, 10.0, 20.0))
    assert rows.row(1) == ("w1", 0.0, 0.0, 100.0)  # carries on, and nothing else
    assert rows.row(2) == ("vegas", None, None, None)
    assert found.runs.select(tradeoff.ERRORS).row(0) == pytest.approx((60 / 48.7, 10.0, 20.0))


def test_a_run_of_ours_without_rounds_is_named(tmp_path: Path):
    site = Site(tmp_path, TWO_RTTS)
    for run in site.runs:
        site.write(run, {"ours1": 8.0}, {"ours1": 0.1, "cubic1": 9.9})
    site.write_rounds(site.runs[0], [])
    with pytest.raises(TestbedError, match=r"^runs/scavenger/rtt20/seed1: .* no round before"):
        tradeoff.STUDY.look(site.results(), site.sweep)


def test_a_missing_run_fails_what_it_should_have_shown(tmp_path: Path):
    site = Site(tmp_path, TWO_RTTS.replace("[20, 50]", "[50]"))
    for run in site.runs:
        if (run.point.values["who"], run.seed) != ("w0.01", 3):
            site.write(run, {"ours1": 8.0}, {"ours1": 0.1, "cubic1": 9.9})
    found = tradeoff.STUDY.find(site.results(), site.sweep)
    assert not any(verdict.met for verdict in found.verdicts)
    assert "1 run missing" in found.verdicts[0].detail


def test_a_missing_run_of_the_yardstick_fails_the_use_alone(tmp_path: Path):
    site = Site(tmp_path, TWO_RTTS.replace("[20, 50]", "[50]"))
    for run in site.runs:
        if (run.point.values["who"], run.seed) != ("cubic", 3):
            site.write(run, {"ours1": 8.0}, {"ours1": 0.1, "cubic1": 9.9})
    found = tradeoff.STUDY.find(site.results(), site.sweep)
    assert [verdict.met for verdict in found.verdicts] == [False, True, True]
    assert "1 run missing" in found.verdicts[0].detail


def test_nothing_is_claimed_without_a_yardstick_or_runs_of_ours(two_rtts: Site):
    who = points(two_rtts.sweep)
    for found in ([], [measured(who["w0.01"], 8.0)], [measured(who["cubic"], 8.0)]):
        tradeoff.USE.add(found)
        there = engine.Found(None, two_rtts.sweep, found, [tradeoff.USE])  # type: ignore[arg-type]
        verdict = tradeoff.judge_use(there, 97)
        assert not verdict.met
        assert "no run" in verdict.detail


def test_the_table_has_a_row_per_run_and_the_axes(two_rtts: Site):
    who = points(two_rtts.sweep, rtt=20)
    groups = [measured(who["w1"], 8.0), measured(who["vegas"], 8.0)]
    there = engine.Found(None, two_rtts.sweep, groups)  # type: ignore[arg-type]
    table = frame(there.rows(engine.settings))
    assert table["who"].to_list() == ["w1"] * 3 + ["vegas"] * 3
    assert table["rtt"].to_list() == [20] * 6
    assert table["w"].to_list() == [1.0] * 3 + [None] * 3
    assert table["seed"].to_list() == [1, 2, 3] * 2
    assert table["queue_p95_ms"].to_list() == [9.9, 10, 10.1] * 2


def test_a_window_that_no_phase_has_is_an_error(tmp_path: Path):
    site = Site(tmp_path, TWO_RTTS.replace("seeds = 3", "seeds = 1\nlast_s = 500"))
    for run in site.runs:
        site.write(run, {"ours1": 8.0}, {"cubic1": 8.0})
    with pytest.raises(TestbedError, match=r"mine.toml: last_s: no phase of .* is that long"):
        tradeoff.STUDY.find(site.results(), site.sweep)


def test_a_finding_without_runs_has_no_tables():
    assert list(engine.Finding("", [], pl.DataFrame(), pl.DataFrame()).tables()) == []
