// SPDX-License-Identifier: GPL-2.0-only
/* dalbectl set and clear: change connections of running programs. */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>

#include "commands.h"
#include "human.h"
#include "libdalbe.h"
#include "targets.h"

struct change {
	const struct options *opts;
	unsigned int n;		/* sockets counted so far */
	unsigned int n_sharing;	/* 0: only count */
	uint32_t job;		/* of all of them; 0: there is one alone, or no job is known */
	unsigned int failed;
	pid_t listener_pid;	/* 0: none seen */
	int listener;		/* its descriptor */
};

static void failed(struct change *change, const struct target_socket *socket,
		   enum dalbe_op op)
{
	complain("%d:%d: %s", socket->pid, socket->number,
		 dalbe_strerror(op, errno));
	change->failed++;
}

/* Each download has so long from its own beginning; false: the edition knows only one deadline. */
static bool set_goal_of_each(const struct options *opts, int fd)
{
	uint64_t time_ns;
	char err[HUMAN_ERR_LEN];

	return *opts->deadline_text == '+' &&
	       !human_parse_duration(opts->deadline_text + 1, &time_ns, err) &&
	       !dalbe_set_goal(fd, opts->size_bytes, time_ns,
			       DALBE_GOAL_RELATIVE | DALBE_GOAL_EACH |
			       (opts->update ? DALBE_GOAL_UPDATE : 0));
}

/* The size is that of all: of their job, or else divided. */
static int set_goal(struct change *change, int fd)
{
	const struct options *opts = change->opts;
	uint32_t flags = opts->update ? DALBE_GOAL_UPDATE : 0, job = change->job;
	uint64_t bytes = opts->size_bytes / change->n_sharing;
	struct dalbe_state state;

	if (opts->update)
		job = dalbe_get_state(fd, &state) ? 0 : state.job;
	if (job && !dalbe_set_job_goal(fd, job, opts->size_bytes, opts->deadline_ns, flags))
		return 0;
	if (job && errno != EINVAL)
		return -1;
	change->job = 0;
	if (change->n <= opts->size_bytes % change->n_sharing)
		bytes++;
	return dalbe_set_goal(fd, bytes ? bytes : 1, opts->deadline_ns, flags);
}

static void set_one(const struct target_socket *socket, void *arg)
{
	struct change *change = arg;
	const struct options *opts = change->opts;
	struct dalbe_state state;

	if (socket->tcp.state == TCP_LISTEN && !change->listener_pid) {
		change->listener_pid = socket->pid;
		change->listener = socket->number;
	}
	/* A process's listener accepts connections that nobody asked about. */
	if (!socket->named && !socket->tcp.has_peer)
		return;
	change->n++;
	if (!change->n_sharing)
		return;
	if (dalbe_attach(socket->fd)) {
		failed(change, socket, DALBE_OP_ATTACH);
		return;
	}
	if (opts->group_given && dalbe_set_group(socket->fd, opts->group)) {
		failed(change, socket, DALBE_OP_SET_GROUP);
		return;
	}
	if (opts->params.flags && dalbe_set_params(socket->fd, &opts->params)) {
		failed(change, socket, DALBE_OP_SET_PARAMS);
		return;
	}
	if (!opts->size_bytes)
		return;
	if (socket->tcp.state == TCP_LISTEN && set_goal_of_each(opts, socket->fd))
		return;
	if (set_goal(change, socket->fd))
		failed(change, socket, DALBE_OP_SET_GOAL);
	else if (!(opts->params.flags & DALBE_PARAM_CONTROLLER) &&
		 !dalbe_get_state(socket->fd, &state) &&
		 state.controller == DALBE_CONTROLLER_WEIGHT)
		complain("warning: %d:%d stays a scavenger, whatever the deadline; type --controller mbc to change that",
			 socket->pid, socket->number);
}

int cmd_set(const struct options *opts, char **operands)
{
	struct change change = { .opts = opts };

	if (targets_each(operands, false, set_one, &change))
		return EXIT_FAILURE;
	if (!change.n && change.listener_pid) {
		complain("%s: no connection yet, but it listens; type %d:%d to %s each connection that it accepts",
			 operands[0], change.listener_pid, change.listener,
			 opts->size_bytes ? "give this goal to" : "set this for");
		return EXIT_FAILURE;
	}
	if (!change.n) {
		complain("%s: the process has no TCP connection, nor have its descendants; see ss -tp for those that have",
			 operands[0]);
		return EXIT_FAILURE;
	}
	change.n_sharing = change.n;
	change.job = change.n > 1 ? dalbe_new_job() : 0;
	change.n = 0;
	if (targets_each(operands, false, set_one, &change) || change.failed)
		return EXIT_FAILURE;
	return EXIT_SUCCESS;
}

static void clear_one(const struct target_socket *socket, void *arg)
{
	struct change *change = arg;

	if (!dalbe_clear(socket->fd))
		change->n++;
	else if (socket->named || errno != ENOPROTOOPT)
		failed(change, socket, DALBE_OP_CLEAR);
}

int cmd_clear(const struct options *opts, char **operands)
{
	struct change change = { .opts = opts };

	if (targets_each(operands, false, clear_one, &change) || change.failed)
		return EXIT_FAILURE;
	if (!change.n) {
		complain("%s: no connection of dalbe; see dalbectl get for those there are",
			 operands[0]);
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}
