// SPDX-License-Identifier: GPL-2.0-only
/* Whose queue is it? A goal's connection alone, and beside CUBIC, on a link whose
 * buffer of two BDP drops at its tail.
 */
#include <stdlib.h>
#include <sys/socket.h>

#include "ctl.h"
#include "net.h"
#include "tests.h"

#define KB		1000ull
#define LINK_BPS	(10000 * KB / 8)	/* bytes/s of link_default */

/* No hurry: w stays at wmin. Tw would be 10 s: too few updates for a test. */
static void relaxed_goal(int fd)
{
	params_set(fd, (struct dalbe_params) {
		.flags = DALBE_PARAM_TW, .tw_ms = 250 });
	goal_set(fd, 100000 * KB, 86400000);
}

/* w = 1, whatever the deadline. */
static void best_effort(int fd)
{
	params_set(fd, (struct dalbe_params) {
		.flags = DALBE_PARAM_CONTROLLER | DALBE_PARAM_WMIN,
		.controller = DALBE_CONTROLLER_WEIGHT, .wmin_ppm = 1000000 });
	relaxed_goal(fd);
}

/* A connection whose goal began while net.dalbe.effect was 0. */
static struct pair pair_without_effect(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG);

	sysctl_write(NS_TX, "dalbe/effect", "0");
	relaxed_goal(pair.tx);
	sysctl_write(NS_TX, "dalbe/effect", "1");
	return pair;
}

/* The state that pump() and compete() have seen of a connection, at each of their turns. */
static struct seen {
	unsigned int regime[DALBE_REGIME_CONTENDED + 1];
	unsigned int level;	/* with a level */
	unsigned int turns;
	uint32_t ours_ppm;	/* at most */
} seen;

static bool look(const struct pair *pair)
{
	struct dalbe_state s = state_get(pair->tx);

	CHECK_OP(s.regime, <=, DALBE_REGIME_CONTENDED);
	CHECK_EQ(!s.level_Bps, s.regime != DALBE_REGIME_CONTENDED);
	CHECK_EQ(!s.path_flows, s.regime == DALBE_REGIME_NONE);
	if (s.regime == DALBE_REGIME_CONTENDED)
		CHECK_OP(s.yields, >, 0);
	if (s.ours_ppm > seen.ours_ppm)
		seen.ours_ppm = s.ours_ppm;
	seen.regime[s.regime]++;
	seen.level += s.level_Bps > 0;
	seen.turns++;
	return false;
}

/* Alone for @ms. */
static struct seen look_alone(struct pair *pair, unsigned int ms)
{
	seen = (struct seen) {};
	pump(pair, NO_END, ms, look);
	return seen;
}

/* Beside @other for @ms. */
static struct seen look_beside(struct pair *pair, struct pair *other,
			       unsigned int ms)
{
	seen = (struct seen) {};
	compete(pair, other, ms, look);
	return seen;
}

static bool not_asked(int fd)
{
	struct dalbe_state s = state_get(fd);

	return s.regime == DALBE_REGIME_NONE && !s.ours_ppm && !s.level_Bps && !s.yields &&
	       !s.path_flows && !s.carried_kBps;
}

/* How much of 20 s was alone, and how much of the link used, in percent at least.
 * Not all of it: RTTs are not queues alone, and a backoff can seem to have had no
 * effect.
 */
static void nobody_else(bool ack_at_once, unsigned int alone, unsigned int used)
{
	struct pair pair = pair_open(DALBE_CC_CDG);
	struct seen s;

	sock_ack_at_once(pair.rx, ack_at_once);
	relaxed_goal(pair.tx);
	s = look_alone(&pair, 20000);
	harness_note("alone in %u of %u looks; %llu %% of the link; carried %u kB/s, ours at most %u ppm",
		     s.regime[DALBE_REGIME_ALONE], s.turns,
		     pair.received * 100 / (20 * LINK_BPS),
		     state_get(pair.tx).carried_kBps, s.ours_ppm);
	CHECK_OP(s.turns, >, 1000);
	CHECK_OP(s.regime[DALBE_REGIME_ALONE] * 100, >=, s.turns * alone);
	CHECK_EQ(s.regime[DALBE_REGIME_NONE], 0);
	CHECK_OP(state_get(pair.tx).backoffs_delay, >, 0);
	CHECK_OP(state_get(pair.tx).carried_kBps * KB * 10, >=, LINK_BPS * 8);
	CHECK_OP(state_get(pair.tx).carried_kBps * KB * 10, <=, LINK_BPS * 11);
	CHECK_OP(pair.received * 100, >=, 20 * LINK_BPS * used);
}

