# SPDX-License-Identifier: GPL-2.0-only
"""A run as .flent.gz, which flent, the researchers' plotting tool, opens.

    flent -i RUN.flent.gz -f summary
    flent -i RUN.flent.gz -p totals -o totals.png
    flent --gui RUN.flent.gz

flent knows how to plot the tests that it can run. Ours poses as rrul_var, the one whose streams
have names: `totals`, `upload`, `ping`, `tcp_cwnd`, `tcp_rtt` and their variants work as they are;
plots of downloads stay empty. The queue and G, which rrul_var does not know, are in the file as
well, in the summary and in the CSV that flent writes.
"""

import gzip
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
from flent.build_info import VERSION  # type: ignore[import-untyped]
from flent.resultset import ResultSet  # type: ignore[import-untyped]

from dalbe_testbed.errors import TestbedError

TEST = "rrul_var"
NOTE = (
    "Made by dalbe's testbed, not by flent's runners. TCP upload: rate behind the bottleneck, "
    "Ethernet headers included. Ping (ms)::ICMP: what a ping would have seen, the base RTT plus "
    "the queueing delay. x is the start of a bin."
)


def _per_bin(samples: pl.DataFrame, column: str, bins: int, bin_s: float) -> list[float | None]:
    """Return the last value of the column in each of so many bins, None where there is none."""
    number = (pl.col("t_s") / bin_s + 1e-6).floor().cast(pl.Int64)
    known = samples.drop_nulls(column).sort("t_s", maintain_order=True)
    last = dict(known.select(number, pl.col(column).cast(pl.Float64)).iter_rows())
    return [last.get(index) for index in range(bins)]


def write(
    path: Path,
    tables: Mapping[str, pl.DataFrame],
    *,
    title: str,
    clock_us: int,
    base_rtt_ms: float,
) -> None:
    """Write a run as `path`, which is to end in .flent.gz. The same run gives the same bytes.

    clock_us: CLOCK_REALTIME of T=0. base_rtt_ms: of the path, both ways, without a queue. Tables:
    rates: t_s, flow, rate_bps, every flow with every bin; what sends without TCP, as the
    background, should not be among them. queue: t_s, queue_ms on the same bins. connections: as of
    tcpinfo.read(). rounds: t_s, flow and g_ns of dalbe_cdg's, as of trace.rounds().

    Raises TestbedError if the bins of rates and queue differ.
    """
    rates, queue = tables["rates"], tables["queue"]
    bins = rates["t_s"].unique().sort()
    megabits = {
        str(flow): (table.sort("t_s")["rate_bps"] / 1e6).to_list()
        for (flow,), table in rates.group_by("flow", maintain_order=True)
    }
    widths = {len(rate) for rate in megabits.values()} | {queue.height}
    if widths != {len(bins)} or len(bins) < 2:  # noqa: PLR2004 (a bin's width needs two)
        raise TestbedError(f"{path}: rates and queue have bins {sorted(widths)} of {len(bins)}")
    bin_s = round(float(bins[1] - bins[0]), 6)
    t0_s = clock_us / 1e6
    t0 = datetime.fromtimestamp(t0_s, UTC).replace(tzinfo=None)
    length_s = round(len(bins) * bin_s, 6)

    result = ResultSet(
        NAME=TEST,
        TITLE=title,
        NOTE=NOTE,
        TIME=t0,
        T0=t0,
        DATA_FILENAME=path.name,
        LENGTH=length_s,
        TOTAL_LENGTH=length_s,
        STEP_SIZE=bin_s,
        HOST="receiver",
        HOSTS=["receiver"],
        LOCAL_HOST="dalbe-testbed",
        IP_VERSION=4,
        FLENT_VERSION=VERSION,
        TEST_PARAMETERS={"bidir_streams": str(len(megabits)), "labels": ",".join(megabits)},
    )
    result.x_values = bins.to_list()
    result.raw_values = {}

    def add(name: str, units: str, values: list[float | None]) -> None:
        result.add_result(name, values)
        result.meta("SERIES_META")[name] = {"UNITS": units}

    for flow, rate in megabits.items():
        samples = tables["connections"].filter(pl.col("flow") == flow)
        upload = f"TCP upload::{flow}"
        add(upload, "Mbits/s", rate)
        times_s = (round(t0_s + t_s, 6) for t_s in bins)
        raw = [{"t": t, "dur": bin_s, "val": bps} for t, bps in zip(times_s, rate, strict=True)]
        # what flent's tcp_* plots look for, under the names of its own sampler of ss(8)
        of_tcp = samples.select(
            t=(t0_s + pl.col("t_s")).round(6),
            tcp_cwnd="cwnd_packets",
            tcp_rtt="srtt_ms",
            tcp_delivery_rate=pl.col("delivery_rate_bps") / 1e6,
        )
        result.raw_values[upload] = raw + of_tcp.to_dicts()
        add(f"cwnd::{flow}", "packets", _per_bin(samples, "cwnd_packets", len(bins), bin_s))
        add(f"srtt::{flow}", "ms", _per_bin(samples, "srtt_ms", len(bins), bin_s))
        own = tables["rounds"].filter(pl.col("flow") == flow)
        if own.height:
            own = own.with_columns(g_ms=pl.col("g_ns") / 1e6)
            add(f"G::{flow}", "ms", _per_bin(own, "g_ms", len(bins), bin_s))
    queue_ms = queue.sort("t_s")["queue_ms"]
    add("Queue (ms)", "ms", queue_ms.to_list())
    add("Ping (ms)::ICMP", "ms", (queue_ms + base_rtt_ms).round(4).to_list())

    path.write_bytes(gzip.compress(result.dumps().encode(), mtime=0))
