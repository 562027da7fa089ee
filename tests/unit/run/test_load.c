/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What many clients did, added up; and metrics from a ledger. Also tests user/run/phase.c. */
#include "unit/sample_load.h"
#include "unit/sample_run.h"

#include <math.h>

#define S 1000000000ull

static void what_two_threads_did_is_added(void **state)
{
	struct run_load *to = run_load_new(10, 3, 20), *a = load_of_clients(),
			*b = load_of_clients();

	(void)state;
	a->n_arrivals = 100;
	a->n_no_room = 10;
	a->n_waiting = 7;
	a->n_cut = 2;
	a->n_outlasting = 5;
	b->n_outlasting = 1;
	a->outlasting_max_ns = 60;
	b->outlasting_max_ns = 70;
	a->n_lost = 3;
	a->late_n = 4;
	a->late_max_ns = 50;
	b->late_max_ns = 20;
	b->n_arrivals = 1;
	b->done_ns++;
	b->cpu_ns /= 2;
	strcpy(a->why, "first");
	strcpy(b->why, "second");
	strcpy(b->first_failure, "failure");
	run_load_add(to, a);
	run_load_add(to, b);
	assert_int_equal(to->action[1].n, 4000);
	assert_int_equal(to->action[1].failed, 60);
	assert_int_equal(to->action[1].begun.n, 3940);
	assert_int_equal(to->action[1].planned.max, 2 * 1970 * LOAD_MS);
	assert_int_equal(to->second[0].n, 480);
	assert_int_equal(to->second[0].failed, 80);
	assert_int_equal(to->second[0].sum_ns, 480 * LOAD_MS);
	assert_int_equal(to->second[0].max_ns, LOAD_MS);
	assert_int_equal(to->second[5].n, 0);
	assert_int_equal(to->n_arrivals, 101);
	assert_int_equal(to->n_no_room, 10);
	assert_int_equal(to->n_waiting, 7);
	assert_int_equal(to->n_cut, 2);
	assert_int_equal(to->n_outlasting, 6);
	assert_int_equal(to->outlasting_max_ns, 70);
	assert_int_equal(to->n_open, 18);
	assert_int_equal(to->n_lost, 3);
	assert_int_equal(to->late_n, 4);
	assert_int_equal(to->late_max_ns, 50);
	assert_int_equal(to->cpu_ns, 4500 * LOAD_MS);
	assert_int_equal(to->cpu_max_ns, 3000 * LOAD_MS); /* of one thread */
	assert_int_equal(to->done_ns, b->done_ns);
	assert_string_equal(to->why, "first");
	assert_string_equal(to->first_failure, "failure");
	run_load_free(to);
	run_load_free(a);
	run_load_free(b);
	run_load_free(NULL);
}

/* One ran 60 % of the time, another waited for a CPU half of it: each could have done more. */
static void a_generator_is_used_up_if_one_thread_is(void **state)
{
	(void)state;
	for (int whole = 0; whole < 2; whole++) {
		struct run_load *to = run_load_new(1, 1, 1), *ran = run_load_new(1, 1, 1);
		struct run_load *waited = run_load_new(1, 1, 1), *all = run_load_new(1, 1, 1);

		assert_true(to && ran && waited && all);
		to->done_ns = all->done_ns = 1000;
		ran->cpu_ns = 600;
		ran->runq_ns = 20;
		waited->cpu_ns = whole ? 450 : 90;
		waited->runq_ns = 500;
		run_load_add(to, ran);
		run_load_add(to, waited);
		assert_int_equal(to->cpu_max_ns, whole ? 450 : 600);
		assert_int_equal(to->runq_max_ns, whole ? 500 : 20);
		run_load_merge(all, to); /* of several processes */
		assert_int_equal(all->cpu_max_ns + all->runq_max_ns, whole ? 950 : 620);
		assert_int_equal(run_load_saturated(to), whole);
		assert_int_equal(run_load_saturated(all), whole);
		run_load_free(to);
		run_load_free(ran);
		run_load_free(waited);
		run_load_free(all);
	}
}

/* Seconds 2 to 5 of 10 are without an action, and one that ends then took max_ns; of 1,000 actions
 * n took as long. */
