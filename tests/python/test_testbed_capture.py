# SPDX-License-Identifier: GPL-2.0-only
"""Captures of a queue whose every packet is known give exactly its rates, delays and drops."""

from pathlib import Path

import dpkt
import polars as pl
import pytest
from dalbe_testbed.errors import TestbedError
from dalbe_testbed.reduce import capture
from hypothesis import given, settings
from hypothesis import strategies as st

CLOCK_US = 1_700_000_000_000_000


def frame(
    number: int,
    port: int,
    *,
    ttl: int = 64,
    payload: int = 1000,
    ipv6: bool = False,
    source: int = 4000,
) -> bytes:
    udp = dpkt.udp.UDP(sport=source, dport=port, ulen=8 + payload)
    udp.data = number.to_bytes(4, "big") + bytes(payload - 4)
    if ipv6:
        ip = dpkt.ip6.IP6(src=bytes(16), dst=bytes(15) + b"\1", hlim=ttl, nxt=17, plen=8 + payload)
        ip.data = udp
        return bytes(dpkt.ethernet.Ethernet(data=bytes(ip), type=0x86DD))
    ip = dpkt.ip.IP(src=b"\x0a\0\1\1", dst=b"\x0a\0\2\1", p=17, ttl=ttl, id=number & 0xFFFF)
    ip.data = udp
    ip.len = 28 + payload
    return bytes(dpkt.ethernet.Ethernet(data=bytes(ip), type=0x0800))


def write(path: Path, packets: list[tuple[int, bytes]]) -> Path:
    with path.open("wb") as file:
        writer = dpkt.pcap.Writer(file, snaplen=96)
        for time_us, data in packets:
            writer.writepkt(data[:96], ts=(CLOCK_US + time_us) / 1e6)
    return path


DELAY_US = 2000


def paired(tmp_path: Path, sent: list, left: list) -> pl.DataFrame:
    return capture.pair(
        capture.read(write(tmp_path / "sent", sent), CLOCK_US),
        capture.read(write(tmp_path / "left", left), CLOCK_US),
        DELAY_US,
    )


@pytest.mark.parametrize("ipv6", [False, True])
def test_delay_drop_and_size_of_every_packet(tmp_path: Path, ipv6: bool):
    sent = [(t * 1000, frame(t, 5001, ipv6=ipv6)) for t in range(10)]
    left = [(t * 1000 + 9000, frame(t, 5001, ttl=63, ipv6=ipv6)) for t in range(10) if t != 4]
    packets = paired(tmp_path, sent, left)
    assert packets.height == 10
    delays = (packets["out_us"] - packets["in_us"]).to_list()
    assert [d for d in delays if d is None] == [None]
    assert delays[4] is None
    assert all(abs(d - 7000) <= 1 for d in delays if d is not None)
    assert set(packets["payload_bytes"]) == {1000}
    assert set(packets["wire_bytes"]) == {1000 + 8 + (40 if ipv6 else 20) + 14}


def test_tables(tmp_path: Path):
    sent = [(t * 100_000 + 1, frame(t, 5001 + t % 2)) for t in range(20)]
    left = [(t * 100_000 + 7001, frame(t, 5001 + t % 2, ttl=63)) for t in range(20) if t != 3]
    packets = paired(tmp_path, sent, left)
    rates = capture.rate_table(packets, {5001: "even", 5002: "odd"}, 0.5, 2.0)
    assert rates.height == 2 * 4
    even = rates.filter(flow="even")
    assert even["payload_bytes"].to_list() == [3000, 2000, 3000, 2000]
    assert even["sent_bytes"].to_list() == [3126, 2084, 3126, 2084]
    assert even["rate_bps"][0] == 3 * 1042 * 8 / 0.5
    odd = rates.filter(flow="odd")
    assert odd["drops"].to_list() == [1, 0, 0, 0]
    assert odd["sent_bytes"][0] - odd["wire_bytes"][0] == 1042
    queue = capture.queue_table(packets, 0.5, 2.5)
    assert queue["queue_ms"].to_list() == pytest.approx([5, 5, 5, 5, 0], abs=0.002)
    assert queue["drops"].sum() == 1
    assert queue["queue_packets"][1] == pytest.approx(5 * 5 / 500, abs=0.001)


def test_the_packets_of_a_port(tmp_path: Path):
    sent = [(t * 1000, frame(t + 9, 5001 + t % 2)) for t in range(-6, 12)]
    left = [(t + 5000, frame) for (t, frame) in sent if t != 4000]
    table = capture.packet_table(paired(tmp_path, sent, left), 5001, 0.01)
    assert table["t_s"].to_list() == pytest.approx([0, 0.002, 0.004, 0.006, 0.008], abs=2e-6)
    delays = table["queue_ms"].to_list()
    assert delays[3] is None  # sent at 4 ms
    assert [d for d in delays if d] == pytest.approx([3] * 4, abs=0.002)


