# SPDX-License-Identifier: GPL-2.0-only
"""The model behind MBC, tested: the rate that it predicts against the rate that there is.

MBC, F(12) to F(14) of the framework paper, takes x = MSS / (RTT * P) for the rate at the price P,
in cuts of the mean window per RTT round, and sets w so that x is the rate asked for. It has two
sources of P (docs/design.md). One flow of ours runs beside N flows of CUBIC:

- *ladder*, at a fixed w: P = 1 / (w * B), B being the window that best effort would have;
- *CDG*, at a fixed G: P from the delay backoffs and the losses that the flow met.

`own` is what the module believes: from the prices and RTTs of its own updates of w (ladder), or
F(22) as the module has it, from the cuts made per round in which the window could grow and the mean
RTT (CDG). Others help to tell where its errors come from:

- `fair`, of the ladder: w / (w + N) of what is carried, what it is to be by its definition. Where
  `own` holds and `fair` does not, B is not CUBIC's window; the other way round, w * B is not sent.
- `all`, of CDG: as `own`, but cuts are counted per round, that of a cut too, in which the window
  cannot grow. So the module had it until that was found to be wrong by this sweep.
- `random`, of CDG: x = MSS (1 - b - l) / (RTT ((1 - beta) b + l / 2)), b and l being backoffs and
  losses per round. Cuts that come at random find the mean window, those of a sawtooth its peak.

MBC must be able to do its work with `own`. It multiplies the model's errors up, a
quarter of each interval's, and holds their product to 1/8 .. 8 (control_mbc_trim()): beyond that it
never gets to zeta. And 25 % at the median, either way: eight of the 128 intervals of a window leave
less than 3 % of that, and transfers aim 1/32 of the window early.
"""

import math
import statistics
from dataclasses import dataclass

import altair as alt
import polars as pl

from dalbe_testbed.charts import Picture, facets, series
from dalbe_testbed.errors import TestbedError
from dalbe_testbed.plan.schedule import SEGMENT_BYTES
from dalbe_testbed.plan.sweep import Point, Run, Sweep
from dalbe_testbed.study import engine, regimes
from dalbe_testbed.study.engine import Case, Finding, Found, Study, Verdict, judge
from dalbe_testbed.study.results import OURS, Results, Row, Window, rivals, weight
from dalbe_testbed.study.tradeoff import windows

MODELS = {"ladder": ("fair",), "CDG": ("all", "random")}
"""The models, and what the rate is predicted by besides `own`."""

LEAST_RATIO, MOST_RATIO = 1 / 8, 8.0
"""Range that 1 + eps can correct: DALBE_TRIM_MIN_Q16 and DALBE_TRIM_MAX_Q16."""

MEDIAN_PERCENT = 25.0
"""The median over points of the error of `own`, whatever its sign, at most."""

DELAY_CUT, LOSS_CUT = 1 - 724 / 1024, 1 / 2
"""Part of the window that a cut takes, C(5)."""


def model(point: Point) -> str:
    """Return which of MODELS a point tests: the ladder if our flow has a w."""
    return "CDG" if weight(point) is None else "ladder"


# --- the ladder ---


def ladder(updates: pl.DataFrame) -> float:
    """Return the rate that the ladder's model expects, Mbit/s: the mean over updates of w.

    updates: of one flow, as in control.parquet. Their price is 1 / B.
    """
    packets = pl.col("w_ppm") / pl.col("price_ppm")
    return float(updates.select((packets * SEGMENT_BYTES * 8 / pl.col("srtt_us")).mean()).item())


def _measure_ladder(
    results: Results, run: Run, during: Window, rates: pl.DataFrame
) -> tuple[dict[str, float], Row]:
    updates = during.of(results.table(run, "control")).filter(flow=OURS)
    if updates.is_empty():
        raise TestbedError(f"{run.directory}: control.parquet has no update of {OURS}")
    beside, w = rivals(run.point), weight(run.point)
    assert w is not None
    fair = during.mean_mbps(rates, [OURS, *beside]) * w / (w + len(beside))
    alone = regimes.alone_percent(results.table(run, "rounds"), [OURS], during)
    return {"own": ladder(updates), "fair": fair}, {"alone_percent": alone}


