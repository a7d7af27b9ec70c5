// SPDX-License-Identifier: GPL-2.0-only
/*
 * "A goal makes a connection more modest than an ordinary one": one test for
 * each way in which that was not so.
 */
#include <fcntl.h>
#include <linux/bpf.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ctl.h"
#include "net.h"
#include "tests.h"

#define KB		1000ull
#define MS_IN_US	1000u
#define PMTU		1000

static void weight(int fd, uint32_t w_ppm)
{
	params_set(fd, (struct dalbe_params) {
		.flags = DALBE_PARAM_CONTROLLER | DALBE_PARAM_WMIN,
		.controller = DALBE_CONTROLLER_WEIGHT, .wmin_ppm = w_ppm });
	goal_set(fd, 1000000 * KB, 86400000);
}

/* A connection of ours at @w_ppm, and when it has seen that @cubic is there. */
static struct pair contended_beside(struct pair *cubic, uint32_t w_ppm)
{
	struct pair pair = pair_open(DALBE_CC_CDG);

	*cubic = pair_open("cubic");
	weight(pair.tx, w_ppm);
	CHECK(compete(&pair, cubic, 20000, contended));
	return pair;
}

static void own_queue(const char *words)
{
	char cmd[128];

	snprintf(cmd, sizeof(cmd), "tc -n tx qdisc %s", words);
	CHECK_EQ(system(cmd), 0);
}

/* A counter of tx's /proc/net/netstat: in the line of values, below that of names. */
static unsigned long kernel_counter(const char *name)
{
	char names[8192], values[8192];
	unsigned long found = 0;
	FILE *file;

	ns_enter(NS_TX);
	file = fopen("/proc/net/netstat", "r");
	CHECK(file);
	while (fgets(names, sizeof(names), file) &&
	       fgets(values, sizeof(values), file)) {
		char *n_end, *v_end;
		char *n = strtok_r(names, " ", &n_end);
		char *v = strtok_r(values, " ", &v_end);

		while (n && v) {
			if (!strcmp(n, name))
				found = strtoul(v, NULL, 10);
			n = strtok_r(NULL, " ", &n_end);
			v = strtok_r(NULL, " ", &v_end);
		}
	}
	fclose(file);
	return found;
}

/* The kernel's count of loss episodes of connections in tx. */
static unsigned long kernel_episodes(void)
{
	return kernel_counter("TCPSackRecovery") +
	       kernel_counter("TCPRenoRecovery") +
	       kernel_counter("TCPLossProbeRecovery");
}

static struct pair back;		/* the same connection, the other way */
static uint32_t rtt_max_us, rttvar_max_us;

static bool data_comes_back(const struct pair *pair)
{
	struct tcp_info info = sock_tcp_info(pair->rx);

	pump(&back, NO_END, 0, NULL);
	if (info.tcpi_rtt > rtt_max_us)
		rtt_max_us = info.tcpi_rtt;
	if (info.tcpi_rttvar > rttvar_max_us)
		rttvar_max_us = info.tcpi_rttvar;
	return false;
}

/* Beside CUBIC at w = 0.01 for 5 s, and then for 30 s with data both ways, of which
 * the last 20 count.
 */
static uint64_t two_way(const char *qdisc)
{
	/* without a limit, the peer's HyStart would decide how much comes back */
	const unsigned int back_Bps = 1250000;
	struct pair pair, cubic;

	own_queue(qdisc);
	pair = contended_beside(&cubic, 10000);
	compete(&pair, &cubic, 5000, NULL);
	back = (struct pair) { .tx = pair.rx, .rx = pair.tx };
	TRY(setsockopt(back.tx, SOL_SOCKET, SO_MAX_PACING_RATE, &back_Bps, sizeof(back_Bps)));
	/* So far the peer knows the RTT of a handshake, perhaps of a SYN-ACK sent twice, and
	 * its window is still to grow.
	 */
	compete(&pair, &cubic, 10000, data_comes_back);
	back.received = 0;
	rtt_max_us = 0;
	rttvar_max_us = 0;
	compete(&pair, &cubic, 20000, data_comes_back);
	CHECK_EQ(sock_tcp_info(pair.tx).tcpi_pacing_rate, UINT64_MAX);
	CHECK(compete(&pair, &cubic, 10000, contended));
	own_queue("del dev to_router root");
	harness_note("%s: the peer's RTT %u ms and its variance %u ms at most, %llu kB",
		     qdisc, rtt_max_us / 1000, rttvar_max_us / 1000,
		     (unsigned long long)back.received / KB);
	pair_close(&pair);
	pair_close(&cubic);
	return back.received;
}

