# SPDX-License-Identifier: GPL-2.0-only
"""An experiment file that is wrong is refused in one line that names the key."""

import copy
import re
import tomllib
from pathlib import Path

import pytest
from dalbe_testbed.errors import TestbedError
from dalbe_testbed.paths import TESTBED
from dalbe_testbed.plan import experiment
from dalbe_testbed.plan.experiment import Background, Experiment, Flow, Goal, ShortFlows, Voice, Web
from dalbe_testbed.plan.link import Link
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

EXPERIMENTS = sorted((TESTBED / "experiments").glob("*.toml"))
DOCS = (TESTBED.parent / "docs/experiments.md").read_text()
GOOD = """
name = "small"
duration_s = 10
[link]
rate_mbps = 10
rtt_ms = 50
buffer_bdp = 1.0
[[flows]]
name = "one"
kind = "iperf"
duration_s = 5
"""
QDISCS = "'pfifo', 'bfifo', 'codel', 'fq_codel', 'pie', 'red' or 'strict_priority'"


def changed(*settings: str) -> dict:
    data = tomllib.loads(GOOD)
    for setting in settings:
        experiment.override(data, setting)
    return data


def refused(data: dict) -> str:
    with pytest.raises(TestbedError) as error:
        experiment.parse(data, "small.toml")
    message = str(error.value)
    assert message.startswith("small.toml: ")
    assert "\n" not in message
    return message.removeprefix("small.toml: ")


def link(**changes: object) -> Link:
    return Link.model_validate({"rate_mbps": 10, "rtt_ms": 50, "buffer_bdp": 1} | changes)


