/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Deadline-aware less-than-best-effort (DA-LBE) control: from a goal, progress
 * and prices to the weight w.
 *
 * Pure code. It knows neither sockets nor any congestion control: a base hands
 * in what it measured (struct control_sample) and its model (struct control_model),
 * and scales the prices it reacts to by 1/mu. One caller at a time per struct.
 *
 * Here and in control.c, equations.c "the window" is the time that a goal has, until its deadline,
 * and no congestion window.
 *
 * Reference, F(n) is its equation n:
 *   D.A. Hayes, D. Ros, A. Petlund, I. Ahmed, "A framework for less than best
 *   effort congestion control with soft deadlines", IFIP Networking 2017.
 */
#ifndef DALBE_CONTROL_H
#define DALBE_CONTROL_H

#include "core/fixed.h"
#include "dalbe_ctl.h"

/* Tw is 1/128 of the window, and at most the paper's 10 s, which is 1/130 of its window. Half as
 * many updates leave w half of the time to act; twice as many average half of the rounds.
 */
#define DALBE_TW_PAPER_NS	10000000000ull
#define DALBE_UPDATES		128

/* Tw is at least eight RTTs, CDG's window, as fewer rounds give no average; in a window too short
 * for that two: one for w to act, one to see it. Half: prices are noise. Twice: a short transfer
 * has too few updates to correct an error.
 */
#define DALBE_TW_ROUNDS		8
#define DALBE_TW_LEAST_ROUNDS	2

/* F(19), lw = 0.05 and l_phi = 0.1, the paper's: the most that one update raises w and phi by.
 * Half gives way for twice as long; twice reacts to noise.
 */
#define DALBE_W_LIMIT_Q16	3277
#define DALBE_PHI_LIMIT_Q16	6554

/* phi is measured over so many Tw, as long as CDG's histogram remembers (the paper gives none),
 * and not from fewer than two losses: one is no rate. Half: phi follows single losses. Twice: it
 * is late by half a minute.
 */
#define DALBE_TPHI_UPDATES	4
#define DALBE_PHI_MIN_LOSSES	2

/* Bounds of arithmetic, far outside of what is measured: of phi, and of eps where nothing was
 * carried.
 */
#define DALBE_PHI_MAX_Q16	(1024u << 16)
#define DALBE_ERROR_MAX_Q16	(16 << 16)

/* F(9), the paper's gains: Kp = 0.5, Ki = 0.03, Kd = 0.1. Half of Kp misses goals that twice of it
 * meets by swinging.
 */
#define DALBE_KP_Q16		32768
#define DALBE_KI_Q16		1966
#define DALBE_KD_Q16		6554

/* MBC corrects a quarter of its model's error in one Tw, see control_mbc_trim(): the noise of four
 * is averaged. Half of it, an eighth, is too slow for a short window; twice of it follows noise.
 */
#define DALBE_TRIM_GAIN_Q16	16384

/* Model errors from 1/8 to 8 are corrected, nearly three times the error of B at w = 0.05. With
 * half of the range MBC misses goals where the model is worst; with twice, an interval without
 * anything to send is forgotten later.
 */
#define DALBE_TRIM_MIN_Q16	8192
#define DALBE_TRIM_MAX_Q16	(8u << 16)

/* One Tw says at most a half for or against the goal, and their sum calls it infeasible at 1: a
 * rate too low by a third or more is found in two intervals, by a tenth in ten. Half: one bad
 * interval alarms. Twice: a lost goal is reported late. See control_judge_feasibility().
 */
#define DALBE_SHORTFALL_MAX_Q16	32768
#define DALBE_INFEASIBLE_Q16	Q16_ONE

/* The most that w was falls to 37 % (1/e) over half of a window's 128 Tw: a transfer that needed
 * best effort in the first half cannot count on the second. Half: it relaxes in the next pause
 * of the others. Twice: it hurries to the end.
 */
#define DALBE_W_RECENT_UPDATES	64

/* Headroom is the best-effort rate over the rate that is needed. Before anything is known it is
 * two, enough for no reserve; an idle interval counts for three at most in the mean, or it would
 * hide contended ones; and where phi matters the mean begins after two Tphi, when phi is known.
 * Half of these reserve too early, and take from others without need; twice too late. The mean is
 * one of eight intervals, as of CDG's gradients: of half as many it swings with prices, of twice
 * as many it is late by an eighth of the window.
 */
