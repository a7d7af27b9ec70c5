# SPDX-License-Identifier: GPL-2.0-only
"""The demo: one file under a deadline, by four means, beside the same cross traffic.

The file is flow `file`; the axis `contender` says what sends it. `infeasible` is a goal that cannot
be met: it is judged by whether it says so in time, and stays at the share of one CUBIC flow.

A bin of the rates counts as *contended* if at least one cross flow was active throughout, as
*alone* if none was active at any time; in both cases only if the file was on its way throughout,
and if the last change (a cross flow or the file starting or ending) is at least GUARD_S before it.
A share is the mean rate over such bins, in bytes on the wire, divided by the rate of the link: the
background's bytes are nobody's share.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from dalbe_testbed.charts import (
    BLUE,
    BUSY,
    GREY,
    TARGET,
    VERMILLION,
    Picture,
    curves,
    required,
)
from dalbe_testbed.plan.sweep import Run, Sweep
from dalbe_testbed.reduce import capture
from dalbe_testbed.study import engine
from dalbe_testbed.study.engine import Finding, Found, Study, Verdict
from dalbe_testbed.study.results import Group, Results, Row, Window, presence, window

FILE, OURS, CUBIC, INFEASIBLE = "file", "dalbe_cdg", "cubic", "infeasible"
GUARD_S = 2.0

ALONE_OF_CUBIC, CONTENDED_OF_CUBIC = 0.85, 0.5
"""Required under a goal, in parts of what plain CUBIC has: alone at least, contended at most."""

OF_ONE_FLOW = 1.1
"""The most for an impossible goal, in parts of one CUBIC flow's share: these differ by chance."""

CURVE_S = 1.0
"""The means that the curves are made of."""


def phase_table(
    rates: pl.DataFrame, bin_s: float, transfer: Window, cross: Sequence[Window]
) -> pl.DataFrame:
    """Return t_s and phase of every bin: "contended", "alone"; "between" does not count."""
    start, end = pl.col("t_s"), pl.col("t_s") + bin_s
    changes_s = [transfer.start_s, *(t for flow in cross for t in (flow.start_s, flow.end_s))]
    changed = pl.any_horizontal((start - GUARD_S < t) & (end > t) for t in changes_s)
    inside = (start >= transfer.start_s) & (end <= transfer.end_s)
    busy = pl.any_horizontal(
        pl.lit(value=False), *((start >= flow.start_s) & (end <= flow.end_s) for flow in cross)
    )
    phase = pl.when(busy).then(pl.lit("contended")).otherwise(pl.lit("alone"))
    counts = pl.when(inside & ~changed).then(phase).otherwise(pl.lit("between"))
    return rates.select(start.unique().sort()).with_columns(phase=counts)


def mean_bps(
    rates: pl.DataFrame, phases: pl.DataFrame, phase: str, flows: Sequence[str], column: str
) -> float | None:
    """Return the flows' summed mean rate in a phase; None without any bin of it.

    column: of the rates, "rate_bps" on the wire, or "payload_bps".
    """
    bins = phases.filter(phase=phase)
    rows = rates.filter(pl.col("flow").is_in(flows)).join(bins, on="t_s")
    return float(rows[column].sum()) / bins.height if bins.height else None


def measure(results: Results, run: Run, sweep: Sweep) -> Row:
    """Return what a run's tables show; null where there was nothing to measure.

    due_s: when the file is due. finish_s: when it was there. reported_s: when the module said that
    it will not be in time. one_flow_percent: the mean share of a cross flow, over the contended
    bins in which it sent. cross_mbps: goodput of all of them. queue_ms: its mean while the file was
    on its way.
    """
    rates, queue, flows = (results.table(run, name) for name in ("rates", "queue", "flows"))
    what = run.point.experiment
    times = presence(flows, capture.rates_end_s(rates, what.bin_s))
    sending, link_bps = times.pop(FILE), what.link.rate_bps
    rates = rates.with_columns(payload_bps=pl.col("payload_bytes") * 8 / what.bin_s)
    phases = phase_table(rates, what.bin_s, sending, list(times.values()))
    queues = queue.join(phases, on="t_s")
    file = flows.filter(flow=FILE)
    row: Row = {
        "due_s": window(sweep).length_s,
        "finish_s": sending.end_s - sending.start_s if file["finished"].item() else None,
        "reported_s": results.control(run).filter(flow=FILE, status="infeasible")["t_s"].min(),
        "payload_bytes": file["payload_bytes"].item(),
        "queue_ms": sending.of(queue)["queue_ms"].mean(),
    }
    for phase in ("contended", "alone"):
        bps = mean_bps(rates, phases, phase, [FILE], "rate_bps")
        row[f"{phase}_percent"] = None if bps is None else 100 * bps / link_bps
        row[f"queue_{phase}_ms"] = queues.filter(phase=phase)["queue_ms"].mean()
    active = rates.filter(pl.col("flow").is_in(list(times)), pl.col("wire_bytes") > 0)
    one = active.join(phases.filter(phase="contended"), on="t_s")["rate_bps"].mean()
    cross = mean_bps(rates, phases, "contended", list(times), "payload_bps")
    return row | {
        "one_flow_percent": None if one is None else 100 * one / link_bps,  # type: ignore[operator]
        "cross_mbps": None if cross is None else cross / 1e6,
    }


