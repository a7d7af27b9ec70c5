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

#define OWD_TICK_US	1000		/* of a clock that is of use here */
#define OWD_PROVEN_US	1000000		/* so long a clock is observed before it is
					 * of use
					 */
#define OWD_DRIFT_SHIFT	14		/* clocks drift apart by up to 61 us/s */
#define OWD_STEP_TICKS	2		/* more at once is no drift: it was set */

/**
 * struct owd - one-way delays of one flow
 * @known: there was a sample
 * @based: @base_ticks is of a path without a queue
 * @first_val: the peer's clock in the first sample, ticks
 * @base_ticks: least difference between the peer's clock and ours
 * @first_us: our clock in the first sample
 * @based_us: our clock when the path last had no queue
 */
struct owd {
	bool known;
	bool based;
	u32 first_val;
	u32 base_ticks;
	u64 first_us;
	u64 based_us;
};

u32 owd_rtt_us(struct owd *o, u32 val, u64 now_us, u32 rtt_us, u32 base_rtt_us);

#endif /* DALBE_OWD_H */
