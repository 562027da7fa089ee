/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums by name: a row for each name, as many as there may be, and the sum of all others. */
#include "top/live_table.h"

#include "base/hist.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct live_sum one(uint64_t ns)
{
	struct live_sum s = {
		.requests = 1, .errors = 1, .bytes_in = 10, .bytes_out = 20, .ns = ns, .handed = 1
	};

	s.time_ns[ACCOUNT_DISK] = ns / 2;
	s.hist[hist_index(ns, AFS_REQUEST_BITS)] = 1;
	return s;
}

static void a_name_has_one_row(void **state)
{
	struct live_table *t = live_table_new();
	struct live_sum s = one(1000), b = one(3000);

	(void)state;
	live_sum_add(&live_table_row(t, "a")->sum, &s);
	live_sum_add(&live_table_row(t, "b")->sum, &b);
	live_sum_add(&live_table_row(t, "a")->sum, &b);
	assert_int_equal(t->n, 2);
	assert_string_equal(t->row[0]->name, "a");
	assert_int_equal(t->row[0]->sum.requests, 2);
	assert_int_equal(t->row[0]->sum.errors, 2);
	assert_int_equal(t->row[0]->sum.bytes_in, 20);
	assert_int_equal(t->row[0]->sum.bytes_out, 40);
	assert_int_equal(t->row[0]->sum.ns, 4000);
	assert_int_equal(t->row[0]->sum.handed, 2);
	assert_int_equal(t->row[0]->sum.time_ns[ACCOUNT_DISK], 2000);
	assert_int_equal(t->row[1]->sum.requests, 1);
	live_table_free(t);
}

static void a_cleared_table_is_as_new(void **state)
{
	struct live_table *t = live_table_new();
	struct live_sum s = one(1000);

	(void)state;
	live_sum_add(&live_table_row(t, "a")->sum, &s);
	live_sum_add(&t->rest, &s);
	t->more = 7;
	live_table_clear(t);
	assert_int_equal(t->n + t->more + t->rest.requests, 0);
	assert_int_equal(live_table_row(t, "b")->sum.requests, 0);
	assert_string_equal(t->row[0]->name, "b");
	assert_int_equal(live_table_row(t, "a")->sum.requests, 0);
	assert_int_equal(t->n, 2);
	live_table_free(t);
}

static void what_does_not_fit_is_counted(void **state)
{
	struct live_table *t = live_table_new();
	char name[16];

	(void)state;
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < LIVE_ROWS; i++) {
			snprintf(name, sizeof(name), "row %d", i);
			assert_non_null(live_table_row(t, name));
		}
		assert_int_equal(t->n, LIVE_ROWS);
		assert_int_equal(t->more, 0);
		assert_null(live_table_row(t, "one more"));
		assert_null(live_table_row(t, "one more"));
		assert_int_equal(t->more, 2);
		assert_non_null(live_table_row(t, "row 17"));
		live_table_clear(t);
	}
	live_table_free(t);
}

static void quantiles_are_known_to_a_sixteenth(void **state)
{
	struct live_sum sum = { 0 }, s;

	(void)state;
	assert_true(live_sum_quantile(&sum, 0.5) == 0);
	for (uint64_t us = 1; us <= 1000; us++) {
		s = one(us * 1000);
		live_sum_add(&sum, &s);
	}
	for (double q = 0.01; q < 1; q += 0.01) {
		double is = live_sum_quantile(&sum, q), want = q * 1e6;

		assert_true(is > want * 15 / 16 && is < want * 17 / 16);
	}
}

static void quantiles_of_one_request_are_its_time(void **state)
{
	struct live_sum sum = one(123456789);

	(void)state;
	for (double q = 0.01; q < 1; q += 0.01) {
		double is = live_sum_quantile(&sum, q);

		assert_true(is > 123456789 * 15.0 / 16 && is < 123456789 * 17.0 / 16);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_has_one_row),
		cmocka_unit_test(a_cleared_table_is_as_new),
		cmocka_unit_test(what_does_not_fit_is_counted),
		cmocka_unit_test(quantiles_are_known_to_a_sixteenth),
		cmocka_unit_test(quantiles_of_one_request_are_its_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
