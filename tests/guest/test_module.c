// SPDX-License-Identifier: GPL-2.0-only
/* The module is refused to go while in use, and goes without a trace. */
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ctl.h"
#include "fault.h"
#include "net.h"
#include "tests.h"

#define KB	1000ull
#define MODULE	"dalbe"

static int load_raw(void)
{
	int fd = TRY(open(module_path, O_RDONLY | O_CLOEXEC));
	int ret = syscall(SYS_finit_module, fd, "", 0);
	int err = errno;

	close(fd);
	errno = err;
	return ret;
}

static int unload_raw(void)
{
	return syscall(SYS_delete_module, MODULE, O_NONBLOCK);
}

static void load(void)
{
	TRY(load_raw());
}

static void unload(void)
{
	TRY(unload_raw());
}

/* Connections of earlier tests may linger, as orphans, for minutes. */
static void wait_until_unused(void)
{
	for (int s = 0; s < 300; s++) {
		char count[16] = "";
		int fd = TRY(open("/sys/module/" MODULE "/refcnt",
				  O_RDONLY | O_CLOEXEC));

		TRY(read(fd, count, sizeof(count) - 1));
		close(fd);
		if (!atoi(count))
			return;
		sleep_ms(MS_PER_S);
	}
	FAIL("the module is in use, 5 minutes after its last socket");
}

/* In use; and, with what uses it gone, no more. */
static void check_held(const char *by)
{
	harness_turn("%s", by);
	CHECK_ERRNO(unload_raw(), EAGAIN);
}

static void check_free(void)
{
	unload();
	load();
}

static void refused_in_use(void)
{
	char before[SYSCTL_LEN];
	struct pair pair;
	int fd;

	wait_until_unused();
	check_free();

	fd = sock_open(NS_TX, IPV4, SOCK_STREAM);
	cc_set(fd, DALBE_CC_CDG);
	check_held("a socket, not connected");
	close(fd);
	check_free();

	fd = sock_listen(IPV4, DALBE_CC_CDG);
	check_held("a listener");
	close(fd);
	check_free();

	pair = pair_open(DALBE_CC_CDG);
	goal_set(pair.tx, 1000 * KB, 10000);
	flow_for(&pair, 300);
	check_held("a connection");
	close(pair.tx);
	check_held("an orphaned connection");
	close(pair.rx);
	close(pair.listener);
	sleep_ms(1000);
	check_free();

	fd = ctl_open();
	check_held("an open " DALBE_DEVICE);
	close(fd);
	check_free();

	sysctl_read(NS_RX, "ipv4/tcp_congestion_control", before);
	sysctl_write(NS_RX, "ipv4/tcp_congestion_control", DALBE_CC_CDG);
	check_held("a namespace whose default it is");
	sysctl_write(NS_RX, "ipv4/tcp_congestion_control", before);
	check_free();
}

static void no_trace_left(void)
{
	int fd = sock_open(NS_TX, IPV4, SOCK_STREAM);

	wait_until_unused();
	unload();
	CHECK_ERRNO(access(DALBE_DEVICE, F_OK), ENOENT);
	CHECK_ERRNO(setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, DALBE_CC_CDG,
			       strlen(DALBE_CC_CDG)), ENOENT);
	ns_enter(NS_TX);
	CHECK_ERRNO(access("/proc/sys/net/dalbe", F_OK), ENOENT);
	ns_enter(NS_RX);
	CHECK_ERRNO(access("/proc/sys/net/dalbe", F_OK), ENOENT);
	CHECK_ERRNO(access("/sys/kernel/tracing/events/dalbe", F_OK), ENOENT);
	load();
	CHECK_EQ(access(DALBE_DEVICE, R_OK | W_OK), 0);
	cc_set(fd, DALBE_CC_CDG);
	ns_enter(NS_RX);
	CHECK_EQ(access("/proc/sys/net/dalbe/g_us", R_OK | W_OK), 0);
	CHECK_EQ(access("/sys/kernel/tracing/events/dalbe", F_OK), 0);
}

static void twice(void)
{
	CHECK_ERRNO(load_raw(), EEXIST);
}

static void cycles(void)
{
	wait_until_unused();
	for (int i = 0; i < 10; i++) {
		struct pair pair;

		harness_turn("cycle %d", i);
		unload();
		load();
		pair = pair_open(DALBE_CC_CDG);
		goal_set(pair.tx, 100 * KB, 5000);
		transfer(&pair, 100 * KB);
		CHECK_EQ(state_get(pair.tx).status, DALBE_STATUS_DONE);
		pair_close(&pair);
		sleep_ms(500);
	}
}

/* The module's own allocations come last, after the module loader's. */
#define LAST_ALLOCATIONS	120

static void load_without_memory(void)
{
	unsigned int allocations, refused = 0;

	fault_require(true);
	wait_until_unused();
	unload();
	fault_arm(FAULT_NEVER);
	load();
	allocations = FAULT_NEVER - fault_disarm();
	unload();
	harness_note("%u allocations to load the module", allocations);
	CHECK_OP(allocations, >, LAST_ALLOCATIONS);
	for (unsigned int n = allocations - LAST_ALLOCATIONS;
	     n <= allocations; n++) {
		int ret;

		harness_turn("allocation %u", n);
		fault_arm(n);
		ret = load_raw();
		fault_disarm();
		if (ret) {
			refused++;
			CHECK_ERRNO(access(DALBE_DEVICE, F_OK), ENOENT);
		} else {
			unload();
		}
	}
	harness_turn("afterwards");
	harness_note("refused %u times of %u", refused, LAST_ALLOCATIONS);
	CHECK_OP(refused, >, 10);
	load();
	cc_set(sock_open(NS_TX, IPV4, SOCK_STREAM), DALBE_CC_CDG);
}

const struct test tests_module[] = {
	{ "rmmod is refused while in use", refused_in_use },
	{ "rmmod leaves no trace", no_trace_left },
	{ "insmod twice is refused", twice },
	{ "ten cycles of rmmod, insmod and a transfer", cycles },
	{ "no memory to load the module", load_without_memory },
	{}
};
