# SPDX-License-Identifier: GPL-2.0-only
"""The pure code decides the same on processors of 32 bits, and on one that is big-endian."""

import shutil
import subprocess
from pathlib import Path

import pytest
from dalbe_testbed.paths import TESTBED

REPOSITORY = TESTBED.parent
SOURCES = ["sim/tools/grid.c", *(f"sim/{path.name}" for path in (REPOSITORY / "sim").glob("*.c"))]
SOURCES += [str(path.relative_to(REPOSITORY)) for path in (REPOSITORY / "core").rglob("*.c")]

# The simulator counts in doubles: x87 would round them otherwise.
ARCHITECTURES = {
    "i686-linux-gnu": (["-msse2", "-mfpmath=sse"], "qemu-i386"),
    "arm-linux-gnueabihf": ([], "qemu-arm"),
    "s390x-linux-gnu": ([], "qemu-s390x"),
}

PATH = ["rate=20", "buf=0.25", "end=90", "from=20", "to=60", "seeds=1", "series=1"]
RUNS = [
    [*PATH, "base=scavenger"],
    [*PATH, "base=scavenger", "disc=codel", "loss=1000", "jitter=3000", "rev=5"],
    *([*PATH, f"base={base}", "w=0.3"] for base in ("cdg", "cubic", "vegas")),
]


def build(compiler: str, out: Path, flags: list[str]) -> Path:
    assert shutil.which(compiler), f"no {compiler}: scripts/setup.sh check installs it"
    options = ["-O2", "-Wall", "-Werror", *flags, "-I.", "-Iport/user", "-o", str(out)]
    subprocess.run([compiler, *options, *SOURCES, "-lm"], cwd=REPOSITORY, check=True)
    return out


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What the runs print on this machine."""
    grid = build("gcc", tmp_path_factory.mktemp("here") / "grid", [])
    lines = [subprocess.check_output([grid, *run], text=True) for run in RUNS]
    assert len(set(lines)) == len(RUNS)
    return lines


@pytest.mark.parametrize("triplet", ARCHITECTURES)
def test_elsewhere_the_same_packets_leave_at_the_same_times(
    here: list[str], triplet: str, tmp_path: Path
):
    flags, emulator = ARCHITECTURES[triplet]
    grid = build(f"{triplet}-gcc", tmp_path / "grid", [*flags, "-static"])
    for run, expected in zip(RUNS, here, strict=True):
        assert subprocess.check_output([emulator, grid, *run], text=True) == expected
