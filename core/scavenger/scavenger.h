/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The scavenger: the window of a best-effort flow, B, while alone, and w * B beside others.
 *
 * It is a base congestion control: price 1/B, steered by w. Whether somebody else is there it
 * learns from its own cuts (regime.c). In core/ a scavenger is a flow that runs this base, at any
 * w; in the interface (net.dalbe.scavenger, DALBE_AFTER_SCAVENGER) one at w = wmin.
 *
 * The answer to a loss or a mark, in each state. It cuts the window W at least as deep as CUBIC
 * does; else a goal would buy more than best effort. Where a cut for delay is under way, the lower
 * of both counts (sender_ssthresh()).
 *
 * 1. Alone, in slow start or not (scavenger_lose_alone()):
 *	B and the window become 0.7 W. We judge whose queue it is by how much of it this drains, as
 *	after a cut for delay (evidence_test_loss_cut()).
 *	A timeout: slow start goes up to 0.7 W, and nothing is judged (evidence_forget()).
 *
 * 2. Alone, in the round trip after a provisional cut, which either made room for a newcomer or
 * went below the guaranteed window (struct room; scavenger_guaranteed_cwnd()):
 *	A loss that TCP repairs: as in 1, and then we yield (scavenger_recovery()): B becomes half
 *	of the window, or of room.restore_cwnd, whichever is larger; and the window is w * B. While
 *	we doubt that the others have gone (regime_in_doubt()) we are contended instead, and B is
 *	loss_only_window at least.
 *	A mark, or a loss that TCP's tail loss probe has repaired (PATH_CWR): as in 1, and when the
 *	round trip is over we are contended (regime_judge_cut()).
 *	A timeout: as in 1, and what the provisional cut gave up does not come back.
 *
 * 3. Yielding or contended (scavenger_lose_beside()):
 *	B becomes 0.7 B, and the window w * B, at most 0.7 W; loss_only_window and before_yield_cwnd
 *	become 0.7 of what they were. A timeout: the same, by slow start.
 *
 * A window from before may be more than the path holds, and is lowered before it is cut:
 *	in 1	loss_only_window to W, in the slow start after a timeout or a pause
 *		(sender.restarting)
 *	in 3	B to (W + 1) / w, and in that slow start loss_only_window as well; neither while a
 *		probe holds W down
 *
 * The other bases know no regime, and answer a loss, a mark and a timeout alike:
 *
 *	CDG		W / 2 (cdg_ssthresh()). Without a controller use_tolerance may leave W, and
 *			use_shadow cut less (dalbe_heuristics())
 *	CUBIC		0.7 W (cubictcp_cut()); after a timeout its curve begins anew
 *	Vegas		W / 2 (vegas_cut()). Under a controller at w = 1: so with probability 1/mu,
 *			and otherwise not at all
 *
 * Of a base without price(), as CUBIC, net.dalbe.cubic_inflate (cdg_heuristics.inflate_beta) makes
 * the answer min(mu, 1) times that under a controller (sender_cwnd_after_cut()).
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

#include "core/scavenger/cubic.h"
#include "core/scavenger/regime.h"
#include "core/scavenger/stall.h"

/**
 * struct scavenger - state of scavenger_base
 * @best_effort: the window that a best-effort flow would hold, B
 * @regime: alone or not
 * @loss_only_window: the window that only losses have cut, packets in Q16 as B; the table above
 *	has what sets it. Cuts for delay leave it as it is, and it does not grow by itself. w times
 *	it is the guaranteed window (scavenger_guaranteed_cwnd()), and a yield in doubt begins at it
 * @stall: moments in which the path stood still
 *
 * Brought back when TCP undoes a spurious loss, from before the last answer to a loss:
 * @undo_before_yield_cwnd: regime.room.before_yield_cwnd
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
	u32 undo_before_yield_cwnd;
	u8 undo_lossy_rounds;
	u64 undo_window_q16;
	u64 undo_origin_q16;
	u64 undo_loss_only_q16;
};

#endif /* DALBE_SCAVENGER_H */
