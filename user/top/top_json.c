/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Steps of a running server as JSON, a line each. */
#include "base/clock.h"
#include "report/json/doc.h"
#include "top/top_rows.h"

#include <errno.h>
#include <stdlib.h>

/* The wall time of a moment of CLOCK_MONOTONIC. */
static json_t *top_json_wall(uint64_t at_ns)
{
	return json_wall((int64_t)at_ns + clock_wall_offset_ns());
}

/* Of requests whose parts are not known nothing is said. */
static json_t *top_json_parts(struct json_doc *d, const struct live_sum *s)
{
	json_t *o;

	if (s->requests && s->handed == s->requests)
		return json_null();
	o = json_object();
	for (size_t c = 0; c < ACCOUNT_N_COLUMNS; c++)
		json_put(d, o, account_columns[c].key, json_number(s->time_ns[c]));
	return o;
}

static json_t *top_json_quantile(const struct live_sum *s, double q)
{
	return s->requests ? json_number((uint64_t)live_sum_quantile(s, q)) : json_null();
}

static void top_json_put_sum(struct json_doc *d, json_t *o, const struct live_sum *s)
{
	json_put(d, o, "requests", json_number(s->requests));
	json_put(d, o, "errors", json_number(s->errors));
	json_put(d, o, "bytes_in", json_number(s->bytes_in));
	json_put(d, o, "bytes_out", json_number(s->bytes_out));
	json_put(d, o, "time_ns", json_number(s->ns));
	json_put(d, o, "service_ns", json_number(s->service_ns));
	json_put(d, o, "p50_ns", top_json_quantile(s, 0.5));
	json_put(d, o, "p99_ns", top_json_quantile(s, 0.99));
	json_put(d, o, "handed_over", json_number(s->handed));
	json_put(d, o, "parts_ns", top_json_parts(d, s));
}

/* NULL and "": not known. */
static json_t *text(const char *s)
{
	return json_text(s && *s ? s : NULL);
}

static json_t *top_json_row_of(struct json_doc *d, const struct live_row *r, enum live_by by)
{
	json_t *o = json_object();

	json_put(d, o, "name", text(r->name));
	if (by == LIVE_SESSION) {
		json_put(d, o, "user", text(r->user));
		json_put(d, o, "client", text(r->client));
		json_put(d, o, "volume", text(r->volume));
		json_put(d, o, "process", json_integer(r->pid));
	}
	if (by != LIVE_COMMAND && by != LIVE_FILE) {
		json_put(d, o, "in_service", json_number(r->in_service));
		json_put(d, o, "oldest_ns", json_number(r->oldest_ns));
	}
	top_json_put_sum(d, o, &r->sum);
	return o;
}

static json_t *rest_of(struct json_doc *d, const struct live_table *t)
{
	json_t *o = json_object();

	json_put(d, o, "times", json_number(t->more));
	top_json_put_sum(d, o, &t->rest);
	return o;
}

static void put_step(struct json_doc *d, json_t *o, const struct top_status *s)
{
	const struct live_step *step = s->step;
	uint64_t ns = step->ended_ns - step->begun_ns;

	json_put(d, o, "event", json_string("step"));
	json_put(d, o, "begin", top_json_wall(step->begun_ns));
	json_put(d, o, "step_ns", json_number(ns));
	top_json_put_sum(d, o, &step->all);
	json_put(d, o, "sessions", json_number(step->sessions));
	json_put(d, o, "active", json_number(step->active));
	json_put(d, o, "in_service", json_number(step->in_service));
	json_put(d, o, "oldest_ns", json_number(step->oldest_ns));
	json_put(d, o, "logins", json_number(step->logins));
	json_put(d, o, "server_cpu_ns", json_number(step->server_cpu_ns));
	json_put(d, o, "cnid_cpu_ns", json_number(step->backend_cpu_ns));
	json_put(d, o, "own_cpu_ns", json_number((uint64_t)(s->own_cpu * (double)ns)));
	json_put(d, o, "programs_ns",
		 s->programs_cpu < 0 ? json_null()
				     : json_number((uint64_t)(s->programs_cpu * (double)ns)));
	json_put(d, o, "lost", json_number(step->lost));
	json_put(d, o, "diagnosis", json_text(s->opinion));
}

int top_json(FILE *out, const struct top_status *s, const struct top_view *v,
	     const struct live_table *t)
{
	const struct live_row **row = malloc(LIVE_ROWS * sizeof(*row));
	size_t n = row ? top_rows(row, t, v) : 0;
	json_t *o = json_object(), *rows = json_array();
	struct json_doc d = { .failed = !row };

	put_step(&d, o, s);
	json_put(&d, o, "by", json_string(top_views[v->by]));
	for (size_t i = 0; i < n; i++)
		json_add(&d, rows, top_json_row_of(&d, row[i], v->by));
	json_put(&d, o, "rows", rows);
	json_put(&d, o, "not_told_apart", t->more ? rest_of(&d, t) : json_null());
	free(row);
	return json_line(out, &d, o);
}

int top_json_event(FILE *out, const struct top_status *s, uint64_t at_ns)
{
	struct json_doc d = { 0 };
	json_t *o = json_object();

	json_put(&d, o, "event", json_string(s->ended_at ? "ended" : "restarted"));
	json_put(&d, o, "at", top_json_wall(at_ns));
	json_put(&d, o, "process", json_integer(s->pid));
	return json_line(out, &d, o);
}

int top_json_sum(FILE *out, const struct top_sum *s)
{
	struct json_doc d = { 0 };
	json_t *o = json_object();

	json_put(&d, o, "event", json_string("end"));
	json_put(&d, o, "time_ns", json_number(s->ns));
	json_put(&d, o, "steps", json_number(s->steps));
	json_put(&d, o, "requests", json_number(s->requests));
	json_put(&d, o, "lost", json_number(s->lost));
	json_put(&d, o, "attach_cpu_ns", json_number(s->attach_ns));
	json_put(&d, o, "own_cpu_ns", json_number(s->cpu_ns));
	json_put(&d, o, "programs_ns", json_number(s->programs_ns));
	return json_line(out, &d, o);
}
