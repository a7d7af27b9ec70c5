// SPDX-License-Identifier: GPL-2.0-only
/* A policy without BPF: new connections are found by looking at processes, twice a second. */
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

#define LOOK_NS		(500 * NSEC_PER_MSEC)

/* Inodes of sockets, in order once all are there. */
struct inodes {
	uint64_t *each;
	size_t n, room;
};

struct follower {
	const struct dalbe_policy *policy;
	struct inodes before;	/* seen by the last look, and nothing is left to do */
	struct inodes now;
	bool first;		/* look: what is there stays as it is */
	bool told_denied, told_mptcp, told_failed;
};

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void add(struct inodes *inodes, uint64_t inode)
{
	if (inodes->n == inodes->room) {
		inodes->room = inodes->room ? 2 * inodes->room : 256;
		inodes->each = realloc(inodes->each, inodes->room * sizeof(*inodes->each));
		if (!inodes->each)
			abort();
	}
	inodes->each[inodes->n++] = inode;
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
	if (!dalbe_get_state(fd, &state) && state.status != DALBE_STATUS_NONE)
		return;
	if (!give(fd, &f->policy->rules[i], &op) || f->told_failed)
		return;
	complain("warning: %d:%d: %s", pid, number, dalbe_strerror(op, errno));
	f->told_failed = true;
}

/* Whether nothing is left to do: false: it may still connect. */
static bool look_at(struct follower *f, pid_t pid, int number)
{
	int fd = procs_dup_fd(pid, number), err;
	struct tcpsock tcp;
	bool done = true;

	if (fd < 0) {
		if (errno == EPERM && !f->told_denied)
			complain("warning: process %d may not be looked into; type sudo dalbectl",
				 pid);
		f->told_denied |= errno == EPERM;
		return errno == EPERM;
	}
	err = tcpsock_describe(fd, &tcp) ? errno : 0;
	if (err == EPROTONOSUPPORT && !f->told_mptcp) {
		complain("warning: %d:%d: %s", pid, number,
			 dalbe_strerror(DALBE_OP_GET_STATE, err));
		f->told_mptcp = true;
	} else if (!err && tcp.has_peer && tcp.state != TCP_LISTEN) {
		if (!f->first)
			decide(f, pid, number, fd);
	} else if (!err && tcp.state != TCP_LISTEN) {
		done = false;
	}
	close(fd);
	return done;
}

static bool found_socket(pid_t pid, int number, uint64_t inode, void *arg)
{
	struct follower *f = arg;

	if ((f->before.n && bsearch(&inode, f->before.each, f->before.n, sizeof(inode), compare)) ||
	    look_at(f, pid, number))
		add(&f->now, inode);
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
	struct inodes reused;

	while (!root || !kill(root, 0) || errno == EPERM) {
		if (root) {
			found_process(root, &f);
			procs_each_descendant(root, found_process, &f);
		} else {
			procs_each_mine(found_process, &f);
		}
		if (f.now.n)
			qsort(f.now.each, f.now.n, sizeof(*f.now.each), compare);
		reused = f.before;
		f.before = f.now;
		f.now = reused;
		f.now.n = 0;
		f.first = false;
		nanosleep(&pause, NULL);
	}
	free(f.before.each);
	free(f.now.each);
	return EXIT_SUCCESS;
}
