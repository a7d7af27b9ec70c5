/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The record: what the last runs of each job did, a file for each name, a line of JSON for each
 * run. All that is said of other nights comes from it: --size auto, plan and report.
 */
#ifndef DALBE_RECORD_H
#define DALBE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json.h"

#define RECORD_RUNS_MAX	64		/* of a name; older ones are forgotten */
#define RECORD_NAME_MAX	64
#define RECORD_TO_LEN	64

struct record {
	int64_t start_s, end_s;		/* CLOCK_REALTIME */
	int64_t deadline_s;		/* 0: none */
	double late_s;			/* negative: before it */
	uint64_t bytes;			/* acknowledged */
	uint64_t goal_bytes;		/* 0: none */
	uint64_t rate_Bps;		/* over the whole time */
	uint64_t most_Bps;		/* over its best ten seconds */
	int status;			/* of the program, as of a shell */
	char to[RECORD_TO_LEN];		/* the peer with the most bytes, without the port */
};

/* Oldest first. */
struct records {
	struct record each[RECORD_RUNS_MAX];
	size_t n;
};

/* Letters, digits, and . _ - but not at its beginning: it becomes a file's. */
bool record_name_valid(const char *name);

/* In time, with some bytes, and the program did not fail; where there was a deadline. */
bool record_met(const struct record *run);

/* Returns 0, also where there is none yet; -1 with errno. A line that is none is left out. */
int records_read(const char *name, struct records *runs);

/* Add a run; the file is the old or the new one at any time. Returns 0, or -1 with errno. */
int record_add(const char *name, const struct record *run);

/* Its members of the JSON object that the caller has begun. */
void record_json(struct json *js, const struct record *run);

/* All names that have a record, sorted; -1 with errno. The list and the names are to be freed. */
int record_names(char ***names);

/* Where the files are, for messages. */
const char *record_directory(void);

#endif
