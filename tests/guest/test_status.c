// SPDX-License-Identifier: GPL-2.0-only
/* What GET_STATE and the tracepoints tell about a goal, from start to end. */
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"
#include "net.h"
#include "tests.h"

#define KB	1000ull

static uint32_t wanted_status;

static bool has_status(const struct pair *pair)
{
	return state_get(pair->tx).status == wanted_status;
}

/* Send until the status is @status; returns the time it took. */
static unsigned int pump_until(struct pair *pair, uint32_t status,
			       unsigned int timeout_ms)
{
	uint64_t start_ns = now_ns();

	wanted_status = status;
	if (!pump(pair, NO_END, timeout_ms, has_status))
		FAIL("status is %u after %u ms, not %u",
		     state_get(pair->tx).status, timeout_ms, status);
	return (now_ns() - start_ns) / NS_PER_MS;
}

static void waiting_on_track_done(void)
{
	int tx = sock_open(NS_TX, IPV4, SOCK_STREAM);
	struct dalbe_state s;
	struct pair pair;

	cc_set(tx, DALBE_CC_CDG);
	CHECK_EQ(state_get(tx).status, DALBE_STATUS_NONE);
	goal_set(tx, 5000 * KB, 8000);
	CHECK_EQ(state_get(tx).status, DALBE_STATUS_WAITING);
	pair = pair_around(tx, IPV4);
	CHECK_EQ(state_get(tx).status, DALBE_STATUS_ON_TRACK);
	flow_for(&pair, 2000);
	s = state_get(tx);
	CHECK_EQ(s.status, DALBE_STATUS_ON_TRACK);
	CHECK_OP(s.rate_Bps, >, 0);
	CHECK_OP(s.rate_Bps, <, 1400 * KB);
	CHECK_OP(s.target_Bps, >, 100 * KB);
	CHECK_OP(s.srtt_us, >=, 20000);
	CHECK_OP(s.min_rtt_us, >=, 20000);
	CHECK_OP(s.min_rtt_us, <=, s.srtt_us);
	CHECK_OP(s.cwnd, >=, 2);
	CHECK_OP(s.w_ppm, >=, s.wmin_ppm - 20);
	CHECK_OP(s.w_ppm, <=, 1000000);
	CHECK_OP(s.phi_ppm, >=, 1000000);
	CHECK_OP(s.g_ns, >=, DALBE_G_MIN_NS);
	CHECK_OP(s.g_ns, <=, DALBE_G_MAX_NS);
	CHECK_EQ(s.controller, DALBE_CONTROLLER_MBC);
	pump_until(&pair, DALBE_STATUS_DONE, 20000);
}

/* Half of a link on which nobody else is, with and without the effect test. CDG backs
 * off by chance, so one transfer is one draw; each must be on time.
 */
static void half_of_an_idle_link(void)
{
	static const char *const effect[] = { "0", "1" };
	enum { TRANSFERS = 6, DUE_MS = 8000 };
	unsigned int took_ms, i;

	for (i = 0; i < TRANSFERS; i++) {
		struct pair pair = pair_open(DALBE_CC_CDG);

		harness_turn("effect %s", effect[i % 2]);
		sysctl_write(NS_TX, "dalbe/effect", effect[i % 2]);
		goal_set(pair.tx, 5000 * KB, DUE_MS);
		sysctl_write(NS_TX, "dalbe/effect", "1");
		took_ms = pump_until(&pair, DALBE_STATUS_DONE, 20000);
		harness_note("effect %s: done after %u ms of %d", effect[i % 2],
			     took_ms, DUE_MS);
		CHECK_OP(took_ms, <=, DUE_MS + PUMP_TURN_MS);
		pair_close(&pair);
	}
}

/* A short goal on an idle link: it has a few updates only. */
static void short_goal_on_time(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG);
	unsigned int took_ms;

	goal_set(pair.tx, 2000 * KB, 4000);
	took_ms = pump_until(&pair, DALBE_STATUS_DONE, 10000);
	harness_note("done after %u ms of 4000", took_ms);
	CHECK_OP(took_ms, <=, 4000 + PUMP_TURN_MS);
}

