// SPDX-License-Identifier: GPL-2.0-only
/*
 * The price of bases that pay for losses alone, as CUBIC does; and how w inflates it.
 *
 *	                         +--> phantom signals: one packet in 1/P is lost or marked, and we
 *	losses, marks --> P, tau |    cut for one in w/P: phantom signals make up the difference.
 *	                         |    None come once the last real one is more than 3 tau ago
 *	                         +--> or beta: what a loss leaves of the window, times w
 *
 * Differences from the framework paper:
 *   o A phantom signal cuts the window once in a round trip, as a mark would.
 *   o None comes before the first real one. The paper's chance of one in four would hold back a
 *     flow that is alone on a link and never has a loss.
 *   o tau and P are measured while signals are recent. Where they have ceased, the next distance
 *     begins there: alone on a link the flow would otherwise learn from its own silence, and be
 *     silent for longer each time.
 *   o A spurious loss, whose cut TCP undoes later, stays a signal.
 *
 * Reference: the paper is that which base.h names; phantom signals are its Figure 3.
 */
#include "core/bases/signals.h"

/**
 * signals_start - such a base begins
 * @n: its signals
 * @p: the connection
 */
void signals_start(struct signals *n, const struct tcp_path *p)
{
	*n = (struct signals) {
		.last_signal_us = p->now_us,
		.last_delivered = path_delivered(p),
	};
}

/**
 * signals_inflate - mu is new: how many phantom signals are to come from now on?
 * @n: the signals
 * @mu_capped_q16: min(mu, 1), 1 .. Q16_ONE
 */
void signals_inflate(struct signals *n, u32 mu_capped_q16)
{
	n->inflation_q16 = fp_ratio_q16(Q16_ONE, mu_capped_q16) - Q16_ONE;
}

/**
 * signals_count - a loss or a mark
 * @n: the signals
 * @p: the connection
 */
void signals_count(struct signals *n, const struct tcp_path *p)
{
	u32 part = max_t(u32, n->count, 1);

	/* the first is the distance from the beginning: that of two signals takes its place */
	n->time_us = fp_mean(n->time_us, p->now_us - n->last_signal_us, part);
	n->packets_q8 = fp_mean(n->packets_q8,
				(u64)max(path_delivered(p) - n->last_delivered, 1u) << 8, part);
	n->count = min(n->count + 1, SIGNALS_MEAN);
	n->recent = true;
	n->last_signal_us = p->now_us;
	n->last_delivered = path_delivered(p);
}

/**
 * signals_price - P[loss], which others pay as well
 * @n: the signals
 * @sample: price_q40, price_standard_q40 and others_seen are set
 *
 * Of a single signal only while phantom signals come for it: if the price were 0 then, w would stay
 * at wmin, and phantoms would keep the second away. Later it is 0 until the second: a distance in
 * slow start says little.
 */
void signals_price(const struct signals *n, struct control_sample *sample)
{
	sample->others_seen = n->recent;
	sample->price_q40 = n->count > 1 || n->recent ?
			    fp_mul_div(Q40_ONE, 256, n->packets_q8) : 0;
	sample->price_standard_q40 = sample->price_q40;
}
