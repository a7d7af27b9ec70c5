# SPDX-License-Identifier: GPL-2.0-only
"""Deadlines under realistic traffic: one transfer after another, beside web-like sessions.

The framework paper's Figure 10. A transfer is late if it is not done by its deadline, by however
little; one that was not done when the run ended is late by all there is. Plain CUBIC in our place,
where a sweep has it, says whether the deadlines can be held: of that nothing is required.
"""

import math
import statistics
from pathlib import Path

import matplotlib.pyplot as plt
import polars as pl
from matplotlib.axes import Axes

from dalbe_testbed.charts import BLUE, GREY, REQUIRED, VERMILLION, Style, means, page
from dalbe_testbed.errors import TestbedError
from dalbe_testbed.plan.experiment import Web
from dalbe_testbed.plan.schedule import object_wire_bytes
from dalbe_testbed.plan.sweep import Point, Run, Sweep
from dalbe_testbed.reduce import capture
from dalbe_testbed.study import engine
from dalbe_testbed.study.engine import Case, Finding, Found, Study, Verdict, judge
from dalbe_testbed.study.results import OURS, Group, Results, Row, Window, frame, rtt_ms, window

COMPLETIONS = 60
"""A point has so many at least."""

LOAD_OFF = 0.05
"""By what part the load that was carried of the sessions may differ from the offered one."""

MISS_PERCENT = {0.6: 2.0, 1.0: 5.0}
"""How many deadlines may be missed up to a load."""

LATE_PERCENT = 2.0
"""Part of the window by which a transfer may be late at most."""


def measure(results: Results, run: Run, sweep: Sweep) -> Row:
    """Return a run's transfers, and the loads that were carried in parts of the link's rate.

    Raises TestbedError if a table is missing. _parts: when each transfer was done, in parts of its
    window; inf: never. A transfer that was not due when the run ended is left out.
    carried: the sessions' bytes behind the bottleneck, with what was sent again. carried_back: the
    frames of the objects that were fetched the other way, where acknowledgements share the link.
    """
    what, due_s = run.point.experiment, window(sweep).length_s
    rates, begin_s, end_s = results.table(run, "rates"), _web(run.point).start_s, what.duration_s
    over_s = capture.rates_end_s(rates, what.bin_s)
    took = (pl.col("end_s") - pl.col("start_s")) / due_s
    known = pl.col("end_s").is_not_null() | (pl.col("start_s") + due_s <= over_s)
    transfers = results.table(run, "transfers").filter(known, flow=OURS)
    parts = transfers.select(took.fill_null(math.inf)).to_series().to_list()
    fetched = results.table(run, "web").filter(
        pl.col("end_s").is_between(begin_s, end_s), direction="back"
    )["bytes"]
    could = what.link.rate_bps / 8 * (end_s - begin_s)
    return {
        "transfers": len(parts),
        "late": sum(part > 1 for part in parts),
        "carried": Window(begin_s, end_s).total(rates, ["web"]) / could,
        "carried_back": sum(map(object_wire_bytes, fetched)) / could,
        "_parts": parts,
    }


def _web(point: Point) -> Web:
    assert point.experiment.web
    return point.experiment.web


def _parts(group: Group) -> list[float]:
    return [part for row in group.rows for part in row["_parts"]]


def _sends(point: Point) -> str:
    """Return what makes the transfers: a congestion control, or a base and how w changes it."""
    sends = point.values.get("in_place", "dalbe")
    return "dalbe_cdg" if sends == "dalbe" else str(sends)


def _missed(parts: list[float]) -> Row:
    """Return how many transfers were late, in percent, and the exact 95 % interval of that."""
    late = sum(part > 1 for part in parts)
    return {"late": late} | engine.percentage("miss_percent", late, len(parts))


def _carried_cases(group: Group) -> list[Case]:
    """Return a case for each direction that has sessions."""
    web, name = _web(group.point), group.point.name
    back = web.load * web.reverse_part
    ways = [(name, "carried", web.load), (f"{name}, back", "carried_back", back)]
    return [
        Case(where, f"{mean:.3f}", abs(mean / offered - 1) <= LOAD_OFF, group.missing)
        for where, column, offered in ways
        for mean in [statistics.fmean(group.values(column))]
        if offered
    ]


def _missed_case(where: str, parts: list[float], most_percent: float, missing: int) -> Case:
    late, percent, low, high = _missed(parts).values()
    said = f"{percent:.2g} % [{low:.2g}, {high:.2g}], {late} of {len(parts)}"
    return Case(where, said, percent <= most_percent, missing)


def _most_percent(group: Group) -> float:
    load = _web(group.point).load
    return next(most for upto, most in MISS_PERCENT.items() if load <= upto)


def _enough(group: Group) -> Case:
    count = len(_parts(group))
    return Case(group.point.name, f"{count}", count >= COMPLETIONS, group.missing)


def _lateness(group: Group) -> Case:
    worst = 100 * max((part - 1 for part in _parts(group) if part > 1), default=0)
    return Case(group.point.name, f"{worst:.2g} %", worst < LATE_PERCENT, group.missing)


