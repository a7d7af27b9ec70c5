// SPDX-License-Identifier: GPL-2.0-only
/* Sockets that come and go in every way TCP knows; by whom they are used. */
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ctl.h"
#include "net.h"
#include "tests.h"

#define KB		1000ull
#define UID_NOBODY	65534

static void disconnect(int fd)
{
	struct sockaddr addr = { .sa_family = AF_UNSPEC };

	TRY(connect(fd, &addr, sizeof(addr)));
}

static void disconnect_and_reconnect(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG);

	for (int i = 0; i < 4; i++) {
		struct dalbe_state s;

		harness_turn("round %d", i);
		goal_set(pair.tx, 1000 * KB, 10000);
		flow_for(&pair, 300);
		disconnect(pair.tx);
		/* The area is zeroed: goal and settings are gone. */
		s = state_get(pair.tx);
		CHECK_EQ(s.status, DALBE_STATUS_NONE);
		CHECK_EQ(s.goal_bytes, 0);
		disconnect(pair.tx);		/* release, once more */
		goal_set(pair.tx, 300 * KB, 10000);
		CHECK_EQ(state_get(pair.tx).status, DALBE_STATUS_WAITING);
		if (i % 2)
			disconnect(pair.tx);	/* never connected */
		close(pair.rx);
		sock_connect(pair.tx, pair.listener, IPV4);
		pair.rx = sock_accept(pair.listener);
		s = state_get(pair.tx);
		CHECK_EQ(s.goal_bytes, i % 2 ? 0 : 300 * KB);
		CHECK_EQ(s.bytes_done, 0);
		pair.sent = 0;
		pair.received = 0;
		transfer(&pair, 300 * KB);
		CHECK_EQ(state_get(pair.tx).bytes_done, i % 2 ? 0 : 300 * KB);
	}
}

static void disconnect_then_listen(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG);

	goal_set(pair.tx, 1000 * KB, 10000);
	flow_for(&pair, 100);
	disconnect(pair.tx);
	goal_set(pair.tx, 1000 * KB, 10000);
	TRY(listen(pair.tx, 5));
	CHECK_EQ(state_get(pair.tx).status, DALBE_STATUS_WAITING);
}

static void disconnect_then_cubic(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG);

	goal_set(pair.tx, 1000 * KB, 10000);
	flow_for(&pair, 100);
	disconnect(pair.tx);
	cc_set(pair.tx, "cubic");
	close(pair.rx);
	sock_connect(pair.tx, pair.listener, IPV4);
	pair.rx = sock_accept(pair.listener);
	pair.sent = 0;
	pair.received = 0;
	transfer(&pair, 100 * KB);
}

/* The data is sent after all, and its end acknowledged. */
static void shutdown_mid_transfer(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG);
	struct dalbe_state s;

	goal_set(pair.tx, 1000 * KB, 10000);
	flow_for(&pair, 300);
	TRY(shutdown(pair.tx, SHUT_WR));
	s = state_get(pair.tx);
	CHECK_EQ(s.goal_bytes, 1000 * KB);
	CHECK_OP(s.bytes_done, <, pair.sent);
	CHECK(pump(&pair, 0, 20000, all_acked));
	pump(&pair, 0, 100, NULL);
	CHECK_EQ(pair.received, pair.sent);
	CHECK_EQ(state_get(pair.tx).bytes_done, pair.sent);	/* not the FIN */
	close(pair.rx);
	sleep_ms(500);
	state_get(pair.tx);			/* closed by both: still a socket */
	goal_set(pair.tx, 1, 1000);
}

