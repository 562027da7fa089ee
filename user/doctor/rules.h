/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DOCTOR_RULES_H
#define DOCTOR_RULES_H

/*
 * What can be wrong with a server, as a table: conditions over figures, and what is said if they
 * hold. A new cause is a row.
 *
 * Texts may have figures in them: {wait_cpu} is its value with its unit, {wait_cpu.who} whom it is
 * about. A part in square brackets is left out if a figure in it is not known, or about nobody.
 */

#include "run/figures.h"

#include <stddef.h>

#define DOCTOR_TESTS    6
#define DOCTOR_EVIDENCE 6

/* A figure that is at least, or (most) at most, so large. */
struct doctor_test {
	enum run_figure figure;
	double limit;
	bool most;
};

enum doctor_kind {
	DOCTOR_FACT, /* it is wrong wherever it is seen */
	DOCTOR_WORK, /* each request costs more than it needs */
	DOCTOR_WAIT, /* normal under load: it is wrong only where people notice (judge.h) */
};

struct doctor_rule {
	const char *key;  /* for scripts: "other-programs" */
	const char *name; /* for lists: "other programs" */
	enum doctor_kind kind;
	bool whom; /* it says only who or where: after all that say why */
	size_t n_tests;
	struct doctor_test test[DOCTOR_TESTS]; /* all must hold */
	/* The share of what people waited for that it explains; N_RUN_FIGURES: all of it. */
	enum run_figure weight;
	size_t n_evidence;
	enum run_figure evidence[DOCTOR_EVIDENCE];
	const char *says, *todo, *disproof, *next;
};

/* Those of a kind of server. */
struct doctor_rules {
	const char *kind;
	size_t n;
	const struct doctor_rule *rule;
};

extern const struct doctor_rules doctor_rules_afp, doctor_rules_rx;

/* For the kind of server that the figures are of. */
const struct doctor_rules *doctor_rules_of(const struct run_figures *f);

#endif
