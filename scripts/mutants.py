#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Mutants of C code: find the small faults that the fast tests of a file do not find.

In a copy of this tree, one fault at a time: a comparison flipped or off by one, + for -, && for ||,
a constant one more or halved, a condition negated, another return, a statement deleted. They are
drawn in turn from these kinds; the same seed draws the same ones. One that does not compile, or
compiles to the same instructions, is none. The rest are killed by a test, or survive.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PYTEST = "scripts/pytest.sh -x -m 'not slow' "
TESTS = {
    "core/scavenger/path_memory.c": ("path_memory", "sender"),
    "core/scavenger/scavenger.c": ("gather", "path_memory", "sender"),
    "core/sender.c": ("cuts", "cdg", "streams", "base_least", "base_cubic", "vegas",
                      "path_memory", "sender"),
    "core/bases/cdg.c": ("cdg", "sender"),
    "core/control/control.c": ("numeric", "control", "job"),
    "core/control/equations.c": ("numeric", "control"),
    "core/control/job.c": ("job",),
}  # fmt: skip
"""Files of tests, the fastest first. Another file of tools/ has `make -C tools test`."""

UNITS = {
    "tools/human.c": "test_human",
    "tools/window.c": "test_window",
    "tools/learn.c": "test_record",
    "tools/plan.c": "test_record plan record",
    "tools/record.c": "test_record plan record report",
}
"""Of files of tools/ that know no socket, the program that tests them and tests of dalbectl."""

GUEST = {
    "kernel/goal.c": "before connect|UPDATE|CLEAR|waiting|time left|to cubic and back|on the fly|"
                     "override the sysctls|read back|in the past|from its own|job: what all|"
                     "job: the first|job: updates|path: a group",
    "kernel/device.c": "refuse|in the past|misaligned|read-only|read back|before connect|UPDATE",
}  # fmt: skip
"""Of the module's own part, names of guest tests: each mutant is built and booted, a minute."""

COMPILE = {
    "core": "-std=gnu11 -I. -Iport/user -Wall -Werror",
    "tools": "-std=gnu11 -I. -D_GNU_SOURCE -include version.h -Wall -Wextra -Werror",
}

HIDDEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|^#[^\n]*(?:\\\n[^\n]*)*', re.S | re.M)
FLIPPED = {"<": "<= >=", "<=": "< >", ">": ">= <=", ">=": "> <", "==": "!=", "!=": "=="}
OTHERS = {"+": "-", "-": "+", "+=": "-=", "-=": "+=", "&&": "||", "||": "&&"}
RULES: dict[str, tuple[str, Callable[[str], list[str]]]] = {
    "comparison": (r" ([<>]=?|[!=]=) ", lambda old: FLIPPED[old].split()),
    "operator": (r" ([+-]=?|&&|\|\|)\s", lambda old: [OTHERS[old]]),
    "constant": (r"(?<![\w.])(\d+U?|NAMES)\b", lambda old: [f"({old} + 1)", f"({old} / 2)"]),
    "condition": (
        r"\b(?:if|while) \(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)", lambda old: [f"!({old})"],
    ),
    "return": (r"\breturn ([^;]+);", lambda old: ["0", f"!({old})"]),
    "deletion": (r"^\t+(?!return |case |default|break)(\w[^;{}]*;)$", lambda _old: [";"]),
}  # fmt: skip
"""Of each kind, what it changes, and into what. NAMES: of constants."""


class Mutant(NamedTuple):
    """A part of a file, from start to end, and what stands there instead."""

    start: int
    end: int
    new: str


def kinds(text: str, constants: set[str]) -> list[list[Mutant]]:
    """Return every mutant of a file, by kind."""
    code = HIDDEN.sub(lambda it: re.sub(r"[^\n]", " ", it[0]), text)
    bodies = [it.span() for it in re.finditer(r"^\{$.*?^\}", code, re.S | re.M)]
    return [
        [
            Mutant(*it.span(1), new)
            for it in re.finditer(rule.replace("NAMES", "|".join(sorted(constants))), code, re.M)
            if any(start < it.start() < end for start, end in bodies)
            for new in change(it[1])
        ]
        for rule, change in RULES.values()
    ]


