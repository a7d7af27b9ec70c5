/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DALBE_ARRAY_H
#define DALBE_ARRAY_H

/* Number of elements of an array; not for pointers. */
#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

#endif
