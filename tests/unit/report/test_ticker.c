/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The line of each second: as wide as the terminal is, in its characters, in a log, as JSON. */
#include "report/ticker.h"

#include "report/cell.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h> /* needs the headers above */

#define MS 1000000ull

/* n actions that took 1 ms, one 64 ms. */
static void fill(struct run_second *s, unsigned int n)
{
	memset(s, 0, sizeof(*s));
	for (unsigned int i = 0; i < n; i++) {
		uint64_t ns = i ? MS : 64 * MS;

		s->n++;
		s->sum_ns += ns;
		s->max_ns = s->max_ns > ns ? s->max_ns : ns;
		s->bucket[hist_index(ns, RUN_SECOND_BITS)]++;
	}
	s->bytes = n * 1000000ull;
}

static void made(struct ticker_second *s, unsigned int number, unsigned int n)
{
	*s = (struct ticker_second) { .number = number,
				      .seconds = 1,
				      .state = "measuring",
				      .has_probe = true,
				      .drops = true };
	fill(&s->clients, n);
	fill(&s->probe, n ? 1 : 0);
}

static void of_terminal(struct ticker *t, size_t width, bool utf8)
{
	*t = (struct ticker) { .terminal = true, .utf8 = utf8, .width = width };
	for (size_t i = 0; i < TICKER_CURVE; i++)
		t->curve[t->n_curve++] = (double)i;
}

static void a_line_fits_the_terminal_and_says_the_first_things_first(void **state)
{
	char text[1024];
	struct ticker t;
	struct ticker_second s;

	(void)state;
	for (unsigned int n = 1; n < 5000000; n *= 7) {
		made(&s, n, n % 5000);
		s.clients.dropped = n;
		for (size_t width = 1; width < 300; width++) {
			for (int utf8 = 0; utf8 < 2; utf8++) {
				of_terminal(&t, width, utf8);
				ticker_line(&t, &s, text, sizeof(text));
				if (text_columns(text) > width - 1)
					fail_msg("%zu columns: %s", width, text);
				for (const char *c = text; *c && !utf8; c++)
					assert_true(*c > 0);
				assert_true(width < 15 || strstr(text, "/s"));
			}
		}
	}
}

static void at_80_and_160_columns_all_is_there_with_a_curve(void **state)
{
	char text[1024];
	struct ticker t;
	struct ticker_second s;

	(void)state;
	made(&s, 12, 1000);
	of_terminal(&t, 80, true);
	ticker_line(&t, &s, text, sizeof(text));
	assert_string_equal(text, "12s 1000/s p50 1.02ms p99 1.02ms 0 fail 0 drop 1000MB/s "
				  "probe 64.0ms ▇▇▇▇▇█████");
	of_terminal(&t, 80, false);
	ticker_line(&t, &s, text, sizeof(text));
	assert_string_equal(text, "12s 1000/s p50 1.02ms p99 1.02ms 0 fail 0 drop 1000MB/s "
				  "probe 64.0ms *****#####");
	of_terminal(&t, 160, true);
	ticker_line(&t, &s, text, sizeof(text));
	assert_non_null(strstr(text, "12s  1000/s  p50 1.02ms  p99 1.02ms  0 failed  0 dropped  "
				     "1000 MB/s  probe max 64.0ms  ▁"));
	assert_int_equal(text_columns(text), 85 + 2 + TICKER_CURVE);
}

/* A load of small files, or a test of rx. */
static void a_phase_of_several_has_its_name_and_how_far_it_is(void **state)
{
	char text[1024];
	struct ticker t;
	struct ticker_second s;

	(void)state;
	made(&s, 12, 1000);
	s.phase = "read";
	s.progress = "12,000 of 99,999, 88 s left";
	s.has_probe = s.drops = false;
	of_terminal(&t, 80, true);
	ticker_line(&t, &s, text, sizeof(text));
	assert_string_equal(text, "read 12s 12,000 of 99,999, 88 s left 1000/s p50 1.02ms p99 "
				  "1.02ms 0 fail");
	of_terminal(&t, 160, true);
	ticker_line(&t, &s, text, sizeof(text));
	assert_non_null(strstr(text, "read  12s  12,000 of 99,999, 88 s left  1000/s  p50 1.02ms  "
				     "p99 1.02ms  0 failed  1000 MB/s  ▁"));
	/* in a log nobody waits for the end */
	t.terminal = false;
	ticker_line(&t, &s, text, sizeof(text));
	assert_string_equal(text, "read  12s  1000/s  p50 1.02ms  p99 1.02ms  0 failed  1000 MB/s");
}

/* No quantile of several kinds of actions together tells of any of them. */
static void actions_of_several_kinds_have_a_mean_and_the_longest(void **state)
{
	char text[1024];
	struct ticker t;
	struct ticker_second s;

	(void)state;
	made(&s, 12, 1000);
	s.mixed = true;
	s.clients.failed = 500; /* of which there are no times */
	of_terminal(&t, 80, true);
	ticker_line(&t, &s, text, sizeof(text));
	assert_non_null(strstr(text, "12s 500/s mean 2.13ms max 64.0ms 500 fail 0 drop "));
	assert_null(strstr(text, "p99"));
	s.clients.failed = 1000;
	ticker_line(&t, &s, text, sizeof(text));
	assert_non_null(strstr(text, "mean - max 64.0ms 1,000 fail"));
}

