// SPDX-License-Identifier: GPL-2.0-only
/*
 * What Linux' TCP does at each event, and kernel/hooks.c with it: SACK, loss detection by RACK-TLP
 * (RFC 8985), proportional rate reduction (RFC 6937), retransmission timeouts (RFC 6298), pacing.
 *
 * Not simulated: that a spurious timeout or loss is undone (F-RTO, DSACK), segments of several
 * packets, and the receiver's window.
 */
#include <stdlib.h>

#include "sim/tcp.h"

#define US(ns)		((ns) / 1000)

/* Given by Linux: timeouts and probes, and the packets that its pacing lets leave at once. */
#define TCP_RTO_MIN_US		200000u
#define TCP_RTO_INIT_US		1000000u
#define TCP_RTO_MAX_US		120000000u
#define TCP_PROBE_LEAST_US	2000u
#define TCP_DUP_THRESHOLD	3
#define TCP_PACING_FREE		10
#define TCP_PACING_BURST	2u
#define TCP_INITIAL_WINDOW	10
/* net.ipv4.tcp_pacing_ss_ratio and _ca_ratio, a tenth of a window per RTT */
#define TCP_PACING_START	20
#define TCP_PACING_AFTER	12

/**
 * tcp_alloc - room for a connection
 * @f: zeroed
 * @n: its number
 * @window: packets that it is to hold at most
 *
 * Return: false: there is no memory.
 */
bool tcp_alloc(struct flow *f, u32 n, u32 window)
{
	u32 size = 256;

	while (size < 2 * window)
		size *= 2;
	f->n = n;
	f->mask = size - 1;
	f->tx = malloc(size * sizeof(*f->tx));
	f->got = malloc(size * sizeof(*f->got));
	f->lost = malloc(size * sizeof(*f->lost));
	f->path.cwnd_max = window;
	tcp_close(f);
	return f->tx && f->got && f->lost;
}

/**
 * tcp_free - end of what tcp_alloc() began
 * @f: the flow
 */
void tcp_free(struct flow *f)
{
	free(f->tx);
	free(f->got);
	free(f->lost);
}

/**
 * tcp_open - a connection has been established, and is to send
 * @f: a flow that is not open
 * @base: its congestion control, which is to be configured
 * @rtt_us: of its handshake
 * @now_ns: the clock
 */
void tcp_open(struct flow *f, const struct lbe_base *base, u32 rtt_us, u64 now_ns)
{
	memset(f->got, 0, f->mask + 1);
	memset(&f->sender, 0, sizeof(f->sender));
	f->open = true;
	f->retransmitted = false;
	f->probed = false;
	f->backoff = 0;
	f->in_flight = 0;
	f->una = 0;
	f->nxt = 0;
	f->delivered = 0;
	f->tx_first = f->tx_nxt;
	f->tx_una = f->tx_nxt;
	f->lost_head = 0;
	f->lost_tail = 0;
	f->usage_seq = 0;
	f->pace_ns = 0;
	f->acked_ns = now_ns;
	f->srtt8_us = rtt_us * 8;
	f->mdev_us = rtt_us / 2;
	f->path = (struct tcp_path) {
		.una = 1, .nxt = 1, .srtt_us = max(rtt_us, 1u), .mss = PACKET,
		.cwnd = TCP_INITIAL_WINDOW, .cwnd_max = f->path.cwnd_max,
		.ssthresh = PATH_SSTHRESH_MAX, .state = PATH_OPEN, .now_us = US(now_ns) + 1,
		.ticks = US(now_ns) * HZ / 1000000,
	};
	sender_init(&f->sender, &f->path, 0);
	f->sender.heuristics.hystart = CDG_HYSTART_TRAIN | CDG_HYSTART_DELAY;
	sender_set_base(&f->sender, &f->path, base);
}

/**
 * tcp_close - it sends no more, nor again
 * @f: the flow
 */
void tcp_close(struct flow *f)
{
	f->open = false;
	f->send_ns = NEVER;
	f->alarm_ns = NEVER;
	f->reorder_ns = NEVER;
}

