# SPDX-License-Identifier: LGPL-2.1-or-later
"""Give a TCP connection a number of bytes and a deadline.

    dalbe.set_goal(sock, 300_000_000, 90)    # 300 MB within 90 s

The calls of dalbe_ctl.h, which explains each of them: ioctls of /dev/dalbe, or socket options where
dalbe_cdg is the BPF edition. Functions take a socket or its descriptor, and raise Error.
"""

import errno
import fcntl
import os
import platform
import socket
import struct
import threading
from typing import NamedTuple

Sock = socket.socket | int

DEVICE = "/dev/dalbe"
BEST_EFFORT, SCAVENGER, KEEP = range(3)  # after the deadline

_SOL_DALBE = 0xDA1B
_GOAL, _STATE, _CLEAR, _PARAMS, _GROUP = range(1, 6)
_RELATIVE, _UPDATE, _EACH = 1, 2, 4
_PARAM_CONTROLLER, _PARAM_WMIN, _PARAM_AFTER = 2, 8, 16
_WEIGHT = 3
_GOAL_FORMAT, _CLEAR_FORMAT, _GROUP_FORMAT = "=iIQQI12x", "=iI", "=iIII"
_PARAMS_FORMAT = "=iIIIIII20x"
_STATE_FORMAT = "=iIIIIIQQQqQQIIIIIIIIQQIIIIQIIIIII"
_STATUS = ("no goal", "waiting", "on track", "infeasible", "late", "done")
_REGIME = {1: "alone", 3: "contended"}
_ADVICE = {
    errno.ENOENT: "there is neither the module nor the BPF edition: sudo modprobe tcp_dalbe_cdg",
    errno.ENOPROTOOPT: "the socket has no congestion control of dalbe's: set_goal() selects one",
    errno.ETIME: "the deadline has passed",
    errno.ENODATA: "there is no goal to update",
    errno.EOVERFLOW: "the size or the time is too large",
    errno.EINVAL: "a value is out of range, or the module is of another version",
    errno.EOPNOTSUPP: "the socket is not TCP, or Multipath TCP",
    errno.EPERM: "a security module, a BPF program or a list of the administrator's forbids it",
}


class Error(OSError):
    """What the kernel has refused, and what to do."""


class State(NamedTuple):
    """What a connection is doing; fields that are not here are for dalbectl get -v."""

    status: str
    goal_bytes: int
    bytes_done: int
    time_left: float  # s, negative after the deadline
    rate: int  # bytes/s
    target: int  # bytes/s that meet the deadline
    w: float  # 1: as any other connection; 0: not under control
    regime: str
    job: int
    group: int


def _request(number: int, size: int) -> int:
    """_IOW() of dalbe_ctl.h, and _IOWR() of the state."""
    old = platform.machine().startswith(("ppc", "mips", "sparc", "alpha"))
    read, write, shift = (2, 4, 29) if old else (2, 1, 30)
    direction = write | (read if number == _STATE else 0)
    return direction << shift | size << 16 | 0xDA << 8 | number


def _fd(sock: Sock) -> int:
    return sock if isinstance(sock, int) else sock.fileno()


