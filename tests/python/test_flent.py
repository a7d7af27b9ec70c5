# SPDX-License-Identifier: GPL-2.0-only
"""A run written for flent, opened with flent itself: its library and its command line."""

import csv
import math
import os
import subprocess
import sys
from pathlib import Path

import matplotlib.image
import polars as pl
import pytest
from dalbe_testbed.errors import TestbedError
from dalbe_testbed.reduce import flentfile
from flent import resultset

CLOCK_US = 1_700_000_000_000_000
BIN_S = 0.5
BINS = 120
TIMES = [i * BIN_S for i in range(BINS)]
FLOWS = {"cdg1": 2.0, "cubic1": 6.0}  # mean Mbit/s


def megabits(flow: str, t_s: float) -> float:
    return FLOWS[flow] + math.sin(t_s / 3)


def queue_ms(t_s: float) -> float:
    return 20 + 10 * math.cos(t_s / 5)


def tables() -> dict[str, pl.DataFrame]:
    samples = [(t, flow) for t in TIMES for flow in FLOWS if flow == "cdg1" or t >= 30]
    return {
        "rates": pl.DataFrame(
            [{"t_s": t, "flow": f, "rate_bps": megabits(f, t) * 1e6} for t in TIMES for f in FLOWS]
        ),
        "queue": pl.DataFrame([{"t_s": t, "queue_ms": queue_ms(t)} for t in TIMES]),
        "connections": pl.DataFrame(
            [
                {
                    "t_s": t,
                    "flow": flow,
                    "cwnd_packets": 10 + int(t),
                    "srtt_ms": 50 + queue_ms(t),
                    "delivery_rate_bps": 1_000_000,
                }
                for t, flow in samples
            ],
            infer_schema_length=None,
        ),
        "rounds": pl.DataFrame([{"t_s": t, "flow": "cdg1", "g_ns": 3_000_000} for t in TIMES]),
    }


def write(path: Path, **changes: pl.DataFrame) -> Path:
    flentfile.write(
        path,
        tables() | changes,
        title="50 ms, G = 3 ms, seed 1",
        clock_us=CLOCK_US,
        base_rtt_ms=50.0,
    )
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("flent") / "run.flent.gz")


def flent(*arguments: str | Path, home: Path) -> str:
    """Run flent's command line; its log and settings go elsewhere."""
    done = subprocess.run(
        [sys.executable, "-m", "flent", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=home,
        env=os.environ | {"HOME": str(home), "MPLBACKEND": "Agg"},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    for word in ("Traceback", "ERROR", "WARNING"):
        assert word not in done.stderr, done.stderr
    return done.stdout


def test_flent_reads_the_values_back(run: Path):
    result = resultset.load(str(run))
    assert result.x_values == TIMES
    assert result.title == "rrul_var - 50 ms, G = 3 ms, seed 1"
    assert set(result.series_names) == {
        *(f"{kind}::{flow}" for kind in ("TCP upload", "cwnd", "srtt") for flow in FLOWS),
        "G::cdg1",
        "Queue (ms)",
        "Ping (ms)::ICMP",
    }
    for flow in FLOWS:
        expected = [megabits(flow, t) for t in TIMES]
        assert result.series(f"TCP upload::{flow}") == pytest.approx(expected)
        raw = list(result.raw_series(f"TCP upload::{flow}"))
        assert raw == [pytest.approx(pair, abs=1e-6) for pair in zip(TIMES, expected, strict=True)]
    assert result.series("Queue (ms)") == pytest.approx([queue_ms(t) for t in TIMES])
    ping = [50 + queue_ms(t) for t in TIMES]
    assert result.series("Ping (ms)::ICMP") == pytest.approx(ping, abs=1e-4)
    assert result.series("cwnd::cdg1") == [10 + int(t) for t in TIMES]
    assert result.series("G::cdg1") == [3.0] * BINS
    # cubic1 connects at 30 s
    assert result.series("srtt::cubic1")[:60] == [None] * 60
    assert None not in result.series("srtt::cubic1")[60:]
    assert dict(result.raw_series("TCP upload::cubic1", raw_key="tcp_cwnd"))[30.0] == 40


def test_without_our_module_there_is_no_g(tmp_path: Path):
    nothing = pl.DataFrame(schema={"t_s": pl.Float64, "flow": pl.String})
    result = resultset.load(str(write(tmp_path / "run.flent.gz", rounds=nothing)))
    assert not [name for name in result.series_names if name.startswith("G::")]


def test_flent_sums_it_up(run: Path, tmp_path: Path):
    lines = flent("-i", run, "-f", "summary", home=tmp_path).splitlines()
    rows = {
        name.strip(): rest.split()
        for name, found, rest in (r.partition(" : ") for r in lines)
        if found
    }
    for flow, mean in FLOWS.items():
        expected = mean + sum(math.sin(t / 3) for t in TIMES) / BINS
        assert float(rows[f"TCP upload::{flow}"][0]) == pytest.approx(expected, abs=0.006)
        assert "Mbits/s" in rows[f"TCP upload::{flow}"]
        assert rows[f"TCP upload::{flow}"][-1] == str(BINS)
    assert rows["G::cdg1"][0] == "3.00"
    total = float(rows["TCP totals"][0])
    assert total == pytest.approx(sum(float(rows[f"TCP upload::{f}"][0]) for f in FLOWS), abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("plot", ["totals", "upload", "ping_cdf", "tcp_cwnd", "tcp_rtt", "all"])
def test_flent_plots_it(run: Path, tmp_path: Path, plot: str):
    picture = tmp_path / "plot.png"
    flent("-i", run, "-p", plot, "-o", picture, home=tmp_path)
    pixels = matplotlib.image.imread(picture)[:, :, :3]
    height, width, _ = pixels.shape
    # curves have colours; axes, the ground and text have none, and the legend is to the right
    inside = pixels[height // 4 : 3 * height // 4, width // 8 : 3 * width // 4]
    coloured = (inside.max(axis=2) - inside.min(axis=2) > 0.2).sum()
    assert coloured > 100


def test_flent_makes_a_table_of_it(run: Path, tmp_path: Path):
    table = tmp_path / "run.csv"
    flent("-i", run, "-f", "csv", "-o", table, home=tmp_path)
    with table.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == BINS
    assert [float(row["Queue (ms)"]) for row in rows] == pytest.approx([queue_ms(t) for t in TIMES])


def test_the_same_run_gives_the_same_bytes(run: Path, tmp_path: Path):
    assert write(tmp_path / "run.flent.gz").read_bytes() == run.read_bytes()


def test_samples_between_bins_fall_into_theirs(tmp_path: Path):
    connections = tables()["connections"].with_columns(pl.col("t_s") + 0.1)
    result = resultset.load(str(write(tmp_path / "a.flent.gz", connections=connections)))
    assert result.series("cwnd::cdg1") == [10 + int(t) for t in TIMES]


def test_bins_that_differ_are_no_result(tmp_path: Path):
    with pytest.raises(TestbedError, match=r"bins \[119, 120\] of 120"):
        write(tmp_path / "a.flent.gz", queue=tables()["queue"].head(BINS - 1))
    assert not list(tmp_path.iterdir())


def test_errors_name_the_file(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match=r"No such file .*a\.flent\.gz"):
        write(tmp_path / "none" / "a.flent.gz")
