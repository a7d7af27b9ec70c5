# SPDX-License-Identifier: GPL-2.0-only
"""How often the regime errs: yields when alone, carries on when contended.

A flow's regime is what its last judged RTT round ended in: `regime_state` of rounds.parquet.
It holds until the flow's next round and into whatever window follows; a flow begins alone.
"""

import math
from collections.abc import Sequence

import polars as pl

from dalbe_testbed.errors import TestbedError

ALONE = 0
"""The regime of a flow that sees nobody else's queue; in the others it holds back."""


def spans(rounds: pl.DataFrame, flows: Sequence[str], start_s: float, end_s: float) -> pl.DataFrame:
    """Return a row per round of the flows, and one for what was before their first.

    Columns: t_s, flow, regime_state, before (the flow's regime until then) and seconds, the part of
    [start_s, end_s) for which it held. Raises TestbedError for a flow without a round before end_s.
    """
    if "regime_state" not in rounds.columns:
        raise TestbedError("rounds.parquet lacks regime_state: the module traced no regime")
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


def yields_per_minute(
    rounds: pl.DataFrame, flows: Sequence[str], start_s: float, end_s: float
) -> float:
    """Return how often a flow ceased to be alone within [start_s, end_s), per minute and flow.

    Raises TestbedError as spans() does.
    """
    found = spans(rounds, flows, start_s, end_s).filter(
        pl.col("t_s").is_between(start_s, end_s, closed="left"),
        pl.col("before") == ALONE,
        pl.col("regime_state") != ALONE,
    )
    return found.height * 60 / (end_s - start_s) / len(flows)


def alone_percent(
    rounds: pl.DataFrame, flows: Sequence[str], start_s: float, end_s: float
) -> float:
    """Return the part of [start_s, end_s) for which the flows were alone, their mean.

    For the rest they held back. Raises TestbedError as spans() does.
    """
    alone = spans(rounds, flows, start_s, end_s).filter(pl.col("regime_state") == ALONE)
    return 100 * float(alone["seconds"].sum()) / (end_s - start_s) / len(flows)
