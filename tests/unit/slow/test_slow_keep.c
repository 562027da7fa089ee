/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is remembered between two records, in memory that does not grow, and the limit of lines. */
#include "slow/slow_keep.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define S_NS 1000000000ull

static unsigned int takes(struct slow_rate *r, unsigned int n)
{
	unsigned int taken = 0;

	while (n--)
		taken += slow_rate_take(r);
	return taken;
}

static void so_many_lines_a_second_and_what_is_left_out_is_told(void **state)
{
	struct slow_rate r = { .most = 20 };

	(void)state;
	assert_int_equal(slow_rate_turn(&r, 7 * S_NS + 1), 0);
	assert_int_equal(takes(&r, 332), 20);
	assert_int_equal(slow_rate_turn(&r, 8 * S_NS - 1), 0);
	assert_int_equal(takes(&r, 1), 0);
	assert_int_equal(slow_rate_turn(&r, 8 * S_NS), 313);
	assert_int_equal(slow_rate_turn(&r, 8 * S_NS), 0);
	assert_int_equal(takes(&r, 20), 20);
	assert_int_equal(slow_rate_turn(&r, 12 * S_NS), 0);
	assert_int_equal(takes(&r, 21), 20);
	assert_int_equal(slow_rate_turn(&r, UINT64_MAX), 1); /* the end */
	assert_int_equal(r.left_out_all, 314);
}

static void without_a_limit_all_are_taken(void **state)
{
	struct slow_rate r = { 0 };

	(void)state;
	assert_int_equal(takes(&r, 100000), 100000);
	assert_int_equal(r.left_out_all, 0);
}

static void the_longest_calls_are_kept_in_their_order(void **state)
{
	const struct afs_record_requests r = { .session = 77, .dsi_id = 5, .command = 26 };
	const struct afs_record_requests next = { .session = 77, .dsi_id = 6, .command = 26 };
	struct slow_keep *k = slow_keep_new();
	const struct slow_calls *c;
	struct slow_call call = { 0 };

	(void)state;
	assert_non_null(k);
	assert_null(slow_keep_calls(k, &r));
	for (uint64_t i = 0; i < 1000; i++) {
		call.t = i;
		call.ns = i % 50 ? 1 : 1000 + i;
		slow_keep_call(k, 77, 5, 26, &call);
	}
	c = slow_keep_calls(k, &r);
	assert_non_null(c);
	assert_int_equal(c->n, SLOW_CALLS);
	for (uint32_t i = 0; i < c->n; i++)
		assert_int_equal(c->call[i].t, 200 + 50 * i);
	assert_int_equal(c->more, 1000 - SLOW_CALLS);
	assert_int_equal(c->more_ns, 980 + 1000 + 1050 + 1100 + 1150);
	/* A wait ends, and is told, before the call that it is in. */
	call = (struct slow_call) { .t = 20, .ns = 5 };
	slow_keep_call(k, 77, 6, 26, &call);
	call.t = 10;
	slow_keep_call(k, 77, 6, 26, &call);
	assert_null(slow_keep_calls(k, &r));
	c = slow_keep_calls(k, &next);
	assert_int_equal(c->n, 2);
	assert_int_equal(c->call[0].t, 10);
	slow_keep_free(k);
}

static void a_name_is_that_of_its_request_only(void **state)
{
	struct afs_record_requests r = { .session = 77, .dsi_id = 5, .command = 26, .t = 100 };
	struct slow_keep *k = slow_keep_new();
	struct afs_named *n;

	(void)state;
	assert_null(slow_keep_named(k, &r));
	n = &slow_keep_of(k, 77)->named;
	*n = (struct afs_named) { .timestamp = 101, .dsi_id = 5, .command = 26 };
	assert_ptr_equal(slow_keep_named(k, &r), n);
	r.t = 102; /* of an earlier one with this id */
	assert_null(slow_keep_named(k, &r));
	r.t = 100;
	r.dsi_id = 6;
	assert_null(slow_keep_named(k, &r));
	r.dsi_id = 5;
	r.command = 8;
	assert_null(slow_keep_named(k, &r));
	r.command = 26;
	r.session = 77 + 4096; /* in the same place */
	assert_null(slow_keep_named(k, &r));
	slow_keep_free(k);
}

static void a_hang_is_told_again_when_it_is_twice_as_old(void **state)
{
	struct afs_record_requests r = { .session = 77, .t = 100, .time_ns = S_NS };
	struct slow_keep *k = slow_keep_new();
	unsigned int told = 0;

	(void)state;
	for (; r.time_ns <= 3600 * S_NS; r.time_ns += S_NS) {
		if (!slow_keep_due(k, &r))
			continue;
		slow_keep_told(k, &r);
		told++;
	}
	assert_int_equal(told, 12); /* after 1, 2, 4, ... 2048 s */
	r.t++;
	assert_true(slow_keep_due(k, &r));
	slow_keep_free(k);
}

static void hangs_of_one_session_are_told_apart(void **state)
{
	struct afs_record_requests r[] = { { .session = 77, .dsi_id = 5, .t = 100 },
					   { .session = 77, .dsi_id = 6, .t = 200 } };
	struct slow_keep *k = slow_keep_new();
	unsigned int told[2] = { 0 };

	(void)state;
	for (uint64_t s = 1; s <= 3600; s++)
		for (size_t i = 0; i < 2; i++) {
			r[i].time_ns = s * S_NS;
			if (!slow_keep_due(k, &r[i]))
				continue;
			slow_keep_told(k, &r[i]);
			told[i]++;
		}
	assert_int_equal(told[0], 12);
	assert_int_equal(told[1], 12);
	slow_keep_free(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(so_many_lines_a_second_and_what_is_left_out_is_told),
		cmocka_unit_test(without_a_limit_all_are_taken),
		cmocka_unit_test(the_longest_calls_are_kept_in_their_order),
		cmocka_unit_test(a_name_is_that_of_its_request_only),
		cmocka_unit_test(a_hang_is_told_again_when_it_is_twice_as_old),
		cmocka_unit_test(hangs_of_one_session_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
