// SPDX-License-Identifier: GPL-2.0-only
/* The record, and all that is learned from it; TAP on stdout. */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array.h"
#include "learn.h"
#include "plan.h"
#include "progress.h"
#include "record.h"
#include "tap.h"

static char directory[32];

static void test_names(void)
{
	static const char *const good[] = { "n", "nightly-2.full_x", "0" };
	static const char *const bad[] = { "", ".", "..", ".x", "-x", "a/b", "a b", "\xc3\xa4" };
	char longest[RECORD_NAME_MAX + 2];

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		check(record_name_valid(good[i]), good[i], NULL);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		check(!record_name_valid(bad[i]), "no name", bad[i]);
	memset(longest, 'a', sizeof(longest));
	longest[RECORD_NAME_MAX + 1] = '\0';
	check(!record_name_valid(longest), "a name that is too long", NULL);
	check(record_name_valid(longest + 1), "the longest name", NULL);
}

/* All members come back, and of many runs the last. */
static void test_file(void)
{
	struct record run = {
		.start_s = 1795860545, .end_s = 1795860546, .deadline_s = 1795860564,
		.late_s = -18.969, .bytes = UINT64_C(1) << 60, .goal_bytes = 1, .rate_Bps = 2,
		.most_Bps = 3, .status = 130, .to = "[2001:db8::1]",
	};
	static struct records runs;
	char path[64], detail[64];
	struct plan_line line;
	FILE *out;

	check(!records_read("n", &runs) && !runs.n, "no directory is no run", NULL);
	check(!record_add("n", &run) && !records_read("n", &runs) && runs.n == 1,
	      "the first run", NULL);
	check(!memcmp(&runs.each[0], &run, offsetof(struct record, to) + RECORD_TO_LEN),
	      "all members are kept", runs.each[0].to);
	run.deadline_s = 0;
	run.late_s = 0;
	for (uint64_t i = 0; i < 2 * RECORD_RUNS_MAX; i++) {
		run.bytes = i;
		record_add("n", &run);
	}
	records_read("n", &runs);
	check(runs.n == RECORD_RUNS_MAX && runs.each[0].bytes == RECORD_RUNS_MAX &&
	      runs.each[runs.n - 1].bytes + 1 == 2ull * RECORD_RUNS_MAX, "the last are kept", NULL);

	/* A machine that crashed has left half a line, somebody has edited another. */
	snprintf(path, sizeof(path), "%s/dalbe/odd.jsonl", directory);
	out = fopen(path, "w");
	fputs("{\"start\": 1, \"end\": 2, \"bytes\": 7}\nnonsense\n{}\n{\"start\": -5, \"end\": 1}\n"
	      "{\"start\": 9, \"end\": 8}\n{\"start\": 3, \"end\": 4, \"byt", out);
	fclose(out);
	records_read("odd", &runs);
	snprintf(detail, sizeof(detail), "%zu runs", runs.n);
	check(runs.n == 1 && runs.each[0].bytes == 7, "what is no run is left out", detail);
	check(!record_add("odd", &run) && !records_read("odd", &runs) && runs.n == 2,
	      "and the next is added", NULL);
	snprintf(path, sizeof(path), "%s/dalbe/bad.jsonl", directory);
	mkdir(path, 0755);
	check(record_add("bad", &run) == -1, "a file that cannot be written is told", NULL);
	rmdir(path);
	check(!symlink("bad.jsonl", path) && records_read("bad", &runs) == -1,
	      "a file that cannot be read is told", NULL);
	unlink(path);
	setenv("XDG_STATE_HOME", "relative", 1);
	check(*record_directory() == '/', "a directory has a whole path", record_directory());
	setenv("XDG_STATE_HOME", directory, 1);
	run = (struct record){ .deadline_s = 1, .bytes = 1 };
	check(record_met(&run), "a job that ends at its deadline is in time", NULL);
	runs.n = 1;
	runs.each[0] = (struct record){ .bytes = 10, .rate_Bps = 3, .most_Bps = 3 };
	runs.each[1] = (struct record){ .bytes = 1000 };
	plan_line_init(&line);
	plan_learn(&line, &runs);
	check(line.low_Bps == 3 && line.runs == 1, "what an array held before is no run", NULL);
}

static void test_learn(void)
{
	static const struct {
		const char *what;
		int64_t bytes[10];	/* oldest first; negative: failed; 0 ends them */
		uint64_t want;
	} cases[] = {
		{ "nothing", { 0 }, 0 },
		{ "one", { 800 }, 900 },
		{ "two: the last", { 8000, 800 }, 900 },
		{ "three: the most but one", { 800, 80, 1600 }, 900 },
		{ "a full backup among increments", { 80, 80, 80, 80000, 80, 80, 80 }, 90 },
		{ "a full backup a week ago", { 80000, 80, 80, 80, 80, 80, 80, 80 }, 90 },
		{ "all grow", { 8, 16, 24, 32, 40, 48, 56, 64 }, 63 },
		{ "one that failed does not count", { 800, -80000, 880, -99999, 80 }, 900 },
		{ "only such", { -1, -2 }, 0 },
	};
	char detail[64];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		static struct records runs;
		uint64_t got;

		for (runs.n = 0; cases[i].bytes[runs.n]; runs.n++) {
			int64_t bytes = cases[i].bytes[runs.n];

			runs.each[runs.n] = (struct record){
				.bytes = (uint64_t)llabs(bytes), .status = bytes < 0,
			};
		}
		got = learn_size(&runs);
		snprintf(detail, sizeof(detail), "%" PRIu64, got);
		check(got == cases[i].want, cases[i].what, detail);
	}
}

