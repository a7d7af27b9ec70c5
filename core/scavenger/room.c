// SPDX-License-Identifier: GPL-2.0-only
/*
 * Room for a newcomer.
 *
 * A queue that surges is a newcomer's in slow start, or packets that came late as the path, a
 * host or a radio stood still for a moment. We answer a surge that takes a good part of what is
 * ours, and a long one, by making room for twice the surge, which slow start sends next: without
 * room the newcomer leaves slow start early, and we hold the link. The next round tells
 * (regime.c): late packets have been delivered, the queue is gone, and the window comes back. A
 * newcomer's queue has grown. Where the ACKs were silent meanwhile, we know a stall at once
 * (stall.c).
 */
#include "core/scavenger/room.h"

/* The least growth of the queue in one round that is a surge, us: the base RTT shifted right
 * by @shift, within bounds. The lower bound is G for a surge and 2 G for slow start: at a base
 * RTT of 20 ms four packets of background were a surge without it.
 */
static u32 room_least_surge_us(u32 base_rtt_us, int shift)
{
	return clamp_t(u32, base_rtt_us >> shift,
		       QUEUE_ALONE_G_NS / 1000 << (ROOM_SURGE_SHIFT - shift),
		       ROOM_SURGE_MAX_US);
}

/**
 * room_surge_us - the growth of the queue in a round, where that is a surge
 * @rtt_us: lowest RTT of the round
 * @before_us: lowest RTT of the round before; 0: there was none
 * @base_rtt_us: lowest RTT known
 * @shift: the least surge is the base RTT shifted right by this, within bounds
 *
 * Return: us; 0: no surge.
 */
u32 room_surge_us(u32 rtt_us, u32 before_us, u32 base_rtt_us, int shift)
{
	u32 grown_us = queue_above_us(rtt_us, before_us);

	return grown_us && before_us && grown_us >= room_least_surge_us(base_rtt_us, shift) ?
	       grown_us : 0;
}

/* Where short flows keep coming, we make room for the burst that each begins with. */
static int room_shift(const struct regime *r)
{
	return r->short_flows_come ? ROOM_SURGE_SHIFT : ROOM_SLOW_START_SHIFT;
}

/* Do we answer this surge by making room? Not with a window smaller than a newcomer's first. */
static bool room_wanted(const struct regime *r, u32 cwnd, u32 surge_us,
			u32 base_rtt_us)
{
	return cwnd >= QUEUE_SMALL_CWND &&
	       surge_us >= room_least_surge_us(base_rtt_us, room_shift(r));
}

/**
 * room_cut - how deep to cut for a delay backoff
 * @r: the flow
 * @cwnd: congestion window, packets
 * @rtt_us: lowest RTT of the round
 * @base_rtt_us: lowest RTT known
 * @ssthresh: what CDG would cut to, C(5)
 *
 * We drain a queue of ours by cutting the part of the window that stands in it: a deeper cut
 * leaves the link idle, with a large window for seconds. For a newcomer in slow start we cut
 * twice its surge as well, which it sends next.
 *
 * Return: slow start threshold, packets, from half of @cwnd to @cwnd - 1, and at
 * least 2, never more for a longer queue. @ssthresh where we do not know that the queue is
 * ours: the flow is not alone, knows no base RTT, or this cut decides; or packets were lost lately
 * and the queue is too short to judge.
 */
u32 room_cut(struct regime *r, u32 cwnd, u32 rtt_us, u32 base_rtt_us,
	     u32 ssthresh)
{
	u32 queue_us = queue_above_us(rtt_us, base_rtt_us);
	bool stands = queue_stands(rtt_us, base_rtt_us);
	u32 surge_us = stands ? r->room.surge_us : 0;
	u32 room_us = 0, queue_before_us, kept;

	r->room.restore_cwnd = 0;
	r->room.provisional = false;
	r->room.packet_lost = false;
	r->room.surge_us = 0;
	if (r->state != REGIME_ALONE || r->cut.decides || !base_rtt_us ||
	    (r->lossy_rounds && !stands))
		return ssthresh;
	r->room.provisional = surge_us && (r->part.lost_surge_us ||
					   room_wanted(r, cwnd, surge_us, base_rtt_us));
	if (r->room.provisional) {
		room_us = surge_us;
		/* Our window grows by a packet per round, so the surge is not ours. The queue
		 * from before the surge may be, where it was long enough to tell: the window
		 * that we restore leaves that out.
		 */
		queue_before_us = queue_us - min(queue_us, surge_us);
		if (queue_before_us < QUEUE_SHORTEST_US)
			queue_before_us = 0;
		if (!r->room.restored_rounds || rtt_us <= r->room.restored_us)
			r->room.restore_cwnd = fp_mul_div(cwnd, base_rtt_us,
							  (u64)base_rtt_us + queue_before_us);
	}
	kept = queue_fit(cwnd, base_rtt_us,
			 (u64)base_rtt_us + queue_us + ROOM_SURGES * room_us);
	kept = min(kept, cwnd - 1);
	return max3(kept, cwnd / 2, 2U);
}

