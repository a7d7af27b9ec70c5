/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What this host knows of a path, shared by all of its scavengers on that path.
 *
 * Pure code: it knows no socket, and the clock is handed in. Each function takes the lock itself.
 */
#ifndef DALBE_PATH_MEMORY_H
#define DALBE_PATH_MEMORY_H

#include "core/scavenger/queue.h"

/* A busy path that carries less than three quarters for us of what it has carried carries the rest
 * for others. One CUBIC flow that comes leaves us a half, and our own losses leave us 0.7 to 1 of a
 * path, 0.85 on average. Half of the missing part (7/8): our own sawtooth passes for a competitor.
 * Twice (1/2): a single competitor beside two of our flows passes for nobody.
 */
#define PATH_OURS_PART(carried)		((carried) / 4 * 3)

/* The path is slower, and nobody is there, where it carries what it carried when we stood back,
 * within 1/8. Half: the whole packets of a small window hide it. Twice: behind FQ-CoDel we pass for
 * alone in a third of the runs.
 */
#define PATH_SAME			8

/* Behind a router that serves each flow in turn (FQ-CoDel) the path seems slower until CoDel drops
 * a packet of ours: of a queue that has been 5 ms long for 100 ms. So where no queue of others was
 * seen a trial lets a longer one stand for a look before we judge, three quarters of this at least:
 * but no more than the buffer holds, and no less than twice what a few packets take. Half: CoDel
 * drops nothing. Twice: two flows fill a buffer of 1/8 BDP, and the loss passes for others'.
 */
#define PATH_STAND_US			8000

/* We forget what the path has carried where it has not carried three quarters of it for ten
 * minutes. A slower path whose router drops by delay (CoDel), and one that serves each flow in turn
 * while others are there (FQ-CoDel), look alike: both carry the same less again and again, and no
 * queue of others shows. Half: behind FQ-CoDel others have their fair share only after five
 * minutes. Twice: on a path that has become slower for good we keep to w for so long.
 */
#define PATH_FORGET_US		600000000

/* Rounds from slow start on in which the packets that slow start sent too many are under way,
 * queued, and drained: we do not judge by them. Half: our own slow start passes for a competitor.
 * Twice: a competitor that comes in that time waits for as long.
 */
#define PATH_STEADY_ROUNDS	4

/* When one of our flows has come or left, the others need a round trip or two to make room for it,
 * or to take its part: so many rounds of each are not judged. And so many rounds of each on a new
 * path give what it carries at first. Half: in one of 16 runs in which flows come and go the rest
 * stands back (in five, where all are judged); four of ours leave half of a new path of three
 * packets idle. Twice: a competitor that comes as one of ours leaves waits for two round trips
 * more, and one that was there before a newcomer of ours loses 1.5 % to it where that takes 0.75.
 */
#define PATH_UNSETTLED		2

/* So many packets are no queue. Half: a pair of ours that leaves together is one. Twice: a
 * competitor in a buffer of six packets passes for nobody.
 */
#define PATH_TOGETHER		3U

/* The rate that counts is a mean of eight rounds, as CDG's gradients are. Half: the bursts of one
 * round trip pass for what the path carries, and then its usual rate seems too little. Twice: a
 * path that has become faster is known a second later.
 */
#define PATH_MEAN		8

/* Beside others a queue is looked at every two base RTTs and 300 ms at least, by the two packets
 * that w allows. Half: twice as many packets at the lowest w. Twice: the path is idle for longer
 * before we notice.
 */
#define PATH_LOOK_RTTS		2
#define PATH_LOOK_US		300000

/* Our flows take turns, two in each look; but each has one in the three that the path is given
 * before we take it. Half: where one has nothing to send, nobody looks for twice as long; two flows
 * use 77 instead of 90 % of 20 Mbit/s in the minute after others left (1/8 BDP). Twice: eight flows
 * cost two CUBIC flows 5 %, not 3 (5 Mbit/s, 50 ms; 9 % if each looks each time).
 */
#define PATH_LOOKERS		2

