// SPDX-License-Identifier: GPL-2.0-only
/*
 * CUBIC's window in slow motion
 *
 * A flow of weight w sends w * B, where B is the window that a best-effort flow
 * would hold on the same path. It cannot measure B: it would have to send it.
 * But B follows from the losses, and of those a flow at w * B sees the part w.
 * So B's clock is slowed by w as well: for a flow that meets each loss with
 * probability p per packet, B grows for 1/p of its own packets between two
 * losses, as a best-effort flow does, whatever w. At w = 1 this is CUBIC.
 *
 * Growth per acknowledged packet, (target - B) / B, needs no change: w * B packets
 * per round trip of real time are B packets per round trip of slow time.
 *
 * This holds as far as losses meet packets independently: within 8 % for w down
 * to 0.02 (tests/python/test_cubic.py). A burst of losses, as a full drop-tail
 * queue makes, cuts a best-effort flow once, whatever it takes of a window. In slow
 * motion each is met for itself, and B is too small, by a factor of three where a
 * burst takes ten packets of B; beside CUBIC, at the median, 1.5 at w = 0.2 and three at
 * 0.05 (docs/framework.md). Such a B errs towards giving way.
 *
 * Differences from the RFC:
 * - the target is computed once per round trip, not at each ACK, and bounds the
 *   Reno-friendly growth as well: by 1.5 per round trip, never by e^0.5;
 * - alpha stays below one when W_est has passed the window before the cut, as in Linux'
 *   tcp_cubic.c;
 * - the curve's distance from W_max is in whole packets, and a cut takes whole packets,
 *   as there;
 * - a cut leaves what was earned of the next packet, but not to W_est. Linux forgets it;
 *   measured beside it (docs/notebook.md), ours is the slower one without it.
 * The last two bring the first packet after a cut within a round trip instead of two,
 * and the others no sooner.
 */
#include "core/scavenger/cubic.h"

/* Largest integer whose cube is at most x, below 2^21. */
static u32 cubic_root(u64 x)
{
	u64 root = 0;
	int bit;

	for (bit = 20; bit >= 0; bit--) {
		u64 next = root | 1ull << bit;

		if (next * next * next <= x)
			root = next;
	}
	return root;
}

/**
 * cubic_k_ms - K, the time in which the curve grows by so much up to its flat part: RFC 9438, R(2)
 * @growth_q16: packets; a loss at W takes (1 - beta) W
 *
 * Return: ms, below 2^21.
 */
u32 cubic_k_ms(u64 growth_q16)
{
	return cubic_root(fp_mul_div(growth_q16, 1000000000, CUBIC_C_Q16));
}

/**
 * cubic_start - a curve begins
 * @c: the window; anything before the first start
 * @window_q16: B, packets; held to 2 .. CUBIC_WINDOW_MAX
 * @origin_q16: W_max, packets; below @window_q16 the curve begins at its flat part
 *
 * The window stands still until the first cubic_round(). Time is counted in whole
 * ms, which moves the curve by less than 3 C d^2 * 1 ms at the distance d from K.
 */
void cubic_start(struct cubic *c, u64 window_q16, u64 origin_q16)
{
	c->window_q16 = clamp_t(u64, window_q16, 2 * Q16_ONE,
				(u64)CUBIC_WINDOW_MAX << 16);
	c->origin_q16 = clamp_t(u64, origin_q16, c->window_q16,
				(u64)CUBIC_WINDOW_MAX << 16);
	c->reno_q16 = c->window_q16;
	c->step_q16 = 0;
	c->time_us = 0;
	c->k_ms = cubic_k_ms(c->origin_q16 - c->window_q16);
}

/* R(1): W_cubic(t), whole packets away from W_max, in Q16. */
static u64 cubic_curve_q16(const struct cubic *c, u64 time_ms)
{
	bool before = time_ms < c->k_ms;
	u64 d_ms = before ? c->k_ms - time_ms : time_ms - c->k_ms;
	u64 offset_q16;

	d_ms = min_t(u64, d_ms, CUBIC_TIME_MAX_MS);
	offset_q16 = fp_mul_div(d_ms * d_ms * d_ms, CUBIC_C_Q16, 1000000000);
	offset_q16 &= ~(Q16_ONE - 1ull);
	if (!before)
		return c->origin_q16 + offset_q16;
	return c->origin_q16 > offset_q16 ? c->origin_q16 - offset_q16 : 0;
}

/**
 * cubic_round - a round trip has passed: how fast to grow in the next
 * @c: the window
 * @elapsed_us: its duration, in slow motion; 0 where it does not count
 * @rtt_us: RTT in slow motion's own time, that is, as it is
 *
 * The next round trip grows the window to W_cubic(t + RTT), R(1), or as Reno would
 * where that is more; at most by half, whatever the clock says.
 */
void cubic_round(struct cubic *c, u64 elapsed_us, u32 rtt_us)
{
	u64 target_q16;

	c->time_us = fp_add(c->time_us, elapsed_us);
	target_q16 = cubic_curve_q16(c, div_u64(fp_add(c->time_us, rtt_us),
						1000));
	/* the Reno-friendly region, R(4): never slower than Reno would be */
	target_q16 = max(target_q16, c->reno_q16 + CUBIC_ALPHA_Q16);
	target_q16 = clamp_t(u64, target_q16, c->window_q16,
			     c->window_q16 + c->window_q16 / 2);
	c->step_q16 = fp_ratio_q16(target_q16 - c->window_q16, c->window_q16);
}

/**
 * cubic_lower - hold the window to less, and begin anew there
 * @c: the window, started
 * @window_q16: packets; of no effect where it is no larger
 */
void cubic_lower(struct cubic *c, u64 window_q16)
{
	if (c->window_q16 > window_q16)
		cubic_start(c, window_q16, 0);
}

/**
 * cubic_regain - grow to this window as soon as growth is allowed: the path has room for it
 * @c: the window, started; the next cubic_round() makes it so
 * @window_q16: packets; below what a Reno flow would have, of no effect
 *
 * By half per round trip at most, as all growth; beyond it as before.
 */
void cubic_regain(struct cubic *c, u64 window_q16)
{
	c->reno_q16 = max_t(u64, c->reno_q16,
			    min_t(u64, window_q16, (u64)CUBIC_WINDOW_MAX << 16));
}

/**
 * cubic_beta - what a loss leaves of a window, RFC 9438, 4.6
 * @cwnd: the window, packets
 *
 * Return: packets, at least two.
 */
u32 cubic_beta(u32 cwnd)
{
	return max_t(u32, (u64)cwnd * CUBIC_BETA_Q10 >> 10, 2);
}

/**
 * cubic_loss - cut for a loss, with fast convergence
 * @c: the window, started
 *
 * To beta, rounded down to whole packets, as TCP's windows are (at ten packets the rest
 * would be worth a tenth of the rate), and to two at least. The part of a packet that
 * had been earned is kept. W_max is the window before, or less where that had not
 * reached the W_max before it (section 4.7).
 */
void cubic_loss(struct cubic *c)
{
	u64 cwnd = c->window_q16 >> 16, w_max = cwnd;
	u64 earned_q16 = c->window_q16 & (Q16_ONE - 1);

	if (c->window_q16 < c->origin_q16)
		w_max = w_max * (1024 + CUBIC_BETA_Q10) / 2048;
	cwnd = cubic_beta(cwnd);
	cubic_start(c, cwnd << 16 | earned_q16, w_max << 16);
	c->reno_q16 = cwnd << 16;
}
