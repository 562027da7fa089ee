/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Open loops of which all is drawn by chance (clients, threads, rate or profile, service, stalls,
 * queue, ramp) beside a simulation that goes on until each action is done: no figure is another
 * one, none that is "at least" is too large, no limit is kept or broken that is not.
 * Tests client/load/arrivals.c, arrive.c, pace.c, rate.c, tally.c, user/run/bound.c,
 * user/drive/slo.c.
 */
#include "drive/slo.h"
#include "load/rate.h"
#include "run/bound.h"
#include "unit/clocked_rig.h"

#include <math.h>
#include <stdlib.h>

#define CASES    80
#define MOST     8000   /* actions of a case */
#define NOISE_NS 150000 /* looks at the clock take their time */
#define NEVER    INFINITY

/* What is drawn. Times in ns, from the begin. */
struct drawn {
	unsigned int seed, clients, threads, queue; /* queue 0: unlimited */
	double ramp, duration, service, still_from, still_every, still;
	double rate;  /* of the measured time's begin, a second */
	double later; /* of its end: a straight line between; the ramp has the first one */
};

static double chance(unsigned short random[3], double least, double most)
{
	return least + erand48(random) * (most - least);
}

static struct drawn draw_case(unsigned int seed)
{
	unsigned short r[3] = { (unsigned short)seed, 7, 9 };
	struct drawn d = { .seed = seed };

	d.clients = 1 + (unsigned int)chance(r, 0, CLIENTS);
	d.threads = 1 + (unsigned int)chance(r, 0, d.clients < 3 ? d.clients : 3);
	d.ramp = (double)(seed % 3) * 1e9;
	d.duration = (1 + seed % 4) * 1e9;
	d.service = chance(r, 4e6, 60e6);
	/* from a tenth of what the clients can do to twice as much */
	d.rate = fmin(chance(r, 0.1, seed % 3 ? 0.9 : 2) * d.clients / d.service * 1e9, 1000);
	d.later = seed % 2 ? d.rate : d.rate * chance(r, 0.1, 1.5);
	d.still_from = chance(r, 0, d.ramp + d.duration);
	d.still_every = seed % 5 ? chance(r, 0.2e9, 4e9) : 0;
	d.still = d.still_every * chance(r, 0.01, 0.9);
	d.queue = seed % 7 ? 0 : 1 + seed % 20;
	return d;
}

/* ---- the simulation ---- */

struct simulated {
	unsigned int n, dropped;
	double latency[MOST]; /* of what is due in the measured time, sorted; dropped: NEVER */
	unsigned int in_time; /* ended in the measured time, whenever they were due */
	double done_rate;     /* of those begun before the end */
};

/* When the i-th arrival is due, by bisection of how many there have been. */
static double due(const struct drawn *d, unsigned int i)
{
	double low = 0, high = d->ramp + d->duration, middle, n, s;

	for (int k = 0; k < 80; k++) {
		middle = (low + high) / 2;
		s = (middle - d->ramp) / 1e9;
		n = d->rate * middle / 1e9;
		if (s > 0)
			n += (d->later - d->rate) / (d->duration / 1e9) * s * s / 2;
		*(n < i ? &low : &high) = middle;
	}
	return high;
}

