# SPDX-License-Identifier: GPL-2.0-only
"""The guest repeats itself, and a stuck one is ended and named. Needs a built kernel."""

import hashlib
import time
from pathlib import Path

import pytest
from dalbe_testbed import backends, experiment, runner
from dalbe_testbed.backends import uml
from dalbe_testbed.backends.process import TESTBED
from dalbe_testbed.errors import TestbedError
from dalbe_testbed.scenario import Tools

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


def tables(directory: Path) -> dict[str, str]:
    """Hash everything that a run leaves but what the guest wrote and was given."""
    paths = [path for path in directory.iterdir() if path.is_file() and path.name != "kernel.log"]
    assert {"rates.parquet", "connections.parquet", "manifest.json"} <= {p.name for p in paths}
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in paths}


def test_same_seed_same_tables(kernel: Path, tmp_path: Path):
    settings = [s for s in SHORT if not s.startswith("flows.cdg")]
    settings += ["flows.cdg1.g_ms=3", "flows.cdg2.g_ms=3"]
    short = experiment.load(TESTBED / "experiments/cell.toml", settings)
    tools = Tools(backend=uml.Uml(kernel))
    for name, seed in (("first", 3), ("second", 3), ("other", 4)):
        run = runner.run(short, seed, tmp_path / name, tools)
        assert run.rates["wire_bytes"].sum() > 10e6
        assert run.proof.drops > 0
    assert tables(tmp_path / "first") == tables(tmp_path / "second")
    assert (
        tables(tmp_path / "first")["rates.parquet"] != tables(tmp_path / "other")["rates.parquet"]
    )


def test_a_spinning_guest_is_killed_and_named(kernel: Path, tmp_path: Path):
    script = tmp_path / "spin.sh"
    script.write_text("echo T=5\nwhile :; do :; done\n")
    begin = time.monotonic()
    with pytest.raises(TestbedError, match=r"run 'spinner' hung: killed after 5 s .*T=5"):
        uml.boot(kernel, tmp_path / "out", [str(script)], name="spinner", wall_limit_s=5)
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
        uml.boot(kernel, tmp_path / "out", [str(script)], name="waiter", virtual_limit_s=50)


def test_the_guest_writes_nowhere_else(kernel: Path, tmp_path: Path):
    script = tmp_path / "write.sh"
    script.write_text(
        f'id -u\ntouch "{tmp_path}/here" 2>/dev/null && exit 3\n'
        'touch /etc/here 2>/dev/null && exit 4\necho yes >"$OUT/result"\n'
    )
    uml.boot(kernel, tmp_path / "out", [str(script)], name="writer")
    assert (tmp_path / "out/result").read_text() == "yes\n"
    assert not (tmp_path / "here").exists()


def test_a_failing_script_fails_the_run(kernel: Path, tmp_path: Path):
    script = tmp_path / "fail.sh"
    script.write_text("exit 7\n")
    with pytest.raises(TestbedError, match="run 'failing' failed with status 7"):
        uml.boot(kernel, tmp_path / "out", [str(script)], name="failing")