static uint64_t silence_of(uint64_t max_ns, unsigned int n, uint64_t *from_ns)
{
	struct run_load *l = run_load_new(3, 1, 10);
	struct run_silence s;
	bool any;

	assert_non_null(l);
	l->action[0].n = 1000;
	for (unsigned int i = 0; i < 1000; i++)
		hist_add(&l->action[0].planned, i < n ? max_ns : S / 1000);
	l->seconds_each = 1;
	l->begin_ns = 7 * S;
	l->measure_ns = 8 * S;
	l->end_ns = 17 * S;
	for (unsigned int i = 0; i < 10; i++)
		l->second[i].n = i < 2 || i > 5;
	l->second[6].max_ns = max_ns;
	l->client[1].max_ns = max_ns;
	l->client[2].max_ns = S / 1000;
	any = run_load_silence(l, &s);
	run_load_free(l);
	if (!any)
		return 0;
	*from_ns = s.from_ns;
	assert_int_equal(s.n_clients, 1);
	return s.ns;
}

static uint64_t silence(uint64_t max_ns, uint64_t *from_ns)
{
	return silence_of(max_ns, 1, from_ns);
}

static void a_time_without_an_answer_is_one_in_which_somebody_waited(void **state)
{
	struct run_load *l = run_load_new(4, 1, 10);
	struct run_silence out;
	uint64_t from_ns = 0;

	(void)state;
	assert_int_equal(silence(4 * S + S / 2, &from_ns), 4 * S);
	assert_int_equal(from_ns, 2 * S);
	/* It began in that time: nobody waited before. */
	assert_int_equal(silence(4 * S - 1, &from_ns), 0);
	/* All take so long: the latencies show it. */
	assert_int_equal(silence_of(4 * S + S / 2, 100, &from_ns), 0);
	/* One of a thousand does. */
	assert_int_equal(silence_of(4 * S + S / 2, 1, &from_ns), 4 * S);
	/* Until the end: what outlasts the measured time was waited for. */
	assert_non_null(l);
	l->seconds_each = 1;
	l->end_ns = 5 * S;
	l->second[0].n = l->second[1].n = 1;
	assert_false(run_load_silence(l, &out));
	l->outlasting_max_ns = l->client[0].outlasting_ns = l->client[3].outlasting_ns = 3 * S;
	l->client[2].outlasting_ns = 3 * S - 1;
	assert_true(run_load_silence(l, &out));
	assert_int_equal(out.from_ns, 2 * S);
	assert_int_equal(out.ns, 3 * S);
	assert_int_equal(out.n_clients, 2);
	/* The ramp is not measured. */
	l->measure_ns = 4 * S;
	assert_false(run_load_silence(l, &out));
	run_load_free(l);
}

static void all_actions_are_the_sum_of_the_kinds(void **state)
{
	struct run_load *l = load_of_clients();
	struct run_action all;

	(void)state;
	run_load_all(l, &all);
	assert_int_equal(all.n, 2400);
	assert_int_equal(all.failed, 30);
	assert_int_equal(all.begun.n, 2370);
	assert_int_equal(all.begun.sum, l->action[0].begun.sum + l->action[1].begun.sum);
	run_load_free(l);
}

static void fairness_is_jain_s_index_of_the_clients_with_a_session(void **state)
{
	struct run_load *l = load_of_clients();
	const double squares = 300.0 * 300 + 180.0 * 180 + 7 * 240.0 * 240;

	(void)state;
	assert_true(fabs(run_load_fairness(l) - 2160.0 * 2160 / (9 * squares)) < 1e-12);
	for (unsigned int i = 0; i < 10; i++)
		l->client[i].actions = i == 3 ? 7 : 0;
	assert_true(fabs(run_load_fairness(l) - 1.0 / 9) < 1e-12);
	l->client[3].actions = 0;
	assert_true(run_load_fairness(l) == 1);
	run_load_free(l);
}

