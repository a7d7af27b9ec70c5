# SPDX-License-Identifier: GPL-2.0-only
"""From an experiment to the guest's link, modules, settings and schedule."""

import re
import shlex
from pathlib import Path

import pytest
from dalbe_testbed.errors import TestbedError
from dalbe_testbed.paths import TESTBED
from dalbe_testbed.plan import experiment
from dalbe_testbed.plan import schedule as drawn
from dalbe_testbed.run import scenario
from dalbe_testbed.run.backends import Backend
from hypothesis import given
from hypothesis import strategies as st

SILENT = [">/dev/null", "2>&1", "&"]
DEMO, CELL, MIXED = (TESTBED / f"experiments/{name}.toml" for name in ("demo", "cell", "mixed"))
# Rates at which nothing takes long: the payload is written.
SMALL_DEMO = ["flows.file.bytes=1000"]


def written(
    directory: Path, file: Path, *settings: str, seed: int = 1, **given: Path | None
) -> dict[str, str]:
    """Return what scenario.write() leaves, by file name."""
    programs = {"module": Path("/m/dalbe.ko"), "dalbectl": Path("/d/dalbectl")} | given
    tools = scenario.Tools(backend=Backend("uml", "6.12", "0", Path("/k")), **programs)
    scenario.write(experiment.load(file, list(settings)), seed, tools, directory)
    return {
        name: (directory / name).read_text() for name in ("link", "modules", "setup", "schedule")
    }


def schedule(files: dict[str, str]) -> list[list[str]]:
    return [line.split("\t") for line in files["schedule"].splitlines()]


def command(files: dict[str, str], flow: str) -> str:
    (line,) = [event for event in schedule(files) if event[1:3] == ["start", flow]]
    return line[4]


def test_the_paper_s_link(tmp_path: Path):
    assert written(tmp_path, CELL)["link"].splitlines() == [
        "RATE_BPS=10000000",
        "DELAY_DATA_US=25000",
        "DELAY_ACKS_US=25000",
        "DELAY_SENDER_US=0",
        "DELAY_XSENDER_US=0",
        "ACCESS_BPS=0",
        "QDISC='pfifo limit 41'",
        "ECN=0",
        "SNAPLEN=96",
        "FLOOD_PPS=1033",
        "TRACE_KB=8192",
    ]


def test_a_link_with_everything(tmp_path: Path):
    lines = written(tmp_path, MIXED, "link.delay=data", "link.sender_rtt_ms=50")["link"]
    assert lines.splitlines()[:8] == [
        "RATE_BPS=20000000",
        "DELAY_DATA_US=20000",
        "DELAY_ACKS_US=0",
        "DELAY_SENDER_US=30000",
        "DELAY_XSENDER_US=60000",
        "ACCESS_BPS=100000000",
        "QDISC='fq_codel limit 133 target 5ms interval 100ms ecn'",
        "ECN=1",
    ]


def test_the_link_of_two_priorities(tmp_path: Path):
    lines = written(tmp_path, CELL, "link.qdisc=strict_priority")["link"].splitlines()
    assert f"QDISC='prio bands 2 priomap{' 0' * 16}'" in lines
    assert "BAND_QDISC='pfifo limit 41'" in lines


def test_hosts_with_a_queue_discipline_and_data_both_ways(tmp_path: Path):
    settings = ["link.sender_qdisc=fq", "flows.cubic1.both_ways=true"]
    files = written(tmp_path, CELL, *settings)
    assert {"SENDER_QDISC=fq", "BOTH_WAYS=1"} <= set(files["link"].splitlines())
    full = [event[2] for event in schedule(files) if "--full-duplex" in event[-1]]
    assert full == ["cubic1"]


def test_a_machine_whose_processor_counts(tmp_path: Path):
    settings = ["clock=real", "captures=false", "background=none", "link.offloads=true"]
    files = written(tmp_path, CELL, *settings, "flows.cubic1.read_mbps=2.5")
    assert {"OFFLOADS=1", "NO_CAPTURES=1", "BURST_BYTES=1600"} <= set(files["link"].splitlines())
    assert "-p 5003 -b 2500000 >" in files["setup"]
    fast = written(tmp_path / "fast", CELL, *settings, "link.rate_mbps=1000")["link"]
    assert "BURST_BYTES=125000" in fast.splitlines()
    for key in ("OFFLOADS", "NO_CAPTURES", "BURST_BYTES"):  # a guest's random numbers depend on it
        assert key not in written(tmp_path / "plain", CELL)["link"]