/* We take the path when no queue was seen for half of the time in which CUBIC comes back from a
 * loss of all that the path holds (K), and three looks. A tail-drop buffer of a twentieth of the
 * base RTT has a queue again by then. Each time that others were there all the same it has to be
 * twice as long, up to 32 s. Half: at 384 Mbit/s and 50 ms, with a buffer of a fifth, a CUBIC flow
 * loses 4 % of its rate (with a second, 28). Twice: the path is idle for so much longer after
 * others left. Half of 32 s: CUBIC at 1 Gbit/s and 100 ms meets us twice as often. Twice: on a path
 * that was busy for long an idle minute passes before we take it.
 */
#define PATH_PATIENCE_PART	2
#define PATH_PATIENCE_LOOKS	3
#define PATH_PATIENCE_MAX_US	32000000

/* A queue that has not moved for 16 s, by more than the shortest one that counts, is none: the path
 * has become longer. Half: a CUBIC window of some thousand packets stands as still for 8 s. Twice:
 * after a change of route we keep to w for half a minute.
 */
#define PATH_STILL_US		16000000

/* For so long after we took the path others may have been there all the time, in a pause after a
 * loss: then we wait for longer next time, and the mistake does not cost an urgent flow its share
 * (scavenger_stand_back()). Half: short flows that come every 10 s cost each of them a trial, and
 * w = 1 loses a part of its share to competitors in long buffers. Twice: a newcomer makes us wait
 * as if it had been there, and gets its half from an urgent flow later.
 */
#define PATH_SOON_US		16000000

/* And in so long after we took it a single round trip tells of them. Half: behind CoDel at 100 ms
 * others lose a third more. Twice: one late packet makes us leave a path that is idle; with four
 * times of it our flows are back half a second later, in one of 20 runs, after a CUBIC flow left.
 */
#define PATH_DOUBT_US		4000000

/**
 * struct path_part - one flow's part of what the path carries for us
 * @rate_q16: in its last round, packets per second; 0: none, or not known
 * @counted: in path_memory.flows
 * @repairs: TCP repairs a loss: its rate is not known until a round ends
 */
struct path_part {
	u64 rate_q16;
	bool counted;
	bool repairs;
};

/**
 * struct path_memory - what is known of a path
 * @lock: of all that follows
 * @flows: that share it, but for those that have nothing under way
 * @repairs: of these, those that repair a loss
 * @unsettled: so many rounds are not judged, as a flow has come or left
 * @cuts: cuts for delay, modulo 2^32: where one flow makes room, all do
 * @base_rtt_us: lowest RTT of the flow that looked last, or of another since; 0: not known
 * @full_us: the queue at which packets were lost while all of it was ours, a mean of PATH_MEAN; 0:
 *	not known
 * @noise_us: alone: what RTTs of a round differ by, a mean of PATH_MEAN
 * @patience_us: so long no queue has to be seen before we take the path
 * @group: its flows have different destinations, and base RTTs: @base_rtt_us is of no use
 * @contended: others are there; else we are alone
 * @longer: alone: as the path has become longer
 * @spare: alone: since we took it no queue stood, and no packet was lost
 * @since_us: since when
 * @queue_us: contended: when a queue was last seen
 * @looks_us: contended: since when the next two are measured
 * @look_least_us: the lowest RTT of a look
 * @look_most_us: the highest
 * @poor_us: since when the path carries too little for us while it is busy; 0: it does not
 * @held_us: for so long we had been alone when we stood back
 * @rate_q16: sum of the parts, packets per second
 * @mean_q16: of that, while alone, a mean of PATH_MEAN round trips
 * @rounds: in @mean_q16, PATH_MEAN of each flow at most
 * @carried_q16: the most that @mean_q16 was of so many, as a burst makes a single round
 * @carried_us: when the path last carried PATH_OURS_PART() of that; 0: until PATH_UNSETTLED rounds
 *	of each flow @carried_q16 is their mean
 * @stood_us: alone: when the queue was last shorter than three quarters of path_stand_us()
 * @same_q16: what the path carried when we stood back, where no queue of others was seen since: it
 *	may be slower; else 0
 * @yields: how often we stood back
 *
 * Packets per second in Q16; times on TCP's clock, which all connections share.
 */
struct path_memory {
	port_lock_t lock;
	u32 flows;
	u32 repairs;
	u32 unsettled;
	u32 cuts;
	u32 base_rtt_us;
	u32 full_us;
	u32 noise_us;
	u32 patience_us;
	u32 look_least_us;
	u32 look_most_us;
	u32 yields;
	u32 rounds;
	bool group;
	bool contended;
	bool longer;
	bool spare;
	u64 since_us;
	u64 queue_us;
	u64 looks_us;
	u64 poor_us;
	u64 carried_us;
	u64 held_us;
	u64 rate_q16;
	u64 mean_q16;
	u64 carried_q16;
	u64 stood_us;
	u64 same_q16;
};

