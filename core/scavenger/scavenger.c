// SPDX-License-Identifier: GPL-2.0-only
/*
 * The scavenger as a base congestion control.
 *
 *	losses, ACKs ----> B (cubic.c) <---- take the path, or stand back ---- path_memory.c
 *	                   |                                                   |
 *	                   | 1/B every Tw                                      | alone or contended
 *	                   v                                                   v
 *	              control.c ------------------ w -----------------> window: alone B,
 *	                                                                beside others w * B
 *
 * While alone it makes room for delay as CDG does, at a G of its own, but keeps the path full.
 */
#include "core/sender.h"

/* The level, w * B, packets in Q16: what w leaves us of a best-effort flow's window. */
static u64 scavenger_level_q16(const struct sender *s)
{
	return fp_mul_q16(s->scavenger.best_effort.window_q16, s->control.w_q16);
}

/* scavenger_sample() has to see RTTs after a stall, and those that a stall excuses; sender_rtt()
 * those of ACKs that the receiver may have held back.
 */
static void scavenger_set_heed(struct sender *s)
{
	const struct scavenger *sc = &s->scavenger;

	s->heed_us = sc->excused ? 0 : min_t(u32, sc->stall_us ?: U32_MAX,
					     SENDER_HELD_BACK_LEAST_US);
}

static void scavenger_save_undo(struct scavenger *sc)
{
	sc->undo_window_q16 = sc->best_effort.window_q16;
	sc->undo_origin_q16 = sc->best_effort.origin_q16;
}

/* w needs no steering: scavenger_level_q16() reads it at each ACK. G is that of a flow alone. */
static void scavenger_start(struct sender *s, struct tcp_path *p)
{
	struct scavenger *sc = &s->scavenger;
	struct path_known known = path_memory_known(s->memory);
	u32 base_rtt_us = cdg_base_rtt_us(&s->cdg);

	cdg_set_g(&s->cdg, QUEUE_ALONE_G_NS);
	if (known.base_rtt_us && (!base_rtt_us || known.base_rtt_us < base_rtt_us))
		cdg_set_base_rtt(&s->cdg, known.base_rtt_us);
	sc->cuts = known.cuts;
	sc->stalled_us = (u32)p->now_us - U32_MAX / 2;
	scavenger_set_heed(s);
	cubic_start(&sc->best_effort, (u64)p->cwnd << 16, 0);
	scavenger_save_undo(sc);	/* of a cut before the goal */
	sender_begin_round(s, p);
}

/* Beside others the window is w * B, and ssthresh is B: TCP remembers ssthresh for the next
 * connection to this host, which need not be ours. Below two packets, the least window, packets
 * wait for their departure. Two still leave together: the receiver would hold back its ACK of a
 * single one, and that looks like a queue.
 */
static void scavenger_apply_level(struct sender *s, struct tcp_path *p, u32 acked)
{
	u64 level_q16 = scavenger_level_q16(s), gap_us;
	u32 level = clamp_t(u64, level_q16 >> 16, 2, path_cwnd_max(p));

	p->ssthresh = max_t(u64, s->scavenger.best_effort.window_q16 >> 16, level);
	/* down at once, up no faster than slow start, as after a timeout */
	p->cwnd = min(p->cwnd + acked, level);
	/* One departure for two packets: no other is set while the last is in the future. */
	if (level_q16 >= 2 * Q16_ONE || s->departure_ns > path_clock_ns(p))
		return;
	/* at most its turn to look: without packets no look could find the queue gone */
	gap_us = min_t(u64, fp_mul_div(path_srtt_us(p), 2 * Q16_ONE, level_q16),
		       path_turn_us(s->memory, cdg_base_rtt_us(&s->cdg)));
	s->departure_ns = max(s->departure_ns + gap_us * NSEC_PER_USEC, path_clock_ns(p));
}

/* Others are there: the window becomes w * B at once. A newcomer gets half of our window. But
 * where we took the path only lately (PATH_SOON_US) it may have been there all along: B is at
 * least what it has been since, whatever we gave up for delay.
 */
static void scavenger_stand_back(struct sender *s, struct tcp_path *p, u64 held_us)
{
	struct scavenger *sc = &s->scavenger;
	u32 doubt_us = fp_mul_q16(PATH_SOON_US,
				  min_t(u32, control_w_recent_max_q16(&s->control), Q16_ONE));
	u32 half = max(p->cwnd / 2, held_us < doubt_us ? sc->kept_cwnd : 0);

	cubic_start(&sc->best_effort, (u64)half << 16, (u64)p->cwnd << 16);
	s->regime = REGIME_CONTENDED;
	sc->yields++;
	p->no_undo = true;
	scavenger_apply_level(s, p, 0);
}

