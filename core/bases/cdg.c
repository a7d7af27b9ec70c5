// SPDX-License-Identifier: GPL-2.0-only
/*
 * CAIA Delay-Gradient (CDG)
 *
 *	RTT samples --> per round: min, max --> gradients --> moving sum
 *	                                                          |
 *	            back off with probability 1 - exp(-g/G)  <----+
 *
 * A growing RTT means a growing queue; its level says nothing, so no base RTT
 * is needed and a latecomer has no advantage. G scales what growth matters: at
 * 0.002 ms any growth is answered, at 125 ms hardly any, and the flow is Reno.
 *
 * Notable differences from Linux' tcp_cdg.c, whose fixed-G behaviour this code
 * reproduces otherwise:
 *   o G is continuous and per socket; Linux has the integer 1000/(8 G) for the
 *     whole machine, which leaves six settings above G = 20 ms.
 *   o The exponent is 64 bits wide; the 32-bit product grad * backoff_factor
 *     in Linux wraps for large gradients and takes them for small ones.
 *   o The gradient window is part of the state: no fallback to a window of 1.
 *   o The coexistence heuristics, which keep a window beside loss-based flows, are off unless
 *     asked for.
 *   o While idle_g_ns is set and the queue is short, G is at least idle_g_ns
 *     (see cdg_queue_short()): a tiny G otherwise takes the jitter of an idle
 *     link for congestion and leaves the link idle.
 *   o A histogram of the gradients lets a controller ask what a G would cost.
 *   o Hybrid slow start knows that a paced window's ACKs are a train whatever the
 *     path holds (see cdg_hystart_exit()).
 *
 * Difference from the paper: C(5) is printed as "back off if X > P"; that
 * contradicts C(4) and every implementation. Here, with probability P.
 */
#include "core/bases/cdg.h"

/**
 * cdg_set_g - set the scale G of C(4)
 * @c: the flow
 * @g_ns: G in ns, clamped to CDG_G_MIN_NS .. CDG_G_MAX_NS
 */
void cdg_set_g(struct cdg *c, u32 g_ns)
{
	g_ns = clamp_t(u32, g_ns, CDG_G_MIN_NS, CDG_G_MAX_NS);
	if (g_ns == c->g.ns)
		return;
	c->g.ns = g_ns;
	c->g.scale_q40 = cdg_scale_q40(g_ns);
}

/**
 * cdg_set_idle_g - set the least G while the queue is short
 * @c: the flow
 * @idle_g_ns: as in cdg_set_g(); 0: none, exact CDG
 */
void cdg_set_idle_g(struct cdg *c, u32 idle_g_ns)
{
	c->g.idle_ns = idle_g_ns;
	if (idle_g_ns)
		c->g.idle_scale_q40 = cdg_scale_q40(clamp_t(u32, idle_g_ns,
							    CDG_G_MIN_NS,
							  CDG_G_MAX_NS));
}

/**
 * cdg_init - a new connection
 * @c: the flow
 * @g_ns: G in ns
 * @cwnd: congestion window, packets
 */
void cdg_init(struct cdg *c, u32 g_ns, u32 cwnd)
{
	memset(c, 0, sizeof(*c));
	cdg_set_g(c, g_ns);
	c->price.cut_q16 = CDG_CUT_DELAY_Q16;
	c->shadow_cwnd = cwnd;
}

/**
 * cdg_forget_gradients - the last rounds' RTTs tell nothing of what comes
 * @c: the flow
 *
 * The RTTs of the round under way and of the one before are kept.
 */
void cdg_forget_gradients(struct cdg *c)
{
	memset(c->gradients.round, 0, sizeof(c->gradients.round));
	memset(&c->gradients.sum, 0, sizeof(c->gradients.sum));
	c->tail = 0;
	c->filled = false;
}

/**
 * cdg_restart - what was measured is void: after a pause, or where a scavenger takes the link
 * @c: the flow
 * @cwnd: congestion window to restart with, packets
 *
 * G, the counts and the histogram stay: they belong to the controller. So does
 * the base RTT: the path is the same.
 */
