// SPDX-License-Identifier: GPL-2.0-only
/* A scavenger without a goal: by its parameters, or by net.dalbe.scavenger. */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "net.h"
#include "tests.h"

#define KB	1000ull

/* Tw would be 10 s: too few updates for a test. */
static void make_scavenger(int fd)
{
	params_set(fd, (struct dalbe_params) {
		.flags = DALBE_PARAM_CONTROLLER | DALBE_PARAM_WMIN | DALBE_PARAM_TW,
		.controller = DALBE_CONTROLLER_WEIGHT, .wmin_ppm = 20000,
		.tw_ms = 250 });
}

static void choose(int fd, uint32_t controller)
{
	params_set(fd, (struct dalbe_params) {
		.flags = DALBE_PARAM_CONTROLLER, .controller = controller });
}

static void check_no_goal(const struct dalbe_state *s)
{
	CHECK_EQ(s->status, DALBE_STATUS_NONE);
	CHECK_EQ(s->goal_bytes, 0);
	CHECK_EQ(s->bytes_done, 0);
	CHECK_EQ(s->deadline_ns, 0);
	CHECK_EQ(s->time_left_ns, 0);
	CHECK_EQ(s->target_Bps, 0);
}

static void check_scavenger(int fd, uint32_t wmin_ppm)
{
	struct dalbe_state s = state_get(fd);

	check_no_goal(&s);
	CHECK_EQ(s.controller, DALBE_CONTROLLER_WEIGHT);
	CHECK_OP(s.regime, !=, DALBE_REGIME_NONE);
	CHECK_EQ(s.w_ppm, s.wmin_ppm);
	CHECK_OP(s.w_ppm, <=, wmin_ppm);	/* w is in 1/65536 */
	CHECK_OP(s.w_ppm, >, wmin_ppm - 20);
	CHECK_EQ(s.phi_ppm, 1000000);
}

static void check_plain_cdg(int fd)
{
	struct dalbe_state s = state_get(fd);

	check_no_goal(&s);
	CHECK_EQ(s.regime, DALBE_REGIME_NONE);
	CHECK_EQ(s.w_ppm, 0);
	CHECK_EQ(s.updates, 0);
	CHECK_EQ(s.rate_Bps, 0);
	CHECK_EQ(s.g_ns, 3000000);
}

static void by_parameters(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG);
	struct dalbe_state s;

	flow_for(&pair, 300);
	check_plain_cdg(pair.tx);
	make_scavenger(pair.tx);
	check_scavenger(pair.tx, 20000);
	flow_for(&pair, 3000);
	check_scavenger(pair.tx, 20000);
	s = state_get(pair.tx);
	CHECK_OP(s.updates, >, 3);
	CHECK_EQ(s.tw_ms, 250);
	CHECK_OP(s.rate_Bps, >, 100 * KB);
	CHECK_OP(s.rate_Bps, <, 1400 * KB);

	params_set(pair.tx, (struct dalbe_params) {
		.flags = DALBE_PARAM_WMIN | DALBE_PARAM_G,
		.wmin_ppm = 500000, .g_ns = 7000000 });
	check_scavenger(pair.tx, 500000);
	CHECK_OP(state_get(pair.tx).updates, >=, s.updates);	/* the same one */
}

static void before_connect(void)
{
	int tx = sock_open(NS_TX, IPV4, SOCK_STREAM);
	struct dalbe_state s;
	struct pair pair;

	cc_set(tx, DALBE_CC_CDG);
	make_scavenger(tx);
	s = state_get(tx);
	check_no_goal(&s);
	CHECK_EQ(s.controller, DALBE_CONTROLLER_WEIGHT);
	pair = pair_around(tx, IPV4);
	check_scavenger(tx, 20000);
	transfer(&pair, 100 * KB);
	check_scavenger(tx, 20000);
}

