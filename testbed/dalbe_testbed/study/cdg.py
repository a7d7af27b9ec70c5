# SPDX-License-Identifier: GPL-2.0-only
"""The CDG paper's Figures 2 and 3 and Table I beside ours, and ablations of its cell.

Everything is about shares of the link, see `results`. A *curve* is a module's share over G at one
base RTT, all other settings being equal. A sweep without `figure` is measured likewise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from dalbe_testbed.charts import BLUE, SERIES, VERMILLION, Style, facets, lines, means, sheet
from dalbe_testbed.papers import cdg as paper
from dalbe_testbed.papers.cdg import MODULES
from dalbe_testbed.plan.sample import Value
from dalbe_testbed.plan.sweep import Figure, Point, Run, Sweep, axis
from dalbe_testbed.study import engine, stats
from dalbe_testbed.study.engine import Case, Finding, Found, Study, Verdict, interval, judge
from dalbe_testbed.study.results import Group, Results, Row, cc, g_ms, rtt_ms
from dalbe_testbed.study.stats import Estimate

BOTH, ONE = "both_percent", "one_percent"
POSSIBLE_CAUSES = {"kernel", "hz", "delay"}  # axes on which the paper's testbed may differ
SMOOTH_S = 1.0  # of Figure 2's lines


def curve(point: Point) -> str:
    """Return what a point's curve is called: module, base RTT, other settings."""
    known = ("cc", "g", "exact_g", "rtt")
    others = [f"{name} {value}" for name, value in point.values.items() if name not in known]
    return ", ".join([MODULES.get(cc(point), cc(point)), f"{rtt_ms(point):g} ms", *others])


def _about(point: Point) -> Row:
    return {
        "point": point.name,
        "curve": curve(point),
        "cc": cc(point),
        "g_ms": g_ms(point),
        "effective_g_ms": point.experiment.flows[0].g_ms,
        "rtt_ms": rtt_ms(point),
    }


def measure(results: Results, run: Run, _sweep: Sweep) -> Row:
    """Return a run's shares in percent: of each flow, of `one` and `both`; and of TCP's bytes."""
    shares = results.at(run.point).of_seed(run.seed) or {}
    return {name: share for name, share in shares.items() if name.endswith("_percent")}


# --- what the paper states ---


def stated(point: Point, where: str) -> list[paper.Value]:
    """Return what the paper states for a point in "Table I" or "Figure 2"."""
    cell = point.directory.startswith("runs/cell/") and set(point.values) == {"cc", "g", "rtt"}
    known = paper.stated(where).get((g_ms(point) or 0.0, rtt_ms(point)), [])
    return known if cell and cc(point) in MODULES else []


def likely_cause(ours: Estimate, value: paper.Value, effects: Sequence["Effect"]) -> str:
    """Return what may explain a deviation: chance, else the ablations that move it the same way.

    Only changes that the paper's testbed may have had count (POSSIBLE_CAUSES).
    """
    if ours.contains(value.percent):
        return "none: the paper's value is inside the interval"
    same_way = [
        f"{effect.changed} moves both flows' share by {effect.change.mean:+.1f} at 50 ms"
        for effect in sorted(effects, key=lambda effect: -abs(effect.change.mean))
        if effect.axis in POSSIBLE_CAUSES
        and g_ms(effect.point) == value.g_ms
        and effect.beyond_doubt
        and effect.change.mean * (ours.mean - value.percent) < 0  # it brings ours nearer
    ]
    tested = sorted({effect.axis for effect in effects} & POSSIBLE_CAUSES)
    excluded = f"not {', '.join(tested)} as tested; " if tested else ""
    return "; ".join(same_way) or f"{excluded}open: {', '.join(paper.UNTESTED)}"


def _beside(group: Group, value: paper.Value, effects: Sequence["Effect"]) -> Row:
    """Return a value that the paper states, and ours."""
    ours = group.mean(f"{value.column}_percent")
    of_tcp = group.mean(f"_{value.column}_of_tcp_percent")
    assert ours
    return {
        "stated": value.where,
        "paper_percent": value.percent,
        **interval("ours_percent", ours),
        **interval("of_tcp_percent", of_tcp),
        "tolerance_points": value.allowed,
        "met": abs(ours.mean - value.percent) <= value.allowed,
        "likely_cause": likely_cause(ours, value, effects),
    }


def _summary(found: Found) -> list[Row]:
    """Return a row per point, or per value that the paper states for it."""
    where = "Figure 2" if found.sweep.figure == "figure2" else "Table I"
    effects = [
        effect
        for sweep in found.results.sweeps
        if sweep.figure == "ablation"
        for effect in _effects(found.results, sweep)
    ]
    rows = []
    for group in found.groups:
        row = _about(group.point) | {"runs": len(group.rows)} | engine.means(group, [ONE, BOTH])
        values = stated(group.point, where)
        rows += [row | _beside(group, value, effects) for value in values] or [row]
    return rows


