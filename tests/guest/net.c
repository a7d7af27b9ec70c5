// SPDX-License-Identifier: GPL-2.0-only
/* Namespaces, link, sockets and traffic of the tests; see net.h. */
#include "net.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

#define RX_IPV4		"10.0.2.1"
#define RX_IPV6		"fd00:2::1"
#define RX_MAPPED	"::ffff:10.0.2.1"
#define FIRST_USER	20000

const char *const family_name[FAMILIES] = {
	[IPV4] = "IPv4", [IPV6] = "IPv6", [IPV4_MAPPED] = "IPv4 in IPv6",
};

const struct link link_default = {
	.rate_kbit = 10000, .rtt_ms = 20, .queue_packets = 40,
};

/* Reshape the link, if it has another shape. Each test begins with link_default. */
void link_set(const struct link *link)
{
	static struct link now;
	char cmd[256];

	if (!memcmp(link, &now, sizeof(now)))
		return;
	snprintf(cmd, sizeof(cmd),
		 "tc -n router qdisc replace dev to_rx root netem rate %ukbit limit %u delay %ums loss %g%% %s",
		 link->rate_kbit, link->queue_packets, link->longer_ms, link->loss_percent,
		 link->ecn ? "ecn" : "");
	CHECK_EQ(system(cmd), 0);
	snprintf(cmd, sizeof(cmd),
		 "tc -n router qdisc replace dev to_tx root netem delay %ums limit 100000",
		 link->rtt_ms);
	CHECK_EQ(system(cmd), 0);
	now = *link;
}

/* Work in the network namespace /run/netns/NAME from now on. */
void ns_enter(const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", name);
	fd = TRY(open(path, O_RDONLY | O_CLOEXEC));
	TRY(setns(fd, CLONE_NEWNET));
	close(fd);
}

/* Whose sockets those are that come. */
static uid_t user = FIRST_USER;

/* Connections of a user to one destination share what they know of the path: those from here on
 * know nothing yet. Each test begins so.
 */
void another_user(void)
{
	user++;
}

/* A socket in a namespace. */
int sock_open(const char *ns, enum family family, int type)
{
	int fd;

	ns_enter(ns);
	setfsuid(user);
	fd = socket(family == IPV4 ? AF_INET : AF_INET6, type | SOCK_CLOEXEC, 0);
	setfsuid(geteuid());
	return TRY(fd);
}

static socklen_t rx_address(enum family family, in_port_t port,
			    struct sockaddr_storage *addr)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)addr;
	struct sockaddr_in *in = (struct sockaddr_in *)addr;

	memset(addr, 0, sizeof(*addr));
	if (family == IPV4) {
		in->sin_family = AF_INET;
		in->sin_port = port;
		CHECK_EQ(inet_pton(AF_INET, RX_IPV4, &in->sin_addr), 1);
		return sizeof(*in);
	}
	in6->sin6_family = AF_INET6;
	in6->sin6_port = port;
	CHECK_EQ(inet_pton(AF_INET6, family == IPV6 ? RX_IPV6 : RX_MAPPED,
			   &in6->sin6_addr), 1);
	return sizeof(*in6);
}

static in_port_t local_port(int fd)
{
	struct sockaddr_storage addr;
	socklen_t len = sizeof(addr);

	TRY(getsockname(fd, (struct sockaddr *)&addr, &len));
	/* sin_port and sin6_port are the same bytes */
	return ((struct sockaddr_in *)&addr)->sin_port;
}

/* A listener in rx on a port of its own; @cc: congestion control, or NULL. */
int sock_listen(enum family family, const char *cc)
{
	int fd = sock_open(NS_RX, family, SOCK_STREAM);
	struct sockaddr_storage addr;
	socklen_t len;

	if (cc)
		TRY(setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cc,
			       strlen(cc)));
	len = rx_address(family, 0, &addr);
	TRY(bind(fd, (struct sockaddr *)&addr, len));
	TRY(listen(fd, 1024));
	return fd;
}

void sock_connect(int fd, int listener, enum family family)
{
	struct sockaddr_storage addr;
	socklen_t len = rx_address(family, local_port(listener), &addr);

	TRY(connect(fd, (struct sockaddr *)&addr, len));
}

/* As sock_connect(), but return in SYN-SENT; @fd becomes non-blocking. */
void sock_connect_start(int fd, int listener, enum family family)
{
	struct sockaddr_storage addr;
	socklen_t len = rx_address(family, local_port(listener), &addr);

	TRY(fcntl(fd, F_SETFL, O_NONBLOCK));
	CHECK_ERRNO(connect(fd, (struct sockaddr *)&addr, len), EINPROGRESS);
}

