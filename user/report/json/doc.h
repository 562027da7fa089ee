/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REPORT_JSON_DOC_H
#define REPORT_JSON_DOC_H

/* What the parts of the JSON share while it is built. */

#include "base/hist.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

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

json_t *json_number(uint64_t v);
/* Text that may come from a server: bytes that are not UTF-8 become U+FFFD. NULL becomes null. */
json_t *json_text(const char *s);
/* [[index, count], ...] of the buckets that are not empty, and their sub-bucket bits. */
json_t *json_buckets(struct json_doc *d, unsigned int bits, const uint64_t *bucket, size_t n);

/* The values of a histogram of ns, and its buckets. */
json_t *json_latency(struct json_doc *d, const struct hist *h);

#endif
