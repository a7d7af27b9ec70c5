// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reno, as the least that a base takes: for those who write another.
 *
 * Losses are its price, and what w inflates (signals.c). No congestion control of the module runs
 * it: tests/python/test_base_least.py does.
 */
#include "core/sender.h"

static u32 least_cut(struct sender *s, const struct tcp_path *p, enum cut_cause cause,
		     u32 cdg_cwnd)
{
	return max(p->cwnd / 2, 2U);
}

/* The part of packets lost at which Reno sends so fast: 3/2 / W^2. */
static u64 least_model_q40(const void *path, u64 rate_Bps)
{
	const struct tcp_path *p = path;
	u64 bytes = fp_mul_div(rate_Bps, path_srtt_us(p), USEC_PER_SEC);
	u64 window_q20 = clamp_t(u64, fp_mul_div(bytes, BIT(20), path_mss(p)), 1, Q40_ONE);

	return fp_mul_div(fp_mul_div(Q40_ONE * 3 / 2, BIT(20), window_q20), BIT(20), window_q20);
}

const struct lbe_base least_base = {
	.grow		= sender_grow_reno,
	.cut		= least_cut,
	.model_q40	= least_model_q40,
};
