/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Linux' CUBIC: see cubictcp.c.
 */
#ifndef DALBE_CUBICTCP_H
#define DALBE_CUBICTCP_H

#include "core/base.h"

/* Given by Linux: C is 410/1024 packets/s^3, and the curve's times are in 1/1024 s. From 16 packets
 * on slow start ends by the ACK train, whose ACKs are 2 ms apart at most, or where the lowest of
 * more than eight RTTs is an eighth above the lowest ever, 4 to 16 ms. The window grows by a packet
 * for no more than 100 windows, and before the first loss for no more than 20 packets; for two at
 * least.
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

/* Of the paper's model, given by RFC 9438, section 5: (C (3 + b) / (4 (1 - b)))^1/3 per us of RTT,
 * in Q40, with Linux' C = 410/1024 and b = 717/1024; the RFC's 0.4 and 0.7 give 0.06 % less.
 */
#define CUBICTCP_MODEL_Q40	1179786

/**
 * struct cubictcp_curve - as Linux has it; a timeout forgets all
 * @per: packets to be acknowledged for one more
 * @max: W_max, packets; 0: no loss so far
 * @cwnd: the window that @per was computed for
 * @tick: path_ticks() at that time
 * @origin: window at which the curve is flat
 * @k: when it gets there, 1/1024 s after @epoch
 * @delay_us: lowest RTT; 0: none yet
 * @epoch: when the curve began, in ticks; 0: it begins with the next ACK
 * @acked: packets, not yet counted in @reno
 * @reno: the window of the Reno flow
 * @found: slow start's end has been found
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
 * struct cubictcp_train - a round of slow start, and the train of ACKs that it began with
 * @end: sequence number whose ACK ends it
 * @start_us: when it began, TCP's clock
 * @last_us: when the last ACK of the train came, TCP's clock; at first @start_us
 * @rtt_us: lowest RTT of the round
 * @rtts: RTTs so far, up to CUBICTCP_HYSTART_RTTS
 */
struct cubictcp_train {
	u32 end;
	u32 start_us;
	u32 last_us;
	u32 rtt_us;
	u8 rtts;
};

/**
 * struct cubictcp - Linux' CUBIC of one flow
 * @curve: the window's
 * @train: slow start's
 */
struct cubictcp {
	struct cubictcp_curve curve;
	struct cubictcp_train train;
};

u32 cubictcp_cube_root(u64 a);
void cubictcp_reset(struct cubictcp *c, const struct tcp_path *p);
enum cdg_hystart cubictcp_hystart(struct sender *s, struct tcp_path *p,
				  const struct rtt_sample *sample);
void cubictcp_grow(struct sender *s, struct tcp_path *p, u32 acked, bool cwnd_limited);
u32 cubictcp_cut(struct sender *s, const struct tcp_path *p, enum cut_cause cause, u32 cdg_cwnd);
void cubictcp_resume(struct cubictcp *cubic, const struct tcp_path *p);

#endif /* DALBE_CUBICTCP_H */
