/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Round trips of an action. */
#include "report/json/parts.h"

static json_t *json_trips_together(struct json_doc *d, const struct run_trips *t)
{
	json_t *a = json_array();

	for (size_t i = 0; i < RUN_TOGETHER_MAX && t->together[i].what; i++) {
		json_t *o = json_object();

		json_put(d, o, "name", json_text(t->together[i].what));
		json_put(d, o, "n", json_number(t->together[i].n));
		json_add(d, a, o);
	}
	return a;
}

static json_t *json_trips_at(struct json_doc *d, const struct run_action *is,
			     const struct json_ways *ways)
{
	const double trips = run_trips_mean(&is->trips), took = hist_mean(&is->begun);
	json_t *a = json_array();

	for (size_t i = 0; ways->here_ns > 0 && i < ways->at.n; i++) {
		json_t *o = json_object();

		json_put(d, o, "rtt_ns", json_real(ways->at.ns[i]));
		json_put(d, o, "ns",
			 json_real(run_trips_at(took, trips, ways->here_ns, ways->at.ns[i])));
		json_add(d, a, o);
	}
	return a;
}

json_t *json_trips(struct json_doc *d, const struct run_action *is, const struct json_ways *ways)
{
	const struct run_trips *t = &is->trips;
	json_t *o;

	if (!t->n)
		return json_null();
	o = json_object();
	json_put(d, o, "n", json_number(t->n));
	json_put(d, o, "requests", json_number(t->requests));
	json_put(d, o, "sum", json_number(t->sum));
	json_put(d, o, "most", json_number(t->most));
	json_put(d, o, "bytes", json_number(t->bytes));
	json_put(d, o, "needed", t->n_least == t->n ? json_number(t->least) : json_null());
	json_put(d, o, "together", json_trips_together(d, t));
	json_put(d, o, "at_least", json_boolean(run_trips_fill(t)));
	json_put(d, o, "at", json_trips_at(d, is, ways));
	return o;
}
