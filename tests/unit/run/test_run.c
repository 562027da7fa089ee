/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The data model against numbers worked out by hand. */
#include "run/run.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int setup(void **state)
{
	struct run *r = calloc(1, sizeof(*r));

	*state = r;
	return run_init(r, "lantest", "lantest-4.5");
}

static int teardown(void **state)
{
	run_fini(*state);
	free(*state);
	return 0;
}

static struct run_phase *elapsed(struct run *r, unsigned int test, unsigned int i, uint64_t ns)
{
	struct run_phase *p = run_phase(r, test, i, "title");

	p->complete = true;
	run_set(p, METRIC_ELAPSED, ns);
	return p;
}

static void statistics_agree_with_hand_computed_ones(void **state)
{
	/* 2 4 4 4 5 5 7 9: mean 5, squares 32, 32 / 7 = 4.571428 */
	static const uint64_t values[] = { 2, 4, 4, 4, 5, 5, 7, 9 };
	struct run_stat s;

	for (unsigned int i = 0; i < 8; i++)
		elapsed(*state, 1, i + 1, values[i]);
	elapsed(*state, 2, 1, 1000);
	s = run_stat(*state, 1, METRIC_ELAPSED);
	assert_int_equal(s.n, 8);
	assert_true(s.mean == 5);
	assert_true(fabs(s.stddev - sqrt(32.0 / 7)) < 1e-12);
	assert_true(s.min == 2 && s.max == 9);
}

static void a_metric_may_be_the_difference_of_two_readings(void **state)
{
	struct run_phase *p = run_phase(*state, 1, 1, "title");

	run_end(p, METRIC_CLIENT_RUNQ, 70);
	assert_false(p->known[METRIC_CLIENT_RUNQ]);
	run_begin(p, METRIC_CLIENT_RUNQ, 100);
	run_begin(p, METRIC_AFPD_RUNQ, 5);
	assert_false(p->known[METRIC_CLIENT_RUNQ]);
	run_end(p, METRIC_CLIENT_RUNQ, 130);
	run_end(p, METRIC_CLIENT_RUNQ, 500);
	assert_int_equal(p->value[METRIC_CLIENT_RUNQ], 30);
	/* One that broke off is begun again, and a region more is added. */
	run_begin(p, METRIC_CLIENT_RUNQ, 600);
	run_begin(p, METRIC_CLIENT_RUNQ, 700);
	run_end(p, METRIC_CLIENT_RUNQ, 707);
	assert_int_equal(p->value[METRIC_CLIENT_RUNQ], 37);
	assert_false(p->known[METRIC_AFPD_RUNQ]);
}

static void zeros_count_as_values(void **state)
{
	struct run_stat s;

	elapsed(*state, 1, 1, 0);
	elapsed(*state, 1, 2, 10);
	s = run_stat(*state, 1, METRIC_ELAPSED);
	assert_int_equal(s.n, 2);
	assert_true(s.mean == 5 && s.min == 0 && s.max == 10);
	assert_true(fabs(s.stddev - sqrt(50)) < 1e-12);
}

static void one_value_has_no_deviation(void **state)
{
	struct run_stat s;

	elapsed(*state, 1, 1, 77);
	s = run_stat(*state, 1, METRIC_ELAPSED);
	assert_int_equal(s.n, 1);
	assert_true(s.mean == 77 && s.stddev == 0);
	s = run_stat(*state, 9, METRIC_ELAPSED);
	assert_int_equal(s.n, 0);
}

static void broken_phases_and_absent_metrics_stay_outside(void **state)
{
	struct run_stat s;

	elapsed(*state, 1, 1, 10);
	elapsed(*state, 1, 2, 1000)->complete = false;
	elapsed(*state, 1, 3, 30)->known[METRIC_ELAPSED] = false;
	s = run_stat(*state, 1, METRIC_ELAPSED);
	assert_int_equal(s.n, 1);
	assert_true(s.mean == 10 && s.max == 10);
	assert_int_equal(run_stat(*state, 1, METRIC_AFPD_SYSCR).n, 0);
}

