# SPDX-License-Identifier: GPL-2.0-only
"""The CDG paper's Figures 2 and 3 and Table I beside ours, and ablations of its cell.

Everything is about shares of the link, see `results`. A *curve* is a module's share over G at one
base RTT, all other settings being equal. A sweep without `figure` is measured likewise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import altair as alt
import polars as pl

from dalbe_testbed.charts import Picture, Style, curves, facets, means
from dalbe_testbed.papers import cdg as paper
from dalbe_testbed.papers.cdg import MODULES
from dalbe_testbed.plan.sweep import Figure, Point, Run, Sweep, axis
from dalbe_testbed.study import engine, stats
from dalbe_testbed.study.engine import Case, Finding, Found, Study, Verdict, beside, interval, judge
from dalbe_testbed.study.results import Group, Results, Row, cc, g_ms, rtt_ms
from dalbe_testbed.study.stats import Estimate

BOTH, ONE = "both_percent", "one_percent"
POSSIBLE_CAUSES = {"kernel", "hz", "delay"}  # axes on which the paper's testbed may differ
SMOOTH_S = 1.0  # of Figure 2's lines
NO_BREAK = "\u00a0"


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
    shares = results.shares[run.directory]
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
        for effect in _effects(STUDIES["ablation"].look(found.results, sweep))
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
    text = f"Table I, within {paper.TOLERANCE:.0%}"
    return [judge(text, [case(*value) for value in values])] if values else []


# --- Figure 2 ---


def _over_time(results: Results, run: Run) -> pl.DataFrame:
    """Return each flow's share in percent, over SMOOTH_S."""
    what, module, g = run.point.experiment, pl.lit(cc(run.point)), g_ms(run.point)
    percent = 100 * pl.col("mbps") / what.link.rate_mbps
    named = pl.col("flow").is_in([flow.name for flow in what.flows])
    return (
        results.mbps(run, SMOOTH_S, "sent_bytes")
        .filter(named, pl.col("t_s") < what.duration_s)
        .select(cc=module, g_ms=g, t_s="t_s", flow="flow", percent=percent)
    )


def _say_figure_2(found: Found) -> str:
    """Say what the CDG flows get beside as many CUBIC flows, by module and G."""
    shares = [
        f"{group.mean(BOTH)} % at G = {g_ms(group.point):g} ms ({curve(group.point)})"
        for group in found.groups
    ]
    return f"Two CDG flows against two CUBIC flows get {', '.join(shares)}."


# --- Figure 3 ---


def _rises(name: str, groups: Sequence[Group]) -> Case:
    """Judge whether a curve rises with G, as its groups do; one that cannot show it does not."""
    there = [group for group in groups if group.rows]
    means = [mean for group in there if (mean := group.mean(BOTH))]
    gs = [g_ms(group.point) for group in there]
    if len(means) < 2:  # noqa: PLR2004 (a curve needs two)
        return Case(name, f"{len(means)} points have runs", met=False, measured=False)
    if any(mean.low is None for mean in means):
        return Case(name, "a point has a single run: no interval", met=False, measured=False)
    falls = [
        f"{means[i]} at G = {gs[i]:g} ms, {means[j]} at {gs[j]:g} ms"
        for i, j in stats.inversions(means)
    ]
    missing = sum(group.missing for group in groups)
    return Case(name, " and ".join(falls) or f"{len(means)} points", not falls, missing)


def _require_figure_3(found: Found) -> list[Verdict]:
    names = dict.fromkeys(map(curve, found.sweep.points))
    by_g = sorted(map(found.at, found.sweep.points), key=lambda group: g_ms(group.point) or 0)
    cases = [_rises(name, [it for it in by_g if curve(it.point) == name]) for name in names]
    rises = judge("the share rises with G: no inversion beyond the intervals", cases)
    return [*_judge_table_1(found), rises]


# --- ablations ---


@dataclass(frozen=True)
class Effect:
    """The effect of one change to the cell on both CDG flows' share, in percentage points.

    axis: what was changed, from its default. agrees: within the spread. missing: runs that either
    point lacks.
    """

    point: Point
    axis: str
    change: Estimate
    agrees: bool
    missing: int

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
        return f"{self.changed} instead of {axis(self.axis).default}: {at}"


def _effects(found: Found) -> list[Effect]:
    """Return the effects of an ablation's changes; those whose runs are missing are left out.

    Each is against the point that differs in the axis's value only, which is its default.
    """
    vary, effects = found.sweep.vary or "", []
    for group in found.groups:
        base = beside(group, found.groups, vary, axis(vary).default)
        if base and base is not group:
            changed, usual = group.values(BOTH), base.values(BOTH)
            agrees = max(len(changed), len(usual)) > 1 and stats.agree(changed, usual)
            change = stats.difference(changed, usual)
            missing = group.missing + base.missing
            effects.append(Effect(group.point, vary, change, agrees, missing))
    return effects


def _ablation(found: Found) -> list[Row]:
    """Return a row per point, with the change from the usual value."""
    effects = {effect.point.name: effect for effect in _effects(found)}
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
    if (vary := found.sweep.vary) != "backend":
        return []
    effects = {effect.point.name: effect for effect in _effects(found)}
    cases = [
        Case(str(effect), f"differs by {effect.change} points", effect.agrees, effect.missing)
        if (effect := effects.get(point.name))
        else Case(point.name, "nothing to compare", met=False, measured=False)
        for point in found.sweep.points
        if point.values[vary] != axis(vary).default
    ]
    return [judge("another backend agrees within the spread", cases)]