# --- CDG ---


@dataclass(frozen=True)
class Cuts:
    """RTT rounds in which CDG could grow, and its cuts, each with a round of its own.

    cut: mean part of the window that a backoff took.
    """

    growing: int
    backoffs: int
    losses: int
    cut: float

    @property
    def rounds(self) -> int:
        """All rounds."""
        return self.growing + self.backoffs + self.losses

    def packets(self) -> dict[str, float]:
        """Return the mean window by each prediction; inf without a cut that took something."""
        kinds = [(self.backoffs, self.cut), (self.losses, LOSS_CUT)]
        own = sum(count * cut / (1 - cut / 2) for count, cut in kinds)  # F(22), times rounds
        plain = DELAY_CUT * self.backoffs + LOSS_CUT * self.losses
        return {
            "own": self.growing / own if own else math.inf,
            "all": self.rounds / own if own else math.inf,
            "random": self.growing / plain if plain else math.inf,
        }


def count_cuts(rounds: pl.DataFrame, during: Window) -> Cuts:
    """Count rounds and cuts of one flow in rounds.parquet. Raises TestbedError without a round.

    The trace does not tell of losses, but they cut: to a window below the one that the round before
    left, or to a threshold no higher that no backoff has set. Nor is the round of a cut in it.
    """
    left = pl.when("backoff").then("ssthresh").otherwise("cwnd").shift(1)
    threshold = pl.col("ssthresh")
    moved = threshold.ne_missing(threshold.shift(1)) & (threshold <= left) & ~pl.col("backoff")
    seen = rounds.sort("t_s").select(
        "t_s",
        "backoff",
        (moved | (pl.col("cwnd") < left)).fill_null(value=False).alias("lost"),
        (1 - threshold / pl.col("cwnd")).clip(0).alias("cut"),
    )
    seen = during.of(seen)
    if seen.is_empty():
        raise TestbedError(f"no round from {during.start_s:g} s on")
    cuts = seen.filter("backoff")["cut"]
    backoffs, losses = cuts.len(), int(seen["lost"].sum())
    return Cuts(
        growing=seen.height,
        backoffs=backoffs,
        losses=losses,
        cut=float(cuts.mean()) if backoffs else 0.0,  # type: ignore[arg-type]
    )


def _measure_cdg(results: Results, run: Run, during: Window) -> tuple[dict[str, float], Row]:
    try:
        cuts = count_cuts(results.table(run, "rounds").filter(flow=OURS), during)
    except TestbedError as error:
        raise TestbedError(f"{run.directory}: rounds.parquet: {error}") from None
    samples = during.of(results.table(run, "connections")).filter(flow=OURS)
    means = samples.select(pl.col("srtt_ms", "cwnd_packets").mean()).row(0, named=True)
    srtt_ms = means["srtt_ms"]
    predicted = {
        name: packets * SEGMENT_BYTES * 8e-3 / srtt_ms for name, packets in cuts.packets().items()
    }
    return predicted, {
        "backoffs_per_round": cuts.backoffs / cuts.rounds,
        "losses_per_round": cuts.losses / cuts.rounds,
        "cut": cuts.cut,
        **means,
        "srtts_per_round": 1e3 * during.length_s / cuts.rounds / srtt_ms,
    }


# --- both ---


