/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arithmetic on ledgers. user/watch fills them. */
#include "run/ledger.h"

#include "base/sums.h"

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
	free(l->part);
	free(l->account);
	free(l->result);
	free(l->storage);
	free(l->packets);
	*l = (struct ledger) { 0 };
}

/*
 * A kind of rows: a key, by which they are sorted, followed only by running totals, which are added
 * and subtracted one by one.
 */
struct totals_kind {
	size_t size, totals; /* of a row, and where its totals begin */
	uint64_t (*key)(const void *row);
	/*
	 * n_times totals, from "times" on, are times that include what is in progress: they may go
	 * backwards. A read of the client's socket, say, is moved to the request that it completes;
	 * an earlier reading may have had it elsewhere. And an interrupted call of a killed thread
	 * never counts.
	 */
	size_t times, n_times;
	void (*join)(void *to, const void *from); /* for members that are no totals; NULL: none */
};

static uint64_t row_key(const void *row)
{
	const struct ledger_row *r = row;

	return AFS_CELL(r->role, r->class, r->object);
}

static uint64_t run_ledger_part_key(const void *row)
{
	const struct ledger_part *p = row;

	return ((uint64_t)p->role * AFS_N_ACCOUNTS + p->account) * AFS_N_STATES +
	       AFS_STATE(p->class, p->object);
}

static uint64_t account_key(const void *row)
{
	return ((const struct ledger_account *)row)->account;
}

static uint64_t result_key(const void *row)
{
	const struct ledger_result *r = row;

	return (uint64_t)r->account << 32 | (uint32_t)r->code;
}

static uint64_t storage_key(const void *row)
{
	const struct ledger_storage *s = row;

	return (uint64_t)s->role * AFS_N_ACCOUNTS + s->account;
}

static uint64_t packets_key(const void *row)
{
	return ((const struct ledger_packets *)row)->from_server;
}

static void account_join(void *to, const void *from)
{
	const struct ledger_account *b = from;
	struct ledger_account *a = to;

	if (b->max_ns > a->max_ns)
		a->max_ns = b->max_ns;
	if (b->min_ns && (!a->min_ns || b->min_ns < a->min_ns))
		a->min_ns = b->min_ns;
}

#define KIND(type, first, key, times, n_times, run_ledger_join)                                    \
	{                                                                                          \
		sizeof(struct type), offsetof(struct type, first), key, times, n_times,            \
		    run_ledger_join                                                                \
	}

#define CELL_TIMES offsetof(struct afs_cell, ns) / sizeof(__u64)
#define PART_TIMES offsetof(struct afs_part, cpu_ns) / sizeof(__u64)

static const struct totals_kind row_kind = KIND(ledger_row, cell, row_key, CELL_TIMES, 1, NULL);
static const struct totals_kind part_kind = KIND(ledger_part, part, run_ledger_part_key, PART_TIMES,
						 4, NULL);
static const struct totals_kind account_kind = KIND(ledger_account, sum, account_key, 0, 0,
						    account_join);
static const struct totals_kind result_kind = KIND(ledger_result, n, result_key, 0, 0, NULL);
static const struct totals_kind storage_kind = KIND(ledger_storage, sum, storage_key, 0, 0, NULL);
static const struct totals_kind packets_kind = KIND(ledger_packets, sum, packets_key, 0, 0, NULL);

static __u64 *totals_of(const struct totals_kind *k, void *row)
{
	return (__u64 *)((char *)row + k->totals);
}

static size_t n_totals(const struct totals_kind *k)
{
	return (k->size - k->totals) / sizeof(__u64);
}

static void totals_add(const struct totals_kind *k, void *to, const void *from)
{
	sums_add(totals_of(k, to), totals_of(k, (void *)from), k->size - k->totals);
	if (k->join)
		k->join(to, from);
}

