/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the server's processes, chooses a rung, and notes which one and why. */

#include "watch/watch_priv.h"

#include "base/clock.h"
#include "base/vec.h"
#include "host/proc/procfs.h"
#include "kinds/kind.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIFFER_MAX 5 /* times */

/* Of a server that is never quiet, at each border of a phase: time for some looks. */
#define SETTLE_LEAST_NS 1000000u

/* How often it is looked whether the process that starts backends was started anew. */
#define METAD_NS 1000000000u

/* Its number is not another one's. */
static bool watch_is_there(const struct target_process *p, struct procstat *st)
{
	return !p->ended && !procstat_read(st, p->pid) && st->started == p->started;
}

static bool lives(const struct target_process *p)
{
	struct procstat st;

	return watch_is_there(p, &st) && procstat_lives(&st);
}

/* The server and its backends, in the target's places: those of other sessions are free. */
static void add_processes(struct watch *w)
{
	const struct target_process *is;
	struct watch_process *p;

	for (size_t i = 0; i < w->t.n; i++) {
		is = &w->t.process[i];
		p = &w->process[i];
		if (i && is->role != AFS_ROLE_BACKEND)
			continue;
		if (p->is.pid != is->pid || p->is.started != is->started) {
			p->tasks.begun = false;
			p->has_times = !tasks_look(&p->tasks, is->pid);
		}
		p->is = *is;
	}
	w->n = w->t.n;
}

static int take_bpf(struct watch *w, struct err *e)
{
	const struct bpf_load_wish wish = {
		.decoder = w->t.decoder,
		.any_order = w->t.any_order,
		.parks = w->t.parks,
		.files = w->t.files,
		.accounts = w->t.accounts,
		.sink = &w->sink,
	};
	int r = bpf_rung_open(&w->bpf, &wish, e);

	r = r ? r : bpf_rung_look(w->bpf, &w->t, 0, e);
	if (!r) {
		w->rung = "bpf";
		return 0;
	}
	bpf_rung_free(w->bpf);
	w->bpf = NULL;
	return r;
}

/* The highest rung that mode allows; -errno when the one it asks for is not available. */
static int watch_climb(struct watch *w, enum watch_mode mode, struct err *e)
{
	const struct err *why = &w->no_bpf;
	int r = mode == WATCH_PROC ? 0 : take_bpf(w, &w->no_bpf);

	if (mode == WATCH_PROC || (r && mode == WATCH_AUTO)) {
		why = &w->no_proc;
		r = procio_look(&w->proc, &w->t, &w->no_proc);
		w->rung = r ? NULL : "proc";
	}
	if (r && mode != WATCH_AUTO)
		return err_set(e, r, "cannot watch the server (%s): %s",
			       mode == WATCH_PROC ? "proc" : "bpf", why->text);
	if (r)
		snprintf(w->off, sizeof(w->off), "%s", why->text);
	return 0;
}

/* Watches what was found since the last look; begun_ns as for bpf_rung_look. */
static void look_again(struct watch *w, uint64_t begun_ns)
{
	if (w->bpf)
		bpf_rung_look(w->bpf, &w->t, begun_ns, &w->look);
	else
		procio_look(&w->proc, &w->t, &w->look);
	add_processes(w);
}

int watch_open_traced(struct watch **out, const struct watch_opts *opts, const struct target *t,
		      struct err *e)
{
	struct watch *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return err_set(e, -ENOMEM, "out of memory");
	w->t = *t;
	if (t->foreign)
		procfs_thread_name(w->foreign, sizeof(w->foreign), t->server, t->server);
	w->sink = opts->sink;
	target_look(&w->t);
	r = watch_climb(w, opts->mode, e);
	if (r) {
		watch_free(w);
		return r;
	}
	/* Sessions that began after the first look and before the server was watched. */
	if (w->rung) {
		target_look_children(&w->t);
		look_again(w, 0);
	}
	w->begun_ns = clock_now_ns();
	*out = w;
	return 0;
}

