/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/screen/cost.h"

#include <stdlib.h>

/* More than this of one CPU, and in all, is worth a warning. */
#define HIGH    0.01
#define HIGH_NS 50e6

struct cost {
	double kernel_ns, own_ns, watched_ns; /* 0: not known */
};

static double noted_ns(const struct run *r, const char *key)
{
	const char *text = run_note_find(&r->rungs, key);

	return text ? strtod(text, NULL) : 0;
}

static struct cost cost_of(const struct run *r)
{
	return (struct cost) { .kernel_ns = noted_ns(r, RUNGS_PRICE_NS),
			       .own_ns = noted_ns(r, RUNGS_OWN_NS),
			       .watched_ns = noted_ns(r, RUNGS_WATCHED_NS) };
}

bool cost_is_high(const struct run *r)
{
	struct cost c = cost_of(r);

	return c.watched_ns > 0 && c.kernel_ns + c.own_ns > HIGH_NS &&
	       c.kernel_ns + c.own_ns > HIGH * c.watched_ns;
}

void cost_add(struct screen_text *t, const struct run *r, const char *before, bool of_time)
{
	struct cost c = cost_of(r);
	double all = c.kernel_ns + c.own_ns;

	if (all <= 0)
		return;
	screen_add(t, "%swatching cost %s", before, screen_time(all).text);
	if (of_time && c.watched_ns > 0)
		screen_add(t, ", %s%% of a CPU in %s",
			   cell_fixed(100 * all / c.watched_ns, all < 0.0995 * c.watched_ns).text,
			   screen_time(c.watched_ns).text);
	if (c.own_ns > 0 && c.kernel_ns > 0)
		screen_add(t, " (kernel %s, afpscope %s)", screen_time(c.kernel_ns).text,
			   screen_time(c.own_ns).text);
	else
		screen_add(t, c.own_ns > 0 ? " (afpscope)" : " (kernel)");
}
