/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/bound.h"

#include <math.h>

static uint64_t bound_rank(double q, uint64_t n)
{
	uint64_t rank = (uint64_t)ceil(q * (double)n);

	return rank ? rank : 1;
}

/* The bucket of the value of a rank; HIST_BUCKETS: there are not so many. */
static size_t bound_bucket(const struct hist *h, uint64_t rank)
{
	uint64_t seen = 0;

	for (size_t i = 0; i < HIST_BUCKETS(HIST_BITS); i++) {
		seen += h->bucket[i];
		if (seen >= rank)
			return i;
	}
	return HIST_BUCKETS(HIST_BITS);
}

/* The same, at least, with all of undone, or with those that make it least. */
static size_t bound_least(const struct hist *done, const struct hist *undone, bool all, double q)
{
	uint64_t d = 0, u = 0;

	for (size_t i = 0; i < HIST_BUCKETS(HIST_BITS); i++) {
		d += done->bucket[i];
		u += undone->bucket[i];
		if (d + u >= bound_rank(q, done->n + (all ? undone->n : u)) && d + u)
			return i;
	}
	return HIST_BUCKETS(HIST_BITS) - 1;
}

/* In order, the smallest first, as long as they make it less. */
static double bound_mean(const struct hist *done, const struct hist *undone, bool all)
{
	double n = (double)done->n, sum = (double)done->sum, low, k;

	if (all)
		return (sum + (double)undone->sum) / (n + (double)undone->n);
	for (size_t i = 0; i < HIST_BUCKETS(HIST_BITS); i++) {
		low = (double)hist_low(i, HIST_BITS);
		k = (double)undone->bucket[i];
		if (!k || low * n >= sum)
			continue;
		sum += k * low;
		n += k;
	}
	return sum / n;
}

static struct run_bound bound_quantile(const struct run_load *l, const struct hist *done, bool all,
				       double q)
{
	size_t least = bound_least(done, &l->undone, all, q);
	size_t most = bound_bucket(done, bound_rank(q, done->n + l->undone.n));
	bool known = most < HIST_BUCKETS(HIST_BITS) && most <= least + 1;

	double low = (double)hist_low(least, HIST_BITS);
	double middle = (low + (double)hist_low(least + 1, HIST_BITS)) / 2;

	if (known)
		return (struct run_bound) { fmin(middle, (double)done->max), true, false };
	return (struct run_bound) { low, true, true };
}

struct run_bound run_bound(const struct run_load *l, const struct run_action *a, double q)
{
	const struct hist *undone = &l->undone;
	struct run_bound b = { .known = true, .at_least = undone->n };
	struct run_action every;

	if (!a)
		run_load_all(l, &every);
	const struct hist *done = a ? &a->planned : &every.planned;
	bool all = !a || a->n == l->n_arrivals - undone->n - l->n_held;

	if (!done->n && (!all || !undone->n))
		return (struct run_bound) { 0 };
	if (q == RUN_BOUND_MEAN)
		b.ns = bound_mean(done, undone, all);
	else if (q == RUN_BOUND_MAX)
		b.ns = (double)(all && undone->max > done->max ? undone->max : done->max);
	else if (!undone->n)
		b.ns = (double)hist_quantile(done, q);
	else
		b = bound_quantile(l, done, all, q);
	return b;
}
