# SPDX-License-Identifier: GPL-2.0-only
"""Results as one table on the terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from rich import box
from rich.console import JustifyMethod
from rich.table import Table
from rich.text import Text

from dalbe_testbed.reduce.tables import Run
from dalbe_testbed.study.demo import CONTENDERS, INFEASIBLE

WORDS = {"contender", "finished", "measure", "flow", "cc", "scheme"}
"""Columns that hold no number."""

EXPLAINED: dict[str, Any] = {
    "caption_justify": "left",
    "box": box.SIMPLE_HEAD,
    "padding": (0, 1, 0, 0),
}
"""The look of a table whose caption explains its columns."""


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


def _table(rows: Sequence[Mapping[str, Any]], **look: Any) -> Table:
    """Return rows as a table, their keys above: words to the left, numbers to the right."""
    table = Table(**look)
    for column in rows[0] if rows else ():
        justify: JustifyMethod = "left" if column in WORDS else "right"
        table.add_column(column, justify=justify, no_wrap=True)
    for row in rows:
        table.add_row(*row.values())
    return table


def demo_table(result: dict[str, Any]) -> Table:
    """Return the demo's table: one row per contender."""
    rows = []
    for name in (*CONTENDERS, INFEASIBLE):
        row = result[name]
        rows.append(
            {
                "contender": Text(name, "bold"),
                "MB": _number(row["goal_bytes"], ".0f", 1e-6),
                "due": _number(row["deadline_s"], ".0f") + " s",
                "finished": _finish(row, infeasible=name == INFEASIBLE),
                "% busy": _number(row["share_contended"], ".1f", 100),
                "% alone": _number(row["share_alone"], ".1f", 100),
                "CUBIC": _number(row["cross_goodput_bps"], ".2f", 1e-6),
                "queue": _number(row["queue_ms_mean"], ".1f"),
            }
        )
    link = result["link"]
    return _table(
        rows,
        title=f"One file, a deadline, a busy link: {link['rate_mbps']:g} Mbit/s, "
        f"{link['rtt_ms']:g} ms, seed {result['seed']}",
        caption="% busy, % alone: share of the bottleneck while CUBIC competes and while nothing "
        "does\nCUBIC: goodput of its flows while they compete, Mbit/s; "
        "queue: mean while sending, ms",
        **EXPLAINED,
    )


def numeric_table(summary: pl.DataFrame) -> Table:
    """Return the numerical experiments' table, of numeric.summary(): parts in percent."""
    columns = {"done": "finish", "gap": "gap_use", "gives way": "gives_way"}
    columns["at most"] = "greatest_part"
    rows = [
        {"scheme": row["scheme"], "size": f"{row['eta']:.0%}"}
        | {said: _number(row[f"{name}_mean"], ".1f", 100) for said, name in columns.items()}
        for row in summary.to_dicts()
    ]
    return _table(
        rows,
        title="The framework paper's numerical experiments, means over the seeds",
        caption="done: % of the window; gap: % of the link while nobody else sends; gives "
        "way: % of its target left to newcomers in their first minute; at most: rate "
        "beside others, in % of one TCP source's",
        **EXPLAINED,
    )


def verdict_lines(result: dict[str, Any]) -> Text:
    """Return one line per requirement, with whether it was met."""
    lines = Text()
    for requirement, met in result["verdicts"].items():
        mark = ("yes  ", "green") if met else ("NO   ", "bold red")
        lines.append(*mark).append(f"{requirement}\n")
    return lines


def distribution_table(distribution: pl.DataFrame, title: str) -> Table:
    """Return min, median and max of every measure as a table."""

    def said(value: object) -> str:
        return "-" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)

    rows = [{name: said(value) for name, value in row.items()} for row in distribution.to_dicts()]
    return _table(rows, title=title)


def run_table(run: Run) -> Table:
    """Return what each flow of a run did as a table."""
    rows = [
        {
            "flow": row["flow"],
            "cc": row["cc"],
            "start": f"{row['start_s']:.1f} s",
            "end": _number(row["end_s"], ".1f") + " s",
            "MB": _number(row["payload_bytes"], ".1f", 1e-6),
            "drops": str(row["drops"]),
        }
        for row in run.flows.to_dicts()
    ]
    return _table(rows, title=f"{run.name}, seed {run.seed}: {run.directory}")
