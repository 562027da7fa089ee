/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Log-linear histogram. Recording is a handful of instructions; nothing allocates. */
#include "base/hist.h"

uint64_t hist_low(size_t i, unsigned int bits)
{
	size_t group = i >> bits;

	if (!group)
		return i;
	return ((1ull << bits) + (i & ((1ull << bits) - 1))) << (group - 1);
}

/* The representative value of bucket i: its middle. */
static uint64_t hist_middle(size_t i)
{
	uint64_t low = hist_low(i, HIST_BITS);
	size_t group = i >> HIST_BITS;

	return group > 1 ? low + (1ull << (group - 2)) : low;
}

void hist_add(struct hist *h, uint64_t v)
{
	if (!h->n || v < h->min)
		h->min = v;
	if (v > h->max)
		h->max = v;
	h->n++;
	h->sum += v;
	h->bucket[hist_index(v, HIST_BITS)]++;
}

void hist_merge(struct hist *to, const struct hist *from)
{
	if (!from->n)
		return;
	if (!to->n || from->min < to->min)
		to->min = from->min;
	if (from->max > to->max)
		to->max = from->max;
	to->n += from->n;
	to->sum += from->sum;
	for (size_t i = 0; i < HIST_BUCKETS(HIST_BITS); i++)
		to->bucket[i] += from->bucket[i];
}

uint64_t hist_quantile(const struct hist *h, double q)
{
	double exact = q * (double)h->n;
	uint64_t rank = (uint64_t)exact, seen = 0, v;

	if (!h->n)
		return 0;
	if ((double)rank < exact || !rank)
		rank++;
	if (rank >= h->n)
		return h->max;
	if (rank == 1)
		return h->min;
	for (size_t i = 0; i < HIST_BUCKETS(HIST_BITS); i++) {
		seen += h->bucket[i];
		if (seen < rank)
			continue;
		v = hist_middle(i);
		if (v < h->min)
			return h->min;
		return v > h->max ? h->max : v;
	}
	return h->max;
}

double hist_mean(const struct hist *h)
{
	return h->n ? (double)h->sum / (double)h->n : 0;
}
