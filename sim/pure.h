/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For the Python tests: all that the headers of core/ declare; under a name that a shared library
 * can have, inline functions and the constants of the interface; and a bottleneck to drive the
 * sender on (drive.c).
 */
#ifndef DALBE_PURE_H
#define DALBE_PURE_H

#include "core/control/job.h"
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
	PARTS_PER_TW = JOB_PARTS,
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
void pure_acked_doubts(struct sender *s, struct tcp_path *p, const struct rtt_sample *sample,
		       const struct rtt_doubts *doubts);
void pure_acked(struct sender *s, struct tcp_path *p, const struct rtt_sample *sample);
bool pure_avoid(struct sender *s, struct tcp_path *p, u32 packets);
bool pure_ack_doubts(struct sender *s, struct tcp_path *p, const struct rtt_sample *sample,
		     const struct rtt_doubts *doubts);
bool pure_ack(struct sender *s, struct tcp_path *p, const struct rtt_sample *sample);

#define DRIVE_FLOWS_MAX	16
#define DRIVE_STEPS_MAX	8

/* How the bottleneck's buffer is served: see qdisc.c. */
enum drive_discipline {
	DRIVE_TAIL,	/* in order; what does not fit is dropped */
	DRIVE_CODEL,	/* RFC 8289: target 5 ms, interval 100 ms */
	DRIVE_PIE,	/* RFC 8033: target 15 ms */
	DRIVE_FQ_CODEL,	/* RFC 8290: a queue with CoDel per flow, in turns */
};

/**
 * struct drive_step - the link's rate changes
 * @at_ms: when, in order
 * @rate_pps: packets of full size per second from then on, up to 100,000; 0: no step, nor after it
 */
struct drive_step {
	u32 at_ms;
	u32 rate_pps;
};

/**
 * struct drive_in - a bottleneck, flows of ours from the beginning, and CUBIC flows for a time
 * @seed: of the random numbers
 * @rate_pps: packets of full size per second, up to 100,000
 * @base_us: RTT without a queue
 * @buffer: packets, up to 65,000
 * @ours: flows of ours
 * @theirs: flows of others; DRIVE_FLOWS_MAX in all
 * @w_q16: our weight
 * @base: of ours; NULL: the scavenger
 * @beta: w inflates what a loss costs, where losses are the price
 * @loss_ppm: packets lost at random before the bottleneck, of a million
 * @stall_ms: the path stands still for so long
 * @stall_every_ms: so often; 0: once a second
 * @ours_from_ms: ours begin
 * @from_ms: the others' flows come
 * @to_ms: and leave
 * @end_ms: the simulation ends
 *
 * All of the following may be 0, which is none of it:
 * @ours_step_ms: each flow of ours begins so much later than the one before
 * @ours_stay_ms: and leaves after so long; 0: it stays
 * @hosts: that ours are dealt out over: flow n is of host n % @hosts; 0: one
 * @theirs_step_ms: each of theirs comes so much later than the one before
 * @their_base: of theirs, uncontrolled; NULL: cubic_base
 * @no_hystart: their slow start ends by a loss alone
 * @steps: of the link's rate
 * @discipline: enum drive_discipline
 * @jitter_us: the way to the receiver is longer by up to so much; the order is kept
 * @delayed_acks: the receiver acknowledges every second packet, or one after 40 ms, as Linux; else
 *	each
 * @reverse_pps: rate of a bottleneck on the way back, which a CUBIC flow fills, packets per second
 * @reverse_buffer: its buffer, packets
 * @reverse_from_ms: that flow comes
 * @reverse_to_ms: and leaves; 0: it stays
 * @no_timestamps: the sender sees no TCP timestamps
 * @lies: the receiver's timestamps are those of when the packets left, so that each queue looks
 *	like one of the ACKs
 * @short_pps: short CUBIC flows, packets per second of all; they come with the others' flows, at
 *	random (Poisson)
 * @short_packets: their mean size, exponentially distributed
 * @udp_pps: packets per second without congestion control, with the others' flows
 * @udp_on_ms: for so long
 * @udp_off_ms: and then none for so long
 * @series_ms: interval of @series
 * @series: a row per interval, up to @end_ms, of ours + theirs numbers: different packets that each
 *	flow has delivered in it
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
	u32 ours_step_ms;
	u32 ours_stay_ms;
	u32 hosts;
	u32 theirs_step_ms;
	const struct lbe_base *their_base;
	bool no_hystart;
	struct drive_step steps[DRIVE_STEPS_MAX];
	u32 discipline;
	u32 jitter_us;
	bool delayed_acks;
	u32 reverse_pps;
	u32 reverse_buffer;
	u32 reverse_from_ms;
	u32 reverse_to_ms;
	bool no_timestamps;
	bool lies;
	u32 short_pps;
	u32 short_packets;
	u32 udp_pps;
	u32 udp_on_ms;
	u32 udp_off_ms;
	u32 series_ms;
	u32 *series;
};

/**
 * struct drive_out - what happened
 * @alone: our packets before the others' flows came
 * @ours: our packets in the second half of their time
 * @theirs: and theirs, without those of short flows and of UDP
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
 * @queue_mean_us: the bottleneck's queue, mean over all time
 * @queue_alone_us: the same before the others' flows came
 * @drops_ours: packets of ours that the buffer dropped
 * @drops_theirs: and of all others
 * @silent_ms: the longest time in which none of ours had a packet delivered, from when the first
 *	began to the end
 * @shorts: short flows that have been completed
 * @short_ms: mean time that they took
 * @packets: events of the simulator: packets that the link has served
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
	u32 queue_mean_us;
	u32 queue_alone_us;
	u32 drops_ours;
	u32 drops_theirs;
	u32 silent_ms;
	u32 shorts;
	u32 short_ms;
	u32 packets;
};

void drive(const struct drive_in *in, struct drive_out *out);

#endif /* DALBE_PURE_H */
