/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits as options have them; then the judge of whether a load kept them. */
#include "drive/slo.h"

#include "base/text.h"
#include "run/bound.h"
#include "run/doubts.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEAN       RUN_BOUND_MEAN
#define MAX        RUN_BOUND_MAX
#define SESSION_NS 30000000000u

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
		out->figure = SLO_LATENCY;
		out->q = quantiles[i].q;
		return true;
	}
	return false;
}

static const struct {
	const char *name;
	enum slo_figure figure;
} counts[] = { { "rate", SLO_RATE }, { "failed", SLO_FAILED }, { "dropped", SLO_DROPPED } };

static bool slo_find_figure(struct slo *out, const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		if (strlen(counts[i].name) != len || strncmp(name, counts[i].name, len))
			continue;
		out->figure = counts[i].figure;
		return true;
	}
	return find_quantile(out, name, len);
}

bool slo_time(const char *text, uint64_t *ns)
{
	const char *end;
	double v;

	if (!text_decimal(text, &end, &v) || v <= 0)
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].unit) || v * units[i].ns > 1e18)
			continue;
		*ns = (uint64_t)llround(v * units[i].ns);
		return *ns;
	}
	return false;
}

/* What a figure may be: a time, a rate, a share or a number. */
static bool slo_take_value(struct slo *out, const char *text)
{
	const char *unit;
	uint64_t ns;
	double v;

	if (out->figure == SLO_LATENCY) {
		out->unit = RUN_SLO_NS;
		if (!slo_time(text, &ns))
			return false;
		out->limit = (double)ns;
		return true;
	}
	if (!text_decimal(text, &unit, &v) || !isfinite(v) || v < 0)
		return false;
	out->limit = v;
	if (out->figure == SLO_RATE) {
		out->unit = RUN_SLO_PER_S;
		return v > 0 && (!*unit || !strcmp(unit, "/s"));
	}
	out->unit = *unit ? RUN_SLO_SHARE : RUN_SLO_COUNT;
	if (!*unit)
		return v <= 1e15 && v == floor(v);
	out->limit = v / 100;
	return v <= 100 && !strcmp(unit, "%");
}

/* Of a rate ">=", of all else "<=", for which a latency may have "="; the length, 0: another. */
static size_t slo_relation(const struct slo *s, const char *at)
{
	if (!strncmp(at, s->figure == SLO_RATE ? ">=" : "<=", 2))
		return 2;
	return s->figure == SLO_LATENCY && *at == '=';
}

/* One limit; false: it is none. */
static bool slo_parse(struct slo *out, const char *text)
{
	size_t len = strcspn(text, "<>="), relation;
	const char *dot = memchr(text, '.', len), *name = text;

	*out = (struct slo) { 0 };
	snprintf(out->text, sizeof(out->text), "%s", text);
	/* "p99.9" has a dot, too */
	if (dot && !slo_find_figure(out, text, len)) {
		if ((size_t)(dot - text) >= sizeof(out->scope) || dot == text)
			return false;
		memcpy(out->scope, text, (size_t)(dot - text));
		name = dot + 1;
	}
	if (!slo_find_figure(out, name, (size_t)(text + len - name)))
		return false;
	if (out->figure == SLO_DROPPED && *out->scope)
		return false;
	relation = slo_relation(out, text + len);
	return relation && slo_take_value(out, text + len + relation);
}

static int slo_take_one(struct slos *s, const char *text, struct err *e)
{
	struct slo new;

	if (s->n == SLO_MAX)
		return err_set(e, -EINVAL, "at most %d limits", SLO_MAX);
	if (!slo_parse(&new, text))
		return err_set(
		    e, -EINVAL,
		    "'%s' is not a limit such as p99<=50ms, save.mean<=2s, probe.max<=1s "
		    "(mean, p50, p90, p95, p99, p99.9, max; ns, us, ms, s), rate>=500, "
		    "failed<=0.1%% or dropped<=0",
		    text);
	for (unsigned int i = 0; i < s->n; i++)
		if (!strcmp(s->slo[i].text, new.text))
			return 0;
	s->slo[s->n++] = new;
	return 0;
}

int slo_take(void *to, const char *arg, struct err *e)
{
	char text[sizeof(((struct slo *)0)->text)];
	const char *at = arg;
	size_t len;
	int r;

	do {
		len = strcspn(at, ",");
		if (len >= sizeof(text))
			return err_set(e, -EINVAL, "'%s' is too long for a limit", arg);
		memcpy(text, at, len);
		text[len] = '\0';
		r = slo_take_one(to, text, e);
		at += len;
	} while (!r && *at++);
	return r;
}

