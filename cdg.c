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
 *   o The coexistence heuristics are off unless asked for: this is a scavenger.
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
#include "cdg.h"

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

/* Gradient sums are in us over CDG_WINDOW rounds, G in ns:
 * g/G = sum * 1000 / (CDG_WINDOW * g_ns). At least 2^40 * 1000 / 10^9.
 */
static u64 cdg_scale_q40(u32 g_ns)
{
	return div_u64(1000ull << 40, CDG_WINDOW * g_ns);
}

/* 1 - exp(-g/G) in Q32 for a positive sum. The exponent is at most 1.4e8 (a
 * sum of 2^31 us at the least G): in Q26 it fits.
 */
static u32 cdg_probability_q32(s32 gradient_sum_us, u64 scale_q40)
{
	return U32_MAX - cdg_exp_neg_q32(mul_u64_u32_shr(scale_q40,
							 gradient_sum_us, 14));
}

/**
 * cdg_set_g - set the scale G of C(4)
 * @c: the flow
 * @g_ns: G in ns, clamped to CDG_G_MIN_NS .. CDG_G_MAX_NS
 */
void cdg_set_g(struct cdg *c, u32 g_ns)
{
	g_ns = clamp_t(u32, g_ns, CDG_G_MIN_NS, CDG_G_MAX_NS);
	if (g_ns == c->g_ns)
		return;
	c->g_ns = g_ns;
	c->scale_q40 = cdg_scale_q40(g_ns);
}

/**
 * cdg_set_idle_g - set the least G while the queue is short
 * @c: the flow
 * @idle_g_ns: as in cdg_set_g(); 0: none, exact CDG
 */
