/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "main/load_live.h"

#include "base/clock.h"
#include "base/file.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MORE  10.0 /* times the best second: what nobody expects of those to come */
#define SHORT 0.8  /* of the time: below RUN_SATURATED, as it may become more */

/* ---- the generator ---- */

static void load_live_look(struct load_live_threads *t)
{
	unsigned long long ran, waited;
	char path[64], text[128];
	struct dirent *entry;
	DIR *d = opendir("/proc/self/task");

	*t = (struct load_live_threads) { .at_ns = clock_now_ns() };
	while (d && t->n < LOAD_LIVE_THREADS && (entry = readdir(d))) {
		t->tid[t->n] = strtol(entry->d_name, NULL, 10);
		snprintf(path, sizeof(path), "/proc/self/task/%ld/schedstat", t->tid[t->n]);
		if (!t->tid[t->n] || file_line(text, sizeof(text), path) ||
		    sscanf(text, "%llu %llu", &ran, &waited) != 2)
			continue;
		t->ns[t->n++] = ran + waited;
	}
	if (d)
		closedir(d);
}

/* A thread that is short of time may be why a limit is broken. */
static bool load_live_is_short(const struct load_live *l)
{
	struct load_live_threads now;
	double took;

	load_live_look(&now);
	took = (double)(now.at_ns - l->begin.at_ns) * SHORT;
	for (unsigned int i = 0; i < now.n; i++)
		for (unsigned int k = 0; k < l->begin.n; k++)
			if (now.tid[i] == l->begin.tid[k] &&
			    (double)(now.ns[i] - l->begin.ns[k]) >= took)
				return true;
	return false;
}

void load_live_begin(struct load_live *l, const struct load_cfg *cfg, FILE *out)
{
	*l = (struct load_live) { .cfg = cfg,
				  .second.drops = cfg->rate.per_s > 0,
				  .second.mixed = mix_kinds(&cfg->mix) > 1 };
	load_live_look(&l->begin);
	ticker_begin(&l->live, out, (enum ticker_how)cfg->live);
}

/* ---- limits ---- */

/* Without those that were not due in the measured time, each of which may be any of them. */
static uint64_t load_live_due(const struct run_second *s, uint64_t n)
{
	return n > s->astray ? n - s->astray : 0;
}

static void load_live_add(struct load_live_sum *to, const struct run_second *s,
			  const struct slos *slos)
{
	uint64_t over;

	to->n += s->n;
	to->failed += load_live_due(s, s->failed);
	to->dropped += load_live_due(s, s->dropped);
	to->sum_ns += (double)(s->sum_ns - s->astray_ns);
	to->best = fmax(to->best, s->n);
	for (unsigned int i = 0; i < slos->n; i++) {
		over = 0;
		for (size_t k = 0; k < HIST_BUCKETS(RUN_SECOND_BITS); k++)
			if ((double)hist_low(k, RUN_SECOND_BITS) > slos->slo[i].limit)
				over += s->bucket[k];
		to->over[i] += load_live_due(s, over);
	}
}

/* The most actions that there may be at the end. */
static double load_live_most(const struct load_live *l, const struct load_live_sum *s,
			     bool of_probe)
{
	double left_s = l->cfg->duration_s > l->measured ? l->cfg->duration_s - l->measured : 0;
	double planned = l->cfg->rate.per_s * l->cfg->duration_s;

	if (!of_probe && planned > 0) /* of random ones there may be more */
		return fmax(planned + 6 * sqrt(planned) + 10, (double)(s->n + s->dropped));
	return (double)(s->n + s->dropped) + MORE * s->best * left_s;
}

static bool load_live_is_broken(const struct load_live *l, unsigned int i)
{
	const struct slo *slo = &l->cfg->slos.slo[i];
	bool of_probe = !strcmp(slo->scope, "probe");
	const struct load_live_sum *s = of_probe ? &l->probe : &l->clients;
	double most = load_live_most(l, s, of_probe), over = (double)s->over[i];

	if ((*slo->scope && !of_probe) || slo->figure == SLO_RATE)
		return false;
	if (slo->figure != SLO_LATENCY) {
		over = (double)(slo->figure == SLO_FAILED ? s->failed : s->dropped);
		return over > slo->limit * (slo->unit == RUN_SLO_SHARE ? most : 1);
	}
	if (!(slo->q > 0))
		return s->sum_ns > slo->limit * most;
	if (!slo_has(&l->cfg->slos, SLO_FAILED, slo->scope))
		over += (double)s->failed;
	if (!of_probe && !slo_has(&l->cfg->slos, SLO_DROPPED, ""))
		over += (double)s->dropped;
	return over > (1 - slo->q) * most;
}

const struct slo *load_live_broken(const struct load_live *l)
{
	for (unsigned int i = 0; l->measured && i < l->cfg->slos.n; i++)
		if (load_live_is_broken(l, i))
			return &l->cfg->slos.slo[i];
	return NULL;
}

/* ---- second by second ---- */

void load_live_take(struct load_live *l, const struct ticker_second *s)
{
	ticker_add(&l->live, s);
	if (strcmp(s->state, "measuring") != 0)
		return;
	l->measured++;
	load_live_add(&l->clients, &s->clients, &l->cfg->slos);
	load_live_add(&l->probe, &s->probe, &l->cfg->slos);
}

const struct slo *load_live_tick(struct load_live *l, const struct clients *c, uint64_t begin_ns,
				 uint64_t measure_ns)
{
	const struct slo *found;

	while (clients_next_second(c, &l->second, begin_ns, measure_ns))
		load_live_take(l, &l->second);
	found = l->cfg->abort_on_slo ? load_live_broken(l) : NULL;
	return found && found->figure != SLO_FAILED && load_live_is_short(l) ? NULL : found;
}

void load_live_end(struct load_live *l, const struct clients *c, uint64_t begin_ns,
		   uint64_t measure_ns)
{
	clients_show_end(c, &l->live, &l->second, begin_ns, measure_ns);
}
