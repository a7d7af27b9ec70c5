// SPDX-License-Identifier: GPL-2.0-only
/* A goal can be set, changed and cleared in any state of a connection. */
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"
#include "net.h"
#include "tests.h"

#define KB	1000ull

/* bytes_done is bytes_acked since the goal was set, to the byte. */
static void check_done_since(int fd, uint64_t acked_at_set)
{
	uint64_t acked;
	struct dalbe_state s = state_get_exact(fd, &acked);

	CHECK_EQ(s.bytes_done, acked - acked_at_set);
}

static void before_connect(void)
{
	for (enum family f = 0; f < FAMILIES; f++) {
		int tx = sock_open(NS_TX, f, SOCK_STREAM);
		struct dalbe_state s;
		struct pair pair;

		harness_turn("%s", family_name[f]);
		cc_set(tx, DALBE_CC_CDG);
		goal_set(tx, 200 * KB, 10000);
		s = state_get(tx);
		CHECK_EQ(s.status, DALBE_STATUS_WAITING);
		CHECK_EQ(s.goal_bytes, 200 * KB);
		CHECK_EQ(s.bytes_done, 0);

		pair = pair_around(tx, f);
		s = state_get(tx);
		CHECK_EQ(s.status, DALBE_STATUS_ON_TRACK);
		CHECK_EQ(s.goal_bytes, 200 * KB);
		CHECK_EQ(s.bytes_done, 0);
		CHECK_OP(s.w_ppm, >, 0);
		CHECK_OP(s.target_Bps, >=, 200 * KB / 10);

		transfer(&pair, 200 * KB);
		s = state_get(tx);
		CHECK_EQ(s.bytes_done, 200 * KB);
		CHECK_EQ(s.status, DALBE_STATUS_DONE);
		pair_close(&pair);
	}
}

static void while_sending(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG);
	uint64_t acked;

	flow_for(&pair, 1000);
	CHECK_EQ(state_get(pair.tx).status, DALBE_STATUS_NONE);
	CHECK(!all_acked(&pair));
	acked = sock_tcp_info(pair.tx).tcpi_bytes_acked;
	goal_set(pair.tx, 1000 * KB, 10000);
	check_done_since(pair.tx, acked);
	CHECK_EQ(state_get(pair.tx).status, DALBE_STATUS_ON_TRACK);
	flow_for(&pair, 2000);
	CHECK_OP(state_get(pair.tx).updates, >, 5);
	check_done_since(pair.tx, acked);
}

/* The congestion control is selected between SYN and SYN-ACK: TCP initialises
 * it then, and not again when the connection is established.
 */
static struct pair pair_in_syn_sent(void)
{
	int listener = sock_listen(IPV4, NULL);
	int tx = sock_open(NS_TX, IPV4, SOCK_STREAM);
	struct pair pair = { .tx = tx, .listener = listener };

	sock_connect_start(tx, listener, IPV4);
	CHECK_EQ(sock_tcp_info(tx).tcpi_state, TCP_SYN_SENT);
	return pair;
}

static void in_syn_sent(void)
{
	struct pair pair = pair_in_syn_sent();

	cc_set(pair.tx, DALBE_CC_CDG);
	goal_set(pair.tx, 100 * KB, 10000);
	CHECK_EQ(sock_tcp_info(pair.tx).tcpi_state, TCP_SYN_SENT);
	CHECK_EQ(state_get(pair.tx).status, DALBE_STATUS_WAITING);
	pair.rx = sock_accept(pair.listener);
	transfer(&pair, 50 * KB);
	CHECK_EQ(state_get(pair.tx).status, DALBE_STATUS_ON_TRACK);
}

