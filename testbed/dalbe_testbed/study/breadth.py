# SPDX-License-Identifier: GPL-2.0-only
"""Breadth: a scavenger in cells drawn at random. A cell holds if its use and its share do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from dalbe_testbed.plan.sample import bdp_packets
from dalbe_testbed.plan.sweep import Point, Sweep
from dalbe_testbed.study import finding, tradeoff
from dalbe_testbed.study.finding import Finding, Row
from dalbe_testbed.study.results import Results
from dalbe_testbed.study.stats import Estimate
from dalbe_testbed.study.tradeoff import YARDSTICK, Tradeoff
from dalbe_testbed.study.verdict import Verdict

USE_PERCENT, SHARE_PERCENT = 93.0, 6.0
"""What is required of a cell's means: use of the idle link at least, share taken at most."""

CELLS_PERCENT = 90
"""How many of the cells must hold, at least."""


@dataclass(frozen=True)
class Cell:
    """A drawn cell: our point, and what its runs measured; None where that is missing.

    missing: runs of ours or of the yardstick that are not there.
    """

    point: Point
    use: Estimate | None
    share: Estimate | None
    missing: int

    @property
    def failed(self) -> str:
        """What does not hold: "use", "share", "use and share", "runs missing"; "" if all does."""
        if self.missing or self.use is None or self.share is None:
            return "runs missing"
        halves = {
            "use": self.use.mean >= USE_PERCENT,
            "share": self.share.mean <= SHARE_PERCENT,
        }
        return " and ".join(half for half, holds in halves.items() if not holds)

    def __str__(self) -> str:
        """Return what was found and all that was drawn."""
        values = ", ".join(f"{key} {value}" for key, value in self.point.values.items())
        found = f"use {self.use or '-'} %, share {self.share or '-'} %"
        return f"{self.point.cell}: {self.failed}: {found}: {values}"


def cells(found: Sequence[Tradeoff], sweep: Sweep) -> list[Cell]:
    """Return the cells that the sweep draws, also those that have no run."""
    measured = {item.point.name: item for item in found}
    made = []
    for point in sweep.points:
        if tradeoff.who(point) == YARDSTICK:
            continue
        item = measured.get(point.name)
        whole = tradeoff.yardstick(item, found) if item else None
        lacks = [tradeoff.missing(i, sweep) if i else len(sweep.seeds) for i in (item, whole)]
        use = tradeoff.use_percent(item, found) if item else None
        made.append(Cell(point, use, tradeoff.share_percent(item) if item else None, sum(lacks)))
    return made


def judge(made: Sequence[Cell]) -> Verdict:
    """Return whether enough cells hold; those that do not are named with all that was drawn."""
    failed = [cell for cell in made if cell.failed]
    held = len(made) - len(failed)
    detail = [f"{held} of {len(made)} cells", *map(str, failed)]
    return Verdict(
        f"alone at least {USE_PERCENT:g} % of CUBIC alone and share at most {SHARE_PERCENT:g} % in "
        f"{CELLS_PERCENT} % of the cells",
        bool(made) and 100 * held >= CELLS_PERCENT * len(made),
        "; ".join(detail),
    )


def _row(cell: Cell, item: Tradeoff) -> Row:
    return (
        {"cell": cell.point.cell}
        | {key: value for key, value in cell.point.values.items() if key != "who"}
        | {
            "bdp_packets": bdp_packets(cell.point.values),
            "buffer_packets": cell.point.experiment.link.queue_packets,
            "runs": len(item.seeds),
        }
        | finding.interval("use_percent", cell.use)
        | finding.interval("share_percent", cell.share)
        | tradeoff.means(item, tradeoff.ERRORS)
        | {"met": not cell.failed, "failed": cell.failed}
    )


def find(results: Results, sweep: Sweep) -> Finding:
    """Measure use and share in every cell, and judge them together."""
    found = tradeoff.measure(results, sweep)
    made, measured = cells(found, sweep), {item.point.name: item for item in found}
    verdict = judge(made)
    failed = [cell for cell in made if cell.failed]
    why = [f"{count} fail: {half}" for half, count in Counter(c.failed for c in failed).items()]
    return Finding(
        "; ".join([f"{len(made) - len(failed)} of {len(made)} cells hold", *why]) + ".",
        [verdict],
        tradeoff.frame(found),
        finding.frame(
            [_row(c, item) for c in made if (item := measured.get(c.point.name)) is not None]
        ),
    )
