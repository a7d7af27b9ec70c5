// SPDX-License-Identifier: GPL-2.0-only
/* Memory is short: a connection works on as Reno and recovers. */
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"
#include "fault.h"
#include "net.h"
#include "tests.h"

#define KB	1000ull

/* Where struct dalbe_flow comes from: more than 512 bytes, not more than 1 KB.
 * If that changes, the tests below notice that no allocation has failed.
 */
#define FLOW_CACHE	"kmalloc-cg-1k"

/* A connection of ours whose flow could not be allocated. GET_STATE tells: with
 * a goal it goes on waiting, although connected.
 */
static struct pair pair_without_flow(void)
{
	struct pair pair = pair_open("cubic");

	flow_for(&pair, 100);
	fault_arm(1);
	cc_set(pair.tx, DALBE_CC_CDG);
	CHECK_EQ(fault_disarm(), 0);
	goal_set(pair.tx, 10000 * KB, 60000);
	CHECK_EQ(state_get(pair.tx).status, DALBE_STATUS_WAITING);
	return pair;
}

static void next_ack_recovers(void)
{
	struct dalbe_state s;
	uint64_t acked_at_set, acked;
	struct pair pair;

	fault_require(false);
	pair = pair_without_flow();
	acked_at_set = sock_tcp_info(pair.tx).tcpi_bytes_acked;
	flow_for(&pair, 1000);
	s = state_get_exact(pair.tx, &acked);
	CHECK_EQ(s.status, DALBE_STATUS_ON_TRACK);
	CHECK_OP(s.updates, >, 0);
	/* what was acknowledged meanwhile counts */
	CHECK_EQ(s.bytes_done, acked - acked_at_set);
}

static void every_call_without_flow(void)
{
	struct pair pair;

	fault_require(false);
	pair = pair_without_flow();
	goal_clear(pair.tx);
	params_set(pair.tx, (struct dalbe_params) {
		.flags = DALBE_PARAM_G, .g_ns = 7000000 });
	CHECK_EQ(state_get(pair.tx).g_ns, 7000000);
	goal_set(pair.tx, 1000 * KB, 10000);
	TRY(goal_set_raw(pair.tx, 2000 * KB, 20 * NS_PER_S,
			 DALBE_GOAL_RELATIVE | DALBE_GOAL_UPDATE));
	sock_tcp_info(pair.tx);
	cc_set(pair.tx, "cubic");

	pair = pair_without_flow();
	close(pair.tx);
	pair = pair_without_flow();
	TRY(connect(pair.tx, &(struct sockaddr) { .sa_family = AF_UNSPEC },
		    sizeof(struct sockaddr)));
}

/* From SYN to the last byte no flow can be had, then one can. */
static void long_shortage(void)
{
	struct pair pair = {};
	struct dalbe_state s;
	uint64_t before, acked;
	int tx;

	fault_require(false);
	tx = sock_open(NS_TX, IPV4, SOCK_STREAM);
	cc_set(tx, DALBE_CC_CDG);
	goal_set(tx, 3000 * KB, 30000);
	fault_cache(FLOW_CACHE, true);
	pair = pair_around(tx, IPV4);
	flow_for(&pair, 1000);
	s = state_get(tx);
	before = pair.received;
	fault_cache(FLOW_CACHE, false);
	CHECK_EQ(s.status, DALBE_STATUS_WAITING);
	CHECK_OP(s.cwnd, >, 10);		/* Reno has grown it */

	flow_for(&pair, 1000);
	CHECK_OP(pair.received, >, before);
	s = state_get_exact(tx, &acked);
	CHECK_EQ(s.status, DALBE_STATUS_ON_TRACK);
	CHECK_OP(s.bytes_done, >=, acked - 1);	/* the SYN is not payload */
	CHECK_OP(s.rate_Bps, <, 1400 * KB);	/* no more than the link's */
}

static void children_without_flow(void)
{
	int listener;
	struct pair pair = {};

	fault_require(false);
	listener = sock_listen(IPV4, DALBE_CC_CDG);
	goal_set(listener, 100 * KB, 10000);
	fault_cache(FLOW_CACHE, true);
	pair.rx = sock_open(NS_TX, IPV4, SOCK_STREAM);
	sock_connect(pair.rx, listener, IPV4);
	pair.tx = sock_accept(listener);
	fault_cache(FLOW_CACHE, false);
	CHECK_EQ(state_get(pair.tx).status, DALBE_STATUS_WAITING);
	transfer(&pair, 100 * KB);
	CHECK_EQ(state_get(pair.tx).bytes_done, 100 * KB);
	CHECK_EQ(state_get(pair.tx).status, DALBE_STATUS_DONE);
}

/* Those of the module come late in the life of a namespace. */
#define LAST_ALLOCATIONS	40

static void namespace_without_memory(void)
{
	unsigned int allocations, failed = 0;

	fault_require(true);
	ns_enter(NS_TX);
	fault_arm(FAULT_NEVER);
	TRY(unshare(CLONE_NEWNET));
	allocations = FAULT_NEVER - fault_disarm();
	CHECK_OP(allocations, >, LAST_ALLOCATIONS);
	harness_note("%u allocations for a namespace", allocations);
	for (unsigned int n = allocations - LAST_ALLOCATIONS;
	     n <= allocations; n++) {
		int ret;

		harness_turn("allocation %u", n);
		ns_enter(NS_TX);
		fault_arm(n);
		ret = unshare(CLONE_NEWNET);
		fault_disarm();
		if (ret) {
			/* ENOBUFS: from the routing tables */
			CHECK(errno == ENOMEM || errno == ENOBUFS);
			failed++;
		}
	}
	ns_enter(NS_TX);
	CHECK_OP(failed, >, 5);
	sleep_ms(1000);
}

const struct test tests_memory[] = {
	{ "no memory for a connection: the next ACK finds some",
	  next_ack_recovers },
	{ "no memory for a connection: every call works",
	  every_call_without_flow },
	{ "no memory for a connection, for long: Reno, then CDG",
	  long_shortage },
	{ "no memory for a child of a listener", children_without_flow },
	{ "no memory for a namespace", namespace_without_memory },
	{}
};
