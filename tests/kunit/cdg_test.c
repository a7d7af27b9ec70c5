// SPDX-License-Identifier: GPL-2.0-only
/* cdg.c: exp(-x), the gradient filter, backoff, the price of delay. */
#include <linux/prandom.h>

#include "core/bases/cdg.h"
#include "cdg_vectors.h"
#include "near.h"

static const struct cdg_heuristics lbe;	/* all off, the default */

/* exp(-x) in Q32 as the product of exp(-2^i) over the bits of x. Each of at most
 * 31 products loses less than 2^-64.
 */
static u64 exp_neg_reference_q32(u64 x_q26)
{
	u64 product_q64 = U64_MAX;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(exp_bit_vectors); i++)
		if (x_q26 >> i & 1)
			product_q64 =
				mul_u64_u64_shr(product_q64,
						exp_bit_vectors[i].factor_q64,
						64);
	return product_q64 >> 32;
}

#define EXP_ERROR_Q32		(2 * (1ull << 32) / 100000)	/* 2e-5 */
#define EXP_ERROR_TIGHT_Q32	(2 * (1ull << 32) / 1000000)	/* 2e-6 */

static u64 exp_neg_error_q32(u64 x_q26)
{
	u64 got = cdg_exp_neg_q32(x_q26), want = exp_neg_reference_q32(x_q26);

	return got > want ? got - want : want - got;
}

/* Every octave of x: all of its values, or 2^14 of them; and random ones. */
static void exp_neg_is_within_2e_minus_5(struct kunit *test)
{
	u64 worst_q32 = 0, worst_x_q26 = 0, x_q26;
	struct rnd_state rnd;
	int octave, i;

	for (octave = 0; octave < 31; octave++) {
		u64 first = 1ull << octave, step = max(first >> 14, 1);

		for (x_q26 = first; x_q26 < 2 * first; x_q26 += step) {
			u64 error_q32 = exp_neg_error_q32(x_q26);

			if (error_q32 > worst_q32) {
				worst_q32 = error_q32;
				worst_x_q26 = x_q26;
			}
		}
	}
	prandom_seed_state(&rnd, 1);
	for (i = 0; i < 100000; i++) {
		x_q26 = prandom_u32_state(&rnd) >> prandom_u32_state(&rnd) % 32;
		x_q26 %= 1ull << 31;
		worst_q32 = max(worst_q32, exp_neg_error_q32(x_q26));
	}
	kunit_info(test, "largest error %llu ppb at x = %llu / 2^26",
		   worst_q32 * 1000000000 >> 32, worst_x_q26);
	KUNIT_EXPECT_GT(test, worst_q32, 0ull);
	KUNIT_EXPECT_LE(test, worst_q32, EXP_ERROR_Q32);
	KUNIT_EXPECT_LE(test, worst_q32, EXP_ERROR_TIGHT_Q32);
}

static void exp_neg_never_rises(struct kunit *test)
{
	u32 last_q32 = U32_MAX;
	u64 x_q26;

	for (x_q26 = 0; x_q26 < 24ull << 26; x_q26 += 1021) {
		u32 q32 = cdg_exp_neg_q32(x_q26);

		KUNIT_ASSERT_LE_MSG(test, q32, last_q32, "x = %llu / 2^26",
				    x_q26);
		last_q32 = q32;
	}
}

static void exp_neg_has_its_ends(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, cdg_exp_neg_q32(0), U32_MAX);
	KUNIT_EXPECT_EQ(test, cdg_exp_neg_q32(23ull << 26), 0u);
	KUNIT_EXPECT_EQ(test, cdg_exp_neg_q32(U64_MAX), 0u);
	KUNIT_EXPECT_EQ(test, exp_neg_reference_q32(23ull << 26), 0ull);
}

/* C(1) to C(3) and the delayed-ACK filter. */
static void gradient_sum_matches_reference(struct kunit *test)
{
	enum { SAMPLE, ROUND, BACKOFF_DONE, RESTART };
	const struct gradient_vector *v = gradient_vectors;
	size_t i, rounds = 0, growing = 0;
	struct cdg c;

	for (i = 0; i < ARRAY_SIZE(gradient_vectors); i++, v++) {
		s32 sum_us;

		switch (v->op) {
		case SAMPLE:
			cdg_rtt_sample(&c, v->rtt_us, v->pkts_acked, v->sacked);
			break;
		case ROUND:
			sum_us = cdg_round(&c, &lbe);
			ASSERT_NEAR(test, i, sum_us, v->expected_us,
				    v->tolerance_us);
			rounds++;
			growing += sum_us > 0;
			break;
		case BACKOFF_DONE:
			cdg_backoff_done(&c);
			break;
		case RESTART:
			cdg_init(&c, CDG_G_DEFAULT_NS, 10);
			break;
		}
	}
	KUNIT_EXPECT_GE(test, rounds, MANY);
	KUNIT_EXPECT_GE(test, growing, MANY / 4);
}

