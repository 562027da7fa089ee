/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests user/doctor/judge.c, say.c: of what the doctor is sure, and why not of the rest. */
#include "doctor/say.h"
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
		if (sure)
			continue; /* No surer is possible. */
		less = all;
		less.known[one] = false;
		d = judged(&less);
		is = found(&d, r);
		assert_true(!is || !is->sure);
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

/* As a server of CNIDs that is busy with files that are not in its database, by any share of it. */
static void is_sure_besides_its_reasons(struct run_figures *f, const struct doctor_rule *r)
{
	if (r->n_reasons)
		for (size_t i = 0; i < r->n_tests; i++)
			run_figure_set(f, r->test[i].figure,
				       r->test[i].most ? 0 : r->test[i].limit * 10);
	for (size_t i = 0; i < r->n_reasons; i++) {
		run_figure_set(f, r->harm, 1);
		for (int percent = 0; percent <= 100; percent += 10) {
			const struct doctor_finding *is;
			struct diagnosis d;

			run_figure_set(f, r->reason[i], percent / 100.0);
			d = judged(f);
			is = found(&d, r);
			assert_true(!is || is->sure == (percent <= 50) ||
				    is->doubt == DOCTOR_DOUBT_OTHER);
			assert_true(is || is_tested(r, r->reason[i]));
			diagnosis_fini(&d);
		}
		run_figure_set(f, r->reason[i], 0);
	}
}

static void what_another_cause_explains_is_not_explained_twice(void **state)
{
	(void)state;
	each(is_sure_besides_its_reasons);
}

/* Files that are not in the database keep its server busy: whose time it is, is one of the two. */
static void a_busy_cnid_server_is_not_sure_beside_what_keeps_it_busy(void **state)
{
	static const enum run_figure busy_with[] = { RUN_FIGURE_BEHIND, RUN_FIGURE_ASKED_TIME,
						     RUN_FIGURE_LIST };

	(void)state;
	for (size_t i = 0; i < sizeof(busy_with) / sizeof(busy_with[0]); i++) {
		struct run_figures f = healthy(&kind_afp.is);
		struct diagnosis d;
		bool other = false;

		run_figure_set(&f, RUN_FIGURE_P99, 300e6);
		run_figure_set(&f, RUN_FIGURE_CNID_CPU, 0.9);
		run_figure_set(&f, RUN_FIGURE_CNID_WRITES, 1000);
		run_figure_set(&f, RUN_FIGURE_ASKED, 50000);
		run_figure_set(&f, RUN_FIGURE_ASKED_AGAIN, 0.9);
		run_figure_set(&f, RUN_FIGURE_LIST_REQUESTS, 100);
		run_figure_set(&f, RUN_FIGURE_LIST_TIME, 400e6);
		run_figure_set(&f, busy_with[i], 0.8);
		d = judged(&f);
		for (size_t k = 0; k < d.n_found; k++) {
			bool is_cnid = !strcmp(d.found[k].rule->key, "cnid-slow");

			other |= !is_cnid;
			assert_int_equal(d.found[k].sure, !is_cnid);
		}
		assert_true(other);
		diagnosis_fini(&d);
	}
}

/* Fragments of which the host has too few may be another program's: calls that wait come first. */
static void what_the_host_loses_is_no_failure_of_the_server(void **state)
{
	struct run_figures f = healthy(&kind_rx.is);
	struct diagnosis d;

	(void)state;
	run_figure_set(&f, RUN_FIGURE_REASSEMBLY, 50);
	d = judged(&f);
	assert_int_equal(d.n_found, 0);
	assert_true(d.n_notes == 1 && !strcmp(d.note[0]->key, "fragments"));
	diagnosis_fini(&d);
	run_figure_set(&f, RUN_FIGURE_P99, 300e6);
	run_figure_set(&f, RUN_FIGURE_SHORT, 0.9);
	run_figure_set(&f, RUN_FIGURE_WAIT_THREAD, 0.9);
	d = judged(&f);
	assert_int_equal(d.n_found, 2);
	assert_string_equal(d.found[0].rule->key, "threads");
	assert_string_equal(d.found[1].rule->key, "fragments");
	assert_false(d.found[1].sure);
	diagnosis_fini(&d);
}

