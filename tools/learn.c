// SPDX-License-Identifier: GPL-2.0-only
/* The size of a job, from its earlier runs and from its own words. */
#include "learn.h"

#define RUNS	7
/*
 * The rest is late where it takes longer, at the rate that was seen, by the MARGIN-th part of what
 * is ahead over what was seen: others may go, or give way, and much that is to come is known by
 * little. So a job that needs twice what it has is told of after a third of its time, and one that
 * needs a fourth more after two thirds. An eighth it is at least. With twice MARGIN (half of it)
 * after a fifth and a half, but a job that was in time is called late: beside two CUBIC flows that
 * began with it, it had a third of its share for 25 of 150 s.
 */
#define MARGIN	2

#define TRUST	4	/* a part of so much: from then on only the program's own words count */

uint64_t learn_size(const struct records *runs)
{
	uint64_t most = 0, second = 0, last = 0, bytes;
	size_t n = 0;

	for (size_t i = runs->n; i-- > 0 && n < RUNS;) {
		bytes = runs->each[i].bytes;
		if (runs->each[i].status || !bytes)
			continue;
		if (!n++)
			last = bytes;
		if (bytes > most) {
			second = most;
			most = bytes;
		} else if (bytes > second) {
			second = bytes;
		}
	}
	bytes = n < 3 ? last : second;
	return bytes + bytes / 8;
}

uint64_t learn_estimate(uint64_t first, uint64_t done, double fraction)
{
	double left = 1 - fraction, trust = fraction * TRUST;
	double seen;	/* what is done for each part of the whole, times trust */

	if (!(fraction > 0 && fraction <= 1))
		return first > done ? first : done;
	if (trust > 1 || !first)
		trust = 1;
	seen = (double)done / fraction * trust;
	return done + (uint64_t)(left * (seen + (1 - trust) * (double)first));
}

bool learn_late(uint64_t left, uint64_t left_ns, uint64_t done, uint64_t past_ns)
{
	double time_left = (double)left_ns, past = (double)past_ns;
	double margin = time_left > past / 4 ? time_left : past / 4;

	/* left / time_left > done / past * (1 + margin / past / MARGIN), without a division */
	return (double)left * past * past >
	       time_left * (double)done * (past + margin / MARGIN);
}
