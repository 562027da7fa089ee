/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slow requests as JSON, a line each. ASCII: it may be printed on a terminal. */
#include "report/slow.h"

#include "report/json/doc.h"
#include "run/kind.h"

#include <inttypes.h>
#include <stdio.h>

static void slow_json_put_session(struct json_doc *d, json_t *o, const struct run_session *s)
{
	json_t *volumes = json_array();

	for (size_t i = 0; s && i < s->n_volumes; i++)
		json_add(d, volumes, json_text(s->volume[i]));
	json_put(d, o, "user", json_text(s ? s->user : NULL));
	json_put(d, o, "address", json_text(s ? s->address : NULL));
	json_put(d, o, "volumes", volumes);
}

static void slow_json_put_name(struct json_doc *d, json_t *o, const struct slow_request *q)
{
	const struct afs_record_names *name = &q->name;
	char hash[24];

	if (!name->timestamp)
		return;
	json_put(d, o, "volume", json_integer(name->volume));
	json_put(d, o, "directory", json_integer(name->dir));
	if (!name->name || !name->len)
		return;
	snprintf(hash, sizeof(hash), "%016" PRIx64, (uint64_t)name->name);
	json_put(d, o, "name_hash", json_string(hash));
	if (q->text)
		json_put(d, o, "name", json_text(q->text));
}

static json_t *slow_json_parts(struct json_doc *d, const struct afs_record_requests *r,
			       const struct run_kind *kind)
{
	struct slow_part part[SLOW_PARTS];
	size_t n = slow_parts(r, kind, part);
	json_t *o = json_object();

	for (size_t i = 0; i < n; i++)
		json_put(d, o, part[i].key, json_number(part[i].ns));
	return o;
}

static json_t *calls(struct json_doc *d, const struct slow_request *q)
{
	static const char *const kinds[] = { "call",
#define X(NAME, value, text) [value] = (text),
					     AFS_KINDS(X)
#undef X
	};
	json_t *list = json_array();

	for (uint32_t i = 0; i < q->calls->n; i++) {
		const struct slow_call *c = &q->calls->call[i];
		json_t *o = json_object();

		json_put(d, o, "begin_ns", json_number(c->t > q->r.t ? c->t - q->r.t : 0));
		json_put(d, o, "time_ns", json_number(c->ns));
		json_put(d, o, "kind",
			 json_string(kinds[c->kind % (sizeof(kinds) / sizeof(kinds[0]))]));
		json_put(
		    d, o, "class",
		    json_string(c->class == AFS_CLASS_USER ? "user" : ledger_class_name(c->class)));
		json_put(d, o, "object", json_string(ledger_object_name(c->object)));
		if (!c->kind) {
			json_put(d, o, "call", json_text(c->name));
			json_put(d, o, "fd", json_integer(c->fd));
			json_put(d, o, "returned", json_integer(c->ret));
		}
		json_add(d, list, o);
	}
	return list;
}

int slow_json(FILE *out, const struct slow_request *q, const struct slow_view *v)
{
	struct json_doc d = { 0 };
	json_t *o = json_object();
	char buf[ACCOUNT_NAME_MAX];

	json_put(&d, o, "event", json_string(q->running ? "running" : "slow"));
	json_put(&d, o, "begin", json_wall((int64_t)q->r.t + v->offset_ns));
	json_put(&d, o, "time_ns", json_number(q->r.time_ns));
	json_put(&d, o, "command",
		 q->before
		     ? json_null()
		     : json_string(account_name_of(run_kind_accounts(v->kind), q->r.command, buf)));
	json_put(&d, o, "began_before", json_boolean(q->before));
	json_put(&d, o, "result", q->running ? json_null() : json_integer(q->r.result));
	json_put(&d, o, "process", json_integer(q->r.session));
	json_put(&d, o, "request", json_integer(q->r.dsi_id));
	slow_json_put_session(&d, o, q->session);
	slow_json_put_name(&d, o, q);
	json_put(&d, o, "calls", json_integer(q->r.calls));
	json_put(&d, o, "parts_ns", slow_json_parts(&d, &q->r, v->kind));
	if (q->calls) {
		json_put(&d, o, "longest", calls(&d, q));
		json_put(&d, o, "shorter", json_number(q->calls->more));
		json_put(&d, o, "shorter_ns", json_number(q->calls->more_ns));
	}
	return json_line(out, &d, o);
}

int slow_json_count(FILE *out, const char *event, uint64_t n)
{
	struct json_doc d = { 0 };
	json_t *o = json_object();

	json_put(&d, o, "event", json_string(event));
	json_put(&d, o, "n", json_number(n));
	return json_line(out, &d, o);
}

int slow_json_process(FILE *out, const char *event, pid_t pid)
{
	struct json_doc d = { 0 };
	json_t *o = json_object();

	json_put(&d, o, "event", json_string(event));
	json_put(&d, o, "process", json_integer(pid));
	return json_line(out, &d, o);
}

int slow_json_sum(FILE *out, const struct slow_sum *s)
{
	struct json_doc d = { 0 };
	json_t *o = json_object();

	json_put(&d, o, "event", json_string("end"));
	json_put(&d, o, "over_ns", json_number(s->over_ns));
	json_put(&d, o, "time_ns", json_number(s->ns));
	json_put(&d, o, "requests", json_number(s->requests));
	json_put(&d, o, "slow", json_number(s->slow));
	json_put(&d, o, "running", json_number(s->running));
	json_put(&d, o, "left_out", json_number(s->left_out));
	json_put(&d, o, "lost", json_number(s->lost));
	json_put(&d, o, "attach_cpu_ns", json_number(s->attach_ns));
	json_put(&d, o, "own_cpu_ns", json_number(s->cpu_ns));
	json_put(&d, o, "programs_ns", json_number(s->programs_ns));
	return json_line(out, &d, o);
}
