/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How far the program is, by what it prints: rsync --info=progress2, restic --json,
 * rclone --use-json-log --stats 1s --stats-log-level NOTICE.
 *
 * Its stdout and stderr are pipes to us, and all that comes is passed on, byte by byte.
 */
#ifndef DALBE_PROGRESS_H
#define DALBE_PROGRESS_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#define PROGRESS_LINE	4096	/* of longer lines the rest is not looked at */

struct progress_stream {
	int ours, theirs;	/* ends of the pipe; -1: closed, or none */
	size_t len;
	char line[PROGRESS_LINE];
};

struct progress {
	struct progress_stream streams[2];	/* stdout and stderr */
	double fraction;	/* of the whole, as last said; 0: not yet */
};

/* Does a line tell of it? Then *fraction is from 0 to 1. */
bool progress_of_line(const char *line, double *fraction);

/* Without pipes nothing else here has an effect. Returns -1 with errno. */
void progress_init(struct progress *p);
int progress_open(struct progress *p);

/* The program has its ends: ours of them is closed. */
void progress_started(struct progress *p);

/*
 * Stream i can be passed on when this one is readable; where a reader has stopped, as at Ctrl-S,
 * ours has to become writable before: nothing else may wait for that.
 */
struct pollfd progress_awaits(const struct progress *p, size_t i);

/* Pass on some of the text that has arrived at stream i; returns the bytes. */
size_t progress_read(struct progress *p, size_t i);

/* The program has ended: the text that is left in the pipes, and no more, is passed on. */
void progress_finish(struct progress *p);

#endif
