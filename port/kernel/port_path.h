/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A connection as core/ sees it, in the kernel: port/user/port_path.h says what each of these is.
 */
#ifndef DALBE_PORT_PATH_H
#define DALBE_PORT_PATH_H

#include <net/tcp.h>

struct tcp_path {
	const struct sock *sk;
	u64 now_us;
	u32 idle_ticks;
	u32 cwnd;
	u32 ssthresh;
	u32 cwnd_cnt;
	bool no_undo;
};

/* At least 1: it divides. */
static inline u32 dalbe_srtt_us(const struct tcp_sock *tp)
{
	return max_t(u32, tp->srtt_us >> 3, 1);
}

static inline u32 path_ticks(const struct tcp_path *p)
{
	return tcp_jiffies32;
}

#define path_clock_ns(p)	(tcp_sk((p)->sk)->tcp_clock_cache)
#define path_una(p)		(tcp_sk((p)->sk)->snd_una)
#define path_nxt(p)		(tcp_sk((p)->sk)->snd_nxt)
#define path_delivered(p)	(tcp_sk((p)->sk)->delivered)
#define path_in_flight(p)	tcp_packets_in_flight(tcp_sk((p)->sk))
#define path_out_max(p)		(tcp_sk((p)->sk)->max_packets_out)
#define path_srtt_us(p)		dalbe_srtt_us(tcp_sk((p)->sk))
#define path_mss(p)		(tcp_sk((p)->sk)->mss_cache)
#define path_cwnd_max(p)	(tcp_sk((p)->sk)->snd_cwnd_clamp)
#define path_state(p)		(inet_csk((p)->sk)->icsk_ca_state)
#define path_cwnd_limited(p)	(tcp_sk((p)->sk)->is_cwnd_limited)

#endif /* DALBE_PORT_PATH_H */
