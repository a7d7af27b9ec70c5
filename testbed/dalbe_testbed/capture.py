# SPDX-License-Identifier: GPL-2.0-only
"""From two captures, before and behind the bottleneck, to what happened in it.

The queue is a FIFO with tail drop, so what leaves it is a subsequence of what enters it. One
pass over both captures therefore pairs every packet with itself: the time between its two
appearances is its queueing delay, and what is passed over was dropped. No sampling, no model.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import dpkt
import polars as pl

from dalbe_testbed.errors import TestbedError

ETHERNET_BYTES = 14
IPV4, IPV6 = 0x0800, 0x86DD
TCP, UDP = 6, 17


@dataclass(frozen=True, slots=True)
class Packet:
    """One captured packet: what tells it from all others, and what the tables need."""

    time_us: int
    key: bytes  # headers without what a router changes
    port: int  # destination port
    protocol: int
    wire_bytes: int  # Ethernet frame without preamble and FCS, as htb counts
    payload_bytes: int
    flags: int  # of TCP


def _packet(time_us: int, frame: bytes) -> Packet | None:
    """Dissect a frame by hand: this runs for every packet, dpkt's objects are 20x slower."""
    (ethertype,) = struct.unpack_from("!H", frame, 12)
    if ethertype == IPV4:
        header = ETHERNET_BYTES + (frame[14] & 15) * 4
        (length,) = struct.unpack_from("!H", frame, 16)
        wire, protocol = ETHERNET_BYTES + length, frame[23]
        key = frame[14:22] + frame[23:24] + frame[26:]  # without TTL and checksum
    elif ethertype == IPV6:
        header = ETHERNET_BYTES + 40
        (length,) = struct.unpack_from("!H", frame, 18)
        wire, protocol = header + length, frame[20]
        key = frame[14:21] + frame[22:]  # without hop limit
    else:
        return None
    flags = 0
    if protocol == TCP:
        (port,) = struct.unpack_from("!H", frame, header + 2)
        payload = wire - header - (frame[header + 12] >> 4) * 4
        flags = frame[header + 13]
    elif protocol == UDP:
        (port,) = struct.unpack_from("!H", frame, header + 2)
        payload = wire - header - 8
    else:
        return None
    return Packet(time_us, key, port, protocol, wire, payload, flags)


def read(path: Path, clock_us: int = 0) -> Iterator[Packet]:
    """Yield the TCP and UDP packets of a capture, times relative to `clock_us`.

    Raises TestbedError if the file is no capture; one that ends within a packet ends there.
    """
    with path.open("rb") as file:
        try:
            reader = dpkt.pcap.UniversalReader(file)
        except (ValueError, dpkt.dpkt.Error):
            raise TestbedError(f"{path}: not a packet capture") from None
        try:
            for time_s, frame in reader:
                packet = _packet(round(time_s * 1e6) - clock_us, frame)
                if packet:
                    yield packet
        except dpkt.dpkt.NeedData:
            return


def pair(entering: Iterator[Packet], leaving: Iterator[Packet]) -> pl.DataFrame:
    """Pair what leaves the bottleneck with what entered it.

    Returns one row per packet that entered, in order: in_us, out_us (null if dropped), port,
    protocol, wire_bytes, payload_bytes. Packets still queued when the captures end are left out.
    Raises TestbedError if a packet leaves that never entered.
    """
    in_us, out_us = array("q"), array("q")
    port, protocol, wire, payload = array("q"), array("q"), array("q"), array("q")
    dropped = -(2**62)
    for packet in leaving:
        for candidate in entering:
            found = candidate.key == packet.key
            in_us.append(candidate.time_us)
            out_us.append(packet.time_us if found else dropped)
            port.append(candidate.port)
            protocol.append(candidate.protocol)
            wire.append(candidate.wire_bytes)
            payload.append(candidate.payload_bytes)
            if found:
                break
        else:
            raise TestbedError(
                f"the captures do not fit: a packet to port {packet.port} left the bottleneck "
                f"at {packet.time_us} us and never reached it; run it again with --keep-captures"
            )
    return pl.DataFrame(
        {
            "in_us": pl.Series(in_us, dtype=pl.Int64),
            "out_us": pl.Series(out_us, dtype=pl.Int64),
            "port": pl.Series(port, dtype=pl.Int32),
            "protocol": pl.Series(protocol, dtype=pl.Int32),
            "wire_bytes": pl.Series(wire, dtype=pl.Int64),
            "payload_bytes": pl.Series(payload, dtype=pl.Int64),
        }
    ).with_columns(out_us=pl.when(pl.col("out_us") != dropped).then("out_us"))


def rate_table(
    packets: pl.DataFrame, names: dict[int, str], bin_s: float, end_s: float
) -> pl.DataFrame:
    """Reduce paired packets to bytes per flow and bin behind the bottleneck.

    names maps destination ports to flows; other ports are left out. Columns: t_s (start of
    the bin), flow, wire_bytes, payload_bytes, rate_bps (of wire_bytes), drops. Every flow has
    every bin of [0, end_s).
    """
    bins = round(end_s / bin_s)
    bin_us = round(bin_s * 1e6)
    flows = list(dict.fromkeys(names.values()))
    grid = pl.DataFrame({"flow": flows}).join(
        pl.DataFrame({"bin": range(bins)}, schema={"bin": pl.Int64}), how="cross"
    )
    known = packets.filter(pl.col("port").is_in(list(names))).with_columns(
        flow=pl.col("port").replace_strict(names, return_dtype=pl.String)
    )
    sent = (
        known.drop_nulls("out_us")
        .group_by("flow", bin=pl.col("out_us") // bin_us)
        .agg(pl.sum("wire_bytes"), pl.sum("payload_bytes"))
    )
    lost = (
        known.filter(pl.col("out_us").is_null())
        .group_by("flow", bin=pl.col("in_us") // bin_us)
        .agg(drops=pl.len().cast(pl.Int64))
    )
    return (
        grid.join(sent, on=["flow", "bin"], how="left")
        .join(lost, on=["flow", "bin"], how="left")
        .with_columns(pl.col("wire_bytes", "payload_bytes", "drops").fill_null(0))
        .with_columns(
            t_s=(pl.col("bin") * bin_s).round(6), rate_bps=pl.col("wire_bytes") * 8 / bin_s
        )
        .select("t_s", "flow", "wire_bytes", "payload_bytes", "rate_bps", "drops")
        .sort("t_s", "flow")
    )


def queue_table(packets: pl.DataFrame, bin_s: float, end_s: float) -> pl.DataFrame:
    """Reduce paired packets to the queueing delay per bin.

    Columns: t_s (start of the bin), queue_ms (mean over the packets that arrive in the bin; 0
    without any), queue_max_ms, drops.
    """
    bin_us = round(bin_s * 1e6)
    delay_ms = (pl.col("out_us") - pl.col("in_us")) / 1e3
    measured = packets.group_by(bin=pl.col("in_us") // bin_us).agg(
        queue_ms=delay_ms.mean(),
        queue_max_ms=delay_ms.max(),
        drops=pl.col("out_us").is_null().sum().cast(pl.Int64),
    )
    grid = pl.DataFrame({"bin": range(round(end_s / bin_s))}, schema={"bin": pl.Int64})
    return (
        grid.join(measured, on="bin", how="left")
        .with_columns(pl.col("queue_ms", "queue_max_ms").fill_null(0.0).round(4))
        .with_columns(pl.col("drops").fill_null(0), t_s=(pl.col("bin") * bin_s).round(6))
        .select("t_s", "queue_ms", "queue_max_ms", "drops")
        .sort("t_s")
    )
