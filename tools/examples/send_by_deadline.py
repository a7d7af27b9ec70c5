#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Send a file with a goal: send_by_deadline.py FILE HOST PORT SECONDS."""

import fcntl
import os
import socket
import struct
import sys

DALBE_IOC_SET_GOAL = 0x4028DA01  # _IOW(0xDA, 1, struct dalbe_goal) on x86, Arm and RISC-V
DALBE_GOAL_RELATIVE = 1  # the deadline counts from now


def set_goal(sock: socket.socket, size: int, seconds: float) -> None:
    """Ask for size bytes to be acknowledged within seconds; OSError if refused."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"dalbe_cdg")
    deadline_ns = int(seconds * 1e9)
    goal = struct.pack("iIQQ16x", sock.fileno(), DALBE_GOAL_RELATIVE, size, deadline_ns)
    with open("/dev/dalbe", "r+b", buffering=0) as device:
        fcntl.ioctl(device, DALBE_IOC_SET_GOAL, goal)


def send(path: str, host: str, port: str, seconds: float) -> None:
    """Send the file at path, all of it, within so many seconds."""
    with open(path, "rb") as file, socket.create_connection((host, int(port))) as sock:
        set_goal(sock, os.path.getsize(path), seconds)
        sock.sendfile(file)


if __name__ == "__main__":
    match sys.argv[1:]:
        case [path, host, port, seconds]:
            send(path, host, port, float(seconds))
        case _:
            sys.exit(f"Usage: {sys.argv[0]} FILE HOST PORT SECONDS")
