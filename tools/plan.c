// SPDX-License-Identifier: GPL-2.0-only
/* dalbectl plan: does it fit? */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "commands.h"
#include "human.h"
#include "json.h"
#include "learn.h"
#include "plan.h"

#define RUNS		16	/* of a name: a fortnight */
#define LEAST_PART	4

void plan_line_init(struct plan_line *line)
{
	*line = (struct plan_line){ 0 };
}

void plan_learn(struct plan_line *line, const struct records *runs)
{
	size_t first = runs->n > RUNS ? runs->n - RUNS : 0;
	uint64_t largest = 0;

	for (size_t i = first; i < runs->n; i++) {
		if (runs->each[i].bytes > largest)
			largest = runs->each[i].bytes;
	}
	for (size_t i = first; i < runs->n; i++) {
		const struct record *run = &runs->each[i];

		if (run->most_Bps > line->most_Bps)
			line->most_Bps = run->most_Bps;
		if (!run->rate_Bps || run->bytes < largest / LEAST_PART)
			continue;
		line->runs++;
		if (!line->low_Bps || run->rate_Bps < line->low_Bps)
			line->low_Bps = run->rate_Bps;
	}
}

static int by_deadline(const void *a, const void *b)
{
	const struct plan_job *one = a, *other = b;

	return (one->deadline_s > other->deadline_s) - (one->deadline_s < other->deadline_s);
}

static int64_t seconds_for(uint64_t bytes, uint64_t rate_Bps)
{
	double s = (double)bytes / (double)rate_Bps;

	return s < 1e12 ? (int64_t)s + 1 : (int64_t)1e12;
}

/*
 * When is the last of the jobs done, if each time the first of them that has begun has the line,
 * but for those that do not fit? Sent since the line was last idle are whole bytes, so that nothing
 * is lost by rounding.
 */
static int64_t last_done_s(const struct plan_job *jobs, size_t n, uint64_t rate_Bps)
{
	uint64_t left[PLAN_JOBS_MAX], sent = 0;
	int64_t idle_s = 0;

	for (size_t i = 0; i < n; i++)
		left[i] = jobs[i].verdict == PLAN_NOT ? 0 : jobs[i].bytes;
	while (left[n - 1]) {
		double now_s = (double)idle_s + (double)sent / (double)rate_Bps;
		int64_t next_s = INT64_MAX;
		size_t i;

		for (i = 0; i < n; i++) {
			if (left[i] && (double)jobs[i].from_s <= now_s)
				break;
			if (left[i] && jobs[i].from_s < next_s)
				next_s = jobs[i].from_s;
		}
		if (i == n) {
			idle_s = next_s;
			sent = 0;
			continue;
		}
		double until = ((double)next_s - (double)idle_s) * (double)rate_Bps - (double)sent;
		uint64_t part = until < (double)left[i] ? (uint64_t)until + 1 : left[i];

		if (sent + part < sent)
			return (int64_t)1e12;
		sent += part;
		left[i] -= part;
	}
	return idle_s + seconds_for(sent, rate_Bps);
}

static double needs_Bps(const struct plan_job *job)
{
	return (double)job->bytes / (double)(job->open_s - job->from_s);
}

/*
 * Is the line certain to carry what this job needs, beside those that run at some time of its own?
 * One that needs less leaves the rest to the others, and those that need more have equal parts.
 * Judged one after the other, as if each had the line to itself, a job fits on paper and is late.
 */
static bool certain(const struct plan_line *line, const struct plan_job *jobs, size_t n,
		    const struct plan_job *job)
{
	double part = needs_Bps(job), sum = 0;

	for (size_t i = 0; i < n; i++) {
		double need = needs_Bps(&jobs[i]);

		if (jobs[i].verdict != PLAN_NOT && jobs[i].from_s < job->open_s &&
		    job->from_s < jobs[i].open_s)
			sum += need < part ? need : part;
	}
	return sum <= (double)line->low_Bps;
}

void plan_judge(const struct plan_line *line, struct plan_job *jobs, size_t n)
{
	qsort(jobs, n, sizeof(*jobs), by_deadline);
	for (size_t i = 0; i < n; i++) {
		struct plan_job *job = &jobs[i];

		job->verdict = PLAN_FITS;
		job->soonest_s = last_done_s(jobs, i + 1, line->most_Bps);
		job->latest_s = last_done_s(jobs, i + 1, line->low_Bps);
		job->verdict = job->latest_s <= job->open_s ? PLAN_FITS :
			       job->soonest_s <= job->open_s ? PLAN_PERHAPS : PLAN_NOT;
	}
	for (size_t i = 0; i < n; i++) {
		if (jobs[i].verdict == PLAN_FITS && !certain(line, jobs, n, &jobs[i]))
			jobs[i].verdict = PLAN_PERHAPS;
	}
}

