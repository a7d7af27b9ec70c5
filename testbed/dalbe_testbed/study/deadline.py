# SPDX-License-Identifier: GPL-2.0-only
"""Does a transfer hold its deadline, and what do others see of it, beside flows that come and go.

For the framework paper's network (`framework`): Figures 4, 5, 8 and 9. The transfer is flow `ours`,
the others are those of host `xsender`. A *span* is a time in which nobody comes or goes; its first
seconds do not count. Bytes are counted as they leave the bottleneck, headers included.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import polars as pl

from dalbe_testbed.papers import framework
from dalbe_testbed.papers.framework import TRANSFER, WINDOW_S
from dalbe_testbed.plan.sweep import Point, Run, Sweep
from dalbe_testbed.study import finding, regimes, verdict
from dalbe_testbed.study.finding import Finding, Row
from dalbe_testbed.study.results import Results, wire_bytes
from dalbe_testbed.study.verdict import Case, Verdict, judge

OURS = "ours"
JUDGED, YARDSTICK = "mbc", "cubic"
"""The controller of which something is required, the module's default; and CUBIC in its place."""

FINISH = (0.93, 1.01)
"""When a deadline that can be met is to be met, in parts of the window."""

GAP_PERCENT = 50.0
"""The least of the capacity that nobody else uses while the others are away."""

YIELD_ROUNDS = 10
"""Within so many of its own RTT rounds ours has seen that it is not alone."""

CUBIC_PARTS = (0.7, 1.1)
"""What a transfer that cannot be in time has, in every span, of what CUBIC in its place has there.

Rates are in those of the CUBIC flows beside it. CUBIC in its place does not have 1 of that in every
span: who comes last, or was there before, makes a difference of a tenth for minutes.
"""

DECLARED_TW = 3
"""After so many update intervals it is to be called infeasible."""

SETTLE_S, SHORTEST_S = 20.0, 30.0
"""What does not count of a span, and how long the rest has to be."""

CURVE_S = 5.0
"""The means that the curves are made of."""


NO_CONTROL = pl.DataFrame(
    schema={"t_s": pl.Float64, "target_Bps": pl.Int64, "w_ppm": pl.Int64, "status": pl.String}
)
"""What control.parquet holds of a run without a goal."""


@dataclass(frozen=True)
class Transfer:
    """What a run showed.

    finish: end of the transfer in parts of its window; None if it did not end. gap_percent: of what
    others left of the link in the gap; None if it was over by then. rounds: from each arrival that
    met ours alone, how many of its rounds it took to see that. parts: its rate in that of the mean
    flow beside it, by the span's number. carried: bytes until the deadline. declared_tw: intervals
    until it was called infeasible; None: never.
    """

    run: Run
    finish: float | None
    gap_percent: float | None
    rounds: list[int]
    parts: dict[int, float]
    carried: float
    declared_tw: int | None
    curves: pl.DataFrame


def infeasible(point: Point) -> bool:
    """Return whether the point's deadline cannot be met: a size that is none of the paper's."""
    return float(point.values["eta"]) not in framework.ETAS


def _others(run: Run) -> list[str]:
    return [flow.name for flow in run.point.experiment.flows if flow.host == "xsender"]


def _ends_s(flows: pl.DataFrame, name: str, otherwise: float) -> float:
    """Return when a flow ended; a flow that outlived the run has no end."""
    end = flows.filter(flow=name)["end_s"].item()
    return otherwise if end is None else float(end)


def spans(run: Run, flows: pl.DataFrame) -> Iterator[tuple[int, float, float, list[str]]]:
    """Yield number, begin and end, s, of what counts of each span, and who of the others is there.

    The number counts the comings and goings before it. From the transfer's start to its end or
    deadline, whichever is first. flows: flows.parquet.
    """
    last = run.point.experiment.duration_s
    there = {
        name: (float(flows.filter(flow=name)["start_s"].item()), _ends_s(flows, name, last))
        for name in _others(run)
    }
    over = min(_ends_s(flows, OURS, last), TRANSFER.stop_s)
    changes = sorted({t for times in there.values() for t in times} | {TRANSFER.start_s, over})
    for number, (begin, end) in enumerate(pairwise(changes)):
        present = [name for name, (start, stop) in there.items() if start <= begin < end <= stop]
        counts = begin + SETTLE_S
        if begin >= TRANSFER.start_s and end <= over and end - counts >= SHORTEST_S and present:
            yield number, counts, end, present


def _parts(run: Run, rates: pl.DataFrame, flows: pl.DataFrame) -> dict[int, float]:
    return {
        number: wire_bytes(rates, [OURS], begin, end)
        * len(present)
        / wire_bytes(rates, present, begin, end)
        for number, begin, end, present in spans(run, flows)
    }


