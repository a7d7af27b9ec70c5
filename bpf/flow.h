/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * BPF keeps settings, flows, and what is known of paths here. kernel/dalbe.h and kernel/paths.c say
 * more of each.
 */
#ifndef DALBE_BPF_FLOW_H
#define DALBE_BPF_FLOW_H

#include "bpf/goal.h"

#define DALBE_PATHS_MAX		4096
#define DALBE_PATH_IDLE_NS	(600 * NSEC_PER_SEC)

volatile struct dalbe_defaults settings SEC(".data.settings") = {
	.controller = DALBE_CONTROLLER_MBC,
	.wmin_ppm = 10000,
	.limit_increase = 1,
	.after_deadline = DALBE_AFTER_BEST_EFFORT,
	.hystart = CDG_HYSTART_TRAIN | CDG_HYSTART_DELAY,
	.idle_g_us = CDG_IDLE_G_DEFAULT_NS / 1000,
};

/* The kernel's HZ, by the loader. */
const volatile u32 hz SEC(".rodata.hz") = 250;

/* Of a path; or of a job: the rest but netns and uid is 0. No padding, as all is compared. */
struct path_key {
	u64 netns;
	u32 uid;
	u32 group;
	u32 daddr[4];
	u32 job;
	u32 zero;
};

/**
 * struct path_entry - what is known of a path, or a job
 * @id: of this entry: one that was forgotten and made again has another; 0: made this moment
 * @idle_ns: since when no flow shares it, CLOCK_BOOTTIME
 * @flows: that share it
 */
struct path_entry {
	u64 id;
	u64 idle_ns;
	u32 flows;
	union {
		struct path_memory memory;
		struct job job;
	};
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, DALBE_PATHS_MAX);
	__type(key, struct path_key);
	__type(value, struct path_entry);
} paths SEC(".maps");

/**
 * struct path_ref - a flow's entry: a pointer to it cannot be kept in a map
 * @id: 0: it has none
 * @key: of the entry
 */
struct path_ref {
	u64 id;
	struct path_key key;
};

/**
 * struct dalbe_flow - an established connection
 * @path: what it shares
 * @job: in which it has a part
 * @own: what it knows of the path where it shares none
 * @part: the interval that ends: the controller's functions hand it down several times, and of a
 *	pointer to the stack the verifier of Linux 7.2 then loses what they read there
 * @goal_changed: by the user: the next ACK looks there
 * @goal_restarts: and a transfer begins with that, or none is left
 * @no_undo: TCP must not take its last cut back
 * @pair_segs: below the least window: tcp_sock.data_segs_out before the two packets under way
 * @undo_ssthresh: TCP has done so all the same: ssthresh is to be this again; 0: it has not
 */
struct dalbe_flow {
	u32 busy_jiffies;
	u32 last_bytes_acked;
	bool fq;
	bool no_undo;
	bool goal_changed;
	bool goal_restarts;
	u32 undo_ssthresh;
	u32 pair_segs;
	u64 tw_end_us;
	u64 tw_start_us;
	struct path_ref path;
	struct path_ref job;
	struct path_memory own;
	struct job_part part;
	struct sender sender;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct dalbe_flow);
} flows SEC(".maps");

static __always_inline struct path_entry *entry_find(const struct path_ref *ref)
{
	struct path_entry *e;

	if (!ref->id)
		return NULL;
	e = bpf_map_lookup_elem(&paths, &ref->key);
	return e && e->id == ref->id ? e : NULL;
}

static __always_inline struct job *job_of(const struct dalbe_flow *f)
{
	struct path_entry *e = entry_find(&f->job);

	return e ? &e->job : NULL;
}

/* One flow less, if the entry is still there. */
static __always_inline void entry_put(struct path_ref *ref, struct path_entry *e)
{
	if (e) {
		__sync_fetch_and_add(&e->flows, -1);
		e->idle_ns = bpf_ktime_get_boot_ns();
	}
	ref->id = 0;
}

/* Have no part in a job any more: what was done for it stays done. */
static __always_inline void dalbe_job_leave(struct dalbe_flow *f, struct goal *g,
					    u64 bytes_acked)
{
	struct path_entry *e = entry_find(&f->job);

	if (e) {
		job_add(&e->job, goal_bytes_done(g, bytes_acked), bpf_ktime_get_boot_ns());
		g->acked_before = bytes_acked;
	}
	entry_put(&f->job, e);
}

/* core/ hands sender.memory in by name, and where that member lies tells whose it is. */
static __always_inline struct dalbe_flow *flow_of(struct path_memory *const *memory)
{
	return (void *)memory - __builtin_offsetof(struct dalbe_flow, sender.memory);
}

static __always_inline struct path_memory *path_of(struct path_memory *const *memory)
{
	struct dalbe_flow *f = flow_of(memory);
	struct path_entry *e = entry_find(&f->path);

	return e ? &e->memory : &f->own;
}

/* Looked at once, as PORT_ONCE says: of its caller else all that follows, for each way through it.
 * Linux 6.1 hands it a struct on the stack only if that has no gap.
 */
PORT_ONCE u32 path_memory_round_once(struct path_memory *m, struct path_part *part,
				     struct path_round *r)
{
	return m && part && r ? path_memory_round(m, part, r) : PATH_AS_IT_IS;
}

#define path_memory_known(memory)		path_memory_known(path_of(&(memory)))
#define path_memory_round(memory, part, r)	path_memory_round_once(path_of(&(memory)), part, r)
#define path_memory_lost(memory, r)		path_memory_lost(path_of(&(memory)), r)
#define path_memory_cut(memory)			path_memory_cut(path_of(&(memory)))
#define path_memory_repair(memory, part)	path_memory_repair(path_of(&(memory)), part)
#define path_memory_pause(memory, part)		path_memory_pause(path_of(&(memory)), part)
#define path_turn_us(memory, base_rtt_us)	path_turn_us(path_of(&(memory)), base_rtt_us)

#endif /* DALBE_BPF_FLOW_H */
