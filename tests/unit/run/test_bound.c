/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Figures of latencies of which some are only known to be at least so long. */
#include "run/bound.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h> /* needs the headers above */

#define MS 1000000ull

/* A load of two kinds: the first has n latencies of 1 ms, 2 ms, ...; the other none yet. */
static struct run_load *load_of(unsigned int n)
{
	struct run_load *l = run_load_new(0, 2, 0);

	for (unsigned int i = 1; i <= n; i++) {
		hist_add(&l->action[0].planned, i * MS);
		l->action[0].n++;
	}
	l->n_arrivals = n;
	return l;
}

static void undone(struct run_load *l, unsigned int n, uint64_t ns)
{
	for (; n; n--) {
		hist_add(&l->undone, ns);
		l->n_waiting++;
		l->n_arrivals++;
	}
}

static bool is(struct run_bound b, double ms, bool at_least)
{
	return b.known && b.at_least == at_least && fabs(b.ns / 1e6 - ms) <= ms / 60;
}

static void without_such_actions_all_is_known(void **state)
{
	struct run_load *l = load_of(1000);

	(void)state;
	assert_true(is(run_bound(l, NULL, 0.5), 500, false));
	assert_true(is(run_bound(l, NULL, 0.99), 990, false));
	assert_true(is(run_bound(l, NULL, RUN_BOUND_MAX), 1000, false));
	assert_true(is(run_bound(l, NULL, RUN_BOUND_MEAN), 500.5, false));
	assert_false(run_bound(l, &l->action[1], 0.5).known);
	run_load_free(l);
}

/* 1,000 that have waited 10 s are the upper half, and what is there in it is at least that. */
static void what_they_reach_is_at_least_as_long_as_they_have_waited(void **state)
{
	struct run_load *l = load_of(1000);

	(void)state;
	undone(l, 1000, 10000 * MS);
	assert_true(is(run_bound(l, NULL, 0.25), 500, false));
	assert_true(is(run_bound(l, NULL, 0.5), 1000, false));
	assert_true(is(run_bound(l, NULL, 0.51), 10000, true));
	assert_true(is(run_bound(l, NULL, RUN_BOUND_MAX), 10000, true));
	assert_true(is(run_bound(l, NULL, RUN_BOUND_MEAN), 5250.25, true));
	run_load_free(l);
}

/* They have just come: they may be the fastest or the slowest of all. */
static void few_that_have_just_come_leave_the_middle_known(void **state)
{
	struct run_load *l = load_of(1000);

	(void)state;
	undone(l, 5, 0);
	assert_true(is(run_bound(l, NULL, 0.5), 500, false));
	assert_true(is(run_bound(l, NULL, 0.99), 990, false));
	assert_true(run_bound(l, NULL, 0.999).at_least);
	assert_true(is(run_bound(l, NULL, RUN_BOUND_MAX), 1000, true));
	run_load_free(l);
}

static void a_figure_never_exceeds_what_it_turns_out_to_be(void **state)
{
	static const double q[] = { 0.1, 0.5, 0.9, 0.99, 0.999, RUN_BOUND_MEAN, RUN_BOUND_MAX };
	unsigned short random[3] = { 1, 2, 3 };

	(void)state;
	for (int run = 0; run < 60; run++) {
		struct run_load *l = load_of(0), *true_one = load_of(0);
		double share = erand48(random);

		for (int i = 0; i < 2000; i++) {
			uint64_t ns = (uint64_t)(-log(1 - erand48(random)) * 20e6);
			uint64_t kind = erand48(random) < 0.3;
			struct run_action *a = &true_one->action[kind];

			a->n++;
			hist_add(&a->planned, ns);
			if (erand48(random) * 40e6 < (double)ns && erand48(random) < share) {
				undone(l, 1, (uint64_t)(erand48(random) * (double)ns));
				continue;
			}
			l->n_arrivals++;
			l->action[kind].n++;
			hist_add(&l->action[kind].planned, ns);
		}
		for (size_t k = 0; k < sizeof(q) / sizeof(q[0]); k++)
			for (int kind = -1; kind < 2; kind++) {
				struct run_bound b = run_bound(
				    l, kind < 0 ? NULL : &l->action[kind], q[k]);
				struct run_bound t = run_bound(
				    true_one, kind < 0 ? NULL : &true_one->action[kind], q[k]);

				if (b.at_least)
					assert_true(b.ns <= t.ns * 1.02);
				else
					assert_true(fabs(b.ns - t.ns) <= t.ns * 0.04);
			}
		run_load_free(l);
		run_load_free(true_one);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_such_actions_all_is_known),
		cmocka_unit_test(what_they_reach_is_at_least_as_long_as_they_have_waited),
		cmocka_unit_test(few_that_have_just_come_leave_the_middle_known),
		cmocka_unit_test(a_figure_never_exceeds_what_it_turns_out_to_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
