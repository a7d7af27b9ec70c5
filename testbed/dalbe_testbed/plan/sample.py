# SPDX-License-Identifier: GPL-2.0-only
"""Cells drawn at random: the settings of a sweep that is to say something about all of a space.

A value depends on the seed, its key and the cell's number alone: more cells, or another key, leave
those drawn before as they are.
"""

import math
import random
from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from dalbe_testbed.plan.link import MTU_BYTES

Value = str | int | float
BUFFER, NEEDS = "link.buffer_bdp", ("link.rate_mbps", "link.rtt_ms")
DIGITS = 3  # of a drawn number: enough, and fit to be read


class Distribution(BaseModel):
    """Where a value comes from: log-uniform between two bounds, or a choice of equal odds.

    least_packets: raises a buffer in BDP to so many packets.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    log: tuple[Annotated[float, Field(gt=0)], Annotated[float, Field(gt=0)]] | None = None
    choice: Annotated[list[Value], Field(min_length=1)] | None = None
    least_packets: Annotated[int, Field(ge=1)] | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if (self.log is None) == (self.choice is None):
            raise ValueError("give one of log = [low, high] and choice = [...]")
        if self.log is not None and self.log[0] > self.log[1]:
            raise ValueError(f"log = {list(self.log)}: give the lower bound first")
        return self

    def sample(self, source: random.Random) -> Value:
        """Return a value; numbers have three digits."""
        if self.choice is not None:
            return source.choice(self.choice)
        assert self.log is not None
        exponent = source.uniform(*map(math.log, self.log))
        return float(f"{math.exp(exponent):.{DIGITS}g}")


class Draw(BaseModel):
    """The table [draw] of a sweep file: how many cells, from which seed, and what is drawn."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    seed: Annotated[int, Field(ge=0)]
    cells: Annotated[int, Field(ge=1, le=999)]
    values: Annotated[dict[str, Distribution], Field(min_length=1)]

    @model_validator(mode="after")
    def _packets_are_known(self) -> Self:
        for key, distribution in self.values.items():
            if distribution.least_packets is None:
                continue
            if key != BUFFER or not self.values.keys() >= set(NEEDS):
                raise ValueError(
                    f"values.{key}.least_packets is for {BUFFER} where {' and '.join(NEEDS)} are "
                    "drawn as well"
                )
        return self

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

    def name(self, number: int) -> str:
        """Return what a cell is called: "cell01"."""
        return f"cell{number:0{len(str(self.cells))}d}"


def bdp_packets(values: Mapping[str, Value]) -> float:
    """Return the bandwidth-delay product of a cell in packets of one MTU."""
    rate_mbps, rtt_ms = (float(values[key]) for key in NEEDS)
    return rate_mbps * 1e6 / 8 * rtt_ms / 1e3 / MTU_BYTES
