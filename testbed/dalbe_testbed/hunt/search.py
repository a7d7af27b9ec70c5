# SPDX-License-Identifier: GPL-2.0-only
"""The search: scenarios are drawn, the worst of each kind mutated, and what is found is shrunk.

A scenario that is worse than the one that it was made from takes its place. A find's choices go
back to plain ones, one by one, as long as half of the fitness stays.

The fitness of a kind is by how much a figure is beyond what is allowed; 0 or less is fine:

- *harm*: what the others lose of the goodput that they have without ours, a part of 1, beyond HARM
  and our share: by the framework, w per flow of ours to 1 per flow of theirs, or what our least
  windows are of the packets that the path holds.
- *idle*: what ours carry less than ALONE of what as many CUBIC flows carry in their place before
  the others come, a part of 1; or, if that is more, what they lose of the time after these have
  left, beyond AFTER_S.
- *stall*: the longest silence of ours, in seconds, beyond STALL_S, twice that of CUBIC in their
  place, and TRIPS round trips with a full buffer.
"""

import itertools
import math
import random
import time
from dataclasses import dataclass
from typing import Any

from dalbe_testbed.errors import TestbedError
from dalbe_testbed.hunt import scenario as make
from dalbe_testbed.hunt.scenario import AXES, BASES, Axis, Scenario, W, Words
from dalbe_testbed.purecode import Pure

KINDS = ("harm", "idle", "stall")
HARM, ALONE, AFTER_S, STALL_S, TRIPS = 0.02, 0.95, 9.0, 2.0, 10
LEAST_WINDOW = 2  # packets
LEAST_PACKETS = 100  # fewer of them are noise
SEEDS = 3  # the least fitness of so many counts, or a search would find luck
CHECKS = 5  # and the median of so many others is reported
PLACES = 5  # of each kind
DRAWN = 1 / 3  # of the runs; the others are mutants


def fixed(settings: list[str]) -> dict[str, Axis]:
    """Return AXES with some fixed, each by KEY=VALUE. Raises TestbedError."""
    axes = dict(AXES)
    for setting in settings:
        key, _, text = setting.partition("=")
        if key not in AXES:
            raise TestbedError(f"--fix {setting}: there is no '{key}' among {', '.join(AXES)}")
        try:
            value = text if isinstance(AXES[key].plain, str) else float(text)
        except ValueError:
            raise TestbedError(f"--fix {setting}: '{text}' is no number") from None
        if isinstance(value, str) and value not in ("tail", "codel", "pie", "fq", "cubic", "reno"):
            raise TestbedError(f"--fix {setting}: there is no '{value}'")
        axes[key] = Axis(value, AXES[key].draw, 0)
    return axes


@dataclass
class Find:
    """A scenario, its kind and fitness; confirmed: with other seeds."""

    kind: str
    scenario: Scenario
    fitness: float
    confirmed: float = -math.inf


