/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The effect test: whose queue is it?
 *
 * Pure code: it knows no socket and no congestion control; the clock and the
 * RTTs are handed in. One caller at a time per struct effect.
 */
#ifndef DALBE_EFFECT_H
#define DALBE_EFFECT_H

#include "fixed.h"

#define EFFECT_ALONE_G_NS	4000000	/* CDG's G while nobody else is there: the
					 * queue of one flow is about G on average
					 */
#define EFFECT_OURS_Q16		13107	/* 1/5: the part of the expected drain from
					 * which on the queue is ours
					 */
#define EFFECT_SURGE_SHIFT	3	/* growth of the queue in one round, as part
					 * of the base RTT, that a flow at work alone
					 * does not cause; at least G
					 */
#define EFFECT_SURGE_MAX_US	25000	/* on long paths, too: a newcomer has left slow
					 * start when it sees that much
					 */
#define EFFECT_SAMPLES		4	/* RTTs in a row that tell of a surge before the
					 * round has ended: of eight packets, as HyStart
					 * looks at, where every second has an ACK
					 */
#define EFFECT_SAMPLES_PART	8	/* and of an eighth of a window: less may be a
					 * clump of our own packets
					 */
#define EFFECT_ROOM_SHIFT	2	/* a surge of 1/4 of the base RTT is no burst */
#define EFFECT_ROOM		2	/* but slow start, which next time doubles it */
#define EFFECT_SMALL_CWND	10	/* room for an initial window (RFC 6928) can only
					 * be made by a flow that has one
					 */
#define EFFECT_LARGE_CWND	24	/* a packet more or less is no matter */
#define EFFECT_STEADY_ROUNDS	4	/* from slow start on, or its like: the first three
					 * may see our own queue
					 */
#define EFFECT_REGAIN_ROUNDS	8	/* where a queue surges so soon after the window came
					 * back, and is longer, it does not come back again
					 */
#define EFFECT_PART_SHIFT	3	/* our part of the link is a mean of eight
					 * rounds or so
					 */
#define EFFECT_PART_LOST	4	/* a quarter of it gone in one round, */
#define EFFECT_PART_PACKETS	3	/* and so many packets (fewer are noise): the
					 * path stood still, or a newcomer has it
					 */
#define EFFECT_QUEUE_SHIFT	4	/* a queue below 1/16 of the base RTT, */
#define EFFECT_QUEUE_MIN_US	1000	/* or 1 ms, is too short to judge by */
#define EFFECT_GONE_SHIFT	3	/* a queue of 1/8 of its peak has gone */
#define EFFECT_KIN_US		(4 * EFFECT_ALONE_G_NS / 1000)
#define EFFECT_KIN_SHIFT	2	/* flows like us leave a longer queue than
					 * 4 G once in fifty backoffs, exp(-4); no
					 * more than 1/4 of the base RTT, where
					 * buffers are short, too
					 */
#define EFFECT_LOSS_ROUNDS	64	/* a loss is remembered for so many rounds */
#define EFFECT_TRY_MIN_US	2000000	/* contended by a short queue for so long: */
#define EFFECT_TRY_MAX_US	8000000	/* are they like us? Ever more rarely, */
#define EFFECT_TRY_LOSSY_US	64000000 /* and more so where one ended in a loss */
#define EFFECT_OFTEN_US		16000000 /* alone for less than this, and */
#define EFFECT_SHORT_US		32000000 /* contended for less: short flows keep */
#define EFFECT_PATIENCE_US	8000000	/* coming, and are left alone for so long */
#define EFFECT_YIELD_ROUNDS	4	/* rounds until yielding has shown what it
					 * can: one for the packets under way, one
					 * to see the queue, two more to be sure
					 */
#define EFFECT_LOOKS		6	/* looks at a contended queue ... */
#define EFFECT_LOOKS_GONE	3	/* ... of which so many must find it gone.
					 * Flows like us drain it every second or
					 * so, a loss-based flow hardly ever.
					 */