/* What fits a path of that rate, packets, with a queue of @queue_us; 0: not known. Rates and RTTs
 * may be forged, and TCP warns of a window from 2^31 on.
 */
static u64 scavenger_fits(u64 rate_q16, const struct path_round *r, u32 queue_us)
{
	u64 fits_q16 = fp_mul_div(rate_q16, (u64)r->base_rtt_us + queue_us, USEC_PER_SEC);

	return min_t(u64, fits_q16 >> 16, CUBIC_WINDOW_MAX);
}

/* How long no ACK has to come for a stall, us; 0: not known. */
static u32 scavenger_stall_us(const struct path_round *r)
{
	u64 packets_q16 = (u64)SCAVENGER_STALL_PACKETS << 16;

	return r->fits_q16 ? clamp_t(u64, fp_mul_div(packets_q16, USEC_PER_SEC, r->fits_q16),
				     SCAVENGER_STALL_US, U32_MAX) : 0;
}

/* Alone, for all we know: slow start from a part of what the path carried up to all of it and a
 * short queue. But where it may be slower we begin with all that fits it without a queue, up to one
 * that stands: begun with that queue, the first round trip alone overflows a short buffer.
 */
static void scavenger_take(struct sender *s, struct tcp_path *p, const struct path_round *r)
{
	struct scavenger *sc = &s->scavenger;
	u64 full = r->same_q16 ? scavenger_fits(r->same_q16, r, r->stand_us) :
				 scavenger_fits(r->fits_q16, r, 2 * r->queue_us);
	u64 begin = r->same_q16 ? scavenger_fits(r->same_q16, r, 0) :
				  scavenger_fits(r->fits_q16, r, 0) / SCAVENGER_TRIAL_PART;

	s->regime = REGIME_ALONE;
	sc->kept_cwnd = sc->best_effort.window_q16 >> 16;
	sc->steady_rounds = 0;
	sc->cuts = r->cuts;
	p->no_undo = true;
	if (!path_recovering(p))	/* else ssthresh is that of a cut */
		p->ssthresh = full ? clamp_t(u64, full, 2, PATH_SSTHRESH_MAX) : PATH_SSTHRESH_MAX;
	if (path_state(p) == PATH_OPEN)
		p->cwnd = clamp_t(u64, max_t(u64, p->cwnd, begin), 2, path_cwnd_max(p));
	cubic_start(&sc->best_effort, (u64)p->cwnd << 16, 0);
	cdg_restart(&s->cdg, p->cwnd);
}

/* How long the round under way has been, us, saturating. */
static u32 scavenger_elapsed_us(const struct sender *s, const struct tcp_path *p)
{
	return min_t(u64, p->now_us - s->round.start_us, U32_MAX);
}

/* Packets per second delivered in it; 0: no time has passed. */
static u64 scavenger_rate_q16(const struct sender *s, const struct tcp_path *p)
{
	u64 delivered_q16 = (u64)(path_delivered(p) - s->round.delivered) << 16;
	u32 elapsed_us = scavenger_elapsed_us(s, p);

	return elapsed_us ? fp_mul_div(delivered_q16, USEC_PER_SEC, elapsed_us) : 0;
}

/* Tell the memory of the round that has ended, or of the last one before a loss. */
static struct path_round scavenger_seen(const struct sender *s, const struct tcp_path *p)
{
	return (struct path_round) {
		.now_us = p->now_us,
		.rtt_us = s->cdg.rtt_prev.min_us,
		.rtt_max_us = max(s->cdg.rtt_prev.max_us, s->cdg.rtt.max_us),
		.base_rtt_us = cdg_base_rtt_us(&s->cdg),
		.contended = sender_not_alone(s),
		.steady = s->scavenger.steady_rounds >= PATH_STEADY_ROUNDS,
	};
}

