/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A base congestion control, as the deadline-aware framework needs it.
 *
 * The framework (control.c) makes a flow less than best effort by inflating the price that its
 * base reacts to, 1/w of what the network charges. A base is a set of functions that grow and
 * cut a window, say what price they pay, and can be steered to pay another. All that bases have
 * in common, rounds, RTTs and answers to losses, is sender.c's.
 *
 * Reference, F(n) is its equation n:
 *   D.A. Hayes, D. Ros, A. Petlund, I. Ahmed, "A framework for less than best
 *   effort congestion control with soft deadlines", IFIP Networking 2017.
 */
#ifndef DALBE_BASE_H
#define DALBE_BASE_H

#include "cdg.h"
#include "control.h"
#include "path.h"

struct rtt_sample;
struct sender;

enum base_event {
	BASE_ROUND,	/* a round has begun */
	BASE_RECOVERY,	/* TCP has begun to repair a loss */
	BASE_TIMEOUT,	/* the same, by slow start */
	BASE_REDUCED,	/* TCP's own reduction of the window is complete */
	BASE_UNDO,	/* the last loss was none */
	BASE_DISORDER,	/* packets may be missing: TCP waits for more ACKs */
	BASE_OPEN,	/* none is: TCP has nothing to repair, or nothing any more */
	BASE_PAUSE,	/* after a pause TCP starts slowly again */
};

/**
 * struct base_report - what a base has found out about others, for dalbectl and the traces
 * @regime: DALBE_REGIME_*
 * @drained_ppm: of what the last cut under test was to drain, the part that it did
 * @yields: how often the sender yielded
 * @resumes: of these, how often the queue went with it
 * @best_effort: the window that a best-effort flow would hold, packets
 * @probe_rounds: round trips for which a probe still holds the window back
 * @probe_alone: the sender was last alone as a probe said so
 *
 * All 0 of a base that does not look for others.
 */
struct base_report {
	u32 regime;
	u32 drained_ppm;
	u32 yields;
	u32 resumes;
	u32 best_effort;
	u8 probe_rounds;
	bool probe_alone;
};

/**
 * struct lbe_base - a base congestion control
 *
 * Each base has @grow, @price, @model_q40 and @steer; of the others NULL says what it means.
 *
 * @start: the sender begins to run this base; NULL: nothing to be done
 * @sample: an RTT was measured, above 0 us, as the base is to see it. It counts once it is handed
 *	to cdg_rtt_sample(); NULL: all are
 * @hystart: an ACK came, and TCP has not judged it yet: set ssthresh where slow start ends by
 *	rules of the base's own; NULL: it ends by sender_hystart(), or see @no_hystart
 * @round: a round trip has ended after so many us. Return: true where that has set the window,
 *	and no backoff is to be thought of; NULL: never
 * @backs_off: is the window to be cut for delay? @before_us is the lowest RTT of the round
 *	before; @gradient_sum_us is cdg_round()'s; NULL: never
 * @cut_delay: the window to cut to for delay, packets; NULL: @ssthresh stands, cdg_ssthresh()'s
 * @cut_loss: the same for a loss or a mark; NULL: @ssthresh stands. That is CDG's answer, half of
 *	the window but for CDG's heuristics, so another base computes its own
 * @grow: an ACK came of so many packets: set p->cwnd; not of one that finds the window not in use,
 *	but see @grows_unused
 * @event: something else has happened; at BASE_RECOVERY and BASE_TIMEOUT the base may set the
 *	window; NULL: nothing to be done
 * @resume: TCP sends, and nothing was under way for path.idle_ticks; NULL: not of interest
 * @price: a Tw has ended: fill in what the base pays at w = 1, and whether others were seen.
 *	In a unit of its own, that of @model_q40, as only their ratio counts: CDG per round, F(22),
 *	CUBIC per packet, Vegas seconds, the scavenger 1/B. The counts of rounds and losses, and
 *	the price of losses alone, are filled in already. It must not become 0 in a Tw
 *	without a loss
 * @model_q40: F(12): the price at which the base sends so fast on a struct tcp_path
 * @steer: a Tw has ended, and w is known: from now on answer 1/mu of the price, by
 *	control_mu_q16() or, where the unit is per round, by control.price_target_q40, of which
 *	@price_std_q40 is for losses
 * @let_go: no controller says what to pay (any more); NULL: nothing to be done
 * @report: fill in what the base knows of others; NULL: it does not look for them
 * @level_q16: the window that w allows, packets in Q16, while the sender is not alone; NULL:
 *	it never knows that it is not
 * @forward: RTTs are to be without a queue of the ACKs, and without the receiver's waiting
 * @paced: while alone on a path, packets are spaced
 * @no_hystart: the base finds the end of slow start by itself
 * @grows_unused: @grow is to see all ACKs
 */
struct lbe_base {
	void (*start)(struct sender *s, struct tcp_path *p);
	void (*sample)(struct sender *s, const struct rtt_sample *sample, u32 rtt_us);
	enum cdg_hystart (*hystart)(struct sender *s, struct tcp_path *p,
				    const struct rtt_sample *sample);
	bool (*round)(struct sender *s, struct tcp_path *p, u64 elapsed_us);
	bool (*backs_off)(struct sender *s, const struct tcp_path *p, u32 before_us,
			  s32 gradient_sum_us);
	u32 (*cut_delay)(struct sender *s, const struct tcp_path *p, u32 ssthresh);
	u32 (*cut_loss)(struct sender *s, const struct tcp_path *p, u32 ssthresh);
	void (*grow)(struct sender *s, struct tcp_path *p, u32 acked);
	void (*event)(struct sender *s, struct tcp_path *p, enum base_event event);
	void (*resume)(struct sender *s, struct tcp_path *p);
	void (*price)(const struct sender *s, struct control_sample *sample);
	u64 (*model_q40)(const void *path, u64 rate_Bps);
	void (*steer)(struct sender *s, u64 price_std_q40);
	void (*let_go)(struct sender *s);
	void (*report)(const struct sender *s, struct base_report *report);
	u64 (*level_q16)(const struct sender *s);
	bool forward;
	bool paced;
	bool no_hystart;
	bool grows_unused;
};

u64 cdg_base_model_q40(const void *path, u64 rate_Bps);

extern const struct lbe_base cdg_base;
extern const struct lbe_base cubic_base;
extern const struct lbe_base scavenger_base;
extern const struct lbe_base vegas_base;

#endif /* DALBE_BASE_H */
