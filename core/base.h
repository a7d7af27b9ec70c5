/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A base congestion control, as the deadline-aware framework needs it.
 *
 * The framework (control.c) makes a flow less than best effort by inflating the price that its
 * base reacts to, 1/w of what the network charges. A base is a set of functions that grow and
 * cut a window, say what price they pay, and can be steered to pay another. All that bases have
 * in common is sender.c's: rounds, RTTs, and that each loss is answered once, and counted. How deep
 * to cut for it is the base's (@cut).
 *
 * Reference, F(n) is its equation n:
 *   D.A. Hayes, D. Ros, A. Petlund, I. Ahmed, "A framework for less than best
 *   effort congestion control with soft deadlines", IFIP Networking 2017.
 */
#ifndef DALBE_BASE_H
#define DALBE_BASE_H

#include "core/bases/cdg.h"
#include "core/control/control.h"
#include "core/path.h"

struct rtt_sample;
struct sender;

enum base_event {
	BASE_START,	/* the sender runs this base from now on */
	BASE_GOAL,	/* a goal begins, or a weight without one: it pays for its own time */
	BASE_ROUND,	/* a round has begun */
	BASE_TX_START,	/* TCP sends, and nothing was under way for path.idle_ticks */
	BASE_CWND_RESTART, /* after a pause TCP begins in slow start again */
	BASE_DISORDER,	/* packets may be missing, or are sent again as they were too large */
	BASE_RECOVERY,	/* TCP has begun to repair a loss */
	BASE_TIMEOUT,	/* the same, by slow start */
	BASE_UNDO,	/* the last loss was spurious: TCP undoes its cut */
	BASE_COMPLETE_CWR, /* TCP's own reduction of the window, for a loss or mark, is complete */
	BASE_IDLE,	/* an ACK leaves nothing under way */
	BASE_OPEN,	/* TCP has nothing to repair, or nothing any more */
};

/* A base cuts its window for one of these; without the cause it could not tell a loss, which it has
 * to answer, from a cut that it has asked for.
 */
enum cut_cause {
	CUT_OWN,	/* the base's own reason: delay, or a phantom signal (signals.c) */
	CUT_LOSS,	/* a loss, or a mark */
};

/* A base's answer to a round's end. Without it this ACK would grow a window that was just set. */
enum round_effect {
	ROUND_NONE,	/* nothing: the window grows by this ACK */
	ROUND_SET,	/* it has set the window */
	ROUND_CUT,	/* the window is to be cut, for CUT_OWN */
};

/**
 * struct base_report - what a base has found out about others, for dalbectl and the traces
 * @regime: DALBE_REGIME_*
 * @yields: how often the sender stood back
 * @ours_ppm: what the path carries for this host, of the most that it has carried
 * @carried_pps: that, packets per second
 * @best_effort: the window that a best-effort flow would hold, packets
 *
 * All 0 of a base that does not look for others.
 */
struct base_report {
	u32 regime;
	u32 yields;
	u32 ours_ppm;
	u32 carried_pps;
	u32 best_effort;
};

