// SPDX-License-Identifier: GPL-2.0-only
/* The sockets that operands, PID or PID:FD, stand for. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "checks.h"
#include "libdalbe.h"
#include "procs.h"
#include "targets.h"

#define YAMA_CHILDREN \
	"not yours, or no child of dalbectl's, as kernel.yama.ptrace_scope is 1; type sudo dalbectl"

struct search {
	target_fn fn;
	void *arg;
	bool named;
	bool quiet;		/* of what is left out */
	pid_t denied;		/* the last process that may not be looked into */
	unsigned int n_denied;
	uint64_t *seen;		/* cookies */
	size_t n_seen;
};

static bool is_new(struct search *search, uint64_t cookie)
{
	uint64_t *more;

	for (size_t i = 0; i < search->n_seen; i++) {
		if (search->seen[i] == cookie)
			return false;
	}
	more = realloc(search->seen, (search->n_seen + 1) * sizeof(*more));
	if (!more)
		abort();
	search->seen = more;
	search->seen[search->n_seen++] = cookie;
	return true;
}

/* -1 with errno as procs_dup_fd() and tcpsock_describe(). */
static int offer(pid_t pid, int number, struct search *search)
{
	struct target_socket socket = {
		.pid = pid, .number = number, .named = search->named,
	};
	int ret, err;

	socket.fd = procs_dup_fd(pid, number);
	if (socket.fd < 0)
		return -1;
	ret = tcpsock_describe(socket.fd, &socket.tcp);
	err = errno;
	if (!ret && is_new(search, socket.tcp.cookie))
		search->fn(&socket, search->arg);
	close(socket.fd);
	errno = err;
	return ret;
}

/* Listeners of programs in Go are Multipath TCP, unless they were told otherwise. */
static void tell_of_mptcp(pid_t pid, int fd, const struct search *search)
{
	static bool told;

	if (!search->quiet && !told)
		complain("warning: %d:%d: %s", pid, fd,
			 dalbe_strerror(DALBE_OP_GET_STATE, EPROTONOSUPPORT));
	told = true;
}

static bool found_socket(pid_t pid, int fd, uint64_t inode, void *arg)
{
	struct search *search = arg;

	(void)inode;
	if (!offer(pid, fd, search))
		return true;
	if (errno == EPROTONOSUPPORT)
		tell_of_mptcp(pid, fd, search);
	if (errno != EPERM)
		return true;
	/* It would be the same for its other sockets. */
	search->denied = pid;
	search->n_denied++;
	return false;
}

static bool found_process(pid_t pid, void *arg)
{
	struct search *search = arg;

	if (procs_each_socket(pid, found_socket, search) && errno == EACCES) {
		search->denied = pid;
		search->n_denied++;
	}
	return true;
}

static const char *advice(int err)
{
	switch (err) {
	case ENOENT:
	case ESRCH:
		return "there is no such process; find it with pgrep -a NAME";
	case EACCES:
	case EPERM:
		if (checks_ptrace_scope() == 1)
			return YAMA_CHILDREN;
		return "not yours; type sudo dalbectl";
	}
	return dalbe_strerror(DALBE_OP_GET_STATE, err);
}

/* -1 with errno. */
static int each_target(struct target target, struct search *search)
{
	search->named = target.fd >= 0;
	search->denied = 0;
	if (search->named)
		return offer(target.pid, target.fd, search);
	if (procs_each_socket(target.pid, found_socket, search))
		return -1;
	procs_each_descendant(target.pid, found_process, search);
	errno = EPERM;
	return search->denied ? -1 : 0;
}

int targets_each(char **operands, bool again, target_fn fn, void *arg)
{
	struct search search = { .fn = fn, .arg = arg, .quiet = again || !*operands };
	int ret = 0;

	if (!*operands) {
		procs_each_mine(found_process, &search);
		ret = (int)search.n_denied;
	}
	for (; *operands; operands++) {
		struct target target = options_target(*operands);

		if (!each_target(target, &search) || again)
			continue;
		ret = -1;
		if (search.denied && search.denied != target.pid)
			complain("%s: its descendant %d: %s", *operands,
				 search.denied, advice(errno));
		else
			complain("%s: %s", *operands, advice(errno));
	}
	free(search.seen);
	return ret;
}
