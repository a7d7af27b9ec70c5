// SPDX-License-Identifier: GPL-2.0-only
/* The sockets that an operand, PID or PID:FD, stands for. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "libdalbe.h"
#include "procs.h"
#include "targets.h"

struct search {
	target_fn fn;
	void *arg;
	bool denied;		/* in this process */
	unsigned int n_denied;	/* processes */
};

/* -1 with errno as procs_dup_fd() and tcpsock_describe(). */
static int offer(pid_t pid, int number, struct search *search)
{
	struct target_socket socket = { .pid = pid, .number = number };
	int ret, err;

	socket.fd = procs_dup_fd(pid, number);
	if (socket.fd < 0)
		return -1;
	ret = tcpsock_describe(socket.fd, &socket.tcp);
	err = errno;
	if (!ret)
		search->fn(&socket, search->arg);
	close(socket.fd);
	errno = err;
	return ret;
}

static bool found_socket(pid_t pid, int fd, uint64_t inode, void *arg)
{
	struct search *search = arg;

	(void)inode;
	if (offer(pid, fd, search) && errno == EPERM) {
		/* It would be the same for its other sockets. */
		search->denied = true;
		return false;
	}
	return true;
}

static bool found_process(pid_t pid, void *arg)
{
	struct search *search = arg;

	search->denied = false;
	if (procs_each_socket(pid, found_socket, search) && errno == EACCES)
		search->denied = true;
	search->n_denied += search->denied;
	return true;
}

unsigned int targets_each_mine(target_fn fn, void *arg)
{
	struct search search = { .fn = fn, .arg = arg };

	procs_each_mine(found_process, &search);
	return search.n_denied;
}

static const char *advice(int err)
{
	switch (err) {
	case ENOENT:
	case ESRCH:
		return "there is no such process; find it with pgrep -a NAME";
	case EACCES:
	case EPERM:
		/* Yama: only descendants, where ptrace_scope is 1. */
		return "not yours, or kernel.yama.ptrace_scope is 1; type sudo dalbectl";
	}
	return dalbe_strerror(DALBE_OP_GET_STATE, err);
}

static bool is_gone(int err)
{
	return err == ENOENT || err == ESRCH || err == EBADF;
}

int targets_each(struct target target, bool may_be_gone, target_fn fn,
		 void *arg)
{
	struct search search = { .fn = fn, .arg = arg };

	if (target.fd >= 0) {
		if (!offer(target.pid, target.fd, &search) ||
		    (may_be_gone && is_gone(errno)))
			return 0;
		complain("%d:%d: %s", target.pid, target.fd, advice(errno));
		return -1;
	}
	if (procs_each_socket(target.pid, found_socket, &search)) {
		if (may_be_gone && is_gone(errno))
			return 0;
		complain("%d: %s", target.pid, advice(errno));
		return -1;
	}
	if (search.denied) {
		complain("%d: %s", target.pid, advice(EPERM));
		return -1;
	}
	return 0;
}