int watch_open_target(struct watch **out, enum watch_mode mode, const struct target *t,
		      struct err *e)
{
	const struct watch_opts opts = { .mode = mode };

	return watch_open_traced(out, &opts, t, e);
}

static int open_off(struct watch **out, const char *why, struct err *e)
{
	struct watch *w = calloc(1, sizeof(*w));

	if (!w)
		return err_set(e, -ENOMEM, "out of memory");
	snprintf(w->off, sizeof(w->off), "%s", why);
	*out = w;
	return 0;
}

int watch_find(struct target *out, const struct watch_opts *opts, struct err *e)
{
	int r = target_find(out, &opts->local, &opts->peer, e);

	for (int i = 0; r == -ENOTUNIQ && opts->differ && i < DIFFER_MAX; i++) {
		opts->differ(opts->user);
		*e = (struct err) { 0 };
		r = target_find(out, &opts->local, &opts->peer, e);
	}
	return r;
}

int watch_open(struct watch **out, const struct watch_opts *opts, struct err *e)
{
	struct sockaddr_storage local = opts->local, peer = opts->peer;
	struct err why = {};
	struct target t;
	int r;

	if (opts->mode == WATCH_OFF)
		return open_off(out, "not wanted", e);
	r = watch_find(&t, opts, &why);
	if (!r)
		r = watch_open_traced(out, opts, &t, e);
	else if (opts->mode != WATCH_BPF)
		r = open_off(out, why.text, e);
	else
		r = err_set(e, r, "cannot watch the server: %s", why.text);
	if (*t.way.through) {
		local = sockets_sockaddr(&t.way.end.remote);
		peer = sockets_sockaddr(&t.way.end.local);
	}
	/* If it fails, watch_tcp reports it. Where the server was refused, the end is another's. */
	if (!r && !(why.code && t.way.server))
		tcpdiag_open(&(*out)->tcp, &local, &peer);
	return r;
}

bool watch_tcp(struct watch *w, struct run_tcp *out)
{
	return tcpdiag_look(&w->tcp, out);
}

static void find_backends(struct watch *w, uint64_t begun_ns)
{
	if (!w->rung)
		return;
	if (w->bpf)
		bpf_rung_unserved(w->bpf);
	target_look(&w->t);
	target_look_metad(&w->t);
	look_again(w, begun_ns);
}

void watch_find_backends(struct watch *w)
{
	find_backends(w, 0);
}

bool watch_settle(struct watch *w)
{
	const uint64_t patience_ns = w->patience_ns ? w->patience_ns : WATCH_SETTLE_NS;

	if (!w->rung)
		return true;
	/* Where nothing ticks. */
	if (w->bpf && bpf_rung_unserved(w->bpf))
		find_backends(w, w->begun_ns);
	w->patience_ns = 0;
	if (w->bpf ? bpf_rung_settle(w->bpf, patience_ns) : procio_settle(&w->proc, patience_ns))
		return true;
	w->patience_ns = patience_ns / 4 > SETTLE_LEAST_NS ? patience_ns / 4 : SETTLE_LEAST_NS;
	w->unsettled++;
	return false;
}

/* The programs know the server's processes: nothing of /proc is read but their own files. */
static bool take_processes(struct watch *w)
{
	pid_t *pid = calloc(AFS_N_PROCESSES, sizeof(*pid));

	if (pid)
		target_set_sessions(&w->t, pid, bpf_rung_processes(w->bpf, pid));
	free(pid);
	return pid;
}

void watch_tick(struct watch *w)
{
	unsigned int new = w->bpf ? bpf_rung_tick(w->bpf) : 0;
	uint64_t now = clock_now_ns();

	/* A new one is asked by nobody that is watched: nothing tells of it. */
	if (w->rung && now - w->metad_ns >= METAD_NS) {
		w->metad_ns = now;
		if (target_look_metad(&w->t))
			look_again(w, w->begun_ns);
	}
	if (new &BPF_RUNG_BACKENDS || (new && !take_processes(w)) ||
	    (w->rung && !w->bpf && procio_tick(&w->proc)))
		find_backends(w, w->begun_ns);
}

