# SPDX-License-Identifier: GPL-2.0-only
"""From what tcpsample.c wrote in the senders to a table of cwnd, srtt, G and w over time."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import polars as pl

from dalbe_testbed.errors import TestbedError

TCP = 6  # IP's number of the protocol
SSTHRESH_INFINITE = 0x7FFFFFFF  # TCP_INFINITE_SSTHRESH: no cut yet
MIN_RTT_NONE = 2**32 - 1  # no RTT measured yet
NAMES = (
    *("time_us", "sport", "dport", "cc", "cwnd_packets", "ssthresh_packets"),
    *("srtt_us", "rttvar_us", "min_rtt_us", "bytes_acked", "bytes_retrans"),
    *("delivery_rate_Bps", "unacked_packets", "lost_packets"),
)
COLUMNS = dict.fromkeys(NAMES, pl.Int64) | {"cc": pl.String}


def _read_one(path: Path) -> pl.DataFrame:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise TestbedError(f"{path}: {error.strerror}: did tcpsample run?") from None
    header, _, _ = content.partition(b"\n")
    if header.decode(errors="replace").split("\t") != list(COLUMNS):
        raise TestbedError(f"{path}: not tcpsample's columns: build tcpsample anew")
    if not content.endswith(b"\n"):
        raise TestbedError(f"{path}: ends within a line: tcpsample was killed or the disk is full")
    try:
        return pl.read_csv(content, separator="\t", schema=COLUMNS, null_values="-")
    except pl.exceptions.PolarsError as error:
        raise TestbedError(f"{path}: {str(error).splitlines()[0]}") from None


def named(port: str, flows: Mapping[int, str]) -> pl.Expr:
    """Return the column `flow`: the names of the flows at these ports, null at others."""
    names = pl.col(port).replace_strict(dict(flows), default=None, return_dtype=pl.String)
    return names.alias("flow")


def acknowledged(paths: Iterable[Path], clock_us: int) -> pl.DataFrame:
    """Return what receivers acknowledged between two samples, in the form of capture.pair().

    paths, clock_us: as of read(). A row has the time of the later sample as all of its times, and
    payload alone as its bytes.
    """
    table = pl.concat([_read_one(path) for path in paths]).sort("time_us")
    time_us, acked = pl.col("time_us") - clock_us, pl.col("bytes_acked")
    new = (acked - acked.shift(1, fill_value=0)).over("sport", "dport")
    return table.select(
        sent_us=time_us,
        in_us=time_us,
        out_us=time_us,
        source=pl.col("sport").cast(pl.Int32),
        port=pl.col("dport").cast(pl.Int32),
        protocol=pl.lit(TCP, dtype=pl.Int32),
        wire_bytes=new,
        payload_bytes=new,
        marked=pl.lit(value=False),
    )


def read(
    paths: Iterable[Path], clock_us: int, flows: Mapping[int, str], port: str = "dport"
) -> pl.DataFrame:
    """Return one row per flow and sample, in order of time.

    paths: one file per sampled namespace. clock_us: CLOCK_REALTIME of T=0. flows maps destination
    ports to names; connections to other ports are left out. port: "sport" for samples of the
    receivers, whose own ports these are.

    Columns: t_s since T=0, flow, cc, cwnd_packets, ssthresh_packets (null before the first cut),
    srtt_ms, rttvar_ms, min_rtt_ms (null before the first), bytes_acked and bytes_retrans since
    the connection began, delivery_rate_bps, unacked_packets, lost_packets. The trace has
    what dalbe_cdg tells beyond these.

    Raises TestbedError if a file is missing or incomplete.
    """
    return (
        pl.concat([_read_one(path) for path in paths])
        .with_columns(named(port, flows))
        .drop_nulls("flow")
        .select(
            ((pl.col("time_us") - clock_us) / 1e6).alias("t_s"),
            pl.col("flow", "cc", "cwnd_packets"),
            pl.when(pl.col("ssthresh_packets") < SSTHRESH_INFINITE).then("ssthresh_packets"),
            (pl.col("srtt_us") / 1e3).alias("srtt_ms"),
            (pl.col("rttvar_us") / 1e3).alias("rttvar_ms"),
            (pl.col("min_rtt_us").replace(MIN_RTT_NONE, None) / 1e3).alias("min_rtt_ms"),
            pl.col("bytes_acked", "bytes_retrans"),
            (pl.col("delivery_rate_Bps") * 8).alias("delivery_rate_bps"),
            pl.col("unacked_packets", "lost_packets"),
        )
        .sort("t_s", "flow")
    )