def test_the_link_of_a_wireless_hop(tmp_path: Path):
    text = written(tmp_path, CELL, "link.loss=0.01", "link.jitter_ms=5")["link"]
    assert "IMPAIRMENT='delay 5000us 5000us rate 100gbit loss 1%'" in text.splitlines()


def test_a_route_that_changes_twice(tmp_path: Path):
    detour = "link.detour={extra_ms=50,from_s=10,to_s=20}"
    files = written(tmp_path, CELL, detour, "link.ack_slot_ms=20")
    assert "IMPAIRMENT='delay 0us 0us rate 100gbit'" in files["link"].splitlines()
    assert "ACK_IMPAIRMENT='delay 25000us slot 20000us'" in files["link"].splitlines()
    assert [event for event in schedule(files) if event[1] == "impair"] == [
        ["10000000", "impair", "-", "delay 50000us 0us rate 100gbit"],
        ["20000000", "impair", "-", "delay 0us 0us rate 100gbit"],
    ]
    with pytest.raises(TestbedError, match=r"detour: its from_s and to_s must be before"):
        written(tmp_path, CELL, "link.detour={extra_ms=50,from_s=300}")


def test_a_rate_that_changes_twice(tmp_path: Path):
    steps = "link.steps=[{at_s=10,rate_mbps=5},{at_s=20,rate_mbps=0.5}]"
    files = written(tmp_path, CELL, steps)
    assert [event for event in schedule(files) if event[1] == "rate"] == [
        ["10000000", "rate", "-", "5000000"],
        ["20000000", "rate", "-", "500000"],
    ]
    with pytest.raises(TestbedError, match=r"link.steps: each at_s must be before"):
        written(tmp_path, CELL, "link.steps=[{at_s=300,rate_mbps=5}]")


def test_a_host_that_stands_still(tmp_path: Path):
    stall = "link.stall={host='xreceiver',for_ms=12.5,every_s=140,from_s=10}"
    files = written(tmp_path, CELL, stall, "duration_s=300")
    assert "STALLED=xreceiver\n" in files["link"]
    assert [event for event in schedule(files) if event[1] == "stall"] == [
        [f"{us}", "stall", "xreceiver", what]
        for begin_us in (10_000_000, 150_000_000, 290_000_000)
        for us, what in ((begin_us, "block"), (begin_us + 12_500, "release_indefinite"))
    ]


def test_a_program_that_pauses(tmp_path: Path):
    files = written(tmp_path, CELL, "flows.cubic1.pause={after_s=10,for_s=20}")
    (start,) = [float(event[0]) for event in schedule(files) if event[2] == "cubic1"]
    stop, go = [event for event in schedule(files) if event[2].startswith("cubic1-")]
    assert (float(stop[0]), float(go[0])) == (start + 10e6, start + 30e6)
    assert stop[1:4] == ["start", "cubic1-STOP", "xsender"]
    pattern = re.compile(shlex.split(stop[4])[-1])
    assert pattern.search("iperf -e -c 10.0.2.2 -p 5003 -Z cubic -t 260")
    assert not pattern.search("iperf -s -p 5003")
    assert not pattern.search("dalbectl run -- iperf -e -c 10.0.2.2 -p 5003")
    assert not pattern.search("iperf -e -c 10.0.2.2 -p 50030")
    with pytest.raises(TestbedError, match=r"cubic1.pause: may end at .* is over"):
        written(tmp_path, CELL, "flows.cubic1.pause={after_s=10,for_s=300}")


def test_reverse_flows_alternate_over_a_bottleneck_of_their_own(tmp_path: Path):
    files = written(tmp_path, CELL, "link.reverse_flows=3")
    assert "REVERSE_QDISC='pfifo limit 41'" in files["link"].splitlines()
    starts = [event for event in schedule(files) if event[2].startswith("reverse")]
    assert [(event[0], event[2], event[3]) for event in starts] == [
        ("0", "reverse1", "receiver"),
        ("0", "reverse2", "xreceiver"),
        ("0", "reverse3", "receiver"),
    ]
    assert starts[1][4] == "env LD_PRELOAD=$QUIET iperf -e -c 10.0.1.2 -p 9300 -Z cubic -t 360"
    servers = [line for line in files["setup"].splitlines() if "-p 9300" in line]
    assert [line.split()[3] for line in servers] == ["sender", "xsender"]


