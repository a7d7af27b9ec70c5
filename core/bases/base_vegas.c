// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP Vegas as a base: a price from the queueing delay, steered by alpha.
 *
 *	lowest RTT of the round, and ever --> diff, our packets in the queue
 *	                                       |
 *	alpha = mu * 15, F(28) --------------> below alpha: + 1; above alpha + 2: - 1
 *
 * Without a goal the windows are those of Linux' tcp_vegas.c with its defaults, ACK by ACK, and at
 * w = 1 those of its alpha = 15 phi and beta = alpha + 2: see tests/python/test_streams.py. But
 * ssthresh is at least two packets, and diff has 64 bits, where Linux' wraps at windows of some
 * thousand packets, and the window ends at S32_MAX. Below w = 1 we are more modest than Linux:
 *   o The window grows only while it is in use. Linux' grows in every round, however little the
 *     program sends, and the next burst overflows the queue.
 *   o The base RTT outlives a timeout and a short pause. Linux measures it anew whenever nothing
 *     was under way, in others' queue, too.
 *
 * Differences from the framework paper:
 *   o The BDP that bounds alpha is the largest that we have seen, and alpha may be 15 in any case:
 *     others may have left us no more than a few packets, and the bound would keep it so.
 *   o The upper bound is alpha + 2, as the paper names none that follows alpha.
 *   o The delay in the model is a mean in which each Tw counts half of the next, and longer by
 *     RTT / base RTT: diff, as Linux has it, is that much more than what is queued.
 *
 * References; F(n) is equation n of the paper that base.h names:
 *   L.S. Brakmo, L.L. Peterson, "TCP Vegas: End to end congestion avoidance on a global
 *   Internet", IEEE JSAC 13(8), 1995.
 */
#include "core/sender.h"

static void vegas_begin_round(struct vegas *v)
{
	v->open = true;
	v->min_us = 0;
	v->rtts = 0;
}

/* All RTTs count, in which the receiver may have waited as well. Never 0, as Linux' RTTs: they
 * divide.
 */
static void vegas_sample(struct sender *s, const struct rtt_sample *sample, u32 rtt_us)
{
	struct vegas *v = &s->vegas;

	rtt_us = cdg_rtt_sample(&s->cdg, rtt_us, sample->packets, true) + 1;
	if (!v->base_us || rtt_us < v->base_us)
		v->base_us = rtt_us;
	if (!v->min_us || rtt_us < v->min_us)
		v->min_us = rtt_us;
	v->rtts++;
}

static bool vegas_as_linux(const struct sender *s)
{
	return !s->mu_q16 || s->control.w_q16 == Q16_ONE;
}

/* F(28), within its bounds. */
static u64 vegas_alpha_q16(const struct sender *s)
{
	u64 most_q16 = max_t(u64, (u64)s->vegas.bdp << 15, VEGAS_ALPHA_GOAL * Q16_ONE);

	if (!s->mu_q16)
		return VEGAS_ALPHA_Q16;
	return clamp_t(u64, VEGAS_ALPHA_GOAL * s->mu_q16, Q16_ONE, most_q16);
}

static void vegas_shrink(struct sender *s, struct tcp_path *p)
{
	if (p->cwnd <= 2)
		return;
	s->vegas.price.cuts_q40 += div_u64(Q40_ONE, p->cwnd);
	p->cwnd--;
	p->ssthresh = min(p->ssthresh, p->cwnd);
}

/* @diff_q16: packets of ours in the queue; @fit: of the window, what the path holds without one.
 * Slow start goes on while there is hardly a queue.
 */
static enum round_effect vegas_judge(struct sender *s, struct tcp_path *p, u64 diff_q16, u32 fit)
{
	u64 alpha_q16 = vegas_alpha_q16(s);
	/* Linux compares whole packets: above two is three or more */
	bool shrink = diff_q16 >= alpha_q16 + VEGAS_BAND_Q16 + Q16_ONE;
	bool cwnd_limited = sender_cwnd_limited(s, p);

	if (cwnd_limited)
		s->vegas.bdp = max(s->vegas.bdp, fit);
	s->vegas.price.shrinks_q8 += shrink ? Q8_ONE : 0;
	if (path_slow_start(p)) {
		if (diff_q16 < VEGAS_GAMMA_Q16 + Q16_ONE)
			return ROUND_NONE;
		p->cwnd = min(p->cwnd, max(fit + 1, 2U));
		p->ssthresh = min(p->ssthresh, p->cwnd);
	} else if (shrink) {
		vegas_shrink(s, p);
	} else if (diff_q16 < alpha_q16 && (cwnd_limited || vegas_as_linux(s))) {
		p->cwnd++;
	}
	/* as Linux' an unused window may grow for ever, and TCP warns of one above S32_MAX */
	p->cwnd = clamp_t(u32, p->cwnd, 2, min_t(u32, path_cwnd_max(p), S32_MAX));
	/* as TCP does wherever it leaves a window: three quarters of it are known to fit */
	p->ssthresh = max(p->ssthresh, (p->cwnd >> 1) + (p->cwnd >> 2));
	return ROUND_SET;
}

