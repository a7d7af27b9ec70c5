# SPDX-License-Identifier: GPL-2.0-only
"""The schema of testbed/experiments/*.toml.

Units are part of every key. Times are seconds of virtual time since T=0. docs/experiments.md is
the description for those who write such files.
"""

import copy
import itertools
import math
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, model_validator

from dalbe_testbed.errors import TestbedError
from dalbe_testbed.plan.explain import Model, quoted, read, validate
from dalbe_testbed.plan.link import REVERSE_FLOWS_MAX, Duration, Host, Link, Seconds

IPERF_BYTES = 100  # iperf takes a handful for no limit
FACTOR_1_G_MS = 125.0  # G of the in-tree CDG's backoff_factor 1: 1000 us / window of 8
G_DEFAULT_MS = 3.0  # of the in-tree cdg and of dalbe_cdg
CONTROLLER_DEFAULT: Literal["mbc"] = "mbc"  # of dalbectl

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,30}$")]
InTree = Literal["cubic", "reno", "vegas", "lp", "bbr"]
CongestionControl = Literal[
    "cubic", "reno", "cdg", "vegas", "lp", "bbr", "dalbe_cdg", "dalbe_cubic", "dalbe_vegas", "peer",
    "utp",
]  # fmt: skip
OUR_CCS = quoted(cc for cc in get_args(CongestionControl) if cc.startswith("dalbe_"))
SAMPLE_S = 0.5  # between two samples of TCP's counters
FLOWS_MAX = 256

# Names that a run uses itself, for hosts, columns and logs.
RESERVED = {
    *("sender", "xsender", "receiver", "xreceiver", "router"),
    *("background", "background1", "background2", "flood", "voice", "requests", "web", "web_back"),
    *(f"reverse{number}" for number in range(1, REVERSE_FLOWS_MAX + 1)),
    *("console", "dumbbell", "kernel"),
}


class Background(Model):
    """D-ITG's Poisson traffic: UDP, exponential gaps, from each of `hosts`."""

    rate_mbps: Annotated[float, Field(gt=0, le=10_000)] = 0.5
    packet_bytes: Annotated[int, Field(ge=64, le=1472)] = 1450
    hosts: Annotated[list[Host], Field(min_length=1, max_length=2)] = ["sender", "xsender"]  # noqa: RUF012 (pydantic copies it)

    @property
    def packets_per_s(self) -> float:
        """Return how many packets each host sends, on average."""
        return self.rate_mbps * 1e6 / 8 / self.packet_bytes


class Voice(Model):
    """One UDP flow of small packets at a constant rate, as of a telephone call."""

    packets_per_s: Annotated[int, Field(ge=1, le=1000)] = 50
    packet_bytes: Annotated[int, Field(ge=64, le=1472)] = 160
    host: Host = "xsender"
    start_s: Seconds = 0


class ShortFlows(Model):
    """A stream of short TCP transfers, each over a connection of its own.

    They arrive as a Poisson process; the logarithm of their size is uniform.
    """

    load: Annotated[float, Field(gt=0, le=1)]  # their mean payload, of the link's rate
    host: Host = "xsender"
    cc: InTree = "cubic"
    min_bytes: Annotated[int, Field(ge=1, le=10**12)] = 100_000
    max_bytes: Annotated[int, Field(ge=1, le=10**12)] = 1_000_000
    start_s: Seconds = 0
    stop_s: Duration | None = None

    def _faults(self) -> Iterator[str]:
        if self.min_bytes > self.max_bytes:
            yield f"min_bytes = {self.min_bytes} exceeds max_bytes = {self.max_bytes}: give both"


class Web(Model):
    """Web-like sessions: a few objects each, of heavy-tailed sizes, a TCP connection per object.

    load: what they offer, on the wire, of the link's rate. reverse_part: what as many sessions in
    the other direction offer, in parts of that. max_bytes: of the largest object.
    """

    load: Annotated[float, Field(gt=0, le=1)]
    reverse_part: Annotated[float, Field(ge=0, le=1)] = 0.0
    max_bytes: Annotated[int, Field(ge=10_000, le=10**12)] = 5_000_000
    cc: InTree = "cubic"
    start_s: Seconds = 0


class Goal(Model):
    """The goal that dalbe gets: all of the flow's bytes by deadline_s after its start, and how.

    limit_increase is F(19) of the framework, and the host's: all of its goals have it, or none.
    """

    deadline_s: Annotated[float, Field(gt=0, le=1e6)]
    controller: Literal["mbc", "pid", "floor"] = CONTROLLER_DEFAULT
    limit_increase: bool = True


