// SPDX-License-Identifier: GPL-2.0-only
/*
 * The effect test: whose queue is it?
 *
 * The window of a bottleneck's flows is its BDP and its queue. A cut of ours by
 * dW packets shortens the queue by dW packets, whoever the rest belongs to; and
 * if all of it were ours, W = W_all, the drain would be
 *
 *	dW / C = dW / W * (base RTT + queue),	at most the queue.
 *
 * What is measured, as a part of this, is our part of all packets under way.
 * Flows like us, which answer the same gradients, cut as well before long, and
 * then more is drained than ours; a loss-based flow takes what we gave up.
 *
 *	     two cuts that drained too little
 *	ALONE ---------------------------------> YIELDING
 *	  |       (the room made for a newcomer taken: at once CONTENDED)
 *	  ^  ^        the queue went with us         |
 *	  |  +---------------------------------------+
 *	  |                                          | it stayed
 *	  |  it has been away, or goes if asked,     v
 *	  +----------------------------------- CONTENDED
 *	     or is as short as flows like us leave it
 *	     for a while; or it stands still: the path
 *	     is longer
 *
 * Of ten flows like us each drains a tenth. So a queue as short as flows like us
 * leave it, and that loses no packet, is theirs, however little was drained.
 *
 * A queue that surges is a newcomer's in slow start, or what came late as the path, a host
 * or a radio stood still for a moment. The next round tells: what came late has been
 * delivered, the queue is gone, and the window comes back. A newcomer's queue has grown.
 *
 * Our part of the link is what we deliver while a queue stands. We answer a surge that takes
 * a good part of it, and a long one, by making room for twice the surge, which slow start
 * sends next: without room the newcomer leaves slow start early, and we hold the link.
 */
#include "effect.h"

static u32 effect_shortest_us(u32 base_rtt_us)
{
	return max_t(u32, base_rtt_us >> EFFECT_QUEUE_SHIFT,
		     EFFECT_QUEUE_MIN_US);
}

/* The longest queue that flows like us leave on average, whatever their number. */
static u32 effect_kin_us(u32 base_rtt_us)
{
	return min_t(u32, base_rtt_us >> EFFECT_KIN_SHIFT, EFFECT_KIN_US);
}

/**
 * effect_queue_us - the standing queue
 * @rtt_us: lowest RTT of a round
 * @base_rtt_us: lowest RTT known; 0: none, and all of @rtt_us counts as queue
 *
 * Return: what @rtt_us exceeds @base_rtt_us by, us; 0 below it.
 */
u32 effect_queue_us(u32 rtt_us, u32 base_rtt_us)
{
	return rtt_us > base_rtt_us ? rtt_us - base_rtt_us : 0;
}

/* The part of a window that fits a path without a queue, packets. Of a window of few
 * packets a packet is a good part, and half of one too much is the lesser evil; of a
 * large one it is nothing, and one less shows the base RTT again.
 */
static u32 effect_fit(u32 cwnd, u32 base_rtt_us, u64 rtt_us)
{
	u32 fit;

	if (cwnd < EFFECT_SMALL_CWND)
		return (fp_mul_div(2 * cwnd, base_rtt_us, rtt_us) + 1) / 2;
	fit = fp_mul_div(cwnd, base_rtt_us, rtt_us);
	return fit && cwnd >= EFFECT_LARGE_CWND ? fit - 1 : fit;
}

/**
 * effect_start - a flow begins to yield to others
 * @e: the flow
 * @now_us: clock
 *
 * EFFECT_ALONE, which may be an error (see effect_may_err()). Whom it yields to first may
 * have been there for long: that is not the next of those short flows that keep coming.
 */
void effect_start(struct effect *e, u64 now_us)
{
	memset(e, 0, sizeof(*e));
	e->filling = true;
	e->taken_us = now_us;
	e->since_us = now_us - EFFECT_OFTEN_US;
}

/* Is there a queue long enough to judge by? */
static bool effect_stands(u32 rtt_us, u32 base_rtt_us)
{
	return effect_queue_us(rtt_us, base_rtt_us) >=
	       effect_shortest_us(base_rtt_us);
}

