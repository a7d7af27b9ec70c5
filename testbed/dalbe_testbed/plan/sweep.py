# SPDX-License-Identifier: GPL-2.0-only
"""A sweep file says which runs to make: an experiment, its axes, and the seeds.

Each combination of the axes' values is a *point*; each point runs once per seed. A run's directory,

    runs/EXPERIMENT/POINT/seedN          e.g. runs/cell/cdg-g0.1-rtt50/seed3

depends on nothing but the settings, so that sweeps share the runs they have in common. Effects of
an axis are written once for all sweeps, in sweeps/axes.toml; a value that is the axis's default
changes nothing and is left out of the name. "flows.sender.KEY" is the KEY of every flow from host
`sender`. A sweep may draw *cells* at random: then each combination is one point per cell, called
cell01, cell02 and so on, and a value of the combination replaces the one drawn. Their runs lie in
runs/EXPERIMENT-SEED, by the seed of the draw.
"""

import itertools
import os
import shlex
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from dalbe_testbed.errors import TestbedError
from dalbe_testbed.paths import EXPERIMENTS, SWEEPS, TESTBED
from dalbe_testbed.plan import experiment
from dalbe_testbed.plan.experiment import Experiment, Flow, in_tree_g_ms
from dalbe_testbed.plan.explain import Model, read, validate
from dalbe_testbed.plan.link import Host
from dalbe_testbed.plan.sample import Draw, Value

RESULTS = ("manifest.json", "rates.parquet")  # of a finished run, without which it is none

PEERS = "DALBE_PEERS"
"""Variable of the environment: the directory of others' congestion controls, one in each of its own
as the peer key has it. Values of an axis whose settings name it are left out while it is unset."""

Kernel = Literal["6.1", "6.12", "7.2"]
Backend = Literal["uml", "host", "qemu"]
OfPaper = Literal["figure2", "figure3", "table1", "ablation"]
OfDeadlines = Literal["deadline", "five", "goals", "model", "robust", "scoreboard", "sessions"]
OfOwn = Literal["tradeoff", "tuning", "breadth", "dynamics", "own-flows", "impairments", "stalls"]
OfOthers = Literal["short-flows", "voice", "ledbat", "demo"]
Figure = Literal[OfPaper, OfDeadlines, OfOwn, OfOthers]
"""The uses of the runs: the CDG paper's figures; deadlines; a scavenger, and its neighbours."""


class Environment(Model):
    """Where a run takes place. hz: timer interrupts per second of the guest kernel, 100 or 250."""

    kernel: Kernel = "6.12"
    hz: Literal[100, 250] = 100
    backend: Backend = "uml"

    @property
    def name(self) -> str | None:
        """Name of the guest kernel that a run needs, "6.12-hz100"; None if it brings its own."""
        return f"{self.kernel}-hz{self.hz}" if self.backend == "uml" else None


class Axis(Model):
    """Changes that the values of an axis make: to keys, by settings, or to the environment."""

    keys: list[str] = []  # noqa: RUF012 (pydantic copies it)
    nearest_in_tree_g: bool = False
    settings: dict[str, list[str]] = {}  # noqa: RUF012 (the same)
    environment: Literal["kernel", "hz", "backend"] | None = None
    default: Value | None = None
    prefix: str | None = None
    words: str = "{}"

    def say(self, value: Value) -> str:
        """Return a value in words, "a buffer of 4 BDP"."""
        return self.words.format(value)

    def _faults(self) -> Iterator[str]:
        if sum(map(bool, (self.keys, self.settings, self.environment))) != 1:
            yield "give one of keys, settings and environment"

    def changes(self, name: str, value: Value) -> list[str]:
        """Return the `--set` settings of a value. Raises TestbedError if it knows no such."""
        if value == self.default or self.environment:
            return []
        if toml(value) in self.settings:
            peers = os.environ.get(PEERS, "")
            return [text.replace(f"${PEERS}", peers) for text in self.settings[toml(value)]]
        if self.settings:
            usual = [] if self.default is None else [toml(self.default)]
            known = ", ".join(dict.fromkeys([*usual, *self.settings]))
            raise TestbedError(f"{name} = {value!r}: say one of {known}")
        if self.nearest_in_tree_g:
            if isinstance(value, str | bool) or value <= 0:
                raise TestbedError(f"{name} = {value!r}: say a number of ms above 0")
            value = in_tree_g_ms(value)
        return [f"{key}={toml(value)}" for key in self.keys]

    def lacks_peers(self, value: Value) -> bool:
        """Return whether a value's settings name the peers' directory, and nobody has."""
        named = any(f"${PEERS}" in text for text in self.settings.get(toml(value), []))
        return named and not os.environ.get(PEERS)