enum path_verdict {
	PATH_AS_IT_IS,
	PATH_STAND_BACK,	/* others are there */
	PATH_TAKE,		/* they have gone */
	PATH_LONGER,		/* they were none: the base RTT is path_round.rtt_us */
};

/**
 * struct path_round - a round of one flow has ended
 * @now_us: TCP's clock
 * @rtt_us: lowest RTT of the round
 * @rtt_max_us: highest
 * @base_rtt_us: lowest RTT known to the flow
 * @rate_q16: packets per second delivered in it; 0: not known
 * @contended: the flow's regime
 * @judged: the program had enough to send
 * @steady: PATH_STEADY_ROUNDS have passed since slow start
 *
 * The answer:
 * @fits_q16: what the path carried, packets per second, for each of its flows
 * @queue_us: the shortest queue that counts
 * @same_q16: path_memory.same_q16 for each of its flows, while alone; 0: it is not slower
 * @stand_us: else so long a queue is to stand, three quarters of it at least
 * @noise_us: path_memory.noise_us
 * @cuts: path_memory.cuts
 * @held_us: path_memory.held_us
 * @spare: since we took the path no queue stood, and it carries as much as ever, or may be slower:
 *	it carries more
 */
struct path_round {
	u64 now_us;
	u32 rtt_us;
	u32 rtt_max_us;
	u32 base_rtt_us;
	bool contended;
	bool judged;
	bool steady;
	bool spare;
	u64 rate_q16;
	u64 fits_q16;
	u64 same_q16;
	u64 held_us;
	u32 queue_us;
	u32 stand_us;
	u32 noise_us;
	u32 cuts;
};

/**
 * struct path_known - what is known of a path
 * @base_rtt_us: lowest RTT; 0: not known, or of a group
 * @cuts: see struct path_memory
 * @rate_q16: what it carries for us, packets per second; 0 while we are not alone
 * @carried_q16: the most that it has carried; 0: not known
 */
struct path_known {
	u32 base_rtt_us;
	u32 cuts;
	u64 rate_q16;
	u64 carried_q16;
};

void path_memory_init(struct path_memory *m);
struct path_known path_memory_known(struct path_memory *m);
void path_memory_join(struct path_memory *m, struct path_part *part, u64 now_us);
void path_memory_leave(struct path_memory *m, struct path_part *part);
void path_memory_repair(struct path_memory *m, struct path_part *part);
void path_memory_pause(struct path_memory *m, struct path_part *part);
enum path_verdict path_memory_round(struct path_memory *m, struct path_part *part,
				    struct path_round *r);
bool path_memory_lost(struct path_memory *m, struct path_round *r);
u32 path_memory_cut(struct path_memory *m);

/**
 * path_look_us - time between two looks at the queue beside others
 * @base_rtt_us: lowest RTT known
 *
 * Return: us, from PATH_LOOK_US on; cannot wrap.
 */
static inline u64 path_look_us(u32 base_rtt_us)
{
	return (u64)base_rtt_us * PATH_LOOK_RTTS + PATH_LOOK_US;
}

/**
 * path_turn_us - time between two looks of one flow
 * @m: the path's memory
 * @base_rtt_us: lowest RTT known
 *
 * Return: us, a path_look_us() for each PATH_LOOKERS flows, up to PATH_PATIENCE_LOOKS; cannot wrap.
 */
static inline u64 path_turn_us(const struct path_memory *m, u32 base_rtt_us)
{
	return path_look_us(base_rtt_us) *
	       clamp_t(u32, READ_ONCE(m->flows) / PATH_LOOKERS, 1, PATH_PATIENCE_LOOKS);
}

/**
 * path_stands - does the queue of a trial stand?
 * @queue_us: queue_above_us() of a round
 * @stand_us: path_round.stand_us
 */
static inline bool path_stands(u32 queue_us, u32 stand_us)
{
	return queue_us >= stand_us / 4 * 3;
}

#endif /* DALBE_PATH_MEMORY_H */
