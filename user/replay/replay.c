/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * afpscope replay: what users did on a server, recorded by record --trace --replayable, again. What
 * a recording comes to is in client/work/replay.
 */
#include "replay/replay.h"

#include "base/clock.h"
#include "base/typed.h"
#include "load/room.h"
#include "work/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TICK_NS 100000000u

struct replay_run {
	struct workload w;
	const struct replay_cfg *cfg;
	struct recording about;
	struct replay_plan *plan;
	const struct user **account; /* of each client of the plan; NULL: all as the session */
	struct clients *clients;
	char base[TREE_NAME_MAX + 1];
	bool found, stays;
	bool made; /* what stays is there, or a part of it */
};

/* ---- the image ---- */

/* The directory that stays between two commands. */
static void replay_name_base(struct replay_run *f)
{
	tree_image_name(f->base, f->about.uuid);
}

static int replay_find_base(struct replay_run *f, struct err *e)
{
	struct store *s = f->w.s.store;
	struct store_op op = { .verb = STORE_LOOKUP, .dir = s->root[0], .name = f->base };
	int r;

	replay_name_base(f);
	r = store_call(s, &op, e);
	f->found = !r && op.result == STORE_OK;
	if (r || f->found || f->stays)
		return r;
	tree_name(f->base);
	return 0;
}

/* Of all copies. */
static uint64_t replay_all_room(const struct replay_run *f)
{
	const uint64_t one = replay_plan_room(f->plan);

	return one > UINT64_MAX / f->cfg->copies ? UINT64_MAX : one * f->cfg->copies;
}

/* All that will be there at once, at most: what is written is not what files become longer by. */
static int replay_room(const struct replay_run *f, struct err *e)
{
	const struct session_cfg *cfg = f->w.s.cfg;
	const struct room_need need = { .where = cfg->local ? cfg->directory : cfg->c.volume,
					.bytes = replay_all_room(f),
					.force = cfg->force_how };

	return cfg->force ? 0 : room_check(f->w.s.store, &need, e);
}

/* Unless it stays, it is removed whatever happens. */
static int replay_make_base(struct replay_run *f, struct err *e)
{
	struct session *s = &f->w.s;
	int r = f->found ? 0 : session_make_base(s, f->base, e);

	if (r)
		return r;
	snprintf(s->left->base[0], WARDEN_BASE_LEN, "%s", f->stays ? "" : f->base);
	f->made = f->stays;
	return 0;
}

/* What is there cannot become the image, such as a directory that a replay has moved. */
static int replay_make_anew(struct replay_run *f, struct err *e)
{
	struct session *s = &f->w.s;
	int r;

	snprintf(s->left->base[0], WARDEN_BASE_LEN, "%s", f->base);
	r = session_remove_base(s, e);
	f->found = false;
	replay_clients_anew(f->clients);
	r = r ? r : replay_make_base(f, e);
	return r ? r : replay_clients_make(f->clients, e);
}

/* A server that has no place for all of them is one reason among others: fewer may do. */
static void replay_say_sessions(const struct replay_run *f, struct err *e)
{
	const unsigned int n = f->plan->n_at_once * f->cfg->copies;
	const struct err why = *e;

	if (f->plan->n_at_once < f->plan->n_clients)
		err_set(e, -ECONNREFUSED,
			"%s (if the server takes no more sessions: with --sessions %u, sessions of "
			"a user that follow each other share one; %u are then open besides the "
			"command's own)",
			why.text, n, n);
}