/* C(4) at a fixed G. */
static noinline u32 probability_q32(u32 g_ns, s32 sum_us)
{
	struct cdg c;

	cdg_init(&c, g_ns, 10);
	return cdg_backoff_probability(&c, sum_us, false);
}

static void probability_matches_reference(struct kunit *test)
{
	const struct probability_vector *v = probability_vectors;
	size_t i;

	KUNIT_ASSERT_GE(test, ARRAY_SIZE(probability_vectors), MANY);
	for (i = 0; i < ARRAY_SIZE(probability_vectors); i++, v++)
		ASSERT_NEAR(test, i, probability_q32(v->g_ns, v->sum_us),
			    v->expected_q32, v->tolerance);
}

/* C(4) turned into decisions: as many as the probability says. */
static void backoffs_are_as_frequent_as_probable(struct kunit *test)
{
	const u32 draws = 1u << 16;
	u32 backoffs = 0, i;
	u64 expected;
	struct cdg c;

	cdg_init(&c, CDG_G_DEFAULT_NS, 10);
	expected = (u64)cdg_backoff_probability(&c, 10000, false) * draws >> 32;
	for (i = 0; i < draws; i++)	/* u32, evenly */
		backoffs += cdg_backoff(&c, &lbe, 10000, i << 16, 10);
	ASSERT_NEAR(test, 0, (u64)backoffs, expected, 1);
	KUNIT_EXPECT_FALSE(test, cdg_backoff(&c, &lbe, 0, 0, 10));
	KUNIT_EXPECT_FALSE(test, cdg_backoff(&c, &lbe, -1, 0, 10));
}

static void one_sample_round(struct cdg *c, s32 rtt_us)
{
	cdg_rtt_sample(c, rtt_us, 2, false);
}

/* C(5). The RTT grows without end and the least random number asks for a backoff
 * whenever one is possible. During the cut, of which TCP tells the end, rounds
 * are not judged.
 */
static void backs_off_at_most_every_second_round(struct kunit *test)
{
	u32 backoffs = 0, round;
	bool cutting = false;
	s32 rtt_us = 10000;
	struct cdg c;

	cdg_init(&c, CDG_G_MIN_NS, 100);
	for (round = 0; round < 1000; round++, rtt_us += 1000) {
		one_sample_round(&c, rtt_us);
		if (cutting) {
			cdg_backoff_done(&c);
			cutting = false;
			continue;
		}
		cutting = cdg_backoff(&c, &lbe, cdg_round(&c, &lbe), 0, 100);
		backoffs += cutting;
	}
	/* The first round has no predecessor. */
	KUNIT_EXPECT_EQ(test, backoffs, round / 2);

	/* A cut that ended without a sample leaves nothing to compare with. */
	cdg_backoff_done(&c);
	cdg_backoff_done(&c);
	one_sample_round(&c, rtt_us + 1000000);
	KUNIT_EXPECT_EQ(test, cdg_round(&c, &lbe), 0);
}

static void cuts_are_beta_for_delay_and_half_for_loss(struct kunit *test)
{
	struct cdg c;
	u32 cwnd;

	for (cwnd = 1; cwnd < 1000000; cwnd = cwnd * 3 / 2 + 1) {
		u32 delay = max_t(u32, 2, (u64)cwnd * 7071 / 10000);

		cdg_init(&c, CDG_G_MIN_NS, cwnd);
		one_sample_round(&c, 1000);
		cdg_round(&c, &lbe);
		one_sample_round(&c, 2000);
		KUNIT_ASSERT_TRUE(test,
				  cdg_backoff(&c, &lbe, cdg_round(&c, &lbe), 0,
					      cwnd));
		ASSERT_NEAR(test, cwnd, cdg_ssthresh(&c, &lbe, cwnd), delay,
			    1 + cwnd / 8192);
		KUNIT_EXPECT_EQ(test, c.price.counts.losses, 0u);
		cdg_backoff_done(&c);
		KUNIT_EXPECT_EQ(test, cdg_ssthresh(&c, &lbe, cwnd),
				max(2u, cwnd / 2));
		KUNIT_EXPECT_EQ(test, c.price.counts.losses, 1u);
	}
}

