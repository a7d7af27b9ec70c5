/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * State and constants of TCP Vegas as a base: see base_vegas.c.
 */
#ifndef DALBE_VEGAS_H
#define DALBE_VEGAS_H

#include "core/fixed.h"

/* Packets of ours in the queue: below alpha the window grows, above alpha + band it shrinks, above
 * gamma slow start ends. Linux' defaults are 2, 4 and 1, and we keep the band of two under a goal.
 * Half of the band: windows swing. Twice: the queue is longer than the model has it.
 */
#define VEGAS_ALPHA_Q16		(2 * Q16_ONE)
#define VEGAS_BAND_Q16		(2 * Q16_ONE)
#define VEGAS_GAMMA_Q16		Q16_ONE

/* F(28), alpha under a goal at mu = 1, the paper's. Half cannot reach its share beside CUBIC, twice
 * keeps twice the queue where nobody else is.
 */
#define VEGAS_ALPHA_GOAL	15

/* A round with no more RTTs than this may have seen delayed ACKs alone, and the window grows as
 * Reno's. Given by Linux.
 */
#define VEGAS_FEW_RTTS		2

/* Beside others, whose queue comes and goes, more than a quarter of the rounds find the window too
 * large; alone hardly any. Half: jitter passes for others. Twice: CUBIC, in whose presence half of
 * the rounds are such, passes for nobody.
 */
#define VEGAS_CONTENDED_PART	4

/**
 * struct vegas_price - what delay has cost
 * @rounds_q8: rounds that were judged; half of all here is forgotten every Tw, and 1/256 is the
 *	least that is left of a round. All is forgotten where a goal begins
 * @shrinks_q8: of these, rounds that found the window too large
 * @delay_us_q8: sum of the delays that alpha is measured by, each RTT / base RTT times the queueing
 *	delay: then diff is cwnd / RTT times the delay
 * @cuts_q40: sum of the parts of the window that were cut, F(23)
 */
struct vegas_price {
	u64 rounds_q8;
	u64 shrinks_q8;
	u64 delay_us_q8;
	u64 cuts_q40;
};

/**
 * struct vegas - Vegas of one flow
 * @base_us: lowest RTT since the flow began, or since BASE_CWND_RESTART, plus 1; 0: none yet
 * @min_us: lowest RTT of the round, plus 1; 0: none yet
 * @bdp: most packets that the path has held without a queue, over the same time
 * @rtts: RTTs in the round
 * @open: rounds are judged: since the last one began TCP has met nothing to repair
 * @few: the round that ended had too few RTTs: this ACK grows the window as Reno's
 * @price: what delay has cost
 */
struct vegas {
	u32 base_us;
	u32 min_us;
	u32 bdp;
	u32 rtts;
	bool open;
	bool few;
	struct vegas_price price;
};

#endif /* DALBE_VEGAS_H */
