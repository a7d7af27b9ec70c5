# SPDX-License-Identifier: GPL-2.0-only
"""The sampler, on real connections of this machine, and its output as a table."""

import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import IO

import pytest
from dalbe_testbed.errors import TestbedError
from dalbe_testbed.reduce import tcpinfo

SOURCE = Path(__file__).resolve().parents[2] / "testbed/guest/tcpsample.c"
CLOCK_US = 1_000_000_000_000_000
FLOWS = {5001: "cdg1", 6001: "cubic1"}
HEADER = "\t".join(tcpinfo.COLUMNS) + "\n"
CDG = (
    "1000000001500000\t4242\t5001\tdalbe_cdg\t12\t2147483647\t51500\t700\t50000\t123456\t1448\t"
    "125000\t11\t1\n"
)
CUBIC = "1000000001000000\t4243\t6001\tcubic\t20\t14\t80000\t700\t4294967295\t9\t0\t125000\t11\t0\n"
OTHER = CUBIC.replace("6001", "9000")


def written(directory: Path, name: str, text: str) -> Path:
    path = directory / name
    path.write_text(text)
    return path


def test_files_of_both_senders_in_one_table(tmp_path: Path):
    paths = [
        written(tmp_path, "tcp.sender", HEADER + CDG + OTHER),
        written(tmp_path, "tcp.xsender", HEADER + CUBIC),
    ]
    cubic, cdg = tcpinfo.read(paths, CLOCK_US, FLOWS).to_dicts()
    assert cdg == {
        "t_s": 1.5,
        "flow": "cdg1",
        "cc": "dalbe_cdg",
        "cwnd_packets": 12,
        "ssthresh_packets": None,
        "srtt_ms": 51.5,
        "rttvar_ms": 0.7,
        "min_rtt_ms": 50.0,
        "bytes_acked": 123456,
        "bytes_retrans": 1448,
        "delivery_rate_bps": 1_000_000,
        "unacked_packets": 11,
        "lost_packets": 1,
    }
    assert (cubic["flow"], cubic["t_s"], cubic["ssthresh_packets"]) == ("cubic1", 1.0, 14)
    assert cubic["min_rtt_ms"] is None


def test_what_was_acknowledged_between_two_samples(tmp_path: Path):
    """Of each connection, whatever its port was used for before."""
    later = CDG.replace("1000000001500000", "1000000002000000").replace("123456", "234567")
    again = later.replace("4242", "4244").replace("234567", "5")
    sender = written(tmp_path, "tcp.sender", HEADER + CDG + later + again)
    xsender = written(tmp_path, "tcp.xsender", HEADER + CUBIC)
    table = tcpinfo.acknowledged([sender, xsender], CLOCK_US)
    columns = ("out_us", "source", "port", "payload_bytes")
    assert table.sort("out_us", "source").select(columns).rows() == [
        (1_000_000, 4243, 6001, 9),
        (1_500_000, 4242, 5001, 123456),
        (2_000_000, 4242, 5001, 234567 - 123456),
        (2_000_000, 4244, 5001, 5),
    ]
    assert table["sent_us"].to_list() == table["in_us"].to_list() == table["out_us"].to_list()


def test_no_connection_is_an_empty_table(tmp_path: Path):
    assert tcpinfo.read([written(tmp_path, "t", HEADER)], CLOCK_US, FLOWS).height == 0


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "not tcpsample's columns"),
        (HEADER.replace("cc\t", "dd\t"), "not tcpsample's columns"),
        (HEADER + CDG[:60], "ends within a line"),
        (HEADER + CDG.replace("5001", "many"), "many"),
    ],
)
def test_a_broken_file_is_no_result(tmp_path: Path, text: str, word: str):
    with pytest.raises(TestbedError, match=word):
        tcpinfo.read([written(tmp_path, "tcp.sender", text)], CLOCK_US, FLOWS)


def test_a_missing_file_is_no_result(tmp_path: Path):
    with pytest.raises(TestbedError, match="did tcpsample run"):
        tcpinfo.read([tmp_path / "none"], CLOCK_US, FLOWS)


@pytest.fixture(scope="module")
def tcpsample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("tcpsample") / "tcpsample"
    compiler = shutil.which("gcc")
    assert compiler, "gcc is missing: apt-get install gcc libc6-dev"
    flags = ["-O2", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([compiler, *flags, "-o", program, SOURCE], check=True)
    return program


def catches_sigterm(pid: int) -> bool:
    _, _, after = Path(f"/proc/{pid}/status").read_text().partition("SigCgt:")
    return bool(int(after.split()[0], 16) & 1 << (signal.SIGTERM - 1))


def started(words: list[str | Path], stdout: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start a sampler, and wait until SIGTERM no longer kills it."""
    sampler = subprocess.Popen(words, stdout=stdout, stderr=subprocess.PIPE)
    while not catches_sigterm(sampler.pid):
        assert sampler.poll() is None
        time.sleep(0.01)
    return sampler


@pytest.mark.parametrize(("family", "host"), [("AF_INET", "127.0.0.1"), ("AF_INET6", "::1")])
def test_the_sampler_sees_a_connection(tcpsample: Path, tmp_path: Path, family: str, host: str):
    output = tmp_path / "tcp"
    begin_us = time.time_ns() // 1000
    with socket.create_server((host, 0), family=getattr(socket, family)) as server:
        port = server.getsockname()[1]
        sender = socket.create_connection((host, port))
        receiver, _ = server.accept()
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
    with sender, receiver, output.open("wb") as file:
        sampler = started([tcpsample, "20"], file)
        for _ in range(20):
            sender.sendall(bytes(10_000))
            receiver.recv(10_000, socket.MSG_WAITALL)
            time.sleep(0.01)
        sampler.send_signal(signal.SIGTERM)
        assert sampler.wait(timeout=5) == 0
    table = tcpinfo.read([output], begin_us // 20_000 * 20_000, {port: "flow"})
    assert table.height >= 3
    assert set(table["cc"]) == {"reno"}
    assert 0 <= table["t_s"][0] < 30
    assert table["t_s"].diff().drop_nulls().min() > 0.001
    # behind its multiple of the period by what waking up took
    late_s = table["t_s"] % 0.02
    assert late_s.min() < 0.01
    assert table["bytes_acked"].is_sorted()
    assert 10_000 <= table["bytes_acked"][-1] <= 200_001
    assert (table["cwnd_packets"] >= 2).all()
    assert (table["srtt_ms"] > 0).all()


@pytest.mark.parametrize("period", ["0", "60001", "1s", ""])
def test_the_sampler_refuses_a_bad_period(tcpsample: Path, period: str):
    done = subprocess.run([tcpsample, period], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == f"tcpsample: '{period}' is no period: type milliseconds, 1 to 60000\n"


def test_the_sampler_says_that_the_disk_is_full(tcpsample: Path):
    with Path("/dev/full").open("wb") as full:
        sampler = started([tcpsample, "60000"], full)
        sampler.terminate()
        _, error = sampler.communicate(timeout=5)
    assert sampler.returncode == 1
    assert error == b"tcpsample: standard output: No space left on device\n"
