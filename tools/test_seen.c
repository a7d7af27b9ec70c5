// SPDX-License-Identifier: GPL-2.0-only
/* Unit tests of tally.c and procs.c, with our own answers in the kernel's place; TAP on stdout. */
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array.h"
#include "procs.h"
#include "tally.h"
#include "tap.h"

#define OWNER	4242	/* of every process */

/* What recv() fails with before it has the report of an end; then it has no more. */
static const int errors[] = { ENOBUFS, EINTR, ENOBUFS };
static size_t n_received;

ssize_t recv(int fd, void *buf, size_t len, int flags)
{
	const struct {
		struct nlmsghdr nlh;
		struct inet_diag_msg msg;
		struct rtattr attr;
		struct tcp_info info;
	} __attribute__((packed)) end = {
		.nlh = { .nlmsg_len = sizeof(end), .nlmsg_type = SOCK_DIAG_BY_FAMILY },
		.msg.id.idiag_cookie = { 7, 1 },
		.attr = { .rta_len = sizeof(end.attr) + sizeof(end.info),
			  .rta_type = INET_DIAG_INFO },
		.info = { .tcpi_bytes_acked = 1001, .tcpi_bytes_sent = 1500,
			  .tcpi_bytes_retrans = 500 },
	};
	size_t turn = n_received++;

	(void)fd;
	(void)len;
	(void)flags;
	if (turn < ARRAY_SIZE(errors)) {
		errno = errors[turn];
		return -1;
	}
	if (turn > ARRAY_SIZE(errors)) {
		errno = EAGAIN;
		return -1;
	}
	memcpy(buf, &end, sizeof(end));
	return sizeof(end);
}

static void hear(const struct tally *tally, void *arg)
{
	check(tally->ended && tally->cookie == (1ull << 32 | 7) && tally->acked == 1000,
	      "it tells what was acknowledged, without SYN and FIN", NULL);
	++*(int *)arg;
}

static void test_ends_after_a_full_buffer(void)
{
	int heard = 0;

	tally_collect(-1, hear, &heard);
	check(heard == 1, "the end of a socket is heard of after others were lost", NULL);
}

static uid_t user;

uid_t geteuid(void)
{
	return user;
}

int fstatat(int dir, const char *path, struct stat *st, int flags)
{
	(void)dir;
	(void)path;
	(void)flags;
	st->st_uid = OWNER;
	return 0;
}

static bool found(pid_t pid, void *arg)
{
	*(bool *)arg |= pid == getpid();
	return true;
}

static bool sees_us(uid_t who)
{
	bool seen = false;

	user = who;
	procs_each_mine(found, &seen);
	return seen;
}

static void test_whose_processes(void)
{
	check(sees_us(OWNER), "a user's processes are found", NULL);
	check(!sees_us(OWNER + 1), "another's are not", NULL);
	check(sees_us(0), "root finds those of all", NULL);
}

int main(void)
{
	test_ends_after_a_full_buffer();
	test_whose_processes();
	return plan();
}
