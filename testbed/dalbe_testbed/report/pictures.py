# SPDX-License-Identifier: GPL-2.0-only
"""How the finding of each kind of sweep is drawn to a file."""

from collections.abc import Callable, Mapping
from pathlib import Path

from dalbe_testbed.plan.sweep import Figure
from dalbe_testbed.report import cdg, deadlines, demo, ledbat, model, scavenger, scoreboard
from dalbe_testbed.study.engine import Finding

DRAW: Mapping[Figure | None, Callable[[Finding, Path], None]] = {
    "figure2": cdg.figure_2,
    "figure3": cdg.figure_3,
    "table1": cdg.table_1,
    "ablation": cdg.ablation,
    "demo": demo.draw,
    "tradeoff": scavenger.tradeoff,
    "tuning": scavenger.tuning,
    "breadth": scavenger.breadth,
    "dynamics": scavenger.dynamics,
    "own-flows": scavenger.fairness,
    "impairments": scavenger.impairments,
    "stalls": scavenger.stalls,
    "short-flows": scavenger.completion,
    "voice": scavenger.voice,
    "deadline": deadlines.draw,
    "five": deadlines.five,
    "goals": deadlines.goals,
    "robust": deadlines.robust,
    "sessions": deadlines.sessions,
    "model": model.draw,
    "scoreboard": scoreboard.draw,
    "ledbat": ledbat.draw,
}
