// SPDX-License-Identifier: GPL-2.0-only
/*
 * What happens once in minutes, hours or gigabytes: clocks and sequence numbers of 32 bits begin
 * anew, a peer is away for hours, very many connections come and go. In virtual time waiting is
 * free. Run by name only (run.sh -p -t horizon): the clocks of other tests stay as they are, and
 * the first of these finds the guest just booted.
 */
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ctl.h"
#include "net.h"
#include "tests.h"

#define KB		1000ull
#define HOUR_MS		(3600u * MS_PER_S)
#define DAY_MS		(24 * HOUR_MS)
#define US_WRAP_MS	4294967u	/* 2^32 us */
#define JIFFIES_WRAP_MS	300000u		/* after boot, see INITIAL_JIFFIES */
#define BEFORE_MS	30000u		/* so long before a wrap the transfer begins */
#define GOAL_MS		60000u
#define GOAL_BYTES	(30000 * KB)	/* four of the ten Mbit/s, all the time */
#define ALONE_BYTES	(10000 * KB)	/* what it has sent, about, when CUBIC comes */
#define SOCKETS		10000	/* at once */
#define FIRST		1000	/* connections that fill the kernel's caches, */
#define MANY		100000	/* those that come and go then, */
#define FEW		5000	/* and where that takes long */
#define TIME_WAIT_S	90

/* TCP's clock and jiffies run as this one. */
static uint64_t uptime_ms(void)
{
	struct timespec ts;

	TRY(clock_gettime(CLOCK_MONOTONIC, &ts));
	return ts.tv_sec * 1000ull + ts.tv_nsec / NS_PER_MS;
}

static void sleep_until(uint64_t when_ms)
{
	CHECK_OP(uptime_ms(), <, when_ms);
	sleep_ms(when_ms - uptime_ms());
}

static uint32_t updates;	/* of w, and when the last was seen */
static uint64_t updated_ms;

/* The goal's w is set every Tw, 1/128 of its time, and its program is never slow. */
static bool steered(const struct pair *pair)
{
	struct dalbe_state s = state_get(pair->tx);

	if (s.updates != updates) {
		updates = s.updates;
		updated_ms = uptime_ms();
	}
	if (s.status == DALBE_STATUS_DONE)
		return true;
	CHECK_OP(uptime_ms() - updated_ms, <, 4 * GOAL_MS / 128);
	CHECK(!(s.flags & DALBE_STATE_APP_LIMITED));
	return false;
}

/* A transfer under a goal, on @tx: for 10 s alone, then beside CUBIC, which has most of the link
 * still, and on time.
 */
static void transfer_by_goal(int tx)
{
	struct pair pair, cubic;
	struct dalbe_state s;
	uint64_t begin_ms;

	cc_set(tx, DALBE_CC_CDG);
	goal_set(tx, GOAL_BYTES, GOAL_MS);
	pair = pair_around(tx, IPV4);
	updates = 0;
	updated_ms = uptime_ms();
	CHECK(!pump(&pair, NO_END, 10 * MS_PER_S, steered));
	CHECK_OP(pair.received, >, ALONE_BYTES);
	CHECK_EQ(state_get(tx).regime, DALBE_REGIME_ALONE);

	cubic = pair_open("cubic");
	begin_ms = uptime_ms();
	CHECK(compete(&pair, &cubic, GOAL_MS, steered));
	s = state_get(tx);
	harness_note("done %lld ms before its end, after %u updates of w; CUBIC had %llu kbit/s; %u of %u losses answered",
		     (long long)s.time_left_ns / 1000000, s.updates,
		     (unsigned long long)(cubic.received * 8 / (uptime_ms() - begin_ms)),
		     s.loss_answers, s.loss_episodes);
	CHECK_OP(s.time_left_ns, >, 0);
	CHECK_OP(s.yields, >, 0);
	CHECK_OP(s.loss_episodes, >, 0);
	CHECK_EQ(s.loss_answers, s.loss_episodes);
	CHECK_OP(cubic.received * 8 / (uptime_ms() - begin_ms), >, 4500);
	pair_close(&pair);
	pair_close(&cubic);
}

