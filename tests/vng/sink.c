// SPDX-License-Identifier: GPL-2.0-only
/*
 * Accepts connections and discards what they bring, until it is killed. iperf's server
 * does not live through hundreds of connections that end at any time.
 *
 *	usage: sink PORT
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define MOST	256	/* connections at once; further ones wait in the backlog */

static int listen_at(const char *port)
{
	struct sockaddr_in here = {
		.sin_family = AF_INET,
		.sin_port = htons((unsigned short)atoi(port)),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int on = 1;

	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(fd, (struct sockaddr *)&here, sizeof(here)) ||
	    listen(fd, MOST)) {
		perror("sink");
		exit(1);
	}
	return fd;
}

/* False when the connection has ended. */
static bool drained(int fd)
{
	static char buf[65536];
	ssize_t len = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);

	return len > 0 || (len < 0 && (errno == EAGAIN || errno == EINTR));
}

int main(int argc, char **argv)
{
	struct pollfd fds[1 + MOST];
	nfds_t n = 1;

	if (argc != 2) {
		fprintf(stderr, "usage: sink PORT\n");
		return 2;
	}
	fds[0] = (struct pollfd){ .fd = listen_at(argv[1]), .events = POLLIN };
	for (;;) {
		/* those that end leave their place to the last */
		for (nfds_t i = n; --i > 0;) {
			if (fds[i].revents && !drained(fds[i].fd)) {
				close(fds[i].fd);
				fds[i] = fds[--n];
			}
		}
		if (n <= MOST && fds[0].revents) {
			int fd = accept(fds[0].fd, NULL, NULL);

			if (fd >= 0)
				fds[n++] = (struct pollfd){ .fd = fd, .events = POLLIN };
		}
		fds[0].events = n <= MOST ? POLLIN : 0;
		if (poll(fds, n, -1) < 0 && errno != EINTR) {
			perror("sink: poll");
			return 1;
		}
	}
}