static void acks_never_wait(void)
{
	uint64_t plain = two_way("replace dev to_router root pfifo limit 1000");
	uint32_t plain_us = rtt_max_us;
	uint64_t fq = two_way("replace dev to_router root fq");

	CHECK_OP(rtt_max_us * 10, <=, plain_us * 11);
	CHECK_OP(fq * 100, >=, plain * 95);
}

/* Closed with data to send, a connection is reset: within the RTT of a full queue, of 20
 * and 48 ms, whatever its data would have waited for.
 */
static void resets_never_wait(void)
{
	const struct linger at_once = { .l_onoff = 1 };

	for (int i = 0; i < 5; i++) {
		struct pair pair, cubic;
		struct pollfd reset = { .events = POLLRDHUP };
		uint64_t since_ns;

		own_queue("replace dev to_router root fq");
		pair = contended_beside(&cubic, 10000);
		compete(&pair, &cubic, 2000 + 130 * i, NULL);
		TRY(setsockopt(pair.tx, SOL_SOCKET, SO_LINGER, &at_once,
			       sizeof(at_once)));
		reset.fd = pair.rx;
		since_ns = now_ns();
		close(pair.tx);
		CHECK_EQ(TRY(poll(&reset, 1, 2000)), 1);
		harness_note("reset after %llu ms",
			     (unsigned long long)(now_ns() - since_ns) / NS_PER_MS);
		CHECK_OP(now_ns() - since_ns, <, 100 * NS_PER_MS);
		own_queue("del dev to_router root");
		close(pair.rx);
		close(pair.listener);
		pair_close(&cubic);
	}
}

static void check_answers(int fd, const char *what, unsigned long episodes)
{
	struct dalbe_state s = state_get(fd);

	harness_note("%s: %lu of the kernel's, %u episodes, %u answers, %llu cuts, and %llu for delay",
		     what, episodes, s.loss_episodes, s.loss_answers,
		     (unsigned long long)s.backoffs_loss,
		     (unsigned long long)s.backoffs_delay);
	CHECK_OP(s.loss_episodes, >, 0);
	CHECK_EQ(s.loss_answers, s.loss_episodes);
	CHECK_OP(s.backoffs_loss, >=, episodes);
}

/* Packets lost at random, alone on the link, where most cuts are for delay. */
static void losses_are_answered(void)
{
	static const struct {
		const char *what;
		uint32_t w_ppm;		/* 0: no goal */
		const char *effect;
	} flows[] = {
		{ "w = 0.01", 10000, "1" },
		{ "w = 1", 1000000, "1" },
		{ "net.dalbe.effect = 0", 1000000, "0" },
		{ "fixed G", 0, "1" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(flows); i++) {
		struct link lossy = link_default;
		unsigned long before;
		struct pair pair;

		harness_turn("%s", flows[i].what);
		lossy.loss_percent = 0.2;
		link_set(&lossy);
		before = kernel_episodes();
		pair = pair_open(DALBE_CC_CDG);
		sysctl_write(NS_TX, "dalbe/effect", flows[i].effect);
		if (flows[i].w_ppm)
			weight(pair.tx, flows[i].w_ppm);
		sysctl_write(NS_TX, "dalbe/effect", "1");
		flow_for(&pair, 60000);
		/* what is lost as we look may be counted by one and not by the other */
		link_set(&link_default);
		flow_for(&pair, 1000);
		CHECK_OP(state_get(pair.tx).backoffs_delay, >, 0);
		check_answers(pair.tx, flows[i].what, kernel_episodes() - before);
		pair_close(&pair);
	}
}

/* tcpi_ecn_mode, which the headers we are built with may not have. */
static bool told_by_accecn(int fd)
{
	unsigned char info[280] = {};
	socklen_t len = sizeof(info);

	TRY(getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &len));
	return (info[276] & 3) == 2;
}

static void answer_marks(const char *ecn)
{
	struct pair pair = pair_with_marks(0.5, ecn);

	weight(pair.tx, 1000000);
	flow_for(&pair, 30000);
	link_set(&link_default);
	flow_for(&pair, 1000);
	CHECK_EQ(told_by_accecn(pair.tx), !strcmp(ecn, ACCECN));
	CHECK_OP(state_get(pair.tx).backoffs_delay, >, 0);
	CHECK_EQ(sock_tcp_info(pair.tx).tcpi_total_retrans, 0);
	CHECK_OP(state_get(pair.tx).loss_episodes, >, 20);
	check_answers(pair.tx, "marks", 0);
}

