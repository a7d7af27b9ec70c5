/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What core/ uses of the system that it is compiled for: in user space, the few kernel names.
 */
#ifndef DALBE_PORT_H
#define DALBE_PORT_H

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

#define NSEC_PER_SEC	1000000000L
#define NSEC_PER_MSEC	1000000L
#define NSEC_PER_USEC	1000L
#define USEC_PER_SEC	1000000L
#define USEC_PER_MSEC	1000L

#ifndef HZ
#define HZ		1000
#endif

#define fallthrough	__attribute__((__fallthrough__))
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define min_t(t, a, b)	((t)(a) < (t)(b) ? (t)(a) : (t)(b))
#define max_t(t, a, b)	((t)(a) > (t)(b) ? (t)(a) : (t)(b))
#define min(a, b)	((a) < (b) ? (a) : (b))
#define max(a, b)	((a) > (b) ? (a) : (b))
#define max3(a, b, c)	max(max(a, b), c)
#define clamp_t(t, v, lo, hi)	min_t(t, max_t(t, v, lo), hi)
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define DIV_ROUND_CLOSEST(x, d) \
	(((x) > 0) == ((d) > 0) ? ((x) + (d) / 2) / (d) : ((x) - (d) / 2) / (d))

#define BIT(n)		(1ul << (n))

u32 get_random_u32(void);	/* pure.c */

static inline unsigned int hweight8(u8 x)
{
	return __builtin_popcount(x);
}

static inline int fls64(u64 x)
{
	return x ? 64 - __builtin_clzll(x) : 0;
}

static inline u64 div_u64(u64 a, u32 b)
{
	return a / b;
}

static inline u64 div64_u64(u64 a, u64 b)
{
	return a / b;
}

static inline s64 div_s64(s64 a, s32 b)
{
	return a / b;
}

/* @shift: at most 32. By halves, as 32-bit processors have no wider product. */
static inline u64 mul_u64_u32_shr(u64 a, u32 mul, unsigned int shift)
{
	return (((u64)(u32)a * mul) >> shift) + (((a >> 32) * mul) << (32 - shift));
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
