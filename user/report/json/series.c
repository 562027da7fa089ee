/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The time series of a run, column by column. */
#include "report/json/parts.h"

static json_t *json_series_times(struct json_doc *d, const struct run_series *s)
{
	json_t *a = json_array();

	for (size_t i = 0; i < s->n; i++)
		json_add(d, a, json_number(s->t_ns[i]));
	return a;
}

static json_t *json_series_figure(struct json_doc *d, const struct run_series *s, size_t k)
{
	json_t *o = json_object(), *a = json_array();

	json_put(d, o, "key", json_text(s->value[k].key));
	json_put(d, o, "unit", json_text(s->value[k].unit));
	json_put(d, o, "why", json_text(s->value[k].why));
	for (size_t i = 0; i < s->n && !s->value[k].why; i++)
		json_add(d, a, json_number(s->point[i * s->n_values + k]));
	if (s->value[k].why) {
		json_decref(a);
		a = json_null();
	}
	json_put(d, o, "points", a);
	return o;
}

json_t *json_series(struct json_doc *d, const struct run *r)
{
	json_t *a = json_array();

	for (size_t i = 0; i < r->n_series; i++) {
		const struct run_series *s = &r->series[i];
		json_t *o = json_object(), *figures = json_array();

		json_put(d, o, "pid", json_integer(s->pid));
		json_put(d, o, "role", json_text(s->role));
		json_put(d, o, "ended", json_boolean(s->ended));
		json_put(d, o, "threads_ended", json_integer(s->n_threads));
		json_put(d, o, "start_ns", json_number(s->start_ns));
		json_put(d, o, "t_ns", json_series_times(d, s));
		for (size_t k = 0; k < s->n_values; k++)
			json_add(d, figures, json_series_figure(d, s, k));
		json_put(d, o, "values", figures);
		json_add(d, a, o);
	}
	return a;
}
