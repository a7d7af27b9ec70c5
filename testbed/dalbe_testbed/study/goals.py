# SPDX-License-Identifier: GPL-2.0-only
"""Goals in scenarios drawn at random: those that plain CUBIC meets with ease are to be met.

Each cell is run with our transfer, flow `ours`, and with CUBIC in its place. A cell counts if CUBIC
is done within CUBIC_PART of the window. Where there are several controllers, each is judged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from dalbe_testbed.plan.experiment import CONTROLLER_DEFAULT
from dalbe_testbed.plan.sweep import Point, Run, Sweep
from dalbe_testbed.study import finding, verdict
from dalbe_testbed.study.finding import Finding, Row
from dalbe_testbed.study.results import Results, wire_bytes
from dalbe_testbed.study.verdict import Verdict

OURS = "ours"
CUBIC_PART = 0.8
"""A goal counts that CUBIC meets within this part of the window."""

GOALS_PERCENT = 95
"""How many of those ours has to meet, at least."""


@dataclass(frozen=True)
class Outcome:
    """A run: when the transfer was done, in parts of the window, and what the others had.

    finish: None if it was not done when the run ended. others_mbps: of all of `xsender`'s flows on
    the wire, from the transfer's start to its deadline; None without any.
    """

    finish: float | None
    others_mbps: float | None

    def within(self, part: float) -> bool:
        """Return whether the transfer was done within this part of the window."""
        return self.finish is not None and self.finish <= part


def compared(ours: Outcome, cubic: Outcome) -> Row:
    """Return the columns of a goal: when it was done, by us and by CUBIC in our place."""
    return {
        "cubic_finish": cubic.finish,
        "finish": ours.finish,
        "counts": cubic.within(CUBIC_PART),
        "met": ours.within(1),
        "others_mbps": ours.others_mbps,
        "others_beside_cubic_mbps": cubic.others_mbps,
    }


def in_place(point: Point) -> str:
    """Return who sends: "dalbe" or "cubic"."""
    return str(point.values["in_place"])


def controller(point: Point) -> str:
    """Return what sets w; one that the sweep does not name is the default."""
    return str(point.values.get("controller", CONTROLLER_DEFAULT))


def window_s(point: Point) -> float:
    """Return how long the transfer has, s."""
    return float(point.values["window"])


def scenario(point: Point) -> frozenset[tuple[str, object]]:
    """Return what a run of ours and one of CUBIC in its place have in common: all but who sends."""
    who = ("in_place", "controller")
    common = {"cell": point.cell, **point.values}
    return frozenset((key, value) for key, value in common.items() if key not in who)


def measure(results: Results, run: Run, length_s: float) -> Outcome:
    """Return what a run with a window of length_s shows. Raises TestbedError without its tables."""
    rates, flows = (results.table(run, name) for name in ("rates", "flows"))
    what = run.point.experiment
    own = flows.filter(flow=OURS)
    end_s = own["end_s"].item() if own["finished"].item() else None
    start_s = float(own["start_s"].item())
    others = [flow.name for flow in what.flows if flow.host == "xsender" and flow.bytes is None]
    sent = wire_bytes(rates, others, start_s, start_s + length_s)
    return Outcome(
        None if end_s is None else (float(end_s) - start_s) / length_s,
        sent * 8e-6 / length_s if others else None,
    )


def _row(point: Point, seed: int, ours: Outcome, cubic: Outcome) -> Row:
    values = {key: value for key, value in point.values.items() if key != "in_place"}
    return {
        "cell": point.cell or point.name,
        **values,
        "controller": controller(point),
        "seed": seed,
        **compared(ours, cubic),
    }


def _miss(row: Row) -> str:
    said = ", ".join(
        f"{key} {row[key]}"
        for key in row
        if key not in ("cell", "seed", "controller", "counts", "met", "finish", "cubic_finish")
        and not key.startswith("others")
    )
    done = "not done" if row["finish"] is None else f"done at {row['finish']:.3f}"
    return f"{row['cell']}: {done}, CUBIC at {row['cubic_finish']:.3f}: {said}"


def _judge(who: str, rows: Sequence[Row], missing: int) -> Verdict:
    counted = [row for row in rows if row["counts"]]
    missed = [row for row in counted if not row["met"]]
    held = len(counted) - len(missed)
    lacks = [f"{missing} run{'s' * (missing > 1)} missing"] if missing else []
    return Verdict(
        f"{who}: {GOALS_PERCENT} % of the goals that CUBIC in our place meets within "
        f"{CUBIC_PART:g} of the window",
        bool(counted) and not missing and 100 * held >= GOALS_PERCENT * len(counted),
        "; ".join([f"{held} of {len(counted)} goals", *lacks, *map(_miss, missed)]),
    )


def _summary(rows: Sequence[Row]) -> list[Row]:
    """Return a row per controller and load: goals, those that count, are met, what others lost.

    others_percent: the mean of the others' rate beside ours, in that beside CUBIC; null without.
    """
    made: list[Row] = []
    for who, load in sorted({(str(row["controller"]), str(row["load"])) for row in rows}):
        here = [row for row in rows if (row["controller"], row["load"]) == (who, load)]
        counted = [row for row in here if row["counts"]]
        ratios = [
            100 * float(str(row["others_mbps"])) / float(str(row["others_beside_cubic_mbps"]))
            for row in counted
            if row["others_mbps"] is not None and row["others_beside_cubic_mbps"]
        ]
        made.append(
            {
                "controller": who,
                "load": load,
                "goals": len(here),
                "count": len(counted),
                "in_time": sum(bool(row["met"]) for row in counted),
                **finding.estimated("others_percent", ratios),
            }
        )
    return made


def find(results: Results, sweep: Sweep) -> Finding:
    """Measure every run, and judge the cells that count."""
    measured = {point.name: list(runs) for point, runs in results.measured(sweep)}
    cubic = {
        (scenario(point), run.seed): measure(results, run, window_s(point))
        for point in sweep.points
        if in_place(point) == "cubic"
        for run in measured.get(point.name, [])
    }
    rows: list[Row] = []
    wanted: Counter[str] = Counter()
    for point in sweep.points:
        if in_place(point) == "cubic":
            continue
        wanted[controller(point)] += len(sweep.seeds)
        for run in measured.get(point.name, []):
            if (peer := cubic.get((scenario(point), run.seed))) is not None:
                ours = measure(results, run, window_s(point))
                rows.append(_row(point, run.seed, ours, peer))
    verdicts = []
    for who, runs in wanted.items():
        made = [row for row in rows if row["controller"] == who]
        verdicts.append(_judge(who, made, runs - len(made)))
    summary = finding.frame(_summary(rows)) if rows else pl.DataFrame()
    return Finding(verdict.say(verdicts), verdicts, finding.frame(rows), summary)
