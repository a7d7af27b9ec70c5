# SPDX-License-Identifier: GPL-2.0-only
"""Draws starts and short transfers of an experiment from a seed; gives everything its port."""

import random
from dataclasses import dataclass

from dalbe_testbed.plan.experiment import Experiment, Flow
from dalbe_testbed.plan.traffic import Transfer, draw_sessions, draw_short_flows

FLOOD_PORT = 9900
BACKGROUND_PORT = 9100
VOICE_PORT = 9102
REQUESTS_PORT = 9200
WEB_PORT, WEB_BACK_PORT = 9201, 9202
REVERSE_PORT = 9300
IPERF_PORT = 5001
RSYNC_PORT = 8730
PEER = {"sender": "receiver", "xsender": "xreceiver"}


@dataclass(frozen=True)
class Stream:
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
    """Give every flow its port and its start; the same for all contenders of a seed."""
    base = {"iperf": IPERF_PORT, "rsync": RSYNC_PORT}
    planned = []
    for index, flow in enumerate(experiment.flows):
        jitter_s = random.Random(f"{seed} {flow.name}").uniform(0, flow.start_jitter_s)
        start_s = round(flow.start_s + jitter_s, 6)
        planned.append(PlannedFlow(flow, base[flow.kind] + index, start_s))
    return planned


def low_priority_ports(experiment: Experiment, flows: list[PlannedFlow]) -> list[int] | None:
    """Return the destination ports whose packets have low priority; None if there is no such."""
    if experiment.link.qdisc != "strict_priority":
        return None
    ports = [planned.port for planned in flows if planned.flow.host == "sender"]
    if experiment.short_flows and experiment.short_flows.host == "sender":
        ports.append(REQUESTS_PORT)
    return ports


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


def reverse_flows(experiment: Experiment) -> list[tuple[str, str]]:
    """Return name and receiving host, a sender, of each greedy flow against the direction."""
    return [
        (f"reverse{number + 1}", list(PEER)[number % 2])
        for number in range(experiment.link.reverse_flows or 0)
    ]