static void tcp_clock(struct flow *f, u64 now_ns)
{
	f->path.now_us = US(now_ns) + 1;
	f->path.ticks = f->path.now_us * HZ / 1000000;
}

/* Does the receiver hold packets out of order? */
static bool tcp_sacked(const struct flow *f)
{
	return f->delivered > f->una;
}

static struct tx *tcp_tx(const struct flow *f, u32 serial)
{
	return &f->tx[serial & f->mask];
}

static void tcp_set_alarm(struct flow *f, u64 now_ns)
{
	u32 srtt_us = f->srtt8_us / 8;
	u32 rto_us = srtt_us + max(4 * f->mdev_us, TCP_RTO_MIN_US);
	u32 probe_us = 2 * srtt_us + (f->in_flight == 1 ? TCP_RTO_MIN_US : TCP_PROBE_LEAST_US);

	rto_us = min_t(u64, (u64)rto_us << f->backoff, TCP_RTO_MAX_US);
	f->alarm_probe = f->path.state == PATH_OPEN && !f->probed && !tcp_sacked(f) &&
			 probe_us < rto_us;
	f->alarm_ns = now_ns + (f->alarm_probe ? probe_us : rto_us) * 1000ull;
}

/* As Linux' tcp_cwnd_validate(). */
static void tcp_validate_window(struct flow *f, bool limited)
{
	struct tcp_path *p = &f->path;
	u32 out = f->nxt - f->una;

	if (f->una < f->usage_seq && !limited && (p->cwnd_limited || out <= p->out_max))
		return;
	p->cwnd_limited = limited;
	p->out_max = out;
	f->usage_seq = f->nxt;
}

/* As Linux' tcp_update_pacing_rate(): between two packets, ns. */
static u64 tcp_pacing_gap_ns(const struct flow *f)
{
	const struct tcp_path *p = &f->path;
	u32 tenths = p->cwnd < p->ssthresh / 2 ? TCP_PACING_START : TCP_PACING_AFTER;

	return f->srtt8_us * 1250ull / ((u64)max(p->cwnd, f->nxt - f->una) * tenths);
}

/* Packets that TCP sends as one segment: those of a millisecond. */
static u32 tcp_burst(u64 gap_ns)
{
	return max((u32)(NSEC_PER_MSEC / max_t(u64, gap_ns, 1)), TCP_PACING_BURST);
}

static void tcp_transmit(struct flow *f, struct link *l, u32 seq, bool again, u64 now_ns)
{
	*tcp_tx(f, f->tx_nxt) = (struct tx) {
		.sent_ns = now_ns, .serial = f->tx_nxt, .seq = seq, .again = again,
	};
	link_send(l, f->n, f->tx_nxt++, now_ns);
	if (!f->in_flight++)
		tcp_set_alarm(f, now_ns);
	f->prr_out++;
	f->retransmitted |= again;
}

static void tcp_transmit_next(struct flow *f, struct link *l, u64 now_ns)
{
	struct tcp_path *p = &f->path;

	if (f->nxt == f->una) {
		p->idle_ticks = f->tx_nxt == f->tx_first ? 0 :
				p->ticks - US(tcp_tx(f, f->tx_nxt - 1)->sent_ns) * HZ / 1000000;
		sender_tell_base(&f->sender, p, BASE_TX_START);
		p->idle_ticks = 0;
	}
	tcp_transmit(f, l, f->nxt++, false, now_ns);
	p->nxt += PACKET;
}

/* Is there a packet to be sent again? Those that came after all are not. */
static bool tcp_lost(struct flow *f)
{
	while (f->lost_head != f->lost_tail) {
		u32 seq = f->lost[f->lost_head & f->mask];

		if (seq >= f->una && !f->got[seq & f->mask])
			return true;
		f->lost_head++;
	}
	return false;
}

static bool tcp_has_data(const struct flow *f)
{
	return (!f->last || f->nxt < f->last) && f->nxt - f->una < f->mask &&
	       f->tx_nxt - f->tx_una < f->mask;
}

