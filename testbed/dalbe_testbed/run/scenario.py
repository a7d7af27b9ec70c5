# SPDX-License-Identifier: GPL-2.0-only
"""From an experiment to what the guest does: the input directory of scenario.sh."""

import os
import random
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dalbe_testbed.errors import TestbedError
from dalbe_testbed.paths import TESTBED
from dalbe_testbed.plan import shortflows
from dalbe_testbed.plan.experiment import (
    CONTROLLER_DEFAULT,
    G_DEFAULT_MS,
    Experiment,
    Flow,
    cdg_backoff_factor,
)
from dalbe_testbed.plan.schedule import (
    BACKGROUND_PORT,
    PEER,
    REVERSE_PORT,
    VOICE_PORT,
    PlannedFlow,
    Stream,
    plan,
    reverse_flows,
    streams,
)
from dalbe_testbed.run.backends import Backend

SNAPLEN_BYTES = 96  # Ethernet, IPv6 and TCP with timestamps, with ten bytes to spare
SENDER_ADDRESS = {"sender": "10.0.1.1", "xsender": "10.0.1.2"}
ADDRESS = {"receiver": ("10.0.2.1", "fd00:2::1"), "xreceiver": ("10.0.2.2", "fd00:2::2")}
FLOOD_BYTES = 1470 + 42  # D-ITG's payload, and UDP, IPv4 and Ethernet around it
# A variable of the guest: a library that saves the traffic generators wake-ups and changes
# nothing on the wire. The guest's shell expands it, so it is never quoted.
QUIETLY = "env LD_PRELOAD=$QUIET"
TRACE_EVENT_BYTES = 100  # of dalbe_round, with what the ring buffer adds
SOCKET_BUFFER_BYTES = 4_194_304  # the least of the maxima that dumbbell.sh gives hosts
BURST_BYTES, LATE_S = 1600, 1e-3  # of the bottleneck: a packet; a timer's lateness in real time
AFTER_END_S = 60  # that traffic goes on which is to last to the end, whenever that is
EVER = "1E"  # more bytes than any flow sends


@dataclass(frozen=True)
class Tools:
    """Programs and modules from outside the package that a run uses.

    backend: where it takes place. module: dalbe.ko, needed by flows of cc = 'dalbe_cdg'.
    dalbectl: the program, needed by those with a goal, or with one of several G on a host.
    """

    backend: Backend
    module: Path | None = None
    dalbectl: Path | None = None


def _peers(experiment: Experiment) -> dict[tuple[str, str], str]:
    """Return by directory and parameters what is added to the name of each peer's module.

    A kernel has one module of a name, with one set of parameters: the others get a number.
    """
    asked = sorted({(f.peer, f.peer_parameters or "") for f in experiment.flows if f.peer})
    return {pair: str(number or "") for number, pair in enumerate(asked)}


def _build_peer(peer: str, number: str, tools: Tools) -> Path:
    """Build the module in a directory. Raises TestbedError."""
    words = [str(TESTBED.parent / "scripts/guest-module.sh"), str(tools.backend.build_dir), peer]
    done = subprocess.run([*words, number], capture_output=True, text=True, check=False)
    if done.returncode:
        raise TestbedError(f"peer '{peer}': {done.stderr.strip()}")
    return Path(done.stdout.strip())


def _control(experiment: Experiment, flow: Flow, tools: Tools) -> str:
    """Return the flow's congestion control; a peer's is called as its module, tcp_NAME."""
    if flow.peer is None:
        return flow.cc
    number = _peers(experiment)[flow.peer, flow.peer_parameters or ""]
    return _build_peer(flow.peer, number, tools).stem.removeprefix("tcp_")


def _modules(experiment: Experiment, tools: Tools) -> Iterator[str]:
    for (peer, parameters), number in _peers(experiment).items():
        yield f"{_build_peer(peer, number, tools)} {parameters}".rstrip()
    ccs: set[str] = {flow.cc for flow in experiment.flows}
    ccs |= {some.cc for some in (experiment.short_flows, experiment.web) if some}
    for cc in sorted(ccs - {"cubic", "reno", "peer"}):
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


