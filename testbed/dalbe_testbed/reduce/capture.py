# SPDX-License-Identifier: GPL-2.0-only
"""From captures at the senders and behind the bottleneck to what happened in between.

The delay between a sender and the bottleneck is constant, so a packet's time at the sender says
when it reached the queue. Every packet is known by its headers: looked up among those that left
the bottleneck, it has a queueing delay, or it was dropped. This method needs no sampling and no
model, and holds for every queue discipline, also one that reorders flows.
"""

import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dalbe_testbed.errors import TestbedError
from dalbe_testbed.reduce.tcpinfo import named

ETHERNET_BYTES = 14
IPV4, IPV6 = 0x0800, 0x86DD
TCP, UDP = 6, 17
CE = 3  # ECN codepoint "congestion experienced", RFC 3168
MICROSECONDS, NANOSECONDS = 0xA1B2C3D4, 0xA1B23C4D  # magic numbers of pcap files
FILE_HEADER_BYTES = 24
KEY_BYTES = 96  # of a packet, at most
TIME_WAIT_S = 60  # in Linux, whatever is set

# Fields that a router changes (of IPv6 the traffic class, next to the version, and the hop limit)
# or an offload leaves open (checksums), as offsets behind the Ethernet header.
MUTABLE = {IPV4: (1, 8, 10, 11), IPV6: (0, 1, 7)}
IP_BYTES = {IPV4: 20, IPV6: 40}
CHECKSUM = {TCP: 16, UDP: 6}

Bytes = NDArray[np.uint8]


