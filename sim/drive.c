// SPDX-License-Identifier: GPL-2.0-only
/*
 * An experiment on a bottleneck, event by event: flows of ours, others that come and go, and what
 * is to be known of them. See pure.h for what can be asked for.
 *
 *	flows (tcp.c) --> buffer (qdisc.c) --> link, receiver, way back (link.c, reverse.c)
 *	  ^                                                   |
 *	  +----------------------- ACKs ----------------------+
 *
 * There are three kinds of events: a packet leaves the bottleneck, an ACK arrives, and a timer.
 * Each flow has one timer, and the experiment a few. Receivers have one, if they delay ACKs.
 */
#include <stdlib.h>

#include "sim/tcp.h"

/* Short flows at the same time. More that come have to wait: the next that is free takes one. */
#define SHORTS_MAX	24
#define FLOWS_MAX	(DRIVE_FLOWS_MAX + SHORTS_MAX)

enum timer {
	TIMER_FROM = FLOWS_MAX,	/* those below are the flows' */
	TIMER_HALF,
	TIMER_TO,
	TIMER_SERIES,
	TIMER_SHORT,
	TIMER_UDP,
	TIMERS,
};

/**
 * struct drive - an experiment under way
 * @in: what is asked for
 * @out: what is known so far
 * @link: the path
 * @flow: ours first, then theirs, then the short ones
 * @memory: what each of our hosts knows of the path
 * @flows: all of them; the next number is UDP's
 * @longs: those that are not short
 * @timer_ns: when each timer is due; NEVER
 * @timer: the first of these
 * @stop_ns: when a flow is to leave; NEVER
 * @began_ns: when a short flow came
 * @row: total of each long flow at the end of the last row of drive_in.series
 * @half: total of each of ours in the middle of the others' time
 * @mark_ours: our packets at the last mark
 * @mark_theirs: and theirs
 * @regime_ns: so far drive_out.contended_ms is known
 * @contended_ns: of all of ours
 * @delivered_ns: when the last of our packets was delivered; 0: none of ours has begun
 * @silent_ns: longest time without
 * @waiting: short flows that have come while all places were taken
 * @short_ns: sum of the times of those that were completed
 * @dice: short flows, and where theirs begin
 */
struct drive {
	const struct drive_in *in;
	struct drive_out *out;
	struct link link;
	struct flow *flow;
	struct path_memory memory[DRIVE_FLOWS_MAX];
	u32 flows;
	u32 longs;
	u64 timer_ns[TIMERS];
	u32 timer;
	u64 stop_ns[FLOWS_MAX];
	u64 began_ns[FLOWS_MAX];
	u32 row[DRIVE_FLOWS_MAX];
	u32 half[DRIVE_FLOWS_MAX];
	u32 mark_ours;
	u32 mark_theirs;
	u64 regime_ns;
	u64 contended_ns;
	u64 delivered_ns;
	u64 silent_ns;
	u32 waiting;
	u64 short_ns;
	struct dice dice;
};

static u64 ms_ns(u32 ms)
{
	return ms * (u64)NSEC_PER_MSEC;
}

static bool is_ours(const struct drive *d, u32 n)
{
	return n < d->in->ours;
}

static void set_timer(struct drive *d, u32 n, u64 ns)
{
	u32 i;

	d->timer_ns[n] = ns;
	if (n != d->timer) {
		if (ns < d->timer_ns[d->timer])
			d->timer = n;
		return;
	}
	for (i = 0; i < d->flows; i++)
		if (d->timer_ns[i] < d->timer_ns[d->timer])
			d->timer = i;
	for (i = FLOWS_MAX; i < TIMERS; i++)
		if (d->timer_ns[i] < d->timer_ns[d->timer])
			d->timer = i;
}

/* A flow's next timer: TCP's, or its end. It is set anew only where it is due earlier, or has been
 * due: an ACK puts the timeout off, and that need not be known before.
 */
static void wake(struct drive *d, u32 n, bool due)
{
	u64 ns = min(tcp_wake_ns(&d->flow[n]), d->stop_ns[n]);

	if (due || ns < d->timer_ns[n])
		set_timer(d, n, ns);
}

static u32 delivered(const struct drive *d, bool ours)
{
	u32 n, sum = 0;

	for (n = 0; n < d->longs; n++)
		if (is_ours(d, n) == ours)
			sum += d->flow[n].total;
	return sum;
}

/* How many of ours are in this regime? Those that have not begun are alone. */
static u32 in_regime(const struct drive *d, u8 regime)
{
	u32 n, count = 0;

	for (n = 0; n < d->in->ours; n++)
		count += d->flow[n].sender.regime == regime;
	return count;
}

