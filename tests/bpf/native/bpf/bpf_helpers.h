/* SPDX-License-Identifier: GPL-2.0-only */
/* What port/bpf/port.h takes of libbpf's header of this name, in user space: see ../../core.c. */
#ifndef DALBE_NATIVE_BPF_HELPERS_H
#define DALBE_NATIVE_BPF_HELPERS_H

#include <sys/cdefs.h>	/* __always_inline */

#define __noinline	__attribute__((noinline))

__u32 get_random_u32(void);	/* sim/pure.c */

#define bpf_get_prandom_u32	(get_random_u32)
#define bpf_get_smp_processor_id()	0

#endif