/**
 * room_urgent - must we back off now, whatever CDG's gradient says?
 * @r: the flow
 * @rtt_us: lowest RTT of the round
 * @before_us: lowest RTT of the round before; 0: there was none
 * @base_rtt_us: lowest RTT known; 0: none
 *
 * For a surge: our window grows by a packet per round, so a queue that grows by much more has a
 * newcomer in it, and CDG's gradient, a mean of eight rounds, is slow to tell. For a queue above
 * queue_scavengers_us(): scavengers that left a longer one would take each other for competitors
 * (regime_may_be_scavengers()). Sets room.surge_us for room_cut(): the larger of this round's
 * growth and part.lost_surge_us, that since the last round measured (after a cut we skip one); 0
 * until four rounds after slow start, whose surge is ours.
 *
 * Return: true to back off now; false unless REGIME_ALONE.
 */
bool room_urgent(struct regime *r, u32 rtt_us, u32 before_us, u32 base_rtt_us)
{
	u32 surge_us = room_surge_us(rtt_us, before_us, base_rtt_us, ROOM_SURGE_SHIFT);
	u32 queue_us = queue_above_us(rtt_us, base_rtt_us);

	r->room.surge_us = 0;
	if (r->state != REGIME_ALONE)
		return false;
	surge_us = max(surge_us, r->part.lost_surge_us);
	if (regime_steady(r))	/* else the surge is ours */
		r->room.surge_us = surge_us;
	return surge_us || (base_rtt_us && queue_us > queue_scavengers_us(base_rtt_us));
}

/**
 * room_begin_round - RTTs from here on belong to another round
 * @r: the flow
 */
void room_begin_round(struct regime *r)
{
	r->room.samples = 0;
}

/**
 * provisional_cut_under_test - is the cut under test a provisional one (room.provisional)?
 * @r: the flow
 */
bool provisional_cut_under_test(const struct regime *r)
{
	return cut_under_test(&r->cut) && r->room.provisional;
}

/**
 * room_sample - does this RTT complete a surge, so that the round ends at once?
 * @r: the flow
 * @rtt_us: an RTT, above 0
 * @packets: that its ACK covers
 * @before_us: lowest RTT of the round before; 0: there was none
 * @base_rtt_us: lowest RTT known
 * @cwnd: congestion window, packets
 *
 * A newcomer's first packets may arrive just after a round has begun, and then the lowest RTT of
 * that round does not show them. Of the newcomer's four or five round trips in slow start we
 * would lose two; and our own slow start must not go on for another. Where we made room, a queue
 * as long as before tells as well: somebody has taken it. We do not hurry where the window is too
 * small to make room, or where the round is to judge another cut.
 *
 * Return: true to end the round here, with the lowest RTT room.sampled_us.
 */
bool room_sample(struct regime *r, u32 rtt_us, u32 packets, u32 before_us,
		 u32 base_rtt_us, u32 cwnd)
{
	bool tells;

	if (r->state != REGIME_ALONE || cwnd < QUEUE_SMALL_CWND ||
	    (cut_under_test(&r->cut) && !r->room.provisional))
		return false;
	tells = provisional_cut_under_test(r) ? rtt_us >= r->cut.before_us :
		room_surge_us(rtt_us, before_us, base_rtt_us,
			      room_shift(r)) > 0;
	if (!tells) {
		r->room.samples = 0;
		return false;
	}
	if (!r->room.samples) {
		r->room.sampled_us = U32_MAX;
		r->room.packets = 0;
	}
	r->room.sampled_us = min(r->room.sampled_us, rtt_us);
	r->room.packets += min(packets, U32_MAX - r->room.packets);
	r->room.samples += r->room.samples < U8_MAX;
	return r->room.samples >= ROOM_SAMPLES &&
	       r->room.packets >= cwnd / ROOM_SAMPLES_PART;
}
