/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The path: a bottleneck with its buffer, the way to the receiver, and the way back of the ACKs.
 */
#ifndef DALBE_SIM_LINK_H
#define DALBE_SIM_LINK_H

#include "sim/pure.h"
#include "sim/qdisc.h"

#define NEVER	U64_MAX

/**
 * struct ack - an ACK on its way
 * @due_ns: when it arrives
 * @received_us: the receiver's clock when it left
 * @serial: of the packet's transmission
 * @flow: whose it is
 * @both: the transmission before has come as well, and had no ACK
 */
struct ack {
	u64 due_ns;
	u64 received_us;
	u32 serial;
	u32 flow;
	bool both;
};

/**
 * struct receiver - where delayed ACKs are asked for, a flow's receiver
 * @due_ns: when an ACK is due that is held back, as if its packet left the bottleneck then; NEVER
 * @serial: of the last transmission that came
 * @quick: ACKs that are not held back
 * @hole: packets are missing
 * @hole_serial: since this transmission came
 */
struct receiver {
	u64 due_ns;
	u32 serial;
	u32 quick;
	bool hole;
	u32 hole_serial;
};

/**
 * struct reverse - the bottleneck of the way back, which a CUBIC flow fills
 * @cubic: its window
 * @round_ns: when its round trip began
 * @end_ns: and when it ends
 * @queue_ns: how long ACKs wait in this round trip
 * @runs: it has begun
 */
struct reverse {
	struct cubic cubic;
	u64 round_ns;
	u64 end_ns;
	u64 queue_ns;
	bool runs;
};

/**
 * struct link - the path
 * @in: what is asked for
 * @qdisc: the buffer
 * @due_ns: when the next packet leaves it; NEVER
 * @free_ns: when the link is free
 * @packet_ns: time of a packet
 * @step: the next of drive_in.steps
 * @noise_ns: ACKs are late by up to so much
 * @received_ns: when the last packet came to the receiver
 * @acks: a ring, in order
 * @mask: its size, a power of two, less one
 * @head: first ACK
 * @tail: behind the last
 * @reverse: the way back
 * @dice: noise, jitter and losses
 * @area: integral of the queue over time, us * us
 * @area_ns: up to this time
 * @unacked: this flow, and those after it, have no ACKs
 * @receiver: per flow; NULL: each packet is acknowledged
 * @held_ns: no ACK that is held back is due before; NEVER
 */
struct link {
	const struct drive_in *in;
	struct qdisc qdisc;
	u64 due_ns;
	u64 free_ns;
	u64 packet_ns;
	u32 step;
	u32 noise_ns;
	u64 received_ns;
	struct ack *acks;
	u32 mask;
	u32 head;
	u32 tail;
	struct reverse reverse;
	struct dice dice;
	double area;
	u64 area_ns;
	u32 unacked;
	struct receiver *receiver;
	u64 held_ns;
};

void link_init(struct link *l, const struct drive_in *in, u32 flows, u32 unacked);
void link_free(struct link *l);
void link_send(struct link *l, u32 flow, u32 serial, u64 now_ns);
void link_serve(struct link *l);
void link_release(struct link *l);
void link_open(struct link *l, u32 flow);
void link_repaired(struct link *l, u32 flow, u32 serial);
u64 reverse_queue_ns(struct reverse *r, const struct drive_in *in, u64 now_ns);

/* Return: when the first ACK arrives; NEVER. */
static inline u64 link_ack_due_ns(const struct link *l)
{
	return l->head != l->tail ? l->acks[l->head & l->mask].due_ns : NEVER;
}

/**
 * link_measure - add to the integral of the queue, before it changes
 * @l: the path
 * @now_ns: the clock
 */
static inline void link_measure(struct link *l, u64 now_ns)
{
	if (l->qdisc.length)
		l->area += (double)(now_ns - l->area_ns) * l->qdisc.length * l->packet_ns / 1e6;
	l->area_ns = now_ns;
}

#endif /* DALBE_SIM_LINK_H */
