# SPDX-License-Identifier: GPL-2.0-only
"""From an experiment to what the guest does: the input directory of scenario.sh."""

import math
import os
import random
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from dalbe_testbed.errors import TestbedError
from dalbe_testbed.paths import TESTBED
from dalbe_testbed.plan import schedule
from dalbe_testbed.plan.experiment import (
    CONTROLLER_DEFAULT,
    G_DEFAULT_MS,
    Experiment,
    Flow,
    cdg_backoff_factor,
)
from dalbe_testbed.plan.schedule import PEER, PlannedFlow, Stream
from dalbe_testbed.run.backends import Backend, ask

SNAPLEN_BYTES = 96  # Ethernet, IPv6 and TCP with timestamps, with ten bytes to spare
ADDRESS = {
    "sender": ("10.0.1.1", ""),  # nothing is sent to it by IPv6
    "xsender": ("10.0.1.2", ""),
    "receiver": ("10.0.2.1", "fd00:2::1"),
    "xreceiver": ("10.0.2.2", "fd00:2::2"),
}
FLOOD_BYTES = 1470 + 42  # D-ITG's payload, and UDP, IPv4 and Ethernet around it
# A variable of the guest: a library that saves the traffic generators wake-ups and changes
# nothing on the wire. The guest's shell expands it, so it is never quoted.
QUIETLY = "env LD_PRELOAD=$QUIET"
TRACE_EVENT_BYTES = 100  # of dalbe_round, with what the ring buffer adds
SOCKET_BUFFER_BYTES = 4_194_304  # the least of the maxima that dumbbell.sh gives hosts
BURST_BYTES, LATE_S = 1600, 1e-3  # of the bottleneck: a packet; a timer's lateness in real time
AFTER_END_S = 60  # that traffic goes on which is to last to the end, whenever that is
EVER = "1E"  # more bytes than any flow sends
GUEST_MODULE = TESTBED.parent / "scripts/guest-module.sh"  # builds a module for a kernel

Event = tuple[float, str]  # when, in seconds, and the rest of its line in the schedule


@dataclass(frozen=True)
class Tools:
    """Programs and modules from outside the package that a run uses.

    backend: where it takes place. module: dalbe.ko, needed by flows of cc = 'dalbe_cdg'.
    dalbectl: the program, needed by those with a goal, or with one of several G on a host. peers:
    modules of flows of cc = 'peer', by directory and parameters; write() builds them.
    """

    backend: Backend
    module: Path | None = None
    dalbectl: Path | None = None
    peers: dict[tuple[str, str], Path] = field(default_factory=dict)


def _with_peers(tools: Tools, experiment: Experiment) -> Tools:
    """Build the peers' modules. Raises TestbedError.

    A kernel has one module of a name, with one set of parameters: the others get a number.
    """
    peers = {}
    asked = sorted({(f.peer, f.peer_parameters or "") for f in experiment.flows if f.peer})
    for number, (peer, parameters) in enumerate(asked):
        module = ask(GUEST_MODULE, str(tools.backend.build_dir), peer, str(number or ""))
        peers[peer, parameters] = Path(module.strip())
    return replace(tools, peers=peers)


def _congestion_controls(experiment: Experiment) -> set[str]:
    ccs: set[str] = {flow.cc for flow in experiment.flows}
    return ccs | {some.cc for some in (experiment.short_flows, experiment.web) if some}


def with_own(tools: Tools, experiment: Experiment) -> Tools:
    """Build this clone's module and dalbectl, where none is named and the experiment needs one.

    Raises TestbedError if they cannot be built.
    """
    module, dalbectl = tools.module, tools.dalbectl
    if module is None and any(cc.startswith("dalbe_") for cc in _congestion_controls(experiment)):
        module = Path(ask(GUEST_MODULE, str(tools.backend.build_dir)).strip())
    if dalbectl is None and any(map(experiment.by_dalbectl, experiment.flows)):
        ask(Path("make"), "-s", "-C", str(TESTBED.parent / "tools"), "dalbectl")
        dalbectl = TESTBED.parent / "tools/dalbectl"
    return replace(tools, module=module, dalbectl=dalbectl)


