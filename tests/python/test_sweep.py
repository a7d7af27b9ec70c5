# SPDX-License-Identifier: GPL-2.0-only
"""Sweep files: which runs they mean, what those are called, and what is wrong with a broken one."""

from __future__ import annotations

from pathlib import Path

import pytest
from dalbe_testbed.errors import TestbedError
from dalbe_testbed.plan import experiment, sweep
from dalbe_testbed.plan.experiment import cdg_backoff_factor
from dalbe_testbed.plan.sweep import Environment

NAMES = sorted(path.stem for path in sweep.SWEEPS.glob("*.toml") if path.stem != "axes")
REDUCED_RUNS = 400  # at 8 core seconds each: half an hour on two cores, less what the report takes


def shipped(name: str) -> sweep.Sweep:
    return sweep.load(sweep.find(name))


def written(tmp_path: Path, text: str, name: str = "mine.toml") -> sweep.Sweep:
    path = tmp_path / name
    path.write_text(text)
    return sweep.load(path)


MINIMAL = 'title = "t"\nexperiment = "cell.toml"\nseeds = 2\n[[grid]]\n'


@pytest.mark.parametrize("name", NAMES)
def test_every_sweep_that_is_shipped_loads(name: str):
    assert shipped(name).runs


def test_sizes_are_the_papers():
    full = shipped("figure3-full")
    assert len(full.runs) == (20 * 7 * 2 + 3 * 7) * 10
    assert len(shipped("table1").points) == 14 * 2
    reduced = sweep.all_runs([shipped("figure3"), shipped("figure2")])
    assert len(reduced) <= REDUCED_RUNS


def test_the_reduced_grid_holds_figure_2_and_table_1():
    reduced = {point.name for point in shipped("figure3").points}
    assert reduced >= {point.name for point in shipped("figure2").points}
    assert reduced >= {point.name for point in shipped("table1").points}


def test_the_full_grid_holds_the_reduced_one():
    assert shipped("figure3-full").runs
    full = {run.directory for run in shipped("figure3-full").runs}
    assert full >= {run.directory for run in shipped("figure3").runs}


def test_every_g_is_a_factor_of_its_own_in_the_in_tree_module():
    values = {point.values["g"] for point in shipped("figure3-full").points if "g" in point.values}
    assert len(values) == 20
    assert len({cdg_backoff_factor(float(g)) for g in values}) == 20
    assert all(
        cdg_backoff_factor(experiment.in_tree_g_ms(float(g))) == cdg_backoff_factor(float(g))
        for g in values
    )


def test_both_modules_run_at_the_g_that_the_in_tree_one_has():
    points = {point.name: point for point in shipped("figure2").points}
    for module in ("cdg", "dalbe_cdg"):
        assert points[f"{module}-g120-rtt50"].experiment.flows[0].g_ms == 125
        assert points[f"{module}-g2-rtt50"].experiment.flows[1].g_ms == 2.016
    exact = next(p for p in shipped("figure3").points if p.name == "dalbe_cdg-exactg95-rtt20")
    assert exact.experiment.flows[0].g_ms == 95


def test_defaults_of_axes_are_what_the_cell_has():
    plain = experiment.load(sweep.EXPERIMENTS / "cell.toml")
    for name, axis in sweep.axes().items():
        if axis.keys and axis.default is not None:
            settings = [f"{key}={axis.default}" for key in axis.keys]
            assert experiment.load(sweep.EXPERIMENTS / "cell.toml", settings) == plain, name
    assert plain.background is not None


def test_a_default_leaves_the_name_so_that_sweeps_share_runs(tmp_path: Path):
    mine = written(tmp_path, MINIMAL + 'g = [2.0]\nrtt = [50]\ncc = ["cdg"]\nbuffer = [1, 4]')
    assert [point.name for point in mine.points] == ["cdg-g2-rtt50", "cdg-g2-rtt50-buffer4"]
    both = sweep.all_runs([mine, shipped("figure2")])
    assert len(both) == len(mine.runs) + len(shipped("figure2").runs) - 1


def test_any_key_of_the_experiment_is_an_axis(tmp_path: Path):
    mine = written(tmp_path, MINIMAL + '"link.rate_mbps" = [10, 40]\nduration_s = [60]')
    assert [p.name for p in mine.points] == [
        "duration_s60-rate_mbps10",
        "duration_s60-rate_mbps40",
    ]
    assert mine.points[1].experiment.link.rate_mbps == 40


