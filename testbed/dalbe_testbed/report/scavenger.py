# SPDX-License-Identifier: GPL-2.0-only
"""The pictures of a scavenger's report. Each is drawn from a finding's tables alone."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl
from matplotlib.ticker import LogLocator

from dalbe_testbed.plan.sweep import axis, label
from dalbe_testbed.report.charts import BLUE, REQUIRED, SERIES, Style, bars, means, measured, sheet
from dalbe_testbed.study.breadth import SHARE_PERCENT, USE_PERCENT
from dalbe_testbed.study.dynamics import (
    BACK_PERCENT,
    BACK_RTTS,
    BACK_S,
    WITHIN_RTTS,
    YIELDED_PERCENT,
)
from dalbe_testbed.study.engine import Finding
from dalbe_testbed.study.impairments import HARM_PERCENT as HARM
from dalbe_testbed.study.impairments import SHARE_PERCENT as IMPAIRED_SHARE
from dalbe_testbed.study.own_flows import JAIN, LATE_PERCENT
from dalbe_testbed.study.own_flows import USE_PERCENT as USE_OF_ALL
from dalbe_testbed.study.short_flows import NOBODY
from dalbe_testbed.study.tradeoff import CORNER, YARDSTICK
from dalbe_testbed.study.tradeoff import SHARE_PERCENT as SMOOTH_SHARE
from dalbe_testbed.study.tradeoff import USE_PERCENT as SMOOTH_USE
from dalbe_testbed.study.voice import FAST_MBPS, FAST_MS, SLOW_MBPS, SLOW_MS

OTHERS = SERIES[1:]  # the first is ours
HAS_W = pl.col("w").is_not_null()


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


def _where(rows: pl.DataFrame) -> str:
    """Return where all rows' flows are, as "pie, rtt50": which axes are not at their default."""
    own = rows.columns[1 : rows.columns.index("w")]  # as settings() has them
    values = {name: rows[name].unique().to_list() for name in own if name != "who"}
    return ", ".join(
        label(name, some[0])
        for name, some in values.items()
        if len(some) == 1 and some[0] not in (None, axis(name).default)
    )


def tradeoff(found: Finding, path: Path) -> None:
    """Draw use of an idle link over the share taken from others: our curve over w, peers as points.

    The corner, a strict-priority scheduler, is off the left end of the logarithmic axis: drawn
    at that end with its figures beside it, or with those of theory if it was not run. The axis
    begins at 1 %, or below the smallest share above 0; a share of 0 is drawn at its end.
    """
    rows = found.summary.filter(pl.col("who") != CORNER)
    left = min([1.0, *(0.8 * share for share in rows["share_percent"].drop_nulls() if share > 0)])
    rows = rows.with_columns(pl.col("^share_percent.*$").clip(left))  # its interval, too
    ours = rows.filter(HAS_W).sort("w")
    peers = rows.filter(~HAS_W)["who"].to_list()
    where = _where(rows)
    with sheet(path, size=(9, 5)) as (_figure, [[axes]]):
        for row in rows.iter_slices(1):
            name, mine = row.item(0, "who"), row.item(0, "w") is not None
            number = 0 if mine else peers.index(name)
            colour, marker = SERIES[0] if mine else OTHERS[number % len(OTHERS)]
            means(
                axes,
                row["share_percent"],
                row,
                "use_percent",
                xerr=bars(row, "share_percent"),
                color=colour,
                marker=marker,
                markerfacecolor="none" if number >= len(OTHERS) else colour,
                markersize=6,
                capsize=2,
                label=None if mine else name.replace("-g", ", G = "),
            )
        line = {"color": BLUE, "linewidth": 1.2, "label": "dalbe_cdg at weight w"}
        axes.plot(ours["share_percent"], ours["use_percent"], **line)
        for place, text in _ladder_labels(list(ours.select("share_percent", "w").iter_rows())):
            axes.text(place, 95, f"w = {text}", color=BLUE, ha="center", va="top", fontsize=9)
        axes.set(
            xscale="log",
            xlim=(left, 100),
            ylim=(0, 108),
            xlabel="share taken from others, %",
            ylabel=f"use of an idle link, % of {YARDSTICK.upper()}'s",
            title="What is used of an idle link, and taken of a busy one"
            + (f": {where}" if where else ""),
        )
        axes.xaxis.set_major_formatter("{x:g}")
        limit = "strict priority: 0 %, 100 %"
        corner = found.summary.filter(who=CORNER).select("share_percent", "use_percent")
        for share, use in corner.iter_rows():
            limit = f"strict priority: {share:.1f} %, {use:.0f} %"
            axes.plot(max(left, share), use, color="black", marker="<", markersize=7, clip_on=False)
        axes.annotate(limit, (left, 100), xytext=(1.04 * left, 102.5), fontsize=9, style="italic")
        axes.legend(loc="lower right")


