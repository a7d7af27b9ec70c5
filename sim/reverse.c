// SPDX-License-Identifier: GPL-2.0-only
/*
 * A bottleneck on the way back, which others' greedy traffic fills: one CUBIC flow (RFC 9438,
 * core's cubic.c), round trip by round trip. ACKs are small, so that they only wait in its queue.
 */
#include "sim/link.h"

static void reverse_round(struct reverse *r, const struct drive_in *in)
{
	u64 packet_ns = NSEC_PER_SEC / in->reverse_pps, base_ns = in->base_us * NSEC_PER_USEC;
	u64 window = r->cubic.window_q16 >> 16, holds = base_ns / packet_ns;

	if (window > holds + in->reverse_buffer) {
		cubic_loss(&r->cubic);
		window = holds + in->reverse_buffer;
	}
	r->queue_ns = window > holds ? (window - holds) * packet_ns : 0;
	cubic_acked(&r->cubic, window);
	cubic_round(&r->cubic, (base_ns + r->queue_ns) / NSEC_PER_USEC, in->base_us);
	r->round_ns = r->end_ns;
	r->end_ns += base_ns + r->queue_ns;
}

/**
 * reverse_queue_ns - how long does an ACK wait?
 * @r: the bottleneck, zeroed at first
 * @in: reverse_pps, reverse_buffer, and the flow's time, reverse_from_ms to reverse_to_ms (0: end)
 * @now_ns: when the ACK leaves the receiver, never less than before
 *
 * Return: ns; without the flow 0.
 */
u64 reverse_queue_ns(struct reverse *r, const struct drive_in *in, u64 now_ns)
{
	u64 from_ns = in->reverse_from_ms * (u64)NSEC_PER_MSEC;
	u64 to_ns = (in->reverse_to_ms ?: U32_MAX) * (u64)NSEC_PER_MSEC;

	if (now_ns < from_ns || now_ns >= to_ns)
		return 0;
	if (!r->runs) {
		r->runs = true;
		r->end_ns = from_ns;
		cubic_start(&r->cubic, (u64)in->reverse_pps * in->base_us / USEC_PER_SEC << 16, 0);
	}
	while (now_ns >= r->end_ns)
		reverse_round(r, in);
	return r->queue_ns;
}
