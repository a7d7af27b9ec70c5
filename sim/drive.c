// SPDX-License-Identifier: GPL-2.0-only
/*
 * A base on a bottleneck, packet by packet: what kernel/hooks.c does for TCP, and CUBIC
 * flows that come and go (core/scavenger/cubic.c). Lost packets are sent again at once, so only
 * windows and queues are simulated, not TCP's repair. See pure.h.
 */
#include <stdlib.h>

#include "sim/pure.h"

#define PACKET		1448
#define BUFFER_MAX	4096	/* packets: in the buffer, and ACKs on their way, of one flow */

/* ACKs on their way: when each arrives, and when its packet was sent. */
struct flight {
	u64 due_us[BUFFER_MAX];
	u64 sent_us[BUFFER_MAX];
	u32 head, tail;
};

/* Packets in the buffer, and the number of each one's flow. */
struct buffer {
	u64 sent_us[BUFFER_MAX];
	u8 flow[BUFFER_MAX];
	u32 head, tail;
};

struct flow {
	struct flight flight;
	u32 in_flight;
	u32 delivered;
	u64 repaired_us;		/* until then a loss is being repaired */
	/* ours */
	struct sender sender;
	struct tcp_path path;
	u64 acked_us;			/* the last ACK came */
	/* theirs */
	struct cubic cubic;
	bool starts;
	u64 round_us;
};

/* The first in->ours flows are ours. */
struct drive {
	const struct drive_in *in;
	struct drive_out *out;
	struct flow flow[DRIVE_FLOWS_MAX];
	struct buffer buffer;
	struct path_memory memory;	/* ours are flows of one host */
};

static u32 held(const struct buffer *b)
{
	return b->tail - b->head;
}

/* After every event. */
static void check(struct drive_out *out, const struct flow *f, u32 before, u8 regime)
{
	const struct sender *s = &f->sender;
	const struct tcp_path *p = &f->path;
	u64 level = sender_not_alone(s) ? s->base->level_q16(s) >> 16 : 0;

	out->bad_window += p->cwnd < 2 || p->cwnd > p->cwnd_max || p->ssthresh < 2;
	out->bad_level += s->regime == REGIME_CONTENDED && p->cwnd > before &&
			  p->cwnd > max(level, (u64)2);
	out->bad_growth += s->regime == regime && p->cwnd > before + before / 2 + 2;
}

static void our_ack(struct drive *d, struct flow *f, u64 now_us, u64 sent_us)
{
	struct sender *s = &f->sender;
	struct tcp_path *p = &f->path;
	u32 before = p->cwnd;
	u32 backoffs = s->delay_cut.backoffs;
	u8 regime = s->regime;
	struct rtt_sample sample = {
		.rtt_us = now_us - sent_us,
		.packets = 1,
		.recovering = path_recovering(p),
		.now_us = now_us,
		.silence_us = now_us - f->acked_us,
		.cwnd = p->cwnd,
	};

	f->acked_us = now_us;
	p->una += PACKET;
	p->delivered++;
	p->now_us = now_us;
	p->ticks = now_us * HZ / 1000000;
	p->srtt_us = p->srtt_us ? p->srtt_us - p->srtt_us / 8 + sample.rtt_us / 8 :
				  (u32)sample.rtt_us;
	p->no_undo = false;
	sample.una = p->una;
	if (p->state == PATH_RECOVERY && now_us >= f->repaired_us) {
		sender_complete_cwr(s, p);
		sender_end_repair(s, p, PATH_OPEN);
		p->state = PATH_OPEN;
	}
	d->out->bad_trace += pure_ack(s, p, &sample) != (s->delay_cut.backoffs != backoffs);
	d->out->queue_us = (d->out->queue_us * 255ull + sample.rtt_us - d->in->base_us) / 256;
	check(d->out, f, before, regime);
}

