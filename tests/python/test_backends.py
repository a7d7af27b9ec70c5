# SPDX-License-Identifier: GPL-2.0-only
"""Backends: one interface, clear refusals, and a stock kernel that a run leaves as it was."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from dalbe_testbed.errors import TestbedError
from dalbe_testbed.paths import TESTBED
from dalbe_testbed.plan import experiment
from dalbe_testbed.run import backends, scenario
from dalbe_testbed.run.backends import Backend
from dalbe_testbed.run.scenario import Tools

FACTS = {"backend", "kernel_release", "kernel_sha256", "clock"}
# The cell, so short that an emulated processor gets to its end in seconds.
SHORT = [
    "duration_s=12",  # iperf ends a second or two after it has sent all
    *(f"flows.{f}.{key}" for f in ("cdg1", "cdg2") for key in ("start_s=1", "g_ms=2")),
    *(
        f"flows.{f}.{key}"
        for f in ("cubic1", "cubic2")
        for key in ("start_s=2", "start_jitter_s=0")
    ),
    *(f"flows.{f}.duration_s=5" for f in ("cdg1", "cdg2", "cubic1", "cubic2")),
]
# The same on a path so long that a killed run's connections would not hear of it.
FAR = [*SHORT, "link.rtt_ms=3000"]


def write_input(backend: backends.Backend, directory: Path, changes: list[str] = SHORT) -> Path:
    short = experiment.load(TESTBED / "experiments/cell.toml", changes)
    scenario.write(short, 1, Tools(backend=backend), directory)
    return directory


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/bash\n{text}")
    path.chmod(0o755)
    return path


def fake_vng(tmp_path: Path, behaviour: str) -> Path:
    """Put into bin a vng that counts its boots, in $boot and in the file that is returned."""
    count = tmp_path / "count"
    (tmp_path / "bin").mkdir()
    script(
        tmp_path / "bin/vng",
        f"boot=$(($(cat {count} 2>/dev/null || echo 0) + 1))\necho $boot >{count}\n{behaviour}\n",
    )
    return count


def fake_build(directory: Path) -> Path:
    (directory / "include/config").mkdir(parents=True)
    (directory / "include/config/kernel.release").write_text("6.12.1\n")
    (directory / "linux").write_bytes(b"kernel")
    return directory


# --- choosing ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kernel", "message"),
    [
        ("xen", None, "--backend xen: there is no such backend; say uml, host, qemu"),
        ("uml", "/nowhere", r"--kernel /nowhere: no linux in there; give what .*build-kernel\.sh"),
        ("host", "6.12", "--backend host runs the kernel that is running: give no --kernel"),
        ("qemu", "1.2.3", r"no kernel '1\.2\.3' with headers in /boot; there is: \d"),
    ],
)
def test_a_wrong_choice_is_named(name: str, kernel: str | None, message: str):
    with pytest.raises(TestbedError, match=message) as caught:
        backends.choose(name, kernel)
    assert "\n" not in str(caught.value)


def refusal(prefix: list[str]) -> str:
    words = [*prefix, str(TESTBED / "host/run.sh"), "-p"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    return done.stderr


def test_host_needs_root():
    as_nobody = ["setpriv", "--reuid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    assert "host: needs root: run it with sudo, or say --backend uml" in refusal(as_nobody)


@pytest.mark.skipif("os.geteuid() != 0")
def test_host_names_the_tool_that_is_missing(tmp_path: Path):
    for tool in ("bash", "dirname", "unshare", "ip"):
        where = subprocess.run(["which", tool], capture_output=True, text=True, check=True)
        (tmp_path / tool).symlink_to(where.stdout.strip())
    message = refusal(["env", f"PATH={tmp_path}"])
    assert "host: tc is missing: type 'apt-get install iproute2'" in message


def test_uml_describes_itself(tmp_path: Path):
    backend = backends.choose("uml", str(fake_build(tmp_path)))
    facts = backend.describe()
    assert set(facts) == FACTS
    assert facts["kernel_release"] == "6.12.1"
    assert backend.virtual_clock
    assert backend.in_tree("tcp_cdg") == f"{tmp_path}/net/ipv4/tcp_cdg.ko"
    assert backend.parallel() >= 1


def test_a_clock_is_virtual_or_real_where_there_is_such(tmp_path: Path):
    guest = backends.choose("uml", str(fake_build(tmp_path)))
    assert guest.on_clock(None) == guest.on_clock("virtual") == guest
    real = guest.on_clock("real")
    assert (real.virtual_clock, real.parallel(), real.describe()["clock"]) == (False, 1, "real")
    emulated, under_kvm = (
        Backend("qemu", "6.12", "0", virtual_clock=virtual) for virtual in (True, False)
    )
    assert emulated.on_clock("real") == under_kvm == under_kvm.on_clock(None)
    assert emulated.on_clock("virtual") == emulated
    host = Backend("host", "6.12", "0", virtual_clock=False)
    assert host.on_clock("real") == host.on_clock(None) == host
    for backend in (under_kvm, host):
        with pytest.raises(TestbedError, match="clock = 'virtual': "):
            backend.on_clock("virtual")


def test_qemu_describes_itself():
    backend = backends.choose("qemu")
    facts = backend.describe()
    assert set(facts) == FACTS
    assert (Path("/boot") / f"vmlinuz-{facts['kernel_release']}").exists()
    assert len(facts["kernel_sha256"]) == 64
    assert backend.virtual_clock == (facts["clock"] == "virtual")
    assert (backend.build_dir / "Makefile").exists()
    assert backends.choose("qemu", facts["kernel_release"]) == backend


def test_modules_are_paths_or_names(tmp_path: Path):
    uml = backends.choose("uml", str(fake_build(tmp_path / "kernel")))
    text = (write_input(uml, tmp_path / "uml") / "modules").read_text()
    assert text == f"{uml.build_dir}/net/ipv4/tcp_cdg.ko use_shadow=0 use_ineff=0 " + (
        "backoff_factor=62\n"
    )
    for stock in (Backend("host", "6.12", "0"), Backend("qemu", "6.12", "0")):
        text = (write_input(stock, tmp_path / stock.name) / "modules").read_text()
        assert text == "tcp_cdg use_shadow=0 use_ineff=0 backoff_factor=62\n"


# --- following a script ------------------------------------------------------------


def test_progress_and_console(tmp_path: Path):
    words = [str(script(tmp_path / "play", "echo T=5; echo hello; echo T=10\n"))]
    seen: list[float] = []
    backends.play(words, tmp_path / "out", name="x", progress=seen.append)
    assert seen == [5.0, 10.0]
    assert "hello" in (tmp_path / "out/console.log").read_text()
    assert not (tmp_path / "out/boot.err").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("echo T=5; echo chatter >&2; echo 'x: it broke' >&2; exit 3", r"x: it broke .*T=5\); see"),
        ("exit 7", r"run 'x' failed with status 7 \(last seen at boot\); see"),
    ],
)
def test_a_script_that_fails(tmp_path: Path, text: str, message: str):
    with pytest.raises(TestbedError, match=message):
        backends.play([str(script(tmp_path / "play", text))], tmp_path / "out", name="x")


# --- a stock kernel ----------------------------------------------------------------


@pytest.fixture(scope="module")
def qemu() -> backends.Backend:
    return backends.choose("qemu")


@pytest.mark.guest
def test_a_cell_on_a_stock_kernel(qemu: backends.Backend, tmp_path: Path):
    seen: list[float] = []
    where = write_input(qemu, tmp_path / "input")
    out = tmp_path / "out"
    qemu.run(where, out, name="cell", seed=1, limit_s=100, progress=seen.append)
    assert seen[0] == 0
    assert seen[-1] >= 5
    for name in ("out.pcap", "sender.pcap", "xsender.pcap", "tcp.sender", "kernel.log"):
        assert (out / name).stat().st_size > 0, name
    assert " cdg" in (out / "tcp.sender").read_text().replace("\t", " ")
    ends = dict(line.split("\t")[::2] for line in (out / "ends").read_text().splitlines())
    assert {name: ends[name] for name in ("cdg1", "cubic1")} == {"cdg1": "0", "cubic1": "0"}


# As on a busy machine, where virtme-ng gives up waiting for udev: the kernel's console, though the
# names of ports are there by now. One port stands for that of the standard output, which su holds.
NO_UDEV = (
    r"ports=/sys/class/virtio-ports; port=\$(grep -lx virtme.dev_stdout \$ports/*/name); "
    r"port=\${port%/name}; mount -t tmpfs none \$ports; mkdir \$port; "
    r"echo virtme.stdout >\$port/name; "
    r"exec </dev/null >/dev/console 2>&1; "
)


@pytest.mark.guest
def test_a_run_beyond_its_limit_is_named_and_heard_without_udev(
    qemu: backends.Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    where = write_input(qemu, tmp_path / "input")
    vng = shutil.which("vng") or Path(sys.executable).with_name("vng")
    (tmp_path / "bin").mkdir()
    script(tmp_path / "bin/vng", f'exec {vng} "${{@:1:$#-1}}" "{NO_UDEV}${{@:$#}}"\n')
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin/python"))
    with pytest.raises(TestbedError, match=r"^host: run 'late' did not end within \d+ s"):
        qemu.run(where, tmp_path / "out", name="late", seed=1, limit_s=1)
    assert "did not end within" in (tmp_path / "out/console.log").read_text()


@pytest.mark.guest
@pytest.mark.parametrize(
    ("behaviour", "boots", "status"),
    [
        ("((boot == 2)) || exit 1; mkdir out; echo 0 >status", 2, 0),
        ("exit 1", 3, 125),
        ("touch begun; exit 1", 1, 125),
    ],
    ids=["dead at its first boot", "dead at every boot", "dead in its scenario"],
)
def test_a_guest_that_died_before_its_scenario_is_booted_again(
    qemu: backends.Backend, tmp_path: Path, behaviour: str, boots: int, status: int
):
    where = write_input(qemu, tmp_path / "input")
    count = fake_vng(tmp_path, behaviour)
    done = subprocess.run(
        [str(TESTBED / "qemu/boot.sh"), "-o", str(tmp_path / "out"), str(where)],
        env=os.environ | {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "VNG_KVM": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (int(count.read_text()), done.returncode) == (boots, status), done.stderr
    assert done.stderr.count("the guest is booted again") == boots - 1, done.stderr


def test_a_watchdog_that_is_killed_at_once_leaves_the_directory(tmp_path: Path):
    """Bash's child has the traps of its parent until it runs its command."""
    boots = (
        f". {TESTBED}/guest/supervise.sh; supervise_in {tmp_path}/XXXXXX; touch $work/stderr\n"
        "for ((boot = 0; boot < 50; boot++)); do\n"
        "  setsid true & gone=$!; wait $gone || :\n"
        "  await_guest $gone who run 60 $work/status || :\n"
        "  sleep 0.02; [[ -e $work/stderr ]] || exit 9\n"
        "done\n"
    )
    done = subprocess.run(["bash", "-c", boots], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.returncode, done.stderr)
    assert done.stderr.count("died before its script ended") == 50
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("behaviour", "boots", "last"),
    [
        ("((boot == 2)) || exit 1; echo 'ok - all'; echo 'guest done'", 2, "guest done"),
        ("echo 'int3: 0000' >&2; exit 255", 3, "#   int3: 0000"),
        ("echo 'ok - insmod'; echo 'int3: 0000' >&2; exit 255", 1, "#   int3: 0000"),
        ("sleep 60", 1, "not ok - the guest was still running after 1 s and was killed"),
    ],
    ids=["dead at its first boot", "dead at every boot", "dead in its test", "late"],
)
def test_a_stock_guest_that_died_before_it_printed_a_line_is_booted_again(
    tmp_path: Path, behaviour: str, boots: int, last: str
):
    count = fake_vng(tmp_path, behaviour)
    text = f"set -euo pipefail; cd {TESTBED.parent}; . scripts/common.sh; . scripts/vng.sh\n"
    done = subprocess.run(
        ["bash", "-c", f"{text}vng_command image {tmp_path} 1G; vng_run 1 {tmp_path} true"],
        env=os.environ | {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert int(count.read_text()) == boots
    assert done.stdout.splitlines()[-1] == last
    assert (done.returncode == 0) == (last == "guest done")
    assert done.stderr.count("is booted again") == boots - 1


def test_a_run_ends_when_all_that_the_guest_said_is_printed(
    qemu: backends.Backend, tmp_path: Path
):
    where = write_input(qemu, tmp_path / "input")
    fake_vng(tmp_path, "echo the last word; mkdir out; echo 0 >status")
    script(tmp_path / "bin/cat", f'[[ $# -gt 0 ]] || sleep 2\nexec {shutil.which("cat")} "$@"\n')
    with (tmp_path / "console").open("w") as console:
        done = subprocess.run(
            [str(TESTBED / "qemu/boot.sh"), "-o", str(tmp_path / "out"), str(where)],
            env=os.environ | {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "VNG_KVM": "0"},
            stdout=console,
            check=False,
        )
    assert (done.returncode, (tmp_path / "console").read_text()) == (0, "the last word\n")


def of_guest(pid_dir: Path, tmp_dir: Path, program: str = "") -> bool:
    try:
        ours = f"{tmp_dir}/dalbe-qemu." in (pid_dir / "cmdline").read_text()
        return ours and (pid_dir / "exe").readlink().name.startswith(program)
    except OSError:
        return False


@pytest.mark.guest
def test_a_killed_boot_leaves_no_guest(qemu: backends.Backend, tmp_path: Path):
    where = write_input(qemu, tmp_path / "input")
    (tmp_path / "tmp").mkdir()
    boot = subprocess.Popen(
        [str(TESTBED / "qemu/boot.sh"), "-o", str(tmp_path / "out"), str(where)],
        env=os.environ
        | {
            "TMPDIR": str(tmp_path / "tmp"),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        },
        stdout=subprocess.DEVNULL,
    )

    def guests(program: str = "") -> list[Path]:
        return [p for p in Path("/proc").glob("[0-9]*") if of_guest(p, tmp_path / "tmp", program)]

    def within(seconds: float, what: Callable[[], object]) -> bool:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if what():
                return True
            time.sleep(0.2)
        return False

    assert within(30, lambda: guests("qemu-system"))
    boot.send_signal(signal.SIGKILL)
    boot.wait()
    assert within(10, lambda: not guests())
    assert within(10, lambda: not list((tmp_path / "tmp").iterdir()))


@pytest.mark.guest
def test_a_run_leaves_the_machine_as_it_was(qemu: backends.Backend, tmp_path: Path):
    """host/run.sh, in a stock kernel's guest: after a run, its limit, SIGTERM and SIGKILL."""
    where = write_input(qemu, tmp_path / "input")
    far = write_input(qemu, tmp_path / "far", FAR)
    root = TESTBED.parent
    # The clock is real: one that counts instructions runs ahead while the guest waits for files of
    # this machine, and where that is slow, every limit of the test has passed meanwhile.
    text = f"""
    set -euo pipefail
    . {root}/scripts/common.sh
    . {root}/scripts/vng.sh
    image=$(kernel_image "$(find_kernel)" {tmp_path})
    vng_command "$image" {tmp_path} 1G
    vng_words+=(--disable-kvm)
    export HELPERS=$({TESTBED}/guest/build-helpers.sh)
    vng_run 1500 {tmp_path} "HELPERS=$HELPERS {root}/tests/vng/host-run.sh \\
        {TESTBED}/host/run.sh {where} {far}"
    """
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", text],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stdout
    lines = done.stdout.splitlines()
    assert "guest done" in lines, done.stdout
    assert [line for line in lines if line.startswith("not ok")] == [], done.stdout
    assert sum(line.startswith("ok - ") for line in lines) >= 15


def test_modules_that_a_run_loads_are_ours_to_unload(tmp_path: Path):
    """Of the machine's modules: dalbe, and congestion controls, a peer's with capitals too."""
    (tmp_path / "modules").write_text(
        "dalbe 1 0\ntcp_cdg 1 0\ntcp_FlexiS 1 0\ntcp_diag 1 0\nsch_fq 1 0\nxdalbe 1 0\n"
    )
    keep = (TESTBED / "host/keep.sh").read_text().splitlines()
    (listed,) = (line for line in keep if line.startswith("our_modules() "))
    command = listed.replace("/proc/modules", str(tmp_path / "modules")) + "\nour_modules"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"dalbe", "tcp_cdg", "tcp_FlexiS", "tcp_diag"}