static void start_ours(struct drive *d, u32 n, u32 rtt_us, u64 now_ns)
{
	const struct drive_in *in = d->in;
	const struct lbe_base *base = in->base ?: &scavenger_base;
	struct flow *f = &d->flow[n];
	const struct control_config config = {
		.controller = DALBE_CONTROLLER_WEIGHT,
		.wmin_q16 = in->w_q16,
	};

	tcp_open(f, &cdg_base, rtt_us, now_ns);
	f->out = d->out;
	f->tells_time = !in->no_timestamps;
	f->lies = in->lies;
	control_start(&f->sender.control, &config, 0, 0, 0, 0);
	f->sender.heuristics.inflate_beta = in->beta;
	if (base->shares_path)
		sender_join(&f->sender, &d->memory[f->host], f->path.now_us);
	sender_set_base(&f->sender, &f->path, base);
	sender_begin_goal(&f->sender, &f->path);
	cdg_set_idle_g(&f->sender.cdg, CDG_IDLE_G_DEFAULT_NS);
	if (in->ours_stay_ms)
		d->stop_ns[n] = now_ns + ms_ns(in->ours_stay_ms);
	if (!d->delivered_ns)
		d->delivered_ns = now_ns + 1;
}

static void start_theirs(struct drive *d, u32 n, u32 rtt_us, u64 now_ns)
{
	struct flow *f = &d->flow[n];

	tcp_open(f, d->in->their_base ?: &cubic_base, rtt_us, now_ns);
	if (d->in->no_hystart)
		f->sender.heuristics.hystart = 0;
}

/* A flow begins. Its handshake has seen the queue. */
static void start(struct drive *d, u32 n, u64 now_ns)
{
	u32 queue_us = d->in->discipline == DRIVE_FQ_CODEL ? 0 :
		       d->link.qdisc.length * d->link.packet_ns / 1000;

	if (is_ours(d, n))
		start_ours(d, n, d->in->base_us + queue_us, now_ns);
	else
		start_theirs(d, n, d->in->base_us + queue_us, now_ns);
	link_open(&d->link, n);
	tcp_send(&d->flow[n], &d->link, now_ns);
}

static void start_short(struct drive *d, u64 now_ns)
{
	u32 n;

	for (n = d->longs; n < d->flows && d->flow[n].open; n++)
		;
	if (n == d->flows) {
		d->waiting++;
		return;
	}
	d->flow[n].last = 1 + dice_exponential(&d->dice, max(d->in->short_packets, 1u) - 1);
	d->began_ns[n] = now_ns;
	start(d, n, now_ns);
	wake(d, n, true);
}

/* The last packet of a short flow has been acknowledged. */
static void end_short(struct drive *d, u32 n, u64 now_ns)
{
	d->out->shorts++;
	d->short_ns += now_ns - d->began_ns[n];
	tcp_close(&d->flow[n]);
	if (d->waiting) {
		d->waiting--;
		start_short(d, now_ns);
	}
}

static void short_timer(struct drive *d, u64 now_ns)
{
	u64 mean_ns = NSEC_PER_SEC * max(d->in->short_packets, 1u) / d->in->short_pps;

	if (now_ns > ms_ns(d->in->from_ms))
		start_short(d, now_ns);
	now_ns += 1 + dice_exponential(&d->dice, mean_ns);
	set_timer(d, TIMER_SHORT, now_ns < ms_ns(d->in->to_ms) ? now_ns : NEVER);
}

static void udp_timer(struct drive *d, u64 now_ns)
{
	const struct drive_in *in = d->in;
	u64 every_ns = ms_ns(in->udp_on_ms + in->udp_off_ms), phase_ns;

	link_send(&d->link, d->flows, 0, now_ns);
	now_ns += NSEC_PER_SEC / in->udp_pps;
	if (in->udp_on_ms && every_ns) {
		phase_ns = (now_ns - ms_ns(in->from_ms)) % every_ns;
		if (phase_ns >= ms_ns(in->udp_on_ms))
			now_ns += every_ns - phase_ns;
	}
	set_timer(d, TIMER_UDP, now_ns < ms_ns(in->to_ms) ? now_ns : NEVER);
}

static void series_timer(struct drive *d, u64 now_ns)
{
	u64 every_ns = ms_ns(d->in->series_ms);
	u32 *row = d->in->series + (now_ns / every_ns - 1) * d->longs, n;

	for (n = 0; n < d->longs; n++) {
		row[n] = d->flow[n].total - d->row[n];
		d->row[n] = d->flow[n].total;
	}
	set_timer(d, TIMER_SERIES, now_ns + every_ns);
}

