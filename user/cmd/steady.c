/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/steady.h"

#include <math.h>

#define NS_PER_S 1000000000u

void steady_begin(struct steady *s, uint64_t from_ns, uint64_t most_ns)
{
	*s = (struct steady) { .from_ns = from_ns, .next_ns = from_ns };
	s->until_ns = most_ns ? from_ns + most_ns : 0;
}

/* Of the line of least squares, relative to the mean. Nothing done at all is steady. */
static double change_of(const struct steady *s)
{
	double mean = 0, up = 0, down = 0, x;

	for (unsigned int i = 0; i < STEADY_SECONDS; i++)
		mean += s->rate[i] / STEADY_SECONDS;
	for (unsigned int i = 0; i < STEADY_SECONDS; i++) {
		x = i - (STEADY_SECONDS - 1) / 2.0;
		up += x * s->rate[(s->n + i) % STEADY_SECONDS];
		down += x * x;
	}
	return mean > 0 ? up / down * STEADY_SECONDS / mean : 0;
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
	s->change = change_of(s);
	if (fabs(s->change) > STEADY_CHANGE)
		return false;
	s->found_ns = now_ns;
	return true;
}
