// SPDX-License-Identifier: GPL-2.0-only
/*
 * CDG as a base: a price from the histogram of RTT gradients, steered by G.
 *
 * Without a goal it runs at a fixed G. With net.dalbe.effect = 0 it serves goals as well: its
 * price goes to the controller, and back comes the price to be paid, to which a G is found.
 */
#include "core/sender.h"

static enum round_effect cdg_base_round(struct sender *s, struct tcp_path *p, u32 before_us,
					s32 gradient_sum_us)
{
	if (path_recovering(p) ||
	    !cdg_backoff(&s->cdg, &s->heuristics, gradient_sum_us, get_random_u32(), p->cwnd))
		return ROUND_NONE;
	return ROUND_CUT;
}

static u32 cdg_base_cut(struct sender *s, const struct tcp_path *p, enum cut_cause cause,
			u32 cdg_cwnd)
{
	return cdg_cwnd;
}

/* F(22), at G's default. */
static void cdg_base_price(const struct sender *s, struct control_sample *sample)
{
	const struct cdg_counts *n = &s->cdg.price.counts;

	sample->others_seen = n->losses || n->queued_rounds > n->rounds / 2;
	sample->price_q40 = fp_add(cdg_delay_price_q40(&s->cdg, CDG_G_DEFAULT_NS),
				   sample->price_standard_q40);
}

/**
 * cdg_base_model_q40 - F(12) of CDG, and of the scavenger
 * @path: struct tcp_path
 * @rate_Bps: a rate
 *
 * Return: the price per round at which it sends so fast.
 */
u64 cdg_base_model_q40(const void *path, u64 rate_Bps)
{
	const struct tcp_path *p = path;

	return cdg_rate_price_q40(rate_Bps, path_mss(p), path_srtt_us(p));
}

/* F(5), G = mu * Gref, until the first prices are known. */
static u32 cdg_base_linear_g_ns(const struct control *c)
{
	return min_t(u64, fp_mul_q16(CDG_G_DEFAULT_NS, control_mu_q16(c)), CDG_G_MAX_NS);
}

/* G for the price that the controller wants paid. Loss takes its part first, as it cannot be
 * had for less, except at w = 1, where phi scales it as well.
 */
static void cdg_base_steer(struct sender *s, u64 price_standard_q40)
{
	const struct control *c = &s->control;
	u64 delay_q40 = c->price_target_q40;

	if (c->w_q16 == Q16_ONE)
		price_standard_q40 = fp_mul_div(price_standard_q40, Q16_ONE, control_mu_q16(c));
	delay_q40 -= min(delay_q40, price_standard_q40);
	cdg_set_g(&s->cdg, cdg_g_for_delay_price(&s->cdg, delay_q40, cdg_base_linear_g_ns(c)));
}

static void cdg_base_forget(struct sender *s)
{
	cdg_age_histogram(&s->cdg);
}

const struct lbe_base cdg_base = {
	.grow		= sender_grow_reno,
	.cut		= cdg_base_cut,
	.model_q40	= cdg_base_model_q40,
	.price		= cdg_base_price,
	.round		= cdg_base_round,
	.steer		= cdg_base_steer,
	.forget		= cdg_base_forget,
	.use_hystart	= true,
};
