# SPDX-License-Identifier: GPL-2.0-only
"""The demo's pictures: each has its finding as its title."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.patches import Patch

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
    VERMILLION,
    Style,
    sheet,
)
from dalbe_testbed.study.demo import CONTENDERS, FILE, INFEASIBLE, SUBJECT, cross_flows
from dalbe_testbed.study.results import Window
from dalbe_testbed.study.shares import GUARD_S

SECONDS = "seconds (shaded: CUBIC competes)"
SHARED: Style = {"sharex": True, "sharey": True}
REGIME = {1: "alone", 2: "yielding", 3: "contended"}  # DALBE_REGIME_*
LABEL = {
    "dalbe_cdg": "dalbe_cdg under a goal",
    "cubic": "plain CUBIC",
    "bwlimit": "rsync --bwlimit",
    "infeasible": "dalbe_cdg, impossible goal",
}


def _busy(run: Run) -> list[Window]:
    """Merge the cross flows' times into phases in which something competes."""
    merged: list[Window] = []
    for flow in sorted(cross_flows(run).values(), key=lambda item: item.start_s):
        if merged and flow.start_s <= merged[-1].end_s:
            last = merged.pop()
            merged.append(Window(last.start_s, max(last.end_s, flow.end_s)))
        else:
            merged.append(flow)
    return merged


def _over_time(
    axes: Axes, experiment: Experiment, run: Run, result: dict[str, Any], *, label: bool = True
) -> None:
    """Shade the times in which something competes, and mark the deadline."""
    for phase in _busy(run):
        axes.axvspan(phase.start_s, phase.end_s, color=BUSY, zorder=-10, linewidth=0)
    _deadline(axes, result[run.name]["deadline_s"], label=label)
    axes.set_xlim(0, experiment.duration_s + 10)


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


def _finding(name: str, row: dict[str, Any]) -> str:
    """Say in a line what a contender's panel shows."""
    share = row["share_contended"]
    percent = "-" if share is None else f"{share * 100:.0f} %"
    took = f"{percent} of the link while CUBIC competed"
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


def _rates(experiment: Experiment, result: dict[str, Any], runs: Sequence[Run], path: Path) -> None:
    """One panel per contender: who had how much of the link, stacked."""
    capacity = experiment.link.rate_mbps
    end_s = max(float(run.rates["t_s"].max()) for run in runs)  # type: ignore[arg-type]
    window = max(1, round(1 / experiment.bin_s))
    size = (10, 2.35 * len(runs))
    with sheet(path, len(runs), 1, size=size, **SHARED) as (figure, panels):
        for axes, run in zip(panels[:, 0], runs, strict=True):
            wide = run.rates.pivot("flow", index="t_s", values="rate_bps").sort("t_s")
            cross = list(cross_flows(run))
            names = [name for name in (FILE, *cross, "background") if name in wide.columns]
            smooth = [wide[name].rolling_mean(window, min_samples=1, center=True) for name in names]
            shades = [VERMILLION, ORANGE] * len(cross)
            colours = [BLUE, *shades[: len(cross)], GREY][: len(names)]
            axes.stackplot(wide["t_s"], [it / 1e6 for it in smooth], colors=colours, linewidth=0)
            for phase in _busy(run):  # a strip on top: the stack would hide a shade
                strip: Style = {"left": phase.start_s, "height": capacity * 0.05, "color": STRIP}
                axes.barh(capacity * 1.06, phase.length_s, **strip)
            _deadline(axes, result[run.name]["deadline_s"])
            axes.set(
                title=_finding(run.name, result[run.name]),
                ylim=(0, capacity * 1.1),
                xlim=(0, end_s),
                ylabel="Mbit/s",
            )
        handles = [
            Patch(color=BLUE, label="the file"),
            Patch(facecolor=VERMILLION, edgecolor=ORANGE, hatch="//", label="CUBIC flows"),
            Patch(color=GREY, label="D-ITG background"),
            Patch(color=STRIP, label="CUBIC competes"),
        ]
        figure.legend(handles=handles, loc="lower center", ncols=4, bbox_to_anchor=(0.5, -0.04))
        panels[-1, 0].set_xlabel("seconds")
        figure.align_ylabels()


