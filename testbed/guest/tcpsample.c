// SPDX-License-Identifier: GPL-2.0-only
/*
 * Samples every established TCP connection of a network namespace, for hours,
 * as one process: in a guest a shell loop around ss(8) costs more than the
 * traffic that it watches.
 *
 *	ip netns exec sender tcpsample 500 >tcp.sender
 *
 * Samples are taken when CLOCK_REALTIME is a multiple of the period, so that all
 * samplers of a run sample at the same instants. A sample is one inet_diag dump
 * per address family: per period eight system calls, and nothing is written
 * until 64 KiB have come together or SIGTERM (SIGINT) ends the program.
 */
#include <err.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define US_PER_S	1000000LL
#define US_PER_MS	1000LL
#define NS_PER_US	1000LL
#define PERIOD_MAX_MS	60000
#define ESTABLISHED	1	/* TCP_ESTABLISHED of the kernel's tcp_states.h */
#define CC_NAME_MAX	16	/* TCP_CA_NAME_MAX of the kernel's tcp.h */
#define RECV_BYTES	32768	/* the largest part of a dump that netlink makes */

/* A sample of a connection, an attribute each. */
struct sample {
	struct tcp_info info;
	char cc[CC_NAME_MAX];
};

static volatile sig_atomic_t stopped;

static void stop(int signal)
{
	(void)signal;
	stopped = 1;
}

static void write_usage(FILE *out)
{
	fputs("usage: tcpsample PERIOD_MS\n"
	      "\n"
	      "Every PERIOD_MS (1 to 60000) writes one line per established TCP connection of\n"
	      "this network namespace, until SIGTERM. Tab-separated, with a header; \"-\" is what\n"
	      "a connection does not have. Counters are TCP's: 4294967295 as min_rtt_us and\n"
	      "2147483647 as ssthresh_packets mean that there is none yet.\n",
	      out);
}

static long long now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * US_PER_S + now.tv_nsec / NS_PER_US;
}

/* A signal ends the sleep. */
static void sleep_until(long long at_us)
{
	struct timespec at = {
		.tv_sec = at_us / US_PER_S,
		.tv_nsec = at_us % US_PER_S * NS_PER_US,
	};

	clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &at, NULL);
}

static void write_header(void)
{
	puts("time_us\tsport\tdport\tcc\tcwnd_packets\tssthresh_packets\tsrtt_us\trttvar_us\t"
	     "min_rtt_us\tbytes_acked\tbytes_retrans\tdelivery_rate_Bps\tunacked_packets\t"
	     "lost_packets");
}

static void write_line(long long time_us, const struct inet_diag_sockid *id,
		       const struct sample *s)
{
	const struct tcp_info *t = &s->info;

	printf("%lld\t%u\t%u\t%s\t%u\t%u\t%u\t%u\t%u\t%llu\t%llu\t%llu\t%u\t%u\n",
	       time_us, ntohs(id->idiag_sport), ntohs(id->idiag_dport), s->cc,
	       t->tcpi_snd_cwnd, t->tcpi_snd_ssthresh, t->tcpi_rtt, t->tcpi_rttvar,
	       t->tcpi_min_rtt, (unsigned long long)t->tcpi_bytes_acked,
	       (unsigned long long)t->tcpi_bytes_retrans,
	       (unsigned long long)t->tcpi_delivery_rate, t->tcpi_unacked, t->tcpi_lost);
}

/* A kernel older or newer than our headers knows fewer or more fields. */
static void copy_attribute(void *to, size_t size, const struct rtattr *attribute)
{
	size_t bytes = RTA_PAYLOAD(attribute);

	memcpy(to, RTA_DATA(attribute), bytes < size ? bytes : size);
}

