# SPDX-License-Identifier: GPL-2.0-only
"""How often the regime errs: stands back when alone, carries on when contended.

A flow's regime is what its last judged RTT round ended in: `regime_state` of rounds.parquet.
It holds until the flow's next round and into whatever window follows; a flow begins alone.
"""

import math
from collections.abc import Sequence

import polars as pl

from dalbe_testbed.errors import TestbedError
from dalbe_testbed.study.results import Window

ALONE = 0
"""The regime of a flow that finds nobody else on the path; in the other it holds back."""


def spans(rounds: pl.DataFrame, flows: Sequence[str], during: Window) -> pl.DataFrame:
    """Return a row per round of the flows, and one for what was before their first.

    Columns: t_s, flow, regime_state, before (the flow's regime until then) and seconds, the part of
    the window for which it held. Raises TestbedError for a flow without a round before its end.
    """
    if "regime_state" not in rounds.columns:
        raise TestbedError("rounds.parquet lacks regime_state: the module traced no regime")
    start_s, end_s = during.start_s, during.end_s
    silent = set(flows) - set(rounds.filter(pl.col("t_s") < end_s)["flow"])
    if silent:
        raise TestbedError(f"rounds.parquet: {min(silent)} has no round before {end_s:g} s")
    beginning = pl.DataFrame({"t_s": -math.inf, "flow": flows, "regime_state": ALONE})
    own = rounds.filter(pl.col("flow").is_in(flows)).select(beginning.columns)
    until = pl.col("t_s").shift(-1, fill_value=math.inf).over("flow")
    return (
        pl.concat([beginning, own], how="vertical_relaxed")
        .sort("t_s", maintain_order=True)
        .with_columns(
            pl.col("regime_state").shift(1).over("flow").alias("before"),
            (until.clip(start_s, end_s) - pl.col("t_s").clip(start_s, end_s)).alias("seconds"),
        )
    )


def yields_per_minute(rounds: pl.DataFrame, flows: Sequence[str], during: Window) -> float:
    """Return how often a flow ceased to be alone within a window, per minute and flow.

    Raises TestbedError as spans() does.
    """
    found = during.of(spans(rounds, flows, during))
    yields = found.filter(pl.col("before") == ALONE, pl.col("regime_state") != ALONE)
    return yields.height * 60 / during.length_s / len(flows)


def alone_percent(rounds: pl.DataFrame, flows: Sequence[str], during: Window) -> float:
    """Return the part of a window for which the flows were alone, their mean.

    For the rest they held back. Raises TestbedError as spans() does.
    """
    alone = spans(rounds, flows, during).filter(pl.col("regime_state") == ALONE)
    return 100 * float(alone["seconds"].sum()) / during.length_s / len(flows)
