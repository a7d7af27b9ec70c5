/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A connection as core/ sees it, in BPF: port/user/port_path.h says what each of these is. Of the
 * kernel's types those members that we need: where they lie the loader reads in the kernel's BTF.
 */
#ifndef DALBE_PORT_PATH_H
#define DALBE_PORT_PATH_H

#include <bpf/bpf_core_read.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct netns_ipv4 {
	u8 sysctl_tcp_min_tso_segs;
};

struct net {
	u64 net_cookie;
	struct netns_ipv4 ipv4;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct in6_addr {
	union {
		u32 u6_addr32[4];
	} in6_u;
};

struct sock_common {
	u32 skc_daddr;
	u16 skc_family;
	u8 skc_state;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
};

typedef struct {
	u32 val;
} kuid_t;

struct sock_cgroup_data {
	struct cgroup *cgroup;
};

struct sock {
	struct sock_common __sk_common;
	struct sock_cgroup_data sk_cgrp_data;
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
	u32 sk_pacing_status;
	kuid_t sk_uid;
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	u8 icsk_ca_state:5;
	u8 icsk_ca_initialized:1;
	u64 icsk_ca_priv[13];
};

struct tcp_options_received {
	u32 rcv_tsval;
	u16 saw_tstamp:1;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u64 tcp_mstamp;
	u64 delivered_mstamp;
	u64 tcp_clock_cache;
	u64 tcp_wstamp_ns;
	u64 bytes_acked;
	u32 snd_cwnd;
	u32 snd_ssthresh;
	u32 snd_cwnd_cnt;
	u32 snd_cwnd_clamp;
	u32 snd_una;
	u32 snd_nxt;
	u32 write_seq;
	u32 high_seq;
	u32 data_segs_out;
	u32 delivered;
	u32 srtt_us;
	u32 mss_cache;
	u32 max_packets_out;
	u32 packets_out;
	u32 sacked_out;
	u32 lost_out;
	u32 retrans_out;
	u32 app_limited;
	u32 tlp_high_seq;
	u32 retrans_stamp;
	u32 chrono_start;
	u32 chrono_stat[3];
	u8 chrono_type:2;
	u32 is_cwnd_limited:1;
	struct tcp_options_received rx_opt;
};

struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
};

#pragma clang attribute pop

struct tcp_path {
	const struct tcp_sock *tp;
	u64 now_us;
	u32 idle_ticks;
	u32 cwnd;
	u32 ssthresh;
	u32 cwnd_cnt;
	bool no_undo;
};

/* At least 1: it divides. */
static __always_inline u32 dalbe_srtt_us(const struct tcp_sock *tp)
{
	return max_t(u32, tp->srtt_us >> 3, 1);
}

/* Functions, as the macro has names of its own. */
static __always_inline u8 dalbe_ca_state(const struct tcp_sock *tp)
{
	return BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state);
}

static __always_inline bool dalbe_cwnd_limited(const struct tcp_sock *tp)
{
	return BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited);
}

static __always_inline u32 dalbe_in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

static __always_inline u32 path_ticks(const struct tcp_path *p)
{
	return bpf_jiffies64();
}

#define path_clock_ns(p)	((p)->tp->tcp_clock_cache)
#define path_una(p)		((p)->tp->snd_una)
#define path_nxt(p)		((p)->tp->snd_nxt)
#define path_delivered(p)	((p)->tp->delivered)
#define path_in_flight(p)	dalbe_in_flight((p)->tp)
#define path_out_max(p)		((p)->tp->max_packets_out)
#define path_srtt_us(p)		dalbe_srtt_us((p)->tp)
#define path_mss(p)		((p)->tp->mss_cache)
#define path_cwnd_max(p)	((p)->tp->snd_cwnd_clamp)
#define path_state(p)		dalbe_ca_state((p)->tp)
#define path_cwnd_limited(p)	dalbe_cwnd_limited((p)->tp)

#endif /* DALBE_PORT_PATH_H */
