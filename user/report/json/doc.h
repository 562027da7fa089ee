/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REPORT_JSON_DOC_H
#define REPORT_JSON_DOC_H

/* What the parts of the JSON share while it is built. */

#include "base/err.h"
#include "base/hist.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct run;

/*
 * Failure of jansson is checked once at the end: a NULL value makes json_object_set_new and
 * json_array_append_new fail, and json_put() and json_add() remember that in a single flag.
 */
struct json_doc {
	bool failed;
	const struct run *run; /* NULL: it is not about a run */
};

void json_put(struct json_doc *d, json_t *object, const char *key, json_t *value);
void json_add(struct json_doc *d, json_t *array, json_t *value);

/* v as an integer in the document, however large. From 2^63 on it is no number of jansson's. */
json_t *json_number(uint64_t v);
/* Text that may come from a server: bytes that are not UTF-8 become U+FFFD. NULL becomes null. */
json_t *json_text(const char *s);
/* The same with the words of the kind of d->run (run_text). */
json_t *json_said(struct json_doc *d, const char *text);
/* [[index, count], ...] of the buckets that are not empty, and their sub-bucket bits. */
json_t *json_buckets(struct json_doc *d, unsigned int bits, const uint64_t *bucket, size_t n);

/* The values of a histogram of ns, and its buckets. */
json_t *json_latency(struct json_doc *d, const struct hist *h);

/* Wall time as "2026-11-21T17:22:05.123456789Z". */
json_t *json_wall(int64_t wall_ns);

/*
 * The document o as one line of ASCII without control characters, whatever the names in it: it may
 * be read on a terminal. All three take o, also NULL, and fail where d has failed.
 *
 * json_line: prints it, without spaces. 0 or -ENOMEM.
 * json_memory: the line, *len bytes, to be freed. NULL without memory.
 * json_save: writes it to the file path; to standard output if that is "-".
 */
int json_line(FILE *out, const struct json_doc *d, json_t *o);
char *json_memory(const struct json_doc *d, json_t *o, size_t *len);
int json_save(const struct json_doc *d, json_t *o, const char *path, struct err *e);

#endif