/* Wrong by 20 in either direction: from a quarter on it is right; and never less than is done. */
static void test_estimate(void)
{
	const uint64_t whole = 1000000;

	for (uint64_t first = whole / 20; first <= whole * 20; first *= 400) {
		for (double part = 0; part <= 1; part += 1 / 64.) {
			uint64_t done = (uint64_t)((double)whole * part);
			uint64_t got = learn_estimate(first, done, part);
			char detail[64];

			snprintf(detail, sizeof(detail), "%g: %" PRIu64, part, got);
			if (part >= 0.25)
				check(got >= whole - 2 && got <= whole + 2, "right from a quarter on",
				      detail);
			else
				check(got >= done && (first < whole ? got <= whole :
						      got >= whole && got <= first),
				      "between what was learned and what is seen", detail);
		}
	}
	check(learn_estimate(0, 7, 0.01) == 700, "nothing but its words", NULL);
	check(learn_estimate(5, 7, -1) == 7 && learn_estimate(5, 0, 2) == 5, "no fraction", NULL);
}

/* A thousand seconds, of which some are past, at one byte a second. */
static void test_late(void)
{
	static const struct {
		const char *what;
		uint64_t past, left;
		bool want;
	} cases[] = {
		{ "twice the rate, early", 300, 1400, false },
		{ "twice the rate, after a third", 340, 1330, true },
		{ "five times, after an eighth", 125, 4375, true },
		{ "a third of the share at first, and in time", 130, 2350, false },
		{ "a fourth more, after half", 500, 625, false },
		{ "a fourth more, after two thirds", 670, 415, true },
		{ "a tenth more, near the end", 900, 110, false },
		{ "a seventh more, near the end", 900, 115, true },
		{ "less than that", 500, 490, false },
		{ "past the deadline", 1000, 1, true },
		{ "nothing moves", 0, 1, true },
	};
	const uint64_t s = 1000000000;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t past = cases[i].past;

		check(learn_late(cases[i].left, (1000 - past) * s, past, past * s + 1) ==
		      cases[i].want, cases[i].what, NULL);
	}
}

/* The message for people has the same words in it: they are text, not members. */
#define RCLONE \
	"{\"msg\":\"\\\"stats\\\":{\\\"bytes\\\":9\",\"stats\":{\"bytes\":25,\"checks\":0,\"totalBytes\":100,\"transferring\":[{\"bytes\":7}]}}"

