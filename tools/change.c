// SPDX-License-Identifier: GPL-2.0-only
/* dalbectl set and clear: change connections of running programs. */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>

#include "commands.h"
#include "libdalbe.h"
#include "targets.h"

struct change {
	const struct options *opts;
	bool explicit;		/* PID:FD: whatever socket that is */
	unsigned int n;		/* sockets counted so far */
	unsigned int n_sharing;	/* 0: only count */
	unsigned int failed;
};

static void failed(struct change *change, const struct target_socket *socket,
		   enum dalbe_op op)
{
	complain("%d:%d: %s", socket->pid, socket->number,
		 dalbe_strerror(op, errno));
	change->failed++;
}

static void set_one(const struct target_socket *socket, void *arg)
{
	struct change *change = arg;
	const struct options *opts = change->opts;
	uint64_t bytes;

	/* A process's listener accepts connections that nobody asked about. */
	if (!change->explicit && !socket->tcp.has_peer)
		return;
	change->n++;
	if (!change->n_sharing)
		return;
	if (dalbe_attach(socket->fd)) {
		failed(change, socket, DALBE_OP_ATTACH);
		return;
	}
	if (opts->params.flags && dalbe_set_params(socket->fd, &opts->params)) {
		failed(change, socket, DALBE_OP_SET_PARAMS);
		return;
	}
	if (!opts->size_bytes)
		return;
	bytes = opts->size_bytes / change->n_sharing;
	if (change->n <= opts->size_bytes % change->n_sharing)
		bytes++;
	if (dalbe_set_goal(socket->fd, bytes ? bytes : 1, opts->deadline_ns,
			   opts->update ? DALBE_GOAL_UPDATE : 0))
		failed(change, socket, DALBE_OP_SET_GOAL);
}

/* Tell early, and once, that there is no module. */
static bool module_missing(void)
{
	if (!dalbe_open())
		return false;
	complain("cannot open %s: %s", DALBE_DEVICE,
		 dalbe_strerror(DALBE_OP_OPEN, errno));
	return true;
}

static int set_target(const struct options *opts, struct target target)
{
	struct change change = { .opts = opts, .explicit = target.fd >= 0 };

	if (targets_each(target, false, set_one, &change))
		return EXIT_FAILURE;
	if (!change.n) {
		complain("%d: the process has no TCP connection; see ss -tp for those that have",
			 target.pid);
		return EXIT_FAILURE;
	}
	change.n_sharing = change.n;
	change.n = 0;
	if (targets_each(target, false, set_one, &change) || change.failed)
		return EXIT_FAILURE;
	return EXIT_SUCCESS;
}

int cmd_set(const struct options *opts, char **operands)
{
	if (!operands[0])
		usage_error("set: the connection is missing; type PID or PID:FD, such as 1234:5");
	if (operands[1])
		usage_error("set: '%.80s' is one operand too many; type one PID or PID:FD",
			    operands[1]);
	if (!opts->size_bytes && !opts->params.flags)
		usage_error("set: there is nothing to set; type for example --size 40G --deadline +90m");
	if (opts->update && !opts->size_bytes)
		usage_error("--update needs the new goal; type for example --update --size 40G --deadline +90m");
	if (module_missing())
		return EXIT_FAILURE;
	return set_target(opts, options_target(operands[0]));
}

static void clear_one(const struct target_socket *socket, void *arg)
{
	struct change *change = arg;

	if (!dalbe_clear(socket->fd))
		change->n++;
	else if (change->explicit || errno != ENOPROTOOPT)
		failed(change, socket, DALBE_OP_CLEAR);
}

int cmd_clear(const struct options *opts, char **operands)
{
	struct change change = { .opts = opts };
	struct target target;

	if (!operands[0])
		usage_error("clear: the connection is missing; type PID or PID:FD, such as 1234:5");
	if (operands[1])
		usage_error("clear: '%.80s' is one operand too many; type one PID or PID:FD",
			    operands[1]);
	target = options_target(operands[0]);
	if (module_missing())
		return EXIT_FAILURE;
	change.explicit = target.fd >= 0;
	if (targets_each(target, false, clear_one, &change) || change.failed)
		return EXIT_FAILURE;
	if (!change.n) {
		complain("%d: the process has no connection with dalbe_cdg; see dalbectl get for those that have",
			 target.pid);
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}
