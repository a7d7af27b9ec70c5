/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A transfer: the TCP connections of a program and its descendants, which
 * together have one goal.
 *
 * The caller polls; every poll finds the connections that were opened or
 * closed, and gives those that are open their shares of the goal.
 */
#ifndef DALBE_TRANSFER_H
#define DALBE_TRANSFER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "json.h"
#include "options.h"

struct transfer;

/* Returns NULL when memory runs out. opts stays the caller's. */
struct transfer *transfer_new(const struct options *opts);

/*
 * Look at every process below root. Returns the time until the next look is
 * due, in nanoseconds.
 */
uint64_t transfer_poll(struct transfer *t, pid_t root);

/*
 * A descriptor that becomes readable when some TCP socket of this network
 * namespace has ended, or -1; and what to do then: returns true when it was
 * one of ours, so that a look is due. It costs one system call.
 */
int transfer_fd(const struct transfer *t);
bool transfer_ended_one(struct transfer *t);

/* The bytes that all connections have got acknowledged. */
uint64_t transfer_done(const struct transfer *t);

/* --progress: it is going to be another size. */
void transfer_resize(struct transfer *t, uint64_t bytes);

/*
 * The program has ended: look once more, and wait, two seconds at most, until
 * the kernel has delivered what the program left in its send queues.
 */
void transfer_finish(struct transfer *t, pid_t root);

/* The rest is to be called after transfer_finish(). */

enum transfer_end {
	TRANSFER_DONE,		/* all bytes (of the goal) are acknowledged */
	TRANSFER_UNDELIVERED,	/* not yet, or not known: the program left some behind */
	TRANSFER_LESS,		/* the program has sent less */
	TRANSFER_DOWNLOAD,	/* it has received instead */
	TRANSFER_UNSEEN,	/* no connection to judge by */
};

enum transfer_end transfer_end(const struct transfer *t);

/* The last byte was acknowledged, or the program ended, after the deadline. */
bool transfer_is_late(const struct transfer *t);

/* One line for people. failed: the program did. */
void transfer_print(const struct transfer *t, bool failed, char *line,
		    size_t len);

/* Members of the JSON object that the caller has begun. */
void transfer_json(const struct transfer *t, struct json *js);

/* For the record. peer is the transfer's. */
struct transfer_sum {
	uint64_t start_ns, end_ns;	/* CLOCK_BOOTTIME */
	uint64_t bytes;
	const char *peer;		/* with the most bytes, and its port; or empty */
};

void transfer_record(const struct transfer *t, struct transfer_sum *sum);

void transfer_free(struct transfer *t);

#endif
