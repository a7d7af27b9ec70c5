# SPDX-License-Identifier: GPL-2.0-only
"""One run: from an experiment and a seed to a directory of tables.

The directory holds

    manifest.json   what was run: kernel, module, tools, seed, parameters
    rates.csv       bytes, rate and drops of every flow per bin, behind the bottleneck
    queue.csv       queueing delay and drops at the bottleneck per bin
    trace.csv       every update of w (dalbe_cdg only)
    flows.csv       when each flow started and ended, and what it carried
    link.json       the proof of the link
    kernel.log      of the guest
    guest/          what else the guest wrote; input/ what it was given

No table depends on the wall clock: the same manifest gives the same tables byte for byte.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import polars as pl

from dalbe_testbed import capture, guest, link, scenario, trace
from dalbe_testbed.errors import TestbedError
from dalbe_testbed.experiment import Experiment
from dalbe_testbed.scenario import BACKGROUND_PORT, PlannedFlow, Tools

KERNEL_FAULT = re.compile(r"BUG:|WARNING:|Oops|KASAN|UBSAN|lockdep|general protection", re.I)
HANDSHAKE_PACKETS = 200  # of the capture's beginning, enough for the first handshake
TOOL_VERSIONS = {
    "iperf": ["iperf", "--version"],
    "rsync": ["rsync", "--version"],
    "tcpdump": ["tcpdump", "--version"],
    "ip": ["ip", "-V"],
    "ethtool": ["ethtool", "--version"],
    "bash": ["bash", "--version"],
}

Progress = Callable[[str, float], None]
"""Called with the stage of a run and T in virtual seconds."""


@dataclass(frozen=True)
class Run:
    """A finished run. Tables as described in the module's docstring."""

    name: str
    seed: int
    directory: Path
    experiment: Experiment
    rates: pl.DataFrame
    queue: pl.DataFrame
    trace: pl.DataFrame
    flows: pl.DataFrame
    proof: link.LinkProof

    def flow(self, name: str) -> dict[str, object]:
        """Return the row of flows.csv of one flow; KeyError if there is none."""
        rows = self.flows.filter(pl.col("flow") == name).to_dicts()
        if not rows:
            raise KeyError(name)
        return rows[0]


@cache
def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@cache
def _version(tool: str) -> str:
    try:
        done = subprocess.run(
            TOOL_VERSIONS[tool], capture_output=True, text=True, check=False, timeout=10
        )
    except FileNotFoundError:
        raise TestbedError(f"{tool} is missing: install its package (see README)") from None
    lines = (done.stdout + done.stderr).strip().splitlines()
    return lines[0].strip() if lines else "unknown"


def _kernel_release(build: Path) -> str:
    try:
        return (build / "include/config/kernel.release").read_text().strip()
    except OSError:
        raise TestbedError(
            f"{build} holds no built kernel: give --kernel the output of build-kernel.sh"
        ) from None


def manifest(experiment: Experiment, seed: int, tools: Tools) -> dict[str, object]:
    """Return what decides the outcome of a run, as it goes into manifest.json."""
    return {
        "experiment": experiment.model_dump(mode="json", exclude_none=True),
        "seed": seed,
        "kernel_release": _kernel_release(tools.kernel),
        "kernel_sha256": _sha256(tools.kernel / "linux"),
        "module_sha256": _sha256(tools.module) if tools.module else None,
        "dalbectl_sha256": _sha256(tools.dalbectl) if tools.dalbectl else None,
        "tools": {tool: _version(tool) for tool in TOOL_VERSIONS},
    }


def _ends(records: Path) -> dict[str, tuple[float, int]]:
    """Return when (s) and with which status each command of the schedule ended."""
    ends = {}
    for line in (records / "ends").read_text().splitlines():
        name, at_us, status = line.split("\t")
        ends[name] = (int(at_us) / 1e6, int(status))
    return ends


def _flow_table(
    flows: list[PlannedFlow], packets: pl.DataFrame, records: Path, end_s: float
) -> pl.DataFrame:
    """One row per TCP flow; end_s is null for one that was still running when the run ended."""
    ends = _ends(records)
    rows = []
    for planned in flows:
        flow = planned.flow
        end, status = ends.get(flow.name, (None, None))
        own = packets.filter(pl.col("port") == planned.port)
        sent = own.drop_nulls("out_us")
        if sent.is_empty():
            raise TestbedError(f"flow {flow.name} sent nothing: see {records / flow.name}.log")
        finished = flow.bytes is not None and status == 0
        same = records / f"{flow.name}.cmp"
        if finished and same.exists() and same.read_text().strip() != "same":
            raise TestbedError(f"flow {flow.name}: the file that arrived differs from the one sent")
        rows.append(
            {
                "flow": flow.name,
                "host": flow.host,
                "kind": flow.kind,
                "cc": flow.cc,
                "port": planned.port,
                "start_s": planned.start_s,
                "end_s": end if end is not None and end <= end_s else None,
                "exit_status": status,
                "finished": finished,
                "wire_bytes": int(sent["wire_bytes"].sum()),
                "payload_bytes": int(sent["payload_bytes"].sum()),
                "drops": own.height - sent.height,
            }
        )
    return pl.DataFrame(rows, infer_schema_length=None)


