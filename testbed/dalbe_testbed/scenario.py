# SPDX-License-Identifier: GPL-2.0-only
"""From an experiment to what the guest does: the input directory of scenario.sh."""

from __future__ import annotations

import os
import random
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dalbe_testbed.errors import TestbedError
from dalbe_testbed.experiment import Experiment, Flow

SNAPLEN_BYTES = 96  # Ethernet, IPv6 and TCP with timestamps, with ten bytes to spare
FLOOD_PORT = 9900
BACKGROUND_PORT = 9100
IPERF_PORT = 5001
RSYNC_PORT = 8730
FLOOD_BYTES = 1470 + 42  # D-ITG's payload, and UDP, IPv4 and Ethernet around it
PEER = {"sender": "receiver", "xsender": "xreceiver"}
ADDRESS = {"receiver": ("10.0.2.1", "fd00:2::1"), "xreceiver": ("10.0.2.2", "fd00:2::2")}
# The in-tree module takes 1000/(G * window), window = 8 gradients, as a whole number.
CDG_WINDOW = 8


@dataclass(frozen=True)
class Tools:
    """What a run uses from outside the package.

    kernel: build directory of the guest kernel. module: tcp_dalbe_cdg.ko, dalbectl: the
    program; both only needed by flows of cc = 'dalbe_cdg'.
    """

    kernel: Path
    module: Path | None = None
    dalbectl: Path | None = None


@dataclass(frozen=True)
class PlannedFlow:
    """A flow of the experiment with everything that the seed decides decided."""

    flow: Flow
    port: int  # destination port: how the captures know the flow
    start_s: float

    @property
    def stop_s(self) -> float | None:
        """When the flow is told to stop; None if it runs until its bytes are sent."""
        if self.flow.duration_s is None:
            return None
        return self.start_s + self.flow.duration_s


def plan(experiment: Experiment, seed: int) -> list[PlannedFlow]:
    """Give every flow its port and its start; the same for all contenders of a seed.

    Flows that would start after duration_s are left out.
    """
    base = {"iperf": IPERF_PORT, "rsync": RSYNC_PORT}
    flows = [
        PlannedFlow(
            flow=flow,
            port=base[flow.kind] + index,
            start_s=round(
                flow.start_s + random.Random(f"{seed} {flow.name}").uniform(0, flow.start_jitter_s),
                6,
            ),
        )
        for index, flow in enumerate(experiment.flows)
    ]
    return [planned for planned in flows if planned.start_s < experiment.duration_s]


def cdg_backoff_factor(g_ms: float) -> int:
    """Return the in-tree module's backoff_factor that is nearest to G in milliseconds."""
    return max(1, round(1000 / (g_ms * CDG_WINDOW)))


def _modules(experiment: Experiment, tools: Tools) -> Iterator[str]:
    in_tree = tools.kernel / "net/ipv4"
    ccs = sorted({flow.cc for flow in experiment.flows} - {"cubic", "reno"})
    for cc in ccs:
        if cc == "dalbe_cdg":
            if tools.module is None:
                raise TestbedError("this experiment needs --module PATH/tcp_dalbe_cdg.ko")
            yield str(tools.module.resolve())
        elif cc == "cdg":
            g_ms = next((f.g_ms for f in experiment.flows if f.cc == "cdg" and f.g_ms), 3.0)
            factor = cdg_backoff_factor(g_ms)
            # LBE mode: the coexistence heuristics off.
            yield f"{in_tree}/tcp_cdg.ko use_shadow=0 use_ineff=0 backoff_factor={factor}"
        else:
            yield f"{in_tree}/tcp_{cc}.ko"


def _address(flow: Flow) -> str:
    return ADDRESS[PEER[flow.host]][flow.ipv6]


def _command(planned: PlannedFlow, tools: Tools, payload: Path) -> str:
    """Return the sender's command of a flow, quoted for a shell."""
    flow, address = planned.flow, _address(planned.flow)
    words: list[str] = []
    if flow.goal:
        if tools.dalbectl is None:
            raise TestbedError("this experiment needs --dalbectl PATH/dalbectl")
        size = ["--size-of", str(payload)] if flow.kind == "rsync" else ["--size", str(flow.bytes)]
        deadline = ["--deadline", f"+{flow.goal.deadline_s:g}s"]
        words += [str(tools.dalbectl.resolve()), "run", *size, *deadline, "--"]
    if flow.kind == "rsync":
        limit = [] if flow.bwlimit_Bps is None else [f"--bwlimit={-(-flow.bwlimit_Bps // 1024)}"]
        host = f"[{address}]" if flow.ipv6 else address
        url = f"rsync://{host}:{planned.port}/in/"
        words += ["rsync", "--whole-file", "--stats", *limit, str(payload), url]
    else:
        much = ["-t", f"{flow.duration_s:g}"] if flow.bytes is None else ["-n", str(flow.bytes)]
        family = ["-V"] if flow.ipv6 else []
        # dalbectl sets the congestion control of what it starts.
        cc = [] if flow.goal else ["-Z", flow.cc]
        words += ["iperf", *family, "-e", "-c", address, "-p", str(planned.port), *cc, *much]
    return shlex.join(words)


