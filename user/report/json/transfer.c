/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A transfer as JSON; its members are described in docs/data-model.md. */
#include "report/transfer.h"
#include "doctor/verdict.h"
#include "report/json/parts.h"

static json_t *real_if(bool known, double v)
{
	return known ? json_real(v) : json_null();
}

static json_t *whole_if(bool known, double v)
{
	return known ? json_number((uint64_t)v) : json_null();
}

static json_t *samples(struct json_doc *d, const struct run_transfer *t)
{
	json_t *a = json_array();

	for (size_t i = 0; i < t->n_samples; i++) {
		const struct run_sample *s = &t->sample[i];
		json_t *o = json_object();

		json_put(d, o, "iteration", json_integer(s->iteration));
		json_put(d, o, "warmup", json_boolean(s->warmup));
		json_put(d, o, "complete", json_boolean(s->complete));
		json_put(d, o, "ns", json_number(s->ns));
		json_put(d, o, "client_cpu_ns",
			 s->warmup ? json_null() : json_number(s->client_cpu_ns));
		json_put(d, o, "bytes", json_number(s->bytes));
		json_add(d, a, o);
	}
	return a;
}

static json_t *stats(struct json_doc *d, const struct stats *s)
{
	json_t *o = json_object();
	bool any = s->n > 0;

	json_put(d, o, "n", json_number(s->n));
	json_put(d, o, "mean_ns", real_if(any, s->mean));
	json_put(d, o, "median_ns", real_if(any, s->median));
	json_put(d, o, "min_ns", whole_if(any, s->min));
	json_put(d, o, "max_ns", whole_if(any, s->max));
	json_put(d, o, "stddev_ns", real_if(s->n > 1, s->stddev));
	json_put(d, o, "stddev_method", json_text("sample, divisor n - 1"));
	json_put(d, o, "stddev_population_ns", real_if(any, s->stddev_population));
	json_put(d, o, "cv", real_if(s->n > 1, s->cv));
	json_put(d, o, "p95_ns", real_if(any, s->p95));
	json_put(d, o, "p99_ns", real_if(any, s->p99));
	json_put(d, o, "quantile_method",
		 json_text("linear between order statistics at (n - 1) q"));
	json_put(d, o, "ci_low_ns", whole_if(s->has_ci, s->ci_low));
	json_put(d, o, "ci_high_ns", whole_if(s->has_ci, s->ci_high));
	json_put(d, o, "ci_level", real_if(s->has_ci, s->ci_level));
	json_put(d, o, "ci_method",
		 json_text("order statistics around the median, binomial, at least 0.95"));
	return o;
}

static json_t *looks(struct json_doc *d, const struct run_transfer *t)
{
	static const char *const when[] = {
		[TCP_BEFORE] = "before", [TCP_DURING] = "during", [TCP_AFTER] = "after"
	};
	json_t *a = json_array();

	for (size_t i = 0; i < t->n_tcp; i++) {
		const struct run_tcp *look = &t->tcp[i];
		json_t *o = json_object(), *values = json_object();

		json_put(d, o, "end", json_text(look->end == TCP_CLIENT ? "client" : "server"));
		json_put(d, o, "when", json_text(when[look->when]));
		json_put(d, o, "t_ns", json_number(look->t_ns));
		for (size_t v = 0; v < N_TCP; v++)
			json_put(d, values, run_tcp_values[v].key,
				 look->known[v] ? json_number(look->value[v]) : json_null());
		json_put(d, o, "values", values);
		json_add(d, a, o);
	}
	return a;
}

static json_t *json_transfer_verdict(struct json_doc *d, const struct run *r,
				     const struct run_phase *p)
{
	json_t *o = json_object(), *figures = json_object();
	struct verdict v;

	if (verdict_of(&v, r, p))
		d->failed = true;
	json_put(d, o, "kind", json_text(verdict_kinds[v.kind].key));
	json_put(d, o, "text", json_text(v.text));
	for (size_t i = 0; i < VERDICT_N_FIGURES; i++)
		json_put(d, figures, verdict_figures[i].key, real_if(v.known[i], v.figure[i]));
	json_put(d, o, "figures", figures);
	return o;
}

json_t *json_transfer(struct json_doc *d, const struct run *r, const struct run_phase *p)
{
	const struct run_transfer *t = p->transfer;
	json_t *o, *null;
	struct stats s;

	if (!t)
		return json_null();
	if (transfer_stats(t, &s))
		d->failed = true;
	o = json_object();
	json_put(d, o, "work", json_text(t->work));
	json_put(d, o, "size_bytes", json_number(t->size));
	json_put(d, o, "moved_bytes", json_number(t->moved));
	json_put(d, o, "requests", json_number(t->requests));
	json_put(d, o, "chunk_bytes", json_number(t->chunk));
	json_put(d, o, "window", json_integer(t->window));
	json_put(d, o, "dropped", json_boolean(t->dropped));
	json_put(d, o, "sparse", json_boolean(t->sparse));
	json_put(d, o, "own_file", json_boolean(t->own_file));
	json_put(d, o, "samples", samples(d, t));
	json_put(d, o, "stats", stats(d, &s));
	json_put(d, o, "throughput",
		 real_if(s.n && s.median > 0, (double)t->moved * 1e9 / s.median));
	json_put(d, o, "tcp", looks(d, t));
	null = json_object();
	json_put(d, null, "ns", t->null_ns ? json_number(t->null_ns) : json_null());
	json_put(d, null, "n", json_integer(t->null_n));
	json_put(d, o, "null", null);
	json_put(d, o, "verdict", json_transfer_verdict(d, r, p));
	return o;
}

static void put_definition(struct json_doc *d, json_t *a, const char *key, const char *unit,
			   const char *meaning)
{
	json_t *o = json_object();

	json_put(d, o, "key", json_text(key));
	json_put(d, o, "unit", json_text(unit));
	json_put(d, o, "meaning", json_said(d, meaning));
	json_add(d, a, o);
}

json_t *json_tcp_definitions(struct json_doc *d)
{
	json_t *a = json_array();

	for (size_t i = 0; i < N_TCP; i++)
		put_definition(d, a, run_tcp_values[i].key, run_tcp_values[i].unit,
			       run_tcp_values[i].meaning);
	return a;
}

json_t *json_verdict_definitions(struct json_doc *d)
{
	json_t *a = json_array();

	for (size_t i = 0; i < VERDICT_N_FIGURES; i++)
		put_definition(d, a, verdict_figures[i].key, "1", verdict_figures[i].meaning);
	return a;
}
