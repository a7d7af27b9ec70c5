/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What core/ uses of the system that it is compiled for: in user space, the few kernel names.
 */
#ifndef DALBE_PORT_H
#define DALBE_PORT_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

#define U8_MAX		UINT8_MAX
#define U16_MAX		UINT16_MAX
#define U32_MAX		UINT32_MAX
#define U64_MAX		UINT64_MAX
#define S16_MIN		INT16_MIN
#define S16_MAX		INT16_MAX
#define S32_MAX		INT32_MAX
#define S32_MIN		INT32_MIN
#define S64_MAX		INT64_MAX

#include "port/names.h"

/* The C library's would be in lines of their own for those who read what the preprocessor makes. */
#undef __always_inline
#define __always_inline	inline

#ifndef HZ
#define HZ		1000
#endif

u32 get_random_u32(void);	/* pure.c */

static inline unsigned int hweight8(u8 x)
{
	return __builtin_popcount(x);
}

static inline s64 div_s64(s64 a, s32 b)
{
	return a / b;
}

static inline u32 usecs_to_jiffies(u32 us)
{
	return us / (1000000 / HZ) + !!(us % (1000000 / HZ));
}

/* One thread: there is nothing to lock. */
#define port_lock_t	int

static inline void port_lock_init(port_lock_t *lock)
{
	*lock = 0;
}

static inline void port_lock(port_lock_t *lock)
{
	(void)lock;
}

static inline void port_unlock(port_lock_t *lock)
{
	(void)lock;
}

#endif /* DALBE_PORT_H */
