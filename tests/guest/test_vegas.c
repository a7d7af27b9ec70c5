// SPDX-License-Identifier: GPL-2.0-only
/* dalbe_vegas: chosen by name, alone as the kernel's own Vegas, and under a goal. */
#include <string.h>

#include "ctl.h"
#include "net.h"
#include "tests.h"

#define KB	1000ull

/* Tw would be 10 s: too few updates for a test. */
static void weigh(int fd, uint32_t wmin_ppm)
{
	params_set(fd, (struct dalbe_params) {
		.flags = DALBE_PARAM_CONTROLLER | DALBE_PARAM_WMIN | DALBE_PARAM_TW,
		.controller = DALBE_CONTROLLER_WEIGHT, .wmin_ppm = wmin_ppm,
		.tw_ms = 250 });
}

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

	weigh(pair.tx, w_ppm);
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
	struct pair pair = pair_open(DALBE_CC_VEGAS);
	struct dalbe_state s;

	flow_for(&pair, 1000);
	s = state_get(pair.tx);
	CHECK_EQ(s.status, DALBE_STATUS_NONE);
	CHECK_EQ(s.updates, 0);
	goal_set(pair.tx, 5000 * KB, 10000);
	s = state_get(pair.tx);
	CHECK_EQ(s.status, DALBE_STATUS_ON_TRACK);
	CHECK_EQ(s.controller, DALBE_CONTROLLER_MBC);
	CHECK_EQ(s.w_ppm, s.wmin_ppm);
	CHECK_OP(s.target_Bps, >, 0);
	flow_for(&pair, 2000);
	s = state_get(pair.tx);
	CHECK_OP(s.updates, >, 3);
	CHECK_OP(s.bytes_done, >, 1000 * KB);
	CHECK_EQ(s.regime, DALBE_REGIME_NONE);
	goal_clear(pair.tx);
	flow_for(&pair, 1000);
	s = state_get(pair.tx);
	CHECK_EQ(s.status, DALBE_STATUS_NONE);
	CHECK_EQ(s.w_ppm, 0);

	goal_set(pair.tx, 500 * KB, 10000);
	transfer(&pair, 500 * KB);
	CHECK_EQ(state_get(pair.tx).status, DALBE_STATUS_DONE);
}

/* Beside CUBIC, which keeps the queue full. */
static void a_goal_beside_cubic(void)
{
	struct pair pair = pair_open(DALBE_CC_VEGAS), cubic = pair_open("cubic");
	struct dalbe_state s;

	params_set(pair.tx, (struct dalbe_params) {
		.flags = DALBE_PARAM_TW, .tw_ms = 500 });
	compete(&pair, &cubic, 5000, NULL);
	goal_set(pair.tx, 4000 * KB, 30000);
	compete(&pair, &cubic, 28000, all_acked);
	s = state_get(pair.tx);
	harness_note("%llu KB done, w %u ppm, phi %u ppm, %llu losses",
		     (unsigned long long)(s.bytes_done / KB), s.w_ppm, s.phi_ppm,
		     (unsigned long long)s.backoffs_loss);
	CHECK_OP(s.updates, >, 10);
	CHECK_OP(s.bytes_done, >, 3200 * KB);	/* of 4000, in 28 s of 30 */
	CHECK_EQ(s.loss_episodes, s.loss_answers);
	CHECK_OP(cubic.received, >, pair.received);
}

/* Its state lies where the scavenger's is: neither is to meet the other's. */
static void exchanged(void)
{
	static const char *const names[] = {
		DALBE_CC_VEGAS, DALBE_CC_CDG, "vegas", DALBE_CC_VEGAS, "cubic", DALBE_CC_CDG,
		DALBE_CC_VEGAS,
	};
	struct pair pair = pair_open(DALBE_CC_CDG);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		harness_turn("%s", names[i]);
		cc_set(pair.tx, names[i]);
		flow_for(&pair, 300);
		if (strncmp(names[i], "dalbe_", 6))
			continue;
		goal_set(pair.tx, 100000 * KB, 60000);
		flow_for(&pair, 1000);
		CHECK_EQ(state_get(pair.tx).status, DALBE_STATUS_ON_TRACK);
		CHECK_EQ(state_get(pair.tx).regime == DALBE_REGIME_NONE,
			 !strcmp(names[i], DALBE_CC_VEGAS));
		goal_clear(pair.tx);
		flow_for(&pair, 300);
	}
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