def _address_of(host: str) -> str:
    return SENDER_ADDRESS.get(host) or ADDRESS[host][0]


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
    # dalbectl sets parameters with a goal only: one that no controller looks at.
    if flow.w is not None:
        fixed = ["--controller", "weight", "--wmin", _number(flow.w)]
    else:
        fixed = ["--controller", "fixed", "--g", _number(flow.fixed_g_ms or G_DEFAULT_MS)]
    goal = ["--size", EVER, "--deadline", f"+{_number(experiment.end_s)}s"]
    return [*words, "--quiet", *fixed, *goal, "--"]


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
    if flow.again_s is not None:
        last_s = experiment.duration_s - planned.start_s
        under = ["$AGAIN", _number(flow.again_s), _number(last_s), *under]
    much = ["-n", str(flow.bytes)]
    if flow.duration_s is not None:
        much = ["-t", _number(flow.duration_s)]
    if flow.both_ways:
        much.append("--full-duplex")
    family = ["-V"] if flow.ipv6 else []
    # dalbectl selects dalbe_cdg for what has a goal, unless the program has selected another.
    cc = [] if flow.goal and flow.cc == "dalbe_cdg" else ["-Z", _control(experiment, flow, tools)]
    # SO_MAX_PACING_RATE, which TCP itself keeps where there is no fq
    pace = [] if flow.paced_bps is None else ["--fq-rate", str(flow.paced_bps)]
    program = ["iperf", *family, "-e", "-c", address, "-p", str(planned.port), *cc, *pace, *much]
    return " ".join([*under, QUIETLY, shlex.join(program)])


def _server(planned: PlannedFlow) -> str:
    """Return the shell command that starts the receiving end, in the background."""
    flow, receiver = planned.flow, PEER[planned.flow.host]
    if flow.kind == "iperf":
        family = "-V " if flow.ipv6 else ""
        pace = "" if flow.read_mbps is None else f" -b {round(flow.read_mbps * 1e6)}"
        iperf = f"{QUIETLY} iperf -s {family}-p {planned.port}{pace}"
        return f"ip netns exec {receiver} {iperf} >/dev/null 2>&1 &"
    home = f"$TMPDIR/{flow.name}"
    config = (
        f"port = {planned.port}\\naddress = {_address(flow)}\\nuse chroot = no\\n"
        f"reverse lookup = no\\npid file = {home}/pid\\nlog file = {home}/log\\n"
        f"[in]\\npath = {home}/in\\nread only = no\\nuid = 0\\ngid = 0\\n"
    )
    return (
        f'mkdir -p {home}/in && printf "{config}" >{home}/conf && '
        f"ip netns exec {receiver} rsync --daemon --no-detach --config={home}/conf "
        f"</dev/null >/dev/null 2>&1 &"
    )


def _host_settings(experiment: Experiment) -> Iterator[str]:
    """Yield commands that set what a program cannot, for a whole host."""
    sysctls = "/proc/sys/net/ipv4"
    lines: dict[str, None] = {}  # each once, in order
    for flow in experiment.flows:
        inside = f"ip netns exec {flow.host} tee"
        if flow.goal and not flow.goal.limit_increase:
            lines[f"echo 0 | {inside} /proc/sys/net/dalbe/limit_increase >/dev/null"] = None
        if flow.inflate == "beta":
            lines[f"echo 1 | {inside} /proc/sys/net/dalbe/cubic_inflate >/dev/null"] = None
        if experiment.by_dalbectl(flow) and flow.cc == "dalbe_cdg":
            continue
        if flow.kind == "rsync":
            key = f"{sysctls}/tcp_congestion_control"
            lines[f"echo {flow.cc} | {inside} {key} >/dev/null"] = None
        if flow.cc == "dalbe_cdg":
            g_us = round((flow.fixed_g_ms or G_DEFAULT_MS) * 1e3)
            lines[f"echo {g_us} | {inside} /proc/sys/net/dalbe/g_us >/dev/null"] = None
    yield from lines


def _other_servers(experiment: Experiment, streams_: list[Stream]) -> Iterator[str]:
    """Yield the commands that start the receiving ends of what is not a flow."""
    for stream in streams_:
        serve = f"$HELPERS/shortflows serve {stream.port}"
        yield f"ip netns exec {stream.to} {serve} >/dev/null 2>&1 &"
    for host in dict.fromkeys(host for _name, host in reverse_flows(experiment)):
        iperf = f"{QUIETLY} iperf -s -p {REVERSE_PORT}"
        yield f"ip netns exec {host} {iperf} >/dev/null 2>&1 &"


