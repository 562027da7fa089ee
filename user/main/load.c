/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * afpscope load: many clients on one server, and beside them a probe that does what one user does.
 * What the clients do is in client/work/mix/mix.c, how they are driven in client/load.
 */
#include "main/load_live.h"

#include "base/clock.h"
#include "drive/steady.h"
#include "report/cell.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define TICK_NS  100000000u
#define NS_PER_S 1000000000u
#define SOON_NS  250000000u /* within this a load that is steady is measured */

/* One run. */
struct load_run {
	struct workload w;
	const struct load_cfg *cfg;
	struct clients *clients;
	struct ranks *ranks; /* NULL: this is the only process */
	unsigned int not_open, lost;
	struct timeline_changes changes;
	struct users users;
	struct timeline timeline;
	struct steady steady;
	const struct slo *ended_by; /* --abort-on-slo; NULL: it was not ended */
};

/* The phase */

/* When it is measured from, as far as is known. */
static uint64_t main_load_measured_from(const struct load_run *l, uint64_t begun_ns)
{
	const struct steady *s = &l->steady;

	if (s->found_ns || !s->until_ns)
		return s->found_ns ? s->found_ns : begun_ns + (uint64_t)l->cfg->ramp_s * NS_PER_S;
	return clock_now_ns() < s->until_ns ? UINT64_MAX : s->until_ns;
}

/* A limit is broken beyond doubt. */
static void main_load_end_early(struct load_run *l, const struct slo *broken)
{
	l->ended_by = broken;
	clients_end_soon(l->clients);
}

static void main_load_wait_for_end(struct load_run *l, uint64_t begun_ns)
{
	struct load_live live;
	const struct slo *broken;
	uint64_t now_ns;

	load_live_begin(&live, l->cfg, l->w.s.progress);
	while (!clients_wait(l->clients, TICK_NS)) {
		now_ns = clock_now_ns();
		ranks_look(l->ranks);
		timeline_tick(&l->timeline, now_ns);
		session_look_tick(&l->w.s, now_ns);
		if (steady_tick(&l->steady, now_ns, clients_done(l->clients)))
			clients_measure(l->clients);
		broken = load_live_tick(&live, l->clients, begun_ns,
					main_load_measured_from(l, begun_ns));
		if (broken && !l->ended_by)
			main_load_end_early(l, broken);
	}
	load_live_end(&live, l->clients, begun_ns, main_load_measured_from(l, begun_ns));
}

/* The load was ended before its time: that is the outcome, if the judge says the same. */
static void main_load_judge(struct load_run *l, struct run_phase *p)
{
	const struct slo *by = l->ended_by;
	enum run_slo_verdict worst = slo_judge(&l->cfg->slos, p->load, p->probe,
					       cmd_stop || by != NULL);

	workload_judge(&l->w, worst);
	l->w.faults.ended = by && worst == RUN_SLO_BROKEN;
	if (by)
		run_note(&l->w.s.run.warnings, "ended",
			 "the load was ended after %.1f s of %u (--abort-on-slo): limit %s was "
			 "broken, whatever was still to come",
			 (double)(p->load->end_ns - p->load->measure_ns) / NS_PER_S,
			 l->cfg->duration_s, by->text);
}

static void note_steady(struct load_run *l, struct run_load *load, uint64_t start_ns)
{
	load->steady_ns = l->steady.found_ns ? l->steady.found_ns - start_ns : 0;
	load->unsteady = l->cfg->steady_s && !l->steady.found_ns;
	if (load->unsteady)
		run_note(
		    &l->w.s.run.warnings, "unsteady",
		    "the rate was not steady within %u s after the ramp (it still changed by %+.0f %% "
		    "in 10 s)",
		    l->cfg->steady_s, l->steady.change * 100);
}

/* Sessions that were lost and actions that failed. Without the probe nobody knows what users felt.
 */
static void main_load_note_failures(struct load_run *l, const struct run_phase *p)
{
	const struct slos *slos = &l->cfg->slos;
	struct session *s = &l->w.s;
	struct run_action probe = { 0 };

	if (p->probe)
		run_load_all(p->probe, &probe);
	if (p->load->n_lost)
		run_note(&s->run.warnings, "lost", "%u of %u sessions were lost: %s",
			 p->load->n_lost, p->load->n_clients, p->load->why);
	if (p->probe && p->probe->n_lost)
		run_note(&s->run.warnings, "lost", "the probe's session was lost: %s",
			 p->probe->why);
	if (p->value[METRIC_ERRORS])
		run_note(&s->run.warnings, "failed", "%llu actions failed, the first: %s",
			 (unsigned long long)p->value[METRIC_ERRORS], p->load->first_failure);
	if (probe.failed)
		run_note(&s->run.warnings, "failed",
			 "%llu actions of the probe failed, the first: %s",
			 (unsigned long long)probe.failed, p->probe->first_failure);
	l->lost += p->load->n_lost + (p->probe ? p->probe->n_lost : 0);
	/* a limit says how many may */
	l->w.faults.refused |= p->value[METRIC_ERRORS] && !slo_has(slos, SLO_FAILED, "");
	l->w.faults.refused |= probe.failed && !slo_has(slos, SLO_FAILED, "probe");
}

