# SPDX-License-Identifier: GPL-2.0-only
"""The guest repeats itself, and a stuck one is ended and named. Needs a built kernel."""

import hashlib
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import polars as pl
import pytest
from dalbe_testbed.errors import TestbedError
from dalbe_testbed.paths import TESTBED
from dalbe_testbed.plan import experiment, sweep
from dalbe_testbed.plan.link import FRAME_BYTES
from dalbe_testbed.run import backends, runner
from dalbe_testbed.run.scenario import Tools

pytestmark = pytest.mark.guest

SHORT = [
    "duration_s=20",
    "flows.cdg1.cc='cubic'",
    "flows.cdg2.cc='cubic'",
    "flows.cubic1.start_s=2",
    "flows.cubic1.start_jitter_s=1",
    "flows.cubic2.start_s=2",
]


@pytest.fixture(scope="session")
def kernel() -> Path:
    return backends.choose("uml").build_dir


def tools_with_goals(kernel: Path) -> Tools:
    """Build the module for the guest, and dalbectl."""
    repository = TESTBED.parent
    subprocess.run(["make", "-s", "-C", repository / "tools", "dalbectl"], check=True)
    build = [repository / "scripts/guest-module.sh", kernel]
    module = subprocess.run(build, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    return Tools(backends.choose("uml", str(kernel)), Path(module), repository / "tools/dalbectl")


def tables(directory: Path) -> dict[str, str]:
    """Hash everything that a run leaves but what the guest wrote and was given."""
    paths = [path for path in directory.iterdir() if path.is_file() and path.name != "kernel.log"]
    assert {"rates.parquet", "connections.parquet", "manifest.json"} <= {p.name for p in paths}
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in paths}


# A stopped child's vector registers, read and written in a buffer of 576 bytes: what fits
# without AVX, as User Mode Linux' 2696 are what fits without AMX.
TOO_SMALL = """
import ctypes, os, signal
GETREGSET, SETREGSET, XSTATE = 0x4204, 0x4205, 0x202
class iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
if not (child := os.fork()):
    libc.ptrace(0, 0, None, None)
    os.kill(os.getpid(), signal.SIGSTOP)
    os._exit(0)
os.waitpid(child, 0)
buffer = ctypes.create_string_buffer(576)
for request in GETREGSET, SETREGSET:
    state = iovec(ctypes.addressof(buffer), len(buffer))
    if libc.ptrace(request, child, XSTATE, ctypes.addressof(state)) or state.len != 576:
        print(os.strerror(ctypes.get_errno()), end="")
os.kill(child, signal.SIGKILL)
"""


@pytest.mark.skipif(" avx " not in Path("/proc/cpuinfo").read_text(), reason="no AVX")
@pytest.mark.parametrize(("preloaded", "error"), [("xstate.so", ""), ("", "Bad address")])
def test_processors_with_more_registers_than_uml_knows(preloaded: str, error: str):
    helpers = TESTBED / "guest/build-helpers.sh"
    where = Path(subprocess.run([helpers], check=True, capture_output=True, text=True).stdout[:-1])
    ran = subprocess.run(
        [sys.executable, "-c", TOO_SMALL],
        env={"LD_PRELOAD": str(where / preloaded)} if preloaded else {},
        check=True,
        capture_output=True,
        text=True,
    )
    assert ran.stdout == error


def test_same_seed_same_tables(kernel: Path, tmp_path: Path):
    settings = [s for s in SHORT if not s.startswith("flows.cdg")]
    settings += ["flows.cdg1.g_ms=3", "flows.cdg2.g_ms=3"]
    short = experiment.load(TESTBED / "experiments/cell.toml", settings)
    tools = Tools(backend=backends.choose("uml", str(kernel)))
    for name, seed in (("first", 3), ("second", 3), ("other", 4)):
        run = runner.run(short, seed, tmp_path / name, tools)
        assert run.tables["rates"]["wire_bytes"].sum() > 10e6
        assert run.proof.drops > 0
    assert tables(tmp_path / "first") == tables(tmp_path / "second")
    assert (
        tables(tmp_path / "first")["rates.parquet"] != tables(tmp_path / "other")["rates.parquet"]
    )


