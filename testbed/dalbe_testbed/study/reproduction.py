# SPDX-License-Identifier: GPL-2.0-only
"""Findings: the paper's figures and table beside ours, the ablations, and the verdicts on them.

Everything said here is computed from the runs; what was not run is not claimed.
"""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

import polars as pl

from dalbe_testbed.papers import cdg as paper
from dalbe_testbed.papers.cdg import MODULES
from dalbe_testbed.plan.sample import Value
from dalbe_testbed.plan.sweep import Point, Sweep, axis
from dalbe_testbed.study import stats
from dalbe_testbed.study.engine import Verdict
from dalbe_testbed.study.results import Results, Row, cc, frame, g_ms, names, rtt_ms
from dalbe_testbed.study.stats import Estimate

POINTS = "points"  # percentage points, as the report says it
POSSIBLE_CAUSES = {"kernel", "hz", "delay"}  # axes on which the paper's testbed may differ


# --- Table I and Figure 2 ---


@dataclass(frozen=True)
class Deviation(paper.Value):
    """A value of the paper's beside what a module got; None without a run.

    ours: of the link. of_tcp: of what all TCP flows got, where the paper can be read that way.
    """

    module: str
    ours: Estimate | None
    of_tcp: Estimate | None = None

    @property
    def difference(self) -> float | None:
        """Ours less the paper's, in percentage points."""
        return None if self.ours is None else self.ours.mean - self.percent

    @property
    def within(self) -> bool:
        """Whether ours is near enough to the paper's; not so without a run."""
        return self.difference is not None and abs(self.difference) <= self.allowed


def deviations(results: Results, where: str) -> list[Deviation]:
    """Return the values of "Table I" or "Figure 2" that were to be run, each of both modules."""
    cells = {
        (cc(point), g_ms(point), rtt_ms(point)): results.at(point)
        for sweep in results.sweeps
        for point in sweep.points
        if point.directory.startswith("runs/cell/") and set(point.values) == {"cc", "g", "rtt"}
    }
    return [
        Deviation(
            **asdict(value),
            module=module,
            ours=measured.mean(f"{value.column}_percent"),
            of_tcp=measured.mean(f"_{value.column}_of_tcp_percent"),
        )
        for (g, rtt), values in paper.stated(where).items()
        for module in MODULES
        if (measured := cells.get((module, g, rtt)))
        for value in values
    ]


# --- Figure 3: share over G ---


@dataclass(frozen=True)
class Curve:
    """A module's share over G at one base RTT.

    shares: both flows' in each run, by rising G in ms; only those with runs. others: what else the
    curve has in common, in words: "link.rate_mbps 40"; empty for the paper's.
    """

    module: str
    rtt_ms: float
    shares: Mapping[float, Sequence[float]]
    others: str = ""

    @property
    def name(self) -> str:
        """The curve's name: module, base RTT, other settings."""
        words = [MODULES.get(self.module, self.module), f"{self.rtt_ms:g} ms", self.others]
        return ", ".join(filter(None, words))

    @property
    def means(self) -> dict[float, Estimate]:
        """Both flows' mean share, by G."""
        return {g: stats.estimate(shares) for g, shares in self.shares.items()}


def curves(results: Results, sweep: Sweep) -> list[Curve]:
    """Return the curves of Figure 3 that a sweep holds."""
    found: dict[tuple[str, float, str], dict[float, list[float]]] = {}
    for point in sweep.points:
        others = ", ".join(
            f"{name} {value}"
            for name, value in point.values.items()
            if name not in ("cc", "g", "exact_g", "rtt")
        )
        curve = found.setdefault((cc(point), rtt_ms(point), others), {})
        if both := results.at(point).values("both_percent"):
            curve[g_ms(point) or 0.0] = both
    return [
        Curve(module, rtt, dict(sorted(shares.items())), others)
        for (module, rtt, others), shares in sorted(found.items())
    ]


# --- ablations ---


@dataclass(frozen=True)
class Effect:
    """Effect of one change to the cell on both CDG flows' share at one G (ms), in points."""

    axis: str
    value: Value
    base: Value
    g_ms: float
    change: Estimate
    agrees: bool  # within the spread of the runs

    @property
    def beyond_doubt(self) -> bool:
        """Whether the interval of the change excludes none."""
        return self.change.low is not None and not self.change.contains(0)

    def __str__(self) -> str:
        """Return the effect in words: what, how much, at which G."""
        return (
            f"{axis(self.axis).say(self.value)} instead of {self.base}: "
            f"{self.change.mean:+.1f} {POINTS} at G = {self.g_ms:g} ms"
        )


