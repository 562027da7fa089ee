/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --max-cpu: which values it takes, and when it ends a watch. */
#include "attach/guard.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define S 1000000000ull

struct watching {
	double most;
};

static const struct opt option = GUARD_OPTION(struct watching, most);

static void percent_is_a_share(void **state)
{
	struct err e = { 0 };
	double to = 0;

	(void)state;
	assert_int_equal(opt_decimal(&option, "--max-cpu", "2%", &to, &e), 0);
	assert_true(to == 0.02);
	assert_int_equal(opt_decimal(&option, "--max-cpu", "0.5", &to, &e), 0);
	assert_true(to == 0.005);
}

static void nonsense_is_refused_by_name(void **state)
{
	static const char *const bad[] = { "",    "%",   "2%%", "2 CPUs", "0",
					   "-1%", "nan", "inf", "100001%" };
	struct err e = { 0 };
	double to = 7;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(opt_decimal(&option, "--max-cpu", bad[i], &to, &e), -ERANGE);
		assert_non_null(strstr(e.text, bad[i]));
	}
	assert_true(to == 7);
}

static void a_window_over_the_limit_ends_the_watch(void **state)
{
	struct guard g = { .most = 0.02, .t_ns = 10 * S, .used_ns = 3 * S, .knows_programs = true };
	char text[GUARD_TEXT_MAX];

	(void)state;
	assert_false(guard_judge(&g, 12 * S, 4 * S)); /* 50 %, but the window has not ended */
	assert_false(guard_judge(&g, 65 * S, 4 * S)); /* 1.8 % of it */
	assert_true(guard_judge(&g, 70 * S, 4 * S + S / 5));
	assert_true(g.share > 0.039 && g.share < 0.041);
	assert_string_equal(
	    guard_text(&g, text),
	    "watching took 4% of a CPU, more than --max-cpu=2%, so the watch was ended");
}

static void without_a_limit_nothing_ends_it(void **state)
{
	struct guard g = { 0 };

	(void)state;
	assert_false(guard_judge(&g, 100 * S, 100 * S));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(percent_is_a_share),
		cmocka_unit_test(nonsense_is_refused_by_name),
		cmocka_unit_test(a_window_over_the_limit_ends_the_watch),
		cmocka_unit_test(without_a_limit_nothing_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