def test_all_that_a_link_and_its_traffic_can_be(kernel: Path, tmp_path: Path):
    """Strict priority, loss, jitter, two-way traffic, voice, short flows and sessions at once."""
    settings = ["duration_s=12", "bin_s=1", "background.hosts=['sender']"]
    settings += ["link.qdisc=strict_priority", "link.loss=0.001", "link.jitter_ms=2"]
    settings += ["link.reverse_flows=2", "voice={}", "short_flows={load=0.3,max_bytes=300_000}"]
    settings += ["web={load=0.2,reverse_part=0.5}"]
    settings += ["flows.cubic2.duration_s=none", "flows.cubic2.bytes=100_000"]
    settings += ["flows.cubic2.again_s=1"]
    for n in (1, 2):
        settings += [f"flows.cdg{n}.cc=cubic", f"flows.cdg{n}.g_ms=none"]
        settings += [f"flows.cdg{n}.ipv6={'true' if n == 2 else 'false'}"]
        settings += [f"flows.cubic{n}.start_s=4", f"flows.cubic{n}.start_jitter_s=0"]
    everything = experiment.load(TESTBED / "experiments/cell.toml", settings)
    run = runner.run(
        everything, 1, tmp_path / "run", Tools(backend=backends.choose("uml", str(kernel)))
    )
    assert run.proof.overtaken == 0
    assert run.proof.reverse_bytes > 0.8 * 12 * 10e6 / 8
    assert sum(port.lost for port in run.proof.impairments.values()) > 0
    assert run.tables["voice"].height == pytest.approx(12 * 50, rel=0.05)
    assert run.tables["voice"]["queue_ms"].median() < 60  # two full buffers would be 100
    assert run.tables["requests"]["end_s"].drop_nulls().len() > run.tables["requests"].height / 2
    assert (
        run.tables["requests"]["end_s"] - run.tables["requests"]["start_s"]
    ).min() > 0.1  # two RTTs
    payload = dict(run.tables["rates"].group_by("flow").agg(pl.col("payload_bytes").sum()).rows())
    assert payload["requests"] >= run.tables["requests"].drop_nulls()["bytes"].sum()
    done = run.tables["web"].drop_nulls().group_by("direction").len()
    assert set(done["direction"]) == {"forward", "back"}
    assert done["len"].min() > 10
    assert run.tables["transfers"].drop_nulls().height > 1
    pauses = run.tables["transfers"]["start_s"].shift(-1) - run.tables["transfers"]["end_s"]
    assert pauses.drop_nulls().is_between(0.5, 3).all()
    contended = run.tables["rates"].filter(pl.col("t_s") >= 6)
    assert contended.filter(pl.col("flow") == "background")["wire_bytes"].sum() > 0
    assert set(run.tables["flows"]["flow"]) == {"cdg1", "cdg2", "cubic1", "cubic2"}


def test_a_path_and_a_program_that_change(kernel: Path, tmp_path: Path):
    """A longer route for a time, ACKs that are lost and wait, a program that stops for a while."""
    settings = ["duration_s=18", "bin_s=0.5", "link.detour={extra_ms=40,from_s=5,to_s=9}"]
    settings += ["link.ack_loss=0.1", "link.ack_slot_ms=5"]
    settings += ["flows.cubic1.pause={after_s=8.5,for_s=6}", "link.buffer_bdp=0.5"]
    for n in (1, 2):
        settings += [f"flows.cdg{n}.cc=cubic", f"flows.cdg{n}.g_ms=none"]
        settings += [f"flows.cubic{n}.start_s={0.5 * n}", f"flows.cubic{n}.start_jitter_s=0"]
    changing = experiment.load(TESTBED / "experiments/cell.toml", settings)
    run = runner.run(
        changing, 1, tmp_path / "run", Tools(backend=backends.choose("uml", str(kernel)))
    )
    assert run.proof.impairments["uplink"].slot_ms == 5
    assert run.proof.impairments["uplink"].lost > 0
    assert run.proof.impairments["port1"].delay_ms == 0  # at last

    def least_ms(begin_s: float, end_s: float) -> float:
        during = run.tables["connections"].filter(pl.col("t_s").is_between(begin_s, end_s))
        return during["srtt_ms"].drop_nulls().min()

    # 50 ms, up to 5 of slots and up to 25 of queue; in between 40 more
    assert least_ms(2, 4.9) < 85
    assert least_ms(6, 8.9) > 90
    assert least_ms(10, 14) < 85
    rates = run.tables["rates"].filter(flow="cubic1").select("t_s", "sent_bytes")
    sent: dict[float, int] = dict(rates.iter_rows())
    assert sent[8.5] > 0
    assert sent[14] == 0  # what the kernel still had is gone
    assert sent[17] > 0


