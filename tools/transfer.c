// SPDX-License-Identifier: GPL-2.0-only
/*
 * A transfer: the TCP connections of a program, which share one goal.
 *
 * Life of a connection, as this file sees it:
 *
 *	PENDING --connected, wanted--> OPEN --gone from the process--> LEFT
 *	   |                             |                              |
 *	   | not TCP, listening,         |  the kernel destroyed the    |
 *	   | not wanted                  |  socket, and told its tally  |
 *	   v                             v                              |
 *	IGNORED                         OVER <--------------------------+
 *
 * Descriptors are borrowed, never kept. A duplicate from pidfd_getfd() is a
 * reference to the same open file: while it exists, the program's own close()
 * would send no FIN, the peer would wait for an end of file that does not
 * come, and a program that waits for its peer would hang. So each look takes
 * the descriptor, asks, sets, and closes it: some ten microseconds of system
 * calls that do not sleep (beyond the socket's lock). If the program closes
 * its own just then, ours is the last, and the FIN leaves with it, those
 * microseconds later; SO_LINGER would make us wait in its place, not lose
 * data. shutdown() acts on the connection itself and is not affected at all.
 * The price is that a descriptor number must be looked up again each time, and
 * may by then mean another socket: the cookie tells.
 *
 * For the same reason nobody here notices the very end of a connection. What
 * was acknowledged after the last look comes from the kernel's report of the
 * destroyed socket (tally.h). A connection that lives for less than the time
 * between two looks can go unseen.
 */
#include <errno.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "array.h"
#include "human.h"
#include "learn.h"
#include "libdalbe.h"
#include "procs.h"
#include "tally.h"
#include "tcpsock.h"
#include "transfer.h"

/*
 * Looking costs a few system calls per process and descriptor. A new program
 * opens its connections in its first second, and seldom one alone: look often
 * then, so that little is sent without a goal.
 */
#define LOOK_OFTEN_NS	(20 * NSEC_PER_MSEC)
#define LOOK_SELDOM_NS	(250 * NSEC_PER_MSEC)
#define OFTEN_FOR_NS	(1 * NSEC_PER_SEC)	/* after the last new socket */

/* Period of asking open connections for their progress. */
#define VISIT_NS	(1 * NSEC_PER_SEC)

/* Progress over less than this is noise. */
#define MIN_RATE_INTERVAL_NS	(500 * NSEC_PER_MSEC)

/*
 * A size that is corrected by less than an eighth stays: each change makes the controller's
 * headroom smaller or, by less, larger. Half: twice as many. Twice: late by so much.
 */
#define RESIZE_PART	8

/* How long the end of a program may be held up by undelivered data. */
#define DELIVERY_NS	(2 * NSEC_PER_SEC)

enum phase {
	PENDING, IGNORED, OPEN,
	LEFT,			/* by its processes, nobody knows how */
	SENDING,		/* the same, and the kernel goes on */
	OVER,
};

struct conn {
	uint64_t inode;		/* key while a process has it */
	uint64_t cookie;	/* key at any time */
	uint64_t generation;	/* last look that found it */
	pid_t pid;		/* where it was found */
	int fd;
	enum phase phase;
	bool noticed;		/* PENDING: known to be TCP */
	bool has_goal;		/* in the kernel */
	bool has_state;
	bool on_its_own;	/* gets no goal (any more), is only counted */
	bool has_rate;
	bool attached;
	char peer[TCPSOCK_NAME_LEN];

	uint64_t opened_ns;	/* when it was given its goal */
	uint64_t closed_ns;
	uint64_t done;		/* payload acknowledged since connected */
	uint64_t received;
	bool had_goal;
	uint64_t outside;	/* of done: not for the job, as of when it took part */
	uint64_t for_job;	/* of done: for the job, while it took part before */
	uint64_t queued;
	uint64_t rate_Bps;
	uint64_t rated_ns;	/* start of the interval for the next rate */
	uint64_t rated_done;
	struct dalbe_state state;	/* as last read */
	uint64_t max_rate_Bps;		/* as set by us */
	struct dalbe_params told;	/* --window: last */
};

struct transfer {
	const struct options *opts;
	struct conn *conns;
	size_t n, room;
	size_t hint;		/* where the next lookup will likely succeed */
	uint64_t generation;
	uint64_t size_bytes;	/* as far as is known: as announced, or more */
	uint64_t start_ns;
	uint64_t now_ns;	/* of the current look */
	uint64_t often_until_ns;
	uint64_t next_visit_ns;
	uint64_t short_ns;	/* the last visit that found bytes missing */
	uint64_t heard_ns;	/* the last report that told of more bytes */
	uint64_t infeasible_ns;	/* since when all goals are; 0: they are not */
	uint64_t infeasible_done;	/* bytes acknowledged until then */
	uint64_t finished_ns;	/* 0: not yet */
	uint64_t ended_ns;
	uint64_t deadline_ns;	/* for the kernel: without closed hours, see windows_deadline() */
	time_t clock_since, clock_until;	/* for so long these and outside_windows hold */
	uint32_t controller;	/* --window: within them */
	uint32_t wmin_ppm;	/* 0: neither is known */
	uint32_t job;		/* its number */
	uint64_t job_bytes;	/* its goal, as the kernel counts; 0: none yet */
	uint64_t job_deadline_ns;
	int tally_fd;
	bool changed;		/* connections came or went */
	bool foretold;		/* that the deadline cannot be met */
	bool outside_windows;
	bool saw_own;		/* without --loopback */
	bool saw_other_port;	/* than --port */
	bool saw_mptcp;
	pid_t unreadable;	/* a process that may not be looked into */
	bool denied;		/* a descriptor that may not be borrowed */
	bool warned;
	bool warned_shape;
};

