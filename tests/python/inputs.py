# SPDX-License-Identifier: GPL-2.0-only
"""The tests draw from these: the whole range of every input, each order of magnitude alike."""

from __future__ import annotations

from hypothesis import strategies as st

U32_MAX, U64_MAX = 2**32 - 1, 2**64 - 1
Q16, Q32, Q40 = 2**16, 2**32, 2**40
G_MIN_NS, G_MAX_NS = 2000, 125_000_000
RATE_MAX_BPS = 50_000_000_000  # 400 Gbit/s
YEAR_NS = 365 * 86400 * 10**9

# The precision of one fp_mul_div(), see fixed.h, and of a decimal constant in Q16.
MUL_DIV_ERROR = 2**-29
CONSTANT_ERROR = 6.2e-5


def magnitudes(low: int, high: int) -> st.SearchStrategy[int]:
    """Draw whole numbers from low > 0 to high, the logarithm about uniform."""

    def within(bits: int) -> st.SearchStrategy[int]:
        return st.integers(max(low, 1 << (bits - 1)), min(high, (1 << bits) - 1))

    return st.integers(low.bit_length(), high.bit_length()).flatmap(within)


u64 = st.just(0) | magnitudes(1, U64_MAX)
u32 = st.just(0) | magnitudes(1, U32_MAX)
weights_q16 = magnitudes(65, Q16)
phis_q16 = magnitudes(Q16, 1024 * Q16)
trims_q16 = magnitudes(Q16 // 8, 8 * Q16)
prices_q40 = magnitudes(1, 2**60)
rates_Bps = magnitudes(1, RATE_MAX_BPS)  # noqa: N816  bytes/s
gs_ns = magnitudes(G_MIN_NS, G_MAX_NS)
rtts_us = magnitudes(10, 60_000_000)
gradient_sums_us = magnitudes(1, 2**31 - 1)
