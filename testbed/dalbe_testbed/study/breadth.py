# SPDX-License-Identifier: GPL-2.0-only
"""Breadth: a scavenger in cells drawn at random. A cell holds if its use and its share do."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from dalbe_testbed.plan.sample import bdp_packets
from dalbe_testbed.study import engine, tradeoff
from dalbe_testbed.study.engine import Found, Group, Row, Study, who
from dalbe_testbed.study.stats import Estimate
from dalbe_testbed.study.tradeoff import YARDSTICK
from dalbe_testbed.study.verdict import Verdict

USE_PERCENT, SHARE_PERCENT = 93.0, 6.0
"""Limits of a cell's means: use of the idle link at least, share taken at most."""

CELLS_PERCENT = 90
"""How many of the cells must hold, at least."""


@dataclass(frozen=True)
class Cell:
    """A drawn cell: our point with its runs, and their means; None where that is missing.

    missing: runs of ours or of the yardstick that are not there.
    """

    group: Group
    use: Estimate | None
    share: Estimate | None
    missing: int

    @property
    def failed(self) -> str:
        """The failed half: "use", "share", "use and share", "runs missing"; "" if both hold."""
        if self.missing or self.use is None or self.share is None:
            return "runs missing"
        halves = {
            "use": self.use.mean >= USE_PERCENT,
            "share": self.share.mean <= SHARE_PERCENT,
        }
        return " and ".join(half for half, holds in halves.items() if not holds)

    def __str__(self) -> str:
        """Return what was found and all that was drawn."""
        point = self.group.point
        values = ", ".join(f"{key} {value}" for key, value in point.values.items())
        found = f"use {self.use or '-'} %, share {self.share or '-'} %"
        return f"{point.cell}: {self.failed}: {found}: {values}"


def cells(found: Found) -> Iterator[Cell]:
    """Yield the cells that the sweep draws, also those that have no run."""
    for point in found.sweep.points:
        if who(point) != YARDSTICK:
            group = found.at(point)
            whole = tradeoff.yardstick(group, found.groups) if group.rows else None
            lacks = group.missing + (whole.missing if whole else len(found.sweep.seeds))
            use = tradeoff.use_percent(group, found.groups)
            yield Cell(group, use, group.mean("share_percent"), lacks)


def _require(found: Found) -> list[Verdict]:
    """Judge whether enough cells hold; name those that do not with all that was drawn."""
    made = list(cells(found))
    failed = [cell for cell in made if cell.failed]
    held = len(made) - len(failed)
    return [
        Verdict(
            f"alone at least {USE_PERCENT:g} % of CUBIC alone and share at most "
            f"{SHARE_PERCENT:g} % in {CELLS_PERCENT} % of the cells",
            bool(made) and 100 * held >= CELLS_PERCENT * len(made),
            "; ".join([f"{held} of {len(made)} cells", *map(str, failed)]),
        )
    ]


def _summary(found: Found) -> list[Row]:
    return [
        {"cell": point.cell}
        | {key: value for key, value in point.values.items() if key != "who"}
        | {
            "bdp_packets": bdp_packets(point.values),
            "buffer_packets": point.experiment.link.queue_packets,
            "runs": len(cell.group.rows),
        }
        | engine.interval("use_percent", cell.use)
        | engine.interval("share_percent", cell.share)
        | engine.means(cell.group, tradeoff.ERRORS)
        | {"met": not cell.failed, "failed": cell.failed}
        for cell in cells(found)
        if cell.group.rows
        for point in [cell.group.point]
    ]


def _say(found: Found) -> str:
    failed = [cell.failed for cell in cells(found)]
    held = f"{failed.count('')} of {len(failed)} cells hold"
    why = [f"{count} fail: {half}" for half, count in Counter(filter(None, failed)).items()]
    return "; ".join([held, *why]) + "."


STUDY = Study(tradeoff.measure, _require, summary=_summary, say=_say, rounded=True)
