# SPDX-License-Identifier: GPL-2.0-only
"""When each short transfer was done, from what shortflows.c wrote."""

import math
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from dalbe_testbed.errors import TestbedError
from dalbe_testbed.plan.shortflows import Transfer


def read(log: Path, clock_us: int, transfers: Sequence[Transfer], end_s: float) -> pl.DataFrame:
    """Return one row per transfer, in order of the schedule: start_s, bytes, end_s.

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
