#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
# ruff: noqa: PLR2004, PT018
# (the numbers are the cases; an assert here states one fact in two halves)
"""Tests of dalbectl against a stand-in for the kernel module; TAP on stdout.

Real programs, sockets and signals over loopback; tests/shim.c, preloaded into
dalbectl alone, answers in the place of /dev/dalbe. Needs no privileges.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import json
import os
import pty
import re
import resource
import shlex
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parents[1]
DALBECTL = str(TESTS.parent / "dalbectl")
SENDER = str(TESTS / "sender")
SENDER_STATIC = str(TESTS / "sender_static")
PYTHON = sys.executable

GOAL = ("--size", "1M", "--deadline", "+60s")
# For programs in Python: dalbectl has looked at the connection, and then how far it is, which
# it does before it gives a goal. Without the file SHIM_LOOKS nobody can tell. And it has set,
# or tried to set, n goals.
SEEN = """
import os, socket, struct, time
def looks(s):
    (cookie,) = struct.unpack('Q', s.getsockopt(socket.SOL_SOCKET, 57, 8))  # SO_COOKIE
    return open(os.environ['SHIM_LOOKS']).read().split().count(str(cookie))
def seen(s, n=2):
    while 'SHIM_LOOKS' in os.environ and looks(s) < n:
        time.sleep(0.005)
def goals(n):
    end = time.monotonic() + 20
    while open(os.environ['SHIM_LOG']).read().count('goal') < n and time.monotonic() < end:
        time.sleep(0.005)
"""
RELATIVE, UPDATE, EACH = 1, 2, 4  # DALBE_GOAL_*


class Goal(NamedTuple):
    """One DALBE_IOC_SET_GOAL as the shim logged it."""

    cookie: int
    bytes: int
    deadline_ns: int
    flags: int
    error: int
    job: int


class Sink:
    """A server on loopback that reads and drops everything."""

    def __init__(self) -> None:
        """Listen on a free port, and serve until the process ends."""
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            conn, _ = self.listener.accept()
            threading.Thread(target=self._drain, args=(conn,), daemon=True).start()

    def _drain(self, conn: socket.socket) -> None:
        with conn, contextlib.suppress(ConnectionError):
            while conn.recv(1 << 20):
                pass


class Bench:
    """Runs dalbectl with the shim, each bench with a log of its own."""

    def __init__(self, directory: Path) -> None:
        """Keep state and log in directory."""
        self.directory = directory
        self.log = directory / "log"
        self.sink = Sink()
        self.warnings: list[str] = []  # of the last summary()
        self.env = os.environ | {
            "LD_PRELOAD": str(TESTS / "shim.so"),
            "SHIM_STATE": str(directory / "state"),
            "SHIM_LOG": str(self.log),
            "SHIM_LOOKS": str(directory / "looks"),
        }

    def start(self, *args: str, **kwargs: Any) -> subprocess.Popen[str]:
        """Start dalbectl."""
        return subprocess.Popen(
            [DALBECTL, *args],
            env=self.env,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **kwargs,
        )

    def run(self, *args: str) -> subprocess.CompletedProcess[str]:
        """Run dalbectl to its end."""
        process = self.start(*args)
        out, err = process.communicate(timeout=60)
        return subprocess.CompletedProcess(args, process.returncode, out, err)

    def send(self, *args: str, goal: tuple[str, ...] = GOAL) -> dict[str, Any]:
        """Run a program under a goal, and return the summary."""
        path = self.directory / "summary.json"
        path.unlink(missing_ok=True)
        done = self.run("run", *goal, "--loopback", "--json-file", str(path), "--", *args)
        assert done.returncode == 0, done.stderr
        summary: dict[str, Any] = json.loads(path.read_text())
        return summary

    def summary(self, *args: str, status: int = 0) -> tuple[str, dict[str, Any]]:
        """Run dalbectl run; return the line that it ends with, and the summary as JSON."""
        path = self.directory / "summary.json"
        path.unlink(missing_ok=True)
        done = self.run("run", "--loopback", "--json-file", str(path), *args)
        assert done.returncode == status, done
        *warnings, line = done.stderr.splitlines()
        self.warnings = warnings
        return line.removeprefix("dalbectl: "), json.loads(path.read_text())

    def goals(self) -> list[Goal]:
        """Every goal set so far."""
        lines = [line.split() for line in self.log.read_text().splitlines()]
        return [Goal(*map(int, words[1:])) for words in lines if words[0] == "goal"]


def wait_for(condition: Callable[[], Any], what: str, seconds: float = 30) -> None:
    """Wait until condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"waited {seconds} s in vain for {what}"
        time.sleep(0.02)


def test_exit_status(b: Bench) -> None:
    """The exit status is the program's, or what a shell would say."""
    cases: list[tuple[list[str], int]] = [
        (["true"], 0),
        (["false"], 1),
        (["sh", "-c", "exit 42"], 42),
        (["sh", "-c", "kill -KILL $$"], 137),
        (["sh", "-c", "kill -TERM $$"], 143),
        (["./no-such-program"], 127),
        (["no-such-program"], 127),
        (["/etc/passwd"], 126),
        (["/"], 126),
    ]
    for program, want in cases:
        done = b.run("run", *GOAL, "--", *program)
        assert done.returncode == want, (program, done)
        assert done.stderr.count("\n") == 1, done.stderr
    script = b.directory / "script"
    script.write_text("true\n")
    script.chmod(0o755)
    done = b.run("run", *GOAL, "--", str(script))
    assert done.returncode == 126 and "begin a script with #!/bin/sh" in done.stderr, done
    script.write_text("#!/bin/sh\r\ntrue\r\n")
    done = b.run("run", *GOAL, "--", str(script))
    assert done.returncode == 127 and "carriage return" in done.stderr, done


def test_module_missing(b: Bench) -> None:
    """Without the module nothing is started, and the message says what to do."""
    b.env["SHIM_ABSENT"] = str(errno.ENOENT)
    done = b.run("run", *GOAL, "--", "echo", "started")
    assert (done.returncode, done.stdout) == (125, "")
    for args in COMMANDS:
        done = b.run(*args)
        assert done.returncode == 1
        assert "sudo modprobe tcp_dalbe_cdg" in done.stderr
        assert done.stderr.count("\n") == 1, done.stderr


COMMANDS = (["get"], ["get", "1"], ["set", *GOAL, "1:3"], ["watch", "1"], ["clear", "1"])


def test_no_way_to_give_a_goal(b: Bench) -> None:
    """A hidden device, or a seccomp filter: nothing is started, the message tells what to allow."""
    device = "cannot open /dev/dalbe: "
    misc = b.directory / "misc"
    misc.write_text("120 dalbe\n")
    ptrace_scope = b.directory / "proc/sys/kernel/yama/ptrace_scope"
    ptrace_scope.parent.mkdir(parents=True)
    ptrace_scope.write_text("3\n")
    filtered = (
        "a seccomp filter forbids pidfd_getfd(2): systemd needs SystemCallFilter=pidfd_getfd, "
        "docker --cap-add=SYS_PTRACE"
    )
    cases = [
        ({"SHIM_ABSENT": str(errno.ENOENT)},
         device + "the module is not loaded: sudo modprobe tcp_dalbe_cdg"),
        ({"SHIM_ABSENT": str(errno.ENOENT), "SHIM_LOADED": "1"},  # PrivateDevices=yes
         device + "the module is loaded, but this /dev does not show it: systemd needs "
         "PrivateDevices=no, docker --device=/dev/dalbe"),
        ({"SHIM_ABSENT": str(errno.ENOENT), "SHIM_MISC": str(misc)},  # and no /sys
         device + "the module is loaded, but this /dev does not show it: systemd needs "
         "PrivateDevices=no, docker --device=/dev/dalbe"),
        ({"SHIM_ABSENT": str(errno.EPERM), "SHIM_LOADED": "1"},  # DevicePolicy=closed
         device + "the cgroup forbids this device: systemd needs DeviceAllow=/dev/dalbe, "
         "docker --device=/dev/dalbe"),
        ({"SHIM_SECCOMP": str(errno.EPERM)}, filtered),
        ({"SHIM_SECCOMP": str(errno.ENOSYS)}, filtered),
        ({"SHIM_SECCOMP": "0"}, filtered),
        ({"SHIM_PROC": ""}, "there is no /proc, which lists a program's connections: mount it, as "
         "bwrap --proc /proc does"),
        ({"SHIM_PROC": "1"}, "this /proc is another PID namespace's, and lists other programs: "
         "mount our own, with unshare --mount-proc or bwrap --proc /proc"),
        ({"SHIM_SYS": str(b.directory)}, "kernel.yama.ptrace_scope is 3, and until a reboot nobody "
         "may look into a process: use libdalbe in the program, or sysctl "
         "net.ipv4.tcp_congestion_control=dalbe_cdg net.dalbe.scavenger=1"),
    ]  # fmt: skip
    plain = dict(b.env)
    for env, message in cases:
        b.env = plain | env
        done = b.run("run", *GOAL, "--", "echo", "started")
        assert (done.returncode, done.stdout) == (125, ""), done
        assert done.stderr == f"dalbectl: {message}\n", done
        for args in COMMANDS:
            done = b.run(*args)
            assert (done.returncode, done.stderr) == (1, f"dalbectl: {message}\n"), (args, done)
    b.env = plain | {"SHIM_SYS": str(b.directory)}
    for scope in ("0", "1", "2"):
        ptrace_scope.write_text(f"{scope}\n")
        process = b.start("run", *GOAL, "--", "echo", "started", preexec_fn=drop_ptrace)
        out, err = process.communicate()
        said = "kernel.yama.ptrace_scope is 2, and only root may look into a process: start "
        if scope == "2":
            assert (out, err) == ("", f"dalbectl: {said}dalbectl with sudo\n"), err
        else:
            assert out == "started\n", (scope, err)
            _, err = b.start("get", "1:0", preexec_fn=drop_ptrace).communicate()
            child = "or no child of dalbectl's, as kernel.yama.ptrace_scope is 1; "
            why = f"not yours{', ' + child if scope == '1' else '; '}type sudo dalbectl"
            assert err == f"dalbectl: 1:0: {why}\n", (scope, err)


def drop_ptrace() -> None:
    """Lose CAP_SYS_PTRACE, if we have it, with the next execve(2)."""
    ctypes.CDLL(None).prctl(24, 19)  # PR_CAPBSET_DROP


def test_proxy(b: Bench) -> None:
    """Where connections leave by a tap device alone, as in a rootless container, it is said."""
    script = "ip tuntap add tap5 mode tap && ip link set tap5 up"
    inside = ["unshare", "--map-root-user", "--net", "sh", "-c"]
    if subprocess.run([*inside, script], stderr=subprocess.DEVNULL, check=False).returncode:
        print("# test_proxy: no tap device in a namespace of our own, nothing was tested")
        return
    warning = "connections end at tap5, a tap device as pasta and slirp4netns have"
    for more, warned in (("", True), ("; ip tuntap add tun6 mode tun; ip link set tun6 up", False)):
        command = [*inside, f'{script}{more} && LD_PRELOAD="$1" exec "$2" run "$3" -- true',
                   "sh", b.env["LD_PRELOAD"], DALBECTL, "--scavenger"]  # fmt: skip
        env = {name: text for name, text in b.env.items() if name != "LD_PRELOAD"}
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        assert (warning in done.stderr) == warned, done


def test_secure_boot(b: Bench) -> None:
    """Without the module, where the kernel wants signatures, the message tells of the key."""
    plain = "cannot open /dev/dalbe: the module is not loaded: sudo modprobe tcp_dalbe_cdg"
    enrol = (
        "; if that is refused, Secure Boot is on: type sudo dalbectl load (package dalbe-bpf), "
        "which needs no key, or sudo mokutil --import {}, then reboot"
    )
    dkms, ubuntu = "/var/lib/dkms/mok.pub", "/var/lib/shim-signed/mok/MOK.der"
    b.env |= {"SHIM_ABSENT": str(errno.ENOENT), "SHIM_SYS": str(b.directory)}
    for path, text, more in (
        ("module/module/parameters/sig_enforce", "N", ""),
        ("module/module/parameters/sig_enforce", "Y", enrol),
        ("kernel/security/lockdown", "[none] integrity confidentiality", ""),
        ("kernel/security/lockdown", "none [integrity] confidentiality", enrol),
        ("kernel/security/lockdown", "none integrity [confidentiality]", enrol),
    ):
        file = b.directory / "sys" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")
        for key in (dkms, ubuntu):
            if key == ubuntu:
                (b.directory / ubuntu[1:]).parent.mkdir(parents=True, exist_ok=True)
                (b.directory / ubuntu[1:]).touch()
            done = b.run("get")
            said = f"dalbectl: {plain}{more.format(key)}\n"
            assert (done.returncode, done.stderr) == (1, said), (text, done)
        (b.directory / ubuntu[1:]).unlink()
        file.unlink()


def test_other_version(b: Bench) -> None:
    """A module of another version, loaded before an upgrade, say: what to do about it."""
    advice = (
        "the module that is loaded is of another version: once no connection uses it, "
        "sudo modprobe -r tcp_dalbe_cdg && sudo modprobe tcp_dalbe_cdg"
    )
    b.env["SHIM_OLD"] = "1"
    with running_sender(b, "1000", "0", "1000") as (pid, (fd,)):
        assert b.run("set", *GOAL, pid).returncode == 0
        done = b.run("set", "--wmin", "0.02", pid)
        assert (done.returncode, done.stderr) == (1, f"dalbectl: {pid}:{fd}: {advice}\n"), done
    _, js = b.summary(*GOAL, "--wmin", "0.02", "--", *send_and(b.sink.port, ""))
    assert re.fullmatch(
        rf"dalbectl: warning: process \d+, descriptor \d+ has no goal: {re.escape(advice)}",
        b.warnings[0],
    ), b.warnings
    assert (len(b.warnings), js["bytes_done"]) == (1, 100000), js


def test_congestion_control_that_stays(b: Bench) -> None:
    """Where the congestion control may not change, the message tells who may keep it."""
    b.env |= {"SHIM_KEEP": str(errno.EPERM), "SHIM_SYS": str(b.directory)}
    allowed = b.directory / "proc/sys/net/ipv4/tcp_allowed_congestion_control"
    allowed.parent.mkdir(parents=True)
    for names, advice in (
        ("reno cubic", "not in net.ipv4.tcp_allowed_congestion_control: add it there with sysctl"),
        ("reno cubic dalbe_cdg", "a BPF program of the cgroup keeps the congestion control; ask"),
    ):
        allowed.write_text(f"{names}\n")
        b.summary(*GOAL, "--", *send_and(b.sink.port, ""))
        assert len(b.warnings) == 1 and advice in b.warnings[0], b.warnings


