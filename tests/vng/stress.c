// SPDX-License-Identifier: GPL-2.0-only
/*
 * Several processors at once in the module: connections send, end and begin
 * again, while other threads set, change, read and clear their goals, move them
 * from group to group and from user to user, switch their congestion control and
 * disconnect them, all on the same sockets and without any lock of ours. Beside
 * these, short connections visit many addresses, the defaults of the network
 * namespace change, and other namespaces end while they have connections. One
 * socket more is given goals while it is switched to CUBIC, and has to stay there.
 *
 *	usage: stress ADDRESS PORT SECONDS [ADDRESSES]
 *
 * As root, as it changes users, defaults and namespaces. ADDRESSES from ADDRESS on, 1 by default,
 * all of them the other side's, which must discard what it gets. A goal that is read must be one
 * that was set: in each the size tells the deadline. Prints one line of counts. Exit status 1 when
 * a call fails in a way that the interface does not document, when a goal is of two halves, or when
 * nothing happened.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
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

#define SENDERS		8	/* parallel connections */
#define CONTROLLERS	4	/* threads that meddle with them */
#define OTHERS		5	/* threads that do one thing each */
#define THREADS		(SENDERS + CONTROLLERS + OTHERS)
#define LIFE_MS		700	/* of a connection, on average */
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define GROUPS		3	/* 0, none, among them: some are shared, some end */
#define JOBS		3	/* likewise; hammer.c has others, which keep goals */
#define FIRST_JOB	100

static struct sockaddr_in peer;
static struct timespec end;
static int device;
static atomic_int sockets[SENDERS];	/* -1 between two connections */
static int kept;			/* the socket that has to stay with CUBIC */
static atomic_ulong sent, connections, sets, reads, clears, moves, switches, errors;
static atomic_ulong tries, stays;	/* goals for @kept, and switches of it */
static atomic_ulong visits, defaults, namespaces, disconnects;
static unsigned int addresses = 1;

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

/*
 * The errors that a call may answer here: the connection may just have been closed (its
 * number may even be somebody else's by now) or have cubic, or the deadline has passed.
 */
static int expected(int err)
{
	return err == EBADF || err == ENOTSOCK || err == EOPNOTSUPP ||
	       err == ENOPROTOOPT || err == ENODATA || err == ETIME;
}

static void control(int command, void *argument, atomic_ulong *count,
		    const char *name)
{
	if (!ioctl(device, command, argument))
		atomic_fetch_add(count, 1);
	else if (!expected(errno))
		fail(name);
}

#define NS_PER_MS	1000000ull
#define BYTES_BASE	8192	/* ms, longer than any goal has */

/* A goal for @fd within some seconds, its own or a job's: the deadline in ms is the size, both
 * modulo BYTES_BASE.
 */
static struct dalbe_goal some_goal(int fd, unsigned int *random)
{
	struct timespec now;
	unsigned int job = rand_r(random) % JOBS;
	uint64_t deadline_ms;

	clock_gettime(CLOCK_BOOTTIME, &now);
	deadline_ms = now.tv_sec * 1000ull + now.tv_nsec / NS_PER_MS + 1 + rand_r(random) % 5000;
	return (struct dalbe_goal) {
		.fd = fd,
		.bytes = BYTES_BASE * (1 + rand_r(random) % 10000ull) + deadline_ms % BYTES_BASE,
		.deadline_ns = deadline_ms * NS_PER_MS,
		.job = job ? FIRST_JOB + job : 0,
	};
}

static bool whole(const struct dalbe_state *state)
{
	return !state->goal_bytes ||
	       (state->deadline_ns % NS_PER_MS == 0 &&
		state->deadline_ns / NS_PER_MS % BYTES_BASE == state->goal_bytes % BYTES_BASE);
}

/* One of the other side's addresses. */
static struct sockaddr_in some_peer(unsigned int *random)
{
	struct sockaddr_in to = peer;

	to.sin_addr.s_addr = htonl(ntohl(peer.sin_addr.s_addr) + rand_r(random) % addresses);
	return to;
}

