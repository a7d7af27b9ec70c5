// SPDX-License-Identifier: GPL-2.0-only
/* Parts of the tests of base congestion controls; see base.h. */
#include "base.h"

#include <string.h>

#include "harness.h"
#include "net.h"

/* Put a connection under this w. Tw would be 10 s: too few updates for a test. */
void base_weigh(int fd, uint32_t wmin_ppm)
{
	params_set(fd, (struct dalbe_params) {
		.flags = DALBE_PARAM_CONTROLLER | DALBE_PARAM_WMIN | DALBE_PARAM_TW,
		.controller = DALBE_CONTROLLER_WEIGHT, .wmin_ppm = wmin_ppm,
		.tw_ms = 250 });
}

/* Set a goal, clear it, and meet another; @least_kb of the first are done in 3 s. */
void base_goal_comes_and_goes(const char *cc, unsigned int least_kb)
{
	struct pair pair = pair_open(cc);
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
	flow_for(&pair, 3000);
	s = state_get(pair.tx);
	CHECK_OP(s.updates, >, 5);
	CHECK_OP(s.bytes_done, >, least_kb * KB);
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

/* A goal of so many KB in 30 s, beside CUBIC, which keeps the queue full: four fifths are done
 * after 28 s.
 */
struct dalbe_state base_goal_beside_cubic(const char *cc, unsigned int kb)
{
	struct pair pair = pair_open(cc), cubic = pair_open("cubic");
	struct dalbe_state s;

	params_set(pair.tx, (struct dalbe_params) {
		.flags = DALBE_PARAM_TW, .tw_ms = 500 });
	compete(&pair, &cubic, 5000, NULL);
	goal_set(pair.tx, kb * KB, 30000);
	compete(&pair, &cubic, 28000, all_acked);
	s = state_get(pair.tx);
	harness_note("%llu KB done, w %u ppm, phi %u ppm, %llu losses, %llu cuts for delay",
		     (unsigned long long)(s.bytes_done / KB), s.w_ppm, s.phi_ppm,
		     (unsigned long long)s.backoffs_loss, (unsigned long long)s.backoffs_delay);
	CHECK_OP(s.updates, >, 10);
	CHECK_OP(s.bytes_done, >, kb * KB * 4 / 5);
	CHECK_EQ(s.loss_episodes, s.loss_answers);
	CHECK_OP(cubic.received, >, pair.received);
	return s;
}

/* A connection changes from one to the next: their states lie in the same place, and none is to
 * meet another's.
 */
void base_exchanged(const char *const names[], size_t count)
{
	struct pair pair = pair_open(DALBE_CC_CDG);

	for (size_t i = 0; i < count; i++) {
		harness_turn("%s", names[i]);
		cc_set(pair.tx, names[i]);
		flow_for(&pair, 300);
		if (strncmp(names[i], "dalbe_", 6))
			continue;
		goal_set(pair.tx, 100000 * KB, 60000);
		flow_for(&pair, 1000);
		CHECK_EQ(state_get(pair.tx).status, DALBE_STATUS_ON_TRACK);
		CHECK_EQ(state_get(pair.tx).regime == DALBE_REGIME_NONE,
			 strcmp(names[i], DALBE_CC_CDG) != 0);
		goal_clear(pair.tx);
		flow_for(&pair, 300);
	}
}