/* bytes_acked counts the SYN, a goal does not. */
static void syn_is_no_payload(void)
{
	for (int cc_first = 0; cc_first <= 1; cc_first++) {
		struct pair pair = { .tx = -1 };

		harness_turn("dalbe_cdg selected %s the SYN",
			     cc_first ? "before" : "after");
		if (cc_first) {
			pair.tx = sock_open(NS_TX, IPV4, SOCK_STREAM);
			pair.listener = sock_listen(IPV4, NULL);
			cc_set(pair.tx, DALBE_CC_CDG);
			sock_connect_start(pair.tx, pair.listener, IPV4);
		} else {
			pair = pair_in_syn_sent();
			cc_set(pair.tx, DALBE_CC_CDG);
		}
		goal_set(pair.tx, 100 * KB, 10000);
		pair.rx = sock_accept(pair.listener);
		sleep_ms(100);
		CHECK_EQ(state_get(pair.tx).bytes_done, 0);
		transfer(&pair, 100 * KB - 1);
		CHECK_EQ(state_get(pair.tx).bytes_done, 100 * KB - 1);
		CHECK_EQ(state_get(pair.tx).status, DALBE_STATUS_ON_TRACK);
		transfer(&pair, 1);
		CHECK_EQ(state_get(pair.tx).status, DALBE_STATUS_DONE);
	}
}

/* TCP Fast Open: payload in the SYN is payload. */
static void data_in_syn(void)
{
	char before_tx[SYSCTL_LEN], before_rx[SYSCTL_LEN];
	struct pair pair = {};
	char payload[500] = {};
	struct tcp_info info;

	sysctl_read(NS_TX, "ipv4/tcp_fastopen", before_tx);
	sysctl_read(NS_RX, "ipv4/tcp_fastopen", before_rx);
	sysctl_write(NS_TX, "ipv4/tcp_fastopen", "5");	/* without a cookie */
	sysctl_write(NS_RX, "ipv4/tcp_fastopen", "1538"); /* likewise, all */
	pair.listener = sock_listen(IPV4, NULL);
	pair.tx = sock_open(NS_TX, IPV4, SOCK_STREAM);
	cc_set(pair.tx, DALBE_CC_CDG);
	goal_set(pair.tx, 100 * KB, 10000);
	TRY(setsockopt(pair.tx, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &(int){ 1 },
		       sizeof(int)));
	sock_connect(pair.tx, pair.listener, IPV4);
	CHECK_EQ(send(pair.tx, payload, sizeof(payload), 0), sizeof(payload));
	pair.rx = sock_accept(pair.listener);
	sysctl_write(NS_TX, "ipv4/tcp_fastopen", before_tx);
	sysctl_write(NS_RX, "ipv4/tcp_fastopen", before_rx);
	pair.sent = sizeof(payload);
	transfer(&pair, 10 * KB);
	info = sock_tcp_info(pair.tx);
	CHECK(info.tcpi_options & TCPI_OPT_SYN_DATA);
	CHECK_EQ(state_get(pair.tx).bytes_done, 10 * KB + sizeof(payload));
}

static enum tcp_ca_state wanted_ca_state;

static bool in_ca_state(const struct pair *pair)
{
	return sock_tcp_info(pair->tx).tcpi_ca_state == wanted_ca_state;
}

static uint64_t backoffs_before;

/* Within one: it lasts for a round trip, twice the time between two looks. */
static bool in_backoff_cut(const struct pair *pair)
{
	uint64_t before = backoffs_before;

	backoffs_before = state_get(pair->tx).backoffs_delay;
	return backoffs_before != before;
}

static void set_and_clear_at(enum tcp_ca_state ca_state, struct pair *pair,
			     bool (*there)(const struct pair *pair))
{
	uint64_t acked;

	wanted_ca_state = ca_state;
	backoffs_before = state_get(pair->tx).backoffs_delay;
	if (!pump(pair, NO_END, 20 * MS_PER_S, there))
		FAIL("TCP never got into ca_state %d", ca_state);
	acked = sock_tcp_info(pair->tx).tcpi_bytes_acked;
	goal_set(pair->tx, 2000 * KB, 60000);
	check_done_since(pair->tx, acked);
	CHECK_EQ(sock_tcp_info(pair->tx).tcpi_ca_state, ca_state);
	goal_clear(pair->tx);
	CHECK_EQ(state_get(pair->tx).status, DALBE_STATUS_NONE);
	goal_set(pair->tx, 2000 * KB, 60000);
	CHECK_EQ(sock_tcp_info(pair->tx).tcpi_ca_state, ca_state);
	CHECK_EQ(state_get(pair->tx).status, DALBE_STATUS_ON_TRACK);
}

