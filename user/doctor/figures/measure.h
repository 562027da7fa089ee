/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DOCTOR_MEASURE_H
#define DOCTOR_MEASURE_H

/* The figures of a diagnosis (run/figures.h), as far as a run's ledger and sessions have them. */

#include "run/run.h"

/*
 * Adds to out. Of a run in which the server's requests were counted; from another one only what
 * does not depend on them. 0 or -ENOMEM.
 */
int doctor_measure(struct run_figures *out, const struct run *r);

struct requests;

/*
 * What says something of several commands together is what they cost, and the quantiles of one:
 * sets MOSTLY, and MOSTLY_P50 and MOSTLY_P99 where times were counted, of all that skip lets (NULL:
 * all).
 */
void doctor_mostly(struct run_figures *out, const struct run *r, const struct requests *all,
		   bool (*skip)(const void *user, unsigned int account), const void *user);

#endif
