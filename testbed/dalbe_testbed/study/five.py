# SPDX-License-Identifier: GPL-2.0-only
"""Several goals on one link: all that can be met are, and who has less time gets more.

Nobody coordinates the transfers: each has its own controller, and sees the others as competition.
More is told by the rates until the first deadline, when all are still under way: the order of the
means over the seeds must be that of the deadlines.
"""

from itertools import pairwise
from statistics import mean

import altair as alt

from dalbe_testbed.charts import Picture, Style, means
from dalbe_testbed.plan.experiment import Flow, Goal
from dalbe_testbed.plan.sweep import Point, Run, Sweep
from dalbe_testbed.study import engine
from dalbe_testbed.study.engine import Case, Finding, Found, Study, Verdict, split
from dalbe_testbed.study.goals import shown
from dalbe_testbed.study.results import Group, Results, Row, Window, rtt_ms


def transfers(point: Point) -> list[tuple[Flow, Goal]]:
    """Return the flows that have a goal, the earliest deadline first."""
    found = [(flow, flow.goal) for flow in point.experiment.flows if flow.goal]
    return sorted(found, key=lambda pair: pair[1].deadline_s)


def measure(results: Results, run: Run, _sweep: Sweep) -> list[Row]:
    """Return a row per transfer: when it was done, in parts of its window, and its early rate.

    finish is null if it was not done when the run ended; early_mbps is on the wire, from its start
    to the first deadline of all.
    """
    rates = results.table(run, "rates")
    pairs = transfers(run.point)
    first_s = pairs[0][1].deadline_s
    rows: list[Row] = []
    for flow, goal in pairs:
        start_s, finish = results.transfer(run, flow.name, goal.deadline_s)
        early = Window(start_s, start_s + first_s).mean_mbps(rates, [flow.name], "wire_bytes")
        rows.append({"deadline_s": goal.deadline_s, "finish": finish, "early_mbps": early})
    return rows


def _in_order(group: Group) -> Case:
    if not group.rows:
        return Case(f"{rtt_ms(group.point):g} ms", "no run", met=False, measured=False)
    means = [mean(some.values("early_mbps")) for some in split(group, ["deadline_s"])]
    said = ", ".join(f"{mbps:.2f}" for mbps in means) + " Mbit/s"
    met = len(means) > 1 and all(earlier > later for earlier, later in pairwise(means))
    return Case(f"{rtt_ms(group.point):g} ms", said, met, group.missing)


def _require(found: Found) -> list[Verdict]:
    points = found.sweep.points
    order = "until the first deadline, the earlier a deadline the higher the rate"
    return [
        found.judge_every("every goal is met", "finish", points, (0, 1), form=".3f"),
        found.judge(order, points, _in_order),
    ]


def draw(found: Finding) -> Picture:
    """Draw each transfer's end in parts of its window, and its rate until the first deadline."""
    runs = found.runs.with_columns(shown(found.runs["finish"])).sort("rtt", "deadline_s")
    x = alt.X("deadline_s:O").title("deadline, s")
    look: Style = {"x": x, "by": "rtt", "legend": "base RTT, ms", "apart": True}
    return alt.hconcat(
        means(runs, "finish", "done, parts of its window", 1, **look),
        means(runs, "early_mbps", "Mbit/s until the first deadline", **look),
    )


STUDY = Study(
    measure,
    _require,
    ["finish", "early_mbps"],
    about=lambda point: engine.settings(point) | {"rtt": rtt_ms(point)},
    by=["deadline_s"],
    draw=draw,
)
