/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fixed-point arithmetic for code that compiles in the kernel and in user
 * space, so that one implementation is tested, simulated, fuzzed and shipped.
 *
 * Formats, by suffix:
 *	_q8	8 fractional bits: counts and means of few things; 1/256 of one is left where we
 *		halve a small count again and again
 *	_q16	16 fractional bits: weights, ratios (w, phi, 1 + eps)
 *	_q32	32 fractional bits: probabilities; U32_MAX stands for 1
 *	_q40	40 fractional bits: prices; 400 Gbit/s at an RTT of 60 s costs
 *		5e-10, and from 1.7e7 on, 85 bytes/s at 1 us, all are alike
 *
 * Everything saturates: a result that does not fit is the largest that does.
 */
#ifndef DALBE_FIXED_H
#define DALBE_FIXED_H

#include "port.h"

#ifndef PORT_U64
/* Given by the port, as BPF has one copy of a large function for all of its callers. */
#define PORT_U64	static inline u64
#endif

#define Q8_ONE		0x100u
#define Q16_ONE		0x10000u
#define Q40_ONE		0x10000000000ull

/**
 * fp_shift - shift left, or right if negative, saturating
 * @x: value
 * @shift: any; what leaves the 64 bits is 0, or U64_MAX
 */
static inline u64 fp_shift(u64 x, int shift)
{
	if (!x || shift <= -64)
		return 0;
	if (shift <= 0)
		return x >> -shift;
	return shift > 64 - fls64(x) ? U64_MAX : x << shift;
}

/**
 * fp_mul_div - a * b / c for any three values
 * @a: factor
 * @b: factor
 * @c: divisor; 0 gives U64_MAX unless the product is 0
 *
 * A division of floating-point numbers in integers: 32 significant bits of each
 * operand take part, so the result is exact (rounded down) when all three fit
 * in 32 bits and has a relative error below 2^-29 otherwise. Saturates, never
 * traps; the kernel's mul_u64_u64_div_u64() raises #DE on overflow on x86.
 */
PORT_U64 fp_mul_div(u64 a, u64 b, u64 c)
{
	int exponent = 0, excess;
	u64 p;

	if (!a || !b)
		return 0;
	if (!c)
		return U64_MAX;
	if ((a | b | c) <= U32_MAX)	/* the same, for a third of the instructions */
		return div_u64(a * b, c);

	excess = max(fls64(a) - 32, 0);
	a >>= excess;
	exponent += excess;
	excess = max(fls64(b) - 32, 0);
	b >>= excess;
	exponent += excess;
	excess = max(fls64(c) - 32, 0);
	c >>= excess;
	exponent -= excess;

	p = a * b;
	excess = 64 - fls64(p);		/* all of p's bits before dividing */
	p <<= excess;
	exponent -= excess;

	return fp_shift(div_u64(p, (u32)c), exponent);
}

/**
 * fp_signed_mul_div - a * b / c rounded towards 0, within S64_MAX of 0
 * @a: factor, not S64_MIN
 * @b: factor
 * @c: divisor; as for fp_mul_div()
 */
static inline s64 fp_signed_mul_div(s64 a, u64 b, u64 c)
{
	s64 r = min_t(u64, fp_mul_div(a < 0 ? -a : a, b, c), S64_MAX);

	return a < 0 ? -r : r;
}

/**
 * fp_ratio_q16 - a / b in Q16, at most U32_MAX
 * @a: numerator
 * @b: denominator; 0 gives U32_MAX unless @a is 0
 */
static inline u32 fp_ratio_q16(u64 a, u64 b)
{
	return min_t(u64, fp_mul_div(a, Q16_ONE, b), U32_MAX);
}

/**
 * fp_mul_q16 - x * factor, saturating
 * @x: value
 * @factor_q16: factor in Q16
 */
static inline u64 fp_mul_q16(u64 x, u32 factor_q16)
{
	if (x <= U32_MAX)	/* the same, for a tenth of the instructions */
		return x * factor_q16 >> 16;
	return fp_mul_div(x, factor_q16, Q16_ONE);
}

/**
 * fp_ppm - Q16 in parts per million, at most U32_MAX
 * @x_q16: value
 */
static inline u32 fp_ppm(u32 x_q16)
{
	return min_t(u64, ((u64)x_q16 * 1000000) >> 16, U32_MAX);
}

/**
 * fp_add - a + b, saturating
 * @a: summand
 * @b: summand
 */
static inline u64 fp_add(u64 a, u64 b)
{
	return a + b < a ? U64_MAX : a + b;
}

/**
 * fp_mean - a mean over so many, with another value
 * @mean: so far
 * @value: another
 * @part: the mean moves by one in so many of the distance
 */
static inline u64 fp_mean(u64 mean, u64 value, u32 part)
{
	return value > mean ? mean + div_u64(value - mean, part) :
			      mean - div_u64(mean - value, part);
}

#endif /* DALBE_FIXED_H */
