/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process that watches: finds the server, watches it as long as it lives, looks for the next
 * one, adds up what they did, and answers those that have the metrics read or written.
 */
#include "afp/afp.h"
#include "attach/attach.h"
#include "base/clock.h"
#include "exporter/exporter.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TICK_MS     100
#define NS_PER_MS   1000000u
#define NS_PER_S    1000000000u
#define POLL_MS     500
#define LOOK_MS     1000  /* between two looks for a server */
#define OFF_MS      10000 /* where it cannot be watched */
#define PAUSE_MS    1000  /* before the next watch, after a short one */
#define END_TICKS   10    /* for sessions that outlive the process that accepted them */
#define ANSWER_MS   2000
#define NO_WATCH_NS (10ull * NS_PER_S) /* --once: the longest wait for a server */

struct watcher {
	const struct exporter_cfg *cfg;
	struct exporter_child *child;
	struct tally tally;
	struct attach a; /* one life of the server after the other */
	uint64_t created_ms, begun_ns;
	uint64_t unwatched_ns,
	    ended_ns;            /* without a watch, up to the last; when that ended, or 0 */
	const struct kind *kind; /* of the server that was watched first, NULL: none was yet */
	uint32_t owner;          /* its, */
	bool has_owner;          /* if one was */
	bool over;
	enum outcome outcome; /* once it is over */
	/* Of one life of the server: */
	char server[TALLY_TEXT_MAX];
	int said; /* why there is no server */
};

/* The first reason counts. */
static void exporter_watch_end(struct watcher *w, enum outcome o)
{
	if (!w->over)
		w->outcome = o;
	w->over = true;
}

static void exporter_watch_lack_memory(struct watcher *w)
{
	cmd_say("out of memory");
	exporter_watch_end(w, OUTCOME_FAILED);
}

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
		if (l->n_parts || w->a.found.target.whole || !watch_times(w->a.watch, role, &times))
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
	int e = watch_losses(w->a.watch, &run);

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
	e = watch_glance(w->a.watch, &r->ledger);
	e = e ? e : take_losses(w, r);
	if (e)
		return e;
	snprintf(r->rung, sizeof(r->rung), "%s", watch_rung(w->a.watch));
	memcpy(r->server, w->server, sizeof(r->server));
	r->port = attach_port(&w->a, w->cfg->whom.port);
	exporter_watch_take_times(w, r);
	take_io(r);
	watch_state(w->a.watch, &state);
	r->sessions = state.sessions;
	if (state.has_checks) {
		exporter_watch_set(r, TALLY_AGREE, state.agree);
		exporter_watch_set(r, TALLY_DISAGREE, state.disagree);
	}
	if (watch_price(w->a.watch, &ns))
		exporter_watch_set(r, TALLY_PROGRAMS_NS, ns);
	return 0;
}

static int exporter_watch_read(struct watcher *w)
{
	struct tally_reading *r = malloc(sizeof(*r));
	int e = r ? exporter_watch_take(w, r) : -ENOMEM;

	e = e ? e : tally_take(&w->tally, r);
	if (r)
		ledger_fini(&r->ledger);
	free(r);
	return e;
}

/* Others */

static int exporter_watch_page(struct watcher *w, struct exporter_page *out)
{
	const struct openmetrics_style style = {
		.created_ms = w->created_ms,
		.own_ns = guard_own_ns() + w->a.guard.others_ns,
		.unwatched_ns = w->unwatched_ns + (w->ended_ns ? clock_now_ns() - w->ended_ns : 0),
		.port = w->cfg->whom.port,
		.name = w->cfg->label,
		.kind = w->kind ? &w->kind->is : NULL,
	};
	int e = w->a.watch ? exporter_watch_read(w) : 0;

	e = e ? e : exporter_page_make(out, &w->tally, style);
	if (e)
		exporter_watch_lack_memory(w);
	return e;
}

static void exporter_watch_lose(struct watcher *w, enum exporter_helper which)
{
	close(w->child[which].socket);
	w->child[which].socket = -1;
	if (which == EXPORTER_FILE)
		cmd_say("the process that writes the file has ended: start the exporter again");
	exporter_watch_end(w, OUTCOME_FAILED);
}

