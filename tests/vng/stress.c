// SPDX-License-Identifier: GPL-2.0-only
/*
 * Several processors at once in the module: connections send, end and begin
 * again, while other threads set, change, read and clear their goals, move them
 * from group to group and switch their congestion control, all on the same
 * sockets and without any lock of ours. One socket more is given goals while it
 * is switched to CUBIC, and has to stay there.
 *
 *	usage: stress ADDRESS PORT SECONDS
 *
 * The other side must discard what it gets. Prints one line of counts. Exit
 * status 1 when a call fails in a way that the interface does not document, or
 * when nothing happened.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
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

#define SENDERS		8	/* parallel connections */
#define CONTROLLERS	4	/* threads that meddle with them */
#define THREADS		(SENDERS + CONTROLLERS + 2)	/* and set_goals, switch_and_look */
#define LIFE_MS		700	/* of a connection, on average */
#define GROUPS		3	/* 0, none, among them: some are shared, some end */

static struct sockaddr_in peer;
static struct timespec end;
static int device;
static atomic_int sockets[SENDERS];	/* -1 between two connections */
static int kept;			/* the socket that has to stay with CUBIC */
static atomic_ulong sent, connections, sets, reads, clears, moves, switches, errors;
static atomic_ulong tries, stays;	/* goals for @kept, and switches of it */

static int over(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > end.tv_sec ||
	       (now.tv_sec == end.tv_sec && now.tv_nsec >= end.tv_nsec);
}

static void fail(const char *what)
{
	fprintf(stderr, "stress: %s: %s\n", what, strerror(errno));
	atomic_fetch_add(&errors, 1);
}

/* One connection after the other, each with a goal before it connects. */
static void *send_for_ever(void *arg)
{
	static const char zeros[16384];
	const struct timeval patience = { .tv_usec = 100000 };
	atomic_int *slot = arg;
	unsigned int random = (unsigned int)(slot - sockets) + 1;

	while (!over()) {
		struct dalbe_goal goal = {
			.flags = DALBE_GOAL_RELATIVE,
			.bytes = 1 + rand_r(&random) % 100000000,
			.deadline_ns = 1000000ull * (1 + rand_r(&random) % 5000),
		};
		struct dalbe_group group = { .group = rand_r(&random) % GROUPS };
		unsigned int left_ms = rand_r(&random) % (2 * LIFE_MS);
		struct timespec start, now;
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (fd < 0) {
			fail("socket");
			break;
		}
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
		if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, DALBE_CC_CDG,
			       strlen(DALBE_CC_CDG)))
			fail("TCP_CONGESTION");
		group.fd = fd;
		if (ioctl(device, DALBE_IOC_SET_GROUP, &group))
			fail("SET_GROUP before connect");
		goal.fd = fd;
		if (ioctl(device, DALBE_IOC_SET_GOAL, &goal))
			fail("SET_GOAL before connect");
		if (connect(fd, (struct sockaddr *)&peer, sizeof(peer))) {
			if (errno != EINPROGRESS && errno != EAGAIN)
				fail("connect");
			close(fd);
			continue;
		}
		atomic_fetch_add(&connections, 1);
		atomic_store(slot, fd);
		clock_gettime(CLOCK_MONOTONIC, &start);
		do {
			ssize_t n = send(fd, zeros, sizeof(zeros), MSG_NOSIGNAL);

			if (n > 0)
				atomic_fetch_add(&sent, n);
			clock_gettime(CLOCK_MONOTONIC, &now);
		} while (!over() && (now.tv_sec - start.tv_sec) * 1000 +
			 (now.tv_nsec - start.tv_nsec) / 1000000 < left_ms);
		atomic_store(slot, -1);
		if (left_ms & 1) { /* a reset now and then, not only FINs */
			const struct linger reset = { .l_onoff = 1 };

			setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		}
		close(fd);
	}
	return NULL;
}

/*
 * The errors that a call may answer here: the connection may just have been closed (its
 * number may even be somebody else's by now) or have cubic.
 */
static int expected(int err)
{
	return err == EBADF || err == ENOTSOCK || err == EOPNOTSUPP ||
	       err == ENOPROTOOPT || err == ENODATA;
}

static void control(int command, void *argument, atomic_ulong *count,
		    const char *name)
{
	if (!ioctl(device, command, argument))
		atomic_fetch_add(count, 1);
	else if (!expected(errno))
		fail(name);
}

