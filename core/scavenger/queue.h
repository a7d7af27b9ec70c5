/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long a queue is, and whether it is long enough to judge by. The queue is the excess of a
 * round's lowest RTT over the base RTT.
 */
#ifndef DALBE_QUEUE_H
#define DALBE_QUEUE_H

#include "core/fixed.h"

/* CDG's G of a scavenger that is alone: the queue of one flow is about G on average. With 4 ms
 * two flows use 98 % of the standard cell's idle link with 7 ms of queue. Half of it leaves more
 * of the link idle; twice keeps twice the queue, and a newcomer's surge has to be longer to be
 * told from it.
 */
#define QUEUE_ALONE_G_NS	4000000

/* A queue below 1/64 of the base RTT, or 2.5 ms, is too short to judge by. TCP's timestamps tell a
 * queue on the way there within two of their ticks of a millisecond. CoDel keeps 5 ms, which has
 * to show on paths of 100 ms and more. With half of it a queue of the ACKs passes for one of
 * others (20 Mbit/s, 50 ms, a CUBIC flow the other way: 58 instead of 88 % used). With twice we
 * take the path again and again behind CoDel at 100 ms (1/16: a share of 32 %).
 */
#define QUEUE_SHORTEST_SHIFT	6
#define QUEUE_SHORTEST_US	2500

/* The longest queue that we leave while alone: a quarter of the base RTT, at least 3 ms, as jitter
 * may be no queue, and at most 4 G, which CDG's cuts exceed once in fifty, exp(-4). We make room
 * for a longer one at once: a newcomer's slow start grows faster than CDG's gradient. Half: jitter
 * of 2 ms leaves short paths idle. Twice: a newcomer in a short buffer loses packets first.
 */
#define QUEUE_SCAVENGERS_LEAST_US	3000
#define QUEUE_SCAVENGERS_MOST_US	(4 * QUEUE_ALONE_G_NS / 1000)
#define QUEUE_SCAVENGERS_SHIFT		2

/* Fewer packets than an initial window (RFC 6928): a packet is a good part of such a window, which
 * we round to the nearest. Half: small windows lose a packet at each cut, and the largest of
 * several flows takes the path. Twice: middle windows keep a packet in the queue.
 */
#define QUEUE_SMALL_CWND	10

/* In a window of so many packets one more or less is no matter. Half: the link is left idle by a
 * twelfth after a backoff. Twice: middle windows keep a packet in the queue, and the base RTT
 * is not seen again.
 */
#define QUEUE_LARGE_CWND	24

/**
 * queue_above_us - the standing queue
 * @rtt_us: lowest RTT of a round
 * @base_rtt_us: lowest RTT known; 0: none, and all of @rtt_us counts as queue
 *
 * Return: what @rtt_us exceeds @base_rtt_us by, us; 0 below it.
 */
static inline u32 queue_above_us(u32 rtt_us, u32 base_rtt_us)
{
	return rtt_us > base_rtt_us ? rtt_us - base_rtt_us : 0;
}

/**
 * queue_shortest_us - the shortest queue that we judge by
 * @base_rtt_us: lowest RTT known
 *
 * Return: us, QUEUE_SHORTEST_US at least.
 */
static inline u32 queue_shortest_us(u32 base_rtt_us)
{
	return max_t(u32, base_rtt_us >> QUEUE_SHORTEST_SHIFT,
		     QUEUE_SHORTEST_US);
}

/**
 * queue_scavengers_us - the longest queue that we leave while alone
 * @base_rtt_us: lowest RTT known
 *
 * Return: us.
 */
static inline u32 queue_scavengers_us(u32 base_rtt_us)
{
	return clamp_t(u32, base_rtt_us >> QUEUE_SCAVENGERS_SHIFT,
		       QUEUE_SCAVENGERS_LEAST_US, QUEUE_SCAVENGERS_MOST_US);
}

/**
 * queue_fit - the part of a window that fits a path without a queue
 * @cwnd: congestion window, packets
 * @base_rtt_us: lowest RTT known
 * @rtt_us: RTT at that window
 *
 * We round a window below QUEUE_SMALL_CWND to the nearest packet, as one is a good part of it. From
 * QUEUE_LARGE_CWND on we take one packet less, which costs little and shows the base RTT again.
 *
 * Return: packets; may be 0.
 */
static inline u32 queue_fit(u32 cwnd, u32 base_rtt_us, u64 rtt_us)
{
	u32 fit;

	if (cwnd < QUEUE_SMALL_CWND)
		return (fp_mul_div(2 * cwnd, base_rtt_us, rtt_us) + 1) / 2;
	fit = fp_mul_div(cwnd, base_rtt_us, rtt_us);
	return fit && cwnd >= QUEUE_LARGE_CWND ? fit - 1 : fit;
}

#endif /* DALBE_QUEUE_H */
