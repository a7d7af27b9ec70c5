/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's names that core/ uses, and that are the same wherever the kernel's headers are not:
 * in user space and in BPF. A port.h includes it after its types.
 */
#ifndef DALBE_PORT_NAMES_H
#define DALBE_PORT_NAMES_H

#define NSEC_PER_SEC	1000000000L
#define NSEC_PER_MSEC	1000000L
#define NSEC_PER_USEC	1000L
#define USEC_PER_SEC	1000000L
#define USEC_PER_MSEC	1000L

#define READ_ONCE(x)	(*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, value)	(*(volatile __typeof__(x) *)&(x) = (value))
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

/* @shift: at most 32. By halves, as 32-bit processors have no wider product. */
static inline u64 mul_u64_u32_shr(u64 a, u32 mul, unsigned int shift)
{
	return (((u64)(u32)a * mul) >> shift) + (((a >> 32) * mul) << (32 - shift));
}

#endif /* DALBE_PORT_NAMES_H */