/* F(23): what the cuts took, over the last eight or so; at two packets nothing. */
static void mean_cut_follows_the_cuts_made(struct kunit *test)
{
	static const struct { u32 cwnd, mean_q16; } rows[] = {
		{ 100000, CDG_CUT_DELAY_Q16 },
		{ 5, Q16_ONE * 2 / 5 },		/* to 3 */
		{ 3, Q16_ONE / 3 },		/* to 2 */
		{ 2, CDG_CUT_MIN_Q16 },
	};
	struct cdg c;
	size_t i;
	int cut;

	cdg_init(&c, CDG_G_DEFAULT_NS, 10);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		for (cut = 0; cut < 100; cut++) {
			c.state = CDG_BACKOFF;
			cdg_ssthresh(&c, &lbe, rows[i].cwnd);
		}
		ASSERT_NEAR(test, i, c.price.cut_q16, rows[i].mean_q16, 16);
	}
}

/* A short queue is judged at idle_g_ns, a long one at G. */
static void idle_g_holds_while_the_queue_is_short(struct kunit *test)
{
	const s32 base_us = 40000, short_us = base_us + base_us / 16 - 1;
	struct cdg c;

	cdg_init(&c, CDG_G_MIN_NS, 10);
	cdg_set_idle_g(&c, CDG_IDLE_G_DEFAULT_NS);
	KUNIT_EXPECT_EQ(test, cdg_backoff_probability(&c, 5000, true),
			probability_q32(CDG_IDLE_G_DEFAULT_NS, 5000));

	one_sample_round(&c, base_us);
	cdg_round(&c, &lbe);
	one_sample_round(&c, short_us);
	cdg_round(&c, &lbe);
	KUNIT_EXPECT_FALSE(test,
			   cdg_backoff(&c, &lbe, 5000, U32_MAX / 2, 10));
	one_sample_round(&c, short_us + 1);
	cdg_round(&c, &lbe);
	KUNIT_EXPECT_TRUE(test, cdg_backoff(&c, &lbe, 5000, U32_MAX / 2, 10));
}

/* Let a flow see one round with this sum: the first gradient of a connection is
 * extrapolated to a whole window.
 */
static void feed_gradient(struct cdg *c, s32 sum_us)
{
	const s32 base_us = 1000;

	cdg_restart(c, 10);
	one_sample_round(c, base_us);
	cdg_round(c, &lbe);
	one_sample_round(c, base_us + sum_us / CDG_WINDOW);
	cdg_round(c, &lbe);
}

static void delay_price_matches_reference(struct kunit *test)
{
	const struct delay_price_vector *v = delay_price_vectors;
	struct cdg c;
	size_t i, j;

	KUNIT_ASSERT_GE(test, ARRAY_SIZE(delay_price_vectors), MANY);
	for (i = 0; i < ARRAY_SIZE(delay_price_vectors); i++, v++) {
		cdg_init(&c, CDG_G_DEFAULT_NS, 10);
		for (j = 0; j < ARRAY_SIZE(v->sums_us); j++)
			feed_gradient(&c, v->sums_us[j]);
		ASSERT_NEAR(test, i, cdg_delay_price_q40(&c, v->g_ns),
			    v->expected_q40, v->tolerance);
	}
}

/* F(12) */
static void rate_price_matches_reference(struct kunit *test)
{
	const struct rate_price_vector *v = rate_price_vectors;
	size_t i;

	KUNIT_ASSERT_GE(test, ARRAY_SIZE(rate_price_vectors), MANY);
	for (i = 0; i < ARRAY_SIZE(rate_price_vectors); i++, v++)
		ASSERT_NEAR(test, i,
			    cdg_rate_price_q40(v->rate_Bps, v->mss, v->rtt_us),
			    v->expected_q40, v->tolerance);
}

static u32 scaled(u32 g_ns, u32 percent)
{
	return clamp_t(u64, (u64)g_ns * percent / 100, CDG_G_MIN_NS,
		       CDG_G_MAX_NS);
}

/* Within 2 %, also where the price hardly depends on G: the price asked for lies
 * between those of a G that is 2 % larger and of one that is 2 % smaller.
 */
static void g_for_delay_price_inverts_delay_price(struct kunit *test)
{
	struct rnd_state rnd;
	struct cdg c;
	int i, j;

	prandom_seed_state(&rnd, 1);
	for (i = 0; i < MANY; i++) {
		u32 span = CDG_G_MAX_NS >> prandom_u32_state(&rnd) % 16;
		u32 g_ns = max(prandom_u32_state(&rnd) % span, CDG_G_MIN_NS);
		u64 price_q40;
		u32 found_ns;

		cdg_init(&c, CDG_G_DEFAULT_NS, 10);
		for (j = 0; j < 20; j++)
			feed_gradient(&c, (s32)prandom_u32_state(&rnd) >>
				      (2 + prandom_u32_state(&rnd) % 28));
		price_q40 = cdg_delay_price_q40(&c, g_ns);
		found_ns = cdg_g_for_delay_price(&c, price_q40, 0);
		KUNIT_ASSERT_LE_MSG(test,
				    cdg_delay_price_q40(&c, scaled(found_ns, 102)),
				    price_q40, "G %u, found %u", g_ns, found_ns);
		KUNIT_ASSERT_GE_MSG(test,
				    cdg_delay_price_q40(&c, scaled(found_ns, 98)),
				    price_q40, "G %u, found %u", g_ns, found_ns);
	}
}

