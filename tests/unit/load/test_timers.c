/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "load/timers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h> /* needs the headers above */

#define N 500

/* The earliest is always first, whatever is set sooner or taken out. */
static void the_first_is_the_earliest(void **state)
{
	struct timer x[N] = { 0 }, *heap[N + 2];
	struct timers t = { 0, heap };
	uint64_t least;
	size_t n;

	(void)state;
	srand48(7);
	for (int round = 0; round < 20000; round++) {
		struct timer *one = &x[lrand48() % N];

		if (lrand48() % 3)
			timers_sooner(&t, one, (uint64_t)(lrand48() % 1000));
		else
			timers_remove(&t, one);
		least = UINT64_MAX;
		n = 0;
		for (size_t i = 0; i < N; i++) {
			n += x[i].at != 0;
			if (x[i].at && x[i].due_ns < least)
				least = x[i].due_ns;
		}
		assert_int_equal(t.n, n);
		assert_true(!n || timers_first(&t)->due_ns == least);
	}
}

static void a_later_time_changes_nothing(void **state)
{
	struct timer x = { 0 }, *heap[3];
	struct timers t = { 0, heap };

	(void)state;
	timers_sooner(&t, &x, 10);
	timers_sooner(&t, &x, 20);
	assert_true(x.due_ns == 10);
	timers_sooner(&t, &x, 5);
	assert_true(x.due_ns == 5);
	timers_remove(&t, &x);
	timers_remove(&t, &x);
	assert_null(timers_first(&t));
	timers_sooner(&t, &x, 20);
	assert_true(timers_first(&t)->due_ns == 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_is_the_earliest),
		cmocka_unit_test(a_later_time_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