static void set_and_clear_in(enum tcp_ca_state ca_state, struct pair *pair)
{
	set_and_clear_at(ca_state, pair, in_ca_state);
}

static void in_recovery(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG);
	struct link lossy = link_default;
	uint64_t acked;

	lossy.loss_percent = 3;
	link_set(&lossy);
	set_and_clear_in(TCP_CA_Recovery, &pair);
	acked = sock_tcp_info(pair.tx).tcpi_bytes_acked -
		state_get(pair.tx).bytes_done;
	flow_for(&pair, 5000);
	CHECK_OP(state_get(pair.tx).backoffs_loss, >, 0);
	check_done_since(pair.tx, acked);
}

/* An RTO: everything that was sent for a second is lost. */
static void in_loss(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG);
	struct link dead = link_default;

	flow_for(&pair, 500);
	dead.loss_percent = 100;
	link_set(&dead);
	set_and_clear_in(TCP_CA_Loss, &pair);
	link_set(&link_default);
	pump(&pair, 0, 30000, all_acked);
	CHECK_EQ(pair.received, pair.sent);
}

static void in_backoff(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG);

	params_set(pair.tx, (struct dalbe_params) {
		.flags = DALBE_PARAM_G, .g_ns = DALBE_G_MIN_NS });
	set_and_clear_at(TCP_CA_Open, &pair, in_backoff_cut);
	flow_for(&pair, 2000);
	CHECK_OP(state_get(pair.tx).backoffs_delay, >, 1);
}

/* After a mark. */
static void in_cwr(void)
{
	struct pair pair = pair_with_marks(3, ECN);

	set_and_clear_in(TCP_CA_CWR, &pair);
	flow_for(&pair, 2000);
	CHECK_OP(state_get(pair.tx).loss_episodes, >, 0);
}

static void update_keeps_progress(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG);
	struct dalbe_state before, after;

	goal_set(pair.tx, 1000 * KB, 10000);
	transfer(&pair, 500 * KB);
	before = state_get(pair.tx);
	TRY(goal_set_raw(pair.tx, 2000 * KB, 20000 * NS_PER_MS,
			 DALBE_GOAL_RELATIVE | DALBE_GOAL_UPDATE));
	after = state_get(pair.tx);
	CHECK_EQ(after.bytes_done, 500 * KB);
	CHECK_EQ(after.goal_bytes, 2000 * KB);
	CHECK_EQ(after.updates, before.updates);
	CHECK_EQ(after.w_ppm, before.w_ppm);
	CHECK_OP(after.deadline_ns, >, before.deadline_ns);
	CHECK_OP(after.target_Bps, >=, 1500 * KB / 20);
	CHECK_OP(after.target_Bps, <, 1500 * KB / 15);

	/* less than is done: done */
	TRY(goal_set_raw(pair.tx, 400 * KB, 20000 * NS_PER_MS,
			 DALBE_GOAL_RELATIVE | DALBE_GOAL_UPDATE));
	CHECK_EQ(state_get(pair.tx).status, DALBE_STATUS_DONE);

	/* and more than that again: on track, and its time runs */
	TRY(goal_set_raw(pair.tx, 2000 * KB, 20000 * NS_PER_MS,
			 DALBE_GOAL_RELATIVE | DALBE_GOAL_UPDATE));
	before = state_get(pair.tx);
	CHECK_EQ(before.status, DALBE_STATUS_ON_TRACK);
	sleep_ms(1000);
	after = state_get(pair.tx);
	CHECK_OP(after.time_left_ns, <=, before.time_left_ns - (int64_t)NS_PER_S);

	/* without UPDATE it is a new goal */
	goal_set(pair.tx, 1000 * KB, 10000);
	after = state_get(pair.tx);
	CHECK_EQ(after.bytes_done, 0);
	CHECK_EQ(after.updates, 0);
	CHECK_EQ(after.status, DALBE_STATUS_ON_TRACK);
}