def test_a_deadline_that_cannot_be_met(b: Bench) -> None:
    """It is said once, while the program runs, where all connections are infeasible for long."""
    b.env["SHIM_STATUS"] = "3"
    goal = ("--size", "30M", "--deadline", "+8s")  # which would take 150 s
    sender = (SENDER, str(b.sink.port), *EACH_SECOND, "0")  # and an idle one
    process = b.start("run", *goal, "--loopback", "--", *sender)
    assert process.stderr
    said = f"; dalbectl watch {process.pid} follows it"
    line = process.stderr.readline()
    assert line.startswith("dalbectl: warning: ") and line.endswith(said + "\n"), line
    assert process.poll() is None
    assert len(process.communicate()[1].splitlines()) == 1  # the last line
    in_time = ("--size", "1M", *goal[2:])  # which would take 5 s, whatever the status
    for status, options in (("3", GOAL), ("2", goal), ("3", in_time)):
        b.env["SHIM_STATUS"] = status
        b.summary(*options, "--", *sender)
        assert b.warnings == [], (status, options)


EACH_SECOND = ("150", "0", "300000", "300000")
"""A sender's arguments: two connections, for three seconds."""


def test_more_than_was_announced(b: Bench) -> None:
    """The last line says so first, and the goal goes on by what is done and an eighth of it."""
    goal = ("--size", "100k", "--deadline", "+60s")
    sender = (SENDER, str(b.sink.port), *EACH_SECOND)
    line, js = b.summary(*goal, "--", *sender)
    said = "500 kB more than announced: 600 kB of 100 kB acknowledged in {0} over 2 connections"
    assert re.fullmatch(said.format(TIME) + f", {TIME} before the deadline", line), line
    assert (js["bytes_done"], js["complete"], js["on_time"]) == (600000, True, True), js
    sizes = [g.bytes for g in b.goals()]
    assert len(set(sizes)) > 2 and sizes == sorted(sizes), sizes
    assert max(sizes) <= 600000 * 9 / 8, sizes
    # The announced bytes are in time; the job is late.
    line, js = b.summary(*goal[:2], "--deadline", "+2s", "--", *sender)
    assert re.fullmatch(said.format(TIME) + f", {TIME} after the deadline", line), line
    assert (js["complete"], js["on_time"]) == (True, False) and js["late_s"] > 0, js
    assert b.run("run", *goal[:2], "--deadline", "+2s", "--fail-late", "--loopback", "--",
                 *sender).returncode == 124  # fmt: skip


def test_a_protocol_adds_to_a_size(b: Bench) -> None:
    """A sixteenth, and 64 KiB, is no more than was announced."""
    line, js = b.summary(*GOAL, "--", SENDER, str(b.sink.port), "150", "0", "1100000")
    assert line.startswith("1.00 MB of 1.00 MB acknowledged in "), line
    assert [g.bytes for g in b.goals()] == [1000000] and js["on_time"], b.goals()


def test_a_summary_that_cannot_be_written(b: Bench) -> None:
    """It is said before the program starts; one that can is not there before its end, nor read."""
    path = b.directory / "missing" / "summary.json"
    done = b.run("run", *GOAL, "--json-file", str(path), "--", "echo", "started")
    said = f"dalbectl: cannot write '{path}': No such file or directory; type another --json-file\n"
    assert (done.returncode, done.stdout, done.stderr) == (125, "", said), done
    path = b.directory / "new.json"
    options = ("run", *GOAL, "--json-file", str(path), "--")
    assert b.run(*options, "./no-such-program").returncode == 127
    assert not path.exists()
    os.mkfifo(path)
    with subprocess.Popen(["cat", str(path)], stdout=subprocess.PIPE, text=True) as reader:
        assert b.run(*options, "true").returncode == 0
        assert json.loads(reader.communicate()[0])["program"] == ["true"]
    full = b.directory / "full.json"
    full.symlink_to("/dev/full")
    for program, status in ((["true"], 125), (["false"], 1)):
        done = b.run("run", *GOAL, "--json-file", str(full), "--", *program)
        said = f"dalbectl: cannot write '{full}': {os.strerror(errno.ENOSPC)}"
        assert done.returncode == status and said in done.stderr, done


def test_signals_forwarded(b: Bench) -> None:
    """TERM, HUP, INT, USR1, USR2 sent to dalbectl reach the program, once."""
    names = ("TERM", "HUP", "INT", "USR1", "USR2")
    program = (
        "import signal, sys, time\n"
        "got = []\n"
        f"for name in {names!r}:\n"
        "    signal.signal(getattr(signal, 'SIG' + name), lambda n, _: got.append(n))\n"
        "print('ready', flush=True)\n"
        f"while len(got) < {len(names)}: time.sleep(0.01)\n"
        "time.sleep(0.2)\n"
        f"sys.exit(40 + len(got))\n"
    )
    process = b.start("run", *GOAL, "--", PYTHON, "-c", program)
    assert process.stdout and process.stdout.readline() == "ready\n"
    for name in names:
        process.send_signal(getattr(signal, "SIG" + name))
        time.sleep(0.05)
    process.communicate(timeout=10)
    assert process.returncode == 45


def test_terminal_interrupt(b: Bench) -> None:
    """Ctrl-C on a terminal reaches the program exactly once, in whatever process group it is."""
    for first in ("", "import os; os.setpgid(0, 0)\n"):
        assert interrupted(b, first) == 41, first


def test_interrupted_script(b: Bench) -> None:
    """Ctrl-C ends a script as well whose command it has ended, as it does without dalbectl."""
    dalbectl = (DALBECTL, "run", *GOAL, "--")
    for before in ((), dalbectl):
        sleeps = (*before, "sh", "-c", "echo ready; exec sleep 60")
        bash = ["bash", "-c", '"$@"; echo "goes on"', "bash", *sleeps]
        assert typed_ctrl_c(b, bash) == -signal.SIGINT, before
    catches = "trap 'exit 7' INT; echo ready; while :; do sleep 0.01; done"
    bash = ["bash", "-c", '"$@"; exit $((100 + $?))', "bash", *dalbectl, "bash", "-c", catches]
    assert typed_ctrl_c(b, bash) == 107


def interrupted(b: Bench, first: str) -> int:
    """Type Ctrl-C to a program that does `first`; return 40, and one for each that reached it."""
    program = (
        first + "import signal, sys, time\n"
        "n = 0\n"
        "def count(*_):\n    global n; n += 1\n"
        "signal.signal(signal.SIGINT, count)\n"
        "print('ready', flush=True)\n"
        "while not n: time.sleep(0.01)\n"
        "time.sleep(0.5)\n"
        "sys.exit(40 + n)\n"
    )
    return typed_ctrl_c(b, [DALBECTL, "run", *GOAL, "--", PYTHON, "-c", program])


def typed_ctrl_c(b: Bench, command: list[str]) -> int:
    """Type Ctrl-C to a command that has said that it is ready; return how it ended."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execvpe(command[0], command, b.env)
    out = b""
    while b"ready" not in out:
        out += os.read(fd, 1000)
    os.write(fd, b"\x03")
    with contextlib.suppress(OSError):
        while os.read(fd, 1000):
            pass
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_alarm(b: Bench) -> None:
    """An alarm set before dalbectl started ends the program, as it would without dalbectl."""

    def early() -> None:  # it waits until the program wants it
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
        signal.alarm(1)

    program = (
        "import signal, time\n"
        "signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM}); time.sleep(60)\n"
    )
    run = b.start("run", *GOAL, "--", PYTHON, "-c", program, preexec_fn=early)
    _, err = run.communicate(timeout=50)
    assert run.returncode == 128 + signal.SIGALRM, err


def test_signal_state_inherited(b: Bench) -> None:
    """The program starts with the signal mask and dispositions of the caller."""
    show = ["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"]
    done = b.run("run", "-q", *GOAL, "--", *show)
    plain = subprocess.run(show, text=True, stdout=subprocess.PIPE, check=True)

    def masks(text: str) -> list[int]:
        # glibc's posix_spawn() leaves its own two signals, 32 and 33, ignored.
        return [int(line.split()[1], 16) & ~(3 << 31) for line in text.splitlines()]

    assert len(masks(done.stdout)) == 2
    assert masks(done.stdout) == masks(plain.stdout), (done.stdout, plain.stdout)


def test_one_connection(b: Bench) -> None:
    """One connection gets all of the goal, once, and every byte is counted."""
    summary = b.send(SENDER, str(b.sink.port), "60", "0", "1000000")
    assert [(g.bytes, g.flags, g.error) for g in b.goals()] == [(1000000, 0, 0)]
    assert summary["bytes_done"] == 1000000
    assert summary["complete"] and summary["on_time"]
    assert summary["late_s"] < -50
    (conn,) = summary["connections"]
    assert conn["delivered"] and conn["had_goal"] and conn["peer"] == f"127.0.0.1:{b.sink.port}"


def test_static_program(b: Bench) -> None:
    """A static program gets the goal as a dynamic one does."""
    for program, is_static in ((SENDER, False), (SENDER_STATIC, True)):
        headers = subprocess.run(["readelf", "-l", program], stdout=subprocess.PIPE, check=True)
        assert (b"INTERP" not in headers.stdout) == is_static, headers.stdout
    summary = b.send(SENDER_STATIC, str(b.sink.port), "20", "0", "1000000")
    assert summary["bytes_done"] == 1000000
    assert [(g.bytes, g.flags) for g in b.goals()] == [(1000000, 0)]


def test_job(b: Bench) -> None:
    """Several connections have one goal, set once for each; what came before it is no part."""
    late = SEEN + (
        f"to = ('127.0.0.1', {b.sink.port})\n"
        "a = socket.create_connection(to); seen(a); a.sendall(b'x' * 200000)\n"
        "b = socket.create_connection(to); b.sendall(b'x' * 300000); seen(b)\n"
        "b.sendall(b'x' * 500000); time.sleep(1.5)\n"
    )
    summary = b.send(PYTHON, "-c", late)
    (first, *others) = b.goals()
    assert len({g.cookie for g in b.goals() if not g.flags}) == 2, b.goals()
    assert (first.bytes, first.flags) == (1000000, 0) and first.job, b.goals()
    assert {g.job for g in others} == {first.job}, b.goals()
    # b had sent 300000 bytes before it took part: the job's goal is less by them
    assert [g.bytes for g in others if g.flags == UPDATE] == [700000], b.goals()
    assert summary["bytes_done"] == 1000000 and summary["complete"], summary


def test_job_of_a_process(b: Bench) -> None:
    """Set gives all connections of a process one goal; an update is one for all."""
    with running_sender(b, "1000", "0", "100000", "100000") as (pid, fds):
        assert b.run("set", *GOAL, pid).returncode == 0
        one, two = b.goals()
        assert one.job and one[1:] == two[1:], b.goals()
        assert b.run("set", "--update", "--size", "3M", "--deadline", "+5m", pid).returncode == 0
        assert {(g.bytes, g.flags, g.job) for g in b.goals()[2:]} == {(3000000, UPDATE, one.job)}
        shown = json.loads(b.run("get", "--json", pid).stdout)
        assert [c["job"] for c in shown["connections"]] == [one.job] * 2, shown
        (job,) = shown["jobs"]
        assert (job["connections"], job["goal_bytes"]) == (2, 3000000), shown
        _header, *rows = b.run("get", pid).stdout.splitlines()
        assert [row.split()[:3] for row in rows] == [[pid, "2", "connections"]], rows
        _header, *rows = b.run("get", "-v", pid).stdout.splitlines()
        assert [row.split()[0] for row in rows] == [f"{pid}:{fd}" for fd in fds], rows


def test_successive_connections(b: Bench) -> None:
    """A connection opened after others have closed gets what is left."""
    port = str(b.sink.port)
    sizes = (300000, 200000, 500000)
    script = "; sleep 1; ".join(f"{SENDER} {port} 50 0 {size}" for size in sizes)
    summary = b.send("sh", "-c", script)
    assert [g.bytes for g in b.goals()] == [1000000] * 3, b.goals()
    assert len({g.job for g in b.goals()} - {0}) == 1, b.goals()
    assert summary["bytes_done"] == 1000000 and summary["complete"]


def test_descendants(b: Bench) -> None:
    """A grandchild whose parent has gone is still followed."""
    sent = b.directory / "sent"
    script = (
        f"({SENDER} {b.sink.port} 40 0 1000000 > {sent} &)\n"
        f"until [ -s {sent} ]; do sleep 0.05; done"
    )
    summary = b.send("sh", "-c", script)
    assert summary["bytes_done"] == 1000000
    assert len(b.goals()) == 1


def test_close_is_not_delayed(b: Bench) -> None:
    """The peer sees the end of file when the program closes, not when dalbectl looks next."""
    for pause in range(5):
        # Both ends in one process: over loopback the FIN is there when close() returns.
        program = SEEN + (
            "l = socket.create_server(('127.0.0.1', 0))\n"
            "s = socket.create_connection(l.getsockname()); peer, _ = l.accept()\n"
            f"seen(s); s.sendall(b'x' * 1000); time.sleep(1.2 + {pause} * 0.07)\n"
            "peer.recv(1000, socket.MSG_WAITALL); start = time.monotonic(); s.close()\n"
            "assert not peer.recv(1); print(time.monotonic() - start)\n"
        )
        done = b.run("run", *GOAL, "--loopback", "--", PYTHON, "-c", program)
        assert float(done.stdout) < 0.05, done


def test_descriptors_not_kept(b: Bench) -> None:
    """Between two looks dalbectl holds none of the program's sockets."""
    process = b.start(
        "run", *GOAL, "--loopback", "--", SENDER, str(b.sink.port), "100", "0", "99999"
    )
    wait_for(lambda: b.log.exists() and b.goals(), "the goal")
    held = 0
    for _ in range(200):
        with contextlib.suppress(FileNotFoundError):  # a descriptor that closed meanwhile
            links = [os.readlink(e.path) for e in os.scandir(f"/proc/{process.pid}/fd")]
            # stdin is no socket, and the netlink socket of the tally is ours.
            held += sum(link.startswith("socket:") for link in links) > 1
        time.sleep(0.005)
    process.communicate(timeout=30)
    assert process.returncode == 0 and held < 10, held


def test_what_is_skipped(b: Bench) -> None:
    """Loopback without --loopback, other ports, listeners and UDP stay as they are."""
    port = str(b.sink.port)
    b.env["LOOKS"] = "1"  # and no second one
    own, other = "to this machine itself (type --loopback", "to other ports than that of --port\n"
    for extra, why in (([], own), (["--loopback", "--port", "1"], other), (["--port", "1"], own)):
        done = b.run("run", *GOAL, *extra, "--", SENDER, port, "10", "0", "1000")
        assert done.returncode == 0 and f"had only connections {why}" in done.stderr, done
    program = (
        "import socket, time\n"
        "a = socket.create_server(('127.0.0.1', 0)); b = socket.socket(type=socket.SOCK_DGRAM)\n"
        "b.connect(('127.0.0.1', 9)); c, d = socket.socketpair(); e = socket.socket()\n"
        "time.sleep(0.3)\n"
    )
    done = b.run("run", *GOAL, "--loopback", "--", PYTHON, "-c", program)
    assert "the program had no TCP connection that could be seen" in done.stderr, done.stderr
    assert not b.log.exists() or not b.log.read_text()
    del b.env["LOOKS"]
    summary = b.send(SENDER, port, "20", "0", "1000", goal=(*GOAL, "--port", port))
    assert summary["bytes_done"] == 1000