static void across(uint64_t wrap_ms)
{
	sleep_until(wrap_ms - BEFORE_MS);
	transfer_by_goal(sock_open(NS_TX, IPV4, SOCK_STREAM));
	CHECK_OP(uptime_ms(), >, wrap_ms);
}

static void jiffies_wrap(void)
{
	across(JIFFIES_WRAP_MS);
}

static void microseconds_wrap(void)
{
	across((uptime_ms() + BEFORE_MS) / US_WRAP_MS * US_WRAP_MS + US_WRAP_MS);
}

/* The first byte's number is so many before 2^32. */
static void begin_before_wrap(int fd, uint32_t bytes)
{
	const int on = TCP_REPAIR_ON, off = TCP_REPAIR_OFF_NO_WP, queue = TCP_SEND_QUEUE;
	const uint32_t seq = -bytes;

	TRY(setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &on, sizeof(on)));
	TRY(setsockopt(fd, IPPROTO_TCP, TCP_REPAIR_QUEUE, &queue, sizeof(queue)));
	TRY(setsockopt(fd, IPPROTO_TCP, TCP_QUEUE_SEQ, &seq, sizeof(seq)));
	TRY(setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &off, sizeof(off)));
}

/* Once while it is alone, and once beside CUBIC. */
static void sequence_numbers_wrap(void)
{
	static const uint32_t before[] = { ALONE_BYTES / 2, ALONE_BYTES + 6000 * KB };

	for (size_t i = 0; i < ARRAY_SIZE(before); i++) {
		int tx = sock_open(NS_TX, IPV4, SOCK_STREAM);

		harness_turn("after %u bytes", before[i]);
		another_user();
		begin_before_wrap(tx, before[i]);
		transfer_by_goal(tx);
	}
}

#define TRACING		"/sys/kernel/tracing/"

/* A round trip ends with a number beyond that of its end. Where the last of these before the wrap
 * falls is a matter of chance: so the wrap is two packets later each time. Half a second has some
 * twenty of them.
 */
static void rounds_go_on(void)
{
	CHECK_EQ(system("echo 1 >" TRACING "events/dalbe/dalbe_round/enable"), 0);
	for (unsigned int i = 0; i < 48; i++) {
		int tx = sock_open(NS_TX, IPV4, SOCK_STREAM);
		struct pair pair;

		harness_turn("%u packets later", 2 * i);
		begin_before_wrap(tx, 1000 * KB + i * 2 * 1448);
		cc_set(tx, DALBE_CC_CDG);
		goal_set(tx, 1000000 * KB, DAY_MS);
		pair = pair_around(tx, IPV4);
		flow_for(&pair, 1200);
		CHECK_OP(pair.received, >, 1200 * KB);
		CHECK_EQ(system("echo >" TRACING "trace"), 0);
		flow_for(&pair, 500);
		CHECK_EQ(system("test $(grep -c dalbe_round: " TRACING "trace) -ge 10"), 0);
		pair_close(&pair);
	}
	CHECK_EQ(system("echo 0 >" TRACING "events/dalbe/dalbe_round/enable"), 0);
}

static uint64_t received_before;

static bool more_received(const struct pair *pair)
{
	return pair->received > received_before;
}

static bool done(const struct pair *pair)
{
	return state_get(pair->tx).status == DALBE_STATUS_DONE;
}

/* Beside CUBIC for half a minute, while the deadline is far: hardly anything. */
static void modest(struct pair *pair, struct pair *cubic)
{
	uint64_t ours = pair->received, theirs = cubic->received;

	compete(pair, cubic, 30 * MS_PER_S, NULL);
	ours = pair->received - ours;
	theirs = cubic->received - theirs;
	harness_note("ours %llu kB, CUBIC's %llu kB", (unsigned long long)(ours / KB),
		     (unsigned long long)(theirs / KB));
	CHECK_OP(ours * 9, <, theirs);
	CHECK_EQ(state_get(pair->tx).status, DALBE_STATUS_ON_TRACK);
}