struct transfer *transfer_new(const struct options *opts)
{
	struct transfer *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->opts = opts;
	t->size_bytes = opts->size_bytes || !opts->progress ? opts->size_bytes : 1;
	t->deadline_ns = opts->deadline_ns;
	t->start_ns = boottime_ns();
	t->short_ns = t->start_ns;
	t->often_until_ns = t->start_ns + OFTEN_FOR_NS;
	t->tally_fd = tally_open();
	t->job = dalbe_new_job();
	t->warned = opts->plain;	/* that nothing gets a goal */
	return t;
}

void transfer_free(struct transfer *t)
{
	if (!t)
		return;
	if (t->tally_fd >= 0)
		close(t->tally_fd);
	free(t->conns);
	free(t);
}

static bool is_live(const struct conn *conn)
{
	return conn->phase == PENDING || conn->phase == IGNORED ||
	       conn->phase == OPEN;
}

/* Processes list their descriptors in the same order each time. */
static struct conn *find_inode(struct transfer *t, uint64_t inode)
{
	for (size_t i = 0; i < t->n; i++) {
		size_t at = (t->hint + i) % t->n;
		struct conn *conn = &t->conns[at];

		if (conn->inode == inode && is_live(conn)) {
			t->hint = at + 1;
			return conn;
		}
	}
	return NULL;
}

/*
 * A connection that a look had missed: its descriptor was on the way from one
 * process to another, or the kernel left its process out of the list.
 */
static struct conn *find_missed(struct transfer *t, uint64_t cookie)
{
	for (size_t i = 0; i < t->n; i++) {
		if (t->conns[i].phase == LEFT && t->conns[i].cookie == cookie)
			return &t->conns[i];
	}
	return NULL;
}

static uint64_t total_done(const struct transfer *t)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < t->n; i++)
		sum += t->conns[i].done;
	return sum;
}

/*
 * More than this was not announced: a protocol adds a sixteenth at most, and 64 KiB, as the kernel
 * has it (DALBE_OVERRUN_SHIFT).
 */
static uint64_t with_overhead(uint64_t bytes)
{
	return bytes + bytes / 16 + 65536;
}

/* The size that the user has given; 0: none, or with --progress a guess. */
static uint64_t announced(const struct transfer *t)
{
	return t->opts->size_auto || t->opts->progress ? 0 : t->opts->size_bytes;
}

/* Was more sent than was announced? */
static bool sent_beyond(const struct transfer *t)
{
	return announced(t) && total_done(t) > with_overhead(announced(t));
}

/*
 * The program sends more than was announced: nobody knows how much is left, and we go on as if it
 * were an eighth of what is done. Half: w is at its least for most of the rest. Twice: others pay
 * for what does not come.
 */
static void extend(struct transfer *t)
{
	uint64_t done = total_done(t);

	if (done > with_overhead(t->size_bytes))
		t->size_bytes = done + done / 8;
}

/* Without a goal there is a scavenger, which has no end. */
static bool given_goal(const struct transfer *t)
{
	return t->size_bytes;
}

static bool past_deadline(const struct transfer *t)
{
	return given_goal(t) && (int64_t)(t->now_ns - t->opts->deadline_ns) >= 0;
}

/* One warning per transfer: the first tells what is wrong. */
static void warn(struct transfer *t, const struct conn *conn,
		 const char *advice)
{
	if (!t->warned)
		complain("warning: process %d, descriptor %d %s: %s",
			 conn->pid, conn->fd,
			 given_goal(t) ? "has no goal" : "is no scavenger", advice);
	t->warned = true;
}

/*
 * Borrow the descriptor of a connection; -1 when it is not there any more.
 * To be closed at once.
 */
static int borrow(const struct conn *conn)
{
	int fd = procs_dup_fd(conn->pid, conn->fd);

	if (fd >= 0 && tcpsock_cookie(fd) != conn->cookie) {
		close(fd);
		return -1;
	}
	return fd;
}

static bool found_socket(pid_t pid, int fd, uint64_t inode, void *arg)
{
	struct transfer *t = arg;
	struct conn *conn = find_inode(t, inode);

	if (!conn) {
		if (t->n == t->room) {
			size_t room = t->room ? 2 * t->room : 16;
			void *more = realloc(t->conns,
					     room * sizeof(*t->conns));

			if (!more)
				return false;
			t->conns = more;
			t->room = room;
		}
		conn = &t->conns[t->n++];
		*conn = (struct conn){ .inode = inode, .phase = PENDING };
	} else if (conn->generation == t->generation) {
		return true;	/* another descriptor of the same socket */
	}
	conn->generation = t->generation;
	conn->pid = pid;
	conn->fd = fd;
	return true;
}

