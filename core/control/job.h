/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A job: several connections that have one goal together, one controller, and one w.
 *
 * Pure code, as control.c. Each function takes the lock itself. A connection keeps a copy of the
 * job's control, which it reads at each ACK; the copy is renewed when the connection hands in a
 * part: what it has done since the last one.
 */
#ifndef DALBE_JOB_H
#define DALBE_JOB_H

#include "core/control/control.h"

/* A connection hands in a part eight times per Tw, so that the controller knows of all but an
 * eighth of what the others have done in a Tw. Half: the rate of one Tw is to a fourth that of the
 * Tw before. Twice: parts are shorter than a round trip, and a part without an RTT has no price.
 */
#define JOB_PARTS	8

/**
 * struct job_tw - the job's Tw under way
 * @start_us: when it began, TCP's clock
 * @end_us: when it ends
 * @busy_us: time in which a connection had data under way, the sum over all connections
 * @limited_us: time in which the path, not the program, limited some connection
 * @limited_until_us: end of the last of these times
 * @price_sum_q40: price of each part, times its rounds
 * @standard_sum_q40: the same of the standard congestion control's price
 * @phi_price_sum_q40: the same of what the base pays in the unit of losses
 * @rounds: of all parts
 * @rounds_beside: of these, those of parts in which others were seen
 * @losses: of all parts
 */
struct job_tw {
	u64 start_us;
	u64 end_us;
	u64 busy_us;
	u64 limited_us;
	u64 limited_until_us;
	u64 price_sum_q40;
	u64 standard_sum_q40;
	u64 phi_price_sum_q40;
	u32 rounds;
	u32 rounds_beside;
	u32 losses;
};

/**
 * struct job - one goal of several connections
 * @lock: of all that follows
 * @control: what sets w; control.goal.bytes is 0 where there is no goal
 * @bytes_done: acknowledged for the goal, over all connections
 * @done_ns: when the last byte of the goal was acknowledged, on the deadline's clock; 0: not yet
 * @tw: the Tw under way
 */
struct job {
	port_lock_t lock;
	struct control control;
	u64 bytes_done;
	u64 done_ns;
	struct job_tw tw;
};

/**
 * struct job_part - what one connection has done since its last part
 * @sample: bytes_done is that of the part alone
 * @now_us: TCP's clock
 * @busy_us: time in which the connection had data under way
 */
struct job_part {
	struct control_sample sample;
	u64 now_us;
	u64 busy_us;
};

/**
 * struct job_known - how a job is doing
 * @control: a copy
 * @bytes_done: see struct job
 * @done_ns: likewise
 */
struct job_known {
	struct control control;
	u64 bytes_done;
	u64 done_ns;
};

void job_init(struct job *job);
void job_begin(struct job *job, struct control *copy, u64 now_us, u32 srtt_us);
void job_change_goal(struct job *job, u64 bytes, u64 now_ns, u64 deadline_ns);
void job_configure(struct job *job, const struct control_config *config);
bool job_hand_in(struct job *job, struct control *copy, struct job_part *part,
		 const struct control_model *model);
void job_add(struct job *job, u64 bytes, u64 now_ns);
void job_read(struct job *job, struct job_known *known);

#endif /* DALBE_JOB_H */