/* Against the sorted latencies, to within half a bucket. */
static void a_second_s_quantile_is_that_of_its_latencies(void **state)
{
	struct run_second s = { 0 };
	uint64_t v, rank;

	(void)state;
	assert_int_equal(run_second_quantile(&s, 0.5), 0);
	s.n = s.failed = 3;
	assert_int_equal(run_second_quantile(&s, 0.5), 0);
	for (uint64_t i = 1; i <= 1000; i++) {
		s.n++;
		s.bucket[hist_index(i * i, RUN_SECOND_BITS)]++;
		s.max_ns = i * i;
	}
	for (double q = 0; q <= 1; q += 0.01) {
		rank = (uint64_t)ceil(q * 1000);
		rank = rank ? rank : 1;
		v = run_second_quantile(&s, q);
		assert_true(fabs((double)v - (double)(rank * rank)) <=
			    (double)(rank * rank) / 16 + 1);
	}
	assert_true(run_second_quantile(&s, 1) <= s.max_ns);
}

static void a_ledger_s_totals_become_metrics(void **state)
{
	struct run *r = *state;
	struct run_phase *p = r->phase[4];
	const uint64_t syscr = p->value[METRIC_AFPD_SYSCR];

	assert_true(p->known[METRIC_AFPD_SYSCR] && p->known[METRIC_AFPD_CALLS]);
	assert_int_equal(syscr, 4000);
	/* calls, but not the time of waits for the client */
	assert_int_equal(p->value[METRIC_AFPD_CALL_TIME],
			 ledger_sum(&p->ledger, AFS_ROLE_SERVER, AFS_N_CLASSES, AFS_N_OBJECTS).ns -
			     4000ull * 21000);
	p->ledger.has_compat[AFS_ROLE_SERVER] = false;
	p->ledger.has_calls = false;
	run_phase_from_ledger(p);
	assert_false(p->known[METRIC_AFPD_SYSCR] || p->known[METRIC_AFPD_CALLS]);
	assert_true(p->known[METRIC_CNID_SYSCR]);
	assert_false(p->known[METRIC_CNID_CALLS]);
}

static void a_whole_server_s_time_is_the_sum_of_its_ledger(void **state)
{
	struct run *r = *state;
	struct run_phase *p = r->phase[4];
	struct afs_part sum = ledger_part_sum(&p->ledger, AFS_ROLE_SERVER, LEDGER_ALL, LEDGER_ALL,
					      LEDGER_ALL);

	run_phase_times(r, p);
	assert_true(sum.cpu_ns > 0);
	assert_int_equal(p->value[METRIC_AFPD_CPU], sum.cpu_ns);
	assert_int_equal(p->value[METRIC_AFPD_RUNQ], sum.runq_ns);
	assert_null(run_note_find(&r->absent, "afpd_cpu"));
	p->ledger.has_requests = false;
	run_phase_times(r, p);
	assert_non_null(run_note_find(&r->absent, "afpd_cpu"));
	assert_non_null(run_note_find(&r->absent, "cnid_runq"));
}

static void a_role_s_metrics_are_absent_for_the_first_reason(void **state)
{
	struct run *r = *state;

	assert_int_equal(run_absent(r, AFS_ROLE_BACKEND, "", "no backend"), 0);
	assert_int_equal(run_absent(r, AFS_N_ROLES, "_call", "no calls"), 0);
	assert_string_equal(run_note_find(&r->absent, "cnid_cpu"), "no backend");
	assert_string_equal(run_note_find(&r->absent, "cnid_calls"), "no backend");
	assert_string_equal(run_note_find(&r->absent, "afpd_call_time"), "no calls");
	assert_null(run_note_find(&r->absent, "afpd_cpu"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_two_threads_did_is_added),
		cmocka_unit_test(a_generator_is_used_up_if_one_thread_is),
		cmocka_unit_test(a_time_without_an_answer_is_one_in_which_somebody_waited),
		cmocka_unit_test(all_actions_are_the_sum_of_the_kinds),
		cmocka_unit_test(fairness_is_jain_s_index_of_the_clients_with_a_session),
		cmocka_unit_test(a_second_s_quantile_is_that_of_its_latencies),
		cmocka_unit_test_setup_teardown(a_ledger_s_totals_become_metrics, setup, teardown),
		cmocka_unit_test_setup_teardown(a_whole_server_s_time_is_the_sum_of_its_ledger,
						setup, teardown),
		cmocka_unit_test_setup_teardown(a_role_s_metrics_are_absent_for_the_first_reason,
						setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
