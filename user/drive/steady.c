/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drive/steady.h"

#include <math.h>

#define NS_PER_S 1000000000u

void steady_begin(struct steady *s, uint64_t from_ns, uint64_t most_ns)
{
	*s = (struct steady) { .from_ns = from_ns, .next_ns = from_ns };
	s->until_ns = most_ns ? from_ns + most_ns : 0;
}

/*
 * Fits the line of least squares; true: it is flat, as far as can be told. A rate that jumps about
 * a constant has a slope, too, but none that is larger than its standard error. Nothing done at all
 * is steady.
 */
static bool is_flat(struct steady *s)
{
	double mean = 0, up = 0, down = 0, rest = 0, error, x, y;

	for (unsigned int i = 0; i < STEADY_SECONDS; i++)
		mean += s->rate[i] / STEADY_SECONDS;
	for (unsigned int i = 0; i < STEADY_SECONDS; i++) {
		x = i - (STEADY_SECONDS - 1) / 2.0;
		y = s->rate[(s->n + i) % STEADY_SECONDS] - mean;
		up += x * y;
		down += x * x;
		rest += y * y;
	}
	s->change = mean > 0 ? up / down * STEADY_SECONDS / mean : 0;
	rest = fmax(rest - up * up / down, 0);
	error = mean > 0 ? sqrt(rest / (STEADY_SECONDS - 2) / down) * STEADY_SECONDS / mean : 0;
	return fabs(s->change) <= fmax(STEADY_CHANGE, error);
}

bool steady_tick(struct steady *s, uint64_t now_ns, uint64_t done)
{
	if (s->found_ns || now_ns < s->next_ns || now_ns >= s->until_ns)
		return false;
	if (s->next_ns > s->from_ns) {
		/* a look that came late is over a longer second */
		s->rate[s->n++ % STEADY_SECONDS] = (double)(done - s->before) /
						   ((double)(now_ns - s->next_ns + NS_PER_S) /
						    NS_PER_S);
	}
	s->before = done;
	s->next_ns = now_ns + NS_PER_S;
	if (s->n < STEADY_SECONDS)
		return false;
	if (!is_flat(s))
		return false;
	s->found_ns = now_ns;
	return true;
}
