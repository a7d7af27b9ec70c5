// SPDX-License-Identifier: GPL-2.0-only
/* One goal of several connections: what all of them carry counts, and one w holds for all. */
#include <errno.h>
#include <unistd.h>

#include "ctl.h"
#include "net.h"
#include "tests.h"

#define KB		1000ull
#define OTHER_USER	12346

/* Connections of ours of one job. */
#define SOME		3

/* No test uses another's number. */
static uint32_t new_job(void)
{
	static uint32_t job;

	return ++job;
}

static struct pair pair_of_job(uint32_t job, uint64_t bytes, uint64_t in_ms)
{
	struct pair pair = pair_open(DALBE_CC_CDG);

	job_set(pair.tx, job, bytes, in_ms);
	return pair;
}

static void bytes_of_all_count(void)
{
	uint32_t job = new_job();
	struct pair pairs[SOME];

	for (int i = 0; i < SOME; i++) {
		pairs[i] = pair_of_job(job, 300 * KB, 20000);
		CHECK_EQ(state_get(pairs[i].tx).job, job);
	}
	for (int i = 0; i < SOME; i++) {
		CHECK_EQ(state_get(pairs[i].tx).status, DALBE_STATUS_ON_TRACK);
		transfer(&pairs[i], 100 * KB);
		for (int k = 0; k < SOME; k++) {
			CHECK_EQ(state_get(pairs[k].tx).goal_bytes, 300 * KB);
			CHECK_EQ(state_get(pairs[k].tx).bytes_done, (i + 1) * 100 * KB);
		}
	}
	for (int i = SOME - 1; i >= 0; i--) {
		struct dalbe_state s = state_get(pairs[i].tx);

		CHECK_EQ(s.status, DALBE_STATUS_DONE);
		CHECK_EQ(s.time_left_ns, state_get(pairs[0].tx).time_left_ns);
		CHECK_OP(s.time_left_ns, >, 0);
		pair_close(&pairs[i]);
	}
}

/* The first connection's goal is the job's. */
static void the_first_sets_the_goal(void)
{
	uint32_t job = new_job();
	struct pair one = pair_of_job(job, 500 * KB, 20000);
	struct pair two = pair_of_job(job, 700 * KB, 90000);
	struct dalbe_state s = state_get(two.tx);

	CHECK_EQ(s.goal_bytes, 500 * KB);
	CHECK_EQ(s.deadline_ns, state_get(one.tx).deadline_ns);

	harness_turn("an update by the second");
	TRY(job_set_raw(two.tx, job, 900 * KB, 60000 * NS_PER_MS,
			DALBE_GOAL_RELATIVE | DALBE_GOAL_UPDATE));
	s = state_get(one.tx);
	CHECK_EQ(s.goal_bytes, 900 * KB);
	CHECK_EQ(s.deadline_ns, state_get(two.tx).deadline_ns);
	CHECK_OP(s.time_left_ns, >, 50000 * (int64_t)NS_PER_MS);

	harness_turn("a change of parameters by the first");
	params_set(one.tx, (struct dalbe_params){ .flags = DALBE_PARAM_WMIN, .wmin_ppm = 500000 });
	CHECK_EQ(state_get(two.tx).wmin_ppm, 500000);
	pair_close(&one);
	pair_close(&two);
}

/* The job keeps a connection's bytes when that ends, or has its goal cleared. */
static void outlives_its_connections(void)
{
	uint32_t job = new_job();
	struct pair pair = pair_of_job(job, 400 * KB, 30000);
	struct dalbe_state s;

	transfer(&pair, 100 * KB);
	goal_clear(pair.tx);
	CHECK_EQ(state_get(pair.tx).job, 0);
	transfer(&pair, 50 * KB);	/* this counts for nothing */
	pair_close(&pair);

	pair = pair_of_job(job, 1, 1);
	flow_for(&pair, 50);		/* it ends amid its part */
	pair_close(&pair);
	sleep_ms(2000);

	pair = pair_of_job(job, 1, 1);
	s = state_get(pair.tx);
	CHECK_EQ(s.goal_bytes, 400 * KB);
	CHECK_OP(s.bytes_done, >, 100 * KB);
	CHECK_OP(s.bytes_done, <, 300 * KB);
	transfer(&pair, 400 * KB - s.bytes_done);
	CHECK_EQ(state_get(pair.tx).status, DALBE_STATUS_DONE);
	pair_close(&pair);
}

