/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which rows of a table a view has, and in which order. */
#include "top/top_rows.h"

#include <stdlib.h>
#include <string.h>

const char *const top_views[] = {
#define X(NAME, key, heading) key,
	LIVE_BYS(X)
#undef X
	    NULL
};

const char *const top_columns[] = {
#define X(NAME, key, heading, columns) key,
	TOP_COLUMNS(X)
#undef X
	    NULL
};

struct keyed {
	const struct live_row *row;
	double key;
	const char *text; /* where keys are equal, before the name */
};

static bool has(const char *where, const char *text)
{
	return where && strcasestr(where, text);
}

bool top_row_has(const struct live_row *r, const char *text)
{
	return has(r->name, text) || has(r->user, text) || has(r->client, text) ||
	       has(r->volume, text);
}

static bool top_rows_is_same(const char *a, const char *b)
{
	return a && !strcmp(a, b);
}

static bool top_rows_is_of(const struct live_row *r, const struct top_view *v)
{
	if (!*v->one || v->by != LIVE_SESSION)
		return true;
	switch (v->of) {
	case LIVE_USER:
		return top_rows_is_same(r->user, v->one);
	case LIVE_CLIENT:
		return top_rows_is_same(r->client, v->one);
	case LIVE_VOLUME:
		return top_rows_is_same(r->volume, v->one);
	default:
		return top_rows_is_same(r->name, v->one);
	}
}

static double key_of(const struct live_row *r, enum top_column sort)
{
	switch (sort) {
	case TOP_RATE:
		return (double)r->sum.requests;
	case TOP_ERRORS:
		return (double)r->sum.errors;
	case TOP_P50:
		return live_sum_quantile(&r->sum, 0.5);
	case TOP_P99:
		return live_sum_quantile(&r->sum, 0.99);
	case TOP_MEAN:
		return live_sum_mean(&r->sum);
	case TOP_IN:
		return (double)r->sum.bytes_in;
	case TOP_OUT:
		return (double)r->sum.bytes_out;
	case TOP_NOW:
		return (double)r->in_service;
	case TOP_OLDEST:
		return (double)r->oldest_ns;
	case TOP_BUSY:
		return (double)r->sum.service_ns;
	case TOP_CPU:
		return (double)(r->sum.time_ns[ACCOUNT_USER] + r->sum.time_ns[ACCOUNT_CALLS]);
	case TOP_RUNQ:
		return (double)r->sum.time_ns[ACCOUNT_RUNQ];
	case TOP_DISK:
		return (double)r->sum.time_ns[ACCOUNT_DISK];
	case TOP_CNID:
		return (double)r->sum.time_ns[ACCOUNT_CNID];
	case TOP_NAME:
	case TOP_VOLUME:
		return 0;
	default:
		/* Somebody waits for what has not ended. */
		return (double)r->sum.service_ns + (double)r->oldest_ns;
	}
}

static int top_rows_compare(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? 1 : -1;
	return strcmp(x->text, y->text) ? strcmp(x->text, y->text)
					: strcmp(x->row->name, y->row->name);
}

static struct keyed keyed(const struct live_row *r, enum top_column sort)
{
	return (struct keyed) { .row = r,
				.key = key_of(r, sort),
				.text = sort == TOP_VOLUME && r->volume ? r->volume : "" };
}

size_t top_rows(const struct live_row **out, const struct live_table *t, const struct top_view *v)
{
	struct keyed *found = malloc(t->n * sizeof(*found));
	size_t n = 0;

	for (size_t i = 0; found && i < t->n; i++) {
		const struct live_row *r = t->row[i];

		if (top_rows_is_of(r, v) && (!*v->filter || top_row_has(r, v->filter)))
			found[n++] = keyed(r, v->sort);
	}
	if (n)
		qsort(found, n, sizeof(*found), top_rows_compare);
	for (size_t i = 0; i < n; i++)
		out[v->inverted ? n - 1 - i : i] = found[i].row;
	free(found);
	return n;
}