/* When may the next packet leave, ns? @again: it was sent before. */
static u64 tcp_departure_ns(const struct flow *f, bool again)
{
	const struct sender *s = &f->sender;

	if (sender_below_min_cwnd(s))
		return again || f->path.state >= PATH_RECOVERY ? 0 : s->departure_ns;
	return pure_paced(&f->sender) ? f->pace_ns : 0;
}

/**
 * tcp_send - send what window, pacing and w allow
 * @f: the flow
 * @l: its path
 * @now_ns: the clock
 */
void tcp_send(struct flow *f, struct link *l, u64 now_ns)
{
	u32 sent = 0, burst = 0;
	u64 gap_ns = 0;

	f->send_ns = NEVER;
	if (!f->open)
		return;
	while (f->in_flight < f->path.cwnd) {
		bool again = tcp_lost(f);

		if (!again && !tcp_has_data(f))
			break;
		if (!burst) {
			u64 departure_ns = tcp_departure_ns(f, again);

			if (departure_ns > now_ns) {
				f->send_ns = departure_ns;
				break;
			}
			gap_ns = pure_paced(&f->sender) ? tcp_pacing_gap_ns(f) : 0;
			burst = gap_ns ? tcp_burst(gap_ns) : 1;
			/* being late is made good by half of the time, as in Linux */
			if (gap_ns && f->tx_nxt - f->tx_first >= TCP_PACING_FREE)
				f->pace_ns = max(f->pace_ns, now_ns - gap_ns * burst / 2);
		}
		burst--;
		if (gap_ns && f->tx_nxt - f->tx_first >= TCP_PACING_FREE)
			f->pace_ns += gap_ns;
		if (again)
			tcp_transmit(f, l, f->lost[f->lost_head++ & f->mask], true, now_ns);
		else
			tcp_transmit_next(f, l, now_ns);
		sent++;
	}
	if (sent || f->in_flight >= f->path.cwnd)
		tcp_validate_window(f, f->in_flight >= f->path.cwnd);
}

/* After each time that the sender set the window. */
static void tcp_check(const struct flow *f, u32 before, u8 regime)
{
	const struct sender *s = &f->sender;
	const struct tcp_path *p = &f->path;
	u64 level = sender_not_alone(s) ? s->base->level_q16(s) >> 16 : 0;

	f->out->bad_window += (p->cwnd < 2 && p->state != PATH_LOSS) || p->cwnd > p->cwnd_max ||
			      p->ssthresh < 2;
	f->out->bad_level += s->regime == REGIME_CONTENDED && p->cwnd > before &&
			     p->cwnd > max(level, (u64)2);
	f->out->bad_growth += s->regime == regime && p->cwnd > before + before / 2 + 2;
}

/* As Linux' tcp_rtt_estimator(). */
static void tcp_take_rtt(struct flow *f, u32 rtt_us)
{
	s32 error_us = rtt_us - f->srtt8_us / 8;

	f->srtt8_us = max(f->srtt8_us - f->srtt8_us / 8 + rtt_us, 8u);
	f->mdev_us = f->mdev_us - f->mdev_us / 4 + (error_us < 0 ? -error_us : error_us) / 4;
	f->path.srtt_us = f->srtt8_us / 8;
}

static u32 tcp_ask_ssthresh(struct flow *f)
{
	u32 before = f->path.cwnd;

	f->path.ssthresh = sender_ssthresh(&f->sender, &f->path);
	if (f->out) {
		f->out->bad_answer += f->path.ssthresh > max(before, 2u);
		f->out->losses++;
	}
	return before;
}

static void tcp_begin_repair(struct flow *f, u8 state)
{
	if (sender_count_loss(&f->sender, &f->path, state))
		sender_begin_repair(&f->sender, &f->path, state);
	f->path.state = state;
	f->high = f->nxt;
	f->retransmitted = false;
}

static void tcp_enter_recovery(struct flow *f)
{
	f->prior_cwnd = tcp_ask_ssthresh(f);
	f->prr_delivered = 0;
	f->prr_out = 0;
	tcp_begin_repair(f, PATH_RECOVERY);
}

static void tcp_leave_for(struct flow *f, u8 state)
{
	sender_end_repair(&f->sender, &f->path, state);
	f->path.state = state;
}

