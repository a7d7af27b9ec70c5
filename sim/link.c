// SPDX-License-Identifier: GPL-2.0-only
/*
 * The bottleneck's link: it serves the buffer packet by packet, at a rate that may change, and
 * stands still where asked. Behind it lie half of the RTT, with jitter, to the receiver, and half
 * of it back, with a queue of the ACKs (reverse.c). All flows have the same RTT, so that ACKs
 * arrive in the order in which packets left the bottleneck: a ring holds them, and no packet passes
 * another.
 */
#include <stdlib.h>

#include "sim/link.h"

/* Given by Linux: an ACK is held back for 40 ms at most, and the first 16 are not, nor those after
 * a packet has been missing.
 */
#define LINK_DELAYED_NS	40000000ull
#define LINK_QUICK	16

/* ACKs are late by up to this or a packet's time, whichever is less, as end systems are. Without it
 * flows with one RTT keep step with the link, and who loses a packet is always the same (S. Floyd,
 * V. Jacobson, "On traffic phase effects in packet-switched gateways", 1992).
 */
#define LINK_NOISE_NS	100000u

static u64 link_packet_ns(u32 rate_pps)
{
	return NSEC_PER_SEC / max(rate_pps, 1u);
}

static u32 link_fastest_pps(const struct drive_in *in)
{
	u32 n, pps = in->rate_pps;

	for (n = 0; n < DRIVE_STEPS_MAX; n++)
		pps = max(pps, in->steps[n].rate_pps);
	return pps;
}

/**
 * link_init - an idle path
 * @l: the path
 * @in: what is asked for; must live as long as the path
 * @flows: how many send
 * @unacked: from this flow on they get no ACKs
 */
void link_init(struct link *l, const struct drive_in *in, u32 flows, u32 unacked)
{
	u64 way_us = in->base_us + in->jitter_us;
	u64 most, size = 256;
	u32 n;

	*l = (struct link) {
		.in = in, .due_ns = NEVER, .packet_ns = link_packet_ns(in->rate_pps),
		.unacked = unacked, .held_ns = NEVER,
	};
	l->noise_ns = min_t(u64, LINK_NOISE_NS, l->packet_ns);
	if (in->reverse_pps)
		way_us += (in->reverse_buffer + 16) * USEC_PER_SEC / in->reverse_pps;
	most = 2 * way_us * link_fastest_pps(in) / USEC_PER_SEC;
	while (size < most + 64)
		size *= 2;
	l->acks = malloc(size * sizeof(*l->acks));
	l->mask = size - 1;
	if (in->delayed_acks)
		l->receiver = calloc(flows, sizeof(*l->receiver));
	for (n = 0; n < flows; n++)
		link_open(l, n);
	qdisc_init(&l->qdisc, in->discipline, max(in->buffer, 1u), flows, in->seed + 1);
	dice_seed(&l->dice, in->seed + 2);
}

/**
 * link_free - end of the path
 * @l: the path
 */
void link_free(struct link *l)
{
	qdisc_free(&l->qdisc);
	free(l->acks);
	free(l->receiver);
}

/* The first time from @ns on at which the path does not stand still. */
static u64 link_not_stalled_ns(const struct link *l, u64 ns)
{
	u64 every_ns = (l->in->stall_every_ms ?: 1000) * NSEC_PER_MSEC;
	u64 stall_ns = l->in->stall_ms * NSEC_PER_MSEC, phase_ns;

	if (!stall_ns)
		return ns;
	phase_ns = ns % every_ns;
	return phase_ns < stall_ns ? ns + stall_ns - phase_ns : ns;
}

/**
 * link_send - a packet comes to the bottleneck, if it is not lost before
 * @l: the path
 * @flow: whose it is
 * @serial: of its transmission
 * @now_ns: the clock
 */
void link_send(struct link *l, u32 flow, u32 serial, u64 now_ns)
{
	if (l->in->loss_ppm && dice_below(&l->dice, 1000000) < l->in->loss_ppm)
		return;
	link_measure(l, now_ns);
	if (qdisc_enqueue(&l->qdisc, flow, serial, now_ns) && l->due_ns == NEVER)
		l->due_ns = link_not_stalled_ns(l, max(l->free_ns, now_ns));
}

