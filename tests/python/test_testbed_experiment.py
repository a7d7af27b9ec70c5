# SPDX-License-Identifier: GPL-2.0-only
"""An experiment file that is wrong is refused in one line that names the key."""

import copy
import tomllib
from pathlib import Path

import pytest
from dalbe_testbed import experiment, scenario
from dalbe_testbed.errors import TestbedError
from dalbe_testbed.guest import TESTBED

EXPERIMENTS = sorted((TESTBED / "experiments").glob("*.toml"))
GOOD = {
    "name": "small",
    "duration_s": 10,
    "link": {"rate_mbps": 10, "rtt_ms": 50, "buffer_bdp": 1.0},
    "flows": [{"name": "one", "kind": "iperf", "duration_s": 5}],
}


def changed(setting: str) -> dict:
    data = copy.deepcopy(GOOD)
    experiment.override(data, setting)
    return data


def test_there_are_experiments_to_check():
    assert {path.stem for path in EXPERIMENTS} >= {"demo", "cell"}


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.stem)
def test_every_experiment_and_contender_is_valid(path: Path):
    loaded = experiment.load(path)
    assert loaded.name == path.stem
    for name in loaded.contenders:
        assert loaded.contender(name).flows


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("link.rtt_ms=0", ["link.rtt_ms", "greater than or equal to 1"]),
        ("link.colour='red'", ["link.colour", "unknown key"]),
        ("flows.one.kind='ftp'", ["flows.0.kind", "'ftp'", "'iperf' or 'rsync'"]),
        ("flows.one.cc='dctcp'", ["flows.0.cc", "'cubic'"]),
        ("flows.one.bytes=5", ["flows.0", "one of bytes and duration_s"]),
        ("flows.one.goal={deadline_s=9}", ["a goal needs bytes and cc = 'dalbe_cdg'"]),
        ("flows.one.g_ms=2", ["g_ms is for"]),
        ("link.buffer_packets=9", ["one of buffer_bdp and buffer_packets"]),
        ("limit_s=5", ["limit_s is before duration_s"]),
        ("flows=[]", ["flows", "at least 1 item"]),
        ("contenders.x={two={cc='reno'}}", ["no such flow", "flows are one"]),
    ],
)
def test_bad_values_are_explained_in_one_line(setting: str, words: list[str]):
    data = {**GOOD, "contenders": {}}
    data = copy.deepcopy(data)
    experiment.override(data, setting)
    with pytest.raises(TestbedError) as error:
        experiment.parse(data, "small.toml")
    message = str(error.value)
    assert message.startswith("small.toml: ")
    assert "\n" not in message
    for word in words:
        assert word in message


@pytest.mark.parametrize(
    "setting", ["link.rtt_ms", "links.rtt_ms=5", "flows.two.cc=reno", "flows.x=1"]
)
def test_bad_settings_are_refused(setting: str):
    with pytest.raises(TestbedError, match="--set"):
        experiment.override(copy.deepcopy(GOOD), setting)


def test_a_missing_file_is_named():
    with pytest.raises(TestbedError, match=r"nowhere\.toml: No such file"):
        experiment.load(Path("nowhere.toml"))


def test_buffer_of_one_bdp():
    assert experiment.parse(GOOD, "x").link.queue_packets == 41  # 62500 / 1500


def test_contender_changes_and_removes_keys():
    demo = experiment.load(TESTBED / "experiments/demo.toml")
    file = {flow.name: flow for flow in demo.contender("cubic").flows}["file"]
    assert (file.cc, file.goal) == ("cubic", None)
    with pytest.raises(TestbedError, match="no contender 'nobody'; there are: dalbe_cdg"):
        demo.contender("nobody")


def test_demo_is_what_the_issue_asks_for():
    demo = experiment.load(TESTBED / "experiments/demo.toml")
    file, *cross = demo.flows
    window = file.goal.deadline_s
    need = file.bytes * 8 / window / demo.link.rate_bps
    assert 0.25 <= need <= 0.5
    busy = sum(
        1
        for t in range(int(window))
        if any(f.start_s <= t < f.start_s + f.duration_s for f in cross)
    )
    assert busy >= window / 2
    # What TCP gets of an idle link: payload of full packets, less the background.
    idle_bytes_per_s = (demo.link.rate_bps - 2 * demo.background.rate_mbps * 1e6) / 8 * 1448 / 1514
    assert (window - busy) * idle_bytes_per_s < file.bytes


def test_cross_traffic_is_the_same_for_all_contenders():
    demo = experiment.load(TESTBED / "experiments/demo.toml")
    plans = [
        [(p.flow.name, p.port, p.start_s) for p in scenario.plan(demo.contender(name), 7)]
        for name in demo.contenders
    ]
    assert all(plan == plans[0] for plan in plans)
    assert plans[0] != [
        (p.flow.name, p.port, p.start_s) for p in scenario.plan(demo.contender("cubic"), 8)
    ]


def test_in_tree_backoff_factor():
    assert [scenario.cdg_backoff_factor(g) for g in (0.002, 0.1, 3, 120)] == [62500, 1250, 42, 1]


def test_a_goal_needs_the_module_and_dalbectl(tmp_path: Path):
    demo = experiment.load(TESTBED / "experiments/demo.toml", ["flows.file.bytes=1000"])
    tools = scenario.Tools(kernel=tmp_path)
    with pytest.raises(TestbedError, match="--module"):
        scenario.write(demo, 1, tools, tmp_path)
    tools = scenario.Tools(kernel=tmp_path, module=tmp_path / "x.ko")
    with pytest.raises(TestbedError, match="--dalbectl"):
        scenario.write(demo, 1, tools, tmp_path)


def test_payload_repeats_with_its_seed(tmp_path: Path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        scenario.write_payload(tmp_path / name, 3_000_000, seed)
    a, b, c = ((tmp_path / name).read_bytes() for name in "abc")
    assert a == b != c
    assert len(a) == 3_000_000


def test_set_values_are_toml():
    assert changed("link.rtt_ms=20")["link"]["rtt_ms"] == 20
    assert changed("flows.one.cc=reno")["flows"][0]["cc"] == "reno"
    assert tomllib.loads("x = 1")  # the parser that is meant