/* As Linux' tcp_end_cwnd_reduction(). */
static void tcp_end_reduction(struct flow *f)
{
	f->path.cwnd = f->path.ssthresh;
	sender_complete_cwr(&f->sender, &f->path);
}

/* A tail loss probe has repaired the only loss: Linux' tcp_process_tlp_ack(). */
static void tcp_answer_probe(struct flow *f)
{
	tcp_ask_ssthresh(f);
	tcp_begin_repair(f, PATH_CWR);
	tcp_end_reduction(f);
	tcp_leave_for(f, PATH_OPEN);
}

/* RFC 6937, as Linux' tcp_cwnd_reduction(). */
static void tcp_reduce(struct flow *f, u32 delivered, bool lost)
{
	struct tcp_path *p = &f->path;
	s32 delta = p->ssthresh - f->in_flight, more;

	if (!delivered)
		return;
	f->prr_delivered += delivered;
	if (delta < 0)
		more = DIV_ROUND_UP((u64)p->ssthresh * f->prr_delivered, f->prior_cwnd) -
		       f->prr_out;
	else
		more = min(delta, (s32)max_t(s32, f->prr_delivered - f->prr_out, delivered) +
				  !lost);
	p->cwnd = f->in_flight + max(more, f->prr_out ? 0 : 1);
}

/* Return: false: another transmission of the packet has been delivered. */
static bool tcp_mark_lost(struct flow *f, const struct tx *tx)
{
	f->in_flight--;
	if (tx->seq < f->una || f->got[tx->seq & f->mask])
		return false;
	f->lost[f->lost_tail++ & f->mask] = tx->seq;
	return true;
}

/* RACK: as packets do not pass each other, those sent before @last, which was delivered, are lost;
 * but Linux does not know that, and waits for three packets or a quarter of an RTT, unless it
 * repairs a loss already. Return: one was lost.
 */
static bool tcp_detect(struct flow *f, const struct tx *last, u64 now_ns)
{
	u32 enough = f->path.state >= PATH_RECOVERY ? 1 : TCP_DUP_THRESHOLD;
	u64 wait_ns = f->base_us * 250ull, rtt_ns = now_ns - last->sent_ns;
	bool lost = false;

	f->reorder_ns = NEVER;
	while (f->tx_una != f->tx_nxt) {
		struct tx *tx = tcp_tx(f, f->tx_una);

		if (!tx->delivered) {
			if ((s32)(last->serial - f->tx_una) <= 0)
				break;
			if (last->serial - f->tx_una < enough &&
			    now_ns < tx->sent_ns + rtt_ns + wait_ns) {
				f->reorder_ns = tx->sent_ns + rtt_ns + wait_ns;
				break;
			}
			lost |= tcp_mark_lost(f, tx);
		}
		f->tx_una++;
	}
	return lost;
}

/* What an ACK is to TCP, before it has drawn conclusions from it. */
struct arrival {
	struct rtt_sample sample;
	struct rtt_doubts doubts;
	u32 delivered;
	u32 acked;
	bool lost;
	bool probed;
};

/* Return: false: it is of the flow before, or from before a timeout long ago. */
static bool tcp_deliver(struct flow *f, u32 serial, struct arrival *a)
{
	struct tx *tx = tcp_tx(f, serial);

	if (tx->serial != serial || (s32)(serial - f->tx_first) < 0)
		return false;
	if ((s32)(serial - f->tx_una) >= 0 && !tx->delivered)
		f->in_flight--;
	tx->delivered = true;
	if (tx->seq >= f->una && !f->got[tx->seq & f->mask]) {
		f->got[tx->seq & f->mask] = true;
		f->delivered++;
		f->total++;
		f->path.delivered++;
		a->delivered++;
		while (f->got[f->una & f->mask])
			f->got[f->una++ & f->mask] = false;
	}
	return true;
}

