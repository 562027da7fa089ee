/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * afpscope speedtest: a session or a directory, its watch, results out. The options are in
 * speedtest_opts.c, what the works do in client/work, what is printed in user/report.
 */
#include "main/speedtest.h"

#include "compat/peer.h"
#include "compat/speed.h"
#include "report/progress.h"
#include "report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRACE_ROOM 65536 /* requests of one region that -v shows */
#define PROMPT_NS  200000000u

/* One run: what the hooks need. */
struct speedtest_session {
	struct workload w;
	const struct speedtest_cfg *cfg;
	struct store *null;
	/* netatalk's text, printed while the run goes on: where it has got to. */
	uint64_t live_size;
	const struct run_phase *live_phase;
	bool on_terminal; /* progress goes to a terminal, and not in netatalk's format */
};

/* The connection, both ends */

static void main_speedtest_look(struct speedtest_session *x, struct run_transfer *t,
				enum run_tcp_when when)
{
	struct run_tcp *look;

	if (!x->w.s.afp.dsi)
		return;
	look = run_tcp(t, TCP_CLIENT, when);
	if (look && !dsi_tcp(x->w.s.afp.dsi, look))
		t->n_tcp--;
	look = x->w.s.watch ? run_tcp(t, TCP_SERVER, when) : NULL;
	if (look && !watch_tcp(x->w.s.watch, look))
		t->n_tcp--;
	else if (look)
		look->t_ns = load_clock_ns();
}

/* Hooks */

static void main_speedtest_on_region_begin(void *user, struct run_phase *p)
{
	struct speedtest_session *x = user;

	session_region_begin(&x->w.s, p);
	if (x->w.load.sample.iteration == 1)
		main_speedtest_look(x, p->transfer, TCP_BEFORE);
}

static void main_speedtest_on_region_end(void *user, struct run_phase *p)
{
	struct speedtest_session *x = user;

	if (x->w.load.sample.iteration == x->cfg->o.iterations)
		main_speedtest_look(x, p->transfer, TCP_AFTER);
	session_region_end(&x->w.s, p);
}

static void on_tick(void *user, struct run_phase *p)
{
	main_speedtest_look(user, p->transfer, TCP_DURING);
}

static void print_trace(const struct load *l)
{
	for (size_t i = 0; i < l->n_trace; i++) {
		const struct load_trace *t = &l->trace[i];

		fprintf(stderr, "  %9.3f ms  %-12s offset %-12" PRIu64 " %-9" PRIu64 " %.3f ms",
			(double)(t->begun_ns - l->start_ns) / 1e6, t->what, t->offset, t->len,
			(double)(t->last_ns - t->begun_ns) / 1e6);
		fprintf(stderr, t->code ? "  result %d\n" : "\n", t->code);
	}
	if (l->trace_lost)
		fprintf(stderr, "  and %zu more\n", l->trace_lost);
}

/* On a terminal: what is going on, in a line that is written over. */
static void show_iteration(const struct speedtest_session *x, const struct run_phase *p,
			   const struct run_sample *s)
{
	if (!x->on_terminal)
		return;
	fprintf(x->w.s.progress, "\r\033[K%s  %s %u of %u", p->title,
		s->warmup ? "warm-up" : "iteration", s->iteration,
		s->warmup ? x->cfg->o.warmups : x->cfg->o.iterations);
	fflush(x->w.s.progress);
}

static void on_sample_done(void *user, const struct run_phase *p, const struct run_sample *s)
{
	struct speedtest_session *x = user;

	if (x->w.load.trace)
		print_trace(&x->w.load);
	if (!x->cfg->live) {
		show_iteration(x, p, s);
		return;
	}
	if (p != x->live_phase)
		report_speed_head(&x->w.s.run, p, stdout);
	x->live_phase = p;
	report_speed_sample(p, s, stdout);
	fflush(stdout);
}

static void main_speedtest_on_phase_done(void *user, const struct run_phase *p)
{
	struct speedtest_session *x = user;

	if (x->on_terminal)
		fputs("\r\033[K", x->w.s.progress);
	if (x->cfg->live && x->cfg->statistics)
		report_speed_statistics(p, stdout);
	else if (!x->cfg->live && !x->w.cfg->csv && !x->w.cfg->s.runs.screen)
		report_speed_progress(&x->w.s.run, p, x->w.s.progress);
}