static void pointers_to_phases_and_commands_stay_valid(void **state)
{
	struct run_phase *first = elapsed(*state, 1, 1, 1);
	struct run_command *open = run_command(first, 26, "FPOpenFork");
	struct run *r = *state;

	for (unsigned int i = 2; i < 100; i++) {
		elapsed(r, 1, i, i);
		assert_non_null(run_command(first, (uint8_t)(26 + i), "other"));
	}
	assert_ptr_equal(r->phase[0], first);
	assert_ptr_equal(run_command(first, 26, "FPOpenFork"), open);
	assert_int_equal(first->n_commands, 99);
	assert_int_equal(r->n_phases, 99);
	for (size_t i = 0; i < 99; i++)
		assert_int_equal(r->phase[i]->iteration, i + 1);
}

static void latencies_merge_by_test_and_command(void **state)
{
	struct hist *h = malloc(sizeof(*h));
	struct run_phase *p = elapsed(*state, 1, 1, 1);

	hist_add(&run_command(p, 26, "a")->latency, 100);
	hist_add(&run_command(p, 27, "b")->latency, 200);
	p = elapsed(*state, 2, 1, 1);
	hist_add(&run_command(p, 26, "a")->latency, 400);
	p = elapsed(*state, 2, 2, 1);
	p->complete = false;
	hist_add(&run_command(p, 26, "a")->latency, 800);
	run_latency(*state, 0, -1, h);
	assert_int_equal(h->sum, 700);
	run_latency(*state, 1, -1, h);
	assert_int_equal(h->sum, 300);
	run_latency(*state, 0, 26, h);
	assert_int_equal(h->sum, 500);
	run_latency(*state, 2, 27, h);
	assert_int_equal(h->n, 0);
	free(h);
}

static void a_book_closes_only_on_equal_numbers(void **state)
{
	assert_int_equal(run_book(*state, "afpd 1 syscr", "/proc/PID/io", 5, 5), 0);
	assert_true(run_books_closed(*state));
	assert_int_equal(run_book(*state, "afpd 1 syscw", "/proc/PID/io", 5, 6), 0);
	assert_false(run_books_closed(*state));
	assert_true(((struct run *)*state)->book[0].closed);
	assert_false(((struct run *)*state)->book[1].closed);
}

static void losses_add_up(void **state)
{
	assert_true(run_losses(*state) == 0);
	run_loss(*state, "records", 3);
	run_loss(*state, "map full", 0);
	run_loss(*state, "recursion", 4);
	assert_true(run_losses(*state) == 7);
	assert_int_equal(((struct run *)*state)->n_losses, 3);
}

static void series_are_rows_of_figures_and_keep_their_reasons(void **state)
{
	struct run *r = *state;
	struct run_series *s;

	for (unsigned int i = 0; i < 5; i++) {
		s = run_series(r, 2, 3);
		assert_non_null(s);
		s->pid = 100 + (pid_t)i;
		s->value[1].why = strdup("no right");
		s->point[2 * 2 + 1] = 7 + i;
		s->t_ns[2] = 20;
	}
	assert_non_null(run_series(r, 1, 0));
	assert_int_equal(r->n_series, 6);
	for (unsigned int i = 0; i < 5; i++) {
		s = &r->series[i];
		assert_int_equal(s->pid, 100 + i);
		assert_true(s->n == 3 && s->n_values == 2 && !s->value[0].why);
		assert_string_equal(s->value[1].why, "no right");
		assert_true(!s->point[0] && s->point[5] == 7 + i && s->t_ns[2] == 20);
	}
}

static void notes_are_copied_formatted_and_found(void **state)
{
	struct run *r = *state;
	char key[] = "name", text[] = "nas";

	assert_int_equal(run_note(&r->server, key, "%s %d", text, 42), 0);
	assert_int_equal(run_note(&r->server, NULL, "no key"), 0);
	key[0] = 'x';
	text[0] = 'x';
	assert_string_equal(run_note_find(&r->server, "name"), "nas 42");
	assert_null(run_note_find(&r->server, "missing"));
	run_note(&r->options, "clients", "%u", 42);
	assert_int_equal(run_note_number(&r->options, "clients"), 42);
	assert_int_equal(run_note_number(&r->options, "missing"), 0);
	assert_int_equal(run_note_number(&r->server, "name"), 0);
	assert_string_equal(r->server.note[1].text, "no key");
	assert_non_null(run_note_find(&r->environment, "kernel"));
	assert_non_null(run_note_find(&r->environment, "cpus"));
	assert_non_null(run_note_find(&r->environment, "host"));
}