def test_there_are_experiments_to_check():
    assert {path.stem for path in EXPERIMENTS} >= {"demo", "cell", "mixed"}


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.stem)
def test_every_experiment_and_contender_is_valid(path: Path):
    loaded = experiment.load(path)
    assert loaded.name == path.stem
    for name in loaded.contenders:
        assert loaded.contender(name).flows


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        # single values
        (
            "link.rtt_ms=0",
            "link.rtt_ms: 0 is not allowed; input should be greater than or equal to 0.01",
        ),
        ("link.rtt_ms='50'", "link.rtt_ms: '50' is not allowed; input should be a valid number"),
        ("link.rtt_ms=nan", "link.rtt_ms: nan is not allowed; input should be a finite number"),
        (
            "link.rate_mbps=true",
            "link.rate_mbps: True is not allowed; input should be a valid number",
        ),
        ("link.buffer_bdp=0", "link.buffer_bdp: 0 is not allowed; input should be greater than 0"),
        (
            "link.qdisc=fqcodel",
            f"link.qdisc: 'fqcodel' is not allowed; input should be {QDISCS}",
        ),
        (
            "link.delay=both",
            "link.delay: 'both' is not allowed; input should be 'split', 'data' or 'acks'",
        ),
        ("link.ecn=1", "link.ecn: 1 is not allowed; input should be a valid boolean"),
        (
            "link=5",
            "link: 5 is not allowed; input should be a valid dictionary or instance of Link",
        ),
        (
            "name='Small'",
            "name: 'Small' is not allowed; string should match pattern '^[a-z][a-z0-9_]{0,30}$'",
        ),
        (
            "flows=[]",
            "flows: [] is not allowed; list should have at least 1 item after validation, not 0",
        ),
        (
            "flows.one.kind='ftp'",
            "flows.one.kind: 'ftp' is not allowed; input should be 'iperf' or 'rsync'",
        ),
        (
            "flows.one.cc=dctcp",
            "flows.one.cc: 'dctcp' is not allowed; input should be 'cubic', 'reno', 'cdg', 'vegas",
        ),
        (
            "flows.one.bytes=6e7",
            "flows.one.bytes: 60000000.0 is not allowed; input should be a valid integer",
        ),
        (
            "flows.one.g_ms=126",
            "flows.one.g_ms: 126 is not allowed; input should be less than or equal to 125",
        ),
        (
            "flows.one.goal=9",
            "flows.one.goal: 9 is not allowed; input should be a valid dictionary or instance of ",
        ),
        ("flows.one.name=none", "flows.(number 1).name: missing; input should be a valid string"),
        (
            "background={hosts=['receiver']}",
            "background.hosts.(number 1): 'receiver' is not allowed; input should be 'sender' or ",
        ),
        # keys
        ("link.rtt=5", "link.rtt: unknown key; did you mean 'rtt_ms'? there are: rate_mbps, "),
        ("seed=5", "seed: unknown key; there are: name, title, link, "),
        ("flows.one.size=5", "flows.one.size: unknown key; there are: name, kind, host, cc, "),
        ("flows.one.kind=none", "flows.one.kind: missing; input should be 'iperf' or 'rsync'"),
        ("link=none", "link: missing; input should be a valid dictionary or instance of Link"),
        # the link
        ("link.buffer_packets=9", "link: give exactly one of buffer_bdp, buffer_packets and"),
        ("link.buffer_bdp=none", "buffer_bytes, not none"),
        ("link.sender_rtt_ms=20", "link: sender_rtt_ms = 20 is below rtt_ms = 50"),
        ("link.xsender_rtt_ms=49.5", "link: xsender_rtt_ms = 49.5 is below rtt_ms = 50"),
        ("link.access_mbps=8", "link: access_mbps = 8 is below rate_mbps = 10"),
        ("link.access_mbps=99 link.sender_qdisc=fq", "one of the two; remove one"),
        ("link.ecn=true", "link: ecn = true is for qdisc = 'codel', 'fq_codel', 'pie' or 'red'"),
        ("link.qdisc=bfifo link.ecn=true", "'bfifo' cannot mark"),
        ("link.qdisc=strict_priority link.ecn=true", "'strict_priority' cannot mark"),
        ("link.qdisc=strict_priority link.target_ms=5", "not 'strict_priority'"),
        ("link.target_ms=5", "target_ms is for qdisc = 'codel', 'fq_codel' or 'pie', not 'pfifo'"),
        ("link.qdisc=pie link.interval_ms=5", "interval_ms is for qdisc = 'codel' or 'fq_codel'"),
        ("link.qdisc=codel link.tupdate_ms=5", "tupdate_ms is for qdisc = 'pie', not 'codel'"),
        ("link.qdisc=codel link.min_packets=5", "min_packets is for qdisc = 'red', not 'codel'"),
        ("link.max_packets=5", "max_packets is for qdisc = 'red', not 'pfifo'"),
        (
            "link.loss=0.6",
            "link.loss: 0.6 is not allowed; input should be less than or equal to 0.5",
        ),
        (
            "link.reverse_flows=17",
            "link.reverse_flows: 17 is not allowed; input should be less than or equal to 16",
        ),
        ("flows.one.name=reverse16", "name = 'reverse16' is the testbed's own"),
        (
            "link.jitter_ms=-1",
            "link.jitter_ms: -1 is not allowed; input should be greater than or equal to 0",
        ),
        ("link.probability=0.5", "probability is for qdisc = 'red', not 'pfifo'"),
        ("link.qdisc=codel link.target_ms=100", "target_ms = 100 must be less than interval_ms"),
        ("link.qdisc=red link.min_packets=31", "1 <= min_packets < max_packets <= the buffer"),
        ("link.qdisc=red link.max_packets=42", "they are min_packets = 10.2497, max_packets = 42"),
        ("link.qdisc=red link.rate_mbps=10000", "qdisc = 'red' averages over at most"),
        ("link.qdisc=red link.probability=1e-6", "too small a probability"),
        # a flow
        ("flows.one.bytes=5", "flows.one: an iperf flow needs one of bytes and duration_s"),
        ("flows.one.duration_s=none", "flows.one: an iperf flow needs one of bytes and duration_s"),
        (
            "flows.one.duration_s=none flows.one.bytes=99",
            "flows.one: an iperf flow needs bytes of at least 100",
        ),
        ("flows.one.kind=rsync", "flows.one: an rsync flow needs bytes"),
        ("flows.one.kind=rsync flows.one.bytes=9 flows.one.both_ways=true", "both_ways needs kind"),
        ("flows.one.goal={deadline_s=9}", "flows.one: a goal needs bytes and cc = 'dalbe_cdg'"),
        ("flows.one.g_ms=2", "flows.one: g_ms is for cc = 'cdg' or 'dalbe_cdg', not 'cubic'"),
        (
            "flows.one.w=0.1",
            f"flows.one: w needs cc = {experiment.OUR_CCS}, no goal and no",
        ),
        ("flows.one.inflate=beta", "flows.one: inflate is for cc = 'dalbe_cubic', not 'cubic'"),
        ("flows.one.w=0", "flows.one.w: "),
        ("flows.one.bwlimit_Bps=2000", "flows.one: bwlimit_Bps is for kind = 'rsync'"),
        ("flows.one.paced_s=9", "flows.one: paced_s needs kind = 'iperf' and bytes"),
        (
            "flows.one.paced_s=0",
            "flows.one.paced_s: 0 is not allowed; input should be greater than 0",
        ),
        ("flows.one.name=sender", "flows.sender: name = 'sender' is the testbed's own"),
        ("flows.one.name=voice", "name = 'voice' is the testbed's own"),
        (
            "flows.one.read_mbps=0",
            "flows.one.read_mbps: 0 is not allowed; input should be greater than 0",
        ),
        (
            "flows.one.kind=rsync flows.one.bytes=9 flows.one.read_mbps=1",
            "flows.one: read_mbps is for kind = 'iperf'",
        ),
        # without captures
        ("clock=wall", "clock: 'wall' is not allowed; input should be 'virtual' or 'real'"),
        ("captures=false", "captures = false needs clock = 'real'"),
        ("captures=false clock=real bin_s=0.1", "captures = false needs bin_s of at least 0.5"),
        ("captures=false clock=real voice={}", "voice is known by captures alone; remove"),
        ("captures=false clock=real flows.one.cc=utp", "cc = 'utp' is known by captures alone"),
        (
            "captures=false clock=real link.qdisc=strict_priority",
            "qdisc = 'strict_priority' is known by captures alone",
        ),
        # between flows, and in time
        ("voice={start_s=10}", "voice.start_s = 10 is not before duration_s = 10"),
        (
            "voice={packets_per_s=0}",
            "voice.packets_per_s: 0 is not allowed; input should be greater than or equal to 1",
        ),
        (
            "voice={host='receiver'}",
            "voice.host: 'receiver' is not allowed; input should be 'sender' or 'xsender'",
        ),
        ("short_flows={}", "short_flows.load: missing; input should be a valid number"),
        (
            "short_flows={load=1.1}",
            "short_flows.load: 1.1 is not allowed; input should be less than or equal to 1",
        ),
        (
            "short_flows={load=1,cc='cdg'}",
            "short_flows.cc: 'cdg' is not allowed; input should be 'cubic', 'reno', 'vegas', 'lp'",
        ),
        (
            "short_flows={load=1,max_bytes=9}",
            "short_flows: min_bytes = 100000 exceeds max_bytes = 9: give both",
        ),
        (
            "short_flows={load=1,stop_s=11}",
            "short_flows: from start_s = 0 to stop_s = 11 must be a time within duration_s = 10",
        ),
        ("short_flows={load=1,start_s=10}", "from start_s = 10 to stop_s = 10 must be"),
        ("flows.one.name=requests", "name = 'requests' is the testbed's own"),
        ("web={}", "web.load: missing; input should be a valid number"),
        (
            "web={load=0.5,reverse_part=2}",
            "web.reverse_part: 2 is not allowed; input should be less than or equal to 1",
        ),
        ("web={load=0.5,start_s=10}", "web.start_s = 10 is not before duration_s = 10"),
        ("flows.one.name=web", "name = 'web' is the testbed's own"),
        ("flows.one.again_s=5", "flows.one: again_s needs kind = 'iperf' and bytes"),
        (
            "flows.one.again_s=0.5",
            "flows.one.again_s: 0.5 is not allowed; input should be greater than or equal to 1",
        ),
        (
            "voice=1",
            "voice: 1 is not allowed; input should be a valid dictionary or instance of Voice",
        ),
        ("limit_s=5", "limit_s = 5 is before duration_s = 10"),
        ("bin_s=20", "bin_s = 20 is not below duration_s = 10"),
        ("bin_s=10", "bin_s = 10 is not below duration_s = 10"),
        ("flows.one.start_s=10", "flows.one: may start at 10 s (start_s + start_jitter_s), when"),
        ("flows.one.start_jitter_s=10", "flows.one: may start at 10 s"),
        ("contenders.x={two={cc='reno'}}", "contenders.x.two: no such flow; flows are one"),
        ("contenders.x={one={count=3}}", "contenders.x.one: has a count, which only the"),
        ("contenders.x={one={cc='renault'}}", "contenders.x: flows.one.cc: 'renault' is not"),
        ("contenders.x={one={rate='none'}}", "contenders.x: flows.one.rate: unknown key"),
        ("contenders.x={one={kind='none'}}", "contenders.x: flows.one.kind: missing"),
        (
            "contenders.A={}",
            "contenders.A: 'A' is not allowed; string should match pattern '^[a-z][a-z0-9_]{0,30}",
        ),
        (
            "contenders={a={B={}}}",
            "contenders.a.B: 'B' is not allowed; string should match pattern '^[a-z][a-z0-9_]{0,3",
        ),
        ("contenders={a=1}", "contenders.a: 1 is not allowed; input should be a valid dictionary"),
        (
            "flows=[1]",
            "flows.(number 1): 1 is not allowed; input should be a valid dictionary or instance o",
        ),
        (
            "flows.one.peer=here",
            "flows.one.peer: 'here' is not allowed; string should match pattern '^/[^'\\\"]+$'",
        ),
        ("flows.one.peer_parameters=target=25", "flows.one: peer_parameters is for cc = 'peer'"),
        (
            "flows.one.peer_parameters=25",
            "flows.one.peer_parameters: 25 is not allowed; input should be a valid string",
        ),
        ("flows.one.peer=/here", "cc = 'peer' needs peer, the directory of its module; nothing el"),
        ("flows.one.cc=utp flows.one.ipv6=true", "flows.one: cc = 'utp' needs kind = 'iperf' and"),
        ("flows.one.cc=peer", "flows.one: cc = 'peer' needs peer, the directory of its module"),
        ("link.rtt_ms=0 bin_s=0", "(and 1 more)"),
        ("link.rtt_ms=0 bin=1", "bin: unknown key; did you mean 'bin_s'?"),
    ],
)
def test_bad_values_are_explained_in_one_line(settings: str, message: str):
    assert message in refused(changed("contenders={}", *settings.split(" ")))


