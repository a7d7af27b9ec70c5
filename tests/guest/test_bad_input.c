// SPDX-License-Identifier: GPL-2.0-only
/*
 * Wrong input is refused with the errno that dalbe_ctl.h names, and nothing
 * has changed. Each case is tried on three sockets, where it makes sense: not
 * connected, connected with a goal, and a listener with one.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/un.h>
#include <unistd.h>

#include "ctl.h"
#include "net.h"
#include "tests.h"

#define KB		1000ull
#define HIGH_FD		500	/* not the next one to be opened */
#define S64_MAX		INT64_MAX

static const struct {
	const char *what;
	int err;
	struct dalbe_goal goal;
} bad_goals[] = {
	{ "unknown flag", EINVAL,
	  { .flags = 1u << 2, .bytes = 1, .deadline_ns = S64_MAX } },
	{ "highest flag", EINVAL,
	  { .flags = 1u << 31, .bytes = 1, .deadline_ns = S64_MAX } },
	{ "each, but not relative", EINVAL,
	  { .flags = DALBE_GOAL_EACH, .bytes = 1, .deadline_ns = S64_MAX } },
	{ "each, of a job", EINVAL,
	  { .flags = DALBE_GOAL_RELATIVE | DALBE_GOAL_EACH, .job = 1, .bytes = 1,
	    .deadline_ns = 1 } },
	{ "first reserved field", EINVAL,
	  { .bytes = 1, .deadline_ns = S64_MAX, .reserved = { 1, 0 } } },
	{ "last reserved field", EINVAL,
	  { .bytes = 1, .deadline_ns = S64_MAX, .reserved = { 0, 0, 1 } } },
	{ "zero bytes", EINVAL,
	  { .bytes = 0, .deadline_ns = S64_MAX } },
	{ "zero bytes, update", EINVAL,
	  { .bytes = 0, .deadline_ns = S64_MAX, .flags = DALBE_GOAL_UPDATE } },
	{ "deadline at boot", ETIME,
	  { .bytes = 1, .deadline_ns = 0 } },
	{ "deadline just after boot", ETIME,
	  { .bytes = 1, .deadline_ns = 1 } },
	{ "relative deadline of no time", ETIME,
	  { .bytes = 1, .deadline_ns = 0, .flags = DALBE_GOAL_RELATIVE } },
	{ "2^63 bytes", EOVERFLOW,
	  { .bytes = S64_MAX + 1ull, .deadline_ns = S64_MAX } },
	{ "2^64 - 1 bytes", EOVERFLOW,
	  { .bytes = UINT64_MAX, .deadline_ns = S64_MAX } },
	{ "deadline of 2^63 ns", EOVERFLOW,
	  { .bytes = 1, .deadline_ns = S64_MAX + 1ull } },
	{ "relative deadline beyond 2^63 ns", EOVERFLOW,
	  { .bytes = 1, .deadline_ns = S64_MAX,
	    .flags = DALBE_GOAL_RELATIVE } },
	{ "relative deadline that wraps", EOVERFLOW,
	  { .bytes = 1, .deadline_ns = UINT64_MAX,
	    .flags = DALBE_GOAL_RELATIVE } },
};

