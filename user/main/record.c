/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * afpscope record: watches a running server, whoever its clients are, and reports what each AFP
 * command cost.
 */
#include "main/record.h"
#include "app/child.h"
#include "app/cmd.h"
#include "app/output.h"
#include "attach/attach.h"
#include "attach/looks.h"
#include "attach/sampler.h"
#include "base/clock.h"
#include "base/opt.h"
#include "doctor/diagnose.h"
#include "drive/rx_waiting.h"
#include "host/rights.h"
#include "host/sample.h"
#include "report/cell.h"
#include "report/report.h"
#include "watch/watch.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000u

const char *const record_watch_choices[] = { "auto", "bpf", "proc", NULL };

struct record {
	const struct record_cfg *cfg;
	const struct kind *kind;
	struct attach a;
	struct looks looks;       /* of what is shown of this kind */
	struct rx_waiting *asked; /* NULL: it is not asked what waits in it */
	struct sampler *sampler;  /* NULL: no time series */
	struct tracing *tracing;  /* NULL: no trace */
	struct runs_folder folder;
	struct child child;
	struct diagnose diagnose;
	int command_code; /* COMMAND's own exit code, as of a shell; 0: it was ended from here */
	struct run run;
	struct ledger before;
	uint64_t sample_ns; /* the next, due; UINT64_MAX: none */
	uint64_t found_ns;  /* when the server was looked for */
};

/* Server */

static struct kind_wish record_wish(const struct record_cfg *cfg)
{
	return (struct kind_wish) { .port = cfg->whom.port,
				    .pid = cfg->whom.pid,
				    .exe = cfg->exe,
				    .unit = cfg->unit,
				    .volume = cfg->volume,
				    .whole = cfg->server };
}

/* What is named is no program of the first kind: it may be one of another kind, and is that then.
 */
static void record_take_kind(struct record *rec, const struct kind_wish *wish)
{
	struct kind_found found = { 0 };
	const struct kind *k = NULL;
	struct err none = { 0 };

	if (kind_find_other(&k, &found, wish, rec->cfg->judge, &none))
		return;
	rec->kind = k;
	kind_found_fini(&rec->a.found);
	rec->a.found = found;
}

static int record_find(struct record *rec, struct err *e)
{
	const struct record_cfg *cfg = rec->cfg;
	const struct kind_wish wish = record_wish(cfg);
	bool any = !cfg->kind, named = wish.pid || wish.port;
	int r, other;

	rec->found_ns = clock_now_ns();
	/* What is named may be of another kind, of which only its own programs are. */
	if (any && named && cfg->judge &&
	    !kind_find_other(&rec->kind, &rec->a.found, &wish, true, e))
		return 0;
	*e = (struct err) { 0 };
	r = kind_find(rec->kind, &rec->a.found, &wish, e);
	if (!r && any && named && rec->a.found.target.foreign)
		record_take_kind(rec, &wish);
	/* It is about whatever server there is; of several of AFP one must be named. */
	if (!r || r == -ENOTUNIQ || !any)
		return r;
	other = kind_find_other(&rec->kind, &rec->a.found, &wish, cfg->judge, e);
	if (other == -ENOTUNIQ)
		return other;
	if (other)
		return r;
	*e = (struct err) { 0 };
	cmd_say("there is no AFP server here; this is about one of kind %s", rec->kind->is.name);
	return 0;
}

static int record_describe(struct record *rec)
{
	const struct record_cfg *cfg = rec->cfg;
	struct run_notes *o = &rec->run.options;
	int r = 0;

	if (cfg->command)
		r |= run_note(o, "command", "%s", cfg->command[0]);
	if (cfg->seconds)
		r |= run_note(o, "duration_s", "%u", cfg->seconds);
	if (cfg->unit)
		r |= run_note(o, "unit", "%s", cfg->unit);
	if (cfg->volume)
		r |= run_note(o, "volume", "%s", cfg->volume);
	r |= run_note(o, "watch", "%s", record_watch_choices[cfg->watch]);
	if (*rec->a.found.note)
		r |= run_note(&rec->run.warnings, "server", "%s", rec->a.found.note);
	return r ? -ENOMEM : rec->kind->describe(&rec->a.found, &rec->run);
}

