/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drive/slo.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEAN 0.0
#define MAX  1.0

static const struct {
	const char *name;
	double q;
} quantiles[] = {
	{ "mean", MEAN }, { "p50", 0.5 },     { "p90", 0.9 }, { "p95", 0.95 },
	{ "p99", 0.99 },  { "p99.9", 0.999 }, { "max", MAX },
};

static const struct {
	const char *unit;
	double ns;
} units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };

static bool find_quantile(struct slo *out, const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++) {
		if (strlen(quantiles[i].name) != len || strncmp(name, quantiles[i].name, len))
			continue;
		out->q = quantiles[i].q;
		return true;
	}
	return false;
}

bool slo_time(const char *text, uint64_t *ns)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || !isfinite(v) || v <= 0)
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].unit) || v * units[i].ns > 1e18)
			continue;
		*ns = (uint64_t)llround(v * units[i].ns);
		return *ns;
	}
	return false;
}

int slo_take(void *to, const char *arg, struct err *e)
{
	struct slos *s = to;
	struct slo new = { .text = arg };
	const char *is = strchr(arg, '='), *at = arg, *dot = strchr(arg, '.');

	if (s->n == SLO_MAX)
		return err_set(e, -EINVAL, "at most %d limits", SLO_MAX);
	/* "p99.9" has a dot, too */
	if (is && dot && dot < is && !find_quantile(&new, at, (size_t)(is - at))) {
		snprintf(new.scope, sizeof(new.scope), "%.*s", (int)(dot - arg), arg);
		at = dot + 1;
	}
	if (!is || !find_quantile(&new, at, (size_t)(is - at)) || !slo_time(is + 1, &new.limit_ns))
		return err_set(e, -EINVAL,
			       "'%s' is not a limit such as p99=50ms, save.mean=2s or probe.max=1s "
			       "(mean, p50, p90, p95, p99, p99.9, max; ns, us, ms, s)",
			       arg);
	s->slo[s->n++] = new;
	return 0;
}

/* The latencies that a limit is about. false: there are none. */
static bool find_latencies(struct hist *out, const struct slo *slo, const struct run_load *load,
			   const struct run_load *probe)
{
	const struct run_load *of = strcmp(slo->scope, "probe") ? load : probe;
	struct run_action all;

	memset(out, 0, sizeof(*out));
	if (!of)
		return false;
	if (of == probe || !*slo->scope) {
		run_load_all(of, &all);
		*out = all.planned;
	}
	for (size_t i = 0; of == load && *slo->scope && i < of->n_actions; i++)
		if (!strcmp(of->action[i].name, slo->scope))
			*out = of->action[i].planned;
	return out->n;
}

static uint64_t slo_value_of(const struct slo *slo, const struct hist *h)
{
	if (slo->q == MEAN)
		return (uint64_t)llround(hist_mean(h));
	return slo->q == MAX ? h->max : hist_quantile(h, slo->q);
}

bool slo_judge(const struct slos *s, struct run_load *load, const struct run_load *probe)
{
	bool all_kept = true;
	struct run_slo *to;
	struct hist h;

	load->n_slos = 0;
	for (unsigned int i = 0; i < s->n && i < RUN_SLO_MAX; i++) {
		to = &load->slo[load->n_slos++];
		*to = (struct run_slo) { .limit_ns = s->slo[i].limit_ns };
		snprintf(to->text, sizeof(to->text), "%s", s->slo[i].text);
		to->known = find_latencies(&h, &s->slo[i], load, probe);
		if (!to->known)
			continue;
		to->value_ns = slo_value_of(&s->slo[i], &h);
		to->kept = to->value_ns <= to->limit_ns;
		all_kept &= to->kept;
	}
	return all_kept;
}
