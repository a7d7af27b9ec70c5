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
#include <linux/string.h>
#include <linux/time64.h>
#include <linux/types.h>

#endif /* DALBE_PORT_H */