/* -i: waits for a line and no more, and keeps the session alive meanwhile. */
static int wait_for_enter(struct speedtest_session *x, struct err *e)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
	char c = '\0';
	ssize_t n;
	int r;

	fprintf(stderr, "Press <ENTER> to continue\n");
	while (c != '\n') {
		while (poll(&p, 1, 0) == 0) {
			r = store_idle(x->w.s.store, PROMPT_NS, &cmd_stop, e);
			if (r)
				return r;
		}
		n = read(STDIN_FILENO, &c, 1);
		if (n <= 0)
			return err_set(e, n ? -errno : -ENODATA,
				       "-i waits for <ENTER>, but standard input %s%s",
				       n ? "cannot be read: " : "has ended",
				       n ? strerror(errno) : "");
	}
	return 0;
}

static void end_live_size(const struct speedtest_session *x)
{
	if (x->live_size && x->cfg->statistics)
		report_speed_network(&x->w.s.run, x->live_size, stdout);
}

static void begin_live_size(struct speedtest_session *x, uint64_t size)
{
	end_live_size(x);
	if (x->cfg->sweep)
		report_speed_size(size, stdout);
	report_speed_banner(&x->w.s.run, size, x->cfg->statistics, stdout);
	x->live_size = size;
}

/* Prints what follows the last test. 0 or -ENOMEM. */
static int end_live(const struct speedtest_session *x)
{
	end_live_size(x);
	return x->cfg->sweep ? report_speed_sweep(&x->w.s.run, stdout) : 0;
}

static int on_next(void *user, enum speed_work work, uint64_t size, struct err *e)
{
	struct speedtest_session *x = user;
	char text[RUN_SIZE_MAX];

	if (x->cfg->live && size != x->live_size)
		begin_live_size(x, size);
	if (x->w.cfg->s.local && work == SPEED_SERVER_COPY) {
		if (x->cfg->live)
			report_speed_skipped(stdout);
		return 1;
	}
	if (x->cfg->interactive) {
		fprintf(stderr, "%s, %s: ", speedtest_name(work), run_size(size, text));
		return wait_for_enter(x, e);
	}
	return 0;
}

/* Session */

static int describe_sizes(const struct speedtest_cfg *cfg, struct run_notes *o)
{
	char list[64 * 21 + 1] = "";

	for (size_t i = 0, at = 0; i < cfg->o.n_sizes && at < sizeof(list); i++)
		at += (size_t)snprintf(list + at, sizeof(list) - at, "%s%" PRIu64, at ? "," : "",
				       cfg->size[i]);
	return run_note(o, "sizes_bytes", "%s", *list ? list : "the file's own");
}

static int main_speedtest_describe(struct workload *base)
{
	const struct speedtest_session *x = (struct speedtest_session *)base;
	const struct store *store = base->s.store;
	const struct speedtest_cfg *cfg = x->cfg;
	const struct speedtest_opts *w = &cfg->o;
	struct run_notes *o = &base->s.run.options;
	char works[64] = "";
	int r = 0;

	for (unsigned int i = 0, at = 0; i < w->n_works; i++)
		at += (unsigned int)snprintf(works + at, sizeof(works) - at, "%s%s", at ? "," : "",
					     speedtest_name(w->work[i]));
	r |= run_note(o, "tests", "%s", works);
	r |= describe_sizes(cfg, o);
	if (cfg->sweep)
		r |= run_note(o, "sweep", "%zu sizes", cfg->o.n_sizes);
	r |= run_note(o, "iterations", "%u", w->iterations);
	r |= run_note(o, "warmup", "%u", w->warmups);
	r |= run_note(o, "outstanding", "%u", w->window);
	r |= run_note(o, "chunk_bytes", "%zu", speedtest_chunk(store, w, w->work[0]));
	r |= run_note(o, "chunk_read_bytes", "%zu", speedtest_chunk(store, w, SPEED_READ));
	r |= run_note(o, "chunk_write_bytes", "%zu", speedtest_chunk(store, w, SPEED_WRITE));
	r |= run_note(o, "narrow", "%s", cfg->narrow ? "yes" : "no");
	r |= run_note(o, "flush", "%s", w->flush ? "yes" : "no");
	r |= run_note(o, "sparse", "%s", w->sparse ? "yes" : "no");
	r |= run_note(o, "recreate", "%s", w->recreate ? "yes" : "no");
	r |= run_note(o, "verify", "%s", w->verify ? "yes" : "no");
	r |= run_note(o, "data", "%s", speedtest_data_choices[w->data]);
	r |= run_note(o, "receive", "%s", speedtest_receive_choices[w->receive]);
	r |= run_note(o, "delay_s", "%g", (double)w->delay_ns / 1e9);
	r |= run_note(o, "units", "%s", speedtest_unit_choices[cfg->units]);
	if (w->file)
		r |= run_note(o, "file", "%s", w->file);
	if (cfg->w.s.second_volume)
		r |= run_note(o, "second_volume", "%s", cfg->w.s.second_volume);
	return r;
}

