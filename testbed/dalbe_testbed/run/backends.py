# SPDX-License-Identifier: GPL-2.0-only
"""Where a run takes place: kernels of three kinds behind one interface.

    uml    a time-travel User Mode Linux: virtual time, repeats itself, no root (default)
    host   the kernel of this machine: real time, root, one run at a time
    qemu   a distribution's kernel in a virtual machine: host's script in there

docs/backends.md says what their kernels differ in.
"""

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Self

from dalbe_testbed.errors import TestbedError
from dalbe_testbed.paths import TESTBED

SCRIPTS = {  # by backend: plays an input; with -p it says which kernel that would be
    "uml": TESTBED / "guest/boot.sh",
    "host": TESTBED / "host/run.sh",
    "qemu": TESTBED / "qemu/boot.sh",
}
REAL = {  # why a clock is not virtual
    "host": "--backend host has a real clock; say uml",
    "qemu": "under KVM it is real; set VNG_KVM=0 to emulate",
}
MEMORY = "768M"  # of a User Mode Linux

Progress = Callable[[float], None]  # called with the guest's T in seconds, every five of them


def _environment() -> dict[str, str]:
    """Return ours, with the programs of the Python environment (vng) first in PATH."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    return os.environ | {"PATH": path}


def ask(script: Path, *words: str, stderr: int | None = subprocess.PIPE) -> str:
    """Return what a script prints. Raises TestbedError, its last line, if it fails.

    stderr: None if the user is to see how it goes on.
    """
    done = subprocess.run(
        [str(script), *words],
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        errors="replace",
        check=False,
        env=_environment(),
    )
    if done.returncode:
        said = done.stderr or f"{script.name} failed: see above"
        raise TestbedError(said.strip().splitlines()[-1])
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
    return hashlib.sha256(path.read_bytes()).hexdigest()


@dataclass(frozen=True)
class Backend:
    """A kernel to run in.

    name: uml, host or qemu. release, sha256: the kernel's, and what tells it from others, of its
    image or build id. directory: where it was built; None: it is installed, with its modules.
    virtual_clock: the guest's waits for its processors, so that load of the host cannot show.

    uml is known by its build directory. On a virtual clock a seed's run repeats itself, bit for
    bit; on a real one it is a machine of one slow processor. qemu is known by its release, out of
    /boot. There and on the host a seed decides the input, and no more.
    """

    name: str
    release: str
    sha256: str
    directory: Path | None = None
    virtual_clock: bool = True

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
        """Return how many runs at once do not disturb each other.

        On a virtual clock one per processor; in real time 1, under KVM one per two.
        """
        processors = len(os.sched_getaffinity(0))
        if self.virtual_clock:
            return processors
        return max(1, processors // 2) if self.name == "qemu" else 1

    def on_clock(self, clock: str | None) -> Self:
        """Return this backend with a "virtual" or "real" clock; None: with its own.

        Raises TestbedError if it has no such clock.
        """
        if clock == "virtual" and not self.virtual_clock:
            raise TestbedError(f"clock = 'virtual': {REAL[self.name]}")
        return replace(self, virtual_clock=self.virtual_clock and clock != "real")

    def describe(self) -> dict[str, str]:
        """Return what manifest.json says: backend, kernel_release, kernel_sha256, clock."""
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
        """Play an input of scenario.sh; everything it records, and console.log, is in `out`.

        limit_s, on the guest's clock, ends the run; so does a time on ours that leaves room for
        the work: bits is what the bottleneck may have to carry. seed, 0 to 99999999, repeats it
        where the backend can. Raises TestbedError, which names the run, if the guest hangs or
        dies or the scenario fails.
        """
        words = [str(SCRIPTS[self.name]), "-n", name, "-o", str(out), "-t", str(limit_s)]
        if self.name != "host":
            words += ["-k", str(self.directory or self.release), "-b", str(bits)]
            words += [] if self.virtual_clock else ["-r"]
        if self.name == "uml":
            words += ["-s", str(seed), "-m", MEMORY, str(TESTBED / "guest/play.sh")]
        play([*words, str(input_dir.resolve())], out, name=name, progress=progress)


def choose(name: str, kernel: str | None = None) -> Backend:
    """Return a backend that is ready to run.

    kernel: for uml the build directory of a guest kernel (None: the plain one, built now if need
    be), for qemu a release out of /boot (None: the newest 6.12). Raises TestbedError if there is
    no such backend or kernel, or this machine cannot do it.
    """
    if name not in SCRIPTS:
        raise TestbedError(f"--backend {name}: there is no such backend; say {', '.join(SCRIPTS)}")
    if name == "uml" and kernel is None:
        kernel = ask(TESTBED / "guest/build-kernel.sh", stderr=None).strip()
    chosen = ["-k", kernel] if kernel else []
    facts = dict(line.split("=", 1) for line in ask(SCRIPTS[name], *chosen, "-p").splitlines())
    directory = Path(facts["directory"]) if "directory" in facts else None
    virtual = facts["clock"] == "virtual"
    return Backend(name, facts["release"], facts["sha256"], directory, virtual)