/* Sessions of which only /proc is known. */
static uint64_t sessions_now(const struct target *t)
{
	const struct target_process *p;
	uint64_t n = 0;

	if (t->serves)
		return !t->process[0].ended;
	for (size_t at = 1; (p = target_next(t, AFS_ROLE_SERVER, &at));)
		n += lives(p);
	return n;
}

bool watch_state(struct watch *w, struct watch_state *out)
{
	*out = (struct watch_state) { 0 };
	if (w->bpf) {
		out->sessions = connections_now(&w->bpf->view);
		out->has_checks = true;
		books_sum(&w->bpf->books, &out->agree, &out->disagree);
	} else if (w->rung) {
		out->sessions = sessions_now(&w->t);
	}
	return w->rung;
}

uint16_t watch_client_port(const struct watch *w)
{
	return w->t.way.relayed ? w->t.way.end.remote.port : 0;
}

const struct target *watch_target(const struct watch *w)
{
	return &w->t;
}

const char *watch_rung(const struct watch *w)
{
	return w->rung;
}

pid_t watch_process(const struct watch *w, enum afs_role role, size_t *at)
{
	const struct target_process *p;
	struct procstat st;

	while (role <= AFS_ROLE_BACKEND && (p = target_next(&w->t, role, at)))
		if (watch_is_there(p, &st))
			return p->pid;
	return 0;
}

bool watch_has(const struct watch *w, pid_t pid, enum afs_role role)
{
	const struct afs_process *p = w->bpf ? bpf_view_find(&w->bpf->view, pid) : NULL;

	if (w->bpf)
		return p && p->role == role;
	return VEC_FIND(one, w->t.process, w->t.n,
			one->pid == pid && one->role == role && !one->ended);
}

bool watch_lives(struct watch *w)
{
	return !w->rung || lives(&w->process[0].is) || (w->t.plain && sessions_now(&w->t));
}

const char *watch_why_off(const struct watch *w)
{
	return w->rung ? NULL : w->off;
}

uint64_t watch_stop(struct watch *w)
{
	return w->bpf ? bpf_rung_stop(w->bpf) : clock_now_ns();
}

static int read_as(struct watch *w, bool once, struct ledger *out)
{
	if (w->bpf)
		return bpf_rung_read(w->bpf, once, out);
	*out = (struct ledger) { 0 };
	if (w->rung)
		procio_ledger(&w->proc, out);
	return 0;
}

int watch_read(struct watch *w, struct ledger *out)
{
	return read_as(w, false, out);
}

int watch_glance(struct watch *w, struct ledger *out)
{
	return read_as(w, true, out);
}

bool watch_times(struct watch *w, enum afs_role role, struct procfs_times *out)
{
	struct watch_process *p;
	struct procfs_times now;
	struct procstat st;
	bool known = false;

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < w->n; i++) {
		p = &w->process[i];
		if (!p->is.pid || p->is.role != role)
			continue;
		if (!p->has_times)
			return false;
		if (watch_is_there(&p->is, &st))
			tasks_look(&p->tasks, p->is.pid);
		now = tasks_sum(&p->tasks);
		out->cpu_ns += now.cpu_ns;
		out->runq_ns += now.runq_ns;
		known = true;
	}
	return known;
}

static int finish_absent(const struct watch *w, struct run *r)
{
	static const char why[] = "/proc/PID/task/TID/schedstat cannot be read";
	int err;

	if (!w->rung)
		return run_note(&r->absent, "*", "%s", w->off);
	if (!run_is_by_session(r))
		return 0;
	err = target_note(&w->t, r);
	if (!w->bpf)
		err |= run_absent(r, AFS_N_ROLES, "_call",
				  "only watching by BPF counts every call");
	for (size_t i = 0; i < w->n; i++) {
		if (!w->process[i].is.pid || w->process[i].has_times)
			continue;
		err |= run_absent(r, w->process[i].is.role, "_cpu", why);
		err |= run_absent(r, w->process[i].is.role, "_runq", why);
	}
	return err;
}

