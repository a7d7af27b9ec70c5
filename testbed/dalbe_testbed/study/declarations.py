# SPDX-License-Identifier: GPL-2.0-only
"""The kinds of sweeps that measure a scavenger, by the key `figure` of a sweep file."""

from collections.abc import Mapping

from dalbe_testbed.plan.sweep import Figure
from dalbe_testbed.study import (
    breadth,
    completion,
    deadline,
    dynamics,
    fairness,
    five,
    goals,
    impairments,
    ledbat,
    model,
    robust,
    scoreboard,
    sessions,
    stalls,
    tradeoff,
    tuning,
    voice,
)
from dalbe_testbed.study.engine import Finding, Study
from dalbe_testbed.study.results import Results

STUDIES: Mapping[Figure | None, Study] = {
    "tradeoff": tradeoff.STUDY,
    "tuning": tuning.STUDY,
    "breadth": breadth.STUDY,
    "dynamics": dynamics.STUDY,
    "own-flows": fairness.STUDY,
    "impairments": impairments.STUDY,
    "stalls": stalls.STUDY,
    "short-flows": completion.STUDY,
    "voice": voice.STUDY,
    "deadline": deadline.STUDY,
    "five": five.STUDY,
    "goals": goals.STUDY,
    "robust": robust.STUDY,
    "sessions": sessions.STUDY,
    "model": model.STUDY,
    "scoreboard": scoreboard.STUDY,
    "ledbat": ledbat.STUDY,
}

Findings = Mapping[str, Finding]


def findings(results: Results) -> Findings:
    """Return what the sweeps of these kinds showed, by the sweep's name. Raises TestbedError."""
    return {
        sweep.name: STUDIES[sweep.figure].find(results, sweep)
        for sweep in results.sweeps
        if sweep.figure in STUDIES
    }
