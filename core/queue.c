// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long a queue is, and whether it is long enough to judge by; see regime.c.
 */
#include "queue.h"

/**
 * queue_above_us - the standing queue
 * @rtt_us: lowest RTT of a round
 * @base_rtt_us: lowest RTT known; 0: none, and all of @rtt_us counts as queue
 *
 * Return: what @rtt_us exceeds @base_rtt_us by, us; 0 below it.
 */
u32 queue_above_us(u32 rtt_us, u32 base_rtt_us)
{
	return rtt_us > base_rtt_us ? rtt_us - base_rtt_us : 0;
}

/**
 * queue_shortest_us - the shortest queue that we judge by
 * @base_rtt_us: lowest RTT known
 *
 * Return: us, QUEUE_SHORTEST_US at least.
 */
u32 queue_shortest_us(u32 base_rtt_us)
{
	return max_t(u32, base_rtt_us >> QUEUE_SHORTEST_SHIFT,
		     QUEUE_SHORTEST_US);
}

/**
 * queue_scavengers_us - the longest mean queue that scavengers leave among themselves
 * @base_rtt_us: lowest RTT known
 *
 * Return: us, whatever their number.
 */
u32 queue_scavengers_us(u32 base_rtt_us)
{
	return min_t(u32, base_rtt_us >> QUEUE_SCAVENGERS_SHIFT, QUEUE_SCAVENGERS_US);
}

/**
 * queue_stands - is there a queue long enough to judge by?
 * @rtt_us: lowest RTT of a round
 * @base_rtt_us: lowest RTT known
 */
bool queue_stands(u32 rtt_us, u32 base_rtt_us)
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
u32 queue_left_us(u32 rtt_us, u32 base_rtt_us)
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
 * Of a window of few packets a packet is a good part, and half of one too much is the lesser
 * evil; of a large one it is nothing, and one less shows the base RTT again.
 *
 * Return: packets; may be 0.
 */
u32 queue_fit(u32 cwnd, u32 base_rtt_us, u64 rtt_us)
{
	u32 fit;

	if (cwnd < QUEUE_SMALL_CWND)
		return (fp_mul_div(2 * cwnd, base_rtt_us, rtt_us) + 1) / 2;
	fit = fp_mul_div(cwnd, base_rtt_us, rtt_us);
	return fit && cwnd >= QUEUE_LARGE_CWND ? fit - 1 : fit;
}
