/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A command that loads a server, from its options to its exit code. Knows no workload. */
#include "drive/workload.h"

#include "base/text.h"
#include "report/progress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Hooks */

static void on_ready(void *user)
{
	struct workload *w = user;

	session_ready(&w->s);
}

static void workload_on_region_begin(void *user, struct run_phase *p)
{
	struct workload *w = user;

	session_region_begin(&w->s, p);
}

static void workload_on_region_end(void *user, struct run_phase *p)
{
	struct workload *w = user;

	session_region_end(&w->s, p);
}

static void workload_on_phase_done(void *user, const struct run_phase *p)
{
	struct workload *w = user;

	if (!w->cfg->s.runs.screen)
		report_progress(&w->s.run, p, PROGRESS_NO_SIZE, w->s.watch != NULL, w->s.progress);
}

void workload_init(struct workload *w, const struct workload_type *type,
		   const struct workload_cfg *cfg)
{
	w->type = type;
	w->cfg = cfg;
	w->set = type->set;
	w->s.cfg = &cfg->s;
	w->s.whole = type->many;
	pthread_mutex_init(&w->s.visits.lock, NULL);
	w->s.progress = cfg->csv || !cfg->compatible ? stderr : stdout;
	w->hooks = (struct load_hooks) { .user = w,
					 .ready = on_ready,
					 .region_begin = workload_on_region_begin,
					 .region_end = workload_on_region_end,
					 .phase_done = workload_on_phase_done };
	w->store.window = type->window;
}

/* From nothing to the first request */

/* A directory may be on a volume of a server of this kind. */
static const char *mode_of(const struct session *s)
{
	if (!s->cfg->local)
		return "afp";
	return s->run.kind ? s->run.kind->name : "local";
}

static enum outcome workload_describe(struct workload *w, struct err *e)
{
	const struct session_cfg *cfg = &w->cfg->s;
	struct run_notes *o = &w->s.run.options;
	int r = 0;

	if (w->type->has_store)
		r |= run_note(o, "mode", "%s", mode_of(&w->s));
	if (w->type->describe)
		r |= w->type->describe(w);
	if (cfg->local) {
		r |= run_note(o, "directory", "%s", cfg->directory);
		r |= run_note(o, "direct", "%s", w->s.store->align > 1 ? "yes" : "no");
		if (!w->s.run.kind && !run_note_find(&w->s.run.absent, "*"))
			r |= run_note(&w->s.run.absent, "*", "local mode: no server");
	}
	if (!r)
		return OUTCOME_OK;
	err_set(e, -ENOMEM, "out of memory");
	return OUTCOME_FAILED;
}

static enum outcome workload_open_all(struct workload *w, struct err *e)
{
	const struct workload_type *type = w->type;
	enum outcome o = session_open(&w->s, type->name, w->set, type->window, e);

	if (!o && type->has_store)
		o = session_open_store(&w->s, &w->store, e);
	if (o)
		return o;
	w->load.afp = w->cfg->s.local ? NULL : &w->s.afp;
	w->load.store = w->s.store;
	w->load.run = &w->s.run;
	w->load.hooks = &w->hooks;
	w->load.stop = &cmd_stop;
	if (type->prepare)
		o = type->prepare(w, e);
	return o ? o : workload_describe(w, e);
}

/* The end */

static int workload_report(struct workload *w, struct err *e)
{
	const struct report_opts o = output_terminal();
	int r;

	if (runs_json_only(&w->cfg->s.runs))
		return 0;
	if (w->type->report)
		r = w->type->report(w, &o);
	else if (w->cfg->table == OUTPUT_SCREEN)
		r = report_screen(&w->s.run, &o, stdout);
	else
		r = report_own(&w->s.run, &o, stdout);
	return r ? err_set(e, r, "cannot print the report: %s", strerror(-r)) : 0;
}

void workload_judge(struct workload *w, enum run_slo_verdict worst)
{
	w->faults.slow = worst == RUN_SLO_BROKEN;
	w->faults.unsure = worst == RUN_SLO_UNSURE;
}

static int workload_exit_code(const struct workload_faults *f, enum outcome o)
{
	if (o == OUTCOME_LOST && f->none_open)
		return OUTCOME_NO_SESSION;
	if (o != OUTCOME_OK && o != OUTCOME_UNTRUSTED)
		return (int)o;
	if (f->ended)
		return OUTCOME_SLOW;
	if (f->lost)
		return OUTCOME_LOST;
	if (f->refused)
		return OUTCOME_REFUSED;
	if (o == OUTCOME_OK && f->slow)
		return OUTCOME_SLOW;
	return o == OUTCOME_OK && f->unsure ? OUTCOME_UNSURE : (int)o;
}

