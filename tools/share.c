// SPDX-License-Identifier: GPL-2.0-only
/* How several connections share one goal. */
#include "human.h"
#include "share.h"

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Mean rate of the connections that have one; 0 if none has. */
static uint64_t mean_active_Bps(const struct share *conns, size_t n)
{
	unsigned __int128 sum = 0;
	size_t active = 0;

	for (size_t i = 0; i < n; i++) {
		if (conns[i].closing || conns[i].fresh || !conns[i].rate_Bps)
			continue;
		sum += conns[i].rate_Bps;
		active++;
	}
	return active ? (uint64_t)(sum / active) : 0;
}

static uint64_t weight(const struct share *conn, uint64_t mean_Bps)
{
	uint64_t floor_Bps = mean_Bps / SHARE_IDLE_DIVISOR;

	if (conn->closing)
		return 0;
	if (!mean_Bps)
		return 1;	/* nobody has moved yet: all alike */
	if (conn->fresh)
		return mean_Bps;
	if (!floor_Bps)
		floor_Bps = 1;
	return conn->rate_Bps > floor_Bps ? conn->rate_Bps : floor_Bps;
}

void share_divide(struct share *conns, size_t n, uint64_t left)
{
	uint64_t mean_Bps = mean_active_Bps(conns, n);
	unsigned __int128 total = 0, running = 0;
	uint64_t given = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t part = 0;

		total += weight(&conns[i], mean_Bps);
		if (conns[i].closing) {
			part = min_u64(conns[i].queued, left);
			left -= part;
		}
		conns[i].bytes = conns[i].done + part;
	}

	/* Cut the running sum, not each part: nothing is lost to rounding. */
	for (size_t i = 0; i < n; i++) {
		uint64_t cut;

		running += weight(&conns[i], mean_Bps);
		/* 2^63 bytes times 2^15 connections of 2^50 bytes/s fit. */
		cut = total ? (uint64_t)(left * running / total) : 0;
		conns[i].bytes += cut - given;
		given = cut;
		if (!conns[i].bytes)
			conns[i].bytes = 1;
	}
}

uint64_t share_smooth(uint64_t rate_Bps, uint64_t bytes, uint64_t interval_ns)
{
	unsigned __int128 now_Bps = (unsigned __int128)bytes * NSEC_PER_SEC / interval_ns;

	if (now_Bps > SHARE_MAX_Bps)
		now_Bps = SHARE_MAX_Bps;
	return (uint64_t)((rate_Bps + now_Bps) / 2);
}