def _modules(experiment: Experiment, tools: Tools) -> Iterator[str]:
    for (_directory, parameters), peer in tools.peers.items():
        yield f"{peer} {parameters}".rstrip()
    for cc in sorted(_congestion_controls(experiment) - {"cubic", "reno", "peer", "utp"}):
        if cc.startswith("dalbe_"):
            if tools.module is None:
                raise TestbedError("this experiment needs --module PATH/dalbe.ko")
            yield str(tools.module.resolve())
        elif cc == "cdg":
            # One for all: the experiment was checked for that.
            g_ms = next(flow.fixed_g_ms for flow in experiment.flows if flow.cc == "cdg")
            factor = cdg_backoff_factor(g_ms or G_DEFAULT_MS)
            # LBE mode: the coexistence heuristics off.
            module = tools.backend.in_tree("tcp_cdg")
            yield f"{module} use_shadow=0 use_ineff=0 backoff_factor={factor}"
        else:
            yield tools.backend.in_tree(f"tcp_{cc}")


def _address(flow: Flow) -> str:
    return ADDRESS[PEER[flow.host]][flow.ipv6]


def _number(value: float) -> str:
    """Write a number in digits, never as 1e+06, which not every program reads."""
    return f"{value:.6f}".rstrip("0").rstrip(".")


def _dalbectl(experiment: Experiment, flow: Flow, tools: Tools, payload: Path) -> list[str]:
    """Return the words that run what follows under dalbectl; none if it need not."""
    if not experiment.by_dalbectl(flow):
        return []
    if tools.dalbectl is None:
        raise TestbedError(f"flow {flow.name} needs --dalbectl PATH/dalbectl")
    words = [str(tools.dalbectl.resolve()), "run"]
    if flow.goal:
        size = ["--size-of", str(payload)] if flow.kind == "rsync" else ["--size", str(flow.bytes)]
        goal = [*size, "--deadline", f"+{_number(flow.goal.deadline_s)}s"]
        if flow.goal.controller != CONTROLLER_DEFAULT:
            goal += ["--controller", flow.goal.controller]
        return [*words, *goal, "--"]
    # w is wmin under the weight controller; the goal is only there for dalbectl to set it.
    fixed = ["--controller", "fixed", "--g", _number(flow.fixed_g_ms or G_DEFAULT_MS)]
    if flow.w is not None:
        fixed = ["--controller", "weight", "--wmin", _number(flow.w)]
    goal = ["--size", EVER, "--deadline", f"+{_number(experiment.end_s)}s"]
    return [*words, "--quiet", *fixed, *goal, "--"]


def _utp(experiment: Experiment, planned: PlannedFlow, end: Literal["receive", "send"]) -> str:
    """Return the command of one end of a flow of libtorrent's, for a shell. Raises TestbedError."""
    if find_spec("libtorrent") is None:
        raise TestbedError("cc = 'utp' needs libtorrent, which PyPI has for Python 3.11 to 3.13")
    last_s = planned.flow.duration_s or 0.0
    size = math.ceil(experiment.link.rate_bps / 8 * last_s)  # more than is sent
    words = [end, _address(planned.flow), str(planned.port), str(size), _number(last_s)]
    program = shlex.join([sys.executable, str(TESTBED / "guest/utp.py"), *words])
    return f"{program} $TMPDIR/{planned.flow.name}-{end}"


