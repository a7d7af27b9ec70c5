# SPDX-License-Identifier: GPL-2.0-only
"""Web-like sessions: when they come, and the objects that each fetches, one after another.

The framework paper replays a trace of its own, section V.C; what it says of it is that sessions
are so many that one carries 38 kB on average (30 % of 100 Mbit/s in 99.5 sessions per second), that
most flows are short, and that traffic is bursty. Here a session is a few objects whose sizes have
a heavy tail, from a few packets to what the link carries in many seconds. As in the paper the times
are scaled so that the offered load, which is that without losses and retransmissions, comes out.

The schedule is drawn from the seed alone, and shortflows.c plays it: an object is a TCP connection.
"""

import math
import random
from typing import Literal

from dalbe_testbed.errors import TestbedError
from dalbe_testbed.plan.experiment import Web
from dalbe_testbed.plan.shortflows import Transfer

MEAN_OBJECTS = 2.0  # of a session: geometric, at least one
THINK_S = 1.0  # mean time between the beginnings of two objects of a session; exponential
# Of the objects' sizes, a bounded Pareto distribution; up to 5 MB its mean is 18.2 kB, which makes
# sessions of 37 kB.
SHAPE, LEAST_BYTES = 1.2, 4_000
SEGMENT_BYTES, HEADER_BYTES = 1448, 66  # of an Ethernet frame of TCP with timestamps
HANDSHAKE_FRAMES = 3  # without payload, of the sender of an object: SYN, its ACK, FIN
TOLERANCE = 0.01  # by what part the offered load may differ from that asked for
LEAST_LOAD_BYTES = 1e6  # below it a session of a few packets might not fit into twice that

Direction = Literal["forward", "back"]


def mean_bytes(most_bytes: int) -> float:
    """Return the mean size of an object, of which the largest has most_bytes."""
    ratio = LEAST_BYTES / most_bytes
    head = LEAST_BYTES * SHAPE / (SHAPE - 1)
    return head * (1 - math.pow(ratio, SHAPE - 1)) / (1 - math.pow(ratio, SHAPE))


def object_wire_bytes(size: int) -> int:
    """Return the bytes of the frames that carry an object of `size` bytes, if none is lost."""
    return size + HEADER_BYTES * (math.ceil(size / SEGMENT_BYTES) + HANDSHAKE_FRAMES)


def _object_bytes(source: random.Random, most_bytes: int) -> int:
    """Draw a size, by the inverse of the distribution function."""
    tail = math.pow(LEAST_BYTES / most_bytes, SHAPE)
    return round(LEAST_BYTES / math.pow(1 - source.random() * (1 - tail), 1 / SHAPE))


def _session(source: random.Random, most_bytes: int) -> list[Transfer]:
    """Draw one that begins at 0."""
    objects = [Transfer(0.0, _object_bytes(source, most_bytes))]
    while source.random() >= 1 / MEAN_OBJECTS:
        at_s = objects[-1].start_s + source.expovariate(1 / THINK_S)
        objects.append(Transfer(at_s, _object_bytes(source, most_bytes)))
    return objects


def draw(web: Web, link_bps: int, stop_s: float, seed: int, direction: Direction) -> list[Transfer]:
    """Draw the objects of one direction from web.start_s up to stop_s, in order.

    Sessions are drawn until they make the offered load, a part of link_bps on the wire; one that
    exceeds it is drawn anew. They begin at uniform times: given their number, those of a Poisson
    process. An object that would begin after the end does so as long after the beginning. Raises
    TestbedError if all of it is less than LEAST_LOAD_BYTES.
    """
    source = random.Random(f"{seed} web {direction}")
    load = web.load * (1 if direction == "forward" else web.reverse_part)
    length_s = stop_s - web.start_s
    wanted, total = load * link_bps / 8 * length_s, 0
    if wanted < LEAST_LOAD_BYTES:
        raise TestbedError(
            f"web: a load of {load:g} from {web.start_s:g} to {stop_s:g} s is {wanted:.3g} bytes, "
            f"too few to be made of sessions: at least {LEAST_LOAD_BYTES:g}"
        )
    sessions = []
    while total < (1 - TOLERANCE) * wanted:
        session = _session(source, web.max_bytes)
        size = sum(object_wire_bytes(transfer.bytes) for transfer in session)
        if total + size <= (1 + TOLERANCE) * wanted:
            sessions.append(session)
            total += size
    return sorted(
        (
            Transfer(round(web.start_s + (begin_s + one.start_s) % length_s, 6), one.bytes)
            for session in sessions
            for begin_s in [source.uniform(0, length_s)]
            for one in session
        ),
        key=lambda transfer: transfer.start_s,
    )