def _server(planned: PlannedFlow) -> str:
    """Return the shell command that starts the receiving end, in the background."""
    flow, receiver = planned.flow, PEER[planned.flow.host]
    if flow.kind == "iperf":
        family = "-V " if flow.ipv6 else ""
        return f"ip netns exec {receiver} iperf -s {family}-p {planned.port} >/dev/null 2>&1 &"
    home = f"/run/work/{flow.name}"
    config = (
        f"port = {planned.port}\\naddress = {_address(flow)}\\nuse chroot = no\\n"
        f"reverse lookup = no\\npid file = {home}/pid\\nlog file = {home}/log\\n"
        f"[in]\\npath = {home}/in\\nread only = no\\nuid = 0\\ngid = 0\\n"
    )
    return (
        f"mkdir -p {home}/in && printf '{config}' >{home}/conf && "
        f"ip netns exec {receiver} rsync --daemon --no-detach --config={home}/conf "
        f"</dev/null >/dev/null 2>&1 &"
    )


def _host_settings(experiment: Experiment) -> Iterator[str]:
    """Yield commands that set the default congestion control where a program cannot."""
    # A namespace's default must not be a restricted one (CDG, for example, is).
    sysctls = "/proc/sys/net/ipv4"
    yield (
        f"cat {sysctls}/tcp_available_congestion_control >{sysctls}/tcp_allowed_congestion_control"
    )
    defaults: dict[str, str] = {}
    for flow in experiment.flows:
        if flow.kind == "rsync" and not flow.goal:
            if defaults.setdefault(flow.host, flow.cc) != flow.cc:
                raise TestbedError(
                    f"{experiment.name}: two rsync flows without a goal on {flow.host} share "
                    "its default congestion control: give them the same cc"
                )
            key = f"{sysctls}/tcp_congestion_control"
            yield f"echo {flow.cc} | ip netns exec {flow.host} tee {key} >/dev/null"
        if flow.g_ms is not None and flow.cc == "dalbe_cdg":
            key = "/proc/sys/net/dalbe/g_us"
            yield f"echo {round(flow.g_ms * 1e3)} | ip netns exec {flow.host} tee {key} >/dev/null"


def _schedule(
    experiment: Experiment, flows: list[PlannedFlow], seed: int, tools: Tools, directory: Path
) -> list[tuple[float, str]]:
    """Return (seconds, the rest of the line), in order of time."""
    events: list[tuple[float, str]] = []
    if experiment.background:
        for index, (host, receiver) in enumerate(PEER.items()):
            draw = random.Random(f"{seed} background {host}").random()
            command = (
                f"ITGSend -a {ADDRESS[receiver][0]} -T UDP -rp {BACKGROUND_PORT + index} "
                f"-c {experiment.background.packet_bytes} "
                f"-E {experiment.background.packets_per_s:.3f} -s {draw:.6f} "
                f"-t {round(experiment.end_s + 60) * 1000}"
            )
            events.append((0.0, f"start\tbackground{index + 1}\t{host}\t{command}"))
    for planned in flows:
        flow = planned.flow
        command = _command(planned, tools, directory / f"{flow.name}.bin")
        events.append((planned.start_s, f"start\t{flow.name}\t{flow.host}\t{command}"))
        if flow.kind == "rsync" and planned.stop_s is not None:
            events.append((planned.stop_s, f"stop\t{flow.name}"))
        if flow.bytes is not None and flow.duration_s is None:
            wait = f"await\t{flow.name}\t{round(experiment.end_s)}"
            events.append((experiment.duration_s, wait))
    events.append((experiment.duration_s, "await\t-\t0"))
    return sorted(events, key=lambda event: event[0])


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
    flows = plan(experiment, seed)
    link = experiment.link
    settings = {
        "RATE_BPS": link.rate_bps,
        "RTT_US": round(link.rtt_ms * 1e3),
        "QUEUE_PACKETS": link.queue_packets,
        "SNAPLEN": SNAPLEN_BYTES,
        "FLOOD_PPS": round(1.25 * link.rate_bps / 8 / FLOOD_BYTES),
    }
    rsyncs = [planned for planned in flows if planned.flow.kind == "rsync"]
    texts = {
        "link": [f"{key}={value}" for key, value in settings.items()],
        "modules": list(_modules(experiment, tools)),
        "setup": [*_host_settings(experiment), *map(_server, flows)],
        "schedule": [
            f"{round(at_s * 1e6)}\t{rest}"
            for at_s, rest in _schedule(experiment, flows, seed, tools, directory.resolve())
        ],
        "verify": [
            f"if cmp -s {shlex.quote(str((directory / name).resolve()))}.bin "
            f"/run/work/{name}/in/{name}.bin; "
            f'then echo same; else echo differs; fi >"$OUT/{name}.cmp"'
            for name in (planned.flow.name for planned in rsyncs)
        ],
    }
    for name, lines in texts.items():
        (directory / name).write_text("".join(f"{line}\n" for line in lines))
    for planned in rsyncs:
        assert planned.flow.bytes is not None
        write_payload(directory / f"{planned.flow.name}.bin", planned.flow.bytes, seed)
    return flows