bool slo_has(const struct slos *s, enum slo_figure figure, const char *scope)
{
	for (unsigned int i = 0; i < s->n; i++)
		if (s->slo[i].figure == figure && !strcmp(s->slo[i].scope, scope))
			return true;
	return false;
}

/* ---- the judge ---- */

/* One limit, and what is known of what it is about. */
struct slo_case {
	const struct slos *all;
	const struct slo *slo;
	struct run_slo *to;
	const struct run_load *of;     /* whose actions: the clients' or the probe's */
	const struct run_load *crowd;  /* of the probe's: the clients, if there are any */
	const struct run_action *kind; /* NULL: actions of all kinds */
	bool is_probe, stopped;
	struct hist h;    /* latencies that are known */
	uint64_t n;       /* actions complete */
	uint64_t failed;  /* of them */
	uint64_t over;    /* without a latency: count as longer than any limit */
	uint64_t unknown; /* without a latency, which may be any */
};

/* Another limit, or this one, says how many may fail or be dropped. */
static bool slo_allows(const struct slo_case *c, enum slo_figure figure)
{
	return c->slo->figure == figure || slo_has(c->all, figure, c->slo->scope) ||
	       (!(c->is_probe && c->crowd) && slo_has(c->all, figure, ""));
}

/*
 * Arrivals that still waited at the end, or were cut off, and had waited longer than the limit by
 * then. What was dropped is among undone, and counts as longer anyway.
 */
static uint64_t slo_overdue(const struct run_load *l, double limit)
{
	uint64_t n = 0, most = l->n_waiting + l->n_cut;

	for (size_t i = 0; i < HIST_BUCKETS(HIST_BITS); i++)
		if ((double)hist_low(i, HIST_BITS) > limit)
			n += l->undone.bucket[i];
	n = n > l->n_no_room ? n - l->n_no_room : 0;
	return n < most ? n : most;
}

static void slo_gather(struct slo_case *c)
{
	const struct run_load *l = c->of;
	bool one_kind = *c->slo->scope && !c->is_probe;
	uint64_t overdue;
	struct run_action a = { 0 };

	if (!one_kind)
		run_load_all(l, &a);
	for (size_t i = 0; one_kind && i < l->n_actions; i++)
		if (!strcmp(l->action[i].name, c->slo->scope))
			c->kind = &l->action[i];
	if (c->kind)
		a = *c->kind;
	c->h = a.planned;
	c->n = a.n;
	c->failed = a.failed;
	c->unknown = a.n - a.failed - a.planned.n + l->n_waiting + l->n_cut;
	if (!one_kind && !c->is_probe && !slo_allows(c, SLO_DROPPED)) {
		overdue = slo_overdue(l, c->slo->limit);
		c->over += overdue;
		c->unknown -= overdue;
	}
	if ((double)l->outlasting_max_ns > c->slo->limit)
		c->unknown += l->n_outlasting;
	if (!slo_allows(c, SLO_FAILED))
		c->over += a.failed;
	if (c->is_probe) /* a user waits for what he does before he does more */
		c->unknown += c->slo->q < 1 ? l->n_no_room : 0;
	else if (!slo_allows(c, SLO_DROPPED))
		*(one_kind ? &c->unknown : &c->over) += l->n_no_room;
}

/* ---- what went wrong besides ---- */

/* The first doubt about a load, in text. */
static bool slo_doubted(const struct slo_case *c, const struct run_load *l, char *text)
{
	const char *scope = c->is_probe && c->crowd && l == c->of ? "probe" : "";
	enum slo_figure figure;

	for (int i = 0; i < N_RUN_DOUBTS; i++) {
		figure = i == RUN_DOUBT_DROPPED ? SLO_DROPPED : SLO_FAILED;
		if (i == RUN_DOUBT_DROPPED && c->is_probe && l == c->of)
			continue;
		if (i <= RUN_DOUBT_FAILED &&
		    (slo_has(c->all, figure, scope) || (l == c->of && c->slo->figure == figure)))
			continue;
		if (!run_load_doubt(l, (enum run_doubt)i, text))
			continue;
		if (i <= RUN_DOUBT_FAILED)
			strcat(text, i == RUN_DOUBT_DROPPED
					 ? ", and no limit of dropped says how many may be"
					 : ", and no limit of failed says how many may fail");
		return true;
	}
	return false;
}

