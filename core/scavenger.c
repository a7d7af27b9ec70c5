// SPDX-License-Identifier: GPL-2.0-only
/*
 * The scavenger as a base congestion control.
 *
 *	losses, ACKs ----> B (cubic.c) <----- take the link, or yield ----- regime.c
 *	                   |                                                  |
 *	                   | 1/B every Tw                                     | alone or contended
 *	                   v                                                  v
 *	              control.c ------------------- w ------------------> window: alone B,
 *	                                                                  beside others w * B
 *
 * While alone it backs off for delay as CDG does, at a G of its own, and each cut is a test of
 * whose queue it is.
 */
#include "sender.h"

/* The level, w * B, packets in Q16: what w leaves us of a best-effort flow's window. */
static u64 scavenger_level_q16(const struct sender *s)
{
	return fp_mul_q16(s->scavenger.best_effort.window_q16, s->control.w_q16);
}

static void scavenger_save_undo(struct scavenger *sc)
{
	sc->undo_window_q16 = sc->best_effort.window_q16;
	sc->undo_origin_q16 = sc->best_effort.origin_q16;
	sc->undo_loss_only_q16 = sc->loss_only_window.window_q16;
	sc->undo_lossy_rounds = sc->regime.lossy_rounds;
	sc->undo_before_yield_cwnd = sc->regime.room.before_yield_cwnd;
}

/* w needs no steering: scavenger_level_q16() reads it at each ACK. G is that of a flow alone. */
static void scavenger_start(struct sender *s, struct tcp_path *p)
{
	struct scavenger *sc = &s->scavenger;

	cdg_set_g(&s->cdg, QUEUE_ALONE_G_NS);
	regime_start(&sc->regime, p->now_us);
	stall_start(&sc->stall, p->now_us);
	cubic_start(&sc->best_effort, (u64)p->cwnd << 16, 0);
	sc->loss_only_window = sc->best_effort;
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
	struct scavenger *sc = &s->scavenger;
	struct probe *probe = &sc->regime.probe;
	u64 level_q16 = scavenger_level_q16(s), gap_us;
	u32 level;

	if (probe->rounds && level_q16 < (u64)probe->cwnd << 16)
		probe->rounds = 0;	/* w * B is less than the probe holds: it tells nothing */
	if (probe->rounds)
		level_q16 = (u64)probe->cwnd << 16;
	level = clamp_t(u64, level_q16 >> 16, 2, path_cwnd_max(p));
	p->ssthresh = max_t(u64, sc->best_effort.window_q16 >> 16, level);
	/* down at once, up no faster than slow start, as after a timeout */
	p->cwnd = min(p->cwnd + acked, level);
	/* One departure for two packets: no other is set while the last is in the future. */
	if (level_q16 >= 2 * Q16_ONE || s->departure_ns > path_clock_ns(p) ||
	    sc->regime.state == REGIME_YIELDING)
		return;
	/* at most the time between looks: without packets no look could find the queue gone */
	gap_us = min_t(u64, fp_mul_div(path_srtt_us(p), 2 * Q16_ONE, level_q16),
		       regime_look_us(cdg_base_rtt_us(&s->cdg)));
	s->departure_ns = max(s->departure_ns + gap_us * NSEC_PER_USEC, path_clock_ns(p));
}

/* We are about to cut or yield: raise loss_only_window to @cwnd, packets, which best effort would
 * keep, even where only slow start found it. Not if a probe made us alone, which may be wrong.
 */
static void scavenger_raise_loss_only(struct scavenger *sc, u32 cwnd)
{
	if (!sc->regime.probe.alone && sc->loss_only_window.window_q16 >> 16 < cwnd)
		cubic_start(&sc->loss_only_window, (u64)cwnd << 16,
			    sc->loss_only_window.origin_q16);
}

/* Stand back: the window becomes w * B at once, and the queue drains. @most: bound of the window
 * that B is half of, packets, where a loss has just cut it; else U32_MAX.
 */
