/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The bottleneck's buffer, and the discipline by which packets leave it, or are dropped.
 */
#ifndef DALBE_SIM_QDISC_H
#define DALBE_SIM_QDISC_H

#include "sim/random.h"

#define QDISC_NONE	U32_MAX

/**
 * struct packet - a packet in the buffer, or on its way
 * @enqueued_ns: when it came to the buffer
 * @serial: of its transmission, the sender's
 * @flow: whose it is
 * @next: the packet behind it, or free
 */
struct packet {
	u64 enqueued_ns;
	u32 serial;
	u32 flow;
	u32 next;
};

/**
 * struct codel - RFC 8289, section 5, with the names of there
 * @first_above_ns: when the sojourn time will have been above the target for an interval; 0: it is
 *	below
 * @drop_next_ns: when the next packet is to be dropped
 * @count: packets dropped since it began to drop
 * @last_count: count when it last began
 * @dropping: it drops
 */
struct codel {
	u64 first_above_ns;
	u64 drop_next_ns;
	u32 count;
	u32 last_count;
	bool dropping;
};

/**
 * struct pie - RFC 8033, section 4, with the names of there
 * @update_ns: when the probability is computed again
 * @delay_ns: of the last packet that left
 * @old_delay_ns: the same at the last update
 * @burst_ns: what is left of the burst allowance
 * @prob: to drop a packet
 * @accumulated: probabilities since the last drop, so that drops are spread
 */
struct pie {
	u64 update_ns;
	u64 delay_ns;
	u64 old_delay_ns;
	u64 burst_ns;
	double prob;
	double accumulated;
};

/**
 * struct fifo - packets in order
 * @head: first to leave
 * @tail: last
 * @length: packets
 * @credit: packets that it may send in this turn (FQ-CoDel)
 * @turn: the queue whose turn comes next; QDISC_NONE
 * @list: the list that it waits in
 * @codel: of this queue
 */
struct fifo {
	u32 head;
	u32 tail;
	u32 length;
	s32 credit;
	u32 turn;
	u8 list;
	struct codel codel;
};

/* Queues that wait for their turn. */
struct turns {
	u32 first;
	u32 last;
};

/**
 * struct qdisc - a buffer with its discipline
 * @kind: enum drive_discipline
 * @limit: packets
 * @length: packets, in all queues
 * @flows: queues
 * @packets: where they lie; @limit and one more
 * @free: the first that is free
 * @fifo: one queue, or one per flow
 * @fresh: FQ-CoDel's new queues, which go first
 * @others: and its old ones
 * @pie: PIE's state
 * @dice: to drop at random
 * @drops: per flow, packets dropped
 */
struct qdisc {
	u8 kind;
	u32 limit;
	u32 length;
	u32 flows;
	struct packet *packets;
	u32 free;
	struct fifo *fifo;
	struct turns fresh;
	struct turns others;
	struct pie pie;
	struct dice dice;
	u32 *drops;
};

void qdisc_init(struct qdisc *q, u8 kind, u32 limit, u32 flows, u32 seed);
void qdisc_free(struct qdisc *q);
bool qdisc_enqueue(struct qdisc *q, u32 flow, u32 serial, u64 now_ns);
bool qdisc_dequeue(struct qdisc *q, u64 now_ns, struct packet *out);

#endif /* DALBE_SIM_QDISC_H */