def test_socket_buffers_hold_the_path(tmp_path: Path):
    long = ["link.rate_mbps=200", "link.rtt_ms=300"]  # a BDP of 7.5 MB, here the buffer, too
    text = written(tmp_path, CELL, *long)["link"]
    (size,) = re.findall(r"^SOCKET_BUFFER_BYTES=(\d+)$", text, re.M)
    assert int(size) == pytest.approx(4 * 2 * 7.5e6, rel=0.01)
    further = written(tmp_path, CELL, *long, "link.xsender_rtt_ms=600")["link"]
    assert f"SOCKET_BUFFER_BYTES={int(size) + 4 * 7_500_000}" in further.splitlines()


@pytest.mark.parametrize("setting", ["link.reverse_flows=0", "link.loss=0", "link.ack_loss=0"])
def test_what_is_not_asked_for_is_not_in_the_input(tmp_path: Path, setting: str):
    assert written(tmp_path, CELL, setting) == written(tmp_path, CELL)


def test_sender_s_flows_have_low_priority():
    def low(*settings: str) -> list[int] | None:
        cell = experiment.load(CELL, list(settings))
        return drawn.low_priority_ports(cell, drawn.plan(cell, 1))

    assert low() is None
    assert low("link.qdisc=strict_priority") == [5001, 5002]


def test_the_flood_exceeds_the_slowest_link(tmp_path: Path):
    text = written(tmp_path, CELL, "link.rate_mbps=0.1")["link"]
    (pps,) = re.findall(r"FLOOD_PPS=(\d+)", text)
    assert int(pps) * scenario.FLOOD_BYTES * 8 > 0.1e6


@pytest.mark.parametrize(
    ("cc", "module"),
    [
        ("cdg", "/k/net/ipv4/tcp_cdg.ko use_shadow=0 use_ineff=0 backoff_factor=1250"),
        ("dalbe_cdg", "/m/dalbe.ko"),
    ],
)
def test_modules(tmp_path: Path, cc: str, module: str):
    settings = [f"flows.cdg{n}.cc={cc}" for n in (1, 2)]
    assert written(tmp_path, CELL, *settings)["modules"] == f"{module}\n"
    assert written(tmp_path, CELL, *settings, "flows.cubic1.cc=lp")["modules"] == (
        f"{module}\n/k/net/ipv4/tcp_lp.ko\n"
    )


def test_in_tree_backoff_factor():
    assert [experiment.cdg_backoff_factor(g) for g in (0.002, 0.1, 3, 120)] == [62500, 1250, 42, 1]


def test_commands_of_flows(tmp_path: Path):
    files = written(tmp_path, MIXED)
    assert command(files, "page") == (
        "env LD_PRELOAD=$QUIET iperf -e -c 10.0.2.2 -p 5004 -Z cubic -n 5000000"
    )
    assert command(files, "video") == (
        "env LD_PRELOAD=$QUIET iperf -V -e -c fd00:2::2 -p 5005 -Z reno -t 30"
    )
    assert command(files, "upload") == (
        f"/d/dalbectl run --size-of {tmp_path}/upload.bin --deadline +40s -- "
        f"rsync --whole-file --stats {tmp_path}/upload.bin rsync://10.0.2.1:8730/in/"
    )


def test_an_iperf_flow_with_a_goal(tmp_path: Path):
    settings = ["flows.gentle.goal={deadline_s=30}", "flows.gentle.g_ms=none"]
    settings += ["flows.gentle.duration_s=none", "flows.gentle.bytes=123456789"]
    assert command(written(tmp_path, MIXED, *settings), "gentle") == (
        "/d/dalbectl run --size 123456789 --deadline +30s -- "
        "env LD_PRELOAD=$QUIET iperf -e -c 10.0.2.1 -p 5002 -n 123456789"
    )


def test_libtorrent_is_at_both_ends_of_its_flow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(scenario, "find_spec", lambda _name: "there")
    settings = ["flows.cubic1.cc=utp", "flows.cubic1.duration_s=80"]
    files = written(tmp_path, CELL, *settings)
    words = shlex.split(command(files, "cubic1"))
    assert words[1:3] == [str(TESTBED / "guest/utp.py"), "send"]
    (there,) = [line for line in files["setup"].splitlines() if "utp.py" in line]
    assert shlex.split(there)[6:] == ["receive", *words[3:-1], "$TMPDIR/cubic1-receive", *SILENT]
    assert (words[5], words[6]) == ("100000000", "80")  # as much as the link carries
    assert files["modules"] == written(tmp_path, CELL)["modules"]
    monkeypatch.setattr(scenario, "find_spec", lambda _name: None)
    with pytest.raises(TestbedError, match="needs libtorrent"):
        written(tmp_path, CELL, *settings)


