/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Linux' CUBIC: see cubictcp.c; and what base_cubic.c knows of the network's price.
 */
#ifndef DALBE_CUBICTCP_H
#define DALBE_CUBICTCP_H

#include "cdg.h"

/* Given by Linux: C is 410/1024 packets/s^3, and the curve's times are in 1/1024 s. From 16 packets
 * on slow start ends by the ACK train, whose ACKs are 2 ms apart at most, or where the lowest of
 * eight RTTs is an eighth above the lowest ever, 4 to 16 ms. The window grows by a packet for no
 * more than 100 windows, and before the first loss for no more than 20 packets; for two at least.
 */
#define CUBICTCP_C_SHIFT	40
#define CUBICTCP_C		410
#define CUBICTCP_HYSTART_CWND	16
#define CUBICTCP_HYSTART_RTTS	8
#define CUBICTCP_TRAIN_GAP_US	2000
#define CUBICTCP_DELAY_MIN_US	4000
#define CUBICTCP_DELAY_MAX_US	16000
#define CUBICTCP_PER_WINDOWS	100
#define CUBICTCP_PER_NEW	20U
#define CUBICTCP_PER_LEAST	2U

/* 256 s: there the curve is 6.7 million packets away. A bound of arithmetic. */
#define CUBICTCP_TIME_MAX	BIT(18)

/* Real signals are recent for three times their mean distance, v, the paper's. Half: one in four
 * pauses between two losses passes for an idle link. Twice: an idle link is found later.
 */
#define CUBICTCP_RECENT		3

/* While the price is not known one packet in four, at most, gets a phantom signal: the paper's. A
 * window of ten is cut in nearly every round then. Half: in three rounds of four. Twice: so is one
 * of two packets, the least.
 */
#define CUBICTCP_UNKNOWN_Q32	BIT(30)

/* The distance of real signals is a mean over eight, as CDG's gradients are. Half: phantom signals
 * follow single losses. Twice: a flow that has a loss in three seconds learns in a minute what
 * others' coming has changed.
 */
#define CUBICTCP_SIGNALS	8

/* Of the paper's model, given by RFC 9438, section 5: (C (3 + b) / (4 (1 - b)))^1/3 per us of RTT,
 * in Q40.
 */
#define CUBICTCP_MODEL_Q40	1179786

/**
 * struct cubictcp_curve - as Linux has it; a timeout forgets all
 * @per: packets to be acknowledged for one more
 * @max: W_max, packets; 0: no loss so far
 * @cwnd: the window that @per was computed for
 * @tick: and when
 * @origin: window at which the curve is flat
 * @k: when it gets there, 1/1024 s after @epoch
 * @delay_us: lowest RTT; 0: none yet
 * @epoch: when the curve began, in ticks; 0: it begins with the next ACK
 * @acked: packets, not yet counted in @reno
 * @reno: the window of the Reno flow
 * @found: slow start's end
 */
struct cubictcp_curve {
	u32 per;
	u32 max;
	u32 cwnd;
	u32 tick;
	u32 origin;
	u32 k;
	u32 delay_us;
	u32 epoch;
	u32 acked;
	u32 reno;
	bool found;
};

/**
 * struct cubictcp_train - one round of slow start
 * @end: sequence number whose ACK ends it
 * @start_us: when it began, TCP's clock
 * @last_us: the last ACK of the train
 * @rtt_us: lowest RTT
 * @rtts: of them, up to CUBICTCP_HYSTART_RTTS
 */
struct cubictcp_train {
	u32 end;
	u32 start_us;
	u32 last_us;
	u32 rtt_us;
	u8 rtts;
};

/**
 * struct cubictcp_signals - losses and marks, the price
 * @last_us: when the last came, or when they ceased
 * @last_delivered: path.delivered then
 * @count: that the means are of
 * @recent: they have not ceased
 * @time_us: mean distance in time, tau_cong
 * @packets_q8: in packets, the inverse of P[loss]
 */
struct cubictcp_signals {
	u64 last_us;
	u32 last_delivered;
	u8 count;
	bool recent;
	u64 time_us;
	u64 packets_q8;
};

/**
 * struct cubictcp - Linux' CUBIC of one flow
 * @mu_q16: mu = w * phi, at most 1, and phi of CUBIC is 1; 0: no controller sets it
 * @curve: the window's
 * @train: slow start's
 * @signals: what the network charges
 */
struct cubictcp {
	u32 mu_q16;
	struct cubictcp_curve curve;
	struct cubictcp_train train;
	struct cubictcp_signals signals;
};

struct rtt_sample;
struct tcp_path;

u32 cubictcp_root(u64 a);
void cubictcp_begin(struct cubictcp *c, const struct tcp_path *p);
enum cdg_hystart cubictcp_hystart(struct cubictcp *c, struct tcp_path *p,
				  const struct rtt_sample *sample, u8 detect);
void cubictcp_grow(struct cubictcp *cubic, struct tcp_path *p, u32 acked);
u32 cubictcp_cut(struct cubictcp *cubic, u32 cwnd);
void cubictcp_resume(struct cubictcp *cubic, const struct tcp_path *p);

#endif /* DALBE_CUBICTCP_H */