class Pause(Model):
    """The program stops reading, computing and sending, so long after its flow's start."""

    after_s: Duration
    for_s: Duration


class Flow(Model):
    """One transfer, and the program that makes it.

    link_s is another way to say bytes: what the link carries in so many seconds. paced_s spreads
    them evenly over so many, which no congestion control exceeds. again_s makes it one transfer
    after another, each so long after the one before; none begins after the experiment's duration_s.
    both_ways: the receiver sends as well, as much as it can, on the same connection. connections:
    of the one program, which send equal parts of bytes at one time. read_mbps: the
    most that the receiving program reads. inflate: what w changes of dalbe_cubic, for all flows of
    the host. peer: the directory with the module of cc = 'peer'. peer_parameters: of this module.
    cc = 'utp' is libtorrent's LEDBAT over UDP: in iperf's place libtorrent sends.
    count: so many such flows, see _copies().
    """

    name: Name
    kind: Literal["iperf", "rsync"]
    host: Host = "sender"
    cc: CongestionControl = "cubic"
    start_s: Seconds = 0
    start_jitter_s: Annotated[float, Field(ge=0, le=60)] = 0
    duration_s: Duration | None = None
    bytes: Annotated[int, Field(ge=1, lt=2**63)] | None = None
    link_s: Annotated[float, Field(gt=0, le=1e6)] | None = None
    paced_s: Annotated[float, Field(gt=0, le=1e6)] | None = None
    again_s: Annotated[float, Field(ge=1, le=1e6)] | None = None
    goal: Goal | None = None
    g_ms: Annotated[float, Field(ge=0.002, le=125)] | None = None
    w: Annotated[float, Field(ge=0.001, le=1)] | None = None
    inflate: Literal["phantom", "beta"] | None = None
    peer: Annotated[str, Field(pattern=r"^/[^'\"]+$")] | None = None
    peer_parameters: Annotated[str, Field(pattern=r"^\w+=-?\w+( \w+=-?\w+)*$")] | None = None
    bwlimit_Bps: Annotated[int, Field(ge=1024)] | None = None  # noqa: N815 (unit)
    pause: Pause | None = None
    both_ways: bool = False
    connections: Annotated[int, Field(ge=1, le=100)] = 1
    read_mbps: Annotated[float, Field(gt=0, le=100_000)] | None = None
    ipv6: bool = False
    count: Annotated[int | None, Field(ge=0, le=FLOWS_MAX, exclude=True)] = None

    def _faults(self) -> Iterator[str]:
        if self.name in RESERVED:
            yield f"name = '{self.name}' is the testbed's own: choose another"
        if self.link_s is not None:  # the experiment has put bytes for it, had it been alone
            yield "give one of bytes and link_s"
        yield from self._program_faults(iperf=self.kind == "iperf")
        if self.goal and (self.bytes is None or not self.ours):
            yield f"a goal needs bytes and cc = {OUR_CCS}"
        if self.goal and self.g_ms is not None:
            yield "goal and g_ms: with a goal dalbe sets G itself; remove one of them"
        if self.g_ms is not None and self.cc not in ("cdg", "dalbe_cdg"):
            yield f"g_ms is for cc = 'cdg' or 'dalbe_cdg', not '{self.cc}'"
        if self.w is not None and (not self.ours or self.goal or self.g_ms is not None):
            yield f"w needs cc = {OUR_CCS}, no goal and no g_ms"
        if (self.cc == "peer") != (self.peer is not None):
            yield "cc = 'peer' needs peer, the directory of its module; nothing else does"
        if self.peer_parameters is not None and self.peer is None:
            yield "peer_parameters is for cc = 'peer'"
        if self.inflate is not None and self.cc != "dalbe_cubic":
            yield f"inflate is for cc = 'dalbe_cubic', not '{self.cc}'"

    def _program_faults(self, *, iperf: bool) -> Iterator[str]:
        if not iperf and self.bytes is None:
            yield "an rsync flow needs bytes"
        if iperf and (self.bytes is None) == (self.duration_s is None):
            yield "an iperf flow needs one of bytes and duration_s"
        if iperf and self.bytes is not None and self.bytes < IPERF_BYTES:
            yield f"an iperf flow needs bytes of at least {IPERF_BYTES}"
        for key in ("again_s", "paced_s"):
            if getattr(self, key) is not None and (not iperf or self.bytes is None):
                yield f"{key} needs kind = 'iperf' and bytes"
        several = iperf and self.bytes is not None and self.paced_s is None
        if self.connections > 1 and not several:
            yield "connections needs kind = 'iperf' and bytes, and no paced_s"
        if iperf and self.bwlimit_Bps is not None:
            yield "bwlimit_Bps is for kind = 'rsync'"
        if not iperf and self.cc == "peer":
            yield "cc = 'peer' is for kind = 'iperf'"
        if not iperf and self.read_mbps is not None:
            yield "read_mbps is for kind = 'iperf'"
        if self.both_ways and (not iperf or self.duration_s is None):
            yield "both_ways needs kind = 'iperf' and duration_s"
        tcp_only = self.both_ways or self.ipv6 or self.read_mbps is not None
        if self.cc == "utp" and (not iperf or self.duration_s is None or tcp_only):
            yield "cc = 'utp' needs kind = 'iperf' and duration_s, no both_ways, ipv6 and read_mbps"

    @property
    def ours(self) -> bool:
        """Whether its congestion control is one of dalbe.ko."""
        return self.cc.startswith("dalbe_")

    @property
    def paced_bps(self) -> int | None:
        """The most payload that the flow may send, in bits per second; None: no limit."""
        return math.ceil(8 * self.bytes / self.paced_s) if self.paced_s and self.bytes else None

    @property
    def fixed_g_ms(self) -> float | None:
        """The G that the flow keeps, in milliseconds; None if it has none or does not keep it."""
        if self.goal or self.w is not None or self.cc not in ("cdg", "dalbe_cdg"):
            return None
        return G_DEFAULT_MS if self.g_ms is None else self.g_ms

    @property
    def latest_start_s(self) -> float:
        """The start if the jitter is all there can be."""
        return self.start_s + self.start_jitter_s


