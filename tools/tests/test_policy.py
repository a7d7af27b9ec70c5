#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
# ruff: noqa: PLR2004, PT018
# (the numbers are the cases; an assert here states one fact in two halves)
"""Tests of policy, attach --pid, and run under systemd; TAP. tests/shim.c is the module."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import test_dalbectl
from test_dalbectl import PYTHON, Bench, main, wait_for

RULES = """\
# a comment, and an empty line

plain      to 10.0.0.0/8        # not on our own network
scavenger  port 873
weight 0.3 user daemon port 8000-8099
goal 300M within 90s  own-port 80 cgroup /system.slice/nginx.service
weight 0.2 to 2001:db8::/32
"""
DECIDES = [
    (("--to", "10.1.2.3:873"), "line 3: decides"),
    (("--to", "192.0.2.7:873"), "line 4: decides"),
    (("--to", "192.0.2.7:8000", "--user", "daemon"), "line 5: decides"),
    (("--to", "192.0.2.7:8099", "--user", "1"), "line 5: decides"),
    (("--to", "192.0.2.7:8100", "--user", "daemon"), "no line decides"),
    (("--to", "[2001:db8:1::7]:99"), "line 7: decides"),
    (("--own-port", "81", "--to", "192.0.2.7:1", "--user", "0",
      "--cgroup", "/system.slice/nginx.service"), "no line decides"),
    (("--to", "2001:db9::7"), "no line decides"),
    (("--own-port", "80", "--to", "192.0.2.7:1", "--user", "0",
      "--cgroup", "/system.slice/nginx.service"), "line 6: decides"),
    (("--own-port", "80", "--to", "192.0.2.7:1", "--user", "0",
      "--cgroup", "/sys/fs/cgroup/system.slice/nginx.service/inner"), "line 6: decides"),
    (("--own-port", "80", "--to", "192.0.2.7:1", "--user", "0",
      "--cgroup", "/system.slice/nginx.servic"), "no line decides"),
]  # fmt: skip
WRONG = {
    "scavenger prot 873": "type one of to, port, own-port, user, cgroup",
    "scavenger to 10.0.0.1/8": "type the network's first address, or /32",
    "scavenger to 10.0.0.0/33": "is no address",
    "scavenger to 2001:db8::/129": "is no address",
    "scavenger to 192.0.2.0/24,198.51.100.0/24,203.0.113.0/24": "is no address",
    "scavenger to example.com": "not a name",
    "scavenger to 2001:db8::1/32": "type the network's first address, or /128",
    "weight 7": "from 0.001 to 1",
    "weight": "type for example weight 0.3",
    "goal 300M 90s port 80": "the time is missing",
    "goal 300M within 6am": "within 6am",
    "goal 3x within 6s": "goal 3x",
    "goal": "type for example goal 300M within 90s",
    "scavenger user nobodyatall": "no such user",
    "scavenger port 0": "from 1 to 65535",
    "scavenger port 65536": "from 1 to 65535",
    "scavenger port 9-8": "from 1 to 65535",
    "scavenger port 8-9-10": "from 1 to 65535",
    "scavenger port -1": "from 1 to 65535",
    "scavenger port": "type for example port 873",
    "scavenger cgroup nginx": "below /sys/fs/cgroup",
    "scavenger cgroup /system.slice/*": "without *",
    "scavenger cgroup /a/b/c/d/e/f/g/h": "more than 7 names",
    "scavenger cgroup /" + 64 * "a": "more than 63 bytes",
    "scavenger port 1 port 2": "there twice",
    "sca": "begin the line with scavenger, weight W, goal SIZE within TIME, or plain",
    "scavenger" + 40 * " port": "more than 32 words",
    "scavenger" + 1024 * " ": "more than 1024 bytes",
}


def test_decides(b: Bench) -> None:
    """The first rule of which all conditions hold decides, and test says why."""
    file = b.directory / "policy.conf"
    file.write_text(RULES)
    done = b.run("policy", "test", str(file))
    assert done.returncode == 0 and not done.stderr, done
    assert done.stdout.splitlines()[0] == "line 3: plain to 10.0.0.0/8", done.stdout
    assert done.stdout.splitlines()[-1].startswith("5 rules; "), done.stdout
    for options, want in DECIDES:
        done = b.run("policy", "test", *options, str(file))
        assert done.returncode == 0 and not done.stderr, done
        assert done.stdout.splitlines()[-1].startswith(want), (options, done.stdout)
    done = b.run("policy", "test", str(file), "--to", "192.0.2.7:8001")
    assert done.stdout.splitlines()[0] == "line 3: no, for its 'to': plain to 10.0.0.0/8", done
    assert "line 5: perhaps, type --user NAME as well: weight 0.3" in done.stdout, done.stdout


def test_wrong_lines(b: Bench) -> None:
    """Each wrong line is named with its number and a remedy, and nothing is put in force."""
    file = b.directory / "policy.conf"
    file.write_text("".join(f"weight 0.5 port {i + 1}\n{line}\n" for i, line in enumerate(WRONG)))
    for command in ("test", "apply"):
        done = b.run("policy", command, str(file))
        *lines, last = done.stderr.splitlines()
        assert done.returncode == 1 and not done.stdout, done
        assert last.endswith(f"{len(WRONG)} wrong lines; nothing is changed"), last
        for number, (line, want) in enumerate(WRONG.items()):
            said = lines[number]
            assert f"{file}:{2 * number + 2}: " in said and want in said, (line, said)
    file.write_text("# no rule\n")
    assert "it has no rule" in b.run("policy", "apply", str(file)).stderr
    file.write_text("".join(f"weight 0.5 port {i + 1}\n" for i in range(65)))
    assert (
        ":65: it is one rule too many; 64 is the most" in b.run("policy", "test", str(file)).stderr
    )
    assert "No such file" in b.run("policy", "test", str(b.directory / "none")).stderr
    file.write_text("scavenger\n")
    done = b.run("policy", "test", str(file), "--to", "example.com:80")
    assert done.returncode == 2, done
    assert "'--to example.com:80': it is no address with a port; type for example" in done.stderr


def test_never_reached(b: Bench) -> None:
    """A rule behind another that holds for all that it does is told of."""
    file = b.directory / "policy.conf"
    for first, second, hidden in (
        ("scavenger port 80-90", "weight 0.5 port 85 user daemon", True),
        ("scavenger port 80-90", "weight 0.5 port 85-91", False),
        ("scavenger to 10.0.0.0/8", "weight 0.5 to 10.9.0.0/16", True),
        ("scavenger to 10.9.0.0/16", "weight 0.5 to 10.0.0.0/8", False),
        ("scavenger user daemon", "weight 0.5", False),
        ("scavenger", "weight 0.5 cgroup /a", True),
        ("scavenger cgroup /a", "weight 0.5 cgroup /b", False),
    ):
        file.write_text(f"{first}\n{second}\n")
        done = b.run("policy", "test", str(file))
        assert done.returncode == 0, done
        assert (f"{file}:2: never reached, as line 1" in done.stderr) == hidden, (first, done)


@contextlib.contextmanager
def polling(b: Bench, *args: str) -> Iterator[subprocess.Popen[str]]:
    """Keep dalbectl running, once it has said that it polls and has looked at what is there."""
    process = b.start(*args)
    assert process.stdout
    said = process.stdout.readline()
    assert "by polling" in said, (said, process.stderr and process.stderr.read())
    time.sleep(0.4)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=10)


def given(b: Bench, sock: socket.socket) -> list[str]:
    """The calls that were made for this connection, as the shim logged them."""
    cookie = int.from_bytes(sock.getsockopt(socket.SOL_SOCKET, 57, 8), sys.byteorder)
    lines = b.log.read_text().splitlines() if b.log.exists() else []
    return [line for line in lines if line.split()[1] == str(cookie)]


def test_polling(b: Bench) -> None:
    """Without BPF a new connection is under its rule within a second; others stay as they are."""
    other = test_dalbectl.Sink()
    file = b.directory / "policy.conf"
    file.write_text(f"weight 0.3 to 127.0.0.1 port {b.sink.port}\nplain port {other.port}\n"
                    f"goal 3M within 40s own-port 1-65535 user {os.getuid()}\n")  # fmt: skip
    old = socket.create_connection(("127.0.0.1", b.sink.port))
    with polling(b, "policy", "apply", str(file)):
        waiting = socket.socket()
        time.sleep(0.6)  # it was seen before it connects
        begin = time.monotonic()
        waiting.connect(("127.0.0.1", b.sink.port))
        plain = socket.create_connection(("127.0.0.1", other.port))
        wait_for(lambda: any(x.startswith("params") for x in given(b, waiting)), "the rule", 1)
        assert time.monotonic() - begin < 1
        (params,) = (x for x in given(b, waiting) if x.startswith("params"))
        assert " 300000" in params, params
        third = test_dalbectl.Sink()
        late = socket.create_connection(("127.0.0.1", third.port))
        wait_for(lambda: any(x.startswith("goal") for x in given(b, late)), "the goal", 1)
        assert not given(b, old) and not given(b, plain), b.log.read_text()


def test_polling_leaves_what_was_asked_for(b: Bench) -> None:
    """A scavenger that run --scavenger asked for stays one, whatever the policy says."""
    file = b.directory / "policy.conf"
    file.write_text("weight 0.9\n")
    cookie_of = "int.from_bytes(s.getsockopt(socket.SOL_SOCKET, 57, 8), sys.byteorder)"
    then = f"print({cookie_of}, flush=True); time.sleep(2)"
    code = test_dalbectl.send_and(b.sink.port, then)
    with polling(b, "policy", "apply", str(file)):
        asked = b.start("run", "--scavenger", "--loopback", "--quiet", "--", *code)
        assert asked.stdout
        cookie = asked.stdout.readline().strip()
        plain = socket.create_connection(("127.0.0.1", b.sink.port))
        wait_for(lambda: any(x.startswith("params") for x in given(b, plain)), "the rule", 2)
        asked.communicate(timeout=20)
    lines = b.log.read_text().splitlines()
    params = [x for x in lines if x.startswith(f"params {cookie} ")]
    assert len(params) == 1, lines


def test_attach_to_a_process(b: Bench) -> None:
    """attach --pid is about that process and its descendants, and ends with it."""
    code = (
        "import socket, sys\n"
        "while line := sys.stdin.readline():\n"
        f"    s = socket.create_connection(('127.0.0.1', {b.sink.port}))\n"
        "    cookie = s.getsockopt(socket.SOL_SOCKET, 57, 8)\n"
        "    print(int.from_bytes(cookie, sys.byteorder), flush=True)\n"
        "    keep = [*globals().get('keep', []), s]\n"
    )
    program = subprocess.Popen(
        ["sh", "-c", '"$@"; exit', "sh", PYTHON, "-c", code],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert program.stdin and program.stdout
    program.stdin.write("\n")
    program.stdin.flush()
    old = program.stdout.readline().strip()
    with polling(b, "attach", "--pid", str(program.pid), "--scavenger") as attached:
        mine = socket.create_connection(("127.0.0.1", b.sink.port))
        program.stdin.write("\n")
        program.stdin.flush()
        new = program.stdout.readline().strip()
        wait_for(lambda: b.log.exists() and f" {new} " in b.log.read_text(), "the new one", 1)
        assert f" {old} " not in b.log.read_text(), b.log.read_text()
        assert not given(b, mine), b.log.read_text()
        program.stdin.close()
        program.wait()
        assert attached.wait(timeout=5) == 0
    done = b.run("attach", "--pid", str(program.pid), "--scavenger")
    assert done.returncode == 1 and "no such process" in done.stderr, done


# A service, as sd_notify(3) and sd_listen_fds(3) have it: it tells that it is ready, and that
# another is the main process; it asks to be told when that has been read; and accepts.
SERVICE = """
import array, os, socket
to = os.environ['NOTIFY_SOCKET']
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.connect('\\0' + to[1:] if to[0] == '@' else to)
pid = os.environ.get('LISTEN_PID')
status = f"{pid == str(os.getpid())} {os.environ['WATCHDOG_PID']}"
s.send(f'STATUS={status}\\nMAINPID=1\\nREADY=1'.encode())
r, w = os.pipe()
s.sendmsg([b'BARRIER=1'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [w]))])
os.close(w)
os.read(r, 1)
conn, _ = socket.socket(fileno=3).accept()
conn.send(b'hello')
"""


def test_systemd(b: Bench) -> None:
    """Under a service manager: READY=1 is the main process's, and the program has its sockets."""
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    manager.settimeout(20)
    manager.bind(str(b.directory / "notify"))
    listener = socket.create_server(("127.0.0.1", 0))
    # As systemd: descriptor 3, and the PID of the process that becomes the main one. A variable
    # that names another process stays as it is.
    script = (
        'exec 3<&$1; shift; export LISTEN_FDS=1 LISTEN_PID=$$ WATCHDOG_PID=7 LD_PRELOAD="$SHIM"; '
        'exec "$@"'
    )
    env = b.env | {"SHIM": b.env["LD_PRELOAD"], "NOTIFY_SOCKET": str(b.directory / "notify")}
    del env["LD_PRELOAD"]
    process = subprocess.Popen(
        ["bash", "-c", script, "bash", str(listener.fileno()), test_dalbectl.DALBECTL, "run",
         "--scavenger", "--quiet", "--", PYTHON, "-c", SERVICE],
        pass_fds=[listener.fileno()], env=env, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    size = socket.CMSG_SPACE(12) + socket.CMSG_SPACE(16)
    text, ancillary, _, _ = manager.recvmsg(4096, size)
    (sender,) = (data[:4] for _, kind, data in ancillary if kind == socket.SCM_CREDENTIALS)
    assert int.from_bytes(sender, sys.byteorder) == process.pid, (sender, process.pid)
    assert text == b"STATUS=True 7\nREADY=1", text
    text, ancillary, _, _ = manager.recvmsg(4096, size)
    (passed,) = (data[:4] for _, kind, data in ancillary if kind == socket.SCM_RIGHTS)
    assert text == b"BARRIER=1", text
    time.sleep(0.3)
    assert process.poll() is None  # it waits for us
    os.close(int.from_bytes(passed, sys.byteorder))
    with socket.create_connection(listener.getsockname()) as client:
        assert client.recv(5) == b"hello"
    assert process.wait(timeout=20) == 0, process.stderr and process.stderr.read()


if __name__ == "__main__":
    sys.exit(main(globals()))
