# SPDX-License-Identifier: GPL-2.0-only
"""The finished runs of some sweeps, and the shares of the link in them, by run and by point.

A flow's share is its bytes on the wire as they leave the sender, which is where the paper's
tcpdump was, over the second half of the run, in percent of the bottleneck's rate. `one` is the
mean share of the flows from host `sender`, `both` their sum. Background bytes are nobody's share.
"""

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from dalbe_testbed.errors import TestbedError
from dalbe_testbed.plan import experiment
from dalbe_testbed.plan.link import Host
from dalbe_testbed.plan.sweep import Point, Run, Sweep
from dalbe_testbed.run.workflow import finished, reason
from dalbe_testbed.study import stats
from dalbe_testbed.study.stats import Estimate

Row = dict[str, Any]
RATE_COLUMNS = {"t_s", "flow", "sent_bytes"}

AGAIN = "remove the run and make it again"

OURS = "ours"
"""The flow under test, in the experiments of a transfer."""

CONTROL = {"t_s": float, "flow": str, "w_ppm": int, "target_Bps": int, "rate_Bps": int}
CONTROL |= {"regime": int, "status": str}
"""Columns of control.parquet that studies read."""

MODULE_DIGITS = 12
"""Digits of a dalbe.ko's SHA-256 in tables, where its commit is not known."""


@dataclass(frozen=True)
class Group:
    """A point and what its runs showed.

    rows: of each run its seed and columns; a column that begins with "_" is in no table. missing:
    how many runs the point lacks.
    """

    point: Point
    rows: Sequence[Row]
    missing: int = 0

    def values(self, name: str) -> list[float]:
        """Return a column's values by seed, of those runs that have one."""
        return [float(row[name]) for row in self.rows if row.get(name) is not None]

    def of_seed(self, seed: int) -> Row:
        """Return the row of a seed, of runs that have one row; an empty one if it is not there."""
        return next((row for row in self.rows if row["seed"] == seed), {})

    def mean(self, name: str) -> Estimate | None:
        """Return the mean of a column over those runs that have a value.

        None without any, or if one is infinite.
        """
        values = self.values(name)
        return stats.estimate(values) if values and all(map(math.isfinite, values)) else None


