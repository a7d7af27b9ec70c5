# SPDX-License-Identifier: GPL-2.0-only
"""The table [link] of an experiment: the path, and what the kernel is told to make of it."""

import itertools
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from dalbe_testbed.plan.explain import Model, quoted
from dalbe_testbed.plan.red import Red

MTU_BYTES = 1500  # of IP: what the paper counts a BDP in
FRAME_BYTES = 1514  # the same with its Ethernet header: what a queue holds
REVERSE_FLOWS_MAX = 16

Host = Literal["sender", "xsender"]
Seconds = Annotated[float, Field(ge=0, le=1e6)]
Duration = Annotated[float, Field(ge=0.01, le=1e6)]
Rtt = Annotated[float, Field(ge=0.01, le=4000)]

# The queue disciplines that a key is for, with tc's defaults; RED's thresholds follow the buffer.
KEY_IS_FOR = {
    "target_ms": {"codel": 5.0, "fq_codel": 5.0, "pie": 15.0},
    "interval_ms": {"codel": 100.0, "fq_codel": 100.0},
    "tupdate_ms": {"pie": 15.0},
    "min_packets": {"red": 0.0},
    "max_packets": {"red": 0.0},
    "probability": {"red": 0.02},
}
MARKING = ("codel", "fq_codel", "pie", "red")


class Step(Model):
    """From at_s on the bottleneck has this rate; its queue holds as many packets as before."""

    at_s: Annotated[float, Field(gt=0, le=1e6)]
    rate_mbps: Annotated[float, Field(ge=0.1, le=10_000)]

    @property
    def rate_bps(self) -> int:
        """The rate in bits per second, Ethernet headers included."""
        return round(self.rate_mbps * 1e6)


class Detour(Model):
    """A longer route behind the bottleneck, which data takes for a time: to_s None: to the end."""

    extra_ms: Annotated[float, Field(gt=0, le=4000)]
    from_s: Seconds = 0
    to_s: Duration | None = None

    def _faults(self) -> Iterator[str]:
        if self.to_s is not None and self.to_s <= self.from_s:
            yield f"to_s = {self.to_s:g} is not after from_s = {self.from_s:g}"

    @property
    def changes_s(self) -> list[float]:
        """When, after T = 0, the route changes, in s."""
        return [t_s for t_s in (self.from_s, self.to_s) if t_s]

    def extra_us(self, t_s: float) -> int:
        """Return by how much the route is longer at T = t_s, in microseconds."""
        on = self.from_s <= t_s and (self.to_s is None or t_s < self.to_s)
        return round(self.extra_ms * 1e3) if on else 0


class Stall(Model):
    """A host stands still for for_ms every every_s: what arrives meanwhile comes at once then.

    Of the router, in front of its queue: so a whole path stands still.
    """

    host: Literal["sender", "xsender", "receiver", "xreceiver", "router"]
    for_ms: Annotated[float, Field(gt=0, le=10_000)]
    every_s: Annotated[float, Field(ge=0.01, le=1e6)]
    from_s: Seconds = 0

    def _faults(self) -> Iterator[str]:
        if self.for_ms >= self.every_s * 1e3:
            lengths = f"for_ms = {self.for_ms:g} is not less than every_s = {self.every_s:g}"
            yield f"{lengths}: the host would never run"

    def spans_s(self, end_s: float) -> Iterator[tuple[float, float]]:
        """Yield when the host stops, up to end_s, and when it goes on, in s after T = 0."""
        times = itertools.count(self.from_s, self.every_s)
        for begin_s in itertools.takewhile(lambda t_s: t_s < end_s, times):
            yield begin_s, begin_s + self.for_ms / 1e3