class InRtts(Model):
    """A time that grows with the base RTT: so many RTTs, plus seconds, but at least so many."""

    rtts: Annotated[float, Field(ge=0)]
    plus_s: Annotated[float, Field(ge=0)] = 0
    at_least_s: Annotated[float, Field(ge=0)] = 0

    def seconds(self, rtt_ms: float) -> float:
        """Return the time in whole milliseconds of a second, for a base RTT in ms."""
        return round(max(self.rtts * rtt_ms / 1e3 + self.plus_s, self.at_least_s), 3)


class _Grid(BaseModel):
    """One [[grid]]: lists of values by axis, and times in base RTTs by axis."""

    model_config = ConfigDict(extra="allow", frozen=True)
    __pydantic_extra__: dict[str, list[Value]]

    in_rtts: dict[str, InRtts] = {}

    @property
    def lists(self) -> dict[str, list[Value]]:
        """The values of each axis."""
        return self.__pydantic_extra__

    @property
    def left_out(self) -> list[str]:
        """Values whose points are not there, as nobody named the peers' directory."""
        pairs = [(axis(name), value) for name, values in self.lists.items() for value in values]
        return [str(value) for of, value in pairs if of.lacks_peers(value)]


class _File(Model):
    """The schema of sweeps/*.toml."""

    title: str
    experiment: str
    figure: Figure | None = None
    vary: str | None = None
    last_s: Annotated[float, Field(gt=0, le=1e6)] | None = None
    seeds: Annotated[int, Field(ge=1, le=10_000)]
    draw: Draw | None = None
    grid: Annotated[list[_Grid], Field(min_length=1)]

    def _faults(self) -> Iterator[str]:
        if (self.figure == "ablation") != (self.vary is not None):
            yield "figure = 'ablation' and vary = AXIS go together"
        if self.vary is not None and axis(self.vary).default is None:
            yield f"vary = '{self.vary}': an axis with a default in axes.toml"
        if self.vary is not None and not all(self.vary in grid.lists for grid in self.grid):
            yield f"vary = '{self.vary}' is not an axis of every [[grid]]"


@dataclass(frozen=True)
class Point:
    """One combination of values. `values` are as in the sweep file, defaults included.

    cell: the drawn cell that it belongs to, if cells are drawn; draw: from this seed.
    """

    name: str
    file: Path
    experiment: Experiment
    settings: tuple[str, ...]
    environment: Environment
    values: dict[str, Value] = field(hash=False)
    cell: str | None = None
    draw: int | None = None

    @property
    def directory(self) -> str:
        """Where its runs go, relative to the output directory."""
        drawn = "" if self.draw is None else f"-{self.draw}"
        return f"runs/{self.experiment.name}{drawn}/{self.name}"


@dataclass(frozen=True)
class Run:
    """A point and a seed."""

    point: Point
    seed: int

    @property
    def directory(self) -> str:
        """Where the run goes, relative to the output directory."""
        return f"{self.point.directory}/seed{self.seed}"

    def words(self, *, file: Path | None = None) -> list[str]:
        """Return the words of its command line, without kernel, module and output directory.

        file: how to name the experiment file, by default with its absolute path.
        """
        words = ["dalbe-testbed", "run", str(file or self.point.file), "--seed", str(self.seed)]
        for setting in self.point.settings:
            words += ["--set", setting]
        if self.point.environment.backend != "uml":
            words += ["--backend", self.point.environment.backend]
        return words

    def replay(self) -> str:
        """Return the shell command, typed at the top of a clone, that makes this run again."""
        inside = self.point.file.is_relative_to(TESTBED)
        file = self.point.file.relative_to(TESTBED.parent) if inside else self.point.file
        command = shlex.join(self.words(file=file))
        environment, what = self.point.environment, self.point.experiment
        if environment.name:
            arguments = kernel_arguments(environment.kernel, environment.hz)
            kernel = " ".join(["testbed/guest/build-kernel.sh", *arguments])
            if any(what.by_dalbectl(flow) for flow in what.flows):
                command += " --dalbectl tools/dalbectl"
            command = (
                f'kernel=$({kernel}) && {command} --kernel "$kernel"'
                ' --module "$(scripts/guest-module.sh "$kernel")"'
            )
        return f"{command} --out replay/{self.point.name}-seed{self.seed}"


