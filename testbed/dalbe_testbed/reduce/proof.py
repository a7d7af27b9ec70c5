# SPDX-License-Identifier: GPL-2.0-only
"""The proof that the link was what the experiment says. Without it a run is no result."""

import itertools
import json
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from dalbe_testbed.errors import TestbedError
from dalbe_testbed.plan.link import FRAME_BYTES, Link
from dalbe_testbed.plan.schedule import FLOOD_PORT, PEER, PlannedFlow

RATE_TOLERANCE = 0.02  # of the configured rate
RTT_TOLERANCE_MS = 0.5
LOSS_BASED = ("cubic", "reno")
# A greedy loss-based flow that shares a FIFO for as long as this fills it.
CONTENDED_S, UTILISED = 60.0, 0.95
# The bottleneck's queue and, if it has bands, their queues: as dumbbell.sh numbers them.
QUEUE_HANDLES = ("10:", "11:", "12:")
CLOCK_US = 1  # what captures know of times
# Of packets of high priority that waited. None in virtual time; clocks of real kernels jitter.
OVERTAKEN = 0.02
IMPAIRED = ("port1", "port2")  # the bridge's, towards the receivers
ACKS = "uplink"  # and back
UNLIKELY = 1e-9  # a loss that chance makes in no run of a lifetime


@dataclass(frozen=True)
class Impairment:
    """netem's last settings for a port, and how many packets it lost there."""

    loss: float  # probability
    delay_ms: float  # mean; uniform, by at most jitter_ms more or less
    jitter_ms: float
    packets: int
    lost: int
    slot_ms: float = 0.0


@dataclass(frozen=True)
class LinkProof:
    """Measurements of the link before and during a run."""

    rate_bps: float  # behind the bottleneck, of the CBR flood that precedes T=0; or acknowledged
    base_rtt_ms: Mapping[str, float]  # per sender, of a ping on the idle link
    queue: str  # the bottleneck's queue disciplines and limits, as the kernel reports them
    uncaptured: int  # packets that tcpdump lost: each would pass for a drop
    largest_frame_bytes: int | None  # at the senders, behind the bottleneck: no super-packets
    drops: int | None  # at the bottleneck since T=0; None: there were no captures, as above
    marks: int | None  # CE by the bottleneck since T=0
    overtaken: float | None = None  # strict_priority: the share that overtaken() returns
    impairments: Mapping[str, Impairment] | None = None  # behind the bottleneck, by port; of ACKs
    reverse_queue: str | None = None  # of the bottleneck for what comes back, as `queue`
    reverse_bytes: int | None = None  # that it carried


