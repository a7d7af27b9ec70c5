// SPDX-License-Identifier: GPL-2.0-only
/* dalbe_cubic: chosen by name, alone as the kernel's own CUBIC, and under a goal. */
#include <string.h>

#include "base.h"
#include "ctl.h"
#include "net.h"
#include "tests.h"

/* Losses where the queue overflows, marks, and pauses: what is received by the end. Marks come by
 * chance: in 12 s one flow may receive a seventh more than another that is no different.
 */
static uint64_t received_by(const char *cc, bool ecn)
{
	struct link short_queue = link_default;
	struct pair pair;

	short_queue.queue_packets = 20;
	short_queue.ecn = ecn;
	short_queue.loss_percent = ecn ? 0.5 : 0;	/* that netem marks */
	link_set(&short_queue);
	sysctl_write(NS_TX, "ipv4/tcp_ecn", ecn ? ECN : "2");
	pair = pair_open(cc);
	CHECK(!strcmp(sock_cc(pair.tx), cc));
	for (int turn = 0; turn < (ecn ? 40 : 4); turn++) {
		flow_for(&pair, 3000);
		sleep_ms(500);
	}
	sysctl_write(NS_TX, "ipv4/tcp_ecn", "2");
	harness_note("%s: %llu KB, %u packets sent again", cc,
		     (unsigned long long)(pair.received / KB),
		     sock_tcp_info(pair.tx).tcpi_total_retrans);
	pair_close(&pair);
	return pair.received;
}

static void as_the_kernels(void)
{
	for (int ecn = 0; ecn < 2; ecn++) {
		uint64_t theirs = received_by("cubic", ecn);
		uint64_t ours = received_by(DALBE_CC_CUBIC, ecn);

		harness_turn(ecn ? "ECN" : "losses");
		CHECK_OP(ours * 10, >=, theirs * 9);
		CHECK_OP(theirs * 10, >=, ours * 9);
	}
}

/* Beside the kernel's CUBIC for 20 s, in thousandths of both. */
static uint32_t share_under_w(uint32_t w_ppm)
{
	struct pair pair = pair_open(DALBE_CC_CUBIC), cubic = pair_open("cubic");
	uint64_t ours, theirs;
	struct dalbe_state s;

	base_weigh(pair.tx, w_ppm);
	compete(&pair, &cubic, 5000, NULL);
	ours = pair.received;
	theirs = cubic.received;
	compete(&pair, &cubic, 20000, NULL);
	s = state_get(pair.tx);
	ours = pair.received - ours;
	theirs = cubic.received - theirs;
	harness_note("w = %u ppm: %llu of %llu KB, %llu phantom signals, %llu losses", w_ppm,
		     (unsigned long long)(ours / KB), (unsigned long long)((ours + theirs) / KB),
		     (unsigned long long)s.backoffs_delay, (unsigned long long)s.backoffs_loss);
	CHECK_OP(s.updates, >, 10);
	CHECK_EQ(s.w_ppm, s.wmin_ppm);
	CHECK_EQ(s.phi_ppm, 1000000);
	CHECK_EQ(s.regime, DALBE_REGIME_NONE);
	CHECK_EQ(s.level_Bps, 0);
	CHECK_EQ(s.loss_episodes, s.loss_answers);
	if (w_ppm == 1000000)
		CHECK_EQ(s.backoffs_delay, 0);
	pair_close(&pair);
	pair_close(&cubic);
	return 1000 * ours / (ours + theirs);
}

static void by_weight(void)
{
	uint32_t least = share_under_w(20000), all = share_under_w(1000000);

	CHECK_OP(least, <, 200);
	CHECK_OP(all, >, 300);
	CHECK_OP(all, <, 700);
}

static void by_beta(void)
{
	struct pair pair, cubic;
	struct dalbe_state s;

	sysctl_write(NS_TX, "dalbe/cubic_inflate", "1");
	pair = pair_open(DALBE_CC_CUBIC);
	cubic = pair_open("cubic");
	base_weigh(pair.tx, 20000);
	compete(&pair, &cubic, 15000, NULL);
	sysctl_write(NS_TX, "dalbe/cubic_inflate", "0");
	s = state_get(pair.tx);
	CHECK_EQ(s.backoffs_delay, 0);
	CHECK_OP(s.backoffs_loss, >, 2);
	CHECK_OP(pair.received, <, cubic.received);
	compete(&pair, &cubic, 10000, NULL);
	CHECK_OP(state_get(pair.tx).backoffs_delay, >, 0);
}

static void a_goal_comes_and_goes(void)
{
	base_goal_comes_and_goes(DALBE_CC_CUBIC, 200);
}

static void a_goal_beside_cubic(void)
{
	CHECK_OP(base_goal_beside_cubic(DALBE_CC_CUBIC, 6000).backoffs_delay, >, 0);
}

/* The link is cut for seconds: timeouts. */
static void timeouts(void)
{
	struct link cut = link_default;
	struct pair pair = pair_open(DALBE_CC_CUBIC);
	struct dalbe_state s;

	base_weigh(pair.tx, 100000);
	flow_for(&pair, 3000);
	for (int turn = 0; turn < 3; turn++) {
		cut.loss_percent = 100;
		link_set(&cut);
		sleep_ms(1000);
		cut.loss_percent = 0;
		link_set(&cut);
		flow_for(&pair, 4000);
	}
	s = state_get(pair.tx);
	CHECK_OP(s.backoffs_loss, >, 3);
	CHECK_EQ(s.loss_episodes, s.loss_answers);
	CHECK_OP(pair.received, >, 1000 * KB);
}

static void exchanged(void)
{
	static const char *const names[] = {
		DALBE_CC_CUBIC, DALBE_CC_CDG, "cubic", DALBE_CC_CUBIC, DALBE_CC_VEGAS,
		DALBE_CC_CUBIC,
	};

	base_exchanged(names, ARRAY_SIZE(names));
}

const struct test tests_cubic[] = {
	{ "cubic: alone, without a goal, as much as the kernel's own", as_the_kernels },
	{ "cubic: w is a share, by phantom signals", by_weight },
	{ "cubic: by beta, from the next round on", by_beta },
	{ "cubic: a goal comes and goes", a_goal_comes_and_goes },
	{ "cubic: a goal beside CUBIC", a_goal_beside_cubic },
	{ "cubic: timeouts", timeouts },
	{ "cubic: exchanged for others and back", exchanged },
	{}
};
