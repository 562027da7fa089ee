/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One loaded and watched session, from login to the saved run. Knows no workload. */
#include "drive/session.h"

#include "app/slow_notice.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "host/proc/procfs.h"
#include "host/proc/proctext.h"
#include "host/rights.h"
#include "kinds/afp/settings.h"
#include "kinds/kind.h"
#include "load/load.h"
#include "report/cell.h"
#include "report/report.h"
#include "work/tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const session_watch_choices[] = { "auto", "bpf", "proc", "off", NULL };

/* Options */

/* No server: what only makes sense with one is refused. */
static int check_local(const struct session_cfg *cfg, int operands, struct err *e)
{
	if (!cfg->directory)
		return err_set(e, -EINVAL, "-L needs -P DIRECTORY");
	if (operands)
		return err_set(e, -EINVAL,
			       "-L works on a directory: a server cannot be given as well");
	if (cfg->trace.what)
		return err_set(
		    e, -EINVAL,
		    "--trace records the requests of an AFP server: it cannot be used with -L, a "
		    "DIRECTORY or a place that is not of AFP");
	return 0;
}

int session_parse(struct session_cfg *cfg, int n, char **operand, struct err *e)
{
	int r = tracing_check(&cfg->trace, e);

	if (!r && cfg->local)
		return check_local(cfg, n, e);
	if (!r && (cfg->directory || cfg->buffered))
		return err_set(e, -EINVAL, "-P and -D need -L");
	r = r ? r : connect_operands(&cfg->c, n, operand, e);
	return r ? r : connect_check(&cfg->c, e);
}

int session_check(struct session_cfg *cfg, struct err *e)
{
	int r = runs_check(&cfg->runs, e);

	if (r)
		return r;
	if (cfg->place && cfg->place == cfg->directory && !session_is_place(cfg->place))
		return connect_url(&cfg->c, cfg->place, e);
	return cfg->local ? connect_place(&cfg->c, cfg->directory, e)
			  : connect_complete(&cfg->c, e);
}

/* Watch: regions */

/* run_begin() or run_end(). */
typedef void take_reading(struct run_phase *p, enum metric m, uint64_t reading);

/*
 * How long this thread has waited for a CPU. One short call: the server must not have gone to sleep
 * when the region's first request comes.
 */
static void drive_session_read_runq(struct session *s, struct run_phase *p, take_reading *take)
{
	struct procfs_times own;
	char text[96];

	if (!s->schedstat)
		s->schedstat = procfs_open(0, gettid(), "schedstat");
	if (file_text_again(text, sizeof(text), s->schedstat) >= 0 && !proctext_times(&own, text))
		take(p, METRIC_CLIENT_RUNQ, own.runq_ns);
}

/* What threads of the server have used. */
static void drive_session_read_times(struct session *s, struct run_phase *p, take_reading *take)
{
	struct procfs_times now;

	if (watch_times(s->watch, AFS_ROLE_SERVER, &now)) {
		take(p, METRIC_AFPD_CPU, now.cpu_ns);
		take(p, METRIC_AFPD_RUNQ, now.runq_ns);
	}
	if (watch_times(s->watch, AFS_ROLE_BACKEND, &now)) {
		take(p, METRIC_CNID_CPU, now.cpu_ns);
		take(p, METRIC_CNID_RUNQ, now.runq_ns);
	}
}

void session_region_begin(struct session *s, struct run_phase *p)
{
	session_look_begin(s);
	drive_session_read_runq(s, p, run_begin);
	if (!s->watch)
		return;
	if (s->whole)
		others_begin(&s->others, &s->visits, s->watch);
	watch_settle(s->watch);
	ledger_fini(&s->before);
	watch_span(s->watch);
	s->has_before = !watch_read(s->watch, &s->before);
	drive_session_read_times(s, p, run_begin);
}

/* The time in which the generator did not run is not the server's. */
static void drive_session_note_paused(struct run *r, const struct run_phase *p)
{
	const struct run_load *l = p->load && p->load->n_pauses ? p->load : p->probe;
	char longest[40];

	if (!l || !l->n_pauses)
		return;
	snprintf(longest, sizeof(longest), "%s", cell_time((double)l->paused_max_ns).text);
	run_note(&r->warnings, "paused",
		 "the load generator itself did not run for %s (stopped, suspended, or without a "
		 "CPU): %llu actions that were under way, the longest %s, are in no latency",
		 cell_time((double)l->paused_ns).text, (unsigned long long)l->n_paused, longest);
}

