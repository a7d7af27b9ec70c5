# SPDX-License-Identifier: GPL-2.0-only
"""User Mode Linux as a time-travel guest, whose clock stands still while it computes.

On a real clock it is a machine of one slow processor, and whatever else the host does shows.
"""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from dalbe_testbed.errors import TestbedError
from dalbe_testbed.paths import TESTBED
from dalbe_testbed.run.backends.base import Backend
from dalbe_testbed.run.backends.process import sha256

RELEASE = "include/config/kernel.release"  # in a build directory
WALL_LIMIT_S = 600
WALL_PER_GBIT_S = 100  # ten times what the cell of 3 Gbit needs on a loaded machine
MEMORY = "768M"


@dataclass(frozen=True)
class Uml(Backend):
    """A guest kernel, by its build directory. A virtual clock repeats a seed's run, bit for bit."""

    name = "uml"
    script = TESTBED / "guest/boot.sh"
    directory: Path

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
        for part in ("linux", RELEASE):
            if not (build_dir / part).is_file():
                raise TestbedError(
                    f"--kernel {kernel}: no {part} in there; give what "
                    "testbed/guest/build-kernel.sh prints, or nothing"
                )
        return cls(build_dir)

    @property
    def build_dir(self) -> Path:
        """Where the kernel was built."""
        return self.directory

    def kernel(self) -> tuple[str, str]:
        """Return release and hash of the program."""
        return (self.directory / RELEASE).read_text().strip(), sha256(self.directory / "linux")

    def in_tree(self, module: str) -> str:
        """Return the module's path: a guest kernel is installed nowhere."""
        return str(self.directory / "net/ipv4" / f"{module}.ko")

    def parallel(self) -> int:
        """Return a guest per processor that this process may use; in real time 1."""
        return len(os.sched_getaffinity(0)) if self.virtual_clock else 1

    def options(self, seed: int, limit_s: int, bits: int) -> list[str]:
        """Return the options of boot.sh, and the script that the guest runs."""
        wall_s = WALL_LIMIT_S + WALL_PER_GBIT_S * bits // 10**9
        words = ["-k", str(self.directory), "-s", str(seed), "-m", MEMORY]
        words += ["-w", str(wall_s), "-t", str(limit_s), *([] if self.virtual_clock else ["-r"])]
        return [*words, str(TESTBED / "guest/play.sh")]
