/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests user/doctor/judge.c: of what the doctor is sure. */
#include "unit/rules_rig.h"

/* Far beyond all its limits, it is sure from half of the harm on, and never below. */
static void is_sure_by_its_share(struct run_figures *f, const struct doctor_rule *r)
{
	const struct doctor_finding *is;
	struct diagnosis d;

	if (r->kind == DOCTOR_NOTE || r->harm == N_RUN_FIGURES)
		return;
	for (size_t k = 0; k < r->n_tests; k++)
		run_figure_set(f, r->test[k].figure,
			       r->test[k].most ? r->test[k].limit / 10 : r->test[k].limit * 10);
	run_figure_set(f, r->harm, 0.49);
	d = judged(f);
	is = found(&d, r);
	assert_true(!is || !is->sure);
	diagnosis_fini(&d);
	run_figure_set(f, r->harm, 1);
	d = judged(f);
	is = found(&d, r);
	assert_true(!is || is->sure == (!r->whom && !r->unsure) || is_tested(r, r->harm));
	diagnosis_fini(&d);
	/* A figure that must be small, and is not known, may be large. */
	for (size_t k = 0; k < r->n_tests; k++) {
		f->known[r->test[k].figure] &= !r->test[k].most;
		d = judged(f);
		is = found(&d, r);
		assert_true(!is || !is->sure || !r->test[k].most);
		diagnosis_fini(&d);
		f->known[r->test[k].figure] = true;
	}
}

/*
 * Whatever is unknown may be as large as it likes: no figure's absence says more than its value.
 * (That a program has 32 bits is known only of one that has them.)
 */
static void is_no_surer_with_less(struct run_figures *f, const struct doctor_rule *r)
{
	static const double shares[] = { 0, 0.1, 0.6, 1 };
	const struct doctor_finding *is;
	struct diagnosis d;
	bool sure;

	for (size_t i = 0; i < r->n_tests; i++)
		run_figure_set(f, r->test[i].figure,
			       r->test[i].most ? r->test[i].limit / 10 : r->test[i].limit * 10);
	if (r->harm < N_RUN_FIGURES && !is_tested(r, r->harm))
		run_figure_set(f, r->harm, 1);
	for (size_t i = 0; i < 4 * N_RUN_FIGURES; i++) {
		struct run_figures all = *f, less;
		enum run_figure one = (enum run_figure)(i / 4);

		if (one == RUN_FIGURE_PROGRAM_32BIT)
			continue;
		if (!is_tested(r, one) && one != r->harm)
			run_figure_set(&all, one, shares[i % 4]);
		d = judged(&all);
		is = found(&d, r);
		sure = is && is->sure;
		diagnosis_fini(&d);
		less = all;
		less.known[one] = false;
		d = judged(&less);
		is = found(&d, r);
		assert_true(sure || !is || !is->sure);
		diagnosis_fini(&d);
	}
}

static void a_figure_that_is_missing_makes_nothing_surer(void **state)
{
	(void)state;
	each(is_no_surer_with_less);
}

static void nothing_is_sure_that_explains_less_than_half(void **state)
{
	(void)state;
	each(is_sure_by_its_share);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_figure_that_is_missing_makes_nothing_surer),
		cmocka_unit_test(nothing_is_sure_that_explains_less_than_half),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
