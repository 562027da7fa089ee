/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums and differences of ledgers, also without memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Allocations until one fails; negative: none does. */
static int allocations_left = -1;

static void *scarce_calloc(size_t n, size_t size)
{
	if (!allocations_left)
		return NULL;
	if (allocations_left > 0)
		allocations_left--;
	return (calloc)(n, size);
}

/* The module itself, with this allocator; the library's copy is not linked then. */
#define calloc(n, size) scarce_calloc(n, size)
#include "run/ledger.c"
#undef calloc

/* Rows have to be appended in order of their key. */
static void append(struct ledger *l, uint8_t role, uint8_t class, uint8_t object, uint64_t calls)
{
	struct ledger_row *row;

	l->row = realloc(l->row, (l->n_rows + 1) * sizeof(*l->row));
	row = &l->row[l->n_rows++];
	*row = (struct ledger_row) { .role = role, .class = class, .object = object };
	row->cell.calls = calls;
	row->cell.bytes = 10 * calls;
	row->cell.ns = 100 * calls;
	row->cell.hist[3] = calls;
}

static const struct ledger_row *find(const struct ledger *l, uint8_t class, uint8_t object)
{
	for (size_t i = 0; i < l->n_rows; i++) {
		if (l->row[i].class == class && l->row[i].object == object)
			return &l->row[i];
	}
	return NULL;
}

static void a_difference_holds_only_what_happened_in_between(void **state)
{
	struct ledger a = { .has_calls = true }, b = { .has_calls = true }, d;

	(void)state;
	append(&a, AFS_ROLE_SERVER, AFS_CLASS_READ, AFS_OBJECT_PIPE, 7);
	append(&a, AFS_ROLE_SERVER, AFS_CLASS_STAT, AFS_OBJECT_NONE, 3);
	append(&b, AFS_ROLE_SERVER, AFS_CLASS_READ, AFS_OBJECT_PIPE, 10);
	append(&b, AFS_ROLE_SERVER, AFS_CLASS_WRITE, AFS_OBJECT_CLIENT, 2);
	append(&b, AFS_ROLE_SERVER, AFS_CLASS_STAT, AFS_OBJECT_NONE, 3);
	assert_int_equal(ledger_diff(&d, &b, &a), 0);
	assert_true(d.has_calls);
	assert_int_equal(d.n_rows, 2);
	assert_int_equal(find(&d, AFS_CLASS_READ, AFS_OBJECT_PIPE)->cell.calls, 3);
	assert_int_equal(find(&d, AFS_CLASS_READ, AFS_OBJECT_PIPE)->cell.bytes, 30);
	assert_int_equal(find(&d, AFS_CLASS_READ, AFS_OBJECT_PIPE)->cell.ns, 300);
	assert_int_equal(find(&d, AFS_CLASS_READ, AFS_OBJECT_PIPE)->cell.hist[3], 3);
	assert_int_equal(find(&d, AFS_CLASS_WRITE, AFS_OBJECT_CLIENT)->cell.calls, 2);
	assert_null(find(&d, AFS_CLASS_STAT, AFS_OBJECT_NONE));
	ledger_fini(&a);
	ledger_fini(&b);
	ledger_fini(&d);
}

static void earlier_plus_difference_is_later(void **state)
{
	struct ledger a = { .has_calls = true }, b = { .has_calls = true }, d;

	(void)state;
	for (uint8_t c = 0; c < AFS_N_CLASSES; c++) {
		append(&b, AFS_ROLE_BACKEND, c, c % AFS_N_OBJECTS, 5 + c);
		if (c % 2)
			append(&a, AFS_ROLE_BACKEND, c, c % AFS_N_OBJECTS, c);
	}
	assert_int_equal(ledger_diff(&d, &b, &a), 0);
	assert_int_equal(ledger_add(&a, &d), 0);
	assert_int_equal(a.n_rows, b.n_rows);
	for (size_t i = 0; i < a.n_rows; i++) {
		assert_int_equal(a.row[i].class, b.row[i].class);
		assert_int_equal(a.row[i].object, b.row[i].object);
		assert_memory_equal(&a.row[i].cell, &b.row[i].cell, sizeof(a.row[i].cell));
	}
	ledger_fini(&a);
	ledger_fini(&b);
	ledger_fini(&d);
}

