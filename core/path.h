/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A connection as the congestion control sees it.
 *
 * The hooks (kernel/hooks.c) read it from TCP's socket before each event and write the window
 * back after it, so nothing in core/ knows a socket. A test fills it by hand.
 */
#ifndef DALBE_PATH_H
#define DALBE_PATH_H

#include "fixed.h"

/* Slow start has no end that is known. Given by Linux, where it is TCP_INFINITE_SSTHRESH. */
#define PATH_SSTHRESH_MAX	0x7fffffff

/* TCP's states, in TCP's order (enum tcp_ca_state). */
enum path_state {
	PATH_OPEN,
	PATH_DISORDER,
	PATH_CWR,	/* from here on TCP sets the window: a mark, */
	PATH_RECOVERY,	/* a loss, */
	PATH_LOSS,	/* a timeout */
};

/**
 * struct tcp_path - what TCP knows, and the window that we set
 * @now_us: TCP's clock
 * @clock_ns: the same at the last refresh: packets leave by it
 * @ticks: the kernel's clock, HZ a second: Linux' CUBIC counts in them
 * @idle_ticks: for lbe_base.resume
 * @una: first sequence number that is not acknowledged
 * @nxt: first that was not sent
 * @delivered: packets since the connection began
 * @in_flight: packets
 * @out_max: most packets under way in the last round trip
 * @srtt_us: smoothed RTT, at least 1: it divides
 * @mss: payload of a full packet, bytes
 * @cwnd_max: largest window that the user allows, packets
 * @state: enum path_state
 * @used: the window is what limits the sender (outside slow start)
 * @cwnd: congestion window, packets; may be set
 * @ssthresh: where slow start ends, packets; may be set
 * @cwnd_cnt: packets acknowledged towards Reno's next packet; may be set
 * @no_undo: to be set where TCP must not take an older cut back, as the window has been cut
 *	for another reason since
 */
struct tcp_path {
	u64 now_us;
	u64 clock_ns;
	u32 ticks;
	u32 idle_ticks;
	u32 una;
	u32 nxt;
	u32 delivered;
	u32 in_flight;
	u32 out_max;
	u32 srtt_us;
	u32 mss;
	u32 cwnd_max;
	u8 state;
	bool used;
	bool no_undo;
	u32 cwnd;
	u32 ssthresh;
	u32 cwnd_cnt;
};

/* Does sequence number @a come after @b? */
static inline bool seq_after(u32 a, u32 b)
{
	return (s32)(b - a) < 0;
}

static inline bool path_slow_start(const struct tcp_path *p)
{
	return p->cwnd < p->ssthresh;
}

/* Does TCP repair a loss, or reduce the window for a mark? It sets the window then. */
static inline bool path_repairs(const struct tcp_path *p)
{
	return p->state >= PATH_CWR;
}

/**
 * path_limited - may the window grow?
 * @p: the connection
 * @slow_start: it is in slow start, where half of the window in use will do
 *
 * As Linux' tcp_is_cwnd_limited().
 */
static inline bool path_limited(const struct tcp_path *p, bool slow_start)
{
	return p->used || (slow_start && p->cwnd < 2 * p->out_max);
}

/**
 * path_grow_slow_start - slow start, as Linux' tcp_slow_start()
 * @p: the connection, whose window is in use
 * @acked: packets that the ACK covers
 *
 * Return: of these, those that are left where it has ended.
 */
static inline u32 path_grow_slow_start(struct tcp_path *p, u32 acked)
{
	u32 cwnd;

	if (!path_slow_start(p))
		return acked;
	cwnd = min(p->cwnd + acked, p->ssthresh);
	acked -= cwnd - p->cwnd;
	p->cwnd = min(cwnd, p->cwnd_max);
	return acked;
}

/**
 * path_grow_by - one packet for so many that were acknowledged, as Linux' tcp_cong_avoid_ai()
 * @p: the connection, whose window is in use
 * @per: so many
 * @acked: packets that the ACK covers
 */
static inline void path_grow_by(struct tcp_path *p, u32 per, u32 acked)
{
	if (p->cwnd_cnt >= per) {
		p->cwnd_cnt = 0;
		p->cwnd++;
	}
	p->cwnd_cnt += acked;
	if (p->cwnd_cnt >= per) {
		p->cwnd += p->cwnd_cnt / per;
		p->cwnd_cnt %= per;
	}
	p->cwnd = min(p->cwnd, p->cwnd_max);
}

/**
 * path_grow_reno - slow start, or Reno's packet per round trip
 * @p: the connection, whose window is in use
 * @acked: packets that the ACK covers
 *
 * As Linux' tcp_reno_cong_avoid().
 */
static inline void path_grow_reno(struct tcp_path *p, u32 acked)
{
	acked = path_grow_slow_start(p, acked);
	if (acked)
		path_grow_by(p, p->cwnd, acked);
}

#endif /* DALBE_PATH_H */
