/* SPDX-License-Identifier: GPL-2.0-only */
/* Goals, which setsockopt(2) gives (sockopt.h), or a cgroup (attach.bpf.c). */
#ifndef DALBE_BPF_GOAL_H
#define DALBE_BPF_GOAL_H

#include "core/goal.h"
#include "tools/bpf.h"

enum { IPPROTO_TCP = 6, TCP_CONGESTION = 13 };

/* @given: somebody has set anything in @goal */
struct dalbe_goal_of {
	struct goal goal;
	bool given;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
	__type(key, int);
	__type(value, struct dalbe_goal_of);
} goals SEC(".maps");

#endif /* DALBE_BPF_GOAL_H */
