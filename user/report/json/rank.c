/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The processes that shared a load. */
#include "run/rank.h"
#include "report/json/parts.h"

/* What one rank did by itself; its latencies are in those of the load. */
static void json_rank_put_part(struct json_doc *d, json_t *o, const struct run_load *l)
{
	json_put(d, o, "threads", json_integer(l->n_threads));
	json_put(d, o, "open", json_integer(l->n_open));
	json_put(d, o, "lost", json_integer(l->n_lost));
	json_put(d, o, "arrivals", l->rate_per_s > 0 ? json_number(l->n_arrivals) : json_null());
	json_put(d, o, "no_room", l->rate_per_s > 0 ? json_number(l->n_no_room) : json_null());
	json_put(d, o, "found_none",
		 l->rate_per_s > 0 ? json_number(l->n_found_none) : json_null());
	json_put(d, o, "queue_processes",
		 l->rate_per_s > 0 ? json_integer(l->queue_processes) : json_null());
	json_put(d, o, "late", json_number(l->late_n));
	json_put(d, o, "late_max_ns", json_number(l->late_max_ns));
	json_put(d, o, "cpu_ns", json_number(l->cpu_ns));
	json_put(d, o, "cpu_max_ns", json_number(l->cpu_max_ns));
	json_put(d, o, "runq_ns", json_number(l->runq_ns));
	json_put(d, o, "runq_max_ns", json_number(l->runq_max_ns));
	json_put(d, o, "saturated", json_boolean(run_load_saturated(l)));
	json_put(d, o, "actions", json_actions(d, l, NULL));
}

json_t *json_ranks(struct json_doc *d, const struct run_load *l)
{
	static const char *const ends[] = { "done", "stopped", "lost" };
	json_t *a = json_array();

	for (size_t i = 0; i < l->n_ranks; i++) {
		const struct run_rank *r = &l->rank[i];
		json_t *o = json_object();

		json_put(d, o, "rank", json_integer((json_int_t)i));
		json_put(d, o, "host", json_text(r->host));
		json_put(d, o, "pid", json_integer(r->pid));
		json_put(d, o, "clients", json_integer(r->clients));
		json_put(d, o, "end", json_text(ends[r->end]));
		json_put(d, o, "why", *r->why ? json_text(r->why) : json_null());
		json_put(d, o, "lost_ns",
			 r->end == RUN_RANK_LOST ? json_number(r->lost_ns) : json_null());
		json_put(d, o, "skew_ns", r->has_skew ? json_number(r->skew_ns) : json_null());
		json_put(d, o, "unsure_ns", r->has_skew ? json_number(r->unsure_ns) : json_null());
		if (r->part)
			json_rank_put_part(d, o, r->part);
		json_add(d, a, o);
	}
	return a;
}
