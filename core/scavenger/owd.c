// SPDX-License-Identifier: GPL-2.0-only
/*
 * The RTT without the queue of the way back, from TCP's timestamps.
 *
 * An ACK carries the time at the receiver that it left, and its RTT says when the
 * packet left here: the difference is the one-way delay to the receiver, plus an offset
 * that is the same for all packets. As far as it is above its minimum, packets of ours have
 * waited in a queue; as far as the RTT is above its minimum, these or the ACKs have. The
 * echo that the ACK carries as well is of no use: it is in our route's unit, and of another
 * packet than the RTT where ACKs are delayed or data is missing.
 *
 * Clocks drift apart. The difference is set anew whenever the RTT is at its base,
 * when neither way has a queue. Until then a peer's clock that runs fast makes the
 * queue longer, and the RTT, which is never exceeded, is what counts, as it would
 * without all this; one that runs slow hides queue: 1.2 ms per minute at 20 us/s, and
 * 30 ms per minute at the 500 us/s by which a clock is slewed at most. So does one that
 * is set back.
 */
#include "core/scavenger/owd.h"

/**
 * owd_clock_usable - are the peer's timestamps milliseconds, within OWD_TICK_PART?
 * @o: the flow
 * @val: TSval of an ACK
 * @now_us: when it came
 */
bool owd_clock_usable(const struct owd *o, u32 val, u64 now_us)
{
	u64 ours_us = now_us - o->first_us, ticks = div_u64(ours_us, OWD_TICK_US);
	u32 ahead = val - o->first_val - (u32)ticks;	/* or behind: both wrap after 50 days */

	return ours_us >= OWD_PROVEN_US &&
	       min(ahead, -ahead) <= min_t(u64, ticks / OWD_TICK_PART, OWD_OFF_TICKS);
}
