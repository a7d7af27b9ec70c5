# SPDX-License-Identifier: GPL-2.0-only
"""The CDG paper's cell: which share each of four flows gets over the last half of the run."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from dalbe_testbed import shares
from dalbe_testbed.batch import Job
from dalbe_testbed.experiment import Experiment
from dalbe_testbed.runner import Run
from dalbe_testbed.shares import Interval


def jobs(experiment: Experiment, seeds: list[int], out: Path) -> list[Job]:
    """One run per seed."""
    return [Job(experiment.name, experiment, seed, out / f"seed{seed}") for seed in seeds]


def measure(run: Run) -> dict[str, float]:
    """Return each TCP flow's share of the link, 0 to 1, over the last half."""
    end = run.experiment.duration_s
    window = Interval(end / 2, end)
    result = {}
    for name in run.flows["flow"]:
        share = shares.mean_share(run.rates, name, window, run.experiment.link.rate_bps)
        assert share is not None, "the last half holds bins"
        result[name] = round(share, 5)
    return result


def summarise(experiment: Experiment, runs: list[Run]) -> dict[str, Any]:
    """Return cell.json: shares per seed, and min, median and max per flow and of both senders.

    `sender` is the sum over the flows from that host: Table I's maximum is the one of `sender`.
    """
    per_seed = {run.seed: measure(run) for run in runs}
    hosts = {flow.name: flow.host for flow in experiment.flows}
    for result in per_seed.values():
        for host in sorted(set(hosts.values())):
            total = sum(share for name, share in result.items() if hosts.get(name) == host)
            result[host] = round(total, 5)
    names = list(next(iter(per_seed.values())))
    return {
        "experiment": experiment.name,
        "flows": [flow.model_dump(mode="json", exclude_none=True) for flow in experiment.flows],
        "link": experiment.link.model_dump(exclude_none=True),
        "shares": {
            name: {
                "min": min(result[name] for result in per_seed.values()),
                "median": statistics.median(result[name] for result in per_seed.values()),
                "max": max(result[name] for result in per_seed.values()),
            }
            for name in names
        },
        "seeds": {str(seed): result for seed, result in per_seed.items()},
    }
