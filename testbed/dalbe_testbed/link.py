# SPDX-License-Identifier: GPL-2.0-only
"""The proof that the link was what the experiment says. Without it a run is no result."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from dalbe_testbed.errors import TestbedError
from dalbe_testbed.experiment import FRAME_BYTES, Link
from dalbe_testbed.scenario import FLOOD_PORT, PEER, PlannedFlow

RATE_TOLERANCE = 0.02  # of the configured rate
RTT_TOLERANCE_MS = 0.5
LOSS_BASED = ("cubic", "reno")
# A greedy loss-based flow that shares a FIFO for as long as this fills it.
CONTENDED_S, UTILISED = 60.0, 0.95


@dataclass(frozen=True)
class LinkProof:
    """What was measured of the link before and during a run."""

    rate_bps: float  # of the CBR flood that precedes T=0, behind the bottleneck
    base_rtt_ms: Mapping[str, float]  # per sender, of a ping on the idle link
    queue: str  # the bottleneck's queue discipline and its limit, as the kernel reports them
    uncaptured: int  # packets that tcpdump lost: each would pass for a drop
    largest_frame_bytes: int  # at the senders and behind the bottleneck: no super-packets
    drops: int  # at the bottleneck since T=0
    marks: int  # CE by the bottleneck since T=0


def flood_rate_bps(packets: pl.DataFrame) -> float:
    """Return the rate of the flood behind the bottleneck, once the queue is full; 0 if none."""
    flood = packets.filter(pl.col("port") == FLOOD_PORT).drop_nulls("out_us").sort("out_us")
    steady = flood.slice(flood.height // 4)
    if steady.height < 2:  # noqa: PLR2004 (no interval without two ends)
        return 0.0
    times = steady["out_us"]
    return int(steady["wire_bytes"][1:].sum()) * 8e6 / int(times[-1] - times[0])


def ping_ms(text: str) -> float:
    """Return the RTT that ping(8) reports for its only packet, in ms; 0 if there was no answer."""
    found = re.search(r"time=([0-9.]+) ms", text)
    return float(found[1]) if found else 0.0


def uncaptured(log: Path) -> int:
    """Return how many packets tcpdump says that it lost. Raises TestbedError if it says nothing."""
    found = re.search(r"^(\d+) packets dropped by kernel", log.read_text(), re.M)
    if not found:
        raise TestbedError(f"{log}: tcpdump did not end as it should; see there")
    return int(found[1])


def measure(packets: pl.DataFrame, records: Path) -> LinkProof:
    """Collect the proof from the paired captures and the guest's records."""
    qdiscs = json.loads((records / "qdisc.json").read_text())
    queue = next((item for item in qdiscs if item.get("handle") == "10:"), None)
    during = packets.filter(pl.col("in_us") >= 0)
    return LinkProof(
        rate_bps=round(flood_rate_bps(packets), 1),
        base_rtt_ms={host: ping_ms((records / f"ping.{host}").read_text()) for host in PEER},
        queue=f"{queue['kind']} limit {queue['options']['limit']}" if queue else "none",
        uncaptured=sum(map(uncaptured, records.glob("*.pcap.log"))),
        largest_frame_bytes=int(packets["wire_bytes"].max() or 0),  # type: ignore[arg-type]
        drops=int(during["out_us"].null_count()),
        marks=int(during["marked"].sum()),
    )


def fills_its_queue(flows: Sequence[PlannedFlow], end_s: float) -> tuple[float, float] | None:
    """Return when, from and to in s, a greedy loss-based flow competes with the other sender.

    None if that is never so for CONTENDED_S.
    """
    spans = [
        (planned, planned.start_s, min(end_s, planned.stop_s or planned.start_s))
        for planned in flows
    ]
    for (a, a_from, a_to), (b, b_from, b_to) in itertools.permutations(spans, 2):
        start, stop = max(a_from, b_from), min(a_to, b_to)
        if (
            a.flow.cc in LOSS_BASED
            and a.flow.kind == "iperf"
            and a.flow.host != b.flow.host
            and stop - start >= CONTENDED_S
        ):
            return start, stop
    return None


def _hides_its_queue(packets: pl.DataFrame, link: Link, span: tuple[float, float]) -> bool:
    """Whether a FIFO dropped nothing although it was fed all that it could carry."""
    inside = packets.filter(pl.col("in_us").is_between(span[0] * 1e6, span[1] * 1e6))
    carried = int(inside.drop_nulls("out_us")["wire_bytes"].sum()) * 8
    used = carried / ((span[1] - span[0]) * link.rate_bps)
    return link.fifo and used >= UTILISED and inside["out_us"].null_count() == 0


def check(
    proof: LinkProof, link: Link, packets: pl.DataFrame, contended: tuple[float, float] | None
) -> None:
    """Raise TestbedError if the link was not what the experiment says.

    contended: what fills_its_queue() returned.
    """
    faults = []
    if abs(proof.rate_bps - link.rate_bps) > RATE_TOLERANCE * link.rate_bps:
        faults.append(f"rate {proof.rate_bps / 1e6:.3f} instead of {link.rate_mbps:g} Mbit/s")
    for host in PEER:
        is_ms, due_ms = proof.base_rtt_ms[host], link.base_rtt_ms(host)  # type: ignore[arg-type]
        if abs(is_ms - due_ms) > RTT_TOLERANCE_MS:
            faults.append(f"base RTT of {host} {is_ms:g} instead of {due_ms:g} ms")
    queue = " ".join(link.qdisc_words[:3])
    if proof.queue != queue:
        faults.append(f"queue '{proof.queue}' instead of '{queue}'")
    if proof.uncaptured:
        faults.append(f"tcpdump lost {proof.uncaptured} packets, which would pass for drops")
    if proof.largest_frame_bytes > FRAME_BYTES:
        faults.append(f"a frame of {proof.largest_frame_bytes} bytes: an offload is on")
    if contended and _hides_its_queue(packets, link, contended):
        faults.append("no drop at the bottleneck although a greedy flow competed (TSQ?)")
    if faults:
        raise TestbedError("link check: " + "; ".join(faults))
