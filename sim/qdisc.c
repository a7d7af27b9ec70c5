// SPDX-License-Identifier: GPL-2.0-only
/*
 * Drop-tail, CoDel, PIE, and FQ-CoDel, as Linux has them, of packets of one size, without marks
 * (ECN). FQ-CoDel here gives each flow a queue of its own: no two share one by their hash.
 *
 * References: RFC 8289 (CoDel), RFC 8033 (PIE), RFC 8290 (FQ-CoDel).
 */
#include <stdlib.h>

#include "sim/pure.h"
#include "sim/qdisc.h"

/* Given by RFC 8289, section 4: its defaults. */
#define CODEL_TARGET_NS		5000000ull
#define CODEL_INTERVAL_NS	100000000ull
/* Given by Linux: it goes on with the count where it left less than 16 intervals ago. */
#define CODEL_RECENT_NS		(16 * CODEL_INTERVAL_NS)

/* Given by RFC 8033, sections 4.1, 4.2 and 5.1: its defaults; alpha and beta are per second. */
#define PIE_TARGET_NS		15000000ull
#define PIE_UPDATE_NS		15000000ull
#define PIE_BURST_NS		150000000ull
#define PIE_LONG_NS		250000000ull
#define PIE_ALPHA		0.125
#define PIE_BETA		1.25
#define PIE_STEP_MAX		0.02
#define PIE_SPREAD_LEAST	0.85
#define PIE_SPREAD_MOST		8.5
#define PIE_DECAY		0.98

/* Given by Linux: a full FQ-CoDel drops up to so many at once, of the longest queue. */
#define FQ_DROP_BATCH		64

enum fifo_list {
	LIST_NONE,
	LIST_FRESH,
	LIST_OTHERS,
};

/**
 * qdisc_init - an empty buffer
 * @q: the buffer
 * @kind: enum drive_discipline
 * @limit: packets, 1 or more
 * @flows: how many flows send
 * @seed: of what is dropped at random
 */
void qdisc_init(struct qdisc *q, u8 kind, u32 limit, u32 flows, u32 seed)
{
	u32 n;

	*q = (struct qdisc) {
		.kind = kind, .limit = limit, .flows = flows,
		.fresh = { QDISC_NONE, QDISC_NONE }, .others = { QDISC_NONE, QDISC_NONE },
		.pie = { .update_ns = PIE_UPDATE_NS, .burst_ns = PIE_BURST_NS },
	};
	q->packets = calloc(limit + 1, sizeof(*q->packets));
	q->fifo = calloc(flows, sizeof(*q->fifo));
	q->drops = calloc(flows, sizeof(*q->drops));
	for (n = 0; n <= limit; n++)
		q->packets[n].next = n < limit ? n + 1 : QDISC_NONE;
	for (n = 0; n < flows; n++)
		q->fifo[n].head = QDISC_NONE;
	dice_seed(&q->dice, seed);
}

/**
 * qdisc_free - end of the buffer
 * @q: the buffer
 */
void qdisc_free(struct qdisc *q)
{
	free(q->packets);
	free(q->fifo);
	free(q->drops);
}

static void fifo_push(struct qdisc *q, struct fifo *f, u32 flow, u32 serial, u64 now_ns)
{
	u32 n = q->free;
	struct packet *p = &q->packets[n];

	q->free = p->next;
	*p = (struct packet) {
		.enqueued_ns = now_ns, .serial = serial, .flow = flow, .next = QDISC_NONE,
	};
	if (f->head == QDISC_NONE)
		f->head = n;
	else
		q->packets[f->tail].next = n;
	f->tail = n;
	f->length++;
	q->length++;
}

static bool fifo_pop(struct qdisc *q, struct fifo *f, struct packet *out)
{
	u32 n = f->head;
	struct packet *p;

	if (n == QDISC_NONE)
		return false;
	p = &q->packets[n];
	*out = *p;
	f->head = p->next;
	p->next = q->free;
	q->free = n;
	f->length--;
	q->length--;
	return true;
}

static u64 codel_root(u64 x)
{
	u64 root = x, next = (x + 1) / 2;

	while (next < root) {
		root = next;
		next = (root + x / root) / 2;
	}
	return root;
}

/* RFC 8289, 5.6: the time to the next drop goes with the inverse root of their number. */
static u64 codel_control_law(u64 ns, u32 count)
{
	return ns + CODEL_INTERVAL_NS * 1000 / codel_root(count * 1000000ull);
}

