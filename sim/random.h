/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Random numbers of the simulated network. The senders draw theirs from pure.c, so that the network
 * throws the same dice whatever they do.
 */
#ifndef DALBE_SIM_RANDOM_H
#define DALBE_SIM_RANDOM_H

#include "port.h"

/**
 * struct dice - a generator, xorshift64* (Vigna, 2016)
 * @state: not 0
 */
struct dice {
	u64 state;
};

/**
 * dice_seed - begin a sequence
 * @d: the generator
 * @seed: any; equal seeds give equal sequences
 */
static inline void dice_seed(struct dice *d, u32 seed)
{
	d->state = (seed + 1ull) * 0x9e3779b97f4a7c15ull;
}

/* Return: 0 .. U32_MAX, each alike. */
static inline u32 dice_u32(struct dice *d)
{
	d->state ^= d->state >> 12;
	d->state ^= d->state << 25;
	d->state ^= d->state >> 27;
	return d->state * 0x2545f4914f6cdd1dull >> 32;
}

/**
 * dice_below - a number below a limit, each alike
 * @d: the generator
 * @limit: up to 2^32; 0 gives 0
 */
static inline u64 dice_below(struct dice *d, u64 limit)
{
	return limit ? dice_u32(d) * limit >> 32 : 0;
}

/**
 * dice_exponential - a number of an exponential distribution
 * @d: the generator
 * @mean: of it, in any unit, up to 2^31 times less than a u64 holds
 *
 * By comparisons alone: J. von Neumann, "Various techniques used in connection with random digits",
 * 1951. The sequence of numbers that decrease has an odd length with the density of exp(-x).
 */
static inline u64 dice_exponential(struct dice *d, u64 mean)
{
	u32 whole = 0;

	for (;;) {
		u32 first = dice_u32(d), last = first, next, length = 1;

		while ((next = dice_u32(d)) < last) {
			last = next;
			length++;
		}
		if (length % 2)
			return whole * mean + mul_u64_u32_shr(mean, first, 32);
		whole++;
	}
}

#endif /* DALBE_SIM_RANDOM_H */