/* Nobody asks any more, but TCP goes on sending: orphaned, with a goal. */
static void close_mid_transfer(void)
{
	for (int i = 0; i < 5; i++) {
		struct pair pair = pair_open(DALBE_CC_CDG);

		goal_set(pair.tx, 1000 * KB, 10000);
		flow_for(&pair, 300);
		close(pair.tx);
		for (int j = 0; j < 100; j++) {
			ssize_t n;

			do {
				/* MSG_TRUNC: count, do not copy */
				n = recv(pair.rx, NULL, 1 << 20,
					 MSG_DONTWAIT | MSG_TRUNC);
				pair.received += n > 0 ? n : 0;
			} while (n > 0);
			if (!n)
				break;
			sleep_ms(50);
		}
		CHECK_EQ(pair.received, pair.sent);
		close(pair.rx);
		close(pair.listener);
	}
}

static void reset_close(int fd)
{
	struct linger now = { .l_onoff = 1 };

	TRY(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)));
	close(fd);
}

static void reset_by_peer(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG);
	struct dalbe_state s;

	goal_set(pair.tx, 1000 * KB, 5000);
	flow_for(&pair, 300);
	reset_close(pair.rx);
	sleep_ms(200);
	CHECK_ERRNO(send(pair.tx, "", 1, MSG_NOSIGNAL), ECONNRESET);
	s = state_get(pair.tx);
	CHECK_EQ(s.goal_bytes, 1000 * KB);
	CHECK_OP(s.bytes_done, <, 1000 * KB);
	sleep_ms(6000);
	CHECK_EQ(state_get(pair.tx).status, DALBE_STATUS_LATE);
	goal_clear(pair.tx);

	/* and the socket can be used again */
	disconnect(pair.tx);
	goal_set(pair.tx, 100 * KB, 5000);
	sock_connect(pair.tx, pair.listener, IPV4);
	pair.rx = sock_accept(pair.listener);
	pair.sent = 0;
	pair.received = 0;
	transfer(&pair, 100 * KB);
	CHECK_EQ(state_get(pair.tx).status, DALBE_STATUS_DONE);
}

static void reset_by_us(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG);

	goal_set(pair.tx, 1000 * KB, 5000);
	flow_for(&pair, 300);
	reset_close(pair.tx);
	sleep_ms(200);
}

static void refused(void)
{
	int listener = sock_listen(IPV4, NULL);
	int tx = sock_open(NS_TX, IPV4, SOCK_STREAM);

	cc_set(tx, DALBE_CC_CDG);
	goal_set(tx, 1000 * KB, 5000);
	sock_connect_start(tx, listener, IPV4);
	close(listener);
	sleep_ms(200);
	CHECK_EQ(state_get(tx).goal_bytes, 1000 * KB);
	CHECK_OP(state_get(tx).bytes_done, ==, 0);
}

/* A route's congestion control takes over before init, and finds our private area. */
static void route_takes_over(void)
{
	struct pair pair;
	int tx, listener;

	CHECK_EQ(system("ip -n tx route add 10.0.2.1 via 10.0.1.254 congctl cdg"), 0);

	tx = sock_open(NS_TX, IPV4, SOCK_STREAM);
	cc_set(tx, DALBE_CC_CDG);
	goal_set(tx, 1000 * KB, 5000);
	listener = sock_listen(IPV4, NULL);
	sock_connect_start(tx, listener, IPV4);
	CHECK(!strcmp(sock_cc(tx), "cdg"));
	close(tx);			/* in SYN-SENT: CDG's release, without its init */

	tx = sock_open(NS_TX, IPV4, SOCK_STREAM);
	cc_set(tx, DALBE_CC_CDG);
	goal_set(tx, 1000 * KB, 5000);
	pair = pair_around(tx, IPV4);
	CHECK(!strcmp(sock_cc(tx), "cdg"));
	transfer(&pair, 100 * KB);
	pair_close(&pair);

	CHECK_EQ(system("ip -n tx route del 10.0.2.1 via 10.0.1.254"), 0);
}

/* A route's is ours, and another congestion control had its init before: TCP calls ours
 * for that one's private area, without init. (Nor does it call the other's release: of
 * one that has memory of its own that is lost.)
 */
