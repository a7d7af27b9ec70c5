# SPDX-License-Identifier: GPL-2.0-only
"""From the module's tracepoints to tables: w and the rates per Tw, gradient and G per round.

A line of tracefs' trace file reads

    rsync-321  [000] .....  12.345678: dalbe_update: sport=4242 dport=8730 w_ppm=10000 ...

Fields are taken as they come: what the module adds later becomes a column. All lines of one
event have the same fields, so a table is one regular expression over one column.
"""

import re
from collections.abc import Collection, Mapping
from pathlib import Path

import polars as pl

from dalbe_testbed.errors import TestbedError
from dalbe_testbed.reduce.tcpinfo import SSTHRESH_INFINITE, named

EVENT = r"\s(\d+\.\d+): %s: (.*)$"  # time in seconds, fields
WRITTEN = re.compile(r"^# entries-in-buffer/entries-written: (\d+)/(\d+)", re.M)
STATUS = dict(enumerate(("none", "waiting", "on_track", "infeasible", "late", "done")))
CUBIC_BETA_1024 = 717  # of Linux' tcp_cubic.c
LEAST_WINDOW = 2
EMPTY = pl.DataFrame(schema={"t_s": pl.Float64, "flow": pl.String})


def _events(lines: pl.Series, event: str) -> pl.DataFrame:
    """Return time_s and text of every line of one event."""
    groups = lines.str.extract_groups(EVENT % event).struct.unnest().drop_nulls()
    return groups.select(pl.col("1").cast(pl.Float64).alias("time_s"), pl.col("2").alias("text"))


def _number(column: pl.Series) -> pl.Series:
    """Return the column as integers if it is all integers, else as it is."""
    for kind in (pl.Int64, pl.UInt64):
        numbers = column.cast(kind, strict=False)
        if numbers.null_count() == column.null_count():
            return numbers
    return column


def _fields(text: pl.Series, path: Path) -> pl.DataFrame:
    """Split key=value words into columns."""
    keys = re.findall(r"(\w+)=\S+", str(text[0]))
    pattern = "^" + " ".join(rf"{key}=(?<{key}>\S+)" for key in keys) + r"\s*$"
    table = text.str.extract_groups(pattern).struct.unnest()
    if table.null_count().sum_horizontal().item():
        raise TestbedError(f"{path}: an event that differs from the first: '{text[0]}'")
    return table.select(_number(column) for column in table)


def _read(path: Path, event: str, flows: Mapping[int, str], *columns: pl.Expr) -> pl.DataFrame:
    """Return one row per event; `columns` stand for those of the event that they are called as."""
    if not path.exists():  # the module was not loaded
        return EMPTY
    content = path.read_text()
    counts = WRITTEN.search(content)
    if counts and int(counts[1]) < int(counts[2]):
        raise TestbedError(
            f"{path}: {counts[2]} events did not fit, {counts[1]} are left: "
            "enlarge buffer_size_kb in scenario.sh"
        )
    lines = pl.Series("line", content.splitlines(), dtype=pl.String)
    events = _events(lines, event)
    if events.is_empty():
        return EMPTY
    origin = _events(lines, "tracing_mark_write").filter(pl.col("text").str.strip_chars() == "T=0")
    if origin.height != 1:
        raise TestbedError(f"{path}: {origin.height} marks 'T=0' instead of one: see scenario.sh")
    times_s = (events["time_s"] - origin["time_s"].item()).round(6).alias("t_s")
    table = _fields(events["text"], path).insert_column(0, times_s)
    return table.insert_column(1, named("dport", flows)).drop_nulls("flow").with_columns(columns)


def control(path: Path, flows: Mapping[int, str]) -> pl.DataFrame:
    """Return one row per update of w: t_s since T=0, flow, and every key of dalbe_update.

    flows maps destination ports to names; connections to other ports are left out. Units are in
    the keys; status is its name. Without a trace or an event in it there are no rows, and no
    columns but t_s and flow. Raises TestbedError if events were lost or T=0 is not marked.
    """
    status = pl.col("status")
    name = status.replace_strict(STATUS, default=status.cast(pl.String))
    return _read(path, "dalbe_update", flows, name)


def losses(path: Path, flows: Mapping[int, str], some: Collection[str] = ()) -> pl.DataFrame:
    """Return one row per loss or mark that TCP met: t_s, flow, and every key of dalbe_loss.

    episodes and answers are the connection's so far. cwnd and ssthresh, in packets, are before and
    after the answer; cwnd is 0 where it was the one to an episode before. Arguments and errors as
    of control(); raises TestbedError also if one was not answered as CUBIC would (RFC 9438, 4.6),
    but of flows `some`, which cut for some of their losses: dalbe_vegas at w = 1.
    """
    table = _read(path, "dalbe_loss", flows)
    if table.is_empty():
        return table
    most = pl.max_horizontal(LEAST_WINDOW, pl.col("cwnd") * CUBIC_BETA_1024 // 1024)
    wrong = table.filter(
        (pl.col("episodes") != pl.col("answers"))
        | ((pl.col("cwnd") > 0) & (pl.col("ssthresh") > most) & ~pl.col("flow").is_in(list(some)))
    )
    if wrong.height:
        raise TestbedError(f"{path}: a loss or a mark was not answered: {wrong.row(0, named=True)}")
    return table


def rounds(path: Path, flows: Mapping[int, str]) -> pl.DataFrame:
    """Return one row per RTT round that CDG judged: t_s, flow, and every key of dalbe_round.

    cwnd is what the round ended with and ssthresh, in packets, where a backoff cuts to: null
    before the first cut. gradient_ns is the moving average that C(4) was evaluated with,
    g_used_ns the G; backoff is the decision. Arguments and errors as of control().
    """
    ssthresh = pl.when(pl.col("ssthresh") < SSTHRESH_INFINITE).then("ssthresh")
    return _read(path, "dalbe_round", flows, pl.col("backoff").cast(pl.Boolean), ssthresh)
