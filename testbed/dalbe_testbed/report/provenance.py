# SPDX-License-Identifier: GPL-2.0-only
"""Of which module the tables in docs/results are, which are older, and what makes them again.

A table names its module, a commit, in a column; else runs.csv beside it does, or figures.toml.
"""

import re
import subprocess
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import polars as pl

from dalbe_testbed.paths import SWEEPS
from dalbe_testbed.report import figures

COMMIT = re.compile(r"[0-9a-f]{7,40}")


@dataclass(frozen=True)
class Origin:
    """A table, and the modules that made its rows.

    behind: of each module, how many commits have changed the module's sources since; 0: they are
    those here; None: it is not known, as no commit of this repository is named.
    """

    table: Path
    behind: dict[str, int | None]

    @property
    def is_of_here(self) -> bool:
        """Whether all its rows are of the module whose sources are here."""
        return bool(self.behind) and not any(count != 0 for count in self.behind.values())

    def __str__(self) -> str:
        """Return a line for people."""
        words = {None: "no commit of this repository", 0: "as here"}
        said = (f"{m}: {words.get(n, f'{n} changes since')}" for m, n in self.behind.items())
        return f"{self.table}: {'; '.join(said) or 'names no module'}"


def _git(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", "-C", root, *words], capture_output=True, text=True, check=False)


def _said(root: Path, function: str) -> list[str]:
    """Return the lines that a function of scripts/common.sh says of a repository."""
    script = f'. "{figures.REPOSITORY}/scripts/common.sh"; repo=$1; {function}'
    words = ["bash", "-c", script, "-", str(root)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stdout.split()


@cache
def _sources(root: Path) -> list[str]:
    """Return the module's sources, as git names them."""
    return _said(root, "module_sources")


@cache
def behind(root: Path, module: str) -> int | None:
    """Return how many commits have changed the sources since a module, as Origin has it."""
    commit = COMMIT.match(module)
    if not commit or _git(root, "cat-file", "-e", f"{commit[0]}^{{commit}}").returncode:
        return None
    sources = _sources(root)
    if not _git(root, "diff", "--quiet", commit[0], "--", *sources).returncode:
        return 0
    count = _git(root, "rev-list", "--count", f"{commit[0]}..HEAD", "--", *sources).stdout
    return max(1, int(count))  # not committed yet


def here(root: Path = figures.REPOSITORY) -> str:
    """Return the commit that changed the module's sources last, as dalbe.ko's manifest has it."""
    return "".join(_said(root, "module_commit"))


def column(frame: pl.DataFrame) -> str | None:
    """Return the column of a table that names the module, if one does."""
    return next((name for name in ("module", "commit") if name in frame.columns), None)


def _named(path: Path) -> set[str]:
    """Return the modules that the rows of a table name; nothing is a flow without one."""
    frame = figures.table(path)
    name = column(frame)
    return set(frame[name].drop_nulls()) - {""} if name else set()


def made(root: Path) -> Iterator[tuple[Path, str | None, str]]:
    """Yield each table with the sweep that makes it, if one does, else with its command, if any."""
    commands = figures.declared(root).commands
    for table in figures.results(root):
        if table.suffix == ".csv" and table.name != "runs.csv":
            command = next(
                (it for start, it in commands.items() if str(table).startswith(start)), None
            )
            name = re.sub("-(summary|curves)$", "", table.stem)
            is_sweep = command is None and (SWEEPS / f"{name}.toml").exists()
            yield table, name if is_sweep else None, command or ""


def sweeps(root: Path = figures.REPOSITORY) -> list[str]:
    """Return the sweeps that make tables which the documents quote. Raises TestbedError."""
    return sorted({name for _, name, _ in made(root) if name})


def by_hand(root: Path = figures.REPOSITORY) -> Iterator[tuple[Path, str]]:
    """Yield tables that those do not make, each with its command, empty if none is kept."""
    yield from ((table, command) for table, name, command in made(root) if not name)


def edited_draws(root: Path = figures.REPOSITORY) -> Iterator[str]:
    """Yield a line for each draw that is not, to the letter, the first committed of its seed."""
    for file in sorted((root / SWEEPS.relative_to(figures.REPOSITORY)).glob("*.toml")):
        if draw := tomllib.loads(file.read_text()).get("draw"):
            path, seed = file.relative_to(root), f"seed = {draw['seed']}"
            log = _git(root, "log", "--reverse", "--format=%h", f"-S{seed}", "--", str(path))
            first = next(iter(log.stdout.split()), "")
            then = tomllib.loads(_git(root, "show", f"{first}:{path}").stdout) if first else {}
            if not first:
                yield f"{path}: commit the draw, alone, before its first run"
            elif then["draw"] != draw:
                yield f"{path}: the draw was changed after {first}: give a new one a new seed"


def unnamed_draws(root: Path = figures.REPOSITORY) -> Iterator[str]:
    """Yield a line for each table of a sweep that draws, of which figures.toml does not say how."""
    for table, name, _command in made(root):
        draws = name and "draw" in tomllib.loads((SWEEPS / f"{name}.toml").read_text())
        if draws and not figures.draw(table, root):
            yield f"{table}: figures.toml's [draws] has to say developed on, or held out"


def origin(table: Path, root: Path = figures.REPOSITORY) -> Origin:
    """Return a table, below docs/results, with the modules that made it. Raises TestbedError."""
    known = figures.declared(root).modules
    path = root / figures.RESULTS / table
    beside = path.with_name("runs.csv")
    found = _named(path) or (_named(beside) if beside.exists() else set())
    found = found or {m for start, m in known.items() if str(table).startswith(start)}
    names = sorted({known.get(module, module) for module in found})
    return Origin(table, {name: behind(root, name) for name in names})


def origins(root: Path = figures.REPOSITORY) -> Iterator[Origin]:
    """Yield each table with the modules that made it. Raises TestbedError."""
    yield from (origin(table, root) for table in figures.results(root) if table.suffix == ".csv")
