// SPDX-License-Identifier: GPL-2.0-only
/* A writer of JSON on one line. */
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "json.h"

/*
 * Length of the UTF-8 sequence at s, 0 if it is none: overlong forms,
 * surrogates and values above U+10FFFF included.
 */
static size_t utf8_len(const unsigned char *s)
{
	size_t len;

	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		len = 2;
	else if (s[0] >= 0xe0 && s[0] <= 0xef)
		len = 3;
	else if (s[0] >= 0xf0 && s[0] <= 0xf4)
		len = 4;
	else
		return 0;
	for (size_t i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	}
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return len;
}

static void put_string(FILE *out, const char *value)
{
	const unsigned char *s = (const unsigned char *)value;

	fputc('"', out);
	while (*s) {
		size_t len = utf8_len(s);

		if (!len) {
			fputs("\\ufffd", out);
			s++;
		} else if (*s == '"' || *s == '\\') {
			fprintf(out, "\\%c", *s++);
		} else if (*s < 0x20 || *s == 0x7f) {
			fprintf(out, "\\u%04x", *s++);
		} else {
			fwrite(s, 1, len, out);
			s += len;
		}
	}
	fputc('"', out);
}

static void put_key(struct json *js, const char *key)
{
	if (js->comma)
		fputs(", ", js->out);
	js->comma = true;
	if (key) {
		put_string(js->out, key);
		fputs(": ", js->out);
	}
}

void json_begin(struct json *js, const char *key, char bracket)
{
	put_key(js, key);
	fputc(bracket, js->out);
	js->comma = false;
}

void json_end(struct json *js, char bracket)
{
	fputc(bracket, js->out);
	js->comma = true;
}

void json_uint(struct json *js, const char *key, uint64_t value)
{
	put_key(js, key);
	fprintf(js->out, "%" PRIu64, value);
}

void json_int(struct json *js, const char *key, int64_t value)
{
	put_key(js, key);
	fprintf(js->out, "%" PRId64, value);
}

void json_bool(struct json *js, const char *key, bool value)
{
	put_key(js, key);
	fputs(value ? "true" : "false", js->out);
}

void json_null(struct json *js, const char *key)
{
	put_key(js, key);
	fputs("null", js->out);
}

void json_real(struct json *js, const char *key, double value, int digits)
{
	put_key(js, key);
	fprintf(js->out, "%.*f", digits, value);
}

void json_string(struct json *js, const char *key, const char *value)
{
	put_key(js, key);
	put_string(js->out, value);
}

const char *json_find(const char *line, const char *key)
{
	size_t len = strlen(key);

	while ((line = strchr(line, '"'))) {
		const char *p = ++line + len;

		if (strncmp(line, key, len) || *p++ != '"')
			continue;
		p += strspn(p, " ");
		if (*p++ == ':')
			return p + strspn(p, " ");
	}
	return NULL;
}
