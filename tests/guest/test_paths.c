// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which connections share what is known of a path, and how long that is kept.
 *
 * GET_STATE tells how many share it. Most tests have a namespace of their own, whose loopback
 * device has 16 million addresses, so that nothing that earlier ones have left counts.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <unistd.h>

#include "ctl.h"
#include "fault.h"
#include "net.h"
#include "tests.h"

#define KB		1000ull
#define SOME_USER	12345
#define OTHER_USER	12346
#define PATHS_MAX	4096		/* kernel/paths.c */
#define IDLE_S		600		/* likewise */
#define FEW		300		/* objects that come and go without us */
#define TIME_WAIT_S	90		/* after that no socket is left, whose memory counts */

/* A namespace that nobody else is in, with 127.0.0.0/8, ::1 and fd00::/64. TCP keeps nothing of a
 * destination either.
 */
static void own_namespace(void)
{
	ns_enter(NS_TX);
	TRY(unshare(CLONE_NEWNET));
	CHECK_EQ(system("ip link set lo up"), 0);
	CHECK_EQ(system("ip -6 route add local fd00::/64 dev lo"), 0);
	CHECK_EQ(system("echo 1 >/proc/sys/net/ipv4/tcp_no_metrics_save"), 0);
	CHECK_EQ(system("echo 8192 >/proc/sys/net/core/somaxconn"), 0);
	CHECK_EQ(system("echo 8192 >/proc/sys/net/ipv4/tcp_max_syn_backlog"), 0);
}

/* A listener on all addresses, IPv4 too, in the namespace that we are in. */
static int listen_everywhere(void)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6 };
	int fd = TRY(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));

	TRY(setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){ 0 }, sizeof(int)));
	TRY(bind(fd, (struct sockaddr *)&any, sizeof(any)));
	TRY(listen(fd, 8192));
	return fd;
}

/* A socket of ours with a goal, which is for ever. */
static int socket_with_goal(int family)
{
	int fd = TRY(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));

	cc_set(fd, DALBE_CC_CDG);
	goal_set(fd, 1000000 * KB, 3600 * MS_PER_S);
	return fd;
}

/* Connect to @address, of which : tells that it is IPv6. */
static void connect_to(int fd, int listener, const char *address)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in in = { .sin_family = AF_INET };
	socklen_t len = sizeof(in6);

	TRY(getsockname(listener, (struct sockaddr *)&in6, &len));
	if (strchr(address, ':')) {
		CHECK_EQ(inet_pton(AF_INET6, address, &in6.sin6_addr), 1);
		TRY(connect(fd, (struct sockaddr *)&in6, sizeof(in6)));
		return;
	}
	in.sin_port = in6.sin6_port;
	CHECK_EQ(inet_pton(AF_INET, address, &in.sin_addr), 1);
	TRY(connect(fd, (struct sockaddr *)&in, sizeof(in)));
}

static int connection_to(int listener, const char *address)
{
	int fd = socket_with_goal(strchr(address, ':') ? AF_INET6 : AF_INET);

	connect_to(fd, listener, address);
	return fd;
}

/* The n-th of very many destinations. */
static int connection_to_nth(int listener, unsigned int n)
{
	char address[32];

	snprintf(address, sizeof(address), "127.%u.%u.%u", 1 + (n >> 16), n >> 8 & 255, n & 255);
	return connection_to(listener, address);
}

static unsigned int sharing(int fd)
{
	return state_get(fd).path_flows;
}

/* Until a socket that has been closed is no flow any more. */
static void settle(void)
{
	sleep_ms(1000);
}

