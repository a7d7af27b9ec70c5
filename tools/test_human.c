// SPDX-License-Identifier: GPL-2.0-only
/* Unit tests of human.c; TAP on stdout. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "array.h"
#include "human.h"
#include "tap.h"

static bool one_line(const char *err)
{
	return *err && !strchr(err, '\n') && strstr(err, "type ");
}

static const struct {
	const char *text;
	uint64_t bytes;		/* 0: to be refused */
} sizes[] = {
	{ "1", 1 }, { "1000", 1000 }, { "7B", 7 }, { "300k", 300000 },
	{ "300K", 300000 }, { "1kB", 1000 }, { "40G", 40000000000 },
	{ "2GiB", 2147483648 }, { "2Gi", 2147483648 }, { "2gib", 0 },
	{ "1.5T", 1500000000000 }, { "1.5KiB", 1536 },
	{ "0.001k", 1 }, { "8E", 8000000000000000000 },
	{ "9223372036854775807", INT64_MAX }, { "1.1E", 1100000000000000000 },
	{ "7EiB", 8070450532247928832 },
	{ "9223372036854775808", 0 }, { "8EiB", 0 }, { "10E", 0 },
	{ "99999999999999999999", 0 }, { "18446744073709551617", 0 },
	{ "", 0 }, { "0", 0 }, { "0G", 0 }, { "0.0001k", 0 }, { "-1", 0 },
	{ "+1", 0 }, { " 1", 0 }, { "1 ", 0 }, { "12Q", 0 }, { "1.", 0 },
	{ ".5G", 0 }, { "1.5", 0 }, { "1.5B", 0 }, { "1Gb", 0 }, { "1GB ", 0 },
	{ "1e9", 0 }, { "0x10", 0 }, { "1i", 0 }, { "1iB", 0 }, { "nan", 0 },
	{ "1.0000000000000000001G", 0 }, { "G", 0 }, { "1GG", 0 }, { "1\n", 0 },
};

static void test_sizes(void)
{
	char err[HUMAN_ERR_LEN], name[100];

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		uint64_t bytes = 0;
		int ret = human_parse_size(sizes[i].text, &bytes, err);

		/* A test's name is one line as well. */
		snprintf(name, sizeof(name), "size '%.*s'",
			 (int)strcspn(sizes[i].text, "\n"), sizes[i].text);
		if (sizes[i].bytes)
			check(!ret && bytes == sizes[i].bytes, name, err);
		else
			check(ret == -1 && !bytes &&
			      (one_line(err) || strchr(sizes[i].text, '\n')),
			      name, "not refused");
	}
}

static const struct {
	const char *text;
	uint64_t ns;		/* 0: to be refused */
} durations[] = {
	{ "45s", 45000000000 }, { "90m", 5400000000000 },
	{ "1h30m", 5400000000000 }, { "1.5h", 5400000000000 },
	{ "500ms", 500000000 }, { "1m500ms", 60500000000 },
	{ "2d", 172800000000000 }, { "365d", 31536000000000000 },
	{ "1d2h3m4s5ms", 93784005000000 }, { "0h1s", 1000000000 },
	{ "106751d", 9223286400000000000 }, { "106752d", 0 },
	{ "106751d24h", 0 },
	{ "", 0 }, { "5", 0 }, { "1h30", 0 }, { "30m1h", 0 }, { "1m1m", 0 },
	{ "0s", 0 }, { "-5s", 0 }, { "5 s", 0 }, { "5x", 0 }, { "s", 0 },
	{ "5us", 0 }, { "5S", 0 }, { "1h:30m", 0 },
	{ "99999999999999999999s", 0 },
};

static void test_durations(void)
{
	char err[HUMAN_ERR_LEN], name[100];

	for (size_t i = 0; i < ARRAY_SIZE(durations); i++) {
		uint64_t ns = 0;
		int ret = human_parse_duration(durations[i].text, &ns, err);

		snprintf(name, sizeof(name), "duration '%s'",
			 durations[i].text);
		if (durations[i].ns)
			check(!ret && ns == durations[i].ns, name, err);
		else
			check(ret == -1 && !ns && one_line(err), name,
			      "not refused");
	}
}

/* 2026-11-20 12:00:00.25 UTC, 1000 s after boot */
#define NOW_S		1795176000
#define BOOT_NS		(1000 * NSEC_PER_SEC)

