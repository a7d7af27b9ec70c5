# SPDX-License-Identifier: GPL-2.0-only
"""The finished runs of some sweeps, and the shares of the link in them, by run and by point.

A flow's share is its bytes on the wire as they leave the sender, which is where the paper's
tcpdump was, over the second half of the run, in percent of the bottleneck's rate. `one` is the
mean share of the flows from host `sender`, `both` their sum. Background bytes are nobody's share.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl

from dalbe_testbed.errors import TestbedError
from dalbe_testbed.plan import experiment
from dalbe_testbed.plan.sweep import Point, Run, Sweep, label
from dalbe_testbed.run.workflow import finished, reason
from dalbe_testbed.study import stats
from dalbe_testbed.study.stats import Estimate

Measure = Literal["one", "both"]
RATE_COLUMNS = {"t_s", "flow", "sent_bytes"}

MODULE_DIGITS = 12
"""Digits of dalbe_cdg's SHA-256 in tables: runs of one build have the same."""


@dataclass(frozen=True)
class Shares:
    """Shares of one point's runs, in percent, in the order of the seeds.

    tcp: the share of all TCP flows together.
    """

    point: Point
    flows: Mapping[str, tuple[float, ...]]
    one: tuple[float, ...]
    both: tuple[float, ...]
    tcp: tuple[float, ...]

    def of(self, measure: Measure) -> tuple[float, ...]:
        """Return the shares of `one` flow or of `both`."""
        return self.one if measure == "one" else self.both

    def estimate(self, measure: Measure) -> Estimate:
        """Return the mean share with its interval."""
        return stats.estimate(self.of(measure))

    def estimate_of_tcp(self, measure: Measure) -> Estimate:
        """Return the mean share, in percent of what all TCP flows got, with its interval."""
        pairs = zip(self.of(measure), self.tcp, strict=True)
        return stats.estimate([100 * share / tcp for share, tcp in pairs])


@dataclass(frozen=True)
class Results:
    """The runs of some sweeps, as far as they are there.

    runs: a row per run. shares: by the point's directory; a point without any run is not in it.
    missing: by the run's directory, why there is no result. manifests: of the runs that are there.
    """

    out: Path
    sweeps: tuple[Sweep, ...]
    runs: pl.DataFrame
    shares: Mapping[str, Shares]
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
        path = self.out / run.directory / f"{name}.parquet"
        try:
            return pl.read_parquet(path)
        except (OSError, pl.exceptions.PolarsError) as error:
            what = str(error).splitlines()[0]
            raise TestbedError(f"{path}: {what}: remove the run and make it again") from None

    def cell(self, module: str, g_ms: float, rtt_ms: float) -> Shares | None:
        """Return what a cell of the paper measured, G and base RTT in ms; None without any run."""
        name = "-".join([label("cc", module), label("g", g_ms), label("rtt", rtt_ms)])
        return self.shares.get(f"runs/cell/{name}")

    def provenance(self) -> dict[str, list[str]]:
        """Return what the runs were made with: kernels, modules and tools, each value once."""
        found: dict[str, set[str]] = {}
        for manifest in self.manifests:
            plain = {k: v for k, v in manifest.items() if k not in ("experiment", "seed", "tools")}
            for key, value in (plain | dict(manifest.get("tools", {}))).items():
                if value is not None:
                    found.setdefault(key, set()).add(str(value))
        return {key: sorted(values) for key, values in sorted(found.items())}


def wire_bytes(rates: pl.DataFrame, flows: Sequence[str], begin_s: float, end_s: float) -> float:
    """Return the bytes of some flows that left the bottleneck from begin_s up to end_s."""
    part = rates.filter(
        pl.col("flow").is_in(flows) & pl.col("t_s").is_between(begin_s, end_s, closed="left")
    )
    return float(part["wire_bytes"].sum())


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


def _fault(out: Path, run: Run) -> str | None:
    """Return why a run's results cannot be used, or None."""
    if not finished(out, run.directory):
        return reason(out, run.directory)
    directory = out / run.directory
    try:
        manifest = json.loads((directory / "manifest.json").read_text())
        made = experiment.parse(manifest["experiment"], "manifest.json")
        columns = set(pl.read_parquet_schema(directory / "rates.parquet"))
    except (TestbedError, ValueError, KeyError, OSError, pl.exceptions.PolarsError) as error:
        return f"damaged: {str(error).splitlines()[0]}: remove it and run again"
    if "kernel_release" not in manifest:
        return "damaged: manifest.json lacks kernel_release: remove it and run again"
    if made.model_dump() != run.point.experiment.model_dump() or manifest["seed"] != run.seed:
        return "made from another experiment or seed: remove it and run again"
    if missing := RATE_COLUMNS - columns:
        return f"rates.parquet lacks {', '.join(sorted(missing))}: remove it and run again"
    return None


