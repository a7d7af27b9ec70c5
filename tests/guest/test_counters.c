// SPDX-License-Identifier: GPL-2.0-only
/* /proc/net/dalbe counts how goals ended. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"
#include "net.h"
#include "tests.h"

#define KB		1000ull
#define IDLE_S		600	/* a job is kept for so long after its last connection */
#define LATER_S		100	/* a timer of so long may be as late */
#define PATHS_MAX	4096	/* kernel/paths.c */
#define MORE		100
#define THE_END_MS	2000	/* of a connection that was closed */

struct counters {
	unsigned long long met, late, unfinished, infeasible, bytes, late_ms;
};

/* The file's lines, in their order. */
static const char *const names[] = {
	"goals_met", "goals_late", "goals_unfinished", "goals_infeasible", "goals_bytes",
	"goals_late_ms",
};

static struct counters counters_read(const char *ns)
{
	unsigned long long values[ARRAY_SIZE(names)];
	char name[32];
	FILE *in;

	ns_enter(ns);
	in = fopen("/proc/thread-self/net/dalbe", "re");
	CHECK(in);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		CHECK_EQ(fscanf(in, "%31s %llu", name, &values[i]), 2);
		CHECK(!strcmp(name, names[i]));
	}
	CHECK_EQ(fscanf(in, "%31s", name), EOF);
	fclose(in);
	return (struct counters){
		values[0], values[1], values[2], values[3], values[4], values[5],
	};
}

static struct counters since(struct counters before)
{
	struct counters c = counters_read(NS_TX);

	return (struct counters){
		c.met - before.met, c.late - before.late, c.unfinished - before.unfinished,
		c.infeasible - before.infeasible, c.bytes - before.bytes,
		c.late_ms - before.late_ms,
	};
}

static void check_one(struct counters before, struct counters want)
{
	struct counters got = since(before);

	CHECK_EQ(got.met, want.met);
	CHECK_EQ(got.late, want.late);
	CHECK_EQ(got.unfinished, want.unfinished);
	CHECK_EQ(got.infeasible, want.infeasible);
	CHECK_EQ(got.bytes, want.bytes);
}

/* Close, and wait until the kernel has done so, too. */
static void end(struct pair *pair)
{
	pair_close(pair);
	sleep_ms(THE_END_MS);
}

static struct pair pair_with_goal(uint64_t bytes, uint64_t in_ms)
{
	struct pair pair = pair_open(DALBE_CC_CDG);

	goal_set(pair.tx, bytes, in_ms);
	return pair;
}

static void ends_are_counted(void)
{
	const struct counters nothing = { 0 };
	struct counters before, got, theirs;
	struct pair pair;

	/* jobs of the tests before are counted only then */
	sleep_ms((IDLE_S + LATER_S) * MS_PER_S);
	before = counters_read(NS_TX);
	theirs = counters_read(NS_RX);
	harness_turn("without a goal");
	pair = pair_open(DALBE_CC_CDG);
	transfer(&pair, 100 * KB);
	end(&pair);
	check_one(before, nothing);

	harness_turn("met");
	pair = pair_with_goal(100 * KB, 20000);
	transfer(&pair, 110 * KB);
	check_one(before, nothing);	/* not ended yet */
	end(&pair);
	check_one(before, (struct counters){ .met = 1, .bytes = 110 * KB });
	CHECK_EQ(since(before).late_ms, 0);

	harness_turn("done, but late");
	before = counters_read(NS_TX);
	pair = pair_with_goal(100 * KB, 1000);
	sleep_ms(3000);
	transfer(&pair, 100 * KB);
	sleep_ms(30000);		/* in which it is not late any more */
	end(&pair);
	got = since(before);
	check_one(before, (struct counters){ .late = 1, .bytes = 100 * KB });
	CHECK_OP(got.late_ms, >=, 2000);
	CHECK_OP(got.late_ms, <, 4000);

	harness_turn("late, and not done");
	before = counters_read(NS_TX);
	pair = pair_with_goal(500 * KB, 1000);
	transfer(&pair, 100 * KB);
	sleep_ms(11000);
	end(&pair);
	got = since(before);
	check_one(before, (struct counters){ .late = 1, .bytes = 100 * KB });
	CHECK_OP(got.late_ms, >=, 10000);
	CHECK_OP(got.late_ms, <, 14000);

	harness_turn("less than its size, before the deadline");
	before = counters_read(NS_TX);
	pair = pair_with_goal(500 * KB, 60000);
	transfer(&pair, 100 * KB);
	end(&pair);
	check_one(before, (struct counters){ .unfinished = 1, .bytes = 100 * KB });

	harness_turn("infeasible");
	before = counters_read(NS_TX);
	pair = pair_with_goal(100000 * KB, 20000);
	flow_for(&pair, 25000);
	end(&pair);
	CHECK_EQ(since(before).late, 1);
	CHECK_EQ(since(before).infeasible, 1);
	got = counters_read(NS_RX);	/* another namespace's are its own */
	CHECK(!memcmp(&got, &theirs, sizeof(got)));
}

