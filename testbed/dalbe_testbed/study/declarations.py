# SPDX-License-Identifier: GPL-2.0-only
"""The study of each kind of sweep, by the key `figure` of a sweep file."""

from collections.abc import Mapping
from importlib import import_module

from dalbe_testbed.plan.sweep import Figure
from dalbe_testbed.study import cdg
from dalbe_testbed.study.engine import Finding, Study
from dalbe_testbed.study.results import Results

Findings = Mapping[str, Finding]


def study(figure: Figure | None) -> Study:
    """Return the study of a kind: the CDG paper's, or a module's here that is called like it.

    own_flows.STUDY for "own-flows". Without a kind, shares of the link are tabulated.
    """
    if figure is None or figure in cdg.STUDIES:
        return cdg.STUDIES[figure]
    declared: Study = import_module(f"{__package__}.{figure.replace('-', '_')}").STUDY
    return declared


def findings(results: Results) -> Findings:
    """Return what the sweeps showed, by the sweep's name. Raises TestbedError."""
    return {sweep.name: study(sweep.figure).find(results, sweep) for sweep in results.sweeps}
