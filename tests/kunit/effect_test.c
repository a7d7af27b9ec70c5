// SPDX-License-Identifier: GPL-2.0-only
/* effect.c: each arrow of its diagram, and how deep it cuts. On a link, with
 * others: tests/python/test_effect.py.
 */
#include "effect.h"
#include "near.h"

#define BASE_US		50000u
#define QUEUE_US	40000u

/* The end of a round with this queue. */
static enum effect_verdict round_at(struct effect *e, u32 queue_us, u64 now_us)
{
	return effect_round(e, BASE_US + queue_us, BASE_US, now_us);
}

/* A cut from 100 packets to 70, and the part of the expected drain that is seen
 * of it.
 */
static enum effect_verdict cut_drains(struct effect *e, u32 percent)
{
	e->mean_us = QUEUE_US;	/* as it has been for long */
	effect_expect(e, 100, 70, BASE_US + QUEUE_US, BASE_US);
	return round_at(e, QUEUE_US - e->expected_us * percent / 100, 0);
}

static struct effect yielding(struct kunit *test)
{
	struct effect e = { .since_us = -(u64)EFFECT_OFTEN_US };

	KUNIT_EXPECT_EQ(test, (int)cut_drains(&e, 0), (int)EFFECT_DOUBT);
	KUNIT_EXPECT_EQ(test, (int)cut_drains(&e, 0), (int)EFFECT_YIELD);
	return e;
}

static struct effect contended(struct kunit *test)
{
	struct effect e = yielding(test);
	int i;

	for (i = 0; i < EFFECT_YIELD_ROUNDS; i++)
		KUNIT_EXPECT_EQ(test, (int)round_at(&e, QUEUE_US, 0),
				(int)EFFECT_NONE);
	KUNIT_EXPECT_EQ(test, (int)e.state, (int)EFFECT_CONTENDED);
	return e;
}

/* min(queue, dW / W * RTT): 30 of 100 packets, 27 of 90 ms. */
static void expects_its_part_of_the_rtt(struct kunit *test)
{
	struct effect e = {};

	effect_expect(&e, 100, 70, BASE_US + QUEUE_US, BASE_US);
	KUNIT_EXPECT_EQ(test, e.expected_us, 27000u);
	KUNIT_EXPECT_EQ(test, e.before_us, BASE_US + QUEUE_US);
	effect_expect(&e, 100, 50, BASE_US + 5000, BASE_US);
	KUNIT_EXPECT_EQ(test, e.expected_us, 5000u);
}

static void a_fifth_of_the_drain_is_enough(struct kunit *test)
{
	struct effect e = {};

	KUNIT_EXPECT_EQ(test, (int)cut_drains(&e, 21), (int)EFFECT_NONE);
	KUNIT_EXPECT_FALSE(test, e.doubt);
	KUNIT_EXPECT_EQ(test, (int)cut_drains(&e, 19), (int)EFFECT_DOUBT);
	KUNIT_EXPECT_EQ(test, (int)cut_drains(&e, 21), (int)EFFECT_NONE);
	KUNIT_EXPECT_EQ(test, (int)cut_drains(&e, 19), (int)EFFECT_DOUBT);
	KUNIT_EXPECT_EQ(test, (int)cut_drains(&e, 19), (int)EFFECT_YIELD);
	KUNIT_EXPECT_EQ(test, e.yields, 1u);
	ASSERT_NEAR(test, 0, e.drained_q16, Q16_ONE * 19 / 100, 4);
}

static void a_window_that_cannot_be_cut_waits_for_the_others(struct kunit *test)
{
	struct effect e = { .mean_us = QUEUE_US };

	effect_expect(&e, 2, 2, BASE_US + QUEUE_US, BASE_US);
	KUNIT_EXPECT_EQ(test, (int)round_at(&e, QUEUE_US / 2, 0),
			(int)EFFECT_NONE);
	effect_expect(&e, 2, 2, BASE_US + QUEUE_US, BASE_US);
	KUNIT_EXPECT_EQ(test, (int)round_at(&e, QUEUE_US, 0), (int)EFFECT_YIELD);
}

