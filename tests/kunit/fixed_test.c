// SPDX-License-Identifier: GPL-2.0-only
/* fixed.h: saturating fixed-point arithmetic. */
#include "core/fixed.h"
#include "fixed_vectors.h"
#include "near.h"

static void mul_div_matches_exact_arithmetic(struct kunit *test)
{
	const struct mul_div_vector *v = mul_div_vectors;
	size_t i;

	KUNIT_ASSERT_GE(test, ARRAY_SIZE(mul_div_vectors), MANY);
	for (i = 0; i < ARRAY_SIZE(mul_div_vectors); i++, v++)
		ASSERT_NEAR(test, i, fp_mul_div(v->a, v->b, v->c), v->expected,
			    v->tolerance);
}

static void mul_div_saturates(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, fp_mul_div(U64_MAX, U64_MAX, 1), U64_MAX);
	KUNIT_EXPECT_EQ(test, fp_mul_div(U64_MAX, 2, 1), U64_MAX);
	KUNIT_EXPECT_EQ(test, fp_mul_div(1, 1, 0), U64_MAX);
	KUNIT_EXPECT_EQ(test, fp_mul_div(0, U64_MAX, 0), 0ull);
	KUNIT_EXPECT_EQ(test, fp_mul_div(U64_MAX, 0, 0), 0ull);
	KUNIT_EXPECT_EQ(test, fp_mul_div(1, 1, U64_MAX), 0ull);
}

static void shift_saturates_at_every_width(struct kunit *test)
{
	int width, shift;

	for (width = 1; width <= 64; width++) {
		u64 x = U64_MAX >> (64 - width);	/* width ones */

		KUNIT_EXPECT_EQ(test, fp_shift(0, width), 0ull);
		for (shift = -130; shift <= 64; shift++) {
			u64 want;

			if (shift <= -width)
				want = 0;
			else if (shift <= 0)
				want = x >> -shift;
			else if (shift + width > 64)
				want = U64_MAX;
			else
				want = x << shift;
			KUNIT_ASSERT_EQ_MSG(test, fp_shift(x, shift), want,
					    "%d ones by %d", width, shift);
		}
	}
}

static void ratio_and_sum_saturate(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, fp_ratio_q16(1, 2), Q16_ONE / 2);
	KUNIT_EXPECT_EQ(test, fp_ratio_q16(0, 0), 0u);
	KUNIT_EXPECT_EQ(test, fp_ratio_q16(1, 0), U32_MAX);
	KUNIT_EXPECT_EQ(test, fp_ratio_q16(U64_MAX, 1), U32_MAX);
	KUNIT_EXPECT_EQ(test, fp_mul_q16(100, Q16_ONE / 4), 25ull);
	KUNIT_EXPECT_EQ(test, fp_mul_q16(U64_MAX, Q16_ONE + 1), U64_MAX);
	KUNIT_EXPECT_EQ(test, fp_add(1, 2), 3ull);
	KUNIT_EXPECT_EQ(test, fp_add(U64_MAX, 0), U64_MAX);
	KUNIT_EXPECT_EQ(test, fp_add(U64_MAX, U64_MAX), U64_MAX);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(mul_div_matches_exact_arithmetic),
	KUNIT_CASE(mul_div_saturates),
	KUNIT_CASE(shift_saturates_at_every_width),
	KUNIT_CASE(ratio_and_sum_saturate),
	{}
};

static struct kunit_suite suite = { .name = "fixed", .test_cases = cases };

kunit_test_suite(suite);