/* The queue that may be left where one of ours, or nobody's, has gone, us. */
static u32 effect_left_us(u32 rtt_us, u32 base_rtt_us)
{
	return max(effect_queue_us(rtt_us, base_rtt_us) / EFFECT_LEFT,
		   effect_shortest_us(base_rtt_us));
}

/* The least growth of the queue in one round that is a surge, us: the base RTT shifted right
 * by @shift, within bounds.
 */
static u32 effect_least_surge_us(u32 base_rtt_us, int shift)
{
	return clamp_t(u32, base_rtt_us >> shift,
		       EFFECT_ALONE_G_NS / 1000 << (EFFECT_SURGE_SHIFT - shift),
		       EFFECT_SURGE_MAX_US);
}

/* The growth of the queue in a round, us, where that is a surge; else 0. */
static u32 effect_surge_us(u32 rtt_us, u32 before_us, u32 base_rtt_us, int shift)
{
	u32 grown_us = effect_queue_us(rtt_us, before_us);

	return before_us && grown_us >= effect_least_surge_us(base_rtt_us, shift) ?
	       grown_us : 0;
}

/* Where short flows keep coming, the burst that one begins with is reason enough. */
static int effect_room_shift(const struct effect *e)
{
	return e->patient ? EFFECT_SURGE_SHIFT : EFFECT_ROOM_SHIFT;
}

/* Is this surge to be answered by making room? Not that of a flow smaller than a newcomer's
 * first window.
 */
static bool effect_wants_room(const struct effect *e, u32 cwnd, u32 surge_us,
			      u32 base_rtt_us)
{
	return cwnd >= EFFECT_SMALL_CWND &&
	       surge_us >= effect_least_surge_us(base_rtt_us, effect_room_shift(e));
}

/**
 * effect_cut - how deep to cut for a delay backoff
 * @e: the flow
 * @cwnd: congestion window, packets
 * @rtt_us: lowest RTT of the round
 * @base_rtt_us: lowest RTT known
 * @ssthresh: what CDG would cut to, C(5)
 *
 * A queue that is ours is drained by the window's part in it: cutting deeper
 * leaves the link idle, a large window for seconds. For a newcomer in slow start room is
 * made as well, by twice its surge: what it sends next.
 *
 * Return: slow start threshold, packets, from half of @cwnd to @cwnd - 1, and at
 * least 2, never more for a longer queue; @ssthresh where the queue is not known to
 * be ours: in doubt, not EFFECT_ALONE, or too short to tell while packets are lost.
 */
u32 effect_cut(struct effect *e, u32 cwnd, u32 rtt_us, u32 base_rtt_us,
	       u32 ssthresh)
{
	u32 queue_us = effect_queue_us(rtt_us, base_rtt_us);
	bool stands = effect_stands(rtt_us, base_rtt_us);
	u32 surge_us = stands ? e->surge_us : 0, room_us = 0, before_us, kept;

	e->lent = 0;
	e->room = false;
	e->room_lost = false;
	e->surge_us = 0;
	if (e->state != EFFECT_ALONE || e->doubt || !base_rtt_us ||
	    (e->lossy && !stands))
		return ssthresh;
	e->room = surge_us && (e->lost_part || effect_wants_room(e, cwnd, surge_us, base_rtt_us));
	if (e->room) {
		room_us = surge_us;
		/* Our window grows by a packet per round, so the surge is not ours. The queue
		 * from before it may be, where it was long enough to tell: we do not return
		 * to that.
		 */
		before_us = queue_us - min(queue_us, surge_us);
		if (before_us < EFFECT_QUEUE_MIN_US)
			before_us = 0;
		if (!e->regained || rtt_us <= e->regained_us)
			e->lent = fp_mul_div(cwnd, base_rtt_us, (u64)base_rtt_us + before_us);
	}
	kept = effect_fit(cwnd, base_rtt_us,
			  (u64)base_rtt_us + queue_us + EFFECT_ROOM * room_us);
	return max3(min(kept, cwnd - 1), cwnd / 2, 2U);
}