/* RFC 8289, 5.5: has the sojourn time been above the target for an interval? */
static bool codel_should_drop(struct fifo *f, const struct packet *p, u64 now_ns)
{
	struct codel *c = &f->codel;

	/* what is left is less than a packet: as Linux, which counts those behind this one */
	if (now_ns - p->enqueued_ns < CODEL_TARGET_NS || f->length < 2) {
		c->first_above_ns = 0;
		return false;
	}
	if (!c->first_above_ns) {
		c->first_above_ns = now_ns + CODEL_INTERVAL_NS;
		return false;
	}
	return now_ns > c->first_above_ns;
}

/* Return: a packet has left, and not another one been dropped; @drop says what is to become of it.
 */
static bool codel_pop(struct qdisc *q, struct fifo *f, u64 now_ns, struct packet *out, bool *drop)
{
	*drop = false;
	if (!fifo_pop(q, f, out)) {
		f->codel.first_above_ns = 0;
		return false;
	}
	*drop = codel_should_drop(f, out, now_ns);
	return true;
}

/* RFC 8289, 5.5, with Linux' count at a new beginning. */
static bool codel_dequeue(struct qdisc *q, struct fifo *f, u64 now_ns, struct packet *out)
{
	struct codel *c = &f->codel;
	bool drop, there = codel_pop(q, f, now_ns, out, &drop);
	u32 more;

	if (!there || !drop) {
		c->dropping = false;
		return there;
	}
	if (!c->dropping) {
		q->drops[out->flow]++;
		there = codel_pop(q, f, now_ns, out, &drop);
		c->dropping = true;
		more = c->count - c->last_count;
		c->count = more > 1 && now_ns - c->drop_next_ns < CODEL_RECENT_NS ? more : 1;
		c->last_count = c->count;
		c->drop_next_ns = codel_control_law(now_ns, c->count);
		return there;
	}
	while (c->dropping && now_ns >= c->drop_next_ns) {
		c->count++;
		q->drops[out->flow]++;
		there = codel_pop(q, f, now_ns, out, &drop);
		if (!drop)
			c->dropping = false;
		else
			c->drop_next_ns = codel_control_law(c->drop_next_ns, c->count);
	}
	return there;
}

/* RFC 8033, 4.2: the smaller the probability, the smaller its steps. */
static double pie_scale(double prob)
{
	static const double below[] = { 0.000001, 0.00001, 0.0001, 0.001, 0.01, 0.1 };
	static const double part[] = { 2048, 512, 128, 32, 8, 2 };
	u32 n;

	for (n = 0; n < ARRAY_SIZE(below); n++)
		if (prob < below[n])
			return part[n];
	return 1;
}

static void pie_update(struct pie *p)
{
	double step = PIE_ALPHA * ((double)p->delay_ns - PIE_TARGET_NS) / 1e9 +
		      PIE_BETA * ((double)p->delay_ns - (double)p->old_delay_ns) / 1e9;

	step /= pie_scale(p->prob);
	if (p->prob >= 0.1 && step > PIE_STEP_MAX)
		step = PIE_STEP_MAX;
	if (p->delay_ns > PIE_LONG_NS)
		step = max(step, PIE_STEP_MAX);
	p->prob = min(max(p->prob + step, 0.0), 1.0);
	if (!p->delay_ns && !p->old_delay_ns)
		p->prob *= PIE_DECAY;
	p->burst_ns -= min(p->burst_ns, PIE_UPDATE_NS);
	if (p->prob < 0.000000001 && p->delay_ns < PIE_TARGET_NS / 2 &&
	    p->old_delay_ns < PIE_TARGET_NS / 2) {
		p->burst_ns = PIE_BURST_NS;
		p->accumulated = 0;
		p->prob = 0;
	}
	p->old_delay_ns = p->delay_ns;
	p->update_ns += PIE_UPDATE_NS;
}

static void pie_catch_up(struct qdisc *q, u64 now_ns)
{
	struct pie *p = &q->pie;

	while (now_ns >= p->update_ns) {
		if (!q->length)
			p->delay_ns = 0;
		pie_update(p);
	}
}

