// SPDX-License-Identifier: GPL-2.0-only
/* Exponentials in fixed point, and with them CDG's probability of a backoff. */
#include "core/bases/cdg.h"

/* 2^(-i/32) in Q32, less what does not fit for i = 0. */
static const u32 exp2_neg_q32[32] = {
	0xffffffff, 0xfa83b2db, 0xf5257d15, 0xefe4b99c,
	0xeac0c6e8, 0xe5b906e7, 0xe0ccdeec, 0xdbfbb798,
	0xd744fccb, 0xd2a81d92, 0xce248c15, 0xc9b9bd86,
	0xc5672a11, 0xc12c4cca, 0xbd08a39f, 0xb8fbaf47,
	0xb504f334, 0xb123f582, 0xad583eea, 0xa9a15ab5,
	0xa5fed6aa, 0xa2704303, 0x9ef53261, 0x9b8d39ba,
	0x9837f052, 0x94f4efa9, 0x91c3d374, 0x8ea4398b,
	0x8b95c1e4, 0x88980e81, 0x85aac368, 0x82cd8699,
};

/**
 * cdg_exp_neg_q32 - exp(-x), for C(4)
 * @x_q26: x in Q26
 *
 * exp(-x) = 2^-n * 2^(-i/32) * 2^-r with r < 1/32, the last factor by its
 * Taylor series up to the square. Absolute error below 2e-6.
 *
 * Return: exp(-x) in Q32; from x = 23 on 0, where the true value is below 2^-32.
 */
u32 cdg_exp_neg_q32(u64 x_q26)
{
	u64 y_q32, d_q32, t_q32;

	if (x_q26 >= 23ull << 26)
		return 0;
	if (!x_q26)
		return U32_MAX;

	y_q32 = (x_q26 * 6196328019ull) >> 26;		/* x * log2(e) */
	d_q32 = ((y_q32 & 0x07ffffff) * 2977044472ull) >> 32;	/* r * ln(2) */
	t_q32 = (1ull << 32) - d_q32 + ((d_q32 * d_q32) >> 33);
	t_q32 = min_t(u64, t_q32, U32_MAX);

	return ((exp2_neg_q32[(y_q32 >> 27) & 31] * t_q32) >> 32) >>
	       (y_q32 >> 32);
}

/**
 * cdg_exp2_q8 - 2^(x/256), an integer: for G in ns
 * @x_q8: x, up to 31 * 256
 *
 * The table has steps of 1/32 octave, with straight lines between them.
 *
 * Return: rounded down, after a relative error of up to 2e-4.
 */
u32 cdg_exp2_q8(u32 x_q8)
{
	u32 above = (x_q8 + 255) / 256;
	u32 below_q8 = above * 256 - x_q8;
	u64 m_q32 = exp2_neg_q32[below_q8 / 8];

	m_q32 -= (m_q32 * (below_q8 % 8) * 177) >> 16;	/* ln(2) / 256 */
	return (m_q32 << above) >> 32;
}

/**
 * cdg_scale_q40 - g/G = sum * 1000 / (CDG_WINDOW * g_ns) per us of the gradient sum
 * @g_ns: G
 *
 * Return: per us, Q40; from 1.1e6 (G of 125 ms) to 6.9e10 (2 us).
 */
u64 cdg_scale_q40(u32 g_ns)
{
	return div_u64(1000ull << 40, CDG_WINDOW * g_ns);
}

/**
 * cdg_probability_q32 - C(4), 1 - exp(-g/G)
 * @gradient_sum_us: positive
 * @scale_q40: of G, see struct cdg_g
 *
 * The exponent is at most 1.4e8 (a sum of 2^31 us at the least G): in Q26 it fits.
 *
 * Return: the probability in Q32.
 */
u32 cdg_probability_q32(s32 gradient_sum_us, u64 scale_q40)
{
	return U32_MAX - cdg_exp_neg_q32(mul_u64_u32_shr(scale_q40,
							 gradient_sum_us, 14));
}
