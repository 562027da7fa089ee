/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RUN_BOUND_H
#define RUN_BOUND_H

/*
 * Latencies from the planned start, where of some actions only is known that they took at least so
 * long (undone of a struct run_load): they were dropped, waited at the end, or were cut off. What a
 * figure of a load would be if they had been done is known, or is at least some value.
 */

#include "run/load.h"

#define RUN_BOUND_MEAN 0.0
#define RUN_BOUND_MAX  1.0

struct run_bound {
	double ns;
	bool known;    /* there is a latency */
	bool at_least; /* it would be ns or more */
};

/*
 * The mean, the largest, or the value below or at which a share 0 < q < 1 lies. a: NULL for actions
 * of all kinds. Of one kind nobody knows which of those that were not begun would have been of it:
 * it is at least what it would be for the most favourable ones. A quantile that they could change
 * by less than the width of a bucket (1/64) is known.
 */
struct run_bound run_bound(const struct run_load *l, const struct run_action *a, double q);

#endif