static void alone_on_the_link(void)
{
	nobody_else(true, 95, 90);
}

/* ACKs up to half an RTT late: of 17 runs six yielded, for 2 s, one of them twice. */
static void alone_with_late_acks(void)
{
	nobody_else(false, 50, 50);
}

/* A goal, or its end, asks anew. */
static void not_asked_without_control(void)
{
	struct pair cubic = pair_open("cubic"), off;
	struct pair fixed = pair_open(DALBE_CC_CDG);

	CHECK(not_asked(fixed.tx));		/* no goal */
	params_set(fixed.tx, (struct dalbe_params) {
		.flags = DALBE_PARAM_CONTROLLER,
		.controller = DALBE_CONTROLLER_FIXED });
	relaxed_goal(fixed.tx);
	look_beside(&fixed, &cubic, 5000);
	CHECK_EQ(seen.regime[DALBE_REGIME_NONE], seen.turns);
	CHECK_OP(seen.turns, >, 0);
	CHECK(not_asked(fixed.tx));
	pair_close(&fixed);

	off = pair_without_effect();
	look_beside(&off, &cubic, 5000);
	CHECK_EQ(seen.regime[DALBE_REGIME_NONE], seen.turns);
	CHECK_OP(seen.turns, >, 0);
	CHECK(not_asked(off.tx));
	CHECK_OP(state_get(off.tx).w_ppm, >, 0);	/* under control */

	relaxed_goal(off.tx);
	CHECK_EQ(state_get(off.tx).regime, DALBE_REGIME_ALONE);
	goal_clear(off.tx);
	CHECK(not_asked(off.tx));
}

/* net.dalbe.effect decides what w changes: G, or the level. */
static void g_is_retuned_without_effect(void)
{
	struct pair with = pair_open(DALBE_CC_CDG), without;
	uint32_t g_ns;

	relaxed_goal(with.tx);
	g_ns = state_get(with.tx).g_ns;
	flow_for(&with, 3000);
	CHECK_OP(state_get(with.tx).updates, >, 0);
	CHECK_EQ(state_get(with.tx).g_ns, g_ns);
	CHECK_EQ(state_get(with.tx).phi_ppm, 1000000);
	pair_close(&with);

	without = pair_without_effect();
	g_ns = state_get(without.tx).g_ns;
	flow_for(&without, 3000);
	CHECK_OP(state_get(without.tx).updates, >, 0);
	CHECK_OP(state_get(without.tx).g_ns, !=, g_ns);
	CHECK_OP(state_get(without.tx).phi_ppm, >=, 1000000);
}

static unsigned long max_pacing_rate(int fd)
{
	unsigned long rate;
	socklen_t len = sizeof(rate);

	TRY(getsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, &len));
	CHECK_EQ(len, sizeof(rate));
	return rate;
}