/**
 * effect_expect - a cut is made: what does it drain if the queue is ours?
 * @e: the flow
 * @cwnd: window before, packets
 * @ssthresh: and after
 * @rtt_us: lowest RTT of the round before
 * @base_rtt_us: lowest RTT known; 0: none
 *
 * Begins a test, in the place of one that has not ended. A cut that shows nothing
 * (too short a queue, no base RTT, no packet less, not EFFECT_ALONE) is no test, and
 * ends a doubt.
 */
void effect_expect(struct effect *e, u32 cwnd, u32 ssthresh, u32 rtt_us,
		   u32 base_rtt_us)
{
	u32 queue_us = effect_queue_us(rtt_us, base_rtt_us);

	e->before_us = 0;
	if (e->state != EFFECT_ALONE || !base_rtt_us ||
	    !effect_stands(rtt_us, base_rtt_us)) {
		e->doubt = false;
		return;
	}
	e->before_us = rtt_us;
	if (ssthresh < cwnd) {
		e->expected_us = min_t(u64, queue_us,
				       fp_mul_div(rtt_us, cwnd - ssthresh, cwnd));
		return;
	}
	/* No window to cut from: it is for the others to drain their queue. */
	e->expected_us = queue_us;
	e->doubt = true;
}

/**
 * effect_forget - what was measured so far is of no use for what comes
 * @e: the flow
 *
 * After a pause in which there was nothing to send, a timeout, a change of regime: the
 * cut under test cannot be judged, nor our part of the link.
 */
void effect_forget(struct effect *e)
{
	e->before_us = 0;
	e->doubt = false;
	e->part_q16 = 0;
	e->last_us = 0;
	e->steady = 0;
	e->regained = 0;
	e->filling = false;
	e->asking = 0;
}

/**
 * effect_limited - this round had too little to send, or repaired a loss
 * @e: the flow
 *
 * Its packets tell nothing of our part of the link, its queue nothing of whose it is, nor
 * of what the link carries: that is looked for later.
 */
void effect_limited(struct effect *e)
{
	e->last_us = 0;
	e->lost_part = false;
	e->asking = 0;
	if (e->filling)
		e->steady = 0;
}

/**
 * effect_urgent - is this round to be answered by a backoff, whatever CDG makes of it?
 * @e: the flow
 * @rtt_us: lowest RTT of the round
 * @before_us: lowest RTT of the round before; 0: there was none
 * @base_rtt_us: lowest RTT known; 0: none
 *
 * The window grows by a packet per round. A queue that grows by much more has a
 * newcomer in it, and CDG's gradient, a mean of eight rounds, is slow to tell. Nor does
 * CDG look at the queue itself: what is longer than flows like us leave it is to be
 * drained by those of us whose it is. Tells the next effect_cut() of the surge.
 *
 * Return: true to back off now; false unless EFFECT_ALONE.
 */
bool effect_urgent(struct effect *e, u32 rtt_us, u32 before_us,
		   u32 base_rtt_us)
{
	u32 longest_us = max_t(u32, effect_kin_us(base_rtt_us),
			       2 * EFFECT_ALONE_G_NS / 1000);
	u32 surge_us = effect_surge_us(rtt_us, before_us, base_rtt_us,
				       EFFECT_SURGE_SHIFT);

	e->surge_us = 0;
	if (e->state != EFFECT_ALONE)
		return false;
	if (e->steady >= EFFECT_STEADY_ROUNDS)	/* else the surge is ours */
		e->surge_us = surge_us;
	return surge_us ||
	       (base_rtt_us &&
		effect_queue_us(rtt_us, base_rtt_us) > longest_us);
}

/**
 * effect_begin_round - RTTs from here on belong to another round
 * @e: the flow
 */
void effect_begin_round(struct effect *e)
{
	e->surged = 0;
}

/* Is the cut under test one that made room? */
static bool effect_tests_room(const struct effect *e)
{
	return e->before_us && e->room;
}

