/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For the Python tests: all that the headers of core/ declare; under a name that a shared library
 * can have, inline functions and the constants of the interface; and a bottleneck to drive the
 * sender on (drive.c).
 */
#ifndef DALBE_PURE_H
#define DALBE_PURE_H

#include "core/sender.h"

enum pure_constants {
	CONTROLLER_PID = DALBE_CONTROLLER_PID,
	CONTROLLER_MBC = DALBE_CONTROLLER_MBC,
	CONTROLLER_WEIGHT = DALBE_CONTROLLER_WEIGHT,
	CONTROLLER_FLOOR = DALBE_CONTROLLER_FLOOR,
	SSTHRESH_MAX = PATH_SSTHRESH_MAX,
	AFTER_BEST_EFFORT = DALBE_AFTER_BEST_EFFORT,
	AFTER_SCAVENGER = DALBE_AFTER_SCAVENGER,
	AFTER_KEEP = DALBE_AFTER_KEEP,
	STATUS_ON_TRACK = DALBE_STATUS_ON_TRACK,
	STATUS_INFEASIBLE = DALBE_STATUS_INFEASIBLE,
	STATUS_LATE = DALBE_STATUS_LATE,
	STATUS_DONE = DALBE_STATUS_DONE,
	PHI_LIMIT_Q16 = DALBE_PHI_LIMIT_Q16,
	TPHI_UPDATES = DALBE_TPHI_UPDATES,
	TICKS_PER_S = HZ,
};

u64 pure_fp_shift(u64 x, int shift);
u64 pure_fp_mul_div(u64 a, u64 b, u64 c);
u32 pure_fp_ratio_q16(u64 a, u64 b);
u64 pure_fp_mul_q16(u64 x, u32 factor_q16);
u64 pure_fp_add(u64 a, u64 b);
u32 pure_queue_above_us(u32 rtt_us, u32 base_rtt_us);
void pure_cubic_acked(struct cubic *c, u32 packets);
s32 pure_cdg_rtt_sample(struct cdg *c, s32 rtt_us, u32 pkts_acked, bool sacked);
u32 pure_owd_rtt_us(struct owd *o, u32 val, u64 now_us, u32 rtt_us, u32 base_rtt_us);
void pure_seed(u32 seed);
extern const struct lbe_base least_base;
void pure_acked(struct sender *s, struct tcp_path *p, const struct rtt_sample *sample);
bool pure_avoid(struct sender *s, struct tcp_path *p, u32 packets);
bool pure_ack(struct sender *s, struct tcp_path *p, const struct rtt_sample *sample);

#define DRIVE_FLOWS_MAX	8

/**
 * struct drive_in - a bottleneck, flows of ours from the beginning, and CUBIC flows for a time
 * @seed: of the random numbers
 * @rate_pps: packets of full size per second, up to 100,000
 * @base_us: RTT without a queue
 * @buffer: packets, up to 4000
 * @ours: flows of ours
 * @theirs: CUBIC flows; DRIVE_FLOWS_MAX in all
 * @w_q16: our weight
 * @base: of ours; NULL: the scavenger
 * @beta: w inflates what a loss costs, where losses are the price
 * @loss_ppm: packets lost at random, of a million
 * @stall_ms: the path stands still for so long
 * @stall_every_ms: so often; 0: once a second
 * @ours_from_ms: ours begin
 * @from_ms: the CUBIC flows come
 * @to_ms: and leave
 * @end_ms: the simulation ends
 */
struct drive_in {
	u32 seed;
	u32 rate_pps;
	u32 base_us;
	u32 buffer;
	u32 ours;
	u32 theirs;
	u32 w_q16;
	const struct lbe_base *base;
	u32 beta;
	u32 loss_ppm;
	u32 stall_ms;
	u32 stall_every_ms;
	u32 ours_from_ms;
	u32 from_ms;
	u32 to_ms;
	u32 end_ms;
};

/**
 * struct drive_out - what happened
 * @alone: our packets before the CUBIC flows came
 * @ours: our packets in the second half of their time
 * @theirs: and theirs
 * @after: our packets after they left
 * @least: packets from the middle of their time to the end, of that flow of ours that has least
 * @most: the same of the one that has most
 * @contended_ms: in the second half of their time, the sum over ours
 * @seen_ms: after they left, until one of ours was alone; 0: none was
 * @yields: how often we yielded
 * @losses: that we answered
 * @queue_us: mean queue of the last 256 ACKs of ours or so
 * @bad_window: events after which the window was out of bounds
 * @bad_level: ACKs by which a contended window grew above w * B, and two
 * @bad_growth: ACKs by which it grew by more than half
 * @bad_answer: losses whose answer was a larger window
 * @bad_trace: ACKs that began a cut for delay, or a phantom one, and did not say so, or the reverse
 */
struct drive_out {
	u32 alone;
	u32 ours;
	u32 theirs;
	u32 after;
	u32 least;
	u32 most;
	u32 contended_ms;
	u32 seen_ms;
	u32 yields;
	u32 losses;
	u32 queue_us;
	u32 bad_window;
	u32 bad_level;
	u32 bad_growth;
	u32 bad_answer;
	u32 bad_trace;
};

void drive(const struct drive_in *in, struct drive_out *out);

#endif /* DALBE_PURE_H */
