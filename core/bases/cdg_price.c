// SPDX-License-Identifier: GPL-2.0-only
/*
 * The price that CDG pays for delay, F(22), at every G, from a histogram of its gradients.
 */
#include "core/bases/cdg.h"

/* Middle of a histogram bin, us. */
static s32 cdg_bin_us(int bin)
{
	int octave = bin / 2;

	if (octave < 2)
		return bin < 2 ? 1 : bin;
	return (bin & 1 ? 7 : 5) << (octave - 2);
}

/* Backoffs per round that is judged at scale G, Q32. */
static u32 cdg_backoff_rate_q32(const struct cdg *c, u32 g_ns)
{
	u64 scale_q40 = cdg_scale_q40(g_ns);
	u64 sum = 0;
	int i;

	for (i = 0; i < CDG_HIST_BINS; i++)
		if (c->price.hist_q8[i])
			sum += (u64)c->price.hist_q8[i] *	/* below 2^30 */
			       cdg_probability_q32(cdg_bin_us(i), scale_q40);
	return min_t(u64, div_u64(sum, c->price.rounds_q8), U32_MAX);
}

/**
 * cdg_weight_q16 - W(delay) of F(22)
 * @c: the flow
 *
 * The part of the *mean* window that a cut takes. Between cuts of a part k of
 * its peak the window grows from (1 - k) to 1 times the peak, 1 - k/2 on
 * average. Taken so, flows that pay the same price per round reach the same
 * rate, whether they pay by halves or by beta; F(22) as printed would give the
 * second one 14 % more.
 *
 * Return: weight in Q16, for the mean of the last cuts.
 */
u32 cdg_weight_q16(const struct cdg *c)
{
	return fp_mul_div(c->price.cut_q16, Q16_ONE, Q16_ONE - c->price.cut_q16 / 2);
}

/**
 * cdg_delay_price_q40 - what delay would cost per round at scale G
 * @c: the flow
 * @g_ns: G in ns
 *
 * F(22) for z = delay, with N counted in rounds that are judged: weight of the cuts
 * actually made times backoffs per round, over the gradients of the last rounds (see
 * cdg_age_histogram()). The round of a cut is none of them, nor does the window grow in it.
 *
 * Return: price in Q40, at most 2/3 (a cut from four packets to two); 0 when nothing was measured.
 */
u64 cdg_delay_price_q40(const struct cdg *c, u32 g_ns)
{
	if (!c->price.rounds_q8)
		return 0;
	return ((u64)cdg_backoff_rate_q32(c, g_ns) *
		cdg_weight_q16(c)) >> 8;
}

/**
 * cdg_g_for_delay_price - the inverse: the G that makes delay cost this much
 * @c: the flow
 * @price_q40: price per round in Q40
 * @fallback_ns: answer where no gradient was positive, so that any G costs 0
 *
 * The price falls with G; G is found by bisection of its logarithm to 1 %.
 *
 * Return: G in ns within CDG_G_MIN_NS .. CDG_G_MAX_NS, its ends where the price
 * is out of reach.
 */
u32 cdg_g_for_delay_price(const struct cdg *c, u64 price_q40, u32 fallback_ns)
{
	u32 lo = 2807, hi = 6886;	/* log2 of the ends in ns, in Q8 */

	if (!cdg_delay_price_q40(c, CDG_G_MIN_NS))
		return clamp_t(u32, fallback_ns, CDG_G_MIN_NS, CDG_G_MAX_NS);

	while (hi - lo > 3) {
		u32 mid = (lo + hi) / 2;

		if (cdg_delay_price_q40(c, cdg_exp2_q8(mid)) > price_q40)
			lo = mid;
		else
			hi = mid;
	}
	if (lo == 2807)
		return CDG_G_MIN_NS;
	if (hi == 6886)
		return CDG_G_MAX_NS;
	return cdg_exp2_q8(hi);
}

/**
 * cdg_rate_price_q40 - CDG's steady-state model, solved for the price
 * @rate_Bps: wanted rate, bytes/s
 * @mss: bytes per packet
 * @rtt_us: RTT that the rate will see
 *
 * In equilibrium the growth of one packet per round equals the cut per round,
 * mean window times price, with window = rate * RTT / MSS:
 * P = MSS / (RTT * rate), F(12).
 *
 * Return: price per round in Q40; U64_MAX for no rate at all.
 */
u64 cdg_rate_price_q40(u64 rate_Bps, u32 mss, u32 rtt_us)
{
	u64 per_rtt = fp_mul_div(rate_Bps, (u64)rtt_us << 16, USEC_PER_SEC);

	return fp_mul_div((u64)mss << 16, Q40_ONE, per_rtt);
}

/**
 * cdg_forget_prices - forget what was learned about prices: a new goal begins
 * @c: the flow
 */
void cdg_forget_prices(struct cdg *c)
{
	memset(c->price.hist_q8, 0, sizeof(c->price.hist_q8));
	c->price.rounds_q8 = 0;
	c->price.cut_q16 = CDG_CUT_DELAY_Q16;
	memset(&c->price.counts, 0, sizeof(c->price.counts));
}
