// SPDX-License-Identifier: GPL-2.0-only
/* net.dalbe.*: defaults of a network namespace. */
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"
#include "net.h"
#include "tests.h"

/* As documented at the top of kernel/defaults.c. */
static const struct {
	const char *name;
	const char *preset;
	const char *accepted[6];	/* up to NULL */
	const char *refused[6];
} sysctls[] = {
	{ "dalbe/g_us", "3000", { "2", "3001", "125000" },
	  { "1", "0", "-1", "125001", "4294967298", "x" } },
	{ "dalbe/idle_g_us", "20000", { "0", "6000", "125000" },
	  { "-1", "125001", "4294967296", "x" } },
	{ "dalbe/effect", "1", { "0", "1" }, { "-1", "2", "x" } },
	{ "dalbe/controller", "2", { "0", "1", "3", "4", "2" },
	  { "-1", "5", "4294967297", "x" } },
	{ "dalbe/scavenger", "0", { "1", "0" },
	  { "-1", "2", "4294967297", "x" } },
	{ "dalbe/tw_ms", "0", { "100", "10000", "600000", "0" },
	  { "-1", "1", "99", "600001", "4294967396", "x" } },
	{ "dalbe/wmin_ppm", "10000", { "1000", "50000", "1000000" },
	  { "-1", "0", "999", "1000001", "x" } },
	{ "dalbe/limit_increase", "1", { "0", "1" }, { "-1", "2", "x" } },
	{ "dalbe/after_deadline", "0", { "2", "1", "0" },
	  { "-1", "3", "4294967296", "x" } },
	{ "dalbe/hystart", "3", { "0", "1", "2", "3" }, { "-1", "4", "x" } },
	{ "dalbe/cubic_inflate", "0", { "1", "0" }, { "-1", "2", "x" } },
};

#define SYSCTLS	ARRAY_SIZE(sysctls)

/* The machine's, not a namespace's. */
#define HEURISTICS	"../../../sys/module/dalbe/parameters/"

static void check_value(const char *ns, const char *name, const char *wanted)
{
	char value[SYSCTL_LEN];

	sysctl_read(ns, name, value);
	if (strcmp(value, wanted))
		FAIL("net/%s in %s is %s, to be %s", name, ns, value, wanted);
}

static void presets(void)
{
	for (size_t i = 0; i < SYSCTLS; i++) {
		check_value(NS_TX, sysctls[i].name, sysctls[i].preset);
		check_value(NS_RX, sysctls[i].name, sysctls[i].preset);
	}
}

static void in_range(void)
{
	for (size_t i = 0; i < SYSCTLS; i++) {
		for (size_t j = 0; sysctls[i].accepted[j]; j++) {
			sysctl_write(NS_TX, sysctls[i].name,
				     sysctls[i].accepted[j]);
			check_value(NS_TX, sysctls[i].name,
				    sysctls[i].accepted[j]);
			check_value(NS_RX, sysctls[i].name, sysctls[i].preset);
		}
		sysctl_write(NS_TX, sysctls[i].name, sysctls[i].preset);
	}
}

static void out_of_range(void)
{
	for (size_t i = 0; i < SYSCTLS; i++) {
		for (size_t j = 0; j < 6 && sysctls[i].refused[j]; j++) {
			harness_turn("%s = %s", sysctls[i].name,
				     sysctls[i].refused[j]);
			CHECK_ERRNO(sysctl_write_raw(NS_TX, sysctls[i].name,
						     sysctls[i].refused[j]),
				    EINVAL);
			check_value(NS_TX, sysctls[i].name, sysctls[i].preset);
		}
	}
}

static void in_force(void)
{
	int before = sock_open(NS_TX, IPV4, SOCK_STREAM);
	struct pair pair;

	cc_set(before, DALBE_CC_CDG);
	sysctl_write(NS_TX, "dalbe/g_us", "5000");
	CHECK_EQ(state_get(before).g_ns, 5000000);
	pair = pair_open(DALBE_CC_CDG);
	sysctl_write(NS_TX, "dalbe/g_us", "3000");
	CHECK_EQ(state_get(pair.tx).g_ns, 5000000);
}