static void marks_are_answered(void)
{
	answer_marks(ECN);
	if (sysctl_write_raw(NS_TX, "ipv4/tcp_ecn", ACCECN) < 0)
		harness_note("no Accurate ECN in this kernel: run.sh -p -k 7.2 has it");
	else
		answer_marks(ACCECN);
}

/* The receiver reports a mark again while nothing is under way: TCP asks for no answer. */
static void mark_without_data(void)
{
	struct pair pair = pair_with_marks(1, ECN);

	link_set(&link_default);
	weight(pair.tx, 1000000);
	transfer(&pair, 100 * KB);
	sleep_ms(1000);
	sock_forge_ack(pair.tx, true, 0);
	sleep_ms(100);
	CHECK(sock_tcp_info(pair.tx).tcpi_options & TCPI_OPT_ECN);
	CHECK_OP(sock_tcp_info(pair.tx).tcpi_last_ack_recv, <=, 100);
	CHECK_EQ(state_get(pair.tx).loss_episodes, 0);
	CHECK_EQ(state_get(pair.tx).loss_answers, 0);
}

static bool in_fast_recovery(const struct pair *pair)
{
	return sock_tcp_info(pair->tx).tcpi_ca_state == TCP_CA_Recovery;
}

static uint64_t backoffs_before;

static bool cut_for_delay_since(const struct pair *pair)
{
	return sock_tcp_info(pair->tx).tcpi_ca_state == TCP_CA_Open &&
	       state_get(pair->tx).backoffs_delay > backoffs_before;
}

/* The queue overflows, and as it is long we cut the window for delay as well. Then the receiver
 * says that the packet which was sent again had come at first (D-SACK): TCP takes the cut for that
 * loss back, and would take ours back with it.
 */
static void delay_cut_is_not_undone(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG);
	unsigned long undone = kernel_counter("TCPDSACKUndo");
	struct tcp_info info;
	uint32_t full;

	params_set(pair.tx, (struct dalbe_params) {
		.flags = DALBE_PARAM_G, .g_ns = DALBE_G_MAX_NS });
	flow_for(&pair, 4000);
	CHECK(pump(&pair, NO_END, 20000, in_fast_recovery));
	backoffs_before = state_get(pair.tx).backoffs_delay;
	full = sock_tcp_info(pair.tx).tcpi_unacked;
	params_set(pair.tx, (struct dalbe_params) {
		.flags = DALBE_PARAM_G, .g_ns = DALBE_G_MIN_NS });
	CHECK(pump(&pair, NO_END, 20000, cut_for_delay_since));
	CHECK(pump(&pair, 0, 5000, all_acked));
	info = sock_tcp_info(pair.tx);
	harness_note("window %u of %u, %u packets sent again", info.tcpi_snd_cwnd, full,
		     info.tcpi_total_retrans);
	CHECK_OP(info.tcpi_snd_cwnd * 4, <, full * 3);
	sock_forge_ack(pair.tx, false, info.tcpi_total_retrans * info.tcpi_snd_mss);
	sleep_ms(100);
	CHECK_EQ(kernel_counter("TCPDSACKUndo"), undone + 1);
	CHECK_EQ(sock_tcp_info(pair.tx).tcpi_snd_cwnd, info.tcpi_snd_cwnd);
}

/* A trial that failed in a small window leaves half of that as ssthresh; it grows again. */
static bool stands_for_more(const struct pair *pair)
{
	return contended_at_two(pair) && sock_tcp_info(pair->tx).tcpi_snd_ssthresh > 2;
}

/* A window of two that stands for one part in a hundred is not what the path holds. */
static void next_connection_is_not_told(void)
{
	struct pair pair, cubic, next;

	sysctl_write(NS_TX, "ipv4/tcp_no_metrics_save", "0");
	sysctl_write(NS_TX, "ipv4/tcp_no_ssthresh_metrics_save", "0");
	CHECK(!system("ip -n tx tcp_metrics flush all"));
	cubic = pair_open("cubic");
	pair = pair_open(DALBE_CC_CDG);
	weight(pair.tx, 10000);
	CHECK(compete(&pair, &cubic, 20000, contended));
	compete(&pair, &cubic, 2000, NULL);
	pause_beside(&pair, &cubic, stands_for_more);
	TRY(shutdown(pair.tx, SHUT_WR));
	TRY(shutdown(pair.rx, SHUT_WR));
	pump(&cubic, NO_END, 1000, NULL);
	next = pair_open("cubic");
	harness_note("the next connection's ssthresh: %u",
		     sock_tcp_info(next.tx).tcpi_snd_ssthresh);
	CHECK_OP(sock_tcp_info(next.tx).tcpi_snd_ssthresh, >, 2);
	sysctl_write(NS_TX, "ipv4/tcp_no_metrics_save", "1");
	sysctl_write(NS_TX, "ipv4/tcp_no_ssthresh_metrics_save", "1");
	CHECK(!system("ip -n tx tcp_metrics flush all"));
}

