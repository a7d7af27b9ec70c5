# SPDX-License-Identifier: GPL-2.0-only
"""The proof that the link was what the experiment says. Without it a run is no result."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from dalbe_testbed.capture import TCP, Packet
from dalbe_testbed.errors import TestbedError
from dalbe_testbed.experiment import Link
from dalbe_testbed.scenario import FLOOD_PORT

RATE_TOLERANCE = 0.02  # of the configured rate
RTT_TOLERANCE_MS = 0.5
VETH_ENDS = 12
OFFLOADS = 3  # TSO, GSO, GRO
SYN, ACK = 0x02, 0x10


@dataclass(frozen=True)
class LinkProof:
    """What was measured of the link before and during a run."""

    rate_bps: float  # of the CBR flood that precedes T=0, behind the bottleneck
    base_rtt_ms: float  # of the first handshake, on the idle link
    queue_packets: int  # limit of the bottleneck's FIFO, as the kernel reports it
    offloads_on: list[str]  # "namespace device offload"
    drops: int  # at the bottleneck since T=0


def flood_rate_bps(packets: pl.DataFrame) -> float:
    """Return the rate of the flood behind the bottleneck, once the queue is full; 0 if none."""
    flood = packets.filter(pl.col("port") == FLOOD_PORT).drop_nulls("out_us").sort("out_us")
    steady = flood.slice(flood.height // 4)
    if steady.height < 2:  # noqa: PLR2004 (no interval without two ends)
        return 0.0
    times = steady["out_us"]
    return int(steady["wire_bytes"][1:].sum()) * 8e6 / int(times[-1] - times[0])


def base_rtt_ms(entering: list[Packet]) -> float:
    """Return the RTT of the first handshake, from the data side alone; 0 if there is none.

    The client answers at once, so its SYN and its ACK pass the same point one RTT apart.
    """
    syn_us: int | None = None
    port = 0
    for packet in entering:
        if packet.protocol != TCP:
            continue
        if packet.flags & SYN and syn_us is None:
            syn_us, port = packet.time_us, packet.port
        elif syn_us is not None and packet.port == port and packet.flags & ACK:
            return (packet.time_us - syn_us) / 1e3
    return 0.0


def measure(packets: pl.DataFrame, handshake: list[Packet], records: Path) -> LinkProof:
    """Collect the proof from the paired captures and the guest's records."""
    limit = re.search(r"pfifo 10: .*limit (\d+)p", (records / "qdisc").read_text())
    offloads = (records / "offloads").read_text().splitlines()
    if len(offloads) != VETH_ENDS * OFFLOADS:
        raise TestbedError(
            f"link check: {len(offloads)} offloads reported instead of {VETH_ENDS * OFFLOADS}: "
            f"see {records / 'offloads'}; is ethtool installed?"
        )
    during = packets.filter(pl.col("out_us").is_null() & (pl.col("in_us") >= 0))
    return LinkProof(
        rate_bps=round(flood_rate_bps(packets), 1),
        base_rtt_ms=round(base_rtt_ms(handshake), 3),
        queue_packets=int(limit[1]) if limit else 0,
        offloads_on=[line for line in offloads if not line.endswith(" off")],
        drops=during.height,
    )


def check(proof: LinkProof, link: Link, *, contended: bool) -> None:
    """Raise TestbedError if the link was not what the experiment says."""
    faults = []
    if abs(proof.rate_bps - link.rate_bps) > RATE_TOLERANCE * link.rate_bps:
        faults.append(f"rate {proof.rate_bps / 1e6:.3f} instead of {link.rate_mbps:g} Mbit/s")
    if abs(proof.base_rtt_ms - link.rtt_ms) > RTT_TOLERANCE_MS:
        faults.append(f"base RTT {proof.base_rtt_ms:g} instead of {link.rtt_ms:g} ms")
    if proof.queue_packets != link.queue_packets:
        faults.append(f"queue of {proof.queue_packets} instead of {link.queue_packets} packets")
    if proof.offloads_on:
        faults.append(f"offload on: {proof.offloads_on[0]}")
    if contended and proof.drops == 0:
        faults.append("no drop at the bottleneck although flows competed (TSQ?)")
    if faults:
        raise TestbedError("link check: " + "; ".join(faults))