def tuning(found: Finding, path: Path) -> None:
    """Draw the share over w, a line per base RTT; at the right the share of CUBIC flows."""
    rows = found.summary.sort("w", nulls_last=True)
    weights = rows["w"].drop_nulls().unique()
    beside = float(weights.max() or 1) * 1.8  # type: ignore[arg-type]
    rtts = rows["rtt"].unique().sort()
    with sheet(path, size=(8, 4.5)) as (_figure, [[axes]]):
        for number, (rtt, (colour, marker)) in enumerate(zip(rtts, SERIES, strict=False)):
            here = rows.filter(rtt=rtt)
            ours, theirs = here.filter(HAS_W), here.filter(who=YARDSTICK)
            style: Style = {"color": colour, "marker": marker, "capsize": 2}
            line = style | {"linewidth": 1.2, "linestyle": "-", "label": f"{rtt:g} ms"}
            means(axes, ours["w"], ours, "share_percent", **line)
            side_by_side = [beside * 1.06 ** (number - (len(rtts) - 1) / 2)] * theirs.height
            means(axes, side_by_side, theirs, "share_percent", markerfacecolor="none", **style)
        axes.axhline(50, color="black", linewidth=0.8, linestyle=":")
        ends = rows.filter(pl.col("w").is_in([weights.min(), weights.max()]))
        said = [
            f"{min(shares):.1f} to {max(shares):.1f} % at w = {w:g}"
            for (w,), end in ends.group_by("w", maintain_order=True)
            for shares in [end["share_percent"].to_list()]
        ]
        axes.set(
            xscale="log",
            ylim=(0, 60),
            xlabel="weight w of two flows; CUBIC flows in their place",
            ylabel="share taken from two CUBIC flows, %",
            title="Two flows take " + ", ".join(said),
        )
        axes.set_xticks([*weights, beside], [*(f"{w:g}" for w in weights), "CUBIC"])
        axes.minorticks_off()
        axes.legend(loc="upper left", title="base RTT")


def breadth(found: Finding, path: Path) -> None:
    """Draw a point per cell: use over share, and both over the BDP; what fails has its name."""
    rows = found.summary.drop_nulls(["use_percent", "share_percent"])
    bdp = ("bdp_packets", "bandwidth-delay product, packets", None)
    use = ("use_percent", f"use of the idle link, % of {YARDSTICK.upper()}'s", USE_PERCENT)
    share = ("share_percent", "share taken, %", SHARE_PERCENT)
    kinds = rows["flows.xsender.cc"].unique().sort()
    with sheet(path, 1, 3, size=(15, 5)) as (_figure, [panels]):
        for axes, (x, y) in zip(panels, ((share, use), (bdp, share), (bdp, use)), strict=True):
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
            axes.set(xlabel=x[1], ylabel=y[1])
        held = found.summary["met"].sum()
        panels[0].set_title(f"{held} of {found.summary.height} cells are on the good side of both")
        panels[0].legend(title="competitors")


def dynamics(found: Finding, path: Path) -> None:
    """Draw what ours had since an arrival and since a departure, a row per base RTT.

    The median of the runs in a band that holds 80 % of them; the corner, if it was run, in black.
    """
    curves = found.curves
    rtts = curves["rtt_ms"].unique().sort()
    line = REQUIRED | {"linewidth": 0.8}
    with sheet(path, len(rtts), 2, size=(11, 2.5 * len(rtts)), sharey=True) as (_figure, panels):
        for row, rtt in zip(panels, rtts, strict=True):
            events = {
                "arrival": ("share of all bytes, %", YIELDED_PERCENT, WITHIN_RTTS * rtt / 1e3),
                "departure": ("part of the link, %", BACK_PERCENT, BACK_S + BACK_RTTS * rtt / 1e3),
            }
            for axes, (event, (label, limit, due_s)) in zip(row, events.items(), strict=True):
                here = curves.filter(rtt_ms=rtt, event=event)
                for (who,), one in here.group_by("who", maintain_order=True):
                    colour = "black" if who == CORNER else BLUE
                    axes.plot(one["t_s"], one["median_percent"], color=colour, label=who)
                    band: Style = {"color": colour, "alpha": 0.2, "linewidth": 0}
                    axes.fill_between(one["t_s"], one["p10_percent"], one["p90_percent"], **band)
                axes.axhline(limit, **line)
                axes.axvline(due_s, **line)
                axes.set(ylim=(0, 100), ylabel=label, title=f"{event}, base RTT {rtt:g} ms")
        for axes, event in zip(panels[-1], ("arrival", "departure"), strict=True):
            axes.set_xlabel(f"seconds since the {event}; dashed: what is required")
        panels[0, 0].legend()


