/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * User space writes this, and programs of BPF read it: bpf/ has those, and the loader that pins
 * them.
 */
#ifndef DALBE_BPF_H
#define DALBE_BPF_H

#include "dalbe_ctl.h"

#define DALBE_PINS	"/sys/fs/bpf/dalbe"

/* Of the machine, by the names of net.dalbe.*; there is no CDG at a fixed G here. */
struct dalbe_defaults {
	__u32 controller;
	__u32 tw_ms;
	__u32 wmin_ppm;
	__u32 limit_increase;
	__u32 after_deadline;
	__u32 hystart;
	__u32 idle_g_us;
};

/**
 * struct dalbe_policy - what each new connection of a cgroup is given
 * @bytes: 0: no goal
 * @time_ns: from its beginning to its deadline
 * @params: of these, as in DALBE_IOC_SET_PARAMS
 * @group: 0: none
 * @only_cc: none of these, but dalbe_cdg, as the module is all there is
 */
struct dalbe_policy {
	__aligned_u64 bytes;
	__aligned_u64 time_ns;
	struct dalbe_params params;
	__u32 group;
	__u32 only_cc;
};

#endif