void cdg_restart(struct cdg *c, u32 cwnd)
{
	memset(&c->rtt, 0, sizeof(c->rtt));
	memset(&c->rtt_prev, 0, sizeof(c->rtt_prev));
	cdg_forget_gradients(c);
	c->hystart_last_us = 0;
	c->hystart_start_us = 0;
	c->hystart_min_us = 0;
	c->ineffectual = 0;
	c->hystart_samples = 0;
	c->delack = 0;
	c->state = CDG_UNKNOWN;
	c->shadow_cwnd = cwnd;
}

/* True if nothing as low was known. */
static bool cdg_lower_base_rtt(struct cdg *c, s32 rtt_us)
{
	u64 rtt_q16 = (u64)rtt_us << 16;

	if (c->base_rtt_q16 && rtt_q16 >= c->base_rtt_q16)
		return false;
	c->base_rtt_q16 = rtt_q16;
	return true;
}

/**
 * cdg_rtt_delayed_ack - an RTT that may have the receiver's waiting in it
 * @c: the flow
 * @rtt_us: RTT in us; 0 or less: none was taken
 *
 * It may lower the round's minimum, but neither be it nor raise the maximum. The path's
 * is no longer than that either.
 */
void cdg_rtt_delayed_ack(struct cdg *c, s32 rtt_us)
{
	if (rtt_us <= 0)
		return;
	rtt_us = min(rtt_us, CDG_RTT_MAX_US);
	c->rtt.min_us = min(c->rtt.min_us, rtt_us);
	cdg_lower_base_rtt(c, rtt_us);
}

/* Was the queue of the round just ended too short for a small G? Where the base RTT
 * is not known (a latecomer that never saw the queue empty) the test errs towards "short": towards
 * CDG with G at least idle_g_ns, which still yields to growing queues.
 */
static bool cdg_queue_short(const struct cdg *c)
{
	u32 base_us = cdg_base_rtt_us(c);

	return c->rtt_prev.min_us < base_us + max_t(u32, base_us >> CDG_IDLE_SHIFT, CDG_IDLE_US);
}

static void cdg_update_base_rtt(struct cdg *c, s32 min_us)
{
	u32 round_us = min(min_us, CDG_BASE_RTT_ROUND_US);
	u64 excess_q16;

	if (cdg_lower_base_rtt(c, min_us))
		return;
	excess_q16 = ((u64)min_us << 16) - c->base_rtt_q16;
	c->base_rtt_q16 += fp_mul_div(excess_q16, round_us,
				      (u64)CDG_BASE_RTT_ROUND_US << CDG_BASE_RTT_SHIFT);
}

/**
 * cdg_set_base_rtt - the path has become longer
 * @c: the flow
 * @base_rtt_us: us, above 0
 */
void cdg_set_base_rtt(struct cdg *c, u32 base_rtt_us)
{
	c->base_rtt_q16 = (u64)base_rtt_us << 16;
}

/**
 * cdg_age_histogram - let the histogram forget a quarter of what it knows
 * @c: the flow
 *
 * Called every Tw: the memory is four to five Tw.
 */
void cdg_age_histogram(struct cdg *c)
{
	int i;

	for (i = 0; i < CDG_HIST_BINS; i++)
		c->price.hist_q8[i] -= DIV_ROUND_UP(c->price.hist_q8[i], CDG_AGE_PART);
	c->price.rounds_q8 -= DIV_ROUND_UP(c->price.rounds_q8, CDG_AGE_PART);
}

/* A round has been judged: count its gradient. */
static void cdg_hist_add(struct cdg *c, s32 gradient_sum_us)
{
	int octave, bin;

	if (c->price.rounds_q8 > U32_MAX / 8)	/* 10 us of RTT, minutes of Tw */
		cdg_age_histogram(c);
	c->price.rounds_q8 += Q8_ONE;
	if (gradient_sum_us <= 0)
		return;
	octave = fls64(gradient_sum_us) - 1;
	bin = 2 * octave + (octave && (gradient_sum_us >> (octave - 1) & 1));
	c->price.hist_q8[min_t(u32, bin, CDG_HIST_BINS - 1)] += Q8_ONE;
}