static void test_progress(void)
{
	static const struct {
		const char *line;
		double want;	/* negative: none */
	} cases[] = {
		{ "         32,768   0%    0.00kB/s    0:00:00  ", 0 },
		{ "      6,557,056  54%    2.94MB/s    0:00:01  ", 0.54 },
		{ "      3,000,000   2%    2.96MB/s    0:00:00 (xfr#1, to-chk=3/5)", 0.4 },
		{ "      9,000,000  75%    2.98MB/s    0:00:02 (xfr#3, to-chk=4/5)", 0.75 },
		{ "      9,000,000  75%    2.98MB/s    0:00:02 (xfr#3, ir-chk=4/5)", 0.75 },
		{ "     12,000,000 100%    2.98MB/s    0:00:03 (xfr#4, to-chk=0/5)", 1 },
		{ "      9,000,000  75%    2.98MB/s    0:00:02 (xfr#3, to-chk=9/0)", 0.75 },
		{ "a file of 100% wool", -1 },
		{ "%  kB/s ", -1 },
		{ "sent 3,003,294 bytes  received 35 bytes  858,094.00 bytes/sec", -1 },
		{ "", -1 },
		{ "{\"message_type\":\"status\",\"percent_done\":0.16,\"total_files\":4}", 0.16 },
		{ "{\"message_type\":\"summary\",\"percent_done\":0.16}", -1 },
		{ "{\"message_type\":\"status\",\"percent_done\":1.5}", -1 },
		{ "{\"message_type\":\"status\",\"percent_done\":nan}", -1 },
		{ RCLONE, 0.25 },
		{ "{\"stats\":{\"bytes\":0,\"totalBytes\":0}}", -1 },
		{ "{", -1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		double got = -1;
		bool said = progress_of_line(cases[i].line, &got);

		check(said == (cases[i].want >= 0) && fabs(got - cases[i].want) < 0.001,
		      cases[i].line, NULL);
	}
}

static void test_plan(void)
{
	/* 10 s at the most, 40 at the least. */
	static const struct record each[] = {
		{ .end_s = 1, .bytes = 1000, .rate_Bps = 25, .most_Bps = 80 },
		{ .end_s = 1, .bytes = 4000, .rate_Bps = 50, .most_Bps = 100 },
		{ .end_s = 1, .bytes = 900, .rate_Bps = 1, .most_Bps = 2 },	/* had little */
	};
	struct plan_job jobs[] = {
		{ .name = "late", .bytes = 1000, .deadline_s = 50, .open_s = 50 },
		{ .name = "fits", .bytes = 999, .deadline_s = 40, .open_s = 40 },
		{ .name = "not", .bytes = 10000, .deadline_s = 45, .open_s = 45 },
		{ .name = "last", .bytes = 1000, .deadline_s = 1000, .open_s = 1000 },
		{ .name = "huge", .bytes = UINT64_MAX, .deadline_s = 900, .open_s = 900 },
	};
	static const char *const order[] = { "fits", "not", "late", "huge", "last" };
	static const enum plan_verdict want[] = {
		PLAN_PERHAPS, PLAN_NOT, PLAN_PERHAPS, PLAN_NOT, PLAN_FITS
	};
	struct plan_job three[] = {
		{ .name = "soon", .bytes = 500, .deadline_s = 25, .open_s = 25 },
		{ .name = "little", .bytes = 50, .deadline_s = 50, .open_s = 50 },
		{ .name = "much", .bytes = 600, .deadline_s = 60, .open_s = 60 },
	};
	/* the second gives way to the first, and the last to both; two never meet */
	struct plan_job begun[] = {
		{ .name = "then", .bytes = 350, .deadline_s = 35, .open_s = 35, .from_s = 10 },
		{ .name = "now", .bytes = 1000, .deadline_s = 100, .open_s = 100 },
		{ .name = "alone", .bytes = 1000, .deadline_s = 241, .open_s = 241, .from_s = 200 },
		{ .name = "rest", .bytes = 5000, .deadline_s = 300, .open_s = 300 },
		{ .name = "no", .bytes = 101, .deadline_s = 400, .open_s = 400, .from_s = 399 },
	};
	static const int64_t soonest[] = { 14, 11, 211, 64, 401 };
	static const int64_t latest[] = { 25, 55, 241, 295, 404 };
	static struct records runs;
	struct plan_line line;
	char detail[64];

	memcpy(runs.each, each, sizeof(each));
	runs.n = ARRAY_SIZE(each);
	plan_line_init(&line);
	plan_learn(&line, &runs);
	snprintf(detail, sizeof(detail), "%" PRIu64 " to %" PRIu64, line.low_Bps, line.most_Bps);
	check(line.low_Bps == 25 && line.most_Bps == 100 && line.runs == 2, "the line", detail);
	plan_judge(&line, jobs, ARRAY_SIZE(jobs));
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++) {
		snprintf(detail, sizeof(detail), "%s, %d, %" PRId64 " to %" PRId64, jobs[i].name,
			 (int)jobs[i].verdict, jobs[i].soonest_s, jobs[i].latest_s);
		check(!strcmp(jobs[i].name, order[i]) && jobs[i].verdict == want[i], order[i],
		      detail);
	}
	jobs[0].open_s = 39;	/* its deadline is a second after the window's end */
	plan_judge(&line, jobs, 1);
	check(jobs[0].verdict == PLAN_PERHAPS, "the hours of a window", NULL);
	/* each alone after the other is in time, but 20, 1 and 10 B/s are more than 25 */
	plan_judge(&line, three, ARRAY_SIZE(three));
	check(three[0].verdict == PLAN_PERHAPS && three[1].verdict == PLAN_FITS &&
	      three[2].verdict == PLAN_FITS, "jobs that begin together", NULL);
	three[0].bytes = 250;
	plan_judge(&line, three, ARRAY_SIZE(three));
	check(three[0].verdict == PLAN_FITS, "and need what there is", NULL);
	plan_judge(&line, begun, 3);
	for (size_t i = 0; i < 3; i++)
		check(begun[i].verdict == PLAN_FITS, begun[i].name, "each begins at its time");
	plan_judge(&line, begun, ARRAY_SIZE(begun));
	for (size_t i = 0; i < ARRAY_SIZE(begun); i++) {
		snprintf(detail, sizeof(detail), "%" PRId64 " to %" PRId64, begun[i].soonest_s,
			 begun[i].latest_s);
		check(begun[i].soonest_s == soonest[i] && begun[i].latest_s == latest[i],
		      begun[i].name, detail);
	}
	check(begun[3].verdict == PLAN_PERHAPS &&
	      begun[4].verdict == PLAN_NOT, "beside those that run at its time", NULL);
	check(jobs[4].soonest_s == 30 && jobs[4].latest_s == 120, "after those that fit", NULL);
}

int main(void)
{
	char command[64];

	strcpy(directory, "/tmp/test_record.XXXXXX");
	if (!mkdtemp(directory))
		return 1;
	setenv("XDG_STATE_HOME", directory, 1);
	test_names();
	test_file();
	test_learn();
	test_estimate();
	test_late();
	test_progress();
	test_plan();
	snprintf(command, sizeof(command), "rm -r %s", directory);
	return system(command) || plan();
}
