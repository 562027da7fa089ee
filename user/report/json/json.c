/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A run as one JSON object; its members are described in docs/data-model.md. */
#include "report/json/parts.h"

#include "base/file.h"
#include "doctor/notable.h"
#include "report/report.h"
#include "report/trips.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Keys become members; texts of the same key are joined by a newline, so none is lost. */
static json_t *json_notes(struct json_doc *d, const struct run_notes *in)
{
	json_t *o = json_object();

	for (size_t i = 0; i < in->n; i++) {
		const char *key = in->note[i].key ? in->note[i].key : "";
		const char *before = json_string_value(json_object_get(o, key));
		json_t *value = json_text(in->note[i].text);

		if (before && value) {
			json_t *joined = json_sprintf("%s\n%s", before, json_string_value(value));

			json_decref(value);
			value = joined;
		}
		json_put(d, o, key, value);
	}
	return o;
}

/* A list, in its order: warnings, findings. */
static json_t *listed(struct json_doc *d, const struct run_notes *in)
{
	json_t *a = json_array();

	for (size_t i = 0; i < in->n; i++) {
		json_t *o = json_object();

		json_put(d, o, "key", json_text(in->note[i].key));
		json_put(d, o, "text", json_text(in->note[i].text));
		json_add(d, a, o);
	}
	return a;
}

/* What stands out in the server's time. */
static json_t *findings(struct json_doc *d, const struct run *r)
{
	struct run_notes found = { 0 };
	json_t *a = NULL;

	if (doctor_notable(&found, r))
		d->failed = true;
	else
		a = listed(d, &found);
	run_notes_fini(&found);
	return a;
}

static json_t *json_commands(struct json_doc *d, const struct run_phase *p)
{
	json_t *a = json_array();

	for (size_t i = 0; i < p->n_commands; i++) {
		const struct run_command *c = p->command[i];
		json_t *o = json_object();

		json_put(d, o, "code", json_integer(c->code));
		json_put(d, o, "name", json_text(c->name));
		json_put(d, o, "ops", json_number(c->latency.n));
		json_put(d, o, "errors", json_number(c->errors));
		json_put(d, o, "latency", json_latency(d, &c->latency));
		json_add(d, a, o);
	}
	return a;
}

static json_t *json_connections(struct json_doc *d, const struct run_phase *p)
{
	json_t *o = json_object();

	json_put(d, o, "our_requests", json_number(p->clients.ours));
	json_put(d, o, "others", json_number(p->clients.others));
	json_put(d, o, "other_requests", json_number(p->clients.others_requests));
	return o;
}

static json_t *phase(struct json_doc *d, const struct run *r, const struct run_phase *p)
{
	json_t *o = json_object(), *metrics = json_object();
	struct run_rtts at;

	trips_asked(r, &at);
	json_put(d, o, "test", json_integer(p->test));
	json_put(d, o, "iteration", json_integer(p->iteration));
	json_put(d, o, "title", json_text(p->title));
	json_put(d, o, "start_ns", json_number(p->start_ns));
	json_put(d, o, "complete", json_boolean(p->complete));
	for (size_t m = 0; m < N_METRICS; m++) {
		if (!run_has_metric(r, m))
			continue;
		json_put(d, metrics, run_metrics[m].key,
			 p->known[m] ? json_number(p->value[m]) : json_null());
	}
	json_put(d, o, "metrics", metrics);
	json_put(d, o, "commands", json_commands(d, p));
	json_put(d, o, "ledger", json_ledger(d, &p->ledger));
	if (p->clients.known)
		json_put(d, o, "connections", json_connections(d, p));
	json_put(d, o, "transfer", json_transfer(d, r, p));
	if (p->load)
		json_put(d, o, "load", json_load(d, p->load, &at));
	if (p->replay)
		json_put(d, o, "replay", json_replay(d, p->replay));
	if (p->load && p->load->n_ranks)
		json_put(d, o, "ranks", json_ranks(d, p->load));
	if (p->probe)
		json_put(d, o, "probe", json_load(d, p->probe, &at));
	if (p->timeline) {
		json_put(d, o, "intervals", json_intervals(d, p->timeline));
		json_put(d, o, "marks", json_marks(d, p->timeline));
	}
	return o;
}

