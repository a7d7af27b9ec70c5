# SPDX-License-Identifier: GPL-2.0-only
"""again.sh: one transfer after another."""

from __future__ import annotations

import subprocess
import time

import pytest
from dalbe_testbed.paths import TESTBED

AGAIN = TESTBED / "guest/again.sh"


def again(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(AGAIN), *words], capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize(("pause", "last", "times"), [("0.2", "0.5", 3), ("1", "0.5", 1),
                                                      ("0.05", "0", 1)])  # fmt: skip
def test_again_and_again_until_it_is_too_late(pause: str, last: str, times: int):
    begin = time.monotonic()
    done = again(pause, last, "echo", "one of them")
    assert (done.returncode, done.stderr) == (0, "")
    took_s = time.monotonic() - begin
    assert took_s >= float(pause) * done.stdout.count("one of them\n")
    if took_s < 0.78:  # else the machine was busy, and less would do
        assert done.stdout == "one of them\n" * times


def test_a_failure_ends_it():
    done = again("0.1", "5", "bash", "-c", "echo once; exit 3")
    assert (done.returncode, done.stdout) == (3, "once\n")


def test_again_says_how_it_is_used():
    assert again("-h").stdout.startswith("usage: again.sh PAUSE_S LAST_S COMMAND")
    assert again("1", "2").returncode == 2
