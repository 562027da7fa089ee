/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Differences between readings: of the ledger by command, of each connection for all that is by
 * whom. */
#include "top/live_priv.h"

#include "base/clock.h"
#include "base/hist.h"
#include "run/requests.h"
#include "top/live_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LABEL_NS 5000000000u /* so long a session's labels are believed */

/* Begin and end */

static void known_clear(struct live_known *k)
{
	run_session_fini(&k->label);
	free(k->volume);
	*k = (struct live_known) { 0 };
}

static void gone_clear(struct live *l)
{
	while (l->n_gone)
		run_session_fini(&l->gone[--l->n_gone]);
}

void live_free(struct live *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < WATCH_CONNECTIONS; i++)
		known_clear(&l->known[i]);
	for (size_t i = 0; i < LIVE_N; i++) {
		live_table_free(l->now[i]);
		live_table_free(l->last[i]);
	}
	gone_clear(l);
	free(l->gone);
	ledger_fini(&l->before);
	ledger_fini(&l->noted);
	files_close(l->files);
	free(l);
}

struct live *live_new(const struct live_opts *opts, struct err *e)
{
	struct live *l = calloc(1, sizeof(*l));
	bool ok = l && (l->gone = calloc(GONE_MAX, sizeof(*l->gone)));

	for (size_t i = 0; ok && i < LIVE_N; i++)
		ok = (l->now[i] = live_table_new()) && (l->last[i] = live_table_new());
	if (ok)
		l->opts = *opts;
	if (ok && opts->files)
		ok = !files_open(&l->files, opts->texts, e);
	if (ok)
		return l;
	if (!*e->text)
		err_set(e, -ENOMEM, "out of memory");
	live_free(l);
	return NULL;
}

/* Rows */

static struct live_row *live_row_add(struct live_table *t, const char *name,
				     const struct live_sum *sum)
{
	struct live_row *r = live_table_row(t, name);

	live_sum_add(r ? &r->sum : &t->rest, sum);
	return r;
}

static void serve_add(const struct watch_connection *c, uint64_t now, uint64_t *n,
		      uint64_t *oldest_ns)
{
	if (!c->since_ns)
		return;
	*n += c->n_service;
	if (now > c->since_ns && now - c->since_ns > *oldest_ns)
		*oldest_ns = now - c->since_ns;
}

static void live_put_volumes(char *out, size_t len, const struct run_session *s)
{
	size_t n = 0;

	*out = '\0';
	for (size_t i = 0; i < s->n_volumes && n < len; i++)
		n += (size_t)snprintf(out + n, len - n, "%s%s", i ? "," : "", s->volume[i]);
	if (s->more_volumes && n < len)
		snprintf(out + n, len - n, "%s…", n ? "," : "");
}

/* Who it is: looked up while that is not known, from time to time, and when it has ended. */
static void live_label(struct live *l, struct live_known *k, const struct watch_connection *c,
		       uint64_t now)
{
	bool fresh = !c->ended && k->label.user && k->label.n_volumes &&
		     now - k->labelled_ns < LABEL_NS;
	struct run_session s;
	char text[LIVE_NAME_MAX];

	if (fresh || !watch_session(l->w, c->pid, c->port, &s))
		return;
	run_session_fini(&k->label);
	k->label = s;
	k->labelled_ns = now;
	live_put_volumes(text, sizeof(text), &s);
	free(k->volume);
	k->volume = strdup(text);
}

/* How long it had requests in service until now, those without an answer included. */
static uint64_t service_until(const struct watch_connection *c, uint64_t now)
{
	uint64_t all = c->n_service * now;

	return c->busy_ns + (c->since_ns && c->begun_ns < all ? all - c->begun_ns : 0);
}

/* What came since the last reading; the totals are taken over. */
static void known_step(struct live_known *k, const struct watch_connection *c, uint64_t now,
		       struct live_sum *out)
{
	uint64_t service_ns = service_until(c, now);

