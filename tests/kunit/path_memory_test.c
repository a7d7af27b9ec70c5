// SPDX-License-Identifier: GPL-2.0-only
/* path_memory.c: each arrow of its diagram, and its lock. How deep it judges:
 * tests/python/test_path_memory.py.
 */
#include "core/scavenger/path_memory.h"
#include "near.h"

#define BASE_US		50000u
#define QUEUE_US	20000u
#define STEP_US		60000u
#define PACKETS(n)	((u64)(n) << 16)
#define PPS		1000

/* A path, two flows of ours, and a clock. */
struct host {
	struct path_memory memory;
	struct path_part part[2];
	bool contended[2];
	u64 now_us;
};

/* A round of this flow ends, and it obeys. */
static enum path_verdict round_at(struct host *h, u32 flow, u32 pps, u32 queue_us)
{
	struct path_round r = {
		.now_us = h->now_us,
		.rtt_us = BASE_US + queue_us,
		.rtt_max_us = BASE_US + queue_us,
		.base_rtt_us = BASE_US,
		.rate_q16 = PACKETS(pps),
		.contended = h->contended[flow],
		.judged = true,
		.steady = true,
	};
	enum path_verdict verdict = path_memory_round(&h->memory, &h->part[flow], &r);

	if (verdict != PATH_AS_IT_IS)
		h->contended[flow] = verdict == PATH_STAND_BACK;
	return verdict;
}

/* The same for both, for so many rounds: the last verdict of the first that is one. */
static enum path_verdict rounds(struct host *h, u32 count, u32 pps, u32 queue_us)
{
	enum path_verdict verdict = PATH_AS_IT_IS;

	while (count-- && verdict == PATH_AS_IT_IS) {
		h->now_us += STEP_US;
		verdict = round_at(h, 0, pps, queue_us);
		round_at(h, 1, pps, queue_us);
	}
	return verdict;
}

static struct host *known_path(struct kunit *test)
{
	struct host *h = kunit_kzalloc(test, sizeof(*h), GFP_KERNEL);
	u32 n;

	KUNIT_ASSERT_NOT_NULL(test, h);
	h->now_us = USEC_PER_SEC;
	path_memory_init(&h->memory);
	for (n = 0; n < 2; n++)
		path_memory_join(&h->memory, &h->part[n], h->now_us);
	KUNIT_EXPECT_EQ(test, (int)rounds(h, 1000, PPS / 2, 0), (int)PATH_AS_IT_IS);
	KUNIT_EXPECT_EQ(test, h->memory.rate_q16, PACKETS(PPS));
	return h;
}

static struct host *contended_path(struct kunit *test)
{
	struct host *h = known_path(test);

	KUNIT_EXPECT_EQ(test, (int)rounds(h, 3, PPS / 5, QUEUE_US), (int)PATH_STAND_BACK);
	KUNIT_EXPECT_TRUE(test, h->contended[0] && h->contended[1]);
	KUNIT_EXPECT_EQ(test, h->memory.yields, 1u);
	return h;
}

static void a_busy_path_that_carries_the_same_is_ours(struct kunit *test)
{
	struct host *h = known_path(test);

	KUNIT_EXPECT_EQ(test, (int)rounds(h, 1000, PPS / 2, QUEUE_US), (int)PATH_AS_IT_IS);
	KUNIT_EXPECT_EQ(test, (int)rounds(h, 1000, PPS / 5, 0), (int)PATH_AS_IT_IS);
	KUNIT_EXPECT_EQ(test, h->memory.yields, 0u);
}

static void a_path_without_a_queue_is_taken_by_all(struct kunit *test)
{
	struct host *h = contended_path(test);

	KUNIT_EXPECT_EQ(test, (int)rounds(h, 50, 0, QUEUE_US), (int)PATH_AS_IT_IS);
	KUNIT_EXPECT_EQ(test, (int)rounds(h, 1000, 0, 0), (int)PATH_TAKE);
	KUNIT_EXPECT_FALSE(test, h->contended[0] || h->contended[1]);
}

static void a_queue_that_does_not_move_is_none(struct kunit *test)
{
	struct host *h = contended_path(test);

	KUNIT_EXPECT_EQ(test, (int)rounds(h, 2000, 0, QUEUE_US), (int)PATH_LONGER);
	KUNIT_EXPECT_FALSE(test, h->contended[0] || h->contended[1]);
	KUNIT_EXPECT_EQ(test, h->memory.base_rtt_us, BASE_US + QUEUE_US);
}

static void a_loss_behind_a_queue_tells_of_others(struct kunit *test)
{
	struct host *h = known_path(test);
	struct path_round r = {
		.rtt_us = BASE_US + QUEUE_US, .rtt_max_us = BASE_US + QUEUE_US,
		.base_rtt_us = BASE_US, .steady = true,
	};

	KUNIT_EXPECT_EQ(test, (int)rounds(h, 10, PPS / 5, 0), (int)PATH_AS_IT_IS);
	r.now_us = h->now_us + STEP_US;
	KUNIT_EXPECT_FALSE(test, path_memory_lost(&h->memory, &r));
	r.now_us += STEP_US;
	KUNIT_EXPECT_TRUE(test, path_memory_lost(&h->memory, &r));
	KUNIT_EXPECT_EQ(test, (int)round_at(h, 1, PPS, 0), (int)PATH_STAND_BACK);
}

static void nothing_is_left_of_flows_that_are_gone(struct kunit *test)
{
	struct host *h = known_path(test);

	path_memory_pause(&h->memory, &h->part[0]);
	KUNIT_EXPECT_EQ(test, h->memory.rate_q16, PACKETS(PPS / 2));
	path_memory_leave(&h->memory, &h->part[0]);
	path_memory_leave(&h->memory, &h->part[1]);
	KUNIT_EXPECT_EQ(test, h->memory.rate_q16, 0ull);
	KUNIT_EXPECT_EQ(test, h->memory.flows, 0u);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(a_busy_path_that_carries_the_same_is_ours),
	KUNIT_CASE(a_path_without_a_queue_is_taken_by_all),
	KUNIT_CASE(a_queue_that_does_not_move_is_none),
	KUNIT_CASE(a_loss_behind_a_queue_tells_of_others),
	KUNIT_CASE(nothing_is_left_of_flows_that_are_gone),
	{}
};

static struct kunit_suite suite = { .name = "path_memory", .test_cases = cases };

kunit_test_suite(suite);
