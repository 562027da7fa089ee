/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DOCTOR_VERDICT_H
#define DOCTOR_VERDICT_H

/*
 * What limits a transfer, as text with the figures that show it; docs/counting.md describes how
 * it is decided. A pure function of the run.
 */

#include "doctor/rules/rules_transfer.h"
#include "run/run.h"

extern const struct verdict_kind_def {
	const char *key, *words;
} verdict_kinds[VERDICT_N_KINDS];

extern const struct verdict_figure_def {
	const char *key, *meaning;
} verdict_figures[VERDICT_N_FIGURES];

struct verdict {
	enum verdict_kind kind;
	bool known[VERDICT_N_FIGURES];
	double figure[VERDICT_N_FIGURES];
	bool seen;      /* something of the server was observed: it is on this machine */
	bool here;      /* client and server share this machine */
	bool unsteady;  /* the iterations differ by more than VERDICT_CV */
	char text[640]; /* the figures behind the verdict, or what is missing; no full stop */
};

/* Whether the figure NULL_PEER is known and may be used. */
bool verdict_has_null(const struct verdict *v);

struct stats;

/* The figures of a phase with at least one iteration that counts, and seen, here, unsteady. */
void verdict_measure(struct verdict *v, const struct run *r, const struct run_phase *p,
		     const struct stats *s);

/* The verdict of one transfer. 0 or -ENOMEM. */
int verdict_of(struct verdict *out, const struct run *r, const struct run_phase *p);

/*
 * The verdict of all transfers: the kind with most of the time; the text has every kind's share. No
 * figures. 0 or -ENOMEM.
 */
int verdict_of_run(struct verdict *out, const struct run *r);

#endif
