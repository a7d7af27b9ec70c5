// SPDX-License-Identifier: GPL-2.0-only
/*
 * Linux' CUBIC as a base: losses are its price, and what w inflates.
 *
 *	                         +--> phantom signals: one packet in 1/P is lost, and we cut for
 *	losses, marks --> P, tau |    one in w/P; for lost ones only where the last is 3 tau ago
 *	                         +--> or beta: a loss leaves 0.7 w of the window
 *
 * At w = 1, or without a goal, the windows are those of Linux' tcp_cubic.c: see cubictcp.c.
 *
 * Differences from the framework paper:
 *   o A phantom signal cuts the window once in a round trip, as a mark would.
 *   o tau and P are measured while signals are recent. Where they have ceased, the next distance
 *     begins there: alone on a link the flow would otherwise learn from its own silence, and be
 *     silent for longer each time.
 *   o The model is Reno's where CUBIC grows as Reno does.
 *   o A loss that was none, as TCP finds out later, stays a signal.
 *
 * References: RFC 9438, section 5, has the model; the paper is that which base.h names.
 */
#include "sender.h"

static void cubic_base_start(struct sender *s, struct tcp_path *p)
{
	memset(&s->cubictcp, 0, sizeof(s->cubictcp));
	cubictcp_begin(&s->cubictcp, p);
	s->cubictcp.signals.last_us = p->now_us;
	s->cubictcp.signals.last_delivered = path_delivered(p);
}

static enum cdg_hystart cubic_base_hystart(struct sender *s, struct tcp_path *p,
					   const struct rtt_sample *sample)
{
	return cubictcp_hystart(&s->cubictcp, p, sample, s->h.hystart);
}

/* Is the last real signal so near that there are others? */
static bool cubic_base_recent(struct cubictcp_signals *n, const struct tcp_path *p)
{
	if (n->recent && p->now_us - n->last_us > CUBICTCP_RECENT * n->time_us) {
		n->recent = false;
		n->last_us = p->now_us;
		n->last_delivered = path_delivered(p);
	}
	return n->recent;
}

/* The paper's Figure 3: P[loss] (1/w - 1) for each packet. */
static bool cubic_base_phantom(const struct cubictcp *c, u32 acked)
{
	u32 inflation_q16 = fp_ratio_q16(Q16_ONE, c->mu_q16) - Q16_ONE;
	u64 chance_q32 = fp_mul_div((u64)inflation_q16 << 24, acked, c->signals.packets_q8);

	if (c->signals.count < 2)
		chance_q32 = min_t(u64, chance_q32, CUBICTCP_UNKNOWN_Q32);
	return get_random_u32() < chance_q32;
}

static void cubic_base_grow(struct sender *s, struct tcp_path *p, u32 acked)
{
	struct cubictcp *c = &s->cubictcp;

	if (cubic_base_recent(&c->signals, p) && c->mu_q16 && !s->h.inflate_beta &&
	    !path_repairs(p) && cubic_base_phantom(c, acked)) {
		sender_begin_round(s, p);
		sender_back_off(s, p);
	} else {
		cubictcp_grow(c, p, acked);
	}
}

static void cubic_base_count(struct cubictcp_signals *n, const struct tcp_path *p)
{
	u32 part = max_t(u32, n->count, 1);

	/* the first distance is none of two signals: the second takes its place */
	n->time_us = fp_mean(n->time_us, p->now_us - n->last_us, part);
	n->packets_q8 = fp_mean(n->packets_q8,
				(u64)max(path_delivered(p) - n->last_delivered, 1u) << 8, part);
	n->count = min(n->count + 1, CUBICTCP_SIGNALS);
	n->recent = true;
	n->last_us = p->now_us;
	n->last_delivered = path_delivered(p);
}

static u32 cubic_base_cut_delay(struct sender *s, const struct tcp_path *p, u32 ssthresh)
{
	return cubictcp_cut(&s->cubictcp, p->cwnd);
}

static u32 cubic_base_cut_loss(struct sender *s, const struct tcp_path *p, u32 ssthresh)
{
	struct cubictcp *c = &s->cubictcp;

	cubic_base_count(&c->signals, p);
	ssthresh = cubictcp_cut(c, p->cwnd);
	return s->h.inflate_beta && c->mu_q16 ? fp_mul_q16(ssthresh, c->mu_q16) : ssthresh;
}

static void cubic_base_event(struct sender *s, struct tcp_path *p, enum base_event event)
{
	if (event == BASE_TIMEOUT)
		cubictcp_begin(&s->cubictcp, p);
}

static void cubic_base_resume(struct sender *s, struct tcp_path *p)
{
	cubictcp_resume(&s->cubictcp, p);
}

/* P[loss], which is what others' CUBIC pays as well. The first signal alone is no estimate. */
static void cubic_base_price(const struct sender *s, struct control_sample *sample)
{
	const struct cubictcp_signals *n = &s->cubictcp.signals;

	sample->others_seen = n->recent;
	sample->price_q40 = n->count > 1 ? fp_mul_div(Q40_ONE, 256, n->packets_q8) : 0;
	sample->price_std_q40 = sample->price_q40;
}

/* P at which CUBIC sends so fast: 1.07 RTT / W^4/3, or 3/2 / W^2 where it grows as Reno does. */
static u64 cubic_base_model_q40(const void *path, u64 rate_Bps)
{
	const struct tcp_path *p = path;
	u64 bytes = fp_mul_div(rate_Bps, path_srtt_us(p), USEC_PER_SEC);
	u64 w_q30 = fp_mul_div(bytes, BIT(30), path_mss(p));
	u64 curve_q40, reno_q40;

	w_q30 = clamp_t(u64, w_q30, BIT(10), 1ull << 58);
	curve_q40 = fp_mul_div((u64)path_srtt_us(p) * CUBICTCP_MODEL_Q40, BIT(30), w_q30);
	curve_q40 = fp_mul_div(curve_q40, BIT(10), cubictcp_root(w_q30));
	reno_q40 = fp_mul_div(fp_mul_div(Q40_ONE * 3 / 2, BIT(30), w_q30), BIT(30), w_q30);
	return max(curve_q40, reno_q40);
}

static void cubic_base_steer(struct sender *s, u64 price_std_q40)
{
	s->cubictcp.mu_q16 = clamp_t(u32, control_mu_q16(&s->control), 1, Q16_ONE);
}

static void cubic_base_let_go(struct sender *s)
{
	s->cubictcp.mu_q16 = 0;
}

const struct lbe_base cubic_base = {
	.start		= cubic_base_start,
	.hystart	= cubic_base_hystart,
	.cut_delay	= cubic_base_cut_delay,
	.cut_loss	= cubic_base_cut_loss,
	.grow		= cubic_base_grow,
	.event		= cubic_base_event,
	.resume		= cubic_base_resume,
	.price		= cubic_base_price,
	.model_q40	= cubic_base_model_q40,
	.steer		= cubic_base_steer,
	.let_go		= cubic_base_let_go,
	.no_hystart	= true,
};
