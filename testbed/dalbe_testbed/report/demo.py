# SPDX-License-Identifier: GPL-2.0-only
"""The demo's pictures: each has its finding as its title."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dalbe_testbed.plan.experiment import Experiment
from dalbe_testbed.reduce.tables import Run
from dalbe_testbed.report.charts import (
    BLUE,
    BUSY,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    STRIP,
    STYLE,
    VERMILLION,
)
from dalbe_testbed.study.demo import CONTENDERS, FILE, INFEASIBLE, SUBJECT, cross_flows
from dalbe_testbed.study.shares import GUARD_S, Interval

REGIME = {1: "alone", 2: "yielding", 3: "contended"}  # DALBE_REGIME_*
LABEL = {
    "dalbe_cdg": "dalbe_cdg under a goal",
    "cubic": "plain CUBIC",
    "bwlimit": "rsync --bwlimit",
    "infeasible": "dalbe_cdg, impossible goal",
}


def _busy(run: Run) -> list[Interval]:
    """Merge the cross flows' times into phases in which something competes."""
    merged: list[Interval] = []
    for flow in sorted(cross_flows(run).values(), key=lambda item: item.start_s):
        if merged and flow.start_s <= merged[-1].end_s:
            last = merged.pop()
            flow = Interval(last.start_s, max(last.end_s, flow.end_s))  # noqa: PLW2901
        merged.append(flow)
    return merged


def _shade(axes: Axes, run: Run) -> None:
    for phase in _busy(run):
        axes.axvspan(phase.start_s, phase.end_s, color=BUSY, zorder=-10, linewidth=0)


def _deadline(axes: Axes, deadline_s: float, *, label: bool = True) -> None:
    axes.axvline(deadline_s, color="black", linestyle=(0, (4, 2)), linewidth=1.2)
    if label:
        axes.annotate(
            "deadline",
            (deadline_s, 1),
            xycoords=("data", "axes fraction"),
            xytext=(4, -3),
            textcoords="offset points",
            va="top",
            fontsize=9,
        )


def _smooth(values: pl.Series, bins: int) -> pl.Series:
    return values.rolling_mean(bins, min_samples=1, center=True)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share * 100:.0f} %"


def _finding(name: str, row: dict[str, Any]) -> str:
    """Say in a line what a contender's panel shows."""
    took = f"{_percent(row['share_contended'])} of the link while CUBIC competed"
    if name == INFEASIBLE:
        said = row["reported_infeasible_at_s"]
        when = "never reported" if said is None else f"reported after {said:.0f} s"
        return f"{LABEL[name]}: {when}; {took}"
    finish, deadline = row["finish_s"], row["deadline_s"]
    if finish is None:
        return f"{LABEL[name]}: not done; {took}"
    margin = deadline - finish
    verdict = f"{margin:.0f} s early" if margin >= 0 else f"{-margin:.0f} s late"
    return f"{LABEL[name]}: {verdict}; {took}"


def _rates(experiment: Experiment, result: dict[str, Any], runs: Sequence[Run]) -> Figure:
    """One panel per contender: who had how much of the link, stacked."""
    figure, panels = plt.subplots(
        len(runs), 1, figsize=(10, 2.35 * len(runs)), sharex=True, sharey=True, squeeze=False
    )
    capacity = experiment.link.rate_mbps
    end_s = max(float(run.rates["t_s"].max()) for run in runs)  # type: ignore[arg-type]
    for axes, run in zip(panels[:, 0], runs, strict=True):
        wide = run.rates.pivot("flow", index="t_s", values="rate_bps").sort("t_s")
        window = max(1, round(1 / experiment.bin_s))
        cross = list(cross_flows(run))
        shades = [VERMILLION, ORANGE] * len(cross)
        names = [n for n in (FILE, *cross, "background") if n in wide.columns]
        colours = [BLUE, *shades[: len(cross)], GREY]
        axes.stackplot(
            wide["t_s"],
            [_smooth(wide[name], window) / 1e6 for name in names],
            colors=colours[: len(names)],
            linewidth=0,
        )
        for phase in _busy(run):  # a strip on top: the stack would hide a shade
            axes.barh(
                capacity * 1.06,
                phase.end_s - phase.start_s,
                left=phase.start_s,
                height=capacity * 0.05,
                color=STRIP,
            )
        _deadline(axes, result[run.name]["deadline_s"])
        axes.set_title(_finding(run.name, result[run.name]))
        axes.set_ylim(0, capacity * 1.1)
        axes.set_xlim(0, end_s)
        axes.set_ylabel("Mbit/s")
    handles = [
        mpl.patches.Patch(color=colour, label=label)
        for colour, label in (
            (BLUE, "the file"),
            (VERMILLION, "CUBIC flows"),
            (ORANGE, "CUBIC flows"),
            (GREY, "D-ITG background"),
            (STRIP, "CUBIC competes"),
        )
    ]
    handles[1:3] = [
        mpl.patches.Patch(facecolor=VERMILLION, edgecolor=ORANGE, hatch="//", label="CUBIC flows")
    ]
    figure.legend(handles=handles, loc="lower center", ncols=4, bbox_to_anchor=(0.5, -0.02))
    panels[-1, 0].set_xlabel("seconds")
    figure.align_ylabels()
    figure.tight_layout(rect=(0, 0.02, 1, 1))
    return figure