static void a_raised_total_never_goes_backwards(void **state)
{
	struct ledger shown = { .has_calls = true }, later = { .has_calls = true };

	(void)state;
	append(&shown, AFS_ROLE_SERVER, AFS_CLASS_READ, AFS_OBJECT_PIPE, 7);
	append(&shown, AFS_ROLE_SERVER, AFS_CLASS_STAT, AFS_OBJECT_NONE, 3);
	append(&later, AFS_ROLE_SERVER, AFS_CLASS_READ, AFS_OBJECT_PIPE, 6);
	append(&later, AFS_ROLE_SERVER, AFS_CLASS_STAT, AFS_OBJECT_NONE, 5);
	later.row[0].cell.ns = 701;
	assert_int_equal(ledger_raise(&shown, &later), 0);
	assert_int_equal(find(&shown, AFS_CLASS_READ, AFS_OBJECT_PIPE)->cell.calls, 7);
	assert_int_equal(find(&shown, AFS_CLASS_READ, AFS_OBJECT_PIPE)->cell.ns, 701);
	assert_int_equal(find(&shown, AFS_CLASS_STAT, AFS_OBJECT_NONE)->cell.calls, 5);
	ledger_fini(&shown);
	ledger_fini(&later);
}

static void a_total_that_went_backwards_is_not_measured(void **state)
{
	struct ledger a = { .has_calls = true, .has_compat[AFS_ROLE_SERVER] = true };
	struct ledger b = a, d;

	(void)state;
	append(&a, AFS_ROLE_SERVER, AFS_CLASS_READ, AFS_OBJECT_PIPE, 7);
	append(&b, AFS_ROLE_SERVER, AFS_CLASS_READ, AFS_OBJECT_PIPE, 6);
	a.compat[AFS_ROLE_SERVER].syscr = 7;
	b.compat[AFS_ROLE_SERVER].syscr = 6;
	assert_int_equal(ledger_diff(&d, &b, &a), 0);
	assert_false(d.has_calls);
	assert_int_equal(d.n_rows, 0);
	assert_false(d.has_compat[AFS_ROLE_SERVER]);
	assert_int_equal(d.compat[AFS_ROLE_SERVER].syscr, 0);
	ledger_fini(&a);
	ledger_fini(&b);
	ledger_fini(&d);
}

static void a_histogram_that_went_backwards_is_not_measured(void **state)
{
	struct ledger a = { .has_calls = true }, b = { .has_calls = true }, d;

	(void)state;
	append(&a, AFS_ROLE_SERVER, AFS_CLASS_READ, AFS_OBJECT_PIPE, 7);
	append(&b, AFS_ROLE_SERVER, AFS_CLASS_READ, AFS_OBJECT_PIPE, 8);
	b.row->cell.hist[3] = 6;
	assert_int_equal(ledger_diff(&d, &b, &a), 0);
	assert_false(d.has_calls);
	ledger_fini(&a);
	ledger_fini(&b);
	ledger_fini(&d);
}

static void a_row_that_vanished_is_a_total_that_went_backwards(void **state)
{
	struct ledger a = { .has_calls = true }, b = { .has_calls = true }, d;

	(void)state;
	append(&a, AFS_ROLE_SERVER, AFS_CLASS_READ, AFS_OBJECT_PIPE, 1);
	assert_int_equal(ledger_diff(&d, &b, &a), 0);
	assert_false(d.has_calls);
	ledger_fini(&a);
	ledger_fini(&d);
}