/* Count the time in which ours were contended, up to now. */
static void count_regimes(struct drive *d, u32 contended, u64 now_ns)
{
	const struct drive_in *in = d->in;
	u64 from_ns = max(d->regime_ns, ms_ns((in->from_ms + in->to_ms) / 2));
	u64 to_ns = min(now_ns, ms_ns(in->to_ms));

	if (to_ns > from_ns)
		d->contended_ns += (to_ns - from_ns) * contended;
	d->regime_ns = now_ns;
	if (now_ns >= ms_ns(in->to_ms) && !d->out->seen_ms && in_regime(d, REGIME_ALONE))
		d->out->seen_ms = max((now_ns - ms_ns(in->to_ms)) / NSEC_PER_MSEC, (u64)1);
}

static void from_timer(struct drive *d, u64 now_ns)
{
	link_measure(&d->link, now_ns);
	d->out->alone = delivered(d, true);
	if (now_ns)
		d->out->queue_alone_us = d->link.area / (now_ns / 1000.0);
}

static void half_timer(struct drive *d)
{
	u32 n;

	d->mark_ours = delivered(d, true);
	d->mark_theirs = delivered(d, false);
	for (n = 0; n < d->in->ours; n++)
		d->half[n] = d->flow[n].total;
}

static void to_timer(struct drive *d, u64 now_ns)
{
	d->out->ours = delivered(d, true) - d->mark_ours;
	d->out->theirs = delivered(d, false) - d->mark_theirs;
	d->out->after = delivered(d, true);
	count_regimes(d, in_regime(d, REGIME_CONTENDED), now_ns);
}

/* One of ours, or of theirs, that has begun ends. */
static void leave(struct drive *d, u32 n)
{
	struct sender *s = &d->flow[n].sender;

	if (is_ours(d, n))
		d->out->yields += sender_report(s).yields;
	tcp_close(&d->flow[n]);
	sender_leave(s);
}

static void flow_timer(struct drive *d, u32 n, u64 now_ns)
{
	struct flow *f = &d->flow[n];

	if (now_ns >= d->stop_ns[n]) {
		d->stop_ns[n] = NEVER;
		leave(d, n);
	} else if (n < d->longs && f->tx_nxt == 0 && !f->open) {
		start(d, n, now_ns);
	} else {
		tcp_timer(f, &d->link, now_ns);
	}
	wake(d, n, true);
}

static void timer(struct drive *d, u64 now_ns)
{
	u32 n = d->timer;

	switch (n) {
	case TIMER_SERIES:
		series_timer(d, now_ns);
		return;
	case TIMER_SHORT:
		short_timer(d, now_ns);
		return;
	case TIMER_UDP:
		udp_timer(d, now_ns);
		return;
	case TIMER_FROM:
		from_timer(d, now_ns);
		break;
	case TIMER_HALF:
		half_timer(d);
		break;
	case TIMER_TO:
		to_timer(d, now_ns);
		break;
	default:
		flow_timer(d, n, now_ns);
		return;
	}
	set_timer(d, n, NEVER);
}

static void count_delivered(struct drive *d, u64 now_ns)
{
	d->silent_ns = max(d->silent_ns, now_ns - min(now_ns, d->delivered_ns));
	d->delivered_ns = now_ns;
}

static void ack(struct drive *d)
{
	struct link *l = &d->link;
	struct ack *a = &l->acks[l->head++ & l->mask];
	struct flow *f = &d->flow[a->flow];
	u64 now_ns = a->due_ns;
	u32 n = a->flow;
	u8 regime = f->sender.regime;

	if (!is_ours(d, n)) {
		tcp_ack(f, l, a);
		if (f->open && f->last && f->una == f->last)
			end_short(d, n, now_ns);
		wake(d, n, false);
		return;
	}
	count_delivered(d, now_ns);
	tcp_ack(f, l, a);
	if (f->sender.regime != regime)
		count_regimes(d, in_regime(d, REGIME_CONTENDED) +
				 (regime == REGIME_CONTENDED) -
				 (f->sender.regime == REGIME_CONTENDED), now_ns);
	wake(d, n, false);
}

