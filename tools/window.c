// SPDX-License-Identifier: GPL-2.0-only
/* The hours of the local clock in which a job competes. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "array.h"
#include "human.h"
#include "window.h"

/* From yesterday, whose window may still be open, to a week ahead. */
#define FIRST_DAY	(-1)
#define LAST_DAY	8
#define N_DAYS		(LAST_DAY - FIRST_DAY + 1)

#define DAY_MIN		(24 * 60)
#define WEEK_S		(7 * 24 * 3600)
#define FAR_S		(2 * 366 * 24 * 3600)

static const char day_names[][4] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };

/* DAY or DAY-DAY, then @: as bits. NULL if not. */
static const char *parse_days(const char *p, unsigned int *days)
{
	size_t ends[2], n = 0, day;

	do {
		for (day = 0; day < ARRAY_SIZE(day_names); day++) {
			if (!strncasecmp(p, day_names[day], 3))
				break;
		}
		if (day == ARRAY_SIZE(day_names))
			return NULL;
		ends[n++] = day;
		p += 3;
	} while (n < 2 && *p++ == '-');
	if (n == 2 ? *p++ != '@' : p[-1] != '@')
		return NULL;
	*days = 0;
	for (day = ends[0];; day = (day + 1) % ARRAY_SIZE(day_names)) {
		*days |= 1u << day;
		if (day == ends[n - 1])
			return p;
	}
}

/* HH:MM or H:MM as minutes; NULL if not. */
static const char *parse_minutes(const char *p, int *minutes)
{
	static const char digits[] = "0123456789";
	size_t width = strspn(p, digits);
	int hour, minute;

	if (width < 1 || width > 2 || p[width] != ':' || strspn(p + width + 1, digits) != 2 ||
	    sscanf(p, "%d:%d", &hour, &minute) != 2 || minute > 59)
		return NULL;
	*minutes = hour * 60 + minute;
	return p + width + 3;
}

int windows_add(struct windows *windows, const char *text, char *err)
{
	struct window window = { .days = (1u << ARRAY_SIZE(day_names)) - 1 };
	const char *p = text;

	if (windows->n == WINDOWS_MAX) {
		snprintf(err, HUMAN_ERR_LEN, "there are too many; type %d at most", WINDOWS_MAX);
		return -1;
	}
	if (strchr(text, '@'))
		p = parse_days(text, &window.days);
	if (p)
		p = parse_minutes(p, &window.from_min);
	if (!p || *p++ != '-' || window.from_min >= DAY_MIN)
		goto bad;
	p = parse_minutes(p, &window.to_min);
	if (!p || *p || window.to_min > DAY_MIN)
		goto bad;
	windows->each[windows->n++] = window;
	return 0;
bad:
	snprintf(err, HUMAN_ERR_LEN,
		 "that is no window; type for example 01:00-06:00 or Mon-Fri@22:00-06:00");
	return -1;
}

struct interval {
	time_t from, until;
};

static time_t clock_time(const struct tm *today, int day, int minutes)
{
	struct tm tm = {
		.tm_year = today->tm_year, .tm_mon = today->tm_mon, .tm_mday = today->tm_mday + day,
		.tm_hour = minutes / 60, .tm_min = minutes % 60,
	};

	return human_local_time(&tm, 0);
}

static bool within(const struct interval *intervals, size_t n, time_t now)
{
	for (size_t i = 0; i < n; i++) {
		if (now >= intervals[i].from && now < intervals[i].until)
			return true;
	}
	return false;
}

bool windows_open(const struct windows *windows, time_t now, time_t *until)
{
	struct interval intervals[WINDOWS_MAX * N_DAYS];
	struct tm today;
	time_t edge = now, next;
	size_t n = 0;
	bool open;

	localtime_r(&now, &today);
	for (size_t i = 0; i < windows->n; i++) {
		const struct window *window = &windows->each[i];

		for (int day = FIRST_DAY; day <= LAST_DAY; day++) {
			int to_day = day + (window->to_min <= window->from_min);
			int to_min = window->to_min;

			if (!(window->days & 1u << (today.tm_wday + day + 7) % 7))
				continue;
			if (to_min == DAY_MIN) {
				to_min = 0;
				to_day++;
			}
			intervals[n++] = (struct interval){
				clock_time(&today, day, window->from_min),
				clock_time(&today, to_day, to_min),
			};
		}
	}
	open = within(intervals, n, now);
	/* Windows may touch, or overlap: not each end of one is an edge. */
	do {
		next = now + WEEK_S;
		for (size_t i = 0; i < n; i++) {
			if (intervals[i].from > edge && intervals[i].from < next)
				next = intervals[i].from;
			if (intervals[i].until > edge && intervals[i].until < next)
				next = intervals[i].until;
		}
		edge = next;
	} while (edge < now + WEEK_S && within(intervals, n, edge) == open);
	*until = edge;
	return open;
}

time_t windows_open_s(const struct windows *windows, time_t from, time_t until)
{
	time_t far = from + FAR_S, open_s = 0, at, edge;
	bool open;

	if (!windows->n)
		return until > from ? until - from : 0;
	for (at = from; at < until && at < far; at = edge) {
		open = windows_open(windows, at, &edge);
		if (edge > until)
			edge = until;
		open_s += open ? edge - at : 0;
	}
	return at < until ? open_s + until - at : open_s;
}

time_t windows_after(const struct windows *windows, time_t from, time_t open_s)
{
	time_t far = from + FAR_S, at = from, edge;

	if (!windows->n)
		return from + open_s;
	while (open_s && at < far) {
		if (windows_open(windows, at, &edge)) {
			if (edge - at >= open_s)
				return at + open_s;
			open_s -= edge - at;
		}
		at = edge;
	}
	return at + open_s;
}

time_t windows_deadline(const struct windows *windows, time_t now, time_t deadline)
{
	time_t from = now, open_s, until;

	if (!windows->n)
		return deadline;
	if (!windows_open(windows, from, &until))
		from = until;
	open_s = windows_open_s(windows, from, deadline);
	return open_s ? from + open_s : deadline;
}
