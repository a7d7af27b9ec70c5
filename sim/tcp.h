/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A TCP connection that sends, as Linux' TCP does, with a base of core/ as its congestion control.
 * Ours and the others' are of the same kind.
 */
#ifndef DALBE_SIM_TCP_H
#define DALBE_SIM_TCP_H

#include "sim/link.h"

#define PACKET		1448	/* payload, bytes */

/**
 * struct tx - a transmission; there may be several of a packet
 * @sent_ns: when it left
 * @serial: its number
 * @seq: the packet's
 * @delivered: its ACK has come
 * @again: it was not the packet's first
 */
struct tx {
	u64 sent_ns;
	u32 serial;
	u32 seq : 30;
	u32 delivered : 1;
	u32 again : 1;
};

/**
 * struct flow - a connection that sends
 * @sender: its congestion control
 * @path: what that sees
 * @open: it sends
 * @n: its number
 * @host: the host that it sends from, for ours
 * @in_flight: packets under way, as far as is known
 * @una: first packet that is not acknowledged
 * @nxt: first that was not sent
 * @last: packets to be sent; 0: without end
 * @delivered: different packets since the flow began
 * @total: the same of all flows that this struct has been
 *
 * Transmissions, and rings by the low bits of a number (@mask):
 * @tx: transmissions
 * @tx_first: the first of the flow
 * @tx_una: the first that is neither delivered nor lost
 * @tx_nxt: the next
 * @got: per packet from @una on: the receiver has it
 * @lost: packets to be sent again
 * @lost_head: first of these
 * @lost_tail: behind the last
 * @mask: size of the rings, a power of two, less one
 *
 * Repair:
 * @high: the packet that is to be acknowledged for the repair to end
 * @prior_cwnd: the window that it began at
 * @prr_delivered: packets delivered since
 * @prr_out: and sent
 * @retransmitted: in this repair, a packet was sent again
 * @probed: a tail loss probe is under way, and the last packet sent before it is @probe_high
 * @probe_again: it was a packet sent before
 *
 * Timers and clocks, ns:
 * @send_ns: a packet waits for its departure until then; NEVER
 * @alarm_ns: retransmission timeout, or tail loss probe; NEVER
 * @alarm_probe: the latter
 * @reorder_ns: packets are taken for lost then, if they are not delivered (RACK); NEVER
 * @pace_ns: TCP's pacing lets the next packets leave
 * @acked_ns: the last ACK came
 * @backoff: timeouts in a row
 * @srtt8_us: smoothed RTT, eighths of us
 * @mdev_us: mean deviation of the RTT
 * @usage_seq: the window's usage is judged anew from this packet on (tcp_cwnd_validate())
 *
 * The experiment's:
 * @out: where to count what the sender does; NULL: nowhere
 * @base_us: RTT without a queue
 * @tells_time: the receiver's timestamps are handed to the sender
 * @lies: and are wrong: when the packet left
 */
struct flow {
	struct tcp_path path;
	bool open;
	bool retransmitted;
	bool probed;
	bool probe_again;
	bool alarm_probe;
	bool tells_time;
	bool lies;
	u8 backoff;
	u32 n;
	u32 host;
	u32 in_flight;
	u32 una;
	u32 nxt;
	u32 last;
	u32 delivered;
	u32 total;
	struct tx *tx;
	u8 *got;
	u32 *lost;
	u32 tx_first;
	u32 tx_una;
	u32 tx_nxt;
	u32 lost_head;
	u32 lost_tail;
	u32 mask;
	u32 high;
	u32 prior_cwnd;
	u32 prr_delivered;
	u32 prr_out;
	u32 probe_high;
	u64 send_ns;
	u64 alarm_ns;
	u64 reorder_ns;
	u64 pace_ns;
	u64 acked_ns;
	u32 srtt8_us;
	u32 mdev_us;
	u32 usage_seq;
	struct drive_out *out;
	u32 base_us;
	struct sender sender;
};

bool tcp_alloc(struct flow *f, u32 n, u32 window);
void tcp_free(struct flow *f);
void tcp_open(struct flow *f, const struct lbe_base *base, u32 rtt_us, u64 now_ns);
void tcp_send(struct flow *f, struct link *l, u64 now_ns);
void tcp_ack(struct flow *f, struct link *l, const struct ack *ack);
void tcp_timer(struct flow *f, struct link *l, u64 now_ns);
void tcp_close(struct flow *f);

/* Return: when tcp_timer() is to be called, ns. */
static inline u64 tcp_wake_ns(const struct flow *f)
{
	return min(min(f->send_ns, f->alarm_ns), f->reorder_ns);
}

#endif /* DALBE_SIM_TCP_H */