static const struct {
	const char *zone;
	const char *text;
	int64_t ahead_s;	/* 0: to be refused */
} deadlines[] = {
	{ "UTC0", "+45s", 45 }, { "UTC0", "+1h30m", 5400 },
	{ "UTC0", "12:00:01", 1 }, { "UTC0", "12:01", 60 },
	{ "UTC0", "11:00", 23 * 3600 }, { "UTC0", "06:00", 18 * 3600 },
	{ "UTC0", "23:59:59", 43199 },
	{ "CET-1", "06:00", 17 * 3600 }, { "EST5", "06:00", 82800 },
	{ "UTC0", "2026-11-21 06:00", 18 * 3600 },
	{ "UTC0", "2026-11-21T06:00:30", 18 * 3600 + 30 },
	{ "CET-1", "2026-11-21T06:00Z", 18 * 3600 },
	{ "CET-1", "2026-11-21T06:00+02:00", 16 * 3600 },
	{ "CET-1", "2026-11-21 06:00:00-05:30", 23 * 3600 + 1800 },
	/* Summer time begins on 2027-03-28: 127 days and 14 h, less 1 h. */
	{ "CET-1CEST,M3.5.0,M10.5.0/3", "2027-03-28 04:00",
	  127 * 86400 + 14 * 3600 },
	{ "UTC0", "2028-02-29 12:00", 466 * 86400 },
	{ "UTC0", "2027-02-29 12:00", 0 }, { "UTC0", "2026-11-31 12:00", 0 },
	{ "UTC0", "2026-11-21", 0 },
	{ "UTC0", "2026-13-01 06:00", 0 }, { "UTC0", "2026-00-01 06:00", 0 },
	{ "UTC0", "6:00", 18 * 3600 }, { "UTC0", "6:00:30", 18 * 3600 + 30 },
	{ "UTC0", "2026-11-21 6:00", 18 * 3600 },
	{ "UTC0", "24:00", 0 }, { "UTC0", "06:60", 0 }, { "UTC0", ":00", 0 },
	{ "UTC0", "006:00", 0 }, { "UTC0", "6:0", 0 }, { "UTC0", "6", 0 },
	{ "UTC0", "06:00:", 0 }, { "UTC0", "06:00 ", 0 }, { "UTC0", "", 0 },
	{ "UTC0", "+", 0 }, { "UTC0", "+0s", 0 }, { "UTC0", "+90", 0 },
	{ "UTC0", "90m", 0 }, { "UTC0", "-90m", 0 }, { "UTC0", "soon", 0 },
	{ "UTC0", "+106751d23h47m", 0 }, { "UTC0", "9999-01-01 00:00", 0 },
	{ "UTC0", "2026-11-21 06:00X", 0 },
	{ "UTC0", "2026-11-21 06:00+2", 0 },
};

/* Of a clock time, less than an hour ago. */
static const struct {
	const char *text;
	int64_t ago_s;
	const char *ago;
} passed[] = {
	{ "12:00", 0, " 250ms " }, { "11:59:30", 30, " 30.2s " }, { "11:00:01", 3599, " 59m59s " },
	{ "2026-11-20 12:00", 0, " 250ms " }, { "2026-11-20T12:00:00Z", 0, " 250ms " },
	{ "2026-11-19 06:00", 30 * 3600, " 1d06h " },	/* before the machine was started */
};

static void test_passed(void)
{
	struct timespec now = { .tv_sec = NOW_S, .tv_nsec = 250000000 };
	char err[HUMAN_ERR_LEN], name[100];

	setenv("TZ", "UTC0", 1);
	tzset();
	for (size_t i = 0; i < ARRAY_SIZE(passed); i++) {
		uint64_t at = 0;
		int ret = human_parse_deadline(passed[i].text, now, BOOT_NS, &at, err);
		int64_t ago_ns = (int64_t)(BOOT_NS - at);

		snprintf(name, sizeof(name), "deadline '%s', which has passed", passed[i].text);
		check(ret == HUMAN_PASSED && one_line(err) && strstr(err, passed[i].ago) &&
		      ago_ns == passed[i].ago_s * (int64_t)NSEC_PER_SEC + 250000000, name, err);
	}
}

static void test_deadlines(void)
{
	struct timespec now = { .tv_sec = NOW_S, .tv_nsec = 250000000 };
	char err[HUMAN_ERR_LEN], name[100];

	for (size_t i = 0; i < ARRAY_SIZE(deadlines); i++) {
		uint64_t at = 0, want = BOOT_NS;
		int ret;

		setenv("TZ", deadlines[i].zone, 1);
		tzset();
		ret = human_parse_deadline(deadlines[i].text, now, BOOT_NS, &at,
					   err);
		want += (uint64_t)deadlines[i].ahead_s * NSEC_PER_SEC;
		/* A clock time is exact, whatever part of a second it is now. */
		if (deadlines[i].text[0] != '+')
			want -= 250000000;
		snprintf(name, sizeof(name), "deadline '%s' in %s",
			 deadlines[i].text, deadlines[i].zone);
		if (deadlines[i].ahead_s) {
			snprintf(err + strlen(err), sizeof(err) - strlen(err),
				 " ");
			check(!ret && at == want, name, err);
		} else {
			check(ret == -1 && !at && one_line(err), name,
			      "not refused");
		}
	}
	human_parse_deadline("90m", now, BOOT_NS, &(uint64_t){ 0 }, err);
	check(strstr(err, "type '+90m'"), "a forgotten + is named", err);
}

