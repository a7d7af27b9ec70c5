// SPDX-License-Identifier: GPL-2.0-only
/* regime.c: each arrow of its diagram, and how deep it cuts. On a link, with
 * others: tests/python/test_regime.py.
 */
#include "core/scavenger/regime.h"
#include "near.h"

#define BASE_US		50000u
#define QUEUE_US	40000u

/* The end of a round with this queue. */
static enum verdict round_at(struct regime *e, u32 queue_us, u64 now_us)
{
	return regime_round(e, BASE_US + queue_us, BASE_US, now_us);
}

/* A cut from 100 packets to 70, and the part of the expected drain that is seen
 * of it.
 */
static enum verdict cut_drains(struct regime *e, u32 percent)
{
	e->looks.mean_us = QUEUE_US;	/* as it has been for long */
	evidence_test_cut(e, 100, 70, BASE_US + QUEUE_US, BASE_US);
	return round_at(e, QUEUE_US - e->cut.expected_us * percent / 100, 0);
}

static struct regime yielding(struct kunit *test)
{
	struct regime e = { .times.since_us = -(u64)REGIME_OFTEN_US };

	KUNIT_EXPECT_EQ(test, (int)cut_drains(&e, 0), (int)VERDICT_CUT_DEEPER);
	KUNIT_EXPECT_EQ(test, (int)cut_drains(&e, 0), (int)VERDICT_YIELD);
	return e;
}

static struct regime contended(struct kunit *test)
{
	struct regime e = yielding(test);
	int i;

	for (i = 0; i < REGIME_YIELD_ROUNDS; i++)
		KUNIT_EXPECT_EQ(test, (int)round_at(&e, QUEUE_US, 0),
				(int)VERDICT_NONE);
	KUNIT_EXPECT_EQ(test, (int)e.state, (int)REGIME_CONTENDED);
	return e;
}

/* min(queue, dW / W * RTT): 30 of 100 packets, 27 of 90 ms. */
static void expects_its_part_of_the_rtt(struct kunit *test)
{
	struct regime e = {};

	evidence_test_cut(&e, 100, 70, BASE_US + QUEUE_US, BASE_US);
	KUNIT_EXPECT_EQ(test, e.cut.expected_us, 27000u);
	KUNIT_EXPECT_EQ(test, e.cut.before_us, BASE_US + QUEUE_US);
	evidence_test_cut(&e, 100, 50, BASE_US + 5000, BASE_US);
	KUNIT_EXPECT_EQ(test, e.cut.expected_us, 5000u);
}

static void a_fifth_of_the_drain_is_enough(struct kunit *test)
{
	struct regime e = {};

	KUNIT_EXPECT_EQ(test, (int)cut_drains(&e, 21), (int)VERDICT_NONE);
	KUNIT_EXPECT_FALSE(test, e.cut.decides);
	KUNIT_EXPECT_EQ(test, (int)cut_drains(&e, 19), (int)VERDICT_CUT_DEEPER);
	KUNIT_EXPECT_EQ(test, (int)cut_drains(&e, 21), (int)VERDICT_NONE);
	KUNIT_EXPECT_EQ(test, (int)cut_drains(&e, 19), (int)VERDICT_CUT_DEEPER);
	KUNIT_EXPECT_EQ(test, (int)cut_drains(&e, 19), (int)VERDICT_YIELD);
	KUNIT_EXPECT_EQ(test, e.yields, 1u);
	ASSERT_NEAR(test, 0, e.cut.drained_q16, Q16_ONE * 19 / 100, 4);
}

static void a_window_that_cannot_be_cut_waits_for_the_others(struct kunit *test)
{
	struct regime e = { .looks.mean_us = QUEUE_US };

	evidence_test_cut(&e, 2, 2, BASE_US + QUEUE_US, BASE_US);
	KUNIT_EXPECT_EQ(test, (int)round_at(&e, QUEUE_US / 2, 0),
			(int)VERDICT_NONE);
	evidence_test_cut(&e, 2, 2, BASE_US + QUEUE_US, BASE_US);
	KUNIT_EXPECT_EQ(test, (int)round_at(&e, QUEUE_US, 0), (int)VERDICT_YIELD);
}

