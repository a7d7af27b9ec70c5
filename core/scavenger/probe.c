// SPDX-License-Identifier: GPL-2.0-only
/*
 * The probe: contended, and is the queue our own?
 *
 * A flow near best effort fills the buffer by itself, and no look at the queue tells that nobody
 * else is there. So now and then we hold our window, for two round trips, to what fits the path
 * without a queue. If the queue goes with it, it was ours.
 */
#include "core/scavenger/evidence.h"
#include "core/scavenger/probe.h"

/**
 * probe_double_pause - a probe told nothing, or was wrong: wait twice as long before the next
 * @r: the flow
 */
void probe_double_pause(struct regime *r)
{
	r->probe.pause_us = clamp_t(u32, 2 * r->probe.pause_us, PROBE_PAUSE_MIN_US,
				    PROBE_PAUSE_MAX_US);
}

/**
 * probe_reject_early - an RTT of a packet that was sent before the round under way began
 * @r: the flow
 * @rtt_us: the RTT
 * @base_rtt_us: lowest RTT known
 *
 * Packets sent before we held the window back already meet no queue: a competitor had a loss, and
 * the queue did not go with us. The probe tells nothing then, and ends.
 */
void probe_reject_early(struct regime *r, u32 rtt_us, u32 base_rtt_us)
{
	if (r->probe.rounds < PROBE_ROUNDS ||
	    queue_above_us(rtt_us, base_rtt_us) > r->probe.left_us)
		return;
	r->probe.rounds = 0;
	probe_double_pause(r);
}

/**
 * probe_found_ours - a round of the probe has ended: did the queue go with us?
 * @r: the flow, while probe.rounds is not 0
 * @queue_us: the round's queue
 *
 * Return: true at the end of the probe, if so.
 */
bool probe_found_ours(struct regime *r, u32 queue_us)
{
	if (--r->probe.rounds)
		return false;
	if (queue_us <= r->probe.left_us)
		return true;
	probe_double_pause(r);
	return false;
}

/* Does this window alone fill half of the path or more? */
static bool probe_fills_half_path(const struct regime *r, u32 fit, u32 base_rtt_us)
{
	return fit >= max_t(u64, QUEUE_SMALL_CWND,
			    evidence_link_packets(r, base_rtt_us) / 2);
}

/**
 * probe_begin - contended: begin a probe, if it is time and can tell anything
 * @r: the flow
 * @cwnd: congestion window, packets
 * @rtt_us: lowest RTT of the round
 * @base_rtt_us: lowest RTT known; 0: none
 * @now_us: clock
 *
 * While probe.rounds is not 0, for two round trips, the caller holds the window to probe.cwnd,
 * which fits the path without a queue; regime_round() has the answer. A window that is less than
 * half of what the link carries would drain too little to tell, and a queue that is short
 * already leaves a short one in any case.
 */
void probe_begin(struct regime *r, u32 cwnd, u32 rtt_us, u32 base_rtt_us,
		 u64 now_us)
{
	u64 pause_us = max_t(u64, r->probe.pause_us, (u64)PROBE_PAUSE_RTTS * base_rtt_us);
	u32 queue_us = queue_above_us(rtt_us, base_rtt_us);
	u32 fit;

	if (r->state != REGIME_CONTENDED || r->probe.rounds || !base_rtt_us ||
	    queue_us / QUEUE_LEFT_PART < queue_shortest_us(base_rtt_us) ||
	    now_us - max(r->probe.since_us, r->times.since_us) < pause_us)
		return;
	fit = queue_fit(cwnd, base_rtt_us, rtt_us);
	if (!probe_fills_half_path(r, fit, base_rtt_us))
		return;
	r->probe.rounds = PROBE_ROUNDS;
	r->probe.cwnd = fit;
	r->probe.left_us = queue_left_us(rtt_us, base_rtt_us);
	r->probe.since_us = now_us;
}
