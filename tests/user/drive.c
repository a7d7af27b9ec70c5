// SPDX-License-Identifier: GPL-2.0-only
/*
 * A base on a bottleneck, packet by packet: what kernel/hooks.c does for TCP, and a CUBIC
 * flow that comes and goes (core/cubic.c). Lost packets are sent again at once, so only windows
 * and queues are simulated, not TCP's repair. See pure.h.
 */
#include <stdlib.h>

#include "tests/user/pure.h"

#define PACKET		1448
#define BUFFER_MAX	4096	/* packets: in the buffer, and ACKs on their way, of one flow */

/* ACKs on their way: when each arrives, and when its packet was sent. */
struct flight {
	u64 due_us[BUFFER_MAX];
	u64 sent_us[BUFFER_MAX];
	u32 head, tail;
};

/* Packets in the buffer. */
struct buffer {
	u64 sent_us[BUFFER_MAX];
	bool ours[BUFFER_MAX];
	u32 head, tail;
};

struct drive {
	const struct drive_in *in;
	struct drive_out *out;
	struct sender sender;
	struct tcp_path path;
	struct flight flight[2];	/* [1] is ours */
	struct buffer buffer;
	struct cubic cubic;
	bool cubic_starts;
	u32 in_flight[2];
	u32 delivered[2];
	u64 repaired_us[2];		/* until then a loss is being repaired */
	u64 cubic_round_us;
	u64 acked_us;			/* our last ACK came */
};

static u32 held(const struct buffer *b)
{
	return b->tail - b->head;
}

/* After every event. */
static void check(struct drive *d, u32 before, u8 regime)
{
	struct sender *s = &d->sender;
	struct drive_out *out = d->out;
	u64 level = sender_has_level(s) ? s->base->level_q16(s) >> 16 : 0;

	out->cwnd_min = min(out->cwnd_min, d->path.cwnd);
	out->cwnd_max = max(out->cwnd_max, d->path.cwnd);
	out->bad_window += d->path.cwnd < 2 || d->path.cwnd > d->path.cwnd_max ||
			   d->path.ssthresh < 2;
	out->bad_level += s->regime == REGIME_CONTENDED && d->path.cwnd > before &&
			  d->path.cwnd > max(level, (u64)2);
	out->bad_growth += s->regime == regime && d->path.cwnd > before + before / 2 + 2;
}

static void our_ack(struct drive *d, u64 now_us, u64 sent_us)
{
	struct sender *s = &d->sender;
	struct tcp_path *p = &d->path;
	u32 before = p->cwnd;
	u8 regime = s->regime;
	struct rtt_sample sample = {
		.rtt_us = now_us - sent_us,
		.packets = 1,
		.repairs = path_repairs(p),
		.now_us = now_us,
		.silence_us = now_us - d->acked_us,
		.cwnd = p->cwnd,
	};

	d->acked_us = now_us;
	p->una += PACKET;
	p->delivered++;
	p->now_us = now_us;
	p->clock_ns = now_us * 1000;
	p->ticks = now_us * HZ / 1000000;
	p->in_flight = d->in_flight[1];
	p->srtt_us = p->srtt_us ? p->srtt_us - p->srtt_us / 8 + sample.rtt_us / 8 :
				  (u32)sample.rtt_us;
	p->no_undo = false;
	sample.una = p->una;
	if (p->state == PATH_RECOVERY && now_us >= d->repaired_us[1]) {
		p->state = PATH_OPEN;
		sender_reduced(s, p);
	}
	pure_ack(s, p, &sample);
	d->out->yields = sender_scavenger(s) ? s->scavenger.regime.yields : 0;
	d->out->queue_us = (d->out->queue_us * 255ull + sample.rtt_us - d->in->base_us) / 256;
	check(d, before, regime);
}

static void our_loss(struct drive *d, u64 now_us)
{
	struct tcp_path *p = &d->path;
	u32 before = p->cwnd;

	if (now_us < d->repaired_us[1])
		return;
	d->repaired_us[1] = now_us + d->in->base_us;
	p->ssthresh = sender_loss(&d->sender, p);
	d->out->bad_answer += p->ssthresh > max(before, 2u);
	if (sender_met_loss(&d->sender, p, PATH_RECOVERY))
		sender_repair(&d->sender, p, PATH_RECOVERY);
	p->state = PATH_RECOVERY;
	p->cwnd = min(p->cwnd, p->ssthresh);
	d->out->losses++;
	check(d, before, d->sender.regime);
}

static void cubic_ack(struct drive *d, u64 now_us)
{
	if (d->cubic_starts)
		cubic_start(&d->cubic, d->cubic.window_q16 + Q16_ONE, 0);
	else
		cubic_acked(&d->cubic, 1);
	if (now_us < d->cubic_round_us + d->in->base_us)
		return;
	if (!d->cubic_starts)
		cubic_round(&d->cubic, now_us - d->cubic_round_us, d->in->base_us);
	d->cubic_round_us = now_us;
}

