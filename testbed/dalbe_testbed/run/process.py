# SPDX-License-Identifier: GPL-2.0-only
"""Run a backend's script and follow what its guest says; hash what it runs."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from dalbe_testbed.errors import TestbedError

Progress = Callable[[float], None]
"""Called with the guest's T, in seconds of its clock, every five of them."""


def _environment() -> dict[str, str]:
    """Return ours, with the programs of the Python environment (vng) first in PATH."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    return os.environ | {"PATH": path}


def ask(script: Path, *words: str) -> str:
    """Return what a script prints. Raises TestbedError, its last line, if it fails."""
    done = subprocess.run(
        [str(script), *words],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        env=_environment(),
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        raise TestbedError(lines[-1] if lines else f"{script.name} failed: {done.returncode}")
    return done.stdout


def play(words: Sequence[str], out: Path, *, name: str, progress: Progress | None = None) -> None:
    """Run a script of a backend to its end; what it prints goes to out/console.log.

    Raises TestbedError, which names the run and when it was last seen, if the script fails. If
    we are interrupted the script is told to end what it started.
    """
    out.mkdir(parents=True, exist_ok=True)
    errors = out / "boot.err"
    with (
        (out / "console.log").open("w") as console,
        errors.open("w") as stderr,
        subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            errors="replace",
            env=_environment(),
        ) as process,
    ):
        assert process.stdout is not None
        try:
            last = ""
            for line in process.stdout:
                console.write(line)
                if line.startswith("T="):
                    last = line.strip()
                    if progress:
                        progress(float(last[2:]))
            status = process.wait()
        except BaseException:
            process.terminate()  # the script kills the guest
            raise
    if status == 0:
        errors.unlink()
        return
    lines = errors.read_text(errors="replace").strip().splitlines()
    reason = lines[-1] if lines else f"run '{name}' failed with status {status}"
    raise TestbedError(f"{reason} (last seen at {last or 'boot'}); see {out / 'console.log'}")


@cache
def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal, for manifest.json; read once per process."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