/*
 * [FROM-]TIME, each as that of --deadline, which may have a '-' of its own. Returns 0, or -1 with a
 * phrase in err.
 */
static int parse_times(char *text, struct timespec now, uint64_t now_ns, uint64_t *from_ns,
		       uint64_t *deadline_ns, char *err)
{
	char ignored[HUMAN_ERR_LEN];
	int ret;

	*from_ns = now_ns;
	if (!human_parse_deadline(text, now, now_ns, deadline_ns, err))
		return 0;
	for (char *dash = strchr(text, '-'); dash; dash = strchr(dash + 1, '-')) {
		ret = human_parse_deadline(dash + 1, now, now_ns, deadline_ns, ignored);
		if (ret == HUMAN_PASSED)
			strcpy(err, ignored);
		if (ret)
			continue;
		*dash = '\0';
		ret = human_parse_begin(text, now, now_ns, *deadline_ns, from_ns, ignored);
		*dash = '-';
		if (ret)
			continue;
		if (*from_ns < *deadline_ns)
			return 0;
		strcpy(err, "it begins after its time; type FROM-TIME, such as 01:00-06:00");
		return -1;
	}
	return -1;
}

/* NAME[=SIZE]@[FROM-]TIME. The text is taken apart. */
static void parse_job(char *text, const struct windows *windows, struct plan_job *job)
{
	static struct records runs;
	char *at = strrchr(text, '@'), *equals, err[HUMAN_ERR_LEN], whole[100];
	struct timespec now;
	uint64_t from_ns, deadline_ns, now_ns = boottime_ns();

	snprintf(whole, sizeof(whole), "%.80s", text);
	if (at)
		*at++ = '\0';
	equals = strchr(text, '=');
	if (equals)
		*equals++ = '\0';
	if (!at || !record_name_valid(text))
		usage_error("'%s' is no job; type NAME=SIZE@[FROM-]TIME, such as nightly=40G@06:00, or NAME@TIME for one with a record",
			    whole);
	clock_gettime(CLOCK_REALTIME, &now);
	if (parse_times(at, now, now_ns, &from_ns, &deadline_ns, err))
		usage_error("'%s': %s", whole, err);
	*job = (struct plan_job){
		.name = text, .deadline_s = (int64_t)((deadline_ns - now_ns) / NSEC_PER_SEC),
	};
	job->open_s = windows_open_s(windows, now.tv_sec, now.tv_sec + job->deadline_s);
	job->from_s = windows_open_s(windows, now.tv_sec,
				     now.tv_sec + (time_t)((from_ns - now_ns) / NSEC_PER_SEC));
	if (equals && strcmp(equals, "auto")) {
		if (human_parse_size(equals, &job->bytes, err))
			usage_error("'%s': %s", whole, err);
		return;
	}
	if (!records_read(text, &runs))
		job->bytes = learn_size(&runs);
	if (!job->bytes)
		usage_error("'%s': no earlier run tells its size; type NAME=SIZE@TIME", whole);
}

/* Does a name's last run go where one of the jobs' does? */
static bool same_place(const struct records *runs, const struct plan_job *jobs, size_t n)
{
	static struct records theirs;
	bool known = false;

	for (size_t i = 0; i < n; i++) {
		if (records_read(jobs[i].name, &theirs) || !theirs.n)
			continue;
		known = true;
		if (!strcmp(theirs.each[theirs.n - 1].to, runs->each[runs->n - 1].to))
			return true;
	}
	return !known;	/* the line is one that all jobs share, for all we know */
}

static void learn_line(struct plan_line *line, const struct plan_job *jobs, size_t n)
{
	static struct records runs;
	char **names;
	int n_names = record_names(&names);

	plan_line_init(line);
	for (int i = 0; i < n_names; i++) {
		if (names[i] && !records_read(names[i], &runs) && runs.n &&
		    same_place(&runs, jobs, n))
			plan_learn(line, &runs);
		free(names[i]);
	}
	free(names);
}

static char *clock_text(int64_t ahead_s, char *text)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (ahead_s > (int64_t)(UINT32_MAX))
		return strcpy(text, "never");
	return human_clock(now, ahead_s * (int64_t)NSEC_PER_SEC, text);
}

/* So long within the windows is so long by the clock. */
static int64_t by_clock(const struct windows *windows, int64_t open_s)
{
	time_t now = time(NULL);

	return open_s > (int64_t)UINT32_MAX ? open_s : windows_after(windows, now, open_s) - now;
}