static int run_with_warden(struct workload *w)
{
	struct err e = { 0 };
	enum outcome o = workload_open_all(w, &e);
	int r;

	if (!o) {
		r = w->type->work(w, &e);
		w->s.refused = w->load.refused;
		o = session_finish(&w->s, r, &e);
	}
	if (o && o != OUTCOME_UNTRUSTED)
		cmd_say("%s", *e.text ? e.text : "interrupted at the end");
	session_remove_left(&w->s);
	if (w->s.run.n_phases && workload_report(w, &e)) {
		cmd_say("%s", e.text);
		o = o ? o : OUTCOME_FAILED;
	}
	o = session_save(&w->s, o);
	r = w->type->exit_code ? w->type->exit_code(w, o) : workload_exit_code(&w->faults, o);
	session_close(&w->s);
	return r;
}

int workload_run(struct workload *w)
{
	struct err e = { 0 };
	int r = session_warden(&w->s, &e);

	if (r)
		cmd_say("%s", e.text);
	r = r ? OUTCOME_FAILED : run_with_warden(w);
	warden_close(w->s.warden);
	return r;
}

int workload_take_url(void *cfg, char *target, struct err *e)
{
	return connect_url(&((struct workload_cfg *)cfg)->s.c, target, e);
}

/* Without looking whether it is there: what is no URL of a server is a place. */
static bool workload_take_place(struct session_cfg *cfg, char *word)
{
	if (cfg->local || (text_url(word) && !store_is_local(word)))
		return false;
	cfg->local = true;
	cfg->directory = cfg->place = word;
	return true;
}

int workload_take_target(void *cfg, char *target, struct err *e)
{
	if (workload_take_place(&((struct workload_cfg *)cfg)->s, target))
		return 0;
	return workload_take_url(cfg, target, e);
}

int workload_parse(struct workload_cfg *cfg, struct job *j, bool has_store, struct err *e)
{
	int n, r;

	if (cfg->compatible)
		cfg->s.c.uam = "cleartext"; /* as the original, which has -A as well */
	r = job_parse(j, cfg, e);
	if (r || cfg->help)
		return r;
	if (cfg->show_job && cfg->compatible)
		return err_set(e, -EINVAL, "--show-job: the original has no job files");
	n = j->n_operands;
	if (cfg->compatible && n && !text_url(j->operand[0]))
		n = 0; /* the original does not look at it */
	if (n == 1 && has_store && workload_take_place(&cfg->s, j->operand[0]))
		n = 0;
	j->target_is_path = cfg->s.place != NULL;
	return session_parse(&cfg->s, n, j->operand, e);
}

int workload_parsed(struct workload_cfg *cfg, int r, struct err *e)
{
	if (!r || !cfg->s.place || session_is_place(cfg->s.place))
		return r;
	return connect_url(&cfg->s.c, cfg->s.place, e);
}

static void workload_help(const struct workload_type *type)
{
	printf("Usage: afpscope %s [OPTIONS] [afp://USER@HOST:PORT/VOLUME|JOB.ini]\n", type->name);
	if (type->has_store)
		session_put_places(stdout, type->name);
	cmd_help(type->job->options, "%s\n\n", type->help);
}

/* From the options on. */
static int workload_do(const struct workload_type *type, struct workload_cfg *cfg,
		       const struct job *j)
{
	struct workload *w;
	struct err e = { 0 };
	char *text = NULL;
	int r = session_check(&cfg->s, &e);

	if (!r && type->check)
		r = type->check(cfg, &e);
	r = r ? r : job_text(&text, j, cfg, true, &e);
	if (r)
		return cmd_usage_error(type->name, &e);
	cfg->s.runs.job = text;
	cfg->table = output_table(cfg->table, cfg->verbose, OUTPUT_OWN, false);
	cfg->s.runs.screen = cfg->table == OUTPUT_SCREEN && !runs_json_only(&cfg->s.runs);
	cmd_catch_signals();
	r = type->elsewhere ? type->elsewhere(cfg) : -1;
	w = r < 0 ? calloc(1, type->size ? type->size : sizeof(*w)) : NULL;
	if (w) {
		workload_init(w, type, cfg);
		r = workload_run(w);
	} else if (r < 0) {
		cmd_say("out of memory");
		r = OUTCOME_FAILED;
	}
	free(text);
	free(w);
	return r;
}

int workload_main(const struct workload_type *type, struct workload_cfg *cfg, int argc, char **argv)
{
	struct err e = { 0 };
	struct job job;
	int r = job_open(&job, type->job, argc, argv, &e);

	if (!r)
		r = type->parse ? type->parse(cfg, &job, &e)
				: workload_parse(cfg, &job, type->has_store, &e);
	r = workload_parsed(cfg, r, &e);
	if (r) {
		r = cmd_usage_error(type->name, &e);
	} else if (cfg->help) {
		workload_help(type);
	} else if (cfg->show_job) {
		r = job_print(&job, cfg);
	} else {
		r = workload_do(type, cfg, &job);
	}
	job_free(&job);
	return r;
}