/* RFC 8033, 4.1 and 5.4. */
static bool pie_drop_early(struct qdisc *q)
{
	struct pie *p = &q->pie;

	if (p->burst_ns || (p->old_delay_ns < PIE_TARGET_NS / 2 && p->prob < 0.2) || q->length <= 2)
		return false;
	p->accumulated += p->prob;
	if (p->accumulated < PIE_SPREAD_LEAST)
		return false;
	if (p->accumulated < PIE_SPREAD_MOST && dice_u32(&q->dice) >= p->prob * 4294967296.0)
		return false;
	p->accumulated = 0;
	return true;
}

static void turns_add(struct qdisc *q, struct turns *t, u32 n, u8 list)
{
	q->fifo[n].turn = QDISC_NONE;
	q->fifo[n].list = list;
	if (t->first == QDISC_NONE)
		t->first = n;
	else
		q->fifo[t->last].turn = n;
	t->last = n;
}

static void turns_remove_first(struct qdisc *q, struct turns *t)
{
	struct fifo *f = &q->fifo[t->first];

	t->first = f->turn;
	f->list = LIST_NONE;
}

/* RFC 8290, 4.1.2: a full buffer drops at the head of the longest queue. */
static void fq_drop(struct qdisc *q)
{
	struct fifo *longest = &q->fifo[0];
	struct packet dropped;
	u32 n, count;

	for (n = 1; n < q->flows; n++)
		if (q->fifo[n].length > longest->length)
			longest = &q->fifo[n];
	count = clamp_t(u32, longest->length / 2, 1, FQ_DROP_BATCH);
	while (count-- && fifo_pop(q, longest, &dropped))
		q->drops[dropped.flow]++;
}

/* RFC 8290, 4.2: new queues first, and one packet per turn, as a quantum is one of full size. */
static bool fq_dequeue(struct qdisc *q, u64 now_ns, struct packet *out)
{
	for (;;) {
		struct turns *t = q->fresh.first != QDISC_NONE ? &q->fresh : &q->others;
		u32 n = t->first;
		struct fifo *f;

		if (n == QDISC_NONE)
			return false;
		f = &q->fifo[n];
		if (f->credit <= 0) {
			f->credit++;
			turns_remove_first(q, t);
			turns_add(q, &q->others, n, LIST_OTHERS);
			continue;
		}
		if (codel_dequeue(q, f, now_ns, out)) {
			f->credit--;
			return true;
		}
		turns_remove_first(q, t);
		if (t == &q->fresh && q->others.first != QDISC_NONE)
			turns_add(q, &q->others, n, LIST_OTHERS);
	}
}

/**
 * qdisc_enqueue - a packet comes
 * @q: the buffer
 * @flow: whose it is, below qdisc.flows
 * @serial: of its transmission
 * @now_ns: the clock, never turned back
 *
 * Return: false: it has been dropped.
 */
bool qdisc_enqueue(struct qdisc *q, u32 flow, u32 serial, u64 now_ns)
{
	bool fair = q->kind == DRIVE_FQ_CODEL;
	struct fifo *f = &q->fifo[fair ? flow : 0];

	if (q->kind == DRIVE_PIE)
		pie_catch_up(q, now_ns);
	if ((!fair && q->length >= q->limit) || (q->kind == DRIVE_PIE && pie_drop_early(q))) {
		q->drops[flow]++;
		return false;
	}
	fifo_push(q, f, flow, serial, now_ns);
	if (!fair)
		return true;
	if (f->list == LIST_NONE) {
		f->credit = 1;
		turns_add(q, &q->fresh, flow, LIST_FRESH);
	}
	if (q->length > q->limit)
		fq_drop(q);
	return true;
}

/**
 * qdisc_dequeue - the link is free for a packet
 * @q: the buffer
 * @now_ns: the clock
 * @out: the packet, where there is one
 *
 * Return: false: there is none, or those that were there have been dropped.
 */
bool qdisc_dequeue(struct qdisc *q, u64 now_ns, struct packet *out)
{
	switch (q->kind) {
	case DRIVE_CODEL:
		return codel_dequeue(q, &q->fifo[0], now_ns, out);
	case DRIVE_FQ_CODEL:
		return fq_dequeue(q, now_ns, out);
	case DRIVE_PIE:
		pie_catch_up(q, now_ns);
		if (!fifo_pop(q, &q->fifo[0], out))
			return false;
		q->pie.delay_ns = now_ns - out->enqueued_ns;
		return true;
	default:
		return fifo_pop(q, &q->fifo[0], out);
	}
}
