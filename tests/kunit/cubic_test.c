// SPDX-License-Identifier: GPL-2.0-only
/* cubic.c: RFC 9438's curve, its Reno-friendly region and its cut. R(n) is figure
 * n. tests/python/test_cubic.py compares with double precision.
 */
#include "core/scavenger/cubic.h"
#include "near.h"

#define PACKETS(n)	((u64)(n) << 16)

static struct cubic started(u64 window_q16, u64 origin_q16)
{
	struct cubic c;

	cubic_start(&c, window_q16, origin_q16);
	return c;
}

/* Growth in the next round trip, packets in Q16. */
static noinline u64 growth_q16(struct cubic *c, u64 elapsed_us, u32 rtt_us)
{
	u64 before_q16 = c->window_q16;

	cubic_round(c, elapsed_us, rtt_us);
	cubic_acked(c, before_q16 >> 16);
	return c->window_q16 - before_q16;
}

/* R(2): K^3 * C is what the window lacks, to the ms. C is a tenth of 4, and a
 * tenth of a packet in Q16 may be lost.
 */
static void k_is_a_cube_root(struct kunit *test)
{
	u64 lack;
	size_t rows = 0;

	for (lack = 1; lack < 50000000; lack = lack * 5 / 4 + 1, rows++) {
		struct cubic c = started(PACKETS(100), PACKETS(100 + lack));
		u64 k = c.k_ms, ms3 = lack * 2500000000ull;	/* / C */

		KUNIT_ASSERT_LE_MSG(test, k * k * k, ms3 + ms3 / 20000,
				    "%llu packets", lack);
		KUNIT_ASSERT_GE_MSG(test, (k + 1) * (k + 1) * (k + 1),
				    ms3 - ms3 / 20000, "%llu packets", lack);
	}
	KUNIT_EXPECT_GE(test, rows, (size_t)70);
	KUNIT_EXPECT_EQ(test, started(PACKETS(100), 0).k_ms, 0u);
	KUNIT_EXPECT_EQ(test, started(PACKETS(100), PACKETS(100)).k_ms, 0u);
}

/* R(1): from the cut through the flat part at K and as steeply away from it. */
static void curve_passes_through_its_three_points(struct kunit *test)
{
	const u32 rtt_us = 100000;
	struct cubic c = started(PACKETS(700), PACKETS(1000));
	u32 k_ms = c.k_ms;

	KUNIT_ASSERT_EQ(test, k_ms, 9085u);	/* (300 / 0.4)^(1/3) s */
	/* One RTT on from the cut: C (K - 0.1 s)^3 is 290.2, and 290 below W_max. */
	ASSERT_NEAR(test, 0, growth_q16(&c, 0, rtt_us), PACKETS(10),
		    PACKETS(1) / 50);

	c = started(PACKETS(900), PACKETS(1000));
	ASSERT_NEAR(test, 1,
		    growth_q16(&c, c.k_ms * 1000ull - rtt_us, rtt_us),
		    PACKETS(100), PACKETS(1) / 50);

	/* K in whole ms is a little short of 300 packets. */
	c = started(PACKETS(1000), 0);
	ASSERT_NEAR(test, 2, growth_q16(&c, k_ms * 1000ull - rtt_us, rtt_us),
		    PACKETS(299), PACKETS(2) / 10);
}

/* R(4): 3 * 0.3 / 1.7 packets per round trip, however little the curve rises. */
static void grows_as_reno_where_the_curve_is_flat(struct kunit *test)
{
	struct cubic c = started(PACKETS(100), PACKETS(100));
	int i;

	for (i = 0; i < 1000; i++)
		growth_q16(&c, 0, 1000);
	/* Up to a packet of each round is not acknowledged. */
	KUNIT_EXPECT_GT(test, c.window_q16, PACKETS(100 + 527));
	KUNIT_EXPECT_LT(test, c.window_q16, PACKETS(100 + 530));
}

static void grows_by_half_at_most(struct kunit *test)
{
	struct cubic c = started(PACKETS(2), PACKETS(2));
	int i;

	for (i = 0; i < 60; i++) {
		u64 before_q16 = c.window_q16;

		KUNIT_ASSERT_LE(test, growth_q16(&c, U64_MAX, U32_MAX),
				before_q16 / 2);
		KUNIT_ASSERT_LE(test, c.window_q16, PACKETS(CUBIC_WINDOW_MAX));
	}
	KUNIT_EXPECT_EQ(test, c.window_q16, PACKETS(CUBIC_WINDOW_MAX));
}

/* Its clock is the caller's: without time there is Reno's growth only. */
static void slow_time_is_all_the_time_there_is(struct kunit *test)
{
	struct cubic slow = started(PACKETS(700), PACKETS(1000));
	struct cubic fast = started(PACKETS(700), PACKETS(1000));
	int i;

	for (i = 0; i < 100; i++)
		cubic_round(&slow, 1000, 100000);
	cubic_round(&fast, 100000, 100000);
	KUNIT_EXPECT_EQ(test, slow.step_q16, fast.step_q16);
	KUNIT_EXPECT_EQ(test, slow.time_us, fast.time_us);
}

static void loss_cuts_whole_packets_and_converges_fast(struct kunit *test)
{
	static const struct { u64 before, after, origin; } rows[] = {
		{ 0, 2, 2 },
		{ 2, 2, 2 },
		{ 3, 2, 3 },
		{ 10, 7, 10 },
		{ 100, 70, 100 },
		{ 100000, 70019, 100000 },	/* 717/1024 */
	};
	struct cubic c;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		c = started(PACKETS(rows[i].before), 0);
		cubic_loss(&c);
		KUNIT_EXPECT_EQ(test, c.window_q16, PACKETS(rows[i].after));
		KUNIT_EXPECT_EQ(test, c.origin_q16, PACKETS(rows[i].origin));
		KUNIT_EXPECT_EQ(test, c.reno_q16, c.window_q16);
		KUNIT_EXPECT_EQ(test, c.time_us, 0ull);
		KUNIT_EXPECT_EQ(test, c.step_q16, 0u);
	}
	/* Below the last W_max: 0.85 of the window, to make room. */
	c = started(PACKETS(70), PACKETS(100));
	cubic_loss(&c);
	KUNIT_EXPECT_EQ(test, c.origin_q16, PACKETS(59));
	/* The part that was earned of the next packet stays. */
	c = started(PACKETS(6) + 40000, 0);
	cubic_loss(&c);
	KUNIT_EXPECT_EQ(test, c.window_q16, PACKETS(4) + 40000);
	KUNIT_EXPECT_EQ(test, c.reno_q16, PACKETS(4));
	KUNIT_EXPECT_EQ(test, c.origin_q16, PACKETS(6));
}

static struct kunit_case cases[] = {
	KUNIT_CASE(k_is_a_cube_root),
	KUNIT_CASE(curve_passes_through_its_three_points),
	KUNIT_CASE(grows_as_reno_where_the_curve_is_flat),
	KUNIT_CASE(grows_by_half_at_most),
	KUNIT_CASE(slow_time_is_all_the_time_there_is),
	KUNIT_CASE(loss_cuts_whole_packets_and_converges_fast),
	{}
};

static struct kunit_suite suite = { .name = "cubic", .test_cases = cases };

kunit_test_suite(suite);
