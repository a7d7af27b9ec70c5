// SPDX-License-Identifier: GPL-2.0-only
/* Unit tests of window.c; TAP on stdout. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "human.h"
#include "tap.h"
#include "window.h"

static const struct {
	const char *text;
	struct window want;	/* days 0: to be refused */
} texts[] = {
	{ "01:00-06:00", { 0x7f, 60, 360 } },
	{ "1:00-6:05", { 0x7f, 60, 365 } },
	{ "22:00-06:00", { 0x7f, 1320, 360 } },
	{ "00:00-24:00", { 0x7f, 0, 1440 } },
	{ "Mon-Fri@01:00-06:00", { 0x3e, 60, 360 } },
	{ "sat@01:00-06:00", { 0x40, 60, 360 } },
	{ "Fri-Mon@01:00-06:00", { 0x63, 60, 360 } },
	{ "Sun-Sat@01:00-06:00", { 0x7f, 60, 360 } },
	{ "", { 0 } }, { "@", { 0 } }, { "01:00", { 0 } }, { "01:00-", { 0 } },
	{ "01:00-06:00 ", { 0 } }, { " 01:00-06:00", { 0 } }, { "01:00-06:0", { 0 } },
	{ "01:00-25:00", { 0 } }, { "24:00-06:00", { 0 } }, { "01:60-06:00", { 0 } },
	{ "01:00-24:01", { 0 } }, { "-1:00-06:00", { 0 } }, { "01:00+06:00", { 0 } },
	{ "001:00-06:00", { 0 } }, { "99999999999:00-06:00", { 0 } }, { "1-6", { 0 } },
	{ "Mon@", { 0 } }, { "Mon-@01:00-06:00", { 0 } }, { "@01:00-06:00", { 0 } },
	{ "Mo@01:00-06:00", { 0 } }, { "Monday@01:00-06:00", { 0 } },
	{ "Mon-Tue-Wed@01:00-06:00", { 0 } }, { "Mon01:00-06:00", { 0 } },
	{ "01:00-06:00@Mon", { 0 } }, { "Mon-Fri@@01:00-06:00", { 0 } },
	{ "01:00:00-06:00", { 0 } },
};

static void test_texts(void)
{
	struct windows windows = { 0 };
	char err[HUMAN_ERR_LEN], name[100];

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		const struct window *want = &texts[i].want, *got = windows.each;
		int ret;

		windows.n = 0;
		*err = '\0';
		ret = windows_add(&windows, texts[i].text, err);
		snprintf(name, sizeof(name), "window '%s'", texts[i].text);
		if (want->days)
			check(!ret && windows.n == 1 && got->days == want->days &&
			      got->from_min == want->from_min && got->to_min == want->to_min,
			      name, err);
		else
			check(ret == -1 && !windows.n && strstr(err, "type "), name, err);
	}
	for (windows.n = 0; windows.n < WINDOWS_MAX;)
		windows_add(&windows, "01:00-06:00", err);
	check(windows_add(&windows, "01:00-06:00", err) == -1 && windows.n == WINDOWS_MAX &&
	      strstr(err, "type "), "too many", err);
}

#define BERLIN	"CET-1CEST,M3.5.0,M10.5.0/3"

