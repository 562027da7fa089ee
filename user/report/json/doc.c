/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Building jansson's values. */
#include "report/json/doc.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "run/run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SAID_MAX 400 /* bytes of what a key means */

void json_put(struct json_doc *d, json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value))
		d->failed = true;
}

void json_add(struct json_doc *d, json_t *array, json_t *value)
{
	if (json_array_append_new(array, value))
		d->failed = true;
}

/*
 * jansson has no integer of 2^63 or more: its digits are kept as a text that begins with a NUL,
 * which no C string and so no name can, and doc_put_line() prints them without quotes.
 */
json_t *json_number(uint64_t v)
{
	char digits[24] = "";
	int n;

	if (v <= INT64_MAX)
		return json_integer((json_int_t)v);
	n = snprintf(digits + 1, sizeof(digits) - 1, "%" PRIu64, v);
	return json_stringn(digits, 1 + (size_t)n);
}

json_t *json_text(const char *s)
{
	json_t *made = s ? json_string(s) : json_null(), *one;
	char *copy, *to;

	if (made)
		return made;
	copy = to = malloc(3 * strlen(s) + 1);
	if (!copy)
		return NULL;
	while (*s) {
		size_t len = 1, left = strlen(s);

		/* The shortest prefix that jansson takes is one character. */
		for (one = NULL; len <= 4 && len <= left && !one; len++)
			one = json_stringn(s, len);
		len--;
		if (one)
			to = (char *)memcpy(to, s, len) + len;
		else
			to = (char *)memcpy(to, "\xef\xbf\xbd", 3) + 3;
		s += one ? len : 1;
		json_decref(one);
	}
	made = json_stringn(copy, (size_t)(to - copy));
	free(copy);
	return made;
}

json_t *json_said(struct json_doc *d, const char *text)
{
	char said[SAID_MAX];

	return json_text(run_text(d->run, text, said, sizeof(said)));
}

json_t *json_buckets(struct json_doc *d, unsigned int bits, const uint64_t *bucket, size_t n)
{
	json_t *o = json_object(), *list = json_array();

	json_put(d, o, "bits", json_integer(bits));
	for (size_t i = 0; i < n; i++) {
		json_t *pair;

		if (!bucket[i])
			continue;
		pair = json_array();
		json_add(d, pair, json_number(i));
		json_add(d, pair, json_number(bucket[i]));
		json_add(d, list, pair);
	}
	json_put(d, o, "buckets", list);
	return o;
}

json_t *json_latency(struct json_doc *d, const struct hist *h)
{
	static const struct {
		const char *key;
		double q;
	} quantiles[] = {
		{ "p50_ns", 0.5 }, { "p95_ns", 0.95 }, { "p99_ns", 0.99 }, { "p999_ns", 0.999 }
	};
	json_t *o = json_object();

	json_put(d, o, "n", json_number(h->n));
	json_put(d, o, "sum_ns", json_number(h->sum));
	json_put(d, o, "min_ns", h->n ? json_number(h->min) : json_null());
	json_put(d, o, "max_ns", h->n ? json_number(h->max) : json_null());
	for (size_t i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++)
		json_put(d, o, quantiles[i].key,
			 h->n ? json_number(hist_quantile(h, quantiles[i].q)) : json_null());
	json_put(d, o, "histogram", json_buckets(d, HIST_BITS, h->bucket, HIST_BUCKETS(HIST_BITS)));
	return o;
}

json_t *json_wall(int64_t wall_ns)
{
	char text[CLOCK_WALL_MAX];

	clock_wall_text(text, wall_ns);
	return *text ? json_string(text) : json_null();
}

/* The digits of json_number() where c begins such a text; else NULL. Within another text a quote
 * has a backslash before it, and a backslash is two, so that it cannot look so. */
static const char *doc_digits(const char *c)
{
	static const char begin[] = "\"\\u0000";

	return strncmp(c, begin, sizeof(begin) - 1) ? NULL : c + sizeof(begin) - 1;
}

/* Writes the character that c begins, as an escape if it is none that is shown (base/text.h):
 * jansson leaves those beyond ASCII, and DEL, as they are. Its length. */
static size_t doc_put_char(FILE *out, const char *c)
{
	size_t len = (uint8_t)*c < 0x7f ? 1 : text_char(c);
	uint32_t code;

	if (len) {
		fwrite(c, 1, len, out);
		return len;
	}
	len = text_decode(c, &code);
	if (code > 0xffff) {
		fprintf(out, "\\u%04x", 0xd800 + ((code - 0x10000) >> 10));
		code = 0xdc00 + (code & 0x3ff);
	}
	fprintf(out, "\\u%04x", code);
	return len ? len : 1;
}

static int doc_put_line(FILE *out, const struct json_doc *d, json_t *o, size_t flags)
{
	char *text = d->failed ? NULL : json_dumps(o, flags);
	const char *c = text, *digits;

	while (c && *c) {
		digits = doc_digits(c);
		if (digits) {
			c = strchr(digits, '"');
			fwrite(digits, 1, (size_t)(c - digits), out);
			c++;
		} else {
			c += doc_put_char(out, c);
		}
	}
	fputc('\n', out);
	json_decref(o);
	free(text);
	return text ? 0 : -ENOMEM;
}

int json_line(FILE *out, const struct json_doc *d, json_t *o)
{
	return doc_put_line(out, d, o, JSON_COMPACT);
}

char *json_memory(const struct json_doc *d, json_t *o, size_t *len)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, len);
	int r;

	if (!f) {
		json_decref(o);
		return NULL;
	}
	r = doc_put_line(f, d, o, 0);
	if (!fclose(f) && !r)
		return text;
	free(text);
	return NULL;
}

static int doc_print(const char *text, size_t len, struct err *e)
{
	if (fwrite(text, 1, len, stdout) == len && !fflush(stdout))
		return 0;
	return err_set(e, errno ? -errno : -EIO, "cannot write to standard output: %s",
		       strerror(errno ? errno : EIO));
}

int json_save(const struct json_doc *d, json_t *o, const char *path, struct err *e)
{
	size_t len;
	char *text = json_memory(d, o, &len);
	int r;

	if (!text)
		return err_set(e, -ENOMEM, "out of memory for the JSON");
	if (strcmp(path, "-") != 0)
		r = file_save(path, FILE_RESULT, text, len, e);
	else
		r = doc_print(text, len, e);
	free(text);
	return r;
}