GOAL = [
    "flows.one.cc=dalbe_cdg",
    "flows.one.duration_s=none",
    "flows.one.bytes=1000",
    "flows.one.start_s=2",
]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            ["flows.one.goal={deadline_s=9}"],
            "flows.one.goal.deadline_s: may end at 11 s, after the run: duration_s = 10",
        ),
        (["flows.one.goal={deadline_s=19}", "limit_s=20"], "after the run: limit_s = 20"),
        (
            ["flows.one.goal={deadline_s=8}", "flows.one.again_s=1"],
            "flows.one.goal.deadline_s: may end at 18 s, after the run: duration_s = 10",
        ),
        (["flows.one.goal={deadline_s=8}", "flows.one.g_ms=1"], "goal and g_ms: with a goal"),
        (
            ["flows.one.goal={deadline_s=8}", "flows.one.w=0.1"],
            f"w needs cc = {experiment.OUR_CCS}, no goal",
        ),
        (
            ["flows.one.goal={}"],
            "flows.one.goal.deadline_s: missing; input should be a valid number",
        ),
        (["flows.one.goal={deadline=8}"], "did you mean 'deadline_s'?"),
        (["flows.one.goal={deadline_s=8, controller='mpc'}"], "flows.one.goal.controller: 'mpc'"),
    ],
)
def test_bad_goals_are_explained(settings: list[str], message: str):
    assert message in refused(changed(*GOAL, *settings))