static void scavenger_yield(struct sender *s, struct tcp_path *p, u32 most)
{
	struct scavenger *sc = &s->scavenger;
	/* the room that we had made was part of our window, too */
	u32 cwnd = min(max(p->cwnd, sc->regime.room.restore_cwnd), most);

	sc->regime.room.before_yield_cwnd = cwnd;
	/* A newcomer gets half of our window. But while we doubt, a competitor may have been there
	 * all along, and our delay cuts must not cost us our share: B is loss_only_window at least.
	 */
	scavenger_raise_loss_only(sc, cwnd);
	cubic_start(&sc->best_effort, ((u64)cwnd << 16) / 2, (u64)cwnd << 16);
	if (regime_in_doubt(&sc->regime, p->now_us) &&
	    sc->loss_only_window.window_q16 > sc->best_effort.window_q16)
		sc->best_effort = sc->loss_only_window;
	p->no_undo = true;
	scavenger_apply_level(s, p, 0);
}

/* Alone, for all we know: go on from this window, by slow start up to @ssthresh or until it sees a
 * queue.
 */
static void scavenger_go_alone(struct sender *s, struct tcp_path *p, u32 cwnd, u32 ssthresh)
{
	p->no_undo = true;
	if (!path_recovering(p))	/* else ssthresh is that of a cut */
		p->ssthresh = clamp_t(u32, ssthresh, 2, PATH_SSTHRESH_MAX);
	if (path_state(p) == PATH_OPEN)
		p->cwnd = clamp_t(u32, cwnd, 2, path_cwnd_max(p));
	cubic_start(&s->scavenger.best_effort, (u64)p->cwnd << 16, 0);
	cdg_restart(&s->cdg, p->cwnd);
}

/* The guaranteed window, packets: w times loss_only_window while alone and in doubt; else 0. A cut
 * for delay goes below it for one round trip, to see whose queue it is, and no longer: loss-based
 * competitors, which do not make way for delays, would squeeze an urgent flow below its share.
 */
static u32 scavenger_guaranteed_cwnd(const struct sender *s, const struct tcp_path *p)
{
	const struct scavenger *sc = &s->scavenger;

	if (sc->regime.state != REGIME_ALONE || sc->regime.probe.alone ||
	    !regime_in_doubt(&sc->regime, p->now_us))
		return 0;
	return fp_mul_q16(sc->loss_only_window.window_q16, s->control.w_q16) >> 16;
}

/* A backoff's cut, of a flow that is alone. */
static u32 scavenger_cut_delay(struct sender *s, const struct tcp_path *p, u32 ssthresh)
{
	struct scavenger *sc = &s->scavenger;
	u32 rtt_us = s->cdg.rtt_prev.min_us, base_rtt_us = cdg_base_rtt_us(&s->cdg);
	u32 least;

	scavenger_raise_loss_only(sc, p->cwnd);
	ssthresh = room_cut(&sc->regime, p->cwnd, rtt_us, base_rtt_us, ssthresh);
	least = min(scavenger_guaranteed_cwnd(s, p), p->cwnd);
	evidence_test_cut(&sc->regime, p->cwnd, ssthresh, rtt_us, base_rtt_us);
	if (least > ssthresh && cut_under_test(&sc->regime.cut)) {
		/* We go below it for a round trip, and judge that as we judge room. */
		sc->regime.room.restore_cwnd = max(sc->regime.room.restore_cwnd, least);
		sc->regime.room.provisional = true;
	} else {
		ssthresh = max(ssthresh, least);
	}
	cubic_start(&sc->best_effort,
		    evidence_kept_q16(&sc->regime,
				      max(sc->best_effort.window_q16, (u64)p->cwnd << 16),
				      ssthresh, rtt_us, base_rtt_us), 0);
	return ssthresh;
}

/* Tell the regime of the round that has ended; its verdict says what to do. */
static enum verdict scavenger_judge(struct sender *s, const struct tcp_path *p, u64 elapsed_us)
{
	struct regime *r = &s->scavenger.regime;
	u32 rtt_us = s->cdg.rtt_prev.min_us, base_rtt_us = cdg_base_rtt_us(&s->cdg);
	enum verdict verdict;

	if (path_slow_start(p))
		r->slow_start.rounds_since = 0;
	else
		r->slow_start.rounds_since += r->slow_start.rounds_since < U8_MAX;
	/* A pause, or a timeout, is in the time but not in the packets. */
	if (s->round.app_limited || s->round.cut_short || path_recovering(p))
		evidence_skip_round(r);
	else
		evidence_measure_part(r, path_delivered(p) - s->round.delivered, elapsed_us,
				      rtt_us, base_rtt_us);
	r->urgency_q16 = control_w_recent_max_q16(&s->control);
	verdict = regime_round(r, rtt_us, base_rtt_us, p->now_us);
	if (verdict == VERDICT_NONE && r->state == REGIME_ALONE && !path_recovering(p) &&
	    stall_by_others(&s->scavenger.stall))
		return regime_alone_to_contended(r, p->now_us);
	return verdict;
}