class _Ask:
    """The edition that is there; the device is opened once."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.device = -1

    def open(self) -> int:
        with self.lock:
            if self.device < 0:
                self.device = os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC)
            return self.device

    def option(self, fd: int, number: int, data: bytes) -> bytes:
        # a socket of this descriptor, which stays the caller's
        sock = socket.socket(fileno=os.dup(fd))
        with sock:
            if number == _STATE:
                return sock.getsockopt(_SOL_DALBE, number, len(data))
            sock.setsockopt(_SOL_DALBE, number, data)
            return data

    def __call__(self, fd: int, number: int, data: bytes) -> bytes:
        try:
            return self.option(fd, number, data)
        except OSError as err:
            # without the edition the kernel does not know our options
            if err.errno not in (errno.ENOPROTOOPT, errno.EOPNOTSUPP):
                raise
            refused = err
        try:
            device = self.open()
        except FileNotFoundError:
            if _absent():
                raise
            raise refused from None
        return fcntl.ioctl(device, _request(number, len(data)), data)


_ask = _Ask()


def _absent() -> bool:
    """Neither edition: dalbe_cdg is unknown."""
    with open("/proc/sys/net/ipv4/tcp_available_congestion_control", encoding="ascii") as file:
        return "dalbe_cdg" not in file.read().split()


def _call(sock: Sock, number: int, layout: str, *values: int) -> bytes:
    fd = _fd(sock)
    try:
        return _ask(fd, number, struct.pack(layout, fd, *values))
    except struct.error as err:
        raise ValueError(f"a value is negative or too large: {err}") from None
    except OSError as err:
        raise _advised(err) from None


def _advised(err: OSError) -> Error:
    code = err.errno or 0
    return Error(code, f"{os.strerror(code)}: {_ADVICE.get(code, 'see dalbe(4)')}")


def attach(sock: Sock) -> None:
    """Select dalbe_cdg, unless the socket has one of dalbe's congestion controls already."""
    with socket.socket(fileno=os.dup(_fd(sock))) as own:
        try:
            now = own.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
            if not now.startswith(b"dalbe_"):
                own.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"dalbe_cdg")
        except OSError as err:
            raise _advised(err) from None


def new_job() -> int:
    """Return a number for a job: one goal for several connections."""
    return int.from_bytes(os.urandom(4), "little") or 1


def set_goal(
    sock: Sock,
    size: int,
    seconds: float,
    *,
    job: int = 0,
    update: bool = False,
    each: bool = False,
    after: int | None = None,
) -> None:
    """Have size bytes acknowledged within so many seconds from now.

    With job the size is that of all connections of this number. With update the count of bytes
    done stays, and size is the new total. With each, on a listener, the time counts for each
    connection from its beginning. after is BEST_EFFORT, SCAVENGER or KEEP.
    """
    attach(sock)
    if after is not None:
        _call(sock, _PARAMS, _PARAMS_FORMAT, _PARAM_AFTER, 0, 0, 0, 0, after)
    flags = _RELATIVE | (_UPDATE if update else 0) | (_EACH if each else 0)
    _call(sock, _GOAL, _GOAL_FORMAT, flags, size, int(seconds * 1e9), job)


def scavenger(sock: Sock, weight: float | None = None) -> None:
    """Take what others leave, and beside them this part (0.001 to 1) of a usual share."""
    attach(sock)
    flags = _PARAM_CONTROLLER | (0 if weight is None else _PARAM_WMIN)
    wmin = 0 if weight is None else round(weight * 1e6)
    _call(sock, _PARAMS, _PARAMS_FORMAT, flags, 0, _WEIGHT, 0, wmin, 0)


def group(sock: Sock, number: int) -> None:
    """Share what is known of a path with all sockets of this number; 0: with none."""
    attach(sock)
    _call(sock, _GROUP, _GROUP_FORMAT, 0, number, 0)


def clear(sock: Sock) -> None:
    """Forget the goal."""
    _call(sock, _CLEAR, _CLEAR_FORMAT, 0)


def state(sock: Sock) -> State:
    """Tell what the connection is doing."""
    raw = _call(sock, _STATE, _STATE_FORMAT, *[0] * 32)
    v = struct.unpack(_STATE_FORMAT, raw)
    return State(
        status="scavenger" if v[1] == 0 and v[3] == _WEIGHT else _STATUS[v[1]],
        goal_bytes=v[6],
        bytes_done=v[7],
        time_left=v[9] / 1e9,
        target=v[10],
        rate=v[11],
        w=v[12] / 1e6,
        regime=_REGIME.get(v[24], "none"),
        job=v[31],
        group=v[29],
    )
