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

#include <stdint.h>

/* Payload bytes acknowledged on fd since it was connected; -1 with errno. */
int64_t tally_read(int fd);

/*
 * Start to listen for the end of sockets in the current network namespace.
 * Returns a descriptor, -1 with errno where the kernel has no tcp_diag.
 */
int tally_open(void);

/*
 * Hand over every report that has arrived: the socket's SO_COOKIE and the
 * payload bytes it got acknowledged in its life. What a full receive buffer
 * has swallowed is lost. Never blocks.
 */
void tally_collect(int fd,
		   void (*fn)(uint64_t cookie, uint64_t acked_bytes, void *arg),
		   void *arg);

#endif