def _competing(flows: list[PlannedFlow]) -> bool:
    """Whether flows from both senders are ever due at the same time."""
    infinity = float("inf")
    return any(
        a.flow.host != b.flow.host
        and a.start_s < (b.stop_s or infinity)
        and b.start_s < (a.stop_s or infinity)
        for a, b in itertools.combinations(flows, 2)
    )


def _check_kernel_log(path: Path) -> None:
    for line in path.read_text(errors="replace").splitlines():
        if KERNEL_FAULT.search(line):
            raise TestbedError(f"the guest kernel complained: {line.strip()}; see {path}")


def _reduce(
    experiment: Experiment, flows: list[PlannedFlow], name: str, seed: int, out: Path
) -> Run:
    """Turn what the guest recorded into the run's tables."""
    records = out / "guest"
    clock_us = int((records / "clock").read_text())
    entering = capture.read(records / "in.pcap", clock_us)
    first = list(itertools.islice(entering, HANDSHAKE_PACKETS))
    packets = capture.pair(
        itertools.chain(first, entering), capture.read(records / "out.pcap", clock_us)
    )
    proof = link.measure(packets, first, records)
    (out / "link.json").write_text(json.dumps(asdict(proof), indent=2) + "\n")
    link.check(proof, experiment.link, contended=_competing(flows))

    ends = [end_s for end_s, _status in _ends(records).values()]
    end_s = max(experiment.duration_s, min(experiment.end_s, max(ends, default=0.0)))
    end_s = -(-end_s // experiment.bin_s) * experiment.bin_s
    names = {planned.port: planned.flow.name for planned in flows}
    if experiment.background:
        names |= {BACKGROUND_PORT + index: "background" for index in range(2)}
    run = Run(
        name=name,
        seed=seed,
        directory=out,
        experiment=experiment,
        rates=capture.rate_table(packets, names, experiment.bin_s, end_s),
        queue=capture.queue_table(packets, experiment.bin_s, end_s),
        trace=trace.read(records / "trace"),
        flows=_flow_table(flows, packets, records, end_s),
        proof=proof,
    )
    run.rates.write_csv(out / "rates.csv")
    run.queue.write_csv(out / "queue.csv")
    run.trace.write_csv(out / "trace.csv")
    run.flows.write_csv(out / "flows.csv")
    return run


def _bulky(out: Path) -> Iterator[Path]:
    """Yield what is of no use once the tables are there."""
    yield from (out / "guest").glob("*.pcap")
    yield from (out / "input").glob("*.bin")


def run(
    experiment: Experiment,
    seed: int,
    out: Path,
    tools: Tools,
    *,
    name: str | None = None,
    keep_captures: bool = False,
    progress: Progress | None = None,
) -> Run:
    """Run an experiment once, in a guest of its own, into the directory `out`.

    An earlier run in `out` is replaced. Raises TestbedError if the guest fails, the link was not
    as configured, a flow sent nothing or a file arrived damaged: no half results.
    """
    name = name or experiment.name
    report = progress or (lambda _stage, _t: None)
    report("preparing", 0.0)
    for part in ("guest", "input"):
        shutil.rmtree(out / part, ignore_errors=True)
    out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(manifest(experiment, seed, tools), indent=2)
    (out / "manifest.json").write_text(text + "\n")
    flows = scenario.write(experiment, seed, tools, out / "input")
    try:
        report("running", 0.0)
        guest.boot(
            tools.kernel,
            out / "guest",
            [str(guest.TESTBED / "scenario.sh"), str((out / "input").resolve())],
            name=f"{name} seed {seed}",
            seed=seed,
            virtual_limit_s=round(experiment.end_s) + 120,
            progress=lambda t_s: report("running", t_s),
        )
        shutil.copy(out / "guest/kernel.log", out / "kernel.log")
        _check_kernel_log(out / "kernel.log")
        report("reducing", experiment.duration_s)
        result = _reduce(experiment, flows, name, seed, out)
    except TestbedError as error:
        raise TestbedError(f"run '{name}' seed {seed}: {error}") from None
    finally:
        for path in () if keep_captures else list(_bulky(out)):
            path.unlink()
    report("done", experiment.duration_s)
    return result