static bool found_process(pid_t pid, void *arg)
{
	struct transfer *t = arg;

	if (procs_each_socket(pid, found_socket, t) && errno == EACCES)
		t->unreadable = pid;	/* setuid, as a rule */
	return true;
}

/* Notice what processes do not have any more. */
static void sweep(struct transfer *t)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->n; i++) {
		struct conn *conn = &t->conns[i];

		if (is_live(conn) && conn->generation != t->generation) {
			if (conn->phase != OPEN)
				continue;	/* forget it */
			conn->phase = LEFT;
			conn->closed_ns = t->now_ns;
			t->changed = true;
		}
		t->conns[kept++] = *conn;
	}
	t->n = kept;
}

static bool is_wanted(struct transfer *t, const struct tcpsock *sock)
{
	bool own = sock->loopback && !t->opts->loopback;
	bool other_port = t->opts->port && sock->port != t->opts->port;

	t->saw_own |= own;
	t->saw_other_port |= other_port;
	return !own && !other_port;
}

/* Select the congestion control, and its parameters. */
static void prepare(struct transfer *t, struct conn *conn, int fd)
{
	struct dalbe_params params = t->opts->params;
	enum dalbe_op op = DALBE_OP_ATTACH;
	int ret;

	/*
	 * The kernel takes no goal any more. Best effort is what the program's
	 * own congestion control does; a scavenger needs no goal.
	 */
	if (t->opts->plain || past_deadline(t)) {
		conn->on_its_own = true;
		if (t->opts->plain || (!t->opts->windows.n &&
				       params.after_deadline != DALBE_AFTER_SCAVENGER))
			return;
		if (params.after_deadline == DALBE_AFTER_SCAVENGER) {
			params.flags |= DALBE_PARAM_CONTROLLER;
			params.controller = DALBE_CONTROLLER_WEIGHT;
		}
	}
	ret = dalbe_attach(fd);
	if (!ret) {
		op = DALBE_OP_SET_GROUP;
		ret = t->opts->group ? dalbe_set_group(fd, t->opts->group) : 0;
	}
	if (!ret && params.flags) {
		op = DALBE_OP_SET_PARAMS;
		ret = dalbe_set_params(fd, &params);
	}
	if (ret) {
		warn(t, conn, dalbe_strerror(op, errno));
		conn->on_its_own = true;
		return;
	}
	conn->attached = true;
}

/* Of Multipath TCP one that is connected stays without a goal; a listener may yet accept TCP. */
static void ignore_mptcp(struct transfer *t, struct conn *conn, const struct tcpsock *sock)
{
	t->saw_mptcp = true;
	if (sock->state != TCP_LISTEN && !sock->has_peer)
		return;		/* ask again at the next look */
	conn->phase = IGNORED;
	if (sock->state != TCP_LISTEN && is_wanted(t, sock))
		warn(t, conn, dalbe_strerror(DALBE_OP_GET_STATE, EPROTONOSUPPORT));
}

/* Find out what a new socket is. */
static void inspect(struct transfer *t, struct conn *conn)
{
	int fd = procs_dup_fd(conn->pid, conn->fd);
	struct conn *missed;
	struct tcpsock sock;
	int ret;

	if (fd < 0) {
		if (errno == EPERM) {
			warn(t, conn, dalbe_strerror(DALBE_OP_SET_GOAL, EPERM));
			conn->phase = IGNORED;
			t->denied = true;
		}
		return;
	}
	ret = tcpsock_describe(fd, &sock);
	if (ret && errno == EPROTONOSUPPORT) {
		ignore_mptcp(t, conn, &sock);
		close(fd);
		return;
	}
	if (ret || sock.state == TCP_LISTEN) {
		conn->phase = IGNORED;
		close(fd);
		return;
	}
	if (!conn->noticed || sock.has_peer)
		t->often_until_ns = t->now_ns + OFTEN_FOR_NS;
	conn->noticed = true;
	missed = find_missed(t, sock.cookie);
	if (missed) {
		missed->phase = OPEN;
		missed->generation = conn->generation;
		missed->pid = conn->pid;
		missed->fd = conn->fd;
		conn->phase = IGNORED;
		conn->inode = 0;	/* the next look forgets it */
		t->changed = true;
	} else if (sock.has_peer) {
		conn->phase = IGNORED;
		if (is_wanted(t, &sock)) {
			conn->phase = OPEN;
			conn->cookie = sock.cookie;
			conn->opened_ns = t->now_ns;
			conn->rated_ns = t->now_ns;
			memcpy(conn->peer, sock.peer, sizeof(conn->peer));
			prepare(t, conn, fd);
			t->changed = true;
		}
	}
	close(fd);
}

/* The kernel's report of a socket that programs do not have any more. */
static void hear(const struct tally *tally, void *arg)
{
	struct transfer *t = arg;

	for (size_t i = 0; i < t->n; i++) {
		struct conn *conn = &t->conns[i];

		if (conn->cookie != tally->cookie ||
		    (conn->phase != OPEN && conn->phase != LEFT))
			continue;
		/* disconnect() clears the counts that we have seen. */
		if (tally->acked > conn->done) {
			conn->done = tally->acked;
			t->heard_ns = t->now_ns;
		}
		if (tally->received > conn->received)
			conn->received = tally->received;
		conn->queued = tally->queued;
		if (conn->phase == OPEN)
			conn->closed_ns = t->now_ns;
		conn->phase = tally->ended ? OVER : SENDING;
		t->changed = true;
	}
}

