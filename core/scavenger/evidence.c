// SPDX-License-Identifier: GPL-2.0-only
/*
 * The evidence that cuts and rounds give of competitors.
 *
 * The window of a bottleneck's flows is its BDP and its queue. A cut of ours by
 * dW packets shortens the queue by dW packets, whoever the rest belongs to; and
 * if all of it were ours, W = W_all, the drain would be
 *
 *	dW / C = dW / W * (base RTT + queue),	at most the queue.
 *
 * The drain that we measure, as a part of this, is our part of all packets under way.
 * Scavengers answer the same gradients and cut as well before long, and then more is
 * drained than ours; a loss-based flow takes what we gave up.
 *
 * Our part of the link is what we deliver while a queue stands.
 */
#include "core/scavenger/evidence.h"
#include "core/scavenger/room.h"

/**
 * evidence_test_cut - begin the test of a cut: how much does it drain if the queue is ours?
 * @r: the flow
 * @cwnd: window before, packets
 * @ssthresh: and after
 * @rtt_us: lowest RTT of the round before
 * @base_rtt_us: lowest RTT known; 0: none
 *
 * A test that has not ended is given up for this one. A cut that cannot show anything (too
 * short a queue, no base RTT, not REGIME_ALONE) is no test, and the next does not decide.
 */
void evidence_test_cut(struct regime *r, u32 cwnd, u32 ssthresh, u32 rtt_us,
		       u32 base_rtt_us)
{
	u32 queue_us = queue_above_us(rtt_us, base_rtt_us);

	r->cut.before_us = 0;
	if (r->state != REGIME_ALONE || !base_rtt_us ||
	    !queue_stands(rtt_us, base_rtt_us)) {
		r->cut.decides = false;
		return;
	}
	r->cut.before_us = rtt_us;
	if (ssthresh < cwnd) {
		r->cut.expected_us = min_t(u64, queue_us,
					   fp_mul_div(rtt_us, cwnd - ssthresh, cwnd));
		return;
	}
	/* A window of two packets: no second cut, this one decides, by whether the others drain the
	 * queue.
	 */
	r->cut.expected_us = queue_us;
	r->cut.decides = true;
}

/**
 * evidence_kept_q16 - a window after a cut for delay, with the part of a packet that it keeps
 * @r: the flow
 * @window_q16: before, packets
 * @ssthresh: the cut, whole packets
 * @rtt_us: lowest RTT of the round
 * @base_rtt_us: lowest RTT known; 0: none, and nothing is added to @ssthresh
 *
 * Whole packets are no proportion of a small window: flows of eight packets and of sixteen would
 * lose one each, and never come to share a link. A flow that shares with nobody gives up the whole
 * packet, which would wait in the queue half of the time; so does a large window, to see the base
 * RTT. Where the cut was deeper than the queue, for a newcomer or to decide whose it is, B begins
 * just below the next packet.
 *
 * Return: packets in Q16, less than one more than @ssthresh.
 */
u64 evidence_kept_q16(const struct regime *r, u64 window_q16, u32 ssthresh, u32 rtt_us,
		      u32 base_rtt_us)
{
	u64 whole_q16 = (u64)ssthresh << 16;

	if (!base_rtt_us || window_q16 >= (u64)QUEUE_LARGE_CWND << 16 ||
	    r->cut.alone == EVIDENCE_ALONE_CUTS)
		return whole_q16;
	return clamp_t(u64, fp_mul_div(window_q16, base_rtt_us, max(rtt_us, base_rtt_us)),
		       whole_q16, whole_q16 + Q16_ONE - 1);
}

/**
 * evidence_forget - void the measurements so far
 * @r: the flow
 *
 * After a pause, a timeout, an undone cut or a change of regime we cannot judge the cut under test,
 * nor do we know our part of the link. We do not take back what a provisional cut gave up, as no
 * test says that nobody has taken it.
 */
void evidence_forget(struct regime *r)
{
	r->cut.before_us = 0;
	r->cut.decides = false;
	r->part.ours_pps_q16 = 0;
	r->part.last_rtt_us = 0;
	r->slow_start.rounds_since = 0;
	r->room.restored_rounds = 0;
	r->room.restore_cwnd = 0;
	r->slow_start.may_grow_on = false;
	r->probe.rounds = 0;
}

/**
 * evidence_skip_round - in this round there was too little to send, or TCP repaired a loss
 * @r: the flow
 *
 * Such a round tells nothing of our part of the link, of the owner of the queue, or of the
 * rate of the link: we look for these in later rounds.
 */
void evidence_skip_round(struct regime *r)
{
	r->part.last_rtt_us = 0;
	r->part.lost_surge_us = 0;
	r->probe.rounds = 0;
	if (r->slow_start.may_grow_on)
		r->slow_start.rounds_since = 0;
}

