// SPDX-License-Identifier: GPL-2.0-only
/*
 * Alone or not: whose queue is it?
 *
 *	         regime_judge_cut(): two cuts drained too little
 *	         regime_repair(): TCP repairs a loss while a provisional cut is tested,
 *	         and we do not doubt that the others have gone
 *	      ------------------------------------------------------------->
 *	ALONE                                                                YIELDING
 *	 ^ |  <-------------------------------------------------------------     |
 *	 | |     regime_round(): RESUME, the queue went with us                  |
 *	 | |                                                                     |
 *	 | |  regime_judge_cut(): a provisional cut shows a mark, or a queue     |
 *	 | |  that stays                                                         |
 *	 | |  regime_repair(): as above, and we doubt                            |
 *	 | |  scavenger_judge(): the path stands still most of the time          |
 *	 | |  (all by regime_alone_to_contended())                               |
 *	 | |                                                                     |
 *	 | +------------------------+              regime_round(): it stayed     |
 *	 |                          v                                            |
 *	 +---------------------- CONTENDED <-------------------------------------+
 *	   regime_round():
 *	     TAKE: the queue was away in three of six looks, and patience is over
 *	     TAKE: it went when we probed (probe_found_ours())
 *	     TRY: it is as short as scavengers leave it, on average
 *	     PATH_LONGER: it has not moved for 32 s, so the path is longer (evidence_plateau())
 *
 * A timeout, a pause and a spurious loss change no regime: they void the test under way
 * (evidence_forget()). regime_start(): a newly chosen base starts alone.
 *
 * The controller asks another question, control_sample.others_seen: was somebody there for most of
 * a Tw? scavenger_price() answers it by the rounds in which we were not alone, each other base by
 * its losses or its queue; the answer changes no regime.
 *
 * A provisional cut (struct room) makes room for a newcomer, or goes below the guaranteed window.
 *
 * A window of two packets cannot be cut: then one test decides, by whether the others drain the
 * queue.
 *
 * Of ten scavengers each drains a tenth. So a queue as short as scavengers leave it, and that loses
 * no packet, is theirs, however little our cut has drained.
 *
 * evidence.c says what cuts and rounds show, room.c how a newcomer is told from a stall, stall.c
 * that others have the processor, probe.c asks whether a queue is our own.
 */
#include "core/scavenger/regime.h"

/**
 * regime_start - from here on the flow finds out whether it is alone
 * @r: the flow
 * @now_us: clock
 *
 * We begin in REGIME_ALONE, which may be wrong (see regime_in_doubt()). The first competitor that
 * we yield to may have been there for long, so it does not count as a short flow that comes soon.
 */
void regime_start(struct regime *r, u64 now_us)
{
	memset(r, 0, sizeof(*r));
	r->slow_start.may_grow_on = true;
	r->times.taken_us = now_us;
	r->times.since_us = now_us - REGIME_OFTEN_US;
}

static enum verdict regime_to_alone(struct regime *r, u64 now_us, enum verdict why)
{
	r->state = REGIME_ALONE;
	r->alone_by_guess = why != VERDICT_TAKE;
	r->probe.alone = false;
	if (why != VERDICT_RESUME)
		r->times.taken_us = now_us;
	r->times.since_us = now_us;
	r->lossy_rounds = 0;
	evidence_forget(r);
	return why;
}

/* Urgency times @us: what an urgent transfer does not wait, or how long it doubts. */
static u32 regime_urgency_us(const struct regime *r, u32 us)
{
	return fp_mul_q16(us, min(r->urgency_q16, Q16_ONE));
}

/* How long the queue has to be gone before we take the link again, us. */
static u32 regime_patience_us(const struct regime *r)
{
	if (!r->short_flows_come || r->times.busy_us - r->times.came_us >= REGIME_SHORT_US)
		return 0;
	return REGIME_PATIENCE_US - regime_urgency_us(r, REGIME_PATIENCE_US);
}