/* From alone to contended and back. */
static void contest(struct pair pair)
{
	unsigned long pacing_Bps = max_pacing_rate(pair.tx);
	uint64_t begin_ns, ours, theirs;
	struct pair cubic;
	struct seen s;

	flow_for(&pair, 5000);
	CHECK_EQ(max_pacing_rate(pair.tx), pacing_Bps);
	cubic = pair_open("cubic");

	begin_ns = now_ns();
	CHECK(compete(&pair, &cubic, 5000, contended));
	harness_note("contended after %llu ms",
		     (now_ns() - begin_ns) / NS_PER_MS);

	ours = pair.received;
	theirs = cubic.received;
	s = look_beside(&pair, &cubic, 20000);
	ours = pair.received - ours;
	theirs = cubic.received - theirs;
	harness_note("contended in %u of %u looks; %llu kB beside %llu kB of CUBIC",
		     s.regime[DALBE_REGIME_CONTENDED], s.turns, ours / KB,
		     theirs / KB);
	CHECK_OP(s.level, >, 0);
	CHECK_OP(s.regime[DALBE_REGIME_CONTENDED] * 10, >=, s.turns * 9);
	CHECK_OP(ours, >, 0);
	CHECK_OP(ours * 5, <, theirs);
	CHECK_OP(ours + theirs, >=, 20 * LINK_BPS * 8 / 10);
	CHECK_EQ(max_pacing_rate(pair.tx), pacing_Bps);

	TRY(shutdown(cubic.tx, SHUT_WR));
	pair_close(&cubic);
	begin_ns = now_ns();
	CHECK(pump(&pair, NO_END, 5000, alone));
	harness_note("alone after %llu ms", (now_ns() - begin_ns) / NS_PER_MS);
	flow_for(&pair, 2000);			/* slow start, and the rest */
	ours = pair.received;
	flow_for(&pair, 5000);
	ours = pair.received - ours;
	harness_note("then %llu %% of the link", ours * 100 / (5 * LINK_BPS));
	CHECK_OP(ours, >=, 5 * LINK_BPS * 7 / 10);
	CHECK_EQ(max_pacing_rate(pair.tx), pacing_Bps);
}

static void yields_and_returns(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG);

	relaxed_goal(pair.tx);
	contest(pair);
}

static void yields_and_returns_paced(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG);

	TRY(setsockopt(pair.tx, SOL_SOCKET, SO_MAX_PACING_RATE,
		       &(unsigned long){ 2 * LINK_BPS }, sizeof(unsigned long)));
	relaxed_goal(pair.tx);
	contest(pair);
}

static void scavenger_yields_and_returns(void)
{
	struct pair pair;

	sysctl_write(NS_TX, "dalbe/scavenger", "1");
	pair = pair_open(DALBE_CC_CDG);
	sysctl_write(NS_TX, "dalbe/scavenger", "0");
	contest(pair);
	CHECK_EQ(state_get(pair.tx).status, DALBE_STATUS_NONE);
	CHECK_OP(state_get(pair.tx).yields, >, 0);
}

/* A scavenger's connection, of the user of those before. */
static struct pair relaxed_pair(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG);

	relaxed_goal(pair.tx);
	return pair;
}

/* What a second and a third connection have received for @ms beside @pair, in percent of the link
 * together with what it has; @third may be NULL.
 */
static struct pair *third_pair;
static bool (*done_of_two)(const struct pair *pair);

static bool third_too(const struct pair *pair)
{
	if (third_pair)
		pump(third_pair, NO_END, 0, NULL);
	look(pair);
	return done_of_two && done_of_two(pair) && done_of_two(third_pair);
}

static unsigned int link_used(struct pair *pair, struct pair *other, struct pair *third,
			      unsigned int ms)
{
	uint64_t before = pair->received + other->received + (third ? third->received : 0);

	seen = (struct seen) {};
	third_pair = third;
	done_of_two = NULL;
	compete(pair, other, ms, third_too);
	return (pair->received + other->received + (third ? third->received : 0) - before) *
	       100 * MS_PER_S / (ms * LINK_BPS);
}

/* ... until @done is true both of @pair and of @third; ms. */
static unsigned int both(struct pair *pair, struct pair *other, struct pair *third,
			 bool (*done)(const struct pair *pair), unsigned int timeout_ms)
{
	uint64_t begin_ns = now_ns();

	third_pair = third;
	done_of_two = done;
	CHECK(compete(pair, other, timeout_ms, third_too));
	return (now_ns() - begin_ns) / NS_PER_MS;
}

/* They know of each other: none is the other's competitor. */
static void connections_of_one_user(void)
{
	struct pair one = relaxed_pair(), two;
	unsigned int used;
	uint64_t first, second;

	flow_for(&one, 3000);
	two = relaxed_pair();
	CHECK_EQ(state_get(one.tx).path_flows, 2);
	compete(&one, &two, 5000, NULL);
	first = one.received;
	second = two.received;
	used = link_used(&one, &two, NULL, 30000);
	first = one.received - first;
	second = two.received - second;
	harness_note("alone in %u of %u looks; %u %% of the link, %llu kB beside %llu kB",
		     seen.regime[DALBE_REGIME_ALONE], seen.turns, used, first / KB, second / KB);
	CHECK_EQ(seen.regime[DALBE_REGIME_CONTENDED], 0);
	CHECK_EQ(state_get(two.tx).regime, DALBE_REGIME_ALONE);
	CHECK_OP(used, >=, 90);
	CHECK_OP(first * 4, >=, second);
	CHECK_OP(second * 4, >=, first);
}