/* Timers at the beginning. */
static void plan(struct drive *d)
{
	const struct drive_in *in = d->in;
	u32 n;

	for (n = 0; n < TIMERS; n++)
		d->timer_ns[n] = NEVER;
	for (n = 0; n < ARRAY_SIZE(d->memory); n++)
		path_memory_init(&d->memory[n]);
	for (n = 0; n < FLOWS_MAX; n++)
		d->stop_ns[n] = NEVER;
	for (n = 0; n < d->longs; n++) {
		u32 i = n - in->ours;

		if (is_ours(d, n)) {
			d->flow[n].host = n % max(in->hosts, 1u);
			set_timer(d, n, ms_ns(in->ours_from_ms + n * in->ours_step_ms));
		} else if (in->from_ms < in->to_ms) {
			/* two that begin together would stay together */
			set_timer(d, n, ms_ns(in->from_ms + i * in->theirs_step_ms) +
					dice_below(&d->dice, in->base_us * NSEC_PER_USEC));
			d->stop_ns[n] = ms_ns(in->to_ms);
		}
	}
	set_timer(d, TIMER_FROM, ms_ns(in->from_ms));
	set_timer(d, TIMER_HALF, ms_ns((in->from_ms + in->to_ms) / 2));
	set_timer(d, TIMER_TO, ms_ns(in->to_ms));
	if (in->series && in->series_ms)
		set_timer(d, TIMER_SERIES, ms_ns(in->series_ms));
	if (in->short_pps && in->from_ms < in->to_ms)
		set_timer(d, TIMER_SHORT, ms_ns(in->from_ms));
	if (in->udp_pps && in->from_ms < in->to_ms)
		set_timer(d, TIMER_UDP, ms_ns(in->from_ms));
}

/* The most packets that one flow may have under way. */
static u32 window(const struct drive_in *in)
{
	u64 pps = in->rate_pps;
	u32 n;

	for (n = 0; n < DRIVE_STEPS_MAX; n++)
		pps = max_t(u64, pps, in->steps[n].rate_pps);
	return max(2 * (pps * (in->base_us + in->jitter_us) / USEC_PER_SEC + in->buffer),
		   (u64)2000);
}

static bool begin(struct drive *d)
{
	const struct drive_in *in = d->in;
	bool ready;
	u32 n;

	d->longs = in->ours + in->theirs;
	d->flows = d->longs + (in->short_pps ? SHORTS_MAX : 0);
	d->flow = calloc(d->flows + 1, sizeof(*d->flow));
	ready = d->flow;
	for (n = 0; ready && n < d->flows; n++) {
		ready = tcp_alloc(&d->flow[n], n, window(in));
		d->flow[n].base_us = in->base_us;
	}
	link_init(&d->link, in, d->flows + 1, d->flows);
	dice_seed(&d->dice, in->seed);
	plan(d);
	return ready;
}

static void end(struct drive *d)
{
	struct drive_out *out = d->out;
	u64 end_ns = ms_ns(d->in->end_ms);
	u32 n, more;

	if (d->timer_ns[TIMER_TO] != NEVER)
		to_timer(d, end_ns);
	link_measure(&d->link, end_ns);
	out->queue_mean_us = d->link.area / (end_ns / 1000.0);
	out->contended_ms = d->contended_ns / NSEC_PER_MSEC;
	out->after = delivered(d, true) - out->after;
	out->least = U32_MAX;
	for (n = 0; n < d->in->ours; n++) {
		more = d->flow[n].total - d->half[n];
		out->least = min(out->least, more);
		out->most = max(out->most, more);
		if (d->flow[n].open)
			leave(d, n);
	}
	for (n = 0; n <= d->flows; n++)
		*(is_ours(d, n) ? &out->drops_ours : &out->drops_theirs) += d->link.qdisc.drops[n];
	if (d->delivered_ns && !d->in->ours_stay_ms)
		count_delivered(d, end_ns);
	out->silent_ms = d->silent_ns / NSEC_PER_MSEC;
	out->short_ms = out->shorts ? d->short_ns / out->shorts / NSEC_PER_MSEC : 0;
}

static void run(struct drive *d, u64 end_ns)
{
	struct link *l = &d->link;

	for (;;) {
		u64 timer_ns = d->timer_ns[d->timer], ack_ns = link_ack_due_ns(l);
		u64 now_ns = min(min(timer_ns, ack_ns), min(l->due_ns, l->held_ns));

		if (now_ns >= end_ns)
			return;
		if (now_ns == timer_ns) {
			timer(d, now_ns);
		} else if (now_ns == l->held_ns) {
			link_release(l);
		} else if (now_ns == ack_ns) {
			ack(d);
		} else {
			link_serve(l);
			d->out->packets++;
		}
	}
}

/**
 * drive - simulate an experiment
 * @in: what is asked for
 * @out: what happened; the same for the same @in
 */
void drive(const struct drive_in *in, struct drive_out *out)
{
	struct drive *d = calloc(1, sizeof(*d));
	u32 n;

	*out = (struct drive_out) {};
	if (!d)
		return;
	d->in = in;
	d->out = out;
	pure_seed(in->seed);
	if (begin(d)) {
		run(d, ms_ns(in->end_ms));
		end(d);
	}
	for (n = 0; n < d->flows; n++)
		tcp_free(&d->flow[n]);
	link_free(&d->link);
	free(d->flow);
	free(d);
}
