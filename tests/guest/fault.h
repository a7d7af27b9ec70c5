/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Failing allocations on request (the kernel's CONFIG_FAILSLAB).
 *
 *	fault_arm(n)	the n-th allocation of this thread will fail
 *	fault_disarm()	returns how many were left to go: 0, it has happened
 *	fault_cache()	allocations from a slab cache fail, whoever asks
 *	fault_none()	ends all of these; each test ends so
 */
#ifndef FAULT_H
#define FAULT_H

#include <stdbool.h>

#define FAULT_NEVER	1000000u	/* arm with this to count */

void fault_require(bool sleeping_too);
void fault_arm(unsigned int nth);
unsigned int fault_disarm(void);
void fault_cache(const char *cache, unsigned int percent);
void fault_none(void);

#endif /* FAULT_H */
