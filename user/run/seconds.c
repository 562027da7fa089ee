/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A load second by second, and where it is long by rows of several. */
#include "run/load.h"

#include <math.h>
#include <string.h>

void run_second_add(struct run_second *to, const struct run_second *from)
{
	if (!from->n && !from->dropped) /* there may be a week of them, not to be touched */
		return;
	to->dropped += from->dropped;
	to->bytes += from->bytes;
	to->n += from->n;
	to->failed += from->failed;
	to->sum_ns += from->sum_ns;
	to->astray += from->astray;
	to->astray_ns += from->astray_ns;
	if (from->max_ns > to->max_ns)
		to->max_ns = from->max_ns;
	for (size_t i = 0; i < HIST_BUCKETS(RUN_SECOND_BITS); i++)
		to->bucket[i] += from->bucket[i];
}

/* Rows of twice as many seconds. */
static void seconds_widen(struct run_load *l)
{
	const size_t n = (l->n_seconds + 1) / 2;

	for (size_t i = 0; i < n; i++) {
		if (i)
			l->second[i] = l->second[2 * i];
		if (2 * i + 1 < l->n_seconds)
			run_second_add(&l->second[i], &l->second[2 * i + 1]);
	}
	memset(&l->second[n], 0, (l->n_seconds - n) * sizeof(*l->second));
	l->seconds_each *= 2;
}

struct run_second *run_load_second(struct run_load *l, uint64_t second)
{
	if (!l->n_seconds)
		return NULL;
	while (second / l->seconds_each >= l->n_seconds) {
		if (l->n_seconds < RUN_SECONDS_MAX) /* there are as many as it was to last */
			return &l->second[l->n_seconds - 1];
		seconds_widen(l);
	}
	return &l->second[second / l->seconds_each];
}

void run_seconds_merge(struct run_load *to, const struct run_load *from, uint64_t later_s)
{
	struct run_second *row;

	while (to->n_seconds && to->seconds_each < from->seconds_each)
		seconds_widen(to);
	for (size_t i = 0; i < from->n_seconds && to->n_seconds; i++) {
		if (!from->second[i].n && !from->second[i].dropped)
			continue;
		row = run_load_second(to, later_s + i * from->seconds_each);
		run_second_add(row, &from->second[i]);
	}
}

uint64_t run_second_quantile(const struct run_second *s, double q)
{
	uint64_t good = s->n - s->failed, seen = 0, rank = (uint64_t)ceil(q * (double)good), middle;
	size_t i = 0;

	if (!good)
		return 0;
	for (rank = rank ? rank : 1; seen + s->bucket[i] < rank; i++)
		seen += s->bucket[i];
	middle = hist_low(i, RUN_SECOND_BITS) / 2 + hist_low(i + 1, RUN_SECOND_BITS) / 2;
	return middle < s->max_ns ? middle : s->max_ns;
}