/**
 * regime_in_doubt - is it too early to be sure that the others have gone?
 * @r: the flow
 * @now_us: clock
 *
 * We took the link so lately that a competitor that shows now may have been there all the time,
 * in a pause after a loss. We think that possible for longer the more urgent the transfer is, as
 * the mistake would cost it more.
 *
 * Return: true if so; also of a flow that has just begun.
 */
bool regime_in_doubt(const struct regime *r, u64 now_us)
{
	return now_us - r->times.taken_us < regime_urgency_us(r, REGIME_DOUBT_US);
}

/* From REGIME_ALONE to @state: REGIME_YIELDING, to stand back and look; or REGIME_CONTENDED. Both
 * count as a yield, and both are VERDICT_YIELD.
 */
static enum verdict regime_from_alone(struct regime *r, enum regime_state state, u64 now_us)
{
	bool soon = now_us - r->times.since_us < REGIME_OFTEN_US;
	u32 restore_cwnd = r->room.restore_cwnd;

	r->state = state;
	evidence_forget(r);
	r->room.restore_cwnd = restore_cwnd;	/* scavenger_yield() begins at it */
	r->looks.rounds = 0;
	r->looks.peak_us = 0;
	r->looks.gone = 0;
	r->plateau = (struct plateau) { .least_us = U32_MAX, .since_us = now_us };
	r->yields++;
	/* A loss of the others empties a short buffer: the last probe may have been wrong. */
	if (r->lossy_rounds && soon)
		probe_double_pause(r);
	else
		r->probe.pause_us = PROBE_PAUSE_MIN_US;
	if (r->lossy_rounds && soon)	/* taking the link cost packets; scavengers lose none */
		r->looks.try_us = clamp_t(u32, 2 * r->looks.try_us, REGIME_TRY_MAX_US,
					  REGIME_TRY_LOSSY_US);
	else if (r->lossy_rounds)	/* scavengers lose none, but this loss came late */
		r->looks.try_us = REGIME_TRY_MAX_US;
	else if (now_us - r->times.since_us > 2 * REGIME_TRY_MIN_US)	/* newcomers */
		r->looks.try_us = REGIME_TRY_MIN_US;
	else			/* the trial has failed at once */
		r->looks.try_us = clamp_t(u32, 2 * r->looks.try_us, REGIME_TRY_MIN_US,
					  REGIME_TRY_MAX_US);
	if (!r->alone_by_guess) {
		r->short_flows_come = soon;
		r->times.came_us = now_us;
	}
	r->times.since_us = now_us;
	r->times.busy_us = now_us;
	return VERDICT_YIELD;
}

/**
 * regime_alone_to_contended - somebody else is there: do not stand back to look
 * @r: the flow, REGIME_ALONE
 * @now_us: clock
 *
 * By the test of a provisional cut (regime_judge_cut()), or by a loss in it while we doubt that the
 * others have gone (regime_repair()), or as the path stands still most of the time
 * (scavenger_judge()).
 *
 * Return: VERDICT_YIELD.
 */
enum verdict regime_alone_to_contended(struct regime *r, u64 now_us)
{
	r->looks.last_look_us = now_us;
	return regime_from_alone(r, REGIME_CONTENDED, now_us);
}

/**
 * regime_repair - TCP begins to repair a loss
 * @r: the flow
 * @now_us: clock
 *
 * No round ends while TCP repairs, so the test of a provisional cut cannot end either. We do not
 * wait: a loss meanwhile counts as a newcomer's, though it may be our own, where the path stood
 * still for a moment and our packets then filled its buffer at once. So we stand back, and look.
 * But while we doubt that the others have gone, the loss is theirs. A look would find the queue
 * gone, as this loss has just emptied it, and beside short flows an urgent transfer would take the
 * link, lose a packet and yield again and again.
 *
 * Return: true where room, or the guaranteed window, was under test, and the flow is not
 * REGIME_ALONE any more.
 */
bool regime_repair(struct regime *r, u64 now_us)
{
	evidence_loss(r);
	if (r->state != REGIME_ALONE || !provisional_cut_under_test(r))
		return false;
	if (regime_in_doubt(r, now_us))
		regime_alone_to_contended(r, now_us);
	else
		regime_from_alone(r, REGIME_YIELDING, now_us);
	return true;
}

