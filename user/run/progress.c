/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/progress.h"

#include <math.h>
#include <string.h>

/* Slots of twice the length. */
static void coarsen(struct run_progress *p)
{
	for (unsigned int i = 0; i < RUN_PROGRESS_SLOTS / 2; i++) {
		p->n[i] = p->n[2 * i] + p->n[2 * i + 1];
		p->bytes[i] = p->bytes[2 * i] + p->bytes[2 * i + 1];
	}
	memset(p->n + RUN_PROGRESS_SLOTS / 2, 0, sizeof(p->n) / 2);
	memset(p->bytes + RUN_PROGRESS_SLOTS / 2, 0, sizeof(p->bytes) / 2);
	p->shift++;
}

void run_progress_add(struct run_progress *p, uint64_t at_ns, uint64_t bytes)
{
	if (!p)
		return;
	while (at_ns >> p->shift >= RUN_PROGRESS_SLOTS)
		coarsen(p);
	p->n[at_ns >> p->shift]++;
	p->bytes[at_ns >> p->shift] += bytes;
}

void run_progress_merge(struct run_progress *to, const struct run_progress *from)
{
	unsigned int by;

	while (to->shift < from->shift)
		coarsen(to);
	by = to->shift - from->shift;
	for (unsigned int i = 0; i < RUN_PROGRESS_SLOTS; i++) {
		to->n[i >> by] += from->n[i];
		to->bytes[i >> by] += from->bytes[i];
	}
}

void run_progress_until(const struct run_progress *p, uint64_t at_ns, uint64_t *n, uint64_t *bytes)
{
	uint64_t at = at_ns >> p->shift;
	double over = ldexp((double)(at_ns - (at << p->shift)), -(int)p->shift);

	*n = *bytes = 0;
	for (uint64_t i = 0; i < at && i < RUN_PROGRESS_SLOTS; i++) {
		*n += p->n[i];
		*bytes += p->bytes[i];
	}
	if (at >= RUN_PROGRESS_SLOTS)
		return;
	*n += (uint64_t)llround((double)p->n[at] * over);
	*bytes += (uint64_t)llround((double)p->bytes[at] * over);
}
