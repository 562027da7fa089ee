/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "doctor/rules/rules.h"
#include "kinds/kind.h"
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
	const struct doctor_rule *r;
	struct run_figures f = { 0 };

	for (unsigned int i = 0; i < N_RUN_FIGURES; i++) {
		run_figure_set(&f, (enum run_figure)i, 0.99);
		run_figure_who(&f, (enum run_figure)i, "%080d", 1);
	}
	for (size_t i = 0; (r = doctor_rule_at(&f, i)); i++)
		for (size_t k = 0; k < r->n_tests; k++) {
			const struct doctor_test *t = &r->test[k];

			if (!t->most && f.value[t->figure] < t->limit)
				run_figure_set(&f, t->figure, t->limit);
		}
	run_figure_set(&f, RUN_FIGURE_REQUESTS, 1000);
	run_figure_set(&f, RUN_FIGURE_P99, 1e9);
	run_figure_set(&f, RUN_FIGURE_ROOM, 0);
	return f;
}

static char *shown_in(const struct run_figures *f, bool brief, unsigned int width)
{
	const struct report_opts opts = { .width = width };
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	assert_int_equal(report_doctor(f, &opts, brief, out), 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

static char *shown(const struct run_figures *f, bool brief)
{
	return shown_in(f, brief, 0);
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
	if (lines > 40)
		fail_msg("%zu lines:\n%s", lines, text);
	assert_non_null(strstr(text, "1. "));
	assert_non_null(strstr(text, "4. "));
	assert_non_null(strstr(text, " more (--short shows all)\n"));
	free(text);
}

static void the_longest_answer_is_not_shown_beside_what_waits_longer(void **state)
{
	struct run_figures f = { 0 };
	char *text;

	(void)state;
	run_figure_set(&f, RUN_FIGURE_REQUESTS, 28);
	run_figure_set(&f, RUN_FIGURE_BUSY, 6);
	run_figure_set(&f, RUN_FIGURE_OWN, 1);
	run_figure_set(&f, RUN_FIGURE_CNID_STOPPED, 1);
	run_figure_set(&f, RUN_FIGURE_LONGEST, 254e3);
	run_figure_set(&f, RUN_FIGURE_OLDEST, 8.82e9);
	text = shown(&f, false);
	assert_non_null(strstr(text, "cnid_stopped 100%, oldest 8.82s; "));
	free(text);
	run_figure_set(&f, RUN_FIGURE_LONGEST, 9e9);
	text = shown(&f, false);
	assert_non_null(strstr(text, "longest 9.00s, oldest 8.82s; "));
	free(text);
}

/* What the share is of depends on whether requests fail or wait. */
static void causes_that_cannot_be_told_apart_are_said(void **state)
{
	struct run_figures f = { 0 };
	char *text;

	(void)state;
	run_figure_set(&f, RUN_FIGURE_REQUESTS, 1000);
	run_figure_set(&f, RUN_FIGURE_P99, 300e6);
	run_figure_set(&f, RUN_FIGURE_BUSY, 1);
	run_figure_set(&f, RUN_FIGURE_OWN, 1);
	run_figure_set(&f, RUN_FIGURE_UNCOUNTED, 0);
	run_figure_set(&f, RUN_FIGURE_LOG, 0.6);
	run_figure_set(&f, RUN_FIGURE_LOG_CALLS, 5);
	run_figure_set(&f, RUN_FIGURE_META, 0.55);
	run_figure_set(&f, RUN_FIGURE_META_CALLS, 5);
	text = shown(&f, false);
	assert_non_null(strstr(text, "Which of the first 2 causes counts more cannot be told: each "
				     "explains 55 to 60% of what was waited\n  for\n"));
	free(text);
	run_figure_set(&f, RUN_FIGURE_CRASHED, 2);
	run_figure_set(&f, RUN_FIGURE_CRASHED_SHARE, 0.2);
	run_figure_set(&f, RUN_FIGURE_KILLED, 3);
	run_figure_set(&f, RUN_FIGURE_KILLED_SHARE, 0.2);
	text = shown(&f, false);
	assert_non_null(strstr(text, "Which of the first 2 causes counts more cannot be told: each "
				     "explains 20% of what failed\n"));
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
	/* The first lines are of requests that have had no answer. */
	for (const char *at = strstr(text, "1. "); at; at = strchr(at + 1, '\n'))
		lines++;
	assert_true(lines > 10);
	assert_true(strtoul(strrchr(text, '\n') + 1, NULL, 10) == lines);
	free(text);
}

/* The last name is whole, whatever the width. */
static void ruled_out_names_are_whole(void **state)
{
	struct run_figures f = { 0 };

	(void)state;
	for (unsigned int i = 0; i < N_RUN_FIGURES; i++)
		run_figure_set(&f, (enum run_figure)i, 0);
	run_figure_set(&f, RUN_FIGURE_REQUESTS, 1000);
	run_figure_set(&f, RUN_FIGURE_ROOM, 1);
	for (unsigned int width = 80; width <= 100; width++) {
		char *text = shown_in(&f, false, width), *names = strstr(text, "Ruled out: ");

		assert_non_null(names);
		assert_non_null(strstr(names, " more\n"));
		assert_null(strstr(names, " ..."));
		free(text);
	}
}

/* With names of what could not be seen, and with what quick requests waited for. */
static void the_longest_verdict_is_whole(void **state)
{
	struct run_figures f = { 0 };

	(void)state;
	run_figure_set(&f, RUN_FIGURE_REQUESTS, 123456);
	run_figure_set(&f, RUN_FIGURE_UNCOUNTED, 0);
	run_figure_set(&f, RUN_FIGURE_BUSY, 0.75);
	run_figure_set(&f, RUN_FIGURE_RATE, 1e4);
	run_figure_set(&f, RUN_FIGURE_LONGEST, 9.51e6);
	run_figure_who(&f, RUN_FIGURE_LONGEST, "FPGetExtendedAttribute");
	run_figure_set(&f, RUN_FIGURE_WAIT_CPU, 0.86);
	run_figure_set(&f, RUN_FIGURE_P99, 99e6);
	for (unsigned int width = 80; width <= 100; width += 10) {
		char *text = shown_in(&f, false, width), *at = strstr(text, " 86%");

		assert_non_null(strstr(text, " more"));
		if (!at || !strstr(at, "time.\n"))
			fail_msg("%s", text);
		free(text);
	}
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
	assert_ptr_equal(strstr(text, "Requests are slow, and no cause is shown, but "), text);
	assert_non_null(strstr(text, "Their time: 89% asleep, or waiting for other processes, 10% "
				     "waiting for clients\n"));
	assert_non_null(strstr(text, "Not seen: "));
	free(text);
}

/* Whatever server it is: what it asks has that server's name, and no other one's. */
static void what_the_time_went_into_has_the_words_of_the_kind(void **state)
{
	struct run_figures f = { 0 };
	char *text, said[100];

	(void)state;
	run_figure_set(&f, RUN_FIGURE_REQUESTS, 100);
	run_figure_set(&f, RUN_FIGURE_P99, 3e9);
	run_figure_set(&f, RUN_FIGURE_CNID, 0.2);
	run_figure_set(&f, RUN_FIGURE_CNID_MUTE, 0.1);
	for (int i = 0; kind_judged[i]; i++) {
		f.kind = &kind_at(kind_place(kind_judged[i]))->is;
		text = shown(&f, false);
		snprintf(said, sizeof(said), "Their time: 20%% waiting for the %s or database",
			 run_kind_word(f.kind, RUN_WORD_BACKEND));
		assert_non_null(strstr(text, said));
		snprintf(said, sizeof(said), "no process of the %s was seen at work",
			 run_kind_word(f.kind, RUN_WORD_BACKEND));
		assert_non_null(strstr(text, said));
		assert_int_equal(!strstr(text, "CNID"), f.kind != &kind_afp.is);
		free(text);
	}
}

static void what_is_not_seen_has_its_reason_once(void **state)
{
	struct run_figures f = { .kind = &kind_rx.is };
	const char *at;
	char *text;

	(void)state;
	run_figure_set(&f, RUN_FIGURE_REQUESTS, 1000);
	run_figure_set(&f, RUN_FIGURE_P99, 1e6);
	run_figure_set(&f, RUN_FIGURE_BUSY, 1);
	run_figure_set(&f, RUN_FIGURE_PASSED_ON, 0);
	run_figure_set(&f, RUN_FIGURE_TRACED, 0);
	run_figure_set(&f, RUN_FIGURE_STOPPED, 0);
	run_figure_who(&f, RUN_FIGURE_DROPPED, "not counted");
	run_figure_who(&f, RUN_FIGURE_LISTENER, "on another host");
	text = shown(&f, false);
	assert_non_null(strstr(text, "Not seen: socket buffer (not counted); "));
	at = strstr(text, "(on another host)");
	assert_non_null(at);
	assert_null(strstr(at + 1, "(on another host)"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_findings_fit_on_a_screen),
		cmocka_unit_test(the_longest_answer_is_not_shown_beside_what_waits_longer),
		cmocka_unit_test(causes_that_cannot_be_told_apart_are_said),
		cmocka_unit_test(short_has_a_line_for_each_finding),
		cmocka_unit_test(ruled_out_names_are_whole),
		cmocka_unit_test(the_longest_verdict_is_whole),
		cmocka_unit_test(few_requests_are_no_verdict),
		cmocka_unit_test(slow_for_no_known_cause_says_what_the_time_went_into),
		cmocka_unit_test(what_the_time_went_into_has_the_words_of_the_kind),
		cmocka_unit_test(what_is_not_seen_has_its_reason_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