/* looks.mean_us is of the last rounds or looks: another has this queue. */
static void regime_add_to_mean(struct regime *r, u32 queue_us)
{
	r->looks.mean_us = r->looks.mean_us - r->looks.mean_us / REGIME_MEAN +
			   queue_us / REGIME_MEAN;
}

/* Is the queue, on average, as short as scavengers leave it among themselves? */
static bool regime_may_be_scavengers(const struct regime *r, u32 base_rtt_us)
{
	return r->looks.mean_us <= max(queue_scavengers_us(base_rtt_us),
				       evidence_least_windows_us(r));
}

/* The longest queue, us, that may be left after a provisional cut if nobody took what it gave up: a
 * quarter of the queue at @before_us; and, unless packets were lost lately, as much as scavengers
 * leave: they make room for each other's surges, and the queue of the other scavengers stays.
 */
static u32 regime_room_free_us(const struct regime *r, u32 before_us, u32 base_rtt_us)
{
	u32 left_us = queue_left_us(before_us, base_rtt_us);

	return r->lossy_rounds ? left_us : max(left_us, queue_scavengers_us(base_rtt_us));
}

/* The round after a cut has ended: what does the cut show? */
static enum verdict regime_judge_cut(struct regime *r, u32 rtt_us, u32 base_rtt_us, u64 now_us)
{
	u32 before_us = r->cut.before_us;
	u32 drained_us = queue_above_us(before_us, rtt_us);

	r->cut.drained_q16 = min_t(u32, fp_ratio_q16(drained_us, r->cut.expected_us),
				   Q16_ONE);
	r->cut.alone = r->cut.drained_q16 < EVIDENCE_ALONE_Q16 ? 0 :
		       min(r->cut.alone + 1, EVIDENCE_ALONE_CUTS);
	r->cut.before_us = 0;
	if (r->room.provisional) {
		/* A mark since the cut is a newcomer's (at a loss we have yielded already, see
		 * regime_repair()). So is a queue that is left, but for the rounds after our own
		 * slow start, whose queue that may be.
		 */
		if (r->room.packet_lost ||
		    (regime_steady(r) &&
		     queue_above_us(rtt_us, base_rtt_us) >
		     regime_room_free_us(r, before_us, base_rtt_us)))
			return regime_alone_to_contended(r, now_us);
		r->cut.decides = false;
		if (!r->room.restore_cwnd)
			return VERDICT_NONE;
		r->room.restored_rounds = ROOM_RESTORED_ROUNDS;
		r->room.restored_us = before_us;
		return VERDICT_ROOM_FREE;
	}
	/* We cut for a queue of ours, and a surge hides how much the cut drained. The next
	 * cut makes room for the surge, and we judge that one.
	 */
	if (r->part.lost_surge_us && !r->cut.decides)
		return VERDICT_NONE;
	if (r->cut.drained_q16 >= EVIDENCE_OURS_Q16 ||
	    (regime_may_be_scavengers(r, base_rtt_us) && !r->lossy_rounds)) {
		r->cut.decides = false;
		return VERDICT_NONE;
	}
	if (r->cut.decides)	/* this was the deeper cut, which decides */
		return regime_from_alone(r, REGIME_YIELDING, now_us);
	r->cut.decides = true;
	return VERDICT_CUT_DEEPER;
}

/**
 * regime_look_us - time between two looks at a contended queue
 * @base_rtt_us: lowest RTT known
 *
 * Return: us, from REGIME_LOOK_US on; cannot wrap.
 */
u64 regime_look_us(u32 base_rtt_us)
{
	return (u64)base_rtt_us * REGIME_LOOK_RTTS + REGIME_LOOK_US;
}

/**
 * regime_probe_if_due - contended: begin to probe whether the queue is ours, if it is time to
 * @r: the flow
 * @cwnd: congestion window, packets
 * @rtt_us: lowest RTT of the round
 * @base_rtt_us: lowest RTT known; 0: none
 * @now_us: clock
 *
 * Where short flows keep coming, not before patience is over (regime_patience_us()). While
 * probe.rounds is not 0 the window is to be held to probe.cwnd; regime_round() has the answer.
 */
