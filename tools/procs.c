// SPDX-License-Identifier: GPL-2.0-only
/* Processes and their sockets, as /proc and pidfd_getfd(2) show them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "procs.h"

/* Same numbers on every architecture; glibc has wrappers since 2.36 only. */
#ifndef SYS_pidfd_open
#define SYS_pidfd_open	434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd	438
#endif

/* A decimal directory name of /proc; -1 for any other. */
static long parse_number(const char *name)
{
	char *end;
	long value;

	if (*name < '0' || *name > '9')
		return -1;
	value = strtol(name, &end, 10);
	return *end ? -1 : value;
}

/* State (R, S, Z, ...) and parent of pid; false when it is gone. */
static bool read_stat(pid_t pid, char *state, pid_t *parent)
{
	char path[64], line[512];
	const char *p;
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	len = read(fd, line, sizeof(line) - 1);
	close(fd);
	if (len <= 0)
		return false;
	line[len] = '\0';
	/* "PID (NAME) STATE PPID", where NAME may contain anything. */
	p = strrchr(line, ')');
	return p && sscanf(p + 1, " %c %d", state, parent) == 2;
}

struct process {
	pid_t pid;
	pid_t parent;
	bool below;	/* a descendant of root */
};

/*
 * All of /proc: several system calls for each process of the machine, where
 * the kernel lacks CONFIG_PROC_CHILDREN.
 */
static void scan_descendants(pid_t root, procs_pid_fn fn, void *arg)
{
	struct process *all = NULL;
	size_t n = 0, room = 0;
	struct dirent *entry;
	bool found = true;
	DIR *dir = opendir("/proc");

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		long pid = parse_number(entry->d_name);
		pid_t parent;
		char state;

		if (pid < 0 || !read_stat((pid_t)pid, &state, &parent))
			continue;
		if (n == room) {
			struct process *more;

			room = room ? 2 * room : 256;
			more = realloc(all, room * sizeof(*all));
			if (!more)
				break;
			all = more;
		}
		all[n++] = (struct process){
			.pid = (pid_t)pid,
			.parent = parent,
		};
	}
	closedir(dir);

	/* A process can have a lower number than its parent: repeat. */
	while (found) {
		found = false;
		for (size_t i = 0; i < n; i++) {
			if (all[i].below)
				continue;
			all[i].below = all[i].parent == root;
			for (size_t k = 0; k < n && !all[i].below; k++)
				all[i].below = all[k].below &&
					       all[k].pid == all[i].parent;
			if (!all[i].below)
				continue;
			found = true;
			if (!fn(all[i].pid, arg)) {
				free(all);
				return;
			}
		}
	}
	free(all);
}

/*
 * The children of one process, each followed by its own; false to stop.
 * *supported becomes false when the kernel does not list children.
 */
static bool list_descendants(pid_t pid, procs_pid_fn fn, void *arg,
			     bool *supported)
{
	char path[64];
	struct dirent *entry;
	bool go_on = true;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return true;	/* it ended */
	while (go_on && (entry = readdir(dir))) {
		char file[sizeof("/children") + sizeof(entry->d_name)];
		FILE *children;
		int fd, child;

		if (parse_number(entry->d_name) < 0)
			continue;
		snprintf(file, sizeof(file), "%s/children", entry->d_name);
		fd = openat(dirfd(dir), file, O_RDONLY | O_CLOEXEC);
		if (fd < 0) {
			/* Only the file is missing, or the thread too? */
			if (errno == ENOENT &&
			    !faccessat(dirfd(dir), entry->d_name, F_OK, 0)) {
				*supported = false;
				break;
			}
			continue;
		}
		children = fdopen(fd, "r");
		if (!children) {
			close(fd);
			continue;
		}
		while (go_on && fscanf(children, "%d", &child) == 1)
			go_on = fn(child, arg) &&
				list_descendants(child, fn, arg, supported);
		fclose(children);
	}
	closedir(dir);
	return go_on;
}

void procs_each_descendant(pid_t root, procs_pid_fn fn, void *arg)
{
	static bool supported = true;

	/* Not supported shows at root itself, before fn was called at all. */
	if (supported)
		list_descendants(root, fn, arg, &supported);
	if (!supported)
		scan_descendants(root, fn, arg);
}

void procs_each_mine(procs_pid_fn fn, void *arg)
{
	DIR *dir = opendir("/proc");
	uid_t me = geteuid();
	struct dirent *entry;
	struct stat st;

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		long pid = parse_number(entry->d_name);

		if (pid < 0)
			continue;
		if (me && (fstatat(dirfd(dir), entry->d_name, &st, 0) ||
			   st.st_uid != me))
			continue;
		if (!fn((pid_t)pid, arg))
			break;
	}
	closedir(dir);
}

int procs_each_socket(pid_t pid, procs_socket_fn fn, void *arg)
{
	char path[64], state;
	struct dirent *entry;
	pid_t parent;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	dir = opendir(path);
	if (!dir) {
		/* A zombie has no descriptors, and belongs to root in /proc. */
		if (errno != EACCES || (read_stat(pid, &state, &parent) && state != 'Z'))
			return -1;
		return 0;
	}
	while ((entry = readdir(dir))) {
		char target[64];
		uint64_t inode;
		ssize_t len;
		long fd = parse_number(entry->d_name);

		if (fd < 0)
			continue;
		len = readlinkat(dirfd(dir), entry->d_name, target,
				 sizeof(target) - 1);
		if (len < 0)
			continue;
		target[len] = '\0';
		if (sscanf(target, "socket:[%" SCNu64 "]", &inode) != 1)
			continue;
		if (!fn(pid, (int)fd, inode, arg))
			break;
	}
	closedir(dir);
	return 0;
}

static bool forbidden;	/* even to try: it may kill us */

int procs_dup_fd(pid_t pid, int fd)
{
	int pidfd, dup, err;

	if (forbidden) {
		errno = EPERM;
		return -1;
	}
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0)
		return -1;
	dup = (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
	err = errno;
	close(pidfd);
	errno = err;
	return dup;
}

bool procs_may_dup(void)
{
	pid_t child = fork();
	int status;

	if (!child) {
		/* To ourselves ptrace(2) is no obstacle. No core for SIGSYS. */
		prctl(PR_SET_DUMPABLE, 0);
		_exit(procs_dup_fd(getpid(), STDERR_FILENO) < 0 &&
		      errno != EBADF);
	}
	if (child > 0 && waitpid(child, &status, 0) == child)
		forbidden = status;
	return !forbidden;
}
