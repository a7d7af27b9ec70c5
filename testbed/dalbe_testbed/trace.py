# SPDX-License-Identifier: GPL-2.0-only
"""From the module's tracepoint, dalbe:dalbe_update, to a table of w, G and the rates.

A line of tracefs' trace file reads

    rsync-321  [000] .....  12.345678: dalbe_update: sport=4242 dport=8730 w_ppm=10000 ...

Fields are taken as they come: what the module adds later becomes a column.
"""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl

LINE = re.compile(r"\s(?P<time>\d+\.\d+): (?P<event>\w+): (?P<fields>.*)$")
STATUS = {
    0: "none",
    1: "waiting",
    2: "on_track",
    3: "infeasible",
    4: "late",
    5: "done",
}


def read(path: Path) -> pl.DataFrame:
    """Return one row per update: t_s since T=0, and every key=value of the event.

    Numbers are integers; status is its name. Empty, without columns but t_s, if there is no
    trace or no event in it.
    """
    origin_s = 0.0
    rows: list[dict[str, float | int | str]] = []
    for line in path.read_text().splitlines() if path.exists() else []:
        match = LINE.search(line)
        if not match:
            continue
        time_s = float(match["time"])
        if match["event"] == "tracing_mark_write" and match["fields"].strip() == "T=0":
            origin_s = time_s
        elif match["event"] == "dalbe_update":
            row: dict[str, float | int | str] = {"t_s": round(time_s - origin_s, 6)}
            for word in match["fields"].split():
                key, equals, value = word.partition("=")
                if equals:
                    row[key] = int(value) if value.lstrip("-").isdigit() else value
            if isinstance(row.get("status"), int):
                row["status"] = STATUS.get(int(row["status"]), str(row["status"]))
            rows.append(row)
    if not rows:
        return pl.DataFrame(schema={"t_s": pl.Float64})
    return pl.DataFrame(rows, infer_schema_length=None)
