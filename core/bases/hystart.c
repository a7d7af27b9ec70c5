// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hybrid slow start.
 *
 * Reference: S. Ha, I. Rhee, "Taming the elephants: New TCP slow start", Computer Networks, 2011.
 */
#include "core/bases/cdg.h"

static bool cdg_saw_queue(const struct cdg *c)
{
	return c->rtt.max_us - c->hystart_min_us >=
	       min(c->hystart_min_us >> CDG_TRAIN_QUEUE_SHIFT, CDG_TRAIN_QUEUE_MAX_US);
}

/**
 * cdg_hystart_exit - hybrid slow start: is the pipe full?
 * @c: the flow
 * @detect: enum cdg_hystart bits to look for
 * @now_us: clock of the ACK
 * @cwnd_limited: the sender fills its window
 * @paced: and does not send it in one burst
 *
 * Called at each ACK below ssthresh. Ha and Rhee's algorithm with Hayes' delayed-ACK filter, at any
 * window; the train starts again where the application held it up. A train of ACKs longer than half
 * of the lowest RTT tells of a full pipe. But in slow start TCP may pace a window over half of the
 * RTT and more, whatever the pipe holds: then the train tells only in a round with a queue
 * (cdg_saw_queue()), half of the one that ends slow start by delay; or where it is longer than the
 * lowest RTT, which pacing does not make it, as in Linux' CUBIC.
 *
 * Return: what was detected, to leave slow start for; CDG_HYSTART_NONE: go on.
 */
enum cdg_hystart cdg_hystart_exit(struct cdg *c, u8 detect, u32 now_us,
				  bool cwnd_limited, bool paced)
{
	if (!c->rtt.max_us)	/* of this round nothing is known yet */
		return CDG_HYSTART_NONE;
	if (!c->hystart_min_us || c->rtt.min_us < c->hystart_min_us)
		c->hystart_min_us = c->rtt.min_us;

	if (detect & CDG_HYSTART_TRAIN) {
		if (!c->hystart_last_us || !cwnd_limited) {
			c->hystart_last_us = now_us;
			c->hystart_start_us = now_us;
		} else if ((s32)(now_us - c->hystart_last_us) < CDG_TRAIN_GAP_US) {
			s32 full_us = max(c->hystart_min_us >> 1, CDG_HYSTART_LEAST_US);

			if (paced && !cdg_saw_queue(c))
				full_us = c->hystart_min_us;
			c->hystart_last_us = now_us;
			if ((s32)(now_us - c->hystart_start_us) > full_us)
				return CDG_HYSTART_TRAIN;
		}
	}

	if (detect & CDG_HYSTART_DELAY) {
		if (c->hystart_samples < CDG_HYSTART_RTTS) {
			c->hystart_samples++;
		} else {
			s32 limit_us = max(c->hystart_min_us +
					   (c->hystart_min_us >> 3), CDG_HYSTART_LEAST_US);

			if (c->rtt.min_us > limit_us)
				return CDG_HYSTART_DELAY;
		}
	}
	return CDG_HYSTART_NONE;
}