/* time_left_ns: "when done, as it was at the end". */
static void time_left_stops_when_done(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG);
	int64_t left_ns, end_ns;

	goal_set(pair.tx, 500 * KB, 5000);
	transfer(&pair, 500 * KB);
	end_ns = state_get(pair.tx).deadline_ns - now_ns();
	sleep_ms(1000);
	left_ns = state_get(pair.tx).time_left_ns;
	CHECK_OP(left_ns, >, end_ns - 100 * (int64_t)NS_PER_MS);
	CHECK_OP(left_ns, <, end_ns + 100 * (int64_t)NS_PER_MS);
	sleep_ms(9000);
	CHECK_EQ(state_get(pair.tx).status, DALBE_STATUS_DONE);
	CHECK_EQ(state_get(pair.tx).time_left_ns, left_ns);

	/* ... whatever is changed afterwards */
	params_set(pair.tx, (struct dalbe_params) {
		.flags = DALBE_PARAM_G, .g_ns = 5000000 });
	CHECK_EQ(state_get(pair.tx).status, DALBE_STATUS_DONE);
	CHECK_EQ(state_get(pair.tx).time_left_ns, left_ns);

	/* ... or sent */
	transfer(&pair, 100 * KB);
	CHECK_EQ(state_get(pair.tx).time_left_ns, left_ns);
}

/* The same, for a goal that nobody controls. */
static void time_left_stops_when_done_fixed(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG);
	int64_t left_ns;

	params_set(pair.tx, (struct dalbe_params) {
		.flags = DALBE_PARAM_CONTROLLER,
		.controller = DALBE_CONTROLLER_FIXED });
	goal_set(pair.tx, 100 * KB, 5000);
	transfer(&pair, 100 * KB);
	CHECK_EQ(state_get(pair.tx).status, DALBE_STATUS_DONE);
	left_ns = state_get(pair.tx).time_left_ns;
	sleep_ms(1000);
	CHECK_EQ(state_get(pair.tx).time_left_ns, left_ns);
}

/* Twenty times what the link carries by the deadline. */
static void too_large(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG);
	struct link slow = link_default;
	unsigned int took_ms;
	struct dalbe_state s;

	slow.rate_kbit = 2000;
	slow.queue_packets = 20;
	link_set(&slow);
	goal_set(pair.tx, 100000 * KB, 20000);
	took_ms = pump_until(&pair, DALBE_STATUS_INFEASIBLE, 20000);
	harness_note("infeasible after %u ms of 20000", took_ms);
	s = state_get(pair.tx);
	CHECK_EQ(s.w_ppm, 1000000);
	CHECK_OP(s.rate_Bps, <, s.target_Bps);

	/* less is asked for: feasible again, and it need not be done before it is due */
	TRY(goal_set_raw(pair.tx, s.bytes_done + 1000 * KB, 30 * NS_PER_S,
			 DALBE_GOAL_RELATIVE | DALBE_GOAL_UPDATE));
	pump_until(&pair, DALBE_STATUS_ON_TRACK, 5000);
	pump_until(&pair, DALBE_STATUS_DONE, 30000);
}

/* A Tw is longer than the goal's time, so that w is what it was set to until then: between the
 * lowest, which is changed, and 1.
 */
static void late(uint32_t policy, uint32_t w_ppm)
{
	struct pair pair = pair_open(DALBE_CC_CDG);
	struct dalbe_state s;

	params_set(pair.tx, (struct dalbe_params) {
		.flags = DALBE_PARAM_AFTER | DALBE_PARAM_WMIN | DALBE_PARAM_TW,
		.after_deadline = policy, .wmin_ppm = 500000, .tw_ms = 2100 });
	goal_set(pair.tx, 4000 * KB, 2000);
	params_set(pair.tx, (struct dalbe_params) {
		.flags = DALBE_PARAM_WMIN, .wmin_ppm = 100000 });
	pump(&pair, NO_END, 1950, NULL);
	CHECK_OP(state_get(pair.tx).w_ppm, >=, 499980);	/* w is in 1/65536 */
	CHECK_OP(state_get(pair.tx).w_ppm, <=, 500000);
	sleep_ms(60);
	/* at once, not at the end of a Tw */
	CHECK_EQ(state_get(pair.tx).status, DALBE_STATUS_LATE);
	flow_for(&pair, 500);
	s = state_get(pair.tx);
	CHECK_EQ(s.status, DALBE_STATUS_LATE);
	CHECK_OP(s.time_left_ns, <, 0);
	CHECK_OP(s.time_left_ns, >, -1000 * (int64_t)NS_PER_MS);
	CHECK_OP(s.w_ppm, >=, w_ppm - 20);
	CHECK_OP(s.w_ppm, <=, w_ppm);
	pump_until(&pair, DALBE_STATUS_DONE, 60000);
}

static void late_best_effort(void)
{
	late(DALBE_AFTER_BEST_EFFORT, 1000000);
}

static void late_scavenger(void)
{
	late(DALBE_AFTER_SCAVENGER, 100000);
}

static void late_keep(void)
{
	late(DALBE_AFTER_KEEP, 500000);
}