static void a_difference_measures_only_what_both_ends_measured(void **state)
{
	struct ledger a = { .has_compat[AFS_ROLE_SERVER] = true };
	struct ledger b = { .has_calls = true,
			    .has_compat[AFS_ROLE_SERVER] = true,
			    .has_compat[AFS_ROLE_BACKEND] = true };
	struct ledger d;

	(void)state;
	a.compat[AFS_ROLE_SERVER] = (struct afs_compat) { 1, 2, 3, 4 };
	b.compat[AFS_ROLE_SERVER] = (struct afs_compat) { 11, 22, 33, 44 };
	b.compat[AFS_ROLE_BACKEND].syscr = 5;
	append(&b, AFS_ROLE_SERVER, AFS_CLASS_READ, AFS_OBJECT_PIPE, 1);
	assert_int_equal(ledger_diff(&d, &b, &a), 0);
	assert_false(d.has_calls);
	assert_int_equal(d.n_rows, 0);
	assert_true(d.has_compat[AFS_ROLE_SERVER]);
	assert_false(d.has_compat[AFS_ROLE_BACKEND]);
	assert_int_equal(d.compat[AFS_ROLE_SERVER].syscr, 10);
	assert_int_equal(d.compat[AFS_ROLE_SERVER].syscw, 20);
	assert_int_equal(d.compat[AFS_ROLE_SERVER].rchar, 30);
	assert_int_equal(d.compat[AFS_ROLE_SERVER].wchar, 40);
	ledger_fini(&b);
	ledger_fini(&d);
}

static void a_sum_is_measured_only_when_every_part_is(void **state)
{
	struct ledger sum = { 0 }, none = { 0 };
	struct ledger part = { .has_calls = true, .has_compat[AFS_ROLE_SERVER] = true };

	(void)state;
	part.compat[AFS_ROLE_SERVER].syscw = 4;
	assert_int_equal(ledger_add(&sum, &part), 0);
	assert_true(sum.has_calls && sum.has_compat[AFS_ROLE_SERVER]);
	assert_int_equal(ledger_add(&sum, &part), 0);
	assert_int_equal(sum.compat[AFS_ROLE_SERVER].syscw, 8);
	assert_int_equal(ledger_add(&sum, &none), 0);
	assert_false(sum.has_calls);
	assert_false(sum.has_compat[AFS_ROLE_SERVER]);
	ledger_fini(&sum);
}

static void a_sum_that_began_unmeasured_stays_unmeasured(void **state)
{
	struct ledger sum = { 0 }, none = { 0 }, part = { .has_calls = true };

	(void)state;
	assert_int_equal(ledger_add(&sum, &none), 0);
	assert_int_equal(ledger_add(&sum, &part), 0);
	assert_false(sum.has_calls);
	ledger_fini(&sum);
}

static void sums_pick_by_role_class_and_object(void **state)
{
	struct ledger l = { .has_calls = true };

	(void)state;
	append(&l, AFS_ROLE_SERVER, AFS_CLASS_READ, AFS_OBJECT_DATA, 1);
	append(&l, AFS_ROLE_SERVER, AFS_CLASS_READ, AFS_OBJECT_PIPE, 2);
	append(&l, AFS_ROLE_SERVER, AFS_CLASS_WRITE, AFS_OBJECT_DATA, 4);
	append(&l, AFS_ROLE_BACKEND, AFS_CLASS_READ, AFS_OBJECT_DATA, 8);
	assert_int_equal(ledger_sum(&l, 0, AFS_N_CLASSES, AFS_N_OBJECTS).calls, 7);
	assert_int_equal(ledger_sum(&l, 0, AFS_CLASS_READ, AFS_N_OBJECTS).calls, 3);
	assert_int_equal(ledger_sum(&l, 0, AFS_N_CLASSES, AFS_OBJECT_DATA).calls, 5);
	assert_int_equal(ledger_sum(&l, 1, AFS_CLASS_READ, AFS_OBJECT_DATA).calls, 8);
	assert_int_equal(ledger_sum(&l, AFS_N_ROLES, AFS_CLASS_READ, AFS_OBJECT_DATA).ns, 900);
	assert_int_equal(ledger_sum(&l, 2, AFS_N_CLASSES, AFS_N_OBJECTS).calls, 0);
	ledger_fini(&l);
}

/* Requests: rows of each kind have to be appended in order of their key. */
static void append_part(struct ledger *l, uint8_t role, uint16_t account, uint8_t class, uint64_t n)
{
	l->part = realloc(l->part, (l->n_parts + 1) * sizeof(*l->part));
	l->part[l->n_parts++] = (struct ledger_part) {
		.account = account,
		.role = role,
		.class = class,
		.object = AFS_OBJECT_NONE,
		.part = { .calls = n,
			  .errors = n / 2,
			  .bytes = 10 * n,
			  .cpu_ns = 100 * n,
			  .blocked_ns = 1000 * n,
			  .runq_ns = 10000 * n },
	};
}