/* Ask an open connection for its progress. */
static void visit(struct transfer *t, struct conn *conn)
{
	int fd = borrow(conn);
	bool had_goal = conn->has_goal;
	struct tally tally;

	if (fd < 0)
		return;		/* the next look will miss it */
	if (!tally_read(fd, &tally)) {
		if (tally.acked > conn->done)
			conn->done = tally.acked;
		conn->received = tally.received;
	}
	conn->queued = tcpsock_queued(fd);
	if (conn->on_its_own) {
		/* nothing to ask the module for */
	} else if (!dalbe_get_state(fd, &conn->state)) {
		conn->has_state = true;
		/* Somebody may have cleared it, or set another: then there is none to update. */
		conn->has_goal &= conn->state.job == t->job;
	} else if (errno == ENOPROTOOPT) {
		/* Somebody knows better; respect that. */
		warn(t, conn,
		     "another congestion control was selected, by the program or dalbectl clear");
		conn->has_goal = false;
		conn->on_its_own = true;
	}
	close(fd);
	if (had_goal && !conn->has_goal)
		conn->for_job = conn->done - conn->outside;

	if (t->now_ns - conn->rated_ns >= MIN_RATE_INTERVAL_NS) {
		conn->rate_Bps = (conn->rate_Bps + (conn->done - conn->rated_done) * 1000 /
				  ((t->now_ns - conn->rated_ns) / NSEC_PER_MSEC)) / 2;
		conn->rated_ns = t->now_ns;
		conn->rated_done = conn->done;
		conn->has_rate = true;
	}
}

/* Have a connection take part in the job. */
static void take_part(struct transfer *t, struct conn *conn, uint64_t bytes)
{
	int fd = borrow(conn);

	if (fd < 0) {
		t->changed = true;	/* try again at the next look */
		return;
	}
	if (!dalbe_set_job_goal(fd, t->job, bytes, t->deadline_ns, 0)) {
		conn->has_goal = true;
		conn->had_goal = true;
		conn->outside = conn->done - conn->for_job;
	} else if (errno != ETIME) {	/* that only means it passed just now */
		warn(t, conn, dalbe_strerror(DALBE_OP_SET_GOAL, errno));
		conn->on_its_own = true;
	}
	close(fd);
}

/* Tell the kernel another size of the job, by one of its connections. */
static void resize_job(struct transfer *t, struct conn *conn, uint64_t bytes)
{
	int fd = borrow(conn);

	if (fd < 0)
		return;
	if (!dalbe_set_job_goal(fd, t->job, bytes, t->deadline_ns, DALBE_GOAL_UPDATE)) {
		t->job_bytes = bytes;
		t->job_deadline_ns = t->deadline_ns;
	}
	close(fd);
}

/* Bytes that a connection has carried outside of the job: the kernel does not count them. */
static uint64_t done_outside(const struct conn *conn)
{
	return conn->has_goal ? conn->outside : conn->done - conn->for_job;
}

/*
 * The connections that are open take part in the job, whose goal is the transfer's, less what was
 * sent by connections that had no part in it.
 */
static void serve_job(struct transfer *t)
{
	uint64_t outside = 0, bytes;
	struct conn *member = NULL;

	for (size_t i = 0; i < t->n; i++)
		outside += done_outside(&t->conns[i]);
	bytes = outside < t->size_bytes ? t->size_bytes - outside : 1;
	for (size_t i = 0; i < t->n; i++) {
		struct conn *conn = &t->conns[i];

		if (conn->phase != OPEN || conn->on_its_own)
			continue;
		if (!conn->has_goal)
			take_part(t, conn, bytes);
		if (conn->has_goal)
			member = conn;
	}
	if (member && !t->job_bytes) {
		t->job_bytes = bytes;
		t->job_deadline_ns = t->deadline_ns;
	}
	if (member && (t->job_bytes != bytes || t->job_deadline_ns != t->deadline_ns))
		resize_job(t, member, bytes);
}

/* Look at the local clock, which may have been set. True: a window has begun or ended. */
static bool look_at_clock(struct transfer *t)
{
	bool before = t->outside_windows;
	struct timespec now;
	time_t deadline;

	if (!t->opts->windows.n)
		return false;
	clock_gettime(CLOCK_REALTIME, &now);
	if (now.tv_sec >= t->clock_since && now.tv_sec < t->clock_until)
		return false;
	t->clock_since = now.tv_sec;
	t->outside_windows = !windows_open(&t->opts->windows, now.tv_sec, &t->clock_until);
	if (given_goal(t) && !past_deadline(t)) {
		deadline = now.tv_sec + (time_t)((t->opts->deadline_ns - t->now_ns) / NSEC_PER_SEC);
		t->deadline_ns = t->opts->deadline_ns - NSEC_PER_SEC *
			(uint64_t)(deadline - windows_deadline(&t->opts->windows, now.tv_sec,
							       deadline));
	}
	return t->outside_windows != before;
}

