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

#include "core/fixed.h"

/* C(3), a: so many gradients are averaged, as in Linux. Half follows noise; twice backs off a
 * round trip or two later.
 */
#define CDG_WINDOW		8

/* C(5), beta = sqrt(1/2), in 1/1024, the paper's; and 1 - beta, the part of the window that a
 * delay backoff takes. Half of the cut drains a queue in two backoffs; twice leaves the link idle.
 */
#define CDG_BETA_Q10		724
#define CDG_CUT_DELAY_Q16	19200

/* The histogram forgets a quarter of what it knows every Tw, so it remembers four to five Tw, the
 * time in which phi is measured. Half: G follows the competitors of eight Tw ago. Twice: the few
 * gradients of two Tw.
 */
#define CDG_AGE_PART		4

/* The delayed-ACK filter's most credits, one for each ACK of two packets or more: the ACK of one
 * spends one, see cdg_rtt_sample(). Given by Hayes, CAIA TR 100219A, and Linux' tcp_cdg.c.
 */
#define CDG_DELACK_CREDIT	5

/* Given by Linux' tcp_cdg.c: gradients that fall by 4 us a round have drained the queue
 * (use_ineff); those within 4 us a round are no trend (use_tolerance).
 */
#define CDG_DRAINED_US		32
#define CDG_TOLERANCE_US	64

/* Given by Linux' tcp_cdg.c: ACKs of a train are less than 3 ms apart, RTTs below 125 us are
 * noise, and a delay is looked for after eight RTTs.
 */
#define CDG_TRAIN_GAP_US	3000
#define CDG_HYSTART_LEAST_US	125
#define CDG_HYSTART_RTTS	8

/* A paced train tells in a round whose queue is 1/16 of the RTT, or 8 ms: half of the delay that
 * ends slow start by itself, an eighth and 16 ms in Linux' CUBIC. Half: jitter passes for a queue.
 * Twice: the delay comes first, and the train is never asked.
 */
#define CDG_TRAIN_QUEUE_SHIFT	4
#define CDG_TRAIN_QUEUE_MAX_US	8000

/* Least mean cut to reckon with, 1/64: at two packets a cut takes nothing, and delay would have no
 * price there. Half: there delay counts for half as much in the price. Twice: for twice as much.
 * Larger windows do not come near it.
 */
#define CDG_CUT_MIN_Q16		1024

/* F(22), W(loss), cut / (1 - cut/2) of a half: see cdg_weight_q16(). Given by the cut. */
#define CDG_WEIGHT_LOSS_Q16	43691

/* G as in Linux' tcp_cdg.c, whose backoff_factor is 1000 / (8 G), G in ms: 62500 to 1; and the
 * paper's default, 3 ms.
 * Half of G backs off twice as readily, twice keeps about twice the queue.
 */
#define CDG_G_MIN_NS		2000
#define CDG_G_MAX_NS		125000000
#define CDG_G_DEFAULT_NS	3000000

/* Least G of a flow with a goal, or of a scavenger, while the queue is short. Measured alone at
 * 10 Mbit/s, 50 ms: 3 ms uses 85 % of the link, 6 ms 92 %, 20 ms 94 %, 125 ms no more. Half uses
 * less of the link; twice keeps a longer queue for nothing.
 */
#define CDG_IDLE_G_DEFAULT_NS	20000000

/* The queue is short below 1/16 of the base RTT, or 1 ms: two packets at 20 Mbit/s. Half: an idle
 * link's jitter is no short queue, and a small G answers it. Twice: CDG answers a queue later.
 */
#define CDG_IDLE_SHIFT		4
#define CDG_IDLE_US		1000

/* The base RTT rises by 2^-15 of the excess in a round of 100 ms, or less in a shorter one: by
 * half of it in 40 minutes. A competitor fills a buffer for hours, a route changes rarely. Half as
 * slow finds a longer route after hours; twice as fast takes a full buffer for the path.
 */
#define CDG_BASE_RTT_SHIFT	15
#define CDG_BASE_RTT_ROUND_US	100000

/* Half-octaves of the gradient sum, 1 us to 2^29 us: G's own resolution. Half of them: sums above
 * 23 ms are all alike. Twice: no sum is so large.
 */
#define CDG_HIST_BINS		58