/* 60 packets in a round of 60 ms, 1000 per second, then less in one of 90 ms. */
static bool part_is_lost(u32 packets, u32 before_us)
{
	struct regime e = {};
	int i;

	for (i = 0; i < 8; i++) {
		evidence_measure_part(&e, 60, 60000, 60000, BASE_US);
		if (e.part.lost_surge_us)
			return false;
	}
	e.part.last_rtt_us = before_us;
	evidence_measure_part(&e, packets, 90000, 90000, BASE_US);
	return e.part.lost_surge_us && e.state == REGIME_ALONE;
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
		struct regime e = { .cut.decides = true, .cut.before_us = 90000 };

		evidence_test_cut(&e, rows[i].cwnd, rows[i].ssthresh,
				  rows[i].rtt_us, rows[i].base_us);
		KUNIT_EXPECT_EQ_MSG(test, e.cut.before_us, 0u, "row %zu", i);
		KUNIT_EXPECT_FALSE_MSG(test, e.cut.decides, "row %zu", i);
		KUNIT_EXPECT_EQ(test,
				(int)regime_round(&e, rows[i].rtt_us,
						  rows[i].base_us, 0),
				(int)VERDICT_NONE);
	}
}

/* From two packets up to all, for queues up to the longest. */
static void cut_keeps_half_to_all_but_one(struct kunit *test)
{
	struct regime alone = {}, doubting = { .cut.decides = true };
	struct regime lossy = { .lossy_rounds = 1 };
	u64 cwnd, queue_us;

	for (cwnd = 3; cwnd <= U32_MAX; cwnd = cwnd * 3 / 2) {
		u32 last = cwnd;

		for (queue_us = BASE_US / 16; queue_us <= U32_MAX - BASE_US;
		     queue_us = queue_us * 5 / 4) {
			u32 left = room_cut(&alone, cwnd, BASE_US + queue_us,
					      BASE_US, U32_MAX);

			KUNIT_ASSERT_GE(test, left, max_t(u32, 2, cwnd / 2));
			KUNIT_ASSERT_LT(test, left, (u32)cwnd);
			KUNIT_ASSERT_LE(test, left, last);
			last = left;
		}
		KUNIT_ASSERT_EQ(test, last, max_t(u32, 2, cwnd / 2));
	}
	KUNIT_EXPECT_EQ(test, room_cut(&alone, 100, 62500, BASE_US, 7), 79u);
	KUNIT_EXPECT_EQ(test, room_cut(&alone, 20, 62500, BASE_US, 7), 16u);
	KUNIT_EXPECT_EQ(test, room_cut(&alone, 6, 66000, BASE_US, 7), 5u);
	KUNIT_EXPECT_EQ(test, room_cut(&alone, 0, 90000, BASE_US, 7), 2u);
	KUNIT_EXPECT_EQ(test, room_cut(&alone, 2, 90000, BASE_US, 7), 2u);
	/* CDG's cut where nothing is known, and for the cut that decides. */
	KUNIT_EXPECT_EQ(test, room_cut(&lossy, 100, 53124, BASE_US, 7), 7u);
	KUNIT_EXPECT_EQ(test, room_cut(&alone, 100, 53124, BASE_US, 7), 93u);
	KUNIT_EXPECT_EQ(test, room_cut(&alone, 100, BASE_US, 0, 7), 7u);
	KUNIT_EXPECT_EQ(test, room_cut(&doubting, 100, 90000, BASE_US, 7), 7u);
}

