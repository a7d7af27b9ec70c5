/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CAIA Delay-Gradient (CDG): from RTT samples to the probability of a backoff.
 *
 * Pure code: it knows no socket, and the clock, the random numbers and the
 * congestion window are handed in. One caller at a time per struct cdg.
 *
 * References, C(n) is equation n of the second:
 *   D.A. Hayes, G. Armitage, "Revisiting TCP congestion control using delay
 *   gradients", IFIP Networking 2011.
 *   T.C. Tangenes, D.A. Hayes, A. Petlund, D. Ros, "Evaluating CAIA Delay
 *   Gradient as a candidate for deadline-aware less-than-best-effort
 *   transport", 2017.
 */
#ifndef DALBE_CDG_H
#define DALBE_CDG_H

#include "fixed.h"

#define CDG_WINDOW		8	/* C(3), a: gradients averaged; Linux */
#define CDG_BETA_Q10		724	/* C(5), beta = sqrt(1/2), in 1/1024 */
#define CDG_CUT_DELAY_Q16	19200	/* 1 - beta: part of cwnd that a delay
					 * backoff takes
					 */
#define CDG_CUT_MIN_Q16		1024	/* least mean cut to reckon with: at two
					 * packets a cut takes nothing
					 */
#define CDG_WEIGHT_LOSS_Q16	43691	/* F(22), W(loss): see cdg_weight_q16() */

#define CDG_G_MIN_NS		2000	/* as in Linux: backoff_factor 62500 */
#define CDG_G_MAX_NS		125000000 /* backoff_factor 1 */
#define CDG_G_DEFAULT_NS	3000000	/* the paper's default, 3 ms */
#define CDG_IDLE_G_DEFAULT_NS	20000000 /* measured alone at 10 Mbit/s, 50 ms:
					  * 3 ms uses 85 % of the link, 6 ms
					  * 92 %, 20 ms 94 %, 125 ms no more
					  */

#define CDG_SHORT_QUEUE_SHIFT	4	/* a queue is short up to 1/16 of the */
#define CDG_SHORT_QUEUE_MIN_US	1000	/* base RTT, or 1 ms: as effect.h's */

#define CDG_BASE_RTT_SHIFT	15	/* base RTT rises by 2^-15 of the excess, */
#define CDG_BASE_RTT_ROUND_US	100000	/* in a round, or less in a shorter one: by half
					 * of it in 40 min. A competitor fills a
					 * buffer for hours, a route changes rarely.
					 */

/* Half-octaves of the gradient sum, 1 us to 2^29 us. */
#define CDG_HIST_BINS		58

enum cdg_state {
	CDG_UNKNOWN,
	CDG_NONFULL,	/* the queue drains: a loss is no congestion */
	CDG_FULL,	/* the queue stands at its limit */
	CDG_BACKOFF,	/* the cut under way answers a delay gradient */
};

enum cdg_hystart {
	CDG_HYSTART_NONE	= 0,
	CDG_HYSTART_TRAIN	= 1,
	CDG_HYSTART_DELAY	= 2,
};

/**
 * struct cdg_heuristics - CDG's optional parts; for a scavenger only @use_ineff, while it
 *	is alone, and @hystart
 * @use_ineff: give up on delay after this many backoffs without effect; 0: off
 * @use_shadow: after a loss, resume at the window held before delay backoffs
 * @use_tolerance: take a loss with a draining queue for no congestion
 * @hystart: enum cdg_hystart, or both bits
 */
struct cdg_heuristics {
	u8 use_ineff;
	bool use_shadow;
	bool use_tolerance;
	u8 hystart;
};

/* 268 s: an RTT that is longer, or forged, counts as this; eight gradients of it
 * fit in an s32.
 */
#define CDG_RTT_MAX_US		((1 << 28) - 1)

struct cdg_minmax {
	s32 min_us;
	s32 max_us;
};

/**
 * struct cdg_counts - what happened since the owner last looked
 * @rounds: RTT rounds
 * @queued_rounds: of these, rounds that never saw the queue (nearly) empty
 * @backoffs: cuts for delay gradients
 * @losses: loss or ECN indications, answered or not
 */
