# SPDX-License-Identifier: GPL-2.0-only
"""Several goals on one link: all that can be met are, and who has less time gets more.

Nobody coordinates the transfers: each has its own controller, and sees the others as competition.
More is told by the rates until the first deadline, when all are still under way: the order of the
means over the seeds must be that of the deadlines.
"""

from __future__ import annotations

from itertools import pairwise
from statistics import mean

from dalbe_testbed.plan.experiment import Flow, Goal
from dalbe_testbed.plan.sweep import Point, Run, Sweep
from dalbe_testbed.study import finding, verdict
from dalbe_testbed.study.finding import Finding, Row
from dalbe_testbed.study.results import Results, rtt_ms, wire_bytes
from dalbe_testbed.study.verdict import Case, Verdict, judge


def transfers(point: Point) -> list[tuple[Flow, Goal]]:
    """Return the flows that have a goal, the earliest deadline first."""
    found = [(flow, flow.goal) for flow in point.experiment.flows if flow.goal]
    return sorted(found, key=lambda pair: pair[1].deadline_s)


def _rows(results: Results, run: Run) -> list[Row]:
    """Return a row per transfer: when it was done, in parts of its window, and its early rate.

    finish is null if it was not done when the run ended; early_mbps is on the wire, from its start
    to the first deadline of all.
    """
    rates, flows = (results.table(run, name) for name in ("rates", "flows"))
    pairs = transfers(run.point)
    first_s = pairs[0][1].deadline_s
    rows: list[Row] = []
    for flow, goal in pairs:
        own = flows.filter(flow=flow.name)
        start_s = float(own["start_s"].item())
        done = own["finished"].item()
        sent = wire_bytes(rates, [flow.name], start_s, start_s + first_s)
        rows.append(
            {
                **finding.settings(run.point),
                "rtt": rtt_ms(run.point),
                "seed": run.seed,
                "deadline_s": goal.deadline_s,
                "finish": (own["end_s"].item() - start_s) / goal.deadline_s if done else None,
                "early_mbps": sent * 8e-6 / first_s,
            }
        )
    return rows


def _verdicts(points: list[tuple[Point, int, list[Row]]]) -> list[Verdict]:
    """Judge each point's rows; the number is of the runs that it lacks."""
    met, order = [], []
    for point, missing, rows in points:
        where = f"{rtt_ms(point):g} ms"
        finishes = finding.numbers(rows, "finish")
        held = sum(finish <= 1 for finish in finishes)
        last = "not all done" if len(finishes) < len(rows) else f"last {max(finishes):.3f}"
        said = f"{held} of {len(rows)}, {last}"
        met.append(Case(where, said, bool(rows) and held == len(rows), missing))
        deadlines = sorted({float(str(row["deadline_s"])) for row in rows})
        means = [
            mean(finding.numbers([row for row in rows if row["deadline_s"] == due], "early_mbps"))
            for due in deadlines
        ]
        said = ", ".join(f"{mbps:.2f}" for mbps in means) + " Mbit/s"
        ordered = all(earlier > later for earlier, later in pairwise(means))
        order.append(Case(where, said, len(means) > 1 and ordered, missing))
    return [
        judge("every goal is met", met),
        judge("until the first deadline, the earlier a deadline the higher the rate", order),
    ]


def _summary(point: Point, rows: list[Row]) -> list[Row]:
    return [
        {
            **finding.settings(point),
            "deadline_s": goal.deadline_s,
            "runs": len(here := [row for row in rows if row["deadline_s"] == goal.deadline_s]),
            **finding.estimated("finish", finding.numbers(here, "finish")),
            **finding.estimated("early_mbps", finding.numbers(here, "early_mbps")),
        }
        for _flow, goal in transfers(point)
    ]


def find(results: Results, sweep: Sweep) -> Finding:
    """Measure every transfer of every run."""
    points = []
    for point, runs in results.measured(sweep):
        rows = [row for run in runs for row in _rows(results, run)]
        points.append((point, len(sweep.seeds) - len(runs), rows))
    verdicts = _verdicts(points)
    return Finding(
        verdict.say(verdicts),
        verdicts,
        finding.frame([row for _point, _missing, rows in points for row in rows]),
        finding.frame([row for point, _missing, rows in points for row in _summary(point, rows)]),
    )