static int new_socket(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		fail("socket");
	else if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, DALBE_CC_CDG,
			    strlen(DALBE_CC_CDG)))
		fail("TCP_CONGESTION");
	return fd;
}

/* A reset now and then, not only FINs. */
static void end_connection(int fd, bool resets)
{
	const struct linger reset = { .l_onoff = 1 };

	if (resets)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(fd);
}

/* One connection after the other, each with a goal before it connects. Where it is disconnected
 * the same socket connects again.
 */
static void *send_for_ever(void *arg)
{
	static const char zeros[16384];
	const struct timeval patience = { .tv_usec = 100000 };
	atomic_int *slot = arg;
	unsigned int random = (unsigned int)(slot - sockets) + 1;

	while (!over()) {
		struct dalbe_group group = { .group = rand_r(&random) % GROUPS };
		unsigned int left_ms = rand_r(&random) % (2 * LIFE_MS);
		struct sockaddr_in to = some_peer(&random);
		struct timespec start, now;
		struct dalbe_goal goal;
		int fd = new_socket();

		if (fd < 0)
			break;
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
		group.fd = fd;
		control(DALBE_IOC_SET_GROUP, &group, &moves, "SET_GROUP before connect");
		goal = some_goal(fd, &random);
		control(DALBE_IOC_SET_GOAL, &goal, &sets, "SET_GOAL before connect");
		if (connect(fd, (struct sockaddr *)&to, sizeof(to))) {
			/* Numbers are used again: another thread may take this socket for its own,
			 * disconnect it, or connect it and see it end (EPIPE), while we wait.
			 */
			if (errno != EINPROGRESS && errno != EAGAIN && errno != ECONNABORTED &&
			    errno != ECONNRESET && errno != EPIPE)
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
			else if (errno != EAGAIN)
				connect(fd, (struct sockaddr *)&to, sizeof(to));
			clock_gettime(CLOCK_MONOTONIC, &now);
		} while (!over() && (now.tv_sec - start.tv_sec) * 1000 +
			 (now.tv_nsec - start.tv_nsec) / 1000000 < left_ms);
		atomic_store(slot, -1);
		end_connection(fd, left_ms & 1);
	}
	return NULL;
}