def test_a_paced_iperf_flow(tmp_path: Path):
    settings = ["flows.page.paced_s=30", "flows.page.bytes=1000001"]
    assert command(written(tmp_path, MIXED, *settings), "page") == (
        "env LD_PRELOAD=$QUIET iperf -e -c 10.0.2.2 -p 5004 -Z cubic --fq-rate 266667 -n 1000001"
    )


def test_a_goals_controller_is_the_flows_and_its_limiter_the_hosts(tmp_path: Path):
    goal = "flows.upload.goal={deadline_s=40, controller='floor', limit_increase=false}"
    files = written(tmp_path, MIXED, goal)
    assert "--deadline +40s --controller floor -- rsync" in command(files, "upload")
    write = "echo 0 | ip netns exec sender tee /proc/sys/net/dalbe/limit_increase >/dev/null\n"
    assert files["setup"].count("limit_increase") == files["setup"].count(write) == 1
    assert "limit_increase" not in written(tmp_path, MIXED)["setup"]

    other = ["g_ms=none", "duration_s=none", "bytes=1000000", "goal={deadline_s=30}"]
    settings = [goal, *(f"flows.gentle.{key}" for key in other)]
    with pytest.raises(TestbedError, match=r"goal\.limit_increase is one setting of 'sender'"):
        written(tmp_path, MIXED, *settings)
    settings[-1] = "flows.gentle.goal={deadline_s=30, limit_increase=false}"
    assert written(tmp_path, MIXED, *settings)["setup"].count(write) == 1


@pytest.mark.parametrize("file", [CELL, DEMO, MIXED], ids=lambda path: path.stem)
def test_traffic_generators_are_quiet_and_rsync_is_not(tmp_path: Path, file: Path):
    files = written(tmp_path, file, *(SMALL_DEMO if file == DEMO else []))
    lines = files["schedule"].splitlines() + files["setup"].splitlines()
    for line in lines:
        generators = re.findall(r"(\S+ \S+) (?:iperf -|ITGSend -)", line)
        assert generators == ["env LD_PRELOAD=$QUIET"] * bool(re.search(r"iperf -|ITGSend", line))
        assert "rsync" not in line or "$QUIET" not in line
    assert any("$QUIET" in line for line in lines)


# G


def test_one_g_on_a_host_is_the_host_s(tmp_path: Path):
    settings = [f"flows.cdg{n}.cc=dalbe_cdg" for n in (1, 2)]
    files = written(tmp_path, CELL, *settings, dalbectl=None)
    write = "echo 100 | ip netns exec sender tee /proc/sys/net/dalbe/g_us >/dev/null\n"
    assert files["setup"].count("g_us") == files["setup"].count(write) == 1
    assert command(files, "cdg1").startswith("env LD_PRELOAD=$QUIET iperf")


def test_a_weight_is_the_flows_own(tmp_path: Path):
    settings = ["cc=dalbe_cdg", "g_ms=none", "w=0.25"]
    files = written(tmp_path, CELL, *(f"flows.cdg1.{setting}" for setting in settings))
    words = shlex.split(command(files, "cdg1"))
    assert words[:4] == ["/d/dalbectl", "run", "--quiet", "--controller"]
    options = dict(zip(words[3:11:2], words[4:11:2], strict=True))
    assert options == {
        "--controller": "weight",
        "--wmin": "0.25",
        "--size": "1E",
        "--deadline": "+300s",
    }


def test_vegas_under_a_goal_is_selected_by_the_program(tmp_path: Path):
    """dalbectl leaves it to it; both congestion controls are in one module."""
    settings = ["flows.cdg1.cc=dalbe_vegas", "flows.cdg1.g_ms=none", "flows.cdg1.w=0.25"]
    settings += ["flows.cdg2.cc=dalbe_cdg"]
    files = written(tmp_path, CELL, *settings)
    words = shlex.split(command(files, "cdg1"))
    assert words[:2] == ["/d/dalbectl", "run"]
    assert words[words.index("-Z") + 1] == "dalbe_vegas"
    assert files["modules"].split() == ["/m/dalbe.ko"]


