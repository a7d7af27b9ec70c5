// SPDX-License-Identifier: GPL-2.0-only
/*
 * dalbe_cdg: CDG congestion control that meets a deadline
 *
 * A socket without a goal is CDG at a fixed G (net.dalbe.g_us). Under a goal it is a scavenger:
 * CDG at a G of its own while it is alone, and w of a best-effort flow's window beside others,
 * with w set every Tw from the bytes left and the deadline. With the weight controller a socket
 * without a goal is a scavenger whose w stays at wmin. With net.dalbe.effect = 0 it is CDG under
 * a goal, too: CDG's price goes to the controller, and back comes the G at which it becomes
 * q / mu.
 *
 * Where to go from here:
 *	kernel/hooks.c		TCP's events
 *	core/sender.c		what every base does with them
 *	core/base_cdg.c		CDG
 *	core/scavenger.c	the scavenger
 *	core/control.c		w
 */
#include "kernel/dalbe.h"

struct dalbe_cc tcp_dalbe_cdg __read_mostly = {
	.ops.name = DALBE_CC_CDG,
	.plain = &cdg_base,
	.goal = &scavenger_base,
};
