/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Deadline-aware less-than-best-effort (DA-LBE) control: from a goal, progress
 * and prices to the weight w.
 *
 * Pure code. It knows neither sockets nor any congestion control: a base hands
 * in what it measured (struct dalbe_sample) and its model (struct dalbe_model),
 * and scales the prices it reacts to by 1/mu. One caller at a time per struct.
 *
 * Reference, F(n) is its equation n:
 *   D.A. Hayes, D. Ros, A. Petlund, I. Ahmed, "A framework for less than best
 *   effort congestion control with soft deadlines", IFIP Networking 2017.
 */
#ifndef DALBE_H
#define DALBE_H

#include "fixed.h"
#include "dalbe_ctl.h"

/* Defaults, each the paper's unless it says otherwise. */
#define DALBE_TW_PAPER_NS	10000000000ull	/* Tw = 10 s ... */
#define DALBE_UPDATES		128	/* ... in a window of 1300 s: so many
					 * updates also in shorter windows
					 */
#define DALBE_TW_ROUNDS		8	/* least Tw in RTTs (ours): fewer rounds
					 * give no average
					 */
#define DALBE_TW_LEAST_ROUNDS	2	/* ... or so many, in a window too short for
					 * that: one for w to act, one to see it
					 */
#define DALBE_W_LIMIT_Q16	3277	/* F(19), lw = 0.05 */
#define DALBE_PHI_LIMIT_Q16	6554	/* l_phi = 0.1 */
#define DALBE_TPHI_UPDATES	4	/* Tphi in Tw; the paper gives none */
#define DALBE_PHI_MIN_LOSSES	2	/* "too little loss to judge" */
#define DALBE_PHI_MAX_Q16	(1024u << 16)	/* ours: bounds mu */
#define DALBE_KP_Q16		32768	/* F(9), Kp = 0.5 */
#define DALBE_KI_Q16		1966	/* Ki = 0.03 */
#define DALBE_KD_Q16		6554	/* Kd = 0.1 */
#define DALBE_ERROR_MAX_Q16	(16 << 16)	/* |eps| where the rate is ~ 0 */
#define DALBE_TRIM_GAIN_Q16	16384	/* MBC, see dalbe_mbc_trim(): 1/4 */
#define DALBE_TRIM_MIN_Q16	8192	/* model error corrected: 1/8 ... */
#define DALBE_TRIM_MAX_Q16	(8u << 16)	/* ... to 8 */
#define DALBE_SHORTFALL_MAX_Q16	32768	/* ours: what one Tw may say for or
					 * against the goal, of a sum of ...
					 */
#define DALBE_INFEASIBLE_Q16	Q16_ONE	/* ... so much before we call it
					 * infeasible, see dalbe_judge()
					 */
#define DALBE_HASTE_UPDATES	64	/* the most that was taken is forgotten over half
					 * of a window
					 */
#define DALBE_ROOM_Q16		(2 * Q16_ONE)	/* best effort over what is needed, as
						 * long as nothing is known: enough
						 */
#define DALBE_ROOM_MAX_Q16	(3 * Q16_ONE)	/* counts for no more in its mean */
#define DALBE_ROOM_TPHI		2		/* begins after so many Tphi, if phi matters */
#define DALBE_MARGIN_SHIFT	5	/* ours: aim 1/32 of the window early, for
					 * the last bytes, and the program's own
					 * end, take time too
					 */
#define DALBE_OVERRUN_SHIFT	4	/* ours: w is kept for 1/16 of the goal
					 * after its end, see dalbe_overrun()
					 */
#define DALBE_OVERRUN_BYTES	65536	/* ... and this much */

/**
 * struct dalbe_config - what the owner of the goal chose
 * @controller: DALBE_CONTROLLER_*
 * @after_deadline: DALBE_AFTER_*
 * @tw_ms: update period; 0: from window and RTT
 * @wmin_q16: lowest w, 1 .. Q16_ONE
 * @unlimited: w and phi may rise at once, without F(19)
 */
struct dalbe_config {
	u8 controller;
	u8 after_deadline;
	bool unlimited;
	u32 tw_ms;
	u32 wmin_q16;
};