static bool tcp_receive(struct flow *f, const struct ack *ack, struct arrival *a)
{
	struct tx *tx = tcp_tx(f, ack->serial);
	u32 before = f->una;
	bool again = tx->again;

	if (ack->both)
		tcp_deliver(f, ack->serial - 1, a);
	if (!tcp_deliver(f, ack->serial, a))
		return false;
	a->acked = f->una - before;
	f->path.una += a->acked * PACKET;
	a->sample.rtt_us = again ? -1 : (s32)US(ack->due_ns - tx->sent_ns);
	if (again && a->acked)	/* Karn: timestamps tell, in ms */
		a->sample.rtt_us = max(US(US(ack->due_ns)) - US(US(tx->sent_ns)), 1ull) * 1000;
	a->lost = tcp_detect(f, tx, ack->due_ns);
	a->doubts.tsval = (f->lies ? US(tx->sent_ns) + 77000 : ack->received_us) / 1000;
	if (f->probed && f->una >= f->probe_high) {
		f->probed = false;
		a->probed = f->probe_again;
	}
	return true;
}

/* As Linux' tcp_fastretrans_alert(). */
static void tcp_judge(struct flow *f, const struct arrival *a)
{
	struct tcp_path *p = &f->path;
	u8 quiet;

	if (a->probed && p->state < PATH_CWR && !a->lost && f->una == f->nxt) {
		tcp_answer_probe(f);
		return;
	}
	if (p->state >= PATH_RECOVERY && f->una >= f->high) {
		bool reduced = p->state == PATH_RECOVERY;

		tcp_leave_for(f, PATH_OPEN);
		if (reduced)
			tcp_end_reduction(f);
		f->retransmitted = false;
	}
	if (a->lost && p->state < PATH_RECOVERY) {
		tcp_enter_recovery(f);
		return;
	}
	quiet = tcp_sacked(f) ? PATH_DISORDER : PATH_OPEN;
	if (p->state < PATH_CWR && p->state != quiet)
		tcp_leave_for(f, quiet);
}

static bool tcp_grow(struct flow *f, u32 packets)
{
	u32 before = f->path.cwnd;
	u8 regime = f->sender.regime;
	bool traced = pure_avoid(&f->sender, &f->path, packets);

	if (f->out)
		tcp_check(f, before, regime);
	return traced;
}

/* An ACK amid a window in order, as most are. */
static bool tcp_ack_quickly(struct flow *f, const struct arrival *a)
{
	u32 before = f->path.cwnd;
	u8 regime = f->sender.regime;
	bool traced = pure_ack_doubts(&f->sender, &f->path, &a->sample, &a->doubts);

	tcp_check(f, before, regime);
	return traced;
}

/* The same as pure_ack_doubts(), but TCP's state changes in its midst. */
static bool tcp_ack_slowly(struct flow *f, const struct arrival *a)
{
	struct tcp_path *p = &f->path;

	pure_acked_doubts(&f->sender, p, &a->sample, &a->doubts);
	tcp_judge(f, a);
	if (p->state == PATH_RECOVERY)
		tcp_reduce(f, a->delivered, a->lost);
	else if (a->acked)
		return tcp_grow(f, a->delivered);
	return false;
}

/**
 * tcp_ack - an ACK comes
 * @f: the flow
 * @l: its path
 * @ack: what it tells
 */