/* Times are UTC; date -ud @N, zdump -v Europe/Berlin and cal tell them. */
static const struct {
	const char *what;
	const char *zone;
	const char *windows[3];
	const char *now;
	bool open;
	const char *until;	/* NULL: no edge within a week */
} cases[] = {
	/* Friday, 20 November 2026; CET is UTC + 1. */
	{ "before it", BERLIN, { "01:00-06:00" }, "2026-11-19 23:59:59", false,
	  "2026-11-20 00:00:00" },
	{ "its first second", BERLIN, { "01:00-06:00" }, "2026-11-20 00:00:00", true,
	  "2026-11-20 05:00:00" },
	{ "its last second", BERLIN, { "01:00-06:00" }, "2026-11-20 04:59:59", true,
	  "2026-11-20 05:00:00" },
	{ "after it", BERLIN, { "01:00-06:00" }, "2026-11-20 05:00:00", false,
	  "2026-11-21 00:00:00" },
	{ "before midnight", BERLIN, { "22:00-06:00" }, "2026-11-20 22:30:00", true,
	  "2026-11-21 05:00:00" },
	{ "after midnight", BERLIN, { "22:00-06:00" }, "2026-11-20 23:30:00", true,
	  "2026-11-21 05:00:00" },
	{ "between two nights", BERLIN, { "22:00-06:00" }, "2026-11-20 12:00:00", false,
	  "2026-11-20 21:00:00" },
	{ "to midnight", BERLIN, { "18:00-24:00" }, "2026-11-20 22:59:59", true,
	  "2026-11-20 23:00:00" },
	{ "to 0:00", BERLIN, { "18:00-0:00" }, "2026-11-20 22:59:59", true, "2026-11-20 23:00:00" },
	{ "the last of a year", BERLIN, { "22:00-06:00" }, "2026-12-31 22:30:00", true,
	  "2027-01-01 05:00:00" },
	{ "the leap day", BERLIN, { "22:00-06:00" }, "2028-02-28 22:30:00", true,
	  "2028-02-29 05:00:00" },
	/* Weekdays are those of the beginning. */
	{ "Friday's night", BERLIN, { "Mon-Fri@22:00-06:00" }, "2026-11-20 23:30:00", true,
	  "2026-11-21 05:00:00" },
	{ "no Saturday's night", BERLIN, { "Mon-Fri@22:00-06:00" }, "2026-11-21 23:30:00", false,
	  "2026-11-23 21:00:00" },
	{ "no Sunday's night", BERLIN, { "Mon-Fri@22:00-06:00" }, "2026-11-23 02:00:00", false,
	  "2026-11-23 21:00:00" },
	{ "a weekend", BERLIN, { "Sat-Sun@00:00-24:00" }, "2026-11-21 12:00:00", true,
	  "2026-11-22 23:00:00" },
	{ "one day, almost a week ahead", BERLIN, { "Fri@01:00-06:00" }, "2026-11-20 05:00:01",
	  false,
	  "2026-11-27 00:00:00" },
	/* Several: what touches or overlaps is one. */
	{ "two that touch", BERLIN, { "01:00-03:00", "03:00-06:00" }, "2026-11-20 00:30:00", true,
	  "2026-11-20 05:00:00" },
	{ "two that overlap", BERLIN, { "01:00-04:00", "03:00-06:00" }, "2026-11-20 00:30:00", true,
	  "2026-11-20 05:00:00" },
	{ "between two", BERLIN, { "01:00-02:00", "03:00-06:00" }, "2026-11-20 01:00:00", false,
	  "2026-11-20 02:00:00" },
	{ "weekday and weekend", BERLIN, { "Mon-Fri@01:00-06:00", "Sat-Sun@00:00-24:00" },
	  "2026-11-20 06:00:00", false, "2026-11-20 23:00:00" },
	{ "always", BERLIN, { "00:00-24:00" }, "2026-11-20 12:00:00", true, NULL },
	{ "always, from noon to noon", BERLIN, { "12:00-12:00" }, "2026-11-20 12:00:00", true,
	  NULL },
	/* 29 March 2026: at 02:00 CET, 01:00 UTC, the clock goes to 03:00 CEST. */
	{ "a short night", BERLIN, { "01:00-06:00" }, "2026-03-29 00:30:00", true,
	  "2026-03-29 04:00:00" },
	{ "across midnight, a short night", BERLIN, { "22:00-06:00" }, "2026-03-28 22:30:00", true,
	  "2026-03-29 04:00:00" },
	{ "it begins in the hour that is skipped", BERLIN, { "02:30-06:00" }, "2026-03-29 00:30:00",
	  false, "2026-03-29 01:30:00" },
	{ "it ends in the hour that is skipped", BERLIN, { "01:00-02:30" }, "2026-03-29 01:00:00",
	  true, "2026-03-29 01:30:00" },
	{ "all of it in the hour that is skipped", BERLIN, { "02:00-03:00" }, "2026-03-29 00:59:59",
	  false, "2026-03-30 00:00:00" },
	{ "the day before", BERLIN, { "01:00-06:00" }, "2026-03-28 06:00:00", false,
	  "2026-03-29 00:00:00" },
	{ "the day after", BERLIN, { "01:00-06:00" }, "2026-03-29 05:00:00", false,
	  "2026-03-29 23:00:00" },
	/* 25 October 2026: at 03:00 CEST, 01:00 UTC, the clock goes back to 02:00 CET. */
	{ "a long night", BERLIN, { "01:00-06:00" }, "2026-10-24 23:30:00", true,
	  "2026-10-25 05:00:00" },
	{ "across midnight, a long night", BERLIN, { "22:00-06:00" }, "2026-10-24 20:30:00", true,
	  "2026-10-25 05:00:00" },
	{ "it begins in the hour that comes twice", BERLIN, { "02:30-06:00" },
	  "2026-10-25 00:15:00",
	  false, "2026-10-25 00:30:00" },
	{ "it ends in the hour that comes twice", BERLIN, { "01:00-02:30" }, "2026-10-25 00:15:00",
	  true, "2026-10-25 00:30:00" },
	{ "not once more", BERLIN, { "01:00-02:30" }, "2026-10-25 01:15:00", false,
	  "2026-10-26 00:00:00" },
	{ "all of it in the hour that comes twice", BERLIN, { "02:10-02:50" },
	  "2026-10-25 00:10:00",
	  true, "2026-10-25 00:50:00" },
	/* Other clocks, one of which skips midnight. */
	{ "no change in UTC", "UTC", { "01:00-06:00" }, "2026-03-29 00:59:00", false,
	  "2026-03-29 01:00:00" },
	{ "Kathmandu", "<+0545>-5:45", { "01:00-06:00" }, "2026-11-19 19:14:00", false,
	  "2026-11-19 19:15:00" },
	{ "a midnight that is skipped", "<-04>4<-03>,M9.2.0/0,M4.1.0/0", { "00:00-06:00" },
	  "2026-09-13 03:59:59", false, "2026-09-13 04:00:00" },
};