/* One decision for all: beside others none is left alone, and who comes later knows of them. */
static void connections_of_one_user_beside_cubic(void)
{
	struct pair one = relaxed_pair(), two = relaxed_pair(), cubic, late;
	unsigned int ms, used;
	uint64_t ours;

	compete(&one, &two, 5000, NULL);
	cubic = pair_open("cubic");
	ms = both(&one, &cubic, &two, contended, 5000);
	harness_note("contended after %u ms", ms);
	ours = one.received + two.received;
	used = link_used(&one, &cubic, &two, 10000);
	ours = one.received + two.received - ours;
	harness_note("then %u %% of the link, %llu kB of it ours", used, ours / KB);
	CHECK_OP(used, >=, 90);
	CHECK_OP(ours * 10, <=, 10 * LINK_BPS);

	late = relaxed_pair();
	CHECK_EQ(state_get(late.tx).path_flows, 3);
	ms = both(&late, &cubic, &one, contended, 500);
	harness_note("another one after %u ms", ms);
	pair_close(&late);

	TRY(shutdown(cubic.tx, SHUT_WR));
	pair_close(&cubic);
	cubic = relaxed_pair();
	ms = both(&one, &cubic, &two, alone, 10000);
	harness_note("alone after %u ms", ms);
}

/* Another user's scavenger tells us nothing, and yet they leave none of the link idle. */
static void strangers(void)
{
	struct pair one = relaxed_pair(), two;
	unsigned int used;

	flow_for(&one, 3000);
	another_user();
	two = relaxed_pair();
	CHECK_EQ(state_get(two.tx).path_flows, 1);
	compete(&one, &two, 5000, NULL);
	used = link_used(&one, &two, NULL, 30000);
	harness_note("%u %% of the link; %llu kB beside %llu kB", used, one.received / KB,
		     two.received / KB);
	CHECK_OP(used, >=, 80);
}

/* The program pauses, and others come, or go, meanwhile. */
static void others_come_and_go_in_a_pause(void)
{
	struct pair pair = relaxed_pair(), cubic;
	uint64_t begin_ns, before;

	flow_for(&pair, 5000);
	pump(&pair, 0, 2000, all_acked);
	cubic = pair_open("cubic");
	flow_for(&cubic, 10000);
	begin_ns = now_ns();
	CHECK(compete(&pair, &cubic, 5000, contended));
	harness_note("contended after %llu ms", (now_ns() - begin_ns) / NS_PER_MS);

	compete(&pair, &cubic, 5000, NULL);
	pause_beside(&pair, &cubic, contended);
	TRY(shutdown(cubic.tx, SHUT_WR));
	pair_close(&cubic);
	sleep_ms(20000);
	CHECK(contended(&pair));		/* nothing new is known */
	begin_ns = now_ns();
	CHECK(pump(&pair, NO_END, 5000, alone));
	harness_note("alone after %llu ms", (now_ns() - begin_ns) / NS_PER_MS);
	flow_for(&pair, 1000);
	before = pair.received;
	flow_for(&pair, 5000);
	CHECK_OP(pair.received - before, >=, 5 * LINK_BPS * 8 / 10);
}

/* A rate below the link's, with and without somebody else there. A competitor leaves us more than
 * that, so that it is noticed by chance only.
 */
