#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Print the policy of a new connection before its first data packet: a line for one that connects,
and one for one that is accepted.

usage: attached.py ADDRESS [own|six|PORT]: of a sink at port 5001; with own the program has a goal
of its own, of 5000 bytes; it accepts over IPv6, or at this port
"""

import socket
import sys

from goals import GOAL, SOL_DALBE, TCP_CONGESTION, goal, ours, state


def look(how: str, sock: socket.socket) -> None:
    name = sock.getsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, 16).rstrip(b"\0").decode()
    try:
        now = state(sock)
    except OSError as err:
        print(f"{how} {name} errno={err.errno}")
        return
    print(
        f"{how} {name} status={now['status']} goal={now['goal_bytes']} done={now['bytes_done']} "
        f"controller={now['controller']} tw_ms={now['tw_ms']} group={now['group']} "
        f"wmin={round(now['wmin_ppm'] / 1e6, 3)} left_s={round(now['time_left_ns'] / 1e9)}"
    )


def main() -> None:
    address, *words = sys.argv[1:]
    sock = ours() if "own" in words else socket.socket()
    if "own" in words:
        sock.setsockopt(SOL_DALBE, GOAL, goal(5000))
    sock.connect((address, 5001))
    look("connect", sock)
    port = next((int(word) for word in words if word.isdecimal()), 0)
    six = "six" in words
    family = socket.AF_INET6 if six else socket.AF_INET
    listener = socket.create_server(("::1" if six else "127.0.0.1", port), family=family)
    client = socket.create_connection(listener.getsockname()[:2])
    child, _ = listener.accept()
    look("accept", child)
    child.sendall(b"x" * 1000)
    client.recv(1000, socket.MSG_WAITALL)


main()
