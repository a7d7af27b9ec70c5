/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sizes, durations and deadlines as people type and read them.
 *
 * Pure functions: the clocks are arguments, only the time zone comes from the
 * environment (TZ), so that all of it can be tested.
 *
 * A parser returns 0, or -1 with a phrase in err that says what is wrong and
 * what to type instead; *out is then unchanged.
 */
#ifndef DALBE_HUMAN_H
#define DALBE_HUMAN_H

#include <stdint.h>
#include <time.h>

#include "libdalbe.h"

#define HUMAN_ERR_LEN	160	/* room for any phrase of a parser */
#define HUMAN_LEN	32	/* room for any formatted value */

#define NSEC_PER_SEC	UINT64_C(1000000000)
#define NSEC_PER_MSEC	UINT64_C(1000000)

/*
 * Size in bytes, 1 to 2^63 - 1. Units: none or B; k M G T P E are powers of
 * 1000, Ki Mi Gi Ti Pi Ei powers of 1024, each with or without B, letters of
 * the unit prefix in either case. A small b is refused: it would mean bits.
 * Fractions are fine with a unit ("1.5T"), and cut to whole bytes.
 */
int human_parse_size(const char *text, uint64_t *bytes, char *err);

/*
 * Rate in bytes/s: bits, "20Mbit/s" or "20Mbit", or bytes, "2.5MB/s", with the unit prefixes
 * of a size; at least HUMAN_RATE_MIN_Bps.
 */
#define HUMAN_RATE_MIN_Bps	1000

int human_parse_rate(const char *text, uint64_t *bytes_per_s, char *err);

/*
 * Duration in nanoseconds, 1 to 2^63 - 1: parts of d, h, m, s, ms in falling
 * order, such as "1h30m", "45s", "1.5h", "500ms". A unit is always needed.
 */
int human_parse_duration(const char *text, uint64_t *ns, char *err);

/*
 * Deadline, in nanoseconds on CLOCK_BOOTTIME:
 *	+DURATION			from now
 *	HH:MM[:SS] or H:MM[:SS]		the next time the local clock shows it
 *	YYYY-MM-DD HH:MM[:SS][ZONE]	(or T for the space) local, unless ZONE
 *					is Z, +HH:MM or -HH:MM
 * now_real and now_boot_ns are the same instant on CLOCK_REALTIME and
 * CLOCK_BOOTTIME. Of an hour that the clock shows twice, both local forms mean the first that is.
 *
 * HUMAN_PASSED, with *deadline_ns and a phrase, when it is not in the future; also for an HH:MM
 * that the clock showed less than an hour ago, as a timer that is late means that, not tomorrow's.
 */
#define HUMAN_PASSED	1
int human_parse_deadline(const char *text, struct timespec now_real,
			 uint64_t now_boot_ns, uint64_t *deadline_ns, char *err);

/*
 * Begin of what ends at end_ns (0: no end), as a deadline; now_boot_ns when it has passed. So has a
 * HH:MM that comes only after the end: at 02:00, 01:00 of what ends at 06:00 is today's. 0 or -1.
 */
int human_parse_begin(const char *text, struct timespec now_real, uint64_t now_boot_ns,
		      uint64_t end_ns, uint64_t *begin_ns, char *err);

/*
 * When the local clock shows tm. An hour that it shows twice, as it is set
 * back, means the first time, unless that has passed at now. An hour that it
 * skips counts as if it were not set forward.
 */
time_t human_local_time(const struct tm *tm, time_t now);

/*
 * Decimal number in [min, max] as an integer count of 1/scale, rounded to the
 * nearest: "0.05" with scale 1,000,000 is 50,000. No exponent, no sign.
 */
int human_parse_fixed(const char *text, uint64_t scale, uint64_t min,
		      uint64_t max, uint64_t *out, char *err);

/* Formatters write at most HUMAN_LEN bytes to buf, and return buf. */

/* Bytes with three digits and decimal units: "999 B", "1.50 GB". */
char *human_size(uint64_t bytes, char *buf);

/* Bytes/s as bits/s: "8.60 Mbit/s". */
char *human_rate(uint64_t bytes_per_s, char *buf);

/*
 * Name the status in a word or two. The module has one status for all connections without a goal;
 * a controller steers scavengers, and those have a w. With dalbe_status_name() alone the user would
 * read "no goal" of a scavenger. A listener has no w: those that it accepts have.
 */
static inline const char *human_status(const struct dalbe_state *state)
{
	return state->status == DALBE_STATUS_NONE &&
	       (state->w_ppm || state->controller == DALBE_CONTROLLER_WEIGHT) ?
	       "scavenger" : dalbe_status_name(state->status);
}

/* Nanoseconds with the two largest units that matter: "1h30m", "4.20s". */
char *human_duration(int64_t ns, char *buf);

/*
 * The local clock's time ahead_ns from now (CLOCK_REALTIME), to the nearest second, in at
 * most 9 characters: "06:00:00" today, "Tue 06:00" within six days, "24 Dec 26".
 */
char *human_clock(struct timespec now, int64_t ahead_ns, char *buf);

#endif
