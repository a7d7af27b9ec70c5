// SPDX-License-Identifier: GPL-2.0-only
/*
 * The congestion controls of this module: which base each runs, without a goal and with one.
 *
 * dalbe_cdg without a goal is CDG at a fixed G (net.dalbe.g_us). Under a goal it is a scavenger:
 * CDG at a G of its own while it is alone, and w of a best-effort flow's window beside others,
 * with w set every Tw from the bytes left and the deadline. With the weight controller a socket
 * without a goal is a scavenger whose w stays at wmin. With net.dalbe.effect = 0 it is CDG under
 * a goal, too: CDG's price goes to the controller, and back comes the G at which it becomes
 * q / mu.
 *
 * dalbe_cubic and dalbe_vegas are the framework paper's own bases. Without a goal they are Linux'
 * CUBIC, and Linux' Vegas with its defaults. Under a goal w says how many losses there seem to
 * be, or what each costs (net.dalbe.cubic_inflate), and how many packets Vegas keeps in the queue.
 *
 * Where to go from here:
 *	kernel/hooks.c		TCP's events
 *	core/sender.c		what every base does with them
 *	core/bases/base_*.c	each base; the scavenger is core/scavenger/scavenger.c
 *	core/control/control.c	w
 */
#include "kernel/dalbe.h"

/* Open to everybody but for Vegas, which at w = 1 answers one of mu losses and marks only. */
struct dalbe_cc dalbe_controls[] __read_mostly = {
	{
		.ops.name = DALBE_CC_CDG, .ops.flags = TCP_CONG_NON_RESTRICTED,
		.uncontrolled = &cdg_base, .controlled = &scavenger_base,
	},
	{
		.ops.name = DALBE_CC_CUBIC, .ops.flags = TCP_CONG_NON_RESTRICTED,
		.uncontrolled = &cubic_base, .controlled = &cubic_base,
	},
	{
		.ops.name = DALBE_CC_VEGAS,
		.uncontrolled = &vegas_base, .controlled = &vegas_base,
	},
	{ /* the end */ },
};