static double answered(const struct drawn *d, double begun)
{
	double end = begun + d->service, since;

	if (d->still_every <= 0 || end < d->still_from)
		return end;
	since = fmod(end - d->still_from, d->still_every);
	return since < d->still ? end - since + d->still : end;
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* First come, first served, by the client that is free first. */
static void simulate(const struct drawn *d, struct simulated *out)
{
	static double begun[MOST]; /* of those that are not dropped, in their order */
	double free_at[CLIENTS] = { 0 }, end = d->ramp + d->duration, at, ended;
	unsigned int n = 0, first, waiting, done = 0;

	*out = (struct simulated) { 0 };
	for (unsigned int i = 0; (at = due(d, i)) < end - 1; i++) {
		assert_true(i < MOST);
		first = waiting = 0;
		for (unsigned int k = 1; k < d->clients; k++)
			first = free_at[k] < free_at[first] ? k : first;
		while (waiting < n && begun[n - 1 - waiting] > at)
			waiting++;
		if (d->queue && free_at[first] > at && waiting >= d->queue) {
			out->dropped += at >= d->ramp;
			if (at >= d->ramp)
				out->latency[out->n++] = NEVER;
			continue;
		}
		begun[n] = fmax(at, free_at[first]);
		ended = free_at[first] = answered(d, begun[n]);
		out->in_time += ended >= d->ramp && ended < end;
		done += at >= d->ramp && begun[n] < end;
		n++;
		if (at >= d->ramp)
			out->latency[out->n++] = ended - at;
	}
	out->done_rate = done / (d->duration / 1e9);
	qsort(out->latency, out->n, sizeof(double), by_value);
}

static double true_figure(const struct simulated *s, double q)
{
	double sum = 0;

	for (unsigned int i = 0; i < s->n; i++)
		sum += s->latency[i];
	if (q == RUN_BOUND_MEAN)
		return sum / s->n;
	return s->latency[(unsigned int)fmax(ceil(q * s->n) - 1, 0)];
}

/* ---- the engine ---- */

static struct rig *run_case(const struct drawn *d)
{
	struct engine_job work = open_loop(PACE_FIXED, d->rate, (uint64_t)d->duration);
	struct rig *g = rig(d->clients, d->threads);
	struct rate changes = { .n = 2 };
	uint64_t begin_ns;

	changes.point[0] = (struct rate_point) { 0, d->rate, 0 };
	changes.point[1] = (struct rate_point) { d->duration / 1e9, d->later,
						 d->duration / 1e9 * (d->rate + d->later) / 2 };
	work.ramp_ns = (uint64_t)d->ramp;
	work.queue = d->queue ? d->queue : ENGINE_QUEUE_ALL;
	if (d->later != d->rate) {
		work.rate = &changes;
		work.pace.rate_per_s = (d->rate + d->later) / 2;
	}
	rig_open(g);
	begin_ns = (uint64_t)shared_clock.main_ns + 100 * MS;
	work.begin_ns = begin_ns;
	for (unsigned int i = 0; i < d->clients; i++) {
		g->play[i].slow.service_ns = (uint64_t)d->service;
		g->play[i].slow.still_from_ns = begin_ns + (uint64_t)d->still_from;
		g->play[i].slow.still_every_ns = (uint64_t)d->still_every;
		g->play[i].slow.still_ns = (uint64_t)d->still;
	}
	rig_do(g, &work);
	rig_adds_up(g);
	return g;
}

/* ---- both ---- */

static const struct {
	const char *name;
	double q;
} figures[] = { { "mean", RUN_BOUND_MEAN },
		{ "p50", 0.5 },
		{ "p90", 0.9 },
		{ "p95", 0.95 },
		{ "p99", 0.99 },
		{ "p99.9", 0.999 },
		{ "max", RUN_BOUND_MAX } };

static void compare_figure(const struct drawn *d, const struct simulated *s,
			   const struct run_load *l, size_t i)
{
	struct run_bound b = run_bound(l, NULL, figures[i].q);
	double truth = true_figure(s, figures[i].q);
	/* half a bucket; of what is known to be in one of two, one and a half */
	double off = b.at_least ? 0 : truth * 0.025;

	if (!b.known)
		return;
	if (b.ns > truth + off + NOISE_NS || (!b.at_least && b.ns < truth - off - NOISE_NS))
		fail_msg("case %u: %s is %s%.0f, and not %.0f", d->seed, figures[i].name,
			 b.at_least ? ">= " : "", b.ns, truth);
}

/* Limits near to the truth and far from it. */
static void judge_figure(const struct drawn *d, const struct simulated *s, struct run_load *l,
			 size_t i)
{
	static const double times[] = { 0.3, 0.9, 0.99, 0.996, 1.004, 1.01, 1.1, 3 };
	double truth = true_figure(s, figures[i].q), limit;
	enum run_slo_verdict v;
	struct slos limits;
	char text[48];

	if (isinf(truth))
		truth = 100e6;
	for (size_t k = 0; k < sizeof(times) / sizeof(times[0]); k++) {
		limit = floor(truth * times[k]);
		snprintf(text, sizeof(text), "%s<=%.0fns", figures[i].name, limit);
		limits = (struct slos) { 0 };
		assert_int_equal(slo_take(&limits, text, NULL), 0);
		v = slo_judge(&limits, l, NULL, false);
		truth = true_figure(s, figures[i].q);
		if ((v == RUN_SLO_KEPT && truth > limit + NOISE_NS) ||
		    (v == RUN_SLO_BROKEN && truth < limit - NOISE_NS))
			fail_msg("case %u: %s is %s: %s, it is %.0f", d->seed, text,
				 v == RUN_SLO_KEPT ? "kept" : "broken", l->slo->why, truth);
		truth = isinf(truth) ? 100e6 : truth;
	}
}

static void judge_rate(const struct drawn *d, const struct simulated *s, struct run_load *l)
{
	double in_time = s->in_time / (d->duration / 1e9), limit;
	double chance_per_s = (2 + 3 * sqrt(4 * d->clients)) / (d->duration / 1e9);
	enum run_slo_verdict v;
	struct slos limits;
	char text[48];

	for (double times = 0.5; times < 2; times *= 1.1) {
		limit = in_time * times;
		snprintf(text, sizeof(text), "rate>=%.6f", limit);
		limits = (struct slos) { 0 };
		if (limit <= 0 || slo_take(&limits, text, NULL))
			return;
		v = slo_judge(&limits, l, NULL, false);
		if ((v == RUN_SLO_KEPT && in_time + chance_per_s < limit) ||
		    (v == RUN_SLO_BROKEN && s->done_rate > limit + 1e-6))
			fail_msg("case %u: %s is %s, in time %.1f, all %.1f", d->seed, text,
				 v == RUN_SLO_KEPT ? "kept" : "broken", in_time, s->done_rate);
	}
}

static void what_is_said_is_what_a_simulation_finds(void **state)
{
	static struct simulated s;
	unsigned int undone = 0, known = 0;
	struct drawn d;
	struct rig *g;

	(void)state;
	for (unsigned int seed = 1; seed <= CASES; seed++) {
		d = draw_case(seed);
		simulate(&d, &s);
		g = run_case(&d);
		if (g->load->n_arrivals != s.n || g->load->n_no_room != s.dropped)
			fail_msg("case %u: %llu arrivals, %llu dropped, not %u, %u", seed,
				 (unsigned long long)g->load->n_arrivals,
				 (unsigned long long)g->load->n_no_room, s.n, s.dropped);
		for (size_t i = 0; s.n && i < sizeof(figures) / sizeof(figures[0]); i++) {
			compare_figure(&d, &s, g->load, i);
			judge_figure(&d, &s, g->load, i);
		}
		judge_rate(&d, &s, g->load);
		undone += g->load->undone.n != 0;
		known += !g->load->undone.n;
		rig_free(g);
	}
	/* both are there */
	print_message("%u with actions that were not done, %u without\n", undone, known);
	assert_true(undone > CASES / 5 && known > CASES / 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_said_is_what_a_simulation_finds),
	};

	return cmocka_run_group_tests(tests, shared_clock_begin, NULL);
}
