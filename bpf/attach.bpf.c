// SPDX-License-Identifier: GPL-2.0-only
/*
 * dalbectl attach and policy: each new connection of a cgroup gets dalbe_cdg, and what the first
 * rule gives that holds for it, before its first data packet. Each attachment has a copy of this
 * program, with its rules.
 *
 * A connection whose program has given it a goal or settings of its own keeps them. So does one
 * that a cgroup below has given something: its program runs first.
 */
#include "port.h"
#include <bpf/bpf_endian.h>
#include "port_path.h"
#include "bpf/goal.h"

char _license[] SEC("license") = "GPL";

enum { AF_INET = 2 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kernfs_node {
	const char *name;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct cgroup {
	struct cgroup_subsys_state self;
	int level;
	struct kernfs_node *kn;
};

#pragma clang attribute pop

#define DEPTH_SEEN	16	/* a connection deeper than that is in no cgroup of a rule */

const volatile struct dalbe_policy policy SEC(".rodata.policy") = {};

static __always_inline void give(struct bpf_sock_ops *ctx, const struct dalbe_rule *rule)
{
	struct dalbe_params params = rule->params;
	struct bpf_sock *sk = ctx->sk;
	struct dalbe_goal_of *g;

	g = sk ? bpf_sk_storage_get(&goals, sk, 0, BPF_SK_STORAGE_GET_F_CREATE) : NULL;
	if (!g || g->given)
		return;
	goal_write(&g->goal, rule->bytes, bpf_ktime_get_boot_ns() + rule->time_ns, 0, false);
	g->goal.acked_before = ctx->bytes_acked;
	g->goal.group = rule->group;
	goal_set_params(&g->goal.settings, &params);
	g->given = true;
}

static __always_inline void find_cgroup(struct dalbe_conn *c, struct cgroup *cgroup)
{
	u64 name[DALBE_NAME_WORDS];
	int i, level;

	for (i = 0; i < DEPTH_SEEN && cgroup; i++) {
		level = cgroup->level;
		if (level <= 0)
			break;
		if (level <= DALBE_DEPTH_MAX) {
			memset(name, 0, sizeof(name));
			bpf_probe_read_kernel_str(name, sizeof(name), cgroup->kn->name);
			c->cgroup[level & DALBE_DEPTH_MAX] = rule_hash(name, level);
		}
		cgroup = cgroup->self.parent->cgroup;
	}
	for (i = 1; i <= DALBE_DEPTH_MAX; i++) {
		if (c->cgroup[i])
			c->cgroup[i] += c->cgroup[i - 1];
	}
}

static __always_inline void describe(struct bpf_sock_ops *ctx, struct dalbe_conn *c)
{
	struct bpf_sock *sk = ctx->sk;
	struct tcp_sock *tp = sk ? (void *)bpf_skc_to_tcp_sock(sk) : NULL;
	u32 four;

	c->port = bpf_ntohl(ctx->remote_port);
	c->own_port = ctx->local_port;
	c->addr[0] = ctx->remote_ip6[0];
	c->addr[1] = ctx->remote_ip6[1];
	c->addr[2] = ctx->remote_ip6[2];
	c->addr[3] = ctx->remote_ip6[3];
	four = ctx->remote_ip4;
	barrier_var(four);	/* one load at a place that depends is refused */
	if (ctx->family == AF_INET) {
		c->addr[0] = 0;
		c->addr[1] = 0;
		c->addr[2] = bpf_htonl(0xffff);
		c->addr[3] = four;
	}
	if (!tp)
		return;
	c->uid = tp->inet_conn.icsk_inet.sk.sk_uid.val;
	if (policy.by_cgroup)
		find_cgroup(c, tp->inet_conn.icsk_inet.sk.sk_cgrp_data.cgroup);
}

SEC("sockops")
int dalbe_attached(struct bpf_sock_ops *ctx)
{
	char name[] = DALBE_CC_CDG;
	struct dalbe_conn conn = {};
	const struct dalbe_policy *rules = (const struct dalbe_policy *)&policy;
	const struct dalbe_rule *rule;
	u32 i;

	barrier_var(rules);	/* what the loader has written, not the zeros above */
	if (ctx->op != BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB &&
	    ctx->op != BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB)
		return 1;
	describe(ctx, &conn);
	i = rule_find(rules, &conn);
	if (i >= DALBE_RULES_MAX || i >= rules->n)
		return 1;
	rule = &rules->rules[i];
	if (rule->plain)
		return 1;
	if (!policy.only_cc)
		give(ctx, rule);
	bpf_setsockopt(ctx, IPPROTO_TCP, TCP_CONGESTION, name, sizeof(name));
	return 1;
}
