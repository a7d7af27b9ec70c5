// SPDX-License-Identifier: GPL-2.0-only
/* systemd and a program that dalbectl run starts: sd_notify(3), sd_listen_fds(3). */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "notify.h"
#include "procs.h"

#define FDS_MAX		253	/* that one message can carry: SCM_MAX_FD */

static struct sockaddr_un manager;
static socklen_t manager_len;

static socklen_t set_address(struct sockaddr_un *address, const char *name)
{
	size_t len = strlen(name);

	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (len < 2 || len >= sizeof(address->sun_path) || !strchr("/@", *name))
		return 0;
	memcpy(address->sun_path, name, len);
	if (*name == '@')
		address->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (*name == '/'));
}

int notify_open(void)
{
	const char *name = getenv("NOTIFY_SOCKET");
	struct sockaddr_un own = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(own);
	char text[sizeof(own.sun_path) + 1];
	int fd, on = 1;

	if (!name)
		return -1;
	manager_len = set_address(&manager, name);
	fd = manager_len ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) : -1;
	/* the kernel finds a name, which belongs to no directory that the program may not enter */
	if (fd < 0 || bind(fd, (struct sockaddr *)&own, sizeof(own.sun_family)) ||
	    getsockname(fd, (struct sockaddr *)&own, &len) ||
	    setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on))) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	snprintf(text, sizeof(text), "@%.*s",
		 (int)(len - offsetof(struct sockaddr_un, sun_path) - 1), own.sun_path + 1);
	setenv("NOTIFY_SOCKET", text, 1);
	return fd;
}

struct wanted {
	pid_t pid;
	bool found;
};

static bool is_wanted(pid_t pid, void *arg)
{
	struct wanted *wanted = arg;

	wanted->found |= pid == wanted->pid;
	return !wanted->found;
}

/* Such a name is for all to write to. What our own user sends, systemd would take as well. */
static bool is_of_program(const struct ucred *from)
{
	struct wanted wanted = { .pid = from->pid };

	if (from->uid == geteuid() || !from->uid)
		return true;
	procs_each_descendant(getpid(), is_wanted, &wanted);
	return wanted.found;
}

static size_t without_main_pid(char *text)
{
	char *line = text, *end;

	while (*line) {
		end = line + strcspn(line, "\n");
		end += *end == '\n';
		if (!strncmp(line, "MAINPID", strlen("MAINPID")))
			memmove(line, end, strlen(end) + 1);
		else
			line = end;
	}
	return strlen(text);
}

static void close_all(struct cmsghdr *rights)
{
	size_t n = (rights->cmsg_len - CMSG_LEN(0)) / sizeof(int);

	for (size_t i = 0; i < n; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(rights) + i * sizeof(fd), sizeof(fd));
		close(fd);
	}
}

void notify_pass_on(int fd)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(FDS_MAX * sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
	} in, out;
	char text[8192];
	ssize_t len;

	/* A few at a time: anybody may send here, and the program is to be looked at meanwhile. */
	for (int n = 0; n < 16; n++) {
		struct iovec iov = { .iov_base = text, .iov_len = sizeof(text) - 1 };
		struct msghdr told = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &in,
				       .msg_controllen = sizeof(in) };
		struct msghdr ours = { .msg_iov = &iov, .msg_iovlen = 1, .msg_name = &manager,
				       .msg_namelen = manager_len };
		struct cmsghdr *rights = NULL;
		struct ucred from = { .uid = (uid_t)-1 };

		len = recvmsg(fd, &told, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		if (len < 0)
			return;
		text[len] = '\0';
		for (struct cmsghdr *c = CMSG_FIRSTHDR(&told); c; c = CMSG_NXTHDR(&told, c)) {
			if (c->cmsg_type == SCM_CREDENTIALS)
				memcpy(&from, CMSG_DATA(c), sizeof(from));
			if (c->cmsg_type == SCM_RIGHTS)
				rights = c;
		}
		iov.iov_len = without_main_pid(text);
		if (rights) {
			memcpy(&out, rights, rights->cmsg_len);
			ours.msg_control = &out;
			ours.msg_controllen = CMSG_ALIGN(rights->cmsg_len);
		}
		if (iov.iov_len && is_of_program(&from)) {
			int sender = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

			if (sender >= 0) {
				sendmsg(sender, &ours, MSG_NOSIGNAL);
				close(sender);
			}
		}
		if (rights)
			close_all(rights);
	}
}

static bool names_us(const char *variable)
{
	const char *value = getenv(variable);

	return value && atol(value) == getpid();
}

char **notify_arguments(char **program)
{
	static char script[256];
	bool listen = names_us("LISTEN_PID"), watchdog = names_us("WATCHDOG_PID");
	char **words;
	size_t n = 0;

	if (!listen && !watchdog)
		return program;
	while (program[n])
		n++;
	words = calloc(n + 5, sizeof(*words));
	if (!words)
		abort();
	/* LISTEN_PIDFDID says the same by another number, which a shell does not know */
	snprintf(script, sizeof(script), "%s%sunset LISTEN_PIDFDID; exec \"$@\"",
		 listen ? "export LISTEN_PID=$$; " : "", watchdog ? "export WATCHDOG_PID=$$; " : "");
	words[0] = "/bin/sh";
	words[1] = "-c";
	words[2] = script;
	words[3] = "dalbectl";
	memcpy(words + 4, program, (n + 1) * sizeof(*words));
	return words;
}
