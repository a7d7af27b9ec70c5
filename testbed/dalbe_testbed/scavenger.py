# SPDX-License-Identifier: GPL-2.0-only
"""What a scavenger must show: for each kind of sweep what is measured, and how it is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dalbe_testbed import (
    breadth,
    completion,
    deadline,
    dynamics,
    fairness,
    figures_deadline,
    figures_model,
    figures_scoreboard,
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
from dalbe_testbed import figures_scavenger as figures
from dalbe_testbed.finding import Finding
from dalbe_testbed.results import Results
from dalbe_testbed.sweep import Figure, Sweep


@dataclass(frozen=True)
class Kind:
    """How a kind of sweep is measured, and how its finding is drawn to a file."""

    find: Callable[[Results, Sweep], Finding]
    draw: Callable[[Finding, Path], None]


KINDS: Mapping[Figure | None, Kind] = {
    "tradeoff": Kind(tradeoff.find, figures.tradeoff),
    "tuning": Kind(tuning.find, figures.tuning),
    "breadth": Kind(breadth.find, figures.breadth),
    "dynamics": Kind(dynamics.find, figures.dynamics),
    "own-flows": Kind(fairness.find, figures.fairness),
    "impairments": Kind(impairments.find, figures.impairments),
    "stalls": Kind(stalls.find, figures.stalls),
    "short-flows": Kind(completion.find, figures.completion),
    "voice": Kind(voice.find, figures.voice),
    "deadline": Kind(deadline.find, figures_deadline.draw),
    "five": Kind(five.find, figures_deadline.five),
    "goals": Kind(goals.find, figures_deadline.goals),
    "robust": Kind(robust.find, figures_deadline.robust),
    "sessions": Kind(sessions.find, figures_deadline.sessions),
    "model": Kind(model.find, figures_model.draw),
    "scoreboard": Kind(scoreboard.find, figures_scoreboard.draw),
}
"""By the key `figure` of a sweep file."""

Findings = Mapping[str, Finding]


def findings(results: Results) -> Findings:
    """Return what the sweeps of these kinds showed, by the sweep's name. Raises TestbedError."""
    return {
        sweep.name: KINDS[sweep.figure].find(results, sweep)
        for sweep in results.sweeps
        if sweep.figure in KINDS
    }
