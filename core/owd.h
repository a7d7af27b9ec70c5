/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The RTT without the queue of the way back, from TCP's timestamps.
 *
 * Pure code: it knows no socket, and the clock is handed in. One caller at a
 * time per struct owd.
 *
 * Reference: RFC 7323, "TCP Extensions for High Performance".
 */
#ifndef DALBE_OWD_H
#define DALBE_OWD_H

#include "fixed.h"

/* The tick of a clock that is of use here, given by Linux, whose timestamps are milliseconds; and
 * the part by which such a clock may seem fast or slow, a quarter: others have ticks of 4 or 10 ms.
 * Half of that part: a clock has to be observed for longer. Twice: one of 2 ms nearly passes.
 */
#define OWD_TICK_US	1000
#define OWD_TICK_PART	4

/* A clock is observed for so long before it is of use: its ticks are known within 2 % then. At half
 * of it within 4 %, of the 25 that tell it from ticks of 4 and 10 ms; at twice, ACKs in clumps end
 * more slow starts (with 1 s, 100 Mbit/s, 20 ms, ACKs each 10 ms: 49 % of the link used in 14 s
 * instead of 73).
 */
#define OWD_PROVEN_US	100000

/**
 * struct owd - one-way delays of one flow
 * @known: there was a sample
 * @first_val: the peer's clock in the first sample, ticks
 * @first_us: ours
 * @base_ticks: least difference between the two clocks
 */
struct owd {
	bool known;
	u32 first_val;
	u64 first_us;
	u32 base_ticks;
};

u32 owd_rtt_us(struct owd *o, u32 val, u64 now_us, u32 rtt_us, u32 base_rtt_us);

#endif /* DALBE_OWD_H */
