/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Losses and marks as the price of a base, and what w inflates: see signals.c.
 */
#ifndef DALBE_SIGNALS_H
#define DALBE_SIGNALS_H

#include "core/control/control.h"
#include "core/path.h"

/* Real signals are recent for three times their mean distance, v, the paper's. Half: one in four
 * pauses between two losses passes for an idle link. Twice: an idle link is found later.
 */
#define SIGNALS_RECENT		3

/* After a single real signal one ACK in four, at most, brings a phantom signal: the paper's. A
 * window of ten, with an ACK for two packets, is cut in three rounds of four then. Half: in every
 * other round. Twice: in every round, and so is one of two packets, the least, in every other.
 */
#define SIGNALS_UNKNOWN_Q32	BIT(30)

/* The distance of real signals is a mean over eight, as CDG's gradients are. Half: phantom signals
 * follow single losses. Twice: a flow that has a loss in three seconds learns in a minute what
 * others' coming has changed.
 */
#define SIGNALS_MEAN		8

/**
 * struct signals - losses and marks
 * @last_signal_us: when the last came, or when they ceased
 * @last_delivered: path_delivered() at that time
 * @count: signals that the two means are of, up to SIGNALS_MEAN
 * @recent: the last is so near that others are to be expected, see signals_recent()
 * @time_us: mean distance in time, tau_cong
 * @packets_q8: mean distance in packets, the inverse of P[loss]
 * @inflation_q16: so many phantom signals for one real one, 1/mu - 1, mu = w * phi being at most 1
 */
struct signals {
	u64 last_signal_us;
	u32 last_delivered;
	u8 count;
	bool recent;
	u64 time_us;
	u64 packets_q8;
	u32 inflation_q16;
};

void signals_start(struct signals *n, const struct tcp_path *p);
void signals_inflate(struct signals *n, u32 mu_capped_q16);
void signals_count(struct signals *n, const struct tcp_path *p);
void signals_price(const struct signals *n, struct control_sample *sample);

/* These run at each ACK: */

/* Is the last real signal so near that there are others? */
static inline bool signals_recent(struct signals *n, const struct tcp_path *p)
{
	if (n->recent && p->now_us - n->last_signal_us > SIGNALS_RECENT * n->time_us) {
		n->recent = false;
		n->last_signal_us = p->now_us;
		n->last_delivered = path_delivered(p);
	}
	return n->recent;
}

/* Does an ACK of so many packets bring a phantom signal? Each has the chance P[loss] (1/mu - 1). */
static inline bool signals_phantom(const struct signals *n, u32 acked)
{
	u64 chance_q32 = fp_mul_div((u64)n->inflation_q16 << 24, acked, n->packets_q8);

	if (n->count < 2)
		chance_q32 = min_t(u64, chance_q32, SIGNALS_UNKNOWN_Q32);
	return get_random_u32() < chance_q32;
}

#endif /* DALBE_SIGNALS_H */