class Link(Model):
    """The path: a queue in front of a link of fixed rate, delay lines, access links."""

    rate_mbps: Annotated[float, Field(ge=0.1, le=10_000)]
    rtt_ms: Rtt
    sender_rtt_ms: Rtt | None = None
    xsender_rtt_ms: Rtt | None = None
    delay: Literal["split", "data", "acks"] = "split"
    sender_qdisc: Literal["none", "pfifo_fast", "fq", "fq_codel", "cake"] = "none"
    access_mbps: Annotated[float, Field(ge=0.1, le=100_000)] | None = None
    buffer_bdp: Annotated[float, Field(gt=0, le=100)] | None = None
    buffer_packets: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    buffer_bytes: Annotated[int, Field(ge=FRAME_BYTES, le=1_514_000_000)] | None = None
    qdisc: Literal["pfifo", "bfifo", "codel", "fq_codel", "pie", "red", "strict_priority"] = "pfifo"
    ecn: bool = False
    target_ms: Annotated[float, Field(ge=0.1, le=10_000)] | None = None
    interval_ms: Annotated[float, Field(ge=0.1, le=60_000)] | None = None
    tupdate_ms: Annotated[float, Field(ge=1, le=10_000)] | None = None
    min_packets: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    max_packets: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    probability: Annotated[float, Field(gt=0, le=1)] | None = None
    loss: Annotated[float, Field(ge=0, le=0.5)] | None = None
    jitter_ms: Annotated[float, Field(ge=0, le=1000)] | None = None
    steps: list[Step] = []  # noqa: RUF012 (pydantic copies it)
    detour: Detour | None = None
    stall: Stall | None = None
    ack_loss: Annotated[float, Field(ge=0, le=0.95)] | None = None
    ack_slot_ms: Annotated[float, Field(ge=0, le=1000)] | None = None
    reverse_flows: Annotated[int, Field(ge=0, le=REVERSE_FLOWS_MAX)] | None = None
    reverse_bottleneck: bool = False  # reverse_flows have one anyway
    offloads: bool = False

    def _faults(self) -> Iterator[str]:
        buffers = ("buffer_bdp", "buffer_packets", "buffer_bytes")
        given = [key for key in buffers if getattr(self, key) is not None]
        if len(given) != 1:
            yield (
                "give exactly one of buffer_bdp, buffer_packets and buffer_bytes, "
                f"not {' and '.join(given) or 'none'}"
            )
        for key in ("sender_rtt_ms", "xsender_rtt_ms"):
            rtt_ms = getattr(self, key)
            if rtt_ms is not None and rtt_ms < self.rtt_ms:
                yield (
                    f"{key} = {rtt_ms:g} is below rtt_ms = {self.rtt_ms:g}, which all packets "
                    "share: make rtt_ms the smaller RTT"
                )
        if self.sender_qdisc != "none" and self.access_mbps is not None:
            yield "sender_qdisc and access_mbps: an interface has one of the two; remove one"
        if self.access_mbps is not None and self.access_mbps < self.rate_mbps:
            yield (
                f"access_mbps = {self.access_mbps:g} is below rate_mbps = {self.rate_mbps:g}: "
                "the bottleneck must be the slowest link"
            )
        yield from self._stall_faults()
        yield from self._qdisc_faults()

    def _stall_faults(self) -> Iterator[str]:
        """Packets wait for a stalled host where others are delayed or impaired on their way to it.

        For the router they wait in the delay line before it.
        """
        if not self.stall:
            return
        host = self.stall.host
        if host == "router" and self.delay == "acks":
            yield "stall of router needs delay = 'split' or 'data'"
        behind = ("loss", "jitter_ms", "detour")  # the bottleneck
        before = {"sender": ("sender_rtt_ms",), "xsender": ("xsender_rtt_ms",), "router": ()}
        for key in before.get(host, behind):
            if getattr(self, key):
                yield f"stall of {host} and {key} are both on the way to it; remove one"

    def _qdisc_faults(self) -> Iterator[str]:
        for key, qdiscs in KEY_IS_FOR.items():
            if getattr(self, key) is not None and self.qdisc not in qdiscs:
                yield f"{key} is for qdisc = {quoted(qdiscs)}, not '{self.qdisc}'"
        if self.ecn and self.qdisc not in MARKING:
            yield f"ecn = true is for qdisc = {quoted(MARKING)}: '{self.qdisc}' cannot mark"
        if self.qdisc in KEY_IS_FOR["interval_ms"]:
            target_ms, interval_ms = self._own("target_ms"), self._own("interval_ms")
            if target_ms >= interval_ms:
                yield f"target_ms = {target_ms:g} must be less than interval_ms = {interval_ms:g}"
        if self.qdisc == "red" and (fault := self._red.fault(self.queue_bytes)):
            yield (
                f"qdisc = 'red' {fault}; they are min_packets = "
                f"{self._red.min_bytes / FRAME_BYTES:g}, max_packets = "
                f"{self._red.max_bytes / FRAME_BYTES:g} and {self.queue_packets}"
            )

    @property
    def rate_bps(self) -> int:
        """Rate of the bottleneck in bits per second, Ethernet headers included."""
        return round(self.rate_mbps * 1e6)

    @property
    def access_bps(self) -> int:
        """Rate of each host's own link in bits per second; 0: no limit."""
        return 0 if self.access_mbps is None else round(self.access_mbps * 1e6)

    @property
    def _rtt_us(self) -> int:
        return round(self.rtt_ms * 1e3)

    @property
    def data_delay_us(self) -> int:
        """Delay of every packet on its way to the bottleneck, in microseconds."""
        return {"split": self._rtt_us // 2, "data": self._rtt_us, "acks": 0}[self.delay]

    @property
    def acks_delay_us(self) -> int:
        """Delay of every packet on its way back, in microseconds."""
        return self._rtt_us - self.data_delay_us

    def extra_delay_us(self, host: Host) -> int:
        """Return the delay that is added on the way back to `host` alone, in microseconds."""
        return round(self.base_rtt_ms(host) * 1e3) - self._rtt_us

    def base_rtt_ms(self, host: Host) -> float:
        """Return the RTT between `host` and its receiver while all queues are empty, in ms."""
        own = self.sender_rtt_ms if host == "sender" else self.xsender_rtt_ms
        return self.rtt_ms if own is None else own

    def impairment_words(self, t_s: float = 0) -> list[str]:
        """Return what netem does to data behind the bottleneck at T = t_s, in tc(8)'s words.

        Empty if it has nothing to do in the whole run. It draws each packet's delay from
        jitter_ms +- jitter_ms. The rate, which is as good as none, is what makes it keep the
        packets in order, also where a detour ends.
        """
        jitter_us = round((self.jitter_ms or 0) * 1e3)
        delay_us = jitter_us + (self.detour.extra_us(t_s) if self.detour else 0)
        delay = ["delay", f"{delay_us}us", f"{jitter_us}us", "rate", "100gbit"]
        loss = ["loss", f"{100 * (self.loss or 0):.9g}%"]
        return [*(delay if jitter_us or self.detour else []), *(loss if self.loss else [])]

    @property
    def ack_words(self) -> list[str]:
        """netem's options for ACKs, in tc's words; empty if it only delays them.

        A slot is a moment at which all go that are due; in between none does.
        """
        slot_us = round((self.ack_slot_ms or 0) * 1e3)
        loss = ["loss", f"{100 * (self.ack_loss or 0):.9g}%"] if self.ack_loss else []
        slot = ["slot", f"{slot_us}us"] if slot_us else []
        return ["delay", f"{self.acks_delay_us}us", *loss, *slot] if loss or slot else []

    @property
    def queue_packets(self) -> int:
        """Capacity of the bottleneck's queue in packets of one MTU, at least 1.

        A BDP is rate_mbps times rtt_ms, whatever the RTT of a host, in packets of 1500 bytes.
        """
        if self.buffer_packets is not None:
            return self.buffer_packets
        if self.buffer_bytes is not None:
            return self.buffer_bytes // FRAME_BYTES
        assert self.buffer_bdp is not None
        bdp_bytes = self.rate_bps / 8 * self.rtt_ms / 1e3
        return max(1, int(bdp_bytes * self.buffer_bdp / MTU_BYTES))

    @property
    def queue_bytes(self) -> int:
        """Capacity of the bottleneck's queue in bytes, Ethernet headers included."""
        if self.buffer_bytes is not None:
            return self.buffer_bytes
        return self.queue_packets * FRAME_BYTES

    @property
    def socket_buffer_bytes(self) -> int:
        """Size that a host's socket buffers need, in bytes.

        Four times what can be in flight: the kernel counts a packet of one MTU as about twice its
        size, and holds it until its loss is repaired, which takes one more RTT.
        """
        rtt_ms = max(self.base_rtt_ms("sender"), self.base_rtt_ms("xsender"))
        return 4 * (round(self.rate_bps / 8 * rtt_ms / 1e3) + self.queue_bytes)

    @property
    def fifo(self) -> bool:
        """Whether the queue is a plain one, which drops only at its tail."""
        return self.qdisc in ("pfifo", "bfifo")

    def _own(self, key: str) -> float:
        """Return a parameter of the queue discipline: as given, or else its default."""
        given = getattr(self, key)
        return KEY_IS_FOR[key][self.qdisc] if given is None else float(given)

    @property
    def _red(self) -> Red:
        low, high = self.min_packets, self.max_packets
        return Red(
            low * FRAME_BYTES if low else max(FRAME_BYTES, self.queue_bytes // 4),
            high * FRAME_BYTES if high else self.queue_bytes * 3 // 4,
            self._own("probability"),
        )

    @property
    def qdisc_words(self) -> list[str]:
        """The bottleneck's queue in the words of tc(8): what follows `tc qdisc add ...`.

        Every parameter is said, also where it is tc's default, and whether to mark: fq_codel
        would if it were not told otherwise.
        """
        match self.qdisc:
            case "pfifo" | "bfifo":
                text = f"limit {self.queue_packets if self.qdisc == 'pfifo' else self.queue_bytes}"
            case "codel" | "fq_codel" | "pie":
                keys = [key for key, qdiscs in KEY_IS_FOR.items() if self.qdisc in qdiscs]
                times = " ".join(f"{key.removesuffix('_ms')} {self._own(key):g}ms" for key in keys)
                text = f"limit {self.queue_packets} {times} {'ecn' if self.ecn else 'noecn'}"
            case "red":
                red = self._red
                text = (
                    f"limit {self.queue_bytes} min {red.min_bytes} max {red.max_bytes} "
                    f"avpkt 1000 burst {red.burst_packets()} bandwidth {self.rate_bps}bit "
                    f"probability {red.probability:g}{' ecn' if self.ecn else ''}"
                )
            case "strict_priority":  # the band of every TOS; dumbbell.sh knows whose is the other
                return ["prio", "bands", "2", "priomap", *(["0"] * 16)]
        return [self.qdisc, *text.split()]

    @property
    def reverse_words(self) -> list[str]:
        """The queue of the reverse bottleneck, likewise; empty if there is none."""
        there = self.reverse_flows or self.reverse_bottleneck
        return ["pfifo", "limit", str(self.queue_packets)] if there else []

    @property
    def band_words(self) -> list[str]:
        """The queue of each band of strict_priority, likewise; of other disciplines empty."""
        there = self.qdisc == "strict_priority"
        return ["pfifo", "limit", str(self.queue_packets)] if there else []

    @property
    def queue_report(self) -> str:
        """Disciplines and limits of the queue and its bands, as the kernel must report them."""
        queue, band = " ".join(self.qdisc_words[:3]), " ".join(self.band_words)
        return f"{queue}, {band}, {band}" if band else queue