/* What else explains the same wait, and may be what keeps it long. */
static void a_wait_that_another_cause_explains_is_not_sure(void **state)
{
	static const struct {
		const char *key;
		enum run_figure reason;
		struct {
			enum run_figure figure;
			double value; /* far beyond the limit */
		} is[4];
	} of[] = {
		{ "cpu-limit",
		  RUN_FIGURE_OTHERS_WAIT,
		  { { RUN_FIGURE_THROTTLED, 0.9 },
		    { RUN_FIGURE_WAIT_CPU, 0.9 },
		    { RUN_FIGURE_QUOTA_WAIT, 0.9 } } },
		{ "slow-disk",
		  RUN_FIGURE_DEVICE_REBUILD,
		  { { RUN_FIGURE_DEVICE_BUSY, 0.95 },
		    { RUN_FIGURE_DEVICE_TIME, 30e6 },
		    { RUN_FIGURE_READ, 1e6 },
		    { RUN_FIGURE_WAIT_DISK, 0.7 } } },
		{ "slow-disk",
		  RUN_FIGURE_DEVICE_REBUILD,
		  { { RUN_FIGURE_DEVICE_BUSY, 0.95 },
		    { RUN_FIGURE_DEVICE_TIME, 30e6 },
		    { RUN_FIGURE_WAIT_DISK, 0.7 } } },
		{ "fsync",
		  RUN_FIGURE_DEVICE_REBUILD,
		  { { RUN_FIGURE_SYNC, 0.9 }, { RUN_FIGURE_SYNC_MEAN, 30e6 } } },
		{ "huge-folder",
		  RUN_FIGURE_WAIT_DISK,
		  { { RUN_FIGURE_LIST_REQUESTS, 100 },
		    { RUN_FIGURE_LIST_TIME, 900e6 },
		    { RUN_FIGURE_LIST, 0.9 } } },
	};

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(of) / sizeof(of[0]); i++) {
		struct run_figures f = healthy(&kind_afp.is);
		bool also = i % 2, there = false;
		struct diagnosis d;

		run_figure_set(&f, RUN_FIGURE_P99, 300e6);
		for (size_t k = 0; k < 4 && of[i / 2].is[k].value > 0; k++)
			run_figure_set(&f, of[i / 2].is[k].figure, of[i / 2].is[k].value);
		run_figure_set(&f, of[i / 2].reason, also ? 1 : 0);
		d = judged(&f);
		for (size_t k = 0; k < d.n_found; k++)
			if (!strcmp(d.found[k].rule->key, of[i / 2].key)) {
				there = true;
				assert_int_equal(d.found[k].sure, !also);
			}
		assert_true(there);
		diagnosis_fini(&d);
	}
}

/* A disk with long accesses, for which requests wait. */
static void disk_is_busy(struct run_figures *f)
{
	run_figure_set(f, RUN_FIGURE_P99, 300e6);
	run_figure_set(f, RUN_FIGURE_DEVICE_BUSY, 0.95);
	run_figure_set(f, RUN_FIGURE_DEVICE_TIME, 8e6);
	run_figure_set(f, RUN_FIGURE_READ, 100e6);
	run_figure_set(f, RUN_FIGURE_WAIT_DISK, 0.9);
}