def _judge_table_1(found: Found) -> list[Verdict]:
    """Judge each value of Table I that was to be run."""

    def case(point: Point, value: paper.Value) -> Case:
        least, most = value.percent - value.allowed, value.percent + value.allowed
        where = f"{value.which}, {curve(point)}, {value.percent:g} +- {value.allowed:.1f}"
        return found.mean_case(point, f"{value.column}_percent", where, least=least, most=most)

    values = [(p, value) for p in found.sweep.points for value in stated(p, "Table I")]
    text = f"Table I, within {paper.TOLERANCE:.0%} or {paper.TOLERANCE_POINTS:g} points"
    return [judge(text, [case(*value) for value in values])] if values else []


# --- Figure 2 ---


def _over_time(found: Found) -> pl.DataFrame:
    """Return each flow's share in percent, over SMOOTH_S, of the first run of each point."""
    curves = []
    for point, (first, *_others) in found.results.measured(found.sweep):
        what = point.experiment
        percent = 100 * pl.col("mbps") / what.link.rate_mbps
        curves.append(
            found.results.mbps(first, SMOOTH_S, "sent_bytes")
            .filter(
                pl.col("flow").is_in([f.name for f in what.flows]), pl.col("t_s") < what.duration_s
            )
            .select(cc=pl.lit(cc(point)), g_ms=g_ms(point), t_s="t_s", flow="flow", percent=percent)
        )
    return engine.concat(curves)


def _say_figure_2(found: Found) -> str:
    """Say what the CDG flows get beside as many CUBIC flows, by module and G."""
    shares = [
        f"{group.mean(BOTH)} % at G = {g_ms(group.point):g} ms ({curve(group.point)})"
        for group in found.groups
    ]
    return f"Two CDG flows against two CUBIC flows get {', '.join(shares)}."


# --- Figure 3 ---


def _curves(found: Found) -> dict[str, list[Group]]:
    """Return the groups of each curve, by rising G."""
    curves: dict[str, list[Group]] = {curve(point): [] for point in found.sweep.points}
    for group in sorted(found.groups, key=lambda group: g_ms(group.point) or 0):
        curves[curve(group.point)].append(group)
    return curves


def _rises(name: str, groups: Sequence[Group]) -> Case:
    """Judge whether the share rises with G; a curve that cannot show it does not."""
    means = [mean for group in groups if (mean := group.mean(BOTH))]
    gs = [g_ms(group.point) for group in groups]
    if len(means) < 2:  # noqa: PLR2004 (a curve needs two)
        return Case(name, f"{len(means)} points have runs", met=False)
    if any(mean.low is None for mean in means):
        return Case(name, "a point has a single run: no interval", met=False)
    falls = [
        f"{means[i]} at G = {gs[i]:g} ms, {means[j]} at {gs[j]:g} ms"
        for i, j in stats.inversions(means)
    ]
    return Case(name, " and ".join(falls) or f"{len(means)} points", not falls)


def _require_figure_3(found: Found) -> list[Verdict]:
    cases = [_rises(*it) for it in _curves(found).items()]
    rises = judge("the share rises with G: no inversion beyond the intervals", cases)
    return [*_judge_table_1(found), rises]


# --- ablations ---


@dataclass(frozen=True)
class Effect:
    """The effect of one change to the cell on both CDG flows' share, in percentage points.

    axis: what was changed, of whose values `base` is the usual one. agrees: within the spread.
    """

    point: Point
    axis: str
    base: Value
    change: Estimate
    agrees: bool

    @property
    def changed(self) -> str:
        """The change, in words."""
        return axis(self.axis).say(self.point.values[self.axis])

    @property
    def beyond_doubt(self) -> bool:
        """Whether the interval of the change excludes none."""
        return self.change.low is not None and not self.change.contains(0)

    def __str__(self) -> str:
        """Return the effect in words: what, how much, at which G."""
        at = f"{self.change:+.1f} points at G = {g_ms(self.point):g} ms"
        return f"{self.changed} instead of {self.base}: {at}"