/* false: a total went backwards. */
static bool totals_subtract(const struct totals_kind *k, void *from, const void *what)
{
	const __u64 *b = totals_of(k, (void *)what);
	__u64 *a = totals_of(k, from);
	bool ok = true;

	for (size_t i = 0; i < n_totals(k); i++) {
		if (i - k->times < k->n_times && a[i] < b[i]) {
			a[i] = 0;
			continue;
		}
		ok = ok && a[i] >= b[i];
		a[i] -= b[i];
	}
	return ok;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Takes over what is larger. */
static void totals_raise(const struct totals_kind *k, void *to, const void *from)
{
	const __u64 *b = totals_of(k, (void *)from);
	__u64 *a = totals_of(k, to);

	for (size_t i = 0; i < n_totals(k); i++)
		a[i] = larger(a[i], b[i]);
	if (k->join)
		k->join(to, from);
}

static bool totals_are_zero(const struct totals_kind *k, void *row)
{
	const __u64 *a = totals_of(k, row);

	for (size_t i = 0; i < n_totals(k); i++)
		if (a[i])
			return false;
	return true;
}

/* Rows of one kind. */
struct rows {
	size_t n;
	char *row;
};

enum how { ADD, SUBTRACT, RAISE };

/*
 * The rows of a and b in one sorted array, equal keys combined: a + b, a - b, or the larger of each
 * two totals. *ok becomes false when a difference is negative.
 */
static int combine(const struct totals_kind *k, struct rows *out, struct rows a, struct rows b,
		   enum how how, bool *ok)
{
	size_t i = 0, j = 0;

	*out = (struct rows) { 0 };
	if (!a.n && !b.n)
		return 0;
	out->row = calloc(a.n + b.n, k->size);
	if (!out->row)
		return -ENOMEM;
	while (i < a.n || j < b.n) {
		uint64_t ka = i < a.n ? k->key(a.row + i * k->size) : UINT64_MAX;
		uint64_t kb = j < b.n ? k->key(b.row + j * k->size) : UINT64_MAX;
		char *row = out->row + out->n * k->size;

		memcpy(row, ka <= kb ? a.row + i++ * k->size : b.row + j * k->size, k->size);
		if (ka > kb)
			memset(row + k->totals, 0, k->size - k->totals);
		if (kb <= ka && how == SUBTRACT)
			*ok &= totals_subtract(k, row, b.row + j++ * k->size);
		else if (kb <= ka && how == RAISE)
			totals_raise(k, row, b.row + j++ * k->size);
		else if (kb <= ka)
			totals_add(k, row, b.row + j++ * k->size);
		if (!totals_are_zero(k, row))
			out->n++;
	}
	return 0;
}

static int compare_keys(const void *a, const void *b, void *kind)
{
	const struct totals_kind *k = kind;
	uint64_t x = k->key(a), y = k->key(b);

	return x < y ? -1 : x > y;
}

/* Returns how many are left. */
static size_t join_equal(const struct totals_kind *k, void *rows, size_t n)
{
	char *row = rows, *last = rows;

	if (!n)
		return 0;
	qsort_r(row, n, k->size, compare_keys, (void *)k);
	for (size_t i = 1; i < n; i++) {
		row += k->size;
		if (k->key(row) == k->key(last))
			totals_add(k, last, row);
		else
			memmove(last += k->size, row, k->size);
	}
	return (size_t)(last - (char *)rows) / k->size + 1;
}

void ledger_join(struct ledger *l)
{
	l->n_parts = join_equal(&part_kind, l->part, l->n_parts);
	l->n_results = join_equal(&result_kind, l->result, l->n_results);
}

/* All rows of "to": made of a and b. */
static int combine_all(struct ledger *to, const struct ledger *a, const struct ledger *b,
		       enum how how, bool *ok)
{
	struct rows out;
	int r;

	*ok = true;
#define COMBINE(kind, count, member)                                                               \
	r = combine(kind, &out, (struct rows) { a->count, (char *)a->member },                     \
		    (struct rows) { b->count, (char *)b->member }, how, ok);                       \
	if (r)                                                                                     \
		return r;                                                                          \
	to->count = out.n;                                                                         \
	to->member = (void *)out.row

	COMBINE(&row_kind, n_rows, row);
	COMBINE(&part_kind, n_parts, part);
	COMBINE(&account_kind, n_accounts, account);
	COMBINE(&result_kind, n_results, result);
	COMBINE(&storage_kind, n_storage, storage);
	COMBINE(&packets_kind, n_packets, packets);
#undef COMBINE
	return 0;
}

bool ledger_compat_subtract(struct afs_compat *from, const struct afs_compat *what)
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
			       .has_requests = later->has_requests && earlier->has_requests,
			       .has_storage = later->has_storage && earlier->has_storage,
			       .filled = true };
	bool ok;
	int r;

	r = combine_all(&made, later, earlier, SUBTRACT, &ok);
	if (r) {
		ledger_fini(&made);
		*out = made;
		return r;
	}
	if (!ok || !made.has_calls) {
		made.has_calls = false;
		made.n_rows = 0;
	}
	for (int i = 0; i < AFS_N_STORAGE_ITEMS; i++)
		made.has_item[i] = later->has_item[i] && earlier->has_item[i];
	if (!ok || !made.has_storage) {
		made.has_storage = false;
		made.n_storage = 0;
	}
	if (!ok || !made.has_requests) {
		made.has_requests = false;
		made.n_parts = made.n_accounts = made.n_results = made.n_packets = 0;
	}
	for (size_t i = 0; i < AFS_N_ROLES; i++) {
		struct afs_compat c = later->compat[i];

		if (!later->has_compat[i] || !earlier->has_compat[i])
			continue;
		made.has_compat[i] = ledger_compat_subtract(&c, &earlier->compat[i]);
		if (made.has_compat[i])
			made.compat[i] = c;
	}
	*out = made;
	return 0;
}