/* The Tw of a day is 10 s, and that of half a minute 234 ms: it begins with the change. */
static void update_is_heard_at_once(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG);

	goal_set(pair.tx, 100000 * KB, 86400 * 1000);
	flow_for(&pair, 1000);
	CHECK_EQ(state_get(pair.tx).updates, 0);
	TRY(goal_set_raw(pair.tx, 100000 * KB, 30 * NS_PER_S,
			 DALBE_GOAL_RELATIVE | DALBE_GOAL_UPDATE));
	flow_for(&pair, 1000);
	CHECK_OP(state_get(pair.tx).updates, >=, 3);

	params_set(pair.tx, (struct dalbe_params) {
		.flags = DALBE_PARAM_TW, .tw_ms = DALBE_TW_MAX_MS });
	flow_for(&pair, 1000);
	CHECK_OP(state_get(pair.tx).updates, <=, 5);
	params_set(pair.tx, (struct dalbe_params) {
		.flags = DALBE_PARAM_TW, .tw_ms = DALBE_TW_MIN_MS });
	flow_for(&pair, 1000);
	CHECK_OP(state_get(pair.tx).updates, >=, 10);
}

static void update_before_connect(void)
{
	int tx = sock_open(NS_TX, IPV4, SOCK_STREAM);
	struct dalbe_state s;

	cc_set(tx, DALBE_CC_CDG);
	goal_set(tx, 1, 10000);
	TRY(goal_set_raw(tx, 300 * KB, 20000 * NS_PER_MS,
			 DALBE_GOAL_RELATIVE | DALBE_GOAL_UPDATE));
	s = state_get(tx);
	CHECK_EQ(s.status, DALBE_STATUS_WAITING);
	CHECK_EQ(s.goal_bytes, 300 * KB);
	CHECK_OP(s.time_left_ns, >, 19999 * NS_PER_MS);
}

static void clear(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG);
	struct dalbe_state s;

	goal_clear(pair.tx);			/* none yet: fine */
	goal_set(pair.tx, 1000 * KB, 10000);
	flow_for(&pair, 500);
	goal_clear(pair.tx);
	s = state_get(pair.tx);
	CHECK_EQ(s.status, DALBE_STATUS_NONE);
	CHECK_EQ(s.goal_bytes, 0);
	CHECK_EQ(s.bytes_done, 0);
	CHECK_EQ(s.deadline_ns, 0);
	CHECK_EQ(s.time_left_ns, 0);
	CHECK_EQ(s.target_Bps, 0);
	CHECK_EQ(s.w_ppm, 0);
	CHECK_EQ(s.updates, 0);
	CHECK_EQ(s.g_ns, 3000000);		/* net.dalbe.g_us */
	flow_for(&pair, 500);
	CHECK_EQ(state_get(pair.tx).updates, 0);
	goal_clear(pair.tx);
}

static void clear_before_connect(void)
{
	int tx = sock_open(NS_TX, IPV4, SOCK_STREAM);
	struct pair pair;

	cc_set(tx, DALBE_CC_CDG);
	goal_set(tx, 1000 * KB, 10000);
	goal_clear(tx);
	CHECK_EQ(state_get(tx).status, DALBE_STATUS_NONE);
	pair = pair_around(tx, IPV4);
	flow_for(&pair, 500);
	CHECK_EQ(state_get(tx).status, DALBE_STATUS_NONE);
}