/**
 * evidence_loss - a packet was lost, or marked
 * @r: the flow
 *
 * After a provisional cut a newcomer has caused the loss. And a queue that loses
 * packets is a queue, however still it stands: the path is not longer.
 */
void evidence_loss(struct regime *r)
{
	r->lossy_rounds = EVIDENCE_LOSS_ROUNDS;
	r->plateau.periods = 0;
	r->probe.rounds = 0;
	r->slow_start.may_grow_on = false;
	if (provisional_cut_under_test(r))
		r->room.packet_lost = true;
}

/**
 * evidence_timeout - TCP repairs a loss by slow start
 * @r: the flow
 */
void evidence_timeout(struct regime *r)
{
	evidence_loss(r);
	evidence_forget(r);
}

/**
 * evidence_undo_loss - the last loss was spurious
 * @r: the flow
 * @lossy: regime.lossy_rounds before it
 */
void evidence_undo_loss(struct regime *r, u8 lossy)
{
	evidence_forget(r);
	r->lossy_rounds = lossy;
}

/**
 * evidence_test_loss_cut - begin the test of a cut for a loss, as evidence_test_cut()
 * @r: the flow
 * @cwnd: window before, packets
 * @ssthresh: and after
 * @rtt_us: lowest RTT of the round before
 * @base_rtt_us: lowest RTT known; 0: none
 *
 * Notes the loss first, as evidence_loss() does. We test the cut as any other, unless a test of
 * a provisional cut is under way.
 */
void evidence_test_loss_cut(struct regime *r, u32 cwnd, u32 ssthresh, u32 rtt_us,
			    u32 base_rtt_us)
{
	evidence_loss(r);
	if (provisional_cut_under_test(r))
		return;
	r->room.restore_cwnd = 0;
	r->room.provisional = false;
	evidence_test_cut(r, cwnd, ssthresh, rtt_us, base_rtt_us);
}

/* Was so much less delivered in this round that it is no noise? */
static bool evidence_part_lost(const struct regime *r, u64 rate_q16,
			       u64 elapsed_us)
{
	u64 lost_q16 = r->part.ours_pps_q16 - min(r->part.ours_pps_q16, rate_q16);

	return lost_q16 >= r->part.ours_pps_q16 / EVIDENCE_PART_LOST &&
	       fp_mul_div(lost_q16, elapsed_us, USEC_PER_SEC) >> 16 >=
	       EVIDENCE_PART_PACKETS;
}

/**
 * evidence_measure_part - a round has ended: what is our part of the link, and did we lose some?
 * @r: the flow
 * @packets: delivered in this round
 * @elapsed_us: its duration
 * @rtt_us: its lowest RTT
 * @base_rtt_us: lowest RTT known
 *
 * A link with a queue is busy: packets that it carries no more for us it carries for others,
 * whatever we cut. Scavengers shift their parts among themselves in the short queue that they
 * leave. In a longer queue, or one that loses packets, a newcomer has taken our part, or the
 * path stood still; a single round does not tell which.
 *
 * Sets part.lost_surge_us; and where a queue stands and nothing was lost, keeps ours_pps_q16, a
 * mean, and link_pps_q16, the most that it was.
 *
 * To be called before regime_round(), and not for a round with too little to send.
 */
void evidence_measure_part(struct regime *r, u32 packets, u64 elapsed_us, u32 rtt_us,
			   u32 base_rtt_us)
{
	u32 queue_us = queue_above_us(rtt_us, base_rtt_us);
	u32 surge_us = room_surge_us(rtt_us, r->part.last_rtt_us, base_rtt_us, ROOM_SURGE_SHIFT);
	u64 rate_q16;

	r->part.last_rtt_us = rtt_us;
	r->part.lost_surge_us = 0;
	if (r->state != REGIME_ALONE || !base_rtt_us || !elapsed_us ||
	    !queue_stands(rtt_us, base_rtt_us))
		return;
	rate_q16 = min_t(u64, S64_MAX, fp_mul_div((u64)packets << 16,
						  USEC_PER_SEC, elapsed_us));
	if (surge_us && (queue_us > queue_scavengers_us(base_rtt_us) || r->lossy_rounds) &&
	    evidence_part_lost(r, rate_q16, elapsed_us)) {
		r->part.lost_surge_us = surge_us;
		return;
	}
	if (r->part.ours_pps_q16) {
		rate_q16 = r->part.ours_pps_q16 + (((s64)rate_q16 - (s64)r->part.ours_pps_q16) >>
						   EVIDENCE_PART_SHIFT);
		r->part.link_pps_q16 = max(r->part.link_pps_q16, rate_q16);
	} else {
		/* others may have been there, if by guess: we measured our part, not the link */
		r->part.link_pps_q16 = max(r->alone_by_guess ? r->part.link_pps_q16 :
							       r->part.link_pps_q16 / 2, rate_q16);
	}
	r->part.ours_pps_q16 = rate_q16;
}