/* TCP gives up after a quarter of an hour, but where it is told not to. */
static void one_day(void)
{
	const struct link slow = { .rate_kbit = 2000, .rtt_ms = 20, .queue_packets = 15 };
	const uint64_t end_ms = uptime_ms() + DAY_MS;
	struct link none = slow;
	struct pair pair, cubic;
	struct dalbe_state s;

	none.loss_percent = 100;
	link_set(&slow);
	sysctl_write(NS_TX, "ipv4/tcp_retries2", "255");
	pair = pair_open(DALBE_CC_CDG);
	goal_set(pair.tx, 30000 * KB, DAY_MS);
	cubic = pair_open("cubic");
	compete(&pair, &cubic, 10 * MS_PER_S, NULL);
	modest(&pair, &cubic);

	harness_turn("six hours without a peer");
	link_set(&none);
	sleep_ms(6 * HOUR_MS);
	CHECK_EQ(state_get(pair.tx).status, DALBE_STATUS_ON_TRACK);
	link_set(&slow);
	received_before = pair.received;
	pump(&pair, NO_END, 0, NULL);	/* reads what has come */
	CHECK(compete(&pair, &cubic, 130 * MS_PER_S, more_received));
	compete(&pair, &cubic, 120 * MS_PER_S, NULL);	/* until CUBIC has noticed as well */
	modest(&pair, &cubic);

	harness_turn("and a program that sleeps until shortly before the end");
	CHECK_OP(pair.received, <, 10000 * KB);
	sleep_until(end_ms - 600 * MS_PER_S);
	CHECK(compete(&pair, &cubic, 600 * MS_PER_S, done));
	s = state_get(pair.tx);
	harness_note("done %lld s before its end", (long long)s.time_left_ns / 1000000000);
	CHECK_OP(s.time_left_ns, >, 0);
	sysctl_write(NS_TX, "ipv4/tcp_retries2", "15");
	pair_close(&pair);
	pair_close(&cubic);
}

#define KEPT_MS		(600u * MS_PER_S)	/* an entry that nobody uses */
#define JOB		4711
#define JOB_MS		(2 * KEPT_MS + KEPT_MS / 2)

/* A connection comes to the job with a goal of 1000 KB: it shows the job's, or that one. */
static struct dalbe_state come_to_job(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG);
	struct dalbe_state s;

	job_set(pair.tx, JOB, 1000 * KB, JOB_MS);
	s = state_get(pair.tx);
	pair_close(&pair);
	return s;
}

/* A job waits for connections until it is done or late, and is forgotten within twenty minutes. */
static void job_without_connections(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG);

	job_set(pair.tx, JOB, 400 * KB, JOB_MS);
	transfer(&pair, 100 * KB);
	pair_close(&pair);
	sleep_ms(JOB_MS - KEPT_MS / 4);
	CHECK_EQ(come_to_job().goal_bytes, 400 * KB);
	CHECK_EQ(come_to_job().bytes_done, 100 * KB);

	harness_turn("late");
	sleep_ms(KEPT_MS / 2);
	CHECK_EQ(come_to_job().status, DALBE_STATUS_LATE);
	sleep_ms(2 * KEPT_MS + KEPT_MS / 4);
	CHECK_EQ(come_to_job().goal_bytes, 1000 * KB);

	harness_turn("done");
	pair = pair_open(DALBE_CC_CDG);
	job_set(pair.tx, JOB, 1, JOB_MS);
	transfer(&pair, 1000 * KB);
	pair_close(&pair);
	sleep_ms(KEPT_MS / 2);
	CHECK_EQ(come_to_job().status, DALBE_STATUS_DONE);
	sleep_ms(KEPT_MS + KEPT_MS / 4);
	CHECK_EQ(come_to_job().status, DALBE_STATUS_ON_TRACK);
}

/* A line of /proc/meminfo, kB. */
static long memory_kb(const char *name)
{
	FILE *file = fopen("/proc/meminfo", "r");
	char line[128];
	long kb = -1;

	CHECK(file);
	while (kb < 0 && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, strlen(name)))
			kb = atol(line + strlen(name));
	fclose(file);
	CHECK_OP(kb, >, 0);
	return kb;
}

/* A namespace whose only device is its loopback. */
static void own_namespace(void)
{
	ns_enter(NS_TX);
	TRY(unshare(CLONE_NEWNET));
	CHECK_EQ(system("ip link set lo up"), 0);
	CHECK_EQ(system("echo 1 >/proc/sys/net/ipv4/tcp_no_metrics_save"), 0);
}