static void link_step(struct link *l, u64 now_ns)
{
	const struct drive_in *in = l->in;

	while (l->step < DRIVE_STEPS_MAX && in->steps[l->step].rate_pps &&
	       now_ns >= in->steps[l->step].at_ms * (u64)NSEC_PER_MSEC)
		l->packet_ns = link_packet_ns(in->steps[l->step++].rate_pps);
}

/**
 * link_open - another connection begins
 * @l: the path
 * @flow: its number
 */
void link_open(struct link *l, u32 flow)
{
	if (l->receiver)
		l->receiver[flow] = (struct receiver) {
			.due_ns = NEVER, .quick = LINK_QUICK, .hole = true,
		};
}

/**
 * link_repaired - the receiver has all packets of these transmissions
 * @l: the path
 * @flow: whose
 * @serial: up to this one
 */
void link_repaired(struct link *l, u32 flow, u32 serial)
{
	struct receiver *r = &l->receiver[flow];

	if ((s32)(serial - r->hole_serial) >= 0)
		r->hole = false;
}

/* Does the receiver hold its ACK of this packet back? If not: @both. */
static bool link_holds(struct link *l, const struct packet *p, u64 now_ns, bool *both)
{
	struct receiver *r = &l->receiver[p->flow];
	bool next = p->serial == r->serial + 1;

	*both = r->due_ns != NEVER && next;
	r->serial = p->serial;
	if (!next) {
		r->hole = true;
		r->hole_serial = p->serial;
		r->quick = LINK_QUICK;
	}
	r->quick -= !!r->quick;
	if (*both || r->hole || r->quick) {
		r->due_ns = NEVER;
		return false;
	}
	r->due_ns = now_ns + LINK_DELAYED_NS;
	l->held_ns = min(l->held_ns, r->due_ns);
	return true;
}

/* A packet has left the bottleneck, and come to the receiver, which sends an ACK. */
static void link_acknowledge(struct link *l, u32 flow, u32 serial, bool both, u64 now_ns)
{
	const struct drive_in *in = l->in;
	u64 half_ns = in->base_us * (u64)NSEC_PER_USEC / 2, due_ns;
	u64 received_ns = now_ns + half_ns;
	struct ack *ack = &l->acks[l->tail & l->mask];

	if (in->jitter_us)
		received_ns += dice_below(&l->dice, in->jitter_us * NSEC_PER_USEC);
	l->received_ns = max(l->received_ns, received_ns);
	due_ns = l->received_ns + half_ns + dice_below(&l->dice, l->noise_ns);
	if (in->reverse_pps)
		due_ns += reverse_queue_ns(&l->reverse, in, l->received_ns);
	if (l->tail != l->head)
		due_ns = max(due_ns, l->acks[(l->tail - 1) & l->mask].due_ns);
	*ack = (struct ack) {
		.due_ns = due_ns, .received_us = l->received_ns / 1000,
		.serial = serial, .flow = flow, .both = both,
	};
	if (l->tail - l->head < l->mask)
		l->tail++;
}

static void link_deliver(struct link *l, const struct packet *p, u64 now_ns)
{
	bool both = false;

	if (p->flow < l->unacked && (!l->receiver || !link_holds(l, p, now_ns, &both)))
		link_acknowledge(l, p->flow, p->serial, both, now_ns);
}

/**
 * link_release - link.held_ns has come: ACKs that have been held back for long leave
 * @l: the path
 */
void link_release(struct link *l)
{
	u64 now_ns = l->held_ns;
	u32 n;

	l->held_ns = NEVER;
	for (n = 0; n < l->unacked; n++) {
		struct receiver *r = &l->receiver[n];

		if (r->due_ns <= now_ns) {
			r->due_ns = NEVER;
			link_acknowledge(l, n, r->serial, false, now_ns);
		}
		l->held_ns = min(l->held_ns, r->due_ns);
	}
}

/**
 * link_serve - the link is free at link.due_ns, and a packet leaves, if the discipline has one
 * @l: the path
 */
void link_serve(struct link *l)
{
	u64 now_ns = l->due_ns;
	struct packet packet;

	link_measure(l, now_ns);
	link_step(l, now_ns);
	if (qdisc_dequeue(&l->qdisc, now_ns, &packet)) {
		link_deliver(l, &packet, now_ns);
		l->free_ns = now_ns + l->packet_ns;
	}
	l->due_ns = l->qdisc.length ? link_not_stalled_ns(l, max(l->free_ns, now_ns)) : NEVER;
}
