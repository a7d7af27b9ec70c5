/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Room for a newcomer: a deep cut when the queue surges, and the window back if nobody came.
 */
#ifndef DALBE_ROOM_H
#define DALBE_ROOM_H

#include "others.h"
#include "queue.h"

/* A scavenger that is alone keeps at most four packets of its own in a queue, as Vegas does. So the
 * larger of two flows makes way first, and they come to share the link; and CUBIC, which grows by a
 * few packets per second on fast paths, finds room. Half: a window is cut for a single late packet.
 * Twice: of eight flows at 100 Mbit/s and 20 ms some starve.
 */
#define ROOM_QUEUED_PACKETS	4

/* A queue shorter than twice what RTTs differ by may be none. None of it: where ACKs come in clumps
 * of 10 ms, at 200 Mbit/s, we leave the link half idle. Twice: CUBIC at 1 Gbit/s has to share a
 * buffer of 3 ms with us.
 */
#define ROOM_JITTER		2

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

u32 room_surge_us(u32 rtt_us, u32 before_us, u32 base_rtt_us, int shift);
u32 room_cut(struct regime *r, u32 cwnd, u32 rtt_us, u32 base_rtt_us, u32 ssthresh);
bool room_urgent(struct regime *r, u32 cwnd, u32 rtt_us, u32 rtt_max_us, u32 before_us,
		 u32 base_rtt_us);
void room_begin_round(struct regime *r);
bool withdrawn_under_test(const struct regime *r);
bool room_sample(struct regime *r, u32 rtt_us, u32 packets, u32 before_us, u32 base_rtt_us,
		 u32 cwnd);

#endif /* DALBE_ROOM_H */
