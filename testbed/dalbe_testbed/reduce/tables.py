# SPDX-License-Identifier: GPL-2.0-only
"""From what a guest recorded to the tables of a run, each as NAME.parquet."""

import json
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import polars as pl

from dalbe_testbed.errors import TestbedError
from dalbe_testbed.plan import schedule
from dalbe_testbed.plan.experiment import Experiment
from dalbe_testbed.plan.schedule import PEER, PlannedFlow, Stream, Transfer
from dalbe_testbed.reduce import capture, flentfile, proof, tcpinfo, trace
from dalbe_testbed.reduce.proof import LinkProof

SENT_PART = 0.5  # at least, of [voice] and [background]: their signalling may meet with loss
COUNTED = 100  # packets are due, or chance may leave out half of [background]
EARLY_S = 1.0  # that a flow must not end before its time


@dataclass(frozen=True)
class Run:
    """The results of a run: the proof of its link, and its tables, which run/runner.py lists."""

    proof: LinkProof
    tables: dict[str, pl.DataFrame]


def _ends(records: Path) -> dict[str, tuple[float, int]]:
    """Return when (s) and with which status each command of the schedule ended."""
    rows = (line.split("\t") for line in (records / "ends").read_text().splitlines())
    return {name: (int(at_us) / 1e6, int(status)) for name, at_us, status in rows}


def flow_table(
    flows: list[PlannedFlow],
    packets: pl.DataFrame,
    records: Path,
    end_s: float,
    may_starve: Collection[int],
    *,
    captured: bool = True,
) -> pl.DataFrame:
    """One row per TCP flow; end_s is null for one that was still running when the run ended.

    rsync knows when its peer has it all. iperf is in no hurry to close: its flow ends with the last
    byte that leaves the bottleneck; and it ends with status 0 where it could not even connect, so a
    flow is finished only if its bytes had left the bottleneck when the run ended. may_starve: ports
    of flows that need not get anything through. captured: else `packets` are of
    tcpinfo.acknowledged(), which lack the last half second, and a flow ends when its program does.
    """
    ends = _ends(records)
    rows = []
    for planned in flows:
        flow = planned.flow
        end, status = ends.get(flow.name, (None, None))
        own = packets.filter(pl.col("port") == planned.port)
        sent = own.drop_nulls("out_us")
        payload = sent.filter(pl.col("payload_bytes") > 0)
        if payload.is_empty() and planned.port not in may_starve:
            raise TestbedError(f"flow {flow.name} sent nothing: see {records / flow.name}.log")
        carried = int(payload["payload_bytes"].sum())
        arrived = flow.bytes is not None and (carried >= flow.bytes or not captured)
        same = records / f"{flow.name}.cmp"
        if arrived and status == 0 and same.exists() and same.read_text().strip() != "same":
            raise TestbedError(f"flow {flow.name}: the file that arrived differs from the one sent")
        if end is not None and flow.kind == "iperf" and payload.height and captured:
            end = int(payload["out_us"].max()) / 1e6  # type: ignore[arg-type]
        if end is not None and end > end_s:
            end = None
        rows.append(
            {
                "flow": flow.name,
                "host": flow.host,
                "kind": flow.kind,
                "cc": flow.cc,
                "port": planned.port,
                "start_s": planned.start_s,
                "end_s": end,
                "exit_status": status,
                "finished": arrived and status == 0 and end is not None,
                "wire_bytes": int(sent["wire_bytes"].sum()),
                "payload_bytes": carried,
                "drops": own.height - sent.height,
            }
        )
    return pl.DataFrame(rows, infer_schema_length=None)


