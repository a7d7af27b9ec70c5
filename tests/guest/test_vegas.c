// SPDX-License-Identifier: GPL-2.0-only
/* dalbe_vegas: chosen by name, alone as the kernel's own Vegas, and under a goal. */
#include <string.h>

#include "base.h"
#include "ctl.h"
#include "net.h"
#include "tests.h"

static uint32_t window_of(const char *cc)
{
	struct pair pair = pair_open(cc);
	uint32_t cwnd;

	CHECK(!strcmp(sock_cc(pair.tx), cc));
	flow_for(&pair, 10000);
	cwnd = sock_tcp_info(pair.tx).tcpi_snd_cwnd;
	harness_note("%s: a window of %u packets, %llu KB", cc, cwnd,
		     (unsigned long long)(pair.received / KB));
	CHECK_OP(pair.received, >, 10000 * KB);
	pair_close(&pair);
	return cwnd;
}

static void as_the_kernels(void)
{
	uint32_t theirs = window_of("vegas"), ours = window_of(DALBE_CC_VEGAS);

	CHECK_OP(ours, <=, theirs + 2);
	CHECK_OP(theirs, <=, ours + 2);
}

/* The window alone, in packets: what the path holds, and alpha. */
static uint32_t window_under_w(uint32_t w_ppm)
{
	struct pair pair = pair_open(DALBE_CC_VEGAS);
	struct dalbe_state s;

	base_weigh(pair.tx, w_ppm);
	flow_for(&pair, 10000);
	s = state_get(pair.tx);
	CHECK_OP(s.updates, >, 10);
	CHECK_EQ(s.w_ppm, s.wmin_ppm);
	CHECK_EQ(s.regime, DALBE_REGIME_NONE);
	CHECK_EQ(s.level_Bps, 0);
	CHECK_EQ(s.backoffs_delay, 0);
	CHECK_OP(s.phi_ppm, >=, 1000000);
	CHECK_OP(pair.received, >, 10000 * KB);
	harness_note("w = %u ppm: a window of %u packets", w_ppm, s.cwnd);
	pair_close(&pair);
	return s.cwnd;
}

static void by_weight(void)
{
	uint32_t least = window_under_w(20000), half = window_under_w(500000);

	CHECK_OP(half, >, least + 2);
	CHECK_OP(half, <, least + 20);
}

static void a_goal_comes_and_goes(void)
{
	base_goal_comes_and_goes(DALBE_CC_VEGAS, 1500);
}

static void a_goal_beside_cubic(void)
{
	base_goal_beside_cubic(DALBE_CC_VEGAS, 4000);
}

static void exchanged(void)
{
	static const char *const names[] = {
		DALBE_CC_VEGAS, DALBE_CC_CDG, "vegas", DALBE_CC_VEGAS, "cubic", DALBE_CC_CDG,
		DALBE_CC_VEGAS,
	};

	base_exchanged(names, ARRAY_SIZE(names));
}

/* net.dalbe.effect is CDG's alone, net.dalbe.scavenger everybody's. */
static void by_sysctl(void)
{
	struct pair pair;
	struct dalbe_state s;

	sysctl_write(NS_TX, "dalbe/effect", "0");
	pair = pair_open(DALBE_CC_VEGAS);
	goal_set(pair.tx, 100000 * KB, 20000);
	flow_for(&pair, 2000);
	s = state_get(pair.tx);
	goal_clear(pair.tx);
	flow_for(&pair, 300);
	sysctl_write(NS_TX, "dalbe/effect", "1");
	CHECK_OP(s.updates, >, 3);
	pair_close(&pair);

	sysctl_write(NS_TX, "dalbe/scavenger", "1");
	pair = pair_open(DALBE_CC_VEGAS);
	sysctl_write(NS_TX, "dalbe/scavenger", "0");
	flow_for(&pair, 1000);
	s = state_get(pair.tx);
	CHECK_EQ(s.controller, DALBE_CONTROLLER_WEIGHT);
	CHECK_EQ(s.w_ppm, s.wmin_ppm);
}

const struct test tests_vegas[] = {
	{ "vegas: alone, without a goal, the kernel's own window", as_the_kernels },
	{ "vegas: w is packets in the queue", by_weight },
	{ "vegas: a goal comes and goes", a_goal_comes_and_goes },
	{ "vegas: a goal beside CUBIC", a_goal_beside_cubic },
	{ "vegas: exchanged for others and back", exchanged },
	{ "vegas: by net.dalbe", by_sysctl },
	{}
};
