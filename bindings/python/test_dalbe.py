#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
# ruff: noqa: PLR2004
# (the numbers are the cases)
"""Tests of the Python package against the stand-in for the kernel module; TAP on stdout.

usage: test_dalbe.py: after make -C tools, as make -C tools test calls it
"""

from __future__ import annotations

import errno
import os
import socket
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))
import dalbe  # noqa: E402

failures = 0
CALLS = {  # of dalbe_ctl.h
    "GOAL": ("dalbe_goal", "DALBE_IOC_SET_GOAL", 1, dalbe._GOAL_FORMAT),
    "STATE": ("dalbe_state", "DALBE_IOC_GET_STATE", 2, dalbe._STATE_FORMAT),
    "CLEAR": ("dalbe_clear", "DALBE_IOC_CLEAR_GOAL", 3, dalbe._CLEAR_FORMAT),
    "PARAMS": ("dalbe_params", "DALBE_IOC_SET_PARAMS", 4, dalbe._PARAMS_FORMAT),
    "GROUP": ("dalbe_group", "DALBE_IOC_SET_GROUP", 5, dalbe._GROUP_FORMAT),
}
# In C, each member of the state that is read, in the order of struct.unpack().
MEMBERS = {
    "status": 1, "controller": 3, "goal_bytes": 6, "bytes_done": 7, "time_left_ns": 9,
    "target_Bps": 10, "rate_Bps": 11, "w_ppm": 12, "regime": 24, "group": 29, "job": 31,
}  # fmt: skip


def check(name: str, good: bool, said: object = "") -> None:
    """Print one test."""
    global failures  # noqa: PLW0603
    failures += not good
    print(f"{'ok' if good else 'not ok'} - Python: {name}{'' if good else f': {said}'}", flush=True)


def abi(directory: Path) -> None:
    """Sizes, commands and places of members are those of the header."""
    lines = [f'printf("%zu %lu\\n", sizeof(struct {struct_}), (unsigned long){ioc});'
             for struct_, ioc, _, _ in CALLS.values()]  # fmt: skip
    lines += [f'printf("%zu\\n", offsetof(struct dalbe_state, {name}));' for name in MEMBERS]
    source = directory / "abi.c"
    source.write_text("#include <stddef.h>\n#include <stdio.h>\n#include <dalbe_ctl.h>\n"
                      "int main(void) {" + "\n".join(lines) + "}\n")  # fmt: skip
    cc = os.environ.get("CC", "cc")
    subprocess.run([cc, f"-I{ROOT}", source, "-o", directory / "abi"], check=True)
    said = subprocess.run([directory / "abi"], stdout=subprocess.PIPE, text=True, check=True)
    words = iter(said.stdout.split())
    for name, (_, _, number, layout) in CALLS.items():
        size, command = int(next(words)), int(next(words))
        check(f"{name}: its size", struct.calcsize(layout) == size, size)
        check(f"{name}: its command", dalbe._request(number, size) == command, hex(command))
    letters = dalbe._STATE_FORMAT[1:]
    for name, index in MEMBERS.items():
        offset = struct.calcsize("=" + letters[:index])
        check(f"state.{name}: its place", offset == int(next(words)), offset)


def pair() -> tuple[socket.socket, socket.socket]:
    """Return two ends of a connection over loopback."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        return client, listener.accept()[0]


def calls() -> None:
    """Run by abi's caller with the shim in the place of the module."""
    ours, peer = pair()
    dalbe.set_goal(ours, 300_000, 90, after=dalbe.SCAVENGER)
    now = dalbe.state(ours)
    check("a goal", now.goal_bytes == 300_000 and now.status == "on track", now)
    check("its time", 80 < now.time_left <= 90, now)
    ours.sendall(bytes(300_000 - 1))
    left = 300_000 - 1
    while left:
        left -= len(peer.recv(left))
    dalbe.set_goal(ours.fileno(), 600_000, 90, update=True)
    check("an update, by descriptor", dalbe.state(ours).goal_bytes == 600_000, dalbe.state(ours))
    dalbe.clear(ours)
    check("cleared", dalbe.state(ours).status == "no goal", dalbe.state(ours))
    dalbe.scavenger(ours, 0.3)
    check("a scavenger", dalbe.state(ours).status == "scavenger", dalbe.state(ours))
    dalbe.group(ours, 7)
    check("a group", dalbe.state(ours).group == 7, dalbe.state(ours))
    job = dalbe.new_job()
    dalbe.set_goal(ours, 1_000_000, 60, job=job)
    check("a job", job > 0 and dalbe.state(ours).job == job, dalbe.state(ours))
    for name, call, want in (
        ("no bytes", lambda: dalbe.set_goal(ours, 0, 90), errno.EINVAL),
        ("no TCP", lambda: dalbe.scavenger(socket.socketpair()[0]), errno.EOPNOTSUPP),
    ):
        try:
            call()
            check(f"refused: {name}", False, "it succeeds")
        except dalbe.Error as err:
            check(f"refused: {name}", err.errno == want and ": " in str(err), err)
    try:
        dalbe.set_goal(ours, -5, 90)
        check("refused: -5", False, "it succeeds")
    except ValueError as err:
        check("refused: -5", "negative" in str(err), err)
    ours.send(b"x")
    check("the socket is still the caller's", peer.recv(1) == b"x")
    log = Path(os.environ["SHIM_LOG"]).read_text()
    check("the weight arrives", " 300000 " in log, log)


def main() -> int:
    """Each half in a process of its own, as the shim is preloaded."""
    if sys.argv[1:] == ["calls"]:
        calls()
        return failures > 0
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        abi(directory)
        env = os.environ | {"LD_PRELOAD": str(ROOT / "tools/tests/shim.so"),
                            "SHIM_STATE": f"{name}/state", "SHIM_LOG": f"{name}/log",
                            "SHIM_LOOKS": f"{name}/looks"}  # fmt: skip
        done = subprocess.run([sys.executable, __file__, "calls"], env=env, check=False)
        without = subprocess.run(
            [sys.executable, "-c", "import dalbe, socket; dalbe.state(socket.socket())"],
            cwd=HERE, stderr=subprocess.PIPE, text=True, check=False,
            env=env | {"SHIM_ABSENT": str(errno.ENOENT)},
        )  # fmt: skip
        check("without the module: what to do", "sudo modprobe tcp_dalbe_cdg" in without.stderr,
              without.stderr)  # fmt: skip
    return failures > 0 or done.returncode


if __name__ == "__main__":
    sys.exit(main())