/**
 * effect_sample - is there a surge that is not to wait for the round's end?
 * @e: the flow
 * @rtt_us: an RTT, above 0
 * @packets: that its ACK covers
 * @before_us: lowest RTT of the round before; 0: there was none
 * @base_rtt_us: lowest RTT known
 * @cwnd: congestion window, packets
 *
 * A newcomer's first packets may come just behind a round's beginning, whose lowest
 * RTT then tells nothing. A round trip earlier is two of its four or five in slow start.
 * Nor is our own slow start to go on for another round trip. Where room was made, a queue
 * as long as before tells as well: somebody has taken it. Where the window is too small to
 * make room, or the round is to judge any other cut, there is no hurry.
 *
 * Return: true to end the round here, with the lowest RTT @surged_us.
 */
bool effect_sample(struct effect *e, u32 rtt_us, u32 packets, u32 before_us,
		   u32 base_rtt_us, u32 cwnd)
{
	bool tells;

	if (e->state != EFFECT_ALONE || cwnd < EFFECT_SMALL_CWND ||
	    (e->before_us && !e->room))
		return false;
	tells = effect_tests_room(e) ? rtt_us >= e->before_us :
		effect_surge_us(rtt_us, before_us, base_rtt_us,
				effect_room_shift(e)) > 0;
	if (!tells) {
		e->surged = 0;
		return false;
	}
	if (!e->surged) {
		e->surged_us = U32_MAX;
		e->surged_packets = 0;
	}
	e->surged_us = min(e->surged_us, rtt_us);
	e->surged_packets += min(packets, U32_MAX - e->surged_packets);
	e->surged += e->surged < U8_MAX;
	return e->surged >= EFFECT_SAMPLES &&
	       e->surged_packets >= cwnd / EFFECT_SAMPLES_PART;
}

/**
 * effect_loss - a packet was lost, or marked
 * @e: the flow
 *
 * Where room was just made, that is a newcomer's doing. And a queue that loses packets
 * is one, however still.
 */
void effect_loss(struct effect *e)
{
	e->lossy = EFFECT_LOSS_ROUNDS;
	e->still = 0;
	e->asking = 0;
	e->filling = false;
	if (effect_tests_room(e))
		e->room_lost = true;
}

/**
 * effect_undo_loss - the last loss was none
 * @e: the flow
 * @lossy: effect.lossy before it
 */
void effect_undo_loss(struct effect *e, u8 lossy)
{
	effect_forget(e);
	e->lossy = lossy;
}

/**
 * effect_expect_loss - a cut is made for a loss
 * @e: the flow
 * @cwnd: window before, packets
 * @ssthresh: and after
 * @rtt_us: lowest RTT of the round before
 * @base_rtt_us: lowest RTT known; 0: none
 *
 * A test like any other, unless one of room that was made is under way.
 */
void effect_expect_loss(struct effect *e, u32 cwnd, u32 ssthresh, u32 rtt_us,
			u32 base_rtt_us)
{
	effect_loss(e);
	if (effect_tests_room(e))
		return;
	e->lent = 0;
	e->room = false;
	effect_expect(e, cwnd, ssthresh, rtt_us, base_rtt_us);
}

static enum effect_verdict effect_alone(struct effect *e, u64 now_us,
					enum effect_verdict why)
{
	e->state = EFFECT_ALONE;
	e->unsure = why != EFFECT_TAKE;
	e->answered = false;
	if (why != EFFECT_RESUME)
		e->taken_us = now_us;
	e->since_us = now_us;
	e->lossy = 0;
	effect_forget(e);
	return why;
}

/* Of a time that the relaxed wait: the part that is not waited for. */
static u32 effect_haste_us(const struct effect *e, u32 us)
{
	return fp_mul_q16(us, min(e->haste_q16, Q16_ONE));
}

/* How long the queue has to be away before the link is taken again. */
static u32 effect_patience_us(const struct effect *e)
{
	if (!e->patient || e->busy_us - e->came_us >= EFFECT_SHORT_US)
		return 0;
	return EFFECT_PATIENCE_US - effect_haste_us(e, EFFECT_PATIENCE_US);
}