/* Do what the memory says; true where it leaves the window to CDG, or to w. */
static bool scavenger_act(struct sender *s, struct tcp_path *p, enum path_verdict verdict,
			  const struct path_round *r)
{
	switch (verdict) {
	case PATH_AS_IT_IS:
		return true;
	case PATH_STAND_BACK:
		scavenger_stand_back(s, p, r->held_us);
		return false;
	case PATH_LONGER:
		cdg_set_base_rtt(&s->cdg, r->rtt_us);
		fallthrough;
	case PATH_TAKE:
		scavenger_take(s, p, r);
		return false;
	}
	return true;
}

/* Does a flow that is alone make room? Where CDG says so, where the queue is longer than scavengers
 * leave, or where another flow of ours has made room. Not for noise, nor in slow start while no
 * queue stands: in a window of ten one late packet is a gradient, and would end it.
 */
static bool scavenger_makes_room(struct sender *s, const struct tcp_path *p,
				 const struct path_round *r, s32 gradient_sum_us)
{
	struct scavenger *sc = &s->scavenger;
	u32 queue_us = queue_above_us(r->rtt_us, r->base_rtt_us);
	bool follows = sc->cuts != r->cuts;

	sc->cuts = r->cuts;
	if (path_recovering(p))	/* a cut would be decided, but not made */
		return false;
	if (queue_us <= (r->same_q16 ? r->stand_us / 2 * 3 :
			 path_slow_start(p) ? r->queue_us : follows ? 0 : r->noise_us))
		return false;
	if (follows)
		return true;
	if (!cdg_backoff(&s->cdg, &s->heuristics, gradient_sum_us, get_random_u32(), p->cwnd) &&
	    (!r->steady || queue_us <= max(queue_scavengers_us(r->base_rtt_us), r->queue_us)))
		return false;
	sc->cuts = path_memory_cut(s->memory);
	return true;
}

static enum round_effect scavenger_round(struct sender *s, struct tcp_path *p, u32 before_us,
					 s32 gradient_sum_us)
{
	struct scavenger *sc = &s->scavenger;
	u32 elapsed_us = scavenger_elapsed_us(s, p), w_q16 = Q16_ONE;
	enum path_verdict verdict;
	struct path_round r;

	s->interval.rounds++;
	if (path_slow_start(p))
		sc->steady_rounds = 0;
	else
		sc->steady_rounds += sc->steady_rounds < U8_MAX;
	r = scavenger_seen(s, p);
	r.rate_q16 = sc->stalled ? s->part.rate_q16 : scavenger_rate_q16(s, p);
	r.judged = r.rate_q16 && !s->round.app_limited && !sc->stalled;
	if (sender_not_alone(s)) {
		s->interval.not_alone_rounds++;
		s->interval.best_effort_sum_q16 += sc->best_effort.window_q16;
		w_q16 = s->control.w_q16;
	}
	verdict = path_memory_round(s->memory, &s->part, &r);
	sc->stall_us = scavenger_stall_us(&r);
	scavenger_set_heed(s);
	sc->stalled = false;
	if (!scavenger_act(s, p, verdict, &r))
		return ROUND_SET;
	/* time in which the window was not in use does not count, RFC 9438, 4.2 */
	if (!r.judged || !s->round.cwnd_limited)
		elapsed_us = 0;
	else if (r.spare)
		cubic_regain(&sc->best_effort, sc->best_effort.window_q16 +
					       sc->best_effort.window_q16 / SCAVENGER_SPARE_PART);
	if (r.same_q16 && path_stands(queue_above_us(r.rtt_us, r.base_rtt_us), r.stand_us))
		cubic_start(&sc->best_effort, sc->best_effort.window_q16, 0);
	else
		cubic_round(&sc->best_effort, fp_mul_q16(elapsed_us, w_q16), r.base_rtt_us);
	if (sender_not_alone(s))
		return ROUND_SET;
	sc->kept_cwnd = max(sc->kept_cwnd, p->cwnd);
	return scavenger_makes_room(s, p, &r, gradient_sum_us) ? ROUND_CUT : ROUND_NONE;
}

/* We drop an RTT during which the path stood still: its delay is no queue. In slow start our own
 * window leaves at a time, and no ACK comes for most of a round trip.
 */