def _require(found: Found) -> list[Verdict]:
    """Judge transfers that have a goal. Raises TestbedError without any."""
    judged = [g for g in found.groups if any(flow.goal for flow in g.point.experiment.flows)]
    if not any(map(_parts, judged)):
        raise TestbedError("sessions: no transfer with a goal yet: nothing to judge or to draw")
    missed = [
        _missed_case(group.point.name, _parts(group), _most_percent(group), group.missing)
        for group in judged
    ]
    # A point alone is too few for a bound of a few percent: all of one limit tell more.
    for most in MISS_PERCENT.values():
        if some := [group for group in judged if _most_percent(group) == most]:
            parts = [part for group in some for part in _parts(group)]
            missed.append(_missed_case(f"all to {most:g} % together", parts, most, 0))
    return [
        judge(f"at least {COMPLETIONS} transfers at every point", [*map(_enough, judged)]),
        judge(
            f"the sessions carry what they offer, within {100 * LOAD_OFF:g} %, in each direction",
            [case for group in found.groups for case in _carried_cases(group)],
        ),
        judge("at most 2 % of the deadlines missed up to a load of 0.6, and 5 % above", missed),
        judge(
            f"a miss is less than {LATE_PERCENT:g} % of the window late", [*map(_lateness, judged)]
        ),
    ]


def _counts(group: Group) -> Row:
    parts = pl.Series(_parts(group), dtype=pl.Float64)
    return {
        "transfers": len(parts),
        **_missed(_parts(group)),
        "least": parts.min(),
        "median": parts.median(),
        "p95": parts.quantile(0.95, "higher"),
        "greatest": parts.max(),
    }


def _curve(_results: Results, group: Group) -> pl.DataFrame:
    """Return a row per transfer, by RTT, load and congestion control."""
    point = group.point
    about = {"rtt": rtt_ms(point), "load": _web(point).load, "cc": _sends(point)}
    return frame(about | {"part": part} for part in _parts(group))


LAST = 1.5
"""As in `goals`; here best effort itself is late at high loads."""

DEADLINE = REQUIRED | {"color": VERMILLION}


def _boxes(axes: Axes, transfers: pl.DataFrame) -> None:
    """Draw completions of one RTT by load, as the paper's Figure 10 does: ours, and CUBIC's."""
    loads = transfers["load"].unique().sort().to_list()
    for cc, colour, shift in (("dalbe_cdg", BLUE, -0.18), ("cubic", GREY, 0.18)):
        line = {"color": colour}
        some = [load for load in loads if transfers.filter(cc=cc, load=load).height]
        if not some:
            continue
        axes.boxplot(
            [transfers.filter(cc=cc, load=load)["part"].to_list() for load in some],
            positions=[loads.index(load) + shift for load in some],
            manage_ticks=False,
            widths=0.3,
            boxprops=line,
            whiskerprops=line,
            capprops=line,
            flierprops={"marker": ".", "markersize": 4, "markeredgecolor": colour},
            medianprops=line | {"linewidth": 2},
        )
    axes.set_xticks(range(len(loads)), [f"{100 * load:g}" for load in loads])
    axes.set(xlim=(-0.6, len(loads) - 0.4), xlabel="offered load, %; dashed: the deadline")
    axes.axhline(1, **DEADLINE)
    axes.set_title(f"base RTT of {transfers['rtt'][0]:g} ms", fontsize=9.5)


def _late_by(axes: Axes, transfers: pl.DataFrame) -> None:
    """Draw how many transfers are later than so much, a curve per RTT and load."""
    for (rtt, load), one in transfers.group_by("rtt", "load", maintain_order=True):
        style: Style = {
            "linestyle": {20: ":", 50: "-", 100: "--"}.get(round(rtt), "-."),
            "color": plt.get_cmap("viridis")((float(load) - 0.25) / 0.55),
            "label": f"{rtt:g} ms, {100 * float(load):g} %",
        }
        axes.ecdf(100 * (one["part"] - 1), complementary=True, linewidth=1, **style)
    axes.axvline(0, **DEADLINE)
    axes.set(
        xlim=(-20, 100 * (LAST - 1)),
        xlabel="late by more than, % of the window",
        ylabel="part of the transfers",
    )
    axes.legend(fontsize=6.5, loc="upper left", bbox_to_anchor=(1, 1), frameon=False)


def draw(found: Finding, path: Path) -> None:
    """Draw box plots of the completions; how late transfers are; the deadlines missed."""
    everybody = found.curves.with_columns(pl.col("part").clip(0, LAST))
    transfers = everybody.filter(cc="dalbe_cdg")
    rtts = transfers["rtt"].unique().sort().to_list()
    with page(path, (max(3.2 * len(rtts), 8), 6.4)) as figure:
        top, bottom = figure.subfigures(2, 1, squeeze=False)[:, 0]
        panels = top.subplots(1, len(rtts), sharey=True, squeeze=False)[0]
        for axes, rtt in zip(panels, rtts, strict=True):
            _boxes(axes, everybody.filter(rtt=rtt))
        panels[0].set_ylabel(f"done, parts of the window\n({LAST:g}: or later); grey: CUBIC")
        late, missed = bottom.subplots(1, 2)
        _late_by(late, transfers)
        missed_by = found.summary.sort("cc", "rtt", "web.load", descending=[True, False, False])
        for (cc, rtt), here in missed_by.group_by("cc", "rtt", maintain_order=True):
            label = f"{rtt:g} ms" if cc == "dalbe_cdg" else f"{rtt:g} ms, {cc} in its place"
            line = {"marker": "o", "linewidth": 1, "linestyle": "-", "label": label}
            means(missed, 100 * here["web.load"], here, "miss_percent", **line)
        missed.set(
            xlabel="offered load, %", ylabel="deadlines missed, %; 95 % interval", ylim=(0, None)
        )
        missed.legend(title="base RTT")


STUDY = Study(
    measure,
    _require,
    ["carried", "carried_back"],
    about=lambda point: engine.settings(point) | {"cc": _sends(point)},
    counts=_counts,
    curves=engine.by_point(_curve),
    draw=draw,
)
