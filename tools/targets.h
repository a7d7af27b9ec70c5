/* SPDX-License-Identifier: GPL-2.0-only */
/* The sockets that operands, PID or PID:FD, stand for. */
#ifndef DALBE_TARGETS_H
#define DALBE_TARGETS_H

#include "options.h"
#include "tcpsock.h"

/* One TCP socket; fd is ours, and closed after the callback returns. */
struct target_socket {
	pid_t pid;
	int number;		/* of the descriptor, in process pid */
	int fd;
	bool named;		/* by PID:FD: do not skip it, whatever it is */
	struct tcpsock tcp;
};

typedef void (*target_fn)(const struct target_socket *socket, void *arg);

/*
 * Call fn once for each TCP socket that the operands stand for: PID is the
 * process with its descendants, PID:FD one descriptor, no operand at all every
 * process of this user. Processes that forked share their sockets: the first
 * descriptor found counts.
 *
 * Returns -1 after a message about an operand. With again, such messages have
 * been printed before: what cannot be reached (any more) is left out instead.
 * Without operands, returns the number of processes with sockets that may not
 * be looked into.
 */
int targets_each(char **operands, bool again, target_fn fn, void *arg);

#endif