static void *meddle(void *arg)
{
	const struct sockaddr nobody = { .sa_family = AF_UNSPEC };
	unsigned int random = 1000 + (unsigned int)(size_t)arg;

	while (!over()) {
		int fd = atomic_load(&sockets[rand_r(&random) % SENDERS]);
		const char *cc;

		if (fd < 0) {
			usleep(1000);
			continue;
		}
		switch (rand_r(&random) % 12) {
		case 0:
		case 1: {
			struct dalbe_goal goal = some_goal(fd, &random);

			goal.flags = rand_r(&random) & DALBE_GOAL_UPDATE;
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
		case 7:	/* its path is another user's, then */
			if (!fchown(fd, rand_r(&random) % 3, -1))
				atomic_fetch_add(&moves, 1);
			break;
		case 8:
			if (rand_r(&random) % 4)
				break;
			if (!connect(fd, &nobody, sizeof(nobody)))
				atomic_fetch_add(&disconnects, 1);
			break;
		default: {
			struct dalbe_state state = { .fd = fd };

			control(DALBE_IOC_GET_STATE, &state, &reads, "GET_STATE");
			if (!whole(&state)) {
				errno = EBADMSG;
				fail("a goal of which one half is another's");
			}
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

/* Short connections: what is known of each path outlives them. */
static void *visit(void *arg)
{
	unsigned int random = 2000;

	(void)arg;
	while (!over()) {
		struct sockaddr_in to = some_peer(&random);
		struct dalbe_goal goal;
		int fd = new_socket();

		if (fd < 0)
			break;
		goal = some_goal(fd, &random);
		control(DALBE_IOC_SET_GOAL, &goal, &sets, "SET_GOAL of a visitor");
		if (!connect(fd, (struct sockaddr *)&to, sizeof(to)) &&
		    send(fd, &to, sizeof(to), MSG_NOSIGNAL) > 0)
			atomic_fetch_add(&visits, 1);
		end_connection(fd, true);
	}
	return NULL;
}

static void write_default(const char *name, unsigned int value)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/sys/net/dalbe/%s", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || dprintf(fd, "%u\n", value) < 0)
		fail(path);
	else
		atomic_fetch_add(&defaults, 1);
	close(fd);
}

/* The namespace's defaults, which are as they were at the end. */
static void *change_defaults(void *arg)
{
	static const struct {
		const char *name;
		unsigned int values[2];	/* the first is the default */
	} sysctls[] = {
		{ "effect", { 1, 0 } }, { "scavenger", { 0, 1 } }, { "controller", { 2, 1 } },
		{ "tw_ms", { 0, 100 } }, { "wmin_ppm", { 10000, 500000 } },
		{ "limit_increase", { 1, 0 } }, { "after_deadline", { 0, 1 } },
		{ "hystart", { 3, 0 } }, { "g_us", { 3000, 100 } }, { "idle_g_us", { 20000, 0 } },
	};
	const size_t n = ARRAY_SIZE(sysctls);
	unsigned int random = 3000;

	(void)arg;
	while (!over()) {
		size_t i = rand_r(&random) % n;

		write_default(sysctls[i].name, sysctls[i].values[rand_r(&random) & 1]);
		usleep(rand_r(&random) % 5000);
	}
	for (size_t i = 0; i < n; i++)
		write_default(sysctls[i].name, sysctls[i].values[0]);
	return NULL;
}

/* In a namespace of its own, whose loopback is up: a connection that is sending when its last
 * socket is closed. The namespace goes as well, while the kernel still ends the connection.
 */
static void *end_namespaces(void *arg)
{
	static const char zeros[65536];
	unsigned int random = 4000;

	(void)arg;
	while (!over()) {
		struct sockaddr_in here = { .sin_family = AF_INET };
		struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
		socklen_t len = sizeof(here);
		int listener, tx, rx = -1;
		struct dalbe_goal goal;

		if (unshare(CLONE_NEWNET)) {
			fail("unshare");
			break;
		}
		listener = new_socket();
		tx = new_socket();
		here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		goal = some_goal(tx, &random);
		control(DALBE_IOC_SET_GOAL, &goal, &sets, "SET_GOAL in another namespace");
		/* any of these may be meddled with, as the number was another's */
		if (!ioctl(listener, SIOCSIFFLAGS, &lo) &&
		    !bind(listener, (struct sockaddr *)&here, sizeof(here)) &&
		    !listen(listener, 1) &&
		    !getsockname(listener, (struct sockaddr *)&here, &len) &&
		    !connect(tx, (struct sockaddr *)&here, sizeof(here)))
			rx = accept(listener, NULL, NULL);
		if (rx >= 0 && send(tx, zeros, sizeof(zeros), MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
			atomic_fetch_add(&namespaces, 1);
		close(listener);
		end_connection(rx, rand_r(&random) & 1);
		end_connection(tx, rand_r(&random) & 1);
		usleep(50000);	/* the kernel ends them one after the other */
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static void *(*const others[OTHERS])(void *) = {
		set_goals, switch_and_look, visit, change_defaults, end_namespaces,
	};
	pthread_t threads[THREADS];
	int i;

	if (argc == 5)
		addresses = atoi(argv[4]);
	if (argc < 4 || argc > 5 || !addresses ||
	    inet_pton(AF_INET, argv[1], &peer.sin_addr) != 1) {
		fprintf(stderr, "usage: stress ADDRESS PORT SECONDS [ADDRESSES]\n");
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
				       others[i - SENDERS - CONTROLLERS], (void *)(size_t)i);
		if (errno) {
			perror("pthread_create");
			return 1;
		}
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);

	printf("%lu connections, %lu bytes, %lu sets, %lu reads, %lu clears, %lu moves, %lu switches, %lu that had to stay, %lu disconnects, %lu visits, %lu defaults, %lu namespaces, %lu errors\n",
	       connections, sent, sets, reads, clears, moves, switches, stays, disconnects, visits,
	       defaults, namespaces, errors);
	return errors || !connections || !sent || !sets || !reads || !clears || !moves ||
	       !switches || !stays || !disconnects || !visits || !defaults || !namespaces;
}
