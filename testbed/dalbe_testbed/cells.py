# SPDX-License-Identifier: GPL-2.0-only
"""The CDG paper's cells side by side: our module, the kernel's own cdg, and the paper's Table I."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
from rich import box
from rich.table import Table

from dalbe_testbed.errors import TestbedError

OURS, IN_TREE = "dalbe_cdg", "cdg"

# Table I, percent of capacity: of one CDG flow (here the mean of the two) at G = 0.1 ms, of both
# together at G = 120 ms.
ONE, BOTH = ("cdg1", "cdg2"), ("sender",)
TABLE_1 = {
    (0.1, 20): (ONE, 10.3),
    (0.1, 50): (ONE, 6.7),
    (0.1, 100): (ONE, 3.0),
    (120.0, 20): (BOTH, 49.0),
    (120.0, 50): (BOTH, 49.0),
    (120.0, 100): (BOTH, 37.3),
}
TOLERANCE, TOLERANCE_POINTS = 0.25, 2.0


def runs(out: Path) -> pl.DataFrame:
    """Collect OUT/CC-G-RTT/cell.json: one row per run.

    Columns: cc, g_ms (the paper's), rtt_ms, seed, cdg1, cdg2, cubic1, cubic2, sender, xsender, all
    shares of the link in percent. Raises TestbedError where there is none.
    """
    rows = []
    for path in sorted(out.glob("*/cell.json")):
        cc, g_ms, rtt_ms = path.parent.name.rsplit("-", 2)
        for seed, shares in json.loads(path.read_text())["seeds"].items():
            percent = {name: round(share * 100, 3) for name, share in shares.items()}
            rows.append(
                {"cc": cc, "g_ms": float(g_ms), "rtt_ms": int(rtt_ms), "seed": int(seed)} | percent
            )
    if not rows:
        raise TestbedError(f"no OUT/CC-G-RTT/cell.json in {out}: run 'make cells OUT={out}' first")
    return pl.DataFrame(rows).sort("g_ms", "rtt_ms", "cc", "seed")


def compare(table: pl.DataFrame) -> pl.DataFrame:
    """Compare both modules per cell, by the share of both CDG flows together, in percent.

    agree: the means differ by no more than the wider of the two ranges over the seeds.
    paper, paper_ours, paper_in_tree: Table I's figure and ours for the same flows; holds: both
    within 25 % or 2 points of it, whichever is larger. Null outside Table I.
    """
    rows = []
    for (g_ms, rtt_ms), cell in table.group_by("g_ms", "rtt_ms", maintain_order=True):
        row: dict[str, object] = {"g_ms": g_ms, "rtt_ms": rtt_ms}
        spread = []
        for cc in (OURS, IN_TREE):
            share = cell.filter(pl.col("cc") == cc)["sender"]
            low, mean, high = (float(v) for v in (share.min(), share.mean(), share.max()))  # type: ignore[arg-type]
            row |= {f"{cc}_min": low, f"{cc}_mean": mean, f"{cc}_max": high}
            spread.append(high - low)
        row["agree"] = abs(row[f"{OURS}_mean"] - row[f"{IN_TREE}_mean"]) <= max(spread)  # type: ignore[operator]
        row |= {"paper": None, "paper_ours": None, "paper_in_tree": None, "holds": None}
        if (g_ms, rtt_ms) in TABLE_1:
            columns, paper = TABLE_1[g_ms, rtt_ms]
            means = {
                cc: float(
                    cell.filter(pl.col("cc") == cc)
                    .select(pl.mean_horizontal(columns))
                    .mean()
                    .item()
                )
                for cc in (OURS, IN_TREE)
            }
            bound = max(TOLERANCE * paper, TOLERANCE_POINTS)
            row |= {
                "paper": paper,
                "paper_ours": means[OURS],
                "paper_in_tree": means[IN_TREE],
                "holds": all(abs(mean - paper) <= bound for mean in means.values()),
            }
        rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None)


def render(comparison: pl.DataFrame) -> Table:
    """Return the comparison as a table for the terminal."""
    table = Table(
        title="Two CDG flows against two CUBIC flows: percent of the link",
        caption="G and RTT in ms; both CDG flows together, mean (range) over the seeds; "
        "paper: Table I, one flow at G = 0.1, both at G = 120",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    for column in ("G", "RTT", OURS, "in-tree cdg", "agree", "paper", "ours", "in-tree"):
        table.add_column(column, justify="right", no_wrap=True)

    def shown(row: dict[str, float], cc: str) -> str:
        return f"{row[f'{cc}_mean']:.1f} ({row[f'{cc}_min']:.1f}-{row[f'{cc}_max']:.1f})"

    for row in comparison.iter_rows(named=True):
        table.add_row(
            f"{row['g_ms']:g}",
            f"{row['rtt_ms']}",
            shown(row, OURS),
            shown(row, IN_TREE),
            "yes" if row["agree"] else "[red]no[/]",
            *(
                ("", "", "")
                if row["paper"] is None
                else (
                    f"{row['paper']:g}" + ("" if row["holds"] else " [red]missed[/]"),
                    f"{row['paper_ours']:.1f}",
                    f"{row['paper_in_tree']:.1f}",
                )
            ),
        )
    return table
