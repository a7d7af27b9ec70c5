# SPDX-License-Identifier: GPL-2.0-only
"""The framework paper's numerical experiments, Figures 1, 2 and 6, by the module's controllers.

Sources whose rates follow F(17) and F(18) share one bottleneck, whose price is a probability of an
M/M/1/K queue. core/control/control.c itself, compiled for this machine, sets w and phi: there
is no second implementation. Rates are in units of a hundredth of the link's greatest capacity.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from dalbe_testbed.charts import TARGET, Picture, curves, facets, required
from dalbe_testbed.papers import framework
from dalbe_testbed.papers.framework import CROSS, OUR_SOURCE, TRANSFER, WINDOW_S
from dalbe_testbed.purecode import Pure

STEP_S = 0.1
TW_S = 10.0
REDRAW_S = 5.0  # between two draws of the capacity,
LEAST, MOST = 80.0, 100.0  # uniform: 90 on average (the paper does not say how it is distributed)
GAMMA = 0.02  # F(18): what a source makes up, in a step, of what its rate is off
PLACES = 100  # K of the M/M/1/K queue
LONG_QUEUE = 10  # Q_T: Figure 6's transfer pays for a queue that is longer
ALPHA = 2.0  # F(15) of TCP, and of the transfer except in Figure 6
UNIT_BPS = 1_000_000  # bytes/s in a unit; only the controller's arithmetic sees it
PACKET_BYTES = 1500
RTT_S = 0.1  # the controller's losses and rounds depend on it; nothing else does
Q16, Q40, Q63 = 2**16, 2**40, 2**63


@dataclass(frozen=True)
class Scheme:
    """A curve of the paper: who controls, and what the transfer's congestion control is like.

    alpha is its utility, F(15); delay says that its price is the probability of a long queue.
    """

    name: str
    title: str
    controller: str
    limited: bool = True
    alpha: float = ALPHA
    delay: bool = False


SCHEMES = (
    Scheme("pid", "Figure 1a: PID", "PID", limited=False),
    Scheme("mbc", "Figure 1b: MBC", "MBC", limited=False),
    Scheme("mbc-limited", "Figure 2: MBC, increase of w limited", "MBC"),
    Scheme("mixed", "Figure 6: the same, other utility and price", "MBC", alpha=1.2, delay=True),
    Scheme("floor", "Not in the paper: rate floor", "FLOOR"),
)


def blocking(load: float, places: int = PLACES) -> float:
    """Return the probability that a packet finds an M/M/1/K queue full; load from 0 on."""
    return longer(load, places - 1, places)


def longer(load: float, than: int, places: int = PLACES) -> float:
    """Return the probability of more than so many packets in an M/M/1/K queue; load from 0 on."""
    if load > 1:  # from the other end: no power can overflow
        return 1 - longer(1 / load, places - than - 1, places)
    if math.isclose(load, 1, rel_tol=1e-9):
        return (places - than) / (places + 1)
    return (load ** (than + 1) - load ** (places + 1)) / (1 - load ** (places + 1))


def wanted(price: float, weight: float, alpha: float) -> float:
    """Return F(17): the rate at which a source of this utility pays price / weight, units.

    At most what the link could carry: a price of nothing wants any rate.
    """
    return MOST if price <= 0 else min(MOST, math.pow(price / weight, -1 / alpha))


@dataclass
class Transfer:
    """The transfer: a rate, and the module's controller above it."""

    pure: Pure
    scheme: Scheme
    size: float  # unit seconds
    rate: float = 0.0
    done: float = 0.0  # unit seconds
    steps: int = 0
    seen: list[tuple[float, float, float, bool]] = field(default_factory=list)
    """Of each step of this Tw: price, loss, packets lost, and whether somebody else sent."""

    def __post_init__(self) -> None:
        """Set the goal, at the transfer's start."""
        pure, scheme = self.pure, self.scheme
        config = pure.new(
            "control_config",
            controller=getattr(pure, f"CONTROLLER_{scheme.controller}"),
            unlimited_increase=not scheme.limited,
            tw_ms=round(TW_S * 1000),
            wmin_q16=Q16 // 100,
        )
        self.control = pure.new("control")
        pure.control_start(
            self.control, config, round(self.size * UNIT_BPS), 0, 0, round(WINDOW_S * 1e9)
        )
        self._callback = pure.ffi.callback("u64(void *, u64)", self._price_q40)  # to be kept
        self.model = pure.new("control_model", model_q40=self._callback)

    def _price_q40(self, _arg: Any, rate_bytes: int) -> int:
        """F(12): the price at which the source would send at this rate, bytes/s."""
        units = max(rate_bytes / UNIT_BPS, 1e-6)
        return min(round(math.pow(units, -self.scheme.alpha) * Q40), Q63)

    def step(self, load: float, *, others: bool) -> None:
        """Let a step pass at this load of the queue. Others: somebody else sends."""
        loss = blocking(load)
        price = longer(load, LONG_QUEUE) if self.scheme.delay else loss
        mu = self.pure.control_mu_q16(self.control) / Q16
        self.rate += GAMMA * (wanted(price, mu, self.scheme.alpha) - self.rate)
        self.done += self.rate * STEP_S
        lost = loss * self.rate * STEP_S * UNIT_BPS / PACKET_BYTES
        self.seen.append((price, loss, lost, others))
        self.steps += 1
        if len(self.seen) == round(TW_S / STEP_S):
            self._update()
            self.seen.clear()

    def _update(self) -> None:
        steps = len(self.seen)
        price, loss, lost, contended = map(sum, zip(*self.seen, strict=True))
        sample = self.pure.new(
            "control_sample",
            now_ns=round(self.steps * STEP_S * 1e9),
            elapsed_ns=round(TW_S * 1e9),
            bytes_done=round(self.done * UNIT_BPS),
            price_q40=round(price / steps * Q40),
            price_standard_q40=round(loss / steps * Q40),
            weight_standard_q40=Q40,
            srtt_us=round(RTT_S * 1e6),
            rounds=round(TW_S / RTT_S),
            losses=round(lost),
            others_seen=contended > steps / 2,
        )
        self.pure.control_update(self.control, sample, self.model)