static void pacing_rate_holds(void)
{
	enum { RATE_BPS = 250000, SECONDS = 5 };
	struct pair pair = pair_open(DALBE_CC_CDG), cubic;
	uint64_t before;

	TRY(setsockopt(pair.tx, SOL_SOCKET, SO_MAX_PACING_RATE,
		       &(unsigned long){ RATE_BPS }, sizeof(unsigned long)));
	/* Best effort: the level is no reason to be slow. */
	best_effort(pair.tx);
	flow_for(&pair, 1000);
	before = pair.received;
	flow_for(&pair, SECONDS * MS_PER_S);
	CHECK_OP((pair.received - before) * 100, <=, SECONDS * RATE_BPS * 105);
	CHECK_OP((pair.received - before) * 100, >=, SECONDS * RATE_BPS * 80);

	cubic = pair_open("cubic");
	compete(&pair, &cubic, 2000, NULL);
	for (int turn = 0; turn < TURNS; turn++) {
		before = pair.received;
		look_beside(&pair, &cubic, SECONDS * MS_PER_S);
		CHECK_OP((pair.received - before) * 100, <=, SECONDS * RATE_BPS * 105);
		if (seen.regime[DALBE_REGIME_CONTENDED])
			break;
	}
	CHECK_OP(seen.regime[DALBE_REGIME_CONTENDED], >, 0);
	CHECK_EQ(max_pacing_rate(pair.tx), RATE_BPS);
}

/* A connection's next goal knows what the first has learned of the path; and
 * a connection that has none any more goes on from best effort's window, not from its part: a
 * tenth, as best effort's own is two packets at times where it grows by a hundredth only.
 */
static void next_goal_knows_the_path(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG), cubic;
	struct dalbe_state s;

	params_set(pair.tx, (struct dalbe_params) {
		.flags = DALBE_PARAM_WMIN, .wmin_ppm = 100000 });
	relaxed_goal(pair.tx);
	flow_for(&pair, 3000);
	cubic = pair_open("cubic");
	CHECK(compete(&pair, &cubic, 10000, contended));
	compete(&pair, &cubic, 3000, NULL);
	CHECK(compete(&pair, &cubic, 10000, contended_at_two));
	relaxed_goal(pair.tx);
	s = state_get(pair.tx);
	CHECK_EQ(s.updates, 0);
	CHECK_EQ(s.regime, DALBE_REGIME_CONTENDED);
	CHECK_OP(s.yields, >, 0);
	goal_clear(pair.tx);
	CHECK(not_asked(pair.tx));
	CHECK_OP(sock_tcp_info(pair.tx).tcpi_snd_ssthresh, >, 2);

	relaxed_goal(pair.tx);
	compete(&pair, &cubic, 3000, NULL);
	CHECK(compete(&pair, &cubic, 10000, contended_at_two));
	cc_set(pair.tx, "cubic");
	CHECK_OP(sock_tcp_info(pair.tx).tcpi_snd_ssthresh, >, 2);
}

static const struct pair *trickling;

/* 100 bytes in each turn of 10 ms: there is always something under way, but, as small
 * writes wait for its ACK (RFC 896), one packet only, which any window takes.
 */
static bool trickle_shows(const struct pair *)
{
	static char bytes[100 * KB];

	send(trickling->tx, bytes, 100, MSG_DONTWAIT);
	recv(trickling->rx, bytes, sizeof(bytes), MSG_DONTWAIT);
	return state_get(trickling->tx).flags & DALBE_STATE_APP_LIMITED;
}

static unsigned int turns_trickled, turns_limited;

static bool trickle_on(const struct pair *pair)
{
	turns_trickled++;
	turns_limited += trickle_shows(pair);
	return false;
}

static bool at_half(const struct pair *pair)
{
	struct dalbe_state s = state_get(pair->tx);

	return contended(pair) && s.status == DALBE_STATUS_ON_TRACK && s.w_ppm > 300000 &&
	       s.w_ppm < 700000;
}

/* Contended, and the program has little to send: the controller is told so and leaves w,
 * also in a Tw of few ACKs, or, in a timeout, of none, and when the one packet under way
 * is all that the window holds.
 */
static void trickle_is_app_limited(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG), cubic = pair_open("cubic");
	struct dalbe_state before, after;

	/* what is in the socket's buffer goes first, and is reason enough for more weight */
	TRY(setsockopt(pair.tx, SOL_SOCKET, SO_SNDBUF, &(int){ 16000 }, sizeof(int)));
	params_set(pair.tx, (struct dalbe_params) {
		.flags = DALBE_PARAM_TW, .tw_ms = 250 });
	goal_set(pair.tx, 60 * LINK_BPS / 5, 60000);
	CHECK(compete(&pair, &cubic, 20000, at_half));
	trickling = &pair;
	CHECK(pump(&cubic, NO_END, 20000, trickle_shows));
	before = state_get(pair.tx);
	turns_trickled = 0;
	turns_limited = 0;
	pump(&cubic, NO_END, 10000, trickle_on);
	after = state_get(pair.tx);
	harness_note("w %u, then %u ppm; limited in %u of %u turns", before.w_ppm,
		     after.w_ppm, turns_limited, turns_trickled);
	CHECK_OP(turns_trickled, >, 0);
	CHECK_EQ(turns_limited, turns_trickled);
	CHECK_EQ(after.w_ppm, before.w_ppm);
	CHECK_OP(after.status, ==, DALBE_STATUS_ON_TRACK);
}

