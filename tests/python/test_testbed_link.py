# SPDX-License-Identifier: GPL-2.0-only
"""The proof that the link was the one that the experiment asks for."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from dalbe_testbed.errors import TestbedError
from dalbe_testbed.paths import EXPERIMENTS
from dalbe_testbed.plan import experiment, schedule
from dalbe_testbed.plan.link import Detour, Link
from dalbe_testbed.reduce import proof as link

LINK = Link(rate_mbps=10.0, rtt_ms=50.0, xsender_rtt_ms=80.0, buffer_bdp=1.0)
GOOD = link.LinkProof(
    rate_bps=9.95e6,
    base_rtt_ms={"sender": 50.1, "xsender": 80.0},
    queue="pfifo limit 41",
    uncaptured=0,
    largest_frame_bytes=1514,
    drops=100,
    marks=0,
)
BUSY = (40.0, 240.0)
PING = """\
PING 10.0.2.1 (10.0.2.1) 56(84) bytes of data.
64 bytes from 10.0.2.1: icmp_seq=1 ttl=63 time=50.0 ms
"""


def packets(*, drop: bool, gap_us: int = 1211) -> pl.DataFrame:
    """Return full frames back to back, the first in BUSY dropped or not."""
    times = pl.Series(range(0, 300_000_000, gap_us), dtype=pl.Int64)
    out = times + 1000
    lost = times.is_between(41_000_000, 41_000_000 + gap_us) if drop else times < 0
    return pl.DataFrame(
        {
            "in_us": times,
            "out_us": pl.select(pl.when(~lost).then(out)).to_series(),
            "wire_bytes": pl.Series([1514] * len(times), dtype=pl.Int64),
        }
    )


def test_a_good_link_is_accepted() -> None:
    link.check(GOOD, LINK, packets(drop=True), BUSY)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rate_bps": 9.7e6}, r"rate 9.700 instead of 10 Mbit/s"),
        ({"rate_bps": 0.0}, "rate 0.000"),
        ({"base_rtt_ms": {"sender": 0.0, "xsender": 80.0}}, "base RTT of sender 0 instead of 50"),
        ({"base_rtt_ms": {"sender": 50.0, "xsender": 50.0}}, "xsender 50 instead of 80 ms"),
        ({"queue": "pfifo limit 1000"}, "instead of 'pfifo limit 41'"),
        ({"queue": "bfifo limit 41"}, "instead of 'pfifo limit 41'"),
        ({"uncaptured": 3}, "tcpdump lost 3 packets"),
        ({"queue": "none"}, "queue 'none'"),
        ({"largest_frame_bytes": 2962}, "2962 bytes: an offload is on"),
    ],
)
def test_a_bad_link_is_no_result(change: dict[str, Any], words: str) -> None:
    with pytest.raises(TestbedError, match=words):
        link.check(dataclasses.replace(GOOD, **change), LINK, packets(drop=True), BUSY)


def test_a_slow_machine_makes_a_link_slower_and_longer_not_better() -> None:
    def check(**change: Any) -> None:
        proof = dataclasses.replace(GOOD, **change)
        link.check(proof, LINK, packets(drop=True), BUSY, slow=True)

    check(rate_bps=5e6, base_rtt_ms={"sender": 55.0, "xsender": 90.0})
    check(largest_frame_bytes=None, drops=None, marks=None)
    with pytest.raises(TestbedError, match=r"rate 10\.300 instead of 10 Mbit/s"):
        check(rate_bps=10.3e6)
    with pytest.raises(TestbedError, match="base RTT of sender 49 instead of 50"):
        check(base_rtt_ms={"sender": 49.0, "xsender": 80.0})


def test_of_a_short_path_half_an_rtt_is_no_tolerance() -> None:
    short = LINK.model_copy(update={"rtt_ms": 0.2, "xsender_rtt_ms": None})
    for rtt_ms in (0.05, 0.35):
        proof = dataclasses.replace(GOOD, base_rtt_ms={"sender": rtt_ms, "xsender": 0.2})
        with pytest.raises(TestbedError, match=r"base RTT of sender 0\.\d+ instead of 0\.2"):
            link.check(proof, short, packets(drop=True), BUSY)


def test_a_full_fifo_that_never_drops_hides_its_queue() -> None:
    with pytest.raises(TestbedError, match="TSQ"):
        link.check(GOOD, LINK, packets(drop=False), BUSY)


def test_a_queue_that_was_never_full_need_not_drop() -> None:
    link.check(GOOD, LINK, packets(drop=False, gap_us=2000), BUSY)
    link.check(GOOD, LINK, packets(drop=False), None)


# Strict priority

BANDS = Link(
    rate_mbps=10.0, rtt_ms=50.0, xsender_rtt_ms=80.0, buffer_bdp=1.0, qdisc="strict_priority"
)
LOW, HIGH = 5001, 5002


def timed(*rows: tuple[int, int, int | None]) -> pl.DataFrame:
    """Return packets of port, in_us and out_us."""
    return pl.DataFrame(rows, schema=["port", "in_us", "out_us"], orient="row")


@pytest.mark.parametrize(
    ("packets", "share"),
    [
        (timed((HIGH, 0, 10), (LOW, 0, 20), (HIGH, 20, 30)), 0.0),  # waits for its turn
        (timed((LOW, 0, 20), (HIGH, 0, 10), (HIGH, 15, 30)), 0.5),
        (timed((LOW, 0, 5), (HIGH, 0, 10), (HIGH, 1, 20)), 1.0),
        (timed((LOW, 0, None), (HIGH, 0, 10)), 0.0),  # dropped: went nowhere
        (timed((LOW, 0, 7), (HIGH, 7, 7)), 0.0),  # nobody waited
        (timed(), 0.0),
    ],
)
def test_who_went_ahead(packets: pl.DataFrame, share: float) -> None:
    assert link.overtaken(packets, [LOW]) == share


def test_a_queue_that_lets_low_priority_pass_is_no_strict_one() -> None:
    good = dataclasses.replace(
        GOOD, queue="prio bands 2, pfifo limit 41, pfifo limit 41", overtaken=0.0
    )
    link.check(good, BANDS, packets(drop=False), BUSY)
    for change, words in (
        ({"overtaken": 0.3}, r"low priority overtook 30.0 %"),
        ({"queue": "prio bands 2, pfifo limit 41"}, "queue 'prio bands 2, pfifo limit 41' instead"),
    ):
        with pytest.raises(TestbedError, match=words):
            link.check(dataclasses.replace(good, **change), BANDS, packets(drop=True), BUSY)


def test_the_queue_by_tc_s_report() -> None:
    bands = [
        {"kind": "pfifo", "handle": f"{number}:", "options": {"limit": 41}} for number in (12, 11)
    ]
    root = [{"kind": "htb", "handle": "1:", "options": {}}]
    assert link._queue(
        [*root, {"kind": "prio", "handle": "10:", "options": {"bands": 2}}, *bands]
    ) == (BANDS.queue_report)
    assert link._queue(root) == "none"


# The way back


def test_the_bottleneck_of_the_way_back() -> None:
    two_way = LINK.model_copy(update={"reverse_flows": 1})
    with pytest.raises(TestbedError, match="reverse queue 'None' instead of 'pfifo limit 41'"):
        link.check(GOOD, two_way, packets(drop=True), BUSY)
    proof = dataclasses.replace(GOOD, reverse_queue="pfifo limit 41", reverse_bytes=10**6)
    link.check(proof, two_way, packets(drop=True), BUSY)
    with pytest.raises(TestbedError, match="reverse queue 'pfifo limit 41' instead of 'None'"):
        link.check(proof, LINK, packets(drop=True), BUSY)


# Loss and jitter

WIRELESS = LINK.model_copy(update={"loss": 0.01, "jitter_ms": 5.0})
NETEM = {
    "kind": "netem",
    "options": {
        "delay": {"delay": 0.005, "jitter": 0.005},
        "loss-random": {"loss": 0.01},
    },
    "packets": 9895,
    "qlen": 5,
    "drops": 100,
}
PORTS = link._impairments([NETEM | {"dev": port} for port in ("port1", "port2", "uplink")])
PORT1 = PORTS["port1"]


def test_netem_by_tc_s_report() -> None:
    assert link.Impairment(loss=0.01, delay_ms=5, jitter_ms=5, packets=10_000, lost=100) == PORT1
    assert list(PORTS) == ["port1", "port2", "uplink"]
    only_loss = NETEM | {"dev": "port1", "options": {"loss-random": {"loss": 0.5}}}
    assert link._impairments([only_loss])["port1"].jitter_ms == 0


def test_slots_by_tc_s_report() -> None:
    slots = NETEM | {"dev": "uplink", "options": {"slot": {"min-delay": 0.02, "max-delay": 0.02}}}
    assert link._impairments([slots])["uplink"].slot_ms == 20


@pytest.mark.parametrize(
    ("delay_ms", "loss", "good"),
    [(24.999, 0.0, True), (25.0, 0.0, True), (24.99, 0.0, False), (25.0, 0.0005, False)],
)
def test_a_delay_as_tc_shows_it(delay_ms: float, loss: float, good: bool) -> None:
    slots = LINK.model_copy(update={"ack_slot_ms": 4.0})
    uplink = link.Impairment(loss, delay_ms, 0.0, packets=100, lost=0, slot_ms=4.0)
    proof = dataclasses.replace(GOOD, impairments={"uplink": uplink})
    assert (not list(link._impairment_faults(proof, slots))) == good


def test_the_proof_of_a_detour_and_of_lost_acks() -> None:
    at_last = link._impairments(
        [
            NETEM | {"dev": dev, "options": {"delay": {"delay": delay_s, "jitter": 0.0}} | more}
            for dev, delay_s, more in (
                ("port1", 0.05, {}),
                ("port2", 0.05, {}),
                ("uplink", 0.025, {"loss-random": {"loss": 0.01}}),
            )
        ]
    )
    at_last["port1"] = at_last["port2"] = dataclasses.replace(at_last["port1"], lost=0)
    longer = LINK.model_copy(update={"detour": Detour(extra_ms=50, from_s=10), "ack_loss": 0.01})
    proof = dataclasses.replace(GOOD, impairments=at_last)
    link.check(proof, longer, packets(drop=True), BUSY)
    shorter = longer.model_copy(update={"detour": Detour(extra_ms=50, to_s=10)})
    with pytest.raises(TestbedError, match=r"port1 has .* instead of loss 0, delay 0 ms"):
        link.check(proof, shorter, packets(drop=True), BUSY)
    halved = {"uplink": dataclasses.replace(at_last["uplink"], loss=0.02)}
    proof = dataclasses.replace(GOOD, impairments=at_last | halved)
    lossier = longer.model_copy(update={"ack_loss": 0.02})
    with pytest.raises(TestbedError, match=r"uplink lost 100 of 10000 packets at a loss of 0\.02"):
        link.check(proof, lossier, packets(drop=True), BUSY)


def test_an_impaired_link_is_accepted() -> None:
    proof = dataclasses.replace(GOOD, impairments=PORTS)
    link.check(proof, WIRELESS, packets(drop=False), BUSY)  # loss may keep the queue empty


@pytest.mark.parametrize(
    ("ports", "words"),
    [
        (None, "no netem on port1; no netem on port2"),
        ({"port1": PORT1}, "no netem on port2"),
        (
            PORTS | {"port2": dataclasses.replace(PORT1, loss=0.0101)},
            r"port2 has Impairment\(loss=0.0101",
        ),
        (
            PORTS | {"port2": dataclasses.replace(PORT1, jitter_ms=0)},
            "instead of loss 0.01, delay 5 ms, jitter 5 ms",
        ),
        (
            PORTS | {"port2": dataclasses.replace(PORT1, lost=0)},
            "lost 0 of 10000 packets at a loss of",
        ),
        (PORTS | {"port2": dataclasses.replace(PORT1, lost=200)}, "lost 200 of 10000"),
    ],
)
def test_an_impairment_that_is_not_there_is_no_result(
    ports: dict[str, link.Impairment] | None, words: str
) -> None:
    with pytest.raises(TestbedError, match=words):
        link.check(dataclasses.replace(GOOD, impairments=ports), WIRELESS, packets(drop=True), BUSY)


@pytest.mark.parametrize(
    ("settings", "span"),
    [
        ([], (35.0, 300.0)),  # both may start as late as 35 s; here seed 1 decides
        (["flows.cubic1.cc='vegas'", "flows.cubic2.cc='vegas'"], None),
        (["flows.cubic1.duration_s=30", "flows.cubic2.duration_s=30"], None),
        (["flows.cubic1.host='sender'", "flows.cubic2.host='sender'"], None),
    ],
)
def test_who_must_fill_the_queue(settings: list[str], span: tuple[float, float] | None) -> None:
    file = EXPERIMENTS / "cell.toml"
    flows = schedule.plan(experiment.load(file, settings), seed=1)
    got = link.fills_its_queue(flows, 300)
    if span is None:
        assert got is None
    else:
        assert got is not None
        assert got == pytest.approx(span, abs=5)


def test_what_tcpdump_lost_is_known(tmp_path: Path) -> None:
    log = tmp_path / "x.pcap.log"
    log.write_text(
        "9 packets captured\n9 packets received by filter\n7 packets dropped by kernel\n"
    )
    assert link.uncaptured(log) == 7
    log.write_text("tcpdump: listening on eth0\n")
    with pytest.raises(TestbedError, match="did not end as it should"):
        link.uncaptured(log)


def test_ping() -> None:
    assert link.ping_ms(PING) == 50.0
    assert link.ping_ms("1 packets transmitted, 0 received, 100% packet loss") == 0.0