static const struct {
	const char *what;
	int err;
	struct dalbe_params params;
} bad_params[] = {
	{ "no flag", EINVAL, {} },
	{ "unknown flag", EINVAL, { .flags = 1u << 5 } },
	{ "unknown beside a known flag", EINVAL,
	  { .flags = DALBE_PARAM_G | 1u << 31, .g_ns = 3000000 } },
	{ "first reserved field", EINVAL,
	  { .flags = DALBE_PARAM_G, .g_ns = 3000000, .reserved = { 1 } } },
	{ "last reserved field", EINVAL,
	  { .flags = DALBE_PARAM_G, .g_ns = 3000000,
	    .reserved = { 0, 0, 0, 0, 1 } } },
	{ "G not named", EINVAL,
	  { .flags = DALBE_PARAM_TW, .tw_ms = 100, .g_ns = 3000000 } },
	{ "controller not named", EINVAL,
	  { .flags = DALBE_PARAM_TW, .tw_ms = 100, .controller = 1 } },
	{ "Tw not named", EINVAL,
	  { .flags = DALBE_PARAM_G, .g_ns = 3000000, .tw_ms = 100 } },
	{ "wmin not named", EINVAL,
	  { .flags = DALBE_PARAM_TW, .tw_ms = 100, .wmin_ppm = 1000 } },
	{ "after_deadline not named", EINVAL,
	  { .flags = DALBE_PARAM_TW, .tw_ms = 100, .after_deadline = 1 } },
	{ "G of 0", ERANGE, { .flags = DALBE_PARAM_G } },
	{ "G too low", ERANGE,
	  { .flags = DALBE_PARAM_G, .g_ns = DALBE_G_MIN_NS - 1 } },
	{ "G too high", ERANGE,
	  { .flags = DALBE_PARAM_G, .g_ns = DALBE_G_MAX_NS + 1 } },
	{ "highest G", ERANGE,
	  { .flags = DALBE_PARAM_G, .g_ns = UINT32_MAX } },
	{ "Tw of 1 ms", ERANGE, { .flags = DALBE_PARAM_TW, .tw_ms = 1 } },
	{ "Tw too low", ERANGE,
	  { .flags = DALBE_PARAM_TW, .tw_ms = DALBE_TW_MIN_MS - 1 } },
	{ "Tw too high", ERANGE,
	  { .flags = DALBE_PARAM_TW, .tw_ms = DALBE_TW_MAX_MS + 1 } },
	{ "wmin of 0", ERANGE, { .flags = DALBE_PARAM_WMIN } },
	{ "wmin too low", ERANGE,
	  { .flags = DALBE_PARAM_WMIN, .wmin_ppm = DALBE_WMIN_MIN_PPM - 1 } },
	{ "wmin too high", ERANGE,
	  { .flags = DALBE_PARAM_WMIN, .wmin_ppm = DALBE_WMIN_MAX_PPM + 1 } },
	{ "controller too high", ERANGE,
	  { .flags = DALBE_PARAM_CONTROLLER,
	    .controller = DALBE_CONTROLLER_FLOOR + 1 } },
	{ "after_deadline too high", ERANGE,
	  { .flags = DALBE_PARAM_AFTER,
	    .after_deadline = DALBE_AFTER_KEEP + 1 } },
	{ "one good, one bad", ERANGE,
	  { .flags = DALBE_PARAM_G | DALBE_PARAM_AFTER, .g_ns = 5000000,
	    .after_deadline = UINT32_MAX } },
};

/* The sockets that must not change, and what they are now. */
static struct {
	int fd[3];
	struct dalbe_state state[3];
	int dev;
} fixture;

/* The fields that a socket changes by itself between two looks at it. */
static void forget_time(struct dalbe_state *s)
{
	s->time_left_ns = 0;
	s->path_flows = 0;	/* an earlier test's may end */
}

static void set_up(void)
{
	int tx = sock_open(NS_TX, IPV4, SOCK_STREAM);
	struct pair pair = pair_open(DALBE_CC_CDG);

	cc_set(tx, DALBE_CC_CDG);
	goal_set(pair.tx, 1000 * KB, 3600 * 1000);
	transfer(&pair, 100 * KB);
	fixture.fd[0] = tx;
	fixture.fd[1] = pair.tx;
	fixture.fd[2] = sock_listen(IPV6, DALBE_CC_CDG);
	goal_set(fixture.fd[2], 2000 * KB, 3600 * 1000);
	params_set(fixture.fd[2], (struct dalbe_params) {
		.flags = DALBE_PARAM_G, .g_ns = 7654321 });
	fixture.dev = ctl_open();
	for (int i = 0; i < 3; i++) {
		fixture.state[i] = state_get(fixture.fd[i]);
		forget_time(&fixture.state[i]);
	}
	CHECK_EQ(fixture.state[0].status, DALBE_STATUS_NONE);
	CHECK_EQ(fixture.state[1].bytes_done, 100 * KB);
	CHECK_EQ(fixture.state[2].status, DALBE_STATUS_WAITING);
}