static void one_destination(void)
{
	int listener, one, two, other, six, mapped;

	own_namespace();
	listener = listen_everywhere();
	one = connection_to(listener, "127.0.0.5");
	CHECK_EQ(sharing(one), 1);
	two = connection_to(listener, "127.0.0.5");
	CHECK_EQ(sharing(one), 2);
	CHECK_EQ(sharing(two), 2);
	other = connection_to(listener, "127.0.0.6");
	CHECK_EQ(sharing(other), 1);
	CHECK_EQ(sharing(one), 2);

	harness_turn("IPv6");
	mapped = connection_to(listener, "::ffff:127.0.0.5");
	CHECK_EQ(sharing(mapped), 3);
	six = connection_to(listener, "fd00::5");
	CHECK_EQ(sharing(six), 1);
	CHECK_EQ(sharing(connection_to(listener, "fd00::5")), 2);
	CHECK_EQ(sharing(connection_to(listener, "fd00::6")), 1);

	harness_turn("one closes");
	close(two);
	close(sock_accept(listener));
	close(sock_accept(listener));
	settle();
	CHECK_EQ(sharing(one), 2);
}

/* A flow shares while its base looks for others, and no longer. */
static void while_the_base_shares(void)
{
	int listener, fd[3];

	own_namespace();
	listener = listen_everywhere();
	for (int i = 0; i < 3; i++)
		fd[i] = connection_to(listener, "127.0.0.5");
	CHECK_EQ(sharing(fd[0]), 3);
	goal_clear(fd[1]);
	CHECK_EQ(sharing(fd[0]), 2);
	CHECK_EQ(sharing(fd[1]), 0);
	goal_set(fd[1], 100 * KB, 10000);
	goal_set(fd[1], 200 * KB, 10000);
	CHECK_EQ(sharing(fd[0]), 3);
	cc_set(fd[2], "cubic");
	CHECK_EQ(sharing(fd[0]), 2);
	cc_set(fd[2], DALBE_CC_CDG);
	CHECK_EQ(sharing(fd[0]), 2);
	CHECK_EQ(sharing(fd[2]), 0);
	TRY(connect(fd[1], &(struct sockaddr) { .sa_family = AF_UNSPEC },
		    sizeof(struct sockaddr)));
	CHECK_EQ(sharing(fd[0]), 1);
	CHECK_EQ(sharing(fd[1]), 0);
}

/* We look who owns a socket where a goal comes into force, and at the end of Tw. */
static void other_users(void)
{
	int listener, one, two, other;

	own_namespace();
	listener = listen_everywhere();
	one = connection_to(listener, "127.0.0.5");
	two = connection_to(listener, "127.0.0.5");
	setfsuid(SOME_USER);
	other = connection_to(listener, "127.0.0.5");
	setfsuid(0);
	CHECK_EQ(sharing(other), 1);
	CHECK_EQ(sharing(one), 2);

	harness_turn("fchown");
	TRY(fchown(two, SOME_USER, -1));
	goal_set(two, 100 * KB, 10000);
	CHECK_EQ(sharing(other), 2);
	CHECK_EQ(sharing(two), 2);
	CHECK_EQ(sharing(one), 1);

	harness_turn("a group is a user's");
	group_set(one, 7);
	group_set(other, 7);
	CHECK_EQ(sharing(one), 1);
	CHECK_EQ(sharing(other), 1);
}

/* A child is its listener's user's until accept(), and its flow until a goal or Tw's end. */
static void accepted(void)
{
	int plain, listener, child, ours;

	own_namespace();
	plain = listen_everywhere();
	setfsuid(SOME_USER);
	listener = listen_everywhere();
	setfsuid(0);
	cc_set(listener, DALBE_CC_CDG);
	goal_set(listener, 1000 * KB, 3600 * MS_PER_S);
	for (int i = 0; i < 2; i++) {
		int peer = TRY(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));

		connect_to(peer, listener, "127.0.0.1");
	}
	child = TRY(accept4(listener, NULL, NULL, SOCK_CLOEXEC));
	ours = connection_to(plain, "::ffff:127.0.0.1");
	CHECK_EQ(sharing(child), 2);
	CHECK_EQ(sharing(ours), 1);
	goal_set(child, 1000 * KB, 3600 * MS_PER_S);
	CHECK_EQ(sharing(child), 2);
	CHECK_EQ(sharing(ours), 2);
}