def _gap_percent(run: Run, rates: pl.DataFrame, over_s: float) -> float | None:
    begin, end = framework.GAP_S
    if over_s < end:
        return None
    others = [name for name in rates["flow"].unique() if name != OURS]
    free = run.point.experiment.link.rate_bps / 8 * (end - begin)
    return (
        100 * wire_bytes(rates, [OURS], begin, end) / (free - wire_bytes(rates, others, begin, end))
    )


def _rounds_to_yield(rounds: pl.DataFrame, arrival_s: float) -> int | None:
    """Return how many rounds ended until ours was not alone; None if it had not been."""
    own = rounds.filter(flow=OURS).sort("t_s")
    before = own.filter(pl.col("t_s") < arrival_s)["effect"]
    if before.is_empty() or before[-1] != regimes.ALONE:
        return None
    after = own.filter(pl.col("t_s") >= arrival_s)["effect"]
    yielded = (after != regimes.ALONE).arg_true()
    return len(after) if yielded.is_empty() else int(yielded[0]) + 1


def _declared_tw(control: pl.DataFrame) -> int | None:
    found = (control.sort("t_s")["status"] == "infeasible").arg_true()
    return None if found.is_empty() else int(found[0]) + 1


def _curves(run: Run, rates: pl.DataFrame, control: pl.DataFrame) -> pl.DataFrame:
    """Return means over CURVE_S: a row per time and flow; of ours with its target and w."""
    at = (pl.col("t_s") // CURVE_S * CURVE_S).alias("t_s")
    means = (
        rates.group_by(at, "flow", maintain_order=True)
        .agg((pl.col("wire_bytes").sum() * 8e-6 / CURVE_S).alias("mbps"))
        .filter(pl.col("mbps") > 0)
    )
    targets = control.group_by(at).agg(
        (pl.col("target_Bps") * 8e-6).last().alias("target_mbps"),
        (pl.col("w_ppm") * 1e-6).last().alias("w"),
    )
    own = means.filter(flow=OURS).join(targets, on="t_s", how="left")
    others = means.filter(pl.col("flow") != OURS)
    return pl.concat([own, others], how="diagonal").select(
        *(pl.lit(value).alias(key) for key, value in run.point.values.items()),
        "t_s", "flow", "mbps", "target_mbps", "w",
    )  # fmt: skip


def measure(results: Results, run: Run) -> Transfer:
    """Return what a run's tables show. Raises TestbedError if one is missing."""
    rates, flows = (results.table(run, name) for name in ("rates", "flows"))
    end_s = flows.filter(flow=OURS)["end_s"].item()
    done = end_s is not None and flows.filter(flow=OURS)["finished"].item()
    over_s = run.point.experiment.duration_s if end_s is None else float(end_s)
    starts = [float(flows.filter(flow=name)["start_s"].item()) for name in _others(run)]
    until: list[int | None] = []
    control = NO_CONTROL
    if run.point.values["controller"] != YARDSTICK:
        rounds, control = (results.table(run, name) for name in ("rounds", "control"))
        until = [
            _rounds_to_yield(rounds, start) for start in starts if TRANSFER.start_s < start < over_s
        ]
    return Transfer(
        run,
        (over_s - TRANSFER.start_s) / WINDOW_S if done else None,
        _gap_percent(run, rates, over_s),
        [count for count in until if count is not None],
        _parts(run, rates, flows),
        wire_bytes(rates, [OURS], TRANSFER.start_s, TRANSFER.stop_s),
        _declared_tw(control),
        _curves(run, rates, control),
    )


@dataclass(frozen=True)
class Usual:
    """What CUBIC in the transfer's place has, the mean of its runs; carried: None without any."""

    parts: Mapping[int, float]
    carried: float | None


def _usual(found: dict[str, list[Transfer]]) -> Usual:
    runs = [
        item
        for items in found.values()
        for item in items
        if item.run.point.values["controller"] == YARDSTICK
    ]
    parts: dict[int, list[float]] = {}
    for item in runs:
        for number, part in item.parts.items():
            parts.setdefault(number, []).append(part)
    return Usual(
        {number: sum(values) / len(values) for number, values in parts.items()},
        sum(item.carried for item in runs) / len(runs) if runs else None,
    )


def _row(item: Transfer, usual: Usual) -> Row:
    of_cubic = [part / usual.parts[n] for n, part in item.parts.items() if n in usual.parts]
    return finding.settings(item.run.point) | {
        "seed": item.run.seed,
        "finish": item.finish,
        "gap_percent": item.gap_percent,
        "yield_rounds": max(item.rounds, default=None),
        "least_part": min(item.parts.values(), default=None),
        "greatest_part": max(item.parts.values(), default=None),
        "least_of_cubic": min(of_cubic, default=None),
        "greatest_of_cubic": max(of_cubic, default=None),
        "carried_of_cubic": item.carried / usual.carried if usual.carried else None,
        "declared_tw": item.declared_tw,
    }


MEASURES = (
    "finish",
    "gap_percent",
    "yield_rounds",
    "least_part",
    "greatest_part",
    "least_of_cubic",
    "greatest_of_cubic",
    "carried_of_cubic",
    "declared_tw",
)
"""The columns of which the summary has the mean over those runs that have it."""


def _summary(point: Point, items: Sequence[Transfer], usual: Usual) -> Row:
    rows = [_row(item, usual) for item in items]
    columns: Row = finding.settings(point) | {"runs": len(items)}
    columns["done"] = sum(item.finish is not None for item in items)
    columns["in_time"] = sum(item.finish is not None and item.finish <= 1 for item in items)
    for name in MEASURES:
        known = [float(str(row[name])) for row in rows if row[name] is not None]
        columns |= finding.estimated(name, known)
    return columns


def _said(values: Sequence[float | None], form: str, met: Sequence[bool]) -> str:
    """Return "9 of 10 runs; 0.950 to 0.980", and how many have no value."""
    known = [value for value in values if value is not None]
    spread = f"; {min(known):{form}} to {max(known):{form}}" if known else ""
    never = f"; {len(values) - len(known)} never" if len(known) < len(values) else ""
    return f"{sum(met)} of {len(met)} runs{spread}{never}"


def _verdicts(found: dict[str, list[Transfer]], sweep: Sweep) -> list[Verdict]:
    usual = _usual(found)
    judged = [p for p in sweep.points if p.values.get("controller", JUDGED) == JUDGED]
    feasible = [p for p in judged if not infeasible(p)]
    hopeless = [p for p in judged if infeasible(p)]

    def cases(
        points: Sequence[Point],
        what: str,
        low: float,
        high: float,
        form: str,
        *,
        needless: bool = False,
    ) -> list[Case]:
        """Judge a column of every run; needless: some have none, and need none."""
        made = []
        for point in points:
            rows = [_row(item, usual) for item in found.get(point.name, [])]
            values = [None if r[what] is None else float(str(r[what])) for r in rows]
            if needless and any(value is not None for value in values):
                values = [value for value in values if value is not None]
            met = [value is not None and low <= value <= high for value in values]
            where = f"eta = {point.values['eta']}"
            missing = len(sweep.seeds) - len(rows)
            made.append(Case(where, _said(values, form, met), all(met), missing))
        return made

    low, high = FINISH
    least, most = CUBIC_PARTS
    verdicts = []
    if feasible:
        verdicts += [
            judge(
                f"done within {low:g} to {high:g} of the window, in every run",
                cases(feasible, "finish", low, high, ".3f"),
            ),
            judge(
                f"at least {GAP_PERCENT:g} % of what others leave of the link in the gap of "
                f"{framework.GAP_S[1] - framework.GAP_S[0]:g} s, in every run",
                cases(feasible, "gap_percent", GAP_PERCENT, 1000, ".0f"),
            ),
            judge(
                f"not alone any more {YIELD_ROUNDS} rounds after a flow that met it alone arrived",
                cases(feasible, "yield_rounds", 0, YIELD_ROUNDS, ".0f", needless=True),
            ),
        ]
    if hopeless:
        verdicts += [
            judge(
                f"a deadline that cannot be met: at most {most:g} of what CUBIC in its place has, "
                "in every span of every run",
                cases(hopeless, "greatest_of_cubic", 0, most, ".2f"),
            ),
            judge(
                f"and at least {least:g} of it",
                cases(hopeless, "least_of_cubic", least, 1000, ".2f"),
            ),
            judge(
                f"{least:g} to {most:g} of it over the whole window, in every run",
                cases(hopeless, "carried_of_cubic", least, most, ".3f"),
            ),
            judge(
                f"called infeasible within {DECLARED_TW} Tw, in every run",
                cases(hopeless, "declared_tw", 1, DECLARED_TW, ".0f"),
            ),
        ]
    return verdicts


def find(results: Results, sweep: Sweep) -> Finding:
    """Measure every run, and judge those of the default controller."""
    found = {
        point.name: [measure(results, run) for run in runs]
        for point, runs in results.measured(sweep)
    }
    points = {point.name: point for point in sweep.points}
    found = {name: items for name, items in found.items() if items}
    verdicts, usual = _verdicts(found, sweep), _usual(found)
    curves = [items[0].curves for items in found.values()]
    return Finding(
        verdict.say(verdicts),
        verdicts,
        finding.frame([_row(item, usual) for items in found.values() for item in items]),
        finding.frame([_summary(points[name], items, usual) for name, items in found.items()]),
        pl.concat(curves) if curves else pl.DataFrame(),
    )
