/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long a queue is, and whether it is long enough to judge by. The queue is the excess of a
 * round's lowest RTT over the base RTT.
 */
#ifndef DALBE_QUEUE_H
#define DALBE_QUEUE_H

#include "fixed.h"

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
#define QUEUE_SHORTEST_SHIFT	4
#define QUEUE_SHORTEST_US	1000

/* Scavengers leave a queue longer than 4 G among themselves once in fifty backoffs, exp(-4). Where
 * buffers are short CUBIC's queue is no longer than 4 G either, but longer than a quarter of the
 * base RTT. With half of these scavengers take each other for competitors; with twice, a
 * competitor in a short buffer passes for a scavenger.
 */
#define QUEUE_SCAVENGERS_US	(4 * QUEUE_ALONE_G_NS / 1000)
#define QUEUE_SCAVENGERS_SHIFT	2

/* A queue of which no more than a quarter is left was ours, or nobody's. By an eighth, two stalls
 * in a row passed for a newcomer on a path of 0.5 ms (11 ms of queue, then 1.5). A newcomer's
 * queue has grown, so a half is not too much for that; but competitors whose loss empties a part
 * of the buffer would pass for nobody.
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

u32 queue_above_us(u32 rtt_us, u32 base_rtt_us);
u32 queue_shortest_us(u32 base_rtt_us);
u32 queue_scavengers_us(u32 base_rtt_us);
bool queue_stands(u32 rtt_us, u32 base_rtt_us);
u32 queue_left_us(u32 rtt_us, u32 base_rtt_us);
u32 queue_fit(u32 cwnd, u32 base_rtt_us, u64 rtt_us);

#endif /* DALBE_QUEUE_H */
