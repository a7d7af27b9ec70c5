// SPDX-License-Identifier: GPL-2.0-only
/*
 * LD_PRELOAD for the guest kernel's process: getrandom() from $GUEST_SEED.
 *
 * The host's getrandom() is the only entropy that reaches the guest's random
 * number generator. With it seeded, initial sequence numbers, CDG's random
 * backoffs and the traffic generators repeat bit for bit.
 *
 * Only for simulations: what the guest calls random is known to everybody.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>

/* SplitMix64 (Steele, Lea, Flood 2014): full period, passes BigCrush. */
static uint64_t splitmix64(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* Overrides getrandom(2): fills @buf with @len bytes, never fails or blocks. */
ssize_t getrandom(void *buf, size_t len, unsigned int flags)
{
	static uint64_t state;
	static int seeded;
	unsigned char *p = buf;

	(void)flags;
	if (!seeded) {
		const char *seed = getenv("GUEST_SEED");

		state = seed ? strtoull(seed, NULL, 0) : 1;
		seeded = 1;
	}
	for (size_t i = 0; i < len; i++)
		p[i] = (unsigned char)splitmix64(&state);
	return (ssize_t)len;
}
