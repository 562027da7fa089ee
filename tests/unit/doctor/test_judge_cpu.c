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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_this_program_uses_is_no_shortage_of_the_server),
		cmocka_unit_test(stolen_time_is_no_shortage_of_cpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
