# SPDX-License-Identifier: GPL-2.0-only
"""Boot a guest and follow its progress."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from dalbe_testbed.errors import TestbedError

TESTBED = Path(__file__).resolve().parent.parent
WALL_LIMIT_S = 600

Progress = Callable[[float], None]
"""Called with the guest's T, in virtual seconds, every five of them."""


def boot(
    kernel: Path,
    out: Path,
    command: list[str],
    *,
    name: str,
    seed: int = 1,
    wall_limit_s: int = WALL_LIMIT_S,
    virtual_limit_s: int = 3600,
    memory: str = "768M",
    progress: Progress | None = None,
) -> None:
    """Run `command` (a script and its arguments) in a guest that writes to `out`.

    The console ends up in out/console.log. Raises TestbedError, which names the run, if the
    guest hangs, dies or the script fails.
    """
    out.mkdir(parents=True, exist_ok=True)
    words = [str(TESTBED / "guest/boot.sh"), "-k", str(kernel), "-o", str(out), "-n", name]
    words += ["-s", str(seed), "-m", memory, "-w", str(wall_limit_s), "-t", str(virtual_limit_s)]
    errors = out / "boot.err"
    with (
        (out / "console.log").open("w") as console,
        errors.open("w") as stderr,
        subprocess.Popen(
            [*words, *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            errors="replace",
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
            process.terminate()  # boot.sh kills the guest
            raise
    if status == 0:
        errors.unlink()
        return
    lines = errors.read_text().strip().splitlines()
    reason = lines[-1] if lines else f"boot.sh: run '{name}' failed with status {status}"
    raise TestbedError(f"{reason} (last seen at {last or 'boot'}); see {out / 'console.log'}")