@dataclass(frozen=True)
class Results:
    """The runs of some sweeps, as far as they are there.

    runs: a row per run. shares: by the run's directory, in percent, of each flow, of `one` and of
    `both`, and the means of these in percent of what all TCP flows got, `one_of_tcp`. missing: by
    the run's directory, why there is no result. manifests: of the runs that are there.
    """

    out: Path
    sweeps: tuple[Sweep, ...]
    runs: pl.DataFrame
    shares: Mapping[str, Row]
    missing: Mapping[str, str]
    planned: int
    manifests: tuple[Mapping[str, Any], ...]

    def measured(self, sweep: Sweep) -> Iterator[tuple[Point, list[Run]]]:
        """Yield a sweep's points that have results, in its order, with those runs by seed."""
        for point in sweep.points:
            runs = [Run(point, seed) for seed in sweep.seeds]
            there = [run for run in runs if run.directory not in self.missing]
            if there:
                yield point, there

    def table(self, run: Run, name: str) -> pl.DataFrame:
        """Return a table of a run that has results: "queue". Raises TestbedError without it."""
        return _read(self.out / run.directory, name)

    def control(self, run: Run) -> pl.DataFrame:
        """Return a run's control.parquet, with the columns of CONTROL also if nobody had a goal."""
        empty = pl.DataFrame(schema=CONTROL)
        return pl.concat([empty, self.table(run, "control")], how="diagonal_relaxed")

    def mbps(self, run: Run, bin_s: float, column: str = "wire_bytes") -> pl.DataFrame:
        """Return t_s, flow and mbps: mean rates of every flow over bins of bin_s, in order."""
        mbps = pl.col(column).sum() * 8e-6 / bin_s
        bins = self.table(run, "rates").group_by(pl.col("t_s") // bin_s * bin_s, "flow")
        return bins.agg(mbps=mbps).sort("t_s", "flow")

    def transfer(self, run: Run, name: str, length_s: float) -> tuple[float, float | None]:
        """Return a flow's start, s, and its end in parts of a window of so many seconds from then.

        The latter is None if it was not done when the run ended. Raises as table() does.
        """
        own = self.table(run, "flows").filter(flow=name)
        start_s, over_s = own["start_s"].item(), ended_s(own)
        return start_s, None if over_s is None else (over_s - start_s) / length_s

    def provenance(self) -> dict[str, list[str]]:
        """Return what the runs were made with: kernels, modules and tools, each value once."""
        found: dict[str, set[str]] = {}
        for manifest in self.manifests:
            plain = {k: v for k, v in manifest.items() if k not in ("experiment", "seed", "tools")}
            for key, value in (plain | dict(manifest.get("tools", {}))).items():
                if value is not None:
                    found.setdefault(key, set()).add(str(value))
        return {key: sorted(values) for key, values in sorted(found.items())}

    def modules(self) -> dict[str, set[str]]:
        """Return the versions of our module in runs of its flows, by the kernel's SHA-256."""
        found = defaultdict[str, set[str]](set)
        for manifest in self.manifests:
            if any(flow["cc"].startswith("dalbe_") for flow in manifest["experiment"]["flows"]):
                found[manifest.get("kernel_sha256", "")].add(str(manifest["module_sha256"]))
        return found


def ended_s(own: pl.DataFrame) -> float | None:
    """Return when a flow was done, s, by its row of flows.parquet; None if it was not."""
    return own["end_s"].item() if own["finished"].item() else None


def names(point: Point, host: Host) -> list[str]:
    """Return the names of the flows from a host."""
    return [flow.name for flow in point.experiment.flows if flow.host == host]


def rivals(point: Point) -> list[str]:
    """Return the flows of host `xsender` that send for a time: those of so many bytes are gone."""
    return [f.name for f in point.experiment.flows if f.host == "xsender" and f.bytes is None]


@dataclass(frozen=True)
class Window:
    """A part of a run, from start_s up to end_s."""

    start_s: float
    end_s: float

    @property
    def length_s(self) -> float:
        """How long it is, in seconds."""
        return self.end_s - self.start_s

    def of(self, table: pl.DataFrame) -> pl.DataFrame:
        """Return the bins of a table that begin in it."""
        return table.filter(pl.col("t_s").is_between(self.start_s, self.end_s, closed="left"))

    def total(self, rates: pl.DataFrame, flows: Sequence[str], column: str = "wire_bytes") -> float:
        """Return the bytes of some flows that left the bottleneck in it."""
        return float(self.of(rates).filter(pl.col("flow").is_in(flows))[column].sum())

    def mean_mbps(
        self, rates: pl.DataFrame, flows: Sequence[str], column: str = "payload_bytes"
    ) -> float:
        """Return the flows' mean rate in the bins that begin in it, Mbit/s, by default payload."""
        bins = rates.select(pl.col("t_s").unique().sort())
        bin_s = bins["t_s"].diff().mean() or self.length_s
        covered_s = float(bin_s) * max(1, self.of(bins).height)  # type: ignore[arg-type]
        return self.total(rates, flows, column) * 8e-6 / covered_s


def presence(flows: pl.DataFrame, last_s: float) -> dict[str, Window]:
    """Return when each flow of flows.parquet was sending; until last_s if it had not ended."""
    columns = flows.select("flow", "start_s", pl.col("end_s").fill_null(last_s))
    return {name: Window(*times) for name, *times in columns.rows()}


def first(conditions: pl.Series) -> int | None:
    """Return at which place a condition holds for the first time, from 1; None: never."""
    found = conditions.arg_true()
    return None if found.is_empty() else int(found[0]) + 1


def window(sweep: Sweep) -> Window:
    """Return from when to when every transfer of a sweep that has a goal has time, s.

    Raises TestbedError if there is none, or if they differ in that.
    """
    flows = [flow for point in sweep.points for flow in point.experiment.flows]
    found = {(f.start_s, f.start_s + f.goal.deadline_s) for f in flows if f.goal}
    if not found:
        raise TestbedError(f"{sweep.name}: no transfer with a goal: nothing to judge or to draw")
    if len(found) > 1:
        raise TestbedError(f"{sweep.name}: give all transfers one deadline, not {len(found)}")
    return Window(*found.pop())


def g_ms(point: Point) -> float | None:
    """Return the G in ms that names a point: the paper's, where both modules run at the nearest."""
    for name in ("g", "exact_g"):
        if name in point.values:
            return float(point.values[name])
    return point.experiment.flows[0].g_ms


def weight(point: Point) -> float | None:
    """Return the w of the flows under test, 0.001 to 1; None if they have none: a peer's."""
    return point.experiment.flows[0].w


def cc(point: Point) -> str:
    """Return the congestion control under test: that of the first flow."""
    return point.experiment.flows[0].cc


def rtt_ms(point: Point) -> float:
    """Return the base RTT in ms."""
    return point.experiment.link.rtt_ms


def _read(directory: Path, name: str) -> pl.DataFrame:
    path = directory / f"{name}.parquet"
    try:
        return pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        what = str(error).splitlines()[0]
        raise TestbedError(f"{path}: damaged: {what}: {AGAIN}") from None


def _manifest(out: Path, run: Run) -> dict[str, Any]:
    """Return what a run was made with. Raises TestbedError if it is not there, or another."""
    if not finished(out, run.directory):
        raise TestbedError(reason(out, run.directory))
    try:
        manifest: dict[str, Any] = json.loads((out / run.directory / "manifest.json").read_text())
        made = experiment.parse(manifest["experiment"], "manifest.json")
        seed, _row_has_it = manifest["seed"], manifest["kernel_release"]
    except (TestbedError, ValueError, KeyError) as error:
        raise TestbedError(f"damaged: manifest.json: {error}: {AGAIN}") from None
    if made.model_dump() != run.point.experiment.model_dump() or seed != run.seed:
        raise TestbedError(f"made from another experiment or seed: {AGAIN}")
    return manifest


def _percent(out: Path, run: Run) -> dict[str, float]:
    """Return each flow's share of the link in the second half of a run, in percent.

    Raises TestbedError if its table of rates cannot say.
    """
    what = run.point.experiment
    half = Window(what.duration_s / 2, what.duration_s)
    # those that begin in the second half
    bins = math.ceil(half.end_s / what.bin_s) - math.ceil(half.start_s / what.bin_s)
    rates = _read(out / run.directory, "rates")
    if lacks := RATE_COLUMNS - set(rates.columns):
        raise TestbedError(f"rates.parquet lacks {', '.join(sorted(lacks))}: {AGAIN}")
    sums = half.of(rates).group_by("flow").agg(pl.len(), pl.sum("sent_bytes"))
    sent = {flow: count for flow, there, count in sums.rows() if there == bins}
    if not all(flow.name in sent for flow in what.flows):
        raise TestbedError(f"rates.parquet does not cover the second half: {AGAIN}")
    length_s, link_bps = bins * what.bin_s, what.link.rate_bps
    return {flow.name: sent[flow.name] * 800 / length_s / link_bps for flow in what.flows}


def _row(run: Run, percent: Mapping[str, float], manifest: Mapping[str, Any]) -> Row:
    point = run.point
    # empty: the kernel's own congestion controls
    build = (manifest.get("module_sha256") or "")[:MODULE_DIGITS]
    ours = [percent[name] for name in names(point, "sender")]
    shares = {"one": sum(ours) / len(ours), "both": sum(ours)} if ours else {}
    tcp = sum(percent.values())
    return {
        "experiment": point.experiment.name,
        "point": point.name,
        "seed": run.seed,
        "cc": cc(point),
        "g_ms": g_ms(point),
        "effective_g_ms": point.experiment.flows[0].g_ms,
        "rtt_ms": rtt_ms(point),
        "kernel_release": manifest["kernel_release"],
        "module": manifest.get("module_commit") or build,
        "hz": point.environment.hz,
        "backend": point.environment.backend,
        **{f"{name}_percent": share for name, share in (shares | dict(percent)).items()},
        **{f"_{name}_of_tcp_percent": 100 * share / tcp for name, share in shares.items() if tcp},
    }


def collect(out: Path, sweeps: Sequence[Sweep], runs: Mapping[str, Run]) -> Results:
    """Read the results of `runs`, the sweeps', in OUT. Raises TestbedError if there are none."""
    missing: dict[str, str] = {}
    manifests: list[dict[str, Any]] = []
    shares: dict[str, Row] = {}
    for name, run in runs.items():
        try:
            manifest = _manifest(out, run)
            shares[name] = _row(run, _percent(out, run), manifest)
        except TestbedError as error:
            missing[name] = str(error)
        else:
            manifests.append(manifest)
    if not shares:
        raise TestbedError(f"{out}: none of {len(runs)} runs is there: make them first")
    return Results(
        out=out,
        sweeps=tuple(sweeps),
        runs=frame(
            {k: round(v, 4) if k.endswith("_percent") else v for k, v in row.items()}
            for row in shares.values()
        ),
        shares=shares,
        missing=missing,
        planned=len(runs),
        manifests=tuple(manifests),
    )


def frame(rows: Iterable[Mapping[str, object]]) -> pl.DataFrame:
    """Return rows as a table; a key that a row lacks is null, one that begins with "_" left out."""
    shown = [{k: v for k, v in row.items() if not k.startswith("_")} for row in rows]
    return pl.DataFrame(shown, infer_schema_length=None).cast({pl.Null: pl.Float64})
