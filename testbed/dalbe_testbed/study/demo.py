# SPDX-License-Identifier: GPL-2.0-only
"""The demo: one file under a deadline, by four means; what demo.json says about them.

The contenders see the same cross traffic. `infeasible` is the one whose goal cannot be met: it is
judged by whether it says so in time and by whether it stays at the share of one CUBIC flow.
"""

import itertools
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from dalbe_testbed.plan.experiment import Experiment
from dalbe_testbed.reduce import capture
from dalbe_testbed.reduce.tables import Run
from dalbe_testbed.run.pool import Job
from dalbe_testbed.study import shares
from dalbe_testbed.study.results import Window

FILE = "file"
CONTENDERS = ("dalbe_cdg", "cubic", "bwlimit")
INFEASIBLE = "infeasible"
SUBJECT = "dalbe_cdg"

MIN_ALONE_OF_CUBIC = 0.85
MAX_CONTENDED_OF_CUBIC = 0.5
# Drop-tail CUBIC flows differ by chance from one another; "no more" is judged with this slack.
CUBIC_SLACK = 1.1

Measures = dict[str, Any]


def jobs(experiment: Experiment, seeds: list[int], out: Path) -> list[Job]:
    """Every contender with every seed; seeds get directories of their own if there are several."""
    return [
        Job(
            name=name,
            experiment=experiment.contender(name),
            seed=seed,
            out=(out / f"seed{seed}" if len(seeds) > 1 else out) / "runs" / name,
        )
        for seed in seeds
        for name in (*CONTENDERS, INFEASIBLE)
    ]


def _window(run: Run, row: Mapping[str, Any]) -> Window:
    """Return when a flow was sending: until its program ended, or the run."""
    last = capture.rates_end_s(run.rates, run.experiment.bin_s)
    return Window(row["start_s"], last if row["end_s"] is None else row["end_s"])


def cross_flows(run: Run) -> dict[str, Window]:
    """Return when each of the other TCP flows was active."""
    rows = run.flows.filter(pl.col("flow") != FILE).to_dicts()
    return {row["flow"]: _window(run, row) for row in rows}


def _rounded(value: Any, digits: int) -> float | None:
    return None if value is None else round(float(value), digits)


def measure(run: Run, deadline_s: float) -> Measures:
    """Return what demo.json says about one contender; None where there was nothing to measure."""
    row = run.flow(FILE)
    sending, cross = _window(run, row), cross_flows(run)
    bin_s, rate = run.experiment.bin_s, run.experiment.link.rate_bps
    table = shares.phase_table(run.rates, bin_s, sending, list(cross.values()))
    queue, done = run.queue.join(table, on="t_s"), bool(row["finished"])
    size = next(flow.bytes for flow in run.experiment.flows if flow.name == FILE)
    # one cross flow, over the contended bins in which it is active
    active = run.rates.filter(pl.col("flow").is_in(list(cross)), pl.col("wire_bytes") > 0)
    one = shares.share(active.with_columns(flow=pl.lit("")), table, "contended", "", rate)
    return {
        "deadline_s": deadline_s,
        "finish_s": _rounded(sending.length_s, 3) if done else None,
        "bytes": size if done else row["payload_bytes"],
        "goal_bytes": size,
        "share_contended": _rounded(shares.share(run.rates, table, "contended", FILE, rate), 4),
        "share_alone": _rounded(shares.share(run.rates, table, "alone", FILE, rate), 4),
        "contended_s": table.filter(phase="contended").height * bin_s,
        "alone_s": table.filter(phase="alone").height * bin_s,
        "cross_goodput_bps": _rounded(
            shares.goodput_bps(run.rates, table, "contended", list(cross), bin_s), 0
        ),
        "share_cross_flow": _rounded(one, 4),
        "queue_ms_mean": _rounded(sending.of(queue)["queue_ms"].mean(), 2),
        "queue_ms_contended": _rounded(queue.filter(phase="contended")["queue_ms"].mean(), 2),
        "queue_ms_alone": _rounded(queue.filter(phase="alone")["queue_ms"].mean(), 2),
        "drops": run.proof.drops,
    }


def reported_infeasible_s(run: Run) -> float | None:
    """Return when, after its start, dalbe first said that the goal cannot be met."""
    control = run.control.filter(flow=FILE)
    if "status" not in control.columns:
        return None
    said = control.filter(status="infeasible")["t_s"].min()
    return None if said is None else _rounded(said - _window(run, run.flow(FILE)).start_s, 3)  # type: ignore[operator]


def summarise(experiment: Experiment, runs: list[Run]) -> dict[str, Any]:
    """Return demo.json for the runs of one seed, which must be of all contenders."""
    by_name = {run.name: run for run in runs}
    goal = next(flow.goal for flow in experiment.flows if flow.name == FILE)
    assert goal is not None, "demo.toml gives the file a goal"
    result: dict[str, Any] = {
        "experiment": experiment.name,
        "seed": runs[0].seed,
        "link": experiment.link.model_dump(exclude_none=True),
    }
    for name in (*CONTENDERS, INFEASIBLE):
        result[name] = measure(by_name[name], goal.deadline_s)
    result[INFEASIBLE]["reported_infeasible_at_s"] = reported_infeasible_s(by_name[INFEASIBLE])
    result[INFEASIBLE]["share_contended_of_one_cubic_flow"] = result["cubic"]["share_contended"]
    result["verdicts"] = verdicts(result)
    return result


def verdicts(result: dict[str, Any]) -> dict[str, bool]:
    """Judge one seed's results; what could not be measured fails."""

    def of(name: str, measure: str) -> float:
        value = result[name][measure]
        return math.nan if value is None else value  # which no comparison holds for

    late, contended = INFEASIBLE, "share_contended"
    cubic_flow = float(np.fmax(of("cubic", contended), of(late, "share_cross_flow")))
    return {
        "done by the deadline": of(SUBJECT, "finish_s") <= of(SUBJECT, "deadline_s"),
        "alone: at least 0.85 of plain CUBIC's share": of(SUBJECT, "share_alone")
        >= MIN_ALONE_OF_CUBIC * of("cubic", "share_alone"),
        "contended: at most half of plain CUBIC's share": of(SUBJECT, contended)
        <= MAX_CONTENDED_OF_CUBIC * of("cubic", contended),
        "impossible goal reported before its deadline": of(late, "reported_infeasible_at_s")
        <= of(late, "deadline_s"),
        "impossible goal: no more than one CUBIC flow's share": of(late, contended)
        <= CUBIC_SLACK * cubic_flow,
    }


NUMBERS = (
    "finish_s",
    "share_contended",
    "share_alone",
    "cross_goodput_bps",
    "queue_ms_mean",
    "queue_ms_contended",
    "queue_ms_alone",
    "reported_infeasible_at_s",
)


def distribution(results: list[dict[str, Any]]) -> pl.DataFrame:
    """Return min, median and max over the seeds of every number of every contender.

    `seeds` is how many seeds have the number at all: a transfer that never finished has no
    finish_s.
    """
    values = pl.DataFrame(
        [
            {"contender": name, "measure": key, "value": result[name][key]}
            for name, key in itertools.product((*CONTENDERS, INFEASIBLE), NUMBERS)
            for result in results
            if key in result[name]
        ],
        schema_overrides={"value": pl.Float64},
    )
    value = pl.col("value")
    return values.group_by("contender", "measure", maintain_order=True).agg(
        seeds=value.count(), min=value.min(), median=value.median(), max=value.max()
    )


def save(data: object, path: Path) -> None:
    """Write JSON as people read it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, indent=2) + "\n")
