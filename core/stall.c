// SPDX-License-Identifier: GPL-2.0-only
/*
 * The path stands still for a moment.
 *
 * A host that is not scheduled, a radio, a router's processor: the ACKs are silent, then what was
 * late comes at once. We know it by the silence, and do not take it for a queue. But where the
 * processor of a host or a router is the bottleneck, others' packets have no queue before ours:
 * each competitor has the processor for a while, and we have it in between. To us the path stands
 * still then, for more than half of the time.
 */
#include "room.h"
#include "stall.h"

/**
 * stall_silence - the ACKs were silent for long: did the path stand still?
 * @st: the flow's
 * @rtt_us: the RTT of the ACK that ends the silence, above 0
 * @silence_us: since the ACK before, see stall_silent()
 * @before_us: lowest RTT of the round before, or the base RTT; 0: none is known
 * @base_rtt_us: lowest RTT known
 * @now_us: clock; may wrap
 *
 * To be asked while REGIME_ALONE, and of a window that is in use.
 */
void stall_silence(struct stall *st, u32 rtt_us, u32 silence_us, u32 before_us, u32 base_rtt_us,
		   u32 now_us)
{
	u32 surge_us = room_surge_us(rtt_us, before_us, base_rtt_us, ROOM_SURGE_SHIFT);
	u64 apart_us = (u64)base_rtt_us * STALL_APART_RTTS;
	u32 since_us = now_us - st->stood_us;
	s32 off_q16;

	if (!surge_us || silence_us < surge_us / STALL_LATE_PART || since_us < apart_us)
		return;
	st->stood_us = now_us;
	if (since_us < silence_us + apart_us)	/* clumps */
		return;
	off_q16 = (s32)fp_ratio_q16(silence_us, since_us) - st->part_q16;
	st->part_q16 += off_q16 / STALL_MEAN;
}

/**
 * stall_others - does the path stand still so often that others have it?
 * @st: the flow's
 *
 * For more than half of the time. Then we forget it, as we are going to yield.
 */
bool stall_others(struct stall *st)
{
	if (st->part_q16 <= Q16_ONE / 2)
		return false;
	st->part_q16 = 0;
	return true;
}