/* Of a queue of 20 ms 12.5 have come at once: 50 of 95 ms are kept, but for a packet. */
static struct regime room_made(struct kunit *test, u32 cwnd, u32 left)
{
	struct regime e = {
		.slow_start.rounds_since = REGIME_STEADY_ROUNDS,
		.times.since_us = -(u64)REGIME_OFTEN_US,
	};
	u32 rtt_us = BASE_US + 20000;

	KUNIT_EXPECT_TRUE(test, room_urgent(&e, rtt_us, rtt_us - 12500, BASE_US));
	KUNIT_EXPECT_EQ(test, room_cut(&e, cwnd, rtt_us, BASE_US, 7), left);
	evidence_test_cut(&e, cwnd, left, rtt_us, BASE_US);
	return e;
}

static void room_is_made_for_a_newcomer(struct kunit *test)
{
	struct regime e = room_made(test, 100, 51);

	KUNIT_EXPECT_EQ(test, e.room.restore_cwnd, 86u);	/* 50 of 57.5 ms */
	KUNIT_EXPECT_EQ(test, (int)round_at(&e, 5000, 0),
			(int)VERDICT_ROOM_FREE);
	KUNIT_EXPECT_EQ(test, (int)e.state, (int)REGIME_ALONE);

	/* As long as scavengers leave it, the queue is theirs. */
	e = room_made(test, 100, 51);
	KUNIT_EXPECT_EQ(test, (int)round_at(&e, BASE_US / 4, 0),
			(int)VERDICT_ROOM_FREE);
	e = room_made(test, 100, 51);
	KUNIT_EXPECT_EQ(test, (int)round_at(&e, BASE_US / 4 + 1, 0),
			(int)VERDICT_YIELD);
	KUNIT_EXPECT_EQ(test, (int)e.state, (int)REGIME_CONTENDED);

	/* But they lose no packets: more than a quarter of the queue is too much then. */
	e = room_made(test, 100, 51);
	e.lossy_rounds = 2;
	KUNIT_EXPECT_EQ(test, (int)round_at(&e, 5001, 0),
			(int)VERDICT_YIELD);
	KUNIT_EXPECT_EQ(test, (int)e.state, (int)REGIME_CONTENDED);

	/* A longer one soon: the room is left to it. */
	e.state = REGIME_ALONE;
	e.slow_start.rounds_since = REGIME_STEADY_ROUNDS;
	e.room.restored_rounds = 1;
	e.room.restored_us = BASE_US + 19999;
	KUNIT_EXPECT_TRUE(test, room_urgent(&e, BASE_US + 20000, BASE_US, BASE_US));
	room_cut(&e, 100, BASE_US + 20000, BASE_US, 7);
	KUNIT_EXPECT_TRUE(test, e.room.provisional);
	KUNIT_EXPECT_EQ(test, e.room.restore_cwnd, 0u);

	/* After a loss it does not matter what is left of it. */
	e = room_made(test, 100, 51);
	evidence_test_loss_cut(&e, 51, 35, BASE_US + 20000, BASE_US);
	KUNIT_EXPECT_EQ(test, (int)round_at(&e, 0, 0), (int)VERDICT_YIELD);
	KUNIT_EXPECT_EQ(test, (int)e.state, (int)REGIME_CONTENDED);

	e = room_made(test, 100, 51);
	KUNIT_EXPECT_TRUE(test, regime_repair(&e, 0));
	KUNIT_EXPECT_EQ(test, (int)e.state, (int)REGIME_YIELDING);
	KUNIT_EXPECT_FALSE(test, regime_repair(&e, 0));

	/* a small flow only drains its own: 50 of 70 ms */
	e = room_made(test, 9, 6);
	KUNIT_EXPECT_FALSE(test, e.room.provisional);
	KUNIT_EXPECT_EQ(test, e.room.restore_cwnd, 0u);
}