def transfer_table(
    log: Path, clock_us: int, transfers: Sequence[Transfer], end_s: float
) -> pl.DataFrame:
    """Return one row per short transfer, in order of the schedule: start_s, bytes, end_s.

    log: what shortflows.c wrote. clock_us: CLOCK_REALTIME of T=0. end_s is null if the transfer was
    not over at that time. Raises TestbedError if the program failed or no transfer was over.
    """
    over: dict[int, tuple[float, float]] = {}
    for line in log.read_text().splitlines():
        try:
            number, *times_us = map(int, line.split("\t"))
            start_s, stop_s = ((at_us - clock_us) / 1e6 for at_us in times_us)
        except ValueError:
            raise TestbedError(f"{log}: {line}") from None
        over[number] = start_s, stop_s
    rows = []
    for number, transfer in enumerate(transfers):
        start_s, stop_s = over.get(number, (transfer.start_s, math.inf))
        rows.append((start_s, transfer.bytes, stop_s if stop_s <= end_s else None))
    schema = {"start_s": pl.Float64, "bytes": pl.Int64, "end_s": pl.Float64}
    table = pl.DataFrame(rows, schema=schema, orient="row")
    if table["end_s"].null_count() == table.height:
        raise TestbedError(f"none of {table.height} short flows was over at {end_s:g} s: see {log}")
    return table


def _other_traffic(experiment: Experiment, streams: list[Stream]) -> dict[int, str]:
    """Return what goes to which port besides the flows."""
    ports = {port: "background" for _name, _host, port in schedule.backgrounds(experiment)}
    if experiment.voice:
        ports[schedule.VOICE_PORT] = "voice"
    return ports | {stream.port: stream.name for stream in streams if stream.forward}


def _samples(records: Path, hosts: Iterable[str] = PEER) -> list[Path]:
    """Return what tcpsample wrote in the hosts, by default the senders."""
    return [records / f"tcp.{host}" for host in hosts]


def _extra_tables(
    experiment: Experiment,
    flows: list[PlannedFlow],
    streams: list[Stream],
    packets: pl.DataFrame,
    records: Path,
    clock_us: int,
    end_s: float,
) -> dict[str, pl.DataFrame]:
    """Return the tables of what only some experiments have, by name.

    Raises TestbedError if none of a stream's transfers was over.
    """
    tables = defaultdict[str, list[pl.DataFrame]](list)
    if experiment.voice:
        tables["voice"].append(capture.packet_table(packets, schedule.VOICE_PORT, end_s))
    for planned in flows:
        if planned.flow.again_s is not None:
            table = capture.connection_table(packets, planned.port, end_s)
            done = pl.col("payload_bytes") >= planned.flow.bytes
            name, end = pl.lit(planned.flow.name), pl.when(done).then("end_s")
            tables["transfers"].append(table.select(flow=name, start_s="start_s", end_s=end))
    if experiment.both_ways:  # the receivers' ends
        names = {planned.port: planned.flow.name for planned in flows}
        samples = _samples(records, PEER.values())
        tables["back"].append(tcpinfo.read(samples, clock_us, names, "sport"))
    for stream in streams:
        log = records / f"{stream.name}.log"
        table = transfer_table(log, clock_us, stream.transfers, end_s)
        if stream.name == "requests":
            tables["requests"].append(table)
        else:
            direction = pl.lit("forward" if stream.forward else "back")
            tables["web"].append(table.with_columns(direction=direction))
    return {name: pl.concat(parts) for name, parts in tables.items()}


def check_traffic(
    experiment: Experiment,
    flows: list[PlannedFlow],
    packets: pl.DataFrame,
    connections: pl.DataFrame,
    records: Path,
) -> None:
    """Raise TestbedError unless all that competes was there for as long as it was to be.

    A program that gave up early, a background that never began, and an iperf that could not have
    the congestion control it asked for, and so has the host's, would be data otherwise.
    packets, connections: as the tables are made of.
    """
    last_s, ends = float(experiment.duration_s), _ends(records)
    some, voice = experiment.background, experiment.voice
    udp = schedule.backgrounds(experiment)
    streams = [(name, port, last_s * some.packets_per_s) for name, _host, port in udp if some]
    if voice:
        whole = (last_s - voice.start_s) * voice.packets_per_s
        streams.append(("voice", schedule.VOICE_PORT, whole))
    due = {name: last_s for name, _host in schedule.reverse_flows(experiment)}
    due |= {name: last_s for name, _port, _whole in streams}
    for flow, _port, start_s in flows:
        if flow.duration_s is None:  # it may be done before, but not fail
            due[flow.name] = last_s * (ends.get(flow.name, (0.0, 0))[1] != 0)
        elif flow.bytes is None:
            due[flow.name] = min(start_s + flow.duration_s - EARLY_S, last_s)
    for name, (at_s, _status) in ends.items():
        if at_s < due.get(name, 0.0):
            raise TestbedError(f"{name} ended at {at_s:g} s: see {records}/{name}.log")
    for name, port, whole in streams if experiment.captures else []:
        sent = packets.filter(port=port).height
        if sent < SENT_PART * whole and whole >= COUNTED:
            raise TestbedError(f"{name} sent {sent} packets instead of {whole:.0f}: see {records}")
    last = dict(connections.group_by("flow").agg(pl.last("cc")).rows())
    for planned in flows:
        wanted, found = planned.flow.cc, last.get(planned.flow.name)
        if found and (found == "cubic" if wanted == "peer" else found != wanted):
            raise TestbedError(f"flow {planned.flow.name} used {found} instead of {wanted}")