@pytest.mark.parametrize("host", ["sender", "receiver", "router"])
def test_a_host_that_stands_still(kernel: Path, tmp_path: Path, host: str):
    """Nothing is sent, once the window is, and all that was late is there at once then."""
    stall = f"link.stall={{host='{host}',for_ms=600,every_s=3,from_s=4}}"
    settings = [*SHORT, "flows.cdg1.g_ms=none", "flows.cdg2.g_ms=none", stall]
    settings += ["duration_s=8", "bin_s=0.1", "link.buffer_bdp=4"]
    short = experiment.load(TESTBED / "experiments/cell.toml", settings)
    run = runner.run(short, 1, tmp_path / "run", Tools(backend=backends.choose("uml", str(kernel))))
    rates = run.tables["rates"].filter(flow="cdg1").select("t_s", "sent_bytes")
    sent: dict[float, int] = {round(t_s, 1): bytes_ for t_s, bytes_ in rates.iter_rows()}
    least = FRAME_BYTES * 10
    assert sent[3.9] > least
    # but for TCP's probes for a lost tail, whose timer goes on
    assert sum(sent[t_s] for t_s in (4.2, 4.3, 4.4, 4.5)) <= FRAME_BYTES * 3
    assert sent[4.6] > least


def boot(kernel: Path, out: Path, script: Path, name: str, *options: str) -> None:
    words = [
        str(backends.SCRIPTS["uml"]),
        "-k",
        str(kernel),
        "-o",
        str(out),
        "-n",
        name,
        *options,
    ]
    backends.play([*words, str(script)], out, name=name)


def test_a_spinning_guest_is_killed_and_named(kernel: Path, tmp_path: Path):
    script = tmp_path / "spin.sh"
    script.write_text("echo T=5\nwhile :; do :; done\n")
    begin = time.monotonic()
    with pytest.raises(TestbedError, match=r"run 'spinner' hung: killed after 5 s .*T=5"):
        boot(kernel, tmp_path / "out", script, "spinner", "-w", "5")
    assert time.monotonic() - begin < 15
    leftover = [p for p in Path("/proc").glob("[0-9]*/cwd") if is_guest_directory(p)]
    assert not leftover


def is_guest_directory(link: Path) -> bool:
    try:
        return "dalbe-guest." in str(link.readlink()) and "(deleted)" in str(link.readlink())
    except OSError:
        return False


def test_a_guest_that_only_waits_is_ended_by_virtual_time(kernel: Path, tmp_path: Path):
    script = tmp_path / "wait.sh"
    script.write_text("sleep 100000\n")
    with pytest.raises(TestbedError, match=r"run 'waiter' did not end within 50 s of virtual"):
        boot(kernel, tmp_path / "out", script, "waiter", "-t", "50")


def test_the_guest_writes_nowhere_else(kernel: Path, tmp_path: Path):
    script = tmp_path / "write.sh"
    script.write_text(
        f'id -u\ntouch "{tmp_path}/here" 2>/dev/null && exit 3\n'
        'touch /etc/here 2>/dev/null && exit 4\necho yes >"$OUT/result"\n'
    )
    boot(kernel, tmp_path / "out", script, "writer")
    assert (tmp_path / "out/result").read_text() == "yes\n"
    assert not (tmp_path / "here").exists()


def test_a_failing_script_fails_the_run(kernel: Path, tmp_path: Path):
    script = tmp_path / "fail.sh"
    script.write_text("exit 7\n")
    with pytest.raises(TestbedError, match="run 'failing' failed with status 7"):
        boot(kernel, tmp_path / "out", script, "failing")


IN_30_S = sweep.axes()["window"].settings["30"]


def test_a_deadline_is_held_where_the_losses_of_others_empty_the_buffer(
    kernel: Path, tmp_path: Path
):
    """Cell 75 of `goals`: CUBIC needs 0.4 of the window. Losses once passed for answers: 1.3."""
    settings = ["link.rate_mbps=199", "link.rtt_ms=53.1", "link.buffer_bdp=0.709"]
    settings += ["flows.ours.link_s=4.94", "flows.other2.duration_s=12"]
    short_buffer = experiment.load(TESTBED / "experiments/goals.toml", [*IN_30_S, *settings])
    run = runner.run(short_buffer, 1, tmp_path / "run", tools_with_goals(kernel))
    ours = run.tables["flows"].filter(flow="ours").row(0, named=True)
    assert ours["finished"]
    assert ours["end_s"] - ours["start_s"] < 30


