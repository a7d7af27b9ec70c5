// SPDX-License-Identifier: GPL-2.0-only
/* cat FILE | send_by_deadline HOST PORT BYTES SECONDS, with a goal. */
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "dalbe_ctl.h"

/* Ask for bytes to be acknowledged within seconds; 0, or -1 with errno. */
static int set_goal(int fd, unsigned long long bytes, unsigned long long seconds)
{
	struct dalbe_goal goal = {
		.fd = fd,
		.flags = DALBE_GOAL_RELATIVE,
		.bytes = bytes,
		.deadline_ns = seconds * 1000000000,
	};
	int dev = open(DALBE_DEVICE, O_RDWR | O_CLOEXEC), ret = -1;

	if (dev >= 0 && !setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION,
				    DALBE_CC_CDG, strlen(DALBE_CC_CDG)))
		ret = ioctl(dev, DALBE_IOC_SET_GOAL, &goal);
	if (dev >= 0)
		close(dev);
	return ret;
}

static int connect_to(const char *host, const char *port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list, *ai;
	int fd = -1, err = getaddrinfo(host, port, &hints, &list);

	if (err) {
		fprintf(stderr, "%s: %s\n", host, gai_strerror(err));
		exit(1);
	}
	for (ai = list; ai; ai = ai->ai_next) {
		fd = socket(ai->ai_family, ai->ai_socktype, ai->ai_protocol);
		if (fd >= 0 && !connect(fd, ai->ai_addr, ai->ai_addrlen))
			break;
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	freeaddrinfo(list);
	return fd;
}

static unsigned long long parse_count(const char *text)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 10);

	if (*end || !value) {
		fprintf(stderr, "'%s' is no number of bytes or seconds\n", text);
		exit(2);
	}
	return value;
}

int main(int argc, char **argv)
{
	unsigned long long bytes, seconds;
	char buf[65536];
	ssize_t len;
	int fd;

	if (argc != 5) {
		fprintf(stderr, "Usage: %s HOST PORT BYTES SECONDS < FILE\n",
			argv[0]);
		return 2;
	}
	bytes = parse_count(argv[3]);
	seconds = parse_count(argv[4]);
	fd = connect_to(argv[1], argv[2]);
	if (fd < 0 || set_goal(fd, bytes, seconds)) {
		perror(argv[0]);
		return 1;
	}
	while ((len = read(STDIN_FILENO, buf, sizeof(buf))) > 0) {
		for (char *p = buf; len > 0;) {
			ssize_t sent = write(fd, p, (size_t)len);

			if (sent < 0) {
				perror(argv[0]);
				return 1;
			}
			p += sent;
			len -= sent;
		}
	}
	return close(fd) || len < 0;
}
