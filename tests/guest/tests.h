/* SPDX-License-Identifier: GPL-2.0-only */
/* The tables of tests, one per file. */
#ifndef TESTS_H
#define TESTS_H

#include "harness.h"

extern const struct test tests_goal[];		/* what a goal does */
extern const struct test tests_status[];	/* what GET_STATE says of it */
extern const struct test tests_regime[];	/* whose queue it is */
extern const struct test tests_scavenger[];	/* without a goal */
extern const struct test tests_cubic[];		/* another base */
extern const struct test tests_vegas[];		/* another base */
extern const struct test tests_promises[];	/* no less modest than others */
extern const struct test tests_lifetime[];	/* sockets that come and go */
extern const struct test tests_params[];	/* settings of one socket */
extern const struct test tests_sysctl[];	/* settings of a namespace */
extern const struct test tests_paths[];		/* who shares what is known */
extern const struct test tests_counters[];	/* what became of goals */
extern const struct test tests_job[];		/* a goal of several connections */
extern const struct test tests_bad_input[];	/* refusals */
extern const struct test tests_horizon[];	/* wraps, days, thousands */
extern const struct test tests_memory[];	/* allocations that fail */
extern const struct test tests_module[];	/* load and unload */

/* The module that tests_module loads, and leaves loaded. */
extern const char *module_path;

/* sysctl.c */
#define SYSCTL_LEN	32
int sysctl_write_raw(const char *ns, const char *name, const char *value);
void sysctl_write(const char *ns, const char *name, const char *value);
void sysctl_read(const char *ns, const char *name, char value[SYSCTL_LEN]);

#endif /* TESTS_H */
