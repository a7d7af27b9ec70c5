// SPDX-License-Identifier: GPL-2.0-only
/*
 * dalbectl attach: each new connection of a cgroup gets dalbe_cdg, and what the policy gives,
 * before its first data packet. Each attachment has a copy of this program, with its policy.
 *
 * A connection whose program has given it a goal or settings of its own keeps them.
 */
#include "port.h"
#include "bpf/goal.h"

char _license[] SEC("license") = "GPL";

const volatile struct dalbe_policy policy SEC(".rodata.policy") = {};

static __always_inline void give(struct bpf_sock_ops *ctx)
{
	struct dalbe_params params = policy.params;
	struct bpf_sock *sk = ctx->sk;
	struct dalbe_goal_of *g;

	g = sk ? bpf_sk_storage_get(&goals, sk, 0, BPF_SK_STORAGE_GET_F_CREATE) : NULL;
	if (!g || g->count)
		return;
	g->bytes = policy.bytes;
	g->deadline_ns = bpf_ktime_get_boot_ns() + policy.time_ns;
	g->acked_before = ctx->bytes_acked;
	g->group = policy.group;
	goal_take(&g->settings, &params, params.flags);
	g->settings.set |= params.flags;
	dalbe_changed(g, true);
}

SEC("sockops")
int dalbe_attached(struct bpf_sock_ops *ctx)
{
	char name[] = DALBE_CC_CDG;

	if (ctx->op != BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB &&
	    ctx->op != BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB)
		return 1;
	if (!policy.only_cc)
		give(ctx);
	bpf_setsockopt(ctx, IPPROTO_TCP, TCP_CONGESTION, name, sizeof(name));
	return 1;
}
