/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rules of a policy: which connections each is about, and what it gives them. bpf/attach.bpf.c
 * walks them in the kernel, dalbectl where it looks at connections itself: both by these functions.
 */
#ifndef DALBE_RULE_H
#define DALBE_RULE_H

#include "dalbe_ctl.h"

#define DALBE_RULES_MAX		64
#define DALBE_DEPTH_MAX		7	/* of a cgroup below the root, a power of 2 less 1 */
#define DALBE_NAME_WORDS	8	/* of a cgroup's name: 63 bytes and a null */

/**
 * struct dalbe_rule - the first of which all conditions hold decides
 * @bytes: what it gives: a goal; 0: none
 * @time_ns: from the connection's beginning to its deadline
 * @params: of these, as in DALBE_IOC_SET_PARAMS
 * @group: 0: none
 * @plain: nothing at all: the connection stays as it is
 * @cgroup: the condition: in this one or below it, as rule_hash() of each name of its path, summed
 * @depth: how many names; 0: in any
 * @addr: the peer's, an IPv4 address as ::ffff:a.b.c.d
 * @mask: which of its bits count
 * @port: the peer's, from and to
 * @own_port: from and to
 * @uid: the socket's owner, where @by_user
 */
struct dalbe_rule {
	__aligned_u64 bytes;
	__aligned_u64 time_ns;
	__aligned_u64 cgroup;
	struct dalbe_params params;
	__u32 group;
	__u32 plain;
	__u32 depth;
	__u32 by_user;
	__u32 uid;
	__u32 addr[4];
	__u32 mask[4];
	__u16 port[2];
	__u16 own_port[2];
};

/**
 * struct dalbe_policy - what new connections of a cgroup are given
 * @only_cc: dalbe_cdg and no more, as the module is all there is
 * @by_cgroup: a rule asks for one
 * @n: of @rules
 */
struct dalbe_policy {
	__u32 only_cc;
	__u32 by_cgroup;
	__u32 n;
	__u32 reserved;
	struct dalbe_rule rules[DALBE_RULES_MAX];
};

/* A connection; @cgroup: at each depth, the sum of rule_hash() down to there. */
struct dalbe_conn {
	__u64 cgroup[DALBE_DEPTH_MAX + 1];
	__u32 addr[4];
	__u32 uid;
	__u16 port;
	__u16 own_port;
};

/* The name lies in whole words, with nulls behind it. */
static inline __u64 rule_hash(const __u64 *name, __u32 depth)
{
	__u64 hash = depth;

	for (int i = 0; i < DALBE_NAME_WORDS; i++) {
		hash = (hash ^ name[i]) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 29;
	}
	return hash;
}

static inline int rule_to_holds(const struct dalbe_rule *r, const struct dalbe_conn *c)
{
	return !(((r->addr[0] ^ c->addr[0]) & r->mask[0]) |
		 ((r->addr[1] ^ c->addr[1]) & r->mask[1]) |
		 ((r->addr[2] ^ c->addr[2]) & r->mask[2]) |
		 ((r->addr[3] ^ c->addr[3]) & r->mask[3]));
}

static inline int rule_port_holds(const struct dalbe_rule *r, const struct dalbe_conn *c)
{
	return c->port >= r->port[0] && c->port <= r->port[1];
}

static inline int rule_own_port_holds(const struct dalbe_rule *r, const struct dalbe_conn *c)
{
	return c->own_port >= r->own_port[0] && c->own_port <= r->own_port[1];
}

static inline int rule_user_holds(const struct dalbe_rule *r, const struct dalbe_conn *c)
{
	return !r->by_user || r->uid == c->uid;
}

static inline int rule_cgroup_holds(const struct dalbe_rule *r, const struct dalbe_conn *c)
{
	return !r->depth || c->cgroup[r->depth & DALBE_DEPTH_MAX] == r->cgroup;
}

static inline int rule_holds(const struct dalbe_rule *r, const struct dalbe_conn *c)
{
	return rule_to_holds(r, c) && rule_port_holds(r, c) && rule_own_port_holds(r, c) &&
	       rule_user_holds(r, c) && rule_cgroup_holds(r, c);
}

/* The rule that decides; @n: none does. */
static inline __u32 rule_find(const struct dalbe_policy *policy, const struct dalbe_conn *c)
{
	__u32 i;

	for (i = 0; i < DALBE_RULES_MAX && i < policy->n; i++) {
		if (rule_holds(&policy->rules[i], c))
			break;
	}
	return i;
}

#endif
