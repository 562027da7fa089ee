/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * afpscope record: watches a running server, whoever its clients are, and reports what each AFP
 * command cost.
 */
#include "main/record.h"
#include "app/child.h"
#include "app/cmd.h"
#include "app/output.h"
#include "attach/comeback.h"
#include "attach/guard.h"
#include "attach/sampler.h"
#include "base/clock.h"
#include "base/opt.h"
#include "doctor/diagnose.h"
#include "drive/rx_waiting.h"
#include "host/rights.h"
#include "host/sample.h"
#include "kinds/kind.h"
#include "report/cell.h"
#include "report/report.h"
#include "watch/threads.h"
#include "watch/udpsockets.h"
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

#define COMEBACK_MS 5000 /* so long a server that has ended is waited for */
#define TICK_NS     100000000u
#define NS_PER_S    1000000000u

const char *const record_watch_choices[] = { "auto", "bpf", "proc", NULL };

struct record {
	const struct record_cfg *cfg;
	const struct kind *kind;
	struct kind_found found;
	struct watch *watch;
	struct threads *threads;  /* NULL: not shown of this kind */
	struct udpsockets *udp;   /* likewise */
	struct rx_waiting *asked; /* NULL: it is not asked what waits in it */
	struct sampler *sampler;  /* NULL: no time series */
	struct tracing *tracing;  /* NULL: no trace */
	struct runs_folder folder;
	struct child child;
	struct diagnose diagnose;
	struct guard guard;
	bool costly;      /* more than --max-cpu */
	int command_code; /* COMMAND's own exit code, as of a shell; 0: it was ended from here */
	struct run run;
	uint64_t begun_ns, begun_cpu_ns;
	struct ledger before;
};

/* Server */

static int record_find(struct record *rec, struct err *e)
{
	const struct record_cfg *cfg = rec->cfg;
	const struct kind_wish wish = { .port = cfg->whom.port,
					.pid = cfg->whom.pid,
					.exe = cfg->exe,
					.unit = cfg->unit,
					.volume = cfg->volume,
					.whole = cfg->server };

	bool any = cfg->judge && !cfg->kind, named = wish.pid || wish.port;
	int r, other;

	/* What is named may be of another kind, of which only its own programs are. */
	if (any && named && !kind_find_other(&rec->kind, &rec->found, &wish, e))
		return 0;
	*e = (struct err) { 0 };
	r = kind_find(rec->kind, &rec->found, &wish, e);
	/* A diagnosis is of whatever server there is; of several of AFP one must be named. */
	if (!r || r == -ENOTUNIQ || !any)
		return r;
	other = kind_find_other(&rec->kind, &rec->found, &wish, e);
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
	if (*rec->found.note)
		r |= run_note(&rec->run.warnings, "server", "%s", rec->found.note);
	return r ? -ENOMEM : rec->kind->describe(&rec->found, &rec->run);
}

/* After the rights were given up, so that only what is kept is used. */
static int begin_sampling(struct record *rec, struct err *e)
{
	const char *rung = watch_rung(rec->watch);
	unsigned int hz = rec->cfg->hz;

	if (!hz && rung && !strcmp(rung, "proc"))
		hz = SAMPLER_HZ;
	if (!hz)
		return 0;
	run_note(&rec->run.options, "sample_hz", "%u", hz);
	return sampler_open(&rec->sampler, hz, rec->watch, e);
}

static enum outcome record_begin(struct record *rec, struct err *e)
{
	const struct record_cfg *cfg = rec->cfg;
	struct watch_opts watch = { 0 };
	int r = record_find(rec, e);

