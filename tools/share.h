/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How several connections share one goal.
 *
 * The kernel knows goals of single connections; a program may spread its
 * transfer over several. The rest of the program's goal is divided among
 * the connections that are open, by their recent progress: a connection that
 * moves most of the bytes is most likely to move the rest. Pure arithmetic.
 */
#ifndef DALBE_SHARE_H
#define DALBE_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An idle connection weighs this fraction of the mean active one. */
#define SHARE_IDLE_DIVISOR	64

/* 1 PB/s: a bound for rates, that no path reaches, so that nothing overflows. */
#define SHARE_MAX_Bps	(UINT64_C(1) << 50)

/**
 * struct share - one open connection
 * @done: bytes acknowledged so far
 * @rate_Bps: recent progress, bytes/s (see share_smooth())
 * @queued: bytes in its send queue that are not acknowledged yet
 * @fresh: opened a moment ago, @rate_Bps means nothing yet
 * @closing: the program has shut it down: it will deliver @queued, no more
 * @bytes: result, its goal: @done plus its share of what is left
 */
struct share {
	uint64_t done;
	uint64_t rate_Bps;
	uint64_t queued;
	bool fresh;
	bool closing;
	uint64_t bytes;
};

/*
 * Divide left bytes among n connections: sets bytes of each. Shares of the
 * connections that are not closing sum up to left, less what the closing ones
 * still deliver. A fresh connection gets what an average active one gets; an
 * idle one only a token, so that it holds nothing back, and yet has a goal
 * when it wakes up. bytes is at least 1, the kernel's minimum.
 */
void share_divide(struct share *conns, size_t n, uint64_t left);

/*
 * Progress in bytes/s, from its former value and the bytes that were
 * acknowledged in the last interval_ns (> 0): half old, half new, so that two
 * silent intervals of a second or so count as fading, five as idle.
 */
uint64_t share_smooth(uint64_t rate_Bps, uint64_t bytes, uint64_t interval_ns);

#endif