static void whose_job(void)
{
	uint32_t job = new_job();
	struct pair one = pair_of_job(job, 300 * KB, 20000), other;

	harness_turn("another number");
	other = pair_of_job(new_job(), 200 * KB, 20000);
	CHECK_EQ(state_get(other.tx).goal_bytes, 200 * KB);
	pair_close(&other);

	harness_turn("another user");
	other = pair_open(DALBE_CC_CDG);
	TRY(fchown(other.tx, OTHER_USER, -1));
	job_set(other.tx, job, 100 * KB, 20000);
	CHECK_EQ(state_get(other.tx).goal_bytes, 100 * KB);
	pair_close(&other);

	harness_turn("none");
	other = pair_open(DALBE_CC_CDG);
	goal_set(other.tx, 50 * KB, 20000);
	CHECK_EQ(state_get(other.tx).goal_bytes, 50 * KB);
	pair_close(&other);
	CHECK_EQ(state_get(one.tx).bytes_done, 0);
	pair_close(&one);
}

/* A connection whose user is another from now on has a part in that user's job of this number, and
 * takes its goal there, also where it has nothing more to send for now.
 */
static void another_user_from_now_on(void)
{
	struct pair pair = pair_of_job(new_job(), 300 * KB, 20000);
	struct dalbe_state s;

	transfer(&pair, 100 * KB);
	TRY(fchown(pair.tx, OTHER_USER, -1));
	transfer(&pair, KB);	/* one part */
	s = state_get(pair.tx);
	CHECK_EQ(s.goal_bytes, 300 * KB);
	CHECK_EQ(s.status, DALBE_STATUS_ON_TRACK);
	CHECK_OP(s.time_left_ns, >, 0);
	pair_close(&pair);
}

/* Each connection that a listener accepts has a part in its job. */
static void listener_of_a_job(void)
{
	uint32_t job = new_job();
	int listener = sock_listen(IPV4, DALBE_CC_CDG), fd[2], peer[2];

	job_set(listener, job, 300 * KB, 20000);
	for (int i = 0; i < 2; i++) {
		peer[i] = sock_open(NS_TX, IPV4, SOCK_STREAM);
		sock_connect(peer[i], listener, IPV4);
		fd[i] = sock_accept(listener);
	}
	for (int i = 0; i < 2; i++) {
		struct pair pair = { .tx = fd[i], .rx = peer[i], .listener = listener };

		transfer(&pair, 100 * KB);
	}
	CHECK_EQ(state_get(fd[0]).bytes_done, 200 * KB);
	CHECK_EQ(state_get(fd[1]).bytes_done, 200 * KB);
	for (int i = 0; i < 2; i++) {
		close(fd[i]);
		close(peer[i]);
	}
	close(listener);
}

static void updates_that_are_refused(void)
{
	uint32_t job = new_job();
	struct pair pair = pair_of_job(job, 300 * KB, 20000);
	const uint32_t update = DALBE_GOAL_RELATIVE | DALBE_GOAL_UPDATE;
	int tx = sock_open(NS_TX, IPV4, SOCK_STREAM);

	CHECK_ERRNO(job_set_raw(pair.tx, new_job(), KB, NS_PER_S, update), ENODATA);
	CHECK_ERRNO(goal_set_raw(pair.tx, KB, NS_PER_S, update), ENODATA);
	harness_turn("not connected");
	cc_set(tx, DALBE_CC_CDG);
	job_set(tx, job, 300 * KB, 20000);
	CHECK_ERRNO(job_set_raw(tx, job, KB, NS_PER_S, update), ENODATA);
	CHECK_EQ(state_get(pair.tx).goal_bytes, 300 * KB);
	close(tx);
	pair_close(&pair);
}