/* After the rights were given up, so that only what is kept is used. */
static int begin_sampling(struct record *rec, struct err *e)
{
	const char *rung = watch_rung(rec->a.watch);
	unsigned int hz = rec->cfg->hz;

	if (!hz && rung && !strcmp(rung, "proc"))
		hz = SAMPLER_HZ;
	if (!hz)
		return 0;
	run_note(&rec->run.options, "sample_hz", "%u", hz);
	return sampler_open(&rec->sampler, hz, rec->a.watch, e);
}

/* What the run is of, and where it is kept. */
static enum outcome record_open_run(struct record *rec, struct err *e)
{
	const struct record_cfg *cfg = rec->cfg;
	int r = run_init(&rec->run, cfg->name, cfg->name);

	rec->run.kind = &rec->kind->is;
	rec->run.about = cfg->judge ? RUN_ABOUT_FAULTS : RUN_ABOUT_SERVER;
	r = r ? r
	      : looks_open(&rec->looks, run_has_threads(&rec->run),
			   AFS_IS_DATAGRAMS(rec->kind->decoder));
	if (r || record_describe(rec)) {
		err_set(e, -ENOMEM, "out of memory");
		return OUTCOME_FAILED;
	}
	r = runs_open(&rec->folder, &cfg->runs, cfg->trace.what, &rec->run, e);
	r = r ? r : tracing_open(&rec->tracing, &cfg->trace, &rec->folder, &rec->run, e);
	return r ? runs_refused(r) : OUTCOME_OK;
}

static enum outcome record_attach(struct record *rec, struct err *e)
{
	const struct record_cfg *cfg = rec->cfg;
	struct watch_opts watch = { .mode = (enum watch_mode)cfg->watch };
	unsigned int extra = RIGHTS_PRIORITY;

	tracing_sink(rec->tracing, &watch.sink);
	watch.sink.what |= AFS_TRACE_ASKED;
	if (attach_open(&rec->a, &watch, false, e))
		return OUTCOME_FAILED;
	if (watch_why_off(rec->a.watch)) {
		err_set(e, -EACCES, "cannot watch the server: %s", watch_why_off(rec->a.watch));
		return OUTCOME_UNTRUSTED;
	}
	if (cfg->hz && sample_wants_taskstats())
		extra |= RIGHTS_TASKSTATS;
	cmd_note_rights(rights_drop(extra), &rec->run.warnings);
	tracing_start(rec->tracing, rec->a.watch, NULL, &rec->run);
	return begin_sampling(rec, e) ? OUTCOME_FAILED : OUTCOME_OK;
}

static enum outcome record_begin(struct record *rec, struct err *e)
{
	const struct record_cfg *cfg = rec->cfg;
	int r = record_find(rec, e);
	enum outcome o = r ? attach_not_found(r) : OUTCOME_OK;

	if (!o && tracing_check_kind(&cfg->trace, &rec->kind->is, e))
		o = OUTCOME_USAGE;
	o = o ? o : record_open_run(rec, e);
	if (o)
		return o;
	if (cfg->command && child_start(&rec->child, cfg->command, e))
		return OUTCOME_FAILED;
	return record_attach(rec, e);
}

/* Time */

static uint64_t record_answered(struct record *rec)
{
	struct ledger now = { 0 };
	uint64_t n;

	if (watch_glance(rec->a.watch, &now))
		return 0;
	n = ledger_answered(&now);
	ledger_fini(&now);
	return n;
}

static void look_at_threads(struct record *rec)
{
	looks_now(&rec->looks, rec->a.watch);
	if (rec->asked)
		rx_waiting_tick(rec->asked);
}