void regime_probe_if_due(struct regime *r, u32 cwnd, u32 rtt_us, u32 base_rtt_us, u64 now_us)
{
	if (now_us - r->times.came_us >= regime_patience_us(r))
		probe_begin(r, cwnd, rtt_us, base_rtt_us, now_us);
}

/**
 * regime_round - a round has ended
 * @r: the flow
 * @rtt_us: its lowest RTT, above 0: a round without a sample is not to be handed in,
 *	it would pass for one without a queue
 * @base_rtt_us: lowest RTT known
 * @now_us: clock; one that was turned back makes the next round a look
 *
 * After a cut it is to be called first at the end of the first round whose
 * packets were sent after the cut.
 *
 * Return: what to do.
 */
enum verdict regime_round(struct regime *r, u32 rtt_us, u32 base_rtt_us,
			  u64 now_us)
{
	u32 queue_us = queue_above_us(rtt_us, base_rtt_us);

	if (r->state == REGIME_ALONE) {
		if (now_us - r->times.came_us >= REGIME_OFTEN_US + REGIME_SHORT_US)
			r->short_flows_come = false;
		r->lossy_rounds -= r->lossy_rounds > 0;
		r->room.restored_rounds -= r->room.restored_rounds > 0;
		regime_add_to_mean(r, queue_us);
		if (evidence_slow_start_too_short(r, rtt_us, base_rtt_us))
			return VERDICT_GROW_ON;
		return cut_under_test(&r->cut) ?
		       regime_judge_cut(r, rtt_us, base_rtt_us, now_us) : VERDICT_NONE;
	}

	r->looks.rounds += r->looks.rounds < U8_MAX;
	if (r->looks.rounds == 1) {	/* packets from before we stood back */
		r->looks.peak_us = queue_us;
		r->looks.mean_us = queue_us;
		return VERDICT_NONE;
	}
	r->looks.peak_us = max(r->looks.peak_us, queue_us);
	if (r->probe.rounds && probe_found_ours(r, queue_us)) {
		regime_to_alone(r, now_us, VERDICT_TAKE);
		r->probe.alone = true;	/* which regime_to_alone() has cleared */
		return VERDICT_TAKE;
	}
	if (base_rtt_us && evidence_plateau(r, rtt_us, base_rtt_us, now_us))
		return regime_to_alone(r, now_us, VERDICT_PATH_LONGER);
	if (r->state == REGIME_CONTENDED &&
	    now_us - r->looks.last_look_us < regime_look_us(base_rtt_us))
		return VERDICT_NONE;
	r->looks.last_look_us = now_us;
	r->looks.gone = (r->looks.gone << 1) & (BIT(REGIME_LOOKS) - 1);
	if (queue_us <= max(r->looks.peak_us >> REGIME_GONE_SHIFT,
			    queue_shortest_us(base_rtt_us)))
		r->looks.gone |= 1;
	else
		r->times.busy_us = now_us;
	regime_add_to_mean(r, queue_us);

	if (r->state == REGIME_YIELDING && r->looks.gone) {
		r->resumes++;
		return regime_to_alone(r, now_us, VERDICT_RESUME);
	}
	/* REGIME_CONTENDED: of REGIME_YIELDING one look was enough */
	if (hweight8(r->looks.gone) >= REGIME_LOOKS_GONE &&
	    now_us - r->times.busy_us >= regime_patience_us(r))
		return regime_to_alone(r, now_us, VERDICT_TAKE);
	if (r->state == REGIME_CONTENDED && !(r->looks.gone & 1) &&
	    regime_may_be_scavengers(r, base_rtt_us) &&
	    now_us - r->times.since_us >= r->looks.try_us)
		return regime_to_alone(r, now_us, VERDICT_TRY);
	if (r->looks.rounds >= REGIME_YIELD_ROUNDS)
		r->state = REGIME_CONTENDED;	/* from REGIME_YIELDING, if not yet: it stayed */
	return VERDICT_NONE;
}
