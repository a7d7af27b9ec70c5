// SPDX-License-Identifier: GPL-2.0-only
/*
 * dalbe_cubic: CUBIC that meets a deadline
 *
 * A socket without a goal is Linux' CUBIC. Under a goal the controller sets w, and w how many
 * losses there seem to be, or what each costs (net.dalbe.cubic_inflate): the framework paper's own
 * first base. It is in core/base_cubic.c and core/cubictcp.c; for the rest see tcp_dalbe_cdg.c.
 */
#include "kernel/dalbe.h"

struct dalbe_cc tcp_dalbe_cubic __read_mostly = {
	.ops.name = DALBE_CC_CUBIC,
	.plain = &cubic_base,
	.goal = &cubic_base,
};