/* Days on which the clock changes; times in seconds, UTC. */
#define BACK_S	1792890000	/* 2026-10-25 01:00: 03:00 becomes 02:00 */
#define AHEAD_S	1806195600	/* 2027-03-28 01:00: 02:00 becomes 03:00 */

static const struct {
	time_t now_s;
	const char *day, *clock;
	time_t at_s;
} changes[] = {
	/* Both times lie ahead, then one, then none. */
	{ BACK_S - 7200, "2026-10-25", "02:30", BACK_S - 1800 },
	{ BACK_S - 1800, "2026-10-25", "02:30", BACK_S + 1800 },
	{ BACK_S - 900, "2026-10-25", "02:30", BACK_S + 1800 },
	{ BACK_S + 5400, "2026-10-26", "02:30", BACK_S + 1800 + 86400 },
	/* Once only, before and after. */
	{ BACK_S - 7200, "2026-10-25", "01:59", BACK_S - 3660 },
	{ BACK_S - 7200, "2026-10-25", "03:00", BACK_S + 3600 },
	{ BACK_S + 60, "2026-10-25", "06:00", BACK_S + 4 * 3600 },
	/* From summer to winter, a day of 25 hours. */
	{ BACK_S - 86400 + 3600, "2026-10-25", "02:30", BACK_S - 1800 },
	/* An hour that does not exist. */
	{ AHEAD_S - 3600, "2027-03-28", "02:30", AHEAD_S + 1800 },
	{ AHEAD_S - 3600, "2027-03-28", "01:59", AHEAD_S - 60 },
	{ AHEAD_S - 3600, "2027-03-28", "03:00", AHEAD_S },
};

/* With and without the day they mean the same; from the data, and from a rule. */
static void test_clock_changes(void)
{
	static const char *const zones[] = {
		"CET-1CEST,M3.5.0,M10.5.0/3", "Europe/Oslo",
	};
	bool have_oslo = !access("/usr/share/zoneinfo/Europe/Oslo", R_OK);
	char err[HUMAN_ERR_LEN] = "", name[100], dated[40];

	for (size_t i = 0; i < 2 * ARRAY_SIZE(changes); i++) {
		size_t k = i / 2;
		struct timespec now = { .tv_sec = changes[k].now_s };
		uint64_t want = BOOT_NS + NSEC_PER_SEC *
				(uint64_t)(changes[k].at_s - now.tv_sec);
		uint64_t clock = 0, calendar = 0;

		setenv("TZ", zones[i % 2], 1);
		tzset();
		snprintf(dated, sizeof(dated), "%s %s", changes[k].day,
			 changes[k].clock);
		snprintf(name, sizeof(name), "%s in %s%s", dated, zones[i % 2],
			 i % 2 && !have_oslo ? " # SKIP no tzdata" : "");
		human_parse_deadline(changes[k].clock, now, BOOT_NS, &clock, err);
		human_parse_deadline(dated, now, BOOT_NS, &calendar, err);
		check((clock == want && calendar == want) ||
		      (i % 2 && !have_oslo), name, err);
	}
}

static void test_rates(void)
{
	static const struct {
		const char *text;
		uint64_t want;	/* 0: to be refused */
	} cases[] = {
		{ "20Mbit/s", 2500000 }, { "20Mbit", 2500000 }, { "8000bit", 1000 },
		{ "8kbit", 1000 }, { "1.5Gbit/s", 187500000 }, { "1Mibit", 131072 },
		{ "2.5MB/s", 2500000 }, { "1MiB/s", 1048576 }, { "1000B/s", 1000 },
		{ "7999bit", 0 }, { "999B/s", 0 }, { "0Mbit", 0 }, { "20M", 0 }, { "20", 0 },
		{ "20M/s", 0 }, { "20MB", 0 }, { "20MBit", 0 }, { "20MBbit", 0 }, { "", 0 },
		{ "/s", 0 }, { "bit", 0 }, { "bit/s", 0 }, { "B/s", 0 }, { "-1Mbit", 0 },
		{ "20Mbps", 0 }, { "20Mbit/h", 0 }, { "20 Mbit/s", 0 }, { "1e6bit", 0 },
		{ "20Mbit/s/s", 0 }, { "99999999999999999999999999999999999999999999Mbit", 0 },
	};
	char err[HUMAN_ERR_LEN], name[100];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t out = 0;
		int ret = human_parse_rate(cases[i].text, &out, err);

		snprintf(name, sizeof(name), "rate '%s'", cases[i].text);
		if (cases[i].want)
			check(!ret && out == cases[i].want, name, err);
		else
			check(ret == -1 && !out && one_line(err), name, err);
	}
}

