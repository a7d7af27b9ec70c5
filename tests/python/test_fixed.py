# SPDX-License-Identifier: GPL-2.0-only
"""fixed.h against whole numbers of any length."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st
from inputs import MUL_DIV_ERROR, Q16, U32_MAX, U64_MAX, u32, u64


def exact_quotient(a: int, b: int, c: int) -> int:
    """a * b / c rounded down and saturating; nothing divided by nothing is nothing."""
    if a * b == 0:
        return 0
    return min(a * b // c, U64_MAX) if c else U64_MAX


@given(u32, u32, u32)
@example(U32_MAX, U32_MAX, 1)
@example(U32_MAX, U32_MAX, U32_MAX)
def test_mul_div_is_exact_for_32_bits(pure: Any, a: int, b: int, c: int) -> None:
    assert pure.pure_fp_mul_div(a, b, c) == exact_quotient(a, b, c)


@given(u64, u64, u64)
@example(U64_MAX, U64_MAX, U64_MAX)
@example(U64_MAX, U64_MAX, 1)
@example(1, 1, U64_MAX)
@example(2**32 + 1, 2**32 - 1, 2**33 - 1)
def test_mul_div_keeps_its_precision_for_64_bits(pure: Any, a: int, b: int, c: int) -> None:
    exact = exact_quotient(a, b, c)
    assert abs(pure.pure_fp_mul_div(a, b, c) - exact) <= exact * MUL_DIV_ERROR + 1


@given(u64, st.integers(-130, 64))
def test_shift_saturates(pure: Any, x: int, shift: int) -> None:
    exact = x << shift if shift > 0 else x >> -shift
    assert pure.pure_fp_shift(x, shift) == min(exact, U64_MAX)


def test_a_shift_may_be_any(pure: Any) -> None:
    assert pure.pure_fp_shift(1, 2**31 - 1) == U64_MAX
    assert pure.pure_fp_shift(U64_MAX, -(2**31)) == 0


@given(u64, u64)
def test_ratio_saturates_at_32_bits(pure: Any, a: int, b: int) -> None:
    exact = min(exact_quotient(a, Q16, b), U32_MAX)
    assert abs(pure.pure_fp_ratio_q16(a, b) - exact) <= exact * MUL_DIV_ERROR + 1


@given(u64, u32)
def test_mul_q16_saturates(pure: Any, x: int, factor_q16: int) -> None:
    exact = min(x * factor_q16 >> 16, U64_MAX)
    assert abs(pure.pure_fp_mul_q16(x, factor_q16) - exact) <= exact * MUL_DIV_ERROR + 1


@given(u64, u64)
def test_add_saturates(pure: Any, a: int, b: int) -> None:
    assert pure.pure_fp_add(a, b) == min(a + b, U64_MAX)
