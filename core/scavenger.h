/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The scavenger: the window of a best-effort flow, B, while alone, and w * B beside others.
 *
 * It is a base congestion control: price 1/B, steered by w. Whether somebody else is there it
 * learns from its own cuts (regime.c).
 *
 * What losses and marks do to the window W (scavenger_cut(), scavenger_recovery()):
 *
 *			a loss that TCP		a mark			a timeout
 *			repairs
 *	alone		0.7 W, and that cut	the same		slow start to 0.7 W;
 *			is a test, too					no test
 *	alone, room	yield: w * B, and 0.7	0.7 W; contended	as alone; the room
 *	under test	of the window to	after the test		stays given up
 *			return to
 *	yielding,	w * 0.7 B, at most	the same		the same, by slow
 *	contended	0.7 W; 0.7 of the				start
 *			window to return to
 */
#ifndef DALBE_SCAVENGER_H
#define DALBE_SCAVENGER_H

#include "cubic.h"
#include "regime.h"
#include "stall.h"

/**
 * struct scavenger - state of scavenger_base
 * @best_effort: the window that a best-effort flow would hold, B
 * @regime: alone or not
 * @loss_only: the largest window since the link was taken that only losses have cut: cuts for
 *	delay leave it as it is, and it does not grow by itself
 * @stall: moments in which the path stood still
 * @resume_cwnd: window to return to if the queue goes with us while we yield, packets
 * @undo_lossy: regime.lossy before the last answer to a loss
 * @undo_window_q16: B, likewise, packets
 * @undo_origin_q16: its W_max, likewise
 * @undo_loss_only_q16: the window of @loss_only, likewise
 */
struct scavenger {
	struct cubic best_effort;
	struct regime regime;
	struct cubic loss_only;
	struct stall stall;
	u32 resume_cwnd;
	u8 undo_lossy;
	u64 undo_window_q16;
	u64 undo_origin_q16;
	u64 undo_loss_only_q16;
};

#endif /* DALBE_SCAVENGER_H */