/* Beside CUBIC, with a receiver that takes but a few packets per RTT: what is not used
 * tells nothing of what the path carries.
 */
static void unused_window_does_not_grow(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG), cubic;

	TRY(setsockopt(pair.rx, SOL_SOCKET, SO_RCVBUF, &(int){ 16384 }, sizeof(int)));
	best_effort(pair.tx);
	flow_for(&pair, 2000);
	cubic = pair_open("cubic");
	look_beside(&pair, &cubic, 30000);
	harness_note("contended in %u of %u looks; window %u packets",
		     seen.regime[DALBE_REGIME_CONTENDED], seen.turns,
		     state_get(pair.tx).cwnd);
	CHECK_OP(seen.regime[DALBE_REGIME_CONTENDED] * 2, >, seen.turns);
	CHECK_OP(state_get(pair.tx).cwnd, <=, 40);
}

/* B, packets in 1/1000; there is one of MSS 1448 while the flow is not alone. */
static uint64_t best_effort_milli(int fd)
{
	struct dalbe_state s = state_get(fd);

	return s.level_Bps * s.srtt_us / 1448 / 1000;
}

static uint64_t before_milli;

static bool is_cut(const struct pair *pair)
{
	return contended(pair) && best_effort_milli(pair->tx) < before_milli;
}

static bool is_undone(const struct pair *pair)
{
	return contended(pair) && best_effort_milli(pair->tx) >= before_milli;
}

/* A timeout that no loss has caused, as the path gets longer for half a second: TCP takes
 * back what it cut, and so does B.
 */
static void spurious_timeout(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG), cubic = pair_open("cubic");
	struct link far = link_default;
	unsigned int retransmitted;

	best_effort(pair.tx);
	CHECK(compete(&pair, &cubic, 20000, contended));
	compete(&pair, &cubic, 2000, NULL);
	/* From here on no queue overflows: what CUBIC has lost so far is sent again first. */
	far.queue_packets = 100000;
	link_set(&far);
	compete(&pair, &cubic, 300, NULL);
	CHECK(compete(&pair, &cubic, 10000, contended));
	before_milli = best_effort_milli(pair.tx);
	retransmitted = sock_tcp_info(pair.tx).tcpi_total_retrans;
	far.rtt_ms = 600;
	link_set(&far);
	CHECK(compete(&pair, &cubic, 900, is_cut));
	CHECK_OP(sock_tcp_info(pair.tx).tcpi_total_retrans, >, retransmitted);
	CHECK(compete(&pair, &cubic, 900, is_undone));
}

/* Where this host's own interface is the bottleneck, TCP's small queues leave each
 * connection what it sends in a ms there: who kept more would have more of the link.
 */
static void own_interface(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG), cubic = pair_open("cubic");
	uint64_t ours, theirs;

	CHECK(!system("tc -n tx qdisc replace dev to_router root handle 1: htb default 1"));
	CHECK(!system("tc -n tx class add dev to_router parent 1: classid 1:1 htb rate 5mbit"));
	CHECK(!system("tc -n tx qdisc add dev to_router parent 1:1 pfifo limit 1000"));
	best_effort(pair.tx);
	flow_for(&pair, 3000);	/* it has to know what the path carries */
	look_beside(&pair, &cubic, 5000);
	ours = pair.received;
	theirs = cubic.received;
	look_beside(&pair, &cubic, 20000);
	ours = pair.received - ours;
	theirs = cubic.received - theirs;
	CHECK(!system("tc -n tx qdisc del dev to_router root"));
	harness_note("contended in %u of %u looks; %llu kB beside %llu kB of CUBIC; srtt %u us",
		     seen.regime[DALBE_REGIME_CONTENDED], seen.turns, ours / KB,
		     theirs / KB, state_get(pair.tx).srtt_us);
	CHECK_OP(seen.regime[DALBE_REGIME_CONTENDED] * 2, >, seen.turns);
	CHECK_OP(ours, <, 2 * theirs);
	CHECK_OP(state_get(pair.tx).srtt_us, <, 100000);
}