/* Anything at all, of the clients, too, where the limit is one of the probe. */
static bool slo_in_doubt(struct slo_case *c)
{
	char *text = c->to->why;

	if (slo_doubted(c, c->of, text) || (c->crowd && slo_doubted(c, c->crowd, text)))
		return true;
	if (c->stopped)
		snprintf(text, sizeof(c->to->why), "the load was ended early");
	return c->stopped;
}

/* Which actions a generator that is short of time, or stood still, may have made worse. */
enum slo_blame { BLAME_NONE, BLAME_ALL, BLAME_NOT_THE_SHORTEST };

/*
 * The generator may have made it worse: text says how. What one thread that never rests handles has
 * waited for it each time; of a second in which it had no rest, or a time in which it did not run,
 * there are actions outside.
 */
static bool slo_spoiled(const struct slo_case *c, enum slo_blame blame, char text[RUN_DOUBT_LEN])
{
	if (blame == BLAME_NONE || (blame == BLAME_NOT_THE_SHORTEST && !run_load_saturated(c->of)))
		return false;
	return run_load_doubt(c->of, RUN_DOUBT_SATURATED, text) ||
	       (blame == BLAME_ALL && run_load_doubt(c->of, RUN_DOUBT_PAUSED, text));
}

static void slo_break(struct slo_case *c, enum slo_blame blame)
{
	char text[RUN_DOUBT_LEN];

	c->to->verdict = slo_spoiled(c, blame, text) ? RUN_SLO_UNSURE : RUN_SLO_BROKEN;
	if (c->to->verdict == RUN_SLO_UNSURE)
		snprintf(c->to->why, sizeof(c->to->why), "%s", text);
}

/* within: whatever is not known. */
static void slo_keep(struct slo_case *c, bool within, const char *else_why)
{
	if (slo_in_doubt(c))
		return;
	if (within)
		c->to->verdict = RUN_SLO_KEPT;
	else
		snprintf(c->to->why, sizeof(c->to->why), "%s", else_why);
}

/* ---- latencies ---- */

/* The r-th of the latencies, from the shortest, 1...; before: 0, after: infinite. */
static double slo_at_rank(const struct hist *h, double r)
{
	if (r < 1)
		return 0;
	if (r >= (double)h->n)
		return r > (double)h->n ? INFINITY : (double)h->max;
	return (double)hist_quantile(h, (r - 0.5) / (double)h->n);
}

/* The same at least, or at most: a latency is known to within its bucket. */
static double slo_edge_at_rank(const struct hist *h, double r, bool most)
{
	double seen = 0, at;
	size_t i = 0;

	if (r <= 1 || r >= (double)h->n)
		return slo_at_rank(h, r);
	while ((seen += (double)h->bucket[i]) < r)
		i++;
	at = most ? (double)hist_low(i + 1, HIST_BITS) - 1 : (double)hist_low(i, HIST_BITS);
	return most ? fmin(at, (double)h->max) : fmax(at, (double)h->min);
}

/* The figure, if all that is not known was as short, or (longest) as long, as can be. */
static double slo_bound(const struct slo_case *c, bool longest)
{
	double q = c->slo->q, n = (double)c->h.n, late = (double)c->of->late_max_ns;
	double n_late = fmin((double)c->of->late_n, n);
	double total = n + (double)c->over + (double)c->unknown;
	double rank = ceil(q * total) - (double)c->unknown;

	if (longest && !(q > 0))
		return c->over || c->unknown ? INFINITY : hist_mean(&c->h);
	if (longest)
		return slo_edge_at_rank(&c->h, ceil(q * total), true);
	if (!(q > 0))
		return (fmax((double)c->h.sum - n_late * late, 0) +
			(double)c->over * c->slo->limit) /
		       total;
	/* those that the generator began late may have been short */
	return fmax(slo_edge_at_rank(&c->h, rank, false) - late,
		    slo_edge_at_rank(&c->h, rank - n_late, false));
}

/* The value that is shown: with what was not done as the table has it, unless a limit allows that.
 */
static void slo_put_value(struct slo_case *c)
{
	bool apart = c->of->n_no_room && !c->is_probe && slo_allows(c, SLO_DROPPED);
	bool any = c->kind || !*c->slo->scope || c->is_probe;
	struct run_bound b = { .known = c->h.n };

	if (apart && c->h.n)
		b.ns = c->slo->q > 0 ? slo_at_rank(&c->h, ceil(c->slo->q * (double)c->h.n))
				     : hist_mean(&c->h);
	else if (any)
		b = run_bound(c->of, c->kind, c->slo->q);
	c->to->known = b.known;
	c->to->value = (double)llround(b.ns);
	c->to->value_at_least = b.at_least;
	c->to->value_of_others = apart;
}

