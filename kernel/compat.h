/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every difference between kernel versions that this module meets, so that the
 * rest reads like in-tree code for the newest kernel. Differences are probed
 * from the target's headers (here, or in Kbuild where the preprocessor cannot),
 * never from its version: stable and vendor kernels backport. Where Kbuild finds neither the one
 * nor the other it stops, and names the definition that it looked for.
 */
#ifndef DALBE_COMPAT_H
#define DALBE_COMPAT_H

#include <linux/memcontrol.h>
#include <linux/sysctl.h>
#include <net/net_namespace.h>
#include <net/tcp.h>

/* 6.6: register_net_sysctl() became a macro over ARRAY_SIZE(), useless for an
 * allocated copy; before, a table ended with an empty entry. Tables here have
 * the entry, and do not count it.
 */
#ifndef register_net_sysctl
static inline struct ctl_table_header *
register_net_sysctl_sz(struct net *net, const char *path,
		       struct ctl_table *table, size_t size)
{
	return register_net_sysctl(net, path, table);
}
#endif

/* 6.11: handlers take a const table. Kbuild looks for it. */
#ifdef DALBE_CTL_TABLE_CONST
#define DALBE_CTL_TABLE const struct ctl_table
#else
#define DALBE_CTL_TABLE struct ctl_table
#endif

/* 7.1: CA_EVENT_TX_START has a hook of its own, and cwnd_event does not hear of it. Kbuild looks
 * for it.
 */
static inline void dalbe_hook_tx_start(struct tcp_congestion_ops *ops,
				       void (*hook)(struct sock *sk))
{
#ifdef DALBE_CWND_EVENT_TX_START
	ops->cwnd_event_tx_start = hook;
#endif
}

/* Kernels with the patches of BBRv3 ask for the number of packets that leave as one, others for the
 * least that this may be. Kbuild looks for it. The number is TCP's: what leaves in a millisecond,
 * and more where the RTT is short.
 */
#ifdef DALBE_TSO_SEGS
#define dalbe_hook_tso_segs(ops)	((ops)->tso_segs = dalbe_tso_segs)
static inline u32 dalbe_tso_size(const struct sock *sk, unsigned int mss, u32 least)
{
	unsigned long bytes = READ_ONCE(sk->sk_pacing_rate) >> READ_ONCE(sk->sk_pacing_shift);
	u32 rtt = tcp_min_rtt(tcp_sk(sk)) >> READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_tso_rtt_log);
	u32 most = sk->sk_gso_max_size;

	bytes += rtt < 32 ? most >> rtt : 0;
	return max_t(u32, min_t(unsigned long, bytes, most) / mss, least);
}
#else
#define dalbe_hook_tso_segs(ops)	((ops)->min_tso_segs = dalbe_min_tso_segs)
#endif

/* The time of TCP's timer has moved twice since 6.12. Kbuild looks for it. */
#if defined(DALBE_TCP_TIMEOUT_EXPIRES)
#define dalbe_tcp_timeout(sk)	tcp_timeout_expires(sk)
#elif defined(DALBE_ICSK_TIMEOUT)
#define dalbe_tcp_timeout(sk)	icsk_timeout(inet_csk(sk))
#else
#define dalbe_tcp_timeout(sk)	(inet_csk(sk)->icsk_timeout)
#endif

/* Whose memory a socket's is; NULL: nobody's in particular. Newer kernels keep flags in
 * the same word. Kbuild looks for it.
 */
static inline struct mem_cgroup *dalbe_sk_memcg(const struct sock *sk)
{
#if !IS_ENABLED(CONFIG_MEMCG)
	return NULL;
#elif defined(DALBE_MEM_CGROUP_FROM_SK)
	return mem_cgroup_from_sk(sk);
#else
	return sk->sk_memcg;
#endif
}

/* In older kernels, 6.1 among them, no module can ask what setsockopt(2) asks. */
#ifndef DALBE_DO_SOCK_SETSOCKOPT
static inline int do_sock_setsockopt(struct socket *sock, bool compat, int level,
				     int optname, sockptr_t optval, int optlen)
{
	return 0;
}
#endif

#endif /* DALBE_COMPAT_H */