static void append_account(struct ledger *l, uint16_t account, uint64_t n)
{
	struct ledger_account *a;

	l->account = realloc(l->account, (l->n_accounts + 1) * sizeof(*l->account));
	a = &l->account[l->n_accounts++];
	*a = (struct ledger_account) { .account = account };
	a->sum = (struct afs_account) { .begun = n, .answered = n, .ns = 100 * n };
	a->sum.inside[AFS_INSIDE_SYNC] = 7 * n;
	a->hist[AFS_REQUEST_BUCKETS - 1] = n;
}

static void append_result(struct ledger *l, uint16_t account, int32_t code, uint64_t n)
{
	l->result = realloc(l->result, (l->n_results + 1) * sizeof(*l->result));
	l->result[l->n_results++] = (struct ledger_result) { account, code, n };
}

static void append_storage(struct ledger *l, uint8_t role, uint16_t account, uint64_t n)
{
	struct ledger_storage *s;

	l->storage = realloc(l->storage, (l->n_storage + 1) * sizeof(*l->storage));
	s = &l->storage[l->n_storage++];
	*s = (struct ledger_storage) { .role = role, .account = account };
	s->sum = (struct afs_storage) { .file_reads = n, .syncs = 2 * n, .bio_untimed = 3 * n };
}

static struct ledger requests(uint64_t n)
{
	struct ledger l = { .has_calls = true, .has_requests = true, .has_storage = true };

	l.has_item[AFS_STORAGE_FILE] = l.has_item[AFS_STORAGE_BLOCK] = true;
	append_storage(&l, AFS_ROLE_SERVER, 26, n);
	append_storage(&l, AFS_ROLE_BACKEND, 26, n);

	append(&l, AFS_ROLE_SERVER, AFS_CLASS_READ, AFS_OBJECT_PIPE, n);
	append_part(&l, AFS_ROLE_SERVER, 26, AFS_CLASS_OPEN, n);
	append_part(&l, AFS_ROLE_SERVER, 26, AFS_CLASS_USER, 2 * n);
	append_part(&l, AFS_ROLE_BACKEND, 26, AFS_CLASS_SYNC, n);
	append_account(&l, 26, n);
	append_result(&l, 26, -5018, n);
	append_result(&l, 26, -5000, n);
	return l;
}

/* Not memcmp of whole rows: there are holes in them. */
static bool same_rows(const struct totals_kind *k, struct rows a, struct rows b)
{
	bool ok = a.n == b.n;

	for (size_t i = 0; ok && i < a.n; i++) {
		char *x = a.row + i * k->size, *y = b.row + i * k->size;

		ok = k->key(x) == k->key(y) &&
		     !memcmp(x + k->totals, y + k->totals, k->size - k->totals);
	}
	return ok;
}

static bool same(const struct ledger *a, const struct ledger *b)
{
#define SAME(kind, count, member)                                                                  \
	same_rows(kind, (struct rows) { a->count, (char *)a->member },                             \
		  (struct rows) { b->count, (char *)b->member })
	return a->has_calls == b->has_calls && a->has_requests == b->has_requests &&
	       a->has_storage == b->has_storage &&
	       !memcmp(a->has_item, b->has_item, sizeof(a->has_item)) &&
	       SAME(&row_kind, n_rows, row) && SAME(&part_kind, n_parts, part) &&
	       SAME(&account_kind, n_accounts, account) && SAME(&result_kind, n_results, result) &&
	       SAME(&storage_kind, n_storage, storage);
#undef SAME
}