def test_accepted_connection(b: Bench) -> None:
    """A connection that the program accepts gets the goal as well."""
    program = SEEN + (
        "l = socket.create_server(('127.0.0.1', 0))\n"
        "c = socket.create_connection(l.getsockname())\n"
        "s, _ = l.accept()\nseen(c); seen(s); s.sendall(b'x' * 5000); time.sleep(0.2)\n"
    )
    b.send(PYTHON, "-c", program)
    assert len({g.cookie for g in b.goals()}) == 2, b.goals()


def test_late(b: Bench) -> None:
    """A deadline that passes while the program sends is reported as missed."""
    done = b.run(
        "run", "--size", "1M", "--deadline", "+700ms", "--loopback", "--",
        SENDER, str(b.sink.port), "60", "0", "500000", "500000",
    )  # fmt: skip
    assert re.search(r"1\.00 MB of 1\.00 MB .* after the deadline", done.stderr), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr


def test_undelivered_data(b: Bench) -> None:
    """Bytes that the kernel delivers after the program has ended are counted."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    read_at: list[float] = []

    def slow_reader() -> None:
        conn, _ = listener.accept()
        time.sleep(0.8)
        while conn.recv(1 << 20):
            pass
        read_at.append(time.monotonic())
        conn.close()

    reader = threading.Thread(target=slow_reader, daemon=True)
    reader.start()
    start = time.monotonic()
    summary = b.send(SENDER, str(port), "10", "0", "2000000", goal=("--size", "2M", *GOAL[2:]))
    reader.join()
    assert summary["bytes_done"] == 2000000, summary
    assert 0.5 < summary["elapsed_s"] < read_at[0] - start + 1, summary


TIME = r"(\d+ms|[\d.]+s)"
SIZE = r"[\d.]+ [kM]?B"


def send_and(port: int, then: str, size: int = 100000) -> list[str]:
    """Return a program that sends, waits until all is acknowledged, and does what `then` says."""
    program = SEEN + (
        "import fcntl, signal, sys, termios\n"
        f"s = socket.create_connection(('127.0.0.1', {port}))\n"
        f"time.sleep(0.1); seen(s); s.sendall(b'x' * {size})\n"
        "while struct.unpack('i', fcntl.ioctl(s, termios.TIOCOUTQ, b'    '))[0]:\n"
        "    time.sleep(0.01)\n"
        f"{then}\n"
    )
    return [PYTHON, "-c", program]


def download() -> list[str]:
    """Return a program that asks a server for 1 MB, with 1160 bytes."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        conn, _ = listener.accept()
        with conn:
            conn.recv(1160, socket.MSG_WAITALL)
            conn.sendall(b"x" * 1000000)

    threading.Thread(target=serve, daemon=True).start()
    then = "while s.recv(1 << 20): pass\ntime.sleep(0.5)\n"
    return send_and(listener.getsockname()[1], then, size=1160)


def test_summary_done(b: Bench) -> None:
    """Summary: done in time, or after the deadline."""
    for deadline, when in (("+60s", "5[0-9].[0-9]s before"), ("+50ms", f"{TIME} after")):
        line, js = b.summary(
            "--size", "100k", "--deadline", deadline, "--", *send_and(b.sink.port, "")
        )
        assert re.fullmatch(
            f"100 kB of 100 kB acknowledged in {TIME} over 1 connection, {when} the deadline", line
        ), line
        assert (js["end"], js["complete"]) == ("done", True), js


def test_summary_failed(b: Bench) -> None:
    """Summary: a program that fails, or is killed, is not early."""
    for then, how, status in (
        ("sys.exit(3)", "failed with status 3", 3),
        ("os.kill(os.getpid(), signal.SIGTERM)", "was ended by signal 15", 143),
    ):
        line, js = b.summary(*GOAL, "--", *send_and(b.sink.port, then), status=status)
        assert re.fullmatch(
            f"the program {how}: 100 kB of 1.00 MB acknowledged in {TIME} over 1 connection", line
        ), line
        assert (js["end"], js["on_time"], js["exit_status"]) == ("less", None, status), js
    line, js = b.summary(
        "--size", "1M", "--deadline", "+50ms", "--", *send_and(b.sink.port, "sys.exit(3)"), status=3
    )
    assert re.fullmatch(
        "the program failed with status 3: 100 kB of 1.00 MB acknowledged in "
        f"{TIME} over 1 connection, {TIME} after the deadline", line
    ), line  # fmt: skip
    assert js["on_time"] is False, js


def test_summary_undelivered(b: Bench) -> None:
    """Summary: bytes, or processes, that the program leaves behind, with what is known of them."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])  # of somebody who never reads
        goal = ("--size", "8M", "--deadline", "+60s")
        # So little that it fits in the two sockets' queues, so much that it stays there.
        line, js = b.summary(*goal, "--", SENDER, port, "10", "0", "3000000")
    assert re.fullmatch(
        f"{SIZE} of 8.00 MB acknowledged in {TIME} over 1 connection; {SIZE} that the program left "
        "behind are still being sent", line
    ), line  # fmt: skip
    assert (js["end"], js["on_time"]) == ("undelivered", None), js
    assert js["bytes_undelivered"] > 100000, js
    assert js["bytes_done"] + js["bytes_undelivered"] == 3000000, js

    sent, left = b.directory / "sent", b.directory / "left"
    script = (
        f"{SENDER} {b.sink.port} 20 60000 100000 0 > {sent} 2>&1 & echo $! > {left}\n"
        f"until [ -s {sent} ]; do sleep 0.05; done"
    )
    line, js = b.summary(*GOAL, "--", "sh", "-c", script)
    os.kill(int(left.read_text()), signal.SIGKILL)
    assert re.fullmatch(
        f"100 kB of 1.00 MB acknowledged in {TIME} over 2 connections; processes that the program "
        "left behind are still connected", line
    ), line  # fmt: skip
    assert (js["end"], js["on_time"]) == ("undelivered", None), js


def test_summary_other_namespace(b: Bench) -> None:
    """Summary: of a connection in another network namespace the end is not known, and said so."""
    other = ["unshare", "--map-root-user", "--net"]
    if subprocess.run([*other, "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        return  # not everybody may
    program = SEEN + (
        "import fcntl\n"
        "l = socket.socket()\n"
        "fcntl.ioctl(l, 0x8914, struct.pack('16sh22x', b'lo', 1))\n"  # SIOCSIFFLAGS, IFF_UP
        "l.bind(('127.0.0.1', 0)); l.listen()\n"
        "c = socket.create_connection(l.getsockname()); seen(c); c.sendall(b'x' * 100000)\n"
        "seen(c, looks(c) + 4)\n"  # how far it is, twice; nobody looks at its end
    )
    line, js = b.summary(*GOAL, "--", *other, PYTHON, "-c", program)
    assert re.fullmatch(
        f"100 kB of 1.00 MB acknowledged in {TIME} over 1 connection; what was acknowledged after "
        "the last look is not known", line
    ), line  # fmt: skip
    assert (js["end"], js["on_time"]) == ("undelivered", None), js


def test_summary_download(b: Bench) -> None:
    """Summary: a download is told from an upload."""
    line, js = b.summary(*GOAL, "--", *download())
    assert re.fullmatch(
        f"1.16 kB of 1.00 MB acknowledged in {TIME} over 1 connection, but 1.00 MB received: "
        "a download gets its goal at the sender", line
    ), line  # fmt: skip
    assert (js["end"], js["on_time"], js["complete"]) == ("download", None, False), js
    assert js["bytes_received"] in (1000000, 1000001), js  # perhaps with the FIN


def test_summary_less(b: Bench) -> None:
    """Summary: a program that has next to nothing to send, as an incremental backup."""
    line, js = b.summary(*GOAL, "--", *send_and(b.sink.port, "", size=1000))
    assert re.fullmatch(
        f"1.00 kB of 1.00 MB acknowledged in {TIME} over 1 connection; the program had no more to "
        r"send, 5[0-9]\.[0-9]s before the deadline", line
    ), line  # fmt: skip
    assert (js["end"], js["on_time"], js["complete"]) == ("less", None, False), js


def test_summary_unseen(b: Bench) -> None:
    """Summary: no connection to be seen, as with QUIC or ssh's ControlMaster."""
    unseen = (
        "the program had no TCP connection that could be seen: perhaps a very short one, UDP "
        "(QUIC), or that of another process (type ssh -o ControlPath=none for one of its own)"
    )
    line, js = b.summary(*GOAL, "--", "true")
    assert (line, js["end"], js["on_time"]) == (unseen, "unseen", None), (line, js)
    line, js = b.summary(*GOAL, "--", "false", status=1)
    assert line == f"the program failed with status 1: {unseen}", line


def test_or_plain(b: Bench) -> None:
    """--or-plain: the program runs where no goal can be given, with one line of warning."""
    plain = dict(b.env)
    send = ("--", SENDER, str(b.sink.port), "20", "0", "1000000")
    warning = "dalbectl: warning: the program runs without a goal: "
    b.env = plain | {"SHIM_ABSENT": str(errno.ENOENT)}
    line, js = b.summary(*GOAL, "--or-plain", *send)
    assert b.warnings == [
        warning + "cannot open /dev/dalbe: the module is not loaded: sudo modprobe tcp_dalbe_cdg"
    ], b.warnings
    assert line.startswith("1.00 MB of 1.00 MB acknowledged in "), line
    assert [c["had_goal"] for c in js["connections"]] == [False], js
    for err in (errno.EPERM, 0):
        b.env = plain | {"SHIM_SECCOMP": str(err)}
        del b.env["SHIM_LOOKS"]
        line, js = b.summary(*GOAL, "--or-plain", *send)
        assert b.warnings == [
            warning + "a seccomp filter forbids pidfd_getfd(2): systemd needs "
            "SystemCallFilter=pidfd_getfd, docker --cap-add=SYS_PTRACE"
        ], b.warnings
        assert line == (
            "nothing is known of the program's connections, as they may not be looked at"
        ), line
        assert js["end"] == "unseen", js
        done = b.run("run", "-q", *GOAL, "--or-plain", "--", "sh", "-c", "echo started; exit 7")
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (7, "started\n", 1), done
    # No module, and a filter that kills: a service with both.
    b.env = plain | {"SHIM_ABSENT": str(errno.ENOENT), "SHIM_SECCOMP": "0"}
    del b.env["SHIM_LOOKS"]
    line, js = b.summary(*GOAL, "--or-plain", *send)
    assert (len(b.warnings), js["end"]) == (1, "unseen"), (b.warnings, js)
    assert not b.log.exists() or not b.log.read_text()
    # Where goals can be given it changes nothing.
    b.env = plain
    line, js = b.summary(*GOAL, "--or-plain", *send)
    assert (len(b.goals()), b.warnings) == (1, [])


def test_deadline_of_another_day(b: Bench) -> None:
    """A clock time that is tomorrow's is said to be; one that has just passed is refused."""
    now = int(time.time())
    b.env["TZ"] = f"NOON{(now // 3600 - 12) % 24:+d}"  # between 12:00 and 13:00
    ago = {s: time.strftime("%H:%M:%S", time.gmtime(now % 3600 + 43200 - s)) for s in (60, 9000)}
    day = ("run", "--size", "1M", "--deadline", ago[9000])
    said = f"dalbectl: {ago[9000]} is taken for tomorrow's, in 21h[0-9]+m\n"
    done = b.run(*day, "--", "true")
    assert re.match(said, done.stderr) and done.stderr.count("\n") == 2, done
    assert not b.run(*day, "-q", "--", "true").stderr
    assert b.run("run", *day[1:4], "23:59", "--", "true").stderr.count("\n") == 1
    with running_sender(b, "1000", "0", "1000") as (pid, _):
        done = b.run("set", *day[1:], pid)
        assert done.returncode == 0 and re.match(said, done.stderr), done
    for deadline in (ago[60], "2020-01-01 06:00"):
        goal = ("run", "--size", "1M", "--deadline", deadline)
        done = b.run(*goal, "--", "echo", "started")
        assert re.fullmatch(
            rf"dalbectl: '--deadline {deadline}': it passed \S+ ago; type a date that lies ahead, "
            r"'2030-01-31 06:00', or a time from now, \+90m\n", done.stderr
        ) and (done.returncode, done.stdout) == (2, ""), done  # fmt: skip
        b.log.unlink(missing_ok=True)
        line, js = b.summary(*goal[1:], "--or-plain", "--", *send_and(b.sink.port, ""))
        assert b.warnings == ["dalbectl: warning: the program runs without a goal: the deadline "
                              f"{deadline} has passed"], b.warnings  # fmt: skip
        assert line.endswith(" after the deadline") and not b.goals(), line
        assert (js["on_time"], js["bytes_done"], js["late_s"] > 59) == (False, 100000, True), js
        assert b.run(*goal, "--or-plain", "--fail-late", "--", "true").returncode == 124
    b.summary(*goal[1:], "--or-plain", "--after", "scavenger", "--", *send_and(b.sink.port, ""))
    assert "params" in b.log.read_text(), "what comes after the deadline is no scavenger"


def test_missed_for_a_while(b: Bench) -> None:
    """A connection on its way to another process, which a look misses, is counted once."""
    program = SEEN + (
        f"s = socket.create_connection(('127.0.0.1', {b.sink.port}))\n"
        "seen(s); s.sendall(b'x' * 100000)\n"
        "a, b = socket.socketpair()\n"
        "socket.send_fds(a, [b'x'], [s.fileno()])\n"
        "s.close(); time.sleep(0.7)\n"
        "s = socket.socket(fileno=socket.recv_fds(b, 1, 1)[1][0])\n"
        "n = looks(s) if 'SHIM_LOOKS' in os.environ else 0\n"
        "seen(s, n + 2); s.sendall(b'x' * 100000); s.close()\n"
    )
    _, js = b.summary("--size", "400k", "--deadline", "+60s", "--", PYTHON, "-c", program)
    assert ([c["bytes_done"] for c in js["connections"]], b.warnings) == ([200000], []), js
    assert js["end"] == "less", js


def test_last_bytes_without_a_goal(b: Bench) -> None:
    """Late is when the last byte was late, on a connection without a goal, too."""
    program = SEEN + (
        "l = socket.create_server(('127.0.0.1', 0))\n"
        "a = socket.create_connection(l.getsockname()); p = l.accept()[0]\n"
        "seen(a); a.sendall(b'x' * 50000); a.shutdown(socket.SHUT_WR); time.sleep(3)\n"
        f"b = socket.create_connection(('127.0.0.1', {b.sink.port}))\n"
        "seen(b); b.sendall(b'x' * 50000); b.close(); time.sleep(0.1)\n"
    )
    line, _ = b.summary("--fail-late", "--size", "100k", "--deadline", "+2500ms", "--",
                        PYTHON, "-c", program, status=124)  # fmt: skip
    assert line.endswith(" after the deadline"), line


