# SPDX-License-Identifier: GPL-2.0-only
"""A distribution's kernel, two processors, in qemu through virtme-ng."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

from dalbe_testbed.errors import TestbedError
from dalbe_testbed.paths import TESTBED
from dalbe_testbed.run.backends import process
from dalbe_testbed.run.backends.process import Progress

SCRIPT = TESTBED / "qemu/boot.sh"
# Emulated, a cell of four flows at 10 Mbit/s was seen to take 1.3 times as long as its clock says,
# and its boot up to 100 s, on a machine that others loaded as well: these only catch a hang.
WALL_PER_GUEST_S = 10
BOOT_S = 300
# While the guest waits for the host's files a virtual clock jumps from timer to timer: on a busy
# host minutes of it can pass before a run begins.
STALLS = 10
WALL_PER_GBIT_S = 1000


@dataclass(frozen=True)
class Qemu:
    """A kernel out of /boot, by its release, and what it runs on."""

    release: str
    sha256: str
    virtual_clock: bool
    name: str = "qemu"

    @classmethod
    def choose(cls, kernel: str | None) -> "Qemu":
        """Find the kernel, and whether KVM boots one (tried once). Raises TestbedError."""
        chosen = ["-k", kernel] if kernel else []
        lines = process.ask(SCRIPT, *chosen, "-p").splitlines()
        facts = dict(line.split("=", 1) for line in lines)
        return cls(facts["release"], facts["sha256"], facts["clock"] == "virtual")

    @property
    def build_dir(self) -> Path:
        """Return the kernel's headers."""
        return Path("/lib/modules") / self.release / "build"

    def on_clock(self, clock: str | None) -> "Qemu":
        """Return the same kernel on that clock. Raises TestbedError for a virtual one under KVM."""
        if clock == "virtual" and not self.virtual_clock:
            raise TestbedError("clock = 'virtual': under KVM it is real; set VNG_KVM=0 to emulate")
        return replace(self, virtual_clock=self.virtual_clock and clock != "real")

    def parallel(self) -> int:
        """Return a guest per processor if emulated, by one thread; per two under KVM."""
        processors = len(os.sched_getaffinity(0))
        return processors if self.virtual_clock else max(1, processors // 2)

    def in_tree(self, module: str) -> str:
        """Return the module's name: modprobe finds it."""
        return module

    def describe(self) -> dict[str, str]:
        """Return backend, kernel_release, kernel_sha256 (of the image) and clock."""
        return {
            "backend": self.name,
            "kernel_release": self.release,
            "kernel_sha256": self.sha256,
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
        """Play an input; see Backend. A seed decides what is in the input, and no more.

        A virtual clock, which jumps while the host is slow, is given ten times limit_s.
        """
        wall_s = BOOT_S + WALL_PER_GUEST_S * limit_s + WALL_PER_GBIT_S * bits // 10**9
        words = [str(SCRIPT), "-k", self.release, "-n", name, "-o", str(out)]
        words += [] if self.virtual_clock else ["-r"]
        guest_s = limit_s * STALLS if self.virtual_clock else limit_s
        words += ["-w", str(wall_s), "-t", str(guest_s), str(input_dir)]
        process.play(words, out, name=name, progress=progress)