def test_connections_are_told_apart_by_the_source(tmp_path: Path):
    sent = [(t * 1000, frame(t, 5001, source=4000 + t // 10)) for t in range(20)]
    sent += [(25_000, frame(99, 5001, source=4002, payload=4)), (1500, frame(98, 5002))]
    left = [(t + 5000, data) for (t, data) in sent if t != 19_000]
    table = capture.connection_table(paired(tmp_path, sent, left), 5001, 0.015)
    assert table.columns == ["start_s", "end_s", "payload_bytes"]
    assert table["start_s"].to_list() == pytest.approx([0, 0.010])
    assert table["end_s"].to_list() == pytest.approx([0.014, 0.023], abs=2e-6)
    assert table["payload_bytes"].to_list() == [10_000, 9000]


def test_a_port_that_is_used_again_is_another_connection(tmp_path: Path):
    times_s = [0, 1, 50, 111, 112]
    sent = [(t * 1_000_000, frame(t, 5001, source=4000)) for t in times_s]
    left = [(t + 5000, data) for (t, data) in sent]
    table = capture.connection_table(paired(tmp_path, sent, left), 5001, 200)
    assert table["start_s"].to_list() == pytest.approx([0, 111])
    assert table["end_s"].to_list() == pytest.approx([50.005, 112.005], abs=2e-6)
    assert table["payload_bytes"].to_list() == [3000, 2000]


def test_a_packet_from_nowhere_is_an_error(tmp_path: Path):
    with pytest.raises(TestbedError, match="the captures do not fit"):
        paired(tmp_path, [(0, frame(1, 5001))], [(5, frame(2, 5001))])


def test_not_a_capture(tmp_path: Path):
    (tmp_path / "x").write_bytes(b"not a capture, but long enough for a header")
    with pytest.raises(TestbedError, match="not a packet capture"):
        capture.read(tmp_path / "x")


def test_a_capture_that_ends_within_a_packet_ends_there(tmp_path: Path):
    path = write(tmp_path / "x", [(t, frame(t, 5001)) for t in range(5)])
    path.write_bytes(path.read_bytes()[:-10])
    assert capture.read(path).height == 4


def test_a_mark_is_the_bottlenecks_own(tmp_path: Path):
    def ecn(data: bytes, codepoint: int) -> bytes:
        return data[:15] + bytes([codepoint]) + data[16:]

    sent = [(t, ecn(frame(t, 5001), codepoint)) for t, codepoint in enumerate((2, 2, 3))]
    left = [(5000 + t, ecn(frame(t, 5001, ttl=63), c)) for t, c in enumerate((2, 3, 3))]
    assert paired(tmp_path, sent, left)["marked"].to_list() == [False, True, False]


def test_flows_may_overtake_each_other(tmp_path: Path):
    sent = [(0, frame(1, 5001)), (10, frame(2, 5002)), (20, frame(3, 5001))]
    left = [(3000, frame(2, 5002)), (4000, frame(1, 5001)), (5000, frame(3, 5001))]
    packets = paired(tmp_path, sent, left)
    assert packets["out_us"].to_list() == [4000, 3000, 5000]


def test_packets_that_look_alike_are_paired_in_order(tmp_path: Path):
    sent = [(t, frame(1, 5001)) for t in (0, 10, 20)]
    left = [(t, frame(1, 5001, ttl=63)) for t in (3000, 4000)]
    assert paired(tmp_path, sent, left)["out_us"].to_list() == [3000, 4000]


@settings(max_examples=50)
@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_whatever_is_dropped_is_found(fate: list[bool]):
    def packets(times: list[tuple[int, int]]) -> pl.DataFrame:
        return pl.DataFrame(
            {
                "time_us": [time for time, _ in times],
                "key": [number for _, number in times],
                "source": 1,
                "port": 1,
                "protocol": capture.UDP,
                "wire_bytes": 100,
                "payload_bytes": 50,
                "ce": False,
            },
            schema_overrides={"time_us": pl.Int64, "key": pl.UInt64},
        )

    sent = packets([(n, n) for n in range(len(fate))])
    left = packets([(n + 10, n) for n, kept in enumerate(fate) if kept])
    pairs = capture.pair(sent, left, 3)
    last = max((n for n, kept in enumerate(fate) if kept), default=-1)
    assert pairs["out_us"].to_list() == [n + 10 if fate[n] else None for n in range(last + 1)]
    assert pairs["in_us"].to_list() == [n + 3 for n in range(last + 1)]