static void check_unchanged(void)
{
	for (int i = 0; i < 3; i++) {
		struct dalbe_state s = state_get(fixture.fd[i]);

		forget_time(&s);
		if (memcmp(&s, &fixture.state[i], sizeof(s)))
			FAIL("socket %d has changed", i);
	}
}

static void goals(void)
{
	set_up();
	for (size_t i = 0; i < ARRAY_SIZE(bad_goals); i++) {
		harness_turn("%s", bad_goals[i].what);
		for (int j = 0; j < 3; j++) {
			struct dalbe_goal goal = bad_goals[i].goal;

			goal.fd = fixture.fd[j];
			CHECK_ERRNO(ioctl(fixture.dev, DALBE_IOC_SET_GOAL,
					  &goal), bad_goals[i].err);
		}
		check_unchanged();
	}
}

static void past_deadline(void)
{
	set_up();
	CHECK_ERRNO(goal_set_raw(fixture.fd[1], 1, now_ns() - 1, 0), ETIME);
	CHECK_ERRNO(goal_set_raw(fixture.fd[1], 1, now_ns() / 2,
				 DALBE_GOAL_UPDATE), ETIME);
	CHECK_ERRNO(goal_set_raw(fixture.fd[0], 1, S64_MAX - now_ns() + NS_PER_S,
				 DALBE_GOAL_RELATIVE), EOVERFLOW);
	check_unchanged();
	/* the extremes that are allowed */
	TRY(goal_set_raw(fixture.fd[0], S64_MAX, S64_MAX, 0));
	TRY(goal_set_raw(fixture.fd[1], S64_MAX, S64_MAX, 0));
	TRY(goal_set_raw(fixture.fd[0], 1, 1000, DALBE_GOAL_RELATIVE));
}

static void update_without_goal(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG);

	set_up();
	CHECK_ERRNO(goal_set_raw(fixture.fd[0], 1, NS_PER_S,
				 DALBE_GOAL_RELATIVE | DALBE_GOAL_UPDATE),
		    ENODATA);
	CHECK_ERRNO(goal_set_raw(pair.tx, 1, NS_PER_S,
				 DALBE_GOAL_RELATIVE | DALBE_GOAL_UPDATE),
		    ENODATA);
	goal_set(pair.tx, 1, 1000);
	goal_clear(pair.tx);
	CHECK_ERRNO(goal_set_raw(pair.tx, 1, NS_PER_S,
				 DALBE_GOAL_RELATIVE | DALBE_GOAL_UPDATE),
		    ENODATA);
	CHECK_EQ(state_get(pair.tx).status, DALBE_STATUS_NONE);
	check_unchanged();
}

static void params(void)
{
	set_up();
	for (size_t i = 0; i < ARRAY_SIZE(bad_params); i++) {
		harness_turn("%s", bad_params[i].what);
		for (int j = 0; j < 3; j++)
			CHECK_ERRNO(params_set_raw(fixture.fd[j],
						   bad_params[i].params),
				    bad_params[i].err);
		check_unchanged();
	}
}

