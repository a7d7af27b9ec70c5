/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A connection as the congestion control sees it.
 *
 * The window is data: the hooks (kernel/hooks.c) write it back after each event. What TCP knows we
 * ask by path_una() and so on: in the kernel these read the socket, as most events need little of
 * it (port/kernel/port_path.h); in user space, a struct that a test fills by hand
 * (port/user/port_path.h). So nothing in core/ knows a socket.
 */
#ifndef DALBE_PATH_H
#define DALBE_PATH_H

#include "core/fixed.h"

/* Slow start has no end that is known. Given by Linux, where it is TCP_INFINITE_SSTHRESH. */
#define PATH_SSTHRESH_MAX	0x7fffffff

/* TCP's states, in TCP's order (enum tcp_ca_state). */
enum path_state {
	PATH_OPEN,
	PATH_DISORDER,
	PATH_CWR,	/* TCP reduces the window, for a mark, or for a loss that its tail loss
			 * probe (TLP) has repaired. From here on path_recovering() is true
			 */
	PATH_RECOVERY,	/* TCP reduces the window, and retransmits what was lost */
	PATH_LOSS,	/* after a timeout TCP retransmits, in slow start */
};

#include "port_path.h"	/* struct tcp_path */

/* Does sequence number @a come after @b? */
static inline bool seq_after(u32 a, u32 b)
{
	return (s32)(b - a) < 0;
}

static inline bool path_slow_start(const struct tcp_path *p)
{
	return p->cwnd < p->ssthresh;
}

/* Is TCP recovering: from a mark (PATH_CWR), a loss (PATH_RECOVERY) or a timeout (PATH_LOSS)? In
 * the first two TCP takes the window down, not we. In PATH_LOSS we grow it again, but neither cut
 * it for delay nor judge by it.
 */
static inline bool path_recovering(const struct tcp_path *p)
{
	return path_state(p) >= PATH_CWR;
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
	p->cwnd = min(cwnd, path_cwnd_max(p));
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
	p->cwnd = min(p->cwnd, path_cwnd_max(p));
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
