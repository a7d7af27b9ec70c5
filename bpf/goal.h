/* SPDX-License-Identifier: GPL-2.0-only */
/* Goals, which setsockopt(2) gives (sockopt.h), or a cgroup (attach.bpf.c). */
#ifndef DALBE_BPF_GOAL_H
#define DALBE_BPF_GOAL_H

#include "core/goal.h"
#include "tools/bpf.h"

enum { IPPROTO_TCP = 6, TCP_CONGESTION = 13 };

/**
 * struct dalbe_goal_of - what the user has asked of a socket; a listener's children inherit it
 * @bytes: 0: no goal
 * @deadline_ns: CLOCK_BOOTTIME; see @each
 * @check: of these, @job and @each: a child may copy them while they are written
 * @acked_before: tcp_sock.bytes_acked when the goal was set; of a job's connection, at the end of
 *	its last part
 * @done_ns: when its last byte was acknowledged; 0: not yet, or a job's
 * @given: somebody has set any of these
 * @group: see struct dalbe_group
 * @job: see struct dalbe_goal
 * @each: @deadline_ns counts from when the connection is established, which is still to come
 * @settings: see there
 */
struct dalbe_goal_of {
	u64 bytes;
	u64 deadline_ns;
	u64 check;
	u64 acked_before;
	u64 done_ns;
	u32 group;
	u32 job;
	bool each;
	bool given;
	struct goal_settings settings;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
	__type(key, int);
	__type(value, struct dalbe_goal_of);
} goals SEC(".maps");

static __always_inline u64 dalbe_goal_check(const struct dalbe_goal_of *g)
{
	return g->bytes ^ g->deadline_ns ^ g->job ^ ((u64)g->each << 32);
}

static __always_inline void dalbe_given(struct dalbe_goal_of *g)
{
	g->check = dalbe_goal_check(g);
	g->given = true;
}

#endif /* DALBE_BPF_GOAL_H */
