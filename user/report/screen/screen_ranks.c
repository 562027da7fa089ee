/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/screen/screen.h"
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

/* The most of all ranks, and of how many it is not known. */
struct ranks_seen {
	uint64_t skew_ns, unsure_ns;
	unsigned int unknown;
};

static void screen_ranks_look(struct ranks_seen *seen, const struct run_load *l)
{
	const struct run_rank *r;

	seen->unknown = 0;
	for (size_t i = 0; i < l->n_ranks; i++) {
		r = &l->rank[i];
		seen->unknown += !r->has_skew;
		if (!r->has_skew)
			continue;
		if (r->skew_ns > seen->skew_ns)
			seen->skew_ns = r->skew_ns;
		if (r->unsure_ns > seen->unsure_ns)
			seen->unsure_ns = r->unsure_ns;
	}
}

/* A thread with one client is as busy as that is: nobody waits for it. */
static bool was_busy(struct run_phase *const *phase, size_t n, size_t rank)
{
	const struct run_load *l, *part;

	for (size_t i = 0; i < n; i++) {
		l = phase[i]->load;
		part = l && rank < l->n_ranks ? l->rank[rank].part : NULL;
		if (part && part->n_threads < l->rank[rank].clients && run_load_saturated(part))
			return true;
	}
	return false;
}

/* Whether all ranks had one queue of arrivals. */
static bool screen_ranks_share_all(const struct run_load *l)
{
	bool all = true;

	for (size_t i = 0; i < l->n_ranks; i++)
		all &= !l->rank[i].part || l->rank[i].part->queue_processes == l->n_ranks;
	return all;
}

/* A client of another rank may have been free for what waited. */
static void screen_ranks_put_apart(const struct paint *p, const struct run_load *l)
{
	struct screen_text t = { 0 };

	if (l->rate_per_s <= 0 || !l->n_found_none || screen_ranks_share_all(l))
		return;
	screen_add(
	    &t,
	    "%s of %s arrivals (%.1f %%) found no free client in their own rank or host; one of "
	    "another may have been free, so that they waited longer than in a load by one "
	    "process",
	    cell_count(l->n_found_none).text, cell_count(l->n_arrivals).text,
	    100 * (double)l->n_found_none / (double)l->n_arrivals);
	screen_put(p, INK_YELLOW, t.text, 2);
}

/* "8 ranks on 4 hosts began within 12.3us of rank 0, give or take 45us" */
void screen_ranks(const struct paint *p, struct run_phase *const *phase, size_t n)
{
	struct ranks_seen seen = { 0 };
	const struct run_load *last = NULL;
	struct screen_text t = { 0 };
	unsigned int hosts;
	bool bad = false;

	for (size_t i = 0; i < n; i++) {
		if (!phase[i]->load || !phase[i]->load->n_ranks)
			continue;
		last = phase[i]->load; /* who is lost stays so */
		screen_ranks_look(&seen, last);
	}
	if (!last)
		return;
	hosts = hosts_of(last);
	screen_add(&t, "%zu ranks on %u host%s", last->n_ranks, hosts, hosts == 1 ? "" : "s");
	screen_add(&t, " began within %s of rank 0, give or take %s",
		   screen_time((double)seen.skew_ns).text,
		   screen_time((double)seen.unsure_ns).text);
	if (seen.unknown)
		screen_add(&t, " (%u not measured)", seen.unknown);
	for (size_t i = 0; i < last->n_ranks; i++) {
		if (last->rank[i].end == RUN_RANK_LOST) {
			bad = true;
			screen_add(&t, "; rank %zu (%s) LOST", i, last->rank[i].host);
		} else if (was_busy(phase, n, i)) {
			bad = true;
			screen_add(&t, "; rank %zu (%s) SATURATED", i, last->rank[i].host);
		}
	}
	screen_put(p, bad ? INK_YELLOW : INK_NONE, t.text, 2);
	screen_ranks_put_apart(p, last);
}