/* Do what the verdict says; ROUND_NONE where the window is still one for CDG to judge. */
static enum round_effect scavenger_act(struct sender *s, struct tcp_path *p, enum verdict why)
{
	struct scavenger *sc = &s->scavenger;
	u32 cwnd = p->cwnd, base_rtt_us = cdg_base_rtt_us(&s->cdg), back, fill, more;

	switch (why) {
	case VERDICT_NONE:
	case VERDICT_ROOM_FREE:
		return ROUND_NONE;
	case VERDICT_CUT_DEEPER:
		return path_recovering(p) ? ROUND_NONE : ROUND_CUT;
	case VERDICT_YIELD:
		scavenger_yield(s, p, U32_MAX);
		break;
	case VERDICT_RESUME:
		/* at least the guaranteed window: delay cuts may have taken it below */
		back = max(sc->regime.room.before_yield_cwnd, scavenger_guaranteed_cwnd(s, p));
		scavenger_go_alone(s, p, s->restarting ? cwnd : back, back);
		break;
	case VERDICT_TAKE:
		sc->loss_only_window = sc->best_effort;
		scavenger_go_alone(s, p, cwnd, evidence_slow_start_limit(&sc->regime, base_rtt_us));
		break;
	case VERDICT_GROW_ON:
		more = cwnd + cwnd / 2;
		fill = evidence_slow_start_limit(&sc->regime, base_rtt_us);
		scavenger_go_alone(s, p, cwnd, fill > cwnd ? min(fill, more) : more);
		break;
	case VERDICT_TRY:
		sc->loss_only_window = sc->best_effort;
		scavenger_go_alone(s, p, cwnd, cwnd);
		break;
	case VERDICT_PATH_LONGER:
		cdg_set_base_rtt(&s->cdg, sc->regime.plateau.rtt_us);
		scavenger_go_alone(s, p, cwnd, PATH_SSTHRESH_MAX);
		/* now that B is our window: no loss had told the old B where to stop */
		sc->loss_only_window = sc->best_effort;
		break;
	}
	return ROUND_SET;
}

/* Back off for a surge or a long queue (room_urgent()), as CDG's gradient is too slow; else as CDG
 * does. But not from the guaranteed window in the eight rounds after it was restored, nor in slow
 * start while no queue stands: in a window of ten one late packet is a gradient, and would end it.
 */
static bool scavenger_backs_off(struct sender *s, const struct tcp_path *p, u32 before_us,
				s32 gradient_sum_us)
{
	struct regime *r = &s->scavenger.regime;

	if (path_recovering(p))	/* a cut would be decided, but not made */
		return false;
	if (room_urgent(r, s->cdg.rtt_prev.min_us, before_us, cdg_base_rtt_us(&s->cdg)))
		return true;
	if (r->room.restored_rounds && scavenger_guaranteed_cwnd(s, p) >= p->cwnd)
		return false;
	if (path_slow_start(p) && !queue_stands(s->cdg.rtt_prev.min_us, cdg_base_rtt_us(&s->cdg)))
		return false;
	return cdg_backoff(&s->cdg, &s->heuristics, gradient_sum_us, get_random_u32(), p->cwnd);
}

static enum round_effect scavenger_round(struct sender *s, struct tcp_path *p, u32 before_us,
					 s32 gradient_sum_us)
{
	struct scavenger *sc = &s->scavenger;
	u32 elapsed_us = (u32)p->now_us - s->round.start_us;
	enum round_effect effect;
	enum verdict verdict;
	u32 w_q16 = Q16_ONE;

	s->interval.rounds++;
	if (sc->regime.state != REGIME_ALONE) {
		s->interval.not_alone_rounds++;
		s->interval.best_effort_sum_q16 += sc->best_effort.window_q16;
	}
	verdict = scavenger_judge(s, p, elapsed_us);
	effect = scavenger_act(s, p, verdict);
	s->regime = sc->regime.state;
	if (effect != ROUND_NONE)
		return effect;
	if (verdict == VERDICT_ROOM_FREE) {
		/* Over a round trip: a burst would pass for a newcomer's. For eight rounds CDG
		 * would go on cutting for the surge, which is over.
		 */
		cubic_regain(&sc->best_effort, (u64)sc->regime.room.restore_cwnd << 16);
		cdg_forget_gradients(&s->cdg);
	}
	if (sc->regime.state != REGIME_ALONE) {
		w_q16 = s->control.w_q16;
		regime_probe_if_due(&sc->regime, p->cwnd, s->cdg.rtt_prev.min_us,
				    cdg_base_rtt_us(&s->cdg), p->now_us);
	}
	/* time in which the window was not in use does not count, RFC 9438, 4.2 */
	if (s->round.app_limited || !s->round.cwnd_limited)
		elapsed_us = 0;
	cubic_round(&sc->best_effort, fp_mul_q16(elapsed_us, w_q16), cdg_base_rtt_us(&s->cdg));
	if (verdict == VERDICT_ROOM_FREE || sc->regime.state != REGIME_ALONE)
		return ROUND_SET;
	return scavenger_backs_off(s, p, before_us, gradient_sum_us) ? ROUND_CUT : ROUND_NONE;
}

