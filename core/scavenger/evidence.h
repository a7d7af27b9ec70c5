/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The evidence of competitors: the drain after a cut, our part of the link, losses, a queue that
 * stands still.
 */
#ifndef DALBE_EVIDENCE_H
#define DALBE_EVIDENCE_H

#include "core/scavenger/others.h"
#include "core/scavenger/queue.h"

/* The queue is ours from a fifth of the expected drain on. A cut drains our share of the packets
 * under way, so up to five equal flows pass for "ours"; of more, the mean queue tells. Half: a
 * competitor with nine tenths of the link is not seen. Twice: noise makes us yield.
 */
#define EVIDENCE_OURS_Q16	13107

/* Nobody shares the queue where four cuts in a row drained three quarters of what they would drain
 * were all of it ours: of two equal flows each drains half, or more where both cut by chance.
 * With two cuts the last of five flows is off the others' mean by 21 % instead of 17; with eight
 * a call on 2 Mbit/s waits 0.4 ms longer. With half of the part two flows pass for one; with
 * twice none is alone, and the call waits 4 ms longer.
 */
#define EVIDENCE_ALONE_Q16	49152
#define EVIDENCE_ALONE_CUTS	4

/* Our part of the link is a mean of eight rounds or so, CDG's window. Half follows ACKs in
 * clumps; twice is slow after a rate change of the link.
 */
#define EVIDENCE_PART_SHIFT	3

/* A part of the link is lost where a round delivers a quarter less than our mean, which a newcomer
 * takes within a round trip and scavengers do not; and three packets less, as fewer are noise. With
 * half of these small windows see newcomers that are none; with twice, we yield a round trip later.
 */
#define EVIDENCE_PART_LOST	4
#define EVIDENCE_PART_PACKETS	3

/* A loss is remembered for 64 rounds, 3 to 6 s at 50 to 100 ms, in which a queue is judged some
 * ten times. Half: a competitor that loses packets rarely passes for a scavenger in between.
 * Twice: a single loss of a bad link keeps us away from an idle link for longer.
 */
#define EVIDENCE_LOSS_ROUNDS	64

/* Where the lowest RTTs of eight periods, of 4 s or eight base RTTs each, are alike, the path has
 * become longer: in 32 s CUBIC's queue moves, on its plateau, too. Half: CUBIC's queue may pass for
 * a longer path. Twice: a longer path is found after a minute.
 */
#define EVIDENCE_PLATEAU	8
#define EVIDENCE_PLATEAU_US	4000000
#define EVIDENCE_PLATEAU_RTTS	8

/* Alike is within 1/64 of the queue: CUBIC's moves by more in 32 s up to windows of 40,000
 * packets (a test). And within 250 us, the jitter of an end system. Half: jitter hides a longer
 * route. Twice: CUBIC at 20,000 packets passes for a longer route.
 */
#define EVIDENCE_PLATEAU_SHIFT	6
#define EVIDENCE_PLATEAU_MIN_US	250

/* On a longer path one round in four is as low as the period's lowest RTT, counted from the first.
 * Half, one in eight: two CUBIC flows that lose packets together pass for a longer path now and
 * then (in the simulator, one run of two minutes in 200). Twice: other traffic hides a longer path.
 */
#define EVIDENCE_PLATEAU_NEAR	4

/* Scavengers may leave so much in the queue among themselves: the lesser of four packets and of
 * 50 ms, four packets at 1 Mbit/s. On a slow link each holds two packets, the least window, there.
 * With half of the packets four flows take each other for competitors at 2 Mbit/s, 20 ms (one has
 * a fourteenth of what another has), with half of the time at 1 Mbit/s, 50 ms (a sixth). With twice
 * the packets CUBIC has 83 % instead of 96 in a buffer of ten at 2 Mbit/s, 20 ms; with twice the
 * time one of four at 0.5 Mbit/s, 50 ms has 0.4 of what another has instead of as much.
 */
#define EVIDENCE_LEAST_PACKETS		4
#define EVIDENCE_LEAST_WINDOWS_US	50000

void evidence_test_cut(struct regime *r, u32 cwnd, u32 ssthresh, u32 rtt_us, u32 base_rtt_us);
u64 evidence_kept_q16(const struct regime *r, u64 window_q16, u32 ssthresh, u32 rtt_us,
		      u32 base_rtt_us);
void evidence_forget(struct regime *r);
void evidence_skip_round(struct regime *r);
void evidence_loss(struct regime *r);
void evidence_timeout(struct regime *r);
void evidence_undo_loss(struct regime *r, u8 lossy);
void evidence_test_loss_cut(struct regime *r, u32 cwnd, u32 ssthresh, u32 rtt_us,
			    u32 base_rtt_us);
void evidence_measure_part(struct regime *r, u32 packets, u64 elapsed_us, u32 rtt_us,
			   u32 base_rtt_us);
u32 evidence_least_windows_us(const struct regime *r);
u64 evidence_link_packets(const struct regime *r, u64 us);
u32 evidence_slow_start_limit(struct regime *r, u32 base_rtt_us);
bool evidence_slow_start_too_short(struct regime *r, u32 rtt_us, u32 base_rtt_us);
bool evidence_plateau(struct regime *r, u32 rtt_us, u32 base_rtt_us, u64 now_us);

#endif /* DALBE_EVIDENCE_H */