def _control(experiment: Experiment, result: dict[str, Any], run: Run, path: Path) -> None:
    """w of the transfer under a goal, and its regime; without regimes, its G."""
    trace = run.control.filter(pl.col("t_s") >= 0, flow=FILE)
    weight = trace["w_ppm"] / 1e6
    lowest, highest = float(weight.min()), float(weight.max())  # type: ignore[arg-type]
    line: Style = {"where": "post", "color": GREEN, "linewidth": 1.6}
    with sheet(path, 2, 1, size=(10, 5), sharex=True) as (figure, [[upper], [lower]]):
        upper.step(trace["t_s"], weight, **line | {"color": BLUE})
        upper.set(ylabel="weight w", ylim=(-0.02, 1.05))
        upper.set_title(f"w went from {lowest:.2g} up to {highest:.2g}")
        if "regime" in trace.columns and trace["regime"].max():
            lower.step(trace["t_s"], trace["regime"], **line)
            lower.set_yticks(list(REGIME), REGIME.values())
        else:
            lower.step(trace["t_s"], trace["g_ns"] / 1e6, **line)
            lower.set(yscale="log", ylabel="G, ms")
        lower.set_xlabel(SECONDS)
        for axes in (upper, lower):
            _over_time(axes, experiment, run, result, label=axes is upper)
        figure.align_ylabels()


def _pursuit(trace: pl.DataFrame, run: Run) -> str:
    """Say what the deadline asked for, and what the flow took, while CUBIC competed."""
    busy = pl.lit(value=False)
    for phase in _busy(run):
        busy |= pl.col("t_s").is_between(phase.start_s + GUARD_S, phase.end_s)
    rows = trace.filter(busy)
    if rows.is_empty():
        return "Done before anything competed"
    asked, took = rows.select(pl.col("target_Bps", "rate_Bps").mean() * 8 / 1e6).row(0)
    return f"While CUBIC competed the deadline asked for {asked:.1f} Mbit/s; taken: {took:.1f}"


def _target(experiment: Experiment, result: dict[str, Any], run: Run, path: Path) -> None:
    """The rate that the deadline needs, and the rate there was."""
    trace = run.control.filter(pl.col("t_s") >= 0, flow=FILE)
    lines: dict[str, Style] = {
        "rate_Bps": {"color": SKY, "linewidth": 1.2, "label": "measured by the module"},
        "target_Bps": {
            "color": VERMILLION,
            "linewidth": 2,
            "label": "target: bytes left / time left",
        },
    }
    with sheet(path, size=(10, 3.6)) as (_figure, [[axes]]):
        for name, style in lines.items():
            axes.step(trace["t_s"], trace[name] * 8 / 1e6, where="post", **style)
        _over_time(axes, experiment, run, result)
        axes.set(
            title=_pursuit(trace, run),
            ylim=(0, experiment.link.rate_mbps),
            ylabel="Mbit/s of payload",
            xlabel=SECONDS,
        )
        axes.legend(loc="upper right", bbox_to_anchor=(0.95, 1))


def _queue(experiment: Experiment, result: dict[str, Any], runs: Sequence[Run], path: Path) -> None:
    """Queueing delay per contender."""
    colours = {"dalbe_cdg": BLUE, "cubic": VERMILLION, "bwlimit": GREEN, "infeasible": PURPLE}
    size = (10, 1.7 * len(runs))
    with sheet(path, len(runs), 1, size=size, **SHARED) as (_figure, panels):
        for axes, run in zip(panels[:, 0], runs, strict=True):
            row, queue = result[run.name], run.queue
            axes.plot(queue["t_s"], queue["queue_ms"], color=colours[run.name], linewidth=0.9)
            _over_time(axes, experiment, run, result, label=run is runs[0])
            delays = {"alone": row["queue_ms_alone"], "contended": row["queue_ms_contended"]}
            said = [f"{ms:.0f} ms {when}" for when, ms in delays.items() if ms is not None]
            axes.set(title=f"{LABEL[run.name]}: {', '.join(said)}", ylabel="ms", ylim=(0, None))
        panels[-1, 0].set_xlabel(
            f"{SECONDS}; queueing delay at the bottleneck, mean per {experiment.bin_s:g} s"
        )


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
    _rates(experiment, result, runs, out / "rates.png")
    _queue(experiment, result, runs, out / "queue.png")
    written = [out / "rates.png", out / "queue.png"]
    if "w_ppm" in subject.control.columns:
        _control(experiment, result, subject, out / "control.png")
        _target(experiment, result, subject, out / "target.png")
        written += [out / "control.png", out / "target.png"]
    return written