#define DALBE_HEADROOM_Q16	(2 * Q16_ONE)
#define DALBE_HEADROOM_MAX_Q16	(3 * Q16_ONE)
#define DALBE_HEADROOM_TPHI	2
#define DALBE_HEADROOM_MEAN	8

/* We aim 1/32 of the window before the deadline, four of its 128 Tw: MBC needs so many to make up
 * for a bad one, and the last bytes and the program's own end take time, too. Half is late after
 * one bad interval; twice takes 3 % more than needed from others.
 */
#define DALBE_MARGIN_SHIFT	5

/* w is kept for 1/16 of the goal, and 64 KiB, after its end: rsync and TLS add less than that to a
 * file's size. Half: the end of some transfers crawls at wmin. Twice: a wrong byte count takes
 * from others for longer. See control_within_overrun().
 */
#define DALBE_OVERRUN_SHIFT	4
#define DALBE_OVERRUN_BYTES	65536

/**
 * struct control_config - what the owner of the goal chose
 * @controller: DALBE_CONTROLLER_*
 * @after_deadline: DALBE_AFTER_*
 * @tw_ms: update period; 0: from window and RTT
 * @wmin_q16: lowest w, 1 .. Q16_ONE
 * @unlimited_increase: w and phi may rise at once, without F(19)
 */
struct control_config {
	u8 controller;
	u8 after_deadline;
	bool unlimited_increase;
	u32 tw_ms;
	u32 wmin_q16;
};

/**
 * struct control_sample - one update interval as the base saw it
 * @now_ns: time, on the deadline's clock
 * @elapsed_ns: since the last sample, on a clock that stops in suspend
 * @bytes_done: acknowledged since the goal was set, in all
 * @srtt_us: smoothed RTT
 * @price_q40: what the base pays at w = 1 without phi, in the unit of its model (base.h): for
 *             CDG the sum over its indications z of P_W(z), F(22), per round; for the
 *             scavenger 1/B
 * @price_standard_q40: what the network's standard congestion control, as CUBIC, pays too: the
 *             denominator of F(25).
 *             CDG        losses and marks per round, by W of F(22); a part of @price_q40
 *             Vegas      the same, beside @price_q40, which is a delay
 *             CUBIC      losses and marks per packet (signals_price()); all of @price_q40
 *             scavenger  1/B (scavenger_price()); all of @price_q40
 * @phi_price_q40: what the base pays in the unit of losses, the numerator of F(25), where
 *             @price_q40 is in another (Vegas: seconds); 0: @price_q40
 * @weight_standard_q40: W of F(22) for one such indication
 * @rounds: N of F(22), in RTT rounds in which the base's window could grow
 * @losses: losses and marks that were answered in this interval, one per window at most
 * @app_limited: most of the time the sender had too little to send
 * @others_seen: the base's guess whether somebody else sent, for most of the time: see each
 *               base's price()
 */
struct control_sample {
	u64 now_ns;
	u64 elapsed_ns;
	u64 bytes_done;
	u64 price_q40;
	u64 price_standard_q40;
	u64 phi_price_q40;
	u64 weight_standard_q40;
	u32 srtt_us;
	u32 rounds;
	u32 losses;
	bool app_limited;
	bool others_seen;
};

/**
 * struct control_model - steady state of the base, F(12)
 * @model_q40: price at which the base sends at rate_Bps, in the unit of its choice
 * @arg: handed to it
 * @connections_q16: of a job: so many send, each with the same part of the rate; 0: one
 */
struct control_model {
	u64 (*model_q40)(const void *arg, u64 rate_Bps);
	const void *arg;
	u64 connections_q16;
};

struct control_pid {
	s64 integral_q16;	/* F(8), times Ki */
	s64 error_q16;		/* eps of the last update */
};

/**
 * struct control_goal - the transfer
 * @bytes: its size; 0: no goal
 * @done: of these, acknowledged at the last update
 * @start_ns: when the window began, the time until @deadline_ns; another deadline begins it anew
 * @deadline_ns: soft deadline
 */