def fairness(found: Finding, path: Path) -> None:
    """Draw use, Jain's index and the latecomer's advantage over the number of flows."""
    measures = {
        "use_percent": (f"use, % of a {YARDSTICK.upper()} flow's", [USE_OF_ALL]),
        "jain": ("Jain's index of all flows", [JAIN]),
        "late_percent": ("latecomer above the others' mean, %", [-LATE_PERCENT, LATE_PERCENT]),
    }
    ours, runs = found.summary.filter(HAS_W).sort("flows"), found.runs.filter(HAS_W)
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
            axes.set(
                xlim=(-0.5, len(counts) - 0.5),
                xlabel="flows of ours; dots are runs, dashed what is required",
                ylabel=label,
            )


def impairments(found: Finding, path: Path) -> None:
    """Draw goodput alone, share taken and the others' goodput on every path, ours beside peers.

    Black is strict priority; dashed below it, what ours must leave to the others; at the bottom, by
    how much these have more or less beside ours.
    """
    rows = found.summary
    measures = {
        "alone_mbps": ("goodput while alone, Mbit/s", None),
        "share_percent": ("share taken from two CUBIC flows, %", IMPAIRED_SHARE),
        "others_mbps": ("goodput of these two CUBIC flows, Mbit/s", None),
    }
    look: Style = {"shifts": (0, 0.15), "black": CORNER, "size": (15, 5)}
    with measured(path, rows, measures, "who", "impairment", **look) as (_alone, shares, others):
        paths = rows["impairment"].unique(maintain_order=True).to_list()
        for row in rows.filter(who=CORNER).iter_rows(named=True):
            place, least = paths.index(row["impairment"]), row["others_mbps"] * (1 - HARM / 100)
            others.plot([place - 0.3, place + 0.6], [least] * 2, color="black", linestyle="--")
        for row in rows.filter(HAS_W).drop_nulls("harm_percent").iter_rows(named=True):
            text = (paths.index(row["impairment"]), 0.1, f"{-row['harm_percent']:+.1f} %")
            others.text(*text, color=BLUE, fontsize=8, ha="center")
        shares.set_xlabel("dashed: required")
        others.set_xlabel("dashed: required; numbers: against strict priority")


def stalls(found: Finding, path: Path) -> None:
    """Draw use of an idle link, relative to CUBIC's, and share taken, where something is late."""
    rows = found.summary.drop_nulls("w")
    measures = {
        "use_percent": (f"use of the idle link, % of {YARDSTICK.upper()}'s", SMOOTH_USE),
        "share_percent": ("share taken from a CUBIC flow, %", SMOOTH_SHARE),
    }
    look: Style = {"shifts": (-0.24, 0.12), "size": (13, 5)}
    with measured(path, rows, measures, "path", "late", **look) as (_use, shares):
        shares.set_xlabel("dashed: required")


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
            axes.set(
                xscale="log",
                xlabel="completion time, s",
                title=f"short flows of {100 * load:g} % of the link",
            )
            axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.xaxis.set_major_formatter("{x:g}")
            axes.minorticks_off()
        panels[0, 0].set_ylabel("short flows done, %")
        panels[0, 0].legend(title="beside", loc="lower right")


def voice(found: Finding, path: Path) -> None:
    """Draw the delay that a flow adds to voice, 95th percentile and median, over the rate."""
    rows = found.summary.filter(pl.col("who") != NOBODY).sort(~HAS_W, "who", "rate_mbps")
    rates = rows["rate_mbps"].unique().sort().to_list()
    measures = {
        "added_p95_ms": ("95th percentile of the added delay, ms", None),
        "added_median_ms": ("median of the added delay, ms", None),
    }
    look: Style = {"size": (12, 4.5), "sharey": True}
    look["style"] = {"linewidth": 1.2, "linestyle": "-"}
    with measured(path, rows, measures, "who", "rate_mbps", **look) as panels:
        for axes in panels:
            axes.set(xscale="log", xlabel="rate of the bottleneck, Mbit/s")
            axes.set_xticks(rates, [f"{rate:g}" for rate in rates])
            axes.minorticks_off()
            axes.set_yscale("symlog", linthresh=1)
            axes.yaxis.set_major_formatter("{x:g}")
        fastest = max([FAST_MBPS, *rates])
        panels[0].plot([FAST_MBPS, fastest], [FAST_MS] * 2, color="black", linestyle="--")
        panels[0].plot(SLOW_MBPS, SLOW_MS, color="black", marker="_", markersize=14)
        panels[0].set_title("dashed: what is required of ours")
