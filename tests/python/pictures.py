# SPDX-License-Identifier: GPL-2.0-only
"""What a chart of Altair's draws: which column is on which axis, and its values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import polars as pl
import vl_convert


class Drawn(NamedTuple):
    """A mark of a chart."""

    mark: str
    at: dict[str, Any]
    rows: list[dict[str, Any]]

    def points(self) -> list[tuple[Any, Any]]:
        """Return x and y of what has both."""
        x, y = self.at["x"], self.at["y"]
        return [(row[x], row[y]) for row in self.rows if None not in (row[x], row[y])]


def drawn(chart: Any) -> list[Drawn]:
    """Return all marks: the column, or the value, of each channel, and the rows of the data.

    The chart is one that Vega can draw, or this fails.
    """
    whole = chart.to_dict()
    vl_convert.vegalite_to_vega(whole)

    def walk(node: dict[str, Any], data: dict[str, Any]) -> Iterator[Drawn]:
        data = node.get("data", data)
        several = [node[how] for how in ("layer", "concat", "hconcat", "vconcat") if how in node]
        inner = [*(part for parts in several for part in parts), *filter(None, [node.get("spec")])]
        if not inner:
            at = {name: it.get("field", it.get("datum")) for name, it in node["encoding"].items()}
            yield Drawn(node["mark"]["type"], at, whole["datasets"][data["name"]])
        for part in inner:
            yield from walk(part, data)

    return list(walk(whole, {}))


def points(chart: Any, mark: str, x: str, y: str) -> list[tuple[Any, Any]]:
    """Return, in order, what the marks of a kind draw that have these columns on their axes."""
    marks = [it for it in drawn(chart) if (it.mark, it.at.get("x"), it.at.get("y")) == (mark, x, y)]
    assert marks, f"no {mark} is at {x} and {y}"
    return sorted(point for it in marks for point in it.points())


def values(table: pl.DataFrame, x: str, y: str) -> list[tuple[Any, Any]]:
    """Return, in order, what a picture of two columns of a table draws."""
    return sorted(table.select(x, y).drop_nulls().rows())


def limits(chart: Any) -> list[dict[str, Any]]:
    """Return where the lines are that show what is required."""
    return sorted((it.at for it in drawn(chart) if it.mark == "rule" and len(it.at) == 1), key=str)