void session_region_end(struct session *s, struct run_phase *p)
{
	struct ledger after = { 0 }, diff = { 0 };

	drive_session_read_runq(s, p, run_end);
	drive_session_note_paused(&s->run, p);
	if (!s->watch)
		return;
	watch_settle(s->watch);
	if (s->has_before && !watch_read(s->watch, &after) &&
	    !ledger_diff(&diff, &after, &s->before)) {
		run_warn_withdrawn(&s->run, p->title, &s->before, &after, &diff);
		if (!ledger_add(&p->ledger, &diff))
			run_phase_from_ledger(p);
	}
	ledger_fini(&diff);
	ledger_fini(&after);
	session_look_after(s);
	if (s->whole) {
		others_end(&s->others, &s->visits, s->watch, p);
		p->clients.known &= !s->relayed;
		run_phase_times(&s->run, p);
		return;
	}
	drive_session_read_times(s, p, run_end);
}

void session_ready(struct session *s)
{
	struct err e = { 0 };

	if (s->cfg->local && !s->watch)
		return;
	if (s->watch)
		watch_find_backends(s->watch);
	if (!s->cfg->hz)
		return;
	if (!s->watch) {
		run_note(&s->run.warnings, "samples", "no time series: nothing is watched");
		return;
	}
	if (sampler_open(&s->sampler, s->cfg->hz, s->watch, &e) || sampler_start(s->sampler, &e))
		run_note(&s->run.warnings, "samples", "no time series: %s", e.text);
}

/* From login to the watch */

static int drive_session_describe(struct session *s)
{
	const struct session_cfg *cfg = s->cfg;
	struct run_notes *o = &s->run.options, *sv = &s->run.server;
	char congestion[TCP_CONGESTION_LEN];
	int r = 0;

	r |= run_note(o, "watch", "%s", session_watch_choices[cfg->watch]);
	if (cfg->hz)
		r |= run_note(o, "sample_hz", "%u", cfg->hz);
	r |= run_note(o, "timeout_s", "%u", cfg->c.timeout_s);
	if (dsi_congestion(s->afp.dsi, congestion))
		r |= run_note(&s->run.environment, "client.congestion", "%s", congestion);
	r |= run_note(sv, "host", "%s", cfg->c.host);
	r |= run_note(sv, "port", "%u", cfg->c.port);
	r |= run_note(sv, "name", "%s", s->server.name);
	r |= run_note(sv, "machine", "%s", s->server.machine);
	r |= run_note(sv, "volume", "%s", cfg->c.volume);
	r |= run_note(sv, "afp_version", "%s", s->afp.version);
	r |= run_note(sv, "uam", "%s", s->afp.uam);
	r |= run_note(sv, "quantum_bytes", "%u", dsi_quantum(s->afp.dsi));
	return r;
}

static unsigned int extra_rights(const struct session *s)
{
	return (s->cfg->hz && sample_wants_taskstats() ? RIGHTS_TASKSTATS : 0) |
	       (s->whole ? RIGHTS_PRIORITY : 0);
}

void session_give_up(struct session *s)
{
	unsigned int extra = extra_rights(s);
	int r = s->cfg->local ? session_drop(&s->own, s->cfg->directory, extra)
			      : rights_drop(extra);

	cmd_note_rights(r, &s->run.warnings);
}

void session_take_back(struct session *s)
{
	rights_return(&s->own);
}

struct session_opening {
	struct session *session;
	struct err *e;
};

/* netatalk's tool makes the directory, too. */
static int open_place(void *user)
{
	struct session_opening *o = user;
	const struct session_cfg *cfg = o->session->cfg;
	int r = store_make_local(cfg->directory, o->e);

	return r ? r : store_open_local(&o->session->store, cfg->directory, !cfg->buffered, o->e);
}

