# SPDX-License-Identifier: GPL-2.0-only
"""The kernel of this machine, in namespaces of its own; as root, in real time."""

import hashlib
import platform
from dataclasses import dataclass
from pathlib import Path

from dalbe_testbed.errors import TestbedError
from dalbe_testbed.paths import TESTBED
from dalbe_testbed.run.backends import process
from dalbe_testbed.run.backends.process import Progress

SCRIPT = TESTBED / "host/run.sh"


@dataclass(frozen=True)
class Host:
    """The kernel that is running, by its release."""

    release: str
    name: str = "host"
    virtual_clock: bool = False

    @classmethod
    def choose(cls, kernel: str | None) -> "Host":
        """Check that this machine can do it. Raises TestbedError, which says what is missing."""
        if kernel is not None:
            raise TestbedError("--backend host runs the kernel that is running: give no --kernel")
        process.ask(SCRIPT, "-c")
        return cls(platform.release())

    @property
    def build_dir(self) -> Path:
        """Return the kernel's headers."""
        return Path("/lib/modules") / self.release / "build"

    def on_clock(self, clock: str | None) -> "Host":
        """Return this backend. Raises TestbedError for a virtual clock: there is none."""
        if clock == "virtual":
            raise TestbedError("clock = 'virtual': --backend host has a real clock; say uml")
        return self

    def parallel(self) -> int:
        """Return 1: module parameters are the whole kernel's, and load shows in real time."""
        return 1

    def in_tree(self, module: str) -> str:
        """Return the module's name: modprobe finds it."""
        return module

    def describe(self) -> dict[str, str]:
        """Return backend, kernel_release, kernel_sha256 (of its build id) and clock."""
        build_id = Path("/sys/kernel/notes").read_bytes()
        return {
            "backend": self.name,
            "kernel_release": self.release,
            "kernel_sha256": hashlib.sha256(build_id).hexdigest(),
            "clock": "real",
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
        """Play an input; see Backend. A seed decides what is in the input, and no more."""
        words = [str(SCRIPT), "-n", name, "-t", str(limit_s), "-o", str(out), str(input_dir)]
        process.play(words, out, name=name, progress=progress)
