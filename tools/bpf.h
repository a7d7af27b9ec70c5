/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * User space writes this, and programs of BPF read it: bpf/ has those, and the loader that pins
 * them.
 */
#ifndef DALBE_BPF_H
#define DALBE_BPF_H

#include "tools/rule.h"

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

#endif