def _part(own: float | None, whole: float | None) -> float | None:
    return own / whole if own is not None and whole else None


def _compare(found: Found) -> Sequence[Group]:
    """Add what the file has in parts of what plain CUBIC has with the same seed."""
    for _group, pairs in found.paired("contender", CUBIC):
        for row, cubic in pairs:
            alone, contended = row["alone_percent"], row["contended_percent"]
            one = [cubic.get("contended_percent"), row["one_flow_percent"]]
            row["alone_of_cubic"] = _part(alone, cubic.get("alone_percent"))
            row["contended_of_cubic"] = _part(contended, one[0])
            row["contended_of_one_flow"] = _part(contended, max(filter(None, one), default=None))
    return found.groups


def _require(found: Found) -> list[Verdict]:
    """Judge every run of ours, and of the goal that cannot be met."""
    due_s = window(found.sweep).length_s

    def judged(text: str, name: str, column: str, least: float, most: float) -> Verdict:
        points = [point for point in found.sweep.points if point.values["contender"] == name]
        return found.judge_every(text, column, points, (least, most))

    alone = f"alone: at least {ALONE_OF_CUBIC:g} of plain CUBIC's share"
    contended = f"contended: at most {CONTENDED_OF_CUBIC:g} of plain CUBIC's share"
    said = "impossible goal reported before its deadline"
    modest = "impossible goal: no more than one CUBIC flow's share"
    return [
        judged("done by the deadline", OURS, "finish_s", 0, due_s),
        judged(alone, OURS, "alone_of_cubic", ALONE_OF_CUBIC, math.inf),
        judged(contended, OURS, "contended_of_cubic", 0, CONTENDED_OF_CUBIC),
        judged(said, INFEASIBLE, "reported_s", 0, due_s),
        judged(modest, INFEASIBLE, "contended_of_one_flow", 0, OF_ONE_FLOW),
    ]


def outcome(values: Mapping[str, Any]) -> str:
    """Say in a line what a contender's columns are, of a run or the means of several."""
    when = "not done"
    if (finish_s := values["finish_s"]) is not None:
        when = f"done after {finish_s:.0f} s"
    elif (said_s := values["reported_s"]) is not None:
        when = f"reported after {said_s:.0f} s"
    parts = {"beside CUBIC": "contended_percent", "alone": "alone_percent"}
    had = [f"{values[name]:.0f} % {at}" for at, name in parts.items() if values[name] is not None]
    return f"{when}; of the link {', '.join(had) or 'nothing that counts'}"


def _say(found: Found) -> str:
    """Return what became of the file by each means: the means of the runs."""

    def said(group: Group) -> str:
        done, n = len(group.values("finish_s")), len(group.rows)
        some = f"{done} of {n}, " if 0 < done < n else ""
        means = outcome({name: group.mean(name) for name in MEANS})
        return f"{group.point.values['contender']}: {some}{means}"

    return ". ".join(map(said, found.groups)) + "."


def _curve(results: Results, run: Run) -> pl.DataFrame:
    """Return a row per CURVE_S: who sent how much, Mbit/s on the wire, the queue, what w was."""
    at = pl.col("t_s") // CURVE_S * CURVE_S
    flow, mbps = pl.col("flow"), pl.col("wire_bytes") * 8e-6 / CURVE_S
    cross = ~flow.is_in([FILE, "background"])
    rates = results.table(run, "rates").group_by(at)
    queue = results.table(run, "queue").group_by(at).agg(pl.mean("queue_ms"))
    control = results.control(run).filter(flow == FILE).group_by(at)
    of_module = control.agg(
        w=pl.col("w_ppm").last() * 1e-6,
        target_mbps=pl.col("target_Bps").last() * 8e-6,
        measured_mbps=pl.col("rate_Bps").last() * 8e-6,
        regime=pl.col("regime").last(),
    )
    return (
        rates.agg(
            file_mbps=mbps.filter(flow == FILE).sum(),
            cubic_mbps=mbps.filter(cross).sum(),
            background_mbps=mbps.filter(flow == "background").sum(),
        )
        .join(queue, on="t_s", how="left")
        .join(of_module, on="t_s", how="left")
        .sort("t_s")
        .select(pl.lit(run.point.values["contender"]).alias("contender"), pl.all())
    )


