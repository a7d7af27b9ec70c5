// SPDX-License-Identifier: GPL-2.0-only
/* Unit tests of share.c; TAP on stdout. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "array.h"
#include "human.h"
#include "share.h"
#include "tap.h"

static uint64_t part(const struct share *conn)
{
	return conn->bytes - conn->done;
}

static void test_cases(void)
{
	struct share one = { .done = 7, .fresh = true };
	struct share fresh[3] = { { .fresh = true }, { .fresh = true },
				  { .fresh = true } };
	struct share idle[2] = { { .done = 500, .rate_Bps = 1000000 },
				 { .done = 20 } };
	struct share slow[2] = { { .rate_Bps = 3 }, { .done = 1 } };
	struct share late[3] = { { .rate_Bps = 100 }, { .rate_Bps = 300 },
				 { .fresh = true } };
	struct share ends[2] = { { .done = 10, .queued = 5, .closing = true },
				 { .rate_Bps = 1 } };
	static struct share big[1 << 15];
	bool alike = true;

	share_divide(&one, 1, 1000);
	check(one.bytes == 1007, "one connection gets all", NULL);
	share_divide(&one, 1, 0);
	check(one.bytes == 7, "nothing left, nothing added", NULL);
	one.done = 0;
	share_divide(&one, 1, 0);
	check(one.bytes == 1, "never zero, which the kernel refuses", NULL);
	share_divide(NULL, 0, 1000);
	check(true, "no connection, no harm", NULL);

	share_divide(fresh, 3, 1000);
	check(fresh[0].bytes == 333 && fresh[1].bytes == 333 &&
	      fresh[2].bytes == 334, "new connections share alike", NULL);

	share_divide(idle, 2, 650000);
	check(part(&idle[0]) == 640000 && part(&idle[1]) == 10000,
	      "an idle connection gets a token", NULL);

	share_divide(slow, 2, 400);
	check(part(&slow[0]) == 300 && part(&slow[1]) == 100,
	      "also where the others' rate is a few bytes per second", NULL);

	share_divide(late, 3, 600);
	check(late[0].bytes == 100 && late[1].bytes == 300 &&
	      late[2].bytes == 200, "progress counts; a new one is average",
	      NULL);

	share_divide(ends, 2, 100);
	check(ends[0].bytes == 15 && ends[1].bytes == 95,
	      "a closing connection gets what it has queued", NULL);
	share_divide(ends, 2, 3);
	check(ends[0].bytes == 13 && ends[1].bytes == 1,
	      "but not more than is left", NULL);

	for (size_t i = 0; i < ARRAY_SIZE(big); i++)
		big[i].rate_Bps = SHARE_MAX_Bps;
	share_divide(big, ARRAY_SIZE(big), INT64_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(big); i++)
		alike &= big[i].bytes - (INT64_MAX >> 15) <= 1;
	check(alike, "no overflow at the extremes", NULL);

	check(share_smooth(0, 1000, NSEC_PER_SEC) == 500, "half new", NULL);
	check(share_smooth(1000, 0, NSEC_PER_SEC) == 500, "half old", NULL);
	check(share_smooth(SHARE_MAX_Bps, UINT64_MAX, 1) == SHARE_MAX_Bps,
	      "a rate has an upper bound", NULL);
}

/* Whatever the connections are, every byte is given to exactly one. */
static void test_sums(void)
{
	bool sums = true, fair = true;

	srandom(1);
	for (int round = 0; round < 20000; round++) {
		struct share conns[16] = { 0 };
		size_t n = 1 + (size_t)random() % 16;
		uint64_t left = (uint64_t)random() << (random() % 32);
		uint64_t sum = 0;

		for (size_t i = 0; i < n; i++) {
			conns[i].done = 1 + (uint64_t)random();
			conns[i].rate_Bps = (uint64_t)random() %
					    (1ull << random() % 40);
			conns[i].fresh = random() % 4 == 0;
		}
		share_divide(conns, n, left);
		for (size_t i = 0; i < n; i++) {
			sum += part(&conns[i]);
			fair &= conns[i].bytes >= conns[i].done;
		}
		sums &= sum == left;
	}
	check(sums, "20,000 random divisions: the shares sum up exactly", NULL);
	check(fair, "20,000 random divisions: no share is negative", NULL);
}

int main(void)
{
	test_cases();
	test_sums();
	return plan();
}
