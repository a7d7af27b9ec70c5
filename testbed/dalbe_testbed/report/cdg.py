# SPDX-License-Identifier: GPL-2.0-only
"""The pictures of the paper's report: Figures 2 and 3, Table I, ablations.

Where the paper states a value it is drawn over ours, as a hollow diamond.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import polars as pl
from matplotlib.axes import Axes

from dalbe_testbed.papers import cdg as paper
from dalbe_testbed.papers.cdg import MODULES
from dalbe_testbed.plan.sweep import Point, Sweep, axis
from dalbe_testbed.report.charts import BLUE, SERIES, VERMILLION, sheet
from dalbe_testbed.study import reproduction
from dalbe_testbed.study.reproduction import Curve
from dalbe_testbed.study.results import Results, Shares, g_ms
from dalbe_testbed.study.stats import Estimate

MODULE_COLOURS = dict(zip(MODULES, (BLUE, VERMILLION), strict=True))
PAPER: dict[str, Any] = {
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
    rates = pl.read_parquet(out / point.directory / f"seed{seed}" / "rates.parquet")
    link_bps = point.experiment.link.rate_bps
    return (
        rates.filter(pl.col("flow").is_in([flow.name for flow in point.experiment.flows]))
        .filter(pl.col("t_s") < point.experiment.duration_s)
        .with_columns((pl.col("t_s") // SMOOTH_S * SMOOTH_S).alias("t_s"))
        .group_by("t_s", "flow")
        .agg((pl.col("sent_bytes").sum() * 800 / SMOOTH_S / link_bps).alias("percent"))
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
            name = results.runs.filter(point=point.name, experiment=point.experiment.name)
            shares = share_over_time(results.out, point, int(name["seed"].min()))  # type: ignore[arg-type]
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
            measured = results.shares[point.directory]
            axes.set_title(
                f"G = {g_ms(point):g} ms: both {MODULES[module]} flows "
                f"{measured.both[0]:.0f} % of the link over the second half"
            )
            axes.set_ylabel("share, %")
            axes.set_ylim(0, 100)
            axes.set_xlim(0, point.experiment.duration_s)
        panels[-1, 0].set_xlabel("seconds")
        figure.legend(
            *panels[0, 0].get_legend_handles_labels(),
            loc="lower center",
            ncols=4,
            bbox_to_anchor=(0.5, -0.03),
        )


def _draw_curve(axes: Axes, curve: Curve, places: dict[float, int], series: int) -> None:
    colour, marker = SERIES[series % len(SERIES)]
    x = [places[g] for g in curve.g_ms]
    means = [estimate.mean for estimate in curve.estimates]
    below = [mean - min(s.both) for mean, s in zip(means, curve.points, strict=True)]
    above = [max(s.both) - mean for mean, s in zip(means, curve.points, strict=True)]
    axes.errorbar(
        x,
        means,
        yerr=(below, above),
        color=colour,
        marker=marker,
        markersize=4,
        linewidth=1.3,
        capsize=2.5,
        label=", ".join(filter(None, (f"{curve.rtt_ms:g} ms", curve.others))),
    )
    known = paper.aggregates()
    stated = [(places[g], known[rtt, g]) for rtt, g in known if rtt == curve.rtt_ms and g in places]
    if stated:
        axes.plot(*zip(*stated, strict=True), **PAPER | {"markeredgecolor": colour})


def figure_3(curves: Sequence[Curve], path: Path) -> None:
    """Draw Figure 3: both CDG flows' share over G, a line per base RTT, a panel per module."""
    modules = list(dict.fromkeys(curve.module for curve in curves if curve.points))
    if not modules:  # nothing was run
        return
    values = sorted({g for curve in curves for g in curve.g_ms})
    places = {g: index for index, g in enumerate(values)}
    rtts = sorted({curve.rtt_ms for curve in curves})
    with sheet(path, 1, len(modules), size=(6.6 * len(modules), 5.2), sharey=True) as (
        figure,
        panels,
    ):
        for axes, module in zip(panels[0], modules, strict=True):
            ours = [curve for curve in curves if curve.module == module and curve.points]
            for curve in ours:
                _draw_curve(axes, curve, places, rtts.index(curve.rtt_ms))
            rising = sum(reproduction.verdict_of_curve(curve).met for curve in ours)
            axes.set_title(
                f"{MODULES.get(module, module)}: {rising} of {len(ours)} curves without inversion"
            )
            axes.set_xticks(range(len(values)), [f"{g:g}" for g in values], rotation=60)
            axes.set_xlabel("G, ms (neither linear nor logarithmic, as in the paper)")
            axes.set_ylim(0, 60)
        panels[0, 0].set_ylabel("share of both CDG flows, % of the link")
        handles, labels = panels[0, 0].get_legend_handles_labels()
        handles.append(mpl.lines.Line2D([], [], **PAPER))
        labels.append("the paper's values")
        figure.legend(handles, labels, loc="lower center", ncols=8, bbox_to_anchor=(0.5, -0.07))