/**
 * effect_may_err - is it too early to be sure that the others have gone?
 * @e: the flow
 * @now_us: clock
 *
 * The link was taken so lately that who comes now may have been there all the time, in
 * a pause that a loss left. How long that is thought possible grows with the haste, as
 * the harm of it does.
 *
 * Return: true if so; also of a flow that has just begun.
 */
bool effect_may_err(const struct effect *e, u64 now_us)
{
	return now_us - e->taken_us < effect_haste_us(e, EFFECT_OFTEN_US);
}

static void effect_ask_later(struct effect *e)
{
	e->ask_us = clamp_t(u32, 2 * e->ask_us, EFFECT_ASK_MIN_US,
			    EFFECT_ASK_MAX_US);
}

/**
 * effect_hear - an RTT of a packet that was sent before the round under way began
 * @e: the flow
 * @rtt_us: the RTT
 * @base_rtt_us: lowest RTT known
 *
 * Where that is the round in which the window began to be held back, a queue that has
 * gone did not go with us: others had a loss. What is seen later is no answer then.
 */
void effect_hear(struct effect *e, u32 rtt_us, u32 base_rtt_us)
{
	if (e->asking < EFFECT_ASK_ROUNDS ||
	    effect_queue_us(rtt_us, base_rtt_us) > e->ask_left_us)
		return;
	e->asking = 0;
	effect_ask_later(e);
}

/* A round of those asked for has ended: did the queue go with us? */
static bool effect_answer(struct effect *e, u32 queue_us)
{
	if (--e->asking)
		return false;
	if (queue_us <= e->ask_left_us)
		return true;
	effect_ask_later(e);
	return false;
}

static enum effect_verdict effect_yield(struct effect *e, u64 now_us)
{
	bool soon = now_us - e->since_us < EFFECT_OFTEN_US;

	e->state = EFFECT_YIELDING;
	effect_forget(e);
	e->rounds = 0;
	e->peak_us = 0;
	e->gone = 0;
	e->still = 0;
	e->still_us = 0;
	e->still_least_us = U32_MAX;
	e->still_since_us = now_us;
	e->yields++;
	/* In a short buffer a loss of the others empties it, and the answer was wrong. */
	if (e->lossy && soon)
		effect_ask_later(e);
	else
		e->ask_us = EFFECT_ASK_MIN_US;
	if (e->lossy)		/* no kin's */
		e->try_us = clamp_t(u32, 2 * e->try_us, EFFECT_TRY_MAX_US,
				    soon ? EFFECT_TRY_LOSSY_US : EFFECT_TRY_MAX_US);
	else if (now_us - e->since_us > 2 * EFFECT_TRY_MIN_US)
		e->try_us = EFFECT_TRY_MIN_US;
	else
		e->try_us = clamp_t(u32, 2 * e->try_us, EFFECT_TRY_MIN_US,
				    EFFECT_TRY_MAX_US);
	if (!e->unsure) {
		e->patient = soon;
		e->came_us = now_us;
	}
	e->since_us = now_us;
	e->busy_us = now_us;
	return EFFECT_YIELD;
}

/* No need to stand back and look. */
static enum effect_verdict effect_give_way(struct effect *e, u64 now_us)
{
	effect_yield(e, now_us);
	e->state = EFFECT_CONTENDED;
	e->looked_us = now_us;
	return EFFECT_YIELD;
}

/**
 * effect_repair - a loss is being repaired, and until it is no round will end
 * @e: the flow
 * @now_us: clock
 *
 * Where room was just made we do not wait for that: a newcomer has taken the room, or the
 * path stood still for a moment, and then our own packets filled its buffer at once.
 *
 * Return: true if so, and the flow is EFFECT_YIELDING.
 */
bool effect_repair(struct effect *e, u64 now_us)
{
	effect_loss(e);
	if (e->state != EFFECT_ALONE || !effect_tests_room(e))
		return false;
	effect_yield(e, now_us);
	return true;
}