/* Alone, B is the window itself; in slow start TCP sets that, and B follows when it has ended. */
static void scavenger_grow(struct sender *s, struct tcp_path *p, u32 acked, bool cwnd_limited)
{
	struct scavenger *sc = &s->scavenger;

	if (sender_not_alone(s)) {
		acked = cwnd_limited ? acked : 0;
		cubic_acked(&sc->best_effort, acked);
		scavenger_apply_level(s, p, acked);
	} else if (!cwnd_limited || path_slow_start(p)) {
		sender_grow_reno(s, p, acked, cwnd_limited);
	} else {
		cubic_follow(&sc->best_effort, p->cwnd);
		cubic_acked(&sc->best_effort, acked);
		p->cwnd = min_t(u64, sc->best_effort.window_q16 >> 16, path_cwnd_max(p));
	}
}

/* We drop an RTT during which the path stood still: its delay is no queue. While alone a surge ends
 * the round at once, with the surge's lowest RTT as the round's. We do not measure our part of the
 * link in so short a round (round.cut_short), as ACKs come in clumps.
 */
static void scavenger_sample(struct sender *s, const struct rtt_sample *sample, u32 rtt_us)
{
	struct regime *r = &s->scavenger.regime;
	struct stall *stall = &s->scavenger.stall;
	u32 before_us = s->cdg.rtt_prev.min_us, base_rtt_us = cdg_base_rtt_us(&s->cdg);
	u32 usual_us = before_us ?: base_rtt_us;

	if (!r->packet_us)
		r->packet_us = sender_packet_us(s, sample);
	if (r->state == REGIME_ALONE &&
	    stall_silence_is_long(sample->silence_us, sample->cwnd, usual_us, regime_steady(r)) &&
	    !s->round.app_limited && !sample->recovering)
		stall_judge_silence(stall, rtt_us, sample->silence_us, usual_us, base_rtt_us,
				    sample->now_us);
	if (stall_during_rtt(stall, rtt_us, sample->now_us))
		return;
	rtt_us = cdg_rtt_sample(&s->cdg, rtt_us, sample->packets, sample->sacked);
	if (!rtt_us)
		return;
	stall->seen = true;
	if (r->state != REGIME_ALONE) {
		if (r->probe.rounds && !seq_after(sample->una, s->round.end))
			probe_reject_early(r, rtt_us, base_rtt_us);
	} else if (!sample->recovering && s->cdg.state != CDG_BACKOFF &&
		   room_sample(r, rtt_us, sample->packets, before_us, base_rtt_us, sample->cwnd)) {
		cdg_cut_round_short(&s->cdg, r->room.sampled_us);
		s->round.end = sample->una - 1;
		s->round.cut_short = true;
	}
}

/* A loss while alone: B = 0.7 W, and so is the window. In the slow start after a timeout or a pause
 * loss_only_window is still that from before, and this loss says that the path holds only cwnd.
 */
static u32 scavenger_lose_alone(struct sender *s, const struct tcp_path *p)
{
	struct scavenger *sc = &s->scavenger;
	struct regime *r = &sc->regime;
	u32 ssthresh;

	scavenger_raise_loss_only(sc, p->cwnd);
	if (s->restarting && path_slow_start(p))
		cubic_lower(&sc->loss_only_window, (u64)p->cwnd << 16);
	if (r->room.restore_cwnd)
		r->room.restore_cwnd = cubic_beta(r->room.restore_cwnd);
	cubic_follow(&sc->best_effort, p->cwnd);
	cubic_loss(&sc->best_effort);
	cubic_loss(&sc->loss_only_window);
	ssthresh = max_t(u32, 2, sc->best_effort.window_q16 >> 16);
	evidence_test_loss_cut(r, p->cwnd, ssthresh, s->cdg.rtt_prev.min_us,
			       cdg_base_rtt_us(&s->cdg));
	return ssthresh;
}