static void scavenger_sample(struct sender *s, const struct rtt_sample *sample, u32 rtt_us)
{
	struct scavenger *sc = &s->scavenger;

	u32 since_us = (u32)sample->now_us - sc->stalled_us;

	if (sc->stall_us && sample->silence_us >= sc->stall_us && !sender_not_alone(s) &&
	    sc->steady_rounds >= PATH_STEADY_ROUNDS && !s->round.app_limited) {
		/* a path that stands still for most of the time carries others meanwhile */
		sc->excused = since_us >= SCAVENGER_STALL_APART_RTTS *
					  (u64)cdg_base_rtt_us(&s->cdg) &&
			      since_us / 2 >= sample->silence_us;
		sc->stalled_us = sample->now_us;
		since_us = 0;
		scavenger_set_heed(s);
	}
	if (sc->excused && since_us / 2 >= rtt_us) {	/* all that was under way then has come */
		sc->excused = false;
		scavenger_set_heed(s);
	}
	if (sc->excused && since_us < rtt_us)
		sc->stalled = true;
	else
		cdg_rtt_sample(&s->cdg, rtt_us, sample->packets, sample->sacked);
}

/* Until B, or the level, has another packet, ACKs change nothing but counts. While the base is
 * told of those that were gathered, the sender forgets what we say.
 */
static void scavenger_let_gather(struct sender *s, u32 cwnd)
{
	const struct cubic *best_effort = &s->scavenger.best_effort;
	u64 next_q16 = ((best_effort->window_q16 >> 16) + 1) << 16;

	if (s->gathered.left)
		return;
	if (sender_not_alone(s))
		next_q16 = min(next_q16, fp_mul_div((u64)(cwnd + 1) << 16, Q16_ONE,
						    s->control.w_q16));
	s->gathered.cwnd = cwnd;
	s->gathered.left = cubic_packets_until(best_effort, next_q16);
}

/* Alone, B is the window itself; in slow start TCP sets that, and B follows when it has ended. */
static void scavenger_grow(struct sender *s, struct tcp_path *p, u32 acked, bool cwnd_limited)
{
	struct scavenger *sc = &s->scavenger;

	if (sender_not_alone(s)) {
		acked = cwnd_limited ? acked : 0;
		cubic_acked(&sc->best_effort, acked);
		scavenger_apply_level(s, p, acked);
		if (cwnd_limited && p->cwnd == scavenger_level_q16(s) >> 16)
			scavenger_let_gather(s, p->cwnd);
	} else if (!cwnd_limited || path_slow_start(p)) {
		sender_grow_reno(s, p, acked, cwnd_limited);
	} else {
		cubic_follow(&sc->best_effort, p->cwnd);
		cubic_acked(&sc->best_effort, acked);
		p->cwnd = min_t(u64, sc->best_effort.window_q16 >> 16, path_cwnd_max(p));
		if (p->cwnd == sc->best_effort.window_q16 >> 16)
			scavenger_let_gather(s, p->cwnd);
	}
}

/* A cut for delay leaves what fits the path without a queue, and never less than CDG's cut does. */
static u32 scavenger_cut_delay(struct sender *s, const struct tcp_path *p, u32 cdg_cwnd)
{
	u32 rtt_us = s->cdg.rtt_prev.min_us, base_rtt_us = cdg_base_rtt_us(&s->cdg);
	u32 fit = rtt_us > base_rtt_us ? queue_fit(p->cwnd, base_rtt_us, rtt_us) : p->cwnd;
	u32 cwnd = max3(cdg_cwnd, min(fit, p->cwnd - 1), 2U);

	cubic_start(&s->scavenger.best_effort, (u64)cwnd << 16, 0);
	return cwnd;
}

static u32 scavenger_lose_alone(struct sender *s, const struct tcp_path *p)
{
	struct scavenger *sc = &s->scavenger;
	struct path_round r = scavenger_seen(s, p);

	sc->stands_back = path_memory_lost(s->memory, &r);
	sc->held_us = min_t(u64, r.held_us, U32_MAX);
	cubic_follow(&sc->best_effort, p->cwnd);
	cubic_loss(&sc->best_effort);
	sc->kept_cwnd = cubic_beta(sc->kept_cwnd);
	return max_t(u32, 2, sc->best_effort.window_q16 >> 16);
}

/* The window may have been below w * B, as in slow start: then B was too large, by that much. One
 * packet more, as the window is in whole packets.
 */
static u32 scavenger_lose_beside(struct sender *s, const struct tcp_path *p)
{
	struct cubic *best_effort = &s->scavenger.best_effort;

	cubic_lower(best_effort, fp_mul_div(((u64)p->cwnd + 1) << 16, Q16_ONE, s->control.w_q16));
	cubic_loss(best_effort);
	return min_t(u64, scavenger_level_q16(s) >> 16, cubic_beta(p->cwnd));
}

