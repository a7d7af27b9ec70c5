// SPDX-License-Identifier: GPL-2.0-only
/* A policy without BPF: new connections are found by looking at processes. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "follow.h"
#include "human.h"
#include "libdalbe.h"
#include "options.h"
#include "policy.h"
#include "procs.h"
#include "tcpsock.h"

/*
 * A connection is decided on at the second look that finds it: by then dalbectl run, which looks
 * four times a second, has given it what its user asked for. Half: all processes are looked at
 * twice as often. Twice: a new one is under its rule after more than a second.
 */
#define LOOK_NS		(300 * NSEC_PER_MSEC)

/* A socket that a look has found: it is connected, or nothing is to be done. */
struct found {
	uint64_t inode;
	bool done;	/* nothing is left to do; false: a look found it for the first time */
};

/* In order once all are there. */
struct look {
	struct found *each;
	size_t n, room;
};

struct follower {
	const struct dalbe_policy *policy;
	struct look before, now;
	bool first;		/* look: what is there stays as it is */
	bool told_denied, told_mptcp, told_failed;
};

static int compare(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	return (x->inode > y->inode) - (x->inode < y->inode);
}

static void add(struct look *look, struct found found)
{
	if (look->n == look->room) {
		look->room = look->room ? 2 * look->room : 256;
		look->each = realloc(look->each, look->room * sizeof(*look->each));
		if (!look->each)
			abort();
	}
	look->each[look->n++] = found;
}

static void find_cgroup(pid_t pid, struct dalbe_conn *conn)
{
	char path[64], line[4096 + 8], err[POLICY_ERR_LEN];
	uint32_t depth;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		/* deeper ones than that are told of only after those that it can be in */
		if (!strncmp(line, "0::", 3))
			policy_parse_cgroup(line + 3, conn, &depth, err);
	}
	if (file)
		fclose(file);
}

static bool describe(pid_t pid, int fd, struct dalbe_conn *conn, bool by_cgroup)
{
	struct sockaddr_storage own, peer;
	socklen_t own_len = sizeof(own), peer_len = sizeof(peer);
	uint32_t ignored[4];
	struct stat st;

	*conn = (struct dalbe_conn){ 0 };
	if (getsockname(fd, (struct sockaddr *)&own, &own_len) ||
	    getpeername(fd, (struct sockaddr *)&peer, &peer_len) || fstat(fd, &st) ||
	    !policy_address(&own, ignored, &conn->own_port) ||
	    !policy_address(&peer, conn->addr, &conn->port))
		return false;
	conn->uid = st.st_uid;
	if (by_cgroup)
		find_cgroup(pid, conn);
	return true;
}

/* -1 with errno, and the operation that failed. */
static int give(int fd, const struct dalbe_rule *rule, enum dalbe_op *op)
{
	*op = DALBE_OP_ATTACH;
	if (dalbe_attach(fd))
		return -1;
	*op = DALBE_OP_SET_GROUP;
	if (rule->group && dalbe_set_group(fd, rule->group))
		return -1;
	*op = DALBE_OP_SET_PARAMS;
	if (rule->params.flags && dalbe_set_params(fd, &rule->params))
		return -1;
	*op = DALBE_OP_SET_GOAL;
	return !rule->bytes ? 0 :
	       dalbe_set_goal(fd, rule->bytes, rule->time_ns, DALBE_GOAL_RELATIVE);
}

static void decide(struct follower *f, pid_t pid, int number, int fd)
{
	struct dalbe_state state;
	struct dalbe_conn conn;
	enum dalbe_op op;
	uint32_t i;

	if (!describe(pid, fd, &conn, f->policy->by_cgroup))
		return;
	i = rule_find(f->policy, &conn);
	if (i >= f->policy->n || f->policy->rules[i].plain)
		return;
	/* The program, or dalbectl run, has asked for something itself. */
	if (!dalbe_get_state(fd, &state) &&
	    (state.status != DALBE_STATUS_NONE || state.flags & DALBE_STATE_OWN_PARAMS))
		return;
	if (!give(fd, &f->policy->rules[i], &op) || f->told_failed)
		return;
	complain("warning: %d:%d: %s", pid, number, dalbe_strerror(op, errno));
	f->told_failed = true;
}

static const struct found *find(const struct look *look, uint64_t inode)
{
	const struct found key = { .inode = inode };

	return look->n ? bsearch(&key, look->each, look->n, sizeof(key), compare) : NULL;
}

/* This look becomes the last one, in order. */
static void turn(struct follower *f)
{
	struct look reused = f->before;

	if (f->now.n)
		qsort(f->now.each, f->now.n, sizeof(*f->now.each), compare);
	f->before = f->now;
	f->now = reused;
	f->now.n = 0;
}

static bool found_socket(pid_t pid, int number, uint64_t inode, void *arg)
{
	struct follower *f = arg;
	const struct found *before = find(&f->before, inode);
	struct found found = { .inode = inode, .done = true };
	struct tcpsock tcp;
	int fd, err;

	if (before && before->done) {
		add(&f->now, found);
		return true;
	}
	fd = procs_dup_fd(pid, number);
	if (fd < 0 && errno != EPERM)
		return true;
	if (fd < 0 && !f->told_denied)
		complain("warning: process %d may not be looked into; type sudo dalbectl", pid);
	if (fd < 0) {
		f->told_denied = true;
		add(&f->now, found);
		return true;
	}
	err = tcpsock_describe(fd, &tcp) ? errno : 0;
	if (err == EPROTONOSUPPORT && !f->told_mptcp) {
		complain("warning: %d:%d: %s", pid, number,
			 dalbe_strerror(DALBE_OP_GET_STATE, err));
		f->told_mptcp = true;
	} else if (!err && tcp.has_peer && tcp.state != TCP_LISTEN) {
		found.done = f->first || before;
		if (before)
			decide(f, pid, number, fd);
	}
	close(fd);
	if (err || tcp.has_peer || tcp.state == TCP_LISTEN)	/* else it may still connect */
		add(&f->now, found);
	return true;
}

static bool found_process(pid_t pid, void *arg)
{
	if (pid != getpid())
		procs_each_socket(pid, found_socket, arg);
	return true;
}

int follow_policy(const struct dalbe_policy *policy, pid_t root)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	struct follower f = { .policy = policy, .first = true };

	while (!root || !kill(root, 0) || errno == EPERM) {
		if (root) {
			found_process(root, &f);
			procs_each_descendant(root, found_process, &f);
		} else {
			procs_each_mine(found_process, &f);
		}
		turn(&f);
		f.first = false;
		nanosleep(&pause, NULL);
	}
	free(f.before.each);
	free(f.now.each);
	return EXIT_SUCCESS;
}