def instructions(tree: Path, name: str) -> bytes | None:
    """Return a file's assembly, without what tells of lines; None if it does not compile."""
    command = f"gcc -O1 -S -o - {COMPILE.get(name.partition('/')[0])} {name}"
    if name in GUEST:
        made = name.replace(".c", ".s")
        command = (
            f"make -s -C $(testbed/guest/build-kernel.sh plain) ARCH=um M=$PWD {made} >/dev/null"
            f" && cat {made}"
        )
    done = subprocess.run(command, shell=True, cwd=tree, capture_output=True, check=False)
    return None if done.returncode else done.stdout


def passes(tree: Path, name: str, log: Path) -> bool:
    """Return whether all tests of a file pass. One that takes a quarter of an hour does not."""
    files = " ".join(f"tests/python/test_{it}.py" for it in TESTS.get(name, ()))
    command = PYTEST + files if files else "make -C tools test"
    if name in UNITS:
        unit, *rest = UNITS[name].split()
        command = f"cd tools && make -s all {unit} tests/shim.so tests/sender && ./{unit}"
        if rest:
            command += " && python3 tests/test_dalbectl.py " + " ".join(f"test_{it}" for it in rest)
    if name in GUEST:
        command = f"tests/guest/run.sh -p -t '{GUEST[name]}'"
    with log.open("w") as out:
        run = subprocess.Popen(
            command, shell=True, cwd=tree, stdout=out, stderr=out, start_new_session=True
        )
        try:
            return run.wait(900) == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            if run.poll() is None:
                os.killpg(run.pid, signal.SIGKILL)
                run.wait()


def draw(made: list[list[Mutant]], seed: str) -> Iterator[Mutant]:
    """Return mutants in an order that the seed sets, of each kind in turn."""
    rng = random.Random(seed)
    for some in made:
        rng.shuffle(some)
    while any(made):
        for some in made:
            if some:
                yield some.pop()


def examine(tree: Path, name: str, count: int, seed: int) -> tuple[int, list[str]]:
    """Make so many mutants of a file; return how many were killed, and the survivors."""
    file, log, killed, survivors = tree / name, tree / "mutant.log", 0, list[str]()
    text, before = file.read_text(), instructions(tree, name)
    if before is None or not passes(tree, name, log):
        sys.exit(f"mutants: {name} as it is does not pass:\n{log.read_text()[-2000:]}")
    found = [*tree.glob("core/**/*.h"), tree / "dalbe_ctl.h"]
    headers = "".join(header.read_text() for header in found) + text
    constants = set(re.findall(r"^#\s*define ([A-Z]\w+)\s+\(?[\d-]", headers, re.M))
    for it in draw(kinds(text, constants), f"{seed} {name}"):
        if killed + len(survivors) == count:
            break
        file.write_text(text[: it.start] + it.new + text[it.end :])
        now = instructions(tree, name)
        if now is not None and now != before:
            line = text.count("\n", 0, it.start) + 1
            old = " ".join(text[it.start : it.end].split())
            said = f"{name}:{line}: {old} -> {' '.join(it.new.split())}"
            alive = passes(tree, name, log)
            killed += not alive
            survivors += [said] * alive
            print("SURVIVED" if alive else "killed  ", said, flush=True)
    file.write_text(text)
    return killed, survivors


def main() -> None:
    """Print what became of each mutant, then the sums and the survivors."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-n", type=int, default=50, help="how many, of all files (default: 50)")
    parser.add_argument("-s", "--seed", type=int, default=1)
    named = ", ".join([*TESTS, *UNITS, *GUEST])
    parser.add_argument("file", nargs="*", default=list(TESTS), help=f"{named}, another of tools/")
    given = parser.parse_args()
    if wrong := [
        name for name in given.file if name not in TESTS | GUEST and not name.startswith("tools/")
    ]:
        parser.error(f"no tests are named for {wrong[0]}: see TESTS in this script")
    outcome = {}
    with tempfile.TemporaryDirectory() as directory:
        tree = Path(directory)
        listed = subprocess.check_output(
            ["git", "ls-files", "-zco", "--exclude-standard"], cwd=ROOT
        )
        for name in filter(None, listed.decode().split("\0")):
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name, follow_symlinks=False)
        for n, name in enumerate(given.file):
            share = given.n * (n + 1) // len(given.file) - given.n * n // len(given.file)
            outcome[name] = examine(tree, name, share, given.seed)
    for name, (killed, survivors) in outcome.items():
        print(
            f"{name}: {killed} of {killed + len(survivors)} killed",
            *survivors,
            sep="\n  survived: ",
        )


if __name__ == "__main__":
    main()
