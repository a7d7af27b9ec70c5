/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * systemd and a program that dalbectl run starts: the unit's main process is dalbectl, so that
 * systemd hears no READY=1 of anybody else, and sockets are passed to it, by its PID.
 */
#ifndef DALBE_NOTIFY_H
#define DALBE_NOTIFY_H

/*
 * Where a service manager listens, have the program tell us instead: in the environment that it
 * will get. Returns a descriptor that becomes readable when it does, or -1: nobody listens.
 */
int notify_open(void);

/* Pass on what it has told, as ours; what tells of a main process is ours to say, and left out. */
void notify_pass_on(int fd);

/*
 * The arguments that start the program: a shell's, where the environment has to name the
 * program's own PID, as LISTEN_PID and WATCHDOG_PID name ours; else as they are.
 */
char **notify_arguments(char **program);

#endif