/* Any other controller has nothing to do without a goal. */
static void undone(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG);

	for (uint32_t c = 0; c <= DALBE_CONTROLLER_FLOOR; c++) {
		if (c == DALBE_CONTROLLER_WEIGHT)
			continue;
		harness_turn("controller %u", c);
		make_scavenger(pair.tx);
		flow_for(&pair, 500);
		check_scavenger(pair.tx, 20000);
		choose(pair.tx, c);
		check_plain_cdg(pair.tx);
		flow_for(&pair, 500);
		check_plain_cdg(pair.tx);
	}
	make_scavenger(pair.tx);
	cc_set(pair.tx, "cubic");
	flow_for(&pair, 300);
}

static void goal_takes_over(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG), cubic = pair_open("cubic");
	struct dalbe_state s;
	uint32_t yields;

	make_scavenger(pair.tx);
	CHECK(compete(&pair, &cubic, 10000, contended));
	yields = state_get(pair.tx).yields;
	goal_set(pair.tx, 5000 * KB, 8000);
	s = state_get(pair.tx);
	CHECK_EQ(s.status, DALBE_STATUS_ON_TRACK);
	CHECK_EQ(s.bytes_done, 0);		/* not what went before */
	CHECK_EQ(s.controller, DALBE_CONTROLLER_WEIGHT);
	CHECK_EQ(s.w_ppm, s.wmin_ppm);
	CHECK_OP(s.target_Bps, >, 0);
	CHECK_EQ(s.regime, DALBE_REGIME_CONTENDED);	/* what was learned stays */
	CHECK_EQ(s.yields, yields);

	choose(pair.tx, DALBE_CONTROLLER_MBC);
	CHECK_EQ(state_get(pair.tx).yields, yields);
	compete(&pair, &cubic, 5000, NULL);
	s = state_get(pair.tx);
	CHECK_OP(s.w_ppm, >, 100000);
	CHECK_OP(s.bytes_done, >, 0);
	goal_clear(pair.tx);
	check_plain_cdg(pair.tx);

	choose(pair.tx, DALBE_CONTROLLER_WEIGHT);
	check_scavenger(pair.tx, 20000);
	goal_set(pair.tx, 100 * KB, 8000);
	goal_clear(pair.tx);
	check_scavenger(pair.tx, 20000);
}

/* A program that knows no more than TCP_CONGESTION. */
static void by_sysctl(void)
{
	struct pair before = pair_open(DALBE_CC_CDG), pair;
	struct dalbe_state s;

	sysctl_write(NS_TX, "dalbe/scavenger", "1");
	pair = pair_open(DALBE_CC_CDG);
	sysctl_write(NS_TX, "dalbe/scavenger", "0");
	CHECK_EQ(state_get(before.tx).regime, DALBE_REGIME_NONE);
	check_scavenger(pair.tx, 10000);
	flow_for(&pair, 1000);
	check_scavenger(pair.tx, 10000);

	/* A goal has the controller that it has anywhere. */
	sysctl_write(NS_TX, "dalbe/scavenger", "1");
	goal_set(pair.tx, 100000 * KB, 8000);
	s = state_get(pair.tx);
	goal_clear(pair.tx);
	sysctl_write(NS_TX, "dalbe/scavenger", "0");
	CHECK_EQ(s.status, DALBE_STATUS_ON_TRACK);
	CHECK_EQ(s.controller, DALBE_CONTROLLER_MBC);
	CHECK_OP(s.target_Bps, >, 0);
	check_scavenger(pair.tx, 10000);

	/* A parameter set on the socket wins. */
	sysctl_write(NS_TX, "dalbe/scavenger", "1");
	choose(pair.tx, DALBE_CONTROLLER_PID);
	sysctl_write(NS_TX, "dalbe/scavenger", "0");
	check_plain_cdg(pair.tx);
	flow_for(&pair, 300);
}

/* The weight controller as the namespace's is the one of those without a goal, too. */
static void by_controller_sysctl(void)
{
	struct pair pair;

	sysctl_write(NS_TX, "dalbe/controller", "3");
	sysctl_write(NS_TX, "dalbe/wmin_ppm", "50000");
	pair = pair_open(DALBE_CC_CDG);
	sysctl_write(NS_TX, "dalbe/controller", "2");
	sysctl_write(NS_TX, "dalbe/wmin_ppm", "10000");
	check_scavenger(pair.tx, 50000);
}

