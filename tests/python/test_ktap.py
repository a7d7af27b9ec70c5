# SPDX-License-Identifier: GPL-2.0-only
"""tests/kunit/ktap.awk: what a kernel log counts for. No failure may pass unseen."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parent.parent / "kunit" / "ktap.awk"
GOOD = """\
[    0.000000] KTAP version 1
[    0.000000] 1..1
[    0.000000]     KTAP version 1
[    0.000000]     # Subtest: suite
[    0.000000]     # module: dalbe_test
[    0.000000]     1..2
[    0.000000]     # first: some news
[    0.000000]     ok 1 first
[    0.000000]     ok 2 second
[    0.000000] # suite: pass:2 fail:0 skip:0 total:2
[    0.000000] ok 1 suite
"""
SPLAT = "[    0.100000] BUG: KASAN: slab-out-of-bounds in cdg_round+0x1/0x2\n"


def convert(log: str, status: int = 0) -> tuple[int, list[str]]:
    """Exit status and output of the script."""
    done = subprocess.run(
        ["awk", "-v", f"status={status}", "-f", SCRIPT],
        input=log, stdout=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout.splitlines()


def test_every_test_has_a_line() -> None:
    assert convert(GOOD) == (0, ["ok - suite.first", "ok - suite.second", "# 2 passed, 0 failed"])


@pytest.mark.parametrize(
    ("log", "status", "line"),
    [
        ("", 0, "not ok - kunit.any_test_ran"),
        (GOOD, 1, "not ok - guest.exit_status_1"),
        (GOOD.replace("    ok 2", "    not ok 2"), 0, "not ok - suite.second"),
        (GOOD.replace("second\n", "second # SKIP no reason\n"), 0, "not ok - suite.second"),
        (GOOD.partition("[    0.000000]     ok 2")[0], 0, "not ok - suite.all_2_tests_ran"),
        (GOOD + SPLAT, 0, f"not ok - kernel_log: {SPLAT[15:-1]}"),
        (GOOD + "WARNING: CPU: 0 PID: 1 at x.c:1\n", 0, "not ok - kernel_log: WARNING: CPU: 0"),
        (GOOD + "UBSAN: shift-out-of-bounds in x.c:1\n", 0, "not ok - kernel_log: UBSAN: shift"),
    ],
)
def test_a_failure_is_seen(log: str, status: int, line: str) -> None:
    code, lines = convert(log, status)
    assert code == 1
    assert any(seen.startswith(line) for seen in lines)


def test_a_failure_is_explained() -> None:
    said = "[    0.000000]     # second: EXPECTATION FAILED at x.c:1\n                   1 == 2\n"
    _, lines = convert(GOOD.replace("[    0.000000]     ok 2", f"{said}    not ok 2"))
    at = lines.index("not ok - suite.second")
    assert lines[at - 2 : at] == [
        "#    # second: EXPECTATION FAILED at x.c:1", "#                   1 == 2",
    ]  # fmt: skip