static void route_gives_us_anothers(void)
{
	struct pair pair = { .listener = sock_listen(IPV4, NULL) };
	struct dalbe_state s;

	CHECK_EQ(system("ip -n tx route add 10.0.2.1 via 10.0.1.254 congctl dalbe_cdg"), 0);
	for (int i = 0; i < 4; i++) {
		harness_turn("%s, then %s", i & 1 ? "a goal" : "none",
			     i & 2 ? "another's again" : "closed");
		pair.tx = sock_open(NS_TX, IPV4, SOCK_STREAM);
		sock_connect_deferred(pair.tx, pair.listener, IPV4);
		cc_set(pair.tx, "vegas");
		CHECK_EQ(sock_tcp_info(pair.tx).tcpi_state, TCP_SYN_SENT);
		TRY(send(pair.tx, "?", 1, 0));
		CHECK(!strcmp(sock_cc(pair.tx), DALBE_CC_CDG));
		if (i & 1) {
			goal_set(pair.tx, 1000 * KB, 5000);
			CHECK_EQ(state_get(pair.tx).goal_bytes, 1000 * KB);
		}
		pair.rx = sock_accept(pair.listener);
		pair.sent = 1;
		pair.received = 0;
		transfer(&pair, 100 * KB);
		s = state_get(pair.tx);
		CHECK_EQ(s.status, i & 1 ? DALBE_STATUS_ON_TRACK : DALBE_STATUS_NONE);
		CHECK_OP(s.bytes_done, <=, 101 * KB);
		CHECK_OP(s.backoffs_delay, <, 1000);
		CHECK_OP(s.g_ns, <=, DALBE_G_MAX_NS);
		if (i & 2)
			cc_set(pair.tx, "vegas");
		close(pair.tx);
		close(pair.rx);
	}
	harness_turn("closing");
	close(pair.listener);
	CHECK_EQ(system("ip -n tx route del 10.0.2.1 via 10.0.1.254"), 0);
}

/* A connection that is restored has no SYN, which a goal set before would wait for. */
static void restored(void)
{
	int listener = sock_listen(IPV4, NULL), tx = sock_open(NS_TX, IPV4, SOCK_STREAM);
	struct dalbe_state s;

	cc_set(tx, DALBE_CC_CDG);
	TRY(setsockopt(tx, IPPROTO_TCP, TCP_REPAIR, &(int){ 1 }, sizeof(int)));
	goal_set(tx, 1000 * KB, 5000);
	sock_connect(tx, listener, IPV4);
	s = state_get(tx);
	CHECK_EQ(s.bytes_done, 0);
	CHECK_OP(s.status, !=, DALBE_STATUS_DONE);
	close(tx);			/* while it is repaired: without a word */
}

/* A thousand sockets, all alive at once, a tenth of them connections. */
static void thousand_sockets(void)
{
	enum { SOCKETS = 1000 };
	static int fd[SOCKETS], peer[SOCKETS];
	int plain = sock_listen(IPV4, NULL);

	for (int i = 0; i < SOCKETS; i++) {
		enum family family = i % 3 ? IPV4 : IPV6;

		harness_turn("socket %d", i);
		peer[i] = -1;
		switch (i % 10) {
		case 0:				/* connected, with a goal */
			fd[i] = sock_open(NS_TX, IPV4, SOCK_STREAM);
			cc_set(fd[i], DALBE_CC_CDG);
			goal_set(fd[i], 10 * KB, 10000);
			sock_connect(fd[i], plain, IPV4);
			peer[i] = sock_accept(plain);
			break;
		case 1:				/* a listener */
			fd[i] = sock_listen(family, DALBE_CC_CDG);
			if (i % 20 == 1)
				goal_set(fd[i], 10 * KB, 10000);
			break;
		case 2:				/* ours and back */
			fd[i] = sock_open(NS_TX, family, SOCK_STREAM);
			cc_set(fd[i], DALBE_CC_CDG);
			goal_set(fd[i], 10 * KB, 10000);
			cc_set(fd[i], "cubic");
			break;
		case 3:				/* in SYN-SENT */
			fd[i] = sock_open(NS_TX, IPV4, SOCK_STREAM);
			cc_set(fd[i], DALBE_CC_CDG);
			sock_connect_start(fd[i], plain, IPV4);
			break;
		default:			/* never connected */
			fd[i] = sock_open(NS_TX, family, SOCK_STREAM);
			cc_set(fd[i], DALBE_CC_CDG);
			if (i % 2)
				goal_set(fd[i], 10 * KB, 10000);
		}
		if (i % 10 == 3)
			peer[i] = sock_accept(plain);
	}
	harness_turn("closing");
	for (int i = 0; i < SOCKETS; i++) {
		if (peer[i] >= 0) {
			send(fd[i], "payload", 7, MSG_NOSIGNAL);
			if (i % 3)
				reset_close(peer[i]);
			else
				close(peer[i]);
		}
		close(fd[i]);
	}
	close(plain);
	sleep_ms(2000);
}

