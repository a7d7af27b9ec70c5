// SPDX-License-Identifier: GPL-2.0-only
/* dalbectl report: what became of last night's jobs, from the record and the kernel's counters. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "array.h"
#include "commands.h"
#include "human.h"
#include "json.h"
#include "record.h"

#define NIGHT_S		(24 * 3600)
#define FORGET_S	(8 * 24 * 3600)	/* a job that has not run for longer is no job any more */

/* Of this network namespace, a line each: NAME VALUE. */
#define COUNTERS	"/proc/net/dalbe"

struct counter {
	char name[32];
	uint64_t value;
};

struct counters {
	struct counter each[16];
	size_t n;
};

static void read_counters(struct counters *counters)
{
	FILE *in = fopen(COUNTERS, "re");
	struct counter *next = counters->each;

	while (in && next < counters->each + ARRAY_SIZE(counters->each) &&
	       fscanf(in, "%31s %" SCNu64, next->name, &next->value) == 2)
		next++;
	if (in)
		fclose(in);
	counters->n = (size_t)(next - counters->each);
}

static const char *result(const struct record *run, char *text, size_t len)
{
	char off[HUMAN_LEN];

	human_duration((int64_t)((run->late_s < 0 ? -run->late_s : run->late_s) * 1e9), off);
	if (run->status)
		snprintf(text, len, "failed with status %d", run->status);
	else if (!run->bytes)
		snprintf(text, len, "sent nothing");
	else if (!run->deadline_s)
		snprintf(text, len, "done");
	else if (record_met(run))
		snprintf(text, len, "met, %s before the deadline", off);
	else
		snprintf(text, len, "late by %s", off);
	return text;
}

static char *local(int64_t time_s, char *text)
{
	time_t t = (time_t)time_s;
	struct tm tm;

	strftime(text, HUMAN_LEN, "%a %H:%M", localtime_r(&t, &tm));
	return text;
}

typedef void (*run_fn)(const char *name, const struct record *run, void *arg);

/* Call fn for each run that has ended since then, or only for the last of each name. */
static bool each_run(int64_t since_s, bool last, run_fn fn, void *arg)
{
	static struct records runs;
	char **names;
	int n = record_names(&names);

	if (n < 0) {
		complain("report: cannot read %s: %s", record_directory(), strerror(errno));
		return false;
	}
	for (int i = 0; i < n; i++) {
		if (names[i] && record_name_valid(names[i]) && !records_read(names[i], &runs)) {
			for (size_t k = last && runs.n ? runs.n - 1 : 0; k < runs.n; k++) {
				if (runs.each[k].end_s >= since_s)
					fn(names[i], &runs.each[k], arg);
			}
		}
		free(names[i]);
	}
	free(names);
	return true;
}

struct table {
	int64_t since_s;
	size_t n;
};

static void print_row(const char *name, const struct record *run, void *arg)
{
	char began[HUMAN_LEN], ended[HUMAN_LEN], size[HUMAN_LEN], text[100];
	struct table *table = arg;

	if (!table->n++)
		printf("%-20s %-9s %-9s %9s  %s\n", "JOB", "BEGAN", "ENDED", "SENT", "RESULT");
	printf("%-20s %-9s %-9s %9s  %s\n", name, local(run->start_s, began),
	       local(run->end_s, ended), human_size(run->bytes, size),
	       result(run, text, sizeof(text)));
}

/* A job of which the night knows nothing is what one wants to know of. */
static void print_missing(const char *name, const struct record *run, void *arg)
{
	struct table *table = arg;
	char ended[HUMAN_LEN];

	if (run->end_s >= table->since_s)
		return;
	table->n++;
	printf("%-20s has not run since %s\n", name, local(run->end_s, ended));
}

static bool print_text(int64_t now_s)
{
	struct table table = { .since_s = now_s - NIGHT_S };
	struct counters counters;

	if (!each_run(table.since_s, false, print_row, &table) ||
	    !each_run(now_s - FORGET_S, true, print_missing, &table))
		return false;
	if (!table.n)
		puts("No job with a name has run in the last 24 hours.");
	read_counters(&counters);
	for (size_t i = 0; i < counters.n; i++)
		printf("%s%s %" PRIu64 "%s", i ? ", " : "The kernel since the module was loaded: ",
		       counters.each[i].name, counters.each[i].value,
		       i + 1 == counters.n ? "\n" : "");
	return true;
}

static void add_json(const char *name, const struct record *run, void *arg)
{
	struct json *js = arg;

	json_begin(js, NULL, '{');
	json_string(js, "name", name);
	record_json(js, run);
	json_end(js, '}');
}

static bool print_json(int64_t now_s)
{
	struct json js = { .out = stdout };
	struct counters counters;
	bool ok;

	json_begin(&js, NULL, '{');
	json_begin(&js, "runs", '[');
	ok = each_run(now_s - NIGHT_S, false, add_json, &js);
	json_end(&js, ']');
	read_counters(&counters);
	json_begin(&js, "counters", '{');
	for (size_t i = 0; i < counters.n; i++)
		json_uint(&js, counters.each[i].name, counters.each[i].value);
	json_end(&js, '}');
	json_end(&js, '}');
	putchar('\n');
	return ok;
}

struct metric {
	const char *name, *help;
	double (*value)(const struct record *run);
	bool of_goal;
};

static double get_end(const struct record *run) { return (double)run->end_s; }
static double get_took(const struct record *run) { return (double)(run->end_s - run->start_s); }
static double get_bytes(const struct record *run) { return (double)run->bytes; }
static double get_status(const struct record *run) { return run->status; }
static double get_met(const struct record *run) { return record_met(run); }
static double get_late(const struct record *run) { return run->late_s; }

static void print_metric(const char *name, const struct record *run, void *arg)
{
	const struct metric *metric = arg;

	if (run->deadline_s || !metric->of_goal)
		printf("dalbe_job_%s{job=\"%s\"} %.15g\n", metric->name, name,
		       metric->value(run));
}

/* A metric is all of its lines in a row: one walk through the records for each. */
static bool print_prometheus(void)
{
	static struct metric metrics[] = {
		{ "end_timestamp_seconds", "when the last run ended", get_end, false },
		{ "duration_seconds", "how long it took", get_took, false },
		{ "sent_bytes", "what was acknowledged", get_bytes, false },
		{ "exit_status", "of the program", get_status, false },
		{ "met", "in time, with some bytes, and not failed", get_met, true },
		{ "late_seconds", "after the deadline; before it: negative", get_late, true },
	};
	struct counters counters;

	for (size_t i = 0; i < ARRAY_SIZE(metrics); i++) {
		printf("# HELP dalbe_job_%s of the job's last run: %s\n# TYPE dalbe_job_%s gauge\n",
		       metrics[i].name, metrics[i].help, metrics[i].name);
		if (!each_run(0, true, print_metric, &metrics[i]))
			return false;
	}
	read_counters(&counters);
	for (size_t i = 0; i < counters.n; i++)
		printf("# TYPE dalbe_%s_total counter\ndalbe_%s_total %" PRIu64 "\n",
		       counters.each[i].name, counters.each[i].name, counters.each[i].value);
	return true;
}

int cmd_report(const struct options *opts, char **operands)
{
	int64_t now_s = (int64_t)time(NULL);
	bool ok;

	if (*operands)
		usage_error("report: '%.80s' is one operand too many; type dalbectl report",
			    *operands);
	ok = opts->prometheus ? print_prometheus() :
	     opts->json ? print_json(now_s) : print_text(now_s);
	return written() && ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