static void end_of_tw_follows(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG);

	TRY(fchown(pair.tx, SOME_USER, -1));
	params_set(pair.tx, (struct dalbe_params) { .flags = DALBE_PARAM_TW, .tw_ms = 200 });
	goal_set(pair.tx, 100000 * KB, 60000);
	flow_for(&pair, 500);
	group_set(pair.tx, 1);
	CHECK_EQ(sharing(pair.tx), 1);
	group_set(pair.tx, 0);
	TRY(fchown(pair.tx, OTHER_USER, -1));
	flow_for(&pair, 1000);
	CHECK_EQ(sharing(pair.tx), 1);
	pair_close(&pair);
}

/* While nothing is sent a flow is where it was; then the end of Tw finds the route. */
static void another_route(void)
{
	struct pair first, second;

	CHECK_EQ(system("ip -n router address add 10.0.1.253/24 dev to_tx"), 0);
	first = pair_open(DALBE_CC_CDG);
	params_set(first.tx, (struct dalbe_params) { .flags = DALBE_PARAM_TW, .tw_ms = 200 });
	goal_set(first.tx, 100000 * KB, 60000);
	flow_for(&first, 500);
	CHECK_EQ(system("ip -n tx route add 10.0.2.1 via 10.0.1.253"), 0);
	second = pair_open(DALBE_CC_CDG);
	goal_set(second.tx, 100000 * KB, 60000);
	CHECK_EQ(sharing(second.tx), 1);
	flow_for(&first, 1000);
	CHECK_EQ(sharing(first.tx), 2);
	CHECK_EQ(sharing(second.tx), 2);
	CHECK_EQ(system("ip -n tx route del 10.0.2.1 via 10.0.1.253"), 0);
	CHECK_EQ(system("ip -n router address del 10.0.1.253/24 dev to_tx"), 0);
	pair_close(&first);
	pair_close(&second);
}

static void groups(void)
{
	int listener, early, late, other;

	own_namespace();
	listener = listen_everywhere();

	early = socket_with_goal(AF_INET);
	group_set(early, 7);
	CHECK_EQ(state_get(early).group, 7);
	connect_to(early, listener, "127.0.0.5");
	CHECK_EQ(state_get(early).group, 7);
	late = connection_to(listener, "fd00::5");
	group_set(late, 7);
	CHECK_EQ(sharing(early), 2);
	CHECK_EQ(sharing(late), 2);

	harness_turn("same destination, another group");
	other = connection_to(listener, "127.0.0.5");
	CHECK_EQ(sharing(other), 1);
	group_set(other, UINT32_MAX);
	CHECK_EQ(sharing(other), 1);
	CHECK_EQ(state_get(other).group, UINT32_MAX);

	harness_turn("a goal keeps it");
	goal_clear(late);
	CHECK_EQ(state_get(late).group, 7);
	CHECK_EQ(sharing(early), 1);
	goal_set(late, 1000 * KB, 10000);
	CHECK_EQ(sharing(early), 2);

	harness_turn("leave");
	group_set(early, 0);
	group_set(other, 0);
	CHECK_EQ(sharing(early), 2);
	CHECK_EQ(sharing(other), 2);
	CHECK_EQ(sharing(late), 1);
	group_set(early, 7);

	harness_turn("another congestion control ends it");
	cc_set(early, "cubic");
	cc_set(early, DALBE_CC_CDG);
	CHECK_EQ(state_get(early).group, 0);

	harness_turn("a disconnect ends it");
	TRY(connect(late, &(struct sockaddr) { .sa_family = AF_UNSPEC }, sizeof(struct sockaddr)));
	CHECK_EQ(state_get(late).group, 0);
}

