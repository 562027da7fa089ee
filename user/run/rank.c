/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/rank.h"

#include <errno.h>
#include <stdlib.h>

void run_load_join(struct run_load *to, const struct run_load *from, unsigned int first,
		   unsigned int step)
{
	uint64_t done_ns = to->done_ns, there_ns = 0, took_ns = from->end_ns - from->begin_ns;

	if (from->done_ns > from->begin_ns)
		there_ns = to->begin_ns + (from->done_ns - from->begin_ns);
	run_load_merge(to, from);
	/* one whose clients are all lost ends earlier than the others */
	if (from->end_ns > from->begin_ns && to->begin_ns + took_ns > to->end_ns)
		to->end_ns = to->begin_ns + took_ns;
	to->done_ns = there_ns > done_ns ? there_ns : done_ns;
	for (unsigned int i = 0; i < from->n_clients; i++)
		if (first + i * step < to->n_clients)
			to->client[first + i * step] = from->client[i];
}

/* When its first client had nothing more to do, from its begin; UINT64_MAX: not known. */
static uint64_t first_done_ns(const struct run_load *part)
{
	if (!part || !part->progress || part->common_ns <= part->begin_ns)
		return UINT64_MAX;
	return part->common_ns - part->begin_ns;
}

void run_load_join_common(struct run_load *l)
{
	uint64_t first_ns = UINT64_MAX, ns, n, bytes;
	const struct run_load *part;

	l->common_ns = l->common_n = l->common_bytes = 0;
	for (size_t i = 0; i < l->n_ranks; i++) {
		ns = first_done_ns(l->rank[i].part);
		first_ns = ns < first_ns ? ns : first_ns;
	}
	if (first_ns == UINT64_MAX)
		return;
	l->common_ns = l->begin_ns + first_ns;
	for (size_t i = 0; i < l->n_ranks; i++) {
		part = l->rank[i].part;
		if (!part || !part->progress)
			continue;
		n = part->common_n; /* exact, of the first */
		bytes = part->common_bytes;
		if (first_done_ns(part) != first_ns)
			run_progress_until(part->progress, first_ns, &n, &bytes);
		l->common_n += n;
		l->common_bytes += bytes;
	}
}

int run_load_ranks(struct run_load *l, size_t n)
{
	l->rank = calloc(n, sizeof(*l->rank));
	l->n_ranks = l->rank ? n : 0;
	return l->rank ? 0 : -ENOMEM;
}

void run_load_trim(struct run_load *l)
{
	l->n_open = 0;
	for (unsigned int i = 0; i < l->n_clients; i++)
		l->n_open += l->client[i].opened;
	free(l->second);
	l->second = NULL;
	l->n_seconds = 0;
	free(l->client);
	l->client = NULL;
	l->n_clients = 0;
}
