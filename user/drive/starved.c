/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clients that waited so long that no figure has it. */
#include "drive/starved.h"

/* Whether client i had time for an action as long as the longest: who is wanted late may be in the
 * middle of one at the end, as others are. An action goes on when its client is wanted no more. */
static bool starved_had_time(const struct run_load *l, const struct rate *crowd, unsigned int i,
			     double longest_s)
{
	double from_s = crowd ? rate_reaches(crowd, i + 1, 0) : 0;
	double measured_s = (double)(l->end_ns - l->measure_ns) / 1e9;

	return from_s <= 0 || measured_s - from_s > longest_s;
}

unsigned int starved_clients(const struct run_load *l, const struct rate *crowd)
{
	struct run_action all;
	unsigned int n = 0;

	run_load_all(l, &all);
	for (unsigned int i = 0; i < l->n_clients; i++)
		n += l->client[i].opened && !l->client[i].lost && !l->client[i].actions &&
		     starved_had_time(l, crowd, i, (double)all.planned.max / 1e9);
	return n;
}