def test_an_experiment_may_lie_beside_its_sweep(tmp_path: Path):
    text = (sweep.EXPERIMENTS / "cell.toml").read_text().replace('"cell"', '"held_out"', 1)
    (tmp_path / "held_out.toml").write_text(text)
    mine = written(tmp_path, MINIMAL.replace("cell.toml", "held_out.toml") + "rtt = [20]")
    assert mine.runs[0].directory == "runs/held_out/rtt20/seed1"


def test_environments_and_their_kernels():
    environments = {p.name: p.environment for p in shipped("ablation-kernel").points}
    assert environments["cdg-g120-rtt50"].name == "6.12-hz100"
    assert environments["cdg-g120-rtt50-kernel7.2"].name == "7.2-hz100"
    assert sweep.kernel_arguments("6.12", 100) == ["plain"]
    assert sweep.kernel_arguments("6.12", 250) == ["hz250"]
    assert sweep.kernel_arguments("7.2", 100) == ["--series", "7.2", "plain"]
    assert Environment(backend="qemu").name is None


def test_the_words_of_a_run_make_its_experiment():
    for run in shipped("ablation-background").runs[:8] + shipped("figure3").runs[-1:]:
        words = run.words()
        settings = [words[i + 1] for i, word in enumerate(words) if word == "--set"]
        assert experiment.load(Path(words[2]), settings) == run.point.experiment
        assert words[words.index("--seed") + 1] == str(run.seed)


def test_a_key_of_a_hosts_flows_is_a_key_of_each(tmp_path: Path):
    text = MINIMAL + '"flows.xsender.start_s" = [7]\ncc = ["dalbe_cdg"]\n'
    one = written(tmp_path, text).points[0]
    flows = {flow.name: flow for flow in one.experiment.flows}
    assert [flows[name].start_s for name in ("cdg1", "cdg2", "cubic1", "cubic2")] == [1, 1.3, 7, 7]
    assert [flow.cc for flow in flows.values()] == ["dalbe_cdg"] * 2 + ["cubic"] * 2
    assert one.name == "dalbe_cdg-start_s7"


def test_a_sweep_may_be_called_like_its_experiment(tmp_path: Path):
    assert written(tmp_path, MINIMAL + "rtt = [20]", "cell.toml").points[0].file.name == "cell.toml"
    (tmp_path / "mine.toml").write_text((sweep.EXPERIMENTS / "cell.toml").read_text())
    own = written(tmp_path, MINIMAL.replace("cell.toml", "mine.toml") + "rtt = [20]", "it.toml")
    assert own.points[0].file == tmp_path / "mine.toml"


def test_replay_names_nothing_of_this_machine():
    run = shipped("ablation-kernel").runs[-1]
    command = run.replay()
    assert str(Path.home()) not in command
    assert str(sweep.TESTBED) not in command
    assert "build-kernel.sh --series 7.2 plain" in command
    assert "testbed/experiments/cell.toml" in command


def test_the_first_seed_of_every_point_comes_first():
    one = shipped("table1")
    assert {run.seed for run in one.runs[: len(one.points)]} == {1}


