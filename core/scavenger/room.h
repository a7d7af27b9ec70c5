/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Room for a newcomer: a deep cut when the queue surges, and the window back if nobody came.
 */
#ifndef DALBE_ROOM_H
#define DALBE_ROOM_H

#include "core/scavenger/others.h"
#include "core/scavenger/queue.h"

/* A surge is growth of the queue by 1/8 of the base RTT in one round, HyStart's measure, and at
 * least by G. A flow alone grows by a packet per round, which is less wherever it holds eight
 * packets. Half: our own growth passes for a newcomer. Twice: we answer a newcomer a round later,
 * and hold its link longer.
 */
#define ROOM_SURGE_SHIFT	3

/* On long paths so much is a surge, too: a newcomer has left slow start when it sees 25 ms. Half:
 * jitter of radio links passes for one. Twice: newcomers on long paths leave slow start early.
 */
#define ROOM_SURGE_MAX_US	25000

/* Four RTTs in a row above the least surge end the round early: eight packets, as many as HyStart
 * looks at, where the receiver ACKs every second. Half: a clump of ACKs passes for a surge. Twice:
 * a small window's round ends before.
 */
#define ROOM_SAMPLES		4

/* The ACKs of these RTTs must cover an eighth of the window, as our own packets travel in clumps
 * after slow start. Half of that is a clump of ours. Twice loses half of the time that is won.
 */
#define ROOM_SAMPLES_PART	8

/* A surge of a quarter of the base RTT is no burst, but slow start; half of it was enough for
 * bursts of the background to make us leave a link. With twice newcomers get room a round later.
 */
#define ROOM_SLOW_START_SHIFT	2

/* Room is made for twice the surge: slow start doubles, and that is what it sends next. With half,
 * the newcomer's next packets overflow the buffer. With twice, a stall costs twice as much.
 */
#define ROOM_SURGES		2

/* A longer queue that surges within eight rounds, CDG's window, after the window came back keeps
 * its room. Half: a slow newcomer is taken for a second stall. Twice: the second of two
 * stalls costs the window.
 */
#define ROOM_RESTORED_ROUNDS	8

u32 room_surge_us(u32 rtt_us, u32 before_us, u32 base_rtt_us, int shift);
u32 room_cut(struct regime *r, u32 cwnd, u32 rtt_us, u32 base_rtt_us, u32 ssthresh);
bool room_urgent(struct regime *r, u32 rtt_us, u32 before_us, u32 base_rtt_us);
void room_begin_round(struct regime *r);
bool provisional_cut_under_test(const struct regime *r);
bool room_sample(struct regime *r, u32 rtt_us, u32 packets, u32 before_us, u32 base_rtt_us,
		 u32 cwnd);

#endif /* DALBE_ROOM_H */