static void an_id_is_16_hex_digits_and_not_drawn_twice(void **state)
{
	struct run other;

	assert_int_equal(run_init(&other, "a", "b"), 0);
	assert_int_equal(strlen(other.id), 16);
	assert_int_equal(strspn(other.id, "0123456789abcdef"), 16);
	assert_string_not_equal(other.id, ((struct run *)*state)->id);
	assert_int_equal(strlen(other.started), strlen("2025-01-01T00:00:00.123456789Z"));
	run_fini(&other);
}

static struct run_phase *with_ledger(struct run *r)
{
	struct run_phase *p = elapsed(r, 1, 1, 1);
	struct ledger *l = &p->ledger;

	l->has_calls = true;
	l->n_rows = 2;
	l->row = calloc(2, sizeof(*l->row));
	l->row[0] = (struct ledger_row) { .class = AFS_CLASS_READ, .object = AFS_OBJECT_PIPE };
	l->row[0].cell = (struct afs_cell) { .calls = 10, .ns = 1000 };
	l->row[1] = (struct ledger_row) { .class = AFS_CLASS_WAIT };
	l->row[1].cell = (struct afs_cell) { .calls = 3, .ns = 90000 };
	l->has_compat[AFS_ROLE_SERVER] = true;
	l->compat[AFS_ROLE_SERVER] = (struct afs_compat) { 10, 20, 30, 40 };
	return p;
}

static void call_metrics_come_from_the_ledger_and_waits_are_not_call_time(void **state)
{
	struct run_phase *p = with_ledger(*state);

	run_phase_from_ledger(p);
	assert_true(p->known[METRIC_AFPD_SYSCR] && p->value[METRIC_AFPD_SYSCR] == 10);
	assert_true(p->known[METRIC_AFPD_SYSCW] && p->value[METRIC_AFPD_SYSCW] == 20);
	assert_true(p->known[METRIC_AFPD_RCHAR] && p->value[METRIC_AFPD_RCHAR] == 30);
	assert_true(p->known[METRIC_AFPD_WCHAR] && p->value[METRIC_AFPD_WCHAR] == 40);
	assert_true(p->known[METRIC_AFPD_CALLS] && p->value[METRIC_AFPD_CALLS] == 13);
	assert_true(p->known[METRIC_AFPD_CALL_TIME] && p->value[METRIC_AFPD_CALL_TIME] == 1000);
}

static void a_role_that_nobody_has_is_not_a_zero(void **state)
{
	struct run_phase *p = with_ledger(*state);

	run_phase_from_ledger(p);
	assert_false(p->known[METRIC_CNID_CALLS]);
	assert_false(p->known[METRIC_CNID_SYSCR]);
	p->ledger.has_compat[AFS_ROLE_BACKEND] = true;
	run_phase_from_ledger(p);
	assert_true(p->known[METRIC_CNID_CALLS] && p->value[METRIC_CNID_CALLS] == 0);
	assert_true(p->known[METRIC_CNID_SYSCR] && p->value[METRIC_CNID_SYSCR] == 0);
}

static void a_sampled_ledger_gives_no_calls(void **state)
{
	struct run_phase *p = with_ledger(*state);

	p->ledger.has_calls = false;
	run_phase_from_ledger(p);
	assert_true(p->known[METRIC_AFPD_SYSCR]);
	assert_false(p->known[METRIC_AFPD_CALLS]);
	assert_false(p->known[METRIC_AFPD_CALL_TIME]);
}

static void every_metric_has_a_key_of_its_own(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_METRICS; i++) {
		assert_true(strlen(run_metrics[i].key) && strlen(run_metrics[i].unit));
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(run_metrics[i].key, run_metrics[k].key);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(statistics_agree_with_hand_computed_ones),
		TEST(a_metric_may_be_the_difference_of_two_readings),
		TEST(zeros_count_as_values),
		TEST(one_value_has_no_deviation),
		TEST(broken_phases_and_absent_metrics_stay_outside),
		TEST(pointers_to_phases_and_commands_stay_valid),
		TEST(latencies_merge_by_test_and_command),
		TEST(a_book_closes_only_on_equal_numbers),
		TEST(losses_add_up),
		TEST(series_are_rows_of_figures_and_keep_their_reasons),
		TEST(notes_are_copied_formatted_and_found),
		TEST(an_id_is_16_hex_digits_and_not_drawn_twice),
		TEST(call_metrics_come_from_the_ledger_and_waits_are_not_call_time),
		TEST(a_role_that_nobody_has_is_not_a_zero),
		TEST(a_sampled_ledger_gives_no_calls),
		TEST(every_metric_has_a_key_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
