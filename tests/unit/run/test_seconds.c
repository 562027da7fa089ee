/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A load of any length in constant memory; one load after another. Tests user/run/seconds.c,
 * load.c. */
#include "run/load.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h> /* needs the headers above */

#define NS_PER_S 1000000000ull
#define WEEK_S   (7 * 86400u)

static void happen(struct run_load *l, uint64_t second, uint64_t ns)
{
	struct run_second *s = run_load_second(l, second);

	s->n++;
	s->sum_ns += ns;
	if (ns > s->max_ns)
		s->max_ns = ns;
	s->bucket[hist_index(ns, RUN_SECOND_BITS)]++;
}

static uint64_t sum(const struct run_load *l)
{
	uint64_t n = 0;

	for (size_t i = 0; i < l->n_seconds; i++)
		n += l->second[i].n;
	return n;
}

static void a_week_has_as_many_rows_as_two_hours(void **state)
{
	struct run_load *l = run_load_new(1, 1, RUN_SECONDS_MAX);
	const struct run_second *rows = l->second;

	(void)state;
	for (uint64_t s = 0; s < WEEK_S; s++)
		happen(l, s, s == 1234 ? 9 * NS_PER_S : 1000 + s);
	assert_ptr_equal(l->second, rows);
	assert_int_equal(l->n_seconds, RUN_SECONDS_MAX);
	assert_int_equal(l->seconds_each, 128);
	assert_int_equal(sum(l), WEEK_S);
	for (uint64_t i = 0; i < WEEK_S / 128; i++)
		assert_int_equal(l->second[i].n, 128);
	assert_int_equal(l->second[1234 / 128].max_ns, 9 * NS_PER_S);
	assert_int_equal(l->second[20].max_ns, 1000 + 20 * 128 + 127);
	assert_int_equal(l->second[WEEK_S / 128].n, WEEK_S % 128);
	run_load_free(l);
}

/* As it was to last so long: what ends later is in its last row. */
static void a_short_load_keeps_its_seconds(void **state)
{
	struct run_load *l = run_load_new(1, 1, 40), *none = run_load_new(1, 1, 0);

	(void)state;
	for (uint64_t s = 0; s < 100; s++)
		happen(l, s, 1000);
	assert_int_equal(l->seconds_each, 1);
	assert_int_equal(l->second[38].n, 1);
	assert_int_equal(l->second[39].n, 61);
	assert_null(run_load_second(none, 0));
	run_load_free(l);
	run_load_free(none);
}

/* Of threads or processes, one of which has put more seconds together than the other. */
static void rows_of_different_length_are_added(void **state)
{
	(void)state;
	for (int turned = 0; turned < 2; turned++) {
		struct run_load *brief = run_load_new(1, 1, RUN_SECONDS_MAX);
		struct run_load *all = run_load_new(1, 1, RUN_SECONDS_MAX);
		struct run_load *lasting = run_load_new(1, 1, RUN_SECONDS_MAX);

		for (uint64_t s = 0; s < 7000; s++)
			happen(brief, s, 1000);
		for (uint64_t s = 0; s < 20000; s++)
			happen(lasting, s, 1000);
		run_load_merge(all, turned ? lasting : brief);
		run_load_merge(all, turned ? brief : lasting);
		assert_int_equal(all->seconds_each, 4);
		assert_int_equal(sum(all), 27000);
		assert_int_equal(all->second[0].n, 8);
		assert_int_equal(all->second[7000 / 4].n, 4);
		run_load_free(brief);
		run_load_free(lasting);
		run_load_free(all);
	}
}

static struct run_load *part(uint64_t begin_s, unsigned int n)
{
	struct run_load *l = run_load_new(1, 1, RUN_SECONDS_MAX);

	l->n_threads = l->n_open = 1;
	l->begin_ns = begin_s * NS_PER_S;
	l->end_ns = l->begin_ns + n * NS_PER_S;
	l->client->opened = l->client->lost = true;
	l->n_lost = 1;
	l->cpu_max_ns = 10;
	l->n_pauses = 2;
	l->paused_ns = 8;
	l->paused_measured_ns = 7;
	l->longest_pause_ns = 5;
	for (unsigned int s = 0; s < n; s++) {
		happen(l, s, 1000);
		l->action->n++;
		l->client->actions++;
		hist_add(&l->action->planned, 1000);
	}
	l->client->last_ns = n * NS_PER_S;
	return l;
}

static void what_comes_after_a_gap_is_added_where_it_was(void **state)
{
	struct run_load *l = part(100, 10), *next = part(130, 5), *last = part(7400, 3);

	(void)state;
	last->n_lost = 0;
	last->client->lost = false;
	run_load_append(l, next);
	assert_int_equal(run_load_note_gap(l, 110 * NS_PER_S, 130 * NS_PER_S, "restart"), 0);
	assert_true(l->client->lost);
	run_load_append(l, last);
	assert_int_equal(run_load_note_gap(l, 135 * NS_PER_S, 7400 * NS_PER_S, "again"), 0);
	assert_int_equal(l->n_gaps, 2);
	assert_int_equal(l->gaps_ns, (20 + 7265) * NS_PER_S);
	assert_string_equal(l->gap[1].why, "again");
	assert_int_equal(l->n_threads, 1);
	assert_int_equal(l->n_open, 1);
	assert_int_equal(l->n_lost, 2);
	assert_int_equal(l->cpu_max_ns, 30);
	assert_int_equal(l->n_pauses, 6);
	assert_int_equal(l->paused_ns, 24);
	assert_int_equal(l->paused_measured_ns, 21);
	assert_int_equal(l->longest_pause_ns, 5);
	assert_int_equal(l->end_ns, 7403 * NS_PER_S);
	assert_int_equal(l->action->n, 18);
	assert_int_equal(l->client->actions, 18);
	assert_int_equal(l->client->last_ns, 7303 * NS_PER_S);
	assert_false(l->client->lost);
	assert_int_equal(l->seconds_each, 2); /* 7,303 s are too many rows */
	assert_int_equal(sum(l), 18);
	assert_int_equal(l->second[4].n, 2);
	assert_int_equal(l->second[5].n, 0);
	assert_int_equal(l->second[15].n, 2);
	assert_int_equal(l->second[7300 / 2].n, 2);
	run_load_free(l);
	run_load_free(next);
	run_load_free(last);
}

static void more_gaps_than_are_listed_are_counted(void **state)
{
	struct run_load *l = run_load_new(1, 1, 0);

	(void)state;
	l->end_ns = 20000;
	for (uint64_t i = 0; i < RUN_GAPS_MAX + 9; i++)
		assert_int_equal(run_load_note_gap(l, 10 * i, 10 * i + 1, "gone"), 0);
	assert_int_equal(run_load_note_gap(l, 19990, 0, "for ever"), 0);
	assert_int_equal(l->n_gaps, RUN_GAPS_MAX + 10);
	assert_int_equal(l->gaps_ns, RUN_GAPS_MAX + 9 + 10);
	assert_int_equal(l->gap[RUN_GAPS_MAX - 1].from_ns, 10 * (RUN_GAPS_MAX - 1));
	run_load_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_week_has_as_many_rows_as_two_hours),
		cmocka_unit_test(a_short_load_keeps_its_seconds),
		cmocka_unit_test(rows_of_different_length_are_added),
		cmocka_unit_test(what_comes_after_a_gap_is_added_where_it_was),
		cmocka_unit_test(more_gaps_than_are_listed_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