def test_what_w_inflates_of_cubic_is_the_hosts(tmp_path: Path):
    settings = ["flows.cdg1.cc=dalbe_cubic", "flows.cdg1.g_ms=none", "flows.cdg1.w=0.25"]
    settings += ["flows.cdg2.cc=cubic", "flows.cdg2.g_ms=none"]
    assert "cubic_inflate" not in written(tmp_path, CELL, *settings)["setup"]
    files = written(tmp_path, CELL, *settings, "flows.cdg1.inflate=beta")
    write = "echo 1 | ip netns exec sender tee /proc/sys/net/dalbe/cubic_inflate >/dev/null\n"
    assert files["setup"].count("cubic_inflate") == files["setup"].count(write) == 1
    settings[3:] = ["flows.cdg2.cc=dalbe_cubic", "flows.cdg2.g_ms=none"]
    with pytest.raises(TestbedError, match="inflate is one setting of 'sender'"):
        written(tmp_path, CELL, *settings, "flows.cdg1.inflate=beta")


def test_several_g_on_a_host_are_the_flows_own(tmp_path: Path):
    files = written(tmp_path, MIXED)
    assert "g_us" not in files["setup"]
    for flow, g_ms in (("gentle", "0.5"), ("eager", "20")):
        words = shlex.split(command(files, flow))
        assert words[:4] == ["/d/dalbectl", "run", "--quiet", "--controller"]
        options = dict(zip(words[3:11:2], words[4:11:2], strict=True))
        assert options == {
            "--controller": "fixed",
            "--g": g_ms,
            "--size": "1E",
            "--deadline": "+75s",
        }
        assert words[11:15] == ["--", "env", "LD_PRELOAD=$QUIET", "iperf"]
        assert words[words.index("-Z") + 1] == "dalbe_cdg"


def test_every_g_becomes_digits(tmp_path: Path):
    settings = ["flows.gentle.g_ms=0.002", "flows.eager.g_ms=125", "limit_s=1000000"]
    files = written(tmp_path, MIXED, *settings)
    assert "--g 0.002 " in command(files, "gentle")
    assert "--g 125 " in command(files, "eager")
    assert "--deadline +1000000s" in command(files, "eager")


def test_the_default_g_is_written_too(tmp_path: Path):
    settings = [
        f"flows.cdg{n}.{change}" for n in (1, 2) for change in ("cc=dalbe_cdg", "g_ms=none")
    ]
    assert "echo 3000 | ip netns exec sender" in written(tmp_path, CELL, *settings)["setup"]


def test_rsync_gets_its_host_s_default(tmp_path: Path):
    settings = ["flows.file.cc=reno", "flows.file.goal=none", *SMALL_DEMO, "contenders={}"]
    setup = written(tmp_path, DEMO, *settings, dalbectl=None, module=None)["setup"]
    key = "/proc/sys/net/ipv4/tcp_congestion_control"
    assert f"echo reno | ip netns exec sender tee {key} >/dev/null\n" in setup
    assert "tcp_congestion_control >" not in written(tmp_path, DEMO, *SMALL_DEMO)["setup"]


@pytest.mark.parametrize(
    ("file", "given", "built"),
    [
        (CELL, {}, []),
        (DEMO, {}, ["guest-module.sh", "make"]),
        (DEMO, {"module": Path("/m/dalbe.ko"), "dalbectl": Path("/d/dalbectl")}, []),
    ],
)
def test_the_clone_s_own_are_built_where_needed(
    monkeypatch: pytest.MonkeyPatch, file: Path, given: dict[str, Path], built: list[str]
):
    asked = []
    monkeypatch.setattr(scenario, "ask", lambda who, *_: asked.append(who.name) or "/own.ko\n")
    named = scenario.Tools(backend=Backend("uml", "6.12", "0", Path("/k")), **given)
    tools = scenario.with_own(named, experiment.load(file))
    assert asked == built
    own = [Path("/own.ko"), TESTBED.parent / "tools/dalbectl"]
    assert [tools.module, tools.dalbectl] == (own if built else [named.module, named.dalbectl])


