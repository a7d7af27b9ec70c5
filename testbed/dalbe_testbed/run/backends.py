# SPDX-License-Identifier: GPL-2.0-only
"""Where a run takes place: kernels of three kinds behind one interface.

    uml    a time-travel User Mode Linux: virtual time, repeats itself, no root (default)
    host   the kernel of this machine: real time, root, one run at a time
    qemu   a distribution's kernel in a virtual machine: host's script in there

docs/backends.md says what their kernels differ in.
"""

import hashlib
import os
import platform
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import ClassVar, Self

from dalbe_testbed.errors import TestbedError
from dalbe_testbed.paths import TESTBED

RELEASE = "include/config/kernel.release"  # in the build directory of a guest kernel
MEMORY = "768M"  # of a guest
WALL_LIMIT_S = 600
WALL_PER_GBIT_S = 100  # ten times what the cell of 3 Gbit needs on a loaded machine

# Emulated, a cell of four flows at 10 Mbit/s was seen to take 1.3 times as long as its clock says,
# and its boot up to 100 s, on a machine that others loaded as well: these only catch a hang.
EMULATED_PER_GUEST_S = 10
EMULATED_BOOT_S = 300
EMULATED_PER_GBIT_S = 1000
# While the guest waits for the host's files a virtual clock jumps from timer to timer: on a busy
# host minutes of it can pass before a run begins.
EMULATED_STALLS = 10

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


@dataclass(frozen=True)
class Backend(ABC):
    """A kernel to run in.

    name: uml, host or qemu. script plays an input. no_clock: why there is no virtual clock.
    release, sha256: the kernel's, and what tells it from others. directory: where it was built;
    None: it is installed, with its modules. virtual_clock: the guest's waits for its processors, so
    that load of the host cannot show.
    """

    name: ClassVar[str]
    script: ClassVar[Path]
    no_clock: ClassVar[str] = ""
    release: str
    sha256: str
    directory: Path | None = None
    virtual_clock: bool = field(default=True, kw_only=True)

    @classmethod
    @abstractmethod
    def choose(cls, kernel: str | None) -> Self:
        """Return a backend that is ready to run. Raises TestbedError if there is none."""

    @property
    def build_dir(self) -> Path:
        """Build directory for external modules of this kernel."""
        return self.directory or Path("/lib/modules") / self.release / "build"

    def in_tree(self, module: str) -> str:
        """Return how the input's file `modules` names a module of the kernel's own."""
        if self.directory is None:
            return module  # modprobe finds it
        return str(self.directory / "net/ipv4" / f"{module}.ko")

    def parallel(self) -> int:
        """Return how many runs at once do not disturb each other: in real time 1."""
        return len(os.sched_getaffinity(0)) if self.virtual_clock else 1

    def on_clock(self, clock: str | None) -> Self:
        """Return this backend with a "virtual" or "real" clock; None: with its own.

        Raises TestbedError if it has no such clock.
        """
        if clock == "virtual" and not self.virtual_clock:
            raise TestbedError(f"clock = 'virtual': {self.no_clock}")
        return replace(self, virtual_clock=self.virtual_clock and clock != "real")

    def describe(self) -> dict[str, str]:
        """Return what manifest.json says: backend, kernel_release, kernel_sha256, clock."""
        return {
            "backend": self.name,
            "kernel_release": self.release,
            "kernel_sha256": self.sha256,
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
        play(words, out, name=name, progress=progress)


@dataclass(frozen=True)
class Uml(Backend):
    """User Mode Linux as a time-travel guest, whose clock stands still while it computes.

    Known by its build directory. A virtual clock repeats a seed's run, bit for bit. On a real clock
    it is a machine of one slow processor, and whatever else the host does shows.
    """

    name = "uml"
    script = TESTBED / "guest/boot.sh"

    @classmethod
    def choose(cls, kernel: str | None) -> Self:
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
        release = (build_dir / RELEASE).read_text().strip()
        return cls(release, sha256(build_dir / "linux"), build_dir)

    def options(self, seed: int, limit_s: int, bits: int) -> list[str]:
        """Return the options of boot.sh, and the script that the guest runs."""
        wall_s = WALL_LIMIT_S + WALL_PER_GBIT_S * bits // 10**9
        words = ["-k", str(self.build_dir), "-s", str(seed), "-m", MEMORY]
        words += ["-w", str(wall_s), "-t", str(limit_s), *([] if self.virtual_clock else ["-r"])]
        return [*words, str(TESTBED / "guest/play.sh")]


@dataclass(frozen=True)
class Host(Backend):
    """The kernel of this machine, in namespaces of its own; as root, in real time.

    Known by its release, and the hash of its build id. A seed decides the input, and no more.
    """

    name = "host"
    script = TESTBED / "host/run.sh"
    no_clock = "--backend host has a real clock; say uml"
    virtual_clock: bool = field(default=False, kw_only=True)

    @classmethod
    def choose(cls, kernel: str | None) -> Self:
        """Check that this machine can do it. Raises TestbedError, which says what is missing."""
        if kernel is not None:
            raise TestbedError("--backend host runs the kernel that is running: give no --kernel")
        ask(cls.script, "-c")
        return cls(platform.release(), sha256(Path("/sys/kernel/notes")))

    def options(self, _seed: int, limit_s: int, _bits: int) -> list[str]:
        """Return the options of run.sh."""
        return ["-t", str(limit_s)]


@dataclass(frozen=True)
class Qemu(Backend):
    """A distribution's kernel, two processors, in qemu through virtme-ng.

    Known by its release, out of /boot, and the hash of its image. A seed decides the input, and no
    more.
    """

    name = "qemu"
    script = TESTBED / "qemu/boot.sh"
    no_clock = "under KVM it is real; set VNG_KVM=0 to emulate"

    @classmethod
    def choose(cls, kernel: str | None) -> Self:
        """Find the kernel, and whether KVM boots one (tried once). Raises TestbedError."""
        chosen = ["-k", kernel] if kernel else []
        lines = ask(cls.script, *chosen, "-p").splitlines()
        facts = dict(line.split("=", 1) for line in lines)
        virtual = facts["clock"] == "virtual"
        return cls(facts["release"], facts["sha256"], virtual_clock=virtual)

    def parallel(self) -> int:
        """Return a guest per processor if emulated, by one thread; per two under KVM."""
        processors = len(os.sched_getaffinity(0))
        return processors if self.virtual_clock else max(1, processors // 2)

    def options(self, _seed: int, limit_s: int, bits: int) -> list[str]:
        """Return the options of boot.sh; a virtual clock is given EMULATED_STALLS times limit_s."""
        wall_s = EMULATED_BOOT_S + EMULATED_PER_GUEST_S * limit_s
        wall_s += EMULATED_PER_GBIT_S * bits // 10**9
        clock = ["-t", str(limit_s), "-r"]
        if self.virtual_clock:
            clock = ["-t", str(limit_s * EMULATED_STALLS)]
        return ["-k", self.release, "-w", str(wall_s), *clock]


KINDS: dict[str, type[Backend]] = {kind.name: kind for kind in (Uml, Host, Qemu)}


def choose(name: str, kernel: str | None = None) -> Backend:
    """Return a backend that is ready to run.

    kernel: for uml the build directory of a guest kernel (None: the plain one, built now if need
    be), for qemu a release out of /boot (None: the newest 6.12). Raises TestbedError if there is
    no such backend or kernel, or this machine cannot do it.
    """
    if name not in KINDS:
        raise TestbedError(f"--backend {name}: there is no such backend; say {', '.join(KINDS)}")
    return KINDS[name].choose(kernel)