/* The children send: from rx to tx. */
static void inherited(bool close_listener_first)
{
	enum { CHILDREN = 20 };
	int listener = sock_listen(IPV4, DALBE_CC_CDG);
	struct pair pair[CHILDREN] = {};

	goal_set(listener, 50 * KB, 10000);
	for (int i = 0; i < CHILDREN; i++) {
		pair[i].rx = sock_open(NS_TX, IPV4, SOCK_STREAM);
		sock_connect(pair[i].rx, listener, IPV4);
		pair[i].tx = sock_accept(listener);
	}
	CHECK_EQ(state_get(listener).status, DALBE_STATUS_WAITING);
	if (close_listener_first)
		close(listener);

	for (int i = 0; i < CHILDREN; i++) {
		struct dalbe_state s = state_get(pair[i].tx);

		harness_turn("child %d", i);
		CHECK(!strcmp(sock_cc(pair[i].tx), DALBE_CC_CDG));
		CHECK_EQ(s.goal_bytes, 50 * KB);
		CHECK_EQ(s.bytes_done, 0);
		CHECK_EQ(s.status, DALBE_STATUS_ON_TRACK);
	}

	/* Each counts its own bytes, ... */
	for (int i = 0; i < CHILDREN; i++)
		transfer(&pair[i], 3 * KB * (i + 1));
	for (int i = 0; i < CHILDREN; i++) {
		struct dalbe_state s = state_get(pair[i].tx);

		harness_turn("child %d", i);
		CHECK_EQ(s.bytes_done, 3 * KB * (i + 1));
		CHECK_EQ(s.status, s.bytes_done >= 50 * KB ?
				   DALBE_STATUS_DONE : DALBE_STATUS_ON_TRACK);
	}

	/* ... and has its own goal: one changes, one ends, the others stay. */
	goal_clear(pair[0].tx);
	TRY(goal_set_raw(pair[1].tx, 70 * KB, 10000 * NS_PER_MS,
			 DALBE_GOAL_RELATIVE | DALBE_GOAL_UPDATE));
	close(pair[2].tx);
	harness_turn("%s", "");
	CHECK_EQ(state_get(pair[0].tx).goal_bytes, 0);
	CHECK_EQ(state_get(pair[1].tx).goal_bytes, 70 * KB);
	CHECK_EQ(state_get(pair[3].tx).goal_bytes, 50 * KB);
	if (!close_listener_first)
		CHECK_EQ(state_get(listener).goal_bytes, 50 * KB);
	for (int i = 3; i < CHILDREN; i++)
		transfer(&pair[i], 10 * KB);
}

/* Each child has the whole time, whenever it comes. */
static void each_from_its_own_beginning(void)
{
	const uint32_t each = DALBE_GOAL_RELATIVE | DALBE_GOAL_EACH;
	int listener = sock_listen(IPV4, DALBE_CC_CDG);
	int tx = sock_open(NS_TX, IPV4, SOCK_STREAM), child;
	struct dalbe_state s;

	CHECK_ERRNO(goal_set_raw(listener, KB, 0, each), ETIME);
	TRY(goal_set_raw(listener, 50 * KB, 10 * NS_PER_S, each));
	for (int i = 0; i < 2; i++) {
		int peer = sock_open(NS_TX, IPV4, SOCK_STREAM);

		sleep_ms(15000);
		CHECK_EQ(state_get(listener).time_left_ns, 10 * NS_PER_S);
		sock_connect(peer, listener, IPV4);
		child = sock_accept(listener);
		s = state_get(child);
		CHECK_EQ(s.status, DALBE_STATUS_ON_TRACK);
		CHECK_OP(s.time_left_ns, >, 9 * (int64_t)NS_PER_S);
		CHECK_OP(s.time_left_ns, <=, 10 * (int64_t)NS_PER_S);
		sleep_ms(1000);
		CHECK_OP(state_get(child).time_left_ns, <, s.time_left_ns);
		close(child);
		close(peer);
	}

	harness_turn("before connect()");
	cc_set(tx, DALBE_CC_CDG);
	TRY(goal_set_raw(tx, 50 * KB, 10 * NS_PER_S, each));
	sleep_ms(15000);
	sock_connect(tx, listener, IPV4);
	CHECK_OP(state_get(tx).time_left_ns, >, 9 * (int64_t)NS_PER_S);

	harness_turn("connected");
	TRY(goal_set_raw(tx, 50 * KB, 20 * NS_PER_S, each));
	sleep_ms(5000);
	CHECK_OP(state_get(tx).time_left_ns, <=, 15 * (int64_t)NS_PER_S);
	close(tx);
	close(listener);
}

static void inherited_listener_closed_first(void)
{
	inherited(true);
}

static void inherited_listener_closed_last(void)
{
	inherited(false);
}

/* The goal is older than the listener; its children have no SYN to count. */
static void inherited_set_before_listen(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	struct pair pair = {};

	pair.listener = sock_open(NS_RX, IPV4, SOCK_STREAM);
	cc_set(pair.listener, DALBE_CC_CDG);
	goal_set(pair.listener, 50 * KB, 10000);
	TRY(bind(pair.listener, (struct sockaddr *)&any, sizeof(any)));
	TRY(listen(pair.listener, 5));
	pair.rx = sock_open(NS_TX, IPV4, SOCK_STREAM);
	sock_connect(pair.rx, pair.listener, IPV4);
	pair.tx = sock_accept(pair.listener);
	CHECK_EQ(state_get(pair.tx).bytes_done, 0);
	transfer(&pair, 50 * KB - 1);
	CHECK_EQ(state_get(pair.tx).bytes_done, 50 * KB - 1);
}