static bool keeps_w(const struct pair *pair)
{
	struct dalbe_state s = state_get(pair->tx);

	CHECK_EQ(s.w_ppm, s.wmin_ppm);
	CHECK_OP(s.wmin_ppm, >, 50000 - 20);	/* w is in 1/65536 */
	CHECK_OP(s.wmin_ppm, <=, 50000);
	return false;
}

static bool w_has_left(const struct pair *pair)
{
	return state_get(pair->tx).w_ppm == 1000000;
}

/* Late from the start, by any other controller's reckoning. */
static void weight_stays(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG), cubic = pair_open("cubic");

	params_set(pair.tx, (struct dalbe_params) {
		.flags = DALBE_PARAM_CONTROLLER | DALBE_PARAM_WMIN,
		.controller = DALBE_CONTROLLER_WEIGHT, .wmin_ppm = 50000 });
	goal_set(pair.tx, 100000 * KB, 5000);
	CHECK(!keeps_w(&pair));
	compete(&pair, &cubic, 4500, keeps_w);
	CHECK_EQ(state_get(pair.tx).status, DALBE_STATUS_ON_TRACK);
	CHECK_OP(state_get(pair.tx).updates, >, 3);
	compete(&pair, &cubic, 5000, keeps_w);
	CHECK_EQ(state_get(pair.tx).status, DALBE_STATUS_LATE);
	CHECK(compete(&pair, &cubic, 10000, contended));

	/* after_deadline, best effort, is for those who set w */
	params_set(pair.tx, (struct dalbe_params) {
		.flags = DALBE_PARAM_WMIN, .wmin_ppm = 200000 });
	CHECK_OP(state_get(pair.tx).w_ppm, >, 200000 - 20);
	CHECK_OP(state_get(pair.tx).w_ppm, <=, 200000);
	params_set(pair.tx, (struct dalbe_params) {
		.flags = DALBE_PARAM_WMIN, .wmin_ppm = 50000 });
	CHECK(!keeps_w(&pair));
	params_set(pair.tx, (struct dalbe_params) {
		.flags = DALBE_PARAM_CONTROLLER,
		.controller = DALBE_CONTROLLER_MBC });
	CHECK(compete(&pair, &cubic, 5000, w_has_left));
}

const struct test tests_regime[] = {
	{ "regime: alone on a link", alone_on_the_link },
	{ "regime: alone, mostly, where ACKs are late", alone_with_late_acks },
	{ "regime: none at a fixed G, or with net.dalbe.effect = 0",
	  not_asked_without_control },
	{ "regime: w changes G where there is none, else it does not",
	  g_is_retuned_without_effect },
	{ "regime: contended beside CUBIC, alone again after it",
	  yields_and_returns },
	{ "regime: likewise with SO_MAX_PACING_RATE set",
	  yields_and_returns_paced },
	{ "regime: likewise a scavenger without a goal",
	  scavenger_yields_and_returns },
	{ "regime: connections of one user share an idle link", connections_of_one_user },
	{ "regime: connections of one user stand back together",
	  connections_of_one_user_beside_cubic },
	{ "regime: scavengers of two users use an idle link", strangers },
	{ "regime: others come and go in a pause", others_come_and_go_in_a_pause },
	{ "regime: SO_MAX_PACING_RATE holds in each", pacing_rate_holds },
	{ "regime: a trickle is limited by the application", trickle_is_app_limited },
	{ "regime: a connection's next goal knows the path",
	  next_goal_knows_the_path },
	{ "regime: a window that the receiver does not allow does not grow",
	  unused_window_does_not_grow },
	{ "regime: a timeout without a loss cuts nothing", spurious_timeout },
	{ "regime: no more than a share of this host's own interface",
	  own_interface },
	{ "the weight controller keeps w at wmin, in each regime",
	  weight_stays },
	{}
};