enum cdg_state {
	CDG_UNKNOWN,	/* or the queue stands at its limit */
	CDG_NONFULL,	/* the queue drains: a loss is no congestion */
	CDG_BACKOFF,	/* the cut under way answers a delay gradient */
};

enum cdg_hystart {
	CDG_HYSTART_NONE	= 0,
	CDG_HYSTART_TRAIN	= 1,
	CDG_HYSTART_DELAY	= 2,
};

/**
 * struct cdg_heuristics - switches of the administrator, most of them of CDG's optional parts. A
 *	scavenger has only @use_ineff, while it is alone, and @hystart
 * @use_ineff: give up on delay after this many backoffs without effect; 0: off
 * @use_shadow: after a loss, go to half of the window that delay backoffs have not cut, at most
 *	to the present one
 * @use_tolerance: take a loss with a draining queue for no congestion
 * @hystart: enum cdg_hystart, or both bits
 * @inflate_beta: of bases that pay for losses alone, as CUBIC: w deepens the cut for each loss,
 *	instead of adding phantom losses
 */
struct cdg_heuristics {
	u8 use_ineff;
	bool use_shadow;
	bool use_tolerance;
	u8 hystart;
	bool inflate_beta;
};

/* 268 s: an RTT that is longer, or forged, counts as this. A bound of arithmetic: eight gradients
 * of it fit in an s32, eight of twice as much do not.
 */
#define CDG_RTT_MAX_US		((1 << 28) - 1)

/* The lowest and the highest RTT of a round; or how these have grown since the round before. */
struct cdg_minmax {
	s32 min_us;
	s32 max_us;
};

/**
 * struct cdg_counts - what happened since the owner last looked
 * @rounds: RTT rounds
 * @queued_rounds: of these, rounds that never saw the queue (nearly) empty
 * @losses: loss or ECN indications, answered or not
 */
struct cdg_counts {
	u32 rounds;
	u32 queued_rounds;
	u32 losses;
};

/**
 * struct cdg_gradients - the last rounds' gradients
 * @round: growth of the lowest and of the highest RTT in each, C(1), C(2)
 * @sum: of all, C(3) times CDG_WINDOW
 */
struct cdg_gradients {
	struct cdg_minmax round[CDG_WINDOW];
	struct cdg_minmax sum;
};

/**
 * struct cdg_g - how readily to back off
 * @scale_q40: 1000 / (CDG_WINDOW * G), per us of the sum
 * @idle_scale_q40: the same for @idle_ns
 * @ns: G of C(4)
 * @idle_ns: least G while the queue is short; 0: exact CDG
 */
struct cdg_g {
	u64 scale_q40;
	u64 idle_scale_q40;
	u32 ns;
	u32 idle_ns;
};

/**
 * struct cdg_price - what delay costs
 * @cut_q16: mean of the last delay cuts, F(23), as parts of the window
 * @counts: since the owner last looked
 * @rounds_q8: rounds that had a gradient, in the memory of cdg_age_histogram()
 * @hist_q8: of these, rounds by positive gradient: for flows whose G is to be found
 */
struct cdg_price {
	u32 cut_q16;
	struct cdg_counts counts;
	u32 rounds_q8;
	u32 hist_q8[CDG_HIST_BINS];
};

/**
 * struct cdg - CDG of one flow
 * @rtt: lowest and highest RTT of the round under way; 0: none yet
 * @rtt_prev: of the round before
 * @base_rtt_q16: lowest min_us of a round, slowly forgotten
 * @shadow_cwnd: window without the delay backoffs, packets
 * @hystart_last_us: when the last ACK of the train came
 * @hystart_start_us: when the first did
 * @hystart_min_us: lowest RTT since (re)start
 * @ineffectual: backoffs since one drained the queue
 * @hystart_samples: RTTs looked at in this round
 * @delack: credit of the delayed-ACK filter
 * @state: enum cdg_state
 * @tail: slot of gradients.round[] to be overwritten
 * @filled: all of gradients.round[] has been written
 * @gradients: of the last rounds
 * @g: how readily to back off
 * @price: what delay costs
 *
 * Every ACK needs what comes first, only a round's or Tw's end what comes later.
 */