def test_a_goal_may_end_with_the_run():
    assert experiment.parse(changed(*GOAL, "flows.one.goal={deadline_s=8}"), "x").flows[0].goal


def two(**changes: object) -> dict:
    data = changed()
    first = data["flows"][0] | changes
    data["flows"] = [first, first | {"name": "two"}]
    return data


def test_flows_have_names_of_their_own():
    data = two()
    data["flows"][1]["name"] = "one"
    assert refused(data) == "flows: two flows are called 'one'"


def test_flows_of_the_in_tree_module_share_g():
    data = two(cc="cdg", g_ms=1)
    data["flows"][1]["g_ms"] = 2
    assert "flows of cc = 'cdg' share one g_ms, a module parameter, and have 1, 2" in refused(data)
    del data["flows"][1]["g_ms"]  # the default is a G as well
    assert "and have 1, 3" in refused(data)


def test_rsync_flows_of_a_host_share_its_default():
    data = two(kind="rsync", bytes=1)
    data["flows"][1]["cc"] = "reno"
    assert "rsync flows without a goal on 'sender'" in refused(data)
    data["flows"][1]["host"] = "xsender"
    experiment.parse(data, "x")


def test_a_flow_of_its_own_g_runs_under_dalbectl():
    data = two(cc="dalbe_cdg", g_ms=3)
    del data["flows"][1]["g_ms"]  # the same, by default
    one, _two = (same := experiment.parse(data, "x")).flows
    assert not same.by_dalbectl(one)
    data["flows"][1]["g_ms"] = 4
    several = experiment.parse(data, "x")
    assert all(several.by_dalbectl(flow) for flow in several.flows)
    data["flows"][1]["host"] = "xsender"
    apart = experiment.parse(data, "x")
    assert not any(apart.by_dalbectl(flow) for flow in apart.flows)