/* What the kind of server calls its things, without those that it has not. */
static json_t *json_words(struct json_doc *d, const struct run *r)
{
	json_t *o = json_object();

	for (enum run_word w = 0; w < RUN_N_WORDS; w++)
		if (run_own_word(r, w))
			json_put(d, o, run_word_keys[w], json_text(run_own_word(r, w)));
	return o;
}

static json_t *metric_definitions(struct json_doc *d)
{
	json_t *a = json_array();

	for (size_t m = 0; m < N_METRICS; m++) {
		json_t *o;

		if (!run_has_metric(d->run, m))
			continue;
		o = json_object();
		json_put(d, o, "key", json_text(run_metrics[m].key));
		json_put(d, o, "unit", json_text(run_metrics[m].unit));
		json_put(d, o, "meaning", json_said(d, run_metrics[m].meaning));
		json_put(d, o, "better", json_text(run_metrics[m].better));
		json_put(d, o, "title", json_text(run_metrics[m].title));
		json_add(d, a, o);
	}
	return a;
}

static json_t *server_end(struct json_doc *d, const struct run *r)
{
	uint64_t begun_ns = r->n_phases ? r->phase[0]->start_ns : 0;
	json_t *o;

	if (!r->server_end.ended_ns)
		return json_null();
	o = json_object();
	json_put(d, o, "after_ns", json_number(r->server_end.ended_ns - begun_ns));
	json_put(d, o, "restarted_pid",
		 r->server_end.restarted_pid ? json_integer(r->server_end.restarted_pid)
					     : json_null());
	return o;
}

static json_t *losses(struct json_doc *d, const struct run *r)
{
	json_t *a = json_array();

	for (size_t i = 0; i < r->n_losses; i++) {
		json_t *o = json_object();

		json_put(d, o, "what", json_text(r->loss[i].what));
		json_put(d, o, "n", json_number(r->loss[i].n));
		json_add(d, a, o);
	}
	return a;
}

static json_t *books(struct json_doc *d, const struct run *r)
{
	json_t *a = json_array();

	for (size_t i = 0; i < r->n_books; i++) {
		json_t *o = json_object();

		json_put(d, o, "name", json_text(r->book[i].name));
		json_put(d, o, "ours", json_number(r->book[i].ours));
		json_put(d, o, "with", json_text(r->book[i].with));
		json_put(d, o, "theirs",
			 r->book[i].has_theirs ? json_number(r->book[i].theirs) : json_null());
		json_put(d, o, "closed", json_boolean(r->book[i].closed));
		json_add(d, a, o);
	}
	return a;
}

static json_t *json_volumes(struct json_doc *d, const struct run_session *s)
{
	json_t *a = json_array();

	for (size_t i = 0; i < s->n_volumes; i++)
		json_add(d, a, json_text(s->volume[i]));
	return a;
}

static json_t *sessions(struct json_doc *d, const struct run *r)
{
	char dialect[RUN_DIALECT_MAX];
	json_t *a = json_array();

	for (size_t i = 0; i < r->n_sessions; i++) {
		const struct run_session *s = &r->session[i];
		json_t *o = json_object();

		json_put(d, o, "pid", json_integer(s->pid));
		json_put(d, o, "user", json_text(s->user));
		json_put(d, o, "user_from", json_text(s->user_from));
		json_put(d, o, "address", json_text(s->address));
		if (s->dialect)
			json_put(d, o, "dialect", json_text(run_dialect(s->dialect, dialect)));
		json_put(d, o, "volumes", json_volumes(d, s));
		json_put(d, o, "volumes_more", json_number(s->more_volumes));
		json_put(d, o, "volume_from", json_text(s->volume_from));
		json_put(d, o, "begun_ns", s->begun_ns ? json_number(s->begun_ns) : json_null());
		json_put(d, o, "ended_ns", s->ended_ns ? json_number(s->ended_ns) : json_null());
		json_put(d, o, "requests", json_number(s->requests));
		json_put(d, o, "calls", s->shared ? json_null() : json_number(s->calls));
		json_put(d, o, "busy_ns", json_number(s->busy_ns));
		json_put(d, o, "bytes_in", json_number(s->bytes_in));
		json_put(d, o, "bytes_out", json_number(s->bytes_out));
		json_add(d, a, o);
	}
	return a;
}