/* A line on a terminal, once a second; with a COMMAND the terminal is left to it. */
static void record_show(struct record *rec, bool last)
{
	static const char clear[] = "\r\033[K";
	double s = (double)(clock_now_ns() - rec->a.begun_ns) / NS_PER_S;
	char of[16] = "";

	if (rec->cfg->seconds)
		snprintf(of, sizeof(of), " of %u", rec->cfg->seconds);
	if (rec->cfg->command || !isatty(STDERR_FILENO))
		return;
	if (last)
		fputs(clear, stderr);
	else if (!run_has_requests(&rec->run))
		fprintf(stderr, "%s%.0f%s s; Ctrl-C ends", clear, s, of);
	else
		fprintf(stderr, "%s%.0f%s s, %s requests answered; Ctrl-C ends", clear, s, of,
			cell_count(record_answered(rec)).text);
	fflush(stderr);
}

/* Says that counting has begun where record_show() prints nothing. Scripts may wait for this line.
 */
static void say_begun(const struct record *rec)
{
	if (!rec->cfg->command && !isatty(STDERR_FILENO))
		cmd_say("recording process %d; Ctrl-C or SIGINT ends the recording",
			rec->a.found.target.server);
}

static bool record_is_over(void *user)
{
	struct record *rec = user;

	return rec->cfg->command && child_ended(&rec->child);
}

static int record_wait(void *user, uint64_t until_ns)
{
	struct record *rec = user;
	uint64_t now, missed;

	clock_sleep_until(until_ns < rec->sample_ns ? until_ns : rec->sample_ns);
	now = clock_now_ns();
	if (now < rec->sample_ns)
		return 0;
	rec->sample_ns = sampler_next(rec->sample_ns, sampler_period_ns(rec->sampler), now,
				      &missed);
	sampler_tick(rec->sampler, missed);
	return 0;
}

static void record_tick(void *user)
{
	struct record *rec = user;

	looks_tick(&rec->looks, rec->a.watch);
	if (rec->asked)
		rx_waiting_tick(rec->asked);
	sampler_look(rec->sampler);
}

static int record_look(void *user)
{
	struct record *rec = user;

	record_show(rec, false);
	diagnose_tick(&rec->diagnose);
	return 0;
}

static void note_command(struct record *rec)
{
	struct child *c = &rec->child;

	if (!rec->cfg->command)
		return;
	if (!child_ended(c)) {
		child_end(c);
		run_note(&rec->run.warnings, "command", "%s was ended: %s", rec->cfg->command[0],
			 cmd_stop ? "recording was interrupted" : "the time was over");
	} else if (WIFSIGNALED(c->status)) {
		rec->command_code = 128 + WTERMSIG(c->status);
		run_note(&rec->run.warnings, "command", "%s was killed by signal %d",
			 rec->cfg->command[0], WTERMSIG(c->status));
	} else if (WEXITSTATUS(c->status)) {
		rec->command_code = WEXITSTATUS(c->status);
		run_note(&rec->run.warnings, "command", "%s ended with status %d",
			 rec->cfg->command[0], WEXITSTATUS(c->status));
	}
}

/* A session's end is not its server's. */
static void take_server_end(struct record *rec)
{
	if (!rec->a.found.servers.session && !watch_lives(rec->a.watch))
		rec->run.server_end.ended_ns = clock_now_ns();
}

static void note_server_end(struct record *rec)
{
	const struct record_cfg *cfg = rec->cfg;
	unsigned int port = attach_port(&rec->a, cfg->whom.port);
	uint64_t ns = rec->run.server_end.ended_ns - rec->a.begun_ns;
	pid_t pid = rec->a.found.target.server, now = 0;
	char after[64];

	if (!cfg->command)
		now = attach_await(&rec->a, port, ATTACH_COMEBACK_MS);
	rec->run.server_end.restarted_pid = now;
	snprintf(after, sizeof(after), "%s", cell_time((double)ns).text);
	if (now)
		run_note(&rec->run.warnings, "server",
			 "the server's main process %d ended after %s, and the watch with it; it "
			 "was restarted as process %d",
			 pid, after, now);
	else
		run_note(&rec->run.warnings, "server",
			 "the server's main process %d ended after %s, and the watch with it%s",
			 pid, after, port ? "; none was seen on its port since" : "");
}

