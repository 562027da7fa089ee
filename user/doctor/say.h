/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DOCTOR_SAY_H
#define DOCTOR_SAY_H

/* Texts with figures in them: those of a rule (doctor/rules/rules.h), and of a verdict. */

#include "doctor/judge.h"
#include "run/figures.h"

#include <stddef.h>

/*
 * "{key}" is a figure, "{key.who}" whom it is about, "{key.time}" a share of the request time as
 * that time, "{key.s}" an "s" unless there is one; or a name of the server (run_names), quoted
 * for a shell where it has to be, "{name.text}" never; "{server}" is what the kind calls a process
 * of the server. What is in brackets is left out if one of
 * these in it is not known; else such a figure is "n/a", such a name the word for it. Cut to fit.
 * Returns out.
 */
char *doctor_say(char *out, size_t len, const struct run_figures *f, const char *text);

/* What a note says: the rule's fact, or that what it says is not felt. As doctor_say. */
char *doctor_note(char *out, size_t len, const struct run_figures *f, const struct doctor_rule *r);

/* What is advised where it is found, each for doctor_say: of a state that is over something else.
 */
struct doctor_advice doctor_advice(const struct run_figures *f, const struct doctor_rule *r);

/* What a verdict says, as doctor_say; empty: its findings say it. */
char *doctor_verdict(char *out, size_t len, const struct run_figures *f, const struct diagnosis *d);

/* Why a finding is likely, and not sure, as part of a sentence; empty: it is sure. Returns out. */
char *doctor_say_doubt(char *out, size_t len, const struct run_figures *f,
		       const struct doctor_finding *found);

/* Whether a figure can be shown for a finding: the longest answer says nothing of a request that
 * has waited longer, without one. */
bool doctor_shows(const struct run_figures *f, enum run_figure which);

/* "58%", "12.3ms", "4.2/s", "n/a" */
char *doctor_value(char *out, size_t len, const struct run_figures *f, enum run_figure which);

#endif
