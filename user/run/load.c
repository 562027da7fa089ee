/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/load.h"

#include "run/rank.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define SATURATED 0.9  /* share of the time: it could not have done more */
#define BEHIND    0.01 /* share of the actions */

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

int run_load_keep_stages(struct run_load *l, const struct run_stage *like, size_t n)
{
	l->stage = calloc(n + 1, sizeof(*l->stage));
	if (!l->stage)
		return -ENOMEM;
	l->n_stages = n;
	for (size_t i = 0; i < n; i++) {
		l->stage[i].from_s = like[i].from_s;
		l->stage[i].to_s = like[i].to_s;
		l->stage[i].from_per_s = like[i].from_per_s;
		l->stage[i].to_per_s = like[i].to_per_s;
	}
	return 0;
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
	free(l->stage);
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
	if (!from->n && !from->dropped) /* there may be a week of them, not to be touched */
		return;
	to->dropped += from->dropped;
	to->bytes += from->bytes;
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

const struct run_load_figure run_load_figures[] = {
#define FIGURE(name, rule)                                                                         \
	{ offsetof(struct run_load, name), sizeof(((struct run_load *)0)->name), RUN_LOAD_##rule },
	RUN_LOAD_FIGURES(FIGURE)
#undef FIGURE
};

/* Of 4 or 8 bytes. */
#define MERGE(type, to, from, rule)                                                                \
	do {                                                                                       \
		type *merged = (type *)(to);                                                       \
		type other = *(const type *)(from);                                                \
		if ((rule) == RUN_LOAD_SUM)                                                        \
			*merged += other;                                                          \
		else if ((rule) == RUN_LOAD_MOST && other > *merged)                               \
			*merged = other;                                                           \
	} while (0)

static void merge_figure(void *to, const void *from, const struct run_load_figure *f)
{
	if (f->len == sizeof(uint64_t))
		MERGE(uint64_t, to, from, f->rule);
	else
		MERGE(unsigned int, to, from, f->rule);
}

void run_load_merge(struct run_load *to, const struct run_load *from)
{
	const struct run_load_figure *f = run_load_figures;

	for (size_t i = 0; i < to->n_actions && i < from->n_actions; i++)
		add_action(&to->action[i], &from->action[i]);
	for (size_t i = 0; i < to->n_seconds && i < from->n_seconds; i++)
		run_second_add(&to->second[i], &from->second[i]);
	for (size_t i = 0; i < to->n_stages && i < from->n_stages; i++) {
		to->stage[i].n_planned += from->stage[i].n_planned;
		add_action(&to->stage[i].done, &from->stage[i].done);
	}
	for (size_t i = 0; i < RUN_LOAD_N_FIGURES; i++)
		merge_figure((char *)to + f[i].at, (const char *)from + f[i].at, &f[i]);
	hist_merge(&to->undone, &from->undone);
	if (to->progress && from->progress)
		run_progress_merge(to->progress, from->progress);
	add_text(to->why, from->why);
	add_text(to->first_failure, from->first_failure);
}

static uint64_t the_more(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void run_load_add(struct run_load *to, const struct run_load *from)
{
	run_load_merge(to, from);
	to->cpu_max_ns = the_more(to->cpu_max_ns, from->cpu_ns);
	to->runq_max_ns = the_more(to->runq_max_ns, from->runq_ns);
}

double run_load_busiest(const struct run_load *l)
{
	if (l->done_ns <= l->begin_ns)
		return 0;
	return (double)(l->cpu_max_ns + l->runq_max_ns) / (double)(l->done_ns - l->begin_ns);
}

bool run_load_saturated(const struct run_load *l)
{
	return run_load_busiest(l) >= SATURATED;
}

bool run_load_behind(const struct run_load *l)
{
	double n = 0;

	for (size_t i = 0; i < l->n_actions; i++)
		n += (double)l->action[i].n;
	return n > 0 && (double)l->late_n > BEHIND * n;
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

bool run_load_outlasted(const struct run_load *l)
{
	uint64_t n = 0;

	for (size_t i = 0; i < l->n_actions; i++)
		n += l->action[i].n;
	return l->n_outlasting > n / 20;
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