void cdg_set_idle_g(struct cdg *c, u32 idle_g_ns)
{
	c->idle_g_ns = idle_g_ns;
	if (idle_g_ns)
		c->idle_scale_q40 = cdg_scale_q40(clamp_t(u32, idle_g_ns,
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
	c->cut_q16 = CDG_CUT_DELAY_Q16;
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
	memset(c->gradient, 0, sizeof(c->gradient));
	memset(&c->gradient_sum, 0, sizeof(c->gradient_sum));
	c->tail = 0;
	c->filled = false;
}

/**
 * cdg_restart - the connection was idle: what was measured is void
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
 * cdg_rtt_at_most - an RTT that may have the receiver's waiting in it
 * @c: the flow
 * @rtt_us: RTT in us; 0 or less: none was taken
 *
 * It may lower the round's minimum, but neither be it nor raise the maximum. The path's
 * is no longer than that either.
 */
void cdg_rtt_at_most(struct cdg *c, s32 rtt_us)
{
	if (rtt_us <= 0)
		return;
	c->rtt.min_us = min(c->rtt.min_us, rtt_us);
	cdg_lower_base_rtt(c, rtt_us);
}

/**
 * cdg_rtt_sample - one RTT measurement
 * @c: the flow
 * @rtt_us: RTT in us; 0 or less: none was taken
 * @pkts_acked: packets that the ACK covers
 * @sacked: the receiver holds data out of order
 *
 * Delayed ACKs of single packets measure the receiver's timer. They are told
 * by credit (Hayes, CAIA TR 100219A): each ACK of two or more packets earns
 * one, up to five; a single-packet ACK spends one and may then lower the
 * round's minimum but not raise its maximum.
 *
 * Return: the RTT, us, held to CDG_RTT_MAX_US; 0 if it is none, or such a single one's.
 */
s32 cdg_rtt_sample(struct cdg *c, s32 rtt_us, u32 pkts_acked, bool sacked)
{
	if (rtt_us <= 0)
		return 0;
	rtt_us = min(rtt_us, CDG_RTT_MAX_US);

	if (!sacked) {
		if (pkts_acked == 1 && c->delack) {
			c->rtt.min_us = min(c->rtt.min_us, rtt_us);
			c->delack--;
			return 0;
		}
		if (pkts_acked > 1 && c->delack < 5)
			c->delack++;
	}

	if (!c->rtt.min_us || rtt_us < c->rtt.min_us)
		c->rtt.min_us = rtt_us;
	c->rtt.max_us = max(c->rtt.max_us, rtt_us);
	return rtt_us;
}

/* Was the queue of the round just ended short, that is, did its lowest RTT come
 * within a sixteenth of the base RTT (at least 1 ms, two packets at 20 Mbit/s; from
 * there on the effect test can judge)? A competitor that fills the buffer keeps the queue
 * longer than that, whatever we do; our own flow, alone, goes back below it at
 * its first backoff. Where the base RTT is not known (a latecomer that never
 * saw the queue empty) the test errs towards "short": towards CDG with G at
 * least idle_g_ns, which still yields to growing queues.
 */
static bool cdg_queue_short(const struct cdg *c)
{
	u32 base_rtt_us = cdg_base_rtt_us(c);

	return (u32)c->rtt_prev.min_us <=
	       base_rtt_us + max_t(u32, base_rtt_us >> CDG_SHORT_QUEUE_SHIFT,
			     CDG_SHORT_QUEUE_MIN_US);
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
 * cdg_cut_round_short - the round under way is to end with this lowest RTT
 * @c: the flow
 * @min_us: us, above 0
 *
 * What was lower in it is no less a base RTT.
 */
void cdg_cut_round_short(struct cdg *c, s32 min_us)
{
	if (c->rtt.min_us)
		cdg_update_base_rtt(c, c->rtt.min_us);
	c->rtt.min_us = min_us;
	c->rtt.max_us = max(c->rtt.max_us, min_us);
}

static void cdg_hist_add(struct cdg *c, s32 gradient_sum_us)
{
	int octave, bin;

	if (c->hist_rounds > U32_MAX / 8)	/* 10 us of RTT, minutes of Tw */
		cdg_age(c);
	c->hist_rounds += 256;
	if (gradient_sum_us <= 0)
		return;
	octave = fls64(gradient_sum_us) - 1;
	bin = 2 * octave + (octave && (gradient_sum_us >> (octave - 1) & 1));
	c->hist[min(bin, CDG_HIST_BINS - 1)] += 256;
}

/* C(1) to C(3); the sums make gradients taken across a cut, whose RTT falls for
 * our own doing, cancel out of the window.
 */
static s32 cdg_gradient_sum(struct cdg *c, const struct cdg_heuristics *h)
{
	s32 gmin = c->rtt.min_us - c->rtt_prev.min_us;
	s32 gmax = c->rtt.max_us - c->rtt_prev.max_us;
	struct cdg_minmax *slot = &c->gradient[c->tail];
	s32 sum;

	c->gradient_sum.min_us += gmin - slot->min_us;
	c->gradient_sum.max_us += gmax - slot->max_us;
	slot->min_us = gmin;
	slot->max_us = gmax;
	c->tail = (c->tail + 1) % CDG_WINDOW;
	gmin = c->gradient_sum.min_us;
	gmax = c->gradient_sum.max_us;

	sum = gmin > 0 ? gmin : gmax;
	if (!c->filled) {
		if (c->tail == 0)
			c->filled = true;
		else	/* extrapolate the gradients still missing */
			sum = clamp_t(s64, div_s64((s64)sum * CDG_WINDOW,
						   c->tail), S32_MIN, S32_MAX);
	}

	if (gmin <= -32 || gmax <= -32)
		c->ineffectual = 0;

	if (h->use_tolerance) {
		gmin = DIV_ROUND_CLOSEST(gmin, 64);
		gmax = DIV_ROUND_CLOSEST(gmax, 64);
		if (gmin > 0 && gmax <= 0)
			c->state = CDG_FULL;
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
	c->counts.rounds++;
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
	u64 scale_q40 = c->scale_q40;

	if (gradient_sum_us <= 0)
		return 0;
	if (queue_short && c->idle_g_ns)
		scale_q40 = min(scale_q40, c->idle_scale_q40);
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
		c->counts.queued_rounds++;
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
 * cdg_base_rtt_us - the RTT without a queue, as far as it is known
 * @c: the flow
 *
 * Return: lowest RTT of any sample, slowly forgotten; 0: none yet.
 */
u32 cdg_base_rtt_us(const struct cdg *c)
{
	return c->base_rtt_q16 >> 16;
}

/**
 * cdg_g_used_ns - the G that cdg_backoff() judges the last round with
 * @c: the flow
 *
 * Return: G in ns, at least idle_g_ns while the queue is short.
 */
u32 cdg_g_used_ns(const struct cdg *c)
{
	return cdg_queue_short(c) ? max(c->g_ns, c->idle_g_ns) : c->g_ns;
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
	c->cut_q16 += fp_ratio_q16(cut, cwnd) / 8 - c->cut_q16 / 8;
	c->cut_q16 = max_t(u32, c->cut_q16, CDG_CUT_MIN_Q16);
}

/**
 * cdg_ssthresh - where to cut to: C(5) after cdg_backoff(), half after a loss
 * @c: the flow
 * @h: heuristics in force
 * @cwnd: congestion window, packets
 *
 * Return: slow start threshold, packets, at least 2.
 */
u32 cdg_ssthresh(struct cdg *c, const struct cdg_heuristics *h, u32 cwnd)
{
	u32 ssthresh;

	if (c->state == CDG_BACKOFF) {
		ssthresh = max_t(u32, 2, (u64)cwnd * CDG_BETA_Q10 >> 10);
		c->counts.backoffs++;
		cdg_count_cut(c, ssthresh < cwnd ? cwnd - ssthresh : 0, cwnd);
		return ssthresh;
	}

	c->counts.losses++;
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
 * cdg_not_limited - the sender has too little to fill the window
 * @c: the flow
 * @cwnd: congestion window, packets
 */
void cdg_not_limited(struct cdg *c, u32 cwnd)
{
	c->shadow_cwnd = min(c->shadow_cwnd, cwnd);
}

/* Half of HyStart's delay, which is an eighth of the RTT, and in Linux 16 ms at most. */
static bool cdg_saw_queue(const struct cdg *c)
{
	return c->rtt.max_us - c->hystart_min_us >=
	       min(c->hystart_min_us / 16, 8000);
}

/**
 * cdg_hystart_exit - hybrid slow start: is the pipe full?
 * @c: the flow
 * @detect: enum cdg_hystart bits to look for
 * @now_us: clock of the ACK
 * @cwnd_limited: the sender fills its window
 * @paced: and does not send it in one burst
 *
 * Called on each ACK below ssthresh. Ha and Rhee's algorithm with Hayes'
 * delayed-ACK filter, at any window, and with the train started again when the
 * application held it up. In slow start TCP paces a window over half the RTT and
 * more, whatever the pipe holds. So the train of a paced one tells of a full pipe only
 * in a round that has seen a queue: half of what the delay is to be that tells by itself.
 * Else it is to last as long as the pace cannot make it: all of the RTT, as in Linux' CUBIC.
 *
 * Return: what was detected, to leave slow start for; CDG_HYSTART_NONE: go on.
 */
enum cdg_hystart cdg_hystart_exit(struct cdg *c, u8 detect, u32 now_us,
				  bool cwnd_limited, bool paced)
{
	if (!c->rtt.max_us)	/* of this round nothing is known yet */
		return CDG_HYSTART_NONE;
	if (!c->hystart_min_us || c->rtt.min_us < c->hystart_min_us)
		c->hystart_min_us = c->rtt.min_us;

	if (detect & CDG_HYSTART_TRAIN) {
		if (!c->hystart_last_us || !cwnd_limited) {
			c->hystart_last_us = now_us;
			c->hystart_start_us = now_us;
		} else if ((s32)(now_us - c->hystart_last_us) < 3000) {
			s32 full_us = max(c->hystart_min_us / 2, 125);

			if (paced && !cdg_saw_queue(c))
				full_us = c->hystart_min_us;
			c->hystart_last_us = now_us;
			if ((s32)(now_us - c->hystart_start_us) > full_us)
				return CDG_HYSTART_TRAIN;
		}
	}

	if (detect & CDG_HYSTART_DELAY) {
		if (c->hystart_samples < 8) {
			c->hystart_samples++;
		} else {
			s32 limit_us = max(c->hystart_min_us +
					   c->hystart_min_us / 8, 125);

			if (c->rtt.min_us > limit_us)
				return CDG_HYSTART_DELAY;
		}
	}
	return CDG_HYSTART_NONE;
}

/* Middle of a histogram bin, us. */
static s32 cdg_bin_us(int bin)
{
	int octave = bin / 2;

	if (octave < 2)
		return bin < 2 ? 1 : bin;
	return (bin & 1 ? 7 : 5) << (octave - 2);
}

/* 2^(x/256) for x up to 31 * 256: the table's steps of 1/32 octave, straight
 * lines between them, within 2e-4.
 */
static u32 cdg_exp2_q8(u32 x_q8)
{
	u32 above = (x_q8 + 255) / 256;
	u32 below_q8 = above * 256 - x_q8;
	u64 m_q32 = exp2_neg_q32[below_q8 / 8];

	m_q32 -= (m_q32 * (below_q8 % 8) * 177) >> 16;	/* ln(2) / 256 */
	return (m_q32 << above) >> 32;
}

/* Backoffs per round that is judged at scale G, Q32. */
static u32 cdg_backoff_rate_q32(const struct cdg *c, u32 g_ns)
{
	u64 scale_q40 = cdg_scale_q40(g_ns);
	u64 sum = 0;
	int i;

	for (i = 0; i < CDG_HIST_BINS; i++)
		if (c->hist[i])
			sum += (u64)c->hist[i] *	/* below 2^30 */
			       cdg_probability_q32(cdg_bin_us(i), scale_q40);
	return min_t(u64, div_u64(sum, c->hist_rounds), U32_MAX);
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
	return fp_mul_div(c->cut_q16, Q16_ONE, Q16_ONE - c->cut_q16 / 2);
}

/**
 * cdg_delay_price_q40 - what delay would cost per round at scale G
 * @c: the flow
 * @g_ns: G in ns
 *
 * F(22) for z = delay, with N counted in rounds that are judged: weight of the cuts
 * actually made times backoffs per round, over the gradients of the last rounds (see
 * cdg_age()). The round of a cut is none of them, nor does the window grow in it.
 *
 * Return: price in Q40, below 1/2; 0 when nothing was measured.
 */
u64 cdg_delay_price_q40(const struct cdg *c, u32 g_ns)
{
	if (!c->hist_rounds)
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
 * cdg_age - let the histogram forget a quarter of what it knows
 * @c: the flow
 *
 * Called every Tw: the memory is four to five Tw.
 */
void cdg_age(struct cdg *c)
{
	int i;

	for (i = 0; i < CDG_HIST_BINS; i++)
		c->hist[i] -= DIV_ROUND_UP(c->hist[i], 4);
	c->hist_rounds -= DIV_ROUND_UP(c->hist_rounds, 4);
}

/**
 * cdg_forget - forget what was learned about prices: a new goal begins
 * @c: the flow
 */
void cdg_forget(struct cdg *c)
{
	memset(c->hist, 0, sizeof(c->hist));
	c->hist_rounds = 0;
	c->cut_q16 = CDG_CUT_DELAY_Q16;
	memset(&c->counts, 0, sizeof(c->counts));
}
