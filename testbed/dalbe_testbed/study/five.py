# SPDX-License-Identifier: GPL-2.0-only
"""Several goals on one link: all that can be met are, and who has less time gets more.

Nobody coordinates the transfers: each has its own controller, and sees the others as competition.
More is told by the rates until the first deadline, when all are still under way: the order of the
means over the seeds must be that of the deadlines.
"""

from itertools import pairwise
from pathlib import Path
from statistics import mean

from dalbe_testbed.charts import MARKERS, REQUIRED, sheet
from dalbe_testbed.plan.experiment import Flow, Goal
from dalbe_testbed.plan.sweep import Point, Run, Sweep
from dalbe_testbed.study import engine
from dalbe_testbed.study.engine import Case, Finding, Found, Study, Verdict, split
from dalbe_testbed.study.goals import LAST, shown
from dalbe_testbed.study.results import Group, Results, Row, rtt_ms, wire_bytes


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
        sent = wire_bytes(rates, [flow.name], start_s, start_s + first_s)
        row = {"deadline_s": goal.deadline_s, "finish": finish, "early_mbps": sent * 8e-6 / first_s}
        rows.append(row)
    return rows


def _in_order(group: Group) -> Case:
    means = [mean(some.values("early_mbps")) for some in split(group, ["deadline_s"])]
    said = ", ".join(f"{mbps:.2f}" for mbps in means) + " Mbit/s"
    met = len(means) > 1 and all(earlier > later for earlier, later in pairwise(means))
    return Case(f"{rtt_ms(group.point):g} ms", said, met, group.missing)


def _require(found: Found) -> list[Verdict]:
    there = [group.point for group in found.groups]
    return [
        found.judge_every("every goal is met", "finish", there, (0, 1), form=".3f"),
        found.judge(
            "until the first deadline, the earlier a deadline the higher the rate", there, _in_order
        ),
    ]


def _about(point: Point) -> Row:
    return engine.settings(point) | {"rtt": rtt_ms(point)}


def draw(found: Finding, path: Path) -> None:
    """Draw each transfer's end in parts of its window, and its rate until the first deadline."""
    rtts = found.runs["rtt"].unique().sort().to_list()
    deadlines = found.runs["deadline_s"].unique().sort().to_list()
    with sheet(path, 1, 2, size=(10, 3.8), layout="constrained") as (_figure, [[ends, rates]]):
        for n, rtt in enumerate(rtts):
            here = found.runs.filter(rtt=rtt)
            shift = 0.2 * (n - (len(rtts) - 1) / 2)
            at = [deadlines.index(due) + shift for due in here["deadline_s"]]
            look = {"s": 14, "marker": MARKERS[n % len(MARKERS)], "label": f"{rtt:g} ms"}
            ends.scatter(at, shown(here["finish"]), **look)
            rates.scatter(at, here["early_mbps"], **look)
        ends.axhline(1, **REQUIRED)
        ends.set(ylim=(0, LAST + 0.05), ylabel="done, parts of its window")
        rates.set(ylim=(0, None), ylabel="Mbit/s until the first deadline")
        for axes in (ends, rates):
            axes.set_xticks(range(len(deadlines)), [f"{due:g}" for due in deadlines])
            axes.set_xlabel("deadline, s")
            axes.legend(fontsize=8)


STUDY = Study(
    measure, _require, ["finish", "early_mbps"], about=_about, by=["deadline_s"], draw=draw
)
