#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""One run of one edition on one path: a line of CSV.

usage: compare.py EDITION CELL SEED; EDITION: module, bpf or both (a flow of each); CELL: goal, or
any other name: alone, and then beside two CUBIC flows. A sink is at port 5001 of 10.9.1.2.
"""

import faulthandler
import fcntl
import random
import socket
import struct
import sys
import threading
import time

from goals import GOAL, RELATIVE, SOL_DALBE, acked, connected, feed, goal, rates

ADDRESS = "10.9.1.2"
NAMES = {"module": [b"dalbe_cdg"], "bpf": [b"dalbe_cdg"], "both": [b"dalbe_cdg", b"dalbe_bpf"]}
ALONE_S, BESIDE_S = 12, 20
SIZE, DEADLINE_S = 7_500_000, 40  # 1.5 of 10 Mbit/s
DEVICE_SET_GOAL = 1 << 30 | 40 << 16 | 0xDA << 8 | 1  # DALBE_IOC_SET_GOAL


def opened(name: bytes) -> socket.socket:
    """A connection that ends with us, whatever is left to send: until then it holds the module."""
    sock = connected(ADDRESS, name)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return sock


def begin(name: bytes) -> socket.socket:
    sock = opened(name)
    threading.Thread(target=feed, args=(sock,), daemon=True).start()
    return sock


def set_goal(edition: str, sock: socket.socket) -> None:
    wanted = goal(SIZE, DEADLINE_S * 10**9, RELATIVE)
    if edition == "bpf":
        sock.setsockopt(SOL_DALBE, GOAL, wanted)
        return
    with open("/dev/dalbe", "r+b", buffering=0) as device:
        fcntl.ioctl(device, DEVICE_SET_GOAL, struct.pack("<i", sock.fileno()) + wanted[4:])


def share(names: list[bytes], draw: random.Random) -> list[float]:
    """Mbit/s of each of ours alone; then of each of ours, and of both others, beside each other."""
    ours = [begin(name) for name in names]
    time.sleep(4 + draw.random())
    alone = rates(ours, ALONE_S)
    others = []
    for _ in range(2):
        time.sleep(draw.random())
        others.append(begin(b"cubic"))
    time.sleep(8)
    beside = rates([*ours, *others], BESIDE_S)
    return [*alone, *beside]


def finish(edition: str, draw: random.Random) -> list[float]:
    """When the goal was done, in per cent of its time; Mbit/s of both others until then."""
    others = []
    for _ in range(2):
        others.append(begin(b"cubic"))
        time.sleep(draw.random())
    time.sleep(3)
    ours = opened(b"dalbe_cdg")
    set_goal(edition, ours)
    start = time.monotonic()
    before = sum(acked(sock) for sock in others)
    threading.Thread(target=feed, args=(ours,), daemon=True).start()
    while acked(ours) < SIZE and time.monotonic() < start + 2 * DEADLINE_S:
        time.sleep(0.01)
    took = time.monotonic() - start
    theirs = (sum(acked(sock) for sock in others) - before) * 8e-6 / took
    return [100 * took / DEADLINE_S, theirs]


def main() -> None:
    edition, cell, seed = sys.argv[1:]
    faulthandler.dump_traceback_later(150, exit=True)  # where it hangs
    draw = random.Random(int(seed))
    figures = finish(edition, draw) if cell == "goal" else share(NAMES[edition], draw)
    print("run", edition, cell, seed, *(f"{x:.4f}" for x in figures), sep=",", flush=True)


main()