def _udp(experiment: Experiment, receiver: str, port: int, packet_bytes: int, pace: str) -> str:
    """Return the command that sends UDP until after the end; pace: when, in D-ITG's words."""
    return (
        f"{QUIETLY} ITGSend -a {ADDRESS[receiver][0]} -T UDP -rp {port} -c {packet_bytes} {pace} "
        f"-t {round(experiment.end_s + AFTER_END_S) * 1000}"
    )


def _pause(planned: PlannedFlow) -> Iterator[tuple[float, str]]:
    """Yield what stops a flow's program, and lets it go on, as _schedule() does.

    Of the processes of a flow that is the one that sends: neither dalbectl nor the peer.
    """
    if not (pause := planned.flow.pause):
        return
    port = planned.port
    words = {"iperf": f"^iperf .*-c .*-p {port}( |$)", "rsync": f"^rsync .*:{port}/"}
    begin_s = planned.start_s + pause.after_s
    for signal, at_s in (("STOP", begin_s), ("CONT", begin_s + pause.for_s)):
        command = f"pkill -{signal} -f {shlex.quote(words[planned.flow.kind])}"
        yield at_s, f"start\t{planned.flow.name}-{signal}\t{planned.flow.host}\t{command}"


def _schedule(
    experiment: Experiment,
    flows: list[PlannedFlow],
    streams_: list[Stream],
    seed: int,
    tools: Tools,
    directory: Path,
) -> list[tuple[float, str]]:
    """Return (seconds, the rest of the line), in order of time."""
    events: list[tuple[float, str]] = []
    if experiment.background:
        for index, (host, receiver) in enumerate(PEER.items()):
            if host not in experiment.background.hosts:
                continue
            draw = random.Random(f"{seed} background {host}").random()
            command = _udp(
                experiment,
                receiver,
                BACKGROUND_PORT + index,
                experiment.background.packet_bytes,
                f"-E {experiment.background.packets_per_s:.3f} -s {draw:.6f}",
            )
            events.append((0.0, f"start\tbackground{index + 1}\t{host}\t{command}"))
    if voice := experiment.voice:
        pace = f"-C {voice.packets_per_s}"
        command = _udp(experiment, PEER[voice.host], VOICE_PORT, voice.packet_bytes, pace)
        events.append((voice.start_s, f"start\tvoice\t{voice.host}\t{command}"))
    for stream in streams_:
        command = (
            f"$HELPERS/shortflows send {_address_of(stream.to)} {stream.port} {stream.cc} "
            f"{shlex.quote(str(directory / stream.name))}"
        )
        events.append((0.0, f"start\t{stream.name}\t{stream.host}\t{command}"))
    for name, host in reverse_flows(experiment):
        command = (
            f"{QUIETLY} iperf -e -c {SENDER_ADDRESS[host]} -p {REVERSE_PORT} -Z cubic "
            f"-t {round(experiment.end_s + AFTER_END_S)}"
        )
        events.append((0.0, f"start\t{name}\t{PEER[host]}\t{command}"))
    link = experiment.link
    for t_s in link.detour.changes_s if link.detour else []:
        events.append((t_s, f"impair\t-\t{' '.join(link.impairment_words(t_s))}"))
    if stall := link.stall:
        for begin_s, end_s in stall.spans_s(experiment.end_s):
            events.append((begin_s, f"stall\t{stall.host}\tblock"))
            events.append((end_s, f"stall\t{stall.host}\trelease_indefinite"))
    for planned in flows:
        flow = planned.flow
        events += _pause(planned)
        command = _command(experiment, planned, tools, directory / f"{flow.name}.bin")
        events.append((planned.start_s, f"start\t{flow.name}\t{flow.host}\t{command}"))
        if flow.kind == "rsync" and planned.stop_s is not None:
            events.append((planned.stop_s, f"stop\t{flow.name}"))
        if flow.bytes is not None and flow.duration_s is None:
            wait = f"await\t{flow.name}\t{round(experiment.end_s)}"
            events.append((experiment.duration_s, wait))
    events.append((experiment.duration_s, "await\t-\t0"))
    return sorted(events, key=lambda event: event[0])


