// SPDX-License-Identifier: GPL-2.0-only
/* How much payload a TCP socket got acknowledged, in life and after. */
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tally.h"

/*
 * tcpi_bytes_acked counts the SYN (of the side that connects) and the FIN as
 * a byte each. No payload was acknowledged that was not sent, so the bytes
 * sent, each counted once, take both off again; while data is in flight the
 * result may be one byte too large.
 */
static uint64_t payload_acked(const struct tcp_info *info)
{
	uint64_t sent = info->tcpi_bytes_sent - info->tcpi_bytes_retrans;

	return info->tcpi_bytes_acked < sent ? info->tcpi_bytes_acked : sent;
}

int64_t tally_read(int fd)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		return -1;
	return (int64_t)payload_acked(&info);
}

int tally_open(void)
{
	struct sockaddr_nl addr = {
		.nl_family = AF_NETLINK,
		.nl_groups = 1u << (SKNLGRP_INET_TCP_DESTROY - 1) |
			     1u << (SKNLGRP_INET6_TCP_DESTROY - 1),
	};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
			NETLINK_SOCK_DIAG);

	if (fd < 0)
		return -1;
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr))) {
		int err = errno;

		close(fd);
		errno = err;
		return -1;
	}
	return fd;
}

static void parse(struct nlmsghdr *nlh,
		  void (*fn)(uint64_t cookie, uint64_t acked_bytes, void *arg),
		  void *arg)
{
	struct inet_diag_msg *msg = NLMSG_DATA(nlh);
	struct rtattr *rta;
	uint64_t cookie;
	int len;

	if (nlh->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
	    nlh->nlmsg_len < NLMSG_LENGTH(sizeof(*msg)))
		return;
	cookie = msg->id.idiag_cookie[0] |
		 (uint64_t)msg->id.idiag_cookie[1] << 32;
	len = (int)NLMSG_PAYLOAD(nlh, sizeof(*msg));
	for (rta = (struct rtattr *)(msg + 1); RTA_OK(rta, len);
	     rta = RTA_NEXT(rta, len)) {
		struct tcp_info info = { 0 };
		size_t size = RTA_PAYLOAD(rta);

		if (rta->rta_type != INET_DIAG_INFO)
			continue;
		/* Kernel and header may know different numbers of fields. */
		memcpy(&info, RTA_DATA(rta),
		       size < sizeof(info) ? size : sizeof(info));
		fn(cookie, payload_acked(&info), arg);
	}
}

void tally_collect(int fd,
		   void (*fn)(uint64_t cookie, uint64_t acked_bytes, void *arg),
		   void *arg)
{
	char buf[16384] __attribute__((aligned(NLMSG_ALIGNTO)));

	for (;;) {
		ssize_t got = recv(fd, buf, sizeof(buf), 0);
		struct nlmsghdr *nlh = (struct nlmsghdr *)buf;
		size_t len = (size_t)got;

		if (got < 0 && (errno == EINTR || errno == ENOBUFS))
			continue;
		if (got <= 0)
			return;
		for (; NLMSG_OK(nlh, len); nlh = NLMSG_NEXT(nlh, len))
			parse(nlh, fn, arg);
	}
}
