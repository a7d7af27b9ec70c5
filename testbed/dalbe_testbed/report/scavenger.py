# SPDX-License-Identifier: GPL-2.0-only
"""The pictures of a scavenger's report. Each is drawn from a finding's tables alone."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
from matplotlib.ticker import LogLocator

from dalbe_testbed.report.charts import BLUE, REQUIRED, SERIES, bars, means, sheet
from dalbe_testbed.study.breadth import SHARE_PERCENT, USE_PERCENT
from dalbe_testbed.study.completion import NOBODY
from dalbe_testbed.study.dynamics import (
    BACK_PERCENT,
    BACK_RTTS,
    BACK_S,
    WITHIN_RTTS,
    YIELDED_PERCENT,
)
from dalbe_testbed.study.engine import Finding
from dalbe_testbed.study.fairness import JAIN, LATE_PERCENT
from dalbe_testbed.study.fairness import USE_PERCENT as USE_OF_ALL
from dalbe_testbed.study.impairments import HARM_PERCENT as HARM
from dalbe_testbed.study.impairments import SHARE_PERCENT as IMPAIRED_SHARE
from dalbe_testbed.study.tradeoff import CORNER, YARDSTICK
from dalbe_testbed.study.tradeoff import SHARE_PERCENT as SMOOTH_SHARE
from dalbe_testbed.study.tradeoff import USE_PERCENT as SMOOTH_USE
from dalbe_testbed.study.voice import FAST_MBPS, FAST_MS, SLOW_MBPS, SLOW_MS

OTHERS = SERIES[1:]  # the first is ours


def _ladder_labels(ladder: Sequence[tuple[float, float]]) -> list[tuple[float, str]]:
    """Return where to write which weights, from (share, w); close ones have one label."""
    groups: list[list[tuple[float, float]]] = []
    for share, w in ladder:
        if groups and share < 1.25 * groups[-1][0][0]:
            groups[-1].append((share, w))
        else:
            groups.append([(share, w)])
    return [
        (group[0][0], " to ".join(f"{w:g}" for _, w in group[:: max(1, len(group) - 1)]))
        for group in groups
    ]


def tradeoff(found: Finding, path: Path) -> None:
    """Draw use of an idle link over the share taken from others: our curve over w, peers as points.

    The corner, a strict-priority scheduler, is off the left end of the logarithmic axis: drawn
    at that end with its figures beside it, or with those of theory if it was not run.
    """
    rows = found.summary
    ours = rows.filter(pl.col("w").is_not_null()).sort("w")
    with sheet(path, size=(9, 5)) as (_figure, [[axes]]):
        corner = rows.filter(who=CORNER)
        rows = rows.filter(pl.col("who") != CORNER)
        peers = rows.filter(pl.col("w").is_null())["who"].to_list()
        for row in rows.iter_slices(1):
            name, mine = row.item(0, "who"), row.item(0, "w") is not None
            number = None if mine else peers.index(name)
            colour, marker = SERIES[0] if number is None else OTHERS[number % len(OTHERS)]
            means(
                axes,
                row["share_percent"],
                row,
                "use_percent",
                xerr=bars(row, "share_percent"),
                color=colour,
                marker=marker,
                markerfacecolor="none" if number and number >= len(OTHERS) else colour,
                markersize=6,
                capsize=2,
                label=None if mine else name.replace("-g", ", G = "),
            )
        axes.plot(
            ours["share_percent"],
            ours["use_percent"],
            color=BLUE,
            linewidth=1.2,
            label="dalbe_cdg at weight w",
        )
        for place, text in _ladder_labels(list(ours.select("share_percent", "w").iter_rows())):
            axes.text(place, 95, f"w = {text}", color=BLUE, ha="center", va="top", fontsize=9)
        axes.set_xscale("log")
        axes.set_xlim(1, 100)
        axes.set_ylim(0, 108)
        axes.xaxis.set_major_formatter("{x:g}")
        limit = "strict priority: 0 %, 100 %"
        for share, use in corner.select("share_percent", "use_percent").iter_rows():
            limit = f"strict priority: {share:.1f} %, {use:.0f} %"
            axes.plot(max(1, share), use, color="black", marker="<", markersize=7, clip_on=False)
        axes.annotate(limit, (1, 100), xytext=(1.04, 102.5), fontsize=9, style="italic")
        axes.set_xlabel("share taken from two CUBIC flows, %")
        axes.set_ylabel(f"use of an idle link, % of {YARDSTICK.upper()}'s")
        axes.set_title("w decides what is taken from others; what is idle is used whatever w")
        axes.legend(loc="lower right")


def tuning(found: Finding, path: Path) -> None:
    """Draw the share over w, a line per base RTT; at the right the share of CUBIC flows."""
    rows = found.summary.sort("w", nulls_last=True)
    weights = rows["w"].drop_nulls().unique()
    beside = float(weights.max() or 1) * 1.8  # type: ignore[arg-type]
    with sheet(path, size=(8, 4.5)) as (_figure, [[axes]]):
        rtts = rows["rtt"].unique().sort()
        for number, (rtt, (colour, marker)) in enumerate(zip(rtts, SERIES, strict=False)):
            here = rows.filter(rtt=rtt)
            ours, theirs = here.filter(pl.col("w").is_not_null()), here.filter(who=YARDSTICK)
            style: dict[str, Any] = {"color": colour, "marker": marker, "capsize": 2}
            line = style | {"linewidth": 1.2, "linestyle": "-", "label": f"{rtt:g} ms"}
            means(axes, ours["w"], ours, "share_percent", **line)
            side_by_side = [beside * 1.06 ** (number - (len(rtts) - 1) / 2)] * theirs.height
            means(axes, side_by_side, theirs, "share_percent", markerfacecolor="none", **style)
        axes.axhline(50, color="black", linewidth=0.8, linestyle=":")
        axes.set_xscale("log")
        axes.set_xticks([*weights, beside], [*(f"{w:g}" for w in weights), "CUBIC"])
        axes.minorticks_off()
        axes.set_ylim(0, 60)
        axes.set_xlabel("weight w of two flows; CUBIC flows in their place")
        axes.set_ylabel("share taken from two CUBIC flows, %")
        ends = rows.filter(pl.col("w").is_in([weights.min(), weights.max()]))
        said = [
            f"{min(shares):.1f} to {max(shares):.1f} % at w = {w:g}"
            for (w,), end in ends.group_by("w", maintain_order=True)
            for shares in [end["share_percent"].to_list()]
        ]
        axes.set_title("Two flows take " + ", ".join(said))
        axes.legend(loc="upper left", title="base RTT")


def breadth(found: Finding, path: Path) -> None:
    """Draw a point per cell: use over share, and both over the BDP; what fails has its name."""
    rows = found.summary.drop_nulls(["use_percent", "share_percent"])
    bdp = ("bdp_packets", "bandwidth-delay product, packets", None)
    use = ("use_percent", f"use of the idle link, % of {YARDSTICK.upper()}'s", USE_PERCENT)
    share = ("share_percent", "share taken, %", SHARE_PERCENT)
    with sheet(path, 1, 3, size=(15, 5)) as (_figure, [panels]):
        for axes, (x, y) in zip(panels, ((share, use), (bdp, share), (bdp, use)), strict=True):
            kinds = rows["flows.xsender.cc"].unique().sort()
            for kind, (colour, marker) in zip(kinds, SERIES, strict=False):
                here = rows.filter(pl.col("flows.xsender.cc") == kind)
                axes.scatter(here[x[0]], here[y[0]], color=colour, marker=marker, s=22, label=kind)
            failed = rows.filter(~pl.col("met")).select("cell", x[0], y[0])
            for name, *place in failed.iter_rows():
                axes.annotate(name, place, xytext=(4, 3), textcoords="offset points", fontsize=7.5)
            axes.axhline(y[2], **REQUIRED)
            if x is bdp:
                axes.set_xscale("log")
            else:
                axes.axvline(x[2], **REQUIRED)
            axes.set_xlabel(x[1])
            axes.set_ylabel(y[1])
        held = found.summary["met"].sum()
        panels[0].set_title(f"{held} of {found.summary.height} cells are on the good side of both")
        panels[0].legend(title="competitors")


def dynamics(found: Finding, path: Path) -> None:
    """Draw what ours had since an arrival and since a departure, a row per base RTT.

    The median of the runs in a band that holds 80 % of them; the corner, if it was run, in black.
    """
    curves = found.curves
    events = {
        "arrival": ("share of all bytes, %", YIELDED_PERCENT),
        "departure": ("part of the link, %", BACK_PERCENT),
    }
    rtts = curves["rtt_ms"].unique().sort()
    with sheet(path, len(rtts), 2, size=(11, 2.5 * len(rtts)), sharey=True) as (_figure, panels):
        for row, rtt in zip(panels, rtts, strict=True):
            due_s = {
                "arrival": WITHIN_RTTS * rtt / 1e3,
                "departure": BACK_S + BACK_RTTS * rtt / 1e3,
            }
            for axes, (event, (label, limit)) in zip(row, events.items(), strict=True):
                here = curves.filter(rtt_ms=rtt, event=event)
                for who in here["who"].unique(maintain_order=True):
                    one = here.filter(who=who)
                    colour = "black" if who == CORNER else BLUE
                    axes.plot(one["t_s"], one["median_percent"], color=colour, label=who)
                    axes.fill_between(
                        one["t_s"],
                        one["p10_percent"],
                        one["p90_percent"],
                        color=colour,
                        alpha=0.2,
                        linewidth=0,
                    )
                axes.axhline(limit, color="black", linewidth=0.8, linestyle="--")
                axes.axvline(due_s[event], color="black", linewidth=0.8, linestyle="--")
                axes.set_ylim(0, 100)
                axes.set_ylabel(label)
                axes.set_title(f"{event}, base RTT {rtt:g} ms")
        for axes, event in zip(panels[-1], events, strict=True):
            axes.set_xlabel(f"seconds since the {event}; dashed: what is required")
        panels[0, 0].legend()


def fairness(found: Finding, path: Path) -> None:
    """Draw use, Jain's index and the latecomer's advantage over the number of flows."""
    measures = {
        "use_percent": (f"use, % of a {YARDSTICK.upper()} flow's", [USE_OF_ALL]),
        "jain": ("Jain's index of all flows", [JAIN]),
        "late_percent": ("latecomer above the others' mean, %", [-LATE_PERCENT, LATE_PERCENT]),
    }
    ours = found.summary.filter(pl.col("w").is_not_null()).sort("flows")
    runs = found.runs.filter(pl.col("w").is_not_null())
    counts = ours["flows"].to_list()
    with sheet(path, 1, len(measures), size=(13, 4)) as (_figure, [panels]):
        for axes, (name, (label, limits)) in zip(panels, measures.items(), strict=True):
            each, there = runs.drop_nulls(name), ours.drop_nulls(name)
            places = [counts.index(count) for count in each["flows"]]
            axes.scatter(places, each[name], color=BLUE, s=12, alpha=0.4)
            beside = [counts.index(count) + 0.15 for count in there["flows"]]
            means(axes, beside, there, name, color=BLUE, marker="o")
            for limit in limits:
                axes.axhline(limit, **REQUIRED)
            axes.set_xticks(range(len(counts)), [str(count) for count in counts])
            axes.set_xlim(-0.5, len(counts) - 0.5)
            axes.set_xlabel("flows of ours; dots are runs, dashed what is required")
            axes.set_ylabel(label)


def impairments(found: Finding, path: Path) -> None:
    """Draw goodput alone, share taken and the others' goodput on every path, ours beside peers.

    Black is strict priority; dashed below it, what ours must leave to the others; at the bottom, by
    how much these have more or less beside ours.
    """
    rows = found.summary
    paths = rows["impairment"].unique(maintain_order=True).to_list()
    flows = rows["who"].unique(maintain_order=True).to_list()
    panels_of = {
        "alone_mbps": "goodput while alone, Mbit/s",
        "share_percent": "share taken from two CUBIC flows, %",
        "others_mbps": "goodput of these two CUBIC flows, Mbit/s",
    }
    with sheet(path, 1, 3, size=(15, 5)) as (_figure, [panels]):
        for axes, (name, label) in zip(panels, panels_of.items(), strict=True):
            for number, (who, (colour, marker)) in enumerate(zip(flows, SERIES, strict=False)):
                here = rows.filter(who=who).drop_nulls(name)
                means(
                    axes,
                    [paths.index(it) + 0.15 * number for it in here["impairment"]],
                    here,
                    name,
                    color="black" if who == CORNER else colour,
                    marker=marker,
                    label=who,
                )
            axes.set_xticks(range(len(paths)), paths, rotation=45)
            axes.set_ylim(bottom=0)
            axes.set_ylabel(label)
        _alone, shares, others = panels
        shares.axhline(IMPAIRED_SHARE, **REQUIRED)
        shares.set_xlabel("dashed: required")
        for row in rows.filter(who=CORNER).iter_rows(named=True):
            place, least = paths.index(row["impairment"]), row["others_mbps"] * (1 - HARM / 100)
            others.plot([place - 0.3, place + 0.6], [least] * 2, color="black", linestyle="--")
        for row in rows.filter(pl.col("w").is_not_null()).iter_rows(named=True):
            if (harm := row["harm_percent"]) is not None:
                place = paths.index(row["impairment"])
                others.text(place, 0.1, f"{-harm:+.1f} %", color=BLUE, fontsize=8, ha="center")
        others.set_xlabel("dashed: required; numbers: against strict priority")
        panels[0].legend()


def stalls(found: Finding, path: Path) -> None:
    """Draw use of an idle link, relative to CUBIC's, and share taken, where something is late."""
    rows = found.summary.drop_nulls("w")
    late = rows["late"].unique(maintain_order=True).to_list()
    paths = rows["path"].unique(maintain_order=True).to_list()
    panels_of = {
        "use_percent": (f"use of the idle link, % of {YARDSTICK.upper()}'s", SMOOTH_USE),
        "share_percent": ("share taken from a CUBIC flow, %", SMOOTH_SHARE),
    }
    with sheet(path, 1, 2, size=(13, 5)) as (_figure, [panels]):
        for axes, (name, (label, bar)) in zip(panels, panels_of.items(), strict=True):
            for number, (one, (colour, marker)) in enumerate(zip(paths, SERIES, strict=False)):
                here = rows.filter(path=one).drop_nulls(name)
                means(
                    axes,
                    [late.index(it) + 0.12 * number - 0.24 for it in here["late"]],
                    here,
                    name,
                    color=colour,
                    marker=marker,
                    label=one,
                )
            axes.axhline(bar, **REQUIRED)
            axes.set_xticks(range(len(late)), late, rotation=45, ha="right")
            axes.set_ylim(bottom=0)
            axes.set_ylabel(label)
        panels[1].set_xlabel("dashed: required")
        panels[0].legend()


