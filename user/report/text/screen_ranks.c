/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/text/screen.h"
#include "run/rank.h"

#include <string.h>

/* How many hosts: ranks whose host no rank before has. */
static unsigned int hosts_of(const struct run_load *l)
{
	unsigned int n = 0;

	for (size_t i = 0, k; i < l->n_ranks; i++) {
		for (k = 0; k < i && strcmp(l->rank[k].host, l->rank[i].host); k++)
			;
		n += k == i;
	}
	return n;
}

/* "8 ranks on 4 hosts, which began within 12.3us of rank 0, +-45us" */
void screen_ranks(const struct paint *p, const struct run_load *l)
{
	unsigned int hosts = hosts_of(l), lost = 0, busy = 0;
	uint64_t skew_ns = 0, unsure_ns = 0;
	struct screen_text t = { 0 };
	const struct run_rank *r;

	screen_add(&t, "%zu ranks on %u host%s", l->n_ranks, hosts, hosts == 1 ? "" : "s");
	for (size_t i = 0; i < l->n_ranks; i++) {
		r = &l->rank[i];
		lost += r->end == RUN_RANK_LOST;
		busy += r->part && run_load_busiest(r->part) >= RUN_SATURATED;
		skew_ns = r->has_skew && r->skew_ns > skew_ns ? r->skew_ns : skew_ns;
		unsure_ns = r->has_skew && r->unsure_ns > unsure_ns ? r->unsure_ns : unsure_ns;
	}
	screen_add(&t, " began within %s of rank 0, give or take %s",
		   screen_time((double)skew_ns).text, screen_time((double)unsure_ns).text);
	for (size_t i = 0; i < l->n_ranks; i++) {
		r = &l->rank[i];
		if (r->end == RUN_RANK_LOST)
			screen_add(&t, "; rank %zu (%s) LOST", i, r->host);
		else if (r->part && run_load_busiest(r->part) >= RUN_SATURATED)
			screen_add(&t, "; rank %zu (%s) SATURATED", i, r->host);
	}
	screen_put(p, lost || busy ? INK_YELLOW : INK_NONE, t.text, 2);
}
