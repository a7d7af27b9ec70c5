/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The path stands still for a moment: what is late then is no queue, unless it happens for more
 * than half of the time.
 */
#ifndef DALBE_STALL_H
#define DALBE_STALL_H

#include "core/scavenger/queue.h"

/* Where no ACK has come for as long as the link takes for 28 packets, the path stood still. A
 * newcomer's second window of twenty falls into the gap that its first ten have left in ours, and
 * ACKs are late by four or so for the background. Half, 14: that second window passes for a stall,
 * and a newcomer at 10 Mbit/s and 100 ms waits for 19 round trips instead of 12. Twice: a stall of
 * 50 ms at 10 Mbit/s costs half a window for a round trip, and the link two fifths of its use.
 */
#define STALL_PACKETS		28

/* The queue drains while the path stands still, so the silence is shorter than what the RTT has
 * grown by: half of it will do. With half of that a queue of three times the silence passes
 * unseen; with twice, a flow with a queue of its own knows no stall.
 */
#define STALL_LATE_PART		2

/* The shortest silence, us, that can be a stall: half of the least surge, which is G. Given by
 * these two; at most ACKs this comparison is all that stall_silence_is_long() has to do.
 */
#define STALL_LEAST_US		(QUEUE_ALONE_G_NS / 1000 / STALL_LATE_PART)

/* A path that is silent every few rounds sends in clumps, and there a silence says nothing: once in
 * eight base RTTs, CDG's window, counts. Half: a quarter of the rounds is not looked at. Twice: of
 * two stalls in a row the second costs room.
 */
#define STALL_APART_RTTS	8

/* The part of the time for which the path stands still is a mean of eight stalls or so, CDG's
 * window. Half: two long stalls of a host make others of it. Twice: where the processor is the
 * bottleneck we share it for half a second before we yield.
 */
#define STALL_MEAN		8

/* After a second without one the mean begins anew: a host that has others to serve has them at
 * once, every few tens of ms. Half: competitors with long time slices are not seen. Twice: stalls
 * of different causes add up.
 */
#define STALL_FORGET_US		1000000

/**
 * struct stall - moments in which the path stood still
 * @ended_us: when the last one ended, TCP's clock modulo 2^32
 * @stood_part_q16: the part of the time that they take, a mean, 0 .. 1 in Q16
 * @seen: since then an RTT has counted
 */
struct stall {
	u32 ended_us;
	u16 stood_part_q16;
	bool seen;
};

void stall_start(struct stall *st, u32 now_us);
void stall_judge_silence(struct stall *st, u32 rtt_us, u32 silence_us, u32 before_us,
			 u32 base_rtt_us, u32 now_us);
bool stall_by_others(struct stall *st);

/**
 * stall_silence_is_long - has there been no ACK for longer than others' packets explain?
 * @silence_us: since the last ACK
 * @cwnd: congestion window, packets, which is in use
 * @before_us: lowest RTT of the round before, or the base RTT
 * @steady: see regime_steady()
 *
 * No more than a newcomer's first or second window passes between two packets of ours. In slow
 * start, and just after it, our own window leaves at a time, and then there is no ACK for most of
 * a round trip: two tell.
 */
static inline bool stall_silence_is_long(u32 silence_us, u32 cwnd, u32 before_us, bool steady)
{
	return silence_us >= STALL_LEAST_US &&
	       (u64)silence_us * cwnd >=
	       (u64)before_us * (steady ? STALL_PACKETS : max_t(u32, STALL_PACKETS, 2 * cwnd));
}

/**
 * stall_during_rtt - did the path stand still while the packet of this RTT was under way?
 * @st: the flow's
 * @rtt_us: the RTT, above 0
 * @now_us: clock; may wrap, and then an RTT may be left out for nothing
 *
 * Then the time by which the packet is late is no queue: room for it would leave the link idle. If
 * it was a newcomer's queue after all, the packets that we send later meet it as well, one round
 * trip later.
 *
 * Return: true if so, and the RTT says nothing of a queue.
 */
static inline bool stall_during_rtt(const struct stall *st, u32 rtt_us, u32 now_us)
{
	return now_us - st->ended_us < rtt_us;
}

#endif /* DALBE_STALL_H */
