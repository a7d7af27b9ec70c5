# SPDX-License-Identifier: GPL-2.0-only
"""Delay that a flow adds to a voice-like one: queueing delay, less that with nobody there.

Packets count from the flow's latest start on. Delays are of those that arrived; what was dropped is
lost_percent.
"""

from collections.abc import Callable, Sequence

import polars as pl

from dalbe_testbed.plan.sweep import Run, Sweep
from dalbe_testbed.study import engine
from dalbe_testbed.study.completion import NOBODY, check_nobody
from dalbe_testbed.study.engine import Found, Group, Row, Study, beside
from dalbe_testbed.study.results import Results
from dalbe_testbed.study.verdict import Case, Verdict

FAST_MBPS, FAST_MS = 5.0, 15.0
"""From this rate on, the 95th percentile of the added delay must be below so much."""

SLOW_MBPS, SLOW_MS = 1.0, 30.0
"""At this rate, where a full packet alone takes 12 ms, below so much."""

DELAYS = ("mean_ms", "median_ms", "p95_ms")


def measure(results: Results, run: Run, _sweep: Sweep) -> Row:
    """Return a run's queueing delays from our latest start on; null if no packet arrived.

    Raises TestbedError if nobody was somebody.
    """
    check_nobody(results, run)
    start_s = max(f.latest_start_s for f in run.point.experiment.flows if f.host == "sender")
    queue_ms = results.table(run, "voice").filter(pl.col("t_s") >= start_s)["queue_ms"]
    arrived = queue_ms.drop_nulls()
    return {
        "packets": queue_ms.len(),
        "_mean_ms": arrived.mean(),
        "_median_ms": arrived.median(),
        "_p95_ms": arrived.quantile(0.95, "linear"),
        "_lost_percent": 100 * queue_ms.null_count() / max(1, queue_ms.len()),
    }


def _compare(found: Found) -> Sequence[Group]:
    """Add by how much each delay exceeds its mean with nobody there; null without that."""
    for group in found.groups:
        base = beside(group, found.groups, NOBODY)
        for row in group.rows:
            for name in DELAYS:
                alone = base.values(f"_{name}") if base else []
                value = row[f"_{name}"]
                added = None
                if alone and value is not None:
                    added = value - sum(alone) / len(alone)
                row[f"added_{name}"] = added
            row["lost_percent"] = row["_lost_percent"]
    return found.groups


def _summary(found: Found) -> list[Row]:
    return [
        engine.settings(group.point)
        | {"rate_mbps": group.point.experiment.link.rate_mbps, "runs": len(group.rows)}
        | engine.means(group, [*(f"added_{name}" for name in DELAYS), "lost_percent"])
        for group in found.groups
    ]


def _require(found: Found) -> list[Verdict]:
    def judged(where: str, of: Callable[[float], bool], limit_ms: float) -> Verdict:
        def case(group: Group) -> Case:
            return engine.mean_case(
                f"{group.point.experiment.link.rate_mbps:g} Mbit/s",
                group.mean("added_p95_ms"),
                lambda added: added < limit_ms,
                len(found.sweep.seeds) - len(group.values("added_p95_ms")),
                f"{{}} ms, {group.mean('lost_percent')} % lost",
                "no run to compare",
            )

        points = [point for point in found.ours if of(point.experiment.link.rate_mbps)]
        text = f"p95 delay added to voice below {limit_ms:g} ms at {where}"
        return found.judge(text, points, case)

    return [
        judged(f"{FAST_MBPS:g} Mbit/s and above", lambda rate: rate >= FAST_MBPS, FAST_MS),
        judged(f"{SLOW_MBPS:g} Mbit/s", lambda rate: rate == SLOW_MBPS, SLOW_MS),
    ]


STUDY = Study(measure, _require, compare=_compare, summary=_summary)