static void group_of_a_listener(void)
{
	int listener, child, peer;

	own_namespace();
	listener = listen_everywhere();
	cc_set(listener, DALBE_CC_CDG);
	group_set(listener, 9);
	for (int i = 0; i < 2; i++) {
		peer = TRY(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
		connect_to(peer, listener, i ? "::1" : "::ffff:127.0.0.1");
		child = sock_accept(listener);
		CHECK_EQ(state_get(child).group, 9);
		CHECK_EQ(sharing(child), 0);
		goal_set(child, 1000 * KB, 10000);
		CHECK_EQ(sharing(child), 1 + i);
	}
}

/* Objects in the caches that an entry may come from. Its size is core/'s. */
static long slab_objects(void)
{
	static const char *const caches[] = { "cg-192", "cg-256", "cg-512", "192", "256", "512" };
	char path[64];
	long sum = 0, n;
	FILE *file;

	for (size_t i = 0; i < ARRAY_SIZE(caches); i++) {
		snprintf(path, sizeof(path), "/sys/kernel/slab/kmalloc-%s/objects", caches[i]);
		file = fopen(path, "r");
		if (!file)
			continue;
		if (fscanf(file, "%ld", &n) == 1)
			sum += n;
		fclose(file);
	}
	if (!sum)
		harness_skip("kernel without CONFIG_SLUB_DEBUG");
	return sum;
}

/* KASAN keeps what was freed for a while, so that nothing can be said of it by counting. */
static bool frees_at_once(void)
{
	return system("grep -qw kasan_report /proc/kallsyms") != 0;
}

/* So many objects more than before, to be from @least to @most. */
static void check_objects(long before, long least, long most)
{
	long more = slab_objects() - before;

	harness_note("%ld objects", more);
	if (!frees_at_once())
		return;
	CHECK_OP(more, >=, least);
	CHECK_OP(more, <=, most);
}

/* Make a table as full as can be, of entries that idle. */
static void fill_with_idle(int listener, long before)
{
	for (unsigned int n = 0; n < PATHS_MAX + 1000; n++) {
		harness_turn("destination %u", n);
		close(connection_to_nth(listener, n));
		close(sock_accept(listener));
	}
	harness_turn("%s", "");
	sleep_ms(TIME_WAIT_S * MS_PER_S);
	check_objects(before, PATHS_MAX - FEW, PATHS_MAX + FEW);
}

static void idle_entries(void)
{
	int listener, fd;
	long before;

	sleep_ms(TIME_WAIT_S * MS_PER_S);
	own_namespace();
	listener = listen_everywhere();
	before = slab_objects();
	fill_with_idle(listener, before);
	fd = connection_to_nth(listener, PATHS_MAX + 1001);	/* place is made */
	CHECK_EQ(sharing(connection_to_nth(listener, PATHS_MAX + 1001)), 2);
	CHECK_EQ(sharing(fd), 2);

	sleep_ms((IDLE_S - TIME_WAIT_S - 100) * MS_PER_S);
	check_objects(before, PATHS_MAX - FEW, PATHS_MAX + FEW);
	sleep_ms(200 * MS_PER_S);
	check_objects(before, -FEW, FEW);
	CHECK_EQ(sharing(fd), 2);
}

static void namespace_ends(void)
{
	int listener;
	long before;

	sleep_ms(TIME_WAIT_S * MS_PER_S);
	own_namespace();
	before = slab_objects();
	listener = listen_everywhere();
	fill_with_idle(listener, before);
	close(listener);
	ns_enter(NS_TX);
	sleep_ms(TIME_WAIT_S * MS_PER_S);
	check_objects(before, -FEW, FEW);
}

/* Beyond its bound the table has no place: flows share with those that are in it, or nothing. */
static void full_table(void)
{
	static int fd[PATHS_MAX];
	int listener, one, two;

	own_namespace();
	listener = listen_everywhere();
	for (int n = 0; n < PATHS_MAX; n++) {
		harness_turn("destination %d", n);
		fd[n] = connection_to_nth(listener, n);
		close(sock_accept(listener));
	}
	harness_turn("%s", "");
	CHECK_EQ(sharing(connection_to_nth(listener, 77)), 2);
	one = connection_to_nth(listener, PATHS_MAX + 1);
	two = connection_to_nth(listener, PATHS_MAX + 1);
	CHECK_EQ(sharing(one), 1);
	CHECK_EQ(sharing(two), 1);
	goal_set(one, 1000 * KB, 10000);
	CHECK_EQ(sharing(one), 1);
	job_set(one, 1, 1000 * KB, 10000);	/* of a job, which has one goal, there is place */
	job_set(two, 1, 2000 * KB, 10000);
	CHECK_EQ(state_get(two).goal_bytes, 1000 * KB);
	for (int n = 10; n < PATHS_MAX; n++)	/* and of as many as there are connections */
		job_set(fd[n], 2 + (n - 10) / 2, (1000 + n) * KB, 10000);
	CHECK_EQ(state_get(fd[PATHS_MAX - 1]).goal_bytes, (1000 + PATHS_MAX - 2) * KB);

	for (int n = 0; n < 20; n++)	/* those beyond go as they become idle: no place is left */
		close(fd[n]);
	settle();
	CHECK_EQ(sharing(connection_to_nth(listener, PATHS_MAX + 2)), 1);
	for (int n = 20; n < PATHS_MAX; n++)
		goal_clear(fd[n]);
	for (int n = 20; n < 40; n++)
		close(fd[n]);
	settle();
	one = connection_to_nth(listener, PATHS_MAX + 2);
	two = connection_to_nth(listener, PATHS_MAX + 2);
	CHECK_EQ(sharing(one), 2);
	CHECK_EQ(sharing(two), 2);
	for (int n = 40; n < PATHS_MAX; n++)
		close(fd[n]);
}

static void no_memory(void)
{
	struct dalbe_state s;
	struct pair pair;

	fault_require(false);
	pair = pair_open(DALBE_CC_CDG);
	TRY(fchown(pair.tx, OTHER_USER + 1, -1));	/* nothing is known yet */
	flow_for(&pair, 100);
	fault_arm(1);
	goal_set(pair.tx, 10000 * KB, 60000);
	CHECK_EQ(fault_disarm(), 0);
	s = state_get(pair.tx);
	CHECK_EQ(s.status, DALBE_STATUS_WAITING);
	CHECK_EQ(s.path_flows, 0);
	flow_for(&pair, 500);
	s = state_get(pair.tx);
	CHECK_EQ(s.status, DALBE_STATUS_ON_TRACK);
	CHECK_EQ(s.path_flows, 1);

	harness_turn("a group");
	fault_arm(1);
	CHECK_ERRNO(group_set_raw(pair.tx, 5), ENOMEM);
	CHECK_EQ(fault_disarm(), 0);
	s = state_get(pair.tx);
	CHECK_EQ(s.group, 0);
	CHECK_EQ(s.path_flows, 1);
	group_set(pair.tx, 5);
	flow_for(&pair, 100);
}

const struct test tests_paths[] = {
	{ "path: connections to one destination share it", one_destination },
	{ "path: shared while the base looks for others", while_the_base_shares },
	{ "path: another user's is another", other_users },
	{ "path: of accepted connections", accepted },
	{ "path: another user at the end of Tw", end_of_tw_follows },
	{ "path: another route is another", another_route },
	{ "path: a group shares, whatever its destinations", groups },
	{ "path: a listener's children are of its group", group_of_a_listener },
	{ "path: idle entries are bounded, and go after ten minutes", idle_entries },
	{ "path: entries go with their namespace", namespace_ends },
	{ "path: a full table", full_table },
	{ "path: no memory", no_memory },
	{}
};
