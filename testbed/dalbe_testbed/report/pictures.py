# SPDX-License-Identifier: GPL-2.0-only
"""How the finding of each kind of sweep is drawn to a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from dalbe_testbed.plan.sweep import Figure
from dalbe_testbed.report import figures_deadline, figures_model, figures_scoreboard
from dalbe_testbed.report import figures_scavenger as figures
from dalbe_testbed.study.engine import Finding

DRAW: Mapping[Figure | None, Callable[[Finding, Path], None]] = {
    "tradeoff": figures.tradeoff,
    "tuning": figures.tuning,
    "breadth": figures.breadth,
    "dynamics": figures.dynamics,
    "own-flows": figures.fairness,
    "impairments": figures.impairments,
    "stalls": figures.stalls,
    "short-flows": figures.completion,
    "voice": figures.voice,
    "deadline": figures_deadline.draw,
    "five": figures_deadline.five,
    "goals": figures_deadline.goals,
    "robust": figures_deadline.robust,
    "sessions": figures_deadline.sessions,
    "model": figures_model.draw,
    "scoreboard": figures_scoreboard.draw,
}