static void our_loss(struct drive *d, struct flow *f)
{
	struct tcp_path *p = &f->path;
	u32 before = p->cwnd;

	p->ssthresh = sender_ssthresh(&f->sender, p);
	d->out->bad_answer += p->ssthresh > max(before, 2u);
	if (sender_count_loss(&f->sender, p, PATH_RECOVERY))
		sender_begin_repair(&f->sender, p, PATH_RECOVERY);
	p->state = PATH_RECOVERY;
	p->cwnd = min(p->cwnd, p->ssthresh);
	d->out->losses++;
	check(d->out, f, before, f->sender.regime);
}

static void cubic_ack(struct flow *f, u64 now_us, u32 base_us)
{
	if (f->starts)
		cubic_start(&f->cubic, f->cubic.window_q16 + Q16_ONE, 0);
	else
		cubic_acked(&f->cubic, 1);
	if (now_us < f->round_us + base_us)
		return;
	if (!f->starts)
		cubic_round(&f->cubic, now_us - f->round_us, base_us);
	f->round_us = now_us;
}

static bool is_ours(const struct drive *d, u32 n)
{
	return n < d->in->ours;
}

static void drop(struct drive *d, u32 n, u64 now_us)
{
	struct flow *f = &d->flow[n];

	if (now_us < f->repaired_us)
		return;
	f->repaired_us = now_us + d->in->base_us;
	if (is_ours(d, n)) {
		our_loss(d, f);
	} else {
		f->starts = false;
		cubic_loss(&f->cubic);
	}
}

static void send(struct drive *d, u32 n, u64 now_us)
{
	struct flow *f = &d->flow[n];
	bool ours = is_ours(d, n);
	u32 cwnd = ours ? f->path.cwnd : f->cubic.window_q16 >> 16;
	u32 burst = 0;

	if (ours && f->sender.departure_ns > now_us * 1000 && sender_below_min_cwnd(&f->sender))
		return;
	f->path.cwnd_limited |= f->in_flight + 1 >= cwnd;
	while (f->in_flight < cwnd && burst++ < 10) {
		struct buffer *b = &d->buffer;

		if (held(b) >= d->in->buffer ||
		    get_random_u32() % 1000000 < d->in->loss_ppm) {
			drop(d, n, now_us);
			break;
		}
		b->sent_us[b->tail % BUFFER_MAX] = now_us;
		b->flow[b->tail % BUFFER_MAX] = n;
		b->tail++;
		f->in_flight++;
		f->path.nxt += PACKET;
	}
	f->path.out_max = max(f->path.out_max, f->in_flight);
}

static void acks(struct drive *d, u32 n, u64 now_us)
{
	struct flow *f = &d->flow[n];
	struct flight *fl = &f->flight;

	while (fl->head != fl->tail && fl->due_us[fl->head % BUFFER_MAX] <= now_us) {
		u64 sent_us = fl->sent_us[fl->head++ % BUFFER_MAX];

		f->in_flight--;
		f->delivered++;
		if (is_ours(d, n))
			our_ack(d, f, now_us, sent_us);
		else
			cubic_ack(f, now_us, d->in->base_us);
	}
}

static void serve(struct drive *d, u64 now_us)
{
	struct buffer *b = &d->buffer;
	struct flight *f;

	if (!held(b))
		return;
	f = &d->flow[b->flow[b->head % BUFFER_MAX]].flight;
	f->due_us[f->tail % BUFFER_MAX] = now_us + d->in->base_us;
	f->sent_us[f->tail % BUFFER_MAX] = b->sent_us[b->head % BUFFER_MAX];
	f->tail++;
	b->head++;
}

static void start(const struct drive_in *in, struct path_memory *memory, struct flow *f)
{
	const struct control_config config = {
		.controller = DALBE_CONTROLLER_WEIGHT,
		.wmin_q16 = in->w_q16,
	};

	f->path = (struct tcp_path) {
		.una = 1, .nxt = 1, .srtt_us = 0, .mss = PACKET, .cwnd = 10, .cwnd_max = 2000,
		.ssthresh = PATH_SSTHRESH_MAX, .state = PATH_OPEN, .now_us = 1,
	};
	f->sender.heuristics.hystart = CDG_HYSTART_TRAIN | CDG_HYSTART_DELAY;
	sender_init(&f->sender, &f->path, 0);
	control_start(&f->sender.control, &config, 0, 0, 0, 0);
	f->sender.heuristics.inflate_beta = in->beta;
	if (!in->base || in->base->shares_path)
		sender_join(&f->sender, memory, f->path.now_us);
	sender_set_base(&f->sender, &f->path, in->base ?: &scavenger_base);
	sender_begin_goal(&f->sender, &f->path);
}