static void *meddle(void *arg)
{
	unsigned int random = 1000 + (unsigned int)(size_t)arg;

	while (!over()) {
		int fd = atomic_load(&sockets[rand_r(&random) % SENDERS]);
		const char *cc;

		if (fd < 0) {
			usleep(1000);
			continue;
		}
		switch (rand_r(&random) % 10) {
		case 0:
		case 1: {
			struct dalbe_goal goal = {
				.fd = fd,
				.flags = DALBE_GOAL_RELATIVE |
					 (rand_r(&random) & DALBE_GOAL_UPDATE),
				.bytes = 1 + rand_r(&random) % 100000000,
				.deadline_ns = 1000000ull * (1 + rand_r(&random) % 5000),
			};

			control(DALBE_IOC_SET_GOAL, &goal, &sets, "SET_GOAL");
			break;
		}
		case 2: {
			struct dalbe_params params = {
				.fd = fd,
				.flags = DALBE_PARAM_G | DALBE_PARAM_CONTROLLER |
					 DALBE_PARAM_TW,
				.g_ns = DALBE_G_MIN_NS + rand_r(&random) % 10000000,
				.controller = rand_r(&random) % (DALBE_CONTROLLER_FLOOR + 1),
				.tw_ms = DALBE_TW_MIN_MS,
			};

			control(DALBE_IOC_SET_PARAMS, &params, &sets, "SET_PARAMS");
			break;
		}
		case 3: {
			struct dalbe_clear clear = { .fd = fd };

			control(DALBE_IOC_CLEAR_GOAL, &clear, &clears, "CLEAR_GOAL");
			break;
		}
		case 4:
		case 5: {
			struct dalbe_group group = {
				.fd = fd,
				.group = rand_r(&random) % GROUPS,
			};

			control(DALBE_IOC_SET_GROUP, &group, &moves, "SET_GROUP");
			break;
		}
		case 6:
			cc = rand_r(&random) & 1 ? DALBE_CC_CDG : "cubic";
			if (!setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cc, strlen(cc)))
				atomic_fetch_add(&switches, 1);
			else if (!expected(errno))
				fail("TCP_CONGESTION");
			break;
		default: {
			struct dalbe_state state = { .fd = fd };

			control(DALBE_IOC_GET_STATE, &state, &reads, "GET_STATE");
			break;
		}
		}
		usleep(rand_r(&random) % 2000);
	}
	return NULL;
}

/* The socket is mostly CUBIC's, and then the call fails: that must change nothing. */
static void *set_goals(void *arg)
{
	(void)arg;
	while (!over()) {
		struct dalbe_goal goal = {
			.fd = kept, .flags = DALBE_GOAL_RELATIVE,
			.bytes = 1, .deadline_ns = 3600 * 1000000000ull,
		};

		if (ioctl(device, DALBE_IOC_SET_GOAL, &goal) && !expected(errno))
			fail("SET_GOAL while the congestion control changes");
		atomic_fetch_add(&tries, 1);
	}
	return NULL;
}

static void *switch_and_look(void *arg)
{
	unsigned int random = 1;

	(void)arg;
	while (!over()) {
		unsigned long before;
		char name[16] = "";
		socklen_t len = sizeof(name);

		if (setsockopt(kept, IPPROTO_TCP, TCP_CONGESTION, DALBE_CC_CDG,
			       strlen(DALBE_CC_CDG)))
			fail("TCP_CONGESTION");
		for (volatile int wait = rand_r(&random) % 4096; wait; wait--)
			;
		if (setsockopt(kept, IPPROTO_TCP, TCP_CONGESTION, "cubic", strlen("cubic")))
			fail("TCP_CONGESTION");
		/* what was under way has ended after one more, and that after another */
		for (before = tries; tries < before + 2 && !over();)
			sched_yield();
		if (getsockopt(kept, IPPROTO_TCP, TCP_CONGESTION, name, &len) ||
		    strcmp(name, "cubic")) {
			errno = EBUSY;
			fail("an ioctl has undone a switch to CUBIC");
		}
		atomic_fetch_add(&stays, 1);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int i;

	if (argc != 4 || inet_pton(AF_INET, argv[1], &peer.sin_addr) != 1) {
		fprintf(stderr, "usage: stress ADDRESS PORT SECONDS\n");
		return 2;
	}
	peer.sin_family = AF_INET;
	peer.sin_port = htons(atoi(argv[2]));
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += atoi(argv[3]);

	device = open(DALBE_DEVICE, O_RDWR | O_CLOEXEC);
	if (device < 0) {
		perror(DALBE_DEVICE);
		return 1;
	}
	for (i = 0; i < SENDERS; i++)
		atomic_store(&sockets[i], -1);
	kept = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	for (i = 0; i < THREADS; i++) {
		errno = i < SENDERS ?
			pthread_create(&threads[i], NULL, send_for_ever, &sockets[i]) :
			pthread_create(&threads[i], NULL, i < SENDERS + CONTROLLERS ? meddle :
				       i < THREADS - 1 ? set_goals : switch_and_look,
				       (void *)(size_t)i);
		if (errno) {
			perror("pthread_create");
			return 1;
		}
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);

	printf("%lu connections, %lu bytes, %lu sets, %lu reads, %lu clears, %lu moves, %lu switches, %lu that had to stay, %lu errors\n",
	       connections, sent, sets, reads, clears, moves, switches, stays, errors);
	return errors || !connections || !sent || !sets || !reads || !clears || !moves ||
	       !switches || !stays;
}
