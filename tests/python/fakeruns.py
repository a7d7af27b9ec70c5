# SPDX-License-Identifier: GPL-2.0-only
"""Run directories as `dalbe-testbed run` leaves them, with shares that a test chooses.

As a program it stands in for `dalbe-testbed run` in tests of the workflow:
FAKE_SECONDS is how long a run takes, FAKE_FAILURE a setting that makes a run fail.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
from dalbe_testbed.plan import experiment, sweep
from dalbe_testbed.plan.experiment import Experiment
from dalbe_testbed.plan.sweep import Run
from dalbe_testbed.run import runner
from dalbe_testbed.study import results
from dalbe_testbed.study.results import Results, cc, g_ms, rtt_ms

BYTES = ("sent_bytes", "wire_bytes", "payload_bytes")
TOOLS = {"iperf": "iperf version 2.1.8", "tcpdump": "tcpdump version 4.99.3"}


def _bins(what: Experiment) -> list[float]:
    return [round(n * what.bin_s, 6) for n in range(math.ceil(what.duration_s / what.bin_s))]


def write_run(out: Path, what: Experiment, seed: int, percent: dict[str, float]) -> None:
    """Write a run whose flows have these shares of the link after the start of each."""
    out.mkdir(parents=True, exist_ok=True)
    manifest = {
        "experiment": what.model_dump(mode="json", exclude_none=True),
        "seed": seed,
        "kernel_release": "6.12.0-fake",
        "module_sha256": "0123456789abcdef",
        "tools": TOOLS,
    }
    (out / "manifest.json").write_text(json.dumps(manifest))
    bins = _bins(what)
    starts = {flow.name: flow.start_s for flow in what.flows}
    pl.DataFrame(
        [
            {
                "t_s": t_s,
                "flow": flow,
                "sent_bytes": round(
                    (t_s >= starts.get(flow, 0)) * share / 100 * what.link.rate_bps / 8 * what.bin_s
                ),
            }
            for flow, share in (percent | {"background": 10.0}).items()
            for t_s in bins
        ]
    ).write_parquet(out / "rates.parquet")


class Site:
    """One sweep and a directory to put runs of chosen rates in."""

    def __init__(self, tmp_path: Path, text: str) -> None:
        file = tmp_path / "mine.toml"
        tmp_path.mkdir(exist_ok=True)
        file.write_text(text)
        self.out = tmp_path / "out"
        self.sweep = sweep.load(file)
        self.runs = self.sweep.runs

    def write(
        self,
        run: Run,
        alone_mbps: dict[str, float],
        contended_mbps: dict[str, float],
        *,
        queue_ms: float = 0.0,
    ) -> None:
        """Write a run of these payload rates, up to and from the first start on `xsender`."""
        what = run.point.experiment
        starts = [flow.start_s for flow in what.flows if flow.host == "xsender"]
        arrival_s = min(starts, default=what.duration_s)

        def mbps(flow: str, t_s: float) -> float:
            return (alone_mbps if t_s < arrival_s else contended_mbps).get(flow, 0.0)

        self.write_rates(run, mbps, queue_ms=queue_ms)

    def write_rates(
        self, run: Run, mbps: Callable[[str, float], float], *, queue_ms: float = 0.0
    ) -> None:
        """Write a run with the rates that `mbps` gives by flow and second, headers left out."""
        what = run.point.experiment
        write_run(self.out / run.directory, what, run.seed, {})
        bins = _bins(what)
        names = [flow.name for flow in what.flows]
        rows = [
            {"t_s": t_s, "flow": name, **dict.fromkeys(BYTES, mbps(name, t_s) / 8e-6 * what.bin_s)}
            for t_s in bins
            for name in names
        ]
        directory = self.out / run.directory
        pl.DataFrame(rows).write_parquet(directory / "rates.parquet")
        queue = pl.DataFrame({"t_s": bins, "queue_ms": [queue_ms] * len(bins)})
        queue.write_parquet(directory / "queue.parquet")
        self.write_rounds(run, [(0.0, 0)])

    def write_rounds(self, run: Run, regimes: list[tuple[float, int]]) -> None:
        """Write when (s) each of our flows came to be alone (0) or contended (1)."""
        ours = [flow.name for flow in run.point.experiment.flows if flow.w is not None]
        rows = [
            {"t_s": t_s, "flow": name, "regime_state": effect}
            for name in ours
            for t_s, effect in regimes
        ]
        schema = {"t_s": pl.Float64, "flow": pl.String} | (
            {"regime_state": pl.Int64} if ours else {}
        )
        rounds = pl.DataFrame(rows, schema=schema)
        rounds.write_parquet(self.out / run.directory / "rounds.parquet")

    def write_table(self, run: Run, name: str, rows: dict[str, list[float | None]]) -> None:
        """Write a run of which one more table counts."""
        self.write(run, {}, {})
        pl.DataFrame(rows).write_parquet(self.out / run.directory / f"{name}.parquet")

    def results(self) -> Results:
        """Return what is there of the sweep's runs."""
        return results.collect(self.out, [self.sweep], sweep.all_runs([self.sweep]))


def four_flows(both: float, wobble: float = 0.0) -> dict[str, float]:
    """Return shares of the paper's four flows in which the CDG flows have `both` together."""
    cubic = (90 - both) / 2
    return {
        "cdg1": both / 2 + wobble,
        "cdg2": both / 2 - wobble,
        "cubic1": cubic - wobble,
        "cubic2": cubic + wobble,
    }


def write_runs(out: Path, runs: list[Run], both: Callable[[str, float, float, int], float]) -> None:
    """Write runs of the paper's cell; `both` gives the share by module, G, RTT and seed."""
    for run in runs:
        share = both(cc(run.point), g_ms(run.point) or 0, rtt_ms(run.point), run.seed)
        write_run(out / run.directory, run.point.experiment, run.seed, four_flows(share))


def main() -> None:
    """Do what `dalbe-testbed run FILE --seed N --set ... --out DIR` would leave."""
    words = sys.argv[2:]
    options = {}
    settings = []
    for option, value in zip(words[1::2], words[2::2], strict=True):
        if option == "--set":
            settings.append(value)
        options[option] = value
    out = Path(options["--out"])
    runner.check_directory(out)
    (out / "starting").write_text(str(os.getpid()))
    (out / "starting").rename(out / "pid")
    time.sleep(float(os.environ.get("FAKE_SECONDS", "0")))
    if os.environ.get("FAKE_FAILURE") in settings:
        (out / "manifest.json").write_text("{}")
        print("T=5")
        sys.exit("dalbe-testbed: run 'cell' seed 1: the guest hangs")
    what = experiment.load(Path(words[0]), settings)
    write_run(out, what, int(options["--seed"]), four_flows(20))


if __name__ == "__main__":
    main()