def _packets(experiment: Experiment, records: Path, clock_us: int) -> pl.DataFrame:
    """Return every packet of the run, paired; times since T=0.

    Without captures what TCP's counters tell, a row for each sample of a flow.
    """
    if not experiment.captures:
        return tcpinfo.acknowledged(_samples(records), clock_us)
    sent = pl.concat(capture.read(records / f"{host}.pcap", clock_us) for host in PEER)
    left = capture.read(records / "out.pcap", clock_us)
    return capture.pair(sent, left, experiment.link.data_delay_us)


def tables_end_s(experiment: Experiment, flows: Sequence[PlannedFlow], records: Path) -> float:
    """Return when the tables of a run end, s: a whole number of bins.

    The guest goes on after `duration_s` for transfers that are not done, until `limit_s`.
    """
    ends = _ends(records)
    ended_s = max((at_s for at_s, _status in ends.values()), default=0.0)
    if any(planned.flow.bytes and planned.flow.name not in ends for planned in flows):
        ended_s = experiment.end_s
    end_s = max(experiment.duration_s, min(experiment.end_s, ended_s))
    return -(-end_s // experiment.bin_s) * experiment.bin_s


def reduce(
    experiment: Experiment, flows: list[PlannedFlow], name: str, seed: int, out: Path
) -> Run:
    """Turn what the guest recorded into the run's tables."""
    records = out / "guest"
    clock_us = int((records / "clock").read_text())
    packets = _packets(experiment, records, clock_us)
    low_ports = schedule.low_priority_ports(experiment, flows)
    captured = experiment.captures
    measured = proof.measure(packets, records, low_ports, captured=captured)
    description = {key: value for key, value in asdict(measured).items() if value is not None}
    (out / "link.json").write_text(json.dumps(description, indent=2) + "\n")
    contended = proof.fills_its_queue(flows, experiment.duration_s)
    proof.check(measured, experiment.link, packets, contended, slow=experiment.clock == "real")

    end_s = tables_end_s(experiment, flows, records)
    names = {planned.port: planned.flow.name for planned in flows}
    connections = tcpinfo.read(_samples(records), clock_us, names)
    check_traffic(experiment, flows, packets, connections, records)
    vegas = {flow.name for flow in experiment.flows if flow.cc == "dalbe_vegas"}
    streams = schedule.streams(experiment, seed)
    ports = names | _other_traffic(experiment, streams)
    queued = packets if captured else packets.clear()
    may_starve = low_ports or ()
    tables = {
        "rates": capture.rate_table(packets, ports, experiment.bin_s, end_s),
        "queue": capture.queue_table(queued, experiment.bin_s, end_s),
        "connections": connections,
        "rounds": trace.rounds(records / "trace", names),
        "control": trace.control(records / "trace", names),
        "losses": trace.losses(records / "trace", names, vegas),
        "flows": flow_table(flows, packets, records, end_s, may_starve, captured=captured),
        **_extra_tables(experiment, flows, streams, packets, records, clock_us, end_s),
    }
    for table, frame in tables.items():
        frame.write_parquet(out / f"{table}.parquet")
    of_flows = tables["rates"].filter(pl.col("flow").is_in(list(names.values())))
    flentfile.write(
        out / "run.flent.gz",
        tables | {"rates": of_flows},
        title=f"{name}, seed {seed}",
        clock_us=clock_us,
        base_rtt_ms=experiment.link.rtt_ms,
    )
    return Run(measured, tables)
