/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A writer of JSON on one line: nested objects and arrays, each value
 * preceded by its key, or by NULL inside an array.
 */
#ifndef DALBE_JSON_H
#define DALBE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
	FILE *out;
	bool comma;	/* the next value follows another one */
};

void json_begin(struct json *js, const char *key, char bracket);	/* { [ */
void json_end(struct json *js, char bracket);				/* } ] */
void json_uint(struct json *js, const char *key, uint64_t value);
void json_int(struct json *js, const char *key, int64_t value);
void json_bool(struct json *js, const char *key, bool value);
void json_null(struct json *js, const char *key);

/* value with the given number of digits after the point; must be finite */
void json_real(struct json *js, const char *key, double value, int digits);

/* Any bytes: what is not UTF-8 becomes U+FFFD, the replacement character. */
void json_string(struct json *js, const char *key, const char *value);

/*
 * The value of a key in a line of JSON; NULL: there is none. Which object it is in is not looked
 * at: the first counts. Text that only looks like a key is none, as its quotes have a backslash.
 */
const char *json_find(const char *line, const char *key);

#endif
