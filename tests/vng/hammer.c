// SPDX-License-Identifier: GPL-2.0-only
/*
 * A connection for each of four threads, and all of them share what is known of their path, and a
 * job: in turn each is given a goal, goes from one group to another and back, works for the job,
 * goes to another job or another user, disconnects or ends, as fast as it can. stress.c does more,
 * but seldom the same at the same time, and where KCSAN watches a piece of memory for an instant
 * another processor has to come there. A fifth thread ends namespaces whose connections have a job.
 *
 *	usage: hammer ADDRESS PORT SECONDS
 *
 * As root, as it changes users and namespaces. A connection comes to the counted job, and leaves
 * it, while nothing of it is under way: so in the end exactly the bytes are done that were sent.
 * Prints one line of counts. Exit status 1 when a call fails, when bytes are lost or counted twice,
 * or when nothing happened.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
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
#include <linux/sockios.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "dalbe_ctl.h"

#define THREADS		4
#define MOVES		8	/* from group to group while there is a goal */
#define COUNTED_JOB	1
#define OTHER_JOB	2	/* and the next: nobody counts what is done for these */
#define PATIENCE_S	60	/* the most that an ACK takes on a busy host */

static struct sockaddr_in peer;
static time_t end;
static int device;
static atomic_ulong goals, turns, sent, changes, namespaces, errors;

static void fail(const char *what)
{
	fprintf(stderr, "hammer: %s: %s\n", what, strerror(errno));
	atomic_fetch_add(&errors, 1);
}

static int new_socket(void)
{
	static const char cc[] = DALBE_CC_CDG;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cc, strlen(cc)))
		fail("socket");
	return fd;
}

static int opened(void)
{
	int fd = new_socket();

	if (connect(fd, (struct sockaddr *)&peer, sizeof(peer)))
		fail("connect");
	return fd;
}

static void control(int command, void *argument, const char *name)
{
	if (ioctl(device, command, argument))
		fail(name);
}

static void set_goal(int fd, unsigned int flags, unsigned int job)
{
	struct dalbe_goal goal = {
		.fd = fd, .flags = DALBE_GOAL_RELATIVE | flags, .job = job,
		.bytes = 1ull << 40, .deadline_ns = 3600 * 1000000000ull,
	};

	control(DALBE_IOC_SET_GOAL, &goal, flags & DALBE_GOAL_UPDATE ? "UPDATE" : "SET_GOAL");
}

static void clear_goal(int fd)
{
	struct dalbe_clear clear = { .fd = fd };

	control(DALBE_IOC_CLEAR_GOAL, &clear, "CLEAR_GOAL");
}

static void look_at(int fd, unsigned int job, struct dalbe_state *state)
{
	*state = (struct dalbe_state) { .fd = fd };
	control(DALBE_IOC_GET_STATE, state, "GET_STATE");
	if (state->job != job || (job && !state->goal_bytes)) {
		errno = EBADMSG;
		fail("not the job that was set");
	}
}

static size_t send_some(int fd)
{
	static const char zeros[4096];
	ssize_t n = send(fd, zeros, sizeof(zeros), MSG_DONTWAIT | MSG_NOSIGNAL);

	return n < 0 ? 0 : n;
}

/* Is something not acknowledged yet of what was sent until @since? */
static bool under_way(int fd, time_t since)
{
	int bytes = 0;

	if (ioctl(fd, SIOCOUTQ, &bytes))
		fail("SIOCOUTQ");
	if (bytes && time(NULL) > since + PATIENCE_S) {
		errno = ETIMEDOUT;
		fail("what was sent is not acknowledged");
	}
	return bytes && !errors;
}

/* Go from group to group until all that was sent is acknowledged. */
static void change_group(int fd)
{
	time_t since = time(NULL);
	struct dalbe_state state;
	int i;

	do {
		set_goal(fd, 0, 0);
		for (i = 0; i < MOVES; i++) {
			struct dalbe_group group = { .fd = fd, .group = 1 + i % 2 };

			control(DALBE_IOC_SET_GROUP, &group, "SET_GROUP");
		}
		look_at(fd, 0, &state);
		clear_goal(fd);
		atomic_fetch_add(&goals, 1);
	} while (under_way(fd, since));
}