/**
 * struct dalbe_sample - one update interval as the base saw it
 * @now_ns: time, on the deadline's clock
 * @elapsed_ns: since the last sample, on a clock that stops in suspend
 * @bytes_done: acknowledged since the goal was set, in all
 * @srtt_us: smoothed RTT
 * @price_q40: what the base pays at w = 1 without phi, per round: sum over its
 *             indications z of P_W(z), F(22)
 * @price_std_q40: the part of it that the network's standard congestion control
 *                 pays too (loss, ECN): the denominator of F(25)
 * @weight_std_q40: W of F(22) for one such indication
 * @rounds: N of F(22), in RTT rounds in which the base's window could grow
 * @losses: indications behind @price_std_q40
 * @app_limited: most of the time the sender had too little to send
 * @contended: the path was congested for most of the time
 */
struct dalbe_sample {
	u64 now_ns;
	u64 elapsed_ns;
	u64 bytes_done;
	u64 price_q40;
	u64 price_std_q40;
	u64 weight_std_q40;
	u32 srtt_us;
	u32 rounds;
	u32 losses;
	bool app_limited;
	bool contended;
};

/**
 * struct dalbe_model - steady state of the base, F(12)
 * @price_q40: price per round at which the base sends at rate_Bps
 * @arg: handed to it
 */
struct dalbe_model {
	u64 (*price_q40)(const void *arg, u64 rate_Bps);
	const void *arg;
};

struct dalbe_pid {
	s64 integral_q16;	/* F(8), times Ki */
	s64 error_q16;		/* eps of the last update */
};

struct dalbe {
	/* goal */
	u64 goal_bytes;		/* 0: none */
	u64 bytes_done;
	u64 start_ns;		/* of the window, which another deadline begins anew */
	u64 deadline_ns;
	u64 finished_ns;	/* update that found it done; 0: not yet */
	struct dalbe_config config;
	/* control */
	u64 target_Bps;		/* zeta, F(6), for the interval under way */
	u64 rate_Bps;		/* xbar of the last interval */
	u32 w_q16;
	u32 w_lately_q16;	/* the most that w was, slowly forgotten */
	u32 phi_q16;		/* F(25) */
	u32 trim_q16;		/* MBC: 1 + eps, with memory */
	u32 room_q16;		/* MBC: mean of 1 over the w that was needed */
	u64 expected_Bps;	/* MBC: what the model expects at w_q16 */
	struct dalbe_pid pid;
	u64 price_target_q40;	/* price to be paid per round from now on */
	/* phi's interval */
	u64 phi_price_q40;	/* sum of price times rounds */
	u64 phi_std_q40;	/* likewise */
	u32 phi_losses;
	u16 phi_updates;
	/* report */
	u32 shortfall_q16;	/* that w = 1 is not enough, see dalbe_judge() */
	u32 updates;
	u8 status;		/* DALBE_STATUS_* */
	bool app_limited;
	bool w_limited;		/* F(19) held w back at the last update */
	bool floored;		/* the last update asked for w < wmin */
	bool ceiled;		/* the last update asked for w > 1 */
	bool retargeted;	/* the goal or w changed within the interval */
};

u64 dalbe_target_Bps(u64 bytes_left, u64 left_ns);
u32 dalbe_limit_increase(u32 old_q16, u32 new_q16, u32 limit_q16);
s64 dalbe_pid_update(struct dalbe_pid *pid, u32 w_q16, u64 target_Bps,
		     u64 rate_Bps, u64 tw_ns);
u32 dalbe_mbc_weight(u64 price_q40, u32 phi_q16, u64 model_price_q40,
		     u32 trim_q16);
u32 dalbe_mbc_trim(u32 trim_q16, u64 target_Bps, u64 rate_Bps);
u32 dalbe_reserve(u32 w_q16);
u32 dalbe_phi(u32 phi_q16, u64 price_q40, u64 price_std_q40, u32 limit_q16);

void dalbe_start(struct dalbe *d, const struct dalbe_config *config,
		 u64 bytes, u64 bytes_done, u64 now_ns, u64 deadline_ns);
void dalbe_configure(struct dalbe *d, const struct dalbe_config *config);
void dalbe_change(struct dalbe *d, u64 bytes, u64 now_ns, u64 deadline_ns);
u64 dalbe_tw_ns(const struct dalbe *d, u32 srtt_us);
void dalbe_update(struct dalbe *d, const struct dalbe_sample *s,
		  const struct dalbe_model *model);
u32 dalbe_mu_q16(const struct dalbe *d);
u32 dalbe_haste_q16(const struct dalbe *d);

#endif /* DALBE_H */
