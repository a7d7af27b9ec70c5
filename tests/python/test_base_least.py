# SPDX-License-Identifier: GPL-2.0-only
"""sim/base_least.c: what core/base.h asks for is enough for a base, Reno."""

from __future__ import annotations

from typing import Any

import pytest
from inputs import Q16
from test_sender import part, run

FIRST_SEED = 400_001
MSS = 1448


def test_on_drawn_bottlenecks_w_is_its_share_of_a_busy_one(pure: Any) -> None:
    """Bounds were chosen with other seeds."""
    shares = []
    for w_q16 in (Q16 // 100, Q16 // 3, Q16):
        how = {"w_q16": w_q16, "base": pure.base("least")}
        runs = [run(pure, FIRST_SEED + n, **how) for n in range(60)]
        assert {r.bad for r in runs} == {(0, 0, 0, 0)}
        shares.append(part([r.beside for r in runs], 0.5))
    least, third, whole = shares
    assert least <= 0.1
    assert 2 * least <= third <= 0.8 * whole
    assert 0.35 <= whole <= 0.6


@pytest.mark.parametrize("window", [3, 30, 3000])
def test_its_model_is_renos(pure: Any, window: int) -> None:
    path = pure.new("tcp_path", srtt_us=50_000, mss=MSS)
    price = pure.base("least").model_q40(path, window * MSS * 20) / 2**40
    assert price == pytest.approx(1.5 / window**2, rel=0.01)
