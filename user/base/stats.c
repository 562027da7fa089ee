/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Statistics of a few numbers. For many: base/hist.h. */
#include "base/stats.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CI_LEVEL 0.95

static int base_stats_by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

double stats_quantile(const uint64_t *sorted, size_t n, double q)
{
	double at, rest;
	size_t i;

	if (!n)
		return 0;
	at = (double)(n - 1) * (q < 0 ? 0 : q > 1 ? 1 : q);
	i = (size_t)at;
	rest = at - (double)i;
	if (i + 1 >= n || rest <= 0)
		return (double)sorted[i];
	return (double)sorted[i] + rest * ((double)sorted[i + 1] - (double)sorted[i]);
}

/* The probability that of n values exactly k lie below the median: C(n, k) / 2^n. */
static double share_below(size_t n, size_t k)
{
	int sign;

	return exp(lgamma_r((double)n + 1, &sign) - lgamma_r((double)k + 1, &sign) -
		   lgamma_r((double)(n - k) + 1, &sign) - (double)n * M_LN2);
}

/*
 * The k-th smallest and the k-th largest value do not enclose the median if fewer than k values are
 * on one side of it; the probability is twice the lower tail of a binomial distribution. Takes the
 * largest k that still reaches the level.
 */
static void interval(struct stats *out, const uint64_t *sorted, size_t n)
{
	double tail = 0;

	for (size_t k = 1; k <= n / 2; k++) {
		tail += share_below(n, k - 1);
		if (1 - 2 * tail < CI_LEVEL)
			return;
		out->has_ci = true;
		out->ci_low = (double)sorted[k - 1];
		out->ci_high = (double)sorted[n - k];
		out->ci_level = 1 - 2 * tail;
	}
}

static void moments(struct stats *out, const uint64_t *value, size_t n)
{
	double sum = 0, squares = 0;

	for (size_t i = 0; i < n; i++)
		sum += (double)value[i];
	out->mean = sum / (double)n;
	for (size_t i = 0; i < n; i++) {
		double off = (double)value[i] - out->mean;

		squares += off * off;
	}
	out->stddev = n > 1 ? sqrt(squares / (double)(n - 1)) : 0;
	out->stddev_population = sqrt(squares / (double)n);
	out->cv = out->mean > 0 ? out->stddev / out->mean : 0;
}

int stats_of(struct stats *out, const uint64_t *value, size_t n)
{
	uint64_t *sorted;

	*out = (struct stats) { 0 };
	if (!n)
		return 0;
	sorted = reallocarray(NULL, n, sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, value, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), base_stats_by_value);
	out->n = n;
	moments(out, sorted, n);
	out->min = (double)sorted[0];
	out->max = (double)sorted[n - 1];
	out->median = stats_quantile(sorted, n, 0.5);
	out->p95 = stats_quantile(sorted, n, 0.95);
	out->p99 = stats_quantile(sorted, n, 0.99);
	interval(out, sorted, n);
	free(sorted);
	return 0;
}