/* Learn the parameters within the windows: the options', or the first connection's. */
static bool learn_params(struct transfer *t, int fd)
{
	const struct dalbe_params *params = &t->opts->params;
	struct dalbe_state state;

	if (t->wmin_ppm)
		return true;
	if (dalbe_get_state(fd, &state))
		return false;
	t->controller = params->flags & DALBE_PARAM_CONTROLLER ?
			params->controller : state.controller;
	t->wmin_ppm = params->flags & DALBE_PARAM_WMIN ? params->wmin_ppm : state.wmin_ppm;
	if (t->wmin_ppm < DALBE_WMIN_MIN_PPM)	/* rounded */
		t->wmin_ppm = DALBE_WMIN_MIN_PPM;
	return true;
}

/*
 * Outside the windows a connection is a scavenger. Within them its goal's controller sets w; one
 * without a goal competes, at w = 1, unless it is one that came after the deadline with --after
 * scavenger. Of a job, the parameters are all connections': each is told, and the first that is
 * tells it.
 */
static void follow_clock(struct transfer *t, struct conn *conn)
{
	struct dalbe_params params = {
		.flags = DALBE_PARAM_CONTROLLER | DALBE_PARAM_WMIN,
		.controller = DALBE_CONTROLLER_WEIGHT,
	};
	int fd;

	if (!t->opts->windows.n || !conn->attached)
		return;
	fd = borrow(conn);
	if (fd < 0) {
		t->changed = true;	/* try again at the next look */
		return;
	}
	if (!learn_params(t, fd))
		goto fail;
	params.wmin_ppm = t->wmin_ppm;
	if (!t->outside_windows && conn->has_goal)
		params.controller = t->controller;
	else if (!t->outside_windows && !(given_goal(t) &&
					  t->opts->params.after_deadline == DALBE_AFTER_SCAVENGER))
		params.wmin_ppm = DALBE_WMIN_MAX_PPM;
	if (!memcmp(&params, &conn->told, sizeof(params)))
		goto out;
	if (dalbe_set_params(fd, &params))
		goto fail;
	conn->told = params;
out:
	close(fd);
	return;
fail:
	/* The program's own choice of another congestion control, say. */
	warn(t, conn, dalbe_strerror(DALBE_OP_SET_PARAMS, errno));
	conn->attached = false;
	close(fd);
}

/*
 * Mark a connection, again where the program has marked it since, as ssh does when it has logged
 * in, and give it its part of the rate.
 */
static void shape(struct transfer *t, struct conn *conn, size_t n_open)
{
	const struct options *opts = t->opts;
	uint64_t rate_Bps = opts->max_rate_Bps / n_open;
	const char *what = NULL;
	int fd;

	if (!opts->dscp_given && rate_Bps == conn->max_rate_Bps)
		return;
	fd = borrow(conn);
	if (fd < 0) {
		t->changed = true;	/* try again at the next look */
		return;
	}
	if (opts->dscp_given && tcpsock_set_dscp(fd, opts->dscp))
		what = "is not marked";
	if (rate_Bps != conn->max_rate_Bps && tcpsock_set_max_rate(fd, rate_Bps))
		what = "has no --max-rate";
	if (what && !t->warned_shape)
		complain("warning: process %d, descriptor %d %s: %s", conn->pid, conn->fd, what,
			 strerror(errno));
	t->warned_shape |= !!what;
	conn->max_rate_Bps = rate_Bps;
	close(fd);
}

/*
 * Tell once that the deadline cannot be met: each connection competes already, in vain, and has
 * for an eighth of the time. Beside web sessions (docs/framework.md) that tells of all transfers
 * that are late, after a quarter of their time, and at a load of 0.6 of one in seven that are not.
 * Half: of one in two. Twice: it tells after two fifths of the time.
 *
 * A connection is called infeasible by how it did lately, and is so until it has made up for that.
 * So at the rate since then the rest has to be late, too, see learn_late().
 */
#define FORETELL_PART	8

/* Will the rest arrive late, at the rate since all became infeasible? */
static bool runs_late(const struct transfer *t)
{
	uint64_t done = total_done(t), deadline_ns = t->opts->deadline_ns;

	return learn_late(t->size_bytes > done ? t->size_bytes - done : 0,
			  deadline_ns > t->now_ns ? deadline_ns - t->now_ns : 0,
			  done - t->infeasible_done, t->now_ns - t->infeasible_ns);
}

