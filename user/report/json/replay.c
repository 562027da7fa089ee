/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a replay did beside what was recorded. */
#include "report/json/parts.h"
#include "run/load.h"

static json_t *json_replay_time(uint64_t ns)
{
	return ns ? json_number(ns) : json_null();
}

static json_t *json_replay_request(struct json_doc *d, const struct run_replay_request *q)
{
	json_t *o = json_object();

	json_put(d, o, "name", json_text(q->name));
	json_put(d, o, "recorded", json_number(q->recorded));
#define X(name, key) json_put(d, o, key, json_number(q->came.name));
	RUN_REPLAY_OUTCOMES(X)
#undef X
	json_put(d, o, "recorded_p50_ns", json_replay_time(q->recorded_p50_ns));
	json_put(d, o, "recorded_p99_ns", json_replay_time(q->recorded_p99_ns));
	json_put(d, o, "p50_ns", json_replay_time(q->p50_ns));
	json_put(d, o, "p99_ns", json_replay_time(q->p99_ns));
	return o;
}

json_t *json_replay(struct json_doc *d, const struct run_replay *r)
{
	json_t *o = json_object(), *requests = json_array();

	json_put(d, o, "copies", json_number(r->copies));
	json_put(d, o, "recorded", json_number(r->recorded));
	json_put(d, o, "planned", json_number(r->planned));
	json_put(d, o, "recorded_read_bytes", json_number(r->recorded_read_b));
	json_put(d, o, "recorded_written_bytes", json_number(r->recorded_written_b));
	json_put(d, o, "read_bytes", json_number(r->read_b));
	json_put(d, o, "written_bytes", json_number(r->written_b));
	json_put(d, o, "waited", json_number(r->waited));
	json_put(d, o, "unordered", json_number(r->unordered));
	json_put(d, o, "due_p50_ns", json_replay_time(r->due_p50_ns));
	json_put(d, o, "due_p99_ns", json_replay_time(r->due_p99_ns));
	json_put(d, o, "due_max_ns", json_replay_time(r->due_max_ns));
	json_put(d, o, "late_p50_ns", json_replay_time(r->late_p50_ns));
	json_put(d, o, "late_p99_ns", json_replay_time(r->late_p99_ns));
	json_put(d, o, "late_max_ns", json_replay_time(r->late_max_ns));
	json_put(d, o, "planned_ns", json_replay_time(r->planned_ns));
	json_put(d, o, "delayed", json_number(r->delayed));
	json_put(d, o, "delayed_max_ns", json_number(r->delayed_max_ns));
	json_put(d, o, "kept_up", *r->kept_up.text ? json_slo(d, &r->kept_up) : json_null());
	for (size_t i = 0; i < r->n; i++)
		json_add(d, requests, json_replay_request(d, &r->request[i]));
	json_put(d, o, "requests", requests);
	return o;
}