/* An update is the same goal. */
static void once_per_goal(void)
{
	struct counters before = counters_read(NS_TX);
	struct pair pair = pair_with_goal(100 * KB, 20000);

	transfer(&pair, 100 * KB);
	TRY(goal_set_raw(pair.tx, 200 * KB, 20000 * NS_PER_MS,
			 DALBE_GOAL_RELATIVE | DALBE_GOAL_UPDATE));
	transfer(&pair, 100 * KB);
	CHECK_EQ(since(before).met, 0);

	harness_turn("another goal");
	goal_set(pair.tx, 50 * KB, 20000);
	check_one(before, (struct counters){ .met = 1, .bytes = 200 * KB });
	transfer(&pair, 20 * KB);
	harness_turn("cleared");
	goal_clear(pair.tx);
	check_one(before, (struct counters){ .met = 1, .unfinished = 1, .bytes = 220 * KB });
	transfer(&pair, 20 * KB);
	end(&pair);
	check_one(before, (struct counters){ .met = 1, .unfinished = 1, .bytes = 220 * KB });

	harness_turn("another congestion control");
	pair = pair_with_goal(100 * KB, 20000);
	transfer(&pair, 100 * KB);
	cc_set(pair.tx, "cubic");
	check_one(before, (struct counters){ .met = 2, .unfinished = 1, .bytes = 320 * KB });
	end(&pair);
}

/* Several connections, some after the others: counted when no more is to come. */
static void a_job_counts_once(void)
{
	const uint32_t one = 800001, other = 800002;
	struct counters before;
	struct pair pair;

	sleep_ms(2 * IDLE_S * MS_PER_S);	/* jobs of the tests before have been counted */
	before = counters_read(NS_TX);
	for (int i = 0; i < 3; i++) {
		pair = pair_open(DALBE_CC_CDG);
		job_set(pair.tx, one, 300 * KB, 60000);
		transfer(&pair, 100 * KB);
		end(&pair);
		CHECK_EQ(since(before).met, 0);
	}
	pair = pair_open(DALBE_CC_CDG);
	job_set(pair.tx, other, 300 * KB, 2 * IDLE_S * MS_PER_S);
	transfer(&pair, 100 * KB);
	end(&pair);
	sleep_ms((IDLE_S + LATER_S) * MS_PER_S);
	check_one(before, (struct counters){ .met = 1, .bytes = 300 * KB });
	harness_turn("the other, which ended before its deadline, once that has passed");
	sleep_ms(2 * IDLE_S * MS_PER_S);
	check_one(before, (struct counters){ .met = 1, .unfinished = 1, .bytes = 400 * KB });
}

/* Entries that idle make place for others. A job that is awaited is spared; and where all are jobs,
 * the one that goes has not ended.
 */
static void a_job_in_a_full_table(void)
{
	const uint32_t job = 800003, others = 810000;
	struct counters before = counters_read(NS_TX);
	struct pair filler = pair_open(DALBE_CC_CDG), pair;

	params_set(filler.tx, (struct dalbe_params){
		.flags = DALBE_PARAM_CONTROLLER, .controller = DALBE_CONTROLLER_WEIGHT });
	pair = pair_open(DALBE_CC_CDG);
	job_set(pair.tx, job, 300 * KB, 60000);
	transfer(&pair, 100 * KB);
	end(&pair);
	for (uint32_t n = 0; n < PATHS_MAX + MORE; n++)
		group_set(filler.tx, others + n);
	check_one(before, (struct counters){ 0 });
	pair = pair_open(DALBE_CC_CDG);
	job_set(pair.tx, job, 300 * KB, 60000);
	transfer(&pair, 200 * KB);
	CHECK_EQ(state_get(pair.tx).status, DALBE_STATUS_DONE);
	end(&pair);
	sleep_ms((IDLE_S + LATER_S) * MS_PER_S);
	check_one(before, (struct counters){ .met = 1, .bytes = 300 * KB });

	harness_turn("of jobs");
	before = counters_read(NS_TX);
	for (uint32_t n = 0; n < PATHS_MAX + MORE; n++)
		job_set(filler.tx, others + n, 300 * KB, 60000);
	CHECK_EQ(since(before).unfinished, 0);
	goal_clear(filler.tx);
	end(&filler);
	sleep_ms((IDLE_S + LATER_S) * MS_PER_S);
	CHECK_OP(since(before).unfinished, >, PATHS_MAX - MORE);
	CHECK_OP(since(before).unfinished, <=, PATHS_MAX);
}

const struct test tests_counters[] = {
	{ "counters: what became of a goal, when it has ended", ends_are_counted },
	{ "counters: each goal is counted once", once_per_goal },
	{ "counters: a job is counted once, when no more connection is to come",
	  a_job_counts_once },
	{ "counters: a job is counted once in a full table, too", a_job_in_a_full_table },
	{}
};
