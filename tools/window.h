/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The hours of the local clock in which a job competes.
 *
 * Pure functions: the time is an argument, only the time zone comes from the
 * environment (TZ), so that all of it can be tested.
 */
#ifndef DALBE_WINDOW_H
#define DALBE_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#define WINDOWS_MAX	16

struct window {
	unsigned int days;	/* on which it begins: bit n is tm_wday n */
	int from_min;		/* minutes after midnight */
	int to_min;		/* at or before from_min: the next day's */
};

struct windows {
	struct window each[WINDOWS_MAX];
	size_t n;
};

/*
 * Add [DAY[-DAY]@]HH:MM-HH:MM, as 01:00-06:00, 22:00-06:00 or Sat-Sun@00:00-24:00; without a
 * day it begins on each. Returns 0, or -1 with a phrase in err, HUMAN_ERR_LEN bytes, that says
 * what is wrong and what to type instead; windows is then unchanged.
 */
int windows_add(struct windows *windows, const char *text, char *err);

/*
 * Is now within one of the windows? *until is the next time at which the answer is another;
 * where there is none, a week from now. Of an hour that the clock shows twice, a window's ends
 * mean the first; an hour that is skipped counts as if the clock were not set forward.
 */
bool windows_open(const struct windows *windows, time_t now, time_t *until);

/* For how long they are open between these two. Hours count as with windows_deadline(). */
time_t windows_open_s(const struct windows *windows, time_t from, time_t until);

/* When they have been open for so long. */
time_t windows_after(const struct windows *windows, time_t from, time_t open_s);

/*
 * When a job that competes from now on has to be done, had it no closed hours: as long after now
 * as the windows are open until the deadline. Where they are closed now it is as long after they
 * open next. The deadline itself where they stay closed until then. Closed hours count for two
 * years, beyond which no deadline is a matter of hours.
 */
time_t windows_deadline(const struct windows *windows, time_t now, time_t deadline);

#endif