/**
 * evidence_least_windows_us - the queue of scavengers that cannot cut their windows
 * @r: the flow
 *
 * On a slow link the least windows, two packets each, are more than the path holds.
 *
 * Return: us; 0 where a packet's time is not known, see sender_packet_us().
 */
u32 evidence_least_windows_us(const struct regime *r)
{
	return min(r->packet_us * EVIDENCE_LEAST_PACKETS, EVIDENCE_LEAST_WINDOWS_US);
}

/**
 * evidence_link_packets - what the link carries in so much time, as far as it is known
 * @r: the flow
 * @us: the time
 *
 * Return: packets; 0 where it is not known.
 */
u64 evidence_link_packets(const struct regime *r, u64 us)
{
	return fp_mul_div(r->part.link_pps_q16, us, USEC_PER_SEC) >> 16;
}

/**
 * evidence_slow_start_limit - we take a free link: how far may slow start go?
 * @r: the flow
 * @base_rtt_us: lowest RTT known; 0: none
 *
 * Slow start learns a round trip late that a link is full, and has sent twice as much by then: the
 * buffer overflows, for others as well. So it ends at what the link last carried in the base RTT
 * and twice the shortest queue. Sets slow_start.may_grow_on: if no queue shows then, it goes on.
 *
 * Return: ssthresh, packets, 2 or more; U32_MAX where the link's rate is not known.
 */
u32 evidence_slow_start_limit(struct regime *r, u32 base_rtt_us)
{
	u64 full_us = (u64)base_rtt_us + 2 * queue_shortest_us(base_rtt_us);

	r->slow_start.may_grow_on = true;
	if (!r->part.link_pps_q16 || !base_rtt_us)
		return U32_MAX;
	return clamp_t(u64, evidence_link_packets(r, full_us), 2, U32_MAX);
}

/**
 * evidence_slow_start_too_short - did slow start end too early?
 * @r: the flow
 * @rtt_us: lowest RTT of the round
 * @base_rtt_us: lowest RTT known
 *
 * Where all of the window has been in use since and no queue shows, the link carries more.
 */
bool evidence_slow_start_too_short(struct regime *r, u32 rtt_us, u32 base_rtt_us)
{
	if (!r->slow_start.may_grow_on || !regime_steady(r))
		return false;
	r->slow_start.may_grow_on = !queue_stands(rtt_us, base_rtt_us);
	if (r->slow_start.may_grow_on)
		r->slow_start.rounds_since = 0;
	return r->slow_start.may_grow_on;
}

/**
 * evidence_plateau - does the queue stand so still that it is a longer path?
 * @r: the flow
 * @rtt_us: lowest RTT of the round
 * @base_rtt_us: lowest RTT known
 * @now_us: clock
 *
 * We compare the lowest RTTs of periods. A quarter of the rounds must be as low: a few CUBIC flows'
 * queue comes down to one length after each loss, but does not stay there. Very many flows' queue
 * hardly moves, but then we lose packets, and evidence_loss() counts the periods anew.
 * Return: true after EVIDENCE_PLATEAU periods alike: the base RTT is plateau.rtt_us.
 */
bool evidence_plateau(struct regime *r, u32 rtt_us, u32 base_rtt_us,
		      u64 now_us)
{
	u64 period_us = max_t(u64, EVIDENCE_PLATEAU_US,
			      (u64)EVIDENCE_PLATEAU_RTTS * base_rtt_us);
	struct plateau *p = &r->plateau;
	u32 least_us = min(p->least_us, rtt_us);
	u32 off_us = max(least_us, p->rtt_us) - min(least_us, p->rtt_us);
	u32 near_us = max_t(u32, EVIDENCE_PLATEAU_MIN_US,
			    queue_above_us(least_us, base_rtt_us) >>
			    EVIDENCE_PLATEAU_SHIFT);
	bool moves;

	if (p->least_us - least_us > near_us)
		p->near_score = 0;
	p->near_score = clamp_t(s32, p->near_score + (rtt_us - least_us <= near_us ?
					  EVIDENCE_PLATEAU_NEAR - 1 : -1), S16_MIN, S16_MAX);
	p->least_us = least_us;
	if ((u32)now_us - p->since_us < period_us)
		return false;
	moves = off_us > near_us || p->near_score < 0 || !queue_stands(least_us, base_rtt_us);
	p->since_us = now_us;
	p->least_us = U32_MAX;
	if (moves) {
		p->rtt_us = least_us;
		p->periods = 0;
	}
	return ++p->periods >= EVIDENCE_PLATEAU;
}