def _records(path: Path) -> tuple[Bytes, NDArray[np.int64]]:
    """Return the frames of a capture, cut or padded with zeros to KEY_BYTES, and times in us."""
    data = path.read_bytes()
    ticks_per_us = {MICROSECONDS: 1, NANOSECONDS: 1000}.get(int.from_bytes(data[:4], "little"))
    if not ticks_per_us:
        raise TestbedError(f"{path}: not a packet capture")
    header = struct.Struct("<IIII")  # seconds, ticks beyond them, bytes here, bytes on the wire
    rows, at = [], FILE_HEADER_BYTES
    while (start := at + header.size) <= len(data):
        seconds, ticks, captured, _wire = header.unpack_from(data, at)
        at = start + captured
        if at > len(data):  # killed within a packet
            break
        rows.append((seconds * 10**6 + ticks // ticks_per_us, start, captured))
    times_us, starts, lengths = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    octets = np.frombuffer(data + bytes(KEY_BYTES), dtype=np.uint8)
    frames = np.lib.stride_tricks.sliding_window_view(octets, KEY_BYTES)[starts].copy()
    frames[np.arange(KEY_BYTES) >= lengths[:, None]] = 0
    return frames, times_us


def _uint16(frames: Bytes, at: int) -> NDArray[np.int64]:
    return frames[:, at].astype(np.int64) << 8 | frames[:, at + 1]


def _dissect(frames: Bytes, times_us: NDArray[np.int64], ethertype: int) -> pl.DataFrame:
    """Dissect the frames of one IP version; those that are neither TCP nor UDP are left out."""
    chosen = _uint16(frames, 12) == ethertype
    frames, times_us = frames[chosen], times_us[chosen]
    ip, header = ETHERNET_BYTES, ETHERNET_BYTES + IP_BYTES[ethertype]
    wire = ETHERNET_BYTES + _uint16(frames, ip + 2)
    protocol, ecn = frames[:, ip + 9], frames[:, ip + 1] & 3
    if ethertype == IPV6:
        wire = header + _uint16(frames, ip + 4)
        protocol, ecn = frames[:, ip + 6], frames[:, ip + 1] >> 4 & 3
    tcp = protocol == TCP
    transport_bytes = np.where(tcp, (frames[:, header + 12] >> 4) * np.int64(4), 8)
    key = frames.copy()
    key[:, :ETHERNET_BYTES] = 0
    for offset in MUTABLE[ethertype]:
        key[:, ip + offset] = 0
    for number, offset in CHECKSUM.items():
        key[protocol == number, header + offset : header + offset + 2] = 0
    return pl.DataFrame(
        {
            "time_us": times_us,
            "key": np.fromiter(map(hash, key.view(f"V{KEY_BYTES}")[:, 0].tolist()), np.int64),
            "source": _uint16(frames, header).astype(np.int32),
            "port": _uint16(frames, header + 2).astype(np.int32),
            "protocol": protocol.astype(np.int32),
            "wire_bytes": wire,
            "payload_bytes": wire - header - transport_bytes,
            "ce": ecn == CE,
        }
    ).filter(pl.col("protocol").is_in([TCP, UDP]))


def read(path: Path, clock_us: int = 0) -> pl.DataFrame:
    """Return one row per TCP or UDP packet of a capture, in order.

    Columns: time_us (relative to clock_us), key (equal for the same packet in two captures that one
    process reads), source and port (the source's and the destination's), protocol, wire_bytes
    (Ethernet frame without preamble and FCS, as htb counts), payload_bytes, ce (marked by a queue).
    Raises TestbedError if the file is no capture; one that ends within a packet ends there.
    """
    frames, times_us = _records(path)
    parts = [_dissect(frames, times_us - clock_us, version) for version in (IPV4, IPV6)]
    return pl.concat(parts).sort("time_us", maintain_order=True)


def _numbered(packets: pl.DataFrame) -> pl.DataFrame:
    """Number packets that look alike, so that the first that left is the first that was sent."""
    alike = packets["key"].n_unique() < packets.height  # rarely, and much slower
    copy = pl.int_range(pl.len()).over("key") if alike else pl.lit(0, dtype=pl.Int64)
    return packets.with_columns(copy=copy)


def pair(sent: pl.DataFrame, left: pl.DataFrame, delay_us: int) -> pl.DataFrame:
    """Look up what the senders sent among what left the bottleneck, delay_us from any of them.

    Returns one row per packet sent, in order: sent_us, in_us (when it reached the queue), out_us
    (null if dropped), source, port, protocol, wire_bytes, payload_bytes, marked (CE, by the
    bottleneck). Packets still on their way when the captures end are left out. Raises TestbedError
    if a packet left that nobody sent.
    """
    pairs = (
        _numbered(sent.sort("time_us", maintain_order=True))
        .rename({"time_us": "sent_us", "ce": "ce_before"})
        .join(
            _numbered(left).select("key", "copy", pl.col("time_us").alias("out_us"), "ce"),
            on=["key", "copy"],
            how="full",
            maintain_order="left",
            coalesce=True,
        )
    )
    strangers = pairs.filter(pl.col("sent_us").is_null())
    if strangers.height:
        raise TestbedError(
            f"the captures do not fit: {strangers.height} packets left the bottleneck that no "
            f"sender sent, the first at {strangers['out_us'][0]} us; run it again with "
            "--keep-captures"
        )
    in_us = pl.col("sent_us") + delay_us
    settled = in_us <= in_us.filter(pl.col("out_us").is_not_null()).max().over("port")
    return pairs.filter(settled.fill_null(value=False)).select(
        "sent_us",
        in_us.alias("in_us"),
        "out_us",
        pl.col("source", "port", "protocol", "wire_bytes", "payload_bytes"),
        marked=pl.col("ce").fill_null(value=False) & ~pl.col("ce_before"),
    )


def _bins(bin_s: float, end_s: float) -> pl.DataFrame:
    """Return bin and t_s, number and start, of the bins of [0, end_s)."""
    bins = pl.select(bin=pl.int_range(round(end_s / bin_s), dtype=pl.Int64))
    return bins.with_columns(t_s=(pl.col("bin") * bin_s).round(6))


def rate_table(
    packets: pl.DataFrame, names: Mapping[int, str], bin_s: float, end_s: float
) -> pl.DataFrame:
    """Reduce paired packets to bytes per flow and bin.

    names maps destination ports to flows; other ports are left out. Columns: t_s (start of the
    bin), flow, sent_bytes (Ethernet frames as they leave the sender: what the paper's tcpdump
    saw), sent_bps, and behind the bottleneck wire_bytes, rate_bps, payload_bytes, and drops and
    marks. Every flow has every bin of [0, end_s).
    """
    bin_us = round(bin_s * 1e6)
    known = packets.with_columns(named("port", names)).drop_nulls("flow")
    wire_bytes = pl.sum("wire_bytes")
    sums = {
        "sent_us": {"sent_bytes": wire_bytes, "sent_bps": wire_bytes * 8 / bin_s},
        "out_us": {
            "wire_bytes": wire_bytes,
            "rate_bps": wire_bytes * 8 / bin_s,
            "payload_bytes": pl.sum("payload_bytes"),
            "marks": pl.sum("marked").cast(pl.Int64),
        },
        "in_us": {"drops": pl.col("out_us").null_count().cast(pl.Int64)},
    }
    flows = pl.DataFrame({"flow": list(dict.fromkeys(names.values()))})
    table = _bins(bin_s, end_s).join(flows, how="cross")
    for time, columns in sums.items():
        part = known.group_by("flow", bin=pl.col(time) // bin_us).agg(**columns)
        table = table.join(part, on=["flow", "bin"], how="left")
    return table.select(pl.exclude("bin", "marks"), "marks").fill_null(0).sort("t_s", "flow")


def packet_table(packets: pl.DataFrame, port: int, end_s: float) -> pl.DataFrame:
    """Return one row per packet to a port that reached the bottleneck in [0, end_s).

    Columns: t_s, when it did, and queue_ms, its queueing delay; null if it was dropped.
    """
    within = pl.col("in_us").is_between(0, end_s * 1e6, "left")
    own = packets.filter((pl.col("port") == port) & within)
    return own.select(
        t_s=pl.col("in_us") / 1e6, queue_ms=(pl.col("out_us") - pl.col("in_us")) / 1e3
    ).sort("t_s", maintain_order=True)


def rates_end_s(rates: pl.DataFrame, bin_s: float) -> float:
    """Return where the last bin of a rate_table() ends: when its run was over, in seconds."""
    return float(rates["t_s"].max()) + bin_s  # type: ignore[arg-type]


def connection_table(packets: pl.DataFrame, port: int, end_s: float) -> pl.DataFrame:
    """Return one row per connection to a port that began before end_s, in order.

    Columns: start_s, when its first packet was sent; end_s, when the last with payload left the
    bottleneck, null if none did; payload_bytes behind the bottleneck, with what was sent twice.
    Connections are told apart by the source's port, and by a silence of TIME_WAIT_S, before
    which the source does not use it again.
    """
    payload = pl.col("payload_bytes") > 0
    again = (pl.col("sent_us").diff() >= TIME_WAIT_S * 1e6).fill_null(value=False)
    return (
        packets.filter(pl.col("port") == port)
        .sort("source", "sent_us")
        .with_columns(use=again.cum_sum().over("source"))  # of the port
        .group_by("source", "use")
        .agg(
            start_s=pl.col("sent_us").min() / 1e6,
            end_s=pl.col("out_us").filter(payload).max() / 1e6,
            payload_bytes=pl.col("payload_bytes").filter(pl.col("out_us").is_not_null()).sum(),
        )
        .filter(pl.col("start_s") < end_s)
        .sort("start_s")
        .drop("source", "use")
    )


def queue_table(packets: pl.DataFrame, bin_s: float, end_s: float) -> pl.DataFrame:
    """Reduce paired packets to the queue at the bottleneck per bin.

    Columns: t_s (start of the bin), queue_ms (mean queueing delay of the packets that arrive in
    the bin; 0 without any), queue_max_ms, queue_packets (mean occupancy, from those packets' time
    in the queue by Little's law), drops.
    """
    bin_us = round(bin_s * 1e6)
    delay_us = pl.col("out_us") - pl.col("in_us")
    measured = packets.group_by(bin=pl.col("in_us") // bin_us).agg(
        queue_ms=(delay_us.mean() / 1e3).round(4),
        queue_max_ms=(delay_us.max() / 1e3).round(4),
        queue_packets=(delay_us.sum() / bin_us).round(4),
        drops=pl.col("out_us").null_count().cast(pl.Int64),
    )
    table = _bins(bin_s, end_s).join(measured, on="bin", how="left")
    return table.drop("bin").fill_null(0).sort("t_s")