/* With net.dalbe.effect = 0 it yields by a small G, as one with a goal does. */
static void without_effect(void)
{
	struct pair pair;
	struct dalbe_state s;

	sysctl_write(NS_TX, "dalbe/effect", "0");
	sysctl_write(NS_TX, "dalbe/scavenger", "1");
	pair = pair_open(DALBE_CC_CDG);
	sysctl_write(NS_TX, "dalbe/scavenger", "0");
	sysctl_write(NS_TX, "dalbe/effect", "1");
	s = state_get(pair.tx);
	CHECK_EQ(s.status, DALBE_STATUS_NONE);
	CHECK_EQ(s.regime, DALBE_REGIME_NONE);
	CHECK_EQ(s.w_ppm, s.wmin_ppm);
	CHECK_OP(s.g_ns, <, 100000);
	flow_for(&pair, 500);
}

static void by_route(void)
{
	struct pair pair;

	CHECK_EQ(system("ip -n tx route add 10.0.2.1 via 10.0.1.254 congctl dalbe_cdg"), 0);
	sysctl_write(NS_TX, "dalbe/scavenger", "1");
	pair = pair_open(NULL);
	sysctl_write(NS_TX, "dalbe/scavenger", "0");
	CHECK_EQ(system("ip -n tx route del 10.0.2.1 via 10.0.1.254"), 0);
	CHECK(!strcmp(sock_cc(pair.tx), DALBE_CC_CDG));
	check_scavenger(pair.tx, 10000);
	transfer(&pair, 100 * KB);
	check_scavenger(pair.tx, 10000);
}

/* The children send: from rx to tx. */
static struct pair accepted_from(int listener)
{
	struct pair pair = { .rx = sock_open(NS_TX, IPV4, SOCK_STREAM) };

	sock_connect(pair.rx, listener, IPV4);
	pair.tx = sock_accept(listener);
	return pair;
}

static void children(void)
{
	int listener = sock_listen(IPV4, DALBE_CC_CDG);
	struct pair pair;

	make_scavenger(listener);
	pair = accepted_from(listener);
	check_scavenger(pair.tx, 20000);
	transfer(&pair, 100 * KB);
	check_scavenger(pair.tx, 20000);
	choose(pair.tx, DALBE_CONTROLLER_MBC);
	check_plain_cdg(pair.tx);
	CHECK_EQ(state_get(listener).controller, DALBE_CONTROLLER_WEIGHT);
}

/* Neither the listener nor its children ever called setsockopt(). */
static void default_of_a_namespace(void)
{
	char before[SYSCTL_LEN];
	struct pair pair;

	sysctl_read(NS_RX, "ipv4/tcp_congestion_control", before);
	sysctl_write(NS_RX, "ipv4/tcp_congestion_control", DALBE_CC_CDG);
	sysctl_write(NS_RX, "dalbe/scavenger", "1");
	pair = accepted_from(sock_listen(IPV4, NULL));
	sysctl_write(NS_RX, "dalbe/scavenger", "0");
	sysctl_write(NS_RX, "ipv4/tcp_congestion_control", before);
	check_scavenger(pair.tx, 10000);
	transfer(&pair, 100 * KB);
	check_scavenger(pair.tx, 10000);
}

const struct test tests_scavenger[] = {
	{ "scavenger: by parameters, at once", by_parameters },
	{ "scavenger: by parameters, before connect", before_connect },
	{ "scavenger: undone by another controller", undone },
	{ "scavenger: a goal takes over, and goes", goal_takes_over },
	{ "scavenger: by net.dalbe.scavenger", by_sysctl },
	{ "scavenger: by net.dalbe.controller", by_controller_sysctl },
	{ "scavenger: with net.dalbe.effect = 0", without_effect },
	{ "scavenger: by a route's congestion control", by_route },
	{ "scavenger: children of a listener", children },
	{ "scavenger: as the default of a namespace", default_of_a_namespace },
	{}
};