static void foretell(struct transfer *t)
{
	size_t n_goals = 0, n_infeasible = 0;

	for (size_t i = 0; i < t->n; i++) {
		const struct conn *conn = &t->conns[i];

		if (conn->phase != OPEN || !conn->has_goal || !conn->has_state)
			continue;
		/* One that is done, or has nothing to send, tells nothing. */
		if (conn->state.status == DALBE_STATUS_DONE ||
		    conn->state.flags & DALBE_STATE_APP_LIMITED ||
		    (conn->has_rate && !conn->rate_Bps))
			continue;
		n_goals++;
		n_infeasible += conn->state.status == DALBE_STATUS_INFEASIBLE;
	}
	if (!n_goals || n_infeasible < n_goals) {
		t->infeasible_ns = 0;
	} else if (!t->infeasible_ns) {
		t->infeasible_ns = t->now_ns;
		t->infeasible_done = total_done(t);
	}
	if (t->foretold || !t->infeasible_ns || t->now_ns - t->infeasible_ns <
	    (t->opts->deadline_ns - t->start_ns) / FORETELL_PART || !runs_late(t))
		return;
	complain("warning: as it looks now this ends after the deadline, though it competes like any connection; dalbectl watch %d follows it",
		 getpid());
	t->foretold = true;
}

/* When the last byte was acknowledged, as precisely as is known. */
static void judge(struct transfer *t)
{
	uint64_t latest_ns = t->heard_ns;

	if (!announced(t) || t->finished_ns ||
	    total_done(t) < t->opts->size_bytes)
		return;
	for (size_t i = 0; i < t->n; i++) {
		const struct dalbe_state *state = &t->conns[i].state;
		uint64_t at_ns;

		if (t->conns[i].phase != OPEN ||
		    state->status != DALBE_STATUS_DONE)
			continue;
		at_ns = state->deadline_ns - (uint64_t)state->time_left_ns;
		if (at_ns > latest_ns)
			latest_ns = at_ns;
	}
	/* Bytes were missing after that: those of a connection without a goal came last. */
	if (latest_ns <= t->short_ns || latest_ns > t->now_ns)
		latest_ns = t->now_ns;
	t->finished_ns = latest_ns;
}

uint64_t transfer_poll(struct transfer *t, pid_t root)
{
	uint64_t delay_ns, deadline_ns = t->opts->deadline_ns;
	size_t n_open = 0;

	t->now_ns = boottime_ns();
	t->generation++;
	t->hint = 0;
	procs_each_descendant(root, found_process, t);
	sweep(t);
	for (size_t i = 0; i < t->n; i++) {
		if (t->conns[i].phase == PENDING)
			inspect(t, &t->conns[i]);
	}
	if (t->tally_fd >= 0)
		tally_collect(t->tally_fd, hear, t);

	t->changed |= look_at_clock(t);
	if (t->changed || t->now_ns >= t->next_visit_ns) {
		for (size_t i = 0; i < t->n; i++) {
			if (t->conns[i].phase != OPEN)
				continue;
			visit(t, &t->conns[i]);
			n_open++;
		}
		if (total_done(t) < t->opts->size_bytes)
			t->short_ns = t->now_ns;
		t->changed = false;
		if (given_goal(t) && !past_deadline(t)) {
			extend(t);
			serve_job(t);
		}
		for (size_t i = 0; i < t->n; i++) {
			if (t->conns[i].phase != OPEN)
				continue;
			follow_clock(t, &t->conns[i]);
			shape(t, &t->conns[i], n_open);
		}
		if (t->next_visit_ns)	/* else the program has ended */
			foretell(t);
		t->next_visit_ns = t->now_ns + VISIT_NS;
		/* At the deadline we see whether it was met. */
		if (t->now_ns < deadline_ns && t->next_visit_ns > deadline_ns)
			t->next_visit_ns = deadline_ns;
	}
	judge(t);

	delay_ns = t->now_ns < t->often_until_ns ? LOOK_OFTEN_NS :
						   LOOK_SELDOM_NS;
	if (t->now_ns < deadline_ns && deadline_ns - t->now_ns < delay_ns)
		delay_ns = deadline_ns - t->now_ns;
	return delay_ns;
}

int transfer_fd(const struct transfer *t)
{
	return t->tally_fd;
}

bool transfer_ended_one(struct transfer *t)
{
	t->now_ns = boottime_ns();
	tally_collect(t->tally_fd, hear, t);
	judge(t);
	return t->changed;
}

/* Is there an end to hear of? */
static bool undelivered(const struct transfer *t)
{
	for (size_t i = 0; i < t->n && t->tally_fd >= 0; i++) {
		if (t->conns[i].phase == LEFT)
			return true;
	}
	return false;
}

void transfer_finish(struct transfer *t, pid_t root)
{
	uint64_t until_ns;

	t->next_visit_ns = 0;
	transfer_poll(t, root);
	t->ended_ns = t->now_ns;
	until_ns = t->now_ns + DELIVERY_NS;
	while (undelivered(t) && t->now_ns < until_ns) {
		struct pollfd pollfd = { .fd = t->tally_fd, .events = POLLIN };
		uint64_t left_ns = until_ns - t->now_ns;

		if (poll(&pollfd, 1, (int)(left_ns / NSEC_PER_MSEC) + 1) < 0 &&
		    errno != EINTR)
			break;
		transfer_ended_one(t);
	}
	if (undelivered(t)) {
		tally_ask(t->tally_fd, hear, t);
		judge(t);
	}
}

void transfer_resize(struct transfer *t, uint64_t bytes)
{
	uint64_t differ = bytes > t->size_bytes ? bytes - t->size_bytes : t->size_bytes - bytes;

	if (!given_goal(t) || differ <= t->size_bytes / RESIZE_PART)
		return;
	t->size_bytes = bytes ? bytes : 1;
	t->changed = true;
}

