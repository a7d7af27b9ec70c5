// SPDX-License-Identifier: GPL-2.0-only
/* control.c, function by function: target rate, limiter, PID, MBC, phi. */
#include "control_vectors.h"
#include "core/control/control.h"
#include "near.h"

/* F(6) */
static void target_rate_matches_reference(struct kunit *test)
{
	const struct target_vector *v = target_vectors;
	size_t i;

	KUNIT_ASSERT_GE(test, ARRAY_SIZE(target_vectors), MANY);
	for (i = 0; i < ARRAY_SIZE(target_vectors); i++, v++)
		ASSERT_NEAR(test, i, control_target_Bps(v->bytes, v->left_ns),
			    v->expected_Bps, v->tolerance);
	KUNIT_EXPECT_EQ(test, control_target_Bps(1, 0), U64_MAX);
	KUNIT_EXPECT_EQ(test, control_target_Bps(0, 0), 0ull);
}

/* F(19) */
static void limiter_matches_reference(struct kunit *test)
{
	const struct limit_vector *v = limit_vectors;
	size_t i;

	KUNIT_ASSERT_GE(test, ARRAY_SIZE(limit_vectors), MANY);
	for (i = 0; i < ARRAY_SIZE(limit_vectors); i++, v++)
		ASSERT_NEAR(test, i,
			    control_limit_increase(v->old_q16, v->new_q16,
						   DALBE_W_LIMIT_Q16),
			    v->expected_q16, v->tolerance);
}

/* F(7) to F(9) */
static void pid_matches_reference(struct kunit *test)
{
	const struct pid_vector *v = pid_vectors;
	size_t i;

	KUNIT_ASSERT_GE(test, ARRAY_SIZE(pid_vectors), MANY);
	for (i = 0; i < ARRAY_SIZE(pid_vectors); i++, v++) {
		struct control_pid pid = {
			.integral_q16 = v->integral_q16,
			.error_q16 = v->error_q16,
		};

		ASSERT_NEAR(test, i,
			    control_pid_update(&pid, v->w_q16, v->target_Bps,
					       v->rate_Bps, v->tw_ns),
			    v->expected_u_q16, v->tolerance);
		ASSERT_NEAR(test, i, pid.integral_q16, v->expected_integral_q16,
			    v->tolerance);
		ASSERT_NEAR(test, i, pid.error_q16, v->expected_error_q16, 2);
	}
}

/* F(14), F(26) */
static void mbc_weight_matches_reference(struct kunit *test)
{
	const struct mbc_weight_vector *v = mbc_weight_vectors;
	size_t i;

	KUNIT_ASSERT_GE(test, ARRAY_SIZE(mbc_weight_vectors), MANY);
	for (i = 0; i < ARRAY_SIZE(mbc_weight_vectors); i++, v++)
		ASSERT_NEAR(test, i,
			    control_mbc_answer_q16(v->price_q40, v->phi_q16,
						   v->model_price_q40, v->trim_q16),
			    v->expected_q16, v->tolerance);
}

/* F(13), with the memory */
static void mbc_trim_matches_reference(struct kunit *test)
{
	const struct mbc_trim_vector *v = mbc_trim_vectors;
	size_t i;

	KUNIT_ASSERT_GE(test, ARRAY_SIZE(mbc_trim_vectors), MANY);
	for (i = 0; i < ARRAY_SIZE(mbc_trim_vectors); i++, v++)
		ASSERT_NEAR(test, i,
			    control_mbc_trim(v->trim_q16, v->target_Bps,
					     v->rate_Bps),
			    v->expected_q16, v->tolerance);
}

/* F(25) */
static void phi_matches_reference(struct kunit *test)
{
	const struct phi_vector *v = phi_vectors;
	size_t i;

	KUNIT_ASSERT_GE(test, ARRAY_SIZE(phi_vectors), MANY);
	for (i = 0; i < ARRAY_SIZE(phi_vectors); i++, v++)
		ASSERT_NEAR(test, i,
			    control_next_phi_q16(v->phi_q16, v->price_q40,
						 v->price_standard_q40, DALBE_PHI_LIMIT_Q16),
			    v->expected_q16, v->tolerance);
}

static void tw_follows_window_and_rtt(struct kunit *test)
{
	static const struct {
		u64 window_ns;
		u32 srtt_us, tw_ms;
		u64 expected_ns;
	} rows[] = {
		{ 2 * NSEC_PER_SEC, 1000, 0, 100 * NSEC_PER_MSEC }, /* least */
		{ 128 * NSEC_PER_SEC, 1000, 0, NSEC_PER_SEC },	/* 1/128 */
		{ 1ull << 55, 1000, 0, 10 * NSEC_PER_SEC },	/* paper's */
		{ 128 * NSEC_PER_SEC, 500000, 0, 4 * NSEC_PER_SEC }, /* 8 RTT */
		{ 128 * NSEC_PER_SEC, 500001, 0, 4 * NSEC_PER_SEC }, /* margin */
		{ 128 * NSEC_PER_SEC, 60000000, 0, 120 * NSEC_PER_SEC }, /* 2 RTT */
		{ 128 * NSEC_PER_SEC, 500000, 200, 200 * NSEC_PER_MSEC },
		{ 1, U32_MAX, DALBE_TW_MAX_MS, 600 * NSEC_PER_SEC },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct control_config config = {
			.tw_ms = rows[i].tw_ms, .wmin_q16 = 1,
		};
		struct control d;

		control_start(&d, &config, 1, 0, 5, 5 + rows[i].window_ns);
		KUNIT_EXPECT_EQ(test, control_tw_ns(&d, rows[i].srtt_us),
				rows[i].expected_ns);
	}
}

/* Without a goal w stays at wmin, whatever was measured. */
static void no_goal_no_end(struct kunit *test)
{
	struct control_config config = {
		.controller = DALBE_CONTROLLER_WEIGHT, .wmin_q16 = 655,
	};
	struct control_sample s = {
		.now_ns = 5, .elapsed_ns = NSEC_PER_SEC, .others_seen = true,
	};
	struct control d;
	int i;

	control_start(&d, &config, 0, 1000, 5, 5);
	KUNIT_EXPECT_EQ(test, control_tw_ns(&d, 1000), DALBE_TW_PAPER_NS);
	for (i = 0; i < 100; i++) {
		s.now_ns += NSEC_PER_SEC;
		s.bytes_done = 1000 + (u64)i * 125000;
		control_update(&d, &s, NULL);
		KUNIT_EXPECT_EQ(test, d.status, DALBE_STATUS_NONE);
		KUNIT_EXPECT_EQ(test, d.w_q16, config.wmin_q16);
		KUNIT_EXPECT_EQ(test, d.target_Bps, 0ull);
		KUNIT_EXPECT_EQ(test, d.rate_Bps, i ? 125000ull : 0ull);
	}
	control_start(&d, &config, 1, 0, 5, 10);
	KUNIT_EXPECT_EQ(test, d.status, DALBE_STATUS_ON_TRACK);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(target_rate_matches_reference),
	KUNIT_CASE(limiter_matches_reference),
	KUNIT_CASE(pid_matches_reference),
	KUNIT_CASE(mbc_weight_matches_reference),
	KUNIT_CASE(mbc_trim_matches_reference),
	KUNIT_CASE(phi_matches_reference),
	KUNIT_CASE(tw_follows_window_and_rtt),
	KUNIT_CASE(no_goal_no_end),
	{}
};

static struct kunit_suite suite = { .name = "control", .test_cases = cases };

kunit_test_suite(suite);
