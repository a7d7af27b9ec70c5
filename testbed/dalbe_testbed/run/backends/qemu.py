# SPDX-License-Identifier: GPL-2.0-only
"""A distribution's kernel, two processors, in qemu through virtme-ng."""

import os
from dataclasses import dataclass

from dalbe_testbed.paths import TESTBED
from dalbe_testbed.run.backends import process
from dalbe_testbed.run.backends.base import Backend

# Emulated, a cell of four flows at 10 Mbit/s was seen to take 1.3 times as long as its clock says,
# and its boot up to 100 s, on a machine that others loaded as well: these only catch a hang.
WALL_PER_GUEST_S = 10
BOOT_S = 300
# While the guest waits for the host's files a virtual clock jumps from timer to timer: on a busy
# host minutes of it can pass before a run begins.
STALLS = 10
WALL_PER_GBIT_S = 1000


@dataclass(frozen=True)
class Qemu(Backend):
    """A kernel out of /boot, by its release, and the hash of its image.

    A seed decides what is in the input, and no more.
    """

    name = "qemu"
    script = TESTBED / "qemu/boot.sh"
    no_clock = "under KVM it is real; set VNG_KVM=0 to emulate"
    release: str
    sha256: str

    @classmethod
    def choose(cls, kernel: str | None) -> "Qemu":
        """Find the kernel, and whether KVM boots one (tried once). Raises TestbedError."""
        chosen = ["-k", kernel] if kernel else []
        lines = process.ask(cls.script, *chosen, "-p").splitlines()
        facts = dict(line.split("=", 1) for line in lines)
        virtual = facts["clock"] == "virtual"
        return cls(facts["release"], facts["sha256"], virtual_clock=virtual)

    def kernel(self) -> tuple[str, str]:
        """Return release and hash."""
        return self.release, self.sha256

    def parallel(self) -> int:
        """Return a guest per processor if emulated, by one thread; per two under KVM."""
        processors = len(os.sched_getaffinity(0))
        return processors if self.virtual_clock else max(1, processors // 2)

    def options(self, _seed: int, limit_s: int, bits: int) -> list[str]:
        """Return the options of boot.sh; a virtual clock is given STALLS times limit_s."""
        wall_s = BOOT_S + WALL_PER_GUEST_S * limit_s + WALL_PER_GBIT_S * bits // 10**9
        clock = ["-t", str(limit_s * STALLS)] if self.virtual_clock else ["-t", str(limit_s), "-r"]
        return ["-k", self.release, "-w", str(wall_s), *clock]
