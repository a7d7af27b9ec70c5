/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libdalbe: give a TCP connection a number of bytes and a deadline.
 *
 * Thin wrappers around setsockopt(TCP_CONGESTION) and the ioctls of
 * /dev/dalbe, which dalbe_ctl.h documents. Functions return 0, or -1 with
 * errno set; a call that fails has changed nothing. All of them but
 * dalbe_close() may be called from several threads at once.
 *
 *	if (dalbe_attach(fd) ||
 *	    dalbe_set_goal(fd, 40000000000, 5400 * 1000000000ull,
 *			   DALBE_GOAL_RELATIVE))
 *		perror("dalbe");
 */
#ifndef LIBDALBE_H
#define LIBDALBE_H

#include <stdint.h>

#include "dalbe_ctl.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The operation that failed, for dalbe_strerror(). */
enum dalbe_op {
	DALBE_OP_OPEN,		/* dalbe_open() */
	DALBE_OP_ATTACH,
	DALBE_OP_SET_GOAL,
	DALBE_OP_GET_STATE,
	DALBE_OP_CLEAR,
	DALBE_OP_SET_PARAMS,
	DALBE_OP_SET_GROUP,
};

/*
 * Open /dev/dalbe, close-on-exec, unless it is open already. The other
 * functions do so when they need it; calling it first tells early whether the
 * module is there. Errors: those of open(2).
 */
int dalbe_open(void);

/* Close it again, if it is open and nobody uses it. No goal depends on it. */
void dalbe_close(void);

/*
 * Select the congestion control dalbe_cdg for the TCP socket fd, in any state, unless it has one
 * of the module's, dalbe_*, already.
 * Errors: those of setsockopt(2); ENOENT when the module is not loaded.
 */
int dalbe_attach(int fd);

/*
 * Give fd, which dalbe_attach() prepared, a goal.
 * bytes: payload to be acknowledged from now on, 1 to 2^63 - 1
 * deadline_ns: nanoseconds on CLOCK_BOOTTIME; from now with
 *              DALBE_GOAL_RELATIVE in flags
 * flags: DALBE_GOAL_*
 * Errors: see dalbe_ctl.h, and those of open(2) on /dev/dalbe.
 */
int dalbe_set_goal(int fd, uint64_t bytes, uint64_t deadline_ns,
		   uint32_t flags);

/* A random number for a job, which is not 0. */
uint32_t dalbe_new_job(void);

/*
 * Have fd take part in a job: one goal, and one w, for all connections of this number, which is not
 * 0. The first call sets the goal; see struct dalbe_goal. Errors: as dalbe_set_goal(), and EINVAL
 * where the module is older.
 */
int dalbe_set_job_goal(int fd, uint32_t job, uint64_t bytes, uint64_t deadline_ns,
		       uint32_t flags);

/* Read what fd is doing. Errors: as dalbe_set_goal(). */
int dalbe_get_state(int fd, struct dalbe_state *state);

/* Forget the goal of fd, if it has one. Errors: as dalbe_set_goal(). */
int dalbe_clear(int fd);

/*
 * Set parameters of fd: the fields that params->flags names, the others zero;
 * params->fd is ignored. Errors: as dalbe_set_goal(), and ERANGE.
 */
int dalbe_set_params(int fd, const struct dalbe_params *params);

/*
 * Have fd share what is known of its path with all sockets of the same user and network
 * namespace that have this group, whatever their destinations; 0: with none of them.
 * See struct dalbe_group for when that is right. Errors: as dalbe_set_goal(), ENOMEM, and
 * ENOTTY where the module is older.
 */
int dalbe_set_group(int fd, uint32_t group);

/* "on track", "late", ... for DALBE_STATUS_*; "unknown" for any other. */
const char *dalbe_status_name(uint32_t status);

/* "fixed", "pid", "mbc", "weight", "floor" for DALBE_CONTROLLER_*; "unknown" for any other. */
const char *dalbe_controller_name(uint32_t controller);

/* "none", "alone", ... for DALBE_REGIME_*; "unknown" for any other. */
const char *dalbe_regime_name(uint32_t regime);

/*
 * Advice on an error of errno's value err in op: one line without a
 * full stop, never NULL.
 */
const char *dalbe_strerror(enum dalbe_op op, int err);

#ifdef __cplusplus
}
#endif

#endif /* LIBDALBE_H */
