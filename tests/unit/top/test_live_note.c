/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests user/top/live_note.c: what a diagnosis has of a session is what came since the last one. */
#include "top/live_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> /* needs the headers above */

static void questions_are_those_since_the_last_diagnosis(void **state)
{
	struct live_known k = { .requests = 10, .asking = { .n = 1000, .again = { [11] = 300 } } };
	struct run_session s = { 0 };

	(void)state;
	live_since_noted(&k, &s);
	assert_int_equal(s.asking.n, 1000);
	assert_int_equal(s.asking.again[11], 300);
	live_known_noted(&k);
	k.asking.n += 50;
	k.asking.again[11] += 20;
	k.asking.again[12] = 7;
	live_since_noted(&k, &s);
	assert_int_equal(s.requests, 0);
	assert_int_equal(s.asking.n, 50);
	assert_int_equal(s.asking.again[11], 20);
	assert_int_equal(s.asking.again[12], 7);
	live_known_noted(&k);
	live_since_noted(&k, &s);
	assert_int_equal(s.asking.n, 0);
	assert_int_equal(s.asking.again[11] + s.asking.again[12], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(questions_are_those_since_the_last_diagnosis),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
