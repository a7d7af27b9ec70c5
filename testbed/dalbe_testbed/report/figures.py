# SPDX-License-Identifier: GPL-2.0-only
"""The figures in the documents, filled in from the tables in docs/results.

A figure stands between two comments that a reader does not see:

    done after <!--demo:cubic-->158 s<!--/-->

docs/results/figures.toml says what `demo` is: an SQL statement over the tables (polars' dialect;
a table is named by its path there), in which the words behind the colons take the places {0}, {1}
and so on; and how a row of its answer is written. Several rows are several lines.
"""

import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any, Literal

import polars as pl

from dalbe_testbed.errors import TestbedError
from dalbe_testbed.paths import TESTBED
from dalbe_testbed.plan.explain import Model, read, validate

REPOSITORY = TESTBED.parent
RESULTS = Path("docs/results")
"""Where the tables are, below the repository."""

MARKED = re.compile(
    r"<!--(?!given|not-kept)([a-z][\w.-]*)((?::[^\s:>]+)*)-->(.*?)<!--/-->", re.DOTALL
)
HIDES = re.compile(r"(?m)^(?:[ >]*(?:[-*] +)?)<!--(?:/|[a-z])[^\s>]*-->(?=.)")
"""A comment that begins a line, or an item: what follows on the line would be shown as it is."""

TABLE = re.compile(r'"([\w./-]+\.csv)"')
"""A table in a statement."""

UNITS = r"%|points|[mu]?s|[kMG]bit/s|rounds|instructions|of (?:the )?\d+"
MEASURED = re.compile(rf"(?<![\w.^*/-])\d[\d.,]*(?: to \d[\d.,]*)* (?:{UNITS})(?![\w/])")
"""Looks like a measured figure: a number, or a range, with a unit or a whole."""

ASIDE = re.compile(r"<!--(given|not-kept)-->.*?<!--/\1-->", re.DOTALL)
"""Figures that are no results (settings, constants), or results whose runs were not kept."""

LINK = re.compile(r"\]\(([^)\s#:]+)(?:#[^)]*)?\)")
"""A link to a file or directory of the repository."""

NOT_PROSE = re.compile(r"(?ms)^```.*?^```|^ {4}[^\n]*$|`[^`]*`|\]\([^)]*\)")
"""Code, commands, and where links go."""


class Figure(Model):
    """What a marker stands for: a statement, and how a row of its answer is written.

    write: Python's format of a row; several, by name, for markers that say `NAME.FORM`. between:
    what stands between rows.
    """

    sql: str
    write: str | dict[str, str]
    between: str = "\n"

    def form(self, name: str) -> str:
        """Return how a row is written, of several ways the one of that name."""
        if isinstance(self.write, str) == bool(name):
            raise TestbedError("a name behind a dot is for figures with several ways to write")
        return self.write if isinstance(self.write, str) else self.write[name]


class Declared(Model):
    """docs/results/figures.toml.

    figures: by name. modules: the commit of tables that name no module, by the beginning of the
    path; and of builds, by the first digits of the SHA-256 of dalbe.ko. without: how many figures
    a document may have that come from no table and are not marked as ASIDE. given: regular
    expressions of settings, which are not counted. commands: what makes tables that `make results`
    does not make, by the beginning of the path. draws: "developed on" or "held out", of tables
    whose cells were drawn, by the beginning of the path.
    """

    figures: dict[str, Figure]
    modules: dict[str, str]
    commands: dict[str, str]
    draws: dict[str, Literal["developed on", "held out"]] = {}  # noqa: RUF012 (pydantic copies it)
    without: dict[str, int]
    given: list[str]


class _Writer(Formatter):
    """str.format(), but what is not there is a dash."""

    def format_field(self, value: Any, format_spec: str) -> str:
        return "-" if value is None else str(format(value, format_spec))


def declared(root: Path = REPOSITORY) -> Declared:
    """Return what figures.toml of a repository says. Raises TestbedError."""
    path = root / RESULTS / "figures.toml"
    return validate(Declared, read(path), path.name)


def draw(table: str | Path, root: Path = REPOSITORY) -> str:
    """Return "developed on" or "held out" of a table whose cells were drawn, else nothing."""
    known = declared(root).draws
    return next((how for start, how in known.items() if str(table).startswith(start)), "")


@cache
def table(path: Path) -> pl.DataFrame:
    """Return a table; the type of a column is that of all its values. Raises TestbedError."""
    try:
        names = dict.fromkeys(("module", "commit"), pl.String)  # not 1e12345, a number
        return pl.read_csv(path, infer_schema_length=None, schema_overrides=names)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise TestbedError(f"{path}: {str(error).splitlines()[0]}") from None


def text_of(figure: Figure, form: str, words: list[str], root: Path = REPOSITORY) -> str:
    """Return what a marker stands for: NAME, .form, and :words. Raises TestbedError."""
    sql = figure.sql.format(*words)
    frames = {name: table(root / RESULTS / name) for name in TABLE.findall(sql)}
    try:
        with pl.SQLContext(frames=frames, eager=True) as context:
            rows = context.execute(sql).to_dicts()
        if not rows:
            raise TestbedError("no row")
        return figure.between.join(_Writer().vformat(figure.form(form), (), row) for row in rows)
    except (pl.exceptions.PolarsError, ValueError, LookupError) as error:
        raise TestbedError(f"{type(error).__name__}: {str(error).splitlines()[0]}") from None