def idle_link(*settings: str) -> experiment.Experiment:
    """A transfer, and nobody else but for a few small packets."""
    alone = [f"flows.{name}.duration_s=none" for name in ("other1", "other2")]
    alone += [f"flows.{name}.bytes=1000" for name in ("other1", "other2")]
    return experiment.load(TESTBED / "experiments/goals.toml", [*IN_30_S, *settings, *alone])


ALONE = ["duration_s=31", "link.buffer_bdp=none", "background=none", "flows.ours.duration_s=31"]
ALONE += ["flows.cubic.start_s=30", "flows.cubic.start_jitter_s=0", "flows.cubic.duration_s=1"]


def used(kernel: Path, out: Path, *settings: str) -> float:
    """Return what part of the link our flow uses, alone, from 10 s on."""
    alone = experiment.load(TESTBED / "experiments/dynamics.toml", [*ALONE, *settings])
    run = runner.run(alone, 1, out, tools_with_goals(kernel))
    rates = run.tables["rates"].filter(pl.col("t_s").is_between(10, 30, closed="left"), flow="ours")
    return rates["wire_bytes"].sum() * 8 / 20 / alone.link.rate_bps


@pytest.mark.parametrize(
    ("path", "least"),
    [
        # CUBIC 99 %, and we once 23: each second 0.1 s at half of the window, at least
        ("rtt_ms=50 buffer_packets=42 stall={host='router',for_ms=50,every_s=1,from_s=3}", 0.85),
        # we once 0.4 %, as two ticks of doubt in the receiver's clock passed for a queue
        ("rate_mbps=50 rtt_ms=5 buffer_packets=60 ack_slot_ms=10", 0.7),
    ],
)
def test_a_path_that_stands_still_and_clumps_of_acks_are_no_newcomers(
    kernel: Path, tmp_path: Path, path: str, least: float
):
    settings = [f"link.{words}" for words in path.split(" ")]
    assert used(kernel, tmp_path / "run", *settings) > least


def test_on_a_real_clock_computing_takes_time(kernel: Path, tmp_path: Path):
    """Offloads, a program that reads little, and no captures."""
    settings = ["clock=real", "captures=false", "duration_s=8", "link.offloads=true", "bin_s=0.5"]
    settings += ["background=none", "flows.ours.duration_s=7", "flows.cubic.start_s=1"]
    settings += ["flows.cubic.start_jitter_s=0", "flows.cubic.duration_s=6"]
    settings += ["link.rtt_ms=2", "link.buffer_bdp=none", "link.buffer_packets=50"]
    busy = experiment.load(
        TESTBED / "experiments/dynamics.toml", [*settings, "flows.cubic.read_mbps=2"]
    )
    begin_s = time.monotonic()
    run = runner.run(busy, 1, tmp_path / "run", tools_with_goals(kernel))
    assert time.monotonic() - begin_s > 8
    assert '"clock": "real"' in (tmp_path / "run/manifest.json").read_text()
    assert run.proof.base_rtt_ms["sender"] > 2
    rates = run.tables["rates"].filter(pl.col("t_s").is_between(3, 7, closed="left"), flow="cubic")
    # a busy machine may fill the receiver's buffer as late as that, in some of the bins
    assert 1 < rates["payload_bytes"].median() * 8e-6 / 0.5 < 3


@pytest.mark.skipif(find_spec("libtorrent") is None, reason="no libtorrent for this Python")
def test_libtorrent_keeps_the_queue_at_its_target(kernel: Path, tmp_path: Path):
    """100 ms, in a buffer of half a second that CUBIC would fill."""
    settings = [*ALONE, "link.rate_mbps=2", "link.buffer_packets=83"]
    settings += ["flows.ours.cc=utp", "flows.ours.w=none"]
    alone = experiment.load(TESTBED / "experiments/dynamics.toml", settings)
    run = runner.run(alone, 1, tmp_path / "run", Tools(backends.choose("uml", str(kernel))))
    steady = pl.col("t_s").is_between(15, 30, closed="left")
    rates = run.tables["rates"].filter(steady, flow="ours")
    assert rates["payload_bytes"].sum() * 8e-6 / 15 > 1.8
    assert 70 < run.tables["queue"].filter(steady)["queue_ms"].mean() < 130