def _effects(results: Results, sweep: Sweep) -> list[Effect]:
    """Return the effects of an ablation's changes; those whose runs are missing are left out.

    Each is against the point that differs in the axis's value only, which is its default.
    """
    assert sweep.vary is not None
    default = {sweep.vary: axis(sweep.vary).default}
    found = []
    for point in sweep.points:
        base = next((it for it in sweep.points if it.values == point.values | default), point)
        changed, usual = (results.at(p).values(BOTH) for p in (point, base))
        if base is not point and changed and usual:
            agrees = max(len(changed), len(usual)) > 1 and stats.agree(changed, usual)
            change = stats.difference(changed, usual)
            found.append(Effect(point, sweep.vary, base.values[sweep.vary], change, agrees))
    return found


def _ablation(found: Found) -> list[Row]:
    """Return a row per point, with the change from the usual value."""
    effects = {effect.point.name: effect for effect in _effects(found.results, found.sweep)}
    return [
        _about(group.point)
        | {"value": str(group.point.values[found.sweep.vary or ""]), "runs": len(group.rows)}
        | engine.means(group, [BOTH])
        | interval("change_points", effect.change if effect else None)
        | {"agrees": effect.agrees if effect else None}
        for group in found.groups
        for effect in [effects.get(group.point.name)]
    ]


def _require_agreement(found: Found) -> list[Verdict]:
    """Judge whether another backend agrees; of other changes nothing is required."""
    if found.sweep.vary != "backend":
        return []
    cases = [
        Case(str(effect), f"differs by {effect.change} points", effect.agrees)
        for effect in _effects(found.results, found.sweep)
    ]
    return [judge("another backend agrees within the spread", cases)]


def _say_ablation(found: Found) -> str:
    effects = _effects(found.results, found.sweep)
    top = max(effects, key=lambda it: (it.beyond_doubt, abs(it.change.mean)), default=None)
    if top is None:
        return "No runs to compare."
    kind = "Largest effect" if top.beyond_doubt else "No effect beyond the intervals; largest mean"
    return f"{kind}: {top}."


# --- the pictures ---


MODULE_COLOURS = dict(zip(MODULES, (BLUE, VERMILLION), strict=True))
PAPER: Style = {
    "marker": "D",
    "markerfacecolor": "none",
    "markeredgecolor": "black",
    "markersize": 8,
    "linestyle": "none",
    "zorder": 5,
    "label": "the paper's values",
}


def box(shares: pl.DataFrame) -> str:
    """Return Figure 2's box: mean, std, min and max of each flow over the second half, percent."""
    half = shares.filter(pl.col("t_s") >= float(shares["t_s"].max() or 0) / 2)  # type: ignore[arg-type]
    lines = [f"{'':7}{'mean':>6}{'std':>6}{'min':>6}{'max':>6}"]
    for (flow,), some in half.group_by("flow", maintain_order=True):
        percent = pl.col("percent")
        numbers = some.select(
            percent.mean(), std=percent.std(), min=percent.min(), max=percent.max()
        )
        lines.append(f"{flow:7}" + "".join(f"{number:6.1f}" for number in numbers.row(0)))
    return "\n".join(lines)


def figure_2(found: Finding, path: Path) -> None:
    """Draw Figure 2: each flow's share over time, of the first seed; a row per G."""
    curves = found.curves.sort("g_ms", "cc", maintain_order=True)
    look: Style = {
        "size": (9, 2.6),
        "title": "G = {g_ms:g} ms, {cc}",
        "wrap": curves["cc"].n_unique(),
    }
    font: Style = {"ha": "right", "va": "top", "family": "monospace", "fontsize": 7.5}
    with facets(path, curves, ["g_ms", "cc"], **look) as panels:
        for axes, here in panels:
            lines(axes, here, "t_s", "percent", "flow")
            axes.text(0.99, 0.96, box(here), transform=axes.transAxes, **font)
            axes.set(xlabel="seconds", ylabel="share, %", ylim=(0, 100))


def figure_3(found: Finding, path: Path) -> None:
    """Draw Figure 3: both CDG flows' share over G, a line per base RTT, a panel per module."""
    rows = found.summary.sort("cc", "rtt_ms", "g_ms")
    places = {g: place for place, g in enumerate(rows["g_ms"].unique().sort())}
    rtts = rows["rtt_ms"].unique().sort().to_list()
    with facets(path, rows, ["cc"], size=(6.6, 4.7), title="{cc}") as panels:
        for axes, own in panels:
            for (name, rtt), one in own.group_by("curve", "rtt_ms", maintain_order=True):
                colour, marker = SERIES[rtts.index(rtt) % len(SERIES)]
                label = str(name).partition(", ")[2]
                line: Style = {"color": colour, "marker": marker, "linestyle": "-", "label": label}
                means(axes, [places[g] for g in one["g_ms"]], one, BOTH, **line)
            for (g, rtt), share in paper.aggregates().items():
                if rtt in rtts and g in places:
                    colour, _marker = SERIES[rtts.index(rtt) % len(SERIES)]
                    look = PAPER | {"markeredgecolor": colour, "label": None}
                    axes.plot(places[g], share, **look)
            axes.plot([], [], **PAPER)
            axes.set(xlabel="G, ms (neither linear nor logarithmic, as in the paper)", ylim=(0, 60))
            axes.set_ylabel("share of both CDG flows, % of the link")
            axes.set_xticks(range(len(places)), [f"{g:g}" for g in places], rotation=60)