	*out = (struct live_sum) {
		.requests = c->requests - k->requests,
		.errors = c->errors - k->errors,
		.bytes_in = c->bytes_in - k->bytes_in,
		.bytes_out = c->bytes_out - k->bytes_out,
		.ns = c->busy_ns - k->busy_ns,
		.handed = c->handed - k->handed,
	};
	/* One that ended between the two that were read is in the next step. */
	if (service_ns > k->service_ns) {
		out->service_ns = service_ns - k->service_ns;
		k->service_ns = service_ns;
	}
	for (size_t i = 0; i < ACCOUNT_N_COLUMNS; i++) {
		out->time_ns[i] = c->ns[i] - k->ns[i];
		k->ns[i] += out->time_ns[i];
	}
	for (size_t i = 0; i < AFS_REQUEST_BUCKETS; i++) {
		out->hist[i] = c->hist[i] - k->hist[i];
		k->hist[i] += (uint32_t)out->hist[i];
	}
	k->requests = c->requests;
	k->errors = c->errors;
	k->bytes_in = c->bytes_in;
	k->bytes_out = c->bytes_out;
	k->busy_ns = c->busy_ns;
	k->handed = c->handed;
	k->denied = c->denied;
	k->habit = *c->habit;
	k->asking = *c->asking;
}

static void label_row(struct live_row *r, const struct live_known *k, const char *host, pid_t pid)
{
	if (r->pid)
		return;
	r->user = k->label.user ? strdup(k->label.user) : NULL;
	r->client = host[0] ? strdup(host) : NULL;
	r->volume = k->volume ? strdup(k->volume) : NULL;
	r->pid = pid;
}

static void rows_add(struct live *l, const struct live_known *k, const struct watch_connection *c,
		     const struct live_sum *sum)
{
	const struct run_session *s = &k->label;
	char host[LIVE_NAME_MAX], session[LIVE_NAME_MAX];
	const char *name[LIVE_N] = {
		[LIVE_USER] = s->user ? s->user : "",
		[LIVE_CLIENT] = host,
		[LIVE_VOLUME] = k->volume ? k->volume : "",
		[LIVE_SESSION] = session,
	};
	struct live_row *r;

	live_host(s->address, host, sizeof(host));
	snprintf(session, sizeof(session), "%s %s (%d)", s->user ? s->user : "-",
		 s->address ? s->address : "-", c->pid);
	for (int by = 0; by < LIVE_N; by++) {
		r = name[by] ? live_row_add(l->now[by], name[by], sum) : NULL;
		if (r)
			serve_add(c, l->step[0].ended_ns, &r->in_service, &r->oldest_ns);
		if (r && by == LIVE_SESSION)
			label_row(r, k, host, c->pid);
	}
}

static void keep_gone(struct live *l, struct live_known *k)
{
	struct run_session *s;

	if (l->n_gone == GONE_MAX)
		return;
	s = &l->gone[l->n_gone++];
	*s = k->label;
	live_since_noted(k, s);
	k->label = (struct run_session) { 0 };
}

static void take_connection(void *user, const struct watch_connection *c)
{
	struct live *l = user;
	struct live_known *k = &l->known[c->id % WATCH_CONNECTIONS];
	uint64_t now = clock_now_ns();
	struct live_sum sum;
	bool active;

	if (k->id != c->id)
		known_clear(k);
	k->id = c->id;
	l->step[0].ended_ns = now;
	known_step(k, c, now, &sum);
	if (sum.requests || c->since_ns || c->ended || !k->labelled_ns)
		live_label(l, k, c, now);
	rows_add(l, k, c, &sum);
	active = sum.requests || c->since_ns;
	l->step[0].active += active;
	if (c->ended) {
		l->step[0].sessions += active;
		keep_gone(l, k);
		if (l->files)
			files_end(l->files, (uint32_t)c->pid);
		known_clear(k);
		return;
	}
	serve_add(c, now, &l->step[0].in_service, &l->step[0].oldest_ns);
}

/* Records */

static bool record_is_error(const struct afs_record_requests *r)
{
	return r->result && r->result != account_normal_result(NULL, r->command);
}