def simulate(pure: Pure, scheme: Scheme, eta: float, seed: int) -> pl.DataFrame:
    """Return a run: every STEP_S its t_s, capacity, each source's rate, w, mu and target.

    Rates are in units, and None while a source does not send. w, mu and the target, F(6), are of
    the transfer while it lasts.
    """
    random = np.random.default_rng(seed)
    rates = {source.name: 0.0 for source in CROSS}
    transfer = Transfer(pure, scheme, eta * MOST * WINDOW_S)
    rows: list[dict[str, float | None]] = []
    capacity = MOST
    for step in range(round(framework.DURATION_S / STEP_S)):
        t_s = step * STEP_S
        if step % round(REDRAW_S / STEP_S) == 0:
            capacity = random.uniform(LEAST, MOST)
        sending = t_s >= TRANSFER.start_s and transfer.done < transfer.size
        active = {source.name for source in CROSS if source.start_s <= t_s < source.stop_s}
        load = (sum(rates[name] for name in active) + transfer.rate * sending) / capacity
        row: dict[str, float | None] = {"t_s": t_s, "capacity": capacity}
        for name, rate in rates.items():
            wants = wanted(blocking(load), 1, ALPHA)
            rates[name] = rate + GAMMA * (wants - rate) if name in active else 0.0
            row[name] = rates[name] if name in active else None
        if sending:
            transfer.step(load, others=bool(active))
        control = transfer.control
        ours = {
            OUR_SOURCE: transfer.rate,
            "w": control.w_q16 / Q16,
            "mu": pure.control_mu_q16(control) / Q16,
            "target": control.target_Bps / UNIT_BPS,
        }
        rows.append(row | (ours if sending else dict.fromkeys(ours)))
    return pl.DataFrame(rows, infer_schema_length=None)


def _span(run: pl.DataFrame, begin_s: float, for_s: float) -> pl.DataFrame:
    return run.filter(pl.col("t_s").is_between(begin_s, begin_s + for_s, closed="left"))


def finish(run: pl.DataFrame) -> float | None:
    """Return when the transfer was done, as part of its window; None if it was not."""
    last_s = float(run.filter(pl.col(OUR_SOURCE).is_not_null())["t_s"].max())  # type: ignore[arg-type]
    if last_s >= framework.DURATION_S - 1.5 * STEP_S:
        return None
    return (last_s + STEP_S - TRANSFER.start_s) / WINDOW_S


