// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sizes, durations and deadlines as people type and read them.
 *
 * Numbers are kept as an integer and a decimal fraction, never as a double:
 * "1.1E" has more digits than a double's mantissa.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "human.h"

#define SIZE_HINT	"type a size like 40G, 300M or 2GiB"
#define DURATION_HINT	"type a time like 45s, 90m or 1h30m"
#define DEADLINE_HINT \
	"type a time like +90m, +1h30m, 06:00 or '2030-01-31 06:00'"

/* 18 digits after the point: 10^18 * 2^63 still fits into 128 bits. */
#define MAX_FRACTION_DIGITS	18

static int fail(char *err, const char *what, const char *hint)
{
	snprintf(err, HUMAN_ERR_LEN, "%.60s; %s", what, hint);
	return -1;
}

static int fail_quoting(char *err, const char *what, const char *quote,
			const char *hint)
{
	char phrase[60];

	snprintf(phrase, sizeof(phrase), "%s '%.20s'", what, quote);
	return fail(err, phrase, hint);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A decimal number without sign: whole + fraction / 10^digits. */
struct decimal {
	uint64_t whole;
	uint64_t fraction;
	uint64_t fraction_unit;	/* 10^digits */
};

/* Returns the first character after the number, or NULL with *why set. */
static const char *parse_decimal(const char *text, struct decimal *num,
				 const char **why)
{
	const char *p = text;
	int digits = 0;

	*num = (struct decimal){ .fraction_unit = 1 };
	if (*p == '-') {
		*why = "it is negative";
		return NULL;
	}
	if (!is_digit(*p)) {
		*why = *p ? "it does not begin with a number" : "it is empty";
		return NULL;
	}
	for (; is_digit(*p); p++) {
		if (__builtin_mul_overflow(num->whole, 10, &num->whole) ||
		    __builtin_add_overflow(num->whole, (uint64_t)(*p - '0'),
					   &num->whole)) {
			*why = "it is too large";
			return NULL;
		}
	}
	if (*p != '.')
		return p;
	if (!is_digit(*++p)) {
		*why = "no digit follows the point";
		return NULL;
	}
	for (; is_digit(*p); p++) {
		if (++digits > MAX_FRACTION_DIGITS) {
			*why = "too many digits follow the point";
			return NULL;
		}
		num->fraction = num->fraction * 10 + (uint64_t)(*p - '0');
		num->fraction_unit *= 10;
	}
	return p;
}

/* num * unit, cut to an integer; false if it exceeds 2^63 - 1. */
static bool scale_decimal(const struct decimal *num, uint64_t unit,
			  uint64_t *out)
{
	unsigned __int128 value = (unsigned __int128)num->whole * unit +
		     (unsigned __int128)num->fraction * unit / num->fraction_unit;

	if (value > INT64_MAX)
		return false;
	*out = (uint64_t)value;
	return true;
}

int human_parse_size(const char *text, uint64_t *bytes, char *err)
{
	static const char prefixes[] = "kmgtpe";
	const char *why, *unit, *p, *found;
	struct decimal num;
	uint64_t scale = 1, value;
	unsigned int base = 1000;

	unit = parse_decimal(text, &num, &why);
	if (!unit)
		return fail(err, why, SIZE_HINT);

	p = unit;
	/* Fold to lower case: all prefixes are ASCII letters. */
	found = *p ? strchr(prefixes, *p | 0x20) : NULL;
	if (found) {
		p++;
		if (*p == 'i') {
			base = 1024;
			p++;
		}
		for (const char *c = prefixes; c <= found; c++)
			scale *= base;
	}
	if (*p == 'B')
		p++;
	if (*p)
		return fail_quoting(err, "unknown unit", unit, SIZE_HINT);
	if (scale == 1 && num.fraction)
		return fail(err, "bytes have no fraction", SIZE_HINT);
	if (!scale_decimal(&num, scale, &value))
		return fail(err, "it exceeds 2^63 - 1 bytes", SIZE_HINT);
	if (!value)
		return fail(err, "a goal needs at least one byte", SIZE_HINT);
	*bytes = value;
	return 0;
}

int human_parse_rate(const char *text, uint64_t *bytes_per_s, char *err)
{
	static const char hint[] = "type a rate like 20Mbit/s, 500kbit or 2.5MB/s";
	size_t len = strlen(text);
	char size[40], why[HUMAN_ERR_LEN];
	bool per_s = len > 2 && !strcmp(text + len - 2, "/s"), bits;
	uint64_t rate;

	len -= per_s ? 2 : 0;
	bits = len > 3 && !strncmp(text + len - 3, "bit", 3);
	len -= bits ? 3 : 0;
	/* As bytes or as bits: a bare number, or 20M, is read as either. */
	if (!len || len >= sizeof(size) || (text[len - 1] == 'B') == bits || !(per_s || bits))
		return fail(err, "it is neither bits nor bytes per second", hint);
	snprintf(size, sizeof(size), "%.*s", (int)len, text);
	if (human_parse_size(size, &rate, why))
		return fail(err, "it is no rate", hint);
	rate /= bits ? 8 : 1;
	if (rate < HUMAN_RATE_MIN_Bps)
		return fail(err, "it is too low, less than 8 kbit/s", hint);
	*bytes_per_s = rate;
	return 0;
}

static const struct {
	const char *name;
	uint64_t ns;
} duration_units[] = {	/* in falling order */
	{ "d", 86400 * NSEC_PER_SEC },
	{ "h", 3600 * NSEC_PER_SEC },
	{ "m", 60 * NSEC_PER_SEC },
	{ "s", NSEC_PER_SEC },
	{ "ms", NSEC_PER_MSEC },
};

static int parse_duration(const char *text, const char *hint, uint64_t *ns,
			  char *err)
{
	const char *why, *p = text;
	struct decimal num;
	uint64_t sum = 0, part;
	size_t next = 0, u;

	do {
		const char *unit = parse_decimal(p, &num, &why);
		size_t len;

		if (!unit)
			return fail(err, why, hint);
		/* "5X" is an unknown unit, not a number without one. */
		for (len = 0; isalpha((unsigned char)unit[len]); len++)
			;
		if (!len)
			return *unit ?
			       fail_quoting(err, "unknown unit", unit, hint) :
			       fail(err, "a number lacks its unit", hint);
		for (u = 0; u < ARRAY_SIZE(duration_units); u++) {
			if (len == strlen(duration_units[u].name) &&
			    !strncmp(unit, duration_units[u].name, len))
				break;
		}
		if (u == ARRAY_SIZE(duration_units))
			return fail_quoting(err, "unknown unit", unit, hint);
		if (u < next)
			return fail_quoting(err, "out of order:", unit, hint);
		next = u + 1;
		if (!scale_decimal(&num, duration_units[u].ns, &part) ||
		    sum + part > INT64_MAX)
			return fail(err, "it exceeds 292 years", hint);
		sum += part;
		p = unit + len;
	} while (*p);

	if (!sum)
		return fail(err, "it is zero", hint);
	*ns = sum;
	return 0;
}

int human_parse_duration(const char *text, uint64_t *ns, char *err)
{
	return parse_duration(text, DURATION_HINT, ns, err);
}

/* Exactly `digits` digits, at most max; NULL if not. */
static const char *parse_field(const char *p, int digits, int max, int *out)
{
	int value = 0;

	for (int i = 0; i < digits; i++, p++) {
		if (!is_digit(*p))
			return NULL;
		value = value * 10 + (*p - '0');
	}
	if (is_digit(*p) || value > max)
		return NULL;
	*out = value;
	return p;
}

/* HH:MM[:SS], or H:MM[:SS] */
static const char *parse_clock(const char *p, struct tm *tm)
{
	p = parse_field(p, *p && p[1] == ':' ? 1 : 2, 23, &tm->tm_hour);
	if (!p || *p++ != ':')
		return NULL;
	p = parse_field(p, 2, 59, &tm->tm_min);
	tm->tm_sec = 0;
	if (p && *p == ':')
		p = parse_field(p + 1, 2, 59, &tm->tm_sec);
	return p;
}

/* YYYY-MM-DD */
static const char *parse_date(const char *p, struct tm *tm)
{
	p = parse_field(p, 4, 9999, &tm->tm_year);
	if (!p || *p++ != '-')
		return NULL;
	p = parse_field(p, 2, 12, &tm->tm_mon);
	if (!p || *p++ != '-' || !tm->tm_mon)
		return NULL;
	tm->tm_year -= 1900;
	tm->tm_mon--;
	return parse_field(p, 2, 31, &tm->tm_mday);
}

/* Z, +HH:MM or -HH:MM, as seconds east of Greenwich. */
static const char *parse_zone(const char *p, long *east_s)
{
	int hours, minutes, sign = *p == '-' ? -1 : 1;

	*east_s = 0;
	if (*p == 'Z')
		return p + 1;
	if (*p != '+' && *p != '-')
		return NULL;
	p = parse_field(p + 1, 2, 14, &hours);
	if (!p || *p++ != ':')
		return NULL;
	p = parse_field(p, 2, 59, &minutes);
	if (p)
		*east_s = sign * (hours * 3600L + minutes * 60L);
	return p;
}

time_t human_local_time(const struct tm *tm, time_t now)
{
	time_t found = 0, standard = 0;

	for (int dst = 0; dst <= 1; dst++) {
		struct tm at = *tm;
		time_t when;

		at.tm_isdst = dst;
		when = mktime(&at);
		if (!dst)
			standard = when;
		/* Moved: the clock never shows it with this dst. */
		if (at.tm_hour != tm->tm_hour || at.tm_min != tm->tm_min)
			continue;
		if (!found || (when < found ? when > now : found <= now))
			found = when;
	}
	return found ? found : standard;
}

#define JUST_PASSED_S	3600

/* The next time that the local clock shows what text says; the last, if that is not long ago. */
static int next_clock_time(const char *text, time_t now, time_t *when)
{
	const char *end;
	struct tm tm;

	localtime_r(&now, &tm);
	end = parse_clock(text, &tm);
	if (!end || *end)
		return -1;
	*when = human_local_time(&tm, now);
	if (*when <= now - JUST_PASSED_S) {
		tm.tm_mday++;	/* mktime() carries over */
		*when = human_local_time(&tm, now);
	}
	return 0;
}

static int calendar_time(const char *text, time_t now, time_t *when,
			 const char **why)
{
	struct tm tm = { 0 }, normal;
	const char *p;
	long east_s;

	*why = "it is neither a duration nor a clock time";
	p = parse_date(text, &tm);
	if (!p)
		return -1;
	if (!*p) {
		*why = "the time of day is missing";
		return -1;
	}
	if (*p != ' ' && *p != 'T')
		return -1;
	p = parse_clock(p + 1, &tm);
	if (!p)
		return -1;

	normal = tm;
	timegm(&normal);
	if (normal.tm_mday != tm.tm_mday) {
		*why = "there is no such day";
		return -1;
	}
	if (!*p) {
		*when = human_local_time(&tm, now);
		return 0;
	}
	p = parse_zone(p, &east_s);
	if (!p || *p)
		return -1;
	*when = timegm(&tm) - east_s;
	return 0;
}

int human_parse_deadline(const char *text, struct timespec now_real,
			 uint64_t now_boot_ns, uint64_t *deadline_ns, char *err)
{
	const char *why;
	uint64_t ahead_ns, ago_ns;
	char ago[HUMAN_LEN];
	time_t when;

	if (*text == '+') {
		if (parse_duration(text + 1, DEADLINE_HINT, &ahead_ns, err))
			return -1;
	} else {
		if (next_clock_time(text, now_real.tv_sec, &when) &&
		    calendar_time(text, now_real.tv_sec, &when, &why)) {
			/* The most likely slip: a duration without its '+'. */
			if (!parse_duration(text, DEADLINE_HINT, &ahead_ns,
					    err)) {
				snprintf(err, HUMAN_ERR_LEN,
					 "a time from now begins with '+'; type '+%.40s'",
					 text);
				return -1;
			}
			return fail(err, why, DEADLINE_HINT);
		}
		if (when <= now_real.tv_sec) {
			ago_ns = (uint64_t)(now_real.tv_sec - when) * NSEC_PER_SEC +
				 (uint64_t)now_real.tv_nsec;
			/* Perhaps before the machine was started: negative. */
			*deadline_ns = now_boot_ns - ago_ns;
			snprintf(err, HUMAN_ERR_LEN,
				 "it passed %s ago; type a date that lies ahead, '2030-01-31 06:00', or a time from now, +90m",
				 human_duration((int64_t)ago_ns, ago));
			return HUMAN_PASSED;
		}
		if ((uint64_t)(when - now_real.tv_sec) >
		    INT64_MAX / NSEC_PER_SEC)
			return fail(err, "it exceeds 292 years",
				    DEADLINE_HINT);
		ahead_ns = (uint64_t)(when - now_real.tv_sec) * NSEC_PER_SEC -
			   (uint64_t)now_real.tv_nsec;
	}
	if (ahead_ns > INT64_MAX - now_boot_ns)
		return fail(err, "it exceeds 292 years", DEADLINE_HINT);
	*deadline_ns = now_boot_ns + ahead_ns;
	return 0;
}

int human_parse_begin(const char *text, struct timespec now_real, uint64_t now_boot_ns,
		      uint64_t end_ns, uint64_t *begin_ns, char *err)
{
	int ret = human_parse_deadline(text, now_real, now_boot_ns, begin_ns, err);
	time_t ignored;

	if (ret == HUMAN_PASSED ||
	    (!ret && end_ns && *begin_ns >= end_ns &&
	     !next_clock_time(text, now_real.tv_sec, &ignored))) {
		*begin_ns = now_boot_ns;
		return 0;
	}
	return ret;
}

/* value / scale without trailing zeros */
static void format_fixed(uint64_t value, uint64_t scale, char *buf)
{
	int len = snprintf(buf, HUMAN_LEN, "%" PRIu64, value / scale);
	uint64_t rest = value % scale;

	if (!rest)
		return;
	buf[len++] = '.';
	while (rest && len < HUMAN_LEN - 1) {
		rest *= 10;
		buf[len++] = (char)('0' + rest / scale);
		rest %= scale;
	}
	buf[len] = '\0';
}

int human_parse_fixed(const char *text, uint64_t scale, uint64_t min,
		      uint64_t max, uint64_t *out, char *err)
{
	char lo[HUMAN_LEN], hi[HUMAN_LEN], hint[90];
	const char *why, *end;
	struct decimal num;
	uint64_t value;
	unsigned __int128 rounded;

	format_fixed(min, scale, lo);
	format_fixed(max, scale, hi);
	snprintf(hint, sizeof(hint), "type a number from %s to %s", lo, hi);

	end = parse_decimal(text, &num, &why);
	if (!end)
		return fail(err, why, hint);
	if (*end)
		return fail_quoting(err, "junk at the end:", end, hint);
	rounded = (unsigned __int128)num.whole * scale +
		  ((unsigned __int128)num.fraction * scale + num.fraction_unit / 2) /
		  num.fraction_unit;
	value = rounded > max ? max + 1 : (uint64_t)rounded;
	if (value < min || value > max)
		return fail(err, "it is out of range", hint);
	*out = value;
	return 0;
}

/* Three significant digits: "1.23", "12.3", "123". */
static void format_three(double value, const char *unit, char *buf)
{
	int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;

	snprintf(buf, HUMAN_LEN, "%.*f %s", decimals, value, unit);
}

static char *format_scaled(double value, const char *const *units, char *buf)
{
	size_t u = 0;

	if (value < 999.5) {
		snprintf(buf, HUMAN_LEN, "%.0f %s", value, units[0]);
		return buf;
	}
	for (; value >= 999.5 && units[u + 1]; u++)
		value /= 1000;
	format_three(value, units[u], buf);
	return buf;
}

char *human_size(uint64_t bytes, char *buf)
{
	static const char *const units[] = {
		"B", "kB", "MB", "GB", "TB", "PB", "EB", NULL
	};

	return format_scaled((double)bytes, units, buf);
}

char *human_rate(uint64_t bytes_per_s, char *buf)
{
	static const char *const units[] = {
		"bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s", NULL
	};

	return format_scaled((double)bytes_per_s * 8, units, buf);
}

char *human_duration(int64_t ns, char *buf)
{
	const char *sign = ns < 0 ? "-" : "";
	uint64_t abs_ns = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
	uint64_t s;

	/* Limits lie where rounding would print a full next unit. */
	if (abs_ns < NSEC_PER_SEC - NSEC_PER_MSEC / 2) {
		snprintf(buf, HUMAN_LEN, "%s%" PRIu64 "ms", sign,
			 (abs_ns + NSEC_PER_MSEC / 2) / NSEC_PER_MSEC);
		return buf;
	}
	if (abs_ns < 60 * NSEC_PER_SEC - 50 * NSEC_PER_MSEC) {
		double value = (double)abs_ns / 1e9;

		snprintf(buf, HUMAN_LEN, "%s%.*fs", sign,
			 value < 9.995 ? 2 : 1, value);
		return buf;
	}
	s = (abs_ns + NSEC_PER_SEC / 2) / NSEC_PER_SEC;
	if (s < 3600)
		snprintf(buf, HUMAN_LEN, "%s%" PRIu64 "m%02" PRIu64 "s", sign,
			 s / 60, s % 60);
	else if (s < 86400)
		snprintf(buf, HUMAN_LEN, "%s%" PRIu64 "h%02" PRIu64 "m", sign,
			 s / 3600, s % 3600 / 60);
	else
		snprintf(buf, HUMAN_LEN, "%s%" PRIu64 "d%02" PRIu64 "h", sign,
			 s / 86400, s % 86400 / 3600);
	return buf;
}

char *human_clock(struct timespec now, int64_t ahead_ns, char *buf)
{
	const int64_t second = (int64_t)NSEC_PER_SEC;
	/* Rounded down: the division of a negative sum would be rounded up. */
	int64_t part_ns = now.tv_nsec + ahead_ns % second + second / 2 + second;
	time_t then_s = now.tv_sec + ahead_ns / second + part_ns / second - 1;
	struct tm today, then;

	localtime_r(&now.tv_sec, &today);
	localtime_r(&then_s, &then);
	if (today.tm_year == then.tm_year && today.tm_yday == then.tm_yday)
		strftime(buf, HUMAN_LEN, "%H:%M:%S", &then);
	else if (llabs(then_s - now.tv_sec) < 6 * 86400)
		strftime(buf, HUMAN_LEN, "%a %H:%M", &then);
	else
		strftime(buf, HUMAN_LEN, "%d %b %y", &then);
	return buf;
}
