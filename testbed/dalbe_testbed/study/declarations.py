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
from dalbe_testbed.study.engine import Finding
from dalbe_testbed.study.results import Results

FIND: Mapping[Figure | None, Callable[[Results, Sweep], Finding]] = {
    "tradeoff": tradeoff.STUDY.find,
    "tuning": tuning.STUDY.find,
    "breadth": breadth.STUDY.find,
    "dynamics": dynamics.STUDY.find,
    "own-flows": fairness.STUDY.find,
    "impairments": impairments.STUDY.find,
    "stalls": stalls.STUDY.find,
    "short-flows": completion.STUDY.find,
    "voice": voice.STUDY.find,
    "deadline": deadline.STUDY.find,
    "five": five.STUDY.find,
    "goals": goals.STUDY.find,
    "robust": robust.STUDY.find,
    "sessions": sessions.STUDY.find,
    "model": model.STUDY.find,
    "scoreboard": scoreboard.STUDY.find,
}

Findings = Mapping[str, Finding]


def findings(results: Results) -> Findings:
    """Return what the sweeps of these kinds showed, by the sweep's name. Raises TestbedError."""
    return {
        sweep.name: FIND[sweep.figure](results, sweep)
        for sweep in results.sweeps
        if sweep.figure in FIND
    }
