/* SPDX-License-Identifier: GPL-2.0-only */
/* A policy without BPF: new connections are found by looking at processes, some times a second. */
#ifndef DALBE_FOLLOW_H
#define DALBE_FOLLOW_H

#include <sys/types.h>

#include "rule.h"

/*
 * Give each new connection what the rules say, of the process root and its descendants, until it
 * ends; 0: of every process that may be looked into, until a signal ends us. Connections that
 * there are already stay as they are. Returns an exit status.
 */
int follow_policy(const struct dalbe_policy *policy, pid_t root);

#endif