class Experiment(Model):
    """One experiment: a link, its flows, and who contends for the flow in question."""

    name: Name
    title: str = ""
    link: Link
    duration_s: Duration
    limit_s: Duration | None = None
    bin_s: Annotated[float, Field(ge=0.01, le=60)] = 0.5
    clock: Literal["virtual", "real"] | None = None
    captures: bool = True
    background: Background | None = None
    voice: Voice | None = None
    short_flows: ShortFlows | None = None
    web: Web | None = None
    # Each flow has a port of its own; D-ITG's begin 270 above the first of rsync's.
    flows: Annotated[list[Flow], Field(min_length=1, max_length=FLOWS_MAX)]
    contenders: dict[Name, dict[Name, dict[str, Any]]] = {}  # noqa: RUF012 (the same)

    @model_validator(mode="before")
    @classmethod
    def _sizes_in_seconds(cls, data: Any) -> Any:
        """Replace link_s by bytes; what is not as it should be is left to be explained."""
        try:
            rate_bps = float(data["link"]["rate_mbps"]) * 1e6
            flows = [flow | {} for flow in data["flows"]]
            for flow in flows:
                if "link_s" in flow and "bytes" not in flow:
                    flow["bytes"] = round(flow.pop("link_s") * rate_bps / 8)
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError):
            return data
        return {**data, "flows": flows}

    def _faults(self) -> Iterator[str]:
        yield from self._time_faults()
        names = [flow.name for flow in self.flows]
        for flow in self.flows:
            if names.count(flow.name) > 1:
                yield f"flows: two flows are called '{flow.name}'"
            yield from self._flow_time_faults(flow)
        gs = sorted({flow.fixed_g_ms or 0 for flow in self.flows if flow.cc == "cdg"})
        if len(gs) > 1:
            yield (
                "flows of cc = 'cdg' share one g_ms, a module parameter, and have "
                f"{', '.join(f'{g:g}' for g in gs)}; cc = 'dalbe_cdg' has one per flow"
            )
        for host in get_args(Host):
            yield from self._host_faults(host, [flow for flow in self.flows if flow.host == host])
        for contender, changes in self.contenders.items():
            for name, change in changes.items():
                where = f"contenders.{contender}.{name}"
                if name not in names:
                    yield f"{where}: no such flow; flows are {', '.join(sorted(names))}"
                if "count" in change:
                    yield f"{where}: has a count, which only the flow itself can have"
        if not self.captures:
            yield from self._blind_faults()

    def _time_faults(self) -> Iterator[str]:
        end = f"duration_s = {self.duration_s:g}"
        if self.limit_s is not None and self.limit_s < self.duration_s:
            yield f"limit_s = {self.limit_s:g} is before {end}"
        if self.bin_s >= self.duration_s:
            yield f"bin_s = {self.bin_s:g} is not below {end}"
        for key, part in (("voice", self.voice), ("web", self.web)):
            if part and part.start_s >= self.duration_s:
                yield f"{key}.start_s = {part.start_s:g} is not before {end}"
        if self.short_flows:
            start_s, stop_s = self.short_flows.start_s, self.short_flows_stop_s
            if not start_s < stop_s <= self.duration_s:
                span = f"from start_s = {start_s:g} to stop_s = {stop_s:g}"
                yield f"short_flows: {span} must be a time within {end}"
        if any(step.at_s >= self.duration_s for step in self.link.steps):
            yield f"link.steps: each at_s must be before {end}"
        if self.link.detour and max(self.link.detour.changes_s, default=0) >= self.duration_s:
            yield f"link.detour: its from_s and to_s must be before {end}"

    def _flow_time_faults(self, flow: Flow) -> Iterator[str]:
        where = f"flows.{flow.name}"
        over = f"the experiment is over: duration_s = {self.duration_s:g}"
        if flow.latest_start_s >= self.duration_s:
            start = f"{flow.latest_start_s:g} s (start_s + start_jitter_s)"
            yield f"{where}: may start at {start}, when {over}"
        if flow.pause:
            resumes_s = flow.latest_start_s + flow.pause.after_s + flow.pause.for_s
            if resumes_s >= self.duration_s:
                yield f"{where}.pause: may end at {resumes_s:g} s, when {over}"
        last_s = flow.latest_start_s if flow.again_s is None else self.duration_s
        if flow.goal and last_s + flow.goal.deadline_s > self.end_s:
            end = "duration_s" if self.limit_s is None else "limit_s"
            yield (
                f"{where}.goal.deadline_s: may end at {last_s + flow.goal.deadline_s:g} s, after "
                f"the run: {end} = {self.end_s:g}; a late transfer needs limit_s beyond that"
            )

    def _host_faults(self, host: Host, flows: list[Flow]) -> Iterator[str]:
        """Yield what is one setting of a host, and of which its flows want several."""
        # Rsync cannot choose: it gets its host's default congestion control.
        rsyncs = [flow for flow in flows if flow.kind == "rsync" and not self.by_dalbectl(flow)]
        if len(ccs := sorted({flow.cc for flow in rsyncs})) > 1:
            yield (
                f"rsync flows without a goal on '{host}' get its default congestion control "
                f"and ask for {quoted(ccs)}: give them one cc, or use kind = 'iperf'"
            )
        rest = f"is one setting of '{host}' for all of its flows: give"
        if len({flow.goal.limit_increase for flow in flows if flow.goal}) > 1:
            yield f"goal.limit_increase {rest} their goals the same"
        if len({flow.inflate or "phantom" for flow in flows if flow.cc == "dalbe_cubic"}) > 1:
            yield f"inflate {rest} them the same"

    def _blind_faults(self) -> Iterator[str]:
        """Without captures TCP's counters stand in for them: they know flows, and nothing else."""
        if self.clock != "real":
            yield "captures = false needs clock = 'real': elsewhere they cost no time"
        if self.bin_s < SAMPLE_S:
            yield f"captures = false needs bin_s of at least {SAMPLE_S:g}"
        others = [
            key for key in ("background", "voice", "short_flows", "web") if getattr(self, key)
        ]
        others += [f"flows.{flow.name}.again_s" for flow in self.flows if flow.again_s is not None]
        if any(flow.cc == "utp" for flow in self.flows):
            others.append("cc = 'utp'")
        if self.link.qdisc == "strict_priority":
            others.append("qdisc = 'strict_priority'")
        for other in others:
            yield f"{other} is known by captures alone; remove captures = false"

    def by_dalbectl(self, flow: Flow) -> bool:
        """Whether `flow` runs under dalbectl: it has a goal, a w, or a G of its own.

        A dalbe_cdg connection takes G from its host when it is established. A host that has
        flows of several G cannot be set right for each in time: a lost SYN takes seconds.
        """
        if flow.goal or flow.w is not None:
            return True
        own = [f for f in self.flows if f.host == flow.host and f.cc == "dalbe_cdg"]
        return flow in own and len({f.fixed_g_ms for f in own} - {None}) > 1

    @property
    def both_ways(self) -> bool:
        """Whether a receiver sends data on a flow's own connection."""
        return any(flow.both_ways for flow in self.flows)

    @property
    def short_flows_stop_s(self) -> float:
        """When the last short flow may start; duration_s if nothing else was said."""
        stop_s = self.short_flows.stop_s if self.short_flows else None
        return self.duration_s if stop_s is None else stop_s

    @property
    def end_s(self) -> float:
        """When a run gives up waiting for transfers that are not done."""
        return self.duration_s if self.limit_s is None else self.limit_s

    def contender(self, name: str, where: str | None = None) -> "Experiment":
        """Return the experiment as `name` runs it: its flows changed as the file says.

        A key set to "none" is removed from the flow. where: the experiment in messages. Raises
        TestbedError if there is no such contender or a change is not valid.
        """
        where = where or self.name
        if name not in self.contenders:
            known = ", ".join(self.contenders) or "none"
            raise TestbedError(f"{where}: no contender '{name}'; there are: {known}")
        data = self.model_dump(exclude_unset=True)
        for flow in data["flows"]:
            flow.update(self.contenders[name].get(flow["name"], {}))
            for key in [key for key, value in flow.items() if value == "none"]:
                if key in Flow.model_fields:  # others are explained below
                    del flow[key]
        data["contenders"] = {}
        return parse(data, f"{where}: contenders.{name}")