static void inherited_never_accepted(void)
{
	int listener = sock_listen(IPV6, DALBE_CC_CDG);
	int tx[20];

	goal_set(listener, 50 * KB, 10000);
	for (size_t i = 0; i < 20; i++) {
		tx[i] = sock_open(NS_TX, IPV6, SOCK_STREAM);
		sock_connect(tx[i], listener, IPV6);
	}
	close(listener);
	sleep_ms(100);
	for (size_t i = 0; i < 20; i++)
		CHECK_ERRNO(recv(tx[i], &(char){ 0 }, 1, 0), ECONNRESET);
}

/* The listener never called setsockopt(): it has the namespace's default. */
static void inherited_default_cc(void)
{
	struct pair pair = {};
	struct dalbe_state s;
	char before[SYSCTL_LEN];
	int listener;

	sysctl_read(NS_RX, "ipv4/tcp_congestion_control", before);
	sysctl_write(NS_RX, "ipv4/tcp_congestion_control", DALBE_CC_CDG);
	listener = sock_listen(IPV4, NULL);
	sysctl_write(NS_RX, "ipv4/tcp_congestion_control", before);
	CHECK(!strcmp(sock_cc(listener), DALBE_CC_CDG));
	goal_set(listener, 50 * KB, 10000);

	sysctl_write(NS_RX, "ipv4/tcp_congestion_control", DALBE_CC_CDG);
	pair.rx = sock_open(NS_TX, IPV4, SOCK_STREAM);
	sock_connect(pair.rx, listener, IPV4);
	pair.tx = sock_accept(listener);
	sysctl_write(NS_RX, "ipv4/tcp_congestion_control", before);
	s = state_get(pair.tx);
	CHECK_EQ(s.goal_bytes, 50 * KB);
	CHECK_EQ(s.status, DALBE_STATUS_ON_TRACK);
}

/* A goal that is refused is no choice of a congestion control: a default may still replace it. */
static void refused_leaves_default(void)
{
	char before[SYSCTL_LEN];
	int listener, rx;

	sysctl_read(NS_RX, "ipv4/tcp_congestion_control", before);
	sysctl_write(NS_RX, "ipv4/tcp_congestion_control", DALBE_CC_CDG);
	listener = sock_listen(IPV4, NULL);
	sysctl_write(NS_RX, "ipv4/tcp_congestion_control", before);
	CHECK_ERRNO(goal_set_raw(listener, KB, 1, 0), ETIME);
	CHECK_ERRNO(goal_set_raw(listener, KB, NS_PER_S,
				 DALBE_GOAL_RELATIVE | DALBE_GOAL_UPDATE), ENODATA);
	goal_clear(listener);
	rx = sock_open(NS_TX, IPV4, SOCK_STREAM);
	sock_connect(rx, listener, IPV4);
	CHECK(!strcmp(sock_cc(sock_accept(listener)), before));
}

/* A listener's goal that has little of its time left, or none, when a connection begins. */
static void inherited_late(void)
{
	static const struct {
		unsigned int at_ms, tw_ms;
		uint32_t status, w_ppm;
	} turns[] = {
		{ 0, 4687, DALBE_STATUS_ON_TRACK, 10000 },
		{ 590000, 160, DALBE_STATUS_ON_TRACK, 10000 },
		{ 620000, 100, DALBE_STATUS_LATE, 1000000 },
	};
	int listener = sock_listen(IPV4, DALBE_CC_CDG);
	unsigned int now_ms = 0;

	goal_set(listener, 50000 * KB, 600000);
	for (size_t i = 0; i < ARRAY_SIZE(turns); i++) {
		struct dalbe_state s;
		int rx = sock_open(NS_TX, IPV4, SOCK_STREAM);

		harness_turn("after %u s", turns[i].at_ms / 1000);
		sleep_ms(turns[i].at_ms - now_ms);
		now_ms = turns[i].at_ms;
		sock_connect(rx, listener, IPV4);
		s = state_get(sock_accept(listener));
		CHECK_EQ(s.status, turns[i].status);
		CHECK_OP(s.w_ppm, >=, turns[i].w_ppm - 20);	/* w is in 1/65536 */
		CHECK_OP(s.w_ppm, <=, turns[i].w_ppm);
		CHECK_OP(s.tw_ms, >=, turns[i].tw_ms * 9 / 10);
		CHECK_OP(s.tw_ms, <=, turns[i].tw_ms * 11 / 10);
	}
}

