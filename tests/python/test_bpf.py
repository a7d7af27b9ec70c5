# SPDX-License-Identifier: GPL-2.0-only
"""core/ as the BPF edition has it: window by window as the module's, on the same paths."""

from __future__ import annotations

import os
import subprocess

import pytest
from dalbe_testbed.purecode import ROOT, Pure, load, wrap

FLOWS = 4
END_MS, INTERVAL_MS = 60_000, 20
OWN_FUNCTIONS = ("control_start", "sender_end_round", "sender_join", "sender_leave")

# Two hosts are each other's competitors, as BPF has no CUBIC: at w = 0.3 beside the other.
PATHS: dict[str, dict[str, int]] = {
    "long": {"rate_pps": 1700, "base_us": 50000, "buffer": 140},
    "short buffer": {"rate_pps": 1700, "base_us": 50000, "buffer": 12},
    "fast": {"rate_pps": 16000, "base_us": 100000, "buffer": 1600},
    "CoDel": {"rate_pps": 1700, "base_us": 50000, "buffer": 1000, "discipline": 1},
    "radio": {"rate_pps": 1700, "base_us": 30000, "buffer": 140, "loss_ppm": 3000,
              "jitter_us": 4000},
    "stalls": {"rate_pps": 1700, "base_us": 30000, "buffer": 140, "stall_ms": 30,
               "stall_every_ms": 500},
    "bursts": {"rate_pps": 3400, "base_us": 30000, "buffer": 140, "udp_pps": 3000,
               "udp_on_ms": 3000, "udp_off_ms": 3000},
    "delayed ACKs": {"rate_pps": 850, "base_us": 80000, "buffer": 140, "delayed_acks": 1,
                     "w_q16": 655},
}  # fmt: skip


@pytest.fixture(scope="module")
def each_ack(tmp_path_factory: pytest.TempPathFactory) -> Pure:
    """The module's, but for the one listed cause: BPF asks the base at each ACK.

    Where ACKs are gathered, B's Reno part is divided once for all of their packets.
    """
    return load(tmp_path_factory.mktemp("each_ack"), "-DPORT_EACH_ACK")


@pytest.fixture(scope="module")
def bpf(tmp_path_factory: pytest.TempPathFactory) -> Pure:
    """The simulator, with bpf/core.h in the place of core/."""
    folder = tmp_path_factory.mktemp("bpf")
    cc = os.environ.get("CC", "gcc")
    common = [f"-I{ROOT}", f"-I{ROOT}/port/user", "-std=gnu11", "-g", "-O1", "-fPIC",
              "-fsanitize=undefined", "-fno-sanitize-recover=all", "-DPORT_EACH_ACK",
              "-c"]  # fmt: skip
    renamed = [f"-D{name}=native_{name}" for name in OWN_FUNCTIONS]
    objects = []
    for source in (ROOT / "tests/bpf/core.c", *sorted((ROOT / "sim").glob("*.c"))):
        objects.append(folder / f"{source.stem}.o")
        ours = source.parent.name == "bpf"
        flags = [f"-I{ROOT}/tests/bpf/native"] if ours else renamed
        subprocess.run([cc, *flags, *common, source, "-o", objects[-1]], check=True)
    library = folder / "libdalbe_bpf.so"
    subprocess.run([cc, "-shared", "-fsanitize=undefined", "-o", library, *objects], check=True)
    return wrap(library)


def run(pure: Pure, path: str, seed: int) -> tuple[dict[str, int], list[int]]:
    """What happened, and what each flow has delivered in each interval."""
    rows = END_MS // INTERVAL_MS
    series = pure.ffi.new(f"u32[{rows * FLOWS}]")
    given = {
        "seed": seed, "ours": FLOWS, "hosts": 2, "ours_step_ms": 4000, "w_q16": 65536 * 3 // 10,
        "from_ms": 20_000, "to_ms": 40_000, "end_ms": END_MS, "series_ms": INTERVAL_MS,
        "series": series,
    }  # fmt: skip
    out = pure.new("drive_out")
    pure.drive(pure.new("drive_in", **(given | PATHS[path])), out)
    return {name: getattr(out, name) for name in dir(out)}, list(series)


@pytest.mark.parametrize("path", PATHS)
def test_the_same_as_the_module(each_ack: Pure, bpf: Pure, path: str) -> None:
    """Each packet of each flow, in all that befalls it."""
    yields = 0
    for seed in range(1, 4):
        module, module_series = run(each_ack, path, seed)
        edition, edition_series = run(bpf, path, seed)
        assert edition == module
        assert edition_series == module_series
        assert sum(module_series) > 10_000  # something was sent
        yields += module["yields"]
    assert yields, "no flow has met another host"