static enum outcome open_directory(struct session *s, const char *command, const char *set,
				   struct err *e)
{
	struct session_opening o = { s, e };
	int r;

	/* Libraries start threads, which need no more than is kept in the end. */
	if (text_url(s->cfg->directory))
		r = rights_without(RIGHTS_PORTS, open_place, &o);
	else
		r = open_place(&o);
	if (r && !*e->text)
		err_set(e, r, "cannot open %s: %s", s->cfg->directory, strerror(-r));
	if (r)
		return r == -ENOMEM ? OUTCOME_FAILED : OUTCOME_NO_SESSION;
	if (run_init(&s->run, command, set))
		r = err_set(e, -ENOMEM, "out of memory");
	r = r ? r : runs_open(&s->folder, &s->cfg->runs, false, &s->run, e);
	if (r)
		return runs_refused(r);
	if (session_place_watch(s, e))
		return OUTCOME_FAILED;
	session_give_up(s);
	return OUTCOME_OK;
}

/* Requests that change nothing. */
static void differ(void *user)
{
	struct session *s = user;
	struct err e = { 0 };
	struct afp_op op;

	for (int n = 1 + getpid() % 7, r = 0; n-- && !r;) {
		afp_prep_get_volume(&op, &s->afp, AFP_VOLUME_EXT_FREE);
		r = afp_call(&s->afp, &op, &e);
	}
}

/*
 * The server that serves our connection, with all its sessions. Where it is not found, as on
 * another host, watch_open() says why.
 */
static int drive_session_open_watch(struct session *s, const struct watch_opts *watch,
				    struct err *e)
{
	struct err why = { 0 };
	struct target *own;
	int r;

	if (!s->whole) {
		r = watch_open(&s->watch, watch, e);
		if (!r && watch_rung(s->watch))
			session_look_find(
			    s, watch_process(s->watch, AFS_ROLE_SERVER, &(size_t) { 0 }), &why);
		return r;
	}
	own = calloc(1, sizeof(*own));
	if (!own)
		return err_set(e, -ENOMEM, "out of memory");
	if (watch_find(own, watch, &why)) {
		free(own);
		return watch_open(&s->watch, watch, e);
	}
	r = session_look_find(s, own->server, e);
	s->relayed = own->way.relayed;
	if (!r && *s->found->note)
		run_note(&s->run.warnings, "server", "%s", s->found->note);
	if (!r && s->found->servers.n)
		r = settings_show(&s->run, &s->found->servers.entry[0]);
	if (!r) {
		s->found->target.way = own->way;
		r = watch_open_traced(&s->watch, watch, &s->found->target, e);
	}
	free(own);
	return r;
}

enum outcome session_open(struct session *s, const char *command, const char *set,
			  unsigned int window, struct err *e)
{
	struct connect_cfg how;
	struct watch_opts watch = { .mode = (enum watch_mode)s->cfg->watch,
				    .differ = differ,
				    .user = s };
	enum outcome o;
	int r;

	if (s->cfg->local)
		return open_directory(s, command, set, e);
	how = session_connect(s);
	o = connect_open(&s->afp, &s->server, &how, window, &s->stage, e);
	if (o)
		return o;
	if (run_init(&s->run, command, set) || drive_session_describe(s)) {
		err_set(e, -ENOMEM, "out of memory");
		return OUTCOME_FAILED;
	}
	r = runs_open(&s->folder, &s->cfg->runs, s->cfg->trace.what, &s->run, e);
	r = r ? r : tracing_open(&s->tracing, &s->cfg->trace, &s->folder, &s->run, e);
	if (r)
		return runs_refused(r);
	if (watch.mode != WATCH_OFF) {
		cmd_allow_files();
		dsi_ends(s->afp.dsi, &watch.local, &watch.peer);
		tracing_sink(s->tracing, &watch.sink);
		watch.sink.what |= AFS_TRACE_ASKED;
		if (drive_session_open_watch(s, &watch, e))
			return OUTCOME_FAILED;
		if (session_note_files(s, watch_target(s->watch)->way.server)) {
			err_set(e, -ENOMEM, "out of memory");
			return OUTCOME_FAILED;
		}
	}
	session_give_up(s);
	tracing_start(s->tracing, s->watch, &s->afp, &s->run);
	return OUTCOME_OK;
}

