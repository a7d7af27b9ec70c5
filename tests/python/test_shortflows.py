# SPDX-License-Identifier: GPL-2.0-only
"""Short flows: what a seed draws, what the helper does with it, what the table says of it."""

from __future__ import annotations

import math
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from dalbe_testbed.errors import TestbedError
from dalbe_testbed.paths import TESTBED
from dalbe_testbed.plan.experiment import ShortFlows
from dalbe_testbed.plan.schedule import Transfer, draw_short_flows, mean_bytes
from dalbe_testbed.reduce import tables
from hypothesis import given, settings
from hypothesis import strategies as st

RATE_BPS = 10_000_000


@given(st.floats(0.05, 1), st.integers(1, 10**6), st.floats(0, 100), st.integers(0, 10**8))
@settings(max_examples=50)
def test_transfers_are_in_order_and_within_their_limits(
    load: float, low: int, start_s: float, seed: int
) -> None:
    short = ShortFlows(load=load, min_bytes=low, max_bytes=low * 4, start_s=start_s)
    stop_s = start_s + 100 * mean_bytes(short) * 8 / (load * RATE_BPS)
    transfers = draw_short_flows(short, RATE_BPS, stop_s, seed)
    assert transfers == draw_short_flows(short, RATE_BPS, stop_s, seed)
    starts = [transfer.start_s for transfer in transfers]
    assert starts == sorted(starts)
    assert all(start_s - 1e-6 <= at_s <= stop_s + 1e-6 for at_s in starts)
    assert all(low <= transfer.bytes <= low * 4 for transfer in transfers)


def test_load_and_sizes_are_what_was_asked_for() -> None:
    short = ShortFlows(load=0.3)
    transfers = draw_short_flows(short, RATE_BPS, 50_000, 1)
    sizes = pl.Series([transfer.bytes for transfer in transfers])
    assert sizes.sum() * 8 / 50_000 == pytest.approx(0.3 * RATE_BPS, rel=0.02)
    assert sizes.mean() == pytest.approx(mean_bytes(short), rel=0.02)
    assert sizes.median() == pytest.approx(math.sqrt(1e5 * 1e6), rel=0.03)
    gaps = pl.Series([transfer.start_s for transfer in transfers]).diff().drop_nulls()
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.03)  # exponential


def test_one_size() -> None:
    short = ShortFlows(load=0.3, min_bytes=5000, max_bytes=5000)
    assert {t.bytes for t in draw_short_flows(short, RATE_BPS, 10, 1)} == {5000}


def test_seeds_differ_and_too_little_is_an_error() -> None:
    short = ShortFlows(load=0.3)
    assert draw_short_flows(short, RATE_BPS, 60, 1) != draw_short_flows(short, RATE_BPS, 60, 2)
    with pytest.raises(TestbedError, match="seed 1 draws no transfer from 0 to"):
        draw_short_flows(short, RATE_BPS, 0.001, 1)


# The table

THREE = [Transfer(1.0, 500), Transfer(2.0, 600), Transfer(3.0, 700)]


def test_what_was_over_and_what_was_not(tmp_path: Path) -> None:
    log = tmp_path / "requests.log"
    log.write_text("1\t102000100\t104000000\n0\t101000000\t110500000\n")
    table = tables.transfer_table(log, 100_000_000, THREE, 10.0)
    assert table.rows() == [(1.0, 500, None), (2.0001, 600, 4.0), (3.0, 700, None)]
    assert table.columns == ["start_s", "bytes", "end_s"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "none of 3 short flows was over at 10 s"),
        ("0\t101000000\t110500000\n", "none of 3 short flows"),
        ("0\t1\t2\nshortflows: connect: no route", "requests.log: shortflows: connect: no route"),
        ("0\t1\n", "requests.log: 0\t1"),
    ],
)
def test_a_run_without_a_transfer_is_no_result(tmp_path: Path, text: str, words: str) -> None:
    log = tmp_path / "requests.log"
    log.write_text(text)
    with pytest.raises(TestbedError, match=words):
        tables.transfer_table(log, 100_000_000, THREE, 10.0)


# The helper


@pytest.fixture(scope="module")
def helper() -> str:
    script = TESTBED / "guest/build-helpers.sh"
    done = subprocess.run([script], capture_output=True, text=True, check=True, timeout=60)
    return f"{done.stdout.strip()}/shortflows"


@pytest.fixture
def port(helper: str) -> Iterator[int]:
    """A port of this machine that the helper serves."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number = int(probe.getsockname()[1])
    with subprocess.Popen([helper, "serve", str(number)]) as server:
        while socket.socket().connect_ex(("127.0.0.1", number)):
            assert server.poll() is None
        yield number
        server.kill()


def send(
    helper: str, port: int, schedule: Path, cc: str = "cubic"
) -> subprocess.CompletedProcess[str]:
    words = [helper, "send", "127.0.0.1", str(port), cc, str(schedule)]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=30)


def test_every_transfer_starts_on_time_and_ends(helper: str, port: int, tmp_path: Path) -> None:
    transfers = [Transfer(0.0, 10_000_000), Transfer(0.1, 1), Transfer(0.1, 70_000)]
    schedule = tmp_path / "schedule"
    schedule.write_text("".join(f"{one.line}\n" for one in transfers))
    done = send(helper, port, schedule)
    assert (done.returncode, done.stderr) == (0, "")
    lines = {
        int(number): (int(a), int(b)) for number, a, b in map(str.split, done.stdout.splitlines())
    }
    assert sorted(lines) == [0, 1, 2]
    assert all(start_us < end_us for start_us, end_us in lines.values())
    for number in (1, 2):
        assert lines[number][0] - lines[0][0] >= 99_000


@pytest.mark.parametrize(
    ("schedule", "cc", "words"),
    [
        ("0 5\n", "nosuch", "congestion control 'nosuch'"),
        ("0 0\n", "cubic", 'line 1 is not "AT_US BYTES"'),
        ("0 5\n7\n", "cubic", "line 2 is not"),
    ],
)
def test_what_the_helper_refuses(
    helper: str, port: int, tmp_path: Path, schedule: str, cc: str, words: str
) -> None:
    path = tmp_path / "schedule"
    path.write_text(schedule)
    done = send(helper, port, path, cc)
    assert done.returncode == 1
    assert words in done.stderr


def test_a_receiver_that_is_not_there_is_an_error(helper: str, tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        path = tmp_path / "schedule"
        path.write_text("0 5\n")
        done = send(helper, int(closed.getsockname()[1]), path)
    assert done.returncode == 1
    assert "refused" in done.stderr