static bool eight_updates(const struct pair *pair)
{
	return state_get(pair->tx).updates >= 8;
}

/* A job takes what it needs, however many connections it has: beside CUBIC each of three would
 * have a fourth of 10 Mbit/s at w = 1, and a tenth is needed.
 */
static void one_w_for_all(void)
{
	struct pair pairs[SOME], cubic = pair_open("cubic");
	struct dalbe_state s[SOME];
	uint32_t job = new_job();

	for (int i = 0; i < SOME; i++)
		pairs[i] = pair_of_job(job, 15000 * KB, 120000);
	for (int second = 0; second < 20; second++)
		for (int i = 0; i < SOME; i++)
			compete(&pairs[i], &cubic, 333, NULL);
	CHECK(compete(&pairs[0], &cubic, 30000, eight_updates));
	for (int i = 0; i < SOME; i++)
		s[i] = state_get(pairs[i].tx);
	for (int i = 0; i < SOME; i++) {
		CHECK_EQ(s[i].w_ppm, s[0].w_ppm);
		CHECK_EQ(s[i].target_Bps, s[0].target_Bps);
		CHECK_EQ(s[i].updates, s[0].updates);
		pair_close(&pairs[i]);
	}
	CHECK_OP(s[0].w_ppm, <, 900000);
	pair_close(&cubic);
}

static bool competes(const struct pair *pair)
{
	return state_get(pair->tx).w_ppm > 500000;
}

static void set_controller(struct pair *pairs, int n, uint32_t controller)
{
	for (int i = 0; i < n; i++)
		params_set(pairs[i].tx, (struct dalbe_params){
			.flags = DALBE_PARAM_CONTROLLER, .controller = controller });
}

/* As dalbectl run --window does it: at the window's end, with one more connection after that, and
 * at the next one's beginning. The job needs more than it can have.
 */
static void least_outside_a_window(void)
{
	struct pair pairs[SOME], cubic = pair_open("cubic");
	uint32_t job = new_job();

	for (int i = 0; i < SOME - 1; i++)
		pairs[i] = pair_of_job(job, 200000 * KB, 60000);
	CHECK(compete(&pairs[0], &cubic, 30000, competes));

	set_controller(pairs, SOME - 1, DALBE_CONTROLLER_WEIGHT);
	pairs[SOME - 1] = pair_of_job(job, 1, 1);
	set_controller(&pairs[SOME - 1], 1, DALBE_CONTROLLER_WEIGHT);
	compete(&pairs[SOME - 1], &cubic, 5000, NULL);
	for (int i = 0; i < SOME; i++) {
		CHECK_EQ(state_get(pairs[i].tx).w_ppm, state_get(pairs[i].tx).wmin_ppm);
		CHECK_OP(state_get(pairs[i].tx).w_ppm, <, 100000);
	}

	set_controller(pairs, SOME, DALBE_CONTROLLER_MBC);
	CHECK(compete(&pairs[SOME - 1], &cubic, 30000, competes));
	for (int i = 0; i < SOME; i++) {
		CHECK_EQ(state_get(pairs[i].tx).controller, DALBE_CONTROLLER_MBC);
		pair_close(&pairs[i]);
	}
	pair_close(&cubic);
}

const struct test tests_job[] = {
	{ "job: what all connections carry counts, to the byte", bytes_of_all_count },
	{ "job: the first connection sets the goal, an update changes it for all",
	  the_first_sets_the_goal },
	{ "job: what a connection has done stays done when it ends", outlives_its_connections },
	{ "job: by number and user", whose_job },
	{ "job: another user's from now on", another_user_from_now_on },
	{ "job: a listener's connections take part", listener_of_a_job },
	{ "job: updates by those that have no part are refused", updates_that_are_refused },
	{ "job: one w for all", one_w_for_all },
	{ "job: least outside a window, and back", least_outside_a_window },
	{}
};
