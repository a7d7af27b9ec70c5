// SPDX-License-Identifier: GPL-2.0-only
/*
 * LD_PRELOAD for traffic generators in a guest: fewer wake-ups, same traffic.
 *
 * A time-travel guest spends its time not on the network but on the switch
 * into a process and back. iperf's reporter wakes up 60 times a second, D-ITG's
 * receiver for every datagram. Nothing of that reaches the wire.
 *
 * iperf's receiver, too, wakes up for every segment, and that does: reading at
 * once, it makes the kernel acknowledge segments with PSH at once. With SO_RCVLOWAT
 * at 32 KiB two CDG flows at G = 125 ms and 100 ms of RTT had 33.7 % of the link
 * instead of 37 % against two CUBIC flows. So it stays as it is.
 *
 *   bind()             of a UDP socket: a filter drops what arrives, after the
 *                      stack has received it. Arrivals are known from captures.
 *   clock_nanosleep()  iperf's reporter asks every REPORTER_NS whether there is
 *                      something to report: ask every RARELY_NS. A receiver whose
 *                      10,000 reports are not asked for reads nothing more: once
 *                      a second, flows of more than 120 Mbit/s stood still.
 *   clock_gettime()    iperf's receiver reads the clock after every segment, for
 *                      reports that nobody reads: one reading serves for many.
 *   select()           D-ITG calls it to sleep for no time at all.
 *   gettimeofday()     D-ITG reads the clock four times per packet, right after
 *                      it slept. Virtual time stands still while a process runs:
 *                      what it read first is still true. In real time it is some
 *                      microseconds old.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/filter.h>
#include <stddef.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

#define REPORTER_NS	16000000
#define RARELY_NS	100000000
#define READS_PER_PACKET	4
#define SEGMENTS_PER_READING	64

#define NEXT(function) ((__typeof__(function) *)dlsym(RTLD_NEXT, #function))

/*
 * The thread's clock after a select(), and how often it may still be told. D-ITG
 * also waits for a moment in a loop around gettimeofday(), which must get there.
 */
static __thread struct timeval now;
static __thread int tell;
static __thread int slept;

/*
 * Calls of recv() by this thread. iperf's sender makes none while it sends, and one
 * at its end: then it waits in a loop until a clock that has to go on.
 */
static __thread unsigned int received;

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

ssize_t recv(int fd, void *buf, size_t len, int flags)
{
	received++;
	return NEXT(recv)(fd, buf, len, flags);
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
	static __thread struct timespec last;
	static __thread unsigned int next;

	if (received >= SEGMENTS_PER_READING && received < next) {
		*time = last;
		return 0;
	}
	NEXT(clock_gettime)(clock, time);
	last = *time;
	next = received + SEGMENTS_PER_READING;
	return 0;
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
		    struct timespec *left)
{
	static const struct timespec rarely = { .tv_nsec = RARELY_NS };

	if (!flags && !time->tv_sec && time->tv_nsec == REPORTER_NS)
		time = &rarely;
	return NEXT(clock_nanosleep)(clock, flags, time, left);
}

int select(int n, fd_set *in, fd_set *out, fd_set *except, struct timeval *time)
{
	int ready;

	if (!in && !out && !except && time && !time->tv_sec && !time->tv_usec)
		return 0;
	ready = NEXT(select)(n, in, out, except, time);
	slept = 1;
	tell = 0;
	return ready;
}

int gettimeofday(struct timeval *tv, void *zone)
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
