/* SPDX-License-Identifier: GPL-2.0-only */
/* The sockets that an operand, PID or PID:FD, stands for. */
#ifndef DALBE_TARGETS_H
#define DALBE_TARGETS_H

#include "options.h"
#include "tcpsock.h"

/* One TCP socket; fd is ours, and closed after the callback returns. */
struct target_socket {
	pid_t pid;
	int number;		/* of the descriptor, in process pid */
	int fd;
	struct tcpsock tcp;
};

typedef void (*target_fn)(const struct target_socket *socket, void *arg);

/*
 * Call fn for each TCP socket of a process, or for the one descriptor that
 * the target names, in which case anything else is an error. Returns 0, or
 * -1 after a message; with may_be_gone, a process or descriptor that does not
 * exist is neither offered nor an error.
 */
int targets_each(struct target target, bool may_be_gone, target_fn fn,
		 void *arg);

/*
 * The same for all processes of this user. Returns the number of processes
 * with sockets that may not be looked into.
 */
unsigned int targets_each_mine(target_fn fn, void *arg);

#endif