struct cdg {
	struct cdg_minmax rtt;
	struct cdg_minmax rtt_prev;
	u64 base_rtt_q16;
	u32 shadow_cwnd;
	u32 hystart_last_us;
	u32 hystart_start_us;
	s32 hystart_min_us;
	u16 ineffectual;
	u8 hystart_samples;
	u8 delack;
	u8 state;
	u8 tail;
	bool filled;
	struct cdg_gradients gradients;
	struct cdg_g g;
	struct cdg_price price;
};

/**
 * cdg_base_rtt_us - the RTT without a queue, as far as it is known
 * @c: the flow
 *
 * Return: us, the lowest of any round's and of any delayed ACK, slowly forgotten; 0: none yet.
 */
static inline u32 cdg_base_rtt_us(const struct cdg *c)
{
	return c->base_rtt_q16 >> 16;
}

/**
 * cdg_rtt_sample - one RTT measurement
 * @c: the flow
 * @rtt_us: RTT in us; 0 or less: none was taken
 * @pkts_acked: packets that the ACK covers
 * @sacked: the receiver holds data out of order
 *
 * Delayed ACKs of single packets measure the receiver's timer. They are told
 * by credit (CDG_DELACK_CREDIT): each ACK of two or more packets earns
 * one, up to five; a single-packet ACK spends one and may then lower the
 * round's minimum but not raise its maximum.
 *
 * Return: the RTT, us, held to CDG_RTT_MAX_US; 0 if it is none, or such a single one's.
 */
static inline s32 cdg_rtt_sample(struct cdg *c, s32 rtt_us, u32 pkts_acked, bool sacked)
{
	if (rtt_us <= 0)
		return 0;
	rtt_us = min(rtt_us, CDG_RTT_MAX_US);

	if (!sacked) {
		if (pkts_acked == 1 && c->delack) {
			c->rtt.min_us = min(c->rtt.min_us, rtt_us);
			c->delack--;
			return 0;
		}
		if (pkts_acked > 1 && c->delack < CDG_DELACK_CREDIT)
			c->delack++;
	}

	if (!c->rtt.min_us || rtt_us < c->rtt.min_us)
		c->rtt.min_us = rtt_us;
	if (rtt_us > c->rtt.max_us)
		c->rtt.max_us = rtt_us;
	return rtt_us;
}

void cdg_init(struct cdg *c, u32 g_ns, u32 cwnd);
void cdg_forget_gradients(struct cdg *c);
void cdg_restart(struct cdg *c, u32 cwnd);
void cdg_set_g(struct cdg *c, u32 g_ns);
void cdg_set_idle_g(struct cdg *c, u32 idle_g_ns);

void cdg_rtt_delayed_ack(struct cdg *c, s32 rtt_us);
void cdg_set_base_rtt(struct cdg *c, u32 base_rtt_us);
s32 cdg_round(struct cdg *c, const struct cdg_heuristics *h);
u32 cdg_backoff_probability(const struct cdg *c, s32 gradient_sum_us,
			    bool queue_short);
bool cdg_backoff(struct cdg *c, const struct cdg_heuristics *h,
		 s32 gradient_sum_us, u32 random, u32 cwnd);
u32 cdg_g_used_ns(const struct cdg *c);
s64 cdg_gradient_ns(s32 gradient_sum_us);
void cdg_backoff_done(struct cdg *c);
u32 cdg_ssthresh(struct cdg *c, const struct cdg_heuristics *h, u32 cwnd);
void cdg_grown(struct cdg *c, u32 packets);
void cdg_not_cwnd_limited(struct cdg *c, u32 cwnd);
enum cdg_hystart cdg_hystart_exit(struct cdg *c, u8 detect, u32 now_us,
				  bool cwnd_limited, bool paced);

u32 cdg_exp_neg_q32(u64 x_q26);
u32 cdg_exp2_q8(u32 x_q8);
u64 cdg_scale_q40(u32 g_ns);
u32 cdg_probability_q32(s32 gradient_sum_us, u64 scale_q40);
u32 cdg_weight_q16(const struct cdg *c);
u64 cdg_delay_price_q40(const struct cdg *c, u32 g_ns);
u32 cdg_g_for_delay_price(const struct cdg *c, u64 price_q40, u32 fallback_ns);
u64 cdg_rate_price_q40(u64 rate_Bps, u32 mss, u32 rtt_us);
void cdg_age_histogram(struct cdg *c);
void cdg_forget_prices(struct cdg *c);

#endif /* DALBE_CDG_H */