static void test_fixed(void)
{
	static const struct {
		const char *text;
		int64_t want;	/* -1: to be refused */
	} cases[] = {
		{ "0.001", 1000 }, { "1", 1000000 }, { "0.05", 50000 },
		{ "0.0500004", 50000 }, { "0.0500006", 50001 },
		{ "0.0009", -1 }, { "1.000001", -1 }, { "0", -1 }, { "", -1 },
		{ "-1", -1 }, { "1e-3", -1 }, { "99999999999999999999", -1 },
		{ "18446744073709", -1 },
	};
	char err[HUMAN_ERR_LEN], name[100];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t out = 0;
		int ret = human_parse_fixed(cases[i].text, 1000000, 1000,
					    1000000, &out, err);

		snprintf(name, sizeof(name), "fixed '%s'", cases[i].text);
		if (cases[i].want >= 0)
			check(!ret && out == (uint64_t)cases[i].want, name, err);
		else
			check(ret == -1 && !out && one_line(err), name,
			      "not refused");
	}
	human_parse_fixed("9", 1000000, 1000, 1000000, &(uint64_t){ 0 }, err);
	check(strstr(err, "from 0.001 to 1"), "the range is named", err);
}

static void expect(const char *got, const char *want)
{
	check(!strcmp(got, want), want, got);
}

static void test_formats(void)
{
	char buf[HUMAN_LEN];

	expect(human_size(0, buf), "0 B");
	expect(human_size(999, buf), "999 B");
	expect(human_size(1000, buf), "1.00 kB");
	expect(human_size(9994999, buf), "9.99 MB");
	expect(human_size(9999999, buf), "10.0 MB");
	expect(human_size(99999999, buf), "100 MB");
	expect(human_size(999499999, buf), "999 MB");
	expect(human_size(999999999, buf), "1.00 GB");
	expect(human_size(UINT64_MAX, buf), "18.4 EB");
	expect(human_rate(0, buf), "0 bit/s");
	expect(human_rate(1075000, buf), "8.60 Mbit/s");
	expect(human_rate(50000000000, buf), "400 Gbit/s");
	expect(human_duration(0, buf), "0ms");
	expect(human_duration(999499999, buf), "999ms");
	expect(human_duration(999500000, buf), "1.00s");
	expect(human_duration(12340000000, buf), "12.3s");
	expect(human_duration(59949999999, buf), "59.9s");
	expect(human_duration(59950000000, buf), "1m00s");
	expect(human_duration(-59950000000, buf), "-1m00s");
	expect(human_duration(3599499999999, buf), "59m59s");
	expect(human_duration(3599500000000, buf), "1h00m");
	expect(human_duration(5400000000000, buf), "1h30m");
	expect(human_duration(90000000000000, buf), "1d01h");
	expect(human_duration(INT64_MIN, buf), "-106751d23h");
}

static void test_clock(void)
{
	char buf[HUMAN_LEN];
	const int64_t hour = 3600 * (int64_t)NSEC_PER_SEC;
	const struct timespec now = { .tv_sec = NOW_S };
	struct timespec later = { .tv_sec = NOW_S, .tv_nsec = 700000000 };

	setenv("TZ", "CET-1", 1);
	tzset();
	/* It is Friday, 13:00. */
	expect(human_clock(now, 0, buf), "13:00:00");
	expect(human_clock(now, 11 * hour - NSEC_PER_SEC, buf), "23:59:59");
	expect(human_clock(now, 11 * hour, buf), "Sat 00:00");
	expect(human_clock(now, 17 * hour, buf), "Sat 06:00");
	expect(human_clock(now, -14 * hour, buf), "Thu 23:00");
	expect(human_clock(now, 143 * hour, buf), "Thu 12:00");
	expect(human_clock(now, 144 * hour, buf), "26 Nov 26");
	expect(human_clock(now, -144 * hour, buf), "14 Nov 26");
	expect(human_clock(now, 365 * 24 * hour, buf), "20 Nov 27");
	/* A deadline on the full second, looked at between two; the clocks are read one by one. */
	expect(human_clock(later, 17 * hour - 700000000, buf), "Sat 06:00");
	expect(human_clock(later, 11 * hour - 700000100, buf), "Sat 00:00");
	expect(human_clock(later, 300000000, buf), "13:00:01");
	expect(human_clock(later, -700000100, buf), "13:00:00");
	expect(human_clock(later, -14 * hour - 700000100, buf), "Thu 23:00");
}

int main(void)
{
	test_sizes();
	test_durations();
	test_deadlines();
	test_passed();
	test_clock_changes();
	test_rates();
	test_fixed();
	test_formats();
	test_clock();
	return plan();
}
