/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TESTS_UNIT_TWO_LOOKS_H
#define TESTS_UNIT_TWO_LOOKS_H

/* Two invented looks at a machine, 10 s apart, and the figures between them. */

#include "doctor/machine/machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define LOOKS_S 10

struct two_looks {
	struct machine before, after;
	struct doctor_machine m;
	struct run_figures figures;
};

static inline int looks_begin(void **state)
{
	struct two_looks *l = calloc(1, sizeof(*l));

	if (!l)
		return -1;
	l->before.t_ns = 1000000000;
	l->after.t_ns = l->before.t_ns + LOOKS_S * 1000000000ull;
	l->m = (struct doctor_machine) { .before = &l->before, .after = &l->after };
	*state = l;
	return 0;
}

static inline int looks_end(void **state)
{
	free(*state);
	return 0;
}

static inline const struct run_figures *looks_between(struct two_looks *l)
{
	memset(&l->figures, 0, sizeof(l->figures));
	assert_int_equal(doctor_machine(&l->figures, &l->m), 0);
	return &l->figures;
}

static inline void figure_is(const struct run_figures *f, enum run_figure which, double value,
			     const char *who)
{
	double is = f->value[which], apart = is > value ? is - value : value - is;

	if (!f->known[which] || apart > 1e-6 * (value < 0 ? -value : value) + 1e-9 ||
	    (who && strcmp(f->who[which], who) != 0))
		fail_msg("%s: known %d, %g, \"%s\"", run_figures[which].key, f->known[which], is,
			 f->who[which]);
}

static inline void figure_unknown(const struct run_figures *f, enum run_figure which,
				  const char *why)
{
	if (f->known[which] || (why && strcmp(f->who[which], why) != 0))
		fail_msg("%s: known %d, %g, \"%s\"", run_figures[which].key, f->known[which],
			 f->value[which], f->who[which]);
}

#endif
