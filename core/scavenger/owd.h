/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The RTT without the queue of the way back, from TCP's timestamps.
 *
 * Pure code: it knows no socket, and the clock is handed in. One caller at a
 * time per struct owd.
 *
 * Reference: RFC 7323, "TCP Extensions for High Performance".
 */
#ifndef DALBE_OWD_H
#define DALBE_OWD_H

#include "core/fixed.h"

/* The tick of a clock that is of use here, given by Linux, whose timestamps are milliseconds; and
 * the part by which such a clock may seem fast or slow, a quarter: others have ticks of 4 or 10 ms.
 * Half of that part: a clock has to be observed for longer. Twice: one of 2 ms nearly passes.
 */
#define OWD_TICK_US	1000
#define OWD_TICK_PART	4

/* A clock is observed for so long before it is of use: its ticks are known within 2 % then. At half
 * of it within 4 %, of the 25 that tell it from ticks of 4 and 10 ms; at twice, ACKs in clumps end
 * more slow starts (with 1 s, 100 Mbit/s, 20 ms, ACKs each 10 ms: 49 % of the link used in 14 s
 * instead of 73).
 */
#define OWD_PROVEN_US	100000

/* And it is never off by more than this, 1.2 hours: clocks are slewed by 0.5 ms per second at most,
 * for 97 days then. Timestamps wrap after 50 days, when a clock of other ticks may seem right for
 * 0.2 % of the time. At half of it for 0.1 %, but after 49 days of such slewing a good clock is of
 * no more use; at twice for 0.4 %.
 */
#define OWD_OFF_TICKS	4194304

/**
 * struct owd - one-way delays of one flow
 * @known: there was a sample
 * @base_ticks: least difference between the two clocks: that of a way there without a queue
 * @first_val: the peer's clock in the first sample, ticks
 * @first_us: our clock when that sample came
 */
struct owd {
	bool known;
	u32 base_ticks;
	u32 first_val;
	u64 first_us;
};

bool owd_clock_usable(const struct owd *o, u32 val, u64 now_us);

/* Our clock's ticks that the peer's is ahead by, where the packet that it answers took no time. */
static __always_inline u32 owd_ticks(u32 val, u64 now_us, u32 rtt_us)
{
	return val - (u32)div_u64(now_us - rtt_us, OWD_TICK_US);
}

/**
 * owd_acks_waited - is an RTT longer than the queue of the way there explains?
 * @o: the flow; all zero at first
 * @val: TSval of the ACK
 * @now_us: our clock at any offset, us; must not be turned back
 * @rtt_us: the sample, above 0
 * @base_rtt_us: lowest RTT known; 0: none
 *
 * Timestamps are whole milliseconds, so the queue is only known within two ticks. Told of an ACK
 * once more it answers the same.
 */
static __always_inline bool owd_acks_waited(struct owd *o, u32 val, u64 now_us, u32 rtt_us,
					    u32 base_rtt_us)
{
	u32 ticks = owd_ticks(val, now_us, rtt_us);

	if (!o->known) {
		o->known = true;
		o->first_val = val;
		o->first_us = now_us;
		o->base_ticks = ticks;
	}
	if (rtt_us <= (u64)base_rtt_us + OWD_TICK_US || (s32)(o->base_ticks - ticks) > 0)
		o->base_ticks = ticks;
	return rtt_us > base_rtt_us + (u64)(ticks - o->base_ticks + 2) * OWD_TICK_US;
}

/**
 * owd_rtt_us - an RTT sample, without the queue of the way back
 * @o: the flow; and all else as for owd_acks_waited()
 *
 * Where ACKs have waited the queue is what the timestamps say, less than a tick being none: else a
 * flow that is alone would give way to each clump of its own ACKs.
 *
 * Return: us, from the lesser of @rtt_us and @base_rtt_us up to @rtt_us; @rtt_us
 * where no base RTT is known, or the peer's clock is not known to be of use.
 */
static __always_inline u32 owd_rtt_us(struct owd *o, u32 val, u64 now_us, u32 rtt_us,
				      u32 base_rtt_us)
{
	u32 queue_ticks;

	if (!owd_acks_waited(o, val, now_us, rtt_us, base_rtt_us) || !base_rtt_us ||
	    !owd_clock_usable(o, val, now_us))
		return rtt_us;
	queue_ticks = owd_ticks(val, now_us, rtt_us) - o->base_ticks;
	return base_rtt_us + (u64)queue_ticks * OWD_TICK_US + OWD_TICK_US - 1;
}

#endif /* DALBE_OWD_H */
