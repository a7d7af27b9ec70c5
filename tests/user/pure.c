// SPDX-License-Identifier: GPL-2.0-only
/* See pure.h. */
#include "tests/user/pure.h"

u64 pure_fp_shift(u64 x, int shift)
{
	return fp_shift(x, shift);
}

u64 pure_fp_mul_div(u64 a, u64 b, u64 c)
{
	return fp_mul_div(a, b, c);
}

u32 pure_fp_ratio_q16(u64 a, u64 b)
{
	return fp_ratio_q16(a, b);
}

u64 pure_fp_mul_q16(u64 x, u32 factor_q16)
{
	return fp_mul_q16(x, factor_q16);
}

u64 pure_fp_add(u64 a, u64 b)
{
	return fp_add(a, b);
}
