/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The scavenger: the window of a best-effort flow, B, while alone, and w * B beside others.
 *
 * It is a base congestion control: price 1/B, steered by w. Whether somebody else is there it
 * learns from its own cuts (regime.c). In core/ a scavenger is a flow that runs this base, at any
 * w; in the interface (net.dalbe.scavenger, DALBE_AFTER_SCAVENGER) one at w = wmin.
 *
 * Each loss and each mark cuts the window W, at least as deep as CUBIC does; else a goal would buy
 * more than best effort (scavenger_cut(), scavenger_recovery()):
 *
 *	alone		0.7 W, and so is B; that cut is a test of whose queue it is, too. A
 *			timeout voids the test (evidence_forget()), and slow start goes up to 0.7 W.
 *
 *	alone, while a provisional cut is tested: one that made room for a newcomer, or went
 *	below the guaranteed window (scavenger_guaranteed_cwnd()) to see whose queue it is
 *			A loss that TCP repairs: we yield, to w * B; room.restore_cwnd is cut to
 *			0.7.
 *			A mark: 0.7 W now, and contended when the test ends.
 *			A timeout: as alone; what the cut gave up does not come back.
 *
 *	yielding, contended
 *			w * 0.7 B, at most 0.7 W; loss_only_window and before_yield_cwnd are cut to
 *			0.7 as well. A timeout: the same, by slow start.
 *
 * A window from before may be too large. In the slow start after a timeout or a pause
 * (sender.restarting) loss_only_window is first lowered to W. Beside others W may be below w * B:
 * then B is first lowered to (W + 1) / w, but not while a probe holds W down.
 *
 * The other bases know no regime, and answer a loss, a mark and a timeout alike:
 *
 *	CDG		W / 2 (cdg_ssthresh()). Without a goal use_tolerance may leave W, and
 *			use_shadow cut less (kernel/defaults.c)
 *	CUBIC		0.7 W (cubictcp_cut()); after a timeout its curve begins anew
 *	Vegas		W / 2 (vegas_cut()); under a goal at w = 1 with probability 1/mu, else W
 *
 * Of a base without price(), as CUBIC, net.dalbe.cubic_inflate (cdg_heuristics.inflate_beta) makes
 * the answer min(mu, 1) times that (sender_cwnd_after_cut()).
 *
 * The windows that we remember, what sets and cuts them, and when we return to them:
 *
 *	window			set					cut by	returned to
 *	best_effort, B		alone it is cwnd; at YIELD half of	losses,	beside others:
 *				the window, or loss_only_window		delays	w * B is sent
 *	loss_only_window	raised to cwnd before a cut or a	losses	YIELD, as B, where
 *				YIELD while alone; to B at TAKE, TRY,		we may be wrong
 *				PATH_LONGER; RESUME and GROW_ON leave it
 *	before_yield_cwnd	at YIELD: the window before, with the	losses	RESUME
 *				room that was given up
 *	room.restore_cwnd	at a provisional cut: for room, or	losses	ROOM_FREE; and see
 *				below the guaranteed window; forgotten	while	before_yield_cwnd
 *				where its test is void, and when alone	alone
 *				again (evidence_forget())
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
 * @loss_only_window: the largest window since the link was taken that only losses have cut: cuts
 *	for delay leave it as it is, and it does not grow by itself
 * @stall: moments in which the path stood still
 * @before_yield_cwnd: window to return to if the queue goes with us while we yield
 *	(VERDICT_RESUME), packets
 *
 * What TCP's undo of a spurious loss brings back, from before the last answer to a loss:
 * @undo_lossy_rounds: regime.lossy_rounds
 * @undo_window_q16: B, packets
 * @undo_origin_q16: W_max of B, packets
 * @undo_loss_only_q16: the window of @loss_only_window, packets
 */
struct scavenger {
	struct cubic best_effort;
	struct regime regime;
	struct cubic loss_only_window;
	struct stall stall;
	u32 before_yield_cwnd;
	u8 undo_lossy_rounds;
	u64 undo_window_q16;
	u64 undo_origin_q16;
	u64 undo_loss_only_q16;
};

#endif /* DALBE_SCAVENGER_H */
