// SPDX-License-Identifier: GPL-2.0-only
/*
 * A connection for each of four threads, and all of them share what is known of their path: in turn
 * each is given a goal, goes from one group to another and back, is looked at, and loses the goal,
 * as fast as it can. stress.c does more, but seldom the same at the same time, and where KCSAN
 * watches a piece of memory for an instant another processor has to come there.
 *
 *	usage: hammer ADDRESS PORT SECONDS
 *
 * Prints one line of counts. Exit status 1 when a call fails, or when nothing happened.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "dalbe_ctl.h"

#define THREADS	4
#define MOVES	8	/* from group to group while there is a goal */

static struct sockaddr_in peer;
static time_t end;
static int device;
static atomic_ulong turns, errors;

static int opened(void)
{
	static const char cc[] = DALBE_CC_CDG;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cc, strlen(cc)) ||
	    connect(fd, (struct sockaddr *)&peer, sizeof(peer))) {
		perror("hammer: connection");
		exit(1);
	}
	return fd;
}

static void control(int command, void *argument, const char *name)
{
	if (ioctl(device, command, argument)) {
		perror(name);
		atomic_fetch_add(&errors, 1);
	}
}

static void *hammer(void *arg)
{
	static const char zeros[4096];
	int fd = opened(), i;

	(void)arg;
	while (time(NULL) < end && !errors) {
		struct dalbe_goal goal = {
			.fd = fd, .flags = DALBE_GOAL_RELATIVE,
			.bytes = 1ull << 40, .deadline_ns = 3600 * 1000000000ull,
		};
		struct dalbe_state state = { .fd = fd };
		struct dalbe_clear clear = { .fd = fd };

		send(fd, zeros, sizeof(zeros), MSG_DONTWAIT | MSG_NOSIGNAL);
		control(DALBE_IOC_SET_GOAL, &goal, "SET_GOAL");
		for (i = 0; i < MOVES; i++) {
			struct dalbe_group group = { .fd = fd, .group = 1 + i % 2 };

			control(DALBE_IOC_SET_GROUP, &group, "SET_GROUP");
		}
		control(DALBE_IOC_GET_STATE, &state, "GET_STATE");
		control(DALBE_IOC_CLEAR_GOAL, &clear, "CLEAR_GOAL");
		atomic_fetch_add(&turns, 1);
	}
	close(fd);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int i;

	if (argc != 4 || inet_pton(AF_INET, argv[1], &peer.sin_addr) != 1) {
		fprintf(stderr, "usage: hammer ADDRESS PORT SECONDS\n");
		return 2;
	}
	peer.sin_family = AF_INET;
	peer.sin_port = htons(atoi(argv[2]));
	end = time(NULL) + atoi(argv[3]);
	device = open(DALBE_DEVICE, O_RDWR);
	if (device < 0) {
		perror(DALBE_DEVICE);
		return 1;
	}
	for (i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, hammer, NULL))
			return 1;
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%lu goals, each with %d moves, %lu errors\n", turns, MOVES, errors);
	return errors || !turns;
}