static int replay_make(struct replay_run *f, struct err *e)
{
	struct replay_clients_opts o = { .session = &f->w.s,
					 .plan = f->plan,
					 .copies = f->cfg->copies,
					 .threads = f->cfg->threads,
					 .realtime = f->cfg->realtime,
					 .account = f->account,
					 .base = f->base,
					 .live = (enum ticker_how)f->cfg->live };
	const uint64_t begun_ns = clock_now_ns();
	int r = replay_find_base(f, e);

	o.found = f->found;
	r = r ? r : replay_clients_open(&f->clients, &o, e);
	f->w.faults.none_open = r == -ECONNREFUSED;
	if (r == -ECONNREFUSED)
		replay_say_sessions(f, e);
	r = r ? r : replay_room(f, e);
	r = r ? r : replay_make_base(f, e);
	r = r ? r : replay_clients_make(f->clients, e);
	if (r == LOAD_REFUSED && f->found)
		r = replay_make_anew(f, e);
	/* the sessions that have made the image know its files; those of the replay are new, as
	 * the recorded ones were */
	if (!r && !f->cfg->prepare)
		r = replay_clients_reopen(&f->clients, e);
	if (!r)
		fprintf(f->w.s.progress, "The image is made (%.1f s)\n",
			(double)(clock_now_ns() - begun_ns) / 1e9);
	return r;
}

/* ---- the replay ---- */

static int replay_keep_result(struct replay_run *f, struct run_phase *p, struct err *e)
{
	struct run_notes *warnings = &f->w.s.run.warnings;
	const uint64_t gone = f->about.lost + f->about.missing;
	struct replay_done done;
	struct run_action all;
	int r = 0;

	run_load_all(p->load, &all);
	replay_clients_done(f->clients, &done);
	if (p->load->n_lost)
		r |= run_note(warnings, "lost", "%u of %u sessions were lost: %s", p->load->n_lost,
			      p->load->n_clients, p->load->why);
	r |= replay_note_done(&done, warnings);
	r |= replay_note_recording(f->plan, &f->about, warnings);
	r |= replay_users_note(f->cfg, f->plan, &f->about, warnings);
	p->replay = replay_result(f->plan, f->cfg->copies, gone, &done, p->load);
	if (p->replay)
		workload_judge(&f->w,
			       replay_judge(&f->cfg->slos, f->plan, &done, replay_gone(&f->about),
					    p->load, &p->replay->kept_up, cmd_stop));
	if (p->replay && f->cfg->no_think)
		p->replay->kept_up = (struct run_slo) { 0 };
	f->w.faults.lost |= p->load->n_lost != 0;
	/* a limit says how many may */
	f->w.faults.refused |= all.failed > 0 && !slo_has(&f->cfg->slos, SLO_FAILED, "");
	return r || !p->replay ? err_set(e, -ENOMEM, "out of memory") : 0;
}

static int replay_measure(struct replay_run *f, struct err *e)
{
	struct session *s = &f->w.s;
	struct run_phase *p = run_phase(&s->run, 1, 1, "replay");
	int r;

	if (!p)
		return err_set(e, -ENOMEM, "out of memory");
	session_region_begin(s, p);
	p->start_ns = clock_now_ns();
	r = replay_clients_start(f->clients, e);
	if (r)
		return r;
	while (!clients_wait(f->clients, TICK_NS))
		session_look_tick(s, clock_now_ns());
	r = clients_join(f->clients, p, e);
	session_region_end(s, p);
	if (r)
		return r;
	run_phase_from_load(p);
	r = replay_keep_result(f, p, e);
	if (r)
		return r;
	if (cmd_stop)
		return err_set(e, -EINTR, "interrupted");
	if (p->load->n_lost == p->load->n_clients)
		return err_set(e, -ECONNRESET, "all sessions were lost: %s", p->load->why);
	p->complete = true;
	return 0;
}

static void replay_say_stays(const struct replay_run *f, bool broke_off)
{
	if (broke_off)
		typed_print(
		    f->w.s.progress,
		    "A part of the files may be in %s: the same command makes the rest, and "
		    "afpscope clean --all removes it\n",
		    f->base);
	else
		fprintf(f->w.s.progress, "The files are in %s\n", f->base);
}

static void replay_forget(struct replay_run *f)
{
	replay_plan_free(f->plan);
	recording_free(&f->about);
	free(f->account);
	f->plan = NULL;
	f->account = NULL;
}