/*
 * A client in a closed loop without pauses always waits. One whose action took the whole time is in
 * no figure, so that the others' would look like all there is.
 */
static void note_starved(struct load_run *l, const struct run_phase *p)
{
	const struct load_cfg *cfg = l->cfg;
	const struct rate *crowd = cfg->crowd.changes.n ? &cfg->crowd.changes : NULL;
	unsigned int starved;

	if (cfg->rate.per_s > 0 || load_thinks(cfg) || !mix_kinds(&cfg->mix) || cmd_stop)
		return;
	starved = load_clients_starved(p->load, crowd);
	p->load->starved = starved;
	if (!starved)
		return;
	run_note(&l->w.s.run.warnings, "starved",
		 "%u of %u clients completed no action in the measured time: how long they waited "
		 "is in no figure",
		 starved, p->load->n_clients);
}

/* An action that is in no figure matters where it was longer than all that are. */
static void note_outlasting_load(struct load_run *l, const struct run_load *load)
{
	struct run_action all;

	run_load_all(load, &all);
	if (load->outlasting_max_ns > all.planned.max)
		run_note(&l->w.s.run.warnings, "outlasting",
			 "an action that was still under way when the measured time was over took "
			 "%s, longer than any that is in the figures",
			 cell_time((double)load->outlasting_max_ns).text);
}

/* Whether the server has gone: no client has a session any more. */
static bool all_lost(const struct run_load *load)
{
	unsigned int there = 0;

	for (unsigned int i = 0; i < load->n_clients; i++)
		there += load->client[i].opened && !load->client[i].lost;
	return load->n_lost && !there;
}

/* What the clients have written is read again, when nothing is measured any more. */
static void main_load_verify(struct load_run *l, struct run_load *load)
{
	struct mix_verified found;
	struct err why = { 0 };
	int r;

	if (!l->cfg->mix.verify || cmd_stop)
		return;
	r = load_clients_verify(l->clients, &found, &why);
	load->verified_files = found.n_files;
	load->verified_wrong = found.n_wrong;
	load->verified_bytes = found.bytes;
	if (r)
		run_note(&l->w.s.run.warnings, "verify",
			 "%llu of %llu files could not be read again as they were written, the "
			 "first: %s",
			 (unsigned long long)found.n_wrong, (unsigned long long)found.n_files,
			 why.text);
	l->w.faults.refused |= r != 0;
}

static int main_load_measure(struct load_run *l, struct err *e)
{
	const struct load_cfg *cfg = l->cfg;
	struct engine_job how;
	struct session *s = &l->w.s;
	struct run_phase *p = run_phase(&s->run, 1, 1, cfg->mix.name);
	int r;

	if (!p)
		return err_set(e, -ENOMEM, "out of memory");
	session_region_begin(s, p);
	load_plan(cfg, &how);
	how.begin_ns = ranks_start(l->ranks);
	p->start_ns = how.begin_ns ? how.begin_ns : clock_now_ns();
	r = clients_start(l->clients, &how, e);
	if (r)
		return r;
	ranks_await_start(l->ranks);
	if (timeline_begin(&l->timeline, s, &l->changes, (uint64_t)(cfg->interval_s * NS_PER_S)))
		run_note(&s->run.warnings, "timeline", "out of memory: no figures in time");
	steady_begin(&l->steady, p->start_ns + how.ramp_ns, how.settle_ns);
	main_load_wait_for_end(l, p->start_ns);
	timeline_end(&l->timeline, p);
	r = clients_join(l->clients, p, e);
	r = r ? r : ranks_gather(l->ranks, p, &s->run.warnings, e);
	session_region_end(s, p);
	if (r)
		return r;
	run_phase_from_load(p);
	note_steady(l, p->load, p->start_ns);
	main_load_note_failures(l, p);
	note_starved(l, p);
	note_outlasting_load(l, p->load);
	main_load_judge(l, p);
	if (cmd_stop)
		return err_set(e, -EINTR, "interrupted");
	if (all_lost(p->load))
		return err_set(e, -ECONNRESET, "all sessions were lost after %.1f s: %s",
			       (double)(p->load->end_ns - p->load->begin_ns) / NS_PER_S,
			       p->load->why);
	p->complete = true;
	main_load_verify(l, p->load);
	return 0;
}