/* A loss beside others: B and the windows to return to are cut; the window is w * B, at most 0.7 of
 * what it was. It may have been below w * B, as in slow start: then B was too large, by that much.
 */
static u32 scavenger_lose_beside(struct sender *s, const struct tcp_path *p)
{
	struct scavenger *sc = &s->scavenger;
	u64 most_q16;

	if (!sc->regime.probe.rounds) {	/* a probe's window says nothing of B */
		/* one more, as the window is in whole packets */
		most_q16 = fp_mul_div(((u64)p->cwnd + 1) << 16, Q16_ONE, s->control.w_q16);
		cubic_lower(&sc->best_effort, most_q16);
		if (s->restarting)
			cubic_lower(&sc->loss_only_window, most_q16);
	}
	cubic_loss(&sc->best_effort);
	cubic_loss(&sc->loss_only_window);
	sc->regime.room.before_yield_cwnd = cubic_beta(sc->regime.room.before_yield_cwnd);
	evidence_loss(&sc->regime);
	return min_t(u64, scavenger_level_q16(s) >> 16, cubic_beta(p->cwnd));
}

static u32 scavenger_cut(struct sender *s, const struct tcp_path *p, enum cut_cause cause,
			 u32 cdg_cwnd)
{
	if (cause == CUT_OWN)
		return scavenger_cut_delay(s, p, cdg_cwnd);
	scavenger_save_undo(&s->scavenger);
	return s->scavenger.regime.state == REGIME_ALONE ? scavenger_lose_alone(s, p) :
							   scavenger_lose_beside(s, p);
}

/* B's curve begins anew after an undo, as Linux' does. */
static void scavenger_undo(struct scavenger *sc)
{
	cubic_start(&sc->best_effort, sc->undo_window_q16, sc->undo_origin_q16);
	cubic_start(&sc->loss_only_window, sc->undo_loss_only_q16, 0);
	sc->regime.room.before_yield_cwnd = sc->undo_before_yield_cwnd;
	evidence_undo_loss(&sc->regime, sc->undo_lossy_rounds);
}

/* TCP repairs a loss. After a provisional cut that counts as another's, and we are not alone. */
static void scavenger_recovery(struct sender *s, struct tcp_path *p)
{
	struct scavenger *sc = &s->scavenger;
	u32 answer = p->ssthresh;	/* ours to this loss: TCP has put it there */

	if (!regime_repair(&sc->regime, p->now_us))
		return;
	s->regime = sc->regime.state;
	/* at most the larger of the answer and restore_cwnd, which we have cut for the loss, too */
	scavenger_yield(s, p, max(answer, sc->regime.room.restore_cwnd));
	p->ssthresh = min(answer, p->cwnd);
}

static void scavenger_event(struct sender *s, struct tcp_path *p, enum base_event event)
{
	struct scavenger *sc = &s->scavenger;

	switch (event) {
	case BASE_START:
		scavenger_start(s, p);
		break;
	case BASE_ROUND:
		room_begin_round(&sc->regime);
		break;
	case BASE_RECOVERY:
		scavenger_recovery(s, p);
		break;
	case BASE_TIMEOUT:
		s->restarting = true;
		evidence_timeout(&sc->regime);
		break;
	case BASE_COMPLETE_CWR:
		/* B may grow again at once, not a round trip later: on a busy link a round trip
		 * is a tenth of the time between two losses
		 */
		cubic_round(&sc->best_effort, 0, cdg_base_rtt_us(&s->cdg));
		break;
	case BASE_UNDO:
		scavenger_undo(sc);
		break;
	case BASE_CWND_RESTART:
		evidence_forget(&sc->regime);
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
	const struct regime *r = &s->scavenger.regime;

	*report = (struct base_report) {
		.regime = DALBE_REGIME_ALONE + r->state,
		.drained_ppm = fp_ppm(r->cut.drained_q16),
		.yields = r->yields,
		.resumes = r->resumes,
		.best_effort = s->scavenger.best_effort.window_q16 >> 16,
		.probe_rounds = r->probe.rounds,
		.probe_alone = r->probe.alone,
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