	if (r)
		return r == -EACCES ? OUTCOME_UNTRUSTED : OUTCOME_NO_SESSION;
	r = run_init(&rec->run, cfg->name, cfg->name);
	rec->run.kind = &rec->kind->is;
	rec->run.about = cfg->judge ? RUN_ABOUT_FAULTS : RUN_ABOUT_SERVER;
	if (!r && run_has_threads(&rec->run) && !(rec->threads = threads_new()))
		r = -ENOMEM;
	if (!r && AFS_IS_DATAGRAMS(rec->kind->decoder) && !(rec->udp = udpsockets_new()))
		r = -ENOMEM;
	if (r || record_describe(rec)) {
		err_set(e, -ENOMEM, "out of memory");
		return OUTCOME_FAILED;
	}
	r = runs_open(&rec->folder, &cfg->runs, cfg->trace.what, &rec->run, e);
	r = r ? r : tracing_open(&rec->tracing, &cfg->trace, &rec->folder, &rec->run, e);
	if (r)
		return runs_refused(r);
	if (cfg->command && child_start(&rec->child, cfg->command, e))
		return OUTCOME_FAILED;
	cmd_allow_files();
	watch.mode = (enum watch_mode)cfg->watch;
	tracing_sink(rec->tracing, &watch.sink);
	if (cfg->judge)
		watch.sink.what |= AFS_TRACE_ASKED;
	if (watch_open_traced(&rec->watch, &watch, &rec->found.target, e))
		return OUTCOME_FAILED;
	if (watch_why_off(rec->watch)) {
		err_set(e, -EACCES, "cannot watch the server: %s", watch_why_off(rec->watch));
		return OUTCOME_UNTRUSTED;
	}
	cmd_note_rights(rights_drop(cfg->hz && sample_wants_taskstats() ? RIGHTS_TASKSTATS : 0),
			&rec->run.warnings);
	tracing_start(rec->tracing, rec->watch, NULL, &rec->run);
	return begin_sampling(rec, e) ? OUTCOME_FAILED : OUTCOME_OK;
}

/* Time */

static uint64_t record_answered(struct record *rec)
{
	struct ledger now = { 0 };
	uint64_t n;

	if (watch_glance(rec->watch, &now))
		return 0;
	n = ledger_answered(&now);
	ledger_fini(&now);
	return n;
}

static void look_at_threads(struct record *rec)
{
	if (rec->threads)
		threads_look(rec->threads, rec->watch);
	if (rec->udp)
		udpsockets_look(rec->udp, rec->watch);
	if (rec->asked)
		rx_waiting_tick(rec->asked);
}

/* A line on a terminal, once a second; with a COMMAND the terminal is left to it. */
static void record_show(struct record *rec, bool last)
{
	static const char clear[] = "\r\033[K";
	double s = (double)(clock_now_ns() - rec->begun_ns) / NS_PER_S;
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
			rec->found.target.server);
}

static bool record_is_over(struct record *rec, uint64_t now)
{
	const struct record_cfg *cfg = rec->cfg;

	if (cmd_stop || rec->costly || (cfg->command && child_ended(&rec->child)))
		return true;
	if (cfg->seconds && now - rec->begun_ns >= (uint64_t)cfg->seconds * NS_PER_S)
		return true;
	return !watch_lives(rec->watch);
}

