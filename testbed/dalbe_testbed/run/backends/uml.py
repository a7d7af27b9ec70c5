# SPDX-License-Identifier: GPL-2.0-only
"""User Mode Linux as a time-travel guest, whose clock stands still while it computes.

On a real clock it is a machine of one slow processor, and whatever else the host does shows.
"""

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dalbe_testbed.errors import TestbedError
from dalbe_testbed.paths import TESTBED
from dalbe_testbed.run.backends import process
from dalbe_testbed.run.backends.process import Progress
from dalbe_testbed.run.digest import sha256

WALL_LIMIT_S = 600
WALL_PER_GBIT_S = 100  # ten times what the cell of 3 Gbit needs on a loaded machine
MEMORY = "768M"


def boot(
    kernel: Path,
    out: Path,
    command: Sequence[str],
    *,
    name: str,
    seed: int = 1,
    wall_limit_s: int = WALL_LIMIT_S,
    virtual_limit_s: int = 3600,
    virtual_clock: bool = True,
    progress: Progress | None = None,
) -> None:
    """Run `command` (a script and its arguments) in a guest that writes to `out`.

    The console ends up in out/console.log. Raises TestbedError, which names the run, if the
    guest hangs, dies or the script fails.
    """
    words = [str(TESTBED / "guest/boot.sh"), "-k", str(kernel), "-o", str(out), "-n", name]
    words += ["-s", str(seed), "-m", MEMORY, "-w", str(wall_limit_s), "-t", str(virtual_limit_s)]
    words += [] if virtual_clock else ["-r"]
    process.play([*words, *command], out, name=name, progress=progress)


@dataclass(frozen=True)
class Uml:
    """A guest kernel, by its build directory."""

    build_dir: Path
    name: str = "uml"
    virtual_clock: bool = True

    @classmethod
    def choose(cls, kernel: str | None) -> "Uml":
        """Take the kernel built in a directory, or build the plain one. Raises TestbedError."""
        if kernel is None:
            script = TESTBED / "guest/build-kernel.sh"
            done = subprocess.run([str(script)], stdout=subprocess.PIPE, text=True, check=False)
            if done.returncode:
                raise TestbedError("the guest kernel could not be built: see above")
            kernel = done.stdout.strip()
        build_dir = Path(kernel).resolve()
        for part in ("linux", "include/config/kernel.release"):
            if not (build_dir / part).is_file():
                raise TestbedError(
                    f"--kernel {kernel}: no {part} in there; give what "
                    "testbed/guest/build-kernel.sh prints, or nothing"
                )
        return cls(build_dir)

    def on_clock(self, clock: str | None) -> "Uml":
        """Return the same kernel on that clock."""
        return replace(self, virtual_clock=clock != "real")

    def parallel(self) -> int:
        """Return a guest per processor that this process may use; in real time 1."""
        return len(os.sched_getaffinity(0)) if self.virtual_clock else 1

    def in_tree(self, module: str) -> str:
        """Return the module's path: a guest kernel is installed nowhere."""
        return str(self.build_dir / "net/ipv4" / f"{module}.ko")

    def describe(self) -> dict[str, str]:
        """Return backend, kernel_release, kernel_sha256 and clock."""
        release = (self.build_dir / "include/config/kernel.release").read_text().strip()
        return {
            "backend": self.name,
            "kernel_release": release,
            "kernel_sha256": sha256(self.build_dir / "linux"),
            "clock": "virtual" if self.virtual_clock else "real",
        }

    def run(
        self,
        input_dir: Path,
        out: Path,
        *,
        name: str,
        seed: int,
        limit_s: int,
        bits: int = 0,
        progress: Progress | None = None,
    ) -> None:
        """Play an input; see Backend. A virtual clock repeats a seed's run, bit for bit."""
        boot(
            self.build_dir,
            out,
            [str(TESTBED / "guest/play.sh"), str(input_dir.resolve())],
            name=name,
            seed=seed,
            wall_limit_s=WALL_LIMIT_S + WALL_PER_GBIT_S * bits // 10**9,
            virtual_limit_s=limit_s,
            virtual_clock=self.virtual_clock,
            progress=progress,
        )