/* GET_STATE reads fd alone and refuses every other byte that is not zero. */
static void state_clear_and_group(void)
{
	struct dalbe_group groups[] = {
		{ .flags = 1, .group = 1 }, { .reserved = 1 << 31, .group = 1 },
	};
	struct dalbe_clear clear = { .flags = 1 };

	set_up();
	for (size_t i = sizeof(__s32); i < sizeof(struct dalbe_state); i++) {
		struct dalbe_state s = { .fd = fixture.fd[1] };

		harness_turn("GET_STATE, byte %zu", i);
		((unsigned char *)&s)[i] = 1;
		CHECK_ERRNO(ioctl(fixture.dev, DALBE_IOC_GET_STATE, &s),
			    EINVAL);
	}
	harness_turn("CLEAR_GOAL with a flag");
	for (int i = 0; i < 3; i++) {
		clear.fd = fixture.fd[i];
		CHECK_ERRNO(ioctl(fixture.dev, DALBE_IOC_CLEAR_GOAL, &clear),
			    EINVAL);
		for (size_t j = 0; j < ARRAY_SIZE(groups); j++) {
			harness_turn("SET_GROUP %zu", j);
			groups[j].fd = fixture.fd[i];
			CHECK_ERRNO(ioctl(fixture.dev, DALBE_IOC_SET_GROUP, &groups[j]), EINVAL);
		}
	}
	check_unchanged();
}

/* All commands, correct but for the descriptor, end with @err. */
static void refuse_fd(const char *what, int fd, int err)
{
	struct dalbe_goal goal = {
		.fd = fd, .bytes = 1, .deadline_ns = S64_MAX };
	struct dalbe_state state = { .fd = fd };
	struct dalbe_clear clear = { .fd = fd };
	struct dalbe_params params = {
		.fd = fd, .flags = DALBE_PARAM_G, .g_ns = 3000000 };
	struct dalbe_group group = { .fd = fd, .group = 1 };
	int dev = ctl_open();

	harness_turn("%s", what);
	CHECK_ERRNO(ioctl(dev, DALBE_IOC_SET_GOAL, &goal), err);
	CHECK_ERRNO(ioctl(dev, DALBE_IOC_GET_STATE, &state), err);
	CHECK_ERRNO(ioctl(dev, DALBE_IOC_CLEAR_GOAL, &clear), err);
	CHECK_ERRNO(ioctl(dev, DALBE_IOC_SET_PARAMS, &params), err);
	CHECK_ERRNO(ioctl(dev, DALBE_IOC_SET_GROUP, &group), err);
	/* and the caller's structure is as it was */
	CHECK_EQ(state.goal_bytes | state.cwnd | state.g_ns | state.status, 0);
	close(dev);
}

static void descriptors(void)
{
	int pair[2], fd;

	ns_enter(NS_TX);
	refuse_fd("no descriptor", -1, EBADF);
	refuse_fd("lowest descriptor", INT32_MIN, EBADF);
	refuse_fd("highest descriptor", INT32_MAX, EBADF);
	fd = TRY(dup3(sock_open(NS_TX, IPV4, SOCK_STREAM), HIGH_FD, O_CLOEXEC));
	cc_set(fd, DALBE_CC_CDG);
	close(fd);
	refuse_fd("closed socket", fd, EBADF);

	fd = TRY(open("/dev/null", O_RDWR | O_CLOEXEC));
	refuse_fd("device", fd, ENOTSOCK);
	refuse_fd("/dev/dalbe", ctl_open(), ENOTSOCK);
	TRY(pipe2(pair, O_CLOEXEC));
	refuse_fd("pipe", pair[0], ENOTSOCK);
	fd = TRY(open("/proc", O_PATH | O_CLOEXEC));
	refuse_fd("O_PATH descriptor", fd, EBADF);

	refuse_fd("UDP socket", sock_open(NS_TX, IPV4, SOCK_DGRAM),
		  EOPNOTSUPP);
	refuse_fd("UDP socket, IPv6", sock_open(NS_TX, IPV6, SOCK_DGRAM),
		  EOPNOTSUPP);
	refuse_fd("raw socket of protocol TCP",
		  TRY(socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_TCP)),
		  EOPNOTSUPP);
	refuse_fd("raw socket of protocol TCP, IPv6",
		  TRY(socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_TCP)),
		  EOPNOTSUPP);
	TRY(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	refuse_fd("unix stream socket", pair[0], EOPNOTSUPP);
	refuse_fd("netlink socket",
		  TRY(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0)),
		  EOPNOTSUPP);

	refuse_fd("cubic, not connected",
		  sock_open(NS_TX, IPV4, SOCK_STREAM), ENOPROTOOPT);
	refuse_fd("reno, connected", pair_open("reno").tx, ENOPROTOOPT);
	refuse_fd("listener with the default", sock_listen(IPV6, NULL),
		  ENOPROTOOPT);
}