static void counts_exactly(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG);
	struct link lossy = link_default;
	uint64_t acked_at_set;

	lossy.loss_percent = 2;
	link_set(&lossy);
	flow_for(&pair, 300);
	acked_at_set = sock_tcp_info(pair.tx).tcpi_bytes_acked;
	goal_set(pair.tx, 100000 * KB, 60000);
	for (int i = 0; i < 40; i++) {
		uint64_t acked;
		struct dalbe_state s;

		pump(&pair, NO_END, 70, NULL);
		s = state_get_exact(pair.tx, &acked);
		CHECK_EQ(s.bytes_done, acked - acked_at_set);
	}
}

/* A policy leaves those alone that a program has given something itself. */
static void own_params(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG);

	sysctl_write(NS_TX, "dalbe/scavenger", "1");
	CHECK(!(state_get(pair.tx).flags & DALBE_STATE_OWN_PARAMS));
	goal_set(pair.tx, 10000 * KB, 60000);
	CHECK(!(state_get(pair.tx).flags & DALBE_STATE_OWN_PARAMS));
	params_set(pair.tx, (struct dalbe_params){ .flags = DALBE_PARAM_TW });
	CHECK(state_get(pair.tx).flags & DALBE_STATE_OWN_PARAMS);
	goal_clear(pair.tx);
	CHECK(state_get(pair.tx).flags & DALBE_STATE_OWN_PARAMS);
	sysctl_write(NS_TX, "dalbe/scavenger", "0");
}

static void app_limited(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG);
	struct dalbe_state s;

	goal_set(pair.tx, 10000 * KB, 60000);
	for (int i = 0; i < 20; i++) {
		transfer(&pair, 2 * KB);
		sleep_ms(200);
	}
	s = state_get(pair.tx);
	CHECK(s.flags & DALBE_STATE_APP_LIMITED);
	CHECK_EQ(s.status, DALBE_STATUS_ON_TRACK);
	/* an idle program must not drive w up */
	CHECK_OP(s.w_ppm, <=, s.wmin_ppm);
	flow_for(&pair, 3000);
	CHECK(!(state_get(pair.tx).flags & DALBE_STATE_APP_LIMITED));
}

#define TRACING		"/sys/kernel/tracing/"

static void tracing_write(const char *file, const char *text)
{
	char path[96];
	int fd;

	snprintf(path, sizeof(path), TRACING "%s", file);
	fd = TRY(open(path, O_WRONLY | O_TRUNC | O_CLOEXEC));
	if (*text)
		TRY(write(fd, text, strlen(text)));
	close(fd);
}

/* "name=123" in a trace line */
static unsigned long long trace_value(const char *line, const char *name)
{
	const char *at = strstr(line, name);

	if (!at)
		FAIL("no %s in the event", name);
	return strtoull(at + strlen(name), NULL, 10);
}

/* Three seconds under these events, half a second after them; what was recorded. */
static FILE *traced(struct pair *pair, const char *event, struct dalbe_state *s)
{
	char path[64], enable[80];
	FILE *trace;

	snprintf(path, sizeof(path), TRACING "events/dalbe/%s", event);
	if (access(path, F_OK))
		FAIL("no dalbe:%s in tracefs: mount it, or enable tracing in the kernel", event);
	snprintf(enable, sizeof(enable), "events/dalbe/%s/enable", event);
	tracing_write("trace", "");
	tracing_write(enable, "1");
	flow_for(pair, 3000);
	*s = state_get(pair->tx);
	tracing_write(enable, "0");
	flow_for(pair, 500);			/* off: no events of these */

	trace = fopen(TRACING "trace", "re");
	CHECK(trace);
	return trace;
}

static void tracepoint_update(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG);
	unsigned int events = 0, counted = 0;
	unsigned long long done = 0;
	struct dalbe_state s;
	char line[1024];
	FILE *trace;

	goal_set(pair.tx, 10000 * KB, 15000);
	trace = traced(&pair, "dalbe_update", &s);
	while (fgets(line, sizeof(line), trace)) {
		if (!strstr(line, "dalbe_update:"))
			continue;
		events++;
		counted += !trace_value(line, "app_limited=");
		CHECK_EQ(trace_value(line, "goal_bytes="), 10000 * KB);
		CHECK_OP(trace_value(line, "bytes_done="), >=, done);
		done = trace_value(line, "bytes_done=");
		CHECK_OP(trace_value(line, "w_ppm="), <=, 1000000);
	}
	fclose(trace);
	/* Tw follows the RTT, and ends with an ACK: no fewer than half. */
	CHECK_OP(events * 2 * s.tw_ms, >=, 3000);
	CHECK_EQ(counted, s.updates);
	CHECK_OP(done, <=, s.bytes_done);
}

/* Plain CDG, alone on its link: each round's numbers fit together, and each
 * backoff is told.
 */
