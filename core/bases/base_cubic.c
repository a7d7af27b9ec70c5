// SPDX-License-Identifier: GPL-2.0-only
/*
 * Linux' CUBIC as a base: losses are its price, and what w inflates (signals.c).
 *
 * At w = 1, or without a goal, the windows are those of Linux' tcp_cubic.c: see cubictcp.c.
 *
 * Differences from the framework paper, beside those of signals.c: the model is Reno's where CUBIC
 * grows as Reno does.
 *
 * Reference: RFC 9438, section 5, has the model.
 */
#include "core/sender.h"

/* P at which CUBIC sends so fast: 1.07 RTT / W^4/3, or 3/2 / W^2 where it grows as Reno does. */
static u64 cubic_base_model_q40(const void *path, u64 rate_Bps)
{
	const struct tcp_path *p = path;
	u64 bytes = fp_mul_div(rate_Bps, path_srtt_us(p), USEC_PER_SEC);
	u64 w_q30 = fp_mul_div(bytes, BIT(30), path_mss(p));
	u64 curve_q40, reno_q40;

	w_q30 = clamp_t(u64, w_q30, BIT(10), 1ull << 58);
	curve_q40 = fp_mul_div((u64)path_srtt_us(p) * CUBICTCP_MODEL_Q40, BIT(30), w_q30);
	curve_q40 = fp_mul_div(curve_q40, BIT(10), cubictcp_cube_root(w_q30));
	reno_q40 = fp_mul_div(fp_mul_div(Q40_ONE * 3 / 2, BIT(30), w_q30), BIT(30), w_q30);
	return max(curve_q40, reno_q40);
}

static void cubic_base_event(struct sender *s, struct tcp_path *p, enum base_event event)
{
	switch (event) {
	case BASE_START:
	case BASE_TIMEOUT:
		cubictcp_reset(&s->cubictcp, p);
		break;
	case BASE_TX_START:
		cubictcp_resume(&s->cubictcp, p);
		break;
	default:
		break;
	}
}

const struct lbe_base cubic_base = {
	.grow		= cubictcp_grow,
	.cut		= cubictcp_cut,
	.model_q40	= cubic_base_model_q40,
	.event		= cubic_base_event,
	.hystart	= cubictcp_hystart,
};
