/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Time series in JSON and in the report.
 * Also tests user/report/json/series.c.
 */
#include "report/report.h"
#include "unit/report_text.h"

#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

#define NO_RIGHT "/proc/PID/io: Permission denied"

static const struct {
	const char *key, *unit;
	uint64_t last;
} figures[] = { { "syscr", "1", 1234 },    { "cpu", "ns", 500000000 },  { "runq", "ns", 20000000 },
		{ "voluntary", "1", 600 }, { "involuntary", "1", 200 }, { "majflt", "1", 3 },
		{ "blkio_delay", "ns", 0 } };
#define N_FIGURES (sizeof(figures) / sizeof(figures[0]))

/* Over two seconds; without: the figure that was not measured. */
static void add_series(struct run *r, pid_t pid, const char *role, size_t without)
{
	struct run_series *s = run_series(r, N_FIGURES, 3);

	assert_non_null(s);
	s->pid = pid;
	s->role = role;
	s->start_ns = 5000000000;
	for (size_t i = 0; i < 3; i++)
		s->t_ns[i] = i * 1000000000;
	for (size_t k = 0; k < N_FIGURES; k++) {
		s->value[k].key = figures[k].key;
		s->value[k].unit = figures[k].unit;
		s->point[N_FIGURES + k] = figures[k].last / 2;
		s->point[2 * N_FIGURES + k] = figures[k].last;
	}
	s->value[without].why = strdup(NO_RIGHT);
}

static int setup(void **state)
{
	struct run *r = calloc(1, sizeof(*r));
	struct run_phase *p;

	assert_int_equal(run_init(r, "record", "record"), 0);
	r->complete = true;
	p = run_phase(r, 0, 1, "recorded");
	p->complete = true;
	run_set(p, METRIC_ELAPSED, 2000000000);
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	run_fini(*state);
	free(*state);
	return 0;
}

static json_t *saved(const struct run *r)
{
	json_error_t error;
	char path[64];
	struct err e = { 0 };
	json_t *o;

	snprintf(path, sizeof(path), "/tmp/afpscope-series-%d.json", (int)getpid());
	if (report_json(r, path, &e))
		fail_msg("%s", e.text);
	o = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
	unlink(path);
	assert_non_null(o);
	return o;
}

static void json_has_all_points_and_null_for_what_was_not_measured(void **state)
{
	json_t *o, *list, *one, *value;

	add_series(*state, 4711, "afpd", 0);
	add_series(*state, 4712, "cnid_dbd", 6);
	o = saved(*state);
	list = json_object_get(o, "series");
	assert_int_equal(json_array_size(list), 2);
	one = json_array_get(list, 0);
	assert_int_equal(json_integer_value(json_object_get(one, "pid")), 4711);
	assert_string_equal(json_string_value(json_object_get(one, "role")), "afpd");
	assert_true(json_is_false(json_object_get(one, "ended")));
	assert_int_equal(json_integer_value(json_object_get(one, "start_ns")), 5000000000);
	assert_int_equal(json_array_size(json_object_get(one, "t_ns")), 3);
	value = json_array_get(json_object_get(one, "values"), 0);
	assert_string_equal(json_string_value(json_object_get(value, "why")), NO_RIGHT);
	assert_true(json_is_null(json_object_get(value, "points")));
	value = json_array_get(json_object_get(one, "values"), 1);
	assert_string_equal(json_string_value(json_object_get(value, "key")), "cpu");
	assert_string_equal(json_string_value(json_object_get(value, "unit")), "ns");
	assert_true(json_is_null(json_object_get(value, "why")));
	value = json_object_get(value, "points");
	assert_int_equal(json_integer_value(json_array_get(value, 0)), 0);
	assert_int_equal(json_integer_value(json_array_get(value, 1)), 250000000);
	assert_int_equal(json_integer_value(json_array_get(value, 2)), 500000000);
	json_decref(o);
}

static void a_run_without_series_has_no_table_and_an_empty_list(void **state)
{
	json_t *o = saved(*state);

	assert_int_equal(json_array_size(json_object_get(o, "series")), 0);
	json_decref(o);
	has_not(*state, OWN, "Sampled");
}

static void the_table_has_a_line_for_each_process(void **state)
{
	struct run *r = *state;

	add_series(r, 4711, "afpd", 6);
	has(r, OWN, "Sampled");
	has(r, OWN, "afpd 4711");
	has(r, OWN, "25.0");  /* CPU */
	has(r, OWN, "400.0"); /* switches a second */
	has(r, OWN, "n/a because " NO_RIGHT " (blkio_delay)");
	r->series[0].ended = true;
	has(r, OWN, "afpd 4711 (ended)");
}

static size_t times(const char *text, const char *part)
{
	size_t n = 0;

	while ((text = strstr(text, part))) {
		text += strlen(part);
		n++;
	}
	return n;
}

static void a_reason_is_told_once(void **state)
{
	char *text;

	for (pid_t pid = 1; pid < 40; pid++)
		add_series(*state, pid, "afpd", (size_t)(pid % 2));
	text = output(*state, OWN_NARROW);
	assert_int_equal(times(text, "Permission denied"), 1);
	assert_int_equal(times(text, "19 others with less CPU time"), 1);
	assert_int_equal(times(text, "(syscr, cpu)"), 1);
	is_narrow(text);
}

static void a_series_of_one_point_has_no_rates(void **state)
{
	struct run *r = *state;

	add_series(r, 4711, "afpd", 6);
	r->series[0].n = 1;
	has(r, OWN, "n/a");
	has_not(r, OWN, "nan");
	has_not(r, OWN, "inf");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(json_has_all_points_and_null_for_what_was_not_measured),
		TEST(a_run_without_series_has_no_table_and_an_empty_list),
		TEST(the_table_has_a_line_for_each_process),
		TEST(a_reason_is_told_once),
		TEST(a_series_of_one_point_has_no_rates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
