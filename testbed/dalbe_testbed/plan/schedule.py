# SPDX-License-Identifier: GPL-2.0-only
"""Draws starts and short transfers of an experiment from a seed; gives everything its port.

Every congestion control of the other flows meets the same short flows and web-like sessions.
testbed/guest/shortflows.c plays them, each over a TCP connection of its own.

The framework paper replays a trace of its own, section V.C; what it says of it is that sessions
are so many that one carries 38 kB on average (30 % of 100 Mbit/s in 99.5 sessions per second), that
most flows are short, and that traffic is bursty. Here a session is a few objects, fetched one after
another, whose sizes have a heavy tail, from a few packets to what the link carries in many seconds.
As in the paper the times are scaled so that the offered load, which is that without losses and
retransmissions, comes out.
"""

import math
import random
from typing import Literal, NamedTuple

from dalbe_testbed.errors import TestbedError
from dalbe_testbed.plan.experiment import Experiment, Flow, ShortFlows, Web

FLOOD_PORT = 9900
BACKGROUND_PORT = 9100
VOICE_PORT = 9102
REQUESTS_PORT = 9200
WEB_PORT, WEB_BACK_PORT = 9201, 9202
REVERSE_PORT = 9300
FIRST_PORT = {"iperf": 5001, "rsync": 8730}  # of the flows of a kind
PEER = {"sender": "receiver", "xsender": "xreceiver"}

MEAN_OBJECTS = 2.0  # of a session: geometric, at least one
THINK_S = 1.0  # mean time between the beginnings of two objects of a session; exponential
# Of the objects' sizes, a bounded Pareto distribution; up to 5 MB its mean is 18.2 kB, which makes
# sessions of 37 kB.
SHAPE, LEAST_BYTES = 1.2, 4_000
SEGMENT_BYTES, HEADER_BYTES = 1448, 66  # of an Ethernet frame of TCP with timestamps
HANDSHAKE_FRAMES = 3  # without payload, of the sender of an object: SYN, its ACK, FIN
TOLERANCE = 0.01  # by what part the offered load may differ from that asked for
LEAST_LOAD_BYTES = 1e6  # below it a session of a few packets might not fit into twice that

Direction = Literal["forward", "back"]


class Transfer(NamedTuple):
    """One transfer: `bytes` of payload from start_s, in seconds since T=0."""

    start_s: float
    bytes: int

    @property
    def line(self) -> str:
        """Its line in shortflows.c's SCHEDULE."""
        return f"{round(self.start_s * 1e6)} {self.bytes}"


class Stream(NamedTuple):
    """Transfers of one shortflows process, from `host` to `to`; name: of its log and schedule."""

    name: str
    host: str
    to: str
    port: int
    cc: str
    transfers: list[Transfer]

    @property
    def forward(self) -> bool:
        """Whether the transfers go through the bottleneck, not back."""
        return self.host in PEER


class PlannedFlow(NamedTuple):
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
    """Give every flow its port and its start; the same for all contenders of a seed."""
    planned = []
    for index, flow in enumerate(experiment.flows):
        jitter_s = random.Random(f"{seed} {flow.name}").uniform(0, flow.start_jitter_s)
        start_s = round(flow.start_s + jitter_s, 6)
        planned.append(PlannedFlow(flow, FIRST_PORT[flow.kind] + index, start_s))
    return planned


def low_priority_ports(experiment: Experiment, flows: list[PlannedFlow]) -> list[int] | None:
    """Return the destination ports whose packets have low priority; None if there is no such."""
    if experiment.link.qdisc != "strict_priority":
        return None
    ports = [planned.port for planned in flows if planned.flow.host == "sender"]
    if experiment.short_flows and experiment.short_flows.host == "sender":
        ports.append(REQUESTS_PORT)
    return ports


def mean_bytes(short: ShortFlows) -> float:
    """Return the mean of the log-uniform distribution of sizes."""
    low, high = short.min_bytes, short.max_bytes
    return low if low == high else (high - low) / math.log(high / low)


def draw_short_flows(short: ShortFlows, link_bps: int, stop_s: float, seed: int) -> list[Transfer]:
    """Draw Poisson arrivals from short.start_s up to stop_s, in order, and their sizes.

    Their mean rate of payload is short.load of link_bps. Raises TestbedError if none arrives.
    """
    source = random.Random(f"{seed} short_flows")
    per_s = short.load * link_bps / 8 / mean_bytes(short)
    transfers = []
    at_s = short.start_s + source.expovariate(per_s)
    while at_s < stop_s:
        size = math.exp(source.uniform(math.log(short.min_bytes), math.log(short.max_bytes)))
        transfers.append(Transfer(round(at_s, 6), round(size)))
        at_s += source.expovariate(per_s)
    if not transfers:
        raise TestbedError(
            f"short_flows: seed {seed} draws no transfer from {short.start_s:g} to {stop_s:g} s at "
            f"{per_s:.3g} per second: raise load or the time"
        )
    return transfers


