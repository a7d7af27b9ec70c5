// SPDX-License-Identifier: GPL-2.0-only
/*
 * The path stands still for a moment.
 *
 * A host that is not scheduled, a radio, a router's processor: the ACKs are silent, then what was
 * late comes at once. We know it by the silence, and do not take it for a queue. But where the
 * processor of a host or a router is the bottleneck, others' packets have no queue before ours:
 * each competitor has the processor for a while, and we have it in between. To us the path stands
 * still then, for more than half of the time. We cannot tell it from a path that stands still so
 * often by itself, as that of a container with a small part of a processor; there we have w of it.
 */
#include "core/scavenger/room.h"
#include "core/scavenger/stall.h"

/**
 * stall_start - none is known
 * @st: the flow's
 * @now_us: clock; may wrap
 */
void stall_start(struct stall *st, u32 now_us)
{
	*st = (struct stall) { .ended_us = now_us - U32_MAX / 2 };
}

/**
 * stall_judge_silence - the ACKs were silent for long: did the path stand still?
 * @st: the flow's
 * @rtt_us: the RTT of the ACK that ends the silence, above 0
 * @silence_us: since the ACK before, see stall_silence_is_long()
 * @before_us: lowest RTT of the round before, or the base RTT; 0: none is known
 * @base_rtt_us: lowest RTT known
 * @now_us: clock; may wrap
 *
 * To be asked while REGIME_ALONE, and of a window that is in use. Of two silences without an RTT
 * that counts in between, the second is no stall: else we would be blind to a queue.
 */
void stall_judge_silence(struct stall *st, u32 rtt_us, u32 silence_us, u32 before_us,
			 u32 base_rtt_us, u32 now_us)
{
	u32 surge_us = room_surge_us(rtt_us, before_us, base_rtt_us, ROOM_SURGE_SHIFT);
	u64 apart_us = (u64)base_rtt_us * STALL_APART_RTTS;
	u32 since_us = now_us - st->ended_us;
	s32 off_q16;

	if (!st->seen || since_us < apart_us || !surge_us ||
	    silence_us < surge_us / STALL_LATE_PART)
		return;
	st->ended_us = now_us;
	st->seen = false;
	if (since_us < silence_us + apart_us)	/* clumps */
		return;
	if (since_us - silence_us >= STALL_FORGET_US)
		st->stood_part_q16 = 0;
	off_q16 = (s32)fp_ratio_q16(silence_us, since_us) - st->stood_part_q16;
	st->stood_part_q16 += off_q16 / STALL_MEAN;
}

/**
 * stall_by_others - does the path stand still so often that others have it?
 * @st: the flow's
 *
 * For more than half of the time. Then we forget it, as we are going to yield.
 */
bool stall_by_others(struct stall *st)
{
	if (st->stood_part_q16 <= Q16_ONE / 2)
		return false;
	st->stood_part_q16 = 0;
	return true;
}
