/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * afpscope rx as a client: rxperf's calls, test after test, each by all clients at the same time.
 * What a client does is in client/work/rxperf/rxperf.c.
 */
#include "drive/rxperf.h"

#include "attach/looks.h"
#include "drive/rx_clients.h"
#include "drive/rx_waiting.h"
#include "kinds/kind.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_S 1000000000u

struct rxperf_run {
	struct workload w;
	const struct rxperf_cfg *cfg;
	struct looks looks;       /* at the server; none if it is not watched */
	struct rx_waiting *asked; /* NULL: the server is not asked what waits in it */
};

/* ---- what is worth a warning ---- */

static void note_buffer(struct rxperf_run *x, const struct run_phase *p)
{
	const uint64_t asked = x->cfg->udp_kib * 1024ull, granted = p->value[METRIC_RX_BUFFER];

	if (p->known[METRIC_RX_BUFFER] && granted < asked && p->test == 1)
		run_note(
		    &x->w.s.run.warnings, "buffer",
		    "the clients' sockets have buffers of %llu KiB, not the %u that were asked "
		    "for: raise net.core.rmem_max and wmem_max, or run as root",
		    (unsigned long long)granted / 1024, x->cfg->udp_kib);
}

static void drive_rxperf_note_failures(struct rxperf_run *x, const struct run_phase *p,
				       const struct rx_clients_sum *sum)
{
	struct run_notes *warnings = &x->w.s.run.warnings;
	const unsigned long long failed = sum->counts.failed, done = sum->counts.done;

	if (sum->not_open)
		run_note(warnings, "open", "%s: %u of %u clients could not open a socket: %s",
			 p->title, sum->not_open, x->cfg->clients, p->load->why);
	if (failed)
		run_note(warnings, "failed", "%s: %llu of %llu calls failed, the first: %s",
			 p->title, failed, done, p->load->first_failure);
	if (sum->stopped)
		run_note(warnings, "dead",
			 "%s: %u of %u clients got no answer any more and stopped calling",
			 p->title, sum->stopped, x->cfg->clients);
	if (sum->dead > sum->stopped)
		run_note(warnings, "dead",
			 "%s: %u of %u clients got no answer for %u s, and called again", p->title,
			 sum->dead - sum->stopped, x->cfg->clients,
			 (unsigned int)(RX_DEAD_NS / NS_PER_S));
}

static void drive_rxperf_note_socket(struct rxperf_run *x, const struct run_phase *p)
{
	struct run_notes *warnings = &x->w.s.run.warnings;

	if (p->value[METRIC_RX_DROPS])
		run_note(
		    warnings, "drops",
		    "%s: the kernel dropped %llu datagrams because a client's own socket buffer "
		    "was full: raise -u",
		    p->title, (unsigned long long)p->value[METRIC_RX_DROPS]);
	if (p->value[METRIC_RX_NOT_COMPARED] && !x->cfg->no_verify)
		run_note(
		    warnings, "compared",
		    "%s: the bytes received in %llu calls were not compared: they are not those "
		    "of afpscope rx --serve",
		    p->title, (unsigned long long)p->value[METRIC_RX_NOT_COMPARED]);
}

/* ---- the server's threads and sockets ---- */

static int begin_looks(struct rxperf_run *x, struct err *e)
{
	const struct watch *w = x->w.s.watch;

	x->asked = rx_waiting_new();
	if (x->asked)
		rx_waiting_add(x->asked, &x->cfg->to);
	if (!w)
		return 0;
	if (looks_open(&x->looks, true, true))
		return err_set(e, -ENOMEM, "out of memory");
	looks_now(&x->looks, w);
	return 0;
}

static void drive_rxperf_tick(void *user)
{
	struct rxperf_run *x = user;

	if (x->asked)
		rx_waiting_tick(x->asked);
	if (!x->w.s.watch)
		return;
	watch_tick(x->w.s.watch);
	looks_tick(&x->looks, x->w.s.watch);
}

static int note_looks(struct rxperf_run *x)
{
	struct run *r = &x->w.s.run;
	struct ledger all = { 0 };
	int e = 0;

	if (!x->looks.threads || !x->looks.udp)
		return 0;
	looks_now(&x->looks, x->w.s.watch);
	for (size_t i = 0; i < r->n_phases && !e; i++)
		e = ledger_add(&all, &r->phase[i]->ledger);
	e = e ? e : looks_note(&x->looks, x->w.s.watch, &all, r);
	ledger_fini(&all);
	return e;
}

/* ---- the work ---- */

