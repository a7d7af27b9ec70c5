# SPDX-License-Identifier: GPL-2.0-only
"""Where a run takes place: kernels of three kinds behind one interface.

    uml    a time-travel User Mode Linux: virtual time, repeats itself, no root (default)
    host   the kernel of this machine: real time, root, one run at a time
    qemu   a distribution's kernel in a virtual machine: host's script in there

docs/backends.md says what their kernels differ in.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from dalbe_testbed.errors import TestbedError
from dalbe_testbed.run.backends.host import Host
from dalbe_testbed.run.backends.process import Progress
from dalbe_testbed.run.backends.qemu import Qemu
from dalbe_testbed.run.backends.uml import Uml


class Backend(Protocol):
    """A kernel to run in."""

    @property
    def name(self) -> str:
        """uml, host or qemu."""

    @property
    def virtual_clock(self) -> bool:
        """Whether the guest's clock waits for its processors, so that host load cannot show."""

    @property
    def build_dir(self) -> Path:
        """Build directory for external modules of this kernel."""

    def on_clock(self, clock: str | None) -> "Backend":
        """Return this backend with a "virtual" or "real" clock; None: with its own.

        Raises TestbedError if it has no such clock.
        """

    def parallel(self) -> int:
        """Return how many runs at once, at least 1, do not disturb each other."""

    def in_tree(self, module: str) -> str:
        """Return how a line of the input's file `modules` names a module of the kernel's own."""

    def describe(self) -> dict[str, str]:
        """Return what manifest.json says: backend, kernel_release, kernel_sha256, clock."""

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
        """Play an input of scenario.sh; everything it records, and console.log, is in `out`.

        limit_s, on the guest's clock, ends the run; so does a time on ours that leaves room for
        the work: bits is what the bottleneck may have to carry. seed, 0 to 99999999, repeats it
        where the backend can. Raises TestbedError, which names the run, if the guest hangs or
        dies or the scenario fails.
        """


_BACKENDS: dict[str, Callable[[str | None], Backend]] = {
    "uml": Uml.choose,
    "host": Host.choose,
    "qemu": Qemu.choose,
}
NAMES = tuple(_BACKENDS)


def choose(name: str, kernel: str | None = None) -> Backend:
    """Return a backend that is ready to run.

    kernel: for uml the build directory of a guest kernel (None: the plain one, built now if need
    be), for qemu a release out of /boot (None: the newest 6.12). Raises TestbedError if there is
    no such backend or kernel, or this machine cannot do it.
    """
    if name not in _BACKENDS:
        raise TestbedError(f"--backend {name}: there is no such backend; say {', '.join(NAMES)}")
    return _BACKENDS[name](kernel)