/* Packets have become too large for the path: TCP sends them again, smaller, in the state
 * of a timeout. Nobody has lost any.
 */
static void smaller_packets_are_no_loss(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG);
	char cmd[96];

	weight(pair.tx, 10000);
	flow_for(&pair, 3000);
	snprintf(cmd, sizeof(cmd), "ip -n router link set dev to_rx mtu %d", PMTU);
	CHECK(!system(cmd));
	flow_for(&pair, 2000);
	CHECK(!system("ip -n router link set dev to_rx mtu 1500"));
	CHECK(!system("ip -n tx route flush cache"));
	harness_note("MSS %u, %u packets sent again, %u episodes",
		     sock_tcp_info(pair.tx).tcpi_snd_mss,
		     sock_tcp_info(pair.tx).tcpi_total_retrans,
		     state_get(pair.tx).loss_episodes);
	CHECK_OP(sock_tcp_info(pair.tx).tcpi_snd_mss, <, PMTU);
	CHECK_OP(sock_tcp_info(pair.tx).tcpi_total_retrans, >, 0);
	CHECK_EQ(state_get(pair.tx).loss_episodes, 0);
}

static uint32_t rtt_least_us;

static bool rtt_is_seen(const struct pair *pair)
{
	struct tcp_info info = sock_tcp_info(pair->tx);

	if (info.tcpi_rtt < rtt_least_us)
		rtt_least_us = info.tcpi_rtt;
	if (info.tcpi_min_rtt < rtt_least_us)
		rtt_least_us = info.tcpi_min_rtt;
	return false;
}

/* fq goes from the interface while it holds the pace. */
static void fq_goes(void)
{
	struct pair pair;

	own_queue("replace dev to_router root fq");
	pair = pair_open(DALBE_CC_CDG);
	weight(pair.tx, 1000000);
	flow_for(&pair, 2000);
	own_queue("replace dev to_router root pfifo limit 1000");
	rtt_least_us = UINT32_MAX;
	pump(&pair, NO_END, 10000, rtt_is_seen);
	own_queue("del dev to_router root");
	harness_note("lowest RTT seen: %u us", rtt_least_us);
	CHECK_OP(rtt_least_us, >=, link_default.rtt_ms * MS_IN_US * 9 / 10);
}

/* setsockopt(SO_MAX_PACING_RATE) asks for pacing once, without the socket's lock, and fq takes
 * that over. A status that we or fq write later must not end the limit.
 */
static void limit_outlives_fq(void)
{
	const unsigned int limit_Bps = 125000, seconds = 10;
	struct pair pair, cubic;
	uint64_t before;

	own_queue("replace dev to_router root fq");
	pair = contended_beside(&cubic, 1000000);
	TRY(setsockopt(pair.tx, SOL_SOCKET, SO_MAX_PACING_RATE, &limit_Bps,
		       sizeof(limit_Bps)));
	compete(&pair, &cubic, 2000, NULL);
	own_queue("replace dev to_router root pfifo limit 1000");
	compete(&pair, &cubic, 1000, NULL);
	before = pair.received;
	compete(&pair, &cubic, seconds * MS_PER_S, NULL);
	CHECK_OP(pair.received - before, <=, limit_Bps * seconds * 21 / 20);
	CHECK_OP(pair.received - before, >=, limit_Bps * seconds / 2);
	CHECK(compete(&pair, &cubic, 10000, contended));
	own_queue("del dev to_router root");
	pair_close(&pair);
	pair_close(&cubic);
}

/* How often fq has held a packet back. */
static unsigned long fq_holds_back(void)
{
	FILE *tc = popen("tc -n tx -s qdisc show dev to_router", "r");
	unsigned long count = 0;
	bool found = false;
	char line[256];

	CHECK(tc);
	while (fgets(line, sizeof(line), tc)) {
		const char *word = strstr(line, "throttled ");

		found |= word && sscanf(word, "throttled %lu", &count) == 1;
	}
	CHECK_EQ(pclose(tc), 0);
	CHECK(found);
	return count;
}