def effects(results: Results, sweep: Sweep) -> list[Effect]:
    """Return the effects of an ablation's changes; those whose runs are missing are left out.

    Each is against the point that differs in the axis's value only, which is its default.
    """
    assert sweep.vary is not None
    default = {sweep.vary: axis(sweep.vary).default}
    found = []
    for point in sweep.points:
        base = next((it for it in sweep.points if it.values == point.values | default), point)
        changed, usual = (results.at(p).values("both_percent") for p in (point, base))
        if base is not point and changed and usual:
            found.append(
                Effect(
                    axis=sweep.vary,
                    value=point.values[sweep.vary],
                    base=base.values[sweep.vary],
                    g_ms=g_ms(point) or 0,
                    change=stats.difference(changed, usual),
                    agrees=max(len(changed), len(usual)) > 1 and stats.agree(changed, usual),
                )
            )
    return found


def ablations(results: Results) -> Iterator[tuple[Sweep, list[Effect]]]:
    """Yield the ablations among the sweeps, each with its effects."""
    for sweep in results.sweeps:
        if sweep.figure == "ablation":
            yield sweep, effects(results, sweep)


def largest(found: Sequence[Effect]) -> Effect | None:
    """Return the effect with the largest mean, of those beyond doubt; None if there is none."""
    return max(
        (effect for effect in found if effect.beyond_doubt),
        key=lambda effect: abs(effect.change.mean),
        default=None,
    )


def likely_cause(deviation: Deviation, found: Sequence[Effect]) -> str:
    """Return what may explain a deviation: chance, else the ablations that move it the same way.

    Only changes that the paper's testbed may have had count (POSSIBLE_CAUSES).
    """
    if deviation.ours is None or deviation.difference is None:
        return "no run"
    if deviation.ours.contains(deviation.percent):
        return "none: the paper's value is inside the interval"
    same_way = [
        effect
        for effect in found
        if effect.axis in POSSIBLE_CAUSES
        and effect.g_ms == deviation.g_ms
        and effect.beyond_doubt
        and effect.change.mean * deviation.difference < 0  # it brings ours nearer to the paper's
    ]
    if same_way:
        return "; ".join(
            f"{axis(e.axis).say(e.value)} moves both flows' share by {e.change.mean:+.1f} at 50 ms"
            for e in sorted(same_way, key=lambda e: -abs(e.change.mean))
        )
    tested = sorted({effect.axis for effect in found} & POSSIBLE_CAUSES)
    excluded = f"not {', '.join(tested)} as tested; " if tested else ""
    return f"{excluded}open: {', '.join(paper.UNTESTED)}"


# --- verdicts ---


def _verdict_of(it: Deviation) -> Verdict:
    return Verdict(
        f"{it.where.replace(',', f', {it.rtt_ms:g} ms,')}, {MODULES[it.module]}: "
        f"{it.percent:g} % +- {it.allowed:.1f} {POINTS}",
        it.within,
        "no run" if it.ours is None else f"{it.ours} %",
    )


def verdict_of_curve(curve: Curve) -> Verdict:
    """Judge whether the share rises with G; a curve that cannot show it does not."""
    requirement = f"share rises with G, {curve.name}: no inversion beyond the intervals"
    means = list(curve.means.items())
    if len(means) < 2:  # noqa: PLR2004 (a curve needs two)
        return Verdict(requirement, met=False, detail=f"{len(means)} points have runs")
    if any(mean.low is None for _g, mean in means):
        return Verdict(requirement, met=False, detail="a point has a single run: no interval")
    falls = stats.inversions([mean for _g, mean in means])
    ends = [(*means[i], *means[j]) for i, j in falls]
    said = "; ".join(f"{high} at G = {g:g} ms, {low} at {at:g} ms" for g, high, at, low in ends)
    return Verdict(requirement, not falls, said or f"{len(means)} points")


def verdicts(results: Results) -> list[Verdict]:
    """Return the verdict on everything that the sweeps were to show."""
    missing = len(results.missing)
    found = [
        Verdict(f"all {results.planned} runs are there", missing == 0, f"{missing} are missing")
    ]
    found += map(_verdict_of, deviations(results, "Table I"))
    for sweep in results.sweeps:
        if sweep.figure == "figure3":
            found += [verdict_of_curve(curve) for curve in curves(results, sweep)]
    for sweep, changes in ablations(results):
        if sweep.vary == "backend":
            found += [
                Verdict(
                    f"{change.value} agrees with {change.base} within the spread, "
                    f"G = {change.g_ms:g} ms",
                    change.agrees,
                    f"differs by {change.change} {POINTS}",
                )
                for change in changes
            ] or [Verdict(f"{sweep.title}: agreement", met=False, detail="no run to compare")]
    return found


# --- tables ---


def table_1_frame(results: Results) -> pl.DataFrame:
    """Return Table I as table1.csv has it: a row per value and module, shares in percent."""
    return frame(
        {
            "rtt_ms": it.rtt_ms,
            "which": it.which,
            "module": it.module,
            "paper": it.percent,
            "tolerance_points": it.allowed,
            "within": it.within,
            **_columns(it.ours),
            "mean_of_tcp": None if it.of_tcp is None else it.of_tcp.mean,
        }
        for it in deviations(results, "Table I")
    )


