# SPDX-License-Identifier: GPL-2.0-only
"""Shares of the bottleneck, while others compete and while nobody does.

A bin of the rate table counts as *contended* if at least one cross flow was active throughout,
as *alone* if none was active at any time; in both cases only if the flow in question was
transferring throughout, and if the last change (a cross flow or the flow itself starting or
ending) is at least GUARD_S before it. A share is the mean rate over such bins, in bytes on the
wire, divided by the rate of the link: the background's bytes are nobody's share.
"""

from collections.abc import Sequence
from typing import Literal

import polars as pl

from dalbe_testbed.study.results import Window

GUARD_S = 2.0

Phase = Literal["contended", "alone", "between"]


def phase_table(
    rates: pl.DataFrame, bin_s: float, transfer: Window, cross: Sequence[Window]
) -> pl.DataFrame:
    """Return t_s and phase of every bin of a rate table; "between" does not count."""
    start, end = pl.col("t_s"), pl.col("t_s") + bin_s
    changes_s = [transfer.start_s, *(t for flow in cross for t in (flow.start_s, flow.end_s))]
    changed = pl.any_horizontal((start - GUARD_S < t) & (end > t) for t in changes_s)
    inside = (start >= transfer.start_s) & (end <= transfer.end_s)
    busy = pl.any_horizontal(
        pl.lit(value=False), *((start >= flow.start_s) & (end <= flow.end_s) for flow in cross)
    )
    phase = pl.when(busy).then(pl.lit("contended")).otherwise(pl.lit("alone"))
    counts = pl.when(inside & ~changed).then(phase).otherwise(pl.lit("between"))
    return rates.select(start.unique().sort()).with_columns(phase=counts)


def share(
    rates: pl.DataFrame, table: pl.DataFrame, phase: Phase, flow: str, rate_bps: float
) -> float | None:
    """Return a flow's share of the link in a phase, 0 to 1; None without any bin of it."""
    rows = rates.filter(flow=flow).join(table, on="t_s").filter(phase=phase)
    mean = rows["rate_bps"].mean()
    return None if mean is None else float(mean) / rate_bps  # type: ignore[arg-type]


def goodput_bps(
    rates: pl.DataFrame, table: pl.DataFrame, phase: Phase, flows: list[str], bin_s: float
) -> float | None:
    """Return the flows' summed TCP payload rate in a phase, bit/s; None without any bin of it."""
    bins = table.filter(phase=phase).height
    if not bins:
        return None
    rows = rates.filter(pl.col("flow").is_in(flows)).join(table, on="t_s").filter(phase=phase)
    return float(rows["payload_bytes"].sum()) * 8 / (bins * bin_s)