def unmarked(text: str, given: list[str]) -> list[str]:
    """Return the figures of a document that come from no table and are not marked as ASIDE."""
    for aside in (MARKED, ASIDE, NOT_PROSE):
        text = aside.sub(" ", text)
    text = _plain(text)
    for setting in given:
        text = re.sub(setting, " ", text)
    return MEASURED.findall(text)


def _plain(text: str) -> str:
    """Return a figure without what a document may do to it: other blanks, bold."""
    return " ".join(text.replace("**", "").split())


def filled(text: str, figures: Mapping[str, Figure], root: Path = REPOSITORY) -> str:
    """Return a document with all its figures as their tables have them; the others stay.

    Raises TestbedError.
    """

    def fill(found: re.Match[str]) -> str:
        name, words, now = found.groups()
        marker = name + words
        name, _, form = name.partition(".")
        if name not in figures:
            raise TestbedError(f"{marker}: figures.toml has no such figure")
        try:
            own = text_of(figures[name], form, words.split(":")[1:], root)
        except (TestbedError, LookupError) as error:
            raise TestbedError(f"{marker}: {error}") from None
        if _plain(own) == _plain(now):
            return found.group()
        head, tail = re.match(r"\s*", now), re.search(r"\s*$", now)  # rows have lines of their own
        blanks = (head.group() if head else "", tail.group() if tail else "")
        return f"<!--{marker}-->{blanks[0]}{own}{blanks[1]}<!--/-->"

    return MARKED.sub(fill, text)


def documents(root: Path = REPOSITORY) -> list[Path]:
    """Return README and the documents, below the repository."""
    return [Path("README.md"), *sorted(p.relative_to(root) for p in root.glob("docs/**/*.md"))]


def _linked(root: Path) -> Iterator[Path]:
    """Yield what the documents link to, below docs/results: files, and those of a directory."""
    for document in documents(root):
        for target in LINK.findall((root / document).read_text()):
            path = (root / document).parent / target
            files = path.iterdir() if path.is_dir() else [path]
            yield from (Path(os.path.relpath(file, root / RESULTS)) for file in files)


def _used(root: Path, figures: Mapping[str, Figure]) -> Iterator[Path]:
    """Yield the tables that figures of the documents are taken from, below docs/results."""
    for document in documents(root):
        for name, words, _ in MARKED.findall((root / document).read_text()):
            if figure := figures.get(name.partition(".")[0]):
                found = TABLE.findall(figure.sql)
                yield from (Path(name.format(*words.split(":")[1:])) for name in found)


def quoted(root: Path = REPOSITORY) -> set[Path]:
    """Return the tables and pictures of docs/results, below it, that the documents use or name."""
    return {*_linked(root), *_used(root, declared(root).figures)}


def results(root: Path = REPOSITORY) -> list[Path]:
    """Return all tables and pictures, below docs/results."""
    files = (p for p in (root / RESULTS).rglob("*") if p.is_file() and p.suffix != ".toml")
    return sorted(path.relative_to(root / RESULTS) for path in files)


def _differences(document: Path, text: str, own: str) -> Iterator[str]:
    """Yield a line for each figure of a document that is not its table's."""
    for now, then in zip(MARKED.finditer(text), MARKED.finditer(own), strict=True):
        if now.group() != then.group():
            line = text.count("\n", 0, now.start()) + 1
            marker = now.group(1) + now.group(2)
            yield f"{document}:{line}: {marker}: '{_plain(now.group(3))}', the table has " + (
                f"'{_plain(then.group(3))}'"
            )


def check(root: Path = REPOSITORY, *, write: bool = False) -> list[str]:
    """Return what is wrong in the documents, a line each; write: mend differences first."""
    wrong: list[str] = []
    known = declared(root)
    for document in documents(root):
        text = (root / document).read_text()
        wrong += [
            f"{document}:{text.count(chr(10), 0, at.start()) + 1}: a marker begins the line"
            for at in HIDES.finditer(text)
        ]
        try:
            own = filled(text, known.figures, root)
        except TestbedError as error:
            wrong.append(f"{document}: {error}")
            continue
        if write and own != text:
            (root / document).write_text(own)
        elif own != text:
            wrong += _differences(document, text, own)
    for name, allowed in known.without.items():
        left = unmarked((root / name).read_text(), known.given)
        if len(left) > allowed:
            wrong.append(
                f"{name}: {len(left)} figures have no table and do not say so, "
                f"figures.toml allows {allowed}: {', '.join(left)}"
            )
    named, there = quoted(root), results(root)
    wrong += [f"{RESULTS / p}: no document quotes it" for p in there if p not in named]
    lost = sorted(path for path in named if not (root / RESULTS / path).exists())
    wrong += [f"{RESULTS / path}: a document quotes it, and it is not there" for path in lost]
    return wrong
