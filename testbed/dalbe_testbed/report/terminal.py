# SPDX-License-Identifier: GPL-2.0-only
"""Results as one table on the terminal."""

from typing import Any

import polars as pl
from rich import box
from rich.console import JustifyMethod
from rich.table import Table
from rich.text import Text

from dalbe_testbed.reduce.tables import Run
from dalbe_testbed.study.demo import CONTENDERS, INFEASIBLE


def _number(value: float | None, form: str, scale: float = 1.0) -> str:
    return "-" if value is None else format(value * scale, form)


def _finish(measures: dict[str, Any], *, infeasible: bool) -> Text:
    """Say when a contender was done; of an impossible goal, when it said so."""
    finish, said = measures["finish_s"], measures.get("reported_infeasible_at_s")
    if infeasible and said is None:
        return Text("never reported", style="red")
    if infeasible:
        return Text(f"reported at {said:.0f} s", style="green")
    if finish is None:
        return Text("not done", style="red")
    early = measures["deadline_s"] - finish
    when = f"{early:.0f} early" if early >= 0 else f"{-early:.0f} late"
    return Text(f"{finish:.0f} s: {when}", style="green" if early >= 0 else "red")


def demo_table(result: dict[str, Any]) -> Table:
    """Return the demo's table: one row per contender."""
    link = result["link"]
    table = Table(
        title=f"One file, a deadline, a busy link: {link['rate_mbps']:g} Mbit/s, "
        f"{link['rtt_ms']:g} ms, seed {result['seed']}",
        caption="% busy, % alone: share of the bottleneck while CUBIC competes and while nothing "
        "does\nCUBIC: goodput of its flows while they compete, Mbit/s; "
        "queue: mean while sending, ms",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    table.add_column("contender", style="bold", no_wrap=True)
    for column in ("MB", "due", "finished", "% busy", "% alone", "CUBIC", "queue"):
        justify: JustifyMethod = "left" if column == "finished" else "right"
        table.add_column(column, justify=justify, no_wrap=True)
    for name in (*CONTENDERS, INFEASIBLE):
        row = result[name]
        table.add_row(
            name,
            _number(row["goal_bytes"], ".0f", 1e-6),
            _number(row["deadline_s"], ".0f") + " s",
            _finish(row, infeasible=name == INFEASIBLE),
            _number(row["share_contended"], ".1f", 100),
            _number(row["share_alone"], ".1f", 100),
            _number(row["cross_goodput_bps"], ".2f", 1e-6),
            _number(row["queue_ms_mean"], ".1f"),
        )
    return table


def verdict_lines(result: dict[str, Any]) -> Text:
    """Return one line per requirement, with whether it was met."""
    lines = Text()
    for requirement, met in result["verdicts"].items():
        mark = ("yes  ", "green") if met else ("NO   ", "bold red")
        lines.append(*mark).append(f"{requirement}\n")
    return lines


def distribution_table(distribution: pl.DataFrame, title: str) -> Table:
    """Return min, median and max of every measure as a table."""
    table = Table(title=title)
    for column in distribution.columns:
        right = distribution[column].dtype.is_numeric()
        table.add_column(column, justify="right" if right else "left")
    for row in distribution.iter_rows():
        table.add_row(
            *("-" if v is None else f"{v:.4g}" if isinstance(v, float) else str(v) for v in row)
        )
    return table


def run_table(run: Run) -> Table:
    """Return what each flow of a run did as a table."""
    table = Table(title=f"{run.name}, seed {run.seed}: {run.directory}")
    for column in ("flow", "cc", "start", "end", "MB", "drops"):
        table.add_column(column, justify="left" if column in ("flow", "cc") else "right")
    for row in run.flows.to_dicts():
        table.add_row(
            row["flow"],
            row["cc"],
            f"{row['start_s']:.1f} s",
            _number(row["end_s"], ".1f") + " s",
            _number(row["payload_bytes"], ".1f", 1e-6),
            str(row["drops"]),
        )
    return table