def table_1(results: Results, path: Path) -> None:
    """Draw Table I: the paper's values with their tolerance, and both modules with intervals."""
    rows = reproduction.table_1(results)
    titles = {"min": "one CDG flow at G = 0.1 ms", "max": "both CDG flows at G = 120 ms"}
    with sheet(path, 1, 2, size=(11, 4.2)) as (figure, [panels]):
        for axes, (which, title) in zip(panels, titles.items(), strict=True):
            chosen = [(bound, row) for bound, row in rows if bound.which == which]
            for place, (bound, row) in enumerate(chosen):
                allowed = paper.tolerance_points(bound.percent)
                axes.bar(
                    place, 2 * allowed, bottom=bound.percent - allowed, width=0.7, color="#EDEDED"
                )
                axes.plot(place, bound.percent, **PAPER)
                for shift, (module, deviation) in zip((-0.15, 0.15), row.items(), strict=False):
                    if deviation.ours is not None:
                        _interval(axes, place + shift, deviation.ours, MODULE_COLOURS[module])
                    if deviation.of_tcp is not None:
                        axes.plot(
                            place + shift,
                            deviation.of_tcp.mean,
                            marker="o",
                            fillstyle="none",
                            color=MODULE_COLOURS[module],
                        )
            held = [deviation.within for _bound, row in chosen for deviation in row.values()]
            axes.set_title(f"{title}: {sum(held)} of {len(held)} within")
            labels = [f"{bound.rtt_ms}" for bound, _row in chosen]
            axes.set_xticks(range(len(chosen)), labels)
            axes.set_xlabel("base RTT, ms")
            axes.set_ylabel("share, %")
            axes.set_ylim(bottom=0)
        handles = [
            *(
                mpl.lines.Line2D(
                    [], [], color=MODULE_COLOURS[m], marker="o", label=f"{name}, of the link"
                )
                for m, name in MODULES.items()
            ),
            mpl.lines.Line2D(
                [], [], color="#5c5c5c", marker="o", fillstyle="none", linewidth=0, label="of TCP's"
            ),
            mpl.lines.Line2D([], [], label="the paper", **PAPER),
            mpl.patches.Patch(color="#EDEDED", label="within 25 % or 2 points"),
        ]
        figure.legend(handles=handles, loc="lower center", ncols=5, bbox_to_anchor=(0.5, -0.07))


def _bars(estimate: Estimate) -> list[list[float]]:
    """Return a mean's distances to the ends of its interval, as errorbar() wants them."""
    if estimate.low is None or estimate.high is None:
        return [[0.0], [0.0]]
    return [[estimate.mean - estimate.low], [estimate.high - estimate.mean]]


def _interval(axes: Axes, x: float, estimate: Estimate, colour: str) -> None:
    """Draw a mean with its confidence interval."""
    axes.errorbar(
        x,
        estimate.mean,
        yerr=_bars(estimate),
        color=colour,
        marker="o",
        markersize=4.5,
        capsize=3,
        linewidth=1.4,
    )


def ablation(results: Results, sweep: Sweep, path: Path) -> None:
    """Draw an ablation: both CDG flows' share with its interval, per G and variant."""
    assert sweep.vary is not None
    shares: list[Shares | None] = [results.shares.get(p.directory) for p in sweep.points]
    values = list(dict.fromkeys(point.values[sweep.vary] for point in sweep.points))
    gs = sorted({g_ms(point) or 0 for point in sweep.points})
    width = 0.6 / max(1, len(values) - 1)
    with sheet(path, size=(8, 4)) as (_figure, [[axes]]):
        for point, measured in zip(sweep.points, shares, strict=True):
            if measured is None:
                continue
            number = values.index(point.values[sweep.vary])
            shift = (number - (len(values) - 1) / 2) * width
            colour = SERIES[number % len(SERIES)][0]
            _interval(axes, gs.index(g_ms(point) or 0) + shift, measured.estimate("both"), colour)
        axes.set_xticks(range(len(gs)), [f"{g:g}" for g in gs])
        axes.set_xlim(-0.6, len(gs) - 0.4)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("G, ms")
        axes.set_ylabel("share of both CDG flows, %")
        found = reproduction.effects(results, sweep)
        top = reproduction.largest(found)
        finding = str(top) if top else f"{sweep.title}: no effect beyond the intervals"
        axes.set_title(finding[0].upper() + finding[1:])
        handles = [
            mpl.lines.Line2D(
                [],
                [],
                color=SERIES[number % len(SERIES)][0],
                marker="o",
                label=axis(sweep.vary).say(value),
            )
            for number, value in enumerate(values)
        ]
        axes.legend(handles=handles, loc="upper left")