def test_offloads_make_no_packet_larger_than_the_path_takes(kernel: Path, tmp_path: Path):
    """In virtual time: a run that had one would be no result."""
    settings = [*SHORT, "flows.cdg1.g_ms=none", "flows.cdg2.g_ms=none"]
    settings += ["link.offloads=true", "link.rate_mbps=50"]
    cell = experiment.load(TESTBED / "experiments/cell.toml", settings)
    run = runner.run(cell, 1, tmp_path / "run", Tools(backends.choose("uml", str(kernel))))
    assert run.proof.largest_frame_bytes == FRAME_BYTES


PEER_SOURCE = """
#include <linux/module.h>
#include <net/tcp.h>

static_assert(GFP_KERNEL == GFP_ATOMIC, "a hook must not wait for memory");

static int most = 1000;
module_param(most, int, 0444);

static void mine_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
	tcp_snd_cwnd_set(tcp_sk(sk), min_t(u32, tcp_snd_cwnd(tcp_sk(sk)), most));
}

static struct tcp_congestion_ops mine = {
	.ssthresh = tcp_reno_ssthresh,
	.cong_avoid = mine_cong_avoid,
	.undo_cwnd = tcp_reno_undo_cwnd,
	.owner = THIS_MODULE,
	.name = "mine",
};

static int __init mine_init(void)
{
	return tcp_register_congestion_control(&mine);
}
module_init(mine_init);
MODULE_DESCRIPTION("Reno by another name, up to a window");
MODULE_LICENSE("GPL");
"""


def test_a_module_of_others_stands_in_an_experiment(kernel: Path, tmp_path: Path):
    peer = tmp_path / "peer"
    settings = [*SHORT, *(f"flows.cdg{n}.g_ms=none" for n in (1, 2))]
    settings += [f"flows.cdg{n}.{key}" for n in (1, 2) for key in ("cc=peer", f"peer={peer}")]
    settings += ["flows.cdg2.peer_parameters=most=3"]
    cell = experiment.load(TESTBED / "experiments/cell.toml", settings)
    peer.mkdir()
    with pytest.raises(TestbedError, match=r"no tcp_\*\.c with a Makefile in there"):
        runner.run(cell, 1, tmp_path / "none", Tools(backends.choose("uml", str(kernel))))
    (peer / "tcp_mine.c").write_text(PEER_SOURCE)
    (peer / "Makefile").write_text("obj-m := tcp_mine.o\n")
    run = runner.run(cell, 1, tmp_path / "run", Tools(backends.choose("uml", str(kernel))))
    assert run.tables["flows"].filter(flow="cdg1")["payload_bytes"].item() > 1e6
    late = run.tables["connections"].filter(pl.col("t_s") > 5)
    windows = {flow: late.filter(flow=flow)["cwnd_packets"] for flow in ("cdg1", "cdg2")}
    assert windows["cdg1"].max() > 3
    assert windows["cdg2"].max() <= 3


def test_no_receiver_is_too_slow_for_the_fastest_link(kernel: Path, tmp_path: Path):
    """200 Mbit/s: a program that reads too little makes its peer's kernel wait for ACKs."""
    cubic = ["flows.ours.goal=none", "flows.ours.cc=cubic", "flows.ours.link_s=3"]
    fastest = idle_link("link.rate_mbps=200", "link.rtt_ms=2", "link.buffer_bdp=4", *cubic)
    run = runner.run(fastest, 1, tmp_path / "run", Tools(backends.choose("uml", str(kernel))))
    ours = run.tables["flows"].filter(flow="ours").row(0, named=True)
    assert ours["end_s"] - ours["start_s"] < 3.4


def test_a_long_fat_path_is_filled_by_the_first_slow_start(kernel: Path, tmp_path: Path):
    """3 s of the link. They took 13 s while the pace of a paced slow start ended it."""
    idle = idle_link("link.rate_mbps=100", "link.rtt_ms=200", "flows.ours.link_s=3")
    run = runner.run(idle, 1, tmp_path / "run", tools_with_goals(kernel))
    ours = run.tables["flows"].filter(flow="ours").row(0, named=True)
    assert ours["finished"]
    assert ours["end_s"] - ours["start_s"] < 6
    assert ours["drops"] == 0


def test_what_programs_say_first_is_no_queue(kernel: Path, tmp_path: Path):
    """2 s of the link by rsync: 5 s where ACKs that its questions waited for ended slow start."""
    asks_first = idle_link("flows.ours.kind=rsync", "flows.ours.link_s=2")
    run = runner.run(asks_first, 1, tmp_path / "run", tools_with_goals(kernel))
    ours = run.tables["flows"].filter(flow="ours").row(0, named=True)
    assert ours["finished"]
    assert ours["end_s"] - ours["start_s"] < 3.5