@pytest.mark.parametrize(
    "setting", ["link.rtt_ms", "links.rtt_ms=5", "flows.two.cc=reno", "flows.x=1"]
)
def test_bad_settings_are_refused(setting: str):
    with pytest.raises(TestbedError, match="--set"):
        changed(setting)


def test_set_values_are_toml_and_none_removes():
    assert changed("link.rtt_ms=20")["link"]["rtt_ms"] == 20
    assert changed("flows.one.cc=reno")["flows"][0]["cc"] == "reno"
    assert "buffer_bdp" not in changed("link.buffer_bdp=none")["link"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"name =", "not TOML: Invalid value (at end of document)"),
        (b'name = "x"\nlink = [\n', "(at end of document)"),
        (b'name = "x"\nrate 5\n', "(at line 2, column 6)"),
        (b"a = 1\na = 2\n", "line 2, column 6"),
        (b"name = '\xff'", "not TOML: byte 8 is not UTF-8"),
    ],
)
def test_syntax_errors_name_file_and_line(tmp_path: Path, text: bytes, message: str):
    path = tmp_path / "broken.toml"
    path.write_bytes(text)
    with pytest.raises(TestbedError) as error:
        experiment.load(path)
    assert str(error.value).startswith(f"{path}: not TOML: ")
    assert message in str(error.value)


def test_a_file_is_named_in_its_errors(tmp_path: Path):
    path = tmp_path / "mine.toml"
    path.write_text(GOOD.replace("rtt_ms = 50", "rtt_ms = -1"))
    with pytest.raises(TestbedError, match=rf"{path}: link\.rtt_ms: -1 is not allowed"):
        experiment.load(path)
    with pytest.raises(TestbedError, match=r"nowhere\.toml: No such file"):
        experiment.load(Path("nowhere.toml"))


def test_docs_describe_every_key():
    documented = set(re.findall(r"^\| `(\w+)` \|", DOCS, re.M))
    keys = {
        key
        for m in (Experiment, Link, Background, Voice, ShortFlows, Web, Flow)
        for key in m.model_fields
    }
    assert documented == keys
    assert all(f"{key} =" in DOCS for key in Goal.model_fields)


def test_the_example_of_the_docs_is_valid(tmp_path: Path):
    example, contender = re.findall(r"```toml\n(.*?)```", DOCS, re.S)
    path = tmp_path / "two_sites.toml"
    path.write_text(example + contender)
    loaded = experiment.load(path)
    assert len(loaded.flows) == 4
    assert loaded.contender("as_cubic").flows[0].cc == "cubic"


# The queue


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "pfifo limit 41"),  # 62500 / 1500
        ({"buffer_bdp": 0.001}, "pfifo limit 1"),
        ({"buffer_bdp": None, "buffer_bytes": 20000}, "pfifo limit 13"),
        ({"qdisc": "bfifo"}, "bfifo limit 62074"),
        ({"qdisc": "bfifo", "buffer_bdp": None, "buffer_bytes": 20000}, "bfifo limit 20000"),
        ({"qdisc": "bfifo", "buffer_bdp": None, "buffer_packets": 2}, "bfifo limit 3028"),
        ({"qdisc": "codel"}, "codel limit 41 target 5ms interval 100ms noecn"),
        ({"qdisc": "fq_codel"}, "fq_codel limit 41 target 5ms interval 100ms noecn"),
        (
            {"qdisc": "fq_codel", "ecn": True, "target_ms": 0.5, "interval_ms": 10},
            "fq_codel limit 41 target 0.5ms interval 10ms ecn",
        ),
        ({"qdisc": "pie"}, "pie limit 41 target 15ms tupdate 15ms noecn"),
        (
            {"qdisc": "pie", "ecn": True, "target_ms": 20, "tupdate_ms": 30},
            "pie limit 41 target 20ms tupdate 30ms ecn",
        ),
        (
            {"qdisc": "red"},
            "red limit 62074 min 15518 max 46555 avpkt 1000 burst 26 bandwidth 10000000bit "
            "probability 0.02",
        ),
        (
            {"qdisc": "red", "ecn": True, "min_packets": 5, "max_packets": 15, "probability": 0.1},
            "red limit 62074 min 7570 max 22710 avpkt 1000 burst 13 bandwidth 10000000bit "
            "probability 0.1 ecn",
        ),
    ],
)
def test_words_for_tc(changes: dict, words: str):
    queue = link(**changes)
    assert " ".join(queue.qdisc_words) == words
    assert queue.fifo == words.startswith(("pfifo", "bfifo"))