def trace_kb(experiment: Experiment) -> int:
    """Return the size of a trace buffer, in KiB, that holds an event per RTT round and flow.

    At least 8 MiB; at most 256 MiB, as guests have 768: a run that needs more loses events, and
    says so.
    """
    rounds = sum(
        min(flow.duration_s or experiment.end_s, experiment.end_s)
        * 1e3
        / experiment.link.base_rtt_ms(flow.host)
        for flow in experiment.flows
        if flow.ours
    )
    return min(max(8192, round(rounds * TRACE_EVENT_BYTES / 1024)), 262_144)


def _link(experiment: Experiment) -> Iterator[str]:
    """Yield input/link: what scenario.sh and dumbbell.sh make the path of."""
    link = experiment.link
    settings: dict[str, int | str] = {
        "RATE_BPS": link.rate_bps,
        "DELAY_DATA_US": link.data_delay_us,
        "DELAY_ACKS_US": link.acks_delay_us,
        "DELAY_SENDER_US": link.extra_delay_us("sender"),
        "DELAY_XSENDER_US": link.extra_delay_us("xsender"),
        "ACCESS_BPS": link.access_bps,
        "QDISC": shlex.quote(" ".join(link.qdisc_words)),
        "ECN": int(link.ecn),
        "SNAPLEN": SNAPLEN_BYTES,
        "FLOOD_PPS": round(1.25 * link.rate_bps / 8 / FLOOD_BYTES),
        "TRACE_KB": trace_kb(experiment),
    }
    only_if_asked_for = {
        "BAND_QDISC": link.band_words,
        "REVERSE_QDISC": link.reverse_words,
        "IMPAIRMENT": link.impairment_words(),
        "ACK_IMPAIRMENT": link.ack_words,
    }
    settings |= {
        key: shlex.quote(" ".join(words)) for key, words in only_if_asked_for.items() if words
    }
    if link.sender_qdisc != "none":
        settings["SENDER_QDISC"] = link.sender_qdisc
    if link.stall:
        settings["STALLED"] = link.stall.host
    if experiment.both_ways:
        settings["BOTH_WAYS"] = 1
    if not experiment.captures:
        settings["NO_CAPTURES"] = 1
    if experiment.clock == "real":
        settings["BURST_BYTES"] = max(BURST_BYTES, round(link.rate_bps / 8 * LATE_S))
    if link.offloads:
        settings["OFFLOADS"] = 1
    if link.socket_buffer_bytes > SOCKET_BUFFER_BYTES:
        settings["SOCKET_BUFFER_BYTES"] = link.socket_buffer_bytes
    for key, value in settings.items():
        yield f"{key}={value}"


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
    flows, drawn = plan(experiment, seed), streams(experiment, seed)
    rsyncs = [planned for planned in flows if planned.flow.kind == "rsync"]
    texts = {
        "link": list(_link(experiment)),
        "modules": list(dict.fromkeys(_modules(experiment, tools))),
        "setup": [
            *_host_settings(experiment),
            *map(_server, flows),
            *_other_servers(experiment, drawn),
        ],
        "schedule": [
            f"{round(at_s * 1e6)}\t{rest}"
            for at_s, rest in _schedule(experiment, flows, drawn, seed, tools, directory.resolve())
        ],
        "verify": [
            f"if cmp -s {shlex.quote(str((directory / name).resolve()))}.bin "
            f'"$TMPDIR/{name}/in/{name}.bin"; '
            f'then echo same; else echo differs; fi >"$OUT/{name}.cmp"'
            for name in (planned.flow.name for planned in rsyncs)
        ],
    }
    texts |= {stream.name: list(shortflows.schedule(stream.transfers)) for stream in drawn}
    for name, lines in texts.items():
        (directory / name).write_text("".join(f"{line}\n" for line in lines))
    for planned in rsyncs:
        assert planned.flow.bytes is not None
        write_payload(directory / f"{planned.flow.name}.bin", planned.flow.bytes, seed)
    return flows
