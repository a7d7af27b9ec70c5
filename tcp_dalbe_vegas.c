// SPDX-License-Identifier: GPL-2.0-only
/*
 * dalbe_vegas: TCP Vegas that meets a deadline
 *
 * A socket without a goal is Vegas with Linux' defaults. Under a goal the controller sets w, and w
 * how many packets Vegas keeps in the queue: the framework paper's own second base. It is all in
 * core/base_vegas.c; for the rest see tcp_dalbe_cdg.c.
 */
#include <linux/module.h>

#include "kernel/dalbe.h"

struct dalbe_cc tcp_dalbe_vegas __read_mostly = {
	.ops = {
		.flags		= TCP_CONG_NON_RESTRICTED,
		.init		= dalbe_init,
		.release	= dalbe_release,
		.ssthresh	= dalbe_ssthresh,
		.cong_avoid	= dalbe_cong_avoid,
		.pkts_acked	= dalbe_pkts_acked,
		.cwnd_event	= dalbe_cwnd_event,
		.set_state	= dalbe_set_state,
		.in_ack_event	= dalbe_in_ack_event,
		.min_tso_segs	= dalbe_min_tso_segs,
		.undo_cwnd	= dalbe_undo_cwnd,
		.owner		= THIS_MODULE,
		.name		= DALBE_CC_VEGAS,
	},
	.plain	= &vegas_base,
	.goal	= &vegas_base,
};