/* Return the sum of the last CDG_WINDOW gradients, C(1) to C(3) times CDG_WINDOW: of the lowest
 * RTT, or of the highest where the lowest did not grow. After our own cut the RTT falls, and rises
 * again as we grow: in a sum both cancel out. Rounds still missing count as the mean of the others.
 * The sums also tell that a backoff drained the queue and, with the loss tolerance heuristic,
 * whether the queue is full.
 */
static s32 cdg_gradient_sum(struct cdg *c, const struct cdg_heuristics *h)
{
	s32 gmin = c->rtt.min_us - c->rtt_prev.min_us;
	s32 gmax = c->rtt.max_us - c->rtt_prev.max_us;
	struct cdg_minmax *slot = &c->gradients.round[c->tail % CDG_WINDOW];
	s32 sum;

	c->gradients.sum.min_us += gmin - slot->min_us;
	c->gradients.sum.max_us += gmax - slot->max_us;
	slot->min_us = gmin;
	slot->max_us = gmax;
	c->tail = (c->tail + 1) % CDG_WINDOW;
	gmin = c->gradients.sum.min_us;
	gmax = c->gradients.sum.max_us;

	sum = gmin > 0 ? gmin : gmax;
	if (!c->filled) {
		if (c->tail == 0)
			c->filled = true;
		else	/* extrapolate the gradients still missing */
			sum = clamp_t(s64, div_s64((s64)sum * CDG_WINDOW,
						   c->tail), S32_MIN, S32_MAX);
	}

	if (gmin <= -CDG_DRAINED_US || gmax <= -CDG_DRAINED_US)
		c->ineffectual = 0;

	if (h->use_tolerance) {
		gmin = DIV_ROUND_CLOSEST(gmin, CDG_TOLERANCE_US);
		gmax = DIV_ROUND_CLOSEST(gmax, CDG_TOLERANCE_US);
		if (gmin > 0 && gmax <= 0)
			c->state = CDG_UNKNOWN;
		else if ((gmin > 0 && gmax > 0) || gmax < 0)
			c->state = CDG_NONFULL;
	}
	return sum;
}

/**
 * cdg_round - an RTT round has ended
 * @c: the flow
 * @h: heuristics in force
 *
 * Return: sum of the last CDG_WINDOW gradients in us, 0 in a round without a
 * sample or a predecessor. Positive: call cdg_backoff() with it.
 */
s32 cdg_round(struct cdg *c, const struct cdg_heuristics *h)
{
	s32 sum = 0;

	if (!c->rtt.max_us)
		return 0;
	c->price.counts.rounds++;
	if (c->rtt_prev.max_us) {
		sum = cdg_gradient_sum(c, h);
		cdg_hist_add(c, sum);
	}
	if (c->rtt.min_us)
		cdg_update_base_rtt(c, c->rtt.min_us);
	c->rtt_prev = c->rtt;
	memset(&c->rtt, 0, sizeof(c->rtt));
	c->hystart_last_us = 0;
	c->hystart_samples = 0;
	return sum;
}

/**
 * cdg_backoff_probability - C(4), 1 - exp(-g/G)
 * @c: the flow
 * @gradient_sum_us: from cdg_round()
 * @queue_short: the queue is short: G is at least idle_g_ns
 *
 * Return: probability in Q32, U32_MAX for 1.
 */
u32 cdg_backoff_probability(const struct cdg *c, s32 gradient_sum_us,
			    bool queue_short)
{
	u64 scale_q40 = c->g.scale_q40;

	if (gradient_sum_us <= 0)
		return 0;
	if (queue_short && c->g.idle_ns)
		scale_q40 = min(scale_q40, c->g.idle_scale_q40);
	return cdg_probability_q32(gradient_sum_us, scale_q40);
}

/**
 * cdg_backoff - decide on a backoff, C(5), once per round
 * @c: the flow
 * @h: heuristics in force
 * @gradient_sum_us: from cdg_round()
 * @random: uniform over u32
 * @cwnd: congestion window, packets
 *
 * Return: true to cut to cdg_ssthresh() and to call cdg_backoff_done() when
 * that is complete. The round in between has no gradient: at most one backoff
 * in two rounds, for the effect of one takes a round to be seen.
 */