def test_each_priority_has_the_whole_buffer():
    queue = link(qdisc="strict_priority")
    assert queue.queue_report == "prio bands 2, pfifo limit 41, pfifo limit 41"
    assert queue.qdisc_words[3:] == ["priomap", *["0"] * 16]  # whatever a packet's TOS
    assert not queue.fifo
    assert link().band_words == []
    assert link().queue_report == "pfifo limit 41"


@given(
    packets=st.integers(2, 14_000), low=st.floats(0, 1), high=st.floats(0, 1), default=st.booleans()
)
def test_red_always_fits_the_kernel(packets: int, low: float, high: float, default: bool):
    """tc_red_eval_ewma() and red_check_params() take all that the schema lets pass."""
    queue = {"rate_mbps": 1000, "rtt_ms": 50, "buffer_packets": packets, "qdisc": "red"}
    if not default:
        queue["min_packets"] = 1 + int(low * (packets - 1))
        queue["max_packets"] = 1 + int(high * (packets - 1))
    try:
        words = Link.model_validate(queue).qdisc_words
    except ValueError:
        assert not default
        return
    value = dict(zip(words[1::2], words[2::2], strict=True))
    assert int(value["min"]) < int(value["max"]) <= int(value["limit"])
    burst, least = int(value["burst"]), int(value["min"]) / 1000
    wlog = 31 - int(value["max"]).bit_length()
    weight = 2.0**-wlog
    assert 1 <= burst + 1 - least <= (1 - (1 - weight) ** burst) / weight


# The path


@pytest.mark.parametrize(
    ("delay", "data_us", "acks_us"),
    [("split", 25000, 25000), ("data", 50000, 0), ("acks", 0, 50000)],
)
def test_where_the_delay_sits(delay: str, data_us: int, acks_us: int):
    path = link(delay=delay)
    assert (path.data_delay_us, path.acks_delay_us) == (data_us, acks_us)


@given(st.floats(1, 2000), st.floats(0, 2000), st.sampled_from(["split", "data", "acks"]))
def test_delays_add_up_to_each_side_s_rtt(rtt_ms: float, more_ms: float, delay: str):
    path = link(rtt_ms=rtt_ms, xsender_rtt_ms=rtt_ms + more_ms, delay=delay)
    shared_us = path.data_delay_us + path.acks_delay_us
    assert path.base_rtt_ms("sender") == rtt_ms
    assert path.base_rtt_ms("xsender") == rtt_ms + more_ms
    assert path.extra_delay_us("sender") == 0
    assert abs(shared_us - rtt_ms * 1e3) <= 0.5
    assert abs(shared_us + path.extra_delay_us("xsender") - (rtt_ms + more_ms) * 1e3) <= 0.5
    assert path.extra_delay_us("xsender") >= 0


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, ""),
        ({"loss": 0, "jitter_ms": 0}, ""),
        ({"loss": 0.001}, "loss 0.1%"),
        ({"loss": 1e-7}, "loss 1e-05%"),
        ({"jitter_ms": 0.0004}, ""),  # netem would be told 0 us
        ({"jitter_ms": 2.5, "loss": 0.5}, "delay 2500us 2500us rate 100gbit loss 50%"),
    ],
)
def test_words_for_netem(changes: dict, words: str):
    assert " ".join(link(**changes).impairment_words()) == words


