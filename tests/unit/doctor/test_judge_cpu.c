/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who is blamed where a server waits for CPUs. Tests user/doctor/judge.c,
 * user/doctor/rules/rules_machine.c, rules_rx.c.
 */
#include "unit/rules_rig.h"

/* A server that people notice to be slow, with so much of its CPUs used. */
static struct run_figures slow_server(const struct run_kind *kind, double own_cpus)
{
	struct run_figures f = healthy(kind);

	run_figure_set(&f, RUN_FIGURE_SLOW, 0.5);
	run_figure_set(&f, RUN_FIGURE_P99, 300e6);
	run_figure_set(&f, RUN_FIGURE_OWN_CPUS, own_cpus);
	run_figure_set(&f, RUN_FIGURE_CPUS_USED, own_cpus);
	return f;
}

/* NULL: not found. */
static const struct doctor_finding *of_key(const struct diagnosis *d, const char *key)
{
	for (size_t i = 0; i < d->n_found; i++)
		if (!strcmp(d->found[i].rule->key, key))
			return &d->found[i];
	return NULL;
}

static bool is_ruled_out(const struct diagnosis *d, const char *key)
{
	for (size_t i = 0; i < d->n_out; i++)
		if (!strcmp(d->out[i]->key, key))
			return true;
	return false;
}

/* A load on the server's own machine takes as much of the CPUs as the server. */
static void what_this_program_uses_is_no_shortage_of_the_server(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		struct run_figures f = slow_server(kinds[k], 1);
		struct diagnosis d;

		run_figure_set(&f, RUN_FIGURE_SELF, 0.6);
		run_figure_set(&f, RUN_FIGURE_WAIT_CPU, 0.7);
		run_figure_set(&f, RUN_FIGURE_SELF_WAIT, 0.42);
		run_figure_set(&f, RUN_FIGURE_OWN_WAIT, 0.35);
		run_figure_set(&f, RUN_FIGURE_THREADS_WAIT, 0.8);
		d = judged(&f);
		assert_null(of_key(&d, "cpu-short"));
		assert_non_null(of_key(&d, "load-generator"));
		assert_false(of_key(&d, "load-generator")->sure);
		diagnosis_fini(&d);
		run_figure_set(&f, RUN_FIGURE_SELF, 0.05);
		run_figure_set(&f, RUN_FIGURE_SELF_WAIT, 0.03);
		run_figure_set(&f, RUN_FIGURE_OWN_WAIT, 0.6);
		d = judged(&f);
		assert_non_null(of_key(&d, "cpu-short"));
		assert_null(of_key(&d, "load-generator"));
		diagnosis_fini(&d);
	}
}

/* What the hypervisor takes is in the wait of a server's threads, too. */
static void stolen_time_is_no_shortage_of_cpus(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		struct run_figures f = slow_server(kinds[k], 1);
		struct diagnosis d;

		run_figure_set(&f, RUN_FIGURE_STEAL, 0.5);
		run_figure_set(&f, RUN_FIGURE_WAIT_CPU, 0.7);
		run_figure_set(&f, RUN_FIGURE_OWN_WAIT, 0.35);
		run_figure_set(&f, RUN_FIGURE_THREADS_WAIT, 0.8);
		d = judged(&f);
		assert_null(of_key(&d, "cpu-short"));
		diagnosis_fini(&d);
	}
}

/* Calls that wait for a disk, while threads that hardly work wait for a CPU most of that time. */
static void threads_that_hardly_work_are_not_what_calls_wait_for(void **state)
{
	struct run_figures f = slow_server(&kind_rx.is, 0.95);
	struct diagnosis d;

	(void)state;
	run_figure_set(&f, RUN_FIGURE_THREADS_WAIT, 0.78);
	run_figure_set(&f, RUN_FIGURE_OTHERS, 0.8);
	run_figure_set(&f, RUN_FIGURE_LISTENER, 0.05);
	run_figure_set(&f, RUN_FIGURE_WAIT_CPU, 0.003);
	run_figure_set(&f, RUN_FIGURE_OTHERS_WAIT, 0.002);
	run_figure_set(&f, RUN_FIGURE_FILE_SYSTEMS, 1);
	run_figure_set(&f, RUN_FIGURE_WAIT_DISK, 0.45);
	run_figure_set(&f, RUN_FIGURE_DEVICE_BUSY, 0.9);
	run_figure_set(&f, RUN_FIGURE_DEVICE_TIME, 9e6);
	d = judged(&f);
	assert_int_equal(d.n_found, 1);
	assert_string_equal(d.found[0].rule->key, "slow-disk");
	diagnosis_fini(&d);
}

/* A server that has 2 of 64 CPUs: the machine's are idle. */
static void the_cpus_of_a_server_are_those_that_it_may_use(void **state)
{
	struct run_figures f = slow_server(&kind_rx.is, 1);
	struct diagnosis d;

	(void)state;
	run_figure_set(&f, RUN_FIGURE_CPUS_USED, 0.03);
	run_figure_set(&f, RUN_FIGURE_THREADS_WAIT, 0.8);
	run_figure_set(&f, RUN_FIGURE_WAIT_CPU, 0.7);
	run_figure_set(&f, RUN_FIGURE_OTHERS, 0.6);
	run_figure_set(&f, RUN_FIGURE_OTHERS_WAIT, 0.42);
	d = judged(&f);
	assert_non_null(of_key(&d, "other-programs"));
	diagnosis_fini(&d);
	run_figure_set(&f, RUN_FIGURE_OTHERS, 0);
	run_figure_set(&f, RUN_FIGURE_OTHERS_WAIT, 0);
	run_figure_set(&f, RUN_FIGURE_OWN_WAIT, 0.7);
	d = judged(&f);
	assert_non_null(of_key(&d, "cpu-short"));
	diagnosis_fini(&d);
}