static void sleep_until(uint64_t ns)
{
	const struct timespec until = { .tv_sec = (time_t)(ns / NS_PER_S),
					.tv_nsec = (long)(ns % NS_PER_S) };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static uint64_t record_least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void record_wait_for_end(struct record *rec)
{
	uint64_t period_ns = rec->sampler ? sampler_period_ns(rec->sampler) : 0, missed;
	uint64_t now = rec->begun_ns, shown = now, look_ns = now + TICK_NS;
	uint64_t sample_ns = rec->sampler ? now + period_ns : UINT64_MAX;
	uint64_t end_ns = rec->cfg->seconds ? now + (uint64_t)rec->cfg->seconds * NS_PER_S
					    : UINT64_MAX;

	while (!record_is_over(rec, now)) {
		sleep_until(record_least(end_ns, record_least(look_ns, sample_ns)));
		now = clock_now_ns();
		if (now >= sample_ns) {
			sample_ns = sampler_next(sample_ns, period_ns, now, &missed);
			sampler_tick(rec->sampler, missed);
		}
		if (now >= look_ns) {
			look_ns = sampler_next(look_ns, TICK_NS, now, &missed);
			watch_tick(rec->watch);
			if (rec->threads)
				threads_tick(rec->threads, rec->watch);
			if (rec->udp)
				udpsockets_look(rec->udp, rec->watch);
			if (rec->asked)
				rx_waiting_tick(rec->asked);
			sampler_look(rec->sampler);
		}
		if (now - shown >= NS_PER_S) {
			record_show(rec, false);
			rec->costly = guard_over(&rec->guard, rec->watch);
			diagnose_tick(&rec->diagnose);
			shown = now;
		}
	}
	record_show(rec, true);
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
	if (!rec->found.servers.session && !watch_lives(rec->watch))
		rec->run.server_end.ended_ns = clock_now_ns();
}

static void note_server_end(struct record *rec)
{
	const struct record_cfg *cfg = rec->cfg;
	unsigned int port = comeback_port(&rec->found, cfg->whom.port);
	uint64_t ns = rec->run.server_end.ended_ns - rec->begun_ns;
	pid_t pid = rec->found.target.server, now = 0;
	char after[64];

	if (!cfg->command)
		now = comeback_wait(port, &rec->found, COMEBACK_MS);
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

	if (rec->costly)
		run_note(&rec->run.warnings, "max-cpu", "%s", guard_text(&rec->guard, text));
	if (rec->run.server_end.ended_ns)
		note_server_end(rec);
	else if (!watch_lives(rec->watch))
		run_note(&rec->run.warnings, "server", "process %d ended while it was recorded",
			 rec->found.target.server);
}

/* What this program took since the begin, without COMMAND. */
static void note_own(struct record *rec)
{
	uint64_t ns = guard_own_ns() - rec->begun_cpu_ns;

	run_note(&rec->run.rungs, RUNGS_OWN_NS, "%" PRIu64, ns - rec->child.cpu_ns);
}

/* Stops to count, and completes the phase. */
static int read_end(struct record *rec, struct run_phase *p)
{
	struct ledger after = { 0 };
	uint64_t stopped_ns;
	int r;

	note_own(rec);
	r = diagnose_last(&rec->diagnose, rec->watch, &rec->found);
	stopped_ns = watch_stop(rec->watch);
	run_set(p, METRIC_ELAPSED, stopped_ns - rec->begun_ns);
	r = r ? r : watch_read(rec->watch, &after);
	if (!r)
		r = ledger_diff(&p->ledger, &after, &rec->before);
	if (!r)
		run_warn_withdrawn(&rec->run, p->title, &rec->before, &after, &p->ledger);
	ledger_fini(&after);
	run_phase_from_ledger(p);
	run_phase_times(&rec->run, p);
	return r;
}

static enum outcome record_work(struct record *rec, struct err *e)
{
	struct run_phase *p;
	int r;

	watch_span(rec->watch);
	if (rec->cfg->judge && rec->udp && (rec->asked = rx_waiting_new()))
		rx_waiting_add_watched(rec->asked, rec->watch);
	look_at_threads(rec);
	r = diagnose_begin(&rec->diagnose, rec->watch, &rec->found);
	r = r ? r : watch_read(rec->watch, &rec->before);
	rec->begun_ns = clock_now_ns();
	if (child_go(&rec->child, e)) {
		run_note(&rec->run.warnings, "command", "%s", e->text);
		return OUTCOME_USAGE;
	}
	p = run_phase(&rec->run, 0, 1, "recorded");
	if (r || !p) {
		err_set(e, -ENOMEM, "out of memory");
		return OUTCOME_FAILED;
	}
	p->start_ns = rec->begun_ns;
	say_begun(rec);
	guard_begin(&rec->guard, rec->cfg->max_cpu, rec->watch);
	rec->begun_cpu_ns = guard_own_ns();
	record_wait_for_end(rec);
	take_server_end(rec);
	look_at_threads(rec);
	r = read_end(rec, p);
	note_command(rec);
	record_note_end(rec);
	p->complete = rec->run.complete = !r;
	if (!r)
		r = sampler_note(rec->sampler, &rec->run);
	if (!r && rec->threads)
		r = threads_note(rec->threads, &p->ledger, &rec->run);
	if (!r && rec->udp)
		r = udpsockets_note(rec->udp, rec->watch, &rec->run);
	if (!r)
		r = watch_finish(rec->watch, &rec->run);
	if (rec->asked)
		rx_waiting_note(rec->asked, &rec->run);
	if (!r && rec->kind->is.has_diagnosis)
		r = diagnose_end(&rec->diagnose, rec->watch, &rec->found, &rec->run);
	if (!r)
		r = tracing_finish(rec->tracing, &rec->run);
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
	threads_free(rec->threads);
	udpsockets_free(rec->udp);
	rx_waiting_free(rec->asked);
	diagnose_fini(&rec->diagnose);
	watch_free(rec->watch);
	ledger_fini(&rec->before);
	kind_found_fini(&rec->found);
	runs_close(&rec->folder);
	run_fini(&rec->run);
	free(rec);
	return code;
}
