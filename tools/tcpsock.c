// SPDX-License-Identifier: GPL-2.0-only
/* State that a TCP socket tells of itself, and what the kernel lets anyone set. */
#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tcpsock.h"

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE	71
#endif
#ifndef SO_COOKIE
#define SO_COOKIE	57
#endif

uint64_t tcpsock_cookie(int fd)
{
	uint64_t cookie = 0;
	socklen_t len = sizeof(cookie);

	return getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &len) ? 0 : cookie;
}

static uint64_t namespace_of(int fd)
{
	uint64_t cookie = 0;
	socklen_t len = sizeof(cookie);

	return getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &len) ? 0 : cookie;
}

bool tcpsock_in_other_namespace(int fd)
{
	static uint64_t ours;

	if (!ours) {
		int own = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		ours = namespace_of(own);
		close(own);
	}
	return namespace_of(fd) != ours;
}

uint64_t tcpsock_queued(int fd)
{
	int queued;

	return ioctl(fd, SIOCOUTQ, &queued) || queued < 0 ?
	       0 : (uint64_t)queued;
}

static int set_class(int fd, int level, int name, int dscp)
{
	socklen_t len = sizeof(int);
	int class;

	if (getsockopt(fd, level, name, &class, &len))
		return -1;
	if (class >> 2 == dscp)
		return 0;
	class = dscp << 2 | (class & 3);
	return setsockopt(fd, level, name, &class, sizeof(class));
}

int tcpsock_set_dscp(int fd, int dscp)
{
	socklen_t len = sizeof(int);
	int domain;

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len))
		return -1;
	/* An IPv6 socket may have an IPv4 peer. */
	if (domain == AF_INET6 && set_class(fd, IPPROTO_IPV6, IPV6_TCLASS, dscp))
		return -1;
	return set_class(fd, IPPROTO_IP, IP_TOS, dscp);
}

int tcpsock_set_max_rate(int fd, uint64_t rate_Bps)
{
	unsigned long rate = rate_Bps < ULONG_MAX ? (unsigned long)rate_Bps : ULONG_MAX - 1;

	return setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof(rate));
}

/*
 * An IPv4 peer of an IPv6 socket is shown, and judged, as IPv4. A peer with our
 * own address is this machine, as one at a loopback address is.
 */
static void describe_peer(int fd, struct tcpsock *sock)
{
	struct sockaddr_storage addr, own = { 0 };
	socklen_t len = sizeof(addr), own_len = sizeof(own);
	const struct sockaddr_in *own4 = (const void *)&own;
	const struct sockaddr_in6 *own6 = (const void *)&own;
	const struct sockaddr_in *v4 = (const void *)&addr;
	const struct sockaddr_in6 *v6 = (const void *)&addr;
	const uint8_t *ipv4 = (const uint8_t *)&v4->sin_addr;
	const uint8_t *own_ipv4 = (const uint8_t *)&own4->sin_addr;
	char host[INET6_ADDRSTRLEN];

	/* ENOTCONN before the handshake is complete. */
	if (getpeername(fd, (struct sockaddr *)&addr, &len))
		return;
	getsockname(fd, (struct sockaddr *)&own, &own_len);
	sock->has_peer = true;
	/* sin_port and sin6_port lie at the same place. */
	sock->port = ntohs(v4->sin_port);
	if (addr.ss_family == AF_INET6) {
		if (!IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
			sock->loopback = IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr) ||
					 IN6_ARE_ADDR_EQUAL(&v6->sin6_addr, &own6->sin6_addr);
			inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof(host));
			snprintf(sock->peer, sizeof(sock->peer), "[%s]:%u",
				 host, sock->port);
			return;
		}
		ipv4 = &v6->sin6_addr.s6_addr[12];
		own_ipv4 = &own6->sin6_addr.s6_addr[12];
	}
	sock->loopback = ipv4[0] == IN_LOOPBACKNET || !memcmp(ipv4, own_ipv4, 4);
	inet_ntop(AF_INET, ipv4, host, sizeof(host));
	snprintf(sock->peer, sizeof(sock->peer), "%s:%u", host, sock->port);
}

static void describe_listener(int fd, struct tcpsock *sock)
{
	socklen_t len = sizeof(sock->own);
	int shares = 0;

	getsockname(fd, (struct sockaddr *)&sock->own, &len);
	len = sizeof(shares);
	getsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &shares, &len);
	sock->shares_port = shares;
}

bool tcpsock_share_port(const struct tcpsock *a, const struct tcpsock *b)
{
	return a->shares_port && b->shares_port && a->cookie != b->cookie &&
	       !memcmp(&a->own, &b->own, sizeof(a->own));
}

int tcpsock_describe(int fd, struct tcpsock *sock)
{
	int domain, protocol;
	struct tcp_info info;
	socklen_t len = sizeof(int);

	memset(sock, 0, sizeof(*sock));
	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len))
		return -1;
	len = sizeof(int);
	if (getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len))
		return -1;
	if (protocol == IPPROTO_MPTCP) {
		int listens = 0;

		getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len);
		if (listens)
			sock->state = TCP_LISTEN;
		else
			describe_peer(fd, sock);
		errno = EPROTONOSUPPORT;
		return -1;
	}
	if ((domain != AF_INET && domain != AF_INET6) ||
	    protocol != IPPROTO_TCP) {
		errno = EOPNOTSUPP;
		return -1;
	}
	len = sizeof(info);
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		return -1;
	sock->state = info.tcpi_state;
	sock->cookie = tcpsock_cookie(fd);
	if (sock->state == TCP_LISTEN)
		describe_listener(fd, sock);
	else
		describe_peer(fd, sock);
	return 0;
}
