# SPDX-License-Identifier: GPL-2.0-only
"""The demo: one file under a deadline, by four means; what demo.json says about them.

The contenders see the same cross traffic. `infeasible` is the one whose goal cannot be met: it is
judged by whether it says so in time and by whether it stays at the share of one CUBIC flow.
"""

import json
import statistics
from pathlib import Path
from typing import Any

import polars as pl

from dalbe_testbed.plan.experiment import Experiment
from dalbe_testbed.reduce import capture
from dalbe_testbed.reduce.tables import Run
from dalbe_testbed.run.pool import Job
from dalbe_testbed.study import shares
from dalbe_testbed.study.shares import Interval

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


def transfer(run: Run) -> Interval:
    """Return when the file was being sent: until its program ended, or the run."""
    row = run.flow(FILE)
    end = row["end_s"]
    last = capture.rates_end_s(run.rates, run.experiment.bin_s)
    return Interval(float(str(row["start_s"])), last if end is None else float(str(end)))


def cross_flows(run: Run) -> dict[str, Interval]:
    """Return when each of the other TCP flows was active."""
    last = capture.rates_end_s(run.rates, run.experiment.bin_s)
    return {
        row["flow"]: Interval(row["start_s"], last if row["end_s"] is None else row["end_s"])
        for row in run.flows.filter(pl.col("flow") != FILE).to_dicts()
    }


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


def measure(run: Run, deadline_s: float) -> Measures:
    """Return what demo.json says about one contender; None where there was nothing to measure."""
    sending, cross = transfer(run), cross_flows(run)
    bin_s, rate = run.experiment.bin_s, run.experiment.link.rate_bps
    table = shares.phase_table(run.rates, bin_s, sending, list(cross.values()))
    row = run.flow(FILE)
    flow = next(flow for flow in run.experiment.flows if flow.name == FILE)
    done = bool(row["finished"])

    def queue(phase: shares.Phase | None) -> float | None:
        return _rounded(shares.mean_queue_ms(run.queue, table, phase, sending), 2)

    contended = shares.share(run.rates, table, "contended", FILE, rate)
    others = [shares.share(run.rates, table, "contended", name, rate) for name in cross]
    goodput = shares.goodput_bps(run.rates, table, "contended", list(cross), bin_s)
    active = [value for value in others if value]
    return {
        "deadline_s": deadline_s,
        "finish_s": _rounded(sending.end_s - sending.start_s, 3) if done else None,
        "bytes": flow.bytes if done else row["payload_bytes"],
        "goal_bytes": flow.bytes,
        "share_contended": _rounded(contended, 4),
        "share_alone": _rounded(shares.share(run.rates, table, "alone", FILE, rate), 4),
        "contended_s": table.filter(phase="contended").height * bin_s,
        "alone_s": table.filter(phase="alone").height * bin_s,
        "cross_goodput_bps": _rounded(goodput, 0),
        "share_cross_flow": _per_flow(run, table, list(cross)) if active else None,
        "queue_ms_mean": queue(None),
        "queue_ms_contended": queue("contended"),
        "queue_ms_alone": queue("alone"),
        "drops": run.proof.drops,
    }


def _per_flow(run: Run, table: pl.DataFrame, names: list[str]) -> float | None:
    """Return the mean share of one cross flow, over the contended bins in which it is active."""
    rows = (
        run.rates.filter(pl.col("flow").is_in(names) & (pl.col("wire_bytes") > 0))
        .join(table, on="t_s")
        .filter(phase="contended")
    )
    mean = rows["rate_bps"].mean()
    if mean is None:
        return None
    return round(float(mean) / run.experiment.link.rate_bps, 4)  # type: ignore[arg-type]


def reported_infeasible_s(run: Run) -> float | None:
    """Return when, after its start, dalbe first said that the goal cannot be met."""
    control = run.control.filter(flow=FILE)
    if "status" not in control.columns:
        return None
    said = control.filter(pl.col("status") == "infeasible")["t_s"].min()
    if said is None:
        return None
    return round(float(said) - transfer(run).start_s, 3)  # type: ignore[arg-type]


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
    dalbe, cubic, late = result[SUBJECT], result["cubic"], result[INFEASIBLE]

    def at_most(value: float | None, limit: float | None) -> bool:
        return value is not None and limit is not None and value <= limit

    def times(value: float | None, factor: float) -> float | None:
        return None if value is None else value * factor

    cubic_flow = max(
        (v for v in (cubic["share_contended"], late["share_cross_flow"]) if v is not None),
        default=None,
    )
    return {
        "done by the deadline": at_most(dalbe["finish_s"], dalbe["deadline_s"]),
        "alone: at least 0.85 of plain CUBIC's share": at_most(
            times(cubic["share_alone"], MIN_ALONE_OF_CUBIC), dalbe["share_alone"]
        ),
        "contended: at most half of plain CUBIC's share": at_most(
            dalbe["share_contended"], times(cubic["share_contended"], MAX_CONTENDED_OF_CUBIC)
        ),
        "impossible goal reported before its deadline": at_most(
            late["reported_infeasible_at_s"], late["deadline_s"]
        ),
        "impossible goal: no more than one CUBIC flow's share": at_most(
            late["share_contended"], times(cubic_flow, CUBIC_SLACK)
        ),
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
    rows = []
    for name in (*CONTENDERS, INFEASIBLE):
        for key in NUMBERS:
            values = [r[name][key] for r in results if r[name].get(key) is not None]
            if key == "reported_infeasible_at_s" and name != INFEASIBLE:
                continue
            rows.append(
                {
                    "contender": name,
                    "measure": key,
                    "seeds": len(values),
                    "min": min(values, default=None),
                    "median": statistics.median(values) if values else None,
                    "max": max(values, default=None),
                }
            )
    return pl.DataFrame(rows, infer_schema_length=None)


def save(data: object, path: Path) -> None:
    """Write JSON as people read it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, indent=2) + "\n")