struct cdg_counts {
	u32 rounds;
	u32 queued_rounds;
	u32 backoffs;
	u32 losses;
};

/* What every ACK needs comes first, what only a round's or Tw's end does later, and last
 * the histogram, for flows whose G is to be found.
 */
struct cdg {
	struct cdg_minmax rtt;		/* of the round under way; 0: none yet */
	struct cdg_minmax rtt_prev;	/* of the round before */
	u64 base_rtt_q16;	/* least min_us of a round, slowly forgotten */
	u32 shadow_cwnd;	/* window without the delay backoffs */
	u32 hystart_last_us;	/* last ACK of the train */
	u32 hystart_start_us;	/* first ACK of the train */
	s32 hystart_min_us;	/* lowest RTT since (re)start */
	u16 ineffectual;	/* backoffs since one drained the queue */
	u8 hystart_samples;
	u8 delack;		/* credit of the delayed-ACK filter */
	u8 state;		/* enum cdg_state */
	u8 tail;		/* slot of gradient[] to be overwritten */
	bool filled;		/* gradient[] is complete */
	struct cdg_minmax gradient[CDG_WINDOW];	/* C(1), C(2) */
	struct cdg_minmax gradient_sum;	/* C(3), times CDG_WINDOW */
	u64 scale_q40;		/* 1000 / (CDG_WINDOW * G), per us of the sum */
	u64 idle_scale_q40;	/* the same for idle_g_ns */
	u32 g_ns;		/* C(4), G */
	u32 idle_g_ns;		/* least G while the queue is short; 0: exact CDG */
	u32 cut_q16;		/* mean of the last delay cuts, F(23) */
	struct cdg_counts counts;
	u32 hist_rounds;	/* all rounds, in 1/256 */
	u32 hist[CDG_HIST_BINS]; /* rounds, in 1/256, by positive gradient */
};

void cdg_init(struct cdg *c, u32 g_ns, u32 cwnd);
void cdg_forget_gradients(struct cdg *c);
void cdg_restart(struct cdg *c, u32 cwnd);
void cdg_set_g(struct cdg *c, u32 g_ns);
void cdg_set_idle_g(struct cdg *c, u32 idle_g_ns);

void cdg_rtt_at_most(struct cdg *c, s32 rtt_us);
s32 cdg_rtt_sample(struct cdg *c, s32 rtt_us, u32 pkts_acked, bool sacked);
void cdg_set_base_rtt(struct cdg *c, u32 base_rtt_us);
void cdg_cut_round_short(struct cdg *c, s32 min_us);
s32 cdg_round(struct cdg *c, const struct cdg_heuristics *h);
u32 cdg_backoff_probability(const struct cdg *c, s32 gradient_sum_us,
			    bool queue_short);
bool cdg_backoff(struct cdg *c, const struct cdg_heuristics *h,
		 s32 gradient_sum_us, u32 random, u32 cwnd);
u32 cdg_base_rtt_us(const struct cdg *c);
u32 cdg_g_used_ns(const struct cdg *c);
s64 cdg_gradient_ns(s32 gradient_sum_us);
void cdg_backoff_done(struct cdg *c);
u32 cdg_ssthresh(struct cdg *c, const struct cdg_heuristics *h, u32 cwnd);
void cdg_grown(struct cdg *c, u32 packets);
void cdg_not_limited(struct cdg *c, u32 cwnd);
enum cdg_hystart cdg_hystart_exit(struct cdg *c, u8 detect, u32 now_us,
				  bool cwnd_limited, bool paced);

u32 cdg_exp_neg_q32(u64 x_q26);
u32 cdg_weight_q16(const struct cdg *c);
u64 cdg_delay_price_q40(const struct cdg *c, u32 g_ns);
u32 cdg_g_for_delay_price(const struct cdg *c, u64 price_q40, u32 fallback_ns);
u64 cdg_rate_price_q40(u64 rate_Bps, u32 mss, u32 rtt_us);
void cdg_age(struct cdg *c);
void cdg_forget(struct cdg *c);

#endif /* DALBE_CDG_H */
