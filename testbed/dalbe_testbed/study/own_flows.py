# SPDX-License-Identifier: GPL-2.0-only
"""Fairness among flows of ours that have the link to themselves, with and without a latecomer.

Rates are TCP payload. The latecomer is the flow called so; it starts when the others have settled.
"""

from collections.abc import Sequence

import altair as alt

from dalbe_testbed.charts import Picture, Style, means
from dalbe_testbed.plan.sweep import Run, Sweep
from dalbe_testbed.study import engine
from dalbe_testbed.study.engine import Against, Finding, Found, Study, Verdict
from dalbe_testbed.study.results import Results, Row, Window
from dalbe_testbed.study.tradeoff import SETTLED_S, YARDSTICK

LATECOMER = "latecomer"
WHOLE_S, LATE_S = 60.0, 10.0
"""Use and Jain's index are over the last 60 s, the latecomer's rate over the last 10 s."""

USE_PERCENT, JAIN, LATE_PERCENT = 95.0, 0.9, 20.0
"""Required: use and Jain's index at least; the latecomer's rate off the others' mean at most."""


def jain(rates: Sequence[float]) -> float | None:
    """Return Jain's index, (sum x)^2 / (n sum x^2), 1/n to 1; None without a rate above 0."""
    squares = sum(rate * rate for rate in rates)
    return sum(rates) ** 2 / (len(rates) * squares) if squares else None


def measure(results: Results, run: Run, _sweep: Sweep) -> Row:
    """Return what a run's table of rates shows.

    jain_before: of the flows before the latecomer came. jain: of all at the end. late_percent: by
    how much the latecomer's rate exceeds the mean of the others; off_percent: the same without its
    sign. All three are null for a flow alone.
    """
    rates, what = results.table(run, "rates"), run.point.experiment
    every = [flow.name for flow in what.flows]
    others = [flow for flow in what.flows if flow.name != LATECOMER]

    def mbps(start_s: float, end_s: float, flows: Sequence[str]) -> list[float]:
        return [Window(start_s, end_s).mean_mbps(rates, [name]) for name in flows]

    end_s = what.duration_s
    at_end, before, late = mbps(end_s - WHOLE_S, end_s, every), None, None
    if LATECOMER in every:
        came_s = next(flow.start_s for flow in what.flows if flow.name == LATECOMER)
        settled_s = max(flow.latest_start_s for flow in others) + SETTLED_S
        there = [flow.name for flow in others]
        before = jain(mbps(settled_s, came_s, there)) if len(there) > 1 else None
        theirs = sum(mbps(end_s - LATE_S, end_s, there))
        (own,) = mbps(end_s - LATE_S, end_s, [LATECOMER])
        late = 100 * (own * len(there) / theirs - 1) if theirs else None
    return {
        "mbps": sum(at_end),
        USE.name: None,  # until it is compared
        "jain_before": before,
        "jain": jain(at_end) if len(every) > 1 else None,
        "late_percent": late,
        "off_percent": None if late is None else abs(late),
    }


USE = Against(
    "use_percent", "mbps", YARDSTICK, lambda own, whole: 100 * own / whole, whatever=["own_flows"]
)
"""Use in percent of the yardstick's mean rate, that of a flow alone."""


def _require(found: Found) -> list[Verdict]:
    def judged(text: str, column: str, least_flows: int, **bounds: float) -> Verdict:
        """Judge a measure's mean at every number of our flows for which it is defined."""
        points = [point for point in found.ours if len(point.experiment.flows) >= least_flows]
        return found.judge_mean(text, column, points, form="{:.3f}", **bounds)

    use = f"use by our flows alone at least {USE_PERCENT:g} % of a CUBIC flow's"
    before = f"Jain's index before a latecomer at least {JAIN:g}"
    whole = f"Jain's index over {WHOLE_S:g} s with the latecomer at least {JAIN:g}"
    late = f"latecomer on average within {LATE_PERCENT:g} % of the others' mean, in %"
    return [
        judged(use, "use_percent", 1, least=USE_PERCENT),
        judged(before, "jain_before", 3, least=JAIN),
        judged(whole, "jain", 2, least=JAIN),
        # not the mean of late_percent, in which one run's advantage makes up for another's loss
        judged(late, "off_percent", 2, most=LATE_PERCENT),
    ]


def draw(found: Finding) -> Picture:
    """Draw use, Jain's index and the latecomer's advantage over the number of flows, each run."""
    use = f"use, % of a {YARDSTICK.upper()} flow's"
    late = "latecomer above the others' mean, %"
    x = alt.X("flows:O").title("flows of ours; rings are runs, dashed what is required")
    ours, each = (table.drop_nulls("w") for table in (found.summary, found.runs))
    rings = alt.Chart(each).mark_point(filled=False, opacity=0.4).encode(x)
    look: Style = {"x": x, "by": "who", "scale": {"zero": False}}
    return alt.hconcat(
        means(ours, "use_percent", use, USE_PERCENT, **look) + rings.encode(y="use_percent"),
        means(ours, "jain", "Jain's index of all flows", JAIN, **look) + rings.encode(y="jain"),
        means(ours, "late_percent", late, -LATE_PERCENT, LATE_PERCENT, **look)
        + rings.encode(y="late_percent"),
    )


STUDY = Study(
    measure,
    _require,
    ["use_percent", "jain_before", "jain", "late_percent", "off_percent"],
    about=lambda point: engine.settings(point) | {"flows": len(point.experiment.flows)},
    against=[USE],
    draw=draw,
)
