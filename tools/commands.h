/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The commands of dalbectl. Each gets its options, parsed, and its operands
 * (NULL-terminated), and returns an exit status.
 */
#ifndef DALBE_COMMANDS_H
#define DALBE_COMMANDS_H

#include "options.h"

int cmd_run(const struct options *opts, char **operands);	/* run.c */
int cmd_set(const struct options *opts, char **operands);	/* change.c */
int cmd_clear(const struct options *opts, char **operands);	/* change.c */
int cmd_get(const struct options *opts, char **operands);	/* show.c */
int cmd_watch(const struct options *opts, char **operands);	/* show.c */

#endif