static void record_note_end(struct record *rec)
{
	char text[GUARD_TEXT_MAX];

	if (rec->a.costly)
		run_note(&rec->run.warnings, "max-cpu", "%s", guard_text(&rec->a.guard, text));
	if (rec->run.server_end.ended_ns)
		note_server_end(rec);
	else if (!watch_lives(rec->a.watch))
		run_note(&rec->run.warnings, "server", "process %d ended while it was recorded",
			 rec->a.found.target.server);
}

/* What this program took since the begin, without COMMAND. */
static void note_own(struct record *rec)
{
	uint64_t ns = guard_own_ns() - rec->a.begun_cpu_ns;

	run_note(&rec->run.rungs, RUNGS_OWN_NS, "%" PRIu64, ns - rec->child.cpu_ns);
}

/* Stops to count, and completes the phase. */
static int read_end(struct record *rec, struct run_phase *p)
{
	struct ledger after = { 0 };
	uint64_t stopped_ns;
	int r;

	note_own(rec);
	r = diagnose_last(&rec->diagnose, rec->a.watch, &rec->a.found);
	stopped_ns = attach_stop(&rec->a);
	run_set(p, METRIC_ELAPSED, stopped_ns - rec->a.begun_ns);
	r = r ? r : watch_read(rec->a.watch, &after);
	if (!r)
		r = ledger_diff(&p->ledger, &after, &rec->before);
	if (!r)
		run_warn_withdrawn(&rec->run, p->title, &rec->before, &after, &p->ledger);
	ledger_fini(&after);
	run_phase_from_ledger(p);
	run_phase_times(&rec->run, p);
	return r;
}

/* From the first reading on; COMMAND begins with the watched time. */
static enum outcome record_start(struct record *rec, struct run_phase **p, struct err *e)
{
	int r;

	watch_span(rec->a.watch);
	if (rec->cfg->judge && rec->looks.udp && (rec->asked = rx_waiting_new()))
		rx_waiting_add_watched(rec->asked, rec->a.watch);
	look_at_threads(rec);
	r = watch_read(rec->a.watch, &rec->before);
	attach_begin(&rec->a, rec->cfg->max_cpu, rec->cfg->seconds);
	if (child_go(&rec->child, e)) {
		run_note(&rec->run.warnings, "command", "%s", e->text);
		return OUTCOME_USAGE;
	}
	/* This reads all processes of the host: as at the end, it comes after the reading. */
	r = r ? r : diagnose_begin(&rec->diagnose, rec->a.watch, &rec->a.found);
	*p = run_phase(&rec->run, 0, 1, "recorded");
	if (r || !*p) {
		err_set(e, -ENOMEM, "out of memory");
		return OUTCOME_FAILED;
	}
	(*p)->start_ns = rec->a.begun_ns;
	rec->sample_ns = rec->sampler ? rec->a.begun_ns + sampler_period_ns(rec->sampler)
				      : UINT64_MAX;
	say_begun(rec);
	return OUTCOME_OK;
}

