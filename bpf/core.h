/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * core/ with the scavenger as its base, in one object of BPF.
 *
 * A function of BPF has five arguments at most, and returns no struct: those that do are declared
 * here before core/ does, and so become a part of their caller.
 */
#ifndef DALBE_BPF_CORE_H
#define DALBE_BPF_CORE_H

#include "port.h"
#include "dalbe_ctl.h"

struct control;
struct control_config;
struct control_sample;
struct path_memory;
struct path_part;
struct sender;
struct tcp_path;

static __always_inline void control_start(struct control *c, const struct control_config *config,
					  u64 bytes, u64 bytes_done, u64 now_ns, u64 deadline_ns);
static __always_inline struct path_known path_memory_known(struct path_memory *m);
static __always_inline struct base_report sender_report(const struct sender *s);
static __always_inline struct round_result sender_end_round(struct sender *s, struct tcp_path *p);
static __always_inline struct control_sample sender_sample_interval(const struct sender *s,
								    u64 busy_us, u64 elapsed_us);
static __always_inline void sender_join(struct sender *s, struct path_memory *memory, u64 now_us);
static __always_inline void sender_leave(struct sender *s);

PORT_ONCE u32 cubic_k_ms(u64 growth_q16);	/* as it has a loop */

#pragma GCC visibility push(hidden)	/* static, for the verifier */
#include "core/bases/exp.c"
#include "core/bases/cdg.c"
#include "core/bases/cdg_price.c"
#include "core/bases/hystart.c"
#include "core/bases/signals.c"
#include "core/bases/base_cdg.c"
#include "core/control/equations.c"
#include "core/control/control.c"
#include "core/control/job.c"
#include "core/scavenger/cubic.c"
#include "core/scavenger/owd.c"
#include "core/scavenger/path_memory.c"
#include "core/sender.c"
#include "core/goal.c"
#pragma GCC visibility pop

#include "bpf/flow.h"
#pragma GCC visibility push(hidden)
#include "core/scavenger/scavenger.c"
#pragma GCC visibility pop

#endif /* DALBE_BPF_CORE_H */