/**
 * struct lbe_base - a base congestion control
 *
 * Each base has @grow, @cut and @model_q40, and may have no more: see sim/base_least.c.
 *
 * The base behaves as if the price were price / mu, where mu = w * phi; a mu below 1 makes the
 * price larger, and the flow more modest. phi is 1 where only losses cost, as of the scavenger and
 * of CUBIC; beside a queue CDG's and Vegas' are above. So w reaches the window of CDG by G, which
 * @steer sets each Tw; of Vegas by alpha, which reads sender.mu_q16 each round; of a base without
 * @price, as CUBIC, by the phantom signals of signals.c, for which the base need do nothing; of the
 * scavenger by @level_q16, which reads control.w_q16 at each ACK.
 *
 * @grow: an ACK came of so many packets: set p->cwnd. Where it is not @cwnd_limited, as the program
 *	has less to send, it should not grow. The scavenger's also lowers it, to w * B. Not called
 *	in PATH_CWR and PATH_RECOVERY, as TCP sets the window there; while a cut for delay goes on;
 *	where a phantom signal cuts; nor, while alone, where @round has just set the window
 * @cut: the window to cut to, packets, which the sender makes 2 at least; scavenger.h lists the
 *	answers of all bases.
 *	@cdg_cwnd is what CDG would cut to: 0.7 of the window for a delay, a half for a loss, but
 *	for CDG's heuristics; a base may ignore it
 * @model_q40: F(12): the price at which the base sends @rate_Bps, bytes/s, on a struct tcp_path
 * @price: a Tw has ended: fill in what the base pays at w = 1, and whether others were seen.
 *	In the unit of @model_q40, which is the base's own, as only their ratio counts: CDG per
 *	round, F(22), Vegas seconds, the scavenger 1/B. The counts of rounds and losses, and the
 *	price of losses alone, are filled in already. It must not become 0 in a Tw without a loss,
 *	else w falls to wmin; signals.c is excused until it has seen two losses.
 *	May be NULL: the base pays for losses alone, per packet
 * @event: something else has happened; at BASE_RECOVERY and BASE_TIMEOUT the base may set the
 *	window.
 *	May be NULL: nothing is to be done
 * @sample: an RTT was measured, above 0 us, as the base is to see it: hand it to cdg_rtt_sample(),
 *	or leave it out of the round.
 *	May be NULL: the sender hands in each
 * @hystart: an ACK came, and TCP has not judged it yet: set ssthresh where slow start ends by
 *	rules of the base's own.
 *	May be NULL: slow start ends by a loss, or by @use_hystart
 * @use_hystart: slow start ends by sender_hystart(), where delay or the ACK train says so
 * @round: a round trip has ended: set the window, or have it cut, but not while TCP does so
 *	(path_recovering()). @before_us is the lowest RTT of the round before, and
 *	@gradient_sum_us is cdg_round()'s.
 *	May be NULL: ROUND_NONE
 * @steer: a Tw has ended, and sender.mu_q16 is new. Where the unit is per round
 *	control.price_target_q40 is what to pay, of which @price_standard_q40 is for losses. Of a
 *	job's connection it is called eight times per Tw.
 *	May be NULL: the base looks at mu when it needs it
 * @forget: a Tw has ended, of a job's connection the job's: forget a part of what @price tells of.
 *	May be NULL: the prices are of one Tw
 *
 * Of a base that looks for others, and is steered by a window, as the scavenger:
 *
 * @report: fill in what it knows of others.
 *	May be NULL: it does not look for them
 * @level_q16: the window that w allows, packets in Q16, while the sender is not alone.
 *	May be NULL only of a base that is always REGIME_ALONE
 * @forward_rtt: RTTs are to be without a queue of the ACKs, and without the receiver's waiting
 * @paced: while alone on a path, packets are spaced
 * @shares_path: sender.memory is to be there before BASE_START, and as long as the base runs
 */
struct lbe_base {
	void (*grow)(struct sender *s, struct tcp_path *p, u32 acked, bool cwnd_limited);
	u32 (*cut)(struct sender *s, const struct tcp_path *p, enum cut_cause cause, u32 cdg_cwnd);
	u64 (*model_q40)(const void *path, u64 rate_Bps);

	void (*price)(const struct sender *s, struct control_sample *sample);
	void (*event)(struct sender *s, struct tcp_path *p, enum base_event event);
	void (*sample)(struct sender *s, const struct rtt_sample *sample, u32 rtt_us);
	enum cdg_hystart (*hystart)(struct sender *s, struct tcp_path *p,
				    const struct rtt_sample *sample);
	bool use_hystart;
	enum round_effect (*round)(struct sender *s, struct tcp_path *p, u32 before_us,
				   s32 gradient_sum_us);
	void (*steer)(struct sender *s, u64 price_standard_q40);
	void (*forget)(struct sender *s);

	void (*report)(const struct sender *s, struct base_report *report);
	u64 (*level_q16)(const struct sender *s);
	bool forward_rtt;
	bool paced;
	bool shares_path;
};

u64 cdg_base_model_q40(const void *path, u64 rate_Bps);

extern const struct lbe_base cdg_base;
extern const struct lbe_base cubic_base;
extern const struct lbe_base scavenger_base;
extern const struct lbe_base vegas_base;

#endif /* DALBE_BASE_H */