static void mptcp(void)
{
	int fd;

	ns_enter(NS_TX);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_MPTCP);
	if (fd < 0)
		harness_skip("kernel without CONFIG_MPTCP");
	refuse_fd("MPTCP socket", fd, EOPNOTSUPP);
	/* MPTCP passes this on to its subflows, which are no fds of ours */
	setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, DALBE_CC_CDG,
		   strlen(DALBE_CC_CDG));
	refuse_fd("MPTCP socket with our subflow", fd, EOPNOTSUPP);
}

static void commands(void)
{
	static const unsigned long unknown[] = {
		_IOWR(DALBE_IOC_MAGIC, 0, struct dalbe_goal),
		_IOWR(DALBE_IOC_MAGIC, 6, struct dalbe_goal),
		_IOWR(DALBE_IOC_MAGIC, 255, struct dalbe_goal),
		_IOWR(DALBE_IOC_MAGIC ^ 1, 1, struct dalbe_goal),
		0, FIONREAD, UINT32_MAX,
	};
	static const unsigned long wrong_size[] = {
		_IOWR(DALBE_IOC_MAGIC, 1, __u64),
		_IOWR(DALBE_IOC_MAGIC, 1, struct dalbe_state),
		_IOWR(DALBE_IOC_MAGIC, 2, struct dalbe_goal),
		_IOWR(DALBE_IOC_MAGIC, 3, struct dalbe_params),
		_IOWR(DALBE_IOC_MAGIC, 4, struct dalbe_clear),
		_IOWR(DALBE_IOC_MAGIC, 5, struct dalbe_goal),
		_IO(DALBE_IOC_MAGIC, 1),
		_IOWR(DALBE_IOC_MAGIC, 1, struct dalbe_goal),
		_IOR(DALBE_IOC_MAGIC, 2, struct dalbe_state),
	};
	static const unsigned long all[] = {
		DALBE_IOC_SET_GOAL, DALBE_IOC_GET_STATE,
		DALBE_IOC_CLEAR_GOAL, DALBE_IOC_SET_PARAMS,
		DALBE_IOC_SET_GROUP,
	};
	struct dalbe_state room;

	set_up();
	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++) {
		harness_turn("unknown command %#lx", unknown[i]);
		memset(&room, 0, sizeof(room));
		room.fd = fixture.fd[1];
		CHECK_ERRNO(ioctl(fixture.dev, unknown[i], &room), ENOTTY);
	}
	for (size_t i = 0; i < ARRAY_SIZE(wrong_size); i++) {
		harness_turn("wrong size or direction %#lx", wrong_size[i]);
		memset(&room, 0, sizeof(room));
		room.fd = fixture.fd[1];
		CHECK_ERRNO(ioctl(fixture.dev, wrong_size[i], &room), EINVAL);
	}
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		harness_turn("command %zu", i);
		CHECK_ERRNO(ioctl(fixture.dev, all[i], NULL), EFAULT);
		CHECK_ERRNO(ioctl(fixture.dev, all[i], 8ul), EFAULT);
		CHECK_ERRNO(ioctl(fixture.dev, all[i], -8ul), EFAULT);
		CHECK_ERRNO(ioctl(fixture.dev, all[i], 1ul), EFAULT);
	}
	harness_turn("read and write");
	CHECK_ERRNO(read(fixture.dev, &room, sizeof(room)), EINVAL);
	CHECK_ERRNO(write(fixture.dev, &room, sizeof(room)), EINVAL);
	check_unchanged();
}