def table_1(found: Finding, path: Path) -> None:
    """Draw Table I: the paper's values with their tolerance, and both modules with intervals."""
    titles = {
        "Table I, min": "one CDG flow at G = 0.1 ms",
        "Table I, max": "both CDG flows at G = 120 ms",
    }
    ring: Style = {"marker": "o", "fillstyle": "none", "linewidth": 0}
    within = "#EDEDED"
    with sheet(path, 1, 2, size=(11, 4.2), layout="constrained") as (figure, [panels]):
        for axes, (which, title) in zip(panels, titles.items(), strict=True):
            rows = found.summary.filter(stated=which).sort("rtt_ms")
            rtts = rows["rtt_ms"].unique().sort().to_list()
            for shift, (module, colour) in zip((-0.15, 0.15), MODULE_COLOURS.items(), strict=True):
                here = rows.filter(cc=module)
                at = [rtts.index(rtt) + shift for rtt in here["rtt_ms"]]
                means(axes, at, here, "ours_percent", color=colour, marker="o", markersize=4.5)
                axes.plot(at, here["of_tcp_percent"], color=colour, **ring)
            for value in rows.unique("rtt_ms").iter_rows(named=True):
                place, percent = rtts.index(value["rtt_ms"]), value["paper_percent"]
                allowed = value["tolerance_points"]
                axes.bar(place, 2 * allowed, bottom=percent - allowed, width=0.7, color=within)
                axes.plot(place, percent, **PAPER)
            axes.set_xticks(range(len(rtts)), [f"{rtt:g}" for rtt in rtts])
            axes.set_title(f"{title}: {rows['met'].sum()} of {rows.height} within")
            axes.set(xlabel="base RTT, ms", ylabel="share, %", ylim=(0, None))
        handles = [
            *(
                Patch(color=MODULE_COLOURS[m], label=f"{name}, of the link")
                for m, name in MODULES.items()
            ),
            Line2D([], [], color="#5c5c5c", label="of TCP's", **ring),
            Line2D([], [], **PAPER),
            Patch(color=within, label="within 25 % or 2 points"),
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=5)


def ablation(found: Finding, path: Path) -> None:
    """Draw an ablation: both CDG flows' share with its interval, per G and variant."""
    rows = found.summary
    gs = rows["g_ms"].unique().sort().to_list()
    variants = rows["value"].unique(maintain_order=True).to_list()
    width = 0.6 / max(1, len(variants) - 1)
    with sheet(path, size=(8, 4)) as (_figure, [[axes]]):
        for number, variant in enumerate(variants):
            here = rows.filter(value=variant)
            shift = (number - (len(variants) - 1) / 2) * width
            look: Style = {
                "color": SERIES[number % len(SERIES)][0],
                "marker": "o",
                "label": variant,
            }
            means(axes, [gs.index(g) + shift for g in here["g_ms"]], here, "both_percent", **look)
        axes.set_xticks(range(len(gs)), [f"{g:g}" for g in gs])
        axes.set(xlim=(-0.6, len(gs) - 0.4), ylim=(0, None), xlabel="G, ms")
        axes.set_ylabel("share of both CDG flows, %")
        axes.set_title(found.sentence.rstrip("."))
        axes.legend(loc="upper left")


def _say_points(found: Found) -> str:
    return f"{len(found.groups)} of {len(found.sweep.points)} points have runs."


PLAIN = Study(measure, lambda _found: [], [ONE, BOTH], about=_about, say=_say_points)
STUDIES: Mapping[Figure | None, Study] = {
    None: PLAIN,
    "figure2": Study(
        *(measure, lambda _found: []),
        about=_about,
        summary=_summary,
        curves=_over_time,
        say=_say_figure_2,
        draw=figure_2,
    ),
    "figure3": Study(measure, _require_figure_3, about=_about, summary=_summary, draw=figure_3),
    "table1": Study(measure, _judge_table_1, about=_about, summary=_summary, draw=table_1),
    "ablation": Study(
        *(measure, _require_agreement),
        about=_about,
        summary=_ablation,
        say=_say_ablation,
        draw=ablation,
    ),
}