static void requests_too_are_earlier_plus_difference(void **state)
{
	struct ledger a = requests(3), b = requests(10), d;

	(void)state;
	append_part(&b, AFS_ROLE_BACKEND, 27, AFS_CLASS_READ, 1);
	append_account(&b, 27, 5);
	append_result(&b, 27, -5009, 1);
	assert_int_equal(ledger_diff(&d, &b, &a), 0);
	assert_true(d.has_requests && d.has_calls);
	assert_int_equal(d.n_parts, 4);
	assert_int_equal(d.n_results, 3);
	assert_int_equal(ledger_account(&d, 26)->sum.answered, 7);
	assert_int_equal(ledger_account(&d, 26)->sum.inside[AFS_INSIDE_SYNC], 49);
	assert_int_equal(ledger_account(&d, 26)->hist[AFS_REQUEST_BUCKETS - 1], 7);
	assert_int_equal(ledger_account(&d, 27)->sum.ns, 500);
	assert_null(ledger_account(&d, 28));
	assert_int_equal(d.part[1].part.runq_ns, 140000);
	assert_int_equal(d.result[0].code, -5018);
	assert_int_equal(d.result[1].code, -5000);
	assert_int_equal(d.result[1].n, 7);
	assert_int_equal(ledger_add(&a, &d), 0);
	assert_true(same(&a, &b));
	ledger_fini(&a);
	ledger_fini(&b);
	ledger_fini(&d);
}

static void nothing_happened_is_measured_and_empty(void **state)
{
	struct ledger a = requests(3), b = requests(3), none = { .has_requests = true }, d;

	(void)state;
	assert_int_equal(ledger_diff(&d, &b, &a), 0);
	assert_true(d.has_requests);
	assert_int_equal(d.n_rows + d.n_parts + d.n_accounts + d.n_results, 0);
	ledger_fini(&d);
	assert_int_equal(ledger_diff(&d, &none, &none), 0);
	assert_true(d.has_requests && !d.has_calls);
	ledger_fini(&d);
	ledger_fini(&a);
	ledger_fini(&b);
}

static void a_request_that_went_backwards_is_not_measured(void **state)
{
	(void)state;
	for (unsigned int kind = 0; kind < 4; kind++) {
		struct ledger a = requests(3), b = requests(4), d;

		if (kind == 0)
			b.part[1].part.calls = 0;
		else if (kind == 1)
			b.account[0].sum.inside[AFS_INSIDE_SYNC] = 20;
		else if (kind == 2)
			b.result[0].n = 2;
		else
			b.n_results--; /* a row that vanished */
		assert_int_equal(ledger_diff(&d, &b, &a), 0);
		assert_false(d.has_requests);
		assert_int_equal(d.n_parts + d.n_accounts + d.n_results, 0);
		ledger_fini(&a);
		ledger_fini(&b);
		ledger_fini(&d);
	}
}

/* What was in progress at the earlier reading turned out to be another part's, or never returned.
 */
static void time_that_went_backwards_is_none(void **state)
{
	struct ledger a = requests(3), b = requests(4), d;

	(void)state;
	append(&a, AFS_ROLE_SERVER, AFS_CLASS_READ, AFS_OBJECT_PIPE, 7);
	append(&b, AFS_ROLE_SERVER, AFS_CLASS_READ, AFS_OBJECT_PIPE, 8);
	a.row->cell.ns = b.row->cell.ns + 1;
	b.part[1].part.blocked_ns = 1;
	assert_int_equal(ledger_diff(&d, &b, &a), 0);
	assert_true(d.has_requests && d.has_calls);
	assert_int_equal(d.row->cell.ns, 0);
	assert_int_equal(d.row->cell.calls, 1);
	assert_int_equal(d.part[1].part.blocked_ns, 0);
	assert_int_equal(d.part[1].part.calls, b.part[1].part.calls - a.part[1].part.calls);
	ledger_fini(&a);
	ledger_fini(&b);
	ledger_fini(&d);
}

static void requests_are_measured_only_when_all_that_is_added_is(void **state)
{
	struct ledger sum = { 0 }, part = requests(1), none = { .has_calls = true }, d;

	(void)state;
	assert_int_equal(ledger_add(&sum, &part), 0);
	assert_true(sum.has_requests);
	assert_int_equal(ledger_diff(&d, &part, &none), 0);
	assert_true(d.has_calls && !d.has_requests);
	assert_int_equal(d.n_parts, 0);
	ledger_fini(&d);
	assert_int_equal(ledger_add(&sum, &none), 0);
	assert_true(sum.has_calls && !sum.has_requests);
	ledger_fini(&sum);
	ledger_fini(&part);
}