/* Also run by guest.sh while ss looks at every socket. */
static void churn(void)
{
	struct pair lasting = pair_open(DALBE_CC_CDG);

	goal_set(lasting.tx, 1000000 * KB, 600000);
	for (int i = 0; i < 40; i++) {
		struct pair pair = pair_open(DALBE_CC_CDG);

		if (i % 2)
			goal_set(pair.tx, 1000 * KB, 20000);
		pump(&lasting, NO_END, 30, NULL);
		pump(&pair, NO_END, 60, NULL);
		if (i % 3)
			cc_set(pair.tx, "cubic");
		if (i % 4)
			disconnect(pair.tx);
		pair_close(&pair);
	}
}

static void as_nobody(const void *around)
{
	int tx = sock_open(NS_TX, IPV4, SOCK_STREAM);
	struct pair pair = *(const struct pair *)around;

	TRY(setgroups(0, NULL));
	TRY(setresgid(UID_NOBODY, UID_NOBODY, UID_NOBODY));
	TRY(setresuid(UID_NOBODY, UID_NOBODY, UID_NOBODY));
	/* at w = 1 it does not answer each loss */
	CHECK_ERRNO(setsockopt(tx, IPPROTO_TCP, TCP_CONGESTION, DALBE_CC_VEGAS,
			       strlen(DALBE_CC_VEGAS)), EPERM);
	cc_set(tx, DALBE_CC_CDG);
	goal_set(tx, 100 * KB, 5000);
	params_set(tx, (struct dalbe_params) {
		.flags = DALBE_PARAM_WMIN, .wmin_ppm = 30000 });
	sock_connect(tx, pair.listener, IPV4);
	pair.tx = tx;
	pair.rx = sock_accept(pair.listener);
	transfer(&pair, 100 * KB);
	CHECK_EQ(state_get(tx).status, DALBE_STATUS_DONE);
	goal_clear(tx);
}

static void unprivileged(void)
{
	struct pair pair = { .listener = sock_listen(IPV4, NULL) };

	harness_in_child(as_nobody, &pair);
}

const struct test tests_lifetime[] = {
	{ "disconnect and reconnect", disconnect_and_reconnect },
	{ "disconnect, then listen", disconnect_then_listen },
	{ "disconnect, then another congestion control",
	  disconnect_then_cubic },
	{ "shutdown in the middle of a transfer", shutdown_mid_transfer },
	{ "close in the middle of a transfer", close_mid_transfer },
	{ "a reset from the peer", reset_by_peer },
	{ "a reset from here", reset_by_us },
	{ "a connection that is refused", refused },
	{ "a route's congestion control takes over", route_takes_over },
	{ "a route gives us another congestion control's data", route_gives_us_anothers },
	{ "a connection that is restored", restored },
	{ "a thousand sockets of all kinds", thousand_sockets },
	{ "connections come and go", churn },
	{ "an ordinary user can do it all", unprivileged },
	{}
};