def gap_use(run: pl.DataFrame) -> float | None:
    """Return what the transfer takes of the link while nobody else sends; None if it is done."""
    begin_s, end_s = framework.GAP_S
    gap = _span(run, begin_s, end_s - begin_s)
    used = gap.select(pl.mean(OUR_SOURCE) / pl.mean("capacity")).item()
    return None if gap[OUR_SOURCE].null_count() else float(used)


def gives_way(run: pl.DataFrame, for_s: float = 60.0) -> float | None:
    """Return the mean part of its target that the transfer leaves to newcomers.

    Over the so many seconds that follow each arrival at a busy link; None if it is done before.
    """
    arrivals = [s.start_s for s in CROSS if TRANSFER.start_s < s.start_s < TRANSFER.stop_s]
    spans = [_span(run, at_s, for_s) for at_s in arrivals if at_s != framework.GAP_S[1]]
    left = [
        1 - span[OUR_SOURCE] / span["target"] for span in spans if not span[OUR_SOURCE].null_count()
    ]
    parts = [float(part.clip(0).mean()) for part in left]  # type: ignore[arg-type]
    return sum(parts) / len(parts) if parts else None


def greatest_part(run: pl.DataFrame, over_s: float = 20.0) -> float | None:
    """Return the most that the transfer takes beside others, in rates of one of them.

    Means of so many seconds; the seconds after an arrival, when a newcomer has yet to find its
    rate, are left out. None if it never meets anybody.
    """
    found = []
    for begin_s in np.arange(TRANSFER.start_s, framework.DURATION_S, over_s):
        span = _span(run, begin_s, over_s)
        present = [source.name for source in CROSS if not span[source.name].null_count()]
        young = any(0 <= begin_s - source.start_s < 3 * over_s for source in CROSS)
        if present and not young and not span[OUR_SOURCE].null_count():
            ours, *others = span.select(OUR_SOURCE, *present).mean().row(0)
            found.append(ours * len(others) / sum(others))
    return max(found, default=None)


MEASURES = {one.__name__: one for one in (finish, gap_use, gives_way, greatest_part)}


def table(pure: Pure, seeds: Sequence[int]) -> pl.DataFrame:
    """Return a row per scheme, eta and seed, with each of MEASURES."""
    return pl.DataFrame(
        [
            {"scheme": scheme.name, "eta": eta, "seed": seed}
            | {name: measure(run) for name, measure in MEASURES.items()}
            for scheme in SCHEMES
            for eta in framework.ETAS
            for seed in seeds
            for run in (simulate(pure, scheme, eta, seed),)
        ]
    )


def summary(table: pl.DataFrame) -> pl.DataFrame:
    """Return a row per scheme and eta: runs, and of each measure mean, least and greatest."""
    measured = pl.col(list(MEASURES))
    return table.group_by("scheme", "eta", maintain_order=True).agg(
        pl.len().alias("runs"),
        measured.mean().name.suffix("_mean"),
        measured.min().name.suffix("_least"),
        measured.max().name.suffix("_greatest"),
    )


def draw(pure: Pure) -> Picture:
    """Draw seed 1, means of REDRAW_S: a row per scheme, a column per eta."""
    runs = pl.concat(
        simulate(pure, scheme, eta, 1).with_columns(
            title=pl.lit(f"{scheme.title}; {eta:.0%} of the capacity"), w=100 * pl.col("w")
        )
        for scheme in SCHEMES
        for eta in framework.ETAS
    )
    called = {OUR_SOURCE: "the transfer", "target": TARGET, "w": "w, of 100"}
    sources = [source.name for source in CROSS]
    bins = runs.group_by("title", pl.col("t_s") // REDRAW_S * REDRAW_S, maintain_order=True)
    rows = bins.mean().unpivot([*called, *sources], index=["title", "t_s"])
    rows = rows.with_columns(who=pl.col("variable").replace_strict(called, default="a TCP source"))
    x = alt.X("t_s").title("s; dashed: the deadline")
    y = alt.Y("value").title("rate, % of capacity").scale(domain=(0, MOST), clamp=True)
    lines = curves(rows, x, y, "who", detail="variable")
    chart = lines + required(rows, x=TRANSFER.stop_s)
    return facets(rows, chart, "title", len(framework.ETAS))