static int main_replay_work(struct workload *w, struct err *e)
{
	struct replay_run *f = (struct replay_run *)w;
	struct users users = f->cfg->users;
	struct err gone = { 0 };
	int r = replay_make(f, e);

	users_forget(&users);
	if (!r && !f->cfg->prepare) {
		load_ready(&w->load);
		r = replay_measure(f, e);
		replay_clients_finish(f->clients);
	}
	/* No session has a file open any more when they are removed, also after an error. */
	clients_close(f->clients, NULL);
	if (*w->s.left->base[0] && session_remove_base(&w->s, &gone) && !r)
		r = err_set(e, LOAD_REFUSED, "not all files could be removed: %s", gone.text);
	if (f->made)
		replay_say_stays(f, r != 0);
	replay_forget(f);
	return r;
}

/* ---- the command ---- */

static enum outcome main_replay_prepare(struct workload *w, struct err *e)
{
	struct replay_run *f = (struct replay_run *)w;
	int r;

	f->cfg = (const struct replay_cfg *)w->cfg;
	f->stays = f->cfg->prepare || f->cfg->keep;
	r = replay_read(f->cfg, &f->plan, &f->about, e);
	if (!r && replay_users_accounts(f->cfg, f->plan, &f->about, &f->account))
		r = err_set(e, -ENOMEM, "out of memory");
	if (!r)
		replay_say(w->s.progress, f->cfg, f->plan, &f->about);
	else
		replay_forget(f);
	if (!r)
		return OUTCOME_OK;
	return cmd_stop ? OUTCOME_INTERRUPTED : OUTCOME_FAILED;
}

static int main_replay_describe(struct workload *w)
{
	const struct replay_run *f = (const struct replay_run *)w;

	return replay_describe(f->cfg, f->plan, &f->about, &w->s.run.options);
}

/* What needs no server. */
static int replay_dry_run(struct replay_cfg *cfg)
{
	struct replay_plan *plan;
	struct recording about;
	struct err e = { 0 };
	int r = replay_users_read(cfg, &e);

	if (r)
		return cmd_usage_error(replay_job.command, &e);
	r = replay_read(cfg, &plan, &about, &e);
	if (plan && (!r || r == -ENODATA))
		replay_say(stdout, cfg, plan, &about);
	if (r)
		cmd_say("%s", e.text);
	replay_plan_free(plan);
	recording_free(&about);
	replay_users_free(cfg);
	return r ? OUTCOME_FAILED : OUTCOME_OK;
}

/* Whether only that is asked for: its exit code; -1: it is not. */
static int replay_only_says(int argc, char **argv)
{
	struct replay_cfg cfg = REPLAY_DEFAULTS;
	struct job job = { 0 };
	struct err e = { 0 };
	int r = job_open(&job, &replay_job, argc, argv, &e);

	r = r ? r : job_parse(&job, &cfg, &e);
	if (r || !cfg.dry_run || !cfg.recording || cfg.w.help)
		r = -1;
	else if (replay_check(&cfg, &e))
		r = cmd_usage_error(replay_job.command, &e);
	else
		r = replay_dry_run(&cfg);
	job_free(&job);
	return r;
}

static int replay_check_users(struct workload_cfg *base, struct err *e)
{
	return replay_users_read((struct replay_cfg *)base, e);
}

int cmd_replay(int argc, char **argv)
{
	static const struct workload_type type = {
		.name = "replay",
		.set = REPLAY_SET,
		.job = &replay_job,
		.help =
		    "Sends what users did on a server again: the requests of a recording, of as many\n"
		    "clients, at their times and in their order, to any server or directory. Names and\n"
		    "data are made up, of the same lengths.",
		.window = 1,
		.has_store = true,
		.many = true,
		.parse = replay_parse,
		.check = replay_check_users,
		.prepare = main_replay_prepare,
		.describe = main_replay_describe,
		.work = main_replay_work,
		.size = sizeof(struct replay_run),
	};
	struct replay_cfg cfg = REPLAY_DEFAULTS;
	int r = replay_only_says(argc, argv);

	r = r >= 0 ? r : workload_main(&type, &cfg.w, argc, argv);
	replay_users_free(&cfg);
	return r;
}
