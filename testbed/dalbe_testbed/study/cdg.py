# SPDX-License-Identifier: GPL-2.0-only
"""The CDG paper's Figures 2 and 3 and Table I beside ours, and ablations of its cell.

Everything is about shares of the link, see `results`. A *curve* is a module's share over G at one
base RTT, all other settings being equal. A sweep without `figure` is measured likewise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from dalbe_testbed.papers import cdg as paper
from dalbe_testbed.papers.cdg import MODULES
from dalbe_testbed.plan.sample import Value
from dalbe_testbed.plan.sweep import Figure, Point, Run, Sweep, axis
from dalbe_testbed.study import engine, stats
from dalbe_testbed.study.engine import Case, Found, Study, Verdict, interval, judge
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
        curves.append(
            found.results.table(first, "rates")
            .filter(
                pl.col("flow").is_in([flow.name for flow in what.flows]),
                pl.col("t_s") < what.duration_s,
            )
            .group_by(pl.col("t_s") // SMOOTH_S * SMOOTH_S, "flow", maintain_order=True)
            .agg(percent=pl.col("sent_bytes").sum() * 800 / SMOOTH_S / what.link.rate_bps)
            .sort("t_s", "flow")
            .select(pl.lit(cc(point)).alias("cc"), pl.lit(g_ms(point)).alias("g_ms"), pl.all())
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
    """What one change to the cell does to both CDG flows' share, in percentage points.

    axis: what was changed, of whose values `base` is the usual one. agrees: within the spread.
    """

    point: Point
    axis: str
    base: Value
    change: Estimate
    agrees: bool

    @property
    def changed(self) -> str:
        """What was changed, in words."""
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
    ),
    "figure3": Study(measure, _require_figure_3, about=_about, summary=_summary),
    "table1": Study(measure, _judge_table_1, about=_about, summary=_summary),
    "ablation": Study(
        measure, _require_agreement, about=_about, summary=_ablation, say=_say_ablation
    ),
}
