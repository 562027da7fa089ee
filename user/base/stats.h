/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_STATS_H
#define BASE_STATS_H

/*
 * Statistics of a few numbers that were measured one by one. The definitions are also in
 * docs/data-model.md and in the JSON.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stats {
	size_t n;
	double mean, median, min, max;
	double stddev;            /* divisor n - 1; 0 when n < 2 */
	double stddev_population; /* divisor n, as netatalk's afp_speedtest has it */
	double cv;                /* stddev / mean; 0 if the mean is 0 */
	double p95, p99;          /* linear interpolation between order statistics at (n - 1) q */
	/*
	 * Confidence interval of the median, free of any assumption on the distribution: the pair
	 * of order statistics that encloses the median with at least this probability (binomial).
	 * has_ci is false where even minimum and maximum do not reach 95 % (n < 6).
	 */
	bool has_ci;
	double ci_low, ci_high, ci_level; /* level: the actual one, at least 0.95 */
};

/* All 0 when n is 0. Sorts a copy; -ENOMEM leaves *out all 0. */
int stats_of(struct stats *out, const uint64_t *value, size_t n);

/* Sorted values, q from 0 to 1; linear interpolation as above. */
double stats_quantile(const uint64_t *sorted, size_t n, double q);

#endif
