/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process that watches: finds the server, begins, drops rights, and reads when it is asked. */
#include "afp/afp.h"
#include "app/cmd.h"
#include "attach/comeback.h"
#include "attach/guard.h"
#include "base/clock.h"
#include "exporter/exporter.h"
#include "host/rights.h"
#include "kinds/kind.h"
#include "watch/watch.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TICK_MS   100
#define NS_PER_MS 1000000u
#define LOOK_MS   1000  /* between two looks for a server */
#define OFF_MS    10000 /* where it cannot be watched */
#define END_TICKS 10    /* for sessions that outlive the process that accepted them */
#define ANSWER_MS 2000
#define TEXT_MAX  300

struct watcher {
	const struct exporter_cfg *cfg;
	int socket;
	struct kind_found found;
	struct watch *watch;
	struct guard guard;
	char server[TALLY_TEXT_MAX];
	int said;            /* why there is no server */
	uint64_t serving_ns; /* CPU time of the process that asks */
};

/* Reading */

static void exporter_watch_set(struct tally_reading *r, unsigned int i, uint64_t n)
{
	r->known[i] = true;
	r->n[i] = n;
}

/*
 * Of all threads, where every moment is in a part. Else /proc shows that of one session; of a whole
 * server not, whose processes come and go.
 */
static void exporter_watch_take_times(struct watcher *w, struct tally_reading *r)
{
	const struct ledger *l = &r->ledger;
	struct procfs_times times;

	for (unsigned int role = 0; role < AFS_N_ROLES; role++) {
		if (l->n_parts || w->found.target.whole || !watch_times(w->watch, role, &times))
			continue;
		exporter_watch_set(r, TALLY_CPU_NS + role, times.cpu_ns);
		exporter_watch_set(r, TALLY_RUNQ_NS + role, times.runq_ns);
	}
	for (size_t i = 0; i < l->n_parts; i++) {
		const struct ledger_part *p = &l->part[i];

		exporter_watch_set(r, TALLY_CPU_NS + p->role,
				   r->n[TALLY_CPU_NS + p->role] + p->part.cpu_ns);
		exporter_watch_set(r, TALLY_RUNQ_NS + p->role,
				   r->n[TALLY_RUNQ_NS + p->role] + p->part.runq_ns);
	}
}

static void take_io(struct tally_reading *r)
{
	for (unsigned int role = 0; role < AFS_N_ROLES; role++) {
		const struct afs_compat *c = &r->ledger.compat[role];
		unsigned int at = TALLY_IO + TALLY_N_IO * role;

		if (!r->ledger.has_compat[role])
			continue;
		exporter_watch_set(r, at + TALLY_READS, c->syscr);
		exporter_watch_set(r, at + TALLY_WRITES, c->syscw);
		exporter_watch_set(r, at + TALLY_READ_BYTES, c->rchar);
		exporter_watch_set(r, at + TALLY_WRITTEN_BYTES, c->wchar);
	}
}

static int take_losses(struct watcher *w, struct tally_reading *r)
{
	struct run run = { 0 };
	int e = watch_losses(w->watch, &run);

	for (size_t i = 0; i < run.n_losses; i++)
		tally_lose(r, run.loss[i].what, run.loss[i].n);
	if (r->ledger.has_requests)
		exporter_watch_set(r, TALLY_REFUSED, run.refused);
	run_fini(&run);
	return e;
}

static int exporter_watch_take(struct watcher *w, struct tally_reading *r)
{
	struct watch_state state;
	uint64_t ns;
	int e;

	*r = (struct tally_reading) { 0 };
	e = watch_glance(w->watch, &r->ledger);
	e = e ? e : take_losses(w, r);
	if (e)
		return e;
	snprintf(r->rung, sizeof(r->rung), "%s", watch_rung(w->watch));
	memcpy(r->server, w->server, sizeof(r->server));
	r->port = comeback_port(&w->found, w->cfg->whom.port);
	exporter_watch_take_times(w, r);
	take_io(r);
	watch_state(w->watch, &state);
	r->sessions = state.sessions;
	if (state.has_checks) {
		exporter_watch_set(r, TALLY_AGREE, state.agree);
		exporter_watch_set(r, TALLY_DISAGREE, state.disagree);
	}
	if (watch_price(w->watch, &ns))
		exporter_watch_set(r, TALLY_PROGRAMS_NS, ns);
	exporter_watch_set(r, TALLY_OWN_NS, guard_own_ns());
	return 0;
}

static int send_reading(struct watcher *w)
{
	struct tally_reading *r = malloc(sizeof(*r));
	int e = r ? exporter_watch_take(w, r) : -ENOMEM;

	if (!e)
		e = exporter_send(w->socket, r);
	if (r)
		ledger_fini(&r->ledger);
	free(r);
	return e;
}

/* Begin */

/* What it says of itself: "Netatalk4.5.1". Asked before the watch begins, so it is not counted. */
static void ask_version(struct watcher *w)
{
	const struct servers_entry *s = w->found.servers.n ? &w->found.servers.entry[0] : NULL;
	char port[8];
	bool any = s &&
		   (!s->address[0] || !strcmp(s->address, "::") || !strcmp(s->address, "0.0.0.0"));
	struct dsi_opts opts = { .window = 1, .timeout_ms = ANSWER_MS, .port = port };
	struct afp_server *info = malloc(sizeof(*info));
	struct err e = { 0 };

	if (info && s && s->n_ports && !s->elsewhere) {
		snprintf(port, sizeof(port), "%u", s->port[0]);
		opts.host = any ? "127.0.0.1" : s->address;
		if (!afp_server_info(info, &opts, &e))
			snprintf(w->server, sizeof(w->server), "%.*s", TALLY_TEXT_MAX - 1,
				 info->machine);
	}
	free(info);
}

