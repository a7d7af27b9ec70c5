# SPDX-License-Identifier: GPL-2.0-only
"""The interface of a backend: a kernel to run in, and the script that plays an input there."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Self

from dalbe_testbed.errors import TestbedError
from dalbe_testbed.run.backends import process
from dalbe_testbed.run.backends.process import Progress


@dataclass(frozen=True)
class Backend(ABC):
    """A kernel to run in: by default one that is installed, with its modules.

    name: uml, host or qemu. script plays an input. no_clock: why there is no virtual clock.
    virtual_clock: the guest's waits for its processors, so that load of the host cannot show.
    """

    name: ClassVar[str]
    script: ClassVar[Path]
    no_clock: ClassVar[str] = ""
    virtual_clock: bool = field(default=True, kw_only=True)

    @abstractmethod
    def kernel(self) -> tuple[str, str]:
        """Return the kernel's release and a SHA-256 that tells it from others."""

    @property
    def build_dir(self) -> Path:
        """Build directory for external modules of this kernel."""
        return Path("/lib/modules") / self.kernel()[0] / "build"

    def in_tree(self, module: str) -> str:
        """Return how the input's file `modules` names a module of the kernel's own."""
        return module  # modprobe finds it

    @abstractmethod
    def parallel(self) -> int:
        """Return how many runs at once, at least 1, do not disturb each other."""

    def on_clock(self, clock: str | None) -> Self:
        """Return this backend with a "virtual" or "real" clock; None: with its own.

        Raises TestbedError if it has no such clock.
        """
        if clock == "virtual" and not self.virtual_clock:
            raise TestbedError(f"clock = 'virtual': {self.no_clock}")
        return replace(self, virtual_clock=self.virtual_clock and clock != "real")

    def describe(self) -> dict[str, str]:
        """Return what manifest.json says: backend, kernel_release, kernel_sha256, clock."""
        release, digest = self.kernel()
        return {
            "backend": self.name,
            "kernel_release": release,
            "kernel_sha256": digest,
            "clock": "virtual" if self.virtual_clock else "real",
        }

    @abstractmethod
    def options(self, seed: int, limit_s: int, bits: int) -> list[str]:
        """Return the script's options but -n and -o; arguments as of run()."""

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
        words = [str(self.script), "-n", name, "-o", str(out)]
        words += [*self.options(seed, limit_s, bits), str(input_dir.resolve())]
        process.play(words, out, name=name, progress=progress)