static void four_rtts_in_a_row_end_the_round(struct kunit *test)
{
	struct regime e = {};
	u32 surge_us = BASE_US + BASE_US / 4;
	int i;

	for (i = 0; i < 1000; i++)	/* never four */
		KUNIT_EXPECT_FALSE(test, room_sample(&e, surge_us - (i % 4 == 3), 2,
						     BASE_US, BASE_US, 64));
	room_begin_round(&e);
	for (i = 1; i <= 1000; i++)
		KUNIT_EXPECT_EQ(test, room_sample(&e, surge_us + i % 3, 2, BASE_US,
						  BASE_US, 64),
				i >= ROOM_SAMPLES);
	KUNIT_EXPECT_EQ(test, e.room.sampled_us, surge_us);
	room_begin_round(&e);
	for (i = 1; i <= 1000; i++)	/* an eighth of the window, two by two */
		KUNIT_EXPECT_EQ(test, room_sample(&e, surge_us, 2, BASE_US, BASE_US,
						  1600),
				i >= 100);
}

static void resumes_where_the_queue_goes_with_us(struct kunit *test)
{
	int at, i;

	for (at = 1; at < REGIME_YIELD_ROUNDS; at++) {
		struct regime e = yielding(test);

		for (i = 0; i < at; i++)
			KUNIT_EXPECT_EQ(test, (int)round_at(&e, QUEUE_US, 0),
					(int)VERDICT_NONE);
		KUNIT_EXPECT_EQ(test, (int)round_at(&e, QUEUE_US / 8, 0),
				(int)VERDICT_RESUME);
		KUNIT_EXPECT_EQ(test, (int)e.state, (int)REGIME_ALONE);
		KUNIT_EXPECT_EQ(test, e.resumes, 1u);
		KUNIT_EXPECT_EQ(test, (int)round_at(&e, QUEUE_US, 0),
				(int)VERDICT_NONE);
	}
}

static void packets_under_way_say_nothing(struct kunit *test)
{
	struct regime e = yielding(test);

	KUNIT_EXPECT_EQ(test, (int)round_at(&e, 0, 0), (int)VERDICT_NONE);
	KUNIT_EXPECT_EQ(test, (int)e.state, (int)REGIME_YIELDING);
}

/* Every pattern of six looks: at the third that finds the queue gone. */
static void takes_the_link_at_the_third_look_of_six(struct kunit *test)
{
	u32 gone;

	for (gone = 0; gone < BIT(REGIME_LOOKS); gone++) {
		struct regime e = contended(test);
		int look, seen = 0;

		for (look = 0; look < REGIME_LOOKS && seen < REGIME_LOOKS_GONE;
		     look++) {
			bool empty = gone & BIT(look);
			int verdict = round_at(&e, empty ? 0 : QUEUE_US,
					       regime_look_us(BASE_US) *
					       (look + 1));

			seen += empty;
			KUNIT_ASSERT_EQ(test, verdict,
					seen < REGIME_LOOKS_GONE ?
					(int)VERDICT_NONE : (int)VERDICT_TAKE);
		}
		KUNIT_ASSERT_EQ(test, e.state == REGIME_ALONE,
				hweight8(gone) >= REGIME_LOOKS_GONE);
	}
}

static void looks_only_now_and_then(struct kunit *test)
{
	struct regime e = contended(test);
	u64 look_us = regime_look_us(BASE_US);
	int i;

	KUNIT_EXPECT_EQ(test, look_us, 2ull * BASE_US + 300000);
	KUNIT_EXPECT_EQ(test, regime_look_us(U32_MAX), 2ull * U32_MAX + 300000);
	for (i = 0; i < 1000; i++)
		KUNIT_ASSERT_EQ(test, (int)round_at(&e, 0, look_us - 1),
				(int)VERDICT_NONE);
	KUNIT_EXPECT_EQ(test, (int)e.looks.gone, 0);
	for (i = 0; i < 1000; i++)
		KUNIT_ASSERT_EQ(test, (int)round_at(&e, 0, look_us),
				(int)VERDICT_NONE);
	KUNIT_EXPECT_EQ(test, (int)e.looks.gone, 1);
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
