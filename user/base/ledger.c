/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arithmetic on ledgers. Not for filling one: the watch does that. */
#include "base/ledger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const role_names[AFS_N_ROLES] = {
#define X(name, text) text,
	AFS_ROLES(X)
#undef X
};

static const char *const class_names[AFS_N_CLASSES] = {
#define X(name, text) text,
	AFS_CLASSES(X)
#undef X
};

static const char *const object_names[AFS_N_OBJECTS] = {
#define X(name, text) text,
	AFS_OBJECTS(X)
#undef X
};

void ledger_fini(struct ledger *l)
{
	free(l->row);
	*l = (struct ledger) { 0 };
}

static unsigned int row_key(const struct ledger_row *row)
{
	return (unsigned int)AFS_CELL(row->role, row->class, row->object);
}

static void cell_add(struct afs_cell *to, const struct afs_cell *from)
{
	to->calls += from->calls;
	to->errors += from->errors;
	to->bytes += from->bytes;
	to->ns += from->ns;
	for (size_t i = 0; i < AFS_HIST_BUCKETS; i++)
		to->hist[i] += from->hist[i];
}

/* false: a total went backwards. */
static bool cell_subtract(struct afs_cell *from, const struct afs_cell *what)
{
	bool ok = from->calls >= what->calls && from->errors >= what->errors &&
		  from->bytes >= what->bytes && from->ns >= what->ns;

	from->calls -= what->calls;
	from->errors -= what->errors;
	from->bytes -= what->bytes;
	from->ns -= what->ns;
	for (size_t i = 0; i < AFS_HIST_BUCKETS; i++) {
		ok = ok && from->hist[i] >= what->hist[i];
		from->hist[i] -= what->hist[i];
	}
	return ok;
}

static bool cell_is_zero(const struct afs_cell *cell)
{
	static const struct afs_cell zero;

	return !memcmp(cell, &zero, sizeof(zero));
}

/*
 * The rows of a and b in one sorted array, equal keys combined: a + b, or a - b when
 * "subtract". *ok becomes false when a difference is negative.
 */
static int combine(struct ledger *out, const struct ledger *a, const struct ledger *b,
		   bool subtract, bool *ok)
{
	size_t n = a->n_rows + b->n_rows, i = 0, k = 0;

	*ok = true;
	if (!n)
		return 0;
	out->row = calloc(n, sizeof(*out->row));
	if (!out->row)
		return -ENOMEM;
	while (i < a->n_rows || k < b->n_rows) {
		unsigned int ka = i < a->n_rows ? row_key(&a->row[i]) : AFS_N_CELLS;
		unsigned int kb = k < b->n_rows ? row_key(&b->row[k]) : AFS_N_CELLS;
		struct ledger_row *row = &out->row[out->n_rows];

		*row = ka <= kb ? a->row[i++] : b->row[k];
		if (ka > kb)
			row->cell = (struct afs_cell) { 0 };
		if (kb <= ka && subtract)
			*ok &= cell_subtract(&row->cell, &b->row[k++].cell);
		else if (kb <= ka)
			cell_add(&row->cell, &b->row[k++].cell);
		if (!cell_is_zero(&row->cell))
			out->n_rows++;
	}
	return 0;
}

static bool compat_subtract(struct afs_compat *from, const struct afs_compat *what)
{
	bool ok = from->syscr >= what->syscr && from->syscw >= what->syscw &&
		  from->rchar >= what->rchar && from->wchar >= what->wchar;

	from->syscr -= what->syscr;
	from->syscw -= what->syscw;
	from->rchar -= what->rchar;
	from->wchar -= what->wchar;
	return ok;
}

int ledger_diff(struct ledger *out, const struct ledger *later, const struct ledger *earlier)
{
	struct ledger made = { .has_calls = later->has_calls && earlier->has_calls,
			       .filled = true };
	bool ok;
	int r;

	r = combine(&made, later, earlier, true, &ok);
	if (r) {
		*out = (struct ledger) { 0 };
		return r;
	}
	if (!ok || !made.has_calls) {
		made.has_calls = false;
		made.n_rows = 0;
	}
	for (size_t i = 0; i < AFS_N_ROLES; i++) {
		struct afs_compat c = later->compat[i];

		if (!later->has_compat[i] || !earlier->has_compat[i])
			continue;
		made.has_compat[i] = compat_subtract(&c, &earlier->compat[i]);
		if (made.has_compat[i])
			made.compat[i] = c;
	}
	*out = made;
	return 0;
}

static bool is_new(const struct ledger *l)
{
	bool any = l->filled || l->has_calls || l->n_rows;

	for (size_t i = 0; i < AFS_N_ROLES; i++)
		any = any || l->has_compat[i];
	return !any;
}

static void compat_add(struct afs_compat *to, const struct afs_compat *from)
{
	to->syscr += from->syscr;
	to->syscw += from->syscw;
	to->rchar += from->rchar;
	to->wchar += from->wchar;
}

int ledger_add(struct ledger *to, const struct ledger *from)
{
	bool fresh = is_new(to), ok;
	struct ledger made = { .has_calls = from->has_calls && (fresh || to->has_calls),
			       .filled = true };
	int r;

	r = combine(&made, to, from, false, &ok);
	if (r)
		return r;
	for (size_t i = 0; i < AFS_N_ROLES; i++) {
		made.has_compat[i] = from->has_compat[i] && (fresh || to->has_compat[i]);
		if (!made.has_compat[i])
			continue;
		made.compat[i] = to->compat[i];
		compat_add(&made.compat[i], &from->compat[i]);
	}
	ledger_fini(to);
	*to = made;
	return 0;
}

struct afs_cell ledger_sum(const struct ledger *l, unsigned int role, unsigned int class,
			   unsigned int object)
{
	struct afs_cell sum = { 0 };

	for (size_t i = 0; i < l->n_rows; i++) {
		const struct ledger_row *row = &l->row[i];

		if (role != AFS_N_ROLES && row->role != role)
			continue;
		if (class != AFS_N_CLASSES && row->class != class)
			continue;
		if (object != AFS_N_OBJECTS && row->object != object)
			continue;
		cell_add(&sum, &row->cell);
	}
	return sum;
}

const char *ledger_role_name(unsigned int role)
{
	return role < AFS_N_ROLES ? role_names[role] : "?";
}

const char *ledger_class_name(unsigned int class)
{
	return class < AFS_N_CLASSES ? class_names[class] : "?";
}

const char *ledger_object_name(unsigned int object)
{
	return object < AFS_N_OBJECTS ? object_names[object] : "?";
}