def object_wire_bytes(size: int) -> int:
    """Return the bytes of the frames that carry an object of `size` bytes, if none is lost."""
    return size + HEADER_BYTES * (math.ceil(size / SEGMENT_BYTES) + HANDSHAKE_FRAMES)


def _object_bytes(source: random.Random, most_bytes: int) -> int:
    """Draw a size, by the inverse of the distribution function."""
    tail = math.pow(LEAST_BYTES / most_bytes, SHAPE)
    return round(LEAST_BYTES / math.pow(1 - source.random() * (1 - tail), 1 / SHAPE))


def _session(source: random.Random, most_bytes: int) -> list[Transfer]:
    """Draw one that begins at 0."""
    objects = [Transfer(0.0, _object_bytes(source, most_bytes))]
    while source.random() >= 1 / MEAN_OBJECTS:
        at_s = objects[-1].start_s + source.expovariate(1 / THINK_S)
        objects.append(Transfer(at_s, _object_bytes(source, most_bytes)))
    return objects


def draw_sessions(
    web: Web, link_bps: int, stop_s: float, seed: int, direction: Direction
) -> list[Transfer]:
    """Draw the objects of one direction from web.start_s up to stop_s, in order.

    Sessions are drawn until they make the offered load, a part of link_bps on the wire; one that
    exceeds it is drawn anew. They begin at uniform times: given their number, those of a Poisson
    process. An object that would begin after the end does so as long after the beginning. Raises
    TestbedError if all of it is less than LEAST_LOAD_BYTES.
    """
    source = random.Random(f"{seed} web {direction}")
    load = web.load * (1 if direction == "forward" else web.reverse_part)
    length_s = stop_s - web.start_s
    wanted, total = load * link_bps / 8 * length_s, 0
    if wanted < LEAST_LOAD_BYTES:
        raise TestbedError(
            f"web: a load of {load:g} from {web.start_s:g} to {stop_s:g} s is {wanted:.3g} bytes, "
            f"too few to be made of sessions: at least {LEAST_LOAD_BYTES:g}"
        )
    sessions = []
    while total < (1 - TOLERANCE) * wanted:
        session = _session(source, web.max_bytes)
        size = sum(object_wire_bytes(transfer.bytes) for transfer in session)
        if total + size <= (1 + TOLERANCE) * wanted:
            sessions.append(session)
            total += size
    return sorted(
        (
            Transfer(round(web.start_s + (begin_s + one.start_s) % length_s, 6), one.bytes)
            for session in sessions
            for begin_s in [source.uniform(0, length_s)]
            for one in session
        ),
        key=lambda transfer: transfer.start_s,
    )


def streams(experiment: Experiment, seed: int) -> list[Stream]:
    """Draw the short flows and web sessions, the same for all contenders of a seed.

    Raises TestbedError if one of them has no transfer.
    """
    found: list[Stream] = []
    rate_bps = experiment.link.rate_bps
    if short := experiment.short_flows:
        transfers = draw_short_flows(short, rate_bps, experiment.short_flows_stop_s, seed)
        to = PEER[short.host]
        found.append(Stream("requests", short.host, to, REQUESTS_PORT, short.cc, transfers))
    if some := experiment.web:
        left, right = "xsender", PEER["xsender"]
        transfers = draw_sessions(some, rate_bps, experiment.end_s, seed, "forward")
        found.append(Stream("web", left, right, WEB_PORT, some.cc, transfers))
        if some.reverse_part:
            transfers = draw_sessions(some, rate_bps, experiment.end_s, seed, "back")
            found.append(Stream("web_back", right, left, WEB_BACK_PORT, some.cc, transfers))
    return found


def backgrounds(experiment: Experiment) -> list[tuple[str, str, int]]:
    """Return name, host and port of each host's background."""
    hosts = experiment.background.hosts if experiment.background else []
    places = enumerate(PEER, start=1)
    return [(f"background{n}", h, BACKGROUND_PORT + n - 1) for n, h in places if h in hosts]


def reverse_flows(experiment: Experiment) -> list[tuple[str, str]]:
    """Return name and receiving host, a sender, of each greedy flow against the direction."""
    return [
        (f"reverse{number + 1}", list(PEER)[number % 2])
        for number in range(experiment.link.reverse_flows or 0)
    ]
