# SPDX-License-Identifier: GPL-2.0-only
"""The study of each kind of sweep, by the key `figure` of a sweep file."""

from collections.abc import Mapping
from importlib import import_module

from dalbe_testbed.plan.sweep import Figure
from dalbe_testbed.study.engine import Finding, Study
from dalbe_testbed.study.results import Results

PAPER = ("figure2", "figure3", "table1", "ablation")
"""Kinds of sweeps that are the CDG paper's: `reproduction` is about them."""

Findings = Mapping[str, Finding]


def study(figure: Figure) -> Study:
    """Return the STUDY of the module here that is called like a kind: own_flows for "own-flows"."""
    declared: Study = import_module(f"{__package__}.{figure.replace('-', '_')}").STUDY
    return declared


def findings(results: Results) -> Findings:
    """Return what the sweeps of these kinds showed, by the sweep's name. Raises TestbedError."""
    return {
        sweep.name: study(sweep.figure).find(results, sweep)
        for sweep in results.sweeps
        if sweep.figure and sweep.figure not in PAPER
    }
