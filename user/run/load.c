/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/load.h"

#include "run/rank.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define SATURATED    0.9  /* share of the time: it could not have done more */
#define BEHIND       0.01 /* share of the actions */
#define NS_PER_S     1000000000u
#define FIRST_WINDOW (10 * 1448) /* bytes: RFC 6928 */
#define NS_PER_MS    1e6
#define MOST_MS      60000

struct run_load *run_load_new(unsigned int n_clients, size_t n_actions, size_t n_seconds)
{
	struct run_load *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->n_clients = n_clients;
	l->n_actions = n_actions;
	l->n_seconds = n_seconds;
	l->seconds_each = 1;
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

int run_load_keep_late(struct run_load *l)
{
	l->late = calloc(1, sizeof(*l->late));
	return l->late ? 0 : -ENOMEM;
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
	free(l->gap);
	free(l->progress);
	free(l->late);
	free(l);
}

static void add_action(struct run_action *to, const struct run_action *from)
{
	to->n += from->n;
	to->failed += from->failed;
	hist_merge(&to->planned, &from->planned);
	hist_merge(&to->begun, &from->begun);
	run_trips_add(&to->trips, &from->trips);
}

static void add_text(char to[static 256], const char *from)
{
	if (!*to)
		memcpy(to, from, 256);
}

const struct run_load_figure run_load_figures[] = {
#define FIGURE(name, rule, key, of)                                                                \
	{ offsetof(struct run_load, name), sizeof(((struct run_load *)0)->name), RUN_LOAD_##rule,  \
	  key, RUN_LOAD_##of },
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

/* from began so many seconds later. */
static void load_merge_later(struct run_load *to, const struct run_load *from, uint64_t seconds)
{
	const struct run_load_figure *f = run_load_figures;

	for (size_t i = 0; i < to->n_actions && i < from->n_actions; i++)
		add_action(&to->action[i], &from->action[i]);
	run_seconds_merge(to, from, seconds);
	for (size_t i = 0; i < to->n_stages && i < from->n_stages; i++) {
		to->stage[i].n_planned += from->stage[i].n_planned;
		add_action(&to->stage[i].done, &from->stage[i].done);
	}
	for (size_t i = 0; i < RUN_LOAD_N_FIGURES; i++)
		merge_figure((char *)to + f[i].at, (const char *)from + f[i].at, &f[i]);
	hist_merge(&to->undone, &from->undone);
	if (to->progress && from->progress)
		run_progress_merge(to->progress, from->progress);
	if (to->late && from->late)
		hist_merge(to->late, from->late);
	add_text(to->why, from->why);
	add_text(to->first_failure, from->first_failure);
}

/* Both times stay those of one thread: one that ran and another that waited left time unused. */
static void keep_busiest(struct run_load *to, uint64_t cpu_ns, uint64_t runq_ns)
{
	if (cpu_ns + runq_ns <= to->cpu_max_ns + to->runq_max_ns)
		return;
	to->cpu_max_ns = cpu_ns;
	to->runq_max_ns = runq_ns;
}

void run_load_merge(struct run_load *to, const struct run_load *from)
{
	load_merge_later(to, from, 0);
	keep_busiest(to, from->cpu_max_ns, from->runq_max_ns);
}

static uint64_t the_more(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void run_load_add(struct run_load *to, const struct run_load *from)
{
	run_load_merge(to, from);
	keep_busiest(to, from->cpu_ns, from->runq_ns);
}

static void append_client(struct run_client *to, const struct run_client *from, uint64_t later_ns)
{
	to->actions += from->actions;
	to->failed += from->failed;
	to->bytes += from->bytes;
	to->first_ns = to->first_ns ? to->first_ns : from->first_ns;
	to->last_ns = from->last_ns ? from->last_ns + later_ns : to->last_ns;
	to->sum_ns += from->sum_ns;
	to->max_ns = the_more(to->max_ns, from->max_ns);
	to->outlasting_ns = the_more(to->outlasting_ns, from->outlasting_ns);
	to->begun_p50_ns = to->begun_p99_ns = 0; /* of both together they are not known here */
	to->begun_max_ns = the_more(to->begun_max_ns, from->begun_max_ns);
	to->opened |= from->opened;
	to->lost = from->lost;
}

void run_load_append(struct run_load *to, const struct run_load *from)
{
	const uint64_t later_ns = from->begin_ns - to->begin_ns;
	const unsigned int n_threads = to->n_threads, n_realtime = to->n_realtime;
	const unsigned int n_open = to->n_open;
	const uint64_t n_pauses = to->n_pauses + from->n_pauses;
	const uint64_t paused_ns = to->paused_ns + from->paused_ns;
	const uint64_t measured_ns = to->paused_measured_ns + from->paused_measured_ns;

	load_merge_later(to, from, (later_ns + NS_PER_S / 2) / NS_PER_S);
	to->n_threads = n_threads;
	to->n_realtime = n_realtime;
	to->n_open = n_open;
	/* Of the same thread. */
	to->n_pauses = n_pauses;
	to->paused_ns = paused_ns;
	to->paused_measured_ns = measured_ns;
	to->cpu_max_ns += from->cpu_max_ns;
	to->runq_max_ns += from->runq_max_ns;
	to->end_ns = from->end_ns;
	for (unsigned int i = 0; i < to->n_clients && i < from->n_clients; i++)
		append_client(&to->client[i], &from->client[i], later_ns);
}

int run_load_note_gap(struct run_load *l, uint64_t from_ns, uint64_t to_ns, const char *why)
{
	struct run_gap *gap;

	if (!l->gap)
		l->gap = calloc(RUN_GAPS_MAX, sizeof(*l->gap));
	if (!l->gap)
		return -ENOMEM;
	if (l->n_gaps < RUN_GAPS_MAX) {
		gap = &l->gap[l->n_gaps];
		*gap = (struct run_gap) { .from_ns = from_ns, .to_ns = to_ns };
		memccpy(gap->why, why, '\0', sizeof(gap->why) - 1);
	}
	l->n_gaps++;
	l->gaps_ns += (to_ns ? to_ns : l->end_ns) - from_ns;
	return 0;
}

double run_load_rtt(const struct run_load *l)
{
	return l->rtt_n ? (double)l->rtt_sum_ns / (double)l->rtt_n : 0;
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

bool run_load_saturated_once(const struct run_load *l)
{
	return (double)l->busy_second_ns >= SATURATED * NS_PER_S;
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

unsigned int run_load_kinds(const struct run_load *l)
{
	unsigned int n = 0;

	for (size_t i = 0; i < l->n_actions; i++)
		n += l->action[i].n != 0;
	return n;
}

uint64_t run_load_backlog(const struct run_load *l)
{
	double after = (double)l->n_ended_after, before = (double)l->n_due_before;

	return after - before > 1 + 3 * sqrt(after + before) ? (uint64_t)(after - before) : 0;
}

bool run_load_outlasted(const struct run_load *l)
{
	uint64_t n = 0;

	for (size_t i = 0; i < l->n_actions; i++)
		n += l->action[i].n;
	return l->n_outlasting > n / 20;
}

/* Those that waited so long: their one action, or the one that was under way at the end. */
static unsigned int run_load_waited(const struct run_load *l, uint64_t ns)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < l->n_clients; i++)
		n += l->client[i].max_ns >= ns || l->client[i].outlasting_ns >= ns;
	return n;
}

static unsigned int load_ranks_known(const struct run_load *l)
{
	unsigned int n = 0;

	for (size_t i = 0; i < l->n_ranks; i++)
		n += l->rank[i].end != RUN_RANK_LOST;
	return n;
}

bool run_load_silence(const struct run_load *l, struct run_silence *out)
{
	const uint64_t row_ns = 1000000000ull * l->seconds_each, begin_ns = l->begin_ns;
	uint64_t first, end, since, ns;
	struct run_action all;

	*out = (struct run_silence) { 0 };
	if (!row_ns || l->end_ns <= l->measure_ns)
		return false;
	first = (l->measure_ns - begin_ns + row_ns - 1) / row_ns;
	end = (l->end_ns - begin_ns) / row_ns;
	end = end < l->n_seconds ? end : l->n_seconds;
	since = first;
	for (uint64_t i = first; i <= end; i++) {
		const struct run_second *s = i < end ? &l->second[i] : NULL;

		if (s && !s->n)
			continue;
		ns = (i - since) * row_ns;
		if (i > since && ns > out->ns && (s ? s->max_ns : l->outlasting_max_ns) >= ns)
			*out = (struct run_silence) { .from_ns = since * row_ns, .ns = ns };
		since = i + 1;
	}
	run_load_all(l, &all);
	if (out->ns < RUN_SILENCE_LEAST_NS || hist_quantile(&all.planned, 0.99) >= out->ns)
		return false;
	out->n_clients = run_load_waited(l, out->ns);
	out->n_ranks = load_ranks_known(l);
	return true;
}

/* ---- round trips ---- */

void run_trips_note(struct run_trips *to, uint8_t command, const char *what, uint64_t n)
{
	for (size_t i = 0; i < RUN_TOGETHER_MAX; i++) {
		struct run_together *row = &to->together[i];

		if (row->what && row->command != command)
			continue;
		row->command = command;
		row->what = what;
		row->n += n;
		return;
	}
}

void run_trips_add(struct run_trips *to, const struct run_trips *from)
{
	to->n += from->n;
	to->requests += from->requests;
	to->sum += from->sum;
	to->most = from->most > to->most ? from->most : to->most;
	to->bytes += from->bytes;
	to->n_least += from->n_least;
	to->least += from->least;
	to->least_of += from->least_of;
	for (size_t i = 0; i < RUN_TOGETHER_MAX && from->together[i].what; i++)
		run_trips_note(to, from->together[i].command, from->together[i].what,
			       from->together[i].n);
}

double run_trips_mean(const struct run_trips *t)
{
	return t->n ? (double)t->sum / (double)t->n : 0;
}

double run_trips_at(double took_ns, double trips, double rtt_here_ns, double rtt_ns)
{
	return fmax(took_ns - trips * rtt_here_ns, 0) + trips * rtt_ns;
}

bool run_trips_fill(const struct run_trips *t)
{
	return t->bytes > t->sum * FIRST_WINDOW;
}

double run_trips_share(double took_ns, double trips, double rtt_here_ns)
{
	return took_ns > 0 ? fmin(trips * rtt_here_ns / took_ns, 1) : 0;
}

int run_rtts_parse(struct run_rtts *out, const char *text)
{
	char *end;
	double ms;

	*out = (struct run_rtts) { 0 };
	text = text ? text : RUN_RTTS;
	do {
		ms = strtod(text, &end);
		if (end == text || !(ms > 0) || ms > MOST_MS || out->n == RUN_RTTS_MAX ||
		    (*end && *end != ','))
			return -EINVAL;
		out->ns[out->n++] = ms * NS_PER_MS;
		text = end + 1;
	} while (*end);
	return 0;
}
