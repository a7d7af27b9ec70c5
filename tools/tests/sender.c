// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program that knows nothing of goals, for the tests:
 *
 *	sender PORT PAUSE_MS LINGER_MS BYTES...
 *
 * opens one connection to 127.0.0.1 for every BYTES, sends so many on it in
 * 20 pieces, PAUSE_MS apart, closes each as soon as it is finished, and
 * stays for LINGER_MS, having printed a line. A connection with 0 bytes is idle until
 * the end. Sends nothing before every connection has its LOOKS (default: 2) lines in the
 * file SHIM_LOOKS (see shim.c), if the environment has one: dalbectl looks at a new
 * connection, and then how far it is, before it gives a goal.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PIECES	20

static void sleep_ms(long ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

/* How many lines of the file are this number? */
static int count(const char *path, unsigned long long number)
{
	FILE *file = fopen(path, "re");
	unsigned long long line;
	int n = 0;

	while (file && fscanf(file, "%llu", &line) == 1)
		n += line == number;
	if (file)
		fclose(file);
	return n;
}

static void wait_for_looks(int fd)
{
	const char *path = getenv("SHIM_LOOKS"), *looks = getenv("LOOKS");
	unsigned long long cookie = 0;
	socklen_t len = sizeof(cookie);

	getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &len);
	while (path && count(path, cookie) < (looks ? atoi(looks) : 2))
		sleep_ms(5);
}

static void send_all(int fd, const char *buf, size_t len)
{
	while (len) {
		ssize_t sent = write(fd, buf, len);

		if (sent < 0) {
			perror("write");
			exit(1);
		}
		buf += sent;
		len -= (size_t)sent;
	}
}

int main(int argc, char **argv)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	int n = argc - 4, fds[64];

	if (n < 1 || n > 64)
		return 2;
	addr.sin_port = htons((unsigned short)atoi(argv[1]));
	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (int i = 0; i < n; i++) {
		fds[i] = socket(AF_INET, SOCK_STREAM, 0);
		if (connect(fds[i], (struct sockaddr *)&addr, sizeof(addr))) {
			perror("connect");
			return 1;
		}
	}
	for (int i = 0; i < n; i++)
		wait_for_looks(fds[i]);
	for (int piece = 0; piece < PIECES; piece++) {
		sleep_ms(atol(argv[2]));
		for (int i = 0; i < n; i++) {
			/* Uneven on purpose: a byte count that is a fluke. */
			size_t bytes = strtoul(argv[4 + i], NULL, 10);
			size_t len = bytes * (size_t)(piece + 1) / PIECES -
				     bytes * (size_t)piece / PIECES;
			char *buf = calloc(1, len + 1);

			send_all(fds[i], buf, len);
			free(buf);
			if (piece == PIECES - 1 && bytes)
				close(fds[i]);
		}
	}
	puts("sent");
	fflush(stdout);
	sleep_ms(atol(argv[3]));
	return 0;
}
