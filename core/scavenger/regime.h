/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Alone or not: whose queue is it?
 *
 * Pure code: it knows no socket and no congestion control; the clock and the
 * RTTs are handed in. One caller at a time per struct regime.
 */
#ifndef DALBE_REGIME_H
#define DALBE_REGIME_H

#include "core/scavenger/evidence.h"
#include "core/scavenger/probe.h"
#include "core/scavenger/room.h"

/* A queue of 1/8 of its peak has gone: what is left are single packets of others. With half of
 * it a link that is free passes for busy; with twice CUBIC's queue after a loss passes for gone.
 */
#define REGIME_GONE_SHIFT	3

/* Contended by a short queue for so long, we try whether the others are scavengers, and ever more
 * rarely. Scavengers drain the queue every second or so, which 2 s show; one trial in 8 s costs a
 * competitor little. A trial that ended in a loss cost the others packets: up to an eighth as
 * often, 64 s. With half of these competitors in short buffers lose twice as much; with twice,
 * scavengers find each other later.
 */
#define REGIME_TRY_MIN_US	2000000
#define REGIME_TRY_MAX_US	8000000
#define REGIME_TRY_LOSSY_US	64000000

/* Alone for less than 16 s, and contended for less than 32 s: short flows keep coming. 16 s is
 * longer than CUBIC takes to grow a large window again, so a competitor that was there all the
 * time is still there. A flow that stays for 32 s is no short one. With half of these we take the
 * link between the objects of a page; with twice, the second of two long flows counts as short.
 */
#define REGIME_OFTEN_US		16000000
#define REGIME_SHORT_US		32000000

/* A competitor that shows within urgency times 16 s after we took the link may have been there all
 * the time, in a pause after a loss (regime_in_doubt()): we keep w times the window that only
 * losses have cut, and take a loss in the room that we made for theirs. CUBIC grows a large window
 * again in less. Half: one that is slower squeezes an urgent flow below its share. Twice: one that
 * comes half a minute after that gets less of the link, and where the path stands still we hold
 * back.
 */
#define REGIME_DOUBT_US		16000000

/* Where short flows keep coming we leave the link to them for so long, which a transfer in no
 * hurry can afford: a page's objects come within 8 s. Half: we come between them. Twice: a link
 * with a page every half a minute is ours half of the time only.
 */
#define REGIME_PATIENCE_US	8000000

/* Rounds until yielding has shown what it can: one for the packets under way, one to see the
 * queue, two more to be sure. Half: late ACKs make a link ours no more. Twice: our own queue keeps
 * us away for twice as long.
 */
#define REGIME_YIELD_ROUNDS	4

/* Of six looks at a contended queue three must find it gone. Scavengers drain it every second or
 * so, a loss-based flow hardly ever. Twice as many looks take four seconds; of half as many, a
 * single loss of the others decides, as it does where fewer of the six are to find it gone. Where
 * all six are, no scavenger is found.
 */
#define REGIME_LOOKS		6
#define REGIME_LOOKS_GONE	3

/* The mean queue of rounds, while alone, and of looks is one of eight or so, CDG's window. Half:
 * one long round of theirs makes competitors of scavengers. Twice: a competitor shows later.
 */
#define REGIME_MEAN		8

/* Between two looks there are two base RTTs and 300 ms: on short paths two round trips would be
 * one burst, and six looks take about two seconds. Half: one pause of the others is taken for
 * their end. Twice: an idle link is taken after four seconds.
 */
#define REGIME_LOOK_RTTS	2
#define REGIME_LOOK_US		300000

enum verdict {
	VERDICT_NONE,		/* no change */
	VERDICT_CUT_DEEPER,	/* in REGIME_ALONE: cut once more, and deeper */
	VERDICT_GROW_ON,	/* in REGIME_ALONE: slow start ended too early */
	VERDICT_ROOM_FREE,	/* in REGIME_ALONE: nobody took what a provisional cut gave
				 * up, room or the guaranteed window
				 */
	VERDICT_YIELD,		/* from REGIME_ALONE to REGIME_YIELDING or, where no look is
				 * needed, straight to REGIME_CONTENDED
				 */
	VERDICT_RESUME,		/* to REGIME_ALONE: the queue went when we stood back, so it was
				 * ours: back to the window from before
				 */
	VERDICT_TAKE,		/* to REGIME_ALONE: the others have gone; or a probe found that the
				 * queue is ours, which may be wrong (probe.alone)
				 */
	VERDICT_TRY,		/* to REGIME_ALONE, from the window as it is: the others may be
				 * scavengers
				 */
	VERDICT_PATH_LONGER,	/* to REGIME_ALONE: there is no queue, but a longer path, whose base
				 * RTT is plateau.rtt_us
				 */
};

void regime_start(struct regime *r, u64 now_us);
bool regime_in_doubt(const struct regime *r, u64 now_us);
enum verdict regime_alone_to_contended(struct regime *r, u64 now_us);
bool regime_repair(struct regime *r, u64 now_us);
u64 regime_look_us(u32 base_rtt_us);
void regime_probe_if_due(struct regime *r, u32 cwnd, u32 rtt_us, u32 base_rtt_us, u64 now_us);
enum verdict regime_round(struct regime *r, u32 rtt_us, u32 base_rtt_us, u64 now_us);

#endif /* DALBE_REGIME_H */
