/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/load.h"

#include "run/rank.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct run_load *run_load_new(unsigned int n_clients, size_t n_actions, size_t n_seconds)
{
	struct run_load *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->n_clients = n_clients;
	l->n_actions = n_actions;
	l->n_seconds = n_seconds;
	l->action = calloc(n_actions + 1, sizeof(*l->action));
	l->second = calloc(n_seconds + 1, sizeof(*l->second));
	l->client = calloc(n_clients + 1, sizeof(*l->client));
	if (l->action && l->second && l->client)
		return l;
	run_load_free(l);
	return NULL;
}

int run_load_keep_progress(struct run_load *l)
{
	l->progress = calloc(1, sizeof(*l->progress));
	return l->progress ? 0 : -ENOMEM;
}

void run_load_free(struct run_load *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->n_ranks; i++)
		run_load_free(l->rank[i].part);
	free(l->rank);
	free(l->action);
	free(l->second);
	free(l->client);
	free(l->progress);
	free(l);
}

static void add_action(struct run_action *to, const struct run_action *from)
{
	to->n += from->n;
	to->failed += from->failed;
	hist_merge(&to->planned, &from->planned);
	hist_merge(&to->begun, &from->begun);
}

void run_second_add(struct run_second *to, const struct run_second *from)
{
	if (!from->n) /* there may be a week of them, not to be touched */
		return;
	to->n += from->n;
	to->failed += from->failed;
	to->sum_ns += from->sum_ns;
	if (from->max_ns > to->max_ns)
		to->max_ns = from->max_ns;
	for (size_t i = 0; i < HIST_BUCKETS(RUN_SECOND_BITS); i++)
		to->bucket[i] += from->bucket[i];
}

static void add_text(char to[static 256], const char *from)
{
	if (!*to)
		memcpy(to, from, 256);
}

void run_load_add(struct run_load *to, const struct run_load *from)
{
	for (size_t i = 0; i < to->n_actions && i < from->n_actions; i++)
		add_action(&to->action[i], &from->action[i]);
	for (size_t i = 0; i < to->n_seconds && i < from->n_seconds; i++)
		run_second_add(&to->second[i], &from->second[i]);
	to->n_realtime += from->n_realtime;
	to->n_open += from->n_open;
	to->n_lost += from->n_lost;
	to->n_arrivals += from->n_arrivals;
	to->n_no_room += from->n_no_room;
	to->n_waiting += from->n_waiting;
	to->n_cut += from->n_cut;
	to->n_early += from->n_early;
	to->common_n += from->common_n;
	to->common_bytes += from->common_bytes;
	if (to->progress && from->progress)
		run_progress_merge(to->progress, from->progress);
	if (from->early_max_ns > to->early_max_ns)
		to->early_max_ns = from->early_max_ns;
	to->n_paused += from->n_paused;
	if (from->paused_max_ns > to->paused_max_ns)
		to->paused_max_ns = from->paused_max_ns;
	if (from->n_pauses > to->n_pauses)
		to->n_pauses = from->n_pauses;
	if (from->paused_ns > to->paused_ns)
		to->paused_ns = from->paused_ns;
	to->late_n += from->late_n;
	to->cpu_ns += from->cpu_ns;
	if (from->late_max_ns > to->late_max_ns)
		to->late_max_ns = from->late_max_ns;
	if (from->cpu_ns > to->cpu_max_ns)
		to->cpu_max_ns = from->cpu_ns;
	to->runq_ns += from->runq_ns;
	if (from->runq_ns > to->runq_max_ns)
		to->runq_max_ns = from->runq_ns;
	if (from->done_ns > to->done_ns)
		to->done_ns = from->done_ns;
	add_text(to->why, from->why);
	add_text(to->first_failure, from->first_failure);
}

double run_load_busiest(const struct run_load *l)
{
	if (l->done_ns <= l->begin_ns)
		return 0;
	return (double)(l->cpu_max_ns + l->runq_max_ns) / (double)(l->done_ns - l->begin_ns);
}

double run_load_fairness(const struct run_load *l)
{
	double sum = 0, squares = 0;
	size_t n = 0;

	for (unsigned int i = 0; i < l->n_clients; i++) {
		if (!l->client[i].opened)
			continue;
		n++;
		sum += (double)l->client[i].actions;
		squares += (double)l->client[i].actions * (double)l->client[i].actions;
	}
	return squares > 0 ? sum * sum / ((double)n * squares) : 1;
}

void run_load_all(const struct run_load *l, struct run_action *out)
{
	memset(out, 0, sizeof(*out));
	out->name = "all";
	for (size_t i = 0; i < l->n_actions; i++)
		add_action(out, &l->action[i]);
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
