// SPDX-License-Identifier: GPL-2.0-only
/*
 * LD_PRELOAD for traffic generators in a guest: fewer wake-ups, same traffic.
 *
 * What a time-travel guest spends its time on is not the network but the switch
 * into a process and back. iperf's receiver wakes up for every segment, its
 * reporter 60 times a second, D-ITG's receiver for every datagram. Nothing of
 * that reaches the wire:
 *
 *   accept()           iperf's TCP data is handed over RCVLOWAT_BYTES at a time. The
 *                      kernel acknowledges as before: __tcp_ack_snd_check() takes
 *                      data below the mark as data about to be read.
 *   bind()             of a UDP socket: a filter drops what arrives, after the
 *                      stack has received it. Arrivals are known from captures.
 *   clock_nanosleep()  iperf's reporter asks every REPORTER_NS whether there is
 *                      something to report: ask every second.
 *   select()           D-ITG calls it to sleep for no time at all.
 *   gettimeofday()     D-ITG reads the clock four times per packet, right after
 *                      it slept. Virtual time stands still while a process runs:
 *                      what it read first is still true. In real time it is some
 *                      microseconds old.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <stddef.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

/* Half of what a connection can receive before any tuning: never the limit. */
#define RCVLOWAT_BYTES	32768
#define REPORTER_NS	16000000
#define READS_PER_PACKET	4

#define NEXT(function) ((__typeof__(&(function)))dlsym(RTLD_NEXT, #function))

/*
 * The thread's clock after a select(), and how often it may still be told. D-ITG
 * also waits for a moment in a loop around gettimeofday(), which must get there.
 */
static __thread struct timeval now;
static __thread int tell;
static __thread int slept;

int accept(int fd, struct sockaddr *restrict addr, socklen_t *restrict len)
{
	int bytes = RCVLOWAT_BYTES;
	int conn = NEXT(accept)(fd, addr, len);

	/* not on D-ITG's signalling channel: its messages are a few bytes */
	if (conn >= 0 && !strcmp(program_invocation_short_name, "iperf"))
		setsockopt(conn, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof(bytes));
	return conn;
}

int bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	struct sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog filter = { .len = 1, .filter = &nothing };
	socklen_t size = sizeof(int);
	int type = 0;

	if (!getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) && type == SOCK_DGRAM)
		setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter));
	return NEXT(bind)(fd, addr, len);
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
		    struct timespec *left)
{
	static const struct timespec second = { .tv_sec = 1 };

	if (!flags && !time->tv_sec && time->tv_nsec == REPORTER_NS)
		time = &second;
	return NEXT(clock_nanosleep)(clock, flags, time, left);
}

int select(int n, fd_set *restrict in, fd_set *restrict out, fd_set *restrict except,
	   struct timeval *restrict time)
{
	int ready;

	if (!in && !out && !except && time && !time->tv_sec && !time->tv_usec)
		return 0;
	ready = NEXT(select)(n, in, out, except, time);
	slept = 1;
	tell = 0;
	return ready;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	if (tell > 0) {
		tell--;
		*tv = now;
		return 0;
	}
	NEXT(gettimeofday)(tv, zone);
	if (slept) {
		now = *tv;
		tell = READS_PER_PACKET - 1;
		slept = 0;
	}
	return 0;
}
