# SPDX-License-Identifier: GPL-2.0-only
"""LEDBAT's evaluation: four scavengers that begin one after another, and a call beside one.

A run of the four has a row per phase: after the last has come, beside the upload, after it, beside
web requests, and at the end. Rates are TCP payload. In a call's run the delay that counts is its
mean from our start on, less its mean before.
"""

import math
from collections.abc import Mapping

import altair as alt
import polars as pl

from dalbe_testbed.charts import Picture, curves, facets, words
from dalbe_testbed.plan.experiment import Experiment
from dalbe_testbed.plan.sweep import Point, Run, Sweep
from dalbe_testbed.study import engine
from dalbe_testbed.study.engine import Case, Finding, Found, Study, Verdict, who
from dalbe_testbed.study.results import Group, Results, Row, Window
from dalbe_testbed.study.tradeoff import SETTLED_S

FLOWS = ("first", "second", "third", "fourth")
JOINED_S, LAST_S = 60.0, 30.0
"""The four have joined so long after the last began; so long before the web requests, and at the
end, counts."""

DEVIATION_PERCENT = 20.0
"""Required of ours once joined: each flow's rate off the mean of the four, at most."""

CALLED, PAPER_MS, PAPER_MBPS, FACTOR = "ledbat-slow-start", 35.0, 1.0, 1.5
"""The paper's call beside LEDBAT, whose slow start is seen in it: the delay added on average, at
this rate; to be met by a factor."""

OUR_WHO, HALF = "w0.01", 0.5
"""Required of ours: so much of the delay that LEDBAT adds, at most."""

SEED, CURVE_S = 1, 10.0
"""The picture shows this seed, in bins of so many seconds."""

CURVES = {"t_s": pl.Float64, "flow": pl.String, "mbps": pl.Float64}
CURVES |= {"scene": pl.String, "who": pl.String}


def phases(what: Experiment) -> Mapping[str, Window]:
    """Return which part of a run counts for each phase."""
    flows, short = {flow.name: flow for flow in what.flows}, what.short_flows
    assert short is not None
    upload_s, web_s = flows["upload"].start_s, short.start_s
    done_s = upload_s + (flows["upload"].duration_s or 0)
    joined_s = max(flows[name].latest_start_s for name in FLOWS) + JOINED_S
    return {
        "joined": Window(joined_s, upload_s),
        "upload": Window(upload_s + SETTLED_S, done_s),
        "after": Window(web_s - LAST_S, web_s),
        "web": Window(web_s, what.short_flows_stop_s),
        "end": Window(what.duration_s - LAST_S, what.duration_s),
    }


def _phase(results: Results, run: Run, name: str, window: Window) -> Row:
    """Return what a phase shows; off_percent and late_percent are null if nobody sent.

    off_percent: how far a flow is off the mean of the four, the furthest. late_percent: by how much
    the last exceeds the mean of the others.
    """
    rates = results.table(run, "rates")
    every = [window.mean_mbps(rates, [flow]) for flow in FLOWS]
    total, mean = window.mean_mbps(rates, rates["flow"].unique().to_list()), sum(every) / len(every)
    others = sum(every[:-1]) / len(every[:-1])
    row: Row = {"phase": name} | {f"{n}_mbps": x for n, x in zip(FLOWS, every, strict=True)}
    row |= {
        "ours_mbps": sum(every),
        "share_percent": 100 * sum(every) / total if total else None,
        "off_percent": 100 * max(abs(x / mean - 1) for x in every) if mean else None,
        "late_percent": 100 * (every[-1] / others - 1) if others else None,
        "queue_ms": window.of(results.table(run, "queue"))["queue_ms"].mean(),
    }
    if name == "web":
        requests = results.table(run, "requests")
        seconds = (requests["end_s"] - requests["start_s"]).fill_null(float("inf"))
        row |= {
            "median_s": seconds.quantile(0.5, "higher"),
            "p95_s": seconds.quantile(0.95, "higher"),
        }
    return row


def _call(results: Results, run: Run) -> Row:
    """Return what the flow adds to the call's delay; null if no packet arrived, then or before."""
    first, t_s, queue_ms = run.point.experiment.flows[0], pl.col("t_s"), pl.col("queue_ms")
    before_ms = queue_ms.filter(t_s < first.start_s).mean()
    beside = queue_ms.filter(t_s >= first.latest_start_s)
    call = results.table(run, "voice").select(
        added_ms=beside.mean() - before_ms,
        added_p95_ms=beside.quantile(0.95, "linear") - before_ms,
        lost_percent=100 * beside.null_count() / pl.max_horizontal(1, beside.len()),
    )
    window = Window(first.latest_start_s + SETTLED_S, run.point.experiment.duration_s)
    mbps = window.mean_mbps(results.table(run, "rates"), [first.name])
    return {"phase": "call", "ours_mbps": mbps} | call.row(0, named=True)