/* A host's fq paces us where we need no timer of our own: under a goal beside others, and as plain
 * CDG when the goal has gone.
 */
static void fq_paces(void)
{
	struct pair pair, cubic;
	unsigned long before, times = 0;

	own_queue("replace dev to_router root fq");
	pair = contended_beside(&cubic, 1000000);
	compete(&pair, &cubic, 3000, NULL);
	for (int turn = 0; turn < TURNS && times < 5; turn++) {
		CHECK(compete(&pair, &cubic, 10000, contended));
		pair_close(&cubic);
		before = fq_holds_back();
		flow_for(&pair, 300);
		times = contended(&pair) ? fq_holds_back() - before : 0;
		harness_note("contended: %lu times in 0.3 s", times);
		cubic = pair_open("cubic");
	}
	pair_close(&cubic);
	CHECK_OP(times, >=, 5);
	params_set(pair.tx, (struct dalbe_params) {
		.flags = DALBE_PARAM_CONTROLLER, .controller = DALBE_CONTROLLER_FIXED });
	goal_clear(pair.tx);
	flow_for(&pair, 1000);
	before = fq_holds_back();
	times = 0;
	for (int turn = 0; turn < TURNS && !times; turn++) {	/* small windows wait for nothing */
		flow_for(&pair, 1000);
		times = fq_holds_back() - before;
	}
	harness_note("without a goal: %lu times", times);
	CHECK_OP(times, >=, 1);
	own_queue("del dev to_router root");
	pair_close(&pair);
}

/* Reading needs a descriptor, changing one that may be written to. */
static void reader_changes_nothing(void)
{
	struct pair pair = pair_open(DALBE_CC_CDG);
	struct dalbe_goal goal = {
		.fd = pair.tx, .flags = DALBE_GOAL_RELATIVE, .bytes = 1000 * KB,
		.deadline_ns = NS_PER_S,
	};
	struct dalbe_params params = {
		.fd = pair.tx, .flags = DALBE_PARAM_TW, .tw_ms = 1000,
	};
	struct dalbe_clear clear = { .fd = pair.tx };
	struct dalbe_state state = { .fd = pair.tx };
	int dev = TRY(open(DALBE_DEVICE, O_RDONLY | O_CLOEXEC));

	CHECK_ERRNO(ioctl(dev, DALBE_IOC_SET_GOAL, &goal), EACCES);
	CHECK_ERRNO(ioctl(dev, DALBE_IOC_SET_PARAMS, &params), EACCES);
	CHECK_ERRNO(ioctl(dev, DALBE_IOC_CLEAR_GOAL, &clear), EACCES);
	TRY(ioctl(dev, DALBE_IOC_GET_STATE, &state));
	CHECK_EQ(state.goal_bytes, 0);
	CHECK_OP(state.tw_ms, !=, 1000);
}

static unsigned long kernel_memory(const char *cgroup)
{
	unsigned long bytes = 0;
	char path[96], line[96];
	FILE *file;

	snprintf(path, sizeof(path), "%s/memory.stat", cgroup);
	file = fopen(path, "r");
	CHECK(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "slab_unreclaimable %lu", &bytes) == 1)
			break;
	fclose(file);
	return bytes;
}

/* Memory that a hundred connections of a congestion control hold, of the caller's cgroup. */
static unsigned long memory_of(const char *cgroup, const char *cc)
{
	static struct pair pairs[100];
	unsigned long before = kernel_memory(cgroup), after;

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		pairs[i] = pair_open(cc);
		transfer(&pairs[i], 3 * KB);
	}
	after = kernel_memory(cgroup);
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
		pair_close(&pairs[i]);
	return after - before;
}

static void measure_memory(const void *cgroup)
{
	char cmd[96];
	unsigned long ours, theirs;

	snprintf(cmd, sizeof(cmd), "echo %d >%s/cgroup.procs", getpid(),
		 (const char *)cgroup);
	CHECK(!system(cmd));
	memory_of(cgroup, "cubic");		/* whatever is held once for all */
	theirs = memory_of(cgroup, "cubic");
	ours = memory_of(cgroup, DALBE_CC_CDG);
	harness_note("100 connections hold %lu bytes, CUBIC's %lu", ours, theirs);
	CHECK_OP(ours, >=, theirs + 100 * 512);
}