/* Change the job for all, and look at it, until all that was sent is acknowledged. */
static void change_job(int fd, unsigned int job)
{
	time_t since = time(NULL);
	struct dalbe_params params = {
		.fd = fd, .flags = DALBE_PARAM_TW, .tw_ms = DALBE_TW_MIN_MS,
	};
	struct dalbe_state state;

	do {
		set_goal(fd, DALBE_GOAL_UPDATE, job);
		control(DALBE_IOC_SET_PARAMS, &params, "SET_PARAMS");
		look_at(fd, job, &state);
		atomic_fetch_add(&changes, 1);
	} while (under_way(fd, since));
}

/* The socket's user, and so the job's, is another for a while. */
static void change_user(int fd, unsigned int job)
{
	set_goal(fd, 0, job);
	send_some(fd);
	if (fchown(fd, 1, -1))
		fail("fchown");
	change_job(fd, job);
	if (fchown(fd, 0, -1))
		fail("fchown");
}

static int reset_and_open(int fd)
{
	const struct linger reset = { .l_onoff = 1 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(fd);
	return opened();
}

static void reconnect(int fd)
{
	const struct sockaddr nobody = { .sa_family = AF_UNSPEC };

	if (connect(fd, &nobody, sizeof(nobody)) ||
	    connect(fd, (struct sockaddr *)&peer, sizeof(peer)))
		fail("connect after a disconnect");
}

static void *hammer(void *arg)
{
	unsigned int other = OTHER_JOB + (size_t)arg % 2, turn;
	int fd = opened(), i;

	for (turn = 0; time(NULL) < end && !errors; turn++) {
		send_some(fd);
		change_group(fd);
		set_goal(fd, 0, COUNTED_JOB);
		for (i = 0; i <= MOVES; i++)
			atomic_fetch_add(&sent, send_some(fd));
		change_job(fd, COUNTED_JOB);
		if (turn % 4 == 0)
			fd = reset_and_open(fd);
		else if (turn % 4 == 1)
			reconnect(fd);
		else if (turn % 4 == 2)
			change_user(fd, other);
		clear_goal(fd);
		atomic_fetch_add(&turns, 1);
	}
	close(fd);
	return NULL;
}

/* In a namespace of its own: a listener whose connections inherit a job, and one of them, which
 * sends. Both have a part in that job, and the namespace goes while the kernel ends them.
 */
static void *end_namespaces(void *arg)
{
	(void)arg;
	while (time(NULL) < end && !errors) {
		struct sockaddr_in here = { .sin_family = AF_INET };
		struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
		socklen_t len = sizeof(here);
		int listener, tx, rx;

		if (unshare(CLONE_NEWNET)) {
			fail("unshare");
			break;
		}
		listener = new_socket();
		tx = new_socket();
		here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		set_goal(listener, 0, COUNTED_JOB);
		set_goal(tx, 0, COUNTED_JOB);
		if (ioctl(listener, SIOCSIFFLAGS, &lo) ||
		    bind(listener, (struct sockaddr *)&here, sizeof(here)) ||
		    listen(listener, 1) ||
		    getsockname(listener, (struct sockaddr *)&here, &len) ||
		    connect(tx, (struct sockaddr *)&here, sizeof(here)))
			fail("a connection in another namespace");
		rx = accept(listener, NULL, NULL);
		if (send_some(tx) && send_some(rx))
			atomic_fetch_add(&namespaces, 1);
		close(listener);
		close(rx);
		close(tx);
		usleep(50000);	/* the kernel ends them one after the other */
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS + 1];
	struct dalbe_state state;
	size_t i;
	int fd;

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
	for (i = 0; i <= THREADS; i++)
		if (pthread_create(&threads[i], NULL, i < THREADS ? hammer : end_namespaces,
				   (void *)i))
			return 1;
	for (i = 0; i <= THREADS; i++)
		pthread_join(threads[i], NULL);
	fd = opened();
	set_goal(fd, 0, COUNTED_JOB);
	look_at(fd, COUNTED_JOB, &state);
	printf("%lu goals, each with %d moves; %lu turns for a job, %lu changes of it, %lu bytes sent for it, %llu done; %lu namespaces; %lu errors\n",
	       goals, MOVES, turns, changes, sent, (unsigned long long)state.bytes_done,
	       namespaces, errors);
	return errors || !turns || !sent || state.bytes_done != sent || !namespaces;
}
