/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void a_wall_time_has_nine_decimals(void **state)
{
	char text[CLOCK_WALL_MAX];

	(void)state;
	clock_wall_text(text, 1763745725123456789);
	assert_string_equal(text, "2025-11-21T17:22:05.123456789Z");
	clock_wall_text(text, 0);
	assert_string_equal(text, "1970-01-01T00:00:00.000000000Z");
}

static void the_wall_clock_is_the_others_and_an_offset(void **state)
{
	int64_t before = clock_wall_ns();
	int64_t then = (int64_t)clock_now_ns() + clock_wall_offset_ns();

	(void)state;
	assert_in_range(then, before - 1000000000, clock_wall_ns() + 1000000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wall_time_has_nine_decimals),
		cmocka_unit_test(the_wall_clock_is_the_others_and_an_offset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
