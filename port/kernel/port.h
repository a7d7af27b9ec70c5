/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What core/ uses of the system that it is compiled for: in the kernel.
 */
#ifndef DALBE_PORT_H
#define DALBE_PORT_H

#include <linux/bitops.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/random.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <linux/types.h>

/* A lock that is taken in softirq and in process context; nothing sleeps under it. */
#define port_lock_t		spinlock_t
#define port_lock_init(lock)	spin_lock_init(lock)	/* a macro: one lockdep class per caller */

static inline void port_lock(port_lock_t *lock)
{
	spin_lock_bh(lock);
}

static inline void port_unlock(port_lock_t *lock)
{
	spin_unlock_bh(lock);
}

#endif /* DALBE_PORT_H */
