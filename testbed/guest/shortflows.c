// SPDX-License-Identifier: GPL-2.0-only
/*
 * Short TCP transfers at given times, each over a connection of its own, as one
 * process per side: in a guest a process per transfer would cost more than the
 * traffic.
 *
 *	ip netns exec xreceiver shortflows serve 9200
 *	ip netns exec xsender shortflows send 10.0.2.2 9200 cubic SCHEDULE
 *
 * A transfer is over when the sender sees that the receiver, having read all of
 * it, has closed the connection. Nobody waits but in epoll_wait(): virtual time
 * stands still while a process spins.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define US_PER_S	1000000LL
#define NS_PER_US	1000LL
#define CHUNK_BYTES	65536
#define EVENTS_MAX	64

struct transfer {
	long long at_us;	/* after the program's start */
	long long left_bytes;	/* not given to the kernel yet */
	long long start_us;	/* CLOCK_REALTIME */
	int fd;
};

static char chunk[CHUNK_BYTES];

static void write_usage(FILE *out)
{
	fputs("usage: shortflows serve PORT\n"
	      "       shortflows send ADDRESS PORT CC SCHEDULE\n"
	      "\n"
	      "serve reads and discards what arrives at PORT, on any number of connections, until\n"
	      "it is killed. send reads SCHEDULE, a line \"AT_US BYTES\" per transfer in order of\n"
	      "time: AT_US microseconds after its start it connects to ADDRESS (IPv4) under the\n"
	      "congestion control CC and sends BYTES. Each time one is over it writes a line\n"
	      "\"NUMBER START_US END_US\", tab-separated: which of the schedule, counted from 0, and\n"
	      "CLOCK_REALTIME. It ends with its last transfer, or with the first that fails.\n",
	      out);
}

static long long clock_us(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * US_PER_S + now.tv_nsec / NS_PER_US;
}

static struct sockaddr_in endpoint(const char *address, const char *port)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	char *end;
	long number = strtol(port, &end, 10);

	if (*end || end == port || number < 1 || number > 65535)
		errx(1, "'%s' is no port: type 1 to 65535", port);
	if (inet_pton(AF_INET, address, &to.sin_addr) != 1)
		errx(1, "'%s' is no IPv4 address", address);
	to.sin_port = htons(number);
	return to;
}

/* epoll: data is the transfer, or NULL for who tells of new ones. */
static void watch(int epoll, int operation, int fd, unsigned int events, struct transfer *what)
{
	struct epoll_event event = { .events = events, .data.ptr = what };

	if (epoll_ctl(epoll, operation, fd, &event))
		err(1, "epoll_ctl");
}

static int wait_for(int epoll, struct epoll_event *events)
{
	int count;

	do {
		count = epoll_wait(epoll, events, EVENTS_MAX, -1);
	} while (count < 0 && errno == EINTR);
	if (count < 0)
		err(1, "epoll_wait");
	return count;
}

static int make_epoll(void)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	if (epoll < 0)
		err(1, "epoll_create1");
	return epoll;
}

static int make_socket(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		err(1, "socket");
	return fd;
}

static void accept_one(int epoll, int listener)
{
	struct transfer *transfer;
	int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0) {
		if (errno == EAGAIN || errno == ECONNABORTED)
			return;
		err(1, "accept");
	}
	transfer = calloc(1, sizeof(*transfer));
	if (!transfer)
		errx(1, "no memory");
	transfer->fd = fd;
	watch(epoll, EPOLL_CTL_ADD, fd, EPOLLIN, transfer);
}

static void discard(struct transfer *transfer)
{
	ssize_t bytes = recv(transfer->fd, chunk, sizeof(chunk), 0);

	if (bytes > 0 || (bytes < 0 && errno == EAGAIN))
		return;
	close(transfer->fd);	/* a peer that went away is its own affair */
	free(transfer);
}

static void __attribute__((noreturn)) serve(const char *port)
{
	const struct sockaddr_in here = endpoint("0.0.0.0", port);
	struct epoll_event events[EVENTS_MAX];
	int epoll = make_epoll(), listener = make_socket();

	if (bind(listener, (const void *)&here, sizeof(here)) || listen(listener, SOMAXCONN))
		err(1, "port %s", port);
	watch(epoll, EPOLL_CTL_ADD, listener, EPOLLIN, NULL);
	for (;;) {
		for (int i = wait_for(epoll, events) - 1; i >= 0; i--) {
			if (events[i].data.ptr)
				discard(events[i].data.ptr);
			else
				accept_one(epoll, listener);
		}
	}
}

static struct transfer *read_schedule(const char *path, size_t *count)
{
	struct transfer *transfers = NULL;
	size_t room = 0;
	FILE *file = fopen(path, "r");