/* Did so much less arrive in this round that it is no noise? */
static bool effect_part_lost(const struct effect *e, u64 part_q16,
			     u64 elapsed_us)
{
	u64 lost_q16 = e->part_q16 - min(e->part_q16, part_q16);

	return lost_q16 >= e->part_q16 / EFFECT_PART_LOST &&
	       fp_mul_div(lost_q16, elapsed_us, USEC_PER_SEC) >> 16 >=
	       EFFECT_PART_PACKETS;
}

/**
 * effect_part - was a part of what is ours of the link lost in this round?
 * @e: the flow
 * @packets: delivered in this round
 * @elapsed_us: what it took
 * @rtt_us: its lowest RTT
 * @base_rtt_us: lowest RTT known
 *
 * A link with a queue is at work, and what it does no more for us it does for
 * others, whatever we cut. Flows like us shift their parts in the short queue that
 * they leave; in a longer one, or one that loses packets, only a newcomer does: or the
 * path stood still, which a single round does not tell. Sets @lost_part.
 *
 * To be called before effect_round(), and not for a round with too little to send.
 */
void effect_part(struct effect *e, u32 packets, u64 elapsed_us, u32 rtt_us,
		 u32 base_rtt_us)
{
	u32 queue_us = effect_queue_us(rtt_us, base_rtt_us);
	u32 last_us = e->last_us;
	u64 part_q16;

	e->last_us = rtt_us;
	e->lost_part = false;
	if (e->state != EFFECT_ALONE || !base_rtt_us || !elapsed_us ||
	    !effect_stands(rtt_us, base_rtt_us))
		return;
	part_q16 = min_t(u64, S64_MAX, fp_mul_div((u64)packets << 16,
						  USEC_PER_SEC, elapsed_us));
	e->lost_part = (queue_us > effect_kin_us(base_rtt_us) || e->lossy) &&
		       effect_surge_us(rtt_us, last_us, base_rtt_us, EFFECT_SURGE_SHIFT) &&
		       effect_part_lost(e, part_q16, elapsed_us);
	if (e->lost_part)
		return;
	if (e->part_q16) {
		part_q16 = e->part_q16 + (((s64)part_q16 - (s64)e->part_q16) >>
					  EFFECT_PART_SHIFT);
		e->link_q16 = max(e->link_q16, part_q16);
	} else {
		/* beside others it is our part that is measured */
		e->link_q16 = max(e->unsure ? e->link_q16 : e->link_q16 / 2,
				  part_q16);
	}
	e->part_q16 = part_q16;
}

/* What the link carries in so much time, as far as it is known, packets. */
static u64 effect_link_packets(const struct effect *e, u64 us)
{
	return fp_mul_div(e->link_q16, us, USEC_PER_SEC) >> 16;
}

/**
 * effect_fill - the link is free: how far may slow start go?
 * @e: the flow
 * @base_rtt_us: lowest RTT known
 *
 * Slow start learns a round trip later that a link is full, and has sent twice what it
 * carries then: the buffer overflows, for others as well. What it carried the last time
 * is known; so slow start ends where a queue shows that it is full, just about.
 *
 * Return: packets; U32_MAX: as far as it goes.
 */
u32 effect_fill(struct effect *e, u32 base_rtt_us)
{
	u64 full_us = (u64)base_rtt_us + 2 * effect_shortest_us(base_rtt_us);

	e->filling = true;
	if (!e->link_q16 || !base_rtt_us)
		return U32_MAX;
	return clamp_t(u64, effect_link_packets(e, full_us), 2, U32_MAX);
}

/* It ended, all of the window is in use, and there is no queue: the link carries more. */
static bool effect_more(struct effect *e, u32 rtt_us, u32 base_rtt_us)
{
	if (!e->filling || e->steady < EFFECT_STEADY_ROUNDS)
		return false;
	e->filling = !effect_stands(rtt_us, base_rtt_us);
	if (e->filling)
		e->steady = 0;
	return e->filling;
}