def cdg_backoff_factor(g_ms: float) -> int:
    """Return the in-tree CDG's backoff_factor that is nearest to a G in milliseconds."""
    return max(1, round(FACTOR_1_G_MS / g_ms))


def in_tree_g_ms(g_ms: float) -> float:
    """Return the G in milliseconds that the in-tree CDG runs at when asked for `g_ms`.

    It knows whole factors of 125/G only: 120 ms becomes 125, 2 ms becomes 2.016.
    """
    return round(FACTOR_1_G_MS / cdg_backoff_factor(g_ms), 3)


def parse(data: dict[str, Any], where: str) -> Experiment:
    """Validate an experiment and all its contenders; `where` names it in messages.

    Raises TestbedError.
    """
    experiment = validate(Experiment, data, where)
    for name in experiment.contenders:
        experiment.contender(name, where)
    return experiment


def _copies(flow: Any) -> list[Any]:
    """Return the flows that one with a count stands for.

    Itself if there is nothing to count; what is wrong with it, explain() tells.
    """
    match flow:
        case {"count": int(count), "name": str(name), **one}:
            if type(count) is int and 0 <= count <= FLOWS_MAX:
                return [copy.deepcopy(one) | {"name": f"{name}{n + 1}"} for n in range(count)]
    return [flow]


