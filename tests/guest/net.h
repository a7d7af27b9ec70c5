/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The network of the tests: three namespaces in a row, made by guest.sh.
 *
 *	tx ----------------- router ----------------- rx
 *	10.0.1.1       netem: RTT  netem: rate,       10.0.2.1
 *	fd00:1::1       (for ACKs) queue, loss        fd00:2::1
 *
 * The router, not the sender, shapes: see the note on TSQ in ../../testbed.
 */
#ifndef NET_H
#define NET_H

#include <stdbool.h>
#include <stdint.h>
#include <linux/tcp.h>
#include <sys/socket.h>

#define NS_TX		"tx"
#define NS_RX		"rx"

#define NS_PER_MS	1000000ull
#define NS_PER_S	1000000000ull
#define MS_PER_S	1000
#define TCP_SYN_SENT	2		/* tcpi_state; not in the UAPI's tcp.h */
#define NO_END		UINT64_MAX	/* pump(): send for ever */

/* Between two looks of pump() at its sockets. A wake-up of a guest process is
 * dear, and the default link moves 12.5 KB in this time.
 */
#define PUMP_TURN_MS	10

/* The router's treatment of packets from tx to rx, and the RTT. */
struct link {
	unsigned int rate_kbit;
	unsigned int rtt_ms;		/* on the way of the ACKs, */
	unsigned int longer_ms;		/* and of the data */
	unsigned int queue_packets;
	double loss_percent;
	bool ecn;		/* marked instead of lost */
};

extern const struct link link_default;	/* 10 Mbit/s, 20 ms, no loss */

void link_set(const struct link *link);

enum family { IPV4, IPV6, IPV4_MAPPED, FAMILIES };

extern const char *const family_name[FAMILIES];

/* A connection from tx to rx, and the listener it was made with. */
struct pair {
	int tx;
	int rx;
	int listener;
	uint64_t sent;		/* by pump() */
	uint64_t received;
};

void ns_enter(const char *name);
void another_user(void);
int sock_open(const char *ns, enum family family, int type);
int sock_listen(enum family family, const char *cc);
void sock_connect(int fd, int listener, enum family family);
void sock_connect_start(int fd, int listener, enum family family);
void sock_connect_deferred(int fd, int listener, enum family family);
int sock_accept(int listener);
void sock_ack_at_once(int fd, bool on);
void sock_forge_ack(int fd, bool ece, unsigned int dsack_bytes);
struct pair pair_around(int tx, enum family family);
struct pair pair_open(const char *cc);
void pair_close(struct pair *pair);

bool pump(struct pair *pair, uint64_t bytes, unsigned int timeout_ms,
	  bool (*done)(const struct pair *pair));
void transfer(struct pair *pair, uint64_t bytes);
bool all_acked(const struct pair *pair);
void flow_for(struct pair *pair, unsigned int ms);
bool compete(struct pair *pair, struct pair *other, unsigned int timeout_ms,
	     bool (*done)(const struct pair *pair));

struct tcp_info sock_tcp_info(int fd);
const char *sock_cc(int fd);
uint64_t now_ns(void);
void sleep_ms(unsigned int ms);

#endif /* NET_H */