def test_changed_by_somebody(b: Bench) -> None:
    """A goal that somebody sets on one of several is set again; one that is cleared stays so."""
    program = (
        "import os, socket, sys\n"
        f"two = [socket.create_connection(('127.0.0.1', {b.sink.port})) for _ in range(2)]\n"
        "print(os.getpid(), two[0].fileno(), flush=True)\n"
        "sys.stdin.read()\n"
    )
    args = (DALBECTL, "run", *GOAL, "--loopback", "--", PYTHON, "-c", program)
    with subprocess.Popen(args, env=b.env, text=True, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:  # fmt: skip
        assert run.stdout
        one = ":".join(run.stdout.readline().split())
        wait_for(lambda: len({g.cookie for g in b.goals()}) == 2, "two goals")
        n = len(b.goals())
        assert b.run("set", "--size", "7k", "--deadline", "+9s", one).returncode == 0
        wait_for(lambda: [g for g in b.goals()[n:] if not g.flags and g.bytes != 7000], "a goal")
        assert all(not g.error for g in b.goals()), b.goals()
        assert b.run("clear", one).returncode == 0
        assert run.stderr
        said = run.stderr.readline()
        assert said.endswith(
            " has no goal: another congestion control was selected, by the program or dalbectl "
            "clear\n"
        ), said
        _, err = run.communicate("")
    assert err.count("\n") == 1, err


def test_what_was_done_for_a_job_stays_done(b: Bench) -> None:
    """A connection that has no part any more has done what it had: the job's size stays."""
    program = SEEN + (
        "import sys\n"
        f"two = [socket.create_connection(('127.0.0.1', {b.sink.port})) for _ in range(2)]\n"
        "goals(2); two[0].sendall(b'x' * 200000); seen(two[0], looks(two[0]) + 2)\n"
        "print(os.getpid(), two[0].fileno(), flush=True)\n"
        "sys.stdin.readline(); two[0].sendall(b'x' * 100000); seen(two[0], looks(two[0]) + 3)\n"
    )
    args = (DALBECTL, "run", *GOAL, "--loopback", "--", PYTHON, "-c", program)
    with subprocess.Popen(args, env=b.env, text=True, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:  # fmt: skip
        assert run.stdout and run.stderr
        one = ":".join(run.stdout.readline().split())
        assert b.run("clear", one).returncode == 0
        assert "another congestion control" in run.stderr.readline()  # it has been noticed
        run.communicate("go on\n")
    # 100000 bytes were sent outside of the job, 200000 for it
    assert [g.bytes for g in b.goals() if g.flags == UPDATE][-1:] == [900000], b.goals()


def test_cleared_meanwhile(b: Bench) -> None:
    """A goal that somebody clears just before its update is set again, without a word."""
    program = SEEN + (
        f"to = ('127.0.0.1', {b.sink.port})\n"
        "a = socket.create_connection(to); a.sendall(b'x' * 200000); seen(a); time.sleep(1.5)\n"
        "b = socket.create_connection(to); b.sendall(b'x' * 300000); goals(6)\n"
    )
    b.env["SHIM_CLEAR"] = "1"
    b.summary(*GOAL, "--", PYTHON, "-c", program)
    lost = next(g for g in b.goals() if g.flags == UPDATE)
    rest = b.goals()[b.goals().index(lost) + 1 :]
    assert lost.error == errno.ENODATA and not any(g.error for g in rest), b.goals()
    assert any((g.cookie, g.flags, g.job) == (lost.cookie, 0, lost.job) for g in rest), b.goals()
    assert b.warnings == [], b.warnings


def test_number_was_reused(b: Bench) -> None:
    """A goal that could not be set, as the number meant another file just then, is set later."""
    program = SEEN + (
        f"s = socket.create_connection(('127.0.0.1', {b.sink.port})); goals(1)\n"
        "s.sendall(b'x' * 100000); time.sleep(0.5)\n"
    )
    for lost in ("1", "2", "3", "4"):
        b.log.unlink(missing_ok=True)
        b.env["SHIM_LOSE"] = lost
        b.summary(*GOAL, "--", PYTHON, "-c", program)
        assert [g.bytes for g in b.goals()] == [1000000], (lost, b.goals())


def test_own_address(b: Bench) -> None:
    """A peer with an address of this machine is within it, and stays as it is."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            print("# test_own_address: this machine has no other address, nothing was tested")
            return
        address = probe.getsockname()[0]
    with socket.create_server((address, 0)) as listener:
        program = SEEN + (
            f"s = socket.create_connection(({address!r}, {listener.getsockname()[1]}))\n"
            "seen(s, 1); s.sendall(b'x' * 1000); time.sleep(0.3)\n"
        )
        done = b.run("run", *GOAL, "--", PYTHON, "-c", program)
    assert "only connections to this machine itself (type --loopback" in done.stderr, done
    assert not b.log.read_text(), b.log.read_text()


def test_another_base_stays(b: Bench) -> None:
    """A connection that has one of the module's bases already gets its goal, and keeps it."""
    ours = ("dalbe_cubic", "dalbe_vegas", "dalbe_to_come")
    for cc, attached in (*((cc, False) for cc in ours), ("vegas", True), ("cubic", True)):
        b.log.unlink(missing_ok=True)
        b.env["SHIM_CC"] = cc
        b.summary(*GOAL, "--", *send_and(b.sink.port, "time.sleep(0.2)"))
        assert len(b.goals()) == 1
        assert ("attach" in b.log.read_text()) == attached


def test_scavenger(b: Bench) -> None:
    """run --scavenger, or the weight controller: no goal; the summary tells how much, how long."""
    nulls = dict.fromkeys(("bytes_goal", "complete", "deadline_s", "on_time", "late_s"))
    for options, flags, wmin in (
        (("--scavenger",), 2, 0),
        (("--scavenger", "--wmin", "0.05"), 10, 50000),
        (("--controller", "weight", "--wmin", "0.05"), 10, 50000),
    ):
        b.log.unlink(missing_ok=True)
        line, js = b.summary(*options, "--", *send_and(b.sink.port, "time.sleep(1.2)"))
        assert re.fullmatch(f"100 kB acknowledged in {TIME} over 1 connection", line), line
        assert b.warnings == []
        assert (js["end"], js["bytes_done"]) == ("done", 100000), js
        assert js.items() >= nulls.items() and 1.2 < js["elapsed_s"] < 10, js
        attach, params = (entry.split() for entry in b.log.read_text().splitlines())
        assert (attach[0], params[0]) == ("attach", "params")
        assert params[2:] == [str(flags), "0", "3", "0", str(wmin), "0"]
        (conn,) = js["connections"]
        assert conn["delivered"] and not conn["had_goal"], conn
        assert (conn["controller"], conn["last_status"], conn["last_w"]) == (
            "weight", "scavenger", 0.5,
        ), conn  # fmt: skip


def test_scavenger_summary(b: Bench) -> None:
    """Summary of a scavenger that fails, leaves something behind, receives, or is not seen."""
    line, js = b.summary("--scavenger", "--", *send_and(b.sink.port, "sys.exit(3)"), status=3)
    assert re.fullmatch(
        f"the program failed with status 3: 100 kB acknowledged in {TIME} over 1 connection", line
    ), line
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        line, js = b.summary("--scavenger", "--", SENDER, port, "10", "0", "3000000")
    assert re.fullmatch(
        f"{SIZE} acknowledged in {TIME} over 1 connection; {SIZE} that the program left behind are "
        "still being sent", line
    ), line  # fmt: skip
    assert (js["end"], js["on_time"]) == ("undelivered", None), js

    line, js = b.summary("--scavenger", "--", *download())
    assert re.fullmatch(
        f"1.16 kB acknowledged in {TIME} over 1 connection, but 1.00 MB received: the sender of a "
        "download is to be the scavenger", line
    ), line  # fmt: skip
    assert js["end"] == "download", js

    line, js = b.summary("--scavenger", "--", "true")
    assert line.startswith("the program had no TCP connection that could be seen"), line
    assert js["end"] == "unseen", js

    b.env["SHIM_ABSENT"] = str(errno.ENOENT)
    line, js = b.summary("--scavenger", "--or-plain", "--", *send_and(b.sink.port, ""))
    assert re.fullmatch(f"100 kB acknowledged in {TIME} over 1 connection", line), line
    assert b.warnings == [
        "dalbectl: warning: the program runs as no scavenger: cannot open /dev/dalbe: the module "
        "is not loaded: sudo modprobe tcp_dalbe_cdg"
    ], b.warnings


def test_scavenger_after_deadline(b: Bench) -> None:
    """--after scavenger: a connection that is opened after the deadline is one, without a goal."""
    then = f"t = socket.create_connection(('127.0.0.1', {b.sink.port})); seen(t)"
    for after, params in (("best-effort", ["16"]), ("scavenger", ["16", "18"])):
        b.log.unlink(missing_ok=True)
        program = send_and(b.sink.port, f"time.sleep(2); {then}")
        b.summary("--size", "1M", "--deadline", "+2s", "--after", after, "--", *program)
        entries = [entry.split() for entry in b.log.read_text().splitlines()]
        assert [e[2] for e in entries if e[0] == "params"] == params, entries
        assert len({goal.cookie for goal in b.goals()}) == 1, entries


def params_told(b: Bench) -> list[tuple[int, ...]]:
    """Return what --window told: number of the connection, controller, wmin."""
    entries = [entry.split() for entry in b.log.read_text().splitlines()]
    told = [e for e in entries if e[0] == "params" and e[2] == "10"]
    cookies = list(dict.fromkeys(e[1] for e in told))
    return [(cookies.index(e[1]), int(e[4]), int(e[6])) for e in told]


def test_window(b: Bench) -> None:
    """--window: a scavenger outside, switched at the edges on all connections, and on new ones."""
    mbc, weight, least, full = 2, 3, 20000, 1000000
    # The program opens a second connection two seconds after its first, beyond the edge.
    then = f"t = socket.create_connection(('127.0.0.1', {b.sink.port})); seen(t)"
    later = send_and(b.sink.port, f"time.sleep(2.5); {then}; time.sleep(0.3)")
    begin = 1795132800 + 3600 - 2  # Fri 20 Nov 2026, 00:59:58 UTC
    goal = ("--size", "1M", "--deadline", "+60s")
    b.env["TZ"] = "UTC"
    for options, start, want in (
        (("--window", "01:00-06:00", *goal), begin, [
            (0, weight, least), (0, mbc, least), (1, mbc, least)]),
        (("--window", "22:00-01:00", *goal), begin, [
            (0, mbc, least), (0, weight, least), (1, weight, least)]),
        (("--window", "22:00-01:00", *goal, "--controller", "floor"), begin, [
            (0, 4, least), (0, weight, least), (1, weight, least)]),
        (("--window", "22:00-01:00", *goal, "--wmin", "0.1"), begin, [
            (0, mbc, 100000), (0, weight, 100000), (1, weight, 100000)]),
        (("--window", "01:00-06:00"), begin, [
            (0, weight, least), (0, weight, full), (1, weight, full)]),
        # Not on a Friday; two windows that touch are one.
        (("--window", "Sat-Thu@01:00-06:00", *goal), begin, [
            (0, weight, least), (1, weight, least)]),
        (("--window", "0:00-1:00", "--window", "1:00-2:00", *goal), begin, [
            (0, mbc, least), (1, mbc, least)]),
    ):  # fmt: skip
        b.log.unlink(missing_ok=True)
        b.env["SHIM_CLOCK"] = str(start)
        line, js = b.summary(*options, "--", *later)
        assert params_told(b) == want, (options, params_told(b))
        assert b.warnings == [], b.warnings
        assert len(js["connections"]) == 2, js
        assert ("of 1.00 MB" in line) == ("--size" in options), line


def test_window_deadline(b: Bench) -> None:
    """--window: the deadline that the kernel gets leaves out the hours that are closed."""
    night = 1795132800  # Fri 20 Nov 2026, 00:00:00 UTC
    b.env["TZ"] = "UTC"
    for window, start, deadline, want in (
        ("01:00-06:00", night + 7200, "2026-11-20 05:00", [3 * 3600]),
        ("01:00-06:00", night + 7200, "2026-11-21 03:00", [6 * 3600]),
        ("01:00-06:00", night + 12 * 3600, "2026-11-21 03:00", [15 * 3600]),
        # It closes after two seconds: until then they are all that is left; then a night is.
        ("01:00-06:00", night + 6 * 3600 - 2, "2026-11-20 20:00", [2, 14 * 3600 + 2]),
        ("01:00-06:00", night + 6 * 3600 - 2, "2026-11-21 02:00", [3602, 20 * 3600 + 2]),
    ):  # fmt: skip
        b.log.unlink(missing_ok=True)
        b.env["SHIM_CLOCK"] = str(start)
        began = time.clock_gettime(time.CLOCK_BOOTTIME)
        options = ("--window", window, "--size", "1M", "--deadline", deadline)
        b.summary(*options, "--", *send_and(b.sink.port, "time.sleep(3)"))
        seconds = [g.deadline_ns / 1e9 - began for g in b.goals()]
        assert len(seconds) == len(want), (want, b.goals())
        assert all(-1.5 < s - w < 1.5 for s, w in zip(seconds, want, strict=True)), (want, seconds)


def test_window_after_deadline(b: Bench) -> None:
    """--window: a connection that is opened after the deadline is a scavenger, too, outside."""
    then = f"t = socket.create_connection(('127.0.0.1', {b.sink.port})); seen(t); time.sleep(0.3)"
    b.env |= {"TZ": "UTC", "SHIM_CLOCK": "1795132800"}
    for options, want in (
        (("--window", "01:00-06:00"), [(0, 3, 20000), (1, 3, 20000)]),
        (("--window", "00:00-06:00"), [(0, 2, 20000), (1, 3, 1000000)]),
        (("--window", "00:00-06:00", "--after", "scavenger"), [(0, 2, 20000), (1, 3, 20000)]),
    ):
        b.log.unlink(missing_ok=True)
        goal = ("--size", "1M", "--deadline", "+2s")
        b.summary(*options, *goal, "--", *send_and(b.sink.port, f"time.sleep(2); {then}"))
        assert params_told(b) == want, (options, b.log.read_text())


def record(b: Bench, name: str) -> list[dict[str, Any]]:
    """The runs that dalbectl has kept of a job."""
    text = (b.directory / "dalbe" / f"{name}.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def test_size_auto(b: Bench) -> None:
    """--size auto: the first run has no goal and tells the next its size; a failure does not."""
    b.env["XDG_STATE_HOME"] = str(b.directory)
    auto = ("--name", "n", "--size", "auto", "--deadline", "+60s", "--")
    for size, want in ((800000, None), (1600000, 900000), (160000, 1800000), (80000, 900000)):
        b.log.unlink(missing_ok=True)
        line, js = b.summary(*auto, *send_and(b.sink.port, "", size))
        assert "no earlier run" in b.warnings[0] if want is None else "taken for" in b.warnings[0]
        assert line.startswith("n: ") and " before the deadline" in line and " of " not in line
        assert (js["bytes_goal"], js["complete"], js["on_time"]) == (want, True, True), js
        first = [goal.bytes for goal in b.goals()][:1] if want else []
        assert first == ([want] if want else []), (first, want)
        run = record(b, "n")[-1]
        assert (run["bytes"], run["goal"], run["met"]) == (size, want or 0, True), run
        assert run["to"] == "127.0.0.1" and run["end"] >= run["start"], run
        assert not record(b, "n")[0]["goal"] or want, run
        if want == 900000 and size == 1600000:
            b.summary(*auto, *send_and(b.sink.port, "sys.exit(3)", 5000000), status=3)
            assert record(b, "n")[-1]["status"] == 3, record(b, "n")
    for size, doubted in (("4M", True), ("1.8M", False)):  # 0.9 MB are learned
        given = ("--name", "n", "--size", size, "--deadline", "+60s", "--")
        b.summary(*given, *send_and(b.sink.port, "", 800000))
        assert any("--size auto" in line for line in b.warnings) == doubted, b.warnings
    late = ("--name", "l", "--size", "auto", "--deadline", "+500ms", "--fail-late", "--")
    line, js = b.summary(*late, *send_and(b.sink.port, "time.sleep(1)"), status=124)
    assert " after the deadline" in line and not js["on_time"], (line, js)
    assert record(b, "l")[0]["met"] is False and 0.4 < record(b, "l")[0]["late_s"] < 20


def test_progress(b: Bench) -> None:
    """--progress: what the program says corrects the size; its words are passed on."""
    b.env["XDG_STATE_HOME"] = str(b.directory)
    auto = ("--name", "n", "--size", "auto", "--deadline", "+60s")
    b.summary(*auto, "--", *send_and(b.sink.port, "", 4000000))
    says = (
        "for part in (1, 2, 3, 4):\n"
        "    s.sendall(b'x' * 50000); time.sleep(1.3)\n"
        "    print(f'{part:7}00,000  {25 * part}%   10.00MB/s    0:00:10', end='\\r', flush=True)\n"
        "    print('a line', file=sys.stderr, flush=True)\n"
        "time.sleep(1.2)\n"
    )
    program = send_and(b.sink.port, "pass\n" + says, 0)
    done = b.run("run", "--loopback", *auto, "--progress", "--", *program)
    assert done.returncode == 0, done
    parts = [f"{part:7}00,000  {25 * part}%   10.00MB/s    0:00:10" for part in (1, 2, 3, 4)]
    assert done.stdout.splitlines() == parts, done.stdout
    assert done.stderr.splitlines().count("a line") == 4, done.stderr
    sizes = [goal.bytes for goal in b.goals()]
    assert sizes[0] == 4500000 and 150000 <= sizes[-1] <= 250000, sizes
    # A size that is stated is a guess then, and the first run of a name has a goal.
    unknown = ("--name", "u", *auto[2:])
    for size, first in ((("--size", "4M", "--deadline", "+60s"), 4000000), (unknown, 1)):
        b.log.unlink(missing_ok=True)
        line, js = b.summary(*size, "--fail-late", "--progress", "--", *program)
        assert " of " not in line and js["complete"] and js["on_time"], (line, js)
        assert js["bytes_goal"] == (first if first > 1 else None), js
        sizes = [goal.bytes for goal in b.goals()]
        assert sizes[0] == first and 150000 <= sizes[-1] <= 250000, sizes
    # A pipe that another process keeps open does not hold us up, nor a reader that has gone.
    begin = time.monotonic()
    done = b.run("run", "--loopback", *auto, "--progress", "--", "sh", "-c", "sleep 20 & echo x")
    assert (done.stdout, time.monotonic() - begin < 10) == ("x\n", True), done
    process = b.start("run", "--loopback", *auto, "--progress", "--", "yes")
    assert process.stdout and process.stdout.readline() == "y\n"
    process.stdout.close()
    assert process.wait(10) == 128 + signal.SIGPIPE


def test_record(b: Bench) -> None:
    """Without --name nothing is kept; where it cannot be, the job runs all the same."""
    b.env["XDG_STATE_HOME"] = str(b.directory)
    b.summary(*GOAL, "--", *send_and(b.sink.port, ""))
    assert not (b.directory / "dalbe").exists()
    (b.directory / "dalbe").write_text("in the way")
    line, _ = b.summary("--name", "n", *GOAL, "--", *send_and(b.sink.port, ""))
    assert "cannot write the record in" in b.warnings[-1], b.warnings
    assert line.startswith("n: ")
    assert "cannot read" in b.run("report").stderr
    # Anybody may open root's directory, and lock it.
    (b.directory / "dalbe").unlink()
    (b.directory / "dalbe").mkdir()
    locked = os.open(b.directory / "dalbe", os.O_RDONLY)
    fcntl.flock(locked, fcntl.LOCK_EX)
    b.summary("--name", "n", *GOAL, "--", *send_and(b.sink.port, ""))
    os.close(locked)
    assert "\nn " in b.run("report").stdout


def test_report(b: Bench) -> None:
    """What became of last night's jobs: text, JSON and metrics; and one that has not run."""
    b.env |= {"XDG_STATE_HOME": str(b.directory), "TZ": "UTC"}
    assert b.run("report").stdout.startswith("No job with a name has run"), b.run("report")
    b.env["SHIM_ABSENT"] = str(errno.ENOENT)  # it needs no module
    now = int(time.time())

    def run(name: str, ago_s: int, **more: Any) -> None:
        told = {"start": now - ago_s - 3600, "end": now - ago_s, "deadline": now, "late_s": -1.0}
        told |= {"bytes": 10**9, "goal": 10**9, "rate": 277777, "most": 10**6, "status": 0}
        (b.directory / "dalbe").mkdir(exist_ok=True)
        with (b.directory / "dalbe" / f"{name}.jsonl").open("a") as out:
            out.write(json.dumps(told | {"to": "192.0.2.1"} | more) + "\n")

    run("nightly", 90000)
    run("nightly", 7200, late_s=-754.0)
    run("photos", 3600, late_s=4320.0)
    run("broken", 60, status=20)
    run("empty", 55, bytes=0)
    run("free", 50, deadline=None, late_s=None)
    run("absent", 3 * 86400)
    run("forgotten", 30 * 86400)
    _header, *rows = b.run("report").stdout.splitlines()
    results = {" ".join(row.split()[7:]) for row in rows if " has not " not in row}
    assert results == {
        "met, 12m34s before the deadline", "late by 1h12m", "failed with status 20", "done",
        "sent nothing",
    }, rows  # fmt: skip
    assert [row.split()[0] for row in rows if " has not run since " in row] == ["absent"], rows
    js = json.loads(b.run("report", "--json").stdout)
    met = {run["name"]: run["met"] for run in js["runs"]}
    assert met.pop("free") is None and met.pop("nightly") is True, js
    assert met == {"photos": False, "broken": False, "empty": False}, js
    text = b.run("report", "--prometheus").stdout
    samples = dict(re.findall(r'^(dalbe_job_\w+\{job="\w+"\}) (\S+)$', text, re.MULTILINE))
    assert samples['dalbe_job_met{job="nightly"}'] == "1", text
    assert samples['dalbe_job_late_seconds{job="photos"}'] == "4320", text
    assert samples['dalbe_job_exit_status{job="broken"}'] == "20", text
    assert float(samples['dalbe_job_end_timestamp_seconds{job="absent"}']) == now - 3 * 86400, text
    assert 'dalbe_job_met{job="free"}' not in samples, text
    names = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(names) == len(set(names)), text


def test_plan(b: Bench) -> None:
    """What fits and what does not, by what the line has carried; run says so before it starts."""
    b.env["XDG_STATE_HOME"] = str(b.directory)
    done = b.run("plan", "n=1G@+1h")
    assert done.returncode == 1 and "nothing is known" in done.stderr, done
    b.summary("--name", "n", *GOAL, "--", *send_and(b.sink.port, "time.sleep(2)"))
    done = b.run("plan", "n@+1h", "big=1000T@+2h", "small=1M@+30m")
    assert done.returncode == 1, done
    _line, *rows = done.stdout.splitlines()
    assert [row.split(":")[0] for row in rows] == ["small", "n", "big"], rows
    assert [row.split(": ")[2].split(",")[0] for row in rows] == ["fits", "fits", "does not fit"]
    at = time.localtime(time.time() + 7200)
    hours = f"{at.tm_hour}:{at.tm_min:02}-{at.tm_hour}:{(at.tm_min + 1) % 60:02}"
    done = b.run("plan", "--json", "--window", hours, "n@+1h", "small=1M@+3h")
    js = {job["name"]: job for job in json.loads(done.stdout)["jobs"]}
    assert js["n"]["verdict"] == "not" and js["n"]["open_s"] == 0, js
    assert js["small"]["verdict"] == "fits" and 7000 < js["small"]["latest_s"] < 7300, js
    js = json.loads(b.run("plan", "--json", "n@+30m-+1h").stdout)["jobs"][0]
    assert js["from_s"] == 1800 and 1800 <= js["soonest_s"] <= js["latest_s"] < 1900, js
    early, late = (time.strftime("%H:%M", time.localtime(time.time() + s)) for s in (-3600, 3600))
    dates = (time.strftime("%F %T", time.localtime(time.time() + s)) for s in (1800, 3600))
    for times, from_s in ((f"{early}-{late}", 0), ("-".join(dates), 1799)):
        js = json.loads(b.run("plan", "--json", f"n@{times}").stdout)["jobs"][0]
        assert from_s <= js["from_s"] <= from_s + 1 and js["deadline_s"] > 3400, (times, js)
    done = b.run("plan", "n@+30m-+1h")
    assert "112500 B from " in done.stdout or "kB from " in done.stdout, done
    js = json.loads(b.run("plan", "--json", "n@+1h").stdout)
    assert js["jobs"][0]["bytes"] == 112500 and js["jobs"][0]["verdict"] == "fits", js
    assert 0 < js["low"] <= js["most"] and js["runs"] == 1, js
    big = ("--name", "n", "--size", "1000T", "--deadline", "+60s", "--")
    b.summary(*big, *send_and(b.sink.port, ""))
    assert any("do not fit: the line has carried" in w for w in b.warnings), b.warnings
    for bad in ("n", "n=1G", "n@", "n@+1q", "n=x@+1h", "/n=1G@+1h", "other@+1h",
                "n@+2h-+1h", "n@x-+1h", "n@+1h-"):  # fmt: skip
        assert b.run("plan", bad).returncode == 2, bad


def test_journal(b: Bench) -> None:
    """In the journal a job is a line with a priority: notice in time, warning late."""
    b.env["XDG_STATE_HOME"] = str(b.directory)
    for deadline, want in (("+60s", "<5>dalbectl: n: "), ("+300ms", "<4>dalbectl: n: ")):
        with (b.directory / "journal").open("w+") as journal:
            st = os.fstat(journal.fileno())
            for stream, prefix in ((f"{st.st_dev}:{st.st_ino}", want), ("1:1", "dalbectl: n: ")):
                journal.truncate(0)
                journal.seek(0)
                goal = ("--size", "100k", "--deadline", deadline)
                program = send_and(b.sink.port, "time.sleep(0.6)")
                subprocess.run(
                    [DALBECTL, "run", "--name", "n", "--loopback", *goal, "--", *program],
                    env=b.env | {"JOURNAL_STREAM": stream}, check=True, stderr=journal,
                )  # fmt: skip
                journal.seek(0)
                assert journal.read().splitlines()[-1].startswith(prefix), (deadline, stream)


def test_plan_without_a_record(b: Bench) -> None:
    """A job without a record is on the line of those that have one; a bad one is named whole."""
    b.env["XDG_STATE_HOME"] = str(b.directory)
    b.summary("--name", "n", *GOAL, "--", *send_and(b.sink.port, ""))
    done = b.run("plan", "new=1M@+1h")
    assert re.search(r"new: 1.00 MB by \S*\d:\d\d", done.stdout.splitlines()[-1]), done
    assert json.loads(b.run("plan", "--json", "new=1M@+1h").stdout)["runs"] == 1
    assert "'new=x@+1h'" in b.run("plan", "new=x@+1h").stderr


def test_not_before(b: Bench) -> None:
    """--not-before: the program starts then, its time counts from there; a signal ends the wait."""
    begin = time.monotonic()
    line, js = b.summary("--not-before", "+1500ms", *GOAL, "--", *send_and(b.sink.port, ""))
    assert time.monotonic() - begin >= 1.5, line
    assert js["elapsed_s"] < 1.4 and 50 < js["deadline_s"] < 58.6, js
    process = b.start("run", "--scavenger", "--not-before", "+1h", "--", "touch", str(b.log) + "x")
    time.sleep(0.3)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == -signal.SIGTERM
    assert not Path(str(b.log) + "x").exists()
    # At 02:00 a night that began at 01:00 is under way; so it is five seconds after 01:00.
    for start, at, end, waits in (
        (7200, "01:00", "06:00", False),
        (7200, "2026-11-20 01:00", "06:00", False),
        (3605, "01:00", "06:00", False),
        (2400, "01:00", "06:00", True),
        (25200, "01:00", "06:00", True),
    ):
        b.env |= {"TZ": "UTC", "SHIM_CLOCK": str(1795132800 + start)}
        for order in (("--stop-at", end, "--not-before", at), ("--not-before", at, *GOAL[:2],
                      "--deadline", end)):  # fmt: skip
            scavenger = () if "--size" in order else ("--scavenger",)
            process = b.start("run", "-q", *scavenger, *order, "--", "true")
            try:
                assert process.wait(1 if waits else 10) == 0 and not waits, (start, order)
            except subprocess.TimeoutExpired:
                assert waits, (start, order)
                process.terminate()
                process.wait()
        done = b.run("run", "--scavenger", "--not-before", "2026-11-22 01:00", "--stop-at", end,
                     "--", "true")  # fmt: skip
        assert done.returncode == 2 and "is after --stop-at" in done.stderr, done


def test_attach_at_each_hour(b: Bench) -> None:
    """Attach refuses a time of the day for one reason, also in the hour after it."""
    for clock in ("1795132800", "1795155000"):  # 00:00, 06:10
        b.env |= {"TZ": "UTC", "SHIM_CLOCK": clock}
        done = b.run("attach", "--cgroup", "/", "--size", "3M", "--deadline", "06:00")
        assert done.returncode == 2 and "from each connection's beginning" in done.stderr, done


def test_documents_at_each_hour(b: Bench) -> None:
    """The commands of the documents are good whatever the time of the day is."""
    b.env |= {"TZ": "UTC", "XDG_STATE_HOME": str(b.directory)}
    text = "".join((ROOT / name).read_text() for name in ("README.md", "docs/operate.md"))
    lines = re.findall(r"^    dalbectl ((?:run|plan) .*?:00.*?)(?:  #.*| -- .*)?$", text, re.M)
    assert len(lines) >= 5, lines
    for line in lines:
        words = shlex.split(line)
        if "--size-of" in words:
            at = words.index("--size-of")
            words[at : at + 2] = ["--size", "1M"]
        for half in range(48):
            b.env["SHIM_CLOCK"] = str(1795132800 + 1800 * half + 900)
            done = b.run(*words)
            if half in {12, 13, 16, 17} and "': it passed" in done.stderr:
                assert re.search(r"0[68]:00': it passed", done.stderr), done  # the hour after
            elif words[0] == "run":
                assert "the program is missing" in done.stderr, (half / 2, line, done)
            else:
                assert done.returncode == 1, (half / 2, line, done)


def test_stop_at(b: Bench) -> None:
    """--stop-at: SIGTERM to the program then, 124 whatever it makes of it; not if it has ended."""
    scavenger = ("--scavenger", "--stop-at", "+800ms", "--")
    handler = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))"
    wait = "time.sleep(60)"
    for then, options, exit_status in (
        (wait, scavenger, 143),
        (f"{handler}; {wait}", scavenger, 0),
        (f"os.kill(os.getpid(), signal.SIGSTOP); {wait}", scavenger, 143),
        (wait, (*GOAL, "--stop-at", "+800ms", "--"), 143),
        (wait, (*GOAL, "--fail-late", "--stop-at", "+800ms", "--"), 143),
    ):
        begin = time.monotonic()
        line, js = b.summary(*options, *send_and(b.sink.port, then), status=124)
        assert 0.8 <= time.monotonic() - begin < 20, line
        assert line.startswith("the program was ended by --stop-at: 100 kB "), line
        assert "before the deadline" not in line, line
        assert (js["exit_status"], js["stopped"]) == (exit_status, True), js
    line, js = b.summary("--scavenger", "--stop-at", "+30s", "--", *send_and(b.sink.port, ""))
    assert not js["stopped"] and "--stop-at" not in line, line
    line, js = b.summary("--scavenger", "--stop-at", "+30s", "--", "sh", "-c", "exit 3", status=3)
    assert not js["stopped"], js


def test_dscp(b: Bench) -> None:
    """--dscp: each connection is marked, IPv4 or IPv6, and again where the program marks it."""
    out = b.directory / "classes"
    program = SEEN + f"""
import sys
def tos(level, name, want):
    end = time.monotonic() + 10
    while s.getsockopt(level, name) != want and time.monotonic() < end:
        time.sleep(0.01)
    return s.getsockopt(level, name)
want = int(sys.argv[3])
s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
six = [tos(socket.IPPROTO_IPV6, 67, want)] if s.family == socket.AF_INET6 else []
four = tos(socket.IPPROTO_IP, socket.IP_TOS, want)
s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 0x10)
print(*six, four, tos(socket.IPPROTO_IP, socket.IP_TOS, want), file=open({str(out)!r}, 'w'))
"""
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as six:
        for name, value in (("le", 1), ("CS1", 8), ("cs7", 56), ("af11", 10), ("AF43", 38),
                            ("ef", 46), ("63", 63), ("0", 0)):  # fmt: skip
            where = ["127.0.0.1", str(b.sink.port)]
            want = str(4 * value)
            b.summary("--scavenger", "--dscp", name, "--", PYTHON, "-c", program, *where, want)
            assert out.read_text().split() == [want, want], (name, out.read_text())
        for host, port in (("::1", six.getsockname()[1]), ("::ffff:127.0.0.1", b.sink.port)):
            where = [host, str(port)]
            b.summary("--scavenger", "--dscp", "le", "--", PYTHON, "-c", program, *where, "4")
            assert out.read_text().split() == ["4", "4", "4"], (host, out.read_text())
    assert not b.warnings, b.warnings


def test_max_rate(b: Bench) -> None:
    """--max-rate: divided by the number of open connections, also when it changes."""
    out = b.directory / "rates"
    program = SEEN + f"""
def rate(s, want):  # SO_MAX_PACING_RATE
    end = time.monotonic() + 10
    while True:
        (got,) = struct.unpack('Q', s.getsockopt(socket.SOL_SOCKET, 47, 8))
        if got == want or time.monotonic() > end:
            return got
        time.sleep(0.01)
peers = [socket.create_connection(('127.0.0.1', {b.sink.port}))]
rates = [rate(peers[0], 3000000)]
peers += [socket.create_connection(('127.0.0.1', {b.sink.port})) for _ in range(2)]
rates += [rate(s, 1000000) for s in peers]
peers.pop().close()
rates += [rate(s, 1500000) for s in peers]
print(*rates, file=open({str(out)!r}, 'w'))
begin = time.monotonic()
peers.pop().close()
rate(peers[0], 3000000)
for _ in range(60):
    peers[0].sendall(b'x' * 100000)
peers[0].shutdown(1)
peers[0].recv(1)  # the other end has it all
print(time.monotonic() - begin, file=open({str(out)!r}, 'a'))
"""
    b.summary(*GOAL, "--max-rate", "24Mbit/s", "--", PYTHON, "-c", program)
    rates, took = out.read_text().splitlines()
    assert [int(rate) for rate in rates.split()] == [3000000] + [1000000] * 3 + [1500000] * 2
    assert float(took) > 1.5, took  # 6 MB
    assert not b.warnings, b.warnings
    b.env["SHIM_ABSENT"] = str(errno.ENOENT)
    b.summary(*GOAL, "--max-rate", "24Mbit/s", "--or-plain", "--", PYTHON, "-c", program)
    assert out.read_text().startswith("3000000 1000000"), out.read_text()


def test_fail_late(b: Bench) -> None:
    """--fail-late: 124 if late, 123 if less was sent; a failure of the program goes first."""
    done = ("--size", "100k")
    less = ("--size", "1M")
    cases = [
        (done, "+60s", "", 0),
        (less, "+60s", "", 123),
        (done, "+50ms", "", 124),
        (less, "+50ms", "", 124),
        (less, "+50ms", "sys.exit(3)", 3),
    ]
    for size, deadline, then, status in cases:
        args = (*size, "--deadline", deadline, "--", *send_and(b.sink.port, then))
        b.summary("--fail-late", *args, status=status)
        b.summary(*args, status=3 if then else 0)
    b.env["SHIM_ABSENT"] = str(errno.ENOENT)
    args = ("--deadline", "+50ms", "--", *send_and(b.sink.port, ""))
    b.summary("--fail-late", "--or-plain", *done, *args, status=124)


def test_params(b: Bench) -> None:
    """Parameters arrive in the kernel's units, and before the goal."""
    b.send(
        SENDER, str(b.sink.port), "20", "0", "1000",
        goal=(*GOAL, "--controller", "pid", "--after", "keep", "--wmin", "0.05", "--tw", "2s",
              "--g", "0.5"),
    )  # fmt: skip
    attach, params, goal = (line.split() for line in b.log.read_text().splitlines())
    assert params[0] == "params" and params[2:] == ["31", "500000", "1", "2000", "50000", "2"]
    assert (attach[0], goal[0]) == ("attach", "goal")


@contextlib.contextmanager
def running_sender(b: Bench, *args: str) -> Iterator[tuple[str, list[int]]]:
    """A sender that runs without dalbectl, for 20 times its pause: its pid and its sockets."""
    command = [SENDER, str(b.sink.port), *args]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        fds = Path(f"/proc/{process.pid}/fd")

        def sockets() -> list[int]:
            links = {}
            for entry in os.scandir(fds):
                with contextlib.suppress(FileNotFoundError):  # a library's, closed since
                    links[int(entry.name)] = os.readlink(entry.path)
            return sorted(n for n, link in links.items() if link.startswith("socket:"))

        wait_for(lambda: len(sockets()) == len(args) - 2, "the sender's sockets")
        yield str(process.pid), sockets()
        process.kill()


def test_set_get_clear(b: Bench) -> None:
    """Set, get and clear work on a running process, and on one descriptor."""
    with running_sender(b, "1000", "0", "100000", "100000") as (pid, fds):
        one = f"{pid}:{fds[0]}"
        done = b.run("get", pid)
        assert done.returncode == 1 and "no connection of dalbe found" in done.stderr
        done = b.run("get", one)
        assert done.returncode == 1 and "uses none of dalbe's congestion controls" in done.stderr

        assert b.run("set", *GOAL, one).returncode == 0
        assert [g.bytes for g in b.goals()] == [1000000]
        done = b.run("set", "--update", "--size", "3M", "--deadline", "+5m", one)
        assert b.goals()[-1][1::2] == (3000000, UPDATE, 0)
        done = b.run("get", "-v", one)
        assert done.returncode == 0
        assert "on track" in done.stdout and "/3.00 MB" in done.stdout, done.stdout
        assert len(done.stdout.splitlines()) == 2

        done = b.run("set", "--size", "1001", "--deadline", "+5m", pid)
        assert done.returncode == 0 and [g.bytes for g in b.goals()[-2:]] == [1001] * 2
        done = b.run("get", "--json", pid)
        conns = json.loads(done.stdout)["connections"]
        assert [(c["pid"], c["fd"]) for c in conns] == [(int(pid), fd) for fd in fds]
        assert json.loads(b.run("get", "--json").stdout)["connections"]

        done = b.run("clear", one)
        default = Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text().strip()
        said = f"{one} (sender): 1 connection cleared, back at {default}\n"
        assert (done.returncode, done.stdout, done.stderr) == (0, said, ""), done
        assert b.log.read_text().endswith(f" {default}\n"), b.log.read_text()
        done = b.run("get", one)
        assert done.returncode == 1 and "uses none of dalbe's congestion controls" in done.stderr
        assert b.run("set", "--g", "3", "--controller", "fixed", one).returncode == 0
        done = b.run("clear", f"{pid}:1")
        assert done.returncode == 1 and done.stderr.count("\n") == 1


def test_set_scavenger(b: Bench) -> None:
    """Set --scavenger needs no goal, get tells it, and a goal given later is warned of."""
    with running_sender(b, "1000", "0", "100000") as (pid, fds):
        one = f"{pid}:{fds[0]}"
        done = b.run("set", "--scavenger", "--wmin", "0.02", pid)
        said = f"{pid} (sender): 1 connection changed\n"
        assert (done.returncode, done.stdout, done.stderr) == (0, said, ""), done
        params = b.log.read_text().splitlines()[-1].split()
        assert (params[0], params[2:]) == ("params", ["10", "0", "3", "0", "20000", "0"])
        line = b.run("get", one).stdout.splitlines()[1]
        assert line[33:] == "scavenger     - 10.0 Mbit/s         -         -", line
        b.env["SHIM_REGIME"] = "3"
        (conn,) = json.loads(b.run("get", "--json", one).stdout)["connections"]
        assert (conn["status"], conn["controller"]) == ("scavenger", "weight"), conn
        assert (conn["w"], conn["regime"], conn["goal_bytes"]) == (0.5, "contended", 0), conn

        done = b.run("set", *GOAL, one)
        assert (done.returncode, done.stderr) == (
            0,
            f"dalbectl: warning: {one} stays a scavenger, whatever the deadline; type "
            "--controller mbc to change that\n",
        ), done
        assert "on track" in b.run("get", one).stdout
        done = b.run("set", *GOAL, "--controller", "mbc", one)
        assert (done.returncode, done.stderr) == (0, ""), done
        assert b.run("clear", one).returncode == 0
        assert b.run("get", one).returncode == 1
    with socket.create_server(("127.0.0.1", 0)) as listener:
        fd = listener.fileno()
        with subprocess.Popen(["sleep", "20"], pass_fds=[fd]) as process:
            done = b.run("set", "--scavenger", str(process.pid))
            assert (done.returncode, done.stderr) == (
                1,
                f"dalbectl: {process.pid}: no connection yet, but it listens; type "
                f"{process.pid}:{fd} to set this for each connection that it accepts\n",
            ), done
            process.kill()


def test_pid_means_descendants(b: Bench) -> None:
    """A PID stands for its descendants as well, as rsync's for the ssh that holds the socket."""
    script = f"true & {SENDER} {b.sink.port} 1000 0 100000 100000 & wait"
    # A zombie among them: its descriptors are gone, and nobody may look.
    program = (
        "import subprocess, sys\n"
        "zombie = subprocess.Popen(['true'])\n"
        f"sys.exit(subprocess.Popen(['sh', '-c', {script!r}]).wait())\n"
    )
    with subprocess.Popen([PYTHON, "-c", program]) as process:
        pid = str(process.pid)
        done = b.run("clear", pid)
        assert (done.returncode, done.stderr) == (
            1,
            f"dalbectl: {pid}: no connection of dalbe; see dalbectl get for those there are\n",
        ), done

        def is_set() -> bool:
            return b.run("set", "--size", "200000", "--deadline", "+60s", pid).returncode == 0

        wait_for(is_set, "the connections of the child's child")
        if len(b.goals()) == 1:  # the second was not there yet
            wait_for(lambda: is_set() and len(b.goals()) == 3, "both connections")
        (job,) = {(g.bytes, g.job) for g in b.goals()[-2:]}
        assert job[0] == 200000 and job[1], b.goals()
        done = b.run("get", "-v", pid, pid)
        lines = done.stdout.splitlines()
        assert (done.returncode, done.stderr, len(lines)) == (0, "", 3), done
        assert not lines[1].startswith(pid), lines
        watch = b.start("watch", "--interval", "200ms", "--json", pid)
        assert watch.stdout
        first = json.loads(watch.stdout.readline())["connections"]
        assert [c["goal_bytes"] for c in first] == [200000, 200000], first
        assert b.run("clear", pid).returncode == 0
        os.kill(first[0]["pid"], signal.SIGKILL)
        _, err = watch.communicate(timeout=60)
        assert (watch.returncode, err) == (0, ""), (watch.returncode, err)
        process.wait(timeout=60)


CONNECTED_WITHIN = (
    "import fcntl, socket, struct, time\n"
    "l = socket.socket()\n"
    "fcntl.ioctl(l, 0x8914, struct.pack('16sh22x', b'lo', 1))\n"  # SIOCSIFFLAGS, IFF_UP
    "l.bind(('127.0.0.1', 0)); l.listen()\n"
    "c = socket.create_connection(l.getsockname()); a = l.accept()[0]\n"
    "print(flush=True); time.sleep(20)\n"
)


def test_set_all(b: Bench) -> None:
    """PID 1 needs --all, and containers' connections are left alone and counted."""
    inside = ["unshare", "--map-root-user"]
    trial = subprocess.run([*inside, "--net", "true"], stderr=subprocess.DEVNULL, check=False)
    if trial.returncode:
        print("# test_set_all: no namespace of our own, nothing was tested")
        return
    done = b.run("set", "--scavenger", "1")
    assert (done.returncode, done.stderr) == (
        2,
        "dalbectl: set: 1 stands for every process of this machine; type --all before it if that "
        "is meant\n",
    ), done
    command = [*inside, "--net", PYTHON, "-c", CONNECTED_WITHIN]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout and process.stdout.readline()
        for args in (("set", "--scavenger"), ("clear",)):
            done = b.run(*args, str(process.pid))
            assert (done.returncode, done.stdout, done.stderr) == (
                1,
                "",
                f"dalbectl: {process.pid}: all its connections are in another network namespace; "
                f"type nsenter -n -t PID dalbectl {args[0]}, with a process of that one as PID\n",
            ), done
        fd = min(int(e.name) for e in Path(f"/proc/{process.pid}/fd").iterdir()
                 if os.readlink(e).startswith("socket:"))  # fmt: skip
        done = b.run("set", "--scavenger", f"{process.pid}:{fd}")  # named: nothing is unexpected
        assert done.returncode == 0, done
        process.kill()
    script = f"{SENDER} {b.sink.port} 1000 0 1000 >/dev/null &\n"
    script += f"unshare --net {PYTHON} -c '{CONNECTED_WITHIN.replace(chr(39), chr(34))}' | (\n"
    script += 'read ready; LD_PRELOAD="$1" "$2" set --all --scavenger 1; kill -KILL 1)'
    env = {name: text for name, text in b.env.items() if name != "LD_PRELOAD"}
    command = [*inside, "--pid", "--fork", "--mount-proc", "sh", "-c", script, "sh",
               b.env["LD_PRELOAD"], DALBECTL]  # fmt: skip
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
    said = "1 (sh): 1 connection changed; 2 in other network namespaces left as they are\n"
    assert done.stdout == said, done


def test_shared_socket(b: Bench) -> None:
    """A socket that a process shares with its children gets all of the size, once."""
    with socket.create_connection(("127.0.0.1", b.sink.port)) as conn:
        command = ["sh", "-c", "sleep 20 & echo $!; sleep 20 & echo $!; wait"]
        fds = [conn.fileno()]
        with subprocess.Popen(command, pass_fds=fds, stdout=subprocess.PIPE) as process:
            assert process.stdout
            children = [int(process.stdout.readline()) for _ in range(2)]
            try:
                assert b.run("set", *GOAL, str(process.pid)).returncode == 0
                assert [g.bytes for g in b.goals()] == [1000000]
                assert len(b.run("get", str(process.pid)).stdout.splitlines()) == 2
                assert b.run("clear", str(process.pid)).returncode == 0
            finally:
                for pid in children:
                    os.kill(pid, signal.SIGKILL)


def test_listener(b: Bench) -> None:
    """For a process that only listens, the message names what takes the goal; it does."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        pid, fd = str(os.getpid()), listener.fileno()
        program = "import time; print(flush=True); time.sleep(20)"
        command = [PYTHON, "-c", program]
        with subprocess.Popen(command, pass_fds=[fd], stdout=subprocess.PIPE) as process:
            assert process.stdout and process.stdout.readline()
            pid = str(process.pid)
            done = b.run("set", *GOAL, pid)
            assert (done.returncode, done.stderr) == (
                1,
                f"dalbectl: {pid}: no connection yet, but it listens; type {pid}:{fd} to give this "
                "goal to each connection that it accepts\n",
            ), done
            assert b.run("set", *GOAL, f"{pid}:{fd}").returncode == 0
            (goal,) = b.goals()  # a minute, for each from its own beginning
            assert goal[1:2] + goal[3:] == (1000000, RELATIVE | EACH, 0, 0), goal
            process.kill()
    with subprocess.Popen(["sleep", "20"]) as process:
        done = b.run("set", *GOAL, str(process.pid))
        assert (done.returncode, done.stderr) == (
            1,
            f"dalbectl: {process.pid}: the process has no TCP connection, nor have its "
            "descendants; see ss -tp for those that have\n",
        ), done
        process.kill()


def test_shared_port(b: Bench) -> None:
    """All listeners of a port that they share get what one is given, and get tells it."""
    with contextlib.ExitStack() as stack:

        def listen(port: int, reuse: bool = True) -> socket.socket:
            return stack.enter_context(
                socket.create_server(("127.0.0.1", port), reuse_port=reuse)
            )

        listeners = [listen(0)]
        port = listeners[0].getsockname()[1]
        listeners += [listen(port), listen(port), listen(0), listen(0, reuse=False)]
        fds = [s.fileno() for s in listeners]
        one = stack.enter_context(subprocess.Popen(["sleep", "20"], pass_fds=fds[:1]))
        another = stack.enter_context(subprocess.Popen(["sleep", "20"], pass_fds=fds[1:]))
        stack.callback(one.kill)
        stack.callback(another.kill)
        named = f"{one.pid}:{fds[0]}"
        done = b.run("set", "--scavenger", named)
        said = f"{named} (sleep): 3 listening sockets changed\n"
        assert (done.returncode, done.stdout) == (0, said), done
        done = b.run("get", str(one.pid), str(another.pid))
        assert [line.split()[1:3] for line in done.stdout.splitlines()[1:]] == [
            ["-", "scavenger"]] * 3, done  # fmt: skip
        done = b.run("set", *GOAL, "--controller", "mbc", named)
        assert [g.bytes for g in b.goals()] == [1000000] * 3, b.goals()
        assert "waiting" in b.run("get", named).stdout
        done = b.run("clear", named)
        assert "3 listening sockets cleared, back at " in done.stdout, done
        done = b.run("set", "--scavenger", f"{another.pid}:{fds[4]}")
        assert "1 listening socket changed" in done.stdout, done


def test_multipath_tcp(b: Bench) -> None:
    """A program in Go that listens: set tells why it has no connection, and how to get one."""
    advice = (
        "Multipath TCP has no goals: turn it off with GODEBUG=multipathtcp=0 where the program is "
        "in Go, else with sudo sysctl net.mptcp.enabled=0, and start the program again"
    )
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_MPTCP) as mptcp:
        mptcp.bind(("127.0.0.1", 0))
        mptcp.listen()
        fd = mptcp.fileno()
        with subprocess.Popen(["sleep", "20"], pass_fds=[fd]) as process:
            named = f"{process.pid}:{fd}"
            done = b.run("set", *GOAL, str(process.pid))
            assert done.stderr.splitlines()[0] == f"dalbectl: warning: {named}: {advice}", done
            assert (done.returncode, "no TCP connection" in done.stderr) == (1, True), done
            done = b.run("set", *GOAL, named)
            assert (done.returncode, done.stderr) == (1, f"dalbectl: {named}: {advice}\n"), done
            assert b.run("get").stderr.count("Multipath") == 0
            process.kill()
        program = "import socket, time; s = socket.socket(2, 1, 262); time.sleep(1)"
        line, js = b.summary(*GOAL, "--", PYTHON, "-c", program)
        assert (line, js["end"]) == (f"the program had no TCP connection: {advice}", "unseen"), line
        # Of one that is connected it is said at once.
        to = mptcp.getsockname()
        program = f"import socket; s = socket.socket(2, 1, 262); s.connect({to}); input()"
        run = ("run", *GOAL, "--loopback", "--", PYTHON, "-c", program)
        with subprocess.Popen([DALBECTL, *run], env=b.env, text=True, stdin=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:  # fmt: skip
            assert process.stderr
            said = process.stderr.readline()
            assert re.fullmatch(
                rf"dalbectl: warning: process \d+, descriptor \d+ has no goal: {advice}\n", said
            ), said
            assert process.poll() is None
            process.communicate("")


def groups_of(b: Bench) -> list[int]:
    """Every group set so far."""
    lines = [line.split() for line in b.log.read_text().splitlines()]
    return [int(words[2]) for words in lines if words[0] == "group"]


def test_group_of_a_job(b: Bench) -> None:
    """Two jobs to one destination share its path; a group is for those that ask for one."""
    several = (SENDER, str(b.sink.port), "20", "0", "1000", "1000", "1000")
    assert [conn["group"] for conn in b.send(*several)["connections"]] == [0, 0, 0]
    assert groups_of(b) == []
    b.send(*several, goal=(*GOAL, "--group", "4294967295"))
    assert groups_of(b) == [4294967295] * 3


def test_group(b: Bench) -> None:
    """A group alone can be set, and get shows how many share it."""
    b.env["SHIM_REGIME"] = "1"
    with running_sender(b, "1000", "0", "100000", "100000") as (pid, (first, _)):
        assert b.run("set", "--scavenger", "--group", "7", pid).returncode == 0
        for n, group in ((2, 7), (1, 0)):
            header, line, _ = b.run("get", "--verbose", pid).stdout.splitlines()
            end = header.index("FLOWS") + len("FLOWS")
            assert line[end - 5 : end] == f"{n:5}", line
            conn = json.loads(b.run("get", "--json", pid).stdout)["connections"][0]
            assert (conn["path_flows"], conn["group"]) == (n, group), conn
            assert b.run("set", "--group", "0", f"{pid}:{first}").returncode == 0


def test_module_without_groups(b: Bench) -> None:
    """Of an older module a job asks for none, but a group that was asked for is missed."""
    b.env["SHIM_OLD"] = "1"
    program = (SENDER, str(b.sink.port), "20", "0", "1000")
    _, js = b.summary(*GOAL, "--", *program)
    assert js["connections"][0]["had_goal"] and b.warnings == [], (js, b.warnings)
    _, js = b.summary(*GOAL, "--group", "7", "--", *program)
    assert not js["connections"][0]["had_goal"], js
    assert len(b.warnings) == 1 and "another version" in b.warnings[0], b.warnings


def test_regime(b: Bench) -> None:
    """The regime is shown: the part that is ours while alone, the level while contended."""
    columns = ("REGIME", "OURS", "LEVEL", "FLOWS")
    cases = [
        (0, "none", ("-", "-", "-", "-"), (0, 0, 0, 0, 0)),
        (1, "alone", ("alone", "12%", "-", "1"), (0.12, 0, 3, 1, 625000)),
        (2, "unknown", ("unknown", "-", "-", "1"), (0, 0, 3, 1, 625000)),
        (3, "contended", ("contended", "-", "500 kbit/s", "1"), (0, 62500, 3, 1, 625000)),
        (4, "unknown", ("unknown", "-", "-", "1"), (0, 0, 3, 1, 625000)),
    ]
    names = ("ours", "level_Bps", "yields", "path_flows", "carried_Bps")
    with running_sender(b, "1000", "0", "100000") as (pid, _):
        assert b.run("set", *GOAL, pid).returncode == 0
        for number, name, row, numbers in cases:
            b.env["SHIM_REGIME"] = str(number)
            header, line = b.run("get", "--verbose", pid).stdout.splitlines()
            assert len(header) == len(line) <= 176, (header, line)
            # From where the column before ends, to where this one does.
            start, end = header.index("REGIME"), header.index("FLOWS") + len("FLOWS")
            assert header[start:end].split() == list(columns), header
            assert re.split(r" {2,}", line[start:end].strip()) == list(row), line
            (conn,) = json.loads(b.run("get", "--json", pid).stdout)["connections"]
            assert conn["regime"] == name, conn
            assert tuple(conn[n] for n in names) == numbers, conn
    b.env["SHIM_REGIME"] = "3"
    (conn,) = b.send(SENDER, str(b.sink.port), "120", "0", "1000")["connections"]
    assert conn["last_regime"] == "contended", conn


HEADER = "PID:FD     PEER                  STATUS     DONE        RATE   ARRIVES  DEADLINE"


def test_narrow_table(b: Bench) -> None:
    """The table takes 80 columns, and tells by the clock when the last byte will arrive."""
    with running_sender(b, "1000", "0", "100000") as (pid, fds):
        one = f"{pid}:{fds[0]}"
        assert b.run("get", one).returncode == 1
        # The stand-in always sends 10 Mbit/s; noon in another zone is no day from now.
        for zone in range(24):
            b.env["TZ"] = f"XXX{zone}"
            if time.gmtime(time.time() - zone * 3600).tm_hour == 12:
                break
        start = time.time()
        assert b.run("set", "--size", "4.5G", "--deadline", "+2h", one).returncode == 0
        header, line = b.run("get", one).stdout.splitlines()
        now = time.time()
        assert header == HEADER and len(line) == 80, (header, line)
        peer = f"127.0.0.1:{b.sink.port}"
        match = re.fullmatch(
            f"{one:10} {peer:21} on track     0% 10.0 Mbit/s  (..:..:..)  (..:..:..)", line
        )
        assert match, line
        for shown, seconds in zip(match.groups(), (3600, 7200), strict=True):
            earliest, latest = (
                time.strftime("%H:%M:%S", time.gmtime(at + seconds - zone * 3600 + slack))
                for at, slack in ((start, -2), (now, 2))
            )
            assert earliest <= shown <= latest, (earliest, shown, latest)
        assert b.run("set", "--size", "4.5G", "--deadline", "+1d", one).returncode == 0
        day = time.strftime("%a", time.gmtime(now - zone * 3600 + 86400))
        assert re.search(rf"  ..:..:.. {day} 1[23]:..$", b.run("get", one).stdout), b.run("get")
        assert b.run("clear", one).returncode == 0
        assert b.run("set", "--controller", "fixed", one).returncode == 0
        line = b.run("get", one).stdout.splitlines()[1]
        assert line[33:] == "no goal       - 10.0 Mbit/s         -         -", line


class Screen:
    """A terminal's screen: just what `watch` needs, and any other control is an error."""

    def __init__(self, width: int, height: int) -> None:
        """Begin with what was typed."""
        self.width, self.height = width, height
        self.lines = ["$ dalbectl watch"]
        self.scrolled: list[str] = []
        self.row, self.column = 1, 0

    def resize(self, width: int) -> None:
        """Change the width: longer lines are wrapped, as most terminals do."""
        self.width = width
        self.lines = [
            line[at : at + width] for line in self.lines for at in range(0, len(line) or 1, width)
        ]
        self.row, self.column = len(self.lines), 0

    def feed(self, text: str) -> None:
        """Show text."""
        for control, char in re.findall(r"\033\[(.)|([^\033])", text, re.DOTALL):
            if control == "H":
                self.row = self.column = 0
            elif control == "J":
                if self.row == 0:  # tmux keeps what is cleared
                    self.scrolled += self.lines
                del self.lines[self.row :]
            elif control == "K":
                assert self.column < self.width, "terminals differ in what that erases"
                if self.row < len(self.lines):
                    self.lines[self.row] = self.lines[self.row][: self.column]
            elif char == "\r":
                self.column = 0
            elif char == "\n":
                self.row += 1
            else:
                assert char.isprintable() and char, (control, char)
                if self.column == self.width:
                    self.row, self.column = self.row + 1, 0
                self.lines += [""] * (self.row + 1 - len(self.lines))
                line = self.lines[self.row]
                self.lines[self.row] = line[: self.column] + char + line[self.column + 1 :]
                self.column += 1
            if self.row == self.height:
                self.row -= 1
                self.scrolled += self.lines[:1]
                del self.lines[:1]


def test_watch_on_a_terminal(b: Bench) -> None:
    """On a terminal the table stays in place and within the width, which may change."""
    sizes = [(80, 24, ()), (60, 24, ()), (100, 5, ()), (80, 24, ("-v",)), (200, 6, ("-v",))]
    with running_sender(b, "1000", "0", *["1000000"] * 4) as (pid, fds):
        for fd in fds:  # one by one: no job, which would have one line
            assert b.run("set", *GOAL, f"{pid}:{fd}").returncode == 0
        for width, height, flags in sizes:
            child, master = pty.fork()
            if child == 0:
                args = [DALBECTL, "watch", "--interval", "100ms", *flags, pid]
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("4H", height, 80, 0, 0))
                os.execve(DALBECTL, args, b.env)
            screen = Screen(80, height)

            def show(frames: int, master: int = master, screen: Screen = screen) -> None:
                text = ""
                while text.count("\033[H") < frames or not text.endswith("\033[J"):
                    text += os.read(master, 1 << 16).decode()
                screen.feed(text)

            show(3)
            screen.resize(width)
            fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("4H", height, width, 0, 0))
            show(3)
            os.kill(child, signal.SIGKILL)
            os.close(master)
            os.waitpid(child, 0)

            header = b.run("get", *flags, pid).stdout.splitlines()[0]
            shown = [line.rstrip() for line in screen.lines]
            each = -(-len(header) // width) if flags else 1
            if height < 5 * each + 1:
                n = (height - 2) // each
                assert shown.pop() == f"... {5 - n} more", shown
            else:
                n = 5
            assert len(shown) == n * each <= height - 1, shown
            first = "".join(screen.lines[:each])
            assert first == (header if flags else header[:width]), shown
            begins = [line.split()[0] for line in shown[::each]]
            assert begins == ["PID:FD", *(f"{pid}:{fd}" for fd in fds[: n - 1])], shown
            # The lines from before can be scrolled back to, and nothing else.
            assert [line for line in screen.scrolled if line] == ["$ dalbectl watch"], (
                screen.scrolled
            )


def test_watch(b: Bench) -> None:
    """Watch prints one line per interval, in JSON too, and ends with the goal."""
    for flag in ([], ["--json"]):
        with running_sender(b, "80", "400", "100000") as (pid, _):
            os.kill(int(pid), signal.SIGSTOP)  # until watch has begun
            assert b.run("set", "--size", "100000", "--deadline", "+60s", pid).returncode == 0
            watch = b.start("watch", "--interval", "200ms", *flag, pid)
            assert watch.stdout
            first = watch.stdout.readline()
            os.kill(int(pid), signal.SIGCONT)
            out, err = watch.communicate(timeout=60)
            assert (watch.returncode, err) == (0, "")
            out = first + out
        lines = out.splitlines()
        if flag:
            reached = [json.loads(line)["connections"][0]["bytes_done"] for line in lines]
            assert len(reached) >= 4 and reached == sorted(reached), reached
        else:
            assert len(lines) >= 5 and lines[0].startswith("PID:FD"), lines
            assert len({len(line) for line in lines}) == 1, out


def test_output_fails(b: Bench) -> None:
    """A table that cannot be written is a failure: a full disk, a reader that has gone."""
    with running_sender(b, "1000", "0", "100000") as (pid, _):
        assert b.run("set", "--size", "1M", "--deadline", "+60s", pid).returncode == 0
        message = "dalbectl: cannot write to standard output: {}; look at where it goes\n"
        for args in (["get", pid], ["get", "--json"], ["watch", pid]):
            with Path("/dev/full").open("w") as full:
                done = subprocess.run(
                    [DALBECTL, *args], env=b.env, text=True, check=False, stdout=full,
                    stderr=subprocess.PIPE, timeout=30,
                )  # fmt: skip
            assert done.returncode == 1, (args, done)
            assert done.stderr == message.format(os.strerror(errno.ENOSPC)), (args, done)
        # systemd's services ignore SIGPIPE, as Python does.
        watch = b.start("watch", "--json", "--interval", "100ms", pid, restore_signals=False)
        assert watch.stdout and watch.stderr and watch.stdout.readline()
        watch.stdout.close()
        assert watch.wait(timeout=30) == 1
        assert watch.stderr.read() == message.format(os.strerror(errno.EPIPE))
        watch.stderr.close()


def test_watch_ends_with_the_program(b: Bench) -> None:
    """Watch ends, without a word, when the program does, its goal not reached."""
    with running_sender(b, "1000", "0", "100000") as (pid, fds):
        for target in (pid, f"{pid}:{fds[0]}"):
            assert b.run("set", "--size", "1M", "--deadline", "+60s", target).returncode == 0
        watches = [b.start("watch", "--interval", "100ms", t) for t in (pid, f"{pid}:{fds[0]}")]
        for watch in watches:
            assert watch.stdout and watch.stdout.readline()
        os.kill(int(pid), signal.SIGKILL)
        for watch in watches:
            _, err = watch.communicate(timeout=60)
            assert (watch.returncode, err) == (0, "")


def test_examples(b: Bench) -> None:
    """The examples in C and Python set the goal, and send."""
    source = b.directory / "file"
    source.write_bytes(b"x" * 300000)
    examples = TESTS.parent / "examples"
    port = str(b.sink.port)
    with source.open() as stdin:
        subprocess.run(
            [examples / "send_by_deadline", "127.0.0.1", port, "300000", "60"],
            stdin=stdin, env=b.env, check=True,
        )  # fmt: skip
    subprocess.run(
        [PYTHON, examples / "send_by_deadline.py", source, "127.0.0.1", port, "60"],
        env=b.env, check=True,
    )  # fmt: skip
    assert [(g.bytes, g.flags, g.error) for g in b.goals()] == [(300000, 1, 0)] * 2
    for words, why in ((["no-such-host.invalid", "80", "1", "1"], "no-such-host.invalid: "),
                       (["127.0.0.1", port, "10MB", "1"], "'10MB' is no number")):  # fmt: skip
        done = subprocess.run([examples / "send_by_deadline", *words], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False)  # fmt: skip
        assert done.returncode and why in done.stderr and "Success" not in done.stderr, done


def test_bad_options(b: Bench) -> None:
    """Each bad option: one line that says what to type, status 2, with or without the module."""
    run_ok = ["run", *GOAL]
    end = ["--", "echo", "started"]
    cases: list[list[str]] = [
        [],
        ["frobnicate"],
        ["run"],
        ["run", *end],
        ["run", "--controller", "mbc", *end],
        ["run", "--controller", "fixed", *end],
        ["run", "--scavenger"],
        ["run", "--scavenger", "--size", "1M", *end],
        ["run", "--scavenger", *GOAL, *end],
        ["run", "--scavenger", "--deadline", "+1m", *end],
        ["run", "--scavenger", "--fail-late", *end],
        ["run", "--scavenger", "--controller", "weight", *end],
        ["run", "--scavenger=1", *end],
        ["run", *GOAL, "--not-before", "+2m", *end],
        ["run", "--scavenger", "--not-before", "+2m", "--stop-at", "+1m", *end],
        ["run", "--scavenger", "--stop-at", "5m", *end],
        ["run", "--scavenger", "--window", "01:00-06:00", *end],
        ["run", "--window", "01:00-06:00", "--controller", "weight", *end],
        ["run", "--window", "01:00-06:00", "--deadline", "+1m", *end],
        ["run", *GOAL],
        ["run", *GOAL, "--"],
        ["run", "--size", "1M", *end],
        ["run", "--deadline", "+1m", *end],
        ["run", "--size"],
        ["run", "--size="],
        ["set", *GOAL],
        ["set", *GOAL, "abc"],
        ["set", *GOAL, "rsync"],
        ["set", *GOAL, "12:"],
        ["set", *GOAL, ":3"],
        ["set", *GOAL, "0:3"],
        ["set", *GOAL, "-3"],
        ["set", *GOAL, "1:2:3"],
        ["set", *GOAL, "99999999999999999999"],
        ["set", *GOAL, "4294967297"],
        ["clear", "1234:4294967295"],
        ["set", *GOAL, "1", "2"],
        ["set", "1"],
        ["set", "--scavenger", "1"],
        ["set", "--update", "--g", "3", "1"],
        ["set", "--port", "3", "1"],
        ["get", "x"],
        ["get", "--size", "1M"],
        ["watch"],
        ["watch", "1", "2"],
        ["watch", "--interval", "1", "1"],
        ["watch", "--interval", "1ms", "1"],
        ["clear"],
        ["clear", "1", "2"],
        ["clear", "-q", "1"],
        ["attach", "--scavenger"],
        ["attach", "--unit", "a"],
        ["attach", "--unit", "a", "--cgroup", "/", "--scavenger"],
        ["attach", "--unit", "a", "--size", "1M", "--deadline", "23:59"],
        ["attach", "--unit", "a", "--scavenger", "1"],
        ["attach", "--unit", "a", "--scavenger", *GOAL],
        ["detach"],
        ["detach", "--unit"],
        ["set", "net.dalbe.tw_ms"],
        ["get", "net.dalbe.tw_ms=1"],
        ["set", "net.dalbe.a/b=1"],
        [*run_ok, "--size-of", "/no/such/file", *end],
        [*run_ok, "--size-of", "/dev/null", *end],
        [*run_ok, "--frobnicate", *end],
        [*run_ok, "-x", *end],
        [*run_ok, "--json=yes", *end],
        [*run_ok, "--controller", "cubic", *end],
        [*run_ok, "--after", "never", *end],
    ]
    for option, values in {
        "size": ["12Q", "-1", "0", "", "1.5", "9E9", "10E", "1Gb", "4 G", "1\n2"],
        "deadline": ["90m", "+", "+0s", "25:00", "2020-01-01 06:00", "soon", "", "+5x", "+999999d"],
        "wmin": ["0", "1.1", "-1", "x", ""],
        "tw": ["10", "1ms", "11m", "x"],
        "g": ["0", "0.001", "126", "x", "1e2"],
        "window": ["", "01:00", "1-6", "25:00-06:00", "Mo@01:00-06:00", "01:00-06:00,07:00-08:00"],
        "dscp": ["", "64", "-1", "cs8", "cs", "cs1x", "af14", "af51", "af1", "le1", "bulk"],
        "max-rate": ["", "20", "20M", "20MB", "1bit", "0kbit", "x"],
        "port": ["0", "65536", "http", "-1"],
        "group": ["4294967296", "-1", "x", ""],
    }.items():
        cases += [[*run_ok, f"--{option}", value, *end] for value in values]
        cases += [[*run_ok, f"--{option}={value}", *end] for value in values]
    for absent in ({}, {"SHIM_ABSENT": str(errno.ENOENT)}):
        b.env |= absent
        for case in cases:
            done = b.run(*case)
            assert done.returncode == 2, (case, done)
            assert done.stdout == "", (case, done)
            assert re.fullmatch(r"dalbectl: .*\btype\b.*\n", done.stderr), (case, done.stderr)
        assert b.run("run", "--wmin", "0.05", *end).stderr == (
            "dalbectl: run: the goal is missing; type for example dalbectl run --size 40G "
            "--deadline +90m -- PROGRAM, or --scavenger instead of a goal\n"
        )
        assert b.run("set", *GOAL, "rsync").stderr == (
            "dalbectl: 'rsync' names no connection; type PID or PID:FD, such as 1234:5\n"
        )


def test_size_of(b: Bench) -> None:
    """--size-of takes a file, a link to one, or a tree of them."""
    tree = b.directory / "tree"
    (tree / "below").mkdir(parents=True)
    (tree / "one").write_bytes(b"x" * 300000)
    (tree / "below" / "two").write_bytes(b"x" * 700)
    (tree / "link").symlink_to("one")
    (b.directory / "to-tree").symlink_to("tree")
    for path, size in (("tree", 300700), ("tree/one", 300000), ("tree/link", 300000),
                       ("to-tree", 300700)):  # fmt: skip
        goal = ("--size-of", str(b.directory / path), *GOAL[2:])
        summary = b.send(SENDER, str(b.sink.port), "5", "0", "1000", goal=goal)
        assert summary["bytes_goal"] == size, (path, summary)
    several = ("--size-of", str(tree), "--size-of", str(tree / "one"), *GOAL[2:])
    assert b.send(SENDER, str(b.sink.port), "5", "0", "1000", goal=several)["bytes_goal"] == 600700


def test_size_of_a_live_tree(b: Bench) -> None:
    """Files that go while --size-of looks are not counted, and no failure."""
    tree = b.directory / "tree"
    tree.mkdir()
    for below in (False, True) * 3:
        files = [tree / f"{n}" / "file" if below else tree / f"file{n}" for n in range(2000)]
        for file in files:
            file.parent.mkdir(exist_ok=True)
            file.touch()
        (tree / "stays").write_bytes(b"x" * 1000)
        run = b.start("run", "--size-of", str(tree), "--deadline", "+60s", "--json", "--", "true")
        for file in reversed(files):
            file.unlink()
            if below:
                file.parent.rmdir()
        _, err = run.communicate(timeout=30)
        assert run.returncode == 0 and json.loads(err)["bytes_goal"] == 1000, err


def test_help(b: Bench) -> None:
    """Every command has a help, and the version is known."""
    for args in ([], ["run"], ["set"], ["get"], ["watch"], ["clear"]):
        for flag in ("--help", "-h"):
            done = b.run(*args, flag)
            assert done.returncode == 0 and done.stdout.startswith("Usage: dalbectl"), done
            assert not done.stderr and max(map(len, done.stdout.splitlines())) <= 85, done.stdout
    assert re.fullmatch(r"dalbectl \d+\.\d+\.\d+\n", b.run("--version").stdout)
    for args in (["--help"], ["--version"], ["run", "--help"]):
        with Path("/dev/full").open("w") as full:
            done = subprocess.run([DALBECTL, *args], env=b.env, check=False, stdout=full)
        assert done.returncode == 1, args


def test_json_strings(b: Bench) -> None:
    """Any argument gives valid JSON, bytes that are no UTF-8 included."""
    odd = [
        'quote " backslash \\ newline \n tab \t bell \a',
        "umlaut ü, emoji \U0001f600",
        "\udcff\udcc3(",
    ]
    summary = b.send("true", *odd)
    assert summary["program"] == ["true", *odd[:2], "\ufffd\ufffd("]
    done = b.run("run", *GOAL, "--json", "--", "true")
    assert json.loads(done.stderr)["connections"] == []


def test_cheap(b: Bench) -> None:
    """Waiting costs next to nothing, and ends at once."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    b.run("run", *GOAL, "--", "sleep", "3")
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    switches = after.ru_nvcsw - before.ru_nvcsw
    assert wall < 4, wall
    assert cpu < 0.5, cpu
    assert switches < 200, switches


def main(names: dict[str, Any]) -> int:
    """Run every test of a file, or those that the arguments name."""
    tests = {name: f for name, f in names.items() if name.startswith("test_") and callable(f)}
    chosen = sys.argv[1:] or list(tests)
    failed = 0
    print(f"1..{len(chosen)}", flush=True)
    for number, name in enumerate(chosen, 1):
        title = (tests[name].__doc__ or name).splitlines()[0].rstrip(".")
        with tempfile.TemporaryDirectory() as directory:
            try:
                tests[name](Bench(Path(directory)))
                print(f"ok {number} - {title}", flush=True)
            except Exception as error:  # a test that breaks has failed, whatever the reason
                failed += 1
                line = error.__traceback__.tb_next.tb_lineno if error.__traceback__ else 0  # type: ignore[union-attr]
                text = repr(error).replace("\n", " ")
                print(f"not ok {number} - {title}\n# {name}, line {line}: {text}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(globals()))
