// SPDX-License-Identifier: GPL-2.0-only
/* dalbectl set and clear: change connections of running programs. */
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "commands.h"
#include "human.h"
#include "libdalbe.h"
#include "targets.h"

struct change {
	const struct options *opts;
	unsigned int n;		/* sockets counted so far */
	unsigned int n_sharing;	/* 0: only count */
	uint32_t job;		/* of all of them; 0: there is one alone */
	unsigned int failed;
	unsigned int n_changed, n_listeners;	/* connections, and others */
	unsigned int n_foreign;	/* left as they are: in other network namespaces */
	const char *restored;	/* clear: the congestion control that they get */
	pid_t listener_pid;	/* 0: none seen */
	int listener;		/* its descriptor */
	struct tcpsock named;	/* a listener that shares its port, by SO_REUSEPORT */
	target_fn do_one;	/* to each that shares it */
};

/* Somebody who names a process may not think of the containers below it. */
static bool is_foreign(struct change *change, const struct target_socket *socket)
{
	if (socket->named || !tcpsock_in_other_namespace(socket->fd))
		return false;
	change->n_foreign++;
	return true;
}

static void count(struct change *change, const struct target_socket *socket)
{
	if (socket->tcp.state == TCP_LISTEN)
		change->n_listeners++;
	else
		change->n_changed++;
}

/* One line: what was done, to how many sockets of which process. */
static bool tell(const struct change *change, const char *operand, const char *done)
{
	char path[64], name[32] = "?";
	FILE *comm;

	snprintf(path, sizeof(path), "/proc/%d/comm", options_target(operand).pid);
	comm = fopen(path, "re");
	if (comm && fgets(name, sizeof(name), comm))
		name[strcspn(name, "\n")] = '\0';
	if (comm)
		fclose(comm);
	for (char *c = name; *c; c++) {
		if (iscntrl((unsigned char)*c))
			*c = '?';
	}
	printf("%s (%s): ", operand, name);
	if (change->n_changed || !change->n_listeners)
		printf("%u connection%s", change->n_changed, change->n_changed == 1 ? "" : "s");
	if (change->n_listeners)
		printf("%s%u listening socket%s", change->n_changed ? " and " : "",
		       change->n_listeners, change->n_listeners == 1 ? "" : "s");
	printf(" %s", done);
	if (change->restored)
		printf(", back at %s", change->restored);
	if (change->n_foreign)
		printf("; %u in other network namespaces left as %s", change->n_foreign,
		       change->n_foreign == 1 ? "it is" : "they are");
	putchar('\n');
	return written();
}

static bool all_foreign(const struct change *change, const char *operand, const char *command)
{
	if (change->n || !change->n_foreign)
		return false;
	complain("%s: all its connections are in another network namespace; type nsenter -n -t PID dalbectl %s, with a process of that one as PID",
		 operand, command);
	return true;
}

static void failed(struct change *change, const struct target_socket *socket,
		   enum dalbe_op op)
{
	complain("%d:%d: %s", socket->pid, socket->number,
		 dalbe_strerror(op, errno));
	change->failed++;
}

/* Each download has so long from its own beginning; false: no, as the deadline is a time of day. */
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

/* The size is that of all: of their job, or, of goals that are each connection's own, divided. */
static int set_goal(struct change *change, int fd)
{
	const struct options *opts = change->opts;
	uint32_t flags = opts->update ? DALBE_GOAL_UPDATE : 0, job = change->job;
	uint64_t bytes = opts->size_bytes / change->n_sharing;
	struct dalbe_state state;

	if (opts->update)
		job = dalbe_get_state(fd, &state) ? 0 : state.job;
	if (job)
		return dalbe_set_job_goal(fd, job, opts->size_bytes, opts->deadline_ns, flags);
	if (change->n <= opts->size_bytes % change->n_sharing)
		bytes++;
	return dalbe_set_goal(fd, bytes ? bytes : 1, opts->deadline_ns, flags);
}

