# SPDX-License-Identifier: GPL-2.0-only
"""Shares of the bottleneck, while others compete and while nobody does.

A bin of the rate table counts as *contended* if at least one cross flow was active throughout,
as *alone* if none was active at any time; in both cases only if the flow in question was
transferring throughout, and if the last change (a cross flow or the flow itself starting or
ending) is at least GUARD_S before it. A share is the mean rate over such bins, in bytes on the
wire, divided by the rate of the link: the background's bytes are nobody's share.
"""

from typing import Literal

import polars as pl

from dalbe_testbed.study.results import Window

GUARD_S = 2.0

Phase = Literal["contended", "alone", "between"]


def phases(bins_s: list[float], bin_s: float, transfer: Window, cross: list[Window]) -> list[Phase]:
    """Return the phase of each bin, given by its start; "between" does not count."""
    changes = sorted([transfer.start_s, *(t for flow in cross for t in (flow.start_s, flow.end_s))])
    result: list[Phase] = []
    for start in bins_s:
        end = start + bin_s
        inside = start >= transfer.start_s and end <= transfer.end_s
        settled = not any(start - GUARD_S < change < end for change in changes)
        if not (inside and settled):
            result.append("between")
        elif any(flow.start_s <= start and flow.end_s >= end for flow in cross):
            result.append("contended")
        else:
            result.append("alone")
    return result


def phase_table(
    rates: pl.DataFrame, bin_s: float, transfer: Window, cross: list[Window]
) -> pl.DataFrame:
    """Return t_s and phase of every bin of a rate table."""
    bins = rates["t_s"].unique().sort().to_list()
    return pl.DataFrame({"t_s": bins, "phase": phases(bins, bin_s, transfer, cross)})


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
