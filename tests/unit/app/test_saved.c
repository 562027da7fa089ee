/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Figures of a saved run. Tests user/app/saved.c; fuzz/fuzz_saved.c tries odd ones. */
#include "app/saved.h"
#include "doctor/judge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static size_t taken(struct run_figures *f, const char *text)
{
	json_t *run = json_loads(text, JSON_DECODE_INT_AS_REAL, NULL);
	size_t n;

	assert_non_null(run);
	*f = (struct run_figures) { 0 };
	n = saved_figures(f, run);
	json_decref(run);
	return n;
}

static void figures_and_names_are_as_they_were_saved(void **state)
{
	struct run_figures f;

	(void)state;
	assert_int_equal(taken(&f, "{\"figures\": {\"requests\": {\"value\": 12}, \"log\": "
				   "{\"value\": 0.5, \"who\": \"me\"}, \"disk\": {\"value\": null, "
				   "\"why\": \"dark\"}}, \"names\": {\"port\": \"548\"}}"),
			 0);
	assert_true(f.known[RUN_FIGURE_REQUESTS] && f.value[RUN_FIGURE_REQUESTS] == 12);
	assert_true(f.known[RUN_FIGURE_LOG] && f.value[RUN_FIGURE_LOG] == 0.5);
	assert_string_equal(f.who[RUN_FIGURE_LOG], "me");
	assert_false(f.known[RUN_FIGURE_DISK]);
	assert_string_equal(f.who[RUN_FIGURE_DISK], "dark");
	assert_string_equal(f.name[RUN_NAME_PORT], "548");
}

static void a_number_that_cannot_be_is_not_known(void **state)
{
	static const char *const bad[] = { "-1", "1.5", "-1e-9", "18446744073709551616", "1e308" };
	char text[128];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct run_figures f;

		snprintf(text, sizeof(text),
			 "{\"figures\": {\"disk_full_share\": {\"value\": %s}}}", bad[i]);
		assert_int_equal(taken(&f, text), 1);
		assert_false(f.known[RUN_FIGURE_DISK_FULL_SHARE]);
		assert_true(*f.who[RUN_FIGURE_DISK_FULL_SHARE]);
	}
}

static void what_is_no_figure_is_none(void **state)
{
	static const char *const odd[] = { "{}",
					   "[]",
					   "{\"figures\": []}",
					   "{\"figures\": {\"requests\": 12}}",
					   "{\"figures\": {\"requests\": {\"value\": \"12\"}}}",
					   "{\"figures\": null, \"names\": [1]}" };

	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		struct run_figures f;
		struct diagnosis d;

		assert_int_equal(taken(&f, odd[i]), 0);
		assert_false(f.known[RUN_FIGURE_REQUESTS]);
		assert_int_equal(doctor_judge(&d, &f), 0);
		assert_int_equal(d.verdict, DOCTOR_UNSEEN);
		diagnosis_fini(&d);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures_and_names_are_as_they_were_saved),
		cmocka_unit_test(a_number_that_cannot_be_is_not_known),
		cmocka_unit_test(what_is_no_figure_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