void tcp_ack(struct flow *f, struct link *l, const struct ack *ack)
{
	struct sender *s = &f->sender;
	struct tcp_path *p = &f->path;
	u32 backoffs = s->delay_cut.backoffs;
	struct arrival a = {};
	bool traced;

	if (!f->open)
		return;
	tcp_clock(f, ack->due_ns);
	if (!tcp_receive(f, ack, &a))
		return;
	if (a.sample.rtt_us > 0)
		tcp_take_rtt(f, a.sample.rtt_us);
	a.sample.now_us = p->now_us;
	a.sample.packets = a.acked;
	a.sample.una = p->una;
	a.sample.cwnd = p->cwnd;
	a.sample.sacked = tcp_sacked(f);
	a.sample.recovering = path_recovering(p);
	a.sample.silence_us = US(ack->due_ns - f->acked_ns);
	a.sample.burst_us = USEC_PER_MSEC;
	a.doubts.timestamp = f->tells_time;
	a.doubts.single = l->receiver && a.acked == 1;
	a.doubts.retransmitted = f->retransmitted || f->probed;
	f->acked_ns = ack->due_ns;
	p->no_undo = false;
	if (a.acked)
		f->backoff = 0;
	if (f->out && p->state == PATH_OPEN && a.acked && !a.sample.sacked && !a.lost && !a.probed)
		traced = tcp_ack_quickly(f, &a);
	else
		traced = tcp_ack_slowly(f, &a);
	if (f->out) {
		f->out->bad_trace += traced != (s->delay_cut.backoffs != backoffs);
		if (a.sample.rtt_us > 0)
			f->out->queue_us = (f->out->queue_us * 255ull +
					    max(a.sample.rtt_us - (s32)f->base_us, 0)) / 256;
	}
	if (l->receiver && !a.sample.sacked && f->lost_head == f->lost_tail)
		link_repaired(l, f->n, ack->serial);
	if (f->in_flight || f->lost_head != f->lost_tail)
		tcp_set_alarm(f, ack->due_ns);
	else
		f->alarm_ns = NEVER;
	tcp_send(f, l, ack->due_ns);
}

/* A tail loss probe: a new packet, or the last one again. */
static void tcp_probe(struct flow *f, struct link *l, u64 now_ns)
{
	f->probed = true;
	f->probe_again = !tcp_has_data(f);
	if (f->probe_again)
		tcp_transmit(f, l, f->nxt - 1, true, now_ns);
	else
		tcp_transmit_next(f, l, now_ns);
	f->probe_high = f->nxt;
	tcp_set_alarm(f, now_ns);
}

/* As Linux' tcp_enter_loss(): all that was not delivered is lost. */
static void tcp_timeout(struct flow *f, u64 now_ns)
{
	struct tcp_path *p = &f->path;
	u32 seq;

	if (p->state < PATH_RECOVERY || f->una >= f->high ||
	    (p->state == PATH_LOSS && !f->retransmitted))
		tcp_ask_ssthresh(f);
	f->in_flight = 0;
	f->tx_una = f->tx_nxt;
	f->lost_head = 0;
	f->lost_tail = 0;
	for (seq = f->una; seq != f->nxt; seq++)
		if (!f->got[seq & f->mask])
			f->lost[f->lost_tail++ & f->mask] = seq;
	p->cwnd = 1;
	p->cwnd_cnt = 0;
	tcp_begin_repair(f, PATH_LOSS);
	f->probed = false;
	f->reorder_ns = NEVER;
	f->backoff = min(f->backoff + 1, 15);
	tcp_set_alarm(f, now_ns);
}

/* Packets that RACK has waited for did not come. */
static void tcp_reorder_timeout(struct flow *f, u64 now_ns)
{
	u32 serial = f->tx_nxt;
	struct arrival a = { .lost = true };

	f->reorder_ns = NEVER;
	while (serial != f->tx_una && !tcp_tx(f, serial - 1)->delivered)
		serial--;
	while (f->tx_una != serial) {
		struct tx *tx = tcp_tx(f, f->tx_una++);

		if (!tx->delivered)
			tcp_mark_lost(f, tx);
	}
	tcp_judge(f, &a);
	if (f->path.state == PATH_RECOVERY)
		tcp_reduce(f, 1, true);
	tcp_set_alarm(f, now_ns);
}

/**
 * tcp_timer - tcp_wake_ns() has come
 * @f: the flow
 * @l: its path
 * @now_ns: the clock
 */
void tcp_timer(struct flow *f, struct link *l, u64 now_ns)
{
	if (!f->open)
		return;
	tcp_clock(f, now_ns);
	if (now_ns >= f->reorder_ns) {
		tcp_reorder_timeout(f, now_ns);
	} else if (now_ns >= f->alarm_ns) {
		if (!f->in_flight && f->lost_head == f->lost_tail)
			f->alarm_ns = NEVER;
		else if (f->alarm_probe)
			tcp_probe(f, l, now_ns);
		else
			tcp_timeout(f, now_ns);
	}
	tcp_send(f, l, now_ns);
}
