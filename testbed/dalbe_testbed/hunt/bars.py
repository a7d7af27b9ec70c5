# SPDX-License-Identifier: GPL-2.0-only
"""Bars: what the scavenger has to reach in the simulator, and what it reaches.

testbed/bars.toml has the paths and the bars. Each path is simulated with ours, and of the same seed
without ours, or with CUBIC in our place, where a measure compares.
"""

import itertools
import math
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dalbe_testbed.errors import TestbedError
from dalbe_testbed.hunt import scenario
from dalbe_testbed.hunt.scenario import Words
from dalbe_testbed.paths import TESTBED
from dalbe_testbed.plan.sweep import Sweep
from dalbe_testbed.purecode import Pure
from dalbe_testbed.study.breadth import HARM_PERCENT, USE_PERCENT
from dalbe_testbed.study.stats import Estimate, estimate

BARS = TESTBED / "bars.toml"
AT_LEAST = ("alone", "used", "after", "fair")  # others are at most


@dataclass(frozen=True)
class Row:
    """A path, what is measured on it, and the bar."""

    name: str
    told: Words
    measure: str
    bar: float

    @property
    def path(self) -> str:
        """Return the path in the words of sim/tools/grid.c."""
        return scenario.line(self.told)

    def met(self, mean: float) -> bool:
        """Return whether a mean reaches the bar."""
        return mean >= self.bar if self.measure in AT_LEAST else mean <= self.bar


def rows(file: Path = BARS) -> Iterator[Row]:
    """Yield the rows of a file; one for each combination of values that are lists."""
    read = tomllib.loads(file.read_text())
    for entry in read["rows"]:
        told = {
            key: value if isinstance(value, list) else [value]
            for key, value in (read["defaults"] | entry["words"]).items()
        }
        for values in itertools.product(*told.values()):
            words = {key: f"{value}" for key, value in zip(told, values, strict=True)}
            for measure, bar in entry["bars"].items():
                yield Row(entry["name"], words, measure, bar)


def cells(of: Sweep) -> Iterator[Row]:
    """Yield two rows for each cell that a sweep draws as `breadth` does: what is required of it.

    The simulator has no background packets, and its flows begin when ours does, a second into a run
    of the testbed. Raises TestbedError for a path that it does not know.
    """
    disciplines = {kind: name for name, kind in scenario.DISCIPLINES.items()}
    for point in of.points:
        what, drawn = point.experiment, point.values
        ours, *theirs = what.flows
        if ours.w is None or not theirs:
            continue
        begin_s, kind = ours.start_s, theirs[0].cc
        if what.link.qdisc not in disciplines or kind not in ("cubic", "reno"):
            raise TestbedError(
                f"{point.name}: the simulator has no {what.link.qdisc}, or no {kind}"
            )
        values = {
            "rate": what.link.rate_mbps / scenario.FRAME, "rtt": what.link.rtt_ms,
            "buf": float(drawn["link.buffer_bdp"]), "ours": 1, "theirs": len(theirs), "w": ours.w,
            "from": theirs[0].start_s - begin_s, "to": what.duration_s - begin_s,
            "end": what.duration_s - begin_s,
        }  # fmt: skip
        told = {key: f"{value:.6g}" for key, value in values.items()}
        told |= {"disc": disciplines[what.link.qdisc]} | ({"their": kind} if kind == "reno" else {})
        yield Row(f"{point.cell}", told, "alone", USE_PERCENT)
        yield Row(f"{point.cell}", told, "harm", HARM_PERCENT)


class Simulator:
    """The simulator's runs, each made once."""

    def __init__(self, pure: Pure) -> None:
        """Take the module's pure code."""
        self._pure = pure
        self._out = cache(self._run)

    def _run(self, told: tuple[tuple[str, str], ...], seed: int, base: str | None) -> Any:
        words, out = dict(told), self._pure.new("drive_out")
        w = 1.0 if base else float(words["w"])
        given = scenario.drive_in(self._pure, words, seed, base, w)
        self._pure.drive(given, out)
        return out

    def measure(self, row: Row, seed: int) -> float:
        """Return what a row measures, of one seed; NaN where nothing came of it."""
        told = row.told
        last_mbit = told["step"].partition(":")[2] if "step" in told else told["rate"]
        pps = scenario.pps(float(last_mbit))
        start, to, end = (float(told[key]) for key in ("from", "to", "end"))
        weight = float(told["w"]) * int(told["ours"])

        def out(base: str | None = None, **change: str) -> Any:
            return self._out(tuple((told | change).items()), seed, base)

        ours = out()
        sent = ours.ours + ours.theirs
        measures: dict[str, Callable[[], float]] = {
            "alone": lambda: _part(ours.alone, out("cubic").alone),
            "used": lambda: _part(ours.alone, start * pps),
            "after": lambda: _part(ours.after, (end - to) * pps),
            "share": lambda: _part(ours.ours, sent),
            "harm": lambda: 100 - _part(ours.theirs, out(ours="0").theirs),
            "fair": lambda: _part(ours.least, ours.most) / 100,
            "yields": lambda: ours.yields,
            "queue": lambda: ours.queue_alone_us / 1000,
            "weight": lambda: abs(
                _part(ours.ours, sent) - _part(weight, weight + int(told["theirs"]))
            ),
        }
        return measures[row.measure]()


def _part(count: float, whole: float) -> float:
    return 100 * count / whole if whole else math.nan


def measure(
    pure: Pure, seeds: Sequence[int], wanted: Iterable[Row]
) -> Iterator[tuple[Row, Estimate]]:
    """Yield each row with the estimate of these seeds."""
    simulator = Simulator(pure)
    for row in wanted:
        yield row, estimate([simulator.measure(row, seed) for seed in seeds])
