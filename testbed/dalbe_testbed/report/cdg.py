# SPDX-License-Identifier: GPL-2.0-only
"""The pictures of the paper's report: Figures 2 and 3, Table I, ablations.

Where the paper states a value it is drawn over ours, as a hollow diamond.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from dalbe_testbed.papers import cdg as paper
from dalbe_testbed.papers.cdg import MODULES
from dalbe_testbed.plan.sweep import Point, Sweep, axis
from dalbe_testbed.report.charts import BLUE, SERIES, VERMILLION, Style, sheet
from dalbe_testbed.study import reproduction
from dalbe_testbed.study.reproduction import Curve
from dalbe_testbed.study.results import Results, g_ms
from dalbe_testbed.study.stats import Estimate

MODULE_COLOURS = dict(zip(MODULES, (BLUE, VERMILLION), strict=True))
PAPER: Style = {
    "marker": "D",
    "markerfacecolor": "none",
    "markeredgecolor": "black",
    "markersize": 8,
    "linestyle": "none",
    "zorder": 5,
}
SMOOTH_S = 1  # of Figure 2's lines, seconds


def share_over_time(out: Path, point: Point, seed: int) -> pl.DataFrame:
    """Return t_s and each flow's share of the link in percent, second by second, of a run.

    Of the run of `point` with `seed` under OUT. One row per second, one column per flow.
    """
    what = point.experiment
    flows = [flow.name for flow in what.flows]
    return (
        pl.read_parquet(out / point.directory / f"seed{seed}" / "rates.parquet")
        .filter(pl.col("flow").is_in(flows), pl.col("t_s") < what.duration_s)
        .group_by(pl.col("t_s") // SMOOTH_S * SMOOTH_S, "flow")
        .agg(percent=pl.col("sent_bytes").sum() * 800 / SMOOTH_S / what.link.rate_bps)
        .pivot("flow", index="t_s", values="percent")
        .sort("t_s")
    )


def box(shares: pl.DataFrame, flows: Iterable[str]) -> str:
    """Return Figure 2's box: mean, std, min and max of each flow over the second half, percent."""
    half = shares.tail(shares.height // 2)
    lines = [f"{'':7}{'mean':>6}{'std':>6}{'min':>6}{'max':>6}"]
    for flow in flows:
        values = half[flow]
        numbers: list[Any] = [values.mean(), values.std(), values.min(), values.max()]
        lines.append(f"{flow:7}" + "".join(f"{number:6.1f}" for number in numbers))
    return "\n".join(lines)


def figure_2(results: Results, module: str, path: Path) -> None:
    """Draw Figure 2: each flow's share over time, a panel per G, of the first seed there is."""
    points = reproduction.figure_2_points(results, module)
    with sheet(path, len(points), 1, size=(10, 2.6 * len(points)), sharex=True) as (figure, panels):
        for axes, point in zip(panels[:, 0], points, strict=True):
            first = results.at(point).rows[0]
            shares = share_over_time(results.out, point, first["seed"])
            flows = [flow.name for flow in point.experiment.flows]
            for flow, (colour, _marker) in zip(flows, SERIES, strict=False):
                axes.plot(shares["t_s"], shares[flow], color=colour, linewidth=0.9, label=flow)
            axes.text(
                0.99,
                0.96,
                box(shares, flows),
                transform=axes.transAxes,
                ha="right",
                va="top",
                family="monospace",
                fontsize=7.5,
                bbox={"facecolor": "white", "edgecolor": "#888888", "alpha": 0.85},
            )
            axes.set(
                title=f"G = {g_ms(point):g} ms: both {MODULES[module]} flows "
                f"{first['both_percent']:.0f} % of the link over the second half",
                ylabel="share, %",
                ylim=(0, 100),
                xlim=(0, point.experiment.duration_s),
            )
        panels[-1, 0].set_xlabel("seconds")
        legend = panels[0, 0].get_legend_handles_labels()
        figure.legend(*legend, loc="lower center", ncols=4, bbox_to_anchor=(0.5, -0.03))


def _draw_curve(axes: Axes, curve: Curve, places: dict[float, int], series: int) -> None:
    colour, marker = SERIES[series % len(SERIES)]
    shares = [(np.mean(both), min(both), max(both)) for both in curve.shares.values()]
    means, low, high = np.array(shares).T
    axes.errorbar(
        [places[g] for g in curve.shares],
        means,
        yerr=(means - low, high - means),
        color=colour,
        marker=marker,
        markersize=4,
        linewidth=1.3,
        capsize=2.5,
        label=", ".join(filter(None, (f"{curve.rtt_ms:g} ms", curve.others))),
    )
    known = paper.aggregates()
    stated = [(places[g], known[g, rtt]) for g, rtt in known if rtt == curve.rtt_ms and g in places]
    if stated:
        axes.plot(*zip(*stated, strict=True), **PAPER | {"markeredgecolor": colour})


def figure_3(curves: Sequence[Curve], path: Path) -> None:
    """Draw Figure 3: both CDG flows' share over G, a line per base RTT, a panel per module."""
    modules = list(dict.fromkeys(curve.module for curve in curves if curve.shares))
    if not modules:  # nothing was run
        return
    values = sorted({g for curve in curves for g in curve.shares})
    places = {g: index for index, g in enumerate(values)}
    rtts = sorted({curve.rtt_ms for curve in curves})
    size = (6.6 * len(modules), 5.2)
    with sheet(path, 1, len(modules), size=size, sharey=True) as (figure, [panels]):
        for axes, module in zip(panels, modules, strict=True):
            ours = [curve for curve in curves if curve.module == module and curve.shares]
            for curve in ours:
                _draw_curve(axes, curve, places, rtts.index(curve.rtt_ms))
            rising = sum(reproduction.verdict_of_curve(curve).met for curve in ours)
            name = MODULES.get(module, module)
            axes.set(
                title=f"{name}: {rising} of {len(ours)} curves without inversion",
                xlabel="G, ms (neither linear nor logarithmic, as in the paper)",
                ylim=(0, 60),
            )
            axes.set_xticks(range(len(values)), [f"{g:g}" for g in values], rotation=60)
        panels[0].set_ylabel("share of both CDG flows, % of the link")
        handles, labels = panels[0].get_legend_handles_labels()
        handles.append(Line2D([], [], **PAPER))
        labels.append("the paper's values")
        figure.legend(handles, labels, loc="lower center", ncols=8, bbox_to_anchor=(0.5, -0.07))


def table_1(results: Results, path: Path) -> None:
    """Draw Table I: the paper's values with their tolerance, and both modules with intervals."""
    found = reproduction.deviations(results, "Table I")
    titles = {"min": "one CDG flow at G = 0.1 ms", "max": "both CDG flows at G = 120 ms"}
    ring: Style = {"marker": "o", "fillstyle": "none"}
    within = "#EDEDED"
    with sheet(path, 1, 2, size=(11, 4.2)) as (figure, [panels]):
        for axes, (which, title) in zip(panels, titles.items(), strict=True):
            chosen = [it for it in found if it.which == which]
            rtts = list(dict.fromkeys(it.rtt_ms for it in chosen))
            for place, rtt in enumerate(rtts):
                row = [it for it in chosen if it.rtt_ms == rtt]
                allowed, percent = row[0].allowed, row[0].percent
                axes.bar(place, 2 * allowed, bottom=percent - allowed, width=0.7, color=within)
                axes.plot(place, percent, **PAPER)
                for shift, it in zip((-0.15, 0.15), row, strict=False):
                    colour = MODULE_COLOURS[it.module]
                    _interval(axes, place + shift, it.ours, colour)
                    if it.of_tcp is not None:
                        axes.plot(place + shift, it.of_tcp.mean, color=colour, **ring)
            held = [it.within for it in chosen]
            axes.set_xticks(range(len(rtts)), [f"{rtt:g}" for rtt in rtts])
            axes.set(
                title=f"{title}: {sum(held)} of {len(held)} within",
                xlabel="base RTT, ms",
                ylabel="share, %",
                ylim=(0, None),
            )
        handles = [
            *_keys((f"{name}, of the link", MODULE_COLOURS[m]) for m, name in MODULES.items()),
            Line2D([], [], color="#5c5c5c", label="of TCP's", linewidth=0, **ring),
            Line2D([], [], label="the paper", **PAPER),
            Patch(color=within, label="within 25 % or 2 points"),
        ]
        figure.legend(handles=handles, loc="lower center", ncols=5, bbox_to_anchor=(0.5, -0.07))


def _keys(series: Iterable[tuple[str, str]]) -> list[Line2D]:
    """Return the legend's keys of series, each with its label and colour."""
    return [Line2D([], [], color=colour, marker="o", label=label) for label, colour in series]


def _interval(axes: Axes, x: float, mean: Estimate | None, colour: str) -> None:
    """Draw a mean with its confidence interval, if there is one."""
    if mean is None:
        return
    low, high = (mean.mean if end is None else end for end in (mean.low, mean.high))
    style: Style = {
        "color": colour,
        "marker": "o",
        "markersize": 4.5,
        "capsize": 3,
        "linewidth": 1.4,
    }
    axes.errorbar(x, mean.mean, yerr=[[mean.mean - low], [high - mean.mean]], **style)


def ablation(results: Results, sweep: Sweep, path: Path) -> None:
    """Draw an ablation: both CDG flows' share with its interval, per G and variant."""
    assert sweep.vary is not None
    values = list(dict.fromkeys(point.values[sweep.vary] for point in sweep.points))
    gs = sorted({g_ms(point) or 0 for point in sweep.points})
    colours = [SERIES[number % len(SERIES)][0] for number in range(len(values))]
    width = 0.6 / max(1, len(values) - 1)
    with sheet(path, size=(8, 4)) as (_figure, [[axes]]):
        for point in sweep.points:
            number = values.index(point.values[sweep.vary])
            x = gs.index(g_ms(point) or 0) + (number - (len(values) - 1) / 2) * width
            _interval(axes, x, results.at(point).mean("both_percent"), colours[number])
        top = reproduction.largest(reproduction.effects(results, sweep))
        finding = str(top) if top else f"{sweep.title}: no effect beyond the intervals"
        axes.set_xticks(range(len(gs)), [f"{g:g}" for g in gs])
        axes.set(
            xlim=(-0.6, len(gs) - 0.4),
            ylim=(0, None),
            xlabel="G, ms",
            ylabel="share of both CDG flows, %",
            title=finding[0].upper() + finding[1:],
        )
        said = map(axis(sweep.vary).say, values)
        axes.legend(handles=_keys(zip(said, colours, strict=True)), loc="upper left")