/* A server ends sessions of which it hears nothing for longer: then it need not be its fault. */
static enum slo_blame slo_blame_of_end(const struct run_load *l, char why[RUN_DOUBT_LEN])
{
	return run_load_doubt(l, RUN_DOUBT_LOST, why) && l->longest_pause_ns > SESSION_NS
		   ? BLAME_ALL
		   : BLAME_NONE;
}

/* Clients for whom the time is endless, as they were not served at all; who may be to blame. */
static bool slo_unserved(struct slo_case *c, enum slo_blame *blame)
{
	const struct run_load *l = c->of;
	double ran_ns = (double)l->end_ns - (double)l->measure_ns - (double)l->paused_measured_ns;

	*blame = BLAME_NONE;
	if (run_load_doubt(l, RUN_DOUBT_MISSING, c->to->why))
		return true;
	*blame = slo_blame_of_end(l, c->to->why);
	if (run_load_doubt(l, RUN_DOUBT_LOST, c->to->why))
		return true;
	return ran_ns > c->slo->limit && run_load_doubt(l, RUN_DOUBT_STARVED, c->to->why);
}

/* What counts as longer than the limit: why it is broken although the value is not beyond it. */
static void slo_say_over(struct slo_case *c)
{
	char failed[RUN_DOUBT_LEN], dropped[RUN_DOUBT_LEN];
	bool f = !slo_allows(c, SLO_FAILED) && run_load_doubt(c->of, RUN_DOUBT_FAILED, failed);
	bool d = !slo_allows(c, SLO_DROPPED) && !c->is_probe &&
		 run_load_doubt(c->of, RUN_DOUBT_DROPPED, dropped);

	snprintf(c->to->why, sizeof(c->to->why), "%s%s%s", d ? dropped : "", d && f ? ", " : "",
		 f ? failed : "");
	c->to->value_of_others |= f;
}

/* Why it cannot be told whether latencies are within their limit. */
static void slo_doubt(const struct slo_case *c, char why[static RUN_DOUBT_LEN])
{
	const unsigned long long n = c->of->late_n;
	const int decimals = c->of->late_max_ns < 10000000 ? 2 : 0;
	const double most_ms = (double)c->of->late_max_ns / 1e6;

	if (c->unknown)
		snprintf(why, RUN_DOUBT_LEN, "it is not known how long %llu action%s took",
			 (unsigned long long)c->unknown, c->unknown == 1 ? "" : "s");
	else if (!n)
		snprintf(why, RUN_DOUBT_LEN, "the figure is only known to within 1.6 %%");
	else if (c->all->carried)
		snprintf(why, RUN_DOUBT_LEN,
			 "this program, or waits of its clients for each other, made up to %llu "
			 "request%s late, by up to %.*f ms",
			 n, n == 1 ? "" : "s", decimals, most_ms);
	else
		snprintf(why, RUN_DOUBT_LEN,
			 "the load generator began %llu action%s late, by up to %.*f ms", n,
			 n == 1 ? "" : "s", decimals, most_ms);
}

static void slo_judge_latency(struct slo_case *c)
{
	char why[RUN_DOUBT_LEN] = "no such action was complete";
	enum slo_blame blame;
	double low;

	slo_put_value(c);
	if (slo_unserved(c, &blame)) {
		c->to->value_of_others = true;
		slo_break(c, blame);
		return;
	}
	if (!c->h.n && !c->over) {
		slo_keep(c, false, why);
		return;
	}
	low = slo_bound(c, false);
	if (low > c->slo->limit) {
		slo_say_over(c);
		slo_break(c, !c->h.n || (double)c->h.min <= c->slo->limit ? BLAME_ALL
									  : BLAME_NOT_THE_SHORTEST);
		return;
	}
	slo_doubt(c, why);
	slo_keep(c, slo_bound(c, true) <= c->slo->limit, why);
}

/* ---- counts ---- */

/* How many of them the server did later than the rate says; of one kind among others, at most. */
static double slo_backlog(const struct slo_case *c, bool one_of_many)
{
	const struct run_load *l = c->of;
	uint64_t n = run_load_backlog(l);

	/* all that were due before may have been of the other kinds */
	return fmin((double)(n && one_of_many ? l->n_ended_after : n), (double)(c->n - c->failed));
}