/* A container's connections are paid for from its own memory. */
static void memory_is_the_cgroups(void)
{
	static const char cgroup[] = "/sys/fs/cgroup/dalbe";

	if (system("mountpoint -q /sys/fs/cgroup || mount -t cgroup2 none /sys/fs/cgroup") ||
	    system("echo +memory >/sys/fs/cgroup/cgroup.subtree_control 2>/dev/null"))
		harness_skip("no memory cgroups in this kernel");
	CHECK(!system("mkdir -p /sys/fs/cgroup/dalbe"));
	harness_in_child(measure_memory, cgroup);
}

static int bpf(int cmd, union bpf_attr *attr)
{
	return syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

/* A program of the test's cgroup that allows setsockopt() if @allow is 1. */
static int setsockopt_program(int allow)
{
	const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0,
		  .imm = allow },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_CGROUP_SOCKOPT,
		.expected_attach_type = BPF_CGROUP_SETSOCKOPT,
		.insns = (uintptr_t)code, .insn_cnt = ARRAY_SIZE(code),
		.license = (uintptr_t)"GPL",
	};

	return bpf(BPF_PROG_LOAD, &attr);
}

/* A filter that forbids setsockopt() on a socket forbids a goal, by the same word. */
static void setsockopt_is_asked(void)
{
	static const char cgroup[] = "/sys/fs/cgroup";
	struct dalbe_state state;
	union bpf_attr attr = { .attach_type = BPF_CGROUP_SETSOCKOPT };
	struct pair pair;
	int prog = setsockopt_program(0), err;

	if (prog < 0)
		harness_skip("no BPF in this kernel");
	CHECK(!system("mountpoint -q /sys/fs/cgroup || mount -t cgroup2 none /sys/fs/cgroup"));
	pair = pair_open(DALBE_CC_CDG);
	attr.target_fd = TRY(open(cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	attr.attach_bpf_fd = prog;
	TRY(bpf(BPF_PROG_ATTACH, &attr));
	err = goal_set_raw(pair.tx, 1000 * KB, NS_PER_S, DALBE_GOAL_RELATIVE) ?
	      errno : 0;
	state = state_get(pair.tx);
	TRY(bpf(BPF_PROG_DETACH, &attr));
	close(attr.target_fd);
	close(prog);
	CHECK_EQ(err, EPERM);
	CHECK_EQ(state.goal_bytes, 0);
	goal_set(pair.tx, 1000 * KB, 1000);
	CHECK_EQ(state_get(pair.tx).goal_bytes, 1000 * KB);
}

/* Where a route has locked the choice, TCP refuses to hear of another, and of the same. */
static void locked_route_takes_goals(void)
{
	struct pair pair;

	CHECK(!system("ip -n tx route add 10.0.2.1 via 10.0.1.254 congctl lock dalbe_cdg"));
	pair = pair_open(NULL);
	CHECK(!strcmp(sock_cc(pair.tx), DALBE_CC_CDG));
	goal_set(pair.tx, 100 * KB, 10000);
	transfer(&pair, 100 * KB);
	CHECK_EQ(state_get(pair.tx).status, DALBE_STATUS_DONE);
	goal_clear(pair.tx);
	CHECK(!system("ip -n tx route del 10.0.2.1 via 10.0.1.254"));
}

const struct test tests_promises[] = {
	{ "promise: ACKs do not wait for data that does, with fq either",
	  acks_never_wait },
	{ "promise: nor do resets", resets_never_wait },
	{ "promise: each loss is answered, whatever is cut for delay",
	  losses_are_answered },
	{ "promise: each mark likewise", marks_are_answered },
	{ "promise: a mark while nothing is under way asks for no answer", mark_without_data },
	{ "promise: a cut for delay stays, where that for a loss is taken back",
	  delay_cut_is_not_undone },
	{ "promise: the host's next connection begins as it would have",
	  next_connection_is_not_told },
	{ "promise: packets that are too large for the path are not lost",
	  smaller_packets_are_no_loss },
	{ "promise: RTTs are the path's when fq goes", fq_goes },
	{ "promise: a user's limit outlives fq", limit_outlives_fq },
	{ "promise: fq paces us as it paces others", fq_paces },
	{ "promise: the device open for reading changes nothing",
	  reader_changes_nothing },
	{ "promise: memory is the socket's cgroup's", memory_is_the_cgroups },
	{ "promise: who may forbid setsockopt() may forbid a goal",
	  setsockopt_is_asked },
	{ "a goal where a route has locked the congestion control",
	  locked_route_takes_goals },
	{}
};