def test_peers_are_left_out_until_somebody_names_their_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = MINIMAL.replace("cell", "scavenger") + 'who = ["w0.01", "ledbat"]'
    monkeypatch.delenv(sweep.PEERS, raising=False)
    without = written(tmp_path, text)
    assert [point.name for point in without.points] == ["base"]
    assert without.left_out == ("ledbat",)
    monkeypatch.setenv(sweep.PEERS, "/some/where")
    there = written(tmp_path, text)
    assert [point.name for point in there.points] == ["base", "ledbat"]
    assert there.left_out == ()
    flow = there.points[1].experiment.flows[0]
    assert (flow.cc, flow.peer, flow.w) == ("peer", "/some/where/LEDBAT", None)
    assert flow.peer_parameters == "target=25 noise_filter_len=3 do_ss=0"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title = ", "mine.toml: not TOML"),
        ("seeds = 1", "mine.toml: title: missing"),
        (MINIMAL.replace("seeds = 2", "seeds = 0"), "mine.toml: seeds: 0 is not allowed"),
        (MINIMAL.replace("cell.toml", "no.toml") + "rtt = [20]", "there is no file no.toml"),
        ("colour = 1\n" + MINIMAL, "mine.toml: colour: unknown key"),
        (MINIMAL + "rtx = [20]", "'rtx' is no axis: say one of cc, g, exact_g, rtt"),
        (MINIMAL + "rtt = []", "grid.rtt: give values, each of them once"),
        (MINIMAL + "rtt = [20, 20]", "grid.rtt: give values, each of them once"),
        (MINIMAL + "rtt = [0]", "cell.toml: link.rtt_ms: 0 is not allowed"),
        (MINIMAL + "g = [0]", "g = 0: say a number of ms above 0"),
        (MINIMAL + "g = [-3]", "g = -3: say a number of ms above 0"),
        (MINIMAL + 'g = ["x"]', "g = 'x': say a number of ms above 0"),
        (
            MINIMAL + 'rtt = ["x"]\nin_rtts = { duration_s = { rtts = 9 } }',
            "grid.in_rtts: needs numbers of rtt or link.rtt_ms",
        ),
        (MINIMAL + 'cc = ["cgd"]', "cell.toml: flows.cdg1.cc: 'cgd' is not"),
        (MINIMAL + 'background = ["of"]', "background = 'of': say one of on, off"),
        (
            MINIMAL + 'kernel = ["5.10"]',
            "kernel: '5.10' is not allowed; input should be '6.1', '6.12' or",
        ),
        (MINIMAL + 'backend = ["qemu"]\nhz = [250]', "kernel and hz are for backend = 'uml'"),
        ('figure = "ablation"\n' + MINIMAL, "figure = 'ablation' and vary = AXIS go together"),
        ('figure = "ablation"\nvary = "hz"\n' + MINIMAL + "rtt = [20]", "not an axis of every"),
        ('figure = "ablation"\nvary = "rtt"\n' + MINIMAL + "rtt = [20]", "an axis with a default"),
        (MINIMAL + '"link.rate_mbps" = [1]\n"link.rate_mbqs" = [1]', "link.rate_mbqs"),
        (
            MINIMAL + 'impairment = ["codel"]\n"link.qdisc" = ["pie"]',
            "mine.toml: impairment and link.qdisc both set link.qdisc",
        ),
    ],
)
def test_a_broken_sweep_is_one_clear_line(tmp_path: Path, text: str, message: str):
    with pytest.raises(TestbedError) as error:
        written(tmp_path, text)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_key_that_is_true_or_false_can_be_an_axis(tmp_path: Path):
    text = MINIMAL + '"link.qdisc" = ["codel"]\n"link.ecn" = [true, false]'
    points = written(tmp_path, text).points
    assert [point.name for point in points] == ["ecntrue-qdisccodel", "ecnfalse-qdisccodel"]
    assert [point.experiment.link.ecn for point in points] == [True, False]


def test_an_unknown_sweep_names_those_there_are():
    with pytest.raises(TestbedError, match="no sweep 'figure4': say one of ablation-background"):
        sweep.load(sweep.find("figure4"))


def test_two_sweeps_must_not_share_a_directory_for_different_runs(tmp_path: Path):
    text = (sweep.EXPERIMENTS / "cell.toml").read_text()
    (tmp_path / "slow.toml").write_text(text.replace("duration_s = 300", "duration_s = 400", 1))
    mine = written(tmp_path, MINIMAL.replace("cell.toml", "slow.toml") + 'rtt = [20]\ncc = ["cdg"]')
    other = written(tmp_path, MINIMAL + 'rtt = [20]\ncc = ["cdg"]', "other.toml")
    with pytest.raises(TestbedError, match="another sweep uses runs/cell/cdg-rtt20/seed1"):
        sweep.all_runs([mine, other])


def test_a_number_behind_a_colon_limits_the_seeds():
    assert sweep.load(sweep.find("figure3-full:3")).seeds == (1, 2, 3)
    assert sweep.load(sweep.find("figure2:9")).seeds == sweep.load(sweep.find("figure2")).seeds
    with pytest.raises(TestbedError, match=r"figure2.toml:0: behind the colon goes how many seeds"):
        sweep.load(sweep.find("figure2:0"))
