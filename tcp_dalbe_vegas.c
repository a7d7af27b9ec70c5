// SPDX-License-Identifier: GPL-2.0-only
/*
 * dalbe_vegas: TCP Vegas that meets a deadline
 *
 * A socket without a goal is Vegas with Linux' defaults. Under a goal the controller sets w, and w
 * how many packets Vegas keeps in the queue: the framework paper's own second base. It is all in
 * core/base_vegas.c; for the rest see tcp_dalbe_cdg.c.
 */
#include "kernel/dalbe.h"

struct dalbe_cc tcp_dalbe_vegas __read_mostly = {
	.ops.name = DALBE_CC_VEGAS,
	.plain = &vegas_base,
	.goal = &vegas_base,
};
