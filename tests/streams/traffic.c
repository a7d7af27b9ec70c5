// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes the connections that are recorded, in the guest that guest.sh has prepared: each is a
 * "test" that stores its stream in $OUT and fails where that does not hold what it is for.
 */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../guest/harness.h"
#include "../guest/net.h"
#include "../guest/tests.h"

static const char *base;	/* the kernel's */
static const char *prefix;	/* of the streams */

static struct pair recorded(void)
{
	char cc[16];

	snprintf(cc, sizeof(cc), "rec_%s", base);
	return pair_open(cc);
}

static void store(const char *name)
{
	char command[128];

	snprintf(command, sizeof(command), "cat /proc/dalbe_recorder >$OUT/%s-%s.csv", prefix,
		 name);
	CHECK_EQ(system(command), 0);
}

/* Packets that have been sent again. */
static unsigned int lost(const struct pair *pair)
{
	return sock_tcp_info(pair->tx).tcpi_total_retrans;
}

static void alone(void)
{
	struct link link = link_default;
	struct pair pair;

	link.queue_packets = 20;
	link_set(&link);
	pair = recorded();
	flow_for(&pair, 6000);
	store("alone");
}

static void beside_cubic(void)
{
	struct link link = link_default;
	struct pair pair, cubic;

	link.rate_kbit = 5000;
	link.rtt_ms = 40;
	link.queue_packets = 20;
	link_set(&link);
	pair = recorded();
	flow_for(&pair, 2000);
	cubic = pair_open("cubic");
	compete(&pair, &cubic, 15000, NULL);
	CHECK_OP(lost(&pair), >, 2);
	store("beside");
}

static void losses(void)
{
	struct link link = link_default;
	struct pair pair;

	link.rtt_ms = 30;
	link.loss_percent = 3;
	link_set(&link);
	pair = recorded();
	flow_for(&pair, 8000);
	CHECK_OP(lost(&pair), >, 20);
	store("losses");
}

static void long_path(void)
{
	struct link link = link_default;
	struct pair pair;

	link.rtt_ms = 200;
	link.queue_packets = 60;
	link_set(&link);
	pair = recorded();
	flow_for(&pair, 6000);
	link.loss_percent = 0.1;
	link_set(&link);
	flow_for(&pair, 5000);
	store("long");
}

/* Congestion is marked: the window is reduced without a loss. */
static void marks(void)
{
	struct link link = link_default;
	struct pair pair;

	sysctl_write(NS_TX, "ipv4/tcp_ecn", "1");
	pair = recorded();
	sysctl_write(NS_TX, "ipv4/tcp_ecn", "2");
	link.loss_percent = 0.5;
	link.ecn = true;
	link_set(&link);
	flow_for(&pair, 5000);
	CHECK_OP(sock_tcp_info(pair.tx).tcpi_delivered_ce, >, 5);
	store("marks");
}

/* The link is cut for long enough for timeouts. */
static void outages(void)
{
	struct link link = link_default;
	struct pair pair = recorded();

	flow_for(&pair, 1000);
	for (int turn = 0; turn < 3; turn++) {
		link.loss_percent = 100;
		link_set(&link);
		sleep_ms(turn ? 2000 : 400);
		link.loss_percent = 0;
		link_set(&link);
		flow_for(&pair, 2500);
	}
	CHECK_OP(lost(&pair), >, 2);
	store("outages");
}

/* Settings of tc for which link_set() has no word. */
static void reshape(const char *netem)
{
	char command[128];

	snprintf(command, sizeof(command), "tc -n router qdisc replace dev to_rx root netem %s",
		 netem);
	CHECK_EQ(system(command), 0);
}

/* Nothing is lost, but packets are late or overtaken: TCP undoes what it has cut. */
static void spurious(void)
{
	struct link link = link_default;
	struct pair pair;

	link.queue_packets = 100000;
	link_set(&link);
	pair = recorded();
	flow_for(&pair, 600);
	for (int turn = 0; turn < 3; turn++) {
		link.rtt_ms = 700;
		link_set(&link);
		flow_for(&pair, 900);
		link.rtt_ms = 20;
		link_set(&link);
		flow_for(&pair, 700);
	}
	reshape("rate 10mbit delay 20ms reorder 98% 50% limit 1000");
	flow_for(&pair, 2000);
	reshape("rate 10mbit limit 40");
	store("spurious");
}

static void few(struct pair *pair, unsigned int ms, unsigned int bytes)
{
	for (uint64_t end_ns = now_ns() + ms * NS_PER_MS; now_ns() < end_ns; sleep_ms(10))
		pump(pair, bytes, 0, NULL);
}

/* A program has less to send than the window allows, or nothing at all. */
static void program(void)
{
	static const unsigned int pause_ms[] = { 60, 150, 400, 1500, 100, 3000 };
	struct pair pair = recorded();

	few(&pair, 1000, 3000);
	for (size_t i = 0; i < ARRAY_SIZE(pause_ms); i++) {
		flow_for(&pair, 500);
		CHECK(pump(&pair, 0, 5000, all_acked));
		sleep_ms(pause_ms[i]);
		few(&pair, 400, 4000 * (i + 1));
	}
	store("program");
}

/* The receiver holds ACKs back. */
static void late_acks(void)
{
	struct link link = link_default;
	struct pair pair;

	link.queue_packets = 25;
	link_set(&link);
	pair = recorded();
	sock_ack_at_once(pair.rx, false);
	flow_for(&pair, 6000);
	store("late");
}

/* TCP spaces packets, as the user has set a limit that is not reached. */
static void paced(void)
{
	struct link link = link_default;
	struct pair pair;
	unsigned int rate = 100000000;

	link.rtt_ms = 80;
	link.queue_packets = 60;
	link_set(&link);
	pair = recorded();
	TRY(setsockopt(pair.tx, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof(rate)));
	flow_for(&pair, 5000);
	store("paced");
}

static const struct test streams[] = {
	{ "alone", alone },
	{ "beside CUBIC", beside_cubic },
	{ "random losses", losses },
	{ "a long path", long_path },
	{ "marks", marks },
	{ "outages", outages },
	{ "late and overtaken packets", spurious },
	{ "a program that pauses", program },
	{ "late ACKs", late_acks },
	{ "paced", paced },
	{}
};

static void prepare(void)
{
	link_set(&link_default);
}

static unsigned int record(const char *from, const char *as)
{
	const struct test *const tables[] = { streams };

	base = from;
	prefix = as;
	harness_note("%s", as);
	return harness_run(tables, ARRAY_SIZE(tables), NULL, prepare);
}

int main(void)
{
	unsigned int failed = record("cubic", "cubic") + record("vegas", "vegas");

	/* F(28): under a goal, at w = 1 and phi = 1 */
	if (system("cd /sys/module/tcp_vegas/parameters && echo 15 >alpha && echo 17 >beta"))
		return 2;
	failed += record("vegas", "vegas15");
	return failed ? 1 : 0;
}