uint64_t transfer_done(const struct transfer *t)
{
	return total_done(t);
}

/* The end that counts against the deadline: of what was announced, or, if that was too little, the
 * program's.
 */
static uint64_t end_ns(const struct transfer *t)
{
	return t->finished_ns && !sent_beyond(t) ? t->finished_ns : t->ended_ns;
}

struct sums {
	size_t n;		/* connections */
	size_t n_open;		/* of processes that outlive the program */
	size_t n_lost;		/* in another network namespace, or passed on */
	uint64_t done, received, queued;
};

static struct sums sum_up(const struct transfer *t)
{
	struct sums sums = { 0 };

	for (size_t i = 0; i < t->n; i++) {
		const struct conn *conn = &t->conns[i];

		sums.n += conn->phase >= OPEN;
		sums.n_open += conn->phase == OPEN;
		sums.n_lost += conn->phase == LEFT;
		sums.done += conn->done;
		sums.received += conn->received;
		if (conn->phase == SENDING)
			sums.queued += conn->queued;
	}
	return sums;
}

enum transfer_end transfer_end(const struct transfer *t)
{
	struct sums sums = sum_up(t);
	uint64_t enough;

	if (t->finished_ns)
		return TRANSFER_DONE;
	if (!sums.n)
		return TRANSFER_UNSEEN;
	if (sums.queued || sums.n_open || sums.n_lost)
		return TRANSFER_UNDELIVERED;
	/* The size is that of what came the other way, or a guess of it. */
	enough = announced(t) ? announced(t) / 2 : sums.done;
	if (sums.received > enough)
		return TRANSFER_DOWNLOAD;
	return announced(t) ? TRANSFER_LESS : TRANSFER_DONE;
}

bool transfer_is_late(const struct transfer *t)
{
	return t->opts->deadline_ns && (int64_t)(end_ns(t) - t->opts->deadline_ns) > 0;
}

/* Why no connection was counted. */
static void print_unseen(const struct transfer *t, char *line, size_t len)
{
	bool saw_unwanted = t->saw_own || t->saw_other_port;

	if (t->unreadable && !saw_unwanted)
		snprintf(line, len,
			 "no TCP connection seen, but process %d runs as another user; start dalbectl itself with sudo",
			 t->unreadable);
	else if (t->denied)
		snprintf(line, len,
			 "nothing is known of the program's connections, as they may not be looked at");
	else if (t->saw_mptcp)
		snprintf(line, len, "the program had no TCP connection: %s",
			 dalbe_strerror(DALBE_OP_GET_STATE, EPROTONOSUPPORT));
	else if (saw_unwanted)
		snprintf(line, len, "the program had only connections%s%s%s",
			 t->saw_own ? " to this machine itself (type --loopback to include them)" : "",
			 t->saw_own && t->saw_other_port ? ", or" : "",
			 t->saw_other_port ? " to other ports than that of --port" : "");
	else
		snprintf(line, len,
			 "the program had no TCP connection that could be seen: perhaps a very short one, UDP (QUIC), or that of another process (type ssh -o ControlPath=none for one of its own)");
}

void transfer_print(const struct transfer *t, bool failed, char *line,
		    size_t len)
{
	int64_t early_ns = (int64_t)(t->opts->deadline_ns - end_ns(t));
	char done[HUMAN_LEN], size[HUMAN_LEN], took[HUMAN_LEN], off[HUMAN_LEN];
	char received[HUMAN_LEN], queued[HUMAN_LEN], more[HUMAN_LEN];
	enum transfer_end end = transfer_end(t);
	struct sums sums = sum_up(t);
	uint64_t goal = announced(t);
	/* The time is that of the goal's last byte, where little follows it. */
	bool beyond = t->finished_ns && sums.done > goal && !sent_beyond(t);
	size_t at = 0;

	if (end == TRANSFER_UNSEEN) {
		print_unseen(t, line, len);
		return;
	}
	if (sent_beyond(t))
		at = (size_t)snprintf(line, len, "%s more than announced: ",
				      human_size(sums.done - goal, more));
	at += (size_t)snprintf(line + at, len - at,
			      "%s%s%s acknowledged in %s over %zu connection%s",
			      human_size(beyond ? goal : sums.done, done),
			      goal ? " of " : "",
			      goal ? human_size(goal, size) : "",
			      human_duration((int64_t)(end_ns(t) - t->start_ns),
					     took),
			      sums.n, sums.n == 1 ? "" : "s");
	human_size(sums.received, received);
	human_size(sums.queued, queued);
	human_duration(early_ns < 0 ? -early_ns : early_ns, off);
	if (end == TRANSFER_UNDELIVERED && sums.n_open)
		at += (size_t)snprintf(line + at, len - at,
				       "; processes that the program left behind are still connected");
	else if (end == TRANSFER_UNDELIVERED && sums.n_lost)
		at += (size_t)snprintf(line + at, len - at,
				       "; what was acknowledged after the last look is not known");
	else if (end == TRANSFER_UNDELIVERED)
		at += (size_t)snprintf(line + at, len - at,
				       "; %s that the program left behind are still being sent",
				       queued);
	else if (end == TRANSFER_DOWNLOAD)
		at += (size_t)snprintf(line + at, len - at,
				       given_goal(t) ?
				       ", but %s received: a download gets its goal at the sender" :
				       ", but %s received: the sender of a download is to be the scavenger",
				       received);
	else if (end == TRANSFER_LESS && !failed)
		at += (size_t)snprintf(line + at, len - at,
				       "; the program had no more to send");
	if (!t->opts->deadline_ns)
		return;
	/* A program that has failed, or is not done, is not early. */
	if (early_ns < 0)
		at += (size_t)snprintf(line + at, len - at, ", %s after the deadline", off);
	else if (end == TRANSFER_DONE || (end == TRANSFER_LESS && !failed))
		at += (size_t)snprintf(line + at, len - at, ", %s before the deadline", off);
}