LABEL = {
    "dalbe_cdg": "dalbe_cdg under a goal",
    "cubic": "plain CUBIC",
    "bwlimit": "rsync --bwlimit",
    "infeasible": "dalbe_cdg, impossible goal",
}
SENDERS = {
    "file_mbps": "the file",
    "cubic_mbps": "CUBIC flows",
    "background_mbps": "D-ITG background",
}
RATES = {"measured_mbps": "measured by the module", "target_mbps": TARGET}
REGIME = {1: "alone", 3: "contended"}  # DALBE_REGIME_*
COMPETES_MBPS = 0.01
"""CUBIC competes in bins in which it has more."""


FRONT = (OURS, CUBIC)
"""README's first screen has their links, beside each other."""


def draw(found: Finding, *, front: bool = False) -> Picture:
    """Draw a seed: the link and the queue by each means, a row each; below, w and the target.

    front: the links of FRONT alone.
    """
    x = alt.X("t_s").title("seconds; dashed: the deadline; shaded: CUBIC competes")
    competes = pl.col("cubic_mbps") > COMPETES_MBPS
    binned = found.curves.with_columns(end_s=pl.when(competes).then(pl.col("t_s") + CURVE_S))

    def over_time(name: str, *drawn: Picture) -> Picture:
        """Shade the times in which CUBIC competes, and mark the deadline."""
        bins = binned.filter(contender=name).drop_nulls("end_s")
        busy = alt.Chart(bins).mark_rect(color=BUSY).encode(x, x2="end_s")
        due = required(found.runs, x=found.runs["due_s"][0])
        return alt.layer(busy, *drawn, due).properties(width=520, height=130)

    panels = []
    names = found.summary["contender"].to_list()
    for name in [name for name in FRONT if name in names] if front else names:
        curve = binned.filter(contender=name)
        said = f"{LABEL[name]}: {outcome(found.runs.filter(contender=name).row(0, named=True))}"
        sent = curve.rename(SENDERS).unpivot([*SENDERS.values()], index="t_s", variable_name="who")
        colours = alt.Scale(domain=[*SENDERS.values()], range=[BLUE, VERMILLION, GREY])
        colour = alt.Color("who").scale(colours).title(None)
        stack = alt.Chart(sent.with_columns(index=pl.col("who").rle_id())).mark_area()
        stack = stack.encode(x, alt.Y("value").title("Mbit/s"), colour, order="index")
        queue = alt.Chart(curve).mark_line().encode(x, alt.Y("queue_ms").title("queue, ms"))
        panels.append(over_time(name, stack).properties(title=said))
        if not front:
            panels.append(over_time(name, queue))
    links = alt.concat(*panels, columns=2)
    if front:
        return _configured(links)
    module = binned.filter(contender=OURS).drop_nulls("w")
    if module.is_empty():
        return links
    module = module.with_columns(pl.col("regime").replace_strict(REGIME, default=None))
    rates = module.rename(RATES).unpivot([*RATES.values()], index="t_s", variable_name="who")
    rate = curves(rates, x, alt.Y("value").title("Mbit/s of payload"), "who")
    w = alt.Chart(module).encode(x, alt.Y("w").title("weight w"))
    steps = w.mark_line(interpolate="step-after", color=GREY)
    ends = module.select(least=pl.min("w"), most=pl.max("w")).row(0)
    weight = over_time(OURS, steps, w.mark_point().encode(color="regime"))
    said = "w went from {:.2g} up to {:.2g}".format(*ends)
    both = alt.concat(over_time(OURS, rate), weight.properties(title=said), columns=2)
    both = both.resolve_scale(color="independent")
    return _configured(alt.vconcat(links, both).resolve_scale(color="independent"))


def _configured(picture: Picture) -> Picture:
    return picture.configure_legend(orient="bottom", title=None).configure_title(fontSize=11)


MEANS = (
    *("finish_s", "reported_s", "contended_percent", "alone_percent", "one_flow_percent"),
    *("cross_mbps", "queue_ms", "queue_contended_ms", "queue_alone_ms"),
    *("alone_of_cubic", "contended_of_cubic", "contended_of_one_flow"),
)
STUDY = Study(
    measure,
    _require,
    MEANS,
    about=lambda point: {"contender": point.values["contender"]},
    compare=_compare,
    curves=engine.of_first_runs(_curve),
    say=_say,
    draw=draw,
    front=lambda found: draw(found, front=True),
)
