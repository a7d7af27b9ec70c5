/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The scavenger: the window of a best-effort flow, B, while alone, and w * B beside others.
 *
 * It is a base congestion control: price 1/B, steered by w. Whether others are there it asks the
 * memory of the path (path_memory.c). In core/ a scavenger is a flow that runs this base, at any
 * w; in the interface (net.dalbe.scavenger, DALBE_AFTER_SCAVENGER) one at w = wmin.
 *
 * The answer to a loss or a mark cuts the window W at least as deep as CUBIC does; else a goal
 * would buy more than best effort. Where a cut for delay is under way, the lower of both counts
 * (sender_ssthresh()).
 *
 *	alone		B and the window become 0.7 W. Where the path carries others
 *			(path_memory_lost()) and TCP repairs the loss, we stand back: the
 *			window becomes w * B. A mark, or a loss that TCP's tail loss probe has
 *			repaired (PATH_CWR): the same, at the end of the next round
 *	contended	B becomes 0.7 B, and the window w * B, at most 0.7 W. B is lowered to
 *			(W + 1) / w before, as the path does not hold more
 *	a timeout	the same, and TCP goes up to it by slow start
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
 */
#ifndef DALBE_SCAVENGER_H
#define DALBE_SCAVENGER_H

#include "core/scavenger/cubic.h"
#include "core/scavenger/path_memory.h"

/* A trial begins with half of what the path holds: two packets would drain nothing of a fast path,
 * and could tell nothing. Half: on a fast path we know a round trip or two later. Twice: CUBIC's
 * next loss comes at once.
 */
#define SCAVENGER_TRIAL_PART	2

/* Where a path that we have taken carries more than it ever has for us, and no queue stands, others
 * have left it, and the window grows by an eighth per round trip, not as CUBIC's does. Half: at
 * 100 Mbit/s and 200 ms we use 71 instead of 73 % in the half minute after. Twice: a fourth more
 * packets are lost where it ends, at 200 Mbit/s.
 */
#define SCAVENGER_SPARE_PART	8

/* The path stood still where no ACK has come for as long as it takes for 28 packets: what is late
 * then is no queue. A newcomer's second window of twenty falls into the gap that its first ten have
 * left in ours. Half: that window passes for a stall, and the newcomer waits for a round trip more.
 * Twice: a radio that is silent for 20 ms at 20 Mbit/s passes for a competitor. And for 2 ms at
 * least, half of G. Half: at 1 Gbit/s the gaps between TCP's bursts pass for stalls. Twice: stalls
 * of a host's scheduler pass for competitors.
 */
#define SCAVENGER_STALL_PACKETS	28
#define SCAVENGER_STALL_US	2000

/* But a path that is silent more often than once in eight base RTTs sends in clumps, as a
 * competitor with a large window does. Half: beside CUBIC at 120 Mbit/s too many rounds are
 * excused. Twice: of two stalls in a row the second makes us leave the path.
 */
#define SCAVENGER_STALL_APART_RTTS	8

enum regime {
	REGIME_ALONE,		/* for all that the host knows */
	REGIME_CONTENDED,	/* others are there */
};

/**
 * struct scavenger - state of scavenger_base
 * @best_effort: the window that a best-effort flow would hold, B
 * @cuts: the last cut for delay that this flow has made or followed, see path_memory_cut()
 * @yields: how often it stood back
 * @steady_rounds: since slow start, saturating
 * @stall_us: so long without an ACK the path stands still; 0: not known
 * @stalled_us: when it last stood still, TCP's clock modulo 2^32
 * @excused: what was late then counts for nothing, see SCAVENGER_STALL_APART_RTTS
 * @stalled: it did in the round under way, or the packets of an RTT in it were under way then
 * @stands_back: a loss has told that others are there; when TCP repairs it we stand back
 * @held_us: for so long we had been alone then, saturating
 * @kept_cwnd: alone: the largest B since we took the path, as losses have cut it: packets
 * @undo_window_q16: B before the last answer to a loss, packets
 * @undo_origin_q16: W_max then
 */
struct scavenger {
	struct cubic best_effort;
	u32 cuts;
	u32 yields;
	u32 stall_us;
	u32 stalled_us;
	u8 steady_rounds;
	bool excused;
	bool stalled;
	bool stands_back;
	u32 held_us;
	u32 kept_cwnd;
	u64 undo_window_q16;
	u64 undo_origin_q16;
};

#endif /* DALBE_SCAVENGER_H */