/* Two pages, of which the second is none. */
static unsigned char *page_with_an_end(void)
{
	size_t page = sysconf(_SC_PAGESIZE);
	unsigned char *p;

	p = TRY((unsigned char *)mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	TRY(munmap(p + page, page));
	return p + page;
}

static void buffers(void)
{
	struct dalbe_goal goal = { .bytes = 1, .deadline_ns = S64_MAX };
	size_t page = sysconf(_SC_PAGESIZE);
	struct dalbe_state state = {};
	unsigned char *end, *start;

	set_up();
	end = page_with_an_end();
	goal.fd = fixture.fd[1];
	state.fd = fixture.fd[1];

	harness_turn("short buffer");
	for (size_t room = 8; room < sizeof(goal); room += 8) {
		memcpy(end - room, &goal, room);
		CHECK_ERRNO(ioctl(fixture.dev, DALBE_IOC_SET_GOAL, end - room),
			    EFAULT);
	}
	memset(end - sizeof(state), 0, sizeof(state));
	for (size_t room = 8; room < sizeof(state); room += 8) {
		memcpy(end - room, &state, room);
		CHECK_ERRNO(ioctl(fixture.dev, DALBE_IOC_GET_STATE, end - room),
			    EFAULT);
	}

	harness_turn("read-only buffer");
	start = end - page;
	memcpy(start, &state, sizeof(state));
	TRY(mprotect(start, page, PROT_READ));
	CHECK_ERRNO(ioctl(fixture.dev, DALBE_IOC_GET_STATE, start), EFAULT);
	CHECK(!memcmp(start, &state, sizeof(state)));
	TRY(munmap(start, page));
	check_unchanged();
}

/* Python's buffers, say, lie anywhere. */
static void misaligned(void)
{
	struct dalbe_goal goal = { .bytes = 1, .deadline_ns = S64_MAX };
	unsigned char buffer[sizeof(struct dalbe_state) + 8];
	struct dalbe_state state = {}, seen;

	set_up();
	goal.fd = fixture.fd[1];
	state.fd = fixture.fd[1];
	for (size_t offset = 0; offset < 8; offset++) {
		goal.bytes = 1000 * KB + offset;
		memcpy(buffer + offset, &goal, sizeof(goal));
		TRY(ioctl(fixture.dev, DALBE_IOC_SET_GOAL, buffer + offset));
		memcpy(buffer + offset, &state, sizeof(state));
		TRY(ioctl(fixture.dev, DALBE_IOC_GET_STATE, buffer + offset));
		memcpy(&seen, buffer + offset, sizeof(seen));
		CHECK_EQ(seen.goal_bytes, goal.bytes);
	}
}

/* The device can be opened read-only, and then does the same. */
static void read_only_device(void)
{
	struct dalbe_state state = {};
	int dev;

	set_up();
	dev = TRY(open(DALBE_DEVICE, O_RDONLY | O_CLOEXEC));
	state.fd = fixture.fd[1];
	TRY(ioctl(dev, DALBE_IOC_GET_STATE, &state));
	CHECK_EQ(state.goal_bytes, 1000 * KB);
	check_unchanged();
}

const struct test tests_bad_input[] = {
	{ "bad goals are refused, nothing changed", goals },
	{ "deadlines in the past and beyond the end of time", past_deadline },
	{ "UPDATE without a goal is refused", update_without_goal },
	{ "bad parameters are refused, nothing changed", params },
	{ "GET_STATE, CLEAR_GOAL and SET_GROUP refuse what they do not read",
	  state_clear_and_group },
	{ "descriptors of anything else are refused", descriptors },
	{ "MPTCP sockets are refused", mptcp },
	{ "unknown commands and wrong sizes are refused", commands },
	{ "short and read-only buffers are refused", buffers },
	{ "misaligned buffers are as good as others", misaligned },
	{ "the device, opened read-only", read_only_device },
	{}
};
