/* SPDX-License-Identifier: GPL-2.0-only */
/* Processes and their sockets, as /proc and pidfd_getfd(2) show them. */
#ifndef DALBE_PROCS_H
#define DALBE_PROCS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Return true to go on, false to stop. */
typedef bool (*procs_pid_fn)(pid_t pid, void *arg);
typedef bool (*procs_socket_fn)(pid_t pid, int fd, uint64_t inode, void *arg);

/* Call fn for every process below root, in any order, without root itself. */
void procs_each_descendant(pid_t root, procs_pid_fn fn, void *arg);

/*
 * Call fn for every process that belongs to the effective user; for every
 * process if that is root.
 */
void procs_each_mine(procs_pid_fn fn, void *arg);

/*
 * Call fn for every socket of pid, of any family, by its descriptor number and
 * its inode (what two descriptors of the same socket have in common).
 * Returns 0, or -1 with errno: ENOENT the process is gone, EACCES it may not
 * be looked into.
 */
int procs_each_socket(pid_t pid, procs_socket_fn fn, void *arg);

/*
 * Our own descriptor of what is descriptor fd in process pid, close-on-exec;
 * -1 with errno: ESRCH no such process, EBADF no such descriptor, EPERM not
 * allowed (see ptrace(2), "Ptrace access mode checking").
 *
 * It keeps the file open: until it is closed here, a close() in the process
 * sends no FIN. So callers close it before they do anything slow.
 */
int procs_dup_fd(pid_t pid, int fd);

/*
 * False where a seccomp filter forbids that: from now on procs_dup_fd() fails
 * with EPERM. A child tries it, as some filters kill.
 */
bool procs_may_dup(void);

#endif