enum outcome session_open_store(struct session *s, struct store_afp_opts *opts, struct err *e)
{
	const char *second = s->cfg->second_volume;

	if (s->cfg->local)
		return OUTCOME_OK;
	opts->machine = s->server.machine;
	if (second) {
		snprintf(s->left->volume[1], WARDEN_VOLUME_LEN, "%s", second);
		if (afp_open_other(&s->afp, second, &opts->other, e)) {
			s->stage = AFP_STAGE_VOLUME;
			return cmd_stop ? OUTCOME_INTERRUPTED : OUTCOME_NO_SESSION;
		}
	}
	return store_open_afp(&s->store, &s->afp, opts, e) ? OUTCOME_FAILED : OUTCOME_OK;
}

/* The end */

static enum outcome drive_session_outcome_of(const struct session *s, int r)
{
	if (cmd_stop)
		return OUTCOME_INTERRUPTED;
	if (r == -ENOMEM || r == -EMFILE || r == -ENODATA || r == -ETIME)
		return OUTCOME_FAILED;
	if (r == -EINVAL)
		return OUTCOME_USAGE;
	if (r < 0)
		return OUTCOME_LOST;
	if (r)
		return OUTCOME_REFUSED;
	return run_books_closed(&s->run) ? OUTCOME_OK : OUTCOME_UNTRUSTED;
}

enum outcome session_finish(struct session *s, int r, const struct err *e)
{
	enum outcome result;

	sampler_note(s->sampler, &s->run);
	s->run.complete = !r;
	if (s->watch) {
		session_place_note_new(s);
		watch_settle(s->watch);
		watch_finish(s->watch, &s->run);
		if (!s->cfg->local && !s->relayed && !s->gaps)
			run_close_requests(&s->run);
	}
	if (session_look_judge(s))
		run_note(&s->run.warnings, "diagnosis", "no diagnosis: out of memory");
	tracing_finish(s->tracing, &s->run);
	result = drive_session_outcome_of(s, r);
	if (r)
		run_note(&s->run.warnings, NULL, "broke off: %s", e->text);
	return result;
}

int session_make_base(struct session *s, const char *name, struct err *e)
{
	struct store_op op = {
		.verb = STORE_MKDIR, .dir = s->store->root[0], .name = name, .how = STORE_UNUSED
	};
	int r;

	snprintf(s->left->base[0], WARDEN_BASE_LEN, "%s", name);
	r = store_call(s->store, &op, e);
	if (r || op.result == STORE_OK)
		return r;
	*s->left->base[0] = '\0';
	return err_set(e, LOAD_REFUSED, "%s of %s: %s (%d)", op.what, name, op.why, op.code);
}

int session_remove_base(struct session *s, struct err *e)
{
	struct slow_notice notice;
	int r;

	slow_notice_begin(&notice, "still removing the files that a run has made", SLOW_NOTICE_NS);
	if (s->cfg->local) {
		r = store_remove_local(s->store, s->cfg->directory, s->left->base[0], e);
	} else {
		dsi_ignore_stop(s->afp.dsi);
		r = tree_remove(&s->afp, AFP_ROOT_ID, s->left->base[0], e);
	}
	slow_notice_end(&notice);
	if (!r)
		*s->left->base[0] = '\0';
	return r;
}

enum outcome session_save(struct session *s, enum outcome o)
{
	session_take_back(s); /* the saved run is root's */
	if (o == OUTCOME_UNTRUSTED)
		cmd_say("cross-checks disagree: do not trust the server's figures of this run");
	return *s->run.id ? runs_save(&s->folder, &s->cfg->runs, &s->run, s->progress, o) : o;
}

void session_close(struct session *s)
{
	sampler_close(s->sampler);
	tracing_close(s->tracing);
	watch_free(s->watch);
	if (s->schedstat > 0)
		close(s->schedstat);
	ledger_fini(&s->before);
	others_fini(&s->others);
	others_fini(&s->visits.list);
	session_look_fini(s);
	store_close(s->store);
	afp_close(&s->afp);
	runs_close(&s->folder);
	run_fini(&s->run);
}