def flood_rate_bps(packets: pl.DataFrame) -> float:
    """Return the rate of the flood behind the bottleneck, once the queue is full; 0 if none."""
    flood = packets.filter(pl.col("port") == FLOOD_PORT).drop_nulls("out_us").sort("out_us")
    steady = flood.slice(flood.height // 4)
    if steady.height < 2:  # noqa: PLR2004 (no interval without two ends)
        return 0.0
    times = steady["out_us"]
    return int(steady["wire_bytes"][1:].sum()) * 8e6 / int(times[-1] - times[0])


def most_bps(acked: pl.DataFrame) -> float:
    """Return the most payload that was acknowledged in a second; 0 if there was none.

    acked: as tcpinfo.acknowledged() has it.
    """
    seconds = acked.group_by(pl.col("out_us") // 10**6).agg(pl.sum("payload_bytes"))
    return float(8 * int(seconds["payload_bytes"].max() or 0))  # type: ignore[arg-type]


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


def _report(path: Path) -> list[dict[str, Any]]:
    """Read what tc reported; nothing if it was not asked."""
    return json.loads(path.read_text()) if path.exists() else []


def _queue(qdiscs: Sequence[Mapping[str, Any]]) -> str:
    """Say what the bottleneck's queue is by tc's report of its device."""
    parts = []
    for item in sorted(qdiscs, key=lambda item: str(item.get("handle"))):
        if item.get("handle") in QUEUE_HANDLES:
            size = "bands" if item["kind"] == "prio" else "limit"
            parts.append(f"{item['kind']} {size} {item['options'][size]}")
    return ", ".join(parts) or "none"


def overtaken(packets: pl.DataFrame, low_ports: Collection[int]) -> float:
    """Return of how many packets of high priority, 0 to 1, one of low priority went ahead.

    Of those that waited; low_ports are the destination ports of the others. 0 if none waited.
    """
    left = packets.drop_nulls("out_us")
    is_low = pl.col("port").is_in(low_ports)
    low_us = left.filter(is_low)["out_us"].sort().to_numpy()
    high = left.filter(~is_low & (pl.col("out_us") > pl.col("in_us")))
    # what leaves within a microsecond, as far as clocks tell, left first
    before = np.searchsorted(low_us, high["in_us"].to_numpy() + CLOCK_US, "right")
    after = np.searchsorted(low_us, high["out_us"].to_numpy(), "left")
    return float((after > before).mean()) if high.height else 0.0


def _impairments(qdiscs: Sequence[Mapping[str, Any]]) -> dict[str, Impairment]:
    """Read tc's report of the bridge behind the bottleneck."""
    found = {}
    for item in qdiscs:
        if item["kind"] != "netem" or item["dev"] not in (*IMPAIRED, ACKS):
            continue
        delay = item["options"].get("delay", {"delay": 0.0, "jitter": 0.0})
        found[str(item["dev"])] = Impairment(
            loss=item["options"].get("loss-random", {"loss": 0.0})["loss"],
            delay_ms=delay["delay"] * 1e3,
            jitter_ms=delay["jitter"] * 1e3,
            packets=item["packets"] + item["qlen"] + item["drops"],
            lost=item["drops"],
            slot_ms=item["options"].get("slot", {"min-delay": 0.0})["min-delay"] * 1e3,
        )
    return found


def measure(
    packets: pl.DataFrame,
    records: Path,
    low_ports: Collection[int] | None = None,
    *,
    captured: bool = True,
) -> LinkProof:
    """Collect the proof from the paired captures and the guest's records.

    low_ports: destination ports of low priority; None if the queue knows no priorities.
    captured: whether `packets` are such; else tcpinfo.acknowledged()'s.
    """
    bridge, reverse = (_report(records / f"{name}.json") for name in ("impairment", "reverse"))
    during = packets.filter(pl.col("in_us") >= 0)
    return LinkProof(
        rate_bps=round(flood_rate_bps(packets) if captured else most_bps(packets), 1),
        base_rtt_ms={host: ping_ms((records / f"ping.{host}").read_text()) for host in PEER},
        queue=_queue(_report(records / "qdisc.json")),
        uncaptured=sum(map(uncaptured, records.glob("*.pcap.log"))),
        largest_frame_bytes=int(packets["wire_bytes"].max() or 0) if captured else None,  # type: ignore[arg-type]
        drops=int(during["out_us"].null_count()) if captured else None,
        marks=int(during["marked"].sum()) if captured else None,
        impairments=_impairments(bridge) if bridge else None,
        reverse_queue=_queue(reverse) if reverse else None,
        reverse_bytes=reverse[0]["bytes"] if reverse else None,
        overtaken=None if low_ports is None else round(overtaken(during, low_ports), 4),
    )


def fills_its_queue(flows: Sequence[PlannedFlow], end_s: float) -> tuple[float, float] | None:
    """Return when, from and to in s, a greedy loss-based flow competes with the other sender.

    None if that is never so for CONTENDED_S.
    """
    for a, b in itertools.permutations(flows, 2):
        start = max(a.start_s, b.start_s)
        stop = min(end_s, *(planned.stop_s or planned.start_s for planned in (a, b)))
        greedy = a.flow.cc in LOSS_BASED and a.flow.kind == "iperf"
        if greedy and a.flow.host != b.flow.host and stop - start >= CONTENDED_S:
            return start, stop
    return None


def _hides_its_queue(packets: pl.DataFrame, link: Link, span: tuple[float, float]) -> bool:
    """Whether a FIFO dropped nothing although it was fed all that it could carry.

    With random loss nobody knows: that may keep greedy flows below the buffer's size.
    """
    inside = packets.filter(pl.col("in_us").is_between(span[0] * 1e6, span[1] * 1e6))
    carried = int(inside.drop_nulls("out_us")["wire_bytes"].sum()) * 8
    used = carried / ((span[1] - span[0]) * link.rate_bps)
    return link.fifo and not link.loss and used >= UTILISED and inside["out_us"].null_count() == 0


def _impairments_due(link: Link) -> dict[str, tuple[float, float, float, float]]:
    """Return loss, delay, jitter and slot (ms) that each port's netem must have in the end."""
    due = {}
    if link.impairment_words():
        jitter_ms = round((link.jitter_ms or 0.0) * 1e3) / 1e3
        extra_ms = link.detour.extra_us(math.inf) / 1e3 if link.detour else 0.0
        due = dict.fromkeys(IMPAIRED, (link.loss or 0.0, jitter_ms + extra_ms, jitter_ms, 0.0))
    if link.ack_words:
        slot_ms = round((link.ack_slot_ms or 0.0) * 1e3) / 1e3
        due[ACKS] = (link.ack_loss or 0.0, link.acks_delay_us / 1e3, 0.0, slot_ms)
    return due


def _impairment_faults(proof: LinkProof, link: Link) -> Iterator[str]:
    """Yield what is wrong with impairments: netem's settings, and the packets it lost."""
    for port, due in _impairments_due(link).items():
        got = (proof.impairments or {}).get(port)
        if got is None:
            yield f"no netem on {port}"
            continue
        loss, delay_ms, jitter_ms, slot_ms = due
        # tc counts time in ticks of 64 ns, and shows whole microseconds
        times_ms = (got.delay_ms, got.jitter_ms, got.slot_ms)
        if not (np.isclose(got.loss, loss) and np.allclose(times_ms, due[1:], atol=1e-3)):
            yield (
                f"{port} has {got} instead of loss {loss:g}, delay {delay_ms:g} ms, "
                f"jitter {jitter_ms:g} ms and slots of {slot_ms:g} ms"
            )
        elif got.packets and stats.binomtest(got.lost, got.packets, loss).pvalue < UNLIKELY:
            yield f"{port} lost {got.lost} of {got.packets} packets at a loss of {loss:g}"


def check(
    proof: LinkProof,
    link: Link,
    packets: pl.DataFrame,
    contended: tuple[float, float] | None,
    *,
    slow: bool = False,
) -> None:
    """Raise TestbedError if the link was not what the experiment says.

    contended: what fills_its_queue() returned. slow: the machine's own speed is part of what is
    measured, so that the link may be slower and longer, but not faster or shorter.
    """
    faults = []
    above, below = proof.rate_bps - link.rate_bps, link.rate_bps - proof.rate_bps
    if max(above, 0 if slow else below) > RATE_TOLERANCE * link.rate_bps:
        faults.append(f"rate {proof.rate_bps / 1e6:.3f} instead of {link.rate_mbps:g} Mbit/s")
    for host in PEER:
        is_ms, due_ms = proof.base_rtt_ms[host], link.base_rtt_ms(host)  # type: ignore[arg-type]
        tolerance_ms = min(RTT_TOLERANCE_MS, due_ms / 2)
        if max(due_ms - is_ms, 0 if slow else is_ms - due_ms) > tolerance_ms:
            faults.append(f"base RTT of {host} {is_ms:g} instead of {due_ms:g} ms")
    if proof.queue != link.queue_report:
        faults.append(f"queue '{proof.queue}' instead of '{link.queue_report}'")
    if proof.overtaken and proof.overtaken > OVERTAKEN:
        faults.append(f"low priority overtook {100 * proof.overtaken:.1f} % of the high packets")
    if proof.uncaptured:
        faults.append(f"tcpdump lost {proof.uncaptured} packets, which would pass for drops")
    if proof.largest_frame_bytes and proof.largest_frame_bytes > FRAME_BYTES:
        faults.append(f"a frame of {proof.largest_frame_bytes} bytes: an offload is on")
    if contended and _hides_its_queue(packets, link, contended):
        faults.append("no drop at the bottleneck although a greedy flow competed (TSQ?)")
    faults += _impairment_faults(proof, link)
    reverse = " ".join(link.reverse_words) or None
    if proof.reverse_queue != reverse:
        faults.append(f"reverse queue '{proof.reverse_queue}' instead of '{reverse}'")
    if faults:
        raise TestbedError("link check: " + "; ".join(faults))