static double seconds(uint64_t ns)
{
	return (double)ns / (double)NSEC_PER_SEC;
}

static void conn_json(const struct transfer *t, const struct conn *conn,
		      struct json *js)
{
	bool open = conn->phase == OPEN;

	json_begin(js, NULL, '{');
	json_int(js, "pid", conn->pid);
	json_int(js, "fd", conn->fd);
	json_string(js, "peer", conn->peer);
	json_uint(js, "bytes_done", conn->done);
	json_uint(js, "bytes_received", conn->received);
	json_real(js, "opened_s", seconds(conn->opened_ns - t->start_ns), 3);
	if (open)
		json_null(js, "closed_s");
	else
		json_real(js, "closed_s",
			  seconds(conn->closed_ns - t->start_ns), 3);
	json_bool(js, "delivered", conn->phase == OVER);
	json_bool(js, "had_goal", conn->had_goal);
	if (conn->has_state) {
		const struct dalbe_state *state = &conn->state;

		json_string(js, "controller",
			    dalbe_controller_name(state->controller));
		json_string(js, "last_status", human_status(state));
		json_real(js, "last_w", state->w_ppm / 1e6, 6);
		json_string(js, "last_regime",
			    dalbe_regime_name(state->regime));
		json_uint(js, "group", state->group);
		json_uint(js, "last_path_flows", state->path_flows);
		json_uint(js, "backoffs_delay", state->backoffs_delay);
		json_uint(js, "backoffs_loss", state->backoffs_loss);
		json_uint(js, "loss_episodes", state->loss_episodes);
		json_uint(js, "loss_answers", state->loss_answers);
	}
	json_end(js, '}');
}

/* How the goal was met; null, each of these, where there was none. */
static void goal_json(const struct transfer *t, struct json *js)
{
	static const char *const keys[] = {
		"bytes_goal", "complete", "deadline_s", "on_time", "late_s"
	};
	uint64_t deadline_ns = t->opts->deadline_ns;
	int64_t early_ns = (int64_t)(deadline_ns - end_ns(t));
	bool complete = transfer_end(t) == TRANSFER_DONE;

	for (size_t i = 0; !deadline_ns && i < ARRAY_SIZE(keys); i++)
		json_null(js, keys[i]);
	if (!deadline_ns)
		return;
	if (t->opts->size_bytes)
		json_uint(js, "bytes_goal", t->opts->size_bytes);
	else
		json_null(js, "bytes_goal");
	json_bool(js, "complete", complete);
	json_real(js, "deadline_s",
		  (double)(int64_t)(deadline_ns - t->start_ns) / 1e9, 3);
	/* A program that has ended early, with less: who knows. */
	if (!transfer_is_late(t) && !complete)
		json_null(js, "on_time");
	else
		json_bool(js, "on_time", !transfer_is_late(t));
	json_real(js, "late_s", (double)-early_ns / 1e9, 3);
}

void transfer_json(const struct transfer *t, struct json *js)
{
	static const char *const ends[] = {
		"done", "undelivered", "less", "download", "unseen"
	};
	struct sums sums = sum_up(t);

	json_uint(js, "bytes_done", sums.done);
	json_uint(js, "bytes_received", sums.received);
	json_uint(js, "bytes_undelivered", sums.queued);
	json_string(js, "end", ends[transfer_end(t)]);
	json_real(js, "elapsed_s", seconds(end_ns(t) - t->start_ns), 3);
	goal_json(t, js);
	json_begin(js, "connections", '[');
	for (size_t i = 0; i < t->n; i++) {
		if (t->conns[i].phase >= OPEN)
			conn_json(t, &t->conns[i], js);
	}
	json_end(js, ']');
}

void transfer_record(const struct transfer *t, struct transfer_sum *sum)
{
	uint64_t most = 0;

	*sum = (struct transfer_sum){
		.start_ns = t->start_ns, .end_ns = end_ns(t), .bytes = total_done(t), .peer = "",
	};
	/* Its connections to one place are several, but seldom to many. */
	for (size_t i = 0; i < t->n; i++) {
		uint64_t bytes = 0;

		for (size_t k = 0; k < t->n; k++)
			bytes += strcmp(t->conns[k].peer, t->conns[i].peer) ? 0 : t->conns[k].done;
		if (bytes > most) {
			most = bytes;
			sum->peer = t->conns[i].peer;
		}
	}
}