def _command(experiment: Experiment, planned: PlannedFlow, tools: Tools, payload: Path) -> str:
    """Return the sender's command of a flow, for a shell."""
    flow, address = planned.flow, _address(planned.flow)
    under = [shlex.join(words)] if (words := _dalbectl(experiment, flow, tools, payload)) else []
    if flow.kind == "rsync":
        limit = [] if flow.bwlimit_Bps is None else [f"--bwlimit={-(-flow.bwlimit_Bps // 1024)}"]
        host = f"[{address}]" if flow.ipv6 else address
        url = f"rsync://{host}:{planned.port}/in/"
        program = ["rsync", "--whole-file", "--stats", *limit, str(payload), url]
        return " ".join([*under, shlex.join(program)])
    if flow.cc == "utp":
        return _utp(experiment, planned, "send")
    if flow.again_s is not None:
        last_s = experiment.duration_s - planned.start_s
        under = ["$AGAIN", _number(flow.again_s), _number(last_s), *under]
    much = ["-n", str(flow.bytes)]
    if flow.bytes is not None and flow.connections > 1:
        much = ["-n", str(-(-flow.bytes // flow.connections)), "-P", str(flow.connections)]
    if flow.duration_s is not None:
        much = ["-t", _number(flow.duration_s)]
    if flow.both_ways:
        much.append("--full-duplex")
    family = ["-V"] if flow.ipv6 else []
    name: str = flow.cc
    if flow.peer:  # called as its module, tcp_NAME
        name = tools.peers[flow.peer, flow.peer_parameters or ""].stem.removeprefix("tcp_")
    # dalbectl selects dalbe_cdg for what has a goal, unless the program has selected another.
    cc = [] if flow.goal and flow.cc == "dalbe_cdg" else ["-Z", name]
    # SO_MAX_PACING_RATE, which TCP itself keeps where there is no fq
    pace = [] if flow.paced_bps is None else ["--fq-rate", str(flow.paced_bps)]
    program = ["iperf", *family, "-e", "-c", address, "-p", str(planned.port), *cc, *pace, *much]
    return " ".join([*under, QUIETLY, shlex.join(program)])


def _serve(host: str, command: str) -> str:
    return f"ip netns exec {host} {command} >/dev/null 2>&1 &"


def _server(experiment: Experiment, planned: PlannedFlow) -> str:
    """Return the shell command that starts the receiving end, in the background."""
    flow, receiver = planned.flow, PEER[planned.flow.host]
    if flow.cc == "utp":
        return _serve(receiver, _utp(experiment, planned, "receive"))
    if flow.kind == "iperf":
        family = "-V " if flow.ipv6 else ""
        pace = "" if flow.read_mbps is None else f" -b {round(flow.read_mbps * 1e6)}"
        return _serve(receiver, f"{QUIETLY} iperf -s {family}-p {planned.port}{pace}")
    home = f"$TMPDIR/{flow.name}"
    config = (
        f"port = {planned.port}\\naddress = {_address(flow)}\\nuse chroot = no\\n"
        f"reverse lookup = no\\npid file = {home}/pid\\nlog file = {home}/log\\n"
        f"[in]\\npath = {home}/in\\nread only = no\\nuid = 0\\ngid = 0\\n"
    )
    daemon = f"rsync --daemon --no-detach --config={home}/conf </dev/null"
    return f'mkdir -p {home}/in && printf "{config}" >{home}/conf && {_serve(receiver, daemon)}'


def _host_settings(experiment: Experiment) -> Iterator[str]:
    """Yield commands that set what a program cannot, for a whole host."""

    def write(value: object, flow: Flow, file: str) -> str:
        return f"echo {value} | ip netns exec {flow.host} tee /proc/sys/net/{file} >/dev/null"

    for flow in experiment.flows:
        if flow.goal and not flow.goal.limit_increase:
            yield write(0, flow, "dalbe/limit_increase")
        if flow.inflate == "beta":
            yield write(1, flow, "dalbe/cubic_inflate")
        if experiment.by_dalbectl(flow) and flow.cc == "dalbe_cdg":
            continue
        if flow.kind == "rsync":
            yield write(flow.cc, flow, "ipv4/tcp_congestion_control")
        if flow.cc == "dalbe_cdg":
            yield write(round((flow.fixed_g_ms or G_DEFAULT_MS) * 1e3), flow, "dalbe/g_us")


def _other_servers(experiment: Experiment, streams: list[Stream]) -> Iterator[str]:
    """Yield the commands that start the receiving ends of what is not a flow."""
    for stream in streams:
        yield _serve(stream.to, f"$HELPERS/shortflows serve {stream.port}")
    for host in dict.fromkeys(host for _name, host in schedule.reverse_flows(experiment)):
        yield _serve(host, f"{QUIETLY} iperf -s -p {schedule.REVERSE_PORT}")


def _start(at_s: float, name: str, host: str, command: str) -> Event:
    return at_s, f"start\t{name}\t{host}\t{command}"


def _pause(planned: PlannedFlow) -> Iterator[Event]:
    """Yield what stops a flow's program, and lets it go on.

    Of the processes of a flow that is the one that sends: neither dalbectl nor the peer.
    """
    flow, port = planned.flow, planned.port
    if not (pause := flow.pause):
        return
    words = {"iperf": f"^iperf .*-c .*-p {port}( |$)", "rsync": f"^rsync .*:{port}/"}
    begin_s = planned.start_s + pause.after_s
    for signal, at_s in (("STOP", begin_s), ("CONT", begin_s + pause.for_s)):
        command = f"pkill -{signal} -f {shlex.quote(words[flow.kind])}"
        yield _start(at_s, f"{flow.name}-{signal}", flow.host, command)


def _other_traffic(
    experiment: Experiment, streams: list[Stream], seed: int, directory: Path
) -> Iterator[Event]:
    """Yield the starts of what is not a flow, and lasts until after the end."""
    last_s = round(experiment.end_s + AFTER_END_S)

    def udp(at_s: float, name: str, host: str, port: int, packet_bytes: int, pace: str) -> Event:
        """Return the start of what sends UDP; pace: when, in D-ITG's words."""
        to = f"-a {ADDRESS[PEER[host]][0]} -T UDP -rp {port} -c {packet_bytes}"
        return _start(at_s, name, host, f"{QUIETLY} ITGSend {to} {pace} -t {last_s * 1000}")

    if some := experiment.background:
        for name, host, port in schedule.backgrounds(experiment):
            draw = random.Random(f"{seed} background {host}").random()
            pace = f"-E {some.packets_per_s:.3f} -s {draw:.6f}"
            yield udp(0.0, name, host, port, some.packet_bytes, pace)
    if voice := experiment.voice:
        pace = f"-C {voice.packets_per_s}"
        yield udp(voice.start_s, "voice", voice.host, schedule.VOICE_PORT, voice.packet_bytes, pace)
    for stream in streams:
        command = (
            f"$HELPERS/shortflows send {ADDRESS[stream.to][0]} {stream.port} {stream.cc} "
            f"{shlex.quote(str(directory / stream.name))}"
        )
        yield _start(0.0, stream.name, stream.host, command)
    for name, host in schedule.reverse_flows(experiment):
        iperf = f"iperf -e -c {ADDRESS[host][0]} -p {schedule.REVERSE_PORT} -Z cubic -t {last_s}"
        yield _start(0.0, name, PEER[host], f"{QUIETLY} {iperf}")


def _events(
    experiment: Experiment, flows: list[PlannedFlow], tools: Tools, directory: Path
) -> Iterator[Event]:
    """Yield what happens to the link, and the flows."""
    link = experiment.link
    for step in link.steps:
        yield step.at_s, f"rate\t-\t{step.rate_bps}"
    for t_s in link.detour.changes_s if link.detour else []:
        yield t_s, f"impair\t-\t{' '.join(link.impairment_words(t_s))}"
    if stall := link.stall:
        for begin_s, end_s in stall.spans_s(experiment.end_s):
            yield begin_s, f"stall\t{stall.host}\tblock"
            yield end_s, f"stall\t{stall.host}\trelease_indefinite"
    for planned in flows:
        flow = planned.flow
        yield from _pause(planned)
        command = _command(experiment, planned, tools, directory / f"{flow.name}.bin")
        yield _start(planned.start_s, flow.name, flow.host, command)
        if flow.kind == "rsync" and planned.stop_s is not None:
            yield planned.stop_s, f"stop\t{flow.name}"
        if flow.bytes is not None and flow.duration_s is None:
            yield experiment.duration_s, f"await\t{flow.name}\t{round(experiment.end_s)}"
    yield experiment.duration_s, "await\t-\t0"


def trace_kb(experiment: Experiment) -> int:
    """Return the size of a trace buffer, in KiB, that holds an event per RTT round and flow.

    At least 8 MiB; at most 256 MiB, as guests have 768: a run that needs more loses events, and
    says so.
    """
    end_s, link = experiment.end_s, experiment.link
    rounds = sum(
        min(flow.duration_s or end_s, end_s) * 1e3 / link.base_rtt_ms(flow.host)
        for flow in experiment.flows
        if flow.ours
    )
    return min(max(8192, round(rounds * TRACE_EVENT_BYTES / 1024)), 262_144)


def _link(experiment: Experiment) -> Iterator[str]:
    """Yield input/link: what scenario.sh and dumbbell.sh make the path of."""
    link = experiment.link
    always: dict[str, int | str] = {
        "RATE_BPS": link.rate_bps,
        "DELAY_DATA_US": link.data_delay_us,
        "DELAY_ACKS_US": link.acks_delay_us,
        "DELAY_SENDER_US": link.extra_delay_us("sender"),
        "DELAY_XSENDER_US": link.extra_delay_us("xsender"),
        "ACCESS_BPS": link.access_bps,
        "QDISC": " ".join(link.qdisc_words),
        "ECN": int(link.ecn),
        "SNAPLEN": SNAPLEN_BYTES,
        "FLOOD_PPS": round(1.25 * link.rate_bps / 8 / FLOOD_BYTES),
        "TRACE_KB": trace_kb(experiment),
    }
    burst_bytes = max(BURST_BYTES, round(link.rate_bps / 8 * LATE_S))
    buffer_bytes = link.socket_buffer_bytes
    only_if_asked_for = {
        "BAND_QDISC": " ".join(link.band_words),
        "REVERSE_QDISC": " ".join(link.reverse_words),
        "IMPAIRMENT": " ".join(link.impairment_words()),
        "ACK_IMPAIRMENT": " ".join(link.ack_words),
        "SENDER_QDISC": link.sender_qdisc if link.sender_qdisc != "none" else "",
        "STALLED": link.stall.host if link.stall else "",
        "BOTH_WAYS": int(experiment.both_ways),
        "NO_CAPTURES": int(not experiment.captures),
        "BURST_BYTES": burst_bytes if experiment.clock == "real" else 0,
        "OFFLOADS": int(link.offloads),
        "SOCKET_BUFFER_BYTES": buffer_bytes if buffer_bytes > SOCKET_BUFFER_BYTES else 0,
    }
    for key, value in {**always, **{k: v for k, v in only_if_asked_for.items() if v}}.items():
        yield f"{key}={shlex.quote(str(value))}"


def write_payload(path: Path, size: int, seed: int) -> None:
    """Write `size` bytes that no compressor shrinks, the same for the same seed."""
    source = random.Random(f"{seed} payload")
    chunk = 1 << 20
    with path.open("wb") as file:
        for offset in range(0, size, chunk):
            file.write(source.randbytes(min(chunk, size - offset)))
    os.utime(path, (0, 0))  # rsync sends the time along


def write(experiment: Experiment, seed: int, tools: Tools, directory: Path) -> list[PlannedFlow]:
    """Write the input of scenario.sh into `directory`; return the flows as planned.

    Raises TestbedError if a tool that the experiment needs was not given.
    """
    directory.mkdir(parents=True, exist_ok=True)
    tools = _with_peers(tools, experiment)
    flows, drawn = schedule.plan(experiment, seed), schedule.streams(experiment, seed)
    here = directory.resolve()
    others = _other_traffic(experiment, drawn, seed, here)
    events = [*others, *_events(experiment, flows, tools, here)]
    texts = {
        "link": list(_link(experiment)),
        "modules": list(dict.fromkeys(_modules(experiment, tools))),
        "setup": [
            *dict.fromkeys(_host_settings(experiment)),
            *(_server(experiment, planned) for planned in flows),
            *_other_servers(experiment, drawn),
        ],
        "schedule": [
            f"{round(at_s * 1e6)}\t{rest}"
            for at_s, rest in sorted(events, key=lambda event: event[0])
        ],
    }
    texts |= {stream.name: [one.line for one in stream.transfers] for stream in drawn}
    for name, lines in texts.items():
        (directory / name).write_text("".join(f"{line}\n" for line in lines))
    for flow in experiment.flows:
        if flow.kind == "rsync" and flow.bytes:
            write_payload(directory / f"{flow.name}.bin", flow.bytes, seed)
    return flows
