// SPDX-License-Identifier: GPL-2.0-only
/* Settings of one socket: set, read back, in force, and against the sysctls. */
#include <netinet/in.h>
#include <string.h>

#include "ctl.h"
#include "net.h"
#include "tests.h"

#define KB	1000ull

/* Both ends and something between; after each the state agrees. */
static void set_each(int fd)
{
	static const uint32_t g_ns[] = {
		DALBE_G_MIN_NS, 100000, 3141593, DALBE_G_MAX_NS };
	static const uint32_t tw_ms[] = {
		DALBE_TW_MIN_MS, 777, DALBE_TW_MAX_MS };
	static const uint32_t wmin_ppm[] = {
		DALBE_WMIN_MIN_PPM, 333333, DALBE_WMIN_MAX_PPM };

	for (size_t i = 0; i < 3; i++) {
		params_set(fd, (struct dalbe_params) {
			.flags = DALBE_PARAM_TW, .tw_ms = tw_ms[i] });
		CHECK_EQ(state_get(fd).tw_ms, tw_ms[i]);
		params_set(fd, (struct dalbe_params) {
			.flags = DALBE_PARAM_WMIN, .wmin_ppm = wmin_ppm[i] });
		CHECK_EQ(state_get(fd).wmin_ppm, wmin_ppm[i]);
		params_set(fd, (struct dalbe_params) {
			.flags = DALBE_PARAM_AFTER, .after_deadline = i });
		CHECK_EQ(state_get(fd).after_deadline, i);
	}
	for (uint32_t i = DALBE_CONTROLLER_FLOOR + 1; i-- > 0; ) {
		params_set(fd, (struct dalbe_params) {
			.flags = DALBE_PARAM_CONTROLLER, .controller = i });
		CHECK_EQ(state_get(fd).controller, i);
	}
	/* G, with the fixed controller that the loop ended with */
	for (size_t i = 0; i < 4; i++) {
		params_set(fd, (struct dalbe_params) {
			.flags = DALBE_PARAM_G, .g_ns = g_ns[i] });
		CHECK_EQ(state_get(fd).g_ns, g_ns[i]);
	}
}

static void read_back(void)
{
	int tx = sock_open(NS_TX, IPV4, SOCK_STREAM);
	struct dalbe_state before, after;
	struct pair pair;

	cc_set(tx, DALBE_CC_CDG);
	harness_turn("before connect");
	set_each(tx);
	before = state_get(tx);

	pair = pair_around(tx, IPV4);
	harness_turn("connected");
	after = state_get(tx);			/* survived connect() */
	CHECK_EQ(after.g_ns, before.g_ns);
	CHECK_EQ(after.tw_ms, before.tw_ms);
	CHECK_EQ(after.wmin_ppm, before.wmin_ppm);
	CHECK_EQ(after.controller, before.controller);
	CHECK_EQ(after.after_deadline, before.after_deadline);
	set_each(tx);

	harness_turn("sending");
	flow_for(&pair, 300);
	set_each(tx);

	harness_turn("with a goal");
	goal_set(tx, 10000 * KB, 30000);
	flow_for(&pair, 300);
	set_each(tx);
	flow_for(&pair, 300);
	goal_clear(tx);
	CHECK_EQ(state_get(tx).wmin_ppm, DALBE_WMIN_MAX_PPM);
	CHECK_EQ(state_get(tx).after_deadline, DALBE_AFTER_KEEP);
}

static void several_at_once(void)
{
	int tx = sock_open(NS_TX, IPV4, SOCK_STREAM);
	struct dalbe_state s;

	cc_set(tx, DALBE_CC_CDG);
	params_set(tx, (struct dalbe_params) {
		.flags = DALBE_PARAM_G | DALBE_PARAM_CONTROLLER |
			 DALBE_PARAM_TW | DALBE_PARAM_WMIN | DALBE_PARAM_AFTER,
		.g_ns = 6000000, .controller = DALBE_CONTROLLER_PID,
		.tw_ms = 500, .wmin_ppm = 20000,
		.after_deadline = DALBE_AFTER_SCAVENGER });
	s = state_get(tx);
	CHECK_EQ(s.g_ns, 6000000);
	CHECK_EQ(s.controller, DALBE_CONTROLLER_PID);
	CHECK_EQ(s.tw_ms, 500);
	CHECK_EQ(s.wmin_ppm, 20000);
	CHECK_EQ(s.after_deadline, DALBE_AFTER_SCAVENGER);

	/* Tw 0, "derive it", is a setting too */
	params_set(tx, (struct dalbe_params) { .flags = DALBE_PARAM_TW });
	CHECK_EQ(state_get(tx).tw_ms, 0);
	CHECK_EQ(state_get(tx).wmin_ppm, 20000);
}