def _control(experiment: Experiment, result: dict[str, Any], run: Run) -> Figure:
    """w of the transfer under a goal, and its regime; without regimes, its G."""
    figure, (upper, lower) = plt.subplots(2, 1, figsize=(10, 5), sharex=True)
    trace = run.control.filter(pl.col("t_s") >= 0, flow=FILE)
    weight = trace["w_ppm"] / 1e6
    upper.step(trace["t_s"], weight, where="post", color=BLUE, linewidth=1.6)
    upper.set_ylabel("weight w")
    upper.set_ylim(-0.02, 1.05)
    lowest, highest = float(weight.min()), float(weight.max())  # type: ignore[arg-type]
    upper.set_title(f"w went from {lowest:.2g} up to {highest:.2g}")
    if "regime" in trace.columns and trace["regime"].max():
        lower.step(trace["t_s"], trace["regime"], where="post", color=GREEN, linewidth=1.6)
        lower.set_yticks(list(REGIME), REGIME.values())
    else:
        lower.step(trace["t_s"], trace["g_ns"] / 1e6, where="post", color=GREEN, linewidth=1.6)
        lower.set_yscale("log")
        lower.set_ylabel("G, ms")
    lower.set_xlabel("seconds (shaded: CUBIC competes)")
    for axes in (upper, lower):
        _shade(axes, run)
        _deadline(axes, result[run.name]["deadline_s"], label=axes is upper)
        axes.set_xlim(0, experiment.duration_s + 10)
    figure.align_ylabels()
    figure.tight_layout()
    return figure


def _pursuit(trace: pl.DataFrame, run: Run) -> str:
    """Say what the deadline asked for, and what the flow took, while CUBIC competed."""
    busy = pl.any_horizontal(
        pl.lit(value=False),
        *(pl.col("t_s").is_between(phase.start_s + GUARD_S, phase.end_s) for phase in _busy(run)),
    )
    rows = trace.filter(busy)
    if rows.is_empty():
        return "Done before anything competed"
    asked, took = (
        float(rows[name].mean()) * 8 / 1e6  # type: ignore[arg-type]
        for name in ("target_Bps", "rate_Bps")
    )
    return f"While CUBIC competed the deadline asked for {asked:.1f} Mbit/s; taken: {took:.1f}"


def _target(experiment: Experiment, result: dict[str, Any], run: Run) -> Figure:
    """The rate that the deadline needs, and the rate there was."""
    figure, axes = plt.subplots(figsize=(10, 3.6))
    trace = run.control.filter(pl.col("t_s") >= 0, flow=FILE)
    axes.step(
        trace["t_s"],
        trace["rate_Bps"] * 8 / 1e6,
        where="post",
        color=SKY,
        linewidth=1.2,
        label="measured by the module",
    )
    axes.step(
        trace["t_s"],
        trace["target_Bps"] * 8 / 1e6,
        where="post",
        color=VERMILLION,
        linewidth=2,
        label="target: bytes left / time left",
    )
    _shade(axes, run)
    _deadline(axes, result[run.name]["deadline_s"])
    axes.set_title(_pursuit(trace, run))
    axes.set_ylim(0, experiment.link.rate_mbps)
    axes.set_xlim(0, experiment.duration_s + 10)
    axes.set_ylabel("Mbit/s of payload")
    axes.set_xlabel("seconds (shaded: CUBIC competes)")
    axes.legend(loc="upper right", bbox_to_anchor=(0.95, 1))
    figure.tight_layout()
    return figure


def _queue(experiment: Experiment, result: dict[str, Any], runs: Sequence[Run]) -> Figure:
    """Queueing delay per contender."""
    colours = {"dalbe_cdg": BLUE, "cubic": VERMILLION, "bwlimit": GREEN, "infeasible": PURPLE}
    figure, panels = plt.subplots(
        len(runs), 1, figsize=(10, 1.7 * len(runs)), sharex=True, sharey=True, squeeze=False
    )
    for axes, run in zip(panels[:, 0], runs, strict=True):
        row = result[run.name]
        axes.plot(run.queue["t_s"], run.queue["queue_ms"], color=colours[run.name], linewidth=0.9)
        _shade(axes, run)
        _deadline(axes, row["deadline_s"], label=run is runs[0])
        alone, busy = row["queue_ms_alone"], row["queue_ms_contended"]
        said = ", ".join(
            f"{value:.0f} ms {when}"
            for value, when in ((alone, "alone"), (busy, "contended"))
            if value is not None
        )
        axes.set_title(f"{LABEL[run.name]}: {said}")
        axes.set_ylabel("ms")
        axes.set_ylim(bottom=0)
        axes.set_xlim(0, experiment.duration_s + 10)
    panels[-1, 0].set_xlabel(
        "seconds (shaded: CUBIC competes); queueing delay at the bottleneck, "
        f"mean per {experiment.bin_s:g} s"
    )
    figure.tight_layout()
    return figure


def demo(
    experiment: Experiment, result: dict[str, Any], runs: Sequence[Run], out: Path
) -> list[Path]:
    """Draw the pictures of one seed into `out`; returns their paths.

    result: what demo.summarise() made of these runs. Without a trace of the module (an experiment
    without dalbe_cdg) control.png and target.png are not drawn.
    """
    order = [*CONTENDERS, INFEASIBLE]
    runs = sorted(runs, key=lambda run: order.index(run.name))
    subject = next(run for run in runs if run.name == SUBJECT)
    written = []
    with mpl.rc_context(STYLE):
        figures = {"rates": _rates(experiment, result, runs)}
        if "w_ppm" in subject.control.columns:
            figures["control"] = _control(experiment, result, subject)
            figures["target"] = _target(experiment, result, subject)
        figures["queue"] = _queue(experiment, result, runs)
        for name, figure in figures.items():
            path = out / f"{name}.png"
            figure.savefig(path)
            plt.close(figure)
            written.append(path)
    return written