static u32 scavenger_cut(struct sender *s, const struct tcp_path *p, enum cut_cause cause,
			 u32 cdg_cwnd)
{
	if (cause == CUT_OWN)
		return scavenger_cut_delay(s, p, cdg_cwnd);
	scavenger_save_undo(&s->scavenger);
	return sender_not_alone(s) ? scavenger_lose_beside(s, p) : scavenger_lose_alone(s, p);
}

/* TCP repairs a loss that told us of others: stand back. */
static void scavenger_recovery(struct sender *s, struct tcp_path *p)
{
	u32 answer = p->ssthresh;	/* ours to this loss: TCP has put it there */

	if (!s->scavenger.stands_back || sender_not_alone(s))
		return;
	scavenger_stand_back(s, p, s->scavenger.held_us);
	p->ssthresh = max(min(answer, p->cwnd), 2U);	/* TCP may be at one, in PATH_CWR */
}

static void scavenger_event(struct sender *s, struct tcp_path *p, enum base_event event)
{
	struct scavenger *sc = &s->scavenger;

	switch (event) {
	case BASE_START:
		scavenger_start(s, p);
		break;
	case BASE_RECOVERY:
		path_memory_repair(s->memory, &s->part);
		scavenger_recovery(s, p);
		sc->stands_back = false;
		break;
	case BASE_TIMEOUT:
		if (path_state(p) == PATH_LOSS)	/* again: nothing gets through */
			path_memory_pause(s->memory, &s->part);
		else
			path_memory_repair(s->memory, &s->part);
		s->restarting = true;
		sc->stands_back = false;
		break;
	case BASE_COMPLETE_CWR:
		/* B may grow again at once, not a round trip later: on a busy link a round trip
		 * is a tenth of the time between two losses
		 */
		cubic_round(&sc->best_effort, 0, cdg_base_rtt_us(&s->cdg));
		break;
	case BASE_UNDO:	/* B's curve begins anew, as Linux' does */
		cubic_start(&sc->best_effort, sc->undo_window_q16, sc->undo_origin_q16);
		break;
	case BASE_IDLE:
		path_memory_pause(s->memory, &s->part);
		break;
	default:
		break;
	}
}

/* Both prices are 1/B, so phi is 1. B swings by a third between two losses, slowly at a small w: if
 * others were seen we take its mean over the rounds in which we were not alone, not its last value.
 */
static void scavenger_price(const struct sender *s, struct control_sample *sample)
{
	const struct interval *n = &s->interval;
	u64 window_q16 = s->scavenger.best_effort.window_q16;

	sample->others_seen = n->rounds ? n->not_alone_rounds > n->rounds / 2 :
					sender_not_alone(s);
	if (sample->others_seen && n->not_alone_rounds)
		window_q16 = div_u64(n->best_effort_sum_q16, n->not_alone_rounds);
	sample->price_q40 = fp_mul_div(Q40_ONE, Q16_ONE, window_q16);
	sample->price_standard_q40 = sample->price_q40;
}

static void scavenger_report(const struct sender *s, struct base_report *report)
{
	struct path_known known = path_memory_known(s->memory);
	u64 rate_q16 = min(known.rate_q16, known.carried_q16);	/* a round may exceed the mean */

	*report = (struct base_report) {
		.regime = sender_not_alone(s) ? DALBE_REGIME_CONTENDED : DALBE_REGIME_ALONE,
		.yields = s->scavenger.yields,
		.ours_ppm = known.carried_q16 ?
			    fp_ppm(fp_ratio_q16(rate_q16, known.carried_q16)) : 0,
		.carried_pps = min_t(u64, known.carried_q16 >> 16, U32_MAX),
		.best_effort = s->scavenger.best_effort.window_q16 >> 16,
	};
}

const struct lbe_base scavenger_base = {
	.grow		= scavenger_grow,
	.cut		= scavenger_cut,
	.model_q40	= cdg_base_model_q40,	/* 1/W as its price is 1/B: so w = W / B */
	.price		= scavenger_price,
	.event		= scavenger_event,
	.sample		= scavenger_sample,
	.round		= scavenger_round,
	.use_hystart	= true,
	.report		= scavenger_report,
	.level_q16	= scavenger_level_q16,
	.forward_rtt	= true,
	.paced		= true,
	.shares_path	= true,
};