static bool run_ledger_is_new(const struct ledger *l)
{
	bool any = l->filled || l->has_calls || l->has_requests || l->n_rows;

	for (size_t i = 0; i < AFS_N_ROLES; i++)
		any = any || l->has_compat[i];
	return !any;
}

void ledger_compat_add(struct afs_compat *to, const struct afs_compat *from)
{
	sums_add(to, from, sizeof(*to));
}

static void compat_raise(struct afs_compat *to, const struct afs_compat *from)
{
	to->syscr = larger(to->syscr, from->syscr);
	to->syscw = larger(to->syscw, from->syscw);
	to->rchar = larger(to->rchar, from->rchar);
	to->wchar = larger(to->wchar, from->wchar);
}

static int run_ledger_join(struct ledger *to, const struct ledger *from, enum how how)
{
	bool fresh = run_ledger_is_new(to), ok;
	struct ledger made = { .has_calls = from->has_calls && (fresh || to->has_calls),
			       .has_requests = from->has_requests && (fresh || to->has_requests),
			       .has_storage = from->has_storage && (fresh || to->has_storage),
			       .filled = true };
	int r;

	r = combine_all(&made, to, from, how, &ok);
	if (r) {
		ledger_fini(&made);
		return r;
	}
	for (int i = 0; i < AFS_N_STORAGE_ITEMS; i++)
		made.has_item[i] = from->has_item[i] && (fresh || to->has_item[i]);
	for (size_t i = 0; i < AFS_N_ROLES; i++) {
		made.has_compat[i] = from->has_compat[i] && (fresh || to->has_compat[i]);
		if (!made.has_compat[i])
			continue;
		made.compat[i] = to->compat[i];
		if (how == ADD)
			ledger_compat_add(&made.compat[i], &from->compat[i]);
		else
			compat_raise(&made.compat[i], &from->compat[i]);
	}
	ledger_fini(to);
	*to = made;
	return 0;
}