struct control_goal {
	u64 bytes;
	u64 done;
	u64 start_ns;
	u64 deadline_ns;
};

/**
 * struct control_mbc - what the model-based controller remembers
 * @expected_Bps: what the model expects at w_q16
 * @trim_q16: 1 + eps, with memory
 * @headroom_q16: mean of 1 / answer (control_set_w()): the best-effort rate over the needed rate
 */
struct control_mbc {
	u64 expected_Bps;
	u32 trim_q16;
	u32 headroom_q16;
};

/**
 * struct control_tphi - Tphi, the interval over which phi is measured
 * @price_sum_q40: sum over its Tw of price times rounds
 * @standard_sum_q40: the same of the standard congestion control's price
 * @losses: in it
 * @updates: Tw so far
 */
struct control_tphi {
	u64 price_sum_q40;
	u64 standard_sum_q40;
	u32 losses;
	u16 updates;
};

/**
 * struct control_last - the last update
 * @app_limited: there was too little to send
 * @w_limited: F(19) held w back
 * @answer_below_wmin: the controller asked for w < wmin
 * @answer_above_1: it asked for w > 1
 * @retargeted: w has changed within the interval, or a goal begun: its rate is of no one w
 */
struct control_last {
	bool app_limited;
	bool w_limited;
	bool answer_below_wmin;
	bool answer_above_1;
	bool retargeted;
};

/**
 * struct control - what sets w
 * @goal: the transfer
 * @config: what its owner chose
 * @w_q16: w in force, wmin .. 1; see control_set_w()
 * @target_Bps: zeta, F(6), for the interval under way
 * @rate_Bps: xbar, acknowledged in the last interval, per second
 * @w_recent_max_q16: the most that w was of late: it falls by 1/64 per Tw
 * @phi_q16: phi, F(25), at least 1
 * @mbc: of the model-based controller
 * @pid: of the PID controller
 * @price_target_q40: q / mu, the price to be paid from now on, in the unit of the base
 * @tphi: the interval over which phi is measured
 * @shortfall_q16: evidence that w = 1 is not enough, 0 .. 1; at 1 the goal is infeasible, see
 *	control_judge_feasibility()
 * @updates: Tw in which the path, not the program, limited the sender
 * @status: DALBE_STATUS_*
 * @was_infeasible: that was its status at some time
 * @last: the last update
 */
struct control {
	struct control_goal goal;
	struct control_config config;
	u32 w_q16;
	u64 target_Bps;
	u64 rate_Bps;
	u32 w_recent_max_q16;
	u32 phi_q16;
	struct control_mbc mbc;
	struct control_pid pid;
	u64 price_target_q40;
	struct control_tphi tphi;
	u32 shortfall_q16;
	u32 updates;
	u8 status;
	bool was_infeasible;
	struct control_last last;
};

u64 control_target_Bps(u64 bytes_left, u64 left_ns);
u32 control_limit_increase(u32 old_q16, u32 new_q16, u32 limit_q16);
s64 control_relative_error_q16(u64 target_Bps, u64 rate_Bps);
s64 control_pid_update(struct control_pid *pid, u32 w_q16, u64 target_Bps,
		       u64 rate_Bps, u64 tw_ns);
u32 control_mbc_answer_q16(u64 price_q40, u32 phi_q16, u64 model_price_q40,
			   u32 trim_q16);
u32 control_mbc_trim(u32 trim_q16, u64 target_Bps, u64 rate_Bps);
u32 control_with_reserve_q16(u32 mean_answer_q16);
u32 control_next_phi_q16(u32 phi_q16, u64 price_q40, u64 price_standard_q40, u32 limit_q16);

void control_start(struct control *c, const struct control_config *config,
		   u64 bytes, u64 bytes_done, u64 now_ns, u64 deadline_ns);
void control_configure(struct control *c, const struct control_config *config);
void control_change_goal(struct control *c, u64 bytes, u64 now_ns, u64 deadline_ns);
u64 control_tw_ns(const struct control *c, u32 srtt_us);
void control_update(struct control *c, const struct control_sample *s,
		    const struct control_model *model);
u32 control_mu_q16(const struct control *c);
u32 control_w_recent_max_q16(const struct control *c);

#endif /* DALBE_CONTROL_H */