def kernel_arguments(series: str, hz: int) -> list[str]:
    """Return the arguments of build-kernel.sh for a kernel series and HZ of 100 or 250."""
    usual = Environment()
    own = [] if series == usual.kernel else ["--series", series]
    return [*own, "plain" if hz == usual.hz else f"hz{hz}"]


@dataclass(frozen=True)
class Sweep:
    """A sweep file, read and checked. `name` is the file's, without .toml.

    last_s: the seconds at the end of a phase that count, see tradeoff.windows(). left_out: values
    of axes whose points are not there, as nobody named the peers' directory.
    """

    name: str
    title: str
    figure: Figure | None
    vary: str | None
    last_s: float | None
    seeds: tuple[int, ...]
    points: tuple[Point, ...]
    left_out: tuple[str, ...] = ()

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """All its runs: first one seed of every point, so that a sweep cut short has them all."""
        return tuple(Run(point, seed) for seed in self.seeds for point in self.points)


@cache
def axes() -> dict[str, Axis]:
    """Return the axes of sweeps/axes.toml, in the order in which they name a point."""
    path = SWEEPS / "axes.toml"
    return validate(dict[str, Axis], read(path), path.name)


def axis(name: str) -> Axis:
    """Return an axis by name; a dotted key of the experiment is an axis of its own."""
    known = axes().get(name)
    return known or Axis(keys=[name], prefix=name.rpartition(".")[2])


def toml(value: Value) -> str:
    """Return a value as TOML has it, a string without its quotes."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def label(name: str, value: Value) -> str:
    """Return how a value of an axis appears in a point's name: "rtt50", for 50 as for 50.0."""
    prefix = axis(name).prefix
    short = f"{value:g}" if isinstance(value, float) else toml(value)
    return f"{name if prefix is None else prefix}{short}"


def _environment(values: dict[str, Value]) -> Environment:
    chosen = {axis(name).environment: value for name, value in values.items()}
    chosen.pop(None, None)
    environment = validate(Environment, chosen, "")
    if environment.name is None and environment != Environment(backend=environment.backend):
        raise TestbedError("kernel and hz are for backend = 'uml', not for the others")
    return environment


@cache
def _flows(file: Path, counts: tuple[str, ...]) -> list[Flow]:
    """Return an experiment's flows; counts: settings of their numbers."""
    return experiment.load(file, list(counts)).flows


def _of_every_flow(file: Path, setting: str, counts: tuple[str, ...]) -> list[str]:
    """Return a setting for each flow that it means: those of a host, if it names one."""
    flows, _, rest = setting.partition(".")
    host, _, change = rest.partition(".")
    if flows != "flows" or host not in get_args(Host):
        return [setting]
    return [f"flows.{f.name}.{change}" for f in _flows(file, counts) if f.host == host]


def _experiment(name: str, sweep: Path) -> Path:
    """Return an experiment's file: beside the sweep's, or one of testbed/experiments.

    A sweep is no experiment, even if it is called like one.
    """
    for file in (sweep.with_name(name), EXPERIMENTS / name):
        if file.is_file() and file != sweep and file.parent != SWEEPS:
            return file
    raise TestbedError(f"experiment: there is no file {name}")


def _settings(file: Path, names: Iterable[str], values: dict[str, Value]) -> list[str]:
    settings: list[str] = []
    owner: dict[str, str] = {}  # of each key: the axis that sets it
    for name in names:
        if "." not in name and name not in axes() and name not in Experiment.model_fields:
            raise TestbedError(
                f"'{name}' is no axis: say one of {', '.join(axes())}, "
                "or a dotted key of the experiment such as link.rate_mbps"
            )
        for setting in axis(name).changes(name, values[name]):
            counts = tuple(filter(experiment.sets_count, settings))
            for changed in _of_every_flow(file, setting, counts):
                key = changed.partition("=")[0]
                if owner.setdefault(key, name) != name:
                    raise TestbedError(f"{owner[key]} and {name} both set {key}")
                settings.append(changed)
    return settings


