// SPDX-License-Identifier: GPL-2.0-only
/*
 * The RTT without the queue of the way back, from TCP's timestamps.
 *
 * An ACK carries the time at the receiver that it left, and its RTT says when the
 * packet left here: the difference is the delay of the way there, plus an offset that
 * is the same for all. What it exceeds its least by is queue of ours; what the RTT
 * exceeds its least by may be queue of the ACKs. The echo that the ACK carries as well
 * is of no use: it is in our route's unit, and of another packet than the RTT where
 * ACKs are delayed or data is missing.
 *
 * Clocks drift apart. The difference is set anew whenever the RTT is at its base,
 * when neither way has a queue. Until then a peer's clock that runs fast makes the
 * queue longer, and the RTT, which is never exceeded, is what counts, as it would
 * without all this; one that runs slow hides queue: 1.2 ms per minute at 20 us/s, and
 * 30 ms per minute at the 500 us/s by which a clock is slewed at most. So does one that
 * is set back.
 */
#include "owd.h"

/* A peer whose timestamps are milliseconds, within OWD_TICK_PART. */
static bool owd_of_use(const struct owd *o, u32 val, u64 now_us)
{
	u64 ours_us = now_us - o->first_us;
	u64 theirs_us = (u64)(val - o->first_val) * OWD_TICK_US;

	return ours_us >= OWD_PROVEN_US && theirs_us >= ours_us - ours_us / OWD_TICK_PART &&
	       theirs_us <= ours_us + ours_us / OWD_TICK_PART;
}

/**
 * owd_rtt_us - an RTT sample, without the queue of the way back
 * @o: the flow; all zero at first
 * @val: TSval of the ACK
 * @now_us: our clock at any offset, us; must not be turned back
 * @rtt_us: the sample, above 0
 * @base_rtt_us: lowest RTT known; 0: none, and the sample is returned
 *
 * Timestamps are whole milliseconds, so the queue is only known within two ticks. Where the
 * RTT is longer than that explains, ACKs have waited, and the queue is what the timestamps
 * say, less than a tick being none: else a flow that is alone would give way to each clump
 * of its own ACKs.
 *
 * Return: us, from the lesser of @rtt_us and @base_rtt_us up to @rtt_us; @rtt_us
 * where the peer's clock is not known to be of use.
 */
u32 owd_rtt_us(struct owd *o, u32 val, u64 now_us, u32 rtt_us, u32 base_rtt_us)
{
	u32 ticks = val - (u32)div_u64(now_us - rtt_us, OWD_TICK_US);
	u64 queue_us;

	if (!o->known) {
		o->known = true;
		o->first_val = val;
		o->first_us = now_us;
		o->base_ticks = ticks;
	}
	if ((s32)(o->base_ticks - ticks) > 0 ||
	    rtt_us <= (u64)base_rtt_us + OWD_TICK_US)
		o->base_ticks = ticks;
	if (!base_rtt_us || !owd_of_use(o, val, now_us))
		return rtt_us;
	queue_us = (u64)(ticks - o->base_ticks) * OWD_TICK_US;
	if (rtt_us <= base_rtt_us + queue_us + 2 * OWD_TICK_US)
		return rtt_us;
	return base_rtt_us + queue_us + OWD_TICK_US - 1;
}
