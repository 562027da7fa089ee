/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "top/live_table.h"

#include "base/hash.h"
#include "run/requests.h"

#include <stdlib.h>
#include <string.h>

#define PLACES (4 * LIVE_ROWS) /* of the index; a power of two */

void live_sum_add(struct live_sum *to, const struct live_sum *from)
{
	to->requests += from->requests;
	to->errors += from->errors;
	to->bytes_in += from->bytes_in;
	to->bytes_out += from->bytes_out;
	to->ns += from->ns;
	to->service_ns += from->service_ns;
	to->handed += from->handed;
	for (size_t i = 0; i < ACCOUNT_N_COLUMNS; i++)
		to->time_ns[i] += from->time_ns[i];
	for (size_t i = 0; from->requests && i < AFS_REQUEST_BUCKETS; i++)
		to->hist[i] += from->hist[i];
}

double live_sum_quantile(const struct live_sum *s, double q)
{
	struct ledger_account a = { 0 };

	memcpy(a.hist, s->hist, sizeof(a.hist));
	return requests_quantile(&a, q);
}

double live_sum_mean(const struct live_sum *s)
{
	return s->requests ? (double)s->ns / (double)s->requests : 0;
}

static void row_clear(struct live_row *r)
{
	free(r->name);
	free(r->user);
	free(r->client);
	free(r->volume);
	memset(r, 0, sizeof(*r));
}

void live_table_free(struct live_table *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->room; i++) {
		row_clear(t->row[i]);
		free(t->row[i]);
	}
	free(t->row);
	free(t->index);
	free(t);
}

struct live_table *live_table_new(void)
{
	struct live_table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->row = calloc(LIVE_ROWS, sizeof(*t->row));
	t->index = calloc(PLACES, sizeof(*t->index));
	if (t->row && t->index)
		return t;
	live_table_free(t);
	return NULL;
}

void live_table_clear(struct live_table *t)
{
	if (t->n)
		memset(t->index, 0, PLACES * sizeof(*t->index));
	t->n = 0;
	t->more = 0;
	t->rest = (struct live_sum) { 0 };
}

/* A row at the end of those in use, cleared, with that name. */
static struct live_row *live_table_row_add(struct live_table *t, const char *name)
{
	struct live_row *r = t->n < t->room ? t->row[t->n] : calloc(1, sizeof(*r));
	char *copy = strdup(name);

	if (!r || !copy) {
		if (r && t->n == t->room)
			free(r);
		free(copy);
		return NULL;
	}
	if (t->n == t->room)
		t->row[t->room++] = r;
	row_clear(r);
	r->name = copy;
	t->n++;
	return r;
}

struct live_row *live_table_row(struct live_table *t, const char *name)
{
	uint32_t at = (uint32_t)hash_text(HASH_TEXT, name);
	struct live_row *r;

	for (;; at++) {
		uint32_t i = t->index[at % PLACES];

		if (!i)
			break;
		if (!strcmp(t->row[i - 1]->name, name))
			return t->row[i - 1];
	}
	r = t->n < LIVE_ROWS ? live_table_row_add(t, name) : NULL;
	if (r)
		t->index[at % PLACES] = (uint32_t)t->n;
	else
		t->more++;
	return r;
}