/* CUBIC flows come: each in slow start. */
static void come(struct flow *f)
{
	cubic_start(&f->cubic, 10ull << 16, 0);
	f->starts = true;
}

static u32 delivered(const struct drive *d, bool ours)
{
	u32 n, sum = 0;

	for (n = 0; n < d->in->ours + d->in->theirs; n++)
		if (is_ours(d, n) == ours)
			sum += d->flow[n].delivered;
	return sum;
}

/* How many of ours are in this regime? */
static u32 in_regime(const struct drive *d, u8 regime)
{
	u32 n, count = 0;

	for (n = 0; n < d->in->ours; n++)
		count += d->flow[n].sender.regime == regime;
	return count;
}

static void tick(struct drive *d, u64 now_us, bool there)
{
	u32 n, flows = d->in->ours + d->in->theirs;

	for (n = 0; n < flows; n++)
		acks(d, n, now_us);
	for (n = 0; n < flows; n++)
		if (is_ours(d, n) ? now_us >= d->in->ours_from_ms * 1000ull : there)
			send(d, n, now_us);
	if (!d->in->stall_ms ||
	    now_us / 1000 % (d->in->stall_every_ms ?: 1000) >= d->in->stall_ms)
		serve(d, now_us);
}

static bool passes(u64 now_us, u64 tick_us, u32 ms)
{
	return now_us >= ms * 1000ull && now_us - tick_us < ms * 1000ull;
}

void drive(const struct drive_in *in, struct drive_out *out)
{
	struct drive *d = calloc(1, sizeof(*d));
	u64 tick_us = max(1000000 / in->rate_pps, 1u), now_us, end_us = in->end_ms * 1000ull;
	u64 to_us = in->to_ms * 1000ull;
	u32 half_ms = (in->from_ms + in->to_ms) / 2, ours = 0, theirs = 0, n;
	u32 half[DRIVE_FLOWS_MAX] = {};
	u64 contended_us = 0;

	*out = (struct drive_out) {};
	d->in = in;
	d->out = out;
	pure_seed(in->seed);
	path_memory_init(&d->memory);
	for (n = 0; n < in->ours; n++)
		start(in, &d->memory, &d->flow[n]);
	for (now_us = tick_us; now_us < end_us; now_us += tick_us) {
		if (passes(now_us, tick_us, in->from_ms)) {
			out->alone = delivered(d, true);
			for (n = in->ours; n < in->ours + in->theirs; n++)
				come(&d->flow[n]);
		}
		tick(d, now_us, now_us >= in->from_ms * 1000ull && now_us < to_us);
		/* half of its time is enough to converge */
		if (passes(now_us, tick_us, half_ms)) {
			ours = delivered(d, true);
			theirs = delivered(d, false);
			for (n = 0; n < in->ours; n++)
				half[n] = d->flow[n].delivered;
		}
		if (now_us >= half_ms * 1000ull && now_us < to_us)
			contended_us += tick_us * in_regime(d, REGIME_CONTENDED);
		if (passes(now_us, tick_us, in->to_ms)) {
			out->ours = delivered(d, true) - ours;
			out->theirs = delivered(d, false) - theirs;
			out->after = delivered(d, true);
		}
		if (now_us >= to_us && !out->seen_ms && in_regime(d, REGIME_ALONE))
			out->seen_ms = max((now_us - to_us) / 1000, (u64)1);
	}
	out->contended_ms = contended_us / 1000;
	out->after = delivered(d, true) - out->after;
	out->least = U32_MAX;
	for (n = 0; n < in->ours; n++) {
		out->least = min(out->least, d->flow[n].delivered - half[n]);
		out->most = max(out->most, d->flow[n].delivered - half[n]);
	}
	for (n = 0; n < in->ours; n++)
		out->yields += sender_report(&d->flow[n].sender).yields;
	free(d);
}