def _say_ablation(found: Found) -> str:
    top = max(_effects(found), key=lambda it: (it.beyond_doubt, abs(it.change.mean)), default=None)
    if top is None:
        return "No runs to compare."
    kind = "Largest effect" if top.beyond_doubt else "No effect beyond the intervals; largest mean"
    return f"{kind}: {top}."


# --- the pictures ---


def box(shares: pl.DataFrame) -> str:
    """Return Figure 2's box: mean, std, min and max of each flow over the second half, percent."""
    half = shares.filter(pl.col("t_s") >= float(shares["t_s"].max() or 0) / 2)  # type: ignore[arg-type]
    percent, flows = pl.col("percent"), half.group_by("flow", maintain_order=True)
    table = flows.agg(percent.mean(), std=percent.std(), min=percent.min(), max=percent.max())
    lines = [f"{'':7}{'mean':>6}{'std':>6}{'min':>6}{'max':>6}"]
    lines += [f"{row[0]:7}" + "".join(f"{it:6.1f}" for it in row[1:]) for row in table.rows()]
    return "\n".join(lines)


def figure_2(found: Finding) -> Picture:
    """Draw Figure 2: each flow's share over time, of the first seed; a row per G."""
    rows = found.curves.sort("g_ms", "cc", maintain_order=True)
    x, y = alt.X("t_s").title("seconds"), alt.Y("percent").title("share, %").scale(domain=(0, 100))
    charts = []
    for (g, module), here in rows.group_by("g_ms", "cc", maintain_order=True):
        table: Style = {
            "subtitle": box(here).replace(" ", NO_BREAK).splitlines(),
            "subtitleFont": "monospace",
        }
        said = alt.TitleParams(f"G = {g:g} ms, {module}", **table)
        charts.append(curves(here, x, y, "flow").properties(width=500, title=said))
    return alt.concat(*charts, columns=rows["cc"].n_unique())


def _diamonds(rows: pl.DataFrame, x: alt.X) -> Picture:
    """Return the paper's values, black diamonds."""
    point = alt.Chart(rows).mark_point(filled=False, shape="diamond", size=120, color="black")
    return point.encode(x, alt.Y("paper_percent"))


def figure_3(found: Finding) -> Picture:
    """Draw Figure 3: both CDG flows' share over G, a line per base RTT, a panel per module."""
    known = [(*at, share) for at, share in paper.aggregates().items()]
    at, share = ["g_ms", "rtt_ms"], "paper_percent"
    stated = pl.DataFrame(known, dict.fromkeys([*at, share], pl.Float64), orient="row")
    rows = found.summary.drop(share, strict=False).sort("cc", *reversed(at))
    rows = rows.join(stated, on=at, how="left", maintain_order="left")
    rows = rows.with_columns(label=pl.col("curve").str.replace("^[^,]*, ", ""))
    x = alt.X("g_ms:O").title("G, ms; diamonds: the paper's values")
    said = "share of both CDG flows, % of the link"
    chart = means(rows, BOTH, said, x=x, by="label", legend="base RTT", line=True)
    return facets(rows, chart + _diamonds(rows, x), "cc")


def table_1(found: Finding) -> Picture:
    """Draw Table I: the paper's values with their tolerance, and both modules with intervals."""
    titles = {
        "Table I, min": "one CDG flow at G = 0.1 ms",
        "Table I, max": "both CDG flows at G = 120 ms",
    }
    value, off = pl.col("paper_percent"), pl.col("tolerance_points")
    met, n = pl.col("met").sum().over("stated"), pl.len().over("stated")
    said = pl.format("{}: {} of {} within", pl.col("stated").replace(titles), met, n)
    rows = found.summary.drop_nulls("stated").sort("stated", "rtt_ms", descending=[True, False])
    rows = rows.with_columns(title=said, least=value - off, most=value + off)
    x = alt.X("rtt_ms:O").title(f"base RTT, ms; diamonds: the paper's; bars: {paper.TOLERANCE:.0%}")
    share = "share, %; hollow: of TCP's bytes"
    ours = means(rows, "ours_percent", share, x=x, by="cc", apart=True)
    of_tcp = alt.Chart(rows).mark_point(filled=False).encode(x, alt.Y("of_tcp_percent"), color="cc")
    bars = alt.Chart(rows).mark_bar(color="#EDEDED").encode(x, alt.Y("least"), alt.Y2("most"))
    chart = bars + _diamonds(rows, x) + of_tcp.encode(xOffset="cc") + ours
    return facets(rows, chart, "title").resolve_scale(y="independent")


def ablation(found: Finding) -> Picture:
    """Draw an ablation: both CDG flows' share with its interval, per G and variant."""
    x = alt.X("g_ms:O").title("G, ms")
    chart = means(found.summary, BOTH, "share of both CDG flows, %", x=x, by="value", apart=True)
    return chart.properties(width=500, title=found.sentence.rstrip("."))


def _say_points(found: Found) -> str:
    return f"{len(found.groups)} of {len(found.sweep.points)} points have runs."


SHARES = Study(measure, lambda _found: [], about=_about, summary=_summary)
STUDIES: Mapping[Figure | None, Study] = {
    None: replace(SHARES, means=[ONE, BOTH], summary=None, say=_say_points),
    "figure2": replace(
        SHARES, curves=engine.of_first_runs(_over_time), say=_say_figure_2, draw=figure_2
    ),
    "figure3": replace(SHARES, require=_require_figure_3, draw=figure_3),
    "table1": replace(SHARES, require=_judge_table_1, draw=table_1),
    "ablation": replace(
        SHARES, require=_require_agreement, summary=_ablation, say=_say_ablation, draw=ablation
    ),
}
