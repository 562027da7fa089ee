/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "doctor/rules.h"
#include "report/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HEAD_LINES 6 /* that a run of doctor may have above, and 3 below */

/* As many rules hold as can at once. */
static struct run_figures all_wrong(void)
{
	struct run_figures f = { 0 };

	for (unsigned int i = 0; i < N_RUN_FIGURES; i++) {
		run_figure_set(&f, (enum run_figure)i, 0.99);
		run_figure_who(&f, (enum run_figure)i, "%080d", 1);
	}
	for (size_t i = 0; i < doctor_n_rules; i++)
		for (size_t k = 0; k < doctor_rules[i].n_tests; k++) {
			const struct doctor_test *t = &doctor_rules[i].test[k];

			if (!t->most && f.value[t->figure] < t->limit)
				run_figure_set(&f, t->figure, t->limit);
		}
	run_figure_set(&f, RUN_FIGURE_REQUESTS, 1000);
	run_figure_set(&f, RUN_FIGURE_P99, 1e9);
	run_figure_set(&f, RUN_FIGURE_ROOM, 0);
	return f;
}

static char *shown(const struct run_figures *f, bool brief)
{
	const struct report_opts opts = { 0 };
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	assert_int_equal(report_doctor(f, &opts, brief, out), 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void many_findings_fit_on_a_screen(void **state)
{
	struct run_figures f = all_wrong();
	char *text = shown(&f, false);
	size_t lines = HEAD_LINES + 3;

	(void)state;
	for (const char *at = text, *end; (end = strchr(at, '\n')); at = end + 1) {
		assert_true(end - at <= 100);
		lines++;
	}
	assert_true(lines <= 40);
	assert_non_null(strstr(text, "1. "));
	assert_non_null(strstr(text, "7. "));
	assert_non_null(strstr(text, " more (--short shows all)\n"));
	free(text);
}

static void short_has_a_line_for_each_finding(void **state)
{
	struct run_figures f = all_wrong();
	char *text = shown(&f, true), *last = strrchr(text, '\n');
	size_t lines = 0;

	(void)state;
	assert_non_null(last);
	*last = '\0';
	for (const char *at = text; at; at = strchr(at + 1, '\n'))
		lines++;
	assert_true(lines > 10);
	assert_true(strtoul(strrchr(text, '\n') + 1, NULL, 10) == lines);
	free(text);
}

static void few_requests_are_no_verdict(void **state)
{
	struct run_figures f = { 0 };
	char *text;

	(void)state;
	run_figure_set(&f, RUN_FIGURE_REQUESTS, 7);
	text = shown(&f, false);
	assert_ptr_equal(strstr(text, "No verdict: too few requests were seen (7)."), text);
	free(text);
}

static void slow_for_no_known_cause_says_what_the_time_went_into(void **state)
{
	struct run_figures f = { 0 };
	char *text;

	(void)state;
	run_figure_set(&f, RUN_FIGURE_REQUESTS, 100);
	run_figure_set(&f, RUN_FIGURE_P99, 3e9);
	run_figure_set(&f, RUN_FIGURE_CPU, 0.004);
	run_figure_set(&f, RUN_FIGURE_NET, 0.1);
	run_figure_set(&f, RUN_FIGURE_OTHER, 0.89);
	text = shown(&f, false);
	assert_ptr_equal(strstr(text, "Requests are slow, for none of the causes"), text);
	assert_non_null(strstr(text, "Their time: 89% asleep, or waiting for other processes, 10% "
				     "waiting for clients\n"));
	assert_non_null(strstr(text, "Not seen: "));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_findings_fit_on_a_screen),
		cmocka_unit_test(short_has_a_line_for_each_finding),
		cmocka_unit_test(few_requests_are_no_verdict),
		cmocka_unit_test(slow_for_no_known_cause_says_what_the_time_went_into),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