/* A parameter set on the socket wins; one that is not follows the namespace. */
static void override_sysctls(void)
{
	static const char *const names[] = {
		"dalbe/g_us", "dalbe/controller", "dalbe/tw_ms",
		"dalbe/wmin_ppm", "dalbe/after_deadline" };
	static const char *const values[] = {
		"7000", "1", "900", "40000", "2" };
	int tx = sock_open(NS_TX, IPV4, SOCK_STREAM);
	char before[5][SYSCTL_LEN];
	struct dalbe_state follows, own;

	cc_set(tx, DALBE_CC_CDG);
	for (size_t i = 0; i < 5; i++) {
		sysctl_read(NS_TX, names[i], before[i]);
		sysctl_write(NS_TX, names[i], values[i]);
	}
	follows = state_get(tx);
	params_set(tx, (struct dalbe_params) {
		.flags = DALBE_PARAM_G | DALBE_PARAM_WMIN,
		.g_ns = 50000, .wmin_ppm = 60000 });
	own = state_get(tx);
	for (size_t i = 0; i < 5; i++)
		sysctl_write(NS_TX, names[i], before[i]);

	CHECK_EQ(follows.g_ns, 7000000);
	CHECK_EQ(follows.controller, DALBE_CONTROLLER_PID);
	CHECK_EQ(follows.tw_ms, 900);
	CHECK_EQ(follows.wmin_ppm, 40000);
	CHECK_EQ(follows.after_deadline, DALBE_AFTER_KEEP);
	CHECK_EQ(own.g_ns, 50000);
	CHECK_EQ(own.wmin_ppm, 60000);
	CHECK_EQ(own.controller, DALBE_CONTROLLER_PID);
	CHECK_EQ(own.tw_ms, 900);
	CHECK_EQ(state_get(tx).g_ns, 50000);
	CHECK_EQ(state_get(tx).wmin_ppm, 60000);
	CHECK_EQ(state_get(tx).controller, DALBE_CONTROLLER_MBC);
}

static void tw_is_the_period(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG);
	struct dalbe_state s;

	params_set(pair.tx, (struct dalbe_params) {
		.flags = DALBE_PARAM_TW, .tw_ms = 250 });
	goal_set(pair.tx, 100000 * KB, 60000);
	flow_for(&pair, 5000);
	s = state_get(pair.tx);
	/* each update waits for the next ACK */
	CHECK_OP(s.updates, <=, 20);
	CHECK_OP(s.updates, >=, 17);
}

static void wmin_is_the_floor(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG);

	params_set(pair.tx, (struct dalbe_params) {
		.flags = DALBE_PARAM_WMIN, .wmin_ppm = 500000 });
	goal_set(pair.tx, 100 * KB, 600000);
	CHECK_OP(state_get(pair.tx).w_ppm, >=, 499980);
	flow_for(&pair, 3000);
	CHECK_OP(state_get(pair.tx).w_ppm, >=, 499980);
}

static bool controlled(const struct pair *pair)
{
	return state_get(pair->tx).updates > 3;
}

static void controllers_run(void)
{
	for (uint32_t c = DALBE_CONTROLLER_PID; c <= DALBE_CONTROLLER_FLOOR; c++) {
		struct pair pair = pair_open(DALBE_CC_CDG);

		harness_turn("controller %u", c);
		params_set(pair.tx, (struct dalbe_params) {
			.flags = DALBE_PARAM_CONTROLLER, .controller = c });
		goal_set(pair.tx, 3000 * KB, 8000);
		CHECK(pump(&pair, NO_END, 5000, controlled));

		/* to a fixed G and back, on the fly */
		params_set(pair.tx, (struct dalbe_params) {
			.flags = DALBE_PARAM_CONTROLLER | DALBE_PARAM_G,
			.controller = DALBE_CONTROLLER_FIXED,
			.g_ns = 4000000 });
		CHECK_EQ(state_get(pair.tx).g_ns, 4000000);
		CHECK_EQ(state_get(pair.tx).status, DALBE_STATUS_ON_TRACK);
		CHECK_EQ(state_get(pair.tx).w_ppm, 0);
		flow_for(&pair, 300);
		params_set(pair.tx, (struct dalbe_params) {
			.flags = DALBE_PARAM_CONTROLLER, .controller = c });
		CHECK_OP(state_get(pair.tx).w_ppm, >, 0);
		CHECK(pump(&pair, NO_END, 5000, controlled));
		pair_close(&pair);
	}
}

static void children_inherit(void)
{
	int listener = sock_listen(IPV4, DALBE_CC_CDG);
	struct pair pair = {};

	params_set(listener, (struct dalbe_params) {
		.flags = DALBE_PARAM_G | DALBE_PARAM_TW,
		.g_ns = 123456, .tw_ms = 1234 });
	pair.rx = sock_open(NS_TX, IPV4, SOCK_STREAM);
	sock_connect(pair.rx, listener, IPV4);
	pair.tx = sock_accept(listener);
	CHECK_EQ(state_get(pair.tx).g_ns, 123456);
	CHECK_EQ(state_get(pair.tx).tw_ms, 1234);
	params_set(pair.tx, (struct dalbe_params) {
		.flags = DALBE_PARAM_G, .g_ns = 654321 });
	CHECK_EQ(state_get(listener).g_ns, 123456);
}

const struct test tests_params[] = {
	{ "each parameter is set and read back", read_back },
	{ "several parameters at once", several_at_once },
	{ "a socket's parameters override the sysctls", override_sysctls },
	{ "Tw is the period of updates", tw_is_the_period },
	{ "wmin is the floor of w", wmin_is_the_floor },
	{ "each controller runs, and is switched on the fly",
	  controllers_run },
	{ "children inherit a listener's parameters", children_inherit },
	{}
};
