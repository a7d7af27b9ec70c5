/* SPDX-License-Identifier: GPL-2.0-only */
/* How much a job will send, of which nobody knows the size: from earlier runs, and as it goes. */
#ifndef DALBE_LEARN_H
#define DALBE_LEARN_H

#include "record.h"

/*
 * From earlier runs: the most but one that the last seven have sent, and an eighth; of the last one
 * alone where there are fewer than three. 0: there is none. Runs that failed, or sent nothing, do
 * not count.
 *
 * Seven: nightly increments and a full backup each week: there is one full among them, which does
 * not count. The most but one, not the mean: a size that is too small makes the job late by as much
 * as it is; one that is too large makes it early, and costs others that. An eighth is what
 * a run goes on by when it exceeds its size.
 * Of drawn sizes, log-normal with sigma 0.5 and a full backup of 20 times as much each week, it is
 * too small for 7 nights of 100, and twice what is needed in the middle. The most is too large by
 * 20; the third is too small for 16.
 */
uint64_t learn_size(const struct records *runs);

/*
 * While it runs: first is what was learned, or stated, done what is acknowledged, and fraction,
 * 0 to 1, what the program says is done of the whole. In its first quarter what is still to come is
 * taken from both, weighed by how far it is; then, or where first is 0, from what it says alone.
 */
uint64_t learn_estimate(uint64_t first, uint64_t done, double fraction);

/*
 * Will what is left be late, as it looks now? Of a job that competes in full, and has carried so
 * much in the time past; left_ns is until its deadline.
 */
bool learn_late(uint64_t left, uint64_t left_ns, uint64_t done, uint64_t past_ns);

#endif
