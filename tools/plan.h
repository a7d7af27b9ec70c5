/* SPDX-License-Identifier: GPL-2.0-only */
/* Does it fit? From what earlier runs have carried to the same places. */
#ifndef DALBE_PLAN_H
#define DALBE_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "record.h"

/* The rates that a line carries, as runs with a record tell. */
struct plan_line {
	uint64_t low_Bps;	/* the least that a whole run had; 0: nothing is known */
	uint64_t most_Bps;	/* the most that ten seconds of a run had */
	size_t runs;
};

#define PLAN_JOBS_MAX	64	/* one is judged by a look at all before it, the last by 64 */

struct plan_job {
	const char *name;
	uint64_t bytes;
	int64_t deadline_s;	/* from now on */
	int64_t open_s;		/* of these, within the windows */
	int64_t from_s;		/* as open_s: it begins then; 0: now */
	int64_t soonest_s, latest_s;	/* as open_s: done by then, at the most and at the least */
	enum plan_verdict { PLAN_FITS, PLAN_PERHAPS, PLAN_NOT } verdict;
};

/* Nothing is known yet. */
void plan_line_init(struct plan_line *line);

/*
 * Learn from the last runs of a name, which went to the same place. Those that have sent less than
 * a quarter of what the largest has say nothing of the line: they had nothing to send.
 */
void plan_learn(struct plan_line *line, const struct records *runs);

/*
 * Sorts the jobs by deadline, and judges them as if the line were at each time that one's of those
 * that have begun whose deadline is the next: no other order meets more of the first. One that does
 * not fit at the most takes no part in what follows. But they do run together, so that one that
 * needs more than it has for certain beside the others fits only perhaps.
 */
void plan_judge(const struct plan_line *line, struct plan_job *jobs, size_t n);

#endif