def measure(results: Results, run: Run, _sweep: Sweep) -> list[Row]:
    """Return a run's rows, one per phase or one of its call."""
    what = run.point.experiment
    if what.voice:
        return [_call(results, run)]
    return [_phase(results, run, name, window) for name, window in phases(what).items()]


def _joined(group: Group) -> list[Row]:
    """Return the rows of the phase in which the four have joined."""
    return [row for row in group.rows if row["phase"] == "joined"]


def _latecomer(group: Group) -> Case:
    """Return whether the last has the most in every run."""
    if not (rows := _joined(group)):
        return Case("", "no run", met=False, missing=group.missing, measured=False)
    late = [row["late_percent"] or 0.0 for row in rows]
    most = sum(row["fourth_mbps"] == max(row[f"{name}_mbps"] for name in FLOWS) for row in rows)
    said = f"in {most} of {len(rows)}; {min(late):.0f} to {max(late):.0f} % above the others' mean"
    return Case("", said, most == len(rows), group.missing)


def _together(group: Group) -> Case:
    """Return whether each of the four is near their mean in every run."""
    rows = _joined(group)
    off = [float("inf") if row["off_percent"] is None else row["off_percent"] for row in rows]
    said = ", ".join(f"{value:.0f}" for value in sorted(off)) + " %" if off else "no run"
    met = bool(off) and max(off) <= DEVIATION_PERCENT
    return Case("", said, met, group.missing, measured=bool(off))


def _require(found: Found) -> list[Verdict]:

    def at(scene: str, name: str) -> list[Point]:
        points = found.sweep.points
        return [p for p in points if p.values["scene"] == scene and who(p) == name]

    def calls(name: str) -> list[Point]:
        return [p for p in at("voice", name) if p.experiment.link.rate_mbps == PAPER_MBPS]

    verdicts = []
    if others := at("equal", "ledbat"):
        text = "LEDBAT: the last to come has the most, in every run"
        verdicts.append(found.judge(text, others, _latecomer))
    if four := at("equal", OUR_WHO):
        text = f"ours: four within {DEVIATION_PERCENT:g} % of their mean, in every run; off by"
        verdicts.append(found.judge(text, four, _together))
    theirs, mine = calls(CALLED), calls(OUR_WHO)
    if theirs and mine:  # neither if the rate is another, or LEDBAT is left out
        ledbat = found.at(theirs[0]).mean("added_ms")
        half_ms = HALF * ledbat.mean if ledbat else -math.inf
        near = f"LEDBAT adds {PAPER_MS:g} ms to a call on average, within a factor of {FACTOR:g}"
        half = "ours adds at most half of what LEDBAT adds to a call"
        bounds = {"least": PAPER_MS / FACTOR, "most": PAPER_MS * FACTOR, "form": "{} ms"}
        verdicts += [
            found.judge_mean(near, "added_ms", theirs, **bounds),
            found.judge_mean(half, "added_ms", mine, most=half_ms, form="{} ms"),
        ]
    return verdicts


MEANS = (
    *(f"{name}_mbps" for name in FLOWS),
    *("ours_mbps", "share_percent", "off_percent", "late_percent", "queue_ms", "median_s", "p95_s"),
    *("added_ms", "added_p95_ms", "lost_percent"),
)


def _curve(results: Results, group: Group) -> pl.DataFrame:
    """Return the rates of every flow over time, of the seed that is drawn; not of calls."""
    if group.point.experiment.voice or not group.of_seed(SEED):
        return pl.DataFrame(schema=CURVES)
    rates = results.mbps(Run(group.point, SEED), CURVE_S, "payload_bytes")
    place = {name: pl.lit(str(group.point.values[name])) for name in ("scene", "who")}
    return rates.sort("flow", "t_s").with_columns(**place)


def draw(found: Finding) -> Picture:
    """Draw the rate of every flow over time, as the paper's Figures 2, 4 and 5."""
    rows = found.curves.filter(pl.col("flow").is_in([*FLOWS, "upload", "requests"]))
    rows = rows.sort("who", "scene", maintain_order=True)
    rows = rows.with_columns(title=words("{}, {}", "who", "scene"))
    x, y = alt.X("t_s").title(f"s; seed {SEED}"), alt.Y("mbps").title("Mbit/s")
    return facets(rows, curves(rows, x, y, "flow"), "title", max(1, rows["scene"].n_unique()))


STUDY = Study(
    measure,
    _require,
    MEANS,
    by=["phase"],
    counts=lambda group: {"worst_off_percent": max(group.values("off_percent"), default=None)},
    curves=engine.by_point(_curve),
    draw=draw,
)
