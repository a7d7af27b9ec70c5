/* SPDX-License-Identifier: GPL-2.0-only */
/* Unit tests: a line of TAP for each check, and the plan after the last. */
#ifndef DALBE_TAP_H
#define DALBE_TAP_H

#include <stdbool.h>
#include <stdio.h>

static int n_tests, n_failed;

/* detail is printed where the check fails; NULL: there is none. */
static inline void check(bool ok, const char *what, const char *detail)
{
	n_tests++;
	n_failed += !ok;
	printf("%sok %d - %s%s%s\n", ok ? "" : "not ", n_tests, what,
	       ok || !detail ? "" : ": ", ok || !detail ? "" : detail);
}

/* Returns the exit status: no check at all is a failure, too. */
static inline int plan(void)
{
	printf("1..%d\n", n_tests);
	return n_failed || !n_tests;
}

#endif
