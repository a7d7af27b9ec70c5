// SPDX-License-Identifier: GPL-2.0-only
/* The record of each job's last runs. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "json.h"
#include "record.h"

#define SUFFIX	".jsonl"

bool record_name_valid(const char *name)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

	return *name && !strchr(".-", *name) && strlen(name) <= RECORD_NAME_MAX &&
	       strspn(name, allowed) == strlen(name);
}

bool record_met(const struct record *run)
{
	return run->deadline_s && !run->status && run->bytes && run->late_s <= 0;
}

/* root's is one for the services of systemd, which have no HOME, and for sudo. */
const char *record_directory(void)
{
	static char path[4000];
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (state && *state == '/')
		snprintf(path, sizeof(path), "%s/dalbe", state);
	else if (geteuid() && home)
		snprintf(path, sizeof(path), "%s/.local/state/dalbe", home);
	else
		snprintf(path, sizeof(path), "/var/lib/dalbe");
	return path;
}

static void make_directories(const char *path)
{
	char part[4000];

	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		mkdir(part, 0755);
	}
	mkdir(path, 0755);
}

static int open_directory(void)
{
	return open(record_directory(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void put_time(struct json *js, const char *key, int64_t time_s)
{
	if (time_s)
		json_int(js, key, time_s);
	else
		json_null(js, key);
}

static void put_run(FILE *out, const struct record *run)
{
	struct json js = { .out = out };

	json_begin(&js, NULL, '{');
	record_json(&js, run);
	json_end(&js, '}');
	fputc('\n', out);
}

void record_json(struct json *js, const struct record *run)
{
	put_time(js, "start", run->start_s);
	put_time(js, "end", run->end_s);
	put_time(js, "deadline", run->deadline_s);
	if (run->deadline_s) {
		json_real(js, "late_s", run->late_s, 3);
		json_bool(js, "met", record_met(run));
	} else {
		json_null(js, "late_s");
		json_null(js, "met");
	}
	json_uint(js, "bytes", run->bytes);
	json_uint(js, "goal", run->goal_bytes);
	json_uint(js, "rate", run->rate_Bps);
	json_uint(js, "most", run->most_Bps);
	json_int(js, "status", run->status);
	json_string(js, "to", run->to);
}

static uint64_t get_uint(const char *line, const char *key)
{
	const char *value = json_find(line, key);

	return value ? strtoull(value, NULL, 10) : 0;
}

/* No more than this is believed of a file that somebody may have edited. */
static int64_t get_time(const char *line, const char *key)
{
	uint64_t time_s = get_uint(line, key);

	return time_s < UINT64_C(1) << 40 ? (int64_t)time_s : 0;
}

static bool get_run(const char *line, struct record *run)
{
	const char *late = json_find(line, "late_s"), *to = json_find(line, "to");
	size_t len = strlen(line);

	if (*line != '{' || len < 3 || strcmp(line + len - 2, "}\n"))
		return false;	/* a machine that crashed may have left a part of one */
	*run = (struct record){
		.start_s = get_time(line, "start"),
		.end_s = get_time(line, "end"),
		.deadline_s = get_time(line, "deadline"),
		.late_s = late ? strtod(late, NULL) : 0,
		.bytes = get_uint(line, "bytes"),
		.goal_bytes = get_uint(line, "goal"),
		.rate_Bps = get_uint(line, "rate"),
		.most_Bps = get_uint(line, "most"),
		.status = (int)get_uint(line, "status"),
	};
	if (to)
		sscanf(to, "\"%63[^\"]", run->to);
	return run->start_s && run->end_s >= run->start_s;
}

/* dir stays the caller's. */
static int read_in(int dir, const char *name, struct records *runs)
{
	char path[RECORD_NAME_MAX + sizeof(SUFFIX)], line[1024];
	struct record run;
	FILE *in;
	int fd;

	runs->n = 0;
	snprintf(path, sizeof(path), "%s" SUFFIX, name);
	fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -1;
	in = fdopen(fd, "r");
	while (in && fgets(line, sizeof(line), in)) {
		if (!get_run(line, &run))
			continue;
		if (runs->n == RECORD_RUNS_MAX)
			memmove(runs->each, runs->each + 1, --runs->n * sizeof(run));
		runs->each[runs->n++] = run;
	}
	if (in)
		fclose(in);
	return 0;
}

int records_read(const char *name, struct records *runs)
{
	int dir = open_directory(), ret;

	runs->n = 0;
	if (dir < 0)
		return errno == ENOENT ? 0 : -1;
	ret = read_in(dir, name, runs);
	close(dir);
	return ret;
}

/* A new file in the place of the old: whoever reads finds either. */
static int write_in(int dir, const char *name, const struct records *runs, size_t first,
		    const struct record *last)
{
	char path[RECORD_NAME_MAX + sizeof(SUFFIX)], new[sizeof(path) + 4];
	bool failed;
	FILE *out;
	int fd;

	snprintf(path, sizeof(path), "%s" SUFFIX, name);
	snprintf(new, sizeof(new), "%s.new", path);
	fd = openat(dir, new, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out)
		return -1;
	for (size_t i = first; i < runs->n; i++)
		put_run(out, &runs->each[i]);
	put_run(out, last);
	failed = fflush(out) || fsync(fd);
	failed |= fclose(out) != 0;
	if (failed || renameat(dir, new, dir, path)) {
		int err = errno;

		unlinkat(dir, new, 0);
		errno = err;
		return -1;
	}
	return 0;
}

int record_add(const char *name, const struct record *run)
{
	static struct records runs;
	int dir, lock, ret, err;

	make_directories(record_directory());
	dir = open_directory();
	if (dir < 0)
		return -1;
	/* Two that end at one time write one by one. The directory itself anybody may lock. */
	lock = openat(dir, ".lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	ret = lock < 0 || flock(lock, LOCK_EX) || read_in(dir, name, &runs) ? -1 :
	      write_in(dir, name, &runs, runs.n == RECORD_RUNS_MAX, run);
	err = errno;
	if (lock >= 0)
		close(lock);
	close(dir);
	errno = err;
	return ret;
}

static int is_record(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name), suffix = strlen(SUFFIX);

	return *entry->d_name != '.' && len > suffix &&
	       !strcmp(entry->d_name + len - suffix, SUFFIX) &&
	       len - suffix <= RECORD_NAME_MAX;
}

int record_names(char ***names)
{
	struct dirent **entries;
	int n = scandir(record_directory(), &entries, is_record, alphasort);

	*names = NULL;
	if (n < 0)
		return errno == ENOENT ? 0 : -1;
	*names = calloc((size_t)n + 1, sizeof(**names));
	for (int i = 0; i < n; i++) {
		if (*names)
			(*names)[i] = strndup(entries[i]->d_name,
					      strlen(entries[i]->d_name) - strlen(SUFFIX));
		free(entries[i]);
	}
	free(entries);
	return *names ? n : -1;
}