	if (!file)
		err(1, "%s", path);
	for (*count = 0;; ++*count) {
		long long at_us, bytes;
		int found = fscanf(file, "%lld %lld", &at_us, &bytes);

		if (found == EOF)
			break;
		if (found != 2 || at_us < 0 || bytes < 1)
			errx(1, "%s: line %zu is not \"AT_US BYTES\"", path, *count + 1);
		if (*count == room) {
			room = room ? 2 * room : 1024;
			transfers = reallocarray(transfers, room, sizeof(*transfers));
			if (!transfers)
				errx(1, "no memory");
		}
		transfers[*count] = (struct transfer){ .at_us = at_us, .left_bytes = bytes };
	}
	fclose(file);
	return transfers;
}

static void begin(int epoll, struct transfer *transfer, const struct sockaddr_in *to,
		  const char *cc)
{
	transfer->fd = make_socket();
	transfer->start_us = clock_us(CLOCK_REALTIME);
	if (setsockopt(transfer->fd, IPPROTO_TCP, TCP_CONGESTION, cc, strlen(cc)))
		err(1, "congestion control '%s'", cc);
	if (connect(transfer->fd, (const void *)to, sizeof(*to)) && errno != EINPROGRESS)
		err(1, "connect");
	watch(epoll, EPOLL_CTL_ADD, transfer->fd, EPOLLOUT, transfer);
}

/* Gives the kernel what it takes, and then waits for the peer. */
static void send_more(int epoll, struct transfer *transfer)
{
	while (transfer->left_bytes > 0) {
		size_t most = sizeof(chunk);
		ssize_t bytes;

		if (transfer->left_bytes < (long long)most)
			most = transfer->left_bytes;
		bytes = send(transfer->fd, chunk, most, MSG_NOSIGNAL);
		if (bytes < 0) {
			if (errno == EAGAIN)
				return;
			err(1, "send");
		}
		transfer->left_bytes -= bytes;
	}
	if (shutdown(transfer->fd, SHUT_WR))
		err(1, "shutdown");
	watch(epoll, EPOLL_CTL_MOD, transfer->fd, EPOLLIN, transfer);
}

/* Returns whether the transfer is over. */
static int proceed(int epoll, struct transfer *transfer)
{
	ssize_t bytes;

	if (transfer->left_bytes > 0) {
		send_more(epoll, transfer);
		return 0;
	}
	bytes = recv(transfer->fd, chunk, sizeof(chunk), 0);
	if (bytes > 0)
		errx(1, "the receiver answers: is that 'shortflows serve'?");
	if (bytes < 0 && errno != EAGAIN)
		err(1, "receive");
	return !bytes;
}

static void set_timer(int timer, long long origin_us, const struct transfer *transfer)
{
	long long at_us = origin_us + transfer->at_us;
	const struct itimerspec at = {
		.it_value = {
			.tv_sec = at_us / US_PER_S,
			.tv_nsec = at_us % US_PER_S * NS_PER_US,
		},
	};

	timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL);
}

static void send_all(struct transfer *transfers, size_t count, const struct sockaddr_in *to,
		     const char *cc)
{
	long long origin_us = clock_us(CLOCK_MONOTONIC), expirations;
	int epoll = make_epoll(), timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	struct epoll_event events[EVENTS_MAX];
	size_t next = 0, over = 0, timed = count;	/* timed: whom the timer is set for */

	if (timer < 0)
		err(1, "timerfd_create");
	watch(epoll, EPOLL_CTL_ADD, timer, EPOLLIN, NULL);
	while (over < count) {
		long long now_us = clock_us(CLOCK_MONOTONIC) - origin_us;

		while (next < count && transfers[next].at_us <= now_us)
			begin(epoll, &transfers[next++], to, cc);
		if (next < count && timed != next) {
			set_timer(timer, origin_us, &transfers[next]);
			timed = next;
		}
		for (int i = wait_for(epoll, events) - 1; i >= 0; i--) {
			struct transfer *transfer = events[i].data.ptr;

			if (!transfer) {
				if (read(timer, &expirations, sizeof(expirations)) < 0 &&
				    errno != EAGAIN)
					err(1, "timer");
			} else if (proceed(epoll, transfer)) {
				printf("%zu\t%lld\t%lld\n", (size_t)(transfer - transfers),
				       transfer->start_us, clock_us(CLOCK_REALTIME));
				if (fflush(stdout))
					err(1, "standard output");
				close(transfer->fd);
				over++;
			}
		}
	}
}

/* As many connections at once as the system allows. */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit)) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

int main(int argc, char **argv)
{
	struct transfer *transfers;
	struct sockaddr_in to;
	size_t count;

	if (argc == 2 && !strcmp(argv[1], "-h")) {
		write_usage(stdout);
		return 0;
	}
	raise_file_limit();
	if (argc == 3 && !strcmp(argv[1], "serve"))
		serve(argv[2]);
	if (argc != 6 || strcmp(argv[1], "send")) {
		write_usage(stderr);
		return 2;
	}
	to = endpoint(argv[2], argv[3]);
	transfers = read_schedule(argv[5], &count);
	send_all(transfers, count, &to, argv[4]);
	free(transfers);
	return 0;
}