def measure(results: Results, run: Run, sweep: Sweep) -> Row:
    """Return rates in Mbit/s of TCP payload in the time that counts. Raises TestbedError.

    measured_mbps; what each prediction says, and by how much that is more, in percent, inf where
    the flow met no price; and what helps to tell where an error comes from.
    """
    _alone, during = windows(run.point.experiment, sweep.last_s)
    if during is None:
        raise TestbedError(f"last_s: {run.point.name} is not that long")
    rates = results.table(run, "rates")
    predicted, about = (
        _measure_cdg(results, run, during)
        if model(run.point) == "CDG"
        else _measure_ladder(results, run, during, rates)
    )
    measured = during.mean_mbps(rates, [OURS])
    row: Row = {"measured_mbps": measured}
    for name, mbps in predicted.items():
        ratio = mbps / measured if measured else math.inf
        row |= {
            f"{name}_mbps": mbps,
            f"{name}_error_percent": 100 * (ratio - 1),
            f"_{name}_ratio": ratio,
        }
    return row | about


def _require(found: Found) -> list[Verdict]:
    """Judge either model that the sweep has points of: every run, and the median of the points."""
    verdicts = []
    for name in MODELS:
        points = [point for point in found.sweep.points if model(point) == name]
        wanted = [found.at(point) for point in points]
        errors = [
            statistics.fmean(group.values("own_error_percent")) for group in wanted if group.rows
        ]
        cases = []
        if errors:
            median = statistics.median(map(abs, errors))
            what = f"median of {len(errors)} points: {median:.1f} %"
            lacks = sum(group.missing for group in wanted)
            cases = [Case("", what, median <= MEDIAN_PERCENT, lacks)]
        if wanted:
            said = f"within {LEAST_RATIO:g} to {MOST_RATIO:g} of what there is, in every run"
            said, ratios = f"{name}: predicted by own state {said}", (LEAST_RATIO, MOST_RATIO)
            verdicts += [
                found.judge_every(said, "_own_ratio", points, ratios),
                judge(f"{name}: off by at most {MEDIAN_PERCENT:g} % at the median", cases),
            ]
    return verdicts


def _about(point: Point) -> Row:
    return {
        **engine.settings(point),
        "model": model(point),
        "g_ms": point.experiment.flows[0].fixed_g_ms,
        "others": len(rivals(point)),
    }


def draw(found: Finding) -> Picture:
    """Draw each point's mean rates: filled as the module predicts, hollow by another prediction."""
    rows = found.summary.sort("model", "rtt", "others").with_columns(
        second=pl.coalesce(pl.col("^(fair|all)_mbps$"))
    )
    second = ", ".join(f"'{by[0]}' of {name}" for name, by in MODELS.items())
    x = alt.X("measured_mbps").title(f"measured, Mbit/s; hollow: {second}").scale(type="log")
    off = f"dashed: {MEDIAN_PERCENT:g} % off; dotted: what 1 + eps can correct"
    said = ["predicted by the flow's own state, Mbit/s", off]
    colour = alt.Color(**series(rows, "rtt", "base RTT, ms"))
    point = alt.Chart(rows).encode(x, colour, alt.Shape(**series(rows, "others", "CUBIC flows")))
    own = point.mark_point().encode(alt.Y("own_mbps").title(said).scale(type="log"))
    hollow = point.mark_point(filled=False, opacity=0.5).encode(alt.Y("second").title(said))
    part, dash = MEDIAN_PERCENT / 100, [5, 4]
    factors = {1: [1, 0], 1 - part: dash, 1 + part: dash, LEAST_RATIO: [1, 3], MOST_RATIO: [1, 3]}
    lines = [
        alt.Chart(rows)
        .transform_calculate(at=f"{factor} * datum.measured_mbps")
        .mark_line(color="black", strokeDash=dash, strokeWidth=0.8)
        .encode(x, alt.Y("at:Q").title(said))
        for factor, dash in factors.items()
    ]
    chart = alt.layer(own, hollow, *lines).properties(height=320)
    return facets(rows, chart, "model").resolve_scale(x="independent", y="independent")


STUDY = Study(measure, _require, about=_about, draw=draw)
