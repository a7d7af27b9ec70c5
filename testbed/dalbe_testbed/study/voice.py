# SPDX-License-Identifier: GPL-2.0-only
"""Delay that a flow adds to a voice-like one: queueing delay, less that with nobody there.

Packets count from the flow's latest start on. Delays are of those that arrived; what was dropped is
lost_percent.
"""

from pathlib import Path

import polars as pl

from dalbe_testbed.charts import Style, measured
from dalbe_testbed.plan.sweep import Point, Run, Sweep
from dalbe_testbed.study import engine
from dalbe_testbed.study.engine import Against, Finding, Found, Study, Verdict
from dalbe_testbed.study.results import Results, Row
from dalbe_testbed.study.short_flows import NOBODY, check_nobody

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


def draw(found: Finding, path: Path) -> None:
    """Draw the delay that a flow adds to voice, 95th percentile and median, over the rate."""
    rows = found.summary.filter(pl.col("who") != NOBODY).sort(
        pl.col("w").is_null(), "who", "rate_mbps"
    )
    rates = rows["rate_mbps"].unique().sort().to_list()
    measures = {
        "added_p95_ms": ("95th percentile of the added delay, ms",),
        "added_median_ms": ("median of the added delay, ms",),
    }
    look: Style = {"size": (12, 4.5), "sharey": True}
    look["style"] = {"linewidth": 1.2, "linestyle": "-"}
    with measured(path, rows, measures, "who", "rate_mbps", **look) as panels:
        for axes in panels:
            axes.set(xscale="log", xlabel="rate of the bottleneck, Mbit/s")
            axes.set_xticks(rates, [f"{rate:g}" for rate in rates])
            axes.minorticks_off()
            axes.set_yscale("symlog", linthresh=1)
            axes.yaxis.set_major_formatter("{x:g}")
        fastest = max([FAST_MBPS, *rates])
        panels[0].plot([FAST_MBPS, fastest], [FAST_MS] * 2, color="black", linestyle="--")
        panels[0].plot(SLOW_MBPS, SLOW_MS, color="black", marker="_", markersize=14)
        panels[0].set_title("dashed: what is required of ours")


STUDY = Study(
    measure,
    _require,
    MEANS,
    about=lambda point: engine.settings(point) | {"rate_mbps": _rate_mbps(point)},
    against=ADDED,
    draw=draw,
)