static void print_job(const struct plan_job *job, const struct windows *windows)
{
	static const char *const verdicts[] = { "fits", "perhaps", "does not fit" };
	char size[HUMAN_LEN], from[HUMAN_LEN], by[HUMAN_LEN], soonest[HUMAN_LEN];
	char latest[HUMAN_LEN];

	printf("%s: %s%s%s by %s: %s, done between %s and %s\n", job->name,
	       human_size(job->bytes, size), job->from_s ? " from " : "",
	       job->from_s ? clock_text(by_clock(windows, job->from_s), from) : "",
	       clock_text(job->deadline_s, by), verdicts[job->verdict],
	       clock_text(by_clock(windows, job->soonest_s), soonest),
	       clock_text(by_clock(windows, job->latest_s), latest));
}

static void print_json(const struct plan_job *jobs, size_t n, const struct plan_line *line,
		       const struct windows *windows)
{
	static const char *const verdicts[] = { "fits", "perhaps", "not" };
	struct json js = { .out = stdout };

	json_begin(&js, NULL, '{');
	json_uint(&js, "low", line->low_Bps);
	json_uint(&js, "most", line->most_Bps);
	json_uint(&js, "runs", line->runs);
	json_begin(&js, "jobs", '[');
	for (size_t i = 0; i < n; i++) {
		json_begin(&js, NULL, '{');
		json_string(&js, "name", jobs[i].name);
		json_uint(&js, "bytes", jobs[i].bytes);
		json_int(&js, "deadline_s", jobs[i].deadline_s);
		json_int(&js, "open_s", jobs[i].open_s);
		json_int(&js, "from_s", by_clock(windows, jobs[i].from_s));
		json_int(&js, "soonest_s", by_clock(windows, jobs[i].soonest_s));
		json_int(&js, "latest_s", by_clock(windows, jobs[i].latest_s));
		json_string(&js, "verdict", verdicts[jobs[i].verdict]);
		json_end(&js, '}');
	}
	json_end(&js, ']');
	json_end(&js, '}');
	putchar('\n');
}

int cmd_plan(const struct options *opts, char **operands)
{
	struct plan_job jobs[PLAN_JOBS_MAX];
	char low[HUMAN_LEN], most[HUMAN_LEN];
	struct plan_line line;
	bool all = true;
	size_t n = 0;

	for (; *operands; operands++) {
		if (n == PLAN_JOBS_MAX)
			usage_error("plan: there are too many jobs; type %d at most",
				    PLAN_JOBS_MAX);
		parse_job(*operands, &opts->windows, &jobs[n++]);
	}
	if (!n)
		usage_error("plan: the jobs are missing; type NAME=SIZE@TIME, such as nightly=40G@06:00");
	learn_line(&line, jobs, n);
	if (!line.low_Bps || !line.most_Bps) {
		complain("plan: nothing is known of what the line carries: dalbectl run --name keeps it, in %s",
			 record_directory());
		return EXIT_FAILURE;
	}
	plan_judge(&line, jobs, n);
	for (size_t i = 0; i < n; i++)
		all &= jobs[i].verdict != PLAN_NOT;
	if (opts->json) {
		print_json(jobs, n, &line, &opts->windows);
	} else {
		printf("The line has carried from %s over a whole run to %s at most (%zu run%s).\n",
		       human_rate(line.low_Bps, low), human_rate(line.most_Bps, most), line.runs,
		       line.runs == 1 ? "" : "s");
		for (size_t i = 0; i < n; i++)
			print_job(&jobs[i], &opts->windows);
	}
	return written() && all ? EXIT_SUCCESS : EXIT_FAILURE;
}

void plan_warn(const struct options *opts)
{
	struct plan_job job = {
		.name = opts->name, .bytes = opts->size_bytes,
		.deadline_s = (int64_t)(opts->deadline_ns - boottime_ns()) / (int64_t)NSEC_PER_SEC,
	};
	char size[HUMAN_LEN], most[HUMAN_LEN];
	struct plan_line line;
	time_t now = time(NULL);

	if (!opts->size_bytes || job.deadline_s <= 0)
		return;
	job.open_s = windows_open_s(&opts->windows, now, now + job.deadline_s);
	learn_line(&line, &job, 1);
	if (!line.low_Bps || !line.most_Bps)
		return;
	plan_judge(&line, &job, 1);
	if (job.verdict == PLAN_NOT)
		complain("warning: %s: %s do not fit: the line has carried %s at most", opts->name,
			 human_size(job.bytes, size), human_rate(line.most_Bps, most));
}