/* Of the last eight or so. */
static void effect_mean(struct effect *e, u32 queue_us)
{
	e->mean_us = e->mean_us - e->mean_us / 8 + queue_us / 8;
}

static enum effect_verdict effect_judge(struct effect *e, u32 rtt_us,
					u32 base_rtt_us, u64 now_us)
{
	u32 before_us = e->before_us;
	u32 drained_us = effect_queue_us(before_us, rtt_us);

	e->drained_q16 = min_t(u32, fp_ratio_q16(drained_us, e->expected_us),
			       Q16_ONE);
	e->before_us = 0;
	if (e->room) {
		/* A newcomer has taken it; or the queue is what our own slow start sent. */
		if (e->room_lost ||
		    (e->steady >= EFFECT_STEADY_ROUNDS &&
		     effect_queue_us(rtt_us, base_rtt_us) >
		     effect_left_us(before_us, base_rtt_us)))
			return effect_give_way(e, now_us);
		e->doubt = false;
		if (!e->lent)
			return EFFECT_NONE;
		e->regained = EFFECT_REGAIN_ROUNDS;
		e->regained_us = before_us;
		return EFFECT_REGAIN;
	}
	/* We cut for a queue of ours, and a surge hides what the cut drained: we make room
	 * for the surge first, and judge that.
	 */
	if (e->lost_part && !e->doubt)
		return EFFECT_NONE;
	if (e->drained_q16 >= EFFECT_OURS_Q16 ||
	    (e->mean_us <= effect_kin_us(base_rtt_us) && !e->lossy)) {
		e->doubt = false;
		return EFFECT_NONE;
	}
	e->doubt = !e->doubt;
	return e->doubt ? EFFECT_DOUBT : effect_yield(e, now_us);
}

/* A queue that does not move is none: a route has become longer. Not the lowest RTTs of
 * rounds are compared, which may have a packet of somebody's in front of them, but those
 * of many. That of very many flows hardly moves; but they lose packets, and so do we.
 */
static bool effect_still(struct effect *e, u32 rtt_us, u32 base_rtt_us,
			 u64 now_us)
{
	u64 period_us = max_t(u64, EFFECT_STILL_US,
			      (u64)EFFECT_STILL_ROUNDS * base_rtt_us);
	u32 least_us = min(e->still_least_us, rtt_us);
	u32 off_us = max(least_us, e->still_us) - min(least_us, e->still_us);
	u32 near_us = max_t(u32, EFFECT_STILL_MIN_US,
			    effect_queue_us(least_us, base_rtt_us) >>
			    EFFECT_STILL_SHIFT);

	e->still_least_us = least_us;
	if (now_us - e->still_since_us < period_us)
		return false;
	e->still_since_us = now_us;
	e->still_least_us = U32_MAX;
	if (off_us > near_us || !effect_stands(least_us, base_rtt_us)) {
		e->still_us = least_us;
		e->still = 0;
	}
	return ++e->still >= EFFECT_STILL;
}

/**
 * effect_look_us - time between two looks at a contended queue
 * @base_rtt_us: lowest RTT known
 *
 * Return: us, from EFFECT_LOOK_US on; cannot wrap.
 */
u64 effect_look_us(u32 base_rtt_us)
{
	return (u64)base_rtt_us * EFFECT_LOOK_ROUNDS + EFFECT_LOOK_US;
}

/* Does this window, near enough, fill the path by itself? */
static bool effect_is_most(const struct effect *e, u32 fit, u32 base_rtt_us)
{
	return fit >= max_t(u64, EFFECT_SMALL_CWND,
			    effect_link_packets(e, base_rtt_us) / 2);
}

/**
 * effect_ask - contended: is it time to ask whether the queue is ours?
 * @e: the flow
 * @cwnd: congestion window, packets
 * @rtt_us: lowest RTT of the round
 * @base_rtt_us: lowest RTT known; 0: none
 * @now_us: clock
 *
 * A flow near best effort fills the buffer by itself, and no look at the queue tells
 * that nobody else is there. So now and then it holds its window, for two round trips, to
 * what fits the path without a queue: @ask_cwnd, while @asking. effect_round() has the
 * answer. A window that is the smaller part of the path's drains little, as far as the
 * path is known, and what is left of a short queue is short in any case.
 */
