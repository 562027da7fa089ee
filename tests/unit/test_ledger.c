/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums and differences of ledgers. */
#include "base/ledger.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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
	append(&a, AFS_ROLE_AFPD, AFS_CLASS_READ, AFS_OBJECT_PIPE, 7);
	append(&a, AFS_ROLE_AFPD, AFS_CLASS_STAT, AFS_OBJECT_NONE, 3);
	append(&b, AFS_ROLE_AFPD, AFS_CLASS_READ, AFS_OBJECT_PIPE, 10);
	append(&b, AFS_ROLE_AFPD, AFS_CLASS_WRITE, AFS_OBJECT_CLIENT, 2);
	append(&b, AFS_ROLE_AFPD, AFS_CLASS_STAT, AFS_OBJECT_NONE, 3);
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
		append(&b, AFS_ROLE_CNID, c, c % AFS_N_OBJECTS, 5 + c);
		if (c % 2)
			append(&a, AFS_ROLE_CNID, c, c % AFS_N_OBJECTS, c);
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

static void a_total_that_went_backwards_is_not_measured(void **state)
{
	struct ledger a = { .has_calls = true, .has_compat[AFS_ROLE_AFPD] = true };
	struct ledger b = a, d;

	(void)state;
	append(&a, AFS_ROLE_AFPD, AFS_CLASS_READ, AFS_OBJECT_PIPE, 7);
	append(&b, AFS_ROLE_AFPD, AFS_CLASS_READ, AFS_OBJECT_PIPE, 6);
	a.compat[AFS_ROLE_AFPD].syscr = 7;
	b.compat[AFS_ROLE_AFPD].syscr = 6;
	assert_int_equal(ledger_diff(&d, &b, &a), 0);
	assert_false(d.has_calls);
	assert_int_equal(d.n_rows, 0);
	assert_false(d.has_compat[AFS_ROLE_AFPD]);
	assert_int_equal(d.compat[AFS_ROLE_AFPD].syscr, 0);
	ledger_fini(&a);
	ledger_fini(&b);
	ledger_fini(&d);
}

static void a_histogram_that_went_backwards_is_not_measured(void **state)
{
	struct ledger a = { .has_calls = true }, b = { .has_calls = true }, d;

	(void)state;
	append(&a, AFS_ROLE_AFPD, AFS_CLASS_READ, AFS_OBJECT_PIPE, 7);
	append(&b, AFS_ROLE_AFPD, AFS_CLASS_READ, AFS_OBJECT_PIPE, 8);
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
	append(&a, AFS_ROLE_AFPD, AFS_CLASS_READ, AFS_OBJECT_PIPE, 1);
	assert_int_equal(ledger_diff(&d, &b, &a), 0);
	assert_false(d.has_calls);
	ledger_fini(&a);
	ledger_fini(&d);
}

static void a_difference_measures_only_what_both_ends_measured(void **state)
{
	struct ledger a = { .has_compat[AFS_ROLE_AFPD] = true };
	struct ledger b = { .has_calls = true,
			    .has_compat[AFS_ROLE_AFPD] = true,
			    .has_compat[AFS_ROLE_CNID] = true };
	struct ledger d;

	(void)state;
	a.compat[AFS_ROLE_AFPD] = (struct afs_compat) { 1, 2, 3, 4 };
	b.compat[AFS_ROLE_AFPD] = (struct afs_compat) { 11, 22, 33, 44 };
	b.compat[AFS_ROLE_CNID].syscr = 5;
	append(&b, AFS_ROLE_AFPD, AFS_CLASS_READ, AFS_OBJECT_PIPE, 1);
	assert_int_equal(ledger_diff(&d, &b, &a), 0);
	assert_false(d.has_calls);
	assert_int_equal(d.n_rows, 0);
	assert_true(d.has_compat[AFS_ROLE_AFPD]);
	assert_false(d.has_compat[AFS_ROLE_CNID]);
	assert_int_equal(d.compat[AFS_ROLE_AFPD].syscr, 10);
	assert_int_equal(d.compat[AFS_ROLE_AFPD].syscw, 20);
	assert_int_equal(d.compat[AFS_ROLE_AFPD].rchar, 30);
	assert_int_equal(d.compat[AFS_ROLE_AFPD].wchar, 40);
	ledger_fini(&b);
	ledger_fini(&d);
}

static void a_sum_is_measured_only_when_every_part_is(void **state)
{
	struct ledger sum = { 0 }, none = { 0 };
	struct ledger part = { .has_calls = true, .has_compat[AFS_ROLE_AFPD] = true };

	(void)state;
	part.compat[AFS_ROLE_AFPD].syscw = 4;
	assert_int_equal(ledger_add(&sum, &part), 0);
	assert_true(sum.has_calls && sum.has_compat[AFS_ROLE_AFPD]);
	assert_int_equal(ledger_add(&sum, &part), 0);
	assert_int_equal(sum.compat[AFS_ROLE_AFPD].syscw, 8);
	assert_int_equal(ledger_add(&sum, &none), 0);
	assert_false(sum.has_calls);
	assert_false(sum.has_compat[AFS_ROLE_AFPD]);
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
	append(&l, AFS_ROLE_AFPD, AFS_CLASS_READ, AFS_OBJECT_DATA, 1);
	append(&l, AFS_ROLE_AFPD, AFS_CLASS_READ, AFS_OBJECT_PIPE, 2);
	append(&l, AFS_ROLE_AFPD, AFS_CLASS_WRITE, AFS_OBJECT_DATA, 4);
	append(&l, AFS_ROLE_CNID, AFS_CLASS_READ, AFS_OBJECT_DATA, 8);
	assert_int_equal(ledger_sum(&l, 0, AFS_N_CLASSES, AFS_N_OBJECTS).calls, 7);
	assert_int_equal(ledger_sum(&l, 0, AFS_CLASS_READ, AFS_N_OBJECTS).calls, 3);
	assert_int_equal(ledger_sum(&l, 0, AFS_N_CLASSES, AFS_OBJECT_DATA).calls, 5);
	assert_int_equal(ledger_sum(&l, 1, AFS_CLASS_READ, AFS_OBJECT_DATA).calls, 8);
	assert_int_equal(ledger_sum(&l, AFS_N_ROLES, AFS_CLASS_READ, AFS_OBJECT_DATA).ns, 900);
	assert_int_equal(ledger_sum(&l, 2, AFS_N_CLASSES, AFS_N_OBJECTS).calls, 0);
	ledger_fini(&l);
}

static void names_outside_the_tables_are_not_read(void **state)
{
	(void)state;
	assert_string_equal(ledger_role_name(AFS_ROLE_CNID), "cnid_dbd");
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
		cmocka_unit_test(a_total_that_went_backwards_is_not_measured),
		cmocka_unit_test(a_histogram_that_went_backwards_is_not_measured),
		cmocka_unit_test(a_row_that_vanished_is_a_total_that_went_backwards),
		cmocka_unit_test(a_difference_measures_only_what_both_ends_measured),
		cmocka_unit_test(a_sum_is_measured_only_when_every_part_is),
		cmocka_unit_test(a_sum_that_began_unmeasured_stays_unmeasured),
		cmocka_unit_test(sums_pick_by_role_class_and_object),
		cmocka_unit_test(names_outside_the_tables_are_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