/* Everything that was seen beside the phase, into the run. 0 or -ENOMEM. */
static int record_note(struct record *rec, struct run_phase *p)
{
	const struct kind_wish wish = record_wish(rec->cfg);
	int r = sampler_note(rec->sampler, &rec->run);

	if (!r && !rec->run.server_end.ended_ns)
		r = attach_note_new(rec->a.watch, rec->kind, &wish, rec->found_ns, &rec->run);
	r = r ? r : looks_note(&rec->looks, rec->a.watch, &p->ledger, &rec->run);
	r = r ? r : attach_finish(&rec->a, &rec->run);
	if (!r && rec->kind->conclude)
		r = rec->kind->conclude(&rec->run);
	if (rec->asked)
		rx_waiting_note(rec->asked, &rec->run);
	if (!r && rec->kind->is.has_diagnosis)
		r = diagnose_end(&rec->diagnose, rec->a.watch, &rec->a.found, &rec->run);
	return r ? r : tracing_finish(rec->tracing, &rec->run);
}

static enum outcome record_work(struct record *rec, struct err *e)
{
	static const struct attach_steps steps = { record_wait, record_tick, record_look,
						   record_is_over };
	struct run_phase *p;
	enum outcome o = record_start(rec, &p, e);
	int r;

	if (o)
		return o;
	attach_loop(&rec->a, &steps, rec);
	record_show(rec, true);
	take_server_end(rec);
	look_at_threads(rec);
	r = read_end(rec, p);
	note_command(rec);
	record_note_end(rec);
	p->complete = rec->run.complete = !r;
	r = r ? r : record_note(rec, p);
	if (r) {
		err_set(e, r, "out of memory");
		return OUTCOME_FAILED;
	}
	return run_books_closed(&rec->run) ? OUTCOME_OK : OUTCOME_UNTRUSTED;
}

static int record_print(const struct record *rec, const struct report_opts *opts)
{
	const struct record_cfg *cfg = rec->cfg;
	bool diagnosis = cfg->judge && rec->run.figures;
	int r = 0;

	if (runs_json_only(&cfg->runs))
		return 0;
	if (diagnosis && (cfg->brief || cfg->verbose))
		r = report_doctor(rec->run.figures, opts, cfg->brief, stdout);
	else if (cfg->runs.screen)
		r = report_screen(&rec->run, opts, stdout);
	return !r && cfg->verbose ? report_own(&rec->run, opts, stdout) : r;
}

static enum outcome record_finish(struct record *rec, enum outcome o)
{
	const struct report_opts opts = output_terminal();
	const struct record_cfg *cfg = rec->cfg;
	const struct runs_cfg *runs = &cfg->runs;
	int r;

	if (!rec->run.n_phases)
		return rec->folder.path ? runs_save(&rec->folder, runs, &rec->run, stderr, o) : o;
	r = record_print(rec, &opts);
	if (r) {
		cmd_say("cannot print the report: %s", strerror(-r));
		o = o ? o : OUTCOME_FAILED;
	}
	if (o == OUTCOME_UNTRUSTED)
		cmd_say("cross-checks disagree: do not trust these figures");
	fflush(stdout);
	return runs_save(&rec->folder, runs, &rec->run, stderr, o);
}

int record_run(const struct record_cfg *cfg)
{
	struct record *rec = calloc(1, sizeof(*rec));
	struct err e = { 0 };
	enum outcome o;
	int code;

	if (!rec)
		return OUTCOME_FAILED;
	rec->cfg = cfg;
	rec->kind = kind_at(cfg->kind);
	rec->child.gate = -1;
	o = record_begin(rec, &e);
	if (!o)
		o = record_work(rec, &e);
	if (o && *e.text)
		cmd_say("%s", e.text);
	o = record_finish(rec, o);
	if (!o && cfg->judge && rec->run.figures)
		o = diagnose_outcome(rec->run.figures);
	/* An interrupt may have reached both. */
	code = rec->command_code && !cmd_stop ? rec->command_code : (int)o;
	child_end(&rec->child);
	sampler_close(rec->sampler);
	tracing_close(rec->tracing);
	looks_close(&rec->looks);
	rx_waiting_free(rec->asked);
	diagnose_fini(&rec->diagnose);
	attach_close(&rec->a);
	ledger_fini(&rec->before);
	runs_close(&rec->folder);
	run_fini(&rec->run);
	free(rec);
	return code;
}