/* In SYN-SENT, but without a SYN before something is sent. */
void sock_connect_deferred(int fd, int listener, enum family family)
{
	struct sockaddr_storage addr;
	socklen_t len = rx_address(family, local_port(listener), &addr);
	int on = 1;

	TRY(setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &on, sizeof(on)));
	TRY(setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_NO_COOKIE, &on, sizeof(on)));
	TRY(fcntl(fd, F_SETFL, O_NONBLOCK));
	TRY(connect(fd, (struct sockaddr *)&addr, len));
}

int sock_accept(int listener)
{
	int fd;

	setfsuid(user);
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	setfsuid(geteuid());
	return TRY(fd);
}

/* A receiver holds back its ACKs while data waits to be read: until pump() comes by,
 * up to PUMP_TURN_MS later. To the sender that is a queue, and no cut drains it. With
 * as much as this allowed to wait, it acknowledges at once.
 */
void sock_ack_at_once(int fd, bool on)
{
	int bytes = on ? 1 << 20 : 1;

	TRY(setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof(bytes)));
}

/* The next number that @fd sends (TCP_SEND_QUEUE), or expects (TCP_RECV_QUEUE). */
static uint32_t next_seq(int fd, int queue)
{
	const int on = TCP_REPAIR_ON, off = TCP_REPAIR_OFF_NO_WP;
	socklen_t len = sizeof(uint32_t);
	uint32_t seq;

	TRY(setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &on, sizeof(on)));
	TRY(setsockopt(fd, IPPROTO_TCP, TCP_REPAIR_QUEUE, &queue, sizeof(queue)));
	TRY(getsockopt(fd, IPPROTO_TCP, TCP_QUEUE_SEQ, &seq, &len));
	TRY(setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &off, sizeof(off)));
	return seq;
}

static uint16_t internet_checksum(const void *bytes, size_t len)
{
	const uint16_t *word = bytes;
	uint32_t sum = 0;

	for (size_t i = 0; i < len / 2; i++)
		sum += word[i];
	sum = (sum & 0xffff) + (sum >> 16);
	return ~((sum & 0xffff) + (sum >> 16));
}

/* The peer of @fd, over IPv4, acknowledges once more all that @fd has ever sent. @ece: it has
 * seen a mark. @dsack_bytes: it has had so many of the last ones twice (D-SACK); 0: none.
 */
void sock_forge_ack(int fd, bool ece, unsigned int dsack_bytes)
{
	const uint32_t una = next_seq(fd, TCP_SEND_QUEUE);
	struct sockaddr_in to, from;
	socklen_t len = sizeof(to);
	struct {
		uint32_t from, to;	/* the pseudo header */
		uint16_t protocol, len;
		struct tcphdr tcp;
		uint8_t nop_nop_sack[4];
		uint32_t left, right;
	} segment = { .nop_nop_sack = { 1, 1, 5, 10 } };
	int raw;

	TRY(getsockname(fd, (struct sockaddr *)&to, &len));
	TRY(getpeername(fd, (struct sockaddr *)&from, &len));
	segment.tcp = (struct tcphdr) {
		.source = from.sin_port, .dest = to.sin_port,
		.seq = htonl(next_seq(fd, TCP_RECV_QUEUE)), .ack_seq = htonl(una),
		.doff = dsack_bytes ? 8 : 5, .ack = 1, .ece = ece, .window = htons(0xffff),
	};
	segment.left = htonl(una - dsack_bytes);
	segment.right = htonl(una);
	segment.from = from.sin_addr.s_addr;
	segment.to = to.sin_addr.s_addr;
	segment.protocol = htons(IPPROTO_TCP);
	segment.len = htons(segment.tcp.doff * 4);
	segment.tcp.check = internet_checksum(&segment, offsetof(typeof(segment), tcp) +
					      segment.tcp.doff * 4);
	ns_enter(NS_RX);
	raw = TRY(socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_TCP));
	to.sin_port = 0;
	TRY(sendto(raw, &segment.tcp, segment.tcp.doff * 4, 0, (struct sockaddr *)&to, len));
	close(raw);
}

/* Connect the socket @tx to a new listener. */
struct pair pair_around(int tx, enum family family)
{
	struct pair pair = {
		.tx = tx, .listener = sock_listen(family, NULL),
	};

	sock_connect(tx, pair.listener, family);
	pair.rx = sock_accept(pair.listener);
	sock_ack_at_once(pair.rx, true);
	return pair;
}

/* An IPv4 connection; @cc: congestion control of the sender, or NULL. */
struct pair pair_open(const char *cc)
{
	int tx = sock_open(NS_TX, IPV4, SOCK_STREAM);

	if (cc)
		TRY(setsockopt(tx, IPPROTO_TCP, TCP_CONGESTION, cc,
			       strlen(cc)));
	return pair_around(tx, IPV4);
}