static void without_memory_a_sum_is_as_before(void **state)
{
	struct ledger to = requests(3), before = requests(3), from = requests(4);
	int r = -ENOMEM;
	unsigned int failed = 0;

	(void)state;
	for (int i = 0; r; i++) {
		allocations_left = i;
		r = ledger_add(&to, &from);
		allocations_left = -1;
		if (!r)
			break;
		assert_int_equal(r, -ENOMEM);
		assert_true(same(&to, &before));
		failed++;
	}
	assert_int_equal(failed, 5); /* one for each kind of rows */
	assert_int_equal(ledger_account(&to, 26)->sum.answered, 7);
	ledger_fini(&to);
	ledger_fini(&before);
	ledger_fini(&from);
}

static void without_memory_a_difference_is_empty(void **state)
{
	struct ledger a = requests(3), b = requests(4), d;

	(void)state;
	for (int i = 0; i < 5; i++) {
		const struct ledger empty = { 0 };

		memset(&d, 0xff, sizeof(d));
		allocations_left = i;
		assert_int_equal(ledger_diff(&d, &b, &a), -ENOMEM);
		allocations_left = -1;
		assert_true(same(&d, &empty));
		assert_null(d.row);
		assert_null(d.part);
	}
	ledger_fini(&a);
	ledger_fini(&b);
}

static void storage_too_is_earlier_plus_difference(void **state)
{
	struct ledger a = requests(3), b = requests(10), d;

	(void)state;
	append_storage(&b, AFS_ROLE_BACKEND, AFS_ACCOUNT_NONE, 4);
	assert_int_equal(ledger_diff(&d, &b, &a), 0);
	assert_true(d.has_storage && d.has_item[AFS_STORAGE_FILE]);
	assert_false(d.has_item[AFS_STORAGE_SYNC]);
	assert_int_equal(d.n_storage, 3);
	assert_int_equal(ledger_storage_sum(&d, LEDGER_ALL, 26).file_reads, 14);
	assert_int_equal(ledger_storage_sum(&d, AFS_ROLE_SERVER, LEDGER_ALL).syncs, 14);
	assert_int_equal(ledger_storage_sum(&d, AFS_ROLE_BACKEND, AFS_ACCOUNT_NONE).bio_untimed,
			 12);
	assert_int_equal(ledger_storage_sum(&d, LEDGER_ALL, LEDGER_ALL).file_reads, 18);
	assert_int_equal(ledger_storage_sum(&d, AFS_ROLE_OTHER, LEDGER_ALL).file_reads, 0);
	assert_int_equal(ledger_add(&a, &d), 0);
	assert_true(same(&a, &b));
	ledger_fini(&a);
	ledger_fini(&b);
	ledger_fini(&d);
}

static void storage_that_went_backwards_is_not_measured(void **state)
{
	struct ledger a = requests(3), b = requests(4), d;

	(void)state;
	b.storage[1].sum.bio_untimed = 1;
	assert_int_equal(ledger_diff(&d, &b, &a), 0);
	assert_false(d.has_storage);
	assert_int_equal(d.n_storage, 0);
	ledger_fini(&d);
	a.has_storage = false;
	b.storage[1].sum.bio_untimed = 12;
	assert_int_equal(ledger_diff(&d, &b, &a), 0);
	assert_true(d.has_requests && !d.has_storage);
	assert_int_equal(d.n_storage, 0);
	ledger_fini(&a);
	ledger_fini(&b);
	ledger_fini(&d);
}

static void an_item_is_known_only_when_every_part_knows_it(void **state)
{
	struct ledger sum = { 0 }, part = requests(1);

	(void)state;
	assert_int_equal(ledger_add(&sum, &part), 0);
	assert_true(sum.has_storage && sum.has_item[AFS_STORAGE_BLOCK]);
	part.has_item[AFS_STORAGE_BLOCK] = false;
	part.has_item[AFS_STORAGE_CACHE] = true;
	assert_int_equal(ledger_add(&sum, &part), 0);
	assert_true(sum.has_storage && sum.has_item[AFS_STORAGE_FILE]);
	assert_false(sum.has_item[AFS_STORAGE_BLOCK] || sum.has_item[AFS_STORAGE_CACHE]);
	part.has_storage = false;
	assert_int_equal(ledger_add(&sum, &part), 0);
	assert_false(sum.has_storage);
	ledger_fini(&sum);
	ledger_fini(&part);
}

