/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What core/ uses of the system that it is compiled for: in BPF, where the kernel is known by its
 * helpers and its types (BTF) alone.
 */
#ifndef DALBE_PORT_H
#define DALBE_PORT_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s8 s8;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;
typedef _Bool bool;

enum { false, true };

/* As <asm-generic/errno.h>, which is another's on another processor. */
enum {
	ENOMEM = 12, EINVAL = 22, ERANGE = 34, ENODATA = 61, ETIME = 62, EOVERFLOW = 75,
	ENOPROTOOPT = 92, EOPNOTSUPP = 95,
};

#define NULL		((void *)0)

#define U8_MAX		0xff
#define U16_MAX		0xffff
#define U32_MAX		0xffffffffu
#define U64_MAX		(~0ull)
#define S16_MIN		(-32768)
#define S16_MAX		32767
#define S32_MAX		0x7fffffff
#define S32_MIN		(-S32_MAX - 1)
#define S64_MAX		0x7fffffffffffffffll

#include "port/names.h"

#define memset		__builtin_memset
#define memcpy		__builtin_memcpy

/*
 * The verifier looks at a global function once, not at each of its calls: without these it has
 * 454,000 instructions to look at for dalbe_pkts_acked on 6.18, not 53,000.
 */
#define PORT_ONCE	__attribute__((noinline, visibility("default")))
#define PORT_U64	PORT_ONCE u64

/* No call by pointer: each object has one base. */
#define PORT_BASE	scavenger_base
/* ... and asks it at each ACK: with sender_settle() Linux 7.2's verifier refuses dalbe_init() */
#define PORT_EACH_ACK
#define PORT_MODEL	cdg_base_model_q40

#define get_random_u32()	bpf_get_prandom_u32()

/* Before Linux 6.6 BPF has unsigned divisions alone. */
static inline s64 div_s64(s64 a, s32 b)
{
	u64 q = (a < 0 ? -(u64)a : (u64)a) / (b < 0 ? -(u32)b : (u32)b);

	return (a < 0) != (b < 0) ? -(s64)q : (s64)q;
}

/*
 * A lock that never waits for long. bpf_spin_lock() allows no calls under it before Linux 6.9, nor
 * a map that forgets the least recently used. This one holds the number of the processor that has
 * it, plus one, and in its upper half how many more have it there: whoever interrupts its holder
 * goes on at once, as waiting would be in vain, and whoever is on another processor does so after
 * PORT_LOCK_TRIES. What that costs: of two flows one may then judge by half of what the other has
 * written, or a change be lost. Nothing else can happen: all are numbers in a map.
 */
#define PORT_LOCK_TRIES		128
#define PORT_LOCK_ONE_MORE	0x10000u

#define port_lock_t		u32
#define port_lock_init(lock)	(*(lock) = 0)

PORT_ONCE u32 port_lock_or_go_on(port_lock_t *lock)
{
	u32 me = (bpf_get_smp_processor_id() + 1) % PORT_LOCK_ONE_MORE, holder, i;

	for (i = 0; lock && i < PORT_LOCK_TRIES; i++) {
		holder = __sync_val_compare_and_swap(lock, 0, me);
		if (!holder)
			return 0;
		if (holder % PORT_LOCK_ONE_MORE == me) {
			*lock = holder + PORT_LOCK_ONE_MORE;
			return 0;
		}
	}
	if (lock)
		*lock = me;
	return 0;
}

#define port_lock(lock)		port_lock_or_go_on(lock)

static __always_inline void port_unlock(port_lock_t *lock)
{
	u32 me = (bpf_get_smp_processor_id() + 1) % PORT_LOCK_ONE_MORE;
	u32 holder = *(volatile u32 *)lock;

	if (holder % PORT_LOCK_ONE_MORE == me)
		*(volatile u32 *)lock = holder == me ? 0 : holder - PORT_LOCK_ONE_MORE;
}

#endif /* DALBE_PORT_H */