static int drive_rxperf_measure(struct rxperf_run *x, unsigned int i, struct err *e)
{
	struct rx_clients_test t = {
		.cfg = x->cfg, .work = rxperf_test(x->cfg, i), .tick = drive_rxperf_tick, .user = x
	};
	struct run_phase *p = run_phase(&x->w.s.run, i + 1, 1, rxperf_name(&t.work));
	const struct rx_clients_sum *sum = &t.sum;
	int r;

	if (!p)
		return err_set(e, -ENOMEM, "out of memory");
	t.name = p->title;
	t.progress = x->w.s.progress;
	session_region_begin(&x->w.s, p);
	r = rx_clients_do(&t, p, e);
	session_region_end(&x->w.s, p);
	if (!p->load)
		return r;
	note_buffer(x, p);
	drive_rxperf_note_failures(x, p, sum);
	drive_rxperf_note_socket(x, p);
	x->w.faults.refused |= sum->counts.failed != 0;
	x->w.faults.lost |= sum->stopped || sum->not_open;
	x->w.faults.none_open |= sum->silent != 0;
	if (!r && sum->silent == x->cfg->clients)
		r = err_set(e, -ECONNREFUSED, "%s does not answer: %s", x->cfg->server,
			    p->load->first_failure);
	return r;
}

static int drive_rxperf_work(struct workload *w, struct err *e)
{
	struct rxperf_run *x = (struct rxperf_run *)w;
	const struct rxperf_cfg *cfg = (const struct rxperf_cfg *)w->cfg;
	int r;

	x->cfg = cfg;
	w->faults.none_open = false;
	r = begin_looks(x, e);
	if (!r)
		load_ready(&w->load);
	for (unsigned int i = 0; !r && i < (cfg->small ? 1 : cfg->list.n); i++)
		r = drive_rxperf_measure(x, i, e);
	if (x->asked)
		rx_waiting_note(x->asked, &w->s.run);
	if (note_looks(x) && !r)
		r = err_set(e, -ENOMEM, "out of memory");
	looks_close(&x->looks);
	rx_waiting_free(x->asked);
	return r;
}

static int drive_rxperf_describe(struct workload *w)
{
	struct run *r = &w->s.run;
	int e = rxperf_describe((const struct rxperf_cfg *)w->cfg, r);

	r->about = RUN_ABOUT_CALLS;
	r->kind = r->kind ? r->kind : &kind_rx.is; /* whether or not it is watched */
	return e;
}

static const struct workload_type type = {
	.name = "rx",
	.set = "rxperf-3",
	.help =
	    "Calls of rxperf, which move bytes over Rx, the RPC of AFS over UDP; or small calls\n"
	    "that every AFS server answers. Clients are Rx peers of their own.",
	.many = true,
	.describe = drive_rxperf_describe,
	.work = drive_rxperf_work,
};

/* cfg is complete, its server found. Returns the exit code. */
static int rxperf_run(struct rxperf_cfg *cfg)
{
	struct rxperf_run *x = calloc(1, sizeof(*x));
	int code;

	if (!x) {
		cmd_say("out of memory");
		return OUTCOME_FAILED;
	}
	cmd_catch_signals();
	workload_init(&x->w, &type, &cfg->w);
	x->w.faults.none_open = true; /* until it is known better */
	code = workload_run(&x->w);
	free(x);
	return code;
}

/* After the options: what they ask for. The exit code. */
static int rxperf_do(struct rxperf_cfg *cfg, const struct job *j)
{
	struct err e = { 0 };
	char *text;
	int code;

	if (cfg->w.show_job)
		return job_print(j, cfg);
	if (rxperf_find(cfg, &e) || job_text(&text, j, cfg, true, &e))
		return cmd_usage_error(type.name, &e);
	cfg->w.table = output_table(cfg->w.table, cfg->w.verbose, OUTPUT_OWN, false);
	cfg->w.s.runs.screen = cfg->w.table == OUTPUT_SCREEN && !runs_json_only(&cfg->w.s.runs);
	cfg->w.s.runs.job = text;
	code = rxperf_run(cfg);
	free(text);
	return code;
}

int cmd_rxperf(int argc, char **argv)
{
	struct rxperf_cfg cfg = RXPERF_DEFAULTS;
	struct err e = { 0 };
	struct job job;
	int r = job_open(&job, &rxperf_job, argc, argv, &e);

	r = r ? r : rxperf_parse(&cfg, &job, &e);
	if (!r && cfg.w.help) {
		r = cmd_help(rxperf_options,
			     "Usage: afpscope rx [OPTIONS] HOST[:PORT]|JOB.ini\n"
			     "       afpscope rx --serve [OPTIONS]     (see afpscope rx --serve "
			     "--help)\n%s\n\n",
			     type.help);
	} else {
		r = r ? cmd_usage_error(type.name, &e) : rxperf_do(&cfg, &job);
	}
	job_free(&job);
	return r;
}