int ledger_add(struct ledger *to, const struct ledger *from)
{
	return run_ledger_join(to, from, ADD);
}

int ledger_raise(struct ledger *to, const struct ledger *from)
{
	return run_ledger_join(to, from, RAISE);
}

struct afs_cell ledger_sum(const struct ledger *l, unsigned int role, unsigned int class,
			   unsigned int object)
{
	struct ledger_row sum = { 0 };

	for (size_t i = 0; i < l->n_rows; i++) {
		const struct ledger_row *row = &l->row[i];

		if (role != AFS_N_ROLES && row->role != role)
			continue;
		if (class != AFS_N_CLASSES && row->class != class)
			continue;
		if (object != AFS_N_OBJECTS && row->object != object)
			continue;
		totals_add(&row_kind, &sum, row);
	}
	return sum.cell;
}

void ledger_account_add(struct ledger_account *to, const struct ledger_account *from)
{
	totals_add(&account_kind, to, from);
}

struct afs_packets ledger_packets(const struct ledger *l, bool from_server)
{
	for (size_t i = 0; i < l->n_packets; i++)
		if (l->packets[i].from_server == from_server)
			return l->packets[i].sum;
	return (struct afs_packets) { 0 };
}

uint64_t ledger_answered(const struct ledger *l)
{
	uint64_t n = 0;

	for (size_t i = 0; i < l->n_accounts; i++)
		n += l->account[i].sum.answered;
	return n;
}

struct afs_part ledger_part_sum(const struct ledger *l, unsigned int role, unsigned int account,
				unsigned int class, unsigned int object)
{
	struct ledger_part sum = { 0 };

	for (size_t i = 0; i < l->n_parts; i++) {
		const struct ledger_part *p = &l->part[i];

		if (role != LEDGER_ALL && p->role != role)
			continue;
		if (account != LEDGER_ALL && p->account != account)
			continue;
		if (class != LEDGER_ALL && p->class != class)
			continue;
		if (object != LEDGER_ALL && p->object != object)
			continue;
		totals_add(&part_kind, &sum, p);
	}
	return sum.part;
}

struct afs_storage ledger_storage_sum(const struct ledger *l, unsigned int role,
				      unsigned int account)
{
	struct ledger_storage sum = { 0 };

	for (size_t i = 0; i < l->n_storage; i++) {
		if (role != LEDGER_ALL && l->storage[i].role != role)
			continue;
		if (account == LEDGER_ALL || l->storage[i].account == account)
			totals_add(&storage_kind, &sum, &l->storage[i]);
	}
	return sum.sum;
}

const struct ledger_account *ledger_account(const struct ledger *l, unsigned int number)
{
	for (size_t i = 0; i < l->n_accounts; i++)
		if (l->account[i].account == number)
			return &l->account[i];
	return NULL;
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

static int ledger_row_order(const void *a, const void *b)
{
	const struct ledger_row *x = a, *y = b;
	bool x_waits = x->class == AFS_CLASS_WAIT, y_waits = y->class == AFS_CLASS_WAIT;

	if (x_waits != y_waits)
		return x_waits ? 1 : -1;
	if (x->cell.ns != y->cell.ns)
		return x->cell.ns < y->cell.ns ? 1 : -1;
	if (x->cell.calls != y->cell.calls)
		return x->cell.calls < y->cell.calls ? 1 : -1;
	return AFS_CELL(0, (int)x->class, (int)x->object) -
	       AFS_CELL(0, (int)y->class, (int)y->object);
}

struct ledger_row *ledger_rows_of(const struct ledger *l, unsigned int role, size_t *n)
{
	struct ledger_row *row = calloc(l->n_rows + 1, sizeof(*row));

	*n = 0;
	if (!row)
		return NULL;
	for (size_t i = 0; i < l->n_rows; i++)
		if (l->row[i].role == role)
			row[(*n)++] = l->row[i];
	qsort(row, *n, sizeof(*row), ledger_row_order);
	return row;
}
