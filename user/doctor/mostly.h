/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DOCTOR_MOSTLY_H
#define DOCTOR_MOSTLY_H

/*
 * How long requests took, in words that say something of several commands together: the mean, which
 * is what all of them cost, and the quantiles of one command.
 */

#include "run/figures.h"
#include "run/requests.h"
#include "run/run.h"

/* Sets MOSTLY, and MOSTLY_P50 and MOSTLY_P99 where times were counted, of those that skip lets. */
void doctor_mostly(struct run_figures *out, const struct run *r, const struct requests *all,
		   bool (*skip)(const void *user, unsigned int account), const void *user);

#endif
