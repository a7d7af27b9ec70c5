# SPDX-License-Identifier: GPL-2.0-only
"""Requirements, and whether they are met. One that was not measured is not met."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Verdict:
    """One requirement, whether it was met, and the figures behind that."""

    requirement: str
    met: bool
    detail: str


@dataclass(frozen=True)
class Case:
    """A requirement at one point: where, what was found there, and whether that will do.

    missing: runs that the point lacks. With any, the case is not met.
    """

    where: str
    found: str
    met: bool
    missing: int = 0

    def __str__(self) -> str:
        """Return "50 ms: 1.3 [1.2, 1.4], 2 runs missing"."""
        lacks = [f"{self.missing} run{'s' * (self.missing > 1)} missing"] if self.missing else []
        return f"{self.where}: {', '.join([self.found, *lacks])}".removeprefix(": ")


def judge(requirement: str, cases: Sequence[Case]) -> Verdict:
    """Return the verdict on a requirement that must hold in each of `cases`; without any, it fails.

    The detail gives the cases that fail before those that do not.
    """
    failed = [case for case in cases if not case.met or case.missing]
    held = [case for case in cases if case not in failed]
    detail = "; ".join(map(str, failed + held)) or "no run"
    return Verdict(requirement, bool(cases) and not failed, detail)


def say(verdicts: Sequence[Verdict]) -> str:
    """Return verdicts in a sentence."""
    return "; ".join(f"{v.requirement}: {'met' if v.met else 'not met'}" for v in verdicts) + "."
