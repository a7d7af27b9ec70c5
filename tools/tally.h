/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How much payload a TCP socket got acknowledged, in life and after.
 *
 * When a connection is gone from its process, nobody can ask its socket any
 * more, though the kernel may still be delivering what was queued. But the
 * kernel reports the statistics of every TCP socket that it destroys
 * (sock_diag(7), what "ss -E" shows), without privileges.
 */
#ifndef DALBE_TALLY_H
#define DALBE_TALLY_H

#include <stdbool.h>
#include <stdint.h>

struct tally {
	uint64_t cookie;	/* SO_COOKIE */
	uint64_t acked;		/* payload bytes acknowledged since connected */
	uint64_t received;	/* payload bytes received, and the FIN */
	uint64_t queued;	/* not acknowledged yet; of tally_ask() only */
	bool ended;		/* destroyed: acked has got its last value */
};

typedef void (*tally_fn)(const struct tally *tally, void *arg);

/* acked and received of fd, whose other fields stay; -1 with errno. */
int tally_read(int fd, struct tally *tally);

/*
 * Start to listen for the end of sockets in the current network namespace.
 * Returns a descriptor, -1 with errno where the kernel has no tcp_diag.
 */
int tally_open(void);

/*
 * Hand over every report of an end that has arrived. Those that a full
 * receive buffer did not take are lost. Never blocks.
 */
void tally_collect(int fd, tally_fn fn, void *arg);

/* Hand over every socket that a program has closed, and the kernel has not. */
void tally_ask(int fd, tally_fn fn, void *arg);

#endif