@pytest.mark.parametrize(
    ("file", "tools", "message"),
    [
        (DEMO, {"module": None}, "--module"),
        (DEMO, {"dalbectl": None}, "flow file needs --dalbectl"),
        (MIXED, {"dalbectl": None}, "flow upload needs --dalbectl"),
    ],
)
def test_missing_tools_are_named(tmp_path: Path, file: Path, tools: dict, message: str):
    settings = SMALL_DEMO if file == DEMO else []
    with pytest.raises(TestbedError, match=message):
        written(tmp_path, file, *settings, **tools)


# Background


@pytest.mark.parametrize(
    ("setting", "hosts"),
    [
        ("background={}", ["sender", "xsender"]),
        ("background.hosts=['xsender']", ["xsender"]),
        ("background.hosts=['xsender', 'sender']", ["sender", "xsender"]),
        ("background=none", []),
    ],
)
def test_who_sends_background(tmp_path: Path, setting: str, hosts: list[str]):
    events = schedule(written(tmp_path, CELL, setting))
    background = [event for event in events if event[2].startswith("background")]
    assert [event[3] for event in background] == hosts
    for event in background:
        port = {"sender": 9100, "xsender": 9101}[event[3]]
        assert f"-rp {port} -c 1450 -E 43.103 " in event[4]


def test_voice(tmp_path: Path):
    files = written(tmp_path, CELL, "voice={start_s=2.5}")
    (event,) = [event for event in schedule(files) if event[2] == "voice"]
    assert event[0] == "2500000"
    assert event[3] == "xsender"
    assert event[4] == (
        "env LD_PRELOAD=$QUIET ITGSend -a 10.0.2.2 -T UDP -rp 9102 -c 160 -C 50 -t 360000"
    )


def test_short_flows(tmp_path: Path):
    files = written(tmp_path, CELL, "short_flows={load=0.3,cc='bbr'}")
    (event,) = [event for event in schedule(files) if event[2] == "requests"]
    assert event[0] == "0"
    assert event[3:] == [
        "xsender",
        f"$HELPERS/shortflows send 10.0.2.2 9200 bbr {tmp_path}/requests",
    ]
    serve = "ip netns exec xreceiver $HELPERS/shortflows serve 9200 >/dev/null 2>&1 &"
    assert serve in files["setup"].splitlines()
    assert "/k/net/ipv4/tcp_bbr.ko" in files["modules"].splitlines()
    lines = [line.split() for line in (tmp_path / "requests").read_text().splitlines()]
    (stream,) = drawn.streams(experiment.load(CELL, ["short_flows={load=0.3}"]), 1)
    assert [(int(at), int(size)) for at, size in lines] == [
        (round(transfer.start_s * 1e6), transfer.bytes) for transfer in stream.transfers
    ]
    written(tmp_path / "none", CELL)
    assert not (tmp_path / "none/requests").exists()


def test_web_sessions_go_both_ways(tmp_path: Path):
    files = written(tmp_path, CELL, "web={load=0.4,reverse_part=0.5,cc='bbr'}", "limit_s=400")
    events = {event[2]: event for event in schedule(files) if event[2].startswith("web")}
    send = "$HELPERS/shortflows send"
    assert events["web"][3:] == ["xsender", f"{send} 10.0.2.2 9201 bbr {tmp_path}/web"]
    back = f"{send} 10.0.1.2 9202 bbr {tmp_path}/web_back"
    assert events["web_back"][3:] == ["xreceiver", back]
    for host, port in (("xreceiver", 9201), ("xsender", 9202)):
        serve = f"ip netns exec {host} $HELPERS/shortflows serve {port} >/dev/null 2>&1 &"
        assert serve in files["setup"].splitlines()
    assert "/k/net/ipv4/tcp_bbr.ko" in files["modules"].splitlines()
    sizes = {
        name: [int(line.split()[1]) for line in (tmp_path / name).read_text().splitlines()]
        for name in events
    }
    assert sum(sizes["web_back"]) == pytest.approx(sum(sizes["web"]) / 2, rel=0.1)
    last_us = int((tmp_path / "web").read_text().splitlines()[-1].split()[0])
    assert last_us == pytest.approx(400e6, rel=0.02)  # as long as the run may last
    written(tmp_path / "one-way", CELL, "web={load=0.4}")
    assert not (tmp_path / "one-way/web_back").exists()


def test_a_reverse_bottleneck_without_flows(tmp_path: Path):
    queue = "REVERSE_QDISC='pfifo limit 41'"
    assert queue in written(tmp_path, CELL, "link.reverse_bottleneck=true")["link"].splitlines()
    assert "REVERSE_QDISC" not in written(tmp_path, CELL)["link"]