static enum round_effect vegas_round(struct sender *s, struct tcp_path *p, u32 before_us,
				     s32 gradient_sum_us)
{
	struct vegas *v = &s->vegas;
	u32 rtt_us = v->min_us, queue_us = rtt_us - v->base_us;

	if (!v->open)
		return ROUND_NONE;
	v->few = v->rtts <= VEGAS_FEW_RTTS;
	vegas_begin_round(v);
	if (v->few)
		return ROUND_NONE;
	v->price.rounds_q8 += Q8_ONE;
	v->price.delay_us_q8 += fp_mul_div((u64)queue_us << 8, rtt_us, v->base_us);
	return vegas_judge(s, p, fp_mul_div((u64)p->cwnd << 16, queue_us, v->base_us),
			   fp_mul_div(p->cwnd, v->base_us, rtt_us));
}

/* Once per round vegas_round() sets the window; in between only slow start does. While TCP repairs
 * something, and after a round of few RTTs, the window grows as Reno's.
 */
static void vegas_grow(struct sender *s, struct tcp_path *p, u32 acked, bool cwnd_limited)
{
	bool reno = !s->vegas.open || s->vegas.few;

	if (reno && cwnd_limited)
		path_grow_reno(p, acked);
	else if (!reno && (cwnd_limited || vegas_as_linux(s)))
		path_grow_slow_start(p, acked);
	s->vegas.few = false;
}

/* Half of the window, as Reno. But at w = 1 the flow answers one of mu losses only: it pays for
 * delays as well, and would have less than others, who pay for losses alone.
 */
static u32 vegas_cut(struct sender *s, const struct tcp_path *p, enum cut_cause cause,
		     u32 cdg_cwnd)
{
	if (!s->mu_q16 || s->control.w_q16 != Q16_ONE ||
	    (u64)get_random_u32() * s->mu_q16 >> 32 < Q16_ONE)
		return max(p->cwnd >> 1, 2U);
	return p->cwnd;
}

static void vegas_judge_from_here(struct sender *s, struct tcp_path *p)
{
	vegas_begin_round(&s->vegas);
	sender_begin_round(s, p);
}

/* A pause, or the repair of a loss, voids what was measured before. Below w = 1 a short pause does
 * not; at w = 1 it does after a timeout, too: from then on Linux' Vegas judges rounds.
 */
static void vegas_event(struct sender *s, struct tcp_path *p, enum base_event event)
{
	struct vegas *v = &s->vegas;

	switch (event) {
	case BASE_START:
		memset(v, 0, sizeof(*v));
		vegas_judge_from_here(s, p);
		break;
	case BASE_GOAL:
		v->price = (struct vegas_price) { 0 };
		break;
	case BASE_TX_START:
		if (!vegas_as_linux(s))
			break;
		fallthrough;
	case BASE_CWND_RESTART:
		v->base_us = 0;
		v->bdp = 0;
		fallthrough;
	case BASE_OPEN:
		vegas_judge_from_here(s, p);
		break;
	case BASE_DISORDER:
	case BASE_RECOVERY:
	case BASE_TIMEOUT:
		v->open = false;
		break;
	default:
		break;
	}
}

/* The model's price is the queueing delay, in seconds. phi compares losses, which all pay, with
 * losses and the cuts for delay, F(24).
 */
static void vegas_price(const struct sender *s, struct control_sample *sample)
{
	const struct vegas_price *n = &s->vegas.price;
	u64 cuts_q40 = n->rounds_q8 ? fp_mul_div(n->cuts_q40, Q8_ONE, n->rounds_q8) : 0;

	sample->others_seen = sample->losses || n->shrinks_q8 > n->rounds_q8 / VEGAS_CONTENDED_PART;
	sample->price_q40 = fp_mul_div(n->delay_us_q8, Q40_ONE,
				       n->rounds_q8 * USEC_PER_SEC);
	/* 0 would stand for none given */
	sample->phi_price_q40 = max_t(u64, fp_add(cuts_q40, sample->price_standard_q40), 1);
}

/* F(12): a flow with alpha packets in the queue, whose packets wait there for tau, sends
 * alpha / tau. So tau at alpha = 15, mu = 1, is the price, seconds in Q40.
 */
static u64 vegas_model_q40(const void *path, u64 rate_Bps)
{
	const struct tcp_path *p = path;

	return fp_mul_div((u64)VEGAS_ALPHA_GOAL * path_mss(p), Q40_ONE, rate_Bps);
}

/* Half of what was measured stays, and the last round: an interval in which no round is judged,
 * as TCP repairs losses, is not to have cost nothing.
 */
static void vegas_forget(struct sender *s)
{
	struct vegas_price *n = &s->vegas.price;

	if (n->rounds_q8 < 2 * Q8_ONE)
		return;
	n->rounds_q8 /= 2;
	n->shrinks_q8 /= 2;
	n->delay_us_q8 /= 2;
	n->cuts_q40 /= 2;
}

const struct lbe_base vegas_base = {
	.grow		= vegas_grow,
	.cut		= vegas_cut,
	.model_q40	= vegas_model_q40,
	.price		= vegas_price,
	.event		= vegas_event,
	.sample		= vegas_sample,
	.round		= vegas_round,
	.forget		= vegas_forget,
};