#define EFFECT_LOOK_ROUNDS	2	/* between two looks: so many base RTTs */
#define EFFECT_LOOK_US		300000	/* and this */
#define EFFECT_ASK_MIN_US	2000000	/* contended for so long: ask whose queue it is; */
#define EFFECT_ASK_MAX_US	16000000 /* ever more rarely, for */
#define EFFECT_ASK_ROUNDS	2	/* it costs half of the window for one of these, */
#define EFFECT_ASK_PAUSE	32	/* of so many base RTTs at least */
#define EFFECT_LEFT		4	/* a queue of which no more than a quarter is left
					 * was ours, or nobody's
					 */
#define EFFECT_STILL		8	/* lowest RTTs of so many times */
#define EFFECT_STILL_US		4000000	/* this, or */
#define EFFECT_STILL_ROUNDS	8	/* so many base RTTs that are alike tell of a
					 * path: in 32 s CUBIC's queue moves, on its
					 * plateau, too
					 */
#define EFFECT_STILL_SHIFT	6	/* alike: within 1/64 of the queue they would be, */
#define EFFECT_STILL_MIN_US	250	/* or this */

enum effect_state {
	EFFECT_ALONE,		/* nobody else's queue in sight */
	EFFECT_YIELDING,	/* a cut had no effect: stand back and look */
	EFFECT_CONTENDED,	/* the queue stayed: it is somebody else's */
};

enum effect_verdict {
	EFFECT_NONE,		/* no change */
	EFFECT_DOUBT,		/* in EFFECT_ALONE: cut once more, and deeper */
	EFFECT_MORE,		/* in EFFECT_ALONE: slow start ended too early */
	EFFECT_REGAIN,		/* in EFFECT_ALONE: nobody took the room that was made */
	EFFECT_YIELD,		/* from EFFECT_ALONE: stand back now */
	EFFECT_RESUME,		/* to EFFECT_ALONE: the queue went with us */
	EFFECT_TAKE,		/* to EFFECT_ALONE: the others have gone */
	EFFECT_TRY,		/* to EFFECT_ALONE, from the window as it is: the
				 * others may be like us
				 */
	EFFECT_LONGER,		/* to EFFECT_ALONE: the queue is none. The base RTT is
				 * @still_us
				 */
};

/**
 * struct effect - what the cuts of one flow have shown
 * @state: enum effect_state
 * @rounds: since EFFECT_YIELDING began, saturating
 * @before_us: lowest RTT of the round before the cut under test; 0: no test
 * @expected_us: what the cut drains of the queue, were it all ours
 * @drained_q16: part of it that was drained at the last test, 0 .. 1
 * @peak_us: longest standing queue since it yields
 * @mean_us: mean queue of the last eight rounds or so; looks, unless EFFECT_ALONE
 * @doubt: a cut had too little effect: the next is deeper, and decides
 * @gone: the last looks, a bit each; 1: it was gone
 * @lossy: rounds for which the last loss is still remembered
 * @steady: rounds since the caller's slow start, counted by the caller, saturating
 * @regained: rounds for which EFFECT_REGAIN is still remembered
 * @regained_us: lowest RTT of the surge that was over then
 * @lost_part: in the last round a part of the link was lost in a surge
 * @room: the last cut made room for a newcomer
 * @room_lost: packets were lost, or marked, after it
 * @surged: RTTs in a row, in this round, that tell of a surge
 * @surged_us: the lowest of them
 * @surged_packets: what their ACKs covered
 * @surge_us: what the queue grew by in the last round, for the next cut, where that is a
 *	surge and not ours; else 0
 * @lent: the window that EFFECT_REGAIN returns to, packets: the last cut made room for a
 *	surge, and this one would have drained the queue from before it; 0: not to return
 * @since_us: when the regime began, EFFECT_YIELDING and EFFECT_CONTENDED as one
 * @taken_us: of EFFECT_TAKE, EFFECT_TRY or EFFECT_LONGER, the last; else of
 *	effect_start()
 * @came_us: when the competitor came that the link was left to
 * @busy_us: when the queue was last seen
 * @try_us: how long to be contended before EFFECT_TRY
 * @patient: short flows keep coming: not to take the link again at once, and to make
 *	room early
 * @unsure: alone, but not by EFFECT_TAKE: who comes now may have been there before
 * @answered: it was last alone as its queue went with it when it asked
 * @asking: rounds for which the window is still held to @ask_cwnd, packets, to see whose
 *	queue it is
 * @ask_left_us: the queue that is left then, if it was ours
 * @asked_us: when that last began
 * @ask_us: how long not to ask
 * @haste_q16: the part of EFFECT_PATIENCE_US that is not waited for, 0 .. 1 or more;
 *	set by the caller
 * @looked_us: when the last look was taken
 * @last_us: lowest RTT of the last round handed to effect_part(); 0: that was not, see
 *	effect_limited()
 * @part_q16: packets per second that were ours while a queue stood; 0: not known
 * @link_q16: the most that @part_q16 was while it was known, and half of what it was
 *	before; 0: not known
 * @filling: no queue has shown since slow start ended: the link may carry more
 * @still: periods in a row whose lowest RTT was like @still_us
 * @still_us: lowest RTT of the first of them
 * @still_least_us: lowest RTT in the period under way
 * @still_since_us: when that began
 * @yields: how often it yielded
 * @resumes: of these, how often the queue went with us
 */
