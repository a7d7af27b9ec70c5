// SPDX-License-Identifier: GPL-2.0-only
/*
 * core/ as bpf/core.h makes it, with the arithmetic and the lock of port/bpf/port.h, but in user
 * space and with the simulator's connections (port/user/port_path.h): tests/python/test_bpf.py
 * compares it with core/ as the module has it.
 *
 * The simulator calls what is no function of its own there by another name.
 */
#define DALBE_BPF_FLOW_H	/* no maps: a pointer may be kept here */
#include "port/bpf/port.h"	/* before core/ asks for that of user space */
#include "bpf/core.h"

void native_control_start(struct control *c, const struct control_config *config, u64 bytes,
			  u64 bytes_done, u64 now_ns, u64 deadline_ns)
{
	control_start(c, config, bytes, bytes_done, now_ns, deadline_ns);
}

struct round_result native_sender_end_round(struct sender *s, struct tcp_path *p)
{
	return sender_end_round(s, p);
}

void native_sender_join(struct sender *s, struct path_memory *memory, u64 now_us)
{
	sender_join(s, memory, now_us);
}

void native_sender_leave(struct sender *s)
{
	sender_leave(s);
}

/* Here nothing runs them. */
const struct lbe_base cubic_base, vegas_base;