static json_t *in_service(struct json_doc *d, const struct run *r)
{
	char name[ACCOUNT_NAME_MAX];
	json_t *a = json_array();

	for (size_t i = 0; i < r->n_service; i++) {
		const struct run_service *s = &r->service[i];
		json_t *o = json_object();

		json_put(d, o, "pid", json_integer(s->pid));
		json_put(d, o, "user", *s->user ? json_text(s->user) : json_null());
		json_put(d, o, "client", *s->address ? json_text(s->address) : json_null());
		json_put(d, o, "command",
			 account_is_request(s->account)
			     ? json_text(run_account_name(d->run, s->account, name))
			     : json_null());
		json_put(d, o, "age_ns", json_number(s->age_ns));
		json_put(d, o, "began_before", json_boolean(s->before));
		json_put(d, o, "waits_for", json_text(account_columns[s->column].key));
		if (*s->on)
			json_put(d, o, "call", json_text(s->on));
		json_add(d, a, o);
	}
	return a;
}

/* By role; of sessions only those that served a client. */
static json_t *ends(struct json_doc *d, const struct run *r)
{
	json_t *all = json_object();

	for (unsigned int role = 0; role < AFS_N_ROLES; role++) {
		const struct run_ends *e = &r->ends[role];
		json_t *o;

		if (!e->known)
			continue;
		o = json_object();
		json_put(d, o, "clean", json_number(e->clean));
		json_put(d, o, "failed", json_number(e->failed));
		json_put(d, o, "crashed", json_number(e->crashed));
		json_put(d, o, "killed", json_number(e->killed));
		if (e->pid) {
			json_put(d, o, "last_pid", json_integer(e->pid));
			json_put(d, o, e->signal ? "last_signal" : "last_status",
				 json_integer(e->signal ? e->signal : e->status));
		}
		json_put(d, all, run_role_name(r, role), o);
	}
	return all;
}

static json_t *sessions_rest(struct json_doc *d, const struct run *r)
{
	json_t *o = json_object();

	json_put(d, o, "sessions", json_number(r->n_rest));
	json_put(d, o, "requests", json_number(r->rest.requests));
	json_put(d, o, "calls", json_number(r->rest.calls));
	json_put(d, o, "busy_ns", json_number(r->rest.busy_ns));
	json_put(d, o, "bytes_in", json_number(r->rest.bytes_in));
	json_put(d, o, "bytes_out", json_number(r->rest.bytes_out));
	return o;
}

static json_t *threads(struct json_doc *d, const struct run *r)
{
	json_t *a = json_array();

	for (size_t i = 0; i < r->n_threads; i++) {
		const struct run_threads *t = &r->threads[i];
		json_t *o = json_object();

		json_put(d, o, "name", json_text(t->name));
		json_put(d, o, "threads", json_integer(t->n));
		json_put(d, o, "cpu_ns", json_number(t->cpu_ns));
		json_put(d, o, "runq_ns", json_number(t->runq_ns));
		if (t->looks) {
			json_put(d, o, "looks", json_integer(t->looks));
			json_put(d, o, "asleep_in_lock", json_integer(t->locked));
		}
		json_add(d, a, o);
	}
	return a;
}

static json_t *points(struct json_doc *d, const struct run_socket *s)
{
	json_t *a = json_array();

	for (size_t i = 0; i < s->n; i++) {
		json_t *row = json_array();

		json_add(d, row, json_number(s->point[i].t_ns));
		json_add(d, row, json_number(s->point[i].queue));
		json_add(d, row, json_number(s->point[i].drops));
		json_add(d, a, row);
	}
	return a;
}

static json_t *sockets(struct json_doc *d, const struct run *r)
{
	json_t *a = json_array();

	for (size_t i = 0; i < r->n_sockets; i++) {
		const struct run_socket *s = &r->socket[i];
		json_t *o = json_object();

		json_put(d, o, "pid", json_integer(s->pid));
		json_put(d, o, "port", json_integer(s->port));
		json_put(d, o, "buffer", s->buffer ? json_number(s->buffer) : json_null());
		json_put(d, o, "buffer_max",
			 s->buffer_max ? json_number(s->buffer_max) : json_null());
		json_put(d, o, "queue_max", json_number(s->queue_max));
		json_put(d, o, "drops", json_number(s->drops));
		json_put(d, o, "drops_seen", s->has_seen ? json_number(s->seen) : json_null());
		json_put(d, o, "points", points(d, s));
		json_add(d, a, o);
	}
	return a;
}