static int finish_ladder(const struct watch *w, struct run *r)
{
	int err = w->no_bpf.code ? run_note(&r->rungs, "not.bpf", "%s", w->no_bpf.text) : 0;

	if (w->no_proc.code)
		err |= run_note(&r->rungs, "not.proc", "%s", w->no_proc.text);
	if (!w->rung)
		err |= run_note(&r->rungs, "calls", "off: %s", w->off);
	if (w->n && w->process[0].has_times)
		err |= run_note(&r->rungs, "times.totals",
				"/proc/PID/task/TID/schedstat, sampled at phase ends");
	return err;
}

static int finish_warnings(const struct watch *w, struct run *r)
{
	int err = 0;

	/* The programs identify processes by their numbers in the first PID namespace. */
	if (w->rung && !w->bpf && !procfs_first_pid_namespace())
		err |= run_note(
		    &r->warnings, "watch",
		    "this is a container with its own process numbers, where calls cannot be "
		    "counted in the kernel: /proc is sampled. For exact counts run afpscope "
		    "outside of the container, or start the container with the host's process "
		    "numbers (docker run --pid=host)");
	if (w->rung && !w->bpf && procfs_clock_ahead_s())
		err |= run_note(
		    &r->warnings, "watch",
		    "this is a time namespace, where calls cannot be counted in the kernel: /proc is "
		    "sampled. For exact counts run afpscope outside of it");
	if (w->rung && w->t.foreign)
		err |= passed_note(&w->t, r, w->foreign);
	if (w->t.way.note[0])
		err |= run_note(&r->warnings, "way", "%s", w->t.way.note);
	if (w->t.way.relayed)
		err |= run_note(
		    &r->warnings, "way",
		    "clients do not reach this server directly: %s; what that costs is in "
		    "the clients' times",
		    w->t.way.through);
	else if (w->t.way.through[0])
		err |= run_note(&r->server, "way", "%s", w->t.way.through);
	if (w->look.code)
		err |= run_note(&r->warnings, "watch", "%s", w->look.text);
	if (w->unsettled)
		err |= run_note(&r->warnings, "watch",
				"the server was not quiet at %u phase borders: calls near them may "
				"count in the wrong phase",
				w->unsettled);
	return err;
}

int watch_finish(struct watch *w, struct run *r)
{
	char congestion[TCP_CONGESTION_LEN], key[48];
	int err = finish_ladder(w, r);
	uint64_t stopped_ns = watch_stop(w);

	if (w->rung)
		err |= run_note(&r->rungs, RUNGS_WATCHED_NS, "%" PRIu64, stopped_ns - w->begun_ns);
	for (size_t i = 0; i < w->n; i++)
		if (w->process[i].is.pid)
			err |= place_note(r, &w->process[i].is);
	snprintf(key, sizeof(key), "%s.congestion", run_role_name(r, AFS_ROLE_SERVER));
	if (tcpdiag_congestion(&w->tcp, congestion))
		err |= run_note(&r->server, key, "%s", congestion);
	err |= finish_absent(w, r);
	if (w->rung)
		err |= place_note_self(r);
	err |= finish_warnings(w, r);
	if (w->rung)
		err |= w->bpf ? bpf_rung_finish(w->bpf, r) : procio_note(&w->proc, r);
	return err;
}

void watch_free(struct watch *w)
{
	if (!w)
		return;
	bpf_rung_free(w->bpf);
	procio_fini(&w->proc);
	for (size_t i = 0; i < w->n; i++)
		tasks_fini(&w->process[i].tasks);
	tcpdiag_close(&w->tcp);
	free(w);
}
