/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ranks/offset.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h> /* needs the headers above */

/* A round trip over ways of these lengths to a clock that is ahead. */
static struct offset_trip trip(uint64_t sent_ns, int64_t ahead_ns, uint64_t there_ns,
			       uint64_t back_ns)
{
	struct offset_trip t = { .sent_ns = sent_ns };

	t.came_ns = sent_ns + there_ns + (uint64_t)ahead_ns;
	t.left_ns = t.came_ns + 7000; /* the other's own time does not count */
	t.back_ns = sent_ns + there_ns + 7000 + back_ns;
	return t;
}

static void equal_ways_give_the_exact_offset(void **state)
{
	static const int64_t ahead[] = { 0, 1, -1, 5000000000, -86400000000000 };
	struct offset o;

	(void)state;
	for (size_t i = 0; i < sizeof(ahead) / sizeof(ahead[0]); i++) {
		o = (struct offset) { 0 };
		struct offset_trip t = trip(90000000000000, ahead[i], 20000, 20000);
		offset_add(&o, &t);
		assert_in_range(o.ahead_ns - ahead[i] + 1, 0, 2);
		assert_int_equal(o.trip_ns, 40000);
		assert_in_range(offset_there(&o, 90000000000000) - 90000000000000 -
				    (uint64_t)ahead[i] + 1,
				0, 2);
	}
}

static void the_shortest_trip_counts_and_bounds_the_error(void **state)
{
	struct offset o = { 0 };
	struct offset_trip t;
	uint64_t seed = 1, there, back;

	(void)state;
	for (unsigned int i = 0; i < 1000; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		there = 10000 + (seed >> 40) % 3000000;
		back = 10000 + (seed >> 20) % 3000000;
		t = trip(1000000000ull * i, 123456789, there, back);
		offset_add(&o, &t);
		assert_true(llabs(o.ahead_ns - 123456789) <= (long long)o.trip_ns / 2 + 1);
	}
	assert_int_equal(o.n, 1000);
	assert_true(o.trip_ns < 1000000);
}

static void times_that_make_no_sense_are_ignored(void **state)
{
	const struct offset_trip bad[] = {
		{ 100, 50, 60, 90 },  /* back before it was sent */
		{ 100, 60, 50, 200 }, /* left before it came */
		{ 100, 0, 500, 200 }, /* there for longer than it was away */
	};
	struct offset o = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		offset_add(&o, &bad[i]);
	assert_int_equal(o.n, 0);
}

static void two_measurements_differ_by_their_distance(void **state)
{
	const struct offset a = { .n = 1, .ahead_ns = -5 }, b = { .n = 1, .ahead_ns = 7 };

	(void)state;
	assert_int_equal(offset_between(&a, &b), 12);
	assert_int_equal(offset_between(&b, &a), 12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_ways_give_the_exact_offset),
		cmocka_unit_test(the_shortest_trip_counts_and_bounds_the_error),
		cmocka_unit_test(times_that_make_no_sense_are_ignored),
		cmocka_unit_test(two_measurements_differ_by_their_distance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
