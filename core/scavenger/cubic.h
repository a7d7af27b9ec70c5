/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CUBIC's window, in slow motion: what a best-effort flow would hold here.
 *
 * Pure code: it knows no socket, and the clock is handed in. One caller at a
 * time per struct cubic.
 *
 * Reference: RFC 9438, "CUBIC for Fast and Long-Distance Networks"; R(n) is its
 * figure n (its equations are numbered as figures).
 */
#ifndef DALBE_CUBIC_H
#define DALBE_CUBIC_H

#include "core/fixed.h"

/* RFC 9438: beta = 0.7, C = 0.4 packets/s^3, and alpha = 3 (1 - beta) / (1 + beta), R(4), the
 * growth of a Reno flow that cuts by 1 - beta. Given by the RFC: other values would not be its
 * flow's window. But that alpha is 34696 in Q16, or 34669 with 717/1024 for beta: ours is a slip,
 * 0.02 or 0.1 % more. It stays: a packet in a thousand is no matter, and another changes recorded
 * runs (tests/golden.sh).
 */
#define CUBIC_BETA_Q10		717
#define CUBIC_C_Q16		26214
#define CUBIC_ALPHA_Q16		34703

/* Bounds of arithmetic, further away than any window: packets, and a time from K at which the
 * curve is 461 million packets away.
 */
#define CUBIC_WINDOW_MAX	BIT(28)
#define CUBIC_TIME_MAX_MS	BIT(20)

/**
 * struct cubic - a window between two losses
 * @window_q16: B, packets
 * @origin_q16: W_max, where the curve is flat
 * @reno_q16: W_est, the window of the Reno flow
 * @time_us: since the curve began, in the flow's slow motion
 * @step_q16: growth per acknowledged packet, until the next cubic_round()
 * @k_ms: K, when the curve reaches @origin_q16
 */
struct cubic {
	u64 window_q16;
	u64 origin_q16;
	u64 reno_q16;
	u64 time_us;
	u32 step_q16;
	u32 k_ms;
};

u32 cubic_beta(u32 cwnd);
u32 cubic_k_ms(u64 growth_q16);
void cubic_start(struct cubic *c, u64 window_q16, u64 origin_q16);
void cubic_round(struct cubic *c, u64 elapsed_us, u32 rtt_us);
void cubic_lower(struct cubic *c, u64 window_q16);
void cubic_regain(struct cubic *c, u64 window_q16);
void cubic_loss(struct cubic *c);

/**
 * cubic_follow - the window that it stands for is another: begin anew there
 * @c: the window
 * @cwnd: packets; of no effect where it is these
 */
static inline void cubic_follow(struct cubic *c, u32 cwnd)
{
	if (c->window_q16 >> 16 != cwnd)
		cubic_start(c, (u64)cwnd << 16, 0);
}

/**
 * cubic_acked - grow
 * @c: the window, started
 * @packets: acknowledged
 *
 * By (target - B) / B for each; never shrinks, and stays at CUBIC_WINDOW_MAX.
 */
static inline void cubic_acked(struct cubic *c, u32 packets)
{
	c->window_q16 = min_t(u64, c->window_q16 + (u64)packets * c->step_q16,
			      (u64)CUBIC_WINDOW_MAX << 16);
	c->reno_q16 = min_t(u64, c->reno_q16 +
			    div64_u64(((u64)packets * CUBIC_ALPHA_Q16) << 16,
				      c->window_q16),
			    (u64)CUBIC_WINDOW_MAX << 16);
}

/**
 * cubic_packets_until - how many packets have to be acknowledged for so large a window?
 * @c: the window, started
 * @window_q16: packets, held to the window or more
 */
static inline u32 cubic_packets_until(const struct cubic *c, u64 window_q16)
{
	u64 more_q16 = window_q16 - min(window_q16, c->window_q16);

	return c->step_q16 ? min_t(u64, div_u64(more_q16 + c->step_q16 - 1, c->step_q16), U32_MAX) :
			     U32_MAX;
}

#endif /* DALBE_CUBIC_H */
