# SPDX-License-Identifier: GPL-2.0-only
"""Delay that a flow adds to a voice-like one: queueing delay, less that with nobody there.

Packets count from the flow's latest start on. Delays are of those that arrived; what was dropped is
lost_percent.
"""

import altair as alt
import polars as pl

from dalbe_testbed.charts import Picture, Style, means
from dalbe_testbed.plan.sweep import Point, Run, Sweep
from dalbe_testbed.study import engine
from dalbe_testbed.study.engine import Against, Finding, Found, Study, Verdict
from dalbe_testbed.study.results import Results, Row
from dalbe_testbed.study.short_flows import check_nobody
from dalbe_testbed.study.tradeoff import NOBODY

FAST_MBPS, FAST_MS = 5.0, 15.0
"""From this rate on, the 95th percentile of the added delay must be below so much."""

SLOW_MBPS, SLOW_MS = 1.0, 30.0
"""At this rate, where a full packet alone takes 12 ms, below so much."""

DELAYS = ("mean_ms", "median_ms", "p95_ms")
ADDED = [
    Against(f"added_{name}", f"_{name}", NOBODY, lambda delay_ms, alone_ms: delay_ms - alone_ms)
    for name in DELAYS
]
"""By how much each delay exceeds its mean with nobody there; null without that."""

MEANS = (*(column.name for column in ADDED), "lost_percent")


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
        **dict.fromkeys(MEANS),
        "lost_percent": 100 * queue_ms.null_count() / max(1, queue_ms.len()),
        "_mean_ms": arrived.mean(),
        "_median_ms": arrived.median(),
        "_p95_ms": arrived.quantile(0.95, "linear"),
    }


def _rate_mbps(point: Point) -> float:
    return point.experiment.link.rate_mbps


def _require(found: Found) -> list[Verdict]:
    def judged(text: str, limit_ms: float, points: list[Point]) -> Verdict:
        said = f"p95 delay added to voice below {limit_ms:g} ms at {text}"
        look: Row = {
            "form": "{} ms, {} % lost",
            "also": ["lost_percent"],
            "absent": "no run to compare",
        }
        return found.judge_mean(said, "added_p95_ms", points, below=limit_ms, **look)

    fast = [point for point in found.ours if _rate_mbps(point) >= FAST_MBPS]
    slow = [point for point in found.ours if _rate_mbps(point) == SLOW_MBPS]
    return [
        judged(f"{FAST_MBPS:g} Mbit/s and above", FAST_MS, fast),
        judged(f"{SLOW_MBPS:g} Mbit/s", SLOW_MS, slow),
    ]


def draw(found: Finding) -> Picture:
    """Draw the delay that a flow adds to voice, 95th percentile and median, over the rate."""
    rows = found.summary.filter(pl.col("who") != NOBODY).sort(
        pl.col("w").is_null(), "who", "rate_mbps"
    )
    fast = pl.when(pl.col("rate_mbps") >= FAST_MBPS).then(FAST_MS)
    below = fast.when(pl.col("rate_mbps") == SLOW_MBPS).then(SLOW_MS)
    x = alt.X("rate_mbps:O").title("rate of the bottleneck, Mbit/s; bars: ours is to be below")
    look: Style = {"x": x, "by": "who", "line": True, "scale": {"type": "symlog"}}
    limits = alt.Chart(rows.with_columns(below=below)).mark_tick(color="black").encode(x, y="below")
    return alt.hconcat(
        means(rows, "added_p95_ms", "95th percentile of the added delay, ms", **look) + limits,
        means(rows, "added_median_ms", "median of the added delay, ms", **look),
    )


STUDY = Study(
    measure,
    _require,
    MEANS,
    about=lambda point: engine.settings(point) | {"rate_mbps": _rate_mbps(point)},
    against=ADDED,
    draw=draw,
)
