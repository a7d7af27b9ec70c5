/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every difference between kernel versions that this module meets, so that the
 * rest reads like in-tree code for the newest kernel. Differences are probed
 * from the target's headers (here, or in Kbuild where the preprocessor cannot),
 * never from its version: stable and vendor kernels backport.
 */
#ifndef DALBE_COMPAT_H
#define DALBE_COMPAT_H

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

/* With accurate ECN there are modes of it, and no TCP_ECN_OK. */
#ifndef TCP_ECN_MODE_ANY
static inline bool tcp_ecn_mode_any(const struct tcp_sock *tp)
{
	return tp->ecn_flags & TCP_ECN_OK;
}
#endif

#endif /* DALBE_COMPAT_H */