/* Select the congestion control, and whatever the options tell. */
static void apply(const struct target_socket *socket, void *arg)
{
	struct change *change = arg;
	const struct options *opts = change->opts;
	struct dalbe_state state;

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
	if (opts->size_bytes &&
	    !(socket->tcp.state == TCP_LISTEN && set_goal_of_each(opts, socket->fd)) &&
	    set_goal(change, socket->fd)) {
		failed(change, socket, DALBE_OP_SET_GOAL);
		return;
	}
	count(change, socket);
	if (opts->size_bytes && !(opts->params.flags & DALBE_PARAM_CONTROLLER) &&
	    !dalbe_get_state(socket->fd, &state) &&
	    state.controller == DALBE_CONTROLLER_WEIGHT)
		complain("warning: %d:%d stays a scavenger, whatever the deadline; type --controller mbc to change that",
			 socket->pid, socket->number);
}

static void do_if_shared(const struct target_socket *socket, void *arg)
{
	struct change *change = arg;

	if (tcpsock_share_port(&socket->tcp, &change->named) &&
	    !tcpsock_in_other_namespace(socket->fd))
		change->do_one(socket, arg);
}

/*
 * The kernel divides what arrives at a shared port among its listeners, of one user all of them: a
 * setting of one would hold for a part, at random.
 */
static void do_others_of_port(struct change *change, target_fn do_one)
{
	char *all = NULL;

	change->do_one = do_one;
	if (change->named.shares_port)
		targets_each(&all, true, do_if_shared, change);
}

static void set_one(const struct target_socket *socket, void *arg)
{
	struct change *change = arg;

	if (socket->tcp.state == TCP_LISTEN && !change->listener_pid) {
		change->listener_pid = socket->pid;
		change->listener = socket->number;
	}
	/* A process's listener accepts connections that nobody asked about. */
	if (!socket->named && !socket->tcp.has_peer)
		return;
	if (is_foreign(change, socket))
		return;
	change->n++;
	if (socket->named)
		change->named = socket->tcp;
	if (change->n_sharing)
		apply(socket, arg);
}

int cmd_set(const struct options *opts, char **operands)
{
	struct change change = { .opts = opts };
	int ret;

	if (targets_each(operands, false, set_one, &change))
		return EXIT_FAILURE;
	if (all_foreign(&change, operands[0], "set"))
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
	change.n_foreign = 0;
	ret = targets_each(operands, false, set_one, &change);
	do_others_of_port(&change, apply);
	if (change.n_changed + change.n_listeners && !tell(&change, operands[0], "changed"))
		return EXIT_FAILURE;
	return ret || change.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/*
 * The congestion control of a new socket: that of net.ipv4.tcp_congestion_control here. Which one
 * a connection had before nobody knows any more.
 */
static bool find_default(char *name, size_t len)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t name_len = (socklen_t)len;
	bool found = fd >= 0 && !getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &name_len);

	if (fd >= 0)
		close(fd);
	return found;
}

static void clear_one(const struct target_socket *socket, void *arg)
{
	struct change *change = arg;
	const char *name = change->restored;

	if (is_foreign(change, socket))
		return;
	if (socket->named)
		change->named = socket->tcp;
	if (dalbe_clear(socket->fd)) {
		if (socket->named || errno != ENOPROTOOPT)
			failed(change, socket, DALBE_OP_CLEAR);
		return;
	}
	change->n++;
	if (!setsockopt(socket->fd, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name))) {
		count(change, socket);
		return;
	}
	complain("%d:%d: the goal is cleared, but it cannot go back to %s: %s; see sysctl net.ipv4.tcp_allowed_congestion_control",
		 socket->pid, socket->number, name, strerror(errno));
	change->failed++;
}

int cmd_clear(const struct options *opts, char **operands)
{
	char name[16 + 1] = "";
	struct change change = { .opts = opts, .restored = name };
	int ret;

	if (!find_default(name, sizeof(name) - 1)) {
		complain("cannot find the default congestion control: %s; try again with fewer files open",
			 strerror(errno));
		return EXIT_FAILURE;
	}
	ret = targets_each(operands, false, clear_one, &change);
	do_others_of_port(&change, clear_one);
	if (change.n_changed + change.n_listeners && !tell(&change, operands[0], "cleared"))
		return EXIT_FAILURE;
	if (ret || change.failed || all_foreign(&change, operands[0], "clear"))
		return EXIT_FAILURE;
	if (!change.n) {
		complain("%s: no connection of dalbe; see dalbectl get for those there are",
			 operands[0]);
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}