/* The directory, which is there for other processes, too; then the files. */
static int main_load_make(struct load_run *l, struct err *e)
{
	int r = load_clients_prepare(l->clients, e);

	if (!r)
		ranks_make(l->ranks);
	return r ? r : load_clients_make(l->clients, e);
}

/* The sessions, then the files; other processes do the same at the same time. */
static int open_and_make(struct load_run *l, const struct load_clients_opts *o, struct err *e)
{
	struct run_notes *warnings = &l->w.s.run.warnings;
	const struct ranks_opts all = load_ranks(l->cfg);
	const char *why;
	int r = l->cfg->mpi ? ranks_open(&l->ranks, &all, &l->w.s, e) : 0;

	r = r ? r : load_clients_open(&l->clients, o, &l->not_open, e);
	r = r ? r : ranks_opened(l->ranks, &l->not_open, e);
	if (!r && l->not_open)
		run_note(warnings, "sessions", "%u of %u sessions could not be opened: %s",
			 l->not_open, l->cfg->clients, e->text);
	if (!r && l->cfg->remove_set)
		load_clients_take_set(l->clients);
	else if (!r)
		r = main_load_make(l, e);
	r = r ? r : ranks_made(l->ranks, e);
	l->lost = l->clients ? clients_lost(l->clients, &why) : 0;
	if (!r && l->lost)
		run_note(warnings, "lost", "%u sessions were lost before the load began: %s",
			 l->lost, why);
	return r;
}

static int main_load_work(struct workload *w, struct err *e)
{
	struct load_run *l = (struct load_run *)w;
	struct load_clients_opts o = { .mix = &l->cfg->mix,
				       .users = &l->users,
				       .session = &w->s,
				       .clients = l->cfg->clients,
				       .threads = l->cfg->threads,
				       .directories = l->cfg->directories,
				       .set = l->cfg->set_of ? LOAD_SET_OF_PROCESS : LOAD_SET_OWN,
				       .set_of = (pid_t)l->cfg->set_of,
				       .seed = l->cfg->seed,
				       .realtime = l->cfg->realtime,
				       .probe = !l->cfg->no_probe && !l->cfg->remove_set };
	struct err gone = { 0 };
	int r, left;

	load_deal(l->cfg, &o);
	r = open_and_make(l, &o, e);
	w->faults.none_open = r == -ECONNREFUSED;
	if (!r && !l->cfg->remove_set) {
		load_ready(&w->load);
		r = main_load_measure(l, e);
	}
	ranks_close(l->ranks);
	left = clients_close(l->clients, &gone);
	if (left && l->cfg->remove_set && !r)
		r = err_set(e, left, "not all files could be removed: %s", gone.text);
	w->faults.lost = l->lost;
	w->faults.refused |= l->not_open;
	timeline_end_changes(&l->changes);
	return r;
}

static int main_load_describe(struct workload *w)
{
	return load_describe(((struct load_run *)w)->cfg, &w->s.run.options);
}

static enum outcome main_load_prepare(struct workload *w, struct err *e)
{
	(void)e;
	struct load_run *l = (struct load_run *)w;

	l->cfg = (const struct load_cfg *)w->cfg;
	l->changes = l->cfg->changes;
	l->users = l->cfg->users;
	return OUTCOME_OK;
}

int cmd_load(int argc, char **argv)
{
	static const struct workload_type type = {
		.name = "load",
		.set = LOAD_SET,
		.job = &load_job,
		.help =
		    "Loads a server, or a directory, with many clients, and measures how long they wait;\n"
		    "and how long one user waits meanwhile, who does a little every second (the probe).",
		.window = 1,
		.has_store = true,
		.many = true,
		.parse = load_parse,
		.check = load_check,
		.elsewhere = load_elsewhere,
		.prepare = main_load_prepare,
		.describe = main_load_describe,
		.work = main_load_work,
		.size = sizeof(struct load_run),
	};
	struct load_cfg cfg = LOAD_DEFAULTS;
	int r;

	if (timeline_join_arguments(&argc, argv)) {
		cmd_say("out of memory");
		return OUTCOME_FAILED;
	}
	r = workload_main(&type, &cfg.w, argc, argv);
	users_free(&cfg.users);
	return r;
}
