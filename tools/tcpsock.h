/* SPDX-License-Identifier: GPL-2.0-only */
/* State that a TCP socket tells of itself, and what the kernel lets anyone set. */
#ifndef DALBE_TCPSOCK_H
#define DALBE_TCPSOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define TCPSOCK_NAME_LEN	64	/* "[IPv6]:port" */

struct tcpsock {
	uint64_t cookie;	/* unique until reboot, unlike an inode */
	int state;		/* TCP_ESTABLISHED, ... of <netinet/tcp.h> */
	bool has_peer;		/* connected, or nearly: the rest is valid */
	bool loopback;
	uint16_t port;		/* of the peer */
	bool shares_port;	/* listens with SO_REUSEPORT */
	char peer[TCPSOCK_NAME_LEN];
	struct sockaddr_storage own;	/* if it listens */
};

/*
 * Describe fd. Returns 0, or -1 with errno: EPROTONOSUPPORT when it is Multipath TCP (whether it
 * listens and the peer are then valid),
 * EOPNOTSUPP when it is anything else but a TCP socket over IPv4 or IPv6.
 */
int tcpsock_describe(int fd, struct tcpsock *sock);

/* SO_COOKIE of fd; 0, which no socket has, when it has none. */
uint64_t tcpsock_cookie(int fd);

/* Two listeners, other than one and the same, among which connections to one port are divided. */
bool tcpsock_share_port(const struct tcpsock *a, const struct tcpsock *b);

/* Whether fd is in another network namespace than we are; false where the kernel does not tell. */
bool tcpsock_in_other_namespace(int fd);

/* Bytes in the send queue that are not acknowledged yet; 0 when unknown. */
uint64_t tcpsock_queued(int fd);

/* Mark its packets so, unless they are; the ECN bits stay. Returns 0, or -1 with errno. */
int tcpsock_set_dscp(int fd, int dscp);

/* Send no faster, in bytes/s. Returns 0, or -1 with errno. */
int tcpsock_set_max_rate(int fd, uint64_t rate_Bps);

#endif