static void write_connection(long long time_us, const struct nlmsghdr *message)
{
	const struct inet_diag_msg *connection = NLMSG_DATA(message);
	const struct rtattr *attribute = (const void *)(connection + 1);
	int left = message->nlmsg_len - NLMSG_LENGTH(sizeof(*connection));
	struct sample s = { .cc = "-" };

	for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left)) {
		switch (attribute->rta_type) {
		case INET_DIAG_INFO:
			copy_attribute(&s.info, sizeof(s.info), attribute);
			break;
		case INET_DIAG_CONG:
			copy_attribute(s.cc, sizeof(s.cc) - 1, attribute);
			break;
		}
	}
	write_line(time_us, &connection->id, &s);
}

static void request_dump(int fd, unsigned char family)
{
	const struct {
		struct nlmsghdr header;
		struct inet_diag_req_v2 diag;
	} request = {
		.header = {
			.nlmsg_len = sizeof(request),
			.nlmsg_type = SOCK_DIAG_BY_FAMILY,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
		},
		.diag = {
			.sdiag_family = family,
			.sdiag_protocol = IPPROTO_TCP,
			.idiag_ext = 1 << (INET_DIAG_INFO - 1) | 1 << (INET_DIAG_CONG - 1),
			.idiag_states = 1 << ESTABLISHED,
		},
	};

	if (send(fd, &request, sizeof(request), 0) < 0)
		err(1, "inet_diag request");
}

/* A signal does not interrupt a dump: it is all there already. */
static void dump_family(int fd, unsigned char family, long long time_us)
{
	static char buffer[RECV_BYTES] __attribute__((aligned(NLMSG_ALIGNTO)));

	request_dump(fd, family);
	for (;;) {
		const struct nlmsghdr *message = (const void *)buffer;
		ssize_t bytes = recv(fd, buffer, sizeof(buffer), MSG_TRUNC);

		if (bytes < 0)
			err(1, "inet_diag dump");
		if (bytes > (ssize_t)sizeof(buffer))
			errx(1, "inet_diag dump: a message of %zd bytes is longer than %zu", bytes,
			     sizeof(buffer));
		for (unsigned int left = bytes; NLMSG_OK(message, left);
		     message = NLMSG_NEXT(message, left)) {
			if (message->nlmsg_type == NLMSG_DONE)
				return;
			if (message->nlmsg_type == NLMSG_ERROR) {
				const struct nlmsgerr *error = NLMSG_DATA(message);

				errx(1, "inet_diag dump: %s (is CONFIG_INET_TCP_DIAG in this kernel?)",
				     strerror(-error->error));
			}
			write_connection(time_us, message);
		}
	}
}

static long long period_us(const char *text)
{
	char *end;
	long period_ms = strtol(text, &end, 10);

	if (*end || end == text || period_ms < 1 || period_ms > PERIOD_MAX_MS)
		errx(1, "'%s' is no period: type milliseconds, 1 to %d", text, PERIOD_MAX_MS);
	return period_ms * US_PER_MS;
}

int main(int argc, char **argv)
{
	static char output[65536];
	const struct sigaction on_signal = { .sa_handler = stop };
	long long every_us;
	int fd;

	if (argc == 2 && !strcmp(argv[1], "-h")) {
		write_usage(stdout);
		return 0;
	}
	if (argc != 2) {
		write_usage(stderr);
		return 2;
	}
	every_us = period_us(argv[1]);
	sigaction(SIGTERM, &on_signal, NULL);
	sigaction(SIGINT, &on_signal, NULL);
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	if (fd < 0)
		err(1, "netlink socket");

	setvbuf(stdout, output, _IOFBF, sizeof(output));
	write_header();
	while (!stopped && !ferror(stdout)) {
		long long time_us;

		sleep_until((now_us() / every_us + 1) * every_us);
		if (stopped)
			break;
		time_us = now_us();
		dump_family(fd, AF_INET, time_us);
		dump_family(fd, AF_INET6, time_us);
	}
	if (ferror(stdout) || fflush(stdout))
		err(1, "standard output");
	return 0;
}