static time_t utc(const char *text)
{
	struct tm tm = { 0 };

	strptime(text, "%Y-%m-%d %H:%M:%S", &tm);
	return timegm(&tm);
}

static void test_times(void)
{
	char err[HUMAN_ERR_LEN] = "", detail[100], got[40];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct windows windows = { 0 };
		time_t now = utc(cases[i].now), until;
		time_t want = now + 7 * 24 * 3600;
		struct tm tm;
		bool open, added = true;

		if (cases[i].until)
			want = utc(cases[i].until);
		setenv("TZ", cases[i].zone, 1);
		tzset();
		for (size_t k = 0; k < 3 && cases[i].windows[k]; k++)
			added &= !windows_add(&windows, cases[i].windows[k], err);
		open = windows_open(&windows, now, &until);
		strftime(got, sizeof(got), "%F %T", gmtime_r(&until, &tm));
		snprintf(detail, sizeof(detail), "%s until %s", open ? "open" : "closed", got);
		check(added && open == cases[i].open && until == want, cases[i].what, detail);
	}
}

/* Two weeks around both changes, by quarters of an hour: the edges are where the answer changes. */
static void test_edges(void)
{
	static const char *const begins[] = { "2026-03-22 00:00:00", "2026-10-18 00:00:00" };
	struct windows windows = { 0 };
	char err[HUMAN_ERR_LEN], detail[100];

	setenv("TZ", BERLIN, 1);
	tzset();
	windows_add(&windows, "Mon-Fri@22:00-02:30", err);
	windows_add(&windows, "Sat-Sun@13:00-13:45", err);
	windows_add(&windows, "02:30-05:00", err);
	for (size_t i = 0; i < ARRAY_SIZE(begins); i++) {
		time_t begin = utc(begins[i]), until, next;
		bool was = windows_open(&windows, begin, &until);
		int n_edges = 0;

		for (time_t now = begin + 900; now < begin + 14 * 24 * 3600; now += 900) {
			bool open = windows_open(&windows, now, &next), edge = open != was;

			if (edge ? now != until : now == until || next != until)
				break;
			n_edges += edge;
			was = open;
			until = next;
		}
		snprintf(detail, sizeof(detail), "%d edges", n_edges);
		/* A week: five long nights, two short, and two times at noon. */
		check(n_edges == 2 * 2 * (5 + 2 + 2), begins[i], detail);
	}
}