/* Beside a cause that may explain as much of the same wait for disks none is sure. */
static void beside_another_cause_of_the_same_wait_none_is_sure(void **state)
{
	static const struct {
		const char *key;
		struct {
			enum run_figure figure;
			double value;
		} is[4];
		bool sure;
	} of[] = {
		{ "slow-disk", { { 0, 0 } }, true },
		{ "slow-disk",
		  { { RUN_FIGURE_MEMORY_HITS, 500 }, { RUN_FIGURE_MEMORY_REREAD, 90e6 } },
		  false },
		{ "slow-disk",
		  { { RUN_FIGURE_PRESSURE_MEMORY, 0.5 }, { RUN_FIGURE_MEMORY_FREE, 0.02 } },
		  false },
		{ "slow-disk", { { RUN_FIGURE_SCANNER, 1 }, { RUN_FIGURE_OPEN, 0.8 } }, false },
		/* It explains little of that. */
		{ "slow-disk", { { RUN_FIGURE_SCANNER, 1 }, { RUN_FIGURE_OPEN, 0.25 } }, true },
		{ "fsync", { { RUN_FIGURE_SYNC, 0.9 }, { RUN_FIGURE_SYNC_MEAN, 40e6 } }, true },
		{ "fsync",
		  { { RUN_FIGURE_SYNC, 0.9 },
		    { RUN_FIGURE_SYNC_MEAN, 40e6 },
		    { RUN_FIGURE_REMOTE_FS, 1 } },
		  false },
		/* Opening is no fsync. */
		{ "fsync",
		  { { RUN_FIGURE_SYNC, 0.9 },
		    { RUN_FIGURE_SYNC_MEAN, 40e6 },
		    { RUN_FIGURE_SCANNER, 1 },
		    { RUN_FIGURE_OPEN, 0.8 } },
		  true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		struct run_figures f = healthy(&kind_afp.is);
		const struct doctor_finding *is = NULL;
		struct diagnosis d;
		char text[80];

		disk_is_busy(&f);
		for (size_t k = 0; k < 4 && of[i].is[k].value > 0; k++)
			run_figure_set(&f, of[i].is[k].figure, of[i].is[k].value);
		d = judged(&f);
		for (size_t k = 0; k < d.n_found; k++)
			if (!strcmp(d.found[k].rule->key, of[i].key))
				is = &d.found[k];
		assert_non_null(is);
		if (is->sure != of[i].sure)
			fail_msg("case %zu: %s sure", i, is->sure ? "is" : "is not");
		if (!is->sure)
			assert_string_equal(doctor_say_doubt(text, sizeof(text), &f, is),
					    "another finding may explain the same time");
		diagnosis_fini(&d);
	}
}

/* Little of what was read had been in memory, or little of the time was waited for memory. */
static void how_much_of_a_wait_is_for_want_of_memory_is_not_sure(void **state)
{
	static const struct {
		const char *key;
		struct {
			enum run_figure figure;
			double value;
		} is[6];
	} of[] = {
		{ "memory-limit",
		  { { RUN_FIGURE_MEMORY_HITS, 100 },
		    { RUN_FIGURE_MEMORY_REREAD, 0.8e6 },
		    { RUN_FIGURE_READ, 100e6 },
		    { RUN_FIGURE_WAIT_DISK, 0.7 } } },
		{ "memory-limit",
		  { { RUN_FIGURE_MEMORY_HITS, 100 },
		    { RUN_FIGURE_MEMORY_REREAD, 90e6 },
		    { RUN_FIGURE_READ, 100e6 },
		    { RUN_FIGURE_SYNC, 0.1 },
		    { RUN_FIGURE_WAIT_DISK, 0.9 } } },
		{ "memory",
		  { { RUN_FIGURE_PRESSURE_MEMORY, 0.9 },
		    { RUN_FIGURE_MEMORY_STALL, 0.15 },
		    { RUN_FIGURE_MEMORY_ELSEWHERE, 0.06 },
		    { RUN_FIGURE_MEMORY_FREE, 0.01 },
		    { RUN_FIGURE_BUSY, 3 },
		    { RUN_FIGURE_WAIT_DISK, 0.9 } } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		struct run_figures f = healthy(&kind_afp.is);
		bool there = false;
		struct diagnosis d;

		run_figure_set(&f, RUN_FIGURE_P99, 300e6);
		for (size_t k = 0; k < 6 && of[i].is[k].value > 0; k++)
			run_figure_set(&f, of[i].is[k].figure, of[i].is[k].value);
		d = judged(&f);
		for (size_t k = 0; k < d.n_found; k++)
			if (!strcmp(d.found[k].rule->key, of[i].key)) {
				there = true;
				assert_false(d.found[k].sure);
			}
		assert_true(there);
		diagnosis_fini(&d);
	}
}

/* Each of these, with all else far beyond its limit, is why it is only likely. */
static void what_makes_a_finding_only_likely_is_said(void **state)
{
	static const struct {
		const char *says;
		enum run_figure figure;
		double value; /* below 0: not known */
		enum doctor_doubt doubt;
		bool about; /* that figure */
		bool bound; /* it is known as a lower bound */
	} of[] = {
		{ "", RUN_FIGURE_DEVICE_REBUILD, 0, DOCTOR_NO_DOUBT, false, false },
		{ "not all was counted", RUN_FIGURE_UNCOUNTED, 3, DOCTOR_DOUBT_LOSSES, false,
		  false },
		{ "uncounted is not known", RUN_FIGURE_UNCOUNTED, -1, DOCTOR_DOUBT_UNKNOWN, true,
		  false },
		{ "few requests were seen", RUN_FIGURE_REQUESTS, 100, DOCTOR_DOUBT_FEW, false,
		  false },
		{ "it explains less than half of the waiting", RUN_FIGURE_WAIT_DISK, 0.4,
		  DOCTOR_DOUBT_WEIGHT, false, false },
		{ "device_rebuild is not known", RUN_FIGURE_DEVICE_REBUILD, -1,
		  DOCTOR_DOUBT_UNKNOWN, true, false },
		{ "device_rebuild may explain part of the same time", RUN_FIGURE_DEVICE_REBUILD, 1,
		  DOCTOR_DOUBT_REASON, true, false },
		{ "device_others is not known", RUN_FIGURE_DEVICE_OTHERS, -1, DOCTOR_DOUBT_UNKNOWN,
		  true, false },
		{ "device_others may be larger than is known", RUN_FIGURE_DEVICE_OTHERS, 0.01,
		  DOCTOR_DOUBT_BOUND, true, true },
		{ "device_busy is close to the threshold of this rule", RUN_FIGURE_DEVICE_BUSY,
		  0.55, DOCTOR_DOUBT_LIMIT, true, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		struct run_figures f = healthy(&kind_afp.is);
		const struct doctor_finding *is = NULL;
		struct diagnosis d;
		char text[80];

		run_figure_set(&f, RUN_FIGURE_P99, 300e6);
		run_figure_set(&f, RUN_FIGURE_DEVICE_BUSY, 0.95);
		run_figure_set(&f, RUN_FIGURE_DEVICE_TIME, 30e6);
		run_figure_set(&f, RUN_FIGURE_READ, 1e6);
		run_figure_set(&f, RUN_FIGURE_WAIT_DISK, 0.9);
		run_figure_set(&f, of[i].figure, of[i].value);
		f.known[of[i].figure] = of[i].value >= 0;
		f.at_least[of[i].figure] = of[i].bound;
		d = judged(&f);
		for (size_t k = 0; k < d.n_found; k++)
			if (!strcmp(d.found[k].rule->key, "slow-disk"))
				is = &d.found[k];
		assert_non_null(is);
		assert_int_equal(is->doubt, of[i].doubt);
		assert_int_equal(is->sure, of[i].doubt == DOCTOR_NO_DOUBT);
		assert_int_equal(is->about, of[i].about ? of[i].figure : N_RUN_FIGURES);
		assert_string_equal(doctor_say_doubt(text, sizeof(text), &f, is), of[i].says);
		diagnosis_fini(&d);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_figure_that_is_missing_makes_nothing_surer),
		cmocka_unit_test(nothing_is_sure_that_explains_less_than_half),
		cmocka_unit_test(what_another_cause_explains_is_not_explained_twice),
		cmocka_unit_test(a_busy_cnid_server_is_not_sure_beside_what_keeps_it_busy),
		cmocka_unit_test(what_the_host_loses_is_no_failure_of_the_server),
		cmocka_unit_test(a_wait_that_another_cause_explains_is_not_sure),
		cmocka_unit_test(beside_another_cause_of_the_same_wait_none_is_sure),
		cmocka_unit_test(how_much_of_a_wait_is_for_want_of_memory_is_not_sure),
		cmocka_unit_test(what_makes_a_finding_only_likely_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
