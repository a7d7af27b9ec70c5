/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A connection as core/ sees it, in user space: a struct that a test or the simulator fills.
 */
#ifndef DALBE_PORT_PATH_H
#define DALBE_PORT_PATH_H

#include "port.h"

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

#endif /* DALBE_PORT_PATH_H */
