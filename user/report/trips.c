/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/trips.h"

#include "report/transfer.h"

#include <stdio.h>
#include <string.h>

void trips_asked(const struct run *r, struct run_rtts *out)
{
	if (run_rtts_parse(out, run_note_find(&r->options, TRIPS_OPTION)))
		run_rtts_parse(out, NULL);
}

static bool trips_of_action(struct trips_row *out, const struct run_load *l,
			    const struct run_action *a, const char *before)
{
	const struct run_trips *t = &a->trips;

	if (!t->n || !a->begun.n)
		return false;
	snprintf(out->name, sizeof(out->name), "%s%s", before, a->name);
	out->n = t->n;
	out->requests = (double)t->requests / (double)t->n;
	out->trips = run_trips_mean(t);
	/* Of those of which that is known, in the mean of all. */
	out->least = -1;
	if (t->n_least == t->n)
		out->least = (double)t->least / (double)t->n;
	out->took_ns = hist_mean(&a->begun);
	out->rtt_ns = run_load_rtt(l);
	out->fills = run_trips_fill(t);
	out->of = t;
	return true;
}

static void trips_take_load(const struct run_load *l, const char *before,
			    void (*take)(void *user, const struct trips_row *row), void *user)
{
	struct trips_row row = { .is_action = !*before };

	for (size_t i = 0; l && i < l->n_actions; i++)
		if (trips_of_action(&row, l, &l->action[i], before))
			take(user, &row);
}

/* Its measured iterations; of a test it has one for each phase. */
static size_t trips_count_iterations(const struct run_phase *p)
{
	size_t n = 0;

	if (!p->transfer)
		return 1;
	for (size_t i = 0; i < p->transfer->n_samples; i++)
		n += transfer_counts(&p->transfer->sample[i]);
	return n;
}

static bool trips_of_test(struct trips_row *out, const struct run *r, const struct view_test *t)
{
	double trips = 0, ops = 0, ns = 0, bytes = 0, rtt = 0;
	const char *end = strstr(t->title, " [");
	uint64_t n = 0;

	for (size_t i = 0; i < r->n_phases; i++) {
		const struct run_phase *p = r->phase[i];

		if (p->test != t->test || !p->complete || !p->known[METRIC_TRIPS])
			continue;
		n += trips_count_iterations(p);
		trips += (double)p->value[METRIC_TRIPS];
		ops += (double)p->value[METRIC_OPS];
		ns += (double)p->value[METRIC_ELAPSED];
		bytes += (double)p->value[METRIC_BYTES];
		if (p->known[METRIC_TRIP_TIME])
			rtt = (double)p->value[METRIC_TRIP_TIME];
	}
	if (!n || trips <= 0)
		return false;
	snprintf(out->name, sizeof(out->name), "%.*s",
		 end ? (int)(end - t->title) : (int)strlen(t->title), t->title);
	out->n = n;
	out->requests = ops / (double)n;
	out->trips = trips / (double)n;
	out->took_ns = ns / (double)n;
	out->least = -1;
	out->rtt_ns = rtt;
	out->fills = run_trips_fill(
	    &(struct run_trips) { .sum = (uint64_t)trips, .bytes = (uint64_t)bytes });
	return true;
}

void trips_each(const struct view *v, void (*take)(void *user, const struct trips_row *row),
		void *user)
{
	for (size_t i = 0; i < v->run->n_phases; i++) {
		trips_take_load(v->run->phase[i]->load, "", take, user);
		trips_take_load(v->run->phase[i]->probe, "probe: ", take, user);
	}
	for (size_t i = 0; i < v->n; i++) {
		struct trips_row row = { 0 };

		if (trips_of_test(&row, v->run, &v->test[i]))
			take(user, &row);
	}
}

bool trips_of_session(const struct run_session *s, struct trips_session *out)
{
	uint64_t n = 0, rests = 0;

	for (size_t i = 0; i < AFS_PAUSE_BUCKETS; i++) {
		n += s->habit.pause[i];
		if (hist_low(i, AFS_PAUSE_BITS) << AFS_PAUSE_SHIFT >= TRIPS_REST_NS)
			rests += s->habit.pause[i];
	}
	/* The first request that was seen came after no reply that was. */
	*out = (struct trips_session) { .requests = s->requests,
					.trips = n + 1,
					.bursts = rests + 1 };
	if (out->trips > s->requests)
		out->trips = s->requests;
	return n && s->requests;
}