/* 60 packets in a round of 60 ms, 1000 per second, then less in one of 90 ms. */
static bool part_is_lost(u32 packets, u32 before_us)
{
	struct effect e = {};
	int i;

	for (i = 0; i < 8; i++) {
		effect_part(&e, 60, 60000, 60000, BASE_US);
		if (e.lost_part)
			return false;
	}
	e.last_us = before_us;
	effect_part(&e, packets, 90000, 90000, BASE_US);
	return e.lost_part && e.state == EFFECT_ALONE;
}

static void a_quarter_of_our_part_gone_in_a_surge_is_lost(struct kunit *test)
{
	u32 surge_us = BASE_US / 8;

	KUNIT_EXPECT_TRUE(test, part_is_lost(67, 90000 - surge_us));
	KUNIT_EXPECT_TRUE(test, part_is_lost(0, 60000));
	KUNIT_EXPECT_FALSE(test, part_is_lost(68, 90000 - surge_us));
	KUNIT_EXPECT_FALSE(test, part_is_lost(0, 90001 - surge_us));
	KUNIT_EXPECT_FALSE(test, part_is_lost(0, 0));	/* no round before */
}

static void what_shows_nothing_is_no_test(struct kunit *test)
{
	static const struct { u32 cwnd, ssthresh, rtt_us, base_us; } rows[] = {
		{ 100, 70, 53124, 50000 },	/* queue below 1/16 */
		{ 100, 70, 1099, 100 },		/* below 1 ms */
		{ 100, 70, 40000, 50000 },
		{ 100, 70, 50000, 0 },		/* no base RTT */
		{ 100, 70, 0, 0 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct effect e = { .doubt = true, .before_us = 90000 };

		effect_expect(&e, rows[i].cwnd, rows[i].ssthresh,
			      rows[i].rtt_us, rows[i].base_us);
		KUNIT_EXPECT_EQ_MSG(test, e.before_us, 0u, "row %zu", i);
		KUNIT_EXPECT_FALSE_MSG(test, e.doubt, "row %zu", i);
		KUNIT_EXPECT_EQ(test,
				(int)effect_round(&e, rows[i].rtt_us,
						  rows[i].base_us, 0),
				(int)EFFECT_NONE);
	}
}

/* From two packets up to all, for queues up to the longest. */
static void cut_keeps_half_to_all_but_one(struct kunit *test)
{
	struct effect alone = {}, doubting = { .doubt = true };
	struct effect lossy = { .lossy = 1 };
	u64 cwnd, queue_us;

	for (cwnd = 3; cwnd <= U32_MAX; cwnd = cwnd * 3 / 2) {
		u32 last = cwnd;

		for (queue_us = BASE_US / 16; queue_us <= U32_MAX - BASE_US;
		     queue_us = queue_us * 5 / 4) {
			u32 left = effect_cut(&alone, cwnd, BASE_US + queue_us,
					      BASE_US, U32_MAX);

			KUNIT_ASSERT_GE(test, left, max_t(u32, 2, cwnd / 2));
			KUNIT_ASSERT_LT(test, left, (u32)cwnd);
			KUNIT_ASSERT_LE(test, left, last);
			last = left;
		}
		KUNIT_ASSERT_EQ(test, last, max_t(u32, 2, cwnd / 2));
	}
	KUNIT_EXPECT_EQ(test, effect_cut(&alone, 100, 62500, BASE_US, 7), 79u);
	KUNIT_EXPECT_EQ(test, effect_cut(&alone, 20, 62500, BASE_US, 7), 16u);
	KUNIT_EXPECT_EQ(test, effect_cut(&alone, 6, 66000, BASE_US, 7), 5u);
	KUNIT_EXPECT_EQ(test, effect_cut(&alone, 0, 90000, BASE_US, 7), 2u);
	KUNIT_EXPECT_EQ(test, effect_cut(&alone, 2, 90000, BASE_US, 7), 2u);
	/* CDG's cut where nothing is known, and for the cut that decides. */
	KUNIT_EXPECT_EQ(test, effect_cut(&lossy, 100, 53124, BASE_US, 7), 7u);
	KUNIT_EXPECT_EQ(test, effect_cut(&alone, 100, 53124, BASE_US, 7), 93u);
	KUNIT_EXPECT_EQ(test, effect_cut(&alone, 100, BASE_US, 0, 7), 7u);
	KUNIT_EXPECT_EQ(test, effect_cut(&doubting, 100, 90000, BASE_US, 7), 7u);
}

/* Of a queue of 20 ms 12.5 have come at once: 50 of 95 ms are kept, but for a packet. */
static struct effect room_made(struct kunit *test, u32 cwnd, u32 left)
{
	struct effect e = {
		.steady = EFFECT_STEADY_ROUNDS,
		.since_us = -(u64)EFFECT_OFTEN_US,
	};
	u32 rtt_us = BASE_US + 20000;

	KUNIT_EXPECT_TRUE(test, effect_urgent(&e, rtt_us, rtt_us - 12500, BASE_US));
	KUNIT_EXPECT_EQ(test, effect_cut(&e, cwnd, rtt_us, BASE_US, 7), left);
	effect_expect(&e, cwnd, left, rtt_us, BASE_US);
	return e;
}

static void room_is_made_for_a_newcomer(struct kunit *test)
{
	struct effect e = room_made(test, 100, 51);

	KUNIT_EXPECT_EQ(test, e.lent, 86u);	/* 50 of 57.5 ms */
	KUNIT_EXPECT_EQ(test, (int)round_at(&e, 5000, 0),
			(int)EFFECT_REGAIN);
	KUNIT_EXPECT_EQ(test, (int)e.state, (int)EFFECT_ALONE);

	e = room_made(test, 100, 51);
	KUNIT_EXPECT_EQ(test, (int)round_at(&e, 5001, 0),
			(int)EFFECT_YIELD);
	KUNIT_EXPECT_EQ(test, (int)e.state, (int)EFFECT_CONTENDED);

	/* A longer one soon: the room is left to it. */
	e.state = EFFECT_ALONE;
	e.steady = EFFECT_STEADY_ROUNDS;
	e.regained = 1;
	e.regained_us = BASE_US + 19999;
	KUNIT_EXPECT_TRUE(test, effect_urgent(&e, BASE_US + 20000, BASE_US, BASE_US));
	effect_cut(&e, 100, BASE_US + 20000, BASE_US, 7);
	KUNIT_EXPECT_TRUE(test, e.room);
	KUNIT_EXPECT_EQ(test, e.lent, 0u);

	/* After a loss it does not matter what is left of it. */
	e = room_made(test, 100, 51);
	effect_expect_loss(&e, 51, 35, BASE_US + 20000, BASE_US);
	KUNIT_EXPECT_EQ(test, (int)round_at(&e, 0, 0), (int)EFFECT_YIELD);
	KUNIT_EXPECT_EQ(test, (int)e.state, (int)EFFECT_CONTENDED);

	e = room_made(test, 100, 51);
	KUNIT_EXPECT_TRUE(test, effect_repair(&e, 0));
	KUNIT_EXPECT_EQ(test, (int)e.state, (int)EFFECT_YIELDING);
	KUNIT_EXPECT_FALSE(test, effect_repair(&e, 0));

	/* a small flow only drains its own: 50 of 70 ms */
	e = room_made(test, 9, 6);
	KUNIT_EXPECT_FALSE(test, e.room);
	KUNIT_EXPECT_EQ(test, e.lent, 0u);
}

static void four_rtts_in_a_row_end_the_round(struct kunit *test)
{
	struct effect e = {};
	u32 surge_us = BASE_US + BASE_US / 4;
	int i;

	for (i = 0; i < 1000; i++)	/* never four */
		KUNIT_EXPECT_FALSE(test, effect_sample(&e, surge_us - (i % 4 == 3), 2,
						       BASE_US, BASE_US, 64));
	effect_begin_round(&e);
	for (i = 1; i <= 1000; i++)
		KUNIT_EXPECT_EQ(test, effect_sample(&e, surge_us + i % 3, 2, BASE_US,
						    BASE_US, 64),
				i >= EFFECT_SAMPLES);
	KUNIT_EXPECT_EQ(test, e.surged_us, surge_us);
	effect_begin_round(&e);
	for (i = 1; i <= 1000; i++)	/* an eighth of the window, two by two */
		KUNIT_EXPECT_EQ(test, effect_sample(&e, surge_us, 2, BASE_US, BASE_US,
						    1600),
				i >= 100);
}

static void resumes_where_the_queue_goes_with_us(struct kunit *test)
{
	int at, i;

	for (at = 1; at < EFFECT_YIELD_ROUNDS; at++) {
		struct effect e = yielding(test);

		for (i = 0; i < at; i++)
			KUNIT_EXPECT_EQ(test, (int)round_at(&e, QUEUE_US, 0),
					(int)EFFECT_NONE);
		KUNIT_EXPECT_EQ(test, (int)round_at(&e, QUEUE_US / 8, 0),
				(int)EFFECT_RESUME);
		KUNIT_EXPECT_EQ(test, (int)e.state, (int)EFFECT_ALONE);
		KUNIT_EXPECT_EQ(test, e.resumes, 1u);
		KUNIT_EXPECT_EQ(test, (int)round_at(&e, QUEUE_US, 0),
				(int)EFFECT_NONE);
	}
}

static void packets_under_way_say_nothing(struct kunit *test)
{
	struct effect e = yielding(test);

	KUNIT_EXPECT_EQ(test, (int)round_at(&e, 0, 0), (int)EFFECT_NONE);
	KUNIT_EXPECT_EQ(test, (int)e.state, (int)EFFECT_YIELDING);
}

/* Every pattern of six looks: at the third that finds the queue gone. */
static void takes_the_link_at_the_third_look_of_six(struct kunit *test)
{
	u32 gone;

	for (gone = 0; gone < BIT(EFFECT_LOOKS); gone++) {
		struct effect e = contended(test);
		int look, seen = 0;

		for (look = 0; look < EFFECT_LOOKS && seen < EFFECT_LOOKS_GONE;
		     look++) {
			bool empty = gone & BIT(look);
			int verdict = round_at(&e, empty ? 0 : QUEUE_US,
					       effect_look_us(BASE_US) *
					       (look + 1));

			seen += empty;
			KUNIT_ASSERT_EQ(test, verdict,
					seen < EFFECT_LOOKS_GONE ?
					(int)EFFECT_NONE : (int)EFFECT_TAKE);
		}
		KUNIT_ASSERT_EQ(test, e.state == EFFECT_ALONE,
				hweight8(gone) >= EFFECT_LOOKS_GONE);
	}
}

static void looks_only_now_and_then(struct kunit *test)
{
	struct effect e = contended(test);
	u64 look_us = effect_look_us(BASE_US);
	int i;

	KUNIT_EXPECT_EQ(test, look_us, 2ull * BASE_US + 300000);
	KUNIT_EXPECT_EQ(test, effect_look_us(U32_MAX), 2ull * U32_MAX + 300000);
	for (i = 0; i < 1000; i++)
		KUNIT_ASSERT_EQ(test, (int)round_at(&e, 0, look_us - 1),
				(int)EFFECT_NONE);
	KUNIT_EXPECT_EQ(test, (int)e.gone, 0);
	for (i = 0; i < 1000; i++)
		KUNIT_ASSERT_EQ(test, (int)round_at(&e, 0, look_us),
				(int)EFFECT_NONE);
	KUNIT_EXPECT_EQ(test, (int)e.gone, 1);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(expects_its_part_of_the_rtt),
	KUNIT_CASE(a_fifth_of_the_drain_is_enough),
	KUNIT_CASE(a_window_that_cannot_be_cut_waits_for_the_others),
	KUNIT_CASE(a_quarter_of_our_part_gone_in_a_surge_is_lost),
	KUNIT_CASE(what_shows_nothing_is_no_test),
	KUNIT_CASE(cut_keeps_half_to_all_but_one),
	KUNIT_CASE(room_is_made_for_a_newcomer),
	KUNIT_CASE(four_rtts_in_a_row_end_the_round),
	KUNIT_CASE(resumes_where_the_queue_goes_with_us),
	KUNIT_CASE(packets_under_way_say_nothing),
	KUNIT_CASE(takes_the_link_at_the_third_look_of_six),
	KUNIT_CASE(looks_only_now_and_then),
	{}
};

static struct kunit_suite suite = { .name = "effect", .test_cases = cases };

kunit_test_suite(suite);