void effect_ask(struct effect *e, u32 cwnd, u32 rtt_us, u32 base_rtt_us,
		u64 now_us)
{
	u64 pause_us = max_t(u64, e->ask_us, (u64)EFFECT_ASK_PAUSE * base_rtt_us);
	u32 queue_us = effect_queue_us(rtt_us, base_rtt_us);
	u32 fit;

	if (e->state != EFFECT_CONTENDED || e->asking || !base_rtt_us ||
	    queue_us / EFFECT_LEFT < effect_shortest_us(base_rtt_us) ||
	    now_us - max(e->asked_us, e->since_us) < pause_us ||
	    now_us - e->came_us < effect_patience_us(e))
		return;
	fit = effect_fit(cwnd, base_rtt_us, rtt_us);
	if (!effect_is_most(e, fit, base_rtt_us))
		return;
	e->asking = EFFECT_ASK_ROUNDS;
	e->ask_cwnd = fit;
	e->ask_left_us = effect_left_us(rtt_us, base_rtt_us);
	e->asked_us = now_us;
}

/**
 * effect_round - a round has ended
 * @e: the flow
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
enum effect_verdict effect_round(struct effect *e, u32 rtt_us, u32 base_rtt_us,
				 u64 now_us)
{
	u32 queue_us = effect_queue_us(rtt_us, base_rtt_us);

	if (e->state == EFFECT_ALONE) {
		if (now_us - e->came_us >= EFFECT_OFTEN_US + EFFECT_SHORT_US)
			e->patient = false;
		e->lossy -= e->lossy > 0;
		e->regained -= e->regained > 0;
		effect_mean(e, queue_us);
		if (effect_more(e, rtt_us, base_rtt_us))
			return EFFECT_MORE;
		return e->before_us ? effect_judge(e, rtt_us, base_rtt_us,
						   now_us) : EFFECT_NONE;
	}

	e->rounds += e->rounds < U8_MAX;
	if (e->rounds == 1) {	/* packets from before we stood back */
		e->peak_us = queue_us;
		e->mean_us = queue_us;
		return EFFECT_NONE;
	}
	e->peak_us = max(e->peak_us, queue_us);
	if (e->asking && effect_answer(e, queue_us)) {
		effect_alone(e, now_us, EFFECT_TAKE);
		e->answered = true;
		return EFFECT_TAKE;
	}
	if (base_rtt_us && effect_still(e, rtt_us, base_rtt_us, now_us))
		return effect_alone(e, now_us, EFFECT_LONGER);
	if (e->state == EFFECT_CONTENDED &&
	    now_us - e->looked_us < effect_look_us(base_rtt_us))
		return EFFECT_NONE;
	e->looked_us = now_us;
	e->gone = (e->gone << 1) & (BIT(EFFECT_LOOKS) - 1);
	if (queue_us <= max(e->peak_us >> EFFECT_GONE_SHIFT,
			    effect_shortest_us(base_rtt_us)))
		e->gone |= 1;
	else
		e->busy_us = now_us;
	effect_mean(e, queue_us);

	if (e->state == EFFECT_YIELDING && e->gone) {
		e->resumes++;
		return effect_alone(e, now_us, EFFECT_RESUME);
	}
	if (hweight8(e->gone) >= EFFECT_LOOKS_GONE &&
	    now_us - e->busy_us >= effect_patience_us(e))
		return effect_alone(e, now_us, EFFECT_TAKE);
	if (e->state == EFFECT_CONTENDED && !(e->gone & 1) &&
	    e->mean_us <= effect_kin_us(base_rtt_us) &&
	    now_us - e->since_us >= e->try_us)
		return effect_alone(e, now_us, EFFECT_TRY);
	if (e->rounds >= EFFECT_YIELD_ROUNDS)
		e->state = EFFECT_CONTENDED;
	return EFFECT_NONE;
}