static void microseconds_are_in_the_characters_of_the_locale(void **state)
{
	char text[1024];
	struct ticker t;
	struct ticker_second s;

	(void)state;
	made(&s, 12, 0);
	s.clients.n = 1;
	s.clients.max_ns = 100000;
	s.clients.bucket[hist_index(100000, RUN_SECOND_BITS)] = 1;
	of_terminal(&t, 160, true);
	ticker_line(&t, &s, text, sizeof(text));
	assert_non_null(strstr(text, "µs  0 failed"));
	of_terminal(&t, 160, false);
	ticker_line(&t, &s, text, sizeof(text));
	assert_non_null(strstr(text, "us  0 failed"));
	assert_null(strstr(text, "µ"));
}

static void the_curve_has_eight_levels_of_the_highest_second(void **state)
{
	struct ticker t = { .terminal = true, .utf8 = true, .width = 200 };
	struct ticker_second s;
	char text[1024];

	(void)state;
	for (int i = 0; i < 8; i++)
		t.curve[t.n_curve++] = 70 * i;
	made(&s, 8, 490);
	ticker_line(&t, &s, text, sizeof(text));
	assert_non_null(strstr(text, "  ▁▂▃▄▅▆▇█"));
	for (int i = 0; i < 8; i++)
		t.curve[i] = 0;
	ticker_line(&t, &s, text, sizeof(text));
	assert_non_null(strstr(text, "  ▁▁▁▁▁▁▁▁"));
}

/* What is written of so many seconds, the caller's. */
static char *written(enum ticker_how how, unsigned int seconds)
{
	struct ticker_second s;
	struct ticker t;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	t = (struct ticker) { .out = f, .how = how, .width = 80 };
	for (unsigned int i = 1; i <= seconds; i++) {
		made(&s, i, i == 3 ? 0 : 100);
		if (i < 3)
			s.state = "ramp";
		s.clients.dropped = i;
		s.silent = i == 3;
		ticker_add(&t, &s);
	}
	ticker_end(&t);
	fclose(f);
	return text;
}

static void a_log_has_a_line_of_the_mean_every_ten_seconds(void **state)
{
	char *text = written(TICKER_SHOWN, 25);

	(void)state;
	assert_string_equal(
	    text,
	    "10s  90.0/s  p50 1.02ms  p99 1.02ms  0 failed  55 dropped  90.0 MB/s  probe max 64.0ms\n"
	    "20s  100/s  p50 1.02ms  p99 1.02ms  0 failed  155 dropped  100 MB/s  probe max 64.0ms\n");
	free(text);
	text = written(TICKER_SHOWN, 9);
	assert_string_equal(text, "");
	free(text);
	text = written(TICKER_OFF, 25);
	assert_string_equal(text, "");
	free(text);
}

static void each_line_of_json_is_an_object(void **state)
{
	char *text = written(TICKER_JSON, 12), *save = NULL, *line = text;
	unsigned int n = 0;

	(void)state;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		json_t *o = json_loads(line, 0, NULL);

		assert_non_null(o);
		n++;
		assert_int_equal(json_integer_value(json_object_get(o, "second")), n);
		assert_string_equal(json_string_value(json_object_get(o, "state")),
				    n < 3 ? "ramp" : "measuring");
		assert_int_equal(json_integer_value(json_object_get(o, "actions")),
				 n == 3 ? 0 : 100);
		assert_int_equal(json_integer_value(json_object_get(o, "dropped")), n);
		assert_int_equal(json_integer_value(json_object_get(o, "silent_s")), n == 3);
		assert_int_equal(json_integer_value(json_object_get(o, "failed")), 0);
		assert_int_equal(json_integer_value(json_object_get(o, "bytes")),
				 n == 3 ? 0 : 100000000);
		assert_int_equal(json_integer_value(json_object_get(o, "mean_ns")),
				 n == 3 ? 0 : (99 + 64) * (json_int_t)MS / 100);
		assert_int_equal(json_is_null(json_object_get(o, "p50_ns")), n == 3);
		assert_int_equal(json_is_null(json_object_get(o, "probe_p99_ns")), n == 3);
		assert_int_equal(json_integer_value(json_object_get(o, "max_ns")),
				 n == 3 ? 0 : 64 * (json_int_t)MS);
		json_decref(o);
	}
	assert_int_equal(n, 12);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_fits_the_terminal_and_says_the_first_things_first),
		cmocka_unit_test(at_80_and_160_columns_all_is_there_with_a_curve),
		cmocka_unit_test(a_phase_of_several_has_its_name_and_how_far_it_is),
		cmocka_unit_test(actions_of_several_kinds_have_a_mean_and_the_longest),
		cmocka_unit_test(microseconds_are_in_the_characters_of_the_locale),
		cmocka_unit_test(the_curve_has_eight_levels_of_the_highest_second),
		cmocka_unit_test(a_log_has_a_line_of_the_mean_every_ten_seconds),
		cmocka_unit_test(each_line_of_json_is_an_object),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
