/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The commands of dalbectl. Each gets its options, parsed, and its operands
 * (NULL-terminated), and returns an exit status.
 */
#ifndef DALBE_COMMANDS_H
#define DALBE_COMMANDS_H

#include <stddef.h>

#include "options.h"

int cmd_run(const struct options *opts, char **operands);	/* run.c */
int cmd_set(const struct options *opts, char **operands);	/* change.c */
int cmd_clear(const struct options *opts, char **operands);	/* change.c */
int cmd_get(const struct options *opts, char **operands);	/* show.c */
int cmd_watch(const struct options *opts, char **operands);	/* show.c */
int cmd_attach(const struct options *opts, char **operands);	/* attach.c */
int cmd_detach(const struct options *opts, char **operands);	/* attach.c */
int cmd_plan(const struct options *opts, char **operands);	/* plan.c */
int cmd_report(const struct options *opts, char **operands);	/* report.c */
int cmd_policy(const struct options *opts, char **operands);	/* cmd_policy.c */

/* Say so, where the goal of a job with a name does not fit. */
void plan_warn(const struct options *opts);

#define NO_EDITION \
	"there is neither the module nor the BPF edition: sudo dalbectl load, or sudo modprobe tcp_dalbe_cdg"

/* Settings by sysctl's names, in the place of connections. */
bool settings_named(const char *word);
int cmd_settings(bool set, char **words);			/* settings.c */

/* Print what is attached, a line each; returns how many. */
unsigned int attach_list(const char *prefix);

/* The whole machine, by BPF; path is what is listed. Returns false after a message. */
struct dalbe_policy;
bool attach_policy(const struct dalbe_policy *policy, const char *path);
int detach_policy(void);

/* Of bpf/'s loader, which is installed where the BPF edition is wanted; false with errno. */
bool loader_path(char *path, size_t size);

#endif