static void exporter_watch_tell(struct watcher *w, enum exporter_helper which)
{
	struct exporter_page page;

	if (w->child[which].socket < 0 || exporter_watch_page(w, &page))
		return;
	if (exporter_page_send(&page, w->child[which].socket))
		exporter_watch_lose(w, which);
	free(page.text);
}

static void exporter_watch_answer(struct watcher *w, enum exporter_helper which)
{
	uint64_t ns;
	ssize_t n = recv(w->child[which].socket, &ns, sizeof(ns), MSG_DONTWAIT);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n != (ssize_t)sizeof(ns)) {
		exporter_watch_lose(w, which);
		return;
	}
	w->a.guard.others_ns += ns - w->child[which].used_ns;
	w->child[which].used_ns = ns;
	exporter_watch_tell(w, which);
}

static void exporter_watch_look_at_clock(struct watcher *w)
{
	uint64_t now = clock_now_ns(), interval_ns = (uint64_t)w->cfg->interval_s * NS_PER_S;

	if (cmd_stop)
		exporter_watch_end(w, OUTCOME_OK);
	if (!w->cfg->once || w->over ||
	    (w->a.begun_ns ? now - w->a.begun_ns < interval_ns : now - w->begun_ns < NO_WATCH_NS))
		return;
	exporter_watch_tell(w, EXPORTER_FILE);
	exporter_watch_end(w, w->tally.up ? OUTCOME_OK : OUTCOME_NO_SESSION);
}

/* Answers meanwhile. */
static int exporter_watch_until(void *user, uint64_t until_ns)
{
	struct watcher *w = user;
	struct pollfd fd[EXPORTER_HELPERS];
	uint64_t now, left_ms;

	while (!w->over && (now = clock_now_ns()) < until_ns) {
		for (unsigned int i = 0; i < EXPORTER_HELPERS; i++)
			fd[i] = (struct pollfd) { .fd = w->child[i].socket, .events = POLLIN };
		left_ms = (until_ns - now) / NS_PER_MS + 1;
		if (poll(fd, EXPORTER_HELPERS, left_ms < POLL_MS ? (int)left_ms : POLL_MS) > 0)
			for (unsigned int i = 0; i < EXPORTER_HELPERS; i++)
				if (fd[i].revents)
					exporter_watch_answer(w, i);
		exporter_watch_look_at_clock(w);
	}
	return 0;
}

static void exporter_watch_wait(struct watcher *w, unsigned int ms)
{
	exporter_watch_until(w, clock_now_ns() + (uint64_t)ms * NS_PER_MS);
}

/* Begin */

/* What one of AFP says of itself: "Netatalk4.5.1". Asked before the watch begins, so it is not
 * counted. */
static void ask_version(struct watcher *w)
{
	const struct servers_entry *s = w->a.found.servers.n ? &w->a.found.servers.entry[0] : NULL;
	char port[8];
	bool any = s &&
		   (!s->address[0] || !strcmp(s->address, "::") || !strcmp(s->address, "0.0.0.0"));
	struct dsi_opts opts = { .window = 1, .timeout_ms = ANSWER_MS, .port = port };
	struct afp_server *info = malloc(sizeof(*info));
	struct err e = { 0 };

	if (info && s && s->n_ports && !s->elsewhere &&
	    w->a.found.target.decoder == AFS_DECODER_DSI) {
		snprintf(port, sizeof(port), "%u", s->port[0]);
		opts.host = any ? "127.0.0.1" : s->address;
		if (!afp_server_info(info, &opts, &e))
			snprintf(w->server, sizeof(w->server), "%.*s", TALLY_TEXT_MAX - 1,
				 info->machine);
	}
	free(info);
}

/* Looks until there is one. false: it is over. */
static bool exporter_watch_find(struct watcher *w)
{
	const struct kind_wish wish = { .port = w->cfg->whom.port,
					.pid = w->cfg->whom.pid,
					.owner = w->has_owner ? &w->owner : NULL };
	struct err e;
	int r;

	for (; !w->over; exporter_watch_wait(w, LOOK_MS)) {
		r = attach_find_again(&w->a, w->kind, &wish, &e);
		if (!r) {
			w->kind = w->a.found.kind;
			w->tally.names = run_kind_accounts(&w->kind->is);
			w->owner = w->a.found.owner;
			w->has_owner = true;
			return true;
		}
		if (r != -ECHILD && wish.pid) {
			cmd_say("%s", e.text);
			exporter_watch_end(w, OUTCOME_NO_SESSION);
		} else if (w->said != r) {
			/* Once for each reason: the other servers that it names change often. */
			cmd_say("%s; looking again every second", e.text);
			w->said = r;
		}
	}
	return false;
}