def test_one_transfer_after_another(tmp_path: Path):
    settings = ["flows.cubic1.duration_s=none", "flows.cubic1.bytes=9000"]
    settings += ["flows.cubic1.again_s=2.5", "flows.cubic1.start_jitter_s=0"]
    files = written(tmp_path, CELL, *settings)
    (at_us,) = [event[0] for event in schedule(files) if event[1:3] == ["start", "cubic1"]]
    last_s = 300 - int(at_us) / 1e6
    again = f"$AGAIN 2.5 {last_s:g} env LD_PRELOAD=$QUIET iperf "
    assert command(files, "cubic1").startswith(again)


def test_short_flows_of_sender_have_low_priority():
    settings = ["link.qdisc=strict_priority", "short_flows={load=0.3,host='sender'}"]
    cell = experiment.load(CELL, settings)
    assert drawn.low_priority_ports(cell, drawn.plan(cell, 1)) == [5001, 5002, 9200]


# The schedule


def test_the_same_seed_gives_the_same_starts():
    cell = experiment.load(CELL)

    def starts(seed: int) -> list[float]:
        return [planned.start_s for planned in drawn.plan(cell, seed)]

    assert starts(1) == starts(1) == [1, 1.3, 32.111182, 34.947357]
    assert starts(1) != starts(2)


@given(st.integers(0, 99_999_999))
def test_every_flow_starts_in_its_interval_on_its_port(seed: int):
    mixed = experiment.load(MIXED)
    plan = drawn.plan(mixed, seed)
    assert [planned.flow for planned in plan] == mixed.flows
    assert len({planned.port for planned in plan}) == len(plan)
    for planned in plan:
        assert planned.flow.start_s <= planned.start_s <= planned.flow.latest_start_s


def test_cross_traffic_is_the_same_for_all_contenders():
    demo = experiment.load(DEMO)
    plans = [
        [(p.flow.name, p.port, p.start_s) for p in drawn.plan(demo.contender(name), 7)]
        for name in demo.contenders
    ]
    assert all(plan == plans[0] for plan in plans)
    assert plans[0] != [
        (p.flow.name, p.port, p.start_s) for p in drawn.plan(demo.contender("cubic"), 8)
    ]


def test_ports_of_256_flows_do_not_meet():
    cell = experiment.load(CELL)
    flow = cell.flows[0].model_dump(exclude_unset=True)
    rsync = flow | {"kind": "rsync", "bytes": 1}
    data = cell.model_dump(exclude_unset=True)
    data["flows"] = [(flow, rsync)[n % 2] | {"name": f"f{n}", "cc": "reno"} for n in range(256)]
    for one in data["flows"]:
        one.pop("g_ms")
    ports = {planned.port for planned in drawn.plan(experiment.parse(data, "x"), 1)}
    assert len(ports) == 256
    signalling = 9000  # ITGRecv's
    taken = {
        drawn.BACKGROUND_PORT,
        drawn.BACKGROUND_PORT + 1,
        drawn.FLOOD_PORT,
        drawn.REQUESTS_PORT,
        drawn.VOICE_PORT,
        drawn.REVERSE_PORT,
        signalling,
    }
    assert not ports & taken


def test_the_schedule_is_in_order_and_awaits_what_ends_by_size(tmp_path: Path):
    events = schedule(written(tmp_path, MIXED))
    times = [int(event[0]) for event in events]
    assert times == sorted(times)
    awaited = [event[1:] for event in events if event[1] == "await"]
    assert awaited == [["await", "upload", "75"], ["await", "page", "75"], ["await", "-", "0"]]


def test_rsync_with_a_duration_is_stopped(tmp_path: Path):
    settings = ["flows.file.duration_s=100.5", "flows.file.start_s=2", *SMALL_DEMO]
    events = schedule(written(tmp_path, DEMO, *settings))
    assert ["102500000", "stop", "file"] in events
    assert not any(event[1:3] == ["await", "file"] for event in events)


def test_payload_repeats_with_its_seed(tmp_path: Path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        scenario.write_payload(tmp_path / name, 3_000_000, seed)
    a, b, c = ((tmp_path / name).read_bytes() for name in "abc")
    assert a == b != c
    assert len(a) == 3_000_000
