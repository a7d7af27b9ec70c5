/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A flow's knowledge of others: is it alone, and what has it seen?
 *
 * Only data. evidence.c, room.c and probe.c each fill in their part, regime.c decides.
 */
#ifndef DALBE_OTHERS_H
#define DALBE_OTHERS_H

#include "core/fixed.h"

/* Rounds from slow start on whose queue may be our own: the packets that slow start sent too
 * many are under way for a round, queued in the next, and drained by a cut in the third. Half:
 * our own queue passes for a newcomer's. Twice: a newcomer in that time gets no room.
 */
#define REGIME_STEADY_ROUNDS	4

enum regime_state {
	REGIME_ALONE,		/* nobody else's queue in sight */
	REGIME_YIELDING,	/* we stand back, for four rounds at most, to see whose queue it is:
				 * two cuts drained too little, or TCP repairs a loss while a
				 * provisional cut (struct room) is tested, and we do not doubt
				 */
	REGIME_CONTENDED,	/* others are there: the queue stayed while we yielded. Or straight
				 * from REGIME_ALONE (regime_alone_to_contended()): somebody took
				 * what a provisional cut gave up, a packet was lost in its test
				 * while we doubted (regime_in_doubt()), or the path stands still
				 * for most of the time (stall.c)
				 */
};

/**
 * struct cut - the cut under test
 * @before_us: lowest RTT of the round before it; 0: no test, see cut_under_test()
 * @expected_us: what it drains of the queue, were that all ours
 * @drained_q16: part of @expected_us that the last test found drained, 0 .. 1
 * @alone: so many tests in a row found EVIDENCE_ALONE_Q16 drained, EVIDENCE_ALONE_CUTS at most
 * @decides: with this test we yield, or do not. Set by regime_judge_cut() for the next test, where
 *	a cut had too little effect and a deeper one follows; and by evidence_test_cut() for the
 *	test that it begins, where the window cannot be cut
 */
struct cut {
	u32 before_us;
	u32 expected_us;
	u32 drained_q16;
	u8 alone;
	bool decides;
};

/**
 * struct part - our part of the link
 * @last_rtt_us: lowest RTT of the last round handed to evidence_measure_part(); 0: that was not,
 *	see evidence_skip_round()
 * @lost_surge_us: the surge in which a part of the link was lost in the last round; 0: none was
 * @ours_pps_q16: packets per second that were ours while a queue stood, a mean of eight rounds or
 *	so; 0: not known
 * @link_pps_q16: the most that @ours_pps_q16 was since it is known, and at least half of the most
 *	before (all of it where regime.alone_by_guess: then others may have had a part); 0: not
 *	known
 */
struct part {
	u32 last_rtt_us;
	u32 lost_surge_us;
	u64 ours_pps_q16;
	u64 link_pps_q16;
};

/**
 * struct slow_start - when slow start ended, and whether it may go on
 * @rounds_since: so many rounds ago it ended, counted by the caller, saturating
 * @may_grow_on: slow start goes on (VERDICT_GROW_ON) if no queue shows, as the link carries more
 */
struct slow_start {
	u8 rounds_since;
	bool may_grow_on;
};

/**
 * struct room - surges, and the room made for them, or at a yield
 * @provisional: the last cut for delay made room for a newcomer (room_cut()), or went below the
 *	guaranteed window (scavenger_cut_delay()). Its test asks whether somebody has taken what it
 *	gave up; if not, the window returns to @restore_cwnd. It counts while the test is under way
 *	(provisional_cut_under_test()), and stays set after it
 * @packet_lost: one was lost, or marked, after it
 * @samples: RTTs in a row, in this round, that tell of a surge
 * @restored_rounds: rounds for which VERDICT_ROOM_FREE is still remembered
 * @sampled_us: the lowest of @samples
 * @packets: so many packets the ACKs of @samples cover
 * @surge_us: growth of the queue in the last round, for the next cut, where that is a surge and
 *	not ours; else 0
 * @restored_us: lowest RTT of the surge that was over at the last VERDICT_ROOM_FREE
 * @restore_cwnd: window to return to if the test of the last cut shows nobody, packets: for room,
 *	the window less our queue from before the surge; after scavenger_cut_delay() the
 *	guaranteed window at least; a loss cuts it, too. Forgotten at the next cut, and where its
 *	test is void (evidence_forget()), but not at VERDICT_YIELD: scavenger_yield() begins at it.
 *	0: not to return
 * @before_yield_cwnd: window to return to if the queue goes with us while we yield
 *	(VERDICT_RESUME), packets
 */
struct room {
	bool provisional;
	bool packet_lost;
	u8 samples;
	u8 restored_rounds;
	u32 sampled_us;
	u32 packets;
	u32 surge_us;
	u32 restored_us;
	u32 restore_cwnd;
	u32 before_yield_cwnd;
};