static void drop(struct drive *d, bool ours, u64 now_us)
{
	if (ours) {
		our_loss(d, now_us);
	} else if (now_us >= d->repaired_us[0]) {
		d->repaired_us[0] = now_us + d->in->base_us;
		d->cubic_starts = false;
		cubic_loss(&d->cubic);
	}
}

static void send(struct drive *d, bool ours, u64 now_us)
{
	u32 cwnd = ours ? d->path.cwnd : d->cubic.window_q16 >> 16;
	u32 burst = 0;

	if (ours && d->sender.departure_ns > now_us * 1000 && sender_below_two(&d->sender))
		return;
	d->path.used |= ours && d->in_flight[1] + 1 >= cwnd;
	while (d->in_flight[ours] < cwnd && burst++ < 10) {
		struct buffer *b = &d->buffer;

		if (held(b) >= d->in->buffer ||
		    get_random_u32() % 1000000 < d->in->loss_ppm) {
			drop(d, ours, now_us);
			break;
		}
		b->sent_us[b->tail % BUFFER_MAX] = now_us;
		b->ours[b->tail % BUFFER_MAX] = ours;
		b->tail++;
		d->in_flight[ours]++;
		if (ours)
			d->path.nxt += PACKET;
	}
	if (ours)
		d->path.out_max = max(d->path.out_max, d->in_flight[1]);
}

static void acks(struct drive *d, bool ours, u64 now_us)
{
	struct flight *f = &d->flight[ours];

	while (f->head != f->tail && f->due_us[f->head % BUFFER_MAX] <= now_us) {
		u64 sent_us = f->sent_us[f->head++ % BUFFER_MAX];

		d->in_flight[ours]--;
		d->delivered[ours]++;
		if (ours)
			our_ack(d, now_us, sent_us);
		else
			cubic_ack(d, now_us);
	}
}

static void serve(struct drive *d, u64 now_us)
{
	struct buffer *b = &d->buffer;
	struct flight *f;

	if (!held(b))
		return;
	f = &d->flight[b->ours[b->head % BUFFER_MAX]];
	f->due_us[f->tail % BUFFER_MAX] = now_us + d->in->base_us;
	f->sent_us[f->tail % BUFFER_MAX] = b->sent_us[b->head % BUFFER_MAX];
	f->tail++;
	b->head++;
}

static void start(struct drive *d)
{
	const struct control_config config = {
		.controller = DALBE_CONTROLLER_WEIGHT,
		.wmin_q16 = d->in->w_q16,
	};

	d->path = (struct tcp_path) {
		.una = 1, .nxt = 1, .srtt_us = 0, .mss = PACKET, .cwnd = 10, .cwnd_max = 2000,
		.ssthresh = PATH_SSTHRESH_MAX, .state = PATH_OPEN, .now_us = 1,
	};
	d->out->cwnd_min = U32_MAX;
	d->sender.h.hystart = CDG_HYSTART_TRAIN | CDG_HYSTART_DELAY;
	sender_init(&d->sender, &d->path, 0);
	control_start(&d->sender.control, &config, 0, 0, 0, 0);
	d->sender.h.inflate_beta = d->in->beta;
	sender_run(&d->sender, &d->path, d->in->vegas ? &vegas_base :
		   d->in->cubic ? &cubic_base : &scavenger_base);
	d->sender.base->steer(&d->sender, 0);
}

static bool passes(u64 now_us, u64 tick_us, u32 ms)
{
	return now_us >= ms * 1000ull && now_us - tick_us < ms * 1000ull;
}

void drive(const struct drive_in *in, struct drive_out *out)
{
	struct drive *d = calloc(1, sizeof(*d));
	u64 tick_us = max(1000000 / in->rate_pps, 1u), now_us, end_us = in->end_ms * 1000ull;
	u32 before[2] = {};

	memset(out, 0, sizeof(*out));
	d->in = in;
	d->out = out;
	pure_seed(in->seed);
	start(d);
	for (now_us = tick_us; now_us < end_us; now_us += tick_us) {
		bool there = now_us >= in->from_ms * 1000ull && now_us < in->to_ms * 1000ull;
		bool stalls = in->stall_ms && now_us / 1000 % 1000 < in->stall_ms;

		if (there && !d->cubic.window_q16) {
			cubic_start(&d->cubic, 10ull << 16, 0);
			d->cubic_starts = true;
			memcpy(before, d->delivered, sizeof(before));
			out->alone = d->delivered[1];
		}
		acks(d, true, now_us);
		acks(d, false, now_us);
		send(d, true, now_us);
		if (there)
			send(d, false, now_us);
		if (!stalls)
			serve(d, now_us);
		/* half of its time is enough to converge */
		if (passes(now_us, tick_us, (in->from_ms + in->to_ms) / 2))
			memcpy(before, d->delivered, sizeof(before));
		if (passes(now_us, tick_us, in->to_ms)) {
			out->ours = d->delivered[1] - before[1];
			out->theirs = d->delivered[0] - before[0];
			out->after = d->delivered[1];
		}
	}
	out->after = d->delivered[1] - out->after;
	free(d);
}