def override(data: dict[str, Any], setting: str) -> None:
    """Apply one --set KEY=VALUE to raw data, in place.

    KEY is a dotted path; flows are named, not counted: flows.file.bytes=1000000.
    VALUE is TOML, or else a string; none removes the key. Raises TestbedError on a path that
    leads nowhere.
    """
    path, equals, text = setting.partition("=")
    if not equals:
        raise TestbedError(f"--set {setting}: write it as key=value, e.g. link.rtt_ms=20")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    *parents, last = path.split(".")
    node: Any = data
    for part in parents:
        if isinstance(node, list):
            named = (item for item in node if isinstance(item, dict) and item.get("name") == part)
            node = next(named, None)
        else:
            node = node.get(part)
        if not isinstance(node, dict | list):
            raise TestbedError(f"--set {setting}: there is no '{part}' in the experiment")
    if not isinstance(node, dict):
        raise TestbedError(f"--set {setting}: name a flow and one of its keys")
    if value == "none":
        node.pop(last, None)
    else:
        node[last] = value


def sets_count(setting: str) -> bool:
    """Return whether a setting says how many flows there are: these come before all others."""
    return setting.partition("=")[0].endswith(".count")


def load(path: Path, settings: list[str] | None = None) -> Experiment:
    """Read an experiment file and apply --set settings. Raises TestbedError.

    contender=NAME is no key of the file: it returns the experiment as this contender runs it.
    """
    data = read(path)
    for setting in filter(sets_count, settings or []):
        override(data, setting)
    if isinstance(flows := data.get("flows"), list):
        data["flows"] = [each for flow in flows for each in _copies(flow)]
    for setting in itertools.filterfalse(sets_count, settings or []):
        override(data, setting)
    contender = data.pop("contender", None)
    what = parse(data, str(path))
    return what if contender is None else what.contender(contender, str(path))
