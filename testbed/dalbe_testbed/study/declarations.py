# SPDX-License-Identifier: GPL-2.0-only
"""The kinds of sweeps that measure a scavenger, by the key `figure` of a sweep file."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dalbe_testbed.plan.sweep import Figure, Sweep
from dalbe_testbed.study import (
    breadth,
    completion,
    deadline,
    dynamics,
    fairness,
    five,
    goals,
    impairments,
    model,
    robust,
    scoreboard,
    sessions,
    stalls,
    tradeoff,
    tuning,
    voice,
)
from dalbe_testbed.study.finding import Finding
from dalbe_testbed.study.results import Results

FIND: Mapping[Figure | None, Callable[[Results, Sweep], Finding]] = {
    "tradeoff": tradeoff.find,
    "tuning": tuning.find,
    "breadth": breadth.find,
    "dynamics": dynamics.find,
    "own-flows": fairness.find,
    "impairments": impairments.find,
    "stalls": stalls.find,
    "short-flows": completion.find,
    "voice": voice.find,
    "deadline": deadline.find,
    "five": five.find,
    "goals": goals.find,
    "robust": robust.find,
    "sessions": sessions.find,
    "model": model.find,
    "scoreboard": scoreboard.find,
}

Findings = Mapping[str, Finding]


def findings(results: Results) -> Findings:
    """Return what the sweeps of these kinds showed, by the sweep's name. Raises TestbedError."""
    return {
        sweep.name: FIND[sweep.figure](results, sweep)
        for sweep in results.sweeps
        if sweep.figure in FIND
    }
