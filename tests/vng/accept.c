// SPDX-License-Identifier: GPL-2.0-only
/*
 * A goal is written on a listener by one processor while another accepts connections,
 * which copy the listener's goal without its lock: no connection may have half of a goal.
 *
 *	usage: accept SECONDS
 *
 * Of all goals that are set the deadline follows from the size. Prints one line of counts.
 * Exit status 1 when a connection has a size and the deadline of another, when a call
 * fails, or when nothing happened.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "dalbe_ctl.h"

#define NS_PER_S	1000000000ull

static int device, listener;
static uint64_t first_ns;		/* CLOCK_BOOTTIME */
static atomic_bool over;
static unsigned long sets;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static int sock(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		die("socket");
	return fd;
}

static uint64_t boot_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static uint64_t deadline_ns(uint64_t bytes)
{
	return first_ns + bytes * NS_PER_S;
}

static void set_goal(uint64_t bytes)
{
	struct dalbe_goal goal = {
		.fd = listener,
		.bytes = bytes,
		.deadline_ns = deadline_ns(bytes),
	};

	if (ioctl(device, DALBE_IOC_SET_GOAL, &goal))
		die("SET_GOAL on a listener");
}

static void *set_for_ever(void *arg)
{
	(void)arg;
	for (; !over; sets++)
		set_goal(1 + sets % 1000);
	return NULL;
}

/* The goal of one connection to @to. */
static struct dalbe_state accept_one(const struct sockaddr_in *to)
{
	const struct linger reset = { .l_onoff = 1 };	/* leaves nothing behind */
	struct dalbe_state state = { .fd = -1 };
	int fd = sock();

	if (connect(fd, (const struct sockaddr *)to, sizeof(*to)))
		die("connect");
	state.fd = accept(listener, NULL, NULL);
	if (state.fd < 0)
		die("accept");
	if (ioctl(device, DALBE_IOC_GET_STATE, &state))
		die("GET_STATE");
	setsockopt(state.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(state.fd);
	close(fd);
	return state;
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	unsigned long whole = 0, none = 0, half = 0;
	socklen_t len = sizeof(address);
	pthread_t setter;
	uint64_t end_ns;

	if (argc != 2) {
		fprintf(stderr, "usage: accept SECONDS\n");
		return 2;
	}
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	device = open(DALBE_DEVICE, O_RDWR | O_CLOEXEC);
	if (device < 0)
		die(DALBE_DEVICE);
	listener = sock();
	if (setsockopt(listener, IPPROTO_TCP, TCP_CONGESTION, DALBE_CC_CDG,
		       strlen(DALBE_CC_CDG)))
		die("TCP_CONGESTION");
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) ||
	    listen(listener, 8) ||
	    getsockname(listener, (struct sockaddr *)&address, &len))
		die("listen");

	first_ns = boot_ns() + 3600 * NS_PER_S;
	end_ns = boot_ns() + atoi(argv[1]) * NS_PER_S;
	set_goal(1);
	if (pthread_create(&setter, NULL, set_for_ever, NULL))
		die("pthread_create");
	while (boot_ns() < end_ns) {
		struct dalbe_state state = accept_one(&address);

		if (!state.goal_bytes)
			none++;
		else if (state.deadline_ns == deadline_ns(state.goal_bytes))
			whole++;
		else
			half++;
	}
	over = true;
	pthread_join(setter, NULL);
	printf("%lu goals set, %lu connections: %lu with a goal, %lu without, %lu with half of one\n",
	       sets, whole + none + half, whole, none, half);
	return half || !whole || sets < whole;
}
