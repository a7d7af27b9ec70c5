// SPDX-License-Identifier: GPL-2.0-only
/* See pure.h. */
#include "sim/pure.h"

u64 pure_fp_shift(u64 x, int shift)
{
	return fp_shift(x, shift);
}

u64 pure_fp_mul_div(u64 a, u64 b, u64 c)
{
	return fp_mul_div(a, b, c);
}

u32 pure_fp_ratio_q16(u64 a, u64 b)
{
	return fp_ratio_q16(a, b);
}

u64 pure_fp_mul_q16(u64 x, u32 factor_q16)
{
	return fp_mul_q16(x, factor_q16);
}

u64 pure_fp_add(u64 a, u64 b)
{
	return fp_add(a, b);
}

u32 pure_queue_above_us(u32 rtt_us, u32 base_rtt_us)
{
	return queue_above_us(rtt_us, base_rtt_us);
}

void pure_cubic_acked(struct cubic *c, u32 packets)
{
	cubic_acked(c, packets);
}

s32 pure_cdg_rtt_sample(struct cdg *c, s32 rtt_us, u32 pkts_acked, bool sacked)
{
	return cdg_rtt_sample(c, rtt_us, pkts_acked, sacked);
}

u32 pure_owd_rtt_us(struct owd *o, u32 val, u64 now_us, u32 rtt_us, u32 base_rtt_us)
{
	return owd_rtt_us(o, val, now_us, rtt_us, base_rtt_us);
}

/* As kernel/hooks.c does where TCP calls pkts_acked(). */
void pure_acked_doubts(struct sender *s, struct tcp_path *p, const struct rtt_sample *sample,
		       const struct rtt_doubts *doubts)
{
	if (sender_take_rtt(s, sample, doubts))
		sender_begin_round(s, p);
	if (s->base->hystart)
		s->base->hystart(s, p, sample);
}

/* The same without a doubt, and without timestamps. */
void pure_acked(struct sender *s, struct tcp_path *p, const struct rtt_sample *sample)
{
	const struct rtt_doubts doubts = {};

	pure_acked_doubts(s, p, sample, &doubts);
}

/* The same for cong_avoid(). Return: a cut for delay has begun, which the kernel traces. */
bool pure_avoid(struct sender *s, struct tcp_path *p, u32 packets)
{
	struct ack_result result;

	if (p->cwnd_limited && sender_gather(s, p->una, p->cwnd, packets, true))
		return false;
	sender_ack(s, p, packets, true, sender_paces_alone(s), &result);
	return result.round.backoff;
}

/* An ACK, for which TCP calls both, but sets the window itself in CWR and Recovery. Return: as
 * pure_avoid().
 */
bool pure_ack_doubts(struct sender *s, struct tcp_path *p, const struct rtt_sample *sample,
		     const struct rtt_doubts *doubts)
{
	pure_acked_doubts(s, p, sample, doubts);
	return p->state != PATH_CWR && p->state != PATH_RECOVERY &&
	       pure_avoid(s, p, sample->packets);
}

/* The same without a doubt, and without timestamps. */
bool pure_ack(struct sender *s, struct tcp_path *p, const struct rtt_sample *sample)
{
	const struct rtt_doubts doubts = {};

	return pure_ack_doubts(s, p, sample, &doubts);
}

/* xorshift32, so that a run can be repeated. */
static u32 random_state = 1;

void pure_seed(u32 seed)
{
	random_state = seed ? seed : 1;
}

u32 get_random_u32(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 17;
	random_state ^= random_state << 5;
	return random_state;
}