def _sent(out: Path, runs: Iterable[Run]) -> pl.DataFrame:
    """Return bins and share in percent of each run's flows: path, flow, bins, percent."""
    windows = pl.DataFrame(
        [
            {
                "path": str(out / run.directory / "rates.parquet"),
                "start_s": run.point.experiment.duration_s / 2,
                "end_s": run.point.experiment.duration_s,
                "bin_s": run.point.experiment.bin_s,
                "link_bps": run.point.experiment.link.rate_bps,
            }
            for run in runs
        ]
    )
    return (
        pl.scan_parquet(windows["path"].to_list(), include_file_paths="path")
        .select("path", *sorted(RATE_COLUMNS))
        .join(windows.lazy(), on="path")
        .filter(pl.col("t_s").is_between("start_s", "end_s", closed="left"))
        .group_by("path", "flow")
        .agg(
            pl.len().alias("bins"),
            (
                pl.col("sent_bytes").sum()
                * 800
                / (pl.len() * pl.col("bin_s").first())
                / pl.col("link_bps").first()
            ).alias("percent"),
        )
        .collect()
    )


def _row(run: Run, percent: Mapping[str, float], manifest: Mapping[str, Any]) -> dict[str, object]:
    point = run.point
    module = manifest.get("module_sha256") or ""  # empty: the kernel's own congestion controls
    ours = [percent[flow.name] for flow in point.experiment.flows if flow.host == "sender"]
    return {
        "experiment": point.experiment.name,
        "point": point.name,
        "seed": run.seed,
        "cc": cc(point),
        "g_ms": g_ms(point),
        "effective_g_ms": point.experiment.flows[0].g_ms,
        "rtt_ms": rtt_ms(point),
        "kernel_release": manifest["kernel_release"],
        "module": module[:MODULE_DIGITS],
        "hz": point.environment.hz,
        "backend": point.environment.backend,
        "one_percent": round(sum(ours) / len(ours), 4),
        "both_percent": round(sum(ours), 4),
    } | {f"{flow}_percent": round(value, 4) for flow, value in percent.items()}


def collect(out: Path, sweeps: Sequence[Sweep], runs: Mapping[str, Run]) -> Results:
    """Read the results of `runs`, the sweeps', in OUT. Raises TestbedError if there are none."""
    missing = {name: why for name, run in runs.items() if (why := _fault(out, run))}
    there = {name: run for name, run in runs.items() if name not in missing}
    if not there:
        raise TestbedError(f"{out}: none of {len(runs)} runs is there: make them first")
    sent: dict[str, dict[str, tuple[int, float]]] = {}
    for path, flow, bins, percent in _sent(out, there.values()).iter_rows():
        sent.setdefault(path, {})[flow] = (bins, percent)
    rows: list[dict[str, object]] = []
    manifests: list[dict[str, Any]] = []
    found: dict[str, list[dict[str, float]]] = {}
    points = {run.point.directory: run.point for run in there.values()}
    for name, run in there.items():
        what = run.point.experiment
        flows = sent.get(str(out / name / "rates.parquet"), {})
        # those that begin in the second half
        bins = math.ceil(what.duration_s / what.bin_s) - math.ceil(what.duration_s / 2 / what.bin_s)
        if any(flows.get(flow.name, (0,))[0] != bins for flow in what.flows):
            missing[name] = "rates.parquet does not cover the second half: remove it and run again"
            continue
        percents = {flow.name: flows[flow.name][1] for flow in what.flows}
        manifests.append(json.loads((out / name / "manifest.json").read_text()))
        rows.append(_row(run, percents, manifests[-1]))
        found.setdefault(run.point.directory, []).append(percents)
    shares = {}
    for directory, measured in found.items():
        flows_of = points[directory].experiment.flows
        ours = [flow.name for flow in flows_of if flow.host == "sender"]
        both = tuple(sum(percents[name] for name in ours) for percents in measured)
        shares[directory] = Shares(
            point=points[directory],
            flows={f.name: tuple(percents[f.name] for percents in measured) for f in flows_of},
            one=tuple(share / len(ours) for share in both),
            both=both,
            tcp=tuple(sum(percents.values()) for percents in measured),
        )
    return Results(
        out=out,
        sweeps=tuple(sweeps),
        runs=pl.DataFrame(rows, infer_schema_length=None),
        shares=shares,
        missing=missing,
        planned=len(runs),
        manifests=tuple(manifests),
    )