static void absolute_and_relative_agree(void)
{
	int tx = sock_open(NS_TX, IPV4, SOCK_STREAM);
	struct dalbe_state absolute, relative;
	uint64_t now;

	cc_set(tx, DALBE_CC_CDG);
	now = now_ns();
	TRY(goal_set_raw(tx, KB, now + 5 * NS_PER_S, 0));
	absolute = state_get(tx);
	CHECK_EQ(absolute.deadline_ns, now + 5 * NS_PER_S);
	TRY(goal_set_raw(tx, KB, 5 * NS_PER_S, DALBE_GOAL_RELATIVE));
	relative = state_get(tx);
	CHECK_OP(relative.deadline_ns, >=, absolute.deadline_ns);
	CHECK_OP(relative.deadline_ns - absolute.deadline_ns, <, NS_PER_MS);

	sleep_ms(1000);
	relative = state_get(tx);
	CHECK_OP(relative.time_left_ns, <=, 4 * NS_PER_S);
	CHECK_OP(relative.time_left_ns, >, 4 * NS_PER_S - 100 * NS_PER_MS);
}

static void reconnects_as_cubic_and_back(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG);
	struct dalbe_state s;

	for (int i = 0; i < 3; i++) {
		harness_turn("round %d", i);
		goal_set(pair.tx, 10000 * KB, 60000);
		flow_for(&pair, 300);
		cc_set(pair.tx, DALBE_CC_CDG);	/* the same: no-op */
		CHECK_EQ(state_get(pair.tx).goal_bytes, 10000 * KB);

		cc_set(pair.tx, "cubic");
		CHECK_ERRNO(state_get_raw(pair.tx, &s), ENOPROTOOPT);
		CHECK_ERRNO(goal_set_raw(pair.tx, KB, NS_PER_S,
					 DALBE_GOAL_RELATIVE), ENOPROTOOPT);
		flow_for(&pair, 300);

		cc_set(pair.tx, DALBE_CC_CDG);
		s = state_get(pair.tx);
		CHECK_EQ(s.status, DALBE_STATUS_NONE);
		CHECK_EQ(s.goal_bytes, 0);
		CHECK_EQ(s.backoffs_delay + s.backoffs_loss, 0);
		flow_for(&pair, 300);
	}
}

/* The ends of what is allowed, in combination: for UBSAN, and for a division by what
 * may be 0. @effect: net.dalbe.effect
 */
static void extremes_under(uint32_t controller, const char *effect)
{
	static const uint64_t bytes[] = { 1, 1 << 20, INT64_MAX };
	static const uint64_t in_ns[] = {
		1, NS_PER_MS, NS_PER_S, 365 * 86400 * NS_PER_S };
	struct pair pair = pair_open(DALBE_CC_CDG);

	params_set(pair.tx, (struct dalbe_params) {
		.flags = DALBE_PARAM_CONTROLLER, .controller = controller });
	for (size_t i = 0; i < 12; i++) {
		struct dalbe_state s;

		harness_turn("controller %u, effect %s, %llu bytes in %llu ns",
			     controller, effect,
			     (unsigned long long)bytes[i / 4],
			     (unsigned long long)in_ns[i % 4]);
		sysctl_write(NS_TX, "dalbe/effect", effect);
		TRY(goal_set_raw(pair.tx, bytes[i / 4], in_ns[i % 4],
				 DALBE_GOAL_RELATIVE));
		sysctl_write(NS_TX, "dalbe/effect", "1");
		flow_for(&pair, 400);
		s = state_get(pair.tx);
		CHECK_OP(s.w_ppm, >, 0);
		CHECK_OP(s.w_ppm, <=, 1000000);
		CHECK_OP(s.g_ns, >=, DALBE_G_MIN_NS);
		CHECK_OP(s.g_ns, <=, DALBE_G_MAX_NS);
		if (bytes[i / 4] == 1)
			CHECK_EQ(s.status, DALBE_STATUS_DONE);
		else if (in_ns[i % 4] <= NS_PER_MS)
			CHECK_EQ(s.status, DALBE_STATUS_LATE);
	}
	pair_close(&pair);
}

