/* SPDX-License-Identifier: GPL-2.0-only */
/* Comparing a table's answers within the tolerances it carries. */
#ifndef DALBE_TEST_NEAR_H
#define DALBE_TEST_NEAR_H

#include <kunit/test.h>

/* Least size of a table that is worth the name "thousands of random inputs". */
#define MANY	2000

/**
 * ASSERT_NEAR - |got - want| <= tolerance, in the common unit of the three
 * @test: KUnit's context
 * @i: row of the table, for the message
 * @got: the answer, of the type of @want
 * @want: the reference's
 * @tolerance: u64
 *
 * Ends the test at the first row that fails: one message says enough.
 */
#define ASSERT_NEAR(test, i, got, want, tolerance) do {			\
	typeof(want) got_ = (got), want_ = (want);			\
	u64 off_ = got_ > want_ ? got_ - want_ : want_ - got_;		\
									\
	KUNIT_ASSERT_LE_MSG(test, off_, (u64)(tolerance),		\
			    "row %zu: got %lld, want %lld", (size_t)(i), \
			    (s64)got_, (s64)want_);			\
} while (0)

#endif /* DALBE_TEST_NEAR_H */