static int listener_here(struct sockaddr_in *here)
{
	socklen_t len = sizeof(*here);
	int fd = TRY(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));

	*here = (struct sockaddr_in) {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	TRY(bind(fd, (struct sockaddr *)here, len));
	TRY(listen(fd, 16));
	TRY(getsockname(fd, (struct sockaddr *)here, &len));
	return fd;
}

/* A connection under a goal that has sent a byte; closing @tx resets it. */
static struct pair with_goal(int listener, const struct sockaddr_in *to)
{
	const struct linger reset = { .l_onoff = 1 };
	struct pair pair = { .tx = TRY(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) };
	char byte = 0;

	cc_set(pair.tx, DALBE_CC_CDG);
	TRY(setsockopt(pair.tx, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)));
	goal_set(pair.tx, 1000 * KB, DAY_MS);
	TRY(connect(pair.tx, (const struct sockaddr *)to, sizeof(*to)));
	pair.rx = TRY(accept4(listener, NULL, NULL, SOCK_CLOEXEC));
	CHECK_EQ(TRY(send(pair.tx, &byte, 1, 0)), 1);
	return pair;
}

static void many_at_once(void)
{
	static struct pair pairs[SOCKETS];
	struct sockaddr_in here;
	int listener;
	long before;

	own_namespace();
	listener = listener_here(&here);
	before = memory_kb("MemAvailable:");
	for (int i = 0; i < SOCKETS; i++) {
		harness_turn("connection %d", i);
		pairs[i] = with_goal(listener, &here);
	}
	harness_turn("%s", "");
	harness_note("%ld bytes per connection and its peer",
		     (before - memory_kb("MemAvailable:")) * 1024 / SOCKETS);
	sleep_ms(HOUR_MS);
	for (int i = 0; i < SOCKETS; i++) {
		struct dalbe_state s = state_get(pairs[i].tx);

		harness_turn("connection %d", i);
		CHECK_EQ(s.status, DALBE_STATUS_ON_TRACK);
		CHECK_EQ(s.bytes_done, 1);
		CHECK_EQ(s.path_flows, SOCKETS);
	}
	harness_turn("%s", "");
	for (int i = 0; i < SOCKETS; i++) {
		close(pairs[i].tx);
		close(pairs[i].rx);
	}
	CHECK_EQ(state_get(with_goal(listener, &here).tx).path_flows, 1);
}

/* KASAN keeps what was freed for a while; there kmemleak has to find what nobody frees. */
static void come_and_go(void)
{
	bool kasan = !system("grep -qw kasan_report /proc/kallsyms");
	int n = kasan ? FEW : MANY, listener;
	struct sockaddr_in here;
	long before = 0, more;

	own_namespace();
	listener = listener_here(&here);
	for (int i = -FIRST; i < n; i++) {
		struct pair pair = with_goal(listener, &here);

		harness_turn("connection %d", i);
		close(pair.tx);
		close(pair.rx);
		if (i)
			continue;
		sleep_ms(TIME_WAIT_S * MS_PER_S);
		before = memory_kb("SUnreclaim:");
	}
	harness_turn("%s", "");
	sleep_ms(TIME_WAIT_S * MS_PER_S);
	more = memory_kb("SUnreclaim:") - before;
	harness_note("%d connections, %ld kB of slabs more", n, more);
	if (!kasan)
		CHECK_OP(more * 1024, <, 16L * n);
}

const struct test tests_horizon[] = {
	{ "horizon: jiffies begin anew during a goal", jiffies_wrap },
	{ "horizon: sequence numbers begin anew during a goal", sequence_numbers_wrap },
	{ "horizon: round trips go on where sequence numbers begin anew", rounds_go_on },
	{ "horizon: microseconds of 32 bits begin anew during a goal", microseconds_wrap },
	{ "horizon: a goal of a day, and the peer gone for hours", one_day },
	{ "horizon: a job without connections waits until it is done or late",
	  job_without_connections },
	{ "horizon: ten thousand goals at once", many_at_once },
	{ "horizon: connections with goals come and go, and leave nothing", come_and_go },
	{}
};