/* Each of CDG's heuristics at work: delay, loss and slow start. */
static void heuristics_under_load(void)
{
	static const struct {
		const char *name;
		const char *value;
		const char *preset;
	} set[] = {
		{ HEURISTICS "use_ineff", "1", "0" },
		{ HEURISTICS "use_shadow", "1", "0" },
		{ HEURISTICS "use_tolerance", "1", "0" },
		{ "dalbe/hystart", "0", "3" },
		{ "dalbe/hystart", "1", "3" },
		{ "dalbe/hystart", "2", "3" },
	};
	struct link lossy = link_default;

	lossy.loss_percent = 1;
	for (size_t i = 0; i < ARRAY_SIZE(set); i++) {
		struct dalbe_state s;
		struct pair pair;

		harness_turn("%s = %s", set[i].name, set[i].value);
		link_set(&link_default);
		sysctl_write(NS_TX, set[i].name, set[i].value);
		pair = pair_open(DALBE_CC_CDG);
		flow_for(&pair, 1000);
		link_set(&lossy);
		flow_for(&pair, 2000);
		s = state_get(pair.tx);
		sysctl_write(NS_TX, set[i].name, set[i].preset);
		CHECK_OP(s.backoffs_loss, >, 0);
		CHECK_OP(s.cwnd, >=, 2);
		pair_close(&pair);
	}
}

static void of_a_namespace(void)
{
	for (int i = 0; i < 3; i++) {
		harness_turn("namespace %d", i);
		CHECK_EQ(system("ip netns add young"), 0);
		for (size_t j = 0; j < SYSCTLS; j++)
			check_value("young", sysctls[j].name,
				    sysctls[j].preset);
		sysctl_write("young", "dalbe/wmin_ppm", "20000");
		sysctl_write("young", "dalbe/g_us", "77");
		check_value(NS_TX, "dalbe/wmin_ppm", "10000");
		check_value(NS_TX, "dalbe/g_us", "3000");
		ns_enter(NS_TX);
		CHECK_EQ(system("ip netns delete young"), 0);
	}
}

/* In the machine's first namespace. */
static void of_the_machine(const char *value)
{
	char sh[100];

	snprintf(sh, sizeof(sh), "nsenter -t 1 -n sh -c 'echo %s >/proc/sys/net/dalbe/wmin_ppm'",
		 value);
	CHECK_EQ(system(sh), 0);
}

static void copied(void)
{
	of_the_machine("40000");
	CHECK_EQ(system("ip netns add young"), 0);
	of_the_machine("10000");
	check_value("young", "dalbe/wmin_ppm", "40000");
	check_value(NS_TX, "dalbe/wmin_ppm", "10000");
	ns_enter(NS_TX);
	CHECK_EQ(system("ip netns delete young"), 0);
}

/* A socket outlives the name of its namespace, and the namespace waits. */
static void socket_outlives_name(void)
{
	int fd;

	CHECK_EQ(system("ip netns add young"), 0);
	sysctl_write("young", "dalbe/g_us", "4000");
	fd = sock_open("young", IPV4, SOCK_STREAM);
	cc_set(fd, DALBE_CC_CDG);
	ns_enter(NS_TX);
	CHECK_EQ(system("ip netns delete young"), 0);
	sleep_ms(1000);
	CHECK_EQ(state_get(fd).g_ns, 4000000);
	goal_set(fd, 1, 1000);
	close(fd);
	sleep_ms(1000);
}

/* Connections are alive, with a goal, when their namespace is deleted. */
static void deleted_in_use(void)
{
	static const char sh[] =
		"ip netns add young && ip -n young link set dev lo up";
	struct sockaddr_in addr = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(addr);
	static const char payload[100000];
	struct pair pair = {};
	int listener;

	CHECK_EQ(system(sh), 0);
	listener = sock_open("young", IPV4, SOCK_STREAM);
	TRY(bind(listener, (struct sockaddr *)&addr, len));
	TRY(listen(listener, 5));
	TRY(getsockname(listener, (struct sockaddr *)&addr, &len));
	pair.tx = sock_open("young", IPV4, SOCK_STREAM);
	cc_set(pair.tx, DALBE_CC_CDG);
	goal_set(pair.tx, 1000000, 10000);
	TRY(connect(pair.tx, (struct sockaddr *)&addr, len));
	pair.rx = sock_accept(listener);
	/* fill the pipe: nobody reads */
	send(pair.tx, payload, sizeof(payload), MSG_DONTWAIT);
	ns_enter(NS_TX);
	CHECK_EQ(system("ip netns delete young"), 0);
	close(pair.tx);
	close(listener);
	close(pair.rx);
	sleep_ms(5000);
}

const struct test tests_sysctl[] = {
	{ "sysctls have their defaults in every namespace", presets },
	{ "sysctls take what is in range, in one namespace", in_range },
	{ "sysctls refuse what is out of range, unchanged", out_of_range },
	{ "sysctls apply to what begins after the write", in_force },
	{ "each of CDG's heuristics under load", heuristics_under_load },
	{ "namespaces come and go with their sysctls", of_a_namespace },
	{ "a new namespace begins with the sysctls of the machine's first", copied },
	{ "a socket outlives the name of its namespace",
	  socket_outlives_name },
	{ "a namespace is deleted with connections open", deleted_in_use },
	{}
};
