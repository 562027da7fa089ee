/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UNIT_RULES_RIG_H
#define UNIT_RULES_RIG_H

/* Figures at which the rules of the doctor hold or do not, and what is judged of them. */

#include "doctor/judge.h"
#include "kinds/kind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* A server at work with which nothing is wrong: every figure is known. */
static inline struct run_figures healthy(const struct run_kind *kind)
{
	static const struct {
		enum run_figure figure;
		double value;
	} much[] = {
		{ RUN_FIGURE_REQUESTS, 10000 },  { RUN_FIGURE_BUSY, 0.5 },
		{ RUN_FIGURE_P99, 2e6 },         { RUN_FIGURE_OWN, 1 },
		{ RUN_FIGURE_ROOM, 0.5 },        { RUN_FIGURE_ROOM_BYTES, 1e12 },
		{ RUN_FIGURE_ROOM_USED, 1e12 },  { RUN_FIGURE_ROOM_FILES, 1 },
		{ RUN_FIGURE_MEMORY_FREE, 0.8 }, { RUN_FIGURE_LINK_RATE, 1e9 },
		{ RUN_FIGURE_UPLOAD_RATE, 1e9 }, { RUN_FIGURE_CHATTY_BYTES, 1e6 },
	};
	struct run_figures f = { .kind = kind };

	for (size_t i = 0; i < N_RUN_FIGURES; i++)
		run_figure_set(&f, (enum run_figure)i, 0);
	for (size_t i = 0; i < sizeof(much) / sizeof(much[0]); i++)
		run_figure_set(&f, much[i].figure, much[i].value);
	return f;
}

static inline struct diagnosis judged(const struct run_figures *f)
{
	struct diagnosis d;

	assert_int_equal(doctor_judge(&d, f), 0);
	return d;
}

static const struct run_kind *const kinds[] = { &kind_afp.is, &kind_rx.is, &kind_gluster.is,
						&kind_smb.is };

/* Its conditions just hold, and its harm is just harm; people notice. */
static inline struct run_figures with(const struct run_kind *kind, const struct doctor_rule *r)
{
	struct run_figures f = healthy(kind);

	run_figure_set(&f, RUN_FIGURE_SLOW, 0.5);
	run_figure_set(&f, RUN_FIGURE_P99, 300e6);
	if (r->harm < N_RUN_FIGURES)
		run_figure_set(&f, r->harm, r->least);
	for (size_t i = 0; i < r->n_tests; i++) {
		const struct doctor_test *t = &r->test[i];

		if (t->most ? f.value[t->figure] > t->limit : f.value[t->figure] < t->limit)
			run_figure_set(&f, t->figure, t->limit);
	}
	return f;
}

static inline const struct doctor_finding *found(const struct diagnosis *d,
						 const struct doctor_rule *r)
{
	for (size_t i = 0; i < d->n_found; i++)
		if (d->found[i].rule == r)
			return &d->found[i];
	return NULL;
}

/* Calls fn for each rule, with the figures at which it just holds. */
static inline void each(void (*fn)(struct run_figures *f, const struct doctor_rule *r))
{
	const struct doctor_rule *r;

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		struct run_figures plain = healthy(kinds[k]), f;

		assert_true(doctor_rules_count(&plain) > 5);
		for (size_t i = 0; (r = doctor_rule_at(&plain, i)); i++) {
			f = with(kinds[k], r);
			fn(&f, r);
		}
	}
}

static inline bool is_tested(const struct doctor_rule *r, enum run_figure which)
{
	for (size_t k = 0; k < r->n_tests; k++)
		if (r->test[k].figure == which)
			return true;
	return false;
}

#endif
