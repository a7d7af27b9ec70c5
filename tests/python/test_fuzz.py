# SPDX-License-Identifier: GPL-2.0-only
"""The fuzz target of the sender: its kept corpus, half a minute more, and defects that it finds."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from dalbe_testbed.purecode import ROOT

SECONDS = 40

# Each a line of core/, and what a slip would make of it.
DEFECTS = {
    "a loss is not answered": (
        "sender.c", "ssthresh = sender_cwnd_after_cut(s, p, CUT_LOSS);", "ssthresh = p->cwnd;",
    ),
    "a loss in an answered window does not count as answered": (
        "sender.c", "l->answers += l->asked || !seq_after(path_una(p), l->answer_end);",
        "l->answers += l->asked;",
    ),
    "slow start ends at a window of one": (
        "sender.c", "p->ssthresh = max(p->cwnd, 2U);", "p->ssthresh = p->cwnd;",
    ),
    "w is below wmin": (
        "control/control.c",
        "wanted_q16 = clamp_t(u32, wanted_q16, c->config.wmin_q16, Q16_ONE);",
        "wanted_q16 = min_t(u32, wanted_q16, Q16_ONE);",
    ),
    "phi is below 1": (
        "control/equations.c",
        "u32 new_q16 = clamp_t(u32, fp_ratio_q16(price_q40, price_standard_q40),\n"
        "			      Q16_ONE, DALBE_PHI_MAX_Q16);",
        "u32 new_q16 = min_t(u32, fp_ratio_q16(price_q40, price_standard_q40),\n"
        "			      DALBE_PHI_MAX_Q16);",
    ),
    "the window is B beside others": (
        "scavenger/scavenger.c", "p->cwnd = min(p->cwnd + acked, level);",
        "p->cwnd = min(p->cwnd + acked, p->ssthresh);",
    ),
    "the answer beside others is w * B alone": (
        "scavenger/scavenger.c",
        "return min_t(u64, scavenger_level_q16(s) >> 16, cubic_beta(p->cwnd));",
        "return scavenger_level_q16(s) >> 16;",
    ),
    "B is not cut while alone": (
        "scavenger/scavenger.c",
        "cubic_loss(&sc->best_effort);\n	sc->kept_cwnd", "sc->kept_cwnd",
    ),
    "a path is taken with a window of which TCP warns": (
        "scavenger/scavenger.c",
        "return min_t(u64, fits_q16 >> 16, CUBIC_WINDOW_MAX);", "return fits_q16 >> 16;",
    ),
    "B grows by more than half": (
        "scavenger/cubic.c", "c->window_q16 + c->window_q16 / 2);", "4 * c->window_q16);",
    ),
    "a flow does not do what the path's memory says": (
        "scavenger/scavenger.c", "scavenger_stand_back(s, p, r->held_us);\n		return false;",
        "return false;",
    ),
    "a product wraps in the path's memory": (
        "scavenger/path_memory.c", "cubic_k_ms(lost_q16) * 1000ull / PATH_PATIENCE_PART",
        "cubic_k_ms(lost_q16) * 1000000 / 1000 / PATH_PATIENCE_PART",
    ),
    "a flow that leaves is counted": ("scavenger/path_memory.c", "	m->flows--;\n", ""),
    "a flow that leaves goes on repairing": (
        "scavenger/path_memory.c", "	m->repairs -= part->repairs;\n", "",
    ),
    "the rate of a flow that leaves is counted": (
        "scavenger/path_memory.c", "m->rate_q16 += rate_q16 - part->rate_q16;",
        "m->rate_q16 += rate_q16;",
    ),
    "we stand back though the path carries as much as ever": (
        "scavenger/path_memory.c", "packet_q16 >= PATH_OURS_PART(m->carried_q16)",
        "packet_q16 >= 2 * m->carried_q16",
    ),
    "a forged RTT is not bounded": (
        "bases/cdg.c", "rtt_us = min(rtt_us, CDG_RTT_MAX_US);\n	c->rtt.min_us = min",
        "c->rtt.min_us = min",
    ),
    "Vegas' window is above TCP's clamp": (
        "bases/base_vegas.c",
        "p->cwnd = clamp_t(u32, p->cwnd, 2, min_t(u32, path_cwnd_max(p), S32_MAX));",
        "p->cwnd = max(p->cwnd, 2U);",
    ),
    "a job forgets what a connection that leaves has done": (
        "control/job.c", "port_lock(&job->lock);\n	job_count_bytes(job, bytes, now_ns);",
        "port_lock(&job->lock);",
    ),
    "a job forgets what was done before its goal": (
        "control/job.c", "fp_add(job->bytes_done, first->goal.done)", "first->goal.done",
    ),
    "a job stays done though its goal has grown": (
        "control/job.c", "if (job->bytes_done < bytes)\n		job->done_ns = 0;\n	else if", "if",
    ),
    "a job's connection does not learn of w": (
        "control/job.c", "*copy = job->control;\n	port_unlock(&job->lock);\n	return renewed;",
        "port_unlock(&job->lock);\n	return renewed;",
    ),
    "a time counts twice in a job's Tw": (
        "control/job.c", ", job->tw.limited_until_us);", ", 0ull);",
    ),
    "an array is written beyond its end": (
        "bases/cdg.c", "hist_q8[min_t(u32, bin, CDG_HIST_BINS - 1)] += Q8_ONE;",
        "hist_q8[bin] += Q8_ONE;",
    ),
}  # fmt: skip

pytestmark = pytest.mark.slow


def make(tree: Path, out: Path) -> None:
    """Build the target of this tree in out."""
    command = ["make", "-s", "-C", ROOT / "tests/fuzz", f"TREE={tree}", f"OUT={out}"]
    subprocess.run(command, check=True)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the target is, and the kept corpus, in which it finds nothing."""
    out = tmp_path_factory.mktemp("fuzz")
    environment = os.environ | {"OUT": str(out)}
    subprocess.run([ROOT / "tests/fuzz/run.sh", "0"], check=True, env=environment)
    assert len(list((out / "kept").iterdir())) > 50
    return out


def test_nothing_is_found_in_half_a_minute(out: Path, tmp_path: Path) -> None:
    subprocess.run(
        [out / "sender_fuzz", f"-max_total_time={SECONDS}", "-len_control=0", "-max_len=8192",
         f"-artifact_prefix={tmp_path}/", tmp_path, out / "kept"],
        check=True,
    )  # fmt: skip


@pytest.mark.parametrize("defect", DEFECTS)
def test_the_kept_corpus_finds(out: Path, tmp_path: Path, defect: str) -> None:
    tree, built = tmp_path / "tree", tmp_path / "built"
    for part in ("core", "port", "tests/fuzz"):
        shutil.copytree(ROOT / part, tree / part)
    shutil.copy2(ROOT / "dalbe_ctl.h", tree)
    shutil.copytree(out, built)
    name, line, slip = DEFECTS[defect]
    file = tree / "core" / name
    text = file.read_text()
    assert text.count(line) == 1
    file.write_text(text.replace(line, slip))
    make(tree, built)
    run = subprocess.run(
        [built / "sender_fuzz", "-runs=0", f"-artifact_prefix={tmp_path}/", built / "kept"],
        check=False, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert run.returncode
    assert "not so: " in run.stderr or "runtime error: " in run.stderr or "Sanitizer" in run.stderr