/*
 * What was due in the measured time and was done later is in the figure; a server that was late
 * with more of it at the end than at the begin was not as fast as that.
 */
static void slo_judge_rate(struct slo_case *c)
{
	const struct run_load *l = c->of;
	double s = l->end_ns > l->measure_ns ? (double)(l->end_ns - l->measure_ns) / 1e9 : 0;
	double done = (double)(c->n - c->failed), offered = (double)l->n_arrivals;
	bool some = c->kind && run_load_kinds(l) > 1;
	double backlog = slo_backlog(c, some);
	char why[RUN_DOUBT_LEN] = "";

	c->to->known = s > 0;
	if (!c->to->known) {
		slo_keep(c, false, "no time was measured");
		return;
	}
	c->to->value = done / s;
	if (done / s < c->slo->limit && l->rate_per_s > 0 && offered / s < c->slo->limit) {
		snprintf(why, sizeof(why), "the load offered only %.4g actions/s", offered / s);
		slo_keep(c, false, why);
	} else if (done / s < c->slo->limit) {
		slo_break(c, BLAME_ALL);
	} else {
		snprintf(why, sizeof(why),
			 some ? "up to %.0f of these actions ended after the measured time, and at "
				"least %.4g/s within it"
			      : "%.0f of these actions ended after the measured time, and only "
				"%.4g/s within it",
			 backlog, (done - backlog) / s);
		slo_keep(c, (done - backlog) / s >= c->slo->limit, why);
	}
}

/* Failed, or dropped: k of n; further ones may have been, too. */
static void slo_judge_count(struct slo_case *c, uint64_t k, uint64_t n, uint64_t further)
{
	double of = c->slo->unit == RUN_SLO_SHARE ? (double)n : 1;
	double most = c->slo->unit == RUN_SLO_SHARE ? (double)(n + further) : 1;
	char why[RUN_DOUBT_LEN];

	c->to->known = n;
	if (!n) {
		slo_keep(c, false, "no such action was complete");
		return;
	}
	c->to->value = (double)k / of;
	if ((double)k / most > c->slo->limit) {
		slo_break(c,
			  c->slo->figure == SLO_DROPPED ? BLAME_ALL : slo_blame_of_end(c->of, why));
		return;
	}
	snprintf(why, sizeof(why), "it is not known whether %llu action%s failed",
		 (unsigned long long)further, further == 1 ? "" : "s");
	slo_keep(c, (double)(k + further) / most <= c->slo->limit, why);
}

static void slo_judge_one(struct slo_case *c)
{
	const struct run_load *l = c->of;

	c->to->verdict = RUN_SLO_UNSURE;
	if (!l) {
		snprintf(c->to->why, sizeof(c->to->why), "there was no probe");
		return;
	}
	slo_gather(c);
	if (c->slo->figure == SLO_LATENCY)
		slo_judge_latency(c);
	else if (c->slo->figure == SLO_RATE)
		slo_judge_rate(c);
	else if (c->slo->figure == SLO_FAILED)
		slo_judge_count(c, c->failed, c->n, l->n_cut);
	else if (l->rate_per_s > 0)
		slo_judge_count(c, l->n_no_room, l->n_arrivals, 0);
	else /* of a closed loop nothing is dropped */
		slo_judge_count(c, 0, c->n, 0);
}

enum run_slo_verdict slo_judge(const struct slos *s, struct run_load *load,
			       const struct run_load *probe, bool stopped)
{
	enum run_slo_verdict worst = RUN_SLO_KEPT;

	load->n_slos = s->n;
	for (unsigned int i = 0; i < s->n; i++) {
		const struct slo *slo = &s->slo[i];
		bool of_probe = !strcmp(slo->scope, "probe");
		struct run_slo *to = &load->slo[i];
		struct slo_case c = { .all = s,
				      .slo = slo,
				      .to = to,
				      .of = of_probe ? probe : load,
				      .crowd = of_probe && probe != load ? load : NULL,
				      .is_probe = of_probe || probe == load,
				      .stopped = stopped };

		*to = (struct run_slo) { .unit = slo->unit,
					 .at_least = slo->figure == SLO_RATE,
					 .limit = slo->limit };
		snprintf(to->text, sizeof(to->text), "%s", slo->text);
		slo_judge_one(&c);
		if (to->verdict == RUN_SLO_BROKEN || worst == RUN_SLO_KEPT)
			worst = to->verdict;
	}
	return worst;
}