/* One message for each reason: the list of other servers in it changes again and again. */
static void exporter_watch_say_once(struct watcher *w, int code, const char *text)
{
	if (w->said != code)
		cmd_say("%s; looking again every second", text);
	w->said = code;
}

/* Looks until there is one. -ESRCH: a certain process is to be watched, and is not there. */
static int exporter_watch_find(struct watcher *w)
{
	const uint32_t owner = *w->cfg->owner - 1;
	const struct kind_wish wish = { .port = w->cfg->whom.port,
					.pid = w->cfg->whom.pid,
					.owner = *w->cfg->owner ? &owner : NULL };
	struct err e = { 0 };
	int r;

	for (;;) {
		r = comeback_find(&w->found, kind_at(0), &wish, &e);
		if (!r) {
			*w->cfg->owner = w->found.owner + 1;
			return 0;
		}
		if (r != -ECHILD && wish.pid) {
			cmd_say("%s", e.text);
			return -ESRCH;
		}
		exporter_watch_say_once(w, r, e.text);
		poll(NULL, 0, LOOK_MS);
	}
}

static int exporter_watch_begin(struct watcher *w)
{
	const struct watch_opts opts = {
		.mode = (enum watch_mode)w->cfg->watch,
		.sink = { .totals_only = true },
	};
	struct err e = { 0 };
	int r = exporter_watch_find(w);

	if (r)
		return r;
	ask_version(w);
	r = watch_open_traced(&w->watch, &opts, &w->found.target, &e);
	if (r || !watch_rung(w->watch)) {
		cmd_say("%s; trying again every %d seconds", r ? e.text : watch_why_off(w->watch),
			OFF_MS / 1000);
		poll(NULL, 0, OFF_MS);
		return r == -ENOMEM ? r : -EAGAIN;
	}
	guard_begin(&w->guard, w->cfg->max_cpu, w->watch);
	cmd_note_rights(rights_drop(0), NULL);
	cmd_say("watching process %d (%s)%s%s", w->found.target.server, watch_rung(w->watch),
		*w->found.note ? ": " : "", w->found.note);
	return send_reading(w);
}

/* Time */

static bool is_costly(struct watcher *w)
{
	uint64_t programs = 0;

	w->guard.knows_programs = watch_price(w->watch, &programs);
	return guard_judge(&w->guard, clock_now_ns(), guard_own_ns() + w->serving_ns + programs);
}

/* Waits for a tick, and answers meanwhile. */
static int exporter_watch_answer(struct watcher *w)
{
	uint64_t now = clock_now_ns(), end = now + TICK_MS * NS_PER_MS;
	struct pollfd fd = { .fd = w->socket, .events = POLLIN };
	struct exporter_ask ask;
	ssize_t n;
	int e = 0;

	for (; now < end && !e; now = clock_now_ns()) {
		if (poll(&fd, 1, (int)((end - now) / NS_PER_MS) + 1) <= 0)
			continue;
		n = recv(w->socket, &ask, sizeof(ask), MSG_WAITALL);
		if (n != (ssize_t)sizeof(ask))
			return n < 0 && errno == EINTR ? 0 : -EPIPE;
		w->serving_ns = ask.own_ns;
		e = send_reading(w);
	}
	return e;
}

/* How many do not end soon. They are not watched any more: the next server is looked for. */
static uint64_t wait_for_sessions(struct watcher *w)
{
	struct watch_state state;

	for (int i = 0; i < END_TICKS && watch_state(w->watch, &state) && state.sessions; i++) {
		poll(NULL, 0, TICK_MS);
		watch_tick(w->watch);
	}
	return watch_state(w->watch, &state) ? state.sessions : 0;
}

static void say_ended(struct watcher *w)
{
	uint64_t left = wait_for_sessions(w);

	if (left)
		cmd_say(
		    "process %d has ended; sessions of it that go on are not counted until it is there again: %" PRIu64,
		    w->found.target.server, left);
	else
		cmd_say("process %d has ended", w->found.target.server);
}

static int exporter_watch_work(struct watcher *w)
{
	char text[GUARD_TEXT_MAX];
	int e = 0;

	while (!e && watch_lives(w->watch)) {
		e = exporter_watch_answer(w);
		watch_tick(w->watch);
		if (is_costly(w)) {
			cmd_say("%s", guard_text(&w->guard, text));
			return EXPORTER_COSTLY;
		}
	}
	if (e)
		return e == -ENOMEM ? EXPORTER_FAILED : EXPORTER_AGAIN;
	say_ended(w);
	send_reading(w);
	return w->cfg->whom.pid ? EXPORTER_GONE : EXPORTER_AGAIN;
}

int exporter_watch(const struct exporter_cfg *cfg, int socket)
{
	struct watcher w = { .cfg = cfg, .socket = socket };
	int r;

	cmd_allow_files();
	r = exporter_watch_begin(&w);
	if (!r)
		r = exporter_watch_work(&w);
	else
		r = r == -ENOMEM ? EXPORTER_FAILED : r == -ESRCH ? EXPORTER_NONE : EXPORTER_AGAIN;
	watch_free(w.watch);
	kind_found_fini(&w.found);
	return r;
}
