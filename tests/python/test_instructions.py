# SPDX-License-Identifier: GPL-2.0-only
"""The cost of an ACK in core/: instructions, counted by callgrind over one drawn bottleneck."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest
from dalbe_testbed.purecode import ROOT, SOURCES

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
#include "sim/pure.h"
int main(void)
{{
	const struct drive_in in = {{
		.seed = 1, .rate_pps = 2000, .base_us = 40000, .buffer = 80, .ours = 1, .theirs = {theirs},
		.w_q16 = 32768, .from_ms = 2000, .to_ms = 12000, .end_ms = 12000, .no_timestamps = true,
		{base}
	}};
	struct drive_out out;

	drive(&in, &out);
	return 0;
}}
"""


def per_ack(directory: Path, theirs: int, base: str) -> float:
    """Instructions of core/ per ACK of ours."""
    source, program, counts = (directory / name for name in ("main.c", "main", "counts"))
    source.write_text(PROGRAM.format(theirs=theirs, base=base))
    subprocess.run(
        ["gcc", "-O2", "-std=gnu11", f"-I{ROOT}", f"-I{ROOT}/port/user", "-o", program, source,
         *SOURCES], check=True,
    )  # fmt: skip
    subprocess.run(
        ["valgrind", "--tool=callgrind", "--toggle-collect=pure_ack_doubts",
         "--compress-strings=no", f"--callgrind-out-file={counts}", program],
        check=True, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    text = counts.read_text()
    acks = sum(map(int, re.findall(r"^cfn=pure_ack_doubts\ncalls=(\d+)", text, re.MULTILINE)))
    assert acks > 4000
    return int(re.findall(r"^totals: (\d+)", text, re.MULTILINE)[0]) / acks


# Measured with GCC 12, and a tenth: other compilers make other code of it.
@pytest.mark.parametrize(
    ("theirs", "base", "measured"),
    [(0, "", 125), (2, "", 132), (2, ".base = &vegas_base", 159), (2, ".base = &cubic_base", 280)],
    ids=["alone", "contended", "vegas", "cubic"],
)
@pytest.mark.slow
def test_an_ack_costs_no_more_than_it_did(
    tmp_path: Path, theirs: int, base: str, measured: float
) -> None:
    assert per_ack(tmp_path, theirs, base) <= measured * 1.1