void pair_close(struct pair *pair)
{
	close(pair->tx);
	close(pair->rx);
	close(pair->listener);
}

/* Is everything that was sent acknowledged? */
bool all_acked(const struct pair *pair)
{
	int queued;

	TRY(ioctl(pair->tx, SIOCOUTQ, &queued));
	return !queued;
}

static uint64_t push(int fd, uint64_t bytes)
{
	static const char payload[65536];
	uint64_t sent = 0;

	while (sent < bytes) {
		size_t part = bytes - sent < sizeof(payload) ?
			      bytes - sent : sizeof(payload);
		ssize_t n = send(fd, payload, part,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EAGAIN)
			break;
		sent += TRY(n);
	}
	return sent;
}

static uint64_t drain(int fd)
{
	uint64_t received = 0;

	for (;;) {
		/* MSG_TRUNC: count, do not copy */
		ssize_t n = recv(fd, NULL, 1 << 20, MSG_DONTWAIT | MSG_TRUNC);

		if (!n || (n < 0 && errno == EAGAIN))
			return received;
		received += TRY(n);
	}
}

/* Send and receive as much as is possible now, @bytes at most; how much was sent. */
static uint64_t pump_turn(struct pair *pair, uint64_t bytes)
{
	uint64_t sent = push(pair->tx, bytes);

	pair->sent += sent;
	pair->received += drain(pair->rx);
	return sent;
}

/**
 * pump - send on one end, receive on the other
 * @pair: the connection
 * @bytes: how much to send; NO_END: without end
 * @timeout_ms: for how long
 * @done: stop when this is true, looked at every PUMP_TURN_MS; NULL: never
 *
 * Return: whether @done() was true in time.
 */
bool pump(struct pair *pair, uint64_t bytes, unsigned int timeout_ms,
	  bool (*done)(const struct pair *pair))
{
	uint64_t end_ns = now_ns() + timeout_ms * NS_PER_MS;
	uint64_t left = bytes;

	for (;;) {
		left -= pump_turn(pair, left);
		if (done && (bytes == NO_END || !left) && done(pair))
			return true;
		if (now_ns() >= end_ns)
			return false;
		sleep_ms(PUMP_TURN_MS);
	}
}

/* Send @bytes and wait until they are acknowledged, at least at 100 kbit/s. */
void transfer(struct pair *pair, uint64_t bytes)
{
	unsigned int timeout_ms = 10 * MS_PER_S + bytes * 8 / 100;

	if (!pump(pair, bytes, timeout_ms, all_acked))
		FAIL("%llu bytes took longer than %u ms",
		     (unsigned long long)bytes, timeout_ms);
	CHECK_EQ(pair->received, pair->sent);
}

/* Send for some time, whatever gets through. */
void flow_for(struct pair *pair, unsigned int ms)
{
	uint64_t before = pair->received;

	pump(pair, NO_END, ms, NULL);
	CHECK_OP(pair->received, >, before);
}

/**
 * compete - send on two connections at once, without end
 * @pair: one
 * @other: the other
 * @timeout_ms: for how long
 * @done: stop when this is true of @pair, as with pump()
 *
 * Return: whether @done() was true in time.
 */
bool compete(struct pair *pair, struct pair *other, unsigned int timeout_ms,
	     bool (*done)(const struct pair *pair))
{
	uint64_t end_ns = now_ns() + timeout_ms * NS_PER_MS;

	for (;;) {
		pump_turn(pair, NO_END);
		pump_turn(other, NO_END);
		if (done && done(pair))
			return true;
		if (now_ns() >= end_ns)
			return false;
		sleep_ms(PUMP_TURN_MS);
	}
}

struct tcp_info sock_tcp_info(int fd)
{
	struct tcp_info info = {};
	socklen_t len = sizeof(info);

	TRY(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len));
	CHECK_OP(len, >=, (socklen_t)offsetof(struct tcp_info, tcpi_bytes_received));
	return info;
}

/* Name of the congestion control; valid until the next call. */
const char *sock_cc(int fd)
{
	static char name[16];
	socklen_t len = sizeof(name);

	memset(name, 0, sizeof(name));
	TRY(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &len));
	return name;
}

/* CLOCK_BOOTTIME */
uint64_t now_ns(void)
{
	struct timespec ts;

	TRY(clock_gettime(CLOCK_BOOTTIME, &ts));
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

void sleep_ms(unsigned int ms)
{
	struct timespec ts = {
		.tv_sec = ms / MS_PER_S,
		.tv_nsec = (ms % MS_PER_S) * NS_PER_MS,
	};

	TRY(nanosleep(&ts, NULL));
}