def points_frame(results: Results, sweep: Sweep) -> pl.DataFrame:
    """Return a sweep's points as figure3.csv has them: both flows' share in percent, a row each."""
    return frame(
        {
            "point": point.name,
            "cc": cc(point),
            "g_ms": g_ms(point),
            "effective_g_ms": point.experiment.flows[0].g_ms,
            "rtt_ms": rtt_ms(point),
            **_columns(results.at(point).mean("both_percent")),
            "min": min(both, default=None),
            "max": max(both, default=None),
        }
        for point in sweep.points
        for both in [results.at(point).values("both_percent")]
    )


def _columns(estimate: Estimate | None) -> Row:
    return asdict(estimate) if estimate else {"mean": None, "low": None, "high": None, "n": 0}


# --- sentences ---


def say_table_1(results: Results) -> str:
    """Say how much of Table I was reproduced."""
    found = deviations(results, "Table I")
    parts = []
    for module, name in MODULES.items():
        if held := [it.within for it in found if it.module == module]:
            parts.append(f"{sum(held)} of {len(held)} with {name}")
    said = (
        f"Values of Table I within {paper.TOLERANCE:.0%} or {paper.TOLERANCE_POINTS:g} points: "
        f"{', '.join(parts)}."
    )
    off = [
        statistics.fmean(abs(estimate.mean / percent - 1) for estimate, percent in pairs)
        for pairs in (
            [(it.ours, it.percent) for it in found if it.ours],
            [(it.of_tcp, it.percent) for it in found if it.of_tcp],
        )
        if pairs
    ]
    if len(off) == 2:  # noqa: PLR2004 (both readings)
        said += (
            f" As shares of the link, ours are off by {off[0]:.0%} on average; as shares of what "
            f"all TCP flows got, by {off[1]:.0%}."
        )
    return said


def say_curves(found: Sequence[Curve]) -> str:
    """Say what range G tunes over, and whether the share rises with it."""
    parts = []
    for module in dict.fromkeys(curve.module for curve in found):
        means = [
            (mean.mean, g, curve.rtt_ms)
            for curve in found
            if curve.module == module
            for g, mean in curve.means.items()
        ]
        if not means:
            continue
        low, high = min(means), max(means)
        parts.append(
            f"{MODULES.get(module, module)}: from {low[0]:.1f} % of the link (G = {low[1]:g} ms, "
            f"{low[2]:g} ms) to {high[0]:.1f} % (G = {high[1]:g} ms, {high[2]:g} ms)"
        )
    verdict = [verdict_of_curve(curve) for curve in found]
    rising = sum(item.met for item in verdict)
    return f"{'; '.join(parts)}. The share rises with G on {rising} of {len(verdict)} curves."


def say_figure_2(results: Results, module: str) -> str:
    """Say what two CDG flows and two CUBIC flows get at each G of Figure 2."""
    parts = []
    for point in figure_2_points(results, module):
        first = results.at(point).rows[0]
        cdg, cubic = (
            sum(first[f"{name}_percent"] for name in names(point, host))
            for host in ("sender", "xsender")
        )
        parts.append(f"{cdg:.0f} % against {cubic:.0f} % at G = {g_ms(point):g} ms")
    return f"Two {MODULES[module]} flows against two CUBIC flows: {', '.join(parts)}."


def figure_2_points(results: Results, module: str) -> list[Point]:
    """Return the points of Figure 2 that have runs, by rising G."""
    points = {
        point.directory: point
        for sweep in results.sweeps
        if sweep.figure == "figure2"
        for point in sweep.points
        if cc(point) == module and results.at(point).rows
    }
    return sorted(points.values(), key=lambda point: g_ms(point) or 0)


def say_effects(sweep: Sweep, found: Sequence[Effect]) -> str:
    """Say what an ablation found."""
    if not found:
        return f"{sweep.title}: no runs to compare."
    if top := largest(found):
        return f"Largest effect: {_say_effect(top)}."
    most = max(found, key=lambda effect: abs(effect.change.mean))
    return f"{sweep.title}: no effect beyond the intervals (largest mean: {most})."


def say_largest(results: Results) -> str | None:
    """Name the largest effect of all ablations; None if no ablation was run."""
    of_sweeps = [changes for sweep, changes in ablations(results) if sweep.vary != "backend"]
    found = [effect for changes in of_sweeps for effect in changes]
    if top := largest(found):
        return f"The largest effect of all ablations: {_say_effect(top)}."
    return "No ablation has an effect beyond its interval." if found else None


def _say_effect(effect: Effect) -> str:
    return f"{effect} [{effect.change.low:+.1f}, {effect.change.high:+.1f}]"