static void take_request(struct live *l, const struct afs_record_requests *r)
{
	size_t i = hist_index(r->time_ns, AFS_REQUEST_BITS);
	char name[FILES_NAME_MAX];
	struct live_sum sum = { .requests = 1,
				.errors = record_is_error(r),
				.bytes_in = r->bytes_in,
				.bytes_out = r->bytes_out,
				.ns = r->time_ns };
	uint64_t parts = 0, since = r->timestamp - l->step[0].begun_ns;

	/* The rest was in service in earlier steps. */
	sum.service_ns = r->time_ns < since ? r->time_ns : since;
	sum.hist[i < AFS_REQUEST_BUCKETS ? i : AFS_REQUEST_BUCKETS - 1] = 1;
#define X(type, name, unit, meaning)                                                               \
	sum.time_ns[AFS_COLUMN_##name] = r->name;                                                  \
	parts += r->name;
	AFS_COLUMNS(X)
#undef X
	sum.handed = r->time_ns && !parts;
	files_request(l->files, r, name);
	live_row_add(l->now[LIVE_FILE], name, &sum);
}

static void take_record(void *user, unsigned int stream, const void *record)
{
	struct live *l = user;

	const struct afs_record_requests *r = record;

	if (stream == AFS_STREAM_REQUESTS && r->timestamp >= l->begun_ns)
		take_request(l, r);
	else if (stream == AFS_STREAM_NAMES)
		files_named(l->files, record);
}

struct watch_sink live_sink(struct live *l)
{
	return (struct watch_sink) {
		.what = AFS_TRACE_LIVE | AFS_TRACE_ASKED |
			(l->files ? AFS_TRACE_SMALL | AFS_TRACE_NAMES : 0),
		.user = l,
		.put = take_record,
		.ended = take_connection,
	};
}

/* Steps */

/*
 * Of a kind that says by which requests clients log in: how many have ended that. A reading may
 * have the result of an answer that it does not have.
 */
static uint64_t logins_until(const struct account_names *names, const struct ledger *now)
{
	const struct ledger_account *a = ledger_account(now, names->login);
	uint64_t errors = requests_errors(now, names, names->login), steps;

	steps = a && a->sum.errors > errors ? a->sum.errors - errors : 0;
	return a && a->sum.answered > steps ? a->sum.answered - steps : 0;
}

static uint64_t live_logins(struct live *l, const struct ledger *now, const struct request *q)
{
	const struct account_names *names = l->opts.names;
	const char *name = account_known_name(q->number);
	uint64_t told = l->logins, n;

	if (!names)
		return name && (!strcmp(name, "FPLogin") || !strcmp(name, "FPLoginExt"))
			   ? q->a.sum.answered
			   : 0;
	if (!names->login || q->number != names->login)
		return 0;
	n = logins_until(names, now);
	l->logins = n > told ? n : told;
	return l->logins - told;
}

static void request_row(struct live *l, const struct ledger *now, const struct request *q,
			struct live_sum *all)
{
	char name[ACCOUNT_NAME_MAX];
	struct live_sum sum = {
		.requests = q->a.sum.answered,
		.errors = live_errors_since(&l->errors, now, q->number),
		.bytes_in = q->a.sum.bytes_in,
		.bytes_out = q->a.sum.bytes_out,
		.ns = q->a.sum.ns,
		.service_ns = q->service_ns,
		.handed = q->a.sum.handed,
	};

	memcpy(sum.time_ns, q->time_ns, sizeof(sum.time_ns));
	memcpy(sum.hist, q->a.hist, sizeof(sum.hist));
	/* What such requests wait for is no work of the server. */
	if (account_is_idle(l->opts.names, q->number))
		sum = (struct live_sum) { .requests = sum.requests,
					  .errors = sum.errors,
					  .bytes_in = sum.bytes_in,
					  .bytes_out = sum.bytes_out };
	live_row_add(l->now[LIVE_COMMAND], account_name_of(l->opts.names, q->number, name), &sum);
	live_sum_add(all, &sum);
	l->step[0].logins += live_logins(l, now, q);
}

static uint64_t cpu_of(const struct ledger *l, enum afs_role role)
{
	return ledger_part_sum(l, role, LEDGER_ALL, LEDGER_ALL, LEDGER_ALL).cpu_ns;
}

static int commands_step(struct live *l, const struct ledger *now, const struct ledger *diff)
{
	struct requests all;
	int r = requests_init(&all, diff);

	if (r)
		return r;
	for (size_t i = 0; i < all.n; i++)
		request_row(l, now, &all.request[i], &l->step[0].all);
	requests_fini(&all);
	l->step[0].has_requests = true;
	l->step[0].server_cpu_ns = cpu_of(diff, AFS_ROLE_SERVER) + cpu_of(diff, AFS_ROLE_HELPER);
	l->step[0].backend_cpu_ns = cpu_of(diff, AFS_ROLE_BACKEND);
	return 0;
}

/* Also those of which nothing was read yet. One that has just ended may be in neither. */
static void sessions_step(struct live *l)
{
	struct live_step *s = &l->step[0];
	struct watch_state now;

	if (watch_state(l->w, &now))
		s->sessions += now.sessions;
	if (s->sessions < s->active)
		s->sessions = s->active;
}

static int losses_step(struct live *l)
{
	struct run r;
	int e = run_init(&r, "live", "live");

	e = e ? e : watch_losses(l->w, &r);
	l->step[0].lost = run_losses(&r);
	run_fini(&r);
	return e;
}

int live_begin(struct live *l, struct watch *w)
{
	int r;

	l->w = w;
	watch_connections(w, take_connection, l);
	for (size_t i = 0; i < LIVE_N; i++)
		live_table_clear(l->now[i]);
	for (size_t i = 0; i < WATCH_CONNECTIONS; i++)
		live_known_noted(&l->known[i]);
	watch_span(w);
	l->begun_ns = l->noted_ns = clock_now_ns();
	l->step[0] = (struct live_step) { .begun_ns = l->noted_ns };
	r = watch_glance(w, &l->before);
	if (!r)
		live_errors_begin(&l->errors, l->opts.names, &l->before);
	if (!r && l->opts.names && l->opts.names->login)
		l->logins = logins_until(l->opts.names, &l->before);
	return r ? r : ledger_add(&l->noted, &l->before);
}

int live_wait(struct live *l, int timeout_ms)
{
	const struct timespec pause = { .tv_sec = timeout_ms / 1000,
					.tv_nsec = timeout_ms % 1000 * 1000000 };

	if (l->files)
		return watch_pull(l->w, timeout_ms);
	nanosleep(&pause, NULL);
	return 0;
}

static void swap_tables(struct live *l)
{
	struct live_table *t;

	for (size_t i = 0; i < LIVE_N; i++) {
		t = l->last[i];
		l->last[i] = l->now[i];
		l->now[i] = t;
		live_table_clear(t);
	}
}

int live_step(struct live *l)
{
	struct ledger after = { 0 }, diff = { 0 };
	int r = l->files ? watch_pull(l->w, 0) : 0;

	watch_tick(l->w);
	watch_connections(l->w, take_connection, l);
	sessions_step(l);
	r = r ? r : watch_glance(l->w, &after);
	r = r ? r : ledger_diff(&diff, &after, &l->before);
	if (!r && diff.has_requests)
		r = commands_step(l, &after, &diff);
	ledger_fini(&diff);
	r = r ? r : losses_step(l);
	if (r) {
		ledger_fini(&after);
		return r;
	}
	ledger_fini(&l->before);
	l->before = after;
	swap_tables(l);
	l->step[0].ended_ns = clock_now_ns();
	l->step[1] = l->step[0];
	l->step[0] = (struct live_step) { .begun_ns = l->step[1].ended_ns };
	return 0;
}

const struct live_step *live_last(const struct live *l)
{
	return &l->step[1];
}

const struct live_table *live_rows(const struct live *l, enum live_by by)
{
	return l->last[by];
}
