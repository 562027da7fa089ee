/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is known of the clients of a load of our own, and of one of several parts. */
#include "doctor/figures/clients.h"

#include "base/hist.h"
#include "doctor/rules/rules.h"

#include <math.h>

#define NS_PER_S 1e9

/* Clients send a request when the last one was answered. */
static bool takes_one_by_one(const struct run *r)
{
	for (size_t i = 0; i < r->n_phases; i++)
		if (r->phase[i]->transfer && r->phase[i]->transfer->window > 1)
			return false;
	return true;
}

static void set_at_most(struct run_figures *out, enum run_figure which, double value, double limit)
{
	if (value >= limit)
		return;
	run_figure_set(out, which, value);
	run_figure_who(out, which, "at most");
}

/* Each was there from the begin of the first part to the end of the last one. */
static bool all_stayed(const struct run *r)
{
	const struct run_phase *last = r->phase[r->n_phases - 1];
	uint64_t end_ns = last->start_ns + last->value[METRIC_ELAPSED];

	for (size_t i = 0; i < r->n_sessions; i++)
		if (r->session[i].begun_ns > r->phase[0]->start_ns ||
		    (r->session[i].ended_ns && r->session[i].ended_ns < end_ns))
			return false;
	return last->known[METRIC_ELAPSED];
}

void doctor_parts(struct run_figures *out, const struct run *r)
{
	double all = 0, share = 1, least;

	for (size_t i = 0; i < r->n_sessions; i++)
		all += (double)r->session[i].requests;
	for (size_t i = 0; i < r->n_sessions; i++)
		if (r->session[i].requests >= CLIENT_PAUSES)
			share = fmin(share, (double)r->session[i].requests / all);
	if (!out->known[RUN_FIGURE_RATE] || all < CLIENT_PAUSES || r->n_rest)
		return;
	least = out->value[RUN_FIGURE_RATE] * share;
	run_figure_set(out, RUN_FIGURE_ACKS_RATE, least);
	run_figure_who(out, RUN_FIGURE_ACKS_RATE, "at least");
	out->at_least[RUN_FIGURE_ACKS_RATE] = true;
	set_at_most(out, RUN_FIGURE_LINK_REPLY, NS_PER_S / least, SLOW_REPLY);
	if (takes_one_by_one(r))
		set_at_most(out, RUN_FIGURE_TRIP_RTT, NS_PER_S / least, SLOW_TRIP);
	if (out->known[RUN_FIGURE_NET] && all_stayed(r))
		set_at_most(out, RUN_FIGURE_UPLOAD,
			    out->value[RUN_FIGURE_NET] * out->value[RUN_FIGURE_BUSY], MUCH_UPLOAD);
}

/* Of a load's actions, which are of several requests. */
void doctor_actions(struct run_figures *out, const struct run *r)
{
	const struct run_load *l = r->n_phases == 1 ? r->phase[0]->load : NULL;
	double trips_ns = 0, all_ns = 0, most = 0;

	if (!l || run_load_rtt(l) <= 0)
		return;
	for (size_t i = 0; i < l->n_actions; i++) {
		const struct run_action *a = &l->action[i];
		double took = hist_mean(&a->begun), n = (double)a->trips.n, share;

		if (!a->trips.n)
			continue;
		share = run_trips_share(took, run_trips_mean(&a->trips), run_load_rtt(l));
		trips_ns += share * took * n;
		all_ns += took * n;
		if (share <= most)
			continue;
		most = share;
		run_figure_who(out, RUN_FIGURE_ACTION_TRIPS, "%s", a->name);
	}
	run_figure_share(out, RUN_FIGURE_ACTION_TRIPS, trips_ns, all_ns);
}
