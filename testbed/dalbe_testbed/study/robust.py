# SPDX-License-Identifier: GPL-2.0-only
"""Deadlines where the path, the application or the others are not as usual.

Routes that change, random loss, ACKs that come late or not at all, a program that pauses, managed
queues, other competitors. A goal counts if plain CUBIC in our place, with the same seed, meets it
with ease, as in `goals`: where it does not the path, not we, would be what is judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from dalbe_testbed.plan.sweep import Point, Run, Sweep
from dalbe_testbed.study import finding, goals, verdict
from dalbe_testbed.study.finding import Finding, Row
from dalbe_testbed.study.goals import CUBIC_PART, OURS, Outcome, in_place
from dalbe_testbed.study.results import Results
from dalbe_testbed.study.verdict import Case, judge

BIN_S = 5.0
"""Width of a bin of the curves."""


@dataclass(frozen=True)
class Pair:
    """A point of ours and CUBIC's in its place: outcomes by seed; missing: seeds that lack one."""

    point: Point
    ours: Mapping[int, Outcome]
    cubic: Mapping[int, Outcome]
    missing: int

    @property
    def where(self) -> str:
        """What is the matter, and who else is there if not the usual ones."""
        return where(self.point)

    @property
    def counted(self) -> list[int]:
        """The seeds in which CUBIC meets the goal with ease."""
        return [seed for seed in self.ours if self.cubic[seed].within(CUBIC_PART)]

    @property
    def met(self) -> list[int]:
        """Those of them in which ours is met."""
        return [seed for seed in self.counted if self.ours[seed].within(1)]

    @property
    def rows(self) -> list[Row]:
        """A row per seed."""
        return [
            {"where": self.where, "seed": seed} | goals.compared(self.ours[seed], self.cubic[seed])
            for seed in self.ours
        ]


def where(point: Point) -> str:
    """Return a point's conditions in a few words: "loss0.01", "idle, longer50ms"."""
    load = [str(point.values["load"])] if "load" in point.values else []
    return ", ".join([*load, str(point.values["impairment"])])


def _window_s(sweep: Sweep) -> float:
    """Return how long the transfers have: the same at every point, with a goal or without, s."""
    (length_s,) = {
        flow.goal.deadline_s
        for point in sweep.points
        for flow in point.experiment.flows
        if flow.goal
    }
    return length_s


def _curves(results: Results, run: Run) -> pl.DataFrame:
    """Return the rates of a run in Mbit/s on the wire, ours and all others' together, by bin."""
    names = [flow.name for flow in run.point.experiment.flows]
    return (
        results.table(run, "rates")
        .filter(pl.col("flow").is_in(names))
        .with_columns(
            flow=pl.when(pl.col("flow") == OURS).then("flow").otherwise(pl.lit("others")),
            t_s=pl.col("t_s") // BIN_S * BIN_S,
        )
        .group_by("t_s", "flow")
        .agg(mbps=pl.col("wire_bytes").sum() * 8e-6 / BIN_S)
    )


def _pairs(results: Results, sweep: Sweep) -> tuple[list[Pair], pl.DataFrame]:
    """Return the pairs of points, and the mean rates of ours over time, by where and flow."""
    length_s = _window_s(sweep)
    runs = {point.name: there for point, there in results.measured(sweep)}
    outcomes = {
        point.name: {
            run.seed: goals.measure(results, run, length_s) for run in runs.get(point.name, [])
        }
        for point in sweep.points
    }
    cubic = {where(p): outcomes[p.name] for p in sweep.points if in_place(p) == "cubic"}
    pairs, curves = [], []
    for point in sweep.points:
        if in_place(point) == "cubic":
            continue
        peer, own = cubic[where(point)], outcomes[point.name]
        both = {seed: outcome for seed, outcome in own.items() if seed in peer}
        pairs.append(Pair(point, both, peer, len(sweep.seeds) - len(both)))
        for run in runs.get(point.name, []):
            curves.append(_curves(results, run).with_columns(where=pl.lit(where(point))))
    if not curves:
        return pairs, pl.DataFrame()
    means = (
        pl.concat(curves)
        .group_by("where", "flow", "t_s", maintain_order=True)
        .agg(pl.col("mbps").mean())
        .sort("where", "flow", "t_s")
    )
    return pairs, means


def _case(pair: Pair) -> Case:
    counted, met = pair.counted, pair.met
    missed = [
        "not done" if (finish := pair.ours[seed].finish) is None else f"{finish:.3f}"
        for seed in counted
        if seed not in met
    ]
    said = [f"{len(met)} of {len(counted)}", *missed]
    return Case(
        pair.where, ", ".join(said), bool(counted) and len(met) == len(counted), pair.missing
    )


def _summary(pair: Pair) -> Row:
    row: Row = {
        "where": pair.where,
        "runs": len(pair.ours),
        "count": len(pair.counted),
        "in_time": len(pair.met),
    }
    for name in ("finish", "cubic_finish", "others_mbps", "others_beside_cubic_mbps"):
        row |= finding.estimated(name, finding.numbers(pair.rows, name))
    return row


def find(results: Results, sweep: Sweep) -> Finding:
    """Measure every run, and judge the goals that count; `curves`: mean rates over time."""
    pairs, curves = _pairs(results, sweep)
    verdicts = [
        judge(
            f"every goal that CUBIC in our place meets within {CUBIC_PART:g} of the window is met",
            [_case(pair) for pair in pairs],
        )
    ]
    return Finding(
        verdict.say(verdicts),
        verdicts,
        finding.frame([row for pair in pairs for row in pair.rows]),
        finding.frame([_summary(pair) for pair in pairs if pair.ours]),
        curves,
    )
