/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Room for a newcomer: a deep cut when the queue surges, and the window back if nobody came.
 */
#ifndef DALBE_ROOM_H
#define DALBE_ROOM_H

#include "queue.h"

struct regime;

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

/* So many RTTs in a row tell of a surge before the round has ended: of eight packets, as HyStart
 * looks at, where every second has an ACK. Half: a clump of ACKs tells. Twice: on small windows
 * the round ends before.
 */
#define ROOM_SAMPLES		4

/* And they are of an eighth of a window, as our own packets travel in clumps after slow start. A
 * quarter, twice, costs a newcomer half of the time that is won; half of it is a clump of ours.
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

/* Where no ACK has come for as long as the link takes for 28 packets, the path stood still. A
 * newcomer's second window of twenty falls into the gap that its first ten have left in ours, and
 * ACKs are late by four or so for the background. Half, 14: that second window passes for a stall,
 * and a newcomer at 10 Mbit/s and 100 ms waits for 19 round trips instead of 12. Twice: a stall of
 * 50 ms at 10 Mbit/s costs half a window for a round trip, and the link two fifths of its use.
 */
#define ROOM_STOOD_PACKETS	28

/* The queue drains while the path stands still, so the silence is shorter than what the RTT has
 * grown by: half of it will do. With half of that a queue of three times the silence passes
 * unseen; with twice, a flow with a queue of its own knows no stall.
 */
#define ROOM_STOOD_PART		2

/* No surge is shorter than G, and no silence that explains half of it shorter than this. Given by
 * these two; it saves most ACKs the rest of the question.
 */
#define ROOM_SILENCE_LEAST_US	(QUEUE_ALONE_G_NS / 1000 / ROOM_STOOD_PART)

/* A path that is silent every few rounds sends in clumps, and there a silence says nothing: once in
 * eight base RTTs, CDG's window, counts. Half: a quarter of the rounds is not looked at. Twice: of
 * two stalls in a row the second costs room.
 */
#define ROOM_STOOD_RTTS		8

/**
 * struct room - surges, and the room made for them
 * @made: the last cut made room for a newcomer, or withdrew the guaranteed window for a round trip
 * @lost: packets were lost, or marked, after it
 * @samples: RTTs in a row, in this round, that tell of a surge
 * @restored: rounds for which VERDICT_ROOM_FREE is still remembered
 * @sampled_us: the lowest of @samples
 * @packets: acknowledged with them
 * @surge_us: growth of the queue in the last round, for the next cut, where that is a surge and
 *	not ours; else 0
 * @restored_us: lowest RTT of the surge that was over at the last VERDICT_ROOM_FREE
 * @restore_cwnd: window to return to if the test of the last cut shows nobody, packets: for room,
 *	the window less our queue from before the surge; after scavenger_cut_delay() the
 *	guaranteed window at least; a loss cuts it, too. 0: not to return
 * @stood_us: when the path last stood still, TCP's clock modulo 2^32
 */
struct room {
	bool made;
	bool lost;
	u8 samples;
	u8 restored;
	u32 sampled_us;
	u32 packets;
	u32 surge_us;
	u32 restored_us;
	u32 restore_cwnd;
	u32 stood_us;
};

u32 room_surge_us(u32 rtt_us, u32 before_us, u32 base_rtt_us, int shift);
u32 room_cut(struct regime *r, u32 cwnd, u32 rtt_us, u32 base_rtt_us, u32 ssthresh);
bool room_urgent(struct regime *r, u32 rtt_us, u32 before_us, u32 base_rtt_us);
void room_begin_round(struct regime *r);
bool room_under_test(const struct regime *r);
void room_silence(struct regime *r, u32 rtt_us, u32 silence_us, u32 before_us, u32 base_rtt_us,
		  u32 now_us);
bool room_sample(struct regime *r, u32 rtt_us, u32 packets, u32 before_us, u32 base_rtt_us,
		 u32 cwnd);

/**
 * room_silent - has there been no ACK for longer than others' packets explain?
 * @silence_us: since the last ACK
 * @cwnd: congestion window, packets, which is in use
 * @before_us: lowest RTT of the round before
 *
 * No more than a newcomer's first or second window passes between two packets of ours.
 */
static inline bool room_silent(u32 silence_us, u32 cwnd, u32 before_us)
{
	return silence_us >= ROOM_SILENCE_LEAST_US &&
	       (u64)silence_us * cwnd >= (u64)before_us * ROOM_STOOD_PACKETS;
}

/**
 * room_stood - did the path stand still while the packet of this RTT was under way?
 * @room: the flow's
 * @rtt_us: the RTT, above 0
 * @now_us: clock; may wrap, and then an RTT may be left out for nothing
 *
 * Then the time by which the packet is late is no queue: room for it would leave the link idle. If
 * it was a newcomer's queue after all, the packets that we send later meet it as well, one round
 * trip later.
 *
 * Return: true if so, and the RTT says nothing of a queue.
 */
static inline bool room_stood(const struct room *room, u32 rtt_us, u32 now_us)
{
	return now_us - room->stood_us < rtt_us;
}

#endif /* DALBE_ROOM_H */