static void tracepoint_round(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG);
	unsigned int events = 0, backoffs = 0, sport;
	struct sockaddr_in local;
	socklen_t length = sizeof(local);
	uint64_t backoffs_before;
	struct dalbe_state s;
	char line[1024];
	FILE *trace;

	TRY(getsockname(pair.tx, (struct sockaddr *)&local, &length));
	sport = ntohs(local.sin_port);
	params_set(pair.tx, (struct dalbe_params) {
		.flags = DALBE_PARAM_G, .g_ns = 1500000 });
	backoffs_before = state_get(pair.tx).backoffs_delay;
	trace = traced(&pair, "dalbe_round", &s);
	while (fgets(line, sizeof(line), trace)) {
		unsigned long long rtt_min_us;

		if (!strstr(line, "dalbe_round:"))
			continue;
		events++;
		backoffs += trace_value(line, "backoff=");
		CHECK_EQ(trace_value(line, "sport="), sport);
		rtt_min_us = trace_value(line, "rtt_min_us=");
		CHECK_OP(rtt_min_us, >=, 20000);
		CHECK_OP(trace_value(line, "rtt_max_us="), >=, rtt_min_us);
		CHECK_EQ(trace_value(line, " g_ns="), 1500000);
		CHECK_EQ(trace_value(line, "g_used_ns="), 1500000);
		CHECK_OP(trace_value(line, "cwnd="), >=, 2);
		if (trace_value(line, "backoff=")) {
			CHECK_OP((long long)trace_value(line, "gradient_ns="), >, 0);
			CHECK_OP(trace_value(line, "ssthresh="), <=,
				 trace_value(line, "cwnd="));
		}
	}
	fclose(trace);
	/* A cut's round is not judged, and queueing lengthens rounds. */
	CHECK_OP(events * 4 * s.srtt_us, >=, 3000 * 1000);
	CHECK_OP(events * 20000ull, <=, 3000 * 1000);
	CHECK_OP(backoffs, >, 0);
	CHECK_EQ(backoffs, s.backoffs_delay - backoffs_before);
}

/* Each loss is answered by 0.7 of the window, as CUBIC does, or less. */
static void tracepoint_loss(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG);
	struct link lossy = link_default;
	unsigned int answers = 0;
	struct dalbe_state s;
	char line[1024];
	FILE *trace;

	lossy.loss_percent = 2;
	link_set(&lossy);
	goal_set(pair.tx, 100000 * KB, 60000);
	trace = traced(&pair, "dalbe_loss", &s);
	while (fgets(line, sizeof(line), trace)) {
		unsigned long long cwnd;

		if (!strstr(line, "dalbe_loss:"))
			continue;
		cwnd = trace_value(line, " cwnd=");
		if (!cwnd)
			continue;	/* one more of an episode that was answered */
		answers++;
		CHECK_OP(trace_value(line, "ssthresh=") * 10, <=, cwnd > 2 ? cwnd * 7 : 20);
	}
	fclose(trace);
	CHECK_OP(answers, >, 3);
}

/* They print by the event's format, and know a constant's number only where that has it. */
static void formats_have_no_constants(void)
{
	static const char *const events[] = { "dalbe_update", "dalbe_round", "dalbe_loss" };
	char path[96], line[1024];
	FILE *format;

	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		snprintf(path, sizeof(path), TRACING "events/dalbe/%s/format", events[i]);
		format = fopen(path, "re");
		CHECK(format);
		while (fgets(line, sizeof(line), format))
			CHECK(!strstr(line, "PATH_") && !strstr(line, "DALBE_"));
		fclose(format);
	}
}

const struct test tests_status[] = {
	{ "waiting, on track, done", waiting_on_track_done },
	{ "half of an idle link is there for the taking",
	  half_of_an_idle_link },
	{ "a short goal on an idle link is met", short_goal_on_time },
	{ "the time left stops when done", time_left_stops_when_done },
	{ "the time left stops when done, fixed G",
	  time_left_stops_when_done_fixed },
	{ "an infeasible goal is said to be so", too_large },
	{ "after the deadline: best effort", late_best_effort },
	{ "after the deadline: scavenger", late_scavenger },
	{ "after the deadline: keep w", late_keep },
	{ "bytes_done counts exactly", counts_exactly },
	{ "parameters that somebody has set are said to be so", own_params },
	{ "an application that does not send leaves w alone", app_limited },
	{ "the tracepoint fires at each update", tracepoint_update },
	{ "the tracepoint tells each round, without a goal", tracepoint_round },
	{ "the tracepoint tells each loss, and a cut for it", tracepoint_loss },
	{ "perf and trace-cmd can print the events", formats_have_no_constants },
	{}
};