def completion(found: Finding, path: Path) -> None:
    """Draw how many short flows are done within a time, a panel per load."""
    curves = found.curves
    loads = curves["short_flows.load"].unique().sort()
    with sheet(path, 1, len(loads), size=(6.5 * len(loads), 4.5), sharey=True) as (_figure, panels):
        for axes, load in zip(panels[0], loads, strict=True):
            here = curves.filter(pl.col("short_flows.load") == load)
            flows = here["who"].unique(maintain_order=True)
            for who, (colour, _marker) in zip(flows, SERIES, strict=False):
                one = here.filter(pl.col("who") == who, pl.col("seconds").is_finite())
                axes.plot(one["seconds"], one["percent"], color=colour, linewidth=1.3, label=who)
            axes.axhline(95, color="black", linewidth=0.8, linestyle=":")
            axes.set_xscale("log")
            axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.xaxis.set_major_formatter("{x:g}")
            axes.minorticks_off()
            axes.set_xlabel("completion time, s")
            axes.set_title(f"short flows of {100 * load:g} % of the link")
        panels[0, 0].set_ylabel("short flows done, %")
        panels[0, 0].legend(title="beside", loc="lower right")


def voice(found: Finding, path: Path) -> None:
    """Draw the delay that a flow adds to voice, 95th percentile and median, over the rate."""
    rows = found.summary.filter(pl.col("who") != NOBODY).sort("rate_mbps")
    rates = rows["rate_mbps"].unique().sort().to_list()
    panels_of = {
        "added_p95_ms": "95th percentile of the added delay, ms",
        "added_median_ms": "median of the added delay, ms",
    }
    with sheet(path, 1, 2, size=(12, 4.5), sharey=True) as (_figure, [panels]):
        for axes, (name, label) in zip(panels, panels_of.items(), strict=True):
            flows = rows["who"].unique(maintain_order=True).sort()
            for who, (colour, marker) in zip(flows, SERIES[1:], strict=False):
                here = rows.filter(who=who).drop_nulls(name)
                ours = here["w"].null_count() < here.height
                means(
                    axes,
                    here["rate_mbps"],
                    here,
                    name,
                    color=BLUE if ours else colour,
                    marker="o" if ours else marker,
                    linewidth=1.2,
                    label=who,
                    linestyle="-",
                )
            axes.set_xscale("log")
            axes.set_xticks(rates, [f"{rate:g}" for rate in rates])
            axes.minorticks_off()
            axes.set_yscale("symlog", linthresh=1)
            axes.yaxis.set_major_formatter("{x:g}")
            axes.set_xlabel("rate of the bottleneck, Mbit/s")
            axes.set_ylabel(label)
        fastest = max([FAST_MBPS, *rows["rate_mbps"]])
        panels[0].plot([FAST_MBPS, fastest], [FAST_MS] * 2, color="black", linestyle="--")
        panels[0].plot(SLOW_MBPS, SLOW_MS, color="black", marker="_", markersize=14)
        panels[0].set_title("dashed: what is required of ours")
        panels[0].legend()