/**
 * struct looks - at the queue while not alone
 * @rounds: since REGIME_YIELDING began, saturating
 * @gone: the last looks, a bit each; 1: the queue was gone
 * @peak_us: longest standing queue since REGIME_YIELDING began
 * @mean_us: mean queue of the last eight looks or so, or rounds in REGIME_ALONE
 * @try_us: how long not to be alone before VERDICT_TRY, 2 to 64 s, see regime_from_alone()
 * @last_look_us: when the last look was taken
 */
struct looks {
	u8 rounds;
	u8 gone;
	u32 try_us;
	u32 peak_us;
	u32 mean_us;
	u64 last_look_us;
};

/**
 * struct probe - the window held back to see whose queue it is
 * @rounds: round trips for which it is still held back; 0: no probe is under way
 * @alone: we last became alone because a probe found the queue ours, which may be wrong
 * @cwnd: the window meanwhile, packets
 * @left_us: the queue was ours if no more than this is left of it at the end
 * @pause_us: least time from one probe to the next, 2 to 16 s; and 32 base RTTs, see probe_begin()
 * @since_us: when the last one began
 */
struct probe {
	u8 rounds;
	bool alone;
	u32 cwnd;
	u32 left_us;
	u32 pause_us;
	u64 since_us;
};

/**
 * struct plateau - while yielding or contended: a queue that stands still is a longer path
 * @periods: so many periods (EVIDENCE_PLATEAU_US) in a row had a lowest RTT like @rtt_us
 * @rtt_us: lowest RTT of the first of them
 * @least_us: lowest RTT in the period under way
 * @since_us: when that began, TCP's clock modulo 2^32
 * @near_score: 3 for each round as low as @least_us, -1 for each other since the first such round;
 *	below 0 the queue moves. Saturating
 */
struct plateau {
	u8 periods;
	s16 near_score;
	u32 rtt_us;
	u32 least_us;
	u32 since_us;
};

/**
 * struct times - when things happened, us, on the caller's clock
 * @since_us: we became alone, or ceased to be (REGIME_YIELDING and REGIME_CONTENDED are one here)
 * @taken_us: we last took the link (VERDICT_TAKE, TRY or PATH_LONGER); at first regime_start()
 * @came_us: we last yielded, to a competitor; a yield while alone_by_guess does not count
 * @busy_us: a look last found the queue, or we last yielded
 */
struct times {
	u64 since_us;
	u64 taken_us;
	u64 came_us;
	u64 busy_us;
};

/**
 * struct regime - what one flow knows of others
 * @state: enum regime_state; set in regime.c only. sender.regime is a copy
 * @lossy_rounds: rounds for which the last loss or mark is still remembered, counted down while
 *	alone, and 0 when the flow becomes alone: a queue that loses packets is no scavengers'
 * @alone_by_guess: by VERDICT_RESUME, TRY or PATH_LONGER: the others may never have gone, so the
 *	next yield does not update @times.came_us and @short_flows_come, and part.link_pps_q16
 *	is not halved. VERDICT_TAKE by a probe is a guess of its own, probe.alone
 * @short_flows_come: one after the other: be patient (regime_patience_us()), and make room early
 *	(room_shift())
 * @urgency_q16: from 0, patient, to Q16_ONE, urgent: the most that w was of late, set by
 *	scavenger_judge(). The more urgent, the shorter is REGIME_PATIENCE_US, and the longer is
 *	the doubt (REGIME_DOUBT_US) whether we are alone, after we took the link
 * @yields: VERDICT_YIELD: how often it left REGIME_ALONE, for whichever of the two others
 * @resumes: of these, how often the queue went with us
 * @packet_us: a packet's time at the link's rate, the first measured since regime_start();
 *	0: not known
 * @cut: the cut under test
 * @slow_start: when it ended, and whether it may go on
 * @room: surges, and room made for them
 * @part: our part of the link
 * @looks: at the queue while not alone
 * @times: when things were
 * @probe: the window held back to see whose queue it is
 * @plateau: while not alone: a queue that stands still is a longer path
 */
struct regime {
	u8 state;
	u8 lossy_rounds;
	bool alone_by_guess;
	bool short_flows_come;
	struct slow_start slow_start;
	u16 packet_us;
	u32 urgency_q16;
	struct cut cut;
	struct room room;
	struct part part;
	struct looks looks;
	struct times times;
	struct probe probe;
	struct plateau plateau;
	u32 yields;
	u32 resumes;
};

/* Alone, and slow start has been over for so long that a queue is not its doing. */
static inline bool regime_steady(const struct regime *r)
{
	return r->state == REGIME_ALONE && r->slow_start.rounds_since >= REGIME_STEADY_ROUNDS;
}

/**
 * cut_under_test - is a cut under test?
 * @cut: the flow's
 */
static inline bool cut_under_test(const struct cut *cut)
{
	return cut->before_us;
}

#endif /* DALBE_OTHERS_H */
