// SPDX-License-Identifier: GPL-2.0-only
/* /dev/dalbe by its bare ioctls; see ctl.h. */
#include "ctl.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness.h"
#include "net.h"
#include "tests.h"

int ctl_open(void)
{
	return TRY(open(DALBE_DEVICE, O_RDWR | O_CLOEXEC));
}

/* One command on a device opened for it: nothing can hang on the descriptor. */
static int ctl(unsigned long cmd, void *arg)
{
	int dev = ctl_open();
	int ret = ioctl(dev, cmd, arg);
	int err = errno;

	close(dev);
	errno = err;
	return ret;
}

void cc_set(int fd, const char *cc)
{
	TRY(setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cc, strlen(cc)));
}

int job_set_raw(int fd, uint32_t job, uint64_t bytes, uint64_t deadline_ns, uint32_t flags)
{
	struct dalbe_goal goal = {
		.fd = fd, .flags = flags,
		.bytes = bytes, .deadline_ns = deadline_ns,
		.job = job,
	};

	return ctl(DALBE_IOC_SET_GOAL, &goal);
}

void job_set(int fd, uint32_t job, uint64_t bytes, uint64_t in_ms)
{
	TRY(job_set_raw(fd, job, bytes, in_ms * NS_PER_MS, DALBE_GOAL_RELATIVE));
}

int goal_set_raw(int fd, uint64_t bytes, uint64_t deadline_ns, uint32_t flags)
{
	return job_set_raw(fd, 0, bytes, deadline_ns, flags);
}

void goal_set(int fd, uint64_t bytes, uint64_t in_ms)
{
	TRY(goal_set_raw(fd, bytes, in_ms * NS_PER_MS, DALBE_GOAL_RELATIVE));
}

void goal_clear(int fd)
{
	struct dalbe_clear clear = { .fd = fd };

	TRY(ctl(DALBE_IOC_CLEAR_GOAL, &clear));
}

int state_get_raw(int fd, struct dalbe_state *state)
{
	memset(state, 0, sizeof(*state));
	state->fd = fd;
	return ctl(DALBE_IOC_GET_STATE, state);
}

struct dalbe_state state_get(int fd)
{
	struct dalbe_state state;

	TRY(state_get_raw(fd, &state));
	CHECK_EQ(state.fd, fd);
	return state;
}

/* For pump() and compete(): a connection that is contended tries now and then whether the other
 * has gone, and is alone meanwhile.
 */
bool alone(const struct pair *pair)
{
	return state_get(pair->tx).regime == DALBE_REGIME_ALONE;
}

bool contended(const struct pair *pair)
{
	return state_get(pair->tx).regime == DALBE_REGIME_CONTENDED;
}

/* ... and its window the least there is */
bool contended_at_two(const struct pair *pair)
{
	struct dalbe_state s = state_get(pair->tx);

	return s.regime == DALBE_REGIME_CONTENDED && s.cwnd == 2;
}

/* The program of @pair sends no more, and all of it has arrived: in a state of which @wanted is
 * true, for which it goes on where a trial has come into it.
 */
void pause_beside(struct pair *pair, struct pair *other, bool (*wanted)(const struct pair *pair))
{
	for (int turn = 0; turn < TURNS; turn++) {
		uint64_t end_ns;

		CHECK(compete(pair, other, 20000, wanted));
		end_ns = now_ns() + 60 * NS_PER_S;
		while (!all_acked(pair)) {
			CHECK_OP(now_ns(), <, end_ns);
			pump(other, NO_END, PUMP_TURN_MS, NULL);
			pump(pair, 0, 0, NULL);
		}
		if (wanted(pair))
			return;
	}
	FAIL("no pause without a trial");
}

/* A connection of ours on the default link, which marks packets, and whose queue has room
 * for those that it would else lose. @ecn: how both ends want to be told, as
 * net.ipv4.tcp_ecn has it. The link marks from then on: a SYN cannot be marked, it would be
 * lost, and TCP does without ECN then.
 */
struct pair pair_with_marks(double percent, const char *ecn)
{
	struct link marks = link_default;
	struct pair pair;

	marks.loss_percent = percent;
	marks.ecn = true;
	marks.queue_packets = 1000;
	sysctl_write(NS_TX, "ipv4/tcp_ecn", ecn);
	sysctl_write(NS_RX, "ipv4/tcp_ecn", ecn);
	pair = pair_open(DALBE_CC_CDG);
	sysctl_write(NS_TX, "ipv4/tcp_ecn", "2");
	sysctl_write(NS_RX, "ipv4/tcp_ecn", "2");
	link_set(&marks);
	return pair;
}

/* The state, and tcp_info's bytes_acked of the same instant. */
struct dalbe_state state_get_exact(int fd, uint64_t *bytes_acked)
{
	struct dalbe_state state;
	uint64_t before;

	do {
		before = sock_tcp_info(fd).tcpi_bytes_acked;
		state = state_get(fd);
		*bytes_acked = sock_tcp_info(fd).tcpi_bytes_acked;
	} while (before != *bytes_acked);
	return state;
}

int params_set_raw(int fd, struct dalbe_params params)
{
	params.fd = fd;
	return ctl(DALBE_IOC_SET_PARAMS, &params);
}

void params_set(int fd, struct dalbe_params params)
{
	TRY(params_set_raw(fd, params));
}

int group_set_raw(int fd, uint32_t group)
{
	struct dalbe_group g = { .fd = fd, .group = group };

	return ctl(DALBE_IOC_SET_GROUP, &g);
}

void group_set(int fd, uint32_t group)
{
	TRY(group_set_raw(fd, group));
}
