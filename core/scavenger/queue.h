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

/* A queue below 1/16 of the base RTT, or 1 ms (two packets at 20 Mbit/s), is too short to judge
 * by. A competitor that fills a buffer keeps more than that whatever we do; a flow alone has less
 * at each backoff. With half of it the noise of end systems passes for a queue; with twice,
 * competitors in short buffers pass for nobody.
 */
#define QUEUE_SHORTEST_SHIFT	6
#define QUEUE_SHORTEST_US	1000

/* The longest queue that scavengers leave among themselves: a quarter of the base RTT, as CUBIC's
 * in a short buffer is longer, and at least 3 ms, as jitter may be no queue, and at most 4 G, which
 * they exceed once in fifty backoffs, exp(-4).
 * With half of the least jitter of 2 ms leaves short paths idle. With twice CUBIC at 1 Gbit/s,
 * 10 ms and half a BDP of buffer loses a third of the link to us, and of four scavengers at
 * 100 Mbit/s, 5 ms one starves. With half of the quarter, or of the most, scavengers take each
 * other for competitors; with twice, a competitor in a short buffer passes for a scavenger.
 */
#define QUEUE_SCAVENGERS_LEAST_US	3000
#define QUEUE_SCAVENGERS_MOST_US	(4 * QUEUE_ALONE_G_NS / 1000)
#define QUEUE_SCAVENGERS_SHIFT		2

/* A queue of which no more than a quarter is left was ours, or nobody's. With half of it
 * two stalls in a row passed for a newcomer on a path of 0.5 ms (11 ms of queue, then 1.5). With
 * twice competitors whose loss empties a part of the buffer pass for nobody; a newcomer, whose
 * queue has grown, does not.
 */
#define QUEUE_LEFT_PART		4

/* Fewer packets than an initial window (RFC 6928): a packet is a good part of such a window, and
 * it is too small to make room for a newcomer. Half: flows make room that is of no use. Twice:
 * flows on slow links do not make room that is.
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
 * queue_scavengers_us - the longest queue that scavengers leave among themselves on a fast link
 * @base_rtt_us: lowest RTT known
 *
 * Each drains a longer one (room_urgent()), and takes one that is as short on average for other
 * scavengers' (regime_judge_cut()), whatever their number. On a slow link they leave more:
 * evidence_least_windows_us().
 *
 * Return: us.
 */
static inline u32 queue_scavengers_us(u32 base_rtt_us)
{
	return clamp_t(u32, base_rtt_us >> QUEUE_SCAVENGERS_SHIFT,
		       QUEUE_SCAVENGERS_LEAST_US, QUEUE_SCAVENGERS_MOST_US);
}

/**
 * queue_stands - is there a queue long enough to judge by?
 * @rtt_us: lowest RTT of a round
 * @base_rtt_us: lowest RTT known
 */
static inline bool queue_stands(u32 rtt_us, u32 base_rtt_us)
{
	return queue_above_us(rtt_us, base_rtt_us) >=
	       queue_shortest_us(base_rtt_us);
}

/**
 * queue_left_us - the queue that may be left where one of ours, or nobody's, has gone
 * @rtt_us: lowest RTT before
 * @base_rtt_us: lowest RTT known
 *
 * Return: us.
 */
static inline u32 queue_left_us(u32 rtt_us, u32 base_rtt_us)
{
	return max(queue_above_us(rtt_us, base_rtt_us) / QUEUE_LEFT_PART,
		   queue_shortest_us(base_rtt_us));
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