/* The time until the kernel's deadline is that in which the job competes. */
/* Each second is open or not, and counts where it is. */
static void check_open(const struct windows *windows, time_t from, time_t until)
{
	time_t open_s = 0, edge = from, ignored, next;

	for (time_t at = from; at < until; at += 300)
		open_s += !windows->n || windows_open(windows, at, &ignored) ? 300 : 0;
	check(windows_open_s(windows, from, until) == open_s, "so long it is open", NULL);
	edge = windows_after(windows, from, open_s);
	check(open_s ? edge <= until : edge == from, "and has been by then", NULL);
	next = windows_open_s(windows, from, edge);
	check(next == open_s && (!open_s || windows_open_s(windows, from, edge - 1) == open_s - 1),
	      "not sooner", NULL);
}

static void test_deadline(void)
{
	static const struct {
		const char *what, *windows[3], *now, *deadline, *want;
	} nights[] = {
		{ "no windows", { NULL }, "2026-01-05 12:00:00", "2026-01-06 06:00:00",
		  "2026-01-06 06:00:00" },
		{ "open until the deadline", { "01:00-06:00" }, "2026-01-05 02:00:00",
		  "2026-01-05 05:00:00", "2026-01-05 05:00:00" },
		{ "the window ends before it", { "01:00-06:00" }, "2026-01-05 02:00:00",
		  "2026-01-05 12:00:00", "2026-01-05 06:00:00" },
		{ "two nights", { "01:00-06:00" }, "2026-01-05 02:00:00",
		  "2026-01-06 03:00:00", "2026-01-05 08:00:00" },
		{ "closed now: from when it opens", { "01:00-06:00" }, "2026-01-05 20:00:00",
		  "2026-01-07 03:00:00", "2026-01-06 08:00:00" },
		{ "closed for the rest: the deadline", { "01:00-06:00" }, "2026-01-05 12:00:00",
		  "2026-01-05 18:00:00", "2026-01-05 18:00:00" },
		{ "just closed", { "01:00-06:00" }, "2026-01-05 06:00:00",
		  "2026-01-05 18:00:00", "2026-01-05 18:00:00" },
		{ "several a day, by weekday", { "Mon@01:00-02:00", "Mon@04:00-05:00" },
		  "2026-01-05 01:30:00", "2026-01-12 04:30:00", "2026-01-05 04:30:00" },
		{ "always open", { "00:00-24:00" }, "2026-01-05 01:30:00", "2026-01-12 04:30:00",
		  "2026-01-12 04:30:00" },
	};
	struct tm tm;

	setenv("TZ", "UTC", 1);
	tzset();
	for (size_t i = 0; i < ARRAY_SIZE(nights); i++) {
		struct windows windows = { 0 };
		char err[HUMAN_ERR_LEN], got[32];
		time_t t;

		for (size_t k = 0; k < 3 && nights[i].windows[k]; k++)
			windows_add(&windows, nights[i].windows[k], err);
		t = windows_deadline(&windows, utc(nights[i].now), utc(nights[i].deadline));
		strftime(got, sizeof(got), "%F %T", gmtime_r(&t, &tm));
		check(!strcmp(got, nights[i].want), nights[i].what, got);
		check_open(&windows, utc(nights[i].now), utc(nights[i].deadline));
	}
	/* The night on which the clock is set back has an hour more. */
	setenv("TZ", BERLIN, 1);
	tzset();
	{
		struct windows windows = { 0 };
		char err[HUMAN_ERR_LEN];
		time_t now = utc("2026-10-24 20:00:00"), end = utc("2026-10-25 11:00:00");

		windows_add(&windows, "00:00-06:00", err);
		check(windows_deadline(&windows, now, end) ==
		      utc("2026-10-24 22:00:00") + 7 * 3600, "the clock is set back", NULL);
	}
}

int main(void)
{
	test_deadline();
	test_texts();
	test_times();
	test_edges();
	return plan();
}