static void sums_of_parts_pick_by_what_is_asked_for(void **state)
{
	struct ledger l = requests(3);

	(void)state;
	append_part(&l, AFS_ROLE_BACKEND, AFS_ACCOUNT_NONE, AFS_CLASS_SYNC, 5);
	assert_int_equal(ledger_part_sum(&l, LEDGER_ALL, LEDGER_ALL, LEDGER_ALL, LEDGER_ALL).calls,
			 17);
	assert_int_equal(ledger_part_sum(&l, AFS_ROLE_SERVER, 26, LEDGER_ALL, LEDGER_ALL).calls, 9);
	assert_int_equal(
	    ledger_part_sum(&l, AFS_ROLE_SERVER, 26, AFS_CLASS_USER, LEDGER_ALL).runq_ns, 60000);
	assert_int_equal(
	    ledger_part_sum(&l, LEDGER_ALL, LEDGER_ALL, AFS_CLASS_SYNC, AFS_OBJECT_NONE).calls, 8);
	assert_int_equal(ledger_part_sum(&l, AFS_ROLE_OTHER, 26, LEDGER_ALL, LEDGER_ALL).calls, 0);
	ledger_fini(&l);
}

static void names_outside_the_tables_are_not_read(void **state)
{
	(void)state;
	assert_string_equal(ledger_role_name(AFS_ROLE_BACKEND), "cnid_dbd");
	/* Their numbers are in traces. */
	assert_string_equal(ledger_role_name(2), "other");
	assert_string_equal(ledger_role_name(3), "helper");
	assert_string_equal(ledger_role_name(4), "client");
	assert_string_equal(ledger_class_name(AFS_CLASS_XATTR), "xattr");
	assert_string_equal(ledger_object_name(AFS_OBJECT_NONE), "-");
	assert_string_equal(ledger_role_name(AFS_N_ROLES), "?");
	assert_string_equal(ledger_class_name(AFS_N_CLASSES), "?");
	assert_string_equal(ledger_object_name(AFS_N_OBJECTS), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_difference_holds_only_what_happened_in_between),
		cmocka_unit_test(earlier_plus_difference_is_later),
		cmocka_unit_test(a_raised_total_never_goes_backwards),
		cmocka_unit_test(a_total_that_went_backwards_is_not_measured),
		cmocka_unit_test(a_histogram_that_went_backwards_is_not_measured),
		cmocka_unit_test(a_row_that_vanished_is_a_total_that_went_backwards),
		cmocka_unit_test(a_difference_measures_only_what_both_ends_measured),
		cmocka_unit_test(a_sum_is_measured_only_when_every_part_is),
		cmocka_unit_test(a_sum_that_began_unmeasured_stays_unmeasured),
		cmocka_unit_test(sums_pick_by_role_class_and_object),
		cmocka_unit_test(requests_too_are_earlier_plus_difference),
		cmocka_unit_test(nothing_happened_is_measured_and_empty),
		cmocka_unit_test(a_request_that_went_backwards_is_not_measured),
		cmocka_unit_test(time_that_went_backwards_is_none),
		cmocka_unit_test(requests_are_measured_only_when_all_that_is_added_is),
		cmocka_unit_test(without_memory_a_sum_is_as_before),
		cmocka_unit_test(without_memory_a_difference_is_empty),
		cmocka_unit_test(storage_too_is_earlier_plus_difference),
		cmocka_unit_test(storage_that_went_backwards_is_not_measured),
		cmocka_unit_test(an_item_is_known_only_when_every_part_knows_it),
		cmocka_unit_test(sums_of_parts_pick_by_what_is_asked_for),
		cmocka_unit_test(names_outside_the_tables_are_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