def test_words_for_a_detour():
    path = link(detour={"extra_ms": 50, "from_s": 10, "to_s": 20}, jitter_ms=1)
    assert path.detour.changes_s == [10, 20]
    for t_s, delay_us in ((0, 1000), (9.9, 1000), (10, 51_000), (19.9, 51_000), (20, 1000)):
        words = path.impairment_words(t_s)
        assert words == ["delay", f"{delay_us}us", "1000us", "rate", "100gbit"]
    assert link(detour={"extra_ms": 50, "to_s": 20}).detour.changes_s == [20]
    with pytest.raises(ValidationError, match=r"to_s = 5 is not after from_s = 10"):
        link(detour={"extra_ms": 50, "from_s": 10, "to_s": 5})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, ""),
        ({"ack_loss": 0, "ack_slot_ms": 0}, ""),
        ({"ack_loss": 0.75}, "delay 25000us loss 75%"),
        ({"ack_slot_ms": 20, "delay": "data"}, "delay 0us slot 20000us"),
        ({"ack_loss": 0.5, "ack_slot_ms": 2.5}, "delay 25000us loss 50% slot 2500us"),
    ],
)
def test_words_for_acks(changes: dict, words: str):
    assert " ".join(link(**changes).ack_words) == words


def test_access_links():
    assert link().access_bps == 0
    assert link(access_mbps=100).access_bps == 100_000_000


# Contenders


def test_contender_changes_and_removes_keys():
    demo = experiment.load(TESTBED / "experiments/demo.toml")
    file = {flow.name: flow for flow in demo.contender("cubic").flows}["file"]
    assert (file.cc, file.goal) == ("cubic", None)
    with pytest.raises(TestbedError, match="no contender 'nobody'; there are: dalbe_cdg"):
        demo.contender("nobody")
    as_set = experiment.load(TESTBED / "experiments/demo.toml", ["contender=cubic"])
    assert as_set == demo.contender("cubic")
    with pytest.raises(TestbedError, match=r"demo.toml: no contender 'nobody'; there are: dalbe"):
        experiment.load(TESTBED / "experiments/demo.toml", ["contender=nobody"])
    cell = experiment.load(TESTBED / "experiments/cell.toml")
    with pytest.raises(TestbedError, match="no contender 'nobody'; there are: none"):
        cell.contender("nobody")


def test_parsing_leaves_its_input_alone():
    data = changed("contenders={}", "contenders.x={one={cc='reno'}}")
    before = copy.deepcopy(data)
    assert experiment.parse(data, "x").contender("x").flows[0].cc == "reno"
    assert data == before


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


@pytest.mark.parametrize(
    ("host", "others", "refused"),
    [
        ("sender", {"loss": 0.1, "xsender_rtt_ms": 90}, None),
        ("xreceiver", {"sender_rtt_ms": 90, "ack_loss": 0.1}, None),
        ("sender", {"sender_rtt_ms": 90}, "stall of sender and sender_rtt_ms"),
        ("receiver", {"jitter_ms": 1}, "stall of receiver and jitter_ms"),
        ("xreceiver", {"detour": {"extra_ms": 5}}, "stall of xreceiver and detour"),
        ("router", {"loss": 0.1, "sender_rtt_ms": 90, "delay": "data"}, None),
        ("router", {"delay": "acks"}, "stall of router needs delay"),
    ],
)
def test_a_stall_has_its_place_on_the_path(host: str, others: dict, refused: str | None):
    stall = {"host": host, "for_ms": 20, "every_s": 1}
    if refused is None:
        assert link(stall=stall, **others).stall.host == host
    else:
        with pytest.raises(ValidationError, match=refused):
            link(stall=stall, **others)


def test_a_host_runs_between_its_stalls():
    with pytest.raises(ValidationError, match="the host would never run"):
        link(stall={"host": "sender", "for_ms": 1000, "every_s": 1})


def test_a_count_makes_flows_that_differ_in_name_only() -> None:
    file = TESTBED / "experiments/breadth.toml"
    one, *others = experiment.load(file, ["flows.other2.start_s=50", "flows.other.count=3"]).flows
    assert [flow.name for flow in others] == ["other1", "other2", "other3"]
    assert [flow.start_s for flow in others] == [41, 50, 41]
    assert experiment.load(file, ["flows.other.count=0"]).flows == [one]
    assert "count" not in one.model_dump()
    with pytest.raises(TestbedError, match=r"flows.other.count: 300 is not allowed; input .* 256"):
        experiment.load(file, ["flows.other.count=300"])
    with pytest.raises(TestbedError, match="there is no 'other3' in the experiment"):
        experiment.load(file, ["flows.other.count=2", "flows.other3.start_s=1"])