/* If the null peer fails, the run gets a warning and goes on. */
static void open_null(struct speedtest_session *x)
{
	struct err e = { 0 };

	if (!x->cfg->null || x->cfg->w.s.local)
		return;
	if (store_open_null(&x->null, x->w.s.store, &e))
		run_note(&x->w.s.run.warnings, "null",
			 "no comparison with a server that stores nothing: %s", e.text);
}

static enum outcome main_speedtest_prepare(struct workload *w, struct err *e)
{
	struct speedtest_session *x = (struct speedtest_session *)w;

	if (speedtest_check(w->s.store, &x->cfg->o, e))
		return OUTCOME_USAGE;
	if (x->cfg->each_request) {
		w->load.trace = calloc(TRACE_ROOM, sizeof(*w->load.trace));
		w->load.trace_room = w->load.trace ? TRACE_ROOM : 0;
	}
	open_null(x);
	return OUTCOME_OK;
}

/* As netatalk's tool does before it logs out. */
static int close_volumes(struct workload *w, struct err *e)
{
	int r = afp_close_volume(&w->s.afp, w->s.afp.volume, e);

	if (!r && w->store.other)
		r = afp_close_volume(&w->s.afp, w->store.other, e);
	return r;
}

/* Prints how much there is to do. */
static void announce(const struct speedtest_session *x)
{
	/* file data that crosses the connection for each byte of an iteration */
	static const double moves[N_SPEED_WORKS] = {
		[SPEED_READ] = 1, [SPEED_WRITE] = 1, [SPEED_COPY] = 2
	};
	const struct speedtest_opts *o = &x->cfg->o;
	double bytes = 0;

	if (x->cfg->live || x->w.cfg->csv || o->n_works * o->n_sizes < 2)
		return;
	for (unsigned int k = 0; k < o->n_works; k++)
		for (size_t i = 0; i < o->n_sizes; i++)
			bytes += (double)o->size[i] * moves[o->work[k]] *
				 (o->warmups + o->iterations);
	fprintf(x->w.s.progress, "%zu transfers, %u iteration%s of each, warm-ups included",
		o->n_works * o->n_sizes, o->warmups + o->iterations,
		o->warmups + o->iterations == 1 ? "" : "s");
	if (bytes >= 1e9)
		fprintf(x->w.s.progress, "; %.0f GB in all", bytes / 1e9);
	fputs("\n\n", x->w.s.progress);
}

static int main_speedtest_work(struct workload *w, struct err *e)
{
	struct speedtest_session *x = (struct speedtest_session *)w;
	struct speedtest_opts o = x->cfg->o;
	int r;

	o.null = x->null;
	o.force = w->cfg->s.force;
	o.next = on_next;
	o.user = x;
	announce(x);
	r = speedtest_run(&w->load, &o, w->s.left->base, e);
	return r || w->cfg->s.local ? r : close_volumes(w, e);
}

/* Output */

