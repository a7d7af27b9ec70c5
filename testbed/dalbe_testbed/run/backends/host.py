# SPDX-License-Identifier: GPL-2.0-only
"""The kernel of this machine, in namespaces of its own; as root, in real time."""

import platform
from dataclasses import dataclass, field
from pathlib import Path

from dalbe_testbed.errors import TestbedError
from dalbe_testbed.paths import TESTBED
from dalbe_testbed.run.backends.base import Backend
from dalbe_testbed.run.backends.process import ask, sha256


@dataclass(frozen=True)
class Host(Backend):
    """The kernel that is running, by its release. A seed decides the input, and no more."""

    name = "host"
    script = TESTBED / "host/run.sh"
    no_clock = "--backend host has a real clock; say uml"
    release: str
    virtual_clock: bool = field(default=False, kw_only=True)

    @classmethod
    def choose(cls, kernel: str | None) -> "Host":
        """Check that this machine can do it. Raises TestbedError, which says what is missing."""
        if kernel is not None:
            raise TestbedError("--backend host runs the kernel that is running: give no --kernel")
        ask(cls.script, "-c")
        return cls(platform.release())

    def kernel(self) -> tuple[str, str]:
        """Return its release and the hash of its build id."""
        return self.release, sha256(Path("/sys/kernel/notes"))

    def parallel(self) -> int:
        """Return 1: module parameters are the whole kernel's, and load shows in real time."""
        return 1

    def options(self, _seed: int, limit_s: int, _bits: int) -> list[str]:
        """Return the options of run.sh."""
        return ["-t", str(limit_s)]
