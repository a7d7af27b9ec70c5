/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The probe: hold the window back for a moment, and see whether the queue goes with it.
 */
#ifndef DALBE_PROBE_H
#define DALBE_PROBE_H

#include "core/scavenger/others.h"
#include "core/scavenger/queue.h"

/* Contended for so long, we probe; ever more rarely, up to the longest pause. 2 s as a trial has;
 * 16 s as REGIME_OFTEN_US, the most that an idle link stays idle. Half costs twice the rate;
 * twice leaves a link idle for half a minute.
 */
#define PROBE_PAUSE_MIN_US	2000000
#define PROBE_PAUSE_MAX_US	16000000

/* A probe costs half of the window for one of its two round trips: one for the packets under way,
 * and one that shows. In 32 base RTTs that is 1.6 % of the rate, where that is more often than
 * every 2 s. Half as many rounds show nothing; twice as many cost twice. Half of the pause costs
 * twice, too; twice of it finds an idle link later on long paths.
 */
#define PROBE_ROUNDS		2
#define PROBE_PAUSE_RTTS	32

void probe_double_pause(struct regime *r);
void probe_reject_early(struct regime *r, u32 rtt_us, u32 base_rtt_us);
bool probe_found_ours(struct regime *r, u32 queue_us);
void probe_begin(struct regime *r, u32 cwnd, u32 rtt_us, u32 base_rtt_us, u64 now_us);

#endif /* DALBE_PROBE_H */