/* What all calls wait for is a disk; one thread has much to do meanwhile. */
static void a_busy_listener_is_not_sure_beside_a_disk(void **state)
{
	static const struct {
		enum run_figure figure;
		double value;
	} of[] = { { RUN_FIGURE_LISTENER, 0.99 }, { RUN_FIGURE_LISTENER_ASLEEP, 0.9 } };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct run_figures f = slow_server(&kind_rx.is, 0.5);
		struct diagnosis d;

		run_figure_set(&f, of[i / 2].figure, of[i / 2].value);
		run_figure_set(&f, RUN_FIGURE_WAIT_DISK, i % 2 ? 0.8 : 0.1);
		d = judged(&f);
		assert_int_equal(d.n_found, 1);
		assert_int_equal(d.found[0].sure, i % 2 == 0);
		diagnosis_fini(&d);
	}
}

/* Throttled in many periods, for a moment each: the wait is for who has the CPUs. */
static void a_mild_quota_takes_no_wait_from_others(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		struct run_figures f = slow_server(kinds[k], 1);
		struct diagnosis d;

		run_figure_set(&f, RUN_FIGURE_THROTTLED, 0.16);
		run_figure_set(&f, RUN_FIGURE_QUOTA_WAIT, 0.003);
		run_figure_set(&f, RUN_FIGURE_WAIT_CPU, 0.6);
		run_figure_set(&f, RUN_FIGURE_THREADS_WAIT, 0.6);
		run_figure_set(&f, RUN_FIGURE_OTHERS, 0.7);
		run_figure_set(&f, RUN_FIGURE_OTHERS_WAIT, 0.42);
		d = judged(&f);
		assert_null(of_key(&d, "cpu-limit"));
		assert_non_null(of_key(&d, "other-programs"));
		assert_false(is_ruled_out(&d, "other-programs"));
		diagnosis_fini(&d);
		run_figure_set(&f, RUN_FIGURE_OTHERS, 0);
		run_figure_set(&f, RUN_FIGURE_OTHERS_WAIT, 0);
		run_figure_set(&f, RUN_FIGURE_OWN_WAIT, 0.55);
		d = judged(&f);
		assert_null(of_key(&d, "cpu-limit"));
		assert_non_null(of_key(&d, "cpu-short"));
		diagnosis_fini(&d);
		/* One that binds comes first: more CPUs do not help before it is raised. */
		run_figure_set(&f, RUN_FIGURE_QUOTA_WAIT, 0.55);
		run_figure_set(&f, RUN_FIGURE_THROTTLED, 0.9);
		d = judged(&f);
		assert_non_null(of_key(&d, "cpu-limit"));
		assert_true(of_key(&d, "cpu-limit")->sure);
		assert_null(of_key(&d, "cpu-short"));
		diagnosis_fini(&d);
		/* What others explain, too, is not sure. */
		run_figure_set(&f, RUN_FIGURE_OTHERS_WAIT, 0.3);
		d = judged(&f);
		assert_false(of_key(&d, "cpu-limit")->sure);
		diagnosis_fini(&d);
	}
}

/* Whether a quota holds the server back is not known, or one that is not shown may do so, too: then
 * the wait may be for that. */
static void others_are_not_sure_where_a_quota_is_not_known(void **state)
{
	static const struct {
		const char *key;
		enum run_figure used, wait;
	} of[] = {
		{ "other-programs", RUN_FIGURE_OTHERS, RUN_FIGURE_OTHERS_WAIT },
		{ "kernel-threads", RUN_FIGURE_KERNEL_THREADS, RUN_FIGURE_KERNEL_WAIT },
	};

	(void)state;
	for (size_t i = 0; i < 3 * sizeof(of) / sizeof(of[0]); i++) {
		for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
			struct run_figures f = slow_server(kinds[k], 1);
			const struct doctor_finding *is;
			struct diagnosis d;

			if (i / 3 && kinds[k] == &kind_rx.is)
				continue;
			run_figure_set(&f, RUN_FIGURE_WAIT_CPU, 0.9);
			run_figure_set(&f, RUN_FIGURE_THREADS_WAIT, 0.9);
			run_figure_set(&f, of[i / 3].used, 0.9);
			run_figure_set(&f, of[i / 3].wait, 0.8);
			f.known[RUN_FIGURE_QUOTA_WAIT] = i % 3 != 0;
			f.at_least[RUN_FIGURE_QUOTA_WAIT] = i % 3 == 2;
			d = judged(&f);
			is = of_key(&d, of[i / 3].key);
			assert_non_null(is);
			assert_int_equal(is->sure, i % 3 == 1);
			diagnosis_fini(&d);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_this_program_uses_is_no_shortage_of_the_server),
		cmocka_unit_test(stolen_time_is_no_shortage_of_cpus),
		cmocka_unit_test(threads_that_hardly_work_are_not_what_calls_wait_for),
		cmocka_unit_test(the_cpus_of_a_server_are_those_that_it_may_use),
		cmocka_unit_test(a_busy_listener_is_not_sure_beside_a_disk),
		cmocka_unit_test(a_mild_quota_takes_no_wait_from_others),
		cmocka_unit_test(others_are_not_sure_where_a_quota_is_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