struct effect {
	u8 state;
	u8 rounds;
	u8 gone;
	u8 lossy;
	u8 steady;
	u8 regained;
	u8 surged;
	bool doubt;
	bool lost_part;
	bool room;
	bool room_lost;
	bool patient;
	bool unsure;
	bool answered;
	u8 asking;
	bool filling;
	u8 still;
	u32 before_us;
	u32 expected_us;
	u32 drained_q16;
	u32 peak_us;
	u32 mean_us;
	u32 last_us;
	u32 surged_us;
	u32 surged_packets;
	u32 surge_us;
	u32 regained_us;
	u32 lent;
	u64 since_us;
	u64 taken_us;
	u64 came_us;
	u64 looked_us;
	u64 busy_us;
	u64 still_since_us;
	u64 asked_us;
	u64 part_q16;
	u64 link_q16;
	u32 still_us;
	u32 still_least_us;
	u32 ask_cwnd;
	u32 ask_left_us;
	u32 ask_us;
	u32 try_us;
	u32 haste_q16;
	u32 yields;
	u32 resumes;
};

void effect_start(struct effect *e, u64 now_us);
u32 effect_queue_us(u32 rtt_us, u32 base_rtt_us);
u32 effect_cut(struct effect *e, u32 cwnd, u32 rtt_us, u32 base_rtt_us,
	       u32 ssthresh);
void effect_expect(struct effect *e, u32 cwnd, u32 ssthresh, u32 rtt_us,
		   u32 base_rtt_us);
bool effect_urgent(struct effect *e, u32 rtt_us, u32 before_us,
		   u32 base_rtt_us);
void effect_part(struct effect *e, u32 packets, u64 elapsed_us, u32 rtt_us,
		 u32 base_rtt_us);
u32 effect_fill(struct effect *e, u32 base_rtt_us);
void effect_begin_round(struct effect *e);
bool effect_sample(struct effect *e, u32 rtt_us, u32 packets, u32 before_us,
		   u32 base_rtt_us, u32 cwnd);
void effect_loss(struct effect *e);
void effect_undo_loss(struct effect *e, u8 lossy);
bool effect_repair(struct effect *e, u64 now_us);
void effect_expect_loss(struct effect *e, u32 cwnd, u32 ssthresh, u32 rtt_us,
			u32 base_rtt_us);
void effect_forget(struct effect *e);
void effect_limited(struct effect *e);
void effect_ask(struct effect *e, u32 cwnd, u32 rtt_us, u32 base_rtt_us,
		u64 now_us);
void effect_hear(struct effect *e, u32 rtt_us, u32 base_rtt_us);
bool effect_may_err(const struct effect *e, u64 now_us);
u64 effect_look_us(u32 base_rtt_us);
enum effect_verdict effect_round(struct effect *e, u32 rtt_us, u32 base_rtt_us,
				 u64 now_us);

#endif /* DALBE_EFFECT_H */