/* false: it cannot be watched now. */
static bool exporter_watch_open(struct watcher *w)
{
	const struct watch_opts opts = {
		.mode = (enum watch_mode)w->cfg->watch,
		.sink = { .totals_only = true },
	};
	struct err e = { 0 };
	int r;

	ask_version(w);
	r = attach_open(&w->a, &opts, false, &e);
	if (!r && watch_rung(w->a.watch))
		return true;
	cmd_say("%s; trying again every %d seconds", r ? e.text : watch_why_off(w->a.watch),
		OFF_MS / 1000);
	attach_close(&w->a);
	if (r == -ENOMEM)
		exporter_watch_end(w, OUTCOME_FAILED);
	exporter_watch_wait(w, OFF_MS);
	return false;
}

/* Time */

/* How many do not end soon. They are not watched any more: the next server is looked for. */
static uint64_t wait_for_sessions(struct watcher *w)
{
	struct watch_state state;

	for (int i = 0; i < END_TICKS && watch_state(w->a.watch, &state) && state.sessions; i++) {
		exporter_watch_wait(w, TICK_MS);
		watch_tick(w->a.watch);
	}
	return watch_state(w->a.watch, &state) ? state.sessions : 0;
}

static void say_ended(struct watcher *w)
{
	uint64_t left = wait_for_sessions(w);

	if (left)
		cmd_say(
		    "process %d has ended; sessions of it that go on are not counted until it is there again: %" PRIu64,
		    w->a.found.target.server, left);
	else
		cmd_say("process %d has ended", w->a.found.target.server);
}

static bool exporter_watch_is_over(void *user)
{
	return ((const struct watcher *)user)->over;
}

static void exporter_watch_work(struct watcher *w)
{
	static const struct attach_steps steps = { .wait = exporter_watch_until,
						   .is_over = exporter_watch_is_over };

	attach_begin(&w->a, w->cfg->max_cpu, 0);
	w->unwatched_ns += clock_now_ns() - w->ended_ns;
	w->ended_ns = 0;
	exporter_watch_tell(w, EXPORTER_HTTP);
	cmd_say("watching process %d (%s)%s%s", w->a.found.target.server, watch_rung(w->a.watch),
		*w->a.found.note ? ": " : "", w->a.found.note);
	if (*w->a.found.doubt)
		cmd_say("%s", w->a.found.doubt);
	attach_loop(&w->a, &steps, w);
	w->ended_ns = clock_now_ns();
	attach_say_costly(&w->a);
	if (cmd_stop || w->a.costly)
		exporter_watch_end(w, OUTCOME_OK);
	if (w->over)
		return;
	say_ended(w);
	if (w->cfg->whom.pid)
		exporter_watch_end(w, OUTCOME_OK);
}

/* One life of the server, with the wait for it. */
static void exporter_watch_life(struct watcher *w)
{
	w->said = 0;
	w->server[0] = '\0';
	if (exporter_watch_find(w) && exporter_watch_open(w)) {
		exporter_watch_work(w);
		if (exporter_watch_read(w) || tally_end(&w->tally))
			exporter_watch_lack_memory(w);
		attach_close(&w->a);
		exporter_watch_tell(w, EXPORTER_HTTP);
	}
	attach_close(&w->a);
}

enum outcome exporter_watch(const struct exporter_cfg *cfg,
			    struct exporter_child child[EXPORTER_HELPERS])
{
	struct watcher w = { .cfg = cfg, .child = child, .begun_ns = clock_now_ns() };
	uint64_t begun_ns;

	w.ended_ns = w.begun_ns;
	w.created_ms = (uint64_t)(clock_wall_ns() / NS_PER_MS);
	exporter_watch_tell(&w, EXPORTER_HTTP);
	while (!w.over) {
		begun_ns = clock_now_ns();
		exporter_watch_life(&w);
		if (clock_now_ns() - begun_ns < PAUSE_MS * (uint64_t)NS_PER_MS)
			exporter_watch_wait(&w, PAUSE_MS);
	}
	if (!cfg->once)
		exporter_watch_tell(&w, EXPORTER_FILE);
	tally_fini(&w.tally);
	return w.outcome;
}