static json_t *waiting(struct json_doc *d, const struct run_waiting *w)
{
	json_t *o = json_object();

	json_put(d, o, "asked", json_integer(w->asked));
	json_put(d, o, "answered", json_integer(w->answered));
	json_put(d, o, "short", json_integer(w->n_short));
	json_put(d, o, "waiting_sum", json_number(w->waiting_sum));
	json_put(d, o, "waiting_max", w->answered ? json_integer(w->waiting_max) : json_null());
	json_put(d, o, "idle_min", w->answered ? json_integer(w->idle_min) : json_null());
	json_put(d, o, "waited", w->answered ? json_number(w->waited) : json_null());
	return o;
}

static json_t *json_document(struct json_doc *d)
{
	static const char *const about[] = {
#define X(NAME, name) #name,
		RUN_ABOUTS(X)
#undef X
	};
	json_t *o = json_object(), *phases = json_array();
	const struct run *r = d->run;

	json_put(d, o, "schema", json_integer(RUN_SCHEMA));
	json_put(d, o, "tool", json_text("afpscope"));
	json_put(d, o, "version", json_text(AFPSCOPE_VERSION));
	json_put(d, o, "id", json_text(r->id));
	json_put(d, o, "command", json_text(r->command));
	json_put(d, o, "set", json_text(r->set));
	json_put(d, o, "kind", json_text(run_kind_name(r)));
	json_put(d, o, "has_requests", json_boolean(run_has_requests(r)));
	json_put(d, o, "about", json_text(about[r->about]));
	json_put(d, o, "words", json_words(d, r));
	json_put(d, o, "started", json_text(r->started));
	json_put(d, o, "complete", json_boolean(r->complete));
	json_put(d, o, "environment", json_notes(d, &r->environment));
	json_put(d, o, "server", json_notes(d, &r->server));
	json_put(d, o, "options", json_notes(d, &r->options));
	json_put(d, o, "labels", json_notes(d, &r->labels));
	json_put(d, o, "rungs", json_notes(d, &r->rungs));
	json_put(d, o, "absent", json_notes(d, &r->absent));
	json_put(d, o, "warnings", listed(d, &r->warnings));
	json_put(d, o, "findings", findings(d, r));
	if (r->figures) {
		json_put(d, o, "figures", json_figures(d, r->figures));
		json_put(d, o, "names", json_names(d, r->figures));
		json_put(d, o, "diagnosis", json_diagnosis(d, r->figures));
	}
	json_put(d, o, "server_end", server_end(d, r));
	json_put(d, o, "losses", losses(d, r));
	json_put(d, o, "books", books(d, r));
	json_put(d, o, "sessions", sessions(d, r));
	if (r->has_service)
		json_put(d, o, "in_service", in_service(d, r));
	json_put(d, o, "ended", ends(d, r));
	if (r->n_rest)
		json_put(d, o, "sessions_rest", sessions_rest(d, r));
	json_put(d, o, "metrics", metric_definitions(d));
	if (run_is_by_session(r)) {
		json_put(d, o, "tcp_values", json_tcp_definitions(d));
		json_put(d, o, "verdict_figures", json_verdict_definitions(d));
	}
	if (run_has_threads(r))
		json_put(d, o, "threads", threads(d, r));
	if (r->n_sockets)
		json_put(d, o, "sockets", sockets(d, r));
	if (r->waiting.asked)
		json_put(d, o, "waiting", waiting(d, &r->waiting));
	json_put(d, o, "series", json_series(d, r));
	for (size_t i = 0; i < r->n_phases; i++)
		json_add(d, phases, phase(d, r, r->phase[i]));
	json_put(d, o, "phases", phases);
	return o;
}

int report_json(const struct run *r, const char *path, struct err *e)
{
	struct json_doc d = { .run = r };

	return json_save(&d, json_document(&d), path, e);
}

int report_json_in(const struct run *r, int folder, const char *name, const char *path,
		   struct err *e)
{
	struct json_doc d = { .run = r };
	size_t len;
	char *text = json_memory(&d, json_document(&d), &len);
	int ret = text ? file_replace(folder, name, text, len) : -ENOMEM;

	free(text);
	return ret ? err_set(e, ret, "cannot write %s/%s: %s", path, name, strerror(-ret)) : 0;
}