bool cdg_backoff(struct cdg *c, const struct cdg_heuristics *h,
		 s32 gradient_sum_us, u32 random, u32 cwnd)
{
	bool queue_short = cdg_queue_short(c);

	if (!queue_short)
		c->price.counts.queued_rounds++;
	if (random >= cdg_backoff_probability(c, gradient_sum_us, queue_short))
		return false;

	if (h->use_ineff) {
		c->ineffectual++;
		if (c->ineffectual > h->use_ineff)
			return false;
	}

	c->shadow_cwnd = max(c->shadow_cwnd, cwnd);
	c->state = CDG_BACKOFF;
	return true;
}

/**
 * cdg_g_used_ns - the G that cdg_backoff() judges the last round with
 * @c: the flow
 *
 * Return: G in ns, at least idle_g_ns while the queue is short.
 */
u32 cdg_g_used_ns(const struct cdg *c)
{
	return cdg_queue_short(c) ? max(c->g.ns, c->g.idle_ns) : c->g.ns;
}

/**
 * cdg_gradient_ns - the moving average of C(3)
 * @gradient_sum_us: sum of CDG_WINDOW gradients in us, any s32
 *
 * Return: the average in ns, exact.
 */
s64 cdg_gradient_ns(s32 gradient_sum_us)
{
	return (s64)gradient_sum_us * (1000 / CDG_WINDOW);
}

/**
 * cdg_backoff_done - the cut is complete: the next round starts now
 * @c: the flow
 */
void cdg_backoff_done(struct cdg *c)
{
	c->state = CDG_UNKNOWN;
	c->rtt_prev = c->rtt;
	memset(&c->rtt, 0, sizeof(c->rtt));
}

/* F(23), over the last eight cuts or so. */
static void cdg_count_cut(struct cdg *c, u32 cut, u32 cwnd)
{
	c->price.cut_q16 += fp_ratio_q16(cut, cwnd) / CDG_WINDOW - c->price.cut_q16 / CDG_WINDOW;
	c->price.cut_q16 = max_t(u32, c->price.cut_q16, CDG_CUT_MIN_Q16);
}

/**
 * cdg_ssthresh - count a cut, and say where to cut to: C(5) after cdg_backoff(), half after a loss
 * @c: the flow
 * @h: heuristics in force
 * @cwnd: congestion window, packets
 *
 * To be called once for each cut, whatever the base is: sender_sample_interval() has the number of
 * losses, and with it the price that the standard congestion control pays, from here.
 *
 * Return: slow start threshold, packets, at least 2.
 */
u32 cdg_ssthresh(struct cdg *c, const struct cdg_heuristics *h, u32 cwnd)
{
	u32 ssthresh;

	if (c->state == CDG_BACKOFF) {
		ssthresh = max_t(u32, 2, (u64)cwnd * CDG_BETA_Q10 >> 10);
		cdg_count_cut(c, ssthresh < cwnd ? cwnd - ssthresh : 0, cwnd);
		return ssthresh;
	}

	c->price.counts.losses++;
	if (c->state == CDG_NONFULL && h->use_tolerance)
		return cwnd;

	c->shadow_cwnd = min(c->shadow_cwnd >> 1, cwnd);
	ssthresh = max_t(u32, 2, cwnd >> 1);
	return h->use_shadow ? max(ssthresh, c->shadow_cwnd) : ssthresh;
}

/**
 * cdg_grown - the congestion window grew
 * @c: the flow
 * @packets: by so much
 */
void cdg_grown(struct cdg *c, u32 packets)
{
	c->shadow_cwnd = max(c->shadow_cwnd, c->shadow_cwnd + packets);
}

/**
 * cdg_not_cwnd_limited - the sender has too little to fill the window
 * @c: the flow
 * @cwnd: congestion window, packets
 */
void cdg_not_cwnd_limited(struct cdg *c, u32 cwnd)
{
	c->shadow_cwnd = min(c->shadow_cwnd, cwnd);
}
