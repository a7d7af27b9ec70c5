# SPDX-License-Identifier: GPL-2.0-only
"""Use of an idle link against the share taken from others: what a scavenger is judged by.

In these experiments the flows of host `sender` have the link to themselves at first; then those of
host `xsender` come and stay. Either phase may be missing. Rates are TCP payload. The axis `who`
says whose the flows of `sender` are; use is in percent of what CUBIC's got at equal other settings.
"""

from typing import Any

import altair as alt
import polars as pl

from dalbe_testbed.charts import BLUE, Picture, means, words
from dalbe_testbed.errors import TestbedError
from dalbe_testbed.paths import EXPERIMENTS
from dalbe_testbed.plan.experiment import Experiment, load
from dalbe_testbed.plan.sweep import Point, Run, Sweep, axis, label
from dalbe_testbed.study import regimes
from dalbe_testbed.study.engine import Against, Finding, Found, Study, Verdict
from dalbe_testbed.study.results import Results, Row, Window, names, weight

SETTLED_S = 10.0
"""Seconds after a flow's start that do not count: `dynamics` measures arrivals."""

YARDSTICK = "cubic"
"""The congestion control whose use of the idle link counts as all of it."""

NOBODY = "nobody"
"""The value of `who` whose runs say what the others get where ours do not send."""

STANDARD = EXPERIMENTS / "scavenger.toml"
"""The standard cell."""

LEAST_W, USE_PERCENT, QUEUE_MS, SHARE_PERCENT = 0.01, 97.0, 10.0, 3.0
"""Limits at this weight in the standard cell: use at least, mean queue below, share at most."""

CORNER = "strict_priority"
"""The limit of every scavenger: CUBIC flows that a scheduler lets send when nobody else does."""


def _window(start_s: float, end_s: float, last_s: float | None) -> Window | None:
    """Return what counts of a phase; None if that is not there."""
    begin_s = start_s + SETTLED_S if last_s is None else end_s - last_s
    return Window(begin_s, end_s) if start_s <= begin_s < end_s else None


def windows(
    experiment: Experiment, last_s: float | None = None
) -> tuple[Window | None, Window | None]:
    """Return when `sender` is alone and when it is not, as far as that counts.

    last_s: the seconds at the end of each phase that count; by default all but the first
    SETTLED_S. None for a phase that is not there, or not that long.
    """
    ours = [flow.latest_start_s for flow in experiment.flows if flow.host == "sender"]
    theirs = [flow for flow in experiment.flows if flow.host == "xsender"]
    if not theirs:
        return _window(max(ours), experiment.duration_s, last_s), None
    together_s = max([*ours, *(flow.latest_start_s for flow in theirs)])
    return (
        _window(max(ours), min(flow.start_s for flow in theirs), last_s),
        _window(together_s, experiment.duration_s, last_s),
    )


ERRORS = ("yields_per_minute", "held_percent", "carried_on_percent")
"""How the regime errs, of our flows only: how often each yielded while alone, for how much of
that time it held back, and for how much of the time with others it did not."""

MEASURES = ("alone_mbps", "queue_ms", "queue_p95_ms", "share_percent", "others_mbps", *ERRORS)
"""Measures of a run, where it has such a phase. alone_mbps: while alone. queue_ms, queue_p95_ms:
mean and 95th percentile of the bins' queues meanwhile. share_percent: of all TCP payload while the
others are there. others_mbps: what these get then."""


def measure(results: Results, run: Run, sweep: Sweep) -> Row:
    """Return what a run shows of MEASURES.

    Raises TestbedError if one of its tables is missing or damaged, or no phase is long enough.
    """
    idle_phase, busy_phase = windows(run.point.experiment, sweep.last_s)
    if idle_phase is None and busy_phase is None:
        raise TestbedError(f"{sweep.name}.toml: last_s: no phase of {run.point.name} is that long")
    ours = names(run.point, "sender")
    weighted = [flow.name for flow in run.point.experiment.flows if flow.w is not None]
    rates = results.table(run, "rates")
    found: Row = {}
    if idle_phase is not None:
        queue = idle_phase.of(results.table(run, "queue"))["queue_ms"]
        found["alone_mbps"] = idle_phase.mean_mbps(rates, ours)
        found["queue_ms"] = queue.mean()
        found["queue_p95_ms"] = queue.quantile(0.95, "linear")
    if busy_phase is not None:
        mbps = busy_phase.mean_mbps(rates, ours)
        others = busy_phase.mean_mbps(rates, names(run.point, "xsender"))
        found["share_percent"] = 100 * mbps / (mbps + others)
        found["others_mbps"] = others
    if weighted:
        rounds = results.table(run, "rounds")
        try:
            if idle_phase is not None:
                yields = regimes.yields_per_minute(rounds, weighted, idle_phase)
                found["yields_per_minute"] = yields
                found["held_percent"] = 100 - regimes.alone_percent(rounds, weighted, idle_phase)
            if busy_phase is not None:
                carried_on = regimes.alone_percent(rounds, weighted, busy_phase)
                found["carried_on_percent"] = carried_on
        except TestbedError as error:
            raise TestbedError(f"{run.directory}: {error}") from None
    return found


