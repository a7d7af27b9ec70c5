# SPDX-License-Identifier: GPL-2.0-only
"""Cells drawn at random: the settings of a sweep that is to say something about all of a space.

A value depends on the seed, its key and the cell's number alone: more cells, or another key, leave
those drawn before as they are.
"""

import math
import random
from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import Field

from dalbe_testbed.plan.explain import Model
from dalbe_testbed.plan.link import MTU_BYTES

Value = str | bool | int | float
BUFFER, NEEDS = "link.buffer_bdp", ("link.rate_mbps", "link.rtt_ms")
Positive = Annotated[float, Field(gt=0)]
DIGITS = 3  # of a drawn number: enough, and fit to be read


class Distribution(Model):
    """Where a value comes from: log-uniform between two bounds, or a choice of equal odds.

    least_packets: raises a buffer in BDP to so many packets.
    """

    log: Annotated[tuple[Positive, Positive], Field(strict=False)] | None = None
    choice: Annotated[list[Value], Field(min_length=1)] | None = None
    least_packets: Annotated[int, Field(ge=1)] | None = None

    def _faults(self) -> Iterator[str]:
        if (self.log is None) == (self.choice is None):
            yield "give one of log = [low, high] and choice = [...]"
        if self.log is not None and self.log[0] > self.log[1]:
            yield f"log = {list(self.log)}: give the lower bound first"

    def sample(self, source: random.Random) -> Value:
        """Return a value; numbers have three digits."""
        if self.choice is not None:
            return source.choice(self.choice)
        assert self.log is not None
        exponent = source.uniform(*map(math.log, self.log))
        return float(f"{math.exp(exponent):.{DIGITS}g}")


class Draw(Model):
    """The table [draw] of a sweep file: how many cells, from which seed, and what is drawn."""

    seed: Annotated[int, Field(ge=0)]
    cells: Annotated[int, Field(ge=1, le=999)]
    values: Annotated[dict[str, Distribution], Field(min_length=1)]

    def _faults(self) -> Iterator[str]:
        known = self.values.keys() >= set(NEEDS)
        for key, distribution in self.values.items():
            if distribution.least_packets is not None and (key != BUFFER or not known):
                needs = " and ".join(NEEDS)
                yield f"values.{key}.least_packets is for {BUFFER} where {needs} are drawn as well"

    def cell(self, number: int) -> dict[str, Value]:
        """Return the values of a cell, counted from 1."""
        drawn = {
            key: distribution.sample(random.Random(f"{self.seed} {key} {number}"))
            for key, distribution in self.values.items()
        }
        least = self.values[BUFFER].least_packets if BUFFER in drawn else None
        if least is not None:
            packet_bdp = 1 / bdp_packets(drawn)
            bound = math.ceil(least * packet_bdp * 10**DIGITS) / 10**DIGITS
            drawn[BUFFER] = max(float(drawn[BUFFER]), bound)
        return drawn


def bdp_packets(values: Mapping[str, Value]) -> float:
    """Return the bandwidth-delay product of a cell in packets of one MTU."""
    rate_mbps, rtt_ms = (float(values[key]) for key in NEEDS)
    return rate_mbps * 1e6 / 8 * rtt_ms / 1e3 / MTU_BYTES