class Hunt:
    """A search with these random numbers; base: one of BASES in the scavenger's place."""

    def __init__(
        self, pure: Pure, seed: int = 1, base: str | None = None, fix: list[str] | None = None
    ) -> None:
        """Begin with nothing. Raises TestbedError."""
        if base is not None and base not in BASES:
            raise TestbedError(f"--base {base}: there is none among {', '.join(BASES)}")
        self.pure, self.seed, self.base, self.axes = pure, seed, base, fixed(fix or [])
        self.dice, self.runs = random.Random(seed), 0
        self.places: dict[str, list[Find]] = {kind: [] for kind in KINDS}

    def _out(self, told: Words, seed: int, base: str | None, w: float = W) -> Any:
        out = self.pure.new("drive_out")
        self.pure.drive(make.drive_in(self.pure, told, seed, base, w), out)
        return out

    def _harm(self, told: Words, seed: int, theirs: int) -> float:
        without = self._out(told | {"ours": "0"}, seed, None).theirs
        if without < LEAST_PACKETS:
            return -math.inf
        rate, trip_s = float(told["rate"]), float(told["rtt"]) / 1e3
        holds = make.pps(rate) * trip_s + make.buffer_packets(told)
        count, weight = int(told["ours"]), W * int(told["ours"])
        share = max(weight / (weight + int(told["theirs"])), LEAST_WINDOW * count / holds)
        return float(1 - theirs / without - share - HARM)

    def _idle(self, told: Words, out: Any, cubic: Any) -> float:
        idle = -math.inf
        if cubic.alone >= LEAST_PACKETS:
            idle = ALONE - out.alone / cubic.alone
        after_s = float(told["end"]) - float(told["to"])
        if cubic.after >= LEAST_PACKETS:
            idle = max(idle, 1 - AFTER_S / after_s - out.after / cubic.after)
        return idle

    def _stall(self, told: Words, out: Any, cubic: Any) -> float:
        rate = float(told["rate"])
        least = min(rate, float(told["step"].partition(":")[2])) if "step" in told else rate
        full_s = float(told["rtt"]) / 1e3 + make.buffer_packets(told) / max(1, make.pps(least))
        allowed_s = max(STALL_S, 2 * cubic.silent_ms / 1e3, TRIPS * full_s)
        return float(out.silent_ms / 1e3 - allowed_s)

    def measure(self, told: Words, seed: int, kinds: tuple[str, ...] = KINDS) -> dict[str, float]:
        """Return the fitness of one seed by kind, negative where there is room."""
        out, found = self._out(told, seed, self.base), {}
        cubic = self._out(told, seed, "cubic", 1.0) if {"idle", "stall"} & {*kinds} else None
        for kind in kinds:
            if kind == "harm":
                beside = told["theirs"] != "0"
                found[kind] = self._harm(told, seed, out.theirs) if beside else -math.inf
            else:
                found[kind] = (self._idle if kind == "idle" else self._stall)(told, out, cubic)
        return found

    def least(self, scenario: Scenario, kinds: tuple[str, ...], over: float) -> dict[str, float]:
        """Return the least fitness of SEEDS seeds, or of the first few if none is above over."""
        told, found = make.words(scenario), dict.fromkeys(kinds, math.inf)
        for seed in range(self.seed, self.seed + SEEDS):
            for kind, value in self.measure(told, seed, kinds).items():
                found[kind] = min(found[kind], value)
            if max(found.values()) <= over:
                break
        return found

    def _draw(self) -> None:
        """Draw a scenario, which may take the last place of each kind."""
        scenario = {name: axis.choose(self.dice) for name, axis in self.axes.items()}
        for kind, fitness in self.least(scenario, KINDS, 0.0).items():
            places = self.places[kind]
            places.append(Find(kind, scenario, fitness))
            places.sort(key=lambda find: -find.fitness)
            del places[PLACES:]

    def _mutate(self) -> None:
        """Change a few choices of a scenario; if it is no better than before, that stays so."""
        kind = KINDS[self.runs % len(KINDS)]
        parent = self.dice.choice(self.places[kind])
        names = self.dice.sample([*self.axes], self.dice.randint(1, 3))
        scenario = parent.scenario | {name: self.axes[name].choose(self.dice) for name in names}
        fitness = self.least(scenario, (kind,), parent.fitness)[kind]
        if fitness >= parent.fitness:
            parent.scenario, parent.fitness = scenario, fitness

    def search(self, runs: int | None, seconds: float | None = None) -> None:
        """Try so many scenarios, or for so long; what comes first."""
        begun_s = time.monotonic()
        while True:
            done = self.runs / runs if runs else 0.0
            if seconds:
                done = max(done, (time.monotonic() - begun_s) / seconds)
            if done >= 1:
                return
            if done < DRAWN or not self.places[KINDS[0]]:
                self._draw()
            else:
                self._mutate()
            self.runs += 1

    def _simpler(self, find: Find, name: str, enough: float) -> bool:
        """Make one choice simpler, in place, and say whether that was possible."""
        for value in self.axes[name].simpler(find.scenario[name]):
            if value == find.scenario[name]:
                return False
            scenario = find.scenario | {name: value}
            fitness = find.fitness
            if make.words(scenario) != make.words(find.scenario):
                fitness = self.least(scenario, (find.kind,), enough)[find.kind]
            if fitness > enough:
                find.scenario, find.fitness = scenario, fitness
                return True
        return False

    def shrink(self, find: Find) -> Find:
        """Return the simplest scenario with more than half of the fitness."""
        less, enough = Find(find.kind, find.scenario, find.fitness), find.fitness / 2
        while sum(self._simpler(less, name, enough) for name in self.axes):
            pass
        return less

    def finds(self) -> list[Find]:
        """Return what was found: shrunk, once each, confirmed by other seeds, the worst first."""
        shrunk: dict[tuple[str, str], Find] = {}
        for find in itertools.chain(*self.places.values()):
            if find.fitness <= 0:
                continue
            less = self.shrink(find)
            told, kind = make.words(less.scenario), less.kind
            seeds = range(self.seed + SEEDS, self.seed + SEEDS + CHECKS)
            fitness = [self.measure(told, seed, (kind,))[kind] for seed in seeds]
            less.confirmed = sorted(fitness)[CHECKS // 2]
            if less.confirmed > 0:
                shrunk[kind, make.line(told)] = less
        return sorted(shrunk.values(), key=lambda f: (KINDS.index(f.kind), -f.confirmed))