USE = Against("_use_percent", "alone_mbps", YARDSTICK, lambda own, whole: 100 * own / whole)
"""Use of the idle link in percent of the yardstick's mean; null without a run of it while alone."""


def harm(who: str, *whatever: str) -> Against:
    """Return the column of by how much the others' goodput is below their mean beside `who`.

    In percent; negative: above. Null for the flows of `who`, and where there is no run of them.
    whatever: axes in which such a run may differ.
    """
    return Against(
        "_harm_percent",
        "others_mbps",
        who,
        lambda mbps, whole: 100 * (1 - mbps / whole),
        itself=False,
        whatever=whatever,
    )


def judge_use(found: Found, least_percent: float) -> Verdict:
    """Judge our flows' use of the idle link by what CUBIC gets there."""
    said = f"alone at least {least_percent:g} % of what {YARDSTICK.upper()} gets there"
    return found.judge_mean(said, USE.name, found.ours, least=least_percent)


def _cell(what: Experiment) -> Any:
    """Return an experiment but for its names, and for whose the flows of `sender` are."""
    others = [flow for flow in what.flows if flow.host == "xsender"]
    return what.model_dump(exclude={"name", "title", "flows"}), others


def judged(point: Point) -> bool:
    """Return whether the limits are for the flows of a point, by their weight and their cell."""
    return weight(point) == LEAST_W and _cell(point.experiment) == _cell(load(STANDARD))


def _require(found: Found) -> list[Verdict]:
    """Judge LEAST_W in the standard cell; nothing where that is not in the sweep."""
    points = [point for point in found.ours if judged(point)]

    if not points:
        return []
    cell = f"w = {LEAST_W:g} in the standard cell"
    use = f"{cell}: use at least {USE_PERCENT:g} % of CUBIC's alone"
    queue = f"{cell}: mean queue alone below {QUEUE_MS:g} ms"
    share = f"{cell}: share of two CUBIC flows' link at most {SHARE_PERCENT:g} %"
    return [
        found.judge_mean(use, USE.name, points, least=USE_PERCENT),
        found.judge_mean(queue, "queue_ms", points, below=QUEUE_MS, form="{} ms"),
        found.judge_mean(share, "share_percent", points, most=SHARE_PERCENT),
    ]


def _in_common(rows: pl.DataFrame) -> str:
    """Return where all rows' flows are, as "pie, rtt50": which axes are not at their default."""
    own = rows.columns[1 : rows.columns.index("w")]  # as settings() has them
    values = {name: rows[name].unique().to_list() for name in own if name != "who"}
    return ", ".join(
        label(name, some[0])
        for name, some in values.items()
        if len(some) == 1 and some[0] not in (None, axis(name).default)
    )


def draw(found: Finding) -> Picture:
    """Draw use of an idle link over the share taken from others: ours over w, peers as points.

    The axis begins at 1 %, or below the smallest share above 0; a share of 0 is drawn at its end.
    The corner, a strict-priority scheduler, is off that end: the title has its figures, or those of
    theory if it was not run.
    """
    rows = found.summary.filter(pl.col("who") != CORNER)
    left = min([1.0, *(0.8 * share for share in rows["share_percent"].drop_nulls() if share > 0)])
    ours, where = pl.col("w").is_not_null(), _in_common(rows)
    peer = pl.col("who").str.replace("-g", ", G = ")
    rows = rows.with_columns(
        pl.col("^share_percent.*$").clip(left),  # its interval, too
        kind=pl.when(ours).then(pl.lit("dalbe_cdg at weight w")).otherwise(peer),
    ).sort("w", nulls_last=True)
    share, own = pl.col("share_percent"), rows.filter(ours)
    close = (share >= 1.25 * share.shift()).fill_null(value=True).cum_sum().alias("label")
    labels = own.group_by(close, maintain_order=True).agg(
        pl.first("share_percent", "use_percent"),
        w=words("{}", "w").unique(maintain_order=True).str.join(", "),
    )
    x, y = alt.X("share_percent").title("share taken from others, %"), alt.Y("use_percent")
    x, use = x.scale(type="log", domain=(left, 100)), "use of an idle link, % of CUBIC's"
    points = means(rows, "use_percent", use, x=x, by="kind", line=True)
    ends = alt.X("share_percent_low"), alt.X2("share_percent_high")
    shares = alt.Chart(rows).mark_rule().encode(*ends, y, color="kind")
    names = alt.Chart(labels).mark_text(dy=15, color=BLUE).encode(x, y, text="w")
    corner = found.summary.filter(who=CORNER).select("share_percent", "use_percent").rows()
    limit = ["strict priority: {:.1f} %, {:.0f} %".format(*at) for at in corner]
    title = "Use of an idle link, and share taken of a busy one" + (where and f": {where}")
    said = alt.TitleParams(title, subtitle=limit or ["strict priority, in theory: 0 %, 100 %"])
    return (points + shares + names).properties(width=600, height=330, title=said)


HARM = harm(NOBODY)
MEANS = (MEASURES[0], USE.name, *MEASURES[1:])
STUDY = Study(measure, _require, (*MEANS, HARM.name), against=[USE, HARM], draw=draw)
