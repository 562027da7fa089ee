/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/rank.h"

#include <errno.h>
#include <stdlib.h>

void run_load_join(struct run_load *to, const struct run_load *from, unsigned int first,
		   unsigned int step)
{
	uint64_t cpu_max_ns = to->cpu_max_ns, runq_max_ns = to->runq_max_ns;
	uint64_t done_ns = to->done_ns, there_ns = 0;

	if (from->done_ns > from->begin_ns)
		there_ns = to->begin_ns + (from->done_ns - from->begin_ns);
	run_load_add(to, from);
	to->n_threads += from->n_threads;
	to->cpu_max_ns = from->cpu_max_ns > cpu_max_ns ? from->cpu_max_ns : cpu_max_ns;
	to->runq_max_ns = from->runq_max_ns > runq_max_ns ? from->runq_max_ns : runq_max_ns;
	to->done_ns = there_ns > done_ns ? there_ns : done_ns;
	for (unsigned int i = 0; i < from->n_clients; i++)
		if (first + i * step < to->n_clients)
			to->client[first + i * step] = from->client[i];
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
