/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an action would take over another way. Tests user/run/load.c. */
#include "run/load.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h> /* needs the headers above */

static void is(double a, double b)
{
	if (fabs(a - b) > 1e-6)
		fail_msg("%g is not %g", a, b);
}

static void an_action_takes_its_own_time_and_its_round_trips(void **state)
{
	(void)state;
	is(run_trips_at(10e6, 4, 1e6, 20e6), 86e6);
	is(run_trips_at(10e6, 4, 0, 20e6), 90e6);
	/* A round trip that is measured too long makes nothing less than nothing. */
	is(run_trips_at(10e6, 4, 5e6, 20e6), 80e6);
	is(run_trips_share(10e6, 4, 1e6), 0.4);
	is(run_trips_share(10e6, 4, 5e6), 1);
	is(run_trips_share(0, 0, 5e6), 0);
}

static void actions_of_several_threads_are_added(void **state)
{
	struct run_trips a = { .n = 2,
			       .requests = 6,
			       .sum = 5,
			       .most = 3,
			       .bytes = 10,
			       .n_least = 1,
			       .least = 2,
			       .least_of = 3 };
	const struct run_trips b = a;

	(void)state;
	run_trips_note(&a, 34, "stat", 2);
	run_trips_note(&a, 26, "open", 1);
	run_trips_add(&a, &b);
	run_trips_add(&a,
		      &(struct run_trips) { .n = 1, .most = 9, .together = { { 26, "open", 4 } } });
	is(a.n, 5);
	is(a.requests, 12);
	is(a.sum, 10);
	is(a.most, 9);
	is(a.bytes, 20);
	is(a.n_least, 2);
	is(a.least, 4);
	is(a.together[0].n, 2);
	is(a.together[1].n, 5);
	is(run_trips_mean(&a), 2);
	is(run_trips_mean(&(struct run_trips) { 0 }), 0);
}

/* More kinds than rows: the others are in no row. */
static void rows_of_commands_are_limited(void **state)
{
	struct run_trips t = { 0 };

	(void)state;
	for (uint8_t i = 0; i < 2 * RUN_TOGETHER_MAX; i++)
		run_trips_note(&t, i, "x", 1);
	for (size_t i = 0; i < RUN_TOGETHER_MAX; i++)
		is(t.together[i].n, 1);
}

static void data_beyond_tcps_first_window_may_take_longer(void **state)
{
	(void)state;
	assert_false(run_trips_fill(&(struct run_trips) { .sum = 3, .bytes = 3 * 14480 }));
	assert_true(run_trips_fill(&(struct run_trips) { .sum = 3, .bytes = 3 * 14480 + 1 }));
	assert_false(run_trips_fill(&(struct run_trips) { 0 }));
}

static void times_are_ms_with_commas_between(void **state)
{
	static const char *const wrong[] = { "",    "x",   "1,",  ",1",    "0",   "-1",
					     "1;2", "nan", "1ms", "60001", "inf", "1,2,3,4,5,6,7" };
	struct run_rtts r;

	(void)state;
	assert_int_equal(run_rtts_parse(&r, NULL), 0);
	assert_int_equal(r.n, 4);
	is(r.ns[0], 0.2e6);
	is(r.ns[3], 100e6);
	assert_int_equal(run_rtts_parse(&r, "7"), 0);
	assert_int_equal(r.n, 1);
	assert_int_equal(run_rtts_parse(&r, "1,2,3,4,5,60000"), 0);
	assert_int_equal(r.n, 6);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(run_rtts_parse(&r, wrong[i]), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_action_takes_its_own_time_and_its_round_trips),
		cmocka_unit_test(actions_of_several_threads_are_added),
		cmocka_unit_test(rows_of_commands_are_limited),
		cmocka_unit_test(data_beyond_tcps_first_window_may_take_longer),
		cmocka_unit_test(times_are_ms_with_commas_between),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
