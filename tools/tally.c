// SPDX-License-Identifier: GPL-2.0-only
/* How much payload a TCP socket got acknowledged, in life and after. */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "array.h"
#include "tally.h"

/*
 * tcpi_bytes_acked counts the SYN (of the side that connects) and the FIN as
 * a byte each. No payload was acknowledged that was not sent, so the bytes
 * sent, each counted once, take both off again; while data is in flight the
 * result may be one byte too large. A packet that this host's own queue drops
 * is sent again, but TCP does not count it as retransmitted: after one the
 * result may be two bytes too large for good.
 */
static uint64_t payload_acked(const struct tcp_info *info)
{
	uint64_t sent = info->tcpi_bytes_sent - info->tcpi_bytes_retrans;

	return info->tcpi_bytes_acked < sent ? info->tcpi_bytes_acked : sent;
}

static void count(const struct tcp_info *info, struct tally *tally)
{
	tally->acked = payload_acked(info);
	tally->received = info->tcpi_bytes_received;
}

int tally_read(int fd, struct tally *tally)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		return -1;
	count(&info, tally);
	return 0;
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

static void parse(struct nlmsghdr *nlh, tally_fn fn, void *arg)
{
	struct inet_diag_msg *msg = NLMSG_DATA(nlh);
	struct tally tally = { .ended = !(nlh->nlmsg_flags & NLM_F_MULTI) };
	struct rtattr *rta;
	int len;

	if (nlh->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
	    nlh->nlmsg_len < NLMSG_LENGTH(sizeof(*msg)))
		return;
	tally.cookie = msg->id.idiag_cookie[0] |
		       (uint64_t)msg->id.idiag_cookie[1] << 32;
	/* Of a closed socket, the FIN counts as a byte until acknowledged. */
	if (!tally.ended && msg->idiag_wqueue)
		tally.queued = msg->idiag_wqueue - 1;
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
		count(&info, &tally);
		fn(&tally, arg);
	}
}

void tally_collect(int fd, tally_fn fn, void *arg)
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

void tally_ask(int fd, tally_fn fn, void *arg)
{
	struct {
		struct nlmsghdr nlh;
		struct inet_diag_req_v2 req;
	} ask = {
		.nlh = {
			.nlmsg_len = sizeof(ask),
			.nlmsg_type = SOCK_DIAG_BY_FAMILY,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
		},
		.req = {
			.sdiag_protocol = IPPROTO_TCP,
			.idiag_ext = 1 << (INET_DIAG_INFO - 1),
			.idiag_states = 1 << BPF_TCP_FIN_WAIT1 |
					1 << BPF_TCP_FIN_WAIT2 |
					1 << BPF_TCP_CLOSING |
					1 << BPF_TCP_LAST_ACK,
		},
	};
	static const __u8 families[] = { AF_INET, AF_INET6 };

	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		ask.req.sdiag_family = families[i];
		/* The kernel answers as we read: no need to wait. */
		if (send(fd, &ask, sizeof(ask), 0) == sizeof(ask))
			tally_collect(fd, fn, arg);
	}
}