static void extremes_while_sending(void)
{
	for (uint32_t c = DALBE_CONTROLLER_PID; c <= DALBE_CONTROLLER_FLOOR; c++) {
		extremes_under(c, "0");
		extremes_under(c, "1");
	}
}

/* CA_EVENT_CWND_RESTART: what CDG has measured is void, the goal is not. */
static void idle_keeps_goal(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG);
	struct dalbe_state before, after;

	goal_set(pair.tx, 3000 * KB, 60000);
	transfer(&pair, 1000 * KB);
	before = state_get(pair.tx);
	sleep_ms(10000);
	transfer(&pair, 1000 * KB);
	after = state_get(pair.tx);
	CHECK_EQ(after.goal_bytes, 3000 * KB);
	CHECK_EQ(after.bytes_done, 2000 * KB);
	CHECK_EQ(after.deadline_ns, before.deadline_ns);
	CHECK_EQ(after.status, DALBE_STATUS_ON_TRACK);
	CHECK_OP(after.updates, >, before.updates);
}

/* A program sends a little more than it announced: those bytes must not wait. */
static void tail_is_not_starved(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG);
	uint64_t start, body_ns, tail_ns;

	goal_set(pair.tx, 2000 * KB, 4000);
	start = now_ns();
	transfer(&pair, 2000 * KB);
	body_ns = now_ns() - start;
	CHECK_EQ(state_get(pair.tx).status, DALBE_STATUS_DONE);

	start = now_ns();
	transfer(&pair, 500 * KB);
	tail_ns = now_ns() - start;
	harness_note("body %llu ms per MB, tail %llu ms per MB",
		     (unsigned long long)(body_ns / 2 / NS_PER_MS),
		     (unsigned long long)(tail_ns * 2 / NS_PER_MS));
	/* bytes per time of the tail at least half of the body's */
	CHECK_OP(tail_ns * 4, <=, body_ns * 2);
}

const struct test tests_goal[] = {
	{ "a goal set before connect() waits for it", before_connect },
	{ "a goal set while data flows", while_sending },
	{ "a goal set between SYN and SYN-ACK", in_syn_sent },
	{ "the SYN is no payload", syn_is_no_payload },
	{ "data in the SYN is", data_in_syn },
	{ "a goal set in fast recovery", in_recovery },
	{ "a goal set after an RTO", in_loss },
	{ "a goal set during a delay backoff", in_backoff },
	{ "a goal set after a mark (CWR)", in_cwr },
	{ "UPDATE keeps progress and controller", update_keeps_progress },
	{ "UPDATE is heard at once", update_is_heard_at_once },
	{ "UPDATE before connect()", update_before_connect },
	{ "CLEAR goes on as plain CDG", clear },
	{ "CLEAR before connect()", clear_before_connect },
	{ "children inherit a listener's goal, listener closed first",
	  inherited_listener_closed_first },
	{ "goal: of a listener, for each from its own beginning", each_from_its_own_beginning },
	{ "children inherit a listener's goal, listener closed last",
	  inherited_listener_closed_last },
	{ "children inherit a goal set before listen()",
	  inherited_set_before_listen },
	{ "children that nobody accepts", inherited_never_accepted },
	{ "children inherit a goal where dalbe_cdg is the default",
	  inherited_default_cc },
	{ "a goal that is refused chooses no congestion control", refused_leaves_default },
	{ "children that come late, or after the deadline", inherited_late },
	{ "absolute and relative deadlines agree",
	  absolute_and_relative_agree },
	{ "to cubic and back: the goal is gone", reconnects_as_cubic_and_back },
	{ "the largest and smallest goals while sending",
	  extremes_while_sending },
	{ "an idle pause keeps the goal", idle_keeps_goal },
	{ "bytes after the goal are not starved", tail_is_not_starved },
	{}
};