static int main_speedtest_report(struct workload *w, const struct report_opts *o)
{
	const struct speedtest_session *x = (struct speedtest_session *)w;
	const int table = w->cfg->table;
	const struct run *run = &w->s.run;
	int r = 0;

	if (w->cfg->csv)
		return report_speed_csv(run, stdout);
	if (x->cfg->live)
		r = end_live(x);
	else if (table == OUTPUT_SCREEN)
		r = report_screen(run, o, stdout);
	else if (table != OUTPUT_OWN)
		r = report_speed_peer(run, x->cfg->statistics, stdout);
	if (!r && table == OUTPUT_BOTH)
		putchar('\n');
	if (!r && (table == OUTPUT_OWN || table == OUTPUT_BOTH))
		r = report_own(run, o, stdout);
	return r;
}

static int main_speedtest_exit_code(const struct workload *w, enum outcome o)
{
	return w->cfg->compatible ? peer_speedtest_exit_code(o) : (int)o;
}

static const struct workload_type speedtest = {
	.name = "speedtest",
	.set = SPEEDTEST_SET,
	.window = SPEEDTEST_WINDOW_MAX,
	.has_store = true,
	.prepare = main_speedtest_prepare,
	.describe = main_speedtest_describe,
	.work = main_speedtest_work,
	.report = main_speedtest_report,
	.exit_code = main_speedtest_exit_code,
};

static int main_speedtest_run(const struct speedtest_cfg *cfg)
{
	struct speedtest_session *x = calloc(1, sizeof(*x));
	struct workload *w;
	int code;

	if (!x)
		return OUTCOME_FAILED;
	x->cfg = cfg;
	w = &x->w;
	workload_init(w, &speedtest, &cfg->w);
	w->set = cfg->set;
	w->store = (struct store_afp_opts) { .legacy = !strcmp(cfg->set, SPEEDTEST_PEER_SET),
					     .fills = !strcmp(cfg->set, SPEEDTEST_4_6_SET),
					     .narrow = cfg->narrow,
					     .window = cfg->o.window };
	w->hooks.region_begin = main_speedtest_on_region_begin;
	w->hooks.region_end = main_speedtest_on_region_end;
	w->hooks.sample_done = on_sample_done;
	w->hooks.phase_done = main_speedtest_on_phase_done;
	w->hooks.tick = on_tick;
	x->on_terminal = !cfg->live && !w->cfg->csv && isatty(fileno(w->s.progress));
	code = workload_run(w);
	store_close(x->null);
	free(w->load.trace);
	free(x);
	return code;
}

/* After the options. r: what speedtest_parse returned. The exit code. */
static int main_speedtest_do(struct speedtest_cfg *cfg, const struct job *j, int r, struct err *e)
{
	const bool compatible = cfg->w.compatible;
	enum outcome code = r == -ENOENT ? OUTCOME_NO_SESSION /* there is no such test */
					 : OUTCOME_USAGE;
	char *text = NULL;

	if (!r && cfg->w.show_job && !compatible)
		return job_print(j, cfg);
	r = r ? r : session_check(&cfg->w.s, e);
	r = r ? r : job_text(&text, j, cfg, true, e);
	if (r && compatible)
		cmd_say("%s", e->text);
	if (r)
		return compatible ? peer_speedtest_exit_code(cmd_stop ? OUTCOME_INTERRUPTED : code)
				  : cmd_usage_error("speedtest", e);
	cfg->w.s.runs.job = text;
	cmd_catch_signals();
	r = main_speedtest_run(cfg);
	free(text);
	return r;
}

int cmd_speedtest(int argc, char **argv)
{
	struct speedtest_cfg *cfg = calloc(1, sizeof(*cfg));
	struct err e = { 0 };
	struct job job;
	int r;

	if (!cfg)
		return OUTCOME_FAILED;
	r = job_open(&job, &speedtest_job, argc, argv, &e);
	r = r ? r : speedtest_parse(cfg, &job, &e);
	r = workload_parsed(&cfg->w, r, &e);
	if (!r && cfg->w.help) {
		speedtest_help(cfg, stdout);
		r = cfg->w.compatible ? peer_speedtest_exit_code(OUTCOME_USAGE) : OUTCOME_OK;
	} else {
		r = main_speedtest_do(cfg, &job, r, &e);
	}
	job_free(&job);
	free(cfg);
	return r;
}
