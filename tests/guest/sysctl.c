// SPDX-License-Identifier: GPL-2.0-only
/* Files below /proc/sys/net, as a network namespace sees them. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "net.h"
#include "tests.h"

static int sysctl_open(const char *ns, const char *name, int flags)
{
	char path[96];

	ns_enter(ns);
	snprintf(path, sizeof(path), "/proc/sys/net/%s", name);
	return open(path, flags | O_CLOEXEC);
}

/* As write(2), 0 instead of a length. */
int sysctl_write_raw(const char *ns, const char *name, const char *value)
{
	int fd = TRY(sysctl_open(ns, name, O_WRONLY));
	ssize_t n = write(fd, value, strlen(value));
	int err = errno;

	close(fd);
	errno = err;
	return n < 0 ? -1 : 0;
}

void sysctl_write(const char *ns, const char *name, const char *value)
{
	TRY(sysctl_write_raw(ns, name, value));
}

/* The value without its newline. */
void sysctl_read(const char *ns, const char *name, char value[SYSCTL_LEN])
{
	int fd = TRY(sysctl_open(ns, name, O_RDONLY));
	ssize_t n = TRY(read(fd, value, SYSCTL_LEN - 1));

	close(fd);
	value[n] = '\0';
	value[strcspn(value, "\n")] = '\0';
}