def _point(file: Path, values: dict[str, Value], naming: Container[str], cell: str | None) -> Point:
    """Return the point of a combination of values of `file`; its name says those in `naming`."""
    order = list(axes())
    names = sorted(values, key=lambda n: (order.index(n), "") if n in order else (len(order), n))
    settings = _settings(file, names, values)
    own = [name for name in names if name in naming and values[name] != axis(name).default]
    parts = [label(name, values[name]) for name in own]
    point = "-".join(filter(None, [cell, *parts])) or "base"
    if "/" in point:
        raise TestbedError(f"{point}: a value that names a directory must not hold '/'")
    try:
        what = experiment.load(file, settings)
    except TestbedError as error:
        raise TestbedError(f"{point}: {error}") from None
    environment = _environment(values)
    if environment.name is None and any(flow.ours for flow in what.flows):
        raise TestbedError(
            f"{point}: sweeps bring no dalbe.ko for backend {environment.backend}: "
            "say cc = cdg, or type the run's own command with --module"
        )
    return Point(point, file, what, tuple(settings), environment, values, cell)


def _times(grid: _Grid, values: dict[str, Value]) -> dict[str, Value]:
    """Return the grid's times in RTTs, which need one of the two axes of the RTT."""
    rtt_ms = values.get("link.rtt_ms", values.get("rtt"))
    if grid.in_rtts and not isinstance(rtt_ms, int | float):
        raise TestbedError("grid.in_rtts: needs numbers of rtt or link.rtt_ms")
    return {key: time.seconds(float(rtt_ms or 0)) for key, time in grid.in_rtts.items()}


def _points(file: Path, grid: _Grid, draw: Draw | None) -> Iterator[Point]:
    """Yield a point for each combination of values, cell by cell if cells are drawn."""
    for name, values in grid.lists.items():
        if not values or len(set(values)) < len(values):
            raise TestbedError(f"grid.{name}: give values, each of them once")
    for number in range(1, draw.cells + 1) if draw else (0,):
        drawn = draw.cell(number) if draw else {}
        for combination in itertools.product(*grid.lists.values()):
            listed = dict(zip(grid.lists, combination, strict=True))
            merged = drawn | listed
            if any(axis(name).lacks_peers(value) for name, value in merged.items()):
                continue
            cell = f"cell{number:0{len(str(draw.cells))}d}" if draw else None
            own = listed.keys() - drawn.keys()
            point = _point(file, merged | _times(grid, merged), own, cell)
            yield replace(point, draw=draw.seed) if draw else point


def find(name: str) -> Path:
    """Return the file of a sweep given by name ("figure3") or by path.

    What follows a colon ("figure3-full:3") stays at the end: see load().
    """
    name, colon, seeds = name.partition(":")
    file = SWEEPS / f"{name}.toml" if name == Path(name).stem else Path(name).resolve()
    return file.with_name(file.name + colon + seeds)


def load(path: Path) -> Sweep:
    """Read a sweep file, and each of its points' experiment. Raises TestbedError.

    The experiment's file is one of testbed/experiments, or relative to the sweep's own. A number
    behind a colon in `path` limits the seeds.
    """
    name, _colon, limit = path.name.partition(":")
    path = path.with_name(name)
    if limit and not (limit.isdigit() and int(limit)):
        raise TestbedError(f"{name}:{limit}: behind the colon goes how many seeds to make at most")
    if not path.is_file() and path.parent == SWEEPS:
        known = sorted(p.stem for p in SWEEPS.glob("*.toml") if p.stem != "axes")
        raise TestbedError(f"no sweep '{path.stem}': say one of {', '.join(known)}, or name a file")
    data = validate(_File, read(path), path.name)
    points: dict[str, Point] = {}
    try:
        file = _experiment(data.experiment, path)
        for point in itertools.chain(*(_points(file, grid, data.draw) for grid in data.grid)):
            same = points.setdefault(point.name, point)
            if same.settings != point.settings:
                raise TestbedError(f"two points are called {point.name}: rename an axis")
    except TestbedError as error:
        raise TestbedError(f"{path.name}: {error}") from None
    return Sweep(
        name=path.stem,
        **data.model_dump(include={"title", "figure", "vary", "last_s"}),
        seeds=tuple(range(1, min(data.seeds, int(limit or data.seeds)) + 1)),
        points=tuple(points.values()),
        left_out=tuple(dict.fromkeys(value for grid in data.grid for value in grid.left_out)),
    )


def all_runs(sweeps: Iterable[Sweep]) -> dict[str, Run]:
    """Return the runs of several sweeps by directory, those they share once.

    Raises TestbedError if two sweeps want different runs in one directory.
    """
    runs: dict[str, Run] = {}
    for sweep in sweeps:
        for run in sweep.runs:
            same, own = runs.setdefault(run.directory, run).point, run.point
            if (same.experiment, same.environment) != (own.experiment, own.environment):
                raise TestbedError(f"{sweep.name}: another sweep uses {run.directory} differently")
    return runs