static void g_for_delay_price_has_its_ends(struct kunit *test)
{
	struct cdg c;

	cdg_init(&c, CDG_G_DEFAULT_NS, 10);
	KUNIT_EXPECT_EQ(test, cdg_delay_price_q40(&c, 5000), 0ull);
	KUNIT_EXPECT_EQ(test, cdg_g_for_delay_price(&c, 1, 5000), 5000u);
	KUNIT_EXPECT_EQ(test, cdg_g_for_delay_price(&c, 1, 0),
			(u32)CDG_G_MIN_NS);
	KUNIT_EXPECT_EQ(test, cdg_g_for_delay_price(&c, 1, U32_MAX),
			(u32)CDG_G_MAX_NS);

	feed_gradient(&c, 8000);
	KUNIT_EXPECT_EQ(test, cdg_g_for_delay_price(&c, 0, 0),
			(u32)CDG_G_MAX_NS);
	KUNIT_EXPECT_EQ(test, cdg_g_for_delay_price(&c, U64_MAX, 0),
			(u32)CDG_G_MIN_NS);
}

/* Gradients of many Tw ago have no say: neither alone nor against what is new. */
static void old_gradients_are_forgotten(struct kunit *test)
{
	struct cdg c, fresh;
	int i, sum_us;

	cdg_init(&c, CDG_G_DEFAULT_NS, 10);
	cdg_init(&fresh, CDG_G_DEFAULT_NS, 10);
	for (sum_us = 8; sum_us < 1 << 28; sum_us *= 2)
		for (i = 0; i < 4; i++)
			feed_gradient(&c, sum_us);
	for (i = 0; i < 100; i++)
		cdg_age_histogram(&c);
	feed_gradient(&c, 800);
	feed_gradient(&fresh, 800);
	ASSERT_NEAR(test, 0, cdg_delay_price_q40(&c, CDG_G_MAX_NS),
		    cdg_delay_price_q40(&fresh, CDG_G_MAX_NS),
		    cdg_delay_price_q40(&fresh, CDG_G_MAX_NS) / 20);
}

/* Long after the counters of rounds have had to be aged. */
static void histogram_never_overflows(struct kunit *test)
{
	u64 price_q40, last_q40 = 0;
	struct cdg c;
	u32 i;

	cdg_init(&c, CDG_G_DEFAULT_NS, 10);
	for (i = 0; i < 1u << 22; i++) {
		/* The RTT grows by 1 ms for 15 rounds, then falls back. */
		one_sample_round(&c, 1000 + i % 16 * 1000);
		cdg_round(&c, &lbe);
		if (i < 1u << 20 || i % (1u << 12))
			continue;
		price_q40 = cdg_delay_price_q40(&c, CDG_G_DEFAULT_NS);
		if (last_q40)
			ASSERT_NEAR(test, i, price_q40, last_q40,
				    last_q40 / 100);
		last_q40 = price_q40;
	}
	KUNIT_EXPECT_GT(test, last_q40, 0ull);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(exp_neg_is_within_2e_minus_5),
	KUNIT_CASE(exp_neg_never_rises),
	KUNIT_CASE(exp_neg_has_its_ends),
	KUNIT_CASE(gradient_sum_matches_reference),
	KUNIT_CASE(probability_matches_reference),
	KUNIT_CASE(backoffs_are_as_frequent_as_probable),
	KUNIT_CASE(backs_off_at_most_every_second_round),
	KUNIT_CASE(cuts_are_beta_for_delay_and_half_for_loss),
	KUNIT_CASE(mean_cut_follows_the_cuts_made),
	KUNIT_CASE(idle_g_holds_while_the_queue_is_short),
	KUNIT_CASE(delay_price_matches_reference),
	KUNIT_CASE(rate_price_matches_reference),
	KUNIT_CASE(g_for_delay_price_inverts_delay_price),
	KUNIT_CASE(g_for_delay_price_has_its_ends),
	KUNIT_CASE(old_gradients_are_forgotten),
	KUNIT_CASE(histogram_never_overflows),
	{}
};

static struct kunit_suite suite = { .name = "cdg", .test_cases = cases };

kunit_test_suite(suite);
