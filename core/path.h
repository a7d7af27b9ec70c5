/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A connection as the congestion control sees it.
 *
 * The window is data: the hooks (kernel/hooks.c) write it back after each event. What TCP knows we
 * ask by path_una() and so on: in the kernel these read the socket, as most events need little of
 * it (kernel/path.h); here, a struct that a test fills by hand. So nothing in core/ knows a socket.
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
	PATH_CWR,	/* TCP reduces the window, for a mark, or for a loss that its tail loss
			 * probe (TLP) has repaired. From here on path_recovering() is true
			 */
	PATH_RECOVERY,	/* TCP reduces the window, and retransmits what was lost */
	PATH_LOSS,	/* after a timeout TCP retransmits, in slow start */
};

#ifdef __KERNEL__
#include "../kernel/path.h"
#else
/**
 * struct tcp_path - the window that we set, and what TCP knows
 * @now_us: TCP's clock
 * @idle_ticks: at BASE_TX_START, how long ago TCP sent, in the unit of @ticks; else 0
 * @cwnd: congestion window, packets; may be set
 * @ssthresh: where slow start ends, packets; may be set
 * @cwnd_cnt: packets acknowledged towards Reno's next packet; may be set
 * @no_undo: to be set where TCP must not take an older cut back, as the window has been cut
 *	for another reason since
 * @ticks: the kernel's clock, HZ a second: Linux' CUBIC counts in them
 * @una: first sequence number that is not acknowledged
 * @nxt: first that was not sent
 * @delivered: packets since the connection began
 * @out_max: most packets under way in the last round trip
 * @srtt_us: smoothed RTT, at least 1: it divides
 * @mss: payload of a full packet, bytes
 * @cwnd_max: largest window that the user allows, packets
 * @state: enum path_state
 * @cwnd_limited: the window is what limits the sender (outside slow start)
 *
 * From @ticks on core/ asks by the names below. Packets leave by path_clock_ns(): TCP's clock when
 * TCP last read it.
 */
struct tcp_path {
	u64 now_us;
	u32 idle_ticks;
	u32 cwnd;
	u32 ssthresh;
	u32 cwnd_cnt;
	bool no_undo;
	u32 ticks;
	u32 una;
	u32 nxt;
	u32 delivered;
	u32 out_max;
	u32 srtt_us;
	u32 mss;
	u32 cwnd_max;
	u8 state;
	bool cwnd_limited;
};

#define path_clock_ns(p)	((p)->now_us * NSEC_PER_USEC)
#define path_ticks(p)		((p)->ticks)
#define path_una(p)		((p)->una)
#define path_nxt(p)		((p)->nxt)
#define path_delivered(p)	((p)->delivered)
#define path_out_max(p)		((p)->out_max)
#define path_srtt_us(p)		((p)->srtt_us)
#define path_mss(p)		((p)->mss)
#define path_cwnd_max(p)	((p)->cwnd_max)
#define path_state(p)		((p)->state)
#define path_cwnd_limited(p)	((p)->cwnd_limited)

/* Here nothing is SACKed. */
static inline u32 path_in_flight(const struct tcp_path *p)
{
	return (p->nxt - p->una) / p->mss;
}
#endif

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
